/* SPDX-License-Identifier: Apache-2.0
 *
 * Trials: one case, run by its program in several setups, each in new processes, and what its bits did in
 * each. What 'explain' and 'bisect' ask is asked here.
 */
#ifndef DP_ATTRIBUTE_TRIAL_H
#define DP_ATTRIBUTE_TRIAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/err.h"
#include "suite/plan/plan.h"
#include "suite/run/runner.h"

/* How a case is run once. All owned: dp_setup_free. */
struct dp_setup {
    json_t *variables; /* of its process, name -> value or null (not set); others are as they are here */
    const struct dp_cap *cap; /* of the instruction set; NULL: none. Static */
    char *axis, *setting;     /* as in a request: "threads*align" and "4*16"; "repeat" and "" */
};

enum dp_trial_kind {
    DP_TRIAL_UNKNOWN, /* it could not be run, or not in this setup */
    DP_TRIAL_REPEATS,
    DP_TRIAL_VARIES
};

struct dp_trial {
    enum dp_trial_kind kind;
    char *why;          /* of unknown: a sentence. Owned */
    bool skipped;       /* of unknown: it has no place here, nothing failed */
    char *bits;         /* of repeats: a line for each output of each seed, with its digest. Owned */
    json_t *outputs;    /* the same as in a report's result: {name, dtype, shape, seed, set, sha256}. Owned */
    size_t runs;        /* of all seeds and processes */
    size_t comparisons; /* with the first run of each */
    size_t mismatches;  /* runs outside of the largest class */
    bool between;       /* varies between processes, and not within one */
};

/* How much one trial takes. */
struct dp_amount {
    int seeds, runs, processes;
};

struct dp_bench {
    const struct dp_case *item;
    const struct dp_stack *stack; /* NULL: none was asked for */
    uint64_t seed;
    int64_t timeout_ns; /* of one request */
    json_t *hello;      /* what the program said first of itself. Owned */
    size_t trials;      /* made so far */
    int signal;         /* that ended the work; nothing is tried after it */
};

/* Tries the setups, `ret` has room for one answer each. -1 where nothing can be run at all, or a signal came:
 * then ret is empty. */
int dp_try(struct dp_bench *bench, const struct dp_setup *setups, size_t count, struct dp_amount amount,
           struct dp_trial *ret, struct dp_err *err);

/* Do both repeat, and with other bits? */
bool dp_trials_differ(const struct dp_trial *a, const struct dp_trial *b);

void dp_setup_free(struct dp_setup *setup);
void dp_trial_free(struct dp_trial *trial);
void dp_bench_free(struct dp_bench *bench);

#endif
