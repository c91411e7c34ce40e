/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a comparison, for the files of this folder.
 */
#ifndef DP_REPORTS_DIFF_PARTS_H
#define DP_REPORTS_DIFF_PARTS_H

#include "reports/diff/diff.h"

/* One case on both sides: entries of body.results and of measurements.cases, NULL where it is not there. */
struct dp_pair {
    const char *id;
    const json_t *result[2], *measured[2];
};

/* The changes of one case, as a set of kinds; `unlike` says in words why its bits, or all of it, were not
 * compared, or is NULL. */
struct dp_changes {
    bool is[DP_CHANGE_MAX];
    json_t *axes[2]; /* newly sensitive to, no more sensitive to: names, owned */
    const char *unlike;
};
void dp_changes_find(const struct dp_pair *pair, struct dp_changes *ret);
void dp_changes_free(struct dp_changes *changes);

/* Rows {kind, subject, member, before, after, words} of what differs between two environments, by weight.
 * Owned. */
json_t *dp_diff_environment(const json_t *before, const json_t *after);
/* Whether a case of this backend and family ("cpu/gemm") can have met the difference. */
bool dp_difference_reaches(const json_t *difference, const char *backend, const char *family);

/* The member `causes`: changes put together by what may explain them. Owned. */
json_t *dp_diff_causes(json_t *changes, const json_t *environment);

#endif
