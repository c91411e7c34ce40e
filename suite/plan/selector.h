/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors: an id, a glob over ids, or @tag (every case also carries its backend and family as tags).
 */
#ifndef DP_PLAN_SELECTOR_H
#define DP_PLAN_SELECTOR_H

#include "suite/base/options.h"
#include "suite/plan/catalogue.h"

/* Backends whose tags are known on every machine, ended by NULL. */
extern const char *const dp_backends[];

/* Marks in ret_chosen[case_count] the cases that `include` (none: all) names and `exclude` does not. Controls
 * are never chosen. A selector that matches nothing is code 64 with a suggestion; the known backend tags @cpu
 * @cuda @mpi
 * @python always match, also when no case is there. */
int dp_select(const struct dp_catalogue *catalogue, const struct dp_strings *include,
              const struct dp_strings *exclude, bool *ret_chosen, struct dp_err *err);

#endif
