/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic updates in arrival order: add by atom and by red, compare-and-swap loops, maximum and minimum,
 * append by counter, sums whose last block adds up the parts. A float sum rounds in another order each time;
 * integer sums and maxima must not move; an append gives the same items in another order. A tree sum with its
 * barrier left out shows what a race looks like beside a reordering.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/kit/cuda.h"
#include "probes/kit/dtype.h"
#include "probes/kit/kernel.h"

#include "probes/cuda/atomics.cu"

extern const char atomics_text[];

#define THREADS 256

enum { VALUES, RESULT };

/* --- one update per value: rows x n values into rows results --- */

static const struct update {
    const char *form, *kernel, *first; /* first: what results begin as, NULL: zero */
    enum kit_dtype dtype;
    bool pairs, selects;
} updates[] = {
    {"atom-f32", "add_f32", NULL, KIT_F32, false, false},
    {"atom-f64", "add_f64", NULL, KIT_F64, false, false},
    {"atom-f16", "add_f16", NULL, KIT_F16, false, false},
    {"atom-bf16", "add_bf16", NULL, KIT_BF16, false, false},
    {"atom-f16x2", "add_f16x2", NULL, KIT_F16, true, false},
    {"atom-bf16x2", "add_bf16x2", NULL, KIT_BF16, true, false},
    {"atom-s32", "add_s32", NULL, KIT_S32, false, false},
    {"atom-s64", "add_s64", NULL, KIT_S64, false, false},
    {"red-f32", "red_f32", NULL, KIT_F32, false, false},
    {"red-f64", "red_f64", NULL, KIT_F64, false, false},
    {"red-f16x2", "red_f16x2", NULL, KIT_F16, true, false},
    {"red-bf16x2", "red_bf16x2", NULL, KIT_BF16, true, false},
    {"red-s32", "red_s32", NULL, KIT_S32, false, false},
    {"red-s64", "red_s64", NULL, KIT_S64, false, false},
    {"cas-f32", "cas_f32", NULL, KIT_F32, false, false},
    {"cas-s32", "cas_s32", NULL, KIT_S32, false, false},
    {"max-f32", "max_f32", "first_4", KIT_F32, false, true},
    {"max-s32", "max_s32", "first_4", KIT_S32, false, true},
    {"max-s64", "max_s64", "first_8", KIT_S64, false, true},
    {"min-s32", "min_s32", "first_4", KIT_S32, false, true},
};

struct update_state {
    const struct update *update;
    CUfunction kernel, first;
    int64_t rows, n;
};

static int update_read(const struct kit_params *params, struct update_state *ret)
{
    const char *form;
    *ret = (struct update_state){.update = NULL};
    if (kit_param_string(params, "form", &form) || kit_param_int(params, "rows", &ret->rows) ||
        kit_param_int(params, "n", &ret->n)) {
        return KIT_FAILED;
    }
    for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
        ret->update = strcmp(updates[i].form, form) == 0 ? &updates[i] : ret->update;
    }
    if (!ret->update) {
        return kit_fail("unknown form '%s'", form);
    }
    return ret->rows > 0 && ret->n > 0 && ret->rows % 2 == 0
               ? KIT_OK
               : kit_fail("bad params: rows and n must be positive, rows even");
}

static int describe_rows(struct kit_shape *ret, enum kit_dtype dtype, int64_t rows, int64_t n)
{
    ret->count = 2;
    ret->operand[VALUES] = (struct kit_operand){
        .name = "values", .role = KIT_IN, .dtype = dtype, .ndim = 2, .shape = {rows, n}, .batch_dim = -1};
    ret->operand[RESULT] = (struct kit_operand){
        .name = "result", .role = KIT_OUT, .dtype = dtype, .ndim = 1, .shape = {rows}, .batch_dim = -1};
    ret->flops = (double)(rows * n);
    return KIT_OK;
}

static int update_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct update_state u;
    return update_read(params, &u) ? KIT_FAILED : describe_rows(ret, u.update->dtype, u.rows, u.n);
}

static int update_blocks(const struct update_state *u)
{
    return kit_cuda_blocks(u->rows * u->n / (u->update->pairs ? 2 : 1), THREADS);
}

