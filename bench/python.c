// SPDX-License-Identifier: MIT
// What bench/python.py calls, in C: runs of one solver, each into new memory, the same arrays in
// the same layout. build/bench/python RUNS T1 CALLS prints the shortest call in seconds.
#include "program.h"

static const char model_text[] =
    "x'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\npar rho=10\ninit x=1,y=1,z=1\n";

enum { VARS = 3 };

static double call(shoal_solver *solver, const shoal_batch *batch, uint64_t runs, shoal_log *log) {
    double begin = lorenz_seconds();
    shoal_array a[] = {{NULL, malloc(runs * VARS * sizeof(double)), VARS, 1, 1},
                       {"t", malloc(runs * sizeof(double)), 1, 1, 0},
                       {"status", malloc(runs), 1, 1, 0},
                       {"steps", malloc(runs * sizeof(uint32_t)), 1, 1, 0},
                       {"rejected", malloc(runs * sizeof(uint32_t)), 1, 1, 0},
                       {"f_evals", malloc(runs * sizeof(uint64_t)), 1, 1, 0}};
    size_t count = sizeof a / sizeof *a;
    if (shoal_solver_run_arrays(solver, batch, a, count, NULL, log) != SHOAL_OK)
        die("run", log);
    double seconds = lorenz_seconds() - begin;
    for (size_t i = 0; i < count; i++)
        free(a[i].data);
    return seconds;
}

static void make(const char *t1, const double *rho, uint64_t runs, shoal_solver **solver,
                 shoal_batch **batch, shoal_log *log) {
    shoal_model *model = NULL;
    shoal_options o;
    if (shoal_model_parse("lorenz", model_text, sizeof model_text - 1, &model, log) ||
        shoal_options_init(&o, model, log) || shoal_options_set(&o, "t0", "0", log) ||
        shoal_options_set(&o, "t1", t1, log) || shoal_options_set(&o, "rtol", "1e-6", log) ||
        shoal_options_set(&o, "atol", "1e-6", log) || shoal_batch_new(model, batch, log) ||
        shoal_batch_lend(*batch, "rho", rho, SHOAL_F64, runs, log) ||
        shoal_solver_new(model, &o, solver, log))
        die("solver", log);
    shoal_model_free(model);
}

int main(int argc, char **argv) {
    uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const char *t1 = argc > 2 ? argv[2] : "1";
    int calls = argc > 3 ? atoi(argv[3]) : 5;
    shoal_log *log = shoal_log_new();
    shoal_solver *solver = NULL;
    shoal_batch *batch = NULL;
    double *rho = malloc((runs + 1) * sizeof *rho), best = INFINITY;
    for (uint64_t i = 0; i < runs; i++)
        rho[i] = lorenz_rho(i, runs);
    make(t1, rho, runs, &solver, &batch, log);
    call(solver, batch, runs, log);
    for (int i = 0; i < calls; i++)
        best = fmin(best, call(solver, batch, runs, log));
    printf("%.9f\n", best);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_log_free(log);
    free(rho);
    return 0;
}
