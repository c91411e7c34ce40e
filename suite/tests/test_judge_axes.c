/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts on axes that act on each run: other work beside it, and other runs at once.
 */
#include "reports/model.h"
#include "suite/base/schema.h"
#include "suite/judge/facts.h"
#include "suite/plan/levels.h"
#include "suite/tests/lab.h"

#define ID "cpu/gemm/one"
#define PROMISED "'guarantee': {'level': 'run_to_run', 'source': 's'}"

static void expect(struct lab *lab, int rounds, const char *observed, const char *status)
{
    lab_judge(lab, rounds);
    assert_string_equal(lab_observed(lab, ID), observed);
    assert_string_equal(lab_status(lab, ID), status);
}

static bool names(const json_t *result, const char *key, const char *axis)
{
    return dp_json_array_has(json_object_get(result, key), axis);
}

/* What the runs beside other work do is judged apart from what they do alone. */
static void test_busy(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    lab_base(lab, item);
    const size_t busy = lab_ask(lab, item, "busy", "compute", 0, "wide", 8, lab_obs("a8"));
    expect(lab, 0, "repeats", "kept");
    assert_false(names(lab_result(lab, ID), "not_measured", "busy"));
    const char *const moves[] = {"a7 f1", "f8"}; /* some runs, or all of them with other bits than alone */
    for (size_t i = 0; i < 2; i++) {
        lab_set(lab, busy, lab_obs(moves[i]));
        expect(lab, 0, "untested", "");
        assert_int_equal(lab->judged.suspect_count, 1);
    }
    lab_retest(lab, 1, busy, lab_obs("a6 f2"));
    expect(lab, 1, "varies", "broken");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *axes = json_object_get(entry, "axes");
    assert_int_equal(dp_json_int(json_object_get(axes, "repeat"), "distinct", 0), 1);
    lab_set(lab, busy, lab_skip("unsupported", "nothing runs beside another kernel here"));
    expect(lab, 1, "repeats", "kept");
    assert_true(names(lab_result(lab, ID), "not_measured", "busy"));
    lab_free(lab);
}

/* A setting of axis algorithm is a number: what ran there stands beside it, along no other axis. */
static void test_algorithm(void **state)
{
    static const char *const axes[][3] = {{"algorithm", "1", "2"}, {"threads", "2", "4"}};
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    lab_base(lab, item);
    for (size_t i = 0; i < 2; i++) {
        json_t *quick = lab_obs("a2"), *slow = lab_obs(i == 0 ? "f2" : "a2");
        json_object_set_new(quick, "chosen", json_string("jit"));
        json_object_set_new(slow, "chosen", json_string("ref"));
        lab_ask(lab, item, axes[i][0], axes[i][1], 0, "wide", 2, quick);
        lab_ask(lab, item, axes[i][0], axes[i][2], 0, "wide", 2, slow);
    }
    expect(lab, 0, "repeats", "kept");
    assert_true(names(lab_result(lab, ID), "sensitive_to", "algorithm"));
    assert_false(names(lab_result(lab, ID), "sensitive_to", "threads"));
    const json_t *all = json_object_get(lab_find(lab->judged.measurements, "case", ID), "axes");
    for (size_t i = 0; i < 2; i++) {
        const json_t *settings = json_object_get(json_object_get(all, axes[i][0]), "settings");
        assert_int_equal(json_array_size(settings), 2);
        for (size_t k = 0; k < 2; k++) {
            const char *chosen = dp_json_string(json_array_get(settings, k), "chosen", "none");
            assert_string_equal(chosen, i > 0 ? "none" : k == 0 ? "jit" : "ref");
        }
    }
    lab_free(lab);
}

/* An axis that acts on each run yields sensitivity only where the guarantee does not speak of it. */
static void test_concurrency(void **state)
{
    static const struct {
        const char *members, *classes, *observed, *status;
        bool sensitive;
    } rows[] = {
        {PROMISED, "a7 f1", "repeats", "kept", true},
        {PROMISED, "f8", "repeats", "kept", true},
        {PROMISED, "a8", "repeats", "kept", false},
        {"'guarantee': {'level': 'run_to_run', 'covers': ['repeat', 'concurrency']}", "a7 f1", "untested", "",
         false},
        {"'guarantee': {'level': 'run_to_run', 'covers': ['repeat', 'concurrency']}", "a8", "repeats", "kept",
         false},
        {"'guarantee': {'level': 'not_guaranteed', 'covers': ['repeat', 'concurrency']}", "a7 f1", "varies",
         "allows", false},
        {"'guarantee': {'level': 'not_guaranteed', 'covers': ['repeat', 'concurrency']}", "a8", "repeats",
         "allows", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, rows[i].members);
        lab_base(lab, item);
        lab_ask(lab, item, "concurrency", "4", 0, "wide", 8, lab_obs(rows[i].classes));
        expect(lab, 0, rows[i].observed, rows[i].status);
        assert_int_equal(names(lab_result(lab, ID), "sensitive_to", "concurrency"), rows[i].sensitive);
        assert_false(names(lab_result(lab, ID), "not_measured", "concurrency"));
        lab_free(lab);
    }
}

