/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS, opened at run time. The list of routines is the only place where one is named, by the name that the
 * real header's macros expand to (cublasSgemm, without _v2, is exported too, under another prototype).
 */
#ifndef PROBES_CUDA_CUBLAS_H
#define PROBES_CUDA_CUBLAS_H

#include <cublas_v2.h>

#include "probes/kit/cuda.h"

/* clang-format off */
#define CUBLAS_ROUTINES(X) \
    X(cublasCreate_v2) X(cublasDestroy_v2) X(cublasGetProperty) X(cublasGetStatusString) \
    X(cublasSetStream_v2) X(cublasSetWorkspace_v2) X(cublasSetMathMode) X(cublasSetAtomicsMode) \
    X(cublasSetPointerMode_v2) \
    X(cublasSgemm_v2) X(cublasDgemm_v2) X(cublasGemmEx) \
    X(cublasSgemmStridedBatched) X(cublasDgemmStridedBatched) X(cublasGemmStridedBatchedEx) \
    X(cublasSgemv_v2) X(cublasDgemv_v2) X(cublasSdot_v2) X(cublasDdot_v2) X(cublasSnrm2_v2) X(cublasDnrm2_v2) \
    X(cublasSasum_v2) X(cublasDasum_v2) X(cublasSger_v2) X(cublasDger_v2) X(cublasSsymv_v2) X(cublasDsymv_v2) \
    X(cublasChemv_v2) X(cublasZhemv_v2) \
    X(cublasSsyrk_v2) X(cublasDsyrk_v2) X(cublasStrsm_v2) X(cublasDtrsm_v2)
/* clang-format on */

#define CUBLAS_GROUPED(name, type)                                                                           \
    cublasStatus_t (*name)(cublasHandle_t handle, const cublasOperation_t *op_a,                             \
                           const cublasOperation_t *op_b, const int *m, const int *n, const int *k,          \
                           const type *alpha, const type *const *a, const int *lda, const type *const *b,    \
                           const int *ldb, const type *beta, type *const *c, const int *ldc, int groups,     \
                           const int *sizes)
#define CUBLAS_POINTER(name) __typeof__(name) *name;
struct cublas {
    CUBLAS_ROUTINES(CUBLAS_POINTER)
    /* the header has it for C++ alone, with pointers to a class of two bytes */
    cublasStatus_t (*cublasHgemm)(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                  int m, int n, int k, const void *alpha, const void *a, int lda,
                                  const void *b, int ldb, const void *beta, void *c, int ldc);
    /* of 12.5 on, in headers too; NULL in a library before */
    CUBLAS_GROUPED(cublasSgemmGroupedBatched, float);
    CUBLAS_GROUPED(cublasDgemmGroupedBatched, double);
    cublasStatus_t (*cublasGemmGroupedBatchedEx)(cublasHandle_t handle, const cublasOperation_t *op_a,
                                                 const cublasOperation_t *op_b, const int *m, const int *n,
                                                 const int *k, const void *alpha, const void *const *a,
                                                 cudaDataType_t a_type, const int *lda, const void *const *b,
                                                 cudaDataType_t b_type, const int *ldb, const void *beta,
                                                 void *const *c, cudaDataType_t c_type, const int *ldc,
                                                 int groups, const int *sizes, cublasComputeType_t compute);
    int version; /* 130100 for 13.1.0 */
};
#undef CUBLAS_POINTER
#undef CUBLAS_GROUPED
extern struct cublas cublas;

/* The functions of struct kit_program. */
int cublas_open(void);
/* For an `open` of its own: with kernels, as kit_cuda_open. */
int cublas_open_with(const char *text);
int cublas_libraries(struct kit_library *ret, int max);

/* What a prepared call needs of its handle; every mode is set on purpose, never left as it was. */
struct cublas_modes {
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    cublasPointerMode_t pointer; /* of alpha, beta and results */
    bool handle_per_stream;      /* where the call is made on several streams; else they share one handle */
};
int cublas_prepare(const struct kit_call *call, const struct cublas_modes *modes);
/* The handle of a run, on the stream on which it is to enqueue. */
cublasHandle_t cublas_handle(void);
/* 0, or an outcome kept: what the library or the device cannot do is a skip. */
int cublas_check(cublasStatus_t status, const char *what);

#endif
