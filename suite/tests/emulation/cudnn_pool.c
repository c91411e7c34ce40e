/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling of the emulated libcudnn: descriptors, forward, backward. Backward scatters the gradients of
 * windows into their inputs, window by window and in another order at each call where the mode allows atomics
 * or an injection asks for it; a gradient of the maximum goes to the first of equal ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/tests/emulation/cudnn_objects.h"
#include "suite/tests/emulation/emulation.h"

struct cudnnPoolingStruct {
    cudnnPoolingMode_t mode;
    cudnnNanPropagation_t nan;
    int window[2], pad[2], stride[2];
};

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *pooling)
{
    *pooling = calloc(1, sizeof(**pooling));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling)
{
    free(pooling);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int window_h, int window_w, int pad_h,
                                          int pad_w, int stride_h, int stride_w)
{
    if ((unsigned)mode > CUDNN_POOLING_MAX_DETERMINISTIC || (unsigned)nan > CUDNN_PROPAGATE_NAN ||
        window_h < 1 || window_w < 1 || stride_h < 1 || stride_w < 1 || pad_h < 0 || pad_w < 0) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "mode %d, window %dx%d", (int)mode, window_h,
                                    window_w);
    }
    *pooling =
        (struct cudnnPoolingStruct){mode, nan, {window_h, window_w}, {pad_h, pad_w}, {stride_h, stride_w}};
    return CUDNN_STATUS_SUCCESS;
}

static int outputs(const struct cudnnPoolingStruct *p, const struct cudnnTensorStruct *x, int d)
{
    const int room = x->dim[2 + d] + 2 * p->pad[d] - p->window[d];
    return room < 0 ? 0 : 1 + room / p->stride[d];
}

cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                const cudnnTensorDescriptor_t x, int *n, int *c, int *h,
                                                int *w)
{
    if (x->ndim != 4 || outputs(pooling, x, 0) < 1 || outputs(pooling, x, 1) < 1) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "the window is larger than the padded input");
    }
    *n = x->dim[0];
    *c = x->dim[1];
    *h = outputs(pooling, x, 0);
    *w = outputs(pooling, x, 1);
    return CUDNN_STATUS_SUCCESS;
}

/* --- arguments --- */

static bool same(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim && memcmp(a->dim, b->dim, sizeof(a->dim)) == 0 &&
           memcmp(a->stride, b->stride, sizeof(a->stride)) == 0;
}

/* Double factors for double tensors, float for all others; this emulation knows 1 and 0. */
static bool good_factors(cudnnDataType_t dtype, const void *alpha, const void *beta)
{
    return dtype == CUDNN_DATA_DOUBLE ? *(const double *)alpha == 1 && *(const double *)beta == 0
                                      : *(const float *)alpha == 1 && *(const float *)beta == 0;
}

static cudnnStatus_t check_call(const char *name, cudnnHandle_t handle, const struct cudnnPoolingStruct *p,
                                const struct cudnnTensorStruct *x, const struct cudnnTensorStruct *y,
                                const void *alpha, const void *beta)
{
    if (x->dtype != y->dtype || x->ndim != 4 || y->ndim != 4 || y->dim[0] != x->dim[0] ||
        y->dim[1] != x->dim[1] || y->dim[2] != outputs(p, x, 0) || y->dim[3] != outputs(p, x, 1)) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "y is not what pooling makes of x");
    }
    if (!good_factors(x->dtype, alpha, beta)) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "alpha is not 1 or beta not 0, in their type");
    }
    if (strcmp(emulated_cudnn_layout(x), emulated_cudnn_layout(y)) != 0 ||
        strcmp(emulated_cudnn_layout(x), "strided") == 0) {
        return emulated_cudnn_error(CUDNN_STATUS_NOT_SUPPORTED, "x and y in different layouts");
    }
    emulate_log("%s mode=%d nan=%d window=%dx%d pad=%dx%d stride=%dx%d x=%s y=%s dtype=%d stream=%p", name,
                (int)p->mode, (int)p->nan, p->window[0], p->window[1], p->pad[0], p->pad[1], p->stride[0],
                p->stride[1], emulated_cudnn_layout(x), emulated_cudnn_layout(y), (int)x->dtype,
                (void *)handle->stream);
    return emulate_for("status", name) ? emulated_cudnn_error(CUDNN_STATUS_EXECUTION_FAILED, "injected")
                                       : CUDNN_STATUS_SUCCESS;
}

