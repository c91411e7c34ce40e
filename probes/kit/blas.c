/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS operations but for the call of the library: what a routine takes, its operands, its reference.
 */
#include "probes/kit/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"

/* Which extents a routine takes. The parameter `routine` names it with its precision: "sdot", "ddot",
 * "chemv". */
static const struct routine {
    const char *precisions; /* single, double */
    const char *stem, *extents;
    bool trans, uplo;
} routines[] = {
    {"sd", "dot", "n", false, false},  {"sd", "nrm2", "n", false, false}, {"sd", "asum", "n", false, false},
    {"sd", "axpy", "n", false, false}, {"sd", "gemv", "mn", true, false}, {"sd", "ger", "mn", false, false},
    {"sd", "symv", "n", false, true},  {"sd", "syrk", "nk", false, true}, {"sd", "trsm", "mn", true, true},
    {"cz", "hemv", "n", false, true},
};

static const struct routine *find_routine(const char *name)
{
    for (size_t i = 0; i < sizeof(routines) / sizeof(routines[0]); i++) {
        if (name[0] && strchr(routines[i].precisions, name[0]) && strcmp(name + 1, routines[i].stem) == 0) {
            return &routines[i];
        }
    }
    return NULL;
}

static int read_extent(const struct kit_params *params, char name, struct kit_blas *g)
{
    int64_t *target = name == 'm' ? &g->m : name == 'n' ? &g->n : &g->k;
    if (kit_param_int(params, (const char[]){name, '\0'}, target) != KIT_OK) {
        return KIT_FAILED;
    }
    return *target > 0 && *target <= INT32_MAX ? KIT_OK
                                               : kit_fail("'%c' must be between 1 and 2^31 - 1", name);
}

int kit_blas_read(const struct kit_params *params, struct kit_blas *g)
{
    const char *name;
    int trans = 0, upper = 0;
    *g = (struct kit_blas){0};
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
    if ((routine->trans && kit_param_word(params, "trans", "n|t", &trans) != KIT_OK) ||
        (routine->uplo && kit_param_word(params, "uplo", "lower|upper", &upper) != KIT_OK)) {
        return KIT_FAILED;
    }
    g->dtype = name[0] == routine->precisions[0] ? KIT_F32 : KIT_F64;
    g->transposed = trans == 1;
    g->upper = upper == 1;
    return KIT_OK;
}

/* For describe: the routine must be the one that the op is for. */
static int read_for(const struct kit_params *params, const char *stem, struct kit_blas *g)
{
    const char *name;
    if (kit_blas_read(params, g) != KIT_OK || kit_param_string(params, "routine", &name) != KIT_OK) {
        return KIT_FAILED;
    }
    return strcmp(name + 1, stem) == 0 ? KIT_OK : kit_fail("routine '%s' does not fit op '%s'", name, stem);
}

static struct kit_operand vector(const char *name, enum kit_role role, const struct kit_blas *g, int64_t n)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = g->dtype, .ndim = 1, .shape = {n}, .batch_dim = -1};
}

static struct kit_operand matrix(const char *name, enum kit_role role, const struct kit_blas *g, int64_t rows,
                                 int64_t columns)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = g->dtype, .ndim = 2, .shape = {rows, columns}, .batch_dim = -1};
}

static const void *row_of(const struct kit_blas *g, const void *matrix, int64_t row, int64_t columns)
{
    return (const char *)matrix + (size_t)(row * columns) * kit_dtype_size(g->dtype);
}

/* Sum of products in long double, with the sum of their magnitudes. */
static void add_product(struct kit_cell *cell, long double a, long double b)
{
    cell->value += a * b;
    cell->scale += fabsl(a * b);
    cell->k++;
}

int kit_blas_describe_dot(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "dot", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[KIT_BLAS_Y] = vector("y", KIT_IN, &g, g.n);
    ret->operand[2] = vector("result", KIT_OUT, &g, 1);
    ret->count = 3;
    ret->flops = (double)g.n;
    return KIT_OK;
}

int kit_blas_reference_dot(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                           size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, in[KIT_BLAS_X], in[KIT_BLAS_Y], g->n);
    }
    return KIT_OK;
}

static int describe_norm(const struct kit_params *params, const char *stem, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, stem, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[1] = vector("result", KIT_OUT, &g, 1);
    ret->count = 2;
    ret->flops = (double)g.n;
    return KIT_OK;
}

