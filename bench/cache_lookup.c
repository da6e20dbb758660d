// SPDX-License-Identifier: MIT
// What a lookup in the kernel cache costs: with one entry and with very many, and with the
// counting.
//
// usage: cache_lookup DIR [ENTRIES]     DIR is made, used as a cache and left behind
#include "base/clock.h"
#include "cache/entry.h"
#include "cache/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAYLOAD = 30000, LARGE = 525000, ROUNDS = 200 };

static struct key_record record_of(unsigned n) {
    struct key_record r = {0};
    char text[32];
    snprintf(text, sizeof text, "kernel %u", n);
    key_add_text(&r, "kind", "so");
    key_add_text(&r, "source", text);
    return r;
}

static unsigned char *encode(unsigned n, size_t payload, struct cache_item *item, size_t *length) {
    static unsigned char bytes[LARGE];
    struct key_record r = record_of(n);
    *item = (struct cache_item){.wall_ms = 100, .payload = bytes};
    item->payload_length = payload;
    item->record = (const unsigned char *)r.bytes.data;
    item->record_length = r.bytes.length;
    key_digest(&r, item->key);
    unsigned char *entry = entry_encode(item, length);
    key_free(&r);
    return entry;
}

// Straight to the disk: this is about reading.
static bool fill(struct cache *c, unsigned n, size_t payload) {
    struct cache_item item;
    size_t length;
    char name[STORE_NAME];
    unsigned char *entry = encode(n, payload, &item, &length);
    if (entry)
        entry_sign(entry, length, c->secret);
    store_entry_name(item.key, name);
    int dir = store_dir(c, (char[]){name[3], name[4], 0});
    int fd = dir < 0 ? -1 : openat(dir, name + 6, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool good = entry && fd >= 0 && write(fd, entry, length) == (ssize_t)length;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    free(entry);
    return good;
}

static bool look(struct cache *c, unsigned n) {
    struct cache_item item;
    char reason[CACHE_REASON];
    struct key_record r = record_of(n);
    bool hit = cache_get(c, &r, 0, &item, reason);
    cache_item_free(&item);
    key_free(&r);
    return hit;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_times(const char *name, double *us) {
    qsort(us, ROUNDS, sizeof *us, by_value);
    printf("%s_us_median %.1f\n%s_us_worst %.1f\n", name, us[ROUNDS / 2], name, us[ROUNDS - 1]);
}

// With a handle that is open, and from the opening on.
static void measure(const char *name, const char *dir, unsigned first, unsigned count, bool open) {
    double us[ROUNDS];
    struct cache *kept = cache_open(dir);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = clock_ns();
        struct cache *c = open ? cache_open(dir) : kept;
        if (!look(c, first + (unsigned)((uint64_t)i * 7919 % count)))
            printf("%s: a miss\n", name);
        if (open)
            cache_close(c);
        us[i] = (double)(clock_ns() - start) * 1e-3;
    }
    cache_close(kept);
    print_times(name, us);
}

static void measure_count(struct cache *c) {
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = clock_ns();
        cache_count(c, true, NULL, 0, 100);
        us[i] = (double)(clock_ns() - start) * 1e-3;
    }
    print_times("count", us);
}

int main(int argc, char **argv) {
    unsigned entries = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100000;
    if (argc < 2 || argc > 3 || !entries) {
        fprintf(stderr, "usage: %s DIR [ENTRIES]\n", argv[0]);
        return 2;
    }
    struct cache *c = cache_open(argv[1]);
    if (!c || cache_off(c) || !fill(c, 0, PAYLOAD) || !fill(c, 1, LARGE)) {
        fprintf(stderr, "cannot use %s: %s\n", argv[1], c && cache_off(c) ? cache_off(c) : "");
        return 1;
    }
    measure("open_and_lookup_30k", argv[1], 0, 1, true);
    measure("lookup_30k", argv[1], 0, 1, false);
    measure("lookup_525k", argv[1], 1, 1, false);
    measure_count(c);
    for (unsigned i = 0; i < entries; i++)
        if (!fill(c, i + 2, 200))
            return 1;
    printf("entries %u\n", entries);
    measure("lookup_among_many", argv[1], 2, entries, false);
    struct cache_stat s;
    uint64_t start = clock_ns();
    cache_stat(c, &s);
    printf("stat_ms %.1f\n", (double)(clock_ns() - start) * 1e-6);
    cache_close(c);
    return 0;
}
