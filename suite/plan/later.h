/* SPDX-License-Identifier: Apache-2.0
 *
 * Axes whose settings wait for what is known of the machine: each has a function that adds the requests for
 * one of the base setting. Internal to this folder.
 */
#ifndef DP_PLAN_LATER_H
#define DP_PLAN_LATER_H

#include "suite/plan/plan.h"

/* What the plan now knows. */
struct later {
    struct dp_plan *plan;
    const json_t *hello; /* of the program; NULL: it did not come so far */
    const json_t *host;  /* as dp_host_facts has it */
    bool asked;          /* the axis was asked for by name */
    bool all; /* so it was, or the level takes all that there is: every cap, not one a generation */
};

/* All take a request at the base setting, of another case than a control. */
void later_devices(const struct later *later, const struct dp_request *request);
void later_caps(const struct later *later, const struct dp_request *request);
void later_cap_orders(const struct later *later, const struct dp_request *request);

/* Keeps an owned text for the plan's requests. */
const char *later_keep(struct dp_plan *plan, char *text);

#endif
