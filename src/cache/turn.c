// SPDX-License-Identifier: MIT
// Whose turn it is to compile a key: a table of this process, then a lock between processes.
//
// This only saves work: whoever cannot wait, or cannot lock, compiles. The table is of the process
// and not of a handle, because solvers have handles of their own; a child of fork starts with an
// empty one. Between processes there are 64 lock files in the user's runtime directory, never
// deleted by us, not in the cache, which may be on a network. A key has a place of its own in one
// of them, so that nobody waits for the compiler of another key: those of a CPU and of a device run
// side by side. The system frees the lock of a process that dies, and no compiler child inherits
// it.
#include "base/clock.h"
#include "base/thread.h"
#include "cache/place.h"
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOCKS = 64, PLACES = 4096, PLACE_BYTES = 16 };
enum { TICK_MS = 100, POLL_MS = 10, LEAST_MS = 1000, MOST_MS = 120000, REOPENS = 8 };

struct cache_work {
    unsigned char key[KEY_BYTES];
    int lock; // descriptor, -1: none
    int waiters;
    bool done;
    struct cache_shared result; // for waiters; OK without payload: look the entry up
    struct cache_work *next;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct cache_work *works;
} flight = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct patience {
    uint64_t end_ns, tick_ns;
    const volatile int *stop;
    void (*waiting)(void *user, long pid);
    void *user;
};

// ---- The table ----------------------------------------------------------------------------------

static void make_condition(void) { thread_condition(&flight.changed); }

static void lock_table(void) { pthread_mutex_lock(&flight.mutex); }
static void unlock_table(void) { pthread_mutex_unlock(&flight.mutex); }

// The parent's compilations are not the child's; its locks stay with the parent.
static void start_child(void) {
    for (struct cache_work *w = flight.works; w; w = w->next) {
        if (w->lock >= 0)
            close(w->lock);
        w->lock = -1;
        w->waiters = 0;
    }
    flight.works = NULL;
    make_condition();
    unlock_table();
}

static void start_table(void) {
    make_condition();
    pthread_atfork(lock_table, unlock_table, start_child);
}

static struct cache_work *find_work(const unsigned char key[KEY_BYTES]) {
    struct cache_work *w = flight.works;
    while (w && memcmp(w->key, key, KEY_BYTES) != 0)
        w = w->next;
    return w;
}

static void free_work(struct cache_work *w) {
    free(w->result.payload);
    free(w->result.error);
    free(w);
}

static bool is_stopped(const struct patience *p) { return p->stop && *p->stop; }

// Calls back when it is time; the table is not locked.
static void tick(struct patience *p, long pid) {
    uint64_t now = clock_ns();
    if (now < p->tick_ns)
        return;
    p->tick_ns = now + (uint64_t)TICK_MS * 1000000;
    if (p->waiting)
        p->waiting(p->user, pid);
}

// Waits for another thread; true when it is done. The table is locked before and after.
static bool wait_for_work(struct cache_work *w, struct patience *p) {
    while (!w->done && !is_stopped(p) && clock_ns() < p->end_ns) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += (long)TICK_MS * 1000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&flight.changed, &flight.mutex, &t);
        if (!w->done) {
            unlock_table();
            tick(p, (long)getpid());
            lock_table();
        }
    }
    return w->done;
}

static enum cache_turn copy_result(const struct cache_shared *from, struct cache_shared *out) {
    *out = (struct cache_shared){.code = from->code, .payload_length = from->payload_length};
    if (from->code != SHOAL_OK) {
        out->error = from->error ? strdup(from->error) : NULL;
        return CACHE_TURN_SHARED;
    }
    out->payload = from->payload ? malloc(from->payload_length ? from->payload_length : 1) : NULL;
    if (!out->payload)
        return CACHE_TURN_LOOK;
    memcpy(out->payload, from->payload, from->payload_length);
    return CACHE_TURN_SHARED;
}

// Waits for threads that compile this key. True when the caller got its answer that way.
static bool wait_in_process(const unsigned char key[KEY_BYTES], struct patience *p,
                            struct cache_shared *out, enum cache_turn *turn) {
    for (struct cache_work *w; (w = find_work(key)) != NULL;) {
        w->waiters++;
        bool done = wait_for_work(w, p);
        w->waiters--;
        bool answered = done && w->result.code != SHOAL_STOPPED; // another's stop is not ours
        if (answered)
            *turn = copy_result(&w->result, out);
        if (done && !w->waiters)
            free_work(w);
        if (answered)
            return true;
        if (is_stopped(p)) {
            *turn = CACHE_TURN_STOPPED;
            return true;
        }
        if (!done)
            return false; // long enough
    }
    return false;
}

// Takes the work off the table and wakes who waits for it. Bytes are copied only for them.
static void end_work(struct cache_work *w, shoal_code code, const void *payload, size_t length,
                     const char *error) {
    int lock = w->lock;
    lock_table();
    struct cache_work **at = &flight.works;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
    w->done = true;
    w->result.code = code;
    bool wanted = w->waiters > 0;
    if (wanted && code == SHOAL_OK && payload &&
        (w->result.payload = malloc(length ? length : 1))) {
        memcpy(w->result.payload, payload, length);
        w->result.payload_length = length;
    }
    if (wanted && error)
        w->result.error = strdup(error);
    if (!wanted)
        free_work(w);
    pthread_cond_broadcast(&flight.changed);
    unlock_table();
    if (lock >= 0)
        close(lock);
}

// ---- The lock between processes -----------------------------------------------------------------

