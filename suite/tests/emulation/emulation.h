/* SPDX-License-Identifier: Apache-2.0
 *
 * The emulated CUDA stack of the tests: libraries with the real SONAMEs that compute on the CPU, so that
 * unmodified probe programs run without a GPU. What is injected comes from DETPROBE_EMULATE, words separated
 * by commas:
 *   order=seeded|fixed|race   own kernels: blocks and threads in another order at each launch, from a seed
 *                             (default); in one order; blocks in such an order to threads that race
 *   seed=N                    of order=seeded and race
 *   reorder=NAME              library functions whose name begins so sum in another order at each call
 *   bitflip=NAME              one bit of the result of such a function is flipped at every other call
 *   unwritten=NAME            such a function leaves the last element of its result as it was
 *   wrong=NAME                such a function returns a result whose first element is off by a thousandth
 *   status=NAME               such a function fails
 *   tf32=forced               NVIDIA_TF32_OVERRIDE=1 lets tf32 into products that did not ask for it
 *   tf32=allowed              NVIDIA_TF32_OVERRIDE=0 does not keep it out of convolutions
 *   select=NAME               such a function takes another kernel and order in each process
 *   streams=NAME              such a function gets less workspace on a stream beside others of its handle
 *   cupti=N                   cuptiSubscribe fails with this status
 *   align=NAME                such a function sums otherwise where its first operand is not 16-byte aligned
 *   atomics=yes|no            functions that may use atomics do so where allowed (default) or not
 *   odd=N                     workspaces of cuDNN are so many bytes larger
 *   listed=N                  what the lists of cuDNN call the math type
 *   cudnn=N  cudart=N         what cudnnGetVersion and cudnnGetCudartVersion say
 *   blind=1                   the comparison of the kit sees no difference
 *   memory=BYTES              of the device
 *   busy-WORD=NAME            any of these, as long as other work is on the device
 *   gate-WORD=NAME            any of these, behind the gate of calls that are made at once
 *   deviceN-WORD=NAME         any of these, on device N alone
 *   classN=N                  the compute capability of device N, else that of all
 *   taken=N                   device N belongs to another process
 *   blocking=1                a launch waits for its kernel
 *   sticky=N                  the N-th wait for the device of a process finds an illegal address
 *   error=N                   or this error
 *   devices=N  capability=N  driver=N  mode=N  mps=N
 *                             what cuDeviceGetCount, attributes and cuDriverGetVersion say
 * A library that emulates another one includes this and is linked to the emulated libcuda.so.1.
 * DETPROBE_EMULATE_LOG names a file that gets one line per call that matters.
 */
#ifndef EMULATION_H
#define EMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a word of DETPROBE_EMULATE, or `fallback`. */
const char *emulate_word(const char *word, const char *fallback);
long emulate_number(const char *word, long fallback);
/* Whether `word` is given for the function `name`. */
bool emulate_for(const char *word, const char *name);
void emulate_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A permutation of 0 .. count-1, the identity unless `shuffled`, another one at each call. */
void emulate_order(int32_t *ret, int32_t count, bool shuffled);
/* Faults of one call, done to its dense result. */
void emulate_harm(const char *name, void *result, size_t elements, size_t size, const void *before_last);
/* The kernel that a library function launches, known by `select`; 0 where nothing is selected anew. */
unsigned emulate_variant(const char *name);
/* The order that goes with a variant, the same at each call. */
void emulate_variant_order(int32_t *ret, int32_t count, unsigned variant);
/* Told to CUPTI where it listens: a launch of a library through the runtime, or of the driver's own. */
void emulate_launched_by_library(const char *name);
void emulate_launched(const char *symbol);
/* What CUPTI puts here while it listens. */
extern void (*emulate_listener)(bool runtime, bool enter, const char *symbol);
/* What is beside a call, for words that are in force then alone: "busy", "gate" or NULL. Kept by libcuda. */
extern const char *(*emulate_beside)(void);
/* Which closing of the kit's gate this is, behind which work on several streams is gathered; 0: it is open.
 */
unsigned emulate_gate(void);
/* Called when a context of the device becomes current. */
void emulate_use_device(int ordinal);
bool emulate_is_device_memory(const void *memory, size_t bytes);

/* Own kernels. */
typedef void (*emulate_kernel)(const void *packed);
void emulate_launch(emulate_kernel kernel, unsigned blocks, unsigned threads, const void *packed);

#endif
