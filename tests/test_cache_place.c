// SPDX-License-Identifier: MIT
// Where the cache may be: unsafe places, odd names, settings, programs with raised rights.
#include "cache_shelf.h"
#include "scarce.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

OWN_CACHE

// The cache at this place is off, with this reason, and what lies there is never used.
static void check_off(const char *place, const char *why) {
    struct cache *c = cache_open(place);
    CHECK_HAS(cache_off(c), why);
    CHECK_MISS(c, 1, "off");
    CHECK(!shelf_put(c, 1));
    CHECK_STR(shelf_reason(), "off");
    CHECK_INT(cache_remove(c, NULL), 0);
    cache_close(c);
}

// A good entry lies in a cache that somebody else could have filled.
TEST(cache_place_unsafe_root) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    cache_close(c);
    const char *root = check_path("cache");
    static const mode_t modes[] = {0777, 0770, 0722, 01777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK_INT(chmod(root, modes[i]), 0);
        check_off(root, "is writable by others (chmod go-w '");
    }
    CHECK_INT(chmod(root, 0755), 0);
    c = shelf_open();
    CHECK(shelf_get(c, 1));
    cache_close(c);
    CHECK_INT(symlink(root, check_path("link")), 0);
    check_off(check_path("link"), "is a symbolic link");
    check_write(check_path("file"), "");
    check_off(check_path("file"), "is not a directory");
    check_off(check_path("file/below"), "is not a directory");
}

TEST(cache_place_unsafe_ancestor) {
    mkdir(check_path("open"), 0700);
    mkdir(check_path("open/mine"), 0700);
    CHECK_INT(chmod(check_path("open"), 0777), 0);
    check_off(check_path("open/mine/cache"), "/open is writable by others");
    CHECK_INT(chmod(check_path("open"), 0770), 0);
    check_off(check_path("open/mine/cache"), "/open is writable by others");
    CHECK_INT(chmod(check_path("open"), 01777), 0); // sticky, like /tmp
    struct cache *c = cache_open(check_path("open/mine/cache"));
    CHECK(cache_off(c) == NULL);
    CHECK(shelf_put(c, 1));
    cache_close(c);
}

TEST(cache_place_foreign_owner) {
    if (geteuid() != 0)
        check_skip("only root can give directories away");
    mkdir(check_path("theirs"), 0700);
    CHECK_INT(chown(check_path("theirs"), 65534, 65534), 0);
    check_off(check_path("theirs"), "belongs to another user");
    check_off(check_path("theirs/cache"), "belongs to another user");
    CHECK_INT(chmod(check_path("theirs"), 01777), 0); // its owner can still rename what is there
    check_off(check_path("theirs/cache"), "belongs to another user");
    mkdir(check_path("sticky"), 0700); // a link that somebody else put there
    mkdir(check_path("real"), 0700);
    CHECK_INT(symlink(check_path("real"), check_path("sticky/link")), 0);
    CHECK_INT(lchown(check_path("sticky/link"), 65534, 65534), 0);
    check_off(check_path("sticky/link/cache"), "cannot be trusted");
}

static int use_as_other(void *user) {
    if (!shelf_drop_rights(check_dir()))
        return 77;
    struct cache *c = cache_open(user);
    int status = cache_off(c) ? 10 : 0;
    if (!status && (!shelf_put(c, 1) || !shelf_get(c, 1)))
        status = 11;
    cache_close(c);
    return status;
}

TEST(cache_place_of_an_ordinary_user) {
    char *own = check_keep(strdup(check_path("deep/er/cache")));
    CHECK_INT(shelf_child(use_as_other, own), 0);
    if (geteuid() == 0) { // what is root's is not theirs
        mkdir(check_path("rooted"), 0755);
        CHECK_INT(shelf_child(use_as_other, check_keep(strdup(check_path("rooted")))), 10);
        CHECK_INT(shelf_child(use_as_other, check_keep(strdup(check_path("rooted/below")))), 10);
    }
}

