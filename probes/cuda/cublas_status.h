/* SPDX-License-Identifier: Apache-2.0
 *
 * Statuses of cuBLAS and cuBLASLt, which share them, as outcomes.
 */
#ifndef PROBES_CUDA_CUBLAS_STATUS_H
#define PROBES_CUDA_CUBLAS_STATUS_H

#include <cublas_api.h>

/* 0, or an outcome kept: what the library or the device cannot do is a skip. `text` is the library's own. */
int cublas_outcome(cublasStatus_t status, const char *text, const char *what);

#endif
