// SPDX-License-Identifier: MIT
// See placed.h.
#include "io/placed.h"

#include "io/npy.h"
#include "io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 20 }; // of a text, at most; and about that many are written at once

static shoal_code no_memory(const struct placed *p, struct report *r) {
    return report_error(r, SHOAL_MEMORY, "%s: not enough memory", p->path);
}

bool placed_waits(const struct result_array *a) {
    return a->type == TYPE_TEXT || a->axes == AXES_FLAT;
}

bool placed_has_place(const struct result_array *a) {
    return !placed_waits(a) && a->axes != AXES_GRID;
}

uint64_t placed_bytes(const struct placed *p, uint32_t array) {
    const struct result_list *list = p->pieces.list;
    const struct result_array *a = &list->array[array];
    return result_length(a, list->of.rows, 0) * result_width(list, a) * result_type_bytes(a->type);
}

static const struct result_array *array_of(const struct placed *p, uint32_t i) {
    return &p->pieces.list->array[i];
}

static int file_of(const struct placed *p, uint32_t array) {
    return p->array[array].spool >= 0 ? p->array[array].spool : p->part.fd;
}

// ---- Begin --------------------------------------------------------------------------------------

void placed_init(struct placed *p, const char *path) {
    *p = (struct placed){.path = path, .part.fd = -1, .journal.fd = -1};
}

shoal_code placed_begin(struct placed *p, const struct journal_order *order,
                        const struct result_list *list, struct report *r) {
    p->order = order;
    p->arrays = list->count;
    p->array = calloc((size_t)p->arrays + 1, sizeof *p->array);
    for (uint32_t i = 0; p->array && i < p->arrays; i++)
        p->array[i].spool = -1;
    shoal_code code = pieces_begin(&p->pieces, list, p->path, r);
    return code == SHOAL_OK && !p->array ? no_memory(p, r) : code;
}

static shoal_code open_spools(struct placed *p, bool keep, struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < p->arrays && code == SHOAL_OK; i++)
        if (placed_waits(array_of(p, i))) {
            char name[16];
            snprintf(name, sizeof name, "%u", i + 1);
            code = file_beside(&p->part, name, keep, &p->array[i].spool, r);
        }
    return code;
}

static void remove_spools(const struct placed *p) {
    char name[16];
    for (uint32_t i = 0; p->name && p->array && i < p->arrays; i++)
        if (p->array[i].spool >= 0) {
            snprintf(name, sizeof name, "%u", i + 1);
            file_beside_remove(p->name, name);
        }
}

shoal_code placed_open(struct placed *p, uint64_t bytes, struct journal_reader *d, bool *found,
                       struct report *r) {
    shoal_code code = journal_take(d, p->order, p->path, &p->part, found, r);
    p->again = *found;
    if (code == SHOAL_OK && !*found)
        code = file_part_open(&p->part, p->path, r);
    if (code == SHOAL_OK && !*found)
        code = file_check_space(p->path, bytes, r);
    if (code == SHOAL_OK && !(p->name = strdup(p->part.part)))
        code = no_memory(p, r);
    return code == SHOAL_OK ? open_spools(p, *found, r) : code;
}

// Rows from `first` on are not done.
static shoal_code put_pending(struct placed *p, uint64_t first, struct report *r) {
    const unsigned char pending = SHOAL_STATUS_PENDING;
    uint64_t rows = p->pieces.list->of.rows;
    for (uint32_t i = 0; i < p->arrays; i++)
        if (array_of(p, i)->role == ROLE_STATUS && first < rows)
            return file_fill(p->part.fd, p->part.part, p->array[i].start + first, rows - first,
                             &pending, sizeof pending, r);
    return SHOAL_OK;
}

// Where the first run begins is known before, and no part of a range.
static shoal_code put_zero(struct placed *p, struct report *r) {
    const uint64_t zero = 0;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < p->arrays && code == SHOAL_OK; i++)
        if (array_of(p, i)->axes == AXES_OFFSETS)
            code =
                file_write_at(p->part.fd, p->part.part, p->array[i].start, &zero, sizeof zero, r);
    return code;
}

static void skip_zero(struct placed *p) {
    const uint64_t zero = 0;
    for (uint32_t i = 0; i < p->arrays; i++)
        if (array_of(p, i)->axes == AXES_OFFSETS) {
            p->array[i].bytes = sizeof zero;
            p->array[i].crc = zip_crc(0, &zero, sizeof zero);
        }
}

// ---- Again --------------------------------------------------------------------------------------

