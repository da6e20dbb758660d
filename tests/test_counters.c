// SPDX-License-Identifier: MIT
// Newton iterations and rejected steps by reason, of each run: they add up to what is rejected, do
// not depend on lanes, chunks or devices, and leave every bit of the results alone.
#include "check.h"
#include "device_test.h"
#include "shoal/shoal.h"

enum { ROWS = 23, REASONS = 4, VARS = 2 };

static const char *const reasons[REASONS] = {"rejected_error", "rejected_newton",
                                             "rejected_nonfinite", "rejected_singular"};

static const char vdp[] = "par mu=1\ninit x=2\nx'=y\ny'=mu*((1-x^2)*y-x)\n@ t1=2\n";
// It grows without bound before t1 where mu is large: steps over the pole are not finite.
static const char blow_up[] = "par mu=1\ninit x=1,y=0\nx'=mu*x^2*exp(x)\ny'=x\n@ t1=1\n";

struct counted {
    double x[VARS * ROWS];
    uint32_t steps[ROWS], rejected[ROWS], newton[ROWS], by[REASONS][ROWS];
    uint64_t f_evals[ROWS];
    uint8_t status[ROWS];
};

static void set(shoal_options *o, const char *words) {
    char *text = strdup(words), *rest = NULL;
    for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(w, '=');
        if (value)
            *value++ = 0;
        REQUIRE(!shoal_options_set(o, w, value ? value : "on", NULL));
    }
    free(text);
}

static struct counted run(const char *device, const char *text, const char *words, bool counters) {
    struct counted *c = check_keep(calloc(1, sizeof *c));
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_options o;
    shoal_batch *b = NULL;
    shoal_solver *s = NULL;
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &m, log));
    REQUIRE(!shoal_options_init(&o, m, log) && !shoal_batch_new(m, &b, log));
    o.device = device;
    o.counters = counters;
    set(&o, words);
    char sweep[64];
    snprintf(sweep, sizeof sweep, "mu=log:0.5:500:%d", ROWS);
    REQUIRE(!shoal_batch_option(b, "sweep", sweep, log));
    if (shoal_solver_new(m, &o, &s, log))
        check_fail(__FILE__, __LINE__, "%s",
                   shoal_log_message(log, shoal_log_message_count(log) - 1).text);
    REQUIRE(s);
    shoal_array arrays[10] = {{.data = c->x},
                              {.name = "status", .data = c->status},
                              {.name = "steps", .data = c->steps},
                              {.name = "rejected", .data = c->rejected},
                              {.name = "f_evals", .data = c->f_evals},
                              {.name = "newton_iterations", .data = c->newton}};
    for (int i = 0; i < REASONS; i++)
        arrays[6 + i] = (shoal_array){.name = reasons[i], .data = c->by[i]};
    CHECK_INT(shoal_solver_run_arrays(s, b, arrays, counters ? 10 : 5, NULL, log), SHOAL_OK);
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
    shoal_log_free(log);
    return *c;
}

static uint32_t all(const struct counted *c, int reason) {
    uint32_t n = 0;
    for (int i = 0; i < ROWS; i++)
        n += c->by[reason][i];
    return n;
}

static void check_sums(const struct counted *c, const char *words, bool newton) {
    for (int i = 0; i < ROWS; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < REASONS; k++)
            sum += c->by[k][i];
        CHECK_MSG(sum == c->rejected[i], "%s: row %d: %u rejected, %u by reason", words, i,
                  c->rejected[i], sum);
        CHECK_MSG((c->newton[i] > 0) == newton, "%s: row %d: %u iterations", words, i,
                  c->newton[i]);
    }
}

// The same bits with and without, which includes how a run ended and what it took.
static struct counted check_model(const char *device, const char *text, const char *words,
                                  bool newton) {
    struct counted with = run(device, text, words, true), without = run(device, text, words, false);
    for (int i = 0; i < VARS * ROWS; i++)
        CHECK_MSG(!memcmp(&with.x[i], &without.x[i], 8) ||
                      (isnan(with.x[i]) && isnan(without.x[i])),
                  "%s, %s: value %d", device, words, i);
    CHECK(!memcmp(with.status, without.status, sizeof with.status));
    CHECK(!memcmp(with.steps, without.steps, sizeof with.steps));
    CHECK(!memcmp(with.rejected, without.rejected, sizeof with.rejected));
    CHECK(!memcmp(with.f_evals, without.f_evals, sizeof with.f_evals));
    check_sums(&with, words, newton);
    return with;
}

DEVICE_TEST(counters_of_explicit_steps) {
    struct counted c = check_model(device, vdp, "method=tsit5 rtol=1e-5", false);
    CHECK(all(&c, 0) > 0);
    CHECK_INT(all(&c, 1) + all(&c, 2) + all(&c, 3), 0);
}

