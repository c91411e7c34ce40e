/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS levels 1 and 2, the symmetric rank-k update and triangular solves through cuBLAS. Equal bits are
 * promised from run to run; symv alone has a faster form with atomics that gives them up where atomics are
 * allowed. Matrices are row-major and dense, which cuBLAS sees transposed: upper is lower there, and m and n
 * change places. Results of dot, nrm2 and asum stay on the device.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cuda/cublas.h"
#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"

#define ALPHA 0.75 /* a power of two would hide a fused multiply-add, this one keeps set exact exact */

struct geometry {
    int64_t m, n, k;
    enum kit_dtype dtype;
    bool transposed, upper, atomics;
    cublasHandle_t handle;
};

/* Which extents a routine takes. The parameter `routine` names it with its precision: "sdot", "ddot". */
static const struct routine {
    const char *stem, *extents;
    bool trans;
} routines[] = {
    {"dot", "n", false},  {"nrm2", "n", false}, {"asum", "n", false},  {"gemv", "mn", true},
    {"ger", "mn", false}, {"symv", "n", false}, {"syrk", "nk", false}, {"trsm", "mn", true},
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
    const bool triangular = strcmp(routine->stem, "symv") == 0 || strcmp(routine->stem, "syrk") == 0 ||
                            strcmp(routine->stem, "trsm") == 0;
    int upper = 0;
    if ((triangular && kit_param_word(params, "uplo", "lower|upper", &upper)) ||
        kit_param_bool_or(params, "atomics", false, &g->atomics)) {
        return KIT_FAILED;
    }
    g->dtype = name[0] == 's' ? KIT_F32 : KIT_F64;
    g->transposed = trans == 1;
    g->upper = upper == 1;
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

/* `pointer`: where alpha, beta and scalar results are. */
static int prepare_with(struct kit_call *call, cublasPointerMode_t pointer)
{
    struct geometry *g = calloc(1, sizeof(*g));
    call->state = g;
    const int rc = g ? read_geometry(call->params, g) : kit_fail("out of memory");
    if (rc) {
        return rc;
    }
    const struct cublas_modes modes = {
        CUBLAS_DEFAULT_MATH, g->atomics ? CUBLAS_ATOMICS_ALLOWED : CUBLAS_ATOMICS_NOT_ALLOWED, pointer};
    return cublas_prepare(&modes, &g->handle);
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_with(call, CUBLAS_POINTER_MODE_HOST);
}

static int prepare_scalar(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_with(call, CUBLAS_POINTER_MODE_DEVICE);
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

static const float one_f32 = 1, zero_f32 = 0, alpha_f32 = (float)ALPHA;
static const double one_f64 = 1, zero_f64 = 0, alpha_f64 = ALPHA;

/* The half that cuBLAS sees of a row-major matrix. */
static cublasFillMode_t seen_half(const struct geometry *g)
{
    return g->upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
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
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSdot_v2(g->handle, (int)g->n, b->data[X], 1, b->data[Y], 1, b->data[2])
            : cublas.cublasDdot_v2(g->handle, (int)g->n, b->data[X], 1, b->data[Y], 1, b->data[2]),
        "dot");
}

static int run_nrm2(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSnrm2_v2(g->handle, (int)g->n, b->data[X], 1, b->data[1])
                            : cublas.cublasDnrm2_v2(g->handle, (int)g->n, b->data[X], 1, b->data[1]),
                        "nrm2");
}

static int run_asum(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSasum_v2(g->handle, (int)g->n, b->data[X], 1, b->data[1])
                            : cublas.cublasDasum_v2(g->handle, (int)g->n, b->data[X], 1, b->data[1]),
                        "asum");
}

static int reference_dot(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, in[X], in[Y], g->n);
    }
    return KIT_OK;
}

static int reference_nrm2(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
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
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            add_product(&ret[i], fabsl(kit_value(g->dtype, in[X], j)), 1);
        }
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
    const cublasOperation_t op = g->transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSgemv_v2(g->handle, op, (int)g->n, (int)g->m, &one_f32, b->data[A],
                                                    (int)g->n, b->data[A_X], 1, &zero_f32, b->data[A_Y], 1)
                            : cublas.cublasDgemv_v2(g->handle, op, (int)g->n, (int)g->m, &one_f64, b->data[A],
                                                    (int)g->n, b->data[A_X], 1, &zero_f64, b->data[A_Y], 1),
                        "gemv");
}

static int reference_gemv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    const int64_t rows = g->transposed ? g->n : g->m, columns = g->transposed ? g->m : g->n;
    void *matrix = kit_reference_matrix(g->dtype, in[A], rows, columns, g->transposed);
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
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSger_v2(g->handle, (int)g->n, (int)g->m, &alpha_f32, b->data[G_Y],
                                                   1, b->data[G_X], 1, b->data[G_A], (int)g->n)
                            : cublas.cublasDger_v2(g->handle, (int)g->n, (int)g->m, &alpha_f64, b->data[G_Y],
                                                   1, b->data[G_X], 1, b->data[G_A], (int)g->n),
                        "ger");
}

static int reference_ger(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                         size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
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
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasSsymv_v2(g->handle, seen_half(g), (int)g->n, &one_f32, b->data[A],
                                                    (int)g->n, b->data[A_X], 1, &zero_f32, b->data[A_Y], 1)
                            : cublas.cublasDsymv_v2(g->handle, seen_half(g), (int)g->n, &one_f64, b->data[A],
                                                    (int)g->n, b->data[A_X], 1, &zero_f64, b->data[A_Y], 1),
                        "symv");
}

