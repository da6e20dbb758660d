// SPDX-License-Identifier: MIT
// The bytes of an entry: header, key record, meta, payload, trailer. No files here.
//
//   0 magic 89 "SHL" 0D 0A 1A 0A     48 SHA-256 of meta and payload    104 created, Unix ns
//   8 format version, 16 bit         80 payload length                 112 compile wall ms, CPU ms
//  10 header size, 16 bit            88 record length                  120 kernel ABI number
//  12 zeros, 32 bit                  96 meta length                    124 CRC-32C of bytes 0-123
//  16 key
//
// then the record (its SHA-256 is the key, its field `kind` says what the entry is), the meta
// fields, zeros up to a multiple of 16, the payload, the HMAC-SHA256 of the header with the user's
// secret, and the total length in 8 bytes. All numbers are little-endian. Every byte is covered by
// a sum or compared, so that no change goes unnoticed; the header holds the sums of all the rest,
// so that whoever has no secret can make no entry.
#ifndef SHOAL_CACHE_ENTRY_H
#define SHOAL_CACHE_ENTRY_H

#include "base/hmac.h"
#include "cache/cache.h"
#include "cache/secret.h"

enum {
    ENTRY_VERSION = 2,
    ENTRY_HEADER = 128,
    ENTRY_MAC = HMAC_BYTES,
    ENTRY_TRAILER = 8,
    ENTRY_RECORD_MOST = 1 << 20,
    ENTRY_META_MOST = 4 << 20,
    ENTRY_PAYLOAD_MOST = 256 << 20,
    ENTRY_MOST = ENTRY_HEADER + ENTRY_RECORD_MOST + ENTRY_META_MOST + 16 + ENTRY_PAYLOAD_MOST +
                 ENTRY_MAC + ENTRY_TRAILER,
};

// The bytes to store, not signed yet; item->key is used as it is. NULL: no memory, or longer than
// the limits.
unsigned char *entry_encode(const struct cache_item *item, size_t *length);
// Signs an entry, or (NULL) takes its signature away.
void entry_sign(unsigned char *bytes, size_t length, const unsigned char secret[SECRET_BYTES]);
bool entry_is_signed(const unsigned char header[ENTRY_HEADER], const unsigned char mac[ENTRY_MAC],
                     const unsigned char secret[SECRET_BYTES]);
// Where the signature of an entry of that length stands.
size_t entry_mac_offset(size_t length);

// Reads an entry in place: the item points into `bytes`. NULL when every check holds, else what is
// wrong: "version", or "corrupt: ...". `key` is what it should be (NULL: any). Who signed it is not
// looked at.
const char *entry_decode(const unsigned char *bytes, size_t length,
                         const unsigned char key[KEY_BYTES], struct cache_item *out);

// Only the header of an entry that is `total` bytes long; the item gets its numbers and lengths.
const char *entry_header(const unsigned char header[ENTRY_HEADER], uint64_t total,
                         struct cache_item *out);
// Header, record and meta; the payload is not looked at. `bytes` holds those three.
const char *entry_front(const unsigned char *bytes, size_t length, uint64_t total,
                        const unsigned char key[KEY_BYTES], struct cache_item *out);

#endif
