// SPDX-License-Identifier: MIT
// Reductions of whole runs: against plain loops over the rows of the same run, in every format, and
// the same bytes for all chunks and threads.
#include "check.h"
#include "shoal/shoal.h"

// Blows up for x(0) > 0 before t = 1 / x(0).
static const char model_text[] = "par a=1, b=0\n"
                                 "x'=b*x^2-a*x*(1-b)\n"
                                 "y'=1-a\n"
                                 "init x=1, y=0\n"
                                 "aux s=x+y\n"
                                 "@ t1=2, rtol=1e-6, max_steps=2000\n";

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static const char *model(void) {
    const char *path = check_path("m.ode");
    check_write(path, model_text);
    return path;
}

// ---- Arrays -------------------------------------------------------------------------------------

enum { AS = 3, BS = 2, DRAWS = 50, RUNS = AS * BS * DRAWS, SAMPLES = 4, GROUPS = AS * BS };

struct tested {
    shoal_log *log;
    shoal_model *model;
    shoal_batch *batch;
    shoal_options options;
    shoal_solver *solver;
};

static void need(const struct tested *t, shoal_code code, const char *call) {
    if (code == SHOAL_OK)
        return;
    for (size_t i = 0; i < shoal_log_message_count(t->log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(t->log, i).text);
    check_fail(__FILE__, __LINE__, "%s", call);
    check_end();
}
#define FINE(t, call) need(t, call, #call)

static struct tested *start(void) {
    struct tested *t = calloc(1, sizeof *t);
    REQUIRE(t != NULL);
    t->log = shoal_log_new();
    FINE(t, shoal_model_parse("m.ode", model_text, strlen(model_text), &t->model, t->log));
    FINE(t, shoal_options_init(&t->options, t->model, t->log));
    FINE(t, shoal_options_set(&t->options, "vars", "x,s", t->log));
    FINE(t, shoal_options_set(&t->options, "cache", check_path("cache"), t->log));
    FINE(t, shoal_batch_new(t->model, &t->batch, t->log));
    FINE(t, shoal_batch_sweep(t->batch, "a=0.5,1,2", t->log));
    FINE(t, shoal_batch_sweep(t->batch, "b=0,1", t->log));
    FINE(t, shoal_batch_sample(t->batch, "x(0)=uniform:-1:1", t->log));
    FINE(t, shoal_batch_sampler(t->batch, "random", DRAWS, 3, t->log));
    return t;
}

static void set(struct tested *t, const char *name, const char *value) {
    FINE(t, shoal_options_set(&t->options, name, value, t->log));
}

static void run_arrays(struct tested *t, const shoal_array *arrays, size_t count) {
    shoal_solver_free(t->solver);
    FINE(t, shoal_solver_new(t->model, &t->options, &t->solver, t->log));
    FINE(t, shoal_solver_run_arrays(t->solver, t->batch, arrays, count, NULL, t->log));
}

static void end(struct tested *t) {
    shoal_solver_free(t->solver);
    shoal_batch_free(t->batch);
    shoal_model_free(t->model);
    shoal_log_free(t->log);
    free(t);
}

struct plain {
    double x[RUNS][SAMPLES];
    float x32[RUNS][SAMPLES];
    uint8_t status[RUNS];
};

struct statistics {
    double mean[GROUPS][SAMPLES], std[GROUPS][SAMPLES], least[GROUPS][SAMPLES],
        median[GROUPS][SAMPLES], a[GROUPS], b[GROUPS], t[GROUPS][SAMPLES];
    uint64_t n[GROUPS][SAMPLES], failed[GROUPS];
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_cell(const struct plain *p, const struct statistics *s, uint64_t g, uint64_t k,
                       uint64_t samples) {
    double x[DRAWS];
    uint64_t n = 0, failed = 0;
    long double sum = 0, squares = 0;
    for (uint64_t run = g * DRAWS; run < (g + 1) * DRAWS; run++) {
        if (p->status[run] == SHOAL_STATUS_ok)
            sum += x[n++] = (&p->x[0][0])[run * samples + k];
        failed += p->status[run] != SHOAL_STATUS_ok;
    }
    for (uint64_t i = 0; i < n; i++)
        squares += (x[i] - sum / (long double)n) * (x[i] - sum / (long double)n);
    qsort(x, n, sizeof *x, by_value);
    uint64_t at = g * samples + k;
    CHECK_INT((&s->n[0][0])[at], n);
    CHECK_INT(s->failed[g], failed);
    CHECK_NEAR((&s->mean[0][0])[at], (double)(sum / (long double)n), 0);
    CHECK_NEAR((&s->std[0][0])[at], (double)sqrtl(squares / (long double)(n - 1)), 1e-15);
    CHECK_NEAR((&s->least[0][0])[at], x[0], 0);
    CHECK_NEAR((&s->median[0][0])[at], (x[(n - 1) / 2] + x[n / 2]) / 2, 1e-16);
}

static void check_all(struct tested *t, uint64_t samples) {
    static struct plain p;
    static struct statistics s;
    bool f32 = t->options.precision == SHOAL_F32;
    shoal_array plain[] = {{.name = "x", .data = f32 ? (void *)p.x32 : (void *)p.x},
                           {.name = "status", .data = p.status}};
    shoal_array statistics[] = {
        {.name = "x.mean", .data = s.mean}, {.name = "x.std", .data = s.std},
        {.name = "x.min", .data = s.least}, {.name = "x.q0.5", .data = s.median},
        {.name = "x.n", .data = s.n},       {.name = "failed", .data = s.failed},
        {.name = "a", .data = s.a},         {.name = "b", .data = s.b},
        {.name = "t", .data = s.t}};
    run_arrays(t, plain, 2);
    for (uint64_t i = 0; f32 && i < RUNS * samples; i++)
        (&p.x[0][0])[i] = (double)(&p.x32[0][0])[i];
    set(t, "reduce", "mean,std,min,quantile(0.5)");
    set(t, "by", "b,a");
    shoal_solver_free(t->solver);
    t->solver = NULL;
    run_arrays(t, statistics, samples > 1 ? 9 : 8);
    shoal_plan plan;
    FINE(t, shoal_solver_plan(t->solver, t->batch, NULL, &plan, t->log));
    CHECK_INT(plan.rows, GROUPS);
    uint64_t failed = 0;
    for (uint64_t g = 0; g < GROUPS; g++) {
        CHECK_NEAR(s.a[g], 0.5 * (1 << g / BS), 0);
        CHECK_NEAR(s.b[g], (double)(g % BS), 0);
        for (uint64_t k = 0; k < samples; k++)
            check_cell(&p, &s, g, k, samples);
        failed += s.failed[g];
    }
    CHECK(failed > 10 && failed < RUNS / 2);
    if (samples > 1)
        CHECK_NEAR(s.t[GROUPS - 1][SAMPLES - 1], 2, 0);
}

TEST(reduce_run_is_that_of_its_rows) {
    static const char *const precisions[] = {"f64", "f32"}, *const keeps[] = {"off", "on"};
    for (int i = 0; i < 4; i++) {
        for (int series = 0; series < 2; series++) {
            struct tested *t = start();
            set(t, "precision", precisions[i % 2]);
            set(t, "keep_failed", keeps[i / 2]);
            if (series)
                set(t, "save", "n=4");
            check_all(t, series ? SAMPLES : 1);
            end(t);
        }
    }
}

TEST(reduce_run_refuses) {
    struct tested *t = start();
    shoal_result *result = NULL;
    double x[GROUPS];
    shoal_array block = {.data = x};
    set(t, "by", "a");
    CHECK_INT(shoal_solver_new(t->model, &t->options, &t->solver, t->log), SHOAL_INPUT);
    set(t, "reduce", "mean");
    FINE(t, shoal_solver_new(t->model, &t->options, &t->solver, t->log));
    CHECK_INT(shoal_solver_run(t->solver, t->batch, &result, t->log), SHOAL_INPUT);
    CHECK_INT(shoal_solver_run_arrays(t->solver, t->batch, &block, 1, NULL, t->log), SHOAL_INPUT);
    FINE(t, shoal_solver_set(t->solver, "memory", "100", NULL, t->log));
    CHECK_INT(shoal_solver_run_file(t->solver, t->batch, check_path("o.csv"), NULL, t->log),
              SHOAL_MEMORY);
    CHECK(!check_read(check_path("o.csv")));
    end(t);
    t = start();
    set(t, "reduce", "mean");
    set(t, "save", "steps");
    CHECK_INT(shoal_solver_new(t->model, &t->options, &t->solver, t->log), SHOAL_INPUT);
    end(t);
}

// The solver lists the arrays of the result.
TEST(reduce_run_names_its_arrays) {
    static const char *const names[] = {"x.mean", "x.q0.9", "x.n",   "s.mean",
                                        "s.q0.9", "s.n",    "failed"};
    struct tested *t = start();
    set(t, "reduce", "mean,quantile(0.9)");
    FINE(t, shoal_solver_new(t->model, &t->options, &t->solver, t->log));
    REQUIRE(shoal_solver_array_count(t->solver) == 7);
    for (uint32_t i = 0; i < 7; i++)
        CHECK_STR(shoal_solver_array_at(t->solver, i).name, names[i]);
    CHECK_INT(shoal_solver_array_at(t->solver, 2).type, SHOAL_ARRAY_U64);
    end(t);
}

// ---- Files --------------------------------------------------------------------------------------

#define EXACT "--method", "euler", "--dt", "0.5"
#define BATCH "--sweep", "a=0.5,1,2", "--sample", "x(0)=uniform:-1:1", "--runs", "9000"
#define REDUCE "--reduce", "mean,std,min,max,quantile(0.05,0.5,0.95)"

TEST(reduce_run_is_the_same_in_all_chunks) {
    const char *m = model();
    static const char *const chunks[] = {"1", "4096", "777", "100000"}, *const threads[] = {"1",
                                                                                            "2"};
    struct check_output want =
        SHOAL("run", m, "-q", BATCH, REDUCE, "--by", "a", "--save", "n=3", "-o", "-");
    CHECK_INT(want.status, 0);
    CHECK_HAS(want.out, "a,t,x.mean,x.std,x.min,x.max,x.q0.05,x.q0.5,x.q0.95,x.n,y.mean,");
    CHECK_HAS(want.out, ",y.n,failed\n0.5,0,");
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            if (!check_does((size_t)i, (size_t)k, 2))
                continue;
            struct check_output o =
                SHOAL("run", m, "-q", BATCH, REDUCE, "--by", "a", "--save", "n=3", "-o", "-",
                      "--chunk", chunks[i], "--threads", threads[k]);
            CHECK_STR(o.out, want.out);
        }
}

TEST(reduce_run_csv) {
    const char *m = model(), *csv = check_path("b.csv");
    struct check_output o = SHOAL("run", m, "-q", "--set", "b=1,y=2", "--sweep", "x(0)=1,2,0.125",
                                  "--reduce", "mean,max", "--vars", "x,y");
    CHECK_INT(o.status, 0); // two of three blow up
    CHECK_HAS(o.out, "x.mean,x.max,x.n,y.mean,y.max,y.n,failed\n0.16666");
    CHECK_HAS(o.out, ",1,2,2,1,2\n");
    o = SHOAL("run", m, "-q", "--set", "b=1", "--sweep", "x(0)=1,2", "--reduce", "mean,std",
              "--vars", "x");
    CHECK_INT(o.status, 5); // all failed
    CHECK_STR(o.out, "x.mean,x.std,x.n,failed\nnan,nan,0,2\n");
    o = SHOAL("run", m, "-q", "--reduce", "mean,std,quantile(0.5)", "--set", "a=0", "--vars", "y",
              EXACT);
    CHECK_STR(o.out, "y.mean,y.std,y.q0.5,y.n,failed\n2,nan,2,1,0\n");
    check_write(csv, "a,_arm,_dose\n1,p,1\n0,q,1\n1,q,1\n0,p,2\n");
    o = SHOAL("run", m, "-q", "--batch", csv, "--reduce", "mean", "--by", "_dose,_arm", "--vars",
              "y", EXACT);
    CHECK_STR(o.out, "_arm,_dose,y.mean,y.n,failed\np,1,0,1,0\nq,1,1,2,0\np,2,2,1,0\n");
    o = SHOAL("run", m, "-q", "--batch", csv, "--reduce", "mean", "--by", "a", "--vars", "y", EXACT,
              "-o", check_path("o.csv"));
    CHECK_INT(o.status, 0);
    o = SHOAL("run", m, "-q", "--batch", csv, "--reduce", "mean", "--by", "a", "--vars", "y", EXACT,
              "-o",
              check_path("o.csv")); // a result of ours is replaced
    CHECK_INT(o.status, 0);
    CHECK_STR(check_read(check_path("o.csv")), "a,y.mean,y.n,failed\n1,0,2,0\n0,2,2,0\n");
    CHECK(!check_read(check_path("o.runs.csv")));
}

// Groups without a run are there, and runs that are far apart need no more memory than others.
TEST(reduce_run_of_some_runs) {
    const char *m = model();
    struct check_output o =
        SHOAL("run", m, "-q", "--sweep", "a=0,1,2", "--sweep", "x(0)=1,2,3", "--only-runs", "0,8",
              "--reduce", "max,quantile(0.5)", "--by", "a", "--vars", "y", EXACT);
    CHECK_STR(o.out, "a,y.max,y.q0.5,y.n,failed\n0,2,2,1,0\n1,nan,nan,0,0\n2,-2,-2,1,0\n");
    o = SHOAL("run", m, "-q", "--sweep", "a=lin:0:1:1000000", "--only-runs",
              "0,10000,20000,30000,40000,50000,60000,70000,80000,90000", "--reduce",
              "quantile(0.5)", "--vars", "y", "--memory", "100K", EXACT);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, ",10,0\n");
}

