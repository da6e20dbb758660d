// SPDX-License-Identifier: MIT
// See ahead.h.
#include "io/ahead.h"

#include "base/file.h"
#include "io/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x3164616568616873) // also tells the order of bytes

// A file that is longer than twice what waits and this is written anew.
enum { SLACK_BYTES = 64 << 20 };

struct head {
    uint64_t magic;
    unsigned char job[AHEAD_JOB];
};
struct record {
    uint64_t first, rows, length;
    uint32_t crc; // of the numbers above and the bytes
    uint32_t zero;
};

static struct record record_of(const struct ahead_rows *w) {
    struct record c = {.first = w->first, .rows = w->rows, .length = w->length};
    uint64_t what[] = {c.first, c.rows, c.length};
    c.crc = zip_crc(zip_crc(0, what, sizeof what), w->bytes, w->length);
    return c;
}

// ---- Files --------------------------------------------------------------------------------------

// A plain file of ours, and never where a link points.
static int open_file(const char *path, int flags) {
    struct stat s;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        return -1;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink == 1 && s.st_uid == geteuid())
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

static void close_file(struct ahead *a) {
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    a->size = 0;
}

shoal_code ahead_init(struct ahead *a, const char *part, const unsigned char job[AHEAD_JOB],
                      struct report *r) {
    *a = (struct ahead){.fd = -1};
    memcpy(a->job, job, AHEAD_JOB);
    if (asprintf(&a->path, "%s.ahead", part) < 0)
        a->path = NULL;
    return a->path ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "%s: not enough memory", part);
}

// What it is called while it is written anew.
static char *name_anew(const struct ahead *a) {
    char *name = NULL;
    return a->path && asprintf(&name, "%s.new", a->path) >= 0 ? name : NULL;
}

void ahead_remove(struct ahead *a) {
    char *other = name_anew(a);
    close_file(a);
    if (a->path)
        unlink(a->path);
    if (other)
        unlink(other);
    free(other);
}

void ahead_free(struct ahead *a) {
    close_file(a);
    free(a->path);
    a->path = NULL;
}

// ---- Reading ------------------------------------------------------------------------------------

static bool read_at(int fd, uint64_t at, void *bytes, size_t length) {
    return file_read_at(fd, "", at, bytes, length, NULL) == SHOAL_OK;
}

static uint64_t size_of(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 && s.st_size > 0 ? (uint64_t)s.st_size : 0;
}

// Whether there is a whole record at `at`, by its lengths.
static bool read_record(int fd, uint64_t size, uint64_t at, struct record *out) {
    return size - at > sizeof *out && read_at(fd, at, out, sizeof *out) &&
           out->length <= size - at - sizeof *out && out->length <= SIZE_MAX / 2;
}

// Hands on one record; false: it is damaged, or no more are wanted.
static bool take_record(const struct ahead *a, uint64_t at, const struct record *c,
                        bool (*take)(void *user, const struct ahead_rows *rows), void *user) {
    struct ahead_rows w = {c->first, c->rows, malloc((size_t)c->length + 1), (size_t)c->length};
    bool good = w.bytes && read_at(a->fd, at + sizeof *c, w.bytes, w.length) &&
                record_of(&w).crc == c->crc && take(user, &w);
    free(w.bytes);
    return good;
}

// What is behind the last good record is cut off, so that others can follow it.
void ahead_read(struct ahead *a, bool (*take)(void *user, const struct ahead_rows *rows),
                void *user) {
    struct head h;
    struct record c;
    a->fd = a->path ? open_file(a->path, 0) : -1;
    uint64_t size = a->fd >= 0 ? size_of(a->fd) : 0, at = sizeof h;
    if (size < sizeof h || !read_at(a->fd, 0, &h, sizeof h) || h.magic != MAGIC ||
        memcmp(h.job, a->job, AHEAD_JOB)) {
        close_file(a);
        return;
    }
    while (read_record(a->fd, size, at, &c) && take_record(a, at, &c, take, user))
        at += sizeof c + c.length;
    a->size = at;
    if (ftruncate(a->fd, (off_t)at) < 0)
        close_file(a); // the next one begins anew
}

