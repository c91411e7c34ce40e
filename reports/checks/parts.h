/* SPDX-License-Identifier: Apache-2.0
 *
 * Making lists of checks, for the files of this folder.
 */
#ifndef DP_REPORTS_CHECKS_PARTS_H
#define DP_REPORTS_CHECKS_PARTS_H

#include "reports/checks/checks.h"

/* Adds a copy of `check`, its strings made harmless; NULL is "". */
void dp_checks_add(struct dp_checks *checks, const struct dp_check *check);
/* The same for a case: group and name come from `subject`, ` (suffix)` tells checks of one case apart. */
void dp_checks_add_case(struct dp_checks *checks, struct dp_check check, const char *suffix);
void dp_checks_fact(struct dp_checks *checks, const char *name, const char *value);
/* A copy of a string that is one harmless line; belongs to `checks`. */
const char *dp_checks_string(struct dp_checks *checks, const char *string);
/* Adds one line to a detail; empty ones are left out. */
void dp_checks_line(struct dp_text *detail, const char *label, const char *line);

void dp_checks_of_report(const json_t *report, struct dp_checks *checks);
void dp_checks_of_diff(const json_t *diff, struct dp_checks *checks);
void dp_checks_of_gate(const json_t *gate, struct dp_checks *checks);

#endif
