/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals as a descriptor.
 */
#include "suite/run/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

int dp_signals_open(struct dp_signals *ret, bool stops, struct dp_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (stops) {
        /* A shell without job control starts background commands with SIGINT ignored; blocked signals reach
         * the descriptor all the same, and whoever sends one wants the run to end. */
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
    }
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        return dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot watch signals: %s", dp_reason(errno));
    }
    ret->fd = fd;
    sigprocmask(SIG_BLOCK, &set, &ret->old_mask);
    /* An inherited SIG_IGN of SIGCHLD would make the kernel reap children before we see their status. */
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &ret->old_child);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &ret->old_pipe);
    ret->old_subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &ret->old_subreaper);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return 0;
}

int dp_signals_take(const struct dp_signals *signals)
{
    struct signalfd_siginfo info;
    ssize_t got;
    do {
        got = read(signals->fd, &info, sizeof(info));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void dp_signals_restore_child(const struct dp_signals *signals)
{
    sigaction(SIGCHLD, &signals->old_child, NULL);
    sigaction(SIGPIPE, &signals->old_pipe, NULL);
    /* We may have a file that grows beyond `ulimit -f` be an error and not our end; programs start as usual.
     */
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    /* Our caller may hold these two back between passes; a program must be stoppable all the same. */
    sigset_t mask = signals->old_mask;
    sigdelset(&mask, SIGINT);
    sigdelset(&mask, SIGTERM);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

void dp_signals_close(struct dp_signals *signals)
{
    close(signals->fd);
    prctl(PR_SET_CHILD_SUBREAPER, signals->old_subreaper);
    sigaction(SIGCHLD, &signals->old_child, NULL);
    sigaction(SIGPIPE, &signals->old_pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
}
