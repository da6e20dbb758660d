// SPDX-License-Identifier: MIT
// `make bench`, second part: what digits cost on one core, beside heyoka.
//
// usage: digits [DIRECTORY OF THE PROGRAMS]
//
// Lorenz to t = 10, rho spaced evenly over [0, 21], and the Pleiades, m1 over [0.5, 2],
// to t = 1, before stars pass each other so closely that no two runs agree.
// Errors are true ones, the root mean square over all runs and states of |y - ref| / (1 + |ref|),
// against solutions in long double that share no code with either: a Taylor series, and
// extrapolation of the midpoint rule. Compared is the least time that anyone takes for a mean error
// of at most so much, over tolerances in steps of the square root of ten, in CPU time. Without
// heyoka its columns are empty: `make bench` installs it beside the programs.
#include "job.h"

enum { RUNS = 64, COPIES = 16, MOST = 28, REPETITIONS = 3 };

#define ENOUGH 1e-12 // no error that is asked for is smaller

struct problem {
    const char *name, *text, *file, *input, *t1;
    double low, high;
    int states;
    void (*reference)(double input, double *out);
    double input_of[RUNS], ref[RUNS][MOST];
};

// ---- References ---------------------------------------------------------------------------------

static void lorenz_far(double rho, double *out) {
    enum { STEPS = 1280 };
    long double y[3] = {1, 0, 0};
    for (int i = 0; i < STEPS; i++)
        lorenz_taylor_step(rho, 10.0L / STEPS, y);
    for (int k = 0; k < 3; k++)
        out[k] = (double)y[k];
}

// States: x, y, u, v of seven stars.
static void pleiades_slopes(long double m1, const long double *s, long double *d) {
    for (int i = 0; i < 14; i++) {
        d[i] = s[14 + i];
        d[14 + i] = 0;
    }
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < i; j++) {
            long double x = s[j] - s[i], y = s[7 + j] - s[7 + i], r2 = x * x + y * y;
            long double w = 1 / (r2 * sqrtl(r2)), mi = i ? i + 1 : m1, mj = j ? j + 1 : m1;
            d[14 + i] += mj * x * w;
            d[21 + i] += mj * y * w;
            d[14 + j] -= mi * x * w;
            d[21 + j] -= mi * y * w;
        }
}

// n midpoint steps over a time of h, begun by one of Euler's and smoothed at the end (Gragg).
static void midpoint(long double m1, const long double *s, long double h, int n, long double *out) {
    long double before[MOST], now[MOST], d[MOST], step = h / n;
    pleiades_slopes(m1, s, d);
    for (int k = 0; k < MOST; k++) {
        before[k] = s[k];
        now[k] = s[k] + step * d[k];
    }
    for (int i = 1; i <= n; i++) {
        pleiades_slopes(m1, now, d);
        for (int k = 0; k < MOST; k++) {
            long double next = before[k] + 2 * step * d[k];
            out[k] = (before[k] + 2 * now[k] + next) / 4; // counts in the last round
            before[k] = now[k];
            now[k] = next;
        }
    }
}

static void pleiades_reference(double m1, double *out) {
    enum { STEPS = 1536, ROWS = 7 };
    long double s[MOST] = {3, 3, -1, -3, 2, -2,    2,     3, -3, 2, 0,      0, -4, 4,
                           0, 0, 0,  0,  0, 1.75L, -1.5L, 0, 0,  0, -1.25L, 1, 0,  0};
    for (int i = 0; i < STEPS; i++) {
        long double row[ROWS][MOST];
        for (int j = 0; j < ROWS; j++)
            midpoint(m1, s, 1.0L / STEPS, 2 * (j + 1), row[j]);
        for (int order = 1; order < ROWS; order++)
            for (int j = ROWS - 1; j >= order; j--) {
                long double ratio = (long double)(j + 1) / (j + 1 - order);
                for (int k = 0; k < MOST; k++)
                    row[j][k] += (row[j][k] - row[j - 1][k]) / (ratio * ratio - 1);
            }
        memcpy(s, row[ROWS - 1], sizeof s);
    }
    for (int k = 0; k < MOST; k++)
        out[k] = (double)s[k];
}

static void make_reference(struct problem *p, const char *path) {
    FILE *f = fopen(path, "w");
    if (!f)
        die(path, NULL);
    for (int i = 0; i < RUNS; i++) {
        p->input_of[i] = p->low + (p->high - p->low) * i / (RUNS - 1);
        p->reference(p->input_of[i], p->ref[i]);
    }
    for (int copy = 0; copy < COPIES / 2; copy++)
        for (int i = 0; i < RUNS; i++) {
            fprintf(f, "%.17g", p->input_of[i]);
            for (int k = 0; k < p->states; k++)
                fprintf(f, " %.17g", p->ref[i][k]);
            fprintf(f, "\n");
        }
    if (fclose(f))
        die(path, NULL);
}

// ---- Times --------------------------------------------------------------------------------------

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { POINTS = 24 };
struct curve {
    const char *name;
    int count;
    double us[POINTS], error[POINTS];
};

static double error_of(const struct problem *p, const double *values, uint64_t n) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        for (int k = 0; k < p->states; k++) {
            double ref = p->ref[i % RUNS][k];
            sum += pow((values[(uint64_t)k * n + i] - ref) / (1 + fabs(ref)), 2);
        }
    return sqrt(sum / (double)n / p->states);
}

