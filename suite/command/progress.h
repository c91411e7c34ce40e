/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a run on stderr: one redrawn line on a terminal, one plain line per finished case with
 * --verbose elsewhere, nothing otherwise.
 */
#ifndef DP_COMMAND_PROGRESS_H
#define DP_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/plan/plan.h"

struct dp_progress {
    bool redraw, lines;
    int64_t started_ns, drawn_ns;
    size_t first;      /* requests that a resumed log had answered already */
    size_t *remaining; /* requests left, by case */
    size_t planned;
};

void dp_progress_start(struct dp_progress *progress, bool quiet, bool verbose);
/* The callback of struct dp_run_options; `context` is a struct dp_progress. */
void dp_progress_step(void *context, const struct dp_plan *plan, size_t request, size_t answered,
                      size_t total);
void dp_progress_end(struct dp_progress *progress);

#endif
