/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting and ending one process. fork and exec rather than posix_spawn: between them the child needs a
 * parent-death signal and closes descriptors that we inherited ourselves.
 */
#include "suite/run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite/base/text.h"

/* Of Linux 5.9 and 5.11; what C libraries before 2.34 lack. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

enum { CHILD_IN = 3, CHILD_OUT = 4, CHILD_FREE = 5 };

/* The read and write ends that a start makes; the child's copies are closed in the parent and vice versa. */
struct ends {
    int in[2], out[2], log[2], exec[2], null;
};

void dp_fd_close(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void ends_close(struct ends *ends)
{
    int *all[] = {&ends->in[0],  &ends->in[1],   &ends->out[0],  &ends->out[1], &ends->log[0],
                  &ends->log[1], &ends->exec[0], &ends->exec[1], &ends->null};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        dp_fd_close(all[i]);
    }
}

static int ends_open(struct ends *ends)
{
    *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1};
    if (pipe2(ends->in, O_CLOEXEC) || pipe2(ends->out, O_CLOEXEC) || pipe2(ends->log, O_CLOEXEC) ||
        pipe2(ends->exec, O_CLOEXEC)) {
        return -1;
    }
    ends->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (ends->null < 0) {
        return -1;
    }
    /* Only our own ends: the flag belongs to the pipe's end, and programs expect blocking ones. */
    int ours[] = {ends->in[1], ends->out[0], ends->log[0]};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (fcntl(ours[i], F_SETFL, fcntl(ours[i], F_GETFL) | O_NONBLOCK)) {
            return -1;
        }
    }
    return 0;
}

/* The environment of the child: ours, but for the variables that `own` names (null: not set). The array and
 * its strings from *ret_own on are owned, those before are the suite's. */
static char **child_environment(const json_t *own, size_t *ret_own)
{
    size_t count = 0, used = 0;
    while (environ && environ[count]) {
        count++;
    }
    char **ret = dp_alloc(count + json_object_size(own) + 1, sizeof(*ret));
    for (size_t i = 0; i < count; i++) {
        char *name = dp_printf("%.*s", (int)strcspn(environ[i], "="), environ[i]);
        if (!json_object_get(own, name)) {
            ret[used++] = environ[i];
        }
        free(name);
    }
    *ret_own = used;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)own, name, value)
    {
        if (json_is_string(value)) {
            ret[used++] = dp_printf("%s=%s", name, json_string_value(value));
        }
    }
    return ret;
}

/* What this process is started with: the variables of its cases, its device and its cap, and those of the
 * protocol. */
static char **make_environment(const struct dp_program *program, const struct dp_request *request,
                               const char *token, size_t *ret_own)
{
    json_t *own = program->environment ? json_copy(program->environment) : json_object();
    json_t *cap = request && request->cap ? dp_cap_variables(request->cap) : json_object();
    json_object_update(own, cap);
    json_decref(cap);
    json_object_set_new(own, "DETPROBE_IN_FD", json_string("3"));
    json_object_set_new(own, "DETPROBE_OUT_FD", json_string("4"));
    json_object_set_new(own, DP_TOKEN_NAME, json_string(token));
    if (request && request->device) {
        json_object_set_new(own, "DETPROBE_DEVICE", json_string(request->device));
    }
    char **ret = child_environment(own, ret_own);
    json_decref(own);
    return ret;
}

static void free_environment(char **environment, size_t own)
{
    for (size_t i = own; environment[i]; i++) {
        free(environment[i]);
    }
    free(environment);
}

