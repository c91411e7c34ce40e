/* SPDX-License-Identifier: Apache-2.0
 *
 * What a baseline knows: the comparison that reports/diff makes, by case; and whether the two may be
 * compared.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/gate/baseline.h"
#include "reports/gate/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

static const json_t *body_of(const struct dp_diff_side *side)
{
    return json_object_get(side->report, "body");
}

/* --- the same class of devices --- */

/* What computes for a backend, in words: bits of another kind say nothing. Owned. */
static char *class_of(const struct dp_diff_side *side, const char *backend)
{
    const json_t *environment = json_object_get(body_of(side), "environment");
    if (strcmp(backend, "cuda") != 0) {
        const json_t *host = json_object_get(environment, "host");
        return dp_printf("%s, %s", dp_json_string(host, "cpu_model", "unknown processor"),
                         dp_json_string(host, "arch", ""));
    }
    const json_t *device = json_array_get(json_object_get(environment, "devices"), 0);
    return dp_strdup(dp_json_string(device, "name", "unknown device"));
}

/* By the backends that both have verdicts of. */
char *dp_other_class(const struct dp_diff_side *first, const struct dp_diff_side *second)
{
    static const char *const backends[] = {"cpu", "python", "cuda"};
    char *words = NULL;
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]) && !words; i++) {
        if (!dp_backend_ran(json_object_get(body_of(first), "results"), backends[i]) ||
            !dp_backend_ran(json_object_get(body_of(second), "results"), backends[i])) {
            continue;
        }
        char *was = class_of(first, backends[i]), *is = class_of(second, backends[i]);
        words = strcmp(was, is) != 0 ? dp_printf("%.100s, not %.100s", was, is) : NULL;
        free(was);
        free(is);
    }
    return words;
}

/* A baseline that knows none of the cases would let all of them pass. */
static int check_common(const struct dp_gate_input *input, struct dp_err *err)
{
    const json_t *sides[2] = {json_object_get(body_of(&input->baseline), "results"),
                              json_object_get(body_of(&input->report), "results")};
    json_t *ids = json_object();
    bool common = false;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < json_array_size(sides[side]) && !common; i++) {
            const char *id = dp_json_string(json_array_get(sides[side], i), "case", "");
            common = side == 1 && json_object_get(ids, id);
            json_object_set_new(ids, id, json_true());
        }
    }
    json_decref(ids);
    return common ? 0
                  : dp_err_set(err, DP_EXIT_DATA, "'%.200s' and baseline '%.200s' have no case in common",
                               input->report.name, input->baseline.name);
}

int dp_gate_comparable(const struct dp_gate_input *input, struct dp_err *err)
{
    const struct dp_diff_side sides[2] = {input->baseline, input->report};
    if (!input->baseline.report) {
        return 0;
    }
    if (dp_diff_comparable(sides, err) != 0 || check_common(input, err) != 0) {
        return -1;
    }
    char *other = input->any_device ? NULL : dp_other_class(&input->baseline, &input->report);
    if (other) {
        dp_err_set(err, DP_EXIT_DATA,
                   "baseline '%.150s' is of another class of devices (%s), make one here or say --any-device",
                   input->baseline.name, other);
        free(other);
        return -1;
    }
    return 0;
}

int dp_gate_prepare(const struct dp_gate_input *input, struct dp_err *err)
{
    struct dp_rules rules;
    dp_rules_read(input, &rules);
    const enum dp_rule needing = dp_rules_need_baseline(&rules);
    if (!input->baseline.report && (needing < DP_RULE_MAX || rules.new_only)) {
        return dp_err_set(err, DP_EXIT_USAGE, "'%s' needs a baseline to tell it by, name one with --baseline",
                          input->fail_on ? input->fail_on : dp_rule_name(needing));
    }
    char *invalid = input->baseline.report ? dp_report_invalid(input->baseline.report) : NULL;
    if (invalid) {
        dp_err_set(err, DP_EXIT_DATA, "baseline '%.200s' has no valid verdict: %.300s", input->baseline.name,
                   invalid);
        free(invalid);
        return -1;
    }
    return 0;
}

/* --- by case --- */

static void index_changes(const struct dp_known *known)
{
    size_t i, k;
    json_t *entry, *name;
    json_array_foreach(json_object_get(known->diff, "changes"), i, entry)
    {
        dp_json_group(known->changes, dp_json_string(entry, "case", ""), json_incref(entry));
    }
    json_array_foreach(json_object_get(known->diff, "causes"), i, entry)
    {
        json_array_foreach(json_object_get(entry, "cases"), k, name)
        {
            json_object_set(known->causes, json_string_value(name), json_object_get(entry, "cause"));
        }
    }
}

int dp_known_make(const struct dp_gate_input *input, struct dp_known *ret, struct dp_err *err)
{
    const json_t *body = body_of(&input->baseline);
    const json_t *measurements = json_object_get(input->baseline.report, "measurements");
    *ret = (struct dp_known){.input = input,
                             .results = dp_json_index(json_object_get(body, "results"), "case"),
                             .measured = dp_json_index(json_object_get(measurements, "cases"), "case"),
                             .changes = json_object(),
                             .causes = json_object(),
                             .disagreed = json_object()};
    if (!input->baseline.report) {
        return 0;
    }
    const struct dp_diff_side sides[2] = {input->baseline, input->report};
    ret->diff = dp_diff_make(sides, err);
    if (!ret->diff) {
        return -1;
    }
    if (!dp_diff_compares(ret->diff)) {
        return dp_err_set(
            err, DP_EXIT_DATA,
            "'%.150s' and baseline '%.150s' have no case that can be compared: %s, make one anew",
            input->report.name, input->baseline.name,
            dp_json_string(json_array_get(json_object_get(ret->diff, "not_compared"), 0), "reason", ""));
    }
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(json_object_get(body, "plan"), "left_out"), i, entry)
    {
        /* what has a result was not left out, whatever the plan says */
        const char *id = dp_json_string(entry, "case", "");
        if (strcmp(dp_json_string(entry, "reason", ""), DP_LEFT_OUT_BUDGET) != 0 &&
            !json_object_get(ret->results, id)) {
            json_object_set(ret->disagreed, id, entry);
        }
    }
    index_changes(ret);
    return 0;
}

void dp_known_free(struct dp_known *known)
{
    json_t *const owned[] = {known->diff,    known->results, known->measured,
                             known->changes, known->causes,  known->disagreed};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        json_decref(owned[i]);
    }
}
