// SPDX-License-Identifier: MIT
// Growth: caps, age, what is in use, leftovers, jumping clocks, many writers at a time.
#include "cache_shelf.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

enum { HOUR = 3600, DAY = 24 * HOUR };

static uint64_t entries_of(struct cache *c) {
    struct cache_stat s;
    cache_stat(c, &s);
    return s.entries;
}

static struct cache *fill(const char *most, unsigned count) {
    setenv("SHOAL_CACHE_ENTRIES", "0", 1);
    struct cache *c = shelf_open();
    for (unsigned i = 0; i < count; i++)
        REQUIRE(shelf_put_size(c, i, 100));
    cache_close(c);
    setenv("SHOAL_CACHE_ENTRIES", most, 1);
    return shelf_open();
}

TEST(cache_evict_oldest_first) {
    struct cache *c = fill("20", 30);
    for (unsigned i = 0; i < 30; i++)
        shelf_age(shelf_file(c, i), 2 * DAY + (int64_t)i * 60); // 29 is the oldest
    CHECK(shelf_put_size(c, 100, 100));
    CHECK_INT(entries_of(c), 16);
    CHECK(shelf_get(c, 0));
    CHECK(shelf_get(c, 14));
    CHECK(shelf_get(c, 100));
    CHECK_MISS(c, 15, "absent");
    CHECK_MISS(c, 29, "absent");
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.evicted, 15);
    cache_close(c);
}

TEST(cache_evict_by_bytes) {
    setenv("SHOAL_CACHE_MAX", "50000", 1);
    struct cache *c = shelf_open();
    for (unsigned i = 0; i < 40; i++) {
        CHECK(shelf_put_size(c, i, 4000));
        shelf_age(shelf_file(c, i), 3 * DAY - (int64_t)i * 60);
    }
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK(s.bytes <= 50000 && s.entries >= 8);
    CHECK(shelf_get(c, 39));
    cache_close(c);
}

TEST(cache_evict_spares_what_is_used) { // within a day, until twice the cap
    struct cache *c = fill("20", 30);
    CHECK(shelf_put_size(c, 100, 100));
    CHECK_INT(entries_of(c), 31);
    for (unsigned i = 0; i < 5; i++)
        shelf_age(shelf_file(c, i), 2 * DAY);
    evict_now(c, 0);
    CHECK_INT(entries_of(c), 26);
    for (unsigned i = 200; i < 220; i++)
        CHECK(shelf_put_size(c, i, 100));
    CHECK(entries_of(c) <= 40);
    cache_close(c);
}

TEST(cache_evict_caps_off) {
    struct cache *c = fill("0", 30);
    evict_now(c, 0);
    CHECK_INT(entries_of(c), 30);
    cache_close(c);
}

TEST(cache_evict_leftovers) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    const char *old = check_path("cache/v1/tmp/old"), *fresh = check_path("cache/v1/tmp/new");
    check_write(old, "x");
    check_write(fresh, "x");
    shelf_age(old, HOUR + 60);
    evict_now(c, 0);
    CHECK(access(old, F_OK) < 0);
    CHECK_INT(access(fresh, F_OK), 0);
    shelf_age(fresh, -20 * DAY); // written by a clock that was ahead
    evict_now(c, 0);
    struct stat s;
    CHECK(stat(fresh, &s) == 0 && s.st_mtime <= time(NULL) + 60);
    cache_close(c);
}

TEST(cache_evict_daily) { // a day after the last scan a store looks again
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    const char *old = check_path("cache/v1/tmp/old");
    check_write(old, "x");
    shelf_age(old, 2 * HOUR);
    CHECK(shelf_put(c, 2));
    CHECK_INT(access(old, F_OK), 0);
    struct stat_scan scan;
    CHECK(stat_scan_read(c, &scan));
    int fd = stat_scan_lock(c);
    scan.time_ns -= (int64_t)25 * HOUR * 1000000000;
    stat_scan_write(fd, &scan);
    close(fd);
    CHECK(shelf_put(c, 3));
    CHECK(access(old, F_OK) < 0);
    cache_close(c);
}

TEST(cache_evict_foreign_files) { // passed by, never fatal
    struct cache *c = fill("10", 15);
    for (unsigned i = 0; i < 15; i++)
        shelf_age(shelf_file(c, i), 2 * DAY);
    const char *dir = shelf_file(c, 0);
    unlink(dir);
    mkdir(dir, 0700);
    check_write(check_path("cache/v1/ab"), "a file where a directory should be");
    mkdir(check_path("cache/v1/zz"), 0700);
    check_write(check_path("cache/v1/zz/notes.txt"), "mine");
    evict_now(c, 0);
    CHECK(entries_of(c) <= 10);
    CHECK_STR(check_read(check_path("cache/v1/zz/notes.txt")), "mine");
    cache_close(c);
}

