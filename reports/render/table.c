/* SPDX-License-Identifier: Apache-2.0
 *
 * The table by family, in two columns: what was observed, and what the guarantee says to that. Where a family
 * agrees it is one row with counts; what a reader must act on is a row of its own with its evidence. Under
 * the table each remedy stands once, with the cases and the framework operators that it is for.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "reports/render/advice.h"
#include "reports/render/price.h"
#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/host.h"
#include "suite/base/json.h"

#define OBSERVED_WIDTH 12
#define STATUS_WIDTH 12
#define NAME_MOST 44
#define ADVICE 2 /* columns before what advice is for, and before the remedy */
#define REMEDY 6

static const char *const observed_words[] = {"repeats", "varies", "wrong", "error", "untested", "skipped"};
static const char *const observed_many[] = {"repeat", "vary", "wrong", "errors", "untested", "skipped"};
static const char *const status_words[] = {"kept", "none", "allows", "broken", ""};
#define OBSERVED_COUNT 6
#define STATUS_COUNT 5

struct family {
    size_t first, end; /* in results */
    const char *backend, *name;
};

static const json_t *result_at(const struct dp_sheet *sheet, size_t i)
{
    return json_array_get(json_object_get(sheet->body, "results"), i);
}

static const char *observed_of(const json_t *result)
{
    return dp_json_string(result, "observed", "");
}

static const char *status_of(const json_t *result)
{
    return dp_json_string(json_object_get(result, "guarantee"), "status", "");
}

/* A row of its own: everything but what repeats as promised, and what could not be asked. */
static bool is_finding(const json_t *result)
{
    const char *observed = observed_of(result);
    return strcmp(observed, "varies") == 0 || strcmp(observed, "wrong") == 0 ||
           strcmp(observed, "error") == 0 || strcmp(status_of(result), "broken") == 0 ||
           dp_result_wrong_under(result);
}

static const char *short_name(const json_t *result)
{
    const char *name = dp_json_string(result, "case", "");
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static size_t name_width(const struct dp_sheet *sheet)
{
    size_t width = 16;
    for (size_t i = 0; i < json_array_size(json_object_get(sheet->body, "results")); i++) {
        const json_t *result = result_at(sheet, i);
        const size_t row = is_finding(result) || sheet->verbose ? dp_words_width(short_name(result)) + 4 : 0;
        width = row > width ? row : width;
    }
    return width < NAME_MOST ? width : NAME_MOST;
}

static void put_name(const struct dp_sheet *sheet, const char *name, size_t width)
{
    const size_t used = dp_words_width(name);
    dp_words_put(sheet->out, name);
    if (used + 1 > width) { /* a long name has a line to itself */
        dp_text_put(sheet->out, "\n");
        dp_words_blanks(sheet->out, width);
    } else {
        dp_words_blanks(sheet->out, width - used);
    }
}

/* Short lines, side by side as far as they fit. */
static void put_evidence(const struct dp_sheet *sheet, const char *evidence, size_t at)
{
    struct dp_text row = DP_TEXT(65536);
    char *copy = dp_strdup(evidence), *rest = copy;
    bool first = true;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const size_t width = row.data ? dp_words_width(row.data) + 2 + dp_words_width(line) : 0;
        if (row.data && at + width > sheet->columns) {
            dp_words_blanks(sheet->out, first ? 0 : at);
            dp_words_wrap(sheet->out, row.data, at, at, sheet->columns);
            dp_text_free(&row);
            row = DP_TEXT(65536);
            first = false;
        }
        dp_words_join(&row, ", ", line);
    }
    dp_words_blanks(sheet->out, first ? 0 : at);
    dp_words_wrap(sheet->out, row.data ? row.data : "", at, at, sheet->columns);
    dp_text_free(&row);
    free(copy);
}

/* The two columns and the evidence, of which further lines stay in its column. */
static void put_row(const struct dp_sheet *sheet, size_t name, const char *observed,
                    const char *observed_shown, const char *status, const char *evidence)
{
    dp_sheet_word(sheet, observed, observed_shown, status[0] || evidence[0] ? OBSERVED_WIDTH : 0);
    if (status[0]) {
        char *shown = dp_printf("· %s", strcmp(status, "none") == 0 ? "unstated" : status);
        dp_sheet_word(sheet, status, shown, evidence[0] ? STATUS_WIDTH : 0);
        free(shown);
    } else {
        dp_words_blanks(sheet->out, evidence[0] ? STATUS_WIDTH : 0);
    }
    put_evidence(sheet, evidence, name + OBSERVED_WIDTH + STATUS_WIDTH);
}

static bool in_group(const json_t *result, const char *observed, const char *status)
{
    return strcmp(observed_of(result), observed) == 0 && strcmp(status_of(result), status) == 0;
}

