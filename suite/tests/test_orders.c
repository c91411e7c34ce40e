/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of additions in a run: of which cases and at which settings they are asked, what becomes of the
 * answers in the result and in the measurements, and that an order which changes is a finding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "suite/judge/facts.h"
#include "suite/plan/levels.h"
#include "suite/tests/lab.h"
#include "suite/tests/planning.h"

#define ID "cpu/sums/x"
#define MEMBERS "'arithmetic': 'direct', 'reveals': 'spread exponents'"
#define IN_ORDER "[3, 3, 4, 4]"
#define IN_REVERSE "[4, 3, 3, 4]"
#define TIMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- the plan --- */

/* Of the cases of planning.h: cheap, dear, one that does not say what it reveals and one that rounds
 * otherwise. */
static int setup_orders(void **state)
{
    setup(state);
    for (size_t i = 0; i < catalogue.case_count; i++) {
        if (strcmp(cases[i].id, "cpu/reduce/a") != 0 && !cases[i].control) {
            json_object_set_new(cases[i].json, "reveals", json_string("spread exponents"));
        }
        if (strcmp(cases[i].id, "cpu/reduce/b") == 0) {
            json_object_set_new(cases[i].json, "arithmetic", json_string("transform"));
        }
    }
    return 0;
}

static bool has_axis(const struct dp_plan *plan, const char *axis)
{
    for (size_t i = 0; i < plan->axis_count; i++) {
        if (strcmp(plan->axes[i], axis) == 0) {
            return true;
        }
    }
    return false;
}

static struct dp_plan make_of(const char *level, const char *const *axes)
{
    struct dp_plan_options options = usual(level);
    for (; axes && axes[options.axes.count];) {
        options.axes.count++;
    }
    options.axes.items = (const char **)(uintptr_t)axes;
    return make(&options);
}

static void what_a_level_reveals(void **state)
{
    static const struct {
        const char *level, *id;
        size_t requests;
        int runs;
    } asked[] = {
        {"quick", "cpu/gemm/cheap", 0, 0},     {"default", "cpu/gemm/cheap", 1, 10000},
        {"deep", "cpu/gemm/cheap", 1, 500000}, {"default", "cpu/gemm/middle", 0, 0},
        {"deep", "cpu/gemm/middle", 1, 1666},  {"deep", "cpu/gemm/dear", 0, 0},
        {"default", "cpu/reduce/a", 0, 0},     {"default", "cpu/reduce/b", 0, 0},
        {"default", "cpu/control/sum", 0, 0},
    };
    for (size_t i = 0; i < COUNT(asked); i++) {
        struct dp_plan plan = make_of(asked[i].level, NULL);
        const struct given g = given(&plan, asked[i].id, "order", NULL);
        check_given(g, asked[i].requests, asked[i].requests ? 1 : 0, asked[i].runs);
        check_given(given(&plan, asked[i].id, "threads*order", NULL), 0, 0, 0); /* once bits have moved */
        assert_int_equal(has_axis(&plan, "threads*order"), strcmp(asked[i].level, "quick") != 0);
        assert_int_equal(has_axis(&plan, "algorithm*order"), strcmp(asked[i].level, "deep") == 0);
        dp_plan_free(&plan);
    }
}

/* By name: of all whose arithmetic is direct, whatever it costs, at every setting. */
static void what_is_asked_by_name(void **state)
{
    struct dp_plan plan = make_of("quick", TIMES("order"));
    check_given(given(&plan, "cpu/gemm/dear", "order", "unit"), 1, 1, DP_ORDER_RUNS_MAX);
    check_given(given(&plan, "cpu/reduce/a", "order", NULL), 1, 1, DP_ORDER_RUNS_MAX);
    check_given(given(&plan, "cpu/reduce/b", "order", NULL), 0, 0, 0);
    assert_false(has_axis(&plan, "threads*order"));
    dp_plan_free(&plan);
    plan = make_of("quick", TIMES("threads*order"));
    check_given(given(&plan, "cpu/gemm/cheap", "threads*order", NULL), 3, 1, DP_ORDER_RUNS_MAX);
    assert_false(has_axis(&plan, "order"));
    dp_plan_free(&plan);
    plan = make_of("quick", TIMES("order", "batch*order"));
    check_given(given(&plan, "cpu/gemm/cheap", "batch*order", NULL), 2, 1, DP_ORDER_RUNS_MAX);
    check_given(given(&plan, "cpu/gemm/dear", "batch*order", NULL), 0, 0,
                0); /* it names no batch parameter */
    dp_plan_free(&plan);
    plan = make_of("quick", TIMES("order", "threads"));
    check_given(given(&plan, "cpu/gemm/cheap", "threads*order", NULL), 0, 0, 0);
    assert_true(has_axis(&plan, "threads*order"));
    dp_plan_free(&plan);
}

