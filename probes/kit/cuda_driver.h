/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cuda: the driver, opened at run time, never linked. The list of entry points is the only place
 * where one is named, by the versioned name that old drivers export; its type is the real header's.
 */
#ifndef KIT_CUDA_DRIVER_H
#define KIT_CUDA_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

/* clang-format off */
#define KIT_DRIVER_FUNCTIONS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) \
    X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceTotalMem_v2) X(cuDeviceGetAttribute) \
    X(cuDeviceGetPCIBusId) X(cuDeviceGetUuid_v2) \
    X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2) X(cuCtxSetCurrent) X(cuCtxSynchronize) \
    X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemGetInfo_v2) X(cuMemHostAlloc) X(cuMemHostGetDevicePointer_v2) \
    X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemsetD8Async) \
    X(cuStreamCreate) X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamQuery) \
    X(cuStreamWaitEvent) X(cuEventCreate) X(cuEventRecord) \
    X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel)
/* clang-format on */

#define KIT_DRIVER_POINTER(name) __typeof__(name) *name;
struct kit_driver {
    KIT_DRIVER_FUNCTIONS(KIT_DRIVER_POINTER)
    int version; /* of CUDA that it supports at most, 13000 for 13.0 */
    bool emulated;
};
#undef KIT_DRIVER_POINTER
extern struct kit_driver kit_driver;

/* Opens and initialises; KIT_SKIPPED no_device or version without one that serves. */
int kit_driver_open(void);
/* 0, or an outcome kept: memory is a skip, the rest a failure; remembers whether the context is lost. */
int kit_driver_check(CUresult result, const char *what);
/* After an error from which a context does not recover. */
bool kit_driver_lost(void);
void kit_driver_set_lost(void);

#endif
