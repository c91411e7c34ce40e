/* SPDX-License-Identifier: Apache-2.0
 *
 * Renderers against golden files: golden/NAME.parts.json is what a report is made of, NAME.txt and
 * NAME.verbose.txt what the text must be. DETPROBE_REWRITE_GOLDEN=1 rewrites the texts; read the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/model.h"
#include "reports/render/render.h"
#include "reports/render/reproduce.h"
#include "reports/render/words.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/tests/golden.h"
#include "suite/tests/quoted.h"

static const char *const names[] = {"clean", "findings", "insensitive", "nothing", "hostile", "empty"};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

static char *golden_path(const char *name, const char *suffix)
{
    return dp_printf(DP_TEST_SOURCE_DIR "/golden/%s%s", name, suffix);
}

static json_t *make_report(const char *name)
{
    struct dp_err err = {0};
    char *path = golden_path(name, ".parts.json");
    json_t *parts = dp_json_load(path, (size_t)1 << 20, &err);
    free(path);
    assert_string_equal(err.text, "");
    const struct dp_report_parts given = {.environment = json_object_get(parts, "environment"),
                                          .plan = json_object_get(parts, "plan"),
                                          .results = json_object_get(parts, "results"),
                                          .controls = json_object_get(parts, "controls"),
                                          .measurements = json_object_get(parts, "measurements")};
    json_t *report = dp_report_make(&given, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(dp_report_check(report, &err), 0);
    /* The texts do not change with the program's version. */
    json_object_set_new(json_object_get(report, "tool"), "version", json_string("0.0.0"));
    json_decref(parts);
    return report;
}

static struct dp_text render(const json_t *report, const char *format,
                             const struct dp_render_options *options)
{
    struct dp_err err = {0};
    struct dp_text out = DP_TEXT((size_t)1 << 24);
    assert_int_equal(dp_render(DP_DOCUMENT_REPORT, format, report, options, &out, &err), 0);
    return out;
}

static void compare_with_golden(const char *name, const char *suffix, const struct dp_text *out)
{
    char *file = dp_printf("%s%s", name, suffix);
    golden_compare(file, out);
    free(file);
}

static void test_golden(void **state)
{
    const struct dp_render_options plain = {0}, verbose = {.verbose = true};
    for (size_t i = 0; i < NAME_COUNT; i++) {
        json_t *report = make_report(names[i]);
        struct dp_text out = render(report, "text", &plain);
        compare_with_golden(names[i], ".txt", &out);
        dp_text_free(&out);
        out = render(report, "text", &verbose);
        compare_with_golden(names[i], ".verbose.txt", &out);
        dp_text_free(&out);
        json_decref(report);
    }
}

/* No string of a report reaches the terminal as a command, and no line is longer than it must be. */
static void test_harmless(void **state)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        json_t *report = make_report(names[i]);
        const struct dp_render_options plain = {.verbose = true};
        struct dp_text out = render(report, "text", &plain);
        for (size_t k = 0; k < out.length; k++) {
            const unsigned char c = (unsigned char)out.data[k];
            assert_true(c == '\n' || (c >= 0x20 && c != 0x7f));
        }
        dp_text_free(&out);
        json_decref(report);
    }
}

/* The renderer alone must be safe too: a report that was read may hold what the maker would have replaced. */
static void test_hostile_report_as_read(void **state)
{
    json_t *report = make_report("findings");
    json_t *result = json_array_get(json_object_get(json_object_get(report, "body"), "results"), 0);
    json_object_set_new(result, "reason", json_string("\033[2J"));
    json_object_set_new(result, "remedy", json_pack("{ss}", "text", "\033]0;x\007"));
    json_object_set_new(report, "digest", json_string("\033[31m"));
    json_object_set_new(json_object_get(report, "tool"), "version", json_string("\033[31m"));
    const struct dp_render_options plain = {.verbose = true};
    struct dp_text out = render(report, "text", &plain);
    assert_null(strchr(out.data, '\033'));
    dp_text_free(&out);
    json_decref(report);
}

/* How often the words stand in the text, whatever their lines. */
static size_t count_of(const struct dp_text *out, const char *words)
{
    size_t count = 0;
    for (const char *at = out->data; (at = strstr(at, words)); at++) {
        count++;
    }
    return count;
}

