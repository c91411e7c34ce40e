/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of a gate's decision, for the table of formats.
 */
#ifndef DP_REPORTS_GATE_RENDER_H
#define DP_REPORTS_GATE_RENDER_H

#include "reports/gate/gate.h"
#include "reports/render/render.h"

dp_render_function dp_gate_text;
dp_render_function dp_gate_markdown;

/* "allowed", "new" or "finding". */
const char *dp_gate_state(const json_t *finding);
/* What the formats of sentences share. The last line: "gate failed: 2 findings in 269 cases, 1 of them new".
 * Owned. */
char *dp_gate_sentence(const json_t *gate);

#endif
