/* SPDX-License-Identifier: Apache-2.0
 *
 * The costs of a former report: what is read of it, how it is scaled, and which cases a budget then takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suite/plan/costs.h"
#include "suite/tests/planning.h"

/* What a former run saw of a case; `members` of its measurement, "": it has none. */
struct former {
    const char *id, *observed, *reason, *members;
};

static const struct former former_rows[] = {
    {"cpu/gemm/cheap", "repeats", "", "\"spent_seconds\":0.5"},
    {"cpu/gemm/dear", "varies", "", "\"spent_seconds\":0.25"},
    {"cpu/gemm/middle", "repeats", "", "\"spent_seconds\":4.0"},
    {"cpu/reduce/a", "skipped", "library_missing", "\"spent_seconds\":0.01"},
    {"cpu/reduce/b", "skipped", "memory", "\"spent_seconds\":0.01"},
};

/* The report of a run with these options, as far as its costs are read. Owned. */
static json_t *former_report(const struct dp_plan_options *options, const struct former *saw, size_t count)
{
    struct dp_plan plan = make(options);
    json_t *results = json_array(), *measured = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(results, json_pack("{ss ss ss}", "case", saw[i].id, "observed", saw[i].observed,
                                                 "reason", saw[i].reason));
        char *text = dp_printf("{\"case\":\"%s\",\"seconds\":0.1%s%s}", saw[i].id, *saw[i].members ? "," : "",
                               saw[i].members);
        json_array_append_new(measured, json_loads(text, 0, NULL));
        free(text);
    }
    json_t *report = json_pack("{s{so so s[{ssss}]} s{so sb}}", "body", "plan", dp_plan_describe(&plan),
                               "results", results, "controls", "name", "cpu/control/plant", "observed",
                               "skipped", "measurements", "cases", measured, "interrupted", 0);
    dp_plan_free(&plan);
    return report;
}

static json_t *costs_of(const struct dp_plan_options *options, const json_t *report)
{
    struct dp_err err = {0};
    json_t *costs = dp_costs_of_report(&catalogue, options, report, &err);
    if (!costs) {
        fail_msg("%s", err.text);
    }
    return costs;
}

/* The cost of a case in a run with `now`, by one that a run with `then` saw so. */
static json_int_t scaled(const struct dp_plan_options *now, const struct dp_plan_options *then,
                         struct former saw, bool interrupted)
{
    json_t *report = former_report(then, &saw, 1);
    json_object_set_new(json_object_get(report, "measurements"), "interrupted", json_boolean(interrupted));
    json_t *costs = costs_of(now, report);
    const json_int_t ns = dp_json_int(costs, saw.id, -1);
    json_decref(costs);
    json_decref(report);
    return ns;
}

static void test_costs(void **state)
{
    const struct dp_plan_options options = usual("quick");
    json_t *report = former_report(&options, former_rows, COUNT(former_rows));
    json_t *costs = costs_of(&options, report);
    json_t *golden =
        json_loads("{\"cpu/control/plant\":0,\"cpu/gemm/cheap\":500000000,\"cpu/gemm/dear\":250000000,"
                   "\"cpu/gemm/middle\":4000000000,\"cpu/reduce/a\":0}",
                   0, NULL);
    assert_true(json_equal(costs, golden));
    json_decref(golden);
    json_decref(costs);
    json_decref(report);

    /* Twice the runs: more, but not twice as much, and back again. */
    struct dp_plan_options twice = options;
    twice.runs = 16;
    struct former saw = {"cpu/reduce/a", "repeats", "", "\"spent_seconds\":1.0"};
    const json_int_t more = scaled(&twice, &options, saw, false);
    assert_true(more > 1000 * MS && more < 2000 * (json_int_t)MS);
    char *members = dp_printf("\"spent_seconds\":%.9f", (double)more * 1e-9);
    saw.members = members;
    assert_in_range(scaled(&options, &twice, saw, false), 1000 * MS - 2, 1000 * MS + 2);
    free(members);

    /* An old report: what its runs took, and the requests as the catalogue has them. */
    struct dp_plan plan = make(&options);
    saw.members = "";
    assert_int_equal(scaled(&options, &options, saw, false),
                     100 * MS + MS * (json_int_t)given(&plan, saw.id, NULL, NULL).requests);
    dp_plan_free(&plan);

    /* What ran in part alone costs no less than the catalogue says; what did not run is not known. */
    saw.members = "\"spent_seconds\":0.000001";
    assert_int_equal(scaled(&options, &options, saw, false), 1000);
    assert_true(scaled(&options, &options, saw, true) > 10 * MS);
    saw.observed = "error";
    assert_true(scaled(&options, &options, saw, false) > 10 * MS);
    saw.observed = "untested";
    assert_int_equal(scaled(&options, &options, saw, false), -1);
}

