/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the rows of a matrix, one for each column: gradients of a layer norm's scale and shift, and of a
 * bias. Rows are many and columns few, so blocks share a column's rows and their parts must meet: by atomics
 * in arrival order, in a second pass, or in the block that comes last, the last two by the number of the
 * part.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/cuda.h"
#include "probes/kit/dtype.h"
#include "probes/kit/kernel.h"

#include "probes/cuda/column.cu"

extern const char column_text[];

#define THREADS 256
#define TILE 32 /* columns of a block where they are innermost */
#define MOST_BLOCKS (1 << 16)
#define MOST_ROWS (1 << 22) /* k u of the bound stays below 1/2 */

enum layer_norm_operand { DY, X, MEAN, RSTD, DGAMMA, DBETA };
enum bias_operand { BIAS_DY, DBIAS };

struct state {
    enum kit_dtype dtype, sum; /* of the input; of arithmetic and results */
    CUfunction sums, combine;
    struct column_args args; /* but for the buffers */
};

static int64_t tiles_of(const struct column_args *args)
{
    return (args->columns + args->width - 1) / args->width;
}

static int read_extent(const struct kit_params *params, const char *name, int64_t *ret)
{
    if (kit_param_int(params, name, ret)) {
        return KIT_FAILED;
    }
    return *ret > 0 && *ret <= MOST_ROWS
               ? KIT_OK
               : kit_fail("bad params: '%s' is not within 1 and %d", name, MOST_ROWS);
}

/* What both operations take; rows, columns and layout are set. */
static int read_common(const struct kit_params *params, int64_t rows, int64_t columns, int64_t inner,
                       struct state *ret)
{
    int64_t parts;
    int form;
    if (kit_param_dtype(params, "dtype", "f32|f64|f16|bf16", &ret->dtype) ||
        kit_param_word(params, "form", "atomic|two-pass|last-block", &form) ||
        read_extent(params, "parts", &parts)) {
        return KIT_FAILED;
    }
    if (rows > MOST_ROWS || parts > rows) {
        return kit_fail("bad params: more parts than rows, or more than %d rows", MOST_ROWS);
    }
    ret->sum = ret->dtype == KIT_F64 ? KIT_F64 : KIT_F32;
    ret->args = (struct column_args){.type = kit_cuda_kernel_type(ret->dtype),
                                     .form = form,
                                     .rows = (i32)rows,
                                     .columns = (i32)columns,
                                     .inner = (i32)inner,
                                     .parts = (i32)parts,
                                     .width = inner ? 1 : TILE};
    return tiles_of(&ret->args) * parts <= MOST_BLOCKS
               ? KIT_OK
               : kit_fail("bad params: more than %d blocks", MOST_BLOCKS);
}

static struct kit_operand vector(const char *name, enum kit_role role, enum kit_dtype dtype, int64_t count)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = dtype, .ndim = 1, .shape = {count}, .batch_dim = -1};
}

static int prepare_kernels(struct state *s, int sums, struct kit_prepared *ret)
{
    const size_t partial = (size_t)s->args.parts * (size_t)sums * (size_t)s->args.columns;
    if (s->args.form != COLUMN_ATOMIC) { /* parts, then tickets */
        ret->workspace_bytes = partial * kit_dtype_size(s->sum) + (size_t)tiles_of(&s->args) * sizeof(u32);
    }
    const int rc = kit_cuda_kernel_for("column_sums", s->dtype, &s->sums);
    return rc ? rc : kit_cuda_kernel_for("column_combine", s->dtype, &s->combine);
}

static int run_kernels(const struct state *s, struct column_args *args, void *workspace)
{
    const int sums = args->x ? 2 : 1;
    const int64_t tiles = tiles_of(args);
    int rc = KIT_OK;
    for (int i = 0; i < sums && args->form == COLUMN_ATOMIC && !rc; i++) {
        rc = kit_cuda_zero(args->result[i], (size_t)args->columns * kit_dtype_size(s->sum));
    }
    if (args->form != COLUMN_ATOMIC) {
        const size_t partial = (size_t)args->parts * (size_t)sums * (size_t)args->columns;
        args->partial = workspace;
        args->tickets = (u32 *)(void *)((char *)workspace + partial * kit_dtype_size(s->sum));
    }
    if (args->form == COLUMN_LAST_BLOCK) {
        rc = kit_cuda_zero(args->tickets, (size_t)tiles * sizeof(u32));
    }
    rc = rc ? rc : kit_cuda_launch(s->sums, (int)tiles * args->parts, THREADS, args);
    if (rc || args->form != COLUMN_TWO_PASS) {
        return rc;
    }
    const int64_t items = (int64_t)args->columns * sums;
    return kit_cuda_launch(s->combine, kit_cuda_blocks(items, THREADS), THREADS, args);
}

/* --- layer norm: dbeta = sum of dy, dgamma = sum of dy (x - mean) rstd --- */

static int norm_read(const struct kit_params *params, struct state *ret)
{
    int64_t rows, columns;
    *ret = (struct state){.dtype = KIT_F32};
    return read_extent(params, "rows", &rows) || read_extent(params, "columns", &columns)
               ? KIT_FAILED
               : read_common(params, rows, columns, 0, ret);
}

