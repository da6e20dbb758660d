// SPDX-License-Identifier: MIT
// The handle, spans as they begin and end, and their sums.
#include "log/log.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SPANS = 256 };

shoal_log *shoal_log_new(void) {
    shoal_log *log = calloc(1, sizeof *log);
    if (!log)
        return NULL;
    log->open = -1;
    log->json.fd = log->trace.fd = -1;
    log->timing = SHOAL_TIMING_DEFAULT;
    log->start_ns = clock_ns();
    if (!log_rows_init(log)) {
        shoal_log_free(log);
        return NULL;
    }
    log_update(log);
    return log;
}

static void forget_spans(shoal_log *log) {
    for (uint32_t i = 0; i < log->span_count; i++)
        free(log->spans[i].meta_text);
    log->span_count = log->meta_count = 0;
    log->texts.length = 0;
}

void shoal_log_free(shoal_log *log) {
    if (!log)
        return;
    shoal_log_close(log);
    forget_spans(log);
    free(log->spans);
    free(log->metas);
    free(log->rows);
    arena_free(&log->arena);
    buf_free(&log->texts);
    buf_free(&log->line);
    report_free(&log->report);
    free(log);
}

// ---- Messages -----------------------------------------------------------------------------------

struct report *log_report(shoal_log *log) {
    return log ? &log->report : NULL;
}

size_t shoal_log_message_count(const shoal_log *log) {
    return log ? log->report.messages.count : 0;
}

shoal_message shoal_log_message(const shoal_log *log, size_t index) {
    if (index >= shoal_log_message_count(log))
        return (shoal_message){.text = ""};
    return log->report.messages.items[index];
}

uint64_t shoal_log_message_gone(const shoal_log *log) { return log ? log->report.gone : 0; }

shoal_code shoal_log_clear(shoal_log *log) {
    if (!log)
        return SHOAL_USAGE;
    if (log->open >= 0 || log->calling)
        return report_error(&log->report, SHOAL_USAGE, "shoal_log_clear: a span is open");
    report_free(&log->report);
    forget_spans(log);
    for (uint32_t i = 0; i < log->row_count; i++) {
        shoal_span_sum *s = &log->rows[i].sum;
        s->count = s->ns = s->own_ns = s->bytes = 0;
    }
    log->other_ns = 0;
    log->cleared_ns = log->last_ns = log_now_ns(log);
    return SHOAL_OK;
}

void log_pass_on(const shoal_log *from, struct report *r) {
    for (size_t i = 0; i < shoal_log_message_count(from); i++) {
        shoal_message m = shoal_log_message(from, i);
        const char *colon = strstr(m.text, ": "), *text = colon ? colon + 2 : m.text;
        if (m.severity == SHOAL_WARNING)
            report_warning(r, "%s", text);
        else if (m.severity == SHOAL_ERROR)
            report_error(r, m.code, "%s", text);
    }
}

// ---- Who listens --------------------------------------------------------------------------------

void log_update(shoal_log *log) {
    log->watched = log->call || log->json.fd >= 0 || log->trace.fd >= 0;
    log->recording = !log->calling && (log->watched || log->timing != SHOAL_TIMING_NONE);
}

void shoal_log_set_timing(shoal_log *log, shoal_timing timing) {
    if (!log)
        return;
    log->timing = timing;
    log_update(log);
}

shoal_timing shoal_log_timing(const shoal_log *log) {
    return log ? log->timing : SHOAL_TIMING_NONE;
}

void shoal_log_on_span(shoal_log *log,
                       void (*call)(const shoal_log *log, size_t span, bool ended, void *user),
                       void *user) {
    if (!log)
        return;
    log->call = call;
    log->user = user;
    log_update(log);
}

static void tell(shoal_log *log, int32_t span, bool ended) {
    log_files_step(log, &log->spans[span], ended);
    if (!log->call)
        return;
    log->calling = true; // nothing begins or ends in the call
    log_update(log);
    log->call(log, (size_t)span, ended, log->user);
    log->calling = false;
    log_update(log);
}

// ---- Spans --------------------------------------------------------------------------------------

// Time up to now belongs to the innermost open span.
static void account(shoal_log *log, uint64_t now_ns) {
    uint64_t *to =
        log->open >= 0 ? &log->rows[log->spans[log->open].row].sum.own_ns : &log->other_ns;
    *to += now_ns - log->last_ns;
    log->last_ns = now_ns;
}

static bool make_room(shoal_log *log) {
    uint32_t room = log->span_room ? 2 * log->span_room : FIRST_SPANS;
    struct log_span *bigger =
        room < INT32_MAX / 2 ? realloc(log->spans, room * sizeof *log->spans) : NULL;
    if (!bigger)
        return false;
    log->spans = bigger;
    log->span_room = room;
    return true;
}

int32_t log_push(shoal_log *log, uint32_t row, int32_t parent, uint64_t t0_ns) {
    if (log->span_count == log->span_room && !make_room(log))
        return -1;
    log->spans[log->span_count] = (struct log_span){.id = log->next_id++,
                                                    .row = (uint16_t)row,
                                                    .open = true,
                                                    .parent = parent,
                                                    .meta = -1,
                                                    .meta_last = -1,
                                                    .metas_before = log->meta_count,
                                                    .texts_before = log->texts.length,
                                                    .t0_ns = t0_ns};
    return (int32_t)log->span_count++;
}

