/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN, opened at run time. The lists of routines are the only place where one is named; a family loads its
 * own and the common ones. Statuses are those of cuDNN 9; what 8 calls otherwise is known to cudnn_check.
 */
#ifndef PROBES_CUDA_CUDNN_H
#define PROBES_CUDA_CUDNN_H

#include <cudnn.h>

#include "probes/kit/cuda.h"

/* clang-format off */
#define CUDNN_COMMON_ROUTINES(X) \
    X(cudnnCreate) X(cudnnSetStream) X(cudnnGetVersion) X(cudnnGetCudartVersion) X(cudnnGetErrorString) \
    X(cudnnCreateTensorDescriptor) X(cudnnSetTensor4dDescriptorEx) X(cudnnDestroyTensorDescriptor)
#define CUDNN_CONVOLUTION_ROUTINES(X) \
    X(cudnnCreateFilterDescriptor) X(cudnnSetFilter4dDescriptor) X(cudnnDestroyFilterDescriptor) \
    X(cudnnCreateConvolutionDescriptor) X(cudnnSetConvolution2dDescriptor) X(cudnnSetConvolutionGroupCount) \
    X(cudnnSetConvolutionMathType) X(cudnnDestroyConvolutionDescriptor) \
    X(cudnnConvolutionForward) X(cudnnGetConvolutionForwardWorkspaceSize) \
    X(cudnnGetConvolutionForwardAlgorithm_v7) X(cudnnFindConvolutionForwardAlgorithmEx) \
    X(cudnnConvolutionBackwardData) X(cudnnGetConvolutionBackwardDataWorkspaceSize) \
    X(cudnnGetConvolutionBackwardDataAlgorithm_v7) X(cudnnFindConvolutionBackwardDataAlgorithmEx) \
    X(cudnnConvolutionBackwardFilter) X(cudnnGetConvolutionBackwardFilterWorkspaceSize) \
    X(cudnnGetConvolutionBackwardFilterAlgorithm_v7) X(cudnnFindConvolutionBackwardFilterAlgorithmEx)
#define CUDNN_POOLING_ROUTINES(X) \
    X(cudnnCreatePoolingDescriptor) X(cudnnSetPooling2dDescriptor) X(cudnnDestroyPoolingDescriptor) \
    X(cudnnGetPooling2dForwardOutputDim) X(cudnnPoolingForward) X(cudnnPoolingBackward)
/* clang-format on */

#define CUDNN_POINTER(name) __typeof__(name) *name;
struct cudnn {
    CUDNN_COMMON_ROUTINES(CUDNN_POINTER)
    CUDNN_CONVOLUTION_ROUTINES(CUDNN_POINTER)
    CUDNN_POOLING_ROUTINES(CUDNN_POINTER)
    /* NULL before 9 */
    __typeof__(cudnnGetLastErrorString) *cudnnGetLastErrorString;
};
#undef CUDNN_POINTER
extern struct cudnn cudnn;

/* What a family needs of the library, which loads its parts only when they are called. */
enum cudnn_family { CUDNN_POOLING, CUDNN_CONVOLUTIONS };

/* Opens the device, then the library and the parts that the family needs: one that is not there would end the
 * process at the first call. */
int cudnn_open(enum cudnn_family family);
/* For struct kit_program. */
int cudnn_libraries(struct kit_library *ret, int max);

/* The one handle of the process, on the kit's stream. */
int cudnn_prepare(cudnnHandle_t *ret);
/* 0, or an outcome kept: what the library or the device cannot do is a skip. */
int cudnn_check(cudnnStatus_t status, const char *what);

/* As kit_prepared.declared has it. */
const char *cudnn_declared(cudnnDeterminism_t determinism);

/* Operands here have the logical shape N, C, H, W; channels last is a matter of strides. */
void cudnn_channels_last(struct kit_operand *operand);
cudnnDataType_t cudnn_dtype(enum kit_dtype dtype);
int cudnn_tensor(const struct kit_operand *operand, cudnnTensorDescriptor_t *ret);

#endif