static int norm_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct state s;
    if (norm_read(params, &s)) {
        return KIT_FAILED;
    }
    const int64_t rows = s.args.rows, columns = s.args.columns;
    const struct kit_operand matrix = {
        .role = KIT_IN, .dtype = s.dtype, .ndim = 2, .shape = {rows, columns}, .batch_dim = -1};
    ret->count = 6;
    ret->operand[DY] = matrix;
    ret->operand[DY].name = "dy";
    ret->operand[X] = matrix;
    ret->operand[X].name = "x";
    ret->operand[MEAN] = vector("mean", KIT_IN, s.sum, rows);
    ret->operand[RSTD] = vector("rstd", KIT_IN, s.sum, rows);
    ret->operand[DGAMMA] = vector("dgamma", KIT_OUT, s.sum, columns);
    ret->operand[DBETA] = vector("dbeta", KIT_OUT, s.sum, columns);
    ret->flops = (double)rows * (double)columns;
    return KIT_OK;
}

static int norm_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *const s = calloc(1, sizeof(*s));
    call->state = s;
    const int rc = s ? norm_read(call->params, s) : kit_fail("out of memory");
    return rc ? rc : prepare_kernels(s, 2, ret);
}

static int norm_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *s = call->state;
    struct column_args args = s->args;
    args.dy = buffers->data[DY];
    args.x = buffers->data[X];
    args.mean = buffers->data[MEAN];
    args.rstd = buffers->data[RSTD];
    args.result[0] = buffers->data[DBETA];
    args.result[1] = buffers->data[DGAMMA];
    return run_kernels(s, &args, buffers->workspace);
}

/* What a row gives to a column's sum: a term, and the size of what it is made of. */
static void add_term(const struct state *s, const void *const *in, bool is_gamma, int64_t row, int64_t column,
                     struct kit_cell *cell)
{
    const long double dy = kit_value(s->dtype, in[DY], row * s->args.columns + column);
    long double factor = 1, size = 1;
    if (is_gamma) {
        const long double x = kit_value(s->dtype, in[X], row * s->args.columns + column);
        const long double mean = kit_value(s->sum, in[MEAN], row), rstd = kit_value(s->sum, in[RSTD], row);
        factor = (x - mean) * rstd;
        size = (fabsl(x) + fabsl(mean)) * fabsl(rstd);
    }
    cell->value += dy * factor;
    cell->scale += fabsl(dy) * size;
}

static int norm_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct state *const s = call->state;
    for (size_t i = 0; i < count; i++) { /* a term of dgamma rounds three times */
        ret[i] = (struct kit_cell){.k = s->args.rows + (output == DGAMMA ? 3 : 0)};
    }
    for (int64_t row = 0; row < s->args.rows; row++) {
        for (size_t i = 0; i < count; i++) {
            add_term(s, in, output == DGAMMA, row, cells[i], &ret[i]);
        }
    }
    return KIT_OK;
}

/* --- bias: sums over images and pixels, a channel each --- */

static int bias_read(const struct kit_params *params, struct state *ret)
{
    int64_t n, c, pixels;
    int last;
    *ret = (struct state){.dtype = KIT_F32};
    if (read_extent(params, "n", &n) || read_extent(params, "c", &c) ||
        read_extent(params, "pixels", &pixels) || kit_param_word(params, "layout", "nchw|nhwc", &last)) {
        return KIT_FAILED;
    }
    return read_common(params, n * pixels, c, last ? 0 : pixels, ret);
}

static int bias_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct state s;
    int64_t n, pixels;
    if (bias_read(params, &s) || kit_param_int(params, "n", &n) || kit_param_int(params, "pixels", &pixels)) {
        return KIT_FAILED;
    }
    const int64_t c = s.args.columns;
    ret->count = 2;
    ret->operand[BIAS_DY] = (struct kit_operand){
        .name = "dy", .role = KIT_IN, .dtype = s.dtype, .ndim = 3, .shape = {n, c, pixels}, .batch_dim = -1};
    const int64_t strides[] = {c * pixels, 1, c};
    if (!s.args.inner) {
        memcpy(ret->operand[BIAS_DY].stride, strides, sizeof(strides));
    }
    ret->operand[DBIAS] = vector("dbias", KIT_OUT, s.sum, c);
    ret->flops = (double)n * (double)c * (double)pixels;
    return KIT_OK;
}

static int bias_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *const s = calloc(1, sizeof(*s));
    call->state = s;
    const int rc = s ? bias_read(call->params, s) : kit_fail("out of memory");
    return rc ? rc : prepare_kernels(s, 1, ret);
}

static int bias_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *s = call->state;
    struct column_args args = s->args;
    args.dy = buffers->data[BIAS_DY];
    args.result[0] = buffers->data[DBIAS];
    return run_kernels(s, &args, buffers->workspace);
}

static int bias_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct state *const s = call->state;
    const int64_t *const shape = call->shape->operand[BIAS_DY].shape;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){.k = s->args.rows};
        for (int64_t row = 0; row < s->args.rows; row++) {
            const int64_t at = (row / shape[2] * shape[1] + cells[i]) * shape[2] + row % shape[2];
            const long double dy = kit_value(s->dtype, in[BIAS_DY], at);
            ret[i].value += dy;
            ret[i].scale += fabsl(dy);
        }
    }
    return KIT_OK;
}

static const struct op layer_norm = {
    .name = "layer-norm",
    .describe = norm_describe,
    .prepare = norm_prepare,
    .run = norm_run,
    .reference = norm_reference,
    .release = kit_free_state,
};
static const struct op bias = {
    .name = "bias",
    .describe = bias_describe,
    .prepare = bias_prepare,
    .run = bias_run,
    .reference = bias_reference,
    .release = kit_free_state,
};

static int open_stack(void)
{
    return kit_cuda_open(column_text);
}

int main(void)
{
    static const struct op *const ops[] = {&layer_norm, &bias, NULL};
    static const struct kit_program program = {.name = "column",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_stack,
                                               .libraries = kit_cuda_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
