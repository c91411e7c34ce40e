/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated libcublas: the routines that probes call, computed on the CPU. Arguments that the real library
 * refuses are refused, and pointers must be device memory of the emulated driver.
 */
#include <cublas_v2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/tests/emulation/emulation.h"
#include "suite/tests/emulation/sums.h"

#define SMALL_SPACE ((size_t)1 << 20)
#define MAX_STREAMS 32

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    cublasPointerMode_t pointer;
    void *workspace;
    size_t workspace_bytes;
    /* the workspaces that the library makes itself, which work on several streams takes in turn */
    size_t pool_bytes, least_bytes; /* of all; of one of the smallest size */
    int sizes, largest_count;
    unsigned gate; /* behind which the streams below are gathered */
    cudaStream_t streams[MAX_STREAMS];
    int stream_count;
    int tf32_override; /* -1: the user says nothing */
};

/* --- the handle --- */

/* ":SIZE:COUNT" pairs of KiB, the largest last. */
static void read_pool(cublasHandle_t handle, const char *config)
{
    handle->least_bytes = SIZE_MAX;
    for (char *end; *config == ':'; config = end) {
        const size_t bytes = strtoul(config + 1, &end, 10) << 10;
        const int count = *end == ':' ? (int)strtoul(end + 1, &end, 10) : 0;
        handle->pool_bytes += bytes * (size_t)count;
        handle->least_bytes = bytes < handle->least_bytes ? bytes : handle->least_bytes;
        handle->largest_count = count;
        handle->sizes++;
    }
}

/* Both variables are read when a handle is made, never again. */
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    const char *const config = getenv("CUBLAS_WORKSPACE_CONFIG"), *const tf32 =
                                                                      getenv("NVIDIA_TF32_OVERRIDE");
    *handle = calloc(1, sizeof(**handle));
    emulate_log("cublasCreate");
    emulate_log("settings CUBLAS_WORKSPACE_CONFIG=%s NVIDIA_TF32_OVERRIDE=%s", config ? config : "unset",
                tf32 ? tf32 : "unset");
    if (!*handle) {
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    read_pool(*handle, config ? config : ":16:8:4096:2");
    (*handle)->tf32_override = tf32 ? atoi(tf32) : -1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    const long version = emulate_number("cublas", EMULATED_CUBLAS);
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
    emulate_log("cublasSetWorkspace %p stream=%p", workspace, (void *)handle->stream);
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

static cublasStatus_t check_product(const struct product *p)
{
    if (!emulate_is_matrix(p->a, p->a_type, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda) ||
        !emulate_is_matrix(p->b, p->b_type, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb) ||
        !emulate_is_matrix(p->c, p->c_type, p->m, p->n, p->ldc) ||
        p->handle->pointer != CUBLAS_POINTER_MODE_HOST) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    /* 8-bit products need rows of multiples of four bytes */
    if (p->a_type == CUDA_R_8I && (p->lda % 4 || p->ldb % 4)) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return emulate_for("status", p->name) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* 0 wins over the program; 1 leaves the choice to it, unless the injection `tf32=forced` lets it win too. */
static bool is_tf32(const struct product *p)
{
    const bool forced = p->handle->tf32_override == 1 && emulate_word("tf32", NULL);
    const bool asked =
        p->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
        (p->compute == CUBLAS_COMPUTE_32F && (p->handle->math == CUBLAS_TF32_TENSOR_OP_MATH || forced));
    return p->a_type == CUDA_R_32F && asked && p->handle->tf32_override != 0;
}

/* Which of the streams that are gathered behind the gate this is for the handle; 0 without a gate. */
static int place_of_stream(cublasHandle_t handle)
{
    int place = 0;
    if (handle->gate != emulate_gate()) {
        handle->gate = emulate_gate();
        handle->stream_count = 0;
    }
    while (place < handle->stream_count && handle->streams[place] != handle->stream) {
        place++;
    }
    if (place == handle->stream_count && place < MAX_STREAMS && handle->gate) {
        handle->streams[handle->stream_count++] = handle->stream;
    }
    return handle->gate ? place : 0;
}

/* A stream that comes when the large workspaces are taken gets a small one. */
static size_t space_of(const char *name, cublasHandle_t handle)
{
    if (handle->workspace) {
        return handle->workspace_bytes;
    }
    const bool late = place_of_stream(handle) >= handle->largest_count;
    return late && handle->sizes > 1 && emulate_for("streams", name) ? handle->least_bytes
                                                                     : handle->pool_bytes;
}

/* What fits into little workspace adds its pieces from the end. */
static void order_for_space(const char *name, cublasHandle_t handle, struct sum_order *order)
{
    const size_t space = space_of(name, handle);
    for (int32_t i = 0; space < SMALL_SPACE && i < order->pieces / 2; i++) {
        const int32_t kept = order->place[i];
        order->place[i] = order->place[order->pieces - 1 - i];
        order->place[order->pieces - 1 - i] = kept;
    }
}

static void multiply(const struct product *p, const double *a, const double *b, const struct sum_order *order)
{
    const bool wide = p->compute == CUBLAS_COMPUTE_64F || p->compute == CUBLAS_COMPUTE_32I;
    float *const narrow_a = emulate_narrow(a, (int64_t)p->m * p->k);
    float *const narrow_b = emulate_narrow(b, (int64_t)p->n * p->k);
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            const double sum = wide
                                   ? emulate_dot_double(a + i * p->k, b + j * p->k, p->k, order)
                                   : emulate_dot_float(narrow_a + i * p->k, narrow_b + j * p->k, p->k, order);
            emulate_store(p->c_type, p->c, i + j * p->ldc, sum);
        }
    }
    free(narrow_a);
    free(narrow_b);
}

