// SPDX-License-Identifier: MIT
// Batches of grids: shapes first, then chunks by a kernel or parts by stages.
#include "grid/batch.h"

#include "log/log.h"

LOG_LABEL(grid_run_execution, RUNTIME, 15, "a batch of grids through a pipeline");

enum {
    LOOK_US = 8000,   // of a first look into the cache, which asks what the compiler is, about
    COMPILE_MS = 120, // of a kernel, about
    KERNEL_PS = 1000, // of a stage in a kernel, for a cell, at most
    START_MS = 300,   // of a device, at least, with what is made for it
};

// ---- The way ------------------------------------------------------------------------------------

// Microseconds that stages would need for a batch, and cells of it and of those before.
static uint64_t stages_us(const struct grid_runner *r, const struct grid_batch *b) {
    return staged_ps(r, batch_between(b, 0, b->count)) / 1000000;
}
static uint64_t cells_with(const struct grid_runner *r, const struct grid_batch *b) {
    return r->cells + batch_between(b, 0, b->count);
}

// By stages, or by a kernel that is compiled first.
bool grid_is_early(const struct grid_runner *r, const struct grid_batch *b) {
    uint64_t units = cells_with(r, b) * r->plan->nodes.count;
    uint64_t us = COMPILE_MS * 1000 + units / (1000000 / KERNEL_PS) / r->threads;
    return r->staged_us + stages_us(r, b) < COMPILE_MS * 1000 || us < START_MS * 1000;
}

struct grid_load grid_load_of(struct grid_runner *r, const struct grid_batch *b,
                              enum grid_type out) {
    uint64_t in = batch_between(b, 0, b->count), made = in;
    struct stages_in g = b->count ? batch_grid(b, 0) : (struct stages_in){0};
    struct stages *s = NULL;
    const struct stages_out *found =
        !b->shapes && r->plan->one_shape && b->count ? batch_find_shape(r, &s, &g) : NULL;
    if (found)
        made = b->count * (uint64_t)found->height * (uint64_t)found->width;
    stages_free(s);
    double grids = b->count ? (double)b->count : 1;
    return (struct grid_load){.units = (double)(in + made) * r->plan->nodes.count / grids,
                              .in_bytes = (double)(in * grid_type_bytes(b->type)) / grids,
                              .out_bytes =
                                  (double)(made * grid_type_bytes(out)) / grids + STATUS_BYTES,
                              .alone = chunks_threads(&r->made[b->type][out].code, in + made) == 1,
                              .ready = r->made[b->type][out].kernel || stages_us(r, b) < LOOK_US};
}

// Whether stages are done before a kernel would be there. As long as they take less time than the
// look at the compiler that a look into the cache begins with, nobody looks; nor again before they
// have taken twice as long as at the last time.
static bool are_stages_first(struct grid_runner *r, const struct grid_batch *b,
                             const struct grid_result *out, shoal_log *log) {
    struct grid_found found = {0};
    r->staged_us += stages_us(r, b);
    r->cells = cells_with(r, b);
    if (r->made[b->type][out->type].kernel || r->staged_us >= COMPILE_MS * 1000)
        return false;
    if (r->staged_us < (r->looked_us ? 2 * r->looked_us : LOOK_US))
        return true;
    r->looked_us = r->staged_us;
    return grid_kernel_look(r, b->type, out->type, &found, log) != SHOAL_OK || !found.cached;
}

// The kernel, where it is the way to go; else *stages. A CPU without a compiler has its stages.
static shoal_code choose_way(struct grid_runner *r, const struct grid_batch *b,
                             const struct grid_result *out, bool *stages, shoal_log *log) {
    bool cpu = !r->backend->target(r->device)->device;
    bool free = r->way == GRID_BY_CHOICE && cpu;
    *stages = r->way == GRID_BY_STAGES || (free && are_stages_first(r, b, out, log));
    if (*stages)
        return SHOAL_OK;
    shoal_code code = grid_kernel(r, b->type, out->type, log);
    bool refused = r->made[b->type][out->type].refused;
    *stages = free && (code == SHOAL_DEVICE || refused);
    return *stages ? SHOAL_OK : code;
}

static shoal_code run_either(struct grid_runner *r, const struct grid_batch *b,
                             struct grid_result *out, const struct dispatch_control *control,
                             shoal_log *log) {
    bool stages = false;
    shoal_code code = choose_way(r, b, out, &stages, log);
    if (code != SHOAL_OK)
        return code;
    r->by_stages = stages;
    if (!stages)
        return chunks_run(r, b, out, control, log);
    if (out->cells && !r->plan->one_shape)
        code = staged_measure(r, b, out, control, log);
    return code == SHOAL_OK ? staged_run(r, b, out, control, log) : code;
}

shoal_code grid_shapes(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                       shoal_log *log) {
    static const struct dispatch_control nobody = {0};
    void *cells = out->cells;
    out->stack = false;
    out->needed = 0;
    shoal_code code = SHOAL_OK;
    if (!b->count || batch_mark_all(b, out))
        return code;
    if (r->plan->one_shape) {
        code = batch_known_shapes(r, b, out, log);
        if (code == SHOAL_OK)
            batch_set_stack(b, out);
    } else {
        out->cells = NULL;
        code = run_either(r, b, out, &nobody, log);
        out->cells = cells;
    }
    if (code == SHOAL_OK)
        batch_set_offsets(out, 0, b->count);
    return code;
}

shoal_code grid_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                    const struct dispatch_control *control, shoal_log *log) {
    int32_t span = log_begin(log, LOG_grid_run_execution);
    shoal_code code = SHOAL_OK;
    out->delivered = 0;
    log_u64(log, span, "numgrids", b->count);
    bool known = r->plan->one_shape;
    out->stack = false;
    out->needed = 0;
    if (known)
        code = grid_shapes(r, b, out, log);
    if (code == SHOAL_OK && out->needed > out->room)
        code = batch_too_small(out, log);
    bool none = !b->count || (known && !out->needed) || batch_mark_all(b, out);
    if (code == SHOAL_OK && !none)
        code = run_either(r, b, out, control, log);
    log_text(log, span, "by", r->by_stages ? "stages" : r->backend->name);
    log_end(log, span);
    return code;
}
