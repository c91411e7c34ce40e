/* SPDX-License-Identifier: Apache-2.0
 *
 * What is signed of a report: the in-toto statement, made and read.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/gate/gate.h"
#include "reports/model.h"
#include "reports/sign/sign.h"
#include "suite/base/clock.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define PREDICATE_TYPE "https://in-toto.io/attestation/test-result/v0.1"
/* Our own member: in-toto asks for a type URI where producers add one. */
#define SIGNING "https://detprobe.dev/signing/v1"
enum { CLOCK_SKEW = 300 }; /* seconds by which the clocks of two machines may differ */

static const char *const lists[] = {"passedTests", "warnedTests", "failedTests"};
enum { PASSED, WARNED, FAILED, LIST_COUNT };

/* Which list a case belongs into; LIST_COUNT: none, it was skipped. */
static int list_of(const json_t *result)
{
    static const struct {
        const char *observed;
        int list;
    } rows[] = {
        {"repeats", PASSED}, {"varies", WARNED}, {"untested", WARNED}, {"wrong", FAILED}, {"error", FAILED}};
    if (dp_result_broken(result) || dp_result_wrong_under(result)) {
        return FAILED;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (dp_result_is(result, rows[i].observed)) {
            return rows[i].list;
        }
    }
    return LIST_COUNT;
}

static const char *result_word(const json_t *report, json_t *const of[LIST_COUNT])
{
    char *invalid = dp_report_invalid(report);
    const bool failed = invalid || json_array_size(of[FAILED]) > 0;
    free(invalid);
    return failed                                                            ? "FAILED"
           : json_array_size(of[WARNED]) > 0 || !json_array_size(of[PASSED]) ? "WARNED"
                                                                             : "PASSED";
}

/* {result, passedTests, warnedTests, failedTests}: what follows from the report. */
static json_t *outcome_of(const json_t *report)
{
    json_t *of[LIST_COUNT] = {json_array(), json_array(), json_array()}, *outcome = json_object();
    const json_t *results = json_object_get(json_object_get(report, "body"), "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const int list = list_of(result);
        if (list < LIST_COUNT) {
            json_array_append(of[list], json_object_get(result, "case"));
        }
    }
    json_object_set_new(outcome, "result", json_string(result_word(report, of)));
    for (int i = 0; i < LIST_COUNT; i++) {
        json_object_set_new(outcome, lists[i], of[i]);
    }
    return outcome;
}

/* A part of the body, by its digest: two runs of one configuration have the same. */
static json_t *descriptor(const json_t *report, const char *part)
{
    char digest[DP_SHA256_HEX];
    size_t length = 0;
    char *bytes = dp_json_canonical(json_object_get(json_object_get(report, "body"), part), &length, NULL);
    dp_sha256_hex(bytes ? bytes : "", length, digest);
    free(bytes);
    return json_pack("{ss s{ss}}", "name", part, "digest", "sha256", digest);
}

static json_t *configuration_of(const json_t *report)
{
    const char *version = dp_json_string(json_object_get(report, "tool"), "version", "");
    char *tool = dp_printf("pkg:generic/detprobe@%s", version);
    json_t *configuration = json_pack("[{ss ss} o o]", "name", "detprobe", "uri", tool,
                                      descriptor(report, "plan"), descriptor(report, "environment"));
    free(tool);
    return configuration;
}

static json_t *statement_of(const json_t *report, const char *bytes, size_t length,
                            const struct dp_signing *signing)
{
    char digest[DP_SHA256_HEX];
    dp_sha256_hex(bytes, length, digest);
    char *content = dp_base64_encode(bytes, length),
         *name = dp_printable(signing->name, strlen(signing->name)),
         *host = dp_printable(signing->host, strlen(signing->host));
    json_t *predicate = outcome_of(report);
    json_object_set_new(predicate, "configuration", configuration_of(report));
    json_object_set_new(
        predicate, SIGNING,
        json_pack("{ss ss ss}", "time", signing->time, "host_name", host, "tool", "detprobe " DP_VERSION));
    json_t *statement =
        json_pack("{ss s[{ss s{ss} ss ss}] ss so}", "_type", STATEMENT_TYPE, "subject", "name", name,
                  "digest", "sha256", digest, "mediaType", "application/json", "content", content,
                  "predicateType", PREDICATE_TYPE, "predicate", predicate);
    free(content);
    free(name);
    free(host);
    return statement;
}

static json_t *read_report(const char *bytes, size_t length, const char *name, struct dp_err *err)
{
    json_t *report = dp_json_parse(bytes, length, name, err);
    if (report && dp_report_accept(report, err) != 0) {
        dp_err_prefix(err, "cannot read report '%.200s'", name);
        json_decref(report);
        return NULL;
    }
    return report;
}

