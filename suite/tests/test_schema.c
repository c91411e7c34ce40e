/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema reader: every keyword with a value that passes and one that does not, the place that an error
 * names, and what hostile input may not do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/schema.h"
#include "suite/base/schema_builtin.h"
#include "suite/base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!value) {
        fail_msg("the test's own text is no JSON: %s", text);
    }
    return value;
}

static int check(const char *schema_text, const char *value_text, struct dp_err *err)
{
    json_t *schema = parse(schema_text);
    json_t *value = parse(value_text);
    *err = (struct dp_err){0};
    const int rc = dp_schema_check(schema, value, err);
    json_decref(schema);
    json_decref(value);
    return rc;
}

static void test_keywords(void **state)
{
    static const struct {
        const char *schema, *good, *bad;
    } rows[] = {
        {"{\"type\":\"object\"}", "{}", "[]"},
        {"{\"type\":\"array\"}", "[]", "{}"},
        {"{\"type\":\"string\"}", "\"\"", "1"},
        {"{\"type\":\"integer\"}", "1", "1.5"},
        {"{\"type\":\"integer\"}", "1.0", "\"1\""}, /* 2020-12: a number without fraction */
        {"{\"type\":\"number\"}", "1.5", "true"},
        {"{\"type\":\"boolean\"}", "false", "0"},
        {"{\"type\":\"null\"}", "null", "false"},
        {"{\"type\":[\"string\",\"null\"]}", "null", "1"},
        {"{\"enum\":[\"a\",1,null]}", "1.0", "\"b\""},
        {"{\"const\":{\"a\":[1]}}", "{\"a\":[1]}", "{\"a\":[2]}"},
        {"{\"const\":1}", "1", "true"},
        {"{\"required\":[\"a\"]}", "{\"a\":null}", "{\"b\":1}"},
        {"{\"required\":[\"a\"]}", "\"no object\"", "{}"},
        {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"b\":1}", "{\"a\":1}"},
        {"{\"patternProperties\":{\"^x\":{\"type\":\"string\"}}}", "{\"x\":\"\",\"y\":1}", "{\"x1\":1}"},
        {"{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1}", "{\"a\":1,\"b\":1}"},
        {"{\"patternProperties\":{\"^x\":true},\"additionalProperties\":{\"type\":\"null\"}}",
         "{\"x\":1,\"y\":null}", "{\"y\":1}"},
        {"{\"propertyNames\":{\"maxLength\":2}}", "{\"ab\":1}", "{\"abc\":1}"},
        {"{\"items\":{\"type\":\"integer\"}}", "[1,2]", "[1,\"2\"]"},
        {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"integer\"}}", "[\"a\",1]",
         "[\"a\",\"b\"]"},
        {"{\"prefixItems\":[{\"type\":\"string\"}]}", "[]", "[1]"},
        {"{\"items\":false}", "[]", "[1]"},
        {"{\"minItems\":2}", "[1,2]", "[1]"},
        {"{\"maxItems\":1}", "[1]", "[1,2]"},
        {"{\"uniqueItems\":true}", "[1,2,\"1\"]", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]"},
        {"{\"minLength\":2}", "\"\xc3\xa4\xc3\xa4\"", "\"\xc3\xa4\""}, /* characters, not bytes */
        {"{\"maxLength\":1}", "\"\xf0\x9f\x98\x80\"", "\"ab\""},
        {"{\"pattern\":\"^[a-z]+$\"}", "\"abc\"", "\"ab1\""},
        {"{\"pattern\":\"b\"}", "\"abc\"", "\"ac\""},
        {"{\"minimum\":3}", "3", "2"},
        {"{\"maximum\":9007199254740992}", "9007199254740992", "9007199254740993"}, /* exact beyond double */
        {"{\"minProperties\":1}", "{\"a\":1}", "{}"},
        {"{\"maxProperties\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}"},
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":2}]}", "2", "3"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "5", "4"},
        {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":5}]}", "2", "6"},
        {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":5}]}", "1", "0"},
        {"{\"not\":{\"type\":\"null\"}}", "1", "null"},
        {"{\"if\":{\"minimum\":5},\"then\":{\"maximum\":7},\"else\":{\"minimum\":3}}", "6", "8"},
        {"{\"if\":{\"minimum\":5},\"then\":{\"maximum\":7},\"else\":{\"minimum\":3}}", "3", "2"},
        {"{\"if\":{\"minimum\":5},\"else\":{\"minimum\":3}}", "9", "2"},
        {"{\"$ref\":\"#/$defs/x\",\"$defs\":{\"x\":{\"type\":\"null\"}}}", "null", "1"},
        {"{\"title\":\"t\",\"description\":\"d\",\"$comment\":\"c\",\"type\":\"null\"}", "null", "1"},
    };
    struct dp_err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (check(rows[i].schema, rows[i].good, &err) != 0) {
            fail_msg("%s refuses %s: %s", rows[i].schema, rows[i].good, err.text);
        }
        if (check(rows[i].schema, rows[i].bad, &err) == 0) {
            fail_msg("%s takes %s", rows[i].schema, rows[i].bad);
        }
        assert_int_equal(err.code, DP_EXIT_DATA);
    }
}

