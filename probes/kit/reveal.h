/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer to a request of axis `order`: in which order the prepared operation adds up one output cell.
 */
#ifndef KIT_REVEAL_H
#define KIT_REVEAL_H

#include "probes/kit/operands.h"
#include "probes/kit/request.h"

#define KIT_REVEAL_MOST 16384 /* summands of one tree; its parents stay within a line */

/* Owned answer of type `order`. Logical inputs are changed. */
int kit_reveal(struct kit_operands *operands, struct kit_call *call, const struct kit_request *request,
               json_t **ret_answer);

#endif
