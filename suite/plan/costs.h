/* SPDX-License-Identifier: Apache-2.0
 *
 * The costs that a plan with a budget takes from a former report.
 */
#ifndef DP_PLAN_COSTS_H
#define DP_PLAN_COSTS_H

#include <jansson.h>

#include "suite/base/err.h"
#include "suite/plan/plan.h"

/* What each case that the report knows will cost in a run with these options: id -> nanoseconds, 0 where it
 * was skipped for a reason that will hold again. Owned; NULL with code 65 for a report that no run wrote, or
 * that is merged from several, and 64 for options that no plan can be made of. `report` is one that
 * dp_report_accept takes. */
json_t *dp_costs_of_report(const struct dp_catalogue *catalogue, const struct dp_plan_options *options,
                           const json_t *report, struct dp_err *err);

#endif
