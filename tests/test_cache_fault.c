// SPDX-License-Identifier: MIT
// Whatever a system call of a store or a lookup does (fails, lies, is the last before a kill), the
// outcome is a hit or a miss.
#include "cache_shelf.h"
#include "cache_step.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

OWN_CACHE

// Exit status of a store: 0 stored; 1 not, with one warning; 2: not, and the warnings are wrong.
static int store_one(void *user) {
    struct cache *c = user;
    if (shelf_put(c, 1))
        return 0;
    return cache_warning(c) && !cache_warning(c) ? 1 : 2;
}

static struct cache *open_used(void) { // a cache that has scanned already, for short traces
    struct cache *c = shelf_open();
    REQUIRE(shelf_put(c, 100));
    return c;
}

static void forget(struct cache *c) {
    struct shelf_entry e = shelf_entry(1, 0);
    cache_remove(c, e.item.key);
    shelf_free(&e);
}

TEST(cache_fault_killed_writer) {
    struct cache *c = open_used();
    struct step s = {.run = store_one, .user = c, .action = STEP_KILL, .only = -1};
    for (s.at = 0; s.at == 0 || s.done; s.at++) {
        step_run(&s);
        if (!s.done)
            break;
        CHECK_INT(s.status, 128 + 9);
        bool hit = shelf_get(c, 1);
        if (!hit)
            CHECK_STR(shelf_reason(), "absent");
        CHECK(shelf_put(c, 1)); // the next run goes on
        CHECK(shelf_get(c, 1));
        forget(c);
    }
    CHECK_INT(s.status, 0);
    CHECK_MSG(s.at > 15, "only %d system calls", s.at);
    size_t left = shelf_count("tmp");
    CHECK(left > 0);
    evict_now(c, 0);
    CHECK_INT(shelf_count("tmp"), left); // may still be written
    CHECK_INT(RUN("find", check_path("cache/v1/tmp"), "-type", "f", "-exec", "touch", "-d",
                  "2 hours ago", "{}", ";")
                  .status,
              0);
    evict_now(c, 0);
    CHECK_INT(shelf_count("tmp"), 0);
    cache_close(c);
}

// Each call fails in turn, with each error.
TEST(cache_fault_every_call_fails) {
    static const int errors[] = {ENOSPC, EIO, EINTR, EMFILE};
    struct cache *c = open_used();
    int refused = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct step s = {
            .run = store_one, .user = c, .action = STEP_FAIL, .only = -1, .error = errors[i]};
        for (;; s.at++) {
            step_run(&s);
            if (!s.done)
                break;
            CHECK_MSG(s.status == 0 || s.status == 1, "call %d, %s: status %d", s.at,
                      strerror(errors[i]), s.status);
            refused += s.status == 1;
            bool hit = shelf_get(c, 1);
            CHECK_MSG(hit || !strcmp(shelf_reason(), "absent"), "call %d, %s: %s", s.at,
                      strerror(errors[i]), shelf_reason());
            CHECK_INT(shelf_count("tmp"), 0);
            forget(c);
        }
    }
    CHECK(refused > 20);
    CHECK_INT(shelf_count("bad"), 0);
    cache_close(c);
}

TEST(cache_fault_short_writes) {
    struct cache *c = open_used();
    struct step s = {.run = store_one, .user = c, .action = STEP_SHORT, .only = SYS_write};
    step_run(&s);
    CHECK(s.done);
    CHECK_INT(s.status, 0);
    CHECK(s.count >= 2); // the rest was written
    CHECK(shelf_get(c, 1));
    cache_close(c);
}

// The rename happened, and the file system says that it failed (NFS after a lost answer).
TEST(cache_fault_rename_lies) {
    struct cache *c = open_used();
    static const long calls[] = {SYS_renameat, SYS_renameat2};
    bool done = false;
    for (int i = 0; i < 2; i++) {
        struct step s = {
            .run = store_one, .user = c, .action = STEP_LIE, .only = calls[i], .error = EIO};
        step_run(&s);
        if (!s.done)
            continue;
        done = true;
        CHECK_INT(s.status, 1); // said not to be stored; its own bytes are used
        CHECK(shelf_get(c, 1));
        CHECK_INT(shelf_count("tmp"), 0);
    }
    CHECK(done);
    cache_close(c);
}

// ---- Reading while somebody changes the entry ---------------------------------------------------

struct swap {
    struct cache *c;
    unsigned char *good, *evil; // entries of the same key, both with right sums
    size_t length;
    bool in_place;
};

