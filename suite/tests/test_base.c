/* SPDX-License-Identifier: Apache-2.0
 *
 * Units of the base: errors, text, globs, suggestions, numbers, digests, JSON, files, control groups, host.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/cgroup.h"
#include "suite/base/clock.h"
#include "suite/base/digest.h"
#include "suite/base/err.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/base/version.h"
#include "suite/tests/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_reason(void **state)
{
    assert_string_equal(dp_reason(ENOENT), "no such file or directory");
    assert_string_equal(dp_reason(EACCES), "permission denied");
    assert_string_equal(dp_reason(EBADMSG), "bad message");
    assert_string_equal(dp_reason(EDOTDOT), "RFS specific error"); /* no capital that belongs there is lost */
}

static void test_err(void **state)
{
    struct dp_err err = {0};
    assert_int_equal(dp_err_set(&err, DP_EXIT_DATA, "cannot open '%s'", "a\x1b[31m\nb\xff"), -1);
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_string_equal(err.text, "cannot open 'a?[31m?b?'");
    assert_int_equal(dp_err_prefix(&err, "file '%s'", "x"), -1);
    assert_string_equal(err.text, "file 'x': cannot open 'a?[31m?b?'");
    dp_err_set(&err, DP_EXIT_USAGE, "again: %s", err.text); /* its own text as an argument */
    assert_string_equal(err.text, "again: file 'x': cannot open 'a?[31m?b?'");
    assert_int_equal(dp_err_set(NULL, 1, "nobody listens"), -1);
    char *longest = dp_alloc(5001, 1);
    memset(longest, 'x', 5000);
    dp_err_set(&err, 2, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    dp_err_prefix(&err, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    free(longest);
}

static void test_text_has_a_ceiling(void **state)
{
    struct dp_text text = DP_TEXT(10);
    dp_text_put(&text, "12345");
    dp_text_printf(&text, "%d", 678);
    assert_false(text.truncated);
    assert_string_equal(text.data, "12345678");
    dp_text_put(&text, "90A");
    assert_true(text.truncated);
    assert_string_equal(text.data, "1234567890");
    dp_text_put(&text, "B");
    assert_int_equal(text.length, 10);
    dp_text_free(&text);
    assert_null(text.data);
    assert_int_equal(text.limit, 10);
}

static void test_glob(void **state)
{
    static const struct {
        const char *pattern, *string;
        bool match;
    } rows[] = {
        {"cpu/gemm/*", "cpu/gemm/sgemm", true},
        {"cpu/*", "cpu/gemm/sgemm", true}, /* a star crosses '/' */
        {"cpu/gemm", "cpu/gemm/sgemm", false},
        {"*sgemm*", "cpu/gemm/sgemm-nn", true},
        {"*sgemm", "cpu/gemm/sgemm-nn", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"[sd]gemm", "dgemm", true},
        {"[sd]gemm", "zgemm", false},
        {"[!sd]gemm", "zgemm", true},
        {"[!sd]gemm", "sgemm", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[]]", "]", true},
        {"[a", "[a", true}, /* never closed: itself */
        {"[a", "a", false},
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"a*b*c", "a--b--b--c", true},
        {"a*b*c", "a--c--b", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (dp_glob_match(rows[i].pattern, rows[i].string) != rows[i].match) {
            fail_msg("'%s' against '%s'", rows[i].pattern, rows[i].string);
        }
    }
    assert_true(dp_glob_is("a*"));
    assert_false(dp_glob_is("cpu/gemm/sgemm-nn"));
    char *escaped = dp_glob_escape("/a[1]/*b?\\");
    assert_string_equal(escaped, "/a\\[1\\]/\\*b\\?\\\\");
    free(escaped);
    escaped = dp_glob_escape("");
    assert_string_equal(escaped, "");
    free(escaped);
}

/* A pattern of many stars must not take exponential time: this ends at once or never. */
static void test_glob_is_not_exponential(void **state)
{
    char string[4001];
    memset(string, 'a', 4000);
    string[4000] = '\0';
    assert_false(dp_glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", string));
}

static void test_suggest(void **state)
{
    static const char *const words[] = {"run", "list", "show", "validate", "doctor"};
    assert_int_equal(dp_edit_distance("", "abc"), 3);
    assert_int_equal(dp_edit_distance("list", "lsit"), 1); /* neighbours swapped */
    assert_int_equal(dp_edit_distance("same", "same"), 0);
    assert_string_equal(dp_suggest("lsit", words, COUNT(words)), "list");
    assert_string_equal(dp_suggest("validat", words, COUNT(words)), "validate");
    assert_null(dp_suggest("frobnicate", words, COUNT(words)));
    assert_null(dp_suggest("zz", words, COUNT(words)));
    assert_null(dp_suggest("x", NULL, 0));
    char longest[1000];
    memset(longest, 'v', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(dp_suggest(longest, words, COUNT(words)));
}

static void test_parse_duration(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"50s", 50000000000},   {"2m", 120000000000}, {"1h", 3600000000000},
                {"250ms", 250000000},   {"50", 50000000000},  {"0", 0},
                {"7d", 604800000000000}};
    static const char *const bad[] = {
        "", "s", "-1s", "1.5s", "1 s", "1w", "99999999999999s", "999999999h", "999999999d", "1ss"};
    struct dp_err err;
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t ns = -1;
        assert_int_equal(dp_parse_duration(good[i].text, &ns, &err), 0);
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t ns = -1;
        if (dp_parse_duration(bad[i], &ns, &err) == 0) {
            fail_msg("'%s' was taken as %lld ns", bad[i], (long long)ns);
        }
        assert_int_equal(err.code, DP_EXIT_USAGE);
        assert_int_equal(ns, -1);
    }
}

