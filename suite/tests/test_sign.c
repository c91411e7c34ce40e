/* SPDX-License-Identifier: Apache-2.0
 *
 * Signed reports: the vectors of DSSE and RFC 8032, every change of an envelope refused, statements that do
 * not follow from their report refused although their signature is good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/sign/sign.h"
#include "suite/base/clock.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define TYPE "http://example.com/HelloWorld"
#define SIGNING "https://detprobe.dev/signing/v1"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* RFC 8032, section 7.1, tests 1 to 3. */
static const struct {
    const char *seed, *public, *message, *signature;
} vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f"
     "0595bbe24"
     "655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2ea"
     "eb4302aee"
     "b00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e"
     "9716ed28d"
     "c027beceea1ec40a"},
};

static size_t from_hex(const char *hex, unsigned char *ret)
{
    size_t length = 0;
    for (unsigned byte; sscanf(hex + 2 * length, "%2x", &byte) == 1;) {
        ret[length++] = (unsigned char)byte;
    }
    return length;
}

/* PEM of a fixed DER head and 32 bytes. Owned. */
static char *pem_of(const char *kind, const char *head, const char *bytes)
{
    unsigned char der[64];
    size_t length = from_hex(head, der);
    length += from_hex(bytes, der + length);
    char *text = dp_base64_encode(der, length);
    char *pem = dp_printf("-----BEGIN %s KEY-----\n%s\n-----END %s KEY-----\n", kind, text, kind);
    free(text);
    return pem;
}

static struct dp_key *private_key(size_t vector)
{
    struct dp_err err = {0};
    char *pem = pem_of("PRIVATE", "302e020100300506032b657004220420", vectors[vector].seed);
    struct dp_key *key = dp_key_private(pem, strlen(pem), NULL, &err);
    assert_string_equal(err.text, "");
    free(pem);
    return key;
}

static struct dp_key *public_key(size_t vector)
{
    struct dp_err err = {0};
    char *pem = pem_of("PUBLIC", "302a300506032b6570032100", vectors[vector].public);
    struct dp_key *key = dp_key_public(pem, strlen(pem), &err);
    assert_string_equal(err.text, "");
    free(pem);
    return key;
}

static void test_rfc_8032(void **state)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        unsigned char message[8], expected[64], signature[64];
        const size_t length = from_hex(vectors[i].message, message);
        assert_int_equal(from_hex(vectors[i].signature, expected), 64);
        struct dp_key *key = private_key(i), *public = public_key(i), *other = public_key((i + 1) % 3);
        struct dp_err err = {0};
        assert_int_equal(dp_key_sign(key, message, length, signature, &err), 0);
        assert_memory_equal(signature, expected, 64);
        assert_string_equal(dp_key_id(key), dp_key_id(public));
        assert_true(dp_key_verify(public, message, length, signature, 64));
        assert_false(dp_key_verify(other, message, length, signature, 64));
        assert_false(dp_key_verify(public, message, length, signature, 63));
        assert_false(dp_key_verify(public, "x", 1, signature, 64));
        dp_key_free(key);
        dp_key_free(public);
        dp_key_free(other);
    }
}

static void test_what_is_no_key(void **state)
{
    static const char *const texts[] = {
        "", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEA\n-----END PUBLIC KEY-----\n"};
    struct dp_err err;
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_null(dp_key_private(texts[i], strlen(texts[i]), NULL, &err));
        assert_int_equal(err.code, DP_EXIT_DATA);
        assert_null(dp_key_public(texts[i], strlen(texts[i]), &err));
        assert_int_equal(err.code, DP_EXIT_DATA);
    }
    /* X25519 is a key, but none that signs. */
    char *pem = pem_of("PUBLIC", "302a300506032b656e032100", vectors[0].public);
    assert_null(dp_key_public(pem, strlen(pem), &err));
    assert_non_null(strstr(err.text, "not an Ed25519 key"));
    free(pem);
    pem = pem_of("PUBLIC", "302a300506032b6570032100", vectors[0].public);
    assert_null(dp_key_private(pem, strlen(pem), NULL, &err));
    assert_non_null(strstr(err.text, "not a private key"));
    free(pem);
}

