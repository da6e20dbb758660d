// SPDX-License-Identifier: MIT
// Rows that another method takes over: gathered from a chunk that has run, run again from their
// start, and put back in their places before the sink sees the chunk.
//
// A row's inputs are copied, not computed again, and nothing of what the first method made of it is
// left: it is what a run with the other method alone would give. One that was only stiff, and that
// the other method cannot finish, is run with the first to its end; if that works, it is what that
// method alone would give.
#include "ode/run/journey.h"

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
    for (; i < c->args.head.rows; i++) {
        while (c->args.head.rows - i >= 8 && (memcpy(&eight, status + i, 8), !(eight & ~fine)))
            i += 8;
        if (i < c->args.head.rows && is_taken(status[i]))
            return i;
    }
    return c->args.head.rows;
}

uint32_t takeover_rows(const struct chunk *c) {
    uint32_t count = 0;
    for (uint32_t i = next_taken(c, 0); i < c->args.head.rows; i = next_taken(c, i + 1))
        count++;
    return count;
}

void takeover_give_up(struct journey *j, struct chunk *c) {
    j->again.count = 0;
    for (uint32_t i = next_taken(c, 0); i < c->args.head.rows; i = next_taken(c, i + 1))
        c->args.status[i] = SHOAL_ROW_PENDING;
}

