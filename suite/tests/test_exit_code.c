/* SPDX-License-Identifier: Apache-2.0
 *
 * The exit code over its whole precedence: every subset of the conditions that can decide it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/err.h"
#include "suite/judge/judge.h"

/* Conditions in the order of precedence, with the code each asks for when nothing before it holds. */
enum condition {
    SIGNAL,
    USAGE,
    DATA,
    CONTROL,
    STACK,
    REQUIRED,
    LOST,
    GATE_SILENT,
    GATE_FAILED,
    GATE_PASSED,
    WRONG,
    BROKEN,
    CAPPED,
    VARIES,
    ERRORS,
    UNCONFIRMED,
    INSENSITIVE,
    NOTHING_RAN,
    CONDITION_MAX
};

static struct dp_verdict make(unsigned set, const char *fail_on)
{
    struct dp_verdict verdict = {.fail_on = fail_on, .ran = 7};
    verdict.signal = set & 1u << SIGNAL ? 15 : 0;
    verdict.usage_error = set & 1u << USAGE;
    verdict.data_error = set & 1u << DATA;
    verdict.control_misbehaved = set & 1u << CONTROL;
    verdict.stack_mismatch = set & 1u << STACK;
    verdict.required_absent = set & 1u << REQUIRED;
    verdict.report_lost = set & 1u << LOST;
    /* a gate says one thing; of several asked for here the first counts */
    verdict.gate = set & 1u << GATE_SILENT   ? DP_GATE_NO_VERDICT
                   : set & 1u << GATE_FAILED ? DP_GATE_FAILED
                   : set & 1u << GATE_PASSED ? DP_GATE_PASSED
                                             : DP_GATE_NONE;
    verdict.wrong = set & 1u << WRONG ? 1 : 0;
    verdict.broken = set & 1u << BROKEN ? 2 : 0;
    verdict.wrong_under = set & 1u << CAPPED ? 1 : 0;
    verdict.varies = set & 1u << VARIES ? 3 : 0;
    verdict.errors = set & 1u << ERRORS ? 5 : 0;
    verdict.unconfirmed = set & 1u << UNCONFIRMED;
    verdict.insensitive = set & 1u << INSENSITIVE;
    verdict.ran = set & 1u << NOTHING_RAN ? 0 : 7;
    return verdict;
}

/* The code that a condition asks for under a fail-on word; -1: it does not decide. */
static int code_of(enum condition condition, const char *fail_on)
{
    const bool findings = strcmp(fail_on, "broken") == 0 || strcmp(fail_on, "varies") == 0;
    static const int codes[CONDITION_MAX] = {
        [SIGNAL] = 143,    [USAGE] = 64,      [DATA] = 65,        [CONTROL] = 2,     [STACK] = 2,
        [REQUIRED] = 2,    [LOST] = 2,        [GATE_SILENT] = 2,  [GATE_FAILED] = 1, [GATE_PASSED] = 0,
        [WRONG] = 1,       [CAPPED] = 1,      [BROKEN] = 1,       [VARIES] = 1,      [ERRORS] = 2,
        [UNCONFIRMED] = 2, [INSENSITIVE] = 2, [NOTHING_RAN] = 77,
    };
    if ((condition == WRONG || condition == BROKEN || condition == CAPPED) && !findings) {
        return -1;
    }
    if (condition == VARIES && strcmp(fail_on, "varies") != 0) {
        return -1;
    }
    return codes[condition];
}

/* What the code is called where exit codes are described: 143 is a case of 128+N. */
static void assert_documented(int code)
{
    for (size_t i = 0; i < dp_exit_meaning_count; i++) {
        const struct dp_exit_meaning *row = &dp_exit_meanings[i];
        if (row->code == code || (row->code == DP_EXIT_SIGNAL && code > DP_EXIT_SIGNAL)) {
            return;
        }
    }
    fail_msg("exit code %d is nowhere described", code);
}

static void test_every_subset(void **state)
{
    static const char *const words[] = {"broken", "varies", "never"};
    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
        for (unsigned set = 0; set < 1u << CONDITION_MAX; set++) {
            const struct dp_verdict verdict = make(set, words[w]);
            int expected = 0;
            for (int i = CONDITION_MAX - 1; i >= 0; i--) {
                const int code = set & 1u << i ? code_of((enum condition)i, words[w]) : -1;
                expected = code >= 0 ? code : expected;
            }
            assert_documented(dp_exit_code(&verdict));
            if (dp_exit_code(&verdict) != expected) {
                fail_msg("set 0x%x, fail-on %s: %d, not %d", set, words[w], dp_exit_code(&verdict), expected);
            }
        }
    }
}

static void test_allow_insensitive(void **state)
{
    struct dp_verdict verdict = {.insensitive = true, .allow_insensitive = true, .ran = 3};
    assert_int_equal(dp_exit_code(&verdict), 0);
    verdict.ran = 0; /* everything repeated, and repeating says nothing here */
    assert_int_equal(dp_exit_code(&verdict), 0);
    verdict.errors = 1;
    assert_int_equal(dp_exit_code(&verdict), 2);
    verdict.broken = 1;
    assert_int_equal(dp_exit_code(&verdict), 1);
}

static void test_default_is_broken(void **state)
{
    const struct dp_verdict broken = {.broken = 1, .ran = 1};
    const struct dp_verdict varies = {.varies = 1, .ran = 1};
    assert_int_equal(dp_exit_code(&broken), 1);
    assert_int_equal(dp_exit_code(&varies), 0);
}

static void test_reason(void **state)
{
    const struct dp_verdict good = {.ran = 1};
    const struct dp_verdict wrong = {.wrong = 1, .broken = 1, .ran = 1};
    const struct dp_verdict signal = {.signal = 2};
    assert_string_equal(dp_exit_reason(&good), "no finding");
    assert_string_equal(dp_exit_reason(&wrong), "an operation gives wrong results");
    assert_string_equal(dp_exit_reason(&signal), "stopped by a signal");
    assert_int_equal(dp_exit_code(&signal), 130);
}

static void test_meanings(void **state)
{
    int last = -1;
    for (size_t i = 0; i < dp_exit_meaning_count; i++) {
        const struct dp_exit_meaning *row = &dp_exit_meanings[i];
        char shown[16];
        snprintf(shown, sizeof(shown), row->code == DP_EXIT_SIGNAL ? "%d+N" : "%d", row->code);
        assert_string_equal(row->shown, shown);
        assert_true(row->code > last && row->meaning[0]);
        last = row->code;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meanings),
        cmocka_unit_test(test_every_subset),
        cmocka_unit_test(test_allow_insensitive),
        cmocka_unit_test(test_default_is_broken),
        cmocka_unit_test(test_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
