/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a run: its verdict, the report, what a gate decides of it, and all of it delivered.
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
#include "suite/base/text.h"
#include "suite/command/delivery.h"
#include "suite/command/running.h"
#include "suite/run/environment.h"

/* --- the gate --- */

struct dp_ending run_ending(struct run_options *o)
{
    return (struct dp_ending){&o->fail_on, run_defaults.fail_on, &o->gating, &o->require,
                              &o->allow_insensitive};
}

/* A killed run that is resumed is judged as it would have been. */
int run_take_ending(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    const struct dp_ending ending = run_ending(o);
    run->ending = o->resume ? dp_runlog_ending(o->resume, err) : NULL;
    return !o->resume || (run->ending && dp_ending_take(&ending, run->ending, o->resume, err) == 0 &&
                          run_backends_check(&o->require, err) == 0)
               ? 0
               : -1;
}

static bool has_gate(const struct run_options *o)
{
    return o->gating.policy || o->gating.baseline || strcmp(o->fail_on, "changes") == 0;
}

/* Policy and baseline are read before anything runs. */
int run_open_gate(struct run *run, struct dp_err *err)
{
    struct run_options *o = &run->options;
    if (!has_gate(o)) {
        return 0;
    }
    o->gating.fail_on = o->fail_on != run_defaults.fail_on ? o->fail_on : NULL;
    return dp_gating_open(&o->gating, err);
}

/* Whether the baseline is of this plan and of this processor: what is known before the run. Of its devices
 * nothing is. A run does not become the baseline that it is held against: the next one would pass. */
int run_check_gate(const struct run *run, struct dp_err *err)
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

bool run_is_whole_file(const char *output)
{
    struct stat status;
    return !dp_file_is_stdout(output) && (stat(output, &status) != 0 || S_ISREG(status.st_mode));
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
    v->wrong_under = judged->wrong_under;
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
        json_pack("{ss ss sf ss s{si ss} sb si sO so* so* sO* so*}", "started", run->started, "finished",
                  finished, "seconds", (double)(dp_now_ns() - run->started_ns) * 1e-9, "host_name", host_name,
                  "exit", "code", dp_exit_code(&run->verdict), "reason", dp_exit_reason(&run->verdict),
                  "interrupted", run->verdict.signal != 0, "jobs", (int)run->options.jobs, "cases",
                  run->judged.measurements, "devices", dp_environment_device_state(&run->answers), "isa",
                  dp_environment_caps(&run->plan, &run->answers), "strength", run->judged.strength, "prices",
                  run->options.plan.price ? dp_prices_json(&run->plan, &run->answers) : NULL);
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

/* The last line of what people read is not to sound as if all were well. */
static void print_lost(const struct run *run)
{
    const struct run_options *o = &run->options;
    if (run->verdict.report_lost && !o->json && !(o->output && dp_file_is_stdout(o->output))) {
        puts("no verdict: the report could not be written");
        fflush(stdout);
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
    const bool whole = output && run_is_whole_file(output);
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
    print_lost(run);
    return dp_exit_code(&run->verdict);
}

int run_finish(struct run *run, struct dp_err *err)
{
    fill_verdict(run);
    return make_report(run, err) == 0 ? deliver(run) : err->code;
}
