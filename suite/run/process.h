/* SPDX-License-Identifier: Apache-2.0
 *
 * One process of a probe program: start, signal, reap. It leads a process group of its own, has two pipes of
 * the protocol and a third for all it prints, and is told apart from its siblings by a token in its
 * environment that every descendant inherits.
 */
#ifndef DP_RUN_PROCESS_H
#define DP_RUN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "suite/base/err.h"
#include "suite/plan/plan.h"
#include "suite/run/signals.h"

#define DP_TOKEN_NAME "DETPROBE_PROCESS"

struct dp_process {
    pid_t pid;
    int in_fd;  /* we write; -1 when closed */
    int out_fd; /* we read */
    int log_fd; /* we read */
    char token[32];
    bool no_interpreter; /* it did not start because this machine lacks what runs it */
};

/* Starts the program for the device and at the cap of the request, if it names them (NULL: neither). -1 with
 * *err when it cannot be executed; nothing is left behind then. */
int dp_process_start(const struct dp_program *program, const struct dp_request *request,
                     const struct dp_signals *signals, struct dp_process *ret, struct dp_err *err);
/* To the whole group. */
void dp_process_signal(const struct dp_process *process, int signal);
/* The leader has ended: kills what is left of its group, reaps it and returns its wait status. */
int dp_process_reap(struct dp_process *process);
/* Closes one descriptor and forgets it. */
void dp_fd_close(int *fd);
void dp_process_close(struct dp_process *process);

#endif
