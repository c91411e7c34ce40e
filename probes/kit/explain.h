/* SPDX-License-Identifier: Apache-2.0
 *
 * How far two outputs are apart, and what the difference looks like. Bits have decided already; these facts
 * only explain.
 */
#ifndef KIT_EXPLAIN_H
#define KIT_EXPLAIN_H

#include <jansson.h>

#include "probes/kit/op.h"
#include "probes/kit/region.h"

#define KIT_ULP_BINS 64        /* distances by powers of two: bin i holds 2^i to 2^(i+1) - 1 */
#define KIT_CELLS_DIFFERENT 64 /* elements that differ and are held against the reference */

struct kit_difference {
    int64_t elements, of; /* that differ, compared */
    uint64_t max_ulp;
    double max_abs,
        max_rel; /* max_rel = max_abs / largest finite magnitude of the first output; 1e308: not finite */
    int64_t first_index; /* row-major offset in the tensor of the first element that differs, -1: none */
    int64_t span;        /* elements of the tensor */
    bool permutation;    /* the same elements in another order */
    int64_t ulps[KIT_ULP_BINS]; /* elements by their distance in representable values */
    int64_t signs;              /* elements whose sign changed, zeros not counted */
    int64_t zeros;              /* -0 against +0 */
    int64_t specials;           /* infinity or NaN on one side alone, or one against the other */
    int64_t payloads;           /* NaN on both sides, with other bits */
    bool one_bit;               /* every element that differs does so in exactly one bit */
    uint64_t bits;              /* all bits that differ, of whatever element */
    enum kit_region_kind region;
    struct kit_region box;              /* of the elements that differ */
    double error_over_bound;            /* of the elements that differ, on either side; negative: not known */
    int64_t cells[KIT_CELLS_DIFFERENT]; /* offsets of elements that differ, ascending: some of all, spread,
                                           and the one farthest apart */
    int cell_count;
};

/* Compares two logical contents of an operand bit by bit, the elements that `mask` (NULL: all) marks.
 * `operand` must outlive *ret. */
void kit_explain(const struct kit_operand *operand, const uint8_t *mask, const void *first, const void *other,
                 struct kit_difference *ret);
/* Keeps the worst of two differences of one output: the larger of each number, the box of the one with more
 * elements; ulps counts the elements of both. A pair that is no permutation, or differs in more than one bit,
 * makes the whole none; two regions of different kinds are scattered. */
void kit_difference_merge(struct kit_difference *into, const struct kit_difference *from);
/* Whether the one comes before the other, each in its own output: in histories with the step as first
 * dimension, the one of the earlier step. */
bool kit_difference_is_earlier(const struct kit_difference *one, const struct kit_difference *other);
/* The members that a mismatch has of it. With `slice` the tensor is one sample of the batch dimension. Owned.
 */
json_t *kit_difference_json(const struct kit_difference *difference, bool slice);

#endif
