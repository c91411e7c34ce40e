/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated libcublas: the routines that probes call, computed on the CPU with sums in pieces of 64, which
 * an injection adds up in another order. Arguments that the real library refuses are refused, and pointers
 * must be device memory of the emulated driver.
 */
#include <cublas_v2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/kernel.h"
#include "suite/tests/emulation/emulation.h"

#define PIECE 64
#define LANES 8

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    cublasPointerMode_t pointer;
    void *workspace;
    size_t workspace_bytes;
};

/* --- the handle --- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    emulate_log("cublasCreate");
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    const long version = emulate_number("cublas", 130100);
    *value = (int)(type == MAJOR_VERSION   ? version / 10000
                   : type == MINOR_VERSION ? version / 100 % 100
                                           : version % 100);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU"
           : status == CUBLAS_STATUS_INVALID_VALUE
               ? "an unsupported value or parameter was passed to the function"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "the functionality requested is not supported"
                                                   : "unknown";
}

/* As the real one: takes away the workspace that the user set. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    handle->workspace = NULL;
    handle->workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if ((uintptr_t)workspace % 256 || !emulate_is_device_memory(workspace, bytes)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
    handle->atomics = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    handle->pointer = mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* --- elements --- */

static size_t size_of(cudaDataType_t type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F || type == CUDA_R_32I ? 4 : type == CUDA_R_8I ? 1 : 2;
}

static double load(cudaDataType_t type, const void *from, int64_t i)
{
    switch (type) {
    case CUDA_R_64F:
        return ((const double *)from)[i];
    case CUDA_R_32F:
        return ((const float *)from)[i];
    case CUDA_R_16F:
        return float_of_f16(((const u16 *)from)[i]);
    case CUDA_R_16BF:
        return float_of_bf16(((const u16 *)from)[i]);
    case CUDA_R_32I:
        return ((const i32 *)from)[i];
    default:
        return ((const i8 *)from)[i];
    }
}

static void store(cudaDataType_t type, void *to, int64_t i, double value)
{
    switch (type) {
    case CUDA_R_64F:
        ((double *)to)[i] = value;
        break;
    case CUDA_R_32F:
        ((float *)to)[i] = (float)value;
        break;
    case CUDA_R_16F:
        ((u16 *)to)[i] = f16_of_float((float)value);
        break;
    case CUDA_R_16BF:
        ((u16 *)to)[i] = bf16_of_float((float)value);
        break;
    default:
        ((i32 *)to)[i] = (i32)value;
        break;
    }
}

static double tf32(double value)
{
    const u32 bits = bits_of_float((float)value);
    return float_of_bits((bits + 0xfffu + ((bits >> 13) & 1)) & ~0x1fffu);
}

/* --- sums in pieces --- */

struct sum_order {
    i32 *place;
    i32 pieces;
};

static struct sum_order new_order(int64_t n, bool shuffled)
{
    struct sum_order order = {.pieces = (i32)((n + PIECE - 1) / PIECE)};
    order.place = calloc((size_t)order.pieces + 1, sizeof(*order.place));
    emulate_order(order.place, order.pieces, shuffled);
    return order;
}

#define DOT(type)                                                                                            \
    static type dot_##type(const type *a, const type *b, int64_t n, const struct sum_order *order)           \
    {                                                                                                        \
        type total = 0;                                                                                      \
        for (i32 p = 0; p < order->pieces; p++) {                                                            \
            const int64_t from = (int64_t)order->place[p] * PIECE;                                           \
            const int64_t to = from + PIECE < n ? from + PIECE : n;                                          \
            type lanes[LANES] = {0}, sum = 0;                                                                \
            int64_t i = from;                                                                                \
            for (; i + LANES <= to; i += LANES) {                                                            \
                for (int l = 0; l < LANES; l++) {                                                            \
                    lanes[l] += a[i + l] * b[i + l];                                                         \
                }                                                                                            \
            }                                                                                                \
            for (; i < to; i++) {                                                                            \
                lanes[0] += a[i] * b[i];                                                                     \
            }                                                                                                \
            for (int l = 0; l < LANES; l++) {                                                                \
                sum += lanes[l];                                                                             \
            }                                                                                                \
            total += sum;                                                                                    \
        }                                                                                                    \
        return total;                                                                                        \
    }
DOT(float)
DOT(double)

