/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of the emulated libcudnn: the three passes with all their algorithms, which differ in what
 * they support, in their workspace and in the order of their sums. Those that use atomics sum in another
 * order at each call. Heuristics and Find list the algorithms in one order, which `select` moves on by one in
 * each process that the call log knows of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/tests/emulation/cudnn_objects.h"
#include "suite/tests/emulation/emulation.h"
#include "suite/tests/emulation/sums.h"

struct cudnnConvolutionStruct {
    int pad[2], stride[2], dilation[2], groups;
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
};

enum pass { FORWARD, BACKWARD_DATA, BACKWARD_FILTER };

/* What an algorithm asks for. */
struct rule {
    bool missing, atomics, plain; /* plain: stride and dilation 1, channels first */
    bool float_only;
    int window_from, window_to; /* 0: any */
    int workspace;              /* floats for each of the filter's elements */
};
#define MOST_ALGORITHMS 8
static const struct {
    int count;
    struct rule rule[MOST_ALGORITHMS];
} rules[] = {
    [FORWARD] = {8,
                 {[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM] = {0},
                  [CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM] = {.workspace = 1},
                  [CUDNN_CONVOLUTION_FWD_ALGO_GEMM] = {.float_only = true, .workspace = 3},
                  [CUDNN_CONVOLUTION_FWD_ALGO_DIRECT] = {.missing = true},
                  [CUDNN_CONVOLUTION_FWD_ALGO_FFT] = {.plain = true, .float_only = true, .workspace = 8},
                  [CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING] =
                      {.plain = true, .float_only = true, .window_from = 2, .window_to = 32, .workspace = 6},
                  [CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD] =
                      {.plain = true, .window_from = 3, .window_to = 3, .workspace = 2},
                  [CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED] =
                      {.plain = true, .window_from = 3, .window_to = 5, .workspace = 5}}},
    [BACKWARD_DATA] =
        {6,
         {[CUDNN_CONVOLUTION_BWD_DATA_ALGO_0] = {.atomics = true},
          [CUDNN_CONVOLUTION_BWD_DATA_ALGO_1] = {.workspace = 1},
          [CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT] = {.plain = true, .float_only = true, .workspace = 8},
          [CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING] =
              {.plain = true, .float_only = true, .window_from = 2, .window_to = 32, .workspace = 6},
          [CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD] =
              {.plain = true, .window_from = 3, .window_to = 3, .workspace = 2},
          [CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED] =
              {.plain = true, .window_from = 3, .window_to = 5, .workspace = 5}}},
    [BACKWARD_FILTER] =
        {7,
         {[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0] = {.atomics = true},
          [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1] = {.workspace = 1},
          [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT] = {.plain = true, .float_only = true, .workspace = 8},
          [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3] = {.atomics = true, .float_only = true, .workspace = 1},
          [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD] = {.missing = true},
          [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED] =
              {.plain = true, .window_from = 3, .window_to = 5, .workspace = 5},
          [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING] =
              {.plain = true, .float_only = true, .window_from = 2, .window_to = 32, .workspace = 6}}},
};

/* The objects of one call; x is the input's side, y the output's, whichever is computed. */
struct problem {
    enum pass pass;
    const struct cudnnTensorStruct *x, *y;
    const struct cudnnFilterStruct *w;
    const struct cudnnConvolutionStruct *c;
};

/* --- the descriptor --- */

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convolution)
{
    *convolution = calloc(1, sizeof(**convolution));
    (*convolution)->groups = 1;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution)
{
    free(convolution);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t c, int pad_h, int pad_w, int u,
                                              int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
    if (pad_h < 0 || pad_w < 0 || u < 1 || v < 1 || dilation_h < 1 || dilation_w < 1) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "padding, stride or dilation");
    }
    *c = (struct cudnnConvolutionStruct){{pad_h, pad_w}, {u, v}, {dilation_h, dilation_w}, c->groups, mode,
                                         compute,        c->math};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups)
{
    convolution->groups = groups;
    return groups < 1 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math)
{
    convolution->math = math;
    return CUDNN_STATUS_SUCCESS;
}

/* --- what is refused --- */

static int extent_of(const struct problem *p, int axis)
{
    const struct cudnnConvolutionStruct *c = p->c;
    const int reach = c->dilation[axis] * (p->w->dim[2 + axis] - 1) + 1;
    return (p->x->dim[2 + axis] + 2 * c->pad[axis] - reach) / c->stride[axis] + 1;
}

