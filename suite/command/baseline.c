/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe baseline: one report of what several agree in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/gate/baseline.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"
#include "suite/judge/judge.h"

#define NAMED_MOST 20 /* cases that are left out, on standard error */

struct baseline_options {
    const char *output;
    struct dp_strings operands;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "write there; - is standard output",
     .offset = offsetof(struct baseline_options, output)},
};

static const struct baseline_options defaults = {.output = "-"};

static const struct dp_command_line command_line = {
    .usage = "detprobe baseline REPORT... [OPTION...]",
    .summary =
        "Makes one report of the cases in which several runs of one plan on one class of devices agree; "
        "what they disagree in is left out and named. 'detprobe gate --baseline' compares with it.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "made"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "bad report, or reports that cannot be put together"}},
    .examples = {{"detprobe baseline before.json after.json -o baseline.json", "of two runs"}},
};

/* How a run with these results would have ended. */
static void add_exit(json_t *baseline)
{
    const json_t *summary = json_object_get(json_object_get(baseline, "body"), "summary");
    const json_t *counts = json_object_get(summary, "counts");
    struct dp_verdict verdict = {.broken = json_array_size(json_object_get(summary, "broken")),
                                 .wrong = (size_t)dp_json_int(counts, "wrong", 0),
                                 .wrong_under = json_array_size(json_object_get(summary, "wrong_under")),
                                 .varies = (size_t)dp_json_int(counts, "varies", 0),
                                 .errors = (size_t)dp_json_int(counts, "error", 0)};
    verdict.ran = (size_t)dp_json_int(counts, "repeats", 0) + verdict.varies + verdict.wrong;
    json_object_set_new(
        json_object_get(baseline, "measurements"), "exit",
        json_pack("{si ss}", "code", dp_exit_code(&verdict), "reason", dp_exit_reason(&verdict)));
}

/* A baseline holds one environment; that another report had another one is no fault, but no secret either. */
static void tell_environments(const struct dp_diff_side *sides, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        char *words = dp_baseline_other_environment(sides[0].report, sides[i].report);
        if (words) {
            fprintf(stderr,
                    "detprobe: '%s' was measured in another environment than '%s', which the baseline names: "
                    "%s\n",
                    sides[i].name, sides[0].name, words);
        }
        free(words);
    }
}

static void tell(const json_t *baseline, size_t reports)
{
    const json_t *body = json_object_get(baseline, "body");
    size_t i, left_out = 0;
    json_t *row;
    json_array_foreach(json_object_get(json_object_get(body, "plan"), "left_out"), i, row)
    {
        const char *reason = dp_json_string(row, "reason", "");
        if (strcmp(reason, DP_LEFT_OUT_BUDGET) != 0 && left_out++ < NAMED_MOST) {
            fprintf(stderr, "detprobe: left out '%s': %s\n", dp_json_string(row, "case", ""), reason);
        }
    }
    if (left_out > NAMED_MOST) {
        fprintf(stderr, "detprobe: and %zu more\n", left_out - NAMED_MOST);
    }
    fprintf(stderr, "detprobe: baseline of %zu %s: %zu cases, %zu left out\n", reports,
            reports == 1 ? "report" : "reports", json_array_size(json_object_get(body, "results")), left_out);
}

static int make(const struct baseline_options *o, struct dp_diff_side *sides, struct dp_err *err)
{
    const struct dp_strings none = {0};
    if (dp_delivery_spares(&none, o->output, o->operands.items, o->operands.count, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < o->operands.count; i++) {
        sides[i] = (struct dp_diff_side){dp_report_load(o->operands.items[i], err), o->operands.items[i]};
        if (!sides[i].report) {
            return -1;
        }
    }
    json_t *baseline = dp_baseline_make(sides, o->operands.count, err);
    if (!baseline) {
        return -1;
    }
    add_exit(baseline);
    int rc = dp_report_accept(baseline, err);
    if (rc != 0) {
        dp_err_prefix(err, "cannot make a baseline");
    } else {
        rc = dp_json_write(o->output, baseline, err);
    }
    if (rc == 0) {
        tell_environments(sides, o->operands.count);
        tell(baseline, o->operands.count);
    }
    json_decref(baseline);
    return rc;
}

static int cmd_baseline(int argc, char **argv)
{
    struct baseline_options o = defaults;
    struct dp_err err = {0};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err);
    struct dp_diff_side *sides = dp_alloc(o.operands.count + 1, sizeof(*sides));
    if (rc == 0 && !help) {
        rc = o.operands.count == 0
                 ? dp_err_set(&err, DP_EXIT_USAGE, "no report named, see 'detprobe baseline --help'")
                 : make(&o, sides, &err);
    }
    for (size_t i = 0; i < o.operands.count; i++) {
        json_decref((json_t *)(uintptr_t)sides[i].report);
    }
    free(sides);
    free(o.operands.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_baseline = {"baseline", "make one report of what several agree in",
                                               &command_line, cmd_baseline};
