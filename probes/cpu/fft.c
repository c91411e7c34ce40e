/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms by FFTW, opened at run time, one library for each precision. Its planner composes each
 * transform from parts: FFTW_ESTIMATE by rules, FFTW_MEASURE by timing them, so that another process may get
 * another composition, which rounds otherwise. The plan's text is what the library chose.
 *
 * What is declared here of FFTW is all that is needed of it, so its header is not.
 */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"
#include "probes/kit/outcome.h"
#include "probes/kit/shape.h"
#include "suite/base/digest.h"
#include "suite/base/text.h"

#define ALIGNMENT 64 /* of the kit's operands: a plan is for arrays of one alignment */

enum { FORWARD = -1, BACKWARD = 1 };
enum planner { ESTIMATE, MEASURE };
static const unsigned flags_of[] = {[ESTIMATE] = 1u << 6, [MEASURE] = 0};

typedef void *plan;
#define LAYOUT void *, const int *, int, int /* array, embedding, stride, distance */

/* clang-format off */
#define FFTW_FUNCTIONS(X) \
    X(plan_many_dft, plan, (int rank, const int *n, int howmany, LAYOUT, LAYOUT, int sign, unsigned flags)) \
    X(plan_many_dft_r2c, plan, (int rank, const int *n, int howmany, LAYOUT, LAYOUT, unsigned flags)) \
    X(plan_many_dft_c2r, plan, (int rank, const int *n, int howmany, LAYOUT, LAYOUT, unsigned flags)) \
    X(execute_dft, void, (const plan, void *in, void *out)) \
    X(execute_dft_r2c, void, (const plan, void *in, void *out)) \
    X(execute_dft_c2r, void, (const plan, void *in, void *out)) \
    X(destroy_plan, void, (plan)) \
    X(forget_wisdom, void, (void)) \
    X(sprint_plan, char *, (const plan))
/* clang-format on */

#define FFTW_POINTER(name, returned, arguments) returned(*name) arguments;
static struct precision {
    const char *role, *soname, *prefix;
    const char *threads[2]; /* names of the library that adds threads, beside the first */
    void *library;
    struct kit_outcome missing; /* why it is not open */
    int (*init_threads)(void);
    void (*plan_with_nthreads)(int);
    char threads_file[64];
    FFTW_FUNCTIONS(FFTW_POINTER)
} precisions[] = {
    {.role = "fftwf",
     .soname = "libfftw3f.so.3",
     .prefix = "fftwf_",
     .threads = {"libfftw3f_threads.so.3", "libfftw3f_omp.so.3"}},
    {.role = "fftw",
     .soname = "libfftw3.so.3",
     .prefix = "fftw_",
     .threads = {"libfftw3_threads.so.3", "libfftw3_omp.so.3"}},
};
#define PRECISIONS (sizeof(precisions) / sizeof(precisions[0]))
static const enum kit_dtype dtypes[] = {KIT_F32, KIT_F64}; /* in the same order */
static int thread_count = 1;

/* --- the libraries --- */

static void *find(const struct precision *precision, void *library, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof(symbol), "%s%s", precision->prefix, name);
    return dlsym(library, symbol);
}

