// SPDX-License-Identifier: MIT
// Collects messages, draws line and caret of those about a text, and finds the nearest name.
#include "base/report.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const severity_words[] = {"note", "warning", "error"};

// ---- Which are kept -----------------------------------------------------------------------------

static void free_text(struct report *r, const shoal_message *m) {
    r->count_text = m->text == r->count_text ? NULL : r->count_text;
    r->last = m->text == r->last ? NULL : r->last;
    free((char *)(uintptr_t)m->text);
    free((char *)(uintptr_t)m->file);
}

// The oldest gives way to a new one.
static void make_room(struct report *r) {
    if (r->messages.count < REPORT_MOST)
        return;
    free_text(r, &r->messages.items[0]);
    memmove(r->messages.items, r->messages.items + 1,
            --r->messages.count * sizeof *r->messages.items);
    r->gone++;
}

static void keep(struct report *r, shoal_message m) {
    if (!r->messages.items)
        r->messages.items = calloc(REPORT_MOST, sizeof *r->messages.items);
    if (!r->messages.items || !m.text) { // out of memory: what is left is the code
        free_text(r, &m);
        return;
    }
    make_room(r);
    r->messages.items[r->messages.count++] = m;
}

static bool is_enough(const struct report *r, const struct source *s) {
    return r->about == s->text && r->of_about >= REPORT_MOST;
}

// Counts a message that is not kept; the last one about that text becomes the count.
static void count_more(struct report *r, shoal_severity severity) {
    enum { ROOM = 64 };
    uint32_t at = r->messages.count, more = ++r->of_about - REPORT_MOST + 1;
    const char *wanted = r->count_text ? r->count_text : r->last;
    while (at && r->messages.items[at - 1].text != wanted)
        at--;
    if (!wanted || !at)
        return; // newer ones took its place
    shoal_message *m = &r->messages.items[at - 1];
    char *text = r->count_text ? r->count_text : malloc(ROOM);
    if (!text)
        return;
    if (!r->count_text) {
        free_text(r, m);
        m->text = r->count_text = text;
        m->file = NULL;
        m->line = m->column = 0;
    }
    m->severity = severity > m->severity ? severity : m->severity;
    snprintf(text, ROOM, "%u more messages like these", more);
}

void report_begin(struct report *r) {
    if (!r)
        return;
    r->about = r->last = NULL;
    r->count_text = NULL;
    r->of_about = 0;
}

void report_free(struct report *r) {
    if (!r)
        return;
    for (uint32_t i = 0; i < r->messages.count; i++)
        free_text(r, &r->messages.items[i]);
    free(r->messages.items);
    *r = (struct report){0};
}

uint64_t report_mark(const struct report *r) { return r ? r->gone + r->messages.count : 0; }

void report_withdraw(struct report *r, uint64_t mark, char *text, size_t room) {
    static const char word[] = "error: ";
    uint32_t kept = 0;
    snprintf(text, room, "it gave no reason");
    for (uint32_t i = 0, found = 0; r && i < r->messages.count; i++) {
        const shoal_message *m = &r->messages.items[i];
        if (m->severity != SHOAL_ERROR || r->gone + i < mark) {
            r->messages.items[kept++] = *m;
            continue;
        }
        bool worded = !strncmp(m->text, word, sizeof word - 1);
        if (!found++)
            snprintf(text, room, "%s", m->text + (worded ? sizeof word - 1 : 0));
        free_text(r, m);
        r->errors--;
    }
    if (r)
        r->messages.count = kept;
}

// ---- Nothing that could drive a terminal --------------------------------------------------------

// Whether a character is shown as it is: no control characters, of 8 bits neither, and none that
// turn the direction of the text.
static bool is_shown(uint32_t point) {
    return point >= 0x20 && !(point >= 0x7f && point < 0xa0) &&
           !(point >= 0x202a && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069);
}

