// SPDX-License-Identifier: MIT
// bench/grid: pipelines of grids on one core against NumPy on a stacked array, in the same run.
//
//     grid [GRIDS [SIDE]]
//
// Times are the best of many, of calls from and to ordinary memory. Without a Python that has NumPy
// its column is empty.
#include "program.h"

enum { TIMES = 200 };

static const char *const texts[] = {"rot90 | mask(v>5) | flip_h",
                                    "rot90(in) + (in>5)",
                                    "rot90(in)*(in>0) + (nsum4(in)>0)",
                                    "rot90",
                                    "flip",
                                    "mask(v>5)",
                                    "in + 1"};
enum { TEXTS = sizeof texts / sizeof *texts };

static const char numpy[] =
    "import numpy as np, time, sys\n"
    "n, s = int(sys.argv[1]), int(sys.argv[2])\n"
    "a = np.random.randint(0, 10, (n, s, s)).astype('u1')\n"
    "c = np.ascontiguousarray\n"
    "r = lambda x: np.rot90(x, axes=(1, 2))\n"
    "def one(x):\n"
    "    y = r(x)\n"
    "    return c((y * (y > 5))[:, :, ::-1])\n"
    "def three(x):\n"
    "    p = np.pad(x, ((0, 0), (1, 1), (1, 1)))\n"
    "    m = p[:, :-2, 1:-1] + p[:, 2:, 1:-1] + p[:, 1:-1, :-2] + p[:, 1:-1, 2:]\n"
    "    return r(x) * (x > 0) + (m > 0)\n"
    "for f in (one, lambda x: r(x) + (x > 5), three, lambda x: c(r(x)),\n"
    "          lambda x: c(x[:, ::-1, ::-1]), lambda x: x * (x > 5), lambda x: x + 1):\n"
    "    best = 1e9\n"
    "    for i in range(40):\n"
    "        t = time.perf_counter()\n"
    "        f(a)\n"
    "        best = min(best, time.perf_counter() - t)\n"
    "    print(best * 1e3)\n";

static double best_ms(const char *text, uint64_t count, int32_t side, const uint8_t *cells,
                      shoal_log *log) {
    shoal_options options;
    shoal_grid *grid = NULL;
    shoal_warm_result warm;
    uint64_t all = count * (uint64_t)side * (uint64_t)side;
    shoal_grids in = {.size = sizeof in, .count = count, .type = SHOAL_U8, .cells = cells};
    shoal_grids_out out = {.size = sizeof out, .type = SHOAL_U8, .cells = malloc(all), .room = all};
    in.height = in.width = side;
    out.shapes = malloc(2 * count * sizeof *out.shapes);
    out.offsets = malloc(count * sizeof *out.offsets);
    out.status = malloc(count);
    shoal_options_init(&options, NULL, log);
    options.device = "cpu";
    options.threads = 1;
    if (shoal_grid_warm(text, &options, SHOAL_U8, SHOAL_U8, NULL, &warm, log) ||
        shoal_grid_new(text, &options, &grid, log))
        die(text, log);
    double best = 1e9;
    for (int i = 0; i < TIMES; i++) {
        double start = lorenz_seconds();
        if (shoal_grid_run(grid, &in, &out, log))
            die(text, log);
        double ms = 1e3 * (lorenz_seconds() - start);
        best = ms < best ? ms : best;
    }
    shoal_grid_free(grid);
    free(out.shapes);
    free(out.offsets);
    free(out.status);
    free(out.cells);
    return best;
}

int main(int argc, char **argv) {
    const char *count = argc > 1 ? argv[1] : "1000", *side = argc > 2 ? argv[2] : "25";
    uint64_t n = (uint64_t)atoi(count), all = n * (uint64_t)atoi(side) * (uint64_t)atoi(side);
    const char *const python[] = {"/usr/bin/env", "python3", "-c", numpy, count, side, NULL};
    uint8_t *cells = malloc(all);
    shoal_log *log = shoal_log_new();
    double seconds;
    shoal_log_set_timing(log, SHOAL_TIMING_NONE);
    for (uint64_t i = 0; i < all; i++)
        cells[i] = (uint8_t)(i * 2654435761u % 4294967291u % 10);
    const char *theirs = run_program(python, &seconds);
    printf("%s grids of %s by %s, u8, one core\n", count, side, side);
    printf("%-36s %10s %10s %8s\n", "pipeline", "shoal ms", "numpy ms", "times");
    for (int i = 0; i < TEXTS; i++) {
        double ours = best_ms(texts[i], n, atoi(side), cells, log);
        char *end = NULL;
        double numpy_ms = theirs ? strtod(theirs, &end) : 0;
        printf("%-36s %10.4f", texts[i], ours);
        if (end && end != theirs)
            printf(" %10.4f %8.1f", numpy_ms, numpy_ms / ours);
        putchar('\n');
        theirs = end;
    }
    shoal_log_free(log);
    free(cells);
    return 0;
}
