/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of caps. What a level needs is what its kernels use: a library that is forced onto kernels which
 * the processor cannot run does not refuse, it ends in SIGILL. Sources: OpenBLAS 0.3.21, driver/others/
 * dynamic.c; oneDNN developer guide, CPU Dispatcher Control; oneMKL developer guide, Specifying Code
 * Branches; GNU C Library manual, Hardware Capability Tunables, and the x86-64 psABI's levels. MKL's
 * SSE3 has no row, it is SSE2 by another name. Level `default` takes one level of each generation of
 * processors.
 */
#include "suite/plan/caps.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

#define AVX512 "avx512f avx512bw avx512cd avx512dq avx512vl"
#define HWCAPS "glibc.cpu.hwcaps="

/* What the C library is to leave aside, from the newest on; older ones know names that end in _Usable. */
#define NO_V4                                                                                                \
    "-AVX512F,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX512VL,-AVX512F_Usable,-AVX512DQ_Usable,-AVX512VL_Usable"
#define NO_V3 NO_V4 ",-AVX,-AVX2,-FMA,-FMA4,-AVX_Usable,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"
#define NO_V2 NO_V3 ",-SSSE3,-SSE4_1,-SSE4_2,-POPCNT"

static const struct dp_cap caps[] = {
#ifdef __x86_64__
    {"openblas/Prescott", "OpenBLAS", "pni", NULL, NULL, true},
    {"openblas/Core2", "OpenBLAS", "ssse3", NULL, NULL, false},
    {"openblas/Penryn", "OpenBLAS", "sse4_1", NULL, NULL, false},
    {"openblas/Dunnington", "OpenBLAS", "sse4_1", NULL, NULL, false},
    {"openblas/Nehalem", "OpenBLAS", "sse4_2", NULL, NULL, true},
    {"openblas/Atom", "OpenBLAS", "ssse3", NULL, NULL, false},
    {"openblas/Opteron", "OpenBLAS", "pni 3dnow", NULL, NULL, false},
    {"openblas/Barcelona", "OpenBLAS", "pni 3dnowprefetch", NULL, NULL, false},
    {"openblas/Bobcat", "OpenBLAS", "pni 3dnowprefetch", NULL, NULL, false},
    {"openblas/Sandybridge", "OpenBLAS", "avx", NULL, NULL, true},
    {"openblas/Bulldozer", "OpenBLAS", "avx fma4", NULL, NULL, false},
    {"openblas/Piledriver", "OpenBLAS", "avx fma fma4", NULL, NULL, false},
    {"openblas/Steamroller", "OpenBLAS", "avx fma fma4", NULL, NULL, false},
    {"openblas/Excavator", "OpenBLAS", "avx2 fma fma4", NULL, NULL, false},
    {"openblas/Haswell", "OpenBLAS", "avx2 fma", NULL, NULL, true},
    {"openblas/Zen", "OpenBLAS", "avx2 fma", NULL, NULL, true},
    {"openblas/SkylakeX", "OpenBLAS", AVX512, NULL, NULL, true},
    {"openblas/Cooperlake", "OpenBLAS", AVX512 " avx512_bf16", NULL, NULL, false},
    {"openblas/SapphireRapids", "OpenBLAS", AVX512 " avx512_bf16 amx_tile amx_bf16", NULL, NULL, true},
    {"onednn/SSE41", "oneDNN", "sse4_1", NULL, NULL, true},
    {"onednn/AVX", "oneDNN", "avx", NULL, NULL, true},
    {"onednn/AVX2", "oneDNN", "avx2 fma", NULL, NULL, true},
    {"onednn/AVX2_VNNI", "oneDNN", "avx2 fma avx_vnni", NULL, NULL, false},
    {"onednn/AVX2_VNNI_2", "oneDNN", "avx2 fma avx_vnni avx_vnni_int8 avx_ne_convert", NULL, NULL, false},
    {"onednn/AVX512_CORE", "oneDNN", AVX512, NULL, NULL, true},
    {"onednn/AVX512_CORE_VNNI", "oneDNN", AVX512 " avx512_vnni", NULL, NULL, false},
    {"onednn/AVX512_CORE_BF16", "oneDNN", AVX512 " avx512_vnni avx512_bf16", NULL, NULL, false},
    {"onednn/AVX512_CORE_FP16", "oneDNN", AVX512 " avx512_vnni avx512_bf16 avx512_fp16", NULL, "AVX10_1_512",
     false},
    {"onednn/AVX512_CORE_AMX", "oneDNN", AVX512 " avx512_vnni avx512_bf16 amx_tile amx_int8 amx_bf16", NULL,
     "AVX10_1_512_AMX", true},
    {"mkl/COMPATIBLE", "MKL", "sse2", NULL, NULL, true},
    {"mkl/SSE2", "MKL", "sse2", NULL, NULL, false},
    {"mkl/SSSE3", "MKL", "ssse3", NULL, NULL, false},
    {"mkl/SSE4_2", "MKL", "sse4_2", NULL, NULL, true},
    {"mkl/AVX", "MKL", "avx", NULL, NULL, true},
    {"mkl/AVX2", "MKL", "avx2 fma", NULL, NULL, true},
    {"mkl/AVX512", "MKL", AVX512, NULL, NULL, true},
    {"mkl/AVX512_E1", "MKL", AVX512 " avx512_vnni", NULL, NULL, false},
    {"glibc/x86-64", "glibc libm", "sse2", HWCAPS NO_V2, NULL, true},
    {"glibc/x86-64-v2", "glibc libm", "sse4_2", HWCAPS NO_V3, NULL, true},
    {"glibc/x86-64-v3", "glibc libm", "avx2 fma", HWCAPS NO_V4, NULL, true},
    {"glibc/x86-64-v4", "glibc libm", AVX512, HWCAPS, NULL, true},
#endif
    {NULL, NULL, NULL, NULL, NULL, false},
};

