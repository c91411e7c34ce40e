/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver: found, asked for its version, and its statuses turned into outcomes.
 */
#include "probes/kit/cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>

#include "probes/kit/op.h"

enum { CONTAINED = 226, TENSOR_MEMORY_LEAK = 721 }; /* older headers do not name them */

struct kit_driver kit_driver;
static bool lost;

bool kit_driver_lost(void)
{
    return lost;
}

void kit_driver_set_lost(void)
{
    lost = true;
}

/* Errors that leave the context unusable: every later call returns them too (CUDA Driver API, enum CUresult).
 */
static bool is_sticky(CUresult result)
{
    static const CUresult sticky[] = {
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_EXTERNAL_DEVICE,
        CUDA_ERROR_DEVICE_UNAVAILABLE,
        CUDA_ERROR_UNKNOWN,
        (CUresult)CONTAINED,
        (CUresult)TENSOR_MEMORY_LEAK,
    };
    for (size_t i = 0; i < sizeof(sticky) / sizeof(sticky[0]); i++) {
        if (sticky[i] == result) {
            return true;
        }
    }
    return false;
}

int kit_driver_check(CUresult result, const char *what)
{
    const char *name = NULL, *text = NULL;
    if (result == CUDA_SUCCESS) {
        return KIT_OK;
    }
    kit_driver.cuGetErrorName(result, &name);
    kit_driver.cuGetErrorString(result, &text);
    lost = lost || is_sticky(result);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return kit_skip("memory", "%s: out of device memory", what);
    }
    return kit_fail("%s failed: %s (%d), %s", what, name ? name : "unknown error", (int)result,
                    text ? text : "which the driver does not explain");
}

/* What cuInit answers where there is nothing to use. */
static int no_device(CUresult result)
{
    const char *name = NULL;
    kit_driver.cuGetErrorName(result, &name);
    if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_INVALID_DEVICE) {
        return kit_skip("no_device", "the CUDA driver sees no GPU (CUDA_VISIBLE_DEVICES may hide it)");
    }
    if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) {
        return kit_skip("version",
                        "libcuda and the kernel's driver module differ in version: load the module anew");
    }
    return kit_skip("no_device", "cannot initialise the CUDA driver: %s (%d)", name ? name : "unknown error",
                    (int)result);
}

static int load_functions(void *library)
{
#define DRIVER_LOAD(name)                                                                                    \
    *(void **)&kit_driver.name = dlsym(library, #name);                                                      \
    if (!kit_driver.name) {                                                                                  \
        return kit_skip("version", "the CUDA driver is too old: it does not export '%s'", #name);            \
    }
    KIT_DRIVER_FUNCTIONS(DRIVER_LOAD)
#undef DRIVER_LOAD
    return KIT_OK;
}

int kit_driver_open(void)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    void *const library = kit_open_role("cuda", sonames, "cuInit");
    int devices = 0;
    if (!library) {
        return kit_skip("no_device", "no CUDA driver: the loader finds no usable libcuda.so.1");
    }
    int rc = load_functions(library);
    if (rc) {
        return rc;
    }
    kit_driver.emulated = dlsym(library, "detprobe_emulation") != NULL; /* the tests' own stack */
    const CUresult result = kit_driver.cuInit(0);
    if (result != CUDA_SUCCESS) {
        return no_device(result);
    }
    rc = kit_driver_check(kit_driver.cuDriverGetVersion(&kit_driver.version), "cuDriverGetVersion");
    rc = rc ? rc : kit_driver_check(kit_driver.cuDeviceGetCount(&devices), "cuDeviceGetCount");
    return rc || devices > 0 ? rc : no_device(CUDA_ERROR_NO_DEVICE);
}
