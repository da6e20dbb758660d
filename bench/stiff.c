// SPDX-License-Identifier: MIT
// `make bench-stiff`: every implicit method against SUNDIALS CVODE on stiff ensembles, one core.
//
// usage: stiff [DIRECTORY OF THE PROGRAMS [FILE.csv]]                (build/bench, none)
//
// Time is processor time of a trajectory in its ensemble, the least of several short repetitions,
// so that other programs hardly count. The error is true: the states at the end against rodas5p at
// 1e-12, each difference over |y| + atol / rtol, rms over the states, the largest of 64
// trajectories. Prints Markdown; the file gets all that was measured, for tools/work_precision.py.
// Without SUNDIALS its lines are left out. Kernels are kept in a cache of its own, in /tmp, which
// is removed.
#include "stiff.h"
#include "job.h"

#include <ftw.h>

enum {
    TOLERANCES = 15, // 1e-3, 10^-3.5, ... 1e-10
    AT_1E_6 = 6,
    METHODS = 64,
    CVODE_SIZE = 1, // CVODE takes one after another, so few will do
    LEAST = 8,      // lanes that wait for the last trajectories are then few
    LARGEST = 64,
    REPETITIONS = 10
};
static const double enough_s = 0.03;  // for one repetition
static const double patience_s = 0.5; // for the samples, and for all repetitions but two

static const char *directory = "build/bench";
static int missed;

// ---- The ensembles ------------------------------------------------------------------------------

static const char hires[] = "par k=280\ninit y1=1, y[2..7]=0, y8=0.0057\nr=k*y6*y8\n"
                            "y1'=-1.71*y1+0.43*y2+8.32*y3+0.0007\ny2'=1.71*y1-8.75*y2\n"
                            "y3'=-10.03*y3+0.43*y4+0.035*y5\ny4'=8.32*y2+1.71*y3-1.12*y4\n"
                            "y5'=-1.745*y5+0.43*(y6+y7)\n"
                            "y6'=-r+0.69*y4+1.71*y5-0.43*y6+0.69*y7\n"
                            "y7'=r-1.81*y7\ny8'=-r+1.81*y7\n@ t1=321.8122\n";

struct problem {
    const struct stiff_ensemble *of;
    const char *text, *file, *parameter;
    double want[STIFF_SAMPLES * STIFF_STATES]; // sample after sample
};
static struct problem problems[STIFF_ENSEMBLES] = {
    {.of = &stiff_ensembles[STIFF_HIRES], .text = hires, .parameter = "k"},
    {.of = &stiff_ensembles[STIFF_POLLU], .file = "examples/pollu.ode", .parameter = "k1"},
};

// What was measured at one tolerance, of one trajectory; error NaN: nothing.
struct point {
    double rtol, error, seconds, steps;
};

static double rtol_at(int i) { return pow(10, -3 - 0.5 * i); }

// The next implicit method that chooses its step, from *index on; NULL after the last.
static const char *next_method(uint32_t *index) {
    while (*index < shoal_method_count()) {
        shoal_method_info m = shoal_method_at((*index)++);
        if (*m.stability && m.embedded_order)
            return m.name;
    }
    return NULL;
}

static double error_of(const struct problem *p, const double *got) {
    double worst = 0;
    uint64_t n = p->of->states;
    for (uint64_t s = 0; s < STIFF_SAMPLES; s++) {
        double sum = 0;
        for (uint64_t k = 0; k < n; k++) {
            double want = p->want[s * n + k];
            sum += pow((got[s * n + k] - want) / (fabs(want) + p->of->floor), 2);
        }
        double error = sqrt(sum / (double)n);
        worst = error <= worst ? worst : error; // keeps a NaN
    }
    return worst;
}

// ---- Shoal --------------------------------------------------------------------------------------

static struct job job_new(const struct problem *p, const char *method, double rtol,
                          const double *rates, uint64_t n, const char *refill) {
    char rtol_text[32], atol_text[32];
    const char *const settings[][2] = {{"method", method}, {"rtol", rtol_text}, {"atol", atol_text},
                                       {"threads", "1"},   {"refill", refill},  {NULL, NULL}};
    snprintf(rtol_text, sizeof rtol_text, "%.17g", rtol);
    snprintf(atol_text, sizeof atol_text, "%.17g", rtol * p->of->floor);
    struct job j = job_load(p->text, p->file, settings);
    if (shoal_batch_new(j.model, &j.batch, j.log) ||
        shoal_batch_values(j.batch, p->parameter, rates, n, j.log) ||
        shoal_solver_new(j.model, &j.options, &j.solver, j.log))
        die("solver", j.log);
    j.n = n;
    j.values = malloc(8 * n * p->of->states);
    j.status = malloc(n);
    job_warm(&j);
    return j;
}

