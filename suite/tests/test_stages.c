/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequential plan: few runs first, then stages of what is in doubt, until a rate or a budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "suite/base/statistics.h"
#include "suite/tests/planning.h"

static struct dp_plan_options detect(double rate)
{
    struct dp_plan_options options = usual("quick");
    options.detect_rate = rate;
    options.confidence = 0.99;
    return options;
}

static struct dp_plan_options adaptive(int64_t seconds)
{
    struct dp_plan_options options = usual("quick");
    options.adaptive = true;
    options.budget_ns = seconds * 1000 * MS;
    return options;
}

/* All cases that run, but those named. Returns their number. */
static size_t doubtful(const struct dp_plan *plan, const char *settled, size_t ret[CASE_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < plan->case_count; i++) {
        const struct dp_case *item = plan->cases[i];
        if (!item->control && item->program->state == DP_PROGRAM_READY && !strstr(settled, item->id)) {
            ret[count++] = i;
        }
    }
    return count;
}

static bool next_stage(struct dp_plan *plan, const char *settled)
{
    size_t cases_left[CASE_MAX];
    return dp_plan_add_stage(plan, cases_left, doubtful(plan, settled, cases_left));
}

static int64_t comparisons(const struct dp_plan *plan, const char *id, int retest)
{
    const int wanted = index_of(plan, id);
    int64_t sum = 0;
    for (size_t i = 0; i < plan->request_count; i++) {
        const struct dp_request *r = &plan->requests[i];
        if (r->case_index == wanted && r->retest == retest && strcmp(r->axis, "repeat") == 0 &&
            strcmp(r->set, "wide") == 0) {
            sum += r->runs - 1;
        }
    }
    return sum;
}

static void test_first_pass(void **state)
{
    struct dp_plan_options options = usual("default"), sequential = options;
    sequential.detect_rate = 0.01;
    sequential.confidence = 0.95;
    struct dp_plan fixed = make(&options), plan = make(&sequential);
    check_given(given(&plan, "cpu/gemm/cheap", "repeat", "wide"), 8, 8, 3);
    check_given(given(&plan, "cpu/gemm/cheap", "repeat", "unit"), 1, 1, 3);
    check_given(given(&plan, "cpu/gemm/cheap", "poison", NULL), 4, 2, 2);
    check_given(given(&plan, "cpu/control/plant", "repeat", NULL), 1, 1, 100);
    check_given(given(&plan, "cpu/control/sum", "repeat", "wide"), 8, 8, 25);
    assert_int_equal(given(&plan, "cpu/gemm/cheap", "threads", NULL).runs,
                     given(&fixed, "cpu/gemm/cheap", "threads", NULL).runs);
    assert_int_equal(plan.runs, 3);
    assert_int_equal(plan.comparisons, 299);
    assert_int_equal(fixed.comparisons, 0);
    assert_false(next_stage(&fixed, ""));
    dp_plan_free(&fixed);
    dp_plan_free(&plan);
}

/* Every case in doubt ends with the comparisons that were asked for and hardly more, on inputs of its own. */
static void test_rate(void **state)
{
    const struct dp_plan_options options = detect(2e-3);
    struct dp_plan plan = make(&options);
    const struct dp_plan_most most = dp_plan_at_most(&plan);
    const size_t first = plan.request_count;
    int stages = 0;
    for (int64_t before = 0; next_stage(&plan, ""); before = comparisons(&plan, "cpu/reduce/a", 0)) {
        assert_true(before == 0 || comparisons(&plan, "cpu/reduce/a", 0) <= 4 * before + 3);
        stages++;
    }
    assert_int_equal(plan.stage, stages);
    assert_in_range(stages, 4, 6);
    for (size_t i = 0; i < plan.case_count; i++) {
        const int64_t got = comparisons(&plan, plan.cases[i]->id, 0);
        if (!plan.cases[i]->control && plan.cases[i]->program->state == DP_PROGRAM_READY) {
            assert_in_range(got, 2301, 2301 + 300);
        }
    }
    int64_t runs = 0;
    for (size_t i = first; i < plan.request_count; i++) {
        const struct dp_request *r = &plan.requests[i];
        runs += r->runs;
        assert_true(r->stage > 0 && r->seed_index >= plan.seeds);
        assert_true(r->runs <= 3 || r->runs * plan.cases[r->case_index]->cost_us <= 10e6);
        for (size_t k = first; k < i; k++) {
            assert_false(plan.requests[k].case_index == r->case_index &&
                         plan.requests[k].seed_index == r->seed_index);
        }
    }
    assert_true(most.runs >= runs && most.runs <= runs + 6 * 9);
    assert_int_equal(most.ns, plan.expected_ns);
    assert_true(most.least_runs > 2301 && most.least_runs < most.most_runs); /* the dear one: more inputs */
    dp_plan_free(&plan);
}

