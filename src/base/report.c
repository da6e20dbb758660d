// SPDX-License-Identifier: MIT
#include "base/report.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const severity_words[] = {"note", "warning", "error"};

static bool is_full(const struct report *r) { return r->messages.count >= REPORT_MOST; }

// Counts a message that is not kept; the last one that is kept becomes the count.
static void drop(struct report *r, shoal_severity severity) {
    enum { ROOM = 64 };
    shoal_message *last = &r->messages.items[r->messages.count - 1];
    if (!r->dropped++) {
        r->count_text = arena_alloc(&r->arena, ROOM);
        last->text = r->count_text ? r->count_text : "more messages like these";
        last->file = NULL;
    }
    last->severity = severity > last->severity ? severity : last->severity;
    if (r->count_text)
        snprintf(r->count_text, ROOM, "%u more messages like these", r->dropped + 1);
}

static void add(struct report *r, shoal_message m, struct buf *text) {
    if (!r)
        return;
    if (m.severity == SHOAL_ERROR)
        r->errors++;
    if (is_full(r)) {
        drop(r, m.severity);
        return;
    }
    for (size_t i = 0; i < text->length; i++) // nothing that could drive a terminal
        if (iscntrl((unsigned char)text->data[i]) && text->data[i] != '\n')
            text->data[i] = text->data[i] == '\t' ? ' ' : '?';
    m.text = arena_strndup(&r->arena, text->data ? text->data : "", text->length);
    if (m.file)
        m.file = arena_strdup(&r->arena, m.file);
    if (!m.text || !vec_reserve(&r->arena, &r->messages, (uint64_t)r->messages.count + 1)) {
        r->messages.count = 0; // out of memory: what is left is the code
        r->messages.cap = 0;
        return;
    }
    r->messages.items[r->messages.count++] = m;
}

// The line around `offset`, cut to a window of 100 bytes, and a caret under the place.
static void show_line(struct buf *out, const struct source *s, size_t start, size_t end,
                      size_t offset) {
    size_t from = offset - start > 80 ? offset - 60 : start;
    size_t to = end - from > 100 ? from + 100 : end;
    buf_puts(out, "\n  ");
    for (size_t i = from; i < to; i++)
        buf_putc(out, iscntrl((unsigned char)s->text[i]) ? ' ' : s->text[i]);
    buf_puts(out, "\n  ");
    for (size_t i = from; i < offset && i < to; i++)
        if (((unsigned char)s->text[i] & 0xc0) != 0x80) // not inside a UTF-8 sequence
            buf_putc(out, ' ');
    buf_putc(out, '^');
}

static void add_at(struct report *r, shoal_severity severity, shoal_code code,
                   const struct source *source, size_t offset, const char *format, va_list args) {
    if (!r || is_full(r)) { // to find the line of each of very many takes for ever
        add(r, (shoal_message){.severity = severity, .code = code}, NULL);
        return;
    }
    if (offset > source->length)
        offset = source->length;
    size_t start = 0;
    uint32_t line = 1;
    for (size_t i = 0; i < offset; i++)
        if (source->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    size_t end = start;
    while (end < source->length && source->text[end] != '\n' && source->text[end] != '\r')
        end++;
    uint32_t column = (uint32_t)(offset - start) + 1;
    struct buf text = {0};
    buf_printf(&text, "%s:%u:%u: %s: ", source->name, line, column, severity_words[severity]);
    buf_vprintf(&text, format, args);
    show_line(&text, source, start, end, offset);
    add(r,
        (shoal_message){.severity = severity,
                        .code = code,
                        .file = source->name,
                        .line = line,
                        .column = column},
        &text);
    buf_free(&text);
}

static void add_plain(struct report *r, shoal_severity severity, shoal_code code,
                      const char *format, va_list args) {
    if (r && r->place) {
        add_at(r, severity, code, r->place, r->place_at, format, args);
        return;
    }
    struct buf text = {0};
    buf_printf(&text, "%s: ", severity_words[severity]);
    buf_vprintf(&text, format, args);
    add(r, (shoal_message){.severity = severity, .code = code}, &text);
    buf_free(&text);
}

shoal_code report_error(struct report *r, shoal_code code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_plain(r, SHOAL_ERROR, code, format, args);
    va_end(args);
    return code;
}

void report_warning(struct report *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_plain(r, SHOAL_WARNING, SHOAL_OK, format, args);
    va_end(args);
}

void report_note(struct report *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_plain(r, SHOAL_NOTE, SHOAL_OK, format, args);
    va_end(args);
}

void report_at(struct report *r, shoal_severity severity, const struct source *source,
               size_t offset, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_at(r, severity, severity == SHOAL_ERROR ? SHOAL_INPUT : SHOAL_OK, source, offset, format,
           args);
    va_end(args);
}

void report_free(struct report *r) {
    if (r)
        arena_free(&r->arena);
}

enum { NEAREST_MOST = 48 };

// Damerau-Levenshtein distance (adjacent swaps count one), ignoring case at no cost.
static uint32_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > NEAREST_MOST || m > NEAREST_MOST)
        return UINT32_MAX;
    uint32_t row[3][NEAREST_MOST + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= n; i++) {
        uint32_t *now = row[i % 3], *up = row[(i - 1) % 3], *up2 = row[(i + 1) % 3];
        now[0] = (uint32_t)i;
        for (size_t j = 1; j <= m; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            uint32_t best = up[j - 1] + (ca != cb);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

void nearest_offer(struct nearest *n, const char *candidate) {
    uint32_t d = edit_distance(n->wanted, candidate);
    if (!n->best || d < n->distance) {
        n->best = candidate;
        n->distance = d;
    }
}

const char *nearest_best(const struct nearest *n) {
    size_t length = strlen(n->wanted);
    uint32_t allowed = length <= 2 ? 1 : length <= 5 ? 2 : 3;
    return n->best && n->distance <= allowed && n->distance < length ? n->best : NULL;
}
