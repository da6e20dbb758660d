// SPDX-License-Identifier: MIT
// Arrays: names made of pieces, for one value of j.
//
// An array is no object here: x[1..3] is three names, x1, x2 and x3, and a line with a range in its
// name is read once for every j. What goes over the ranges is in lines.c and lists.c.
#include "ode/model/parse.h"

#include <string.h>

bool arrays_value(struct parser *p, const struct token *t, struct index index, int64_t *value) {
    if (t->kind == TOKEN_RANGE)
        return parse_error(p, t->at, "a range can only be in the name that a line defines");
    if (t->times && !index.known)
        return parse_error(p, t->at, "`[j]` needs a range such as [1..3] in the name defined here");
    *value = t->times ? index.j * t->times + t->plus : t->plus;
    return true;
}

uint32_t arrays_name_tokens(const struct parser *p, uint32_t pos, const struct token **range,
                            bool *uses_j) {
    const struct token *t = &p->tokens.items[pos];
    uint32_t n = 0;
    for (; n == 0 || t[n].glued; n++) {
        if (t[n].kind == TOKEN_RANGE && range)
            *range = &t[n];
        if (t[n].kind == TOKEN_INDEX && t[n].times && uses_j)
            *uses_j = true;
    }
    return n;
}

bool arrays_check_range(struct parser *p, const struct token *range) {
    int64_t count = (int64_t)range->plus - range->times + 1;
    if (count < 1)
        return parse_error(p, range->at, "the range is empty: %d is more than %d", range->times,
                           range->plus);
    if (range->times < 0)
        return parse_error(p, range->at, "an index cannot be negative");
    if (count > p->symbols_most)
        return parse_error(p, range->at, "the range has %lld elements; at most %u are possible",
                           (long long)count, p->symbols_most);
    return true;
}

bool arrays_check_name(struct parser *p, uint32_t pos, const struct token *range) {
    uint32_t ranges = 0, n = arrays_name_tokens(p, pos, NULL, NULL);
    for (uint32_t i = 0; i < n; i++)
        ranges += p->tokens.items[pos + i].kind == TOKEN_RANGE;
    if (ranges > 1)
        return parse_error(p, range->at, "two ranges in one name; use [j] in a `%%` block");
    return arrays_check_range(p, range);
}

static void append(struct parser *p, const char *s, uint32_t length) {
    vec_reserve(&p->scratch, &p->word, (uint64_t)p->word.count + length + 1);
    memcpy(p->word.items + p->word.count, s, length);
    p->word.count += length;
    p->word.items[p->word.count] = 0;
}

static void append_number(struct parser *p, uint64_t value) {
    char digits[20], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    append(p, at, (uint32_t)(digits + sizeof digits - at));
}

const char *arrays_name(struct parser *p, uint32_t *pos, struct index index, uint32_t *length) {
    uint32_t n = arrays_name_tokens(p, *pos, NULL, NULL);
    p->word.count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct token *t = &p->tokens.items[*pos + i];
        if (t->kind == TOKEN_NAME) {
            append(p, p->text + t->at, t->length);
            continue;
        }
        int64_t value = index.j;
        if (t->kind != TOKEN_RANGE && !arrays_value(p, t, index, &value))
            return NULL;
        if (value < 0) {
            parse_error(p, t->at, "the index is negative here: %lld", (long long)value);
            return NULL;
        }
        append_number(p, (uint64_t)value);
    }
    *pos += n;
    *length = p->word.count;
    return p->word.items;
}
