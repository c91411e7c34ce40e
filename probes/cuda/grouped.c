/* SPDX-License-Identifier: Apache-2.0
 *
 * Grouped matrix products through cuBLAS: groups of products of unequal height, as the experts of a layer get
 * unequal numbers of tokens. Row-major, C_i = A_i B_i with beta 0. Group g has `count` products of (g + 1) m
 * rows; their A_i lie one below the other in one matrix, and so do their C_i.
 */
#include "probes/cuda/grouped.h"

#include <stdlib.h>
#include <string.h>

#include "probes/cuda/cublas.h"
#include "probes/cuda/product.h"
#include "probes/kit/dtype.h"
#include "probes/kit/kernel.h"
#include "probes/kit/reference.h"

#include "probes/cuda/gemm.cu"

#define MAX_GROUPS 32
#define THREADS 128

enum api { S, D, EX };

static const struct routine {
    const char *name;
    enum api api;
    enum kit_dtype dtype;
    cublasComputeType_t compute;
    enum product_sum sum;
} routines[] = {
    {"sgemmgroupedbatched", S, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE},
    {"dgemmgroupedbatched", D, KIT_F64, CUBLAS_COMPUTE_64F, IN_OUTPUT_TYPE},
    {"gemmgroupedbatchedex-f16", EX, KIT_F16, CUBLAS_COMPUTE_32F, WIDER},
    {"gemmgroupedbatchedex-bf16", EX, KIT_BF16, CUBLAS_COMPUTE_32F, WIDER},
    {"gemmgroupedbatchedex-tf32", EX, KIT_F32, CUBLAS_COMPUTE_32F_FAST_TF32, OF_TF32},
};

struct state {
    const struct routine *routine;
    CUfunction pointers;
    int64_t groups, per_group, m, n, k;
    /* of each group, as the library takes them */
    cublasOperation_t op[MAX_GROUPS];
    int n_seen[MAX_GROUPS], m_seen[MAX_GROUPS], k_seen[MAX_GROUPS], sizes[MAX_GROUPS];
    float one_f32[MAX_GROUPS], zero_f32[MAX_GROUPS];
    double one_f64[MAX_GROUPS], zero_f64[MAX_GROUPS];
};

static int read_params(const struct kit_params *params, struct state *ret)
{
    const char *name;
    *ret = (struct state){0};
    if (kit_param_string(params, "routine", &name) || kit_param_int(params, "groups", &ret->groups) ||
        kit_param_int(params, "count", &ret->per_group) || kit_param_int(params, "m", &ret->m) ||
        kit_param_int(params, "n", &ret->n) || kit_param_int(params, "k", &ret->k)) {
        return KIT_FAILED;
    }
    for (size_t i = 0; i < sizeof(routines) / sizeof(routines[0]); i++) {
        ret->routine = strcmp(routines[i].name, name) == 0 ? &routines[i] : ret->routine;
    }
    if (!ret->routine) {
        return kit_fail("unknown routine '%s'", name);
    }
    const int64_t extents[] = {ret->groups, ret->per_group, ret->m, ret->n, ret->k};
    for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        if (extents[i] < 1 || extents[i] > (i == 0 ? MAX_GROUPS : 1 << 20)) {
            return kit_fail("bad params: an extent is not within 1 and 2^20, or more than %d groups",
                            MAX_GROUPS);
        }
    }
    return KIT_OK;
}

static int64_t rows_of(const struct state *s)
{
    return s->m * s->per_group * (s->groups * (s->groups + 1) / 2);
}

static struct kit_operand matrices(const struct state *s, const char *name, enum kit_role role, int ndim,
                                   int64_t d0, int64_t d1, int64_t d2)
{
    return (struct kit_operand){.name = name,
                                .role = role,
                                .dtype = s->routine->dtype,
                                .ndim = ndim,
                                .shape = {d0, d1, d2},
                                .align = 256,
                                .batch_dim = -1};
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct state s;
    if (read_params(params, &s)) {
        return KIT_FAILED;
    }
    ret->count = 3;
    ret->operand[PRODUCT_A] = matrices(&s, "a", KIT_IN, 2, rows_of(&s), s.k, 0);
    ret->operand[PRODUCT_B] = matrices(&s, "b", KIT_IN, 3, s.groups * s.per_group, s.k, s.n);
    ret->operand[PRODUCT_C] = matrices(&s, "c", KIT_OUT, 2, rows_of(&s), s.n, 0);
    ret->flops = (double)rows_of(&s) * (double)s.n * (double)s.k;
    return KIT_OK;
}

static size_t pointers_bytes(const struct state *s)
{
    return 3 * (size_t)(s->groups * s->per_group) * sizeof(void *);
}