TEST(cache_place_links_on_the_way) { // a home on another disk
    mkdir(check_path("disk"), 0700);
    mkdir(check_path("home"), 0700);
    CHECK_INT(symlink(check_path("disk"), check_path("home/absolute")), 0);
    CHECK_INT(symlink("../disk", check_path("home/relative")), 0);
    CHECK_INT(symlink("loop", check_path("home/loop")), 0);
    struct cache *c = cache_open(check_path("home/absolute/x/cache"));
    CHECK(cache_off(c) == NULL);
    CHECK(shelf_put(c, 1));
    cache_close(c);
    c = cache_open(check_path("home//relative/./x/../x/cache/"));
    CHECK(cache_off(c) == NULL);
    CHECK(shelf_get(c, 1));
    cache_close(c);
    CHECK_INT(access(check_path("disk/x/cache/v1"), F_OK), 0);
    check_off(check_path("home/loop/cache"), "symbolic link");
    CHECK_INT(chmod(check_path("disk"), 0777), 0);
    check_off(check_path("home/absolute/x/cache"), "is writable by others");
}

// Names that a shell would trip over are names.
TEST(cache_place_odd_names) {
    static const char *const names[] = {
        "a b",       "it's",         "\"q\"", "$(touch bang)", "`touch bang`",
        "new\nline", "; touch bang", "-rf",   "\xff\xfe",      "*"};
    CHECK_INT(chdir(check_dir()), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("SHOAL_CACHE_DIR", check_path(names[i]), 1);
        struct cache *c = shelf_open();
        CHECK(cache_off(c) == NULL);
        CHECK(shelf_put(c, 1));
        CHECK(shelf_get(c, 1));
        cache_close(c);
    }
    CHECK(access("bang", F_OK) < 0);
    CHECK_INT(chmod(check_path("new\nline"), 0777), 0);
    check_off(check_path("new\nline"), "new?line"); // no control characters in a message
    char *name = check_keep(malloc(5001));
    for (int length = 200; length <= 5000; length += 1200) {
        memset(name, 'x', 5000);
        name[length] = 0;
        for (int i = 0; i < length; i += 100) // components of 99
            name[i] = '/';
        struct cache *c = cache_open(check_path(name + 1));
        if (cache_off(c))
            CHECK(length > 3000);
        else
            CHECK(shelf_put(c, 1) && shelf_get(c, 1));
        cache_close(c);
    }
    memset(name, 'y', 300);
    name[300] = 0;
    check_off(check_path(name), "File name too long");
    setenv("SHOAL_CACHE_DIR", "relative", 1); // of the directory we are in, as a path is
    struct cache *c = shelf_open();
    CHECK_STR(cache_place(c), check_path("relative"));
    cache_close(c);
}

static int open_without_home(void *user) {
    int uid = *(int *)user;
    if (geteuid() == 0 &&
        (setresgid(65534, 65534, 65534) < 0 || setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0))
        return 77;
    unsetenv("SHOAL_CACHE_DIR");
    struct cache *c = cache_open(NULL);
    fprintf(stderr, "%s\n", cache_off(c) ? cache_off(c) : "usable");
    int status = cache_off(c) != NULL;
    CHECK_MISS(c, 1, "off");
    cache_close(c);
    return status;
}

// Users without a home, or with one they cannot write; HOME itself is not asked.
TEST(cache_place_no_home) {
    if (geteuid() != 0)
        check_skip("only root can become a user without a home");
    static const char *const homes[] = {NULL, "/", "/proc", "relative"};
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        if (homes[i])
            setenv("HOME", homes[i], 1);
        else
            unsetenv("HOME");
        setenv("XDG_CACHE_HOME", "relative/path", 1); // not absolute: as if it were not set
        CHECK_INT(shelf_child(open_without_home, &(int){54321}), 1);
        CHECK_INT(shelf_child(open_without_home, &(int){65534}), 1);
    }
    CHECK(access("relative", F_OK) < 0);
    setenv("XDG_CACHE_HOME", "/proc", 1);
    CHECK_INT(shelf_child(open_without_home, &(int){54321}), 1);
}

