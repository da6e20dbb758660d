// SPDX-License-Identifier: MIT
// Reads journals, which may be damaged or anybody's: line by line, as far as they are good.
#include "base/json.h"
#include "io/formats.h"
#include "io/journal.h"
#include "io/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 1 << 16,
    LINE_MOST = 256 << 20, // a model may be long
    END_BYTES = 10,        // " #12345678"
};

#define PART ".part"
#define JOURNAL ".journal"

// ---- Files --------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

// The places where the journal of a result may be, from 0; NULL: there are no more, or no memory.
static char *place_at(const char *path, int place) {
    char *out = NULL;
    int bare = (int)strlen(path);
    if (ends_with(path, JOURNAL))
        return place ? NULL : strdup(path);
    if (ends_with(path, PART))
        bare -= (int)strlen(PART);
    if (place > 1 || asprintf(&out, "%.*s%s" JOURNAL, bare, path, place ? "" : PART) < 0)
        return NULL;
    return out;
}

shoal_code journal_open(struct journal_reader *d, const char *path, bool *found, struct report *r) {
    *d = (struct journal_reader){.fd = -1};
    *found = false;
    for (int i = 0; !*found && (d->path = place_at(path, i)); i++) {
        struct stat s;
        *found = stat(d->path, &s) == 0;
        if (!*found)
            free(d->path);
    }
    if (!*found) {
        d->path = NULL;
        return SHOAL_OK;
    }
    d->block = malloc(BLOCK_BYTES);
    if (!d->block)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", d->path);
    return file_open(d->path, &d->fd, &d->size, r);
}

void journal_reader_close(struct journal_reader *d) {
    if (d->fd >= 0)
        close(d->fd);
    buf_free(&d->line);
    free(d->block);
    free(d->path);
    *d = (struct journal_reader){.fd = -1};
}

// ---- Lines --------------------------------------------------------------------------------------

// The bytes from `at` on that are in memory, or are then; 0: there are no more.
static size_t bytes_at(struct journal_reader *d, uint64_t at, const char **bytes) {
    if (at >= d->size)
        return 0;
    if (at < d->block_at || at >= d->block_at + d->block_length) {
        size_t n = d->size - at < BLOCK_BYTES ? (size_t)(d->size - at) : BLOCK_BYTES;
        d->block_length = 0;
        if (file_read_at(d->fd, d->path, at, d->block, n, NULL) != SHOAL_OK)
            return 0;
        d->block_at = at;
        d->block_length = n;
    }
    *bytes = d->block + (at - d->block_at);
    return (size_t)(d->block_at + d->block_length - at);
}

// A line up to its newline, which is left out; false: there is no whole one.
static bool read_line(struct journal_reader *d, uint64_t *end) {
    const char *bytes = NULL;
    d->line.length = 0;
    for (uint64_t at = d->at; d->line.length < LINE_MOST;) {
        size_t n = bytes_at(d, at, &bytes);
        const char *newline = n ? memchr(bytes, '\n', n) : NULL;
        size_t part = newline ? (size_t)(newline - bytes) : n;
        buf_put(&d->line, bytes, part);
        at += part;
        if (newline) {
            *end = at + 1;
            return !d->line.failed;
        }
        if (!n)
            return false;
    }
    return false;
}

static bool read_hex(const char *text, size_t digits, uint32_t *out) {
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *all = "0123456789abcdef", *digit = text[i] ? strchr(all, text[i]) : NULL;
        if (!digit)
            return false;
        *out = *out << 4 | (uint32_t)(digit - all);
    }
    return true;
}

// Texts end with a zero byte here, so that a line with one is not good.
bool journal_next(struct journal_reader *d) {
    uint64_t end;
    uint32_t crc;
    if (!read_line(d, &end) || d->line.length < END_BYTES ||
        memchr(d->line.data, 0, d->line.length))
        return false;
    size_t length = d->line.length - END_BYTES;
    const char *tail = d->line.data + length;
    if (memcmp(tail, " #", 2) || !read_hex(tail + 2, 8, &crc) ||
        zip_crc(d->crc, d->line.data, length + 1) != crc)
        return false;
    d->line.data[length] = 0;
    d->line.length = length;
    d->crc = crc;
    d->at = end;
    return true;
}

