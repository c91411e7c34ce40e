/* SPDX-License-Identifier: Apache-2.0
 *
 * The three passes of a convolution as cuDNN has them: routines that differ in the order and the types of
 * their arguments alone, brought to one form, and the algorithms of each.
 */
#ifndef PROBES_CUDA_CONV_PASS_H
#define PROBES_CUDA_CONV_PASS_H

#include "probes/cuda/cudnn.h"
#include "probes/kit/conv.h"

#define CONV_MAX_ALGORITHMS 8
#define CONV_MAX_WAYS 32 /* an algorithm may be listed with several math types */

struct conv_objects {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t input, output;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
};

/* An algorithm with a math type, and what cuDNN says of it. */
struct conv_way {
    int algorithm;
    cudnnStatus_t status;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
};

struct conv_ways {
    int count;
    struct conv_way way[CONV_MAX_WAYS];
};

/* `data` is by operand number (kit/conv.h). */
struct conv_pass {
    const char *routine, *workspace_routine, *ask_routine, *find_routine;
    const char *prefix; /* of its enumerators */
    int count;          /* of its algorithms */
    struct {
        const char *choice, *name;
    } algorithm[CONV_MAX_ALGORITHMS]; /* by enumerator */
    cudnnStatus_t (*workspace)(const struct conv_objects *o, int algorithm, size_t *ret);
    /* The library's heuristics: all algorithms, the preferred first. */
    cudnnStatus_t (*ask)(const struct conv_objects *o, struct conv_ways *ret);
    /* Runs them all and orders them by time. */
    cudnnStatus_t (*find)(const struct conv_objects *o, void *const *data, void *workspace, size_t bytes,
                          struct conv_ways *ret);
    cudnnStatus_t (*run)(const struct conv_objects *o, int algorithm, void *const *data, void *workspace,
                         size_t bytes);
};
extern const struct conv_pass conv_passes[]; /* by enum kit_conv_pass */

#endif
