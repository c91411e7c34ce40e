/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats for CI services, made of the list of checks: what becomes of each verdict, golden files of one
 * report, and the shape of every format whatever the document holds: hostile strings in every place, nothing,
 * one case, ten thousand. Whether others can read them is asked of others, in test_formats.py.
 * DETPROBE_REWRITE_GOLDEN=1 rewrites the golden files; read the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/checks/checks.h"
#include "reports/diff/diff.h"
#include "reports/gate/gate.h"
#include "reports/model.h"
#include "reports/render/render.h"
#include "reports/render/services.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/tests/golden.h"

#define MANY 10000

/* --- documents --- */

static json_t *load(const char *name)
{
    struct dp_err err = {0};
    char *path = dp_printf(DP_TEST_SOURCE_DIR "/golden/%s", name);
    json_t *json = dp_json_load(path, (size_t)1 << 20, &err);
    free(path);
    assert_string_equal(err.text, "");
    return json;
}

static json_t *report_of(const json_t *parts)
{
    struct dp_err err = {0};
    const struct dp_report_parts given = {.environment = json_object_get(parts, "environment"),
                                          .plan = json_object_get(parts, "plan"),
                                          .results = json_object_get(parts, "results"),
                                          .controls = json_object_get(parts, "controls"),
                                          .measurements = json_object_get(parts, "measurements")};
    json_t *report = dp_report_make(&given, &err);
    assert_string_equal(err.text, "");
    json_object_set_new(json_object_get(report, "tool"), "version", json_string("0.0.0"));
    return report;
}

static json_t *report(const char *name)
{
    char *file = dp_printf("%s.parts.json", name);
    json_t *parts = load(file), *made = report_of(parts);
    free(file);
    json_decref(parts);
    return made;
}

/* The report 'clean' with this many cases, every third of which varies. */
static json_t *report_with(size_t count)
{
    json_t *parts = load("clean.parts.json"), *results = json_array();
    for (size_t i = 0; i < count; i++) {
        char *id = dp_printf("cpu/gemm/case-%zu", i);
        json_array_append_new(results,
                              json_pack("{s:s,s:s,s:s,s:s,s:{s:s,s:s,s:s},s:s,s:[]}", "case", id, "backend",
                                        "cpu", "family", "gemm", "observed", i % 3 ? "repeats" : "varies",
                                        "guarantee", "level", "run_to_run", "source", "a source", "status",
                                        i % 3 ? "kept" : "broken", "checked", "full", "not_measured"));
        free(id);
    }
    json_object_set_new(parts, "results", results);
    json_t *made = report_of(parts);
    json_decref(parts);
    return made;
}

static json_t *diff_of(const json_t *before, const json_t *after)
{
    struct dp_err err = {0};
    const struct dp_diff_side sides[2] = {{before, "before.json"}, {after, "after.json"}};
    json_t *diff = dp_diff_make(sides, &err);
    assert_string_equal(err.text, "");
    return diff;
}

static json_t *result_of(const json_t *document, const char *id)
{
    const json_t *results = json_object_get(json_object_get(document, "body"), "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        json_t *result = json_array_get(results, i);
        if (strcmp(dp_json_string(result, "case", ""), id) == 0) {
            return result;
        }
    }
    fail_msg("no result '%s'", id);
    return NULL;
}

/* 'findings' against itself with one change for the worse and one for the better. */
static json_t *diff(void)
{
    json_t *before = report("findings"), *after = json_deep_copy(before);
    json_t *output = json_array_get(json_object_get(result_of(after, "cpu/gemm/sgemm-nn-1"), "outputs"), 0);
    json_object_set_new(output, "sha256",
                        json_string("0000000000000000000000000000000000000000000000000000000000000000"));
    json_object_set_new(result_of(after, "cpu/gemm/strsm-ln-96"), "observed", json_string("repeats"));
    json_t *made = diff_of(before, after);
    json_decref(before);
    json_decref(after);
    return made;
}

