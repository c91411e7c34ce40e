/* SPDX-License-Identifier: Apache-2.0
 *
 * NVRTC: machine code for an architecture that it knows, else PTX for the newest one before, which the driver
 * compiles. Contraction is off, so that what a kernel computes is what its text says.
 */
#include "probes/kit/cuda_nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/cuda.h"
#include "probes/kit/cuda_kept.h"
#include "suite/base/text.h"

/* clang-format off */
#define NVRTC_FUNCTIONS(X) \
    X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs) \
    X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcCompileProgram) X(nvrtcGetProgramLogSize) \
    X(nvrtcGetProgramLog) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetPTXSize) X(nvrtcGetPTX)
/* clang-format on */

#define NVRTC_POINTER(name) __typeof__(name) *name;
static struct {
    NVRTC_FUNCTIONS(NVRTC_POINTER)
    int major, minor;
    char options[128]; /* of the last compilation, for the report */
} nvrtc;
#undef NVRTC_POINTER

#define FIXED_OPTIONS "--fmad=false", "--std=c++14"
#define MAX_ARCHITECTURES 64

int kit_nvrtc_open(void)
{
    static const struct kit_cuda_soname sonames[] = {
        {"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {NULL, 0}};
    void *const library = kit_cuda_open_role("nvrtc", sonames, "nvrtcVersion");
    if (!library) {
        return KIT_SKIPPED;
    }
#define NVRTC_LOAD(name)                                                                                     \
    *(void **)&nvrtc.name = dlsym(library, #name);                                                           \
    if (!nvrtc.name) {                                                                                       \
        return kit_skip("library_missing", "the NVRTC library does not export '%s'", #name);                 \
    }
    NVRTC_FUNCTIONS(NVRTC_LOAD)
#undef NVRTC_LOAD
    if (nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor) != NVRTC_SUCCESS) {
        return kit_fail("nvrtcVersion failed");
    }
    return kit_cuda_needs("NVRTC", nvrtc.major, nvrtc.minor);
}

int kit_nvrtc_library(struct kit_library *ret)
{
    if (!nvrtc.nvrtcVersion) {
        return 0;
    }
    *ret = (struct kit_library){.role = "nvrtc", .name = "NVRTC"};
    snprintf(ret->version, sizeof(ret->version), "%d.%d", nvrtc.major, nvrtc.minor);
    snprintf(ret->config, sizeof(ret->config), "%s", nvrtc.options);
    kit_path_of(*(void **)&nvrtc.nvrtcVersion, ret->path, sizeof(ret->path));
    return 1;
}

static int check(nvrtcResult result, const char *what)
{
    return result == NVRTC_SUCCESS ? KIT_OK
                                   : kit_fail("%s failed: %s", what, nvrtc.nvrtcGetErrorString(result));
}

/* The newest known architecture that is not newer than `capability`, or a skip. */
static int choose_architecture(int capability, int *ret)
{
    int known[MAX_ARCHITECTURES], count = 0;
    int rc = check(nvrtc.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    if (!rc && (count < 1 || count > MAX_ARCHITECTURES)) {
        rc = kit_fail("nvrtcGetNumSupportedArchs says %d", count);
    }
    rc = rc ? rc : check(nvrtc.nvrtcGetSupportedArchs(known), "nvrtcGetSupportedArchs");
    *ret = 0;
    for (int i = 0; i < count && !rc; i++) {
        *ret = known[i] <= capability && known[i] > *ret ? known[i] : *ret;
    }
    if (!rc && *ret == 0) {
        rc = kit_skip("version",
                      "NVRTC %d.%d compiles for sm_%d and newer; this GPU is sm_%d: use an older toolkit",
                      nvrtc.major, nvrtc.minor, known[0], capability);
    }
    return rc;
}

/* The log's first line, in a failure. */
static int compile_failure(nvrtcProgram program, nvrtcResult result)
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 0) {
        log = dp_alloc(size + 1, 1);
        nvrtc.nvrtcGetProgramLog(program, log);
        log[size] = '\0';
        fputs(log, stderr);
    }
    const int rc = kit_fail("NVRTC cannot compile the kernels: %s: %.300s", nvrtc.nvrtcGetErrorString(result),
                            log ? log : "no log");
    free(log);
    return rc;
}

static int take_image(nvrtcProgram program, struct kit_image *ret)
{
    const char *const what = ret->is_ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN";
    int rc = check(ret->is_ptx ? nvrtc.nvrtcGetPTXSize(program, &ret->size)
                               : nvrtc.nvrtcGetCUBINSize(program, &ret->size),
                   what);
    if (rc) {
        return rc;
    }
    ret->bytes = dp_alloc(ret->size + 1, 1);
    rc =
        check(ret->is_ptx ? nvrtc.nvrtcGetPTX(program, ret->bytes) : nvrtc.nvrtcGetCUBIN(program, ret->bytes),
              what);
    if (rc) {
        free(ret->bytes);
        ret->bytes = NULL;
    }
    return rc;
}

static int compile(const char *text, const char *const *options, int count, struct kit_image *ret)
{
    nvrtcProgram program;
    int rc =
        check(nvrtc.nvrtcCreateProgram(&program, text, "detprobe.cu", 0, NULL, NULL), "nvrtcCreateProgram");
    if (rc) {
        return rc;
    }
    const nvrtcResult result = nvrtc.nvrtcCompileProgram(program, count, options);
    rc = result == NVRTC_SUCCESS ? take_image(program, ret) : compile_failure(program, result);
    nvrtc.nvrtcDestroyProgram(&program);
    return rc;
}

int kit_nvrtc_compile(const char *text, int capability, struct kit_image *ret)
{
    int architecture;
    char option[48];
    struct kit_library compiler;
    int rc = choose_architecture(capability, &architecture);
    if (rc) {
        return rc;
    }
    *ret = (struct kit_image){.is_ptx = architecture != capability};
    snprintf(option, sizeof(option), "--gpu-architecture=%s_%d", ret->is_ptx ? "compute" : "sm",
             architecture);
    const char *const options[] = {option, FIXED_OPTIONS};
    snprintf(nvrtc.options, sizeof(nvrtc.options), "%s %s %s", options[0], options[1], options[2]);
    kit_nvrtc_library(&compiler);
    if (kit_kept_find(compiler.path, nvrtc.options, text, ret)) {
        return KIT_OK;
    }
    rc = compile(text, options, (int)(sizeof(options) / sizeof(options[0])), ret);
    if (!rc) {
        kit_kept_put(compiler.path, nvrtc.options, text, ret);
    }
    return rc;
}
