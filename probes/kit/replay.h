/* SPDX-License-Identifier: Apache-2.0
 *
 * Random summands to hold a tree against: if the sum follows the tree in plain additions of a type, the tree
 * evaluated in that type gives the same bits.
 */
#ifndef KIT_REPLAY_H
#define KIT_REPLAY_H

#include "probes/kit/op.h"
#include "probes/kit/order.h"

#define KIT_REPLAYS 32

/* Summand `number` of round 0 .. KIT_REPLAYS - 1, a whole number; the value is that times kit_replay_scale.
 * Exponents are spread, and every second round consists of pairs that nearly cancel. */
int64_t kit_replay_number(enum kit_dtype dtype, int round, int number);
long double kit_replay_scale(enum kit_dtype dtype);

/* How many of the sums, as the op gave them for an output of type f32 or f64, are the tree's (NULL: the exact
 * sum, rounded once) with additions in `in`, which is f32 or f64. `unit`, a power of two, is what the op
 * multiplies the sum by. */
int kit_replay_same(const struct kit_order *order, int summands, enum kit_dtype input, enum kit_dtype in,
                    enum kit_dtype output, long double unit, const long double *sums);

#endif