/* The report says what to do along the axes that moved the bits and no others, and who uses the operation. */
static void test_remedy_along(void **state)
{
    static const struct {
        const char *threads, *batch;
        size_t along;
    } rows[] = {
        {"a2", "a2", 0}, {"f2", "a2", 1}, {"a2", "f2", 0}, /* it has none along this axis */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item =
            lab_case(lab, ID,
                     PROMISED ", 'remedy': {'text': 'another'}, 'used_by': ['aten::mm'],"
                              "'remedy_along': {'threads': {'text': 'pin', 'source': 'a manual'},"
                              "'isa': {'text': 'cap', 'source': 'a manual'}}");
        lab_base(lab, item);
        lab_ask(lab, item, "threads", "1", 0, "wide", 2, lab_obs("a2"));
        lab_ask(lab, item, "threads", "4", 0, "wide", 2, lab_obs(rows[i].threads));
        lab_ask(lab, item, "batch", "1/0", 0, "wide", 2, lab_obs("a2"));
        lab_ask(lab, item, "batch", "2/1", 0, "wide", 2, lab_obs(rows[i].batch));
        expect(lab, 0, "repeats", "kept");
        const json_t *result = lab_result(lab, ID), *along = json_object_get(result, "remedy_along");
        assert_int_equal(json_array_size(json_object_get(result, "sensitive_to")), i > 0);
        assert_int_equal(json_object_size(along), rows[i].along);
        assert_true(rows[i].along || !along);
        assert_string_equal(dp_json_string(json_object_get(along, "threads"), "text", ""),
                            rows[i].along ? "pin" : "");
        assert_true(dp_json_array_has(json_object_get(result, "used_by"), "aten::mm"));
        lab_free(lab);
    }
}

#define CAP "openblas/Prescott"
static const struct dp_cap cap = {CAP, "OpenBLAS", "", NULL, NULL, true};

/* A setting of axis isa, as the plan makes it. */
static size_t ask_capped(struct lab *lab, int item, int seed, const char *set, json_t *answer)
{
    const size_t i = lab_ask(lab, item, "isa", CAP, seed, set, 2, answer);
    lab->requests[i].cap = &cap;
    lab->requests[i].process = 2000;
    return i;
}

/* Sensitivity, never a verdict, unless the guarantee says that the bits do not move along it. */
static void test_isa(void **state)
{
    static const struct {
        const char *members, *base, *capped, *fresh; /* NULL: no new process */
        const char *observed, *status;
        bool sensitive, not_measured;
    } rows[] = {
        {PROMISED, "a8", "f2", NULL, "repeats", "kept", true, false},
        {PROMISED, "a8", "a2", NULL, "repeats", "kept", false, false},
        {PROMISED, "a8", "a2", "a1", "repeats", "kept", false, false},
        /* another process alone gives other bits: the cap says nothing */
        {"'guarantee': {'level': 'not_guaranteed', 'source': 's'}", "a8", "f2", "f1", "varies", "allows",
         false, false},
        /* no comparison where repeat does not hold */
        {"'guarantee': {'level': 'not_guaranteed', 'source': 's'}", "a8", "a1 f1", NULL, "varies", "allows",
         false, false},
        {"'guarantee': {'level': 'run_to_run', 'source': 's', 'invariant': ['isa']}", "a8", "a2", NULL,
         "repeats", "kept", false, false},
        {"'guarantee': {'level': 'run_to_run', 'source': 's', 'invariant': ['isa']}", "a8", "f2", NULL,
         "untested", "", false, false},
        {PROMISED, "a8", NULL, NULL, "repeats", "kept", false, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, rows[i].members);
        lab_set(lab, lab_base(lab, item), lab_obs(rows[i].base));
        ask_capped(lab, item, 0, "wide",
                   rows[i].capped ? lab_obs(rows[i].capped) : lab_skip("unsupported", "ignored"));
        if (rows[i].fresh) {
            lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs(rows[i].fresh));
        }
        expect(lab, 0, rows[i].observed, rows[i].status);
        assert_int_equal(names(lab_result(lab, ID), "sensitive_to", "isa"), rows[i].sensitive);
        assert_int_equal(names(lab_result(lab, ID), "not_measured", "isa"), rows[i].not_measured);
        lab_free(lab);
    }
}

/* A cap that ends the program costs itself, not the case, and not the other caps. */
static void test_isa_that_crashes(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    lab_base(lab, item);
    ask_capped(lab, item, 0, "wide", lab_error("crash"));
    expect(lab, 0, "repeats", "kept");
    assert_true(names(lab_result(lab, ID), "not_measured", "isa"));
    lab_ask(lab, item, "isa", "openblas/Core2", 0, "wide", 2, lab_obs("f2"));
    expect(lab, 0, "repeats", "kept");
    assert_true(names(lab_result(lab, ID), "sensitive_to", "isa"));
    lab_free(lab);
}

static json_t *out_of_bound(void)
{
    return lab_obs_with("c2", "error_over_bound", json_real(3.5));
}