static int load_functions(struct precision *precision)
{
#define FFTW_LOAD(name, returned, arguments)                                                                 \
    *(void **)&precision->name = find(precision, precision->library, #name);                                 \
    if (!precision->name) {                                                                                  \
        return kit_skip("library_missing", "the library of role %s does not export '%s%s'", precision->role, \
                        precision->prefix, #name);                                                           \
    }
    FFTW_FUNCTIONS(FFTW_LOAD)
#undef FFTW_LOAD
    return KIT_OK;
}

/* Threads are in the library itself, or in one beside it that works on this very file. */
static void load_threads(struct precision *precision)
{
    char path[PATH_MAX], file[PATH_MAX + 64];
    void *library = precision->library;
    kit_path_of(*(void **)&precision->execute_dft, path, sizeof(path));
    *strrchr(path, '/') = '\0';
    for (int i = 0; i < 2 && !find(precision, library, "init_threads"); i++) {
        snprintf(file, sizeof(file), "%s/%s", path, precision->threads[i]);
        void *const beside = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (beside && find(precision, beside, "execute_dft") == *(void **)&precision->execute_dft) {
            snprintf(precision->threads_file, sizeof(precision->threads_file), "%s", precision->threads[i]);
            library = beside;
        }
    }
    *(void **)&precision->init_threads = find(precision, library, "init_threads");
    *(void **)&precision->plan_with_nthreads = find(precision, library, "plan_with_nthreads");
    if (!precision->init_threads || !precision->plan_with_nthreads || !precision->init_threads()) {
        precision->plan_with_nthreads = NULL;
    }
}

static int open_one(struct precision *precision)
{
    char symbol[64];
    const char *const names[] = {precision->soname, NULL};
    snprintf(symbol, sizeof(symbol), "%sexecute_dft", precision->prefix);
    precision->library = kit_open_role(precision->role, names, symbol);
    if (!precision->library || load_functions(precision)) {
        precision->library = NULL;
        precision->missing = *kit_outcome();
        return KIT_SKIPPED;
    }
    load_threads(precision);
    return KIT_OK;
}

/* Either is enough: the cases of the other are skipped. */
static int fft_open(void)
{
    int missing = 0;
    for (size_t i = 0; i < PRECISIONS; i++) {
        missing += open_one(&precisions[i]) != KIT_OK;
    }
    return missing < (int)PRECISIONS ? KIT_OK : KIT_SKIPPED;
}

/* "fftw-3.3.10-sse2-avx" -> "3.3.10", and all of it as the configuration. */
static int fft_libraries(struct kit_library *ret, int max)
{
    int count = 0;
    for (size_t i = 0; i < PRECISIONS && count < max; i++) {
        struct precision *const precision = &precisions[i];
        if (!precision->library) {
            continue;
        }
        struct kit_library *const row = &ret[count++];
        *row = (struct kit_library){.role = precision->role, .name = "FFTW"};
        kit_path_of(*(void **)&precision->execute_dft, row->path, sizeof(row->path));
        const char *const text = find(precision, precision->library, "version");
        if (text) {
            const char *const number = text + strcspn(text, "0123456789");
            snprintf(row->version, sizeof(row->version), "%.*s", (int)strcspn(number, "-"), number);
        }
        snprintf(row->config, sizeof(row->config), "%.150s%s%s", text ? text : "",
                 precision->threads_file[0] ? " threads=" : "", precision->threads_file);
    }
    return count;
}

/* FFTW reads the count when it plans; all libraries are told the same. */
static int fft_set_threads(int threads)
{
    for (size_t i = 0; i < PRECISIONS; i++) {
        if (precisions[i].library && !precisions[i].plan_with_nthreads) {
            return 0;
        }
    }
    for (size_t i = 0; i < PRECISIONS && threads > 0; i++) {
        if (precisions[i].library) {
            precisions[i].plan_with_nthreads(threads);
        }
        thread_count = threads;
    }
    return thread_count;
}

/* --- params and operands --- */

enum kind { DFT, R2C, C2R };

/* `lengths` transforms of n, n + step, n + 2 step ... points, one behind the other; or of rows x n points.
 * All of it `howmany` times. */
struct transform {
    int type;    /* index of dtypes and precisions */
    int planner; /* enum planner */
    int backward;
    enum kind kind;
    int64_t howmany, rows, n, lengths, step;
};

struct state {
    struct transform t;
    plan *plans; /* one for each length */
};

static int64_t length_of(const struct transform *t, int64_t index)
{
    return t->n + index * t->step;
}

/* Points before the transform of this index, and behind the last of all. */
static int64_t start_of(const struct transform *t, int64_t index)
{
    return t->rows * (index * t->n + t->step * (index * (index - 1) / 2));
}

static int read_params(const struct kit_params *params, enum kind kind, struct transform *ret)
{
    const int64_t most = 1 << 24;
    memset(ret, 0, sizeof(*ret)); /* also its padding: transforms are compared */
    ret->kind = kind;
    if (kit_param_word(params, "data", "f32|f64", &ret->type) ||
        kit_param_word(params, "planner", "estimate|measure", &ret->planner) ||
        kit_param_int(params, "n", &ret->n) || kit_param_int_or(params, "rows", 1, &ret->rows) ||
        kit_param_int_or(params, "howmany", 1, &ret->howmany) ||
        kit_param_int_or(params, "lengths", 1, &ret->lengths) ||
        kit_param_int_or(params, "step", 0, &ret->step) ||
        (kind == DFT && kit_param_word_or(params, "direction", "forward|backward", &ret->backward))) {
        return KIT_FAILED;
    }
    if (ret->n < 1 || ret->rows < 1 || ret->howmany < 1 || ret->lengths < 1 || ret->step < 0 ||
        ret->n > most || ret->rows > most / ret->n || ret->lengths > most / ret->n ||
        ret->step > most / ret->lengths || ret->howmany > most / start_of(ret, ret->lengths)) {
        return kit_fail("bad params: the extents are not within 1 to %lld elements", (long long)most);
    }
    if (ret->lengths > 1 && (ret->rows > 1 || kind != DFT)) {
        return kit_fail("bad params: several lengths are of dft in one dimension");
    }
    /* the first column of a random half would not be the transform of anything real */
    return kind == C2R && ret->rows > 1 ? kit_fail("bad params: dft-c2r has one dimension") : KIT_OK;
}

static struct kit_operand array(const char *name, enum kit_role role, const struct transform *t, bool complex,
                                int64_t columns)
{
    return (struct kit_operand){.name = name,
                                .role = role,
                                .dtype = dtypes[t->type],
                                .ndim = complex ? 4 : 3,
                                .shape = {t->howmany, t->rows, columns, 2},
                                .align = ALIGNMENT,
                                .batch_dim = 0};
}

enum { X, Y };

static int describe(const struct kit_params *params, enum kind kind, struct kit_shape *ret)
{
    struct transform t;
    if (read_params(params, kind, &t)) {
        return KIT_FAILED;
    }
    const int64_t half = t.n / 2 + 1, all = start_of(&t, t.lengths) / t.rows;
    ret->count = 2;
    ret->operand[X] =
        array("x", kind == C2R ? KIT_CONSUMED : KIT_IN, &t, kind != R2C, kind == C2R ? half : all);
    ret->operand[Y] = array("y", KIT_OUT, &t, kind != C2R, kind == R2C ? half : all);
    for (int64_t i = 0; i < t.lengths; i++) { /* of the reference, which sums directly */
        const double points = (double)t.rows * (double)length_of(&t, i);
        ret->flops += 4 * points * points * (double)t.howmany;
    }
    return KIT_OK;
}

static int describe_dft(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, DFT, ret);
}

static int describe_r2c(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, R2C, ret);
}

