/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS levels 1 and 2 and the symmetric rank-k update, through the CBLAS found at run time. No BLAS promises
 * equal bits, and the sums here are split by thread: dot, asum and gemv over long vectors, symv over columns.
 * Matrices are row-major and dense. The symmetric ones are given by their upper triangle.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/cblas.h"
#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"

#define ALPHA 0.75 /* a power of two would hide a fused multiply-add, this one keeps set exact exact */

struct geometry {
    int64_t m, n, k;
    enum kit_dtype dtype;
    bool transposed;
};

/* Which extents a routine takes. The parameter `routine` names it with its precision: "sdot", "ddot". */
static const struct routine {
    const char *stem, *extents;
    bool trans;
} routines[] = {
    {"dot", "n", false},  {"nrm2", "n", false}, {"asum", "n", false}, {"axpy", "n", false},
    {"gemv", "mn", true}, {"ger", "mn", false}, {"symv", "n", false}, {"syrk", "nk", false},
};

static const struct routine *find_routine(const char *name)
{
    for (size_t i = 0; i < sizeof(routines) / sizeof(routines[0]); i++) {
        if ((name[0] == 's' || name[0] == 'd') && strcmp(name + 1, routines[i].stem) == 0) {
            return &routines[i];
        }
    }
    return NULL;
}

static int read_extent(const struct kit_params *params, char name, struct geometry *g)
{
    int64_t *target = name == 'm' ? &g->m : name == 'n' ? &g->n : &g->k;
    if (kit_param_int(params, (const char[]){name, '\0'}, target) != KIT_OK) {
        return KIT_FAILED;
    }
    return *target > 0 && *target <= INT32_MAX ? KIT_OK
                                               : kit_fail("'%c' must be between 1 and 2^31 - 1", name);
}

static int read_geometry(const struct kit_params *params, struct geometry *g)
{
    const char *name;
    int trans = 0;
    *g = (struct geometry){0};
    if (kit_param_string(params, "routine", &name) != KIT_OK) {
        return KIT_FAILED;
    }
    const struct routine *routine = find_routine(name);
    if (!routine) {
        return kit_fail("unknown routine '%s'", name);
    }
    for (const char *extent = routine->extents; *extent; extent++) {
        if (read_extent(params, *extent, g) != KIT_OK) {
            return KIT_FAILED;
        }
    }
    if (routine->trans && kit_param_word(params, "trans", "n|t", &trans) != KIT_OK) {
        return KIT_FAILED;
    }
    g->dtype = name[0] == 's' ? KIT_F32 : KIT_F64;
    g->transposed = trans == 1;
    return KIT_OK;
}

/* For describe: the routine must be the one that the op is for. */
static int read_for(const struct kit_params *params, const char *stem, struct geometry *g)
{
    const char *name;
    if (read_geometry(params, g) != KIT_OK || kit_param_string(params, "routine", &name) != KIT_OK) {
        return KIT_FAILED;
    }
    return strcmp(name + 1, stem) == 0 ? KIT_OK : kit_fail("routine '%s' does not fit op '%s'", name, stem);
}

static struct kit_operand vector(const char *name, enum kit_role role, const struct geometry *g, int64_t n)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = g->dtype, .ndim = 1, .shape = {n}, .batch_dim = -1};
}

static struct kit_operand matrix(const char *name, enum kit_role role, const struct geometry *g, int64_t rows,
                                 int64_t columns)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = g->dtype, .ndim = 2, .shape = {rows, columns}, .batch_dim = -1};
}

/* The geometry is kept by the prepared call; run and reference only look. */
static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct geometry *g = calloc(1, sizeof(*g));
    (void)ret;
    call->state = g;
    return g ? read_geometry(call->params, g) : kit_fail("out of memory");
}

static void release(struct kit_call *call)
{
    free(call->state);
    call->state = NULL;
}

/* Sum of products in long double, with the sum of their magnitudes. */
static void add_product(struct kit_cell *cell, long double a, long double b)
{
    cell->value += a * b;
    cell->scale += fabsl(a * b);
    cell->k++;
}

static const void *row_of(const struct geometry *g, const void *matrix, int64_t row, int64_t columns)
{
    return (const char *)matrix + (size_t)(row * columns) * kit_dtype_size(g->dtype);
}

/* ---- dot, nrm2, asum: one number from vectors ---- */

enum { X, Y };

static int describe_dot(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "dot", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[Y] = vector("y", KIT_IN, &g, g.n);
    ret->operand[2] = vector("result", KIT_OUT, &g, 1);
    ret->count = 3;
    ret->flops = (double)g.n;
    return KIT_OK;
}