static bool is_tensor(const void *memory, const struct cudnnTensorStruct *tensor)
{
    return emulated_cudnn_memory(memory, tensor->dtype, emulated_cudnn_tensor_bytes(tensor));
}

/* --- windows --- */

struct plane {
    const struct cudnnPoolingStruct *pooling;
    const struct cudnnTensorStruct *x, *y;
    int n, c;
};

static int64_t at(const struct cudnnTensorStruct *t, const struct plane *p, int h, int w)
{
    return (int64_t)p->n * t->stride[0] + (int64_t)p->c * t->stride[1] + (int64_t)h * t->stride[2] +
           (int64_t)w * t->stride[3];
}

/* Places in x of the elements of a window that are inside; returns their count. */
static int window_of(const struct plane *p, int window, int64_t *ret)
{
    const int oy = window / p->y->dim[3], ox = window % p->y->dim[3];
    int count = 0;
    for (int i = 0; i < p->pooling->window[0]; i++) {
        for (int j = 0; j < p->pooling->window[1]; j++) {
            const int h = oy * p->pooling->stride[0] - p->pooling->pad[0] + i;
            const int w = ox * p->pooling->stride[1] - p->pooling->pad[1] + j;
            if (h >= 0 && h < p->x->dim[2] && w >= 0 && w < p->x->dim[3]) {
                ret[count++] = at(p->x, p, h, w);
            }
        }
    }
    return count;
}

static double divisor(const struct plane *p, int inside)
{
    return p->pooling->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
               ? (double)p->pooling->window[0] * p->pooling->window[1]
               : inside;
}

static bool is_maximum(const struct plane *p)
{
    return p->pooling->mode == CUDNN_POOLING_MAX || p->pooling->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
}

static double pooled(const struct plane *p, const void *x, const int64_t *place, const int32_t *order,
                     int count)
{
    const bool wide = p->x->dtype == CUDNN_DATA_DOUBLE;
    double best = -INFINITY, sum = 0;
    for (int i = 0; i < count; i++) {
        const double value = emulated_cudnn_load(p->x->dtype, x, place[order[i]]);
        best = value > best ? value : best;
        sum = wide ? sum + value : (float)((float)sum + (float)value);
    }
    return is_maximum(p) ? best : sum / divisor(p, count);
}

/* One window's gradient into dx, whose elements hold the sums so far. */
static void scatter(const struct plane *p, const void *x, double top, double gradient, void *dx,
                    const int64_t *place, int count)
{
    const cudnnDataType_t dtype = p->x->dtype;
    for (int i = 0; i < count; i++) {
        const bool hit = !is_maximum(p) || emulated_cudnn_load(dtype, x, place[i]) == top;
        const double share = is_maximum(p) ? gradient : gradient / divisor(p, count);
        if (hit) {
            const double sum = emulated_cudnn_load(dtype, dx, place[i]);
            emulated_cudnn_store(dtype, dx, place[i],
                                 dtype == CUDNN_DATA_DOUBLE ? sum + share : (float)sum + (float)share);
        }
        if (hit && is_maximum(p)) {
            return;
        }
    }
}

/* --- calls --- */

static size_t elements_of(const struct cudnnTensorStruct *tensor)
{
    return emulated_cudnn_tensor_bytes(tensor) / emulated_cudnn_size(tensor->dtype);
}

/* The last element of a result as it was, for a fault that leaves it so. */
static void keep_last(const struct cudnnTensorStruct *tensor, const void *memory, char *ret)
{
    const size_t size = emulated_cudnn_size(tensor->dtype);
    memcpy(ret, (const char *)memory + emulated_cudnn_tensor_bytes(tensor) - size, size);
}

