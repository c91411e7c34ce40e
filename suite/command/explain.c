/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe explain: what moves the bits of a case, down to one command that shows it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/attribute/explain.h"
#include "suite/attribute/standalone.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/asking.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"

struct explain_options {
    struct asking_options asking;
    int64_t runs;
    const char *standalone;
    bool json;
};

static const struct explain_options explain_defaults = {.asking = {.timeout_ns = INT64_C(120) * 1000000000}};

#define OPTION(kind_, name_, argument_, member, help_)                                                       \
    .kind = DP_OPTION_##kind_, .name = name_, .argument = argument_, .help = help_,                          \
    .offset = offsetof(struct explain_options, member)

static const struct dp_option option_table[] = {
    {OPTION(INT, "runs", "N", runs,
            "runs of each input in each process, to see whether the case repeats here; else as many as some "
            "seconds allow, 25 at most"),
     .low = 2, .high = 1000000},
    {OPTION(STRING, "stack", "STACK", asking.stack,
            "measure the libraries of this Python environment, prefix or process (pid:N) and no others; "
            "wanted where the report is of one")},
    {OPTION(DURATION, "timeout", "TIME", asking.timeout_ns, "the most one request may take")},
    {OPTION(STRING, "standalone", "FILE", standalone,
            "write a file of C (FILE.c) or Python (FILE.py) that shows the difference without detprobe, of "
            "at most 80 lines, for the tracker of whose library it is; only for cases whose catalogue says "
            "how it is called")},
    {OPTION(FLAG, "json", NULL, json, "print one object")},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe explain REPORT CASE [OPTION...]",
    .summary =
        "Finds what moves the bits of a case, by running it here: each axis at each of its settings, each "
        "instruction set that its library can be held to, and each variable that 'detprobe audit' knows, "
        "with the value that the report recorded, that the case's remedy gives it or that shows an effect. "
        "Each is tried alone, then all that did nothing are tried together; if that moves the bits, the "
        "smallest part that still does is found by delta debugging. A case that varies by itself is asked "
        "the other way round: what keeps its bits. A command follows that shows the difference.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &explain_defaults,
    .details =
        "Every difference is seen again in new processes before it is told. What keeps the bits of a case "
        "that varies is tried so often that variation as rare as what was seen, or from process to process "
        "in a third of them, would be missed once in a hundred times. A variable is compared with itself not "
        "set, whatever it is in this shell. The algorithm is ddmin (Zeller and Hildebrandt, Simplifying and "
        "Isolating Failure-Inducing Input, IEEE Transactions on Software Engineering 28(2), 2002).",
    .exits = {{DP_EXIT_OK, "the case repeats here, and nothing that was tried moves its bits"},
              {DP_EXIT_FINDINGS, "something moves its bits, or it varies by itself"},
              {DP_EXIT_NO_VERDICT,
               "an error of the program, the stack was not used, or the file was not written"},
              {DP_EXIT_DATA, "bad report, catalogue file or stack, or the case is another one here"},
              {DP_EXIT_NOTHING_RAN, "the case cannot run here"},
              {DP_EXIT_SIGNAL, "stopped by signal N; nothing is printed"}},
    .examples = {{"detprobe explain report.json python/stdlib/list-sum", "whether anything moves its bits"},
                 {"detprobe explain report.json python/stdlib/list-sum --json | jq -r '.causes[].reproduce'",
                  "the commands that show what moves them"}},
};

/* --- printing --- */

static void put_choice(const json_t *item, FILE *out)
{
    const char *name = dp_json_string(item, "name", ""), *from = dp_json_string(item, "from", NULL);
    const char *to = dp_json_string(item, "to", NULL);
    const bool axis = strcmp(dp_json_string(item, "kind", ""), "axis") == 0;
    if (axis) {
        fprintf(out, "%s %s", name, to);
        if (from && from[0] && strcmp(from, to) != 0) {
            fprintf(out, " (against %s)", from);
        }
    } else {
        fprintf(out, to ? "%s=%s" : "%s not set", name, to);
    }
}

static const char *effect_words(const json_t *cause)
{
    const char *effect = dp_json_string(cause, "effect", "");
    return strcmp(effect, "other_bits") == 0 ? "other bits"
           : strcmp(effect, "varies") == 0   ? "it varies"
                                             : "it repeats";
}