static int describe_c2r(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, C2R, ret);
}

/* --- planning --- */

/* An array that is aligned as the kit's operand will be, for the planner to try plans on. */
static void *array_like(const struct kit_call *call, int index, void **ret_block)
{
    const struct kit_operand *const operand = &call->shape->operand[index];
    const size_t offset = call->offset[index];
    const size_t bytes = (kit_dense_bytes(operand) + offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *ret_block = aligned_alloc(ALIGNMENT, bytes);
    if (!*ret_block) {
        return NULL;
    }
    memset(*ret_block, 0, bytes);
    return (char *)*ret_block + offset;
}

/* What FFTW_MEASURE finds for one case stays in the process while that case is asked for, as it does for a
 * program that plans a transform again. Nothing is carried over to other cases: FFTW_ESTIMATE, which has
 * nothing to remember, would follow what FFTW_MEASURE found. */
static void forget_other_cases(const struct transform *t)
{
    static struct transform last;
    struct transform key = *t;
    key.howmany = 0; /* axis batch varies it */
    if (t->planner == ESTIMATE || memcmp(&key, &last, sizeof(last)) != 0) {
        precisions[t->type].forget_wisdom();
        last = key;
    }
}

/* The plans in one line; what is too long ends with a digest of all of it. */
static void describe_plans(const struct transform *t, const plan *plans, char *ret, size_t size)
{
    char line[4096];
    uint64_t digest = 0;
    size_t length = 0;
    for (int64_t i = 0; i < t->lengths; i++) {
        char *const text = precisions[t->type].sprint_plan(plans[i]);
        char *const sum = dp_printf("%016llx%s", (unsigned long long)digest, text ? text : "");
        digest = dp_xxh3_64(sum, strlen(sum));
        for (const char *c = text; c && *c && length + 2 < sizeof(line); c++) {
            const bool blank = *c == ' ' || *c == '\n';
            if (!blank || (length > 0 && line[length - 1] != ' ')) {
                line[length++] = blank ? ' ' : *c;
            }
        }
        free(text);
        free(sum);
    }
    line[length] = '\0';
    if (length < size) {
        memcpy(ret, line, length + 1);
    } else {
        snprintf(ret, size, "%.*s... xxh3 %016llx", (int)size - 32, line, (unsigned long long)digest);
    }
}

static plan make_plan(const struct transform *t, int64_t index, void *x, void *y)
{
    const struct precision *const p = &precisions[t->type];
    const int n[] = {(int)t->rows, (int)length_of(t, index)}, half = n[0] * (n[1] / 2 + 1);
    const int rank = t->rows > 1 ? 2 : 1, all = (int)start_of(t, t->lengths), many = (int)t->howmany;
    const int *const extents = rank == 2 ? n : n + 1;
    const unsigned flags = flags_of[t->planner];
    switch (t->kind) {
    case DFT:
        return p->plan_many_dft(rank, extents, many, x, NULL, 1, all, y, NULL, 1, all,
                                t->backward ? BACKWARD : FORWARD, flags);
    case R2C:
        return p->plan_many_dft_r2c(rank, extents, many, x, NULL, 1, all, y, NULL, 1, half, flags);
    default:
        return p->plan_many_dft_c2r(rank, extents, many, x, NULL, 1, half, y, NULL, 1, all, flags);
    }
}

/* Where the transform of this index begins; only dft has several. */
static void *part_of(const struct transform *t, void *array, int64_t index)
{
    return (char *)array + (size_t)(2 * start_of(t, index)) * kit_dtype_size(dtypes[t->type]);
}

static int make_plans(struct state *s, void *x, void *y)
{
    forget_other_cases(&s->t);
    for (int64_t i = 0; i < s->t.lengths; i++) {
        s->plans[i] = make_plan(&s->t, i, part_of(&s->t, x, i), part_of(&s->t, y, i));
        if (!s->plans[i]) {
            return kit_fail("%splan_many_dft: no plan of %lld points", precisions[s->t.type].prefix,
                            (long long)length_of(&s->t, i));
        }
    }
    return KIT_OK;
}

static int prepare(struct kit_call *call, enum kind kind, struct kit_prepared *ret)
{
    struct state *const s = calloc(1, sizeof(*s));
    void *blocks[2] = {NULL, NULL};
    call->state = s;
    if (!s || read_params(call->params, kind, &s->t)) {
        return s ? KIT_FAILED : kit_fail("out of memory");
    }
    const struct precision *const precision = &precisions[s->t.type];
    if (!precision->library) {
        return kit_skip(precision->missing.reason, "%s", precision->missing.text);
    }
    if (s->t.planner == MEASURE && s->t.lengths > 1 && call->threads > 1) {
        return kit_skip("unsupported", "threads %d: timing so many plans on them takes too long",
                        call->threads);
    }
    s->plans = dp_alloc((size_t)s->t.lengths, sizeof(*s->plans));
    void *const x = array_like(call, X, &blocks[0]), *const y = array_like(call, Y, &blocks[1]);
    const int rc =
        x && y ? make_plans(s, x, y) : kit_skip("memory", "cannot allocate arrays for the planner");
    free(blocks[0]);
    free(blocks[1]);
    if (!rc) {
        describe_plans(&s->t, s->plans, ret->chosen, sizeof(ret->chosen));
    }
    return rc;
}

static int prepare_dft(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, DFT, ret);
}

