/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts: each observed word and each status where it must be given, and beside it where it must not.
 */
#include "suite/tests/lab.h"

#define ID "cpu/gemm/one"
#define PROMISED "'guarantee': {'level': 'run_to_run', 'source': 's'}"
#define DIRECT "'arithmetic': 'direct'"

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

static void test_repeats(void **state)
{
    struct lab *lab = lab_new();
    lab_base(lab, lab_case(lab, ID, ""));
    expect(lab, 0, "repeats", "none");
    const json_t *result = lab_result(lab, ID);
    assert_string_equal(dp_json_string(result, "checked", ""), "full");
    assert_int_equal(json_array_size(json_object_get(result, "outputs")), 4);
    assert_int_equal(json_array_size(json_object_get(result, "sensitive_to")), 0);
    assert_true(names(result, "not_measured", "fresh") && names(result, "not_measured", "busy"));
    assert_false(names(result, "not_measured", "repeat"));
    assert_int_equal(lab->judged.counts[DP_REPEATS], 1);
    assert_true(lab->judged.controls_good);
    assert_false(lab->judged.insensitive);
    const json_t *output = json_array_get(json_object_get(result, "outputs"), 1);
    assert_string_equal(dp_json_string(output, "seed", ""), "1/1");
    lab_free(lab);
}

static void test_status_of_levels(void **state)
{
    static const char *const rows[][2] = {
        {"unstated", "none"}, {"not_guaranteed", "allows"}, {"run_to_run", "kept"}, {"gpu_to_gpu", "kept"}};
    for (size_t i = 0; i < 4; i++) {
        struct lab *lab = lab_new();
        char *members = dp_printf("'guarantee': {'level': '%s', 'source': 's'}", rows[i][0]);
        lab_base(lab, lab_case(lab, ID, members));
        expect(lab, 0, "repeats", rows[i][1]);
        assert_int_equal(lab->judged.broken, 0);
        free(members);
        lab_free(lab);
    }
}

/* The same bits that move: what was promised of the version that is here is broken, what was promised of
 * another is not. */
static void test_promise_of_versions(void **state)
{
    static const char members[] =
        "'guarantee': {'level': 'run_to_run', 'source': 'new', 'versions': {'cudnn': {'since': '9.1'}}, "
        "'otherwise': [{'level': 'not_guaranteed', 'source': 'old', 'versions': {'cudnn': {'since': '8'}}}]}";
    static const struct {
        const char *version, *level, *status, *source;
    } rows[] = {
        {"9.1.0", "run_to_run", "broken", "new"},
        {"9.0.9", "not_guaranteed", "allows", "old"},
        {"7.6.5", "unstated", "none", "new; said of cuDNN since 9.1, here is 7.6.5"},
        {"", "unstated", "none", "new; depends on cudnn, which is not known here"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, members);
        struct dp_program plain = {.name = (char[]){"cpu/gemm"}};
        struct dp_program with = {.name = (char[]){"cpu/gemm A=1"}, .base = &plain};
        lab->cases[item].program = i % 2 ? &with : &plain; /* what the base said holds under variables too */
        lab->given.hellos = json_pack("{s{s[{ss ss ss}]}}", "cpu/gemm", "libraries", "role", "cudnn", "name",
                                      "cuDNN", "version", rows[i].version);
        const size_t base = lab_base(lab, item);
        lab_set(lab, base, lab_obs("a7 e1"));
        lab_retest(lab, 1, base, lab_obs("a7 e1"));
        expect(lab, 1, "varies", rows[i].status);
        const json_t *guarantee = json_object_get(lab_result(lab, ID), "guarantee");
        assert_string_equal(dp_json_string(guarantee, "level", ""), rows[i].level);
        assert_string_equal(dp_json_string(guarantee, "source", ""), rows[i].source);
        assert_int_equal(lab->judged.broken, i == 0);
        json_decref(lab->given.hellos);
        lab_free(lab);
    }
}

