/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about this machine that an audit judges beside the variables.
 */
#ifndef DP_AUDIT_MACHINE_H
#define DP_AUDIT_MACHINE_H

#include "suite/audit/audit.h"

struct dp_machine {
    int online, allowed;   /* cores */
    int quota_hundredths;  /* processors times 100, 0: unlimited */
    int kinds;             /* of cores that we may run on, 0: not known */
    char fastest[200];     /* "0-7": the cores of the fastest kind, where that is known */
    const json_t *devices; /* `devices` and `device_state` of a CUDA program's hello, NULL: none */
    const json_t *states;
};

/* `root` is "" for the running system. */
void dp_machine_read(const char *root, struct dp_machine *ret);
/* Cores that libraries should start threads for. */
int dp_machine_cores(const struct dp_machine *machine);

/* Judges the fact of this name; `threads` is the number that OMP_NUM_THREADS fixes, 0: none. *ret_value is
 * the fact in words and *ret_fix the command that mends it, both owned, NULL: nothing to mend. False: this
 * machine has no such fact. */
bool dp_machine_judge(const struct dp_machine *machine, const char *name, int threads,
                      struct dp_audit_verdict *ret, char **ret_value, char **ret_fix);

#endif
