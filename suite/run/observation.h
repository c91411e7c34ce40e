/* SPDX-License-Identifier: Apache-2.0
 *
 * What an observation may say: types, ranges, and sums that must come out.
 */
#ifndef DP_RUN_OBSERVATION_H
#define DP_RUN_OBSERVATION_H

#include <jansson.h>

#include "suite/base/err.h"

/* `runs` of the request; 0: not known, then the first output's sum stands for it where all classes are
 * listed. Owned copy of the known members, or NULL. */
json_t *dp_observation_check(const json_t *message, int runs, struct dp_err *err);

#endif
