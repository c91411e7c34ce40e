/* SPDX-License-Identifier: Apache-2.0
 *
 * Statuses of cuBLAS and cuBLASLt as outcomes.
 */
#include "probes/cuda/cublas_status.h"

#include "probes/kit/cuda.h"

int cublas_outcome(cublasStatus_t status, const char *text, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS) {
        return KIT_OK;
    }
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
        return kit_skip("unsupported", "%s: %s", what, text);
    }
    if (status == CUBLAS_STATUS_ALLOC_FAILED) {
        return kit_skip("memory", "%s: %s", what, text);
    }
    /* the context may be lost; then its own error says more */
    const int rc = kit_driver_check(kit_driver.cuStreamSynchronize(kit_cuda_stream()), what);
    return rc == KIT_FAILED ? rc : kit_fail("%s failed: %s (%d)", what, text, (int)status);
}
