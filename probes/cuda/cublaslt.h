/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLASLt, opened at run time. The list of routines is the only place where one is named.
 */
#ifndef PROBES_CUDA_CUBLASLT_H
#define PROBES_CUDA_CUBLASLT_H

#include <cublasLt.h>

#include "probes/kit/cuda.h"

/* clang-format off */
#define CUBLASLT_ROUTINES(X) \
    X(cublasLtCreate) X(cublasLtGetVersion) X(cublasLtGetStatusString) X(cublasLtMatmul) \
    X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) \
    X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) \
    X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) \
    X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic) \
    X(cublasLtMatmulAlgoGetIds) X(cublasLtMatmulAlgoInit) X(cublasLtMatmulAlgoCheck) \
    X(cublasLtMatmulAlgoCapGetAttribute) X(cublasLtMatmulAlgoConfigSetAttribute) \
    X(cublasLtMatmulAlgoConfigGetAttribute)
/* clang-format on */

#define CUBLASLT_POINTER(name) __typeof__(name) *name;
struct cublaslt {
    CUBLASLT_ROUTINES(CUBLASLT_POINTER)
    int version; /* 130100 for 13.1.0 */
};
#undef CUBLASLT_POINTER
extern struct cublaslt cublaslt;

/* The functions of struct kit_program. */
int cublaslt_open(void);
int cublaslt_libraries(struct kit_library *ret, int max);

/* The one handle of the process; it holds no stream and no mode. */
int cublaslt_handle(cublasLtHandle_t *ret);
/* 0, or an outcome kept: what the library or the device cannot do is a skip. */
int cublaslt_check(cublasStatus_t status, const char *what);

#endif
