/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend: one device's primary context, one stream, plain cuMemAlloc. Outputs are compared on the
 * device by a kernel; the host sees a count and an offset, and the bytes of distinct outputs only.
 */
#include "probes/kit/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/cuda_cupti.h"
#include "probes/kit/cuda_device.h"
#include "probes/kit/cuda_lanes.h"
#include "probes/kit/cuda_nvrtc.h"
#include "probes/kit/cuda_occupy.h"
#include "suite/base/digest.h"
#include "suite/base/text.h"

#include "probes/kit/kernel.h"

#include "probes/kit/device.cu"

#define THREADS 256
#define WAVES 8 /* blocks per multiprocessor at most: enough to fill it */
#define MAX_SONAMES 8
#define LEAST_CAPABILITY 70 /* of own kernels: atom.add.f16, atom.cas.b16 and nanosleep (PTX ISA) */

extern const char kit_kernel_text[], kit_device_text[]; /* kernel.h and device.cu, embedded */

static struct {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction fill, compare;
    CUdeviceptr result; /* of compare: two u64 */
    int ordinal, capability, sm_count;
    char source[DP_SHA256_HEX], image[DP_SHA256_HEX]; /* of the kernels, as text and as compiled */
    bool is_ptx;
} cuda;

int kit_cuda_set_threads(int threads)
{
    return 0;
}

int kit_cuda_capability(void)
{
    return cuda.capability;
}

int kit_cuda_sm_count(void)
{
    return cuda.sm_count;
}

/* --- libraries --- */

int kit_cuda_needs(const char *library, int major, int minor)
{
    if (kit_driver.version / 1000 >= major) {
        return KIT_OK;
    }
    const char *const name = kit_device_driver_name();
    return kit_skip("version", "driver%s%s supports CUDA %d.%d; this %s needs %d.%d", name[0] ? " " : "",
                    name, kit_driver.version / 1000, kit_driver.version % 1000 / 10, library, major, minor);
}

/* The first name of a library that is there and too new for the driver, or NULL. */
static const struct kit_cuda_soname *too_new(const struct kit_cuda_soname *sonames)
{
    const char *const stack = getenv("DETPROBE_STACK");
    for (int i = 0; sonames[i].name && !(stack && *stack); i++) {
        if (sonames[i].driver_major > kit_driver.version / 1000 &&
            dlopen(sonames[i].name, RTLD_LAZY | RTLD_LOCAL)) {
            return &sonames[i];
        }
    }
    return NULL;
}

void *kit_cuda_open_role(const char *role, const struct kit_cuda_soname *sonames, const char *probe_symbol)
{
    const char *usable[MAX_SONAMES + 1] = {NULL};
    int count = 0;
    for (int i = 0; sonames[i].name && count < MAX_SONAMES; i++) {
        if (sonames[i].driver_major <= kit_driver.version / 1000) {
            usable[count++] = sonames[i].name;
        }
    }
    void *const library = kit_open_role(role, usable, probe_symbol);
    const struct kit_cuda_soname *const newer = library ? NULL : too_new(sonames);
    if (newer) {
        kit_cuda_needs(newer->name, newer->driver_major, 0);
    }
    return library;
}

int kit_cuda_libraries(struct kit_library *ret, int max)
{
    int count = 0;
    if (max > 0 && kit_driver.cuInit) {
        struct kit_library *const row = &ret[count++];
        *row = (struct kit_library){.role = "cuda", .name = "CUDA driver"};
        snprintf(row->version, sizeof(row->version), "%s%sCUDA %d.%d", kit_device_driver_name(),
                 kit_device_driver_name()[0] ? ", " : "", kit_driver.version / 1000,
                 kit_driver.version % 1000 / 10);
        kit_path_of(*(void **)&kit_driver.cuInit, row->path, sizeof(row->path));
        snprintf(row->config, sizeof(row->config), "%s", kit_driver.emulated ? "emulated" : "");
    }
    count += count < max ? kit_nvrtc_library(&ret[count]) : 0;
#ifdef KIT_CUPTI
    count += count < max ? kit_cupti_library(&ret[count]) : 0;
#endif
    return count;
}