static double job_run(struct job *j, bool *good) {
    shoal_tally s;
    shoal_array a[] = {{.data = j->values}, {.name = "status", .data = j->status}};
    double start = stiff_seconds();
    if (shoal_solver_run_arrays(j->solver, j->batch, a, 2, &s, j->log))
        die("run", j->log);
    double seconds = stiff_seconds() - start;
    *good = s.by_status[SHOAL_STATUS_ok] == j->n;
    j->steps = s.steps;
    return seconds;
}

static void samples_of(const struct problem *p, const struct job *j, double *out) {
    for (uint64_t s = 0; s < STIFF_SAMPLES; s++)
        for (uint64_t k = 0; k < p->of->states; k++)
            *out++ = ((double *)j->values)[k * j->n + stiff_sample(s, j->n)];
}

static struct job ensemble_new(const struct problem *p, const char *method, double rtol,
                               uint64_t size) {
    uint64_t n = STIFF_SIZE(size);
    double *rates = malloc(n * sizeof *rates);
    for (uint64_t i = 0; i < n; i++)
        rates[i] = stiff_rate(p->of, i, n);
    struct job j = job_new(p, method, rtol, rates, n, "on");
    free(rates);
    return j;
}

static double run_shoal(const struct problem *p, const char *method, double rtol, uint64_t size,
                        struct point *out) {
    double final[STIFF_SAMPLES * STIFF_STATES], seconds = INFINITY, spent = 0;
    struct job j = ensemble_new(p, method, rtol, size);
    bool good = true;
    for (int i = 0; good && i < REPETITIONS && (i < 2 || spent < patience_s); i++) {
        double took = job_run(&j, &good);
        seconds = fmin(seconds, took);
        spent += took;
    }
    samples_of(p, &j, final);
    *out = (struct point){.rtol = rtol,
                          .error = good ? error_of(p, final) : (double)NAN,
                          .seconds = seconds / (double)j.n,
                          .steps = (double)j.steps / (double)j.n};
    job_free(&j);
    return seconds;
}

// An ensemble that is large enough for the clock.
static uint64_t size_for(double seconds_of_samples) {
    return (uint64_t)fmin(fmax(enough_s / seconds_of_samples, LEAST), LARGEST);
}

static void make_reference(struct problem *p) {
    bool good;
    struct job j = ensemble_new(p, "rodas5p", 1e-12, 1);
    job_run(&j, &good);
    if (!good)
        die("the reference failed", j.log);
    samples_of(p, &j, p->want);
    job_free(&j);
}

// ---- CVODE --------------------------------------------------------------------------------------

static bool run_cvode(const struct problem *p, double rtol, struct point *out) {
    char path[512], size[16], rtol_text[32], atol_text[32];
    const char *const argv[] = {path, p->of->name, size, rtol_text, atol_text, NULL};
    double final[STIFF_SAMPLES * STIFF_STATES], n = (double)STIFF_SIZE((uint64_t)CVODE_SIZE);
    uint64_t count = 0, wanted = STIFF_SAMPLES * p->of->states;
    snprintf(path, sizeof path, "%s/peer_cvode", directory);
    snprintf(size, sizeof size, "%d", CVODE_SIZE);
    snprintf(rtol_text, sizeof rtol_text, "%.17g", rtol);
    snprintf(atol_text, sizeof atol_text, "%.17g", rtol * p->of->floor);
    const char *text = run_program(argv, NULL);
    *out = (struct point){.rtol = rtol, .error = NAN, .seconds = INFINITY};
    if (!text)
        return false;
    for (const char *at = text; count < wanted && (at = strstr(at, "final ")); at++)
        final[count++] = strtod(at + strlen("final "), NULL);
    out->seconds = value_of(text, "seconds") / n;
    out->steps = value_of(text, "steps") / n;
    if (count == wanted)
        out->error = error_of(p, final);
    return count == wanted;
}

// ---- Work and precision -------------------------------------------------------------------------

struct curve {
    const char *method;
    struct point points[TOLERANCES];
};
struct diagram {
    struct curve cvode, curves[METHODS];
    int count;
    bool has_cvode;
};

static void measure_curve(const struct problem *p, struct curve *c) {
    double samples = 0;
    for (int i = 0; i < TOLERANCES; i++) {
        c->points[i].error = NAN;
        if (samples < patience_s)
            samples = run_shoal(p, c->method, rtol_at(i), 1, &c->points[i]);
        if (samples < patience_s && !isnan(c->points[i].error))
            run_shoal(p, c->method, rtol_at(i), size_for(samples), &c->points[i]);
    }
}

