/* SPDX-License-Identifier: Apache-2.0
 *
 * Format prometheus: for the textfile collector of a node's exporter. The name of a metric, its help and its
 * type are the same in every file, there are no time stamps (the collector refuses them), and a series is
 * there with 0 as with any other number, so that alerts see a change. Labels come from closed lists but for
 * the backend; hosts, cases and digests are for the scraper and the report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reports/diff/diff.h"
#include "reports/render/formats.h"
#include "suite/base/json.h"

static const struct {
    const char *name, *help;
} metrics[] = {
    {"run_valid", "Whether the run gave a verdict: 1, or 0 where a control misbehaved or nothing ran."},
    {"last_run_timestamp_seconds", "When the run finished."},
    {"run_duration_seconds", "How long the run took."},
    {"cases", "Cases of the report by backend and by what was observed."},
    {"guarantees", "Cases that ran by what became of the guarantee."},
    {"controls", "Controls of the run by whether they behaved."},
    {"gate_passed", "Whether the gate let the report pass: 1, or 0 where it failed or gave no verdict."},
    {"gate_verdict", "What the gate decided: 1 for that verdict, 0 for the others."},
    {"gate_findings", "Findings of the gate by what became of them."},
    {"gate_problems", "Things that stood in the way of a verdict."},
    {"diff_agree", "Whether the results of the two reports agree: 1, or 0."},
    {"diff_compared", "Cases that are in both reports."},
    {"diff_changes", "Changes between the two reports by kind."},
};

static void begin(struct dp_text *out, const char *name)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            dp_text_printf(out, "# HELP detprobe_%s %s\n# TYPE detprobe_%s gauge\n", name, metrics[i].help,
                           name);
        }
    }
}

static void single(struct dp_text *out, const char *name, double value)
{
    begin(out, name);
    dp_text_printf(out, "detprobe_%s %.15g\n", name, value);
}

/* One sample of a metric that has begun: "backend", "cpu", "observed", "varies", NULL. Label values are words
 * of closed lists or were cut down to their like. */
static void sample(struct dp_text *out, const char *name, long long value, const char *const labels[])
{
    dp_text_printf(out, "detprobe_%s", name);
    for (size_t i = 0; labels[i]; i += 2) {
        dp_text_printf(out, "%s%s=\"%s\"", i == 0 ? "{" : ",", labels[i], labels[i + 1]);
    }
    dp_text_printf(out, "} %lld\n", value);
}

static void counted(struct dp_text *out, const char *name, const char *label, const json_t *counts,
                    const char *const words[])
{
    begin(out, name);
    for (size_t i = 0; words[i]; i++) {
        sample(out, name, dp_json_int(counts, words[i], 0), (const char *const[]){label, words[i], NULL});
    }
}

/* --- a report --- */

static const char *const observations[] = {"repeats",  "varies",  "wrong", "error",
                                           "untested", "skipped", NULL};

/* Small letters and digits, as the schema has it. */
static char *backend_of(const json_t *result)
{
    char *name = dp_strdup(dp_json_string(result, "backend", ""));
    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789")] = '\0';
    return name;
}

static void put_cases(struct dp_text *out, const json_t *results)
{
    json_t *backends = json_object();
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const char *observed = dp_json_string(result, "observed", "");
        char *name = backend_of(result);
        json_t *counts = json_object_get(backends, name);
        if (!counts) {
            counts = json_object();
            json_object_set_new(backends, name, counts);
        }
        dp_json_count(counts, observed);
        free(name);
    }
    begin(out, "cases");
    const char *backend;
    json_t *counts;
    json_object_foreach(backends, backend, counts)
    {
        for (size_t i = 0; observations[i]; i++) {
            sample(out, "cases", dp_json_int(counts, observations[i], 0),
                   (const char *const[]){"backend", backend, "observed", observations[i], NULL});
        }
    }
    json_decref(backends);
}

static double seconds_of(const char *time)
{
    struct tm parts = {.tm_mday = 1};
    return strptime(time, "%Y-%m-%dT%H:%M:%SZ", &parts) ? (double)timegm(&parts) : 0;
}

static bool is_valid(const json_t *measurements)
{
    const json_int_t code = dp_json_int(json_object_get(measurements, "exit"), "code", DP_EXIT_NO_VERDICT);
    return code == DP_EXIT_OK || code == DP_EXIT_FINDINGS;
}

static void put_controls(struct dp_text *out, const json_t *controls)
{
    static const char *const words[] = {"true", "false", NULL};
    long long behaved = 0;
    for (size_t i = 0; i < json_array_size(controls); i++) {
        behaved += json_is_true(json_object_get(json_array_get(controls, i), "behaved"));
    }
    json_t *counts = json_pack("{s:I,s:I}", "true", (json_int_t)behaved, "false",
                               (json_int_t)json_array_size(controls) - behaved);
    counted(out, "controls", "behaved", counts, words);
    json_decref(counts);
}

static void put_report(struct dp_text *out, const json_t *report)
{
    static const char *const statuses[] = {"none", "allows", "kept", "broken", NULL};
    const json_t *body = json_object_get(report, "body"),
                 *measurements = json_object_get(report, "measurements");
    single(out, "run_valid", is_valid(measurements));
    single(out, "last_run_timestamp_seconds", seconds_of(dp_json_string(measurements, "finished", "")));
    single(out, "run_duration_seconds", dp_json_number(measurements, "seconds", 0));
    put_cases(out, json_object_get(body, "results"));
    counted(out, "guarantees", "status", json_object_get(json_object_get(body, "summary"), "guarantees"),
            statuses);
    put_controls(out, json_object_get(body, "controls"));
}

/* --- the others --- */

static void put_diff(struct dp_text *out, const json_t *diff)
{
    const json_t *summary = json_object_get(diff, "summary");
    const char *kinds[DP_CHANGE_MAX + 1] = {NULL};
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        kinds[kind] = dp_change_name((enum dp_change)kind);
    }
    single(out, "diff_agree", dp_diff_agrees(diff));
    single(out, "diff_compared", (double)dp_json_int(summary, "compared", 0));
    counted(out, "diff_changes", "kind", json_object_get(summary, "kinds"), kinds);
}

static void put_gate(struct dp_text *out, const json_t *gate)
{
    static const char *const verdicts[] = {"passed", "failed", "no_verdict", NULL};
    static const char *const states[] = {"failed", "allowed", NULL};
    json_t *verdict = json_pack("{s:i}", dp_json_string(gate, "verdict", "no_verdict"), 1);
    single(out, "gate_passed", json_is_true(json_object_get(gate, "passed")));
    counted(out, "gate_verdict", "verdict", verdict, verdicts);
    counted(out, "gate_findings", "state", json_object_get(gate, "summary"), states);
    single(out, "gate_problems", (double)json_array_size(json_object_get(gate, "problems")));
    json_decref(verdict);
}

void dp_render_prometheus(const json_t *document, const struct dp_render_options *options,
                          struct dp_text *out)
{
    if (json_object_get(document, "body")) {
        put_report(out, document);
    } else if (json_object_get(document, "sides")) {
        put_diff(out, document);
    } else {
        put_gate(out, document);
    }
}
