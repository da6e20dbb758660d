// SPDX-License-Identifier: MIT
// Rows that another method takes over: gathered from a chunk that has run, run again from their
// start, and put back in their places before the sink sees the chunk.
//
// A row's inputs are copied, not computed again, and nothing of what the first method made of it is
// left: it is what a run with the other method alone would give.
#include "run/journey.h"

#include <stdlib.h>
#include <string.h>

// The first method failed, or found the row stiff.
static bool is_taken(unsigned char status) {
    return status > SHOAL_STATUS_stopped && status != SHOAL_ROW_PENDING;
}

// The first such row from i on, or the number of rows. Workers may still be writing.
static uint32_t next_taken(const struct chunk *c, uint32_t i) {
    const unsigned char *status = c->args.status;
    uint64_t eight, fine = UINT64_C(0x0101010101010101) * SHOAL_STATUS_stopped;
    for (; i < c->args.z.rows; i++) {
        while (c->args.z.rows - i >= 8 && (memcpy(&eight, status + i, 8), !(eight & ~fine)))
            i += 8;
        if (i < c->args.z.rows && is_taken(status[i]))
            return i;
    }
    return c->args.z.rows;
}

uint32_t takeover_rows(const struct chunk *c) {
    uint32_t count = 0;
    for (uint32_t i = next_taken(c, 0); i < c->args.z.rows; i = next_taken(c, i + 1))
        count++;
    return count;
}

void takeover_give_up(struct journey *j, struct chunk *c) {
    j->again.count = 0;
    for (uint32_t i = next_taken(c, 0); i < c->args.z.rows; i = next_taken(c, i + 1))
        c->args.status[i] = SHOAL_ROW_PENDING;
}

static shoal_code list_rows(struct again *a, const struct chunk *c, struct report *r) {
    uint32_t count = c->args.totals[TOTAL_TAKEN] ? takeover_rows(c) : 0;
    a->count = 0;
    if (count > a->room) {
        free(a->row);
        free(a->was);
        a->row = malloc(count * sizeof *a->row);
        a->was = malloc(count);
        a->room = a->row && a->was ? count : 0;
    }
    if (count > a->room)
        return report_error(r, SHOAL_MEMORY, "out of memory for %u runs that are stiff", count);
    for (uint32_t i = next_taken(c, 0); a->count < count; i = next_taken(c, i + 1)) {
        a->row[a->count] = i;
        a->was[a->count++] = c->args.status[i];
    }
    return SHOAL_OK;
}

void takeover_tell(const struct journey *j, uint32_t rows) {
    const struct again *a = &j->again;
    for (uint32_t i = 0; i < a->count && a->row[i] < rows; i++)
        if (a->was[i] == SHOAL_ROW_STIFF)
            j->summary->found_stiff++;
        else
            j->summary->failed_first++;
}

// The setup of the other method: all the same, but its kernel and its tolerances.
static shoal_code get_kernel(struct journey *j) {
    if (j->stiff.module)
        return SHOAL_OK;
    struct run_setup s = *j->setup;
    s.module = NULL;
    shoal_code code = s.takeover->get(s.takeover->user, &s.module, &s.workspace, j->log);
    s.tolerances = s.takeover->tolerances;
    s.takeover = NULL;
    j->stiff = s;
    return code;
}

// Some of the rows, as a chunk of their own.
struct part {
    struct chunk chunk;
    struct chunk *whole;
    const uint32_t *row;
    uint32_t rows;
    bool counting;
};

static shoal_code fill(struct journey *j, struct part *p) {
    struct chunk *c = &p->chunk;
    shoal_code code = chunk_place(c, p->whole->first_row, p->rows, log_report(j->log));
    if (code != SHOAL_OK)
        return code;
    int32_t span = log_begin(j->log, LOG_h2d_transfer_parameters);
    chunk_gather(c, p->whole, p->row);
    journey_end_transfer(j, c, span, p->rows, (uint64_t)c->inputs * p->rows * c->elem);
    bool steps = j->setup->grid.shape == SINK_STEPS;
    return steps && !p->counting ? chunk_gather_room(c, p->whole, p->row, log_report(j->log))
                                 : SHOAL_OK;
}

// SHOAL_MEMORY, without a word: the device has no room for so many now.
static shoal_code run_part(struct journey *j, struct part *p, uint64_t before) {
    struct chunk *c = &p->chunk;
    c->launch.chunk = p->whole->launch.chunk;
    c->launch.chunked = p->whole->launch.chunked;
    journey_watch(j, c, (struct lookout){j, NULL, before});
    shoal_code code = journey_begin(j, c);
    if (code == SHOAL_OK)
        code = journey_wait(j, c);
    if (code != SHOAL_OK && code != SHOAL_STOPPED)
        return code;
    if (p->counting)
        chunk_scatter_counts(c, p->whole, p->row);
    else
        chunk_scatter(c, p->whole, p->row);
    return code;
}

// As many of the rows from `done` on as the device has room for; *size is how many that are.
static shoal_code next_part(struct journey *j, struct part *p, uint32_t done, uint32_t *size) {
    const struct again *a = &j->again;
    p->row = a->row + done;
    p->rows = a->count - done < *size ? a->count - done : *size;
    shoal_code code =
        chunk_init(&p->chunk, &j->stiff, j->batch, p->whole->wants & ~(unsigned)SINK_WANTS_INPUTS,
                   0, p->rows, log_report(j->log));
    if (code != SHOAL_OK)
        return code;
    p->chunk.block = RUN_SLOTS;
    code = fill(j, p);
    bool filled = code == SHOAL_OK;
    if (filled)
        code = run_part(j, p, p->whole->first_row + p->whole->args.z.rows - a->count + done);
    chunk_free(&p->chunk);
    if (!filled || code != SHOAL_MEMORY)
        return code;
    if (p->rows <= ROWS_LEAST)
        return report_error(log_report(j->log), SHOAL_MEMORY,
                            "%s has not enough memory for %u runs that are stiff",
                            j->setup->backend->name, p->rows);
    *size = p->rows / 2;
    p->rows = 0;
    return SHOAL_OK;
}

shoal_code takeover_chunk(struct journey *j, struct chunk *c, bool counting) {
    struct part p = {.whole = c, .counting = counting};
    shoal_code code = list_rows(&j->again, c, log_report(j->log));
    if (code != SHOAL_OK || !j->again.count)
        return code;
    code = get_kernel(j);
    uint32_t size = j->again.count, done = 0;
    while (code == SHOAL_OK && done < j->again.count) {
        code = next_part(j, &p, done, &size);
        done += p.rows;
    }
    for (uint32_t i = done; code == SHOAL_STOPPED && i < j->again.count; i++)
        c->args.status[j->again.row[i]] = SHOAL_ROW_PENDING;
    return code;
}
