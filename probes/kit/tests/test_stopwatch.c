/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis price: how many calls make a run, which runs count, which operations are never called twice; and
 * through a session, that the calls are made and the bits are those of the base setting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/stopwatch.h"
#include "probes/kit/tests/fake.h"

static const struct kit_shape plain = {.count = 2, .operand = {{.role = KIT_IN}, {.role = KIT_OUT}}};
static const struct kit_shape inout = {.count = 2, .operand = {{.role = KIT_IN}, {.role = KIT_INOUT}}};
static const struct kit_shape consumed = {.count = 2, .operand = {{.role = KIT_CONSUMED}, {.role = KIT_OUT}}};

/* Takes what the runs took, in order; returns `time`. Owned. */
static json_t *take(const struct kit_shape *shape, const int64_t *ns, int runs)
{
    struct kit_stopwatch watch;
    json_t *time = json_object();
    kit_stopwatch_start(&watch, shape, runs);
    for (int run = 0; run < runs; run++) {
        const int64_t one = kit_stopwatch_take(&watch, run, ns[run]);
        assert_true(one >= 1);
    }
    kit_stopwatch_tell(&watch, time);
    kit_stopwatch_free(&watch);
    return time;
}

static void check(const struct kit_shape *shape, const int64_t *ns, int runs, double median, int calls)
{
    json_t *time = take(shape, ns, runs);
    assert_true(json_number_value(json_object_get(time, "median_ns")) == median);
    assert_int_equal(int_of(time, "calls"), calls);
    json_decref(time);
}

/* A first run of 50 us is cold: two calls make the second, 100 calls of 1 us each every other. */
static void calls_are_counted(void **state)
{
    static const int64_t ns[] = {50000, 2000, 110000, 100000, 120000, 90000, 500000};
    check(&plain, ns, 7, 1100, 100);
}

static void long_ones_are_called_once(void **state)
{
    static const int64_t ns[] = {900000, 300000, 200000, 200002, 200001, 100000, 900000};
    check(&plain, ns, 7, 200001, 1); /* the first two do not count */
}

static void what_changes_its_inputs_is_called_once(void **state)
{
    static const int64_t ns[] = {50000, 1000, 1100, 1000, 1200, 900, 5000};
    check(&inout, ns, 7, 1100, 1);
    check(&consumed, ns, 7, 1100, 1);
}

static void few_runs_and_a_coarse_clock(void **state)
{
    static const int64_t one[] = {7000}, none[] = {0, 0, 0};
    check(&plain, one, 1, 7000, 14);
    check(&plain, none, 3, 0, 10000); /* never more calls than this, however short */
}

static void a_session_times_what_it_observes(void **state)
{
    json_t *base = ask_once(&(struct ask){.mode = "good"});
    json_t *priced = ask_once(&(struct ask){.mode = "good", .axis = "price", .setting = "3"});
    json_t *once = ask_once(&(struct ask){.mode = "accumulate", .axis = "price", .setting = "4"});
    assert_true(json_equal(output_of(base), output_of(priced)));
    const json_t *time = json_object_get(priced, "time");
    assert_true(json_number_value(json_object_get(time, "median_ns")) > 0);
    assert_true(int_of(time, "calls") > 1);
    assert_null(json_object_get(json_object_get(base, "time"), "calls"));
    assert_int_equal(int_of(json_object_get(once, "time"), "calls"), 1);
    assert_int_equal(int_of(output_of(once), "distinct"), 1); /* put back each time */
    json_decref(base);
    json_decref(priced);
    json_decref(once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(long_ones_are_called_once),
        cmocka_unit_test(what_changes_its_inputs_is_called_once),
        cmocka_unit_test(few_runs_and_a_coarse_clock),
        cmocka_unit_test(a_session_times_what_it_observes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