/* The variables that a library reads; the last version to read a name may be long gone. */
static const struct {
    const char *library;
    const char *names[2];
} variables[] = {
    {"OpenBLAS", {"OPENBLAS_CORETYPE", NULL}},
    {"oneDNN", {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}},
    {"MKL", {"MKL_CBWR", NULL}},
    {"glibc libm", {"GLIBC_TUNABLES", NULL}},
};

const struct dp_cap *dp_caps(void)
{
    return caps;
}

const struct dp_cap *dp_cap_find(const char *setting)
{
    const struct dp_cap *cap = caps;
    while (cap->setting && strcmp(cap->setting, setting) != 0) {
        cap++;
    }
    return cap->setting ? cap : NULL;
}

const char *dp_cap_level(const struct dp_cap *cap)
{
    return strchr(cap->setting, '/') + 1;
}

bool dp_cap_is(const struct dp_cap *cap, const char *isa)
{
    return strcasecmp(isa, dp_cap_level(cap)) == 0 || (cap->alias && strcasecmp(isa, cap->alias) == 0);
}

/* MKL says "off" where nothing holds it, and "auto" where it was asked for a level that it refuses. */
static bool is_held(const char *isa)
{
    return strcasecmp(isa, "off") != 0 && strcasecmp(isa, "auto") != 0;
}

bool dp_cap_took(const struct dp_cap *cap, const char *isa, const char *base)
{
    if (!isa || !is_held(isa)) {
        return false;
    }
    for (const struct dp_cap *other = caps; other->setting; other++) {
        if (strcmp(other->library, cap->library) == 0 && other != cap && dp_cap_is(other, isa)) {
            return false; /* it fell back to another level, which has a cap of its own */
        }
    }
    return dp_cap_is(cap, isa) || !base || strcmp(isa, base) != 0;
}

char *dp_cap_lacks(const struct dp_cap *cap, const json_t *host)
{
    const json_t *has = json_object_get(host, "cpu_flags");
    for (const char *at = cap->flags; *at; at += strspn(at, " ")) {
        char *flag = dp_printf("%.*s", (int)strcspn(at, " "), at);
        if (!dp_json_array_has(has, flag)) {
            return flag;
        }
        at += strlen(flag);
        free(flag);
    }
    return NULL;
}

/* The user's other tunables, then ours: of two settings of one tunable the last one holds, and old versions
 * do not say so. */
static char *with_tunables(const char *value)
{
    struct dp_text text = DP_TEXT((size_t)1 << 17);
    const char *user = getenv("GLIBC_TUNABLES");
    for (const char *at = user ? user : ""; *at; at += strspn(at, ":")) {
        const size_t length = strcspn(at, ":");
        if (strncmp(at, HWCAPS, strlen(HWCAPS)) != 0) {
            dp_text_add(&text, at, length);
            dp_text_put(&text, ":");
        }
        at += length;
    }
    dp_text_put(&text, value);
    return dp_text_take(&text);
}

json_t *dp_cap_variables(const struct dp_cap *cap)
{
    json_t *set = json_object();
    char *value = cap->value ? with_tunables(cap->value) : dp_strdup(dp_cap_level(cap));
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        for (size_t k = 0; k < 2 && strcmp(variables[i].library, cap->library) == 0; k++) {
            if (variables[i].names[k]) {
                json_object_set_new(set, variables[i].names[k], json_string(value));
            }
        }
    }
    free(value);
    return set;
}

const char *dp_cap_own(const struct dp_cap *cap, const json_t *set)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        for (size_t k = 0; k < 2 && strcmp(variables[i].library, cap->library) == 0; k++) {
            if (variables[i].names[k] && json_object_get(set, variables[i].names[k])) {
                return variables[i].names[k];
            }
        }
    }
    return NULL;
}

const char *dp_hello_isa(const json_t *hello, const char *library)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(hello, "libraries"), i, item)
    {
        const char *isa = dp_json_string(item, "isa", NULL);
        if (isa && strcmp(dp_json_string(item, "name", ""), library) == 0) {
            return isa;
        }
    }
    return NULL;
}
