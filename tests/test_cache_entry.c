// SPDX-License-Identifier: MIT
// An entry that is not exactly as it was written is a miss: cut, changed, moved, or no file at all.
#include "cache_shelf.h"

#include "cache/crc32c.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

OWN_CACHE

static void set_number(unsigned char *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static void renew_header_sum(unsigned char *bytes) {
    set_number(bytes + 124, crc32c(bytes, 124), 4);
}

// Puts other bytes in the place of entry 1: a miss, then stored anew and good again.
static void check_defect(struct cache *c, const void *bytes, size_t length, const char *why) {
    shelf_save(shelf_file(c, 1), bytes, length);
    CHECK_MISS(c, 1, why);
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
}

TEST(cache_entry_crc32c) { CHECK_INT(crc32c("123456789", 9), 0xe3069283); }

TEST(cache_entry_truncated) {
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put(c, 1));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    const size_t cuts[] = {0, 7, 127, 128, 135, 136, 200, n / 2, n - 8, n - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        check_defect(c, bytes, cuts[i], "corrupt");
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.corrupt, 10);
    CHECK_INT(s.entries, 1);
    CHECK_INT(shelf_count("bad"), 8); // no more are kept
    cache_close(c);
}

TEST(cache_entry_bit_flips) { // every bit of the small parts, some of the payload
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put_size(c, 1, 100));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    struct cache_item out;
    for (size_t bit = 0; bit < n * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        const char *wrong = entry_decode(bytes, n, NULL, &out);
        bool version = bit / 16 == 4; // bytes 8 and 9
        if (!wrong && !entry_is_signed(bytes, bytes + entry_mac_offset(n), c->secret))
            wrong = bit / 8 >= entry_mac_offset(n) ? "corrupt, or foreign" : "header";
        CHECK_MSG(wrong && !strncmp(wrong, version ? "version" : "corrupt", 7), "bit %zu: %s", bit,
                  wrong ? wrong : "accepted");
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    const size_t places[] = {20, 130, 60, 128 + 70, n - 90, n - 3}; // one of each region, on disk
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bytes[places[i]] ^= 4;
        check_defect(c, bytes, n, "corrupt");
        bytes[places[i]] ^= 4;
    }
    bytes[n - 20] ^= 4; // of the signature
    check_defect(c, bytes, n, "foreign");
    cache_close(c);
}

TEST(cache_entry_longer) {
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put(c, 1));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    bytes[n] = 0; // shelf_load leaves room
    check_defect(c, bytes, n + 1, "corrupt");
    cache_close(c);
}

TEST(cache_entry_renamed) {
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put(c, 1) && shelf_put(c, 2));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    shelf_save(shelf_file(c, 2), bytes, n);
    CHECK_MISS(c, 2, "corrupt: key of another");
    CHECK(shelf_get(c, 1));
    CHECK(shelf_put(c, 2));
    CHECK(shelf_get(c, 2));
    cache_close(c);
}

TEST(cache_entry_other_version) {
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put(c, 1));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    for (int change = -1; change <= 1; change += 2) {
        set_number(bytes + 8, (uint64_t)(ENTRY_VERSION + change), 2);
        set_number(bytes + 80, UINT64_MAX, 8); // nothing further is looked at
        check_defect(c, bytes, n, "version");
    }
    CHECK_INT(shelf_count("bad"), 0);
    cache_close(c);
}

TEST(cache_entry_bad_lengths) { // with a good header sum
    static const uint64_t values[] = {(uint64_t)1 << 63,
                                      UINT64_MAX,
                                      UINT64_MAX - 100,
                                      (uint64_t)1 << 40,
                                      0,
                                      ENTRY_PAYLOAD_MOST,
                                      ENTRY_META_MOST,
                                      ENTRY_RECORD_MOST,
                                      3001};
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put(c, 1));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    for (int field = 80; field <= 96; field += 8) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            unsigned char *copy = malloc(n);
            memcpy(copy, bytes, n);
            set_number(copy + field, values[i], 8);
            renew_header_sum(copy);
            check_defect(c, copy, n, "corrupt");
            free(copy);
        }
    }
    set_number(bytes + 80, 3000 - (uint64_t)4096,
               8); // together they have the right length by overflow
    set_number(bytes + 96, (uint64_t)bytes[96] + 4096, 8);
    renew_header_sum(bytes);
    check_defect(c, bytes, n, "corrupt");
    cache_close(c);
}

TEST(cache_entry_zero_filled) { // as after a power loss
    struct cache *c = shelf_open();
    size_t n;
    REQUIRE(shelf_put(c, 1));
    free(shelf_load(shelf_file(c, 1), &n));
    unsigned char *zeros = check_keep(calloc(1, n));
    check_defect(c, zeros, n, "corrupt");
    cache_close(c);
}