/* A product as the wide routines see it. */
struct product {
    const char *name;
    cublasHandle_t handle;
    bool trans_a, trans_b;
    int m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta;
    void *c;
    cudaDataType_t a_type, b_type, c_type;
    cublasComputeType_t compute;
};

static bool bad_matrix(const void *matrix, cudaDataType_t type, int64_t rows, int64_t columns, int ld)
{
    return rows < 1 || columns < 1 || ld < rows || (uintptr_t)matrix % size_of(type) ||
           !emulate_is_device_memory(matrix, (size_t)((columns - 1) * ld + rows) * size_of(type));
}

static cublasStatus_t check_product(const struct product *p)
{
    if (bad_matrix(p->a, p->a_type, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda) ||
        bad_matrix(p->b, p->b_type, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb) ||
        bad_matrix(p->c, p->c_type, p->m, p->n, p->ldc) || p->handle->pointer != CUBLAS_POINTER_MODE_HOST) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    /* 8-bit products need rows of multiples of four bytes */
    if (p->a_type == CUDA_R_8I && (p->lda % 4 || p->ldb % 4)) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return emulate_for("status", p->name) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* Row i of op(A), or column j of op(B), one after the other. */
static void gather(const struct product *p, bool of_b, double *ret)
{
    const int64_t count = of_b ? p->n : p->m;
    const bool across = of_b ? p->trans_b : !p->trans_a;
    const int64_t ld = of_b ? p->ldb : p->lda;
    const cudaDataType_t type = of_b ? p->b_type : p->a_type;
    const void *const from = of_b ? p->b : p->a;
    const bool rounded = p->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                         (p->compute == CUBLAS_COMPUTE_32F && type == CUDA_R_32F &&
                          p->handle->math == CUBLAS_TF32_TENSOR_OP_MATH);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t l = 0; l < p->k; l++) {
            const double value = load(type, from, across ? i + l * ld : l + i * ld);
            ret[i * p->k + l] = rounded ? tf32(value) : value;
        }
    }
}

static void multiply(const struct product *p, const double *a, const double *b, const struct sum_order *order)
{
    const bool wide = p->compute == CUBLAS_COMPUTE_64F || p->compute == CUBLAS_COMPUTE_32I;
    float *const narrow = calloc((size_t)(p->m + p->n) * (size_t)p->k, sizeof(*narrow));
    for (int64_t i = 0; i < (int64_t)p->m * p->k; i++) {
        narrow[i] = (float)a[i];
    }
    for (int64_t i = 0; i < (int64_t)p->n * p->k; i++) {
        narrow[(int64_t)p->m * p->k + i] = (float)b[i];
    }
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            const double sum = wide ? dot_double(a + i * p->k, b + j * p->k, p->k, order)
                                    : dot_float(narrow + i * p->k, narrow + (p->m + j) * p->k, p->k, order);
            store(p->c_type, p->c, i + j * p->ldc, sum);
        }
    }
    free(narrow);
}

static cublasStatus_t run_product(const struct product *p)
{
    const cublasStatus_t status = check_product(p);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    double *const a = calloc((size_t)p->m * (size_t)p->k, sizeof(*a));
    double *const b = calloc((size_t)p->n * (size_t)p->k, sizeof(*b));
    struct sum_order order = new_order(p->k, emulate_for("reorder", p->name));
    const size_t size = size_of(p->c_type), elements = (size_t)p->ldc * (size_t)p->n;
    char last[8];
    memcpy(last, (const char *)p->c + (elements - 1) * size, size);
    gather(p, false, a);
    gather(p, true, b);
    multiply(p, a, b, &order);
    emulate_harm(p->name, p->c, elements, size, last);
    emulate_log(
        "%s %c%c m=%d n=%d k=%d lda=%d ldb=%d ldc=%d compute=%d math=%d atomics=%d workspace=%zu stream=%p",
        p->name, p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', p->m, p->n, p->k, p->lda, p->ldb, p->ldc,
        (int)p->compute, (int)p->handle->math, (int)p->handle->atomics, p->handle->workspace_bytes,
        (void *)p->handle->stream);
    free(order.place);
    free(a);
    free(b);
    return CUBLAS_STATUS_SUCCESS;
}

