// SPDX-License-Identifier: MIT
// HMAC-SHA256 as RFC 2104 defines it, and a comparison that takes the same time for all sums.
#include "base/hmac.h"

#include "base/sha256.h"

#include <string.h>

enum { BLOCK = 64 };

// The hash of the secret, padded and mixed with `pad`, and then of the bytes.
static void hash_with(const unsigned char secret[BLOCK], unsigned char pad, const void *bytes,
                      size_t length, unsigned char digest[HMAC_BYTES]) {
    unsigned char mixed[BLOCK];
    struct sha256 hash;
    for (int i = 0; i < BLOCK; i++)
        mixed[i] = secret[i] ^ pad;
    sha256_init(&hash);
    sha256_add(&hash, mixed, BLOCK);
    sha256_add(&hash, bytes, length);
    sha256_end(&hash, digest);
}

void hmac_sha256(const void *secret, size_t secret_length, const void *bytes, size_t length,
                 unsigned char mac[HMAC_BYTES]) {
    unsigned char block[BLOCK] = {0}, inner[HMAC_BYTES];
    if (secret_length > BLOCK) {
        struct sha256 hash;
        sha256_init(&hash);
        sha256_add(&hash, secret, secret_length);
        sha256_end(&hash, block);
    } else
        memcpy(block, secret, secret_length);
    hash_with(block, 0x36, bytes, length, inner);
    hash_with(block, 0x5c, inner, sizeof inner, mac);
}

bool hmac_equal(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES]) {
    volatile unsigned char difference = 0; // no compiler may end the loop early
    for (int i = 0; i < HMAC_BYTES; i++)
        difference = (unsigned char)(difference | (a[i] ^ b[i]));
    return difference == 0;
}
