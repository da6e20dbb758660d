// SPDX-License-Identifier: MIT
// See snapshot.h.
#include "io/snapshot.h"

#include "base/clock.h"
#include "base/number.h"
#include "io/zip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SECONDS = 5,
    PART_OF_TIME = 50, // one in so many seconds, at most, goes by with snapshots
    BLOCK_BYTES = 1 << 16,
};

static shoal_code no_memory(struct report *r) {
    return report_error(r, SHOAL_MEMORY, "out of memory");
}

// ---- Writing ------------------------------------------------------------------------------------

// Tests set another pace.
static double seconds_given(void) {
    const char *text = secure_getenv("SHOAL_SNAPSHOT_SECONDS");
    double seconds;
    return text && number_finite(text, &seconds) && seconds >= 0 && seconds < 1e9 ? seconds : -1;
}

static void set_due(struct snapshot *s, uint64_t begin_ns) {
    double given = seconds_given();
    uint64_t now = clock_ns(), took = (now - begin_ns) * PART_OF_TIME,
             least = SECONDS * 1000000000u;
    if (given >= 0)
        s->due_ns = now + (uint64_t)(given * 1e9);
    else
        s->due_ns = now + (took > least ? took : least);
}

// Where bytes of states go.
struct writing {
    struct journal *journal;
    uint32_t crc;
    shoal_code code;
    struct report *report;
};

static bool put_bytes(void *user, const void *bytes, size_t length) {
    struct writing *w = user;
    struct journal *j = w->journal;
    w->crc = zip_crc(w->crc, bytes, length);
    w->code = file_write_at(j->fd, j->path, j->end, bytes, length, w->report);
    j->end += length;
    return w->code == SHOAL_OK;
}

static shoal_code put_states(struct snapshot *s, struct report *r) {
    struct writing w = {.journal = &s->journal, .report = r};
    struct saved_to to = {.put = put_bytes, .user = &w};
    saved_put(&to, &s->journal.crc, sizeof s->journal.crc);
    s->save(s->user, &to);
    if (!saved_end(&to))
        return w.code != SHOAL_OK ? w.code : no_memory(r);
    uint32_t crc = w.crc;
    return put_bytes(&w, &crc, sizeof crc) ? SHOAL_OK : w.code;
}

static void put_range(struct journal *j, uint64_t first, uint64_t ms,
                      const struct sink_there *rows) {
    size_t from = j->line.length;
    if (!rows->rows)
        return;
    journal_put_rows(j, first, 0, ms, rows);
    journal_close_line(j, from);
}

// `last`: the word of a result that is stopped or complete, or NULL.
static void put_text(struct snapshot *s, const char *last) {
    struct journal *j = &s->journal;
    uint64_t now = journal_now_ms();
    j->end = 0;
    j->crc = 0;
    journal_put_head(j);
    journal_put_time(j, "begin", s->begun_ms);
    if (s->before.rows) {
        put_range(j, 0, s->begun_ms, &s->before);
        journal_put_time(j, "begin", s->begun_ms); // somebody goes on
    }
    put_range(j, s->before.rows, now, &s->rows);
    if (last)
        journal_put_time(j, last, now);
    buf_putc(&j->line, '\n');
}

static shoal_code failed(const struct snapshot *s, const char *what, struct report *r) {
    return report_error(r, SHOAL_IO, "%s: cannot %s: %s", s->journal.path, what, strerror(errno));
}

static shoal_code put_onto_disk(const struct snapshot *s, struct report *r) {
    if (fdatasync(s->journal.fd) < 0 && errno != EINVAL && errno != ENOSYS && errno != EINTR)
        return failed(s, "put it onto the disk", r);
    if (rename(s->journal.path, s->path) < 0)
        return failed(s, "rename", r);
    journal_sync_directory(&s->journal);
    return SHOAL_OK;
}