static struct dp_text render_for(enum dp_document kind, const char *format, const json_t *document,
                                 const struct dp_render_options *options)
{
    struct dp_err err = {0};
    struct dp_text out = DP_TEXT((size_t)1 << 28);
    assert_int_equal(dp_render(kind, format, document, options, &out, &err), 0);
    return out;
}

static struct dp_text render(enum dp_document kind, const char *format, const json_t *document)
{
    const struct dp_render_options options = {.source = "some/report.json"};
    return render_for(kind, format, document, &options);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        count++;
    }
    return count;
}

/* --- the list --- */

static const struct dp_check *check_of(const struct dp_checks *checks, const char *group, const char *name)
{
    for (size_t i = 0; i < checks->count; i++) {
        if (strcmp(checks->items[i].group, group) == 0 && strcmp(checks->items[i].name, name) == 0) {
            return &checks->items[i];
        }
    }
    fail_msg("no check '%s/%s'", group, name);
    return NULL;
}

static void test_verdicts_of_a_report(void **state)
{
    static const struct {
        const char *group, *name;
        enum dp_check_state state;
        const char *kind, *line;
    } rows[] = {
        {"detprobe", "run", DP_CHECK_FAIL, "verdict", "2 guarantees broken; "},
        {"cpu/gemm", "sgemm-nn-1", DP_CHECK_PASS, "repeats", "repeats · unstated: 0 of 35, rate below 8.2 %"},
        {"cpu/gemm", "sgemm-nt-64x64x16384", DP_CHECK_FAIL, "broken",
         "varies · broken: distinct 2 of 3 processes, 1 of 2 seeds"},
        {"cpu/conv", "fwd-auto", DP_CHECK_FAIL, "broken", "repeats · broken: sensitive to batch, 0 of 35"},
        {"cpu/gemm", "strsm-ln-96", DP_CHECK_FAIL, "wrong", "wrong · unstated: bound: output 'b' is farther"},
        {"cpu/scatter", "add-f32-contended-16", DP_CHECK_NOTE, "varies", "varies · allows: distinct 7 of 8"},
        {"cpu/atomics", "lazy-init", DP_CHECK_NOTE, "varies", "varies · unstated: distinct 2 of 8"},
        {"cpu/pool", "avg-fwd", DP_CHECK_ERROR, "crash", "error: crash: the program was ended by signal 11"},
        {"python/numpy", "dot", DP_CHECK_SKIP, "library_missing", "skipped: library_missing: No module"},
        {"python/numpy", "sum", DP_CHECK_SKIP, "untested", "untested: a difference was seen once"},
        {"cpu/control", "plant", DP_CHECK_PASS, "control", "varies, as it must"},
    };
    json_t *document = report("findings");
    struct dp_checks checks = dp_checks_of(document);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct dp_check *check = check_of(&checks, rows[i].group, rows[i].name);
        assert_int_equal(check->state, rows[i].state);
        assert_string_equal(check->kind, rows[i].kind);
        if (strncmp(check->line, rows[i].line, strlen(rows[i].line)) != 0) {
            fail_msg("'%s' does not begin with '%s'", check->line, rows[i].line);
        }
        const bool told = check->state < DP_CHECK_SKIP && strcmp(check->kind, "verdict") != 0;
        assert_int_equal(strstr(check->reproduce, "detprobe run ") != NULL, told);
    }
    assert_int_equal(checks.count, 1 + 19 + 4);
    dp_checks_free(&checks);
    json_decref(document);
}

/* The check of the run follows the exit code, whatever the cases say. */
static void test_the_run(void **state)
{
    static const struct {
        int code;
        enum dp_check_state state;
    } rows[] = {{0, DP_CHECK_PASS},  {1, DP_CHECK_FAIL},    {2, DP_CHECK_ERROR},
                {77, DP_CHECK_SKIP}, {130, DP_CHECK_ERROR}, {65, DP_CHECK_ERROR}};
    json_t *document = report("clean");
    json_t *code = json_object_get(json_object_get(document, "measurements"), "exit");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_object_set_new(code, "code", json_integer(rows[i].code));
        struct dp_checks checks = dp_checks_of(document);
        assert_int_equal(check_of(&checks, "detprobe", "run")->state, rows[i].state);
        dp_checks_free(&checks);
    }
    json_decref(document);
}

