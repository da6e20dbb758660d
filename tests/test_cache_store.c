// SPDX-License-Identifier: MIT
// The kernel cache stores and finds: round trip, modes, tiers, probes, statistics, walks.
#include "cache_shelf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

struct seen {
    int good, bad, most;
    bool payload;
};

static bool see(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                int64_t used_ns, const char *reason) {
    struct seen *s = user;
    CHECK_HAS(file, "/cache/v1/");
    CHECK(bytes > 0 && used_ns > 0);
    if (reason) {
        CHECK(item->record == NULL && item->payload == NULL);
        s->bad++;
    } else {
        size_t at = 0;
        struct key_field field;
        CHECK(key_next(item->record, item->record_length, &at, &field));
        CHECK_STR(field.label, "schema");
        CHECK((item->payload != NULL) == s->payload);
        CHECK_INT(item->payload_length, SHELF_PAYLOAD);
        s->good++;
    }
    return s->good + s->bad < s->most;
}

TEST(cache_store_round_trip) {
    struct cache *c = shelf_open();
    CHECK_STR(cache_place(c), check_path("cache"));
    CHECK(cache_off(c) == NULL);
    CHECK_MISS(c, 1, "absent");
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    CHECK_MISS(c, 2, "absent");
    CHECK(shelf_put_size(c, 3, 0));
    CHECK(shelf_get(c, 3));
    CHECK(shelf_put_size(c, 4, 1 << 20));
    CHECK(shelf_get(c, 4));
    CHECK_INT(shelf_count("tmp"), 0);
    struct stat s;
    CHECK(stat(shelf_file(c, 1), &s) == 0 && (s.st_mode & 0777) == 0600);
    CHECK(stat(check_path("cache/v1"), &s) == 0 && (s.st_mode & 0777) == 0700);
    CHECK_HAS(check_read(check_path("cache/CACHEDIR.TAG")), "Signature: 8a477f597d28d172");
    CHECK(cache_warning(c) == NULL);
    cache_close(c);
    c = shelf_open();
    CHECK(shelf_get(c, 1));
    cache_close(c);
    cache_close(NULL);
}

TEST(cache_store_modes) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    cache_close(c);
    setenv("SHOAL_CACHE", "ro", 1);
    c = shelf_open();
    CHECK_INT(cache_mode(c), CACHE_RO);
    CHECK(shelf_get(c, 1));
    CHECK(!shelf_put(c, 2));
    CHECK_STR(shelf_reason(), "read-only");
    CHECK_INT(cache_remove(c, NULL), 0);
    cache_close(c);
    setenv("SHOAL_CACHE", "refresh", 1);
    c = shelf_open();
    CHECK_MISS(c, 1, "refresh");
    CHECK(shelf_put(c, 1));
    cache_close(c);
    setenv("SHOAL_CACHE", "verify", 1);
    c = shelf_open();
    CHECK_INT(cache_mode(c), CACHE_VERIFY);
    CHECK(shelf_get(c, 1));
    cache_close(c);
    static const char *const off[] = {"off", "never heard of"};
    for (int i = 0; i < 2; i++) {
        setenv("SHOAL_CACHE", off[i], 1);
        c = shelf_open();
        CHECK_INT(cache_mode(c) == CACHE_OFF, i == 0); // the other one nobody asked for
        CHECK_HAS(cache_off(c), "SHOAL_CACHE");
        CHECK_MISS(c, 1, "off");
        CHECK(!shelf_put(c, 2));
        struct cache_stat s;
        cache_stat(c, &s);
        cache_count(c, true, NULL, 0, 1);
        cache_refuse(c, &(struct cache_item){0});
        cache_probe_put(c, "x", "y", 1);
        CHECK_INT(cache_predict(c, "so", 1000), 0);
        cache_close(c);
    }
}

