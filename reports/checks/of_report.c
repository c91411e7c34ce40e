/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as checks: one for each case, one for each control, one for the run. What varies where nobody
 * promised otherwise has passed, with a note; whether that fails a job is said by the exit code, and the
 * check of the run follows it.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/parts.h"
#include "reports/model.h"
#include "reports/render/advice.h"
#include "reports/render/price.h"
#include "reports/render/render.h"
#include "reports/render/reproduce.h"
#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST 16000 /* bytes of one check's words */

/* --- one case --- */

static enum dp_check_state state_of(const json_t *result)
{
    static const struct {
        const char *observed;
        enum dp_check_state state;
    } states[] = {
        {"repeats", DP_CHECK_PASS}, {"varies", DP_CHECK_NOTE},   {"wrong", DP_CHECK_FAIL},
        {"skipped", DP_CHECK_SKIP}, {"untested", DP_CHECK_SKIP}, {"error", DP_CHECK_ERROR},
    };
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (dp_result_is(result, states[i].observed)) {
            return dp_result_broken(result) || dp_result_wrong_under(result) ? DP_CHECK_FAIL
                                                                             : states[i].state;
        }
    }
    return DP_CHECK_ERROR;
}

/* Why a case was skipped or failed tells more than that it was; an `untested` has no closed list of reasons.
 */
static const char *kind_of(const json_t *result)
{
    const char *observed = dp_json_string(result, "observed", "");
    if (strcmp(observed, "skipped") == 0 || strcmp(observed, "error") == 0) {
        return dp_json_string(result, "reason", observed);
    }
    return dp_result_broken(result) ? "broken" : dp_result_wrong_under(result) ? "wrong" : observed;
}

/* "varies · broken: distinct 2 of 3 processes, 1 of 2 seeds"; of what did not run the reason. Owned. */
static char *line_of(const struct dp_sheet *sheet, const json_t *result)
{
    const char *observed = dp_json_string(result, "observed", "");
    const char *status = dp_json_string(json_object_get(result, "guarantee"), "status", NULL);
    char *note = dp_evidence_note(sheet, result);
    struct dp_text line = DP_TEXT(MOST);
    dp_text_put(&line, observed);
    if (status) {
        dp_text_printf(&line, " \xc2\xb7 %s", strcmp(status, "none") == 0 ? "unstated" : status);
    }
    if (strcmp(observed, "varies") == 0 || strcmp(observed, "repeats") == 0) {
        char *evidence = dp_evidence(sheet, result), *rest = evidence;
        const char *separator = ": ";
        for (char *part; rest && (part = strsep(&rest, "\n")) != NULL;) {
            if (part[0]) {
                dp_text_printf(&line, "%s%s", separator, part);
                separator = ", ";
            }
        }
        free(evidence);
    } else {
        dp_text_printf(&line, ": %s", note);
    }
    free(note);
    char *owned = dp_strdup(line.data);
    dp_text_free(&line);
    return owned;
}

static void add_advice(const json_t *result, const json_t *prices, struct dp_text *detail)
{
    json_t *one = json_pack("[O]", result), *all = dp_advice_collect(one);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *advice = json_array_get(all, i);
        char *text = dp_advice_text(advice), *users = dp_advice_users(advice, false);
        char *price = dp_prices_text(prices, json_object_get(advice, "cases"));
        dp_checks_line(detail, "what to do: ", text);
        dp_checks_line(detail, "price: ", i == 0 ? price : "");
        dp_checks_line(detail, "used by: ", i == 0 ? users : "");
        free(price);
        free(text);
        free(users);
    }
    json_decref(all);
    json_decref(one);
}

static void add_detail(const struct dp_sheet *sheet, const json_t *result, struct dp_text *detail)
{
    const json_t *guarantee = json_object_get(result, "guarantee");
    const json_t *entry = json_object_get(sheet->measured, dp_json_string(result, "case", ""));
    if (dp_result_is(result, "varies") || dp_result_is(result, "repeats")) {
        char *note = dp_evidence_note(sheet, result);
        dp_checks_line(detail, "", note);
        free(note);
    }
    char *promise =
        dp_printf("%s, %s", dp_json_string(guarantee, "level", ""), dp_json_string(guarantee, "source", ""));
    dp_checks_line(detail, "guarantee: ", dp_json_string(guarantee, "source", "")[0] ? promise : "");
    free(promise);
    add_advice(result, dp_prices_of(sheet->measurements), detail);
    dp_checks_line(detail, "log: ", dp_json_string(json_object_get(entry, "error"), "log", ""));
}

static void add_result(const struct dp_sheet *sheet, const json_t *report, const json_t *result,
                       struct dp_checks *checks)
{
    const json_t *entry = json_object_get(sheet->measured, dp_json_string(result, "case", ""));
    struct dp_check check = {.state = state_of(result),
                             .kind = kind_of(result),
                             .subject = dp_json_string(result, "case", ""),
                             .seconds = dp_json_number(entry, "seconds", 0)};
    const bool told = check.state != DP_CHECK_PASS && check.state != DP_CHECK_SKIP;
    struct dp_text detail = DP_TEXT(MOST);
    if (told) {
        add_detail(sheet, result, &detail);
    }
    char *line = line_of(sheet, result);
    char *reproduce = told ? dp_reproduce(report, check.subject) : NULL;
    check.line = line;
    check.detail = detail.data;
    check.reproduce = reproduce;
    dp_checks_add_case(checks, check, NULL);
    free(line);
    free(reproduce);
    dp_text_free(&detail);
}

