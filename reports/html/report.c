/* SPDX-License-Identifier: Apache-2.0
 *
 * Format html of a report: the verdict, counts and facts, the map of cases and axes, the environment. All of
 * it stands in the page itself and can be read and printed without the script, which adds the filters and
 * opens cases.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html/html.h"
#include "reports/render/formats.h"
#include "reports/render/price.h"
#include "suite/base/json.h"

static const struct {
    const char *word, *shown;
} observed_words[] = {{"repeats", "repeat"}, {"varies", "vary"},       {"wrong", "wrong"},
                      {"error", "errors"},   {"untested", "untested"}, {"skipped", "skipped"}};
#define OBSERVED_COUNT (sizeof(observed_words) / sizeof(observed_words[0]))

#define AXES_MOST 32 /* columns of the map */

static const char *observed_of(const json_t *result)
{
    return dp_json_string(result, "observed", "");
}

static const char *status_of(const json_t *result)
{
    return dp_json_string(json_object_get(result, "guarantee"), "status", "");
}

static size_t counted(const struct dp_html_cases *page, const char *word)
{
    const json_t *summary = json_object_get(page->sheet.body, "summary");
    return (size_t)dp_json_int(json_object_get(summary, "counts"), word, 0);
}

static const char *tone_of(const struct dp_html_cases *page)
{
    const json_t *summary = json_object_get(page->sheet.body, "summary");
    const json_t *exit = json_object_get(page->sheet.measurements, "exit");
    if (json_array_size(json_object_get(summary, "broken")) + counted(page, "wrong") +
            json_array_size(json_object_get(summary, "wrong_under")) >
        0) {
        return "bad";
    }
    return dp_json_int(exit, "code", DP_EXIT_NO_VERDICT) == DP_EXIT_OK ? "good" : "warn";
}

/* --- summary --- */

/* How much of all is what; the tiles beside it say the same in numbers. */
static void put_share(const struct dp_html_cases *page)
{
    struct dp_text *out = page->sheet.out;
    double total = 0.0, at = 0.0;
    for (size_t i = 0; i < OBSERVED_COUNT; i++) {
        total += (double)counted(page, observed_words[i].word);
    }
    dp_text_put(out, "<svg class=\"share\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
                     "aria-hidden=\"true\">");
    for (size_t i = 0; i < OBSERVED_COUNT && total > 0.0; i++) {
        const double width = 1000.0 * (double)counted(page, observed_words[i].word) / total;
        if (width > 0.0) {
            dp_text_printf(out, "<rect class=\"%s\" x=\"%.2f\" width=\"%.2f\" height=\"10\"></rect>",
                           observed_words[i].word, at, width);
        }
        at += width;
    }
    dp_text_put(out, "</svg>\n");
}

static void put_tiles(const struct dp_html_cases *page)
{
    const json_t *summary = json_object_get(page->sheet.body, "summary");
    dp_text_put(page->sheet.out, "<ul class=\"tiles\">\n");
    for (size_t i = 0; i < OBSERVED_COUNT; i++) {
        const char *word = observed_words[i].word;
        const size_t count = counted(page, word);
        dp_html_tile(page->sheet.out,
                     &(const struct dp_html_tile){.look = word,
                                                  .facet = "observed",
                                                  .value = word,
                                                  .shown = count == 1 ? word : observed_words[i].shown,
                                                  .count = count});
    }
    const size_t broken = json_array_size(json_object_get(summary, "broken"));
    dp_html_tile(page->sheet.out,
                 &(const struct dp_html_tile){.look = "broken",
                                              .facet = "guarantee",
                                              .value = "broken",
                                              .shown = broken == 1 ? "guarantee broken" : "guarantees broken",
                                              .count = broken});
    dp_text_put(page->sheet.out, "</ul>\n");
}

static void put_fact(const struct dp_sheet *sheet, const char *label, const char *text)
{
    if (label[0]) {
        dp_html_pair(sheet->out, label, text);
    } else {
        dp_text_put(sheet->out, "<dd>");
        dp_html_text(sheet->out, text);
        dp_text_put(sheet->out, "</dd>\n");
    }
}