/* Libraries older than the routines lack them. */
static int check_there(const struct routine *routine)
{
    const bool there = routine->api == S   ? cublas.cublasSgemmGroupedBatched != NULL
                       : routine->api == D ? cublas.cublasDgemmGroupedBatched != NULL
                                           : cublas.cublasGemmGroupedBatchedEx != NULL;
    return there ? KIT_OK : kit_skip("version", "%s needs cuBLAS 12.5 or later", routine->name);
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *const s = calloc(1, sizeof(*s));
    call->state = s;
    int rc = s ? read_params(call->params, s) : kit_fail("out of memory");
    rc = rc ? rc : check_there(s->routine);
    rc = rc ? rc : kit_cuda_kernel("gemm_pointers", &s->pointers);
    if (rc) {
        return rc;
    }
    for (int g = 0; g < (int)s->groups; g++) { /* our rows are the library's columns */
        s->op[g] = CUBLAS_OP_N;
        s->m_seen[g] = (int)s->n;
        s->n_seen[g] = (int)s->m * (g + 1);
        s->k_seen[g] = (int)s->k;
        s->sizes[g] = (int)s->per_group;
        s->one_f32[g] = 1;
        s->one_f64[g] = 1;
    }
    const struct cublas_modes modes = {CUBLAS_DEFAULT_MATH, CUBLAS_ATOMICS_NOT_ALLOWED,
                                       CUBLAS_POINTER_MODE_HOST, false};
    ret->workspace_bytes = pointers_bytes(s);
    return cublas_prepare(call, &modes);
}

static int write_pointers(const struct state *s, const struct kit_buffers *buffers)
{
    const int64_t size = (int64_t)kit_dtype_size(s->routine->dtype);
    const struct gemm_pointers_args args = {.lists = buffers->workspace,
                                            .a = buffers->data[PRODUCT_A],
                                            .b = buffers->data[PRODUCT_B],
                                            .c = buffers->data[PRODUCT_C],
                                            .row_a = s->k * size,
                                            .matrix_b = s->k * s->n * size,
                                            .row_c = s->n * size,
                                            .m = s->m,
                                            .count = (i32)(s->groups * s->per_group),
                                            .per_group = (i32)s->per_group};
    return kit_cuda_launch(s->pointers, kit_cuda_blocks(args.count, THREADS), THREADS, &args);
}

static cublasStatus_t multiply(const struct state *s, void *const *lists)
{
    const struct routine *const r = s->routine;
    const cudaDataType_t type = product_type(r->dtype);
    const int64_t count = s->groups * s->per_group;
    const void *const *const a = (const void *const *)lists, *const *const b = a + count;
    void *const *const c = lists + 2 * count;
    const int groups = (int)s->groups, *const lda = s->m_seen, *const ldb = s->k_seen, *const ldc = s->m_seen;
    switch (r->api) {
    case S:
        return cublas.cublasSgemmGroupedBatched(cublas_handle(), s->op, s->op, s->m_seen, s->n_seen,
                                                s->k_seen, s->one_f32, (const float *const *)a, lda,
                                                (const float *const *)b, ldb, s->zero_f32, (float *const *)c,
                                                ldc, groups, s->sizes);
    case D:
        return cublas.cublasDgemmGroupedBatched(cublas_handle(), s->op, s->op, s->m_seen, s->n_seen,
                                                s->k_seen, s->one_f64, (const double *const *)a, lda,
                                                (const double *const *)b, ldb, s->zero_f64,
                                                (double *const *)c, ldc, groups, s->sizes);
    default:
        return cublas.cublasGemmGroupedBatchedEx(cublas_handle(), s->op, s->op, s->m_seen, s->n_seen,
                                                 s->k_seen, s->one_f32, a, type, lda, b, type, ldb,
                                                 s->zero_f32, c, type, ldc, groups, s->sizes, r->compute);
    }
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *const s = call->state;
    const int rc = write_pointers(s, buffers);
    return rc ? rc : cublas_check(multiply(s, buffers->workspace), s->routine->name);
}

/* Which product a row of A and C belongs to. */
static int64_t product_at(const struct state *s, int64_t row)
{
    int64_t group = 0;
    while (row >= s->per_group * s->m * (group + 1)) {
        row -= s->per_group * s->m * ++group;
    }
    return group * s->per_group + row / (s->m * (group + 1));
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *const s = call->state;
    const enum kit_dtype dtype = s->routine->dtype, wide = dtype == KIT_F64 ? KIT_F64 : KIT_F32;
    const size_t row = (size_t)s->k * kit_dtype_size(wide);
    char *const a = product_matrix(dtype, in[PRODUCT_A], rows_of(s), s->k, false), *b = NULL;
    int64_t product = -1;
    for (size_t i = 0; i < count; i++) { /* cells ascend, so products come one after the other */
        const int64_t at = product_at(s, cells[i] / s->n);
        if (at != product) {
            product = at;
            free(b);
            b = product_matrix(
                dtype, (const char *)in[PRODUCT_B] + (size_t)(at * s->n * s->k) * kit_dtype_size(dtype), s->n,
                s->k, true);
        }
        ret[i] = kit_reference_dot(wide, a + (size_t)(cells[i] / s->n) * row,
                                   b + (size_t)(cells[i] % s->n) * row, s->k);
        ret[i].k = product_terms(s->routine->sum, dtype, s->k, 0);
    }
    free(a);
    free(b);
    return KIT_OK;
}

const struct op gemm_grouped = {
    .name = "gemm-grouped",
    .describe = describe,
    .prepare = prepare,
    .run = run,
    .reference = reference,
    .release = kit_free_state,
};
