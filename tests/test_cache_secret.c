// SPDX-License-Identifier: MIT
// Entries that others made: signatures, the secret they are made with, and what root answers for.
#include "cache_shelf.h"

#include "cache/crc32c.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

static const unsigned char other_secret[SECRET_BYTES] = "somebody else's";

// Entry 1 with every sum right, signed by whom you like; NULL: by nobody.
static void plant(const char *path, const unsigned char *secret) {
    struct shelf_entry e = shelf_entry(1, SHELF_PAYLOAD);
    size_t n;
    unsigned char *bytes = entry_encode(&e.item, &n);
    entry_sign(bytes, n, secret);
    shelf_save(path, bytes, n);
    free(bytes);
    shelf_free(&e);
}

// A planted entry is no hit and stays where it is, until the kernel is stored anew.
TEST(cache_secret_foreign_entries) {
    struct cache *c = shelf_open();
    for (int i = 0; i < 2; i++) {
        CHECK(shelf_put(c, 1));
        plant(shelf_file(c, 1), i ? other_secret : NULL);
        CHECK_MISS(c, 1, "foreign");
        CHECK(!store_has(c, shelf_entry(1, 0).item.key));
        CHECK_INT(access(shelf_file(c, 1), F_OK), 0);
        CHECK_INT(shelf_count("bad"), 0);
    }
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    plant(shelf_file(c, 1), c->secret);
    CHECK(shelf_get(c, 1)); // it was the signature
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.corrupt, 0);
    cache_close(c);
}

// Whoever has one good entry cannot make another of it.
TEST(cache_secret_parts_of_good_entries) {
    struct cache *c = shelf_open();
    size_t n, m;
    REQUIRE(shelf_put(c, 1) && shelf_put(c, 2));
    unsigned char *first = shelf_load(shelf_file(c, 1), &n),
                  *second = shelf_load(shelf_file(c, 2), &m);
    REQUIRE(n == m);
    memcpy(first + entry_mac_offset(n), second + entry_mac_offset(n), ENTRY_MAC);
    shelf_save(shelf_file(c, 1), first, n); // the signature of another
    CHECK_MISS(c, 1, "foreign");
    plant(shelf_file(c, 1), NULL); // the time it took, with a renewed sum
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    memcpy(bytes + entry_mac_offset(n), second + entry_mac_offset(n), ENTRY_MAC);
    bytes[112] ^= 1;
    for (int i = 0; i < 4; i++)
        bytes[124 + i] = (unsigned char)(crc32c(bytes, 124) >> (8 * i));
    shelf_save(shelf_file(c, 1), bytes, n);
    CHECK_MISS(c, 1, "foreign");
    free(first);
    free(second);
    free(bytes);
    cache_close(c);
}

// An entry of the first format, as it was: a miss that is not looked at further.
TEST(cache_secret_format_1) {
    struct cache *c = shelf_open();
    struct shelf_entry e = shelf_entry(1, SHELF_PAYLOAD);
    size_t n;
    unsigned char *bytes = entry_encode(&e.item, &n);
    REQUIRE(shelf_put(c, 1));
    memmove(bytes + entry_mac_offset(n), bytes + n - ENTRY_TRAILER, ENTRY_TRAILER);
    n -= ENTRY_MAC;
    for (int i = 0; i < 8; i++)
        bytes[n - 8 + (size_t)i] = (unsigned char)(n >> (8 * i));
    bytes[8] = 1;
    bytes[12] = 1;
    for (int i = 0; i < 4; i++)
        bytes[124 + i] = (unsigned char)(crc32c(bytes, 124) >> (8 * i));
    shelf_save(shelf_file(c, 1), bytes, n);
    CHECK_MISS(c, 1, "version");
    CHECK_INT(shelf_count("bad"), 0);
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    free(bytes);
    shelf_free(&e);
    cache_close(c);
}

// What is known of a compiler is signed too: a planted answer is none.
TEST(cache_secret_foreign_probes) {
    struct cache *c = shelf_open();
    struct buf answer = {0};
    cache_probe_put(c, "cc", "mine", 4);
    CHECK(cache_probe_get(c, "cc", &answer));
    CHECK_STR(answer.data, "mine");
    buf_free(&answer);
    cache_close(c);
    setenv("XDG_CONFIG_HOME", check_path("theirs"), 1);
    c = shelf_open();
    CHECK(!cache_probe_get(c, "cc", &answer));
    cache_probe_put(c, "cc", "evil", 4);
    cache_close(c);
    setenv("XDG_CONFIG_HOME", check_path("config"), 1);
    c = shelf_open();
    CHECK(!cache_probe_get(c, "cc", &answer));
    CHECK_INT(answer.length, 0);
    cache_close(c);
}