static void test_controls(void **state)
{
    json_t *document = report("insensitive");
    struct dp_checks checks = dp_checks_of(document);
    assert_int_equal(check_of(&checks, "cpu/control", "plant")->state, DP_CHECK_ERROR);
    assert_int_equal(check_of(&checks, "cpu/control", "float-atomics")->state, DP_CHECK_ERROR);
    dp_checks_free(&checks);
    json_decref(document);
}

static void test_changes(void **state)
{
    json_t *document = diff();
    struct dp_checks checks = dp_checks_of(document);
    const struct dp_check *worse = check_of(&checks, "cpu/gemm", "sgemm-nn-1 (other_bits)");
    const struct dp_check *better = check_of(&checks, "cpu/gemm", "strsm-ln-96 (mended)");
    assert_int_equal(worse->state, DP_CHECK_FAIL);
    assert_string_equal(worse->reproduce, "detprobe run cpu/gemm/sgemm-nn-1 --level quick --seed 1");
    assert_int_equal(better->state, DP_CHECK_NOTE);
    assert_string_equal(better->reproduce, "");
    assert_int_equal(check_of(&checks, "detprobe", "diff")->state, DP_CHECK_FAIL);
    dp_checks_free(&checks);
    json_decref(document);

    json_t *same = report("clean");
    document = diff_of(same, same);
    checks = dp_checks_of(document);
    assert_int_equal(checks.count, 1);
    assert_int_equal(checks.items[0].state, DP_CHECK_PASS);
    dp_checks_free(&checks);
    json_decref(document);
    json_decref(same);
}

static void test_decisions(void **state)
{
    struct dp_err err = {0};
    json_t *document = load("gate.json");
    assert_int_equal(dp_gate_check(document, &err), 0);
    struct dp_checks checks = dp_checks_of(document);
    assert_int_equal(check_of(&checks, "detprobe", "gate")->state, DP_CHECK_FAIL);
    assert_int_equal(check_of(&checks, "cpu/gemm", "sgemm-nt-64x64x16384 (broken)")->state, DP_CHECK_FAIL);
    assert_int_equal(check_of(&checks, "cpu/conv", "fwd-auto (sensitive, batch)")->state, DP_CHECK_NOTE);
    assert_int_equal(check_of(&checks, "detprobe", "too_many_skipped")->state, DP_CHECK_ERROR);
    assert_int_equal(check_of(&checks, "detprobe", "unused")->state, DP_CHECK_NOTE);
    assert_int_equal(checks.count, 5);
    dp_checks_free(&checks);
    static const struct {
        const char *verdict;
        enum dp_check_state state;
    } rows[] = {{"passed", DP_CHECK_PASS},
                {"failed", DP_CHECK_FAIL},
                {"no_verdict", DP_CHECK_ERROR},
                {"", DP_CHECK_ERROR}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_object_set_new(document, "verdict", json_string(rows[i].verdict));
        checks = dp_checks_of(document);
        assert_int_equal(check_of(&checks, "detprobe", "gate")->state, rows[i].state);
        dp_checks_free(&checks);
    }
    json_decref(document);
}

static void test_names_are_unique(void **state)
{
    json_t *document = load("gate.json"), *findings = json_object_get(document, "findings");
    json_array_append(findings, json_array_get(findings, 0));
    json_array_append(findings, json_array_get(findings, 0));
    struct dp_checks checks = dp_checks_of(document);
    check_of(&checks, "cpu/gemm", "sgemm-nt-64x64x16384 (broken)");
    check_of(&checks, "cpu/gemm", "sgemm-nt-64x64x16384 (broken) #2");
    check_of(&checks, "cpu/gemm", "sgemm-nt-64x64x16384 (broken) #3");
    dp_checks_free(&checks);
    json_decref(document);
}

/* --- golden files --- */

