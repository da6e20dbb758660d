// SPDX-License-Identifier: MIT
// Measures devices by batches of grids, and keeps what the choice for grids needs.
//
// Each size is run on all devices, once before it is timed and then up to seven times, of which the
// chooser learns as it does of any batch. A device that would not be done with the next size, by
// the one before, is left out.
#include "api/calibrate.h"
#include "api/grid_devices.h"
#include "base/clock.h"
#include "grid/workloads.h"

#include <math.h>
#include <stdlib.h>

enum { SIZES = CALIBRATE_SIZES - 1 }; // of the largest, input and results are 160 MB

struct grids {
    const struct workload *workload;
    shoal_grid *grid;
    uint64_t end_ns;
    struct grid_batch batch;
    struct grid_result out;
    unsigned char *cells;
    bool left_out[COST_DEVICES]; // it failed, or larger batches would take too long
    double median[COST_DEVICES]; // of the last size; NaN: it was not run
    shoal_log *log;
};

static double seconds_left(const struct grids *g) {
    uint64_t now = clock_ns();
    return now < g->end_ns ? (double)(g->end_ns - now) * 1e-9 : 0;
}

// ---- Memory -------------------------------------------------------------------------------------

static void free_room(struct grids *g) {
    free(g->cells);
    free(g->out.cells);
    free(g->out.shapes);
    free(g->out.offsets);
    free(g->out.status);
}

// For so many grids, and their cells.
static bool make_room(struct grids *g, uint64_t count) {
    size_t each = (size_t)(g->batch.height * g->batch.width), cells = (size_t)count * each;
    free_room(g);
    g->cells = malloc(cells);
    g->out = (struct grid_result){.type = GRID_U8,
                                  .cells = malloc(cells),
                                  .room = cells,
                                  .shapes = malloc(2 * count * sizeof *g->out.shapes),
                                  .offsets = malloc(count * sizeof *g->out.offsets),
                                  .status = malloc(count)};
    if (!g->cells || !g->out.cells || !g->out.shapes || !g->out.offsets || !g->out.status)
        return false;
    for (size_t i = 0; i < cells; i++)
        g->cells[i] = (unsigned char)(i * 7 % 10);
    g->batch.count = count;
    g->batch.cells = g->cells;
    return true;
}

// ---- Timing -------------------------------------------------------------------------------------

// The median of as many runs as a share of the time allows.
static shoal_code time_row(struct grids *g, uint32_t row, double share) {
    double t[CALIBRATE_REPEATS], total = 0;
    uint32_t n = 0;
    shoal_code code = grid_devices_time(g->grid, row, &g->batch, &g->out, &t[0], g->log);
    while (code == SHOAL_OK && n < CALIBRATE_REPEATS && (n == 0 || total < share)) {
        code = grid_devices_time(g->grid, row, &g->batch, &g->out, &t[n], g->log);
        total += t[n++];
    }
    if (code == SHOAL_OK)
        g->median[row] = calibrate_median(t, n);
    return code;
}

// The CPU must do; a device that does not is left out, with its error.
static shoal_code time_rows(struct grids *g, double share) {
    const struct chooser *c = g->grid->chooser;
    shoal_code code = time_row(g, 0, share / c->machine.count);
    for (uint32_t i = 1; i < c->machine.count && code == SHOAL_OK; i++) {
        uint64_t mark = report_mark(log_report(g->log));
        char why[256];
        bool late = 2 * CALIBRATE_FACTOR * g->median[i] > seconds_left(g);
        g->left_out[i] = g->left_out[i] || late;
        g->median[i] = (double)NAN;
        if (g->left_out[i])
            continue;
        shoal_code other = time_row(g, i, share / c->machine.count);
        if (other == SHOAL_STOPPED)
            return other;
        g->left_out[i] = other != SHOAL_OK;
        if (other == SHOAL_OK)
            continue;
        report_withdraw(log_report(g->log), mark, why, sizeof why);
        report_warning(log_report(g->log), "%s: %s", c->table.row[i].device.name, why);
    }
    return code;
}

// ---- The table ----------------------------------------------------------------------------------

static uint32_t best_device(const struct grids *g) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < g->grid->chooser->machine.count; i++)
        if (!isnan(g->median[i]) && (!best || g->median[i] < g->median[best]))
            best = i;
    return best;
}

// With the start of the device and the compilation, whether or not they were needed now.
static double cold_time(const struct grids *g, uint32_t row) {
    const struct cost_row *d = &g->grid->chooser->table.row[row];
    const struct grid_made *m = &g->grid->worker[row]->runner.made[GRID_U8][GRID_U8];
    double compile = m->compile_s > 0 ? m->compile_s : d->kernel.compile;
    return d->device.start + compile + d->device.load + g->median[row];
}

static shoal_code show(struct grids *g, shoal_calibrate_visit *visit, void *user) {
    const struct cost_table *t = &g->grid->chooser->table;
    struct grid_result none = {.type = GRID_U8};
    static const struct dispatch_control nobody = {0};
    shoal_code code = grid_devices_run(g->grid, &g->batch, &none, &nobody, true, g->log);
    uint32_t other = best_device(g);
    shoal_calibration row = {.workload = g->workload->name,
                             .device = other ? t->row[other].device.name : NULL,
                             .runs = g->batch.count,
                             .cpu_s = g->median[0],
                             .warm_s = other ? g->median[other] : (double)NAN,
                             .cold_s = other ? cold_time(g, other) : (double)NAN,
                             .choice = t->row[g->grid->shown].device.name};
    if (code == SHOAL_OK && visit)
        visit(&row, user);
    return code;
}

// ---- All of them --------------------------------------------------------------------------------

static shoal_code open_grid(struct grids *g, const shoal_options *given) {
    shoal_options o;
    shoal_code code = shoal_options_init(&o, NULL, g->log);
    if (code != SHOAL_OK)
        return code;
    o.device = "cpu";
    o.cache = given->cache;
    o.threads = given->threads;
    o.stop = given->stop;
    o.on_compile = given->on_compile;
    o.on_compile_user = given->on_compile_user;
    code = shoal_grid_new(g->workload->text, &o, &g->grid, g->log);
    return code == SHOAL_OK ? grid_devices_find(g->grid, GRID_U8, GRID_U8, g->log) : code;
}

// Sizes from small to large, as long as there is time.
static shoal_code run_workload(struct grids *g, const shoal_options *o,
                               shoal_calibrate_visit *visit, void *user) {
    shoal_code code = open_grid(g, o);
    for (uint32_t i = 0; i < SIZES && code == SHOAL_OK; i++) {
        if (i && seconds_left(g) <= 0)
            break;
        if (!make_room(g, calibrate_rows(i)))
            return report_error(log_report(g->log), SHOAL_MEMORY, "out of memory");
        code = time_rows(g, seconds_left(g) / SIZES);
        if (code == SHOAL_OK)
            code = show(g, visit, user);
    }
    return code;
}

shoal_code calibrate_grids(const shoal_options *options, uint64_t end_ns,
                           shoal_calibrate_visit *visit, void *user, shoal_log *log) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < grid_workload_count && code == SHOAL_OK; i++) {
        const struct workload *w = &grid_workloads[i];
        struct grids g = {.workload = w,
                          .end_ns = end_ns,
                          .batch = {.type = GRID_U8, .height = (int)w->from, .width = (int)w->to},
                          .log = log};
        code = run_workload(&g, options, visit, user);
        shoal_grid_free(g.grid);
        free_room(&g);
    }
    return code;
}
