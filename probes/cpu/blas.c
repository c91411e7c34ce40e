/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS levels 1 and 2 and the symmetric rank-k update, through the CBLAS found at run time. No BLAS promises
 * equal bits, and the sums here are split by thread: dot, asum and gemv over long vectors, symv over columns.
 * Operands and references are the kit's.
 */
#include <stdlib.h>

#include "probes/cpu/cblas.h"
#include "probes/kit/blas.h"

/* The geometry is kept by the prepared call; run and reference only look. */
static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct kit_blas *g = calloc(1, sizeof(*g));
    (void)ret;
    call->state = g;
    return g ? kit_blas_read(call->params, g) : kit_fail("out of memory");
}

static CBLAS_UPLO half_of(const struct kit_blas *g)
{
    return g->upper ? CblasUpper : CblasLower;
}

/* ---- dot, nrm2, asum: one number from vectors ---- */

static int run_dot(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        *(float *)b->data[2] = cblas.sdot((int)g->n, b->data[KIT_BLAS_X], 1, b->data[KIT_BLAS_Y], 1);
    } else {
        *(double *)b->data[2] = cblas.ddot((int)g->n, b->data[KIT_BLAS_X], 1, b->data[KIT_BLAS_Y], 1);
    }
    return KIT_OK;
}

static int run_nrm2(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        *(float *)b->data[1] = cblas.snrm2((int)g->n, b->data[KIT_BLAS_X], 1);
    } else {
        *(double *)b->data[1] = cblas.dnrm2((int)g->n, b->data[KIT_BLAS_X], 1);
    }
    return KIT_OK;
}

static int run_asum(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        *(float *)b->data[1] = cblas.sasum((int)g->n, b->data[KIT_BLAS_X], 1);
    } else {
        *(double *)b->data[1] = cblas.dasum((int)g->n, b->data[KIT_BLAS_X], 1);
    }
    return KIT_OK;
}

/* ---- axpy: y := alpha x + y ---- */

static int run_axpy(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.saxpy((int)g->n, (float)KIT_BLAS_ALPHA, b->data[KIT_BLAS_X], 1, b->data[KIT_BLAS_Y], 1);
    } else {
        cblas.daxpy((int)g->n, KIT_BLAS_ALPHA, b->data[KIT_BLAS_X], 1, b->data[KIT_BLAS_Y], 1);
    }
    return KIT_OK;
}

static int leading(const struct kit_call *call, int operand)
{
    return (int)kit_leading(call, operand);
}

/* ---- gemv: y := A x or A^T x ---- */

static int run_gemv(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    const CBLAS_TRANSPOSE trans = g->transposed ? CblasTrans : CblasNoTrans;
    if (g->dtype == KIT_F32) {
        cblas.sgemv(CblasRowMajor, trans, (int)g->m, (int)g->n, 1, b->data[KIT_BLAS_A],
                    leading(call, KIT_BLAS_A), b->data[KIT_BLAS_A_X], 1, 0, b->data[KIT_BLAS_A_Y], 1);
    } else {
        cblas.dgemv(CblasRowMajor, trans, (int)g->m, (int)g->n, 1, b->data[KIT_BLAS_A],
                    leading(call, KIT_BLAS_A), b->data[KIT_BLAS_A_X], 1, 0, b->data[KIT_BLAS_A_Y], 1);
    }
    return KIT_OK;
}

/* ---- ger: A := alpha x y^T + A ---- */

static int run_ger(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.sger(CblasRowMajor, (int)g->m, (int)g->n, (float)KIT_BLAS_ALPHA, b->data[KIT_BLAS_G_X], 1,
                   b->data[KIT_BLAS_G_Y], 1, b->data[KIT_BLAS_G_A], leading(call, KIT_BLAS_G_A));
    } else {
        cblas.dger(CblasRowMajor, (int)g->m, (int)g->n, KIT_BLAS_ALPHA, b->data[KIT_BLAS_G_X], 1,
                   b->data[KIT_BLAS_G_Y], 1, b->data[KIT_BLAS_G_A], leading(call, KIT_BLAS_G_A));
    }
    return KIT_OK;
}

/* ---- symv: y := A x, A symmetric ---- */

static int run_symv(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.ssymv(CblasRowMajor, half_of(g), (int)g->n, 1, b->data[KIT_BLAS_A], leading(call, KIT_BLAS_A),
                    b->data[KIT_BLAS_A_X], 1, 0, b->data[KIT_BLAS_A_Y], 1);
    } else {
        cblas.dsymv(CblasRowMajor, half_of(g), (int)g->n, 1, b->data[KIT_BLAS_A], leading(call, KIT_BLAS_A),
                    b->data[KIT_BLAS_A_X], 1, 0, b->data[KIT_BLAS_A_Y], 1);
    }
    return KIT_OK;
}

/* ---- syrk: C := A A^T, only its upper triangle ---- */

static int run_syrk(struct kit_call *call, const struct kit_buffers *b)
{
    const struct kit_blas *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.ssyrk(CblasRowMajor, half_of(g), CblasNoTrans, (int)g->n, (int)g->k, 1, b->data[KIT_BLAS_A],
                    leading(call, KIT_BLAS_A), 0, b->data[1], leading(call, 1));
    } else {
        cblas.dsyrk(CblasRowMajor, half_of(g), CblasNoTrans, (int)g->n, (int)g->k, 1, b->data[KIT_BLAS_A],
                    leading(call, KIT_BLAS_A), 0, b->data[1], leading(call, 1));
    }
    return KIT_OK;
}

/* Matrices are run with the leading dimension that the kit gives them. */
static int let_widen(int rc, struct kit_shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        shape->operand[i].leading = shape->operand[i].ndim == 2;
    }
    return rc;
}

#define OP(stem)                                                                                             \
    static int describe_##stem(const struct kit_params *params, struct kit_shape *ret)                       \
    {                                                                                                        \
        return let_widen(kit_blas_describe_##stem(params, ret), ret);                                        \
    }                                                                                                        \
    static const struct op stem = {.name = #stem,                                                            \
                                   .describe = describe_##stem,                                              \
                                   .prepare = prepare,                                                       \
                                   .run = run_##stem,                                                        \
                                   .reference = kit_blas_reference_##stem,                                   \
                                   .release = kit_free_state}

OP(dot);
OP(nrm2);
OP(asum);
OP(axpy);
OP(gemv);
OP(ger);
OP(symv);
OP(syrk);

int main(void)
{
    static const struct op *const ops[] = {&dot, &nrm2, &asum, &axpy, &gemv, &ger, &symv, &syrk, NULL};
    static const struct kit_program program = {.name = "blas",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = cblas_open,
                                               .libraries = cblas_libraries,
                                               .set_threads = cblas_set_threads,
                                               .concurrent = true};
    return kit_main(&program);
}
