/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis busy of the CPU backend: other work on the cores that this process may use.
 */
#ifndef KIT_CPU_BUSY_H
#define KIT_CPU_BUSY_H

#include "probes/kit/backend.h"

/* For struct kit_backend. */
int kit_cpu_busy(enum kit_busy work);
bool kit_cpu_beside(void);

#endif