static void test_parse_share(void **state)
{
    static const struct {
        const char *text;
        double share;
    } good[] = {{"0.002", 0.002}, {"2e-3", 0.002}, {"0.2%", 0.002},
                {".5", 0.5},      {"99%", 0.99},   {"1E-9", 1e-9}};
    static const char *const bad[] = {"",     "0", "1", "100%", "-0.1",  "0x1p-3", "inf",    "nan",  "0,2",
                                      "0.2x", "%", ".", "1e",   "0.2%%", " 0.2",   "1e-400", "1/500"};
    struct dp_err err;
    for (size_t i = 0; i < COUNT(good); i++) {
        double share = -1;
        assert_int_equal(dp_parse_share(good[i].text, &share, &err), 0);
        assert_true(share == good[i].share);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        double share = -1;
        if (dp_parse_share(bad[i], &share, &err) == 0) {
            fail_msg("'%s' was taken as %g", bad[i], share);
        }
        assert_int_equal(err.code, DP_EXIT_USAGE);
        assert_true(share == -1);
    }
}

static void test_parse_int(void **state)
{
    struct dp_err err;
    int64_t value = 7;
    assert_int_equal(dp_parse_int("-12", -100, 100, &value, &err), 0);
    assert_int_equal(value, -12);
    assert_int_equal(dp_parse_int("9223372036854775807", 0, INT64_MAX, &value, &err), 0);
    assert_true(value == INT64_MAX);
    static const char *const bad[] = {"",     "-",   "+1",  " 1",   "1 ",
                                      "0x10", "1e3", "101", "-101", "9223372036854775808"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        value = 7;
        assert_int_equal(dp_parse_int(bad[i], -100, 100, &value, &err), -1);
        assert_int_equal(value, 7);
    }
}

static void check_printable(const char *input, const char *expected)
{
    char *text = dp_printable(input, strlen(input));
    assert_string_equal(text, expected);
    free(text);
}