/* "sensitive to threads 12, batch 3" over the members of a group. */
static char *group_sensitive(const struct dp_sheet *sheet, const struct family *family, const char *status)
{
    json_t *counts = json_object();
    struct dp_text out = DP_TEXT(1024);
    for (size_t i = family->first; i < family->end; i++) {
        const json_t *axes = json_object_get(result_at(sheet, i), "sensitive_to");
        if (!in_group(result_at(sheet, i), "repeats", status)) {
            continue;
        }
        for (size_t k = 0; k < json_array_size(axes); k++) {
            const char *axis = json_string_value(json_array_get(axes, k));
            dp_json_count(counts, axis);
        }
    }
    const char *axis;
    json_t *number;
    json_object_foreach(counts, axis, number)
    {
        char *word = dp_printf("%s %lld", axis, (long long)json_integer_value(number));
        dp_words_join(&out, "\n", word);
        free(word);
    }
    char *line = out.length > 0 ? dp_printf("sensitive to %s", out.data) : dp_strdup("");
    dp_text_free(&out);
    json_decref(counts);
    return line;
}

/* Where the documents allow differences, not seeing one is worth what the runs are worth. */
static char *group_unseen(const struct dp_sheet *sheet, const struct family *family)
{
    size_t least = 0;
    for (size_t i = family->first; i < family->end; i++) {
        if (in_group(result_at(sheet, i), "repeats", "allows")) {
            const size_t runs = dp_evidence_runs(sheet, result_at(sheet, i));
            least = least == 0 || runs < least ? runs : least;
        }
    }
    return dp_printf("may vary, not seen in %zu runs", least);
}

static char *group_evidence(const struct dp_sheet *sheet, const struct family *family, const json_t *first)
{
    if (strcmp(observed_of(first), "untested") == 0) {
        return dp_strdup(dp_json_string(first, "reason", ""));
    }
    if (strcmp(observed_of(first), "repeats") != 0) {
        return dp_strdup("");
    }
    char *sensitive = group_sensitive(sheet, family, status_of(first));
    if (strcmp(status_of(first), "allows") != 0) {
        return sensitive;
    }
    char *unseen = group_unseen(sheet, family);
    char *both = dp_printf("%s%s%s", unseen, sensitive[0] ? "\n" : "", sensitive);
    free(unseen);
    free(sensitive);
    return both;
}

/* One row for `count` results of `family` that are like `first`. A finding that is alone has its own row
 * only. */
static void put_group(const struct dp_sheet *sheet, const struct family *family, const json_t *first,
                      size_t count, const char *many, size_t width, bool *named)
{
    if (count == 1 && is_finding(first)) {
        return;
    }
    char *name = *named ? dp_strdup("") : dp_printf("%s/%s", family->backend, family->name);
    char *shown = dp_printf("%3zu %s", count, count == 1 ? observed_of(first) : many);
    char *evidence = group_evidence(sheet, family, first);
    put_name(sheet, name, width);
    put_row(sheet, width, observed_of(first), shown, status_of(first), evidence);
    *named = true;
    free(name);
    free(shown);
    free(evidence);
}

static bool family_ran(const struct dp_sheet *sheet, const struct family *family)
{
    for (size_t i = family->first; i < family->end; i++) {
        if (strcmp(observed_of(result_at(sheet, i)), "skipped") != 0) {
            return true;
        }
    }
    return sheet->verbose;
}

/* Results that share a row share this too: untested ones their reason, others nothing further. */
static const char *group_key(const json_t *result)
{
    return strcmp(observed_of(result), "untested") == 0 ? dp_json_string(result, "reason", "") : "";
}

/* key -> how many results of the group have it. Owned. */
static json_t *group_counts(const struct dp_sheet *sheet, const struct family *family, const char *observed,
                            const char *status)
{
    json_t *counts = json_object();
    for (size_t i = family->first; i < family->end; i++) {
        const json_t *result = result_at(sheet, i);
        if (in_group(result, observed, status)) {
            const char *key = group_key(result);
            dp_json_count(counts, key);
        }
    }
    return counts;
}

static void put_groups(const struct dp_sheet *sheet, const struct family *family, size_t width)
{
    bool named = false;
    for (size_t pair = 0; pair < (OBSERVED_COUNT - 1) * STATUS_COUNT; pair++) {
        const size_t observed = pair / STATUS_COUNT, status = pair % STATUS_COUNT;
        json_t *counts = group_counts(sheet, family, observed_words[observed], status_words[status]);
        for (size_t i = family->first; i < family->end && json_object_size(counts) > 0; i++) {
            const json_t *result = result_at(sheet, i);
            const bool in = in_group(result, observed_words[observed], status_words[status]);
            const size_t count = in ? (size_t)dp_json_int(counts, group_key(result), 0) : 0;
            if (count > 0) {
                put_group(sheet, family, result, count, observed_many[observed], width, &named);
                json_object_del(counts, group_key(result));
            }
        }
        json_decref(counts);
    }
    if (!named) {
        char *name = dp_printf("%s/%s\n", family->backend, family->name);
        dp_text_put(sheet->out, name);
        free(name);
    }
}

