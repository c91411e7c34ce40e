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
    memset(&seen, 0, sizeof(seen));
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

static void a_backend_without_it_is_not_asked(void **state)
{
    int rc;
    ask_backend(&kit_cpu, &(struct ask){.mode = "good", .axis = "busy", .setting = "compute"}, &rc);
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->reason, "unsupported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_work_is_there_before_each_run),
        cmocka_unit_test(other_work_is_ended),
        cmocka_unit_test(a_backend_without_it_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
