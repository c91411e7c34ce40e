/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of the kit's own that stays on the device until the host ends it, on a stream of its own: other
 * work beside the measured operation, for axis busy, and the gate behind which work is gathered that is to
 * start at once, for axis concurrency. It ends by itself after a limit, so nothing that waits for the device
 * ever waits for good.
 */
#ifndef KIT_CUDA_OCCUPY_H
#define KIT_CUDA_OCCUPY_H

#include "probes/kit/backend.h"
#include "probes/kit/cuda_driver.h"

/* For struct kit_backend. */
int kit_occupy_busy(enum kit_busy work);

int kit_occupy_close_gate(void);
/* What is enqueued on the stream from now on waits until the gate opens. */
int kit_occupy_wait_behind_gate(CUstream stream);
/* *ret_held: it was closed until now. */
int kit_occupy_open_gate(bool *ret_held);

#endif