static void print_causes(const json_t *document, const char *title)
{
    size_t i, k;
    json_t *cause, *item;
    json_array_foreach(json_object_get(document, "causes"), i, cause)
    {
        printf("%-11s ", i ? "" : title);
        json_array_foreach(json_object_get(cause, "change"), k, item)
        {
            fputs(k ? " together with " : "", stdout);
            put_choice(item, stdout);
        }
        printf(": %s, seen again in %lld new processes\n", effect_words(cause),
               (long long)dp_json_int(cause, "processes", 0));
    }
}

/* "threads 1 2 4; OMP_NUM_THREADS=1" */
static void print_without(const json_t *document)
{
    size_t i, k;
    json_t *row, *setting;
    json_array_foreach(json_object_get(document, "without_effect"), i, row)
    {
        const bool axis = strcmp(dp_json_string(row, "kind", ""), "axis") == 0;
        printf("%-11s %s", i ? "" : "no effect", dp_json_string(row, "name", ""));
        json_array_foreach(json_object_get(row, "settings"), k, setting)
        {
            const char *value = json_string_value(setting);
            printf("%s%s", axis ? " " : k ? ", =" : "=", value ? value : "");
        }
        putchar('\n');
    }
}

static void print_not_tried(const json_t *document)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(document, "not_tried"), i, row)
    {
        printf("%-11s %s %s: %s\n", i ? "" : "not tried", dp_json_string(row, "name", ""),
               dp_json_string(row, "setting", ""), dp_json_string(row, "reason", ""));
    }
}

static void print_report(const json_t *document)
{
    const json_t *report = json_object_get(document, "report"),
                 *moved = json_object_get(report, "sensitive_to");
    printf("%-11s %s", "report", dp_json_string(report, "observed", ""));
    for (size_t i = 0; i < json_array_size(moved); i++) {
        printf("%s%s", i ? ", " : "; sensitive to ", json_string_value(json_array_get(moved, i)));
    }
    putchar('\n');
}

/* A variable that moves the bits here and was set where the report was made: "NAME=VALUE", or NULL. Owned. */
static char *moving_variable(const json_t *document, const json_t *report)
{
    const json_t *environment = json_object_get(json_object_get(report, "body"), "environment");
    const json_t *variables = json_object_get(environment, "variables");
    size_t i, k;
    json_t *cause, *item;
    json_array_foreach(json_object_get(document, "causes"), i, cause)
    {
        json_array_foreach(json_object_get(cause, "change"), k, item)
        {
            const char *name = dp_json_string(item, "name", "");
            const char *value = dp_json_string(variables, name, NULL);
            if (value && strcmp(dp_json_string(item, "kind", ""), "variable") == 0) {
                return dp_printf("%s=%s", name, value);
            }
        }
    }
    return NULL;
}

static void print_other_bits(const json_t *document, const json_t *report)
{
    char *variable = moving_variable(document, report);
    fputs("; other bits than in the report", stdout);
    printf(variable ? ", which was made with %s" : ", see 'detprobe diff' with one made here", variable);
    free(variable);
}

static void print_here(const json_t *document, const json_t *report)
{
    const json_t *here = json_object_get(document, "here"), *same = json_object_get(here, "bits_of_report");
    const long long runs = dp_json_int(here, "runs", 0), odd = dp_json_int(here, "mismatches", 0);
    const char *between = dp_json_string(here, "varies_between", NULL);
    printf("%-11s %s", "here", dp_json_string(here, "observed", ""));
    if (between && strcmp(between, "runs") == 0) {
        printf(" by itself, from run to run: %lld of %lld runs", odd, runs);
    } else {
        printf("%s in %lld runs", between ? " by itself, from process to process," : "", runs);
    }
    printf(" of %lld inputs in %lld processes%s", (long long)dp_json_int(here, "inputs", 0),
           (long long)dp_json_int(here, "processes", 0),
           json_is_true(same) ? "; the bits of the report" : "");
    if (same && !json_is_true(same)) {
        print_other_bits(document, report);
    }
    putchar('\n');
}

