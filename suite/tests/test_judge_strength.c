/* SPDX-License-Identifier: Apache-2.0
 *
 * How strong the evidence is: stages of a sequential plan, findings tried again, what the whole run may have
 * missed.
 */
#include "suite/tests/lab.h"

#include <math.h>

#define ID "cpu/gemm/a"
#define PROMISED "'guarantee': {'level': 'run_to_run', 'source': 's'}"
#define ALLOWED "'guarantee': {'level': 'not_guaranteed', 'source': 's'}"

static size_t ask_stage(struct lab *lab, int item, int stage, int seed, int runs, json_t *answer)
{
    const size_t i = lab_ask(lab, item, "repeat", "", seed, "wide", runs, answer);
    lab->requests[i].stage = stage;
    return i;
}

static const json_t *measured(const struct lab *lab, const char *id)
{
    return lab_find(lab->judged.measurements, "case", id);
}

/* --- stages --- */

/* What a stage adds counts, and is in no body: how many stages there were is not the stack's. */
static void test_stage_repeats(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    lab_base(lab, item);
    lab_judge(lab, 0);
    json_t *before = json_deep_copy(lab_result(lab, ID));
    assert_int_equal(lab->judged.doubtful_count, 1);
    assert_int_equal(lab->judged.doubtful[0], item);
    ask_stage(lab, item, 1, 2, 50, lab_obs("e50"));
    lab_judge(lab, 0);
    assert_true(json_equal(lab_result(lab, ID), before));
    const json_t *repeat = json_object_get(json_object_get(measured(lab, ID), "axes"), "repeat");
    assert_int_equal(dp_json_int(repeat, "comparisons", 0), 7 + 7 + 49);
    assert_int_equal(dp_json_int(repeat, "seeds", 0), 3);
    json_decref(before);
    lab_free(lab);
}

static void test_stage_varies(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, ALLOWED), other = lab_case(lab, "cpu/gemm/b", ALLOWED);
    lab_base(lab, item);
    lab_base(lab, other);
    ask_stage(lab, item, 1, 2, 50, lab_obs("e49 f1"));
    lab_judge(lab, 0);
    assert_string_equal(lab_observed(lab, ID), "varies");
    assert_string_equal(lab_observed(lab, "cpu/gemm/b"), "repeats");
    assert_int_equal(lab->judged.doubtful_count, 1);
    assert_int_equal(lab->judged.doubtful[0], other);
    lab_free(lab);
}

/* Of what a stage could not do: a skip takes nothing back, a failure is one of the case, what is missing was
 * asked for. */
static void test_stage_without_answer(void **state)
{
    static const char *const words[] = {"repeats", "error", "untested"};
    for (int i = 0; i < 3; i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, ALLOWED);
        lab_base(lab, item);
        ask_stage(lab, item, 1, 2, 50,
                  i == 0   ? lab_skip("device_busy", "used by others")
                  : i == 1 ? lab_error("crash")
                           : NULL);
        lab_judge(lab, 0);
        assert_string_equal(lab_observed(lab, ID), words[i]);
        assert_int_equal(lab->judged.doubtful_count, i == 0);
        lab_free(lab);
    }
}

static void test_settled(void **state)
{
    static const char *const answers[] = {"a7 e1", "skip", "crash"};
    for (int i = 0; i < 3; i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, ALLOWED));
        lab_set(lab, base,
                i == 1   ? lab_skip("unsupported", "")
                : i == 2 ? lab_error("crash")
                         : lab_obs(answers[i]));
        lab_judge(lab, 0);
        assert_int_equal(lab->judged.doubtful_count, 0);
        lab_free(lab);
    }
}

/* --- findings tried again --- */

static const json_t *confirmation(const struct lab *lab)
{
    return json_object_get(measured(lab, ID), "confirmation");
}

static void expect_attempts(const struct lab *lab, const char *finding, const char *shown)
{
    const json_t *attempts = json_object_get(confirmation(lab), "attempts");
    assert_string_equal(dp_json_string(confirmation(lab), "finding", ""), finding);
    assert_int_equal(json_array_size(attempts), strlen(shown));
    for (size_t i = 0; i < strlen(shown); i++) {
        const json_t *attempt = json_array_get(attempts, i);
        assert_int_equal(dp_json_int(attempt, "retest", 0), i + 1);
        assert_int_equal(dp_json_int(attempt, "runs", 0), 8);
        assert_int_equal(json_is_true(json_object_get(attempt, "shown")), shown[i] == 'y');
    }
}