TEST(cache_place_xdg) {
    unsetenv("SHOAL_CACHE_DIR");
    setenv("XDG_CACHE_HOME", check_path("xdg"), 1);
    struct cache *c = shelf_open();
    CHECK_STR(cache_place(c), check_path("xdg/shoal"));
    cache_close(c);
    setenv("SHOAL_CACHE_DIR", check_path("named"), 1);
    c = shelf_open();
    CHECK_STR(cache_place(c), check_path("named"));
    cache_close(c);
    c = cache_open(check_path("given"));
    CHECK_STR(cache_place(c), check_path("given"));
    cache_close(c);
}

static int open_with_raised_rights(void *user) {
    (void)user;
    if (setresuid(65534, 0, 0) < 0)
        return 77;
    struct cache *c = cache_open(NULL);
    const char *why = cache_off(c);
    int status = why && strstr(why, "rights of another user") ? 0 : 1;
    cache_close(c);
    return status;
}

TEST(cache_place_raised_rights) {
    if (geteuid() != 0)
        check_skip("only root can have two users");
    CHECK_INT(shelf_child(open_with_raised_rights, NULL), 0);
    CHECK(access(check_path("cache"), F_OK) < 0);
}

TEST(cache_place_caps) {
    static const struct {
        const char *text;
        uint64_t cap;
        bool note;
    } cases[] = {
        {"500M", 500ull << 20, false}, {"2g", 2ull << 30, false},
        {"12345", 12345, false},       {"0", UINT64_MAX, false},
        {"lots", 1ull << 30, true},    {"1.5GB", 3ull << 29, false},
        {"-1", 1ull << 30, true},      {"99999999999T", 1ull << 30, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("SHOAL_CACHE_MAX", cases[i].text, 1);
        struct cache *c = shelf_open();
        struct cache_stat s;
        cache_stat(c, &s);
        CHECK_MSG(s.cap_bytes == cases[i].cap, "%s", cases[i].text);
        CHECK_INT(cache_warning(c) != NULL, cases[i].note);
        cache_close(c);
    }
    unsetenv("SHOAL_CACHE_MAX");
    setenv("SHOAL_CACHE_ENTRIES", "2k", 1); // a count, so that k is 1000
    struct cache *c = shelf_open();
    struct cache_stat s;
    cache_stat(c, &s);
    CHECK_INT(s.cap_entries, 2000);
    cache_close(c);
}

// The name that a temporary file would get is taken: another is used, nothing is followed.
TEST(cache_place_planted_temporaries) {
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    check_write(check_path("victim"), "precious");
    CHECK_INT(rmdir(check_path("cache/v1/tmp")), 0); // the whole directory is a link
    mkdir(check_path("elsewhere"), 0700);
    CHECK_INT(symlink(check_path("elsewhere"), check_path("cache/v1/tmp")), 0);
    CHECK(!shelf_put(c, 2));
    CHECK_INT(rmdir(check_path("elsewhere")), 0); // empty
    CHECK(shelf_get(c, 1));
    cache_close(c);
}

// ---- Without memory -----------------------------------------------------------------------------

TEST(cache_place_without_memory) {
    scarce_check((const char *const[]){"cache", "stat", NULL}, 120, NULL);
    mkdir(check_path("open"), 0700);
    CHECK_INT(chmod(check_path("open"), 0777), 0); // refused, with a reason to tell
    scarce_check((const char *const[]){"cache", "list", "--cache", check_path("open/below"), NULL},
                 120, NULL);
    mkdir(check_path("home"), 0700);
    mkdir(check_path("disk"), 0700);
    CHECK_INT(symlink("../disk", check_path("home/link")), 0);
    setenv("SHOAL_CACHE_RO", check_path("cache"), 1);
    scarce_check(
        (const char *const[]){"cache", "list", "--cache", check_path("home/link/cache"), NULL}, 120,
        NULL);
}