static cudnnStatus_t check_problem(const struct problem *p)
{
    const struct cudnnTensorStruct *x = p->x, *y = p->y;
    const struct cudnnFilterStruct *w = p->w;
    if (x->dtype != w->dtype || x->dtype != y->dtype) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "types %d, %d and %d", x->dtype, w->dtype,
                                    y->dtype);
    }
    if (x->dim[0] != y->dim[0] || x->dim[1] != w->dim[1] * p->c->groups || y->dim[1] != w->dim[0] ||
        w->dim[0] % p->c->groups || y->dim[2] != extent_of(p, 0) || y->dim[3] != extent_of(p, 1)) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "extents do not go together");
    }
    const char *const format = w->format == CUDNN_TENSOR_NHWC ? "nhwc" : "nchw";
    if (strcmp(emulated_cudnn_layout(x), format) != 0 || strcmp(emulated_cudnn_layout(y), format) != 0) {
        return emulated_cudnn_error(CUDNN_STATUS_NOT_SUPPORTED, "layouts %s, %s and %s",
                                    emulated_cudnn_layout(x), format, emulated_cudnn_layout(y));
    }
    if (p->c->compute != CUDNN_DATA_FLOAT || x->dtype == CUDNN_DATA_DOUBLE) {
        return emulated_cudnn_error(CUDNN_STATUS_NOT_SUPPORTED, "computed in type %d", p->c->compute);
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_algorithm(const struct problem *p, int algorithm)
{
    if (algorithm < 0 || algorithm >= rules[p->pass].count) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "algorithm %d", algorithm);
    }
    const struct rule *const rule = &rules[p->pass].rule[algorithm];
    const struct cudnnConvolutionStruct *const c = p->c;
    const int window = p->w->dim[2];
    const bool plain = c->stride[0] == 1 && c->stride[1] == 1 && c->dilation[0] == 1 && c->dilation[1] == 1 &&
                       p->w->format == CUDNN_TENSOR_NCHW;
    const bool fits = window >= rule->window_from && (!rule->window_to || window <= rule->window_to);
    return rule->missing || (rule->plain && !plain) || !fits ||
                   (rule->float_only && p->x->dtype != CUDNN_DATA_FLOAT)
               ? emulated_cudnn_error(CUDNN_STATUS_NOT_SUPPORTED, "algorithm %d for this", algorithm)
               : CUDNN_STATUS_SUCCESS;
}

static size_t workspace_of(const struct problem *p, int algorithm)
{
    const int *const d = p->w->dim;
    const size_t floats = (size_t)rules[p->pass].rule[algorithm].workspace * (size_t)d[0] * (size_t)d[1] *
                          (size_t)d[2] * (size_t)d[3];
    return floats ? floats * sizeof(float) + (size_t)emulate_number("odd", 0) : 0;
}

static cudnnStatus_t get_workspace(const struct problem *p, int algorithm, size_t *ret)
{
    cudnnStatus_t status = check_problem(p);
    status = status ? status : check_algorithm(p, algorithm);
    *ret = status ? 0 : workspace_of(p, algorithm);
    return status;
}

/* --- sums --- */

static int64_t elements_of(const int *dim)
{
    return (int64_t)dim[0] * dim[1] * dim[2] * dim[3];
}

/* Operand in the order of its dimensions, as floats. Owned. */
static float *load(cudnnDataType_t dtype, const int *dim, const int *stride, const void *data, bool tf32)
{
    const int64_t count = elements_of(dim);
    const cudaDataType_t type = dtype == CUDNN_DATA_HALF       ? CUDA_R_16F
                                : dtype == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF
                                                               : CUDA_R_32F;
    double *const native = calloc((size_t)count, sizeof(*native));
    float *const dense = calloc((size_t)count, sizeof(*dense)), *next = dense;
    emulate_gather(type, data, 0, false, 1, count, tf32, native); /* dense in some order: as they lie */
    for (int n = 0; n < dim[0]; n++) {
        for (int c = 0; c < dim[1]; c++) {
            for (int y = 0; y < dim[2]; y++) {
                for (int x = 0; x < dim[3]; x++) {
                    *next++ = (float)native[(int64_t)n * stride[0] + (int64_t)c * stride[1] +
                                            (int64_t)y * stride[2] + (int64_t)x * stride[3]];
                }
            }
        }
    }
    free(native);
    return dense;
}