static void test_fit(void **state)
{
    const char *string = "a\xc3\xa9\xe2\x82\xac"; /* 1, 2 and 3 bytes */
    static const size_t fits[] = {0, 1, 1, 3, 3, 3, 6, 6};
    for (size_t most = 0; most < COUNT(fits); most++) {
        assert_int_equal(dp_text_fit(string, most), fits[most]);
    }
    assert_int_equal(dp_text_fit("\x80\x80\x80", 2), 0);
    assert_int_equal(dp_text_fit("", 0), 0);
}

static void test_printable(void **state)
{
    check_printable("plain", "plain");
    check_printable("a\tb\x7f\x1b]0;x\x07", "a?b??]0;x?");
    check_printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    check_printable("\xc2\x9b", "?");     /* C1: what some terminals take for ESC [ */
    check_printable("\xe2\x80\xae", "?"); /* turns the text around */
    check_printable("##vso[task.prependpath]/x ##[error]", "?#vso[task.prependpath]/x ?#[error]");
    check_printable("# ## ##v ##vso ##x[", "# ## ##v ##vso ##x[");
    check_printable("\xd8\x9c", "?");                        /* U+061C, so does this one */
    check_printable("\xf3\xa0\x81\x81", "?");                /* U+E0041, a tag: nobody sees it */
    check_printable("\xd8\x9b\xd8\x9d", "\xd8\x9b\xd8\x9d"); /* its neighbours are letters */
    check_printable("\xc0\xaf", "??");                       /* overlong */
    check_printable("\xed\xa0\x80", "???");                  /* half a surrogate pair */
    check_printable("\xf4\x90\x80\x80", "????");             /* beyond Unicode */
    check_printable("\xe2\x82", "??");                       /* cut off */
    char *text = dp_printable("a\0b", 3);
    assert_string_equal(text, "a?b");
    free(text);
}

static void test_digest(void **state)
{
    char hex[DP_SHA256_HEX];
    dp_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    dp_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(dp_xxh3_64("", 0) == UINT64_C(0x2d06800538d394c2));
    const struct dp_hash128 hash = dp_xxh3_128("", 0);
    assert_true(hash.high == UINT64_C(0x99aa06d3014798d8) && hash.low == UINT64_C(0x6001c324468d497f));
}

static void test_clock(void **state)
{
    char stamp[21];
    const int64_t before = dp_now_ns();
    dp_utc_now(stamp);
    assert_int_equal(strlen(stamp), 20);
    assert_true(stamp[4] == '-' && stamp[10] == 'T' && stamp[19] == 'Z');
    assert_true(dp_now_ns() >= before);
    int64_t seconds = 0;
    assert_int_equal(dp_utc_read(stamp, &seconds), 0);
    assert_true(seconds > 1700000000);
    assert_int_equal(dp_utc_read("1970-01-02T00:00:01Z", &seconds), 0);
    assert_int_equal(seconds, 86401);
    assert_int_equal(dp_utc_read("2028-02-29T23:59:59Z", &seconds), 0);
    static const char *const bad[] = {"",
                                      "2026-01-31",
                                      "2026-02-29T00:00:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-01-31T24:00:00Z",
                                      "2026-01-31T12:00:00",
                                      "2026-01-31T12:00:00Z ",
                                      " 2026-01-31T12:00:00Z",
                                      "2026-1-31T12:00:00Z",
                                      "2026-01-31T12:00:60Z"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (dp_utc_read(bad[i], &seconds) == 0) {
            fail_msg("'%s' was taken as a time", bad[i]);
        }
    }
}