static void test_varies_in_repeat(void **state)
{
    static const char *const allows = "'guarantee': {'level': 'not_guaranteed', 'source': 's'}";
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, allows));
    lab_set(lab, base + 1, lab_obs("b7 e1"));
    expect(lab, 0, "varies", "allows");
    const json_t *result = lab_result(lab, ID);
    assert_string_equal(dp_json_string(result, "difference", ""), "execution");
    assert_null(json_object_get(result, "outputs"));
    assert_null(json_object_get(result, "sensitive_to"));
    assert_null(json_object_get(result, "reason"));
    assert_int_equal(lab->judged.suspect_count, 0); /* nothing promised, nothing to confirm */
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *repeat = json_object_get(json_object_get(entry, "axes"), "repeat");
    assert_int_equal(dp_json_int(repeat, "runs", 0), 16);
    assert_int_equal(dp_json_int(repeat, "comparisons", 0), 14);
    assert_int_equal(dp_json_int(repeat, "distinct", 0), 2);
    assert_int_equal(dp_json_int(repeat, "of", 0), 8);
    assert_int_equal(dp_json_int(repeat, "mismatches", 0), 1);
    assert_int_equal(dp_json_int(repeat, "seeds", 0), 2);
    assert_int_equal(dp_json_int(repeat, "seeds_varied", 0), 1);
    assert_null(json_object_get(repeat, "bound"));
    assert_int_equal(json_array_size(json_object_get(entry, "classes")), 2);
    lab_free(lab);
}

/* The counts of a case that varies move; its result must not. */
static void test_body_does_not_move(void **state)
{
    static const char *const classes[] = {"b7 e1", "b2 e2 f4"};
    json_t *results[2];
    for (size_t i = 0; i < 2; i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, "");
        const size_t base = lab_base(lab, item);
        lab_set(lab, base + i, lab_obs(classes[i]));
        lab_ask(lab, item, "threads", "1", 0, "wide", 2, lab_obs(i ? "a2" : "a1 f1"));
        lab_ask(lab, item, "threads", "2", 0, "wide", 2, lab_obs("b2"));
        lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs(i ? "a1" : "f1"));
        lab_judge(lab, 0);
        results[i] = json_incref(lab->judged.results);
        lab_free(lab);
    }
    assert_true(json_equal(results[0], results[1]));
    json_decref(results[0]);
    json_decref(results[1]);
}

/* A rare difference that shows between processes today and inside one tomorrow is one result. */
static void test_ways_are_one_result(void **state)
{
    json_t *results[2];
    for (size_t i = 0; i < 2; i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, "");
        const size_t base = lab_base(lab, item);
        lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs(i ? "a1" : "f1"));
        lab_set(lab, base, lab_obs(i ? "a7 f1" : "a8"));
        expect(lab, 0, "varies", "none");
        results[i] = json_incref(lab->judged.results);
        lab_free(lab);
    }
    assert_true(json_equal(results[0], results[1]));
    json_decref(results[0]);
    json_decref(results[1]);
}

static void test_first_call(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, ""));
    lab_set(lab, base, lab_obs("e1 a7"));
    expect(lab, 0, "varies", "none");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    assert_true(json_is_true(json_object_get(entry, "first_call_differs")));
    lab_set(lab, base + 1, lab_obs("b7 e1"));
    lab_judge(lab, 0);
    entry = lab_find(lab->judged.measurements, "case", ID);
    assert_false(json_is_true(json_object_get(entry, "first_call_differs")));
    lab_free(lab);
}

static void test_fresh(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    lab_base(lab, item);
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("a1"));
    lab_ask(lab, item, "fresh", "1", 1, "wide", 1, lab_obs("b1"));
    expect(lab, 0, "repeats", "none");
    assert_false(names(lab_result(lab, ID), "not_measured", "fresh"));
    lab_set(lab, fresh, lab_obs("b1")); /* the bits of another seed are other bits */
    expect(lab, 0, "varies", "none");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "difference", ""), "execution");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *tally = json_object_get(json_object_get(entry, "axes"), "fresh");
    assert_int_equal(dp_json_int(tally, "comparisons", 0), 1); /* one process, on two inputs */
    assert_int_equal(dp_json_int(tally, "runs", 0), 2);
    assert_int_equal(dp_json_int(tally, "mismatches", 0), 1);
    assert_int_equal(dp_json_int(tally, "seeds", 0), 2);
    assert_int_equal(dp_json_int(tally, "seeds_varied", 0), 1);
    lab_set(lab, fresh, lab_skip("memory", "no memory")); /* a setting lost, not the case */
    expect(lab, 0, "repeats", "none");
    lab_set(lab, fresh, lab_error("crash"));
    expect(lab, 0, "repeats", "none"); /* one of two */
    lab_free(lab);
}

