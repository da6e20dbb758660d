// SPDX-License-Identifier: MIT
// Values of options: text to value by the option's type, and into its field of shoal_options.
//
// Every message names the option and what it would have taken. Nothing here looks at two options at
// once; that is options_check's business.
#include "api/options.h"

#include "base/amount.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/number.h"
#include "ode/run/choice.h"
#include "ode/run/save_grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

shoal_code option_wrong(const struct option *o, const struct option_origin *origin,
                        struct report *r, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    const char *what = text.data ? text.data : "not enough memory";
    if (origin && origin->source)
        report_at(r, SHOAL_ERROR, origin->source, origin->at, "%s: %s", o->info.name, what);
    else
        report_error(r, SHOAL_INPUT, "--%s: %s", o->info.name, what);
    buf_free(&text);
    return SHOAL_INPUT;
}

shoal_code option_unknown(const char *name, const struct option_origin *origin, struct report *r) {
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < option_table_count; i++)
        nearest_offer(&n, option_table[i].info.name);
    const char *best = nearest_best(&n);
    const char *ask = best ? "; did you mean " : "", *end = best ? "?" : "";
    best = best ? best : "";
    if (origin && origin->source)
        report_at(r, SHOAL_ERROR, origin->source, origin->at, "unknown option '%s'%s%s%s", name,
                  ask, best, end);
    else
        report_error(r, SHOAL_INPUT, "unknown option '%s'%s%s%s", name, ask, best, end);
    return SHOAL_INPUT;
}

// Position of the word among the blank-separated `words`; UINT32_MAX when it is none of them.
static uint32_t read_word(const char *words, const char *text, size_t length) {
    uint32_t index = 0;
    for (const char *w = words; *w; index++) {
        size_t n = strcspn(w, " ");
        if (n == length && !memcmp(w, text, n))
            return index;
        w += n + (w[n] == ' ');
    }
    return UINT32_MAX;
}

static shoal_code wrong_word(const struct option *o, const char *text,
                             const struct option_origin *origin, struct report *r) {
    struct buf list = {0};
    for (const char *w = o->words; *w;) {
        size_t n = strcspn(w, " ");
        bool last = w[n] == 0;
        if (list.length)
            buf_puts(&list, last ? " or " : ", ");
        buf_put(&list, w, n);
        w += n + !last;
    }
    shoal_code code =
        option_wrong(o, origin, r, "'%s' is not one of %s", text, list.data ? list.data : "");
    buf_free(&list);
    return code;
}

static shoal_code read_number(const struct option *o, const char *text,
                              const struct option_origin *origin, double *out, struct report *r) {
    double v;
    if (!number_finite(text, &v) &&
        !(origin && origin->model && model_number(origin->model, text, &v) && isfinite(v)))
        return option_wrong(o, origin, r, "'%s' is not a number", text);
    if (o->range == OPTION_POSITIVE && !(v > 0))
        return option_wrong(o, origin, r, "must be more than 0, not %s", text);
    if (o->range == OPTION_NOT_NEGATIVE && !(v >= 0))
        return option_wrong(o, origin, r, "must not be negative, not %s", text);
    *out = v;
    return SHOAL_OK;
}

static shoal_code read_integer(const struct option *o, const char *text,
                               const struct option_origin *origin, uint64_t *out,
                               struct report *r) {
    bool bytes = o->type == OPTION_BYTES;
    uint64_t v = 0;
    double number;
    if (number_finite(text, &number) && number < 0)
        return option_wrong(o, origin, r, "must not be negative, not %s", text);
    if (!(bytes ? amount_bytes(text, &v) : amount_count(text, &v)))
        return option_wrong(o, origin, r, "'%s' is not %s", text,
                            bytes ? "a number of bytes, like 800M or 2G"
                                  : "a whole number below 2^64, like 4096, 10k or 1e6");
    if (v < o->least)
        return option_wrong(o, origin, r, "must be at least %llu, not %s",
                            (unsigned long long)o->least, text);
    if (v > (o->most ? o->most : INT64_MAX) && !(o->least == 0 && o->most == 0))
        return option_wrong(o, origin, r, "must be at most %llu, not %s",
                            (unsigned long long)(o->most ? o->most : INT64_MAX), text);
    *out = v;
    return SHOAL_OK;
}

// The seconds of a unit; 0: there is none of that letter.
static double seconds_of(char unit) {
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (unit == units[i].unit)
            return units[i].seconds;
    return 0;
}

