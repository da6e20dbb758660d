// SPDX-License-Identifier: MIT
// The file of measurements: what it learns and forgets, and that nothing in it is believed.
#include "cache_shelf.h"

#include "dispatch/tune.h"

#include <sys/stat.h>

OWN_CACHE

static const int64_t day = (int64_t)86400 * 1000000000, now = (int64_t)20000 * 86400 * 1000000000;
static const char machine[] = "x86-64-v4, 16 CPUs; Fake 9000";
static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static struct tune *table(void) { return check_keep(calloc(1, sizeof(struct tune))); }

TEST(choice_tune_learns) {
    struct tune *t = table();
    CHECK_NEAR(tune_mean(t, "cuda:0 launch", 7), 7, 0);
    tune_learn(t, "cuda:0 launch", 10, now);
    CHECK_NEAR(tune_mean(t, "cuda:0 launch", 7), 10, 1e-12);
    for (int i = 0; i < 40; i++)
        tune_learn(t, "cuda:0 launch", i % 2 ? 9 : 11, now);
    CHECK_NEAR(tune_mean(t, "cuda:0 launch", 7), 10, 0.5);
    const struct tune_point *p = tune_find(t, "cuda:0 launch");
    double mean = p->sum / p->count, variance = p->squares / p->count - mean * mean;
    CHECK_NEAR(variance, 1, 0.1);
    CHECK_NEAR(p->last, 9, 0);
    CHECK_NEAR(tune_mean(t, "cuda:1 launch", 7), 7, 0);
    // What is no amount changes nothing.
    tune_learn(t, "cuda:0 launch", (double)NAN, now);
    tune_learn(t, "cuda:0 launch", (double)INFINITY, now);
    tune_learn(t, "cuda:0 launch", -1, now);
    CHECK_NEAR(tune_mean(t, "cuda:0 launch", 7), mean, 0);
}

// A GPU that somebody else uses, too: three runs in a row that are far off are enough.
TEST(choice_tune_flush) {
    struct tune *t = table();
    for (int i = 0; i < 20; i++)
        tune_learn(t, "lane", 10, now);
    tune_learn(t, "lane", 100, now); // once is an accident
    tune_learn(t, "lane", 10, now);
    for (int i = 0; i < 10; i++)
        tune_learn(t, "lane", 10, now);
    CHECK_NEAR(tune_mean(t, "lane", 0), 10, 2);
    tune_learn(t, "lane", 100, now);
    tune_learn(t, "lane", 110, now);
    CHECK(tune_mean(t, "lane", 0) < 90);
    tune_learn(t, "lane", 120, now);
    CHECK_NEAR(tune_mean(t, "lane", 0), 120, 1e-9);
}

TEST(choice_tune_many_names) {
    struct tune *t = table();
    char name[TUNE_NAME], hex[KEY_HEX];
    for (int i = 0; i < TUNE_KERNELS + 50; i++) {
        snprintf(name, sizeof name, "point %d", i);
        snprintf(hex, sizeof hex, "%064x", i);
        tune_learn(t, name, i, now + i);
        tune_note(t, hex, now + i)->compile = i;
    }
    CHECK_INT(t->points, TUNE_POINTS);
    CHECK_INT(t->kernels, TUNE_KERNELS);
    CHECK_NEAR(tune_mean(t, "point 0", -1), -1, 0);
    CHECK_NEAR(tune_mean(t, name, -1), TUNE_KERNELS + 49, 0);
    CHECK(tune_kernel(t, hex) && tune_kernel(t, hex)->compile == TUNE_KERNELS + 49);
    snprintf(hex, sizeof hex, "%064x", 49);
    CHECK(!tune_kernel(t, hex));
}

