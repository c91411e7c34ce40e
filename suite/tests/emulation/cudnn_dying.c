/* SPDX-License-Identifier: Apache-2.0
 *
 * A cuDNN that ends the process, when it is loaded or when its handle is created (AT_LOAD), by a signal or as
 * if all were well (DEATH, an expression); all else is the emulated one's. Installations of mixed versions do
 * so.
 */
#include <cudnn.h>
#include <stdlib.h>
#include <unistd.h>

/* What is not defined here is found in the emulated library, to which this ties. */
extern __typeof__(cudnnGetVersion) *const emulated_version;
__typeof__(cudnnGetVersion) *const emulated_version = cudnnGetVersion;

#if AT_LOAD
__attribute__((constructor)) static void on_load(void)
{
    DEATH;
}
#endif

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    DEATH;
    return CUDNN_STATUS_SUCCESS;
}
