/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe run: plan, run, judge, confirm, report. The order of those five is this file; what each means is
 * elsewhere.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/gate/render.h"
#include "reports/model.h"
#include "reports/render/render.h"
#include "suite/base/clock.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"
#include "suite/command/ending.h"
#include "suite/command/gating.h"
#include "suite/command/progress.h"
#include "suite/judge/judge.h"
#include "suite/plan/plan.h"
#include "suite/plan/selector.h"
#include "suite/run/environment.h"
#include "suite/run/runlog.h"
#include "suite/run/runner.h"
#include "suite/run/scratch.h"

struct run_options {
    struct dp_plan_options plan;
    struct dp_strings require, axes, reports;
    struct dp_gating gating; /* its fail_on: what the user said, not what holds by itself */
    int64_t seed, seeds, runs, fresh, jobs, timeout_ns;
    const char *output, *resume, *fail_on, *colour;
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
    json_t *ending;  /* and what decides its exit code, likewise */
    json_t *report;
    json_t *gate; /* what was decided of it; NULL: no gate, or it could not decide */
    char started[21];
    int64_t started_ns;
};

#define OPTION(kind_, letter_, name_, argument_, member_, help_, ...)                                        \
    {                                                                                                        \
        .kind = DP_OPTION_##kind_, .letter = letter_, .name = name_, .argument = argument_,                  \
        .offset = offsetof(struct run_options, member_), .help = help_, __VA_ARGS__                          \
    }

static const struct dp_option option_table[] = {
    OPTION(FLAG, 0, "all", NULL, all, "run every case (the default when no selector is given)"),
    OPTION(LIST, 'x', "exclude", "SELECTOR", plan.exclude, "leave out the cases this names"),
    OPTION(CHOICE, 'l', "level", "LEVEL", plan.level,
           "how hard to look: quick (seconds), default (minutes), deep (hours)",
           .choices = "quick|default|deep"),
    OPTION(LIST, 'a', "axis", "AXIS", axes,
           "vary only this (repeat always runs): fresh, poison, busy, concurrency, threads, batch, "
           "align, "
           "algorithm, device, or a product such as threads*repeat; repeatable, or several with commas"),
    OPTION(INT, 'r', "runs", "N", runs, "runs per seed instead of the level's", .low = 2, .high = 1000000),
    OPTION(INT, 'f', "fresh", "N", fresh, "fresh processes instead of the level's", .low = 0, .high = 1000),
    OPTION(INT, 's', "seed", "N", seed, "the run's seed; the same seed gives the same inputs", .low = 0,
           .high = INT64_MAX),
    OPTION(INT, 0, "seeds", "N", seeds, "different inputs per case instead of the level's", .low = 1,
           .high = 1000),
    OPTION(STRING, 0, "stack", "STACK", plan.stack,
           "measure the libraries of this Python environment, prefix or process (pid:N) and no others"),
    OPTION(FLAG, 0, "force", NULL, plan.force,
           "measure on a GPU that other processes use or that is in mode EXCLUSIVE_PROCESS"),
    OPTION(DURATION, 'b', "budget", "TIME", plan.budget_ns,
           "plan from the catalogue's costs to stay under this (50s, 2m) and say what is left out"),
    OPTION(INT, 'j', "jobs", "N", jobs, "programs at once; more than 1 disturbs timings", .low = 1,
           .high = 256),
    OPTION(DURATION, 't', "timeout", "TIME", timeout_ns, "the most one request may take"),
    OPTION(STRING, 'o', "output", "FILE", output,
           "write the report here and the run log beside it as FILE.log.jsonl; - is standard output"),
    OPTION(LIST, 0, "report", "FORMAT:FILE", reports,
           "write the report in this format too, whole or not at all; repeatable",
           .choices_of = dp_format_names_report),
    OPTION(FLAG, 0, "json", NULL, json, "print the report instead of the table"),
    OPTION(
        CHOICE, 0, "fail-on", "WHAT", fail_on,
        "exit 1 when: a guarantee is broken or bits are wrong (broken), any case varies (varies), a case is "
        "worse than in the baseline or has other bits (changes), never; instead of what a policy says",
        .choices = "broken|varies|changes|never"),
    OPTION(STRING, 'g', "gate", "POLICY", gating.policy,
           "let this policy decide the exit code, as 'detprobe gate' does"),
    OPTION(STRING, 0, "baseline", "REPORT", gating.baseline,
           "let a gate decide that compares with this report"),
    OPTION(FLAG, 0, "any-device", NULL, gating.any_device,
           "also if the baseline is of another processor or GPU"),
    OPTION(LIST, 0, "require", "BACKEND", require, "exit 2 unless a case of this backend ran; repeatable"),
    OPTION(FLAG, 0, "allow-insensitive", NULL, allow_insensitive,
           "do not fail when the controls of a backend cannot vary on this machine"),
    OPTION(STRING, 0, "resume", "LOG", resume, "go on with a killed run from its log, with its options"),
    OPTION(FLAG, 'n', "dry-run", NULL, dry_run, "print what would run and how long it would take"),
    OPTION(FLAG, 'v', "verbose", NULL, verbose, "a line for every case"),
    OPTION(FLAG, 'q', "quiet", NULL, quiet, "no progress and no table, only the last line"),
    OPTION(CHOICE, 0, "color", "WHEN", colour, "colour: auto, always, never", .choices = "auto|always|never"),
};

