/* SPDX-License-Identifier: Apache-2.0
 *
 * An envelope, what may be in one, and keys. A statement or a report is signed first, since no mutation finds
 * a signature; so is the payload of an envelope.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "reports/sign/sign.h"
#include "suite/base/json.h"
#include "suite/tests/fuzz/fuzz.h"

static struct dp_key *key;

/* The first key of RFC 8032. */
static void open_key(void)
{
    static const char pem[] = "-----BEGIN PRIVATE "
                              "KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                              "-----END PRIVATE "
                              "KEY-----\n";
    struct dp_err err = {0};
    if (!key) {
        key = dp_key_private(pem, strlen(pem), NULL, &err);
        fuzz_expect(key != NULL, err.text);
    }
}

static void verify(const json_t *envelope)
{
    struct dp_signed given;
    struct dp_err err = {0};
    if (dp_report_verify(envelope, key, &given, &err) != 0) {
        fuzz_expect_refusal(&err, 0);
        fuzz_expect(!given.bytes && !given.report && !given.statement,
                    "something is left of what was refused");
        return;
    }
    json_t *again = dp_json_parse(given.bytes, given.length, "bytes", &err);
    fuzz_expect(again && json_equal(again, given.report), "the report is not that of the bytes");
    fuzz_expect(dp_report_accept(given.report, &err) == 0, err.text);
    if (dp_signed_check_age(&given, 1800000000, 86400, &err) != 0) {
        fuzz_expect_refusal(&err, 0);
    }
    json_decref(again);
    dp_signed_free(&given);
}

static void verify_payload(const char *payload, size_t length)
{
    struct dp_err err = {0};
    json_t *envelope = dp_envelope_make(key, DP_SIGNED_TYPE, payload, length, &err);
    fuzz_expect(envelope != NULL, err.text);
    verify(envelope);
    json_decref(envelope);
}

/* The digest follows the content, or nothing behind it would be reached. */
static void verify_statement(json_t *statement)
{
    json_t *subject = json_array_get(json_object_get(statement, "subject"), 0);
    size_t length = 0;
    unsigned char *content = dp_base64_decode(dp_json_string(subject, "content", "*"), &length);
    if (content) {
        char digest[DP_SHA256_HEX];
        dp_sha256_hex(content, length, digest);
        json_object_set_new(subject, "digest", json_pack("{ss}", "sha256", digest));
        free(content);
    }
    char *payload = json_dumps(statement, JSON_COMPACT);
    verify_payload(payload, strlen(payload));
    free(payload);
}

static void sign_report(const char *text, size_t length)
{
    const struct dp_signing signing = {.name = "../x", .time = "2026-11-30T00:00:00Z", .host = "h"};
    struct dp_err err = {0};
    json_t *envelope = dp_report_sign(text, length, key, &signing, &err);
    if (!envelope) {
        fuzz_expect_refusal(&err, 0);
        return;
    }
    struct dp_signed given;
    fuzz_expect(dp_report_verify(envelope, key, &given, &err) == 0, err.text);
    fuzz_expect(given.length == length && memcmp(given.bytes, text, length) == 0, "other bytes come back");
    dp_signed_free(&given);
    json_decref(envelope);
}

static void read_key(const char *text, size_t length)
{
    struct dp_err err = {0};
    struct dp_key *public = dp_key_public(text, length, &err);
    if (!public) {
        fuzz_expect_refusal(&err, 0);
    }
    dp_key_free(public);
    struct dp_key *private = dp_key_private(text, length, "passphrase", &err);
    if (!private) {
        fuzz_expect_refusal(&err, 0);
    }
    dp_key_free(private);
}

void fuzz_one(const char *text, size_t length)
{
    open_key();
    struct dp_err err = {0};
    if (strncmp(text, "-----BEGIN", 10) == 0) {
        read_key(text, length);
        return;
    }
    json_t *document = dp_json_parse(text, length, "input", &err);
    if (dp_is_envelope(document)) {
        verify(document);
        size_t size = 0;
        unsigned char *payload = dp_base64_decode(dp_json_string(document, "payload", "*"), &size);
        if (payload) {
            verify_payload((const char *)payload, size);
        }
        free(payload);
    } else if (json_object_get(document, "subject")) {
        verify_statement(document);
    } else {
        verify_payload(text, length);
        sign_report(text, length);
    }
    json_decref(document);
}