/* What it may take does not take from the runs that decide. */
static void orders_cut_nothing(void **state)
{
    struct dp_plan with = make_of("default", NULL), without = make_of("default", TIMES("fresh", "threads"));
    const struct given a = given(&with, "cpu/gemm/middle", "repeat", "wide");
    assert_true(a.requests > 0);
    assert_true(with.expected_ns > without.expected_ns);
    dp_plan_free(&with);
    dp_plan_free(&without);
}

static void where_bits_moved(void **state)
{
    struct dp_plan plan = make_of("default", NULL);
    const size_t count = plan.request_count;
    size_t moved[8], places = 0;
    static const char *const wanted[] = {"threads", "poison", "batch"};
    for (size_t w = 0; w < COUNT(wanted); w++) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(plan.cases[plan.requests[i].case_index]->id, "cpu/gemm/cheap") == 0 &&
                strcmp(plan.requests[i].axis, wanted[w]) == 0) {
                moved[places++] = i;
                break;
            }
        }
    }
    assert_int_equal(places, COUNT(wanted));
    dp_plan_add_orders(&plan, moved, places);
    assert_int_equal(plan.request_count, count + 2); /* no order is revealed along poison */
    const struct dp_request *threads = &plan.requests[count], *batch = &plan.requests[count + 1];
    assert_string_equal(threads->axis, "threads*order");
    assert_string_equal(threads->setting, "1*512");
    assert_int_equal(threads->runs, 10000);
    assert_string_equal(batch->axis, "batch*order");
    assert_string_equal(batch->setting, "1/0*512");
    dp_plan_free(&plan);
    plan = make_of("quick", NULL);
    const size_t quick = plan.request_count;
    dp_plan_add_orders(&plan, moved, 1);
    assert_int_equal(plan.request_count, quick);
    dp_plan_free(&plan);
}

/* --- the verdict --- */

static json_t *order_of(const char *kind, const char *parents, int changed)
{
    json_t *view = json_pack("{ss si si ss si si}", "of", "all", "summands", 3, "step", 1, "kind", kind,
                             "twice", 10, "changed", changed);
    if (parents) {
        json_object_set_new(view, "parents", json_loads(parents, 0, NULL));
    }
    return json_pack("{ss ss ss ss si s[i] s[o]}", "type", "order", "output", "c", "operand", "a", "dtype",
                     "f32", "summands", 3, "cell", 0, "views", view);
}

static const json_t *orders_of(const struct lab *lab)
{
    return json_object_get(lab_find(lab->judged.measurements, "case", ID), "orders");
}

static bool names(const json_t *result, const char *member, const char *axis)
{
    return dp_json_array_has(json_object_get(result, member), axis);
}

/* A case with the order at the base setting, judged. */
static struct lab *judged(const char *members, json_t *order)
{
    struct lab *lab = lab_new();
    lab_base(lab, lab_case(lab, ID, members));
    lab_ask(lab, 0, "order", "512", 0, "unit", 1000, order);
    lab_judge(lab, 0);
    return lab;
}

static void an_order_stands_in_the_result(void **state)
{
    struct lab *lab = judged(MEMBERS, order_of("tree", IN_ORDER, 0));
    const json_t *order = json_object_get(lab_result(lab, ID), "order");
    assert_int_equal(dp_json_int(order, "n", 0), 3);
    assert_int_equal(strlen(dp_json_string(order, "fingerprint", "")), 64);
    assert_string_equal(dp_json_string(order, "words", ""), "in order");
    assert_string_equal(lab_observed(lab, ID), "repeats");
    assert_int_equal(json_array_size(orders_of(lab)), 1);
    /* it is no axis that bits are compared along */
    const json_t *axes = json_object_get(lab_find(lab->judged.measurements, "case", ID), "axes");
    assert_null(json_object_get(axes, "order"));
    lab_free(lab);
}

static void what_is_no_order_does_not(void **state)
{
    json_t *const answers[] = {order_of("none", NULL, 0), order_of("costly", NULL, 0),
                               lab_skip("unsupported", "2 summands have one order"), lab_error("crash"),
                               lab_obs("a8")};
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct lab *lab = judged(MEMBERS, answers[i]);
        const json_t *row = json_array_get(orders_of(lab), 0);
        assert_null(json_object_get(lab_result(lab, ID), "order"));
        assert_string_equal(lab_observed(lab, ID), "repeats"); /* what it did of its bits stands */
        assert_null(json_object_get(row, "fingerprint"));
        assert_true((json_object_get(row, "words") != NULL) == (i < 2));
        assert_true((json_object_get(row, "dropped") != NULL) == (i >= 2));
        lab_free(lab);
    }
}

