/* SPDX-License-Identifier: Apache-2.0
 *
 * Axes that a backend varies by a function of its own: when it is called, what becomes of a failure, and that
 * a backend without it is never asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/tests/fake.h"

static struct {
    int begun, ended;
    enum kit_busy work; /* under way */
    int rc;             /* of beginning */
} seen;

static int watch_busy(enum kit_busy work)
{
    seen.begun += work != KIT_IDLE;
    seen.ended += work == KIT_IDLE;
    seen.work = work;
    if (work == KIT_IDLE) {
        kit_fail("the text of the end");
        return KIT_OK;
    }
    return seen.rc ? kit_skip("unsupported", "nothing runs beside") : KIT_OK;
}

static int unaccompanied; /* runs that nothing goes on beside */

static bool watch_beside(void)
{
    return unaccompanied-- <= 0;
}

static struct {
    int rounds, lanes; /* asked for; of the last round */
    int apart;         /* rounds from this one on are not at once */
} once;

static int watch_at_once(int lanes, int (*run)(void *context, int lane), void *context, bool *ret_at_once)
{
    int rc = KIT_OK;
    once.lanes = lanes;
    *ret_at_once = ++once.rounds < once.apart;
    for (int lane = 0; lane < lanes && !rc; lane++) {
        rc = run(context, lane);
    }
    return rc;
}

static json_t *ask_backend(const struct kit_backend *backend, const struct ask *ask, int *ret_rc)
{
    struct kit_session session;
    kit_session_init(&session, &fake_program, backend);
    json_t *const observation = ask_in(&session, ask, ret_rc);
    kit_session_drop(&session);
    return observation;
}

static struct kit_backend watched(void)
{
    struct kit_backend backend = kit_cpu;
    backend.busy = watch_busy;
    backend.beside = watch_beside;
    backend.at_once = watch_at_once;
    backend.callers = false;
    memset(&seen, 0, sizeof(seen));
    memset(&once, 0, sizeof(once));
    once.apart = 1000;
    return backend;
}

static void other_work_is_there_before_each_run(void **state)
{
    const struct kit_backend backend = watched();
    int rc;
    json_t *observation = ask_backend(&backend, &(struct ask){.mode = "good", .axis = "repeat"}, &rc);
    assert_int_equal(rc, KIT_OK);
    assert_int_equal(seen.begun + seen.ended, 0);
    char *const alone = strdup(sha_of(observation));
    json_decref(observation);
    observation = ask_backend(
        &backend, &(struct ask){.mode = "good", .axis = "busy", .setting = "memory", .runs = 9}, &rc);
    assert_int_equal(rc, KIT_OK);
    assert_int_equal(seen.begun, 9);
    assert_int_equal(seen.ended, 1);
    assert_string_equal(sha_of(observation), alone);
    free(alone);
    json_decref(observation);
}

/* Also after a failure, whose text is the one that counts. */
static void other_work_is_ended(void **state)
{
    const struct kit_backend backend = watched();
    int rc;
    ask_backend(&backend, &(struct ask){.mode = "fails", .axis = "busy", .setting = "compute"}, &rc);
    assert_int_equal(rc, KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "the fake library failed in run 2");
    assert_int_equal(seen.begun, 3);
    assert_int_equal(seen.ended, 1);
    assert_int_equal(seen.work, KIT_IDLE);
    seen.rc = KIT_SKIPPED;
    ask_backend(&backend, &(struct ask){.mode = "good", .axis = "busy", .setting = "compute"}, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->text, "nothing runs beside");
}

/* Five runs and then others: with one buffer for all lanes the second round would be of one kind. */
static void runs_at_once_have_outputs_of_their_own(void **state)
{
    const struct kit_backend backend = watched();
    int rc;
    json_t *const alone = ask_backend(&backend, &(struct ask){.mode = "late", .runs = 8}, &rc);
    assert_int_equal(once.rounds, 0);
    assert_int_equal(fake_lanes, 1);
    json_t *const together = ask_backend(
        &backend, &(struct ask){.mode = "late", .axis = "concurrency", .setting = "4", .runs = 8}, &rc);
    assert_int_equal(rc, KIT_OK);
    assert_int_equal(once.rounds, 2);
    assert_int_equal(fake_lanes, 4);
    assert_int_equal(int_of(class_of(together, 0), "runs"), 5);
    assert_int_equal(int_of(class_of(together, 1), "first_run"), 5);
    assert_true(json_equal(json_object_get(together, "outputs"), json_object_get(alone, "outputs")));
    json_decref(alone);
    json_decref(together);
    /* what is left for the last round */
    json_decref(ask_backend(
        &backend, &(struct ask){.mode = "good", .axis = "concurrency", .setting = "16", .runs = 19}, &rc));
    assert_int_equal(rc, KIT_OK);
    assert_int_equal(once.lanes, 3);
}