static void put_measured(const struct dp_html_cases *page)
{
    const json_t *libraries = json_object_get(json_object_get(page->sheet.body, "environment"), "libraries");
    struct dp_text names = DP_TEXT(65536);
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        const json_t *library = json_array_get(libraries, i);
        dp_text_printf(&names, "%s%s %s", i > 0 ? ", " : "", dp_json_string(library, "name", ""),
                       dp_json_string(library, "version", "(version unknown)"));
    }
    dp_html_pair(page->sheet.out, "measured", names.data ? names.data : "no library");
    dp_text_free(&names);
}

static void put_summary(const struct dp_html_cases *page)
{
    struct dp_text *out = page->sheet.out;
    const char *started = dp_json_string(page->sheet.measurements, "started", "");
    dp_text_put(out, "<section aria-labelledby=\"h-summary\">\n<h2 id=\"h-summary\">Summary</h2>\n");
    put_tiles(page);
    put_share(page);
    dp_text_put(out, "<dl>\n");
    put_measured(page);
    dp_sheet_before(&page->sheet);
    dp_sheet_after(&page->sheet);
    if (started[0]) {
        char *when = dp_printf("%s on %s, %.0f s", started,
                               dp_json_string(page->sheet.measurements, "host_name", "a machine"),
                               dp_json_number(page->sheet.measurements, "seconds", 0.0));
        dp_html_pair(out, "started", when);
        free(when);
    }
    dp_text_put(out, "</dl>\n</section>\n");
}

/* --- the map --- */

static bool all_dropped(const json_t *settings)
{
    for (size_t i = 0; i < json_array_size(settings); i++) {
        if (!json_object_get(json_array_get(settings, i), "dropped")) {
            return false;
        }
    }
    return true;
}

static bool some_vary(const json_t *settings)
{
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *setting = json_array_get(settings, i);
        if (!json_object_get(setting, "dropped") && !json_is_true(json_object_get(setting, "repeats"))) {
            return true;
        }
    }
    return false;
}

const char *dp_html_state(const json_t *result, const json_t *entry, const char *axis)
{
    const json_t *seen = json_object_get(json_object_get(entry, "axes"), axis);
    const json_t *settings = json_object_get(seen, "settings");
    if (dp_json_array_has(json_object_get(result, "not_measured"), axis)) {
        return "not measured";
    }
    if (!settings) {
        return !seen ? "" : dp_json_int(seen, "distinct", 0) > 1 ? "varies" : "repeats";
    }
    if (json_is_true(json_object_get(seen, "moved"))) {
        return "moved";
    }
    return json_is_true(json_object_get(seen, "confounded")) ? "confounded"
           : all_dropped(settings)                           ? "not measured"
           : some_vary(settings)                             ? "varies"
                                                             : "repeats";
}

static void put_cell(struct dp_text *out, const char *state)
{
    if (state[0]) {
        dp_text_printf(out, "<td class=\"cell %s\">%s</td>", state[0] == 'n' ? "not-measured" : state, state);
    } else {
        dp_text_put(out, "<td></td>");
    }
}

/* What stands behind the two words, lines side by side. */
static void put_why(const struct dp_html_cases *page, const json_t *result)
{
    char *evidence = dp_evidence(&page->sheet, result);
    if (!evidence[0]) {
        free(evidence);
        evidence = dp_evidence_note(&page->sheet, result);
    }
    for (char *rest = evidence, *line; (line = strsep(&rest, "\n")) != NULL;) {
        dp_html_text(page->sheet.out, line);
        dp_text_put(page->sheet.out, rest ? ", " : "");
    }
    free(evidence);
}

static const char *short_name(const char *id)
{
    const char *slash = strrchr(id, '/');
    return slash ? slash + 1 : id;
}

/* The axes along which the bits moved, as the words of one attribute. */
static void put_moved(const struct dp_html_cases *page, const json_t *result, const json_t *entry)
{
    bool first = true;
    for (size_t i = 0; i < json_array_size(page->axes); i++) {
        const char *axis = json_string_value(json_array_get(page->axes, i));
        const char *state = dp_html_state(result, entry, axis);
        if (strcmp(state, "moved") == 0 || strcmp(state, "varies") == 0) {
            dp_text_put(page->sheet.out, first ? " data-moved=\"" : " ");
            dp_html_text(page->sheet.out, axis);
            first = false;
        }
    }
    dp_text_put(page->sheet.out, first ? "" : "\"");
}

