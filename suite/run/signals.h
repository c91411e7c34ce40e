/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals as a descriptor while programs run, and everything as it was afterwards.
 */
#ifndef DP_RUN_SIGNALS_H
#define DP_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "suite/base/err.h"

struct dp_signals {
    int fd; /* readable when a child ended or somebody asks us to stop */
    sigset_t old_mask;
    struct sigaction old_pipe, old_child;
    int old_subreaper;
};

/* Blocks SIGCHLD (and with `stops` SIGINT and SIGTERM) and reads them from a descriptor; SIGPIPE is ignored;
 * orphans of the programs become our children. */
int dp_signals_open(struct dp_signals *ret, bool stops, struct dp_err *err);
/* Takes one waiting signal; 0: none. */
int dp_signals_take(const struct dp_signals *signals);
/* In a forked child before exec: the dispositions and the mask that we were started with. */
void dp_signals_restore_child(const struct dp_signals *signals);
void dp_signals_close(struct dp_signals *signals);

#endif
