// SPDX-License-Identifier: MIT
// What `--device auto` chooses against the better of the CPU and a device, both measured here.
//
//   dispatch DEVICE SECONDS      all of it, in about that time; prints Markdown for docs/devices.md
//   dispatch DEVICE cold M N     one batch of model M in a process that knows nothing (used above)
//
// Warm: one process, shoal_solver_warm before each size, then the shortest of several runs.
// Cold: the shortest of several processes whose kernels are not in the cache; its time is that from
// the start of main to the results, what was measured by calibration is known; NVRTC's own cache is
// off. Most of it is the compiler, whose times differ by a quarter: sides that are farther apart
// than they may be take more turns, all of them. They take turns, so that what else the machine
// does meets all. The cache is one of the bench's own, in /tmp, calibrated first and removed
// afterwards. A size that would take too long on the CPU is not run there. A row is kept if auto
// takes no more than 1.25 times the better, plus 2 ms.
#include "program.h"

#include <ftw.h>
#include <inttypes.h>

enum { MODELS = 4, REPEATS = 15, FEW = 3, SIDES = 3, SIZES = 8 }; // 1 to 10^7 runs
static const double run_most = 5;                                 // seconds of one batch

static const char hires[] =
    "par k=280\ninit y1=1,y8=0.0057\ny1'=-1.71*y1+0.43*y2+8.32*y3+0.0007\ny2'=1.71*y1-8.75*y2\n"
    "y3'=-10.03*y3+0.43*y4+0.035*y5\ny4'=8.32*y2+1.71*y3-1.12*y4\n"
    "y5'=-1.745*y5+0.43*y6+0.43*y7\ny6'=-k*y6*y8+0.69*y4+1.71*y5-0.43*y6+0.69*y7\n"
    "y7'=k*y6*y8-1.81*y7\ny8'=-k*y6*y8+1.81*y7\ninit y2=0,y3=0,y4=0,y5=0,y6=0,y7=0\n"
    "@ t1=321.8122, method=rodas4\n";

static const struct {
    const char *name, *file, *text, *sweep;
} models[MODELS] = {
    {"Lorenz", "examples/lorenz.ode", NULL, "rho=lin:0:21"},
    {"HIRES", NULL, hires, "k=lin:200:300"},
    {"Hodgkin-Huxley", "examples/hodgkin_huxley.ode", NULL, "I=lin:0:20"},
    {"Lorenz 96", "examples/lorenz96.ode", NULL, "F=lin:0:16"},
};

struct setup {
    shoal_model *model;
    shoal_options options;
    shoal_log *log;
};

static struct setup load(int m, const char *device) {
    struct setup s = {.log = shoal_log_new()};
    shoal_code code = models[m].file ? shoal_model_load(models[m].file, &s.model, s.log)
                                     : shoal_model_parse(models[m].name, models[m].text,
                                                         strlen(models[m].text), &s.model, s.log);
    if (code || shoal_options_init(&s.options, s.model, s.log))
        die(models[m].name, s.log);
    s.options.device = device;
    return s;
}

static shoal_batch *batch_of(const struct setup *s, int m, uint64_t n) {
    char sweep[64];
    shoal_batch *batch = NULL;
    snprintf(sweep, sizeof sweep, "%s:%" PRIu64, models[m].sweep, n);
    if (shoal_batch_new(s->model, &batch, s->log) || shoal_batch_sweep(batch, sweep, s->log))
        die(sweep, s->log);
    return batch;
}

static double run(shoal_solver *solver, const shoal_batch *batch, double *values, shoal_log *log) {
    shoal_array all = {.data = values};
    double start = lorenz_seconds();
    if (shoal_solver_run_arrays(solver, batch, &all, 1, NULL, log))
        die("run", log);
    return lorenz_seconds() - start;
}

static double *room_for(const struct setup *s, uint64_t n) {
    double *values = malloc(n * shoal_model_count(s->model, SHOAL_STATE) * sizeof *values);
    if (!values)
        die("memory", NULL);
    return values;
}

// ---- Cold ---------------------------------------------------------------------------------------

