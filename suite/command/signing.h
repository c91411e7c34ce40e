/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of signing: keys, passphrases, signed reports. Options are those of the commands that verify.
 */
#ifndef DP_COMMAND_SIGNING_H
#define DP_COMMAND_SIGNING_H

#include "reports/sign/sign.h"

struct dp_verifying {
    const char *key;  /* file of the public key */
    int64_t most_age; /* --max-age, nanoseconds; 0: any */
};

/* The private key of a file that nobody else may read. Code 64 without a name, else 65. */
struct dp_key *dp_signing_key(const char *path, const char *passphrase_path, struct dp_err *err);
/* Reads, verifies and parses a signed report; "-" is standard input. Code 64 without a key, else 65. */
int dp_signing_verify(const struct dp_verifying *verifying, const char *path, struct dp_signed *ret,
                      struct dp_err *err);
/* Are the two names of one file that is there? */
bool dp_signing_same_file(const char *path, const char *other);

#endif