// An entry comes to another user by an archive that is imported, and in no other way.
TEST(cache_secret_import_signs) {
    struct cache *c = shelf_open();
    uint64_t count, refused;
    size_t n;
    REQUIRE(shelf_put(c, 1));
    unsigned char *bytes = shelf_load(shelf_file(c, 1), &n);
    REQUIRE(cache_export(c, check_path("a.tar"), &count, NULL) == SHOAL_OK && count == 1);
    cache_close(c);
    setenv("XDG_CONFIG_HOME", check_path("theirs"), 1);
    c = cache_open(check_path("copy"));
    REQUIRE(shelf_put(c, 1));
    shelf_save(shelf_file(c, 1), bytes, n);
    CHECK_MISS(c, 1, "foreign");
    REQUIRE(cache_import(c, check_path("a.tar"), &count, &refused, NULL) == SHOAL_OK);
    CHECK_INT(count, 1);
    CHECK(shelf_get(c, 1));
    cache_close(c);
    size_t size;
    unsigned char *archive = shelf_load(check_path("a.tar"), &size);
    CHECK(!memmem(archive, size, bytes + entry_mac_offset(n), ENTRY_MAC)); // no signature leaves
    free(archive);
    free(bytes);
}

// ---- The secret ---------------------------------------------------------------------------------

TEST(cache_secret_is_made_once) {
    struct cache *c = shelf_open();
    struct stat s;
    const char *file = check_path("config/shoal/secret");
    CHECK_INT(stat(file, &s), 0);
    CHECK_INT(s.st_mode & 07777, 0600);
    CHECK_INT(s.st_size, SECRET_BYTES);
    CHECK_INT(stat(check_path("config/shoal"), &s), 0);
    CHECK_INT(s.st_mode & 07777, 0700);
    CHECK(shelf_put(c, 1));
    struct cache *again = shelf_open();
    CHECK(!memcmp(c->secret, again->secret, SECRET_BYTES));
    CHECK(shelf_get(again, 1));
    cache_close(again);
    CHECK_INT(unlink(file), 0); // another secret: nothing of the old one is used
    again = shelf_open();
    CHECK(memcmp(c->secret, again->secret, SECRET_BYTES));
    CHECK_MISS(again, 1, "foreign");
    cache_close(again);
    cache_close(c);
}

static int open_and_keep(void *user) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, *(unsigned *)user));
    cache_close(c);
    return 0;
}

// Processes that make it at the same time all have the same one.
TEST(cache_secret_of_many_processes) {
    enum { PROCESSES = 16 };
    for (int round = 0; round < 5; round++) {
        pid_t pids[PROCESSES];
        unsigned numbers[PROCESSES];
        unlink(check_path("config/shoal/secret"));
        for (unsigned i = 0; i < PROCESSES; i++) {
            numbers[i] = (unsigned)round * 100 + i;
            pids[i] = shelf_start(open_and_keep, &numbers[i]);
        }
        for (int i = 0; i < PROCESSES; i++)
            CHECK_INT(shelf_wait(pids[i]), 0);
        struct cache *c = shelf_open();
        for (int i = 0; i < PROCESSES; i++)
            CHECK(shelf_get(c, numbers[i]));
        cache_close(c);
    }
    CHECK_INT(RUN("find", check_path("config"), "-name", "secret.*").out_length, 0);
}

static void check_refused(const char *why) {
    struct cache *c = shelf_open();
    CHECK_HAS(cache_off(c), why);
    CHECK_MISS(c, 1, "off");
    CHECK(!shelf_put(c, 1));
    cache_close(c);
}

// A secret that others may know, or that nobody can read, is none; and without one nothing is kept.
TEST(cache_secret_unsafe) {
    const char *file = check_path("config/shoal/secret"), *dir = check_path("config/shoal");
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    cache_close(c);
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0666, 0644};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK_INT(chmod(file, modes[i]), 0);
        check_refused("config/shoal/secret can be read by others: remove it");
    }
    CHECK_INT(chmod(file, 0600), 0);
    CHECK_INT(chmod(dir, 0770), 0);
    check_refused("is writable by others (chmod go-w '");
    CHECK_INT(chmod(dir, 0700), 0);
    if (geteuid() == 0) {
        CHECK_INT(chown(file, 65534, 65534), 0);
        check_refused("secret belongs to another user");
        CHECK_INT(chown(file, 0, 0), 0);
    }
    c = shelf_open();
    CHECK(shelf_get(c, 1));
    cache_close(c);
    CHECK_INT(truncate(file, 31), 0);
    check_refused("secret is damaged");
    CHECK_INT(truncate(file, 0), 0);
    check_refused("secret is damaged");
    CHECK_INT(unlink(file), 0);
    check_write(check_path("elsewhere"), "0123456789abcdef0123456789abcdef");
    CHECK_INT(chmod(check_path("elsewhere"), 0600), 0);
    CHECK_INT(symlink(check_path("elsewhere"), file), 0);
    check_refused("secret is a symbolic link");
    CHECK_INT(unlink(file), 0);
    CHECK_INT(mkfifo(file, 0600), 0);
    check_refused("secret is not a file");
    CHECK_INT(unlink(file), 0);
    CHECK_INT(mkdir(file, 0700), 0);
    check_refused("secret is not a file");
}

