/* SPDX-License-Identifier: Apache-2.0
 *
 * Format html of what a gate decided: the decision, what stood in its way, each finding with the command that
 * measures it again, notes.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/gate/gate.h"
#include "reports/gate/render.h"
#include "reports/html/html.h"
#include "reports/render/formats.h"
#include "suite/base/json.h"

static void put_name(struct dp_text *out, const char *label, const json_t *file)
{
    if (file) {
        dp_html_pair(out, label, dp_json_string(file, "name", ""));
    }
}

static void put_summary(const json_t *gate, struct dp_text *out)
{
    static const struct {
        const char *look, *value, *member, *shown;
    } tiles[] = {
        {"failed", NULL, "failed", "failed"},         {"failed", "new", "new", "of them new"},
        {"kept", "allowed", "allowed", "allowed"},    {"checked", NULL, "checked", "cases checked"},
        {"skipped", NULL, "skipped", "not measured"},
    };
    const json_t *summary = json_object_get(gate, "summary"), *plan = json_object_get(gate, "plan");
    dp_text_put(out, "<section aria-labelledby=\"h-summary\">\n<h2 id=\"h-summary\">Summary</h2>\n"
                     "<ul class=\"tiles\">\n");
    for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
        dp_html_tile(out,
                     &(const struct dp_html_tile){.look = tiles[i].look,
                                                  .facet = tiles[i].value ? "state" : NULL,
                                                  .value = tiles[i].value,
                                                  .shown = tiles[i].shown,
                                                  .count = (size_t)dp_json_int(summary, tiles[i].member, 0)});
    }
    dp_text_put(out, "</ul>\n<dl>\n");
    put_name(out, "report", json_object_get(gate, "report"));
    put_name(out, "baseline", json_object_get(gate, "baseline"));
    put_name(out, "policy", json_object_get(gate, "policy"));
    char *words =
        dp_printf("level %s, seed %s", dp_json_string(plan, "level", ""), dp_json_string(plan, "seed", ""));
    dp_html_pair(out, "plan", words);
    dp_text_put(out, "</dl>\n</section>\n");
    free(words);
}

/* Problems and notes: a kind and a line each. */
static void put_lines(struct dp_text *out, const char *id, const char *title, const json_t *rows)
{
    if (json_array_size(rows) == 0) {
        return;
    }
    dp_text_printf(out, "<section aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n<dl>\n", id, id, title);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        dp_html_pair(out, dp_json_string(row, "kind", ""), dp_json_string(row, "line", ""));
    }
    dp_text_put(out, "</dl>\n</section>\n");
}

static void put_finding(struct dp_text *out, const json_t *finding)
{
    const json_t *allowed = json_object_get(finding, "allowed");
    const char *id = dp_json_string(finding, "case", ""), *detail = dp_json_string(finding, "detail", NULL);
    dp_text_put(out, "<tr");
    dp_html_attribute(out, "data-case", id);
    dp_html_attribute(out, "data-state", dp_gate_state(finding));
    dp_html_attribute(out, "data-kind", dp_json_string(finding, "kind", ""));
    dp_html_attribute(out, "data-backend", dp_json_string(finding, "backend", ""));
    dp_html_attribute(out, "data-family", dp_json_string(finding, "family", ""));
    dp_html_attribute(out, "data-axis", dp_json_string(finding, "axis", ""));
    dp_text_put(out, "><th scope=\"row\" class=\"id\">");
    dp_html_text(out, id);
    dp_text_put(out, "</th>");
    dp_html_word(out, dp_gate_state(finding));
    dp_html_word(out, dp_json_string(finding, "kind", ""));
    dp_text_put(out, "<td><p>");
    dp_html_text(out, dp_json_string(finding, "line", ""));
    dp_text_put(out, "</p>");
    if (detail) {
        dp_text_put(out, "<p class=\"note\">");
        dp_html_text(out, detail);
        dp_text_put(out, "</p>");
    }
    if (allowed) {
        dp_text_put(out, "<p class=\"note\">allowed: ");
        dp_html_text(out, dp_json_string(allowed, "reason", ""));
        dp_text_put(out, ", until ");
        dp_html_text(out, dp_json_string(allowed, "expires", ""));
        dp_text_put(out, "</p>");
    }
    dp_text_put(out, "<div class=\"command\"><pre>");
    dp_html_text(out, dp_json_string(finding, "reproduce", ""));
    dp_text_put(out, "</pre></div></td></tr>\n");
}

static void put_findings(struct dp_text *out, const json_t *findings)
{
    static const struct dp_html_facet facets[] = {{"state", "state"},     {"kind", "kind"},
                                                  {"backend", "backend"}, {"family", "family"},
                                                  {"axis", "axis"},       {NULL, NULL}};
    dp_text_put(out,
                "<section id=\"cases\" aria-labelledby=\"h-cases\">\n<h2 id=\"h-cases\">Findings</h2>\n");
    if (json_array_size(findings) == 0) {
        dp_text_put(out, "<p>None.</p>\n</section>\n");
        return;
    }
    dp_html_filters(out, facets, "sgemm, ulp");
    dp_text_put(
        out, "<div class=\"scroll wide\" role=\"region\" aria-labelledby=\"h-cases\" tabindex=\"0\">\n"
             "<table class=\"findings\" data-noun=\"findings\">\n<thead><tr><th scope=\"col\">case</th><th "
             "scope=\"col\">state</th><th scope=\"col\">kind</th><th scope=\"col\">finding, and how to "
             "measure it again</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        put_finding(out, json_array_get(findings, i));
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n</section>\n");
}

void dp_render_html_gate(const json_t *gate, const struct dp_render_options *options, struct dp_text *out)
{
    static const char *const tones[] = {[DP_GATE_NONE] = "warn",
                                        [DP_GATE_PASSED] = "good",
                                        [DP_GATE_FAILED] = "bad",
                                        [DP_GATE_NO_VERDICT] = "warn"};
    const json_t *report = json_object_get(gate, "report");
    char *sentence = dp_gate_sentence(gate);
    dp_html_open(out, &(const struct dp_html_head){.kind = "gate",
                                                   .about = dp_json_string(report, "name", NULL),
                                                   .tone = tones[dp_gate_verdict(gate)],
                                                   .sentence = sentence});
    put_lines(out, "problems", "What stands in the way of a verdict", json_object_get(gate, "problems"));
    put_summary(gate, out);
    put_findings(out, json_object_get(gate, "findings"));
    put_lines(out, "notes", "Notes", json_object_get(gate, "notes"));
    dp_html_close(out, dp_json_string(report, "digest", ""));
    free(sentence);
}