static int reference_symv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            const bool stored = g->upper ? cells[i] <= j : cells[i] >= j;
            const int64_t row = stored ? cells[i] : j, column = stored ? j : cells[i];
            add_product(&ret[i], kit_value(g->dtype, in[A], row * g->n + column),
                        kit_value(g->dtype, in[A_X], j));
        }
    }
    return KIT_OK;
}

/* ---- syrk: C := A A^T, only one triangle ---- */

static int describe_syrk(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "syrk", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[A] = matrix("a", KIT_IN, &g, g.n, g.k);
    ret->operand[1] = matrix("c", KIT_OUT, &g, g.n, g.n);
    ret->operand[1].written = g.upper ? KIT_UPPER : KIT_LOWER;
    ret->count = 2;
    ret->flops = (double)g.n * (double)g.n * (double)g.k;
    return KIT_OK;
}

static int run_syrk(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    return cublas_check(
        g->dtype == KIT_F32
            ? cublas.cublasSsyrk_v2(g->handle, seen_half(g), CUBLAS_OP_T, (int)g->n, (int)g->k, &one_f32,
                                    b->data[A], (int)g->k, &zero_f32, b->data[1], (int)g->n)
            : cublas.cublasDsyrk_v2(g->handle, seen_half(g), CUBLAS_OP_T, (int)g->n, (int)g->k, &one_f64,
                                    b->data[A], (int)g->k, &zero_f64, b->data[1], (int)g->n),
        "syrk");
}

static int reference_syrk(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, row_of(g, in[A], cells[i] / g->n, g->k),
                                   row_of(g, in[A], cells[i] % g->n, g->k), g->k);
    }
    return KIT_OK;
}

/* ---- trsm: op(A) X = B, A triangular, X over B; samples of a batch are right-hand sides ---- */

enum { T_A, T_B };

static int describe_trsm(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_for(params, "trsm", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[T_A] = matrix("a", KIT_IN, &g, g.m, g.m);
    ret->operand[T_A].fill = KIT_TRIANGLE;
    ret->operand[T_A].upper = g.upper;
    ret->operand[T_B] = matrix("b", KIT_INOUT, &g, g.m, g.n);
    ret->operand[T_B].batch_dim = 1;
    ret->count = 2;
    ret->flops = (double)g.m * (double)g.m * (double)g.n / 2;
    return KIT_OK;
}

/* Transposed: X^T op(A)^T = B^T, from the right; op stays, since A is seen transposed too. */
static int run_trsm(struct kit_call *call, const struct kit_buffers *b)
{
    const struct geometry *g = call->state;
    const cublasOperation_t op = g->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return cublas_check(g->dtype == KIT_F32
                            ? cublas.cublasStrsm_v2(g->handle, CUBLAS_SIDE_RIGHT, seen_half(g), op,
                                                    CUBLAS_DIAG_NON_UNIT, (int)g->n, (int)g->m, &one_f32,
                                                    b->data[T_A], (int)g->m, b->data[T_B], (int)g->n)
                            : cublas.cublasDtrsm_v2(g->handle, CUBLAS_SIDE_RIGHT, seen_half(g), op,
                                                    CUBLAS_DIAG_NON_UNIT, (int)g->n, (int)g->m, &one_f64,
                                                    b->data[T_A], (int)g->m, b->data[T_B], (int)g->n),
                        "trsm");
}

/* Cells come row by row, but a column is solved at once: columns outside, cells inside. */
static int reference_trsm(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct geometry *g = call->state;
    struct kit_triangle triangle;
    long double *const work = calloc((size_t)g->m * 3, sizeof(*work));
    if (!work) {
        return kit_fail("out of memory");
    }
    long double *const scale = work + g->m, *const rhs = scale + g->m;
    kit_triangle_init(&triangle, g->dtype, in[T_A], g->m, g->upper, g->transposed);
    for (int64_t column = 0; column < g->n; column++) {
        for (int64_t i = 0; i < g->m; i++) {
            rhs[i] = kit_value(g->dtype, in[T_B], i * g->n + column);
        }
        kit_triangle_solve(&triangle, rhs, work, scale);
        for (size_t i = 0; i < count; i++) {
            if (cells[i] % g->n == column) {
                const int64_t row = cells[i] / g->n;
                ret[i] = (struct kit_cell){.value = work[row], .scale = scale[row], .k = g->m};
            }
        }
    }
    kit_triangle_free(&triangle);
    free(work);
    return KIT_OK;
}

#define OP(stem, prepares)                                                                                   \
    {                                                                                                        \
        .name = #stem, .describe = describe_##stem, .prepare = prepares, .run = run_##stem,                  \
        .reference = reference_##stem, .release = release                                                    \
    }

static const struct op dot = OP(dot, prepare_scalar), nrm2 = OP(nrm2, prepare_scalar),
                       asum = OP(asum, prepare_scalar), gemv = OP(gemv, prepare), ger = OP(ger, prepare),
                       symv = OP(symv, prepare), syrk = OP(syrk, prepare), trsm = OP(trsm, prepare);

int main(void)
{
    static const struct op *const ops[] = {&dot, &nrm2, &asum, &gemv, &ger, &symv, &syrk, &trsm, NULL};
    static const struct kit_program program = {.name = "blas",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = cublas_open,
                                               .libraries = cublas_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