static const struct {
    const char *format, *suffix;
} formats[] = {{"junit", "junit.xml"}, {"github", "github.txt"}, {"tap", "tap"},   {"sarif", "sarif"},
               {"prometheus", "prom"}, {"markdown", "md"},       {"summary", "md"}};
enum { KINDS = DP_DOCUMENT_GATE + 1 }; /* of documents with these formats */
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static void test_golden(void **state)
{
    json_t *documents[KINDS] = {report("findings"), diff(), load("gate.json")};
    static const char *const names[KINDS] = {"findings", "diff", "gate"};
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < FORMATS; i++) {
            char *name = dp_printf("%s.%s", names[kind], formats[i].suffix);
            struct dp_text out = render((enum dp_document)kind, formats[i].format, documents[kind]);
            golden_compare(name, &out);
            dp_text_free(&out);
            free(name);
        }
        json_decref(documents[kind]);
    }
}

/* --- shapes --- */

/* Valid UTF-8 without characters that XML forbids or terminals act upon. */
static void assert_harmless(const struct dp_text *out)
{
    assert_int_equal(strlen(out->data), out->length);
    for (size_t i = 0; i < out->length; i++) {
        const unsigned char c = (unsigned char)out->data[i];
        assert_true(c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f));
    }
    char *printable = dp_printable(out->data, out->length);
    for (size_t i = 0; i < out->length; i++) {
        assert_true(out->data[i] == '\n' || out->data[i] == printable[i]);
    }
    free(printable);
}

static void shape_of_junit(const struct dp_text *out, size_t checks)
{
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"detprobe ";
    assert_int_equal(strncmp(out->data, head, strlen(head)), 0);
    assert_int_equal(count_of(out->data, "<testcase "), checks);
    assert_int_equal(count_of(out->data, "</testcase>"), checks);
    assert_null(strstr(out->data, "<script"));
    assert_null(strstr(out->data, "]]>"));
    assert_null(strstr(out->data, "\xef\xbf\xbf"));
}

static void shape_of_github(const struct dp_text *out, size_t checks)
{
    size_t lines = 0;
    char *copy = dp_strdup(out->data ? out->data : ""), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0];) {
        assert_true(strncmp(line, "::error title=", 14) == 0 || strncmp(line, "::notice title=", 15) == 0);
        /* a title ends at the first '::', and neither comma nor colon is in it */
        const char *title = strchr(line, '=') + 1;
        assert_true(strcspn(title, ":,") == (size_t)(strstr(title, "::") - title));
        lines++;
    }
    assert_true(lines <= DP_GITHUB_ANNOTATIONS);
    free(copy);
}

static void shape_of_tap(const struct dp_text *out, size_t checks)
{
    size_t tests = 0, plan = 0;
    char *copy = dp_strdup(out->data), *rest = copy;
    assert_string_equal(strsep(&rest, "\n"), "TAP version 14");
    assert_int_equal(sscanf(strsep(&rest, "\n"), "1..%zu", &plan), 1);
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0];) {
        const bool test = strncmp(line, "ok ", 3) == 0 || strncmp(line, "not ok ", 7) == 0;
        assert_true(test || strncmp(line, "  ", 2) == 0);
        tests += test;
    }
    assert_int_equal(tests, plan);
    assert_int_equal(tests, checks);
    free(copy);
}

static void shape_of_sarif(const struct dp_text *out, size_t checks)
{
    json_error_t error;
    json_t *log = json_loads(out->data, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(log);
    const json_t *run = json_array_get(json_object_get(log, "runs"), 0);
    assert_true(json_array_size(json_object_get(run, "results")) <= DP_GITHUB_SARIF);
    json_decref(log);
}

static void shape_of_prometheus(const struct dp_text *out, size_t checks)
{
    char *copy = dp_strdup(out->data), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0];) {
        const bool comment =
            strncmp(line, "# HELP detprobe_", 16) == 0 || strncmp(line, "# TYPE detprobe_", 16) == 0;
        assert_true(comment || (strncmp(line, "detprobe_", 9) == 0 && strrchr(line, ' ')));
        /* quotes, lines and backslashes in a label would need escapes: none gets there */
        assert_null(strchr(line, '\\'));
        assert_true(count_of(line, "\"") % 2 == 0);
    }
    free(copy);
}

