/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of differences: each where it must be given, and beside it where it must not; first the rules over
 * their facts, then the facts from answers.
 */
#include "suite/judge/diagnosis.h"
#include "suite/tests/lab.h"

#define ID "cpu/gemm/one"
#define DIRECT "'arithmetic': 'direct'"

static void expect_kind(const struct dp_traits *traits, const char *kind)
{
    char *reason = NULL;
    const char *found = dp_diagnose(traits, &reason);
    assert_string_equal(found ? found : "none", kind);
    assert_true(!found || (reason && reason[0]));
    free(reason);
}

/* One row, one set of facts. */
static void rules_and_their_neighbours(void **state)
{
    static const struct {
        const char *kind;
        struct dp_traits traits;
    } rows[] = {
        {"none", {.error_over_bound = -1}},
        {"unknown", {.differs = true, .error_over_bound = -1}},
        {"unwritten", {.differs = true, .unwritten = "c", .exact_varies = true, .direct = true}},
        {"uninitialised_read", {.differs = true, .follows_poison = true, .error_over_bound = -1}},
        {"cross_talk",
         {.differs = true,
          .caller = "4",
          .varied = 1,
          .mismatches = 1,
          .direct = true,
          .error_over_bound = 50}},
        {"corruption",
         {.differs = true, .direct = true, .varied = 1, .exact_varies = true, .error_over_bound = -1}},
        {"corruption", /* one bit in each element, and too far */
         {.differs = true,
          .direct = true,
          .varied = 1,
          .mismatches = 1,
          .flipped = "0x40",
          .error_over_bound = 9}},
        {"reordering", /* one bit in each element is what neighbouring numbers differ in */
         {.differs = true,
          .direct = true,
          .varied = 1,
          .mismatches = 1,
          .flipped = "0x1",
          .error_over_bound = 0.1}},
        {"unknown", /* exact inputs make no exact sums where the terms round */
         {.differs = true, .varied = 1, .exact_varies = true, .error_over_bound = -1}},
        {"corruption",
         {.differs = true, .plain = true, .varied = 1, .mismatches = 1, .error_over_bound = 1e308}},
        {"unknown", /* several results are right */
         {.differs = true, .plain = true, .varied = 1, .mismatches = 1, .error_over_bound = 0}},
        {"first_call",
         {.differs = true,
          .direct = true,
          .varied = 1,
          .mismatches = 1,
          .first_call = true,
          .error_over_bound = 9}},
        {"selection", {.differs = true, .selection = true, .error_over_bound = -1}},
        {"race_sized",
         {.differs = true, .direct = true, .varied = 1, .mismatches = 1, .error_over_bound = 1.01}},
        {"reordering",
         {.differs = true, .direct = true, .varied = 1, .mismatches = 1, .error_over_bound = 1}},
        {"unknown", /* normwise: no bound for each element, and one that is not direct is none to judge by */
         {.differs = true, .varied = 1, .mismatches = 1, .error_over_bound = 3}},
        {"permutation",
         {.differs = true,
          .plain = true,
          .varied = 1,
          .mismatches = 1,
          .permutation = true,
          .error_over_bound = 0}},
        {"race_sized", /* an order of elements that no reference knows */
         {.differs = true,
          .direct = true,
          .varied = 1,
          .mismatches = 1,
          .permutation = true,
          .error_over_bound = 2}},
        {"unknown", /* one observation told no mismatch, and no exact sums were asked for */
         {.differs = true, .direct = true, .varied = 2, .mismatches = 1, .error_over_bound = 0.1}},
        {"reordering", {.differs = true, .direct = true, .order_varies = true, .error_over_bound = -1}},
        {"race_sized", /* another order too, but more than that */
         {.differs = true,
          .direct = true,
          .order_varies = true,
          .varied = 1,
          .mismatches = 1,
          .error_over_bound = 4}},
        {"reordering", /* half of the comparisons differ; five of five that repeat are no chance */
         {.differs = true,
          .direct = true,
          .varied = 1,
          .error_over_bound = -1,
          .unlike = 7,
          .comparisons = 14,
          .exact_comparisons = 5}},
        {"unknown", /* four of four may be */
         {.differs = true,
          .direct = true,
          .varied = 1,
          .error_over_bound = -1,
          .unlike = 7,
          .comparisons = 14,
          .exact_comparisons = 4}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_kind(&rows[i].traits, rows[i].kind);
    }
}

/* ---- from answers ---- */

static json_t *with_mismatch(const char *classes, const char *members)
{
    char *text = dp_printf("{'runs': 1, 'output': 'c'%s%s}", members[0] ? ", " : "", members);
    for (char *at = text; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    json_t *observation = lab_obs(classes);
    json_t *mismatch = json_loads(text, 0, NULL);
    assert_non_null(mismatch);
    json_object_set_new(observation, "mismatch", mismatch);
    free(text);
    return observation;
}

static const char *kind_of(struct lab *lab)
{
    lab_judge(lab, 0);
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    return dp_json_string(json_object_get(entry, "diagnosis"), "kind", "none");
}

static void test_nothing_differs(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    lab_base(lab, item);
    lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("a1"));
    assert_string_equal(kind_of(lab), "none");
    /* other numbers of threads are expected to give other bits, and no pair of outputs was seen */
    lab_ask(lab, item, "threads", "1", 0, "wide", 2, lab_obs("e2"));
    lab_ask(lab, item, "threads", "4", 0, "wide", 2, lab_obs("f2"));
    assert_string_equal(kind_of(lab), "none");
    lab_free(lab);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *arithmetic, *mismatch, *kind;
    } rows[] = {
        {DIRECT, "'error_over_bound': 0.3", "reordering"},
        {DIRECT, "'error_over_bound': 3", "race_sized"},
        {DIRECT, "'error_over_bound': 3, 'flipped': '0x80000'", "corruption"},
        {DIRECT, "'error_over_bound': 0.3, 'kind': 'permutation'", "permutation"},
        {"'arithmetic': 'reduced'", "'kind': 'values'", "unknown"},
        {"'arithmetic': 'none'", "'error_over_bound': 3", "corruption"},
        {"'arithmetic': 'none'", "'error_over_bound': 0", "unknown"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, rows[i].arithmetic));
        lab_set(lab, base + 1, with_mismatch("b7 e1", rows[i].mismatch));
        assert_string_equal(kind_of(lab), rows[i].kind);
        lab_free(lab);
    }
}

