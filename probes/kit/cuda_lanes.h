/* SPDX-License-Identifier: Apache-2.0
 *
 * The streams of the CUDA backend: one, and for axis concurrency more, of which one is current at a time.
 */
#ifndef KIT_CUDA_LANES_H
#define KIT_CUDA_LANES_H

#include <stdbool.h>

/* The stream of lane 0, with which everything else is done. */
int kit_lanes_open(void);
/* For struct kit_backend. */
int kit_lanes_at_once(int lanes, int (*run)(void *context, int lane), void *context, bool *ret_at_once);

#endif
