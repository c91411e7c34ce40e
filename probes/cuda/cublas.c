/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cublas: opening, versions, the handle, and statuses as outcomes.
 */
#include "probes/cuda/cublas.h"

#include <dlfcn.h>
#include <stdio.h>

#include "probes/cuda/cublas_status.h"

struct cublas cublas;
static void *library;
/* Kept for the process, since creating one allocates. The first is the one that streams share. */
static cublasHandle_t handles[KIT_MAX_LANES];
static bool handle_per_stream;

#if CUBLAS_VERSION >= 120500 /* where the header has them, ours must be its prototypes */
#define CUBLAS_SAME(name) __builtin_types_compatible_p(__typeof__(name), __typeof__(*cublas.name))
_Static_assert(CUBLAS_SAME(cublasSgemmGroupedBatched), "");
_Static_assert(CUBLAS_SAME(cublasDgemmGroupedBatched), "");
_Static_assert(CUBLAS_SAME(cublasGemmGroupedBatchedEx), "");
#endif

static int load_routines(void)
{
#define CUBLAS_LOAD(name)                                                                                    \
    *(void **)&cublas.name = dlsym(library, #name);                                                          \
    if (!cublas.name) {                                                                                      \
        return kit_skip("version", "the cuBLAS library does not export '%s'", #name);                        \
    }
    CUBLAS_ROUTINES(CUBLAS_LOAD)
    CUBLAS_LOAD(cublasHgemm)
#undef CUBLAS_LOAD
#define CUBLAS_LOAD_LATER(name) *(void **)&cublas.name = dlsym(library, #name);
    CUBLAS_LOAD_LATER(cublasSgemmGroupedBatched)
    CUBLAS_LOAD_LATER(cublasDgemmGroupedBatched)
    CUBLAS_LOAD_LATER(cublasGemmGroupedBatchedEx)
#undef CUBLAS_LOAD_LATER
    return KIT_OK;
}

static int read_version(void)
{
    int part[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (cublas.cublasGetProperty((libraryPropertyType)i, &part[i]) != CUBLAS_STATUS_SUCCESS) {
            return kit_fail("cublasGetProperty failed");
        }
    }
    cublas.version = 10000 * part[0] + 100 * part[1] + part[2];
    return kit_cuda_needs("cuBLAS", part[0], 0);
}

cublasHandle_t cublas_handle(void)
{
    return handles[handle_per_stream ? kit_cuda_lane() : 0];
}

/* Also takes away the workspace that a call before may have set. */
static int set_stream(void)
{
    return cublas_check(cublas.cublasSetStream_v2(cublas_handle(), kit_cuda_stream()), "cublasSetStream");
}

static int follow_stream(void)
{
    return cublas_handle() ? set_stream() : KIT_OK;
}

int cublas_open_with(const char *text)
{
    static const struct kit_cuda_soname sonames[] = {
        {"libcublas.so.13", 13}, {"libcublas.so.12", 12}, {NULL, 0}};
    int rc = kit_cuda_open(text);
    if (rc) {
        return rc;
    }
    kit_cuda_follow(follow_stream);
    library = kit_cuda_open_role("cublas", sonames, "cublasCreate_v2");
    rc = library ? load_routines() : KIT_SKIPPED;
    return rc ? rc : read_version();
}

int cublas_open(void)
{
    return cublas_open_with(NULL);
}

int cublas_libraries(struct kit_library *ret, int max)
{
    int count = kit_cuda_libraries(ret, max);
    size_t (*lt_version)(void);
    if (count < max) {
        struct kit_library *const row = &ret[count++];
        *row = (struct kit_library){.role = "cublas", .name = "cuBLAS"};
        snprintf(row->version, sizeof(row->version), "%d.%d.%d", cublas.version / 10000,
                 cublas.version / 100 % 100, cublas.version % 100);
        kit_path_of(*(void **)&cublas.cublasCreate_v2, row->path, sizeof(row->path));
    }
    *(void **)&lt_version = dlsym(library, "cublasLtGetVersion"); /* of the library that cuBLAS carries */
    if (count < max && lt_version) {
        struct kit_library *const row = &ret[count++];
        const size_t version = lt_version();
        *row = (struct kit_library){.role = "cublaslt", .name = "cuBLASLt"};
        snprintf(row->version, sizeof(row->version), "%zu.%zu.%zu", version / 10000, version / 100 % 100,
                 version % 100);
        kit_path_of(*(void **)&lt_version, row->path, sizeof(row->path));
    }
    return count;
}

int cublas_check(cublasStatus_t status, const char *what)
{
    return cublas_outcome(status, cublas.cublasGetStatusString(status), what);
}

static int prepare_handle(cublasHandle_t *handle, const struct cublas_modes *modes)
{
    int rc = *handle ? KIT_OK : cublas_check(cublas.cublasCreate_v2(handle), "cublasCreate");
    rc = rc ? rc : cublas_check(cublas.cublasSetMathMode(*handle, modes->math), "cublasSetMathMode");
    rc = rc ? rc : cublas_check(cublas.cublasSetAtomicsMode(*handle, modes->atomics), "cublasSetAtomicsMode");
    return rc ? rc
              : cublas_check(cublas.cublasSetPointerMode_v2(*handle, modes->pointer), "cublasSetPointerMode");
}

int cublas_prepare(const struct kit_call *call, const struct cublas_modes *modes)
{
    int rc = KIT_OK;
    handle_per_stream = modes->handle_per_stream;
    for (int i = 0; i < (handle_per_stream ? call->lanes : 1) && !rc; i++) {
        rc = prepare_handle(&handles[i], modes);
    }
    return rc ? rc : set_stream();
}
