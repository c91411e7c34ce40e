/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe validate: the strict reader over files of each kind, each judged by itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/gate/gate.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/plan/catalogue.h"

#define FILE_LIMIT ((size_t)256 << 20) /* as for reports */

static int check_catalogue(const json_t *file, struct dp_err *err)
{
    json_t *cases = dp_catalogue_expand(file, err);
    json_decref(cases);
    return cases ? 0 : -1;
}

static int check_diff(const json_t *file, struct dp_err *err)
{
    return dp_schema_check_document("diff", file, DP_SCHEMA_STRICT, err);
}

static int check_matrix(const json_t *file, struct dp_err *err)
{
    return dp_schema_check_document("matrix", file, DP_SCHEMA_STRICT, err);
}

static int check_guarantees(const json_t *file, struct dp_err *err)
{
    return dp_schema_check_document("guarantees", file, DP_SCHEMA_STRICT, err);
}

/* What a file is, by a member that only its kind has; without one it is taken for a report. */
static const struct kind {
    const char *words;
    const char *members[9];
    int (*check)(const json_t *file, struct dp_err *err);
} kinds[] = {
    {"catalogue file", {"cases", "variants"}, check_catalogue},
    {"gate", {"verdict"}, dp_gate_check},
    {"comparison", {"sides"}, check_diff},
    {"matrix", {"groups"}, check_matrix},
    {"table of guarantees", {"rows"}, check_guarantees},
    {"policy",
     {"fail", "allow", "require", "levels", "minimum_cases", "minimum_runs", "maximum_skipped",
      "maximum_skipped_share"},
     dp_policy_check},
    {"report", {NULL}, dp_report_check},
};

static const struct kind *kind_of(const json_t *file)
{
    const size_t last = sizeof(kinds) / sizeof(kinds[0]) - 1;
    for (size_t i = 0; i < last; i++) {
        for (size_t k = 0; kinds[i].members[k]; k++) {
            if (json_object_get(file, kinds[i].members[k])) {
                return &kinds[i];
            }
        }
    }
    return &kinds[last];
}

/* Prints one line: "ok" on standard output, what is wrong on standard error. */
static int validate_file(const char *path)
{
    struct dp_err err = {0};
    json_t *file = dp_json_load(path, FILE_LIMIT, &err);
    char *name = dp_printable(path, strlen(path));
    int rc = -1;
    if (file) {
        const struct kind *kind = kind_of(file);
        rc = kind->check(file, &err);
        if (rc == 0) {
            printf("ok: '%s' is a valid %s\n", name, kind->words);
        } else {
            dp_err_prefix(&err, "not a valid %s '%.250s'", kind->words, name);
        }
    }
    if (rc != 0) {
        fprintf(stderr, "detprobe: %s\n", err.text);
    }
    free(name);
    json_decref(file);
    return rc;
}

static int validate_all(const struct dp_strings *paths, struct dp_err *err)
{
    if (paths->count == 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "no file to validate, see 'detprobe validate --help'");
    }
    size_t bad = 0;
    for (size_t i = 0; i < paths->count; i++) {
        bad += validate_file(paths->items[i]) != 0;
    }
    /* Each bad file has had its line. */
    err->text[0] = '\0';
    err->code = bad ? DP_EXIT_DATA : DP_EXIT_OK;
    return err->code == DP_EXIT_OK ? 0 : -1;
}

static const struct dp_command_line command_line = {
    .usage = "detprobe validate FILE...",
    .summary =
        "Checks reports, policies, catalogue files and what 'diff', 'gate' and 'guarantees' write strictly: "
        "schema, known version, and of a report that its digest is that of its body. All files are looked "
        "at; "
        "- is standard input.",
    .exits = {{DP_EXIT_OK, "all valid"},
              {DP_EXIT_NO_VERDICT, "standard output could not be written"},
              {DP_EXIT_DATA, "some file is not valid"}},
    .examples = {{"detprobe validate report.json",
                  "whether a report is whole and its digest that of its body"}},
};

static int cmd_validate(int argc, char **argv)
{
    struct dp_strings paths = {0};
    struct dp_err err = {0};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, NULL, &paths, &help, &err);
    if (rc == 0 && !help) {
        rc = validate_all(&paths, &err);
    }
    if (rc != 0 && err.text[0]) {
        fprintf(stderr, "detprobe: %s\n", err.text);
    }
    free(paths.items);
    return rc == 0 ? DP_EXIT_OK : err.code;
}

const struct dp_command dp_command_validate = {
    "validate", "check reports, policies and catalogue files strictly", &command_line, cmd_validate};
