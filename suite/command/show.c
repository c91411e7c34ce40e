/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe show: print a report that is already there.
 */
#include <stdio.h>
#include <stdlib.h>

#include "reports/model.h"
#include "reports/render/render.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/command/command.h"
#include "suite/command/terminal.h"

struct show_options {
    const char *format, *output, *colour;
    bool verbose;
    struct dp_strings operands;
};

static int parse_options(struct show_options *o, int argc, char **argv, bool *ret_help, struct dp_err *err)
{
    const struct dp_option options[] = {
        {.kind = DP_OPTION_CHOICE,
         .letter = 'f',
         .name = "format",
         .argument = "FORMAT",
         .help = "text: the table; json: the document itself",
         .target = &o->format,
         .choices = dp_renderer_names()},
        {.kind = DP_OPTION_STRING,
         .letter = 'o',
         .name = "output",
         .argument = "FILE",
         .help = "write there instead of standard output (-)",
         .target = &o->output},
        {.kind = DP_OPTION_CHOICE,
         .name = "color",
         .argument = "WHEN",
         .help = "colour: auto, always, never",
         .target = &o->colour,
         .choices = "auto|always|never"},
        {.kind = DP_OPTION_FLAG,
         .letter = 'v',
         .name = "verbose",
         .help = "a row for every case",
         .target = &o->verbose},
    };
    const struct dp_command_line line = {
        .usage = "detprobe show REPORT [OPTION...]",
        .summary = "Prints a report that 'detprobe run -o FILE' wrote; - reads it from standard input.",
        .options = options,
        .count = sizeof(options) / sizeof(options[0]),
        .details = "exit codes: 0 shown (whatever the report says), 2 not written, 64 usage, 65 bad report",
    };
    return dp_options_parse(&line, argc, argv, &o->operands, ret_help, err);
}

/* A file has no terminal: 100 columns, and colour only where it is asked for. */
static int write_file(const struct show_options *o, const json_t *report, struct dp_err *err)
{
    const struct dp_render_options options = {.colour = o->colour[0] == 'a' && o->colour[1] == 'l',
                                              .verbose = o->verbose};
    struct dp_text out = DP_TEXT((size_t)1 << 30);
    int rc = dp_renderer_find(o->format)->render(report, &options, &out, err);
    if (rc == 0) {
        rc = dp_file_write(o->output, out.data, out.length, err);
    }
    dp_text_free(&out);
    return rc;
}

static int show(const struct show_options *o, struct dp_err *err)
{
    if (o->operands.count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "%s, see 'detprobe show --help'",
                          o->operands.count == 0 ? "no report named" : "more than one report named");
    }
    json_t *report = dp_report_load(o->operands.items[0], err);
    if (!report) {
        return -1;
    }
    const bool terminal = o->output[0] == '-' && !o->output[1];
    const int rc = terminal ? dp_terminal_print(report, o->format, o->colour, o->verbose, err)
                            : write_file(o, report, err);
    json_decref(report);
    return rc;
}

int cmd_show(int argc, char **argv)
{
    struct show_options o = {.format = "text", .output = "-", .colour = "auto"};
    struct dp_err err = {0};
    bool help = false;
    int code = DP_EXIT_OK;
    if (parse_options(&o, argc, argv, &help, &err) != 0 || (!help && show(&o, &err) != 0)) {
        fprintf(stderr, "detprobe: %s\n", err.text);
        code = err.code;
    }
    free(o.operands.items);
    return code;
}