static struct job job_of(const struct problem *p, const char *method, uint64_t n) {
    const char *const settings[][2] = {
        {"method", method}, {"threads", "1"}, {"t1", p->t1}, {NULL, NULL}};
    struct job j = job_load(p->text, p->file, settings);
    double *in = malloc(sizeof *in * n);
    for (uint64_t i = 0; i < n; i++)
        in[i] = p->input_of[i % RUNS];
    j.n = n;
    j.in = in;
    j.values = malloc(sizeof(double) * n * (uint64_t)p->states);
    if (shoal_batch_new(j.model, &j.batch, j.log) ||
        shoal_batch_lend(j.batch, p->input, in, SHOAL_F64, n, j.log) ||
        shoal_solver_new(j.model, &j.options, &j.solver, j.log))
        die("solver", j.log);
    return j;
}

static void measure(const struct problem *p, struct curve *c) {
    struct job j = job_of(p, c->name, RUNS * COPIES);
    for (double tolerance = 1e-5;
         tolerance > 2e-14 && c->count < POINTS && (!c->count || c->error[c->count - 1] > ENOUGH);
         tolerance /= sqrt(10)) {
        char text[32];
        snprintf(text, sizeof text, "%.3g", tolerance);
        if (shoal_solver_set(j.solver, "rtol", text, NULL, j.log) ||
            shoal_solver_set(j.solver, "atol", text, NULL, j.log))
            die("tolerance", j.log);
        shoal_array a = {.data = j.values};
        double best = INFINITY;
        for (int i = 0; i < REPETITIONS; i++) {
            double begin = cpu_seconds();
            if (shoal_solver_run_arrays(j.solver, j.batch, &a, 1, NULL, j.log))
                die("run", j.log);
            best = fmin(best, cpu_seconds() - begin);
        }
        c->us[c->count] = best / (double)j.n * 1e6;
        c->error[c->count++] = error_of(p, j.values, j.n);
    }
    job_free(&j);
}

static void measure_heyoka(const struct problem *p, const char *directory, const char *reference,
                           struct curve *c) {
    char python[512];
    snprintf(python, sizeof python, "%s/heyoka/bin/python", directory);
    const char *const argv[] = {python, "bench/peer_heyoka.py", p->name, reference, NULL};
    for (char *line = run_program(argv, NULL); line && *line && c->count < POINTS;) {
        strtod(line, &line);
        c->us[c->count] = strtod(line, &line);
        c->error[c->count++] = strtod(line, &line);
        line += strspn(line, "\n");
    }
}

// The least time for an error of at most so much, and that error; INFINITY: it was not reached.
static double least(const struct curve *c, double error, double *reached) {
    double best = INFINITY;
    for (int i = 0; i < c->count; i++)
        if (c->error[i] <= error && c->us[i] < best) {
            best = c->us[i];
            *reached = c->error[i];
        }
    return best;
}

static void put(double us, double error) {
    if (isinf(us))
        printf(" - |");
    else
        printf(" %.3g (%.1e) |", us, error);
}

static int bench(struct problem *p, const char *directory) {
    static const double errors[] = {1e-6, 1e-9, 2e-12};
    struct curve own[] = {
        {.name = "tsit5"}, {.name = "vern7"}, {.name = "dop853"}, {.name = "vern9"}};
    struct curve peer = {.name = "heyoka"};
    enum { METHODS = sizeof own / sizeof *own };
    char path[512];
    int missed = 0;
    snprintf(path, sizeof path, "%s/%s.txt", directory, p->name);
    make_reference(p, path);
    measure_heyoka(p, directory, path, &peer);
    for (int m = 0; m < METHODS; m++)
        measure(p, &own[m]);
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        double of_peer = 0, best = INFINITY, us = least(&peer, errors[e], &of_peer);
        printf("| %s, error %.0e |", p->name, errors[e]);
        for (int m = 0; m < METHODS; m++) {
            double error = 0, own_us = least(&own[m], errors[e], &error);
            best = fmin(best, own_us);
            put(own_us, error);
        }
        put(us, of_peer);
        bool known = !isinf(us);
        missed += known && !(best <= us);
        printf(" %s |\n", !known ? "-" : best <= us ? "reached" : "MISSED");
        fflush(stdout);
    }
    return missed;
}

int main(int argc, char **argv) {
    const char *directory = argc > 1 ? argv[1] : "build/bench";
    static struct problem problems[] = {
        {.name = "lorenz",
         .text = "par rho=28\ninit x=1,y=0,z=0\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n",
         .input = "rho",
         .t1 = "10",
         .high = 21,
         .states = 3,
         .reference = lorenz_far},
        {.name = "pleiades",
         .file = "examples/pleiades.ode",
         .input = "m1",
         .t1 = "1",
         .low = 0.5,
         .high = 2,
         .states = MOST,
         .reference = pleiades_reference},
    };
    int missed = 0;
    setenv("SHOAL_CACHE", "off", 1);
    printf(
        "One core, microseconds of CPU time for a run (true error):\n\n| what | tsit5 | vern7 | "
        "dop853 | vern9 | heyoka | bar: no slower than heyoka |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        missed += bench(&problems[i], directory);
    printf("\n%d bars missed\n", missed);
    return 0;
}
