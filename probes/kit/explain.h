/* SPDX-License-Identifier: Apache-2.0
 *
 * How far two outputs are apart. Bits have decided already; these numbers only explain.
 */
#ifndef KIT_EXPLAIN_H
#define KIT_EXPLAIN_H

#include "probes/kit/op.h"

#define KIT_ULP_BINS 64 /* distances by powers of two: bin i holds 2^i to 2^(i+1) - 1 */

struct kit_difference {
    int64_t elements, of; /* that differ, compared */
    uint64_t max_ulp;
    double max_abs,
        max_rel;         /* max_rel = max_abs / largest magnitude of the first output; 1e308: not finite */
    int64_t first_index; /* of the first element that differs, -1: none */
    bool permutation;    /* the same elements in another order */
    int64_t ulps[KIT_ULP_BINS]; /* elements by their distance in representable values */
};

/* Compares `count` elements bit by bit. */
void kit_explain(enum kit_dtype dtype, const void *first, const void *other, int64_t count,
                 struct kit_difference *ret);
/* Keeps the worst of two differences of one output: the larger of each number; ulps counts the elements of
 * both. A pair that is no permutation makes the whole none. */
void kit_difference_merge(struct kit_difference *into, const struct kit_difference *from);
/* Whether the one comes before the other, each in its own output: in histories with the step as first
 * dimension, the one of the earlier step. */
bool kit_difference_is_earlier(const struct kit_difference *one, const struct kit_difference *other);

#endif
