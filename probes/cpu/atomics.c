/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic updates in arrival order: add, compare-and-swap loops, maximum, append by counter. A float sum then
 * rounds in another order each time; integer sums and maxima must not move; an append gives the same items in
 * another order. Each run makes `rows` independent accumulations of `n` values, every one a parallel region
 * of its own: threads wake in another order each time, so a case that can vary does so at every look.
 * Eight threads, because four that share a busy core may keep their order for long.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"

#define CHUNK 16 /* iterations dealt at once: neighbours go to different threads */

enum { VALUES, RESULT };

struct geometry {
    int64_t rows, n;
    enum kit_dtype dtype;
};

static int read_geometry(const struct kit_params *params, struct geometry *g)
{
    if (kit_param_int(params, "rows", &g->rows) != KIT_OK || kit_param_int(params, "n", &g->n) != KIT_OK ||
        kit_param_dtype(params, "dtype", "f32|f64|s32|s64", &g->dtype) != KIT_OK) {
        return KIT_FAILED;
    }
    return g->rows > 0 && g->n > 0 ? KIT_OK : kit_fail("'rows' and 'n' must be positive");
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_geometry(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[VALUES] = (struct kit_operand){
        .name = "values", .dtype = g.dtype, .ndim = 2, .shape = {g.rows, g.n}, .batch_dim = -1};
    ret->operand[RESULT] = (struct kit_operand){
        .name = "result", .role = KIT_OUT, .dtype = g.dtype, .ndim = 1, .shape = {g.rows}, .batch_dim = -1};
    ret->count = 2;
    ret->flops = (double)(g.rows * g.n);
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct geometry *g = calloc(1, sizeof(*g));
    (void)ret;
    call->state = g;
    return g ? read_geometry(call->params, g) : kit_fail("out of memory");
}

/* ---- add: the `atomic` construct ---- */

#define TYPE float
#define NAME(function) function##_f32
#include "probes/cpu/atomics_kernels.h"
#define TYPE double
#define NAME(function) function##_f64
#include "probes/cpu/atomics_kernels.h"
#define TYPE int32_t
#define NAME(function) function##_s32
#include "probes/cpu/atomics_kernels.h"
#define TYPE int64_t
#define NAME(function) function##_s64
#include "probes/cpu/atomics_kernels.h"

typedef void (*kernel_function)(const struct geometry *g, const void *values, void *result, int threads);

static const kernel_function add[] = {
    [KIT_F32] = add_f32, [KIT_F64] = add_f64, [KIT_S32] = add_s32, [KIT_S64] = add_s64};
static const kernel_function add_cas[] = {
    [KIT_F32] = add_cas_f32, [KIT_F64] = add_cas_f64, [KIT_S32] = add_cas_s32, [KIT_S64] = add_cas_s64};
static const kernel_function max_cas[] = {
    [KIT_F32] = max_cas_f32, [KIT_F64] = max_cas_f64, [KIT_S32] = max_cas_s32, [KIT_S64] = max_cas_s64};

static int run_kernel(struct kit_call *call, const struct kit_buffers *buffers,
                      const kernel_function *kernels)
{
    const struct geometry *g = call->state;
    kernels[g->dtype](g, buffers->data[VALUES], buffers->data[RESULT], call->threads);
    return KIT_OK;
}

static int run_add(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_kernel(call, buffers, add);
}

static int run_add_cas(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_kernel(call, buffers, add_cas);
}

static int run_max(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_kernel(call, buffers, max_cas);
}

static int reference_sum(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){.k = g->n};
        for (int64_t j = 0; j < g->n; j++) {
            const long double value = kit_value(g->dtype, in[VALUES], cells[i] * g->n + j);
            ret[i].value += value;
            ret[i].scale += value < 0 ? -value : value;
        }
    }
    return KIT_OK;
}

