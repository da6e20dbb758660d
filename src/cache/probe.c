// SPDX-License-Identifier: MIT
// What is known of a tool, kept under its name as an entry of its own kind.
#include "cache/entry.h"
#include "cache/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void probe_record(const char *name, struct key_record *record, unsigned char key[KEY_BYTES],
                         char file[STORE_NAME]) {
    char hex[KEY_HEX];
    key_add_text(record, "kind", CACHE_PROBE);
    key_add_text(record, "probe", name);
    key_digest(record, key);
    key_hex(key, hex);
    snprintf(file, STORE_NAME, "v1/probe/%s.k", hex);
}

bool cache_probe_get(struct cache *c, const char *name, struct buf *out) {
    struct key_record record = {0};
    unsigned char key[KEY_BYTES];
    char file[STORE_NAME];
    struct cache_item item = {0};
    struct stat s;
    probe_record(name, &record, key, file);
    bool found = false;
    for (int i = 0; i < c->tier_count && !found && !record.bytes.failed; i++) {
        found = c->tiers[i].fd >= 0 && !store_read(c, i, file, key, true, &item, &s);
        if (found)
            buf_put(out, item.payload, item.payload_length);
        cache_item_free(&item);
    }
    key_free(&record);
    return found && !out->failed;
}

void cache_probe_put(struct cache *c, const char *name, const void *bytes, size_t length) {
    struct key_record record = {0};
    char file[STORE_NAME];
    struct cache_item item = {.payload = bytes, .payload_length = length};
    probe_record(name, &record, item.key, file);
    item.record = (const unsigned char *)record.bytes.data;
    item.record_length = record.bytes.length;
    item.created_ns = (uint64_t)store_now_ns();
    size_t total;
    unsigned char *entry =
        store_writable(c) && !record.bytes.failed ? entry_encode(&item, &total) : NULL;
    if (entry) {
        entry_sign(entry, total, c->secret);
        int error = store_publish(c, "probe", file + strlen("v1/probe/"), entry, total, false);
        if (error)
            store_warn(c, error);
    }
    free(entry);
    key_free(&record);
}
