/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cblas: which file it is, how its functions are called, what it calls itself, how its threads are
 * counted. Every implementation has its own names for the last two; a table says which ones exist in the
 * library that was opened.
 */
#include "probes/cpu/cblas.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probes/cpu/cblas_mkl.h"

struct cblas cblas;
static void *library;

/* --- routines --- */

/* The real header's extents are as wide as its own library's. */
#define CBLAS_AGREES(routine, returned, arguments, real)                                                     \
    _Static_assert(                                                                                          \
        __builtin_types_compatible_p(__typeof__(cblas_##routine), returned arguments(int, real)) ||          \
            __builtin_types_compatible_p(__typeof__(cblas_##routine), returned arguments(int64_t, real)),    \
        "cblas.h declares another cblas_" #routine);
CBLAS_ROUTINES(CBLAS_AGREES)
#undef CBLAS_AGREES

/* What stands around every name of an OpenBLAS that was built to live beside another one: in wheels of NumPy
 * "scipy_cblas_sgemm64_", formerly "cblas_sgemm64_", with 64-bit integers; in wheels of SciPy
 * "scipy_cblas_sgemm". */
static const struct affix {
    const char *prefix, *suffix;
} affixes[] = {{"", ""}, {"scipy_", "64_"}, {"scipy_", ""}, {"", "64_"}};
#define AFFIXES (sizeof(affixes) / sizeof(affixes[0]))
static const struct affix *affix = affixes; /* of the library that was opened */

void *cblas_find(void *of, const char *name)
{
    char symbol[96];
    snprintf(symbol, sizeof(symbol), "%s%s%s", affix->prefix, name, affix->suffix);
    return dlsym(of, symbol);
}

static void *find(const char *name)
{
    return cblas_find(library, name);
}

void *cblas_open_role(const char *role, const char *const *sonames, const char *name)
{
    char symbols[4 * 96] = "";
    for (size_t i = 0, length = 0; i < AFFIXES; i++, length = strlen(symbols)) {
        snprintf(symbols + length, sizeof(symbols) - length, "%s%s%s%s", i ? "|" : "", affixes[i].prefix,
                 name, affixes[i].suffix);
    }
    return kit_open_role(role, sonames, symbols);
}

static int load_routines(void)
{
    while (affix < affixes + AFFIXES - 1 && !find("cblas_sgemm")) {
        affix++;
    }
#define CBLAS_LOAD(routine, returned, arguments, real)                                                       \
    *(void **)&cblas.routine = find("cblas_" #routine);                                                      \
    if (!cblas.routine) {                                                                                    \
        return kit_skip("library_missing", "the CBLAS library does not export '%scblas_" #routine "%s'",     \
                        affix->prefix, affix->suffix);                                                       \
    }
    CBLAS_ROUTINES(CBLAS_LOAD)
#undef CBLAS_LOAD
    return KIT_OK;
}

int cblas_open(void)
{
    static const char *const sonames[] = {"libcblas.so.3",
                                          "libblas.so.3",
                                          "libopenblas.so.0",
                                          "libmkl_rt.so.3",
                                          "libmkl_rt.so.2",
                                          "libblis.so.4",
                                          NULL};
    library = cblas_open_role("cblas", sonames, "cblas_sgemm");
    return library ? load_routines() : KIT_SKIPPED;
}

/* --- what implementations say of themselves --- */

static void add_config(struct kit_library *ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_config(struct kit_library *ret, const char *format, ...)
{
    const size_t length = strlen(ret->config);
    va_list args;
    va_start(args, format);
    vsnprintf(ret->config + length, sizeof(ret->config) - length, format, args);
    va_end(args);
}

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH Haswell MAX_THREADS=64" -> "0.3.21"; "Version 2026.2-Product" ->
 * "2026.2". */
static void version_from(const char *config, char *ret, size_t size)
{
    const char *const number = strpbrk(config, "0123456789");
    const size_t length = number ? strcspn(number, " -") : 0;
    if (length > 0 && length < size) {
        memcpy(ret, number, length);
        ret[length] = '\0';
    }
}

static void describe_openblas(struct kit_library *ret)
{
    const char *(*text)(void);
    *(void **)&text = find("openblas_get_config");
    if (text) {
        add_config(ret, "%s", text());
        version_from(ret->config, ret->version, sizeof(ret->version));
    }
    *(void **)&text = find("openblas_get_corename");
    if (text) { /* the kernels in use: the configuration may name those it was built for */
        char path[sizeof(ret->path)];
        kit_path_of(*(void **)&text, path, sizeof(path));
        snprintf(ret->isa, sizeof(ret->isa), "%s", text());
        add_config(ret, " core=%s%s%s", text(), strcmp(path, ret->path) ? " kernels=" : "",
                   strcmp(path, ret->path) ? path : "");
    }
    if (affix->prefix[0] || affix->suffix[0]) {
        add_config(ret, " symbols=%s*%s", affix->prefix, affix->suffix);
    }
}

static void describe_mkl(struct kit_library *ret)
{
    mkl_describe(library, ret);
    version_from(ret->config, ret->version, sizeof(ret->version));
}

static void describe_blis(struct kit_library *ret)
{
    const char *(*version)(void);
    int (*arch)(void);
    const char *(*arch_name)(int);
    *(void **)&version = find("bli_info_get_version_str");
    *(void **)&arch = find("bli_arch_query_id");
    *(void **)&arch_name = find("bli_arch_string");
    if (version) {
        snprintf(ret->version, sizeof(ret->version), "%s", version());
    }
    if (arch && arch_name) {
        add_config(ret, "core=%s", arch_name(arch()));
    }
}

/* The reference BLAS says nothing: "libblas.so.3.11.0" -> "3.11.0", but nothing of "libblas.so.3", which is
 * the version of its interface. */
static void describe_file(struct kit_library *ret)
{
    const char *const suffix = strstr(ret->path, ".so.");
    const char *const version = suffix ? suffix + strlen(".so.") : "";
    if (strchr(version, '.')) {
        snprintf(ret->version, sizeof(ret->version), "%.60s", version);
    }
}

/* Names of one implementation's own functions, and what else is its own. */
static const struct implementation {
    const char *name, *set_threads, *get_threads;
    void (*describe)(struct kit_library *ret);
} implementations[] = {
    {"OpenBLAS", "openblas_set_num_threads", "openblas_get_num_threads", describe_openblas},
    {"MKL", "MKL_Set_Num_Threads", "MKL_Get_Max_Threads", describe_mkl},
    {"BLIS", "bli_thread_set_num_threads", "bli_thread_get_num_threads", describe_blis},
    {"CBLAS", NULL, NULL, describe_file}, /* the reference BLAS; or BLIS where it hides its own names */
};

static const struct implementation *implementation(void)
{
    const struct implementation *row = implementations;
    while (row->set_threads && !(find(row->set_threads) && find(row->get_threads))) {
        row++;
    }
    return row;
}

/* --- threads --- */

#define OPENBLAS_USES_OPENMP 2 /* what openblas_get_parallel returns then */

/* A function of the OpenMP runtime that an OpenBLAS computes on, or NULL. The runtime is behind the library,
 * which was opened with a scope of its own. */
static void *openmp_symbol(const char *name)
{
    int (*parallel)(void);
    *(void **)&parallel = find("openblas_get_parallel");
    return parallel && parallel() == OPENBLAS_USES_OPENMP ? dlsym(library, name) : NULL;
}

/* An OpenBLAS on OpenMP runs as many threads as that runtime says; since 0.3.23 its setter does not pass the
 * count on (OpenMathLib/OpenBLAS#5806), and its getter repeats what was set. Returns what the runtime says,
 * or `count` without one. */
static int openmp_threads(int threads, int count)
{
    int (*most)(void);
    void (*set)(int);
    *(void **)&set = openmp_symbol("omp_set_num_threads");
    *(void **)&most = openmp_symbol("omp_get_max_threads");
    if (!set || !most) {
        return count;
    }
    if (threads > 0) {
        set(threads);
    }
    return most() < count ? most() : count;
}

int cblas_set_threads(int threads)
{
    /* BLIS counts in 64 bits, the others in int: wide arguments serve both, results are cut to int */
    void (*set)(long);
    long (*get)(void);
    const struct implementation *const own = implementation();
    if (!own->set_threads) {
        return 0;
    }
    *(void **)&set = find(own->set_threads);
    *(void **)&get = find(own->get_threads);
    if (threads > 0) {
        set(threads);
        mkl_hold_threads(library, threads);
    }
    /* BLIS says -1 until a count is set; it runs one thread then. Built without threads it says what it was
     * told. */
    int (*threading)(void);
    *(void **)&threading = find("bli_info_get_enable_threading");
    const int count = threading && !threading() ? 1 : (int)get();
    return openmp_threads(threads, count > 0 ? count : 1);
}

/* The loader's view: the routine may live in a library behind the one that was opened. */
int cblas_libraries(struct kit_library *ret, int max)
{
    const struct implementation *const own = implementation();
    *ret = (struct kit_library){.role = "cblas"};
    kit_path_of(*(void **)&cblas.sgemm, ret->path, sizeof(ret->path));
    snprintf(ret->name, sizeof(ret->name), "%s", own->name);
    own->describe(ret);
    if (max < 2) {
        return 1;
    }
    const void *const runtime = dlsym(library, "omp_get_max_threads"); /* behind the library */
    if (runtime) {
        kit_openmp_at(runtime, &ret[1]);
        return 2;
    }
    return mkl_openmp(library, &ret[1]) ? 2 : 1;
}

/* An implementation's own functions are in one file, its routines may be in several that stand before it. */
bool cblas_is_behind(void *other)
{
    const char *const own = implementation()->set_threads ? implementation()->set_threads : "sgemm_";
    const void *const address = find(own);
    return address && address == cblas_find(other, own);
}