static void test_encoding(void **state)
{
    size_t length = 0;
    char *encoded = dp_dsse_encode(TYPE, "hello world", 11, &length);
    assert_string_equal(encoded, "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    assert_int_equal(length, strlen(encoded));
    free(encoded);
    encoded = dp_dsse_encode("", "", 0, &length);
    assert_string_equal(encoded, "DSSEv1 0  0 ");
    free(encoded);
    encoded = dp_dsse_encode("t", "a\0b", 3, &length);
    assert_int_equal(length, strlen("DSSEv1 1 t 3 ") + 3);
    assert_memory_equal(encoded + length - 3, "a\0b", 3);
    free(encoded);
}

static void test_base64(void **state)
{
    static const char *const good[][2] = {{"", ""},
                                          {"Zg==", "f"},
                                          {"Zm8=", "fo"},
                                          {"Zm9v", "foo"},
                                          {"Zm9vYg==", "foob"},
                                          {"Zm9vYmE=", "fooba"},
                                          {"+/+/", "\xfb\xff\xbf"}};
    static const char *const bad[] = {
        "Z",     "Zg",    "Zg=",      "Zg===", "=",      "====", "Zh==", "Zm9=",    " Zm8=",
        "Zm8= ", "Zm8\n", "Zm8=Zm8=", "Zm-_",  "Zm8=\n", "Zm.v", "Z=8=", "Zg==Zg=="};
    for (size_t i = 0; i < COUNT(good); i++) {
        size_t length = 99;
        char *bytes = (char *)dp_base64_decode(good[i][0], &length);
        assert_non_null(bytes);
        assert_int_equal(length, strlen(good[i][1]));
        assert_memory_equal(bytes, good[i][1], length);
        char *text = dp_base64_encode(bytes, length);
        assert_string_equal(text, good[i][0]);
        free(text);
        free(bytes);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        size_t length;
        if (dp_base64_decode(bad[i], &length)) {
            fail_msg("'%s' was taken as base64", bad[i]);
        }
    }
}

/* Longer than what EVP is given at once. */
static void test_long_base64(void **state)
{
    const size_t length = ((size_t)3 << 20) + 5;
    size_t decoded = 0;
    unsigned char *bytes = dp_alloc(length, 1);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (unsigned char)(i * 7 + (i >> 9));
    }
    char *text = dp_base64_encode(bytes, length);
    unsigned char *back = dp_base64_decode(text, &decoded);
    assert_int_equal(decoded, length);
    assert_memory_equal(back, bytes, length);
    free(text);
    free(back);
    free(bytes);
}

static bool opens(const json_t *envelope, const struct dp_key *key, const char *type, struct dp_err *err)
{
    size_t length = 0;
    char *payload = dp_envelope_open(envelope, key, type, &length, err);
    const bool good = payload != NULL;
    if (good) {
        assert_int_equal(length, strlen("hello, world"));
        assert_string_equal(payload, "hello, world");
    } else {
        assert_int_equal(err->code, DP_EXIT_DATA);
    }
    free(payload);
    return good;
}

static json_t *hello(const struct dp_key *key)
{
    struct dp_err err = {0};
    json_t *envelope = dp_envelope_make(key, TYPE, "hello, world", strlen("hello, world"), &err);
    assert_non_null(envelope);
    return envelope;
}

/* Replaces each byte of one text of the envelope in turn by each of several others: nothing of it may open.
 */
