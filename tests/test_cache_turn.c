// SPDX-License-Identifier: MIT
// One compilation of a key at a time: threads, processes, holders that stop or die.
#include "cache_shelf.h"

#include "base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

OWN_CACHE

static void note(const char *name) { // one byte for each time, from any process
    int fd = open(check_path(name), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, ".", 1) != 1)
        abort();
    close(fd);
}

static size_t noted(const char *name) {
    char *text = check_read(check_path(name));
    size_t n = text ? strlen(text) : 0;
    free(text);
    return n;
}

// What a solver does: look, take a turn, compile, store. Returns its exit status.
static int solve(struct cache *c, unsigned n) {
    struct shelf_entry e = shelf_entry(n, SHELF_PAYLOAD);
    char reason[CACHE_REASON];
    int status = 0;
    for (int tries = 0; tries < 20; tries++) {
        struct cache_work *work;
        struct cache_shared shared;
        if (shelf_get(c, n))
            break;
        enum cache_turn turn = cache_turn(c, e.item.key, 500, NULL, NULL, NULL, &work, &shared);
        if (turn == CACHE_TURN_LOOK)
            continue;
        if (turn != CACHE_TURN_MINE)
            status = 1; // there are no other threads, and nobody stops
        else {
            note("compiled");
            usleep(2000);
            cache_put(c, &e.item, false, reason);
            cache_done(c, work, SHOAL_OK, e.payload, SHELF_PAYLOAD, NULL);
        }
        break;
    }
    shelf_free(&e);
    return status;
}

static int solve_cold(void *user) {
    struct cache *c = cache_open(NULL);
    int status = solve(c, *(unsigned *)user);
    cache_close(c);
    return status;
}

static void start_all(unsigned rounds, unsigned processes) {
    for (unsigned round = 0; round < rounds; round++) {
        pid_t children[64];
        for (unsigned i = 0; i < processes; i++)
            children[i] = shelf_start(solve_cold, &round);
        for (unsigned i = 0; i < processes; i++)
            CHECK_INT(shelf_wait(children[i]), 0);
    }
}

static void cold_key(unsigned rounds) {
    start_all(rounds, 32);
    struct cache *c = shelf_open();
    struct cache_stat s;
    for (unsigned i = 0; i < rounds; i++)
        CHECK(shelf_get(c, i));
    cache_stat(c, &s);
    CHECK_INT(s.entries, rounds);
    CHECK_INT(shelf_count("tmp"), 0);
    CHECK_MSG(noted("compiled") <= rounds + rounds / 5 + 2, "%zu compilations in %u rounds",
              noted("compiled"), rounds);
    cache_close(c);
}

TEST(cache_turn_cold_key) { cold_key(20); }
LONG_TEST(cache_turn_cold_key_long) { cold_key(1000); }

static int clear_for_ever(void *user) {
    (void)user;
    struct cache *c = cache_open(NULL);
    for (int i = 0;; i++) {
        cache_remove(c, NULL);
        if (i % 10 == 0)
            RUN("rm", "-rf", check_path("cache/v1"));
        usleep(500);
    }
    return 0;
}

TEST(cache_turn_while_cleared) {
    pid_t cleaner = shelf_start(clear_for_ever, NULL);
    start_all(6, 16);
    kill(cleaner, SIGKILL);
    shelf_wait(cleaner);
    CHECK(noted("compiled") >= 6);
}

// ---- Threads ------------------------------------------------------------------------------------

enum { THREADS = 8 };

struct thread_case {
    struct cache *c;
    shoal_code code;
    int compiled, shared;
    atomic_int waiting;
    pthread_mutex_t mutex;
};

struct waiter {
    struct thread_case *of;
    bool counted;
};

static void count_waiter(void *user, long pid) {
    struct waiter *w = user;
    (void)pid;
    if (!w->counted)
        atomic_fetch_add(&w->of->waiting, 1);
    w->counted = true;
}

static void *take_turn(void *user) {
    struct thread_case *t = user;
    struct shelf_entry e = shelf_entry(1, SHELF_PAYLOAD);
    struct cache_work *work;
    struct cache_shared shared;
    struct waiter w = {t, false};
    enum cache_turn turn =
        cache_turn(t->c, e.item.key, 60000, NULL, count_waiter, &w, &work, &shared);
    if (turn == CACHE_TURN_MINE) {
        while (atomic_load(&t->waiting) < THREADS - 1)
            usleep(1000);
        cache_done(t->c, work, t->code, e.payload, SHELF_PAYLOAD, t->code ? "line 3: no" : NULL);
    }
    pthread_mutex_lock(&t->mutex);
    t->compiled += turn == CACHE_TURN_MINE;
    if (turn == CACHE_TURN_SHARED) {
        t->shared++;
        CHECK_INT(shared.code, t->code);
        if (t->code)
            CHECK_STR(shared.error, "line 3: no");
        else
            CHECK(shared.payload_length == SHELF_PAYLOAD &&
                  !memcmp(shared.payload, e.payload, SHELF_PAYLOAD));
    }
    pthread_mutex_unlock(&t->mutex);
    free(shared.payload);
    free(shared.error);
    shelf_free(&e);
    return NULL;
}

