// SPDX-License-Identifier: MIT
// Opening a cache, what it has to say, and items.
#include "cache/place.h"
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// What goes wrong with files, said once.
static const struct {
    int error;
    const char *text;
} warnings[] = {
    {ENOSPC, "kernel cache: no space left on its disk; new kernels are not kept"},
    {EDQUOT, "kernel cache: the disk quota is used up; new kernels are not kept"},
    {EROFS, "kernel cache: its file system is read-only; new kernels are not kept"},
    {EACCES, "kernel cache: no permission to write; new kernels are not kept"},
    {EPERM, "kernel cache: no permission to write; new kernels are not kept"},
    {EIO, "kernel cache: input/output error; new kernels are not kept"},
    {ESTALE, "kernel cache: its file system went away (stale handle)"},
    {EMFILE, "kernel cache: too many open files; new kernels are not kept"},
    {ENFILE, "kernel cache: too many open files; new kernels are not kept"},
    {EFBIG, "kernel cache: a kernel is larger than files may be; it is not kept"},
    {0, "kernel cache: it cannot be written; new kernels are not kept"}, // any other
};
enum { WARNINGS = sizeof warnings / sizeof *warnings };

static void raise_bit(struct cache *c, int bit) {
    uint64_t mask = (uint64_t)1 << bit;
    if (!(atomic_fetch_or(&c->said, mask) & mask))
        atomic_fetch_or(&c->pending, mask);
}

void store_warn(struct cache *c, int error) {
    int row = 0;
    while (warnings[row].error && warnings[row].error != error)
        row++;
    raise_bit(c, STORE_NOTES + row);
}

const char *cache_warning(struct cache *c) {
    for (int bit = 0; bit < STORE_NOTES + WARNINGS; bit++) {
        uint64_t mask = (uint64_t)1 << bit;
        if (atomic_load(&c->pending) & mask && atomic_fetch_and(&c->pending, ~mask) & mask)
            return bit < STORE_NOTES ? c->notes[bit] : warnings[bit - STORE_NOTES].text;
    }
    return NULL;
}

// False when this process has said it before, or has said very much.
static bool is_news(const char *text) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *said[64];
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < 64 && said[i] && strcmp(said[i], text) != 0)
        i++;
    bool news = i < 64 && !said[i];
    if (news)
        said[i] = strdup(text);
    pthread_mutex_unlock(&lock);
    return news;
}

void cache_tell(struct cache *c, struct report *r) {
    if (c->off && c->mode != CACHE_OFF && is_news(c->off))
        report_note(r, "kernels are not kept: %s", c->off);
    for (const char *text; (text = cache_warning(c)) != NULL;)
        if (is_news(text))
            report_warning(r, "%s", text);
}

static void add_note(struct cache *c, const char *before, const char *text, size_t length) {
    if (c->note_count == STORE_NOTES)
        return;
    struct buf note = {0};
    buf_puts(&note, before);
    buf_put(&note, text, length);
    if (!note.failed) {
        c->notes[c->note_count] = note.data;
        raise_bit(c, c->note_count++);
    }
}

// What of a read-only tier need not be signed by us.
static void trust_tier(struct cache_tier *t) {
    struct stat s;
    t->of_root = fstat(t->fd, &s) == 0 && s.st_uid == 0;
    t->listed = !t->of_root && secret_listed("/etc/shoal/trust", t->fd);
}

static void open_tiers(struct cache *c, char *list) {
    char *save = NULL;
    for (char *path = list ? strtok_r(list, ":", &save) : NULL; path && c->tier_count < STORE_TIERS;
         path = strtok_r(NULL, ":", &save)) {
        struct buf why = {0};
        char *place = strdup(path);
        int fd = place ? place_open(path, false, true, &why) : -1;
        if (fd >= 0) {
            c->tiers[c->tier_count] = (struct cache_tier){.fd = fd, .place = place};
            trust_tier(&c->tiers[c->tier_count++]);
        } else {
            free(place);
            add_note(c, "kernel cache: not read: ", why.data ? why.data : "", why.length);
        }
        buf_free(&why);
    }
}

