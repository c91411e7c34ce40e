/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated libcuda.so.1: device memory is host memory that is poisoned when new, streams are done at once,
 * a module's functions are the CPU twins of own kernels, found by name. NVRTC, the real one, opens this
 * library too and is told that there are no export tables.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/tests/emulation/emulation.h"
/* the arguments of the kit's kernels alone */
#include "probes/kit/kernel.h"
#undef KIT_KERNELS

#include "probes/kit/device.cu"

#define GIB ((size_t)1 << 30)
#define MAX_ALLOCATIONS 4096

/* The mark by which the kit knows that this is no GPU. */
const char detprobe_emulation[] = "emulated";

static struct {
    char *at;
    size_t bytes;
} allocations[MAX_ALLOCATIONS];
static size_t used;
static CUresult stuck = CUDA_SUCCESS; /* an error that stays */

static size_t capacity(void)
{
    return (size_t)emulate_number("memory", (long)GIB);
}

CUresult cuInit(unsigned flags)
{
    return emulate_number("devices", 1) > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = (int)emulate_number("driver", 13000);
    return CUDA_SUCCESS;
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
            : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
            : error == CUDA_ERROR_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
                                                : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = "an emulated error";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = (int)emulate_number("devices", 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < emulate_number("devices", 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static int capability_of(CUdevice device)
{
    char word[16];
    snprintf(word, sizeof(word), "class%d", device);
    return (int)emulate_number(word, emulate_number("capability", 90));
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    snprintf(name, (size_t)size, "emulated sm_%d device", capability_of(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    *bytes = capacity();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    const int capability = capability_of(device);
    const struct {
        CUdevice_attribute attribute;
        int value;
    } attributes[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability % 10},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, (int)emulate_number("mode", CU_COMPUTEMODE_DEFAULT)},
        {(CUdevice_attribute)133, (int)emulate_number("mps", 0)}, /* of MPS */
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    };
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetPCIBusId(char *bus, int size, CUdevice device)
{
    snprintf(bus, (size_t)size, "0000:%02X:00.0", 0x40 + device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *id, CUdevice device)
{
    memset(id->bytes, 0xab, sizeof(id->bytes));
    id->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

/* --- context --- */

#define MAX_DEVICES 8
static int contexts[MAX_DEVICES]; /* one a device; what they hold is their own number */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    if (device < 0 || device >= MAX_DEVICES) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (device == emulate_number("taken", -1)) {
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    contexts[device] = device;
    *context = (CUcontext)(void *)&contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    emulate_use_device(*(int *)(void *)context);
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    return stuck;
}

/* --- memory: each allocation by itself, so that AddressSanitizer sees an access past its end --- */

static int find(const void *memory)
{
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        const char *const at = allocations[i].at;
        if (at && (const char *)memory >= at && (const char *)memory < at + allocations[i].bytes) {
            return i;
        }
    }
    return -1;
}

bool emulate_is_device_memory(const void *memory, size_t bytes)
{
    const int place = find(memory);
    return place >= 0 && (const char *)memory + bytes <= allocations[place].at + allocations[place].bytes;
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    int place = 0;
    if (stuck || bytes == 0 || bytes > capacity() - used) {
        return stuck ? stuck : bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    }
    while (place < MAX_ALLOCATIONS && allocations[place].at) {
        place++;
    }
    char *const at = place < MAX_ALLOCATIONS ? aligned_alloc(512, (bytes + 511) / 512 * 512) : NULL;
    if (!at) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(at, 0xa7, bytes);
    allocations[place].at = at;
    allocations[place].bytes = bytes;
    used += bytes;
    *memory = (CUdeviceptr)(uintptr_t)at;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    const int place = find((const void *)(uintptr_t)memory);
    if (place < 0 || allocations[place].at != (char *)(uintptr_t)memory) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    used -= allocations[place].bytes;
    free(allocations[place].at);
    allocations[place].at = NULL;
    return stuck;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    *total = capacity();
    *available = *total - used;
    return stuck;
}

static CUresult move(void *to, const void *from, size_t bytes, bool to_device, bool from_device)
{
    if (stuck) {
        return stuck;
    }
    if ((to_device && !emulate_is_device_memory(to, bytes)) ||
        (from_device && !emulate_is_device_memory(from, bytes))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return move((void *)(uintptr_t)to, from, bytes, true, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return move(to, (const void *)(uintptr_t)from, bytes, false, true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return move((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, true, true);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    if (stuck || !emulate_is_device_memory((const void *)(uintptr_t)to, bytes)) {
        return stuck ? stuck : CUDA_ERROR_INVALID_VALUE;
    }
    memset((void *)(uintptr_t)to, value, bytes);
    return CUDA_SUCCESS;
}

/* What is mapped for the device is read in place. */
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    *memory = calloc(1, bytes);
    return stuck ? stuck : *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned flags)
{
    *address = (CUdeviceptr)(uintptr_t)memory;
    return flags ? CUDA_ERROR_INVALID_VALUE : stuck;
}

/* --- the kernel that stays: under way until the host ends it or its limit is reached --- */

static struct {
    bool launched;
    CUstream stream;
    struct kit_occupy_args args;
    u64 since;
    unsigned count; /* launched so far */
} stays;

void kit_twin_kit_occupy(const void *packed);

/* The gate has no limit here: computing what a device would only have been handed takes long. */
static bool is_staying(void)
{
    const bool gate = !stays.args.memory;
    return stays.launched && !stays.args.flags->end &&
           (gate || kit_twin_time() - stays.since < stays.args.limit_ns);
}

static const char *beside(void)
{
    return !is_staying() ? NULL : stays.args.memory ? "busy" : "gate";
}

unsigned emulate_gate(void)
{
    return is_staying() && !stays.args.memory ? stays.count : 0;
}

static CUresult stay(CUstream stream, const struct kit_occupy_args *args)
{
    stays.stream = stream;
    stays.args = *args;
    stays.since = kit_twin_time();
    stays.count++;
    stays.launched = emulate_number("blocking", 0) == 0;
    args->flags->under_way = 1;
    emulate_beside = beside;
    const char *const work = args->quads ? "memory" : "compute";
    emulate_log("kit_occupy %s stream=%p", args->memory ? work : "waits", (void *)stream);
    return CUDA_SUCCESS;
}

/* --- streams --- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    static int count;
    *stream = (CUstream)(void *)(uintptr_t)(0x1000 + 16 * ++count);
    return stuck;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return stuck;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    static long waits;
    if (stream == stays.stream && stays.launched) {
        if (is_staying()) {
            emulate_log("kit_occupy is waited for");
        }
        stays.launched = false;
    }
    if (++waits == emulate_number("sticky", 0)) {
        stuck = (CUresult)emulate_number("error", CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    return stuck;
}

CUresult cuStreamQuery(CUstream stream)
{
    return stuck ? stuck : stream == stays.stream && is_staying() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* Events: what waits for the gate is computed at once all the same, as nothing before it is missing. */
CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    static int only;
    *event = (CUevent)(void *)&only;
    return stuck;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return stuck;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    return stuck;
}

/* --- own kernels --- */

/* For blind=1, in the place of the comparison. */
void kit_twin_kit_nothing(const void *packed)
{
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                            void **values)
{
    static int only;
    const bool elf = memcmp(image, "\177ELF", 4) == 0;
    emulate_log("cuModuleLoadDataEx %s", elf ? "cubin" : "ptx");
    *module = (CUmodule)(void *)&only;
    return stuck;
}

CUresult cuModuleUnload(CUmodule module)
{
    return stuck;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    char twin[128];
    Dl_info here;
    if (strcmp(name, "kit_compare") == 0 && emulate_number("blind", 0)) {
        name = "kit_nothing";
    }
    snprintf(twin, sizeof(twin), "kit_twin_%s", name);
    dladdr(detprobe_emulation, &here);
    void *const self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *(void **)function = self ? dlsym(self, twin) : NULL;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The kernel whose twin this is. */
static const char *name_of(CUfunction function)
{
    Dl_info info;
    const char *const prefix = "kit_twin_";
    return dladdr((void *)function, &info) && info.dli_sname &&
                   strncmp(info.dli_sname, prefix, strlen(prefix)) == 0
               ? info.dli_sname + strlen(prefix)
               : "unknown";
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **args, void **extra)
{
    emulate_kernel kernel;
    if (stuck) {
        return stuck;
    }
    if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || block_x < 1 || block_x > 1024 ||
        grid_x < 1 || !args || extra) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *(void **)&kernel = (void *)function;
    if (kernel == kit_twin_kit_occupy) {
        return stay(stream, args[0]);
    }
    emulate_launched(name_of(function));
    emulate_launch(kernel, grid_x, block_x, args[0]);
    return CUDA_SUCCESS;
}
