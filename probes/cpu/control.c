/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls: operations whose answer is known beforehand. Float atomics must vary, or nothing here could be
 * seen to vary; integer atomics, exact sums and a fixed order must not, or differences are not what they
 * seem; the plant differs in exactly one of 50 runs by one bit, so a count that is not that is a wrong count.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"

/* Parallel regions of one run: where threads hardly overlap the order in which they wake is all that moves,
 * and one order comes again too soon for a control that must vary. Eight threads for the same reason: four
 * that share a busy core may keep their order for hundreds of regions. */
#define PARTS 8

enum { INDICES, VALUES, BINS };

struct control {
    int64_t bins, n;
    int64_t runs; /* of this prepared call: the plant counts them */
};

static int read_control(const struct kit_params *params, struct control *ret)
{
    return kit_param_int(params, "bins", &ret->bins) || kit_param_int(params, "n", &ret->n) ? KIT_FAILED
                                                                                            : KIT_OK;
}

/* A histogram: value i is added to bin index[i]. Random indices make threads meet in every bin. */
static int describe(const struct kit_params *params, struct kit_shape *ret, enum kit_dtype dtype,
                    enum kit_fill fill)
{
    struct control c = {0};
    if (read_control(params, &c)) {
        return KIT_FAILED;
    }
    ret->count = 3;
    ret->operand[INDICES] = (struct kit_operand){.name = "indices",
                                                 .role = KIT_IN,
                                                 .dtype = KIT_S32,
                                                 .ndim = 1,
                                                 .shape = {c.n},
                                                 .batch_dim = -1,
                                                 .fill = KIT_INDICES,
                                                 .below = c.bins};
    ret->operand[VALUES] = (struct kit_operand){.name = "values",
                                                .role = KIT_IN,
                                                .dtype = dtype,
                                                .ndim = 1,
                                                .shape = {c.n},
                                                .batch_dim = -1,
                                                .fill = fill,
                                                .below = 17};
    ret->operand[BINS] = (struct kit_operand){
        .name = "bins", .role = KIT_OUT, .dtype = dtype, .ndim = 1, .shape = {c.bins}, .batch_dim = -1};
    ret->flops = (double)c.n;
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

/* Integers between -8 and 8 in every set: float sums of them are exact. */
static int describe_exact(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_F32, KIT_TIES);
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct control *const c = calloc(1, sizeof(*c));
    call->state = c;
    return c ? read_control(call->params, c) : kit_fail("out of memory");
}

static int run_float_atomics(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct control *c = call->state;
    const int32_t *indices = buffers->data[INDICES];
    const float *values = buffers->data[VALUES];
    float *bins = buffers->data[BINS];
    memset(bins, 0, (size_t)c->bins * sizeof(*bins));
    for (int part = 0; part < PARTS; part++) {
#pragma omp parallel for num_threads(call->threads) schedule(static)
        for (int64_t i = c->n * part / PARTS; i < c->n * (part + 1) / PARTS; i++) {
#pragma omp atomic
            bins[indices[i]] += values[i];
        }
    }
    return KIT_OK;
}

static int run_integer_atomics(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct control *c = call->state;
    const int32_t *indices = buffers->data[INDICES];
    const int32_t *values = buffers->data[VALUES];
    int32_t *bins = buffers->data[BINS];
    memset(bins, 0, (size_t)c->bins * sizeof(*bins));
    for (int part = 0; part < PARTS; part++) {
#pragma omp parallel for num_threads(call->threads) schedule(static)
        for (int64_t i = c->n * part / PARTS; i < c->n * (part + 1) / PARTS; i++) {
#pragma omp atomic
            bins[indices[i]] += values[i];
        }
    }
    return KIT_OK;
}

/* Bins are dealt to threads, and each bin's values are added in the order of i. */
static int run_fixed_order(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct control *c = call->state;
    const int32_t *indices = buffers->data[INDICES];
    const float *values = buffers->data[VALUES];
    float *bins = buffers->data[BINS];
#pragma omp parallel num_threads(call->threads)
    {
        const int64_t team = omp_get_num_threads();
        const int64_t me = omp_get_thread_num();
        const int64_t first = c->bins * me / team;
        const int64_t end = c->bins * (me + 1) / team;
        for (int64_t b = first; b < end; b++) {
            bins[b] = 0;
        }
        for (int64_t i = 0; i < c->n; i++) {
            if (indices[i] >= first && indices[i] < end) {
                bins[indices[i]] += values[i];
            }
        }
    }
    return KIT_OK;
}

#define PLANT_PERIOD 50

/* One run of each 50 has one bit flipped. Which run, which bin and which bit come from the inputs, so from
 * the seed, and stay the same while the inputs do: any 50 runs in a row hold exactly one. */
static int run_plant(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct control *c = call->state;
    const uint32_t *words = buffers->data[VALUES];
    uint32_t *bins = buffers->data[BINS];
    const int rc = run_fixed_order(call, buffers);
    if (c->runs++ % PLANT_PERIOD == words[0] % PLANT_PERIOD) {
        bins[words[1] % (uint64_t)c->bins] ^= 1u << (words[2] % 32);
    }
    return rc;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct control *c = call->state;
    const enum kit_dtype dtype = call->shape->operand[VALUES].dtype;
    const int32_t *indices = in[INDICES];
    struct kit_cell *const bins = calloc((size_t)c->bins, sizeof(*bins));
    if (!bins) {
        return kit_fail("out of memory");
    }
    for (int64_t i = 0; i < c->n; i++) {
        const long double value = kit_value(dtype, in[VALUES], i);
        struct kit_cell *const bin = &bins[indices[i]];
        bin->value += value;
        bin->scale += value < 0 ? -value : value;
        bin->k++;
    }
    for (size_t i = 0; i < count; i++) {
        ret[i] = bins[cells[i]];
    }
    free(bins);
    return KIT_OK;
}

#define CONTROL(form, text, describes, runs_as)                                                              \
    static const struct op form = {                                                                          \
        .name = text,                                                                                        \
        .describe = describes,                                                                               \
        .prepare = prepare,                                                                                  \
        .run = runs_as,                                                                                      \
        .reference = reference,                                                                              \
        .release = kit_free_state,                                                                           \
    };
CONTROL(float_atomics, "float-atomics", describe_float, run_float_atomics)
CONTROL(integer_atomics, "integer-atomics", describe_integer, run_integer_atomics)
CONTROL(exact_sum, "exact-sum", describe_exact, run_float_atomics)
CONTROL(fixed_order, "fixed-order", describe_float, run_fixed_order)
CONTROL(plant, "plant", describe_float, run_plant)

int main(void)
{
    static const struct op *const ops[] = {&float_atomics, &integer_atomics, &exact_sum,
                                           &fixed_order,   &plant,           NULL};
    static const struct kit_program program = {
        .name = "control", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