/* What crashes in each new process does not repeat; what was seen before stays. */
static void test_fails_in_each_new_process(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    const size_t base = lab_base(lab, item);
    lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_error("crash"));
    const size_t other = lab_ask(lab, item, "fresh", "1", 1, "wide", 1, lab_error("crash"));
    expect(lab, 0, "error", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "crash");
    lab_set(lab, other, lab_skip("memory", "no memory"));
    expect(lab, 0, "error", "");
    lab_set(lab, other, lab_obs("b1"));
    expect(lab, 0, "repeats", "none");
    lab_set(lab, other, lab_error("crash"));
    lab_set(lab, base, lab_obs("a7 c1"));
    expect(lab, 0, "varies", "none");
    lab_free(lab);
}

/* A first call that differs is what a fresh process with one run sees: its partner is the first class. */
static void test_fresh_compares_with_the_first_run(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    const size_t base = lab_base(lab, item);
    lab_set(lab, base, lab_obs("e1 a7"));
    lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("e1"));
    lab_judge(lab, 0);
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *tally = json_object_get(json_object_get(entry, "axes"), "fresh");
    assert_int_equal(dp_json_int(tally, "mismatches", -1), 0);
    lab_free(lab);
}

static void test_poison(void **state)
{
    static const char *const covers[] = {"", "'guarantee': {'level': 'unstated', 'covers': ['repeat']}"};
    for (size_t i = 0; i < 2; i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, covers[i]);
        lab_base(lab, item);
        const size_t poison = lab_ask(lab, item, "poison", "nan", 0, "wide", 2, lab_obs("a2"));
        expect(lab, 0, "repeats", "none");
        lab_set(lab, poison, lab_obs("f2"));
        expect(lab, 0, i == 0 ? "varies" : "repeats", "none");
        assert_int_equal(names(lab_result(lab, ID), "sensitive_to", "poison"), i == 1);
        lab_free(lab);
    }
}

static void test_threads(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    lab_base(lab, item);
    lab_ask(lab, item, "threads", "1", 0, "wide", 2, lab_obs("a2"));
    const size_t two = lab_ask(lab, item, "threads", "2", 0, "wide", 2, lab_obs("a2"));
    lab_ask(lab, item, "threads", "8", 0, "wide", 2, lab_skip("unsupported", "only 2 threads started"));
    lab_ask(lab, item, "threads", "1", 1, "wide", 2, lab_obs("e2"));
    lab_ask(lab, item, "threads", "2", 1, "wide", 2, lab_obs("e2"));
    expect(lab, 0, "repeats", "kept"); /* other inputs, other bits: no sensitivity */
    assert_false(names(lab_result(lab, ID), "sensitive_to", "threads"));
    lab_set(lab, two, lab_obs("f2"));
    expect(lab, 0, "repeats", "kept"); /* never a failure where the guarantee does not say so */
    assert_true(names(lab_result(lab, ID), "sensitive_to", "threads"));
    assert_int_equal(lab->judged.suspect_count, 0);
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *threads = json_object_get(json_object_get(entry, "axes"), "threads");
    const json_t *dropped = json_array_get(json_object_get(threads, "settings"), 2);
    assert_string_equal(dp_json_string(dropped, "dropped", ""), "unsupported: only 2 threads started");
    assert_false(json_is_true(json_object_get(threads, "confounded")));
    lab_free(lab);
}

