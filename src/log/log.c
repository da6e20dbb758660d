// SPDX-License-Identifier: MIT
#include "log/log.h"

#include "base/buf.h"
#include "base/clock.h"

#include <stdlib.h>

shoal_log *shoal_log_new(void) {
    shoal_log *log = calloc(1, sizeof *log);
    if (log) {
        log->open = -1;
        log->start_ns = clock_ns();
    }
    return log;
}

void shoal_log_free(shoal_log *log) {
    if (!log)
        return;
    report_free(&log->report);
    arena_free(&log->arena);
    free(log);
}

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

int32_t log_begin(shoal_log *log, const char *label, shoal_category category) {
    if (!log)
        return -1;
    shoal_event *e = vec_push(&log->arena, &log->events);
    if (!log->events.items) { // out of memory: this log loses its times
        log->events.count = 0;
        return -1;
    }
    *e = (shoal_event){.label = label,
                       .category = category,
                       .parent = log->open,
                       .t0_ns = clock_ns() - log->start_ns};
    return log->open = (int32_t)log->events.count - 1;
}

void log_end(shoal_log *log, int32_t event) {
    if (!log || event < 0 || (uint32_t)event >= log->events.count)
        return;
    shoal_event *e = &log->events.items[event];
    e->dur_ns = clock_ns() - log->start_ns - e->t0_ns;
    if (!e->dur_ns)
        e->dur_ns = 1;
    log->open = e->parent;
}

void log_end_meta(shoal_log *log, int32_t event, const char *format, ...) {
    if (!log || event < 0 || (uint32_t)event >= log->events.count)
        return;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (text.data)
        log->events.items[event].meta = arena_strndup(&log->arena, text.data, text.length);
    buf_free(&text);
    log_end(log, event);
}

const char *shoal_category_name(shoal_category category) {
    static const char *const names[SHOAL_CATEGORY_COUNT] = {"codegen", "build", "compile",
                                                            "runtime"};
    return (unsigned)category < SHOAL_CATEGORY_COUNT ? names[category] : "other";
}

size_t shoal_log_event_count(const shoal_log *log) { return log ? log->events.count : 0; }

shoal_event shoal_log_event(const shoal_log *log, size_t index) {
    if (index >= shoal_log_event_count(log))
        return (shoal_event){.label = "", .parent = -1};
    return log->events.items[index];
}

uint64_t shoal_log_elapsed_ns(const shoal_log *log) { return log ? clock_ns() - log->start_ns : 0; }

void shoal_log_totals(const shoal_log *log, uint64_t ns[SHOAL_CATEGORY_COUNT], uint64_t *other) {
    uint64_t covered = 0;
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        ns[c] = 0;
    for (size_t i = 0; i < shoal_log_event_count(log); i++) {
        const shoal_event *e = &log->events.items[i];
        ns[e->category] +=
            e->dur_ns; // the innermost span owns the time, so take it from the parent
        if (e->parent >= 0)
            ns[log->events.items[e->parent].category] -= e->dur_ns;
        else
            covered += e->dur_ns;
    }
    uint64_t elapsed = shoal_log_elapsed_ns(log);
    *other = elapsed > covered ? elapsed - covered : 0;
}