static int reference_max(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){.value = kit_value(g->dtype, in[VALUES], cells[i] * g->n), .k = 1};
        for (int64_t j = 1; j < g->n; j++) {
            const long double value = kit_value(g->dtype, in[VALUES], cells[i] * g->n + j);
            ret[i].value = value > ret[i].value ? value : ret[i].value;
        }
    }
    return KIT_OK;
}

/* ---- append by counter: the items of each list, in arrival order ---- */

static int read_lists(const struct kit_params *params, int64_t *ret_rows, int64_t *ret_n)
{
    if (kit_param_int(params, "rows", ret_rows) != KIT_OK || kit_param_int(params, "n", ret_n) != KIT_OK) {
        return KIT_FAILED;
    }
    return *ret_rows > 0 && *ret_n > 0 ? KIT_OK : kit_fail("'rows' and 'n' must be positive");
}

static int describe_append(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t rows, n;
    if (read_lists(params, &rows, &n) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[VALUES] = (struct kit_operand){.name = "values",
                                                .dtype = KIT_S64,
                                                .ndim = 2,
                                                .shape = {rows, n},
                                                .batch_dim = -1,
                                                .fill = KIT_PERMUTATION};
    ret->operand[RESULT] = (struct kit_operand){
        .name = "items", .role = KIT_OUT, .dtype = KIT_S64, .ndim = 2, .shape = {rows, n}, .batch_dim = -1};
    ret->count = 2;
    ret->flops = (double)(rows * n);
    return KIT_OK;
}

static int prepare_append(struct kit_call *call, struct kit_prepared *ret)
{
    (void)ret;
    call->state = NULL;
    return KIT_OK;
}

static int run_append(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t rows = call->shape->operand[VALUES].shape[0], n = call->shape->operand[VALUES].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *values = (const int64_t *)buffers->data[VALUES] + row * n;
        int64_t *items = (int64_t *)buffers->data[RESULT] + row * n, used = 0;
#pragma omp parallel for schedule(static, CHUNK) num_threads(call->threads)
        for (int64_t i = 0; i < n; i++) {
            int64_t place;
#pragma omp atomic capture
            place = used++;
            items[place] = values[i];
        }
    }
    return KIT_OK;
}

/* Each item once and in its own list, in any order. */
static int accepts_append(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    const int64_t rows = call->shape->operand[RESULT].shape[0], n = call->shape->operand[RESULT].shape[1];
    const int64_t *values = in[VALUES], *items = logical;
    int64_t *owner = calloc((size_t)(rows * n), sizeof(*owner)); /* of an item that is due: its list + 1 */
    (void)output;
    if (!owner) {
        return kit_fail("out of memory");
    }
    for (int64_t i = 0; i < rows * n; i++) {
        owner[values[i]] = i / n + 1;
    }
    *ret_wrong = 0;
    for (int64_t i = 0; i < rows * n; i++) {
        const bool good = items[i] >= 0 && items[i] < rows * n && owner[items[i]] == i / n + 1;
        *ret_wrong += !good;
        if (good) {
            owner[items[i]] = 0;
        }
    }
    free(owner);
    return KIT_OK;
}

static const struct op atomic_add = {
    .name = "atomic-add",
    .describe = describe,
    .prepare = prepare,
    .run = run_add,
    .reference = reference_sum,
    .release = kit_free_state,
};
static const struct op compare_and_swap_add = {
    .name = "compare-and-swap-add",
    .describe = describe,
    .prepare = prepare,
    .run = run_add_cas,
    .reference = reference_sum,
    .release = kit_free_state,
};
static const struct op atomic_max = {
    .name = "atomic-max",
    .describe = describe,
    .prepare = prepare,
    .run = run_max,
    .reference = reference_max,
    .release = kit_free_state,
};
static const struct op append = {
    .name = "append",
    .describe = describe_append,
    .prepare = prepare_append,
    .run = run_append,
    .accepts = accepts_append,
    .release = kit_free_state,
};

int main(void)
{
    static const struct op *const ops[] = {&atomic_add, &compare_and_swap_add, &atomic_max, &append, NULL};
    static const struct kit_program program = {
        .name = "atomics", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
