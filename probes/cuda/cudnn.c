/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cudnn: opening with all parts, versions, the handle, statuses as outcomes, tensor descriptors.
 */
#include "probes/cuda/cudnn.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cudnn cudnn;
static void *library;
static cudnnHandle_t handle; /* one in a process: creating one allocates */

/* --- opening --- */

/* The library is a front that opens its parts when they are called, and aborts where one is missing. */
static const struct part {
    int major;
    enum cudnn_family family; /* the first that needs it; those after need it too */
    const char *name;
} parts[] = {
    {9, CUDNN_POOLING, "libcudnn_graph.so.9"},
    {9, CUDNN_POOLING, "libcudnn_ops.so.9"},
    {9, CUDNN_CONVOLUTIONS, "libcudnn_cnn.so.9"},
    {9, CUDNN_CONVOLUTIONS, "libcudnn_heuristic.so.9"},
    {9, CUDNN_CONVOLUTIONS, "libcudnn_engines_precompiled.so.9"},
    {9, CUDNN_CONVOLUTIONS, "libcudnn_engines_runtime_compiled.so.9"},
    {8, CUDNN_POOLING, "libcudnn_ops_infer.so.8"},
    {8, CUDNN_POOLING, "libcudnn_ops_train.so.8"},
    {8, CUDNN_CONVOLUTIONS, "libcudnn_cnn_infer.so.8"},
    {8, CUDNN_CONVOLUTIONS, "libcudnn_cnn_train.so.8"},
};

/* A part is beside the front; where no stack is given, also where the loader finds it. Opened here it is the
 * one that the front gets, by its name. */
static int open_part(const char *front, const char *name)
{
    char path[PATH_MAX];
    const char *const slash = strrchr(front, '/');
    const int folder = slash ? (int)(slash - front) : 0;
    snprintf(path, sizeof(path), "%.*s%s%s", folder, front, folder ? "/" : "", name);
    if (dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
        return KIT_OK;
    }
    char why[256];
    const char *const given = getenv("DETPROBE_LIB_CUDNN");
    snprintf(why, sizeof(why), "%s", dlerror());
    if (!(given && *given) && dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
        return KIT_OK;
    }
    return kit_skip("library_missing", "the cuDNN library '%s' lacks its part %s: %s", front, name, why);
}

static int open_parts(enum cudnn_family family)
{
    const int major = dlsym(library, "cudnnGetLastErrorString") ? 9 : 8; /* no call before all are there */
    Dl_info info;
    if (!dladdr(dlsym(library, "cudnnCreate"), &info)) {
        return kit_fail("cannot tell which file the cuDNN library is");
    }
    int rc = KIT_OK;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !rc; i++) {
        if (parts[i].major == major && parts[i].family <= family) {
            rc = open_part(info.dli_fname, parts[i].name);
        }
    }
    return rc;
}

