/* SPDX-License-Identifier: Apache-2.0
 *
 * What an audit found: as a table, as JSON, and as lines for a shell.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/command/auditing.h"

enum { NAME_COLUMN = 10, TEXT_WIDTH = 100, NAME_WIDTH = 33 };

/* --- JSON --- */

/* A text of anybody's as a string of JSON. */
static json_t *clean(const char *text)
{
    char *shown = text ? dp_printable(text, strlen(text)) : NULL;
    json_t *ret = shown ? json_string(shown) : json_null();
    free(shown);
    return ret;
}

static json_t *describe_reader(const struct audit_row *row)
{
    const json_t *readers = json_object_get(dp_audit_settings(), "readers");
    const json_t *reader = json_object_get(readers, dp_json_string(row->setting, "reader", ""));
    json_t *ret = reader ? json_pack("{ss}", "name", dp_json_string(reader, "name", "")) : NULL;
    if (ret && row->version) {
        json_object_set_new(ret, "version", clean(row->version));
    }
    return ret;
}

static json_t *describe(const struct audit_row *row)
{
    static const char *const copied[] = {"name", "for", "values", "default", "effect", "since", "until"};
    const json_t *sources = json_object_get(dp_audit_settings(), "sources");
    const bool machine = json_is_true(json_object_get(row->setting, "machine"));
    json_t *ret = json_pack("{ss ss so so* ss}", "kind", machine ? "machine" : "variable", "status",
                            dp_audit_words[row->verdict.status], "value", clean(row->value), "reader",
                            describe_reader(row), "source",
                            dp_json_string(sources, dp_json_string(row->setting, "source", ""), ""));
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
        json_t *member = json_object_get(row->setting, copied[i]);
        if (member) {
            json_object_set(ret, copied[i], member);
        }
    }
    if (row->verdict.reason[0]) {
        json_object_set_new(ret, "reason", clean(row->verdict.reason));
    }
    if (row->line) {
        json_object_set_new(ret, "fix", clean(row->line));
    }
    if (row->proof) {
        json_object_set(ret, "proof", row->proof);
    }
    return ret;
}

json_t *audit_describe(const struct audit *audit)
{
    json_t *ret = json_array();
    for (size_t i = 0; i < audit->count; i++) {
        json_array_append_new(ret, describe(&audit->rows[i]));
    }
    return ret;
}

/* --- the table --- */

/* Words below the setting's name, harmless for a terminal. */
static void put_wrapped(struct dp_text *out, const char *words)
{
    char *shown = dp_printable(words, strlen(words));
    int at = 0;
    for (const char *rest = shown; *rest;) {
        const int word = (int)strcspn(rest, " ");
        const bool first = at == 0;
        if (!first && at + 1 + word > TEXT_WIDTH) {
            at = 0;
        }
        dp_text_printf(out, "%s%*s%.*s", first ? "" : at ? " " : "\n", at ? 0 : NAME_COLUMN, "", word, rest);
        at += (at ? 1 : NAME_COLUMN) + word;
        rest += word;
        rest += strspn(rest, " ");
    }
    dp_text_put(out, "\n");
    free(shown);
}

static void put_known(const struct audit_row *row, struct dp_text *out)
{
    json_t *described = describe(row);
    const json_t *reader = json_object_get(described, "reader");
    const char *since = dp_json_string(described, "since", NULL),
               *until = dp_json_string(described, "until", NULL);
    char *values = dp_printf("values: %s; by itself: %s", dp_json_string(described, "values", ""),
                             dp_json_string(described, "default", ""));
    char *source = dp_printf("source: %s", dp_json_string(described, "source", ""));
    put_wrapped(out, values);
    if (reader) {
        char *words = dp_printf("read by: %s %s%s%s%s%s", dp_json_string(reader, "name", ""),
                                dp_json_string(reader, "version", ""), since ? ", since " : "",
                                since ? since : "", until ? ", before " : "", until ? until : "");
        put_wrapped(out, words);
        free(words);
    }
    put_wrapped(out, source);
    json_decref(described);
    free(values);
    free(source);
}

/* "; not run: cuda/gemm/sgemm-nn-16x16x16 and 2 more (no CUDA driver found)", unless the proof says so
 * itself. */
static void put_not_run(const json_t *proof, struct dp_text *words)
{
    const json_t *not_run = json_object_get(proof, "not_run"), *first = json_array_get(not_run, 0);
    const char *reason = dp_json_string(first, "reason", "");
    if (!first || strcmp(reason, dp_json_string(proof, "reason", "")) == 0) {
        return;
    }
    dp_text_printf(words, "; not run: %s", dp_json_string(first, "case", ""));
    if (json_array_size(not_run) > 1) {
        dp_text_printf(words, " and %zu more", json_array_size(not_run) - 1);
    }
    dp_text_printf(words, " (%s)", reason);
}

/* The cases that differ by name, then how many were the same, and how many varied both times and so have no
 * bits to compare. */
static void put_compared(const json_t *cases, struct dp_text *words)
{
    size_t same = 0, moving = 0;
    const char *before = ":";
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i), *bits = json_object_get(item, "same_bits");
        const char *without = dp_json_string(item, "without", ""), *with = dp_json_string(item, "with", "");
        if (strcmp(without, with) != 0 || json_is_false(bits)) {
            dp_text_printf(words, "%s %s ", before, dp_json_string(item, "case", ""));
            if (strcmp(without, with) != 0) {
                dp_text_printf(words, "%s without, %s with", without, with);
            } else {
                dp_text_put(words, "has other bits");
            }
            before = ",";
        } else {
            same += bits != NULL;
            moving += bits == NULL;
        }
    }
    if (same > 0) {
        dp_text_printf(words, "%s the same bits in %zu case%s", before, same, same == 1 ? "" : "s");
        before = ",";
    }
    if (moving > 0) {
        dp_text_printf(words, "%s %zu var%s with and without", before, moving, moving == 1 ? "ies" : "y");
    }
}