/* Equal summands and another sum: that is what varies means, whichever runs show it. */
static void a_changing_order_is_a_finding(void **state)
{
    static const char promised[] = MEMBERS ", 'guarantee': {'level': 'run_to_run', 'source': 's'}";
    struct lab *lab = judged(MEMBERS, order_of("varies", NULL, 4));
    assert_string_equal(lab_observed(lab, ID), "varies");
    assert_null(json_object_get(lab_result(lab, ID), "order"));
    assert_int_equal(dp_json_int(json_array_get(orders_of(lab), 0), "changed", 0), 4);
    lab_free(lab);
    lab = judged(promised, order_of("varies", NULL, 4));
    assert_string_equal(lab_observed(lab, ID), "untested");
    assert_int_equal(lab->judged.suspect_count, 1);
    for (size_t i = 0, first = lab->plan.request_count; i < first; i++) {
        const bool order = dp_axis_reveals(lab->requests[i].axis);
        lab_retest(lab, 1, i, order ? order_of("varies", NULL, 2) : json_deep_copy(lab->answers[i]));
    }
    lab_judge(lab, 1);
    assert_string_equal(lab_observed(lab, ID), "varies");
    assert_string_equal(lab_status(lab, ID), "broken");
    lab_free(lab);
}

/* Threads 1, 2 and 4, of which the last two give the same bits. */
static void the_settings_that_moved(void **state)
{
    static const char *const settings[] = {"1", "2", "4"}, *const bits[] = {"e2", "f2", "f2"};
    struct lab *lab = lab_new();
    size_t first = 0;
    lab_base(lab, lab_case(lab, ID, MEMBERS));
    for (size_t i = 0; i < COUNT(settings); i++) {
        const size_t request = lab_ask(lab, 0, "threads", settings[i], 0, "wide", 2, lab_obs(bits[i]));
        first = i == 0 ? request : first;
        lab_ask(lab, 0, "poison", settings[i], 0, "wide", 2, lab_obs("a2"));
    }
    lab_judge(lab, 0);
    assert_int_equal(lab->judged.moved_count, 2);
    assert_int_equal(lab->judged.moved[0], first);
    assert_int_equal(lab->judged.moved[1], first + 2);
    /* where the base setting shows none, or only at a high price, no other is asked */
    const size_t base =
        lab_ask(lab, 0, "order", "512", 0, "unit", 1000, lab_skip("unsupported", "no plain sum"));
    lab_judge(lab, 0);
    assert_int_equal(lab->judged.moved_count, 0);
    lab_set(lab, base, order_of("costly", NULL, 0));
    lab_judge(lab, 0);
    assert_int_equal(lab->judged.moved_count, 0);
    lab_set(lab, base, order_of("tree", IN_ORDER, 0));
    lab_ask(lab, 0, "threads*order", "1*512", 0, "unit", 1000, order_of("tree", IN_ORDER, 0));
    lab_ask(lab, 0, "threads*order", "2*512", 0, "unit", 1000, order_of("tree", IN_REVERSE, 0));
    lab_ask(lab, 0, "batch*order", "1/0*512", 0, "unit", 1000, order_of("tree", IN_ORDER, 0));
    lab_ask(lab, 0, "batch*order", "16/15*512", 0, "unit", 1000, order_of("tree", IN_ORDER, 0));
    lab_judge(lab, 0);
    static const char *const axes[] = {"repeat", "threads", "threads"}, *const at[] = {"", "1", "2"};
    assert_int_equal(json_array_size(orders_of(lab)), COUNT(axes)); /* nothing moves along batch */
    for (size_t i = 0; i < COUNT(axes); i++) {
        const json_t *row = json_array_get(orders_of(lab), i);
        assert_string_equal(dp_json_string(row, "axis", ""), axes[i]);
        assert_string_equal(dp_json_string(row, "setting", ""), at[i]);
        assert_string_equal(dp_json_string(row, "words", ""), i < 2 ? "in order" : "in reverse order");
    }
    assert_true(names(lab_result(lab, ID), "sensitive_to", "threads"));
    assert_false(names(lab_result(lab, ID), "sensitive_to", "batch"));
    assert_int_equal(lab->judged.moved_count, 2); /* orders are none of the settings that move bits */
    lab_free(lab);
}

/* What repeats nowhere moves along nothing. */
static void nothing_moved(void **state)
{
    struct lab *lab = lab_new();
    lab_base(lab, lab_case(lab, ID, MEMBERS));
    lab_ask(lab, 0, "threads", "1", 0, "wide", 2, lab_obs("e2"));
    lab_ask(lab, 0, "threads", "2", 0, "wide", 2, lab_obs("e2"));
    lab_judge(lab, 0);
    assert_int_equal(lab->judged.moved_count, 0);
    lab_set(lab, lab->plan.request_count - 1, lab_obs("e1 f1"));
    lab_judge(lab, 0);
    assert_int_equal(lab->judged.moved_count, 0);
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_level_reveals, setup_orders, teardown),
        cmocka_unit_test_setup_teardown(what_is_asked_by_name, setup_orders, teardown),
        cmocka_unit_test_setup_teardown(orders_cut_nothing, setup_orders, teardown),
        cmocka_unit_test_setup_teardown(where_bits_moved, setup_orders, teardown),
        cmocka_unit_test(an_order_stands_in_the_result),
        cmocka_unit_test(what_is_no_order_does_not),
        cmocka_unit_test(a_changing_order_is_a_finding),
        cmocka_unit_test(the_settings_that_moved),
        cmocka_unit_test(nothing_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
