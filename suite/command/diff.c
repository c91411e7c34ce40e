/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe diff: two reports, what changed between them and what may explain it; more of them, a matrix.
 */
#include <stdio.h>
#include <stdlib.h>

#include "reports/diff/diff.h"
#include "reports/matrix/matrix.h"
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
    .usage = "detprobe diff BEFORE AFTER [REPORT...] [OPTION...]",
    .summary =
        "Compares two reports of one level and seed: verdicts and bits, case by case, put together by "
        "what may explain them; then what differs in the environment. Of three or more reports, a matrix: "
        "a column for each, a row for the cases that are not the same in all of them, as text, json, "
        "markdown "
        "or html.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "the results agree; differences of the environment alone are shown"},
              {DP_EXIT_FINDINGS, "the results differ"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "bad report, or reports that cannot be compared"}},
    .examples = {{"detprobe diff before.json after.json", "what changed, under what may explain it"},
                 {"detprobe diff before.json after.json --format markdown",
                  "the same for an issue or a pull request"},
                 {"detprobe diff before.json after.json report.json", "a column for each report"}},
};

static int deliver(struct diff_options *o, enum dp_document kind, const json_t *document, struct dp_err *err)
{
    int rc = dp_delivery_write(&o->reports, kind, document, o->delivery.source, err);
    if (dp_deliver(&o->delivery, kind, document, rc == 0 ? err : NULL) != 0) {
        rc = -1;
    }
    return rc;
}

/* Kept to the end: to free millions of values one by one takes longer than to compare them. */
static json_t *reports[DP_MATRIX_MOST];

static int load(const struct diff_options *o, struct dp_diff_side *sides, struct dp_err *err)
{
    for (size_t i = 0; i < o->operands.count; i++) {
        reports[i] = dp_report_load(o->operands.items[i], err);
        if (!reports[i]) {
            return -1;
        }
        dp_report_forget_settings(reports[i]);
        sides[i] = (struct dp_diff_side){reports[i], o->operands.items[i]};
    }
    return 0;
}

/* The document, or NULL. Owned. */
static json_t *make(const struct dp_diff_side *sides, size_t count, struct dp_err *err)
{
    if (count > 2) {
        return dp_matrix_make(sides, count, err);
    }
    json_t *diff = dp_diff_make(sides, err);
    if (diff && !dp_diff_compares(diff)) {
        dp_err_set(
            err, DP_EXIT_DATA,
            "'%.200s' and '%.200s' are not comparable: each case of both is another one by its catalogue or "
            "outputs",
            sides[0].name, sides[1].name);
        json_decref(diff);
        return NULL;
    }
    return diff;
}

static int compare(struct diff_options *o, struct dp_err *err)
{
    const size_t count = o->operands.count;
    const enum dp_document kind = count > 2 ? DP_DOCUMENT_MATRIX : DP_DOCUMENT_DIFF;
    if (count < 2 || count > DP_MATRIX_MOST) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "2 to %d reports are compared, %zu %s named, see 'detprobe diff --help'",
                          DP_MATRIX_MOST, count, count == 1 ? "is" : "are");
    }
    o->delivery.format = o->json ? "json" : o->delivery.format;
    o->delivery.source = o->operands.items[count - 1];
    struct dp_diff_side sides[DP_MATRIX_MOST];
    if (dp_delivery_check_format(o->delivery.format, kind, err) != 0 ||
        dp_delivery_check(&o->reports, o->delivery.output, kind, err) != 0 ||
        dp_delivery_spares(&o->reports, o->delivery.output, o->operands.items, count, err) != 0 ||
        load(o, sides, err) != 0) {
        return -1;
    }
    int code = -1;
    json_t *document = make(sides, count, err);
    if (document && deliver(o, kind, document, err) == 0) {
        const bool agrees = count > 2 ? dp_matrix_agrees(document) : dp_diff_agrees(document);
        code = agrees ? DP_EXIT_OK : DP_EXIT_FINDINGS;
    }
    json_decref(document);
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
    free(o.operands.items);
    free(o.reports.items);
    return dp_command_end(code, &err);
}

const struct dp_command dp_command_diff = {"diff", "compare reports: what changed, and what may explain it",
                                           &command_line, cmd_diff};