TEST(cache_store_skips_what_is_quick) {
    struct cache *c = shelf_open();
    struct shelf_entry e = shelf_entry(1, 10);
    char reason[CACHE_REASON];
    e.item.wall_ms = 4;
    CHECK(!cache_put(c, &e.item, false, reason));
    CHECK_HAS(reason, "quick");
    e.item.wall_ms = 5;
    CHECK(cache_put(c, &e.item, true, reason));
    shelf_free(&e);
    cache_close(c);
}

TEST(cache_store_limits) { // nothing is written that could not be read
    struct cache *c = shelf_open();
    struct shelf_entry e = shelf_entry(1, 10);
    char reason[CACHE_REASON];
    unsigned char *large = check_keep(calloc(1, ENTRY_META_MOST + 1));
    e.item.meta = large;
    e.item.meta_length = ENTRY_META_MOST + 1;
    CHECK(!cache_put(c, &e.item, false, reason));
    CHECK_HAS(reason, "limit");
    e.item.meta_length = ENTRY_META_MOST;
    CHECK(cache_put(c, &e.item, false, reason));
    struct cache_item got;
    CHECK(cache_get(c, &e.record, SHELF_ABI, &got, reason));
    cache_item_free(&got);
    cache_close(c);
}

TEST(cache_store_read_only_tiers) {
    struct cache *c = cache_open(check_path("site"));
    CHECK(shelf_put(c, 1));
    CHECK(shelf_put(c, 2));
    const char *path = shelf_file(c, 1), *bad = shelf_file(c, 2);
    cache_close(c);
    struct stat before, after;
    shelf_age(path, 100000);
    CHECK_INT(stat(path, &before), 0);
    CHECK_INT(truncate(bad, 500), 0);
    setenv("SHOAL_CACHE_RO", check_path("nowhere"), 1);
    c = shelf_open();
    CHECK_HAS(cache_warning(c), "nowhere");
    CHECK(cache_warning(c) == NULL);
    CHECK_MISS(c, 1, "absent");
    cache_close(c);
    char list[256];
    snprintf(list, sizeof list, "%s:%s", check_path("nowhere"), check_path("site"));
    setenv("SHOAL_CACHE_RO", list, 1);
    c = shelf_open();
    CHECK(shelf_get(c, 1));
    CHECK_MISS(c, 2, "corrupt");
    CHECK(stat(path, &after) == 0 &&
          !memcmp(&before.st_mtim, &after.st_mtim, sizeof after.st_mtim));
    CHECK_INT(access(bad, F_OK), 0); // not touched
    struct shelf_entry e = shelf_entry(1, 0);
    struct cache_item got;
    char reason[CACHE_REASON];
    CHECK(cache_get(c, &e.record, SHELF_ABI, &got, reason));
    CHECK_INT(got.tier, 1);
    cache_item_free(&got);
    CHECK_INT(cache_remove(c, NULL), 0);
    CHECK(shelf_get(c, 1));
    CHECK(shelf_put(c, 2));
    CHECK(shelf_get(c, 2));
    cache_close(c);
    setenv("SHOAL_CACHE_DIR", "/proc/none", 1); // no place of its own: the others are still read
    c = shelf_open();
    CHECK(cache_off(c) == NULL);
    CHECK(shelf_get(c, 1));
    CHECK(!shelf_put(c, 3));
    CHECK_STR(shelf_reason(), "no place of its own");
    cache_close(c);
}

TEST(cache_store_touches_hourly) {
    struct cache *c = shelf_open();
    struct stat s;
    CHECK(shelf_put(c, 1));
    const char *path = shelf_file(c, 1);
    shelf_age(path, 1800);
    CHECK(shelf_get(c, 1));
    CHECK(stat(path, &s) == 0 && time(NULL) - s.st_mtime > 1700);
    shelf_age(path, 7200);
    CHECK(shelf_get(c, 1));
    CHECK(stat(path, &s) == 0 && time(NULL) - s.st_mtime < 60);
    shelf_age(path, 7200); // to look at all of them is no use
    struct seen seen = {.most = 100, .payload = true};
    cache_walk(c, &(struct cache_walk){.payload = true, .entry = see, .user = &seen});
    CHECK_INT(seen.good, 1);
    CHECK(stat(path, &s) == 0 && time(NULL) - s.st_mtime > 7100);
    cache_close(c);
}