/* What skips a case as a whole is said once, in its result; what skips settings, at each of them. */
static void test_skipped_as_one(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    lab_ask(lab, item, "repeat", "", 0, "wide", 8, lab_skip("not_built", "no header"));
    const size_t four = lab_ask(lab, item, "threads", "4", 0, "wide", 2, lab_skip("not_built", "no header"));
    expect(lab, 0, "skipped", "");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    assert_int_equal(json_object_size(json_object_get(entry, "axes")), 0);
    assert_string_equal(dp_json_string(lab_result(lab, ID), "text", ""), "no header");
    lab_set(lab, four, lab_skip("unsupported", "only 2 threads"));
    expect(lab, 0, "skipped", "");
    entry = lab_find(lab->judged.measurements, "case", ID);
    assert_non_null(json_object_get(json_object_get(entry, "axes"), "threads"));
    lab_free(lab);
}

static void test_repeat_fails_only_at_a_setting(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    lab_base(lab, item);
    lab_ask(lab, item, "threads", "1", 0, "wide", 2, lab_obs("a2"));
    const size_t four = lab_ask(lab, item, "threads", "4", 0, "wide", 2, lab_obs("e1 f1"));
    expect(lab, 0, "varies", "none");
    assert_null(json_object_get(lab_result(lab, ID), "reason"));
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    assert_string_equal(dp_json_string(json_object_get(entry, "worst"), "setting", ""), "4");
    lab_set(lab, four, lab_obs("a2"));
    expect(lab, 0, "repeats", "none");
    lab_free(lab);
}

static void test_confounded(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "'guarantee': {'level': 'run_to_run', 'invariant': ['batch']}");
    lab_base(lab, item);
    const size_t first = lab_ask(lab, item, "batch", "1/0", 0, "wide", 2, lab_obs("a2"));
    lab_ask(lab, item, "batch", "16/15", 0, "wide", 2, lab_error("crash"));
    expect(lab, 0, "repeats", "kept");
    const json_t *result = lab_result(lab, ID);
    assert_false(names(result, "sensitive_to", "batch"));
    assert_true(names(result, "not_measured", "batch")); /* promised along it, and not seen */
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *batch = json_object_get(json_object_get(entry, "axes"), "batch");
    assert_true(json_is_true(json_object_get(batch, "confounded")));
    lab_ask(lab, item, "batch", "2/1", 0, "wide", 2, lab_obs("a2"));
    lab_judge(lab, 0);
    assert_false(names(lab_result(lab, ID), "not_measured", "batch"));
    lab_set(lab, first, lab_error("timeout"));
    lab_judge(lab, 0);
    assert_string_equal(lab_observed(lab, ID), "repeats"); /* the setting is lost, not the case */
    lab_free(lab);
}

static void test_invariant(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "'guarantee': {'level': 'run_to_run', 'invariant': ['batch']}");
    lab_base(lab, item);
    const size_t one = lab_ask(lab, item, "batch", "1/0", 0, "wide", 2, lab_obs("a2"));
    const size_t two = lab_ask(lab, item, "batch", "16/15", 0, "wide", 2, lab_obs("f2"));
    expect(lab, 0, "untested", "");
    assert_int_equal(lab->judged.suspect_count, 1);
    lab_retest(lab, 1, one, lab_obs("a2"));
    lab_retest(lab, 1, two, lab_obs("f2"));
    expect(lab, 1, "repeats", "broken");
    assert_true(names(lab_result(lab, ID), "sensitive_to", "batch"));
    assert_int_equal(lab->judged.broken, 1);
    assert_int_equal(lab->judged.suspect_count, 0);
    assert_false(lab->judged.unconfirmed);
    lab_free(lab);
}

