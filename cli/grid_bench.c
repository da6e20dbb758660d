// SPDX-License-Identifier: MIT
// shoal grid --bench: a pipeline on batches of several sizes, on the CPU and on the device, whose
// results must be the same.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 20, OFTEN = 200 };
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

// A pipeline on a device, with room for the results of the largest batch.
struct trial {
    shoal_grid *grid;
    shoal_grids_out out;
    double cold_ms, warm_ms; // of the first run with all that is made for it, and of the best
};

static void trial_close(struct trial *t) {
    shoal_grid_free(t->grid);
    free(t->out.shapes);
    free(t->out.offsets);
    free(t->out.status);
    free(t->out.cells);
}

static shoal_code trial_open(struct trial *t, const char *device, const char *text,
                             const shoal_options *options, const shoal_grids *in, shoal_log *log) {
    shoal_options o = *options;
    *t = (struct trial){.out = {.size = sizeof t->out, .type = in->type}};
    o.device = device;
    t->out.shapes = cli_realloc(NULL, 2 * in->count * sizeof *t->out.shapes);
    t->out.offsets = cli_realloc(NULL, in->count * sizeof *t->out.offsets);
    t->out.status = cli_realloc(NULL, in->count);
    shoal_code code = shoal_grid_new(text, &o, &t->grid, log);
    if (!code)
        code = shoal_grid_shapes(t->grid, in, &t->out, log);
    t->out.room = t->out.needed;
    t->out.cells = cli_realloc(NULL, t->out.room * cell_bytes[in->type]);
    return code;
}

static shoal_code trial_run(struct trial *t, const shoal_grids *in, int times, shoal_log *log) {
    shoal_code code = SHOAL_OK;
    for (int i = 0; i < times && !code; i++) {
        double from = now_ms();
        code = shoal_grid_run(t->grid, in, &t->out, log);
        double ms = now_ms() - from;
        t->warm_ms = i == 0 || ms < t->warm_ms ? ms : t->warm_ms;
    }
    return code;
}

static bool equal(const struct trial *a, const struct trial *b, uint64_t count) {
    return a->out.needed == b->out.needed && !memcmp(a->out.status, b->out.status, count) &&
           !memcmp(a->out.shapes, b->out.shapes, 2 * count * sizeof *a->out.shapes) &&
           !memcmp(a->out.cells, b->out.cells, a->out.needed * cell_bytes[a->out.type]);
}

struct bench {
    const char *text, *device; // of the trial beside the CPU's: by name, or auto
    const shoal_options *options;
    struct copies most; // the largest batch
    struct trial cpu, other;
    char cpu_text[192];
    bool differ, lone; // lone: there is no device besides the CPU
    shoal_log *log;
};

// What a process takes that has just begun with it: a handle of its own, and one run.
static shoal_code run_cold(struct bench *b, const shoal_grids *in) {
    struct trial t;
    double from = now_ms();
    shoal_code code = trial_open(&t, b->device, b->text, b->options, in, b->log);
    if (!code)
        code = trial_run(&t, in, 1, b->log);
    b->other.cold_ms = now_ms() - from;
    trial_close(&t);
    return code;
}

// Which device `auto` gives a batch to, in the end: the first times it may learn.
static shoal_code settle(struct bench *b, const shoal_grids *in, bool *cpu) {
    shoal_code code = trial_run(&b->other, in, TIMES, b->log);
    *cpu = !code && !strcmp(shoal_grid_device(b->other.grid), b->cpu_text);
    return code;
}

static void say_cpu(const struct bench *b) {
    uint64_t n = shoal_grid_break_even(b->other.grid);
    if (b->lone)
        printf("  cpu (there is no other)");
    else if (n)
        printf("  cpu (below break-even %llu)", (unsigned long long)n);
    else
        printf("  cpu (no break-even)");
}

static shoal_code try_other(struct bench *b, const shoal_grids *in) {
    bool cpu = false;
    shoal_code code = settle(b, in, &cpu);
    if (!code && !cpu)
        code = run_cold(b, in);
    if (code)
        return code;
    bool same = equal(&b->cpu, &b->other, in->count);
    b->differ = b->differ || !same;
    if (cpu)
        say_cpu(b);
    else
        printf(" %12.4f %12.4f %9.2f", b->other.cold_ms, b->other.warm_ms,
               b->cpu.warm_ms / b->other.warm_ms);
    fputs(same ? "" : "  DIFFERENT", stdout);
    return SHOAL_OK;
}

// The first grids of the largest batch.
static shoal_code try_size(struct bench *b, uint64_t size) {
    shoal_grids in = b->most.grids;
    in.count = size;
    shoal_code code = trial_run(&b->cpu, &in, TIMES, b->log);
    if (code)
        return code;
    printf("%8llu %12.4f", (unsigned long long)size, b->cpu.warm_ms);
    code = try_other(b, &in);
    putchar('\n');
    return code;
}

// Everything that is compiled and loaded once is there afterwards, on both devices.
static shoal_code open_both(struct bench *b) {
    const shoal_grids *in = &b->most.grids;
    shoal_code code = trial_open(&b->cpu, "cpu", b->text, b->options, in, b->log);
    if (!code)
        code = trial_run(&b->cpu, in, 2, b->log);
    if (code)
        return code;
    snprintf(b->cpu_text, sizeof b->cpu_text, "%s", shoal_grid_device(b->cpu.grid));
    code = trial_open(&b->other, b->device, b->text, b->options, in, b->log);
    double begin = now_ms(); // until `auto` has looked at all devices
    for (int i = 0; i < OFTEN && now_ms() - begin < 1000 && !code; i++)
        code = trial_run(&b->other, in, 2, b->log);
    b->lone = !code && !shoal_grid_reason(b->other.grid)[0];
    return code;
}

shoal_code grid_bench(const char *text, const shoal_options *options, const shoal_grids *in,
                      shoal_log *log) {
    struct bench b = {.text = text, .options = options, .log = log};
    b.device = options->device ? options->device : "auto";
    if (!in->count) {
        fputs("error: no grids\n", stderr);
        return SHOAL_INPUT;
    }
    b.most = copies_new(in, sizes[SIZES - 1]);
    shoal_code code = open_both(&b);
    if (!code)
        printf("%8s %12s %12s %12s %9s\n", "grids", "cpu ms", "cold ms", "warm ms", "speed-up");
    for (int i = 0; i < SIZES && !code && !*stop_flag(); i++)
        code = try_size(&b, sizes[i]);
    trial_close(&b.cpu);
    trial_close(&b.other);
    copies_free(&b.most);
    return code ? code : b.differ ? SHOAL_DEVICE : SHOAL_OK;
}
