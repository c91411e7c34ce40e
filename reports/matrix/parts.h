/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a matrix, for the files of this folder.
 */
#ifndef DP_REPORTS_MATRIX_PARTS_H
#define DP_REPORTS_MATRIX_PARTS_H

#include "reports/matrix/matrix.h"

/* Rows {kind, subject, member, values[], families?, backend?} of what is not the same in all environments. A
 * value is null where there is none. Owned. */
json_t *dp_matrix_environment(const struct dp_diff_side *sides, size_t count);
/* Short names of reports, each once: what sets the names of their files apart. Owned, as an array. */
json_t *dp_matrix_labels(const struct dp_diff_side *sides, size_t count);

#endif
