// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as an entry of the kernel cache.
//
// The header's sum and the trailer are put right first, so that the deeper checks are reached.
// Besides not crashing: what is accepted lies within the input, and its record is the key.
#include "cache/crc32c.h"
#include "cache/entry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static void put_number(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void check_within(const uint8_t *data, size_t size, const unsigned char *part,
                         size_t length) {
    require(part >= data && length <= size && (size_t)(part - data) <= size - length);
}

static void decode(const uint8_t *data, size_t size) {
    struct cache_item item;
    if (entry_decode(data, size, NULL, &item))
        return;
    unsigned char key[KEY_BYTES];
    struct sha256 hash;
    check_within(data, size, item.record, item.record_length);
    check_within(data, size, item.meta, item.meta_length);
    check_within(data, size, item.payload, item.payload_length);
    sha256_init(&hash);
    sha256_add(&hash, item.record, item.record_length);
    sha256_end(&hash, key);
    require(!memcmp(key, item.key, KEY_BYTES));
    struct key_field field;
    for (size_t at = 0; key_next(item.meta, item.meta_length, &at, &field);)
        check_within(data, size, field.bytes, field.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    decode(data, size);
    if (size < ENTRY_HEADER + ENTRY_TRAILER)
        return 0;
    uint8_t *copy = malloc(size);
    require(copy != NULL);
    memcpy(copy, data, size);
    memcpy(copy, "\x89SHL\r\n\x1a\n\x02\0\x80", 12);
    memset(copy + 12, 0, 4);
    put_number(copy + 124, crc32c(copy, 124), 4);
    put_number(copy + size - ENTRY_TRAILER, size, ENTRY_TRAILER);
    decode(copy, size);
    free(copy);
    return 0;
}
