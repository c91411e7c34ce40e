/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's convolution routines behind one form. alpha and beta are floats for every type computed in float.
 */
#include "probes/cuda/conv_pass.h"

static const float one = 1, zero = 0;

/* The results of the three passes are structs of the same members, but for the type of one. */
#define COPY_WAYS(ret, from, returned)                                                                       \
    (ret)->count = (returned);                                                                               \
    for (int i = 0; i < (returned); i++) {                                                                   \
        (ret)->way[i] = (struct conv_way){(int)(from)[i].algo, (from)[i].status, (from)[i].determinism,      \
                                          (from)[i].mathType};                                               \
    }

/* --- forward --- */

static cudnnStatus_t forward_workspace(const struct conv_objects *o, int algorithm, size_t *ret)
{
    return cudnn.cudnnGetConvolutionForwardWorkspaceSize(
        o->handle, o->input, o->filter, o->convolution, o->output, (cudnnConvolutionFwdAlgo_t)algorithm, ret);
}

static cudnnStatus_t forward_ask(const struct conv_objects *o, struct conv_ways *ret)
{
    cudnnConvolutionFwdAlgoPerf_t seen[CONV_MAX_WAYS];
    int count = 0;
    const cudnnStatus_t status = cudnn.cudnnGetConvolutionForwardAlgorithm_v7(
        o->handle, o->input, o->filter, o->convolution, o->output, CONV_MAX_WAYS, &count, seen);
    COPY_WAYS(ret, seen, count)
    return status;
}

static cudnnStatus_t forward_find(const struct conv_objects *o, void *const *data, void *workspace,
                                  size_t bytes, struct conv_ways *ret)
{
    cudnnConvolutionFwdAlgoPerf_t seen[CONV_MAX_WAYS];
    int count = 0;
    const cudnnStatus_t status = cudnn.cudnnFindConvolutionForwardAlgorithmEx(
        o->handle, o->input, data[KIT_CONV_FIRST], o->filter, data[KIT_CONV_SECOND], o->convolution,
        o->output, data[KIT_CONV_RESULT], CONV_MAX_WAYS, &count, seen, workspace, bytes);
    COPY_WAYS(ret, seen, count)
    return status;
}

static cudnnStatus_t forward_run(const struct conv_objects *o, int algorithm, void *const *data,
                                 void *workspace, size_t bytes)
{
    return cudnn.cudnnConvolutionForward(
        o->handle, &one, o->input, data[KIT_CONV_FIRST], o->filter, data[KIT_CONV_SECOND], o->convolution,
        (cudnnConvolutionFwdAlgo_t)algorithm, workspace, bytes, &zero, o->output, data[KIT_CONV_RESULT]);
}

/* --- backward data --- */

static cudnnStatus_t backward_data_workspace(const struct conv_objects *o, int algorithm, size_t *ret)
{
    return cudnn.cudnnGetConvolutionBackwardDataWorkspaceSize(o->handle, o->filter, o->output, o->convolution,
                                                              o->input,
                                                              (cudnnConvolutionBwdDataAlgo_t)algorithm, ret);
}

static cudnnStatus_t backward_data_ask(const struct conv_objects *o, struct conv_ways *ret)
{
    cudnnConvolutionBwdDataAlgoPerf_t seen[CONV_MAX_WAYS];
    int count = 0;
    const cudnnStatus_t status = cudnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(
        o->handle, o->filter, o->output, o->convolution, o->input, CONV_MAX_WAYS, &count, seen);
    COPY_WAYS(ret, seen, count)
    return status;
}

static cudnnStatus_t backward_data_find(const struct conv_objects *o, void *const *data, void *workspace,
                                        size_t bytes, struct conv_ways *ret)
{
    cudnnConvolutionBwdDataAlgoPerf_t seen[CONV_MAX_WAYS];
    int count = 0;
    const cudnnStatus_t status = cudnn.cudnnFindConvolutionBackwardDataAlgorithmEx(
        o->handle, o->filter, data[KIT_CONV_SECOND], o->output, data[KIT_CONV_FIRST], o->convolution,
        o->input, data[KIT_CONV_RESULT], CONV_MAX_WAYS, &count, seen, workspace, bytes);
    COPY_WAYS(ret, seen, count)
    return status;
}

static cudnnStatus_t backward_data_run(const struct conv_objects *o, int algorithm, void *const *data,
                                       void *workspace, size_t bytes)
{
    return cudnn.cudnnConvolutionBackwardData(
        o->handle, &one, o->filter, data[KIT_CONV_SECOND], o->output, data[KIT_CONV_FIRST], o->convolution,
        (cudnnConvolutionBwdDataAlgo_t)algorithm, workspace, bytes, &zero, o->input, data[KIT_CONV_RESULT]);
}

/* --- backward filter --- */

static cudnnStatus_t backward_filter_workspace(const struct conv_objects *o, int algorithm, size_t *ret)
{
    return cudnn.cudnnGetConvolutionBackwardFilterWorkspaceSize(
        o->handle, o->input, o->output, o->convolution, o->filter, (cudnnConvolutionBwdFilterAlgo_t)algorithm,
        ret);
}

