// SPDX-License-Identifier: MIT
// Rows that another method takes over: gathered from a chunk that has run, run again from their
// start, and put back in their places before the sink sees the chunk.
//
// A row's inputs are copied, not computed again, and nothing of what the first method made of it is
// left: it is what a run with the other method alone would give. One that was only stiff, and that
// the other method cannot finish, is run with the first to its end; if that works, it is what that
// method alone would give.
#include "ode/run/under_way.h"

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
    for (; i < c->base.rows; i++) {
        while (c->base.rows - i >= 8 && (memcpy(&eight, status + i, 8), !(eight & ~fine)))
            i += 8;
        if (i < c->base.rows && is_taken(status[i]))
            return i;
    }
    return c->base.rows;
}

uint32_t takeover_rows(const struct chunk *c) {
    uint32_t count = 0;
    for (uint32_t i = next_taken(c, 0); i < c->base.rows; i = next_taken(c, i + 1))
        count++;
    return count;
}

void takeover_give_up(struct batch_run *b, struct chunk *c) {
    b->taken[c->base.place].count = b->taken[c->base.place].losses = 0;
    for (uint32_t i = next_taken(c, 0); i < c->base.rows; i = next_taken(c, i + 1))
        c->args.status[i] = SHOAL_ROW_PENDING;
}

