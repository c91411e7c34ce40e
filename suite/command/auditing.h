/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of 'detprobe audit' share: audit.c looks and judges, audit_prove.c runs cases with a setting
 * and without, audit_table.c prints.
 */
#ifndef DP_COMMAND_AUDITING_H
#define DP_COMMAND_AUDITING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/audit/audit.h"
#include "suite/base/text.h"

struct audit_row {
    const json_t *setting;
    struct dp_audit_verdict verdict;
    char *value;         /* NULL: not set */
    char *version;       /* of what reads it; NULL: not known, or nothing does */
    bool shown_effect;   /* its effect is news whatever its status: a name that nothing reads */
    bool brief;          /* such a name that is neither set nor asked for: named among others */
    bool mend;           /* it is to be `wanted`, NULL: not to be set */
    char *wanted, *line; /* `line` sets it, or mends the machine; NULL: nothing to do */
    json_t *proof;       /* NULL: nobody tried */
};

struct audit {
    struct audit_row *rows;
    size_t count;
    char **environment; /* that we were started with, not as a stack has changed it */
    const char *stack;  /* NULL: none was asked for */
};

/* The array of 'audit --json'. Owned. */
json_t *audit_describe(const struct audit *audit);
void audit_put_table(const struct audit *audit, bool verbose, struct dp_text *out);
void audit_put_shell(const struct audit *audit, struct dp_text *out);

/* An environment with one variable set, or without it where `value` is NULL. The array is owned, and so is
 * *ret_own, which stands in it. */
char **audit_with(char **environment, const char *name, const char *value, char **ret_own);
/* Fills the proof of each row. Returns the signal that ended it, or 0. */
int audit_prove(struct audit *audit);

#endif