static cudnnStatus_t backward_filter_ask(const struct conv_objects *o, struct conv_ways *ret)
{
    cudnnConvolutionBwdFilterAlgoPerf_t seen[CONV_MAX_WAYS];
    int count = 0;
    const cudnnStatus_t status = cudnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        o->handle, o->input, o->output, o->convolution, o->filter, CONV_MAX_WAYS, &count, seen);
    COPY_WAYS(ret, seen, count)
    return status;
}

static cudnnStatus_t backward_filter_find(const struct conv_objects *o, void *const *data, void *workspace,
                                          size_t bytes, struct conv_ways *ret)
{
    cudnnConvolutionBwdFilterAlgoPerf_t seen[CONV_MAX_WAYS];
    int count = 0;
    const cudnnStatus_t status = cudnn.cudnnFindConvolutionBackwardFilterAlgorithmEx(
        o->handle, o->input, data[KIT_CONV_FIRST], o->output, data[KIT_CONV_SECOND], o->convolution,
        o->filter, data[KIT_CONV_RESULT], CONV_MAX_WAYS, &count, seen, workspace, bytes);
    COPY_WAYS(ret, seen, count)
    return status;
}

static cudnnStatus_t backward_filter_run(const struct conv_objects *o, int algorithm, void *const *data,
                                         void *workspace, size_t bytes)
{
    return cudnn.cudnnConvolutionBackwardFilter(o->handle, &one, o->input, data[KIT_CONV_FIRST], o->output,
                                                data[KIT_CONV_SECOND], o->convolution,
                                                (cudnnConvolutionBwdFilterAlgo_t)algorithm, workspace, bytes,
                                                &zero, o->filter, data[KIT_CONV_RESULT]);
}

const struct conv_pass conv_passes[] =
    {
        [KIT_CONV_FORWARD] =
            {
                .routine = "cudnnConvolutionForward",
                .workspace_routine = "cudnnGetConvolutionForwardWorkspaceSize",
                .ask_routine = "cudnnGetConvolutionForwardAlgorithm_v7",
                .find_routine = "cudnnFindConvolutionForwardAlgorithmEx",
                .prefix = "CUDNN_CONVOLUTION_FWD_ALGO_",
                .count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
                .algorithm = {[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM] = {"implicit-gemm", "IMPLICIT_GEMM"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM] = {"implicit-precomp-gemm",
                                                                                    "IMPLICIT_PRECOMP_GEMM"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_GEMM] = {"gemm", "GEMM"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_DIRECT] = {"direct", "DIRECT"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_FFT] = {"fft", "FFT"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING] = {"fft-tiling", "FFT_TILING"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD] = {"winograd", "WINOGRAD"},
                              [CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED] = {"winograd-nonfused",
                                                                                "WINOGRAD_NONFUSED"}},
                .workspace = forward_workspace,
                .ask = forward_ask,
                .find = forward_find,
                .run = forward_run,
            },
        [KIT_CONV_BACKWARD_DATA] =
            {
                .routine = "cudnnConvolutionBackwardData",
                .workspace_routine = "cudnnGetConvolutionBackwardDataWorkspaceSize",
                .ask_routine = "cudnnGetConvolutionBackwardDataAlgorithm_v7",
                .find_routine = "cudnnFindConvolutionBackwardDataAlgorithmEx",
                .prefix = "CUDNN_CONVOLUTION_BWD_DATA_ALGO_",
                .count = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT,
                .algorithm = {[CUDNN_CONVOLUTION_BWD_DATA_ALGO_0] = {"algo-0", "0"},
                              [CUDNN_CONVOLUTION_BWD_DATA_ALGO_1] = {"algo-1", "1"},
                              [CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT] = {"fft", "FFT"},
                              [CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING] = {"fft-tiling", "FFT_TILING"},
                              [CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD] = {"winograd", "WINOGRAD"},
                              [CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED] = {"winograd-nonfused",
                                                                                     "WINOGRAD_NONFUSED"}},
                .workspace = backward_data_workspace,
                .ask = backward_data_ask,
                .find = backward_data_find,
                .run = backward_data_run,
            },
        [KIT_CONV_BACKWARD_FILTER] =
            {
                .routine = "cudnnConvolutionBackwardFilter",
                .workspace_routine = "cudnnGetConvolutionBackwardFilterWorkspaceSize",
                .ask_routine = "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                .find_routine = "cudnnFindConvolutionBackwardFilterAlgorithmEx",
                .prefix = "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_",
                .count = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT,
                .algorithm = {[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0] = {"algo-0", "0"},
                              [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1] = {"algo-1", "1"},
                              [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT] = {"fft", "FFT"},
                              [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3] = {"algo-3", "3"},
                              [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD] = {"winograd", "WINOGRAD"},
                              [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED] = {"winograd-nonfused",
                                                                                       "WINOGRAD_NONFUSED"},
                              [CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING] = {"fft-tiling", "FFT_TILING"}},
                .workspace = backward_filter_workspace,
                .ask = backward_filter_ask,
                .find = backward_filter_find,
                .run = backward_filter_run,
            },
};
