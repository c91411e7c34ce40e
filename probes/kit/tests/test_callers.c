/* SPDX-License-Identifier: Apache-2.0
 *
 * Host threads that call at once: an operation that mixes up its callers is found and told from one that is
 * merely disturbed, and from neighbours that do neither; nobody is left afterwards.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "probes/kit/callers.h"
#include "probes/kit/tests/fake.h"

static void pass_on(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* ---- operations: c = 2 a, in three ways ---- */

#define CELLS 30 /* of a fake of 6 x 5 */

/* By way of one buffer for all, as a library that keeps what it packed in a static one. */
static int crossing_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    static float packed[CELLS];
    const struct kit_buffers by_way = {.data = {packed, buffers->data[1], buffers->data[2]},
                                       .workspace = buffers->workspace};
    memcpy(packed, buffers->data[0], sizeof(packed));
    pass_on();
    return fake_run(call, &by_way);
}

/* By way of one for each thread. */
static int apart_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    static _Thread_local float packed[CELLS];
    const struct kit_buffers by_way = {.data = {packed, buffers->data[1], buffers->data[2]},
                                       .workspace = buffers->workspace};
    memcpy(packed, buffers->data[0], sizeof(packed));
    pass_on();
    return fake_run(call, &by_way);
}

/* Another last bit where somebody else calls, but nobody's data. */
static int disturbed_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    static atomic_int inside;
    bool others = atomic_fetch_add(&inside, 1) > 0;
    pass_on();
    others = others || inside > 1;
    const int rc = fake_run(call, buffers);
    if (others) {
        fake_flip(buffers->data[2]);
    }
    inside--;
    return rc;
}

static json_t *ask_callers(int (*run)(struct kit_call *call, const struct kit_buffers *buffers),
                           bool concurrent, const struct ask *ask, int *ret_rc)
{
    struct op op = fake_op;
    op.run = run ? run : fake_op.run;
    const struct op *const ops[] = {&op, NULL};
    const struct kit_program program = {.name = "fake",
                                        .backend = "cpu",
                                        .ops = ops,
                                        .set_threads = fake_set_threads,
                                        .concurrent = concurrent};
    struct kit_session session;
    const int prepared = fake_prepares - fake_releases;
    kit_session_init(&session, &program, &kit_cpu);
    json_t *const observation = ask_in(&session, ask, ret_rc);
    kit_session_drop(&session);
    assert_int_equal(fake_prepares - fake_releases, prepared);
    return observation;
}

static json_t *ask_once_at(int (*run)(struct kit_call *call, const struct kit_buffers *buffers),
                           const char *setting, int runs)
{
    int rc;
    json_t *const observation = ask_callers(
        run, true, &(struct ask){.mode = "good", .axis = "concurrency", .setting = setting, .runs = runs},
        &rc);
    assert_int_equal(rc, KIT_OK);
    return observation;
}

static int runs_of(const json_t *observation)
{
    const json_t *const classes = json_object_get(output_of(observation), "classes");
    int runs = 0;
    for (size_t i = 0; i < json_array_size(classes); i++) {
        runs += int_of(json_array_get(classes, i), "runs");
    }
    return runs;
}

/* ---- what is found ---- */

static void mixed_up_callers_are_found(void **state)
{
    static const struct {
        int (*run)(struct kit_call *call, const struct kit_buffers *buffers);
        bool differs, from_caller;
    } rows[] = {{crossing_run, true, true},
                {apart_run, false, false},
                {disturbed_run, true, false},
                {NULL, false, false}};
    json_t *const alone = ask_once(&(struct ask){.mode = "good"});
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *const observation = ask_once_at(rows[i].run, "4", 4 * 12);
        const json_t *const mismatch = json_object_get(observation, "mismatch");
        assert_string_equal(sha_of(observation),
                            sha_of(alone)); /* the first caller's, as in other requests */
        assert_int_equal(int_of(output_of(observation), "distinct") > 1, rows[i].differs);
        assert_int_equal(mismatch != NULL, rows[i].differs);
        assert_int_equal(json_is_true(json_object_get(mismatch, "from_caller")), rows[i].from_caller);
        assert_true(rows[i].differs || runs_of(observation) == 4 * 12);
        assert_true(int_of(class_of(observation, 0), "runs") >= 4); /* each was alone once */
        assert_string_equal(string_of(output_of(observation), "guard"), "intact");
        json_decref(observation);
    }
    json_decref(alone);
}

