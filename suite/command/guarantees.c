/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe guarantees: what is documented for each case where the libraries of this machine, or assumed ones,
 * are; with a report, what was observed beside it. No case runs: programs are asked for their hello alone,
 * and only those whose libraries matter and are not assumed.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/guarantees/guarantees.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"
#include "suite/plan/assume.h"
#include "suite/plan/guarantee.h"
#include "suite/plan/selector.h"
#include "suite/run/runner.h"

struct guarantees_options {
    struct dp_delivery delivery;
    struct dp_strings reports, include, exclude, assume;
    const char *observed, *stack;
    bool broken, allows, json;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_STRING,
     .name = "observed",
     .argument = "REPORT",
     .help = "put beside it what this report observed, and take the versions that it was made with",
     .offset = offsetof(struct guarantees_options, observed)},
    {.kind = DP_OPTION_FLAG,
     .name = "broken",
     .help = "only what is promised and was seen to vary; needs --observed",
     .offset = offsetof(struct guarantees_options, broken)},
    {.kind = DP_OPTION_FLAG,
     .name = "allows",
     .help =
         "only what is documented as varying; with --observed, in how many comparisons it was not seen to",
     .offset = offsetof(struct guarantees_options, allows)},
    {.kind = DP_OPTION_LIST,
     .name = "assume",
     .argument = "VERSIONS",
     .help =
         "assume this version of a library instead of the one that is here, as in cudnn=9.1,sm=90; of "
         "another implementation with its name, as in cblas=MKL/2024.2; sm is the compute capability of the "
         "device; repeatable",
     .offset = offsetof(struct guarantees_options, assume)},
    {.kind = DP_OPTION_STRING,
     .name = "stack",
     .argument = "STACK",
     .help = "look at the libraries of this Python environment, prefix or process (pid:N) and no others",
     .offset = offsetof(struct guarantees_options, stack)},
    {.kind = DP_OPTION_LIST,
     .letter = 'x',
     .name = "exclude",
     .argument = "SELECTOR",
     .help = "leave out the cases this names",
     .offset = offsetof(struct guarantees_options, exclude)},
    {.kind = DP_OPTION_CHOICE,
     .letter = 'f',
     .name = "format",
     .argument = "FORMAT",
     .help = "what to print",
     .offset = offsetof(struct guarantees_options, delivery.format),
     .choices_of = dp_format_names_guarantees},
    {.kind = DP_OPTION_FLAG,
     .name = "json",
     .help = "the same as --format json",
     .offset = offsetof(struct guarantees_options, json)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "write there; - is standard output",
     .offset = offsetof(struct guarantees_options, delivery.output)},
    {.kind = DP_OPTION_LIST,
     .name = "report",
     .argument = "FORMAT:FILE",
     .help = "write the table in this format too, whole or not at all; repeatable",
     .offset = offsetof(struct guarantees_options, reports),
     .choices_of = dp_format_names_guarantees},
    {.kind = DP_OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     .help = "name every case",
     .offset = offsetof(struct guarantees_options, delivery.verbose)},
};

static const struct guarantees_options defaults = {
    .delivery = {.format = "text", .output = "-", .colour = "never"}};

static const struct dp_command_line command_line = {
    .usage = "detprobe guarantees [SELECTOR...] [OPTION...]",
    .summary =
        "Prints what is documented for each case, by library and version, with the document and section "
        "that says so. No case runs. What a document says of other versions than those here is not "
        "promised here, and where a version is not known both stand there. A SELECTOR is a case id, a "
        "glob over ids, or @TAG.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "printed, whatever the table says"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "bad report, catalogue file or stack"}},
    .examples = {{"detprobe guarantees @cuda --assume cudnn=9.1,cublas=13.1,cublaslt=13.1,sm=90",
                  "what NVIDIA documents for one stack, on a machine without it"},
                 {"detprobe guarantees 'cpu/*' --format markdown", "a table for a wiki"},
                 {"detprobe guarantees --observed report.json --allows",
                  "what may vary by its documentation, and whether the report saw it"},
                 {"detprobe guarantees --observed report.json --broken --json",
                  "what was promised and seen to vary"}},
};

/* Cases of one table, and what of them is documented where. `seen` has those of a report. */
struct table {
    const struct guarantees_options *options;
    struct dp_catalogue catalogue, seen;
    struct dp_stack stack;
    json_t *report;   /* NULL: none */
    json_t *assumed;  /* role -> {version, name?, from} */
    json_t *versions; /* program -> role -> {name, version}; of a report, family -> the same */
    json_t *document;
};

