// SPDX-License-Identifier: MIT
// shoal grid --bench: a pipeline on batches of several sizes, on the CPU and on the device.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 20 };
static const uint64_t sizes[] = {10, 20, 30, 50, 100, 200, 1000, 10000};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const size_t cell_bytes[] = {1, 2, 4};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// A batch of any size: the grids of the file over and over.
struct copies {
    shoal_grids grids;
    char *cells;
    int32_t *shapes;
    uint64_t *offsets;
};

static uint64_t cells_of(const shoal_grids *g, uint64_t i, uint64_t *first) {
    int32_t h = g->shapes ? g->shapes[2 * i] : g->height,
            w = g->shapes ? g->shapes[2 * i + 1] : g->width;
    *first = g->shapes ? g->offsets[i] : i * (uint64_t)h * (uint64_t)w;
    return (uint64_t)h * (uint64_t)w;
}

static struct copies copies_new(const shoal_grids *of, uint64_t count) {
    struct copies c = {.grids = *of};
    size_t bytes = cell_bytes[of->type];
    uint64_t at = 0, first;
    c.shapes = cli_realloc(NULL, 2 * count * sizeof *c.shapes);
    c.offsets = cli_realloc(NULL, count * sizeof *c.offsets);
    for (uint64_t i = 0; i < count; i++) {
        c.offsets[i] = at;
        at += cells_of(of, i % of->count, &first);
        c.shapes[2 * i] = of->shapes ? of->shapes[2 * (i % of->count)] : of->height;
        c.shapes[2 * i + 1] = of->shapes ? of->shapes[2 * (i % of->count) + 1] : of->width;
    }
    c.cells = cli_realloc(NULL, at * bytes);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t n = cells_of(of, i % of->count, &first);
        memcpy(c.cells + c.offsets[i] * bytes, (const char *)of->cells + first * bytes, n * bytes);
    }
    c.grids.count = count;
    c.grids.cells = c.cells;
    c.grids.shapes = of->shapes ? c.shapes : NULL;
    c.grids.offsets = of->shapes ? c.offsets : NULL;
    return c;
}

static void copies_free(struct copies *c) {
    free(c->cells);
    free(c->shapes);
    free(c->offsets);
}

// What a device made of a batch: times of the first run and of the best.
struct tried {
    shoal_code code;
    double cold_ms, warm_ms;
    shoal_grids_out out;
};

static struct tried try_on(const char *device, const char *text, const shoal_options *options,
                           const shoal_grids *in, shoal_log *log) {
    struct tried t = {.out = {.size = sizeof t.out, .type = in->type}};
    shoal_options o = *options;
    shoal_grid *grid = NULL;
    double start = now_ms();
    o.device = device;
    t.out.shapes = cli_realloc(NULL, 2 * in->count * sizeof *t.out.shapes);
    t.out.offsets = cli_realloc(NULL, in->count * sizeof *t.out.offsets);
    t.out.status = cli_realloc(NULL, in->count);
    t.code = shoal_grid_new(text, &o, &grid, log);
    if (!t.code)
        t.code = shoal_grid_shapes(grid, in, &t.out, log);
    t.out.room = t.out.needed;
    t.out.cells = cli_realloc(NULL, t.out.room * cell_bytes[in->type]);
    for (int i = 0; i < TIMES && !t.code; i++) {
        double from = i ? now_ms() : start;
        t.code = shoal_grid_run(grid, in, &t.out, log);
        double ms = now_ms() - from;
        if (i == 0)
            t.cold_ms = ms;
        t.warm_ms = i == 0 || ms < t.warm_ms ? ms : t.warm_ms;
    }
    shoal_grid_free(grid);
    return t;
}

static void tried_free(struct tried *t) {
    free(t->out.shapes);
    free(t->out.offsets);
    free(t->out.status);
    free(t->out.cells);
}

static bool equal(const struct tried *a, const struct tried *b, uint64_t count) {
    return a->out.needed == b->out.needed && !memcmp(a->out.status, b->out.status, count) &&
           !memcmp(a->out.shapes, b->out.shapes, 2 * count * sizeof *a->out.shapes) &&
           !memcmp(a->out.cells, b->out.cells, a->out.needed * cell_bytes[a->out.type]);
}

shoal_code grid_bench(const char *text, const shoal_options *options, const shoal_grids *in,
                      shoal_log *log) {
    bool other =
        options->device && strcmp(options->device, "cpu") && strcmp(options->device, "auto");
    shoal_code code = SHOAL_OK;
    if (!in->count) {
        fputs("error: no grids\n", stderr);
        return SHOAL_INPUT;
    }
    printf("%8s %12s%s\n", "grids", "cpu ms", other ? "      cold ms      warm ms  speed-up" : "");
    for (int i = 0; i < SIZES && !code && !*stop_flag(); i++) {
        struct copies c = copies_new(in, sizes[i]);
        struct tried cpu = try_on("cpu", text, options, &c.grids, log), gpu = {0};
        printf("%8llu %12.4f", (unsigned long long)sizes[i], cpu.warm_ms);
        code = cpu.code;
        if (other && !code) {
            gpu = try_on(options->device, text, options, &c.grids, log);
            code = gpu.code;
            printf(" %12.4f %12.4f %9.2f%s", gpu.cold_ms, gpu.warm_ms, cpu.warm_ms / gpu.warm_ms,
                   !code && equal(&cpu, &gpu, sizes[i]) ? "" : "  DIFFERENT");
        }
        putchar('\n');
        tried_free(&cpu);
        tried_free(&gpu);
        copies_free(&c);
    }
    return code;
}