static void test_products(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    lab_base(lab, item);
    lab_ask(lab, item, "threads*batch", "1*1/0", 0, "wide", 2, lab_obs("a2"));
    lab_ask(lab, item, "threads*batch", "1*16/15", 0, "wide", 2, lab_obs("a2"));
    lab_ask(lab, item, "threads*batch", "4*1/0", 0, "wide", 2, lab_obs("b2"));
    const size_t last = lab_ask(lab, item, "threads*batch", "4*16/15", 0, "wide", 2, lab_obs("b2"));
    expect(lab, 0, "repeats", "none");
    assert_true(names(lab_result(lab, ID), "sensitive_to", "threads"));
    assert_false(names(lab_result(lab, ID), "sensitive_to", "batch"));
    lab_set(lab, last, lab_obs("e2"));
    lab_judge(lab, 0);
    assert_true(names(lab_result(lab, ID), "sensitive_to", "batch"));
    lab_ask(lab, item, "threads*repeat", "8", 1, "wide", 8, lab_obs("e7 f1"));
    expect(lab, 0, "varies", "none");
    lab_free(lab);
}

static void test_wrong(void **state)
{
    static const struct {
        const char *key;
        size_t at; /* request of lab_base: wide, wide, unit, exact */
        int number;
        const char *word;
        const char *observed;
    } rows[] = {
        {"unwritten", 0, 1, NULL, "wrong"},          {"unwritten", 0, 0, NULL, "repeats"},
        {"guard", 1, 0, "broken", "wrong"},          {"guard", 1, 0, "intact", "repeats"},
        {"error_over_bound", 2, 2, NULL, "wrong"},   {"error_over_bound", 3, 2, NULL, "wrong"},
        {"error_over_bound", 2, 1, NULL, "repeats"}, /* at the bound is within it */
        {"error_over_bound", 0, 2, NULL, "repeats"}, /* set wide decides bits, never wrong */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const char *const classes[] = {"a8", "b8", "c8", "d8"};
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
        for (int round = 0; round < 2; round++) {
            json_t *value = rows[i].word ? json_string(rows[i].word) : json_integer(rows[i].number);
            json_t *answer = lab_obs_with(classes[rows[i].at], rows[i].key, value);
            if (round == 0) {
                lab_set(lab, base + rows[i].at, answer);
            } else {
                lab_retest(lab, 1, base + rows[i].at, answer);
            }
        }
        expect(lab, 1, rows[i].observed, "kept"); /* wrong bits that repeat break no promise to repeat */
        const bool wrong = strcmp(rows[i].observed, "wrong") == 0;
        assert_int_equal(json_object_get(lab_result(lab, ID), "reason") != NULL, wrong);
        assert_int_equal(json_object_get(lab_result(lab, ID), "outputs") == NULL, wrong);
        lab_free(lab);
    }
}

static void test_wrong_at_a_setting(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    lab_base(lab, item);
    const size_t at =
        lab_ask(lab, item, "threads", "8", 0, "wide", 2, lab_obs_with("a2", "unwritten", json_integer(3)));
    lab_retest(lab, 1, at, lab_obs_with("a2", "unwritten", json_integer(5)));
    expect(lab, 1, "wrong", "none");
    assert_non_null(strstr(dp_json_string(lab_result(lab, ID), "reason", ""), "at threads 8"));
    lab_free(lab);
}

static void test_corruption(void **state)
{
    static const struct {
        const char *members;
        bool full;
        const char *observed;
    } rows[] = {
        {DIRECT, true, "wrong"},
        {"'arithmetic': 'transform'", true, "varies"}, /* exact sets are exact for direct sums only */
        {"'arithmetic': 'none'", true, "varies"},
        {DIRECT, false, "varies"}, /* a program that checks nothing is never called wrong */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, rows[i].members));
        lab_set(lab, base + 3, lab_obs("d7 e1"));
        lab_retest(lab, 1, base + 3, lab_obs("d6 e2"));
        if (!rows[i].full) {
            lab_set(lab, base + 2, lab_obs_with("c8", "guard", NULL));
        }
        expect(lab, 1, rows[i].observed, "none");
        assert_string_equal(dp_json_string(lab_result(lab, ID), "checked", ""),
                            rows[i].full ? "full" : "bits");
        lab_free(lab);
    }
}

