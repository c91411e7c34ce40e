/* SPDX-License-Identifier: Apache-2.0
 *
 * LAPACK on the BLAS that the role cblas measures: factorizations, a solve, eigenvectors, singular vectors.
 * Nobody promises their bits: each is made of many products and panels that BLAS splits by thread and kernel.
 * Matrices are column-major as Fortran has them. Right is what multiplies back (probes/kit/factor.h), since
 * signs and pivots may differ between right answers.
 *
 * Fortran passes everything by address and, at the end, the lengths of strings. Integers are of 64 bits here;
 * a library of 32-bit integers reads and writes the lower half, on the little-endian machines that the kit
 * asks for. So one prototype serves both, and only pivots, which are an output, need to know which it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/cblas.h"
#include "probes/kit/dtype.h"
#include "probes/kit/factor.h"

typedef int64_t integer;

/* Routines, with arguments behind the first of which there are two, for s and d. */
/* clang-format off */
#define LAPACK_ROUTINES(X) \
    X(getrf, (const integer *m, const integer *n, void *a, const integer *lda, void *ipiv, integer *info)) \
    X(gesv, (const integer *n, const integer *nrhs, void *a, const integer *lda, void *ipiv, void *b, \
             const integer *ldb, integer *info)) \
    X(potrf, (const char *uplo, const integer *n, void *a, const integer *lda, integer *info, size_t)) \
    X(geqrf, (const integer *m, const integer *n, void *a, const integer *lda, void *tau, void *work, \
              const integer *lwork, integer *info)) \
    X(syevd, (const char *jobz, const char *uplo, const integer *n, void *a, const integer *lda, void *w, \
              void *work, const integer *lwork, void *iwork, const integer *liwork, integer *info, size_t, \
              size_t)) \
    X(gesdd, (const char *jobz, const integer *m, const integer *n, void *a, const integer *lda, void *s, \
              void *u, const integer *ldu, void *vt, const integer *ldvt, void *work, const integer *lwork, \
              void *iwork, integer *info, size_t))
/* clang-format on */

#define LAPACK_POINTER(routine, arguments) void(*routine[2]) arguments;
static struct {
    LAPACK_ROUTINES(LAPACK_POINTER)
} lapack;
static void *library;
static enum kit_dtype pivot_dtype; /* the library's integers */

static const enum kit_dtype dtypes[] = {KIT_F32, KIT_F64}; /* by the routine's first letter, s or d */

/* --- the library --- */

