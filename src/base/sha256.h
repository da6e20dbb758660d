// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4).
#ifndef SHOAL_BASE_SHA256_H
#define SHOAL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t length);
void sha256_end(struct sha256 *s, unsigned char digest[32]);
void sha256_hex(const unsigned char digest[32], char text[65]);

#endif
