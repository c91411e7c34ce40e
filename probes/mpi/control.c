/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls: sums at rank 0 whose order is known, by messages, through the same memory and commands as the
 * cases. An order that is another one in each run must show in float sums, and must not in sums of integers
 * or of values that need no rounding; one order must not vary; the plant differs in exactly one of 50 runs.
 */
#include <stdlib.h>

#include "probes/kit/control.h"
#include "probes/kit/dtype.h"
#include "probes/mpi/shared.h"
#include "probes/mpi/world.h"

enum { VALUES, SUMS };

struct control {
    const char *library;
    int64_t ranks, n;
    struct world *world;
    int64_t runs; /* of this prepared call */
};

static int read_control(const struct kit_params *params, struct control *ret)
{
    return kit_param_string(params, "library", &ret->library) ||
                   kit_param_int(params, "ranks", &ret->ranks) || kit_param_int(params, "n", &ret->n)
               ? KIT_FAILED
               : KIT_OK;
}

static int describe(const struct kit_params *params, struct kit_shape *ret, enum kit_dtype dtype,
                    enum kit_fill fill)
{
    struct control c;
    if (read_control(params, &c)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[VALUES] = (struct kit_operand){.name = "values",
                                                .role = KIT_IN,
                                                .dtype = dtype,
                                                .ndim = 2,
                                                .shape = {c.ranks, c.n},
                                                .batch_dim = -1,
                                                .fill = fill,
                                                .below = 17};
    ret->operand[SUMS] = (struct kit_operand){
        .name = "sums", .role = KIT_OUT, .dtype = dtype, .ndim = 1, .shape = {c.n}, .batch_dim = -1};
    ret->flops = (double)c.ranks * (double)c.n;
    return KIT_OK;
}

static int describe_float(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_F32, KIT_VALUES);
}

static int describe_integer(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_S32, KIT_VALUES);
}

/* Integers between -8 and 8 in every set. */
static int describe_exact(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_F32, KIT_TIES);
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct control *const c = calloc(1, sizeof(*c));
    call->state = c;
    if (!c) {
        return kit_fail("out of memory");
    }
    const int rc = read_control(call->params, c);
    return rc ? rc : world_of(c->library, c->ranks, &c->world);
}

/* Adds up what the ranks hold, beginning with rank `first`. */
static int sum_from(struct kit_call *call, const struct kit_buffers *buffers, int64_t first)
{
    const struct control *const c = call->state;
    const enum kit_dtype dtype = call->shape->operand[VALUES].dtype;
    const struct board_step step = {.type = dtype == KIT_S32 ? BOARD_S32 : BOARD_F32,
                                    .first = (int32_t)(first % c->ranks),
                                    .count = c->n,
                                    .from = shared_place(buffers->data[VALUES]),
                                    .from_stride = c->n * (int64_t)kit_dtype_size(dtype),
                                    .to = shared_place(buffers->data[SUMS])};
    return world_do(c->world, BOARD_SUM_BY_RANK, NULL, 0, &step, 1);
}

static int run_turning_order(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct control *const c = call->state;
    return sum_from(call, buffers, c->runs++);
}

static int run_fixed_order(struct kit_call *call, const struct kit_buffers *buffers)
{
    return sum_from(call, buffers, 0);
}

static int run_plant(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct control *const c = call->state;
    const uint32_t *words = buffers->data[VALUES];
    uint32_t *sums = buffers->data[SUMS];
    const int rc = sum_from(call, buffers, 0);
    if (c->runs++ % KIT_PLANT_PERIOD == words[0] % KIT_PLANT_PERIOD) {
        sums[words[1] % (uint64_t)c->n] ^= 1u << (words[2] % 32);
    }
    return rc;
}

#define CONTROL(form, text, describes, runs_as)                                                              \
    static const struct op form = {                                                                          \
        .name = text, .describe = describes, .prepare = prepare, .run = runs_as, .release = kit_free_state};
CONTROL(float_order, "float-order", describe_float, run_turning_order)
CONTROL(integer_order, "integer-order", describe_integer, run_turning_order)
CONTROL(exact_order, "exact-order", describe_exact, run_turning_order)
CONTROL(fixed_order, "fixed-order", describe_float, run_fixed_order)
CONTROL(plant, "plant", describe_float, run_plant)

int main(void)
{
    static const struct op *const ops[] = {&float_order, &integer_order, &exact_order,
                                           &fixed_order, &plant,         NULL};
    return mpi_main("control", ops);
}