static int open_lock_dir(void) {
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    struct buf path = {0}, why = {0};
    if (runtime && *runtime == '/')
        buf_printf(&path, "%s/shoal", runtime);
    else
        buf_printf(&path, "/tmp/shoal-%lu", (unsigned long)geteuid());
    int fd = path.failed ? -1 : place_open(path.data, true, false, &why);
    buf_free(&path);
    buf_free(&why);
    return fd;
}

static int open_lock(int dir, const unsigned char key[KEY_BYTES]) {
    char name[16];
    snprintf(name, sizeof name, "lock.%02d", key[0] % LOCKS);
    return openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
}

static off_t place_of(const unsigned char key[KEY_BYTES]) {
    return (off_t)((key[1] | key[2] << 8) % PLACES) * PLACE_BYTES;
}

static long holder(int fd, const unsigned char key[KEY_BYTES]) {
    char text[PLACE_BYTES + 1] = "";
    ssize_t n = pread(fd, text, PLACE_BYTES, place_of(key));
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static void sign(int fd, const unsigned char key[KEY_BYTES]) {
    char text[PLACE_BYTES + 1];
    int n = snprintf(text, sizeof text, "%-11ld\n", (long)getpid());
    ssize_t ignored = pwrite(fd, text, (size_t)n, place_of(key));
    (void)ignored;
}

// False: somebody has it, or (errno) there are no locks.
static bool lock_place(int fd, const unsigned char key[KEY_BYTES]) {
    struct flock place = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place_of(key), .l_len = PLACE_BYTES};
    return fcntl(fd, F_OFD_SETLK, &place) == 0;
}

enum lock_state { LOCK_MINE, LOCK_BUSY, LOCK_NONE };

// Tries to lock the file, open or not yet. One that somebody deleted meanwhile is opened again.
static enum lock_state try_lock(int *fd, int dir, const unsigned char key[KEY_BYTES]) {
    for (int i = 0; i < REOPENS; i++) {
        struct stat s;
        if (*fd < 0 && (*fd = open_lock(dir, key)) < 0)
            return LOCK_NONE;
        if (!lock_place(*fd, key))
            return errno == EAGAIN || errno == EACCES || errno == EINTR ? LOCK_BUSY : LOCK_NONE;
        if (fstat(*fd, &s) == 0 && s.st_nlink > 0)
            return LOCK_MINE;
        close(*fd);
        *fd = -1;
    }
    return LOCK_NONE;
}

// Waits for the lock, until it is ours, the entry is there, or it takes too long. Returns its
// descriptor, or -1.
static int wait_for_lock(struct cache *c, const unsigned char key[KEY_BYTES], int dir,
                         struct patience *p) {
    int fd = -1;
    uint64_t look_ns = clock_ns() + (uint64_t)TICK_MS * 1000000;
    for (;;) {
        enum lock_state state = try_lock(&fd, dir, key);
        if (state == LOCK_MINE) {
            sign(fd, key);
            return fd;
        }
        uint64_t now = clock_ns();
        bool over = state == LOCK_NONE || is_stopped(p) || now >= p->end_ns;
        if (!over && now >= look_ns) {
            look_ns = now + (uint64_t)TICK_MS * 1000000;
            over = store_has(c, key);
        }
        if (over)
            break;
        tick(p, holder(fd, key));
        usleep(POLL_MS * 1000);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

// Only where another process could leave an entry for us.
static enum cache_turn wait_for_processes(struct cache *c, struct cache_work *w,
                                          struct patience *p) {
    if (!store_writable(c) || c->mode != CACHE_ON)
        return CACHE_TURN_MINE;
    int dir = open_lock_dir();
    if (dir < 0)
        return CACHE_TURN_MINE;
    w->lock = wait_for_lock(c, w->key, dir, p);
    close(dir);
    if (is_stopped(p))
        return CACHE_TURN_STOPPED;
    return store_has(c, w->key) ? CACHE_TURN_LOOK : CACHE_TURN_MINE;
}

// ---- Turns --------------------------------------------------------------------------------------

static uint64_t wait_limit_ns(uint32_t predicted_ms) {
    uint64_t ms = predicted_ms ? (uint64_t)predicted_ms * 2 : MOST_MS;
    ms = ms < LEAST_MS ? LEAST_MS : ms > MOST_MS ? MOST_MS : ms;
    return ms * 1000000;
}

enum cache_turn cache_turn(struct cache *c, const unsigned char key[KEY_BYTES],
                           uint32_t predicted_ms, const volatile int *stop,
                           void (*waiting)(void *user, long pid), void *user,
                           struct cache_work **work, struct cache_shared *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_table);
    uint64_t now = clock_ns();
    struct patience p = {now + wait_limit_ns(predicted_ms), now + (uint64_t)TICK_MS * 1000000, stop,
                         waiting, user};
    enum cache_turn turn = CACHE_TURN_MINE;
    *out = (struct cache_shared){0};
    *work = NULL;
    struct cache_work *w = calloc(1, sizeof *w);
    if (!w)
        return CACHE_TURN_MINE;
    memcpy(w->key, key, KEY_BYTES);
    w->lock = -1;
    lock_table();
    bool answered = wait_in_process(key, &p, out, &turn);
    if (!answered) {
        w->next = flight.works;
        flight.works = w;
    }
    unlock_table();
    if (answered) {
        free(w);
        return turn;
    }
    turn = wait_for_processes(c, w, &p);
    if (turn == CACHE_TURN_MINE)
        *work = w;
    else
        end_work(w, turn == CACHE_TURN_STOPPED ? SHOAL_STOPPED : SHOAL_OK, NULL, 0, NULL);
    return turn;
}

void cache_done(struct cache *c, struct cache_work *work, shoal_code code, const void *payload,
                size_t length, const char *error) {
    (void)c;
    if (work)
        end_work(work, code, payload, length, error);
}
