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
#include "probes/kit/op.h"

enum method { ATOMIC, SORTED };
enum { INDICES, SOURCE, TARGET };

/* dst[g][indices[g][i]][:] += src[g][i][:], g a group (the leading dimension), [:] a row of
 * `width`. */
struct geometry {
    int64_t groups, n, rows, width, multiplicity;
    int dtype;       /* into `kernels` */
    bool accumulate; /* onto what dst holds; else dst starts at zero */
};

struct state {
    struct geometry geometry;
    enum method method;
};

/* Iterations are dealt in small chunks, so that threads work on neighbouring rows at the same time. */
#define CHUNK 16

struct kernel {
    const char *name;
    enum kit_dtype dtype;
    void (*add_atomic)(const struct geometry *g, const int64_t *indices, const void *src, void *dst,
                       int threads);
    void (*add_sorted)(const struct geometry *g, const int64_t *starts, const int64_t *order, const void *src,
                       void *dst, int threads);
    void (*count_atomic)(const struct geometry *g, const int64_t *indices, void *dst, int threads);
    void (*put_atomic)(const struct geometry *g, const int64_t *indices, const void *src, void *dst,
                       int threads);
    void (*put_sorted)(const struct geometry *g, const int64_t *starts, const int64_t *order, const void *src,
                       void *dst, int threads);
};

static int64_t target_row(const struct geometry *g, const int64_t *indices, int64_t i)
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
#name, dtype, add_atomic_##name, add_sorted_##name, count_atomic_##name, put_atomic_##name,          \
            put_sorted_##name                                                                                \
    }

static const struct kernel kernels[] = {
    KERNEL(f32, KIT_F32),
    KERNEL(f64, KIT_F64),
    KERNEL(s32, KIT_S32),
    KERNEL(s64, KIT_S64),
};

/* ---- operands ---- */

static int read_geometry(const struct kit_params *params, bool accumulate, struct geometry *g)
{
    *g = (struct geometry){.accumulate = accumulate};
    const struct {
        const char *name;
        int64_t *target;
        int64_t low;
    } needed[] = {{"groups", &g->groups, 1},
                  {"n", &g->n, 1},
                  {"rows", &g->rows, 1},
                  {"width", &g->width, 1},
                  {"multiplicity", &g->multiplicity, 0}};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (kit_param_int(params, needed[i].name, needed[i].target) != KIT_OK) {
            return KIT_FAILED;
        }
        if (*needed[i].target < needed[i].low) {
            return kit_fail("parameter '%s' is too small", needed[i].name);
        }
    }
    return kit_param_word(params, "dtype", "f32|f64|s32|s64", &g->dtype);
}

static int describe(const struct kit_params *params, struct kit_shape *ret, bool accumulate, bool count)
{
    struct geometry g;
    if (read_geometry(params, accumulate, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    const enum kit_dtype dtype = kernels[g.dtype].dtype;
    ret->operand[INDICES] = (struct kit_operand){.name = "indices",
                                                 .dtype = KIT_S64,
                                                 .ndim = 2,
                                                 .shape = {g.groups, g.n},
                                                 .batch_dim = -1,
                                                 .fill = KIT_INDICES,
                                                 .below = g.rows,
                                                 .multiplicity = g.multiplicity};
    ret->operand[SOURCE] = (struct kit_operand){
        .name = "src", .dtype = dtype, .ndim = 3, .shape = {g.groups, g.n, g.width}, .batch_dim = -1};
    ret->operand[TARGET] = (struct kit_operand){.name = "dst",
                                                .role = accumulate ? KIT_INOUT : KIT_OUT,
                                                .dtype = dtype,
                                                .ndim = 3,
                                                .shape = {g.groups, g.rows, g.width},
                                                .batch_dim = -1};
    if (count) { /* a histogram has no source: its target moves up */
        ret->operand[SOURCE] = ret->operand[TARGET];
    }
    ret->count = count ? 2 : 3;
    ret->flops = (double)(g.groups * g.n * g.width);
    return KIT_OK;
}

static int describe_add(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, false, false);
}

static int describe_accumulate(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, true, false);
}

