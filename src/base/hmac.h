// SPDX-License-Identifier: MIT
// HMAC-SHA256 (RFC 2104): a sum that only who knows the secret can make.
#ifndef SHOAL_BASE_HMAC_H
#define SHOAL_BASE_HMAC_H

#include <stdbool.h>
#include <stddef.h>

enum { HMAC_BYTES = 32 };

void hmac_sha256(const void *secret, size_t secret_length, const void *bytes, size_t length,
                 unsigned char mac[HMAC_BYTES]);
// Compares in a time that does not tell where two sums differ.
bool hmac_equal(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES]);

#endif
