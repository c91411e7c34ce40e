/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of the table of guarantees, and what stands together in it.
 */
#include "reports/guarantees/parts.h"

#include <stdlib.h>
#include <string.h>

#include "reports/guarantees/render.h"
#include "reports/model.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST 100000 /* of a text of one statement */

static const char *const levels[] = {"not_guaranteed", "run_to_run", "gpu_to_gpu", "unstated"};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

static bool is(const json_t *row, const char *key, const char *word)
{
    return strcmp(dp_json_string(row, key, ""), word) == 0;
}

bool dp_guarantees_is_unseen(const json_t *row)
{
    return is(row, "level", "not_guaranteed") && dp_result_is(row, "repeats");
}

bool dp_guarantees_is_news(const json_t *row)
{
    return is(row, "status", "broken") || dp_guarantees_is_unseen(row);
}

/* --- what stands together --- */

/* "cuDNN 9.1 (assumed)", "cudnn (version not known)"; of what is said of no library, its family. Owned. */
static char *label_of(const json_t *row)
{
    const json_t *library = json_object_get(row, "library");
    const char *version = dp_json_string(library, "version", "");
    if (!library) {
        return dp_printf("%s/%s", dp_json_string(row, "backend", ""), dp_json_string(row, "family", ""));
    }
    return dp_printf("%s %s%s", dp_json_string(library, "name", dp_json_string(library, "role", "")),
                     version[0] ? version : "(version not known)",
                     is(library, "from", "assumed") ? " (assumed)" : "");
}

/* Equal where two rows are said in the same words. Owned. */
static char *key_of(const char *label, const json_t *row)
{
    char *remarks = dp_guarantees_remarks(row);
    char *key = dp_printf("%s\n%s\n%s\n%s", label, dp_json_string(row, "level", ""),
                          dp_json_string(row, "source", ""), remarks);
    free(remarks);
    return key;
}

static void add_row(json_t *groups, json_t *statements, json_t *row)
{
    char *label = label_of(row), *key = key_of(label, row);
    json_t *statement = json_object_get(statements, key);
    if (!statement) {
        statement = json_array();
        json_object_set_new(statements, key, statement);
        dp_json_group(groups, label, json_incref(statement));
    }
    json_array_append(statement, row);
    free(key);
    free(label);
}

json_t *dp_guarantees_groups(const json_t *document)
{
    const json_t *rows = json_object_get(document, "rows");
    json_t *groups = json_object(), *statements = json_object();
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        char *label = label_of(row);
        if (!json_object_get(groups, label)) {
            json_object_set_new(groups, label, json_array());
        }
        free(label);
    }
    for (size_t l = 0; l < LEVELS; l++) {
        json_array_foreach(rows, i, row)
        {
            if (is(row, "level", levels[l])) {
                add_row(groups, statements, row);
            }
        }
    }
    json_decref(statements);
    return groups;
}

/* --- words --- */

/* "2 vary", "1 varies", "3 skipped" */
static void put_observed(struct dp_text *text, const char *observed, json_int_t count)
{
    const bool many = count != 1;
    const char *word = many && strcmp(observed, "repeats") == 0  ? "repeat"
                       : many && strcmp(observed, "varies") == 0 ? "vary"
                                                                 : observed;
    dp_text_printf(text, "%s%lld %s", text->length ? ", " : "", (long long)count, word);
}

char *dp_guarantees_observed(const json_t *rows)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *observed = dp_json_string(row, "observed", NULL),
                   *status = dp_json_string(row, "status", "");
        if (observed) {
            char *key = dp_printf("%s\n%s", observed, status);
            dp_json_count(counts, key);
            free(key);
        }
    }
    struct dp_text text = DP_TEXT(MOST);
    const char *key;
    json_t *count;
    json_object_foreach(counts, key, count)
    {
        const char *status = strchr(key, '\n') + 1;
        char *observed = dp_printf("%.*s", (int)(status - key - 1), key);
        put_observed(&text, observed, json_integer_value(count));
        dp_text_printf(&text, "%s%s", status[0] ? " · " : "", status);
        free(observed);
    }
    json_decref(counts);
    return dp_text_take(&text);
}