static void check_threads(struct cache *c, shoal_code code) {
    struct thread_case t = {.c = c, .code = code, .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_turn, &t);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(t.compiled, 1);
    CHECK_INT(t.shared, THREADS - 1);
}

TEST(cache_turn_threads_share) {
    struct cache *c = shelf_open();
    check_threads(c, SHOAL_OK);
    check_threads(c, SHOAL_DEVICE);
    cache_close(c);
    setenv("SHOAL_CACHE", "off", 1); // in one process no files are needed
    c = shelf_open();
    check_threads(c, SHOAL_OK);
    cache_close(c);
}

static void *stop_soon(void *user) {
    usleep(100000);
    *(volatile int *)user = 1;
    return NULL;
}

TEST(cache_turn_stops) {
    struct cache *c = shelf_open();
    struct shelf_entry e = shelf_entry(1, 1);
    struct cache_work *work, *other;
    struct cache_shared shared;
    volatile int stop = 0;
    pthread_t thread;
    CHECK_INT(cache_turn(c, e.item.key, 0, NULL, NULL, NULL, &work, &shared), CACHE_TURN_MINE);
    pthread_create(&thread, NULL, stop_soon, (void *)(uintptr_t)&stop);
    CHECK_INT(cache_turn(c, e.item.key, 0, &stop, NULL, NULL, &other, &shared), CACHE_TURN_STOPPED);
    pthread_join(thread, NULL);
    cache_done(c, work, SHOAL_STOPPED, NULL, 0, NULL);
    cache_done(c, NULL, SHOAL_OK, NULL, 0, NULL);
    CHECK_INT(cache_turn(c, e.item.key, 0, NULL, NULL, NULL, &work, &shared), CACHE_TURN_MINE);
    cache_done(c, work, SHOAL_OK, "x", 1, NULL);
    cache_close(c);
}

// Compilers of different keys run side by side, though their locks are in one file.
TEST(cache_turn_other_keys) {
    enum { KEYS = 64 };
    struct cache *c = shelf_open();
    struct cache_work *work[KEYS];
    struct cache_shared shared;
    uint64_t start = clock_ns();
    for (int i = 0; i < KEYS; i++) {
        unsigned char key[KEY_BYTES] = {7, (unsigned char)i};
        CHECK_INT(cache_turn(c, key, 0, NULL, NULL, NULL, &work[i], &shared), CACHE_TURN_MINE);
    }
    CHECK(clock_ns() - start < 500000000u); // one that waits does so for a second at least
    for (int i = 0; i < KEYS; i++)
        cache_done(c, work[i], SHOAL_OK, NULL, 0, NULL);
    cache_close(c);
}

// ---- Holders in other processes -----------------------------------------------------------------

static int hold(void *user) { // takes the turn and never ends
    struct cache *c = cache_open(NULL);
    struct shelf_entry e = shelf_entry(1, 1);
    struct cache_work *work;
    struct cache_shared shared;
    (void)user;
    if (cache_turn(c, e.item.key, 0, NULL, NULL, NULL, &work, &shared) != CACHE_TURN_MINE)
        return 1;
    note("held");
    for (;;)
        pause();
}

static pid_t start_holder(void) {
    size_t before = noted("held");
    pid_t pid = shelf_start(hold, NULL);
    while (noted("held") == before)
        usleep(1000);
    return pid;
}

static void hear(void *user, long pid) { *(long *)user = pid; }

static enum cache_turn wait_turn(struct cache *c, uint32_t predicted_ms, long *pid, double *ms) {
    struct shelf_entry e = shelf_entry(1, 1);
    struct cache_work *work;
    struct cache_shared shared;
    uint64_t start = clock_ns();
    *pid = 0;
    enum cache_turn turn = cache_turn(c, e.item.key, predicted_ms, NULL, hear, pid, &work, &shared);
    *ms = (double)(clock_ns() - start) * 1e-6;
    if (turn == CACHE_TURN_MINE)
        cache_done(c, work, SHOAL_OK, NULL, 0, NULL);
    shelf_free(&e);
    return turn;
}

TEST(cache_turn_stopped_holder) {
    struct cache *c = shelf_open();
    long heard;
    double ms;
    pid_t holder = start_holder();
    kill(holder, SIGSTOP);
    CHECK_INT(wait_turn(c, 700, &heard, &ms), CACHE_TURN_MINE);
    CHECK_MSG(ms > 1300 && ms < 5000, "waited %g ms", ms);
    CHECK_INT(heard, holder);
    CHECK_INT(wait_turn(c, 1, &heard, &ms), CACHE_TURN_MINE); // a second at least
    CHECK_MSG(ms > 900 && ms < 5000, "waited %g ms", ms);
    kill(holder, SIGKILL);
    shelf_wait(holder);
    cache_close(c);
}

