/* SPDX-License-Identifier: Apache-2.0
 *
 * What all workers of one run share: the plan, the answers so far, the log, and the rule that an error at the
 * base setting costs the case.
 */
#ifndef DP_RUN_SESSION_H
#define DP_RUN_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/plan/plan.h"
#include "suite/run/orphans.h"
#include "suite/run/runner.h"
#include "suite/run/signals.h"

struct dp_session {
    const struct dp_plan *plan;
    struct dp_answers *answers;
    const struct dp_run_options *options;
    struct dp_signals signals;
    struct dp_pids before;  /* children that were ours before the run */
    struct dp_pids leaders; /* processes of programs that run now */
    size_t answered;
    size_t turn;   /* no request before this one is without an answer; moved by dp_session_is_due alone */
    bool stopping; /* somebody asked us to end */
};

/* Takes an answer for a request: keeps, logs and reports it. An error at the base setting answers the case's
 * other requests of the same round, in this and in later processes, with the same error; one at a cap those
 * at this cap, since what ends in SIGILL does so each time. */
void dp_session_answer(struct dp_session *session, size_t request, json_t *answer);
/* Applies that rule to the answers that a log brought. */
void dp_session_settle(struct dp_session *session);
/* May this request be asked now? Where they go in turns, when all before it are answered. */
bool dp_session_is_due(struct dp_session *session, size_t request);
/* Keeps the first hello of a program, or the answer that stands for all its requests. */
void dp_session_hello(struct dp_session *session, const struct dp_program *program, const json_t *message);

/* Does this process use the libraries that the first one of its program named? What is measured with others
 * is no repeat, and a report names a library once. false with a text that says which. */
bool dp_session_same_libraries(const struct dp_session *session, const struct dp_program *program,
                               const json_t *hello, struct dp_err *err);

/* "case|axis|setting|seed|set|process|retest": what a request is, whatever its number. Owned. */
char *dp_request_key(const struct dp_plan *plan, size_t request);

#endif
