// SPDX-License-Identifier: MIT
// A batch of grids by the stages of the library, in parts that threads take.
#include "grid/batch.h"

enum { GRAIN_PS = 100000000 }; // of stages that a thread is worth waking for

// ---- How long it takes --------------------------------------------------------------------------

// For a cell, measured; numbers take nothing.
static uint64_t node_ps(const struct grid_plan *p, const struct grid_node *n) {
    enum { CELL = 700, DIVISION = 4000, MAP = 4000, WHOLE = 8000, GENERATION = 250, MANY = 100 };
    enum grid_op op = (enum grid_op)n->op;
    const struct grid_node *times = grid_at(p, n->arg[1]);
    if (op == GRID_STEP)
        return CELL + GENERATION * (times->op != GRID_NUMBER ? MANY
                                    : times->value > 0       ? (uint64_t)times->value
                                                             : 0);
    if (grid_is_whole(op) || op == GRID_MOST_COMMON || op == GRID_LEAST_COMMON)
        return WHOLE;
    if (!n->cells)
        return grid_is_reduction(op) ? CELL : 0;
    return grid_is_map(op) ? MAP : op == GRID_DIV || op == GRID_MOD ? DIVISION : CELL;
}

// By one thread.
static uint64_t alone_ps(const struct grid_runner *r, uint64_t cells) {
    uint64_t ps = 0;
    for (uint32_t i = 0; i < r->plan->nodes.count; i++)
        ps += node_ps(r->plan, grid_at(r->plan, i));
    return ps > UINT64_MAX / 2 / (cells + 1) ? UINT64_MAX / 2 : ps * cells;
}

uint64_t staged_ps(const struct grid_runner *r, uint64_t cells) {
    uint64_t ps = alone_ps(r, cells), threads = ps / GRAIN_PS + 1;
    return ps / (threads < r->threads ? threads : r->threads);
}

// ---- Running ------------------------------------------------------------------------------------

struct by_stages {
    const struct grid_runner *runner;
    const struct grid_batch *batch;
    struct grid_result *out;
    const struct dispatch_control *control;
    bool failed, stopped; // atomic
};

static bool asked_to_stop(const struct dispatch_control *c) {
    return c && (dispatch_is_set(c->stop[0]) || dispatch_is_set(c->stop[1]));
}

static bool one_by_stages(struct by_stages *w, struct stages *s, uint64_t i) {
    struct grid_result *out = w->out;
    struct stages_in g = batch_grid(w->batch, i);
    struct stages_out found;
    const volatile int *stop = w->control ? w->control->stop[0] : NULL;
    if (!stages_run(s, &g, !out->cells, stop, &found))
        return false;
    if (!out->cells || !w->runner->plan->one_shape)
        batch_set_shape(out, i, &found);
    if (!out->cells)
        return true;
    char *to = (char *)out->cells + out->offsets[i] * grid_type_bytes(out->type);
    if (found.status == GRID_STATUS_OK && !stages_store(s, out->type, to))
        found.status = GRID_STATUS_RANGE;
    out->status[i] = (unsigned char)found.status;
    if (found.status != GRID_STATUS_OK)
        grid_mark(out, i, found.status);
    return true;
}

static void stages_part(void *user, size_t first, size_t end) {
    struct by_stages *w = user;
    struct stages *s = stages_new(w->runner->plan);
    bool ok = s;
    for (size_t i = first; ok && i < end; i++) {
        if (asked_to_stop(w->control))
            __atomic_store_n(&w->stopped, true, __ATOMIC_RELAXED);
        if (__atomic_load_n(&w->stopped, __ATOMIC_RELAXED))
            break;
        ok = one_by_stages(w, s, i);
    }
    if (!ok)
        __atomic_store_n(asked_to_stop(w->control) ? &w->stopped : &w->failed, true,
                         __ATOMIC_RELAXED);
    stages_free(s);
}

shoal_code staged_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                      const struct dispatch_control *control, shoal_log *log) {
    struct by_stages w = {.runner = r, .batch = b, .out = out, .control = control};
    uint64_t of_grid = alone_ps(r, batch_between(b, 0, b->count)) / b->count;
    team_run(&r->pool.team, r->threads, b->count, GRAIN_PS / (of_grid + 1) + 1, stages_part, &w);
    return w.failed ? batch_no_memory(log) : w.stopped ? SHOAL_STOPPED : SHOAL_OK;
}

// Shapes first, so that every result has its place.
shoal_code staged_measure(struct grid_runner *r, const struct grid_batch *b,
                          struct grid_result *out, const struct dispatch_control *control,
                          shoal_log *log) {
    void *cells = out->cells;
    out->cells = NULL;
    shoal_code code = staged_run(r, b, out, control, log);
    out->cells = cells;
    if (code != SHOAL_OK)
        return code;
    batch_set_offsets(out, 0, b->count);
    return out->needed > out->room ? batch_too_small(out, log) : SHOAL_OK;
}