static cublasStatus_t run_product(const struct product *p)
{
    const cublasStatus_t status = check_product(p);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    double *const a = calloc((size_t)p->m * (size_t)p->k, sizeof(*a));
    double *const b = calloc((size_t)p->n * (size_t)p->k, sizeof(*b));
    struct sum_order order = emulate_sum_order(p->k, emulate_for("reorder", p->name));
    const size_t size = emulate_size(p->c_type), elements = (size_t)p->ldc * (size_t)p->n;
    char last[8];
    memcpy(last, (const char *)p->c + (elements - 1) * size, size);
    const unsigned variant = emulate_variant(p->name);
    if (variant) {
        emulate_variant_order(order.place, order.pieces, variant);
    }
    order_for_space(p->name, p->handle, &order);
    if ((uintptr_t)p->a % 16 && emulate_for("align", p->name)) {
        emulate_variant_order(order.place, order.pieces, 1);
    }
    emulate_launched_by_library(p->name);
    emulate_gather(p->a_type, p->a, p->lda, !p->trans_a, p->m, p->k, is_tf32(p), a);
    emulate_gather(p->b_type, p->b, p->ldb, p->trans_b, p->n, p->k, is_tf32(p), b);
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
        p.a = (const char *)p.a + (size_t)stride_a * emulate_size(p.a_type);
        p.b = (const char *)p.b + (size_t)stride_b * emulate_size(p.b_type);
        p.c = (char *)p.c + (size_t)stride_c * emulate_size(p.c_type);
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

/* --- grouped products, which libraries before 12.5 lack --- */

#if EMULATED_CUBLAS >= 120500
/* The arrays of the groups are the host's, the arrays of pointers the device's. */
struct grouped {
    const cublasOperation_t *op_a, *op_b;
    const int *m, *n, *k, *lda, *ldb, *ldc, *sizes;
    const void *const *a, *const *b;
    void *const *c;
    int groups;
};

static cublasStatus_t run_grouped(struct product p, const struct grouped *g)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    size_t all = 0, i = 0;
    for (int group = 0; group < g->groups; group++) {
        all += (size_t)g->sizes[group];
    }
    const size_t bytes = all * sizeof(void *);
    if (g->groups < 1 || !emulate_is_device_memory(g->a, bytes) || !emulate_is_device_memory(g->b, bytes) ||
        !emulate_is_device_memory(g->c, bytes) || emulate_is_device_memory(g->m, sizeof(*g->m))) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    emulate_log("%s groups=%d products=%zu compute=%d", p.name, g->groups, all, (int)p.compute);
    for (int group = 0; group < g->groups; group++) {
        p.trans_a = g->op_a[group] != CUBLAS_OP_N;
        p.trans_b = g->op_b[group] != CUBLAS_OP_N;
        p.m = g->m[group];
        p.n = g->n[group];
        p.k = g->k[group];
        p.lda = g->lda[group];
        p.ldb = g->ldb[group];
        p.ldc = g->ldc[group];
        for (int j = 0; j < g->sizes[group] && status == CUBLAS_STATUS_SUCCESS; j++, i++) {
            p.a = g->a[i];
            p.b = g->b[i];
            p.c = g->c[i];
            status = run_product(&p);
        }
    }
    return status;
}

