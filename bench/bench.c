// SPDX-License-Identifier: MIT
// `make bench`: Shoal against its peers and against the machine, in one run on one machine.
//
// usage: bench [DIRECTORY OF THE PROGRAMS]    (build/bench, with the command line next to it)
//
// Every row is a ratio of two things measured in this run: best of several repetitions, taken in
// turns where two are compared, by solvers that were warmed. Peers that are not installed are left
// out. Prints Markdown.
#include "job.h"

#include <errno.h>

static const char *directory = "build/bench";
static int failures;

// ---- rows ------------------------------------------------------------------------------------

// A bar and whether it was reached.
static void row(const char *what, double figure, const char *unit, const char *against,
                double ratio, double bar, bool at_most) {
    bool good = at_most ? ratio <= bar : ratio >= bar;
    bool has_bar = !isnan(bar) && !isnan(ratio);
    char ratio_text[32] = "-", bar_text[48] = "-";
    if (!isnan(ratio))
        snprintf(ratio_text, sizeof ratio_text, "%.3g", ratio);
    if (has_bar)
        snprintf(bar_text, sizeof bar_text, "%s %.3g %s", at_most ? "<=" : ">=", bar,
                 good ? "reached" : "MISSED");
    failures += has_bar && !good;
    printf("| %s | %.4g %s | %s | %s | %s |\n", what, figure, unit, against, ratio_text, bar_text);
    fflush(stdout);
}

// ---- one problem ready to run -------------------------------------------------------------------

static struct job job_new(const char *text, const char *const settings[][2]) {
    struct job j = job_load(text, NULL, settings);
    if (shoal_batch_new(j.model, &j.batch, j.log) ||
        shoal_solver_new(j.model, &j.options, &j.solver, j.log))
        die("solver", j.log);
    return j;
}

static void job_rows(struct job *j, const char *name, const double *values, uint64_t n) {
    if (shoal_batch_values(j->batch, name, values, n, j->log))
        die("batch", j->log);
    j->n = n;
    j->values = malloc(8 * n * shoal_solver_var_count(j->solver));
    j->status = malloc(n);
    job_warm(j);
}

static double job_run(struct job *j) {
    shoal_tally s;
    shoal_array a[] = {{.data = j->values}, {.name = "status", .data = j->status}};
    double start = lorenz_seconds();
    if (shoal_solver_run_arrays(j->solver, j->batch, a, 2, &s, j->log))
        die("run", j->log);
    double seconds = lorenz_seconds() - start;
    if (s.by_status[SHOAL_STATUS_ok] != j->n)
        die("a trajectory failed", j->log);
    j->steps = s.steps;
    return seconds;
}

// ---- Lorenz -------------------------------------------------------------------------------------

static const char lorenz_text[] = "par rho=28\nconst sigma=10, beta=8/3\ninit x=1,y=0,z=0\n"
                                  "x'=sigma*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-beta*z\n@ t1=1\n";

static double *lorenz_inputs(uint64_t n) {
    double *rho = malloc(sizeof(double) * n);
    for (uint64_t i = 0; i < n; i++)
        rho[i] = lorenz_rho(i, n);
    return rho;
}

static double lorenz_error(const struct job *j) {
    double worst = 0;
    for (int s = 0; s < LORENZ_SAMPLES; s++) {
        uint64_t i = (uint64_t)s * (j->n - 1) / (LORENZ_SAMPLES - 1);
        double want[3];
        lorenz_reference(lorenz_rho(i, j->n), want);
        for (uint64_t k = 0; k < 3; k++)
            worst = fmax(worst, fabs(((double *)j->values)[k * j->n + i] - want[k]));
    }
    return worst;
}

struct peer {
    const char *name, *program;
    double bar, rate, error;
};

static void measure_peer(struct peer *p, const char *n) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, p->program);
    const char *const argv[] = {path, n, NULL};
    char *text = run_program(argv, NULL);
    if (!text)
        return;
    p->rate = fmax(p->rate, value_of(text, "trajectories_per_s"));
    p->error = value_of(text, "error_max");
}

