/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading keys and signed reports.
 */
#include "suite/command/signing.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "suite/base/json.h"

enum { SECRET_MOST = 65536 };             /* of a key or passphrase */
#define ENVELOPE_MOST ((size_t)512 << 20) /* twice base64 of the largest report */

struct secret {
    char bytes[SECRET_MOST + 1];
    size_t length;
};

static int read_bytes(int fd, struct secret *ret)
{
    while (ret->length <= SECRET_MOST) {
        const ssize_t got = read(fd, ret->bytes + ret->length, sizeof(ret->bytes) - ret->length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return (int)got;
        }
        ret->length += (size_t)got;
    }
    errno = EFBIG;
    return -1;
}

/* A secret that others may read is none. */
static int read_secret(const char *path, const char *what, struct secret *ret, struct dp_err *err)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ret->length = 0;
    if (fd < 0 || fstat(fd, &status) != 0) {
        dp_err_set(err, DP_EXIT_DATA, "cannot open %s '%.200s': %s", what, path, dp_reason(errno));
    } else if (status.st_mode & (S_IRWXG | S_IRWXO)) {
        dp_err_set(err, DP_EXIT_DATA,
                   "cannot use %s '%.200s': others may read it, 'chmod 600' keeps it yours", what, path);
    } else if (read_bytes(fd, ret) != 0) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read %s '%.200s': %s", what, path, dp_reason(errno));
    } else {
        close(fd);
        ret->bytes[ret->length] = '\0';
        return 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* The first line of the file. */
static int read_passphrase(const char *path, struct secret *ret, struct dp_err *err)
{
    if (read_secret(path, "passphrase file", ret, err) != 0) {
        return -1;
    }
    ret->bytes[strcspn(ret->bytes, "\r\n")] = '\0';
    return 0;
}

struct dp_key *dp_signing_key(const char *path, const char *passphrase_path, struct dp_err *err)
{
    static struct secret pem, passphrase;
    struct dp_key *key = NULL;
    if (!path) {
        dp_err_set(err, DP_EXIT_USAGE, "no key named, '--key FILE' does");
        return NULL;
    }
    if ((!passphrase_path || read_passphrase(passphrase_path, &passphrase, err) == 0) &&
        read_secret(path, "key", &pem, err) == 0) {
        key = dp_key_private(pem.bytes, pem.length, passphrase_path ? passphrase.bytes : NULL, err);
        if (!key) {
            dp_err_prefix(err, "cannot use key '%.200s'", path);
        }
    }
    OPENSSL_cleanse(&pem, sizeof(pem));
    OPENSSL_cleanse(&passphrase, sizeof(passphrase));
    return key;
}

static struct dp_key *public_key(const char *path, struct dp_err *err)
{
    if (!path) {
        dp_err_set(err, DP_EXIT_USAGE, "no key named, '--key FILE' does");
        return NULL;
    }
    size_t length = 0;
    char *pem = dp_file_read(path, SECRET_MOST, &length, err);
    struct dp_key *key = pem ? dp_key_public(pem, length, err) : NULL;
    if (pem && !key) {
        dp_err_prefix(err, "cannot use key '%.200s'", path);
    }
    free(pem);
    return key;
}

static int check_age(const struct dp_verifying *verifying, const struct dp_signed *given, struct dp_err *err)
{
    return verifying->most_age > 0
               ? dp_signed_check_age(given, time(NULL), verifying->most_age / 1000000000, err)
               : 0;
}

int dp_signing_verify(const struct dp_verifying *verifying, const char *path, struct dp_signed *ret,
                      struct dp_err *err)
{
    *ret = (struct dp_signed){0};
    struct dp_key *key = public_key(verifying->key, err);
    json_t *envelope = key ? dp_json_load(path, ENVELOPE_MOST, err) : NULL;
    int rc = -1;
    if (envelope) {
        rc = dp_report_verify(envelope, key, ret, err) == 0 && check_age(verifying, ret, err) == 0 ? 0 : -1;
        if (rc != 0) {
            dp_signed_free(ret);
            dp_err_prefix(err, "cannot verify '%.200s'", strcmp(path, "-") == 0 ? "standard input" : path);
        }
    }
    json_decref(envelope);
    dp_key_free(key);
    return rc;
}

bool dp_signing_same_file(const char *path, const char *other)
{
    struct stat one, two;
    return path && other && stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}
