// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli): catches accidents in small headers.
#ifndef SHOAL_CACHE_CRC32C_H
#define SHOAL_CACHE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t length);

#endif
