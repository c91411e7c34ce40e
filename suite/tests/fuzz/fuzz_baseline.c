/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as a baseline, as what a gate judges, and as one of those that a baseline is made of.
 */
#include <string.h>

#include "reports/gate/baseline.h"
#include "reports/gate/gate.h"
#include "reports/model.h"
#include "suite/tests/fuzz/fuzz.h"

static void decide(const json_t *report, const json_t *baseline, const char *fail_on)
{
    const struct dp_gate_input input = {.report = {report, "report.json"},
                                        .baseline = {baseline, "baseline.json"},
                                        .fail_on = fail_on,
                                        .today = "2026-11-30",
                                        .any_device = true};
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

/* What is made is a report that everybody reads. */
static void make(const json_t *one, const json_t *two)
{
    const struct dp_diff_side sides[] = {{one, "one.json"}, {two, "two.json"}};
    struct dp_err err = {0};
    json_t *baseline = dp_baseline_make(sides, two ? 2 : 1, &err);
    if (!baseline) {
        fuzz_expect_refusal(&err, 0);
        return;
    }
    json_object_set_new(json_object_get(baseline, "measurements"), "exit",
                        json_pack("{si ss}", "code", 0, "reason", "x"));
    fuzz_expect(dp_report_accept(baseline, &err) == 0, err.text);
    json_decref(baseline);
}

void fuzz_one(const char *text, size_t length)
{
    json_t *report = fuzz_report(text, length);
    if (report) {
        decide(report, NULL, NULL);
        decide(report, report, "changes");
        decide(report, fuzz_other_report(), NULL);
        decide(fuzz_other_report(), report, "changes");
        make(report, NULL);
        make(report, fuzz_other_report());
    }
    json_decref(report);
}