static int load_routines(void)
{
#define LAPACK_LOAD(routine, arguments)                                                                      \
    *(void **)&lapack.routine[0] = cblas_find(library, "s" #routine "_");                                    \
    *(void **)&lapack.routine[1] = cblas_find(library, "d" #routine "_");                                    \
    if (!lapack.routine[0] || !lapack.routine[1]) {                                                          \
        return kit_skip("library_missing", "the LAPACK library does not export s%s_ and d%s_", #routine,     \
                        #routine);                                                                           \
    }
    LAPACK_ROUTINES(LAPACK_LOAD)
#undef LAPACK_LOAD
    return KIT_OK;
}

static integer info_of(integer info)
{
    return pivot_dtype == KIT_S32 ? (int32_t)info : info;
}

/* How wide the library's integers are, by what it writes: its name may not tell. */
static void measure_integers(void)
{
    const integer two = 2;
    float identity[4] = {1, 0, 0, 1};
    integer pivots[2] = {0, 0}, info = 0;
    lapack.getrf[0](&two, &two, identity, &two, pivots, &info);
    pivot_dtype = pivots[0] == 1 ? KIT_S64 : KIT_S32;
}

#define PATH_SIZE sizeof(((struct kit_library *)0)->path)

/* One candidate, if it computes on the BLAS of role cblas: another would be measured under its name. Else
 * NULL, and of one that computes on another its path. */
static void *open_on(const char *name, char *ret_other)
{
    const char *const names[] = {name, NULL};
    void *const candidate = cblas_open_role("lapack", names, "sgetrf_");
    if (!candidate || cblas_is_behind(candidate)) {
        return candidate;
    }
    kit_path_of(cblas_find(candidate, "sgetrf_"), ret_other, PATH_SIZE);
    return NULL;
}

static int lapack_open(void)
{
    char blas[PATH_SIZE], other[PATH_SIZE] = "";
    if (cblas_open()) {
        return KIT_SKIPPED;
    }
    kit_path_of(*(void **)&cblas.sgemm, blas, sizeof(blas));
    const char *const names[] = {"liblapack.so.3", "libopenblas.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2",
                                 blas};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++) {
        library = open_on(names[i], other);
    }
    if (!library) {
        return other[0]
                   ? kit_skip("library_missing",
                              "LAPACK '%s' does not compute on '%s', the library of role cblas", other, blas)
                   : KIT_SKIPPED;
    }
    if (load_routines()) {
        return KIT_SKIPPED;
    }
    measure_integers();
    return KIT_OK;
}

static int lapack_libraries(struct kit_library *ret, int max)
{
    void (*version)(integer *, integer *, integer *);
    integer major = 0, minor = 0, patch = 0;
    *ret = (struct kit_library){.role = "lapack", .name = "LAPACK"};
    kit_path_of(*(void **)&lapack.getrf[0], ret->path, sizeof(ret->path));
    *(void **)&version = cblas_find(library, "ilaver_");
    if (version) { /* of the reference that the routines follow */
        version(&major, &minor, &patch);
        snprintf(ret->version, sizeof(ret->version), "%d.%d.%d", (int)major, (int)minor, (int)patch);
    }
    return 1 + cblas_libraries(ret + 1, max - 1);
}

/* --- params and operands --- */

struct problem {
    int type; /* 0: s, 1: d */
    int upper;
    int64_t m, n, columns;
    integer lwork, liwork;
};

static int check_extents(const struct problem *p)
{
    const int64_t most = 1 << 15; /* workspaces and pivots stay far below 2^31 elements */
    return p->m < 1 || p->n < 1 || p->columns < 1 || p->m > most || p->n > most || p->columns > most
               ? kit_fail("bad params: an extent is not within 1 to %lld", (long long)most)
               : KIT_OK;
}

/* Reads m and n (m x n, else n alone), columns of a right-hand side, the half; what is not asked for is 1. */
/* Its parameters: the routine by type, then extents: m, n, c(olumns), u(plo). Without m it is square. */
struct form {
    const char *routines, *extents;
};

static int read_params(const struct kit_params *params, const struct form *form, struct problem *ret)
{
    *ret = (struct problem){.columns = 1};
    if (kit_param_word(params, "routine", form->routines, &ret->type)) {
        return KIT_FAILED;
    }
    for (const char *c = form->extents; *c; c++) {
        const int rc = *c == 'm'   ? kit_param_int(params, "m", &ret->m)
                       : *c == 'n' ? kit_param_int(params, "n", &ret->n)
                       : *c == 'c' ? kit_param_int(params, "columns", &ret->columns)
                                   : kit_param_word(params, "uplo", "lower|upper", &ret->upper);
        if (rc) {
            return rc;
        }
    }
    ret->m = strchr(form->extents, 'm') ? ret->m : ret->n;
    return check_extents(ret);
}

static struct kit_operand matrix(const char *name, enum kit_role role, const struct problem *p, int64_t rows,
                                 int64_t columns)
{
    return (struct kit_operand){.name = name,
                                .role = role,
                                .dtype = dtypes[p->type],
                                .ndim = 2,
                                .shape = {rows, columns},
                                .stride = {1, rows},
                                .batch_dim = -1,
                                .upper = p->upper};
}

static struct kit_operand vector(const char *name, enum kit_dtype dtype, int64_t n)
{
    return (struct kit_operand){
        .name = name, .role = KIT_OUT, .dtype = dtype, .ndim = 1, .shape = {n}, .batch_dim = -1};
}

static int64_t least(const struct problem *p)
{
    return p->m < p->n ? p->m : p->n;
}

static struct kit_factored factored(const struct problem *p, const void *before)
{
    return (struct kit_factored){
        .dtype = dtypes[p->type], .m = p->m, .n = p->n, .matrix = before, .upper = p->upper};
}

/* The problem as the state of a call. */
static int begin(struct kit_call *call, const struct form *form)
{
    struct problem *const p = calloc(1, sizeof(*p));
    call->state = p;
    return p ? read_params(call->params, form, p) : kit_fail("out of memory");
}

static int finish(const char *routine, integer info)
{
    return info_of(info) ? kit_fail("%s: info %lld", routine, (long long)info_of(info)) : KIT_OK;
}

/* A length that a workspace query left as a float. Those of s are rounded, maybe down. */
static integer length_of(const struct problem *p, const void *work)
{
    return (integer)(kit_value(dtypes[p->type], work, 0) * (p->type == 0 ? 1.000001L : 1)) + 1;
}

static size_t work_bytes(const struct problem *p)
{
    return ((size_t)p->lwork * kit_dtype_size(dtypes[p->type]) + 63) / 64 * 64;
}

/* --- getrf: A = P L U --- */

enum { A, PIVOTS, B };

static const struct form getrf_form = {"sgetrf|dgetrf", "mn"};

static int getrf_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct problem p;
    if (read_params(params, &getrf_form, &p)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[A] = matrix("a", KIT_INOUT, &p, p.m, p.n);
    ret->operand[PIVOTS] = vector("pivots", pivot_dtype, least(&p));
    return KIT_OK;
}

static int getrf_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    (void)ret;
    return begin(call, &getrf_form);
}

static int getrf_run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct problem *p = call->state;
    integer info = 0;
    lapack.getrf[p->type](&p->m, &p->n, b->data[A], &p->m, b->data[PIVOTS], &info);
    return finish("getrf", info);
}