static shoal_code write_one(struct snapshot *s, const char *last, struct report *r) {
    struct journal *j = &s->journal;
    uint64_t begin_ns = clock_ns();
    shoal_code code = journal_open_file(j, false, r);
    if (code == SHOAL_OK && ftruncate(j->fd, 0) < 0)
        code = failed(s, "write", r);
    if (code == SHOAL_OK) {
        put_text(s, last);
        code = journal_put_lines(j, r);
    }
    if (code == SHOAL_OK)
        code = put_states(s, r);
    if (code == SHOAL_OK)
        code = put_onto_disk(s, r);
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
    s->ours = s->ours || code == SHOAL_OK;
    s->has = s->has || (code == SHOAL_OK && s->before.rows + s->rows.rows);
    set_due(s, begin_ns);
    return code;
}

// ---- Reading ------------------------------------------------------------------------------------

// Bytes of states, a block at a time.
struct reading {
    int fd;
    uint64_t at, end; // in the file, of what is not in the block yet
    char *block;
    size_t from, length; // what is left of it
};

static bool fill_block(struct reading *d) {
    size_t n = d->end - d->at < BLOCK_BYTES ? (size_t)(d->end - d->at) : BLOCK_BYTES;
    if (!n || file_read_at(d->fd, "", d->at, d->block, n, NULL) != SHOAL_OK)
        return false;
    d->at += n;
    d->from = 0;
    d->length = n;
    return true;
}

static bool get_bytes(void *user, void *bytes, size_t length) {
    struct reading *d = user;
    for (char *out = bytes; length;) {
        if (!d->length && !fill_block(d))
            return false;
        size_t n = length < d->length ? length : d->length;
        memcpy(out, d->block + d->from, n);
        d->from += n;
        d->length -= n;
        length -= n;
        out += n;
    }
    return true;
}

static bool pass(void *user, const struct journal_range *g) {
    (void)user;
    return g->rows > 0;
}

// Where states are, behind the empty line; false: they are not what their checksum says.
static bool find_states(struct journal_reader *d, struct reading *out) {
    char line;
    struct journal_stream s = {0};
    if (d->size < sizeof s.crc + 1 || d->at > d->size - sizeof s.crc - 1 ||
        file_read_at(d->fd, d->path, d->at, &line, 1, NULL) != SHOAL_OK || line != '\n')
        return false;
    *out = (struct reading){.fd = d->fd, .at = d->at + 1, .end = d->size - sizeof s.crc};
    s.bytes = out->end - out->at;
    return file_read_at(d->fd, d->path, out->end, &s.crc, sizeof s.crc, NULL) == SHOAL_OK &&
           journal_same(d->fd, out->at, &s);
}

// `lines`: the checksum of the journal, which states have too, so that they are of the same one.
static shoal_code load_states(struct reading *in, uint32_t lines, uint64_t rows,
                              snapshot_load *load, void *user) {
    struct saved_from from = {.get = get_bytes, .user = in};
    uint32_t crc;
    in->block = malloc(BLOCK_BYTES);
    shoal_code code = !in->block ? SHOAL_MEMORY
                      : !saved_get(&from, &crc, sizeof crc) || crc != lines
                          ? SHOAL_INPUT
                          : load(user, rows, &from);
    if (code == SHOAL_OK && (in->length || in->at < in->end))
        code = SHOAL_INPUT; // there is more than there can be
    free(in->block);
    return code;
}

shoal_code snapshot_read(struct journal_reader *d, snapshot_load *load, void *user,
                         struct sink_there *there, struct report *r) {
    struct journal_found found = {0};
    struct reading in;
    shoal_code code = journal_find(d, 0, pass, NULL, &found, r);
    *there = found.there;
    if (code == SHOAL_OK && (found.ranges != found.told || !find_states(d, &in)))
        code = SHOAL_INPUT;
    if (code == SHOAL_OK)
        code = load_states(&in, d->crc, there->rows, load, user);
    if (code == SHOAL_MEMORY)
        no_memory(r);
    journal_found_free(&found);
    return code;
}

// ---- Begin --------------------------------------------------------------------------------------

// The one that there is, up to the end of its head; *found false: there is none.
static shoal_code open_one(struct journal_reader *d, const struct journal_order *order, bool *found,
                           bool *whole, struct report *r) {
    *whole = false;
    shoal_code code = journal_open(d, order->path, found, r);
    return code == SHOAL_OK && *found ? journal_check(d, order, whole, r) : code;
}

