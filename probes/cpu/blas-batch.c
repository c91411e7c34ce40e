/* SPDX-License-Identifier: Apache-2.0
 *
 * One product of a matrix and a vector by the routes that programs take to it: gemv, a product of matrices
 * with one row or one column, a column of a wider product (a sample served alone or in a batch), a dot for
 * each row. All of them are right, and in most libraries no two have the same bits. Axis algorithm takes
 * each.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/cblas.h"
#include "probes/kit/blas.h"
#include "probes/kit/dtype.h"

#define WIDE 16 /* columns of the wider product */

static const char *const routes[] = {"gemv", "gemm-column", "gemm-row", "gemm-batch", "dots"};
enum route { GEMV, GEMM_COLUMN, GEMM_ROW, GEMM_BATCH, DOTS, ROUTE_COUNT };

struct state {
    struct kit_blas blas; /* first: the reference finds it */
    enum route route;
};

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    (void)params;
    *ret_names = routes;
    *ret_count = ROUTE_COUNT;
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    call->state = s;
    if (!s) {
        return kit_fail("out of memory");
    }
    for (int i = 0; call->choice && i < ROUTE_COUNT; i++) {
        if (strcmp(routes[i], call->choice) == 0) {
            s->route = (enum route)i;
        }
    }
    strcpy(ret->chosen, routes[s->route]);
    if (kit_blas_read(call->params, &s->blas)) {
        return KIT_FAILED;
    }
    if (s->route == GEMM_BATCH) { /* the samples beside the one of interest, and their results */
        ret->workspace_bytes = (size_t)(WIDE * (s->blas.m + s->blas.n)) * kit_dtype_size(s->blas.dtype);
    }
    return KIT_OK;
}

/* c (m x columns) = a (m x k) b (k x columns), all row-major. */
static void gemm(enum kit_dtype dtype, int64_t m, int64_t columns, int64_t k, const void *a, const void *b,
                 void *c)
{
    if (dtype == KIT_F32) {
        cblas.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)columns, (int)k, 1, a, (int)k, b,
                    (int)columns, 0, c, (int)columns);
    } else {
        cblas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)columns, (int)k, 1, a, (int)k, b,
                    (int)columns, 0, c, (int)columns);
    }
}

/* x^T A^T: the matrix is the right factor, transposed. */
static void gemm_row(const struct kit_blas *g, const void *a, const void *x, void *y)
{
    if (g->dtype == KIT_F32) {
        cblas.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 1, (int)g->m, (int)g->n, 1, x, (int)g->n, a,
                    (int)g->n, 0, y, (int)g->m);
    } else {
        cblas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 1, (int)g->m, (int)g->n, 1, x, (int)g->n, a,
                    (int)g->n, 0, y, (int)g->m);
    }
}

static void gemv(const struct kit_blas *g, const void *a, const void *x, void *y)
{
    if (g->dtype == KIT_F32) {
        cblas.sgemv(CblasRowMajor, CblasNoTrans, (int)g->m, (int)g->n, 1, a, (int)g->n, x, 1, 0, y, 1);
    } else {
        cblas.dgemv(CblasRowMajor, CblasNoTrans, (int)g->m, (int)g->n, 1, a, (int)g->n, x, 1, 0, y, 1);
    }
}

static void dots(const struct kit_blas *g, const void *a, const void *x, void *y)
{
    for (int64_t i = 0; i < g->m; i++) {
        if (g->dtype == KIT_F32) {
            ((float *)y)[i] = cblas.sdot((int)g->n, (const float *)a + i * g->n, 1, x, 1);
        } else {
            ((double *)y)[i] = cblas.ddot((int)g->n, (const double *)a + i * g->n, 1, x, 1);
        }
    }
}

/* The vector is the first of WIDE samples; the others are the same numbers shifted. */
static void gemm_batch(const struct kit_blas *g, const void *a, const void *x, void *y, char *workspace)
{
    const size_t size = kit_dtype_size(g->dtype);
    char *samples = workspace, *results = workspace + (size_t)(WIDE * g->n) * size;
    for (int64_t row = 0; row < g->n; row++) {
        for (int64_t sample = 0; sample < WIDE; sample++) {
            memcpy(samples + (size_t)(row * WIDE + sample) * size,
                   (const char *)x + (size_t)((row + sample) % g->n) * size, size);
        }
    }
    gemm(g->dtype, g->m, WIDE, g->n, a, samples, results);
    for (int64_t i = 0; i < g->m; i++) {
        memcpy((char *)y + (size_t)i * size, results + (size_t)(i * WIDE) * size, size);
    }
}

static int run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *s = call->state;
    const void *a = b->data[KIT_BLAS_A], *x = b->data[KIT_BLAS_A_X];
    void *y = b->data[KIT_BLAS_A_Y];
    switch (s->route) {
    case GEMM_COLUMN:
        gemm(s->blas.dtype, s->blas.m, 1, s->blas.n, a, x, y);
        break;
    case GEMM_ROW:
        gemm_row(&s->blas, a, x, y);
        break;
    case GEMM_BATCH:
        gemm_batch(&s->blas, a, x, y, b->workspace);
        break;
    case DOTS:
        dots(&s->blas, a, x, y);
        break;
    default:
        gemv(&s->blas, a, x, y);
    }
    return KIT_OK;
}

static const struct op product = {.name = "matrix-vector",
                                  .describe = kit_blas_describe_gemv,
                                  .choices = choices,
                                  .prepare = prepare,
                                  .run = run,
                                  .reference = kit_blas_reference_gemv,
                                  .release = kit_free_state};

int main(void)
{
    static const struct op *const ops[] = {&product, NULL};
    static const struct kit_program program = {.name = "blas-batch",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = cblas_open,
                                               .libraries = cblas_libraries,
                                               .set_threads = cblas_set_threads,
                                               .concurrent = true};
    return kit_main(&program);
}
