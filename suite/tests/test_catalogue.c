/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalogue: expansion of one file, finding and joining of many, and every way in which a file can be
 * wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/plan/catalogue.h"
#include "suite/tests/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEAD "{\"schema_version\":\"1.0\",\"program\":\"p\","

static json_t *expand(const char *text, struct dp_err *err)
{
    json_t *file = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!file) {
        fail_msg("the test's own text is no JSON: %s", text);
    }
    *err = (struct dp_err){0};
    json_t *cases = dp_catalogue_expand(file, err);
    json_decref(file);
    return cases;
}

static const char *id_of(const json_t *cases, size_t index)
{
    return dp_json_string(json_array_get(cases, index), "id", "");
}

static void test_merge(void **state)
{
    struct dp_err err;
    json_t *cases =
        expand(HEAD "\"sources\":{\"doc\":\"Document, section 3\",\"rem\":\"Another one\"},"
                    "\"defaults\":{\"op\":\"gemm\",\"arithmetic\":\"direct\",\"params\":{\"a\":1,\"b\":2},"
                    "\"tags\":[\"x\"],"
                    "\"guarantee\":{\"level\":\"run_to_run\",\"source\":\"doc\"},\"remedy\":{\"text\":\"t\","
                    "\"source\":\"rem\"}},"
                    "\"cases\":[{\"id\":\"cpu/f/one\",\"params\":{\"b\":3,\"c\":true},\"tags\":[\"y\"],"
                    "\"guarantee\":{\"invariant\":[\"batch\"]},\"remedy\":{\"setting\":\"S=1\"}},"
                    "{\"id\":\"cpu/f/two\",\"problem\":\"f/{a}-{b}\",\"cost\":5}]}",
               &err);
    assert_non_null(cases);
    assert_int_equal(json_array_size(cases), 2);
    json_t *expected =
        json_loads("{\"id\":\"cpu/f/"
                   "one\",\"op\":\"gemm\",\"arithmetic\":\"direct\",\"params\":{\"a\":1,\"b\":3,\"c\":true},"
                   "\"tags\":[\"y\"],\"used_by\":[],\"bound\":1,\"problem\":\"f/one\","
                   "\"guarantee\":{\"level\":\"run_to_run\",\"source\":\"Document, section "
                   "3\",\"invariant\":[\"batch\"],"
                   "\"covers\":[\"repeat\",\"fresh\",\"poison\",\"busy\"],\"conditions\":{}},"
                   "\"remedy\":{\"text\":\"t\",\"source\":\"Another one\",\"setting\":\"S=1\"}}",
                   0, NULL);
    assert_true(json_equal(json_array_get(cases, 0), expected));
    /* The second is as the defaults left it, whatever the first put in. */
    const json_t *two = json_array_get(cases, 1);
    assert_string_equal(dp_json_string(two, "problem", ""), "f/1-2");
    assert_int_equal(json_object_size(json_object_get(two, "params")), 2);
    assert_int_equal(json_array_size(json_object_get(json_object_get(two, "guarantee"), "invariant")), 0);
    assert_null(json_object_get(json_object_get(two, "remedy"), "setting"));
    json_decref(expected);
    json_decref(cases);
}

/* A case's own remedy along an axis takes the place of the file's whole, and of that axis alone. */
static void test_remedy_along(void **state)
{
    struct dp_err err;
    json_t *cases = expand(
        HEAD
        "\"sources\":{\"doc\":\"Document, section 3\"},\"defaults\":{\"op\":\"o\",\"remedy_along\":{"
        "\"threads\":{\"text\":\"t\",\"setting\":\"T=1\",\"source\":\"doc\"},"
        "\"isa\":{\"text\":\"i\",\"source\":\"doc\"}}},\"cases\":[{\"id\":\"cpu/f/one\",\"remedy_along\":{"
        "\"threads\":{\"text\":\"own\",\"source\":\"said here\"},\"batch\":{\"text\":\"b\",\"source\":"
        "\"doc\"}}},{\"id\":\"cpu/f/two\"}]}",
        &err);
    assert_non_null(cases);
    json_t *expected = json_loads("[{\"threads\":{\"text\":\"own\",\"source\":\"said "
                                  "here\"},\"isa\":{\"text\":\"i\",\"source\":\"Document, "
                                  "section 3\"},\"batch\":{\"text\":\"b\",\"source\":\"Document, section "
                                  "3\"}},{\"threads\":{\"text\":\"t\","
                                  "\"setting\":\"T=1\",\"source\":\"Document, section "
                                  "3\"},\"isa\":{\"text\":\"i\",\"source\":\"Document, "
                                  "section 3\"}}]",
                                  0, NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_true(json_equal(json_object_get(json_array_get(cases, i), "remedy_along"),
                               json_array_get(expected, i)));
    }
    json_decref(expected);
    json_decref(cases);
}

