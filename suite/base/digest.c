/* SPDX-License-Identifier: Apache-2.0
 *
 * Digests by OpenSSL and xxHash.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "suite/base/digest.h"

void dp_sha256_hex(const void *bytes, size_t length, char ret_hex[DP_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    /* Fails only where the library itself is broken (no provider with SHA-256): no digest may then leave. */
    if (EVP_Digest(bytes, length, raw, &size, EVP_sha256(), NULL) != 1 || size != 32) {
        fputs("detprobe: OpenSSL offers no SHA-256\n", stderr);
        abort();
    }
    for (unsigned int i = 0; i < size; i++) {
        ret_hex[2 * i] = digits[raw[i] >> 4];
        ret_hex[2 * i + 1] = digits[raw[i] & 15];
    }
    ret_hex[DP_SHA256_HEX - 1] = '\0';
}

struct dp_hash128 dp_xxh3_128(const void *bytes, size_t length)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, length);
    return (struct dp_hash128){.low = hash.low64, .high = hash.high64};
}

uint64_t dp_xxh3_64(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}
