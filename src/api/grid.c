// SPDX-License-Identifier: MIT
// Pipelines on grids, for those outside: argument checks, then one call down.
#include "api/grid_devices.h"
#include "api/grid_kept.h"
#include "api/model.h"
#include "api/options.h"
#include "io/grids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)SHOAL_U8 == GRID_U8 && (int)SHOAL_I16 == GRID_I16 && (int)SHOAL_I32 == GRID_I32,
               "types of cells");

static shoal_code no_memory(shoal_log *log) {
    return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

// ---- Handles ------------------------------------------------------------------------------------

// Text that outlives the call that gave it.
static void own_options(shoal_grid *g, const shoal_options *o) {
    g->given = (shoal_options){.threads = o->threads,
                               .chunk = o->chunk,
                               .memory = o->memory,
                               .threshold = o->threshold,
                               .reuses = o->reuses,
                               .no_fallback = o->no_fallback,
                               .cache = o->cache ? strdup(o->cache) : NULL,
                               .keep_source = o->keep_source ? strdup(o->keep_source) : NULL,
                               .stop = o->stop,
                               .on_compile = o->on_compile,
                               .on_compile_user = o->on_compile_user};
}

static shoal_code open_grid(const char *call, const char *text, const shoal_options *options,
                            const char *target, shoal_grid **out, shoal_log *log) {
    shoal_options o;
    *out = NULL;
    report_begin(log_report(log));
    shoal_code code = options_take(options, call, &o, log);
    if (code != SHOAL_OK)
        return code;
    shoal_grid *g = calloc(1, sizeof *g);
    if (!g)
        return no_memory(log);
    own_options(g, &o);
    g->plan = grid_parse("pipeline", text, strlen(text), log_report(log));
    code = g->plan ? grid_devices_open(g, o.device, target, log) : SHOAL_INPUT;
    if (code == SHOAL_OK)
        *out = g;
    else
        shoal_grid_free(g);
    return code;
}

shoal_code shoal_grid_new(const char *text, const shoal_options *options, shoal_grid **out,
                          shoal_log *log) {
    if (!text || !out)
        return api_usage(log, "shoal_grid_new", "text or place for the handle");
    return open_grid("shoal_grid_new", text, options, NULL, out, log);
}

void shoal_grid_free(shoal_grid *g) {
    if (!g)
        return;
    grid_devices_close(g);
    grid_plan_free(g->plan);
    free((char *)(uintptr_t)g->given.cache);
    free((char *)(uintptr_t)g->given.keep_source);
    free(g);
}

void shoal_grid_on_progress(shoal_grid *grid, void (*call)(const shoal_progress *now, void *user),
                            void *user) {
    if (!grid)
        return;
    grid->progress = call;
    grid->progress_user = user;
}

const char *shoal_grid_device(const shoal_grid *grid) {
    return grid ? grid->worker[grid->shown]->card.text : "";
}

uint64_t shoal_grid_break_even(const shoal_grid *grid) {
    return grid && grid->chooser ? choose_break_even(grid->chooser, &grid->last) : 0;
}

const char *shoal_grid_reason(const shoal_grid *grid) { return grid ? grid->reason : ""; }

static const char *const status_words[][2] = {
#define GRID_STATUS_WORDS(name, word, text) {word, text},
    GRID_STATUS(GRID_STATUS_WORDS)};

const char *shoal_grid_status_word(int status) {
    return status >= 0 && status < GRID_STATUS_COUNT ? status_words[status][0] : NULL;
}
const char *shoal_grid_status_text(int status) {
    return status >= 0 && status < GRID_STATUS_COUNT ? status_words[status][1] : NULL;
}

static const struct dispatch_control nobody = {0};

// ---- Runs ---------------------------------------------------------------------------------------

static bool is_type(shoal_cell type) { return type >= SHOAL_U8 && type <= SHOAL_I32; }

// Shapes are not negative and grids do not overlap.
static shoal_code check_shapes(const char *call, const shoal_grids *in, shoal_log *log) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < in->count; i++) {
        int32_t h = in->shapes[2 * i], w = in->shapes[2 * i + 1];
        if (h < 0 || w < 0 || in->offsets[i] < end)
            return report_error(log_report(log), SHOAL_USAGE,
                                "%s: grid %llu has no shape, or begins before the one before ends",
                                call, (unsigned long long)i);
        end = in->offsets[i] + (uint64_t)h * (uint64_t)w;
    }
    return SHOAL_OK;
}

