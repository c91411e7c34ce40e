/* SPDX-License-Identifier: Apache-2.0
 *
 * What moves or counts and never rounds: copies, transposes, gathers, and sums and extremes of integers, each
 * by threads that are dealt work on demand. No order can show in them, so a difference is a lost, doubled or
 * torn piece: the hardware, the memory or the compiler, never rounding.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"

#define CHUNK 4 /* rows dealt at once */

enum { FROM, TO };

struct shape {
    int64_t rows, n;
    enum kit_dtype dtype;
};

static int read_shape(const struct kit_params *params, struct shape *ret)
{
    return kit_param_dtype(params, "dtype", "u8|s32|s64|f16|f32|f64", &ret->dtype) ||
                   kit_param_int(params, "rows", &ret->rows) || kit_param_int(params, "n", &ret->n)
               ? KIT_FAILED
               : KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct shape *s = calloc(1, sizeof(*s));
    call->state = s;
    return s ? read_shape(call->params, s) : kit_fail("out of memory");
}

static struct kit_operand matrix(const char *name, enum kit_role role, enum kit_dtype dtype, int64_t rows,
                                 int64_t columns)
{
    return (struct kit_operand){.name = name,
                                .role = role,
                                .dtype = dtype,
                                .ndim = columns ? 2 : 1,
                                .shape = {rows, columns},
                                .batch_dim = -1};
}

/* ---- moving ---- */

static int describe_copy(const struct kit_params *params, struct kit_shape *ret)
{
    struct shape s;
    if (read_shape(params, &s)) {
        return KIT_FAILED;
    }
    ret->operand[FROM] = matrix("from", KIT_IN, s.dtype, s.rows, s.n);
    ret->operand[TO] = matrix("to", KIT_OUT, s.dtype, s.rows, s.n);
    ret->operand[FROM].batch_dim = ret->operand[TO].batch_dim = 0;
    ret->count = 2;
    ret->flops = (double)s.rows * (double)s.n;
    return KIT_OK;
}

static int run_copy(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct shape *s = call->state;
    const int64_t rows = call->shape->operand[FROM].shape[0];
    const size_t bytes = (size_t)s->n * kit_dtype_size(s->dtype);
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(call->threads)
    for (int64_t r = 0; r < rows; r++) {
        memcpy((char *)buffers->data[TO] + (size_t)r * bytes,
               (const char *)buffers->data[FROM] + (size_t)r * bytes, bytes);
    }
    return KIT_OK;
}

static int reference_copy(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct shape *s = call->state;
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.value = kit_value(s->dtype, in[FROM], cells[c]), .k = 1};
    }
    return KIT_OK;
}

static int describe_transpose(const struct kit_params *params, struct kit_shape *ret)
{
    struct shape s;
    if (read_shape(params, &s)) {
        return KIT_FAILED;
    }
    ret->operand[FROM] = matrix("from", KIT_IN, s.dtype, s.rows, s.n);
    ret->operand[TO] = matrix("to", KIT_OUT, s.dtype, s.n, s.rows);
    ret->count = 2;
    ret->flops = (double)s.rows * (double)s.n;
    return KIT_OK;
}

static int run_transpose(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct shape *s = call->state;
    const size_t size = kit_dtype_size(s->dtype);
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(call->threads)
    for (int64_t column = 0; column < s->n; column++) {
        for (int64_t r = 0; r < s->rows; r++) {
            memcpy((char *)buffers->data[TO] + (size_t)(column * s->rows + r) * size,
                   (const char *)buffers->data[FROM] + (size_t)(r * s->n + column) * size, size);
        }
    }
    return KIT_OK;
}

static int reference_transpose(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                               size_t count, struct kit_cell *ret)
{
    const struct shape *s = call->state;
    for (size_t c = 0; c < count; c++) {
        const int64_t column = cells[c] / s->rows, r = cells[c] % s->rows;
        ret[c] = (struct kit_cell){.value = kit_value(s->dtype, in[FROM], r * s->n + column), .k = 1};
    }
    return KIT_OK;
}

/* Rows in the order of a permutation. */
enum { GATHER_FROM, GATHER_ORDER, GATHER_TO };

static int describe_gather(const struct kit_params *params, struct kit_shape *ret)
{
    struct shape s;
    if (read_shape(params, &s)) {
        return KIT_FAILED;
    }
    ret->operand[GATHER_FROM] = matrix("from", KIT_IN, s.dtype, s.rows, s.n);
    ret->operand[GATHER_ORDER] = matrix("order", KIT_IN, KIT_S64, s.rows, 0);
    ret->operand[GATHER_ORDER].fill = KIT_PERMUTATION;
    ret->operand[GATHER_TO] = matrix("to", KIT_OUT, s.dtype, s.rows, s.n);
    ret->count = 3;
    ret->flops = (double)s.rows * (double)s.n;
    return KIT_OK;
}

static int run_gather(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct shape *s = call->state;
    const int64_t *order = buffers->data[GATHER_ORDER];
    const size_t bytes = (size_t)s->n * kit_dtype_size(s->dtype);
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(call->threads)
    for (int64_t r = 0; r < s->rows; r++) {
        memcpy((char *)buffers->data[GATHER_TO] + (size_t)r * bytes,
               (const char *)buffers->data[GATHER_FROM] + (size_t)order[r] * bytes, bytes);
    }
    return KIT_OK;
}

static int reference_gather(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct shape *s = call->state;
    const int64_t *order = in[GATHER_ORDER];
    for (size_t c = 0; c < count; c++) {
        const int64_t cell = order[cells[c] / s->n] * s->n + cells[c] % s->n;
        ret[c] = (struct kit_cell){.value = kit_value(s->dtype, in[GATHER_FROM], cell), .k = 1};
    }
    return KIT_OK;
}

