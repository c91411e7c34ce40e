/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels kept in the run's scratch folder (DETPROBE_SCRATCH), so that each further process of a
 * program loads what the first one made. Nothing is kept where there is no such folder.
 */
#ifndef KIT_CUDA_KEPT_H
#define KIT_CUDA_KEPT_H

#include "probes/kit/cuda_nvrtc.h"

/* `compiler` and `options` are what the image depends on beside the text. False: it is not there. */
bool kit_kept_find(const char *compiler, const char *options, const char *text, struct kit_image *ret);
void kit_kept_put(const char *compiler, const char *options, const char *text, const struct kit_image *image);

#endif
