/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe run: plan, run, judge, confirm, report. The order of those five is this file; what each means is
 * elsewhere, what becomes of the report in run_outcome.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/base/clock.h"
#include "suite/base/host.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/running.h"
#include "suite/plan/costs.h"
#include "suite/plan/levels.h"
#include "suite/run/scratch.h"

/* A log belongs beside a regular file only: never /dev/null.log.jsonl, nothing beside a pipe or standard
 * output. */
static char *log_path(const char *output)
{
    return output && run_is_whole_file(output) ? dp_printf("%s.log.jsonl", output) : NULL;
}

/* The report of a resumed run goes where the killed one's would have gone. */
static int output_of_log(struct run_options *o, struct dp_err *err)
{
    static const char suffix[] = ".log.jsonl";
    const size_t length = strlen(o->resume), tail = sizeof(suffix) - 1;
    if (o->output) {
        return 0;
    }
    if (length <= tail || strcmp(o->resume + length - tail, suffix) != 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "cannot tell the report's name from '%s', name it with -o FILE",
                          o->resume);
    }
    o->resumed_output = dp_strdup(o->resume);
    o->resumed_output[length - tail] = '\0';
    o->output = o->resumed_output;
    return 0;
}

/* What programs inherit from us: the stack's files, and that a device may be shared. */
static int use_stack(struct run *run, struct dp_err *err)
{
    struct dp_plan_options *options = &run->options.plan;
    if (options->force) {
        setenv("DETPROBE_FORCE", "1", /* overwrite= */ 1);
    }
    if (dp_stack_check_roles(err) != 0) {
        return -1;
    }
    if (!options->stack) {
        unsetenv("DETPROBE_STACK");
        return 0;
    }
    if (dp_stack_open(options->stack, &run->stack, err) != 0) {
        return -1;
    }
    options->stack = run->stack.name;
    dp_stack_apply(&run->stack, &run->catalogue);
    return 0;
}

/* A plan that cannot be made is the log's fault where the options are the log's. */
static int refuse_log(const struct run_options *o, struct dp_err *err)
{
    if (o->resume) {
        dp_err_prefix(err, "run log '%.200s', line 1", o->resume);
        err->code = DP_EXIT_DATA;
    }
    return -1;
}

/* What cases cost in the report that --costs names, for these options. */
static int read_costs(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    json_t *report = o->costs ? dp_report_load(o->costs, err) : NULL;
    if (report) {
        o->plan.costs = run->costs = dp_costs_of_report(&run->catalogue, &o->plan, report, err);
        if (!run->costs && err->code == DP_EXIT_DATA) {
            dp_err_prefix(err, "cannot take costs from '%.200s'", o->costs);
        }
    }
    json_decref(report);
    return !o->costs || run->costs ? 0 : -1;
}

static int make_plan(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    char expected[65];
    if (dp_catalogue_load(&run->catalogue, err) != 0) {
        return -1;
    }
    if (o->resume) {
        run->resumed = dp_runlog_options(o->resume, expected, err);
        if (!run->resumed || output_of_log(o, err) != 0) {
            return -1;
        }
        if (dp_plan_options_from_json(run->resumed, &o->plan, err) != 0) {
            return refuse_log(o, err);
        }
        char sha256[65];
        dp_catalogue_sha256(&run->catalogue, sha256);
        if (strcmp(expected, sha256) != 0) {
            return dp_err_set(err, DP_EXIT_DATA, "cannot resume '%s': it was made with another catalogue",
                              o->resume);
        }
    }
    if (use_stack(run, err) != 0 || read_costs(run, err) != 0) {
        return -1;
    }
    return dp_plan_make(&run->catalogue, &o->plan, &run->plan, err) == 0 ? 0 : refuse_log(o, err);
}

static int open_log(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    dp_answers_grow(&run->answers, run->plan.request_count);
    if (o->resume) {
        run->log = dp_runlog_resume(o->resume, &run->plan, &run->answers, err);
        return run->log ? 0 : -1;
    }
    char *path = log_path(o->output);
    if (path) {
        const struct dp_ending ending = run_ending(o);
        json_t *kept = dp_ending_keep(&ending);
        run->log = dp_runlog_create(path, &run->plan, kept, err);
        json_decref(kept);
        free(path);
        return run->log ? 0 : -1;
    }
    return 0;
}