static void harm(const char *name, const struct cudnnTensorStruct *tensor, void *memory, const char *last)
{
    emulate_harm(name, memory, elements_of(tensor), emulated_cudnn_size(tensor->dtype), last);
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void *alpha, const cudnnTensorDescriptor_t x_desc, const void *x,
                                  const void *beta, const cudnnTensorDescriptor_t y_desc, void *y)
{
    static const char name[] = "cudnnPoolingForward";
    const cudnnStatus_t status = check_call(name, handle, pooling, x_desc, y_desc, alpha, beta);
    if (status != CUDNN_STATUS_SUCCESS) {
        return status;
    }
    if (!is_tensor(x, x_desc) || !is_tensor(y, y_desc)) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "a pointer is not a tensor on the device");
    }
    const int taps = pooling->window[0] * pooling->window[1], windows = y_desc->dim[2] * y_desc->dim[3];
    int64_t *const place = calloc((size_t)taps, sizeof(*place));
    int32_t *const order = calloc((size_t)taps, sizeof(*order));
    const bool shuffled = emulate_for("reorder", name);
    char last[8];
    keep_last(y_desc, y, last);
    struct plane plane = {.pooling = pooling, .x = x_desc, .y = y_desc};
    for (plane.n = 0; plane.n < x_desc->dim[0]; plane.n++) {
        for (plane.c = 0; plane.c < x_desc->dim[1]; plane.c++) {
            for (int i = 0; i < windows; i++) {
                const int count = window_of(&plane, i, place);
                emulate_order(order, count, shuffled);
                const int64_t to = at(y_desc, &plane, i / y_desc->dim[3], i % y_desc->dim[3]);
                emulated_cudnn_store(y_desc->dtype, y, to, pooled(&plane, x, place, order, count));
            }
        }
    }
    harm(name, y_desc, y, last);
    free(place);
    free(order);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                   const void *alpha, const cudnnTensorDescriptor_t y_desc, const void *y,
                                   const cudnnTensorDescriptor_t dy_desc, const void *dy,
                                   const cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                   const cudnnTensorDescriptor_t dx_desc, void *dx)
{
    static const char name[] = "cudnnPoolingBackward";
    const cudnnStatus_t status = check_call(name, handle, pooling, x_desc, y_desc, alpha, beta);
    if (status != CUDNN_STATUS_SUCCESS) {
        return status;
    }
    if (!same(y_desc, dy_desc) || !same(x_desc, dx_desc)) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "a gradient is not shaped as its tensor");
    }
    if (!is_tensor(x, x_desc) || !is_tensor(dx, dx_desc) || !is_tensor(y, y_desc) ||
        !is_tensor(dy, dy_desc)) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "a pointer is not a tensor on the device");
    }
    const int windows = y_desc->dim[2] * y_desc->dim[3];
    int64_t *const place = calloc((size_t)(pooling->window[0] * pooling->window[1]), sizeof(*place));
    int32_t *const order = calloc((size_t)windows, sizeof(*order));
    const bool atomics =
        pooling->mode == CUDNN_POOLING_MAX && strcmp(emulate_word("atomics", "yes"), "yes") == 0;
    char last[8];
    keep_last(dx_desc, dx, last);
    memset(dx, 0, emulated_cudnn_tensor_bytes(dx_desc));
    struct plane plane = {.pooling = pooling, .x = x_desc, .y = y_desc};
    for (plane.n = 0; plane.n < x_desc->dim[0]; plane.n++) {
        for (plane.c = 0; plane.c < x_desc->dim[1]; plane.c++) {
            emulate_order(order, windows, atomics || emulate_for("reorder", name));
            for (int i = 0; i < windows; i++) {
                const int64_t from = at(y_desc, &plane, order[i] / y_desc->dim[3], order[i] % y_desc->dim[3]);
                const int count = window_of(&plane, order[i], place);
                scatter(&plane, x, emulated_cudnn_load(y_desc->dtype, y, from),
                        emulated_cudnn_load(dy_desc->dtype, dy, from), dx, place, count);
            }
        }
    }
    harm(name, dx_desc, dx, last);
    free(place);
    free(order);
    return CUDNN_STATUS_SUCCESS;
}
