/* SPDX-License-Identifier: Apache-2.0
 *
 * Renderers of a comparison. A new format is one file and one row in render.c.
 */
#ifndef DP_REPORTS_DIFF_RENDER_H
#define DP_REPORTS_DIFF_RENDER_H

#include "reports/diff/diff.h"
#include "reports/render/render.h"

struct dp_diff_renderer {
    const char *name; /* --format NAME: "text", "json", "markdown" */
    void (*render)(const json_t *diff, const struct dp_render_options *options, struct dp_text *out);
};
/* NULL for an unknown name. */
const struct dp_diff_renderer *dp_diff_renderer_find(const char *name);
/* "text|json|markdown", for the option table. */
const char *dp_diff_renderer_names(void);

void dp_diff_text(const json_t *diff, const struct dp_render_options *options, struct dp_text *out);
void dp_diff_json(const json_t *diff, const struct dp_render_options *options, struct dp_text *out);
void dp_diff_markdown(const json_t *diff, const struct dp_render_options *options, struct dp_text *out);

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