// Numbers with their units, each smaller than the one before: 3h50m.
static shoal_code read_age(const struct option *o, const char *text,
                           const struct option_origin *origin, double *out, struct report *r) {
    double last = INFINITY, number;
    const char *at = text;
    *out = 0;
    while (*at) {
        size_t n = number_read(at, strlen(at), NUMBER_PLAIN, &number);
        double unit = n ? seconds_of(at[n]) : 0;
        if (!(unit > 0 && unit < last))
            break;
        *out += number * unit;
        last = unit;
        at += n + 1;
    }
    return !*at && *out > 0 && isfinite(*out)
               ? SHOAL_OK
               : option_wrong(o, origin, r, "'%s' is no length of time such as 30d or 3h50m", text);
}

static shoal_code read_flag(const struct option *o, const char *text,
                            const struct option_origin *origin, uint32_t *out, struct report *r) {
    static const char words[] = "off on false true no yes 0 1";
    uint32_t w = text && text[0] ? read_word(words, text, strlen(text)) : 1;
    if (w == UINT32_MAX)
        return option_wrong(o, origin, r, "'%s' is neither on nor off", text);
    *out = w & 1;
    return SHOAL_OK;
}

static shoal_code read_method(const struct option *o, const char *text,
                              const struct option_origin *origin, struct report *r) {
    if (choice_name(text))
        return SHOAL_OK;
    struct nearest n = {.wanted = text};
    nearest_offer(&n, choice_auto);
    struct buf aliases = {0};
    for (uint32_t i = 0; i < method_count; i++) {
        nearest_offer(&n, methods[i].name);
        buf_printf(&aliases, " %s", methods[i].aliases);
    }
    for (char *rest = aliases.failed ? NULL : aliases.data, *word; (word = strsep(&rest, " "));)
        nearest_offer(&n, word);
    const char *best = nearest_best(&n);
    shoal_code code = SHOAL_OK;
    if (best)
        code = option_wrong(o, origin, r, "unknown method '%s'; did you mean %s?", text, best);
    buf_free(&aliases);
    if (code)
        return code;
    return option_wrong(o, origin, r, "unknown method '%s'; `shoal methods` lists them", text);
}

static shoal_code read_device(const struct option *o, const char *text,
                              const struct option_origin *origin, struct report *r);

// KIND:I,J,... and KIND:all, with a + between kinds: each as one device.
static shoal_code read_devices(const struct option *o, const char *text,
                               const struct option_origin *origin, struct report *r) {
    char one[64];
    shoal_code code = SHOAL_OK;
    for (const char *at = text; code == SHOAL_OK;) {
        size_t length = strcspn(at, "+"), kind = strcspn(at, ":+"), n = strcspn(at, ",+");
        bool all = length > kind && length - kind == 4 && !strncmp(at + kind, ":all", 4);
        if (!strncmp(at, "auto", 4) || (n < length && kind > n) || length >= sizeof one)
            return option_wrong(o, origin, r,
                                "'%s' is not a list of devices; write cuda:0,1, "
                                "cuda:all or cpu+cuda:0",
                                text);
        snprintf(one, sizeof one, "%.*s%s", (int)(all ? kind : n), at, all ? ":0" : "");
        code = read_device(o, one, origin, r);
        for (const char *i = at + n; *i == ',' && code == SHOAL_OK; i += strcspn(i + 1, ",+") + 1) {
            snprintf(one, sizeof one, "%.*s:%.*s", (int)kind, at, (int)strcspn(i + 1, ",+"), i + 1);
            code = read_device(o, one, origin, r);
        }
        if (!at[length])
            break;
        at += length + 1;
    }
    return code;
}

static shoal_code read_device(const struct option *o, const char *text,
                              const struct option_origin *origin, struct report *r) {
    if (strpbrk(text, ",+") || strstr(text, ":all"))
        return read_devices(o, text, origin, r);
    size_t n = strcspn(text, ":");
    uint32_t w = read_word(o->words, text, n);
    if (w == UINT32_MAX)
        return wrong_word(o, text, origin, r);
    const char *digits = text + n + (text[n] == ':');
    bool indexed = text[n] == ':';
    if (indexed &&
        (w < 2 || !*digits || strlen(digits) > 4 || strspn(digits, "0123456789") != strlen(digits)))
        return option_wrong(o, origin, r, "'%s' is not a device; write cpu, or cuda:0", text);
    return SHOAL_OK;
}

// "1e-9", "1e-9,x=1e-15" or "x=1e-15,y=1e-12": *number is NaN when it has none.
static shoal_code read_atol(const struct option *o, const char *text,
                            const struct option_origin *origin, double *number, struct report *r) {
    char item[256];
    bool first = true;
    struct option plain = *o;
    plain.range = OPTION_POSITIVE;
    *number = NAN;
    for (const char *at = text; first || *at; first = false) {
        if (!list_item(&at, item, sizeof item))
            return option_wrong(o, origin, r, "an item of the list is too long");
        char *text_of = list_split(item);
        double value = NAN;
        if ((!text_of && !first) || (text_of && !item[0]))
            return option_wrong(o, origin, r, "'%s' is not STATE=NUMBER", item);
        shoal_code code = read_number(&plain, text_of ? text_of : item, origin, &value, r);
        if (code)
            return code;
        if (!text_of)
            *number = value;
    }
    return SHOAL_OK;
}

