// SPDX-License-Identifier: MIT
// What is known of a tool, and what was measured on a machine: kept under their names, as entries
// of their own kinds.
#include "cache/entry.h"
#include "cache/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Such a kind: its directory, and how many digits of the key make the name of a file.
struct note_kind {
    const char *kind, *sub, *file;
    int digits;
};
static const struct note_kind probes = {CACHE_PROBE, "probe", "v1/probe/%.*s.k", 64},
                              tunes = {CACHE_TUNE, STORE_TUNE, STORE_TUNE "/%.*s.t", 16};

static void note_record(const struct note_kind *k, const char *name, struct key_record *record,
                        unsigned char key[KEY_BYTES], char file[STORE_NAME]) {
    char hex[KEY_HEX];
    key_add_text(record, "kind", k->kind);
    key_add_text(record, k->kind, name);
    key_digest(record, key);
    key_hex(key, hex);
    snprintf(file, STORE_NAME, k->file, k->digits, hex);
}

static bool note_get(struct cache *c, const struct note_kind *k, const char *name,
                     struct buf *out) {
    struct key_record record = {0};
    unsigned char key[KEY_BYTES];
    char file[STORE_NAME];
    struct cache_item item = {0};
    struct stat s;
    note_record(k, name, &record, key, file);
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

static void note_put(struct cache *c, const struct note_kind *k, const char *name,
                     const void *bytes, size_t length) {
    struct key_record record = {0};
    char file[STORE_NAME];
    struct cache_item item = {.payload = bytes, .payload_length = length};
    note_record(k, name, &record, item.key, file);
    item.record = (const unsigned char *)record.bytes.data;
    item.record_length = record.bytes.length;
    item.created_ns = (uint64_t)store_now_ns();
    size_t total;
    unsigned char *entry =
        store_writable(c) && !record.bytes.failed ? entry_encode(&item, &total) : NULL;
    if (entry) {
        entry_sign(entry, total, c->secret);
        int error = store_publish(c, k->sub, strrchr(file, '/') + 1, entry, total, false);
        if (error)
            store_warn(c, error);
    }
    free(entry);
    key_free(&record);
}

bool cache_probe_get(struct cache *c, const char *name, struct buf *out) {
    return note_get(c, &probes, name, out);
}

void cache_probe_put(struct cache *c, const char *name, const void *bytes, size_t length) {
    note_put(c, &probes, name, bytes, length);
}

bool cache_tune_get(struct cache *c, const char *machine, struct buf *out) {
    return note_get(c, &tunes, machine, out);
}

void cache_tune_put(struct cache *c, const char *machine, const void *bytes, size_t length) {
    note_put(c, &tunes, machine, bytes, length);
}