/* `otherwise` of the defaults is every case's own, with its sources resolved; a case replaces one member. */
static void test_versions(void **state)
{
    struct dp_err err;
    json_t *cases = expand(
        HEAD "\"sources\":{\"new\":\"New one\",\"old\":\"Old one\"},\"defaults\":{\"op\":\"o\","
             "\"guarantee\":{\"level\":\"run_to_run\",\"source\":\"new\",\"library\":\"cudnn\","
             "\"versions\":{\"cudnn\":{\"since\":\"9\"}},\"otherwise\":[{\"level\":\"not_guaranteed\","
             "\"source\":\"old\"}]}},\"cases\":[{\"id\":\"cpu/f/a\"},{\"id\":\"cpu/f/b\",\"guarantee\":"
             "{\"versions\":{\"sm\":{\"until\":\"90\"}}}}]}",
        &err);
    assert_int_equal(json_array_size(cases), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *guarantee = json_object_get(json_array_get(cases, i), "guarantee");
        const json_t *other = json_array_get(json_object_get(guarantee, "otherwise"), 0);
        assert_string_equal(dp_json_string(guarantee, "source", ""), "New one");
        assert_string_equal(dp_json_string(other, "source", ""), "Old one");
        assert_non_null(json_object_get(json_object_get(guarantee, "versions"), i ? "sm" : "cudnn"));
        assert_int_equal(json_object_size(json_object_get(guarantee, "versions")), 1);
    }
    json_decref(cases);
}

static void test_vary(void **state)
{
    struct dp_err err;
    json_t *cases = expand(HEAD "\"defaults\":{\"op\":\"o\",\"cost\":7},\"variants\":[{\"id\":\"cpu/f/"
                                "{r}-{m}x{k}\",\"pair\":\"cpu/f/s-64x8\","
                                "\"vary\":{\"r\":[\"s\",\"d\"],\"shape\":[{\"m\":64,\"k\":8,\"cost\":900,"
                                "\"bound\":3},{\"m\":1,\"k\":2}],\"flag\":[true]}}]}",
                           &err);
    assert_non_null(cases);
    static const char *const ids[] = {"cpu/f/s-64x8", "cpu/f/s-1x2", "cpu/f/d-64x8", "cpu/f/d-1x2"};
    assert_int_equal(json_array_size(cases), COUNT(ids));
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_string_equal(id_of(cases, i), ids[i]);
    }
    const json_t *first = json_array_get(cases, 0);
    json_t *params = json_loads("{\"r\":\"s\",\"m\":64,\"k\":8,\"flag\":true}", 0, NULL);
    assert_true(json_equal(json_object_get(first, "params"), params));
    assert_int_equal(dp_json_int(first, "cost", 0), 900);
    assert_int_equal(dp_json_int(first, "bound", 0), 3);
    assert_int_equal(dp_json_int(json_array_get(cases, 1), "cost", 0), 7);
    assert_null(json_object_get(first, "vary"));
    json_decref(params);
    json_decref(cases);
}

static void test_vary_choice(void **state)
{
    struct dp_err err;
    json_t *cases = expand(HEAD "\"variants\":[{\"id\":\"cpu/f/{choice}-{m}\",\"op\":\"o\",\"pair\":"
                                "\"cpu/f/{choice}\",\"vary\":{\"way\":[{\"choice\":\"fft\"},{\"choice\":"
                                "\"size-{m}\"}],\"m\":[4]}}]}",
                           &err);
    assert_non_null(cases);
    const json_t *plain = json_array_get(cases, 0), *template = json_array_get(cases, 1);
    assert_string_equal(id_of(cases, 0), "cpu/f/fft-4");
    assert_string_equal(dp_json_string(plain, "choice", ""), "fft");
    assert_string_equal(dp_json_string(plain, "pair", ""), "cpu/f/fft");
    assert_int_equal(json_object_size(json_object_get(plain, "params")), 1);
    assert_string_equal(id_of(cases, 1), "cpu/f/size-4-4");
    assert_string_equal(dp_json_string(template, "choice", ""), "size-4");
    json_decref(cases);
}

