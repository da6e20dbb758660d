// SPDX-License-Identifier: MIT
// Shards as CSV: their lines put together, as they are.
//
// A row of a table is one line, or all that follow each other and begin with the same run. Lines
// may hold newlines in quotes.
#include "base/buf.h"
#include "base/file.h"
#include "io/formats.h"
#include "io/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

// A table of a shard, read line by line.
struct lines {
    char *path;
    int fd;
    uint64_t size, at; // of the file; of the next piece
    char *piece;
    size_t length, next; // of the piece; of what was not looked at
    struct buf line;     // the next one, with its newline; empty: there is none
};

static bool next_char(struct lines *l, char *c, shoal_code *code, struct report *r) {
    if (l->next == l->length) {
        uint64_t left = l->size - l->at;
        l->length = (size_t)(left < PIECE ? left : PIECE);
        l->next = 0;
        if (!l->length || *code != SHOAL_OK)
            return false;
        *code = file_read_at(l->fd, l->path, l->at, l->piece, l->length, r);
        if (*code != SHOAL_OK)
            return false;
        l->at += l->length;
    }
    *c = l->piece[l->next++];
    return true;
}

static shoal_code next_line(struct lines *l, struct report *r) {
    shoal_code code = SHOAL_OK;
    bool quoted = false;
    char c = 0;
    l->line.length = 0;
    while ((c != '\n' || quoted) && next_char(l, &c, &code, r)) {
        quoted ^= c == '"';
        buf_putc(&l->line, c);
    }
    if (code == SHOAL_OK && l->line.failed)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", l->path);
    return code;
}

// `path` becomes its own.
static shoal_code open_lines(struct lines *l, char *path, struct report *r) {
    *l = (struct lines){.path = path, .fd = -1, .piece = malloc(PIECE)};
    if (!l->piece)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
    shoal_code code = file_open(path, &l->fd, &l->size, r);
    return code == SHOAL_OK ? next_line(l, r) : code; // the head
}

static void close_lines(struct lines *l) {
    if (l->fd >= 0)
        close(l->fd);
    free(l->piece);
    free(l->path);
    buf_free(&l->line);
    *l = (struct lines){.fd = -1};
}

static size_t run_length(const struct buf *line) {
    const char *comma = line->length ? memchr(line->data, ',', line->length) : NULL;
    return comma ? (size_t)(comma - line->data) : line->length;
}

struct out {
    struct file_part part;
    struct buf text, run;
};

static shoal_code flush(struct out *o, size_t least, struct report *r) {
    if (o->text.failed || o->run.failed)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", o->part.path);
    if (o->text.length < least)
        return SHOAL_OK;
    shoal_code code = file_write(o->part.fd, o->part.part, o->text.data, o->text.length, r);
    o->text.length = 0;
    return code;
}

// The lines of the next row of a shard.
static shoal_code put_row(struct out *o, struct lines *l, struct report *r) {
    size_t n = run_length(&l->line);
    shoal_code code = SHOAL_OK;
    o->run.length = 0;
    buf_put(&o->run, l->line.data, n);
    while (code == SHOAL_OK && l->line.length && run_length(&l->line) == n && !o->run.failed &&
           !memcmp(l->line.data, o->run.data, n)) {
        buf_put(&o->text, l->line.data, l->line.length);
        code = flush(o, PIECE, r);
        if (code == SHOAL_OK)
            code = next_line(l, r);
    }
    return code;
}

// The place of a table; malloc'ed.
static char *table_path(const char *path, const char *word) {
    return word ? csv_side_path(path, word) : strdup(path);
}

// A table of all shards; one is open at a time where they come one after the other.
struct shards {
    const struct merge *merge;
    const char *word;
    struct lines *lines; // [shards]
    struct out *out;
};

// Its first line, the head, is the first of the whole.
static shoal_code open_shard(struct shards *t, uint64_t shard, struct report *r) {
    struct lines *l = &t->lines[shard];
    char *path = table_path(t->merge->shard[shard].path, t->word);
    if (!path)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    shoal_code code = open_lines(l, path, r);
    if (code == SHOAL_OK && shard == 0)
        buf_put(&t->out->text, l->line.data, l->line.length);
    return code == SHOAL_OK ? next_line(l, r) : code;
}

static shoal_code end_shard(struct shards *t, uint64_t shard, struct report *r) {
    struct lines *l = &t->lines[shard];
    shoal_code code =
        l->line.length
            ? report_error(r, SHOAL_INPUT, "%s: has more rows than a shard of that number", l->path)
            : SHOAL_OK;
    close_lines(l);
    return code;
}

// A run that saves the ends of its steps has no line where it stops before the first of them.
static bool has_lines(const struct shards *t, uint64_t row, const struct lines *l) {
    const struct result_list *list = t->merge->list;
    uint32_t run = 0;
    uint64_t number = 0;
    char text[24];
    if (t->word || list->of.kind != SAMPLES_OWN)
        return true;
    while (run < list->count && list->array[run].role != ROLE_RUN)
        run++;
    t->merge->fill(t->merge->user, run, row, 1, &number);
    size_t length = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return run_length(&l->line) == length && !memcmp(l->line.data, text, length);
}