#define GEMM(symbol, type, data, computes)                                                                   \
    cublasStatus_t symbol(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,      \
                          int n, int k, const type *alpha, const type *a, int lda, const type *b, int ldb,   \
                          const type *beta, type *c, int ldc)                                                \
    {                                                                                                        \
        const struct product p = {#symbol,                                                                   \
                                  handle,                                                                    \
                                  op_a != CUBLAS_OP_N,                                                       \
                                  op_b != CUBLAS_OP_N,                                                       \
                                  m,                                                                         \
                                  n,                                                                         \
                                  k,                                                                         \
                                  lda,                                                                       \
                                  ldb,                                                                       \
                                  ldc,                                                                       \
                                  alpha,                                                                     \
                                  a,                                                                         \
                                  b,                                                                         \
                                  beta,                                                                      \
                                  c,                                                                         \
                                  data,                                                                      \
                                  data,                                                                      \
                                  data,                                                                      \
                                  computes};                                                                 \
        return run_product(&p);                                                                              \
    }
GEMM(cublasSgemm_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM(cublasDgemm_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM(cublasHgemm, void, CUDA_R_16F, CUBLAS_COMPUTE_16F) /* in the header for C++ alone */

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                            const void *b, cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm)
{
    const struct product p = {"cublasGemmEx",
                              handle,
                              op_a != CUBLAS_OP_N,
                              op_b != CUBLAS_OP_N,
                              m,
                              n,
                              k,
                              lda,
                              ldb,
                              ldc,
                              alpha,
                              a,
                              b,
                              beta,
                              c,
                              a_type,
                              b_type,
                              c_type,
                              compute};
    emulate_log("cublasGemmEx algorithm=%d", (int)algorithm);
    return run_product(&p);
}

static cublasStatus_t run_batch(struct product p, long long stride_a, long long stride_b, long long stride_c,
                                int count)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++) {
        status = run_product(&p);
        p.a = (const char *)p.a + (size_t)stride_a * size_of(p.a_type);
        p.b = (const char *)p.b + (size_t)stride_b * size_of(p.b_type);
        p.c = (char *)p.c + (size_t)stride_c * size_of(p.c_type);
    }
    return status;
}

#define GEMM_STRIDED(symbol, type, data, computes)                                                           \
    cublasStatus_t symbol(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,      \
                          int n, int k, const type *alpha, const type *a, int lda, long long stride_a,       \
                          const type *b, int ldb, long long stride_b, const type *beta, type *c, int ldc,    \
                          long long stride_c, int count)                                                     \
    {                                                                                                        \
        const struct product p = {#symbol,                                                                   \
                                  handle,                                                                    \
                                  op_a != CUBLAS_OP_N,                                                       \
                                  op_b != CUBLAS_OP_N,                                                       \
                                  m,                                                                         \
                                  n,                                                                         \
                                  k,                                                                         \
                                  lda,                                                                       \
                                  ldb,                                                                       \
                                  ldc,                                                                       \
                                  alpha,                                                                     \
                                  a,                                                                         \
                                  b,                                                                         \
                                  beta,                                                                      \
                                  c,                                                                         \
                                  data,                                                                      \
                                  data,                                                                      \
                                  data,                                                                      \
                                  computes};                                                                 \
        return run_batch(p, stride_a, stride_b, stride_c, count);                                            \
    }
GEMM_STRIDED(cublasSgemmStridedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_STRIDED(cublasDgemmStridedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k, const void *alpha,
                                          const void *a, cudaDataType a_type, int lda, long long stride_a,
                                          const void *b, cudaDataType b_type, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long stride_c, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm)
{
    const struct product p = {"cublasGemmStridedBatchedEx",
                              handle,
                              op_a != CUBLAS_OP_N,
                              op_b != CUBLAS_OP_N,
                              m,
                              n,
                              k,
                              lda,
                              ldb,
                              ldc,
                              alpha,
                              a,
                              b,
                              beta,
                              c,
                              a_type,
                              b_type,
                              c_type,
                              compute};
    return run_batch(p, stride_a, stride_b, stride_c, count);
}

/* --- vectors and triangles --- */

#define TYPE float
#define DOT_OF dot_float
#define NAME(routine) cublasS##routine##_v2
#include "suite/tests/emulation/cublas_vectors.h"
#undef TYPE
#undef DOT_OF
#undef NAME
#define TYPE double
#define DOT_OF dot_double
#define NAME(routine) cublasD##routine##_v2
#include "suite/tests/emulation/cublas_vectors.h"
