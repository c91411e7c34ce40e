/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cublaslt: opening, version, the handle.
 */
#include "probes/cuda/cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>

#include "probes/cuda/cublas_status.h"

struct cublaslt cublaslt;
static void *library;
static cublasLtHandle_t handle; /* one in a process: creating one allocates */

static int load_routines(void)
{
#define CUBLASLT_LOAD(name)                                                                                  \
    *(void **)&cublaslt.name = dlsym(library, #name);                                                        \
    if (!cublaslt.name) {                                                                                    \
        return kit_skip("version", "the cuBLASLt library does not export '%s'", #name);                      \
    }
    CUBLASLT_ROUTINES(CUBLASLT_LOAD)
#undef CUBLASLT_LOAD
    cublaslt.version = (int)cublaslt.cublasLtGetVersion();
    return kit_cuda_needs("cuBLASLt", cublaslt.version / 10000, 0);
}

int cublaslt_open(void)
{
    static const struct kit_cuda_soname sonames[] = {
        {"libcublasLt.so.13", 13}, {"libcublasLt.so.12", 12}, {NULL, 0}};
    const int rc = kit_cuda_open(NULL);
    if (rc) {
        return rc;
    }
    library = kit_cuda_open_role("cublaslt", sonames, "cublasLtMatmul");
    return library ? load_routines() : KIT_SKIPPED;
}

int cublaslt_libraries(struct kit_library *ret, int max)
{
    const int count = kit_cuda_libraries(ret, max);
    if (count == max) {
        return count;
    }
    ret[count] = (struct kit_library){.role = "cublaslt", .name = "cuBLASLt"};
    snprintf(ret[count].version, sizeof(ret[count].version), "%d.%d.%d", cublaslt.version / 10000,
             cublaslt.version / 100 % 100, cublaslt.version % 100);
    kit_path_of(*(void **)&cublaslt.cublasLtMatmul, ret[count].path, sizeof(ret[count].path));
    return count + 1;
}

int cublaslt_check(cublasStatus_t status, const char *what)
{
    return cublas_outcome(status, cublaslt.cublasLtGetStatusString(status), what);
}

int cublaslt_handle(cublasLtHandle_t *ret)
{
    const int rc = handle ? KIT_OK : cublaslt_check(cublaslt.cublasLtCreate(&handle), "cublasLtCreate");
    *ret = handle;
    return rc;
}