static void test_checked_bits(void **state)
{
    static const char *const members[] = {"unwritten", "guard", "error_over_bound"};
    static const char *const classes[] = {"a8", "b8", "c8", "d8"};
    for (size_t i = 0; i < 3; i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, ""));
        for (size_t k = 0; k < 4; k++) {
            lab_set(lab, base + k, lab_obs_with(classes[k], members[i], NULL));
        }
        lab_judge(lab, 0);
        assert_string_equal(dp_json_string(lab_result(lab, ID), "checked", ""), "bits");
        lab_free(lab);
    }
}

/* The reference is asked for on sets unit and exact: what wide does not say costs nothing. */
static void test_checked_full_without_wide(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, ""));
    lab_set(lab, base, lab_obs_with("a8", "unwritten", NULL));
    lab_set(lab, base + 1, lab_obs_with("b8", "error_over_bound", NULL));
    lab_judge(lab, 0);
    assert_string_equal(dp_json_string(lab_result(lab, ID), "checked", ""), "full");
    lab_free(lab);
}

/* Where only another set varied, its runs are the evidence. */
static void test_only_unit_varies(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, ""));
    lab_set(lab, base + 2, lab_obs("c7 e1"));
    expect(lab, 0, "varies", "none");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *repeat = json_object_get(json_object_get(entry, "axes"), "repeat");
    assert_int_equal(dp_json_int(repeat, "seeds_varied", 0), 1);
    assert_int_equal(dp_json_int(repeat, "seeds", 0), 4);
    lab_free(lab);
}

static void test_error_and_skip(void **state)
{
    static const char *const errors[] = {"crash", "timeout", "protocol", "gone", "spawn"};
    for (size_t i = 0; i < 5; i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
        lab_set(lab, base + 1, lab_error(errors[i]));
        expect(lab, 0, "error", "");
        assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), errors[i]);
        lab_free(lab);
    }
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_set(lab, base, lab_skip("library_missing", "libfoo.so.1 was not found"));
    expect(lab, 0, "skipped", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "library_missing");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "text", ""), "libfoo.so.1 was not found");
    lab_set(lab, base, json_pack("{ss ss}", "type", "failure", "text", "out of luck"));
    expect(lab, 0, "error", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "failure");
    lab_set(lab, base, lab_skip("a reason of my own", ""));
    expect(lab, 0, "error", ""); /* the list of reasons is closed */
    lab_free(lab);
}

static void test_untested(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    const size_t base = lab_base(lab, item);
    lab_ask(lab, item, "fresh", "1", 0, "wide", 1, NULL);
    expect(lab, 0, "untested", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "interrupted");
    lab->given.count = base + 2; /* answers that were never grown are missing too */
    expect(lab, 0, "untested", "");
    lab_free(lab);

    lab = lab_new();
    lab_ask(lab, lab_case(lab, ID, PROMISED), "repeat", "", 0, "wide", 1, lab_obs("a1"));
    expect(lab, 0, "untested", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "fewer than 2 runs");
    lab_free(lab);
}

/* An observation that contradicts itself is an error of its program, never a verdict. */
static void test_lies(void **state)
{
    json_t *bad_class = json_pack("[{ss si si}]", "sha256", "beef", "runs", 8, "first_run", 0);
    json_t *answers[] = {
        lab_obs("a7"), /* 7 runs of 8 */
        lab_obs("a8 b1"),
        lab_obs("a0"),
        lab_obs_with("a8", "distinct", json_integer(2)),
        lab_obs_with("a4 b4", "distinct", json_integer(1)),
        lab_obs_with("a8", "classes", bad_class),
        lab_obs_with("a8", "classes", json_array()),
        lab_obs_with("a8", "classes", json_string("a")),
        lab_obs_with("a8", "guard", json_string("maybe")),
        lab_obs_with("a8", "guard", json_integer(1)),
        lab_obs_with("a8", "unwritten", json_integer(-1)),
        lab_obs_with("a8", "error_over_bound", json_string("0.1")),
        lab_obs_with("a8", "shape", json_pack("[i]", -4)),
        lab_obs_with("a8", "name", NULL),
        lab_obs_with("a8", "dtype", json_integer(3)),
        json_pack("{ss s[]}", "type", "observation", "outputs"),
        json_pack("{ss}", "type", "observation"),
        json_pack("{ss}", "type", "surprise"),
        json_array(),
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
        lab_set(lab, base, answers[i]);
        lab_judge(lab, 0);
        if (strcmp(lab_observed(lab, ID), "error") != 0) {
            fail_msg("answer %zu counts as '%s'", i, lab_observed(lab, ID));
        }
        assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "protocol");
        lab_free(lab);
    }
}

