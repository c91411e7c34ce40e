/* SPDX-License-Identifier: Apache-2.0
 *
 * Signed reports: a DSSE v1 envelope (schema/envelope.schema.json) around an in-toto Statement v1 whose
 * predicate is a test result (schema/statement.schema.json). The report itself, byte for byte, is `content`
 * of the statement's one subject, so that what is parsed is what was verified. Pure over bytes: no file, no
 * clock.
 *
 * A signature says who signed, and that nothing was changed since. It does not say that the run was honest.
 */
#ifndef DP_REPORTS_SIGN_H
#define DP_REPORTS_SIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/digest.h"
#include "suite/base/err.h"

#define DP_SIGNED_TYPE "application/vnd.in-toto+json"

/* --- keys: Ed25519, in PEM --- */

struct dp_key;
/* PKCS#8; `passphrase` for an encrypted one, or NULL: it is never asked for. Code 65. */
struct dp_key *dp_key_private(const char *pem, size_t length, const char *passphrase, struct dp_err *err);
/* SPKI, as of 'openssl pkey -pubout'. Code 65. */
struct dp_key *dp_key_public(const char *pem, size_t length, struct dp_err *err);
/* SHA-256 of the public key's SPKI in DER: the same for both halves. Borrowed. */
const char *dp_key_id(const struct dp_key *key);
void dp_key_free(struct dp_key *key);

enum { DP_SIGNATURE_SIZE = 64 };
int dp_key_sign(const struct dp_key *key, const void *bytes, size_t length,
                unsigned char ret[DP_SIGNATURE_SIZE], struct dp_err *err);
bool dp_key_verify(const struct dp_key *key, const void *bytes, size_t length, const unsigned char *signature,
                   size_t signature_length);

/* --- envelopes --- */

/* What is signed: type and body with their lengths, so that neither can be taken for the other. Owned. */
char *dp_dsse_encode(const char *type, const void *body, size_t length, size_t *ret_length);
/* Standard alphabet, padded, nothing else and one text for each sequence of bytes. Owned; NULL if it is not.
 */
char *dp_base64_encode(const void *bytes, size_t length);
unsigned char *dp_base64_decode(const char *text, size_t *ret_length);

/* Has the document the members of an envelope? So that whoever expects a report can say so. */
bool dp_is_envelope(const json_t *document);
json_t *dp_envelope_make(const struct dp_key *key, const char *type, const void *payload, size_t length,
                         struct dp_err *err);
/* The payload, owned, if one of the signatures is the key's; others are not looked at, and what `keyid` says
 * only helps to word a refusal. Code 65. */
char *dp_envelope_open(const json_t *envelope, const struct dp_key *key, const char *type, size_t *ret_length,
                       struct dp_err *err);

/* --- signed reports --- */

struct dp_signing {
    const char *name; /* of the report, for people */
    const char *time; /* now, "2026-01-31T12:00:00Z" */
    const char *host; /* where it is signed */
};
/* The envelope of a report that passes its reader. Owned; code 65 where it does not. */
json_t *dp_report_sign(const char *bytes, size_t length, const struct dp_key *key,
                       const struct dp_signing *signing, struct dp_err *err);

struct dp_signed {
    json_t *report; /* as dp_report_accept let it pass */
    char *bytes;    /* exactly what was signed, `length` of them */
    size_t length;
    json_t *statement;
    /* borrowed from the statement */
    const char *name, *time, *host, *result;
};
/* Verifies, then parses. A statement that does not follow from its report is refused. Code 65. */
int dp_report_verify(const json_t *envelope, const struct dp_key *key, struct dp_signed *ret,
                     struct dp_err *err);
/* Both the signature and the end of the run must lie within the last `most` seconds before `now` (seconds
 * since 1970); a time in the future, beyond the minutes by which clocks differ, is refused as well. Code 65.
 */
int dp_signed_check_age(const struct dp_signed *given, int64_t now, int64_t most, struct dp_err *err);
void dp_signed_free(struct dp_signed *given);

#endif