// ---- What a line says ---------------------------------------------------------------------------

// Moves on behind the word and a blank.
static bool skip_word(const char **at, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*at, word, n) || (*at)[n] != ' ')
        return false;
    *at += n + 1;
    return true;
}

static bool skip_char(const char **at, char c) {
    bool is = **at == c;
    *at += is;
    return is;
}

static bool read_number(const char **at, uint64_t *out) {
    const char *start = *at;
    *out = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(**at - '0'), out))
            return false;
    return *at > start;
}

bool journal_read_fact(const struct journal_reader *d, const char *word, struct arena *arena,
                       struct journal_fact *out) {
    const char *at = d->line.data;
    if (!skip_word(&at, word))
        return false;
    size_t n = strcspn(at, " ");
    struct json j;
    json_open_text(&j, at + n, strlen(at + n));
    bool good = at[n] && json_next(&j) == JSON_TEXT;
    if (good) {
        out->name = arena_strndup(arena, at, n);
        out->value = arena_strdup(arena, j.text.data);
    }
    json_close(&j);
    return good && out->name && out->value;
}

bool journal_read_time(const struct journal_reader *d, const char *word, uint64_t *out) {
    const char *at = d->line.data;
    return skip_word(&at, word) && read_number(&at, out) && !*at;
}

const char *journal_read_meta(const struct journal_reader *d) {
    const char *at = d->line.data;
    return skip_word(&at, "meta") ? at : NULL;
}

static bool read_counts(const char **at, struct journal_range *out) {
    uint64_t rows = 0;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++) {
        if ((i && !skip_char(at, ',')) || !read_number(at, &out->by_status[i]))
            return false;
        if (out->by_status[i] && (!skip_char(at, '@') || !read_number(at, &out->first_run[i])))
            return false;
        if (__builtin_add_overflow(rows, out->by_status[i], &rows))
            return false;
    }
    return rows == out->rows && skip_char(at, ' ');
}

static bool read_stream(const char **at, struct journal_stream *out) {
    uint64_t width;
    if (!read_number(at, &out->bytes) || !skip_char(at, ':') || strnlen(*at, 8) < 8 ||
        !read_hex(*at, 8, &out->crc))
        return false;
    *at += 8;
    if (!skip_char(at, ':') || !read_number(at, &width) || width > UINT32_MAX)
        return false;
    out->width = (uint32_t)width;
    return true;
}

bool journal_read_range(const struct journal_reader *d, uint32_t streams,
                        struct journal_range *out) {
    const char *at = d->line.data;
    uint64_t *const numbers[] = {&out->first, &out->rows,     &out->samples, &out->time,
                                 &out->steps, &out->rejected, &out->f_evals};
    if (!skip_word(&at, "range"))
        return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!read_number(&at, numbers[i]) || !skip_char(&at, ' '))
            return false;
    if (!out->rows || !read_counts(&at, out))
        return false;
    for (uint32_t i = 0; i < streams; i++)
        if ((i && !skip_char(&at, ',')) || !read_stream(&at, &out->stream[i]))
            return false;
    return streams == 0 || !*at; // whoever does not know them does not look
}

// ---- The same job -------------------------------------------------------------------------------

static const struct journal_fact *fact_of(const struct journal_order *order, const char *name) {
    for (uint32_t i = 0; i < order->is_count; i++)
        if (!strcmp(order->is[i].name, name))
            return &order->is[i];
    return NULL;
}

// Digests say nothing to people.
static bool is_digest(const char *value) {
    return strlen(value) == 64 && strspn(value, "0123456789abcdef") == 64;
}

static shoal_code tell_difference(const struct journal_reader *d, const char *name, const char *was,
                                  const char *is, struct report *r) {
    if (!strcmp(name, JOURNAL_KEY))
        return report_error(
            r, SHOAL_INPUT,
            "%s: cannot go on: the kernel is another one now (device, CPU, compiler "
            "or version), so that last digits may differ; --mixed-bits goes on",
            d->path);
    if ((was && is_digest(was)) || (is && is_digest(is)))
        return report_error(r, SHOAL_INPUT, "%s: cannot go on: it is another job: `%s` differs",
                            d->path, name);
    return report_error(r, SHOAL_INPUT,
                        "%s: cannot go on: it is another job: `%s` was %s and is %s", d->path, name,
                        was ? was : "not given", is ? is : "not given");
}

