/* SPDX-License-Identifier: Apache-2.0
 *
 * A gate from its options: policy and baseline are read before the work, the decision is made after it.
 */
#ifndef DP_COMMAND_GATING_H
#define DP_COMMAND_GATING_H

#include "reports/gate/gate.h"

struct dp_gating {
    const char *policy, *baseline; /* names of files, NULL: none */
    const char *fail_on;           /* NULL: what the policy says */
    bool any_device;
    json_t *policy_json, *baseline_json; /* owned */
};

/* Reads both and says whether there can be an answer. Code 64 or 65. */
int dp_gating_open(struct dp_gating *gating, struct dp_err *err);
/* Whether the baseline fits a report, or what is known of one before the run. Code 65. */
int dp_gating_fits(const struct dp_gating *gating, const json_t *report, struct dp_err *err);
/* The decision over a report, which the user calls `name`. Owned; NULL with the code of the error. */
json_t *dp_gating_decide(const struct dp_gating *gating, const json_t *report, const char *name,
                         struct dp_err *err);
void dp_gating_free(struct dp_gating *gating);

#endif
