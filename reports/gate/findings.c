/* SPDX-License-Identifier: Apache-2.0
 *
 * What fails: the rules case by case, each finding with a line, with what was before where a baseline tells,
 * and with the command that measures it again.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/render.h"
#include "reports/gate/parts.h"
#include "reports/render/reproduce.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

/* One case of the report, or of the baseline alone. */
struct subject {
    const struct dp_known *known;
    const char *id;
    const json_t *result, *measured; /* of the report; NULL where it is not there */
    const json_t *before;            /* of the baseline */
};

struct finding {
    enum dp_rule rule;
    const char *axis; /* NULL: none can be named */
    char *line;       /* owned */
};

struct findings {
    const struct dp_rules *rules;
    json_t *of[2][DP_RULE_MAX]; /* [known, new] */
};

/* --- where bits moved --- */

static bool moved_along(const json_t *measured, const char *name)
{
    const json_t *axis = json_object_get(json_object_get(measured, "axes"), name);
    return dp_json_int(axis, "mismatches", 0) > 0 || json_is_true(json_object_get(axis, "moved"));
}

/* The first axis along which the measurement saw bits differ. */
static const char *axis_that_moved(const json_t *measured)
{
    for (size_t i = 0; dp_report_axes[i]; i++) {
        if (moved_along(measured, dp_report_axes[i])) {
            return dp_report_axes[i];
        }
    }
    return NULL;
}

/* Did the baseline look along the axis? An axis with a rate has one only where something was compared. */
static bool baseline_measured(const struct subject *s, const char *name)
{
    const json_t *measured = json_object_get(s->known->measured, s->id);
    const json_t *axis = json_object_get(json_object_get(measured, "axes"), name);
    const json_t *comparisons = json_object_get(axis, "comparisons");
    return axis && (!comparisons || json_integer_value(comparisons) > 0) &&
           !dp_json_array_has(json_object_get(s->before, "not_measured"), name);
}

/* The axis of the finding along which a baseline that repeats never looked, so that it knows nothing of what
 * moves there; NULL: none. */
static const char *blind_axis(const struct subject *s, const struct finding *finding)
{
    if (!dp_result_is(s->before, "repeats")) {
        return NULL;
    }
    if (finding->rule == DP_RULE_SENSITIVE) {
        const bool known = dp_json_array_has(json_object_get(s->before, "sensitive_to"), finding->axis);
        return known || baseline_measured(s, finding->axis) ? NULL : finding->axis;
    }
    for (size_t i = 0; finding->rule == DP_RULE_VARIES && dp_report_axes[i]; i++) {
        if (moved_along(s->measured, dp_report_axes[i]) && !baseline_measured(s, dp_report_axes[i])) {
            return dp_report_axes[i];
        }
    }
    return NULL;
}

/* --- what is known of it --- */

static bool has_change(const struct subject *s, enum dp_change kind, const char *axis)
{
    const json_t *changes = json_object_get(s->known->changes, s->id);
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        if (strcmp(dp_json_string(change, "kind", ""), dp_change_name(kind)) == 0 &&
            (!axis || dp_json_array_has(json_object_get(change, "axes"), axis))) {
            return true;
        }
    }
    return false;
}

/* Was the same computed? By its definition, where both name one. */
static bool is_same_case(const struct subject *s)
{
    const json_t *was = json_object_get(s->before, "definition");
    const json_t *is = json_object_get(s->result, "definition");
    return s->before && s->result && (!was || !is || json_equal(was, is));
}

/* A difference that one rate explains on both sides is none, so it is not new either. */
static bool newly_varies(const struct subject *s)
{
    if (dp_result_is(s->before, "repeats")) {
        return has_change(s, DP_CHANGE_VARIES, NULL) || has_change(s, DP_CHANGE_BROKEN, NULL) ||
               has_change(s, DP_CHANGE_MENDED, NULL);
    }
    return !dp_result_is(s->before, "varies");
}