static int getrf_residual(struct kit_call *call, const void *const *in, const void *const *out,
                          struct kit_cell *ret)
{
    const struct kit_factored of = factored(call->state, in[A]);
    kit_factor_lu(&of, out[A], pivot_dtype, out[PIVOTS], &ret[A], &ret[PIVOTS]);
    return KIT_OK;
}

/* --- gesv: A X = B by getrf and getrs --- */

static const struct form gesv_form = {"sgesv|dgesv", "nc"};

static int gesv_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct problem p;
    if (read_params(params, &gesv_form, &p)) {
        return KIT_FAILED;
    }
    ret->count = 3;
    ret->operand[A] = matrix("a", KIT_INOUT, &p, p.n, p.n);
    ret->operand[PIVOTS] = vector("pivots", pivot_dtype, p.n);
    ret->operand[B] = matrix("b", KIT_INOUT, &p, p.n, p.columns);
    return KIT_OK;
}

static int gesv_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    (void)ret;
    return begin(call, &gesv_form);
}

static int gesv_run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct problem *p = call->state;
    integer info = 0;
    lapack.gesv[p->type](&p->n, &p->columns, b->data[A], &p->n, b->data[PIVOTS], b->data[B], &p->n, &info);
    return finish("gesv", info);
}

static int gesv_residual(struct kit_call *call, const void *const *in, const void *const *out,
                         struct kit_cell *ret)
{
    const struct problem *p = call->state;
    const struct kit_factored of = factored(p, in[A]);
    kit_factor_lu(&of, out[A], pivot_dtype, out[PIVOTS], &ret[A], &ret[PIVOTS]);
    ret[B] = kit_factor_solved(&of, out[A], pivot_dtype, out[PIVOTS], in[B], out[B], p->columns);
    return KIT_OK;
}

/* --- potrf: A = L L^T or U^T U --- */

static const struct form potrf_form = {"spotrf|dpotrf", "nu"};

static int potrf_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct problem p;
    if (read_params(params, &potrf_form, &p)) {
        return KIT_FAILED;
    }
    ret->count = 1;
    ret->operand[A] = matrix("a", KIT_INOUT, &p, p.n, p.n);
    ret->operand[A].fill = KIT_DEFINITE;
    ret->operand[A].written = p.upper ? KIT_UPPER : KIT_LOWER;
    return KIT_OK;
}

static int potrf_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    (void)ret;
    return begin(call, &potrf_form);
}

static int potrf_run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct problem *p = call->state;
    integer info = 0;
    lapack.potrf[p->type](p->upper ? "U" : "L", &p->n, b->data[A], &p->n, &info, 1);
    return finish("potrf", info);
}

static int potrf_residual(struct kit_call *call, const void *const *in, const void *const *out,
                          struct kit_cell *ret)
{
    const struct kit_factored of = factored(call->state, in[A]);
    ret[A] = kit_factor_cholesky(&of, out[A]);
    return KIT_OK;
}

/* --- geqrf: A = Q R --- */

enum { TAU = 1 };

static const struct form geqrf_form = {"sgeqrf|dgeqrf", "mn"};

static int geqrf_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct problem p;
    if (read_params(params, &geqrf_form, &p)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[A] = matrix("a", KIT_INOUT, &p, p.m, p.n);
    ret->operand[TAU] = vector("tau", dtypes[p.type], least(&p));
    return KIT_OK;
}

static int geqrf_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    const integer query = -1;
    integer info = 0;
    double work = 0;
    if (begin(call, &geqrf_form)) {
        return KIT_FAILED;
    }
    struct problem *const p = call->state;
    lapack.geqrf[p->type](&p->m, &p->n, NULL, &p->m, NULL, &work, &query, &info);
    p->lwork = length_of(p, &work);
    ret->workspace_bytes = work_bytes(p);
    return finish("geqrf, asked for its workspace", info);
}

static int geqrf_run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct problem *p = call->state;
    integer info = 0;
    lapack.geqrf[p->type](&p->m, &p->n, b->data[A], &p->m, b->data[TAU], b->workspace, &p->lwork, &info);
    return finish("geqrf", info);
}

static int geqrf_residual(struct kit_call *call, const void *const *in, const void *const *out,
                          struct kit_cell *ret)
{
    const struct kit_factored of = factored(call->state, in[A]);
    kit_factor_qr(&of, out[A], out[TAU], &ret[A], &ret[TAU]);
    return KIT_OK;
}

/* --- syevd: eigenvalues and eigenvectors of a symmetric matrix, by divide and conquer --- */