static shoal_code check_call(const char *call, const shoal_grid *g, const shoal_grids *in,
                             const shoal_grids_out *out, shoal_log *log) {
    if (!g || !in || !out || in->size != sizeof *in || out->size != sizeof *out)
        return api_usage(log, call, "pipeline, grids or place for results");
    if ((!in->kept && !is_type(in->type)) || !is_type(out->type))
        return api_usage(log, call, "type of cells");
    uint64_t count = in->kept ? in->kept->count : in->count;
    if (count && (!out->shapes || !out->offsets || !out->status))
        return api_usage(log, call, "place for shapes, offsets or status");
    if (in->shapes && !in->offsets)
        return api_usage(log, call, "offsets of grids with shapes");
    if (in->kept)
        return SHOAL_OK;
    bool cells = in->shapes || (in->height > 0 && in->width > 0);
    if (in->count && cells && !in->cells)
        return api_usage(log, call, "cells");
    if (!in->shapes && (in->height < 0 || in->width < 0))
        return api_usage(log, call, "shape");
    return in->shapes ? check_shapes(call, in, log) : SHOAL_OK;
}

static struct grid_batch batch_of(const shoal_grids *given) {
    shoal_grids kept = shoal_kept_grids(given->kept);
    const shoal_grids *in = given->kept ? &kept : given;
    return (struct grid_batch){.kept = in->kept && in->kept->on.block ? &in->kept->on : NULL,
                               .count = in->count,
                               .type = (enum grid_type)in->type,
                               .cells = in->cells,
                               .height = in->height,
                               .width = in->width,
                               .shapes = in->shapes,
                               .offsets = in->offsets};
}

static struct grid_result result_of(const shoal_grids_out *out) {
    return (struct grid_result){.type = (enum grid_type)out->type,
                                .cells = out->cells,
                                .room = out->room,
                                .shapes = out->shapes,
                                .offsets = out->offsets,
                                .status = out->status};
}

static void tell(const struct grid_result *result, shoal_grids_out *out) {
    out->needed = result->needed;
    out->height = result->stack ? result->height : 0;
    out->width = result->stack ? result->width : 0;
}

shoal_code shoal_grid_shapes(shoal_grid *grid, const shoal_grids *in, shoal_grids_out *out,
                             shoal_log *log) {
    shoal_code code = check_call("shoal_grid_shapes", grid, in, out, log);
    if (code != SHOAL_OK)
        return code;
    struct grid_batch batch = batch_of(in);
    struct grid_result result = result_of(out);
    result.cells = NULL;
    if (grid->plan->one_shape) // of which no cell need be seen
        code = grid_shapes(&grid->worker[grid->shown]->runner, &batch, &result, log);
    else
        code = grid_devices_run(grid, &batch, &result, &nobody, false, log);
    tell(&result, out);
    return code;
}

// The device that gets a batch of which nothing runs.
static shoal_code plan_batch(const char *call, shoal_grid *grid, const shoal_grids *in,
                             shoal_cell out, shoal_log *log) {
    shoal_grids_out none = {.size = sizeof none, .type = out};
    none.shapes = &(int32_t){0}; // nothing is written
    none.offsets = &(uint64_t){0};
    none.status = &(uint8_t){0};
    shoal_code code = check_call(call, grid, in, &none, log);
    if (code != SHOAL_OK)
        return code;
    struct grid_batch batch = batch_of(in);
    struct grid_result room = result_of(&none);
    return grid_devices_run(grid, &batch, &room, &nobody, true, log);
}

shoal_code shoal_grid_plan(shoal_grid *grid, const shoal_grids *in, shoal_cell out,
                           shoal_log *log) {
    return plan_batch("shoal_grid_plan", grid, in, out, log);
}

shoal_code shoal_grid_ready(shoal_grid *grid, const shoal_grids *in, shoal_cell out,
                            shoal_log *log) {
    shoal_code code = plan_batch("shoal_grid_ready", grid, in, out, log);
    return code == SHOAL_OK ? grid_devices_ready(grid, batch_of(in).type, (enum grid_type)out, log)
                            : code;
}

static shoal_code run_grids(shoal_grid *grid, const shoal_grids *in, struct grid_result *result,
                            shoal_log *log) {
    const struct grid_batch batch = batch_of(in);
    const struct dispatch_control control = {
        .stop = {grid->given.stop}, .progress = grid->progress, .user = grid->progress_user};
    shoal_code code = grid_devices_run(grid, &batch, result, &control, false, log);
    if (code == SHOAL_OK)
        kept_mark(in->kept, result);
    return code;
}

// Results that have no cells have a place too.
static unsigned char nothing;

shoal_code shoal_grid_run(shoal_grid *grid, const shoal_grids *in, shoal_grids_out *out,
                          shoal_log *log) {
    shoal_code code = check_call("shoal_grid_run", grid, in, out, log);
    if (code != SHOAL_OK)
        return code;
    struct grid_result result = result_of(out);
    if (!result.cells) {
        result.cells = &nothing;
        result.room = 0;
    }
    code = run_grids(grid, in, &result, log);
    tell(&result, out);
    return code;
}

