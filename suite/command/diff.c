/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe diff: two reports, what changed between them and what may explain it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "reports/diff/diff.h"
#include "reports/model.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"

struct diff_options {
    struct dp_delivery delivery;
    struct dp_strings reports, operands;
    bool json;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_CHOICE,
     .letter = 'f',
     .name = "format",
     .argument = "FORMAT",
     .help = "what to print",
     .offset = offsetof(struct diff_options, delivery.format),
     .choices_of = dp_format_names_diff},
    {.kind = DP_OPTION_FLAG,
     .name = "json",
     .help = "the same as --format json",
     .offset = offsetof(struct diff_options, json)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "write there; - is standard output",
     .offset = offsetof(struct diff_options, delivery.output)},
    {.kind = DP_OPTION_LIST,
     .name = "report",
     .argument = "FORMAT:FILE",
     .help = "write the comparison in this format too, whole or not at all; repeatable",
     .offset = offsetof(struct diff_options, reports),
     .choices_of = dp_format_names_diff},
    {.kind = DP_OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     .help = "name every case",
     .offset = offsetof(struct diff_options, delivery.verbose)},
};

static const struct diff_options defaults = {
    .delivery = {.format = "text", .output = "-", .colour = "never"}};

static const struct dp_command_line command_line = {
    .usage = "detprobe diff BEFORE AFTER [OPTION...]",
    .summary = "Compares two reports of one level and seed: verdicts and bits, case by case, put together by "
               "what may explain them; then what differs in the environment.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "the results agree; differences of the environment alone are shown"},
              {DP_EXIT_FINDINGS, "the results differ"},
              {DP_EXIT_NO_VERDICT, "not written"},
              {DP_EXIT_DATA, "bad report, or reports that cannot be compared"}},
    .examples = {{"detprobe diff before.json after.json", "what changed, under what may explain it"},
                 {"detprobe diff before.json after.json --format markdown",
                  "the same for an issue or a pull request"}},
};

static int deliver(struct diff_options *o, const json_t *diff, struct dp_err *err)
{
    o->delivery.format = o->json ? "json" : o->delivery.format;
    o->delivery.source = o->operands.items[1];
    int rc = dp_delivery_write(&o->reports, DP_DOCUMENT_DIFF, diff, o->delivery.source, err);
    if (dp_deliver(&o->delivery, DP_DOCUMENT_DIFF, diff, rc == 0 ? err : NULL) != 0) {
        rc = -1;
    }
    return rc;
}

/* Kept to the end: to free millions of values one by one takes longer than to compare them. */
static json_t *reports[2];

static int compare(struct diff_options *o, struct dp_err *err)
{
    if (o->operands.count != 2) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "two reports are compared, %zu %s named, see 'detprobe diff --help'",
                          o->operands.count, o->operands.count == 1 ? "is" : "are");
    }
    if (dp_delivery_check(&o->reports, o->delivery.output, DP_DOCUMENT_DIFF, err) != 0) {
        return -1;
    }
    struct dp_diff_side sides[2] = {{NULL, o->operands.items[0]}, {NULL, o->operands.items[1]}};
    int code = -1;
    for (int side = 0; side < 2; side++) {
        reports[side] = dp_report_load(sides[side].name, err);
        if (!reports[side]) {
            return -1;
        }
        dp_report_forget_settings(reports[side]);
        sides[side].report = reports[side];
    }
    json_t *diff = dp_diff_make(sides, err);
    if (diff && !dp_diff_compares(diff)) {
        dp_err_set(
            err, DP_EXIT_DATA,
            "'%.200s' and '%.200s' are not comparable: each case of both is another one by its catalogue or "
            "outputs",
            sides[0].name, sides[1].name);
    } else if (diff && deliver(o, diff, err) == 0) {
        code = dp_diff_agrees(diff) ? DP_EXIT_OK : DP_EXIT_FINDINGS;
    }
    json_decref(diff);
    return code;
}

static int cmd_diff(int argc, char **argv)
{
    struct diff_options o = defaults;
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int code = DP_EXIT_OK;
    if (dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err) != 0) {
        code = -1;
    } else if (!help) {
        code = compare(&o, &err);
    }
    if (code < 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
        code = err.code;
    }
    free(o.operands.items);
    free(o.reports.items);
    return code;
}

const struct dp_command dp_command_diff = {
    "diff", "compare two reports: what changed, and what may explain it", &command_line, cmd_diff};
