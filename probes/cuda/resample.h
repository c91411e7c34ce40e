/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operations of the family `resample` share: forms, parameters, launches.
 */
#ifndef CUDA_RESAMPLE_H
#define CUDA_RESAMPLE_H

#include "probes/kit/cuda.h"
#include "probes/kit/kernel.h"

#include "probes/cuda/resample.cu"

enum resample_form { RESAMPLE_ATOMIC, RESAMPLE_GATHER, RESAMPLE_PACKED };
enum { RESAMPLE_DY, RESAMPLE_DX }; /* operands */

/* An extent of a tensor or a count, from `least` on. */
int resample_read_extent(const struct kit_params *params, const char *name, int64_t least, int64_t *ret);
int resample_read_type(const struct kit_params *params, enum kit_dtype *ret);
/* Kernels count in 32 bits. */
int resample_check_count(double items);
int resample_launch(CUfunction kernel, int64_t items, const void *args);

extern const struct op resample_max_pool, resample_three_addends;

#endif
