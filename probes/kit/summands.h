/* SPDX-License-Identifier: Apache-2.0
 *
 * Which elements of which operand are the summands of an output cell: found by the op's own reference, so
 * that no probe says it a second time. An element whose zero takes from the cell what a one had given is a
 * summand.
 */
#ifndef KIT_SUMMANDS_H
#define KIT_SUMMANDS_H

#include "probes/kit/operands.h"

struct kit_summand {
    int operand;
    int64_t offset; /* logical row-major */
};

/* The cells are sums alike: summand s of cell c is `shift[c]` elements behind summand s of cell 0, and no two
 * cells share one. Several cells are there only where all summands are in one operand. */
struct kit_summands {
    int output;
    struct kit_summand *summand; /* of cell 0, in order; owned */
    int64_t count;
    long double unit; /* what a summand of 1 gives to its cell */
    int cells;
    int64_t *cell, *shift; /* owned */
};

/* Of a cell of sample `place` of the batch; -1: of any. KIT_SKIPPED, unsupported, where no output is a plain
 * sum in any operand. Logical inputs are changed: those with summands hold zeros after it, other floats ones,
 * the rest what they held. */
int kit_summands_find(struct kit_operands *operands, struct kit_call *call, int64_t place,
                      struct kit_summands *ret);
void kit_summands_free(struct kit_summands *summands);

#endif
