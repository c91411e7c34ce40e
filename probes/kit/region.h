/* SPDX-License-Identifier: Apache-2.0
 *
 * Region: where in a tensor the elements are that differ, and what that looks like: a tail that a loop
 * forgot, the tile of one thread block, one row.
 */
#ifndef KIT_REGION_H
#define KIT_REGION_H

#include "probes/kit/op.h"

/* The first that holds. "Dense": at least half of the box differs, since numbers coincide by chance. */
enum kit_region_kind {
    KIT_REGION_ALL,       /* every element that was compared */
    KIT_REGION_ELEMENT,   /* one */
    KIT_REGION_ROW,       /* dense in one row, where there are several: along the last dimension */
    KIT_REGION_COLUMN,    /* dense in one column: along the dimension before the last */
    KIT_REGION_TAIL,      /* every element from the first that differs to the end, row-major */
    KIT_REGION_TILE,      /* dense in a box smaller than the tensor */
    KIT_REGION_SCATTERED, /* anything else */
    KIT_REGION_MAX
};
/* "all", "element" and so on. Static. */
const char *kit_region_name(enum kit_region_kind kind);

/* The smallest box that holds the elements, filled in ascending order of their offsets. */
struct kit_region {
    const struct kit_operand *operand;
    int64_t count;
    int64_t first; /* row-major offset, -1: none */
    int64_t low[KIT_MAX_DIMS], high[KIT_MAX_DIMS];
    int64_t row, row_start, row_end; /* that was entered last */
    int64_t place[KIT_MAX_DIMS];     /* its coordinates but the last */
};

/* `operand` must outlive the region. */
void kit_region_init(struct kit_region *region, const struct kit_operand *operand);
/* Adds elements by their offsets, ascending, beyond those that are in it. */
void kit_region_add(struct kit_region *region, const int64_t *offsets, int count);
/* Of elements that differ, out of `compared`, of which `beyond` stand from the first that differs to the end.
 */
enum kit_region_kind kit_region_kind_of(const struct kit_region *region, int64_t compared, int64_t beyond);

#endif
