/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: every request that a run will make, in order, from catalogue and options alone. The same
 * catalogue and options give the same plan on every machine, so a killed run resumes and two runs are
 * comparable.
 */
#ifndef DP_PLAN_PLAN_H
#define DP_PLAN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/err.h"
#include "suite/base/options.h"
#include "suite/plan/caps.h"
#include "suite/plan/catalogue.h"

#define DP_AXIS_PRICE "price"
#define DP_COMPARISONS_MAX 1000000000 /* of one case */
#define DP_COST_MAX_NS 1e14           /* a day: far beyond any budget, and thousands of cases still add up */

/* What the user asked for, resolved; kept in the run log's first line so that --resume needs nothing else. */
struct dp_plan_options {
    const char *level;         /* quick, default, deep */
    uint64_t seed;             /* --seed, default 1 */
    int seeds;                 /* 0: the level's */
    int runs;                  /* 0: the level's */
    int fresh;                 /* -1: the level's */
    int64_t budget_ns;         /* 0: none */
    double detect_rate;        /* of a variation that is to be seen ... */
    double confidence;         /* ... with this probability; 0: the plan is not of that kind */
    bool adaptive;             /* spends the budget in stages, where doubt is */
    bool retest_varies;        /* whatever varies is tried again, not only what is broken or wrong */
    const json_t *costs;       /* as dp_costs_of_report has them, for the budget; NULL: the catalogue's */
    struct dp_strings axes;    /* empty: the level's; products as "threads*repeat" */
    struct dp_strings include; /* selectors, empty: all */
    struct dp_strings exclude;
    const char *stack; /* as dp_stack_open takes it, NULL: none */
    bool force;        /* measures on a device that others use */
    bool price;        /* times pairs of cases after all else */
};

/* One request of protocol 1: one setting of one axis for one case, seed and set. */
struct dp_request {
    int case_index;      /* into plan.cases */
    const char *axis;    /* "repeat", "fresh", "poison", "threads", "batch", "threads*repeat", ..., or
                            DP_AXIS_PRICE, which varies nothing; static */
    const char *setting; /* "", "3", "0xa5", "16/15"; static or the plan's own */
    int seed_index;      /* i of seed/i */
    const char *set;     /* "wide", "unit", "exact"; static */
    int runs;
    int process;        /* 0: the program's base process; k > 0: its k-th fresh process, then one a device
                           and one a cap */
    const char *device; /* which device its process opens, by number; NULL: the program's first. Static */
    const struct dp_cap *cap; /* of the instruction set of its process; NULL: none */
    const char *dropped; /* why it is not asked: answered so by the runner. NULL: it is. The plan's own */
    int stage;           /* 0: first pass; n: n-th further stage of a sequential plan, on inputs of its own */
    int retest;          /* 0: first pass; n: n-th confirmation of a finding, in a process of its own */
};

/* A case and its deterministic counterpart, both of the plan: what determinism costs is how much longer the
 * counterpart takes for the same inputs. They are timed in turns, so that whatever slows the machine down for
 * a while slows both. */
struct dp_priced {
    size_t usual, deterministic; /* into plan.cases */
    size_t first; /* request of the first round, the usual form's; the rounds follow, both forms in each */
    int rounds;   /* that are planned; 0: none, for one of the two did not run */
};

struct dp_left_out {
    const char *case_id;
    const char *reason; /* "budget" */
};

struct dp_plan {
    const struct dp_catalogue *catalogue;
    struct dp_plan_options options;
    const struct dp_case **cases; /* chosen cases and the controls of their backends, by program, then id */
    size_t case_count;
    struct dp_request *requests; /* by program, process, case, seed, set, axis, setting */
    size_t request_count, request_capacity;
    struct dp_left_out *left_out;
    size_t left_out_count;
    struct dp_priced
        *priced; /* with options.price: by their programs, so that few run at once, then by case */
    size_t priced_count;
    const char **axes; /* axes in this plan, products included, in the order of the design's table */
    size_t axis_count;
    int seeds, runs, fresh;
    char **texts; /* owned, for requests that are dropped */
    size_t text_count;
    int64_t expected_ns; /* from the costs, starting the programs included; grows with each stage */
    int64_t comparisons; /* that a sequential plan gives each case at the base setting unless it varies
                            before; 0: the plan is not sequential, INT64_MAX: as many as the budget holds */
    int stage;           /* the last that was planned */
};

/* `options` is copied; what it points to must outlive the plan. Unknown level, axis or selector, a budget
 * that holds nothing or not the rate, and a rate that takes more than DP_COMPARISONS_MAX comparisons:
 * code 64. */
int dp_plan_make(const struct dp_catalogue *catalogue, const struct dp_plan_options *options,
                 struct dp_plan *ret, struct dp_err *err);
/* The next stage of a sequential plan, appended: of the cases in doubt (indices; nothing about them is known
 * but that they repeated so far) each gets up to three times the comparisons that it had, on further inputs,
 * so that it ends at plan.comparisons or where the budget does. Those whose comparisons cost least for what
 * they may show come first (stages.c). False: there is nothing to add. The same cases in doubt give the same
 * stage. */
bool dp_plan_add_stage(struct dp_plan *plan, const size_t *doubtful, size_t count);
/* What a sequential plan comes to where nothing varies. */
struct dp_plan_most {
    int64_t least_runs, most_runs; /* of one case at the base setting */
    int64_t runs;                  /* of all of them, there */
    int64_t ns;                    /* of the whole plan */
};
struct dp_plan_most dp_plan_at_most(const struct dp_plan *plan);
/* Appends the requests that confirm findings: for every case index in `suspects` the requests of the first
 * pass and its stages that showed the difference or more, with retest = round. Of a sequential plan that
 * looks for a rate each gets as many comparisons as would have shown that. */
void dp_plan_add_retest(struct dp_plan *plan, const size_t *suspects, size_t count, int round);
/* Axes device and isa: the requests for every other device of the machine than the one that the base process
 * opened, and for every cap of an instruction set that a library of the program knows. They follow from what
 * the programs said (object: program -> hello) and from the processor (as dp_host_facts has it); the plan
 * itself names both axes on every machine alike. What this machine cannot do is a request that is dropped, so
 * that nothing passes that was not compared. */
void dp_plan_add_later(struct dp_plan *plan, const json_t *hellos, const json_t *host);
/* Appends the requests that say why bits moved: for each request in `moved`, of an axis whose product with
 * `order` is in the plan, one that reveals the order of additions at its setting. */
void dp_plan_add_orders(struct dp_plan *plan, const size_t *moved, size_t count);
/* The rounds of every pair whose cases both `ran` (by case). They are to be asked one at a time, in the
 * plan's order, whatever programs they are of. */
void dp_plan_add_price(struct dp_plan *plan, const bool *ran);
void dp_plan_free(struct dp_plan *plan);

/* The request as a protocol message with the given id. Owned. */
json_t *dp_request_message(const struct dp_plan *plan, size_t request);
/* The report's body.plan: level, seed, seeds, runs, fresh, axes[], selectors, cases, left_out[]. Owned. */
json_t *dp_plan_describe(const struct dp_plan *plan);
/* Options to and from the run log's first line. The strings of *ret live as long as `object`. */
json_t *dp_plan_options_to_json(const struct dp_plan_options *options);
int dp_plan_options_from_json(const json_t *object, struct dp_plan_options *ret, struct dp_err *err);

#endif
