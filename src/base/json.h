// SPDX-License-Identifier: MIT
// The JSON reader: a text, in pieces of any length, becomes steps that are asked for one by one.
//
// It is strict (RFC 8259), but for bytes of a string that are no UTF-8, which are handed on as they
// are. It holds no more than one name, text or number at a time, nests at most JSON_DEPTH deep
// without recursion, and may be given anything. A half of a pair \udcXX that stands alone is the
// byte XX, as buf_json writes it; another half is U+FFFD; \u0000 is refused, since texts here end
// with it.
#ifndef SHOAL_BASE_JSON_H
#define SHOAL_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"

enum { JSON_DEPTH = 512, JSON_TEXT_MOST = 1 << 28 };

enum json_kind {
    JSON_ERROR, // and at every step from here on; `error` says why, `at` where
    JSON_END,   // nothing but blanks followed the value
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_NAME, // of a member; its value follows
    JSON_TEXT,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

// The next bytes, which stay until the next call; 0: there are no more.
typedef size_t json_source(void *user, const char **bytes);

struct json {
    struct buf text;   // of a name or text; of a number as it is written
    double number;     // infinite when it is too large
    const char *error; // a sentence without an end, or NULL
    uint64_t at;       // bytes read so far
    uint32_t depth;    // objects and arrays that are open
    // For the reader itself:
    json_source *source;
    void *user;
    const char *next, *end; // of the piece
    bool ended;             // there are no more pieces
    int expect;
    unsigned char in_object[JSON_DEPTH / 8]; // a bit for each that is open
};

void json_open(struct json *j, json_source *source, void *user);
void json_open_text(struct json *j, const char *text, size_t length);
enum json_kind json_next(struct json *j);
bool json_skip(struct json *j); // the next value, whatever is in it; false after an error
void json_close(struct json *j);

// The text of the string member `name` of the object `json`, in the arena; NULL when there is none
// or the text up to it is not JSON. Members of inner objects do not count; of several the first
// does.
char *json_member(struct arena *arena, const char *json, const char *name);

#endif
