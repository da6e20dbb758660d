// SPDX-License-Identifier: MIT
// See merge.h. Rows go to a sink in blocks, in order.
#include "io/merge.h"

#include "base/file.h"
#include "io/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_ROWS = 4096, BLOCK_BYTES = 16 << 20 };

// ---- Which rows ---------------------------------------------------------------------------------

static uint64_t border(uint64_t rows, uint64_t shard, uint64_t shards) {
    return (uint64_t)((unsigned __int128)rows * shard / shards);
}

uint64_t merge_find(const struct merge *m, uint64_t row, uint64_t *shard) {
    uint64_t rows = m->list->of.rows;
    if (m->strided) {
        *shard = row % m->shards;
        return row / m->shards;
    }
    uint64_t low = 0, high = m->shards;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (border(rows, middle, m->shards) <= row)
            low = middle;
        else
            high = middle;
    }
    *shard = low;
    return row - border(rows, low, m->shards);
}

// ---- A shard ------------------------------------------------------------------------------------

struct looking {
    const struct merge *merge;
    struct merge_shard *shard;
    uint64_t *at; // [streams] bytes so far
};

// The first array begins with a number that is no part of a range.
static uint64_t lead_of(const struct merge *m, uint32_t i) {
    return m->list->array[i].axes == AXES_OFFSETS ? sizeof(uint64_t) : 0;
}

// Texts are known without the file, and are not looked at.
static bool look(void *user, const struct journal_range *g) {
    struct looking *l = user;
    const struct merge *m = l->merge;
    for (uint32_t i = 0; i < g->streams; i++) {
        uint64_t start = l->shard->start[i];
        if (m->list->array[i].type == TYPE_TEXT || !g->stream[i].bytes)
            continue;
        if (start == UINT64_MAX ||
            !journal_same(l->shard->fd, start + lead_of(m, i) + l->at[i], &g->stream[i]))
            return false;
        l->at[i] += g->stream[i].bytes;
    }
    return true;
}

static bool pass(void *user, const struct journal_range *g) {
    (void)user;
    return g->rows > 0;
}

static struct result_list list_of_shard(const struct merge *m, const struct merge_shard *s) {
    struct result_list list = *m->list;
    list.of.rows = s->rows;
    return list;
}

// Two passes over the journal: how much there is, which says where it is, and whether it is good.
static shoal_code look_at(struct merge *m, struct merge_shard *s, const struct io_format *f,
                          struct journal_reader *d, struct report *r) {
    struct result_list list = list_of_shard(m, s);
    struct journal_found told = {0}, found = {0};
    uint64_t at = d->at, *bytes = calloc((size_t)list.count + 1, sizeof *bytes);
    uint32_t crc = d->crc;
    s->start = calloc((size_t)list.count + 1, sizeof *s->start);
    shoal_code code = bytes && s->start ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        code = journal_find(d, list.count, pass, NULL, &told, r);
    if (code == SHOAL_OK)
        code = f->places(m->path, &list, told.stream, s->start, r);
    d->at = at;
    d->crc = crc;
    struct looking l = {m, s, bytes};
    if (code == SHOAL_OK)
        code = journal_find(d, list.count, look, &l, &found, r);
    if (code == SHOAL_OK && (found.ranges != told.told || found.there.rows > s->rows))
        code = report_error(r, SHOAL_INPUT,
                            "%s: is not what its journal says; run that shard again", s->path);
    s->done = found.there.rows;
    journal_found_free(&told);
    journal_found_free(&found);
    free(bytes);
    return code;
}

