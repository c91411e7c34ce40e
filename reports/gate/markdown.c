/* SPDX-License-Identifier: Apache-2.0
 *
 * Format markdown: the decision for a pull request or the summary of a job. What comes from reports and
 * policies is escaped, so that it stays text.
 */
#include <stdlib.h>

#include "reports/gate/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST 200 /* rows of the table: services cut longer comments */

static void add_lines(const char *label, const json_t *rows, struct dp_text *out)
{
    for (size_t i = 0; i < json_array_size(rows) && i < MOST; i++) {
        dp_text_printf(out, "- %s: ", label);
        dp_words_markdown(out, dp_json_string(json_array_get(rows, i), "line", ""));
        dp_text_put(out, "\n");
    }
}

static void add_finding(const json_t *finding, struct dp_text *out)
{
    static const char *const members[] = {"case", "kind", "line", "detail"};
    const json_t *allowed = json_object_get(finding, "allowed");
    dp_text_printf(out, "| %s", dp_gate_state(finding));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        dp_text_put(out, " | ");
        dp_words_markdown(out, dp_json_string(finding, members[i], ""));
    }
    if (allowed) {
        dp_text_put(out, " ");
        dp_words_markdown(out, dp_json_string(allowed, "reason", ""));
        dp_text_put(out, ", until ");
        dp_words_markdown(out, dp_json_string(allowed, "expires", ""));
    }
    dp_text_put(out, " | ");
    dp_words_markdown(out, dp_json_string(finding, "reproduce", ""));
    dp_text_put(out, " |\n");
}

void dp_gate_markdown(const json_t *gate, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *findings = json_object_get(gate, "findings");
    const size_t count = json_array_size(findings);
    char *sentence = dp_gate_sentence(gate);
    dp_text_put(out, "**detprobe**: ");
    dp_words_markdown(out, sentence);
    dp_text_put(out, "\n\n");
    add_lines("problem", json_object_get(gate, "problems"), out);
    add_lines("note", json_object_get(gate, "notes"), out);
    if (count > 0) {
        dp_text_put(out,
                    "\n| | case | kind | finding | detail | measure again |\n|---|---|---|---|---|---|\n");
    }
    for (size_t i = 0; i < count && i < MOST; i++) {
        add_finding(json_array_get(findings, i), out);
    }
    if (count > MOST) {
        dp_text_printf(out, "\n%zu more rows are left out.\n", count - MOST);
    }
    free(sentence);
}