static void assert_every_change_refused(const struct dp_key *key, json_t *object, const char *member,
                                        json_t *envelope)
{
    static const char others[] = "AB/+-_=0az \n.";
    char *text = dp_strdup(dp_json_string(object, member, ""));
    struct dp_err err;
    for (size_t i = 0; i < strlen(text); i++) {
        const char was = text[i];
        for (size_t k = 0; k < strlen(others); k++) {
            text[i] = others[k];
            json_object_set_new(object, member, json_string(text));
            /* Whoever asks for the type that is written there is told as well that it is not what was signed.
             */
            const char *asked = strcmp(member, "payloadType") == 0 && k % 2 ? text : TYPE;
            if (others[k] != was && opens(envelope, key, asked, &err)) {
                fail_msg("'%s' changed to '%s' was taken", member, text);
            }
        }
        text[i] = was;
        json_object_set_new(object, member, json_string(text));
        assert_true(opens(envelope, key, TYPE, &err));
    }
    free(text);
}

static void test_every_change_is_refused(void **state)
{
    struct dp_key *key = private_key(0);
    json_t *envelope = hello(key);
    assert_every_change_refused(key, envelope, "payload", envelope);
    assert_every_change_refused(key, envelope, "payloadType", envelope);
    assert_every_change_refused(key, json_array_get(json_object_get(envelope, "signatures"), 0), "sig",
                                envelope);
    json_decref(envelope);
    dp_key_free(key);
}

static void test_which_signatures_count(void **state)
{
    struct dp_key *key = private_key(0), *other = private_key(1);
    struct dp_err err = {0};
    json_t *envelope = hello(key), *foreign = hello(other);
    json_t *signatures = json_object_get(envelope, "signatures");
    json_t *own = json_incref(json_array_get(signatures, 0));
    json_t *theirs = json_array_get(json_object_get(foreign, "signatures"), 0);
    assert_false(opens(foreign, key, TYPE, &err));
    assert_non_null(strstr(err.text, "not signed by key"));

    json_array_insert(signatures, 0, theirs); /* the second one is ours */
    assert_true(opens(envelope, key, TYPE, &err));
    assert_true(opens(envelope, other, TYPE, &err));

    json_object_set_new(own, "keyid", json_string("somebody")); /* only a hint */
    assert_true(opens(envelope, key, TYPE, &err));
    json_object_del(own, "keyid");
    json_object_set_new(envelope, "later", json_true()); /* not signed, says nothing */
    assert_true(opens(envelope, key, TYPE, &err));

    json_array_remove(signatures, 1);
    assert_false(opens(envelope, key, TYPE, &err));
    json_array_clear(signatures);
    assert_false(opens(envelope, key, TYPE, &err));
    json_object_del(envelope, "signatures");
    assert_false(opens(envelope, key, TYPE, &err));
    assert_non_null(strstr(err.text, "not signed"));
    json_decref(own);
    json_decref(envelope);
    json_decref(foreign);
    dp_key_free(key);
    dp_key_free(other);
}

/* --- reports --- */

static const struct dp_signing signing = {
    .name = "report.json", .time = "2026-05-06T07:08:09Z", .host = "there"};

static char *corpus_file(const char *name, size_t *ret_length)
{
    struct dp_err err = {0};
    char *path = dp_printf(DP_TEST_SOURCE_DIR "/corpus/%s", name);
    char *bytes = dp_file_read(path, (size_t)1 << 20, ret_length, &err);
    assert_string_equal(err.text, "");
    free(path);
    return bytes;
}

static json_t *signed_findings(const struct dp_key *key)
{
    size_t length = 0;
    struct dp_err err = {0};
    char *bytes = corpus_file("good-findings.json", &length);
    json_t *envelope = dp_report_sign(bytes, length, key, &signing, &err);
    assert_string_equal(err.text, "");
    free(bytes);
    return envelope;
}

static void assert_listed(const struct dp_signed *given, const char *list, size_t count, const char *one)
{
    const json_t *cases = json_object_get(json_object_get(given->statement, "predicate"), list);
    assert_int_equal(json_array_size(cases), count);
    assert_true(dp_json_array_has(cases, one));
}

