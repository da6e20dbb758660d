// SPDX-License-Identifier: MIT
// The loop over chunks.
#include "run/run.h"

#include "base/clock.h"
#include "run/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_ROWS = 1 << 20, CHUNK_BYTES = 256 << 20 };

struct progress {
    const struct run_control *control;
    uint64_t before, total;
    uint64_t start_ns;
    int stop; // what the device looks at
};

static bool asked_to_stop(const struct run_control *c) {
    return (c->stop[0] && *c->stop[0]) || (c->stop[1] && *c->stop[1]);
}

static void on_rows(void *user, uint32_t rows) {
    struct progress *p = user;
    if (asked_to_stop(p->control))
        p->stop = 1;
    if (!p->control->progress)
        return;
    shoal_progress now = {.done = p->before + rows,
                          .total = p->total,
                          .seconds = (double)(clock_ns() - p->start_ns) * 1e-9};
    p->control->progress(&now, p->control->user);
}

static uint64_t rows_per_chunk(const struct run_setup *s, const struct batch *b) {
    uint64_t bytes = chunk_row_bytes(s, b), inputs = batch_inputs(b);
    uint64_t rows = (s->memory ? s->memory : CHUNK_BYTES) / bytes;
    uint64_t most = inputs > 4 ? (UINT32_MAX - 65536u) / inputs : 1u << 30; // 32-bit offsets, rows
    if (s->chunk)
        rows = s->chunk;
    else if (rows > CHUNK_ROWS)
        rows = CHUNK_ROWS;
    if (s->grid.shape == SINK_STEPS && !s->chunk && rows > 4096)
        rows = 4096; // how long they are shows only when they ran
    rows = rows > most ? most : rows;
    rows = rows > batch_rows(b) ? batch_rows(b) : rows;
    return rows ? rows : 1;
}

shoal_code run_plan(const struct run_setup *s, const struct batch *b, shoal_plan *plan,
                    struct report *r) {
    (void)r;
    uint64_t rows = rows_per_chunk(s, b);
    *plan = (shoal_plan){.runs = batch_rows(b),
                         .chunk_runs = rows,
                         .chunks = (batch_rows(b) + rows - 1) / rows,
                         .host_bytes = rows * chunk_row_bytes(s, b),
                         .threads = s->threads};
    return SHOAL_OK;
}

shoal_code run_shape(const struct run_setup *s, const struct batch *b, const char *meta,
                     struct arena *arena, struct sink_shape_info *info, struct report *r) {
    jmp_buf oom;
    arena->oom = &oom;
    if (setjmp(oom)) {
        arena->oom = NULL;
        return report_error(r, SHOAL_MEMORY, "out of memory");
    }
    uint32_t inputs = batch_inputs(b), extras = batch_extras(b);
    struct sink_column *columns = arena_new(arena, struct sink_column, inputs + extras);
    for (uint32_t i = 0; i < inputs; i++)
        columns[i].name = batch_input_name(b, i);
    for (uint32_t i = 0; i < extras; i++) {
        columns[inputs + i].name = batch_extra(b, i)->name;
        columns[inputs + i].text = batch_extra(b, i)->text != NULL;
    }
    const char **vars = arena_new(arena, const char *, s->outputs);
    for (uint32_t i = 0; i < s->outputs; i++)
        vars[i] = s->output[i];
    static const char *const ours[] = {"run",     "t",       "status",       "steps", "rejected",
                                       "f_evals", "offsets", "status_words", "meta"};
    for (uint32_t i = 0; i < inputs + extras + s->outputs; i++) { // a name of ours gets a `_`
        const char **name = i < s->outputs ? &vars[i] : &columns[i - s->outputs].name;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            if (!strcmp(*name, ours[k]))
                *name = arena_printf(arena, "%s_", *name);
    }
    for (uint32_t i = 0; i < s->outputs; i++) // so does an observable called like an input
        for (uint32_t k = 0; k < inputs + extras; k++)
            if (!strcmp(vars[i], columns[k].name))
                vars[i] = arena_printf(arena, "%s_", vars[i]);
    *info = (struct sink_shape_info){.shape = s->grid.shape,
                                     .rows = batch_rows(b),
                                     .samples = s->grid.shape == SINK_SERIES  ? s->grid.count
                                                : s->grid.shape == SINK_FINAL ? 1
                                                                              : 0,
                                     .times = s->grid.times,
                                     .columns = inputs + extras,
                                     .column = columns,
                                     .vars = s->outputs,
                                     .var = vars,
                                     .value_bytes = s->f32 ? 4 : 8,
                                     .meta = meta};
    arena->oom = NULL;
    return SHOAL_OK;
}

static void note_failed(shoal_summary *sum, uint64_t run) {
    uint32_t n = sum->failed_ranges;
    if (n && sum->failed[n - 1].end == run && !sum->failed_more)
        sum->failed[n - 1].end++;
    else if (n < SHOAL_FAILED_RANGES) {
        sum->failed[n].first = run;
        sum->failed[n].end = run + 1;
        sum->failed_ranges++;
    } else
        sum->failed_more = true;
}

static void count_rows(shoal_summary *sum, const struct chunk *c, uint32_t rows) {
    for (uint32_t i = 0; i < rows; i++) {
        unsigned char status = c->status[i] < SHOAL_STATUS_COUNT ? c->status[i] : 0;
        sum->by_status[status]++;
        if (status != SHOAL_STATUS_ok && status != SHOAL_STATUS_stopped)
            note_failed(sum, c->run[i]);
        sum->steps += c->steps[i];
        sum->rejected += c->rejected[i];
        sum->f_evals += c->f_evals[i];
    }
    sum->done += rows;
}

