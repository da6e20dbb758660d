// SPDX-License-Identifier: MIT
// `make bench-gpu`: ensembles on a GPU, kernel time and end to end, each against its bar.
//
// SHOAL_BENCH_ONLY=TEXT measures the ensembles with that text in their name, - none of them and the
// rest, SHOAL_BENCH_PARTS shows the host's time.
//
// A row has the figures of CuBIE 0.17 on such a card, measured 2026-11 beside commit 6ca552f; it
// compiles with contraction, approximate division and functions, and flush to zero. The error is
// one for all: rms over 1,024 trajectories and all states of |y - ref| / (1 + |ref|), the reference
// at 1e-12. Adaptive rows also run at the loosest tolerance whose error is not above the peer's:
// that time is the one with a bar. A row that takes 5 % more than when it was last recorded fails.
//
// usage: gpu [DEVICE] [PROGRAM WITH THE HAND-WRITTEN KERNELS]        (cuda, build/bench/gpu_hand)
//
// Kernel: device time of the whole batch in one launch, from device events. End to end: a warm
// solver, inputs in ordinary memory of the kernel's precision, outputs touched before; chunks as
// the planner chooses. Both are the least of REPEATS after shoal_solver_warm. Prints Markdown.
#include "job.h"

enum { REPEATS = 20 };
#define HAND_THEN 14.12 // ms of Lorenz rk4 f32 by hand when the rows were recorded

static const char *device = "cuda", *hand = "build/bench/gpu_hand";
static int missed, fell_behind;
static double pace = 1; // of this card: what the kernel by hand takes, over what it took then

// ---- Models -------------------------------------------------------------------------------------

static const char lorenz[] = "par rho=21\nconst sigma=10, beta=8/3\ninit x=1,y=0,z=0\n"
                             "x'=sigma*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-beta*z\n@ t1=1\n";
static const char lorenz96[] = "par F=8\ninit x1=9\ninit x[2..32]=8\n"
                               "x1'=(x2-x31)*x32-x1+F\nx2'=(x3-x32)*x1-x2+F\n"
                               "x[3..31]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+F\n"
                               "x32'=(x1-x30)*x31-x32+F\n@ t1=1\n";
static const char chain100[] = "par F=8\ninit x1=9\ninit x[2..100]=8\n"
                               "x1'=(x2-x99)*x100-x1+F\nx2'=(x3-x100)*x1-x2+F\n"
                               "x[3..99]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+F\n"
                               "x100'=(x1-x98)*x99-x100+F\n@ t1=1\n";
static const char vdp[] = "par mu=5\ninit x=2, v=0\nx'=v\nv'=mu*(1-x^2)*v-x\n@ t1=20\n";

// ---- One ensemble -------------------------------------------------------------------------------

struct figures {
    double kernel, all, error; // ms, ms
    int failed;
};

struct ensemble {
    const char *name;
    const char *text; // NULL: the file
    const char *file;
    const char *parameter;
    double low, high;
    enum { EVEN, LOG_SORTED, LOG_SHUFFLED } spread;
    int bits;                   // 2^bits trajectories
    bool soon;                  // the first kernel is compiled in a hurry
    const shoal_driver *driver; // or NULL
    const char *settings[8][2];
    const char *reference;    // a method for the reference; NULL: no error
    double last;              // the kernel's ms when it was last recorded; 0: never
    struct figures peer, bar; // 0: none
};

static double input_of(const struct ensemble *e, uint64_t i, uint64_t n) {
    if (e->spread == LOG_SHUFFLED) // an odd factor permutes the numbers below a power of two
        i = i * 2654435761u & (n - 1);
    double x = n > 1 ? (double)i / (double)(n - 1) : 0;
    return e->spread == EVEN ? e->low + (e->high - e->low) * x : e->low * pow(e->high / e->low, x);
}

static void *inputs(const struct ensemble *e, uint64_t n, bool f32) {
    void *in = malloc(n * (f32 ? sizeof(float) : sizeof(double)));
    for (uint64_t i = 0; i < n; i++)
        if (f32)
            ((float *)in)[i] = (float)input_of(e, i, n);
        else
            ((double *)in)[i] = input_of(e, i, n);
    return in;
}

