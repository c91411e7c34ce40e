/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts on axes that act on each run: other work beside it, and other runs at once.
 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_remedy_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