shoal_code snapshot_check(const struct journal_order *order, struct report *r) {
    struct journal_reader d = {.fd = -1};
    bool found, whole;
    if (!order || !order->resume)
        return SHOAL_OK;
    shoal_code code = open_one(&d, order, &found, &whole, r);
    journal_reader_close(&d);
    return code;
}

// What is damaged is nobody's but ours while the result is made; beside one it may be somebody's.
static shoal_code take_up(struct snapshot *s, struct report *r) {
    struct journal_reader d = {.fd = -1};
    bool found, whole;
    shoal_code code = open_one(&d, s->order, &found, &whole, r);
    if (code == SHOAL_OK && found)
        code = whole ? snapshot_read(&d, s->load, s->user, &s->before, r) : SHOAL_INPUT;
    else if (code != SHOAL_OK)
        found = false; // it was told
    if (found && code == SHOAL_INPUT && strcmp(d.path, s->path))
        code = journal_damaged(&d, r);
    else if (found && code == SHOAL_INPUT) {
        report_warning(r, "%s: is damaged, and the runs are begun anew", d.path);
        code = SHOAL_OK;
        s->before = (struct sink_there){0};
    }
    journal_reader_close(&d);
    return code;
}

static bool make_names(struct snapshot *s) {
    const char *path = s->order->path;
    if (asprintf(&s->path, "%s.part.journal", path) < 0)
        s->path = NULL;
    if (asprintf(&s->left, "%s.journal", path) < 0)
        s->left = NULL;
    if (asprintf(&s->journal.path, "%s.part.journal.new", path) < 0)
        s->journal.path = NULL;
    return s->path && s->left && s->journal.path;
}

// Rows that a job of another kind left ahead of their turn are nobody's now.
static void drop_ahead(const struct journal_order *order) {
    const unsigned char job[AHEAD_JOB] = {0};
    struct ahead ahead = {.fd = -1};
    char *part = NULL;
    if (asprintf(&part, "%s.part", order->path) < 0)
        return;
    if (ahead_init(&ahead, part, job, NULL) == SHOAL_OK)
        ahead_remove(&ahead);
    ahead_free(&ahead);
    free(part);
}

shoal_code snapshot_begin(struct snapshot *s, const struct result_list *list,
                          struct sink_there *there, struct report *r) {
    if (!s->order)
        return SHOAL_OK;
    s->journal = (struct journal){.fd = -1, .order = s->order, .list = list};
    s->begun_ms = journal_now_ms();
    if (!make_names(s))
        return no_memory(r);
    if (!s->order->resume && access(s->path, F_OK) == 0)
        report_warning(r, "%s: a run that was not finished is replaced; --resume goes on with one",
                       s->path);
    if (!s->order->resume)
        drop_ahead(s->order);
    shoal_code code = s->order->resume ? take_up(s, r) : SHOAL_OK;
    if (code == SHOAL_OK)
        code = write_one(s, NULL, r);
    *there = s->before;
    return code;
}

// ---- Rows and end -------------------------------------------------------------------------------

shoal_code snapshot_rows(struct snapshot *s, const struct result_list *list,
                         const struct result_chunk *c, struct report *r) {
    if (!s->order)
        return SHOAL_OK;
    journal_count(list, c, &s->rows);
    return clock_ns() < s->due_ns ? SHOAL_OK : write_one(s, NULL, r);
}

shoal_code snapshot_seal(struct snapshot *s, bool complete, struct report *r) {
    if (!s->order || (complete && !s->order->stays))
        return SHOAL_OK;
    return write_one(s, complete ? "end" : "stop", r);
}

void snapshot_end(struct snapshot *s, bool complete) {
    if (!s->order)
        return;
    if (complete && !s->order->stays) {
        unlink(s->left); // what an earlier run went on from
        unlink(s->path);
    } else
        rename(s->path, s->left);
    s->has = true; // and has its last name
}

void snapshot_close(struct snapshot *s) {
    if (s->ours && !s->has)
        unlink(s->path);
    if (s->journal.path)
        unlink(s->journal.path);
    buf_free(&s->journal.line);
    free(s->journal.path);
    free(s->path);
    free(s->left);
    *s = (struct snapshot){0};
}