TEST(cache_store_refuse_quarantines) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    struct shelf_entry e = shelf_entry(1, 0);
    e.item.tier = 1; // one of a read-only tier: ours is not touched
    cache_refuse(c, &e.item);
    CHECK(shelf_get(c, 1));
    e.item.tier = 0;
    cache_refuse(c, &e.item);
    CHECK_MISS(c, 1, "absent");
    CHECK_INT(shelf_count("bad"), 1);
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.refused, 2);
    cache_close(c);
}

TEST(cache_store_deleted_while_open) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    for (int i = 0; i < 2; i++) {
        CHECK_INT(RUN("rm", "-rf", i ? check_path("cache/v1") : check_path("cache")).status, 0);
        CHECK_MISS(c, 1, "absent");
        CHECK(shelf_put(c, 1));
        CHECK(shelf_get(c, 1));
    }
    CHECK(cache_warning(c) == NULL);
    cache_close(c);
}

TEST(cache_store_probe) {
    struct cache *c = shelf_open();
    struct buf out = {0};
    CHECK(!cache_probe_get(c, "/usr/bin/cc 1 2 3", &out));
    cache_probe_put(c, "/usr/bin/cc 1 2 3", "gcc 13", 6);
    CHECK(!cache_probe_get(c, "/usr/bin/cc 1 2 4", &out));
    CHECK(cache_probe_get(c, "/usr/bin/cc 1 2 3", &out));
    CHECK_STR(out.data, "gcc 13");
    buf_free(&out);
    char file[512];
    struct check_output o = RUN("ls", check_path("cache/v1/probe"));
    snprintf(file, sizeof file, "%s/%.*s", check_path("cache/v1/probe"), (int)strcspn(o.out, "\n"),
             o.out);
    size_t n;
    unsigned char *bytes = shelf_load(file, &n);
    bytes[n - 10] ^= 1;
    shelf_save(file, bytes, n);
    CHECK(!cache_probe_get(c, "/usr/bin/cc 1 2 3", &out)); // the same checks as an entry
    cache_probe_put(c, "/usr/bin/cc 1 2 3", "gcc 14", 6);
    CHECK_INT(chmod(file, 0666), 0);
    CHECK(!cache_probe_get(c, "/usr/bin/cc 1 2 3", &out));
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.entries, 0);
    cache_close(c);
}

TEST(cache_store_walk_and_remove) {
    struct cache *c = shelf_open();
    for (unsigned i = 0; i < 20; i++)
        CHECK(shelf_put(c, i));
    CHECK_INT(truncate(shelf_file(c, 3), 200), 0);
    check_write(check_path("cache/v1/00x"), "foreign"); // passed by
    struct seen s = {.most = 100};
    cache_walk(c, &(struct cache_walk){.entry = see, .user = &s});
    CHECK_INT(s.good, 19);
    CHECK_INT(s.bad, 1);
    s = (struct seen){.most = 100, .payload = true};
    cache_walk(c, &(struct cache_walk){.payload = true, .entry = see, .user = &s});
    CHECK_INT(s.good, 19);
    s = (struct seen){.most = 5};
    cache_walk(c, &(struct cache_walk){.entry = see, .user = &s});
    CHECK_INT(s.good + s.bad, 5);
    struct shelf_entry e = shelf_entry(7, 0);
    CHECK_INT(cache_remove(c, e.item.key), 1);
    CHECK_INT(cache_remove(c, e.item.key), 0);
    CHECK_MISS(c, 7, "absent");
    CHECK_INT(cache_remove(c, NULL), 19);
    CHECK_MISS(c, 8, "absent");
    struct cache_stat t;
    cache_stat(c, &t);
    CHECK_INT(t.entries, 0);
    CHECK_INT(t.stored, 20);
    cache_close(c);
}
