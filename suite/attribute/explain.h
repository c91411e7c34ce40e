/* SPDX-License-Identifier: Apache-2.0
 *
 * What moves the bits of one case of a report, found by running it here: one document
 * (reports/schema/explain.schema.json).
 */
#ifndef DP_ATTRIBUTE_EXPLAIN_H
#define DP_ATTRIBUTE_EXPLAIN_H

#include <jansson.h>

#include "suite/attribute/trial.h"

/* `report` is one that was checked and holds the bench's case; `runs` 0: as the case's cost allows. Owned;
 * NULL with the code of the error: 77 where the case cannot run here, 2 where it fails. */
json_t *dp_explain(struct dp_bench *bench, const json_t *report, int runs, struct dp_err *err);

/* How much of this case one trial takes that looks whether it repeats: no longer than some seconds. */
struct dp_amount dp_explain_amount(const struct dp_case *item, int runs);

/* How much one trial takes that shows that what varied so does not any more: `amount` or more. */
struct dp_amount dp_amount_to_keep(const struct dp_trial *varying, struct dp_amount amount);

/* Are these the bits that a report's result has, in all outputs that both hold? 1, 0, or -1: they hold none
 * in common. */
int dp_same_outputs(const json_t *outputs, const json_t *result);

#endif
