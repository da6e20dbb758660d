// SPDX-License-Identifier: MIT
// Where the time went, as text. Times are whole microseconds, rounded so that the parts and `other`
// add up to the total, at every verbosity.
#include "log/log.h"

#include <inttypes.h>
#include <string.h>

// ---- Parts of the total -------------------------------------------------------------------------

struct parts {
    uint64_t *us; // of each row, in the order of the categories
    uint64_t category_us[SHOAL_CATEGORY_COUNT];
    uint64_t other_us, total_us;
};

static bool is_part(const shoal_span_sum *s, int category) {
    return s->kind == SHOAL_SPAN && (int)s->category == category && s->count;
}

// The remainder goes to the next part, so nothing is lost.
static uint64_t round_us(uint64_t ns, uint64_t *carry) {
    uint64_t all = ns + *carry;
    *carry = all % 1000;
    return all / 1000;
}

static bool parts_of(const shoal_log *log, struct arena *arena, struct parts *p) {
    uint64_t total_ns = shoal_log_elapsed_ns(log), covered_ns = 0, carry = 0;
    *p = (struct parts){.us = arena_new(arena, uint64_t, log->row_count + 1)};
    if (!p->us)
        return false;
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        for (uint32_t i = 0; i < log->row_count; i++) {
            const shoal_span_sum *s = &log->rows[i].sum;
            if (!is_part(s, c))
                continue;
            p->us[i] = round_us(s->own_ns, &carry);
            p->category_us[c] += p->us[i];
            covered_ns += s->own_ns;
        }
    p->other_us = round_us(total_ns > covered_ns ? total_ns - covered_ns : 0, &carry);
    p->total_us = p->other_us;
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        p->total_us += p->category_us[c];
    return true;
}

static double ms(uint64_t us) { return (double)us / 1e3; }

static void put_category(struct buf *out, const char *name, uint64_t us, uint64_t total) {
    buf_printf(out, "  %-10s %12.3f ms %5.1f %%\n", name, ms(us),
               total ? 100 * (double)us / (double)total : 0);
}

static void put_categories(struct buf *out, const struct parts *p) {
    buf_puts(out, "time\n");
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        put_category(out, shoal_category_name((shoal_category)c), p->category_us[c], p->total_us);
    put_category(out, "other", p->other_us, p->total_us);
    put_category(out, "total", p->total_us, p->total_us);
}

// ---- Rows of spans -----------------------------------------------------------------------------

static void put_rest(struct buf *out, const shoal_span_sum *s) {
    if (s->bytes && s->ns)
        buf_printf(out, " %9.3f", (double)s->bytes / (double)s->ns);
    else
        buf_printf(out, " %9s", "");
    buf_printf(out, "  %s\n", s->description);
}

// `own` is without the spans inside, so these add up; `whole` is from start to stop.
static void put_spans(struct buf *out, const shoal_log *log, const struct parts *p, int category) {
    for (uint32_t i = 0; i < log->row_count; i++) {
        const shoal_span_sum *s = &log->rows[i].sum;
        if (!is_part(s, category))
            continue;
        buf_printf(out, "  %-32s %-8s %7" PRIu64 " %12.3f %12.3f", s->label,
                   shoal_category_name(s->category), s->count, ms(p->us[i]), (double)s->ns / 1e6);
        put_rest(out, s);
    }
}

static void put_head(struct buf *out) {
    buf_printf(out, "%-34s %-8s %7s %12s %12s %9s  %s\n", "event", "category", "count", "own ms",
               "whole ms", "GB/s", "what");
}

// What is not part of the total.
static void put_others(struct buf *out, const shoal_log *log, shoal_span_kind kind,
                       const char *heading) {
    bool first = true;
    for (uint32_t i = 0; i < log->row_count; i++) {
        const shoal_span_sum *s = &log->rows[i].sum;
        if (s->kind != kind || !s->count)
            continue;
        if (first)
            buf_printf(out, "%s\n", heading);
        first = false;
        buf_printf(out, "  %-32s %-16s %7" PRIu64 " %12.3f", s->label,
                   kind == SHOAL_APART ? "" : s->track, s->count, (double)s->ns / 1e6);
        put_rest(out, s);
    }
}

// ---- All ----------------------------------------------------------------------------------------

static void put_summary(struct buf *out, const shoal_log *log, const struct parts *p,
                        shoal_category category) {
    bool all = category >= SHOAL_CATEGORY_COUNT;
    if (all)
        put_categories(out, p);
    if (all && log->timing < SHOAL_TIMING_VERBOSE)
        return;
    put_head(out);
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        if (all || c == (int)category)
            put_spans(out, log, p, c);
    if (!all) {
        put_category(out, shoal_category_name(category), p->category_us[category], p->total_us);
        return;
    }
    put_others(out, log, SHOAL_APART, "measured apart, not part of the total");
    put_others(out, log, SHOAL_ON_TRACK, "on devices and other threads, not part of the total");
}

size_t shoal_log_summary(const shoal_log *log, shoal_category category, char *text, size_t size) {
    struct arena arena = {0};
    struct parts p;
    struct buf out = {0};
    if (text && size)
        text[0] = 0;
    if (!log || (unsigned)category > SHOAL_CATEGORY_COUNT || !parts_of(log, &arena, &p))
        return 0;
    put_summary(&out, log, &p, category);
    size_t length = out.failed ? 0 : out.length, fits = length < size ? length : size - 1;
    if (text && size && length) {
        memcpy(text, out.data, fits);
        text[fits] = 0;
    }
    buf_free(&out);
    arena_free(&arena);
    return length;
}