static void test_used_by(void **state)
{
    struct dp_err err;
    json_t *cases =
        expand(HEAD "\"operators\":{\"a\":[\"x\",\"y\"],\"b\":[\"z\"]},\"defaults\":{\"op\":\"o\","
                    "\"used_by\":\"{f}\"},\"variants\":[{\"id\":\"cpu/f/{f}\",\"vary\":{\"f\":"
                    "[\"a\",\"b\"]}}],\"cases\":[{\"id\":\"cpu/f/own\",\"used_by\":[\"{f}\"]}]}",
               &err);
    static const struct {
        const char *id, *first;
        size_t count;
    } rows[] = {{"cpu/f/own", "{f}", 1}, {"cpu/f/a", "x", 2}, {"cpu/f/b", "z", 1}};
    assert_int_equal(json_array_size(cases), COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        const json_t *list = json_object_get(json_array_get(cases, i), "used_by");
        assert_string_equal(id_of(cases, i), rows[i].id);
        assert_int_equal(json_array_size(list), rows[i].count);
        assert_string_equal(json_string_value(json_array_get(list, 0)), rows[i].first);
    }
    json_decref(cases);
}

static void test_what_is_left_out(void **state)
{
    struct dp_err err;
    json_t *cases = expand(HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\"}]}", &err);
    const json_t *item = json_array_get(cases, 0);
    const json_t *guarantee = json_object_get(item, "guarantee");
    assert_string_equal(dp_json_string(guarantee, "level", ""), "unstated");
    assert_string_equal(dp_json_string(guarantee, "source", ""), "no statement is known");
    assert_string_equal(dp_json_string(item, "arithmetic", ""), "none");
    assert_string_equal(dp_json_string(item, "problem", ""), "f/x");
    assert_null(json_object_get(item, "choice"));
    json_decref(cases);
    cases = expand(HEAD "\"cases\":[]}", &err);
    assert_int_equal(json_array_size(cases), 0);
    json_decref(cases);
}

struct bad {
    const char *text, *part;
};

static void expect_bad(const struct bad *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct dp_err err;
        json_t *cases = expand(rows[i].text, &err);
        if (cases || !strstr(err.text, rows[i].part)) {
            fail_msg("%s: %s", rows[i].text, cases ? "taken" : err.text);
        }
        assert_int_equal(err.code, DP_EXIT_DATA);
    }
}