/* "run_to_run of cuDNN since 7 and before 10: document and section", which is not said twice. */
static void add_alternative(struct dp_text *text, const json_t *row, const json_t *item)
{
    const char *source = dp_json_string(item, "source", "");
    const bool same = is(row, "source", source);
    dp_text_printf(text, "\n%s of %s%s%s", dp_json_string(item, "level", ""),
                   dp_json_string(item, "said_of", "all others"), same ? "" : ": ", same ? "" : source);
}

char *dp_guarantees_remarks(const json_t *row)
{
    const char *reason = dp_json_string(row, "reason", NULL), *said_of = dp_json_string(row, "said_of", NULL);
    const json_t *alternatives = json_object_get(row, "alternatives");
    struct dp_text text = DP_TEXT(MOST);
    if (reason) {
        dp_text_put(&text, reason);
    } else if (said_of) {
        dp_text_printf(&text, "said of %s", said_of);
    }
    for (size_t i = 0; json_object_get(row, "depends_on") && i < json_array_size(alternatives); i++) {
        add_alternative(&text, row, json_array_get(alternatives, i));
    }
    return dp_text_take(&text);
}

char *dp_guarantees_evidence(const json_t *row)
{
    const json_int_t comparisons = dp_json_int(row, "comparisons", 0),
                     processes = dp_json_int(row, "new_processes", 0),
                     busy = dp_json_int(row, "busy_runs", 0);
    struct dp_text text = DP_TEXT(1000);
    if (!dp_guarantees_is_unseen(row)) {
        return dp_strdup("");
    }
    dp_text_printf(&text, "not seen to vary in %lld comparison%s", (long long)comparisons,
                   comparisons == 1 ? "" : "s");
    if (json_object_get(row, "bound")) {
        dp_text_printf(&text, " (rate below %.2g %%)", 100.0 * dp_json_number(row, "bound", 1.0));
    }
    dp_text_printf(&text, ", %lld new process%s", (long long)processes, processes == 1 ? "" : "es");
    if (busy > 0) {
        dp_text_printf(&text, ", %lld busy run%s", (long long)busy, busy == 1 ? "" : "s");
    } else {
        dp_text_put(&text, ", no busy runs");
    }
    return dp_text_take(&text);
}

/* --- the last line --- */

static void add_levels(struct dp_text *text, const json_t *summary)
{
    const json_int_t cases = dp_json_int(summary, "cases", 0);
    dp_text_printf(text, "%lld case%s", (long long)cases, cases == 1 ? "" : "s");
    const char *before = ": ";
    for (size_t l = 0; l < LEVELS; l++) {
        const json_int_t count = dp_json_int(json_object_get(summary, "levels"), levels[l], 0);
        if (count > 0) {
            dp_text_printf(text, "%s%lld %s", before, (long long)count, levels[l]);
            before = ", ";
        }
    }
}

static void add_unknown(struct dp_text *text, const json_t *summary)
{
    const json_t *roles = json_object_get(summary, "depends_on");
    for (size_t i = 0; i < json_array_size(roles); i++) {
        dp_text_printf(text, "%s%s", i ? ", " : "; some depend on versions that are not known: ",
                       json_string_value(json_array_get(roles, i)));
    }
}

static void add_joined(struct dp_text *text, const json_t *summary)
{
    const size_t broken = json_array_size(json_object_get(summary, "broken")),
                 unseen = json_array_size(json_object_get(summary, "never_seen"));
    const size_t seen = (size_t)dp_json_int(summary, "seen", 0),
                 missing = (size_t)dp_json_int(summary, "not_run", 0);
    if (broken > 0) {
        dp_text_printf(text, "%zu guarantee%s broken", broken, broken == 1 ? "" : "s");
    } else {
        dp_text_put(text, "no guarantee broken");
    }
    if (seen + unseen > 0) {
        dp_text_printf(text, "; of %zu operation%s documented as varying %zu did and %zu did not",
                       seen + unseen, seen + unseen == 1 ? "" : "s", seen, unseen);
    }
    if (missing > 0) {
        dp_text_printf(text, "; %zu gave no verdict", missing);
    }
}

char *dp_guarantees_sentence(const json_t *document)
{
    const json_t *summary = json_object_get(document, "summary");
    struct dp_text text = DP_TEXT(MOST);
    if (json_object_get(document, "report")) {
        add_joined(&text, summary);
    } else {
        add_levels(&text, summary);
        add_unknown(&text, summary);
    }
    char *shown = dp_printable(text.data, text.length);
    dp_text_free(&text);
    return shown;
}