static int check_options(const struct guarantees_options *o, struct dp_err *err)
{
    if (o->broken && o->allows) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--broken' and '--allows' name different cases, ask for one of them");
    }
    if (o->broken && !o->observed) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--broken' is what a report observed, name it with '--observed REPORT'");
    }
    if (o->observed && (o->assume.count > 0 || o->stack)) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'%s' does not go with '--observed', which has versions of its own",
                          o->stack ? "--stack" : "--assume");
    }
    if (dp_delivery_check_format(o->delivery.format, DP_DOCUMENT_GUARANTEES, err) != 0 ||
        dp_delivery_check(&o->reports, o->delivery.output, DP_DOCUMENT_GUARANTEES, err) != 0) {
        return -1;
    }
    return dp_delivery_spares(&o->reports, o->delivery.output, &o->observed, 1, err);
}

/* --- what is here --- */

/* Is there a role that the case's guarantee names, and that is not assumed? */
static bool is_open(const struct table *table, const struct dp_case *item)
{
    json_t *roles = dp_assume_roles_of(item);
    const char *role;
    json_t *value;
    bool open = false;
    json_object_foreach(roles, role, value)
    {
        open = open || !json_object_get(table->assumed, role);
    }
    json_decref(roles);
    return open;
}

static const struct dp_program *base_of(const struct dp_case *item)
{
    return item->program->base ? item->program->base : item->program;
}

/* Each program once; what it says holds for its cases under variables of their own too. */
static void ask_programs(struct table *table, const bool *chosen)
{
    for (size_t i = 0; i < table->catalogue.case_count; i++) {
        const struct dp_case *item = &table->catalogue.cases[i];
        const struct dp_program *program = base_of(item);
        if (!chosen[i] || program->state != DP_PROGRAM_READY ||
            json_object_get(table->versions, program->name) || !is_open(table, item)) {
            continue;
        }
        const struct dp_stack *stack = table->options->stack ? &table->stack : NULL;
        json_t *hello = dp_run_hello(program, stack, DP_HELLO_TIMEOUT_NS);
        json_t *devices = json_pack("[O*]", json_object_get(hello, "device"));
        json_object_set_new(table->versions, program->name,
                            dp_versions_of(json_object_get(hello, "libraries"), devices, NULL));
        json_decref(devices);
        json_decref(hello);
    }
}

/* Those of the case's program, but for what is assumed. Owned. */
static json_t *versions_of(const struct table *table, const struct dp_case *item)
{
    json_t *versions = json_copy(json_object_get(table->versions, base_of(item)->name));
    versions = versions ? versions : json_object();
    json_object_update(versions, table->assumed);
    return versions;
}

/* --- rows --- */

static bool is_wanted(const struct guarantees_options *o, const json_t *stated, const json_t *result)
{
    return (!o->broken || dp_result_broken(result)) &&
           (!o->allows || strcmp(dp_json_string(stated, "level", ""), "not_guaranteed") == 0);
}

static void add_documented(struct table *table, const bool *chosen)
{
    for (size_t i = 0; i < table->catalogue.case_count; i++) {
        const struct dp_case *item = &table->catalogue.cases[i];
        if (!chosen[i]) {
            continue;
        }
        const json_t *guarantee = json_object_get(item->json, "guarantee");
        json_t *versions = versions_of(table, item), *stated = dp_guarantee_stated(guarantee, versions);
        json_object_set_new(stated, "alternatives", dp_guarantee_alternatives(guarantee, versions));
        if (is_wanted(table->options, stated, NULL)) {
            const struct dp_guarantees_entry entry = {
                .id = item->id, .guarantee = guarantee, .stated = stated, .versions = versions};
            dp_guarantees_add(table->document, &entry);
        }
        json_decref(stated);
        json_decref(versions);
    }
}

/* What was documented when the report was made stands in it. */
static void add_observed(struct table *table, const bool *chosen)
{
    const json_t *body = json_object_get(table->report, "body"),
                 *environment = json_object_get(body, "environment");
    json_t *measured =
        dp_json_index(json_object_get(json_object_get(table->report, "measurements"), "cases"), "case");
    for (size_t i = 0; i < table->seen.case_count; i++) {
        const struct dp_case *item = &table->seen.cases[i];
        const json_t *result = json_array_get(json_object_get(body, "results"), i);
        const json_t *stated = json_object_get(result, "guarantee");
        if (!chosen[i] || !is_wanted(table->options, stated, result)) {
            continue;
        }
        char *family = dp_printf("%s/%s", item->backend, item->family);
        json_t *versions = dp_versions_of(json_object_get(environment, "libraries"),
                                          json_object_get(environment, "devices"), family);
        const struct dp_guarantees_entry entry = {.id = item->id,
                                                  .guarantee = json_object_get(item->json, "guarantee"),
                                                  .stated = stated,
                                                  .versions = versions,
                                                  .result = result,
                                                  .measured = json_object_get(measured, item->id)};
        dp_guarantees_add(table->document, &entry);
        json_decref(versions);
        free(family);
    }
    json_decref(measured);
}