static shoal_code list_rows(struct taken_rows *a, const struct chunk *c, struct report *r) {
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

void takeover_tell(const struct batch_run *b, const struct chunk *c, uint32_t rows) {
    const struct taken_rows *a = &b->taken[c->base.place];
    for (uint32_t i = 0; i < a->count && a->row[i] < rows && !b->first_only; i++)
        if (a->was[i] == SHOAL_ROW_STIFF)
            b->tally->found_stiff++;
        else
            b->tally->failed_first++;
    for (uint32_t i = 0; i < a->losses && a->lost[i].row < rows; i++)
        b->tally->taken_back += a->lost[i].back;
}

void takeover_free(struct batch_run *b) {
    for (uint32_t i = 0; i < DISPATCH_SLOTS; i++) {
        free(b->taken[i].row);
        free(b->taken[i].was);
        free(b->taken[i].lost);
    }
}

shoal_code takeover_build(const struct plan *p, enum plan_role role, const struct build_how *how,
                          struct loaded *out, shoal_log *log) {
    struct system *s = build_system(p->model, log);
    shoal_code code =
        s ? build_kernel(&p->kernel[role], s, how, false, NULL, out, log) : SHOAL_INPUT;
    system_free(s);
    return code;
}

// A kernel that takes over, made when it is needed first and kept for the next run.
static shoal_code get_kernel(struct batch_run *b, enum plan_role role) {
    struct loaded *k = &b->runner->kernel[role];
    return k->kernel ? SHOAL_OK : takeover_build(b->plan, role, &b->runner->how, k, b->log);
}

// Rows of a chunk that run again with another method, and the part of them that runs now.
struct rerun {
    struct batch_run *run;
    struct chunk *whole;
    enum plan_role role;
    const uint32_t *row;      // its rows,
    const unsigned char *was; // what they were; NULL: lost
    struct lost_row *lost;    // and how
    uint32_t count;
    bool counting, may_lose;
    struct chunk part;
    uint32_t first; // of the rows
};

static shoal_code gather(struct rerun *p) {
    struct batch_run *b = p->run;
    struct chunk *c = &p->part;
    const uint32_t *row = p->row + p->first;
    shoal_code code = chunk_place(c, p->whole->base.first_row, c->base.rows, log_report(b->log));
    if (code != SHOAL_OK)
        return code;
    int32_t span = log_begin(b->log, LOG_h2d_transfer_parameters);
    chunk_gather(c, p->whole, row);
    dispatch_end_transfer(&b->loop, &c->base, span, c->base.rows,
                          (uint64_t)c->inputs * c->base.rows * c->elem);
    bool steps = b->plan->list.of.kind == SAMPLES_OWN;
    return steps && !p->counting ? chunk_gather_room(c, p->whole, row, log_report(b->log))
                                 : SHOAL_OK;
}

static shoal_code begin_part(void *user, uint32_t first, uint32_t rows,
                             struct dispatch_chunk **out) {
    struct rerun *p = user;
    struct batch_run *b = p->run;
    struct chunk *c = &p->part;
    enum chunk_use use = p->may_lose || p->lost ? CHUNK_COUNTED : CHUNK_PART;
    uint64_t end = p->whole->base.first_row + p->whole->base.rows;
    *c = under_way_chunk(b, p->role, use);
    shoal_code code = chunk_init(c, DISPATCH_AGAIN, rows, log_report(b->log));
    if (code != SHOAL_OK)
        return code;
    p->first = first;
    under_way_kernel(b, p->role, &c->base);
    c->base.rows = rows;
    c->base.launch.chunk = p->whole->base.launch.chunk;
    c->base.launch.chunked = p->whole->base.launch.chunked;
    c->base.before = end - p->count + first;
    code = gather(p);
    if (code != SHOAL_OK)
        chunk_free(c);
    *out = &c->base;
    return code;
}

// A longer run may finish what ended as max_steps; nothing but another method helps the others.
static bool is_lost(unsigned char status) {
    return is_taken(status) && status != SHOAL_STATUS_max_steps;
}

// Takes note of the rows that were stiff and are not finished now either.
static void list_lost(struct taken_rows *a, const struct rerun *p) {
    const struct shoal_args *z = &p->part.args;
    for (uint32_t k = 0; k < p->part.base.rows; k++)
        if (p->was[p->first + k] == SHOAL_ROW_STIFF && is_lost(z->status[k]))
            a->lost[a->losses++] = (struct lost_row){.row = p->row[p->first + k],
                                                     .steps = z->steps[k],
                                                     .rejected = z->rejected[k],
                                                     .f_evals = z->f_evals[k]};
}

// A row that finished in the end replaces what was lost, in the totals too.
static void put_back(const struct rerun *p, uint32_t k) {
    const struct shoal_args *z = &p->part.args;
    struct lost_row *lost = &p->lost[p->first + k];
    SHOAL_U64 *total = p->whole->args.totals;
    lost->back = true;
    chunk_scatter_row(&p->part, k, p->whole, lost->row);
    total[TOTAL_STEPS] += (uint64_t)z->steps[k] - lost->steps;
    total[TOTAL_REJECTED] += (uint64_t)z->rejected[k] - lost->rejected;
    total[TOTAL_F_EVALS] += z->f_evals[k] - lost->f_evals;
}

static void put_all_back(const struct rerun *p) {
    const struct shoal_args *z = &p->part.args;
    for (uint32_t k = 0; k < p->part.base.rows; k++) {
        if (z->status[k] != SHOAL_STATUS_ok && z->status[k] != SHOAL_STATUS_stopped)
            continue;
        if (p->counting)
            p->whole->args.saved[p->lost[p->first + k].row] = z->saved[k];
        else
            put_back(p, k);
    }
}

static void end_part(void *user, struct dispatch_chunk *chunk, bool came_back) {
    struct rerun *p = user;
    struct chunk *c = &p->part;
    const uint32_t *row = p->row + p->first;
    (void)chunk;
    if (came_back && p->lost)
        put_all_back(p);
    else if (came_back && p->counting)
        chunk_scatter_counts(c, p->whole, row);
    else if (came_back)
        chunk_scatter(c, p->whole, row);
    if (came_back && p->may_lose)
        list_lost(&p->run->taken[p->whole->base.place], p);
    chunk_free(c);
}

static shoal_code run_again(struct rerun *p, uint32_t *done) {
    struct dispatch_parts parts = {
        .user = p, .begin = begin_part, .end = end_part, .what = "runs that are stiff"};
    return dispatch_parts(&p->run->loop, &p->whole->base, &parts, p->count, done);
}

// What the method that took over could not finish either, with the first one to its end.
static shoal_code run_lost(struct batch_run *b, struct chunk *c, bool counting) {
    struct taken_rows *a = &b->taken[c->base.place];
    uint32_t done, *row = malloc(a->losses * sizeof *row);
    if (!row)
        return report_error(log_report(b->log), SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < a->losses; i++)
        row[i] = a->lost[i].row;
    shoal_code code = get_kernel(b, PLAN_LAST);
    struct rerun p = {.run = b,
                      .whole = c,
                      .role = PLAN_LAST,
                      .row = row,
                      .lost = a->lost,
                      .count = a->losses,
                      .counting = counting};
    if (code == SHOAL_OK)
        code = run_again(&p, &done);
    for (uint32_t i = 0; code == SHOAL_STOPPED && i < a->losses; i++)
        if (!a->lost[i].back)
            c->args.status[row[i]] = SHOAL_ROW_PENDING;
    free(row);
    return code;
}

// The kernel of the stiff method; where the model has none (its Jacobian is too large), rows that
// are stiff stay with the first, and rows that failed are as they are.
static shoal_code get_stiff(struct batch_run *b) {
    const struct kernel_plan *k = b->plan->kernel;
    shoal_code code = b->first_only ? SHOAL_OK : get_kernel(b, PLAN_STIFF);
    if (code == SHOAL_INPUT) {
        report_warning(log_report(b->log),
                       "%s cannot run this model; runs that are stiff go on with %s",
                       k[PLAN_STIFF].method->name, k[PLAN_LAST].method->name);
        b->first_only = true;
        code = SHOAL_OK;
    }
    return code == SHOAL_OK && b->first_only ? get_kernel(b, PLAN_LAST) : code;
}

static void drop_failed(struct taken_rows *a) {
    uint32_t stiff = 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->was[i] == SHOAL_ROW_STIFF) {
            a->row[stiff] = a->row[i];
            a->was[stiff++] = SHOAL_ROW_STIFF;
        }
    a->count = stiff;
}

shoal_code takeover_chunk(struct batch_run *b, struct chunk *c, bool counting) {
    struct taken_rows *a = &b->taken[c->base.place];
    uint32_t done = 0;
    shoal_code code = list_rows(a, c, log_report(b->log));
    if (code != SHOAL_OK || !a->count)
        return code;
    code = get_stiff(b);
    if (code == SHOAL_OK && b->first_only)
        drop_failed(a);
    struct rerun p = {.run = b,
                      .whole = c,
                      .role = b->first_only ? PLAN_LAST : PLAN_STIFF,
                      .row = a->row,
                      .was = a->was,
                      .count = a->count,
                      .counting = counting,
                      .may_lose = !b->first_only};
    if (code == SHOAL_OK)
        code = run_again(&p, &done);
    for (uint32_t i = done; code == SHOAL_STOPPED && i < a->count; i++)
        c->args.status[a->row[i]] = SHOAL_ROW_PENDING;
    return code == SHOAL_OK && a->losses ? run_lost(b, c, counting) : code;
}
