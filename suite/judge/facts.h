/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts: each answer of the plan read once, strictly, into the few numbers that judging needs; and the
 * questions that verdict, controls and measurements ask of the facts of one case. For suite/judge, and
 * suite/attribute for its trials.
 */
#ifndef DP_JUDGE_FACTS_H
#define DP_JUDGE_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/judge/judge.h"
#include "suite/plan/plan.h"

enum dp_fact_kind {
    DP_FACT_MISSING,
    DP_FACT_SKIP,
    DP_FACT_ERROR,
    DP_FACT_OBSERVATION,
    DP_FACT_ORDER /* of additions: `distinct` is 2 where sums that were asked again were others */
};

struct dp_fact {
    const struct dp_request *request;
    const json_t *answer; /* NULL: missing */
    enum dp_fact_kind kind;
    const char *reason;       /* of SKIP and ERROR: a word */
    const char *text;         /* of SKIP and ERROR: a sentence, may be empty */
    size_t distinct;          /* most distinct outputs over the outputs of the operation */
    size_t mismatches;        /* runs outside the largest class, of the output with most of them */
    const json_t *most;       /* the output that `distinct` is of */
    const char *unwritten;    /* name of an output with elements never written, or NULL */
    const char *guard;        /* name of an output whose guard was overwritten, or NULL */
    double error_over_bound;  /* the largest; negative: none was reported */
    const char *error_output; /* whose */
    bool full;                /* every output says unwritten and guard */
    bool bounded;             /* every output says error_over_bound */
};

/* The facts of one case, in the order of the plan's requests. */
struct dp_view {
    const struct dp_plan *plan;
    const struct dp_case *item;
    size_t case_index;
    const struct dp_fact **facts;
    size_t count;
    bool full;      /* everything that decides `wrong` was reported ("checked": "full") */
    json_t *stated; /* what is documented where the libraries of its process are, as guarantee.h has it; the
                       facts' own */
};

struct dp_facts {
    struct dp_fact *items; /* by request */
    const struct dp_fact **sorted;
    struct dp_view *views; /* by case */
    size_t view_count;
};

void dp_facts_read(const struct dp_plan *plan, const struct dp_answers *answers, struct dp_facts *ret);
void dp_facts_free(struct dp_facts *facts);
/* For qsort over pointers to views: by case id, the order of the report. */
int dp_view_compare(const void *left, const void *right);

/* An axis as the design's table names it: its place there, whether its bits are compared with the base
 * setting's (else its settings are compared among themselves), and whether it acts on each run anew, so that
 * a difference among the runs at one setting is its doing where the base repeats. */
struct dp_compared_axis {
    const char *name;
    bool with_base, each_run;
};
#define DP_AXIS_COUNT 11
extern const struct dp_compared_axis dp_axes[DP_AXIS_COUNT];
/* That of this name; of any other, one that is compared with nothing. */
const struct dp_compared_axis *dp_axis_compared(const char *name);

/* Is `axis` a factor of the request's axis ("threads" of "threads*repeat")? One that reveals an order varies
 * nothing. */
bool dp_request_varies(const struct dp_request *request, const char *axis);

/* Is the observation made on an axis that acts on each run, of which the guarantee does not speak? Then what
 * its runs do is sensitivity. */
bool dp_fact_is_uncovered(const struct dp_case *item, const struct dp_fact *fact);

/* A request at the base setting: axis repeat, first pass and its stages. */
bool dp_fact_is_base(const struct dp_fact *fact);
/* The same without the stages: how many those are is no matter of the stack, so what the body shows is not of
 * them. */
bool dp_fact_is_first(const struct dp_fact *fact);
/* The base observation with this fact's seed and set, or NULL. */
const struct dp_fact *dp_base_of(const struct dp_view *view, const struct dp_fact *fact);
/* Do two observations have the same first class in every output? */
bool dp_same_bits(const struct dp_fact *a, const struct dp_fact *b);

/* What the settings of an axis say in one round (0: the first pass) about settings at which repeat holds. */
struct dp_moved {
    size_t observed;   /* settings that gave an observation */
    size_t comparable; /* comparisons that could be made; observed and none: confounded */
    bool moved;        /* bits differed in one of them */
    bool chosen_moved; /* in every comparison that differed another algorithm had been chosen */
};
struct dp_moved dp_axis_moved(const struct dp_view *view, const char *axis, int round);

