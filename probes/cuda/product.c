/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products but for the call of the library: parameters, operands, the view in column-major order,
 * references.
 */
#include "probes/cuda/product.h"

#include <limits.h>
#include <stdlib.h>

#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"
#include "suite/base/text.h"

#define ROUNDINGS 4
/* Tensor cores of capability 8.9 and 9.0 keep 13 bits behind the point of the largest summand. Four of their
 * steps, 32 products and what came before, make 132 truncations until the sum goes on in float. */
#define F8_LOSS 0x1.08p-6L

static bool is_extent(int64_t extent)
{
    return extent >= 1 && extent <= INT_MAX;
}

int product_read(const struct kit_params *params, bool batch, struct product *ret)
{
    int trans;
    *ret = (struct product){0};
    if (kit_param_word(params, "trans", "nn|nt|tn|tt", &trans) || kit_param_int(params, "m", &ret->m) ||
        kit_param_int(params, "n", &ret->n) || kit_param_int(params, "k", &ret->k) ||
        (batch && kit_param_int(params, "count", &ret->count))) {
        return KIT_FAILED;
    }
    ret->trans_a = trans & 2;
    ret->trans_b = trans & 1;
    return is_extent(ret->m) && is_extent(ret->n) && is_extent(ret->k) && (!batch || is_extent(ret->count))
               ? KIT_OK
               : kit_fail("bad params: an extent is not within 1 and %d", INT_MAX);
}

static struct kit_operand matrix(const struct product *p, const char *name, enum kit_role role,
                                 enum kit_dtype dtype, int64_t rows, int64_t columns, int batch_dim)
{
    struct kit_operand operand = {
        .name = name, .role = role, .dtype = dtype, .ndim = 2, .align = 256, .batch_dim = batch_dim};
    int64_t *extent = operand.shape;
    if (p->count) {
        *extent++ = p->count;
        operand.ndim = 3;
        operand.batch_dim = 0;
    }
    extent[0] = rows;
    extent[1] = columns;
    return operand;
}

static int64_t products(const struct product *p)
{
    return p->count ? p->count : 1;
}

void product_describe(const struct product *p, const enum kit_dtype dtypes[3], struct kit_shape *ret)
{
    ret->count = 3;
    ret->operand[PRODUCT_A] = matrix(p, "a", KIT_IN, dtypes[PRODUCT_A], p->trans_a ? p->k : p->m,
                                     p->trans_a ? p->m : p->k, p->trans_a ? 1 : 0);
    ret->operand[PRODUCT_B] =
        matrix(p, "b", KIT_IN, dtypes[PRODUCT_B], p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, -1);
    ret->operand[PRODUCT_C] = matrix(p, "c", KIT_OUT, dtypes[PRODUCT_C], p->m, p->n, 0);
    ret->flops = (double)p->m * (double)p->n * (double)p->k * (double)products(p);
}

struct product_seen product_seen(const struct product *p)
{
    return (struct product_seen){.op_a = p->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                                 .op_b = p->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                 .m = (int)p->n,
                                 .n = (int)p->m,
                                 .k = (int)p->k,
                                 .lda = (int)(p->trans_b ? p->k : p->n),
                                 .ldb = (int)(p->trans_a ? p->m : p->k),
                                 .ldc = (int)p->n,
                                 .count = (int)products(p),
                                 .stride_a = p->n * p->k,
                                 .stride_b = p->m * p->k,
                                 .stride_c = p->m * p->n};
}

union product_scalar product_one(cublasComputeType_t compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_64F:
        return (union product_scalar){.f64 = 1};
    case CUBLAS_COMPUTE_16F:
        return (union product_scalar){.f16 = 0x3c00};
    case CUBLAS_COMPUTE_32I:
        return (union product_scalar){.s32 = 1};
    default:
        return (union product_scalar){.f32 = 1};
    }
}

cudaDataType_t product_scalar_type(cublasComputeType_t compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_64F:
        return CUDA_R_64F;
    case CUBLAS_COMPUTE_16F:
        return CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
        return CUDA_R_32I;
    default:
        return CUDA_R_32F;
    }
}

cudaDataType_t product_type(enum kit_dtype dtype)
{
    static const cudaDataType_t types[KIT_DTYPE_MAX] = {
        [KIT_F32] = CUDA_R_32F,   [KIT_F64] = CUDA_R_64F,        [KIT_F16] = CUDA_R_16F,
        [KIT_BF16] = CUDA_R_16BF, [KIT_F8E4M3] = CUDA_R_8F_E4M3, [KIT_F8E5M2] = CUDA_R_8F_E5M2,
        [KIT_S8] = CUDA_R_8I,     [KIT_U8] = CUDA_R_8U,          [KIT_S32] = CUDA_R_32I,
        [KIT_S64] = CUDA_R_64I};
    return types[dtype];
}

int64_t product_terms(enum product_sum sum, enum kit_dtype out, int64_t k, int64_t more)
{
    switch (sum) {
    case WIDER:
        return ROUNDINGS + more;
    case OF_TF32:
        return k + KIT_TF32_K;
    case OF_F8:
        return (int64_t)(F8_LOSS / kit_dtype_roundoff(out)) + (out == KIT_F32 ? k : ROUNDINGS + more);
    default:
        return k;
    }
}

void *product_matrix(enum kit_dtype dtype, const void *matrix, int64_t rows, int64_t columns, bool transposed)
{
    if (dtype == KIT_F64 || dtype == KIT_F32) {
        return kit_reference_matrix(dtype, matrix, rows, columns, transposed);
    }
    float *const copy = dp_alloc((size_t)(rows * columns), sizeof(*copy));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            copy[i * columns + j] =
                (float)kit_value(dtype, matrix, transposed ? j * rows + i : i * columns + j);
        }
    }
    return copy;
}

void product_reference(const struct product *p, const enum kit_dtype dtypes[3], const void *const *in,
                       const int64_t *cells, size_t count, struct kit_cell *ret)
{
    const enum kit_dtype wide = dtypes[PRODUCT_A] == KIT_F64 ? KIT_F64 : KIT_F32;
    const size_t row = (size_t)p->k * kit_dtype_size(wide);
    const size_t size_a = kit_dtype_size(dtypes[PRODUCT_A]), size_b = kit_dtype_size(dtypes[PRODUCT_B]);
    char *a = NULL, *b = NULL;
    int64_t product = -1;
    for (size_t i = 0; i < count; i++) { /* cells ascend, so products come one after the other */
        const int64_t cell = cells[i] % (p->m * p->n);
        if (cells[i] / (p->m * p->n) != product) {
            product = cells[i] / (p->m * p->n);
            free(a);
            free(b);
            a = product_matrix(dtypes[PRODUCT_A],
                               (const char *)in[PRODUCT_A] + (size_t)(product * p->m * p->k) * size_a, p->m,
                               p->k, p->trans_a);
            b = product_matrix(dtypes[PRODUCT_B],
                               (const char *)in[PRODUCT_B] + (size_t)(product * p->n * p->k) * size_b, p->n,
                               p->k, !p->trans_b);
        }
        ret[i] =
            kit_reference_dot(wide, a + (size_t)(cell / p->n) * row, b + (size_t)(cell % p->n) * row, p->k);
    }
    free(a);
    free(b);
}