/* No tag but our own. */
static void shape_of_markdown(const struct dp_text *out, size_t checks)
{
    static const char *const tags[] = {"<details>", "<summary>", "</summary>", "</details>",
                                       "<br>",      "<code>",    "</code>"};
    for (const char *at = out->data; (at = strchr(at, '<')) != NULL; at++) {
        bool own = false;
        for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
            own = own || strncmp(at, tags[i], strlen(tags[i])) == 0;
        }
        assert_true(own);
    }
    assert_int_equal(count_of(out->data, "<details>"), count_of(out->data, "</details>"));
    assert_null(strstr(out->data, "]("));
    assert_true(out->length <= DP_GITHUB_SUMMARY);
}

static void (*const shapes[FORMATS])(const struct dp_text *out, size_t checks) = {
    shape_of_junit,      shape_of_github,   shape_of_tap,     shape_of_sarif,
    shape_of_prometheus, shape_of_markdown, shape_of_markdown};

static void assert_shapes(enum dp_document kind, const json_t *document)
{
    struct dp_checks checks = dp_checks_of(document);
    for (size_t i = 0; i < FORMATS; i++) {
        struct dp_text out = render(kind, formats[i].format, document);
        if (out.length > 0) {
            assert_harmless(&out);
        }
        shapes[i](&out, checks.count);
        dp_text_free(&out);
    }
    dp_checks_free(&checks);
}

/* Every string of a document, in turn each of these. */
static const char *const hostile[] = {
    "\n::error title=x::y\nnot ok 1\n1..0\nBail out!\n",
    "<script>alert(1)</script>]]><!-- & \" ' -->",
    "%0A::set-env name=x::y # SKIP \\# todo ",
    "a,b:c::d|e [f](javascript:g) ![h](i) `j`",
    "\033[31m\a\b \xe2\x80\xae \xef\xbf\xbf \xef\xbf\xbe",
    "'; rm -rf / #$(id)`id`\\",
    "\"} 1\ndetprobe_run_valid{x=\"\\",
    "",
};

static void poison(json_t *value, const char *with)
{
    const char *key;
    json_t *member;
    if (json_is_string(value)) {
        json_string_set(value, with);
    }
    json_object_foreach(value, key, member)
    {
        poison(member, with);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        poison(json_array_get(value, i), with);
    }
}

static void test_hostile_everywhere(void **state)
{
    json_t *documents[KINDS] = {report("findings"), diff(), load("gate.json")};
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
            json_t *copy = json_deep_copy(documents[kind]);
            poison(copy, hostile[i]);
            assert_shapes((enum dp_document)kind, copy);
            json_decref(copy);
        }
        json_decref(documents[kind]);
    }
}

/* One place at a time, so that what is known beside it is not lost too. */
static void test_hostile_members(void **state)
{
    static const char *const members[] = {"reason",   "text",      "remedy", "case",
                                          "observed", "guarantee", "backend"};
    for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
        for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
            json_t *document = report("findings");
            json_t *results = json_object_get(json_object_get(document, "body"), "results");
            for (size_t k = 0; k < json_array_size(results); k++) {
                json_t *member = json_object_get(json_array_get(results, k), members[m]);
                if (member) {
                    poison(member, hostile[i]);
                }
            }
            assert_shapes(DP_DOCUMENT_REPORT, document);
            json_decref(document);
        }
    }
}

static void test_few_and_many(void **state)
{
    static const size_t counts[] = {0, 1, MANY};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        json_t *document = report_with(counts[i]);
        struct dp_checks checks = dp_checks_of(document);
        assert_int_equal(checks.counts[DP_CHECK_FAIL], (counts[i] + 2) / 3);
        dp_checks_free(&checks);
        assert_shapes(DP_DOCUMENT_REPORT, document);
        json_decref(document);
    }
    json_t *empty = report("empty");
    assert_shapes(DP_DOCUMENT_REPORT, empty);
    json_decref(empty);
    json_t *nothing = json_object();
    assert_shapes(DP_DOCUMENT_GATE, nothing);
    json_decref(nothing);
}