/* Does the case's guarantee speak of this axis / forbid that bits move along it? */
bool dp_case_covers(const struct dp_case *item, const char *axis);
bool dp_case_invariant(const struct dp_case *item, const char *axis);

/* Why a setting gave nothing, of what is neither observation nor order: "interrupted", "memory: too little".
 * Owned. */
char *dp_fact_dropped(const struct dp_fact *fact);

/* "SEED/i" of a request. Owned. */
char *dp_seed_name(const struct dp_plan *plan, int seed_index);

/* What was found about one case: its result, before the controls of its backend are known. */
struct dp_found {
    enum dp_observed observed;
    const char *status;     /* none, allows, kept, broken; NULL when it did not run */
    char *reason;           /* word or sentence, NULL: none; owned */
    const char *text;       /* of skipped: the sentence beside the word; borrowed */
    const char *difference; /* of varies: selection or execution */
    bool suspect;           /* wants the difference again in a new process */
    bool unconfirmed;       /* untested because the difference did not come again (yet) */
    json_t *wrong_under;    /* settings of axis isa at which its results are wrong; owned */
};
void dp_find(const struct dp_view *view, int rounds, struct dp_found *ret);
/* Takes what was found back: untested for this reason. */
void dp_found_untested(struct dp_found *found, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What one round shows, for the controls. Reason is owned or NULL. */
bool dp_round_is_wrong(const struct dp_view *view, int round, char **ret_reason);
/* Whether a retest shows again what the first pass found: wrong results where they were wrong, else any
 * difference that counts. False where it found nothing. */
bool dp_round_confirms(const struct dp_view *view, int round);
/* What is wrong with an observation made at a capped instruction set, NULL: nothing. It is that setting's
 * alone: the case as it runs by itself is not wrong for it. Owned. */
char *dp_capped_wrong(const struct dp_view *view, const struct dp_fact *fact);

json_t *dp_result_json(const struct dp_view *view, const struct dp_found *found); /* owned */
json_t *dp_measure_json(const struct dp_view *view);                              /* owned */
json_t *dp_measure_axes_json(const struct dp_view *view); /* its member `axes`. Owned */
/* measurements.cases[].confirmation, NULL: nothing was tried again. Owned. */
json_t *dp_attempts_json(const struct dp_view *view);
/* measurements.strength, of results and measurements in one order; NULL: no case repeats. With K cases that
 * repeat in n comparisons or more each and a chance m: `rate` is 1 - m^(1/n), so one case that varies at it
 * or above was missed with probability m at most (statistics.h). `rate_of_all` is 1 - (m/K)^(1/n): by
 * Bonferroni's inequality, the sum of K chances m/K, the probability that any of the K was missed that varies
 * at this rate or above is m at most, however they depend on each other (O. J. Dunn, J. Amer. Statist. Assoc.
 * 56, 1961, 52-64). What varies was seen to: chance calls nothing varying that repeats. Owned. */
json_t *dp_strength_json(const struct dp_plan_options *options, const json_t *results,
                         const json_t *measured);

/* The order of additions at the base setting, for the result; NULL: none was revealed, or there is no one.
 * Owned. */
json_t *dp_order_json(const struct dp_view *view);
/* And that at every setting of the axes along which bits or orders move, for the measurements; NULL: none
 * was asked for. Owned. */
json_t *dp_orders_json(const struct dp_view *view);
/* The requests of the settings along which bits move, one for each result that an axis has: where an order
 * says why. None where the base setting has no order to show. `ret` has room for all of the view. Returns
 * their number. */
size_t dp_moved_settings(const struct dp_view *view, size_t *ret);

/* The controls of a plan: body.controls[], and what they say about each backend. */
struct dp_controls {
    json_t *json; /* owned */
    bool good;
    struct dp_backend {
        const char *name;
        char *insensitive; /* why its repeating cases say nothing, or NULL; owned */
        char *misbehaved;  /* why its broken guarantees say nothing, or NULL; owned */
    } * backends;
    size_t backend_count;
};
void dp_controls_judge(const struct dp_facts *facts, const struct dp_plan *plan, struct dp_controls *ret);
const struct dp_backend *dp_controls_of(const struct dp_controls *controls, const char *backend);
void dp_controls_free(struct dp_controls *controls); /* not `json` */

#endif