static int update_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct update_state *const u = calloc(1, sizeof(*u));
    call->state = u;
    int rc = u ? update_read(call->params, u) : kit_fail("out of memory");
    rc = rc ? rc : kit_cuda_kernel(u->update->kernel, &u->kernel);
    ret->workspace_bytes = rc ? 0 : (size_t)(update_blocks(u) * THREADS) * sizeof(u32);
    return rc || !u->update->first ? rc : kit_cuda_kernel(u->update->first, &u->first);
}

static int update_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct update_state *u = call->state;
    const struct atomics_args args = {buffers->data[VALUES], buffers->data[RESULT], buffers->workspace,
                                      u->rows, u->n};
    const int rc = u->first ? kit_cuda_launch(u->first, kit_cuda_blocks(u->rows, THREADS), THREADS, &args)
                            : kit_cuda_zero(args.result, (size_t)u->rows * kit_dtype_size(u->update->dtype));
    return rc ? rc : kit_cuda_launch(u->kernel, update_blocks(u), THREADS, &args);
}

/* Sum or selection over one row. */
static struct kit_cell row_sum(enum kit_dtype dtype, const void *values, int64_t row, int64_t n)
{
    struct kit_cell cell = {.k = n};
    for (int64_t i = 0; i < n; i++) {
        const long double value = kit_value(dtype, values, row * n + i);
        cell.value += value;
        cell.scale += value < 0 ? -value : value;
    }
    return cell;
}

static int update_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct update_state *u = call->state;
    const enum kit_dtype dtype = u->update->dtype;
    const bool least = strncmp(u->update->form, "min", 3) == 0;
    for (size_t i = 0; i < count; i++) {
        ret[i] = row_sum(dtype, in[VALUES], cells[i], u->n);
        if (!u->update->selects) {
            continue;
        }
        ret[i] = (struct kit_cell){.value = kit_value(dtype, in[VALUES], cells[i] * u->n), .k = 1};
        for (int64_t j = 1; j < u->n; j++) {
            const long double value = kit_value(dtype, in[VALUES], cells[i] * u->n + j);
            ret[i].value = (least ? value < ret[i].value : value > ret[i].value) ? value : ret[i].value;
        }
    }
    return KIT_OK;
}

/* --- append by counter: the items of a list, in arrival order --- */

static int append_describe(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t n;
    if (kit_param_int(params, "n", &n)) {
        return KIT_FAILED;
    }
    if (n < 1 || n > INT32_MAX) {
        return kit_fail("bad params: n is not within 1 and %d", INT32_MAX);
    }
    ret->count = 2;
    ret->operand[VALUES] = (struct kit_operand){.name = "values",
                                                .role = KIT_IN,
                                                .dtype = KIT_S64,
                                                .ndim = 1,
                                                .shape = {n},
                                                .batch_dim = -1,
                                                .fill = KIT_PERMUTATION};
    ret->operand[RESULT] = (struct kit_operand){
        .name = "items", .role = KIT_OUT, .dtype = KIT_S64, .ndim = 1, .shape = {n}, .batch_dim = -1};
    ret->flops = (double)n;
    return KIT_OK;
}

struct kernel_state {
    CUfunction kernel;
    int64_t rows, n, parts;
    int flag;
};

static int append_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct kernel_state *const s = calloc(1, sizeof(*s));
    call->state = s;
    ret->workspace_bytes = sizeof(u32);
    return s ? kit_cuda_kernel("append", &s->kernel) : kit_fail("out of memory");
}

static int append_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct kernel_state *s = call->state;
    const int64_t n = call->shape->operand[VALUES].shape[0];
    const struct append_args args = {buffers->data[VALUES], buffers->data[RESULT], buffers->workspace, n};
    const int rc = kit_cuda_zero(args.used, sizeof(u32));
    return rc ? rc : kit_cuda_launch(s->kernel, kit_cuda_blocks(n, THREADS), THREADS, &args);
}

/* Each item once, in any order. */
static int append_accepts(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    const int64_t n = call->shape->operand[RESULT].shape[0], *items = logical;
    char *const seen = calloc((size_t)n, 1);
    if (!seen) {
        return kit_fail("out of memory");
    }
    *ret_wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool good = items[i] >= 0 && items[i] < n && !seen[items[i]];
        *ret_wrong += !good;
        if (good) {
            seen[items[i]] = 1;
        }
    }
    free(seen);
    return KIT_OK;
}

/* --- sums whose last block adds up the parts, and within one block --- */