// With its first kernel made, and nothing else.
static struct job job_made(const struct ensemble *e, uint64_t n, const char *where,
                           uint64_t chunk) {
    struct job j = job_load(e->text, e->file, e->settings);
    j.n = n;
    j.options.device = where;
    j.options.chunk = chunk;
    j.options.soon = e->soon;
    if (e->driver && shoal_model_driver(j.model, e->driver, j.log))
        die("driver", j.log);
    bool f32 = j.options.precision == SHOAL_F32;
    j.in = inputs(e, n, f32);
    if (shoal_batch_new(j.model, &j.batch, j.log) ||
        shoal_batch_lend(j.batch, e->parameter, j.in, j.options.precision, n, j.log) ||
        shoal_solver_new(j.model, &j.options, &j.solver, j.log))
        die("solver", j.log);
    size_t vars = j.options.summary ? 3 : shoal_solver_var_count(j.solver);
    size_t bytes = n * vars * (f32 ? 4 : 8);
    j.values = malloc(bytes);
    j.status = malloc(n);
    memset(j.values, 1, bytes);
    memset(j.status, 1, n);
    return j;
}

static struct job job_new(const struct ensemble *e, uint64_t n, const char *where, uint64_t chunk) {
    struct job j = job_made(e, n, where, chunk);
    job_warm(&j);
    return j;
}

// The numbers that summaries leave of a run, instead of its states.
#define SUMMARIES "max(x)", "min(x)", "mean(x)"

static double run_ms(struct job *j, shoal_log *log, shoal_tally *s) {
    static const char *const names[] = {SUMMARIES};
    shoal_array a[4] = {{.name = "status", .data = j->status}, {.data = j->values}};
    size_t count = j->options.summary ? 4 : 2;
    for (size_t i = 0; i < 3 && j->options.summary; i++)
        a[i + 1] = (shoal_array){.name = names[i], .data = (float *)j->values + i * j->n};
    double start = lorenz_seconds();
    if (shoal_solver_run_arrays(j->solver, j->batch, a, count, s, log))
        die("run", log ? log : j->log);
    return (lorenz_seconds() - start) * 1e3;
}

// Sum of a label's time in ms, on the device or on the host.
static double label_ms(const shoal_log *log, const char *label, shoal_span_kind kind) {
    double ns = 0;
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (s.kind == kind && !strcmp(s.label, label))
            ns += (double)s.ns;
    }
    return ns * 1e-6;
}

static double kernel_ms(struct job *j, int repeats) {
    double best = INFINITY;
    for (int i = 0; i <= repeats; i++) {
        shoal_log *log = shoal_log_new();
        shoal_tally s;
        run_ms(j, log, &s);
        double ms = label_ms(log, "kernel_launch", SHOAL_ON_TRACK);
        if (i && ms > 0)
            best = fmin(best, ms);
        shoal_log_free(log);
    }
    return best;
}

static double wall_ms(struct job *j, int repeats) {
    double best = INFINITY;
    for (int i = 0; i <= repeats; i++) {
        shoal_tally s;
        double ms = run_ms(j, NULL, &s);
        if (i)
            best = fmin(best, ms);
    }
    return best;
}

// Where the host's time goes in one run, in a comment line.
static void parts(struct job *j) {
    shoal_log *log = shoal_log_new();
    shoal_tally sum;
    double ms = run_ms(j, log, &sum);
    printf("<!-- %.3f ms:", ms);
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (s.count && s.kind == SHOAL_SPAN)
            printf(" %s %.3f", s.label, (double)s.own_ns * 1e-6);
    }
    puts(" -->");
    shoal_log_free(log);
}

static const char *verdict(double figure, double bar, char text[32]) {
    if (!(bar > 0) || isnan(figure))
        return "-";
    missed += figure > bar;
    snprintf(text, 32, "<= %.4g %s", bar, figure > bar ? "MISSED" : "reached");
    return text;
}

static void row(const char *what, double figure, const char *unit, double bar) {
    char text[32];
    printf("| %s | %.4g %s | %s |\n", what, figure, unit, verdict(figure, bar, text));
    fflush(stdout);
}

// ---- Accuracy -----------------------------------------------------------------------------------

enum { SAMPLES = 1024 };