// Whether a range of an array has the bytes that it must have, where that is known.
static bool is_length(const struct placed *p, uint32_t i, const struct journal_range *g) {
    const struct result_array *a = array_of(p, i);
    uint64_t bytes, rows = a->axes == AXES_FLAT ? g->samples : g->rows;
    if (a->type == TYPE_TEXT)
        return true;
    if (a->axes == AXES_GRID)
        return g->stream[i].bytes == 0;
    uint64_t width = result_width(p->pieces.list, a) * result_type_bytes(a->type);
    return !__builtin_mul_overflow(rows, width, &bytes) && bytes == g->stream[i].bytes;
}

static bool look(void *user, const struct journal_range *g) {
    struct placed *p = user;
    if (g->rows > p->pieces.list->of.rows - g->first)
        return false;
    for (uint32_t i = 0; i < p->arrays; i++)
        if (!is_length(p, i, g) ||
            !journal_same(file_of(p, i), p->array[i].start + p->array[i].bytes, &g->stream[i]))
            return false;
    for (uint32_t i = 0; i < p->arrays; i++)
        p->array[i].bytes += g->stream[i].bytes;
    return true;
}

static void take_found(struct placed *p, const struct journal_found *f) {
    for (uint32_t i = 0; i < p->arrays; i++) {
        struct placed_array *a = &p->array[i];
        a->crc = zip_crc_join(a->crc, f->stream[i].crc, f->stream[i].bytes);
        a->width = f->stream[i].width;
    }
    p->pieces.rows_done = f->there.rows;
    p->pieces.flat_done = f->samples;
}

static shoal_code start_again(struct placed *p, struct journal_reader *d, struct sink_there *there,
                              struct report *r) {
    struct journal_found found = {0};
    struct file_part *const part[] = {&p->part};
    shoal_code code = journal_resume(&p->journal, d, p->order, p->pieces.list, p->arrays, part, 1,
                                     look, p, &found, r);
    if (code == SHOAL_OK)
        code = put_zero(p, r);
    if (code == SHOAL_OK)
        code = put_pending(p, found.there.rows, r);
    if (code == SHOAL_OK)
        take_found(p, &found);
    *there = found.there;
    journal_found_free(&found);
    return code;
}

static shoal_code start_new(struct placed *p, struct report *r) {
    shoal_code code = put_pending(p, 0, r);
    if (code == SHOAL_OK)
        code = put_zero(p, r);
    return code == SHOAL_OK
               ? journal_begin(&p->journal, p->order, p->pieces.list, p->arrays, p->part.part, r)
               : code;
}

shoal_code placed_start(struct placed *p, struct journal_reader *d, bool found,
                        struct sink_there *there, struct report *r) {
    int file[JOURNAL_FILES] = {p->part.fd};
    uint32_t files = 1;
    skip_zero(p);
    shoal_code code = found ? start_again(p, d, there, r) : start_new(p, r);
    for (uint32_t i = 0; i < p->arrays && files < JOURNAL_FILES; i++)
        if (p->array[i].spool >= 0)
            file[files++] = p->array[i].spool;
    if (code == SHOAL_OK)
        journal_watch(&p->journal, file, files, r);
    return code;
}

// ---- Chunks -------------------------------------------------------------------------------------

static shoal_code put_bytes(struct placed *p, uint32_t array, const void *data, size_t length,
                            struct report *r) {
    struct placed_array *a = &p->array[array];
    shoal_code code =
        file_write_at(file_of(p, array), p->part.part, a->start + a->bytes, data, length, r);
    journal_put(&p->journal, array, data, length);
    a->bytes += length;
    return code;
}

// Waiting text: length in 4 bytes of this machine, then the bytes.
static shoal_code put_texts(struct placed *p, uint32_t array, const struct piece *piece,
                            struct report *r) {
    struct placed_array *a = &p->array[array];
    const char *const *text = piece->data;
    for (uint64_t i = 0; i < piece->rows; i++) {
        const char *item = text && text[i] ? text[i] : "";
        uint32_t length = (uint32_t)strnlen(item, TEXT_BYTES);
        uint64_t width = npy_text_width(item, length);
        a->width = width > a->width ? width : a->width;
        buf_put(&p->text, &length, sizeof length);
        buf_put(&p->text, item, length);
        if (p->text.failed)
            return no_memory(p, r);
        if (p->text.length >= TEXT_BYTES || i + 1 == piece->rows) {
            shoal_code code = put_bytes(p, array, p->text.data, p->text.length, r);
            p->text.length = 0;
            if (code != SHOAL_OK)
                return code;
        }
    }
    journal_width(&p->journal, array, a->width);
    return SHOAL_OK;
}