// A variable may be called as what is ours.
TEST(reduce_run_names_do_not_meet) {
    const char *m = check_path("n.ode");
    check_write(m, "par failed=1\nx'=-failed\n@ t1=1, method=euler, dt=0.5\ninit x=1\n");
    struct check_output o =
        SHOAL("run", m, "-q", "--sweep", "failed=1,2", "--reduce", "max", "--by", "failed");
    CHECK_STR(o.out, "failed_,x.max,x.n,failed\n1,0,1,0\n2,-1,1,0\n");
}

TEST(reduce_run_binary) {
    const char *python = check_python(NULL), *m = model();
    if (!python)
        check_skip("no Python with numpy");
    const char *npz = check_path("o.npz");
    struct check_output o =
        SHOAL("run", m, "-q", "--sweep", "a=0.5,1,2", "--sweep", "y(0)=3,4", "--sample",
              "x(0)=uniform:-1:1", "--runs", "700", "--reduce", "mean,quantile(0.1,0.5)", "--by",
              "y,a", "--save", "n=5", "-o", npz);
    CHECK_INT(o.status, 0);
    o = RUN(python, "-c",
            "import sys, json, numpy as np\n"
            "f = np.load(sys.argv[1])\n"
            "print(f['x.mean'].shape, f['y.q0.1'].dtype, f['x.n'].dtype, f['x.n'].min(),\n"
            "      f['failed'].shape, f['a'][:, 1], f['y(0)'][0], f['t'].shape,\n"
            "      json.loads(str(f['meta']))['options']['by'])\n",
            npz);
    CHECK_STR(o.out, "(3, 2, 5) float64 uint64 700 (3, 2) [0.5 1.  2. ] [3. 4.] (5,) y,a\n");
    struct check_output again = SHOAL("run", "--job", npz, "-q", "-o", "-");
    CHECK_HAS(again.out, "a,y(0),t,x.mean,x.q0.1,x.q0.5,x.n,");
}