static void store(cudnnDataType_t dtype, const int *dim, const int *stride, const float *dense, void *data)
{
    const cudaDataType_t type = dtype == CUDNN_DATA_HALF       ? CUDA_R_16F
                                : dtype == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF
                                                               : CUDA_R_32F;
    for (int n = 0; n < dim[0]; n++) {
        for (int c = 0; c < dim[1]; c++) {
            for (int y = 0; y < dim[2]; y++) {
                for (int x = 0; x < dim[3]; x++) {
                    emulate_store(type, data,
                                  (int64_t)n * stride[0] + (int64_t)c * stride[1] + (int64_t)y * stride[2] +
                                      (int64_t)x * stride[3],
                                  *dense++);
                }
            }
        }
    }
}

/* Every product of the convolution as offsets into x, w and y, dense; the function is called with each. */
typedef void (*visit)(void *context, int64_t x, int64_t w, int64_t y);

static void visit_window(const struct problem *p, const int *at, visit function, void *context)
{
    const struct cudnnConvolutionStruct *const c = p->c;
    const int *const xd = p->x->dim, *const wd = p->w->dim;
    const int first = at[1] / (wd[0] / c->groups) * wd[1]; /* channel of the input */
    const int64_t y = (((int64_t)at[0] * p->y->dim[1] + at[1]) * p->y->dim[2] + at[2]) * p->y->dim[3] + at[3];
    for (int i = 0; i < wd[1]; i++) {
        for (int r = 0; r < wd[2]; r++) {
            const int row = at[2] * c->stride[0] - c->pad[0] + r * c->dilation[0];
            for (int s = 0; s < wd[3] && row >= 0 && row < xd[2]; s++) {
                const int column = at[3] * c->stride[1] - c->pad[1] + s * c->dilation[1];
                if (column >= 0 && column < xd[3]) {
                    const bool flipped = c->mode == CUDNN_CONVOLUTION;
                    const int tap_r = flipped ? wd[2] - 1 - r : r, tap_s = flipped ? wd[3] - 1 - s : s;
                    function(context, (((int64_t)at[0] * xd[1] + first + i) * xd[2] + row) * xd[3] + column,
                             (((int64_t)at[1] * wd[1] + i) * wd[2] + tap_r) * wd[3] + tap_s, y);
                }
            }
        }
    }
}

static void visit_all(const struct problem *p, visit function, void *context)
{
    int at[4];
    for (at[0] = 0; at[0] < p->y->dim[0]; at[0]++) {
        for (at[1] = 0; at[1] < p->y->dim[1]; at[1]++) {
            for (at[2] = 0; at[2] < p->y->dim[2]; at[2]++) {
                for (at[3] = 0; at[3] < p->y->dim[3]; at[3]++) {
                    visit_window(p, at, function, context);
                }
            }
        }
    }
}

/* The factors of every cell of the result, one list after the other. */
struct lists {
    enum pass pass;
    const float *x, *w, *y; /* one is the result's and not read */
    int64_t *count, *start;
    float *left, *right;
};

static int64_t cell_of(const struct lists *l, int64_t x, int64_t w, int64_t y)
{
    return l->pass == FORWARD ? y : l->pass == BACKWARD_DATA ? x : w;
}

static void count_one(void *context, int64_t x, int64_t w, int64_t y)
{
    struct lists *const l = context;
    l->count[cell_of(l, x, w, y)]++;
}

static void add_one(void *context, int64_t x, int64_t w, int64_t y)
{
    struct lists *const l = context;
    const int64_t cell = cell_of(l, x, w, y), place = l->start[cell] + l->count[cell]++;
    l->left[place] = l->pass == BACKWARD_DATA ? l->y[y] : l->x[x];
    l->right[place] = l->pass == BACKWARD_FILTER ? l->y[y] : l->w[w];
}

