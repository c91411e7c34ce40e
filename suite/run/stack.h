/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack under test, as `--stack` names it: a Python environment, a prefix or a running process. Every
 * role is resolved to one file inside it, or to none; programs are started so that they take these files, and
 * what they say of themselves is held against them.
 */
#ifndef DP_RUN_STACK_H
#define DP_RUN_STACK_H

#include <jansson.h>

#include "suite/base/err.h"
#include "suite/plan/catalogue.h"

struct dp_stack {
    char *name;       /* an absolute path, or "pid:N": opens the same stack again */
    const char *kind; /* "venv", "prefix" or "process"; static */
    char *root;       /* the folder, or the executable of the process */
    char *python;     /* what runs its Python programs, NULL: it has none */
    json_t *roles;    /* role -> file, null where the stack has none */
    json_t *mapped;   /* of a process: the files that it has mapped, as an object's keys; else NULL */
};

/* Code 64 for a word that names no stack, 65 for one that cannot be read or holds nothing to measure. */
int dp_stack_open(const char *text, struct dp_stack *ret, struct dp_err *err);
/* The same for what is not to be measured: a process may have loaded nothing that programs measure. */
int dp_stack_look_at(const char *text, struct dp_stack *ret, struct dp_err *err);
void dp_stack_free(struct dp_stack *stack);

/* Lets the programs of the catalogue, started from now on, take the stack's files and its interpreter. */
void dp_stack_apply(const struct dp_stack *stack, struct dp_catalogue *catalogue);

enum dp_stack_fit {
    DP_STACK_FITS,
    DP_STACK_LACKS,  /* the program took a library for a role that the stack has none for */
    DP_STACK_DIFFERS /* it took another one than the stack's */
};
/* Which of them a program's hello shows; *err says in what. */
enum dp_stack_fit dp_stack_check(const struct dp_stack *stack, const json_t *hello, struct dp_err *err);

/* Does the file hold one of the names (ended by NULL), as that of a symbol that it defines or uses, or as a
 * text of its own? Short ones: below 60 letters. */
bool dp_stack_holds(const char *path, const char *const *names);

/* Code 64 when a variable DETPROBE_LIB_<ROLE> is set for a role that nobody has. Programs of the user's own
 * (DETPROBE_PROBE_PATH) may have others. */
int dp_stack_check_roles(struct dp_err *err);
/* Takes out of an object of variables those that name the stack's own files: the stack stands for them. */
void dp_stack_forget_own(const struct dp_stack *stack, json_t *variables);

/* The report's environment.stack. Owned. */
json_t *dp_stack_describe(const struct dp_stack *stack);

#endif
