/* SPDX-License-Identifier: Apache-2.0
 *
 * What a gate decides of a report: one document (schema/gate.schema.json), made here from documents alone;
 * the date of today is an argument. Renderers take the document.
 *
 * A policy says what fails, what is allowed until when, and how much must have been measured. With a
 * baseline, what it knows is told from what is new, by the rules of reports/diff: a gate that passes once on
 * a stack does not fail on it another time because a rare difference was seen now and not then.
 */
#ifndef DP_REPORTS_GATE_H
#define DP_REPORTS_GATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "reports/diff/diff.h"
#include "suite/base/err.h"

#define DP_GATE_SCHEMA_VERSION "1.0"
#define DP_POLICY_SCHEMA_VERSION "1.0"

/* Strict reader: size, schema, version, dates of the calendar, globs. Owned; code 65. */
json_t *dp_policy_load(const char *path, struct dp_err *err);
int dp_policy_check(const json_t *policy, struct dp_err *err);
/* A document that dp_gate_make made, read back. Code 65. */
int dp_gate_check(const json_t *gate, struct dp_err *err);

/* Borrowed. What is not there has report or json NULL. */
struct dp_gate_input {
    struct dp_diff_side report, baseline;
    const json_t *policy; /* checked; NULL: broken guarantees and wrong bits fail */
    const char *policy_name;
    const char *fail_on; /* broken, varies, changes, never: instead of what the policy says; NULL */
    const char *today;   /* "2027-01-31" */
    bool any_device;     /* a baseline of another class of devices will do */
};
/* Whether there can be an answer, before there is a report: what fails without a baseline needs none (64),
 * and the baseline is valid (65). */
int dp_gate_prepare(const struct dp_gate_input *input, struct dp_err *err);
/* Whether the baseline is of the report's plan and, unless any will do, of its class of devices. Reads plan,
 * environment, and of results the cases and the backends of those that ran, so that a run can ask before it
 * begins. Code 65. */
int dp_gate_comparable(const struct dp_gate_input *input, struct dp_err *err);
/* Both, then the answer. Owned; NULL with the code of the error. */
json_t *dp_gate_make(const struct dp_gate_input *input, struct dp_err *err);

enum dp_gate_verdict { DP_GATE_NONE, DP_GATE_PASSED, DP_GATE_FAILED, DP_GATE_NO_VERDICT };
enum dp_gate_verdict dp_gate_verdict(const json_t *gate);

/* Why a report has no valid verdict whatever it found: a control misbehaved, the run was interrupted. NULL:
 * it has one. Owned. */
char *dp_report_invalid(const json_t *report);

#endif