enum { VALUES = 1 };

static const struct form syevd_form = {"ssyevd|dsyevd", "nu"};

static int syevd_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct problem p;
    if (read_params(params, &syevd_form, &p)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[A] = matrix("a", KIT_INOUT, &p, p.n, p.n);
    ret->operand[A].fill = KIT_SYMMETRIC;
    ret->operand[VALUES] = vector("w", dtypes[p.type], p.n);
    return KIT_OK;
}

static int syevd_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    const integer query = -1;
    integer info = 0, iwork = 0;
    double work = 0;
    if (begin(call, &syevd_form)) {
        return KIT_FAILED;
    }
    struct problem *const p = call->state;
    lapack.syevd[p->type]("V", p->upper ? "U" : "L", &p->n, NULL, &p->n, NULL, &work, &query, &iwork, &query,
                          &info, 1, 1);
    p->lwork = length_of(p, &work);
    p->liwork = info_of(iwork);
    ret->workspace_bytes = work_bytes(p) + (size_t)p->liwork * sizeof(integer);
    return finish("syevd, asked for its workspace", info);
}

static int syevd_run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct problem *p = call->state;
    integer info = 0;
    lapack.syevd[p->type]("V", p->upper ? "U" : "L", &p->n, b->data[A], &p->n, b->data[VALUES], b->workspace,
                          &p->lwork, (char *)b->workspace + work_bytes(p), &p->liwork, &info, 1, 1);
    return finish("syevd", info);
}

static int syevd_residual(struct kit_call *call, const void *const *in, const void *const *out,
                          struct kit_cell *ret)
{
    const struct kit_factored of = factored(call->state, in[A]);
    kit_factor_eigen(&of, out[A], out[VALUES], &ret[A], &ret[VALUES]);
    return KIT_OK;
}

/* --- gesdd: singular values and vectors, by divide and conquer --- */

enum { S = 1, U, VT };

static const struct form gesdd_form = {"sgesdd|dgesdd", "mn"};

static int gesdd_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct problem p;
    if (read_params(params, &gesdd_form, &p)) {
        return KIT_FAILED;
    }
    ret->count = 4;
    ret->operand[A] = matrix("a", KIT_CONSUMED, &p, p.m, p.n);
    ret->operand[S] = vector("s", dtypes[p.type], least(&p));
    ret->operand[U] = matrix("u", KIT_OUT, &p, p.m, least(&p));
    ret->operand[VT] = matrix("vt", KIT_OUT, &p, least(&p), p.n);
    return KIT_OK;
}

static int gesdd_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    const integer query = -1;
    integer info = 0, iwork = 0;
    double work = 0;
    if (begin(call, &gesdd_form)) {
        return KIT_FAILED;
    }
    struct problem *const p = call->state;
    const integer r = least(p);
    lapack.gesdd[p->type]("S", &p->m, &p->n, NULL, &p->m, NULL, NULL, &p->m, NULL, &r, &work, &query, &iwork,
                          &info, 1);
    p->lwork = length_of(p, &work);
    p->liwork = 8 * r; /* as its documentation says; there is no query for it */
    ret->workspace_bytes = work_bytes(p) + (size_t)p->liwork * sizeof(integer);
    return finish("gesdd, asked for its workspace", info);
}

static int gesdd_run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct problem *p = call->state;
    const integer r = least(p);
    integer info = 0;
    lapack.gesdd[p->type]("S", &p->m, &p->n, b->data[A], &p->m, b->data[S], b->data[U], &p->m, b->data[VT],
                          &r, b->workspace, &p->lwork, (char *)b->workspace + work_bytes(p), &info, 1);
    return finish("gesdd", info);
}

static int gesdd_residual(struct kit_call *call, const void *const *in, const void *const *out,
                          struct kit_cell *ret)
{
    const struct kit_factored of = factored(call->state, in[A]);
    kit_factor_singular(&of, out[U], out[S], out[VT], &ret[U], &ret[S], &ret[VT]);
    return KIT_OK;
}

#define OP(stem)                                                                                             \
    {                                                                                                        \
        .name = #stem, .describe = stem##_describe, .prepare = stem##_prepare, .run = stem##_run,            \
        .residual = stem##_residual, .release = kit_free_state                                               \
    }

int main(void)
{
    static const struct op getrf = OP(getrf), gesv = OP(gesv), potrf = OP(potrf), geqrf = OP(geqrf),
                           syevd = OP(syevd), gesdd = OP(gesdd);
    static const struct op *const ops[] = {&getrf, &gesv, &potrf, &geqrf, &syevd, &gesdd, NULL};
    static const struct kit_program program = {.name = "lapack",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = lapack_open,
                                               .libraries = lapack_libraries,
                                               .set_threads = cblas_set_threads,
                                               .concurrent = true};
    return kit_main(&program);
}
