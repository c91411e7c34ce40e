/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place where a gate meets files and the clock.
 */
#include "suite/command/gating.h"

#include "reports/model.h"
#include "suite/base/clock.h"

static struct dp_gate_input input_of(const struct dp_gating *gating, const json_t *report, const char *name)
{
    return (struct dp_gate_input){.report = {report, name},
                                  .baseline = {gating->baseline_json, gating->baseline},
                                  .policy = gating->policy_json,
                                  .policy_name = gating->policy,
                                  .fail_on = gating->fail_on,
                                  .any_device = gating->any_device};
}

int dp_gating_open(struct dp_gating *gating, struct dp_err *err)
{
    if (gating->policy && !(gating->policy_json = dp_policy_load(gating->policy, err))) {
        return -1;
    }
    if (gating->baseline && !(gating->baseline_json = dp_report_load(gating->baseline, err))) {
        return -1;
    }
    const struct dp_gate_input input = input_of(gating, NULL, "");
    return dp_gate_prepare(&input, err);
}

int dp_gating_fits(const struct dp_gating *gating, const json_t *report, struct dp_err *err)
{
    const struct dp_gate_input input = input_of(gating, report, "this run");
    return dp_gate_comparable(&input, err);
}

json_t *dp_gating_decide(const struct dp_gating *gating, const json_t *report, const char *name,
                         struct dp_err *err)
{
    struct dp_gate_input input = input_of(gating, report, name);
    char now[21];
    dp_utc_now(now);
    now[sizeof("2027-01-31") - 1] = '\0';
    input.today = now;
    return dp_gate_make(&input, err);
}

void dp_gating_free(struct dp_gating *gating)
{
    json_decref(gating->policy_json);
    json_decref(gating->baseline_json);
}
