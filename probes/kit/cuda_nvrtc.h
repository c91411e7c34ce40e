/* SPDX-License-Identifier: Apache-2.0
 *
 * The role nvrtc: own kernels, compiled at run time for the device found.
 */
#ifndef KIT_CUDA_NVRTC_H
#define KIT_CUDA_NVRTC_H

#include "probes/kit/op.h"

struct kit_image {
    char *bytes; /* cubin or PTX; owned */
    size_t size;
    bool is_ptx;
};

/* `capability`: 90 for 9.0. KIT_SKIPPED library_missing or version. */
int kit_nvrtc_open(void);
int kit_nvrtc_compile(const char *text, int capability, struct kit_image *ret);
/* The row for hello; 0 before open. */
int kit_nvrtc_library(struct kit_library *ret);

#endif