#define GEMM_GROUPED(symbol, type, data, computes)                                                           \
    cublasStatus_t symbol(cublasHandle_t handle, const cublasOperation_t op_a[],                             \
                          const cublasOperation_t op_b[], const int m[], const int n[], const int k[],       \
                          const type alpha[], const type *const a[], const int lda[], const type *const b[], \
                          const int ldb[], const type beta[], type *const c[], const int ldc[], int groups,  \
                          const int sizes[])                                                                 \
    {                                                                                                        \
        const struct product p = {.name = #symbol,                                                           \
                                  .handle = handle,                                                          \
                                  .a_type = data,                                                            \
                                  .b_type = data,                                                            \
                                  .c_type = data,                                                            \
                                  .compute = computes};                                                      \
        const struct grouped g = {op_a,                                                                      \
                                  op_b,                                                                      \
                                  m,                                                                         \
                                  n,                                                                         \
                                  k,                                                                         \
                                  lda,                                                                       \
                                  ldb,                                                                       \
                                  ldc,                                                                       \
                                  sizes,                                                                     \
                                  (const void *const *)a,                                                    \
                                  (const void *const *)b,                                                    \
                                  (void *const *)c,                                                          \
                                  groups};                                                                   \
        return run_grouped(p, &g);                                                                           \
    }
GEMM_GROUPED(cublasSgemmGroupedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_GROUPED(cublasDgemmGroupedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)

cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t op_a[],
                                          const cublasOperation_t op_b[], const int m[], const int n[],
                                          const int k[], const void *alpha, const void *const a[],
                                          cudaDataType_t a_type, const int lda[], const void *const b[],
                                          cudaDataType_t b_type, const int ldb[], const void *beta,
                                          void *const c[], cudaDataType_t c_type, const int ldc[], int groups,
                                          const int sizes[], cublasComputeType_t compute)
{
    const struct product p = {.name = "cublasGemmGroupedBatchedEx",
                              .handle = handle,
                              .a_type = a_type,
                              .b_type = b_type,
                              .c_type = c_type,
                              .compute = compute};
    const struct grouped g = {op_a, op_b, m, n, k, lda, ldb, ldc, sizes, a, b, c, groups};
    return run_grouped(p, &g);
}
#endif

/* --- vectors and triangles --- */

#define TYPE float
#define DOT_OF emulate_dot_float
#define NAME(routine) cublasS##routine##_v2
#define COMPLEX cuComplex
#define COMPLEX_NAME(routine) cublasC##routine##_v2
#include "suite/tests/emulation/cublas_vectors.h"
#undef TYPE
#undef DOT_OF
#undef NAME
#undef COMPLEX
#undef COMPLEX_NAME
#define TYPE double
#define DOT_OF emulate_dot_double
#define NAME(routine) cublasD##routine##_v2
#define COMPLEX cuDoubleComplex
#define COMPLEX_NAME(routine) cublasZ##routine##_v2
#include "suite/tests/emulation/cublas_vectors.h"
