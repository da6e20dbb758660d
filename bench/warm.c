// SPDX-License-Identifier: MIT
// What a run costs when its kernel is in the cache: a whole process, the way from a model to a
// loaded kernel, and a solve with a solver that is there already.
//
//   warm BUILD_DIRECTORY
//
// Prints Markdown; best and median, because other programs get in the way. The cache is one of its
// own, in /tmp, and is removed.
#include "program.h"

#include <ftw.h>

enum { ROUNDS = 40, SOLVES = 2000 };

static const char lorenz[] = "par rho=28\nconst sigma=10, beta=8/3\ninit x=1,y=0,z=0\n"
                             "x'=sigma*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-beta*z\n";

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(const char *what, double *seconds, int count, double scale, const char *unit,
                double bar) {
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    printf("| %s | %.3g %s | %.3g %s | %.3g %s |\n", what, seconds[0] * scale, unit,
           seconds[count / 2] * scale, unit, bar, unit);
}

static void bench_process(const char *build) {
    char path[512];
    double seconds[ROUNDS];
    snprintf(path, sizeof path, "%s/shoal", build);
    const char *const argv[] = {path,  "run",     "examples/lorenz.ode", "--device",
                                "cpu", "--sweep", "rho=lin:0:21:8",      NULL};
    if (!run_program(argv, NULL))
        die("shoal run", NULL);
    for (int i = 0; i < ROUNDS; i++)
        run_program(argv, &seconds[i]);
    row("shoal run, 8 Lorenz, process start to exit", seconds, ROUNDS, 1e3, "ms", 15);
}

static double span_seconds(const shoal_log *log, const char *label) {
    for (size_t i = 0; i < shoal_log_sum_count(log); i++)
        if (!strcmp(shoal_log_sum(log, i).label, label))
            return (double)shoal_log_sum(log, i).ns * 1e-9;
    return 0;
}

static shoal_solver *solver_of(const shoal_model *model, const char *t1, shoal_log *log) {
    shoal_options options;
    shoal_solver *solver = NULL;
    if (shoal_options_init(&options, model, log) || shoal_options_set(&options, "t1", t1, log) ||
        shoal_options_set(&options, "threads", "1", log) ||
        shoal_solver_new(model, &options, &solver, log))
        die("solver", log);
    return solver;
}

static shoal_model *model_of(const char *text) {
    shoal_model *model = NULL;
    if (shoal_model_parse("model", text, strlen(text), &model, NULL))
        die("model", NULL);
    return model;
}

// Key to loaded kernel: what a hit costs beyond generating the source.
static void bench_load(const char *what, const char *text, double bar) {
    double found[ROUNDS], all[ROUNDS];
    char name[128];
    shoal_model *model = model_of(text);
    shoal_solver_free(solver_of(model, "1", NULL));
    for (int i = 0; i < ROUNDS; i++) {
        shoal_log *log = shoal_log_new();
        shoal_cache_forget(); // from disk
        double start = lorenz_seconds();
        shoal_solver *solver = solver_of(model, "1", log);
        all[i] = lorenz_seconds() - start;
        found[i] = span_seconds(log, "cache_lookup") + span_seconds(log, "module_load");
        shoal_solver_free(solver);
        shoal_log_free(log);
    }
    snprintf(name, sizeof name, "%s, lookup to loaded kernel", what);
    row(name, found, ROUNDS, 1e3, "ms", bar);
    snprintf(name, sizeof name, "%s, shoal_solver_new in all", what);
    row(name, all, ROUNDS, 1e3, "ms", bar);
    shoal_model_free(model);
}

// A solve of one step or two: all that is not arithmetic.
static void bench_solve(void) {
    static double seconds[SOLVES];
    double values[24];
    shoal_model *model = model_of(lorenz);
    shoal_batch *batch = NULL;
    shoal_solver *solver = solver_of(model, "1e-6", NULL);
    shoal_array arrays = {.data = values};
    if (shoal_batch_new(model, &batch, NULL) || shoal_batch_sweep(batch, "rho=lin:0:21:8", NULL))
        die("batch", NULL);
    for (int i = 0; i < SOLVES; i++) {
        double start = lorenz_seconds();
        shoal_solver_run_arrays(solver, batch, &arrays, 1, NULL, NULL);
        seconds[i] = lorenz_seconds() - start;
    }
    row("solve of 8 Lorenz beyond the arithmetic", seconds, SOLVES, 1e6, "us", 30);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
}

// The first run of a solver that was warmed, and the tenth.
static void bench_warmed(void) {
    enum { RUNS = 20000, TENTH = 10, TRIES = 9 };
    static double values[3 * RUNS];
    double ratio[TRIES];
    char rows[64];
    shoal_model *model = model_of(lorenz);
    shoal_batch *batch = NULL;
    shoal_array arrays = {.data = values};
    snprintf(rows, sizeof rows, "rho=lin:0:21:%d", RUNS);
    if (shoal_batch_new(model, &batch, NULL) || shoal_batch_sweep(batch, rows, NULL))
        die("batch", NULL);
    for (int k = 0; k < TRIES; k++) {
        double seconds[TENTH];
        shoal_solver *solver = solver_of(model, "10", NULL);
        if (shoal_solver_warm(solver, batch, NULL))
            die("warm-up", NULL);
        for (int i = 0; i < TENTH; i++) {
            double start = lorenz_seconds();
            shoal_solver_run_arrays(solver, batch, &arrays, 1, NULL, NULL);
            seconds[i] = lorenz_seconds() - start;
        }
        ratio[k] = seconds[0] / seconds[TENTH - 1];
        shoal_solver_free(solver);
        shoal_cache_forget();
    }
    row("first of 20000 Lorenz after shoal_solver_warm, over the tenth run", ratio, TRIES, 1, "x",
        1.05);
    shoal_batch_free(batch);
    shoal_model_free(model);
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw) {
    (void)s, (void)flag, (void)ftw;
    return remove(path);
}

int main(int argc, char **argv) {
    char cache[] = "/tmp/shoal-bench.XXXXXX", large[512];
    if (!mkdtemp(cache))
        return 1;
    setenv("SHOAL_CACHE_DIR", cache, 1);
    setenv("SHOAL_CACHE", "on", 1);
    puts("| with the kernel cached | best | median | bar |\n|---|---|---|---|");
    bench_process(argc > 1 ? argv[1] : "build");
    bench_load("Lorenz", lorenz, 2);
    snprintf(large, sizeof large,
             "par a=1,b=0.1\nx1'=a*(x2-x100)-x1^3\nx[2..99]'=a*(x[j+1]-x[j-1])-"
             "b*x[j]*exp(-x[j]^2)+sin(x[j-1])\nx100'=a*(x1-x99)-x100\n@ t1=1\n");
    bench_load("100 states", large, 5);
    bench_solve();
    bench_warmed();
    nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