static int describe_norm(const struct kit_params *params, const char *stem, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, stem, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[1] = vector("result", KIT_OUT, &g, 1);
    ret->count = 2;
    ret->flops = (double)g.n;
    return KIT_OK;
}

static int describe_nrm2(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_norm(params, "nrm2", ret);
}

static int describe_asum(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_norm(params, "asum", ret);
}

static int run_dot(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        *(float *)b->data[2] = cblas.sdot((int)g->n, b->data[X], 1, b->data[Y], 1);
    } else {
        *(double *)b->data[2] = cblas.ddot((int)g->n, b->data[X], 1, b->data[Y], 1);
    }
    return KIT_OK;
}

static int run_nrm2(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        *(float *)b->data[1] = cblas.snrm2((int)g->n, b->data[X], 1);
    } else {
        *(double *)b->data[1] = cblas.dnrm2((int)g->n, b->data[X], 1);
    }
    return KIT_OK;
}

static int run_asum(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        *(float *)b->data[1] = cblas.sasum((int)g->n, b->data[X], 1);
    } else {
        *(double *)b->data[1] = cblas.dasum((int)g->n, b->data[X], 1);
    }
    return KIT_OK;
}

static int reference_dot(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    (void)cells;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, in[X], in[Y], g->n);
    }
    return KIT_OK;
}

static int reference_nrm2(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    (void)cells;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            const long double x = kit_value(g->dtype, in[X], j);
            add_product(&ret[i], x, x);
        }
        ret[i].value = ret[i].scale = sqrtl(ret[i].value);
    }
    return KIT_OK;
}

static int reference_asum(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    (void)cells;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            add_product(&ret[i], fabsl(kit_value(g->dtype, in[X], j)), 1);
        }
    }
    return KIT_OK;
}

/* ---- axpy: y := alpha x + y ---- */

static int describe_axpy(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "axpy", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[Y] = vector("y", KIT_INOUT, &g, g.n);
    ret->count = 2;
    ret->flops = (double)g.n;
    return KIT_OK;
}

static int run_axpy(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.saxpy((int)g->n, (float)ALPHA, b->data[X], 1, b->data[Y], 1);
    } else {
        cblas.daxpy((int)g->n, ALPHA, b->data[X], 1, b->data[Y], 1);
    }
    return KIT_OK;
}

static int reference_axpy(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        add_product(&ret[i], kit_value(g->dtype, in[Y], cells[i]), 1);
        add_product(&ret[i], kit_value(g->dtype, in[X], cells[i]), ALPHA);
    }
    return KIT_OK;
}

/* ---- gemv: y := A x or A^T x ---- */

enum { A, A_X, A_Y };

/* Without transposition row i of A makes y[i], so m is a batch; transposed, every row goes into every sum. */
static int describe_gemv(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "gemv", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[A] = matrix("a", KIT_IN, &g, g.m, g.n);
    ret->operand[A_X] = vector("x", KIT_IN, &g, g.transposed ? g.m : g.n);
    ret->operand[A_Y] = vector("y", KIT_OUT, &g, g.transposed ? g.n : g.m);
    if (!g.transposed) {
        ret->operand[A].batch_dim = ret->operand[A_Y].batch_dim = 0;
    }
    ret->count = 3;
    ret->flops = (double)g.m * (double)g.n;
    return KIT_OK;
}

static int run_gemv(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    const CBLAS_TRANSPOSE trans = g->transposed ? CblasTrans : CblasNoTrans;
    if (g->dtype == KIT_F32) {
        cblas.sgemv(CblasRowMajor, trans, (int)g->m, (int)g->n, 1, b->data[A], (int)g->n, b->data[A_X], 1, 0,
                    b->data[A_Y], 1);
    } else {
        cblas.dgemv(CblasRowMajor, trans, (int)g->m, (int)g->n, 1, b->data[A], (int)g->n, b->data[A_X], 1, 0,
                    b->data[A_Y], 1);
    }
    return KIT_OK;
}

static int reference_gemv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    const int64_t rows = g->transposed ? g->n : g->m, columns = g->transposed ? g->m : g->n;
    void *matrix = kit_reference_matrix(g->dtype, in[A], rows, columns, g->transposed);
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, row_of(g, matrix, cells[i], columns), in[A_X], columns);
    }
    free(matrix);
    return KIT_OK;
}

/* ---- ger: A := alpha x y^T + A ---- */

