/* SPDX-License-Identifier: Apache-2.0
 *
 * What MKL says of itself. libmkl_rt is a front that opens its layers (integers, threads, kernels) when it is
 * first asked for something; which ones it took is seen in the process alone.
 */
#include "probes/cpu/cblas_mkl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* Arguments and answers of MKL_CBWR_Get. */
enum { CBWR_ALL = ~0, CBWR_STRICT = 0x10000 };

static const char *const branches[] = {
    [0] = "off",   [1] = "off",         [2] = "auto",    [3] = "compatible",     [4] = "sse2",
    [5] = "sse3",  [6] = "ssse3",       [7] = "sse4_1",  [8] = "sse4_2",         [9] = "avx",
    [10] = "avx2", [11] = "avx512_mic", [12] = "avx512", [13] = "avx512_mic_e1", [14] = "avx512_e1",
};
#define BRANCHES ((int)(sizeof(branches) / sizeof(branches[0])))

void mkl_hold_threads(void *library, int threads)
{
    static int usual = -1; /* MKL_DYNAMIC, as the process began */
    int (*count)(void);
    int (*dynamic)(void);
    void (*set_dynamic)(int);
    *(void **)&count = dlsym(library, "MKL_Get_Max_Threads");
    *(void **)&dynamic = dlsym(library, "MKL_Get_Dynamic");
    *(void **)&set_dynamic = dlsym(library, "MKL_Set_Dynamic");
    if (!count || !dynamic || !set_dynamic) {
        return;
    }
    usual = usual < 0 ? dynamic() : usual;
    set_dynamic(usual);
    if (count() != threads) {
        set_dynamic(0);
    }
}

/* A library of this process whose name begins with one of some words. */
struct search {
    const char *const *words;
    const char *name; /* points into the loader's own text */
    const void *inside;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *const search = context;
    const char *const slash = strrchr(info->dlpi_name, '/');
    const char *const name = slash ? slash + 1 : info->dlpi_name;
    for (int i = 0; search->words[i]; i++) {
        if (strncmp(name, search->words[i], strlen(search->words[i])) == 0) {
            search->name = name;
            search->inside = (const void *)info->dlpi_addr; /* its headers are in its first segment */
            return 1;
        }
    }
    return 0;
}

static struct search find_loaded(const char *const *words)
{
    struct search search = {.words = words};
    dl_iterate_phdr(look_at_object, &search);
    return search;
}

/* " threads=intel_thread" of "libmkl_intel_thread.so.2". */
static void put_layer(char *text, size_t size, const char *label, const char *const *words)
{
    const struct search found = find_loaded(words);
    const size_t length = strlen(text), prefix = strlen("libmkl_");
    if (found.name) {
        const char *const layer = found.name + prefix;
        snprintf(text + length, size - length, " %s=%.*s", label, (int)strcspn(layer, "."), layer);
    }
}

void mkl_describe(void *library, struct kit_library *ret)
{
    static const char *const integers[] = {"libmkl_intel_lp64.", "libmkl_intel_ilp64.", "libmkl_gf_lp64.",
                                           "libmkl_gf_ilp64.", NULL};
    static const char *const threads[] = {"libmkl_intel_thread.", "libmkl_gnu_thread.", "libmkl_tbb_thread.",
                                          "libmkl_sequential.", NULL};
    void (*version)(char *, int);
    int (*cbwr)(int);
    *(void **)&version = dlsym(library, "MKL_Get_Version_String");
    *(void **)&cbwr = dlsym(library, "MKL_CBWR_Get");
    if (version) {
        char text[sizeof(ret->config)];
        version(text, (int)sizeof(text));
        snprintf(ret->config, sizeof(ret->config), "%s", text);
    }
    if (cbwr) {
        const int all = cbwr(CBWR_ALL), branch = all & ~CBWR_STRICT;
        const size_t length = strlen(ret->config);
        const char *const name = branch >= 0 && branch < BRANCHES ? branches[branch] : NULL;
        char number[16];
        snprintf(number, sizeof(number), "%d", branch);
        snprintf(ret->isa, sizeof(ret->isa), "%s", name ? name : number);
        snprintf(ret->config + length, sizeof(ret->config) - length, " cbwr=%s%s", name ? name : number,
                 all != branch ? ",strict" : "");
    }
    put_layer(ret->config, sizeof(ret->config), "integers", integers);
    put_layer(ret->config, sizeof(ret->config), "threads", threads);
}

bool mkl_openmp(void *library, struct kit_library *ret)
{
    static const char *const runtimes[] = {"libiomp5.", "libgomp", "libomp.", NULL};
    const struct search found =
        dlsym(library, "MKL_Get_Max_Threads") ? find_loaded(runtimes) : (struct search){0};
    if (found.inside) {
        kit_openmp_at(found.inside, ret);
    }
    return found.inside != NULL;
}
