/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense matrix products through cuBLAS. Matrices are row-major, C = op(A) op(B) with beta 0. Several
 * products, one beside the other in memory, make a strided batch. A choice gives the library a workspace of
 * its size, which decides which kernels are eligible, or lets it time its algorithms.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/cuda/cublas.h"
#include "probes/cuda/grouped.h"
#include "probes/cuda/product.h"

extern const char gemm_text[];

#define AUTOTUNE 999 /* CUBLAS_GEMM_AUTOTUNE, of cuBLAS 13 on; headers before have no name for it */
#define AUTOTUNE_VERSION 130000

enum api { S, D, H, EX, S_STRIDED, D_STRIDED, EX_STRIDED };

static const struct routine {
    const char *name;
    enum api api;
    enum kit_dtype in, out;
    cublasComputeType_t compute;
    enum product_sum sum;
    cublasMath_t math;
} routines[] = {
    {"sgemm", S, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"sgemm-tf32", S, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F, OF_TF32, CUBLAS_TF32_TENSOR_OP_MATH},
    {"sgemm-pedantic", S, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE, CUBLAS_PEDANTIC_MATH},
    {"dgemm", D, KIT_F64, KIT_F64, CUBLAS_COMPUTE_64F, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"hgemm", H, KIT_F16, KIT_F16, CUBLAS_COMPUTE_16F, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"gemmex-f32", EX, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"gemmex-tf32", EX, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F_FAST_TF32, OF_TF32, CUBLAS_DEFAULT_MATH},
    {"gemmex-f16", EX, KIT_F16, KIT_F16, CUBLAS_COMPUTE_32F, WIDER, CUBLAS_DEFAULT_MATH},
    {"gemmex-f16-wide-reduction", EX, KIT_F16, KIT_F16, CUBLAS_COMPUTE_32F, WIDER,
     CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION},
    {"gemmex-f16-f32", EX, KIT_F16, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"gemmex-bf16", EX, KIT_BF16, KIT_BF16, CUBLAS_COMPUTE_32F, WIDER, CUBLAS_DEFAULT_MATH},
    {"gemmex-bf16-wide-reduction", EX, KIT_BF16, KIT_BF16, CUBLAS_COMPUTE_32F, WIDER,
     CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION},
    {"gemmex-bf16-f32", EX, KIT_BF16, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"gemmex-s8-s32", EX, KIT_S8, KIT_S32, CUBLAS_COMPUTE_32I, IN_OUTPUT_TYPE, CUBLAS_DEFAULT_MATH},
    {"sgemmstridedbatched", S_STRIDED, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE,
     CUBLAS_DEFAULT_MATH},
    {"dgemmstridedbatched", D_STRIDED, KIT_F64, KIT_F64, CUBLAS_COMPUTE_64F, IN_OUTPUT_TYPE,
     CUBLAS_DEFAULT_MATH},
    {"gemmstridedbatchedex-f16", EX_STRIDED, KIT_F16, KIT_F16, CUBLAS_COMPUTE_32F, WIDER,
     CUBLAS_DEFAULT_MATH},
    {"gemmstridedbatchedex-bf16", EX_STRIDED, KIT_BF16, KIT_BF16, CUBLAS_COMPUTE_32F, WIDER,
     CUBLAS_DEFAULT_MATH},
    {"gemmstridedbatchedex-tf32", EX_STRIDED, KIT_F32, KIT_F32, CUBLAS_COMPUTE_32F_FAST_TF32, OF_TF32,
     CUBLAS_DEFAULT_MATH},
};

/* Implementations to choose from; NULL is the library's own with its own workspace. */
static const struct form {
    const char *name;
    size_t workspace;
    int algorithm;
} forms[] = {
    {"workspace-64KiB", (size_t)64 << 10, CUBLAS_GEMM_DEFAULT},
    {"workspace-4MiB", (size_t)4 << 20, CUBLAS_GEMM_DEFAULT},
    {"workspace-32MiB", (size_t)32 << 20, CUBLAS_GEMM_DEFAULT},
    {"autotune", 0, AUTOTUNE},
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))
static const struct form own_form = {NULL, 0, CUBLAS_GEMM_DEFAULT};

struct gemm {
    const struct routine *routine;
    const struct form *form;
    bool handle_per_stream;
    struct product product;
    union product_scalar one, zero;
};

static bool is_strided(const struct routine *routine)
{
    return routine->api >= S_STRIDED;
}

static int read_params(const struct kit_params *params, struct gemm *ret)
{
    const char *name;
    *ret = (struct gemm){0};
    if (kit_param_string(params, "routine", &name) ||
        kit_param_bool_or(params, "handle_per_stream", false, &ret->handle_per_stream)) {
        return KIT_FAILED;
    }
    for (size_t i = 0; i < sizeof(routines) / sizeof(routines[0]); i++) {
        ret->routine = strcmp(routines[i].name, name) == 0 ? &routines[i] : ret->routine;
    }
    return ret->routine ? product_read(params, is_strided(ret->routine), &ret->product)
                        : kit_fail("unknown routine '%s'", name);
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct gemm g;
    if (read_params(params, &g)) {
        return KIT_FAILED;
    }
    const enum kit_dtype dtypes[3] = {g.routine->in, g.routine->in, g.routine->out};
    product_describe(&g.product, dtypes, ret);
    return KIT_OK;
}

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    static const char *names[FORMS];
    for (size_t i = 0; i < FORMS; i++) {
        names[i] = forms[i].name;
    }
    *ret_names = names;
    *ret_count = (int)FORMS;
    return KIT_OK;
}

