/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between a report and a verdict: a run that is not valid, too little that was measured. The
 * first kind outweighs what was found, as it does in the exit code of a run; the other only keeps a gate from
 * passing.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/gate/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

struct problems {
    const struct dp_gate_input *input;
    const json_t *body, *results, *measurements;
    json_t *rows;
    bool hard;
};

static void add(struct problems *p, bool hard, const char *kind, char *line_owned)
{
    json_array_append_new(p->rows, dp_gate_line(kind, line_owned));
    p->hard = p->hard || hard;
}

static size_t count_of(const struct problems *p, const char *observed)
{
    const json_t *counts = json_object_get(json_object_get(p->body, "summary"), "counts");
    return (size_t)dp_json_int(counts, observed, 0);
}

static size_t checked(const struct problems *p)
{
    return count_of(p, "repeats") + count_of(p, "varies") + count_of(p, "wrong");
}

static json_int_t exit_code(const struct problems *p)
{
    return dp_json_int(json_object_get(p->measurements, "exit"), "code", 0);
}

/* --- a run that is not valid --- */

static const json_t *misbehaved_control(const json_t *report)
{
    const json_t *controls = json_object_get(json_object_get(report, "body"), "controls");
    for (size_t i = 0; i < json_array_size(controls); i++) {
        if (dp_control_misbehaved(json_array_get(controls, i))) {
            return json_array_get(controls, i);
        }
    }
    return NULL;
}

static char *control_line(const json_t *control)
{
    char *name = dp_gate_shown(dp_json_string(control, "name", ""));
    char *reason = dp_gate_shown(dp_json_string(control, "reason", ""));
    char *line = dp_printf("control '%s' misbehaved: %s", name, reason);
    free(name);
    free(reason);
    return line;
}

char *dp_report_invalid(const json_t *report)
{
    const json_t *control = misbehaved_control(report);
    if (control) {
        return control_line(control);
    }
    return json_is_true(json_object_get(json_object_get(report, "measurements"), "interrupted"))
               ? dp_strdup("the run was interrupted")
               : NULL;
}

static void check_validity(struct problems *p)
{
    const json_t *report = p->input->report.report, *control = misbehaved_control(report);
    if (control) {
        add(p, true, "control", control_line(control));
    }
    if (json_is_true(json_object_get(p->measurements, "interrupted"))) {
        add(p, true, "interrupted", dp_strdup("the run was interrupted"));
    }
    for (size_t i = 0; i < json_array_size(p->results); i++) {
        const json_t *result = json_array_get(p->results, i);
        if (dp_result_is(result, "error") && strcmp(dp_json_string(result, "reason", ""), "stack") == 0) {
            add(p, true, "stack", dp_strdup("a program did not use the stack"));
            break;
        }
    }
}

static void check_required(struct problems *p)
{
    const json_t *required = json_object_get(p->input->policy, "require");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *backend = json_string_value(json_array_get(required, i));
        if (!dp_backend_ran(p->results, backend)) {
            add(p, true, "required_absent", dp_printf("no case of the required backend '%s' ran", backend));
        }
    }
}

/* --- too little that was measured --- */

static void check_errors(struct problems *p, const struct dp_rules *rules)
{
    const size_t errors = count_of(p, "error");
    if (errors > 0 && !rules->fails[DP_RULE_ERROR]) {
        add(p, false, "error",
            dp_printf("%zu %s ended in an error", errors, errors == 1 ? "operation" : "operations"));
    }
    const json_t *controls = json_object_get(p->body, "controls");
    for (size_t i = 0; exit_code(p) == DP_EXIT_NO_VERDICT && i < json_array_size(controls); i++) {
        const json_t *control = json_array_get(controls, i);
        if (dp_control_insensitive(control)) {
            char *name = dp_gate_shown(dp_json_string(control, "name", ""));
            add(p, false, "insensitive",
                dp_printf("control '%s' could not vary here, so what repeats says nothing", name));
            free(name);
            return;
        }
    }
}

static void check_level(struct problems *p)
{
    const json_t *levels = json_object_get(p->input->policy, "levels");
    const char *level = dp_json_string(json_object_get(p->body, "plan"), "level", "");
    if (levels && !dp_json_array_has(levels, level)) {
        add(p, false, "level", dp_printf("level %s is not one that the policy takes", level));
    }
}

