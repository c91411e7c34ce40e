/* SPDX-License-Identifier: Apache-2.0
 *
 * The box is widened once for each row: rows that follow each other are counted on, others divided for.
 */
#include "probes/kit/region.h"

static const char *const names[KIT_REGION_MAX] = {
    [KIT_REGION_ALL] = "all",
    [KIT_REGION_ELEMENT] = "element",
    [KIT_REGION_ROW] = "row",
    [KIT_REGION_COLUMN] = "column",
    [KIT_REGION_TAIL] = "tail",
    [KIT_REGION_TILE] = "tile",
    [KIT_REGION_SCATTERED] = "scattered",
};

const char *kit_region_name(enum kit_region_kind kind)
{
    return names[kind];
}

static int64_t row_length(const struct kit_operand *operand)
{
    return operand->ndim > 0 ? operand->shape[operand->ndim - 1] : 1;
}

void kit_region_init(struct kit_region *region, const struct kit_operand *operand)
{
    *region = (struct kit_region){.operand = operand, .first = -1, .row = -1};
    for (int d = 0; d < operand->ndim; d++) {
        region->low[d] = INT64_MAX;
        region->high[d] = -1;
    }
}

/* Coordinates of the row after the one that they are of. */
static void next_row(struct kit_region *region)
{
    for (int d = region->operand->ndim - 2; d >= 0; d--) {
        if (++region->place[d] < region->operand->shape[d]) {
            return;
        }
        region->place[d] = 0;
    }
}

static void find_row(struct kit_region *region, int64_t row)
{
    for (int d = region->operand->ndim - 2; d >= 0; d--) {
        region->place[d] = row % region->operand->shape[d];
        row /= region->operand->shape[d];
    }
}

static void enter_row(struct kit_region *region, int64_t offset)
{
    const int64_t length = row_length(region->operand);
    int64_t row = region->row + 1;
    if (row > 0 && offset < region->row_end + length) {
        next_row(region);
    } else {
        row = offset / length;
        find_row(region, row);
    }
    region->row = row;
    region->row_start = row * length;
    region->row_end = region->row_start + length;
    for (int d = 0; d < region->operand->ndim - 1; d++) {
        region->low[d] = region->place[d] < region->low[d] ? region->place[d] : region->low[d];
        region->high[d] = region->place[d] > region->high[d] ? region->place[d] : region->high[d];
    }
}

void kit_region_add(struct kit_region *region, const int64_t *offsets, int count)
{
    const int d = region->operand->ndim - 1; /* of a scalar: the only coordinate is not told */
    region->first = region->count == 0 && count > 0 ? offsets[0] : region->first;
    region->count += count;
    for (int i = 0; i < count && d >= 0; i++) {
        if (offsets[i] >= region->row_end) {
            enter_row(region, offsets[i]);
        }
        const int64_t column = offsets[i] - region->row_start;
        region->low[d] = column < region->low[d] ? column : region->low[d];
        region->high[d] = column > region->high[d] ? column : region->high[d];
    }
}

/* Whether the box is one element wide but along dimension `along`, in a tensor that is wider. */
static bool is_line(const struct kit_region *region, int along)
{
    const struct kit_operand *operand = region->operand;
    bool wider = false;
    for (int d = 0; d < operand->ndim; d++) {
        if (d != along && region->high[d] > region->low[d]) {
            return false;
        }
        wider = wider || (d != along && operand->shape[d] > 1);
    }
    return along >= 0 && wider;
}

enum kit_region_kind kit_region_kind_of(const struct kit_region *region, int64_t compared, int64_t beyond)
{
    const struct kit_operand *operand = region->operand;
    double volume = 1;
    bool smaller = false;
    for (int d = 0; d < operand->ndim && region->count > 0; d++) {
        const int64_t extent = region->high[d] - region->low[d] + 1;
        volume *= (double)extent;
        smaller = smaller || extent < operand->shape[d];
    }
    const bool dense = 2.0 * (double)region->count >= volume;
    return region->count == compared                     ? KIT_REGION_ALL
           : region->count == 1                          ? KIT_REGION_ELEMENT
           : dense && is_line(region, operand->ndim - 1) ? KIT_REGION_ROW
           : dense && is_line(region, operand->ndim - 2) ? KIT_REGION_COLUMN
           : region->count == beyond                     ? KIT_REGION_TAIL
           : dense && smaller                            ? KIT_REGION_TILE
                                                         : KIT_REGION_SCATTERED;
}
