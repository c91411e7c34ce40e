/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and strictly reading reports: the digest covers the body alone and the same body gives the same
 * digest; what was changed, cut or made by a later version is refused with one line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/model.h"
#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

static json_t *parts_new(const char *name)
{
    struct dp_err err = {0};
    char *path = dp_printf(DP_TEST_SOURCE_DIR "/golden/%s.parts.json", name);
    json_t *parts = dp_json_load(path, (size_t)1 << 20, &err);
    assert_string_equal(err.text, "");
    free(path);
    return parts;
}

static json_t *make(const json_t *parts, struct dp_err *err)
{
    const struct dp_report_parts given = {.environment = json_object_get(parts, "environment"),
                                          .plan = json_object_get(parts, "plan"),
                                          .results = json_object_get(parts, "results"),
                                          .controls = json_object_get(parts, "controls"),
                                          .measurements = json_object_get(parts, "measurements")};
    return dp_report_make(&given, err);
}

static json_t *report_new(const char *name)
{
    struct dp_err err = {0};
    json_t *parts = parts_new(name);
    json_t *report = make(parts, &err);
    assert_string_equal(err.text, "");
    json_decref(parts);
    return report;
}

static json_t *first_result(const json_t *report)
{
    return json_array_get(json_object_get(json_object_get(report, "body"), "results"), 0);
}

static void assert_refused(const json_t *report, const char *words)
{
    struct dp_err err = {0};
    assert_int_equal(dp_report_check(report, &err), -1);
    assert_int_equal(err.code, DP_EXIT_DATA);
    if (!strstr(err.text, words)) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
}

static void test_summary(void **state)
{
    json_t *report = report_new("findings");
    const json_t *summary = json_object_get(json_object_get(report, "body"), "summary");
    const json_t *counts = json_object_get(summary, "counts");
    assert_int_equal(dp_json_int(counts, "repeats", -1), 5);
    assert_int_equal(dp_json_int(counts, "varies", -1), 7);
    assert_int_equal(dp_json_int(counts, "wrong", -1), 1);
    assert_int_equal(dp_json_int(counts, "error", -1), 1);
    assert_int_equal(dp_json_int(counts, "untested", -1), 1);
    assert_int_equal(dp_json_int(counts, "skipped", -1), 4);
    assert_int_equal(dp_json_int(json_object_get(summary, "guarantees"), "broken", -1), 2);
    assert_true(dp_json_array_has(json_object_get(summary, "broken"), "cpu/conv/fwd-auto"));
    assert_false(dp_json_array_has(json_object_get(summary, "nondeterministic"), "cpu/conv/fwd-auto"));
    assert_true(dp_json_array_has(json_object_get(summary, "wrong"), "cpu/gemm/strsm-ln-96"));
    json_decref(report);
}

static void test_digest_covers_the_body_alone(void **state)
{
    struct dp_err err = {0};
    json_t *parts = parts_new("findings");
    json_t *a = make(parts, &err);
    json_object_set_new(json_object_get(parts, "measurements"), "seconds", json_real(99.5));
    json_t *b = make(parts, &err);
    json_object_set_new(json_object_get(parts, "plan"), "runs", json_integer(9));
    json_t *c = make(parts, &err);
    assert_string_equal(dp_json_string(a, "digest", "a"), dp_json_string(b, "digest", "b"));
    assert_string_not_equal(dp_json_string(b, "digest", "b"), dp_json_string(c, "digest", "c"));
    json_decref(a);
    json_decref(b);
    json_decref(c);
    json_decref(parts);
}

/* The digest of a body that was computed elsewhere: sorted, compact, without escapes of what needs none. */
static void test_digest_is_that_of_canonical_json(void **state)
{
    json_t *report = report_new("empty");
    struct dp_err err = {0};
    char *path = dp_strdup(DP_TEST_SOURCE_DIR "/corpus/good-empty.json");
    json_t *known = dp_report_load(path, &err);
    assert_string_equal(err.text, "");
    assert_string_equal(dp_json_string(report, "digest", "a"), dp_json_string(known, "digest", "b"));
    free(path);
    json_decref(known);
    json_decref(report);
}

static void test_reals_do_not_enter_the_body(void **state)
{
    struct dp_err err = {0};
    json_t *parts = parts_new("clean");
    json_object_set_new(json_array_get(json_object_get(parts, "results"), 0), "share", json_real(0.5));
    assert_null(make(parts, &err));
    assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
    json_decref(parts);
}

static void test_hostile_strings_become_printable(void **state)
{
    json_t *report = report_new("hostile");
    char *text = dp_json_pretty(report);
    struct dp_err err = {0};
    assert_int_equal(dp_report_check(report, &err), 0);
    assert_null(strstr(text, "\\u001b"));
    assert_null(strstr(text, "\\u0007"));
    free(text);
    json_decref(report);
}

