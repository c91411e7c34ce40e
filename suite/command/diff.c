/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe diff: what differs between two reports, and what may explain it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "reports/diff/diff.h"
#include "reports/diff/render.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/command/command.h"
#include "suite/command/terminal.h"

struct diff_options {
    const char *format, *output;
    bool json, verbose;
    struct dp_strings operands;
};

static int parse_options(struct diff_options *o, int argc, char **argv, bool *ret_help, struct dp_err *err)
{
    const struct dp_option options[] = {
        {.kind = DP_OPTION_CHOICE,
         .letter = 'f',
         .name = "format",
         .argument = "FORMAT",
         .help = "text, json (the document) or markdown (for an issue or a pull request)",
         .target = &o->format,
         .choices = dp_diff_renderer_names()},
        {.kind = DP_OPTION_FLAG, .name = "json", .help = "the same as --format json", .target = &o->json},
        {.kind = DP_OPTION_STRING,
         .letter = 'o',
         .name = "output",
         .argument = "FILE",
         .help = "write there instead of standard output (-)",
         .target = &o->output},
        {.kind = DP_OPTION_FLAG,
         .letter = 'v',
         .name = "verbose",
         .help = "name every case",
         .target = &o->verbose},
    };
    const struct dp_command_line line = {
        .usage = "detprobe diff BEFORE AFTER [OPTION...]",
        .summary =
            "Compares two reports of one level and seed: verdicts and bits, case by case, put together by "
            "what may explain them; then what differs in the environment.",
        .options = options,
        .count = sizeof(options) / sizeof(options[0]),
        .details = "exit codes: 0 the results agree (differences of the environment alone are shown),\n"
                   "1 they differ, 2 not written, 64 usage, 65 bad report or reports that cannot be compared",
    };
    return dp_options_parse(&line, argc, argv, &o->operands, ret_help, err);
}

static int write_out(const struct diff_options *o, const json_t *diff, struct dp_err *err)
{
    const char *format = o->json ? "json" : o->format;
    const struct dp_render_options options = {
        .verbose = o->verbose, .columns = dp_file_is_stdout(o->output) ? dp_terminal_columns() : 0};
    struct dp_text out = DP_TEXT(DP_DIFF_TEXT_MOST);
    dp_diff_renderer_find(format)->render(diff, &options, &out);
    const int rc = dp_file_write(o->output, out.data, out.length, err);
    dp_text_free(&out);
    return rc;
}

static int compare(const struct diff_options *o, struct dp_err *err)
{
    if (o->operands.count != 2) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "two reports are compared, %zu %s named, see 'detprobe diff --help'",
                          o->operands.count, o->operands.count == 1 ? "is" : "are");
    }
    struct dp_diff_side sides[2] = {{NULL, o->operands.items[0]}, {NULL, o->operands.items[1]}};
    json_t *reports[2] = {dp_report_load(sides[0].name, err), NULL};
    reports[1] = reports[0] ? dp_report_load(sides[1].name, err) : NULL;
    int code = -1;
    if (reports[1]) {
        sides[0].report = reports[0];
        sides[1].report = reports[1];
        json_t *diff = dp_diff_make(sides, err);
        if (diff && write_out(o, diff, err) == 0) {
            code = dp_diff_agrees(diff) ? DP_EXIT_OK : DP_EXIT_FINDINGS;
        }
        json_decref(diff);
    }
    json_decref(reports[0]);
    json_decref(reports[1]);
    return code;
}

int cmd_diff(int argc, char **argv)
{
    struct diff_options o = {.format = "text", .output = "-"};
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int code = DP_EXIT_OK;
    if (parse_options(&o, argc, argv, &help, &err) != 0) {
        code = -1;
    } else if (!help) {
        code = compare(&o, &err);
    }
    if (code < 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
        code = err.code;
    }
    free(o.operands.items);
    return code;
}
