/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions over vectors, as the C library gives them one by one and as its vector library
 * (libmvec, which compilers call from vectorised loops) gives them several at once. Each is a pure function,
 * so it repeats; what moves bits is who computes an element. Threads take ranges, a range is done in whole
 * vectors and its rest one by one: with another number of threads another element is part of a rest, and
 * another vector length is another implementation. Source of the names: x86-64 vector function ABI,
 * section 2.6.
 */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"

struct function {
    const char *name; /* of the f64 form; the f32 form has an f behind it */
    bool two;         /* takes two operands */
    bool positive;    /* takes the magnitude of its first one: elsewhere it is not defined */
    double (*f64)(double), (*f64_two)(double, double);
    float (*f32)(float), (*f32_two)(float, float);
    long double (*exact)(long double), (*exact_two)(long double, long double);
};
#define ONE(name, positive)                                                                                  \
    {                                                                                                        \
#name, false, positive, name, NULL, name##f, NULL, name##l, NULL                                     \
    }
#define TWO(name, positive)                                                                                  \
    {                                                                                                        \
#name, true, positive, NULL, name, NULL, name##f, NULL, name##l                                      \
    }
static const struct function functions[] = {
    ONE(exp, false),   ONE(exp2, false),  ONE(expm1, false), ONE(log, true),   ONE(log2, true),
    ONE(sin, false),   ONE(cos, false),   ONE(tan, false),   ONE(sinh, false), ONE(cosh, false),
    ONE(tanh, false),  ONE(atan, false),  ONE(erf, false),   ONE(cbrt, false), TWO(pow, true),
    TWO(atan2, false), TWO(hypot, false),
};
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

/* What a call needs: the function, and for whole vectors the entry of the vector library. */
struct callee {
    const struct function *function;
    void *vector;
};
typedef void map_function(const struct callee *callee, const void *x, const void *y, void *out, int64_t n);

struct state {
    struct callee callee;
    enum kit_dtype dtype;
    map_function *map;
};

static void *vector_library; /* NULL: none here */

/* ---- one by one ---- */

static void scalar_f64(const struct callee *callee, const void *x, const void *y, void *out, int64_t n)
{
    const struct function *f = callee->function;
    for (int64_t i = 0; i < n; i++) {
        const double a = ((const double *)x)[i], first = f->positive ? fabs(a) : a;
        ((double *)out)[i] = f->two ? f->f64_two(first, ((const double *)y)[i]) : f->f64(first);
    }
}

static void scalar_f32(const struct callee *callee, const void *x, const void *y, void *out, int64_t n)
{
    const struct function *f = callee->function;
    for (int64_t i = 0; i < n; i++) {
        const float a = ((const float *)x)[i], first = f->positive ? fabsf(a) : a;
        ((float *)out)[i] = f->two ? f->f32_two(first, ((const float *)y)[i]) : f->f32(first);
    }
}

/* ---- several at once ---- */

#ifdef __x86_64__
#define TARGET
#define NAME(what) what##_sse_f64
#define TYPE double
#define LANES 2
#define REST scalar_f64
#include "probes/cpu/libm_kernels.h"
#define TARGET
#define NAME(what) what##_sse_f32
#define TYPE float
#define LANES 4
#define REST scalar_f32
#include "probes/cpu/libm_kernels.h"
#define TARGET __attribute__((target("avx2")))
#define NAME(what) what##_avx2_f64
#define TYPE double
#define LANES 4
#define REST scalar_f64
#include "probes/cpu/libm_kernels.h"
#define TARGET __attribute__((target("avx2")))
#define NAME(what) what##_avx2_f32
#define TYPE float
#define LANES 8
#define REST scalar_f32
#include "probes/cpu/libm_kernels.h"
#define TARGET __attribute__((target("avx512f")))
#define NAME(what) what##_avx512_f64
#define TYPE double
#define LANES 8
#define REST scalar_f64
#include "probes/cpu/libm_kernels.h"
#define TARGET __attribute__((target("avx512f")))
#define NAME(what) what##_avx512_f32
#define TYPE float
#define LANES 16
#define REST scalar_f32
#include "probes/cpu/libm_kernels.h"

