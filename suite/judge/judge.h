/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging: from the plan and its answers to results. Pure: no process, no clock, no file. The words are those
 * of the design; every rule has a test in which it must not fire.
 */
#ifndef DP_JUDGE_JUDGE_H
#define DP_JUDGE_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "reports/gate/gate.h"
#include "suite/plan/plan.h"
#include "suite/run/runner.h"

/* How often a finding may be tried again, in a new process each time, before it counts as unconfirmed. */
#define DP_RETEST_ROUNDS 3

enum dp_observed { DP_REPEATS, DP_VARIES, DP_WRONG, DP_ERROR, DP_UNTESTED, DP_SKIPPED, DP_OBSERVED_MAX };

struct dp_judged {
    json_t *results;      /* body.results[], sorted by case */
    json_t *controls;     /* body.controls[] */
    json_t *measurements; /* measurements.cases[] */
    json_t *strength;     /* measurements.strength, NULL: no case repeats */
    size_t counts[DP_OBSERVED_MAX];
    size_t broken;      /* guarantees broken */
    size_t wrong_under; /* cases with wrong results at a capped instruction set */
    bool controls_good; /* every control that ran behaved; a control that should vary and did not is not
                           counted here */
    bool unconfirmed;   /* a case is untested: its difference was seen once and not again in new processes */
    bool insensitive;   /* a backend whose controls cannot vary */
    size_t *moved;      /* requests whose bits no earlier setting of their axis gave, where it moves bits */
    size_t moved_count;
    size_t *suspects; /* case indices whose finding wants confirmation in a new process */
    size_t suspect_count;
    size_t *doubtful; /* case indices of which nothing is known but that they repeated so far */
    size_t doubtful_count;
};

/* `confirmed_rounds`: how many retests the answers hold (0 on the first pass). With rounds left, a case that
 * looks broken or wrong stands in `suspects` and is `untested` until the difference is seen again; after the
 * last one (DP_RETEST_ROUNDS) it stays so. */
void dp_judge(const struct dp_plan *plan, const struct dp_answers *answers, int confirmed_rounds,
              struct dp_judged *ret);
void dp_judged_free(struct dp_judged *judged);

/* What a case computes, from what, as one digest (a result's `definition`): by it two reports can say that
 * their case was the same. false: its catalogue's text is not canonical, so it has none. */
bool dp_case_definition(const struct dp_case *item, char ret[65]);
/* By case: whether it gave a verdict, repeats, varies or wrong. Owned. */
bool *dp_judged_ran(const struct dp_judged *judged, const struct dp_plan *plan);
/* measurements.prices[] of the rounds that were asked for, sorted by case: what the deterministic form of
 * each pair costs, or why that cannot be said. A pair of which a round has no answer yet is left out. Owned.
 */
json_t *dp_prices_json(const struct dp_plan *plan, const struct dp_answers *answers);

const char *dp_observed_name(enum dp_observed observed);

/* Everything the exit code depends on. */
struct dp_verdict {
    int signal; /* 0 or the signal that ended the run */
    bool usage_error, data_error;
    bool control_misbehaved;
    bool stack_mismatch;                       /* a program took other files than the stack's */
    bool required_absent;                      /* --require */
    bool report_lost;                          /* report or log not written */
    size_t broken, wrong, varies, errors, ran; /* ran: results that are repeats, varies or wrong */
    size_t wrong_under;                        /* cases with wrong results at a capped instruction set */
    bool unconfirmed;                          /* a difference that was seen once and never again */
    bool insensitive, allow_insensitive;
    const char *fail_on;       /* broken, varies, never */
    enum dp_gate_verdict gate; /* what a gate said of the report: it decides over the results */
};
/* Precedence: signal, 64, 65, 2 (control, stack, --require, report), the gate's 2, 1 or 0 where there is one,
 * else 1, 2 (error, insensitive), 77, 0. */
int dp_exit_code(const struct dp_verdict *verdict);
/* The rule that decided, in words, for the report's measurements.exit.reason. Static. */
const char *dp_exit_reason(const struct dp_verdict *verdict);

#endif
