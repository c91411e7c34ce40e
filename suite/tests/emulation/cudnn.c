/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated libcudnn: handle, stream, versions, errors, descriptors of tensors and filters. Families are in
 * files of their own. What the real library refuses is refused, with a reason.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/tests/emulation/cudnn_objects.h"
#include "suite/tests/emulation/emulation.h"
#include "suite/tests/emulation/sums.h"

static char last_error[256];

cudnnStatus_t emulated_cudnn_error(cudnnStatus_t status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof(last_error), format, args);
    va_end(args);
    return status;
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
    snprintf(message, max_size, "%s", last_error);
    last_error[0] = '\0';
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    static const struct {
        cudnnStatus_t status;
        const char *name;
    } names[] = {
        {CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
        {CUDNN_STATUS_BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"},
        {CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
        {CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
         "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"},
        {CUDNN_STATUS_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].status == status) {
            return names[i].name;
        }
    }
    return "CUDNN_STATUS_UNKNOWN";
}

size_t cudnnGetVersion(void)
{
    return (size_t)emulate_number("cudnn", CUDNN_VERSION);
}

size_t cudnnGetCudartVersion(void)
{
    return (size_t)emulate_number("cudart", 13000);
}

/* --- the handle --- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    emulate_log("cudnnCreate");
    if (emulate_for("status", "cudnnCreate")) {
        return emulated_cudnn_error(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "no memory");
    }
    *handle = calloc(1, sizeof(**handle));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* --- tensors --- */

size_t emulated_cudnn_size(cudnnDataType_t dtype)
{
    return dtype == CUDNN_DATA_DOUBLE ? 8 : dtype == CUDNN_DATA_FLOAT ? 4 : 2;
}

static cudaDataType_t type_of(cudnnDataType_t dtype)
{
    return dtype == CUDNN_DATA_DOUBLE     ? CUDA_R_64F
           : dtype == CUDNN_DATA_FLOAT    ? CUDA_R_32F
           : dtype == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF
                                          : CUDA_R_16F;
}

double emulated_cudnn_load(cudnnDataType_t dtype, const void *from, int64_t i)
{
    return emulate_load(type_of(dtype), from, i);
}

void emulated_cudnn_store(cudnnDataType_t dtype, void *to, int64_t i, double value)
{
    emulate_store(type_of(dtype), to, i, value);
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    *tensor = calloc(1, sizeof(**tensor));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    free(tensor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t dtype, int ndim,
                                         const int *dim, const int *stride)
{
    if (ndim < 3 || ndim > CUDNN_DIM_MAX) {
        return emulated_cudnn_error(CUDNN_STATUS_NOT_SUPPORTED, "%d dimensions", ndim);
    }
    if (dtype != CUDNN_DATA_FLOAT && dtype != CUDNN_DATA_DOUBLE && dtype != CUDNN_DATA_HALF &&
        dtype != CUDNN_DATA_BFLOAT16) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "data type %d", (int)dtype);
    }
    for (int d = 0; d < ndim; d++) {
        if (dim[d] < 1 || stride[d] < 1) {
            return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "extent %d, stride %d", dim[d], stride[d]);
        }
    }
    *tensor = (struct cudnnTensorStruct){.dtype = dtype, .ndim = ndim};
    memcpy(tensor->dim, dim, (size_t)ndim * sizeof(*dim));
    memcpy(tensor->stride, stride, (size_t)ndim * sizeof(*stride));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t dtype, int n,
                                           int c, int h, int w, int n_stride, int c_stride, int h_stride,
                                           int w_stride)
{
    return cudnnSetTensorNdDescriptor(tensor, dtype, 4, (int[]){n, c, h, w},
                                      (int[]){n_stride, c_stride, h_stride, w_stride});
}

const char *emulated_cudnn_layout(const struct cudnnTensorStruct *tensor)
{
    const int *const d = tensor->dim, *const s = tensor->stride;
    if (s[3] == 1 && s[2] == d[3] && s[1] == d[3] * d[2] && s[0] == d[3] * d[2] * d[1]) {
        return "nchw";
    }
    return s[1] == 1 && s[3] == d[1] && s[2] == d[1] * d[3] && s[0] == d[1] * d[3] * d[2] ? "nhwc"
                                                                                          : "strided";
}

size_t emulated_cudnn_tensor_bytes(const struct cudnnTensorStruct *tensor)
{
    size_t last = 0;
    for (int d = 0; d < tensor->ndim; d++) {
        last += (size_t)(tensor->dim[d] - 1) * (size_t)tensor->stride[d];
    }
    return (last + 1) * emulated_cudnn_size(tensor->dtype);
}

bool emulated_cudnn_memory(const void *memory, cudnnDataType_t dtype, size_t bytes)
{
    return (uintptr_t)memory % emulated_cudnn_size(dtype) == 0 && emulate_is_device_memory(memory, bytes);
}

/* --- filters --- */

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    *filter = calloc(1, sizeof(**filter));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    free(filter);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t dtype,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    if (k < 1 || c < 1 || h < 1 || w < 1 || format == CUDNN_TENSOR_NCHW_VECT_C) {
        return emulated_cudnn_error(CUDNN_STATUS_BAD_PARAM, "filter %dx%dx%dx%d", k, c, h, w);
    }
    *filter = (struct cudnnFilterStruct){dtype, format, 4, {k, c, h, w}};
    return CUDNN_STATUS_SUCCESS;
}

void emulated_cudnn_filter_strides(const struct cudnnFilterStruct *filter, int *ret)
{
    const int c = filter->dim[1], h = filter->dim[2], w = filter->dim[3];
    const bool last = filter->format == CUDNN_TENSOR_NHWC;
    ret[0] = c * h * w;
    ret[1] = last ? 1 : h * w;
    ret[2] = last ? c * w : w;
    ret[3] = last ? c : 1;
}
