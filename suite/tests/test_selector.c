/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors: what they choose, what they must not choose, and what they say when they choose nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "suite/plan/selector.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { CASE_COUNT = 5, WORDS_MAX = 4 };

static struct dp_case cases[CASE_COUNT] = {
    {.id = "cpu/control/plant", .backend = (char[]){"cpu"}, .family = (char[]){"control"}, .control = true},
    {.id = "cpu/conv/fwd", .backend = (char[]){"cpu"}, .family = (char[]){"conv"}},
    {.id = "cpu/gemm/dgemm-nn", .backend = (char[]){"cpu"}, .family = (char[]){"gemm"}},
    {.id = "cpu/gemm/sgemm-nn", .backend = (char[]){"cpu"}, .family = (char[]){"gemm"}},
    {.id = "python/sum/fsum", .backend = (char[]){"python"}, .family = (char[]){"sum"}},
};
static const struct dp_catalogue catalogue = {.cases = cases, .case_count = CASE_COUNT};

static int setup(void **state)
{
    static const char *const tags[CASE_COUNT] = {"[\"control\"]", "[\"blas\",\"slow\"]", "[\"f64\"]",
                                                 "[\"f32\"]", "[]"};
    for (size_t i = 0; i < CASE_COUNT; i++) {
        json_t *array = json_loads(tags[i], 0, NULL);
        cases[i].json = json_object();
        json_object_set_new(cases[i].json, "tags", array);
    }
    return 0;
}

static int teardown(void **state)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        json_decref(cases[i].json);
    }
    return 0;
}

static struct dp_strings strings(const char *const *words)
{
    struct dp_strings result = {.items = (const char **)(uintptr_t)words};
    while (words[result.count]) {
        result.count++;
    }
    return result;
}

static int select_words(const char *const *include, const char *const *exclude, char ret[CASE_COUNT + 1],
                        struct dp_err *err)
{
    const struct dp_strings in = strings(include);
    const struct dp_strings out = strings(exclude);
    bool chosen[CASE_COUNT];
    const int rc = dp_select(&catalogue, &in, &out, chosen, err);
    for (size_t i = 0; i < CASE_COUNT; i++) {
        ret[i] = chosen[i] ? 'x' : '-';
    }
    ret[CASE_COUNT] = '\0';
    return rc;
}

static void test_select(void **state)
{
    static const struct {
        const char *include[WORDS_MAX], *exclude[WORDS_MAX];
        const char *chosen;
    } rows[] = {
        {{NULL}, {NULL}, "-xxxx"},           {{"cpu/gemm/sgemm-nn"}, {NULL}, "---x-"},
        {{"cpu/gemm/*"}, {NULL}, "--xx-"},   {{"*gemm-nn"}, {NULL}, "--xx-"},
        {{"cpu/*"}, {NULL}, "-xxx-"}, /* no control */
        {{"@gemm"}, {NULL}, "--xx-"},        {{"@cpu"}, {NULL}, "-xxx-"},
        {{"@f64"}, {NULL}, "--x--"},         {{"@cuda"}, {NULL}, "-----"}, /* known, and nothing is there */
        {{"@mpi", "@f32"}, {NULL}, "---x-"}, {{"@conv", "python/*"}, {NULL}, "-x--x"},
        {{NULL}, {"@gemm"}, "-x--x"},        {{"@cpu"}, {"@slow", "*sgemm*"}, "--x--"},
        {{"@gemm"}, {"@cuda"}, "--xx-"},     {{"@gemm"}, {"@cpu"}, "-----"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct dp_err err = {0};
        char chosen[CASE_COUNT + 1];
        if (select_words(rows[i].include, rows[i].exclude, chosen, &err) != 0 ||
            strcmp(chosen, rows[i].chosen) != 0) {
            fail_msg("row %zu: %s, not %s: %s", i, chosen, rows[i].chosen, err.text);
        }
    }
}

static void test_nothing_matches(void **state)
{
    static const struct {
        const char *word, *text;
    } rows[] = {
        {"cpu/gemm/sgemm-nm", "no case matches 'cpu/gemm/sgemm-nm', did you mean 'cpu/gemm/sgemm-nn'?"},
        {"gemm", "no case matches 'gemm', did you mean '@gemm'?"},
        {"cuda", "no case matches 'cuda', did you mean '@cuda'?"},
        {"cpu/gemm", "no case matches 'cpu/gemm', did you mean 'cpu/gemm/*'?"},
        {"cpu/gemm/", "no case matches 'cpu/gemm/', did you mean 'cpu/gemm/*'?"},
        {"@gem", "no case matches '@gem', did you mean '@gemm'?"},
        {"@cudaa", "no case matches '@cudaa', did you mean '@cuda'?"},
        {"@quantum-field", "no case matches '@quantum-field', see 'detprobe list'"},
        {"", "no case matches '', see 'detprobe list'"},
        {"@", "no case matches '@', see 'detprobe list'"},
        {"cpu/control/plant",
         "'cpu/control/plant' names only controls, which take part in every run by themselves"},
        {"@control", "'@control' names only controls, which take part in every run by themselves"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *words[] = {rows[i].word, NULL};
        const char *none[] = {NULL};
        char chosen[CASE_COUNT + 1];
        struct dp_err err = {0};
        assert_int_equal(select_words(words, none, chosen, &err), -1);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(err.code, DP_EXIT_USAGE);
        assert_int_equal(select_words(none, words, chosen, &err), -1); /* a slip in --exclude is one too */
        assert_string_equal(err.text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_nothing_matches),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