static void test_many_classes(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    lab_ask(lab, item, "repeat", "", 0, "wide", 2000,
            lab_obs_with("a9 b1 c1 d1 e1 f1 01 11", "distinct", json_integer(1024)));
    expect(lab, 0, "varies", "none");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const json_t *repeat = json_object_get(json_object_get(entry, "axes"), "repeat");
    assert_int_equal(dp_json_int(repeat, "distinct", 0), 1024);
    assert_int_equal(dp_json_int(repeat, "mismatches", 0), 1991);
    lab_free(lab);
}

/* A broken guarantee needs the difference again in a new process. */
static void test_confirmation(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_set(lab, base, lab_obs("a7 e1"));
    expect(lab, 0, "untested", "");
    assert_int_equal(lab->judged.suspect_count, 1);
    assert_int_equal(lab->judged.suspects[0], 0);
    assert_true(lab->judged.unconfirmed);
    lab_retest(lab, 1, base, lab_obs("a8"));
    expect(lab, 1, "untested", "");
    assert_int_equal(lab->judged.suspect_count, 1);
    lab_retest(lab, 2, base, lab_obs("a7 f1"));
    expect(lab, 2, "varies", "broken");
    assert_int_equal(lab->judged.suspect_count, 0);
    assert_int_equal(lab->judged.broken, 1);
    assert_false(lab->judged.unconfirmed);
    lab_free(lab);
}

static void test_never_again(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_set(lab, base, lab_obs("a7 e1"));
    for (int round = 1; round <= DP_RETEST_ROUNDS; round++) {
        lab_retest(lab, round, base, lab_obs("a8"));
    }
    expect(lab, DP_RETEST_ROUNDS, "untested", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""),
                        "a difference was seen once and not again in 3 new processes");
    assert_int_equal(lab->judged.suspect_count, 0);
    assert_true(lab->judged.unconfirmed);
    assert_int_equal(lab->judged.broken, 0);
    lab_free(lab);
}

/* The new process repeats its own bits, and they are not those of the first one. */
static void test_confirmed_by_other_bits(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    const size_t base = lab_base(lab, item);
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("e1"));
    lab_retest(lab, 1, base, lab_obs("a8"));
    lab_retest(lab, 1, fresh, lab_obs("a1"));
    expect(lab, 1, "untested", "");
    lab_retest(lab, 2, base, lab_obs("f8"));
    lab_retest(lab, 2, fresh, lab_obs("a1"));
    expect(lab, 2, "varies", "broken");
    lab_free(lab);
}

/* The first base process was the odd one: every retest differs from it and none within itself. */
static void test_one_odd_process(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    const size_t base = lab_base(lab, item);
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("e1"));
    for (int round = 1; round <= DP_RETEST_ROUNDS; round++) {
        lab_retest(lab, round, base, lab_obs("e8"));
        lab_retest(lab, round, fresh, lab_obs("e1"));
    }
    expect(lab, DP_RETEST_ROUNDS, "untested", "");
    assert_true(lab->judged.unconfirmed);
    lab_free(lab);
}

/* Other bits at another thread count are no difference between processes, also where repeat is a factor. */
static void test_products_confirm_nothing(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, PROMISED);
    const size_t base = lab_base(lab, item);
    const size_t product = lab_ask(lab, item, "threads*repeat", "4", 1, "wide", 8, lab_obs("f8"));
    lab_set(lab, base, lab_obs("a7 e1"));
    lab_retest(lab, 1, base, lab_obs("a8"));
    lab_retest(lab, 1, base + 1, lab_obs("b8"));
    lab_retest(lab, 1, product, lab_obs("f8"));
    expect(lab, 1, "untested", "");
    lab_free(lab);
}