static void bench_lorenz(void) {
    enum { N = 400000, REPETITIONS = 5 };
    struct peer peers[] = {{"Boost.odeint dopri5", "peer_odeint", 3.5, 0, 0},
                           {"SUNDIALS ARKODE ERK", "peer_arkode", 60, 0, 0}};
    const char *methods[] = {"dopri5", "tsit5"};
    double *rho = lorenz_inputs(N), best[2] = {INFINITY, INFINITY};
    struct job jobs[2];
    for (int m = 0; m < 2; m++) {
        const char *const settings[][2] = {{"method", methods[m]},
                                           {"rtol", "1e-6"},
                                           {"atol", "1e-6"},
                                           {"threads", "1"},
                                           {NULL, NULL}};
        jobs[m] = job_new(lorenz_text, settings);
        job_rows(&jobs[m], "rho", rho, N);
    }
    for (int i = 0; i < REPETITIONS; i++) { // in turns, so that all meet the same machine
        measure_peer(&peers[0], "100000");
        measure_peer(&peers[1], "10000");
        for (int m = 0; m < 2; m++)
            best[m] = fmin(best[m], job_run(&jobs[m]));
    }
    for (int p = 0; p < 2; p++)
        if (peers[p].rate > 0) {
            char what[96];
            snprintf(what, sizeof what, "%s, true error %.1e", peers[p].name, peers[p].error);
            row(what, peers[p].rate, "trajectories/s", "-", NAN, NAN, false);
        }
    for (int m = 0; m < 2; m++)
        for (int p = 0; p < 2; p++) {
            char what[96];
            double rate = N / best[m];
            snprintf(what, sizeof what, "Lorenz f64 %s 1e-6, one core, true error %.1e", methods[m],
                     lorenz_error(&jobs[m]));
            row(what, rate, "trajectories/s", peers[p].name,
                peers[p].rate > 0 ? rate / peers[p].rate : NAN, peers[p].bar, false);
        }
    for (int m = 0; m < 2; m++)
        job_free(&jobs[m]);
    free(rho);
}

// ---- fixed steps against the peak ---------------------------------------------------------------

static void bench_peak(void) {
    enum { N = 65536, STEPS = 1024, INSTRUCTIONS = 45, REPETITIONS = 5 };
    char path[512];
    snprintf(path, sizeof path, "%s/peak", directory);
    const char *const argv[] = {path, NULL};
    double *rho = lorenz_inputs(N);
    for (int f32 = 0; f32 < 2; f32++) {
        const char *const settings[][2] = {{"method", "rk4"},
                                           {"dt", "0.0009765625"},
                                           {"precision", f32 ? "f32" : "f64"},
                                           {"threads", "1"},
                                           {NULL, NULL}};
        struct job j = job_new(lorenz_text, settings);
        double best = INFINITY, peak = 0, lanes = 0;
        job_rows(&j, "rho", rho, N);
        for (int i = 0; i < REPETITIONS; i++) {
            best = fmin(best, job_run(&j));
            char *text = run_program(argv, NULL);
            if (!text)
                break;
            peak = fmax(peak, value_of(text, f32 ? "f32_gfma_per_s" : "f64_gfma_per_s"));
            lanes = value_of(text, f32 ? "f32_lanes" : "f64_lanes");
        }
        double done = (double)N / lanes * STEPS * INSTRUCTIONS / best * 1e-9;
        row(f32 ? "Lorenz f32 rk4, 1024 steps, one core" : "Lorenz f64 rk4, 1024 steps, one core",
            done, "G instructions/s", "peak of an FMA loop", peak > 0 ? done / peak : NAN, 0.65,
            false);
        job_free(&j);
    }
    free(rho);
}

// ---- threads ------------------------------------------------------------------------------------

static void bench_threads(void) {
    enum { N = 1000000, PAIRS = 7 };
    double *rho = lorenz_inputs(N), best = 0, rate = 0;
    struct job jobs[2];
    for (int t = 0; t < 2; t++) {
        const char *const settings[][2] = {
            {"rtol", "1e-6"}, {"atol", "1e-6"}, {"threads", t ? "2" : "1"}, {NULL, NULL}};
        jobs[t] = job_new(lorenz_text, settings);
        job_rows(&jobs[t], "rho", rho, N);
        job_run(&jobs[t]);
    }
    for (int i = 0; i < PAIRS; i++) {
        double one = job_run(&jobs[0]), two = job_run(&jobs[1]);
        if (one / two > best) {
            best = one / two;
            rate = N / two;
        }
    }
    row("Lorenz f64 tsit5 1e-6, two threads", rate, "trajectories/s", "one thread", best, 1.9,
        false);
    job_free(&jobs[0]);
    job_free(&jobs[1]);
    free(rho);
}

