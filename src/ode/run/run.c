// SPDX-License-Identifier: MIT
// The loop over chunks.
#include "ode/run/run.h"

#include "base/clock.h"
#include "device/device.h"
#include "ode/run/journey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(kernel_run_execution, RUNTIME, 30, "all chunks");
LOG_LABEL(finish_output, RUNTIME, 110,
          "the end of the result: what is left to write, sync, rename");

enum { CHUNK_ROWS = 1 << 20, CHUNK_BYTES = 256 << 20, CHUNKS_WANTED = 8 };

static bool asked_to_stop(const struct run_control *c) {
    return run_is_set(c->stop[0]) || run_is_set(c->stop[1]);
}

// Rows that another method will run are not done; where the device has its own memory nobody knows
// them yet, so that what is shown only stops for a while.
static void on_rows(void *user, uint32_t rows) {
    const struct lookout *l = user;
    struct journey *j = l->journey;
    if (asked_to_stop(j->control))
        __atomic_store_n(&j->stop, 1, __ATOMIC_RELAXED);
    if (!j->control->progress)
        return;
    uint32_t taken = l->chunk && !j->setup->limits.memory ? takeover_rows(l->chunk) : 0;
    uint64_t done = l->before + (rows > taken ? rows - taken : 0);
    j->shown = done > j->shown ? done : j->shown;
    shoal_progress now = {.done = j->shown,
                          .total = batch_rows(j->batch),
                          .seconds = (double)(clock_ns() - j->start_ns) * 1e-9};
    j->control->progress(&now, j->control->user);
}

// ---- Plan ---------------------------------------------------------------------------------------

// Chunks that are there at a time, that of the rows which are taken over with them.
static uint32_t slots_of(const struct run_setup *s) {
    return s->limits.at_once + (s->takeover != NULL);
}

// Rows that memory allows and that keep every slot busy.
static uint64_t rows_by_device(const struct run_setup *s, const struct batch *b, uint64_t of_row) {
    uint64_t memory = s->memory ? s->memory : s->limits.memory / 4 * 3;
    uint64_t rows = memory / slots_of(s) / of_row;
    uint64_t wanted = batch_rows(b) / CHUNKS_WANTED;
    wanted = wanted < s->limits.rows_wanted ? s->limits.rows_wanted : wanted;
    return rows < wanted ? rows : wanted;
}

