/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a gate, for the files of this folder.
 */
#ifndef DP_REPORTS_GATE_PARTS_H
#define DP_REPORTS_GATE_PARTS_H

#include "reports/gate/gate.h"
#include "reports/model.h"

/* What can fail, the weightiest first. */
enum dp_rule {
    DP_RULE_BROKEN,
    DP_RULE_WRONG,
    DP_RULE_ERROR,
    DP_RULE_VARIES,
    DP_RULE_DIGEST,
    DP_RULE_SELECTION,
    DP_RULE_SENSITIVE,
    DP_RULE_MISSING,
    DP_RULE_MAX
};
/* "broken", "changed_digest": the word of policies and the kind of findings. */
const char *dp_rule_name(enum dp_rule rule);

struct dp_rules {
    bool fails[DP_RULE_MAX];
    bool new_only; /* what the baseline knows does not fail */
};
/* From the policy, or the word of --fail-on where there is one. */
void dp_rules_read(const struct dp_gate_input *input, struct dp_rules *ret);
/* The first rule that says nothing without a baseline, or DP_RULE_MAX. */
enum dp_rule dp_rules_need_baseline(const struct dp_rules *rules);

/* What a baseline knows, case by case: of dp_diff_make's document and the baseline itself, by id. */
struct dp_known {
    const struct dp_gate_input *input;
    json_t *diff;
    json_t *results;   /* id -> result of the baseline */
    json_t *measured;  /* id -> what the baseline measured */
    json_t *changes;   /* id -> [change] */
    json_t *causes;    /* id -> what may explain its changes */
    json_t *disagreed; /* id -> why the baseline leaves it out: the reports it is of disagree */
};
/* Without a baseline everything is empty. */
int dp_known_make(const struct dp_gate_input *input, struct dp_known *ret, struct dp_err *err);
void dp_known_free(struct dp_known *known);

/* The member `findings` before anything is allowed: new before known, then by weight, then by id. Owned. */
json_t *dp_gate_findings(const struct dp_known *known, const struct dp_rules *rules);

/* Adds `allowed` to what the policy allows today, and notes of entries that expired or allow nothing. */
void dp_gate_allow(const json_t *policy, const char *today, json_t *findings, json_t *notes);

/* The member `problems`: what stands between the report and a verdict. `*ret_hard`: no finding outweighs it.
 * Owned. */
json_t *dp_gate_problems(const struct dp_gate_input *input, bool *ret_hard);

/* "A, not B" where what computed for the first is not what computed for the second; else NULL. Owned. */
char *dp_other_class(const struct dp_diff_side *first, const struct dp_diff_side *second);

/* Text of a report for a line of output: printable, and cut where it is long. Owned. */
char *dp_gate_shown(const char *text);
json_t *dp_gate_line(const char *kind, char *line_owned);

#endif
