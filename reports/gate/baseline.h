/* SPDX-License-Identifier: Apache-2.0
 *
 * A baseline of several reports of one plan: itself a report, of the cases in which all of them agree. What
 * was measured is put together, so that the rates it gives are those of all runs.
 */
#ifndef DP_REPORTS_BASELINE_H
#define DP_REPORTS_BASELINE_H

#include <stddef.h>

#include "reports/diff/diff.h"

/* The reason of what was left out of a plan to save time; other reasons are those of a baseline. */
#define DP_LEFT_OUT_BUDGET "budget"

/* Of reports that dp_report_load read. What they disagree in stands in its body.plan.left_out, with the
 * reason. How the run ended is left to the caller (measurements.exit). Owned; NULL with code 65, naming the
 * report that does not fit. */
json_t *dp_baseline_make(const struct dp_diff_side *reports, size_t count, struct dp_err *err);
/* How the environment of a report differs from the first one's, which stands in the baseline: its weightiest
 * differences in words. Owned; NULL where it does not. */
char *dp_baseline_other_environment(const json_t *first, const json_t *other);

#endif