static bool has_sse4(void)
{
    return __builtin_cpu_supports("sse4.1");
}
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
#endif

/* The vector lengths, the longest first: what a compiler takes that may use all of the processor. */
static const struct length {
    const char *name;
    char letter; /* in the names of the vector function ABI */
    int bytes;
    bool (*runs)(void);
    map_function *map[2]; /* f64, f32 */
} lengths[] = {
#ifdef __x86_64__
    {"avx512", 'e', 64, has_avx512, {map_avx512_f64, map_avx512_f32}},
    {"avx2", 'd', 32, has_avx2, {map_avx2_f64, map_avx2_f32}},
    {"sse4", 'b', 16, has_sse4, {map_sse_f64, map_sse_f32}},
#endif
    {"scalar", '\0', 0, NULL, {scalar_f64, scalar_f32}},
};
enum { LENGTH_COUNT = sizeof(lengths) / sizeof(lengths[0]) };

/* The entry of the vector library, such as _ZGVdN8v_expf; NULL: it has none. */
static void *entry_of(const struct function *f, const struct length *length, enum kit_dtype dtype,
                      char *ret_name, size_t size)
{
    const int lanes = length->bytes / (int)kit_dtype_size(dtype);
    snprintf(ret_name, size, "_ZGV%cN%d%s_%s%s", length->letter, lanes, f->two ? "vv" : "v", f->name,
             dtype == KIT_F32 ? "f" : "");
    return vector_library ? dlsym(vector_library, ret_name) : NULL;
}

static int read_params(const struct kit_params *params, const struct function **ret,
                       enum kit_dtype *ret_dtype)
{
    const char *routine;
    if (kit_param_string(params, "routine", &routine)) {
        return KIT_FAILED;
    }
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        const size_t length = strlen(functions[i].name);
        if (strncmp(routine, functions[i].name, length) == 0 &&
            (!routine[length] || strcmp(routine + length, "f") == 0)) {
            *ret = &functions[i];
            *ret_dtype = routine[length] ? KIT_F32 : KIT_F64;
            return KIT_OK;
        }
    }
    return kit_fail("unknown routine '%s'", routine);
}

static struct kit_operand vector_of(const char *name, enum kit_role role, enum kit_dtype dtype, int64_t rows,
                                    int64_t n)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = dtype, .ndim = 2, .shape = {rows, n}, .batch_dim = 0};
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    const struct function *f;
    enum kit_dtype dtype;
    int64_t rows, n;
    if (read_params(params, &f, &dtype) || kit_param_int(params, "rows", &rows) ||
        kit_param_int(params, "n", &n)) {
        return KIT_FAILED;
    }
    ret->operand[ret->count++] = vector_of("x", KIT_IN, dtype, rows, n);
    if (f->two) {
        ret->operand[ret->count++] = vector_of("y", KIT_IN, dtype, rows, n);
    }
    ret->operand[ret->count++] = vector_of("result", KIT_OUT, dtype, rows, n);
    ret->flops = (double)rows * (double)n;
    return KIT_OK;
}

/* ---- which form ---- */

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    static const char *names[LENGTH_COUNT];
    const struct function *f;
    enum kit_dtype dtype;
    char entry[64];
    if (read_params(params, &f, &dtype)) {
        return KIT_FAILED;
    }
    *ret_count = 0;
    *ret_names = names;
    for (int i = 0; i < LENGTH_COUNT; i++) {
        if (!lengths[i].runs ||
            (lengths[i].runs() && entry_of(f, &lengths[i], dtype, entry, sizeof(entry)))) {
            names[(*ret_count)++] = lengths[i].name;
        }
    }
    return KIT_OK;
}

