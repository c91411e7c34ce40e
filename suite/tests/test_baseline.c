/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting reports together: what stays in, what is left out, and the rates that follow.
 */
#include "suite/tests/documents.h"

#include <math.h>

#include "reports/gate/baseline.h"
#include "reports/gate/gate.h"
#include "suite/base/statistics.h"

static const json_t *member(const json_t *json, const char *path)
{
    char *copy = dp_strdup(path), *rest = copy;
    for (char *key; (key = strsep(&rest, "/")) != NULL && json;) {
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key)) : json_object_get(json, key);
    }
    free(copy);
    return json;
}

/* Reports at other times, so that they are other runs. Both are taken. */
static json_t *merge(json_t *first, json_t *second, struct dp_err *err)
{
    json_object_set_new(json_object_get(second, "measurements"), "started",
                        json_string("2027-01-01T00:00:00Z"));
    const struct dp_diff_side sides[2] = {{first, "a.json"}, {second, "b.json"}};
    json_t *baseline = dp_baseline_make(sides, 2, err);
    json_decref(first);
    json_decref(second);
    return baseline;
}

static json_t *merged(struct item x, struct item other)
{
    struct dp_err err = {0};
    json_t *baseline = merge(report((struct setup){.x = x, .y = {REPEATS, NULL}}),
                             report((struct setup){.x = other, .y = {REPEATS, NULL}}), &err);
    assert_string_equal(err.text, "");
    assert_non_null(baseline);
    return baseline;
}

#define PROMISED(status) "'guarantee':{'level':'run_to_run','source':'','status':'" status "'}"
#define INVARIANT(status) REPEATS_AS(SHA_A, "'batch'") "," PROMISED(status)

