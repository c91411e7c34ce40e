/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls: what a run may say when they behave, when they cannot vary, when they lie.
 */
#include "suite/tests/lab.h"

#define ID "cpu/gemm/one"
#define ATOMICS "cpu/control/float-atomics"
#define ORDER "cpu/control/fixed-order"
#define PLANT "cpu/control/plant"

struct bench {
    struct lab *lab;
    size_t base, atomics, order, plant; /* requests */
};

/* One case and the three kinds of control, all well. */
static struct bench bench_new(const char *members)
{
    struct bench b = {.lab = lab_new()};
    const int item = lab_case(b.lab, ID, members);
    const int atomics = lab_case(b.lab, ATOMICS, "'expected': {'observed': 'varies', 'axis': 'repeat'}");
    const int order = lab_case(b.lab, ORDER, "'expected': {'observed': 'repeats', 'axis': 'repeat'}");
    const int plant = lab_case(
        b.lab, PLANT, "'expected': {'observed': 'varies', 'axis': 'repeat', 'mismatches': 2, 'runs': 100}");
    b.base = lab_base(b.lab, item);
    b.atomics = lab_ask(b.lab, atomics, "repeat", "", 0, "wide", 8, lab_obs("a3 b5"));
    b.order = lab_ask(b.lab, order, "repeat", "", 0, "wide", 8, lab_obs("a8"));
    b.plant = lab_ask(b.lab, plant, "repeat", "", 0, "wide", 100, lab_obs("a98 b1 c1"));
    return b;
}

static bool behaved(const struct bench *b, const char *name)
{
    return json_is_true(json_object_get(lab_find(b->lab->judged.controls, "name", name), "behaved"));
}

static void test_good(void **state)
{
    struct bench b = bench_new("");
    lab_judge(b.lab, 0);
    assert_true(behaved(&b, ATOMICS) && behaved(&b, ORDER) && behaved(&b, PLANT));
    assert_true(b.lab->judged.controls_good);
    assert_false(b.lab->judged.insensitive);
    assert_string_equal(lab_observed(b.lab, ID), "repeats");
    assert_int_equal(json_array_size(b.lab->judged.results), 1); /* controls are no results */
    assert_int_equal(b.lab->judged.counts[DP_VARIES], 0);
    lab_free(b.lab);
}

static void test_insensitive(void **state)
{
    struct bench b = bench_new("");
    const int other = lab_case(b.lab, "cpu/gemm/varies", "");
    const int python = lab_case(b.lab, "python/numpy/sum", "");
    const size_t varies = lab_base(b.lab, other);
    lab_set(b.lab, varies, lab_obs("a7 e1"));
    lab_base(b.lab, python);
    lab_set(b.lab, b.atomics, lab_obs("a8"));
    lab_judge(b.lab, 0);
    assert_false(behaved(&b, ATOMICS));
    assert_true(b.lab->judged.controls_good); /* it says nothing, it does not lie */
    assert_true(b.lab->judged.insensitive);
    assert_string_equal(lab_observed(b.lab, ID), "untested");
    assert_int_equal(strncmp(dp_json_string(lab_result(b.lab, ID), "reason", ""), "insensitive: ", 13), 0);
    assert_string_equal(lab_observed(b.lab, "cpu/gemm/varies"), "varies");   /* what was seen was seen */
    assert_string_equal(lab_observed(b.lab, "python/numpy/sum"), "repeats"); /* another backend */
    lab_free(b.lab);
}

static void test_varies_and_must_not(void **state)
{
    struct bench b = bench_new("'guarantee': {'level': 'run_to_run', 'source': 's'}");
    lab_set(b.lab, b.base, lab_obs("a7 e1"));
    lab_retest(b.lab, 1, b.base, lab_obs("a7 e1"));
    lab_judge(b.lab, 1);
    assert_string_equal(lab_status(b.lab, ID), "broken");
    lab_set(b.lab, b.order, lab_obs("a7 e1"));
    lab_judge(b.lab, 1);
    assert_false(behaved(&b, ORDER));
    assert_false(b.lab->judged.controls_good);
    assert_string_equal(lab_observed(b.lab, ID), "untested"); /* broken needs good controls */
    assert_int_equal(b.lab->judged.broken, 0);
    lab_free(b.lab);
}