static int choose(struct state *state, const struct length *length, struct kit_prepared *ret)
{
    state->map = length->map[state->dtype == KIT_F32];
    if (!length->runs) {
        snprintf(ret->chosen, sizeof(ret->chosen), "%s%s", state->callee.function->name,
                 state->dtype == KIT_F32 ? "f" : "");
        return KIT_OK;
    }
    state->callee.vector =
        entry_of(state->callee.function, length, state->dtype, ret->chosen, sizeof(ret->chosen));
    return length->runs() && state->callee.vector
               ? KIT_OK
               : kit_skip("unsupported", "%s: %s", ret->chosen,
                          length->runs() ? "the vector library has no such function"
                                         : "not on this processor");
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *state = calloc(1, sizeof(*state));
    const char *const *names;
    int count;
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    if (read_params(call->params, &state->callee.function, &state->dtype) ||
        choices(call->params, &names, &count)) {
        return KIT_FAILED;
    }
    const char *choice = call->choice ? call->choice : names[0];
    for (int i = 0; i < LENGTH_COUNT; i++) {
        if (strcmp(lengths[i].name, choice) == 0) {
            return choose(state, &lengths[i], ret);
        }
    }
    return kit_skip("unsupported", "vectors of '%s' are not of this architecture", choice);
}

/* ---- run, and what is right ---- */

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    const bool two = state->callee.function->two;
    const struct kit_operand *x = &call->shape->operand[0];
    const int64_t count = x->shape[0] * x->shape[1];
    const size_t size = kit_dtype_size(state->dtype);
#pragma omp parallel num_threads(call->threads)
    {
        const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t first = count * thread / threads, end = count * (thread + 1) / threads;
        const size_t offset = (size_t)first * size;
        state->map(&state->callee, (const char *)buffers->data[0] + offset,
                   two ? (const char *)buffers->data[1] + offset : NULL,
                   (char *)buffers->data[1 + two] + offset, end - first);
    }
    return KIT_OK;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *state = call->state;
    const struct function *f = state->callee.function;
    for (size_t c = 0; c < count; c++) {
        const long double x = kit_value(state->dtype, in[0], cells[c]), first = f->positive ? fabsl(x) : x;
        const long double value =
            f->two ? f->exact_two(first, kit_value(state->dtype, in[1], cells[c])) : f->exact(first);
        ret[c] = (struct kit_cell){.value = value, .scale = fabsl(value), .k = 1};
    }
    return KIT_OK;
}

static int open_libraries(void)
{
    vector_library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    return KIT_OK;
}

/* What glibc's functions are chosen by: the processor's features without those that GLIBC_TUNABLES takes
 * away, as levels of the x86-64 psABI. "": an older glibc does not tell. */
static void read_level(char *ret, size_t size)
{
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
    const char *level = "x86-64";
    if (CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512DQ)) {
        level = "x86-64-v4";
    } else if (CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA)) {
        level = "x86-64-v3";
    } else if (CPU_FEATURE_ACTIVE(SSE4_1) && CPU_FEATURE_ACTIVE(SSE4_2)) {
        level = "x86-64-v2";
    }
    snprintf(ret, size, "%s", level);
#endif
}

static int libraries(struct kit_library *ret, int max)
{
    double (*const defined)(double) = exp;
    void *vector = vector_library ? dlsym(vector_library, "_ZGVbN2v_exp") : NULL;
    int count = 0;
    if (count < max) {
        ret[count] = (struct kit_library){.role = "libm", .name = "glibc libm"};
        snprintf(ret[count].version, sizeof(ret[count].version), "%s", gnu_get_libc_version());
        read_level(ret[count].isa, sizeof(ret[count].isa));
        kit_path_of((const void *)(uintptr_t)defined, ret[count].path, sizeof(ret[count].path));
        count++;
    }
    if (vector && count < max) {
        ret[count] = (struct kit_library){.role = "libmvec", .name = "glibc libmvec"};
        snprintf(ret[count].version, sizeof(ret[count].version), "%s", gnu_get_libc_version());
        kit_path_of(vector, ret[count].path, sizeof(ret[count].path));
        count++;
    }
    return count;
}

static const struct op map = {
    .name = "map",
    .describe = describe,
    .choices = choices,
    .prepare = prepare,
    .run = run,
    .reference = reference,
    .release = kit_free_state,
};

int main(void)
{
    static const struct op *const ops[] = {&map, NULL};
    static const struct kit_program program = {.name = "libm",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .default_threads = 4,
                                               .open = open_libraries,
                                               .libraries = libraries,
                                               .concurrent = true};
    return kit_main(&program);
}