static struct swap make_swap(struct cache *c) {
    struct swap s = {.c = c};
    REQUIRE(shelf_put(c, 1)); // its directory
    struct shelf_entry e = shelf_entry(1, SHELF_PAYLOAD);
    s.good = check_keep(entry_encode(&e.item, &s.length));
    memset(e.payload, 0x90, SHELF_PAYLOAD);
    s.evil = check_keep(entry_encode(&e.item, &s.length));
    shelf_free(&e);
    return s;
}

static void swap_files(void *user, pid_t pid) {
    struct swap *s = user;
    (void)pid;
    const char *path = shelf_file(s->c, 1);
    if (s->in_place) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        REQUIRE(pwrite(fd, s->evil, s->length, 0) == (ssize_t)s->length);
        close(fd);
    } else {
        shelf_save(check_path("evil"), s->evil, s->length);
        REQUIRE(rename(check_path("evil"), path) == 0);
    }
}

// 0: a miss, or the bytes are all of one entry.
static int read_one(void *user) {
    struct swap *s = user;
    struct shelf_entry e = shelf_entry(1, 0);
    struct cache_item got;
    char reason[CACHE_REASON];
    if (!cache_get(s->c, &e.record, SHELF_ABI, &got, reason))
        return 0;
    size_t at = (size_t)(got.payload - got.block);
    bool good = !memcmp(got.payload, s->good + at, got.payload_length);
    bool evil = !memcmp(got.payload, s->evil + at, got.payload_length);
    return good || evil ? 0 : 1;
}

TEST(cache_fault_swapped_while_read) {
    struct cache *c = open_used();
    struct swap swap = make_swap(c);
    for (int way = 0; way < 2; way++) {
        swap.in_place = way == 1;
        struct step s = {
            .run = read_one, .user = &swap, .action = STEP_CALL, .only = -1, .call = swap_files};
        for (;; s.at++) {
            shelf_save(shelf_file(c, 1), swap.good, swap.length);
            step_run(&s);
            if (!s.done)
                break;
            CHECK_INT(s.status, 0);
        }
        CHECK(s.at >= 4);
    }
    cache_close(c);
}

static void cut_file(void *user, pid_t pid) {
    struct swap *s = user;
    (void)pid;
    REQUIRE(truncate(shelf_file(s->c, 1), 100) == 0);
}

TEST(cache_fault_cut_while_read) { // no SIGBUS: nothing is mapped
    struct cache *c = open_used();
    struct swap swap = make_swap(c);
    struct step s = {
        .run = read_one, .user = &swap, .action = STEP_CALL, .only = -1, .call = cut_file};
    for (;; s.at++) {
        shelf_save(shelf_file(c, 1), swap.good, swap.length);
        step_run(&s);
        if (!s.done)
            break;
        CHECK_INT(s.status, 0);
    }
    cache_close(c);
}

// ---- A temporary name that is taken -------------------------------------------------------------

static void plant_link(void *user, pid_t pid) {
    char name[128], path[256];
    (void)user;
    step_string(pid, 1, name, sizeof name);
    if (!(step_argument(pid, 2) & O_EXCL))
        return;
    snprintf(path, sizeof path, "%s/%s", check_path("cache/v1/tmp"), name);
    REQUIRE(symlink(check_path("victim"), path) == 0);
    check_write(check_path("planted"), "yes");
}

TEST(cache_fault_temporary_name_taken) {
    struct cache *c = open_used();
    check_write(check_path("victim"), "precious");
    struct step s = {
        .run = store_one, .user = c, .action = STEP_CALL, .only = SYS_openat, .call = plant_link};
    for (;; s.at++) {
        step_run(&s);
        if (!s.done)
            break;
        CHECK_INT(s.status, 0);
        CHECK(shelf_get(c, 1));
        forget(c);
    }
    CHECK_STR(check_read(check_path("planted")), "yes");
    CHECK_STR(check_read(check_path("victim")), "precious");
    cache_close(c);
}

// ---- Others who are quicker ---------------------------------------------------------------------

static void store_again(void *user, pid_t pid) {
    (void)pid;
    REQUIRE(shelf_put(user, 1));
}

static int evict_one(void *user) { return evict_now(user, 0) ? 0 : 1; }