static void test_plant(void **state)
{
    static const struct {
        const char *classes;
        bool good;
    } rows[] = {{"a98 b1 c1", true}, {"a98 b2", true}, /* the same bit flipped twice */
                {"b1 a98 c1", true},                   /* flipped in the first run */
                {"a99 b1", false},                     /* one missed */
                {"a97 b3", false},                     /* one too many */
                {"a100", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bench b = bench_new("");
        lab_set(b.lab, b.plant, lab_obs(rows[i].classes));
        lab_judge(b.lab, 0);
        if (behaved(&b, PLANT) != rows[i].good || b.lab->judged.controls_good != rows[i].good) {
            fail_msg("plant '%s'", rows[i].classes);
        }
        assert_false(b.lab->judged.insensitive);
        lab_free(b.lab);
    }
}

static void test_control_fails(void **state)
{
    struct bench b = bench_new("");
    lab_set(b.lab, b.order, lab_error("crash"));
    lab_judge(b.lab, 0);
    assert_false(behaved(&b, ORDER));
    assert_false(b.lab->judged.controls_good);
    lab_set(b.lab, b.order, lab_obs_with("a8", "guard", json_string("broken")));
    lab_judge(b.lab, 0);
    assert_string_equal(dp_json_string(lab_find(b.lab->judged.controls, "name", ORDER), "observed", ""),
                        "wrong");
    assert_false(b.lab->judged.controls_good);
    lab_free(b.lab);
}

static void test_skipped(void **state)
{
    struct bench b = bench_new("");
    lab_set(b.lab, b.atomics, lab_skip("not_built", "no OpenMP"));
    lab_judge(b.lab, 0);
    assert_true(b.lab->judged.controls_good);
    assert_true(b.lab->judged.insensitive); /* nothing shows that this backend can vary */
    assert_string_equal(lab_observed(b.lab, ID), "untested");
    lab_set(b.lab, b.order, lab_skip("not_built", "no OpenMP"));
    lab_set(b.lab, b.plant, lab_skip("not_built", "no OpenMP"));
    for (size_t i = 0; i < 4; i++) {
        lab_set(b.lab, b.base + i, lab_skip("library_missing", "no library"));
    }
    lab_judge(b.lab, 0); /* nothing of the backend ran: its controls are not asked for */
    assert_int_equal(json_array_size(b.lab->judged.controls), 0);
    assert_false(b.lab->judged.insensitive);
    lab_free(b.lab);
}

static void test_interrupted(void **state)
{
    struct bench b = bench_new("");
    lab_set(b.lab, b.atomics, NULL);
    lab_judge(b.lab, 0);
    assert_true(b.lab->judged.controls_good);
    assert_false(b.lab->judged.insensitive);
    assert_string_equal(dp_json_string(lab_result(b.lab, ID), "reason", ""), "interrupted");
    lab_free(b.lab);
}

static void test_fresh_control(void **state)
{
    struct bench b = bench_new("");
    const int salt =
        lab_case(b.lab, "cpu/control/salt", "'expected': {'observed': 'varies', 'axis': 'fresh'}");
    lab_ask(b.lab, salt, "repeat", "", 0, "wide", 8, lab_obs("a8"));
    const size_t fresh = lab_ask(b.lab, salt, "fresh", "1", 0, "wide", 1, lab_obs("b1"));
    lab_judge(b.lab, 0);
    assert_true(behaved(&b, "cpu/control/salt"));
    assert_string_equal(lab_observed(b.lab, ID), "repeats");
    lab_set(b.lab, fresh, lab_obs("a1"));
    lab_judge(b.lab, 0);
    assert_false(behaved(&b, "cpu/control/salt"));
    assert_true(b.lab->judged.insensitive);
    lab_free(b.lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_insensitive),
        cmocka_unit_test(test_varies_and_must_not),
        cmocka_unit_test(test_plant),
        cmocka_unit_test(test_control_fails),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_fresh_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
