// SPDX-License-Identifier: MIT
// Goes on from a journal: which of its ranges are there, and files that get their names back.
#include "io/journal.h"
#include "io/zip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Ranges that are there ----------------------------------------------------------------------

// False: more than fits, so that it cannot be.
static bool add_streams(struct journal_found *f, const struct journal_range *g) {
    for (uint32_t i = 0; i < g->streams; i++) {
        struct journal_stream *s = &f->stream[i];
        s->crc = zip_crc_join(s->crc, g->stream[i].crc, g->stream[i].bytes);
        s->width = g->stream[i].width > s->width ? g->stream[i].width : s->width;
        if (__builtin_add_overflow(s->bytes, g->stream[i].bytes, &s->bytes))
            return false;
    }
    return true;
}

static bool add_range(struct journal_found *f, const struct journal_range *g) {
    struct sink_there *t = &f->there;
    if (__builtin_add_overflow(t->rows, g->rows, &t->rows) ||
        __builtin_add_overflow(f->samples, g->samples, &f->samples) || !add_streams(f, g))
        return false;
    t->steps += g->steps;
    t->rejected += g->rejected;
    t->f_evals += g->f_evals;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++) {
        if (g->by_status[i] && !t->by_status[i])
            t->first[i] = g->first_run[i];
        t->by_status[i] += g->by_status[i];
    }
    return true;
}

// Ranges follow each other; a line that is something else is passed over.
static void find_ranges(struct journal_reader *d, struct journal_range *g, journal_look *look,
                        void *user, struct journal_found *out) {
    bool good = true;
    while (journal_next(d)) {
        if (strncmp(d->line.data, "range ", 6)) {
            if (good)
                out->end = d->at, out->crc = d->crc;
            continue;
        }
        out->told++;
        good = good && journal_read_range(d, g->streams, g) && g->first == out->there.rows &&
               look(user, g) && add_range(out, g);
        if (!good)
            continue;
        out->ranges++;
        out->end = d->at;
        out->crc = d->crc;
    }
}

shoal_code journal_find(struct journal_reader *d, uint32_t streams, journal_look *look, void *user,
                        struct journal_found *out, struct report *r) {
    struct journal_range g = {.streams = streams,
                              .stream = calloc((size_t)streams + 1, sizeof *g.stream)};
    *out = (struct journal_found){.end = d->at, .crc = d->crc};
    out->stream = calloc((size_t)streams + 1, sizeof *out->stream);
    shoal_code code = g.stream && out->stream
                          ? SHOAL_OK
                          : report_error(r, SHOAL_MEMORY, "%s: not enough memory", d->path);
    if (code == SHOAL_OK)
        find_ranges(d, &g, look, user, out);
    free(g.stream);
    return code;
}

void journal_found_free(struct journal_found *f) {
    free(f->stream);
    *f = (struct journal_found){0};
}

// The same bytes, read in pieces; a file that ends before is not the same.
bool journal_same(int fd, uint64_t at, const struct journal_stream *s) {
    enum { PIECE = 1 << 18 };
    char *piece = malloc(PIECE);
    uint32_t crc = 0;
    bool good = piece != NULL;
    for (uint64_t done = 0, n; done < s->bytes && good; done += n) {
        n = s->bytes - done < PIECE ? s->bytes - done : PIECE;
        good = file_read_at(fd, "", at + done, piece, (size_t)n, NULL) == SHOAL_OK;
        crc = good ? zip_crc(crc, piece, (size_t)n) : crc;
    }
    free(piece);
    return good && crc == s->crc;
}

// ---- Files --------------------------------------------------------------------------------------

shoal_code journal_take(struct journal_reader *d, const struct journal_order *order,
                        const char *path, struct file_part *part, bool *found, struct report *r) {
    bool there, told = false, whole = false;
    *found = false;
    *d = (struct journal_reader){.fd = -1};
    if (!order || !order->resume)
        return SHOAL_OK;
    shoal_code code = file_part_find(part, path, &there, r);
    if (code == SHOAL_OK && there)
        code = journal_open(d, part->part, &told, r);
    if (code == SHOAL_OK && told)
        code = journal_check(d, order, &whole, r);
    if (code == SHOAL_OK && told && !whole && part->whole)
        code = journal_damaged(d, r); // what is there may be somebody's
    else if (code == SHOAL_OK && there && !whole && !part->whole)
        report_warning(r, "%s: has no journal to go on from, and is begun anew", part->part);
    *found = code == SHOAL_OK && whole;
    if (*found)
        return SHOAL_OK;
    journal_reader_close(d);
    file_part_leave(part);
    return code;
}

static shoal_code check_found(const struct journal_reader *d, const struct file_part *part,
                              const struct journal_found *f, struct report *r) {
    if (f->ranges == f->told)
        return SHOAL_OK;
    if (part->whole && !f->ranges)
        return report_error(r, SHOAL_INPUT,
                            "%s: is not what %s is about, and is not replaced; remove one of them, "
                            "or run without --resume",
                            part->path, d->path);
    report_warning(
        r,
        "%s: of %llu ranges %llu are as they were written; runs from row %llu on are run "
        "again",
        part->part, (unsigned long long)f->told, (unsigned long long)f->ranges,
        (unsigned long long)f->there.rows);
    return SHOAL_OK;
}

// Data first: a journal is found beside what is being made, whatever it is called.
static shoal_code take_names(const struct journal_reader *d, struct file_part *const *part,
                             uint32_t parts, struct report *r) {
    char *name = NULL;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < parts && code == SHOAL_OK; i++)
        code = file_part_adopt(part[i], r);
    if (code != SHOAL_OK)
        return code;
    if (asprintf(&name, "%s.journal", part[0]->part) < 0)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", d->path);
    if (strcmp(name, d->path) && rename(d->path, name) < 0)
        code = report_error(r, SHOAL_IO, "%s: cannot rename to %s: %s", d->path, name,
                            strerror(errno));
    free(name);
    return code;
}

shoal_code journal_resume(struct journal *j, struct journal_reader *d,
                          const struct journal_order *order, const struct result_list *list,
                          uint32_t streams, struct file_part *const *part, uint32_t parts,
                          journal_look *look, void *user, struct journal_found *out,
                          struct report *r) {
    shoal_code code = journal_find(d, streams, look, user, out, r);
    if (code == SHOAL_OK)
        code = check_found(d, part[0], out, r);
    if (code == SHOAL_OK)
        code = take_names(d, part, parts, r);
    if (code == SHOAL_OK)
        code = journal_continue(j, order, list, streams, part[0]->part, out, r);
    return code;
}
