/* SPDX-License-Identifier: Apache-2.0
 *
 * From two environments to the smallest difference between them that changes the bits of a case: one document
 * (reports/schema/bisect.schema.json).
 */
#ifndef DP_ATTRIBUTE_BISECT_H
#define DP_ATTRIBUTE_BISECT_H

#include <jansson.h>
#include <stdbool.h>

#include "reports/diff/diff.h"
#include "suite/attribute/trial.h"

/* Both reports were checked and hold the bench's case. `load`: libraries that they name may be loaded, where
 * both files are here. Owned; NULL with the code of the error: 65 where the two are not comparable, 2 where
 * the case varies in both, 77 where it cannot run here. */
json_t *dp_bisect(struct dp_bench *bench, const struct dp_diff_side sides[2], bool load, struct dp_err *err);

#endif
