// SPDX-License-Identifier: MIT
// Full, read-only and noexec disks, file size limits: small file systems mounted in a child.
#include "cache_shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

enum { SKIPPED = 77 };

// A file system of its own at PATH, seen by this process only.
static bool mount_small(const char *path, const char *options, unsigned long flags) {
    mkdir(path, 0700);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("shoal-test", path, "tmpfs", flags, options) == 0;
}

static void check_mounted(int (*run)(void *user)) {
    int status = shelf_child(run, NULL);
    if (status == SKIPPED)
        check_skip("cannot mount file systems here");
    CHECK_INT(status, 0);
}

// Nothing is stored; one warning, no leftovers; what was there is found.
static void check_full(struct cache *c, const char *warning) {
    for (unsigned i = 1; i < 4; i++) {
        CHECK(!shelf_put_size(c, i, 200000));
        CHECK_HAS(shelf_reason(), "No space left");
        CHECK_MISS(c, i, "absent");
    }
    CHECK_HAS(cache_warning(c), warning);
    CHECK(cache_warning(c) == NULL);
    CHECK_INT(shelf_count("tmp"), 0);
}

static int use_tiny(void *user) {
    (void)user;
    if (!mount_small(check_path("cache"), "size=64k,mode=700", 0))
        return SKIPPED;
    struct cache *c = shelf_open();
    CHECK(cache_off(c) == NULL);
    check_full(c, "no space");
    cache_close(c);
    return 0;
}

TEST(cache_disk_tiny) { check_mounted(use_tiny); }

static int use_full(void *user) { // enough to start with, and then too little
    (void)user;
    if (!mount_small(check_path("cache"), "size=70m,mode=700", 0))
        return SKIPPED;
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 100));
    CHECK(shelf_put_size(c, 101, 2 << 20));
    CHECK(shelf_put_size(c, 102, 5 << 20));
    check_full(c, "no space");
    CHECK(shelf_get(c, 100));
    CHECK(shelf_get(c, 101));
    cache_close(c);
    return 0;
}

TEST(cache_disk_full) { check_mounted(use_full); }

static int use_few_inodes(void *user) {
    (void)user;
    if (!mount_small(check_path("cache"), "size=200m,nr_inodes=9,mode=700", 0))
        return SKIPPED;
    struct cache *c = shelf_open();
    bool stored = shelf_put(c, 100);
    check_full(c, "no space");
    CHECK_INT(shelf_get(c, 100), stored);
    cache_close(c);
    return 0;
}

TEST(cache_disk_no_inodes) { check_mounted(use_few_inodes); }

static int use_read_only(void *user) {
    (void)user;
    const char *root = check_path("cache");
    if (!mount_small(root, "size=200m,mode=700", 0))
        return SKIPPED;
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    CHECK(shelf_put(c, 2));
    CHECK_INT(truncate(shelf_file(c, 2), 300), 0);
    shelf_age(shelf_file(c, 1), 100000);
    cache_close(c);
    if (mount(NULL, root, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return SKIPPED;
    struct stat before, after;
    c = shelf_open();
    CHECK(cache_off(c) == NULL);
    CHECK_INT(stat(shelf_file(c, 1), &before), 0);
    for (int i = 0; i < 3; i++) {
        CHECK(shelf_get(c, 1));
        CHECK_MISS(c, 2, "corrupt");
        cache_count(c, true, NULL, 0, 1);
    }
    CHECK(cache_warning(c) == NULL);
    CHECK(stat(shelf_file(c, 1), &after) == 0 && before.st_mtim.tv_sec == after.st_mtim.tv_sec);
    CHECK(!shelf_put(c, 3));
    CHECK(!shelf_put(c, 4));
    CHECK_HAS(cache_warning(c), "read-only");
    CHECK(cache_warning(c) == NULL);
    cache_close(c);
    return 0;
}

TEST(cache_disk_read_only) { check_mounted(use_read_only); }

static int use_noexec(void *user) { // bytes are read, never run from there
    (void)user;
    if (!mount_small(check_path("cache"), "size=200m,mode=700", MS_NOEXEC))
        return SKIPPED;
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    cache_close(c);
    return 0;
}

TEST(cache_disk_noexec) { check_mounted(use_noexec); }

TEST(cache_disk_file_size_limit) { // a write that fails half way
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    struct rlimit limit = {.rlim_cur = 20000, .rlim_max = 20000};
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(!shelf_put_size(c, 2, 100000));
    CHECK_HAS(shelf_reason(), "File too large");
    CHECK_HAS(cache_warning(c), "larger than files may be");
    CHECK_INT(shelf_count("tmp"), 0);
    CHECK(shelf_put_size(c, 3, 1000));
    CHECK(shelf_get(c, 1));
    CHECK(shelf_get(c, 3));
    cache_close(c);
}

static int use_without_rights(void *user) {
    (void)user;
    if (!shelf_drop_rights(check_dir()))
        return SKIPPED;
    struct cache *c = shelf_open();
    CHECK(shelf_put(c, 1));
    CHECK_INT(chmod(check_path("cache/v1/tmp"), 0500), 0);
    for (unsigned i = 2; i < 5; i++)
        CHECK(!shelf_put(c, i));
    CHECK_HAS(cache_warning(c), "no permission");
    CHECK(cache_warning(c) == NULL);
    CHECK(shelf_get(c, 1));
    CHECK_INT(chmod(shelf_file(c, 1), 0), 0);
    CHECK_MISS(c, 1, "unreadable");
    cache_close(c);
    return 0;
}

TEST(cache_disk_no_rights) { check_mounted(use_without_rights); }