/* Runs at the base setting, by id. */
static json_int_t runs_of(const json_t *measured)
{
    return dp_json_int(json_object_get(json_object_get(measured, "axes"), "repeat"), "runs", 0);
}

static void check_runs(struct problems *p)
{
    const json_int_t minimum = dp_json_int(p->input->policy, "minimum_runs", 0);
    const json_t *cases = json_object_get(p->measurements, "cases");
    json_t *runs = json_object();
    size_t few = 0;
    for (size_t i = 0; minimum > 0 && i < json_array_size(cases); i++) {
        const json_t *measured = json_array_get(cases, i);
        json_object_set_new(runs, dp_json_string(measured, "case", ""), json_integer(runs_of(measured)));
    }
    const char *first = "";
    json_int_t first_runs = 0;
    for (size_t i = 0; minimum > 0 && i < json_array_size(p->results); i++) {
        const json_t *result = json_array_get(p->results, i);
        const char *id = dp_json_string(result, "case", "");
        const json_int_t had = dp_json_int(runs, id, 0);
        if (dp_result_ran(result) && had < minimum && few++ == 0) {
            first = id;
            first_runs = had;
        }
    }
    if (few > 0) {
        add(p, false, "too_few_runs",
            dp_printf("%zu %s had fewer than %lld runs ('%s' had %lld)", few, few == 1 ? "case" : "cases",
                      (long long)minimum, first, (long long)first_runs));
    }
    json_decref(runs);
}

/* What was left out for want of time was not measured either. */
static void check_amounts(struct problems *p)
{
    const json_t *policy = p->input->policy;
    const size_t left_out = json_array_size(json_object_get(json_object_get(p->body, "plan"), "left_out"));
    const size_t skipped = count_of(p, "skipped") + count_of(p, "untested") + left_out;
    const size_t all = json_array_size(p->results) + left_out;
    const json_int_t minimum = dp_json_int(policy, "minimum_cases", 0);
    const double share = dp_json_number(policy, "maximum_skipped_share", 1);
    if (checked(p) == 0) {
        add(p, false, "nothing_ran", dp_strdup("no case gave a verdict"));
    }
    if (checked(p) < (size_t)minimum) {
        add(p, false, "too_few_cases",
            dp_printf("%zu %s a verdict, the policy asks for %lld", checked(p),
                      checked(p) == 1 ? "case gave" : "cases gave", (long long)minimum));
    }
    if (json_object_get(policy, "maximum_skipped") &&
        skipped > (size_t)dp_json_int(policy, "maximum_skipped", 0)) {
        add(p, false, "too_many_skipped",
            dp_printf("%zu %s not tested, the policy takes %lld", skipped,
                      skipped == 1 ? "case was" : "cases were",
                      (long long)dp_json_int(policy, "maximum_skipped", 0)));
    }
    /* 29 of 100 are a share of 0.29, whatever binary fractions make of it */
    if ((double)skipped > share * (double)all + 1e-9 * (double)all) {
        add(p, false, "too_many_skipped",
            dp_printf("%zu of %zu cases were not tested, the policy takes a share of %g", skipped, all,
                      share));
    }
}

/* A run that says itself that it has no verdict is never taken for one that has. Where what it lacks is seen
 * in its results, what was found counts nevertheless. */
static void check_exit(struct problems *p)
{
    const json_int_t code = exit_code(p);
    if (code == DP_EXIT_OK || code == DP_EXIT_FINDINGS || json_array_size(p->rows) > 0) {
        return;
    }
    const json_t *end = json_object_get(p->measurements, "exit");
    char *reason = dp_gate_shown(dp_json_string(end, "reason", "no reason given"));
    add(p, count_of(p, "error") + count_of(p, "untested") == 0, "report",
        dp_printf("the run ended with %lld, no valid verdict: %s", (long long)code, reason));
    free(reason);
}

json_t *dp_gate_problems(const struct dp_gate_input *input, bool *ret_hard)
{
    const json_t *report = input->report.report, *body = json_object_get(report, "body");
    struct problems p = {.input = input,
                         .body = body,
                         .results = json_object_get(body, "results"),
                         .measurements = json_object_get(report, "measurements"),
                         .rows = json_array()};
    struct dp_rules rules;
    dp_rules_read(input, &rules);
    check_validity(&p);
    check_required(&p);
    check_errors(&p, &rules);
    check_level(&p);
    check_amounts(&p);
    check_runs(&p);
    check_exit(&p);
    *ret_hard = p.hard;
    return p.rows;
}