static int prepare_r2c(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, R2C, ret);
}

static int prepare_c2r(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, C2R, ret);
}

static void release(struct kit_call *call)
{
    struct state *const s = call->state;
    for (int64_t i = 0; s && s->plans && i < s->t.lengths; i++) {
        if (s->plans[i]) {
            precisions[s->t.type].destroy_plan(s->plans[i]);
        }
    }
    if (s) {
        free(s->plans);
    }
    kit_free_state(call);
}

static int run(struct kit_call *call, const struct kit_buffers *b)
{
    const struct state *const s = call->state;
    const struct precision *const p = &precisions[s->t.type];
    void (*const execute)(const plan, void *, void *) = s->t.kind == DFT   ? p->execute_dft
                                                        : s->t.kind == R2C ? p->execute_dft_r2c
                                                                           : p->execute_dft_c2r;
    for (int64_t i = 0; i < s->t.lengths; i++) {
        execute(s->plans[i], part_of(&s->t, b->data[X], i), part_of(&s->t, b->data[Y], i));
    }
    return KIT_OK;
}

/* --- the reference: sums as they are defined --- */

struct point {
    long double re, im;
};

/* One transform of one sample: its points, their norm, and exp(-+2 pi i k / n) for every k of each dimension.
 */
struct direct {
    int64_t sample, index, n;
    struct point *points, *by_row, *by_column;
    long double norm;
};

