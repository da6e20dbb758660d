// SPDX-License-Identifier: MIT
// NPY headers, elements and text; see npy.h. Input is not trusted: every length is checked against
// the bytes that are there.
#include "io/npy.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char magic[6] = "\x93NUMPY";

// ---- Writing ------------------------------------------------------------------------------------

void npy_put_header(struct buf *out, const char *descr, const uint64_t *shape, uint32_t dims) {
    size_t start = out->length;
    buf_put(out, magic, sizeof magic);
    buf_put(out, "\x01\x00", 2); // version
    buf_putc(out, (char)(NPY_HEADER - 10));
    buf_putc(out, 0);
    buf_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < dims; i++)
        buf_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    buf_puts(out, dims == 1 ? ",), }" : "), }");
    while (!out->failed && out->length - start < NPY_HEADER - 1)
        buf_putc(out, ' ');
    buf_putc(out, '\n');
}

// ---- UTF-8 --------------------------------------------------------------------------------------

uint64_t npy_text_width(const char *text, size_t length) {
    uint64_t width = 0;
    for (size_t at = 0; at < length; width++)
        utf8_decode(text, length, &at);
    return width;
}

void npy_put_text(struct buf *out, const char *text, size_t length, uint64_t width) {
    uint64_t n = 0;
    for (size_t at = 0; at < length && n < width; n++) {
        uint32_t point = utf8_decode(text, length, &at);
        char bytes[4] = {(char)(point & 0xff), (char)(point >> 8 & 0xff), (char)(point >> 16), 0};
        buf_put(out, bytes, 4);
    }
    for (; n < width; n++)
        buf_put(out, "\0\0\0", 4);
}

static void encode(struct buf *out, uint32_t point) {
    char bytes[4];
    buf_put(out, bytes, utf8_encode(point, bytes));
}

// ---- Header -------------------------------------------------------------------------------------

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

static bool take(struct cursor *c, const char *word) {
    skip_blanks(c);
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

static bool take_number(struct cursor *c, uint64_t *out) {
    skip_blanks(c);
    const char *start = c->at;
    uint64_t n = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, *c->at - '0', &n))
            return false;
    *out = n;
    return c->at > start;
}

// '<f8': order, kind, bytes (code points for U). Other descriptions (records) are kind V.
static bool parse_descr(struct npy *a, struct cursor *c) {
    if (take(c, "[")) { // a record: skip to the key that follows
        int depth = 1;
        for (; c->at < c->end && depth; c->at++)
            depth += (*c->at == '[') - (*c->at == ']');
        a->kind = 'V';
        return depth == 0;
    }
    if (!take(c, "'"))
        return false;
    if (c->end - c->at < 4)
        return false;
    char order = *c->at;
    if (strchr("<>|=", order))
        c->at++;
    a->big = order == '>';
    a->kind = *c->at++;
    uint64_t size = 0;
    if (!take_number(c, &size) || size > UINT32_MAX / 4)
        size = 0; // '|O': objects
    a->size = (uint32_t)(a->kind == 'U' ? size * 4 : size);
    while (c->at < c->end && *c->at != '\'') // '<M8[ns]'
        c->at++;
    return take(c, "'");
}

static bool parse_shape(struct npy *a, struct cursor *c) {
    if (!take(c, "("))
        return false;
    while (!take(c, ")")) {
        if (a->dims == NPY_DIMS || !take_number(c, &a->shape[a->dims++]))
            return false;
        if (!take(c, ",")) {
            if (!take(c, ")"))
                return false;
            break;
        }
    }
    return true;
}

static bool parse_dict(struct npy *a, struct cursor c) {
    bool has_descr = false, has_shape = false, has_order = false;
    if (!take(&c, "{"))
        return false;
    while (!take(&c, "}")) {
        if (take(&c, "'descr':"))
            has_descr = parse_descr(a, &c);
        else if (take(&c, "'shape':"))
            has_shape = a->dims == 0 && parse_shape(a, &c);
        else if (take(&c, "'fortran_order':"))
            has_order = (a->columns = take(&c, "True")) || take(&c, "False");
        else
            return false;
        if (!take(&c, ",") && (skip_blanks(&c), c.at == c.end || *c.at != '}'))
            return false;
    }
    return has_descr && has_shape && has_order;
}

