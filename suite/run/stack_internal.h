/* SPDX-License-Identifier: Apache-2.0
 *
 * What opening a folder and opening a process share.
 */
#ifndef DP_RUN_STACK_INTERNAL_H
#define DP_RUN_STACK_INTERNAL_H

#include "suite/run/stack.h"

#define DP_STACK_NAMES 8
#define DP_STACK_SYMBOLS 5

/* A role and the names of its files, the best first: SONAMEs or globs. */
struct dp_stack_role {
    const char *role;
    const char *names[DP_STACK_NAMES]; /* ended by NULL */
    /* A file that has one of them is taken first; ended by NULL, none: any file. */
    const char *symbols[DP_STACK_SYMBOLS];
    bool system;     /* part of the driver: the system's where the stack has none */
    bool linked;     /* programs take the name that they were linked to, and no other */
    bool instrument; /* looks on and is not measured: the user's variable stands */
};
extern const struct dp_stack_role dp_stack_roles[]; /* ended by a row without role */

/* Does the file define or use a symbol of the role, if that has any? */
bool dp_stack_fits_role(const char *path, const struct dp_stack_role *role);
/* Code 65 for a path that LD_LIBRARY_PATH or a report cannot hold. */
int dp_stack_check_path(const char *path, struct dp_err *err);
/* "pid:N" from `digits` on. */
int dp_stack_open_process(const char *digits, struct dp_stack *ret, struct dp_err *err);

#endif