static shoal_code list_rows(struct again *a, const struct chunk *c, struct report *r) {
    uint32_t count = c->args.totals[TOTAL_TAKEN] ? takeover_rows(c) : 0;
    a->count = a->losses = 0;
    if (count > a->room) {
        free(a->row);
        free(a->was);
        free(a->lost);
        a->row = malloc(count * sizeof *a->row);
        a->was = malloc(count);
        a->lost = malloc(count * sizeof *a->lost);
        a->room = a->row && a->was && a->lost ? count : 0;
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
    for (uint32_t i = 0; i < a->count && a->row[i] < rows && !j->first_only; i++)
        if (a->was[i] == SHOAL_ROW_STIFF)
            j->summary->found_stiff++;
        else
            j->summary->failed_first++;
    for (uint32_t i = 0; i < a->losses && a->lost[i].row < rows; i++)
        j->summary->taken_back += a->lost[i].back;
}

// The setup of another method: all the same, but its kernel and its tolerances.
static shoal_code get_kernel(struct journey *j, const struct run_takeover *t,
                             struct run_setup *out) {
    if (out->module)
        return SHOAL_OK;
    struct run_setup s = *j->setup;
    s.module = NULL;
    shoal_code code = t->get(t->user, &s.module, &s.workspace, &s.resident, j->log);
    s.method = t->method;
    s.tolerances = t->tolerances;
    s.takeover = NULL;
    *out = s;
    return code;
}

// Some of the rows, as a chunk of their own.
struct part {
    struct chunk chunk;
    struct chunk *whole;
    const struct run_setup *setup;
    const uint32_t *row;      // its rows,
    const unsigned char *was; // what they were; NULL: lost
    struct lost *lost;        // and how
    uint32_t rows;
    bool counting, may_lose;
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

// A longer run may finish what ended as max_steps; nothing but another method helps the others.
static bool is_lost(unsigned char status) {
    return is_taken(status) && status != SHOAL_STATUS_max_steps;
}

// Takes note of the rows that were stiff and are not finished now either.
static void list_lost(struct again *a, const struct part *p) {
    const struct shoal_args *z = &p->chunk.args;
    for (uint32_t k = 0; k < p->rows; k++)
        if (p->was[k] == SHOAL_ROW_STIFF && is_lost(z->status[k]))
            a->lost[a->losses++] = (struct lost){.row = p->row[k],
                                                 .steps = z->steps[k],
                                                 .rejected = z->rejected[k],
                                                 .f_evals = z->f_evals[k]};
}

// A row that finished in the end replaces what was lost, in the totals too.
static void put_back(const struct part *p, uint32_t k) {
    const struct shoal_args *z = &p->chunk.args;
    struct lost *lost = &p->lost[k];
    SHOAL_U64 *total = p->whole->args.totals;
    lost->back = true;
    chunk_scatter_row(&p->chunk, k, p->whole, p->row[k]);
    total[TOTAL_STEPS] += (uint64_t)z->steps[k] - lost->steps;
    total[TOTAL_REJECTED] += (uint64_t)z->rejected[k] - lost->rejected;
    total[TOTAL_F_EVALS] += z->f_evals[k] - lost->f_evals;
}

static void put_all_back(struct part *p) {
    const struct shoal_args *z = &p->chunk.args;
    for (uint32_t k = 0; k < p->rows; k++) {
        if (z->status[k] != SHOAL_STATUS_ok && z->status[k] != SHOAL_STATUS_stopped)
            continue;
        if (p->counting)
            p->whole->args.saved[p->row[k]] = z->saved[k];
        else
            put_back(p, k);
    }
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
    if (p->lost)
        put_all_back(p);
    else if (p->counting)
        chunk_scatter_counts(c, p->whole, p->row);
    else
        chunk_scatter(c, p->whole, p->row);
    if (p->may_lose)
        list_lost(&j->again, p);
    return code;
}

// The rows of the part, or as many as the device has room for: then p->rows is 0 and *size how many
// that may be.
static shoal_code try_part(struct journey *j, struct part *p, uint64_t before, uint32_t *size) {
    unsigned wants = (p->whole->wants | (p->may_lose || p->lost ? SINK_WANTS_COUNTS : 0)) &
                     ~(unsigned)SINK_WANTS_INPUTS;
    shoal_code code = chunk_init(&p->chunk, p->setup, j->batch, wants, p->whole->slot, p->rows,
                                 log_report(j->log)); // in its slot, which is free now
    if (code != SHOAL_OK)
        return code;
    p->chunk.block = RUN_SLOTS;
    code = fill(j, p);
    bool filled = code == SHOAL_OK;
    if (filled)
        code = run_part(j, p, before);
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

// Rows row[0] to row[count - 1], in as many parts as it takes. *done is how many were run.
static shoal_code run_rows(struct journey *j, struct part *whole, uint32_t count, uint32_t *done) {
    uint32_t size = count;
    shoal_code code = SHOAL_OK;
    for (*done = 0; code == SHOAL_OK && *done < count;) {
        struct part p = *whole;
        p.row += *done;
        p.was = p.was ? p.was + *done : NULL;
        p.lost = p.lost ? p.lost + *done : NULL;
        p.rows = count - *done < size ? count - *done : size;
        uint64_t end = p.whole->first_row + p.whole->args.head.rows;
        code = try_part(j, &p, end - count + *done, &size);
        *done += p.rows;
    }
    return code;
}

// What the method that took over could not finish either, with the first one to its end.
static shoal_code run_lost(struct journey *j, struct part p) {
    struct again *a = &j->again;
    uint32_t done, *row = malloc(a->losses * sizeof *row);
    if (!row)
        return report_error(log_report(j->log), SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < a->losses; i++)
        row[i] = a->lost[i].row;
    shoal_code code = get_kernel(j, j->setup->takeover->last, &j->last);
    p.setup = &j->last;
    p.row = row;
    p.was = NULL;
    p.lost = a->lost;
    p.may_lose = false;
    if (code == SHOAL_OK)
        code = run_rows(j, &p, a->losses, &done);
    for (uint32_t i = 0; code == SHOAL_STOPPED && i < a->losses; i++)
        if (!a->lost[i].back)
            p.whole->args.status[row[i]] = SHOAL_ROW_PENDING;
    free(row);
    return code;
}

// The kernel of the stiff method; where the model has none (its Jacobian is too large), rows that
// are stiff stay with the first, and rows that failed are as they are.
static shoal_code get_stiff(struct journey *j) {
    const struct run_takeover *t = j->setup->takeover;
    shoal_code code = j->first_only ? SHOAL_OK : get_kernel(j, t, &j->stiff);
    if (code == SHOAL_INPUT && t->last) {
        report_warning(log_report(j->log),
                       "%s cannot run this model; runs that are stiff go on with %s", t->method,
                       t->last->method);
        j->first_only = true;
        code = SHOAL_OK;
    }
    return code == SHOAL_OK && j->first_only ? get_kernel(j, t->last, &j->last) : code;
}

static void drop_failed(struct again *a) {
    uint32_t stiff = 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->was[i] == SHOAL_ROW_STIFF) {
            a->row[stiff] = a->row[i];
            a->was[stiff++] = SHOAL_ROW_STIFF;
        }
    a->count = stiff;
}

shoal_code takeover_chunk(struct journey *j, struct chunk *c, bool counting) {
    struct again *a = &j->again;
    uint32_t done = 0;
    shoal_code code = list_rows(a, c, log_report(j->log));
    if (code != SHOAL_OK || !a->count)
        return code;
    code = get_stiff(j);
    if (code == SHOAL_OK && j->first_only)
        drop_failed(a);
    struct part p = {.whole = c,
                     .setup = j->first_only ? &j->last : &j->stiff,
                     .row = a->row,
                     .was = a->was,
                     .counting = counting,
                     .may_lose = j->setup->takeover->last && !j->first_only};
    if (code == SHOAL_OK)
        code = run_rows(j, &p, a->count, &done);
    for (uint32_t i = done; code == SHOAL_STOPPED && i < a->count; i++)
        c->args.status[a->row[i]] = SHOAL_ROW_PENDING;
    return code == SHOAL_OK && a->losses ? run_lost(j, p) : code;
}