/* The suite refuses classes out of order, or two of one name. */
static void classes_of_all_callers_are_told_apart(void **state)
{
    json_t *const observation = ask_once_at(crossing_run, "8", 8 * 6);
    const json_t *const classes = json_object_get(output_of(observation), "classes");
    assert_true(json_array_size(classes) > 1);
    for (size_t i = 1; i < json_array_size(classes); i++) {
        assert_true(int_of(json_array_get(classes, i), "first_run") >
                    int_of(json_array_get(classes, i - 1), "first_run"));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(string_of(json_array_get(classes, i), "sha256"),
                                    string_of(json_array_get(classes, j), "sha256"));
        }
    }
    json_decref(observation);
}

static void what_callers_change_is_put_back(void **state)
{
    static const struct {
        const char *mode, *guard;
    } rows[] = {{"accumulate", "intact"},
                {"consumes", "intact"},
                {"scratch-overrun", "broken"},
                {"overrun", "broken"},
                {"touch-input", "broken"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int rc;
        json_t *const observation = ask_callers(
            NULL, true, &(struct ask){.mode = rows[i].mode, .axis = "concurrency", .setting = "2", .runs = 8},
            &rc);
        assert_int_equal(rc, KIT_OK);
        assert_string_equal(string_of(output_of(observation), "guard"), rows[i].guard);
        assert_true(i > 1 || int_of(output_of(observation), "distinct") == 1);
        json_decref(observation);
    }
}

static void a_callers_failure_is_told(void **state)
{
    int rc;
    ask_callers(NULL, true, &(struct ask){.mode = "fails", .axis = "concurrency", .setting = "4", .runs = 40},
                &rc);
    assert_int_equal(rc, KIT_FAILED);
    assert_non_null(strstr(kit_outcome()->text, "the fake library failed in run"));
    ask_callers(NULL, true, &(struct ask){.mode = "skips", .axis = "concurrency", .setting = "4"}, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
}

static void a_program_that_does_not_say_so_is_not_called(void **state)
{
    int rc;
    const struct ask ask = {.mode = "good", .axis = "concurrency", .setting = "4", .runs = 8};
    ask_callers(NULL, false, &ask, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->reason, "unsupported");
    json_decref(ask_callers(NULL, true, &ask, &rc));
    assert_int_equal(rc, KIT_OK);
    ask_callers(NULL, true, &(struct ask){.mode = "good", .axis = "concurrency", .setting = "4", .runs = 4},
                &rc);
    assert_int_equal(rc, KIT_SKIPPED); /* one alone and none at once */
}

/* ---- the threads ---- */

static struct {
    atomic_int inside, alone, together, looked[4];
} counts;

static int count_alone(void *context, int caller)
{
    assert_int_equal(atomic_fetch_add(&counts.inside, 1), 0);
    pass_on();
    counts.alone++;
    counts.inside--;
    return KIT_OK;
}

static int count_before(void *context, int caller)
{
    return counts.alone == 4 ? KIT_OK : kit_fail("a caller began before all were alone");
}

static int count_run(void *context, int caller)
{
    counts.together += atomic_fetch_add(&counts.inside, 1) > 0;
    pass_on();
    counts.inside--;
    return KIT_OK;
}

static int count_after(void *context, int caller, int run)
{
    return run == ++counts.looked[caller] ? KIT_OK : kit_fail("run %d is not the next", run);
}

static int count_threads(void)
{
    DIR *const folder = opendir("/proc/self/task");
    int count = -2;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

static void everyone_makes_its_runs_at_once(void **state)
{
    const struct kit_callers what = {4, 103, count_alone, count_before, count_run, count_after, NULL};
    assert_int_equal(kit_callers_do(&what), KIT_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(counts.looked[i], i < 3 ? 25 : 24);
    }
    assert_true(counts.together > 25);
    assert_int_equal(counts.inside, 0);
    const time_t limit = time(NULL) + 20; /* a thread that was waited for is listed a moment longer */
    while (count_threads() > 1 && time(NULL) < limit) {
        pass_on();
    }
    assert_int_equal(count_threads(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_makes_its_runs_at_once),
        cmocka_unit_test(mixed_up_callers_are_found),
        cmocka_unit_test(classes_of_all_callers_are_told_apart),
        cmocka_unit_test(what_callers_change_is_put_back),
        cmocka_unit_test(a_callers_failure_is_told),
        cmocka_unit_test(a_program_that_does_not_say_so_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
