/* SPDX-License-Identifier: Apache-2.0
 *
 * Format html of several reports side by side: a column for each, a row for the cases that are not the same
 * in all of them, with what splits the reports as they do; then the environments in the same columns.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html/html.h"
#include "reports/matrix/render.h"
#include "reports/render/formats.h"
#include "suite/base/json.h"

static void put_reports(const json_t *matrix, struct dp_text *out)
{
    static const char *const members[] = {"name", "measured", "tool", "digest"};
    const json_t *reports = json_object_get(matrix, "reports"), *plan = json_object_get(matrix, "plan");
    dp_text_put(out,
                "<section aria-labelledby=\"h-sides\">\n<h2 id=\"h-sides\">Reports</h2>\n"
                "<div class=\"scroll\" role=\"region\" aria-labelledby=\"h-sides\" tabindex=\"0\">\n<table>\n"
                "<thead><tr><th scope=\"col\">column</th><th scope=\"col\">report</th><th "
                "scope=\"col\">measured</th><th scope=\"col\">detprobe</th><th "
                "scope=\"col\">digest</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(reports); i++) {
        const json_t *report = json_array_get(reports, i);
        dp_text_put(out, "<tr><th scope=\"row\">");
        dp_html_text(out, dp_json_string(report, "label", ""));
        dp_text_put(out, "</th>");
        for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++) {
            dp_text_put(out, "<td>");
            dp_html_text(out, dp_json_string(report, members[k], ""));
            dp_text_put(out, "</td>");
        }
        dp_text_put(out, "</tr>\n");
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n<p class=\"note\">level ");
    dp_html_text(out, dp_json_string(plan, "level", ""));
    dp_text_put(out, ", seed ");
    dp_html_text(out, dp_json_string(plan, "seed", ""));
    dp_text_put(out, "</p>\n</section>\n");
}

/* The head of a table with a column for each report between `first` and `last` (NULL: none). */
static void put_head(struct dp_text *out, const json_t *reports, const char *first, const char *last)
{
    dp_text_printf(out, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t i = 0; i < json_array_size(reports); i++) {
        dp_text_put(out, "<th scope=\"col\">");
        dp_html_text(out, dp_json_string(json_array_get(reports, i), "label", ""));
        dp_text_put(out, "</th>");
    }
    if (last) {
        dp_text_printf(out, "<th scope=\"col\">%s</th>", last);
    }
    dp_text_put(out, "</tr></thead>\n<tbody>\n");
}

/* A letter has the colour of its place, a word that of what it says. */
static void put_cell(struct dp_text *out, const char *cell)
{
    const bool star = cell[0] && strcmp(cell + 1, "*") == 0;
    if (cell[0] >= 'a' && cell[0] <= 'z' && (star || cell[1] == '\0')) {
        dp_text_printf(out, "<td class=\"same same-%c\">%c%s</td>", cell[0], cell[0], star ? "*" : "");
    } else {
        dp_html_word(out, cell);
    }
}

static void put_cases(struct dp_text *out, const json_t *group)
{
    const json_t *cases = json_object_get(group, "cases");
    if (json_array_size(cases) < 2) {
        dp_html_owned(out, dp_matrix_title(group));
        return;
    }
    dp_text_put(out, "<details><summary>");
    dp_html_owned(out, dp_matrix_title(group));
    dp_text_put(out, "</summary>");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *id = json_string_value(json_array_get(cases, i));
        dp_text_put(out, i > 0 ? "<br>" : "");
        dp_html_text(out, id ? id : "");
    }
    dp_text_put(out, "</details>");
}

/* All ids, for the search. Owned. */
static char *ids_of(const json_t *group)
{
    const json_t *cases = json_object_get(group, "cases");
    struct dp_text ids = DP_TEXT(DP_DIFF_TEXT_MOST);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *id = json_string_value(json_array_get(cases, i));
        dp_text_put(&ids, i > 0 ? " " : "");
        dp_text_put(&ids, id ? id : "");
    }
    return dp_text_take(&ids);
}

