// SPDX-License-Identifier: MIT
// A growable byte string. Failure is sticky: write freely, ask `failed` once at the end.
#ifndef SHOAL_BASE_BUF_H
#define SHOAL_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; // always NUL-terminated once anything was written; not counted in `length`
    size_t length, capacity;
    bool failed; // memory ran out; later writes are dropped
};

void buf_put(struct buf *b, const void *bytes, size_t length);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args);
// As a quoted JSON string, which is UTF-8 always: a byte that is none, such as ff, becomes the half
// of a pair \udcff, as Python has it.
void buf_json(struct buf *b, const char *text);
void buf_free(struct buf *b);

#endif