/* --- limits --- */

/* A gate's decision with this many findings, each of a family of its own, with a line this long. */
static json_t *gate_with(size_t count, size_t length)
{
    json_t *findings = json_array();
    char *line = dp_alloc(length + 1, 1);
    memset(line, 'x', length);
    for (size_t i = 0; i < count; i++) {
        char *id = dp_printf("cpu/f%zu/case", i);
        json_array_append_new(findings, json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "case", id, "kind", "broken",
                                                  "line", line, "detail", line, "backend", "cpu", "reproduce",
                                                  "detprobe run x"));
        free(id);
    }
    free(line);
    return json_pack("{s:s,s:b,s:s,s:o}", "verdict", "failed", "passed", 0, "reason", "it failed", "findings",
                     findings);
}

static void test_annotations(void **state)
{
    static const struct {
        size_t findings, lines;
        const char *last;
    } rows[] = {{0, 1, NULL},
                {9, 10, NULL},
                {10, 10, "::notice title=detprobe::and 2 more, "},
                {500, 10, "and 492 more, "}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *document = gate_with(rows[i].findings, 10);
        struct dp_text out = render(DP_DOCUMENT_GATE, "github", document);
        assert_int_equal(count_of(out.data, "\n"), rows[i].lines);
        assert_int_equal(strstr(out.data, " more, see ") != NULL, rows[i].last != NULL);
        assert_true(!rows[i].last || strstr(out.data, rows[i].last));
        dp_text_free(&out);
        json_decref(document);
    }
}

/* Errors come before notices, wherever they stand in the document. */
static void test_annotations_by_weight(void **state)
{
    json_t *document = report("findings");
    struct dp_text out = render(DP_DOCUMENT_REPORT, "github", document);
    const char *error = NULL;
    for (const char *at = out.data; (at = strstr(at, "::error title=")) != NULL; at++) {
        error = at;
    }
    assert_non_null(error);
    assert_true(strstr(out.data, "::notice title=") > error);
    dp_text_free(&out);
    json_decref(document);
}

static void test_summary(void **state)
{
    json_t *document = gate_with(MANY, 2000);
    struct dp_render_options options = {.taken = 0};
    struct dp_text out = render_for(DP_DOCUMENT_GATE, "summary", document, &options);
    assert_true(out.length <= DP_GITHUB_SUMMARY);
    options.taken = 800000;
    struct dp_text less = render_for(DP_DOCUMENT_GATE, "summary", document, &options);
    assert_true(less.length + options.taken <= DP_GITHUB_SUMMARY);
    assert_non_null(strstr(less.data, "This summary is cut"));
    assert_int_equal(less.data[0], '\n'); /* what was there may not have ended its line */
    options.taken = 5000000;
    struct dp_text least = render_for(DP_DOCUMENT_GATE, "summary", document, &options);
    assert_non_null(strstr(least.data, "This summary is cut"));
    assert_true(least.length < 200);
    dp_text_free(&out);
    dp_text_free(&less);
    dp_text_free(&least);
    json_decref(document);

    json_t *small = report("findings");
    out = render(DP_DOCUMENT_REPORT, "summary", small);
    assert_null(strstr(out.data, "This summary is cut"));
    dp_text_free(&out);
    json_decref(small);
}

static void test_sarif_limit(void **state)
{
    json_t *document = gate_with(DP_GITHUB_SARIF + 3, 1);
    struct dp_text out = render(DP_DOCUMENT_GATE, "sarif", document);
    shape_of_sarif(&out, 0);
    assert_non_null(strstr(out.data, "3 results are left out"));
    dp_text_free(&out);
    json_decref(document);
}

/* GitLab refuses more than 30 MB. */
static void test_junit_limit(void **state)
{
    json_t *document = gate_with(MANY, 3000);
    struct dp_text out = render(DP_DOCUMENT_GATE, "junit", document);
    assert_true(out.length < 30000000 + (size_t)MANY * 2000);
    dp_text_free(&out);
    json_decref(document);
}