static void make_circle(struct point *points, int64_t n, bool backward)
{
    for (int64_t k = 0; k < n; k++) {
        const long double angle = 2 * acosl(-1) * (long double)k / (long double)n;
        points[k] = (struct point){cosl(angle), backward ? sinl(angle) : -sinl(angle)};
    }
}

/* Point (row, column) of what is transformed; of a c2r the other half is the conjugate. */
static struct point point_at(const struct transform *t, const struct direct *d, const void *x, int64_t row,
                             int64_t column)
{
    const enum kit_dtype dtype = dtypes[t->type];
    const bool mirrored = t->kind == C2R && column > t->n / 2;
    const int64_t stored = t->kind == C2R ? t->n / 2 + 1 : start_of(t, t->lengths);
    const int64_t first = d->sample * stored + start_of(t, d->index);
    const int64_t at = first + row * t->n + (mirrored ? t->n - column : column);
    if (t->kind == R2C) {
        return (struct point){kit_value(dtype, x, at), 0};
    }
    struct point p = {kit_value(dtype, x, 2 * at), kit_value(dtype, x, 2 * at + 1)};
    if (t->kind == C2R) { /* what is its own conjugate is real */
        p.im = column == 0 || 2 * column == t->n ? 0 : mirrored ? -p.im : p.im;
    }
    return p;
}

static void load(const struct transform *t, const void *x, int64_t sample, int64_t index, struct direct *ret)
{
    const bool backward = t->kind == C2R || t->backward;
    long double square = 0;
    ret->sample = sample;
    ret->index = index;
    ret->n = length_of(t, index);
    for (int64_t i = 0; i < t->rows * ret->n; i++) {
        const struct point p = point_at(t, ret, x, i / ret->n, i % ret->n);
        ret->points[i] = p;
        square += p.re * p.re + p.im * p.im;
    }
    ret->norm = sqrtl(square);
    make_circle(ret->by_row, t->rows, backward);
    make_circle(ret->by_column, ret->n, backward);
}