static void put_row(const struct dp_html_cases *page, const json_t *result)
{
    struct dp_text *out = page->sheet.out;
    const char *id = dp_json_string(result, "case", ""), *status = status_of(result);
    const json_t *entry = json_object_get(page->sheet.measured, id);
    const bool skipped = strcmp(observed_of(result), "skipped") == 0;
    dp_text_put(out, "<tr id=\"case=");
    dp_html_text(out, id);
    dp_text_put(out, "\"");
    dp_html_attribute(out, "data-observed", observed_of(result));
    dp_html_attribute(out, "data-guarantee", strcmp(status, "none") == 0 ? "unstated" : status);
    put_moved(page, result, entry);
    dp_text_put(out, "><th scope=\"row\" class=\"id\"><a href=\"#case=");
    dp_html_fragment(out, id);
    dp_text_put(out, "\">");
    dp_html_text(out, short_name(id));
    dp_text_put(out, "</a></th>");
    dp_html_word(out, observed_of(result));
    dp_html_word(out, status);
    for (size_t i = 0; i < json_array_size(page->axes) && !skipped; i++) {
        const char *axis = json_string_value(json_array_get(page->axes, i));
        put_cell(out, dp_html_state(result, entry, axis));
    }
    dp_text_put(out, "<td class=\"why\"");
    if (skipped) {
        dp_text_printf(out, " colspan=\"%zu\"", json_array_size(page->axes) + 1);
    }
    dp_text_put(out, ">");
    put_why(page, result);
    dp_text_put(out, "</td></tr>\n");
}

static bool same_family(const json_t *a, const json_t *b)
{
    return strcmp(dp_json_string(a, "backend", ""), dp_json_string(b, "backend", "")) == 0 &&
           strcmp(dp_json_string(a, "family", ""), dp_json_string(b, "family", "")) == 0;
}

static size_t family_end(const struct dp_html_cases *page, size_t first)
{
    size_t end = first;
    while (end < json_array_size(page->results) &&
           same_family(json_array_get(page->results, first), json_array_get(page->results, end))) {
        end++;
    }
    return end;
}

/* "25 repeat, 2 vary" of the results of one family. */
static void put_family_counts(const struct dp_html_cases *page, size_t first, size_t end)
{
    bool any = false;
    for (size_t word = 0; word < OBSERVED_COUNT; word++) {
        size_t count = 0;
        for (size_t i = first; i < end; i++) {
            count += strcmp(observed_of(json_array_get(page->results, i)), observed_words[word].word) == 0;
        }
        if (count > 0) {
            dp_text_printf(page->sheet.out, "%s%zu %s", any ? ", " : "", count,
                           count == 1 ? observed_words[word].word : observed_words[word].shown);
            any = true;
        }
    }
}

static void put_family(const struct dp_html_cases *page, size_t first, size_t end)
{
    struct dp_text *out = page->sheet.out;
    const json_t *result = json_array_get(page->results, first);
    const char *backend = dp_json_string(result, "backend", ""),
               *family = dp_json_string(result, "family", "");
    dp_text_put(out, "<tbody");
    dp_html_attribute(out, "data-backend", backend);
    dp_html_attribute(out, "data-family", family);
    dp_text_printf(out, ">\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%zu\">",
                   json_array_size(page->axes) + 4);
    dp_html_owned(out, dp_printf("%s/%s", backend, family));
    dp_text_put(out, "<span>");
    put_family_counts(page, first, end);
    dp_text_put(out, "</span></th></tr>\n");
    for (size_t i = first; i < end; i++) {
        put_row(page, json_array_get(page->results, i));
    }
    dp_text_put(out, "</tbody>\n");
}

static void put_legend(struct dp_text *out)
{
    static const char *const rows[][2] = {
        {"repeats", "equal bits at every setting"},
        {"varies", "runs at one setting differ"},
        {"moved", "each setting repeats, but not the same bits"},
        {"confounded", "too few settings repeat to tell"},
        {"not-measured", "not measured: could not be varied here"},
    };
    dp_text_put(out, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        dp_text_printf(out, "<li><span class=\"cell %s\">%s</span>%s</li>\n", rows[i][0], rows[i][0],
                       rows[i][1]);
    }
    dp_text_put(out, "<li>empty: not planned for this case</li>\n</ul>\n");
}