static void test_what_stays_in(void **state)
{
    static const struct {
        struct item x, other;
        const char *left_out; /* NULL: it stays */
    } rows[] = {
        {{REPEATS, NULL}, {REPEATS, NULL}, NULL},
        {{VARIES, ALWAYS}, {VARIES, ONCE}, NULL},
        {{SKIPPED, NULL}, {SKIPPED, NULL}, NULL},
        {{ERROR, NULL}, {ERROR, NULL}, NULL},
        {{REPEATS, NEVER}, {VARIES, ONCE}, "repeats in 1, varies in 1"},
        {{SKIPPED, NULL}, {REPEATS, NULL}, "skipped in 1, repeats in 1"},
        {{INVARIANT("kept"), NULL}, {INVARIANT("broken"), NULL}, "kept in 1, broken in 1"},
        {{REPEATS, NULL}, {REPEATS_AS(SHA_B, "") "," ALLOWS, NULL}, "other bits from report to report"},
        {{REPEATS, NULL}, {NULL, NULL}, "in 1 of 2 reports"},
        {{NULL, NULL}, {REPEATS, NULL}, "in 1 of 2 reports"},
        {{"'definition':'" SHA_A "'," VARIES, ALWAYS},
         {"'definition':'" SHA_B "'," VARIES, ALWAYS},
         "the catalogues define it differently"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *baseline = merged(rows[i].x, rows[i].other);
        const json_t *row = member(baseline, "body/plan/left_out/0");
        assert_int_equal(json_array_size(member(baseline, "body/results")), rows[i].left_out ? 1 : 2);
        assert_int_equal(json_array_size(member(baseline, "measurements/cases")), rows[i].left_out ? 1 : 2);
        assert_string_equal(dp_json_string(row, "reason", ""), rows[i].left_out ? rows[i].left_out : "");
        assert_string_equal(dp_json_string(row, "case", ""), rows[i].left_out ? "cpu/gemm/x" : "");
        assert_int_equal(json_integer_value(member(baseline, "body/plan/cases")), rows[i].left_out ? 1 : 2);
        json_decref(baseline);
    }
}

/* Comparisons add up, and the limits are those of the sums: never those of one report. */
static void test_rates(void **state)
{
    double low, high;
    json_t *baseline = merged((struct item){REPEATS, NEVER}, (struct item){REPEATS, NEVER});
    const json_t *tally = member(baseline, "measurements/cases/1/axes/repeat");
    assert_int_equal(dp_json_int(tally, "comparisons", 0), 42);
    assert_int_equal(dp_json_int(tally, "runs", 0), 48);
    assert_true(fabs(dp_json_number(tally, "bound", 0) - dp_zero_bound(42)) < 1e-12);
    assert_null(json_object_get(tally, "interval"));
    json_decref(baseline);
    baseline = merged((struct item){VARIES, ALWAYS}, (struct item){VARIES, ONCE});
    tally = member(baseline, "measurements/cases/1/axes/repeat");
    dp_clopper_pearson(22, 42, &low, &high);
    assert_int_equal(dp_json_int(tally, "mismatches", 0), 22);
    assert_true(fabs(json_number_value(member(tally, "interval/0")) - low) < 1e-12);
    assert_true(fabs(json_number_value(member(tally, "interval/1")) - high) < 1e-12);
    assert_null(json_object_get(tally, "bound"));
    json_decref(baseline);
    /* one report that saw the difference and one that did not along the axis: it was seen */
    baseline = merged((struct item){VARIES, NEVER}, (struct item){VARIES, ONCE});
    dp_clopper_pearson(1, 42, &low, &high);
    assert_true(fabs(json_number_value(member(baseline, "measurements/cases/1/axes/repeat/interval/1")) -
                     high) < 1e-12);
    json_decref(baseline);
}

#define ALONG(axis) "'remedy_along':{'" axis "':{'text':'" axis "'}}"

/* What any report knows to move bits is known; what only one of them says otherwise is not told. */
static void test_members(void **state)
{
    json_t *baseline = merged((struct item){REPEATS_AS(SHA_A, "'batch'") ",'chosen':'a'," ALLOWS, NULL},
                              (struct item){REPEATS_AS(SHA_A, "'threads'") ",'chosen':'b'," ALLOWS, NULL});
    const json_t *result = member(baseline, "body/results/1");
    char *axes = json_dumps(json_object_get(result, "sensitive_to"), JSON_COMPACT);
    assert_string_equal(axes, "[\"batch\",\"threads\"]");
    assert_null(json_object_get(result, "chosen"));
    assert_null(json_object_get(result, "remedy_along"));
    free(axes);
    json_decref(baseline);
    baseline = merged((struct item){REPEATS_AS(SHA_A, "") ",'chosen':'a'," ALLOWS, NULL},
                      (struct item){REPEATS_AS(SHA_A, "") ",'chosen':'a'," ALLOWS, NULL});
    assert_string_equal(dp_json_string(member(baseline, "body/results/1"), "chosen", ""), "a");
    json_decref(baseline);
    /* nor is it lost what to do along an axis that one report alone knows */
    baseline = merged((struct item){REPEATS_AS(SHA_A, "'batch'") "," ALONG("batch") "," ALLOWS, NULL},
                      (struct item){REPEATS_AS(SHA_A, "'threads'") "," ALONG("threads") "," ALLOWS, NULL});
    for (size_t i = 0; i < 2; i++) {
        const json_t *along = member(baseline, "body/results/1/remedy_along");
        const char *axis = i == 0 ? "batch" : "threads";
        assert_string_equal(dp_json_string(json_object_get(along, axis), "text", ""), axis);
    }
    json_decref(baseline);
}

/* What is wrong under a cap in one of them is wrong there, whichever comes first. */
static void test_wrong_under(void **state)
{
    static const struct {
        const char *x, *other, *under;
    } rows[] = {
        {"", "", NULL},
        {"'wrong_under':['openblas/Core2'],", "", "[\"openblas/Core2\"]"},
        {"", "'wrong_under':['openblas/Core2'],", "[\"openblas/Core2\"]"},
        {"'wrong_under':['openblas/Atom'],", "'wrong_under':['openblas/Core2','openblas/Atom'],",
         "[\"openblas/Atom\",\"openblas/Core2\"]"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *x = dp_printf("%s%s", rows[i].x, REPEATS), *other = dp_printf("%s%s", rows[i].other, REPEATS);
        json_t *baseline = merged((struct item){x, NULL}, (struct item){other, NULL});
        const json_t *under = json_object_get(member(baseline, "body/results/1"), "wrong_under");
        char *names = under ? json_dumps(under, JSON_COMPACT) : NULL;
        assert_string_equal(names ? names : "", rows[i].under ? rows[i].under : "");
        assert_int_equal(json_array_size(member(baseline, "body/summary/wrong_under")), under ? 1 : 0);
        json_decref(baseline);
        free(names);
        free(x);
        free(other);
    }
}

static void expect_refused(json_t *first, json_t *second, const char *words)
{
    struct dp_err err = {0};
    assert_null(merge(first, second, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    if (!strstr(err.text, words)) {
        fail_msg("%s", err.text);
    }
}

static void test_refusals(void **state)
{
    const struct setup plain = {.x = {REPEATS, NULL}};
    json_t *seeded = report(plain);
    json_object_set_new(json_object_get(json_object_get(seeded, "body"), "plan"), "seed", json_string("2"));
    expect_refused(report(plain), seeded, "'b.json' is of another plan than 'a.json': seed differs");
    expect_refused(report(plain),
                   report((struct setup){.x = {REPEATS, NULL},
                                         .environment = "{'host':{'arch':'x86_64','cpu_model':'Two'}}"}),
                   "'a.json' and 'b.json' are of two classes of devices (One, x86_64, not Two, x86_64)");
    expect_refused(report(plain),
                   report((struct setup){.x = {REPEATS, NULL}, .measurements = "{'interrupted':true}"}),
                   "'b.json' has no valid verdict: the run was interrupted");
    expect_refused(report((struct setup){.x = {REPEATS, NULL}, .measurements = "{'interrupted':true}"}),
                   report(plain), "'a.json' has no valid verdict");
    expect_refused(report(plain),
                   report((struct setup){.x = {REPEATS, "'comparisons':9007199254740991,'mismatches':0"}}),
                   "'b.json' counts what no run can: case 'cpu/gemm/x', axis repeat");
    expect_refused(report(plain), report((struct setup){.x = {REPEATS, "'comparisons':3,'mismatches':4"}}),
                   "counts what no run can");
    /* the same run twice is no more evidence than once */
    struct dp_err err = {0};
    json_t *once = report(plain);
    const struct dp_diff_side sides[2] = {{once, "a.json"}, {once, "b.json"}};
    assert_null(dp_baseline_make(sides, 2, &err));
    assert_non_null(strstr(err.text, "'b.json' is the same run as 'a.json'"));
    json_decref(once);
}

/* A gate does not fail over what the reports of its baseline disagreed in, and does where they agreed. */
static void test_gate_over_it(void **state)
{
    struct dp_err err = {0};
    json_t *after = report((struct setup){.x = {VARIES, ALWAYS}, .y = {REPEATS, NULL}});
    json_t *disagreeing = merged((struct item){REPEATS, NEVER}, (struct item){VARIES, ONCE});
    json_t *agreeing = merged((struct item){REPEATS, NEVER}, (struct item){REPEATS, NEVER});
    struct dp_gate_input input = {.report = {after, "after.json"},
                                  .baseline = {disagreeing, "baseline.json"},
                                  .fail_on = "varies",
                                  .today = "2027-01-01"};
    json_t *gate = dp_gate_make(&input, &err);
    assert_int_equal(dp_gate_verdict(gate), DP_GATE_PASSED);
    json_decref(gate);
    input.baseline.report = agreeing;
    gate = dp_gate_make(&input, &err);
    assert_int_equal(dp_gate_verdict(gate), DP_GATE_FAILED);
    json_decref(gate);
    json_decref(after);
    json_decref(disagreeing);
    json_decref(agreeing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_stays_in), cmocka_unit_test(test_rates),
        cmocka_unit_test(test_members),       cmocka_unit_test(test_wrong_under),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_gate_over_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
