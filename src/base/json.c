// SPDX-License-Identifier: MIT
// What may come next is one word of state; which of the two kinds of brackets are open is a stack
// of bits. Nothing looks ahead further than one byte, so a piece may end anywhere.
#include "base/json.h"

#include "base/number.h"
#include "base/utf8.h"

#include <string.h>

enum expect {
    EXPECT_VALUE,
    EXPECT_FIRST_VALUE, // or the end of the array
    EXPECT_FIRST_NAME,  // or the end of the object
    EXPECT_COMMA,       // or the end of what is open
    EXPECT_END,
    EXPECT_NOTHING, // after an error
};

enum { NO_BYTE = -1 };

void json_open(struct json *j, json_source *source, void *user) {
    *j = (struct json){.source = source, .user = user};
}

void json_open_text(struct json *j, const char *text, size_t length) {
    *j = (struct json){.next = text, .end = text + length};
}

void json_close(struct json *j) { buf_free(&j->text); }

static enum json_kind fail(struct json *j, const char *why) {
    j->error = why;
    j->expect = EXPECT_NOTHING;
    return JSON_ERROR;
}

// ---- Bytes --------------------------------------------------------------------------------------

// The byte at hand, NO_BYTE at the end.
static int peek(struct json *j) {
    while (j->next == j->end && !j->ended) {
        size_t length = j->source ? j->source(j->user, &j->next) : 0;
        j->end = length ? j->next + length : j->next;
        j->ended = length == 0;
    }
    return j->next == j->end ? NO_BYTE : (unsigned char)*j->next;
}

static void advance(struct json *j) {
    j->next++;
    j->at++;
}

static bool take(struct json *j, char c) {
    if (peek(j) != c)
        return false;
    advance(j);
    return true;
}

static void skip_blanks(struct json *j) {
    while (take(j, ' ') || take(j, '\t') || take(j, '\n') || take(j, '\r'))
        ;
}

static bool put(struct json *j, const char *bytes, size_t length) {
    if (j->text.length + length > JSON_TEXT_MOST)
        return fail(j, "this text is too long");
    buf_put(&j->text, bytes, length);
    return !j->text.failed || fail(j, "not enough memory");
}

static void begin_text(struct json *j) {
    j->text.length = 0;
    buf_put(&j->text, "", 0); // so that it ends with a zero
}

// ---- Strings ------------------------------------------------------------------------------------

static bool read_hex(struct json *j, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(j);
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return fail(j, "\\u takes four hexadecimal digits");
        *out = *out << 4 | digit;
        advance(j);
    }
    return true;
}

static bool is_high(uint32_t c) { return c >= 0xd800 && c < 0xdc00; }
static bool is_low(uint32_t c) { return c >= 0xdc00 && c < 0xe000; }

static bool put_point(struct json *j, uint32_t c) {
    char bytes[4] = {(char)(c & 0xff)};
    if (c >= 0xdc80 && c <= 0xdcff) // buf_json: a byte that is no UTF-8
        return put(j, bytes, 1);
    if (c == 0)
        return fail(j, "a text cannot hold \\u0000");
    return put(j, bytes, utf8_encode(c, bytes));
}

static bool read_escape(struct json *j);

