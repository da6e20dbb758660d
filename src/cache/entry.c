// SPDX-License-Identifier: MIT
// Encoding and checking of entries; see entry.h for the form.
//
// The reader is handed bytes that anybody may have written: every number is compared with what is
// there before it is used, and nothing is allocated.
#include "cache/entry.h"

#include "cache/crc32c.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char magic[8] = {0x89, 'S', 'H', 'L', 0x0d, 0x0a, 0x1a, 0x0a};

static void put_number(unsigned char *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_number(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

// Where the payload starts, behind a record and meta of these lengths.
static size_t payload_offset(size_t record, size_t meta) {
    return (ENTRY_HEADER + record + meta + 15) & ~(size_t)15;
}

static void content_digest(const struct cache_item *item, unsigned char digest[32]) {
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, item->meta, item->meta_length);
    sha256_add(&hash, item->payload, item->payload_length);
    sha256_end(&hash, digest);
}

static bool lengths_allowed(uint64_t record, uint64_t meta, uint64_t payload) {
    return record <= ENTRY_RECORD_MOST && meta <= ENTRY_META_MOST && payload <= ENTRY_PAYLOAD_MOST;
}

static void encode_header(const struct cache_item *item, unsigned char *h) {
    memcpy(h, magic, sizeof magic);
    put_number(h + 8, ENTRY_VERSION, 2);
    put_number(h + 10, ENTRY_HEADER, 2);
    memcpy(h + 16, item->key, KEY_BYTES);
    content_digest(item, h + 48);
    put_number(h + 80, item->payload_length, 8);
    put_number(h + 88, item->record_length, 8);
    put_number(h + 96, item->meta_length, 8);
    put_number(h + 104, item->created_ns, 8);
    put_number(h + 112, item->wall_ms, 4);
    put_number(h + 116, item->cpu_ms, 4);
    put_number(h + 120, item->abi, 4);
    put_number(h + 124, crc32c(h, 124), 4);
}

unsigned char *entry_encode(const struct cache_item *item, size_t *length) {
    if (!lengths_allowed(item->record_length, item->meta_length, item->payload_length))
        return NULL;
    size_t start = payload_offset(item->record_length, item->meta_length);
    size_t total = start + item->payload_length + ENTRY_MAC + ENTRY_TRAILER;
    unsigned char *bytes = calloc(1, total);
    if (!bytes)
        return NULL;
    encode_header(item, bytes);
    if (item->record_length)
        memcpy(bytes + ENTRY_HEADER, item->record, item->record_length);
    if (item->meta_length)
        memcpy(bytes + ENTRY_HEADER + item->record_length, item->meta, item->meta_length);
    if (item->payload_length)
        memcpy(bytes + start, item->payload, item->payload_length);
    put_number(bytes + total - ENTRY_TRAILER, total, ENTRY_TRAILER);
    *length = total;
    return bytes;
}

size_t entry_mac_offset(size_t length) { return length - ENTRY_TRAILER - ENTRY_MAC; }

void entry_sign(unsigned char *bytes, size_t length, const unsigned char secret[SECRET_BYTES]) {
    unsigned char *mac = bytes + entry_mac_offset(length);
    if (secret)
        hmac_sha256(secret, SECRET_BYTES, bytes, ENTRY_HEADER, mac);
    else
        memset(mac, 0, ENTRY_MAC);
}

bool entry_is_signed(const unsigned char header[ENTRY_HEADER], const unsigned char mac[ENTRY_MAC],
                     const unsigned char secret[SECRET_BYTES]) {
    unsigned char wanted[ENTRY_MAC];
    hmac_sha256(secret, SECRET_BYTES, header, ENTRY_HEADER, wanted);
    return hmac_equal(mac, wanted);
}

const char *entry_header(const unsigned char header[ENTRY_HEADER], uint64_t total,
                         struct cache_item *out) {
    const unsigned char *h = header;
    if (memcmp(h, magic, sizeof magic) != 0)
        return "corrupt: magic";
    if (get_number(h + 8, 2) != ENTRY_VERSION)
        return "version";
    if (get_number(h + 124, 4) != crc32c(h, 124))
        return "corrupt: header sum";
    if (get_number(h + 10, 2) != ENTRY_HEADER || get_number(h + 12, 4) != 0)
        return "corrupt: header";
    uint64_t payload = get_number(h + 80, 8), record = get_number(h + 88, 8);
    uint64_t meta = get_number(h + 96, 8);
    if (!lengths_allowed(record, meta, payload) ||
        payload_offset((size_t)record, (size_t)meta) + payload + ENTRY_MAC + ENTRY_TRAILER != total)
        return "corrupt: length";
    *out = (struct cache_item){.abi = (uint32_t)get_number(h + 120, 4),
                               .created_ns = get_number(h + 104, 8),
                               .wall_ms = (uint32_t)get_number(h + 112, 4),
                               .cpu_ms = (uint32_t)get_number(h + 116, 4),
                               .record_length = (size_t)record,
                               .meta_length = (size_t)meta,
                               .payload_length = (size_t)payload};
    memcpy(out->key, h + 16, KEY_BYTES);
    return NULL;
}

static bool read_kind(const struct cache_item *item, char kind[CACHE_KIND]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    struct key_field f;
    for (size_t at = 0; key_next(item->record, item->record_length, &at, &f);)
        if (!strcmp(f.label, "kind")) {
            if (!f.length || f.length >= CACHE_KIND)
                return false;
            memcpy(kind, f.bytes, f.length);
            kind[f.length] = 0;
            return strspn(kind, letters) == f.length;
        }
    return false;
}

const char *entry_front(const unsigned char *bytes, size_t length, uint64_t total,
                        const unsigned char key[KEY_BYTES], struct cache_item *out) {
    struct cache_item item;
    if (length < ENTRY_HEADER)
        return "corrupt: too short";
    const char *wrong = entry_header(bytes, total, &item);
    if (wrong)
        return wrong;
    if (length - ENTRY_HEADER < item.record_length + item.meta_length)
        return "corrupt: too short";
    item.record = bytes + ENTRY_HEADER;
    item.meta = item.record + item.record_length;
    unsigned char digest[KEY_BYTES];
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, item.record, item.record_length);
    sha256_end(&hash, digest);
    if (memcmp(digest, item.key, KEY_BYTES) != 0)
        return "corrupt: record sum";
    if (key && memcmp(key, item.key, KEY_BYTES) != 0)
        return "corrupt: key of another entry";
    if (!read_kind(&item, item.kind))
        return "corrupt: no kind";
    *out = item;
    return NULL;
}

const char *entry_decode(const unsigned char *bytes, size_t length,
                         const unsigned char key[KEY_BYTES], struct cache_item *out) {
    struct cache_item item;
    const char *wrong = entry_front(bytes, length, length, key, &item);
    if (wrong)
        return wrong;
    if (get_number(bytes + length - ENTRY_TRAILER, ENTRY_TRAILER) != length)
        return "corrupt: trailer";
    size_t end = ENTRY_HEADER + item.record_length + item.meta_length;
    size_t start = payload_offset(item.record_length, item.meta_length);
    for (size_t i = end; i < start; i++)
        if (bytes[i])
            return "corrupt: padding";
    item.payload = bytes + start;
    unsigned char digest[32];
    content_digest(&item, digest);
    if (memcmp(digest, bytes + 48, sizeof digest) != 0)
        return "corrupt: content sum";
    *out = item;
    return NULL;
}
