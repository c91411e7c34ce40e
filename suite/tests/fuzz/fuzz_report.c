/* SPDX-License-Identifier: Apache-2.0
 *
 * A report, and everything that is made of one: the formats, and comparisons with itself and with another.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/diff.h"
#include "reports/model.h"
#include "reports/render/render.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"
#include "suite/tests/fuzz/fuzz.h"

static void render_as(enum dp_document document, const char *format, const json_t *json)
{
    static const struct dp_render_options ways[] = {{.columns = 0, .source = "report.json"},
                                                    {.columns = 61, .verbose = true},
                                                    {.columns = 100, .colour = true}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct dp_text out = DP_TEXT((size_t)1 << 28);
        struct dp_err err = {0};
        fuzz_expect(dp_render(document, format, json, &ways[i], &out, &err) == 0, err.text);
        if (!ways[i].colour) {
            fuzz_expect_printable(out.data, out.length);
        }
        dp_text_free(&out);
    }
}

static void render(enum dp_document document, const json_t *json)
{
    char *names = dp_strdup(dp_format_names(document)), *rest = names;
    for (const char *format; (format = strsep(&rest, "|"));) {
        render_as(document, format, json);
    }
    free(names);
}

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
    render(DP_DOCUMENT_DIFF, diff);
    json_decref(diff);
}

/* What is written is read back. */
static void write_and_read(const json_t *report)
{
    struct dp_err err = {0};
    char *text = dp_json_pretty(report);
    fuzz_expect(text != NULL, "a report that cannot be written");
    json_t *back = dp_json_parse(text, strlen(text), "text", &err);
    fuzz_expect(back != NULL && dp_report_check(back, &err) == 0, err.text);
    json_decref(back);
    free(text);
}

static const json_t *other_report(void)
{
    static json_t *other;
    if (!other) {
        struct dp_err err = {0};
        other = dp_report_load(DP_FUZZ_CORPUS "/report/good-findings.json", &err);
        fuzz_expect(other != NULL, err.text);
    }
    return other;
}

void fuzz_one(const char *text, size_t length)
{
    struct dp_err err = {0};
    json_t *report = dp_json_parse(text, length, "input", &err);
    int rc = report ? dp_report_check(report, &err) : -1;
    if (rc != 0) {
        fuzz_expect_refusal(&err, 0);
        fuzz_reseal(report);
        rc = report ? dp_report_check(report, &err) : -1;
    }
    if (rc == 0) {
        write_and_read(report);
        render(DP_DOCUMENT_REPORT, report);
        compare(report, report);
        compare(other_report(), report);
        compare(report, other_report());
    }
    json_decref(report);
}
