/* SPDX-License-Identifier: Apache-2.0
 *
 * Several reports side by side: what a cell says, which rows there are and which not, names of columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/matrix/matrix.h"
#include "reports/matrix/parts.h"
#include "reports/matrix/render.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"
#include "suite/tests/quoted.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SHA_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define REPEATS(sha)                                                                                         \
    "'observed':'repeats','sensitive_to':[],'not_measured':[],'guarantee':{'status':'kept'},"                \
    "'outputs':[{'name':'c','dtype':'f32','shape':[2],'seed':'1/0','set':'wide','sha256':'" sha "'}]"
#define VARIES "'observed':'varies','guarantee':{'status':'allows'}"
#define BROKEN "'observed':'varies','guarantee':{'status':'broken'}"
#define WRONG "'observed':'wrong','guarantee':{'status':'broken'}"
#define SKIPPED "'observed':'skipped','reason':'no_device'"
#define UNTESTED "'observed':'untested','reason':'x'"
/* as in test_diff.c: never seen, always seen, seen once in 21 comparisons */
#define NEVER "{'repeat':{'bound':0.133}}"
#define ALWAYS "{'repeat':{'interval':[0.839,1.0]}}"
#define ONCE "{'repeat':{'interval':[0.001,0.238]}}"

struct item {
    const char *result, *axes; /* NULL: no such case */
};

static json_t *report(struct item item, const char *environment)
{
    char *text = dp_printf(
        "{'digest':'" SHA_A "','tool':{'version':'1'},'body':{'plan':{'level':'quick','seed':'1','seeds':3},"
        "'summary':{'counts':{}},'environment':%s,'results':[%s%s%s]},"
        "'measurements':{'cases':[{'case':'cpu/gemm/x','axes':%s}]}}",
        environment ? environment : "{}",
        item.result ? "{'case':'cpu/gemm/x','backend':'cpu','family':'gemm'," : "",
        item.result ? item.result : "", item.result ? "}" : "", item.axes ? item.axes : "{}");
    json_t *made = parse(text);
    free(text);
    return made;
}

static json_t *matrix_of(json_t *reports[3])
{
    struct dp_err err = {0};
    const struct dp_diff_side sides[3] = {
        {reports[0], "a/run-one.json"}, {reports[1], "a/run-two.json"}, {reports[2], "a/run-three.json"}};
    json_t *matrix = dp_matrix_make(sides, 3, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(dp_schema_check(dp_schema_builtin("matrix"), matrix, &err), 0);
    for (int i = 0; i < 3; i++) {
        json_decref(reports[i]);
    }
    return matrix;
}

/* The cells of the one row, joined by blanks; "" where there is no row. Owned. */
static char *cells_of(const json_t *matrix)
{
    const json_t *cells = json_object_get(json_array_get(json_object_get(matrix, "groups"), 0), "cells");
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        dp_text_printf(&words, "%s%s", i ? " " : "", json_string_value(json_array_get(cells, i)));
    }
    return dp_text_take(&words);
}

#define SENSITIVE(sha, axis)                                                                                 \
    "'observed':'repeats','sensitive_to':['" axis "'],'not_measured':[],'guarantee':{'status':'kept'},"      \
    "'outputs':[{'name':'c','dtype':'f32','shape':[2],'seed':'1/0','set':'wide','sha256':'" sha "'}]"
#define THREADS "{'repeat':{'bound':0.133},'threads':{'moved':true}}"