static void test_messages(void **state)
{
    static const struct {
        const char *schema, *value, *text;
    } rows[] = {
        {"{\"properties\":{\"cases\":{\"items\":{\"properties\":{\"op\":{\"type\":\"string\"}}}}}}",
         "{\"cases\":[{},{\"op\":3}]}", "at '/cases/1/op': expected a string"},
        {"{\"type\":\"object\"}", "[]", "at '/': expected an object"},
        {"{\"properties\":{\"a/b~c\":{\"type\":\"null\"}}}", "{\"a/b~c\":1}",
         "at '/a~1b~0c': expected a null"},
        {"{\"required\":[\"id\"]}", "{}", "at '/': member 'id' is missing"},
        {"{\"properties\":{\"params\":true},\"additionalProperties\":false}", "{\"parms\":1}",
         "at '/': unknown member 'parms', did you mean 'params'?"},
        {"{\"properties\":{\"params\":true},\"additionalProperties\":false}", "{\"q\":1}",
         "at '/': unknown member 'q'"},
        {"{\"enum\":[\"direct\",\"none\"]}", "\"dirct\"",
         "at '/': unknown word 'dirct', did you mean 'direct'?"},
        {"{\"enum\":[\"direct\",\"none\"]}", "1", "at '/': expected one of \"direct\", \"none\", found 1"},
        /* Of several forms the one that fits furthest is the one that was meant. */
        {"{\"anyOf\":[{\"type\":\"string\"},{\"properties\":{\"a\":{\"type\":\"null\"}}}]}", "{\"a\":1}",
         "at '/a': expected a null"},
    };
    struct dp_err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(check(rows[i].schema, rows[i].value, &err), -1);
        assert_string_equal(err.text, rows[i].text);
    }
}

/* A rule that is written down is checked or is an error, also where a combination could hide that. */
static void test_bad_schemas_never_pass(void **state)
{
    static const struct {
        const char *schema, *part;
    } rows[] = {
        {"{\"multipleOf\":2}", "keyword 'multipleOf'"},
        {"{\"not\":{\"multipleOf\":2}}", "keyword 'multipleOf'"},
        {"{\"anyOf\":[{\"multipleOf\":2},true]}", "keyword 'multipleOf'"},
        {"{\"if\":{\"multipleOf\":2}}", "keyword 'multipleOf'"},
        {"{\"$ref\":\"#/$defs/x\"}", "leads nowhere"},
        {"{\"$ref\":\"other.json\"}", "leads nowhere"},
        {"{\"not\":3}", "no object"},
        {"{\"$ref\":\"#/$defs/x\",\"$defs\":{\"x\":{\"$ref\":\"#/$defs/x\"}}}", "too deeply nested"},
    };
    struct dp_err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(check(rows[i].schema, "4", &err), -1);
        if (!strstr(err.text, rows[i].part)) {
            fail_msg("%s: %s", rows[i].schema, err.text);
        }
    }
    assert_int_equal(check("{\"pattern\":\"(\"}", "\"x\"", &err), -1);
}

static void test_deep_values_are_refused(void **state)
{
    struct dp_text text = DP_TEXT(10000);
    for (int i = 0; i < 1500; i++) {
        dp_text_put(&text, "[");
    }
    for (int i = 0; i < 1500; i++) {
        dp_text_put(&text, "]");
    }
    struct dp_err err;
    static const char schema[] =
        "{\"$ref\":\"#/$defs/x\",\"$defs\":{\"x\":{\"items\":{\"$ref\":\"#/$defs/x\"}}}}";
    assert_int_equal(check(schema, text.data, &err), -1);
    assert_non_null(strstr(err.text, "too deeply nested"));
    dp_text_free(&text);
}