static shoal_code put_rows(struct shards *t, struct report *r) {
    const struct merge *m = t->merge;
    shoal_code code = SHOAL_OK;
    for (uint64_t row = 0; row < m->list->of.rows && code == SHOAL_OK; row++) {
        uint64_t shard, local = merge_find(m, row, &shard);
        struct lines *l = &t->lines[shard];
        if (local == 0)
            code = open_shard(t, shard, r);
        bool some = code == SHOAL_OK && has_lines(t, row, l);
        if (some && !l->line.length)
            code = report_error(r, SHOAL_INPUT, "%s: has fewer rows than a shard of that number",
                                l->path);
        else if (some)
            code = put_row(t->out, l, r);
        if (code == SHOAL_OK && local + 1 == m->shard[shard].rows)
            code = end_shard(t, shard, r);
    }
    return code == SHOAL_OK ? flush(t->out, 0, r) : code;
}

static shoal_code merge_table(const struct merge *m, const char *word, struct out *o,
                              struct report *r) {
    struct shards t = {m, word, calloc((size_t)m->shards, sizeof *t.lines), o};
    char *path = table_path(m->path, word);
    for (uint64_t i = 0; t.lines && i < m->shards; i++)
        t.lines[i].fd = -1;
    shoal_code code = t.lines && path ? file_part_open(&o->part, path, r)
                                      : report_error(r, SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        code = put_rows(&t, r);
    for (uint64_t i = 0; t.lines && i < m->shards; i++)
        close_lines(&t.lines[i]);
    free(t.lines);
    free(path);
    return code;
}

// ---- Looking at a shard -------------------------------------------------------------------------

struct looking {
    uint32_t tables;
    struct table_file {
        int fd;
        uint64_t at, size;
    } * file;
};

static bool look(void *user, const struct journal_range *g) {
    struct looking *l = user;
    for (uint32_t i = 0; i < l->tables; i++)
        if (!journal_same(l->file[i].fd, l->file[i].at, &g->stream[i]))
            return false;
    for (uint32_t i = 0; i < l->tables; i++)
        l->file[i].at += g->stream[i].bytes;
    return true;
}

// Nothing may be behind what the journal tells of.
static shoal_code look_at(struct merge_shard *s, struct looking *l, struct journal_reader *d,
                          struct report *r) {
    struct journal_found found = {0};
    shoal_code code = journal_find(d, l->tables, look, l, &found, r);
    bool good = found.ranges == found.told && found.there.rows <= s->rows;
    for (uint32_t i = 0; i < l->tables; i++)
        good = good && l->file[i].at == l->file[i].size;
    if (code == SHOAL_OK && !good)
        code = report_error(r, SHOAL_INPUT,
                            "%s: is not what its journal says; run that shard again", s->path);
    s->done = found.there.rows;
    journal_found_free(&found);
    return code;
}

shoal_code csv_look(struct merge *m, uint64_t shard, struct journal_reader *d, struct report *r) {
    struct merge_shard *s = &m->shard[shard];
    const char **word = calloc((size_t)m->list->count + 2, sizeof *word);
    struct looking l = {.tables = word ? csv_tables(m->list, word) : 0};
    l.file = calloc((size_t)l.tables + 1, sizeof *l.file);
    shoal_code code =
        l.tables && l.file ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; l.file && i < l.tables; i++)
        l.file[i].fd = -1;
    for (uint32_t i = 0; i < l.tables && code == SHOAL_OK; i++) {
        char *path = table_path(s->path, word[i]);
        code = path ? file_open(path, &l.file[i].fd, &l.file[i].size, r)
                    : report_error(r, SHOAL_MEMORY, "out of memory");
        free(path);
    }
    if (code == SHOAL_OK)
        code = look_at(s, &l, d, r);
    for (uint32_t i = 0; l.file && i < l.tables; i++)
        if (l.file[i].fd >= 0)
            close(l.file[i].fd);
    free(l.file);
    free(word);
    return code;
}

// ---- All of it ----------------------------------------------------------------------------------

// A line has no words for a row that is not there.
static shoal_code check_whole(const struct merge *m, struct report *r) {
    for (uint64_t i = 0; i < m->shards; i++)
        if (!m->shard[i].path || m->shard[i].done < m->shard[i].rows)
            return report_error(r, SHOAL_INPUT,
                                "shards in CSV are merged only when all are there and complete");
    return SHOAL_OK;
}

shoal_code csv_merge(const struct merge *m, struct report *r) {
    const char **word = calloc((size_t)m->list->count + 2, sizeof *word);
    uint32_t tables = word ? csv_tables(m->list, word) : 0;
    struct out *o = calloc((size_t)tables + 1, sizeof *o);
    shoal_code code =
        tables && o ? check_whole(m, r) : report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; o && i < tables; i++)
        o[i].part.fd = -1;
    for (uint32_t i = 0; i < tables && code == SHOAL_OK; i++)
        code = merge_table(m, word[i], &o[i], r);
    for (uint32_t i = tables; i-- > 0 && code == SHOAL_OK;)
        code = file_part_commit(&o[i].part, r);
    for (uint32_t i = 0; o && i < tables; i++) {
        file_part_discard(&o[i].part);
        buf_free(&o[i].text);
        buf_free(&o[i].run);
    }
    free(o);
    free(word);
    return code;
}