/* One pass over what has no answer yet. */
static int execute(struct run *run, bool in_turns, struct dp_err *err)
{
    const struct run_options *o = &run->options;
    const struct dp_run_options options = {.jobs = (int)o->jobs,
                                           .in_turns = in_turns,
                                           .timeout_ns = o->timeout_ns,
                                           .log = run->log,
                                           .stack = run->stack.name ? &run->stack : NULL,
                                           .progress = dp_progress_step,
                                           .context = &run->progress};
    enum dp_run_end end = DP_RUN_DONE;
    return dp_run(&run->plan, &run->answers, &options, &end, &run->verdict.signal, err);
}

/* Threads that spin while they wait turn a barrier on a busy machine into time slices, ten times slower. What
 * waits how does not touch the bits of an operation that repeats. The user's own setting stands; the report
 * records it. */
void run_let_threads_sleep(void)
{
    setenv("OMP_WAIT_POLICY", "passive", /* overwrite= */ 0);
}

/* A signal that comes between two passes waits for the next one, or for the end: it never costs the report.
 */
static void hold_signals(void)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, NULL);
}

/* Runs what was added to the plan, and judges all of it anew. */
static int judge_further(struct run *run, int round, struct dp_err *err)
{
    dp_answers_grow(&run->answers, run->plan.request_count);
    if (execute(run, /* in_turns */ false, err) != 0) {
        return -1;
    }
    dp_judged_free(&run->judged);
    dp_judge(&run->plan, &run->answers, round, &run->judged);
    return 0;
}

/* Where bits moved the order of additions says why. */
static int reveal_orders(struct run *run, struct dp_err *err)
{
    const size_t planned = run->plan.request_count;
    dp_plan_add_orders(&run->plan, run->judged.moved, run->judged.moved_count);
    return run->plan.request_count == planned || run->verdict.signal ? 0 : judge_further(run, 0, err);
}