static void put_proof(const struct audit_row *row, struct dp_text *out)
{
    static const struct {
        const char *outcome, *words;
    } outcomes[] = {
        {"changes_verdict", "proved: changes the verdict"},
        {"changes_bits", "proved: changes bits"},
        {"no_effect", "changed nothing here"},
        {"not_proven", "not proven"},
    };
    const char *outcome = dp_json_string(row->proof, "outcome", ""),
               *reason = dp_json_string(row->proof, "reason", NULL);
    const json_t *cases = json_object_get(row->proof, "cases");
    struct dp_text words = DP_TEXT(4000);
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        dp_text_put(&words, strcmp(outcomes[i].outcome, outcome) == 0 ? outcomes[i].words : "");
    }
    if (reason) {
        dp_text_printf(&words, ": %s", reason);
    }
    if (json_array_size(cases) > 0) {
        dp_text_printf(&words, " (%s=%s)", dp_json_string(row->setting, "name", ""),
                       dp_json_string(row->proof, "value", ""));
        put_compared(cases, &words);
    }
    put_not_run(row->proof, &words);
    put_wrapped(out, words.data ? words.data : "");
    dp_text_free(&words);
}

static void put_row(const struct audit_row *row, bool verbose, struct dp_text *out)
{
    const bool news = row->verdict.status != DP_AUDIT_OK;
    char *value = row->value ? dp_printable(row->value, strlen(row->value)) : dp_strdup("not set");
    dp_text_printf(out, "%-*s%-*s %.160s\n", NAME_COLUMN, dp_audit_words[row->verdict.status], NAME_WIDTH,
                   dp_json_string(row->setting, "name", ""), value);
    free(value);
    if (row->verdict.reason[0]) {
        put_wrapped(out, row->verdict.reason);
    }
    if (news || verbose || row->shown_effect) {
        put_wrapped(out, dp_json_string(row->setting, "effect", ""));
    }
    if (verbose) {
        put_known(row, out);
    }
    if (row->proof) {
        put_proof(row, out);
    }
    if (row->line) {
        char *line = dp_printable(row->line, strlen(row->line));
        dp_text_printf(out, "%*s%s\n", NAME_COLUMN, "", line);
        free(line);
    }
}

/* "2 of 9 settings should be changed: 1 missing, 1 wrong; 'eval ...' sets them" */
static void put_sentence(const struct audit *audit, struct dp_text *out)
{
    size_t counts[DP_AUDIT_STATUSES] = {0}, findings = 0;
    bool mend = false;
    if (audit->count == 0) {
        dp_text_put(out, "nothing here has such a setting\n");
        return;
    }
    for (size_t i = 0; i < audit->count; i++) {
        counts[audit->rows[i].verdict.status]++;
        mend = mend || audit->rows[i].mend;
    }
    for (int status = 0; status < DP_AUDIT_STATUSES; status++) {
        findings += status == DP_AUDIT_OK || status == DP_AUDIT_IGNORED ? 0 : counts[status];
    }
    dp_text_printf(out, "\n%zu of %zu setting%s should be changed", findings, audit->count,
                   audit->count == 1 ? "" : "s");
    const char *before = ": ";
    for (int status = DP_AUDIT_OK + 1; status < DP_AUDIT_STATUSES; status++) {
        if (counts[status] > 0 && status != DP_AUDIT_IGNORED) {
            dp_text_printf(out, "%s%zu %s", before, counts[status], dp_audit_words[status]);
            before = ", ";
        }
    }
    if (counts[DP_AUDIT_IGNORED] > 0) {
        dp_text_printf(out, "; %zu %s set and ignored", counts[DP_AUDIT_IGNORED],
                       counts[DP_AUDIT_IGNORED] == 1 ? "is" : "are");
    }
    dp_text_put(out, mend ? "; the same command with --shell prints the lines that do it\n" : "\n");
}

/* Names that people set and nothing reads, in one sentence as long as they are not set. */
static void put_brief(const struct audit *audit, struct dp_text *out)
{
    struct dp_text words = DP_TEXT(4000);
    for (size_t i = 0; i < audit->count; i++) {
        if (audit->rows[i].brief) {
            dp_text_printf(&words, "%s %s", words.length ? "," : "nothing here reads",
                           dp_json_string(audit->rows[i].setting, "name", ""));
        }
    }
    if (words.length) {
        put_wrapped(out, words.data);
    }
    dp_text_free(&words);
}

void audit_put_table(const struct audit *audit, bool verbose, struct dp_text *out)
{
    for (size_t i = 0; i < audit->count; i++) {
        if (verbose || !audit->rows[i].brief) {
            put_row(&audit->rows[i], verbose, out);
        }
    }
    if (!verbose) {
        put_brief(audit, out);
    }
    put_sentence(audit, out);
}

void audit_put_shell(const struct audit *audit, struct dp_text *out)
{
    for (size_t i = 0; i < audit->count; i++) {
        if (audit->rows[i].mend) {
            dp_text_printf(out, "%s\n", audit->rows[i].line);
        }
    }
}
