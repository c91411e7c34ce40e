/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy, and what a gate decides by it.
 */
#include "reports/gate/gate.h"
#include "suite/base/json.h"
#include "suite/tests/fuzz/fuzz.h"

static void decide(const json_t *policy, const json_t *baseline)
{
    const struct dp_gate_input input = {.report = {fuzz_other_report(), "report.json"},
                                        .baseline = {baseline, "baseline.json"},
                                        .policy = policy,
                                        .policy_name = "policy.json",
                                        .today = "2026-11-30"};
    struct dp_err err = {0};
    json_t *gate = dp_gate_make(&input, &err);
    if (!gate) {
        fuzz_expect_refusal(&err, DP_EXIT_USAGE);
        return;
    }
    fuzz_expect(dp_gate_check(gate, &err) == 0, err.text);
    fuzz_render(DP_DOCUMENT_GATE, gate);
    json_decref(gate);
}

void fuzz_one(const char *text, size_t length)
{
    struct dp_err err = {0};
    json_t *policy = dp_json_parse(text, length, "input", &err);
    if (policy && dp_policy_check(policy, &err) == 0) {
        decide(policy, NULL);
        decide(policy, fuzz_other_report());
    } else {
        fuzz_expect_refusal(&err, 0);
    }
    json_decref(policy);
}
