/* SPDX-License-Identifier: Apache-2.0
 *
 * Format html of a comparison: the verdict, the two sides beside each other, what may explain the changes,
 * each changed case before and after, and where the environments differ.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/diff.h"
#include "reports/diff/render.h"
#include "reports/html/html.h"
#include "reports/render/formats.h"
#include "suite/base/json.h"

/* The colour of a kind; the words say what it is. */
static const char *look_of(enum dp_change kind)
{
    return kind <= DP_CHANGE_FAILED      ? "broken"
           : kind <= DP_CHANGE_SENSITIVE ? "varies"
           : kind < DP_CHANGE_MENDED     ? "changed"
                                         : "repeats";
}

static void put_sides(const json_t *diff, struct dp_text *out)
{
    static const char *const titles[] = {"Before", "After"};
    const json_t *sides = json_object_get(diff, "sides"), *plan = json_object_get(diff, "plan");
    dp_text_put(out, "<section aria-labelledby=\"h-sides\">\n<h2 id=\"h-sides\">Both sides</h2>\n"
                     "<div class=\"sides\">\n");
    for (size_t i = 0; i < json_array_size(sides); i++) {
        const json_t *side = json_array_get(sides, i);
        const json_t *counts = json_object_get(side, "counts");
        char *results = dp_printf(
            "%lld repeat, %lld vary, %lld wrong, %lld errors, %lld skipped",
            (long long)dp_json_int(counts, "repeats", 0), (long long)dp_json_int(counts, "varies", 0),
            (long long)dp_json_int(counts, "wrong", 0), (long long)dp_json_int(counts, "error", 0),
            (long long)dp_json_int(counts, "skipped", 0));
        dp_text_printf(out, "<div>\n<h3>%s</h3>\n<dl>\n", titles[i > 0]);
        dp_html_pair(out, "report", dp_json_string(side, "name", ""));
        dp_html_pair(out, "measured", dp_json_string(side, "measured", ""));
        dp_html_pair(out, "results", results);
        dp_html_pair(out, "detprobe", dp_json_string(side, "tool", ""));
        dp_html_pair(out, "digest", dp_json_string(side, "digest", ""));
        dp_text_put(out, "</dl>\n</div>\n");
        free(results);
    }
    dp_text_put(out, "</div>\n<p class=\"note\">level ");
    dp_html_text(out, dp_json_string(plan, "level", ""));
    dp_text_put(out, ", seed ");
    dp_html_text(out, dp_json_string(plan, "seed", ""));
    dp_text_printf(out, ": %lld cases in both</p>\n</section>\n",
                   (long long)dp_json_int(json_object_get(diff, "summary"), "compared", 0));
}

static void put_causes(const json_t *diff, struct dp_text *out)
{
    const json_t *causes = json_object_get(diff, "causes");
    if (json_array_size(causes) == 0) {
        return;
    }
    dp_text_put(out, "<section aria-labelledby=\"h-causes\">\n<h2 id=\"h-causes\">What may explain it</h2>\n"
                     "<ol class=\"causes\">\n");
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *cause = json_array_get(causes, i);
        dp_text_put(out, "<li><b>");
        dp_html_text(out, dp_json_string(cause, "cause", ""));
        dp_text_put(out, "</b> ");
        dp_html_owned(out, dp_diff_counts(json_object_get(cause, "kinds")));
        dp_text_printf(out, " · <a href=\"#cause=%zu\">show them</a></li>\n", i + 1);
    }
    dp_text_put(out, "</ol>\n</section>\n");
}

static void put_tiles(const json_t *diff, struct dp_text *out)
{
    const json_t *kinds = json_object_get(json_object_get(diff, "summary"), "kinds");
    dp_text_put(out, "<ul class=\"tiles\">\n");
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        const char *name = dp_change_name((enum dp_change)kind);
        const size_t count = (size_t)dp_json_int(kinds, name, 0);
        if (count > 0) {
            dp_html_tile(
                out, &(const struct dp_html_tile){.look = look_of((enum dp_change)kind),
                                                  .facet = "change",
                                                  .value = name,
                                                  .shown = dp_change_words((enum dp_change)kind, count != 1),
                                                  .count = count});
        }
    }
    dp_text_put(out, "</ul>\n");
}

static void put_side_of(struct dp_text *out, const json_t *verdict)
{
    if (!verdict) {
        dp_text_put(out, "<td class=\"gone\">not there</td>");
        return;
    }
    dp_text_put(out, "<td class=\"word-");
    dp_html_text(out, dp_json_string(verdict, "observed", ""));
    dp_text_put(out, "\">");
    dp_html_owned(out, dp_diff_verdict(verdict));
    dp_text_put(out, "</td>");
}

/* What the columns before and after do not say: axes, choices, kernels. */
static void put_detail(struct dp_text *out, const json_t *change)
{
    json_t *rest = json_copy((json_t *)(uintptr_t)change);
    json_object_del(rest, "before");
    json_object_del(rest, "after");
    dp_text_put(out, "<td class=\"why\">");
    dp_html_owned(out, dp_diff_detail(rest));
    dp_text_put(out, "</td>");
    json_decref(rest);
}