/* Sums of all cells of the result. Owned. */
static float *sum_all(const struct problem *p, struct lists *l, int64_t cells, const char *name,
                      const struct rule *rule, int algorithm)
{
    int64_t most = 0, total = 0;
    l->count = calloc((size_t)cells, sizeof(*l->count));
    l->start = calloc((size_t)cells, sizeof(*l->start));
    visit_all(p, count_one, l);
    for (int64_t i = 0; i < cells; i++) {
        most = l->count[i] > most ? l->count[i] : most;
        l->start[i] = total;
        total += l->count[i];
        l->count[i] = 0;
    }
    l->left = calloc((size_t)total + 1, sizeof(*l->left));
    l->right = calloc((size_t)total + 1, sizeof(*l->right));
    visit_all(p, add_one, l);
    const bool free_order = rule->atomics && strcmp(emulate_word("atomics", "yes"), "yes") == 0;
    const bool shuffled = free_order || emulate_for("reorder", name);
    struct sum_order order = emulate_sum_order(most, shuffled);
    if (!shuffled) {
        const unsigned variant = emulate_variant(name);
        emulate_variant_order(order.place, order.pieces, variant ? variant : (unsigned)algorithm);
    }
    float *const result = calloc((size_t)cells, sizeof(*result));
    for (int64_t i = 0; i < cells; i++) {
        result[i] = emulate_dot_float(l->left + l->start[i], l->right + l->start[i], l->count[i], &order);
    }
    free(order.place);
    free(l->count);
    free(l->start);
    free(l->left);
    free(l->right);
    return result;
}

/* --- the calls --- */

struct data {
    const void *alpha, *beta;
    void *x, *w, *y; /* one is the result */
    void *workspace;
    size_t bytes;
};

static size_t filter_bytes(const struct cudnnFilterStruct *w)
{
    return (size_t)elements_of(w->dim) * emulated_cudnn_size(w->dtype);
}

static cudnnStatus_t check_data(const struct problem *p, int algorithm, const struct data *d)
{
    float alpha, beta;
    memcpy(&alpha, d->alpha, sizeof(alpha));
    memcpy(&beta, d->beta, sizeof(beta));
    if (alpha != 1 || beta != 0) {
        return emulated_cudnn_error(CUDNN_STATUS_NOT_SUPPORTED, "alpha %g, beta %g", (double)alpha,
                                    (double)beta);
    }
    if (!emulated_cudnn_memory(d->x, p->x->dtype, emulated_cudnn_tensor_bytes(p->x)) ||
        !emulated_cudnn_memory(d->y, p->y->dtype, emulated_cudnn_tensor_bytes(p->y)) ||
        !emulated_cudnn_memory(d->w, p->w->dtype, filter_bytes(p->w))) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "no memory of the device");
    }
    const size_t needed = workspace_of(p, algorithm);
    if (d->bytes < needed || (needed && !emulate_is_device_memory(d->workspace, needed))) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "a workspace of %zu bytes, not %zu", d->bytes,
                                    needed);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Whether float operands are rounded: the environment may forbid what the math type allows. */
static bool is_tf32(const struct problem *p)
{
    const char *const override = getenv("NVIDIA_TF32_OVERRIDE");
    const bool forbidden =
        override && strcmp(override, "0") == 0 && strcmp(emulate_word("tf32", ""), "allowed") != 0;
    return p->x->dtype == CUDNN_DATA_FLOAT && p->c->math != CUDNN_FMA_MATH && !forbidden;
}

static void compute(const struct problem *p, const char *name, int algorithm, const struct data *d)
{
    const bool tf32 = is_tf32(p);
    int w_stride[CUDNN_DIM_MAX];
    emulated_cudnn_filter_strides(p->w, w_stride);
    float *const x = load(p->x->dtype, p->x->dim, p->x->stride, d->x, tf32);
    float *const y = load(p->y->dtype, p->y->dim, p->y->stride, d->y, tf32);
    float *const w = load(p->w->dtype, p->w->dim, w_stride, d->w, tf32);
    const int *const dim = p->pass == FORWARD ? p->y->dim : p->pass == BACKWARD_DATA ? p->x->dim : p->w->dim;
    const int *const stride = p->pass == FORWARD         ? p->y->stride
                              : p->pass == BACKWARD_DATA ? p->x->stride
                                                         : w_stride;
    void *const result = p->pass == FORWARD ? d->y : p->pass == BACKWARD_DATA ? d->x : d->w;
    const size_t size = emulated_cudnn_size(p->x->dtype), cells = (size_t)elements_of(dim);
    struct lists lists = {.pass = p->pass, .x = x, .w = w, .y = y};
    float *const sums = sum_all(p, &lists, (int64_t)cells, name, &rules[p->pass].rule[algorithm], algorithm);
    char last[8];
    memcpy(last, (const char *)result + (cells - 1) * size, size);
    if (d->workspace) {
        memset(d->workspace, 0x5a, workspace_of(p, algorithm));
    }
    store(p->x->dtype, dim, stride, sums, result);
    emulate_harm(name, result, cells, size, last);
    free(sums);
    free(x);
    free(y);
    free(w);
}