/* Are results wrong under a capped instruction set under which those of the baseline are not? */
static bool has_new_cap(const struct subject *s)
{
    const json_t *is = json_object_get(s->result, "wrong_under");
    const json_t *was = json_object_get(s->before, "wrong_under");
    bool new = false;
    for (size_t i = 0; i < json_array_size(is); i++) {
        new = new || !dp_json_array_has(was, json_string_value(json_array_get(is, i)));
    }
    return new;
}

static bool is_new(const struct subject *s, const struct finding *finding)
{
    if (!s->known->diff || json_object_get(s->known->disagreed, s->id)) {
        return false; /* what the baseline's own reports do not agree in cannot be told from what was */
    }
    if (finding->rule == DP_RULE_MISSING) {
        return true;
    }
    if (!is_same_case(s) || blind_axis(s, finding)) {
        return true;
    }
    switch (finding->rule) {
    case DP_RULE_BROKEN:
        return !dp_result_broken(s->before);
    case DP_RULE_WRONG:
        return finding->axis ? has_new_cap(s) : !dp_result_is(s->before, "wrong");
    case DP_RULE_ERROR:
        return !dp_result_is(s->before, "error");
    case DP_RULE_VARIES:
        return newly_varies(s);
    case DP_RULE_SENSITIVE:
        return !dp_result_ran(s->before) || has_change(s, DP_CHANGE_SENSITIVE, finding->axis);
    default:
        return true;
    }
}

/* --- lines --- */

/* " along repeat in 20 of 21 comparisons", " along batch". Owned. */
static char *evidence(const struct subject *s, const char *axis)
{
    const json_t *tally = json_object_get(json_object_get(s->measured, "axes"), axis);
    const json_int_t mismatches = dp_json_int(tally, "mismatches", 0);
    if (mismatches > 0) {
        return dp_printf(" along %s in %lld of %lld comparisons", axis, (long long)mismatches,
                         (long long)dp_json_int(tally, "comparisons", 0));
    }
    return dp_printf("%s%s", axis ? " along " : "", axis ? axis : "");
}

static struct finding found_broken(const struct subject *s)
{
    const json_t *sensitive = json_object_get(s->result, "sensitive_to");
    const bool varies = dp_result_is(s->result, "varies");
    const char *axis = varies                            ? axis_that_moved(s->measured)
                       : json_array_size(sensitive) == 1 ? json_string_value(json_array_get(sensitive, 0))
                                                         : NULL;
    char *where = evidence(s, axis);
    char *line =
        dp_printf("a guarantee is broken: the bits %s%s", varies ? "vary" : "change with a setting", where);
    free(where);
    return (struct finding){DP_RULE_BROKEN, axis, line};
}

static struct finding found_varies(const struct subject *s)
{
    const char *axis = axis_that_moved(s->measured);
    char *where = evidence(s, axis);
    char *line = dp_printf("varies%s", where);
    free(where);
    return (struct finding){DP_RULE_VARIES, axis, line};
}

static struct finding found_reason(const struct subject *s, enum dp_rule rule, const char *format)
{
    char *reason = dp_gate_shown(dp_json_string(s->result, "reason", "no reason given"));
    char *line = dp_printf("%s%s", format, reason);
    free(reason);
    return (struct finding){rule, NULL, line};
}

/* "wrong under openblas/Prescott, openblas/Core2" */
static struct finding found_capped(const struct subject *s)
{
    const json_t *caps = json_object_get(s->result, "wrong_under");
    struct dp_text line = DP_TEXT(4096);
    dp_text_put(&line, "wrong under ");
    for (size_t i = 0; i < json_array_size(caps); i++) {
        char *cap = dp_gate_shown(json_string_value(json_array_get(caps, i)));
        dp_text_printf(&line, "%s%s", i ? ", " : "", cap);
        free(cap);
    }
    return (struct finding){DP_RULE_WRONG, "isa", line.data};
}