static void test_retest_interrupted(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED));
    lab_set(lab, base, lab_obs("a7 e1"));
    lab_retest(lab, 1, base, NULL);
    expect(lab, 1, "untested", "");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "reason", ""), "interrupted");
    lab_free(lab);
}

/* wrong is confirmed by wrong alone; and a difference in a retest of a case that repeated is no finding. */
static void test_wrong_once(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, ""));
    lab_set(lab, base, lab_obs_with("a8", "guard", json_string("broken")));
    lab_retest(lab, 1, base, lab_obs("a7 e1"));
    expect(lab, 1, "untested", "");
    assert_int_equal(lab->judged.counts[DP_WRONG], 0);
    lab_free(lab);
}

/* Exact sums differed once; later only the others do: the guarantee is broken all the same. */
static void test_wrong_once_broken_again(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, PROMISED ", 'arithmetic': 'direct'"));
    lab_set(lab, base + 3, lab_obs("d7 e1"));
    expect(lab, 0, "untested", "");
    for (int round = 1; round <= DP_RETEST_ROUNDS; round++) {
        assert_int_equal(lab->judged.suspect_count, 1);
        lab_retest(lab, round, base, lab_obs(round == 1 ? "a7 e1" : "a8"));
        lab_retest(lab, round, base + 3, lab_obs("d8"));
        lab_judge(lab, round);
    }
    expect(lab, DP_RETEST_ROUNDS, "varies", "broken");
    assert_null(json_object_get(lab_result(lab, ID), "reason"));
    assert_false(lab->judged.unconfirmed);
    lab_free(lab);
}

static void test_two_outputs(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    json_t *answer = lab_obs("a8");
    json_array_append_new(json_object_get(answer, "outputs"), lab_output("d", "b7 e1"));
    lab_ask(lab, item, "repeat", "", 0, "wide", 8, answer);
    expect(lab, 0, "varies", "none");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    assert_string_equal(dp_json_string(json_object_get(entry, "worst"), "output", ""), "d");
    lab_free(lab);
}

static void test_results_are_sorted(void **state)
{
    struct lab *lab = lab_new();
    lab_base(lab, lab_case(lab, "cpu/gemm/two", ""));
    lab_base(lab, lab_case(lab, "cpu/conv/one", ""));
    lab_judge(lab, 0);
    assert_string_equal(dp_json_string(json_array_get(lab->judged.results, 0), "case", ""), "cpu/conv/one");
    assert_string_equal(dp_json_string(json_array_get(lab->judged.results, 0), "family", ""), "conv");
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_status_of_levels),
        cmocka_unit_test(test_promise_of_versions),
        cmocka_unit_test(test_varies_in_repeat),
        cmocka_unit_test(test_body_does_not_move),
        cmocka_unit_test(test_ways_are_one_result),
        cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_fails_in_each_new_process),
        cmocka_unit_test(test_fresh_compares_with_the_first_run),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_skipped_as_one),
        cmocka_unit_test(test_repeat_fails_only_at_a_setting),
        cmocka_unit_test(test_confounded),
        cmocka_unit_test(test_invariant),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_wrong_at_a_setting),
        cmocka_unit_test(test_corruption),
        cmocka_unit_test(test_checked_bits),
        cmocka_unit_test(test_checked_full_without_wide),
        cmocka_unit_test(test_only_unit_varies),
        cmocka_unit_test(test_error_and_skip),
        cmocka_unit_test(test_untested),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_many_classes),
        cmocka_unit_test(test_confirmation),
        cmocka_unit_test(test_never_again),
        cmocka_unit_test(test_one_odd_process),
        cmocka_unit_test(test_confirmed_by_other_bits),
        cmocka_unit_test(test_products_confirm_nothing),
        cmocka_unit_test(test_retest_interrupted),
        cmocka_unit_test(test_wrong_once),
        cmocka_unit_test(test_wrong_once_broken_again),
        cmocka_unit_test(test_two_outputs),
        cmocka_unit_test(test_results_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
