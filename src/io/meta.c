// SPDX-License-Identifier: MIT
// The metadata of a result: a JSON object that the run layer wrote. Here it gets its last member,
// and its simple members are found again, for files that can show them (HDF5 attributes). This is
// no general JSON reader: what it does not need it skips by counting brackets.
#include "base/utf8.h"
#include "io/formats.h"

#include <stdlib.h>
#include <string.h>

void io_meta_complete(struct buf *out, const char *meta, bool complete) {
    buf_printf(out, "{\"complete\": %s", complete ? "true" : "false");
    const char *rest = meta && *meta == '{' ? meta + 1 : "}";
    const char *first = rest + strspn(rest, " \t\r\n");
    if (*first != '}')
        buf_puts(out, ", ");
    buf_puts(out, rest);
}

static const char *skip_blanks(const char *c) { return c + strspn(c, " \t\r\n"); }

static int hex4(const char *c) {
    int n = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *at = strchr(digits, c[i]);
        if (!c[i] || !at)
            return -1;
        n = n << 4 | ((at - digits) & 15);
    }
    return n;
}

// The character after a backslash; returns what follows it.
static const char *unescape(struct buf *out, const char *c) {
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    const char *known = *c ? strchr(from, *c) : NULL;
    if (known)
        buf_putc(out, to[known - from]);
    else if (*c == 'u') {
        int point = hex4(c + 1);
        if (point < 0)
            return NULL;
        char bytes[4]; // our own texts hold characters as they are: there are no halves of pairs
        buf_put(out, bytes, utf8_encode((uint32_t)point, bytes));
        return c + 5;
    } else if (*c)
        buf_putc(out, *c);
    return *c ? c + 1 : NULL;
}

// A quoted text; returns what follows it, NULL when it does not end.
static const char *read_text(struct buf *out, const char *c) {
    if (*c++ != '"')
        return NULL;
    out->length = 0;
    buf_put(out, "", 0);
    while (c && *c != '"') {
        if (*c == 0)
            return NULL;
        if (*c == '\\')
            c = unescape(out, c + 1);
        else
            buf_putc(out, *c++);
    }
    return c ? c + 1 : NULL;
}

// An array or object, whatever is in it.
static const char *skip_nested(const char *c) {
    size_t depth = 0;
    do {
        if (*c == '"') {
            for (c++; *c && *c != '"'; c++)
                if (*c == '\\' && c[1])
                    c++;
            if (!*c)
                return NULL;
        }
        depth += *c == '{' || *c == '[';
        depth -= *c == '}' || *c == ']';
    } while (*c++ && depth);
    return depth ? NULL : c;
}

// true and false count as numbers.
static const char *read_number(const char *c, double *out) {
    static const struct {
        const char *word;
        double value;
    } words[] = {{"true", 1}, {"false", 0}};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(c, words[i].word, strlen(words[i].word)) == 0) {
            *out = words[i].value;
            return c + strlen(words[i].word);
        }
    size_t length = strspn(c, "+-.0123456789eE");
    return length && io_parse_double(c, length, out) ? c + length : NULL;
}

static const char *read_member(const char *c, io_meta_call *call, void *user, struct buf *name,
                               struct buf *text) {
    c = read_text(name, skip_blanks(c));
    c = c ? skip_blanks(c) : NULL;
    if (!c || *c != ':')
        return NULL;
    c = skip_blanks(c + 1);
    double number = 0;
    if (*c == '"') {
        c = read_text(text, c);
        if (c && !name->failed && !text->failed)
            call(user, name->data, text->data, 0);
    } else if (*c == '{' || *c == '[')
        c = skip_nested(c);
    else if (strncmp(c, "null", 4) == 0)
        c += 4;
    else {
        c = read_number(c, &number);
        if (c && !name->failed)
            call(user, name->data, NULL, number);
    }
    return c ? skip_blanks(c) : NULL;
}

void io_meta_members(const char *meta, io_meta_call *call, void *user) {
    struct buf name = {0}, text = {0};
    const char *c = skip_blanks(meta);
    while (c && (*c == '{' || *c == ','))
        c = read_member(c + 1, call, user, &name, &text);
    buf_free(&name);
    buf_free(&text);
}
