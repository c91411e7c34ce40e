/* SPDX-License-Identifier: Apache-2.0
 *
 * Proving a backend's comparison before it is trusted.
 */
#ifndef KIT_PROVE_H
#define KIT_PROVE_H

#include "probes/kit/operands.h"

/* For each output of a prepared operation: equal buffers are seen as equal, and one flipped bit, at the
 * front, somewhere inside and at the end, is seen as one byte at its place, as the host sees it. Leaves
 * outputs as they are. Does nothing where the comparison is the host's own. */
int kit_prove_compare(struct kit_operands *operands);

#endif