/* --- the cases of a report --- */

/* With the tags of the catalogue, so that selectors mean the same; a case that it does not know has none. */
static void open_seen(struct table *table)
{
    const json_t *results = json_object_get(json_object_get(table->report, "body"), "results");
    table->seen.case_count = json_array_size(results);
    table->seen.cases = dp_alloc(table->seen.case_count + 1, sizeof(*table->seen.cases));
    for (size_t i = 0; i < table->seen.case_count; i++) {
        const json_t *result = json_array_get(results, i);
        const char *id = dp_json_string(result, "case", "");
        const struct dp_case *known = dp_catalogue_find(&table->catalogue, id);
        table->seen.cases[i] = (struct dp_case){.id = id,
                                                .backend = dp_strdup(dp_json_string(result, "backend", "")),
                                                .family = dp_strdup(dp_json_string(result, "family", "")),
                                                .json = known ? json_incref(known->json) : json_object()};
    }
}

static void close_seen(struct table *table)
{
    for (size_t i = 0; i < table->seen.case_count; i++) {
        free(table->seen.cases[i].backend);
        free(table->seen.cases[i].family);
        json_decref(table->seen.cases[i].json);
    }
    free(table->seen.cases);
}

/* --- the table --- */

static int fill(struct table *table, struct dp_err *err)
{
    const struct guarantees_options *o = table->options;
    const struct dp_catalogue *from = o->observed ? &table->seen : &table->catalogue;
    bool *chosen = dp_alloc(from->case_count + 1, sizeof(bool));
    const int rc = dp_select(from, &o->include, &o->exclude, chosen, err);
    if (rc == 0 && o->observed) {
        add_observed(table, chosen);
    } else if (rc == 0) {
        ask_programs(table, chosen);
        add_documented(table, chosen);
    }
    free(chosen);
    dp_guarantees_close(table->document);
    return rc;
}

static int open_table(struct table *table, struct dp_err *err)
{
    const struct guarantees_options *o = table->options;
    if (dp_stack_check_roles(err) != 0 || dp_catalogue_load(&table->catalogue, err) != 0) {
        return -1;
    }
    table->assumed = dp_assume(&o->assume, &table->catalogue, err);
    if (!table->assumed || (o->stack && dp_stack_open(o->stack, &table->stack, err) != 0)) {
        return -1;
    }
    if (o->stack) {
        dp_stack_apply(&table->stack, &table->catalogue);
    }
    if (o->observed) {
        table->report = dp_report_load(o->observed, err);
        if (!table->report) {
            return -1;
        }
        open_seen(table);
    }
    table->versions = json_object();
    table->document = dp_guarantees_open(dp_json_string(table->report, "digest", NULL));
    return 0;
}

static int deliver(struct guarantees_options *o, const json_t *document, struct dp_err *err)
{
    o->delivery.source = o->observed;
    int rc = dp_delivery_write(&o->reports, DP_DOCUMENT_GUARANTEES, document, o->observed, err);
    if (dp_deliver(&o->delivery, DP_DOCUMENT_GUARANTEES, document, rc == 0 ? err : NULL) != 0) {
        rc = -1;
    }
    return rc;
}

static int print_table(struct guarantees_options *o, struct dp_err *err)
{
    struct table table = {.options = o};
    o->delivery.format = o->json ? "json" : o->delivery.format;
    int rc = check_options(o, err);
    rc = rc == 0 ? open_table(&table, err) : rc;
    rc = rc == 0 ? fill(&table, err) : rc;
    rc = rc == 0 ? deliver(o, table.document, err) : rc;
    close_seen(&table);
    json_decref(table.document);
    json_decref(table.versions);
    json_decref(table.assumed);
    json_decref(table.report);
    dp_stack_free(&table.stack);
    dp_catalogue_free(&table.catalogue);
    return rc;
}

static int cmd_guarantees(int argc, char **argv)
{
    struct guarantees_options o = defaults;
    const struct dp_strings *lists[] = {&o.reports, &o.include, &o.exclude, &o.assume};
    struct dp_err err = {0};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.include, &help, &err);
    rc = rc == 0 && !help ? print_table(&o, &err) : rc;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free(lists[i]->items);
    }
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_guarantees = {
    "guarantees", "say what is documented for each case, by library and version", &command_line,
    cmd_guarantees};
