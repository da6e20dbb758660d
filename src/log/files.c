// SPDX-License-Identifier: MIT
// The log as files: NDJSON, and a trace in Chrome's JSON array form.
//
// Each line is one write, so a program that is killed leaves whole lines, but perhaps for the last;
// the array form needs no closing bracket, and a comma stands before each span but the first. A
// span is two entries of the trace, begin and end, so that what was under way when the program was
// killed can be seen.
#include "log/log.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Writes the line and empties it. The first failure is told, and ends the writing.
static void put_line(shoal_log *log, struct log_file *f) {
    if (log->line.failed)
        f->failed = true;
    if (!f->failed &&
        file_write(f->fd, f->path, log->line.data, log->line.length, &log->report) != SHOAL_OK)
        f->failed = true;
    log->line.length = 0;
}

// ---- NDJSON -------------------------------------------------------------------------------------

static void json_head(shoal_log *log) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    buf_printf(&log->line,
               "{\"shoal_timing\": 1, \"version\": \"%s\", \"start_unix_ns\": %" PRIu64 "}\n",
               SHOAL_VERSION, unix_ns - log_now_ns(log));
    put_line(log, &log->json);
}

static const struct log_span *parent_of(const shoal_log *log, const struct log_span *e) {
    return e->parent >= 0 && (uint32_t)e->parent < log->span_count ? &log->spans[e->parent] : NULL;
}

static void json_span(shoal_log *log, const struct log_span *e) {
    const shoal_span_sum *sum = &log->rows[e->row].sum;
    const struct log_span *parent = parent_of(log, e);
    struct buf *line = &log->line;
    buf_printf(line, "{\"id\":%" PRIu32 ",\"parent\":", e->id);
    if (parent)
        buf_printf(line, "%" PRIu32, parent->id);
    else
        buf_puts(line, "null");
    buf_printf(line,
               ",\"label\":\"%s\",\"category\":\"%s\",\"t0_ns\":%" PRIu64 ",\"dur_ns\":%" PRIu64
               ",\"track\":",
               sum->label, shoal_category_name(sum->category), e->t0_ns, e->dur_ns);
    buf_json(line, sum->track);
    buf_puts(line, ",\"meta\":");
    log_meta_json(log, e, line);
    buf_puts(line, ",\"description\":");
    buf_json(line, sum->description);
    buf_puts(line, "}\n");
    put_line(log, &log->json);
}

// ---- Trace --------------------------------------------------------------------------------------

static void put_us(struct buf *line, const char *key, uint64_t ns) {
    buf_printf(line, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void trace_name(shoal_log *log, const char *what, uint32_t tid, const char *name) {
    buf_printf(&log->line,
               "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":1,\"tid\":%" PRIu32 ",\"args\":{\"name\":",
               what, tid);
    buf_json(&log->line, name);
    buf_puts(&log->line, "}}");
}

static void trace_head(shoal_log *log) {
    for (uint32_t i = 0; i < log->row_count; i++)
        log->rows[i].named = false;
    buf_puts(&log->line, "[\n");
    trace_name(log, "process_name", 1, "shoal");
    put_line(log, &log->trace);
}

// The name of a track, before its first span.
static void name_track(shoal_log *log, const struct log_row *row) {
    bool apart = row->sum.kind == SHOAL_APART;
    char name[128];
    if (row->named)
        return;
    for (uint32_t i = 0; i < log->row_count; i++)
        log->rows[i].named = log->rows[i].named || log->rows[i].tid == row->tid;
    snprintf(name, sizeof name, "%s%s%s", row->sum.track, apart ? ": " : "",
             apart ? row->sum.label : "");
    log_clean(name); // it may have been cut inside a character
    buf_puts(&log->line, ",\n");
    trace_name(log, "thread_name", row->tid, name);
    put_line(log, &log->trace);
}

// phase: B and E of a span, X of what is written as a whole.
static void trace_span(shoal_log *log, const struct log_span *e, char phase) {
    struct log_row *row = &log->rows[e->row];
    struct buf *line = &log->line;
    name_track(log, row);
    buf_printf(line, ",\n{\"ph\":\"%c\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":%" PRIu32,
               phase, row->sum.label, shoal_category_name(row->sum.category), row->tid);
    put_us(line, "ts", phase == 'E' ? e->t0_ns + e->dur_ns : e->t0_ns);
    if (phase == 'X')
        put_us(line, "dur", e->dur_ns);
    if (phase != 'B' && e->meta >= 0) {
        buf_puts(line, ",\"args\":");
        log_meta_json(log, e, line);
    }
    buf_putc(line, '}');
    put_line(log, &log->trace);
}

// ---- Both ---------------------------------------------------------------------------------------

void log_files_step(shoal_log *log, const struct log_span *e, bool ended) {
    bool span = log->rows[e->row].sum.kind == SHOAL_SPAN;
    if (log->json.fd >= 0 && ended)
        json_span(log, e);
    if (log->trace.fd >= 0)
        trace_span(log, e, !span ? 'X' : ended ? 'E' : 'B');
}

static shoal_code begin(shoal_log *log, struct log_file *f, const char *path) {
    const struct log_file *other = f == &log->json ? &log->trace : &log->json;
    if (f->fd >= 0 || (other->fd >= 0 && !strcmp(other->path, path)))
        return report_error(&log->report, SHOAL_USAGE, "the time log is already written to %s",
                            f->fd >= 0 ? f->path : other->path);
    free(f->path);
    *f = (struct log_file){.fd = -1, .path = strdup(path)};
    if (!f->path)
        return report_error(&log->report, SHOAL_MEMORY, "out of memory");
    f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return report_error(&log->report, SHOAL_IO, "cannot write %s: %s", path, strerror(errno));
    log_update(log);
    return SHOAL_OK;
}

shoal_code shoal_log_json(shoal_log *log, const char *path) {
    shoal_code code = log && path ? begin(log, &log->json, path) : SHOAL_USAGE;
    if (code != SHOAL_OK)
        return code;
    json_head(log);
    for (uint32_t i = 0; i < log->span_count; i++)
        if (!log->spans[i].open)
            json_span(log, &log->spans[i]);
    return log->json.failed ? SHOAL_IO : SHOAL_OK;
}

shoal_code shoal_log_trace(shoal_log *log, const char *path) {
    shoal_code code = log && path ? begin(log, &log->trace, path) : SHOAL_USAGE;
    if (code != SHOAL_OK)
        return code;
    trace_head(log);
    for (uint32_t i = 0; i < log->span_count; i++) {
        const struct log_span *e = &log->spans[i];
        if (!e->open || log->rows[e->row].sum.kind == SHOAL_SPAN)
            trace_span(log, e, e->open ? 'B' : 'X');
    }
    return log->trace.failed ? SHOAL_IO : SHOAL_OK;
}

static shoal_code end(shoal_log *log, struct log_file *f) {
    if (f->fd >= 0 && close(f->fd) != 0 && !f->failed) {
        report_error(&log->report, SHOAL_IO, "cannot write %s: %s", f->path, strerror(errno));
        f->failed = true;
    }
    shoal_code code = f->failed ? SHOAL_IO : SHOAL_OK;
    free(f->path);
    *f = (struct log_file){.fd = -1};
    return code;
}

shoal_code shoal_log_close(shoal_log *log) {
    if (!log)
        return SHOAL_USAGE;
    if (log->trace.fd >= 0) {
        buf_puts(&log->line, "\n]\n");
        put_line(log, &log->trace);
    }
    shoal_code json = end(log, &log->json), trace = end(log, &log->trace);
    log_update(log);
    return json != SHOAL_OK ? json : trace;
}