// Pieces of an array come in file order, so they are simply appended.
static shoal_code put_piece(void *user, uint32_t array, const struct piece *piece,
                            struct report *r) {
    struct placed *p = user;
    enum result_type type = array_of(p, array)->type;
    if (type == TYPE_TEXT)
        return put_texts(p, array, piece, r);
    size_t length = (size_t)(piece->rows * piece->samples * result_type_bytes(type));
    if (p->there && p->there[array].is) {
        journal_there(&p->journal, array, p->there[array].crc, length);
        p->array[array].bytes += length;
        return SHOAL_OK;
    }
    return put_bytes(p, array, piece->data, length, r);
}

shoal_code placed_chunk(struct placed *p, const struct result_chunk *c, struct report *r) {
    uint64_t first = p->pieces.rows_done;
    p->there = c->there;
    shoal_code code = pieces_chunk(&p->pieces, c, put_piece, p, r);
    for (uint32_t i = 0; i < p->arrays; i++)
        p->array[i].crc =
            zip_crc_join(p->array[i].crc, p->journal.stream[i].crc, p->journal.stream[i].bytes);
    return code == SHOAL_OK && c->rows ? journal_range(&p->journal, c, first, r) : code;
}

// ---- End ----------------------------------------------------------------------------------------

// Reads the waiting text from `*at` on, which moves on.
static shoal_code next_text(struct placed *p, uint32_t array, uint64_t *at, struct buf *block,
                            uint64_t *block_at, const char **text, uint32_t *length,
                            struct report *r) {
    const struct placed_array *a = &p->array[array];
    for (int tries = 0; tries < 2; tries++) {
        uint64_t have = *block_at + block->length - *at;
        if (have >= sizeof *length) {
            memcpy(length, block->data + (*at - *block_at), sizeof *length);
            if (have - sizeof *length >= *length)
                break;
        }
        uint64_t left = a->bytes - *at;
        size_t want = (size_t)(left < 2 * TEXT_BYTES ? left : 2 * TEXT_BYTES);
        block->length = want; // the block holds 2 * TEXT_BYTES, more than the longest text
        *block_at = *at;
        shoal_code code = file_read_at(a->spool, p->part.part, *at, block->data, want, r);
        if (code != SHOAL_OK)
            return code;
        if (want < sizeof *length) // a file that somebody else has changed
            return report_error(r, SHOAL_IO, "%s: a file beside it ends too early", p->part.part);
    }
    if (*length > TEXT_BYTES || *length > *block_at + block->length - *at - sizeof *length)
        return report_error(r, SHOAL_IO, "%s: a file beside it is damaged", p->part.part);
    *text = block->data + (*at - *block_at) + sizeof *length;
    *at += sizeof *length + *length;
    return SHOAL_OK;
}

shoal_code placed_texts(struct placed *p, uint32_t array, placed_text *call, void *user,
                        struct report *r) {
    struct buf block = {.data = malloc(2 * TEXT_BYTES)};
    uint64_t at = 0, block_at = 0;
    shoal_code code = block.data ? SHOAL_OK : no_memory(p, r);
    for (uint64_t row = 0; row < p->pieces.rows_done && code == SHOAL_OK; row++) {
        const char *text = "";
        uint32_t length = 0;
        code = next_text(p, array, &at, &block, &block_at, &text, &length, r);
        if (code == SHOAL_OK)
            code = call(user, text, length, r);
    }
    free(block.data);
    return code;
}

shoal_code placed_commit(struct placed *p, bool complete, struct report *r) {
    shoal_code code = file_part_sync(&p->part, r);
    if (code == SHOAL_OK)
        code = journal_seal(&p->journal, p->part.path, complete, r);
    if (code == SHOAL_OK)
        code = file_part_commit(&p->part, r);
    if (code != SHOAL_OK)
        return code;
    journal_end(&p->journal, complete);
    if (complete || !p->order)
        remove_spools(p);
    return SHOAL_OK;
}

void placed_free(struct placed *p) {
    bool made = p->part.fd < 0, kept = journal_close(&p->journal) || p->again;
    if (!made && !kept)
        remove_spools(p);
    (kept ? file_part_leave : file_part_discard)(&p->part);
    for (uint32_t i = 0; p->array && i < p->arrays; i++)
        if (p->array[i].spool >= 0)
            close(p->array[i].spool);
    pieces_free(&p->pieces);
    buf_free(&p->text);
    free(p->array);
    free(p->name);
}