// Runs samples of the ensemble and returns the final states as doubles, [state][sample]; counts
// those that failed.
static double *sampled(const struct ensemble *e, const char *where, uint64_t *values, int *failed) {
    uint64_t n = 1ull << e->bits;
    struct job j = job_new(e, SAMPLES, where, 0);
    bool f32 = j.options.precision == SHOAL_F32;
    uint64_t vars = shoal_solver_var_count(j.solver);
    double *out = malloc(vars * SAMPLES * sizeof *out);
    for (uint64_t s = 0; s < SAMPLES; s++) {
        float x = (float)input_of(e, s * (n - 1) / (SAMPLES - 1), n);
        if (f32)
            ((float *)j.in)[s] = x;
        else
            ((double *)j.in)[s] = (double)x; // which f32 has too
    }
    shoal_tally t;
    run_ms(&j, NULL, &t);
    *failed = 0;
    for (uint64_t s = 0; s < SAMPLES; s++)
        *failed += j.status[s] > 1;
    for (uint64_t i = 0; i < vars * SAMPLES; i++)
        out[i] = f32 ? (double)((float *)j.values)[i] : ((double *)j.values)[i];
    *values = vars * SAMPLES;
    job_free(&j);
    return out;
}

// The reference of a model is computed once.
static const double *reference_of(const struct ensemble *e) {
    static struct {
        const char *model;
        double *values;
    } known[8];
    const char *model = e->text ? e->text : e->file;
    int i = 0;
    while (known[i].model && known[i].model != model)
        i++;
    if (!known[i].model) {
        struct ensemble tight = *e;
        uint64_t count;
        int failed;
        const char *const settings[][2] = {{"method", e->reference},
                                           {"rtol", "1e-12"},
                                           {"atol", "1e-12"},
                                           {"max-steps", "10000000"},
                                           {0}};
        memset(tight.settings, 0, sizeof tight.settings);
        memcpy(tight.settings, settings, sizeof settings);
        known[i].model = model;
        known[i].values = sampled(&tight, "cpu", &count, &failed);
    }
    return known[i].values;
}

struct error {
    double rms, median;
    int failed; // of the samples
};

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of the runs that have ended well.
static struct error error_of(const struct ensemble *e) {
    struct error error = {0};
    uint64_t count, good = 0;
    double sum = 0, *y = sampled(e, device, &count, &error.failed);
    const double *want = reference_of(e);
    for (uint64_t i = 0; i < count; i++)
        if (isfinite(y[i])) {
            y[good] = fabs(y[i] - want[i]) / (1 + fabs(want[i]));
            sum += y[good] * y[good];
            good++;
        }
    qsort(y, good, sizeof *y, by_size);
    error.rms = sqrt(sum / (double)good);
    error.median = good ? y[good / 2] : (double)NAN;
    free(y);
    return error;
}

static const char **tolerances(struct ensemble *e) {
    for (int i = 0; e->settings[i][0]; i++)
        if (!strcmp(e->settings[i][0], "rtol"))
            return &e->settings[i][1]; // atol is behind it
    return NULL;
}

// Sets the loosest tolerance whose error is not above that of the peer.
static void match(struct ensemble *e, char text[16]) {
    const char **place = tolerances(e);
    place[0] = place[2] = text;
    for (int k = -20; k > -60; k--) {
        snprintf(text, 16, "%.3g", pow(10, k / 8.0));
        struct error error = error_of(e);
        if (!error.failed && error.rms <= e->peer.error)
            return;
    }
}

// ---- Tables -------------------------------------------------------------------------------------

#define RK4(precision, step) .settings = {{"method", "rk4"}, {"dt", step}, {"precision", precision}}
#define ADAPTIVE(method, tolerance, precision, ...)                                                \
    .settings = {{"method", method},                                                               \
                 {"rtol", tolerance},                                                              \
                 {"atol", tolerance},                                                              \
                 {"precision", precision},                                                         \
                 __VA_ARGS__}
#define LORENZ(n)                                                                                  \
    n, .text = lorenz, .parameter = "rho", .high = 21, .bits = 23, .reference = "dop853"
#define LORENZ96(n)                                                                                \
    n, .text = lorenz96, .parameter = "F", .high = 16, .bits = 17, .reference = "dop853"
#define PLEIADES(n)                                                                                \
    n, .file = "examples/pleiades.ode", .parameter = "m1", .low = 0.5, .high = 2, .bits = 17,      \
       .reference = "dop853"
#define VDP(n, how) n, .text = vdp, .parameter = "mu", .low = 1, .high = 1000, how, .bits = 20
#define POLLU(method)                                                                              \
    "POLLU " method " f64 1e-5", .file = "examples/pollu.ode", .parameter = "k1", .low = 0.035,    \
                                 .high = 3.5, .spread = LOG_SORTED, .bits = 17,                    \
                                 .reference = "rodas5p", ADAPTIVE(method, "1e-5", "f64", {0})
