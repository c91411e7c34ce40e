/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and reading reports. What programs and machines said becomes printable here, once, so that no string
 * of a report can drive a terminal or leave the subset of JSON whose bytes are digested.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"

#define REPORT_LIMIT ((size_t)256 << 20) /* bytes of a file: a deep run of every case stays well below */

const char *const dp_report_axes[] = {"repeat", "fresh", "poison",    "busy", "concurrency", "threads",
                                      "batch",  "align", "algorithm", "isa",  "device",      NULL};

static json_t *printable_text(const char *string, size_t length)
{
    char *shown = dp_printable(string, length);
    json_t *text = json_string(shown);
    free(shown);
    return text;
}

/* Deep copy with every string and key printable. Owned. */
static json_t *printable(const json_t *value)
{
    if (json_is_string(value)) {
        return printable_text(json_string_value(value), json_string_length(value));
    }
    if (json_is_array(value)) {
        json_t *copy = json_array();
        for (size_t i = 0; i < json_array_size(value); i++) {
            json_array_append_new(copy, printable(json_array_get(value, i)));
        }
        return copy;
    }
    if (json_is_object(value)) {
        json_t *copy = json_object();
        void *iterator = json_object_iter((json_t *)(uintptr_t)value);
        while (iterator) {
            const char *key = json_object_iter_key(iterator);
            char *shown = dp_printable(key, strlen(key));
            json_object_set_new(copy, shown, printable(json_object_iter_value(iterator)));
            free(shown);
            iterator = json_object_iter_next((json_t *)(uintptr_t)value, iterator);
        }
        return copy;
    }
    return json_deep_copy(value);
}

static json_t *zero_counts(const char *const *words)
{
    json_t *counts = json_object();
    for (; *words; words++) {
        json_object_set_new(counts, *words, json_integer(0));
    }
    return counts;
}

static void count_word(json_t *counts, const char *word)
{
    json_t *number = json_object_get(counts, word);
    if (number) {
        json_integer_set(number, json_integer_value(number) + 1);
    }
}

static json_t *summarise(const json_t *results)
{
    static const char *const observed_words[] = {"repeats",  "varies",  "wrong", "error",
                                                 "untested", "skipped", NULL};
    static const char *const status_words[] = {"none", "allows", "kept", "broken", NULL};
    json_t *counts = zero_counts(observed_words);
    json_t *guarantees = zero_counts(status_words);
    json_t *nondeterministic = json_array(), *wrong = json_array(), *broken = json_array(),
           *under = json_array();
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        json_t *name = json_object_get(result, "case");
        const char *observed = dp_json_string(result, "observed", "");
        const char *status = dp_json_string(json_object_get(result, "guarantee"), "status", "");
        count_word(counts, observed);
        count_word(guarantees, status);
        if (strcmp(observed, "varies") == 0) {
            json_array_append(nondeterministic, name);
        }
        if (strcmp(observed, "wrong") == 0) {
            json_array_append(wrong, name);
        }
        if (dp_result_wrong_under(result)) {
            json_array_append(under, name);
        }
        if (strcmp(status, "broken") == 0) {
            json_array_append(broken, name);
        }
    }
    json_t *summary = json_pack("{sososososo}", "counts", counts, "guarantees", guarantees,
                                "nondeterministic", nondeterministic, "wrong", wrong, "broken", broken);
    if (json_array_size(under) > 0) { /* most reports have none, and older ones no such member */
        json_object_set(summary, "wrong_under", under);
    }
    json_decref(under);
    return summary;
}

static int body_digest(const json_t *body, char ret_hex[DP_SHA256_HEX], struct dp_err *err)
{
    size_t length = 0;
    char *bytes = dp_json_canonical(body, &length, err);
    if (!bytes) {
        return -1;
    }
    dp_sha256_hex(bytes, length, ret_hex);
    free(bytes);
    return 0;
}

