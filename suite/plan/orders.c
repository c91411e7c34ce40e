/* SPDX-License-Identifier: Apache-2.0
 *
 * Of which cases the order of additions is revealed, and what that may take. How many runs it needs is seen
 * only then, since many cells of one run may be asked at once: a plan bounds them by the catalogue's cost.
 */
#include <string.h>

#include "suite/base/json.h"
#include "suite/plan/scheme.h"

enum {
    LEAST_RUNS = 100, /* of fewer nothing comes, whatever the number of cells */
    USUAL_RUNS = 500  /* for the price */
};

int order_runs(const struct dp_level *level, const struct dp_case *item, bool asked)
{
    const bool direct = strcmp(dp_json_string(item->json, "arithmetic", ""), "direct") == 0;
    if (!direct || asked) {
        return direct ? DP_ORDER_RUNS_MAX : 0;
    }
    const double runs = (double)level->order_limit_ns / (double)case_cost_ns(item);
    return runs < LEAST_RUNS || !json_object_get(item->json, "reveals") ? 0
           : runs < DP_ORDER_RUNS_MAX                                   ? (int)runs
                                                                        : DP_ORDER_RUNS_MAX;
}

double order_price_ns(const struct dp_level *level, const struct dp_case *item)
{
    const double usual = USUAL_RUNS * (double)case_cost_ns(item), limit = (double)level->order_limit_ns;
    return limit > 0 && limit < usual ? limit : usual;
}