TEST(cache_secret_without_a_place) {
    setenv("XDG_CONFIG_HOME", "/proc", 1);
    check_refused("no place for a secret: /proc/shoal");
    check_write(check_path("file"), "");
    setenv("XDG_CONFIG_HOME", check_path("file"), 1);
    check_refused("is not a directory");
    setenv("XDG_CONFIG_HOME", check_path("config"), 1);
    setenv("SHOAL_CACHE", "ro", 1); // which makes nothing
    mkdir(check_path("cache"), 0700);
    check_refused("no place for a secret");
    CHECK(access(check_path("config"), F_OK) < 0);
}

// ---- Read-only tiers ----------------------------------------------------------------------------

// A tier with an entry that nobody signed.
static char *make_tier(void) {
    struct cache *c = cache_open(check_path("tier"));
    REQUIRE(shelf_put(c, 1));
    plant(shelf_file(c, 1), NULL);
    char *path = check_keep(strdup(shelf_file(c, 1)));
    cache_close(c);
    RUN("chmod", "-R", "go+rX", check_path("tier"));
    setenv("SHOAL_CACHE_RO", check_path("tier"), 1);
    return path;
}

static int read_as_other(void *user) {
    if (!shelf_drop_rights(check_dir()))
        return 77;
    struct cache *c = shelf_open();
    if (*(bool *)user)
        CHECK(shelf_get(c, 1));
    else
        CHECK_MISS(c, 1, "foreign");
    cache_close(c);
    return 0;
}

TEST(cache_secret_tier_of_root) {
    if (geteuid() != 0)
        check_skip("only root has files of root");
    char *entry = make_tier();
    CHECK_INT(chmod(check_dir(), 0755), 0);
    CHECK_INT(shelf_child(read_as_other, &(bool){true}), 0);
    CHECK_INT(chown(entry, 65534, 65534), 0); // one of theirs among root's must be signed
    CHECK_INT(shelf_child(read_as_other, &(bool){false}), 0);
    CHECK_INT(chown(entry, 0, 0), 0);
    CHECK_INT(chown(check_path("tier"), 65534, 65534), 0); // and all of a tier that is not root's
    CHECK_INT(shelf_child(read_as_other, &(bool){false}), 0);
}

static int own_tier(void *user) {
    (void)user;
    if (!shelf_drop_rights(check_dir()))
        return 77;
    make_tier();
    struct cache *c = shelf_open();
    CHECK(!c->tiers[1].of_root && !c->tiers[1].listed);
    CHECK_MISS(c, 1, "foreign");
    struct cache *tier = cache_open(check_path("tier"));
    CHECK(shelf_put(tier, 1)); // signed with the same secret
    CHECK(shelf_get(c, 1));
    plant(shelf_file(tier, 1), NULL);
    c->tiers[1].listed = true; // as root would have it
    CHECK(shelf_get(c, 1));
    cache_close(tier);
    cache_close(c);
    return 0;
}

TEST(cache_secret_tier_of_ones_own) { CHECK_INT(shelf_child(own_tier, NULL), 0); }

TEST(cache_secret_list_of_root) {
    const char *list = check_path("trust");
    mkdir(check_path("site"), 0755);
    mkdir(check_path("other"), 0755);
    CHECK_INT(symlink(check_path("site"), check_path("link")), 0);
    int site = open(check_path("site"), O_RDONLY | O_DIRECTORY),
        other = open(check_path("other"), O_RDONLY | O_DIRECTORY);
    char text[512];
    snprintf(text, sizeof text, "# caches of this site\n/no/such\n%s \nrelative\n",
             check_path("link"));
    check_write(list, text);
    CHECK_INT(chmod(list, 0644), 0);
    CHECK_INT(secret_listed(list, site), geteuid() == 0);
    CHECK(!secret_listed(list, other));
    CHECK(!secret_listed(check_path("none"), site));
    CHECK_INT(chmod(list, 0664), 0); // not root's alone
    CHECK(!secret_listed(list, site));
    CHECK_INT(chmod(list, 0644), 0);
    CHECK_INT(symlink(list, check_path("list")), 0);
    CHECK(!secret_listed(check_path("list"), site));
    if (geteuid() == 0) {
        CHECK_INT(chown(list, 65534, 65534), 0);
        CHECK(!secret_listed(list, site));
    }
    close(site);
    close(other);
}