// An entry that was stored again while the old ones are being deleted stays.
TEST(cache_fault_replaced_while_evicted) {
    struct cache *c = open_used();
    struct step s = {.run = evict_one,
                     .user = c,
                     .action = STEP_CALL,
                     .only = SYS_newfstatat,
                     .call = store_again};
    for (;; s.at++) {
        REQUIRE(shelf_put(c, 1));
        shelf_age(shelf_file(c, 1), 100 * 24 * 3600); // too old
        step_run(&s);
        if (!s.done)
            break;
        CHECK_INT(s.status, 0);
        CHECK(shelf_get(c, 1));
    }
    CHECK(s.at >= 2);
    CHECK_MISS(c, 1, "absent"); // where nobody came
    cache_close(c);
}

// The lock that the child has is the one that others would ask for.
static int hold_lock(void *user) {
    struct shelf_entry e = shelf_entry(1, 1);
    struct cache_work *work;
    struct cache_shared shared;
    char path[256];
    if (cache_turn(user, e.item.key, 1000, NULL, NULL, NULL, &work, &shared) != CACHE_TURN_MINE)
        return 1;
    snprintf(path, sizeof path, "%s/lock.%02d", check_path("run/shoal"), e.item.key[0] % 64);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct flock any = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int status = fd >= 0 && fcntl(fd, F_OFD_SETLK, &any) < 0 ? 0 : 2;
    cache_done(user, work, SHOAL_OK, NULL, 0, NULL);
    return status;
}

static void delete_locks(void *user, pid_t pid) {
    (void)user, (void)pid;
    RUN("rm", "-rf", check_path("run/shoal"));
    mkdir(check_path("run/shoal"), 0700);
}

static void delete_lock_file(void *user, pid_t pid) {
    (void)user, (void)pid;
    RUN("find", check_path("run/shoal"), "-type", "f", "-delete");
}

TEST(cache_fault_lock_deleted) {
    struct cache *c = open_used();
    struct step s = {.run = hold_lock,
                     .user = c,
                     .action = STEP_CALL,
                     .only = SYS_fcntl,
                     .call = delete_lock_file};
    step_run(&s);
    CHECK(s.done);
    CHECK_INT(s.status, 0);
    CHECK(s.count >= 3);   // locked twice, and asked for by the other
    s.call = delete_locks; // the directory is another one then: no lock, but a turn
    step_run(&s);
    CHECK(s.done);
    CHECK_INT(s.status, 2);
    cache_close(c);
}

// What the disk did not take is not put in place.
TEST(cache_fault_sync_fails) {
    struct cache *c = open_used();
    struct step s = {
        .run = store_one, .user = c, .action = STEP_FAIL, .only = SYS_fsync, .error = EIO};
    step_run(&s);
    CHECK(s.done);
    CHECK_INT(s.status, 1);
    CHECK_MISS(c, 1, "absent");
    cache_close(c);
}

// ---- The secret ---------------------------------------------------------------------------------

// Exit status of a first use: 0 stored; 1: the cache is off and says why.
static int first_use(void *user) {
    (void)user;
    struct cache *c = shelf_open();
    int status = cache_off(c) ? 1 : shelf_put(c, 1) ? 0 : 3;
    cache_close(c);
    return status;
}

static void forget_all(void) { RUN("rm", "-rf", check_path("config"), check_path("cache")); }

// Killed anywhere while the secret is made: the next one has a whole one, and no other does harm.
TEST(cache_fault_killed_while_secret_is_made) {
    struct step s = {.run = first_use, .action = STEP_COUNT, .only = -1};
    step_run(&s);
    CHECK_INT(s.status, 0);
    int calls = s.count < 60 ? s.count : 60; // the rest is storing, which has tests of its own
    for (int i = 0; i < calls; i++) {
        forget_all();
        s = (struct step){.run = first_use, .action = STEP_KILL, .at = i, .only = -1};
        step_run(&s);
        CHECK_MSG(first_use(NULL) == 0, "killed at call %d", i);
        struct cache *c = shelf_open();
        CHECK(shelf_get(c, 1));
        cache_close(c);
    }
}

// A secret that cannot be written or read whole is none: memory only, never another.
TEST(cache_fault_secret_cannot_be_made) {
    static const long only[] = {SYS_linkat, SYS_getrandom, SYS_fsync, SYS_write};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
        forget_all();
        struct step s = {.run = first_use, .action = STEP_FAIL, .only = only[i], .error = ENOSPC};
        step_run(&s);
        CHECK(s.done);
        CHECK_MSG(s.status == 1, "call %ld: %d", only[i], s.status);
        CHECK_INT(RUN("find", check_path("config"), "-type", "f").out_length, 0);
    }
}