/* Judges the first pass, then what each further stage of a sequential plan adds to it. */
static int stages(struct run *run, struct dp_err *err)
{
    dp_judge(&run->plan, &run->answers, 0, &run->judged);
    while (!run->verdict.signal &&
           dp_plan_add_stage(&run->plan, run->judged.doubtful, run->judged.doubtful_count)) {
        if (judge_further(run, 0, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Last of all, when nothing else is to run: pairs of what ran, in turns. */
static int time_pairs(struct run *run, struct dp_err *err)
{
    if (!run->options.plan.price || run->verdict.signal) {
        return 0;
    }
    bool *ran = dp_judged_ran(&run->judged, &run->plan);
    dp_plan_add_price(&run->plan, ran);
    free(ran);
    dp_answers_grow(&run->answers, run->plan.request_count);
    return execute(run, /* in_turns */ true, err);
}

/* Runs the plan, judges, and runs again what looks like a finding, in new processes. */
static int passes(struct run *run, struct dp_err *err)
{
    if (execute(run, /* in_turns */ false, err) != 0) {
        return -1;
    }
    const size_t planned = run->plan.request_count;
    json_t *host = dp_host_facts();
    dp_plan_add_later(&run->plan, run->answers.hellos, host);
    json_decref(host);
    dp_answers_grow(&run->answers, run->plan.request_count);
    if (run->plan.request_count > planned && !run->verdict.signal &&
        execute(run, /* in_turns */ false, err) != 0) {
        return -1;
    }
    if (stages(run, err) != 0 || reveal_orders(run, err) != 0) {
        return -1;
    }
    for (int round = 1; round <= DP_RETEST_ROUNDS && run->judged.suspect_count > 0 && !run->verdict.signal;
         round++) {
        dp_plan_add_retest(&run->plan, run->judged.suspects, run->judged.suspect_count, round);
        if (judge_further(run, round, err) != 0) {
            return -1;
        }
    }
    return time_pairs(run, err);
}

static int run_and_judge(struct run *run, struct dp_err *err)
{
    dp_scratch_open();
    const int rc = passes(run, err);
    dp_scratch_close();
    return rc;
}

static int family_length(const char *id)
{
    return (int)(strrchr(id, '/') - id);
}

/* A line for each case, else for each family. */
static void print_left_out(const struct dp_plan *plan, bool each)
{
    for (size_t i = 0, next; i < plan->left_out_count; i = next) {
        const struct dp_left_out *first = &plan->left_out[i];
        const int length = family_length(first->case_id);
        for (next = i + 1; !each && next < plan->left_out_count; next++) {
            const char *id = plan->left_out[next].case_id;
            if (family_length(id) != length || strncmp(id, first->case_id, (size_t)length) != 0) {
                break;
            }
        }
        if (each) {
            printf("%s left out: %s\n", first->case_id, first->reason);
        } else {
            printf("%.*s/*: %zu left out: %s\n", length, first->case_id, next - i, first->reason);
        }
    }
}

static void print_dry_run(const struct dp_plan *plan, bool verbose)
{
    size_t controls = 0;
    for (size_t i = 0; i < plan->case_count; i++) {
        printf("%s%s\n", plan->cases[i]->id, plan->cases[i]->control ? " (control)" : "");
        controls += plan->cases[i]->control;
    }
    print_left_out(plan, verbose);
    printf("%zu cases and %zu controls, %zu requests, %d seeds x %d runs, %d new processes, axes",
           plan->case_count - controls, controls, plan->request_count, plan->seeds, plan->runs, plan->fresh);
    for (size_t i = 0; i < plan->axis_count; i++) {
        printf(" %s", plan->axes[i]);
    }
    if (plan->options.price) {
        printf("; %zu pairs timed in %d rounds", plan->priced_count,
               dp_level_find(plan->options.level)->rounds);
    }
    printf("; about %.0f s\n", (double)plan->expected_ns * 1e-9);
}

/* Before the runs, which may take long: how many of them there will be. */
static void print_stages(const struct dp_plan *plan, FILE *out)
{
    const struct dp_plan_options *options = &plan->options;
    if (plan->comparisons == 0) {
        return;
    }
    const struct dp_plan_most most = dp_plan_at_most(plan);
    fputs("in stages ", out);
    if (options->adaptive) {
        fputs("as long as the budget lasts: ", out);
    } else {
        fprintf(out, "until a variation in %g %% of runs is seen with probability %g: %lld comparisons, ",
                100.0 * options->detect_rate, options->confidence, (long long)plan->comparisons);
    }
    if (most.most_runs > most.least_runs) {
        fprintf(out, "%lld to ", (long long)most.least_runs);
    }
    fprintf(out, "%lld runs of each case that has not varied before; at most %lld in all, about %.0f s\n",
            (long long)most.most_runs, (long long)most.runs, (double)most.ns * 1e-9);
}

static int run_all(struct run *run, struct dp_err *err)
{
    if (run_take_ending(run, err) != 0 || run_open_gate(run, err) != 0 || make_plan(run, err) != 0 ||
        run_check_gate(run, err) != 0) {
        return err->code;
    }
    if (run->options.dry_run) {
        print_dry_run(&run->plan, run->options.verbose);
        print_stages(&run->plan, stdout);
        return DP_EXIT_OK;
    }
    if (!run->options.quiet && !run->options.json) {
        print_stages(&run->plan, stderr);
    }
    hold_signals();
    if (open_log(run, err) != 0) {
        return err->code;
    }
    run_let_threads_sleep();
    dp_utc_now(run->started);
    run->started_ns = dp_now_ns();
    dp_progress_start(&run->progress, run->options.quiet, run->options.verbose);
    const int rc = run_and_judge(run, err);
    dp_progress_end(&run->progress);
    if (rc != 0) {
        return err->code;
    }
    return run_finish(run, err);
}

static void run_free(struct run *run)
{
    struct run_options *o = &run->options;
    const struct dp_strings *lists[] = {&o->plan.include, &o->plan.exclude, &o->plan.axes,
                                        &o->axes,         &o->require,      &o->reports};
    dp_runlog_close(run->log, NULL);
    dp_judged_free(&run->judged);
    dp_answers_free(&run->answers);
    dp_plan_free(&run->plan);
    dp_catalogue_free(&run->catalogue);
    dp_stack_free(&run->stack);
    dp_gating_free(&o->gating);
    json_decref(run->report);
    json_decref(run->gate);
    json_decref(run->resumed);
    json_decref(run->costs);
    json_decref(run->ending);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free(lists[i]->items);
    }
    free(o->axes_text);
    free(o->resumed_output);
}

static int cmd_run(int argc, char **argv)
{
    struct run run = {.options = run_defaults};
    struct dp_err err = {0};
    bool help = false;
    int code = 0;
    if (dp_options_parse(&run_command_line, argc, argv, &run.options, &run.options.plan.include, &help,
                         &err) != 0 ||
        (!help && run_options_check(&run.options, &err) != 0)) {
        code = err.code;
    } else if (!help) {
        code = run_all(&run, &err);
    }
    if (err.text[0]) {
        fprintf(stderr, "detprobe: %s\n", err.text);
    }
    run_free(&run);
    return code;
}

const struct dp_command dp_command_run = {"run", "run cases, print what varies, write the report",
                                          &run_command_line, cmd_run};
