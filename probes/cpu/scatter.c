/* SPDX-License-Identifier: Apache-2.0
 *
 * Scatter and index operations as OpenMP loops: many source rows fall on few destination rows. The choice
 * `atomic` adds in arrival order, as fast CPU and GPU kernels do; `sorted` first orders the source rows by
 * destination, so that one thread sums each destination in source order whatever the team. Two addends to a
 * zero commute, so order shows from three addends per cell on. Groups are independent and each is a parallel
 * region of its own: a short loop has several, because threads that hardly overlap arrive in one order of
 * few. For the same reason there are eight threads: four that share a busy core may keep their order for
 * long. Own loops: what is measured is the OpenMP runtime and the machine.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/scatter.h"

enum method { ATOMIC, SORTED };

struct state {
    struct kit_scatter geometry;
    const struct kernel *kernel;
    enum method method;
};

/* Iterations are dealt in small chunks, so that threads work on neighbouring rows at the same time. */
#define CHUNK 16

struct kernel {
    enum kit_dtype dtype;
    void (*add_atomic)(const struct kit_scatter *g, const int64_t *indices, const void *src, void *dst,
                       int threads);
    void (*add_sorted)(const struct kit_scatter *g, const int64_t *starts, const int64_t *order,
                       const void *src, void *dst, int threads);
    void (*count_atomic)(const struct kit_scatter *g, const int64_t *indices, void *dst, int threads);
    void (*put_atomic)(const struct kit_scatter *g, const int64_t *indices, const void *src, void *dst,
                       int threads);
    void (*put_sorted)(const struct kit_scatter *g, const int64_t *starts, const int64_t *order,
                       const void *src, void *dst, int threads);
};

static int64_t target_row(const struct kit_scatter *g, const int64_t *indices, int64_t i)
{
    return i / g->n * g->rows + indices[i];
}

/* One set of loops per element type; the types differ in nothing else. */
#define TYPE float
#define NAME(function) function##_f32
#include "probes/cpu/scatter_kernels.h"
#define TYPE double
#define NAME(function) function##_f64
#include "probes/cpu/scatter_kernels.h"
#define TYPE int32_t
#define NAME(function) function##_s32
#include "probes/cpu/scatter_kernels.h"
#define TYPE int64_t
#define NAME(function) function##_s64
#include "probes/cpu/scatter_kernels.h"

#define KERNEL(name, dtype)                                                                                  \
    {                                                                                                        \
        dtype, add_atomic_##name, add_sorted_##name, count_atomic_##name, put_atomic_##name,                 \
            put_sorted_##name                                                                                \
    }

static const struct kernel kernels[] = {
    KERNEL(f32, KIT_F32),
    KERNEL(f64, KIT_F64),
    KERNEL(s32, KIT_S32),
    KERNEL(s64, KIT_S64),
};

/* ---- run ---- */

static const char *const method_names[] = {"atomic", "sorted"};

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    (void)params;
    *ret_names = method_names;
    *ret_count = 2;
    return KIT_OK;
}

static const struct kernel *find_kernel(enum kit_dtype dtype)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (kernels[i].dtype == dtype) {
            return &kernels[i];
        }
    }
    return NULL;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *state = calloc(1, sizeof(*state));
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    struct kit_scatter *g = &state->geometry;
    if (kit_scatter_read(call->params, g) != KIT_OK) {
        return KIT_FAILED;
    }
    state->kernel = find_kernel(g->dtype);
    if (!state->kernel || g->elementwise || g->padding >= 0) {
        return kit_fail("no loop for %s", !state->kernel   ? kit_dtype_name(g->dtype)
                                          : g->elementwise ? "an index per element"
                                                           : "padding");
    }
    if (!call->choice || strcmp(call->choice, "atomic") == 0) {
        state->method = ATOMIC;
    } else if (strcmp(call->choice, "sorted") == 0) {
        state->method = SORTED;
    } else {
        return kit_fail("unknown choice '%s', one of atomic sorted", call->choice);
    }
    if (state->method == SORTED) {
        ret->workspace_bytes = (size_t)(g->groups * g->rows + 1 + g->groups * g->n) * sizeof(int64_t);
    }
    return KIT_OK;
}

/* Counting sort of source rows by target row, stable: `order` holds each target's sources in source order,
 * those of target row r at starts[r] .. starts[r + 1]. */
