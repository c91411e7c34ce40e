/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheme of a plan: level and options resolved to amounts and axes, and from them the requests and the
 * price of one case. Internal to this folder.
 */
#ifndef DP_PLAN_SCHEME_H
#define DP_PLAN_SCHEME_H

#include "suite/plan/levels.h"
#include "suite/plan/plan.h"

enum {
    DP_AXIS_MAX = 24,
    FIRST_SEEDS = 2,     /* what axes other than repeat take */
    FIRST_RUNS = 3,      /* of a sequential plan at the base setting, before its stages */
    AT_ONCE_RUNS = 8,    /* of each at once, where the guarantee does not speak of it */
    INVARIANT_RUNS = 2,  /* ... and how often at each setting: one repeat tells whether the setting repeats */
    REQUEST_NS = 1000000 /* inputs, preparation, digests and the protocol, for each request; measured on two
                          * cores, only what a plan costs depends on it */
};

struct scheme {
    const struct dp_level *level;
    const struct dp_axis *axes[DP_AXIS_MAX];
    bool asked[DP_AXIS_MAX]; /* by name: then of every case */
    bool moved[DP_AXIS_MAX]; /* only where the bits are seen to move: planned then */
    size_t axis_count;
    int seeds, runs, fresh;       /* nominal: of a case that is not cut */
    bool seeds_given, runs_given; /* asked for: not cut */
    bool sequential;              /* the base setting begins with FIRST_RUNS */
    const json_t *costs;          /* id -> ns, of dp_plan_options: prices only, nothing is cut by them */
};

/* One case's share, after cutting. */
struct share {
    const struct dp_case *item;
    int seeds, runs, fresh;
    bool invariant; /* takes other axes than repeat and fresh; a control does not */
};

/* What is called with each request of a case; case_index is left for the caller to set. */
typedef void (*request_visitor)(void *context, const struct dp_request *request);

int scheme_make(const struct dp_plan_options *options, struct scheme *ret, struct dp_err *err);
/* False for a control that cannot show itself because its axis is not in the plan. */
bool scheme_takes(const struct scheme *scheme, const struct dp_case *item);
struct share scheme_share(const struct scheme *scheme, const struct dp_case *item);
/* The requests of one process: the base process 0, or the k-th fresh one. */
void scheme_requests(const struct scheme *scheme, const struct share *share, int process,
                     request_visitor visit, void *context);
bool scheme_has_axis(const struct scheme *scheme, const struct dp_axis *axis);
/* Whether a case takes the i-th axis, be it only where bits move. */
bool scheme_takes_axis(const struct scheme *scheme, const struct dp_case *item, size_t i);
/* Expected time of all its requests; nothing for a program that was not built. */
int64_t scheme_case_ns(const struct scheme *scheme, const struct dp_case *item);
/* Of one run, as the catalogue has it. */
int64_t case_cost_ns(const struct dp_case *item);
/* The most runs that revealing the case's order of additions may take, where that is `asked` for by name or
 * not; 0: it is not revealed. And what it is expected to cost. */
int order_runs(const struct dp_level *level, const struct dp_case *item, bool asked);
double order_price_ns(const struct dp_level *level, const struct dp_case *item);
/* And of so many more runs at the base setting, in so many requests. */
int64_t scheme_more_ns(const struct scheme *scheme, const struct dp_case *item, int64_t runs,
                       int64_t requests);
/* Runs of one input at the base setting, of the first pass. */
int scheme_first_runs(const struct scheme *scheme, const struct share *share);
/* As many runs as one request of the case may hold, so that it ends in time. */
int scheme_request_runs(const struct dp_case *item);
/* What of it is not the runs themselves, as the catalogue has it. */
double scheme_request_ns(const struct scheme *scheme, const struct dp_case *item);

/* What the cases of a program ask of it. */
struct use {
    bool caps; /* one takes capped instruction sets */
    bool runs; /* one is not known to be skipped */
};
void scheme_add_use(const struct scheme *scheme, const struct dp_case *item, struct use *use);
/* Does the case run at capped instruction sets, as far as its catalogue says? */
bool scheme_takes_caps(const struct scheme *scheme, const struct dp_case *item);
/* Expected time of starting a program as often as its cases need: once where it will only say that it cannot.
 */
int64_t scheme_program_ns(const struct scheme *scheme, const struct dp_program *program, struct use use);

/* Expected time of starting a program once more. */
int64_t scheme_start_ns(const struct dp_program *program);

/* Appends a copy. */
void plan_append(struct dp_plan *plan, const struct dp_request *request);

/* What a sequential plan goes up to, at its end: code 64 where that cannot be, as dp_plan_make says. */
int stages_begin(struct dp_plan *plan, const struct scheme *scheme, struct dp_err *err);
/* Appends to a retest what the case lacks of the comparisons that show a rate. */
void stages_complete(struct dp_plan *plan, size_t case_index, int retest);
/* Fills plan->priced from the catalogue, and adds what their rounds are expected to take. */
void price_pairs(const struct scheme *scheme, struct dp_plan *plan);

/* Clears in `chosen` the cases that do not fit into the budget, by a fixed rule. Code 64 when none fits. */
int budget_cut(const struct scheme *scheme, const struct dp_catalogue *catalogue, int64_t budget_ns,
               bool *chosen, struct dp_err *err);

#endif