static int cold_child(const char *device, int m, uint64_t n) {
    double start = lorenz_seconds();
    struct setup s = load(m, device);
    shoal_solver *solver = NULL;
    shoal_batch *batch = batch_of(&s, m, n);
    double *values = room_for(&s, n);
    if (shoal_solver_new(s.model, &s.options, &solver, s.log))
        die("solver", s.log);
    run(solver, batch, values, s.log);
    printf("seconds %.6f\nchosen %s\n", lorenz_seconds() - start, shoal_solver_reason(solver));
    fflush(stdout);
    _exit(0); // what the end of a process takes is not what is compared
}

static double cold(const char *self, const char *device, int m, uint64_t n, char chosen[32]) {
    char model[16], rows[32];
    shoal_cache *cache = NULL;
    uint64_t removed;
    const shoal_cache_filter all = {0};
    if (!shoal_cache_open(NULL, &cache, NULL))
        shoal_cache_clear(cache, &all, &removed, NULL);
    shoal_cache_close(cache);
    snprintf(model, sizeof model, "%d", m);
    snprintf(rows, sizeof rows, "%" PRIu64, n);
    const char *const argv[] = {self, device, "cold", model, rows, NULL};
    char *text = run_program(argv, NULL);
    if (!text)
        die("a process that was to run cold", NULL);
    const char *line = strstr(text, "\nchosen ");
    snprintf(chosen, 32, "%.*s", line ? (int)strcspn(line + 8, ":\n") : 0, line ? line + 8 : "");
    return value_of(text, "seconds");
}

// ---- Warm ---------------------------------------------------------------------------------------

static double smaller(double a, double b) { return b < a ? b : a; }

// One after the other, again and again; t[i] is NaN where a side is left out.
static void warm(shoal_solver *const solver[SIDES], shoal_batch *const batch[SIDES],
                 const struct setup s[SIDES], double *values, double t[SIDES]) {
    double longest = 0;
    for (int i = 0; i < SIDES; i++) {
        bool left_out = isnan(t[i]);
        t[i] = left_out ? (double)NAN : run(solver[i], batch[i], values, s[i].log);
        longest = left_out || t[i] < longest ? longest : t[i];
    }
    for (int k = 0; k < (longest > 0.5 ? FEW : REPEATS) - 1; k++)
        for (int i = 0; i < SIDES; i++)
            if (!isnan(t[i]))
                t[i] = smaller(t[i], run(solver[i], batch[i], values, s[i].log));
}

// ---- The table ----------------------------------------------------------------------------------

struct score {
    double logs;
    int rows, missed;
};

static void put(double t) {
    if (isnan(t))
        printf(" - |");
    else
        printf(t < 1 ? " %.3g ms |" : " %.3g s |", t < 1 ? t * 1e3 : t);
}

static double better(const double t[SIDES]) { return isnan(t[0]) || t[1] < t[0] ? t[1] : t[0]; }

static bool is_kept(const double t[SIDES]) { return t[2] <= 1.25 * better(t) + 2e-3; }

static void put_row(const char *state, int m, uint64_t n, const double t[SIDES], const char *chosen,
                    struct score *s) {
    double ratio = t[2] / better(t);
    bool kept = is_kept(t);
    printf("| %s | %s | %" PRIu64 " |", models[m].name, state, n);
    for (int i = 0; i < SIDES; i++)
        put(t[i]);
    printf(" %s | %.2f | %s |\n", chosen, ratio, kept ? "yes" : "no");
    fflush(stdout);
    s->logs += log(ratio);
    s->rows++;
    s->missed += !kept;
}

