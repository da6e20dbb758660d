// SPDX-License-Identifier: MIT
// A reader of JSON that keeps nothing: it goes through the text, or says that it cannot.
#include "json_text.h"

#include "check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *blank(const char *p) { return p + strspn(p, " \t\r\n"); }

// After the UTF-8 character at p; NULL when it is none.
static const char *character(const char *p) {
    unsigned char c = (unsigned char)*p;
    int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : 3;
    if (c < 0x20 || (c >= 0x80 && c < 0xc2) || c > 0xf4)
        return NULL;
    for (p++; more; more--, p++)
        if (((unsigned char)*p & 0xc0) != 0x80)
            return NULL;
    return p;
}

static const char *string(const char *p) {
    if (*p++ != '"')
        return NULL;
    while (p && *p && *p != '"') {
        if (*p != '\\') {
            p = character(p);
        } else if (p[1] == 'u') {
            for (int i = 2; i < 6; i++)
                if (!isxdigit((unsigned char)p[i]))
                    return NULL;
            p += 6;
        } else if (p[1] && strchr("\"\\/bfnrt", p[1])) {
            p += 2;
        } else
            return NULL;
    }
    return p && *p == '"' ? p + 1 : NULL;
}

static const char *number(const char *p) {
    const char *start = p += *p == '-';
    p += strspn(p, "0123456789");
    if (p == start || (*start == '0' && p > start + 1))
        return NULL;
    if (*p == '.') {
        size_t n = strspn(p + 1, "0123456789");
        if (!n)
            return NULL;
        p += 1 + n;
    }
    return p;
}

static const char *value(const char *p, int depth);

static const char *members(const char *p, char last, int depth) {
    p = blank(p + 1);
    if (*p == last)
        return p + 1;
    for (;;) {
        if (last == '}') {
            p = string(blank(p));
            p = p ? blank(p) : NULL;
            if (!p || *p++ != ':')
                return NULL;
        }
        p = value(p, depth + 1);
        if (!p || (*p != ',' && *p != last))
            return NULL;
        if (*p++ == last)
            return p;
    }
}

// After the value and the blanks behind it.
static const char *value(const char *p, int depth) {
    static const char *const words[] = {"null", "true", "false"};
    p = blank(p);
    if (depth > 32)
        return NULL;
    const char *after = *p == '{'   ? members(p, '}', depth)
                        : *p == '[' ? members(p, ']', depth)
                        : *p == '"' ? string(p)
                                    : number(p);
    for (size_t i = 0; !after && i < sizeof words / sizeof *words; i++)
        if (!strncmp(p, words[i], strlen(words[i])))
            after = p + strlen(words[i]);
    return after ? blank(after) : NULL;
}

bool json_is_valid(const char *text) {
    const char *end = value(text, 0);
    return end && !*end;
}

const char *json_field(const char *line, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    if (!at || at > line + strcspn(line, "\n"))
        return "";
    at += strlen(key);
    at += *at == '"';
    return check_keep(strndup(at, strcspn(at, ",\"}\n")));
}