/* A remedy stands where it applies: a case that varies, is wrong, or is sensitive along that axis. */
static void test_what_to_do(void **state)
{
    static const struct {
        const char *row;
        bool shown;
    } rows[] = {
        {"{'observed':'varies','remedy':{'text':'DO'}}", true},
        {"{'observed':'wrong','remedy':{'text':'DO'}}", true},
        {"{'observed':'repeats','sensitive_to':[],'remedy':{'text':'DO'}}", false},
        {"{'observed':'repeats','sensitive_to':[],'remedy':{'text':'x'},'remedy_along':{'batch':{'text':'DO'}"
         "}}",
         false},
        {"{'observed':'repeats','sensitive_to':['batch'],'remedy':{'text':'DO'}}", true},
        {"{'observed':'repeats','sensitive_to':['batch'],'remedy':{'text':'x'},'remedy_along':{'batch':{'"
         "text':"
         "'DO'}}}",
         true},
        {"{'observed':'repeats','sensitive_to':['batch'],'remedy':{'text':'DO'},'remedy_along':{'batch':{'"
         "text':"
         "'x'}}}",
         false},
        {"{'observed':'repeats','sensitive_to':['batch'],'remedy':{'text':'x'},'remedy_along':{'isa':{'text':"
         "'DO'}}}",
         false},
        {"{'observed':'repeats','sensitive_to':['batch']}", false},
        {"{'observed':'skipped','remedy':{'text':'DO'}}", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = dp_printf("{'body':{'results':[%s]}}", rows[i].row);
        json_t *report = parse(text);
        json_object_set_new(json_array_get(json_object_get(json_object_get(report, "body"), "results"), 0),
                            "case", json_string("cpu/gemm/one"));
        static const char *const formats[] = {"text", "markdown"};
        for (size_t k = 0; k < 2; k++) {
            const struct dp_render_options plain = {0};
            struct dp_text out = render(report, formats[k], &plain);
            assert_int_equal(count_of(&out, "DO") > 0, rows[i].shown);
            dp_text_free(&out);
        }
        json_decref(report);
        free(text);
    }
}

/* However many are sensitive, what to do stands once, and who uses it is named in a line. */
static void test_many_sensitive(void **state)
{
    static const char *const axes[] = {"threads", "batch", "isa"};
    json_t *results = json_array();
    for (int i = 0; i < 300; i++) {
        json_t *result =
            json_pack("{ss ss ss ss s[] s{}}", "backend", "cpu", "family", i < 200 ? "gemm" : "blas",
                      "observed", "repeats", "guarantee", "", "sensitive_to", "remedy_along");
        char *id = dp_printf("cpu/%s/case-%d", i < 200 ? "gemm" : "blas", i),
             *user = dp_printf("user%d", i % 5);
        json_object_set_new(result, "case", json_string(id));
        json_object_set_new(result, "used_by", json_pack("[s]", user));
        for (int k = 0; k <= i % 3; k++) {
            json_array_append_new(json_object_get(result, "sensitive_to"), json_string(axes[k]));
            json_object_set_new(json_object_get(result, "remedy_along"), axes[k],
                                json_pack("{ss ss}", "text", k < 2 ? "pin the count" : "cap it", "source",
                                          "A manual, section 1: as it says"));
        }
        json_array_append_new(results, result);
        free(id);
        free(user);
    }
    json_t *report = json_pack("{s{so}}", "body", "results", results);
    const struct dp_render_options plain = {0}, verbose = {.verbose = true};
    struct dp_text out = render(report, "text", &plain);
    assert_int_equal(count_of(&out, "pin the count [A manual, section 1]\n"), 1);
    assert_int_equal(count_of(&out, "cap it [A manual, section 1]\n"), 1);
    assert_int_equal(
        count_of(&out, "  sensitive to threads 300, batch 200: cpu/gemm 200, cpu/blas 100; used by user0, "
                       "user1, user2 and 2\n"),
        1);
    assert_int_equal(count_of(&out, "case-"), 0);
    dp_text_free(&out);
    const struct dp_render_options narrow = {.columns = 60, .verbose = true};
    out = render(report, "text", &narrow);
    char *rest = strstr(out.data, "what to do\n");
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        assert_true(dp_words_width(line) <= 60);
    }
    dp_text_free(&out);
    out = render(report, "text", &verbose);
    assert_int_equal(count_of(&out, "cpu/gemm/case-"), 200 + 66); /* 66 of them along isa, too */
    assert_int_equal(count_of(&out, "source: A manual, section 1: as it says\n"), 2);
    dp_text_free(&out);
    json_decref(report);
}

