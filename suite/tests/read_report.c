/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict reader as a filter, for check_corpus.py. `read_report make PARTS.json` prints the report made of
 * the parts; `read_report check` reads one report per line and answers "good" or "bad: why" for each;
 * `read_report accept` does so for a reader that takes newer minor versions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/base/json.h"

static int make(const char *path)
{
    struct dp_err err = {0};
    json_t *parts = dp_json_load(path, (size_t)1 << 24, &err);
    const struct dp_report_parts given = {.environment = json_object_get(parts, "environment"),
                                          .plan = json_object_get(parts, "plan"),
                                          .results = json_object_get(parts, "results"),
                                          .controls = json_object_get(parts, "controls"),
                                          .measurements = json_object_get(parts, "measurements")};
    json_t *report = parts ? dp_report_make(&given, &err) : NULL;
    if (!report || dp_json_write("-", report, &err) != 0) {
        fprintf(stderr, "read_report: %s\n", err.text);
        return 1;
    }
    json_decref(report);
    json_decref(parts);
    return 0;
}

static int judge(int (*takes)(const json_t *report, struct dp_err *err))
{
    char *line = NULL;
    size_t size = 0;
    for (ssize_t length; (length = getline(&line, &size, stdin)) > 0;) {
        struct dp_err err = {0};
        json_t *report = dp_json_parse(line, (size_t)length, "line", &err);
        const int rc = report ? takes(report, &err) : -1;
        printf("%s%s\n", rc == 0 ? "good" : "bad: ", rc == 0 ? "" : err.text);
        json_decref(report);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "make") == 0) {
        return make(argv[2]);
    }
    if (argc == 2 && strcmp(argv[1], "accept") == 0) {
        return judge(dp_report_accept);
    }
    return argc == 2 && strcmp(argv[1], "check") == 0 ? judge(dp_report_check) : 64;
}
