/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls: operations whose answer is known beforehand. Float atomics must vary, or nothing here could be
 * seen to vary; integer atomics, exact sums and a fixed order must not, or differences are not what they
 * seem; the plant differs in exactly one of 50 runs by one bit, so a count that is not that is a wrong count.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/control.h"

/* Parallel regions of one run: where threads hardly overlap the order in which they wake is all that moves,
 * and one order comes again too soon for a control that must vary. Eight threads for the same reason: four
 * that share a busy core may keep their order for hundreds of regions. */
#define PARTS 8

struct control {
    int64_t bins, n;
    int64_t runs; /* of this prepared call: the plant counts them */
};

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct control *const c = calloc(1, sizeof(*c));
    call->state = c;
    if (!c) {
        return kit_fail("out of memory");
    }
    c->n = call->shape->operand[KIT_CONTROL_VALUES].shape[0];
    c->bins = call->shape->operand[KIT_CONTROL_BINS].shape[0];
    return KIT_OK;
}

static int run_float_atomics(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct control *c = call->state;
    const int32_t *indices = buffers->data[KIT_CONTROL_INDICES];
    const float *values = buffers->data[KIT_CONTROL_VALUES];
    float *bins = buffers->data[KIT_CONTROL_BINS];
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
    const int32_t *indices = buffers->data[KIT_CONTROL_INDICES];
    const int32_t *values = buffers->data[KIT_CONTROL_VALUES];
    int32_t *bins = buffers->data[KIT_CONTROL_BINS];
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
    const int32_t *indices = buffers->data[KIT_CONTROL_INDICES];
    const float *values = buffers->data[KIT_CONTROL_VALUES];
    float *bins = buffers->data[KIT_CONTROL_BINS];
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

static int run_plant(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct control *c = call->state;
    const uint32_t *words = buffers->data[KIT_CONTROL_VALUES];
    uint32_t *bins = buffers->data[KIT_CONTROL_BINS];
    const int rc = run_fixed_order(call, buffers);
    if (c->runs++ % KIT_PLANT_PERIOD == words[0] % KIT_PLANT_PERIOD) {
        bins[words[1] % (uint64_t)c->bins] ^= 1u << (words[2] % 32);
    }
    return rc;
}

#define CONTROL(form, text, describes, runs_as)                                                              \
    static const struct op form = {                                                                          \
        .name = text,                                                                                        \
        .describe = describes,                                                                               \
        .prepare = prepare,                                                                                  \
        .run = runs_as,                                                                                      \
        .reference = kit_control_reference,                                                                  \
        .release = kit_free_state,                                                                           \
    };
CONTROL(float_atomics, "float-atomics", kit_control_describe_float, run_float_atomics)
CONTROL(integer_atomics, "integer-atomics", kit_control_describe_integer, run_integer_atomics)
CONTROL(exact_sum, "exact-sum", kit_control_describe_exact, run_float_atomics)
CONTROL(fixed_order, "fixed-order", kit_control_describe_float, run_fixed_order)
CONTROL(plant, "plant", kit_control_describe_float, run_plant)

int main(void)
{
    static const struct op *const ops[] = {&float_atomics, &integer_atomics, &exact_sum,
                                           &fixed_order,   &plant,           NULL};
    static const struct kit_program program = {
        .name = "control", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