static const struct run_options defaults = {.plan = {.fresh = -1},
                                            .seed = -1,
                                            .fresh = -1,
                                            .jobs = 1,
                                            .timeout_ns = INT64_C(120) * 1000000000,
                                            .fail_on = "broken",
                                            .colour = "auto"};

static const struct dp_command_line command_line = {
    .usage = "detprobe run [--all | SELECTOR...] [OPTION...]",
    .summary = "Runs cases again and again under controlled variation, compares raw output bits, prints what "
               "varies and writes the report. A SELECTOR is a case id, a glob over ids, or @TAG.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits =
        {{DP_EXIT_OK, "no guarantee broken"},
         {DP_EXIT_FINDINGS,
          "a guarantee broken or bits wrong; with --fail-on varies any variation; the gate fails"},
         {DP_EXIT_NO_VERDICT,
          "no valid verdict: a control misbehaved, a program did not use the stack, a required backend is "
          "absent, an error, the report could not be written, the gate has none"},
         {DP_EXIT_DATA, "bad catalogue, run log, stack, policy or baseline"},
         {DP_EXIT_NOTHING_RAN, "nothing could run"},
         {DP_EXIT_SIGNAL, "stopped by signal N; the report is written and marked interrupted"}},
    .examples =
        {{"detprobe run --all --level quick", "every case, in seconds"},
         {"detprobe run --all --level quick --require cpu -o report.json",
          "in CI: the exit code is the verdict, the report is kept"},
         {"detprobe run python/stdlib/list-sum --level quick --baseline before.json --fail-on changes",
          "fails on whatever is worse than it was, or has other bits"},
         {"detprobe run 'cpu/conv/*' @blas --exclude @cuda", "only what is used"},
         {"detprobe run 'python/stdlib/*' --level quick --axis fresh --fail-on varies",
          "one axis alone, and any variation fails"},
         {"detprobe run --all --level quick --budget 50s --dry-run", "what would run in 50 seconds"},
         {"detprobe run --resume report.json.log.jsonl", "go on after a kill, to the same report"}},
};

/* "--axis threads,batch" is two axes. `*ret_text` owns the pieces. */
static void split_axes(const struct dp_strings *given, struct dp_strings *ret, char **ret_text)
{
    struct dp_text joined = DP_TEXT((size_t)1 << 16);
    for (size_t i = 0; i < given->count; i++) {
        dp_text_printf(&joined, "%s%s", i ? "," : "", given->items[i]);
    }
    *ret_text = joined.data;
    char *rest = joined.data;
    for (char *axis; (axis = strsep(&rest, ",")) != NULL;) {
        ret->items = dp_realloc(ret->items, ret->count + 1, sizeof(*ret->items));
        ret->items[ret->count++] = axis;
    }
}

static int unknown_backend(const char *name, struct dp_err *err)
{
    struct dp_text known = DP_TEXT(200);
    for (size_t i = 0; dp_backends[i]; i++) {
        dp_text_printf(&known, "%s%s", i ? ", " : "", dp_backends[i]);
    }
    dp_err_set(err, DP_EXIT_USAGE, "option '--require': unknown backend '%.80s', there are %s", name,
               known.data);
    dp_text_free(&known);
    return -1;
}