// HDF5 has the arrays of NPZ.
TEST(reduce_run_hdf5) {
    const char *python = check_python("h5py"), *m = model(), *csv = check_path("b.csv");
    if (!python)
        check_skip("no Python with h5py");
    check_write(csv, "a,_arm\n1,p\n0,q\n1,\n0,p\n");
    struct check_output o =
        SHOAL("run", m, "-q", "--batch", csv, "--sweep", "y(0)=1,2,3", "--reduce", "mean", "--by",
              "y,_arm", "--save", "n=5", "-o", check_path("o.h5"));
    if (strstr(o.err, "HDF5"))
        check_skip("no HDF5");
    CHECK_INT(o.status, 0);
    o = RUN(python, "-c",
            "import sys, h5py\n"
            "f = h5py.File(sys.argv[1])\n"
            "print(f['x.mean'].shape, f['_arm'].asstr()[:, 0], f['x.n'][:, 0, 0], f['t'].shape)\n",
            check_path("o.h5"));
    CHECK_STR(o.out, "(3, 3, 5) ['p' 'q' ''] [2 1 1] (5,)\n");
}

TEST(reduce_in_a_model) {
    const char *m = check_path("r.ode");
    check_write(m,
                "par a=1\nx'=-a\ninit x=1\n@ t1=1, reduce='min,max', by=a, method=euler, dt=0.5\n");
    struct check_output o = SHOAL("run", m, "-q", "--sweep", "a=1,2", "--sweep", "x(0)=5,6");
    CHECK_STR(o.out, "a,x.min,x.max,x.n,failed\n1,4,5,2,0\n2,3,4,2,0\n");
}
