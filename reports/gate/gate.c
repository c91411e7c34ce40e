/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision: findings, what is allowed of them, what stands against a verdict, and all of it in one
 * sentence.
 */
#include "reports/gate/gate.h"

#include <stdlib.h>
#include <string.h>

#include "reports/gate/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define SHOWN ((size_t)300) /* bytes of a text of the report in a line */

static const char *const verdict_names[] = {
    [DP_GATE_NONE] = "",
    [DP_GATE_PASSED] = "passed",
    [DP_GATE_FAILED] = "failed",
    [DP_GATE_NO_VERDICT] = "no_verdict",
};

/* --- what the files of this folder share --- */

char *dp_gate_shown(const char *text)
{
    const size_t length = dp_text_fit(text, SHOWN);
    char *cut = dp_printable(text, length);
    if (!text[length]) {
        return cut;
    }
    char *shown = dp_printf("%s...", cut);
    free(cut);
    return shown;
}

json_t *dp_gate_line(const char *kind, char *line_owned)
{
    json_t *row = json_pack("{ss ss}", "kind", kind, "line", line_owned);
    free(line_owned);
    return row;
}

/* --- findings that fail before those that are allowed --- */

struct tally {
    size_t checked, skipped, failed, fresh, allowed;
    const char *until; /* the first day on which something allowed expires */
};

static json_t *sort_out(json_t *findings, struct tally *tally)
{
    json_t *sorted = json_array(), *allowed = json_array();
    size_t i;
    json_t *finding;
    json_array_foreach(findings, i, finding)
    {
        const json_t *by = json_object_get(finding, "allowed");
        if (!by) {
            tally->failed++;
            tally->fresh += json_is_true(json_object_get(finding, "new"));
            json_array_append(sorted, finding);
            continue;
        }
        const char *expires = dp_json_string(by, "expires", "");
        tally->until = tally->until && strcmp(tally->until, expires) < 0 ? tally->until : expires;
        tally->allowed++;
        json_array_append(allowed, finding);
    }
    json_array_extend(sorted, allowed);
    json_decref(allowed);
    json_decref(findings);
    return sorted;
}

static void count_cases(const json_t *counts, struct tally *tally)
{
    const char *observed;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)counts, observed, count)
    {
        const bool ran = strcmp(observed, "repeats") == 0 || strcmp(observed, "varies") == 0 ||
                         strcmp(observed, "wrong") == 0;
        *(ran ? &tally->checked : &tally->skipped) += (size_t)json_integer_value(count);
    }
}

/* --- what the baseline says beside findings --- */

/* Changes that are none for the worse: the baseline is older than what is known. */
static void note_better(const json_t *diff, json_t *notes)
{
    static const enum dp_change better[] = {DP_CHANGE_MENDED, DP_CHANGE_REPEATS, DP_CHANGE_INSENSITIVE,
                                            DP_CHANGE_STARTED};
    const json_t *kinds = json_object_get(json_object_get(diff, "summary"), "kinds");
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < sizeof(better) / sizeof(better[0]); i++) {
        const json_int_t count = dp_json_int(kinds, dp_change_name(better[i]), 0);
        if (count > 0) {
            dp_text_printf(&words, "%s%lld %s", words.length ? ", " : "", (long long)count,
                           dp_change_words(better[i], count != 1));
        }
    }
    if (words.length) {
        json_array_append_new(notes,
                              dp_gate_line("better", dp_printf("better than the baseline: %s", words.data)));
    }
    const json_int_t added = dp_json_int(kinds, dp_change_name(DP_CHANGE_NEW), 0);
    if (added > 0) {
        json_array_append_new(
            notes, dp_gate_line("baseline", dp_printf("%lld %s not in the baseline", (long long)added,
                                                      added == 1 ? "case is" : "cases are")));
    }
    dp_text_free(&words);
}

/* Cases that could not be compared, by the reason. */
static void note_unlike(const json_t *diff, json_t *notes)
{
    json_t *reasons = json_object();
    size_t i;
    json_t *entry;
    const char *reason;
    json_array_foreach(json_object_get(diff, "not_compared"), i, entry)
    {
        reason = dp_json_string(entry, "reason", "");
        dp_json_count(reasons, reason);
    }
    json_object_foreach(reasons, reason, entry)
    {
        const json_int_t count = json_integer_value(entry);
        json_array_append_new(
            notes,
            dp_gate_line("not_compared", dp_printf("%lld %s not compared with the baseline: %s",
                                                   (long long)count, count == 1 ? "case" : "cases", reason)));
    }
    json_decref(reasons);
    const size_t undecided = json_array_size(json_object_get(diff, "undecided"));
    if (undecided > 0) {
        json_array_append_new(
            notes, dp_gate_line("undecided", dp_printf("%zu %s as before as far as runs tell: one rate of "
                                                       "differences explains both",
                                                       undecided, undecided == 1 ? "case is" : "cases are")));
    }
}

/* --- the sentence --- */

static enum dp_gate_verdict decide(const struct tally *tally, const json_t *problems, bool hard)
{
    if (hard) {
        return DP_GATE_NO_VERDICT;
    }
    return tally->failed > 0               ? DP_GATE_FAILED
           : json_array_size(problems) > 0 ? DP_GATE_NO_VERDICT
                                           : DP_GATE_PASSED;
}