static void test_settled(void **state)
{
    const struct dp_plan_options options = detect(2e-3);
    struct dp_plan plan = make(&options), same = make(&options);
    const int64_t before = comparisons(&plan, "cpu/reduce/a", 0);
    while (next_stage(&plan, "cpu/reduce/a")) {
        assert_true(next_stage(&same, "cpu/reduce/a"));
    }
    assert_false(next_stage(&same, "cpu/reduce/a"));
    assert_int_equal(comparisons(&plan, "cpu/reduce/a", 0), before);
    assert_int_equal(plan.request_count, same.request_count);
    for (size_t i = 0; i < plan.request_count; i++) {
        assert_int_equal(plan.requests[i].runs, same.requests[i].runs);
        assert_int_equal(plan.requests[i].seed_index, same.requests[i].seed_index);
        assert_int_equal(plan.requests[i].case_index, same.requests[i].case_index);
    }
    assert_false(dp_plan_add_stage(&plan, NULL, 0));
    dp_plan_free(&plan);
    dp_plan_free(&same);
}

static void refused(const struct dp_plan_options *options, const char *words)
{
    struct dp_plan plan;
    struct dp_err err = {0};
    assert_int_equal(dp_plan_make(&catalogue, options, &plan, &err), -1);
    assert_int_equal(err.code, DP_EXIT_USAGE);
    if (!strstr(err.text, words)) {
        fail_msg("'%s' says nothing of '%s'", err.text, words);
    }
}

/* What is refused names a rate that is then taken. */
static void test_budget_too_small(void **state)
{
    struct dp_plan_options options = detect(1e-3);
    struct dp_plan plan;
    struct dp_err err = {0};
    options.exclude = (struct dp_strings){(const char *[]){"cpu/gemm/dear"}, 1};
    options.budget_ns = (int64_t)10 * 1000 * MS;
    assert_int_equal(dp_plan_make(&catalogue, &options, &plan, &err), -1);
    assert_int_equal(err.code, DP_EXIT_USAGE);
    const char *rate = strstr(err.text, "a rate of ");
    assert_non_null(rate);
    options.detect_rate = strtod(rate + strlen("a rate of "), NULL) * 1.05; /* two digits of it are told */
    assert_true(options.detect_rate > 1e-3 && options.detect_rate < 0.1);
    plan = make(&options);
    assert_true(dp_plan_at_most(&plan).ns <= options.budget_ns);
    assert_int_equal(plan.left_out_count, 0);
    dp_plan_free(&plan);
    options.budget_ns = MS;
    refused(&options, "holds no rate");
    options = detect(1e-12);
    refused(&options, "more than 1000000000 comparisons");
}

/* A budget is not passed, and goes to what is cheap for what it may show. */
static void test_adaptive(void **state)
{
    const struct dp_plan_options options = adaptive(20);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const bool promised = strcmp(rows[i].id, "cpu/reduce/a") == 0;
        json_object_set_new(cases[i].json, "guarantee",
                            json_pack("{ss}", "level", promised ? "run_to_run" : "not_guaranteed"));
        cases[i].cost_us = promised ? 30 : cases[i].cost_us; /* as much as its neighbour's */
    }
    struct dp_plan plan = make(&options);
    const int64_t first_ns = plan.expected_ns;
    const size_t first_count = plan.request_count;
    assert_true(next_stage(&plan, ""));
    assert_true(plan.expected_ns - first_ns <= (options.budget_ns - first_ns) / 2);
    const size_t of_first = plan.request_count - first_count;
    while (next_stage(&plan, "")) {
        assert_true(plan.expected_ns <= options.budget_ns);
    }
    assert_true(plan.request_count > first_count + of_first);
    assert_true(comparisons(&plan, "cpu/gemm/cheap", 0) > comparisons(&plan, "cpu/gemm/middle", 0));
    const int64_t all = comparisons(&plan, "cpu/gemm/middle", 0);
    struct dp_plan other = make(&options);
    while (next_stage(&other, "cpu/gemm/cheap cpu/reduce/a cpu/reduce/b python/sum/unknown")) {
    }
    assert_true(comparisons(&other, "cpu/gemm/middle", 0) >= all); /* what others do not need */
    assert_true(other.expected_ns <= options.budget_ns);
    dp_plan_free(&plan);
    dp_plan_free(&other);
    int more = 0;
    for (int seconds = 2; seconds < 40; seconds++) { /* of two that cost the same, the one promised nothing */
        const struct dp_plan_options each = adaptive(seconds);
        plan = make(&each);
        while (next_stage(&plan, "")) {
        }
        const int64_t promised = comparisons(&plan, "cpu/reduce/a", 0);
        assert_true(comparisons(&plan, "cpu/reduce/b", 0) >= promised);
        more += comparisons(&plan, "cpu/reduce/b", 0) > promised;
        dp_plan_free(&plan);
    }
    assert_true(more > 0);
}

