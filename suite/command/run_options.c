/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of 'detprobe run', and whether they go together.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/render/render.h"
#include "suite/base/host.h"
#include "suite/base/text.h"
#include "suite/command/delivery.h"
#include "suite/command/running.h"
#include "suite/plan/levels.h"
#include "suite/plan/selector.h"

#define CONFIDENCE 0.95 /* of seeing a rate, unless another is asked for */

#define OPTION(kind_, letter_, name_, argument_, member_, help_, ...)                                        \
    {                                                                                                        \
        .kind = DP_OPTION_##kind_, .letter = letter_, .name = name_, .argument = argument_,                  \
        .offset = offsetof(struct run_options, member_), .help = help_, __VA_ARGS__                          \
    }

static const struct dp_option option_table[] = {
    OPTION(FLAG, 0, "all", NULL, all, "run every case (the default when no selector is given)"),
    OPTION(LIST, 'x', "exclude", "SELECTOR", plan.exclude, "leave out the cases this names"),
    OPTION(CHOICE, 'l', "level", "LEVEL", plan.level,
           "how hard to look: quick (a minute or two), default (minutes), deep (hours)",
           .choices = "quick|default|deep"),
    OPTION(LIST, 'a', "axis", "AXIS", axes,
           "vary only this (repeat always runs); repeatable, or several with commas",
           .choices_of = dp_axis_names),
    OPTION(INT, 'r', "runs", "N", runs, "runs per seed instead of the level's", .low = 2, .high = 1000000),
    OPTION(INT, 'f', "fresh", "N", fresh, "fresh processes instead of the level's", .low = 0, .high = 1000),
    OPTION(INT, 's', "seed", "N", seed, "the run's seed; the same seed gives the same inputs", .low = 0,
           .high = INT64_MAX),
    OPTION(INT, 0, "seeds", "N", seeds, "different inputs per case instead of the level's", .low = 1,
           .high = 1000),
    OPTION(STRING, 0, "stack", "STACK", plan.stack,
           "measure the libraries of this Python environment, prefix or process (pid:N) and no others"),
    OPTION(
        FLAG, 0, "price", NULL, plan.price,
        "say what determinism costs: time each case and its deterministic counterpart in turns, where both "
        "ran, after all else"),
    OPTION(FLAG, 0, "force", NULL, plan.force,
           "measure on a GPU that other processes use or that is in mode EXCLUSIVE_PROCESS"),
    OPTION(DURATION, 'b', "budget", "TIME", plan.budget_ns,
           "plan from the catalogue's costs to stay under this (50s, 2m) and say what is left out"),
    OPTION(SHARE, 0, "detect-rate", "RATE", plan.detect_rate,
           "make the runs that a variation in this share of runs (2e-3, 0.2%) takes to be seen at the base "
           "setting: few at first, then in stages of what has not varied"),
    OPTION(SHARE, 0, "confidence", "SHARE", plan.confidence,
           "how probably '--detect-rate' is to see it, 0.95 if not given"),
    OPTION(FLAG, 0, "adaptive", NULL, plan.adaptive,
           "spend the budget where doubt is: few runs of every case, then in stages more of what has not "
           "varied, cheap cases and those promised nothing first"),
    OPTION(CHOICE, 0, "retest", "WHAT", retest,
           "what is run again in new processes: broken guarantees and wrong results (broken), or whatever "
           "varies too (varies)",
           .choices = "broken|varies"),
    OPTION(
        STRING, 0, "costs", "REPORT", costs,
        "let the budget take what cases cost in this former report of the machine, scaled to this run; what "
        "it skipped for lack of a device or library is free, what it lacks costs what the catalogue says"),
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

const struct run_options run_defaults = {.plan = {.fresh = -1},
                                         .seed = -1,
                                         .fresh = -1,
                                         .jobs = 1,
                                         .timeout_ns = INT64_C(120) * 1000000000,
                                         .fail_on = "broken",
                                         .retest = "broken",
                                         .colour = "auto"};

const struct dp_command_line run_command_line = {
    .usage = "detprobe run [--all | SELECTOR...] [OPTION...]",
    .summary = "Runs cases again and again under controlled variation, compares raw output bits, prints what "
               "varies and writes the report. A SELECTOR is a case id, a glob over ids, or @TAG.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &run_defaults,
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
        {{"detprobe run --all --level quick", "every case, in a minute or two"},
         {"detprobe run --all --level quick --require cpu -o report.json",
          "in CI: the exit code is the verdict, the report is kept"},
         {"detprobe run python/stdlib/list-sum --level quick --baseline before.json --fail-on changes",
          "fails on whatever is worse than it was, or has other bits"},
         {"detprobe run 'cpu/conv/*' @blas --exclude @cuda", "only what is used"},
         {"detprobe run 'python/stdlib/*' --level quick --axis fresh --fail-on varies",
          "one axis alone, and any variation fails"},
         {"detprobe run 'cpu/scatter/index-add-*' --level quick --price", "and what determinism costs"},
         {"detprobe run --all --level quick --budget 50s --dry-run", "what would run in 50 seconds"},
         {"detprobe run --all --level quick --budget 50s --costs report.json --dry-run",
          "the same, from what cases took in a former run here"},
         {"detprobe run 'python/stdlib/*' --detect-rate 2e-3 --confidence 0.99 --dry-run",
          "the runs that it takes to see what differs in one of 500"},
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

int run_backends_check(const struct dp_strings *names, struct dp_err *err)
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

static int exclude_each_other(const char *one, const char *other, struct dp_err *err)
{
    return dp_err_set(err, DP_EXIT_USAGE, "'%s' and '%s' exclude each other, drop one of them", one, other);
}

/* How many runs there are is said in one way. */
static int check_strength(struct run_options *o, struct dp_err *err)
{
    struct dp_plan_options *plan = &o->plan;
    if (plan->detect_rate > 0.0 && plan->adaptive) {
        return exclude_each_other("--adaptive", "--detect-rate", err);
    }
    if (o->runs > 0 && (plan->detect_rate > 0.0 || plan->adaptive)) {
        return exclude_each_other("--runs", plan->adaptive ? "--adaptive" : "--detect-rate", err);
    }
    if (plan->adaptive && plan->budget_ns <= 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "'--adaptive' spends a budget, give '--budget TIME' too");
    }
    if (plan->confidence > 0.0 && plan->detect_rate <= 0.0) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--confidence' is that of seeing a rate, give '--detect-rate RATE' too");
    }
    if (plan->detect_rate > 0.0 && plan->confidence <= 0.0) {
        plan->confidence = CONFIDENCE;
    }
    return 0;
}

int run_options_check(struct run_options *o, struct dp_err *err)
{
    if (o->all && o->plan.include.count > 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "'--all' and selectors exclude each other, drop one of them");
    }
    if (o->dry_run && o->json) {
        return exclude_each_other("--dry-run", "--json", err);
    }
    if (o->resume &&
        (o->all || o->plan.include.count > 0 || o->plan.exclude.count > 0 || o->axes.count > 0 ||
         o->plan.level || o->seed >= 0 || o->seeds > 0 || o->runs > 0 || o->fresh >= 0 ||
         o->plan.budget_ns > 0 || o->costs || o->plan.stack || o->plan.force || o->plan.detect_rate > 0.0 ||
         o->plan.confidence > 0.0 || o->plan.adaptive || o->retest != run_defaults.retest || o->plan.price)) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--resume' takes cases, axes, level, seeds, runs, rate, budget, costs, retests, "
                          "stack, force and price from the log, drop the others");
    }
    if (check_strength(o, err) != 0) {
        return -1;
    }
    if (o->plan.price && o->plan.budget_ns > 0) { /* which covers no timing */
        return exclude_each_other("--price", "--budget", err);
    }
    if (o->costs && o->plan.budget_ns <= 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "'--costs' plans for a budget, give '--budget TIME' too");
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
    if (run_backends_check(&o->require, err) != 0 ||
        dp_delivery_check(&o->reports, o->output, DP_DOCUMENT_REPORT, err) != 0) {
        return -1;
    }
    o->plan.retest_varies = strcmp(o->retest, "varies") == 0;
    o->plan.seed = (uint64_t)o->seed;
    o->plan.seeds = (int)o->seeds;
    o->plan.runs = (int)o->runs;
    o->plan.fresh = (int)o->fresh;
    split_axes(&o->axes, &o->plan.axes, &o->axes_text);
    return 0;
}