static int describe_count(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, false, true);
}

/* ---- run ---- */

static const char *const method_names[] = {"atomic", "sorted"};

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    (void)params;
    *ret_names = method_names;
    *ret_count = 2;
    return KIT_OK;
}

static int prepare_as(struct kit_call *call, bool accumulate, struct kit_prepared *ret)
{
    struct state *state = calloc(1, sizeof(*state));
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    if (read_geometry(call->params, accumulate, &state->geometry) != KIT_OK) {
        return KIT_FAILED;
    }
    if (!call->choice || strcmp(call->choice, "atomic") == 0) {
        state->method = ATOMIC;
    } else if (strcmp(call->choice, "sorted") == 0) {
        state->method = SORTED;
    } else {
        return kit_fail("unknown choice '%s', one of atomic sorted", call->choice);
    }
    const struct geometry *g = &state->geometry;
    if (state->method == SORTED) {
        ret->workspace_bytes = (size_t)(g->groups * g->rows + 1 + g->groups * g->n) * sizeof(int64_t);
    }
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_as(call, false, ret);
}

static int prepare_accumulate(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_as(call, true, ret);
}

/* Counting sort of source rows by target row, stable: `order` holds each target's sources in source order,
 * those of target row r at starts[r] .. starts[r + 1]. */
static void sort_rows(const struct geometry *g, const int64_t *indices, int64_t *starts, int64_t *order)
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

static void clear(const struct geometry *g, void *dst)
{
    if (!g->accumulate) {
        memset(dst, 0, (size_t)(g->groups * g->rows * g->width) * kit_dtype_size(kernels[g->dtype].dtype));
    }
}

static int run_add(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    const struct geometry *g = &state->geometry;
    const struct kernel *kernel = &kernels[g->dtype];
    const int64_t *indices = buffers->data[INDICES];
    clear(g, buffers->data[TARGET]);
    if (state->method == ATOMIC) {
        kernel->add_atomic(g, indices, buffers->data[SOURCE], buffers->data[TARGET], call->threads);
        return KIT_OK;
    }
    int64_t *starts = buffers->workspace, *order = starts + g->groups * g->rows + 1;
    sort_rows(g, indices, starts, order);
    kernel->add_sorted(g, starts, order, buffers->data[SOURCE], buffers->data[TARGET], call->threads);
    return KIT_OK;
}

static int run_put(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    const struct geometry *g = &state->geometry;
    const struct kernel *kernel = &kernels[g->dtype];
    const int64_t *indices = buffers->data[INDICES];
    if (state->method == ATOMIC) {
        kernel->put_atomic(g, indices, buffers->data[SOURCE], buffers->data[TARGET], call->threads);
        return KIT_OK;
    }
    int64_t *starts = buffers->workspace, *order = starts + g->groups * g->rows + 1;
    sort_rows(g, indices, starts, order);
    kernel->put_sorted(g, starts, order, buffers->data[SOURCE], buffers->data[TARGET], call->threads);
    return KIT_OK;
}

static int run_count(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    const struct geometry *g = &state->geometry;
    clear(g, buffers->data[SOURCE]);
    kernels[g->dtype].count_atomic(g, buffers->data[INDICES], buffers->data[SOURCE], call->threads);
    return KIT_OK;
}

static void release(struct kit_call *call)
{
    free(call->state);
    call->state = NULL;
}

/* ---- reference ---- */

