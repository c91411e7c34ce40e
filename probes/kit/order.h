/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a sum, from counts alone (FPRev: Xie, Gao, Wang, Xue, Revealing Floating-Point Accumulation
 * Orders in Software/Hardware Implementations, USENIX ATC 2025). One summand is +M, another -M, so large that
 * a one vanishes beside them, the rest are ones. Ones that meet a live M are lost; those that are added after
 * the two have cancelled are counted. So the count says how many summands stand under the lowest node of the
 * tree of additions that holds both, and enough such sizes give the tree, nodes of more than two included.
 */
#ifndef KIT_ORDER_H
#define KIT_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct kit_order_pair {
    int plus, minus; /* numbers of summands */
};

/* What is asked for its counts. `measure` stores for each pair how many ones were counted, negative where the
 * sum is no count. Returns 0, or what kit_order_reveal then returns. */
struct kit_order_sum {
    int summands;
    int (*measure)(void *context, const struct kit_order_pair *pairs, size_t count, int *ret_counts);
    void *context;
    int64_t most; /* pairs asked before it is given up */
};

enum kit_order_kind {
    KIT_ORDER_TREE,
    KIT_ORDER_EXACT,  /* no one is ever lost: exact or compensated, whatever the order */
    KIT_ORDER_NONE,   /* the counts repeat, and no tree of plain additions gives them */
    KIT_ORDER_VARIES, /* the same pair gave other counts: no one order */
    KIT_ORDER_COSTLY  /* more than `most` pairs */
};

/* Nodes 0 .. summands - 1 are the summands, the last is the sum; a node's parent has a higher number. */
struct kit_order {
    enum kit_order_kind kind;
    int nodes;
    int *parent;     /* of each node but the last; of a tree, else NULL. Owned */
    int64_t asked;   /* pairs */
    int64_t twice;   /* of them asked again ... */
    int64_t changed; /* ... and answered otherwise */
};

/* For 2 summands and more. */
int kit_order_reveal(const struct kit_order_sum *sum, struct kit_order *ret);
void kit_order_free(struct kit_order *order);

#endif