/* --- opening --- */

/* The first, or the one that DETPROBE_DEVICE names by its number. */
static int choose_device(void)
{
    const char *const named = getenv("DETPROBE_DEVICE");
    char *end = "";
    const long ordinal = named && *named ? strtol(named, &end, 10) : 0;
    if (*end || ordinal < 0 || ordinal >= kit_device_count()) {
        return kit_skip("no_device", "no device '%.40s': the driver shows %d, counted from 0", named,
                        kit_device_count());
    }
    cuda.ordinal = (int)ordinal;
    return kit_driver_check(kit_driver.cuDeviceGet(&cuda.device, cuda.ordinal), "cuDeviceGet");
}

static int read_device(void)
{
    cuda.capability = 10 * kit_device_attribute(cuda.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      kit_device_attribute(cuda.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    cuda.sm_count = kit_device_attribute(cuda.device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return cuda.capability >= LEAST_CAPABILITY
               ? KIT_OK
               : kit_skip("unsupported", "own kernels need compute capability %d.%d, the device has %d.%d",
                          LEAST_CAPABILITY / 10, LEAST_CAPABILITY % 10, cuda.capability / 10,
                          cuda.capability % 10);
}

static int open_context(void)
{
    int rc = choose_device();
    rc = rc ? rc : kit_device_idle(cuda.device);
    rc = rc ? rc : read_device();
    if (rc) {
        return rc;
    }
    const CUresult result = kit_driver.cuDevicePrimaryCtxRetain(&cuda.context, cuda.device);
    if (result == CUDA_ERROR_DEVICE_UNAVAILABLE) {
        return kit_skip("device_busy", "the GPU is in use by another process that has it exclusively");
    }
    rc = kit_driver_check(result, "cuDevicePrimaryCtxRetain");
    rc = rc ? rc : kit_driver_check(kit_driver.cuCtxSetCurrent(cuda.context), "cuCtxSetCurrent");
    rc = rc ? rc : kit_lanes_open();
    return rc ? rc : kit_driver_check(kit_driver.cuMemAlloc_v2(&cuda.result, 2 * sizeof(u64)), "cuMemAlloc");
}

static int load_kernels(const char *text)
{
    struct kit_image image = {.bytes = NULL};
    char *const whole = dp_printf("%s\n#line 1 \"device.cu\"\n%s\n#line 1 \"family.cu\"\n%s", kit_kernel_text,
                                  kit_device_text, text ? text : "");
    int rc = kit_nvrtc_compile(whole, cuda.capability, &image);
    dp_sha256_hex(whole, strlen(whole), cuda.source);
    free(whole);
    if (rc) {
        return rc;
    }
    dp_sha256_hex(image.bytes, image.size, cuda.image);
    cuda.is_ptx = image.is_ptx;
    const CUresult result = kit_driver.cuModuleLoadDataEx(&cuda.module, image.bytes, 0, NULL, NULL);
    free(image.bytes);
    if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        return kit_skip("version",
                        "the driver, for CUDA %d.%d, does not take what this NVRTC makes: a newer driver or "
                        "an older NVRTC is needed",
                        kit_driver.version / 1000, kit_driver.version % 1000 / 10);
    }
    rc = kit_driver_check(result, "cuModuleLoadDataEx");
    rc = rc ? rc : kit_cuda_kernel("kit_fill", &cuda.fill);
    return rc ? rc : kit_cuda_kernel("kit_compare", &cuda.compare);
}

int kit_cuda_open(const char *text)
{
    int rc = kit_driver_open();
    rc = rc ? rc : kit_nvrtc_open();
    rc = rc ? rc : open_context();
    rc = rc ? rc : load_kernels(text);
#ifdef KIT_CUPTI
    struct kit_library nvrtc;
    if (!rc && kit_nvrtc_library(&nvrtc)) {
        kit_cupti_open(nvrtc.path);
    }
#endif
    return rc;
}

/* --- launching --- */

int kit_cuda_kernel(const char *name, CUfunction *ret)
{
    return kit_driver_check(kit_driver.cuModuleGetFunction(ret, cuda.module, name), name);
}

int kit_cuda_launch_on(CUstream stream, CUfunction kernel, int blocks, int threads, const void *args)
{
    void *packed[] = {NULL};
    memcpy(packed, &args, sizeof(args)); /* the driver copies the struct and takes no const */
    return kit_driver_check(kit_driver.cuLaunchKernel(kernel, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                                                      0, stream, packed, NULL),
                            "cuLaunchKernel");
}

int kit_cuda_kernel_for(const char *name, enum kit_dtype dtype, CUfunction *ret)
{
    char whole[64];
    snprintf(whole, sizeof(whole), "%s_%s", name, dtype == KIT_F64 ? "double" : "single");
    return kit_cuda_kernel(whole, ret);
}

int kit_cuda_kernel_type(enum kit_dtype dtype)
{
    return dtype == KIT_F16 ? KERNEL_F16 : dtype == KIT_BF16 ? KERNEL_BF16 : KERNEL_F32;
}

int kit_cuda_launch(CUfunction kernel, int blocks, int threads, const void *args)
{
    return kit_cuda_launch_on(kit_cuda_stream(), kernel, blocks, threads, args);
}

int kit_cuda_blocks(int64_t items, int threads)
{
    const int64_t wanted = (items + threads - 1) / threads;
    const int64_t most = (int64_t)cuda.sm_count * WAVES;
    const int64_t blocks = wanted < most ? wanted : most;
    return blocks > 0 ? (int)blocks : 1;
}

static CUdeviceptr at(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

int kit_cuda_zero(void *to, size_t bytes)
{
    return kit_driver_check(kit_driver.cuMemsetD8Async(at(to), 0, bytes, kit_cuda_stream()),
                            "cuMemsetD8Async");
}

/* --- the backend --- */

static void *cuda_alloc(size_t bytes, size_t align)
{
    CUdeviceptr memory = 0; /* aligned to 256 bytes at least, more than any operand asks for */
    const CUresult result = kit_driver.cuMemAlloc_v2(&memory, bytes ? bytes : 1);
    if (result != CUDA_SUCCESS || (align && memory % align)) {
        kit_driver_check(result, "cuMemAlloc");
        return NULL;
    }
    return (void *)(uintptr_t)memory;
}

static void cuda_release(void *memory)
{
    if (memory) {
        kit_driver.cuMemFree_v2(at(memory)); /* waits for the device; what failed there shows elsewhere */
    }
}

static int cuda_sync(void)
{
    return kit_driver_check(kit_driver.cuStreamSynchronize(kit_cuda_stream()), "waiting for the device");
}

static int cuda_upload(void *to, const void *host, size_t bytes)
{
    const int rc = kit_driver_check(kit_driver.cuMemcpyHtoDAsync_v2(at(to), host, bytes, kit_cuda_stream()),
                                    "copying to the device");
    return rc ? rc : cuda_sync(); /* the host's buffer is used again */
}

static int cuda_download(void *host, const void *from, size_t bytes)
{
    const int rc = kit_driver_check(kit_driver.cuMemcpyDtoHAsync_v2(host, at(from), bytes, kit_cuda_stream()),
                                    "copying from the device");
    return rc ? rc : cuda_sync();
}

static int cuda_copy(void *to, const void *from, size_t bytes)
{
    return kit_driver_check(kit_driver.cuMemcpyDtoDAsync_v2(at(to), at(from), bytes, kit_cuda_stream()),
                            "copying on the device");
}

static int cuda_fill(void *to, const struct kit_pattern *pattern, size_t bytes)
{
    struct kit_fill_args args = {.to = to, .size = (i32)pattern->size};
    if (pattern->size == 1) {
        return kit_driver_check(
            kit_driver.cuMemsetD8Async(at(to), pattern->bytes[0], bytes, kit_cuda_stream()),
            "cuMemsetD8Async");
    }
    if (at(to) % pattern->size) {
        return kit_fail("bad fill: a pattern of %zu bytes at an address that is no multiple", pattern->size);
    }
    memcpy(&args.pattern, pattern->bytes, pattern->size);
    args.count = (i64)(bytes / pattern->size);
    int rc = kit_cuda_launch(cuda.fill, kit_cuda_blocks(args.count, THREADS), THREADS, &args);
    /* what is left is less than an element: a workspace may be of odd size */
    for (size_t i = bytes - bytes % pattern->size; i < bytes && !rc; i++) {
        rc = kit_driver_check(
            kit_driver.cuMemsetD8Async(at(to) + i, pattern->bytes[i % pattern->size], 1, kit_cuda_stream()),
            "cuMemsetD8Async");
    }
    return rc;
}

static int cuda_compare(const void *a, const void *b, size_t bytes, uint64_t *ret_count, uint64_t *ret_first)
{
    u64 result[2] = {0, ~0ull};
    struct kit_compare_args args = {.a = a,
                                    .b = b,
                                    .bytes = (i64)bytes,
                                    .wide = (at(a) | at(b)) % 16 == 0,
                                    .result = (u64 *)(uintptr_t)cuda.result};
    int rc = kit_cuda_zero(args.result, sizeof(u64));
    rc = rc ? rc
            : kit_driver_check(
                  kit_driver.cuMemsetD8Async(cuda.result + sizeof(u64), 0xff, sizeof(u64), kit_cuda_stream()),
                  "cuMemsetD8Async");
    rc = rc ? rc
            : kit_cuda_launch(cuda.compare, kit_cuda_blocks((int64_t)(bytes + 15) / 16, THREADS), THREADS,
                              &args);
    rc = rc ? rc : cuda_download(result, args.result, sizeof(result));
    *ret_count = result[0];
    *ret_first = result[1];
    return rc;
}

static int cuda_differs(const void *a, const void *b, size_t bytes)
{
    uint64_t count, first;
    const int rc = cuda_compare(a, b, bytes, &count, &first);
    return rc ? rc : count != 0;
}

static int64_t cuda_available(void)
{
    size_t available = 0, total = 0;
    return kit_driver.cuMemGetInfo_v2(&available, &total) == CUDA_SUCCESS ? (int64_t)available : 0;
}

static const void *cuda_peek(const void *memory)
{
    return NULL;
}

static int cuda_ordinal(void)
{
    return cuda.ordinal;
}

static void cuda_introduce(json_t *hello)
{
    const int count = kit_device_count();
    json_t *const devices = json_array(), *const states = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(devices, kit_device_json(i));
        json_array_append_new(states, kit_device_state_json(i));
    }
    json_object_set(hello, "device", json_array_get(devices, (size_t)cuda.ordinal));
    json_object_set_new(hello, "devices", devices);
    json_object_set_new(hello, "device_state", states);
    json_object_set_new(hello, "own_kernels",
                        json_pack("{s:s, s:s, s:s}", "source", cuda.source, "image", cuda.image, "kind",
                                  cuda.is_ptx ? "ptx" : "cubin"));
}

const struct kit_backend kit_cuda = {
    .name = "cuda",
    .alloc = cuda_alloc,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .differs = cuda_differs,
    .compare = cuda_compare,
    .sync = cuda_sync,
    .available = cuda_available,
    .peek = cuda_peek,
    .introduce = cuda_introduce,
    .ordinal = cuda_ordinal,
    .lost = kit_driver_lost,
#ifdef KIT_CUPTI
    .trace = kit_cupti_begin,
    .traced = kit_cupti_end,
#endif
    .busy = kit_occupy_busy,
    .at_once = kit_lanes_at_once,
};