/* Sums of every target cell in long double: four times the digits that f32 keeps, 11 bits beyond f64. */
static int reference_sums(struct kit_call *call, const int64_t *indices, const void *src, const void *before,
                          const int64_t *cells, size_t count, struct kit_cell *ret)
{
    const struct geometry *g = &((const struct state *)call->state)->geometry;
    const enum kit_dtype dtype = kernels[g->dtype].dtype;
    const int64_t total = g->groups * g->rows * g->width;
    struct kit_cell *sums = calloc((size_t)total, sizeof(*sums));
    if (!sums) {
        return kit_fail("out of memory");
    }
    for (int64_t cell = 0; g->accumulate && cell < total; cell++) {
        const long double value = kit_value(dtype, before, cell);
        sums[cell] = (struct kit_cell){.value = value, .scale = value < 0 ? -value : value, .k = 1};
    }
    for (int64_t i = 0; i < g->groups * g->n; i++) {
        for (int64_t j = 0; j < g->width; j++) {
            const long double value = src ? kit_value(dtype, src, i * g->width + j) : 1;
            struct kit_cell *sum = &sums[target_row(g, indices, i) * g->width + j];
            sum->value += value;
            sum->scale += value < 0 ? -value : value;
            sum->k++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        ret[i] = sums[cells[i]];
        ret[i].k = ret[i].k > 0 ? ret[i].k : 1;
    }
    free(sums);
    return KIT_OK;
}

static int reference_add(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    (void)output;
    return reference_sums(call, in[INDICES], in[SOURCE], in[TARGET], cells, count, ret);
}

static int reference_count(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                           size_t count, struct kit_cell *ret)
{
    (void)output;
    return reference_sums(call, in[INDICES], NULL, NULL, cells, count, ret);
}

/* A cell may hold any value that was written to it; one that nobody writes keeps what it held. */
static int accepts_put(struct kit_call *call, int output, const void *const *in, const void *logical,
                       int64_t *ret_wrong)
{
    const struct geometry *g = &((const struct state *)call->state)->geometry;
    const size_t size = kit_dtype_size(kernels[g->dtype].dtype);
    const int64_t *indices = in[INDICES], cells = g->groups * g->rows * g->width;
    const char *src = in[SOURCE], *before = in[TARGET], *after = logical;
    char *state =
        calloc((size_t)cells, 1); /* 0: nobody wrote, 1: none of the writers' values yet, 2: matched */
    (void)output;
    if (!state) {
        return kit_fail("out of memory");
    }
    for (int64_t i = 0; i < g->groups * g->n * g->width; i++) {
        const int64_t cell = target_row(g, indices, i / g->width) * g->width + i % g->width;
        const bool equal = memcmp(after + (size_t)cell * size, src + (size_t)i * size, size) == 0;
        state[cell] = equal || state[cell] == 2 ? 2 : 1;
    }
    *ret_wrong = 0;
    for (int64_t cell = 0; cell < cells; cell++) {
        const bool kept = memcmp(after + (size_t)cell * size, before + (size_t)cell * size, size) == 0;
        *ret_wrong += state[cell] == 1 || (state[cell] == 0 && !kept);
    }
    free(state);
    return KIT_OK;
}

static const struct op scatter_add = {
    .name = "scatter-add", /* dst starts at zero: scatter-add onto zeros, gather and embedding backward,
                              histogram */
    .describe = describe_add,
    .choices = choices,
    .prepare = prepare,
    .run = run_add,
    .reference = reference_add,
    .release = release,
};
static const struct op index_add = {
    .name = "index-add", /* onto what dst holds */
    .describe = describe_accumulate,
    .choices = choices,
    .prepare = prepare_accumulate,
    .run = run_add,
    .reference = reference_add,
    .release = release,
};
static const struct op index_put = {
    .name = "index-put", /* no accumulation: the last writer wins */
    .describe = describe_accumulate,
    .choices = choices,
    .prepare = prepare_accumulate,
    .run = run_put,
    .accepts = accepts_put,
    .release = release,
};
static const struct op count = {
    .name = "count", /* histogram without weights */
    .describe = describe_count,
    .prepare = prepare,
    .run = run_count,
    .reference = reference_count,
    .release = release,
};

int main(void)
{
    static const struct op *const ops[] = {&scatter_add, &index_add, &index_put, &count, NULL};
    static const struct kit_program program = {
        .name = "scatter", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
