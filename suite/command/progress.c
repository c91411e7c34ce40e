/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a run. Redrawing is for people at a terminal only; a log file gets whole lines or nothing.
 */
#include "suite/command/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/clock.h"
#include "suite/base/text.h"

#define REDRAW_NS INT64_C(100000000)

static bool terminal_wants_redraw(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !getenv("CI");
}

void dp_progress_start(struct dp_progress *progress, bool quiet, bool verbose)
{
    *progress = (struct dp_progress){.started_ns = dp_now_ns()};
    progress->redraw = !quiet && terminal_wants_redraw();
    progress->lines = !quiet && !progress->redraw && verbose;
}

/* Counts what each case still waits for; again when a retest has lengthened the plan. */
static void count_remaining(struct dp_progress *progress, const struct dp_plan *plan, size_t answered)
{
    free(progress->remaining);
    progress->remaining = dp_alloc(plan->case_count + 1, sizeof(*progress->remaining));
    for (size_t i = 0; i < plan->request_count; i++) {
        progress->remaining[plan->requests[i].case_index]++;
    }
    progress->planned = plan->request_count;
    progress->first = answered > 0 ? answered - 1 : 0;
    progress->started_ns = dp_now_ns();
}

static void redraw(struct dp_progress *progress, const char *id, size_t answered, size_t total)
{
    const int64_t now = dp_now_ns();
    if (now - progress->drawn_ns < REDRAW_NS) {
        return;
    }
    progress->drawn_ns = now;
    const double done = (double)(answered - progress->first);
    const double left = (double)(now - progress->started_ns) * 1e-9 * (double)(total - answered) / done;
    fprintf(stderr, "\r\033[K%3zu%%  %.0f s left  %.60s", answered * 100 / total, left, id);
    fflush(stderr);
}

void dp_progress_step(void *context, const struct dp_plan *plan, size_t request, size_t answered,
                      size_t total)
{
    struct dp_progress *progress = context;
    if (!progress->redraw && !progress->lines) {
        return;
    }
    if (progress->planned != plan->request_count) {
        count_remaining(progress, plan, answered);
    }
    const struct dp_request *done = &plan->requests[request];
    const char *id = plan->cases[done->case_index]->id;
    if (progress->redraw) {
        redraw(progress, id, answered, total);
    } else if (--progress->remaining[done->case_index] == 0) {
        fprintf(stderr, "%zu/%zu %s\n", answered, total, id);
    }
}

void dp_progress_end(struct dp_progress *progress)
{
    if (progress->redraw) {
        fputs("\r\033[K", stderr);
    }
    free(progress->remaining);
    progress->remaining = NULL;
}