/* What is wrong under a cap is listed under that setting, when a new process shows it again; the case itself
 * is what it is without. */
static void test_wrong_under_cap(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    lab_base(lab, item);
    ask_capped(lab, item, 0, "wide", lab_obs("a2"));
    const size_t unit = ask_capped(lab, item, 0, "unit", lab_obs("c2"));
    expect(lab, 0, "repeats", "kept");
    assert_int_equal(lab->judged.wrong_under + lab->judged.suspect_count, 0);
    assert_null(json_object_get(lab_result(lab, ID), "wrong_under"));

    lab_set(lab, unit, out_of_bound());
    expect(lab, 0, "untested", ""); /* seen once */
    assert_int_equal(lab->judged.wrong_under, 0);
    assert_int_equal(lab->judged.suspect_count, 1);
    const size_t again = lab_retest(lab, 1, unit, lab_obs("c2"));
    lab->requests[again].cap = &cap;
    expect(lab, 1, "untested", ""); /* not yet again */
    assert_int_equal(lab->judged.wrong_under, 0);
    for (int dead = 0; dead < 2; dead++) { /* right again, or no result again: no verdict */
        expect(lab, DP_RETEST_ROUNDS, "untested", "");
        assert_true(lab->judged.unconfirmed);
        assert_int_equal(lab->judged.suspect_count, 0);
        lab_set(lab, again, lab_error("crash"));
    }

    lab_set(lab, again, out_of_bound());
    expect(lab, 1, "repeats", "kept");
    assert_false(lab->judged.unconfirmed);
    assert_int_equal(lab->judged.wrong_under, 1);
    assert_int_equal(lab->judged.counts[DP_WRONG], 0);
    assert_int_equal(lab->judged.suspect_count, 0);
    assert_true(names(lab_result(lab, ID), "wrong_under", CAP));
    const json_t *axes = json_object_get(lab_find(lab->judged.measurements, "case", ID), "axes");
    const json_t *settings = json_object_get(json_object_get(axes, "isa"), "settings");
    assert_int_equal(json_array_size(settings), 1); /* one row for a setting and a seed */
    assert_string_equal(dp_json_string(json_array_get(settings, 0), "wrong", ""),
                        "bound: output 'c' is farther from the reference than its error bound (set unit) at "
                        "isa " CAP);
    lab_free(lab);
}

/* What is wrong without a cap too is wrong, and counted once. */
static void test_wrong_everywhere(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    const size_t side = lab_base(lab, item) + 2; /* set unit */
    lab_set(lab, side, lab_obs_with("c8", "error_over_bound", json_real(3.5)));
    const size_t unit = ask_capped(lab, item, 0, "unit", out_of_bound());
    lab_retest(lab, 1, side, lab_obs_with("c8", "error_over_bound", json_real(3.5)));
    const size_t again = lab_retest(lab, 1, unit, out_of_bound());
    lab->requests[again].cap = &cap;
    expect(lab, 1, "wrong", "kept");
    assert_int_equal(lab->judged.counts[DP_WRONG], 1);
    assert_int_equal(lab->judged.wrong_under, 0);
    assert_null(json_object_get(lab_result(lab, ID), "wrong_under"));

    lab_set(lab, side, lab_obs("c8"));
    expect(lab, 1, "repeats", "kept"); /* without it, the cap alone is */
    assert_int_equal(lab->judged.wrong_under, 1);
    lab_free(lab);
}

/* One list, in the order of the design: that of reports. */
static void test_names(void **state)
{
    size_t count = 0;
    for (; dp_report_axes[count]; count++) {
        assert_true(count < DP_AXIS_COUNT);
        assert_string_equal(dp_axes[count].name, dp_report_axes[count]);
    }
    assert_int_equal(count, DP_AXIS_COUNT);
    const struct dp_axis *axis = dp_plan_axes();
    for (size_t i = 0; i < count; i++, axis++) {
        assert_string_equal(axis->name, dp_report_axes[i]);
        assert_false(axis->product);
    }
    for (; axis->name; axis++) {
        assert_true(axis->product || axis->reveals); /* what is revealed is not compared */
    }
}

/* The words of every schema that lists axes one by one. */
static void test_names_in_schemas(void **state)
{
    static const char *const schemas[] = {"catalogue", "gate", "list", "policy"};
    struct dp_text listed = DP_TEXT(1000);
    for (size_t i = 0; dp_report_axes[i]; i++) {
        dp_text_printf(&listed, "%s\"%s\"", i ? "," : "", dp_report_axes[i]);
    }
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
        char *text = json_dumps(dp_schema_builtin(schemas[i]), JSON_COMPACT);
        assert_non_null(text);
        assert_non_null(strstr(text, listed.data));
        free(text);
    }
    dp_text_free(&listed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_in_schemas),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_algorithm),
        cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_remedy_along),
        cmocka_unit_test(test_isa),
        cmocka_unit_test(test_isa_that_crashes),
        cmocka_unit_test(test_wrong_under_cap),
        cmocka_unit_test(test_wrong_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