// All sizes of a model, up to what is done in time.
static void bench_warm(const char *device, int m, double end, double cpu[SIZES],
                       struct score *score) {
    const char *const sides[SIDES] = {"cpu", device, "auto"};
    struct setup s[SIDES];
    shoal_solver *solver[SIDES] = {0};
    double before = 0; // of the CPU, one size smaller
    for (int i = 0; i < SIDES; i++) {
        s[i] = load(m, sides[i]);
        if (shoal_solver_new(s[i].model, &s[i].options, &solver[i], s[i].log))
            die(sides[i], s[i].log);
    }
    uint64_t n = 1;
    for (int k = 0; k < SIZES && lorenz_seconds() < end; k++, n *= 10) {
        double t[SIDES] = {before * 10 > run_most ? (double)NAN : 0}, *values = room_for(&s[0], n);
        char chosen[32];
        shoal_batch *batch[SIDES];
        for (int i = 0; i < SIDES; i++) {
            batch[i] = batch_of(&s[i], m, n);
            if (!isnan(t[i]) && shoal_solver_warm(solver[i], batch[i], s[i].log))
                die("warm", s[i].log);
        }
        warm(solver, batch, s, values, t);
        for (int i = 0; i < SIDES; i++)
            shoal_batch_free(batch[i]);
        before = cpu[k] = isnan(t[0]) ? before * 10 : t[0];
        const char *reason = shoal_solver_reason(solver[2]);
        snprintf(chosen, sizeof chosen, "%.*s", (int)strcspn(reason, ":"), reason);
        put_row("warm", m, n, t, chosen, score);
        free(values);
    }
    for (int i = 0; i < SIDES; i++) {
        shoal_solver_free(solver[i]);
        shoal_model_free(s[i].model);
        shoal_log_free(s[i].log);
    }
}

// Every second size, and the largest; `cpu` is what these take there, as far as it is known.
static void bench_cold(const char *self, const char *device, int m, double end,
                       const double cpu[SIZES], struct score *score) {
    const char *const sides[SIDES] = {"cpu", device, "auto"};
    uint64_t n = 1;
    for (int k = 0; k < SIZES && lorenz_seconds() < end; k++, n *= 10) {
        double t[SIDES];
        char chosen[32] = "";
        if (k % 2 && k + 1 < SIZES)
            continue;
        for (int i = 0; i < SIDES; i++)
            t[i] = i == 0 && cpu[k] > run_most ? (double)NAN : (double)INFINITY;
        for (int again = 0;
             again < FEW || (again < REPEATS && !is_kept(t) && lorenz_seconds() < end); again++)
            for (int i = 0; i < SIDES; i++)
                if (!isnan(t[i]))
                    t[i] = smaller(t[i], cold(self, sides[i], m, n, chosen));
        put_row("cold", m, n, t, chosen, score);
    }
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void calibrate(void) {
    shoal_options o;
    shoal_log *log = shoal_log_new();
    if (shoal_options_init(&o, NULL, log) || shoal_calibrate(NULL, &o, 0, NULL, NULL, log))
        die("calibrate", log);
    shoal_log_free(log);
}

static int bench(const char *self, const char *device, double seconds) {
    char cache[] = "/tmp/shoal-bench.XXXXXX";
    struct score score = {0};
    if (!mkdtemp(cache))
        return 1;
    setenv("SHOAL_CACHE_DIR", cache, 1);
    unsetenv("SHOAL_DEVICE");
    double start = lorenz_seconds();
    setenv("CUDA_CACHE_DISABLE", "1", 1); // NVRTC's own: a kernel is new in each cold process
    calibrate();
    printf("Calibrated in %.0f s; times are the shortest of %d, or of %d where one takes long "
           "(warm), and of %d to %d (cold), by turns.\n\n",
           lorenz_seconds() - start, REPEATS, FEW, FEW, REPEATS);
    printf(
        "| model | | runs | cpu | %s | auto | auto took | to the better | within 1.25x + 2 ms |\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        device);
    for (int m = 0; m < MODELS; m++) { // each gets an equal share of the time that is left
        double now = lorenz_seconds(), share = (start + seconds - now) / (MODELS - m);
        double cpu[SIZES] = {0};
        bench_warm(device, m, now + share / 2, cpu, &score);
        bench_cold(self, device, m, now + share, cpu, &score);
    }
    printf("\nGeometric mean of auto to the better: %.3f over %d rows; %d outside of the bar.\n",
           exp(score.logs / score.rows), score.rows, score.missed);
    nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return score.missed > 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[2], "cold"))
        return cold_child(argv[1], atoi(argv[3]), strtoull(argv[4], NULL, 10));
    if (argc == 3)
        return bench(argv[0], argv[1], atof(argv[2]));
    fprintf(stderr, "usage: dispatch DEVICE SECONDS\n");
    return 2;
}