static int check_backends(const struct dp_strings *names, struct dp_err *err)
{
    for (size_t i = 0; i < names->count; i++) {
        size_t k = 0;
        while (dp_backends[k] && strcmp(names->items[i], dp_backends[k]) != 0) {
            k++;
        }
        if (!dp_backends[k]) {
            return unknown_backend(names->items[i], err);
        }
    }
    return 0;
}

static int check_options(struct run_options *o, struct dp_err *err)
{
    if (o->all && o->plan.include.count > 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "'--all' and selectors exclude each other, drop one of them");
    }
    if (o->dry_run && o->json) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--dry-run' and '--json' exclude each other, drop one of them");
    }
    if (o->resume && (o->all || o->plan.include.count > 0 || o->plan.exclude.count > 0 || o->axes.count > 0 ||
                      o->plan.level || o->seed >= 0 || o->seeds > 0 || o->runs > 0 || o->fresh >= 0 ||
                      o->plan.budget_ns > 0 || o->plan.stack || o->plan.force)) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--resume' takes cases, axes, level, seeds, runs, budget, stack and force from "
                          "the log, drop the "
                          "others");
    }
    o->plan.level = o->plan.level ? o->plan.level : "default";
    o->seed = o->seed >= 0 ? o->seed : 1;
    struct stat status;
    if (o->output && !o->output[0]) {
        return dp_err_set(err, DP_EXIT_USAGE, "option '--output' needs the name of a file");
    }
    if (o->output && stat(o->output, &status) == 0 && S_ISDIR(status.st_mode)) {
        return dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write '%.200s': it is a folder, name a file in it",
                          o->output);
    }
    if (check_backends(&o->require, err) != 0 ||
        dp_delivery_check(&o->reports, o->output, DP_DOCUMENT_REPORT, err) != 0) {
        return -1;
    }
    o->plan.seed = (uint64_t)o->seed;
    o->plan.seeds = (int)o->seeds;
    o->plan.runs = (int)o->runs;
    o->plan.fresh = (int)o->fresh;
    split_axes(&o->axes, &o->plan.axes, &o->axes_text);
    return 0;
}

/* --- the gate --- */

static struct dp_ending ending_of(struct run_options *o)
{
    return (struct dp_ending){&o->fail_on, defaults.fail_on, &o->gating, &o->require, &o->allow_insensitive};
}

/* A killed run that is resumed is judged as it would have been. */
static int take_ending(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    const struct dp_ending ending = ending_of(o);
    run->ending = o->resume ? dp_runlog_ending(o->resume, err) : NULL;
    return !o->resume || (run->ending && dp_ending_take(&ending, run->ending, o->resume, err) == 0 &&
                          check_backends(&o->require, err) == 0)
               ? 0
               : -1;
}

static bool has_gate(const struct run_options *o)
{
    return o->gating.policy || o->gating.baseline || strcmp(o->fail_on, "changes") == 0;
}

/* Policy and baseline are read before anything runs. */
static int open_gate(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    if (!has_gate(o)) {
        return 0;
    }
    o->gating.fail_on = o->fail_on != defaults.fail_on ? o->fail_on : NULL;
    return dp_gating_open(&o->gating, err);
}

/* Whether the baseline is of this plan and of this processor: what is known before the run. Of its devices
 * nothing is. A run does not become the baseline that it is held against: the next one would pass. */
static int check_gate(const struct run *run, struct dp_err *err)
{
    const struct run_options *o = &run->options;
    const char *const read[] = {o->gating.policy, o->gating.baseline};
    if (dp_delivery_spares(&o->reports, o->output, read, sizeof(read) / sizeof(read[0]), err) != 0) {
        return -1;
    }
    if (!o->gating.baseline) {
        return 0;
    }
    json_t *results = json_array();
    for (size_t i = 0; i < run->plan.case_count; i++) {
        const struct dp_case *item = run->plan.cases[i];
        const char *observed = strcmp(item->backend, "cuda") == 0 ? "untested" : "repeats";
        json_array_append_new(results, json_pack("{ss ss ss}", "case", item->id, "backend", item->backend,
                                                 "observed", observed));
    }
    json_t *planned = json_pack("{s{so s{so} so}}", "body", "plan", dp_plan_describe(&run->plan),
                                "environment", "host", dp_host_facts(), "results", results);
    const int rc = dp_gating_fits(&o->gating, planned, err);
    json_decref(planned);
    return rc;
}

