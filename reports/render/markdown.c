/* SPDX-License-Identifier: Apache-2.0
 *
 * Format markdown of a report, for a pull request, an issue or a step's summary: the verdict in words, a
 * table of families, what was found, what to do. What comes from documents is escaped, so that it stays text.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/checks.h"
#include "reports/render/advice.h"
#include "reports/render/formats.h"
#include "reports/render/price.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST 200 /* rows of a table: services cut longer comments */

static const struct {
    enum dp_check_state state;
    const char *column, *heading;
    bool folded;
} sections[] = {
    {DP_CHECK_FAIL, "fail", "Findings", false},
    {DP_CHECK_ERROR, "no verdict", "No verdict", false},
    {DP_CHECK_NOTE, "noted", "Passed, with a note", true},
    {DP_CHECK_SKIP, "skipped", "Not run", true},
    {DP_CHECK_PASS, "pass", NULL, false},
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

/* --- families --- */

static void put_family(struct dp_text *out, const struct dp_check **checks, size_t count)
{
    size_t counts[DP_CHECK_STATE_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        counts[checks[i]->state]++;
    }
    dp_text_put(out, "| ");
    dp_words_markdown(out, checks[0]->group);
    for (size_t i = 0; i < SECTIONS; i++) {
        const size_t number = counts[sections[i].state];
        dp_text_printf(out, number ? " | %zu" : " |", number);
    }
    dp_text_put(out, " |\n");
}

static void put_families(struct dp_text *out, const struct dp_checks *checks)
{
    const struct dp_check **sorted = dp_checks_sorted(checks, dp_check_by_group);
    size_t rows = 0, left = 0;
    dp_text_put(out, "\n| |");
    for (size_t i = 0; i < SECTIONS; i++) {
        dp_text_printf(out, " %s |", sections[i].column);
    }
    dp_text_put(out, "\n|---|---:|---:|---:|---:|---:|\n");
    for (size_t first = 0, next; first < checks->count; first = next) {
        for (next = first + 1; next < checks->count && dp_check_by_group(sorted[first], sorted[next]) == 0;) {
            next++;
        }
        if (strcmp(sorted[first]->group, DP_CHECK_WHOLE) == 0) {
            continue;
        }
        if (rows++ < MOST) {
            put_family(out, sorted + first, next - first);
        } else {
            left++;
        }
    }
    if (left > 0) {
        dp_text_printf(out, "\n%zu more families are left out.\n", left);
    }
    free(sorted);
}

/* --- what was found --- */

static void put_row(struct dp_text *out, const struct dp_check *check)
{
    dp_text_put(out, "| ");
    dp_words_markdown(out, check->subject[0] ? check->subject : check->name);
    dp_text_put(out, " | ");
    dp_words_markdown(out, check->line);
    if (check->reproduce[0]) {
        dp_text_put(out, "<br><code>");
        dp_words_markdown(out, check->reproduce);
        dp_text_put(out, "</code>");
    }
    dp_text_put(out, " |\n");
}

/* The verdict stands above everything. */
static bool is_told(const struct dp_check *check, enum dp_check_state state)
{
    return check->state == state && strcmp(check->kind, "verdict") != 0;
}

static size_t count_told(const struct dp_checks *checks, enum dp_check_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < checks->count; i++) {
        count += is_told(&checks->items[i], state);
    }
    return count;
}

/* What did not run has few reasons and many cases: a row for each reason. */
static int by_reason(const struct dp_check *a, const struct dp_check *b)
{
    const int told = is_told(a, DP_CHECK_SKIP) - is_told(b, DP_CHECK_SKIP);
    return told ? told : strcmp(a->line, b->line);
}

static size_t put_reasons(struct dp_text *out, const struct dp_checks *checks)
{
    const struct dp_check **sorted = dp_checks_sorted(checks, by_reason);
    size_t rows = 0;
    for (size_t first = checks->count - count_told(checks, DP_CHECK_SKIP), next; first < checks->count;
         first = next) {
        for (next = first + 1; next < checks->count && by_reason(sorted[first], sorted[next]) == 0;) {
            next++;
        }
        if (rows++ < MOST) {
            dp_text_put(out, "| ");
            dp_words_markdown(out, sorted[first]->subject);
            dp_text_printf(out, next - first > 1 ? " and %zu more | " : " | ", next - first - 1);
            dp_words_markdown(out, sorted[first]->line);
            dp_text_put(out, " |\n");
        }
    }
    free(sorted);
    return rows;
}

static size_t put_rows(struct dp_text *out, const struct dp_checks *checks, enum dp_check_state state)
{
    size_t rows = 0;
    for (size_t i = 0; i < checks->count; i++) {
        if (is_told(&checks->items[i], state) && rows++ < MOST) {
            put_row(out, &checks->items[i]);
        }
    }
    return rows;
}

