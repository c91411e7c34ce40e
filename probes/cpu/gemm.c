/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense matrix products and solves through CBLAS. Nobody promises their bits across thread counts, kernels or
 * shapes; at one configuration they are expected to repeat. Matrices are row-major; C = op(A) op(B) with
 * beta 0, so that what C held before must not be read.
 */
#include <limits.h>
#include <stdlib.h>

#include "probes/cpu/cblas.h"
#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"

static enum CBLAS_TRANSPOSE blas_trans(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

static const enum kit_dtype dtypes[] = {KIT_F32, KIT_F64}; /* by the routine's first letter, s or d */

/* CBLAS counts in int. */
static int check_extents(int64_t m, int64_t n, int64_t k)
{
    return m > INT_MAX || n > INT_MAX || k > INT_MAX ? kit_fail("bad params: an extent is above %d", INT_MAX)
                                                     : KIT_OK;
}

/* --- gemm --- */

struct gemm {
    int routine; /* 0: sgemm, 1: dgemm */
    bool trans_a, trans_b;
    int64_t m, n, k;
};

static int gemm_read(const struct kit_params *params, struct gemm *ret)
{
    int trans;
    if (kit_param_word(params, "routine", "sgemm|dgemm", &ret->routine) ||
        kit_param_word(params, "trans", "nn|nt|tn|tt", &trans) || kit_param_int(params, "m", &ret->m) ||
        kit_param_int(params, "n", &ret->n) || kit_param_int(params, "k", &ret->k)) {
        return KIT_FAILED;
    }
    ret->trans_a = trans & 2;
    ret->trans_b = trans & 1;
    return check_extents(ret->m, ret->n, ret->k);
}

/* Samples of a batch are rows of op(A) and C. */
static int gemm_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct gemm g;
    if (gemm_read(params, &g)) {
        return KIT_FAILED;
    }
    const enum kit_dtype dtype = dtypes[g.routine];
    ret->count = 3;
    ret->operand[0] = (struct kit_operand){.name = "a",
                                           .role = KIT_IN,
                                           .dtype = dtype,
                                           .ndim = 2,
                                           .shape = {g.trans_a ? g.k : g.m, g.trans_a ? g.m : g.k},
                                           .leading = true,
                                           .batch_dim = g.trans_a ? 1 : 0};
    ret->operand[1] = (struct kit_operand){.name = "b",
                                           .role = KIT_IN,
                                           .dtype = dtype,
                                           .ndim = 2,
                                           .shape = {g.trans_b ? g.n : g.k, g.trans_b ? g.k : g.n},
                                           .leading = true,
                                           .batch_dim = -1};
    ret->operand[2] = (struct kit_operand){.name = "c",
                                           .role = KIT_OUT,
                                           .dtype = dtype,
                                           .ndim = 2,
                                           .shape = {g.m, g.n},
                                           .leading = true,
                                           .batch_dim = 0};
    ret->flops = (double)g.m * (double)g.n * (double)g.k;
    return KIT_OK;
}

static int gemm_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct gemm *const g = calloc(1, sizeof(*g));
    call->state = g;
    return g ? gemm_read(call->params, g) : kit_fail("out of memory");
}

static int gemm_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct gemm *g = call->state;
    const int m = (int)g->m;
    const int n = (int)g->n;
    const int k = (int)g->k;
    const int lda = (int)kit_leading(call, 0), ldb = (int)kit_leading(call, 1),
              ldc = (int)kit_leading(call, 2);
    if (g->routine == 0) {
        cblas.sgemm(CblasRowMajor, blas_trans(g->trans_a), blas_trans(g->trans_b), m, n, k, 1.0f,
                    buffers->data[0], lda, buffers->data[1], ldb, 0.0f, buffers->data[2], ldc);
    } else {
        cblas.dgemm(CblasRowMajor, blas_trans(g->trans_a), blas_trans(g->trans_b), m, n, k, 1.0,
                    buffers->data[0], lda, buffers->data[1], ldb, 0.0, buffers->data[2], ldc);
    }
    return KIT_OK;
}

static int gemm_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct gemm *g = call->state;
    const enum kit_dtype dtype = dtypes[g->routine];
    const size_t row = (size_t)g->k * kit_dtype_size(dtype);
    char *const a = kit_reference_matrix(dtype, in[0], g->m, g->k, g->trans_a);  /* rows of op(A) */
    char *const b = kit_reference_matrix(dtype, in[1], g->n, g->k, !g->trans_b); /* columns of op(B) */
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(dtype, a + (size_t)(cells[i] / g->n) * row,
                                   b + (size_t)(cells[i] % g->n) * row, g->k);
    }
    free(a);
    free(b);
    return KIT_OK;
}

/* --- trsm: op(A) X = B from the left, A triangular, X over B --- */

struct trsm {
    int routine; /* 0: strsm, 1: dtrsm */
    int upper, trans;
    int64_t m, n;
};