/* What one observation says holds for all only if the others say so too. */
static void test_several_mismatches(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, DIRECT));
    lab_set(lab, base,
            with_mismatch("a7 e1", "'error_over_bound': 0.3, 'kind': 'permutation', 'flipped': '0x8'"));
    lab_set(lab, base + 1,
            with_mismatch("b7 e1", "'error_over_bound': 0.3, 'kind': 'values', 'flipped': '0x8'"));
    assert_string_equal(kind_of(lab), "reordering");
    lab_set(lab, base + 1,
            with_mismatch("b7 e1", "'error_over_bound': 7, 'kind': 'values', 'flipped': '0x4'"));
    assert_string_equal(kind_of(lab), "corruption");
    lab_set(lab, base, with_mismatch("a7 e1", "'error_over_bound': 0.3"));
    assert_string_equal(kind_of(lab), "race_sized"); /* not each in one bit */
    lab_set(lab, base + 1, with_mismatch("b7 e1", "'flipped': '0x4'"));
    assert_string_equal(kind_of(lab), "unknown"); /* one without a bound */
    lab_free(lab);
}

static void test_exact_sums(void **state)
{
    static const struct {
        const char *arithmetic, *wide, *exact, *kind;
    } rows[] = {
        {DIRECT, "a1 e1 f1 11 21 31 41 51", "d8", "reordering"},
        {DIRECT, "a7 e1", "d8", "unknown"}, /* so rare that seven comparisons of exact sums prove nothing */
        {DIRECT, "a1 e1 f1 11 21 31 41 51", "d7 61", "corruption"},
        {"'arithmetic': 'transform'", "a1 e1 f1 11 21 31 41 51", "d7 61", "unknown"},
        {"'arithmetic': 'transform'", "a1 e1 f1 11 21 31 41 51", "d8", "unknown"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const size_t base = lab_base(lab, lab_case(lab, ID, rows[i].arithmetic));
        lab_set(lab, base, lab_obs(rows[i].wide));
        lab_set(lab, base + 3, lab_obs(rows[i].exact));
        assert_string_equal(kind_of(lab), rows[i].kind);
        lab_free(lab);
    }
}

/* A rare difference may happen to meet the first run. */
static void test_first_call(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    const size_t base = lab_base(lab, item);
    lab_set(lab, base, lab_obs("e1 a7"));
    assert_string_equal(kind_of(lab), "unknown"); /* seen once, by one process */
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("e1"));
    assert_string_equal(kind_of(lab), "first_call"); /* a new process' first run is like it */
    lab_ask(lab, item, "fresh", "2", 0, "wide", 1, lab_obs("a1"));
    assert_string_equal(kind_of(lab), "unknown"); /* another one's is like the others */
    lab_set(lab, fresh, lab_obs("a1"));
    assert_string_equal(kind_of(lab), "unknown");
    lab_set(lab, fresh, NULL);
    lab_set(lab, fresh + 1, NULL);
    lab_set(lab, base + 1, lab_obs("f1 b7"));
    assert_string_equal(kind_of(lab), "first_call"); /* twice */
    lab_set(lab, base + 1, lab_obs("b7 f1"));
    assert_string_equal(kind_of(lab), "unknown"); /* the last run is none */
    lab_free(lab);
}