static void test_retest(void **state)
{
    const struct dp_plan_options options = detect(2e-3);
    struct dp_plan plan = make(&options);
    assert_true(next_stage(&plan, ""));
    const size_t suspect = (size_t)index_of(&plan, "cpu/reduce/b");
    dp_plan_add_retest(&plan, &suspect, 1, 1);
    assert_in_range(comparisons(&plan, "cpu/reduce/b", 1), 2301, 2310);
    assert_int_equal(comparisons(&plan, "cpu/reduce/a", 1), 0);
    dp_plan_free(&plan);
    const struct dp_plan_options budget = adaptive(20);
    plan = make(&budget);
    dp_plan_add_retest(&plan, &suspect, 1, 1);
    assert_int_equal(comparisons(&plan, "cpu/reduce/b", 1), comparisons(&plan, "cpu/reduce/b", 0));
    dp_plan_free(&plan);
}

static void test_words(void **state)
{
    struct dp_plan_options options = detect(2e-3);
    struct dp_plan plan = make(&options);
    json_t *described = dp_plan_describe(&plan), *stages = json_object_get(described, "stages");
    assert_string_equal(dp_json_string(stages, "until", ""), "rate");
    assert_string_equal(dp_json_string(stages, "rate", ""), "0.002");
    assert_string_equal(dp_json_string(stages, "confidence", ""), "0.99");
    assert_int_equal(dp_json_int(stages, "comparisons", 0), 2301);
    json_decref(described);
    dp_plan_free(&plan);
    options = adaptive(20);
    plan = make(&options);
    described = dp_plan_describe(&plan);
    stages = json_object_get(described, "stages");
    assert_string_equal(dp_json_string(stages, "until", ""), "budget");
    assert_int_equal(json_object_size(stages), 1);
    json_decref(described);
    dp_plan_free(&plan);
    options = usual("quick");
    plan = make(&options);
    described = dp_plan_describe(&plan);
    assert_null(json_object_get(described, "stages"));
    json_decref(described);
    dp_plan_free(&plan);
}

/* What a run log of another hand may hold. */
static void test_options(void **state)
{
    static const struct {
        const char *member, *value;
    } bad[] = {
        {"detect_rate", "1.0"}, {"detect_rate", "-0.5"},     {"detect_rate", "\"0.1\""}, {"confidence", "0"},
        {"adaptive", "true"},   {"retest_varies", "\"no\""}, {"adaptive", "null"},       {"confidence", "1"},
    };
    struct dp_plan_options options = detect(2e-3), back;
    struct dp_err err;
    options.retest_varies = true;
    json_t *object = dp_plan_options_to_json(&options);
    assert_int_equal(dp_plan_options_from_json(object, &back, &err), 0);
    assert_true(back.detect_rate == 2e-3 && back.confidence == 0.99 && back.retest_varies && !back.adaptive);
    free(back.axes.items);
    free(back.include.items);
    free(back.exclude.items);
    for (size_t i = 0; i < COUNT(bad); i++) {
        json_t *edited = json_deep_copy(object);
        json_object_set_new(edited, bad[i].member, json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        if (dp_plan_options_from_json(edited, &back, &err) == 0) {
            fail_msg("'%s' was taken as %s", bad[i].member, bad[i].value);
        }
        assert_int_equal(err.code, DP_EXIT_DATA);
        json_decref(edited);
    }
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_pass), cmocka_unit_test(test_rate),
        cmocka_unit_test(test_settled),    cmocka_unit_test(test_budget_too_small),
        cmocka_unit_test(test_retest),     cmocka_unit_test(test_words),
        cmocka_unit_test(test_options),    cmocka_unit_test(test_adaptive),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
