/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cblas: which file it is, what it calls itself, how its threads are counted. Every implementation
 * has its own names for the last two; the table says which ones exist in the library that was opened.
 */
#include "probes/cpu/cblas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct cblas cblas;
static void *library;

static int load_routines(void)
{
#define CBLAS_LOAD(routine)                                                                                  \
    *(void **)&cblas.routine = dlsym(library, "cblas_" #routine);                                            \
    if (!cblas.routine) {                                                                                    \
        return kit_skip("library_missing", "the CBLAS library does not export '%s'", "cblas_" #routine);     \
    }
    CBLAS_ROUTINES(CBLAS_LOAD)
#undef CBLAS_LOAD
    return KIT_OK;
}

int cblas_open(void)
{
    static const char *const sonames[] = {"libcblas.so.3",  "libblas.so.3", "libopenblas.so.0",
                                          "libmkl_rt.so.2", "libblis.so.4", NULL};
    library = kit_open_role("cblas", sonames, "cblas_sgemm");
    return library ? load_routines() : KIT_SKIPPED;
}

/* Names of one implementation's own functions. */
static const struct {
    const char *name, *set_threads, *get_threads;
} implementations[] = {
    {"OpenBLAS", "openblas_set_num_threads", "openblas_get_num_threads"},
    {"MKL", "MKL_Set_Num_Threads", "MKL_Get_Max_Threads"},
    {"BLIS", "bli_thread_set_num_threads", "bli_thread_get_num_threads"},
};
#define IMPLEMENTATIONS (sizeof(implementations) / sizeof(implementations[0]))

/* Index of the implementation that the opened library is, or -1 (the reference BLAS has none of them). */
static int implementation(void)
{
    for (size_t i = 0; i < IMPLEMENTATIONS; i++) {
        if (dlsym(library, implementations[i].set_threads) &&
            dlsym(library, implementations[i].get_threads)) {
            return (int)i;
        }
    }
    return -1;
}

#define OPENBLAS_USES_OPENMP 2 /* what openblas_get_parallel returns then */

/* A function of the OpenMP runtime that the library computes on, or NULL. The runtime is behind the library,
 * which was opened with a scope of its own. */
static void *openmp_symbol(const char *name)
{
    int (*parallel)(void);
    *(void **)&parallel = dlsym(library, "openblas_get_parallel");
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
    const int which = implementation();
    if (which < 0) {
        return 0;
    }
    *(void **)&set = dlsym(library, implementations[which].set_threads);
    *(void **)&get = dlsym(library, implementations[which].get_threads);
    if (threads > 0) {
        set(threads);
    }
    /* BLIS says -1 until a count is set; it runs one thread then */
    const int count = (int)get();
    return openmp_threads(threads, count > 0 ? count : 1);
}

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH Haswell MAX_THREADS=64" -> "0.3.21". */
static void version_from(const char *config, char *ret, size_t size)
{
    const char *const number = strpbrk(config, "0123456789");
    const size_t length = number ? strcspn(number, " ") : 0;
    if (length > 0 && length < size) {
        memcpy(ret, number, length);
        ret[length] = '\0';
    }
}

/* The loader's view: the routine may live in a library behind the one that was opened. */
int cblas_libraries(struct kit_library *ret, int max)
{
    const int which = implementation();
    const char *(*text)(void);
    *ret = (struct kit_library){.role = "cblas"};
    kit_path_of(*(void **)&cblas.sgemm, ret->path, sizeof(ret->path));
    snprintf(ret->name, sizeof(ret->name), "%s", which < 0 ? "CBLAS" : implementations[which].name);
    *(void **)&text = dlsym(library, "openblas_get_config");
    if (text) {
        snprintf(ret->config, sizeof(ret->config), "%s", text());
        version_from(ret->config, ret->version, sizeof(ret->version));
    }
    *(void **)&text = dlsym(library, "openblas_get_corename");
    if (text) { /* the kernels in use: the configuration may name those it was built for */
        const size_t length = strlen(ret->config);
        char path[sizeof(ret->path)];
        kit_path_of(*(void **)&text, path, sizeof(path));
        snprintf(ret->config + length, sizeof(ret->config) - length, " core=%s%s%s", text(),
                 strcmp(path, ret->path) ? " kernels=" : "", strcmp(path, ret->path) ? path : "");
    }
    *(void **)&text = dlsym(library, "bli_info_get_version_str");
    if (text) {
        snprintf(ret->version, sizeof(ret->version), "%s", text());
    }
    void (*mkl_version)(char *, int);
    *(void **)&mkl_version = dlsym(library, "MKL_Get_Version_String");
    if (mkl_version) {
        mkl_version(ret->version, (int)sizeof(ret->version));
    }
    const void *const runtime = openmp_symbol("omp_get_max_threads");
    if (!runtime || max < 2) {
        return 1;
    }
    kit_openmp_at(runtime, &ret[1]);
    return 2;
}

void *cblas_find(void *of, const char *name)
{
    return dlsym(of, name);
}

/* An implementation's own functions are in one file, its routines may be in several that stand before it. */
bool cblas_is_behind(void *other)
{
    const int which = implementation();
    const char *const own = which < 0 ? "sgemm_" : implementations[which].set_threads;
    const void *const address = cblas_find(library, own);
    return address && address == cblas_find(other, own);
}
