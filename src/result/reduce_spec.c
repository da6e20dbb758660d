// SPDX-License-Identifier: MIT
// The text of --reduce.
#include "base/number.h"
#include "result/reduce.h"

#include <string.h>

static const char *const words[] = {
#define X(word) #word,
    REDUCE_WORDS(X)
#undef X
        [REDUCE_quantile] = "quantile",
};

#define REDUCE_USAGE "write 'mean,std,min,max,quantile(0.05,0.5,0.95)' or some of these"

struct reader {
    struct source source;
    size_t at;
    struct arena *arena;
    struct reduce_spec *out;
    struct report *r;
};

static char now(const struct reader *s) { return s->source.text[s->at]; }

static void skip_blanks(struct reader *s) {
    while (now(s) == ' ' || now(s) == '\t')
        s->at++;
}

static shoal_code wrong(const struct reader *s, size_t at, const char *what) {
    report_at(s->r, SHOAL_ERROR, &s->source, at, "%s; %s", what, REDUCE_USAGE);
    return SHOAL_INPUT;
}

static shoal_code add(struct reader *s, size_t at, struct reduce_item item) {
    for (uint32_t i = 0; i < s->out->items.count; i++) {
        const struct reduce_item *other = &s->out->items.items[i];
        if (other->kind == item.kind && other->fraction == item.fraction)
            return wrong(s, at, "this is asked for twice");
    }
    s->out->wants[item.kind] = true;
    *vec_push(s->arena, &s->out->items) = item;
    return SHOAL_OK;
}

static shoal_code read_fraction(struct reader *s) {
    skip_blanks(s);
    size_t at = s->at;
    const char *text = s->source.text + at;
    struct reduce_item item = {.kind = REDUCE_quantile};
    size_t length = number_read(text, s->source.length - at, NUMBER_PLAIN, &item.fraction);
    if (!length || !(item.fraction <= 1))
        return wrong(s, at, "a quantile is a number from 0 to 1");
    item.name = arena_printf(s->arena, "q%.*s", (int)length, text);
    s->at += length;
    skip_blanks(s);
    return add(s, at, item);
}

static shoal_code read_fractions(struct reader *s) {
    skip_blanks(s);
    if (now(s) != '(')
        return wrong(s, s->at, "which quantiles is missing here");
    shoal_code code = SHOAL_OK;
    do {
        s->at++;
        code = read_fraction(s);
    } while (code == SHOAL_OK && now(s) == ',');
    if (code == SHOAL_OK && now(s) != ')')
        return wrong(s, s->at, "expected , or )");
    s->at += code == SHOAL_OK;
    return code;
}

static shoal_code read_item(struct reader *s) {
    skip_blanks(s);
    size_t at = s->at, length = strspn(s->source.text + at, "abcdefghijklmnopqrstuvwxyz");
    s->at += length;
    for (int kind = 0; kind < REDUCE_KINDS; kind++) {
        if (strlen(words[kind]) != length || memcmp(words[kind], s->source.text + at, length))
            continue;
        return kind == REDUCE_quantile
                   ? read_fractions(s)
                   : add(s, at, (struct reduce_item){.kind = kind, .name = words[kind]});
    }
    return wrong(s, at, length ? "unknown statistic" : "a statistic is missing here");
}

shoal_code reduce_read(const char *text, struct arena *arena, struct reduce_spec *out,
                       struct report *r) {
    struct reader s = {{"--reduce", text, strlen(text)}, 0, arena, out, r};
    *out = (struct reduce_spec){0};
    for (;;) {
        shoal_code code = read_item(&s);
        if (code != SHOAL_OK)
            return code;
        skip_blanks(&s);
        if (!now(&s))
            return SHOAL_OK;
        if (now(&s) != ',')
            return wrong(&s, s.at, "expected a comma");
        s.at++;
    }
}