/* Where the report goes to standard output, the decision does not. */
static void print_gate(const struct run *run)
{
    const struct run_options *o = &run->options;
    const json_t *gate = run->gate;
    const bool taken = o->json || (o->output && dp_file_is_stdout(o->output));
    const struct dp_render_options options = {.verbose = o->verbose};
    struct dp_text out = DP_TEXT((size_t)1 << 30);
    struct dp_err err;
    if (!gate) {
        return;
    }
    if (o->quiet) {
        char *sentence = dp_gate_sentence(gate);
        dp_text_printf(&out, "%s\n", sentence);
        free(sentence);
    } else if (dp_render(DP_DOCUMENT_GATE, "text", gate, &options, &out, &err) != 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
    }
    if (!o->quiet && !taken) {
        fputc('\n', stdout);
    }
    fputs(out.data ? out.data : "", taken ? stderr : stdout);
    fflush(stdout);
    dp_text_free(&out);
}

static void decide_gate(struct run *run)
{
    const struct run_options *o = &run->options;
    struct dp_err err = {0};
    if (!has_gate(o)) {
        return;
    }
    run->gate = dp_gating_decide(&o->gating, run->report, o->output ? o->output : "this run", &err);
    if (run->gate) {
        run->verdict.gate = dp_gate_verdict(run->gate);
    } else {
        fprintf(stderr, "detprobe: %s\n", err.text);
        run->verdict.data_error = true;
    }
}

/* Is the report written as a file of its own, under a temporary name that is then renamed? */
static bool is_whole_file(const char *output)
{
    struct stat status;
    return !dp_file_is_stdout(output) && (stat(output, &status) != 0 || S_ISREG(status.st_mode));
}

/* A log belongs beside a regular file only: never /dev/null.log.jsonl, nothing beside a pipe or standard
 * output. */
static char *log_path(const char *output)
{
    return output && is_whole_file(output) ? dp_printf("%s.log.jsonl", output) : NULL;
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
    if (use_stack(run, err) != 0) {
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
        const struct dp_ending ending = ending_of(o);
        json_t *kept = dp_ending_keep(&ending);
        run->log = dp_runlog_create(path, &run->plan, kept, err);
        json_decref(kept);
        free(path);
        return run->log ? 0 : -1;
    }
    return 0;
}