TEST(choice_tune_file) {
    struct cache *c = shelf_open();
    struct tune *t = table(), *other = table();
    CHECK(!tune_load(t, c, machine, now));
    tune_learn(t, "a", 1, now);
    tune_note(t, key, now)->typical = 0.5;
    CHECK(tune_is_changed(t));
    tune_save(t, c, machine, now);
    CHECK(!tune_is_changed(t));
    CHECK(tune_load(other, c, machine, now));
    CHECK_NEAR(tune_mean(other, "a", 0), 1, 0);
    CHECK(tune_kernel(other, key)->typical == 0.5);
    // Two who learn different things lose neither.
    tune_learn(t, "b", 2, now);
    tune_learn(other, "c", 3, now);
    tune_save(t, c, machine, now);
    tune_save(other, c, machine, now);
    CHECK(tune_load(t, c, machine, now));
    CHECK_NEAR(tune_mean(t, "b", 0) + tune_mean(t, "c", 0), 5, 0);
    // Another machine has none; old measurements are none, nor those of the future.
    CHECK(!tune_load(other, c, "another", now));
    CHECK(tune_load(other, c, machine, now + 181 * day));
    CHECK_INT(other->points + other->kernels, 0);
    CHECK(tune_load(other, c, machine, now - day));
    CHECK_INT(other->points + other->kernels, 0);
    cache_close(c);
}

static const char *file_of(struct cache *c) {
    const char *path = check_keep(malloc(4096));
    struct check_output o = RUN("find", cache_place(c), "-path", "*/tune/*.t");
    snprintf((char *)(uintptr_t)path, 4096, "%.*s", (int)strcspn(o.out, "\n"), o.out);
    return path;
}

// A file that is not what was written is none: cut, changed, of another machine or another user.
TEST(choice_tune_file_of_others) {
    struct cache *c = shelf_open();
    struct tune *t = table(), *read = table();
    tune_learn(t, "a", 1, now);
    tune_save(t, c, machine, now);
    const char *path = file_of(c);
    size_t n;
    unsigned char *good = shelf_load(path, &n);
    for (size_t i = 0; i < n; i += i < 300 ? 1 : 11) {
        good[i] ^= 0x10;
        shelf_save(path, good, n);
        CHECK_MSG(!tune_load(read, c, machine, now) && !read->points, "byte %zu", i);
        good[i] ^= 0x10;
        shelf_save(path, good, i);
        CHECK_MSG(!tune_load(read, c, machine, now) && !read->points, "cut at %zu", i);
    }
    shelf_save(path, good, n);
    CHECK(tune_load(read, c, machine, now));
    memset(c->secret, 1, sizeof c->secret); // as if somebody else had signed it
    CHECK(!tune_load(read, c, machine, now));
    chmod(path, 0622);
    CHECK(!tune_load(read, c, machine, now));
    cache_close(c);
}

// Whatever the bytes are, signed or not, what is taken from them are finite amounts.
TEST(choice_tune_fuzz) {
    struct tune *t = table();
    struct buf bytes = {0};
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 5; i++) {
        char name[TUNE_NAME];
        snprintf(name, sizeof name, "point %d", i);
        tune_learn(t, name, 1 + i, now);
    }
    tune_note(t, key, now)->load = 3;
    tune_encode(t, &bytes);
    unsigned taken = 0;
    for (int round = 0; round < 200000; round++) {
        unsigned char copy[4096];
        REQUIRE(bytes.length <= sizeof copy);
        memcpy(copy, bytes.data, bytes.length);
        size_t length = bytes.length;
        for (int k = 0; k <= round % 3; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            copy[random % length] = (unsigned char)(random >> 32);
        }
        if (round % 7 == 0)
            length = random % (length + 1);
        if (!tune_decode(t, copy, length, now)) {
            CHECK(!t->points && !t->kernels);
            continue;
        }
        taken++;
        for (uint32_t i = 0; i < t->points; i++) {
            const struct tune_point *p = &t->point[i];
            double mean = tune_mean(t, p->name, 1);
            CHECK(isfinite(mean) && mean >= 0 && strlen(p->name) < TUNE_NAME);
        }
        for (uint32_t i = 0; i < t->kernels; i++)
            CHECK(isfinite(t->kernel[i].work) && t->kernel[i].load >= 0);
    }
    CHECK(taken > 1000 && taken < 190000);
    // Counts that go beyond the table, and beyond the bytes.
    uint32_t head[4] = {TUNE_SCHEMA, TUNE_POINTS + 1, 0, 0};
    CHECK(!tune_decode(t, head, sizeof head, now));
    head[1] = UINT32_MAX;
    head[2] = UINT32_MAX;
    CHECK(!tune_decode(t, head, sizeof head, now));
    head[1] = head[2] = 0;
    CHECK(tune_decode(t, head, sizeof head, now));
    CHECK(!tune_decode(t, NULL, 0, now));
    buf_free(&bytes);
}
