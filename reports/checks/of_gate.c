/* SPDX-License-Identifier: Apache-2.0
 *
 * What a gate decided, as checks: one for each finding, for each thing that stood in the way of a verdict,
 * for each note, and one for the whole. The gate's word decides: what it allowed has passed, with a note.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/parts.h"
#include "reports/gate/gate.h"
#include "reports/gate/render.h"
#include "suite/base/json.h"

#define MOST 16000 /* bytes of one check's words */

static void add_finding(const json_t *finding, struct dp_checks *checks)
{
    const json_t *allowed = json_object_get(finding, "allowed");
    const char *kind = dp_json_string(finding, "kind", ""), *axis = dp_json_string(finding, "axis", "");
    char *suffix = dp_printf("%s%s%s", kind, axis[0] ? ", " : "", axis);
    struct dp_text detail = DP_TEXT(MOST);
    dp_checks_line(&detail, "",
                   json_is_true(json_object_get(finding, "new")) ? "new since the baseline" : "");
    dp_checks_line(&detail, "allowed: ", dp_json_string(allowed, "reason", ""));
    dp_checks_line(&detail, "allowed until ", dp_json_string(allowed, "expires", ""));
    dp_checks_line(&detail, "", dp_json_string(finding, "detail", ""));
    const struct dp_check check = {.state = allowed ? DP_CHECK_NOTE : DP_CHECK_FAIL,
                                   .kind = kind,
                                   .subject = dp_json_string(finding, "case", ""),
                                   .line = dp_json_string(finding, "line", ""),
                                   .detail = detail.data,
                                   .reproduce = dp_json_string(finding, "reproduce", "")};
    dp_checks_add_case(checks, check, suffix);
    dp_text_free(&detail);
    free(suffix);
}

static void add_remark(const json_t *remark, enum dp_check_state state, struct dp_checks *checks)
{
    const struct dp_check check = {.state = state,
                                   .group = DP_CHECK_WHOLE,
                                   .name = dp_json_string(remark, "kind", ""),
                                   .kind = dp_json_string(remark, "kind", ""),
                                   .line = dp_json_string(remark, "line", "")};
    dp_checks_add(checks, &check);
}

static void add_whole(const json_t *gate, struct dp_checks *checks)
{
    const json_t *summary = json_object_get(gate, "summary"), *plan = json_object_get(gate, "plan");
    char *counts = dp_printf(
        "%lld checked, %lld failed, %lld allowed, %lld skipped",
        (long long)dp_json_int(summary, "checked", 0), (long long)dp_json_int(summary, "failed", 0),
        (long long)dp_json_int(summary, "allowed", 0), (long long)dp_json_int(summary, "skipped", 0));
    static const enum dp_check_state states[] = {[DP_GATE_NONE] = DP_CHECK_ERROR,
                                                 [DP_GATE_PASSED] = DP_CHECK_PASS,
                                                 [DP_GATE_FAILED] = DP_CHECK_FAIL,
                                                 [DP_GATE_NO_VERDICT] = DP_CHECK_ERROR};
    char *sentence = dp_gate_sentence(gate);
    const struct dp_check check = {.state = states[dp_gate_verdict(gate)],
                                   .group = DP_CHECK_WHOLE,
                                   .name = "gate",
                                   .kind = "verdict",
                                   .line = sentence,
                                   .detail = counts};
    checks->document = "gate";
    checks->title = dp_checks_string(checks, sentence);
    checks->started = dp_checks_string(checks, "");
    checks->host = dp_checks_string(checks, "");
    dp_checks_fact(checks, "report", dp_json_string(json_object_get(gate, "report"), "name", ""));
    dp_checks_fact(checks, "digest", dp_json_string(json_object_get(gate, "report"), "digest", ""));
    dp_checks_fact(checks, "baseline", dp_json_string(json_object_get(gate, "baseline"), "name", ""));
    dp_checks_fact(checks, "policy", dp_json_string(json_object_get(gate, "policy"), "name", ""));
    dp_checks_fact(checks, "level", dp_json_string(plan, "level", ""));
    dp_checks_fact(checks, "seed", dp_json_string(plan, "seed", ""));
    dp_checks_add(checks, &check);
    free(counts);
    free(sentence);
}

void dp_checks_of_gate(const json_t *gate, struct dp_checks *checks)
{
    const json_t *findings = json_object_get(gate, "findings");
    const json_t *problems = json_object_get(gate, "problems"), *notes = json_object_get(gate, "notes");
    add_whole(gate, checks);
    for (size_t i = 0; i < json_array_size(problems); i++) {
        add_remark(json_array_get(problems, i), DP_CHECK_ERROR, checks);
    }
    for (size_t i = 0; i < json_array_size(findings); i++) {
        add_finding(json_array_get(findings, i), checks);
    }
    for (size_t i = 0; i < json_array_size(notes); i++) {
        add_remark(json_array_get(notes, i), DP_CHECK_NOTE, checks);
    }
}