/* One pass over what has no answer yet. */
static int execute(struct run *run, struct dp_err *err)
{
    const struct run_options *o = &run->options;
    const struct dp_run_options options = {.jobs = (int)o->jobs,
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
static void let_threads_sleep(void)
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

/* Runs the plan, judges, and runs again what looks like a finding, in new processes. */
static int passes(struct run *run, struct dp_err *err)
{
    if (execute(run, err) != 0) {
        return -1;
    }
    const size_t planned = run->plan.request_count;
    dp_plan_add_devices(&run->plan, run->answers.hellos);
    dp_answers_grow(&run->answers, run->plan.request_count);
    if (run->plan.request_count > planned && !run->verdict.signal && execute(run, err) != 0) {
        return -1;
    }
    dp_judge(&run->plan, &run->answers, 0, &run->judged);
    for (int round = 1; round <= DP_RETEST_ROUNDS && run->judged.suspect_count > 0 && !run->verdict.signal;
         round++) {
        dp_plan_add_retest(&run->plan, run->judged.suspects, run->judged.suspect_count, round);
        dp_answers_grow(&run->answers, run->plan.request_count);
        if (execute(run, err) != 0) {
            return -1;
        }
        dp_judged_free(&run->judged);
        dp_judge(&run->plan, &run->answers, round, &run->judged);
    }
    return 0;
}

static int run_and_judge(struct run *run, struct dp_err *err)
{
    dp_scratch_open();
    const int rc = passes(run, err);
    dp_scratch_close();
    return rc;
}

/* A program that took other files than the stack's has ended all its cases in this error. */
static bool stack_mismatch(const struct dp_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        if (strcmp(dp_json_string(answers->items[i], "reason", ""), "stack") == 0) {
            return true;
        }
    }
    return false;
}

static void fill_verdict(struct run *run)
{
    struct dp_verdict *v = &run->verdict;
    const struct dp_judged *judged = &run->judged;
    v->control_misbehaved = !judged->controls_good;
    v->stack_mismatch = stack_mismatch(&run->answers);
    v->broken = judged->broken;
    v->wrong = judged->counts[DP_WRONG];
    v->varies = judged->counts[DP_VARIES];
    v->errors = judged->counts[DP_ERROR];
    v->ran = judged->counts[DP_REPEATS] + v->varies + v->wrong;
    v->unconfirmed = judged->unconfirmed;
    v->insensitive = judged->insensitive;
    v->allow_insensitive = run->options.allow_insensitive;
    /* changes are for the gate to judge */
    v->fail_on = strcmp(run->options.fail_on, "changes") == 0 ? "broken" : run->options.fail_on;
    for (size_t i = 0; i < run->options.require.count; i++) {
        v->required_absent =
            v->required_absent || !dp_backend_ran(judged->results, run->options.require.items[i]);
    }
}

static int make_report(struct run *run, struct dp_err *err)
{
    char finished[21], host[256] = "";
    dp_utc_now(finished);
    gethostname(host, sizeof(host) - 1);
    json_t *environment = dp_environment(&run->plan, &run->answers, run->stack.name ? &run->stack : NULL),
           *plan = dp_plan_describe(&run->plan);
    char *host_name = dp_printable(host, strlen(host));
    json_t *measurements =
        json_pack("{ss ss sf ss s{si ss} sb si sO so*}", "started", run->started, "finished", finished,
                  "seconds", (double)(dp_now_ns() - run->started_ns) * 1e-9, "host_name", host_name, "exit",
                  "code", dp_exit_code(&run->verdict), "reason", dp_exit_reason(&run->verdict), "interrupted",
                  run->verdict.signal != 0, "jobs", (int)run->options.jobs, "cases", run->judged.measurements,
                  "devices", dp_environment_device_state(&run->answers));
    const struct dp_report_parts parts = {.environment = environment,
                                          .plan = plan,
                                          .results = run->judged.results,
                                          .controls = run->judged.controls,
                                          .measurements = measurements};
    run->report = dp_report_make(&parts, err);
    json_decref(environment);
    json_decref(plan);
    json_decref(measurements);
    free(host_name);
    return run->report ? 0 : -1;
}

/* A report that this program would not read back is not passed off as one; what it holds is still delivered.
 */
static void check_own_report(struct run *run)
{
    struct dp_err err = {0};
    if (dp_report_check(run->report, &err) != 0) {
        fprintf(stderr, "detprobe: the report is not valid: %s\n", err.text);
        run->verdict.report_lost = true;
    }
}

static int print_report(const struct run *run, struct dp_err *err)
{
    const struct run_options *o = &run->options;
    if (o->quiet && !o->json && has_gate(o)) {
        return 0; /* the last line is the gate's */
    }
    if (o->quiet && !o->json) {
        char *sentence = dp_report_sentence(run->report);
        const bool good = puts(sentence) >= 0 && fflush(stdout) == 0;
        free(sentence);
        return good ? 0
                    : dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write 'standard output': %s",
                                 dp_reason(errno));
    }
    const struct dp_delivery delivery = {.format = o->json ? "json" : "text",
                                         .output = "-",
                                         .colour = o->colour,
                                         .verbose = o->verbose,
                                         .source = o->output};
    return dp_deliver(&delivery, DP_DOCUMENT_REPORT, run->report, err);
}

/* Signals end us again, at once: no terminal is held up by a pipe that nobody reads. One that came since the
 * last pass found a run that was over. */
static void release_signals(void)
{
    sigset_t stops;
    const struct timespec now = {0};
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    while (sigtimedwait(&stops, NULL, &now) > 0) {
    }
    sigprocmask(SIG_UNBLOCK, &stops, NULL);
}