static void test_long_words_are_cut(void **state)
{
    json_t *document = report("findings");
    char *longest = dp_alloc(300001, 1);
    for (size_t i = 0; i < 100000; i++) {
        memcpy(longest + 3 * i, "\xe2\x82\xac", 3); /* a cut must not go through a character */
    }
    json_object_set_new(result_of(document, "python/numpy/dot"), "text", json_string(longest));
    struct dp_checks checks = dp_checks_of(document);
    assert_true(strlen(check_of(&checks, "python/numpy", "dot")->line) <= 2000);
    dp_checks_free(&checks);
    assert_shapes(DP_DOCUMENT_REPORT, document);
    free(longest);
    json_decref(document);
}

/* --- members --- */

static json_t *sarif_result(const json_t *document, const struct dp_render_options *options, size_t place)
{
    struct dp_text out = render_for(DP_DOCUMENT_REPORT, "sarif", document, options);
    json_t *log = json_loads(out.data, 0, NULL);
    json_t *run = json_array_get(json_object_get(log, "runs"), 0);
    json_t *result = json_incref(json_array_get(json_object_get(run, "results"), place));
    json_decref(log);
    dp_text_free(&out);
    return result;
}

/* An alert stays the same one while numbers move: fingerprint and rule do not, the message may. */
static void test_fingerprints(void **state)
{
    const struct dp_render_options options = {.source = "report.json"};
    json_t *document = report("findings"), *other = json_deep_copy(document);
    json_t *cases = json_object_get(json_object_get(other, "measurements"), "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        json_t *tally = json_object_get(json_object_get(json_array_get(cases, i), "axes"), "fresh");
        if (tally) {
            json_object_set_new(tally, "distinct", json_integer(3));
        }
    }
    json_t *one = NULL, *two = NULL;
    for (size_t i = 0; i < 4; i++) {
        json_decref(one);
        json_decref(two);
        one = sarif_result(document, &options, i);
        two = sarif_result(other, &options, i);
        assert_true(json_equal(json_object_get(one, "partialFingerprints"),
                               json_object_get(two, "partialFingerprints")));
        assert_true(json_equal(json_object_get(one, "ruleId"), json_object_get(two, "ruleId")));
    }
    assert_false(json_equal(json_object_get(one, "partialFingerprints"), NULL));
    json_t *another = sarif_result(document, &options, 0);
    assert_false(json_equal(json_object_get(another, "partialFingerprints"),
                            json_object_get(one, "partialFingerprints")));
    json_decref(another);
    json_decref(one);
    json_decref(two);
    json_decref(document);
    json_decref(other);
}

/* A path that is the same on every machine. */
static void test_locations(void **state)
{
    static const struct {
        const char *source, *uri;
    } rows[] = {{"report.json", "report.json"},         {"out/report.json", "out/report.json"},
                {"/tmp/x/report.json", "report.json"},  {"../report.json", "report.json"},
                {"a/../../report.json", "report.json"}, {"-", "detprobe-report.json"},
                {NULL, "detprobe-report.json"},         {"a b%c.json", "a%20b%25c.json"},
                {"http://x/y", "http%3A//x/y"}};
    json_t *document = report("findings");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct dp_render_options options = {.source = rows[i].source};
        json_t *result = sarif_result(document, &options, 0);
        const json_t *place =
            json_object_get(json_array_get(json_object_get(result, "locations"), 0), "physicalLocation");
        assert_string_equal(dp_json_string(json_object_get(place, "artifactLocation"), "uri", ""),
                            rows[i].uri);
        json_decref(result);
    }
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts_of_a_report),
        cmocka_unit_test(test_the_run),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_hostile_everywhere),
        cmocka_unit_test(test_hostile_members),
        cmocka_unit_test(test_few_and_many),
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_annotations_by_weight),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_sarif_limit),
        cmocka_unit_test(test_junit_limit),
        cmocka_unit_test(test_long_words_are_cut),
        cmocka_unit_test(test_fingerprints),
        cmocka_unit_test(test_locations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