static void test_persistent(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_judge(lab, 0);
    assert_null(confirmation(lab)); /* nothing was tried again */
    lab_set(lab, base, lab_obs("a7 e1"));
    lab_retest(lab, 1, base, lab_obs("a8"));
    lab_judge(lab, 1);
    expect_attempts(lab, "", "n"); /* not settled yet */
    lab_retest(lab, 2, base, lab_obs("a7 f1"));
    lab_judge(lab, 2);
    expect_attempts(lab, "persistent", "ny");
    lab_free(lab);
}

static void test_transient(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_set(lab, base, lab_obs("a7 e1"));
    for (int round = 1; round <= DP_RETEST_ROUNDS; round++) {
        lab_retest(lab, round, base, lab_obs("a8"));
    }
    lab_judge(lab, DP_RETEST_ROUNDS);
    expect_attempts(lab, "transient", "nnn");
    lab_free(lab);
}

/* Wrong results are shown again by wrong results, not by a difference. */
static void test_wrong_again(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, ALLOWED));
    lab_set(lab, base, lab_obs_with("a8", "unwritten", json_integer(2)));
    lab_retest(lab, 1, base, lab_obs("a7 e1"));
    lab_judge(lab, 1);
    expect_attempts(lab, "", "n");
    lab_retest(lab, 2, base, lab_obs_with("a8", "unwritten", json_integer(2)));
    lab_judge(lab, 2);
    expect_attempts(lab, "persistent", "ny");
    lab_free(lab);
}

static void test_cut_off(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_set(lab, base, lab_obs("a7 e1"));
    lab_retest(lab, 1, base, NULL);
    lab_judge(lab, 1);
    assert_null(confirmation(lab));
    lab_free(lab);
}

/* What varies and may is tried again where that is asked for; its verdict does not wait. */
static void test_varies_is_tried_again(void **state)
{
    for (int asked = 0; asked < 2; asked++) {
        struct lab *lab = lab_new();
        lab->plan.options.retest_varies = asked;
        const size_t base = lab_base(lab, lab_case(lab, ID, ALLOWED));
        lab_base(lab, lab_case(lab, "cpu/gemm/b", ALLOWED));
        lab_set(lab, base, lab_obs("a7 e1"));
        lab_judge(lab, 0);
        assert_string_equal(lab_observed(lab, ID), "varies");
        assert_int_equal(lab->judged.suspect_count, asked);
        lab_retest(lab, 1, base, lab_obs("a8"));
        lab_judge(lab, 1);
        assert_int_equal(lab->judged.suspect_count, asked);
        lab_retest(lab, 2, base, lab_obs("a7 e1"));
        lab_judge(lab, 2);
        assert_int_equal(lab->judged.suspect_count, 0);
        assert_string_equal(lab_observed(lab, ID), "varies");
        assert_false(lab->judged.unconfirmed);
        lab_free(lab);
    }
}

/* --- the whole run --- */

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9)) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

static void test_strength(void **state)
{
    struct lab *lab = lab_new();
    lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_judge(lab, 0);
    const json_t *strength = lab->judged.strength;
    assert_int_equal(dp_json_int(strength, "cases", 0), 1);
    assert_int_equal(dp_json_int(strength, "comparisons", 0), 14);
    assert_near(dp_json_number(strength, "rate", 0), 1 - pow(0.05, 1 / 14.0));
    assert_near(dp_json_number(strength, "rate_of_all", 0), 1 - pow(0.05, 1 / 14.0));
    const int item = lab_case(lab, "cpu/gemm/b", PROMISED);
    lab_base(lab, item);
    ask_stage(lab, item, 1, 2, 101, lab_obs("e101"));
    const size_t varies = lab_base(lab, lab_case(lab, "cpu/gemm/c", ALLOWED));
    lab_set(lab, varies, lab_obs("a7 e1"));
    lab->plan.options.confidence = 0.99;
    lab_judge(lab, 0);
    strength = lab->judged.strength;
    assert_int_equal(dp_json_int(strength, "cases", 0), 2); /* what varies was not missed */
    assert_int_equal(dp_json_int(strength, "comparisons", 0), 14);
    assert_near(dp_json_number(strength, "missed", 0), 0.01);
    assert_near(dp_json_number(strength, "rate", 0), 1 - pow(0.01, 1 / 14.0));
    assert_near(dp_json_number(strength, "rate_of_all", 0), 1 - pow(0.005, 1 / 14.0));
    lab_free(lab);
}

static void test_no_strength(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, ALLOWED));
    lab_set(lab, base, lab_obs("a7 e1"));
    lab_judge(lab, 0);
    assert_null(lab->judged.strength);
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stage_repeats),
        cmocka_unit_test(test_stage_varies),
        cmocka_unit_test(test_stage_without_answer),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_persistent),
        cmocka_unit_test(test_transient),
        cmocka_unit_test(test_wrong_again),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_varies_is_tried_again),
        cmocka_unit_test(test_strength),
        cmocka_unit_test(test_no_strength),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
