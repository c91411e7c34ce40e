/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS levels 1 and 2, the symmetric rank-k update and triangular solves through cuBLAS. Equal bits are
 * promised from run to run; symv and hemv alone have faster forms with atomics that give them up where
 * atomics are allowed. Matrices are row-major and dense, which cuBLAS sees transposed: upper is lower there,
 * and m and n change places; the Hermitian one is column-major. Results of dot, nrm2 and asum stay on the
 * device.
 */
#include <stdlib.h>

#include "probes/cuda/cublas.h"
#include "probes/kit/blas.h"

struct state {
    struct kit_blas blas;
};

/* Params of cuBLAS' own. */
static int read_modes(const struct kit_params *params, struct cublas_modes *ret)
{
    bool atomics;
    *ret = (struct cublas_modes){.math = CUBLAS_DEFAULT_MATH};
    const int rc = kit_param_bool_or(params, "atomics", false, &atomics);
    ret->atomics = atomics ? CUBLAS_ATOMICS_ALLOWED : CUBLAS_ATOMICS_NOT_ALLOWED;
    return rc ? rc : kit_param_bool_or(params, "handle_per_stream", false, &ret->handle_per_stream);
}

/* `pointer`: where alpha, beta and scalar results are. */
static int prepare_with(struct kit_call *call, cublasPointerMode_t pointer)
{
    struct state *state = calloc(1, sizeof(*state));
    struct cublas_modes modes;
    call->state = state;
    int rc = state ? kit_blas_read(call->params, &state->blas) : kit_fail("out of memory");
    rc = rc ? rc : read_modes(call->params, &modes);
    if (rc) {
        return rc;
    }
    modes.pointer = pointer;
    return cublas_prepare(call, &modes);
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_with(call, CUBLAS_POINTER_MODE_HOST);
}

static int prepare_scalar(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_with(call, CUBLAS_POINTER_MODE_DEVICE);
}

/* Those that take them name them here; prepare reads their values. */
#define DESCRIBE(stem)                                                                                       \
    static int describe_##stem(const struct kit_params *params, struct kit_shape *ret)                       \
    {                                                                                                        \
        struct cublas_modes modes;                                                                           \
        const int rc = read_modes(params, &modes);                                                           \
        return rc ? rc : kit_blas_describe_##stem(params, ret);                                              \
    }
DESCRIBE(dot)
DESCRIBE(gemv)
DESCRIBE(symv)
DESCRIBE(hemv)

static const float one_f32 = 1, zero_f32 = 0, alpha_f32 = (float)KIT_BLAS_ALPHA;
static const double one_f64 = 1, zero_f64 = 0, alpha_f64 = KIT_BLAS_ALPHA;

/* The half that cuBLAS sees of a row-major matrix. */
static cublasFillMode_t seen_half(const struct kit_blas *g)
{
    return g->upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

/* ---- dot, nrm2, asum: one number from vectors ---- */

static int run_dot(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSdot_v2(cublas_handle(), (int)g->n, b->data[KIT_BLAS_X], 1,
                                                   b->data[KIT_BLAS_Y], 1, b->data[2])
                            : cublas.cublasDdot_v2(cublas_handle(), (int)g->n, b->data[KIT_BLAS_X], 1,
                                                   b->data[KIT_BLAS_Y], 1, b->data[2]),
                        "dot");
}

static int run_nrm2(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSnrm2_v2(cublas_handle(), (int)g->n, b->data[KIT_BLAS_X], 1, b->data[1])
            : cublas.cublasDnrm2_v2(cublas_handle(), (int)g->n, b->data[KIT_BLAS_X], 1, b->data[1]),
        "nrm2");
}

static int run_asum(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSasum_v2(cublas_handle(), (int)g->n, b->data[KIT_BLAS_X], 1, b->data[1])
            : cublas.cublasDasum_v2(cublas_handle(), (int)g->n, b->data[KIT_BLAS_X], 1, b->data[1]),
        "asum");
}

/* ---- gemv: y := A x or A^T x ---- */

static int run_gemv(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    const cublasOperation_t op = g->transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSgemv_v2(cublas_handle(), op, (int)g->n, (int)g->m, &one_f32, b->data[KIT_BLAS_A],
                                    (int)g->n, b->data[KIT_BLAS_A_X], 1, &zero_f32, b->data[KIT_BLAS_A_Y], 1)
            : cublas.cublasDgemv_v2(cublas_handle(), op, (int)g->n, (int)g->m, &one_f64, b->data[KIT_BLAS_A],
                                    (int)g->n, b->data[KIT_BLAS_A_X], 1, &zero_f64, b->data[KIT_BLAS_A_Y], 1),
        "gemv");
}

/* ---- ger: A := alpha x y^T + A ---- */