/* --- controls and the run --- */

static void add_control(const json_t *control, struct dp_checks *checks)
{
    const bool behaved = json_is_true(json_object_get(control, "behaved"));
    const bool ran = !dp_result_is(control, "skipped") && !dp_result_is(control, "untested");
    char *line = behaved
                     ? dp_printf("%s, as it must", dp_json_string(control, "observed", ""))
                     : dp_printf("ought to show '%s' along %s: %s", dp_json_string(control, "expected", ""),
                                 dp_json_string(control, "axis", ""), dp_json_string(control, "reason", ""));
    const struct dp_check check = {.state = behaved ? DP_CHECK_PASS
                                            : ran   ? DP_CHECK_ERROR
                                                    : DP_CHECK_SKIP,
                                   .kind = "control",
                                   .subject = dp_json_string(control, "name", ""),
                                   .line = line};
    dp_checks_add_case(checks, check, NULL);
    free(line);
}

static enum dp_check_state state_of_run(const json_t *measurements)
{
    switch (dp_json_int(json_object_get(measurements, "exit"), "code", DP_EXIT_NO_VERDICT)) {
    case DP_EXIT_OK:
        return DP_CHECK_PASS;
    case DP_EXIT_FINDINGS:
        return DP_CHECK_FAIL;
    case DP_EXIT_NOTHING_RAN:
        return DP_CHECK_SKIP;
    default:
        return DP_CHECK_ERROR;
    }
}

static void add_run(const json_t *report, struct dp_checks *checks)
{
    const json_t *measurements = json_object_get(report, "measurements");
    const json_t *exit = json_object_get(measurements, "exit");
    char *sentence = dp_report_sentence(report);
    char *reason = dp_printf("exit code %lld: %s", (long long)dp_json_int(exit, "code", 0),
                             dp_json_string(exit, "reason", ""));
    const struct dp_check check = {.state = state_of_run(measurements),
                                   .group = DP_CHECK_WHOLE,
                                   .name = "run",
                                   .kind = "verdict",
                                   .line = sentence,
                                   .detail = reason};
    checks->document = "run";
    checks->title = dp_checks_string(checks, sentence);
    checks->started = dp_checks_string(checks, dp_json_string(measurements, "started", ""));
    checks->host = dp_checks_string(checks, dp_json_string(measurements, "host_name", ""));
    dp_checks_add(checks, &check);
    free(sentence);
    free(reason);
}

/* Names of an array's objects: "OpenBLAS 0.3.21, libgomp 1.0.0", each once. */
static void add_names(const json_t *array, const char *fact, struct dp_checks *checks)
{
    struct dp_text names = DP_TEXT(MOST);
    json_t *seen = json_object();
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const char *version = dp_json_string(item, "version", "");
        char *name = dp_printf("%s%s%s", dp_json_string(item, "name", ""), version[0] ? " " : "", version);
        if (!json_object_get(seen, name)) {
            dp_words_join(&names, ", ", name);
            json_object_set_new(seen, name, json_true());
        }
        free(name);
    }
    dp_checks_fact(checks, fact, names.data);
    dp_text_free(&names);
    json_decref(seen);
}

static void add_facts(const json_t *report, struct dp_checks *checks)
{
    const json_t *body = json_object_get(report, "body");
    const json_t *environment = json_object_get(body, "environment"), *plan = json_object_get(body, "plan");
    dp_checks_fact(checks, "detprobe", dp_json_string(json_object_get(report, "tool"), "version", ""));
    dp_checks_fact(checks, "level", dp_json_string(plan, "level", ""));
    dp_checks_fact(checks, "seed", dp_json_string(plan, "seed", ""));
    dp_checks_fact(checks, "digest", dp_json_string(report, "digest", ""));
    dp_checks_fact(checks, "cpu", dp_json_string(json_object_get(environment, "host"), "cpu_model", ""));
    dp_checks_fact(checks, "stack", dp_json_string(json_object_get(environment, "stack"), "path", ""));
    char *strength = dp_report_strength(json_object_get(report, "measurements"));
    dp_checks_fact(checks, "strength", strength ? strength : "");
    free(strength);
    add_names(json_object_get(environment, "devices"), "devices", checks);
    add_names(json_object_get(environment, "libraries"), "libraries", checks);
}

void dp_checks_of_report(const json_t *report, struct dp_checks *checks)
{
    const json_t *body = json_object_get(report, "body");
    const json_t *measurements = json_object_get(report, "measurements");
    const json_t *results = json_object_get(body, "results"), *controls = json_object_get(body, "controls");
    const struct dp_sheet sheet = {.body = body,
                                   .measurements = measurements,
                                   .measured = dp_json_index(json_object_get(measurements, "cases"), "case")};
    add_run(report, checks);
    add_facts(report, checks);
    for (size_t i = 0; i < json_array_size(results); i++) {
        add_result(&sheet, report, json_array_get(results, i), checks);
    }
    for (size_t i = 0; i < json_array_size(controls); i++) {
        add_control(json_array_get(controls, i), checks);
    }
    json_decref(sheet.measured);
}