static void test_refusals(void **state)
{
    json_t *report = report_new("clean");
    struct dp_err err = {0};
    assert_int_equal(dp_report_check(report, &err), 0);

    json_object_set_new(first_result(report), "sensitive_to", json_pack("[s]", "isa"));
    assert_refused(report, "digest");
    json_object_set_new(first_result(report), "observed", json_string("flaky"));
    assert_refused(report, "/body/results/0");
    json_object_set_new(report, "schema_version", json_string("2.0"));
    assert_refused(report, "unknown schema version '2.0'");
    json_object_set_new(report, "schema_version", json_string("1.1"));
    assert_refused(report, "unknown schema version '1.1'");
    json_object_set_new(report, "schema_version", json_integer(1));
    assert_refused(report, "no 'schema_version'");
    json_decref(report);

    json_t *array = json_array();
    assert_refused(array, "no 'schema_version'");
    json_decref(array);
    assert_refused(NULL, "no 'schema_version'");
}

/* Who uses a report passes over what a newer minor version adds; who judges one does not, and nobody reads
 * another major version. */
static void test_newer_versions(void **state)
{
    struct dp_err err = {0};
    json_t *report = report_new("clean");
    json_object_set_new(report, "schema_version", json_string("1.3"));
    json_object_set_new(json_object_get(report, "measurements"), "later", json_real(0.5));
    assert_int_equal(dp_report_accept(report, &err), 0);
    assert_refused(report, "unknown schema version '1.3'");
    json_object_set_new(report, "schema_version", json_string("1.0"));
    assert_int_equal(dp_report_accept(report, &err), -1);
    assert_non_null(strstr(err.text, "unknown member 'later'"));
    json_object_set_new(report, "schema_version", json_string("2.0"));
    assert_int_equal(dp_report_accept(report, &err), -1);
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_non_null(strstr(err.text, "unknown schema version '2.0', this detprobe reads 1.0"));
    /* what is known is as strict as ever */
    json_object_set_new(report, "schema_version", json_string("1.3"));
    json_object_set_new(json_object_get(report, "measurements"), "seconds", json_string("9"));
    assert_int_equal(dp_report_accept(report, &err), -1);
    assert_non_null(strstr(err.text, "/measurements/seconds"));
    json_decref(report);
}

/* A finding in the summary that no result has, under a digest that is right. */
static void test_summary_with_more_than_the_results(void **state)
{
    static const char *const versions[] = {"1.0", "1.3"};
    for (size_t i = 0; i < 2; i++) {
        struct dp_err err = {0};
        char digest[DP_SHA256_HEX];
        size_t length = 0;
        json_t *report = report_new("clean"), *body = json_object_get(report, "body");
        json_object_set_new(json_object_get(body, "summary"), "wrong_under",
                            json_pack("[O]", json_object_get(first_result(report), "case")));
        char *bytes = dp_json_canonical(body, &length, NULL);
        dp_sha256_hex(bytes, length, digest);
        json_object_set_new(report, "digest", json_string(digest));
        json_object_set_new(report, "schema_version", json_string(versions[i]));
        assert_int_equal(dp_report_accept(report, &err), -1);
        assert_int_equal(err.code, DP_EXIT_DATA);
        assert_string_equal(err.text, "the summary does not follow from the results");
        free(bytes);
        json_decref(report);
    }
}

static void test_load(void **state)
{
    struct dp_err err = {0};
    char path[] = "/tmp/detprobe-report-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    json_t *report = report_new("findings");
    assert_int_equal(dp_json_write(path, report, &err), 0);
    json_t *again = dp_report_load(path, &err);
    assert_true(json_equal(report, again));
    json_decref(again);

    char *text = dp_json_pretty(report);
    assert_int_equal(dp_file_write(path, text, strlen(text) / 2, &err), 0);
    assert_null(dp_report_load(path, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_non_null(strstr(err.text, path));

    json_object_del(json_object_get(report, "body"), "plan");
    assert_int_equal(dp_json_write(path, report, &err), 0);
    err = (struct dp_err){0};
    assert_null(dp_report_load(path, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_non_null(strstr(err.text, path));
    unlink(path);
    assert_null(dp_report_load(path, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    free(text);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_digest_covers_the_body_alone),
        cmocka_unit_test(test_digest_is_that_of_canonical_json),
        cmocka_unit_test(test_reals_do_not_enter_the_body),
        cmocka_unit_test(test_hostile_strings_become_printable),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_newer_versions),
        cmocka_unit_test(test_summary_with_more_than_the_results),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
