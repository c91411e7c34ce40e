/* SPDX-License-Identifier: Apache-2.0
 *
 * Format text: at most ten lines, since a gate is read in the log of a pipeline. What decides comes first:
 * findings in the order of the document, each with its command, or what stands against a verdict; then notes;
 * the last line is the decision. Findings of one kind in one family stand in one line. `verbose` has no limit
 * and a line for each.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/gate/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define LINES 10

struct page {
    struct dp_text *out;
    const struct dp_render_options *options;
    size_t lines;            /* that may still be written */
    size_t findings, others; /* left out */
};

char *dp_gate_sentence(const json_t *gate)
{
    static const char *const beginnings[] = {
        [DP_GATE_PASSED] = "gate passed",
        [DP_GATE_FAILED] = "gate failed",
        [DP_GATE_NO_VERDICT] = "gate without a verdict",
    };
    char *reason =
        dp_printable(dp_json_string(gate, "reason", ""), strlen(dp_json_string(gate, "reason", "")));
    char *sentence = dp_printf("%s: %s", beginnings[dp_gate_verdict(gate)], reason);
    free(reason);
    return sentence;
}

const char *dp_gate_state(const json_t *finding)
{
    return json_object_get(finding, "allowed")             ? "allowed"
           : json_is_true(json_object_get(finding, "new")) ? "new"
                                                           : "finding";
}

/* Whether `count` lines are still free; takes them. */
static bool take(struct page *page, size_t count)
{
    if (page->options->verbose) {
        return true;
    }
    if (page->lines < count) {
        page->lines = 0; /* what comes later is no more worth it */
        return false;
    }
    page->lines -= count;
    return true;
}

/* `alike`: how many more there are of its kind in its family. */
static void put_finding(struct page *page, const json_t *finding, size_t alike)
{
    const json_t *allowed = json_object_get(finding, "allowed");
    const char *detail = dp_json_string(finding, "detail", NULL);
    if (!take(page, 2)) {
        page->findings += 1 + alike;
        return;
    }
    dp_text_printf(page->out, "%-9s", dp_gate_state(finding));
    dp_words_put(page->out, dp_json_string(finding, "case", ""));
    if (alike > 0) {
        dp_text_printf(page->out, " and %zu more of ", alike);
        dp_words_put(page->out, dp_json_string(finding, "backend", ""));
        dp_text_put(page->out, "/");
        dp_words_put(page->out, dp_json_string(finding, "family", ""));
    }
    dp_text_put(page->out, ": ");
    dp_words_put(page->out, dp_json_string(finding, "line", ""));
    if (detail) {
        dp_text_put(page->out, " (");
        dp_words_put(page->out, detail);
        dp_text_put(page->out, ")");
    }
    if (allowed) {
        dp_text_put(page->out, "; ");
        dp_words_put(page->out, dp_json_string(allowed, "reason", ""));
        dp_text_printf(page->out, ", until %s", dp_json_string(allowed, "expires", ""));
    }
    dp_text_put(page->out, "\n         ");
    dp_words_put(page->out, dp_json_string(finding, "reproduce", ""));
    dp_text_put(page->out, "\n");
}

static char *group_of(const json_t *finding)
{
    return dp_printf("%s/%s %s %d", dp_json_string(finding, "backend", ""),
                     dp_json_string(finding, "family", ""), dp_json_string(finding, "kind", ""),
                     json_is_true(json_object_get(finding, "new")));
}

/* The first of each group, with the number of those like it; those that are allowed stand behind all others.
 */
static void put_groups(struct page *page, const json_t *findings)
{
    json_t *counts = json_object();
    size_t end = 0;
    for (; end < json_array_size(findings) && !json_object_get(json_array_get(findings, end), "allowed");
         end++) {
        char *group = group_of(json_array_get(findings, end));
        dp_json_count(counts, group);
        free(group);
    }
    for (size_t i = 0; i < end; i++) {
        const json_t *finding = json_array_get(findings, i);
        char *group = group_of(finding);
        const json_int_t count = dp_json_int(counts, group, 0);
        if (count > 0) {
            put_finding(page, finding, (size_t)count - 1);
            json_object_del(counts, group);
        }
        free(group);
    }
    json_decref(counts);
}

static void put_line(struct page *page, const char *label, const json_t *row)
{
    if (!take(page, 1)) {
        page->others++;
        return;
    }
    dp_text_put(page->out, label);
    dp_words_put(page->out, dp_json_string(row, "line", ""));
    dp_text_put(page->out, "\n");
}

static void put_more(struct page *page)
{
    if (page->findings + page->others == 0) {
        return;
    }
    dp_text_put(page->out, "and ");
    if (page->findings > 0) {
        dp_text_printf(page->out, "%zu more %s", page->findings,
                       page->findings == 1 ? "finding" : "findings");
    }
    if (page->others > 0) {
        dp_text_printf(page->out, "%s%zu %s", page->findings ? ", " : "", page->others,
                       page->others == 1 ? "note" : "notes");
    }
    dp_text_put(page->out, "; --verbose names them\n");
}

static void put_lines(struct page *page, const char *label, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        put_line(page, label, json_array_get(rows, i));
    }
}

static void put_findings(struct page *page, const json_t *findings)
{
    if (!page->options->verbose) {
        put_groups(page, findings);
        return;
    }
    for (size_t i = 0; i < json_array_size(findings); i++) {
        put_finding(page, json_array_get(findings, i), 0);
    }
}

void dp_gate_text(const json_t *gate, const struct dp_render_options *options, struct dp_text *out)
{
    /* the last line and the one before it that counts what is left out */
    struct page page = {.out = out, .options = options, .lines = LINES - 2};
    const json_t *problems = json_object_get(gate, "problems");
    const bool failed = dp_gate_verdict(gate) == DP_GATE_FAILED; /* not for what was measured too little */
    put_lines(&page, "problem  ", failed ? NULL : problems);
    put_findings(&page, json_object_get(gate, "findings"));
    put_lines(&page, "problem  ", failed ? problems : NULL);
    put_lines(&page, "note     ", json_object_get(gate, "notes"));
    put_more(&page);
    char *sentence = dp_gate_sentence(gate);
    dp_text_printf(out, "%s\n", sentence);
    free(sentence);
}