enum { G_X, G_Y, G_A };

static int describe_ger(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "ger", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[G_X] = vector("x", KIT_IN, &g, g.m);
    ret->operand[G_Y] = vector("y", KIT_IN, &g, g.n);
    ret->operand[G_A] = matrix("a", KIT_INOUT, &g, g.m, g.n);
    ret->operand[G_X].batch_dim = ret->operand[G_A].batch_dim = 0;
    ret->count = 3;
    ret->flops = (double)g.m * (double)g.n;
    return KIT_OK;
}

static int run_ger(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.sger(CblasRowMajor, (int)g->m, (int)g->n, (float)ALPHA, b->data[G_X], 1, b->data[G_Y], 1,
                   b->data[G_A], (int)g->n);
    } else {
        cblas.dger(CblasRowMajor, (int)g->m, (int)g->n, ALPHA, b->data[G_X], 1, b->data[G_Y], 1, b->data[G_A],
                   (int)g->n);
    }
    return KIT_OK;
}

static int reference_ger(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        const long double x = kit_value(g->dtype, in[G_X], cells[i] / g->n);
        ret[i] = (struct kit_cell){.k = 1}; /* alpha x rounds once before the product */
        add_product(&ret[i], kit_value(g->dtype, in[G_A], cells[i]), 1);
        add_product(&ret[i], ALPHA * x, kit_value(g->dtype, in[G_Y], cells[i] % g->n));
    }
    return KIT_OK;
}

/* ---- symv: y := A x, A symmetric ---- */

static int describe_symv(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "symv", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[A] = matrix("a", KIT_IN, &g, g.n, g.n);
    ret->operand[A_X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[A_Y] = vector("y", KIT_OUT, &g, g.n);
    ret->count = 3;
    ret->flops = (double)g.n * (double)g.n;
    return KIT_OK;
}

static int run_symv(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.ssymv(CblasRowMajor, CblasUpper, (int)g->n, 1, b->data[A], (int)g->n, b->data[A_X], 1, 0,
                    b->data[A_Y], 1);
    } else {
        cblas.dsymv(CblasRowMajor, CblasUpper, (int)g->n, 1, b->data[A], (int)g->n, b->data[A_X], 1, 0,
                    b->data[A_Y], 1);
    }
    return KIT_OK;
}

static int reference_symv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            const int64_t row = cells[i] < j ? cells[i] : j, column = cells[i] < j ? j : cells[i];
            add_product(&ret[i], kit_value(g->dtype, in[A], row * g->n + column),
                        kit_value(g->dtype, in[A_X], j));
        }
    }
    return KIT_OK;
}

/* ---- syrk: C := A A^T, only its upper triangle ---- */

static int describe_syrk(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "syrk", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[A] = matrix("a", KIT_IN, &g, g.n, g.k);
    ret->operand[1] = matrix("c", KIT_OUT, &g, g.n, g.n);
    ret->operand[1].written = KIT_UPPER;
    ret->count = 2;
    ret->flops = (double)g.n * (double)g.n * (double)g.k;
    return KIT_OK;
}

static int run_syrk(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    if (g->dtype == KIT_F32) {
        cblas.ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)g->n, (int)g->k, 1, b->data[A], (int)g->k,
                    0, b->data[1], (int)g->n);
    } else {
        cblas.dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)g->n, (int)g->k, 1, b->data[A], (int)g->k,
                    0, b->data[1], (int)g->n);
    }
    return KIT_OK;
}

static int reference_syrk(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, row_of(g, in[A], cells[i] / g->n, g->k),
                                   row_of(g, in[A], cells[i] % g->n, g->k), g->k);
    }
    return KIT_OK;
}

#define OP(stem)                                                                                             \
    {                                                                                                        \
        .name = #stem, .describe = describe_##stem, .prepare = prepare, .run = run_##stem,                   \
        .reference = reference_##stem, .release = release                                                    \
    }

static const struct op dot = OP(dot), nrm2 = OP(nrm2), asum = OP(asum), axpy = OP(axpy), gemv = OP(gemv),
                       ger = OP(ger), symv = OP(symv), syrk = OP(syrk);

int main(void)
{
    static const struct op *const ops[] = {&dot, &nrm2, &asum, &axpy, &gemv, &ger, &symv, &syrk, NULL};
    static const struct kit_program program = {.name = "blas",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = cblas_open,
                                               .libraries = cblas_libraries,
                                               .set_threads = cblas_set_threads};
    return kit_main(&program);
}