static void close_shard(struct merge_shard *s) {
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

// Opens one again that was looked at, which must be the same.
static shoal_code open_again(struct merge *m, uint64_t shard, struct report *r) {
    struct merge_shard *s = &m->shard[shard];
    struct stat now;
    uint64_t size;
    if (s->fd >= 0)
        return SHOAL_OK;
    close_shard(&m->shard[m->open]);
    m->open = shard;
    shoal_code code = file_open(s->path, &s->fd, &size, r);
    if (code == SHOAL_OK &&
        (fstat(s->fd, &now) < 0 || now.st_dev != s->device || now.st_ino != s->inode))
        code = report_error(r, SHOAL_IO, "%s: was replaced meanwhile", s->path);
    return code;
}

shoal_code merge_open(struct merge *m, uint64_t shard, struct journal_reader *d, struct report *r) {
    struct merge_shard *s = &m->shard[shard];
    const struct io_format *f = io_format_readable(s->path, r);
    uint64_t size;
    if (!f)
        return SHOAL_INPUT;
    if (f->look)
        return f->look(m, shard, d, r);
    struct stat now;
    shoal_code code = file_open(s->path, &s->fd, &size, r);
    if (code == SHOAL_OK && fstat(s->fd, &now) == 0) {
        s->device = now.st_dev;
        s->inode = now.st_ino;
    }
    if (code == SHOAL_OK)
        code = look_at(m, s, f, d, r);
    if (!m->strided)
        close_shard(s);
    return code;
}

void merge_close(struct merge *m) {
    for (uint64_t i = 0; m->shard && i < m->shards; i++) {
        close_shard(&m->shard[i]);
        free(m->shard[i].start);
    }
    free(m->shard);
    m->shard = NULL;
}

// ---- Blocks of rows -----------------------------------------------------------------------------

struct block {
    struct merge *merge;
    uint64_t row, rows;
    void **data;              // [arrays]
    size_t *room;             // [arrays] bytes of them
    struct result_view *view; // [arrays]
    uint64_t *offsets;        // [BLOCK_ROWS + 1]
    uint64_t *begin;          // [BLOCK_ROWS] where samples of a row begin in its shard
};

static bool make_room(struct block *b, uint32_t array, uint64_t bytes) {
    if (bytes <= b->room[array])
        return true;
    void *bigger = bytes > SIZE_MAX / 2 ? NULL : realloc(b->data[array], (size_t)bytes);
    if (bigger) {
        b->data[array] = bigger;
        b->room[array] = (size_t)bytes;
    }
    return bigger != NULL;
}

// Bytes of a shard from a place of an array on.
static shoal_code read_bytes(const struct block *b, uint64_t shard, uint32_t array, uint64_t at,
                             void *out, uint64_t bytes, struct report *r) {
    const struct merge_shard *s = &b->merge->shard[shard];
    shoal_code code = open_again(b->merge, shard, r);
    if (code != SHOAL_OK)
        return code;
    return file_read_at(s->fd, s->path, s->start[array] + at, out, (size_t)bytes, r);
}

// Calls for each stretch of rows that lie together in a shard, or are missing.
typedef shoal_code stretch_call(struct block *b, uint32_t array, uint64_t row, uint64_t rows,
                                uint64_t shard, uint64_t local, bool there, struct report *r);

static shoal_code each_stretch(struct block *b, uint32_t array, stretch_call *call,
                               struct report *r) {
    const struct merge *m = b->merge;
    shoal_code code = SHOAL_OK;
    for (uint64_t i = 0, n; i < b->rows && code == SHOAL_OK; i += n) {
        uint64_t shard, local = merge_find(m, b->row + i, &shard);
        const struct merge_shard *s = &m->shard[shard];
        bool there = s->path && local < s->done;
        uint64_t left = b->rows - i, end = there ? s->done : s->rows;
        n = m->strided ? 1 : left < end - local ? left : end - local;
        code = call(b, array, i, n, shard, local, there, r);
    }
    return code;
}

static void fill_missing(const struct result_array *a, void *out, uint64_t count) {
    if (a->role == ROLE_STATUS)
        memset(out, SHOAL_STATUS_PENDING, (size_t)count);
    else if (a->type == TYPE_F32)
        for (uint64_t i = 0; i < count; i++)
            ((float *)out)[i] = (float)NAN;
    else if (a->type == TYPE_F64 || a->type == TYPE_TIME)
        for (uint64_t i = 0; i < count; i++)
            ((double *)out)[i] = (double)NAN;
    else
        memset(out, 0, (size_t)count * result_type_bytes(a->type));
}

static bool is_known(const struct result_array *a) {
    return a->role == ROLE_RUN || a->role == ROLE_INPUT;
}

static shoal_code read_rows(struct block *b, uint32_t array, uint64_t row, uint64_t rows,
                            uint64_t shard, uint64_t local, bool there, struct report *r) {
    const struct merge *m = b->merge;
    const struct result_array *a = &m->list->array[array];
    uint64_t width = result_width(m->list, a), size = result_type_bytes(a->type);
    void *out = (char *)b->data[array] + row * width * size;
    if (a->type == TYPE_TEXT || (!there && is_known(a)))
        m->fill(m->user, array, b->row + row, rows, out);
    else if (!there)
        fill_missing(a, out, rows * width);
    else
        return read_bytes(b, shard, array, local * width * size, out, rows * width * size, r);
    return SHOAL_OK;
}

// How many samples rows have, and where they begin.
static shoal_code read_counts(struct block *b, uint32_t array, uint64_t row, uint64_t rows,
                              uint64_t shard, uint64_t local, bool there, struct report *r) {
    uint64_t *pair = malloc((size_t)(rows + 1) * sizeof *pair);
    shoal_code code = !pair   ? report_error(r, SHOAL_MEMORY, "out of memory")
                      : there ? read_bytes(b, shard, array, local * sizeof *pair, pair,
                                           (rows + 1) * sizeof *pair, r)
                              : SHOAL_OK;
    for (uint64_t i = 0; i < rows && code == SHOAL_OK; i++) {
        if (there && pair[i + 1] < pair[i])
            code = report_error(r, SHOAL_INPUT, "%s: offsets go back", b->merge->shard[shard].path);
        b->begin[row + i] = there ? pair[i] : 0;
        b->offsets[row + i + 1] = there ? pair[i + 1] - pair[i] : 0;
    }
    free(pair);
    return code;
}

static shoal_code read_flat(struct block *b, uint32_t array, uint64_t row, uint64_t rows,
                            uint64_t shard, uint64_t local, bool there, struct report *r) {
    uint64_t size = result_type_bytes(b->merge->list->array[array].type);
    uint64_t count = b->offsets[row + rows] - b->offsets[row];
    (void)local;
    return there ? read_bytes(b, shard, array, b->begin[row] * size,
                              (char *)b->data[array] + b->offsets[row] * size, count * size, r)
                 : SHOAL_OK;
}

static shoal_code read_offsets(struct block *b, uint32_t array, struct report *r) {
    b->offsets[0] = 0;
    shoal_code code = each_stretch(b, array, read_counts, r);
    for (uint64_t i = 0; i < b->rows && code == SHOAL_OK; i++)
        if (__builtin_add_overflow(b->offsets[i + 1], b->offsets[i], &b->offsets[i + 1]))
            code = report_error(r, SHOAL_INPUT, "a shard has more samples than there can be");
    return code;
}

static shoal_code read_array(struct block *b, uint32_t array, struct report *r) {
    const struct result_list *list = b->merge->list;
    const struct result_array *a = &list->array[array];
    uint64_t width = result_width(list, a);
    uint64_t count = a->axes == AXES_FLAT ? b->offsets[b->rows] : b->rows * width;
    if (a->axes == AXES_GRID || a->axes == AXES_OFFSETS)
        return SHOAL_OK;
    size_t size = a->type == TYPE_TEXT ? sizeof(char *) : result_type_bytes(a->type);
    if (!make_room(b, array, (count + 1) * size))
        return report_error(r, SHOAL_MEMORY, "out of memory");
    b->view[array] = (struct result_view){b->data[array], (size_t)width, 1};
    return each_stretch(b, array, a->axes == AXES_FLAT ? read_flat : read_rows, r);
}

static shoal_code put_block(struct block *b, struct sink *sink, struct report *r) {
    const struct result_list *list = b->merge->list;
    const struct result_array *offsets = result_list_ours(list, FIELD_offsets);
    shoal_code code = SHOAL_OK;
    if (offsets)
        code = read_offsets(b, (uint32_t)(offsets - list->array), r);
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++)
        code = read_array(b, i, r);
    struct result_chunk c = {.first_row = b->row,
                             .rows = (uint32_t)b->rows,
                             .offsets = offsets ? b->offsets : NULL,
                             .view = b->view};
    return code == SHOAL_OK ? sink->chunk(sink, &c, r) : code;
}

