// SPDX-License-Identifier: MIT
// The text of a model: is it text at all, and a clean copy of it; messages about places in it.
//
// The clean copy has the same length and the same offsets as the original. Comments, continuation
// marks with their line ends, tabs and carriage returns are blanks in it, so that every '\n' left
// ends a statement and the rest of the parser knows neither comments nor continuations.
#include "ode/model/parse.h"

#include "base/ascii.h"
#include "base/buf.h"

#include <string.h>

bool text_blank(char c) { return c == ' '; }

bool text_letter(char c) { return ascii_letter(c) || c == '_'; }

bool text_word(char c) { return ascii_word(c); }

bool parse_is_reported(const struct parser *p, uint32_t at) {
    return p->stop || p->reported[at > p->length ? p->length : at];
}

struct source model_source(const struct model *m, uint32_t *at) {
    if (*at < m->added || m->added == m->source.length)
        return m->source;
    *at -= (uint32_t)m->added;
    return (struct source){.name = "--event",
                           .text = m->source.text + m->added,
                           .length = m->source.length - m->added};
}

// Values that are set are a text of their own.
static void tell(struct parser *p, shoal_severity severity, uint32_t at, const char *text) {
    struct source source = *p->source;
    if (p->source == &p->m->source)
        source = model_source(p->m, &at);
    report_at(p->r, severity, &source, at, "%s", text);
}

bool parse_error(struct parser *p, uint32_t at, const char *format, ...) {
    if (parse_is_reported(p, at))
        return false;
    at = at > p->length ? p->length : at;
    p->reported[at] = 1;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    tell(p, SHOAL_ERROR, at, text.data ? text.data : "out of memory");
    buf_free(&text);
    if (++p->errors >= PARSE_ERRORS_MOST)
        p->stop = true;
    return false;
}

void parse_note(struct parser *p, uint32_t at, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    tell(p, SHOAL_NOTE, at, text.data ? text.data : "out of memory");
    buf_free(&text);
}

bool parse_limit(struct parser *p, uint32_t at, const char *what) {
    if (!p->stop)
        tell(p, SHOAL_ERROR, at, what);
    p->errors++;
    p->stop = true;
    return false;
}

uint32_t parse_line_number(const struct parser *p, uint32_t at) {
    return source_place(p->source, at).line;
}

const char *parse_token_text(struct parser *p, const struct token *t) {
    if (t->kind == TOKEN_END)
        return "the end of the line";
    uint32_t length = t->length > 40 ? 40 : t->length;
    return arena_printf(&p->scratch, "`%.*s%s`", (int)length, p->text + t->at,
                        t->length > 40 ? "..." : "");
}

// Control characters other than line ends, tabs, form feeds and DOS's end of file mean that
// somebody gave us something else.
static bool is_text(struct parser *p) {
    for (uint32_t i = 0; i < p->length; i++) {
        unsigned char c = (unsigned char)p->source->text[i];
        if (c >= 0x20 ? c == 0x7f : !strchr("\t\n\v\f\r\x1a", c) || !c) {
            p->errors++;
            report_at(p->r, SHOAL_ERROR, p->source, i,
                      "this is not a text file: it holds a byte 0x%02x", c);
            return false;
        }
    }
    return true;
}

// Whether the brace at `open` belongs to XPP's int{...} or int[...]{...}. Looks back only so far: a
// line of nothing but braces must not take for ever.
static bool opens_integral(const char *line, const char *open) {
    if (open - line > 64)
        line = open - 64;
    while (open > line && text_blank(open[-1]))
        open--;
    if (open > line && open[-1] == ']')
        while (open > line && *open != '[')
            open--;
    while (open > line && text_blank(open[-1]))
        open--;
    return open - line >= 3 && ascii_same_prefix(open - 3, "int", 3);
}

// XPP's `#include FILE`; a comment that goes on with another word is none.
static bool is_include(const char *at, const char *end) {
    static const char word[] = "#include";
    size_t n = sizeof word - 1;
    return (size_t)(end - at) > n && ascii_same_prefix(at, word, n) && !text_word(at[n]);
}

// A mark of a comment without a blank on either side, behind a name or a number: g#1 may be meant
// as a name, a//b as a division. It is left for the lexer to refuse.
static bool is_doubtful(const char *s, const char *at, const char *end) {
    const char *next = at + (*at == '/' ? 2 : 1), *word = at;
    if (next >= end || text_blank(*next) || *next == *at)
        return false;
    while (word > s && text_word(word[-1]))
        word--;
    if (*at == '#')
        return word < at && text_letter(*word);
    return (word < at || (at > s && strchr(")]", at[-1]))) && (text_word(*next) || *next == '(');
}

// Blanks the comment of the line [s, end); the `#` of an integral's convolution is none.
static void blank_comment(char *s, char *end) {
    char *at = s;
    while (at < end && text_blank(*at))
        at++;
    if (is_include(at, end))
        return;
    bool integral = false;
    if (at < end && *at != '"')
        for (; at < end; at++) {
            if (*at == '{')
                integral = opens_integral(s, at);
            else if (*at == '}')
                integral = false;
            else if (((*at == '#' && !integral) || (*at == '/' && at + 1 < end && at[1] == '/')) &&
                     !is_doubtful(s, at, end))
                break;
        }
    while (at < end)
        *at++ = ' ';
}

static void blank_comments(char *text, char *end) {
    for (char *line = text; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        blank_comment(line, stop);
        char *last = stop;
        while (last > line && text_blank(last[-1]))
            last--;
        if (last > line && last[-1] == '\\') {
            last[-1] = ' ';
            if (stop < end)
                *stop = ' ';
        }
        line = stop + 1;
    }
}

static uint32_t limit(uint64_t least, uint64_t length, uint32_t most) {
    return least + length < most ? (uint32_t)(least + length) : most;
}

// The code of a model is there when values are set in it later.
static void set_limits(struct parser *p) {
    uint64_t length = p->m->source.length + (uint64_t)p->length;
    p->code_most = limit(CODE_LEAST, length + p->m->code.count, CODE_MOST);
    p->symbols_most = limit(SYMBOLS_LEAST, length / 2, SYMBOLS_MOST);
    p->steps_most = limit(STEPS_LEAST, 4 * length, STEPS_MOST);
}

bool text_open(struct parser *p) {
    if (p->source->length > TEXT_MOST) {
        p->errors++;
        report_error(p->r, SHOAL_INPUT, "%s: a model has at most %d MB", p->source->name,
                     TEXT_MOST >> 20);
        return false;
    }
    p->length = (uint32_t)p->source->length;
    if (!is_text(p))
        return false;
    set_limits(p);
    p->text = arena_strndup(&p->scratch, p->source->text, p->length);
    p->reported = arena_new(&p->scratch, uint8_t, p->length + 1);
    if (p->length >= 3 && !memcmp(p->text, "\xef\xbb\xbf", 3))
        memset(p->text, ' ', 3);
    for (char *c = p->text; *c; c++) {
        if (*c == '\r')
            *c = c[1] == '\n' ? ' ' : '\n';
        else if (strchr("\t\v\f\x1a", *c))
            *c = ' ';
    }
    blank_comments(p->text, p->text + p->length);
    return true;
}