static void put_section(struct dp_text *out, const struct dp_checks *checks, size_t section)
{
    const enum dp_check_state state = sections[section].state;
    const bool folded = sections[section].folded;
    struct dp_text table = DP_TEXT(out->limit);
    const size_t rows =
        state == DP_CHECK_SKIP ? put_reasons(&table, checks) : put_rows(&table, checks, state);
    if (rows > 0) {
        dp_text_printf(out, folded ? "\n<details><summary>%s: %zu</summary>\n\n" : "\n**%s: %zu**\n\n",
                       sections[section].heading, count_told(checks, state));
        dp_text_put(out, "| case | |\n|---|---|\n");
        dp_text_add(out, table.data, table.length);
        if (rows > MOST) {
            dp_text_printf(out, "\n%zu more rows are left out.\n", rows - MOST);
        }
        dp_text_put(out, folded ? "\n</details>\n" : "");
    }
    dp_text_free(&table);
}

/* --- what to do --- */

static void put_advice(struct dp_text *out, const json_t *advice)
{
    char *kinds = dp_advice_kinds(advice), *where = dp_advice_where(advice, false);
    char *text = dp_advice_text(advice), *users = dp_advice_users(advice, false);
    dp_text_put(out, "| ");
    dp_words_markdown(out, where);
    dp_text_put(out, "<br>");
    dp_words_markdown(out, kinds);
    dp_text_put(out, " | ");
    dp_words_markdown(out, text);
    if (users[0]) {
        dp_text_put(out, "<br>used by ");
        dp_words_markdown(out, users);
    }
    dp_text_put(out, " |\n");
    free(kinds);
    free(where);
    free(text);
    free(users);
}

static void put_all_advice(struct dp_text *out, const json_t *report)
{
    json_t *all = dp_advice_collect(json_object_get(json_object_get(report, "body"), "results"));
    const size_t count = json_array_size(all);
    if (count > 0) {
        dp_text_printf(out,
                       "\n<details><summary>What to do: %zu</summary>\n\n| cases | what to do |\n|---|---|\n",
                       count);
        for (size_t i = 0; i < count && i < MOST; i++) {
            put_advice(out, json_array_get(all, i));
        }
        if (count > MOST) {
            dp_text_printf(out, "\n%zu more rows are left out.\n", count - MOST);
        }
        dp_text_put(out, "\n</details>\n");
    }
    json_decref(all);
}

static void put_price(struct dp_text *out, const json_t *price)
{
    char *text = dp_price_text(price), *times = dp_price_times(price);
    const char *cells[] = {dp_json_string(price, "case", ""), dp_json_string(price, "pair", ""), text, times};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        dp_text_put(out, i == 0 ? "| " : " | ");
        dp_words_markdown(out, cells[i]);
    }
    dp_text_put(out, " |\n");
    free(text);
    free(times);
}

static void put_prices(struct dp_text *out, const json_t *report)
{
    const json_t *prices = dp_prices_of(json_object_get(report, "measurements"));
    const size_t count = json_array_size(prices);
    if (count > 0) {
        dp_text_printf(
            out,
            "\n<details><summary>Price of determinism: %zu</summary>\n\n| case | deterministic form "
            "| costs | |\n|---|---|---|---|\n",
            count);
        for (size_t i = 0; i < count && i < MOST; i++) {
            put_price(out, json_array_get(prices, i));
        }
        if (count > MOST) {
            dp_text_printf(out, "\n%zu more rows are left out.\n", count - MOST);
        }
        dp_text_put(out, "\n</details>\n");
    }
}

static void put_facts(struct dp_text *out, json_t *facts)
{
    const char *name;
    json_t *value;
    dp_text_put(out, "\n");
    json_object_foreach(facts, name, value)
    {
        dp_text_put(out, "- ");
        dp_words_markdown(out, name);
        dp_text_put(out, " ");
        dp_words_markdown(out, json_string_value(value));
        dp_text_put(out, "\n");
    }
}

void dp_render_markdown(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    struct dp_checks checks = dp_checks_of(document);
    dp_text_printf(out, "**detprobe %s**: ", checks.document);
    dp_words_markdown(out, checks.title);
    dp_text_put(out, "\n");
    if (checks.count > 1) {
        put_families(out, &checks);
    }
    for (size_t i = 0; i < SECTIONS; i++) {
        if (sections[i].heading) {
            put_section(out, &checks, i);
        }
    }
    put_all_advice(out, document);
    put_prices(out, document);
    put_facts(out, checks.facts);
    dp_checks_free(&checks);
}
