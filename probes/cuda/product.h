/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense matrix products as cuBLAS and cuBLASLt see them. Ours are row-major, C = op(A) op(B); the libraries'
 * are column-major, which sees our matrices transposed: C^T = op(B)^T op(A)^T, so the operands change places
 * and nothing is moved. cuBLASLt knows row-major layouts too, but its tensor core kernels for 8-bit types and
 * its epilogues are for column-major ones, and that is what frameworks call.
 */
#ifndef PROBES_CUDA_PRODUCT_H
#define PROBES_CUDA_PRODUCT_H

#include <cublas_api.h>

#include "probes/kit/op.h"

/* Operand numbers; more may follow. */
enum { PRODUCT_A, PRODUCT_B, PRODUCT_C };

struct product {
    bool trans_a, trans_b;
    int64_t m, n, k;
    int64_t count; /* of products of this shape, one beside the other; 0: it is no batch */
};

/* From `trans`, `m`, `n`, `k`, and `count` if it is a batch. Extents are int in the libraries. */
int product_read(const struct kit_params *params, bool batch, struct product *ret);

/* A, B and C. Samples of axis batch are rows of op(A) and C; of a batch, its products. */
void product_describe(const struct product *p, const enum kit_dtype dtypes[3], struct kit_shape *ret);

/* As the libraries see it: A is our B, B is our A. */
struct product_seen {
    cublasOperation_t op_a, op_b;
    int m, n, k, lda, ldb, ldc, count;
    long long stride_a, stride_b, stride_c;
};
struct product_seen product_seen(const struct product *p);

/* alpha and beta have the type of the computation. */
union product_scalar {
    float f32;
    double f64;
    uint16_t f16;
    int32_t s32;
};
union product_scalar product_one(cublasComputeType_t compute);
cudaDataType_t product_scalar_type(cublasComputeType_t compute);
cudaDataType_t product_type(enum kit_dtype dtype);

/* In what a sum is held: decides what the error bound counts. */
enum product_sum { IN_OUTPUT_TYPE, WIDER, OF_TF32, OF_F8 };
/* The `k` of a cell's bound. Sums held wider than the output lose their bits in one rounding at the end, or
 * in two where parts of them are stored in between; `more`: in how many besides. tf32 and 8-bit floats also
 * lose in the units that multiply. */
int64_t product_terms(enum product_sum sum, enum kit_dtype out, int64_t k, int64_t more);

/* Values of cells of C, in double or wider; `k` of each cell is the number of summands. */
void product_reference(const struct product *p, const enum kit_dtype dtypes[3], const void *const *in,
                       const int64_t *cells, size_t count, struct kit_cell *ret);
/* rows x columns, row-major and dense, of a matrix or (transposed) of its transpose: doubles for double, else
 * floats, which hold every narrower type. Owned. */
void *product_matrix(enum kit_dtype dtype, const void *matrix, int64_t rows, int64_t columns,
                     bool transposed);

#endif