static void test_bad_files(void **state)
{
    static const struct bad rows[] = {
        {"{\"program\":\"p\"}", "member 'schema_version' is missing"},
        {"{\"schema_version\":\"2.0\",\"program\":\"p\"}", "at '/schema_version'"},
        {"{\"schema_version\":\"1.0\"}", "member 'program' is missing"},
        {"{\"schema_version\":\"1.0\",\"program\":\"../../bin/sh\"}", "at '/program'"},
        {"[]", "expected an object"},
        {HEAD "\"case\":[]}", "unknown member 'case', did you mean 'cases'?"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"colour\":1}]}",
         "at '/cases/0': unknown member 'colour'"},
        {HEAD "\"cases\":[{\"id\":\"CPU/f/x\",\"op\":\"o\"}]}", "at '/cases/0/id'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f\",\"op\":\"o\"}]}", "at '/cases/0/id'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\"}]}", "case 'cpu/f/x': member 'op' is missing"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"vary\":{}}]}", "unknown member 'vary'"},
        {HEAD "\"operators\":{\"a\":[]},\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"used_by\":\"b\"}]}",
         "'used_by' is 'b', which 'operators' does not hold"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"params\":{\"a\":1.5}}]}",
         "at '/cases/0/params/a'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"cost\":0}]}", "at '/cases/0/cost'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"environment\":{\"LD_PRELOAD\":\"x\"}}]}",
         "at '/cases/0/environment': unknown member 'LD_PRELOAD'"},
        {HEAD
         "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"environment\":{\"NVIDIA_TF32_OVERRIDE\":\"2\"}}]}",
         "at '/cases/0/environment/NVIDIA_TF32_OVERRIDE'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"environment\":{}}]}",
         "at '/cases/0/environment'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"batch\":\"n\"}]}", "batch 'n' is no number"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"batch\":\"n\",\"params\":{\"n\":\"1\"}}]}",
         "batch 'n' is no number"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"choice\":\"a\",\"choices\":2}]}",
         "has 'choices' although its 'choice' is fixed"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"choices\":33}]}", "at '/cases/0/choices'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\"},{\"id\":\"cpu/f/x\",\"op\":\"o\"}]}",
         "case 'cpu/f/x' stands there twice"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"level\":\"run_to_run\"}}]}",
         "names no source"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"level\":\"always\"}}]}",
         "at '/cases/0/guarantee/level'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"source\":\"nokey\"}}]}",
         "'source' is 'nokey', which 'sources' does not hold"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"covers\":[\"batches\"]}}]}",
         "did you mean 'batch'?"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"remedy\":{\"source\":\"nokey\"}}]}",
         "'sources' does not hold"},
        {HEAD "\"sources\":{\"doc\":\"a "
              "b\"},\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"remedy\":{\"source\":\"doc\"}}]}",
         "its 'remedy' has no 'text'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/"
              "x\",\"op\":\"o\",\"remedy_along\":{\"isa\":{\"text\":\"t\",\"source\":\"nokey\"}}}]}",
         "'source' is 'nokey', which 'sources' does not hold"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"remedy_along\":{\"isa\":{\"text\":\"t\"}}}]}",
         "'source' is missing"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/"
              "x\",\"op\":\"o\",\"remedy_along\":{\"thread\":{\"text\":\"t\",\"source\":\"a b\"}}}]}",
         "at '/cases/0/remedy_along"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"tags\":[\"control\"]}]}", "has no 'expected'"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/"
              "x\",\"op\":\"o\",\"expected\":{\"observed\":\"varies\",\"axis\":\"repeat\"}}]}",
         "not tagged 'control'"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/{choice}\",\"op\":\"o\",\"vary\":{\"a\":[1]}}]}",
         "names no param"},
        {HEAD
         "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"choice\":\"{choice}\",\"vary\":{\"a\":[1]}}]}",
         "names no param"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/{q}\",\"op\":\"o\",\"vary\":{\"a\":[1]}}]}",
         "names no param at '{q}'"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/{a\",\"op\":\"o\",\"vary\":{\"a\":[1]}}]}", "names no param"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/{a}\",\"op\":\"o\",\"vary\":{\"a\":[\"A B\"]}}]}",
         "'backend/family/name'"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"vary\":{\"a\":[1,2]}}]}",
         "stands there twice"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"vary\":{\"a\":[]}}]}",
         "at '/variants/0/vary/a'"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"vary\":{}}]}", "at '/variants/0/vary'"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\"}]}", "member 'vary' is missing"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"vary\":{\"s\":[{\"m\":{}}]}}]}",
         "at '/variants/0/vary/s/0/m'"},
        {HEAD "\"variants\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"vary\":{\"s\":[{\"cost\":\"1\"}]}}]}",
         "at '/variants/0/vary/s/0/cost'"},
    };
    expect_bad(rows, COUNT(rows));
}

static void test_bad_versions(void **state)
{
    static const struct bad rows[] = {
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"level\":\"run_to_run\","
              "\"source\":\"a b\",\"versions\":{\"cudnn\":{\"since\":\"9\",\"until\":\"8\"}}}}]}",
         "case 'cpu/f/x': its guarantee speaks of no 'cudnn': since 9 and before 8"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"level\":\"run_to_run\","
              "\"source\":\"a b\",\"otherwise\":[{\"level\":\"unstated\",\"source\":\"c d\"}]}}]}",
         "case 'cpu/f/x': its guarantee says 'otherwise' behind one without 'versions', which never counts"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"level\":\"run_to_run\","
              "\"source\":\"a b\",\"versions\":{\"cudnn\":{\"since\":\"9\"}},\"otherwise\":[{\"level\":"
              "\"unstated\",\"source\":\"absent\"}]}}]}",
         "case 'cpu/f/x': 'source' is 'absent', which 'sources' does not hold"},
        {HEAD "\"cases\":[{\"id\":\"cpu/f/x\",\"op\":\"o\",\"guarantee\":{\"versions\":{\"cudnn\":{"
              "\"since\":\"v9\"}}}}]}",
         "at '/cases/0/guarantee/versions/cudnn/since'"},
    };
    expect_bad(rows, COUNT(rows));
}