static void test_costs_of_no_run(void **state)
{
    const struct dp_plan_options options = usual("quick");
    static const struct {
        const char *part, *member, *value, *text;
    } bad[] = {
        {"plan", "seeds", "0", "0 seeds"},
        {"plan", "runs", "9007199254740991", "runs"},
        {"plan", "fresh", "1001", "new processes"},
        {"plan", "level", "\"x\"", "'x'"},
        {"measurements", "report_of", "\"baseline of 2 reports\"", "baseline of 2 reports"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        json_t *report = former_report(&options, former_rows, 1);
        json_t *plan = json_object_get(json_object_get(report, "body"), bad[i].part);
        json_object_set_new(plan ? plan : json_object_get(report, bad[i].part), bad[i].member,
                            json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        struct dp_err err = {0};
        assert_null(dp_costs_of_report(&catalogue, &options, report, &err));
        assert_int_equal(err.code, DP_EXIT_DATA);
        assert_non_null(strstr(err.text, bad[i].text));
        json_decref(report);
    }
}

/* Which cases stay in: not the same as by the catalogue, which thinks `dear` dear. */
static void test_budget_with_costs(void **state)
{
    static const struct {
        int64_t budget_ms;
        bool costs;
        const char *left_out;
    } golden[] = {
        {1500, false, " cpu/gemm/dear"},
        {1500, true, " cpu/gemm/middle"},
        {700, true, " cpu/gemm/cheap cpu/gemm/middle"},
        {300, true, " cpu/gemm/cheap cpu/gemm/dear cpu/gemm/middle"},
        {6000, true, ""},
    };
    const char *python[] = {"@python"}, *idle[] = {"cpu/reduce/a"};
    struct dp_plan_options options = usual("quick");
    options.exclude = (struct dp_strings){python, 1};
    json_t *report = former_report(&options, former_rows, COUNT(former_rows));
    json_t *costs = costs_of(&options, report);
    for (size_t i = 0; i < COUNT(golden); i++) {
        struct dp_text left_out = DP_TEXT(1000);
        options.budget_ns = golden[i].budget_ms * MS;
        options.costs = golden[i].costs ? costs : NULL;
        struct dp_plan plan = make(&options);
        for (size_t k = 0; k < plan.left_out_count; k++) {
            dp_text_printf(&left_out, " %s", plan.left_out[k].case_id);
        }
        assert_string_equal(left_out.data ? left_out.data : "", golden[i].left_out);
        assert_true(plan.expected_ns <= options.budget_ns);
        dp_text_free(&left_out);
        dp_plan_free(&plan);
    }
    /* A price cuts neither seeds nor runs; what is skipped costs one start of its program. */
    options.budget_ns = 0;
    options.include = (struct dp_strings){idle, 1};
    for (int with = 0; with < 2; with++) {
        options.costs = with ? costs : NULL;
        struct dp_plan plan = make(&options);
        check_given(given(&plan, "cpu/reduce/a", "repeat", "wide"), 3, 3, 8);
        assert_true(with ? plan.expected_ns < 150 * MS : plan.expected_ns > 200 * MS);
        dp_plan_free(&plan);
    }
    json_decref(costs);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_costs_of_no_run),
        cmocka_unit_test(test_budget_with_costs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