static int trsm_read(const struct kit_params *params, struct trsm *ret)
{
    if (kit_param_word(params, "routine", "strsm|dtrsm", &ret->routine) ||
        kit_param_word(params, "uplo", "lower|upper", &ret->upper) ||
        kit_param_word(params, "trans", "n|t", &ret->trans) || kit_param_int(params, "m", &ret->m) ||
        kit_param_int(params, "n", &ret->n)) {
        return KIT_FAILED;
    }
    return check_extents(ret->m, ret->n, 1);
}

/* Samples of a batch are right-hand sides: columns of B. */
static int trsm_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct trsm t;
    if (trsm_read(params, &t)) {
        return KIT_FAILED;
    }
    const enum kit_dtype dtype = dtypes[t.routine];
    ret->count = 2;
    ret->operand[0] = (struct kit_operand){.name = "a",
                                           .role = KIT_IN,
                                           .dtype = dtype,
                                           .ndim = 2,
                                           .shape = {t.m, t.m},
                                           .leading = true,
                                           .batch_dim = -1,
                                           .fill = KIT_TRIANGLE,
                                           .upper = t.upper};
    ret->operand[1] = (struct kit_operand){.name = "b",
                                           .role = KIT_INOUT,
                                           .dtype = dtype,
                                           .ndim = 2,
                                           .shape = {t.m, t.n},
                                           .leading = true,
                                           .batch_dim = 1};
    ret->flops = (double)t.m * (double)t.m * (double)t.n / 2;
    return KIT_OK;
}

static int trsm_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct trsm *const t = calloc(1, sizeof(*t));
    call->state = t;
    return t ? trsm_read(call->params, t) : kit_fail("out of memory");
}

static int trsm_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct trsm *t = call->state;
    const enum CBLAS_UPLO uplo = t->upper ? CblasUpper : CblasLower;
    const int m = (int)t->m;
    const int n = (int)t->n;
    const int lda = (int)kit_leading(call, 0), ldb = (int)kit_leading(call, 1);
    if (t->routine == 0) {
        cblas.strsm(CblasRowMajor, CblasLeft, uplo, blas_trans(t->trans), CblasNonUnit, m, n, 1.0f,
                    buffers->data[0], lda, buffers->data[1], ldb);
    } else {
        cblas.dtrsm(CblasRowMajor, CblasLeft, uplo, blas_trans(t->trans), CblasNonUnit, m, n, 1.0,
                    buffers->data[0], lda, buffers->data[1], ldb);
    }
    return KIT_OK;
}

/* Solves one right-hand side into x[m] and scale[m]. */
static void solve_column(const struct trsm *t, const struct kit_triangle *triangle, const void *b,
                         int64_t column, long double *work)
{
    long double *const rhs = work + 2 * t->m;
    for (int64_t i = 0; i < t->m; i++) {
        rhs[i] = kit_value(dtypes[t->routine], b, i * t->n + column);
    }
    kit_triangle_solve(triangle, rhs, work, work + t->m);
}

/* Cells come row by row, but a column is solved at once: columns outside, cells inside. */
static int trsm_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct trsm *t = call->state;
    struct kit_triangle triangle;
    long double *const work = calloc((size_t)t->m * 3, sizeof(*work));
    int64_t *const next = calloc(count + (size_t)t->n, sizeof(*next)); /* per column a list of its cells */
    if (!work || !next) {
        free(work);
        free(next);
        return kit_fail("out of memory");
    }
    int64_t *const head = next + count;
    for (size_t i = 0; i < count; i++) { /* numbers from 1, so that 0 ends a list */
        next[i] = head[cells[i] % t->n];
        head[cells[i] % t->n] = (int64_t)i + 1;
    }
    kit_triangle_init(&triangle, dtypes[t->routine], in[0], t->m, t->upper, t->trans);
    for (int64_t column = 0; column < t->n; column++) {
        if (head[column]) {
            solve_column(t, &triangle, in[1], column, work);
        }
        for (int64_t i = head[column]; i; i = next[i - 1]) {
            const int64_t row = cells[i - 1] / t->n;
            ret[i - 1] = (struct kit_cell){.value = work[row], .scale = work[t->m + row], .k = t->m};
        }
    }
    kit_triangle_free(&triangle);
    free(work);
    free(next);
    return KIT_OK;
}

static const struct op gemm = {
    .name = "gemm",
    .describe = gemm_describe,
    .prepare = gemm_prepare,
    .run = gemm_run,
    .reference = gemm_reference,
    .release = kit_free_state,
};
static const struct op trsm = {
    .name = "trsm",
    .describe = trsm_describe,
    .prepare = trsm_prepare,
    .run = trsm_run,
    .reference = trsm_reference,
    .release = kit_free_state,
};

int main(void)
{
    static const struct op *const ops[] = {&gemm, &trsm, NULL};
    static const struct kit_program program = {.name = "gemm",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = cblas_open,
                                               .libraries = cblas_libraries,
                                               .set_threads = cblas_set_threads,
                                               .concurrent = true};
    return kit_main(&program);
}