static void sort_rows(const struct kit_scatter *g, const int64_t *indices, int64_t *starts, int64_t *order)
{
    const int64_t rows = g->groups * g->rows, sources = g->groups * g->n;
    memset(starts, 0, (size_t)(rows + 1) * sizeof(*starts));
    for (int64_t i = 0; i < sources; i++) {
        starts[target_row(g, indices, i) + 1]++;
    }
    for (int64_t row = 0; row < rows; row++) {
        starts[row + 1] += starts[row];
    }
    for (int64_t i = 0; i < sources; i++) {
        order[starts[target_row(g, indices, i)]++] = i;
    }
    memmove(starts + 1, starts, (size_t)rows * sizeof(*starts));
    starts[0] = 0;
}

/* dst starts at zero unless something is added onto what it holds. */
static void clear(const struct kit_call *call, int output, void *dst)
{
    const struct kit_operand *operand = &call->shape->operand[output];
    if (operand->role == KIT_OUT) {
        memset(dst, 0,
               (size_t)(operand->shape[0] * operand->shape[1] * operand->shape[2]) *
                   kit_dtype_size(operand->dtype));
    }
}

static int run_add(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    const struct kit_scatter *g = &state->geometry;
    const int64_t *indices = buffers->data[KIT_SCATTER_INDICES];
    const void *src = buffers->data[KIT_SCATTER_SOURCE];
    void *dst = buffers->data[KIT_SCATTER_TARGET];
    clear(call, KIT_SCATTER_TARGET, dst);
    if (state->method == ATOMIC) {
        state->kernel->add_atomic(g, indices, src, dst, call->threads);
        return KIT_OK;
    }
    int64_t *starts = buffers->workspace, *order = starts + g->groups * g->rows + 1;
    sort_rows(g, indices, starts, order);
    state->kernel->add_sorted(g, starts, order, src, dst, call->threads);
    return KIT_OK;
}

static int run_put(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    const struct kit_scatter *g = &state->geometry;
    const int64_t *indices = buffers->data[KIT_SCATTER_INDICES];
    const void *src = buffers->data[KIT_SCATTER_SOURCE];
    void *dst = buffers->data[KIT_SCATTER_TARGET];
    if (state->method == ATOMIC) {
        state->kernel->put_atomic(g, indices, src, dst, call->threads);
        return KIT_OK;
    }
    int64_t *starts = buffers->workspace, *order = starts + g->groups * g->rows + 1;
    sort_rows(g, indices, starts, order);
    state->kernel->put_sorted(g, starts, order, src, dst, call->threads);
    return KIT_OK;
}

static int run_count(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    void *dst = buffers->data[KIT_SCATTER_SOURCE];
    clear(call, KIT_SCATTER_SOURCE, dst);
    state->kernel->count_atomic(&state->geometry, buffers->data[KIT_SCATTER_INDICES], dst, call->threads);
    return KIT_OK;
}

static const struct op scatter_add = {
    .name = "scatter-add", /* dst starts at zero: scatter-add onto zeros, gather and embedding backward,
                              histogram */
    .describe = kit_scatter_describe_add,
    .choices = choices,
    .prepare = prepare,
    .run = run_add,
    .reference = kit_scatter_reference,
    .release = kit_free_state,
};
static const struct op index_add = {
    .name = "index-add", /* onto what dst holds */
    .describe = kit_scatter_describe_onto,
    .choices = choices,
    .prepare = prepare,
    .run = run_add,
    .reference = kit_scatter_reference,
    .release = kit_free_state,
};
static const struct op index_put = {
    .name = "index-put", /* no accumulation: the last writer wins */
    .describe = kit_scatter_describe_onto,
    .choices = choices,
    .prepare = prepare,
    .run = run_put,
    .accepts = kit_scatter_accepts,
    .release = kit_free_state,
};
static const struct op count = {
    .name = "count", /* histogram without weights */
    .describe = kit_scatter_describe_count,
    .prepare = prepare,
    .run = run_count,
    .reference = kit_scatter_reference,
    .release = kit_free_state,
};

int main(void)
{
    static const struct op *const ops[] = {&scatter_add, &index_add, &index_put, &count, NULL};
    static const struct kit_program program = {
        .name = "scatter", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