/* Six lists of ten would be a million cases. */
static void test_products_are_limited(void **state)
{
    struct dp_text text = DP_TEXT(10000);
    dp_text_put(&text, HEAD "\"variants\":[{\"id\":\"cpu/f/x{a}{b}{c}{d}\",\"op\":\"o\",\"vary\":{");
    for (int i = 0; i < 4; i++) {
        dp_text_printf(&text, "%s\"%c\":[0,1,2,3,4,5,6,7,8,9]", i ? "," : "", 'a' + i);
    }
    dp_text_put(&text, "}}]}");
    struct dp_err err;
    assert_null(expand(text.data, &err));
    assert_non_null(strstr(err.text, "more than 4096 cases"));
    dp_text_free(&text);
}

static void write_program(const char *name)
{
    char *path = scratch_write(name, "#!/bin/sh\n");
    assert_int_equal(chmod(path, 0755), 0);
    free(path);
}

static int load(const char *builtin, const char *path_list, struct dp_catalogue *catalogue,
                struct dp_err *err)
{
    char *folder = builtin ? dp_printf("%s/%s", scratch(), builtin) : NULL;
    char *list = path_list ? dp_printf("%s/%s", scratch(), path_list) : NULL;
    *err = (struct dp_err){0};
    *catalogue = (struct dp_catalogue){0};
    const int rc = dp_catalogue_load_from(folder, list, catalogue, err);
    free(folder);
    free(list);
    return rc;
}

static void write_builtin(void)
{
    scratch_write_in("b/programs.json",
                     "{\"programs\":{\"cpu/g\":{\"state\":\"ready\"},\"cpu/conv\":{\"state\":\"not_built\","
                     "\"reason\":\"no headers\"},\"python/q\":{\"state\":\"ready\"}}}");
    write_program("b/cpu/g");
    scratch_write_in("b/cpu/g.json", "{\"schema_version\":\"1.0\",\"program\":\"g\",\"cases\":[{\"id\":\"cpu/"
                                     "g/z\",\"op\":\"o\",\"cost\":3},"
                                     "{\"id\":\"cpu/g/a\",\"op\":\"o\",\"pair\":\"cpu/conv/x\"}]}");
    scratch_write_in(
        "b/cpu/g2.json",
        "{\"schema_version\":\"1.0\",\"program\":\"g\",\"cases\":[{\"id\":\"cpu/g/m\",\"op\":\"o\"}]}");
    scratch_write_in(
        "b/cpu/conv.json",
        "{\"schema_version\":\"1.0\",\"program\":\"conv\",\"cases\":[{\"id\":\"cpu/conv/x\",\"op\":\"o\"}]}");
    scratch_write_in("b/cpu/.hidden.json", "no JSON");
    scratch_write_in("b/python/q.py", "");
    scratch_write_in("b/python/q.json",
                     "{\"schema_version\":\"1.0\",\"program\":\"q.py\",\"cases\":[{\"id\":\"python/control/"
                     "c\",\"op\":\"o\","
                     "\"tags\":[\"control\"],\"expected\":{\"observed\":\"varies\",\"axis\":\"repeat\"}}]}");
}