static void measure(const struct problem *p, struct diagram *d) {
    const char *name;
    *d = (struct diagram){.cvode.method = "CVODE BDF"};
    for (int i = 0; i < TOLERANCES; i++)
        d->has_cvode = run_cvode(p, rtol_at(i), &d->cvode.points[i]);
    for (uint32_t i = 0; d->count < METHODS && (name = next_method(&i));) {
        d->curves[d->count].method = name;
        measure_curve(p, &d->curves[d->count++]);
    }
}

static void write_curve(FILE *file, const struct problem *p, const struct curve *c) {
    for (int i = 0; i < TOLERANCES; i++)
        if (!isnan(c->points[i].error))
            fprintf(file, "%s,%s,%.3g,%.4g,%.4g,%.1f\n", p->of->name, c->method, c->points[i].rtol,
                    c->points[i].error, c->points[i].seconds, c->points[i].steps);
}

static void print_curve(const struct problem *p, const struct curve *c) {
    static const int shown[] = {2, AT_1E_6, 10, 14}; // of rtol_at
    printf("| %s, %s |", p->of->name, c->method);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct point *x = &c->points[shown[i]];
        if (isnan(x->error))
            printf(" - |");
        else
            printf(" %.1e in %.3g us, %.0f steps |", x->error, x->seconds * 1e6, x->steps);
    }
    puts("");
}

// ---- As accurate as CVODE at 1e-6 ---------------------------------------------------------------

static int fastest_within(const struct curve *c, double error) {
    int best = -1;
    for (int i = 0; i < TOLERANCES; i++)
        if (c->points[i].error <= error &&
            (best < 0 || c->points[i].seconds < c->points[best].seconds))
            best = i;
    return best;
}

static void print_match(const char *ensemble, const char *method, const struct point *x,
                        double ratio, double bar) {
    char text[32] = "-";
    if (!isnan(bar))
        snprintf(text, sizeof text, ">= %g %s", bar, ratio >= bar ? "reached" : "MISSED");
    missed += !isnan(bar) && !(ratio >= bar);
    printf("| %s | %s | %.1e | %.1e | %.0f | %.3g us | %.3g | %s |\n", ensemble, method, x->rtol,
           x->error, x->steps, x->seconds * 1e6, ratio, text);
    fflush(stdout);
}

// Measures both again, in turns.
static void match(const struct problem *p, const char *method, struct point *theirs,
                  struct point *ours) {
    struct point a, b;
    uint64_t size = size_for(ours->seconds * STIFF_SAMPLES);
    for (int i = 0; i < REPETITIONS / 2; i++) {
        run_cvode(p, theirs->rtol, &a);
        run_shoal(p, method, ours->rtol, size, &b);
        theirs->seconds = fmin(theirs->seconds, a.seconds);
        ours->seconds = fmin(ours->seconds, b.seconds);
    }
}

// All are measured before the first is printed: what counts is the peer's best time of all.
static void print_matches(const struct problem *p, struct diagram *d) {
    struct point *theirs = &d->cvode.points[AT_1E_6], *best = NULL;
    int at[METHODS];
    char name[64] = "";
    for (int c = 0; c < d->count; c++) {
        at[c] = fastest_within(&d->curves[c], theirs->error);
        if (at[c] >= 0)
            match(p, d->curves[c].method, theirs, &d->curves[c].points[at[c]]);
    }
    for (int c = 0; c < d->count; c++) {
        struct point *ours = at[c] < 0 ? NULL : &d->curves[c].points[at[c]];
        if (!ours) {
            printf("| %s | %s | - | - | - | - | - | - |\n", p->of->name, d->curves[c].method);
            continue;
        }
        print_match(p->of->name, d->curves[c].method, ours, theirs->seconds / ours->seconds, NAN);
        if (best && best->seconds <= ours->seconds)
            continue;
        best = ours;
        snprintf(name, sizeof name, "the fastest: %s", d->curves[c].method);
    }
    print_match(p->of->name, d->cvode.method, theirs, 1, NAN);
    if (best)
        print_match(p->of->name, name, best, theirs->seconds / best->seconds, 8);
}

// ---- Easy and hard ones together ----------------------------------------------------------------

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Six decades of HIRES' rate, from a hard trajectory to one that takes a fifth of its steps.
static void mixed_rates(double *shuffled, double *sorted, uint64_t n) {
    uint64_t seed = 88172645463325252u;
    for (uint64_t i = 0; i < n; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        sorted[i] = shuffled[i] = 0.28 * pow(1e6, (double)(seed >> 11) * 0x1p-53);
    }
    qsort(sorted, n, sizeof *sorted, by_value);
}

