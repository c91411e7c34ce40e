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
 * compared, or is NULL. `undecided`: it repeats on one side and varies on the other, and one rate of
 * differences explains both. */
struct dp_changes {
    bool is[DP_CHANGE_MAX];
    json_t *axes[2]; /* newly sensitive to, no more sensitive to: names, owned */
    const char *unlike;
    bool undecided;
};
void dp_changes_find(const struct dp_pair *pair, struct dp_changes *ret);
/* Whether two lists of outputs have the same bits, where both have an output of the same inputs. What cannot
 * be compared is said in words in *ret_unlike, else NULL. */
bool dp_outputs_equal(const json_t *before, const json_t *after, const char **ret_unlike);
/* Whether one rate of differences cannot explain that side `steady` repeated and side `moving` varied. */
bool dp_rates_exclude(const struct dp_pair *pair, int steady, int moving);
void dp_changes_free(struct dp_changes *changes);

/* Rows {kind, subject, member, before, after, words, ...} of what differs between two environments, by
 * weight. Owned. */
json_t *dp_diff_environment(const json_t *before, const json_t *after);
/* One row without words; NULL: not there. Owned. */
json_t *dp_difference(const char *kind, const char *subject, const char *member, const char *before,
                      const char *after);
/* Adds a row where the member differs; the members of `extra`, or NULL, go into it. */
void dp_difference_member(json_t *rows, const char *kind, const char *subject, const char *member,
                          const json_t *before, const json_t *after, json_t *extra);
void dp_difference_libraries(json_t *rows, const json_t *before, const json_t *after);
/* Adds to a row of kind variable who reads it: `families` or `backend`, neither where it may be anybody. */
void dp_difference_readers(json_t *difference, const json_t *libraries[2]);
/* Whether a case of this backend and family ("cpu/gemm") can have met the difference. */
bool dp_difference_reaches(const json_t *difference, const char *backend, const char *family);

/* Of the member `order` of a change: whether its two orders differ, and "4 blocks of 128, each in order;
 * these in order → 8 blocks of 64, each in order; these in order", without what both have. Owned. */
bool dp_diff_is_other_order(const json_t *two);
char *dp_diff_orders(const json_t *two);

/* The member `causes`: changes put together by what may explain them; each change gets `cause`, its place
 * there. Owned. */
json_t *dp_diff_causes(json_t *changes, const json_t *environment);

/* "OpenBLAS 0.3.21"; NULL for none. The instruction set that a library says it uses, or NULL. Owned. */
char *dp_library_title(const json_t *library);
char *dp_library_isa(const json_t *library);

/* What a report measured, in words. Owned. */
char *dp_diff_measured(const json_t *report);

#endif
