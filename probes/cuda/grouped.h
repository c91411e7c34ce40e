/* SPDX-License-Identifier: Apache-2.0
 *
 * Grouped products, an operation of the program gemm.
 */
#ifndef PROBES_CUDA_GROUPED_H
#define PROBES_CUDA_GROUPED_H

#include "probes/kit/op.h"

extern const struct op gemm_grouped;

#endif
