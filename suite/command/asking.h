/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands share that run one case of a report again: the catalogue, the stack and the case, found
 * and checked.
 */
#ifndef DP_COMMAND_ASKING_H
#define DP_COMMAND_ASKING_H

#include "suite/attribute/trial.h"
#include "suite/run/stack.h"

struct asking_options {
    const char *stack; /* NULL: none; wanted where the report is of one */
    int64_t timeout_ns;
};

struct asking {
    struct dp_catalogue catalogue;
    struct dp_stack stack; /* without a name: none */
    struct dp_bench bench;
};

/* Fills *ret for a case of the report, which the user calls `name`; asking_close frees it either way. Code 64
 * where the report has no such case, 65 where the case is another one here, 77 where it is not known here. */
int asking_open(const struct asking_options *options, const json_t *report, const char *name, const char *id,
                struct asking *ret, struct dp_err *err);
/* Whether a report has the case; code 64. */
int asking_has(const json_t *report, const char *name, const char *id, struct dp_err *err);
/* Whether the case of a further report is the one that was opened; code 65. */
int asking_fits(const json_t *report, const struct asking *asking, struct dp_err *err);
void asking_close(struct asking *asking);

#endif