static cudnnStatus_t run(const struct problem *p, cudnnHandle_t handle, const char *name, int algorithm,
                         const struct data *d)
{
    cudnnStatus_t status = check_problem(p);
    status = status ? status : check_algorithm(p, algorithm);
    status = status ? status : check_data(p, algorithm, d);
    if (status) {
        return status;
    }
    if (emulate_for("status", name)) {
        return emulated_cudnn_error(CUDNN_STATUS_EXECUTION_FAILED, "injected\nin two lines");
    }
    compute(p, name, algorithm, d);
    emulate_launched_by_library(name);
    emulate_log("%s algorithm=%d math=%d layout=%s type=%d groups=%d dilation=%d mode=%d workspace=%zu "
                "needed=%zu stream=%p",
                name, algorithm, (int)p->c->math, emulated_cudnn_layout(p->x), (int)p->x->dtype, p->c->groups,
                p->c->dilation[0], (int)p->c->mode, d->bytes, workspace_of(p, algorithm),
                (void *)handle->stream);
    return CUDNN_STATUS_SUCCESS;
}

/* --- heuristics and Find --- */

struct listed {
    int algorithm;
    cudnnStatus_t status;
    size_t memory;
    cudnnDeterminism_t determinism;
};

/* Processes that the call log knows of. */
static int process_number(void)
{
    const char *const path = getenv("DETPROBE_EMULATE_LOG");
    FILE *const file = path ? fopen(path, "r") : NULL;
    char line[400];
    int count = 0;
    while (file && fgets(line, sizeof(line), file)) {
        count += strcmp(line, "cudnnCreate\n") == 0;
    }
    if (file) {
        fclose(file);
    }
    return count;
}

/* Those that work first, the preferred one at their head. */
static int list_all(const struct problem *p, const char *name, size_t limit, struct listed *ret)
{
    const int count = rules[p->pass].count;
    const int move = emulate_for("select", name) ? process_number() : 0;
    int works = 0, fails = count;
    struct listed usable[MOST_ALGORITHMS];
    for (int i = 0; i < count; i++) {
        const int algorithm = (i + 1) % count;
        struct listed item = {.algorithm = algorithm, .status = check_algorithm(p, algorithm)};
        item.memory = item.status ? 0 : workspace_of(p, algorithm);
        item.status = item.memory > limit ? CUDNN_STATUS_NOT_SUPPORTED : item.status;
        item.determinism =
            rules[p->pass].rule[algorithm].atomics ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
        if (item.status) {
            ret[--fails] = item;
        } else {
            usable[works++] = item;
        }
    }
    for (int i = 0; i < works; i++) {
        ret[i] = usable[(i + move) % works];
    }
    return count;
}

#define LIST(pass_of, x_of, w_of, y_of, limit)                                                               \
    const struct problem p = {pass_of, x_of, y_of, w_of, convolution};                                       \
    struct listed all[MOST_ALGORITHMS];                                                                      \
    const cudnnStatus_t status = check_problem(&p);                                                          \
    if (status || asked < 1) {                                                                               \
        return status ? status : CUDNN_STATUS_BAD_PARAM;                                                     \
    }                                                                                                        \
    const int count = list_all(&p, __func__, limit, all);                                                    \
    *returned = count < asked ? count : asked;                                                               \
    for (int i = 0; i < *returned; i++) {                                                                    \
        result[i].algo = (__typeof__(result[i].algo))all[i].algorithm;                                       \
        result[i].status = all[i].status;                                                                    \
        result[i].time = all[i].status ? -1.0f : 0.1f * (float)(i + 1);                                      \
        result[i].memory = all[i].memory;                                                                    \
        result[i].determinism = all[i].determinism;                                                          \
        result[i].mathType = (cudnnMathType_t)emulate_number("listed", convolution->math);                   \
    }                                                                                                        \
    emulate_log("%s first=%d workspace=%zu", __func__, all[0].algorithm, (size_t)(limit));                   \
    return CUDNN_STATUS_SUCCESS;