static int run_ger(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSger_v2(cublas_handle(), (int)g->n, (int)g->m, &alpha_f32, b->data[KIT_BLAS_G_Y],
                                   1, b->data[KIT_BLAS_G_X], 1, b->data[KIT_BLAS_G_A], (int)g->n)
            : cublas.cublasDger_v2(cublas_handle(), (int)g->n, (int)g->m, &alpha_f64, b->data[KIT_BLAS_G_Y],
                                   1, b->data[KIT_BLAS_G_X], 1, b->data[KIT_BLAS_G_A], (int)g->n),
        "ger");
}

/* ---- symv: y := A x, A symmetric ---- */

static int run_symv(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSsymv_v2(cublas_handle(), seen_half(g), (int)g->n, &one_f32, b->data[KIT_BLAS_A],
                                    (int)g->n, b->data[KIT_BLAS_A_X], 1, &zero_f32, b->data[KIT_BLAS_A_Y], 1)
            : cublas.cublasDsymv_v2(cublas_handle(), seen_half(g), (int)g->n, &one_f64, b->data[KIT_BLAS_A],
                                    (int)g->n, b->data[KIT_BLAS_A_X], 1, &zero_f64, b->data[KIT_BLAS_A_Y], 1),
        "symv");
}

/* ---- hemv: y := A x, A Hermitian ---- */

static int run_hemv(struct kit_call *call, const struct kit_buffers *b)
{
    static const cuComplex one_c32 = {1, 0}, zero_c32 = {0, 0};
    static const cuDoubleComplex one_c64 = {1, 0}, zero_c64 = {0, 0};
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    const cublasFillMode_t half = g->upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasChemv_v2(cublas_handle(), half, (int)g->n, &one_c32, b->data[KIT_BLAS_A],
                                    (int)g->n, b->data[KIT_BLAS_A_X], 1, &zero_c32, b->data[KIT_BLAS_A_Y], 1)
            : cublas.cublasZhemv_v2(cublas_handle(), half, (int)g->n, &one_c64, b->data[KIT_BLAS_A],
                                    (int)g->n, b->data[KIT_BLAS_A_X], 1, &zero_c64, b->data[KIT_BLAS_A_Y], 1),
        "hemv");
}

/* ---- syrk: C := A A^T, only one triangle ---- */

static int run_syrk(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSsyrk_v2(cublas_handle(), seen_half(g), CUBLAS_OP_T, (int)g->n,
                                                    (int)g->k, &one_f32, b->data[KIT_BLAS_A], (int)g->k,
                                                    &zero_f32, b->data[1], (int)g->n)
                            : cublas.cublasDsyrk_v2(cublas_handle(), seen_half(g), CUBLAS_OP_T, (int)g->n,
                                                    (int)g->k, &one_f64, b->data[KIT_BLAS_A], (int)g->k,
                                                    &zero_f64, b->data[1], (int)g->n),
                        "syrk");
}

/* ---- trsm: op(A) X = B, A triangular, X over B; samples of a batch are right-hand sides ---- */

/* Transposed: X^T op(A)^T = B^T, from the right; op stays, since A is seen transposed too. */
static int run_trsm(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *state = call->state;
    const struct kit_blas *g = &state->blas;
    const cublasOperation_t op = g->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasStrsm_v2(cublas_handle(), CUBLAS_SIDE_RIGHT, seen_half(g), op,
                                    CUBLAS_DIAG_NON_UNIT, (int)g->n, (int)g->m, &one_f32,
                                    b->data[KIT_BLAS_T_A], (int)g->m, b->data[KIT_BLAS_T_B], (int)g->n)
            : cublas.cublasDtrsm_v2(cublas_handle(), CUBLAS_SIDE_RIGHT, seen_half(g), op,
                                    CUBLAS_DIAG_NON_UNIT, (int)g->n, (int)g->m, &one_f64,
                                    b->data[KIT_BLAS_T_A], (int)g->m, b->data[KIT_BLAS_T_B], (int)g->n),
        "trsm");
}

#define OP(stem, describes, prepares)                                                                        \
    {                                                                                                        \
        .name = #stem, .describe = describes, .prepare = prepares, .run = run_##stem,                        \
        .reference = kit_blas_reference_##stem, .release = kit_free_state                                    \
    }

static const struct op dot = OP(dot, describe_dot, prepare_scalar),
                       nrm2 = OP(nrm2, kit_blas_describe_nrm2, prepare_scalar),
                       asum = OP(asum, kit_blas_describe_asum, prepare_scalar),
                       gemv = OP(gemv, describe_gemv, prepare), ger = OP(ger, kit_blas_describe_ger, prepare),
                       symv = OP(symv, describe_symv, prepare), hemv = OP(hemv, describe_hemv, prepare),
                       syrk = OP(syrk, kit_blas_describe_syrk, prepare),
                       trsm = OP(trsm, kit_blas_describe_trsm, prepare);

int main(void)
{
    static const struct op *const ops[] = {&dot, &nrm2, &asum, &gemv, &ger, &symv, &hemv, &syrk, &trsm, NULL};
    static const struct kit_program program = {.name = "blas",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = cublas_open,
                                               .libraries = cublas_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