/* ---- counting: columns of a matrix, each thread with a part of the rows, joined in arrival order ---- */

static int describe_columns(const struct kit_params *params, struct kit_shape *ret)
{
    struct shape s;
    if (read_shape(params, &s)) {
        return KIT_FAILED;
    }
    if (kit_dtype_is_float(s.dtype) || s.dtype == KIT_U8) {
        return kit_fail("'dtype' must be s32 or s64");
    }
    ret->operand[FROM] = matrix("from", KIT_IN, s.dtype, s.rows, s.n);
    ret->operand[TO] = matrix("to", KIT_OUT, s.dtype, s.n, 0);
    ret->count = 2;
    ret->flops = (double)s.rows * (double)s.n;
    return KIT_OK;
}

static int64_t integer_at(enum kit_dtype dtype, const void *elements, int64_t index)
{
    return dtype == KIT_S32 ? ((const int32_t *)elements)[index] : ((const int64_t *)elements)[index];
}

/* Wraps as unsigned numbers do: sums of s32 are made in 64 bits and cut. */
static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t differing(int64_t a, int64_t b)
{
    return a ^ b;
}

static void join_rows(const struct shape *s, const void *from, int64_t row, int64_t (*join)(int64_t, int64_t),
                      int64_t *into)
{
    for (int64_t column = 0; column < s->n; column++) {
        into[column] = join(into[column], integer_at(s->dtype, from, row * s->n + column));
    }
}

static int run_columns(struct kit_call *call, const struct kit_buffers *buffers,
                       int64_t (*join)(int64_t, int64_t))
{
    const struct shape *s = call->state;
    int64_t *total = buffers->workspace, *parts = total + s->n;
    const void *from = buffers->data[FROM];
    for (int64_t column = 0; column < s->n; column++) {
        total[column] = integer_at(s->dtype, from, column);
    }
#pragma omp parallel num_threads(call->threads)
    {
        int64_t *part = parts + omp_get_thread_num() * s->n;
        bool any = false;
#pragma omp for schedule(dynamic, CHUNK) nowait
        for (int64_t row = 1; row < s->rows; row++) {
            if (!any) {
                for (int64_t column = 0; column < s->n; column++) {
                    part[column] = integer_at(s->dtype, from, row * s->n + column);
                }
                any = true;
            } else {
                join_rows(s, from, row, join, part);
            }
        }
#pragma omp critical
        for (int64_t column = 0; any && column < s->n; column++) {
            total[column] = join(total[column], part[column]);
        }
    }
    for (int64_t column = 0; column < s->n; column++) {
        if (s->dtype == KIT_S32) {
            ((int32_t *)buffers->data[TO])[column] = (int32_t)(uint32_t)(uint64_t)total[column];
        } else {
            ((int64_t *)buffers->data[TO])[column] = total[column];
        }
    }
    return KIT_OK;
}

static int prepare_columns(struct kit_call *call, struct kit_prepared *ret)
{
    const int rc = prepare(call, ret);
    const struct shape *s = call->state;
    if (rc == KIT_OK) { /* the total, and a part for each thread */
        ret->workspace_bytes = (size_t)(call->threads + 1) * (size_t)s->n * sizeof(int64_t);
    }
    return rc;
}

static int reference_columns(struct kit_call *call, const void *const *in, const int64_t *cells, size_t count,
                             int64_t (*join)(int64_t, int64_t), struct kit_cell *ret)
{
    const struct shape *s = call->state;
    for (size_t c = 0; c < count; c++) {
        int64_t value = integer_at(s->dtype, in[FROM], cells[c]);
        for (int64_t row = 1; row < s->rows; row++) {
            value = join(value, integer_at(s->dtype, in[FROM], row * s->n + cells[c]));
        }
        value = s->dtype == KIT_S32 ? (int32_t)(uint32_t)(uint64_t)value : value;
        ret[c] = (struct kit_cell){.value = value, .k = 1};
    }
    return KIT_OK;
}

#define COLUMNS(name_, join)                                                                                 \
    static int run_##join(struct kit_call *call, const struct kit_buffers *buffers)                          \
    {                                                                                                        \
        return run_columns(call, buffers, join);                                                             \
    }                                                                                                        \
    static int reference_##join(struct kit_call *call, int output, const void *const *in,                    \
                                const int64_t *cells, size_t count, struct kit_cell *ret)                    \
    {                                                                                                        \
        return reference_columns(call, in, cells, count, join, ret);                                         \
    }                                                                                                        \
    static const struct op op_##join = {.name = name_,                                                       \
                                        .describe = describe_columns,                                        \
                                        .prepare = prepare_columns,                                          \
                                        .run = run_##join,                                                   \
                                        .reference = reference_##join,                                       \
                                        .release = kit_free_state}
COLUMNS("column-sum", add);
COLUMNS("column-max", larger);
COLUMNS("column-xor", differing);

#define MOVE(form)                                                                                           \
    static const struct op op_##form = {.name = #form,                                                       \
                                        .describe = describe_##form,                                         \
                                        .prepare = prepare,                                                  \
                                        .run = run_##form,                                                   \
                                        .reference = reference_##form,                                       \
                                        .release = kit_free_state}
MOVE(copy);
MOVE(transpose);
MOVE(gather);

int main(void)
{
    static const struct op *const ops[] = {&op_copy,   &op_transpose, &op_gather, &op_add,
                                           &op_larger, &op_differing, NULL};
    static const struct kit_program program = {
        .name = "copy", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