static uint64_t rows_per_chunk(const struct run_setup *s, const struct batch *b, unsigned wants) {
    uint64_t of_host, of_row = chunk_row_bytes(s, b, wants, &of_host), inputs = batch_inputs(b);
    uint64_t rows = (s->memory ? s->memory / slots_of(s) : CHUNK_BYTES) / of_host;
    uint64_t most = inputs > 4 ? (UINT32_MAX - 65536u) / inputs : 1u << 30; // 32-bit offsets, rows
    if (s->chunk)
        rows = s->chunk;
    else if (s->limits.memory)
        rows = rows_by_device(s, b, of_row);
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
    uint64_t rows = rows_per_chunk(s, b, SINK_WANTS_ALL), of_host;
    uint64_t of_row = chunk_row_bytes(s, b, SINK_WANTS_ALL, &of_host);
    uint64_t chunks = (batch_rows(b) + rows - 1) / rows;
    uint64_t slots = chunks < s->limits.at_once ? chunks : s->limits.at_once;
    slots += s->takeover != NULL;
    *plan = (shoal_plan){.runs = batch_rows(b),
                         .chunk_runs = rows,
                         .chunks = chunks,
                         .host_bytes = slots * rows * of_host,
                         .device_bytes = s->limits.memory ? slots * rows * of_row : 0,
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

// ---- Results -----------------------------------------------------------------------------------

static void note_failed(shoal_tally *sum, uint64_t run) {
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

static shoal_code count_row(shoal_tally *sum, const struct chunk *c, uint32_t row,
                            struct report *r) {
    unsigned char status = c->args.status[row];
    uint64_t run = batch_run_of_row(c->batch, c->first_row + row);
    if (status >= SHOAL_STATUS_COUNT)
        return report_error(r, SHOAL_DEVICE,
                            "run %llu came back from %s with the status %u, which "
                            "there is not",
                            (unsigned long long)run, c->setup->backend->name, status);
    if (!sum->by_status[status]++)
        sum->first[status] = run;
    if (status != SHOAL_STATUS_ok && status != SHOAL_STATUS_stopped)
        note_failed(sum, run);
    return SHOAL_OK;
}

static shoal_code count_rows(shoal_tally *sum, const struct chunk *c, uint32_t rows,
                             struct report *r) {
    shoal_code code = SHOAL_OK;
    uint64_t eight;
    for (uint32_t i = 0; i < rows && code == SHOAL_OK;) {
        if (rows - i >= sizeof eight) {
            memcpy(&eight, c->args.status + i, sizeof eight);
            if (eight == 0) { // the usual case
                if (!sum->by_status[SHOAL_STATUS_ok])
                    sum->first[SHOAL_STATUS_ok] = batch_run_of_row(c->batch, c->first_row + i);
                sum->by_status[SHOAL_STATUS_ok] += sizeof eight;
                i += sizeof eight;
                continue;
            }
        }
        code = count_row(sum, c, i++, r);
    }
    sum->steps += c->args.totals[TOTAL_STEPS];
    sum->rejected += c->args.totals[TOTAL_REJECTED];
    sum->f_evals += c->args.totals[TOTAL_F_EVALS];
    sum->done += rows;
    return code;
}

// Rows that are finished without a gap, from the start of the chunk.
static uint32_t finished_rows(const struct chunk *c) {
    uint32_t n = 0;
    while (n < c->args.head.rows && c->args.status[n] != SHOAL_ROW_PENDING)
        n++;
    return n;
}

// ---- A chunk's way ------------------------------------------------------------------------------

// Bytes of a label, or (NULL) of all.
static uint64_t bytes_of(const struct shoal_block *b, const struct log_label *label) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < b->pieces; i++)
        if (!label || b->piece[i].label == label)
            bytes += b->piece[i].bytes;
    return bytes;
}

void journey_end_transfer(const struct journey *j, const struct chunk *c, int32_t span,
                          uint32_t rows, uint64_t bytes) {
    char slice[48];
    if (span < 0)
        return;
    snprintf(slice, sizeof slice, "%llu:%llu", (unsigned long long)c->first_row,
             (unsigned long long)c->first_row + rows);
    log_nbytes(j->log, span, bytes);
    log_u64(j->log, span, "chunk_index", c->launch.chunk);
    log_text(j->log, span, "chunk_slice", slice);
    log_u64(j->log, span, "is_chunked", j->rows < batch_rows(j->batch));
    log_end(j->log, span);
}

static void fill_part(struct journey *j, struct chunk *c, const struct log_label *label,
                      uint32_t first, uint32_t end) {
    int32_t span = log_begin(j->log, label);
    chunk_fill(c, first, end);
    journey_end_transfer(j, c, span, c->args.head.rows, bytes_of(&c->launch.read, label));
}

void journey_watch(struct journey *j, struct chunk *c, struct lookout l) {
    j->lookout[c->block] = l;
    c->launch.stop = &j->stop;
    c->launch.progress = on_rows;
    c->launch.user = &j->lookout[c->block];
    c->launch.log = j->log;
    if (!j->control->progress && !j->control->stop[1]) { // nobody to call, one flag to look at
        c->launch.stop = j->control->stop[0];
        c->launch.progress = NULL;
    }
}

// Lays out, fills and describes the next chunk.
static shoal_code prepare(struct journey *j, struct chunk *c) {
    uint64_t left = batch_rows(j->batch) - j->next;
    uint32_t rows = (uint32_t)(left < j->rows ? left : j->rows);
    shoal_code code = chunk_place(c, j->next, rows, log_report(j->log));
    if (code != SHOAL_OK)
        return code;
    c->launch.chunk = j->started;
    c->launch.chunked = j->rows < batch_rows(j->batch);
    fill_part(j, c, LOG_h2d_transfer_parameters, 0, c->parameters);
    if (c->parameters < c->inputs)
        fill_part(j, c, LOG_h2d_transfer_initial_values, c->parameters, c->inputs);
    journey_watch(j, c, (struct lookout){j, j->setup->takeover ? c : NULL, j->next});
    return SHOAL_OK;
}

// Where kernels run one after the other, the span of one lasts as long as it does.
static void end_launch(struct journey *j, struct chunk *c, int32_t span, bool started) {
    if (started && c->setup->limits.at_once == 1)
        c->span = span;
    else
        log_end(j->log, span);
}

shoal_code journey_begin(struct journey *j, struct chunk *c) {
    const struct run_setup *s = c->setup;
    struct shoal_slot *slot = chunk_slot(c);
    if (!slot)
        return report_error(log_report(j->log), SHOAL_MEMORY, "out of memory");
    chunk_describe(c);
    int32_t span = log_begin(j->log, LOG_kernel_launch);
    shoal_code code = s->backend->start(s->module, slot, &c->launch, log_report(j->log));
    log_u64(j->log, span, "chunk_index", c->launch.chunk);
    log_u64(j->log, span, "numruns", c->args.head.rows);
    end_launch(j, c, span, code == SHOAL_OK);
    return code;
}

shoal_code journey_wait(struct journey *j, struct chunk *c) {
    shoal_code code = c->setup->backend->finish(chunk_slot(c), log_report(j->log));
    log_end(j->log, c->span);
    c->span = -1;
    return code;
}

// Where steps are saved the first pass counts and the second saves: a trajectory is the same each
// time.
static shoal_code count_steps(struct journey *j, struct chunk *c) {
    shoal_code code = journey_begin(j, c);
    if (code == SHOAL_OK)
        code = journey_wait(j, c);
    if (code == SHOAL_OK && j->setup->takeover)
        code = takeover_chunk(j, c, true);
    return code == SHOAL_OK ? chunk_make_room(c, log_report(j->log)) : code;
}

static shoal_code deliver(struct journey *j, struct chunk *c, uint32_t rows) {
    shoal_code code = count_rows(j->summary, c, rows, log_report(j->log));
    if (code != SHOAL_OK)
        return code;
    takeover_tell(j, rows);
    int32_t span = log_begin(j->log, LOG_d2h_transfer_state);
    struct sink_chunk view = chunk_view(c, rows);
    code = j->sink->chunk(j->sink, &view, log_report(j->log));
    journey_end_transfer(j, c, span, rows, bytes_of(&c->launch.written, NULL));
    return code;
}

// Waits for the oldest chunk and hands it on.
static shoal_code finish_one(struct journey *j) {
    struct chunk *c = &j->chunk[j->finished % j->setup->limits.at_once];
    shoal_code code = journey_wait(j, c);
    j->finished++;
    if (code == SHOAL_OK && j->setup->takeover)
        code = takeover_chunk(j, c, false);
    else if (code == SHOAL_STOPPED && j->setup->takeover)
        takeover_give_up(j, c);
    if (code != SHOAL_OK && code != SHOAL_STOPPED)
        return code;
    uint32_t rows = code == SHOAL_STOPPED ? finished_rows(c) : c->args.head.rows;
    shoal_code written = rows ? deliver(j, c, rows) : SHOAL_OK;
    return written != SHOAL_OK ? written : code;
}

// All chunks that are on their way; after a stop or an error only the device is waited for.
static shoal_code finish_all(struct journey *j, shoal_code code) {
    while (j->finished < j->started) {
        if (code == SHOAL_OK)
            code = finish_one(j);
        else
            journey_wait(j, &j->chunk[j->finished++ % j->setup->limits.at_once]);
    }
    return code;
}

static shoal_code make_slot(struct journey *j, struct chunk *c) {
    if (j->ready == j->setup->limits.at_once || j->started < j->ready)
        return SHOAL_OK;
    shoal_code code = chunk_init(c, j->setup, j->batch, j->sink->wants, j->ready, (uint32_t)j->rows,
                                 log_report(j->log));
    j->ready += code == SHOAL_OK;
    return code;
}

// The device has no memory for a chunk: the next try has what is free once the others are done,
// and the one after that is half as large.
static shoal_code make_do(struct journey *j) {
    bool alone = j->started == j->finished;
    if (alone && j->rows <= ROWS_LEAST)
        return report_error(log_report(j->log), SHOAL_MEMORY,
                            "%s has not enough memory for a chunk of %llu runs",
                            j->setup->backend->name, (unsigned long long)j->rows);
    if (alone)
        j->rows /= 2;
    return finish_all(j, SHOAL_OK);
}

// Starts the next chunk.
static shoal_code start_one(struct journey *j) {
    struct chunk *c = &j->chunk[j->started % j->setup->limits.at_once];
    shoal_code code = make_slot(j, c);
    while (code == SHOAL_OK) {
        code = prepare(j, c);
        if (code != SHOAL_OK)
            break;
        if (j->setup->grid.shape == SINK_STEPS)
            code = count_steps(j, c);
        if (code == SHOAL_OK)
            code = journey_begin(j, c);
        if (code == SHOAL_OK) {
            j->next += c->args.head.rows;
            j->started++;
            break;
        }
        if (code == SHOAL_MEMORY)
            code = make_do(j);
    }
    return code;
}

static shoal_code travel(struct journey *j) {
    uint32_t ahead = j->setup->grid.shape == SINK_STEPS ? 1 : j->setup->limits.at_once;
    shoal_code code = SHOAL_OK;
    bool stop = false;
    while (code == SHOAL_OK && !stop && j->next < batch_rows(j->batch)) {
        stop = asked_to_stop(j->control);
        if (!stop)
            code = j->started - j->finished < ahead ? start_one(j) : finish_one(j);
    }
    code = finish_all(j, code);
    return code == SHOAL_OK && stop ? SHOAL_STOPPED : code;
}

shoal_code run_batch(const struct run_setup *s, const struct batch *b, struct sink *sink,
                     const struct sink_shape_info *info, const struct run_control *control,
                     shoal_tally *summary, shoal_log *log) {
    struct journey j = {.setup = s,
                        .batch = b,
                        .control = control,
                        .sink = sink,
                        .summary = summary,
                        .log = log,
                        .rows = rows_per_chunk(s, b, sink->wants),
                        .start_ns = clock_ns()};
    *summary = (shoal_tally){.runs = batch_rows(b),
                             .method = s->method,
                             .stiff_method = s->takeover ? s->takeover->method : NULL};
    int32_t span = log_begin(log, LOG_kernel_run_execution);
    shoal_code code = sink->begin(sink, info, log_report(log));
    if (code == SHOAL_OK)
        code = travel(&j);
    summary->complete = code == SHOAL_OK;
    if (code == SHOAL_OK || code == SHOAL_STOPPED) {
        int32_t end = log_begin(log, LOG_finish_output);
        shoal_code ended = sink->end(sink, code == SHOAL_OK, log_report(log));
        log_end(log, end);
        code = ended != SHOAL_OK ? ended : code;
    }
    if (control->progress && code == SHOAL_OK)
        on_rows(&(struct lookout){&j, NULL, batch_rows(b)}, 0);
    log_u64(log, span, "total_runs", batch_rows(b));
    log_u64(log, span, "num_chunks", j.started);
    log_end(log, span);
    summary->seconds = (double)(clock_ns() - j.start_ns) * 1e-9;
    for (uint32_t i = 0; i < j.ready; i++)
        chunk_free(&j.chunk[i]);
    free(j.again.row);
    free(j.again.was);
    free(j.again.lost);
    return code;
}