static const struct {
    const char *outcome, *title, *sentence;
} outcomes[] = {
    {"moved", "moved by", NULL},
    {"steadied", "kept by", NULL},
    {"varies", "kept by", "nothing that was tried keeps its bits"},
    {"repeats", "moved by", "nothing that was tried moves its bits"},
};

static void print_text(const json_t *document, const json_t *report)
{
    const char *outcome = dp_json_string(document, "outcome", "");
    printf("%-11s %s\n", "case", dp_json_string(document, "case", ""));
    dp_command_print_libraries(json_object_get(document, "libraries"));
    print_report(document);
    print_here(document, report);
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        if (strcmp(outcomes[i].outcome, outcome) == 0 && outcomes[i].sentence) {
            printf("%-11s %s\n", outcomes[i].title, outcomes[i].sentence);
        } else if (strcmp(outcomes[i].outcome, outcome) == 0) {
            print_causes(document, outcomes[i].title);
        }
    }
    print_without(document);
    print_not_tried(document);
    const json_t *first = json_array_get(json_object_get(document, "causes"), 0);
    const char *command = dp_json_string(document, "reproduce", dp_json_string(first, "reproduce", NULL));
    if (command) {
        printf("%-11s %s\n", "reproduce", command);
    }
}

/* --- the command --- */

/* May it be written, for this case and over nothing that is read? */
static int check_standalone(const struct explain_options *o, const struct dp_case *item, const char *report,
                            struct dp_err *err)
{
    const struct dp_strings none = {0};
    const char *const inputs[] = {report, item->program->path};
    return !o->standalone ? 0
           : dp_standalone_check(item, o->standalone, err) != 0
               ? -1
               : dp_delivery_spares(&none, o->standalone, inputs, 2, err);
}

/* Where something was found; the row that says so. */
static int write_standalone(const struct explain_options *o, const struct dp_case *item,
                            const json_t *document, struct dp_err *err)
{
    if (!o->standalone) {
        return 0;
    }
    if (strcmp(dp_json_string(document, "outcome", ""), "repeats") == 0) {
        fputs(o->json ? "" : "standalone  not written: there is no difference to show\n", stdout);
        return 0;
    }
    char *text = dp_standalone_text(item, document, o->standalone, err);
    const int rc = text ? dp_file_write(o->standalone, text, strlen(text), err) : -1;
    free(text);
    if (rc == 0 && !o->json) {
        printf("%-11s %s; its first lines say how to run it\n", "standalone", o->standalone);
    }
    return rc;
}

static void print(const struct explain_options *o, const json_t *document, const json_t *report)
{
    if (o->json) {
        dp_command_print(document);
    } else {
        print_text(document, report);
    }
}

static int explain(const struct explain_options *o, const struct dp_strings *operands, struct dp_err *err)
{
    struct asking asking = {0};
    json_t *document = NULL;
    int code = -1;
    if (operands->count != 2) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'explain' takes a report and a case of it, see 'detprobe explain --help'");
    }
    json_t *report = dp_report_load(operands->items[0], err);
    if (report &&
        asking_open(&o->asking, report, operands->items[0], operands->items[1], &asking, err) == 0 &&
        check_standalone(o, asking.bench.item, operands->items[0], err) == 0) {
        document = dp_explain(&asking.bench, report, (int)o->runs, err);
    }
    if (document) {
        print(o, document, report);
        code =
            strcmp(dp_json_string(document, "outcome", ""), "repeats") == 0 ? DP_EXIT_OK : DP_EXIT_FINDINGS;
        code = write_standalone(o, asking.bench.item, document, err) == 0 ? code : -1;
    }
    json_decref(document);
    json_decref(report);
    asking_close(&asking);
    return code;
}

static int cmd_explain(int argc, char **argv)
{
    struct explain_options options = explain_defaults;
    struct dp_strings operands = {0};
    struct dp_err err = {0};
    bool help = false;
    int code = dp_options_parse(&command_line, argc, argv, &options, &operands, &help, &err);
    code = code == 0 && !help ? explain(&options, &operands, &err) : code;
    free(operands.items);
    return dp_command_end(code, &err);
}

const struct dp_command dp_command_explain = {"explain", "find what moves the bits of a case", &command_line,
                                              cmd_explain};