static void put_change(const json_t *change, struct dp_text *out)
{
    const char *id = dp_json_string(change, "case", ""), *name = dp_json_string(change, "kind", "");
    const enum dp_change kind = dp_change_named(name);
    const json_t *cause = json_object_get(change, "cause");
    char *place = cause ? dp_printf("%lld", (long long)json_integer_value(cause) + 1) : dp_strdup("");
    dp_text_put(out, "<tr");
    dp_html_attribute(out, "data-case", id);
    dp_html_attribute(out, "data-backend", dp_json_string(change, "backend", ""));
    dp_html_attribute(out, "data-family", dp_json_string(change, "family", ""));
    dp_html_attribute(out, "data-change", name);
    dp_html_attribute(out, "data-cause", place); /* as the list of causes counts */
    dp_text_put(out, "><th scope=\"row\" class=\"id\">");
    dp_html_text(out, id);
    dp_text_printf(out, "</th><td class=\"word-%s\">", look_of(kind));
    dp_html_text(out, kind < DP_CHANGE_MAX ? dp_change_words(kind, false) : name);
    dp_text_put(out, "</td>");
    put_side_of(out, json_object_get(change, "before"));
    put_side_of(out, json_object_get(change, "after"));
    put_detail(out, change);
    dp_text_put(out, "</tr>\n");
    free(place);
}

static void put_changes(const json_t *diff, struct dp_text *out)
{
    static const struct dp_html_facet facets[] = {{"backend", "backend"},
                                                  {"family", "family"},
                                                  {"change", "change"},
                                                  {"cause", "explained by"},
                                                  {NULL, NULL}};
    const json_t *changes = json_object_get(diff, "changes");
    dp_text_put(out, "<section id=\"cases\" aria-labelledby=\"h-cases\">\n"
                     "<h2 id=\"h-cases\">Changed cases</h2>\n");
    if (json_array_size(changes) == 0) {
        dp_text_put(out, "<p>No case changed.</p>\n");
    } else {
        put_tiles(diff, out);
        dp_html_filters(out, facets, "sgemm, chose");
        dp_text_put(out,
                    "<div class=\"scroll wide\" role=\"region\" aria-labelledby=\"h-cases\" tabindex=\"0\">\n"
                    "<table data-noun=\"changes\">\n<thead><tr><th scope=\"col\">case</th><th "
                    "scope=\"col\">change</th><th scope=\"col\">before</th><th scope=\"col\">after</th><th "
                    "scope=\"col\">detail</th></tr></thead>\n<tbody>\n");
        for (size_t i = 0; i < json_array_size(changes); i++) {
            put_change(json_array_get(changes, i), out);
        }
        dp_text_put(out, "</tbody>\n</table>\n</div>\n");
    }
    dp_text_put(out, "</section>\n");
}

static void put_environment_side(struct dp_text *out, const json_t *row, const char *side)
{
    const char *value = dp_json_string(row, side, NULL);
    dp_text_put(out, value ? "<td>" : "<td class=\"gone\">");
    dp_html_text(out, value ? value : "not there");
    dp_text_put(out, "</td>");
}

static void put_environment(const json_t *diff, struct dp_text *out)
{
    const json_t *rows = json_object_get(diff, "environment");
    dp_text_put(out, "<section aria-labelledby=\"h-environment\">\n"
                     "<h2 id=\"h-environment\">Where the environments differ</h2>\n");
    if (json_array_size(rows) == 0) {
        dp_text_put(out, "<p>Nowhere.</p>\n</section>\n");
        return;
    }
    dp_text_put(out,
                "<div class=\"scroll\" role=\"region\" aria-labelledby=\"h-environment\" tabindex=\"0\">\n"
                "<table>\n<thead><tr><th scope=\"col\">what</th><th scope=\"col\">of</th><th "
                "scope=\"col\">before</th><th scope=\"col\">after</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        dp_text_put(out, "<tr><th scope=\"row\">");
        const char *subject = dp_json_string(row, "subject", ""), *member = dp_json_string(row, "member", "");
        dp_html_text(out, subject);
        if (strcmp(subject, member) != 0) {
            dp_text_put(out, " ");
            dp_html_text(out, member);
        }
        dp_text_put(out, "</th><td>");
        dp_html_text(out, dp_json_string(row, "kind", ""));
        dp_text_put(out, "</td>");
        put_environment_side(out, row, "before");
        put_environment_side(out, row, "after");
        dp_text_put(out, "</tr>\n");
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n</section>\n");
}

void dp_render_html_diff(const json_t *diff, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *kinds = json_object_get(json_object_get(diff, "summary"), "kinds");
    char *sentence = dp_diff_sentence(diff);
    bool bad = false;
    for (int kind = 0; kind <= DP_CHANGE_FAILED; kind++) {
        bad = bad || dp_json_int(kinds, dp_change_name((enum dp_change)kind), 0) > 0;
    }
    const json_t *sides = json_object_get(diff, "sides");
    char *about = dp_printf("%s → %s", dp_json_string(json_array_get(sides, 0), "name", ""),
                            dp_json_string(json_array_get(sides, 1), "name", ""));
    dp_html_open(out, &(const struct dp_html_head){.kind = "comparison",
                                                   .about = about,
                                                   .tone = dp_diff_agrees(diff) ? "good"
                                                           : bad                ? "bad"
                                                                                : "warn",
                                                   .sentence = sentence});
    put_causes(diff, out);
    put_sides(diff, out);
    put_changes(diff, out);
    put_environment(diff, out);
    dp_html_not_compared(out, json_object_get(diff, "not_compared"), json_object_get(diff, "undecided"));
    dp_html_close(out, "");
    free(about);
    free(sentence);
}