// What follows \u. After the first half of a pair any other escape may stand, which is then read
// for itself.
static bool read_unicode(struct json *j) {
    uint32_t c, low;
    if (!read_hex(j, &c))
        return false;
    while (is_high(c) && take(j, '\\')) {
        if (!take(j, 'u'))
            return put_point(j, c) && read_escape(j);
        if (!read_hex(j, &low))
            return false;
        if (is_low(low))
            return put_point(j, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
        if (!put_point(j, c))
            return false;
        c = low;
    }
    return put_point(j, c);
}

// What follows a backslash.
static bool read_escape(struct json *j) {
    static const char from[] = "\"\\/nrtbf", to[] = "\"\\/\n\r\t\b\f";
    int c = peek(j);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (c != 'u' && !known)
        return fail(j, c == NO_BYTE ? "this text does not end" : "no such escape");
    advance(j);
    return known ? put(j, &to[known - from], 1) : read_unicode(j);
}

// A run of plain bytes of the piece at once.
static bool read_plain(struct json *j) {
    const char *first = j->next;
    while (j->next < j->end && *j->next != '"' && *j->next != '\\' &&
           (unsigned char)*j->next >= 0x20)
        advance(j);
    return put(j, first, (size_t)(j->next - first));
}

// The string whose first quote is taken.
static bool read_string(struct json *j) {
    begin_text(j);
    while (!take(j, '"')) {
        int c = peek(j);
        if (c == NO_BYTE)
            return fail(j, "this text does not end");
        if (c < 0x20)
            return fail(j, "a text cannot hold a control character");
        if (!(take(j, '\\') ? read_escape(j) : read_plain(j)))
            return false;
    }
    return !j->text.failed || fail(j, "not enough memory");
}

// ---- Values -------------------------------------------------------------------------------------

static bool in_object(const struct json *j) {
    uint32_t top = j->depth - 1;
    return j->in_object[top / 8] >> top % 8 & 1;
}

static enum json_kind open_bracket(struct json *j, bool object) {
    if (j->depth == JSON_DEPTH)
        return fail(j, "brackets are nested too deep");
    unsigned bit = 1u << j->depth % 8;
    unsigned char *byte = &j->in_object[j->depth++ / 8];
    *byte = (unsigned char)(object ? *byte | bit : *byte & ~bit);
    j->expect = object ? EXPECT_FIRST_NAME : EXPECT_FIRST_VALUE;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_kind value_done(struct json *j, enum json_kind kind) {
    j->expect = j->depth ? EXPECT_COMMA : EXPECT_END;
    return kind;
}

static enum json_kind close_bracket(struct json *j) {
    bool object = in_object(j);
    advance(j);
    j->depth--;
    return value_done(j, object ? JSON_OBJECT_END : JSON_ARRAY_END);
}

static enum json_kind read_number(struct json *j) {
    begin_text(j);
    for (int c; (c = peek(j)) != NO_BYTE && c && strchr("0123456789+-.eE", c); advance(j))
        if (!put(j, j->next, 1))
            return JSON_ERROR;
    if (!number_all(j->text.data, j->text.length, NUMBER_JSON, &j->number))
        return fail(j, "this is no number");
    return value_done(j, JSON_NUMBER);
}

static enum json_kind read_word(struct json *j, const char *word, enum json_kind kind) {
    for (; *word; word++)
        if (!take(j, *word))
            return fail(j, "expected a value here");
    return value_done(j, kind);
}

static enum json_kind read_value(struct json *j) {
    int c = peek(j);
    switch (c) {
    case '{':
    case '[':
        advance(j);
        return open_bracket(j, c == '{');
    case '"':
        advance(j);
        return read_string(j) ? value_done(j, JSON_TEXT) : JSON_ERROR;
    case 't':
        return read_word(j, "true", JSON_TRUE);
    case 'f':
        return read_word(j, "false", JSON_FALSE);
    case 'n':
        return read_word(j, "null", JSON_NULL);
    default:
        return c == '-' || (c >= '0' && c <= '9') ? read_number(j)
                                                  : fail(j, "expected a value here");
    }
}

static enum json_kind read_name(struct json *j) {
    if (!take(j, '"'))
        return fail(j, "expected the name of a member here");
    if (!read_string(j))
        return JSON_ERROR;
    skip_blanks(j);
    if (!take(j, ':'))
        return fail(j, "expected : after the name of a member");
    j->expect = EXPECT_VALUE;
    return JSON_NAME;
}

enum json_kind json_next(struct json *j) {
    skip_blanks(j);
    bool closes = j->depth && peek(j) == (in_object(j) ? '}' : ']');
    switch ((enum expect)j->expect) {
    case EXPECT_COMMA:
        if (closes)
            return close_bracket(j);
        if (!take(j, ','))
            return fail(j, "expected , or the end of what is open here");
        skip_blanks(j);
        return in_object(j) ? read_name(j) : read_value(j);
    case EXPECT_FIRST_NAME:
        return closes ? close_bracket(j) : read_name(j);
    case EXPECT_FIRST_VALUE:
        return closes ? close_bracket(j) : read_value(j);
    case EXPECT_VALUE:
        return read_value(j);
    case EXPECT_END:
        return peek(j) == NO_BYTE ? JSON_END : fail(j, "something follows the value");
    case EXPECT_NOTHING:
    default:
        return JSON_ERROR;
    }
}

bool json_skip(struct json *j) {
    uint32_t depth = j->depth;
    do {
        if (json_next(j) <= JSON_END)
            return false;
    } while (j->depth > depth);
    return true;
}

// ---- Members ------------------------------------------------------------------------------------

// Whether the object has a text of that name, which then is j->text.
static bool find_text(struct json *j, const char *name) {
    if (json_next(j) != JSON_OBJECT)
        return false;
    while (json_next(j) == JSON_NAME) {
        if (!strcmp(j->text.data, name))
            return json_next(j) == JSON_TEXT;
        if (!json_skip(j))
            return false;
    }
    return false;
}

char *json_member(struct arena *arena, const char *json, const char *name) {
    struct json j;
    json_open_text(&j, json, strlen(json));
    bool found = find_text(&j, name);
    jmp_buf *oom = arena->oom; // put off until the reader is closed
    arena->oom = NULL;
    char *text = found ? arena_strdup(arena, j.text.data) : NULL;
    arena->oom = oom;
    bool lost = j.text.failed || (found && !text);
    json_close(&j);
    if (lost && oom)
        longjmp(*oom, 1);
    return text;
}