static void every_lane_is_restored_and_guarded(void **state)
{
    static const struct {
        const char *mode, *guard;
    } rows[] = {{"accumulate", "intact"}, {"good", "intact"},        {"scratch-overrun", "broken"},
                {"overrun", "broken"},    {"touch-input", "broken"}, {"underrun", "broken"}};
    const struct kit_backend backend = watched();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int rc;
        json_t *const observation = ask_backend(
            &backend, &(struct ask){.mode = rows[i].mode, .axis = "concurrency", .setting = "8", .runs = 16},
            &rc);
        assert_int_equal(rc, KIT_OK);
        assert_int_equal(int_of(output_of(observation), "distinct"), i == 4 ? 2 : 1);
        assert_string_equal(string_of(output_of(observation), "guard"), rows[i].guard);
        json_decref(observation);
    }
}

/* One after the other says nothing of at once, and is not gone on with. */
static void runs_one_after_the_other_are_no_answer(void **state)
{
    const struct kit_backend backend = watched();
    const struct ask ask = {.mode = "good", .axis = "concurrency", .setting = "2", .runs = 20};
    int rc;
    once.apart = 1;
    ask_backend(&backend, &ask, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->text, "runs that were to happen at once did so in 0 of 4 rounds");
    once.rounds = 0;
    once.apart = 5;
    ask_backend(&backend, &ask, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->text, "runs that were to happen at once did so in 4 of 10 rounds");
    once.rounds = 0;
    once.apart = 6; /* half of them */
    json_decref(ask_backend(&backend, &ask, &rc));
    assert_int_equal(rc, KIT_OK);
}

/* A run that nothing went on beside is none: it is made again, with what it ran on put back. */
static void a_run_alone_is_made_again(void **state)
{
    const struct kit_backend backend = watched();
    const struct ask ask = {.mode = "accumulate", .axis = "busy", .setting = "compute", .runs = 4};
    int rc;
    unaccompanied = 3;
    json_t *const observation = ask_backend(&backend, &ask, &rc);
    assert_int_equal(rc, KIT_OK);
    assert_int_equal(seen.begun, 4 + 3);
    assert_int_equal(int_of(class_of(observation, 0), "runs"), 4);
    json_decref(observation);
    unaccompanied = 1 << 30;
    ask_backend(&backend, &ask, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
    assert_non_null(strstr(kit_outcome()->text, "no other work went on"));
    assert_int_equal(seen.work, KIT_IDLE);
    unaccompanied = 0;
}

static void a_backend_without_it_is_not_asked(void **state)
{
    struct kit_backend lacking = kit_cpu;
    lacking.busy = NULL;
    lacking.callers = false;
    static const char *const axes[][2] = {{"busy", "compute"}, {"concurrency", "2"}};
    for (size_t i = 0; i < 2; i++) {
        int rc;
        ask_backend(&lacking, &(struct ask){.mode = "good", .axis = axes[i][0], .setting = axes[i][1]}, &rc);
        assert_int_equal(rc, KIT_SKIPPED);
        assert_string_equal(kit_outcome()->reason, "unsupported");
        assert_non_null(strstr(kit_outcome()->text, axes[i][0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_work_is_there_before_each_run),
        cmocka_unit_test(other_work_is_ended),
        cmocka_unit_test(runs_at_once_have_outputs_of_their_own),
        cmocka_unit_test(every_lane_is_restored_and_guarded),
        cmocka_unit_test(runs_one_after_the_other_are_no_answer),
        cmocka_unit_test(a_run_alone_is_made_again),
        cmocka_unit_test(a_backend_without_it_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