static void test_json_parse_is_strict(void **state)
{
    static const char *const bad[] = {
        "",      "{",          "{\"a\":1,\"a\":2}", "[1,]",    "[NaN]",
        "[1] x", "[\"\xff\"]", "[\"\\u0000\"]",     "[1e999]", "[99999999999999999999]",
        "'a'",   "[01]",
    };
    struct dp_err err;
    for (size_t i = 0; i < COUNT(bad); i++) {
        err = (struct dp_err){0};
        if (dp_json_parse(bad[i], strlen(bad[i]), "x", &err)) {
            fail_msg("'%s' was taken", bad[i]);
        }
        assert_int_equal(err.code, DP_EXIT_DATA);
    }
    assert_null(dp_json_parse("[1]\0", 4, "x", &err));
    json_t *value = dp_json_parse("{\"a\":[1,2]}", 11, "x", &err);
    assert_non_null(value);
    json_decref(value);
    /* deeper than any stack could hold */
    char *deep = dp_alloc(100001, 1);
    memset(deep, '[', 100000);
    assert_null(dp_json_parse(deep, 100000, "deep", &err));
    free(deep);
}

static void test_json_load(void **state)
{
    struct dp_err err;
    char *path = scratch_write("a.json", "{\"a\":1}");
    json_t *value = dp_json_load(path, 100, &err);
    assert_int_equal(dp_json_int(value, "a", 0), 1);
    json_decref(value);
    assert_null(dp_json_load(path, 6, &err));
    assert_non_null(strstr(err.text, "larger than 6 bytes"));
    value = dp_json_load(path, 7, &err); /* exactly the limit */
    assert_non_null(value);
    json_decref(value);
    free(path);
    assert_null(dp_json_load("/nonexistent/x.json", 100, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_string_equal(err.text, "cannot open '/nonexistent/x.json': no such file or directory");
    assert_null(dp_json_load(scratch(), 100, &err)); /* a folder */
    assert_null(dp_json_load("/dev/zero", 100, &err));
    assert_non_null(strstr(err.text, "larger than"));
}

static void check_canonical(const char *text, const char *expected)
{
    struct dp_err err;
    size_t length = 0;
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    char *canonical = dp_json_canonical(value, &length, &err);
    assert_string_equal(canonical, expected);
    assert_int_equal(length, strlen(expected));
    free(canonical);
    json_decref(value);
}

static void check_no_canonical(const char *text, const char *place)
{
    struct dp_err err = {0};
    size_t length = 0;
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    assert_null(dp_json_canonical(value, &length, &err));
    if (!strstr(err.text, place)) {
        fail_msg("'%s' does not name '%s'", err.text, place);
    }
    json_decref(value);
}

static void test_json_canonical(void **state)
{
    check_canonical("{ \"b\": 1, \"a\": [true, null, -5], \"A\": {} }",
                    "{\"A\":{},\"a\":[true,null,-5],\"b\":1}");
    check_canonical("\"a/\\\"\\\\\xc3\xa4\"", "\"a/\\\"\\\\\xc3\xa4\"");
    check_canonical("[9007199254740991, -9007199254740991]", "[9007199254740991,-9007199254740991]");
    check_no_canonical("[9007199254740992]", "'/0'");
    check_no_canonical("[-9223372036854775808]", "'/0'");
    check_no_canonical("{\"a\":[0,{\"b\":1.5}]}", "'/a/1/b'");
    check_no_canonical("{\"a\":1.0}", "'/a'");
    check_no_canonical("{\"\xc3\xa4\":1}", "printable ASCII");
    check_no_canonical("[\"a\\nb\"]", "control character");
    check_no_canonical("[\"\x7f\"]", "control character");
    struct dp_text deep = DP_TEXT(10000);
    for (int i = 0; i < 300; i++) {
        dp_text_put(&deep, "[");
    }
    for (int i = 0; i < 300; i++) {
        dp_text_put(&deep, "]");
    }
    check_no_canonical(deep.data, "nesting");
    dp_text_free(&deep);
}

static void test_json_members(void **state)
{
    json_t *object = json_loads("{\"s\":\"x\",\"i\":3,\"r\":2.5,\"a\":[\"p\",1]}", 0, NULL);
    assert_string_equal(dp_json_string(object, "s", "?"), "x");
    assert_string_equal(dp_json_string(object, "i", "?"), "?");
    assert_int_equal(dp_json_int(object, "i", -1), 3);
    assert_int_equal(dp_json_int(object, "r", -1), -1);
    assert_true(dp_json_number(object, "i", 0) == 3 && dp_json_number(object, "r", 0) == 2.5);
    assert_true(dp_json_number(object, "s", 7) == 7);
    assert_true(dp_json_array_has(json_object_get(object, "a"), "p"));
    assert_false(dp_json_array_has(json_object_get(object, "a"), "q"));
    assert_false(dp_json_array_has(NULL, "p"));
    assert_int_equal(dp_json_int(NULL, "i", 9), 9);
    json_decref(object);
}

static void test_json_index(void **state)
{
    json_t *list =
        json_loads("[{\"id\":\"b\",\"n\":1},{\"id\":\"a\"},{\"id\":\"b\",\"n\":2},{\"n\":3},7]", 0, NULL);
    json_t *index = dp_json_index(list, "id"), *keys = dp_json_keys(index);
    assert_int_equal(json_array_size(keys), 3);
    assert_string_equal(json_string_value(json_array_get(keys, 0)), "b");
    assert_string_equal(json_string_value(json_array_get(keys, 1)), "a");
    assert_int_equal(dp_json_int(json_object_get(index, "b"), "n", -1), 2);
    assert_non_null(json_object_get(index, ""));
    json_t *none = dp_json_index(NULL, "id");
    assert_int_equal(json_object_size(none), 0);
    json_decref(none);
    json_decref(keys);
    json_decref(index);
    json_decref(list);
}

static void test_json_count_and_group(void **state)
{
    json_t *counts = json_object(), *arrays = json_object();
    dp_json_count(counts, "a");
    dp_json_count(counts, "b");
    dp_json_count(counts, "a");
    assert_int_equal(dp_json_int(counts, "a", 0), 2);
    assert_int_equal(dp_json_int(counts, "b", 0), 1);
    dp_json_group(arrays, "a", json_string("x"));
    dp_json_group(arrays, "a", json_string("y"));
    dp_json_group(arrays, NULL, json_string("no key"));
    assert_int_equal(json_object_size(arrays), 1);
    assert_int_equal(json_array_size(json_object_get(arrays, "a")), 2);
    assert_true(dp_json_array_has(json_object_get(arrays, "a"), "y"));
    json_decref(counts);
    json_decref(arrays);
}

static void check_content(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void test_file_write(void **state)
{
    struct dp_err err;
    char *path = scratch_write("out", "old");
    chmod(path, 0640);
    assert_int_equal(dp_file_write(path, "new", 3, &err), 0);
    check_content(path, "new");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);

    /* A link stays a link, its target is what changes; a dangling one gets a target. */
    char *link = dp_printf("%s/link", scratch());
    char *dangling = dp_printf("%s/dangling", scratch());
    char *target = dp_printf("%s/target", scratch());
    assert_int_equal(symlink("out", link), 0);
    assert_int_equal(symlink(target, dangling), 0);
    assert_int_equal(dp_file_write(link, "through", 7, &err), 0);
    check_content(path, "through");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(dp_file_write(dangling, "made", 4, &err), 0);
    check_content(target, "made");
    char *loop = dp_printf("%s/loop", scratch());
    assert_int_equal(symlink("loop", loop), 0);
    assert_int_equal(dp_file_write(loop, "x", 1, &err), -1);
    assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
    free(loop);
    free(target);
    free(dangling);
    free(link);
    free(path);
}

static size_t count_entries(const char *folder)
{
    char *command = dp_printf("ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "re");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    free(command);
    return (size_t)count;
}

static void test_file_write_fails_clearly(void **state)
{
    struct dp_err err;
    assert_int_equal(dp_file_write("/nonexistent/x", "x", 1, &err), -1);
    assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
    assert_string_equal(err.text, "cannot write '/nonexistent/x': no such file or directory");
    assert_int_equal(dp_file_write("/dev/full", "x", 1, &err), -1); /* a device: in place */
    assert_non_null(strstr(err.text, "no space left"));
    assert_int_equal(dp_file_write("/dev/null", "x", 1, &err), 0);
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    char *folder = dp_printf("%s/folder", scratch());
    assert_int_equal(mkdir(folder, 0755), 0);
    const size_t before = count_entries(scratch());
    assert_int_equal(dp_file_write(folder, "x", 1, &err), -1);
    assert_int_equal(count_entries(scratch()), before); /* nothing temporary is left */
    free(folder);
}

/* Both versions of control groups as the kernel lays them out. */
static void test_cgroup_unified(void **state)
{
    struct dp_cgroup cgroup;
    scratch_write_in("v2/proc/self/cgroup", "0::/user/job\n");
    scratch_write_in("v2/proc/self/mountinfo",
                     "30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
    scratch_write_in("v2/sys/fs/cgroup/user/memory.max", "1000000\n");
    scratch_write_in("v2/sys/fs/cgroup/user/memory.current", "700000\n");
    scratch_write_in("v2/sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 200000\n");
    scratch_write_in("v2/sys/fs/cgroup/user/cpu.max", "150000 100000\n");
    scratch_write_in("v2/sys/fs/cgroup/user/job/memory.max", "max\n");
    scratch_write_in("v2/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    char *root = dp_printf("%s/v2", scratch());
    dp_cgroup_read(root, &cgroup);
    free(root);
    assert_int_equal(cgroup.memory_limit, 1000000); /* of the parent */
    assert_int_equal(cgroup.memory_available, 500000);
    assert_int_equal(cgroup.cpu_hundredths, 150);
}

static void test_cgroup_legacy(void **state)
{
    struct dp_cgroup cgroup;
    scratch_write_in("v1/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
    scratch_write_in("v1/proc/self/mountinfo",
                     "31 1 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                     "32 1 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    scratch_write_in("v1/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n");
    scratch_write_in("v1/sys/fs/cgroup/memory/memory.usage_in_bytes", "2500000\n");
    scratch_write_in("v1/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    scratch_write_in("v1/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    char *root = dp_printf("%s/v1", scratch());
    dp_cgroup_read(root, &cgroup);
    assert_int_equal(cgroup.memory_limit, 2000000);
    assert_int_equal(cgroup.memory_available, 0);
    assert_true(cgroup.cpu_hundredths == DP_CGROUP_UNLIMITED);
    scratch_write_in("v1/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    dp_cgroup_read(root, &cgroup);
    assert_true(cgroup.memory_limit == DP_CGROUP_UNLIMITED);
    free(root);
}

static void test_cgroup_absent(void **state)
{
    struct dp_cgroup cgroup;
    dp_cgroup_read("/nonexistent", &cgroup);
    assert_true(cgroup.memory_limit == DP_CGROUP_UNLIMITED &&
                cgroup.memory_available == DP_CGROUP_UNLIMITED &&
                cgroup.cpu_hundredths == DP_CGROUP_UNLIMITED);
}

static void test_host(void **state)
{
    json_t *first = dp_host_facts();
    json_t *second = dp_host_facts();
    struct dp_err err;
    size_t length = 0;
    char *canonical = dp_json_canonical(first, &length, &err);
    assert_non_null(canonical);
    free(canonical);
    assert_true(json_equal(first, second)); /* nothing that moves */
    static const char *const members[] = {"arch", "kernel", "libc", "cgroup_cpu", "cgroup_memory", "memory"};
    for (size_t i = 0; i < COUNT(members); i++) {
        assert_non_null(dp_json_string(first, members[i], NULL));
    }
    assert_true(dp_json_int(first, "cores_allowed", 0) >= 1);
    assert_int_equal(dp_json_int(first, "cores_allowed", 0), dp_host_cores_allowed());
    char name[256];
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    const char *key;
    json_t *member;
    json_object_foreach(first, key, member)
    {
        assert_string_not_equal(key, "hostname");
        assert_true(!json_is_string(member) || strcmp(json_string_value(member), name) != 0);
    }
    assert_true(dp_host_memory_available() > 0);
    json_decref(first);
    json_decref(second);
}

static void test_host_variables(void **state)
{
    setenv("OMP_NUM_THREADS", "3", 1);
    setenv("OPENBLAS_CORETYPE", "Has\nwell\xff", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("OMP_", "no setting has this name", 1);
    setenv("NCCL_SOCKET_IFNAME", "eth0", 1);
    setenv("NCCL_ALGO", "Ring", 1);
    setenv("MKL_a/b", "no setting has this name", 1);
    json_t *variables = dp_host_variables();
    assert_string_equal(dp_json_string(variables, "OMP_NUM_THREADS", ""), "3");
    assert_string_equal(dp_json_string(variables, "OPENBLAS_CORETYPE", ""), "Has?well?");
    assert_string_equal(dp_json_string(variables, "NCCL_ALGO", ""), "Ring");
    static const char *const absent[] = {
        "AWS_SECRET_ACCESS_KEY", "OMP_", "NCCL_SOCKET_IFNAME", "MKL_a/b", "HOME", "PATH"};
    for (size_t i = 0; i < COUNT(absent); i++) {
        assert_null(json_object_get(variables, absent[i]));
    }
    char *as_set = json_dumps(variables, JSON_COMPACT),
         *sorted = json_dumps(variables, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(as_set, sorted);
    free(as_set);
    free(sorted);
    json_decref(variables);
}

static void test_versions(void **state)
{
    static const struct {
        const char *a, *b;
        int order;
    } rows[] = {
        {"2.10", "2.9", 1},
        {"2.9", "2.9.0", 0},
        {"2.9.1", "2.9", 1},
        {"2.5.1+cu121", "2.5.1", 0},
        {"2.2.0a0", "2.2", 0},
        {"2024.2-Product", "2024.1", 1},
        {"", "1", -1},
        {"", "0", 0},
        {"007", "7", 0},
        {"1.x", "1", 0},
        {"1..2", "1", 0},
        {"99999999999999999999", "9999999999999999999", 1},
        {"0.3.31.188.0", "0.3.31", 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const int order = dp_version_compare(rows[i].a, rows[i].b),
                  back = dp_version_compare(rows[i].b, rows[i].a);
        assert_int_equal((order > 0) - (order < 0), rows[i].order);
        assert_int_equal((back > 0) - (back < 0), -rows[i].order);
    }
    assert_true(dp_version_known("9") && dp_version_known("1.0-rc"));
    assert_false(dp_version_known("") || dp_version_known("v1") || dp_version_known("unknown"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reason),
        cmocka_unit_test(test_err),
        cmocka_unit_test(test_text_has_a_ceiling),
        cmocka_unit_test(test_glob),
        cmocka_unit_test(test_glob_is_not_exponential),
        cmocka_unit_test(test_suggest),
        cmocka_unit_test(test_parse_duration),
        cmocka_unit_test(test_parse_share),
        cmocka_unit_test(test_parse_int),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_json_parse_is_strict),
        cmocka_unit_test(test_json_load),
        cmocka_unit_test(test_json_canonical),
        cmocka_unit_test(test_json_members),
        cmocka_unit_test(test_json_index),
        cmocka_unit_test(test_json_count_and_group),
        cmocka_unit_test(test_file_write),
        cmocka_unit_test(test_file_write_fails_clearly),
        cmocka_unit_test(test_cgroup_unified),
        cmocka_unit_test(test_cgroup_legacy),
        cmocka_unit_test(test_cgroup_absent),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_host_variables),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