int kit_blas_describe_nrm2(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_norm(params, "nrm2", ret);
}

int kit_blas_reference_nrm2(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            const long double x = kit_value(g->dtype, in[KIT_BLAS_X], j);
            add_product(&ret[i], x, x);
        }
        ret[i].value = ret[i].scale = sqrtl(ret[i].value);
    }
    return KIT_OK;
}

int kit_blas_describe_asum(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_norm(params, "asum", ret);
}

int kit_blas_reference_asum(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            add_product(&ret[i], fabsl(kit_value(g->dtype, in[KIT_BLAS_X], j)), 1);
        }
    }
    return KIT_OK;
}

int kit_blas_describe_axpy(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "axpy", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[KIT_BLAS_Y] = vector("y", KIT_INOUT, &g, g.n);
    ret->count = 2;
    ret->flops = (double)g.n;
    return KIT_OK;
}

int kit_blas_reference_axpy(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    (void)output;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        add_product(&ret[i], kit_value(g->dtype, in[KIT_BLAS_Y], cells[i]), 1);
        add_product(&ret[i], kit_value(g->dtype, in[KIT_BLAS_X], cells[i]), KIT_BLAS_ALPHA);
    }
    return KIT_OK;
}

/* Without transposition row i of A makes y[i], so m is a batch; transposed, every row goes into every sum. */
int kit_blas_describe_gemv(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "gemv", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_A] = matrix("a", KIT_IN, &g, g.m, g.n);
    ret->operand[KIT_BLAS_A_X] = vector("x", KIT_IN, &g, g.transposed ? g.m : g.n);
    ret->operand[KIT_BLAS_A_Y] = vector("y", KIT_OUT, &g, g.transposed ? g.n : g.m);
    if (!g.transposed) {
        ret->operand[KIT_BLAS_A].batch_dim = ret->operand[KIT_BLAS_A_Y].batch_dim = 0;
    }
    ret->count = 3;
    ret->flops = (double)g.m * (double)g.n;
    return KIT_OK;
}

int kit_blas_reference_gemv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    const int64_t rows = g->transposed ? g->n : g->m, columns = g->transposed ? g->m : g->n;
    void *matrix = kit_reference_matrix(g->dtype, in[KIT_BLAS_A], rows, columns, g->transposed);
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, row_of(g, matrix, cells[i], columns), in[KIT_BLAS_A_X], columns);
    }
    free(matrix);
    return KIT_OK;
}

int kit_blas_describe_ger(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "ger", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_G_X] = vector("x", KIT_IN, &g, g.m);
    ret->operand[KIT_BLAS_G_Y] = vector("y", KIT_IN, &g, g.n);
    ret->operand[KIT_BLAS_G_A] = matrix("a", KIT_INOUT, &g, g.m, g.n);
    ret->operand[KIT_BLAS_G_X].batch_dim = ret->operand[KIT_BLAS_G_A].batch_dim = 0;
    ret->count = 3;
    ret->flops = (double)g.m * (double)g.n;
    return KIT_OK;
}

int kit_blas_reference_ger(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                           size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) {
        const long double x = kit_value(g->dtype, in[KIT_BLAS_G_X], cells[i] / g->n);
        ret[i] = (struct kit_cell){.k = 1}; /* alpha x rounds once before the product */
        add_product(&ret[i], kit_value(g->dtype, in[KIT_BLAS_G_A], cells[i]), 1);
        add_product(&ret[i], KIT_BLAS_ALPHA * x, kit_value(g->dtype, in[KIT_BLAS_G_Y], cells[i] % g->n));
    }
    return KIT_OK;
}

int kit_blas_describe_symv(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "symv", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_A] = matrix("a", KIT_IN, &g, g.n, g.n);
    ret->operand[KIT_BLAS_A_X] = vector("x", KIT_IN, &g, g.n);
    ret->operand[KIT_BLAS_A_Y] = vector("y", KIT_OUT, &g, g.n);
    ret->count = 3;
    ret->flops = (double)g.n * (double)g.n;
    return KIT_OK;
}

int kit_blas_reference_symv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            const bool stored = g->upper ? cells[i] <= j : cells[i] >= j;
            const int64_t row = stored ? cells[i] : j, column = stored ? j : cells[i];
            add_product(&ret[i], kit_value(g->dtype, in[KIT_BLAS_A], row * g->n + column),
                        kit_value(g->dtype, in[KIT_BLAS_A_X], j));
        }
    }
    return KIT_OK;
}