// ---- refill -------------------------------------------------------------------------------------

static const char vdp_text[] = "par mu=1\ninit x=2,v=0\nx'=v\nv'=mu*(1-x^2)*v-x\n@ t1=20\n";

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void bench_refill(void) {
    enum { N = 65536, REPETITIONS = 3 }; // enough that the last long ones do not count
    double *mu = malloc(sizeof(double) * N), *sorted = malloc(sizeof(double) * N);
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < N; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        sorted[i] = mu[i] = pow(10, 3 * (double)(seed >> 11) * 0x1p-53);
    }
    qsort(sorted, N, sizeof *sorted, by_value);
    struct job jobs[3]; // shuffled, sorted, shuffled without refill
    double best[3] = {INFINITY, INFINITY, INFINITY};
    for (int k = 0; k < 3; k++) {
        const char *const settings[][2] = {{"method", "tsit5"},
                                           {"rtol", "1e-6"},
                                           {"atol", "1e-6"},
                                           {"threads", "1"},
                                           {"refill", k == 2 ? "off" : "on"},
                                           {NULL, NULL}};
        jobs[k] = job_new(vdp_text, settings);
        job_rows(&jobs[k], "mu", k == 1 ? sorted : mu, N);
    }
    for (int i = 0; i < REPETITIONS; i++)
        for (int k = 0; k < 3; k++)
            best[k] = fmin(best[k], job_run(&jobs[k]));
    row("Van der Pol, mu in [1,1000] shuffled, refill", N / best[0], "trajectories/s",
        "the batch sorted by mu", best[1] / best[0], 0.9, false);
    row("Van der Pol, mu in [1,1000] shuffled, refill", N / best[0], "trajectories/s", "refill off",
        best[2] / best[0], 2.2, false);
    for (int k = 0; k < 3; k++)
        job_free(&jobs[k]);
    free(mu);
    free(sorted);
}

// ---- first answer -------------------------------------------------------------------------------

static void bench_first_answer(void) {
    char path[512];
    double best = INFINITY, seconds;
    snprintf(path, sizeof path, "%s/../shoal", directory);
    const char *const argv[] = {path, "run", "examples/lorenz.ode", NULL};
    for (int i = 0; i < 10; i++) {
        if (!run_program(argv, &seconds))
            die("shoal run examples/lorenz.ode", NULL);
        best = fmin(best, seconds);
    }
    row("first answer: shoal run examples/lorenz.ode, nothing cached", best * 1e3, "ms", "300 ms",
        best / 0.3, 1, true);
    char text[512];
    snprintf(text, sizeof text,
             "par a=1,b=0.1\nx1'=a*(x2-x100)-x1^3\nx[2..99]'=a*(x[j+1]-x[j-1])-"
             "b*x[j]*exp(-x[j]^2)+sin(x[j-1])\nx100'=a*(x1-x99)-x100\n@ t1=1\n");
    best = INFINITY;
    for (int i = 0; i < 3; i++) {
        const char *const settings[][2] = {{NULL, NULL}};
        double start = lorenz_seconds();
        struct job j = job_new(text, settings);
        best = fmin(best, lorenz_seconds() - start);
        job_free(&j);
        shoal_cache_forget();
    }
    row("100 states, parse to loaded kernel", best * 1e3, "ms", "1500 ms", best / 1.5, 1, true);
}

int main(int argc, char **argv) {
    if (argc > 1)
        directory = argv[1];
    setenv("SHOAL_CACHE", "off", 1); // warm.c measures what it saves
    shoal_device_info cpu = shoal_device_at(0);
    printf("%s; solvers are warmed first\n\n| what | figure | against | ratio | bar "
           "|\n|---|---|---|---|---|\n",
           cpu.description);
    bench_lorenz();
    bench_peak();
    bench_threads();
    bench_refill();
    bench_first_answer();
    printf("\n%d bars missed\n", failures);
    return 0;
}
