/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of guarantees: what stands together, what is counted, the words of each format, and that texts of
 * files stay texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/guarantees/guarantees.h"
#include "reports/guarantees/parts.h"
#include "reports/guarantees/render.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/tests/golden.h"
#include "suite/tests/quoted.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CUDNN "'library': 'cudnn', 'covers': ['repeat'], 'invariant': [], 'conditions': {}"
#define NONE "'covers': ['repeat'], 'invariant': [], 'conditions': {}"
#define SINCE_9 "'versions': {'cudnn': {'since': '9'}}, 'said_of': 'cuDNN since 9'"

struct row {
    const char *id, *guarantee, *stated, *result, *measured;
};

static json_t *document_of(const char *digest, const char *versions, const struct row *rows, size_t count)
{
    json_t *document = dp_guarantees_open(digest), *here = parse(versions);
    for (size_t i = 0; i < count; i++) {
        json_t *parts[] = {parse(rows[i].guarantee), parse(rows[i].stated), parse(rows[i].result),
                           parse(rows[i].measured)};
        const struct dp_guarantees_entry entry = {.id = rows[i].id,
                                                  .guarantee = parts[0],
                                                  .stated = parts[1],
                                                  .versions = here,
                                                  .result = parts[2],
                                                  .measured = parts[3]};
        dp_guarantees_add(document, &entry);
        for (size_t k = 0; k < COUNT(parts); k++) {
            json_decref(parts[k]);
        }
    }
    json_decref(here);
    dp_guarantees_close(document);
    struct dp_err err = {0};
    if (dp_schema_check(dp_schema_builtin("guarantees"), document, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return document;
}

static const struct row documented[] = {
    {"cpu/own/a", "{" NONE "}",
     "{'level': 'run_to_run', 'source': 'own code', 'alternatives': [{'level': 'run_to_run', 'source': 'own "
     "code'}]}",
     NULL, NULL},
    {"cuda/conv/a", "{" CUDNN "}",
     "{'level': 'run_to_run', 'source': 'cuDNN documentation, section 1', 'said_of': 'cuDNN since 9', "
     "'alternatives': [{'level': 'run_to_run', 'source': 'cuDNN documentation, section 1', " SINCE_9 "}]}",
     NULL, NULL},
    {"cuda/conv/b", "{" CUDNN "}",
     "{'level': 'not_guaranteed', 'source': 'cuDNN documentation, section 2', 'alternatives': [{'level': "
     "'not_guaranteed', 'source': 'cuDNN documentation, section 2'}]}",
     NULL, NULL},
    {"cuda/conv/c", "{" CUDNN "}",
     "{'level': 'unstated', 'source': 'S', 'reason': 'depends on sm, which is not known here', "
     "'depends_on': ['sm'], 'alternatives': [{'level': 'run_to_run', 'source': 'S', 'versions': {'sm': "
     "{'since': '90'}}, 'said_of': 'sm since 90'}, {'level': 'not_guaranteed', 'source': 'T'}]}",
     NULL, NULL},
    {"cuda/pool/a", "{" CUDNN "}",
     "{'level': 'run_to_run', 'source': 'cuDNN documentation, section 1', 'said_of': 'cuDNN since 9', "
     "'alternatives': [{'level': 'run_to_run', 'source': 'cuDNN documentation, section 1', " SINCE_9 "}]}",
     NULL, NULL},
};

static void render(const json_t *document, const struct dp_render_options *options, const char *name)
{
    struct dp_text text = DP_TEXT(1 << 20), markdown = DP_TEXT(1 << 20);
    char *text_name = dp_printf("%s.txt", name), *markdown_name = dp_printf("%s.md", name);
    dp_guarantees_text(document, options, &text);
    dp_guarantees_markdown(document, options, &markdown);
    golden_compare(text_name, &text);
    golden_compare(markdown_name, &markdown);
    free(text_name);
    free(markdown_name);
    dp_text_free(&text);
    dp_text_free(&markdown);
}

static void test_documented(void **state)
{
    json_t *document = document_of(NULL, "{'cudnn': {'name': 'cuDNN', 'version': '9.1', 'from': 'assumed'}}",
                                   documented, COUNT(documented));
    const struct dp_render_options options = {0};
    render(document, &options, "guarantees");
    char *sentence = dp_guarantees_sentence(document);
    assert_string_equal(sentence, "5 cases: 1 not_guaranteed, 3 run_to_run, 1 unstated; some depend on "
                                  "versions that are not known: sm");
    free(sentence);
    json_decref(document);
}

#define STATED(level) "{'level': '" level "', 'source': 'S'}"
#define RESULT(observed, status)                                                                             \
    "{'observed': '" observed "', 'guarantee': {'level': 'x', 'source': 'S', 'status': '" status             \
    "'}, 'not_measured': ['poison'], 'sensitive_to': []}"
#define REPEATED(comparisons, bound)                                                                         \
    "{'axes': {'repeat': {'comparisons': " comparisons ", 'bound': " bound "}, 'fresh': {'comparisons': 4}"

static const struct row observed[] = {
    {"cpu/f/broken", "{" NONE "}", STATED("run_to_run"), RESULT("varies", "broken"),
     "{'axes': {'repeat': {'comparisons': 14}}}"},
    {"cpu/f/kept", "{" NONE "}", STATED("run_to_run"), RESULT("repeats", "kept"),
     REPEATED("14", "0.19") "}}"},
    {"cpu/f/seen", "{" NONE "}", STATED("not_guaranteed"), RESULT("varies", "allows"),
     "{'axes': {'repeat': {'comparisons': 14}}}"},
    {"cpu/f/skipped", "{" NONE "}", STATED("not_guaranteed"),
     "{'observed': 'skipped', 'guarantee': {'level': 'not_guaranteed', 'source': 'S'}}", NULL},
    {"cpu/f/unseen", "{" NONE "}", STATED("not_guaranteed"), RESULT("repeats", "allows"),
     REPEATED("14", "0.19") "}}"},
    {"cpu/f/unseen-busy", "{" NONE "}", STATED("not_guaranteed"), RESULT("repeats", "allows"),
     REPEATED("592", "0.005") ", 'busy': {'settings': [{'setting': 'compute', 'runs': 25, 'repeats': true}, "
                              "{'setting': 'memory', 'runs': 25, 'repeats': true}, {'setting': 'memory', "
                              "'dropped': 'unsupported', 'repeats': false}]}}}"},
    {"cpu/f/unstated", "{" NONE "}", STATED("unstated"), RESULT("repeats", "none"),
     REPEATED("1", "0.95") "}}"},
    {"cpu/f/wrong", "{" NONE "}", STATED("not_guaranteed"), RESULT("wrong", "allows"),
     "{'axes': {'repeat': {'comparisons': 14}}}"},
};

static const json_t *row_named(const json_t *document, const char *id)
{
    const json_t *rows = json_object_get(document, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(dp_json_string(row, "case", ""), id) == 0) {
            return row;
        }
    }
    fail_msg("no row '%s'", id);
    return NULL;
}

/* What is broken, what was never seen, and beside each what is neither. */
static void test_observed(void **state)
{
    json_t *document = document_of(DIGEST, "{}", observed, COUNT(observed));
    json_t *expected = parse("{'cases': 8, 'levels': {'not_guaranteed': 5, 'run_to_run': 2, 'gpu_to_gpu': 0, "
                             "'unstated': 1}, 'depends_on': [], 'broken': ['cpu/f/broken'], 'never_seen': "
                             "['cpu/f/unseen', 'cpu/f/unseen-busy'], 'seen': 1, 'not_run': 1}");
    assert_true(json_equal(json_object_get(document, "summary"), expected));
    const json_t *busy = row_named(document, "cpu/f/unseen-busy"),
                 *idle = row_named(document, "cpu/f/unseen");
    assert_int_equal(dp_json_int(busy, "busy_runs", -1), 50);
    assert_int_equal(dp_json_int(busy, "comparisons", -1), 592);
    assert_int_equal(dp_json_int(idle, "busy_runs", -1), 0);
    assert_int_equal(dp_json_int(idle, "new_processes", -1), 4);
    assert_null(json_object_get(row_named(document, "cpu/f/skipped"), "comparisons"));
    assert_null(json_object_get(row_named(document, "cpu/f/seen"), "bound"));
    const struct dp_render_options options = {0}, verbose = {.verbose = true};
    render(document, &options, "guarantees-observed");
    struct dp_text text = DP_TEXT(1 << 20);
    dp_guarantees_text(document, &verbose, &text);
    golden_compare("guarantees-observed.verbose.txt", &text);
    dp_text_free(&text);
    json_decref(expected);
    json_decref(document);
}

static void test_sentences(void **state)
{
    static const struct {
        size_t first, count;
        const char *sentence;
    } rows[] = {
        {0, 8,
         "1 guarantee broken; of 3 operations documented as varying 1 did and 2 did not; 1 gave no "
         "verdict"},
        {0, 1, "1 guarantee broken"},
        {1, 1, "no guarantee broken"},
        {2, 1, "no guarantee broken; of 1 operation documented as varying 1 did and 0 did not"},
        {3, 1, "no guarantee broken; 1 gave no verdict"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *document = document_of(DIGEST, "{}", observed + rows[i].first, rows[i].count);
        char *sentence = dp_guarantees_sentence(document);
        assert_string_equal(sentence, rows[i].sentence);
        free(sentence);
        json_decref(document);
    }
    json_t *empty = document_of(NULL, "{}", NULL, 0);
    char *sentence = dp_guarantees_sentence(empty);
    assert_string_equal(sentence, "0 cases");
    free(sentence);
    json_decref(empty);
}

static void test_hostile_text(void **state)
{
    static const struct row row = {"cuda/conv/a", "{" CUDNN "}",
                                   "{'level': 'run_to_run', 'source': '<script> | [x](http://y) `z` "
                                   "\\u001b[31m\\n::error::a', 'reason': "
                                   "'\\u202e|', 'alternatives': [{'level': 'run_to_run', 'source': '|'}]}",
                                   NULL, NULL};
    json_t *document =
        document_of(NULL, "{'cudnn': {'name': '\\u001b]0;t\\u0007|<b>', 'version': '9|'}}", &row, 1);
    const struct dp_render_options options = {0};
    struct dp_text out = DP_TEXT(100000);
    dp_guarantees_text(document, &options, &out);
    assert_null(strchr(out.data, '\033'));
    assert_null(strstr(out.data, "\xe2\x80\xae"));
    assert_null(strstr(out.data, "\n::error"));
    assert_non_null(strstr(out.data, "<script> | [x](http://y)"));
    dp_text_free(&out);
    out = DP_TEXT(100000);
    dp_guarantees_markdown(document, &options, &out);
    static const char *const never[] = {"<script>", "<b>", "[x]", "`z`", "\033", "9|"};
    for (size_t i = 0; i < COUNT(never); i++) {
        assert_null(strstr(out.data, never[i]));
    }
    dp_text_free(&out);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented),
        cmocka_unit_test(test_observed),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_hostile_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