static void test_error_may_be_null(void **state)
{
    json_t *schema = parse("{\"anyOf\":[{\"type\":\"null\"}]}");
    json_t *value = parse("1");
    assert_int_equal(dp_schema_check(schema, value, NULL), -1);
    json_decref(schema);
    json_decref(value);
}

/* Every schema that is built in uses only what this reader knows: a value that no rule mentions reaches the
 * top only, so each $defs entry is tried by itself too. */
static void check_supported(const json_t *root, const json_t *schema, const char *name)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
    static const char *const singles[] = {"items",        "not", "if", "then", "else", "additionalProperties",
                                          "propertyNames"};
    static const char *const maps[] = {"properties", "patternProperties", "$defs"};
    struct dp_err err = {0};
    json_t *probe = json_object();
    json_t *null = json_null();
    json_t *only = json_copy((json_t *)(uintptr_t)schema);
    if (json_is_object(only) && !json_object_get(only, "$defs")) {
        json_object_set(only, "$defs", json_object_get(root, "$defs"));
    }
    const json_t *values[] = {probe, null};
    for (size_t i = 0; i < COUNT(values); i++) {
        if (dp_schema_check(only, values[i], &err) != 0 &&
            (strstr(err.text, "not supported") || strstr(err.text, "the schema"))) {
            fail_msg("%s: %s", name, err.text);
        }
    }
    json_decref(only);
    json_decref(probe);
    for (size_t i = 0; i < COUNT(lists); i++) {
        size_t k;
        json_t *item;
        json_array_foreach(json_object_get(schema, lists[i]), k, item)
        {
            check_supported(root, item, name);
        }
    }
    for (size_t i = 0; i < COUNT(singles); i++) {
        if (json_object_get(schema, singles[i])) {
            check_supported(root, json_object_get(schema, singles[i]), name);
        }
    }
    for (size_t i = 0; i < COUNT(maps); i++) {
        const char *key;
        json_t *member;
        json_object_foreach(json_object_get(schema, maps[i]), key, member)
        {
            check_supported(root, member, name);
        }
    }
}

static void test_builtin(void **state)
{
    static const char *const names[] = {"catalogue", "diff", "list", "matrix", "report"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const json_t *schema = dp_schema_builtin(names[i]);
        assert_non_null(schema);
        assert_ptr_equal(schema, dp_schema_builtin(names[i]));
        check_supported(schema, schema, names[i]);
    }
    assert_null(dp_schema_builtin("nothing"));
}

/* Versions of a document of the built-in schema `diff`, which is far from valid: what is said of it shows
 * whether its version was. */
static void test_versions(void **state)
{
    static const struct {
        const char *version, *strict, *newer;
    } rows[] = {
        {"1.0", "is missing", "is missing"},
        {"1.9", "unknown schema version '1.9'", "is missing"},
        {"2.0", "unknown schema version '2.0'", "unknown schema version '2.0'"},
        {"0.9", "unknown schema version '0.9'", "unknown schema version '0.9'"},
        {"1.09", "unknown schema version '1.09'", "unknown schema version '1.09'"},
        {"1.-9", "unknown schema version '1.-9'", "unknown schema version '1.-9'"},
        {" 1.9", "unknown schema version ' 1.9'", "unknown schema version ' 1.9'"},
        {"", "unknown schema version ''", "unknown schema version ''"},
    };
    struct dp_err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *document = json_pack("{ss si}", "schema_version", rows[i].version, "x", 1);
        assert_int_equal(dp_schema_check_document("diff", document, DP_SCHEMA_STRICT, &err), -1);
        assert_int_equal(err.code, DP_EXIT_DATA);
        assert_non_null(strstr(err.text, rows[i].strict));
        assert_int_equal(dp_schema_check_document("diff", document, DP_SCHEMA_NEWER, &err), -1);
        assert_int_equal(err.code, DP_EXIT_DATA);
        assert_non_null(strstr(err.text, rows[i].newer));
        json_decref(document);
    }
    assert_int_equal(dp_schema_check_document("diff", NULL, DP_SCHEMA_NEWER, &err), -1);
    assert_string_equal(err.text, "not a diff: it has no 'schema_version'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keywords),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_bad_schemas_never_pass),
        cmocka_unit_test(test_deep_values_are_refused),
        cmocka_unit_test(test_error_may_be_null),
        cmocka_unit_test(test_builtin),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
