// SPDX-License-Identifier: MIT
// Archives of entries: out and back, and what must not come in.
#include "cache_shelf.h"

#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

static char *messages(const struct report *r) {
    struct buf all = {0};
    for (uint32_t i = 0; i < r->messages.count; i++)
        buf_printf(&all, "%s\n", r->messages.items[i].text);
    check_keep(r->messages.items);
    return all.data ? check_keep(all.data) : "";
}

// A cache with three entries, and its archive.
static const char *make_archive(void) {
    struct cache *c = shelf_open();
    uint64_t count;
    for (unsigned i = 0; i < 3; i++)
        REQUIRE(shelf_put_size(c, i, 1000 + i));
    REQUIRE(cache_export(c, check_path("a.tar"), &count, NULL) == SHOAL_OK && count == 3);
    cache_close(c);
    return check_path("a.tar");
}

TEST(cache_tar_round_trip) {
    const char *archive = make_archive();
    struct cache *c = cache_open(check_path("other"));
    uint64_t count, refused;
    CHECK_INT(cache_import(c, archive, &count, &refused, NULL), SHOAL_OK);
    CHECK_INT(count, 3);
    CHECK_INT(refused, 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(shelf_get(c, i));
    cache_close(c);
    struct check_output o = RUN("tar", "tvf", archive); // other programs can read it
    if (o.status != 127) {
        CHECK_INT(o.status, 0);
        CHECK_HAS(o.out, "-rw------- 0/0");
        CHECK_HAS(o.out, " v1/");
    }
}

TEST(cache_tar_made_by_tar) { // with directories in it
    make_archive();
    if (RUN("tar", "cf", check_path("b.tar"), "-C", check_path("cache"), "v1").status != 0)
        check_skip("no tar");
    struct cache *c = cache_open(check_path("other"));
    struct report r = {0};
    uint64_t count, refused;
    CHECK_INT(cache_import(c, check_path("b.tar"), &count, &refused, &r), SHOAL_OK);
    CHECK_INT(count, 3);
    CHECK(refused > 0); // counters and the like, each named
    CHECK_HAS(messages(&r), "'v1/stat/scan' is refused: it is not the name of an entry");
    for (unsigned i = 0; i < 3; i++)
        CHECK(shelf_get(c, i));
    cache_close(c);
}

TEST(cache_tar_leaves_out_defects) {
    struct cache *c = shelf_open();
    struct report r = {0};
    uint64_t count;
    CHECK(shelf_put(c, 1));
    CHECK(shelf_put(c, 2));
    CHECK_INT(truncate(shelf_file(c, 2), 1000), 0);
    CHECK_INT(cache_export(c, check_path("a.tar"), &count, &r), SHOAL_OK);
    CHECK_INT(count, 1);
    CHECK_HAS(messages(&r), "left out: corrupt");
    CHECK_INT(cache_export(c, check_path("no/such/a.tar"), &count, &r), SHOAL_IO);
    cache_close(c);
}

static void renew_sum(unsigned char *header) {
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum);
    header[155] = ' ';
}

// The first member of the archive with another name or type.
static void check_refused(const char *archive, const char *name, char type, const char *why) {
    size_t n;
    unsigned char *bytes = shelf_load(archive, &n);
    if (name) {
        memset(bytes, 0, 100);
        memcpy(bytes, name, strnlen(name, 100));
    }
    bytes[156] = (unsigned char)type;
    renew_sum(bytes);
    shelf_save(check_path("bad.tar"), bytes, n);
    struct cache *c = cache_open(check_path("other"));
    struct report r = {0};
    uint64_t count, refused;
    CHECK_INT(cache_import(c, check_path("bad.tar"), &count, &refused, &r), SHOAL_OK);
    CHECK_INT(count, 2);
    CHECK_INT(refused, 1);
    CHECK_HAS(messages(&r), why);
    CHECK_INT(cache_remove(c, NULL), 2);
    report_free(&r);
    cache_close(c);
    free(bytes);
}

TEST(cache_tar_refuses_names) {
    static const char *const names[] = {
        "../v1/00/x.k",
        "/etc/passwd",
        "v1/../../../../tmp/x",
        "v1/00/../../../../../../../../../../../../../../tmp/shoal-test-escape.k",
        "v1/zz/00000000000000000000000000000000000000000000000000000000000000.k",
        "v1/00/0000000000000000000000000000000000000000000000000000000000000.k",
        "v1/AA/00000000000000000000000000000000000000000000000000000000000000.k",
        "",
    };
    const char *archive = make_archive();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_refused(archive, names[i], '0', "is refused: it is not the name of an entry");
    check_refused(archive, "with\nnewline", '0', "'with?newline' is refused");
    check_refused(archive, "v1/00/00000000000000000000000000000000000000000000000000000000000000.k",
                  '0', "its key is another");
    check_refused(archive, NULL, '2', "it is not a plain file"); // a link
    check_refused(archive, NULL, '1', "it is not a plain file");
    check_refused(archive, NULL, 'x', "it is not a plain file");
    CHECK(access("/tmp/shoal-test-escape.k", F_OK) < 0);
}

TEST(cache_tar_refuses_bad_sums) {
    const char *archive = make_archive();
    struct cache *c = cache_open(check_path("other"));
    uint64_t count, refused;
    size_t n;
    unsigned char *bytes = shelf_load(archive, &n);
    for (size_t at = 512; at < 512 + 1200; at += 100) {
        struct report r = {0};
        bytes[at] ^= 1;
        shelf_save(check_path("bad.tar"), bytes, n);
        bytes[at] ^= 1;
        CHECK_INT(cache_import(c, check_path("bad.tar"), &count, &refused, &r), SHOAL_OK);
        CHECK_INT(refused, 1);
        CHECK_HAS(messages(&r), ".k' is refused: corrupt");
        report_free(&r);
    }
    for (size_t cut = 0; cut < n; cut += 700) { // cut, or not an archive at all
        struct report r = {0};
        shelf_save(check_path("bad.tar"), bytes, cut);
        shoal_code code = cache_import(c, check_path("bad.tar"), &count, &refused, &r);
        CHECK(code == SHOAL_INPUT || code == SHOAL_IO ||
              (code == SHOAL_OK && cut >= n - 1024 + 512));
        report_free(&r);
    }
    memset(bytes + 124, '7', 11); // a size of 8 GiB
    renew_sum(bytes);
    shelf_save(check_path("bad.tar"), bytes, n);
    CHECK_INT(cache_import(c, check_path("bad.tar"), &count, &refused, NULL), SHOAL_INPUT);
    memset(bytes + 124, 0xff, 12); // and one in base 256
    renew_sum(bytes);
    shelf_save(check_path("bad.tar"), bytes, n);
    CHECK_INT(cache_import(c, check_path("bad.tar"), &count, &refused, NULL), SHOAL_INPUT);
    CHECK_INT(cache_import(c, check_path("none.tar"), &count, &refused, NULL), SHOAL_IO);
    cache_close(c);
}

TEST(cache_tar_needs_a_place) {
    const char *archive = make_archive();
    struct report r = {0};
    uint64_t count, refused;
    setenv("SHOAL_CACHE", "ro", 1);
    struct cache *c = shelf_open();
    CHECK_INT(cache_import(c, archive, &count, &refused, &r), SHOAL_IO);
    CHECK_HAS(messages(&r), "read-only");
    cache_close(c);
}