static int find_form(const char *choice, const struct gemm *g, const struct form **ret)
{
    *ret = &own_form;
    for (size_t i = 0; choice && i < FORMS; i++) {
        *ret = strcmp(forms[i].name, choice) == 0 ? &forms[i] : *ret;
    }
    if ((*ret)->algorithm == AUTOTUNE && g->routine->api != EX && g->routine->api != EX_STRIDED) {
        return kit_skip("unsupported", "%s takes no algorithm", g->routine->name);
    }
    if ((*ret)->algorithm == AUTOTUNE && cublas.version < AUTOTUNE_VERSION) {
        return kit_skip("version", "cuBLAS before 13.0 does not tune by itself");
    }
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct gemm *const g = calloc(1, sizeof(*g));
    call->state = g;
    int rc = g ? read_params(call->params, g) : kit_fail("out of memory");
    rc = rc ? rc : find_form(call->choice, g, &g->form);
    if (rc) {
        return rc;
    }
    const struct cublas_modes modes = {g->routine->math, CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_POINTER_MODE_HOST,
                                       g->handle_per_stream};
    g->one = product_one(g->routine->compute);
    ret->workspace_bytes = g->form->workspace;
    return cublas_prepare(call, &modes);
}

static cublasStatus_t call_plain(const struct gemm *g, const struct product_seen *s,
                                 const struct kit_buffers *buffers)
{
    const struct routine *r = g->routine;
    const void *const a = buffers->data[PRODUCT_B], *const b = buffers->data[PRODUCT_A];
    void *const c = buffers->data[PRODUCT_C];
    switch (r->api) {
    case S:
        return cublas.cublasSgemm_v2(cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k, &g->one.f32, a,
                                     s->lda, b, s->ldb, &g->zero.f32, c, s->ldc);
    case D:
        return cublas.cublasDgemm_v2(cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k, &g->one.f64, a,
                                     s->lda, b, s->ldb, &g->zero.f64, c, s->ldc);
    case H:
        return cublas.cublasHgemm(cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k, &g->one.f16, a, s->lda,
                                  b, s->ldb, &g->zero.f16, c, s->ldc);
    default:
        return cublas.cublasGemmEx(cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k, &g->one, a,
                                   product_type(r->in), s->lda, b, product_type(r->in), s->ldb, &g->zero, c,
                                   product_type(r->out), s->ldc, r->compute,
                                   (cublasGemmAlgo_t)g->form->algorithm);
    }
}

static cublasStatus_t call_strided(const struct gemm *g, const struct product_seen *s,
                                   const struct kit_buffers *buffers)
{
    const struct routine *r = g->routine;
    const void *const a = buffers->data[PRODUCT_B], *const b = buffers->data[PRODUCT_A];
    void *const c = buffers->data[PRODUCT_C];
    switch (r->api) {
    case S_STRIDED:
        return cublas.cublasSgemmStridedBatched(cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k,
                                                &g->one.f32, a, s->lda, s->stride_a, b, s->ldb, s->stride_b,
                                                &g->zero.f32, c, s->ldc, s->stride_c, s->count);
    case D_STRIDED:
        return cublas.cublasDgemmStridedBatched(cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k,
                                                &g->one.f64, a, s->lda, s->stride_a, b, s->ldb, s->stride_b,
                                                &g->zero.f64, c, s->ldc, s->stride_c, s->count);
    default:
        return cublas.cublasGemmStridedBatchedEx(
            cublas_handle(), s->op_a, s->op_b, s->m, s->n, s->k, &g->one, a, product_type(r->in), s->lda,
            s->stride_a, b, product_type(r->in), s->ldb, s->stride_b, &g->zero, c, product_type(r->out),
            s->ldc, s->stride_c, s->count, r->compute, (cublasGemmAlgo_t)g->form->algorithm);
    }
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct gemm *g = call->state;
    const struct product_seen s = product_seen(&g->product);
    if (g->form->workspace) {
        const int rc = cublas_check(
            cublas.cublasSetWorkspace_v2(cublas_handle(), buffers->workspace, g->form->workspace),
            "cublasSetWorkspace");
        if (rc) {
            return rc;
        }
    }
    return cublas_check(is_strided(g->routine) ? call_strided(g, &s, buffers) : call_plain(g, &s, buffers),
                        g->routine->name);
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct gemm *g = call->state;
    const enum kit_dtype dtypes[3] = {g->routine->in, g->routine->in, g->routine->out};
    product_reference(&g->product, dtypes, in, cells, count, ret);
    for (size_t i = 0; i < count; i++) {
        ret[i].k = product_terms(g->routine->sum, g->routine->out, g->product.k, 0);
    }
    return KIT_OK;
}

static const struct op gemm = {
    .name = "gemm",
    .describe = describe,
    .choices = choices,
    .prepare = prepare,
    .run = run,
    .reference = reference,
    .release = kit_free_state,
};

static int open_with_kernels(void)
{
    return cublas_open_with(gemm_text);
}

int main(void)
{
    static const struct op *const ops[] = {&gemm, &gemm_grouped, NULL};
    static const struct kit_program program = {.name = "gemm",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_with_kernels,
                                               .libraries = cublas_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