static void test_cells(void **state)
{
    static const struct {
        struct item items[3];
        const char *cells;
    } rows[] = {
        {{{REPEATS(SHA_A), NEVER}, {REPEATS(SHA_A), NEVER}, {REPEATS(SHA_A), NEVER}}, ""},
        {{{REPEATS(SHA_A), NEVER}, {REPEATS(SHA_A), NEVER}, {REPEATS(SHA_B), NEVER}}, "a a b"},
        {{{REPEATS(SHA_A), NEVER}, {REPEATS(SHA_B), NEVER}, {REPEATS(SHA_A), NEVER}}, "a b a"},
        {{{REPEATS(SHA_A), NEVER}, {REPEATS(SHA_B), NEVER}, {REPEATS(SHA_C), NEVER}}, "a b c"},
        {{{VARIES, ALWAYS}, {REPEATS(SHA_B), NEVER}, {REPEATS(SHA_B), NEVER}}, "varies a a"},
        {{{VARIES, ALWAYS}, {VARIES, ONCE}, {VARIES, ALWAYS}}, ""},
        {{{BROKEN, ALWAYS}, {VARIES, ALWAYS}, {WRONG, NEVER}}, "broken varies wrong"},
        {{{SKIPPED, NULL}, {REPEATS(SHA_A), NEVER}, {NULL, NULL}}, "skipped a -"},
        {{{SKIPPED, NULL}, {UNTESTED, NULL}, {SKIPPED, NULL}}, ""},
        {{{"'observed':'error'", NULL}, {SKIPPED, NULL}, {SKIPPED, NULL}}, "error skipped skipped"},
        /* what is sensitive to an axis has a star beside one that varied it and is not */
        {{{SENSITIVE(SHA_A, "threads"), THREADS}, {REPEATS(SHA_A), THREADS}, {REPEATS(SHA_A), THREADS}},
         "a* a a"},
        {{{SENSITIVE(SHA_A, "threads"), THREADS}, {REPEATS(SHA_B), NEVER}, {REPEATS(SHA_A), THREADS}},
         "a* b a"},
        {{{SENSITIVE(SHA_A, "threads"), THREADS},
          {SENSITIVE(SHA_A, "threads"), THREADS},
          {SENSITIVE(SHA_A, "threads"), THREADS}},
         ""},
        {{{SENSITIVE(SHA_A, "threads"), THREADS}, {REPEATS(SHA_A), NEVER}, {REPEATS(SHA_A), NEVER}}, ""},
        {{{SENSITIVE(SHA_A, "threads"), THREADS}, {VARIES, ALWAYS}, {REPEATS(SHA_A), NEVER}}, "a varies a"},
        /* one rate of differences explains that one saw one and the others did not */
        {{{REPEATS(SHA_A), NEVER}, {VARIES, ONCE}, {REPEATS(SHA_A), NEVER}}, ""},
        {{{REPEATS(SHA_A), NEVER}, {VARIES, ONCE}, {REPEATS(SHA_B), NEVER}}, "a varies b"},
        {{{REPEATS(SHA_A), NEVER}, {VARIES, ONCE}, {VARIES, ALWAYS}}, "a varies varies"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *reports[3] = {report(rows[i].items[0], NULL), report(rows[i].items[1], NULL),
                              report(rows[i].items[2], NULL)};
        json_t *matrix = matrix_of(reports);
        char *cells = cells_of(matrix);
        assert_string_equal(cells, rows[i].cells);
        assert_int_equal(dp_matrix_agrees(matrix), !*cells);
        free(cells);
        json_decref(matrix);
    }
}

static void expect_sentence(struct item first, struct item second, struct item third, const char *words)
{
    json_t *reports[3] = {report(first, NULL), report(second, NULL), report(third, NULL)};
    json_t *matrix = matrix_of(reports);
    char *sentence = dp_matrix_sentence(matrix);
    assert_string_equal(sentence, words);
    free(sentence);
    json_decref(matrix);
}

static void test_sentences(void **state)
{
    const struct item a = {REPEATS(SHA_A), NEVER}, b = {REPEATS(SHA_B), NEVER}, idle = {SKIPPED, NULL};
    expect_sentence(a, a, a, "the results agree in 1 case of 3 reports");
    expect_sentence(a, b, a, "the results differ in 1 of 1 cases");
    expect_sentence(idle, idle, idle, "the results agree in 0 cases of 3 reports, 1 ran nowhere");
    expect_sentence(a, (struct item){VARIES, ONCE}, a,
                    "the results agree in 1 case of 3 reports, 1 undecided");
}

/* What the catalogues define differently is no row; of nothing comparable there is no matrix. */
static void test_what_is_not_comparable(void **state)
{
    struct dp_err err = {0};
    json_t *one = report((struct item){"'definition':'" SHA_A "'," REPEATS(SHA_A), NEVER}, NULL);
    json_t *two = report((struct item){"'definition':'" SHA_B "'," REPEATS(SHA_B), NEVER}, NULL);
    const struct dp_diff_side sides[3] = {{one, "a"}, {one, "b"}, {two, "c"}};
    assert_null(dp_matrix_make(sides, 3, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    json_t *results = json_object_get(json_object_get(two, "body"), "results");
    json_t *other = json_deep_copy(json_array_get(results, 0));
    json_object_set_new(other, "case", json_string("cpu/gemm/y"));
    json_array_append_new(results, other);
    json_array_append(json_object_get(json_object_get(one, "body"), "results"), other);
    json_t *matrix = dp_matrix_make(sides, 3, &err);
    assert_true(dp_matrix_agrees(matrix));
    char *sentence = dp_matrix_sentence(matrix);
    assert_string_equal(sentence, "the results agree in 1 case of 3 reports, 1 could not be compared");
    free(sentence);
    json_decref(matrix);
    json_object_set_new(json_object_get(json_object_get(two, "body"), "plan"), "level", json_string("deep"));
    assert_null(dp_matrix_make(sides, 3, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_non_null(strstr(err.text, "level \"quick\" against \"deep\""));
    json_decref(one);
    json_decref(two);
}

#define BLAS(version) "{'role':'cblas','name':'OpenBLAS','version':'" version "','families':['cpu/gemm']}"

/* A row goes with what splits the reports as its cells do, and can have reached it. */
static void test_what_rows_follow(void **state)
{
    static const struct {
        const char *environments[3], *follows;
    } rows[] = {
        {{"{'libraries':[" BLAS("1") "]}", "{'libraries':[" BLAS("1") "]}", "{'libraries':[" BLAS("2") "]}"},
         "cblas"},
        {{"{'libraries':[" BLAS("1") "]}", "{'libraries':[" BLAS("2") "]}", "{'libraries':[" BLAS("2") "]}"},
         ""},
        {{"{'libraries':[" BLAS("1") "]}", "{'libraries':[" BLAS("2") "]}", "{'libraries':[" BLAS("3") "]}"},
         "cblas"},
        {{"{'variables':{}}", "{'variables':{}}", "{'variables':{'GLIBC_TUNABLES':'x'}}"}, "GLIBC_TUNABLES"},
        {{"{'variables':{}}", "{'variables':{}}", "{'variables':{'CUDA_VISIBLE_DEVICES':'1'}}"}, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *reports[3] = {report((struct item){REPEATS(SHA_A), NEVER}, rows[i].environments[0]),
                              report((struct item){REPEATS(SHA_A), NEVER}, rows[i].environments[1]),
                              report((struct item){REPEATS(SHA_B), NEVER}, rows[i].environments[2])};
        json_t *matrix = matrix_of(reports);
        char *follows = dp_matrix_follows(matrix, json_array_get(json_object_get(matrix, "groups"), 0));
        assert_string_equal(follows, rows[i].follows);
        free(follows);
        json_decref(matrix);
    }
}

static void test_labels(void **state)
{
    static const struct {
        const char *names[3], *labels;
    } rows[] = {
        {{"a.json", "b.json", "c.json"}, "a b c"},
        {{"x/cpu-haswell.json", "y/cpu-zen.json", "cpu-zen4.json"}, "haswell zen zen4"},
        {{"one-gpu.json", "two-gpu.json", "three-gpu.json"}, "one two three"},
        {{"a.json", "x/a.json", "b.json"}, "R1 R2 R3"},
        {{"a-b.json", "a-.json", "a-c.json"}, "R1 R2 R3"}, /* one would have no name */
        {{"a very long name of a file.json", "b", "c"}, "R1 R2 R3"},
        {{"\xc3\xa4.json", "b", "c"}, "R1 R2 R3"},
        {{"a\033[31m.json", "b", "c"}, "a?[31m b c"},
        {{"-", "-", "-"}, "R1 R2 R3"},
        {{"", "b", "c"}, "R1 R2 R3"},
        {{".json", "b.json", "c.json"}, ".json b c"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct dp_diff_side sides[3] = {
            {NULL, rows[i].names[0]}, {NULL, rows[i].names[1]}, {NULL, rows[i].names[2]}};
        json_t *labels = dp_matrix_labels(sides, 3);
        char *joined = dp_printf("%s %s %s", json_string_value(json_array_get(labels, 0)),
                                 json_string_value(json_array_get(labels, 1)),
                                 json_string_value(json_array_get(labels, 2)));
        assert_string_equal(joined, rows[i].labels);
        free(joined);
        json_decref(labels);
    }
}

/* Whatever stands in a report stays text. */
static void test_hostile_text(void **state)
{
    static const char *const hostile = "{'variables':{'LD_PRELOAD':'<script>|[x](http://y) `z`\\u001b[31m'},"
                                       "'libraries':[{'role':'|<b>','name':'\\u001b[31m','version':'1'}]}";
    json_t *reports[3] = {report((struct item){REPEATS(SHA_A), NEVER}, NULL),
                          report((struct item){REPEATS(SHA_A), NEVER}, NULL),
                          report((struct item){REPEATS(SHA_B), NEVER}, hostile)};
    json_t *matrix = matrix_of(reports);
    const struct dp_render_options options = {.columns = 0};
    struct dp_text out = DP_TEXT(100000);
    dp_matrix_markdown(matrix, &options, &out);
    assert_null(strstr(out.data, "<script>"));
    assert_null(strstr(out.data, "<b>"));
    assert_null(strstr(out.data, "[x]"));
    assert_null(strchr(out.data, '`'));
    assert_null(strchr(out.data, '\033'));
    dp_text_free(&out);
    out = DP_TEXT(100000);
    dp_matrix_text(matrix, &options, &out);
    assert_null(strchr(out.data, '\033'));
    assert_non_null(strstr(out.data, "LD_PRELOAD \xe2\x80\x94 one, two: none; three: <script>"));
    dp_text_free(&out);
    json_decref(matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_what_is_not_comparable),
        cmocka_unit_test(test_what_rows_follow),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_hostile_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
