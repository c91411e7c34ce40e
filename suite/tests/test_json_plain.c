/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast reader of JSON against jansson: what it takes, jansson takes, and the values are equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/json_plain.h"
#include "suite/base/text.h"

/* Whether the reader takes the text; fails where it is not what jansson says. */
static bool takes(const char *text, size_t length)
{
    json_t *ours = dp_json_parse_plain(text, length);
    json_t *theirs = ours ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (ours && (!theirs || !json_equal(ours, theirs))) {
        fail_msg("read otherwise than by jansson, which %s it: %.2000s", theirs ? "takes" : "refuses", text);
    }
    const bool taken = ours != NULL;
    json_decref(ours);
    json_decref(theirs);
    return taken;
}

static void test_what_is_taken(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        " {\"a\" : [ 1 , 2,3 ] , \"b\":{} }\n",
        "[0,1,1023,1024,999999999999999,9223372036854775807,-1,-0,0.5,-1.5e-3,1e5,1E+2]",
        "[\"\",\"a\",\"\xc3\xa4\",\"\xf0\x9f\x98\x80\",\"\x7f\"]",
        "[\"\\\"\",\"\\\\\",\"a\\nb\",\"\\u00e4\",\"\\ud83d\\ude00\",\"\\/\"]",
        "[true,false,null,[[[[]]]]]",
        "{\"a\":\"x\",\"b\":\"x\",\"c\":{\"a\":\"x\"}}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!takes(texts[i], strlen(texts[i]))) {
            fail_msg("not taken: %s", texts[i]);
        }
    }
}

static void test_what_is_not(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "1",
        "\"a\"",
        "null",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[01]",
        "[-]",
        "[1.]",
        "[.5]",
        "[1e]",
        "[1.5.5]",
        "[--1]",
        "[+1]",
        "[0x1]",
        "[NaN]",
        "[Infinity]",
        "[1e999]",
        "[99999999999999999999]",
        "[tru]",
        "[truex]",
        "[nul",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1 \"b\":2}",
        "[]]",
        "{}{}",
        "[] x",
        "[\"]",
        "[\"\\\"]",
        "[\"\\",
        "[\"\\x\"]",
        "[\"\\u0000\"]",
        "[\"\\ud800\"]",
        "[\"\n\"]",
        "[\"\t\"]",
        "[\"\xff\"]",
        "[\"\xc3\"]",
        "[\"\xc0\x80\"]",
        "[\"\xed\xa0\x80\"]",
        "{\"\xff\":1}",
        "[\v]",
        "\xef\xbb\xbf[]",
        "['a']",
        "[1]/**/",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (takes(texts[i], strlen(texts[i]))) {
            fail_msg("taken: %s", texts[i]);
        }
    }
    assert_false(takes("[1]\0", 4)); /* a NUL is no blank */
}

/* Deeper than any document of ours: left to jansson. */
static void test_depth(void **state)
{
    char text[601];
    for (size_t depth = 1; depth <= 300; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(takes(text, 2 * depth), depth <= 100);
    }
}

static char *read_file(const char *name, size_t *ret_length)
{
    char *path = dp_printf(DP_TEST_SOURCE_DIR "/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = dp_alloc(1, (size_t)1 << 20);
    *ret_length = fread(text, 1, ((size_t)1 << 20) - 1, file);
    fclose(file);
    free(path);
    return text;
}

/* A report is taken whole; with any byte of it another one, lost or twice, it is taken only where jansson
 * takes it and reads the same. */
static void test_mutants(void **state)
{
    static const char bytes[] = "{}[],:\"\\ \n01-.eEtfn/x\x01\x80\xc3\xff";
    size_t length = 0;
    char *text = read_file("corpus/good-clean.json", &length);
    uint32_t random = 1;
    assert_true(takes(text, length));
    for (int turn = 0; turn < 4000; turn++) {
        random = random * 1664525u + 1013904223u;
        const size_t place = (random >> 8) % length;
        const char kept = text[place];
        text[place] = bytes[(random >> 3) % (sizeof(bytes) - 1)];
        takes(text, length);
        text[place] = kept;
    }
    for (size_t cut = 0; cut < length; cut += 7) {
        assert_false(takes(text, cut));
    }
    free(text);
}

/* Equal strings are one value, and no two that are not equal. */
static void test_shared_values(void **state)
{
    struct dp_text text = DP_TEXT((size_t)1 << 20);
    dp_text_put(&text, "[");
    for (int i = 0; i < 5000; i++) {
        dp_text_printf(&text, "\"%d\",\"same\",", i % 3000);
    }
    dp_text_put(&text, "7]");
    assert_true(takes(text.data, text.length));
    json_t *array = dp_json_parse_plain(text.data, text.length);
    assert_ptr_equal(json_array_get(array, 1), json_array_get(array, 3));
    json_decref(array);
    dp_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_taken), cmocka_unit_test(test_what_is_not),
        cmocka_unit_test(test_depth),         cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_shared_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