static struct finding found_selection(const struct subject *s)
{
    char *was = dp_gate_shown(dp_json_string(s->before, "chosen", ""));
    char *is = dp_gate_shown(dp_json_string(s->result, "chosen", ""));
    char *line = dp_printf("chose '%s', in the baseline '%s'", is, was);
    free(was);
    free(is);
    return (struct finding){DP_RULE_SELECTION, NULL, line};
}

static struct finding found_missing(const struct subject *s)
{
    if (!s->result) {
        return (struct finding){DP_RULE_MISSING, NULL,
                                dp_strdup("is not in the report, it ran in the baseline")};
    }
    char *reason = dp_gate_shown(dp_json_string(s->result, "reason", ""));
    char *line = dp_printf("is %s now (%s), it ran in the baseline",
                           dp_json_string(s->result, "observed", ""), reason);
    free(reason);
    return (struct finding){DP_RULE_MISSING, NULL, line};
}

/* What was before and what may explain it. Owned; NULL: nothing to tell. */
static char *detail_of(const struct subject *s, const struct finding *finding)
{
    struct dp_text words = DP_TEXT(4096);
    const json_t *disagreed = json_object_get(s->known->disagreed, s->id);
    const json_t *change = json_array_get(json_object_get(s->known->changes, s->id), 0);
    const char *cause = json_string_value(json_object_get(s->known->causes, s->id));
    /* what became sensitive to an axis says in its line to which */
    char *was = change && finding->rule != DP_RULE_SENSITIVE ? dp_diff_detail(change) : dp_strdup("");
    char *shown = dp_gate_shown(was), *why = dp_gate_shown(cause ? cause : "");
    if (disagreed) {
        char *reason = dp_gate_shown(dp_json_string(disagreed, "reason", ""));
        dp_text_printf(&words, "left out of the baseline: %s", reason);
        free(reason);
    } else if (s->known->diff && !s->before) {
        dp_text_put(&words, "not in the baseline");
    } else if (s->known->diff && blind_axis(s, finding)) {
        dp_text_printf(&words, "the baseline did not measure %s", blind_axis(s, finding));
    } else {
        dp_text_printf(&words, "%s%s%s", shown, *shown && *why ? "; " : "", why);
    }
    free(was);
    free(shown);
    free(why);
    return words.length ? words.data : (dp_text_free(&words), NULL);
}

/* --- findings --- */

/* Bits that vary or depend on a setting are what a baseline is there to know. */
static bool is_excused(const struct findings *all, const struct subject *s, enum dp_rule rule)
{
    return s->known->diff && (all->rules->new_only || rule == DP_RULE_VARIES || rule == DP_RULE_SENSITIVE);
}

/* Takes finding->line. */
static void add(struct findings *all, const struct subject *s, const struct finding *finding)
{
    const bool new = is_new(s, finding);
    const json_t *any = s->result ? s->result : s->before;
    if (new || !is_excused(all, s, finding->rule)) {
        char *detail = detail_of(s, finding), *command = dp_reproduce(s->known->input->report.report, s->id);
        json_array_append_new(all->of[new][finding->rule],
                              json_pack("{ss ss* ss ss ss ss sb ss* ss}", "case", s->id, "axis",
                                        finding->axis, "backend", dp_json_string(any, "backend", ""),
                                        "family", dp_json_string(any, "family", ""), "kind",
                                        dp_rule_name(finding->rule), "line", finding->line, "new", new,
                                        "detail", detail, "reproduce", command));
        free(detail);
        free(command);
    }
    free(finding->line);
}

