/* SPDX-License-Identifier: Apache-2.0
 *
 * Ed25519 keys by OpenSSL EVP.
 */
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "reports/sign/sign.h"
#include "suite/base/text.h"

struct dp_key {
    EVP_PKEY *pkey;
    char id[DP_SHA256_HEX];
};

struct passphrase {
    const char *text; /* NULL: there is none */
    bool asked;
};

/* Without one of ours OpenSSL would ask on the terminal. */
static int give_passphrase(char *buffer, int size, int writing, void *context)
{
    struct passphrase *passphrase = context;
    const size_t length = passphrase->text ? strlen(passphrase->text) : 0;
    passphrase->asked = true;
    if (!passphrase->text || length > (size_t)size) {
        return -1;
    }
    memcpy(buffer, passphrase->text, length);
    return (int)length;
}

/* Takes `pkey`. */
static struct dp_key *make_key(EVP_PKEY *pkey, struct dp_err *err)
{
    unsigned char *der = NULL;
    const int length = EVP_PKEY_is_a(pkey, "ED25519") ? i2d_PUBKEY(pkey, &der) : -1;
    if (length <= 0) {
        ERR_clear_error();
        EVP_PKEY_free(pkey);
        dp_err_set(err, DP_EXIT_DATA, "not an Ed25519 key, 'openssl genpkey -algorithm ed25519' makes one");
        return NULL;
    }
    struct dp_key *key = dp_alloc(1, sizeof(*key));
    key->pkey = pkey;
    dp_sha256_hex(der, (size_t)length, key->id);
    OPENSSL_free(der);
    return key;
}

static BIO *open_pem(const char *pem, size_t length)
{
    return length > 0 && length < INT32_MAX ? BIO_new_mem_buf(pem, (int)length) : NULL;
}

struct dp_key *dp_key_private(const char *pem, size_t length, const char *passphrase, struct dp_err *err)
{
    struct passphrase given = {.text = passphrase};
    BIO *bio = open_pem(pem, length);
    EVP_PKEY *pkey = bio ? PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, &given) : NULL;
    BIO_free(bio);
    if (pkey) {
        return make_key(pkey, err);
    }
    ERR_clear_error();
    if (!given.asked) {
        dp_err_set(err, DP_EXIT_DATA, "not a private key in PEM");
    } else if (!passphrase) {
        dp_err_set(err, DP_EXIT_DATA,
                   "the key is encrypted, name its passphrase's file: '--passphrase-file FILE'");
    } else {
        dp_err_set(err, DP_EXIT_DATA, "the key cannot be decrypted with this passphrase");
    }
    return NULL;
}

struct dp_key *dp_key_public(const char *pem, size_t length, struct dp_err *err)
{
    BIO *bio = open_pem(pem, length);
    EVP_PKEY *pkey = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (!pkey) {
        ERR_clear_error();
        dp_err_set(err, DP_EXIT_DATA,
                   "not a public key in PEM, 'openssl pkey -pubout' makes it of the private one");
        return NULL;
    }
    return make_key(pkey, err);
}

const char *dp_key_id(const struct dp_key *key)
{
    return key->id;
}

void dp_key_free(struct dp_key *key)
{
    if (key) {
        EVP_PKEY_free(key->pkey);
        free(key);
    }
}

int dp_key_sign(const struct dp_key *key, const void *bytes, size_t length,
                unsigned char ret[DP_SIGNATURE_SIZE], struct dp_err *err)
{
    size_t size = DP_SIGNATURE_SIZE;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
                      EVP_DigestSign(context, ret, &size, bytes, length) == 1 && size == DP_SIGNATURE_SIZE;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good ? 0 : dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot sign: OpenSSL offers no Ed25519");
}

bool dp_key_verify(const struct dp_key *key, const void *bytes, size_t length, const unsigned char *signature,
                   size_t signature_length)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
                      EVP_DigestVerify(context, signature, signature_length, bytes, length) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good;
}
