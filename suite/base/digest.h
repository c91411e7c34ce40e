/* SPDX-License-Identifier: Apache-2.0
 *
 * Digests: SHA-256 (OpenSSL EVP) for what people compare, XXH3 (xxHash) for what only this process compares.
 */
#ifndef DP_BASE_DIGEST_H
#define DP_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DP_SHA256_HEX 65 /* 64 lower-case hex digits and NUL */

void dp_sha256_hex(const void *bytes, size_t length, char ret_hex[DP_SHA256_HEX]);

struct dp_hash128 {
    uint64_t low, high;
};
struct dp_hash128 dp_xxh3_128(const void *bytes, size_t length);
uint64_t dp_xxh3_64(const void *bytes, size_t length);

#endif
