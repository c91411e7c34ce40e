/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe bisect: which difference between two environments changes the bits of a case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/attribute/bisect.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/asking.h"
#include "suite/command/command.h"

struct bisect_options {
    struct asking_options asking;
    bool load, json;
};

static const struct bisect_options bisect_defaults = {.asking = {.timeout_ns = INT64_C(120) * 1000000000}};

#define OPTION(kind_, name_, argument_, member, help_)                                                       \
    .kind = DP_OPTION_##kind_, .name = name_, .argument = argument_, .help = help_,                          \
    .offset = offsetof(struct bisect_options, member)

static const struct dp_option option_table[] = {
    {OPTION(FLAG, "load-libraries", NULL, load,
            "also load the libraries that the reports name, where both files are here: only for reports "
            "whose origin you trust")},
    {OPTION(STRING, "stack", "STACK", asking.stack,
            "measure the libraries of this Python environment, prefix or process (pid:N) and no others; "
            "wanted where the reports are of one")},
    {OPTION(DURATION, "timeout", "TIME", asking.timeout_ns, "the most one request may take")},
    {OPTION(FLAG, "json", NULL, json, "print one object")},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe bisect BEFORE AFTER CASE [OPTION...]",
    .summary = "Goes from two reports in which a case has other bits to the smallest difference between "
               "their environments that changes them. What can be changed here is: variables that 'detprobe "
               "audit' knows, the number of threads, the instruction set that a library is held to, files of "
               "libraries. The case is run as in the one report and as in the other; if the bits differ, the "
               "smallest part of the changes that still does it is found by delta debugging. What cannot be "
               "changed here (processor, GPU, driver, kernel) is named.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &bisect_defaults,
    .exits = {{DP_EXIT_OK, "the case has the same bits in both reports"},
              {DP_EXIT_FINDINGS, "the difference that changes them is found"},
              {DP_EXIT_NO_VERDICT,
               "nothing that can be changed here changes them, the case varies in both reports, or an error"},
              {DP_EXIT_DATA, "bad or not comparable reports, bad catalogue file or stack"},
              {DP_EXIT_NOTHING_RAN, "the case cannot run here"},
              {DP_EXIT_SIGNAL, "stopped by signal N; nothing is printed"}},
    .examples = {{"detprobe bisect before.json after.json python/stdlib/list-sum", "why the bits changed"},
                 {"detprobe bisect before.json after.json python/stdlib/list-sum --json | jq -r .outcome",
                  "the same, for a script"}},
};

/* --- printing --- */

static const struct {
    const char *outcome, *sentence;
} outcomes[] = {
    {"same_bits", "the case has the same bits in both reports"},
    {"found", NULL},
    {"elsewhere", "nothing that can be changed here changes the bits: the difference is in what cannot"},
    {"not_reproduced", "neither report's bits come here, so nothing here says why they differ"},
};

/* "OMP_NUM_THREADS 4 -> not set" */
static void print_changes(const char *title, const json_t *changes)
{
    size_t i;
    json_t *item;
    json_array_foreach(changes, i, item)
    {
        const bool axis = strcmp(dp_json_string(item, "kind", ""), "axis") == 0;
        const char *sides[2] = {dp_json_string(item, "from", "not set"),
                                dp_json_string(item, "to", "not set")};
        for (size_t k = 0; k < 2; k++) {
            sides[k] = axis && !sides[k][0] ? "the library's own" : sides[k];
        }
        printf("%-11s %s %s \xe2\x86\x92 %s\n", i ? "" : title, dp_json_string(item, "name", ""), sides[0],
               sides[1]);
    }
}

static void print_fixed(const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        printf("%-11s %s: %s\n", i ? "" : "not tried", dp_json_string(row, "words", ""),
               dp_json_string(row, "reason", ""));
    }
}

static const char *here_words(const char *word)
{
    return strcmp(word, "as_in_report") == 0 ? "as in the report"
           : strcmp(word, "varies") == 0     ? "it varies"
           : strcmp(word, "repeats") == 0    ? "it repeats"
                                             : "other bits";
}

static void print_text(const json_t *document)
{
    const json_t *here = json_object_get(document, "here"), *reports = json_object_get(document, "reports");
    const char *outcome = dp_json_string(document, "outcome", "");
    printf("%-11s %s\n", "case", dp_json_string(document, "case", ""));
    printf("%-11s %s before, %s after\n", "reports", dp_json_string(reports, "before", ""),
           dp_json_string(reports, "after", ""));
    if (here) {
        printf("%-11s set as before: %s; set as after: %s\n", "here",
               here_words(dp_json_string(here, "before", "")), here_words(dp_json_string(here, "after", "")));
    }
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        if (strcmp(outcomes[i].outcome, outcome) == 0 && outcomes[i].sentence) {
            printf("%-11s %s\n", "found", outcomes[i].sentence);
        }
    }
    print_changes("changed by", json_object_get(document, "change"));
    print_changes("no effect", json_object_get(document, "without_effect"));
    print_fixed(json_object_get(document, "cannot_change"));
    if (json_object_get(document, "reproduce")) {
        printf("%-11s %s\n", "reproduce", dp_json_string(document, "reproduce", ""));
    }
}

/* --- the command --- */

static int code_of(const json_t *document)
{
    const char *outcome = dp_json_string(document, "outcome", "");
    return strcmp(outcome, "same_bits") == 0 ? DP_EXIT_OK
           : strcmp(outcome, "found") == 0   ? DP_EXIT_FINDINGS
                                             : DP_EXIT_NO_VERDICT;
}

static int bisect(const struct bisect_options *o, const struct dp_strings *operands, struct dp_err *err)
{
    struct asking asking = {0};
    json_t *reports[2] = {NULL, NULL}, *document = NULL;
    if (operands->count != 3) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'bisect' takes two reports and a case of both, see 'detprobe bisect --help'");
    }
    bool good = true;
    for (size_t i = 0; i < 2 && good; i++) {
        reports[i] = dp_report_load(operands->items[i], err);
        good = reports[i] != NULL;
    }
    const char *id = operands->items[2];
    good = good && asking_has(reports[1], operands->items[1], id, err) == 0 &&
           asking_open(&o->asking, reports[0], operands->items[0], id, &asking, err) == 0 &&
           asking_fits(reports[1], &asking, err) == 0;
    if (good) {
        const struct dp_diff_side sides[2] = {{reports[0], operands->items[0]},
                                              {reports[1], operands->items[1]}};
        document = dp_bisect(&asking.bench, sides, o->load, err);
    }
    if (document && o->json) {
        dp_command_print(document);
    } else if (document) {
        print_text(document);
    }
    const int code = document ? code_of(document) : -1;
    json_decref(document);
    json_decref(reports[0]);
    json_decref(reports[1]);
    asking_close(&asking);
    return code;
}

static int cmd_bisect(int argc, char **argv)
{
    struct bisect_options options = bisect_defaults;
    struct dp_strings operands = {0};
    struct dp_err err = {0};
    bool help = false;
    int code = dp_options_parse(&command_line, argc, argv, &options, &operands, &help, &err);
    code = code == 0 && !help ? bisect(&options, &operands, &err) : code;
    free(operands.items);
    return dp_command_end(code, &err);
}

const struct dp_command dp_command_bisect = {
    "bisect", "find which difference between two reports changes a case", &command_line, cmd_bisect};
