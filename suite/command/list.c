/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe list: the catalogue, for people and as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/plan/catalogue.h"
#include "suite/plan/selector.h"

enum { SUMMARY_WIDTH = 60 };

struct list_options {
    struct dp_strings include, exclude;
    bool json, controls;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_LIST,
     .letter = 'x',
     .name = "exclude",
     .argument = "SELECTOR",
     .help = "leave out the cases this names",
     .offset = offsetof(struct list_options, exclude)},
    {.kind = DP_OPTION_FLAG,
     .name = "json",
     .help = "print an array of objects: everything the catalogue says of each case",
     .offset = offsetof(struct list_options, json)},
    {.kind = DP_OPTION_FLAG,
     .name = "controls",
     .help = "list the controls too that a run of these cases would add",
     .offset = offsetof(struct list_options, controls)},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe list [SELECTOR...] [OPTION...]",
    .summary =
        "Lists the cases of the catalogue with what is guaranteed for each, whether or not they can run "
        "here. A SELECTOR is a case id, a glob over ids, or @TAG.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .exits = {{DP_EXIT_OK, "listed"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "bad catalogue file"}},
    .examples = {{"detprobe list 'cpu/gemm/*'", "the cases of one family with what is guaranteed for each"},
                 {"detprobe list @python --exclude 'python/stdlib/set-*'",
                  "a backend without some of its cases"},
                 {"detprobe list --json | jq -r '.[] | select(.used_by[]? == \"aten::index_add\") | .id'",
                  "the cases behind an operator of a framework"}},
};

/* Controls of every backend of which a case is chosen. */
static void add_controls(const struct dp_catalogue *catalogue, bool *chosen)
{
    for (size_t c = 0; c < catalogue->case_count; c++) {
        const struct dp_case *control = &catalogue->cases[c];
        for (size_t i = 0; control->control && !chosen[c] && i < catalogue->case_count; i++) {
            chosen[c] = chosen[i] && !catalogue->cases[i].control &&
                        strcmp(catalogue->cases[i].backend, control->backend) == 0;
        }
    }
}

/* Tags where there are any, else what the case reveals, on one line. Owned. */
static char *summary(const struct dp_case *item)
{
    struct dp_text text = DP_TEXT(SUMMARY_WIDTH);
    size_t i;
    json_t *tag;
    json_array_foreach(json_object_get(item->json, "tags"), i, tag)
    {
        dp_text_printf(&text, "%s%s", i ? " " : "", json_string_value(tag));
    }
    if (text.length == 0) {
        dp_text_put(&text, dp_json_string(item->json, "reveals", ""));
    }
    char *clean = dp_printable(text.data ? text.data : "", text.length);
    char *result = dp_printf("%s%s", clean, text.truncated ? "..." : "");
    free(clean);
    dp_text_free(&text);
    return result;
}

static void print_case(const struct dp_case *item, int width, struct dp_text *out)
{
    const bool ready = item->program->state == DP_PROGRAM_READY;
    char *variables = dp_variables_text(item->program->environment);
    char *about = summary(item);
    char *words = dp_printf("%s%s%s", about, variables[0] ? "  with " : "", variables);
    char *reason = ready ? dp_strdup("") : dp_printf("  (not built: %s)", item->program->reason);
    char *clean = dp_printable(reason, strlen(reason));
    const char *level = dp_json_string(json_object_get(item->json, "guarantee"), "level", "");
    char *line = dp_printf("%-*s  %-14s  %s%s", width, item->id, level, words, clean);
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ') {
        length--;
    }
    dp_text_add(out, line, length);
    dp_text_put(out, "\n");
    free(line);
    free(clean);
    free(reason);
    free(words);
    free(about);
    free(variables);
}

static void print_counts(const struct dp_catalogue *catalogue, const bool *chosen, struct dp_text *out)
{
    size_t cases = 0;
    size_t controls = 0;
    size_t missing = 0;
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        controls += chosen[i] && item->control;
        cases += chosen[i] && !item->control;
        missing += chosen[i] && item->program->state != DP_PROGRAM_READY;
    }
    dp_text_printf(out, "%zu case%s", cases, cases == 1 ? "" : "s");
    if (controls > 0) {
        dp_text_printf(out, ", %zu control%s", controls, controls == 1 ? "" : "s");
    }
    if (missing > 0) {
        dp_text_printf(out, ", %zu of them not built", missing);
    }
    dp_text_put(out, "\n");
}

static void print_text(const struct dp_catalogue *catalogue, const bool *chosen, struct dp_text *out)
{
    size_t width = 0;
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const size_t length = chosen[i] ? strlen(catalogue->cases[i].id) : 0;
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < catalogue->case_count; i++) {
        if (chosen[i]) {
            print_case(&catalogue->cases[i], (int)width, out);
        }
    }
    print_counts(catalogue, chosen, out);
}

static void print_json(const struct dp_catalogue *catalogue, const bool *chosen, struct dp_text *out)
{
    json_t *array = json_array();
    for (size_t i = 0; i < catalogue->case_count; i++) {
        if (chosen[i]) {
            json_array_append_new(array, dp_case_describe(&catalogue->cases[i]));
        }
    }
    char *text = dp_json_pretty(array);
    dp_text_put(out, text);
    free(text);
    json_decref(array);
}

static int list(const struct dp_catalogue *catalogue, const struct list_options *o, struct dp_err *err)
{
    bool *chosen = dp_alloc(catalogue->case_count, sizeof(bool));
    struct dp_text out = DP_TEXT(SIZE_MAX / 2);
    int rc = dp_select(catalogue, &o->include, &o->exclude, chosen, err);
    if (rc == 0) {
        if (o->controls) {
            add_controls(catalogue, chosen);
        }
        (o->json ? print_json : print_text)(catalogue, chosen, &out);
        rc = dp_file_write("-", out.data, out.length, err);
    }
    dp_text_free(&out);
    free(chosen);
    return rc;
}

static int cmd_list(int argc, char **argv)
{
    struct list_options o = {0};
    struct dp_catalogue catalogue = {0};
    struct dp_err err = {0};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.include, &help, &err);
    if (rc == 0 && !help) {
        rc = dp_catalogue_load(&catalogue, &err);
        if (rc == 0) {
            rc = list(&catalogue, &o, &err);
        }
    }
    dp_catalogue_free(&catalogue);
    free(o.include.items);
    free(o.exclude.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_list = {
    "list", "list the cases of the catalogue with what is guaranteed for each", &command_line, cmd_list};