static void check_iterations(const char *device) {
    struct counted c = check_model(device, vdp, "method=kvaerno5 rtol=1e-5", true);
    for (int i = 0; i < ROWS; i++) // at least one for each implicit stage of a step, at most seven
        CHECK_MSG(c.newton[i] >= c.steps[i] && c.newton[i] <= 7 * 7 * (c.steps[i] + c.rejected[i]),
                  "row %d: %u iterations in %u steps", i, c.newton[i], c.steps[i]);
    CHECK(all(&c, 0) > 0);
}

TEST(counters_of_newton_iterations) { check_iterations("cpu"); }
LONG_DEVICE_TEST(counters_of_newton_iterations_everywhere) { check_iterations(device); }

TEST(counters_of_rosenbrock_steps) {
    struct counted c = check_model("cpu", vdp, "method=rodas5p rtol=1e-5", false);
    CHECK(all(&c, 0) > 0);
}

TEST(counters_of_steps_that_are_not_finite) {
    struct counted c = check_model("cpu", blow_up, "method=tsit5", false);
    CHECK(all(&c, 2) > 0);
    c = check_model("cpu", blow_up, "method=tsit5 precision=f32", false);
    CHECK(all(&c, 2) > 0);
}

// A first step that is much too long: iterations do not converge.
TEST(counters_of_iterations_that_fail) {
    struct counted c = check_model("cpu", vdp, "method=kvaerno5 dt0=2 rtol=1e-2 atol=1e-2", true);
    CHECK(all(&c, 1) > 0);
}

// I - h gamma J has a 0 on its diagonal in the first step: gamma is 1/4.
TEST(counters_of_singular_matrices) {
    struct counted c = check_model("cpu", "par mu=1\ninit x=1, y=1\nx'=4*x\ny'=-mu*y\n@ t1=1\n",
                                   "method=rodas4 dt0=1", false);
    CHECK_INT(all(&c, 3), ROWS);
}

TEST(counters_of_fixed_steps) {
    struct counted c = check_model("cpu", blow_up, "method=rk4 dt=0.125", false);
    CHECK(all(&c, 0) == 0);
}

// Two lanes, eight and one; chunks of any size; with refill and without.
TEST(counters_do_not_depend_on_neighbours) {
    static const char *const ways[] = {"chunk=1", "chunk=5", "refill=on", "refill=off threads=1"};
    struct counted want = run("cpu", vdp, "method=kvaerno5", true);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char words[96];
        snprintf(words, sizeof words, "method=kvaerno5 %s", ways[i]);
        struct counted got = run("cpu", vdp, words, true);
        CHECK_MSG(!memcmp(want.by, got.by, sizeof want.by), "%s", ways[i]);
        CHECK_MSG(!memcmp(want.newton, got.newton, sizeof want.newton), "%s", ways[i]);
    }
}

// A run that another method took over has that method's counts.
TEST(counters_of_runs_taken_over) {
    struct counted c = run("cpu", vdp, "method=auto", true);
    for (int i = 0; i < ROWS; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < REASONS; k++)
            sum += c.by[k][i];
        CHECK_INT(sum, c.rejected[i]);
    }
}

// Beside what watches a run: those who only look, and those who end steps.
TEST(counters_with_watchers) {
    struct counted c =
        check_model("cpu", vdp, "method=tsit5 summary=max(x),n=crossings(x,0)", false);
    CHECK(all(&c, 0) > 0);
    c = check_model("cpu",
                    "par mu=1\ninit x=2,y=0\nx'=y\ny'=mu*(1-x^2)*y-x\n@ t1=5\n"
                    "event e when x<0 : y=y/2\n",
                    "method=tsit5 rtol=1e-5", false);
    CHECK(all(&c, 0) > 0);
}

TEST(counters_in_files) {
    const char *m = check_path("m.ode"), *csv = check_path("o.csv");
    check_write(m, vdp);
    struct check_output o = RUN(check_shoal(), "run", m, "--device", "cpu", "--method", "tsit5",
                                "--sweep", "mu=1,100", "--counters", "-o", csv);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(check_read(csv), "run,mu,t,x,y,status,newton_iterations,rejected_error,"
                               "rejected_newton,rejected_nonfinite,rejected_singular\n");
    o = RUN(check_shoal(), "run", m, "--device", "cpu", "--method", "tsit5", "--sweep", "mu=1,100",
            "--counters", "-o", csv); // it is known as a result, and replaced
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(check_shoal(), "run", m, "--device", "cpu", "--method", "tsit5", "--counters", "--save",
            "n=3", "-o", csv);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(check_read(check_path("o.runs.csv")),
              "run,status,steps,rejected,f_evals,newton_iterations,rejected_error,");
    o = RUN(check_shoal(), "run", m, "--device", "cpu", "--method", "tsit5", "--sweep", "mu=1,100",
            "-o", check_path("p.csv"));
    CHECK(!strstr(check_read(check_path("p.csv")), "newton"));
}
