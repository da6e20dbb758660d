// SPDX-License-Identifier: MIT
// bench/grid: pipelines of grids on one core against NumPy, on a stacked array and called grid by
// grid, in the same run; and generations of B3/S23 against a loop written by hand.
//
//     grid DIRECTORY [GRIDS [SIDE]]
//
// DIRECTORY has peer_life. Times are the best of many, of calls from and to ordinary memory.
// Without a Python that has NumPy its columns are empty.
#include "program.h"

enum { TIMES = 200, LIFE_TIMES = 5, LIFE_SIDE = 512, LIFE_GENERATIONS = 10000 };

static const char *const texts[] = {"rot90 | mask(v>5) | flip_h",
                                    "rot90(in) + (in>5)",
                                    "rot90(in)*(in>0) + (nsum4(in)>0)",
                                    "rot90",
                                    "flip",
                                    "mask(v>5)",
                                    "in + 1"};
enum { TEXTS = sizeof texts / sizeof *texts };

// A line for each: the stack at once, and its grids one by one, in ms.
static const char numpy[] =
    "import numpy as np, time, sys\n"
    "n, s = int(sys.argv[1]), int(sys.argv[2])\n"
    "a = np.random.randint(0, 10, (n, s, s)).astype('u1')\n"
    "c = np.ascontiguousarray\n"
    "r = lambda x: np.rot90(x, axes=(-2, -1))\n"
    "def one(x):\n"
    "    y = r(x)\n"
    "    return c((y * (y > 5))[..., ::-1])\n"
    "def three(x):\n"
    "    p = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(1, 1), (1, 1)])\n"
    "    m = p[..., :-2, 1:-1] + p[..., 2:, 1:-1] + p[..., 1:-1, :-2] + p[..., 1:-1, 2:]\n"
    "    return r(x) * (x > 0) + (m > 0)\n"
    "def best(times, call):\n"
    "    least = 1e9\n"
    "    for i in range(times):\n"
    "        t = time.perf_counter()\n"
    "        call()\n"
    "        least = min(least, time.perf_counter() - t)\n"
    "    return least * 1e3\n"
    "for f in (one, lambda x: r(x) + (x > 5), three, lambda x: c(r(x)),\n"
    "          lambda x: c(x[..., ::-1, ::-1]), lambda x: x * (x > 5), lambda x: x + 1):\n"
    "    print(best(40, lambda: f(a)), best(5, lambda: [f(x) for x in a]))\n";

// A batch of grids of one shape, and room for as many results.
struct batch {
    shoal_grids in;
    shoal_grids_out out;
    uint8_t *cells;
    uint64_t all;
};

static struct batch batch_new(uint64_t count, int32_t side) {
    uint64_t all = count * (uint64_t)side * (uint64_t)side;
    struct batch b = {.cells = malloc(all), .all = all};
    b.in = (shoal_grids){.size = sizeof b.in, .count = count, .type = SHOAL_U8, .cells = b.cells};
    b.out = (shoal_grids_out){
        .size = sizeof b.out, .type = SHOAL_U8, .cells = malloc(all), .room = all};
    b.in.height = b.in.width = side;
    b.out.shapes = malloc(2 * count * sizeof *b.out.shapes);
    b.out.offsets = malloc(count * sizeof *b.out.offsets);
    b.out.status = malloc(count);
    return b;
}

static void batch_free(struct batch *b) {
    free(b->out.shapes);
    free(b->out.offsets);
    free(b->out.status);
    free(b->out.cells);
    free(b->cells);
}

static double best_ms(const char *text, struct batch *b, int times, shoal_log *log) {
    shoal_options options;
    shoal_grid *grid = NULL;
    shoal_warm_result warm;
    shoal_options_init(&options, NULL, log);
    options.device = "cpu";
    options.threads = 1;
    if (shoal_grid_warm(text, &options, SHOAL_U8, SHOAL_U8, NULL, &warm, log) ||
        shoal_grid_new(text, &options, &grid, log))
        die(text, log);
    double best = 1e9;
    for (int i = 0; i < times; i++) {
        double start = lorenz_seconds();
        if (shoal_grid_run(grid, &b->in, &b->out, log))
            die(text, log);
        double ms = 1e3 * (lorenz_seconds() - start);
        best = ms < best ? ms : best;
    }
    shoal_grid_free(grid);
    return best;
}

static void print_pipelines(const char *count, const char *side, shoal_log *log) {
    const char *const python[] = {"/usr/bin/env", "python3", "-c", numpy, count, side, NULL};
    struct batch b = batch_new((uint64_t)atoi(count), atoi(side));
    for (uint64_t i = 0; i < b.all; i++)
        b.cells[i] = (uint8_t)(i * 2654435761u % 4294967291u % 10);
    char *at = run_program(python, NULL);
    printf("%s grids of %s by %s, u8, one core\n", count, side, side);
    printf("%-34s %9s %9s %6s %9s %6s\n", "pipeline", "shoal ms", "numpy ms", "times", "by grid",
           "times");
    for (int i = 0; i < TEXTS; i++) {
        double ours = best_ms(texts[i], &b, TIMES, log);
        printf("%-34s %9.4f", texts[i], ours);
        for (int k = 0; k < 2 && at && *at; k++) {
            double theirs = strtod(at, &at);
            printf(" %9.4f %6.1f", theirs, theirs / ours);
        }
        putchar('\n');
    }
    batch_free(&b);
}

static uint64_t alive(const struct batch *b) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < b->all; i++)
        sum += ((const uint8_t *)b->out.cells)[i];
    return sum;
}

static void print_life(const char *directory, shoal_log *log) {
    char text[64], peer[4096], side[16], generations[16], *end = NULL;
    const char *const by_hand[] = {peer, side, generations, NULL};
    struct batch b = batch_new(1, LIFE_SIDE);
    uint64_t seed = 1;
    for (uint64_t i = 0; i < b.all; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        b.cells[i] = (uint8_t)(seed >> 63);
    }
    snprintf(peer, sizeof peer, "%s/peer_life", directory);
    snprintf(side, sizeof side, "%d", LIFE_SIDE);
    snprintf(generations, sizeof generations, "%d", LIFE_GENERATIONS);
    snprintf(text, sizeof text, "step(B3/S23, %d)", LIFE_GENERATIONS);
    double updates = 1e-9 * LIFE_GENERATIONS * (double)b.all;
    double ours = updates / best_ms(text, &b, LIFE_TIMES, log) * 1e3, theirs = 0;
    printf("%s on %d by %d: %.1f", text, LIFE_SIDE, LIFE_SIDE, ours);
    for (int i = 0; i < LIFE_TIMES; i++) {
        const char *said = run_program(by_hand, NULL);
        double rate = said ? updates / strtod(said, &end) : 0;
        theirs = rate > theirs ? rate : theirs;
        if (said && strtoull(end, NULL, 10) != alive(&b))
            die("peer_life has other cells alive", log);
    }
    printf(" thousand million cells a second");
    if (theirs > 0)
        printf("; by hand %.1f, times %.2f", theirs, ours / theirs);
    putchar('\n');
    batch_free(&b);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s DIRECTORY [GRIDS [SIDE]]\n", argv[0]);
        return 2;
    }
    shoal_log *log = shoal_log_new();
    shoal_log_set_timing(log, SHOAL_TIMING_NONE);
    print_pipelines(argc > 2 ? argv[2] : "1000", argc > 3 ? argv[3] : "25", log);
    print_life(argv[1], log);
    shoal_log_free(log);
    return 0;
}
