/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of a comparison, for the table of formats.
 */
#ifndef DP_REPORTS_DIFF_RENDER_H
#define DP_REPORTS_DIFF_RENDER_H

#include "reports/diff/diff.h"
#include "reports/render/render.h"

dp_render_function dp_diff_text;
dp_render_function dp_diff_markdown;

/* What the formats of sentences share. The last line: "the results differ: 9 operations repeat with other
 * bits; 2 newly vary". Owned. */
char *dp_diff_sentence(const json_t *diff);
/* "varies · broken" of one side, "" where it is not there. Owned. */
char *dp_diff_verdict(const json_t *verdict);
/* What stands behind one change: "was repeats · kept", "along threads", "chose 'a' before, 'b' now". Owned.
 */
char *dp_diff_detail(const json_t *change);
/* "9 cases repeat with other bits, 2 newly vary" of {kind: count}. Owned. */
char *dp_diff_counts(const json_t *kinds);

#endif