static void test_selection(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    const size_t base = lab_base(lab, item);
    lab_set(lab, base, lab_chosen("a8", "one"));
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_chosen("e1", "two"));
    assert_string_equal(kind_of(lab), "selection");
    lab_set(lab, fresh, lab_chosen("e1", "one"));
    assert_string_equal(kind_of(lab), "unknown"); /* the same choice, other bits */
    lab_set(lab, fresh, lab_chosen("a1", "two"));
    assert_string_equal(kind_of(lab), "none"); /* another choice, the same bits */
    lab_free(lab);
}

static void test_uninitialised_read(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    const size_t base = lab_base(lab, item);
    const size_t poison = lab_ask(lab, item, "poison", "0x5a", 0, "wide", 8, lab_obs("e8"));
    assert_string_equal(kind_of(lab), "uninitialised_read");
    const size_t nan = lab_ask(lab, item, "poison", "nan", 0, "wide", 8, lab_obs("f8"));
    assert_string_equal(kind_of(lab), "uninitialised_read");
    lab_set(lab, nan, lab_obs("a8")); /* one pattern happens to be harmless */
    assert_string_equal(kind_of(lab), "uninitialised_read");
    lab_set(lab, nan,
            lab_obs("e8")); /* two patterns and the same other bits: the pattern is not what counts */
    assert_string_equal(kind_of(lab), "unknown");
    lab_set(lab, nan, lab_obs("f7 11")); /* no pattern that repeats its bits */
    assert_string_equal(kind_of(lab), "unknown");
    lab_set(lab, nan, lab_obs("f8"));
    lab_set(lab, base + 1, lab_obs("b7 11")); /* the case varies by itself */
    assert_string_equal(kind_of(lab), "unknown");
    lab_set(lab, base + 1, lab_obs("b8"));
    lab_set(lab, poison, lab_obs("a8"));
    lab_set(lab, nan, lab_obs("a8"));
    assert_string_equal(kind_of(lab), "none");
    lab_free(lab);
}

static void test_unwritten(void **state)
{
    struct lab *lab = lab_new();
    const size_t base = lab_base(lab, lab_case(lab, ID, DIRECT));
    lab_set(lab, base + 2, lab_obs_with("c8", "unwritten", json_integer(3)));
    assert_string_equal(kind_of(lab), "unwritten");
    assert_string_equal(lab_observed(lab, ID), "untested"); /* to be confirmed */
    lab_set(lab, base + 2, lab_obs_with("c8", "unwritten", json_integer(0)));
    assert_string_equal(kind_of(lab), "none");
    lab_free(lab);
}

static void test_cross_talk(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    const size_t base = lab_base(lab, item);
    const size_t lanes = lab_ask(lab, item, "concurrency", "4", 0, "wide", 8,
                                 with_mismatch("a7 e1", "'from_caller': true, 'error_over_bound': 40"));
    assert_string_equal(kind_of(lab), "cross_talk");
    lab_set(lab, lanes, with_mismatch("a7 e1", "'from_caller': false, 'error_over_bound': 40"));
    assert_string_equal(kind_of(lab), "race_sized");
    lab_set(lab, lanes, lab_obs("a8"));
    lab_set(lab, base,
            with_mismatch("a7 e1", "'from_caller': true, 'error_over_bound': 40")); /* no other is there */
    assert_string_equal(kind_of(lab), "race_sized");
    lab_free(lab);
}

static void test_order(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    lab_base(lab, item);
    lab_ask(lab, item, "order", "512", 0, "wide", 1,
            json_pack("{ss s[{si}]}", "type", "order", "views", "changed", 0));
    assert_string_equal(kind_of(lab), "none");
    lab_ask(lab, item, "threads*order", "4*512", 0, "wide", 1,
            json_pack("{ss s[{si}]}", "type", "order", "views", "changed", 3));
    assert_string_equal(kind_of(lab), "reordering");
    lab_free(lab);
}

/* Bits of another process, along an axis that the guarantee speaks of. */
static void test_unknown(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, DIRECT);
    lab_base(lab, item);
    lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("e1"));
    assert_string_equal(kind_of(lab), "unknown");
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    const char *reason = dp_json_string(json_object_get(entry, "diagnosis"), "reason", "");
    assert_non_null(strstr(reason, "are not compared element by element"));
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_and_their_neighbours),
        cmocka_unit_test(test_nothing_differs),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_several_mismatches),
        cmocka_unit_test(test_exact_sums),
        cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_uninitialised_read),
        cmocka_unit_test(test_unwritten),
        cmocka_unit_test(test_cross_talk),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
