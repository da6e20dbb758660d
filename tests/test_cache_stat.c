// SPDX-License-Identifier: MIT
// Counters and predicted compile times: they add up between processes and matter to nobody.
#include "cache_shelf.h"

#include <fcntl.h>
#include <unistd.h>

OWN_CACHE

static int count_some(void *user) {
    for (int i = 0; i < 100; i++)
        cache_count(user, i % 4 != 0, i % 8 ? "absent" : "corrupt: header", 0, 10);
    return 0;
}

TEST(cache_stat_counts) {
    struct cache *c = shelf_open();
    pid_t children[8];
    for (int i = 0; i < 8; i++)
        children[i] = shelf_start(count_some, c);
    for (int i = 0; i < 8; i++)
        CHECK_INT(shelf_wait(children[i]), 0);
    cache_count(c, true, NULL, 1, 5);
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.hits, 600);
    CHECK_INT(s.hits_read_only, 1);
    CHECK_INT(s.misses, 200);
    CHECK_INT(s.saved_ms, 6005);
    CHECK_INT(s.cap_bytes, 1 << 30);
    CHECK_INT(s.cap_entries, 4096);
    uint64_t absent = 0, corrupt = 0;
    for (int i = 0; i < 16; i++) {
        absent += strcmp(s.by_reason[i].reason, "absent") ? 0 : s.by_reason[i].count;
        corrupt += strcmp(s.by_reason[i].reason, "corrupt") ? 0 : s.by_reason[i].count;
    }
    CHECK_INT(absent, 8 * 12);
    CHECK_INT(corrupt, 8 * 13);
    cache_close(c);
}

TEST(cache_stat_many_reasons) {
    struct cache *c = shelf_open();
    for (int i = 0; i < 100; i++) {
        char reason[CACHE_REASON];
        snprintf(reason, sizeof reason, "reason %d that is longer than there is room for it", i);
        cache_count(c, false, reason, 0, 0);
    }
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.misses, 100);
    uint64_t sum = 0;
    for (int i = 0; i < 16; i++)
        sum += s.by_reason[i].count;
    CHECK_INT(sum, 100);
    cache_close(c);
}

// Every file of counters damaged: they restart, entries are still there.
TEST(cache_stat_corrupt_files_restart) {
    struct cache *c = shelf_open();
    struct cache_stat s;
    CHECK(shelf_put(c, 1));
    cache_count(c, true, NULL, 0, 1);
    cache_learn(c, "so", 1000, 50);
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7",    "8",
                                        "9", "a", "b", "c", "d", "e", "f", "time", "scan"};
    for (int way = 0; way < 4; way++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%s", check_path("cache/v1/stat"), names[i]);
            size_t n;
            unsigned char *bytes =
                way == 3 && access(path, F_OK) == 0 ? shelf_load(path, &n) : NULL;
            if (bytes) { // a counter is changed, not its sum
                bytes[16] ^= 1;
                shelf_save(path, bytes, n);
                free(bytes);
            } else if (way == 3)
                continue;
            else if (way == 0)
                check_write(path, "not a counter, but as long as it takes to be read as one ....");
            else if (way == 1)
                CHECK_INT(truncate(path, 30), 0);
            else
                CHECK_INT(unlink(path), 0);
        }
        cache_stat(c, &s);
        CHECK_INT(s.hits, 0);
        CHECK_INT(s.entries, way + 1);
        CHECK_INT(cache_predict(c, "so", 1000), 0);
        CHECK(shelf_get(c, 1));
        CHECK(shelf_put(c, (unsigned)way + 2));
        cache_count(c, true, NULL, 0, 1);
        cache_stat(c, &s);
        CHECK_INT(s.hits, 1);
        cache_learn(c, "so", 1000, 50);
        CHECK_INT(cache_predict(c, "so", 1000), 50);
    }
    cache_close(c);
}

TEST(cache_stat_predicts) {
    struct cache *c = shelf_open();
    CHECK_INT(cache_predict(c, "so", 10000), 0);
    cache_learn(c, "so", 10000, 80);
    CHECK_INT(cache_predict(c, "so", 10000), 80);
    CHECK_INT(cache_predict(c, "so", 40000), 320); // time grows with the source
    CHECK_INT(cache_predict(c, "so", 5000), 40);
    CHECK_INT(cache_predict(c, "cubin", 10000), 0);
    for (int i = 0; i < 30; i++)
        cache_learn(c, "so", 10000, 200);
    CHECK_NEAR(cache_predict(c, "so", 10000), 200, 3);
    CHECK(cache_predict(c, "so", UINT64_MAX) > 0);
    CHECK(cache_predict(c, "so", 0) > 0);
    cache_learn(c, "so", 10000, UINT32_MAX);
    CHECK(cache_predict(c, "so", UINT64_MAX) == UINT32_MAX);
    cache_close(c);
}

// Compilers take more than twice as long for twice the source: the line through what is known.
TEST(cache_stat_predicts_by_a_line) {
    struct cache *c = shelf_open();
    cache_learn(c, "cubin", 1 << 12, 100);
    cache_learn(c, "cubin", 1 << 14, 800); // the power 1.5 of the size
    CHECK_NEAR(cache_predict(c, "cubin", 1 << 16), 6400, 2);
    CHECK_NEAR(cache_predict(c, "cubin", 1 << 13), 282, 2);
    CHECK_NEAR(cache_predict(c, "cubin", 1 << 10), 12, 1);
    CHECK_INT(cache_predict(c, "so", 1 << 12), 0);
    cache_close(c);
}
