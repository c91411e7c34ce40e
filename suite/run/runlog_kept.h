/* SPDX-License-Identifier: Apache-2.0
 *
 * What the runner alone asks of a run log.
 */
#ifndef DP_RUN_RUNLOG_KEPT_H
#define DP_RUN_RUNLOG_KEPT_H

#include <jansson.h>
#include <stddef.h>

#include "suite/plan/plan.h"
#include "suite/run/runlog.h"

/* The answer that a resumed log holds for a request which was not planned yet when the log was read (a
 * retest), checked against the request; taken out of the log. Owned, or NULL. */
json_t *dp_runlog_kept(struct dp_runlog *log, const struct dp_plan *plan, size_t request);

#endif