/* Find writes into the result of the pass whatever the algorithms give. */
static bool bad_trial(void *result, cudnnDataType_t dtype, size_t bytes, void *workspace, size_t limit)
{
    if (!emulated_cudnn_memory(result, dtype, bytes) ||
        (limit && !emulate_is_device_memory(workspace, limit))) {
        return true;
    }
    memset(result, 0xff, bytes);
    return false;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y, const int asked,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *result){LIST(FORWARD, x, w, y, SIZE_MAX)}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx, const int asked,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *result){LIST(BACKWARD_DATA, dx, w, dy, SIZE_MAX)}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw, const int asked,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *result){LIST(BACKWARD_FILTER, x, dw, dy, SIZE_MAX)}

cudnnStatus_t
    cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                           const void *x_data, const cudnnFilterDescriptor_t w,
                                           const void *w_data, const cudnnConvolutionDescriptor_t convolution,
                                           const cudnnTensorDescriptor_t y, void *y_data, const int asked,
                                           int *returned, cudnnConvolutionFwdAlgoPerf_t *result,
                                           void *workspace, size_t bytes)
{
    if (bad_trial(y_data, y->dtype, emulated_cudnn_tensor_bytes(y), workspace, bytes)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    LIST(FORWARD, x, w, y, bytes)
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const void *w_data,
    const cudnnTensorDescriptor_t dy, const void *dy_data, const cudnnConvolutionDescriptor_t convolution,
    const cudnnTensorDescriptor_t dx, void *dx_data, const int asked, int *returned,
    cudnnConvolutionBwdDataAlgoPerf_t *result, void *workspace, size_t bytes)
{
    if (bad_trial(dx_data, dx->dtype, emulated_cudnn_tensor_bytes(dx), workspace, bytes)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    LIST(BACKWARD_DATA, dx, w, dy, bytes)
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void *x_data,
    const cudnnTensorDescriptor_t dy, const void *dy_data, const cudnnConvolutionDescriptor_t convolution,
    const cudnnFilterDescriptor_t dw, void *dw_data, const int asked, int *returned,
    cudnnConvolutionBwdFilterAlgoPerf_t *result, void *workspace, size_t bytes)
{
    if (bad_trial(dw_data, dw->dtype, filter_bytes(dw), workspace, bytes)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    LIST(BACKWARD_FILTER, x, dw, dy, bytes)
}

/* --- the interface of each pass --- */

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t convolution,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    return get_workspace(&(struct problem){FORWARD, x, y, w, convolution}, (int)algorithm, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes)
{
    return get_workspace(&(struct problem){BACKWARD_DATA, dx, dy, w, convolution}, (int)algorithm, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes)
{
    return get_workspace(&(struct problem){BACKWARD_FILTER, x, dy, dw, convolution}, (int)algorithm, bytes);
}

static void *writable(const void *memory)
{
    return (void *)(uintptr_t)memory;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x, const void *x_data,
                                      const cudnnFilterDescriptor_t w, const void *w_data,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t bytes,
                                      const void *beta, const cudnnTensorDescriptor_t y, void *y_data)
{
    const struct problem p = {FORWARD, x, y, w, convolution};
    const struct data d = {alpha, beta, writable(x_data), writable(w_data), y_data, workspace, bytes};
    return run(&p, handle, __func__, (int)algorithm, &d);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w, const void *w_data,
                                           const cudnnTensorDescriptor_t dy, const void *dy_data,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace,
                                           size_t bytes, const void *beta, const cudnnTensorDescriptor_t dx,
                                           void *dx_data)
{
    const struct problem p = {BACKWARD_DATA, dx, dy, w, convolution};
    const struct data d = {alpha, beta, dx_data, writable(w_data), writable(dy_data), workspace, bytes};
    return run(&p, handle, __func__, (int)algorithm, &d);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x, const void *x_data,
                                             const cudnnTensorDescriptor_t dy, const void *dy_data,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void *workspace,
                                             size_t bytes, const void *beta, const cudnnFilterDescriptor_t dw,
                                             void *dw_data)
{
    const struct problem p = {BACKWARD_FILTER, x, dy, dw, convolution};
    const struct data d = {alpha, beta, writable(x_data), dw_data, writable(dy_data), workspace, bytes};
    return run(&p, handle, __func__, (int)algorithm, &d);
}