TEST(cache_evict_too_old) { // an eighth at a time, and 16
    struct cache *c = fill("0", 60);
    for (unsigned i = 0; i < 60; i++)
        shelf_age(shelf_file(c, i), 100 * DAY);
    evict_now(c, 0);
    CHECK_INT(entries_of(c), 60 - (60 / 8 + 16));
    cache_close(c);
}

// The clock was ten years ahead, or is a year behind: nothing is lost, nothing stays for ever.
TEST(cache_evict_clock_jumps) {
    struct cache *c = fill("40", 30);
    for (unsigned i = 0; i < 30; i++) // stored when the clock was ahead
        shelf_age(shelf_file(c, i), -3650 * (int64_t)DAY);
    evict_now(c, 0);
    CHECK_INT(entries_of(c), 30);
    struct stat s;
    for (unsigned i = 0; i < 30; i++) // counted as used now, and ages from now on
        CHECK(stat(shelf_file(c, i), &s) == 0 && s.st_mtime <= time(NULL) + 60);
    for (unsigned i = 0; i < 30; i++) // the clock is ahead now
        shelf_age(shelf_file(c, i), 3650 * (int64_t)DAY);
    CHECK(shelf_get(c, 7)); // in use
    evict_now(c, 0);
    CHECK(entries_of(c) >= 11);
    CHECK(shelf_get(c, 7));
    for (int i = 0; i < 5; i++)
        evict_now(c, 0);
    CHECK_INT(entries_of(c), 1);
    cache_close(c);
}

struct writer {
    unsigned first, count;
};

// Other processes evict what this one stores; what is found is right.
static int write_many(void *user) {
    struct writer *w = user;
    struct cache *c = cache_open(NULL);
    int status = 0;
    for (unsigned i = 0; i < w->count; i++) {
        if (!shelf_put(c, w->first + i))
            status |= 1;
        shelf_get(c, w->first + i); // checks its bytes
        if (strcmp(shelf_reason(), "") && strcmp(shelf_reason(), "absent"))
            status |= 2;
    }
    cache_close(c);
    return status;
}

static void evict_all_the_time(unsigned processes, unsigned keys) {
    pid_t children[64];
    struct writer w[64];
    setenv("SHOAL_CACHE_MAX", "150000", 1);
    for (unsigned i = 0; i < processes; i++) {
        w[i] = (struct writer){i * 10000, keys / processes};
        children[i] = shelf_start(write_many, &w[i]);
    }
    for (unsigned i = 0; i < processes; i++)
        CHECK_INT(shelf_wait(children[i]), 0);
    struct cache *c = shelf_open();
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_MSG(s.bytes <= 300000, "%llu bytes", (unsigned long long)s.bytes);
    CHECK(s.evicted > 0 && s.entries > 0);
    CHECK_INT(shelf_count("tmp"), 0);
    cache_close(c);
}

TEST(cache_evict_all_the_time) { evict_all_the_time(8, 240); }
LONG_TEST(cache_evict_all_the_time_long) { evict_all_the_time(32, 1024); }

// Very many entries: a lookup stays short, counting takes less than two seconds.
LONG_TEST(cache_evict_hundred_thousand) {
    setenv("SHOAL_CACHE_ENTRIES", "0", 1);
    struct cache *c = shelf_open();
    REQUIRE(shelf_put(c, 0));
    size_t n;
    for (unsigned i = 1; i < 100000; i++) { // straight to the disk, it is not the store's speed
        struct shelf_entry e = shelf_entry(i, 200);
        unsigned char *bytes = entry_encode(&e.item, &n);
        char dir[8], path[256];
        snprintf(dir, sizeof dir, "v1/%02x", e.item.key[0]);
        snprintf(path, sizeof path, "%s/%s", cache_place(c), dir);
        mkdir(path, 0700);
        shelf_save(shelf_file(c, i), bytes, n);
        free(bytes);
        shelf_free(&e);
    }
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(shelf_get(c, i * 97 % 100000));
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec) < 1.0);
    struct cache_stat s;
    clock_gettime(CLOCK_MONOTONIC, &a);
    cache_stat(c, &s);
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK_INT(s.entries, 100000);
    CHECK((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec) < 2.0);
    cache_close(c);
    setenv("SHOAL_CACHE_ENTRIES", "4096", 1); // twice the cap is long passed: down to 80 %
    c = shelf_open();
    clock_gettime(CLOCK_MONOTONIC, &a);
    evict_now(c, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK(entries_of(c) <= 4096);
    CHECK(b.tv_sec - a.tv_sec < 60);
    cache_close(c);
}
