/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions that a user asks to assume, "cudnn=9.1,sm=90", instead of those that are here.
 */
#ifndef DP_PLAN_ASSUME_H
#define DP_PLAN_ASSUME_H

#include <jansson.h>

#include "suite/base/options.h"
#include "suite/plan/catalogue.h"

/* Role -> {version, name?, from}, from words of ROLE=VERSION or ROLE=NAME/VERSION with commas between them. A
 * role that no guarantee of the catalogue names, one that is named twice and what is no version: code 64 with
 * a hint. Owned, NULL on failure. */
json_t *dp_assume(const struct dp_strings *words, const struct dp_catalogue *catalogue, struct dp_err *err);

/* The roles that what is documented of a case depends on or is said of: an object's keys. Owned. */
json_t *dp_assume_roles_of(const struct dp_case *item);

#endif
