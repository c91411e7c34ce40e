/* SPDX-License-Identifier: Apache-2.0
 *
 * The command that measures one case of a report again.
 */
#ifndef DP_RENDER_REPRODUCE_H
#define DP_RENDER_REPRODUCE_H

#include <jansson.h>

/* "OPENBLAS_CORETYPE=Haswell detprobe run cpu/gemm/sgemm-nn-16x16x16 --level quick --seed 1": with the level,
 * seed, stack and variables of the report. Words of a report are hostile: what a shell could read otherwise
 * is quoted, and it is one line of printable text. Owned. */
char *dp_reproduce(const json_t *report, const char *id);

/* The same in parts, for who shows many cases of a report: what stands before the case, the case, and what
 * follows it. Owned. */
char *dp_reproduce_before(const json_t *report);
char *dp_reproduce_case(const char *id);
char *dp_reproduce_after(const json_t *report);

/* The same for who knows what to say: of each member that is NULL or 0 nothing is said. */
struct dp_reproduction {
    const json_t *variables; /* name -> value; only those that a report records, null: not set */
    const char *id, *level, *axis, *seed, *rate, *confidence, *stack;
    int runs;
};
char *dp_reproduction_text(const struct dp_reproduction *what); /* owned */

#endif