// Rows that are finished without a gap, from the start of the chunk.
static uint32_t finished_rows(const struct chunk *c) {
    uint32_t n = 0;
    while (n < c->args.rows && c->status[n] != SHOAL_ROW_PENDING)
        n++;
    return n;
}

static shoal_code launch(struct chunk *c, const struct run_setup *s, struct progress *p,
                         shoal_log *log) {
    struct shoal_launch l = {
        .args = &c->args, .threads = s->threads, .stop = &p->stop, .progress = on_rows, .user = p};
    if (!p->control->progress && !p->control->stop[1]) { // nobody to call, one flag to look at
        l.stop = p->control->stop[0];
        l.progress = NULL;
    }
    int32_t span = log_begin(log, LOG_kernel_launch);
    shoal_code code = s->backend->run(s->module, &l, log_report(log));
    log_u64(log, span, "chunk_index", p->before / c->rows_most);
    log_u64(log, span, "numruns", c->args.rows);
    log_end(log, span);
    return code;
}

// Runs the rows that are loaded. Where steps are saved the first pass counts and the second saves:
// a trajectory is the same each time.
static shoal_code run_chunk(struct chunk *c, const struct run_setup *s, struct progress *p,
                            shoal_log *log) {
    shoal_code code;
    if (s->grid.shape == SINK_STEPS) {
        c->args.values = NULL;
        code = launch(c, s, p, log);
        if (code != SHOAL_OK)
            return code;
        code = chunk_make_room(c, s, log_report(log));
        if (code != SHOAL_OK)
            return code;
        memset(c->status, SHOAL_ROW_PENDING, c->args.rows);
    }
    return launch(c, s, p, log);
}

// Which part of the batch a transfer is about.
static void log_chunk(shoal_log *log, int32_t span, const struct chunk *c, const struct progress *p,
                      uint32_t rows, uint64_t bytes) {
    char slice[48];
    if (span < 0)
        return;
    snprintf(slice, sizeof slice, "%llu:%llu", (unsigned long long)p->before,
             (unsigned long long)p->before + rows);
    log_nbytes(log, span, bytes);
    log_u64(log, span, "chunk_index", p->before / c->rows_most);
    log_text(log, span, "chunk_slice", slice);
    log_u64(log, span, "is_chunked", p->total > c->rows_most);
}

static uint64_t value_bytes(const struct chunk *c, const struct run_setup *s, uint32_t rows) {
    uint64_t samples = s->grid.shape == SINK_STEPS    ? c->offsets[rows]
                       : s->grid.shape == SINK_SERIES ? rows * s->grid.count
                                                      : rows;
    return samples * s->outputs * c->elem;
}

static shoal_code one_chunk(struct chunk *c, const struct run_setup *s, const struct batch *b,
                            struct sink *sink, uint64_t first, struct progress *p,
                            shoal_summary *sum, shoal_log *log) {
    uint64_t left = batch_rows(b) - first;
    uint32_t rows = left < c->rows_most ? (uint32_t)left : c->rows_most;
    p->before = first;
    int32_t span = log_begin(log, LOG_h2d_transfer_parameters);
    chunk_fill(c, s, b, first, rows);
    log_chunk(log, span, c, p, rows, (uint64_t)rows * c->inputs * c->elem);
    log_end(log, span);
    shoal_code code = run_chunk(c, s, p, log);
    if (code != SHOAL_OK && code != SHOAL_STOPPED)
        return code;
    uint32_t finished = code == SHOAL_STOPPED ? finished_rows(c) : rows;
    if (code == SHOAL_STOPPED && s->grid.shape == SINK_STEPS && !c->args.values)
        finished = 0;
    if (!finished)
        return code;
    count_rows(sum, c, finished);
    span = log_begin(log, LOG_d2h_transfer_state);
    struct sink_chunk view = chunk_view(c, s, first, finished);
    shoal_code written = sink->chunk(sink, &view, log_report(log));
    log_chunk(log, span, c, p, finished, value_bytes(c, s, finished));
    log_end(log, span);
    return written != SHOAL_OK ? written : code;
}

shoal_code run_batch(const struct run_setup *s, const struct batch *b, struct sink *sink,
                     const struct sink_shape_info *info, const struct run_control *control,
                     shoal_summary *summary, shoal_log *log) {
    struct chunk c = {0};
    struct progress p = {.control = control, .total = batch_rows(b), .start_ns = clock_ns()};
    *summary = (shoal_summary){.runs = batch_rows(b)};
    uint64_t rows = rows_per_chunk(s, b);
    shoal_code code = chunk_init(&c, s, b, (uint32_t)rows, log_report(log));
    if (code != SHOAL_OK)
        return code;
    int32_t span = log_begin(log, LOG_kernel_run_execution);
    code = sink->begin(sink, info, log_report(log));
    for (uint64_t first = 0; code == SHOAL_OK && first < batch_rows(b); first += rows)
        code = asked_to_stop(control) ? SHOAL_STOPPED
                                      : one_chunk(&c, s, b, sink, first, &p, summary, log);
    summary->complete = code == SHOAL_OK;
    if (code == SHOAL_OK || code == SHOAL_STOPPED) {
        shoal_code ended = sink->end(sink, code == SHOAL_OK, log_report(log));
        code = ended != SHOAL_OK ? ended : code;
    }
    if (control->progress && code == SHOAL_OK)
        on_rows(&p, (uint32_t)(batch_rows(b) - p.before));
    log_u64(log, span, "total_runs", batch_rows(b));
    log_u64(log, span, "num_chunks", (batch_rows(b) + rows - 1) / rows);
    log_end(log, span);
    summary->seconds = (double)(clock_ns() - p.start_ns) * 1e-9;
    chunk_free(&c);
    return code;
}