static shoal_code compare(const struct journal_reader *d, const struct journal_order *order,
                          const struct journal_fact *was, struct report *r) {
    const struct journal_fact *is = fact_of(order, was->name);
    if (is && (!strcmp(is->value, was->value) || !strcmp(was->name, JOURNAL_KEY)))
        return SHOAL_OK; // the key follows from the others, and is looked at last
    return tell_difference(d, was->name, was->value, is ? is->value : NULL, r);
}

shoal_code journal_damaged(const struct journal_reader *d, struct report *r) {
    return report_error(r, SHOAL_INPUT,
                        "%s: is no journal of Shoal's, or damaged: nothing can go on from it",
                        d->path);
}

static bool was_said(const struct journal_fact *said, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(said[i].name, name))
            return true;
    return false;
}

static shoal_code compare_key(const struct journal_reader *d, const struct journal_order *order,
                              const struct journal_fact *said, uint32_t count, struct report *r) {
    const struct journal_fact *is = fact_of(order, JOURNAL_KEY);
    for (uint32_t i = 0; i < count && is && !order->mixed_bits; i++)
        if (!strcmp(said[i].name, JOURNAL_KEY) && strcmp(said[i].value, is->value))
            return tell_difference(d, JOURNAL_KEY, said[i].value, is->value, r);
    return SHOAL_OK;
}

// Every fact of the head, once; up to the line behind it.
static shoal_code check_facts(struct journal_reader *d, const struct journal_order *order,
                              struct arena *arena, bool *whole, struct report *r) {
    struct journal_fact *said = arena_new(arena, struct journal_fact, order->is_count + 1), fact;
    uint32_t count = 0;
    uint64_t time;
    bool meta = false, begun = false;
    if (!said)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", d->path);
    if (!journal_next(d) || strcmp(d->line.data, "shoal-journal 1"))
        return SHOAL_OK;
    while (!begun && journal_next(d)) {
        begun = journal_read_time(d, "begin", &time);
        meta = meta || journal_read_meta(d);
        if (!journal_read_fact(d, "is", arena, &fact))
            continue;
        shoal_code code = compare(d, order, &fact, r);
        if (code != SHOAL_OK || was_said(said, count, fact.name))
            return code;
        said[count++] = fact; // there is room: it is one of ours, for the first time
    }
    *whole = meta && begun;
    for (uint32_t i = 0; i < order->is_count && *whole; i++)
        if (!was_said(said, count, order->is[i].name))
            return tell_difference(d, order->is[i].name, NULL, order->is[i].value, r);
    return *whole ? compare_key(d, order, said, count, r) : SHOAL_OK;
}

shoal_code journal_check(struct journal_reader *d, const struct journal_order *order, bool *whole,
                         struct report *r) {
    struct arena arena = {0};
    *whole = false;
    shoal_code code = check_facts(d, order, &arena, whole, r);
    arena_free(&arena);
    return code;
}

// ---- As a job file ------------------------------------------------------------------------------

static shoal_code journal_meta_read(const char *path, struct arena *arena, const char **meta,
                                    struct report *r) {
    struct journal_reader d;
    bool found;
    shoal_code code = journal_open(&d, path, &found, r);
    if (code == SHOAL_OK && !found)
        code = report_error(r, SHOAL_IO, "%s: there is no such file", path);
    while (code == SHOAL_OK && !*meta && journal_next(&d))
        if (journal_read_meta(&d)) {
            *meta = arena_strdup(arena, journal_read_meta(&d));
            code = *meta ? SHOAL_OK : SHOAL_MEMORY;
        }
    if (code == SHOAL_OK && !*meta)
        code = journal_damaged(&d, r);
    journal_reader_close(&d);
    return code;
}

const struct io_format journal_format = {
    .name = "journal", .endings = {JOURNAL}, .meta_read = journal_meta_read};