json_t *dp_report_make(const struct dp_report_parts *parts, struct dp_err *err)
{
    char digest[DP_SHA256_HEX];
    json_t *body = json_pack("{sososososo}", "environment", printable(parts->environment), "plan",
                             printable(parts->plan), "results", printable(parts->results), "controls",
                             printable(parts->controls), "summary", summarise(parts->results));
    if (!body) {
        dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot make a report: a part of it is missing");
        return NULL;
    }
    if (body_digest(body, digest, err) != 0) {
        json_decref(body);
        dp_err_prefix(err, "cannot make a report");
        if (err) {
            err->code = DP_EXIT_NO_VERDICT;
        }
        return NULL;
    }
    return json_pack("{ss s{ssss} so so ss}", "schema_version", DP_REPORT_SCHEMA_VERSION, "tool", "name",
                     "detprobe", "version", DP_VERSION, "body", body, "measurements",
                     printable(parts->measurements), "digest", digest);
}

static const char *status_of(const json_t *guarantee)
{
    return dp_json_string(guarantee, "status", NULL);
}

/* May a guarantee of this level have this status? The status of what broke may not be what the level lets
 * pass, nor the other way round. */
static bool status_fits(const char *level, const char *status)
{
    if (strcmp(level, "unstated") == 0) {
        return strcmp(status, "none") == 0;
    }
    if (strcmp(level, "not_guaranteed") == 0) {
        return strcmp(status, "allows") == 0;
    }
    return strcmp(status, "kept") == 0 || strcmp(status, "broken") == 0;
}

/* What a schema cannot say of one result: its parts agree with each other. NULL, or what is wrong. */
static const char *result_fault(const json_t *result)
{
    const char *id = dp_json_string(result, "case", "");
    const char *backend = dp_json_string(result, "backend", "");
    const char *family = dp_json_string(result, "family", "");
    char *prefix = dp_printf("%s/%s/", backend, family);
    const bool own = strncmp(id, prefix, strlen(prefix)) == 0;
    free(prefix);
    const json_t *guarantee = json_object_get(result, "guarantee");
    const char *level = dp_json_string(guarantee, "level", ""), *status = status_of(guarantee);
    const bool varies = strcmp(dp_json_string(result, "observed", ""), "varies") == 0;
    if (!own) {
        return "has a backend or family that is not its id's";
    }
    if (status && !status_fits(level, status)) {
        return "has a status that its guarantee's level does not allow";
    }
    return status && varies && strcmp(status, "kept") == 0 ? "varies and keeps its guarantee" : NULL;
}

/* Each case once, in order. */
static int check_results(const json_t *results, struct dp_err *err)
{
    const char *last = "";
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const char *id = dp_json_string(result, "case", "");
        const char *fault = strcmp(id, last) > 0 ? result_fault(result) : "stands twice or out of order";
        if (fault) {
            return dp_err_set(err, DP_EXIT_DATA, "result '%.160s' %s", id, fault);
        }
        last = id;
    }
    return 0;
}

/* Whether every member of `part` is in `whole`, and the same there: a newer version may count more. */
static bool is_part_of(const json_t *part, const json_t *whole)
{
    const char *key;
    json_t *member;
    bool is = true;
    if (!json_is_object(part)) {
        return json_equal(part, whole);
    }
    json_object_foreach((json_t *)(uintptr_t)part, key, member)
    {
        is = is && is_part_of(member, json_object_get(whole, key));
    }
    return is;
}

/* A member that is left out where it would be empty may not stand there with something in it either. */
static bool summary_follows(const json_t *results, const json_t *claimed)
{
    json_t *summary = summarise(results);
    const char *const omitted = "wrong_under";
    const bool follows =
        is_part_of(summary, claimed) && json_array_size(json_object_get(claimed, omitted)) ==
                                            json_array_size(json_object_get(summary, omitted));
    json_decref(summary);
    return follows;
}

/* A ratio within its interval, of two results that are there; NULL: none is wrong. */
static const char *price_fault(const json_t *price, const json_t *by_case)
{
    const char *id = dp_json_string(price, "case", ""), *pair = dp_json_string(price, "pair", "");
    const double low = dp_json_number(price, "low", 1), high = dp_json_number(price, "high", 1);
    const double ratio = dp_json_number(price, "ratio", low);
    if (!json_object_get(by_case, id) || !json_object_get(by_case, pair) || strcmp(id, pair) == 0) {
        return "is not of two cases of the report";
    }
    return low > 0 && low <= ratio && ratio <= high ? NULL : "is not within its interval";
}

