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
        char *line = dp_printf("%s, %lld repeat, %lld vary, report %.12s: %s",
                               dp_json_string(side, "name", ""), (long long)dp_json_int(counts, "repeats", 0),
                               (long long)dp_json_int(counts, "varies", 0),
                               dp_json_string(side, "digest", ""), dp_json_string(side, "measured", ""));
        dp_text_printf(page->out, "%-8s", labels[i]);
        dp_words_wrap(page->out, line, 8, 8, page->columns);
        free(line);
    }
    const json_t *plan = json_object_get(page->diff, "plan");
    dp_text_printf(page->out, "plan    level %s, seed %s\n", dp_json_string(plan, "level", ""),
                   dp_json_string(plan, "seed", ""));
}

static void add_case(const struct page *page, const json_t *change)
{
    char *detail = dp_diff_detail(change);
    char *line = dp_printf("%s%s%s", dp_json_string(change, "case", ""), *detail ? "  " : "", detail);
    put_line(page, 2 * INDENT, 3 * INDENT, line);
    free(line);
    free(detail);
}

/* Changes of one cause by kind, each list borrowed from the document. */
struct block {
    json_t *of_kind[DP_CHANGE_MAX];
};

/* One block for each cause, and a last one for what has none. Owned. */
static struct block *blocks_of(const json_t *diff)
{
    const json_t *changes = json_object_get(diff, "changes");
    const size_t causes = json_array_size(json_object_get(diff, "causes"));
    struct block *blocks = dp_alloc(causes + 1, sizeof(*blocks));
    for (size_t i = 0; i < json_array_size(changes); i++) {
        json_t *change = json_array_get(changes, i);
        const size_t cause = (size_t)dp_json_int(change, "cause", (json_int_t)causes);
        const enum dp_change kind = dp_change_named(dp_json_string(change, "kind", ""));
        json_t **list =
            &blocks[cause < causes ? cause : causes].of_kind[kind < DP_CHANGE_MAX ? kind : DP_CHANGE_MAX - 1];
        *list = *list ? *list : json_array();
        json_array_append(*list, change);
    }
    return blocks;
}

static void blocks_free(struct block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
            json_decref(blocks[i].of_kind[kind]);
        }
    }
    free(blocks);
}

/* How many of which families; then the cases, few of them where nobody's guarantee is at stake. */
static void add_kind(const struct page *page, enum dp_change kind, const json_t *changes)
{
    const size_t count = json_array_size(changes);
    const size_t most = page->verbose || kind < DP_CHANGE_BITS ? count : count < FEW ? count : FEW;
    if (count > 0) {
        char *families = dp_words_families(changes);
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
}

static void add_block(const struct page *page, const char *head, const struct block *block)
{
    dp_text_put(page->out, "\n");
    put_line(page, 0, INDENT, head);
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        add_kind(page, (enum dp_change)kind, block->of_kind[kind]);
    }
}

/* "cuBLAS 12.4 → 12.6: 9 cases repeat with other bits, 2 newly vary", and which. */
static void add_causes(const struct page *page)
{
    const json_t *causes = json_object_get(page->diff, "causes");
    const size_t count = json_array_size(causes);
    struct block *blocks = blocks_of(page->diff);
    for (size_t i = 0; i < count; i++) {
        const json_t *cause = json_array_get(causes, i);
        char *counts = dp_diff_counts(json_object_get(cause, "kinds"));
        char *head = dp_printf("%s: %s", dp_json_string(cause, "cause", ""), counts);
        add_block(page, head, &blocks[i]);
        free(counts);
        free(head);
    }
    if (blocks[count].of_kind[DP_CHANGE_NEW] || blocks[count].of_kind[DP_CHANGE_MISSING]) {
        add_block(page, "cases of one report alone", &blocks[count]);
    }
    blocks_free(blocks, count + 1);
}

/* Cases that could not be compared, by the reason; each of them with --verbose. */
static void add_unlike(const struct page *page)
{
    const json_t *unlike = json_object_get(page->diff, "not_compared");
    json_t *reasons = json_object();
    for (size_t i = 0; i < json_array_size(unlike); i++) {
        json_t *row = json_array_get(unlike, i);
        dp_json_group(reasons, dp_json_string(row, "reason", ""), json_incref(row));
    }
    const char *reason;
    json_t *cases;
    json_object_foreach(reasons, reason, cases)
    {
        const size_t count = json_array_size(cases);
        const size_t most = page->verbose || count <= FEW ? count : FEW;
        char *head = dp_printf("NOT COMPARED, %s: %zu %s", reason, count, count == 1 ? "case" : "cases");
        dp_text_put(page->out, "\n");
        put_line(page, 0, INDENT, head);
        free(head);
        for (size_t i = 0; i < most; i++) {
            put_line(page, 2 * INDENT, 3 * INDENT, dp_json_string(json_array_get(cases, i), "case", ""));
        }
        if (most < count) {
            char *rest = dp_printf("and %zu more, --verbose shows them", count - most);
            put_line(page, 2 * INDENT, 3 * INDENT, rest);
            free(rest);
        }
    }
    json_decref(reasons);
}

static void add_undecided(const struct page *page)
{
    const size_t count = json_array_size(json_object_get(page->diff, "undecided"));
    if (count > 0) {
        char *line =
            dp_printf("undecided: %zu %s on one side and %s on the other, at a rate of differences that "
                      "explains both; no change",
                      count, count == 1 ? "case repeats" : "cases repeat", count == 1 ? "varies" : "vary");
        dp_text_put(page->out, "\n");
        put_line(page, 0, INDENT, line);
        free(line);
    }
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
    char *sentence = dp_diff_sentence(diff);
    add_sides(&page);
    add_causes(&page);
    add_unlike(&page);
    add_undecided(&page);
    add_environment(&page);
    dp_text_put(out, "\n");
    put_line(&page, 0, 0, sentence);
    free(sentence);
}