json_t *dp_report_sign(const char *bytes, size_t length, const struct dp_key *key,
                       const struct dp_signing *signing, struct dp_err *err)
{
    json_t *report = read_report(bytes, length, signing->name, err);
    if (!report) {
        return NULL;
    }
    json_t *statement = statement_of(report, bytes, length, signing);
    char *payload = json_dumps(statement, JSON_COMPACT | JSON_SORT_KEYS);
    json_t *envelope = dp_envelope_make(key, DP_SIGNED_TYPE, payload, strlen(payload), err);
    free(payload);
    json_decref(statement);
    json_decref(report);
    return envelope;
}

/* --- reading --- */

static const json_t *subject_of(const json_t *statement)
{
    return json_array_get(json_object_get(statement, "subject"), 0);
}

/* The bytes that the statement is about: those that it carries, if their digest is the subject's. */
static int take_content(const json_t *statement, struct dp_signed *ret, struct dp_err *err)
{
    char digest[DP_SHA256_HEX];
    const json_t *subject = subject_of(statement);
    ret->bytes = (char *)dp_base64_decode(dp_json_string(subject, "content", ""), &ret->length);
    if (!ret->bytes) {
        return dp_err_set(err, DP_EXIT_DATA, "at '/subject/0/content': no base64");
    }
    dp_sha256_hex(ret->bytes, ret->length, digest);
    return strcmp(digest, dp_json_string(json_object_get(subject, "digest"), "sha256", "")) == 0
               ? 0
               : dp_err_set(err, DP_EXIT_DATA, "the subject's digest is not that of the report in it");
}

/* Whoever reads the predicate alone must not be told something else than the report says. */
static int check_outcome(const json_t *predicate, const json_t *report, struct dp_err *err)
{
    json_t *outcome = outcome_of(report);
    const char *wrong = NULL, *key;
    json_t *value;
    json_object_foreach(outcome, key, value)
    {
        if (!wrong && !json_equal(value, json_object_get(predicate, key))) {
            wrong = key;
        }
    }
    const int rc =
        wrong ? dp_err_set(err, DP_EXIT_DATA, "'%s' of the statement does not follow from the report", wrong)
              : 0;
    json_decref(outcome);
    return rc;
}

static int check_types(const json_t *statement, struct dp_err *err)
{
    const char *type = dp_json_string(statement, "_type", ""),
               *predicate = dp_json_string(statement, "predicateType", "");
    if (strcmp(type, STATEMENT_TYPE) != 0 || strcmp(predicate, PREDICATE_TYPE) != 0) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "signed is a statement of type '%.80s' about '%.80s', not a test result", type,
                          predicate);
    }
    return dp_schema_check(dp_schema_builtin("statement"), statement, err);
}

static int read_statement(const char *payload, size_t length, struct dp_signed *ret, struct dp_err *err)
{
    ret->statement = dp_json_parse(payload, length, "signed statement", err);
    if (!ret->statement || check_types(ret->statement, err) != 0 ||
        take_content(ret->statement, ret, err) != 0) {
        return -1;
    }
    const json_t *predicate = json_object_get(ret->statement, "predicate");
    const json_t *signing = json_object_get(predicate, SIGNING);
    ret->name = dp_json_string(subject_of(ret->statement), "name", "");
    ret->time = dp_json_string(signing, "time", "");
    ret->host = dp_json_string(signing, "host_name", "");
    ret->result = dp_json_string(predicate, "result", "");
    ret->report = read_report(ret->bytes, ret->length, ret->name, err);
    return ret->report ? check_outcome(predicate, ret->report, err) : -1;
}

int dp_report_verify(const json_t *envelope, const struct dp_key *key, struct dp_signed *ret,
                     struct dp_err *err)
{
    *ret = (struct dp_signed){0};
    size_t length = 0;
    char *payload = dp_envelope_open(envelope, key, DP_SIGNED_TYPE, &length, err);
    const int rc = payload ? read_statement(payload, length, ret, err) : -1;
    free(payload);
    if (rc != 0) {
        dp_signed_free(ret);
    }
    return rc;
}

static int check_time(const char *what, const char *time, int64_t now, int64_t most, struct dp_err *err)
{
    int64_t then = 0;
    if (dp_utc_read(time, &then) != 0) {
        return dp_err_set(err, DP_EXIT_DATA, "%s '%.40s', which is no time", what, time);
    }
    if (then > now + CLOCK_SKEW) {
        return dp_err_set(err, DP_EXIT_DATA, "%s %s, which is in the future here", what, time);
    }
    return then < now - most ? dp_err_set(err, DP_EXIT_DATA, "%s %s, %lld s ago, which is too old", what,
                                          time, (long long)(now - then))
                             : 0;
}

int dp_signed_check_age(const struct dp_signed *given, int64_t now, int64_t most, struct dp_err *err)
{
    const json_t *measurements = json_object_get(given->report, "measurements");
    return check_time("signed at", given->time, now, most, err) != 0
               ? -1
               : check_time("measured until", dp_json_string(measurements, "finished", ""), now, most, err);
}

void dp_signed_free(struct dp_signed *given)
{
    json_decref(given->report);
    json_decref(given->statement);
    free(given->bytes);
    *given = (struct dp_signed){0};
}