static void test_load(void **state)
{
    struct dp_catalogue catalogue;
    struct dp_err err;
    write_builtin();
    if (load("b", NULL, &catalogue, &err) != 0) {
        fail_msg("%s", err.text);
    }
    static const char *const ids[] = {"cpu/conv/x", "cpu/g/a", "cpu/g/m", "cpu/g/z", "python/control/c"};
    assert_int_equal(catalogue.case_count, COUNT(ids));
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_string_equal(catalogue.cases[i].id, ids[i]);
        assert_ptr_equal(dp_catalogue_find(&catalogue, ids[i]), &catalogue.cases[i]);
    }
    assert_null(dp_catalogue_find(&catalogue, "cpu/g/q"));
    assert_int_equal(catalogue.program_count, 3);
    const struct dp_case *z = dp_catalogue_find(&catalogue, "cpu/g/z");
    assert_ptr_equal(z->program, dp_catalogue_find(&catalogue, "cpu/g/m")->program);
    assert_string_equal(z->program->name, "cpu/g");
    assert_null(z->program->interpreter);
    assert_true(z->cost_us == 3 && !z->control);
    assert_string_equal(z->backend, "cpu");
    assert_string_equal(z->family, "g");
    const struct dp_case *conv = dp_catalogue_find(&catalogue, "cpu/conv/x");
    assert_int_equal(conv->program->state, DP_PROGRAM_NOT_BUILT);
    assert_string_equal(conv->program->reason, "no headers");
    const struct dp_case *control = dp_catalogue_find(&catalogue, "python/control/c");
    assert_true(control->control);
    assert_string_equal(control->program->name, "python/q");
    assert_string_equal(control->program->interpreter, "python3");

    json_t *list = json_array();
    for (size_t i = 0; i < catalogue.case_count; i++) {
        json_array_append_new(list, dp_case_describe(&catalogue.cases[i]));
    }
    if (dp_schema_check(dp_schema_builtin("list"), list, &err) != 0) {
        fail_msg("%s", err.text);
    }
    json_decref(list);

    struct dp_catalogue again;
    char sha256[65], other[65];
    assert_int_equal(load("b", NULL, &again, &err), 0);
    dp_catalogue_sha256(&catalogue, sha256);
    dp_catalogue_sha256(&again, other);
    assert_string_equal(other, sha256);
    dp_catalogue_free(&again);
    scratch_write_in(
        "b/cpu/g2.json",
        "{\"schema_version\":\"1.0\",\"program\":\"g\",\"cases\":[{\"id\":\"cpu/g/m\",\"op\":\"p\"}]}");
    assert_int_equal(load("b", NULL, &again, &err), 0);
    dp_catalogue_sha256(&again, other);
    assert_string_not_equal(other, sha256);
    dp_catalogue_free(&again);
    dp_catalogue_free(&catalogue);
}

