/* SPDX-License-Identifier: Apache-2.0
 *
 * What a former report says that cases cost. A case's price is the time that its requests took there, times
 * what the catalogue's costs say of its requests now over what they say of those then: for the same plan it
 * is the time itself. What the report does not know is not here, and costs what the catalogue says.
 */
#include "suite/plan/costs.h"

#include <string.h>

#include "suite/base/json.h"
#include "suite/plan/scheme.h"

/* The scheme of the plan that the report describes. */
static int former_scheme(const json_t *plan, struct scheme *ret, struct dp_err *err)
{
    const json_int_t seeds = dp_json_int(plan, "seeds", -1), runs = dp_json_int(plan, "runs", -1);
    const json_int_t fresh = dp_json_int(plan, "fresh", -1);
    const json_t *axes = json_object_get(plan, "axes");
    if (seeds < 1 || seeds > DP_SEEDS_MAX || runs < 1 || runs > DP_RUNS_MAX || fresh < 0 ||
        fresh > DP_FRESH_MAX) {
        return dp_err_set(err, DP_EXIT_DATA, "no run had %lld seeds, %lld runs and %lld new processes",
                          (long long)seeds, (long long)runs, (long long)fresh);
    }
    const bool sequential =
        json_object_get(plan, "stages") != NULL; /* it began with few of the level's runs */
    const struct dp_plan_options options = {.level = dp_json_string(plan, "level", ""),
                                            .seeds = (int)seeds,
                                            .runs = sequential ? 0 : (int)runs,
                                            .adaptive = sequential,
                                            .fresh = (int)fresh};
    if (scheme_make(&options, ret, err) != 0) {
        err->code = DP_EXIT_DATA;
        return -1;
    }
    /* A number that is the level's own was cut where a case was too dear. */
    ret->seeds_given = ret->seeds != ret->level->seeds;
    ret->runs_given = ret->runs != ret->level->runs;
    const struct scheme usual = *ret;
    ret->axis_count = 0;
    for (const struct dp_axis *axis = dp_plan_axes(); axis->name; axis++) {
        if (dp_json_array_has(axes, axis->name)) {
            ret->asked[ret->axis_count] = !scheme_has_axis(&usual, axis);
            ret->moved[ret->axis_count] = axis->reveals && axis->product;
            ret->axes[ret->axis_count++] = axis;
        }
    }
    return 0;
}

static bool is_skipped_for_good(const json_t *result)
{
    static const char *const reasons[] = {"no_device", "library_missing", "not_built", "unsupported"};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (strcmp(dp_json_string(result, "reason", ""), reasons[i]) == 0) {
            return strcmp(dp_json_string(result, "observed", ""), "skipped") == 0;
        }
    }
    return false;
}

/* Reports of before `spent_seconds` know the runs alone: the rest of a request is then as always. */
static double spent_ns(const struct scheme *then, const struct dp_case *item, const json_t *measured)
{
    const double spent = dp_json_number(measured, "spent_seconds", -1.0);
    return spent >= 0.0 ? spent * 1e9
                        : dp_json_number(measured, "seconds", 0.0) * 1e9 + scheme_request_ns(then, item);
}

/* What the catalogue says of the runs that stages added to the first pass. */
static double stages_ns(const struct scheme *then, const struct dp_case *item, const json_t *measured)
{
    const struct share share = scheme_share(then, item);
    const json_t *tally = json_object_get(json_object_get(measured, "axes"), "repeat");
    const json_int_t requests = dp_json_int(tally, "seeds", 0) - share.seeds;
    const json_int_t runs =
        dp_json_int(tally, "runs", 0) - (json_int_t)share.seeds * scheme_first_runs(then, &share);
    return then->sequential && requests > 0 && runs > 0 ? (double)scheme_more_ns(then, item, runs, requests)
                                                        : 0.0;
}

/* -1: the report does not know. */
static json_int_t price(const struct scheme *now, const struct scheme *then, const struct dp_case *item,
                        const json_t *result, const json_t *measured, bool interrupted)
{
    const char *observed = dp_json_string(result, "observed", "untested");
    const double here = (double)scheme_case_ns(now, item);
    const double there = (double)scheme_case_ns(then, item) + stages_ns(then, item, measured);
    if (is_skipped_for_good(result)) {
        return 0;
    }
    if (!measured || strcmp(observed, "untested") == 0 || strcmp(observed, "skipped") == 0 || there <= 0.0) {
        return -1;
    }
    double ns = spent_ns(then, item, measured) * (here / there);
    if ((interrupted || strcmp(observed, "error") == 0) && ns < here) { /* only a part of it ran */
        ns = here;
    }
    return (json_int_t)(ns < DP_COST_MAX_NS ? ns : DP_COST_MAX_NS);
}

static json_t *make_costs(const struct dp_catalogue *catalogue, const struct scheme *now,
                          const struct scheme *then, const json_t *report)
{
    const json_t *body = json_object_get(report, "body"), *of = json_object_get(report, "measurements");
    const bool interrupted = json_is_true(json_object_get(of, "interrupted"));
    json_t *costs = json_object(), *results = dp_json_index(json_object_get(body, "results"), "case");
    json_t *controls = dp_json_index(json_object_get(body, "controls"), "name");
    json_t *cases = dp_json_index(json_object_get(of, "cases"), "case");
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        const json_t *result = json_object_get(results, item->id);
        const json_t *control = json_object_get(controls, item->id);
        const bool idle = strcmp(dp_json_string(control, "observed", ""), "skipped") == 0;
        const json_int_t ns =
            idle ? 0 : price(now, then, item, result, json_object_get(cases, item->id), interrupted);
        if (ns >= 0) {
            json_object_set_new(costs, item->id, json_integer(ns));
        }
    }
    json_decref(results);
    json_decref(controls);
    json_decref(cases);
    return costs;
}

json_t *dp_costs_of_report(const struct dp_catalogue *catalogue, const struct dp_plan_options *options,
                           const json_t *report, struct dp_err *err)
{
    const char *merged = dp_json_string(json_object_get(report, "measurements"), "report_of", NULL);
    struct scheme now, then;
    if (merged) {
        dp_err_set(err, DP_EXIT_DATA, "a %.80s has no costs, name one of them", merged);
        return NULL;
    }
    if (scheme_make(options, &now, err) != 0 ||
        former_scheme(json_object_get(json_object_get(report, "body"), "plan"), &then, err) != 0) {
        return NULL;
    }
    return make_costs(catalogue, &now, &then, report);
}