#define FIGURES(kernel_ms, all_ms, rms)                                                            \
    { .kernel = kernel_ms, .all = all_ms, .error = rms }
#define FAST                                                                                       \
    { "fast-math", "on" }
#define MANY_STEPS                                                                                 \
    { "max-steps", "1000000" }
#define NO_REFILL                                                                                  \
    { "refill", "off" }
#define STEP "0.0009765625"
// Close passes make pairs that circle each other for 50,000 steps; 12,332 of CuBIE's runs fail.
#define FEW_STEPS                                                                                  \
    { "max-steps", "1000" }

static const struct ensemble table[] = {
    {LORENZ("Lorenz rk4 f32, 1024 steps"), RK4("f32", STEP), .last = 12.64,
     .peer = FIGURES(23.4, 34, 1.4e-6), .bar = FIGURES(13.7, 15.5, 1.5e-6)},
    {LORENZ("Lorenz rk4 f32, compensated"),
     .settings = {{"method", "rk4"}, {"dt", STEP}, {"precision", "f32"}, {"compensate", "on"}}},
    {LORENZ("Lorenz rk4 f64, 1024 steps"), RK4("f64", STEP), .last = 24.24,
     .bar = FIGURES(26.8, 32, 0)},
    {LORENZ("Lorenz tsit5 f32 1e-5"), ADAPTIVE("tsit5", "1e-5", "f32", {0}), .last = 1.433,
     .peer = FIGURES(1.65, 11.6, 3.6e-5), .bar = FIGURES(1.45, 5, 3.6e-5)},
    {LORENZ("Lorenz tsit5 f32 1e-5, refill off"), ADAPTIVE("tsit5", "1e-5", "f32", NO_REFILL),
     .last = 1.484},
    {LORENZ("Lorenz tsit5 f64 1e-5"), ADAPTIVE("tsit5", "1e-5", "f64", {0}), .last = 2.882,
     .peer = FIGURES(4.9, 22.7, 3.6e-5), .bar = FIGURES(3, 9, 3.6e-5)},
    {LORENZ("Lorenz auto f32 1e-5"), ADAPTIVE("auto", "1e-5", "f32", {0}), .last = 1.496},
    {LORENZ("Lorenz with summaries, tsit5 f32 1e-5"),
     ADAPTIVE("tsit5", "1e-5", "f32", {"summary", "max(x),min(x),mean(x)"}), .last = 1.869},
    {LORENZ96("Lorenz96 (32) rk4 f32, 1024 steps"), RK4("f32", STEP), .last = 2.992,
     .peer = FIGURES(3.66, 4.9, 3.2e-4), .bar = FIGURES(3, 3.6, 3.2e-4)},
    {LORENZ96("Lorenz96 (32) tsit5 f32 1e-5"), ADAPTIVE("tsit5", "1e-5", "f32", {0}),
     .last = 0.3357, .peer = FIGURES(0.5, 1.67, 3.2e-3), .bar = FIGURES(0.4, 1, 3.2e-3)},
    {LORENZ96("Lorenz96 (32) tsit5 f64 1e-5"), ADAPTIVE("tsit5", "1e-5", "f64", {0}),
     .last = 2.819},
    {PLEIADES("Pleiades rk4 f32, 1024 steps"), RK4("f32", "0.0029296875"), .last = 9.407,
     .peer = FIGURES(8.92, 10.2, 0), .bar = FIGURES(9.5, 10.3, 0)},
    {PLEIADES("Pleiades rk4 f32, fast math"),
     .settings = {{"method", "rk4"}, {"dt", "0.0029296875"}, {"precision", "f32"}, FAST},
     .last = 6.224, .peer = FIGURES(8.92, 10.2, 0), .bar = FIGURES(7.5, 0, 0)},
    {PLEIADES("Pleiades tsit5 f32 1e-5"), ADAPTIVE("tsit5", "1e-5", "f32", FEW_STEPS),
     .last = 7.376, .peer = FIGURES(6.9, 64, 0), .bar = FIGURES(7.5, 8.5, 0)},
    {PLEIADES("Pleiades tsit5 f32 1e-5, fast math"),
     ADAPTIVE("tsit5", "1e-5", "f32", FEW_STEPS, FAST), .peer = FIGURES(6.9, 64, 0),
     .bar = FIGURES(6.5, 0, 0)},
    {VDP("Van der Pol shuffled, tsit5 f32 1e-6", .spread = LOG_SHUFFLED),
     ADAPTIVE("tsit5", "1e-6", "f32", MANY_STEPS), .last = 18.77, .bar = FIGURES(20, 0, 0)},
    {VDP("Van der Pol shuffled, refill off", .spread = LOG_SHUFFLED),
     ADAPTIVE("tsit5", "1e-6", "f32", MANY_STEPS, NO_REFILL), .last = 78.5},
    {VDP("Van der Pol sorted, refill as chosen", .spread = LOG_SORTED),
     ADAPTIVE("tsit5", "1e-6", "f32", MANY_STEPS), .last = 15.34},
    {VDP("Van der Pol sorted, refill off", .spread = LOG_SORTED),
     ADAPTIVE("tsit5", "1e-6", "f32", MANY_STEPS, NO_REFILL), .last = 14.6},
    {POLLU("ros3p"), .last = 0.6547, .peer = FIGURES(0.6, 2.1, 1.6e-6),
     .bar = FIGURES(0.55, 1.3, 1.6e-6)},
    {POLLU("rosenbrock23"), .last = 1.052, .peer = FIGURES(0.7, 2, 2e-6),
     .bar = FIGURES(0.65, 0, 2e-6)},
    {POLLU("rodas3p"), .last = 1.618},
    {POLLU("rodas4"), .last = 0.8264, .peer = FIGURES(2.3, 0, 1.6e-6),
     .bar = FIGURES(1.6, 0, 1.6e-6)},
    {POLLU("rodas5p"), .last = 1.217, .peer = FIGURES(5.7, 0, 1.2e-6),
     .bar = FIGURES(2.4, 0, 1.2e-6)},
    {POLLU("sdirk-2-2"), .last = 1.847},
    {POLLU("crank-nicolson"), .last = 3.21},
    {POLLU("trbdf2"), .last = 4.413},
    {POLLU("kvaerno3"), .last = 1.554, .peer = FIGURES(5.7, 0, 4.6e-7),
     .bar = FIGURES(2.5, 0, 4.6e-7)},
    {POLLU("sdirk4"), .last = 1.395},
    {POLLU("kvaerno5"), .last = 2.201},
    {POLLU("radau-iia-3"), .last = 2.398},
    {POLLU("radau-iia-5"), .last = 2.237, .peer = FIGURES(18, 0, 5e-9), .bar = FIGURES(7, 0, 5e-9)},
    {POLLU("radau-iia-9"), .last = 8.816},
    {POLLU("gauss-legendre-4"), .last = 1.724},
    {POLLU("gauss-legendre-8"), .last = 5.825},
};
enum { ENSEMBLES = sizeof table / sizeof *table };