static int kill_soon(void *user) {
    usleep(200000);
    kill(*(pid_t *)user, SIGKILL);
    return 0;
}

TEST(cache_turn_killed_holder) {
    struct cache *c = shelf_open();
    long heard;
    double ms;
    pid_t holder = start_holder();
    pid_t killer = shelf_start(kill_soon, &holder);
    CHECK_INT(wait_turn(c, 60000, &heard, &ms), CACHE_TURN_MINE);
    CHECK_MSG(ms < 5000, "waited %g ms", ms);
    shelf_wait(holder);
    shelf_wait(killer);
    CHECK_INT(wait_turn(c, 60000, &heard, &ms), CACHE_TURN_MINE);
    CHECK_MSG(ms < 5000, "waited %g ms", ms);
    cache_close(c);
}

static int store_soon(void *user) {
    usleep(200000);
    return shelf_put(user, 1) ? 0 : 1;
}

TEST(cache_turn_looks_when_stored) { // by whoever, though the lock is still held
    struct cache *c = shelf_open();
    long heard;
    double ms;
    pid_t holder = start_holder(), writer = shelf_start(store_soon, c);
    CHECK_INT(wait_turn(c, 60000, &heard, &ms), CACHE_TURN_LOOK);
    CHECK_MSG(ms < 5000, "waited %g ms", ms);
    CHECK_INT(shelf_wait(writer), 0);
    kill(holder, SIGKILL);
    shelf_wait(holder);
    CHECK_INT(wait_turn(c, 60000, &heard, &ms), CACHE_TURN_LOOK); // there is nothing to compile
    CHECK_MSG(ms < 5000, "waited %g ms", ms);
    cache_close(c);
}

static int unlink_for_ever(void *user) {
    (void)user;
    while (RUN("rm", "-rf", check_path("run/shoal")).status >= 0)
        usleep(100);
    return 0;
}

TEST(cache_turn_lock_deleted) {
    pid_t cleaner = shelf_start(unlink_for_ever, NULL);
    start_all(5, 16);
    kill(cleaner, SIGKILL);
    shelf_wait(cleaner);
    CHECK(noted("compiled") >= 5);
}

TEST(cache_turn_no_lock_directory) { // then everybody compiles
    struct cache *c = shelf_open();
    long heard;
    double ms;
    pid_t holder = start_holder();
    CHECK_INT(chmod(check_path("run"), 0777), 0);
    CHECK_INT(wait_turn(c, 60000, &heard, &ms), CACHE_TURN_MINE);
    CHECK_MSG(ms < 5000, "waited %g ms", ms);
    setenv("XDG_RUNTIME_DIR", "/proc", 1);
    CHECK_INT(wait_turn(c, 60000, &heard, &ms), CACHE_TURN_MINE);
    kill(holder, SIGKILL);
    shelf_wait(holder);
    cache_close(c);
}

static int turn_in_child(void *user) {
    long heard;
    double ms;
    struct cache *c = user;
    // The parent's thread does not exist here; its lock does, and is waited for.
    return wait_turn(c, 500, &heard, &ms) == CACHE_TURN_MINE && ms > 900 && heard == getppid() ? 0
                                                                                               : 1;
}

TEST(cache_turn_after_fork) {
    struct cache *c = shelf_open();
    struct shelf_entry e = shelf_entry(1, 1);
    struct cache_work *work;
    struct cache_shared shared;
    CHECK_INT(cache_turn(c, e.item.key, 0, NULL, NULL, NULL, &work, &shared), CACHE_TURN_MINE);
    CHECK_INT(shelf_child(turn_in_child, c), 0);
    cache_done(c, work, SHOAL_OK, "x", 1, NULL);
    cache_close(c);
}

// ---- Readers and writers ------------------------------------------------------------------------

static int replace(void *user) {
    struct cache *c = cache_open(NULL);
    for (unsigned i = 0; i < *(unsigned *)user; i++)
        if (!shelf_put_size(c, 1, 1000 + i % 7 * 500))
            return 1;
    cache_close(c);
    return 0;
}

static void replacements(unsigned count) {
    struct cache *c = shelf_open();
    pid_t writer = shelf_start(replace, &count);
    unsigned hits = 0;
    int status = 0;
    while (waitpid(writer, &status, WNOHANG) == 0) {
        bool hit = shelf_get(c, 1); // checks the bytes
        hits += hit;
        if (!hit)
            CHECK_STR(shelf_reason(), "absent");
    }
    CHECK_INT(status, 0);
    CHECK(hits > 0);
    CHECK_INT(shelf_count("bad"), 0);
    cache_close(c);
}

TEST(cache_turn_reader_and_writer) { replacements(300); }
LONG_TEST(cache_turn_reader_and_writer_long) { replacements(10000); }
