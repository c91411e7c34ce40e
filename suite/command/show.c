/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe show: print a report that is already there, or turn it into other formats.
 */
#include <stdlib.h>

#include "reports/model.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"

struct show_options {
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
     .offset = offsetof(struct show_options, delivery.format),
     .choices_of = dp_format_names_report},
    {.kind = DP_OPTION_FLAG,
     .name = "json",
     .help = "the same as --format json",
     .offset = offsetof(struct show_options, json)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "write there; - is standard output",
     .offset = offsetof(struct show_options, delivery.output)},
    {.kind = DP_OPTION_LIST,
     .name = "report",
     .argument = "FORMAT:FILE",
     .help = "write the report in this format too, whole or not at all; repeatable",
     .offset = offsetof(struct show_options, reports),
     .choices_of = dp_format_names_report},
    {.kind = DP_OPTION_CHOICE,
     .name = "color",
     .argument = "WHEN",
     .help = "colour: auto, always, never",
     .offset = offsetof(struct show_options, delivery.colour),
     .choices = "auto|always|never"},
    {.kind = DP_OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     .help = "a row for every case",
     .offset = offsetof(struct show_options, delivery.verbose)},
};

static const struct show_options defaults = {.delivery = {.format = "text", .output = "-", .colour = "auto"}};

static const struct dp_command_line command_line = {
    .usage = "detprobe show REPORT [OPTION...]",
    .summary = "Prints a report that 'detprobe run -o FILE' wrote; - reads it from standard input.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "shown, whatever the report says"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "bad report"}},
    .examples = {{"detprobe show report.json", "the table again, with what to do about each finding"},
                 {"detprobe show report.json --verbose --color always | less -R",
                  "a row for every case, in a pager"},
                 {"detprobe show report.json --format json -o copy.json", "the document itself, in a file"}},
};

static int show(struct show_options *o, struct dp_err *err)
{
    if (o->operands.count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "%s, see 'detprobe show --help'",
                          o->operands.count == 0 ? "no report named" : "more than one report named");
    }
    if (dp_delivery_check(&o->reports, o->delivery.output, DP_DOCUMENT_REPORT, err) != 0 ||
        dp_delivery_spares(&o->reports, o->delivery.output, o->operands.items, o->operands.count, err) != 0) {
        return -1;
    }
    o->delivery.format = o->json ? "json" : o->delivery.format;
    o->delivery.source = o->operands.items[0];
    json_t *report = dp_report_load(o->delivery.source, err);
    if (!report) {
        return -1;
    }
    int rc = dp_delivery_write(&o->reports, DP_DOCUMENT_REPORT, report, o->delivery.source, err);
    if (dp_deliver(&o->delivery, DP_DOCUMENT_REPORT, report, rc == 0 ? err : NULL) != 0) {
        rc = -1;
    }
    json_decref(report);
    return rc;
}

static int cmd_show(int argc, char **argv)
{
    struct show_options o = defaults;
    struct dp_err err = {0};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err);
    rc = rc == 0 && !help ? show(&o, &err) : rc;
    free(o.operands.items);
    free(o.reports.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_show = {"show", "print a report, or turn it into another format",
                                           &command_line, cmd_show};