static void print_mixed(const char *method) {
    enum { N = 2048, CASES = 4 }; // sorted or shuffled, with refill or without
    static double rates[2][N];
    struct job jobs[CASES];
    double best[CASES] = {INFINITY, INFINITY, INFINITY, INFINITY};
    bool good = true;
    mixed_rates(rates[1], rates[0], N);
    for (int c = 0; c < CASES; c++)
        jobs[c] =
            job_new(&problems[STIFF_HIRES], method, 1e-6, rates[c & 1], N, c & 2 ? "off" : "on");
    for (int i = 0; i < REPETITIONS / 2; i++)
        for (int c = 0; c < CASES && good; c++)
            best[c] = fmin(best[c], job_run(&jobs[c], &good));
    if (!good)
        printf("| %s | failed | - | - | - |\n", method);
    else
        printf("| %s | %.3g us | %.3g | %.3g | %.3g |\n", method, best[1] / N * 1e6,
               best[1] / best[0], best[3] / best[2], best[3] / best[1]);
    fflush(stdout);
    for (int c = 0; c < CASES; c++)
        job_free(&jobs[c]);
}

// ---- Compile time -------------------------------------------------------------------------------

#define BAR_METHOD "rodas5p" // the bars are for it

static void print_compiled(const char *what, const char *text, const char *file, const char *method,
                           double bar) {
    double best = INFINITY;
    const char *const settings[][2] = {{"method", method}, {NULL, NULL}};
    for (int i = 0; i < 3; i++) {
        double start = lorenz_seconds();
        struct job j = job_load(text, file, settings);
        if (shoal_solver_new(j.model, &j.options, &j.solver, j.log))
            die("solver", j.log);
        best = fmin(best, lorenz_seconds() - start);
        job_free(&j);
        shoal_cache_forget();
    }
    printf("| %s, %s | %.3g s | ", what, method, best);
    if (strcmp(method, BAR_METHOD))
        puts("- |");
    else
        printf("<= %g %s |\n", bar, best > bar ? "MISSED" : "reached");
    missed += !strcmp(method, BAR_METHOD) && best > bar;
    fflush(stdout);
}

// ---- All of it ----------------------------------------------------------------------------------

static void bench_precision(const char *file_name) {
    static struct diagram diagrams[STIFF_ENSEMBLES];
    FILE *file = file_name ? fopen(file_name, "w") : NULL;
    if (file)
        fputs("ensemble,method,rtol,error,seconds,steps\n", file);
    puts("solvers are warmed first\n\n| ensemble, method | rtol 1e-4 | 1e-6 | 1e-8 | 1e-10 "
         "|\n|---|---|---|---|---|");
    for (int e = 0; e < STIFF_ENSEMBLES; e++) {
        struct diagram *d = &diagrams[e];
        make_reference(&problems[e]);
        measure(&problems[e], d);
        for (int c = d->has_cvode ? -1 : 0; c < d->count; c++) {
            const struct curve *curve = c < 0 ? &d->cvode : &d->curves[c];
            print_curve(&problems[e], curve);
            if (file)
                write_curve(file, &problems[e], curve);
        }
        fflush(stdout);
    }
    if (file)
        fclose(file);
    if (!diagrams[0].has_cvode)
        return;
    puts(
        "\n| ensemble | method | rtol | true error | steps | a trajectory | times as fast as CVODE "
        "| bar |\n|---|---|---|---|---|---|---|---|");
    for (int e = 0; e < STIFF_ENSEMBLES; e++)
        print_matches(&problems[e], &diagrams[e]);
}

static void bench_mixed(void) {
    puts("\n| HIRES, k over six decades | shuffled, refill | against sorted, refill | the same "
         "without refill | shuffled: refill off against on |\n|---|---|---|---|---|");
    const char *method;
    for (uint32_t i = 0; (method = next_method(&i));)
        print_mixed(method);
}

static void bench_compile(void) {
    puts("\n| model text to loaded kernel, nothing cached | time | bar |\n|---|---|---|");
    setenv("SHOAL_CACHE", "off", 1);
    const char *method;
    for (uint32_t i = 0; (method = next_method(&i));) {
        print_compiled("POLLU (20 states)", NULL, "examples/pollu.ode", method, 1);
        print_compiled("a chain of 100 states", STIFF_CHAIN, NULL, method, 3);
    }
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw) {
    (void)s, (void)flag, (void)ftw;
    return remove(path);
}

int main(int argc, char **argv) {
    char cache[] = "/tmp/shoal-bench.XXXXXX";
    if (argc > 1)
        directory = argv[1];
    if (!mkdtemp(cache))
        return 1;
    setenv("SHOAL_CACHE_DIR", cache, 1);
    setenv("SHOAL_CACHE", "on", 1);
    printf("%s\n\n", shoal_device_at(0).description);
    bench_precision(argc > 2 ? argv[2] : NULL);
    bench_mixed();
    bench_compile();
    nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    printf("\n%d bars missed\n", missed);
    return 0;
}