// The place itself, and the secret that makes it ours: it is of no use without one. The secret
// alone still serves for read-only tiers.
static void open_place(struct cache *c, struct place_settings *s) {
    struct buf why = {0}, no_secret = {0};
    bool create = c->mode != CACHE_RO;
    c->tiers[0].place = s->root;
    s->root = NULL;
    c->tiers[0].fd = place_open(c->tiers[0].place, create, false, &why);
    bool there = c->tiers[0].fd >= 0;
    c->has_secret = secret_read(c->secret, create && there, there ? &why : &no_secret);
    if (there && !c->has_secret) {
        close(c->tiers[0].fd);
        c->tiers[0].fd = -1;
    }
    if (c->tiers[0].fd < 0)
        buf_puts(&s->off, why.data ? why.data : "out of memory");
    buf_free(&why);
    buf_free(&no_secret);
}

// A cache without a place of its own still reads the others.
static void open_root(struct cache *c, struct place_settings *s) {
    if (!s->off.length && s->root)
        open_place(c, s);
    if (c->tiers[0].fd < 0 && c->tier_count > 1)
        add_note(c, "kernel cache: new kernels are not kept: ", s->off.data ? s->off.data : "",
                 s->off.length);
    else if (c->tiers[0].fd < 0) {
        c->off_text = s->off.data;
        c->off = c->off_text ? c->off_text : "out of memory";
        s->off = (struct buf){0};
    } else if (place_is_remote(c->tiers[0].fd)) {
        static const char text[] = "kernel cache: on a network file system; processes of different "
                                   "machines may compile the same kernel at the same time";
        add_note(c, "", text, sizeof text - 1);
    }
}

static void tag_root(struct cache *c) {
    static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                              "# This directory holds compiled kernels that can be made again.\n";
    int fd = openat(c->tiers[0].fd, "CACHEDIR.TAG",
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, tag, sizeof tag - 1);
    (void)ignored;
    close(fd);
}

struct cache *cache_open(const char *dir) {
    struct cache *c = calloc(1, sizeof *c);
    struct place_settings s;
    if (!c)
        return NULL;
    place_read(&s, dir);
    c->mode = s.mode;
    c->cap_bytes = s.cap_bytes;
    c->cap_entries = s.cap_entries;
    c->tiers[0].fd = -1;
    c->tier_count = 1;
    for (char *line = s.notes.data, *end; line && (end = strchr(line, '\n')); line = end + 1)
        add_note(c, "kernel cache: ", line, (size_t)(end - line));
    open_tiers(c, s.read_only);
    open_root(c, &s);
    if (store_writable(c))
        tag_root(c);
    place_settings_free(&s);
    return c;
}

void cache_close(struct cache *c) {
    if (!c)
        return;
    for (int i = 0; i < c->tier_count; i++) {
        if (c->tiers[i].fd >= 0)
            close(c->tiers[i].fd);
        free(c->tiers[i].place);
    }
    for (int i = 0; i < c->note_count; i++)
        free(c->notes[i]);
    free(c->off_text);
    free(c);
}

enum cache_mode cache_mode(const struct cache *c) { return c->mode; }

const char *cache_place(const struct cache *c) {
    return c->tiers[0].place ? c->tiers[0].place : "";
}

const char *cache_off(const struct cache *c) { return c->off; }

bool store_writable(const struct cache *c) {
    return c->tiers[0].fd >= 0 && c->mode != CACHE_OFF && c->mode != CACHE_RO;
}

int64_t store_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool cache_is_kernel(const struct cache_item *item) {
    return item->record && strcmp(item->kind, CACHE_PROBE) && strcmp(item->kind, CACHE_TUNE);
}

void cache_item_free(struct cache_item *item) {
    free(item->block);
    *item = (struct cache_item){0};
}