static struct point sum(const struct transform *t, const struct direct *d, int64_t row, int64_t column)
{
    struct point total = {0, 0};
    for (int64_t i = 0; i < t->rows; i++) {
        struct point line = {0, 0};
        for (int64_t j = 0; j < d->n; j++) {
            const struct point x = d->points[i * d->n + j], w = d->by_column[j * column % d->n];
            line.re += x.re * w.re - x.im * w.im;
            line.im += x.re * w.im + x.im * w.re;
        }
        const struct point w = d->by_row[i * row % t->rows];
        total.re += line.re * w.re - line.im * w.im;
        total.im += line.re * w.im + line.im * w.re;
    }
    return total;
}

/* |error| <= |errors|_2 <= c gamma_k |y|_2 with k = log2 of the points, and |y|_2 = sqrt(points) |x|_2
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 24.2). */
static struct kit_cell cell_of(const struct transform *t, const struct direct *d, long double value)
{
    const int64_t points = t->rows * d->n;
    int64_t k = 1;
    while ((int64_t)1 << k < points) {
        k++;
    }
    return (struct kit_cell){.value = value, .scale = sqrtl((long double)points) * d->norm, .k = k};
}

/* Cells ascend, so each transform is loaded once. */
static void sum_cells(const struct transform *t, const void *x, struct direct *d, const int64_t *cells,
                      size_t count, struct kit_cell *ret)
{
    const int parts = t->kind == C2R ? 1 : 2;
    const int64_t columns = t->kind == R2C ? t->n / 2 + 1 : t->n;
    const int64_t all = t->kind == R2C ? t->rows * columns : start_of(t, t->lengths);
    for (size_t i = 0; i < count; i++) {
        const int64_t sample = cells[i] / parts / all, at = cells[i] / parts % all;
        int64_t index = sample == d->sample ? d->index : 0;
        while (index + 1 < t->lengths && start_of(t, index + 1) <= at) {
            index++;
        }
        if (sample != d->sample || index != d->index) {
            load(t, x, sample, index, d);
        }
        const int64_t own = at - start_of(t, index), width = t->lengths > 1 ? d->n : columns;
        const struct point value = sum(t, d, own / width, own % width);
        ret[i] = cell_of(t, d, parts == 2 && cells[i] % 2 ? value.im : value.re);
    }
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct transform *const t = &((const struct state *)call->state)->t;
    const size_t longest = (size_t)length_of(t, t->lengths - 1), rows = (size_t)t->rows;
    struct direct d = {.sample = -1,
                       .points = dp_alloc(rows * longest, sizeof(*d.points)),
                       .by_row = dp_alloc(rows, sizeof(*d.by_row)),
                       .by_column = dp_alloc(longest, sizeof(*d.by_column))};
    (void)output;
    sum_cells(t, in[X], &d, cells, count, ret);
    free(d.points);
    free(d.by_row);
    free(d.by_column);
    return KIT_OK;
}

#define OP(title, stem)                                                                                      \
    {                                                                                                        \
        .name = title, .describe = describe_##stem, .prepare = prepare_##stem, .run = run,                   \
        .reference = reference, .release = release                                                           \
    }

int main(void)
{
    static const struct op dft = OP("dft", dft), r2c = OP("dft-r2c", r2c), c2r = OP("dft-c2r", c2r);
    static const struct op *const ops[] = {&dft, &r2c, &c2r, NULL};
    static const struct kit_program program = {.name = "fft",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = fft_open,
                                               .libraries = fft_libraries,
                                               .set_threads = fft_set_threads,
                                               .concurrent = true};
    return kit_main(&program);
}
