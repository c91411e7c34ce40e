/* SPDX-License-Identifier: Apache-2.0
 *
 * Random summands to hold a tree against: if the sum follows the tree in plain additions of a type, the tree
 * evaluated in that type gives the same bits. Nodes of more than two children lose ones beside huge numbers,
 * so they do not add exactly: what matrix units do is held against them (Fasi, Higham, Mikaitis, Pranesh:
 * Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021). All addends are aligned to
 * the largest, so many of its bits are kept and the rest is cut off, the sum of that is exact and rounded
 * once.
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

#define KIT_KEPT_MOST 40 /* bits that are tried: those of f32 and many more than a matrix unit keeps */

/* How additions are done. */
struct kit_adding {
    enum kit_dtype in; /* each addition of two is rounded to nearest in it */
    int aligned;       /* bits of the largest that are kept where more than two are added; 0: no such node */
    int most;          /* of a finding: with so many the sums are the same, too */
    bool toward_zero;  /* what these are rounded to; else to nearest */
};

/* What is held against what. All borrowed. */
struct kit_replay {
    const struct kit_order *order; /* NULL: the exact sum, rounded once */
    int summands;
    enum kit_dtype input, output; /* floats */
    long double unit;             /* a power of two, by which the op multiplies the sum */
    const long double *sums;      /* as the op gave them, by round */
};

/* How many of the sums are those of the tree with such additions. */
int kit_replay_same(const struct kit_replay *replay, struct kit_adding adding);
/* The additions that give most of them, and how many that is: in the types that are not less precise than the
 * input's or the output's; where more than two are added at once, with as few kept bits as give all, else
 * none is told. */
int kit_replay_find(const struct kit_replay *replay, struct kit_adding *ret);

#endif
