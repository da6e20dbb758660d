// SPDX-License-Identifier: MIT
// Bytes appended to a string that grows, as they are, formatted, or quoted for JSON.
#include "base/buf.h"

#include "base/ascii.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct buf *b, size_t more) {
    if (b->failed)
        return false;
    if (b->capacity - b->length > more)
        return true;
    size_t want = b->capacity ? b->capacity * 2 : 256;
    while (want - b->length <= more)
        want *= 2;
    char *bigger = realloc(b->data, want);
    if (!bigger) {
        b->failed = true;
        return false;
    }
    b->data = bigger;
    b->capacity = want;
    return true;
}

void buf_put(struct buf *b, const void *bytes, size_t length) {
    if (!make_room(b, length))
        return;
    if (length)
        memcpy(b->data + b->length, bytes, length);
    b->length += length;
    b->data[b->length] = 0;
}

void buf_puts(struct buf *b, const char *text) { buf_put(b, text, strlen(text)); }

void buf_putc(struct buf *b, char c) { buf_put(b, &c, 1); }

void buf_vprintf(struct buf *b, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = ascii_vprintf(NULL, 0, format, args);
    if (length >= 0 && make_room(b, (size_t)length)) {
        ascii_vprintf(b->data + b->length, (size_t)length + 1, format, again);
        b->length += (size_t)length;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_json(struct buf *b, const char *text) {
    size_t length = strlen(text);
    buf_putc(b, '"');
    for (size_t at = 0; at < length;) {
        size_t start = at;
        unsigned char c = (unsigned char)text[start];
        if (!utf8_next(text, length, &at))
            buf_printf(b, "\\udc%02x", c);
        else if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c == '\n')
            buf_puts(b, "\\n");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\u%04x", c);
        else
            buf_put(b, text + start, at - start);
    }
    buf_putc(b, '"');
}

void buf_free(struct buf *b) {
    free(b->data);
    *b = (struct buf){0};
}