const char *npy_parse_head(struct npy *a, const char *bytes, size_t length, uint64_t all) {
    *a = (struct npy){.count = 1};
    const unsigned char *u = (const unsigned char *)bytes;
    if (length < 12 || memcmp(bytes, magic, sizeof magic) != 0)
        return "is not an .npy array";
    if (u[6] < 1 || u[6] > 3)
        return "has an unknown .npy version";
    size_t start = u[6] == 1 ? 10 : 12;
    size_t header = u[8] | (size_t)u[9] << 8;
    if (u[6] > 1)
        header |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (header > length - start)
        return "has a damaged header";
    if (!parse_dict(a, (struct cursor){bytes + start, bytes + start + header}))
        return "has a header that cannot be understood";
    for (uint32_t i = 0; i < a->dims; i++)
        if (__builtin_mul_overflow(a->count, a->shape[i], &a->count))
            return "has an impossible shape";
    a->data = bytes + start + header;
    uint64_t have = all - start - header, want;
    if (a->size && (__builtin_mul_overflow(a->count, a->size, &want) || want > have))
        return "ends before its data do";
    return NULL;
}

const char *npy_parse(struct npy *a, const char *bytes, size_t length) {
    return npy_parse_head(a, bytes, length, length);
}

// ---- Elements -----------------------------------------------------------------------------------

bool npy_is_number(const struct npy *a) {
    switch (a->kind) {
    case 'f':
        return a->size == 4 || a->size == 8;
    case 'i':
    case 'u':
        return a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;
    case 'b':
        return a->size == 1;
    }
    return false;
}

static uint64_t bits_of(const struct npy *a, uint64_t index) {
    const unsigned char *p = (const unsigned char *)a->data + index * a->size;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < a->size; i++)
        bits |= (uint64_t)p[a->big ? a->size - 1 - i : i] << 8 * i;
    return bits;
}

double npy_number(const struct npy *a, uint64_t index) {
    uint64_t bits = bits_of(a, index);
    if (a->kind == 'f' && a->size == 8) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (a->kind == 'f') {
        uint32_t half = (uint32_t)bits;
        float x;
        memcpy(&x, &half, sizeof x);
        return (double)x;
    }
    uint64_t sign = 1ull << (8 * a->size - 1);
    if (a->kind == 'i')
        return (double)(int64_t)((bits ^ sign) - sign);
    return (double)bits;
}

char *npy_text(const struct npy *a, uint64_t index, struct arena *arena) {
    const unsigned char *p = (const unsigned char *)a->data + index * a->size;
    if (a->kind == 'i' && a->size == 8)
        return arena_printf(arena, "%lld", (long long)bits_of(a, index));
    if (a->kind == 'u' && a->size == 8)
        return arena_printf(arena, "%llu", (unsigned long long)bits_of(a, index));
    if (a->kind == 'S')
        return arena_strndup(arena, (const char *)p, strnlen((const char *)p, a->size));
    struct buf text = {0};
    for (uint32_t i = 0; i + 4 <= a->size; i += 4) {
        uint32_t point = a->big ? (uint32_t)p[i] << 24 | (uint32_t)p[i + 1] << 16 |
                                      (uint32_t)p[i + 2] << 8 | p[i + 3]
                                : (uint32_t)p[i + 3] << 24 | (uint32_t)p[i + 2] << 16 |
                                      (uint32_t)p[i + 1] << 8 | p[i];
        if (point == 0)
            break;
        encode(&text, point);
    }
    char *copy = text.failed ? NULL : arena_strndup(arena, text.data ? text.data : "", text.length);
    buf_free(&text);
    return copy;
}
