/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program of the CUDA backend uses: `.memory = &kit_cuda` in its kit_program, kit_cuda_open first in
 * its `open`, the stream on which everything is enqueued, libraries opened by role, own kernels launched by
 * name. One device, its primary context, one stream. Every status goes through a check; a run enqueues and
 * returns, what happens on the device is seen when the kit waits.
 */
#ifndef KIT_CUDA_H
#define KIT_CUDA_H

#include "probes/kit/backend.h"
#include "probes/kit/cuda_driver.h"
#include "probes/kit/op.h"

extern const struct kit_backend kit_cuda;

/* Driver, device, context, stream, and the kit's kernels with those of `text` (NULL: none) compiled for the
 * device. KIT_SKIPPED with a reason that a user can act on. */
int kit_cuda_open(const char *text);
/* Rows for hello: driver, NVRTC. Returns their count. A family's `libraries` calls it, then adds its own. */
int kit_cuda_libraries(struct kit_library *ret, int max);
/* There is no thread count to set: for kit_program.set_threads. */
int kit_cuda_set_threads(int threads);

/* The stream on which a run enqueues. On axis concurrency it is another one for each lane. */
CUstream kit_cuda_stream(void);
/* Which of the lanes that is; 0 everywhere else. */
int kit_cuda_lane(void);
/* For a library that is told its stream beforehand: `follower` is called when the stream has become another.
 */
void kit_cuda_follow(int (*follower)(void));
/* Major and minor as one number: 90 for 9.0. */
int kit_cuda_capability(void);
int kit_cuda_sm_count(void);

/* Names of one library and the oldest driver (13 for 13.x) that a library of that name works with. */
struct kit_cuda_soname {
    const char *name;
    int driver_major;
};
/* As kit_open_role, over the names that the driver is new enough for. Ends with a name NULL. If only a
 * library for a newer driver is there: KIT_SKIPPED version that says so. */
void *kit_cuda_open_role(const char *role, const struct kit_cuda_soname *sonames, const char *probe_symbol);
/* KIT_SKIPPED version where the driver is of an older major version than the CUDA that `library` is of. */
int kit_cuda_needs(const char *library, int major, int minor);

/* A kernel of the text given to kit_cuda_open. */
int kit_cuda_kernel(const char *name, CUfunction *ret);
/* NAME_single or NAME_double, and what the first is told of a type (enum kernel_type of kernel.h). */
int kit_cuda_kernel_for(const char *name, enum kit_dtype dtype, CUfunction *ret);
int kit_cuda_kernel_type(enum kit_dtype dtype);
/* Enqueues; `args` is the kernel's one struct. */
int kit_cuda_launch(CUfunction kernel, int blocks, int threads, const void *args);
int kit_cuda_launch_on(CUstream stream, CUfunction kernel, int blocks, int threads, const void *args);
/* Blocks for `items` items of one thread each, at most what fills the device some times over. */
int kit_cuda_blocks(int64_t items, int threads);
/* Enqueues bytes of zero. */
int kit_cuda_zero(void *to, size_t bytes);

#endif
