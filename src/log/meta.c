// SPDX-License-Identifier: MIT
// Metadata of spans: kept as typed values, made into JSON when somebody asks, so that recording is
// cheap and the JSON is always valid.
#include "log/log.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_METAS = 256 };

static bool make_room(shoal_log *log) {
    uint32_t room = log->meta_room ? 2 * log->meta_room : FIRST_METAS;
    struct log_meta *bigger =
        room < INT32_MAX / 2 ? realloc(log->metas, room * sizeof *log->metas) : NULL;
    if (!bigger)
        return false;
    log->metas = bigger;
    log->meta_room = room;
    return true;
}

// A new value at the end of the span's list; NULL when it is not to be kept. Beyond LOG_KEEP only
// the newest span takes any: its values are forgotten with it.
static struct log_meta *add(shoal_log *log, int32_t span, const char *key, enum log_value type) {
    if (!log || span < 0 || (uint32_t)span >= log->span_count || !log->spans[span].open ||
        (log->span_count > LOG_KEEP && (uint32_t)span + 1 != log->span_count) ||
        (log->meta_count == log->meta_room && !make_room(log)))
        return NULL;
    struct log_span *e = &log->spans[span];
    int32_t index = (int32_t)log->meta_count++;
    *(e->meta < 0 ? &e->meta : &log->metas[e->meta_last].next) = index;
    e->meta_last = index;
    log->metas[index] = (struct log_meta){.key = key, .type = type, .next = -1};
    return &log->metas[index];
}

void log_u64(shoal_log *log, int32_t span, const char *key, uint64_t value) {
    struct log_meta *m = add(log, span, key, LOG_U64);
    if (m)
        m->value.u64 = value;
}

void log_nbytes(shoal_log *log, int32_t span, uint64_t bytes) {
    struct log_meta *m = add(log, span, "nbytes", LOG_U64);
    if (!m)
        return;
    m->value.u64 = bytes;
    log->rows[log->spans[span].row].sum.bytes += bytes;
}

void log_f64(shoal_log *log, int32_t span, const char *key, double value) {
    struct log_meta *m = add(log, span, key, LOG_F64);
    if (m)
        m->value.f64 = value;
}

void log_text(shoal_log *log, int32_t span, const char *key, const char *text) {
    struct log_meta *m = text ? add(log, span, key, LOG_TEXT) : NULL;
    if (!m)
        return;
    size_t at = log->texts.length;
    buf_put(&log->texts, text, strlen(text) + 1);
    m->value.text = at;
    if (log->texts.length > at)
        log_clean(log->texts.data + at);
    else // out of memory
        *m = (struct log_meta){.key = key, .type = LOG_U64, .next = -1};
}

void log_clean(char *text) {
    size_t length = strlen(text);
    for (size_t at = 0; at < length;) {
        unsigned char *first = (unsigned char *)text + at;
        if (!utf8_next(text, length, &at) || *first < 0x20 || *first == 0x7f)
            *first = '?';
    }
}

// A number without the locale's decimal point.
static void put_f64(struct buf *out, double value) {
    double size = fabs(value);
    if (!isfinite(value))
        buf_puts(out, "null");
    else if (size >= 1e9)
        buf_printf(out, "%.0f", value);
    else {
        uint64_t millionths = (uint64_t)(size * 1e6 + 0.5);
        buf_printf(out, "%s%" PRIu64 ".%06u", value < 0 ? "-" : "", millionths / 1000000,
                   (unsigned)(millionths % 1000000));
    }
}

static void put_value(const shoal_log *log, const struct log_meta *m, bool json, struct buf *out) {
    if (m->type == LOG_U64)
        buf_printf(out, "%" PRIu64, m->value.u64);
    else if (m->type == LOG_F64)
        put_f64(out, m->value.f64);
    else if (json)
        buf_json(out, log->texts.data + m->value.text);
    else
        buf_puts(out, log->texts.data + m->value.text);
}

void log_meta_json(const shoal_log *log, const struct log_span *e, struct buf *out) {
    buf_putc(out, '{');
    for (int32_t i = e->meta; i >= 0; i = log->metas[i].next) {
        if (i != e->meta)
            buf_putc(out, ',');
        buf_json(out, log->metas[i].key);
        buf_putc(out, ':');
        put_value(log, &log->metas[i], true, out);
    }
    buf_putc(out, '}');
}

const char *log_meta_text(const shoal_log *log, size_t span) {
    struct log_span *e = &log->spans[span];
    if (e->open || e->meta < 0 || e->meta_text)
        return e->meta_text;
    struct buf text = {0};
    log_meta_json(log, e, &text);
    return e->meta_text = text.data;
}

bool shoal_log_meta(const shoal_log *log, size_t span, const char *key, char *text, size_t size) {
    if (text && size)
        text[0] = 0;
    if (span >= shoal_log_span_count(log) || !key || !text)
        return false;
    int32_t i = log->spans[span].meta;
    while (i >= 0 && strcmp(log->metas[i].key, key))
        i = log->metas[i].next;
    if (i < 0)
        return false;
    struct buf value = {0};
    put_value(log, &log->metas[i], false, &value);
    if (value.data && size)
        snprintf(text, size, "%s", value.data);
    buf_free(&value);
    return true;
}