int32_t log_open_row(shoal_log *log, uint32_t row, bool by_program) {
    uint64_t now = log_now_ns(log);
    int32_t span = log_push(log, row, log->open, now);
    if (span < 0)
        return span;
    account(log, now);
    log->spans[span].by_program = by_program;
    log->open = span;
    if (log->watched)
        tell(log, span, false);
    return span;
}

int32_t log_open(shoal_log *log, const struct log_label *label) {
    return log_open_row(log, log->row_of[log_label_index(label)], false);
}

static void forget_last(shoal_log *log) {
    struct log_span *e = &log->spans[--log->span_count];
    free(e->meta_text);
    log->meta_count = e->metas_before;
    log->texts.length = e->texts_before;
}

static void finish(shoal_log *log, int32_t span) {
    struct log_span *e = &log->spans[span];
    e->open = false;
    log->rows[e->row].sum.count++;
    log->rows[e->row].sum.ns += e->dur_ns;
    if (log->watched)
        tell(log, span, true);
    while (log->span_count > LOG_KEEP && !log->spans[log->span_count - 1].open)
        forget_last(log);
}

void log_close(shoal_log *log, int32_t span) {
    if (!log || (uint32_t)span >= log->span_count || !log->spans[span].open)
        return;
    if (log->spans[span].past || log->rows[log->spans[span].row].sum.kind != SHOAL_SPAN) {
        finish(log, span);
        return;
    }
    uint64_t now = log_now_ns(log);
    for (int32_t innermost = -1; innermost != span;) {
        innermost = log->open;
        struct log_span *e = &log->spans[innermost];
        account(log, now);
        e->dur_ns = now - e->t0_ns;
        log->open = e->parent;
        finish(log, innermost);
    }
}

int32_t log_past(shoal_log *log, const struct log_label *label, uint64_t t0_ns, uint64_t dur_ns) {
    if (!log || !log->recording)
        return -1;
    uint32_t row = log->row_of[log_label_index(label)];
    uint64_t end = t0_ns + dur_ns, begin = t0_ns > log->last_ns ? t0_ns : log->last_ns;
    begin = begin < end ? begin : end;
    int32_t span = log_push(log, row, log->open, begin);
    if (span < 0)
        return span;
    if (begin > log->last_ns)
        account(log, begin);
    log->spans[span].past = true;
    log->spans[span].dur_ns = end - begin;
    log->rows[row].sum.own_ns += end - begin;
    log->last_ns = end > log->last_ns ? end : log->last_ns;
    if (log->watched)
        tell(log, span, false);
    return span;
}

int32_t log_find_open(const shoal_log *log, const struct log_label *label) {
    int32_t span = log ? log->open : -1;
    while (span >= 0 && log->spans[span].row != log->row_of[log_label_index(label)])
        span = log->spans[span].parent;
    return span;
}

// ---- What happened elsewhere --------------------------------------------------------------------

static int32_t record(shoal_log *log, int row, int32_t parent, uint64_t t0_ns, uint64_t dur_ns) {
    int32_t span = row >= 0 ? log_push(log, (uint32_t)row, parent, t0_ns) : -1;
    if (span >= 0)
        log->spans[span].dur_ns = dur_ns;
    return span;
}

int32_t log_device(shoal_log *log, const char *track, const struct log_label *label, int32_t parent,
                   uint64_t t0_ns, uint64_t dur_ns) {
    if (!log || !log->recording)
        return -1;
    return record(log, log_row_of(log, SHOAL_ON_TRACK, track, label), parent, t0_ns, dur_ns);
}

int32_t log_measure(shoal_log *log, const struct log_label *label, int32_t parent, uint64_t t0_ns,
                    uint64_t dur_ns) {
    if (!log || !log->recording)
        return -1;
    return record(log, log_row_of(log, SHOAL_APART, "separate", label), parent, t0_ns, dur_ns);
}

// ---- Reading ------------------------------------------------------------------------------------

const char *shoal_category_name(shoal_category category) {
    static const char *const names[SHOAL_CATEGORY_COUNT] = {"codegen", "build", "compile",
                                                            "runtime"};
    return (unsigned)category < SHOAL_CATEGORY_COUNT ? names[category] : "other";
}

size_t shoal_log_span_count(const shoal_log *log) { return log ? log->span_count : 0; }

shoal_span shoal_log_span(const shoal_log *log, size_t index) {
    if (index >= shoal_log_span_count(log))
        return (shoal_span){.label = "", .track = "", .parent = -1};
    const struct log_span *e = &log->spans[index];
    const shoal_span_sum *sum = &log->rows[e->row].sum;
    return (shoal_span){.label = sum->label,
                        .category = sum->category,
                        .kind = sum->kind,
                        .track = sum->track,
                        .parent = e->parent,
                        .open = e->open,
                        .t0_ns = e->t0_ns,
                        .dur_ns = e->open ? 0 : e->dur_ns,
                        .meta = log_meta_text(log, index)};
}

uint64_t shoal_log_elapsed_ns(const shoal_log *log) {
    return log ? log_now_ns(log) - log->cleared_ns : 0;
}

void shoal_log_totals(const shoal_log *log, uint64_t ns[SHOAL_CATEGORY_COUNT], uint64_t *other) {
    if (!ns || !other)
        return;
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        ns[c] = 0;
    *other = 0;
    if (!log)
        return;
    for (uint32_t i = 0; i < log->row_count; i++)
        ns[log->rows[i].sum.category] += log->rows[i].sum.own_ns;
    uint64_t *now = log->open >= 0 ? &ns[log->rows[log->spans[log->open].row].sum.category] : other;
    *now += log_now_ns(log) - log->last_ns;
    *other += log->other_ns;
}