// Puts text[0..length) with a mark for everything that is not shown; a character stays one. Line
// ends are kept where they are the message's own.
static void put_harmless(struct buf *out, const char *text, size_t length, char blank, bool lines) {
    for (size_t at = 0, next = 0, seen = 0; at < length; at = seen = next) {
        bool valid = utf8_next(text, length, &next);
        uint32_t point = utf8_decode(text, length, &seen);
        if (valid && (is_shown(point) || (lines && point == '\n')))
            buf_put(out, text + at, next - at);
        else
            buf_putc(out, point == '\t' ? ' ' : point < 0x80 ? blank : '?');
    }
}

// How many columns that takes.
static size_t shown_columns(const char *text, size_t length) {
    size_t columns = 0;
    for (size_t at = 0; at < length; columns++)
        utf8_next(text, length, &at);
    return columns;
}

// ---- Messages -----------------------------------------------------------------------------------

static void add(struct report *r, shoal_message m, const struct buf *text) {
    if (!r)
        return;
    struct buf harmless = {0};
    r->errors += m.severity == SHOAL_ERROR;
    put_harmless(&harmless, text->data, text->length, '?', true);
    m.text = strndup(harmless.data ? harmless.data : "", harmless.length);
    m.file = m.file ? strdup(m.file) : NULL;
    buf_free(&harmless);
    keep(r, m);
}

// Lines end with a line feed, a carriage return, or both.
struct place source_place(const struct source *s, size_t offset) {
    struct place p = {.line = 1, .offset = offset < s->length ? offset : s->length};
    for (size_t i = 0; i < p.offset; i++)
        if (s->text[i] == '\n' ||
            (s->text[i] == '\r' && !(i + 1 < s->length && s->text[i + 1] == '\n'))) {
            p.line++;
            p.start = i + 1;
        }
    p.end = p.start;
    while (p.end < s->length && s->text[p.end] != '\n' && s->text[p.end] != '\r')
        p.end++;
    return p;
}

static bool is_inside(const struct source *s, size_t at) {
    return ((unsigned char)s->text[at] & 0xc0) == 0x80; // of a UTF-8 sequence
}

// The line of a place, cut to a window of 100 bytes, and a caret under the place.
static void show_line(struct buf *out, const struct source *s, struct place p) {
    size_t at = p.offset < p.end ? p.offset : p.end; // the second byte of a line end
    size_t from = at - p.start > 80 ? at - 60 : p.start;
    size_t to = p.end - from > 100 ? from + 100 : p.end;
    for (size_t i = 0; i < 3 && from > p.start && from < at && is_inside(s, from); i++)
        from++;
    for (size_t i = 0; i < 3 && to < p.end && to > at && is_inside(s, to); i++)
        to--;
    buf_puts(out, "\n  ");
    put_harmless(out, s->text + from, to - from, ' ', false);
    buf_puts(out, "\n  ");
    for (size_t columns = shown_columns(s->text + from, at - from); columns; columns--)
        buf_putc(out, ' ');
    buf_putc(out, '^');
}

static void add_at(struct report *r, shoal_severity severity, shoal_code code,
                   const struct source *source, size_t offset, const char *format, va_list args) {
    if (!r)
        return;
    if (is_enough(r, source)) { // to find the line of each of very many takes for ever
        r->errors += severity == SHOAL_ERROR;
        count_more(r, severity);
        return;
    }
    if (r->about != source->text)
        report_begin(r);
    struct place place = source_place(source, offset);
    uint32_t column = (uint32_t)(place.offset - place.start) + 1;
    struct buf text = {0};
    put_harmless(&text, source->name, strlen(source->name), '?', false);
    buf_printf(&text, ":%u:%u: %s: ", place.line, column, severity_words[severity]);
    buf_vprintf(&text, format, args);
    show_line(&text, source, place);
    add(r,
        (shoal_message){.severity = severity,
                        .code = code,
                        .file = source->name,
                        .line = place.line,
                        .column = column},
        &text);
    buf_free(&text);
    r->about = source->text;
    r->of_about++;
    r->last = r->messages.count ? r->messages.items[r->messages.count - 1].text : NULL;
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
            char ca = ascii_lower(a[i - 1]), cb = ascii_lower(b[j - 1]);
            uint32_t best = up[j - 1] + (ca != cb);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ca == ascii_lower(b[j - 2]) && cb == ascii_lower(a[i - 2]) &&
                up2[j - 2] + 1 < best)
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