TEST(cache_entry_wrong_abi) {
    struct cache *c = shelf_open();
    char reason[CACHE_REASON];
    struct cache_item got;
    struct shelf_entry e = shelf_entry(1, 100);
    CHECK(cache_put(c, &e.item, false, reason));
    CHECK(!cache_get(c, &e.record, SHELF_ABI + 1, &got, reason));
    CHECK_STR(reason, "wrong-abi");
    shelf_free(&e);
    cache_close(c);
}

// The kind is a word of the record, so another kind is another key; what has none is no entry.
TEST(cache_entry_kind) {
    static const struct {
        const char *kind;
        bool good;
    } cases[] = {{"so", true},
                 {"probe", true},
                 {"spirv2", true}, // of a backend that is not there yet
                 {"abcdefghijklmno", true},
                 {"abcdefghijklmnop", false},
                 {"", false},
                 {"SO", false},
                 {"a b", false},
                 {NULL, false},
                 {"../x", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct key_record r = {0};
        struct cache_item item = {.payload = (const unsigned char *)"x", .payload_length = 1}, out;
        key_add_text(&r, "schema", "test");
        if (cases[i].kind)
            key_add_text(&r, "kind", cases[i].kind);
        item.record = (const unsigned char *)r.bytes.data;
        item.record_length = r.bytes.length;
        key_digest(&r, item.key);
        size_t n;
        unsigned char *bytes = entry_encode(&item, &n);
        const char *wrong = entry_decode(bytes, n, NULL, &out);
        CHECK_MSG(!wrong == cases[i].good, "kind '%s': %s", cases[i].kind, wrong);
        if (!wrong)
            CHECK_STR(out.kind, cases[i].kind);
        free(bytes);
        key_free(&r);
    }
}

// Something else has the name of the entry; nothing blocks, and it is replaced.
TEST(cache_entry_not_a_file) {
    struct cache *c = shelf_open();
    REQUIRE(shelf_put(c, 1) && shelf_put(c, 2));
    const char *path = shelf_file(c, 1), *good = shelf_file(c, 2);
    for (int kind = 0; kind < 5; kind++) {
        CHECK_INT(unlink(path), 0);
        int made = kind == 0   ? mkdir(path, 0700)
                   : kind == 1 ? mkfifo(path, 0600)
                   : kind == 2 ? symlink(good, path)
                   : kind == 3 ? symlink("nowhere", path)
                               : mknod(path, S_IFCHR | 0600, makedev(1, 5));
        if (kind == 4 && made < 0)
            break; // only root can
        CHECK_INT(made, 0);
        CHECK_MISS(c, 1, "corrupt");
        CHECK(shelf_put(c, 1));
        CHECK(shelf_get(c, 1));
    }
    unlink(path); // a directory with something in it, found by the store only
    CHECK_INT(mkdir(path, 0700), 0);
    char inside[512];
    snprintf(inside, sizeof inside, "%s/x", path);
    check_write(inside, "x");
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    CHECK(shelf_get(c, 2));
    cache_close(c);
}

TEST(cache_entry_mode) {
    struct cache *c = shelf_open();
    REQUIRE(shelf_put(c, 1));
    CHECK_INT(chmod(shelf_file(c, 1), 0622), 0);
    CHECK_MISS(c, 1, "mode");
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    if (geteuid() == 0) {
        CHECK_INT(chown(shelf_file(c, 1), 65534, 65534), 0);
        CHECK_MISS(c, 1, "owner");
    }
    cache_close(c);
}

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

// Bytes of an entry with a few changed, or none of it: never a crash, never accepted.
static void fuzz(unsigned rounds) {
    static const unsigned char secret[SECRET_BYTES] = "of this test";
    struct shelf_entry e = shelf_entry(1, 200);
    size_t n;
    unsigned char *good = entry_encode(&e.item, &n), *bytes = malloc(2 * n);
    entry_sign(good, n, secret);
    struct cache_item out;
    uint64_t x = 88172645463325252u;
    for (unsigned i = 0; i < rounds; i++) {
        size_t length = next_random(&x) % 4 ? n : next_random(&x) % (2 * n);
        memset(bytes, 0, 2 * n);
        if (i % 4)
            memcpy(bytes, good, n);
        for (size_t k = 1 + next_random(&x) % (i % 4 ? 4 : 2 * n); k; k--)
            bytes[next_random(&x) % (length ? length : 1)] = (unsigned char)next_random(&x);
        if (i % 3 == 0)
            renew_header_sum(bytes);
        if (length == n && !memcmp(bytes, good, n))
            continue;
        // An exact block, so that reading past its end shows.
        unsigned char *exact = malloc(length ? length : 1);
        memcpy(exact, bytes, length);
        // The times and the like pass with a renewed sum, but then it is nobody's signature.
        const char *wrong = entry_decode(exact, length, e.item.key, &out);
        CHECK_MSG(wrong || !entry_is_signed(exact, exact + entry_mac_offset(length), secret),
                  "input %u accepted", i);
        free(exact);
    }
    free(bytes);
    free(good);
    shelf_free(&e);
}

TEST(cache_entry_fuzz) { fuzz(30000); }
LONG_TEST(cache_entry_fuzz_million) { fuzz(1000000); }