/* Which implementations agree is told where some do not, and only to who asks. */
static void test_bits_by_algorithm(void **state)
{
    static const struct {
        const char *sha256[3], *text;
        bool moved;
    } rows[] = {
        {{"a", "a", "b"}, "bits by algorithm: jit = gemm, ref\n", true},
        {{"a", "b", "a"}, "bits by algorithm: jit = ref, gemm\n", true},
        {{"a", "b", NULL}, "bits by algorithm: jit, gemm\n", true}, /* the last does not repeat */
        {{"a", "a", "a"}, NULL, false},
    };
    static const char *const chosen[] = {"jit", "gemm", "ref"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *settings = json_array();
        for (int k = 0; k < 6; k++) { /* the second seed says nothing that the first does not */
            json_array_append_new(settings, json_pack("{ss ss ss ss*}", "setting", "", "chosen",
                                                      chosen[k % 3], "seed", k < 3 ? "1/0" : "1/1", "sha256",
                                                      k < 3 ? rows[i].sha256[k] : "c"));
        }
        json_t *report =
            json_pack("{s{s[{ss ss ss ss s{ss} s[]}]} s{s[{ss s{s{so sb}}}]}}", "body", "results", "case",
                      "cpu/conv/a", "backend", "cpu", "family", "conv", "observed", "repeats", "guarantee",
                      "status", "kept", "sensitive_to", "measurements", "cases", "case", "cpu/conv/a", "axes",
                      "algorithm", "settings", settings, "moved", rows[i].moved);
        const struct dp_render_options plain = {0}, verbose = {.verbose = true};
        struct dp_text out = render(report, "text", &verbose);
        assert_int_equal(count_of(&out, rows[i].text ? rows[i].text : "bits by algorithm"),
                         rows[i].text != NULL);
        dp_text_free(&out);
        out = render(report, "text", &plain);
        assert_int_equal(count_of(&out, "bits by algorithm"), 0);
        dp_text_free(&out);
        json_decref(report);
    }
}

static char *without_colour(const char *text)
{
    char *copy = dp_strdup(text), *to = copy;
    for (const char *from = text; *from; from++) {
        if (*from == '\033') {
            from += strcspn(from, "m");
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return copy;
}

static void test_colour_only_repeats_words(void **state)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        json_t *report = make_report(names[i]);
        const struct dp_render_options plain = {0}, coloured = {.colour = true};
        struct dp_text a = render(report, "text", &plain), b = render(report, "text", &coloured);
        char *stripped = without_colour(b.data);
        assert_string_equal(stripped, a.data);
        if (strcmp(names[i], "findings") == 0) {
            assert_non_null(strchr(b.data, '\033'));
        }
        free(stripped);
        dp_text_free(&a);
        dp_text_free(&b);
        json_decref(report);
    }
}

static void test_columns(void **state)
{
    json_t *report = make_report("findings");
    static const int widths[] = {0, 80, 100, 140};
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        const struct dp_render_options options = {.columns = widths[i]};
        struct dp_text out = render(report, "text", &options);
        char *rest = out.data;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
            const bool summary = strncmp(line, "detprobe ", 9) == 0 || (rest && !*rest); /* pasted whole */
            const size_t most = widths[i] ? (size_t)widths[i] : 100;
            if (!summary && dp_words_width(line) > most && strncmp(line, "report ", 7) != 0) {
                fail_msg("%zu columns of %zu: %s", dp_words_width(line), most, line);
            }
            const size_t length = strlen(line);
            assert_false(length > 0 && line[length - 1] == ' ');
        }
        dp_text_free(&out);
    }
    json_decref(report);
}

static void test_json(void **state)
{
    json_t *report = make_report("findings");
    const struct dp_render_options plain = {0};
    struct dp_text out = render(report, "json", &plain);
    json_t *again = json_loads(out.data, 0, NULL);
    assert_true(json_equal(report, again));
    json_decref(again);
    json_decref(report);
    dp_text_free(&out);
}