static void find_observed(struct findings *all, const struct subject *s)
{
    struct finding finding;
    if (all->rules->fails[DP_RULE_BROKEN] && dp_result_broken(s->result)) {
        finding = found_broken(s);
        add(all, s, &finding);
    }
    if (all->rules->fails[DP_RULE_WRONG] && dp_result_is(s->result, "wrong")) {
        finding = found_reason(s, DP_RULE_WRONG, "wrong: ");
        add(all, s, &finding);
    }
    if (all->rules->fails[DP_RULE_WRONG] && dp_result_wrong_under(s->result)) {
        finding = found_capped(s);
        add(all, s, &finding);
    }
    if (all->rules->fails[DP_RULE_ERROR] && dp_result_is(s->result, "error")) {
        finding = found_reason(s, DP_RULE_ERROR, "ends in an error: ");
        add(all, s, &finding);
    }
    /* a case whose bits vary against its guarantee is one finding, not two */
    if (all->rules->fails[DP_RULE_VARIES] && dp_result_is(s->result, "varies") &&
        !(all->rules->fails[DP_RULE_BROKEN] && dp_result_broken(s->result))) {
        finding = found_varies(s);
        add(all, s, &finding);
    }
}

static void find_sensitive(struct findings *all, const struct subject *s)
{
    const json_t *axes = json_object_get(s->result, "sensitive_to");
    for (size_t i = 0; all->rules->fails[DP_RULE_SENSITIVE] && i < json_array_size(axes); i++) {
        const char *axis = json_string_value(json_array_get(axes, i));
        const struct finding finding = {DP_RULE_SENSITIVE, axis, dp_printf("the bits change along %s", axis)};
        add(all, s, &finding);
    }
}

/* Against the baseline alone. */
static void find_changed(struct findings *all, const struct subject *s)
{
    const char *was = dp_json_string(s->before, "chosen", NULL);
    const char *is = dp_json_string(s->result, "chosen", NULL);
    struct finding finding;
    if (all->rules->fails[DP_RULE_DIGEST] && has_change(s, DP_CHANGE_BITS, NULL)) {
        finding =
            (struct finding){DP_RULE_DIGEST, NULL, dp_strdup("repeats with other bits than the baseline")};
        add(all, s, &finding);
    }
    if (all->rules->fails[DP_RULE_SELECTION] && is_same_case(s) && was && is && strcmp(was, is) != 0) {
        finding = found_selection(s);
        add(all, s, &finding);
    }
    if (all->rules->fails[DP_RULE_MISSING] && dp_result_ran(s->before) &&
        (has_change(s, DP_CHANGE_MISSING, NULL) || has_change(s, DP_CHANGE_STOPPED, NULL))) {
        finding = found_missing(s);
        add(all, s, &finding);
    }
}

static void find_all(struct findings *all, const struct dp_known *known)
{
    const json_t *report = known->input->report.report;
    const json_t *cases = json_object_get(json_object_get(report, "measurements"), "cases");
    json_t *measured = dp_json_index(cases, "case"), *seen = json_object();
    const char *id;
    size_t i;
    json_t *result;
    json_array_foreach(json_object_get(json_object_get(report, "body"), "results"), i, result)
    {
        id = dp_json_string(result, "case", "");
        const struct subject s = {known, id, result, json_object_get(measured, id),
                                  json_object_get(known->results, id)};
        json_object_set_new(seen, id, json_true());
        find_observed(all, &s);
        find_sensitive(all, &s);
        find_changed(all, &s);
    }
    json_object_foreach(known->results, id, result)
    {
        if (!json_object_get(seen, id)) {
            const struct subject s = {.known = known, .id = id, .before = result};
            find_changed(all, &s);
        }
    }
    json_decref(measured);
    json_decref(seen);
}

json_t *dp_gate_findings(const struct dp_known *known, const struct dp_rules *rules)
{
    struct findings all = {.rules = rules};
    json_t *findings = json_array();
    for (int rule = 0; rule < DP_RULE_MAX; rule++) {
        all.of[0][rule] = json_array();
        all.of[1][rule] = json_array();
    }
    find_all(&all, known);
    for (int new = 1; new >= 0; new --) {
        for (int rule = 0; rule < DP_RULE_MAX; rule++) {
            json_array_extend(findings, all.of[new][rule]);
            json_decref(all.of[new][rule]);
        }
    }
    return findings;
}
