/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS routines as every backend has them: parameters, operands and references; a probe adds the call.
 * Matrices are row-major and dense; symmetric and triangular ones are given by one half. Complex
 * numbers are a last dimension of two, real and imaginary part; the Hermitian matrix of hemv is column-major,
 * since its transpose, which a library sees in a row-major one, is another matrix. References are sums
 * in higher precision (kit/reference.h), the scales those of Higham, Accuracy and Stability of Numerical
 * Algorithms, section 3.1.
 */
#ifndef KIT_BLAS_H
#define KIT_BLAS_H

#include "probes/kit/op.h"

#define KIT_BLAS_ALPHA                                                                                       \
    0.75 /* a power of two would hide a fused multiply-add, this one keeps set exact exact */

/* Of one call. The first member of the probe's state: references find it at call->state. */
struct kit_blas {
    int64_t m, n, k;
    enum kit_dtype dtype;
    bool transposed, upper;
};

/* Operand numbers: dot, nrm2, asum, axpy; matrix by vector (gemv, symv, hemv; syrk has A alone); ger; trsm.
 * Results that are operands of their own follow. */
enum { KIT_BLAS_X, KIT_BLAS_Y };
enum { KIT_BLAS_A, KIT_BLAS_A_X, KIT_BLAS_A_Y };
enum { KIT_BLAS_G_X, KIT_BLAS_G_Y, KIT_BLAS_G_A };
enum { KIT_BLAS_T_A, KIT_BLAS_T_B };

/* From `routine` ("sdot"), its extents, `trans` and `uplo` where the routine has them. */
int kit_blas_read(const struct kit_params *params, struct kit_blas *ret);

/* Functions of struct op for each routine. */
#define KIT_BLAS_DECLARE(stem)                                                                               \
    int kit_blas_describe_##stem(const struct kit_params *params, struct kit_shape *ret);                    \
    int kit_blas_reference_##stem(struct kit_call *call, int output, const void *const *in,                  \
                                  const int64_t *cells, size_t count, struct kit_cell *ret);
KIT_BLAS_DECLARE(dot)
KIT_BLAS_DECLARE(nrm2)
KIT_BLAS_DECLARE(asum)
KIT_BLAS_DECLARE(axpy)
KIT_BLAS_DECLARE(gemv)
KIT_BLAS_DECLARE(ger)
KIT_BLAS_DECLARE(symv)
KIT_BLAS_DECLARE(hemv)
KIT_BLAS_DECLARE(syrk)
KIT_BLAS_DECLARE(trsm)
#undef KIT_BLAS_DECLARE

#endif
