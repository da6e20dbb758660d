// SPDX-License-Identifier: MIT
// `make bench-gpu`: ensembles on a GPU, kernel time and end to end, each against its bar.
//
// SHOAL_BENCH_ONLY=TEXT measures the ensembles with that text in their name, SHOAL_BENCH_LESS=N
// with 2^N fewer trajectories, SHOAL_BENCH_PARTS shows the host's time.
//
// usage: gpu [DEVICE] [PROGRAM WITH THE HAND-WRITTEN KERNELS]        (cuda, build/bench/gpu_hand)
//
// Kernel: device time of the whole batch in one launch, from device events. End to end: a warm
// solver, inputs in ordinary memory of the kernel's precision, outputs touched before; chunks as
// the planner chooses. Both are the least of REPEATS after shoal_solver_warm. Prints Markdown.
#include "job.h"

enum { REPEATS = 20 };

static const char *device = "cuda", *hand = "build/bench/gpu_hand";
static int missed;

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

struct ensemble {
    const char *name;
    const char *text; // NULL: the file
    const char *file;
    const char *parameter;
    double low, high;
    enum { EVEN, LOG_SORTED, LOG_SHUFFLED } spread;
    int bits; // 2^bits trajectories
    const char *settings[8][2];
    double kernel_bar, all_bar; // ms; NaN: none
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

static struct job job_new(const struct ensemble *e, uint64_t n, const char *where, uint64_t chunk) {
    struct job j = job_load(e->text, e->file, e->settings);
    j.n = n;
    j.options.device = where;
    j.options.chunk = chunk;
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
    if (isnan(bar) || isnan(figure))
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

// Root mean square error of the final states of samples of the ensemble, by the Taylor series.
static double lorenz_rms(const struct job *j) {
    enum { SAMPLES = 4096 };
    double sum = 0;
    for (uint64_t s = 0; s < SAMPLES; s++) {
        uint64_t i = s * (j->n - 1) / (SAMPLES - 1);
        double want[3];
        lorenz_reference((double)((float *)j->in)[i], want);
        for (uint64_t k = 0; k < 3; k++)
            sum += pow((double)((float *)j->values)[k * j->n + i] - want[k], 2);
    }
    return sqrt(sum / (3 * SAMPLES));
}

// Largest relative error of y1 and y3 of the middle trajectory of POLLU, against a tight CPU run.
static double pollu_error(const struct ensemble *e, const struct job *j) {
    struct ensemble tight = *e;
    uint64_t middle = j->n / 2;
    tight.low = tight.high = ((double *)j->in)[middle];
    tight.settings[0][1] = "rodas5p";
    tight.settings[1][1] = "1e-11";
    tight.settings[2][1] = "1e-15";
    struct job r = job_new(&tight, 1, "cpu", 0);
    shoal_tally s;
    run_ms(&r, NULL, &s);
    double worst = 0;
    for (uint64_t k = 0; k < 3; k += 2) {
        double want = ((double *)r.values)[k], got = ((double *)j->values)[k * j->n + middle];
        worst = fmax(worst, fabs(got / want - 1));
    }
    job_free(&r);
    return worst;
}

// ---- Tables -------------------------------------------------------------------------------------

#define RK4(precision)                                                                             \
    {"method", "rk4"}, {"dt", "0.0009765625"}, { "precision", precision }
#define ADAPTIVE(method, tolerance)                                                                \
    {"method", method}, {"rtol", tolerance}, {"atol", tolerance}, { "precision", "f32" }
#define TSIT5(tolerance) ADAPTIVE("tsit5", tolerance)
#define VDP "mu", 1, 1000
#define POLLU(method, kernel, all)                                                                 \
    {                                                                                              \
        "POLLU " method " f64 1e-5", 0, "examples/pollu.ode", "k1", 0.035, 3.5, LOG_SORTED, 17,    \
            {{"method", method}, {"rtol", "1e-5"}, {"atol", "1e-5"}}, kernel, all                  \
    }

static const struct ensemble table[] = {
    {"Lorenz rk4 f32, 1024 steps", lorenz, 0, "rho", 0, 21, EVEN, 23, {RK4("f32")}, 13.6, 17},
    {"Lorenz rk4 f64, 1024 steps", lorenz, 0, "rho", 0, 21, EVEN, 23, {RK4("f64")}, 24.1, 32},
    {"Lorenz tsit5 f32 1e-5", lorenz, 0, "rho", 0, 21, EVEN, 23, {TSIT5("1e-5")}, 1.8, 8},
    {"Lorenz tsit5 f32 1e-5, refill off",
     lorenz,
     0,
     "rho",
     0,
     21,
     EVEN,
     23,
     {TSIT5("1e-5"), {"refill", "off"}},
     NAN,
     NAN},
    {"Lorenz auto f32 1e-5",
     lorenz,
     0,
     "rho",
     0,
     21,
     EVEN,
     23,
     {ADAPTIVE("auto", "1e-5")},
     NAN,
     NAN},
    {"Lorenz with summaries, tsit5 f32 1e-5",
     lorenz,
     0,
     "rho",
     0,
     21,
     EVEN,
     23,
     {TSIT5("1e-5"), {"summary", "max(x),min(x),mean(x)"}},
     NAN,
     NAN},
    {"Lorenz96 (32) rk4 f32, 1024 steps", lorenz96, 0, "F", 0, 16, EVEN, 17, {RK4("f32")}, 5, 6},
    {"Lorenz96 (32) tsit5 f32 1e-5", lorenz96, 0, "F", 0, 16, EVEN, 17, {TSIT5("1e-5")}, 2, 3},
    {"Pleiades rk4 f32, 1024 steps",
     0,
     "examples/pleiades.ode",
     "m1",
     0.5,
     2,
     EVEN,
     17,
     {{"method", "rk4"}, {"dt", "0.0029296875"}, {"precision", "f32"}},
     16,
     17},
    {"Van der Pol shuffled, tsit5 f32 1e-6",
     vdp,
     0,
     VDP,
     LOG_SHUFFLED,
     20,
     {TSIT5("1e-6"), {"max-steps", "1000000"}},
     30,
     NAN},
    {"Van der Pol shuffled, refill off",
     vdp,
     0,
     VDP,
     LOG_SHUFFLED,
     20,
     {TSIT5("1e-6"), {"max-steps", "1000000"}, {"refill", "off"}},
     NAN,
     NAN},
    {"Van der Pol sorted, refill as chosen",
     vdp,
     0,
     VDP,
     LOG_SORTED,
     20,
     {TSIT5("1e-6"), {"max-steps", "1000000"}},
     NAN,
     NAN},
    {"Van der Pol sorted, refill off",
     vdp,
     0,
     VDP,
     LOG_SORTED,
     20,
     {TSIT5("1e-6"), {"max-steps", "1000000"}, {"refill", "off"}},
     NAN,
     NAN},
    POLLU("ros3p", 1, 2.5),
    POLLU("rosenbrock23", NAN, NAN),
    POLLU("rodas3p", NAN, NAN),
    POLLU("rodas4", NAN, NAN),
    POLLU("rodas5p", NAN, NAN),
    POLLU("sdirk-2-2", NAN, NAN),
    POLLU("crank-nicolson", NAN, NAN),
    POLLU("trbdf2", NAN, NAN),
    POLLU("kvaerno3", 4, NAN),
    POLLU("sdirk4", NAN, NAN),
    POLLU("kvaerno5", NAN, NAN),
    POLLU("radau-iia-3", NAN, NAN),
    POLLU("radau-iia-5", 10, NAN),
    POLLU("radau-iia-9", NAN, NAN),
    POLLU("gauss-legendre-4", NAN, NAN),
    POLLU("gauss-legendre-8", NAN, NAN),
};
enum { ENSEMBLES = sizeof table / sizeof *table };

// 1.03 times what the hand-written kernel takes in this run.
static double hand_bar(const struct ensemble *e) {
    const char *const argv[] = {hand, NULL};
    const char *name = e == &table[0] ? "lorenz_rk4_f32_ms" : "lorenz_rk4_f64_ms";
    if (e > &table[1])
        return e->kernel_bar;
    char *figures = run_program(argv, NULL);
    return figures ? 1.03 * value_of(figures, name) : e->kernel_bar;
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

static void bench_table(int less_bits, double kernel_of[ENSEMBLES]) {
    puts("solvers are warmed first\n\n| ensemble | trajectories | kernel | bar | end to end | bar "
         "| error |\n"
         "|---|---|---|---|---|---|---|");
    for (int i = 0; i < ENSEMBLES; i++) {
        const struct ensemble *e = &table[i];
        const char *only = getenv("SHOAL_BENCH_ONLY");
        kernel_of[i] = NAN;
        if (only && !strstr(e->name, only))
            continue;
        uint64_t n = 1ull << (e->bits - less_bits);
        char of_kernel[32], of_all[32], error[32] = "-";
        struct job j = job_new(e, n, device, n);
        double kernel = kernel_of[i] = kernel_ms(&j, REPEATS);
        if (strstr(e->name, "Lorenz tsit5"))
            snprintf(error, sizeof error, "%.2e", lorenz_rms(&j));
        if (strstr(e->name, "POLLU"))
            snprintf(error, sizeof error, "%.2e", pollu_error(e, &j));
        job_free(&j);
        j = job_new(e, n, device, 0);
        double all = wall_ms(&j, REPEATS);
        if (getenv("SHOAL_BENCH_PARTS"))
            parts(&j);
        job_free(&j);
        printf("| %s | 2^%d | %.4g ms | %s | %.4g ms | %s | %s |\n", e->name, e->bits - less_bits,
               kernel, verdict(kernel, less_bits ? (double)NAN : hand_bar(e), of_kernel), all,
               verdict(all, less_bits ? (double)NAN : e->all_bar, of_all), error);
        fflush(stdout);
    }
}

static void bench_small(void) {
    const struct ensemble *e = &table[2];
    struct job j = job_new(e, 8, device, 0);
    double kernel = kernel_ms(&j, 200), wall = wall_ms(&j, 2000);
    row("8 Lorenz trajectories, warm solver, wall", wall * 1e3, "us", NAN);
    row("- beyond the kernel", (wall - kernel) * 1e3, "us", 60);
    job_free(&j);
}

static const char *file_text(const char *path) {
    static char text[4096];
    FILE *f = fopen(path, "r");
    if (f) {
        text[fread(text, 1, sizeof text - 1, f)] = 0;
        fclose(f);
    }
    return text;
}

// A constant that no run had before keeps every cache out of the cold figure, the compiler's too.
static void bench_compile(const char *what, struct ensemble e, double bar) {
    char fresh[8192];
    snprintf(fresh, sizeof fresh, "%sinit odd=0\nodd'=%.0f*odd\n", e.text, lorenz_seconds() * 1e6);
    e.text = fresh;
    for (int warm = 0; warm < 2; warm++) {
        char text[96];
        struct job j = job_new(&e, 8, device, 0);
        double ms = label_ms(j.log, "compile_kernel", SHOAL_SPAN) +
                    label_ms(j.log, "cache_lookup", SHOAL_SPAN) +
                    label_ms(j.log, "module_load", SHOAL_SPAN);
        snprintf(text, sizeof text, "%s, %s to loaded kernel", what, warm ? "warm" : "cold");
        row(text, ms, "ms", warm ? 5 : bar);
        job_free(&j);
        shoal_cache_forget(); // the next one is from disk
    }
}

// Time per trajectory when the batch is 20 times the memory given, against one that fits.
static void bench_memory(int less_bits) {
    struct ensemble e = table[0];
    uint64_t n = 1ull << (23 - less_bits);
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

int main(int argc, char **argv) {
    int less_bits = getenv("SHOAL_BENCH_LESS") ? atoi(getenv("SHOAL_BENCH_LESS")) : 0;
    if (argc > 1)
        device = argv[1];
    if (argc > 2)
        hand = argv[2];
    double kernel[ENSEMBLES];
    bench_table(less_bits, kernel);
    puts("\n| what | figure | bar |\n|---|---|---|");
    bench_summaries(kernel);
    if (getenv("SHOAL_BENCH_ONLY"))
        return 0;
    bench_refill(kernel);
    bench_small();
    struct ensemble chain = table[2];
    chain.text = lorenz96, chain.parameter = "F";
    bench_compile("Lorenz tsit5", table[2], 500);
    bench_compile("32 states", chain, 1500);
    chain.text = chain100;
    bench_compile("100 states", chain, 8000);
    chain.text = STIFF_CHAIN, chain.parameter = "k", chain.settings[0][1] = "rodas5p";
    chain.settings[3][1] = "f64";
    bench_compile("100 stiff states, rodas5p", chain, 10000);
    chain.text = file_text("examples/pollu.ode"), chain.parameter = "k1";
    bench_compile("POLLU (20 states), rodas5p", chain, 3000);
    bench_memory(less_bits);
    if (missed)
        printf("\n%d bars missed\n", missed);
    return 0;
}