static void put_map_head(const struct dp_html_cases *page)
{
    struct dp_text *out = page->sheet.out;
    dp_text_put(out,
                "<div class=\"scroll wide\" role=\"region\" aria-labelledby=\"h-cases\" tabindex=\"0\">\n"
                "<table class=\"map\" data-noun=\"cases\">\n<colgroup><col class=\"c-case\"><col "
                "class=\"c-observed\"><col class=\"c-guarantee\">");
    for (size_t i = 0; i < json_array_size(page->axes); i++) {
        dp_text_put(out, "<col class=\"c-axis\">");
    }
    dp_text_put(out, "<col class=\"c-why\"></colgroup>\n<thead><tr><th scope=\"col\">case</th><th "
                     "scope=\"col\">observed</th><th scope=\"col\">guarantee</th>");
    for (size_t i = 0; i < json_array_size(page->axes); i++) {
        const char *axis = json_string_value(json_array_get(page->axes, i));
        dp_text_put(out, "<th scope=\"col\" class=\"axis\">");
        dp_html_text(out, axis);
        dp_text_put(out, "</th>");
    }
    dp_text_put(out, "<th scope=\"col\" class=\"why-head\">evidence</th></tr></thead>\n");
}

static void put_map(const struct dp_html_cases *page)
{
    static const struct dp_html_facet facets[] = {{"backend", "backend"},   {"family", "family"},
                                                  {"observed", "observed"}, {"guarantee", "guarantee"},
                                                  {"moved", "moved along"}, {NULL, NULL}};
    struct dp_text *out = page->sheet.out;
    dp_text_put(out, "<section id=\"cases\" aria-labelledby=\"h-cases\">\n<h2 id=\"h-cases\">Cases and "
                     "axes</h2>\n");
    put_legend(out);
    dp_html_filters(out, facets, "sgemm, ulp, not_built");
    dp_text_put(out,
                "<noscript><p class=\"note\">Filters and the details of each case need the script of this "
                "page; 'detprobe show --verbose' prints them.</p></noscript>\n");
    put_map_head(page);
    for (size_t first = 0, end; first < json_array_size(page->results); first = end) {
        end = family_end(page, first);
        put_family(page, first, end);
    }
    dp_text_put(out, "</table>\n</div>\n</section>\n");
}

/* The axes that show something of some case, in the plan's order. Owned. */
static json_t *shown_axes(const struct dp_html_cases *page)
{
    const json_t *planned = json_object_get(json_object_get(page->sheet.body, "plan"), "axes");
    json_t *seen = json_object(), *shown = json_array();
    for (size_t i = 0; i < json_array_size(page->results); i++) {
        const json_t *result = json_array_get(page->results, i);
        const json_t *unmeasured = json_object_get(result, "not_measured");
        const json_t *entry = json_object_get(page->sheet.measured, dp_json_string(result, "case", ""));
        for (size_t k = 0; k < json_array_size(unmeasured); k++) {
            json_object_set_new(seen, json_string_value(json_array_get(unmeasured, k)), json_true());
        }
        if (strcmp(observed_of(result), "skipped") != 0) {
            json_object_update(seen, json_object_get(entry, "axes"));
        }
    }
    for (size_t i = 0; i < json_array_size(planned) && json_array_size(shown) < AXES_MOST; i++) {
        json_t *axis = json_array_get(planned, i);
        if (json_is_string(axis) && json_object_get(seen, json_string_value(axis))) {
            json_array_append(shown, axis);
        }
    }
    json_decref(seen);
    return shown;
}

void dp_render_html_report(const json_t *report, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *body = json_object_get(report, "body"),
                 *measurements = json_object_get(report, "measurements");
    struct dp_html_cases page = {
        .sheet = {.out = out,
                  .body = body,
                  .measurements = measurements,
                  .measured = dp_json_index(json_object_get(measurements, "cases"), "case"),
                  .verbose = true,
                  .line = put_fact},
        .report = report,
        .results = json_object_get(body, "results"),
    };
    page.axes = shown_axes(&page);
    char *sentence = dp_report_sentence(report);
    dp_html_open(
        out, &(const struct dp_html_head){
                 .kind = "report", .about = options->source, .tone = tone_of(&page), .sentence = sentence});
    put_summary(&page);
    put_map(&page);
    dp_html_prices(out, dp_prices_of(measurements));
    dp_html_environment(out, json_object_get(body, "environment"));
    json_t *data = dp_html_data_of(&page);
    dp_html_data(out, data);
    dp_html_close(out, dp_json_string(report, "digest", ""));
    json_decref(data);
    json_decref(page.axes);
    json_decref(page.sheet.measured);
    free(sentence);
}