static const struct ensemble *named(const char *name) {
    for (int i = 0; i < ENSEMBLES; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    abort();
}

static double ratio(const double *kernel, const char *over, const char *under) {
    double a = NAN, b = NAN;
    for (int i = 0; i < ENSEMBLES; i++) {
        a = strcmp(table[i].name, over) ? a : kernel[i];
        b = strcmp(table[i].name, under) ? b : kernel[i];
    }
    return a / b;
}

static void bench_refill(const double *kernel) {
    row("Van der Pol shuffled: kernel time as chosen, against refill off",
        ratio(kernel, "Van der Pol shuffled, tsit5 f32 1e-6", "Van der Pol shuffled, refill off"),
        "x", 1.0 / 3);
    row("Van der Pol sorted: the same",
        ratio(kernel, "Van der Pol sorted, refill as chosen", "Van der Pol sorted, refill off"),
        "x", 1.1);
}

static void bench_summaries(const double *kernel) {
    double times = ratio(kernel, "Lorenz with summaries, tsit5 f32 1e-5", "Lorenz tsit5 f32 1e-5");
    if (!isnan(times))
        row("max(x), min(x), mean(x) of Lorenz: kernel time, against final states", times, "x",
            1.35);
}

static struct figures measure(const struct ensemble *e, uint64_t n) {
    struct figures f = {0};
    struct job j = job_new(e, n, device, n);
    f.kernel = kernel_ms(&j, REPEATS);
    for (uint64_t i = 0; i < n; i++)
        f.failed += j.status[i] > 1;
    job_free(&j);
    j = job_new(e, n, device, 0);
    f.all = wall_ms(&j, REPEATS);
    if (getenv("SHOAL_BENCH_PARTS"))
        parts(&j);
    job_free(&j);
    return f;
}

// A figure of the peer, or nothing.
static const char *of_peer(double ms, char text[32]) {
    snprintf(text, 32, "%.3g", ms);
    return ms > 0 ? text : "-";
}

static void table_row(const struct ensemble *e, const char *tolerance, const struct figures *f,
                      const struct figures *bar) {
    char text[6][32], error[64] = "-";
    if (e->reference && strcmp(e->settings[0][1], "auto") && !strstr(e->name, "summaries")) {
        struct error is = error_of(e);
        snprintf(error, sizeof error, "%.2e, median %.1e", is.rms, is.median);
    }
    bool behind = e->last > 0 && f->kernel > 1.05 * e->last * pace && !*tolerance;
    fell_behind += behind;
    printf("| %s%s | 2^%d | %d | %.4g ms%s | %s | %s | %.4g ms | %s | %s | %s | %s |\n", e->name,
           tolerance, e->bits, f->failed, f->kernel, behind ? " (MORE THAN RECORDED)" : "",
           verdict(f->kernel, bar->kernel, text[0]), of_peer(e->peer.kernel, text[1]), f->all,
           verdict(f->all, bar->all, text[2]), of_peer(e->peer.all, text[3]), error,
           e->peer.error > 0 ? (snprintf(text[4], 32, "%.1e", e->peer.error), text[4]) : "-");
    fflush(stdout);
}

// What has a bar is as accurate as the peer: the row itself, or one at another tolerance.
static void bench_ensemble(const struct ensemble *e, double *kernel) {
    static const struct figures none;
    struct ensemble other = *e;
    char tolerance[16], what[32] = "";
    bool matched = e->peer.error > 0 && tolerances(&other);
    struct figures f = measure(e, 1ull << e->bits);
    *kernel = f.kernel;
    table_row(e, "", &f, matched ? &none : &e->bar);
    if (!matched)
        return;
    match(&other, tolerance);
    snprintf(what, sizeof what, ", at %s", tolerance);
    f = measure(&other, 1ull << e->bits);
    table_row(&other, what, &f, &e->bar);
}

static bool is_wanted(const char *name) {
    const char *only = getenv("SHOAL_BENCH_ONLY");
    return !only || (strcmp(only, "-") && strstr(name, only));
}

static void bench_table(double kernel_of[ENSEMBLES]) {
    puts("solvers are warmed first\n\n| ensemble | trajectories | failed | kernel | bar | CuBIE "
         "0.17, ms | "
         "end "
         "to end | bar | CuBIE 0.17, ms | error, rms | CuBIE 0.17 |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|");
    for (int i = 0; i < ENSEMBLES; i++) {
        kernel_of[i] = NAN;
        if (is_wanted(table[i].name))
            bench_ensemble(&table[i], &kernel_of[i]);
    }
}

// Memory of shoal_alloc, with what is in the other.
static void *pinned_copy(const struct job *j, const void *of, size_t bytes) {
    void *memory = NULL;
    if (shoal_alloc(bytes, device, &memory, j->log))
        die("memory", j->log);
    memcpy(memory, of, bytes);
    return memory;
}

// End to end from and to memory of shoal_alloc; the values are those of ordinary memory, to the
// bit.
static void bench_pinned(const char *name, double bar) {
    char what[96];
    const struct ensemble *e = named(name);
    uint64_t n = 1ull << e->bits;
    snprintf(what, sizeof what, "%s, pinned: end to end from and to shoal_alloc", name);
    if (!is_wanted(what))
        return;
    struct job plain = job_new(e, n, device, 0), j = plain;
    size_t elem = j.options.precision == SHOAL_F32 ? 4 : 8,
           bytes = n * shoal_solver_var_count(j.solver) * elem;
    double ordinary = wall_ms(&plain, REPEATS);
    j.in = pinned_copy(&j, plain.in, n * elem);
    j.values = pinned_copy(&j, plain.values, bytes);
    j.status = pinned_copy(&j, plain.status, n);
    memset(j.values, 1, bytes);
    if (shoal_batch_new(j.model, &j.batch, j.log) ||
        shoal_batch_lend(j.batch, e->parameter, j.in, j.options.precision, n, j.log))
        die("batch", j.log);
    row(what, wall_ms(&j, REPEATS), "ms", bar);
    row("- the same from and to ordinary memory", ordinary, "ms", NAN);
    if (getenv("SHOAL_BENCH_PARTS"))
        parts(&j);
    if (memcmp(j.values, plain.values, bytes) || memcmp(j.status, plain.status, n))
        die("memory of shoal_alloc has other values", j.log);
    shoal_batch_free(j.batch);
    shoal_free(j.in);
    shoal_free(j.values);
    shoal_free(j.status);
    job_free(&plain);
}

static void bench_small(void) {
    const struct ensemble *e = named("Lorenz tsit5 f32 1e-5");
    struct job j = job_new(e, 8, device, 0);
    double kernel = kernel_ms(&j, 200), wall = wall_ms(&j, 2000);
    row("8 Lorenz trajectories, warm solver, wall", wall * 1e3, "us", 20);
    row("- beyond the kernel", (wall - kernel) * 1e3, "us", NAN);
    job_free(&j);
    j = job_new(e, 8, "auto", 0);
    row("- the same on the device that is chosen", wall_ms(&j, 2000) * 1e3, "us", 20);
    job_free(&j);
}

static const char *file_text(const char *path) {
    static char text[8192];
    FILE *f = fopen(path, "r");
    if (f) {
        text[fread(text, 1, sizeof text - 1, f)] = 0;
        fclose(f);
    }
    return text;
}

// ---- A measured signal --------------------------------------------------------------------------

#define CURRENT_FORMULA "par gain=1\nI=gain*(10+5*sin(0.9*t))\n"
#define CURRENT_DRIVER "driver current\npar gain=1\nI=gain*current\n"

// The axon of the examples with another current, in memory of its own.
static char *axon(const char *current) {
    const char *text = file_text("examples/hodgkin_huxley.ode"), *line = strstr(text, "par  I=10"),
               *rest = line ? strchr(line, '\n') : NULL;
    size_t size = strlen(text) + strlen(current) + 1;
    char *out = malloc(size);
    if (!rest)
        die("examples/hodgkin_huxley.ode has another current", NULL);
    snprintf(out, size, "%.*s%s%s", (int)(line - text), text, current, rest + 1);
    return out;
}

static void bench_driver(const char *precision, const char *tolerance) {
    enum { KNOTS = 10000 };
    static double t[KNOTS], values[KNOTS];
    char what[96], *text[] = {axon(CURRENT_FORMULA), axon(CURRENT_DRIVER)};
    const shoal_driver signal = {
        .name = "current", .how = "cubic", .count = KNOTS, .t = t, .values = values};
    double ms[2];
    for (int i = 0; i < KNOTS; i++) {
        t[i] = 50.0 * i / (KNOTS - 1);
        values[i] = 10 + 5 * sin(0.9 * t[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct ensemble e = {
            .text = text[i],
            .parameter = "gain",
            .low = 0.5,
            .high = 1.5,
            .bits = 18,
            .driver = i ? &signal : NULL,
            .settings = {{"method", "tsit5"}, {"rtol", tolerance}, {"precision", precision}}};
        struct job j = job_new(&e, 1ull << e.bits, device, 1ull << e.bits);
        ms[i] = kernel_ms(&j, REPEATS / 4);
        job_free(&j);
        free(text[i]);
    }
    snprintf(what, sizeof what,
             "Hodgkin-Huxley %s, 2^18, cubic driver of 10,000 samples: %.3g ms, with a formula",
             precision, ms[1]);
    row(what, ms[0], "ms", NAN);
    row("- kernel time with the driver, against the formula", ms[1] / ms[0], "x", 1.3);
}

// The model with a constant that no run had before, which keeps every cache out of cold figures,
// the compiler's too.
static void freshen(char fresh[8192], const char *model) {
    snprintf(fresh, 8192, "%sinit odd=0\nodd'=%.0f*odd\n", model, lorenz_seconds() * 1e6);
}

// The least of three, each followed by a warm one. `soon`: by the kernel of the first results, as
// Python asks for it.
static void bench_compile(const char *what, struct ensemble e, bool soon, double bar) {
    char fresh[8192], text[96];
    const char *model = e.text;
    double best[2] = {INFINITY, INFINITY};
    e.text = fresh;
    e.soon = soon;
    for (int i = 0; i < 6; i++) {
        if (i % 2 == 0)
            freshen(fresh, model);
        struct job j = job_made(&e, 8, device, 0);
        double ms = label_ms(j.log, "compile_kernel", SHOAL_SPAN) +
                    label_ms(j.log, "cache_lookup", SHOAL_SPAN) +
                    label_ms(j.log, "module_load", SHOAL_SPAN);
        best[i % 2] = fmin(best[i % 2], ms);
        job_free(&j);
        shoal_cache_forget(); // the next one is from disk
    }
    for (int warm = 0; warm < 2; warm++) {
        snprintf(text, sizeof text, "%s, %s to loaded kernel", what, warm ? "warm" : "cold");
        row(text, best[warm], "ms", warm ? 5 : bar);
    }
}

// From the text of a new model to the states of 8 trajectories, on the device that is chosen.
static void bench_first(const char *what, struct ensemble e, double bar) {
    char fresh[8192], text[96];
    const char *model = e.text;
    double best = INFINITY;
    e.text = fresh;
    for (int i = 0; i < 3; i++) {
        freshen(fresh, model);
        double start = lorenz_seconds();
        struct job j = job_made(&e, 8, "auto", 0);
        shoal_tally sum;
        run_ms(&j, j.log, &sum);
        best = fmin(best, (lorenz_seconds() - start) * 1e3);
        job_free(&j);
    }
    snprintf(text, sizeof text, "%s, new model to first results, as chosen", what);
    row(text, best, "ms", bar);
}

// Time per trajectory when the batch is 20 times the memory given, against one that fits.
static void bench_memory(void) {
    struct ensemble e = *named("Lorenz rk4 f32, 1024 steps");
    uint64_t n = 1ull << 23;
    double ms[2];
    for (int tight = 0; tight < 2; tight++) {
        struct job j = job_new(&e, n, device, 0);
        shoal_solver_free(j.solver);
        j.options.memory = tight ? n * 17 / 20 : n * 17 * 4;
        if (shoal_solver_new(j.model, &j.options, &j.solver, j.log))
            die("solver", j.log);
        ms[tight] = wall_ms(&j, REPEATS / 2);
        job_free(&j);
    }
    row("time of a batch 20x the memory given, against one that fits", ms[1] / ms[0], "x", 1.1);
}

// Kernels written by hand show how fast the card is.
static void bench_hand(const char *figures) {
    static const struct {
        const char *what, *name;
    } of[] = {{"Lorenz rk4 f32 by hand", "lorenz_rk4_f32_ms"},
              {"Lorenz rk4 f64 by hand", "lorenz_rk4_f64_ms"},
              {"Lorenz96 tsit5 f32 by hand", "lorenz96_tsit5_f32_ms"}};
    for (size_t i = 0; figures && i < sizeof of / sizeof *of; i++)
        row(of[i].what, value_of(figures, of[i].name), "ms", NAN);
}

int main(int argc, char **argv) {
    if (argc > 1)
        device = argv[1];
    if (argc > 2)
        hand = argv[2];
    const char *const by_hand[] = {hand, NULL};
    char *figures = run_program(by_hand, NULL);
    if (figures)
        pace = value_of(figures, "lorenz_rk4_f32_ms") / HAND_THEN;
    double kernel[ENSEMBLES];
    bench_table(kernel);
    puts("\n| what | figure | bar |\n|---|---|---|");
    bench_summaries(kernel);
    bench_pinned("Lorenz tsit5 f32 1e-5", 2.8);
    bench_pinned("Lorenz tsit5 f64 1e-5", 5);
    const char *only = getenv("SHOAL_BENCH_ONLY");
    if (only && strcmp(only, "-"))
        return fell_behind ? 1 : 0;
    bench_refill(kernel);
    bench_small();
    const struct ensemble *small = named("Lorenz tsit5 f32 1e-5");
    struct ensemble chain = *small;
    chain.text = lorenz96, chain.parameter = "F";
    bench_compile("Lorenz tsit5", *small, false, 350);
    bench_first("Lorenz tsit5", *small, 350);
    bench_compile("32 states", chain, false, 1000);
    bench_first("32 states", chain, 1000);
    chain.text = chain100;
    bench_compile("100 states", chain, false, 8000);
    chain.text = STIFF_CHAIN, chain.parameter = "k", chain.settings[0][1] = "rodas5p";
    chain.settings[3][1] = "f64";
    bench_compile("100 stiff states, rodas5p", chain, false, 10000);
    chain.text = file_text("examples/pollu.ode"), chain.parameter = "k1";
    bench_compile("POLLU (20 states), rodas5p", chain, false, 800);
    bench_compile("POLLU (20 states), rodas5p, soon", chain, true, 800);
    bench_first("POLLU (20 states), rodas5p", chain, 800);
    bench_driver("f64", "1e-6");
    bench_driver("f32", "1e-5");
    bench_memory();
    bench_hand(figures);
    if (missed)
        printf("\n%d bars missed\n", missed);
    return fell_behind ? 1 : 0;
}