/* Each document has the formats that its names say, and no others. */
static void test_table_of_formats(void **state)
{
    const struct dp_render_options plain = {0};
    const char *const unknown[] = {"html?", "", "tex", "text|json"};
    json_t *report = make_report("clean");
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct dp_text out = DP_TEXT(1000);
        struct dp_err err = {0};
        assert_int_equal(dp_render(DP_DOCUMENT_REPORT, unknown[i], report, &plain, &out, &err), -1);
        assert_int_equal(err.code, DP_EXIT_USAGE);
        dp_text_free(&out);
    }
    struct dp_text few = DP_TEXT(10);
    struct dp_err err = {0};
    assert_int_equal(dp_render(DP_DOCUMENT_REPORT, "text", report, &plain, &few, &err), -1);
    assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
    dp_text_free(&few);
    json_decref(report);
    assert_non_null(strstr(dp_format_names(DP_DOCUMENT_REPORT), "text|json"));
    assert_non_null(strstr(dp_format_names_diff(), "markdown"));
}

/* No line begins like a workflow command of GitHub's runner, which looks behind blanks too. */
static void test_wrap(void **state)
{
    static const struct {
        const char *string, *wrapped;
    } rows[] = {
        {"a ::b c", "a ::b c\n"},
        {"::b c", "?:b c\n"},
        {"some words ::stop-commands::x", "some words\n  ?:stop-commands::x\n"},
        {"some words :colon", "some words\n  :colon\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dp_text out = DP_TEXT(1000);
        dp_words_wrap(&out, rows[i].string, 2, 2, 14);
        assert_string_equal(out.data, rows[i].wrapped);
        dp_text_free(&out);
    }
}

/* A command that a shell reads as it was meant, whatever the report says. */
static void test_reproduce(void **state)
{
    static const struct {
        const char *environment, *id, *command;
    } rows[] = {
        {"{'variables':{}}", "cpu/gemm/sgemm", "detprobe run cpu/gemm/sgemm --level quick --seed 7"},
        {"{'variables':{'OMP_WAIT_POLICY':'passive','OPENBLAS_CORETYPE':'Haswell'}}", "a/b/c",
         "OPENBLAS_CORETYPE=Haswell detprobe run a/b/c --level quick --seed 7"},
        {"{'variables':{'OMP_WAIT_POLICY':'active','1;rm':'x','A B':'y'}}", "a/b/c",
         "OMP_WAIT_POLICY=active detprobe run a/b/c --level quick --seed 7"},
        {"{'variables':{'MKL_X':''},'stack':{'kind':'venv','path':'/a b'}}", "a/b/$(c)\a",
         "MKL_X='' detprobe run 'a/b/$(c)?' --level quick --seed 7 --stack '/a b'"},
        {"{'variables':{'PATH':'/tmp','BASH_ENV':'x','LD_AUDIT':'y','MKL_x':'z','OMP_NUM_THREADS':'2'}}",
         "a/b/c", "OMP_NUM_THREADS=2 detprobe run a/b/c --level quick --seed 7"},
        {"{'variables':{},'stack':{'kind':'process','path':'/bin/x'}}", "a/b/c",
         "detprobe run a/b/c --level quick --seed 7"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text =
            dp_printf("{'body':{'environment':%s,'plan':{'level':'quick','seed':'7'}}}", rows[i].environment);
        json_t *report = parse(text);
        char *command = dp_reproduce(report, rows[i].id);
        assert_string_equal(command, rows[i].command);
        free(command);
        json_decref(report);
        free(text);
    }
}

/* The sentence follows the counts: each row changes one thing. */
static void test_sentence(void **state)
{
    static const struct {
        const char *name, *sentence;
    } rows[] = {
        {"clean", "no guarantee broken; no operation varies"},
        {"findings", "2 guarantees broken; 1 operation gives wrong results; 7 operations vary, 1 of them "
                     "promised otherwise; 1 operation ended in an error; 1 operation untested"},
        {"insensitive", "no valid verdict, control 'cpu/control/plant' misbehaved; control "
                        "'cpu/control/float-atomics' could not vary here; 3 operations untested"},
        {"nothing", "nothing ran; 1 operation skipped"},
        {"empty", "nothing ran"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *report = make_report(rows[i].name);
        char *sentence = dp_report_sentence(report);
        assert_string_equal(sentence, rows[i].sentence);
        free(sentence);
        json_decref(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_hostile_report_as_read),
        cmocka_unit_test(test_what_to_do),
        cmocka_unit_test(test_many_sensitive),
        cmocka_unit_test(test_bits_by_algorithm),
        cmocka_unit_test(test_colour_only_repeats_words),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_table_of_formats),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_reproduce),
        cmocka_unit_test(test_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