static void test_report(void **state)
{
    struct dp_key *key = private_key(2), *public = public_key(2);
    struct dp_signed given;
    struct dp_err err = {0};
    json_t *envelope = signed_findings(key);
    assert_int_equal(dp_report_verify(envelope, public, &given, &err), 0);
    size_t length = 0;
    char *bytes = corpus_file("good-findings.json", &length);
    assert_int_equal(given.length, length);
    assert_memory_equal(given.bytes, bytes, length);
    free(bytes);
    assert_string_equal(given.name, "report.json");
    assert_string_equal(given.time, signing.time);
    assert_string_equal(given.host, "there");
    assert_string_equal(given.result, "FAILED");
    assert_listed(&given, "passedTests", 4, "cpu/gemm/sgemm-nn-1");
    assert_listed(&given, "warnedTests", 7, "python/numpy/sum");
    assert_listed(&given, "failedTests", 4, "cpu/conv/fwd-auto");
    json_decref(envelope);
    dp_signed_free(&given);
    dp_key_free(key);
    dp_key_free(public);
}

static void test_result_words(void **state)
{
    static const char *const words[][2] = {{"good-clean.json", "PASSED"}, {"good-empty.json", "WARNED"}};
    struct dp_key *key = private_key(0);
    for (size_t i = 0; i < COUNT(words); i++) {
        struct dp_signed given;
        struct dp_err err = {0};
        size_t length = 0;
        char *bytes = corpus_file(words[i][0], &length);
        json_t *envelope = dp_report_sign(bytes, length, key, &signing, &err);
        assert_int_equal(dp_report_verify(envelope, key, &given, &err), 0);
        assert_string_equal(given.result, words[i][1]);
        dp_signed_free(&given);
        json_decref(envelope);
        free(bytes);
    }
    dp_key_free(key);
}

static void test_no_report_is_not_signed(void **state)
{
    struct dp_key *key = private_key(0);
    static const char *const names[] = {"own-digest.json", "bad-no-plan.json", "own-summary.json"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct dp_err err = {0};
        size_t length = 0;
        char *bytes = corpus_file(names[i], &length);
        assert_null(dp_report_sign(bytes, length, key, &signing, &err));
        assert_int_equal(err.code, DP_EXIT_DATA);
        free(bytes);
    }
    dp_key_free(key);
}

/* A good signature over a statement that was changed before it was signed. */
static int verify_changed(void (*change)(json_t *statement), struct dp_err *err)
{
    struct dp_key *key = private_key(0);
    struct dp_signed given;
    size_t length = 0;
    json_t *envelope = signed_findings(key);
    char *payload = dp_envelope_open(envelope, key, DP_SIGNED_TYPE, &length, err);
    json_t *statement = dp_json_parse(payload, length, "payload", err);
    free(payload);
    json_decref(envelope);
    change(statement);
    payload = json_dumps(statement, JSON_COMPACT);
    envelope = dp_envelope_make(key, DP_SIGNED_TYPE, payload, strlen(payload), err);
    const int rc = dp_report_verify(envelope, key, &given, err);
    assert_int_equal(rc, rc ? -1 : 0);
    if (rc == 0) {
        dp_signed_free(&given);
    } else {
        assert_int_equal(err->code, DP_EXIT_DATA);
        assert_null(given.report);
        assert_null(given.bytes);
    }
    free(payload);
    json_decref(statement);
    json_decref(envelope);
    dp_key_free(key);
    return rc;
}

static json_t *predicate_of(json_t *statement)
{
    return json_object_get(statement, "predicate");
}

static json_t *subject_of(json_t *statement)
{
    return json_array_get(json_object_get(statement, "subject"), 0);
}

static void change_nothing(json_t *statement)
{
    json_object_set_new(statement, "later", json_true());
    json_object_set_new(predicate_of(statement), "url", json_string("x"));
}

static void change_type(json_t *statement)
{
    json_object_set_new(statement, "_type", json_string("https://in-toto.io/Statement/v2"));
}

static void change_predicate_type(json_t *statement)
{
    json_object_set_new(statement, "predicateType", json_string("https://slsa.dev/provenance/v1"));
}

static void change_result(json_t *statement)
{
    json_object_set_new(predicate_of(statement), "result", json_string("PASSED"));
}

