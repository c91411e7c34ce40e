/* SPDX-License-Identifier: Apache-2.0
 *
 * A report, and everything that is made of one: the formats, and comparisons with itself and with another.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/diff.h"
#include "reports/guarantees/guarantees.h"
#include "reports/matrix/matrix.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/tests/fuzz/fuzz.h"

static void compare(const json_t *before, const json_t *after)
{
    const struct dp_diff_side sides[2] = {{.report = before, .name = "before"},
                                          {.report = after, .name = "after"}};
    struct dp_err err = {0};
    json_t *diff = dp_diff_make(sides, &err);
    if (!diff) {
        fuzz_expect_refusal(&err, 0);
        fuzz_expect(before != after, "a report that cannot be compared with itself");
        return;
    }
    fuzz_expect(dp_schema_check(dp_schema_builtin("diff"), diff, &err) == 0, err.text);
    fuzz_expect(before != after || dp_diff_agrees(diff), "a report that differs from itself");
    fuzz_render(DP_DOCUMENT_DIFF, diff);
    json_decref(diff);
}

static void compare_three(const json_t *report)
{
    const struct dp_diff_side sides[3] = {{.report = fuzz_other_report(), .name = "a"},
                                          {.report = report, .name = "b"},
                                          {.report = report, .name = "c"}};
    struct dp_err err = {0};
    json_t *matrix = dp_matrix_make(sides, 3, &err);
    if (!matrix) {
        fuzz_expect_refusal(&err, 0);
        return;
    }
    fuzz_expect(dp_schema_check(dp_schema_builtin("matrix"), matrix, &err) == 0, err.text);
    fuzz_render(DP_DOCUMENT_MATRIX, matrix);
    json_decref(matrix);
}

/* The table of what is documented, beside what the report observed. */
static void put_beside(const json_t *report)
{
    struct dp_err err = {0};
    const json_t *results = json_object_get(json_object_get(report, "body"), "results");
    json_t *measured =
        dp_json_index(json_object_get(json_object_get(report, "measurements"), "cases"), "case");
    json_t *table = dp_guarantees_open(dp_json_string(report, "digest", ""));
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const char *id = dp_json_string(result, "case", "");
        const struct dp_guarantees_entry entry = {.id = id,
                                                  .stated = json_object_get(result, "guarantee"),
                                                  .result = result,
                                                  .measured = json_object_get(measured, id)};
        dp_guarantees_add(table, &entry);
    }
    dp_guarantees_close(table);
    fuzz_expect(dp_schema_check(dp_schema_builtin("guarantees"), table, &err) == 0, err.text);
    fuzz_render(DP_DOCUMENT_GUARANTEES, table);
    json_decref(table);
    json_decref(measured);
}

/* What is written is read back. */
static void write_and_read(const json_t *report)
{
    struct dp_err err = {0};
    char *text = dp_json_pretty(report);
    fuzz_expect(text != NULL, "a report that cannot be written");
    json_t *back = dp_json_parse(text, strlen(text), "text", &err);
    fuzz_expect(back != NULL && dp_report_accept(back, &err) == 0, err.text);
    json_decref(back);
    free(text);
}

void fuzz_one(const char *text, size_t length)
{
    json_t *report = fuzz_report(text, length);
    if (report) {
        write_and_read(report);
        fuzz_render(DP_DOCUMENT_REPORT, report);
        compare(report, report);
        compare(fuzz_other_report(), report);
        compare(report, fuzz_other_report());
        compare_three(report);
        put_beside(report);
    }
    json_decref(report);
}
