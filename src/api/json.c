// SPDX-License-Identifier: MIT
// A reader of one thing in JSON: string members of an object. No recursion, so no depth is too
// deep; text that is not well formed gives NULL, never a guess beyond its end.
#include "api/json.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *json_blanks(const char *p) { return p + strspn(p, " \t\r\n"); }

// Past the string that starts at p[0] == '"'; NULL when it does not end.
static const char *json_skip_string(const char *p) {
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && !*++p)
            return NULL;
    return *p ? p + 1 : NULL;
}

// Past any value: brackets are counted, so that no depth is too deep.
static const char *json_skip_value(const char *p) {
    size_t depth = 0;
    do {
        p = json_blanks(p);
        if (*p == '"')
            p = json_skip_string(p);
        else if (*p == '{' || *p == '[')
            depth++, p++;
        else if (*p == '}' || *p == ']')
            depth -= depth > 0, p++;
        else if (*p == ',' || *p == ':')
            p++;
        else
            p += strcspn(p, " \t\r\n\"{}[],:");
        if (!p || !*p)
            return NULL;
    } while (depth);
    return p;
}

static bool json_hex(const char *p, uint32_t *out) {
    char digits[5] = {0}, *end;
    if (strspn(p, "0123456789abcdefABCDEF") < 4)
        return false;
    memcpy(digits, p, 4);
    *out = (uint32_t)strtoul(digits, &end, 16);
    return true;
}

// \uXXXX at p (after the u), with the second half of a pair; the bytes consumed, 0 when it is
// wrong.
static size_t json_unicode(const char *p, char *out, size_t *written) {
    uint32_t c, low;
    if (!json_hex(p, &c) || c == 0)
        return 0;
    size_t used = 4;
    if (c >= 0xd800 && c < 0xdc00 && p[4] == '\\' && p[5] == 'u' && json_hex(p + 6, &low) &&
        low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        used = 10;
    }
    if (c >= 0xdc80 && c <= 0xdcff) // buf_json: a byte that is no UTF-8
        return *out = (char)(c & 0xff), *written = 1, used;
    *written = utf8_encode(c, out);
    return used;
}

// The text of the string at p; NULL when it is not well formed.
static char *json_string(struct arena *arena, const char *p) {
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    const char *end = *p == '"' ? json_skip_string(p) : NULL;
    if (!end)
        return NULL;
    char *text = arena_alloc(arena, (size_t)(end - p)), *out = text;
    for (p++; p < end - 1; p++) {
        if (*p != '\\') {
            *out++ = *p;
            continue;
        }
        const char *known = strchr(from, *++p);
        size_t written = 1;
        if (*p == 'u') {
            size_t used = json_unicode(p + 1, out, &written);
            if (!used)
                return NULL;
            p += used;
        } else
            *out = known ? to[known - from] : *p;
        out += written;
    }
    *out = 0;
    return text;
}

char *json_member(struct arena *arena, const char *json, const char *name) {
    const char *p = json_blanks(json);
    if (*p++ != '{')
        return NULL;
    while (*(p = json_blanks(p)) == '"') {
        char *key = json_string(arena, p);
        p = json_skip_string(p);
        p = p ? json_blanks(p) : "";
        if (!key || *p++ != ':')
            return NULL;
        p = json_blanks(p);
        if (!strcmp(key, name))
            return json_string(arena, p);
        p = json_skip_value(p);
        if (!p)
            return NULL;
        p = json_blanks(p);
        p += *p == ',';
    }
    return NULL;
}