int kit_blas_describe_hemv(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "hemv", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    struct kit_operand a = matrix("a", KIT_IN, &g, g.n, g.n);
    a.ndim = 3;
    a.shape[2] = 2;
    ret->operand[KIT_BLAS_A] = a;
    ret->operand[KIT_BLAS_A_X] = matrix("x", KIT_IN, &g, g.n, 2);
    ret->operand[KIT_BLAS_A_Y] = matrix("y", KIT_OUT, &g, g.n, 2);
    ret->count = 3;
    ret->flops = 4 * (double)g.n * (double)g.n;
    return KIT_OK;
}

/* Element (row, column) of a Hermitian matrix stored by columns, of which one half is read, and of the
 * diagonal the real parts alone. */
static void hermitian(const struct kit_blas *g, const void *a, int64_t row, int64_t column,
                      long double *ret_real, long double *ret_imaginary)
{
    const bool stored = g->upper ? row <= column : row >= column;
    const int64_t at = 2 * (stored ? column * g->n + row : row * g->n + column);
    const long double imaginary = row == column ? 0 : kit_value(g->dtype, a, at + 1);
    *ret_real = kit_value(g->dtype, a, at);
    *ret_imaginary = stored ? imaginary : -imaginary;
}

int kit_blas_reference_hemv(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) { /* real and imaginary parts are cells of their own */
        ret[i] = (struct kit_cell){0};
        for (int64_t j = 0; j < g->n; j++) {
            long double real, imaginary;
            hermitian(g, in[KIT_BLAS_A], cells[i] / 2, j, &real, &imaginary);
            const long double x = kit_value(g->dtype, in[KIT_BLAS_A_X], 2 * j);
            const long double y = kit_value(g->dtype, in[KIT_BLAS_A_X], 2 * j + 1);
            add_product(&ret[i], cells[i] % 2 ? imaginary : real, x);
            add_product(&ret[i], cells[i] % 2 ? real : -imaginary, y);
        }
    }
    return KIT_OK;
}

int kit_blas_describe_syrk(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "syrk", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_A] = matrix("a", KIT_IN, &g, g.n, g.k);
    ret->operand[1] = matrix("c", KIT_OUT, &g, g.n, g.n);
    ret->operand[1].written = g.upper ? KIT_UPPER : KIT_LOWER;
    ret->count = 2;
    ret->flops = (double)g.n * (double)g.n * (double)g.k;
    return KIT_OK;
}

int kit_blas_reference_syrk(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = kit_reference_dot(g->dtype, row_of(g, in[KIT_BLAS_A], cells[i] / g->n, g->k),
                                   row_of(g, in[KIT_BLAS_A], cells[i] % g->n, g->k), g->k);
    }
    return KIT_OK;
}

int kit_blas_describe_trsm(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_blas g;
    if (read_for(params, "trsm", &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[KIT_BLAS_T_A] = matrix("a", KIT_IN, &g, g.m, g.m);
    ret->operand[KIT_BLAS_T_A].fill = KIT_TRIANGLE;
    ret->operand[KIT_BLAS_T_A].upper = g.upper;
    ret->operand[KIT_BLAS_T_B] = matrix("b", KIT_INOUT, &g, g.m, g.n);
    ret->operand[KIT_BLAS_T_B].batch_dim = 1;
    ret->count = 2;
    ret->flops = (double)g.m * (double)g.m * (double)g.n / 2;
    return KIT_OK;
}

/* Cells come row by row, but a column is solved at once: columns outside, cells inside. */
int kit_blas_reference_trsm(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                            size_t count, struct kit_cell *ret)
{
    const struct kit_blas *g = call->state;
    struct kit_triangle triangle;
    long double *const work = calloc((size_t)g->m * 3, sizeof(*work));
    if (!work) {
        return kit_fail("out of memory");
    }
    long double *const scale = work + g->m, *const rhs = scale + g->m;
    kit_triangle_init(&triangle, g->dtype, in[KIT_BLAS_T_A], g->m, g->upper, g->transposed);
    for (int64_t column = 0; column < g->n; column++) {
        for (int64_t i = 0; i < g->m; i++) {
            rhs[i] = kit_value(g->dtype, in[KIT_BLAS_T_B], i * g->n + column);
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
