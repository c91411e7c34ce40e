/* SPDX-License-Identifier: Apache-2.0
 *
 * Three or more reports side by side: one document (schema/matrix.schema.json), made here; renderers take it
 * alone. Columns are reports; rows are the cases that are not the same in all of them, put together where
 * family and pattern are the same. Equal is what reports/diff calls equal.
 */
#ifndef DP_REPORTS_MATRIX_H
#define DP_REPORTS_MATRIX_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "reports/diff/diff.h"

#define DP_MATRIX_SCHEMA_VERSION "1.0"
#define DP_MATRIX_MOST 26 /* reports: classes of equal bits have letters */

/* Of `count` reports. Owned; NULL with code 65 where they are not of one plan, or no case of several of them
 * can be compared. */
json_t *dp_matrix_make(const struct dp_diff_side *sides, size_t count, struct dp_err *err);
/* Whether every case is the same in all reports. */
bool dp_matrix_agrees(const json_t *matrix);

#endif
