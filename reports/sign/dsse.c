/* SPDX-License-Identifier: Apache-2.0
 *
 * DSSE v1 envelopes (github.com/secure-systems-lab/dsse, protocol and envelope).
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/sign/sign.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"

char *dp_dsse_encode(const char *type, const void *body, size_t length, size_t *ret_length)
{
    char *head = dp_printf("DSSEv1 %zu %s %zu ", strlen(type), type, length);
    const size_t head_length = strlen(head);
    char *bytes = dp_realloc(head, head_length + length + 1, 1);
    if (length > 0) {
        memcpy(bytes + head_length, body, length);
    }
    bytes[head_length + length] = '\0';
    *ret_length = head_length + length;
    return bytes;
}

char *dp_base64_encode(const void *bytes, size_t length)
{
    const size_t most = (size_t)3 << 20; /* at once: EVP counts in int */
    char *text = dp_alloc((length + 2) / 3 * 4 + 1, 1);
    for (size_t at = 0; at < length; at += most) {
        const size_t part = length - at < most ? length - at : most;
        EVP_EncodeBlock((unsigned char *)text + at / 3 * 4, (const unsigned char *)bytes + at, (int)part);
    }
    return text;
}

/* Bytes that the padding stands for: 0, 1 or 2; -1 where this is no base64. EVP_DecodeBlock alone lets blanks
 * pass. */
static int padding_of(const char *text, size_t length)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digits = strspn(text, alphabet), padding = length - digits;
    const bool good = length % 4 == 0 && padding <= 2 && strspn(text + digits, "=") == padding;
    return good && length < INT32_MAX ? (int)padding : -1;
}

unsigned char *dp_base64_decode(const char *text, size_t *ret_length)
{
    const size_t length = strlen(text);
    const int padding = padding_of(text, length);
    if (padding < 0) {
        return NULL;
    }
    unsigned char *bytes = dp_alloc(length / 4 * 3 + 1, 1);
    const int decoded = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length);
    if (length > 0 && decoded < padding) {
        free(bytes);
        return NULL;
    }
    *ret_length = length > 0 ? (size_t)(decoded - padding) : 0;
    /* Bits that padding leaves over are zero, or two texts would mean the same. */
    const size_t rest = *ret_length % 3;
    char *last = dp_base64_encode(bytes + *ret_length - rest, rest);
    const bool canonical = rest == 0 || strcmp(last, text + length - 4) == 0;
    free(last);
    if (!canonical) {
        free(bytes);
        return NULL;
    }
    bytes[*ret_length] = '\0';
    return bytes;
}

bool dp_is_envelope(const json_t *document)
{
    return json_object_get(document, "payloadType") && json_object_get(document, "payload") &&
           json_object_get(document, "signatures");
}

json_t *dp_envelope_make(const struct dp_key *key, const char *type, const void *payload, size_t length,
                         struct dp_err *err)
{
    unsigned char signature[DP_SIGNATURE_SIZE];
    size_t encoded_length;
    char *encoded = dp_dsse_encode(type, payload, length, &encoded_length);
    const int rc = dp_key_sign(key, encoded, encoded_length, signature, err);
    free(encoded);
    if (rc != 0) {
        return NULL;
    }
    char *body = dp_base64_encode(payload, length), *text = dp_base64_encode(signature, sizeof(signature));
    json_t *envelope = json_pack("{ss ss s[{ss ss}]}", "payloadType", type, "payload", body, "signatures",
                                 "keyid", dp_key_id(key), "sig", text);
    free(body);
    free(text);
    return envelope;
}

static int check_form(const json_t *envelope, const char *type, struct dp_err *err)
{
    if (!dp_is_envelope(envelope)) {
        return dp_err_set(err, DP_EXIT_DATA, "not signed: it is no envelope, 'detprobe sign' makes one");
    }
    if (dp_schema_check(dp_schema_builtin("envelope"), envelope, err) != 0) {
        return dp_err_prefix(err, "not an envelope");
    }
    const char *given = dp_json_string(envelope, "payloadType", "");
    return strcmp(given, type) == 0
               ? 0
               : dp_err_set(err, DP_EXIT_DATA, "signed is something of type '%.100s', not '%s'", given, type);
}

static bool is_signed_by(const json_t *signature, const struct dp_key *key, const char *encoded,
                         size_t length)
{
    size_t signature_length = 0;
    unsigned char *bytes = dp_base64_decode(dp_json_string(signature, "sig", ""), &signature_length);
    const bool good = bytes && dp_key_verify(key, encoded, length, bytes, signature_length);
    free(bytes);
    return good;
}

/* What helps to tell a wrong key from a changed file; it decides nothing. */
static int refuse(const json_t *signatures, const struct dp_key *key, struct dp_err *err)
{
    for (size_t i = 0; i < json_array_size(signatures); i++) {
        if (strcmp(dp_json_string(json_array_get(signatures, i), "keyid", ""), dp_key_id(key)) == 0) {
            return dp_err_set(err, DP_EXIT_DATA,
                              "the signature of key %.16s does not fit, payload or signature were changed",
                              dp_key_id(key));
        }
    }
    return dp_err_set(err, DP_EXIT_DATA, "not signed by key %.16s, the first signature names key '%.16s'",
                      dp_key_id(key), dp_json_string(json_array_get(signatures, 0), "keyid", ""));
}

static int verify(const json_t *signatures, const struct dp_key *key, const char *type,
                  const unsigned char *payload, size_t length, struct dp_err *err)
{
    size_t encoded_length;
    char *encoded = dp_dsse_encode(type, payload, length, &encoded_length);
    bool good = false;
    for (size_t i = 0; !good && i < json_array_size(signatures); i++) {
        good = is_signed_by(json_array_get(signatures, i), key, encoded, encoded_length);
    }
    free(encoded);
    return good ? 0 : refuse(signatures, key, err);
}

char *dp_envelope_open(const json_t *envelope, const struct dp_key *key, const char *type, size_t *ret_length,
                       struct dp_err *err)
{
    if (check_form(envelope, type, err) != 0) {
        return NULL;
    }
    unsigned char *payload = dp_base64_decode(dp_json_string(envelope, "payload", ""), ret_length);
    if (!payload) {
        dp_err_set(err, DP_EXIT_DATA, "not an envelope: at '/payload': no base64");
        return NULL;
    }
    if (verify(json_object_get(envelope, "signatures"), key, type, payload, *ret_length, err) != 0) {
        free(payload);
        return NULL;
    }
    return (char *)payload;
}