static uint64_t count_rows(int fd, uint64_t first) {
    struct record c;
    uint64_t rows = 0;
    for (uint64_t at = sizeof(struct head), size = size_of(fd);
         at < size && read_record(fd, size, at, &c); at += sizeof c + c.length)
        rows += c.first >= first ? c.rows : 0;
    return rows;
}

uint64_t ahead_count(const char *journal, uint64_t first) {
    char *path = NULL;
    size_t bare = strlen(journal) - strlen(".journal");
    bool part = bare > 5 && !strncmp(journal + bare - 5, ".part", 5);
    if (asprintf(&path, "%.*s%s.ahead", (int)bare, journal, part ? "" : ".part") < 0)
        return 0;
    int fd = open_file(path, 0);
    uint64_t rows = fd >= 0 ? count_rows(fd, first) : 0;
    if (fd >= 0)
        close(fd);
    free(path);
    return rows;
}

// ---- Writing ------------------------------------------------------------------------------------

static shoal_code put_head(struct ahead *a, int fd, struct report *r) {
    struct head h = {.magic = MAGIC};
    memcpy(h.job, a->job, AHEAD_JOB);
    a->size = sizeof h;
    return ftruncate(fd, 0) < 0 ? SHOAL_IO : file_write_at(fd, a->path, 0, &h, sizeof h, r);
}

static shoal_code put_record(struct ahead *a, int fd, const struct ahead_rows *w,
                             struct report *r) {
    struct record c = record_of(w);
    shoal_code code = file_write_at(fd, a->path, a->size, &c, sizeof c, r);
    if (code == SHOAL_OK)
        code = file_write_at(fd, a->path, a->size + sizeof c, w->bytes, w->length, r);
    a->size += sizeof c + w->length;
    return code;
}

static void give_up(struct ahead *a, struct report *r) {
    report_warning(r, "%s: cannot be written: a kill costs rows that come ahead of their turn",
                   a->path);
    ahead_remove(a);
    ahead_free(a);
}

static shoal_code begin(struct ahead *a) {
    a->fd = open_file(a->path, O_CREAT);
    return a->fd >= 0 ? put_head(a, a->fd, NULL) : SHOAL_IO;
}

void ahead_put(struct ahead *a, const struct ahead_rows *rows, struct report *r) {
    if (!a->path)
        return;
    shoal_code code = a->fd < 0 ? begin(a) : SHOAL_OK;
    if (code == SHOAL_OK)
        code = put_record(a, a->fd, rows, NULL);
    if (code != SHOAL_OK)
        give_up(a, r);
}

// A new file takes the place of the old one at once.
static shoal_code write_anew(struct ahead *a, const struct ahead_rows *rows, size_t count) {
    char *other = name_anew(a);
    int fd = other ? open_file(other, O_CREAT) : -1;
    shoal_code code = fd >= 0 ? put_head(a, fd, NULL) : SHOAL_IO;
    for (size_t i = 0; i < count && code == SHOAL_OK; i++)
        code = put_record(a, fd, &rows[i], NULL);
    if (code == SHOAL_OK && rename(other, a->path) < 0)
        code = SHOAL_IO;
    if (code == SHOAL_OK) {
        close(a->fd);
        a->fd = fd;
    } else if (fd >= 0) {
        close(fd);
        unlink(other);
    }
    free(other);
    return code;
}

void ahead_keep(struct ahead *a, const struct ahead_rows *rows, size_t count, uint64_t bytes,
                struct report *r) {
    if (!a->path || a->fd < 0 || a->size <= sizeof(struct head))
        return;
    shoal_code code = SHOAL_OK;
    if (!count) {
        a->size = sizeof(struct head);
        code = ftruncate(a->fd, (off_t)a->size) < 0 ? SHOAL_IO : SHOAL_OK;
    } else if (a->size > 2 * bytes + SLACK_BYTES)
        code = write_anew(a, rows, count);
    if (code != SHOAL_OK)
        give_up(a, r);
}
