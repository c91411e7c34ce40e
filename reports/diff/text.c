/* SPDX-License-Identifier: Apache-2.0
 *
 * Format text: which reports, then the changes under what may explain them, then what differs in the
 * environment, then one line in words.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define FEW 3 /* cases of a light kind under one cause; --verbose shows all */
#define INDENT 4

struct page {
    const json_t *diff;
    struct dp_text *out;
    bool verbose;
    size_t columns;
};

static void put_line(const struct page *page, size_t indent, size_t hang, const char *words)
{
    dp_words_blanks(page->out, indent);
    dp_words_wrap(page->out, words, indent, hang, page->columns);
}

static void add_sides(const struct page *page)
{
    static const char *const labels[] = {"before", "after"};
    const json_t *sides = json_object_get(page->diff, "sides");
    for (size_t i = 0; i < 2; i++) {
        const json_t *side = json_array_get(sides, i);
        const json_t *counts = json_object_get(side, "counts");
        char *line =
            dp_printf("%-7s %s, %lld repeat, %lld vary, report %.12s", labels[i],
                      dp_json_string(side, "name", ""), (long long)dp_json_int(counts, "repeats", 0),
                      (long long)dp_json_int(counts, "varies", 0), dp_json_string(side, "digest", ""));
        put_line(page, 0, 8, line);
        free(line);
    }
    const json_t *plan = json_object_get(page->diff, "plan");
    dp_text_printf(page->out, "plan    level %s, seed %s\n", dp_json_string(plan, "level", ""),
                   dp_json_string(plan, "seed", ""));
}

static bool belongs(const json_t *change, const char *kind, const json_t *cases)
{
    return strcmp(dp_json_string(change, "kind", ""), kind) == 0 &&
           (!cases || json_object_get(cases, dp_json_string(change, "case", "")));
}

/* Changes of one kind, all or those of `cases` (id -> anything). Owned. */
static json_t *changes_of(const struct page *page, enum dp_change kind, const json_t *cases)
{
    const json_t *changes = json_object_get(page->diff, "changes");
    json_t *found = json_array();
    for (size_t i = 0; i < json_array_size(changes); i++) {
        if (belongs(json_array_get(changes, i), dp_change_name(kind), cases)) {
            json_array_append(found, json_array_get(changes, i));
        }
    }
    return found;
}

/* "cpu/gemm 21, cpu/blas 40" in the order of the changes. Owned. */
static char *families_of(const json_t *changes)
{
    json_t *counts = json_object();
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    const char *family;
    json_t *count;
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        char *name =
            dp_printf("%s/%s", dp_json_string(change, "backend", ""), dp_json_string(change, "family", ""));
        json_object_set_new(counts, name, json_integer(dp_json_int(counts, name, 0) + 1));
        free(name);
    }
    json_object_foreach(counts, family, count)
    {
        dp_text_printf(&words, "%s%s %lld", words.length ? ", " : "", family,
                       (long long)json_integer_value(count));
    }
    char *owned = dp_strdup(words.data ? words.data : "");
    dp_text_free(&words);
    json_decref(counts);
    return owned;
}

static void add_case(const struct page *page, const json_t *change)
{
    char *detail = dp_diff_detail(change);
    char *line = dp_printf("%s%s%s", dp_json_string(change, "case", ""), *detail ? "  " : "", detail);
    put_line(page, 2 * INDENT, 3 * INDENT, line);
    free(line);
    free(detail);
}

/* How many of which families; then the cases, few of them where nobody's guarantee is at stake. */
static void add_kind(const struct page *page, enum dp_change kind, const json_t *cases)
{
    json_t *changes = changes_of(page, kind, cases);
    const size_t count = json_array_size(changes);
    const size_t most = page->verbose || kind < DP_CHANGE_BITS ? count : count < FEW ? count : FEW;
    if (count > 0) {
        char *families = families_of(changes);
        char *head = dp_printf("%zu %s %s: %s", count, count == 1 ? "case" : "cases",
                               dp_change_words(kind, count != 1), families);
        put_line(page, INDENT, 2 * INDENT, head);
        free(families);
        free(head);
    }
    for (size_t i = 0; i < most; i++) {
        add_case(page, json_array_get(changes, i));
    }
    if (most < count) {
        char *rest = dp_printf("and %zu more, --verbose shows them", count - most);
        put_line(page, 2 * INDENT, 3 * INDENT, rest);
        free(rest);
    }
    json_decref(changes);
}

static void add_cause(const struct page *page, const json_t *cause)
{
    const json_t *list = json_object_get(cause, "cases");
    json_t *cases = json_object();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_object_set(cases, json_string_value(json_array_get(list, i)), json_array_get(list, i));
    }
    dp_text_put(page->out, "\n");
    put_line(page, 0, INDENT, dp_json_string(cause, "cause", ""));
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        if (kind != DP_CHANGE_NEW && kind != DP_CHANGE_MISSING) {
            add_kind(page, (enum dp_change)kind, cases);
        }
    }
    json_decref(cases);
}

static void add_one_sided(const struct page *page)
{
    const json_t *kinds = json_object_get(json_object_get(page->diff, "summary"), "kinds");
    if (json_object_get(kinds, dp_change_name(DP_CHANGE_NEW)) ||
        json_object_get(kinds, dp_change_name(DP_CHANGE_MISSING))) {
        dp_text_put(page->out, "\ncases of one report alone\n");
        add_kind(page, DP_CHANGE_MISSING, NULL);
        add_kind(page, DP_CHANGE_NEW, NULL);
    }
}

/* Cases by the reason why their bits, or all of them, were not compared. */
static void add_unlike(const struct page *page)
{
    const json_t *unlike = json_object_get(page->diff, "not_compared");
    json_t *reasons = json_object();
    for (size_t i = 0; i < json_array_size(unlike); i++) {
        const char *reason = dp_json_string(json_array_get(unlike, i), "reason", "");
        json_object_set_new(reasons, reason, json_integer(dp_json_int(reasons, reason, 0) + 1));
    }
    const char *reason;
    json_t *count;
    dp_text_put(page->out, json_object_size(reasons) ? "\n" : "");
    json_object_foreach(reasons, reason, count)
    {
        char *line = dp_printf("not compared  %lld: %s", (long long)json_integer_value(count), reason);
        put_line(page, 0, 14, line);
        free(line);
    }
    json_decref(reasons);
}

static void add_environment(const struct page *page)
{
    const json_t *rows = json_object_get(page->diff, "environment");
    if (json_array_size(rows) == 0) {
        dp_text_put(page->out, "\nenvironment  no difference\n");
        return;
    }
    dp_text_put(page->out, "\nenvironment\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        char *line = dp_printf("%s: %s", dp_json_string(row, "kind", ""), dp_json_string(row, "words", ""));
        put_line(page, INDENT, 2 * INDENT, line);
        free(line);
    }
}

void dp_diff_text(const json_t *diff, const struct dp_render_options *options, struct dp_text *out)
{
    const struct page page = {.diff = diff,
                              .out = out,
                              .verbose = options->verbose,
                              .columns = options->columns ? (size_t)options->columns : 100};
    const json_t *causes = json_object_get(diff, "causes");
    char *sentence = dp_diff_sentence(diff);
    add_sides(&page);
    for (size_t i = 0; i < json_array_size(causes); i++) {
        add_cause(&page, json_array_get(causes, i));
    }
    add_one_sided(&page);
    add_unlike(&page);
    add_environment(&page);
    dp_text_put(out, "\n");
    put_line(&page, 0, 0, sentence);
    free(sentence);
}