/* "with NVIDIA_TF32_OVERRIDE=0": what the case sets for its process. */
static void put_environment(const struct dp_sheet *sheet, const json_t *result)
{
    char *variables = dp_variables_text(json_object_get(result, "environment"));
    if (variables[0]) {
        char *line = dp_printf("with %s", variables);
        dp_words_blanks(sheet->out, 4);
        dp_words_wrap(sheet->out, line, 4, 4, sheet->columns);
        free(line);
    }
    free(variables);
}

static void put_note(const struct dp_sheet *sheet, const json_t *result)
{
    char *note = dp_evidence_note(sheet, result);
    if (note[0]) {
        dp_words_blanks(sheet->out, 4);
        dp_words_wrap(sheet->out, note, 4, 4, sheet->columns);
    }
    free(note);
}

static void put_cases(const struct dp_sheet *sheet, const struct family *family, size_t width)
{
    for (size_t i = family->first; i < family->end; i++) {
        const json_t *result = result_at(sheet, i);
        if (!is_finding(result) && !sheet->verbose) {
            continue;
        }
        char *name = dp_printf("  %s", short_name(result));
        char *evidence = dp_evidence(sheet, result);
        put_name(sheet, name, width);
        put_row(sheet, width, observed_of(result), observed_of(result), status_of(result), evidence);
        put_environment(sheet, result);
        put_note(sheet, result);
        free(name);
        free(evidence);
    }
}

static bool family_next(const struct dp_sheet *sheet, struct family *family)
{
    const size_t count = json_array_size(json_object_get(sheet->body, "results"));
    family->first = family->end;
    if (family->first >= count) {
        return false;
    }
    const json_t *first = result_at(sheet, family->first);
    family->backend = dp_json_string(first, "backend", "");
    family->name = dp_json_string(first, "family", "");
    while (family->end < count &&
           strcmp(dp_json_string(result_at(sheet, family->end), "backend", ""), family->backend) == 0 &&
           strcmp(dp_json_string(result_at(sheet, family->end), "family", ""), family->name) == 0) {
        family->end++;
    }
    return true;
}

void dp_sheet_table(const struct dp_sheet *sheet)
{
    const size_t width = name_width(sheet);
    struct family family = {0};
    bool headed = false;
    while (family_next(sheet, &family)) {
        if (!family_ran(sheet, &family)) {
            continue;
        }
        if (!headed) {
            put_name(sheet, "operation", width);
            put_row(sheet, width, "", "  observed", "guarantee", "");
            headed = true;
        }
        put_groups(sheet, &family, width);
        put_cases(sheet, &family, width);
    }
    dp_text_put(sheet->out, headed ? "\n" : "");
}

static void put_indented(const struct dp_sheet *sheet, size_t indent, char *line_owned)
{
    dp_words_blanks(sheet->out, indent);
    dp_words_wrap(sheet->out, line_owned, indent, indent + (indent == ADVICE ? 8 : 0), sheet->columns);
    free(line_owned);
}

/* --verbose: every member of the remedy. */
static void put_whole_remedy(const struct dp_sheet *sheet, const json_t *remedy)
{
    static const char *const members[][2] = {{"text", ""},
                                             {"setting", "setting: "},
                                             {"api", "API: "},
                                             {"since", "since: "},
                                             {"source", "source: "}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *value = dp_json_string(remedy, members[i][0], "");
        if (value[0]) {
            put_indented(sheet, REMEDY, dp_printf("%s%s", members[i][1], value));
        }
    }
}

static void put_advice(const struct dp_sheet *sheet, const json_t *advice)
{
    char *kinds = dp_advice_kinds(advice), *where = dp_advice_where(advice, sheet->verbose);
    char *users = dp_advice_users(advice, sheet->verbose);
    char *price = dp_prices_text(dp_prices_of(sheet->measurements), json_object_get(advice, "cases"));
    put_indented(sheet, ADVICE, dp_printf("%s: %s%s%s", kinds, where, users[0] ? "; used by " : "", users));
    if (sheet->verbose) {
        put_whole_remedy(sheet, json_object_get(advice, "remedy"));
    } else {
        put_indented(sheet, REMEDY, dp_advice_text(advice));
    }
    if (price[0]) {
        put_indented(sheet, REMEDY, dp_strdup(price));
    }
    free(price);
    free(kinds);
    free(where);
    free(users);
}

void dp_sheet_advice(const struct dp_sheet *sheet)
{
    json_t *all = dp_advice_collect(json_object_get(sheet->body, "results"));
    dp_text_put(sheet->out, json_array_size(all) > 0 ? "what to do\n" : "");
    for (size_t i = 0; i < json_array_size(all); i++) {
        put_advice(sheet, json_array_get(all, i));
    }
    dp_text_put(sheet->out, json_array_size(all) > 0 ? "\n" : "");
    json_decref(all);
}