static int check_prices(const json_t *report, struct dp_err *err)
{
    const json_t *prices = json_object_get(json_object_get(report, "measurements"), "prices");
    json_t *by_case = dp_json_index(json_object_get(json_object_get(report, "body"), "results"), "case");
    int rc = 0;
    for (size_t i = 0; i < json_array_size(prices) && rc == 0; i++) {
        const json_t *price = json_array_get(prices, i);
        const char *fault = price_fault(price, by_case);
        if (fault) {
            rc = dp_err_set(err, DP_EXIT_DATA, "the price of '%.160s' %s", dp_json_string(price, "case", ""),
                            fault);
        }
    }
    json_decref(by_case);
    return rc;
}

static int check(const json_t *report, enum dp_schema_reading reading, struct dp_err *err)
{
    char digest[DP_SHA256_HEX];
    const json_t *body = json_object_get(report, "body");
    if (json_object_get(report, "payloadType") && !json_object_get(report, "schema_version")) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "not a report but a signed one, 'detprobe verify' takes the report out");
    }
    if (dp_schema_check_document("report", report, reading, err) != 0 ||
        body_digest(body, digest, err) != 0) {
        if (err) {
            err->code = DP_EXIT_DATA;
        }
        return -1;
    }
    if (strcmp(digest, dp_json_string(report, "digest", "")) != 0) {
        return dp_err_set(err, DP_EXIT_DATA, "the digest is not that of the body, the report was changed");
    }
    if (!summary_follows(json_object_get(body, "results"), json_object_get(body, "summary"))) {
        return dp_err_set(err, DP_EXIT_DATA, "the summary does not follow from the results");
    }
    return check_results(json_object_get(body, "results"), err) || check_prices(report, err) ? -1 : 0;
}

int dp_report_check(const json_t *report, struct dp_err *err)
{
    return check(report, DP_SCHEMA_STRICT, err);
}

int dp_report_accept(const json_t *report, struct dp_err *err)
{
    return check(report, DP_SCHEMA_NEWER, err);
}

json_t *dp_report_load(const char *path, struct dp_err *err)
{
    json_t *report = dp_json_load(path, REPORT_LIMIT, err);
    if (report && dp_report_accept(report, err) != 0) {
        json_decref(report);
        dp_err_prefix(err, "cannot read report '%s'", path);
        return NULL;
    }
    return report;
}

void dp_report_forget_settings(json_t *report)
{
    size_t i;
    json_t *measured;
    json_array_foreach(json_object_get(json_object_get(report, "measurements"), "cases"), i, measured)
    {
        const char *name;
        json_t *axis;
        json_object_foreach(json_object_get(measured, "axes"), name, axis)
        {
            json_object_del(axis, "settings");
        }
    }
}

const json_t *dp_report_entry(const json_t *entries, const char *id)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (strcmp(dp_json_string(entry, "case", ""), id) == 0) {
            return entry;
        }
    }
    return NULL;
}

bool dp_result_is(const json_t *result, const char *observed)
{
    return strcmp(dp_json_string(result, "observed", ""), observed) == 0;
}

bool dp_result_ran(const json_t *result)
{
    return dp_result_is(result, "repeats") || dp_result_is(result, "varies") || dp_result_is(result, "wrong");
}

bool dp_result_broken(const json_t *result)
{
    return strcmp(dp_json_string(json_object_get(result, "guarantee"), "status", ""), "broken") == 0;
}

bool dp_result_wrong_under(const json_t *result)
{
    return json_array_size(json_object_get(result, "wrong_under")) > 0;
}

bool dp_backend_ran(const json_t *results, const char *backend)
{
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        if (dp_result_ran(result) && strcmp(dp_json_string(result, "backend", ""), backend) == 0) {
            return true;
        }
    }
    return false;
}

bool dp_control_insensitive(const json_t *control)
{
    return strcmp(dp_json_string(control, "expected", ""), "varies") == 0 &&
           strcmp(dp_json_string(control, "observed", ""), "repeats") == 0 &&
           !json_object_get(control, "mismatches");
}

bool dp_control_misbehaved(const json_t *control)
{
    const char *observed = dp_json_string(control, "observed", "");
    return !json_is_true(json_object_get(control, "behaved")) && !dp_control_insensitive(control) &&
           strcmp(observed, "skipped") != 0 && strcmp(observed, "untested") != 0;
}