static bool fails_on_anything(const struct dp_rules *rules)
{
    for (int rule = 0; rule < DP_RULE_MAX; rule++) {
        if (rules->fails[rule]) {
            return true;
        }
    }
    return false;
}

/* "2 findings in 269 cases, 1 of them new; 888 skipped; 3 allowed until 2027-01-01". Owned. */
static char *sentence(const struct tally *tally, const json_t *problems, enum dp_gate_verdict verdict,
                      const struct dp_known *known, const struct dp_rules *rules)
{
    struct dp_text words = DP_TEXT(4096);
    if (verdict == DP_GATE_NO_VERDICT) {
        const size_t more = json_array_size(problems) - 1;
        dp_text_put(&words, dp_json_string(json_array_get(problems, 0), "line", ""));
        if (more > 0) {
            dp_text_printf(&words, "; and %zu more", more);
        }
    } else if (verdict == DP_GATE_FAILED) {
        dp_text_printf(&words, "%zu %s in %zu %s", tally->failed, tally->failed == 1 ? "finding" : "findings",
                       tally->checked, tally->checked == 1 ? "case" : "cases");
        if (known->diff) {
            dp_text_printf(&words, ", %zu of them new", tally->fresh);
        }
    } else {
        dp_text_printf(&words, "%zu %s, %s", tally->checked, tally->checked == 1 ? "case" : "cases",
                       fails_on_anything(rules) ? "no finding" : "nothing is set to fail");
    }
    if (tally->skipped > 0 && verdict != DP_GATE_NO_VERDICT) {
        dp_text_printf(&words, "; %zu not tested", tally->skipped);
    }
    if (tally->allowed > 0) {
        dp_text_printf(&words, "; %zu allowed until %s", tally->allowed, tally->until);
    }
    return words.data;
}

static json_t *side_json(const struct dp_diff_side *side, bool counts)
{
    if (!side->report) {
        return NULL;
    }
    const json_t *summary = json_object_get(json_object_get(side->report, "body"), "summary");
    char *name = dp_printable(side->name, strlen(side->name));
    json_t *json =
        json_pack("{ss ss so*}", "name", name, "digest", dp_json_string(side->report, "digest", ""), "counts",
                  counts ? json_deep_copy(json_object_get(summary, "counts")) : NULL);
    free(name);
    return json;
}

static json_t *policy_json(const struct dp_gate_input *input)
{
    if (!input->policy) {
        return NULL;
    }
    char *name = dp_printable(input->policy_name, strlen(input->policy_name));
    json_t *json = json_pack("{ss}", "name", name);
    free(name);
    return json;
}

static json_t *assemble(const struct dp_known *known, const struct dp_rules *rules)
{
    const struct dp_gate_input *input = known->input;
    const json_t *body = json_object_get(input->report.report, "body"), *plan = json_object_get(body, "plan");
    struct tally tally = {0};
    bool hard = false;
    json_t *notes = json_array(), *findings = dp_gate_findings(known, rules);
    dp_gate_allow(input->policy, input->today, findings, notes);
    if (known->diff) {
        note_unlike(known->diff, notes);
        note_better(known->diff, notes);
    }
    findings = sort_out(findings, &tally);
    count_cases(json_object_get(json_object_get(body, "summary"), "counts"), &tally);
    json_t *problems = dp_gate_problems(input, &hard);
    const enum dp_gate_verdict verdict = decide(&tally, problems, hard);
    char *reason = sentence(&tally, problems, verdict, known, rules);
    json_t *summary = json_pack("{sI sI sI sI sI}", "checked", (json_int_t)tally.checked, "failed",
                                (json_int_t)tally.failed, "new", (json_int_t)tally.fresh, "allowed",
                                (json_int_t)tally.allowed, "skipped", (json_int_t)tally.skipped);
    json_t *gate = json_pack(
        "{ss so so* so* s{sO sO} sb ss ss so so so so}", "schema_version", DP_GATE_SCHEMA_VERSION, "report",
        side_json(&input->report, true), "baseline", side_json(&input->baseline, false), "policy",
        policy_json(input), "plan", "level", json_object_get(plan, "level"), "seed",
        json_object_get(plan, "seed"), "passed", verdict == DP_GATE_PASSED, "verdict", verdict_names[verdict],
        "reason", reason, "findings", findings, "problems", problems, "notes", notes, "summary", summary);
    free(reason);
    return gate;
}

json_t *dp_gate_make(const struct dp_gate_input *input, struct dp_err *err)
{
    struct dp_known known;
    struct dp_rules rules;
    json_t *gate = NULL;
    if (dp_gate_prepare(input, err) != 0 || dp_gate_comparable(input, err) != 0) {
        return NULL;
    }
    dp_rules_read(input, &rules);
    if (dp_known_make(input, &known, err) == 0) {
        gate = assemble(&known, &rules);
    }
    dp_known_free(&known);
    return gate;
}

enum dp_gate_verdict dp_gate_verdict(const json_t *gate)
{
    const char *verdict = dp_json_string(gate, "verdict", "");
    for (int i = DP_GATE_PASSED; i <= DP_GATE_NO_VERDICT; i++) {
        if (strcmp(verdict_names[i], verdict) == 0) {
            return (enum dp_gate_verdict)i;
        }
    }
    return DP_GATE_NO_VERDICT;
}