/* What tells a service that a job passed or failed shows what decides it. */
static void write_formats(struct run *run)
{
    const struct run_options *o = &run->options;
    for (size_t i = 0; i < o->reports.count; i++) {
        const struct dp_strings one = {&o->reports.items[i], 1};
        struct dp_err err = {0};
        const bool decided = run->gate && dp_delivery_judges(one.items[0]);
        if (dp_delivery_write(&one, decided ? DP_DOCUMENT_GATE : DP_DOCUMENT_REPORT,
                              decided ? run->gate : run->report, o->output, &err) != 0) {
            fprintf(stderr, "detprobe: %s\n", err.text);
            run->verdict.report_lost = true;
        }
    }
}

static void write_report(struct run *run)
{
    struct dp_err err = {0};
    if (dp_json_write(run->options.output, run->report, &err) != 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
        run->verdict.report_lost = true;
    }
}

/* Says why a run that looks good ends with 2: the table knows results, not what was required. */
static void print_absent(const struct run *run)
{
    const struct dp_strings *names = &run->options.require;
    for (size_t i = 0; i < names->count; i++) {
        if (!dp_backend_ran(run->judged.results, names->items[i])) {
            fprintf(stderr, "detprobe: no case of the required backend '%s' ran, see 'detprobe doctor'\n",
                    names->items[i]);
        }
    }
}

/* Both the table and the file, even if one of them fails: nothing is lost. A file comes first, since a reader
 * of the table may go away and take us with it; a pipe comes last, since it may have no reader yet. */
static int deliver(struct run *run)
{
    struct dp_err err = {0};
    const char *output = run->options.output;
    if (dp_runlog_close(run->log, &err) != 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
        run->verdict.report_lost = true;
    }
    run->log = NULL;
    check_own_report(run);
    const bool whole = output && is_whole_file(output);
    if (whole) {
        write_report(run);
    }
    decide_gate(run);
    write_formats(run);
    release_signals();
    if (!(output && dp_file_is_stdout(output)) && print_report(run, &err) != 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
        run->verdict.report_lost = true;
    }
    if (output && !whole) {
        write_report(run);
    }
    print_absent(run);
    print_gate(run);
    return dp_exit_code(&run->verdict);
}

static void print_dry_run(const struct dp_plan *plan)
{
    size_t controls = 0;
    for (size_t i = 0; i < plan->case_count; i++) {
        printf("%s%s\n", plan->cases[i]->id, plan->cases[i]->control ? " (control)" : "");
        controls += plan->cases[i]->control;
    }
    for (size_t i = 0; i < plan->left_out_count; i++) {
        printf("%s left out: %s\n", plan->left_out[i].case_id, plan->left_out[i].reason);
    }
    printf("%zu cases and %zu controls, %zu requests, %d seeds x %d runs, %d new processes, axes",
           plan->case_count - controls, controls, plan->request_count, plan->seeds, plan->runs, plan->fresh);
    for (size_t i = 0; i < plan->axis_count; i++) {
        printf(" %s", plan->axes[i]);
    }
    printf("; about %.0f s\n", (double)plan->expected_ns * 1e-9);
}

static int run_all(struct run *run, struct dp_err *err)
{
    if (take_ending(run, err) != 0 || open_gate(run, err) != 0 || make_plan(run, err) != 0 ||
        check_gate(run, err) != 0) {
        return err->code;
    }
    if (run->options.dry_run) {
        print_dry_run(&run->plan);
        return DP_EXIT_OK;
    }
    hold_signals();
    if (open_log(run, err) != 0) {
        return err->code;
    }
    let_threads_sleep();
    dp_utc_now(run->started);
    run->started_ns = dp_now_ns();
    dp_progress_start(&run->progress, run->options.quiet, run->options.verbose);
    const int rc = run_and_judge(run, err);
    dp_progress_end(&run->progress);
    if (rc != 0) {
        return err->code;
    }
    fill_verdict(run);
    if (make_report(run, err) != 0) {
        return err->code;
    }
    return deliver(run);
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
    json_decref(run->ending);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free(lists[i]->items);
    }
    free(o->axes_text);
    free(o->resumed_output);
}

static int cmd_run(int argc, char **argv)
{
    struct run run = {.options = defaults};
    struct dp_err err = {0};
    bool help = false;
    int code = 0;
    if (dp_options_parse(&command_line, argc, argv, &run.options, &run.options.plan.include, &help, &err) !=
            0 ||
        (!help && check_options(&run.options, &err) != 0)) {
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
                                          &command_line, cmd_run};