/* What a case sets for its process makes a program of its own, shared by all that set the same. */
static void test_environment(void **state)
{
    struct dp_catalogue catalogue;
    struct dp_err err;
    write_builtin();
    scratch_write_in(
        "b/cpu/g2.json",
        "{\"schema_version\":\"1.0\",\"program\":\"g\",\"defaults\":{\"op\":\"o\",\"environment\":{"
        "\"NVIDIA_TF32_OVERRIDE\":\"0\"}},\"cases\":[{\"id\":\"cpu/s/one\"},{\"id\":\"cpu/s/two\","
        "\"environment\":{\"NVIDIA_TF32_OVERRIDE\":\"0\"}},{\"id\":\"cpu/s/more\",\"environment\":{"
        "\"CUBLAS_WORKSPACE_CONFIG\":\":16:8\"}},{\"id\":\"cpu/s/unset\",\"environment\":{"
        "\"NVIDIA_TF32_OVERRIDE\":null}}]}");
    if (load("b", NULL, &catalogue, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(catalogue.program_count, 6);
    const struct dp_program *plain = dp_catalogue_find(&catalogue, "cpu/g/z")->program;
    const struct dp_program *one = dp_catalogue_find(&catalogue, "cpu/s/one")->program;
    assert_null(plain->environment);
    assert_null(plain->base);
    assert_ptr_equal(one->base, plain);
    assert_ptr_equal(one, dp_catalogue_find(&catalogue, "cpu/s/two")->program);
    assert_string_equal(one->name, "cpu/g NVIDIA_TF32_OVERRIDE=0");
    assert_string_equal(one->path, plain->path);
    assert_string_equal(dp_catalogue_find(&catalogue, "cpu/s/more")->program->name,
                        "cpu/g CUBLAS_WORKSPACE_CONFIG=:16:8 NVIDIA_TF32_OVERRIDE=0");
    assert_string_equal(dp_catalogue_find(&catalogue, "cpu/s/unset")->program->name,
                        "cpu/g NVIDIA_TF32_OVERRIDE unset");
    json_t *list = json_pack("[o]", dp_case_describe(dp_catalogue_find(&catalogue, "cpu/s/more")));
    assert_int_equal(dp_schema_check(dp_schema_builtin("list"), list, &err), 0);
    const json_t *shown = json_array_get(list, 0);
    assert_string_equal(dp_json_string(json_object_get(shown, "program"), "name", ""), "cpu/g");
    assert_int_equal(json_object_size(json_object_get(shown, "environment")), 2);
    json_decref(list);
    dp_catalogue_free(&catalogue);
}

static void test_third_party(void **state)
{
    struct dp_catalogue catalogue;
    struct dp_err err;
    write_builtin();
    write_program("mine/cpu/g"); /* the name of a built-in program, in a folder of the same name */
    scratch_write_in(
        "mine/cpu/g.json",
        "{\"schema_version\":\"1.0\",\"program\":\"g\",\"cases\":[{\"id\":\"cpu/mine/x\",\"op\":\"o\"}]}");
    assert_int_equal(load("b", "mine/cpu", &catalogue, &err), 0);
    assert_int_equal(catalogue.program_count, 4);
    const struct dp_program *program = dp_catalogue_find(&catalogue, "cpu/mine/x")->program;
    assert_non_null(strstr(program->path, "/mine/cpu/g"));
    assert_string_not_equal(program->name, "cpu/g");
    dp_catalogue_free(&catalogue);
    assert_int_equal(load(NULL, "mine/cpu::", &catalogue, &err), 0); /* empty elements are nothing */
    assert_int_equal(catalogue.case_count, 1);
    dp_catalogue_free(&catalogue);
}

static void check_load_fails(const char *builtin, const char *path_list, const char *part)
{
    struct dp_catalogue catalogue;
    struct dp_err err;
    if (load(builtin, path_list, &catalogue, &err) == 0 || !strstr(err.text, part)) {
        fail_msg("'%s' without '%s'", err.text, part);
    }
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_int_equal(catalogue.case_count, 0);
}

static void test_load_errors(void **state)
{
    write_builtin();
    check_load_fails("b", "no-such-folder", "cannot open probe folder");
    check_load_fails("nowhere", NULL, "cannot open");
    scratch_write_in("e1/a.json", "{\"schema_version\":\"1.0\",\"program\":\"absent\",\"cases\":[]}");
    check_load_fails("b", "e1", "program 'absent' is not in");
    scratch_write_in("e2/a.json", "{\"schema_version\":");
    check_load_fails("b", "e2", "cannot read");
    write_program("e3/a");
    scratch_write_in(
        "e3/a.json",
        "{\"schema_version\":\"1.0\",\"program\":\"a\",\"cases\":[{\"id\":\"cpu/g/z\",\"op\":\"o\"}]}");
    check_load_fails("b", "e3", "case 'cpu/g/z' stands in '");
    scratch_write_in("e4/a", "not executable");
    scratch_write_in(
        "e4/a.json",
        "{\"schema_version\":\"1.0\",\"program\":\"a\",\"cases\":[{\"id\":\"cpu/h/z\",\"op\":\"o\"}]}");
    check_load_fails("b", "e4", "is not executable");
    write_program("e5/a");
    scratch_write_in("e5/a.json", "{\"schema_version\":\"1.0\",\"program\":\"a\",\"cases\":[{\"id\":\"cpu/h/"
                                  "z\",\"op\":\"o\",\"pair\":\"cpu/h/q\"}]}");
    check_load_fails("b", "e5", "pair 'cpu/h/q' is no case");
    scratch_write_in("e6/a.json", "{\"schema_version\":\"1.0\",\"program\":\"a\",\"program\":\"b\"}");
    check_load_fails("b", "e6", "duplicate object key");
    /* A built-in program that programs.json does not name and that is not there. */
    scratch_write_in("b2/programs.json", "{\"programs\":{}}");
    scratch_write_in(
        "b2/cpu/x.json",
        "{\"schema_version\":\"1.0\",\"program\":\"x\",\"cases\":[{\"id\":\"cpu/x/z\",\"op\":\"o\"}]}");
    check_load_fails("b2", NULL, "program 'x' is not in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_remedy_along),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_vary),
        cmocka_unit_test(test_vary_choice),
        cmocka_unit_test(test_used_by),
        cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_bad_versions),
        cmocka_unit_test(test_products_are_limited),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_third_party),
        cmocka_unit_test(test_load_errors),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