// "final", "steps", "n=N", "every=DT", "at=T,T": which, and its value.
static shoal_code read_save(const struct option *o, const char *text,
                            const struct option_origin *origin, shoal_option_value *out,
                            struct report *r) {
    struct option part = *o;
    if (!strcmp(text, "final"))
        out->choice = SHOAL_SAVE_FINAL;
    else if (!strcmp(text, "steps"))
        out->choice = SHOAL_SAVE_STEPS;
    else if (!strncmp(text, "n=", 2)) {
        out->choice = SHOAL_SAVE_N;
        part.least = 2;
        part.most = UINT32_MAX;
        part.type = OPTION_COUNT;
        return read_integer(&part, text + 2, origin, &out->count, r);
    } else if (!strncmp(text, "every=", 6)) {
        out->choice = SHOAL_SAVE_EVERY;
        part.range = OPTION_POSITIVE;
        return read_number(&part, text + 6, origin, &out->number, r);
    } else if (!strncmp(text, "at=", 3)) {
        out->choice = SHOAL_SAVE_AT;
        if (!save_grid_times(text + 3, NULL))
            return option_wrong(o, origin, r, "'%s' is not a list of times", text + 3);
    } else
        return option_wrong(o, origin, r,
                            "'%s' is not one of final, n=N, every=DT, at=T,T,... or steps", text);
    return SHOAL_OK;
}

shoal_code option_read(const struct option *o, const char *text, const struct option_origin *origin,
                       shoal_option_value *out, struct report *r) {
    *out = (shoal_option_value){0};
    if (o->type == OPTION_FLAG)
        return read_flag(o, text, origin, &out->choice, r);
    if (!text || !*text)
        return option_wrong(o, origin, r, "needs a value: %s", o->info.metavar);
    switch (o->type) {
    case OPTION_NUMBER:
        return read_number(o, text, origin, &out->number, r);
    case OPTION_COUNT:
    case OPTION_BYTES:
        return read_integer(o, text, origin, &out->count, r);
    case OPTION_AGE:
        return read_age(o, text, origin, &out->number, r);
    case OPTION_CHOICE:
    case OPTION_WORD:
        out->choice = read_word(o->words, text, strlen(text));
        return out->choice == UINT32_MAX ? wrong_word(o, text, origin, r) : SHOAL_OK;
    case OPTION_METHOD:
        return read_method(o, text, origin, r);
    case OPTION_DEVICE:
        return read_device(o, text, origin, r);
    case OPTION_ATOL:
        return read_atol(o, text, origin, &out->number, r);
    case OPTION_SAVE:
        return read_save(o, text, origin, out, r);
    case OPTION_FLAG:
    case OPTION_TEXT:
        break;
    }
    return SHOAL_OK;
}

static void store_atol(const char *text, double number, shoal_options *options) {
    bool named = isnan(number);
    const char *list = named ? text : strchr(text, ',');
    if (!named)
        options->atol = number;
    options->atol_list = list && !named ? list + 1 : list;
}

static void store_save(const char *text, const shoal_option_value *v, shoal_options *options) {
    options->save = (shoal_save)v->choice;
    options->save_n = v->count;
    options->save_every = v->number;
    options->save_at = v->choice == SHOAL_SAVE_AT ? text + 3 : NULL;
    options->save_states = true;
}

shoal_code option_store(const struct option *o, const char *text,
                        const struct option_origin *origin, shoal_options *options,
                        struct report *r) {
    shoal_option_value v;
    shoal_code code = option_read(o, text, origin, &v, r);
    if (code)
        return code;
    void *field = (char *)options + o->offset;
    uint32_t small = o->type == OPTION_CHOICE ? v.choice : (uint32_t)v.count;
    switch (o->type) {
    case OPTION_FLAG:
        *(bool *)field = v.choice != 0;
        break;
    case OPTION_NUMBER:
    case OPTION_AGE:
        *(double *)field = v.number;
        break;
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_CHOICE:
        if (o->size == sizeof small)
            memcpy(field, &small, sizeof small);
        else
            *(uint64_t *)field = v.count;
        break;
    case OPTION_ATOL:
        store_atol(text, v.number, options);
        break;
    case OPTION_SAVE:
        store_save(text, &v, options);
        break;
    case OPTION_METHOD:
        options->method = choice_name(text);
        break;
    case OPTION_WORD:
    case OPTION_TEXT:
    case OPTION_DEVICE:
        *(const char **)field = text;
        break;
    }
    return SHOAL_OK;
}