/* Runs in the child; only async-signal-safe calls. Returns if something failed, errno says what. */
static void child_exec(const struct dp_program *program, const struct dp_signals *signals, struct ends *ends,
                       char **environment, pid_t parent)
{
    setpgid(0, 0);
    /* Should the suite be killed, a program that waits sees the end of its input; one that computes or hangs
     * sees this. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1);
    }
    int in = fcntl(ends->in[0], F_DUPFD_CLOEXEC, CHILD_FREE);
    int out = fcntl(ends->out[1], F_DUPFD_CLOEXEC, CHILD_FREE);
    int log = fcntl(ends->log[1], F_DUPFD_CLOEXEC, CHILD_FREE);
    int null = fcntl(ends->null, F_DUPFD_CLOEXEC, CHILD_FREE);
    int report = fcntl(ends->exec[1], F_DUPFD_CLOEXEC, CHILD_FREE);
    if (report < 0) {
        return;
    }
    ends->exec[1] = report;
    if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(in, CHILD_IN) < 0 ||
        dup2(out, CHILD_OUT) < 0) {
        return;
    }
    /* Best effort (Linux 5.11): what our own parent left open is no business of the program. */
    syscall(SYS_close_range, (unsigned)CHILD_FREE, ~0U, CLOSE_RANGE_CLOEXEC);
    dp_signals_restore_child(signals);
    char *path = program->path;
    if (program->interpreter) {
        char *argv[] = {program->interpreter, path, NULL};
        execvpe(program->interpreter, argv, environment);
    } else {
        char *argv[] = {path, NULL};
        execve(path, argv, environment);
    }
}

/* Forks; returns the child's pid once it runs the program, or -1 with errno. */
static pid_t start_child(const struct dp_program *program, const struct dp_signals *signals,
                         struct ends *ends, char **environment)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        child_exec(program, signals, ends, environment, parent);
        int reason = errno;
        ssize_t ignored = write(ends->exec[1], &reason, sizeof(reason));
        (void)ignored;
        _exit(127);
    }
    if (pid < 0) {
        return -1;
    }
    dp_fd_close(&ends->exec[1]);
    int reason = 0;
    ssize_t got;
    do {
        got = read(ends->exec[0], &reason, sizeof(reason));
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof(reason)) {
        waitpid(pid, NULL, 0);
        errno = reason;
        return -1;
    }
    return pid;
}

int dp_process_start(const struct dp_program *program, const struct dp_request *request,
                     const struct dp_signals *signals, struct dp_process *ret, struct dp_err *err)
{
    static unsigned serial;
    struct ends ends;
    pid_t pid = -1;
    *ret = (struct dp_process){.pid = -1, .in_fd = -1, .out_fd = -1, .log_fd = -1};
    /* Of constant width: the size of the environment moves the stack. */
    snprintf(ret->token, sizeof(ret->token), "%010d.%010u", (int)getpid(), ++serial);
    size_t own;
    char **environment = make_environment(program, request, ret->token, &own);
    if (ends_open(&ends) == 0) {
        pid = start_child(program, signals, &ends, environment);
    }
    int reason = errno;
    free_environment(environment, own);
    if (pid >= 0) {
        ret->pid = pid;
        ret->in_fd = ends.in[1];
        ret->out_fd = ends.out[0];
        ret->log_fd = ends.log[0];
        ends.in[1] = ends.out[0] = ends.log[0] = -1;
    }
    ends_close(&ends);
    if (pid < 0) {
        const char *what = program->interpreter ? program->interpreter : program->path;
        ret->no_interpreter = program->interpreter && reason == ENOENT;
        return dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot start '%s': %s", what, dp_reason(reason));
    }
    return 0;
}

void dp_process_signal(const struct dp_process *process, int signal)
{
    if (process->pid > 0) {
        kill(-process->pid, signal);
    }
}

int dp_process_reap(struct dp_process *process)
{
    int status = 0;
    /* Before it is reaped: until then its number, and so its group's, cannot be given to anybody else. */
    dp_process_signal(process, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) {
    }
    process->pid = -1;
    return status;
}

void dp_process_close(struct dp_process *process)
{
    dp_fd_close(&process->in_fd);
    dp_fd_close(&process->out_fd);
    dp_fd_close(&process->log_fd);
}
