/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenMP reductions. The standard leaves open in which order the threads' partial results are combined, and
 * with a dynamic or guided schedule also which iterations a thread gets; with two threads two partial sums
 * commute, from three on the order shows. A form that can vary should do so at every look, also on busy cores
 * and on one, where the order in which threads wake is all that moves and tends to stay: so a run makes
 * several parallel regions, of eight threads, since four have few orders and keep one for long, with several
 * rows in each, since another order of few partial sums rounds to the same bits two times in three.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"

#define TOGETHER 8 /* rows reduced in one parallel region */
#define BLOCK 32   /* values that the critical and ordered forms add up before they meet */

enum { VALUES, RESULT };

struct reduction {
    int64_t rows, n;
    enum kit_dtype dtype;
};

static int read_reduction(const struct kit_params *params, struct reduction *ret)
{
    return kit_param_dtype(params, "dtype", "f32|f64|s32", &ret->dtype) ||
                   kit_param_int(params, "rows", &ret->rows) || kit_param_int(params, "n", &ret->n)
               ? KIT_FAILED
               : KIT_OK;
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct reduction r;
    if (read_reduction(params, &r)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[VALUES] = (struct kit_operand){.name = "values",
                                                .role = KIT_IN,
                                                .dtype = r.dtype,
                                                .ndim = 2,
                                                .shape = {r.rows, r.n},
                                                .batch_dim = 0};
    ret->operand[RESULT] = (struct kit_operand){
        .name = "result", .role = KIT_OUT, .dtype = r.dtype, .ndim = 1, .shape = {r.rows}, .batch_dim = 0};
    ret->flops = (double)r.rows * (double)r.n;
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct reduction *const r = calloc(1, sizeof(*r));
    call->state = r;
    return r ? read_reduction(call->params, r) : kit_fail("out of memory");
}

/* Loop bodies by element type. */
#define TYPE float
#define NAME(form) form##_f32
#include "probes/cpu/reduce_kernels.h"
#define TYPE double
#define NAME(form) form##_f64
#include "probes/cpu/reduce_kernels.h"
#define TYPE int32_t
#define NAME(form) form##_s32
#include "probes/cpu/reduce_kernels.h"

/* One run of a form, by dtype, `together` rows at a time. */
#define RUN_ROWS(form, type, together)                                                                       \
    for (int64_t row = 0; row < r->rows; row += together) {                                                  \
        form((const type *)buffers->data[VALUES] + row * r->n, (type *)buffers->data[RESULT] + row,          \
             r->rows - row < together ? r->rows - row : together, r->n, call->threads);                      \
    }
#define RUN(form, together)                                                                                  \
    static int run_##form(struct kit_call *call, const struct kit_buffers *buffers)                          \
    {                                                                                                        \
        const struct reduction *r = call->state;                                                             \
        if (r->dtype == KIT_F32) {                                                                           \
            RUN_ROWS(form##_f32, float, together)                                                            \
        } else if (r->dtype == KIT_F64) {                                                                    \
            RUN_ROWS(form##_f64, double, together)                                                           \
        } else {                                                                                             \
            RUN_ROWS(form##_s32, int32_t, together)                                                          \
        }                                                                                                    \
        return KIT_OK;                                                                                       \
    }
RUN(sum_static, TOGETHER)
RUN(sum_dynamic, TOGETHER)
RUN(sum_guided, TOGETHER)
RUN(sum_atomic, TOGETHER)
RUN(sum_critical, TOGETHER)
RUN(sum_ordered, TOGETHER)
RUN(sum_tree, r->rows)
RUN(max, TOGETHER)

static int reference_sum(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct reduction *r = call->state;
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.k = r->n};
        for (int64_t i = 0; i < r->n; i++) {
            const long double value = kit_value(r->dtype, in[VALUES], cells[c] * r->n + i);
            ret[c].value += value;
            ret[c].scale += value < 0 ? -value : value;
        }
    }
    return KIT_OK;
}

static int reference_max(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct reduction *r = call->state;
    for (size_t c = 0; c < count; c++) {
        ret[c].value = kit_value(r->dtype, in[VALUES], cells[c] * r->n);
        for (int64_t i = 1; i < r->n; i++) {
            const long double value = kit_value(r->dtype, in[VALUES], cells[c] * r->n + i);
            ret[c].value = value > ret[c].value ? value : ret[c].value;
        }
    }
    return KIT_OK;
}

#define OP(form, text, right)                                                                                \
    static const struct op op_##form = {                                                                     \
        .name = text,                                                                                        \
        .describe = describe,                                                                                \
        .prepare = prepare,                                                                                  \
        .run = run_##form,                                                                                   \
        .reference = right,                                                                                  \
        .release = kit_free_state,                                                                           \
    };
OP(sum_static, "sum-static", reference_sum)
OP(sum_dynamic, "sum-dynamic", reference_sum)
OP(sum_guided, "sum-guided", reference_sum)
OP(sum_atomic, "sum-atomic", reference_sum)
OP(sum_critical, "sum-critical", reference_sum)
OP(sum_ordered, "sum-ordered", reference_sum)
OP(sum_tree, "sum-tree", reference_sum)
OP(max, "max", reference_max)

int main(void)
{
    static const struct op *const ops[] = {&op_sum_static, &op_sum_dynamic,  &op_sum_guided,
                                           &op_sum_atomic, &op_sum_critical, &op_sum_ordered,
                                           &op_sum_tree,   &op_max,          NULL};
    static const struct kit_program program = {
        .name = "reduce", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