static void put_group(struct dp_text *out, const json_t *matrix, const json_t *group)
{
    const json_t *cells = json_object_get(group, "cells");
    char *ids = ids_of(group);
    dp_text_put(out, "<tr");
    dp_html_attribute(out, "data-case", ids);
    dp_html_attribute(out, "data-family", dp_json_string(group, "family", ""));
    dp_text_put(out, "><th scope=\"row\" class=\"id\">");
    put_cases(out, group);
    dp_text_put(out, "</th>");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *cell = json_string_value(json_array_get(cells, i));
        put_cell(out, cell ? cell : "");
    }
    dp_text_put(out, "<td class=\"why\">");
    dp_html_owned(out, dp_matrix_follows(matrix, group));
    dp_text_put(out, "</td></tr>\n");
    free(ids);
}

static void put_groups(const json_t *matrix, struct dp_text *out)
{
    static const struct dp_html_facet facets[] = {{"family", "family"}, {NULL, NULL}};
    const json_t *groups = json_object_get(matrix, "groups"), *reports = json_object_get(matrix, "reports");
    dp_text_put(out, "<section id=\"cases\" aria-labelledby=\"h-cases\">\n"
                     "<h2 id=\"h-cases\">Cases that are not the same in all</h2>\n");
    if (json_array_size(groups) == 0) {
        dp_text_put(out, "<p>None.</p>\n</section>\n");
        return;
    }
    dp_text_put(
        out,
        "<p class=\"note\">a letter: repeats, and equal letters of a row are equal bits; *: sensitive to "
        "an axis that moves nothing in another report; broken: a guarantee; -: not in the "
        "report</p>\n");
    dp_html_filters(out, facets, "sgemm, OPENBLAS");
    dp_text_put(out,
                "<div class=\"scroll wide\" role=\"region\" aria-labelledby=\"h-cases\" tabindex=\"0\">\n"
                "<table data-noun=\"rows\">\n");
    put_head(out, reports, "cases", "goes with");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        put_group(out, matrix, json_array_get(groups, i));
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n</section>\n");
}

static void put_environment(const json_t *matrix, struct dp_text *out)
{
    const json_t *rows = json_object_get(matrix, "environment");
    dp_text_put(out, "<section aria-labelledby=\"h-environment\">\n"
                     "<h2 id=\"h-environment\">Where the environments differ</h2>\n");
    if (json_array_size(rows) == 0) {
        dp_text_put(out, "<p>Nowhere.</p>\n</section>\n");
        return;
    }
    dp_text_put(out,
                "<div class=\"scroll\" role=\"region\" aria-labelledby=\"h-environment\" tabindex=\"0\">\n"
                "<table>\n");
    put_head(out, json_object_get(matrix, "reports"), "what", NULL);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *values = json_object_get(row, "values");
        dp_text_put(out, "<tr><th scope=\"row\">");
        dp_html_owned(out, dp_matrix_subject(row));
        dp_text_put(out, "</th>");
        for (size_t k = 0; k < json_array_size(values); k++) {
            const char *value = json_string_value(json_array_get(values, k));
            dp_text_put(out, value ? "<td>" : "<td class=\"gone\">");
            dp_html_text(out, value ? value : "not there");
            dp_text_put(out, "</td>");
        }
        dp_text_put(out, "</tr>\n");
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n</section>\n");
}

void dp_render_html_matrix(const json_t *matrix, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *reports = json_object_get(matrix, "reports");
    char *sentence = dp_matrix_sentence(matrix);
    char *about = dp_printf("%zu reports", json_array_size(reports));
    dp_html_open(out, &(const struct dp_html_head){.kind = "comparison",
                                                   .about = about,
                                                   .tone = dp_matrix_agrees(matrix) ? "good" : "warn",
                                                   .sentence = sentence});
    put_groups(matrix, out);
    put_reports(matrix, out);
    put_environment(matrix, out);
    dp_html_not_compared(out, json_object_get(matrix, "not_compared"), NULL);
    dp_html_close(out, "");
    free(about);
    free(sentence);
}
