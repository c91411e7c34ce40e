/* SPDX-License-Identifier: Apache-2.0
 *
 * Delta debugging: parts known by construction are found, whole and no larger, in few tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "suite/attribute/ddmin.h"

#define MOST 64

/* Needs all of a set of items. */
struct rule {
    uint64_t needs;
    size_t tests;
};

static bool holds(void *context, const size_t *part, size_t count)
{
    struct rule *rule = context;
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++) {
        set |= UINT64_C(1) << part[i];
    }
    rule->tests++;
    return (set & rule->needs) == rule->needs;
}

static uint64_t reduced(struct rule *rule, size_t count, size_t *ret_left)
{
    size_t items[MOST];
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++) {
        items[i] = i;
    }
    *ret_left = dp_ddmin(items, count, holds, rule);
    for (size_t i = 0; i < *ret_left; i++) {
        assert_true(i == 0 || items[i] > items[i - 1]);
        set |= UINT64_C(1) << items[i];
    }
    return set;
}

static void test_every_pair_and_single(void **state)
{
    for (size_t count = 1; count <= 12; count++) {
        for (size_t a = 0; a < count; a++) {
            for (size_t b = a; b < count; b++) {
                struct rule rule = {.needs = UINT64_C(1) << a | UINT64_C(1) << b};
                size_t left;
                assert_int_equal(reduced(&rule, count, &left), rule.needs);
                assert_int_equal(left, a == b ? 1 : 2);
            }
        }
    }
}

static void test_one_of_many_takes_few_tests(void **state)
{
    for (size_t a = 0; a < MOST; a++) {
        struct rule rule = {.needs = UINT64_C(1) << a};
        size_t left;
        assert_int_equal(reduced(&rule, MOST, &left), rule.needs);
        assert_true(rule.tests <= 12); /* two for each halving of 64 */
    }
}

static void test_all_are_needed(void **state)
{
    struct rule rule = {.needs = UINT64_MAX >> (64 - 16)};
    size_t left;
    assert_int_equal(reduced(&rule, 16, &left), rule.needs);
    assert_int_equal(left, 16);
    assert_true(rule.tests <= 16 * 16 + 3 * 16); /* the paper's bound */
}

static void test_scattered_set(void **state)
{
    struct rule rule = {.needs =
                            UINT64_C(1) << 3 | UINT64_C(1) << 17 | UINT64_C(1) << 40 | UINT64_C(1) << 63};
    size_t left;
    assert_int_equal(reduced(&rule, MOST, &left), rule.needs);
    assert_true(rule.tests <= MOST * MOST + 3 * MOST);
}

static void test_single_and_none(void **state)
{
    struct rule rule = {.needs = 1};
    size_t left;
    assert_int_equal(reduced(&rule, 1, &left), 1);
    assert_int_equal(rule.tests, 0);
    assert_int_equal(reduced(&rule, 0, &left), 0);
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_and_single), cmocka_unit_test(test_one_of_many_takes_few_tests),
        cmocka_unit_test(test_all_are_needed),        cmocka_unit_test(test_scattered_set),
        cmocka_unit_test(test_single_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
