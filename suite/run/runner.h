/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner: starts probe programs, sends them the plan's requests, collects one answer for each. One bad
 * case, program or process never costs the others. Knows nothing of what an answer means.
 */
#ifndef DP_RUN_RUNNER_H
#define DP_RUN_RUNNER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/err.h"
#include "suite/plan/plan.h"
#include "suite/run/stack.h"

/* An answer is what the log and the judge see for a request; NULL: not (yet) answered.
 *   {"type": "observation", outputs, mismatch?, chosen?, kernels?, threads?, time?}   as the program sent it,
 * checked
 *   {"type": "skip", "reason": closed list of the design, "text"}
 *   {"type": "failure", "text"}                                            the program says it could not
 *   {"type": "error", "reason": "crash|timeout|protocol|gone|spawn|stack", "text", "log"?}   made by the
 * runner
 * Each that a request was asked for also has `spent_ns`, from asking it to the answer's end, by the runner.
 */
struct dp_answers {
    json_t **items; /* by request; grown with dp_answers_grow when a retest is planned */
    size_t count;
    json_t *hellos; /* object: program name -> its hello message, or the answer that stands for all its
                       requests */
};

enum dp_run_end { DP_RUN_DONE, DP_RUN_INTERRUPTED };

struct dp_run_options {
    int jobs;
    bool in_turns; /* one request at a time, in the plan's order, whatever programs they are of: for timing.
                    * Programs that wait for their turn stay, so jobs does not hold */
    int64_t timeout_ns;           /* of one request */
    struct dp_runlog *log;        /* NULL: none */
    const struct dp_stack *stack; /* that every program must use; NULL: whatever it finds */
    /* Called after each answer, with the number answered and planned; may be NULL. */
    void (*progress)(void *context, const struct dp_plan *plan, size_t request, size_t answered,
                     size_t total);
    void *context;
};

/* Runs every request that has no answer yet. SIGINT and SIGTERM end it after the running request (a second
 * one at once): *ret_end tells, *ret_signal is the signal's number. Fails only when it cannot work at all. */
int dp_run(const struct dp_plan *plan, struct dp_answers *answers, const struct dp_run_options *options,
           enum dp_run_end *ret_end, int *ret_signal, struct dp_err *err);

void dp_answers_grow(struct dp_answers *answers, size_t count);
void dp_answers_free(struct dp_answers *answers);

/* How long a program may take until its hello, where nothing else is asked of it. */
#define DP_HELLO_TIMEOUT_NS (INT64_C(30) * 1000000000)
/* Starts one program only for its hello (doctor). Owned: the hello message, or an answer of type skip or
 * error. */
json_t *dp_run_hello(const struct dp_program *program, const struct dp_stack *stack, int64_t timeout_ns);

#endif
