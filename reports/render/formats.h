/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of a report, and those that serve every document: one function per file, named here for the
 * table in render.c. What is a comparison's alone is in reports/diff.
 */
#ifndef DP_RENDER_FORMATS_H
#define DP_RENDER_FORMATS_H

#include "reports/render/render.h"

dp_render_function dp_render_text;

/* Any document. */
dp_render_function dp_render_github;
dp_render_function dp_render_json;
dp_render_function dp_render_junit;
dp_render_function dp_render_prometheus;
dp_render_function dp_render_sarif;
dp_render_function dp_render_tap;

dp_render_function dp_render_markdown; /* a report; comparisons and decisions have their own */
dp_render_function dp_render_summary;
dp_render_function dp_render_summary_diff;
dp_render_function dp_render_summary_gate;

dp_render_function dp_render_html_report, dp_render_html_diff, dp_render_html_gate, dp_render_html_matrix;

#endif