// Rows of a block: as many as there is memory for.
static uint64_t rows_of_block(const struct result_list *list) {
    uint64_t bytes = 1;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].axes != AXES_GRID)
            bytes += result_width(list, &list->array[i]) * result_type_bytes(list->array[i].type);
    uint64_t rows = BLOCK_BYTES / bytes;
    return rows < 1 ? 1 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
}

static shoal_code put_blocks(struct merge *m, struct sink *sink, struct report *r) {
    size_t arrays = (size_t)m->list->count + 1;
    struct block b = {.merge = m,
                      .data = calloc(arrays, sizeof *b.data),
                      .room = calloc(arrays, sizeof *b.room),
                      .view = calloc(arrays, sizeof *b.view),
                      .offsets = calloc(BLOCK_ROWS + 1, sizeof *b.offsets),
                      .begin = calloc(BLOCK_ROWS + 1, sizeof *b.begin)};
    shoal_code code = b.data && b.room && b.view && b.offsets && b.begin
                          ? SHOAL_OK
                          : report_error(r, SHOAL_MEMORY, "out of memory");
    uint64_t each = rows_of_block(m->list), rows = m->list->of.rows;
    for (; b.row < rows && code == SHOAL_OK; b.row += b.rows) {
        b.rows = rows - b.row < each ? rows - b.row : each;
        code = put_block(&b, sink, r);
    }
    for (uint32_t i = 0; b.data && i < m->list->count; i++)
        free(b.data[i]);
    free(b.data);
    free(b.room);
    free(b.view);
    free(b.offsets);
    free(b.begin);
    return code;
}

// ---- All of it ----------------------------------------------------------------------------------

static bool is_whole(const struct merge *m) {
    for (uint64_t i = 0; i < m->shards; i++)
        if (!m->shard[i].path || m->shard[i].done < m->shard[i].rows)
            return false;
    return true;
}

shoal_code merge_write(struct merge *m, bool *whole, struct report *r) {
    const char *first = NULL;
    for (uint64_t i = 0; i < m->shards && !first; i++)
        first = m->shard[i].path;
    const struct io_format *f = first ? io_format_readable(first, r) : NULL;
    struct sink *sink = NULL;
    struct result_list list = *m->list;
    *whole = is_whole(m);
    if (f && f->merge)
        return f->merge(m, r);
    shoal_code code = f ? io_sink_new(m->path, 1, &sink, r) : SHOAL_INPUT;
    if (code == SHOAL_OK)
        code = sink->begin(sink, &list, r);
    if (code == SHOAL_OK)
        code = put_blocks(m, sink, r);
    if (code == SHOAL_OK)
        code = sink->end(sink, *whole, r);
    if (sink)
        sink->free(sink);
    return code;
}
