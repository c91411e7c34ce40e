/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the emulated libcudnn share: its objects, errors with their reason, and checks of
 * arguments.
 */
#ifndef EMULATION_CUDNN_OBJECTS_H
#define EMULATION_CUDNN_OBJECTS_H

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cudnnContext {
    cudaStream_t stream;
};

struct cudnnTensorStruct {
    cudnnDataType_t dtype;
    int ndim;
    int dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
    cudnnDataType_t dtype;
    cudnnTensorFormat_t format;
    int ndim;
    int dim[CUDNN_DIM_MAX];
};

/* The status, with a reason for cudnnGetLastErrorString. */
cudnnStatus_t emulated_cudnn_error(cudnnStatus_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t emulated_cudnn_size(cudnnDataType_t dtype);
/* Element i, widened; stored with one rounding to float at most before that to the type. */
double emulated_cudnn_load(cudnnDataType_t dtype, const void *from, int64_t i);
void emulated_cudnn_store(cudnnDataType_t dtype, void *to, int64_t i, double value);
/* Strides of a filter in its format. */
void emulated_cudnn_filter_strides(const struct cudnnFilterStruct *filter, int *ret);
/* Whether the tensor is dense with the channels last or in the order of its dimensions, "nhwc" or "nchw";
 * else "strided". */
const char *emulated_cudnn_layout(const struct cudnnTensorStruct *tensor);
size_t emulated_cudnn_tensor_bytes(const struct cudnnTensorStruct *tensor);
/* Whether a tensor's memory is the device's, all of it, and aligned for its type. */
bool emulated_cudnn_memory(const void *memory, cudnnDataType_t dtype, size_t bytes);

#endif
