/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the kernels that a run launches, from CUPTI where it is there. Subscribed for one run at a time,
 * so that measured runs are made without it.
 */
#ifndef KIT_CUDA_CUPTI_H
#define KIT_CUDA_CUPTI_H

#include <jansson.h>
#include <stdbool.h>

#include "probes/kit/op.h"

/* Looks for the library; without one nothing is ever recorded, which is no fault. `beside`: a file of the
 * toolkit, near which it may lie. */
void kit_cupti_open(const char *beside);
/* Its row for hello; 0 where there is none. */
int kit_cupti_library(struct kit_library *ret);
/* From here on launches are recorded; false where they cannot be (another profiler, no permission). */
bool kit_cupti_begin(void);
/* Ends that: [{name, launches}] in order of the first launch, or NULL if nothing was seen; owned. */
json_t *kit_cupti_end(void);

#endif
