// SPDX-License-Identifier: MIT
// Where the time went, from the time log. Times are whole microseconds, rounded so that the parts
// and `other` add up to the total, at every verbosity.
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- Parts of the total -------------------------------------------------------------------------

struct part {
    shoal_event_sum sum;
    uint64_t us;
};

struct parts {
    struct part *items; // by category
    size_t count;
    uint64_t category_us[SHOAL_CATEGORY_COUNT];
    uint64_t other_us, total_us;
};

// The remainder goes to the next part, so nothing is lost.
static uint64_t round_us(uint64_t ns, uint64_t *carry) {
    uint64_t all = ns + *carry;
    *carry = all % 1000;
    return all / 1000;
}

static struct parts parts_of(const shoal_log *log) {
    uint64_t total_ns = shoal_log_elapsed_ns(log), covered_ns = 0, carry = 0;
    size_t rows = shoal_log_sum_count(log);
    struct parts p = {.items = cli_realloc(NULL, rows * sizeof *p.items)};
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        for (size_t i = 0; i < rows; i++) {
            shoal_event_sum sum = shoal_log_sum(log, i);
            if (sum.kind != SHOAL_SPAN || sum.category != (shoal_category)c || !sum.count)
                continue;
            uint64_t us = round_us(sum.own_ns, &carry);
            p.items[p.count++] = (struct part){sum, us};
            p.category_us[c] += us;
            covered_ns += sum.own_ns;
        }
    p.other_us = round_us(total_ns > covered_ns ? total_ns - covered_ns : 0, &carry);
    p.total_us = p.other_us;
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        p.total_us += p.category_us[c];
    return p;
}

static double ms(uint64_t us) { return (double)us / 1e3; }

static void show_category(const char *name, uint64_t us, uint64_t total) {
    fprintf(stderr, "  %-10s %12.3f ms %5.1f %%\n", name, ms(us),
            total ? 100 * (double)us / (double)total : 0);
}

static void show_categories(const struct parts *p) {
    fputs("time\n", stderr);
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        show_category(shoal_category_name((shoal_category)c), p->category_us[c], p->total_us);
    show_category("other", p->other_us, p->total_us);
    show_category("total", p->total_us, p->total_us);
}

// ---- Rows of events -----------------------------------------------------------------------------

static void show_speed(const shoal_event_sum *s) {
    if (s->bytes && s->ns)
        fprintf(stderr, " %9.3f", (double)s->bytes / (double)s->ns);
    fputc('\n', stderr);
}

// `own` is without the events inside, so these add up; `whole` is from start to stop.
static void show_events(const struct parts *p) {
    fprintf(stderr, "%-34s %-8s %7s %12s %12s %9s\n", "event", "category", "count", "own ms",
            "whole ms", "GB/s");
    for (size_t i = 0; i < p->count; i++) {
        const shoal_event_sum *s = &p->items[i].sum;
        fprintf(stderr, "  %-32s %-8s %7" PRIu64 " %12.3f %12.3f", s->label,
                shoal_category_name(s->category), s->count, ms(p->items[i].us),
                (double)s->ns / 1e6);
        show_speed(s);
    }
}

// What is not part of the total.
static void show_others(const shoal_log *log, shoal_event_kind kind, const char *heading) {
    bool first = true;
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_event_sum s = shoal_log_sum(log, i);
        if (s.kind != kind || !s.count)
            continue;
        if (first)
            fprintf(stderr, "%s\n", heading);
        first = false;
        fprintf(stderr, "  %-32s %-16s %7" PRIu64 " %12.3f", s.label,
                kind == SHOAL_APART ? "" : s.track, s.count, (double)s.ns / 1e6);
        show_speed(&s);
    }
}

// ---- Cache and rates ----------------------------------------------------------------------------

static void show_cache(const shoal_log *log) {
    char result[64], reason[256];
    for (size_t i = 0; i < shoal_log_event_count(log); i++) {
        if (strcmp(shoal_log_event(log, i).label, "cache_lookup") ||
            !shoal_log_meta(log, i, "result", result, sizeof result))
            continue;
        bool why = shoal_log_meta(log, i, "reason", reason, sizeof reason) && reason[0];
        fprintf(stderr, "cache\n  %s%s%s\n", result, why ? ": " : "", why ? reason : "");
    }
}

// Of the results: as the calling thread saw them come, or as a device sent them.
static uint64_t result_bytes(const shoal_log *log) {
    uint64_t bytes[2] = {0};
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_event_sum s = shoal_log_sum(log, i);
        if (!strncmp(s.label, "d2h_transfer_", 13) && s.kind != SHOAL_APART)
            bytes[s.kind == SHOAL_ON_TRACK] += s.bytes;
    }
    return bytes[0] ? bytes[0] : bytes[1];
}

static void show_rates(const shoal_log *log, const shoal_summary *s) {
    if (!(s->seconds > 0) || !s->done)
        return;
    char runs[32], steps[32];
    fprintf(stderr, "rate\n  %s trajectories/s, %s steps/s, %.3g GB/s of results\n",
            show_rate((double)s->done / s->seconds, runs),
            show_rate((double)s->steps / s->seconds, steps),
            (double)result_bytes(log) / s->seconds / 1e9);
}

void timing_show(const shoal_log *log, const shoal_summary *summary) {
    if (shoal_log_timing(log) == SHOAL_TIMING_NONE)
        return;
    struct parts p = parts_of(log);
    show_categories(&p);
    if (shoal_log_timing(log) >= SHOAL_TIMING_VERBOSE) {
        show_events(&p);
        show_others(log, SHOAL_APART, "measured apart, not part of the total");
        show_others(log, SHOAL_ON_TRACK, "on devices and other threads, not part of the total");
    }
    show_cache(log);
    show_rates(log, summary);
    free(p.items);
}

// ---- As it happens ------------------------------------------------------------------------------

static void on_event(const shoal_log *log, size_t event, bool ended, void *user) {
    shoal_event e = shoal_log_event(log, event);
    int depth = 0;
    for (int32_t p = e.parent; p >= 0 && depth < 16; depth++)
        p = shoal_log_event(log, (size_t)p).parent;
    progress_erase(user);
    fprintf(stderr, "%12.3f ms %*s%s %s", (double)(e.t0_ns + e.dur_ns) / 1e6, 2 * depth, "",
            ended ? "<" : ">", e.label);
    if (ended)
        fprintf(stderr, " %.3f ms", (double)e.dur_ns / 1e6);
    if (e.kind != SHOAL_SPAN)
        fprintf(stderr, " [%s]", e.track);
    if (e.meta)
        fprintf(stderr, " %s", e.meta);
    fputc('\n', stderr);
}

shoal_code timing_begin(const struct args *a, const struct talk *talk, struct progress *progress,
                        shoal_log *log) {
    uint32_t timing = args_choice(a, "timing", SHOAL_TIMING_DEFAULT);
    const char *json = args_value(a, "timing-json"), *trace = args_value(a, "trace");
    shoal_log_set_timing(log, (shoal_timing)timing);
    if (timing == SHOAL_TIMING_DEBUG && !talk->quiet)
        shoal_log_on_event(log, on_event, progress);
    shoal_code code = json ? shoal_log_json(log, json) : SHOAL_OK;
    return !code && trace ? shoal_log_trace(log, trace) : code;
}
