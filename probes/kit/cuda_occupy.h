/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of the kit's own that stays on the device until the host ends it, on a stream of its own: other
 * work beside the measured operation, for axis busy. It ends by itself after a limit, so nothing that waits
 * for the device ever waits for good.
 */
#ifndef KIT_CUDA_OCCUPY_H
#define KIT_CUDA_OCCUPY_H

#include "probes/kit/backend.h"

/* For struct kit_backend. */
int kit_occupy_busy(enum kit_busy work);

#endif
