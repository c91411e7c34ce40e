/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of 'detprobe run' share: run_options.c reads what the user wants, run.c plans, runs, judges
 * and confirms, run_outcome.c makes the report, lets a gate decide and delivers both.
 */
#ifndef DP_COMMAND_RUNNING_H
#define DP_COMMAND_RUNNING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "suite/base/options.h"
#include "suite/command/ending.h"
#include "suite/command/gating.h"
#include "suite/command/progress.h"
#include "suite/judge/judge.h"
#include "suite/plan/plan.h"
#include "suite/run/runlog.h"
#include "suite/run/runner.h"

struct run_options {
    struct dp_plan_options plan;
    struct dp_strings require, axes, reports;
    struct dp_gating gating; /* its fail_on: what the user said, not what holds by itself */
    int64_t seed, seeds, runs, fresh, jobs, timeout_ns;
    const char *output, *resume, *fail_on, *retest, *colour, *costs;
    char *axes_text, *resumed_output; /* owned: what plan.axes and output may point into */
    bool all, json, dry_run, verbose, quiet, allow_insensitive;
};

/* Everything one run owns, from plan to report. */
struct run {
    struct run_options options;
    struct dp_catalogue catalogue;
    struct dp_stack stack; /* without a name: none was asked for */
    struct dp_plan plan;
    struct dp_answers answers;
    struct dp_runlog *log;
    struct dp_judged judged;
    struct dp_verdict verdict;
    struct dp_progress progress;
    json_t *resumed; /* the log's options, which plan.options borrows from */
    json_t *costs;   /* of a former report, likewise */
    json_t *ending;  /* and what decides its exit code, likewise */
    json_t *report;
    json_t *gate; /* what was decided of it; NULL: no gate, or it could not decide */
    char started[21];
    int64_t started_ns;
};

extern const struct run_options run_defaults;
extern const struct dp_command_line run_command_line;
/* Whether the options go together; fills what follows from them. Code 64, or 2 for a report that cannot be.
 */
int run_options_check(struct run_options *o, struct dp_err *err);
/* Code 64 for a backend that --require names and nobody knows. */
int run_backends_check(const struct dp_strings *names, struct dp_err *err);

/* The options that decide the exit code, for the log. */
struct dp_ending run_ending(struct run_options *o);
/* A killed run that is resumed is judged as it would have been: those options from its log. */
int run_take_ending(struct run *run, struct dp_err *err);
/* Policy and baseline, before anything runs; then whether they fit the plan. Codes 64 and 65. */
int run_open_gate(struct run *run, struct dp_err *err);
int run_check_gate(const struct run *run, struct dp_err *err);
/* Set before programs are started. */
void run_let_threads_sleep(void);
/* Is the report written as a file of its own, under a temporary name that is then renamed? */
bool run_is_whole_file(const char *output);
/* From what was judged to the report, and to everybody who waits for it. Returns the exit code. */
int run_finish(struct run *run, struct dp_err *err);

#endif
