/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on the cores beside a run: it is there, an operation that minds it is found and one that does not is
 * not, and it ends when told to and with its program, however that ends.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/kit/cpu_busy.h"
#include "probes/kit/tests/fake.h"
#include "suite/base/host.h"

static const char *const works[] = {"compute", "memory", "process"};

static int entries_of(const char *path)
{
    DIR *const folder = opendir(path);
    int count = -2; /* itself and its parent */
    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return folder ? count : 0;
}

static int threads(void)
{
    return entries_of("/proc/self/task");
}

/* Process numbers of this process' children. */
static int children(pid_t *ret, int most)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *const file = fopen(path, "r");
    int count = 0, pid;
    assert_non_null(file);
    while (count < most && fscanf(file, "%d", &pid) == 1) {
        ret[count++] = pid;
    }
    fclose(file);
    return count;
}

/* ---- an operation that minds the company ---- */

static bool in_company(void)
{
    pid_t pids[8];
    return threads() > 1 || children(pids, 8) > 0;
}

/* A thread that was waited for is listed a moment longer. */
static bool becomes_alone(void)
{
    const time_t limit = time(NULL) + 20;
    while (in_company() && time(NULL) < limit) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return !in_company();
}

static int crowded_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int rc = fake_run(call, buffers);
    if (in_company()) {
        fake_flip(buffers->data[2]);
    }
    return rc;
}

static json_t *ask_op(const struct op *op, const char *axis, const char *setting)
{
    const struct op *const ops[] = {op, NULL};
    const struct kit_program program = {
        .name = "fake", .backend = "cpu", .ops = ops, .set_threads = fake_set_threads};
    struct kit_session session;
    int rc;
    kit_session_init(&session, &program, &kit_cpu);
    json_t *const observation =
        ask_in(&session, &(struct ask){.mode = "good", .axis = axis, .setting = setting}, &rc);
    kit_session_drop(&session);
    assert_int_equal(rc, KIT_OK);
    assert_int_equal(int_of(output_of(observation), "distinct"), 1);
    return observation;
}

static void what_minds_the_work_is_found(void **state)
{
    struct op crowded = fake_op;
    crowded.run = crowded_run;
    const struct op *const ops[] = {&fake_op, &crowded};
    json_t *const alone = ask_op(&fake_op, "repeat", "");
    for (size_t i = 0; i < 3; i++) {
        for (size_t minds = 0; minds < 2; minds++) {
            json_t *const first = ask_op(ops[minds], "repeat", ""), *const beside =
                                                                        ask_op(ops[minds], "busy", works[i]);
            assert_string_equal(sha_of(first), sha_of(alone));
            assert_int_equal(strcmp(sha_of(beside), sha_of(alone)) != 0, minds);
            assert_true(becomes_alone());
            json_decref(first);
            json_decref(beside);
        }
    }
    json_decref(alone);
}

/* ---- the work itself ---- */

static void there_is_a_worker_on_each_core(void **state)
{
    const int cores = dp_host_cores_allowed();
    pid_t pids[1024];
    for (int work = KIT_BUSY_COMPUTE; work <= KIT_BUSY_PROCESS; work++) {
        assert_int_equal(kit_cpu_busy(KIT_IDLE), KIT_OK);
        assert_true(becomes_alone());
        assert_int_equal(kit_cpu_busy((enum kit_busy)work), KIT_OK);
        assert_int_equal(kit_cpu_busy((enum kit_busy)work), KIT_OK); /* and no more when asked again */
        const int workers = threads() - 1 + children(pids, 1024);
        assert_in_range(workers, 1, cores);
        assert_int_equal(threads() > 1, work != KIT_BUSY_PROCESS);
        const time_t limit = time(NULL) + 20;
        bool moved = false;
        while (!moved && time(NULL) < limit) {
            moved = kit_cpu_beside();
        }
        assert_true(moved);
    }
    assert_int_equal(kit_cpu_busy(KIT_IDLE), KIT_OK);
    assert_true(becomes_alone());
    assert_int_equal(kit_cpu_busy(KIT_IDLE), KIT_OK);
    assert_int_equal(waitpid(-1, NULL, 0), -1); /* none is left to wait for */
}

static void a_process_holds_no_descriptor(void **state)
{
    pid_t pids[1024];
    char path[64];
    assert_int_equal(kit_cpu_busy(KIT_BUSY_PROCESS), KIT_OK);
    const int count = children(pids, 1024);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pids[i]);
        assert_int_equal(entries_of(path), 0);
    }
    assert_int_equal(kit_cpu_busy(KIT_IDLE), KIT_OK);
}

/* ---- the end of its program ---- */

static bool is_running(pid_t pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *const file = fopen(path, "r");
    const bool known = file && fscanf(file, "%*d %*s %c", &state) == 1;
    if (file) {
        fclose(file);
    }
    return known && state != 'Z' && state != 'X';
}

/* In a process of its own, killed once its workers are known. */
static void nobody_outlives_a_killed_program(void **state)
{
    int pipes[2];
    pid_t pids[64] = {0};
    assert_int_equal(pipe(pipes), 0);
    const pid_t program = fork();
    if (program == 0) {
        const int count = kit_cpu_busy(KIT_BUSY_PROCESS) ? 0 : children(pids, 64);
        const ssize_t size = (ssize_t)((size_t)count * sizeof(*pids));
        _exit(write(pipes[1], pids, (size_t)size) == size ? pause() : 1);
    }
    close(pipes[1]);
    const ssize_t length = read(pipes[0], pids, sizeof(pids));
    close(pipes[0]);
    assert_true(length >= (ssize_t)sizeof(*pids));
    assert_true(is_running(pids[0]));
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    const time_t limit = time(NULL) + 20;
    for (size_t i = 0; i < (size_t)length / sizeof(*pids); i++) {
        while (is_running(pids[i]) && time(NULL) < limit) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        assert_false(is_running(pids[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_minds_the_work_is_found), cmocka_unit_test(there_is_a_worker_on_each_core),
        cmocka_unit_test(a_process_holds_no_descriptor),
        cmocka_unit_test(
            nobody_outlives_a_killed_program), /* last: some kernels leave us what is left of them */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
