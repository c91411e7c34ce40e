/* SPDX-License-Identifier: Apache-2.0
 *
 * What the formats of the table of guarantees share.
 */
#ifndef DP_REPORTS_GUARANTEES_PARTS_H
#define DP_REPORTS_GUARANTEES_PARTS_H

#include <jansson.h>
#include <stdbool.h>

/* Documented as varying, and it repeated. */
bool dp_guarantees_is_unseen(const json_t *row);
/* What a reader of the table looks for: broken, or documented as varying and never seen to. */
bool dp_guarantees_is_news(const json_t *row);

/* Rows of one library, then of one statement: an object of label -> array of arrays of rows, by level and in
 * the order of the rows. Owned. */
json_t *dp_guarantees_groups(const json_t *document);

/* "12 repeat, 3 vary, 1 skipped", "" without a report. Owned. */
char *dp_guarantees_observed(const json_t *rows);
/* What is behind a statement that does not count, or may not: the reason and what else is said; lines
 * separated by '\n', "" where it counts of everything. Owned. */
char *dp_guarantees_remarks(const json_t *row);
/* "not seen to vary in 14 comparisons (rate below 19 %) and 4 new processes; no busy runs". Owned. */
char *dp_guarantees_evidence(const json_t *row);
/* The last line. Owned. */
char *dp_guarantees_sentence(const json_t *document);

#endif