static void change_list(json_t *statement)
{
    json_array_remove(json_object_get(predicate_of(statement), "failedTests"), 0);
}

static void change_digest(json_t *statement)
{
    json_object_set_new(
        subject_of(statement), "digest",
        json_pack("{ss}", "sha256", "0000000000000000000000000000000000000000000000000000000000000000"));
}

static void change_content(json_t *statement)
{
    json_object_set_new(subject_of(statement), "content", json_string("e30="));
}

static void change_content_form(json_t *statement)
{
    json_object_set_new(subject_of(statement), "content", json_string("e30"));
}

static void change_report(json_t *statement)
{
    char digest[DP_SHA256_HEX];
    dp_sha256_hex("{}", 2, digest);
    change_content(statement);
    json_object_set_new(subject_of(statement), "digest", json_pack("{ss}", "sha256", digest));
}

static void change_time(json_t *statement)
{
    json_object_del(json_object_get(predicate_of(statement), SIGNING), "time");
}

static void change_subjects(json_t *statement)
{
    json_array_append(json_object_get(statement, "subject"), subject_of(statement));
}

static void test_statements(void **state)
{
    static const struct {
        void (*change)(json_t *statement);
        const char *words; /* NULL: it is taken */
    } rows[] = {{change_nothing, NULL},
                {change_type, "not a test result"},
                {change_predicate_type, "not a test result"},
                {change_result, "'result' of the statement does not follow"},
                {change_list, "'failedTests' of the statement does not follow"},
                {change_digest, "the subject's digest is not that of the report"},
                {change_content, "the subject's digest is not that of the report"},
                {change_content_form, "no base64"},
                {change_report, "not a report"},
                {change_time, "time"},
                {change_subjects, "/subject"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct dp_err err = {0};
        const int rc = verify_changed(rows[i].change, &err);
        if ((rc == 0) != (rows[i].words == NULL) || (rows[i].words && !strstr(err.text, rows[i].words))) {
            fail_msg("row %zu: expected '%s', got '%s'", i, rows[i].words ? rows[i].words : "good", err.text);
        }
    }
}

static void test_age(void **state)
{
    struct dp_key *key = private_key(0);
    struct dp_signed given;
    struct dp_err err = {0};
    json_t *envelope = signed_findings(key);
    int64_t signed_at = 0, measured = 0;
    assert_int_equal(dp_report_verify(envelope, key, &given, &err), 0);
    assert_int_equal(dp_utc_read(given.time, &signed_at), 0);
    const json_t *measurements = json_object_get(given.report, "measurements");
    assert_int_equal(dp_utc_read(dp_json_string(measurements, "finished", ""), &measured), 0);
    assert_true(measured < signed_at);
    const int64_t age = signed_at - measured;
    assert_int_equal(dp_signed_check_age(&given, signed_at, age, &err), 0);
    assert_int_equal(dp_signed_check_age(&given, signed_at + 10, age + 10, &err), 0);
    assert_int_equal(dp_signed_check_age(&given, signed_at - 200, age, &err), 0); /* clocks differ */
    assert_int_equal(dp_signed_check_age(&given, signed_at, age - 1, &err), -1);
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_non_null(strstr(err.text, "measured until"));
    assert_int_equal(dp_signed_check_age(&given, signed_at + 10, 9, &err), -1);
    assert_non_null(strstr(err.text, "signed at"));
    assert_non_null(strstr(err.text, "too old"));
    assert_int_equal(dp_signed_check_age(&given, signed_at - 301, age, &err), -1);
    assert_non_null(strstr(err.text, "in the future"));
    dp_signed_free(&given);
    json_decref(envelope);
    dp_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc_8032),
        cmocka_unit_test(test_what_is_no_key),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_long_base64),
        cmocka_unit_test(test_every_change_is_refused),
        cmocka_unit_test(test_which_signatures_count),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_result_words),
        cmocka_unit_test(test_no_report_is_not_signed),
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