shoal_code shoal_grid_keep(shoal_grid *grid, const shoal_grids *in, shoal_grids_out *out,
                           shoal_kept **kept, shoal_log *log) {
    if (!kept)
        return api_usage(log, "shoal_grid_keep", "place for what is kept");
    *kept = NULL;
    shoal_code code = check_call("shoal_grid_keep", grid, in, out, log);
    if (code != SHOAL_OK)
        return code;
    shoal_kept *k = calloc(1, sizeof *k);
    if (!k)
        return no_memory(log);
    struct grid_result result = result_of(out);
    result.cells = &nothing;
    result.room = UINT64_MAX;
    result.keep = &k->on;
    code = run_grids(grid, in, &result, log);
    tell(&result, out);
    shoal_code taken = kept_take(k, &result, batch_of(in).count, log);
    code = code == SHOAL_OK ? taken : code;
    if (code == SHOAL_OK)
        *kept = k;
    else
        shoal_kept_free(k);
    return code;
}

// ---- Kernels ------------------------------------------------------------------------------------

shoal_code shoal_grid_warm(const char *text, const shoal_options *options, shoal_cell in,
                           shoal_cell out, const char *target, shoal_warm_result *result,
                           shoal_log *log) {
    struct kernel_making making;
    shoal_grid *g = NULL;
    if (!text || !result || !is_type(in) || !is_type(out))
        return api_usage(log, "shoal_grid_warm", "text, types or place for the result");
    shoal_code code = open_grid("shoal_grid_warm", text, options, target, &g, log);
    if (code != SHOAL_OK)
        return code;
    *result = (shoal_warm_result){.method = "grid"};
    struct grid_runner *r = &g->worker[g->shown]->runner;
    code = grid_kernel_warm(r, (enum grid_type)in, (enum grid_type)out, &making, log);
    snprintf(result->target, sizeof result->target, "%s", r->backend->target(r->device)->name);
    memcpy(result->key, making.hex, sizeof result->key);
    result->compiled = code == SHOAL_OK && making.origin == KERNEL_COMPILED;
    result->seconds = making.wall_ms / 1e3;
    if (result->compiled && !making.stored)
        code = report_error(log_report(log), SHOAL_IO, "the kernel could not be kept: %s",
                            making.unstored);
    shoal_grid_free(g);
    return code;
}

shoal_code shoal_grid_source(const char *text, const shoal_options *options, shoal_cell in,
                             shoal_cell out, char **source, shoal_log *log) {
    shoal_grid *g = NULL;
    if (!text || !source || !is_type(in) || !is_type(out))
        return api_usage(log, "shoal_grid_source", "text, types or place for the source");
    shoal_code code = open_grid("shoal_grid_source", text, options, NULL, &g, log);
    if (code != SHOAL_OK)
        return code;
    *source =
        grid_kernel_text(&g->worker[g->shown]->runner, (enum grid_type)in, (enum grid_type)out);
    if (!*source)
        code =
            report_error(log_report(log), SHOAL_INPUT, "the pipeline is too large for one kernel");
    shoal_grid_free(g);
    return code;
}

// ---- Files --------------------------------------------------------------------------------------

shoal_code shoal_grid_file_read(const char *path, const char *select, shoal_grid_file **out,
                                shoal_log *log) {
    if (!path || !out)
        return api_usage(log, "shoal_grid_file_read", "path or place for the grids");
    *out = NULL;
    return grids_read(path, select, out, log_report(log));
}

void shoal_grid_file_free(shoal_grid_file *file) { grids_free(file); }

shoal_grids shoal_grid_file_grids(const shoal_grid_file *f) {
    shoal_grids g = {.size = sizeof g};
    if (!f)
        return g;
    g.count = f->count;
    g.type = f->type;
    g.cells = f->cells;
    g.shapes = f->stack ? NULL : f->shapes;
    g.offsets = f->stack ? NULL : f->offsets;
    g.height = f->stack ? f->shapes[0] : 0;
    g.width = f->stack ? f->shapes[1] : 0;
    return g;
}

bool shoal_grid_file_exact(const shoal_grid_file *f) { return f && f->exact; }
bool shoal_grid_file_single(const shoal_grid_file *f) { return f && f->single; }

shoal_code shoal_grid_file_write(const char *path, const shoal_grids *in,
                                 const shoal_grids_out *out, bool single, shoal_log *log) {
    if (!path || !in || !out || in->size != sizeof *in || out->size != sizeof *out)
        return api_usage(log, "shoal_grid_file_write", "path, grids or results");
    return grids_write(path, in, out, single, shoal_grid_status_word, log_report(log));
}