static int load_routines(enum cudnn_family family)
{
#define CUDNN_LOAD(name)                                                                                     \
    *(void **)&cudnn.name = dlsym(library, #name);                                                           \
    if (!cudnn.name) {                                                                                       \
        return kit_skip("version", "the cuDNN library does not export '%s'", #name);                         \
    }
    CUDNN_COMMON_ROUTINES(CUDNN_LOAD)
    if (family == CUDNN_POOLING) {
        CUDNN_POOLING_ROUTINES(CUDNN_LOAD)
    } else {
        CUDNN_CONVOLUTION_ROUTINES(CUDNN_LOAD)
    }
#undef CUDNN_LOAD
    *(void **)&cudnn.cudnnGetLastErrorString = dlsym(library, "cudnnGetLastErrorString");
    return KIT_OK;
}

static int follow_stream(void)
{
    return handle ? cudnn_check(cudnn.cudnnSetStream(handle, kit_cuda_stream()), "cudnnSetStream") : KIT_OK;
}

int cudnn_open(enum cudnn_family family)
{
    static const struct kit_cuda_soname sonames[] = {{"libcudnn.so.9", 12}, {"libcudnn.so.8", 11}, {NULL, 0}};
    int rc = kit_cuda_open(NULL);
    if (rc) {
        return rc;
    }
    kit_cuda_follow(follow_stream);
    library = kit_cuda_open_role("cudnn", sonames, "cudnnCreate");
    rc = library ? open_parts(family) : KIT_SKIPPED;
    rc = rc ? rc : load_routines(family);
    if (rc) {
        return rc;
    }
    const size_t runtime = cudnn.cudnnGetCudartVersion();
    return kit_cuda_needs("cuDNN", (int)(runtime / 1000), (int)(runtime % 1000 / 10));
}

int cudnn_libraries(struct kit_library *ret, int max)
{
    const int count = kit_cuda_libraries(ret, max);
    if (count == max || !cudnn.cudnnGetVersion) {
        return count;
    }
    struct kit_library *const row = &ret[count];
    const size_t version = cudnn.cudnnGetVersion(), runtime = cudnn.cudnnGetCudartVersion();
    const size_t major = version >= 90000 ? 10000 : 1000; /* 8907 is 8.9.7 */
    *row = (struct kit_library){.role = "cudnn", .name = "cuDNN"};
    snprintf(row->version, sizeof(row->version), "%zu.%zu.%zu", version / major, version % major / 100,
             version % 100);
    snprintf(row->config, sizeof(row->config), "CUDA runtime %zu.%zu inside", runtime / 1000,
             runtime % 1000 / 10);
    kit_path_of(*(void **)&cudnn.cudnnCreate, row->path, sizeof(row->path));
    return count + 1;
}

/* --- statuses --- */

/* Those that are no failure, by range; below 1000 cuDNN 8. */
static const struct {
    int first, last;
    const char *reason;
} skips[] = {
    {2, 2, "memory"},      /* ALLOC_FAILED */
    {6, 6, "unsupported"}, /* ARCH_MISMATCH */
    {9, 9, "unsupported"}, /* NOT_SUPPORTED */
    {14, 14, "version"},   /* VERSION_MISMATCH */
    {CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, "version"},
    {CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, "library_missing"},
    {CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER, CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART,
     "version"},
    {CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE, CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE,
     "library_missing"},
    {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED + 999, "unsupported"},
    {CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
     "memory"},
};

/* The library's own words on its last error, in one line; "" if it has none. */
static void last_words(char *ret, size_t size)
{
    ret[0] = '\0';
    if (cudnn.cudnnGetLastErrorString) {
        cudnn.cudnnGetLastErrorString(ret, size);
        ret[size - 1] = '\0';
    }
    for (char *c = ret; *c; c++) {
        *c = iscntrl((unsigned char)*c) ? ' ' : *c;
    }
}

int cudnn_check(cudnnStatus_t status, const char *what)
{
    if (status == CUDNN_STATUS_SUCCESS) {
        return KIT_OK;
    }
    char words[256];
    const char *const text = cudnn.cudnnGetErrorString(status);
    last_words(words, sizeof(words));
    for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
        if ((int)status >= skips[i].first && (int)status <= skips[i].last) {
            return kit_skip(skips[i].reason, "%s: %s", what, text);
        }
    }
    /* the context may be lost; then its own error says more */
    const int rc = kit_driver_check(kit_driver.cuStreamSynchronize(kit_cuda_stream()), what);
    return rc == KIT_FAILED
               ? rc
               : kit_fail("%s failed: %s (%d)%s%s", what, text, (int)status, words[0] ? ": " : "", words);
}

int cudnn_prepare(cudnnHandle_t *ret)
{
    int rc = handle ? KIT_OK : cudnn_check(cudnn.cudnnCreate(&handle), "cudnnCreate");
    rc = rc ? rc : follow_stream();
    *ret = handle;
    return rc;
}

const char *cudnn_declared(cudnnDeterminism_t determinism)
{
    return determinism == CUDNN_DETERMINISTIC ? "deterministic" : "nondeterministic";
}

/* --- tensors --- */

void cudnn_channels_last(struct kit_operand *operand)
{
    const int64_t c = operand->shape[1], h = operand->shape[2], w = operand->shape[3];
    operand->stride[0] = c * h * w;
    operand->stride[1] = 1;
    operand->stride[2] = c * w;
    operand->stride[3] = c;
}

cudnnDataType_t cudnn_dtype(enum kit_dtype dtype)
{
    return dtype == KIT_F64    ? CUDNN_DATA_DOUBLE
           : dtype == KIT_F16  ? CUDNN_DATA_HALF
           : dtype == KIT_BF16 ? CUDNN_DATA_BFLOAT16
                               : CUDNN_DATA_FLOAT;
}

int cudnn_tensor(const struct kit_operand *operand, cudnnTensorDescriptor_t *ret)
{
    int shape[4], stride[4];
    int64_t dense = 1;
    for (int d = 3; d >= 0; d--) {
        const int64_t step = operand->stride[1] ? operand->stride[d] : dense;
        dense *= operand->shape[d];
        if (operand->shape[d] > INT_MAX || step > INT_MAX) {
            return kit_fail("bad params: an extent of '%s' is above %d", operand->name, INT_MAX);
        }
        shape[d] = (int)operand->shape[d];
        stride[d] = (int)step;
    }
    const int rc = cudnn_check(cudnn.cudnnCreateTensorDescriptor(ret), "cudnnCreateTensorDescriptor");
    return rc ? rc
              : cudnn_check(cudnn.cudnnSetTensor4dDescriptorEx(*ret, cudnn_dtype(operand->dtype), shape[0],
                                                               shape[1], shape[2], shape[3], stride[0],
                                                               stride[1], stride[2], stride[3]),
                            "cudnnSetTensor4dDescriptorEx");
}