static int parts_read(const struct kit_params *params, struct kernel_state *ret)
{
    *ret = (struct kernel_state){.parts = 1};
    if (kit_param_word(params, "order", "index|arrival", &ret->flag) ||
        kit_param_int(params, "rows", &ret->rows) || kit_param_int(params, "n", &ret->n) ||
        kit_param_int(params, "parts", &ret->parts)) {
        return KIT_FAILED;
    }
    return ret->rows > 0 && ret->n > 0 && ret->parts > 0 && ret->rows * ret->parts <= 1 << 16
               ? KIT_OK
               : kit_fail("bad params: rows, n and parts must be positive, rows times parts at most 65536");
}

static int parts_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct kernel_state s;
    return parts_read(params, &s) ? KIT_FAILED : describe_rows(ret, KIT_F32, s.rows, s.n);
}

static int parts_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct kernel_state *const s = calloc(1, sizeof(*s));
    call->state = s;
    const int rc = s ? parts_read(call->params, s) : kit_fail("out of memory");
    if (rc) {
        return rc;
    }
    ret->workspace_bytes = (size_t)s->rows * (2 * sizeof(u32) + (size_t)s->parts * sizeof(float));
    return kit_cuda_kernel("last_block", &s->kernel);
}

static int parts_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct kernel_state *s = call->state;
    u32 *const tickets = buffers->workspace;
    const struct parts_args args = {buffers->data[VALUES],
                                    buffers->data[RESULT],
                                    (void *)(tickets + 2 * s->rows),
                                    tickets,
                                    s->n,
                                    (i32)s->rows,
                                    (i32)s->parts,
                                    s->flag};
    const int rc = kit_cuda_zero(tickets, (size_t)s->rows * 2 * sizeof(u32));
    return rc ? rc : kit_cuda_launch(s->kernel, (int)(s->rows * s->parts), THREADS, &args);
}

static int rows_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    for (size_t i = 0; i < count; i++) {
        ret[i] = row_sum(KIT_F32, in[VALUES], cells[i], call->shape->operand[VALUES].shape[1]);
    }
    return KIT_OK;
}

static int block_describe(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t rows;
    return kit_param_int(params, "rows", &rows) ? KIT_FAILED : describe_rows(ret, KIT_F32, rows, THREADS);
}

static int block_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct kernel_state *const s = calloc(1, sizeof(*s));
    call->state = s;
    if (!s) {
        return kit_fail("out of memory");
    }
    s->rows = call->shape->operand[VALUES].shape[0];
    return kit_cuda_kernel("one_block", &s->kernel);
}

static int block_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct kernel_state *s = call->state;
    const struct block_args args = {buffers->data[VALUES], buffers->data[RESULT], 1};
    return kit_cuda_launch(s->kernel, (int)s->rows, THREADS, &args);
}

static int racing_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct kernel_state *s = call->state;
    const struct block_args args = {buffers->data[VALUES], buffers->data[RESULT], 0};
    return kit_cuda_launch(s->kernel, (int)s->rows, THREADS, &args);
}

static const struct op update = {
    .name = "update",
    .describe = update_describe,
    .prepare = update_prepare,
    .run = update_run,
    .reference = update_reference,
    .release = kit_free_state,
};
static const struct op append = {
    .name = "append",
    .describe = append_describe,
    .prepare = append_prepare,
    .run = append_run,
    .accepts = append_accepts,
    .release = kit_free_state,
};
static const struct op last_block = {
    .name = "last-block",
    .describe = parts_describe,
    .prepare = parts_prepare,
    .run = parts_run,
    .reference = rows_reference,
    .release = kit_free_state,
};
static const struct op barrier = {
    .name = "barrier",
    .describe = block_describe,
    .prepare = block_prepare,
    .run = block_run,
    .reference = rows_reference,
    .release = kit_free_state,
};
static const struct op no_barrier = {
    .name = "no-barrier", /* no reference: what a race gives is wrong by design */
    .describe = block_describe,
    .prepare = block_prepare,
    .run = racing_run,
    .release = kit_free_state,
};

static int open_stack(void)
{
    return kit_cuda_open(atomics_text);
}

int main(void)
{
    static const struct op *const ops[] = {&update, &append, &last_block, &barrier, &no_barrier, NULL};
    static const struct kit_program program = {.name = "atomics",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_stack,
                                               .libraries = kit_cuda_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
