/* SPDX-License-Identifier: Apache-2.0
 *
 * One command that shows what a change does.
 */
#ifndef DP_ATTRIBUTE_REPRODUCE_H
#define DP_ATTRIBUTE_REPRODUCE_H

#include "suite/attribute/trial.h"

struct dp_shown {
    const struct dp_bench *bench;
    const char *varies;    /* of a case that varies by itself the axis on which it does; NULL: it repeats */
    int runs;              /* that it took to see that */
    const json_t *context; /* variables that are set on both sides alike (object); NULL: none */
};

/* A line for bash. Of a change (an array of {kind, name, from, to}; NULL: none) with axes a run that varies
 * them, under the change's variables; of variables alone the difference between a run with them and one
 * without. NULL where 'run' knows no such product of axes. Owned. */
char *dp_change_command(const struct dp_shown *shown, const json_t *change);

#endif
