// SPDX-License-Identifier: MIT
// The step contract: somebody who watches stops steps at times known in advance, ends them where
// something happens inside, changes states of single lanes there, and takes what counts.
//
// The watchers of watchers.h are compiled into kernels. What comes out has closed forms, and every
// way to run it gives the same bits: one lane and many, refill and none, a row alone, a device.
#include "check.h"
#include "device_test.h"
#include "rig.h"
#include "watchers.h"

static const char model[] = "par k=1, d1=0.3, d2=0.7, amount=0.5; init x=1, y=1, v=0, w=0;"
                            "x'=-k*x; y'=v; v'=-10; w'=0";
enum { X, Y, V, SUM, ROWS = 37 };
#define RESTITUTION 0.75

// ---- Closed forms -------------------------------------------------------------------------------

static struct inputs make_inputs(double direction) {
    const char *names[RIG_NAMES] = {"k", "d1", "d2", "y(0)"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) { // as f32 has them
        double part = (double)(i * 11 % ROWS) / 64;
        in.value[0][i] = 0.25 + part * 2;
        in.value[1][i] = direction * (0.125 + part);
        in.value[2][i] = direction * (0.75 + (double)(i * 5 % ROWS) / 64);
        in.value[3][i] = 0.5 + (double)i / 16;
    }
    return in;
}

static double dosed(const struct inputs *in, uint64_t i, double t) {
    double k = in->value[0][i];
    return exp(-k * t) + 0.5 * exp(-k * (t - in->value[1][i])) +
           0.5 * exp(-k * (t - in->value[2][i]));
}

// A ball that was let go at a height; how often it has touched the ground.
static int bounced(double height, double t, double *y, double *v) {
    double fall = sqrt(2 * height / 10), speed = 10 * fall;
    int count = 0;
    *y = height - 5 * t * t;
    *v = -10 * t;
    for (t -= fall; t > 0; t -= 2 * speed / 10) {
        speed *= RESTITUTION;
        *y = speed * t - 5 * t * t;
        *v = speed - 10 * t;
        count++;
    }
    return count;
}

// ---- The same in all ways -----------------------------------------------------------------------

static void same_all(const struct outcome *want, struct rig *rig, const struct inputs *in,
                     const char *what) {
    struct outcome got = rig_run(rig, in, NULL, 0, NULL);
    device_same(want, &got, what);
    outcome_free(&got);
}

static void same_ways(const struct outcome *want, struct rig *rig, const struct inputs *in,
                      const char *what) {
    shoal_refill other = rig->solver->plan->refill ? SHOAL_REFILL_OFF : SHOAL_REFILL_ON;
    same_all(want, rig, in, what);
    rig_turn(rig->solver, (struct rig_way){.refill = other});
    same_all(want, rig, in, what);
    rig_turn(rig->solver, (struct rig_way){.chunk = 5, .refill = other});
    same_all(want, rig, in, what);
    for (uint64_t row = 1; row < ROWS; row += 17) {
        char only[8];
        snprintf(only, sizeof only, "%u", (unsigned)row);
        struct outcome one = rig_run(rig, in, NULL, 0, only);
        outcome_same(want, row, &one, 0, what);
        outcome_free(&one);
    }
}

struct trip {
    const char *device, *options;
    const struct watcher *watcher;
    double direction, tolerance;
};

// Runs on one lane, and on the device in all ways.
static struct outcome run_trip(const struct trip *p, const struct inputs *in) {
    char words[256];
    if (!rig_has_target("scalar"))
        check_skip("no target `scalar` here");
    snprintf(words, sizeof words, "%s t1=%g device=cpu", p->options, p->direction * 2);
    struct rig reference = rig_new_watched("scalar", model, words, p->watcher);
    struct outcome want = rig_run(&reference, in, NULL, 0, NULL);
    snprintf(words, sizeof words, "%s t1=%g device=%s", p->options, p->direction * 2, p->device);
    struct rig rig = rig_new_watched(NULL, model, words, p->watcher);
    same_ways(&want, &rig, in, words);
    rig_free(&rig);
    rig_free(&reference);
    CHECK_INT(want.tally.by_status[SHOAL_STATUS_ok], ROWS);
    return want;
}

static void check_all(const char *device, const char *options, double direction, double tolerance) {
    struct trip p = {device, options, watch_all, direction, tolerance};
    struct inputs in = make_inputs(direction);
    struct outcome o = run_trip(&p, &in);
    for (uint64_t i = 0; i < ROWS; i++) {
        double y, v, t = 2 * direction, x = dosed(&in, i, t);
        bounced(in.value[3][i], 2, &y, &v);
        CHECK_NEAR(outcome_value(&o, X, i, 0), x, tolerance * fabs(x));
        CHECK_NEAR(outcome_value(&o, Y, i, 0), y, tolerance * 100);
        CHECK_NEAR(outcome_value(&o, V, i, 0), v * direction, tolerance * 300);
        CHECK_NEAR(outcome_value(&o, SUM, i, 0), o.steps[i], 0); // once for each step that counts
        CHECK_NEAR(o.t[i], t, 0);
    }
    outcome_free(&o);
    inputs_free(&in);
}

DEVICE_TEST(watch_explicit) { check_all(device, "method=tsit5 rtol=1e-8", 1, 1e-6); }
LONG_DEVICE_TEST(watch_extra_stages) { check_all(device, "method=vern7 rtol=1e-8", 1, 1e-6); }
LONG_DEVICE_TEST(watch_centred) { check_all(device, "method=vern9 rtol=1e-8", 1, 1e-6); }
LONG_DEVICE_TEST(watch_f32) { check_all(device, "method=tsit5 precision=f32", 1, 1e-4); }
LONG_DEVICE_TEST(watch_backwards) { check_all(device, "method=dopri5 rtol=1e-8", -1, 1e-6); }
LONG_DEVICE_TEST(watch_rosenbrock) { check_all(device, "method=rodas5p rtol=1e-8", 1, 1e-6); }
LONG_DEVICE_TEST(watch_dirk) { check_all(device, "method=kvaerno5 rtol=1e-8", 1, 1e-6); }
LONG_DEVICE_TEST(watch_collocation) { check_all(device, "method=radau5 rtol=1e-8", -1, 1e-6); }
LONG_DEVICE_TEST(watch_collocation_f32) {
    check_all(device, "method=radau5 precision=f32", 1, 1e-4);
}
DEVICE_TEST(watch_fixed) { check_all(device, "method=rk4 dt=0.013", 1, 1e-6); }
LONG_DEVICE_TEST(watch_fixed_f32) {
    check_all(device, "method=rk4 dt=0.013 precision=f32", -1, 1e-4);
}
LONG_DEVICE_TEST(watch_fixed_dirk) {
    check_all(device, "method=kvaerno5 controller=fixed dt=0.05", 1, 1e-6);
}
// Where another method may take over, its kernel has the watchers too.
DEVICE_TEST(watch_auto) { check_all(device, "method=auto rtol=1e-8", 1, 1e-6); }

// ---- Stops alone --------------------------------------------------------------------------------

static int bounces(const struct inputs *in, uint64_t i) {
    double y, v;
    return bounced(in->value[3][i], 2, &y, &v);
}

// A stop is no rejection, and the two pieces of a fixed step that it splits are two steps. None of
// these times is one of the grid's.
LONG_DEVICE_TEST(watch_pieces_of_fixed_steps) {
    static const struct watcher *const who[] = {watch_dose, watch_all};
    struct inputs in = make_inputs(1);
    for (int w = 0; w < 2; w++) {
        struct trip p = {device, "method=rk4 dt=0.00113", who[w], 1, 0};
        struct outcome o = run_trip(&p, &in);
        for (uint64_t i = 0; i < ROWS; i++) {
            double x = dosed(&in, i, 2);
            CHECK_INT(o.steps[i], 1770 + 2 + (w ? bounces(&in, i) : 0));
            CHECK_INT(o.rejected[i], 0);
            CHECK_NEAR(outcome_value(&o, X, i, 0), x, 1e-9 * x);
        }
        outcome_free(&o);
    }
    inputs_free(&in);
}

// A stop at a point of the grid splits nothing.
TEST(watch_stops_on_the_grid) {
    struct inputs in = make_inputs(1);
    struct trip p = {"cpu", "method=rk4 dt=0.015625", watch_dose, 1, 0};
    struct outcome o = run_trip(&p, &in);
    for (uint64_t i = 0; i < ROWS; i++) {
        double x = dosed(&in, i, 2);
        CHECK_INT(o.steps[i], 128);
        CHECK_NEAR(outcome_value(&o, X, i, 0), x, 1e-6 * x);
    }
    outcome_free(&o);
    inputs_free(&in);
}

// Two stops next to each other: the short step between them says nothing of the one that follows,
// which is as long as if nobody had stopped anything.
static void check_pause(const char *device, const char *options) {
    char words[128];
    struct inputs in = make_inputs(1);
    for (uint64_t i = 0; i < ROWS; i++)
        in.value[2][i] = in.value[1][i] + 0x1p-20;
    struct trip p = {device, options, watch_pause, 1, 0};
    struct outcome o = run_trip(&p, &in);
    snprintf(words, sizeof words, "%s t1=2", options);
    struct rig rig = rig_new(NULL, model, words);
    struct outcome plain = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < ROWS; i++) {
        double x = exp(-in.value[0][i] * 2);
        CHECK_MSG(o.steps[i] <= plain.steps[i] + 3, "%u steps, not %u", o.steps[i], plain.steps[i]);
        CHECK_MSG(o.rejected[i] <= plain.rejected[i], "%u rejected", o.rejected[i]);
        CHECK_NEAR(outcome_value(&o, X, i, 0), x, 1e-4 * x);
    }
    outcome_free(&o);
    outcome_free(&plain);
    rig_free(&rig);
    inputs_free(&in);
}

LONG_DEVICE_TEST(watch_history_is_kept) { check_pause(device, "method=tsit5 controller=pid"); }
LONG_DEVICE_TEST(watch_history_is_kept_implicit) {
    check_pause(device, "method=kvaerno5 controller=gustafsson");
}

// ---- With saving --------------------------------------------------------------------------------

// Samples are those of the solution before somebody acts at their time, and do not change steps.
static void check_samples(const char *device, const char *options, double tolerance) {
    char series[128];
    struct inputs in = make_inputs(1);
    for (uint64_t i = 0; i < ROWS; i++)
        in.value[1][i] = 0.25 + (double)(i % 2) / 64; // one of the samples, or none
    struct trip p = {device, options, watch_all, 1, tolerance};
    snprintf(series, sizeof series, "%s save=n=9", options);
    struct trip q = {device, series, watch_all, 1, tolerance};
    struct outcome end = run_trip(&p, &in), o = run_trip(&q, &in);
    for (uint64_t i = 0; i < ROWS; i++) {
        double k = in.value[0][i];
        outcome_same_end(&end, i, &o, i, options);
        for (uint64_t n = 0; n < 9; n++) {
            double t = (double)n / 4, x = exp(-k * t), y, v;
            for (int d = 1; d <= 2; d++)
                x += t > in.value[d][i] ? 0.5 * exp(-k * (t - in.value[d][i])) : 0;
            bounced(in.value[3][i], t, &y, &v);
            CHECK_NEAR(outcome_value(&o, X, i, n), x, tolerance * x);
            CHECK_NEAR(outcome_value(&o, Y, i, n), y, tolerance * 100);
        }
    }
    outcome_free(&end);
    outcome_free(&o);
    inputs_free(&in);
}

LONG_DEVICE_TEST(watch_samples) {
    check_samples(device, "method=tsit5 rtol=1e-8 vars=x,y,v", 1e-6);
}
LONG_DEVICE_TEST(watch_samples_fixed) {
    check_samples(device, "method=rk4 dt=0.013 vars=x,y,v", 1e-6);
}

// Saved steps have both sides of what somebody changed.
TEST(watch_saved_steps) {
    static const char *const options[] = {"method=tsit5 t1=2 save=steps d1=0.5 d2=1",
                                          "method=rk4 dt=0.3 t1=2 save=steps d1=0.5 d2=1"};
    for (int k = 0; k < 2; k++) {
        char words[96];
        snprintf(words, sizeof words, "%.*s", (int)(strstr(options[k], " d1") - options[k]),
                 options[k]);
        struct rig rig = rig_new_watched(NULL, model, words, watch_dose);
        shoal_batch *batch = NULL;
        rig_need(&rig, shoal_batch_new(rig.model, &batch, rig.log), "batch");
        rig_need(&rig, shoal_batch_sweep(batch, "d1=0.5,0.25", rig.log), "sweep");
        const char *path = check_path(k ? "fixed.csv" : "adaptive.csv");
        rig_need(&rig, shoal_solver_run_file(rig.solver, batch, path, NULL, rig.log), "run");
        char *text = check_read(path), *rest = NULL;
        double t_last = -1, x_last = 0;
        int jumps = 0;
        REQUIRE(text);
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            double t, x;
            if (sscanf(line, "%*d,%lf,%lf", &t, &x) != 2)
                continue;
            if (t == t_last) {
                CHECK_NEAR(x, x_last + 0.5, 1e-15);
                CHECK(t == 0.5 || t == 0.25 || t == 0.7);
                jumps++;
            }
            t_last = t;
            x_last = x;
        }
        CHECK_INT(jumps, 4);
        shoal_batch_free(batch);
        free(text);
        rig_free(&rig);
    }
}

// The interpolant serves those who take, without a grid and without limits.
static void check_integral(const char *device, const char *options) {
    struct inputs in = make_inputs(1);
    struct trip p = {device, options, watch_integral, 1, 0};
    struct outcome o = run_trip(&p, &in);
    for (uint64_t i = 0; i < ROWS; i++) {
        double k = in.value[0][i], integral = (1 - exp(-2 * k)) / k;
        CHECK_NEAR(outcome_value(&o, SUM, i, 0), integral, 1e-6);
    }
    outcome_free(&o);
    inputs_free(&in);
}

LONG_DEVICE_TEST(watch_inside) { check_integral(device, "method=tsit5 rtol=1e-8"); }
LONG_DEVICE_TEST(watch_inside_hermite) { check_integral(device, "method=rk4 dt=0.013"); }

// ---- Other kinds of kernels ---------------------------------------------------------------------

// Algebraic states follow what was changed; where they cannot, the row ends.
static void check_algebraic(const char *device, const char *options) {
    static const char text[] = "par k=1, d1=0.3, d2=0.7, amount=0.5; init x=1; x'=-k*a;"
                               "alg a=1, b=1; 0=a-b; 0=b*b-x*x*b/a*(if(x<9)then(1)else(1/(a-a)))";
    const char *names[RIG_NAMES] = {"k", "d1", "d2", "amount"};
    struct inputs in = inputs_new(ROWS, names), plain = make_inputs(1);
    for (uint64_t i = 0; i < ROWS; i++) {
        for (int n = 0; n < 3; n++)
            in.value[n][i] = plain.value[n][i];
        in.value[3][i] = i % 8 == 3 ? 10 : 0.5;
    }
    char words[256];
    snprintf(words, sizeof words, "%s t1=2 device=cpu", options);
    struct rig reference = rig_new_watched("scalar", text, words, watch_dose);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    snprintf(words, sizeof words, "%s t1=2 device=%s", options, device);
    struct rig rig = rig_new_watched(NULL, text, words, watch_dose);
    same_ways(&want, &rig, &in, words);
    for (uint64_t i = 0; i < ROWS; i++) {
        double x = dosed(&plain, i, 2);
        CHECK_STR(shoal_status_word(want.status[i]), i % 8 == 3 ? "newton" : "ok");
        if (i % 8 == 3)
            CHECK_NEAR(want.t[i], in.value[1][i], 1e-14); // where the condition is seen to turn
        else
            CHECK_NEAR(outcome_value(&want, 0, i, 0), x, 1e-5 * x);
    }
    outcome_free(&want);
    rig_free(&rig);
    rig_free(&reference);
    inputs_free(&in);
    inputs_free(&plain);
}

LONG_DEVICE_TEST(watch_algebraic) { check_algebraic(device, "method=rodas5p rtol=1e-7"); }
LONG_DEVICE_TEST(watch_algebraic_fixed) {
    check_algebraic(device, "method=kvaerno5 controller=fixed dt=0.02");
}

// So many states that their arrays are in the workspace.
LONG_DEVICE_TEST(watch_large) {
    static const char text[] = "par k=1, d1=0.3, d2=0.7, amount=0.5; init x=1, y=1, v=0, w=0;"
                               "x'=-k*x; y'=v; v'=-y; w'=0; init u[1..150]=1;"
                               "u1'=u2-u1; u[2..149]'=u[j-1]-2*u[j]+u[j+1]; u150'=u149-u150";
    static const char *const options[] = {"method=tsit5 rtol=1e-7 vars=x,w",
                                          "method=rk4 dt=0.013 vars=x,w"};
    struct inputs in = make_inputs(1);
    for (int n = 0; n < 2; n++) {
        char words[256];
        snprintf(words, sizeof words, "%s t1=2 device=cpu", options[n]);
        struct rig reference = rig_new_watched("scalar", text, words, watch_dose_and_tally);
        struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
        snprintf(words, sizeof words, "%s t1=2 device=%s", options[n], device);
        struct rig rig = rig_new_watched(NULL, text, words, watch_dose_and_tally);
        same_all(&want, &rig, &in, words);
        for (uint64_t i = 0; i < ROWS; i++) {
            double x = dosed(&in, i, 2);
            CHECK_NEAR(outcome_value(&want, 0, i, 0), x, 1e-5 * x);
            CHECK_NEAR(outcome_value(&want, 1, i, 0), want.steps[i], 0);
        }
        outcome_free(&want);
        rig_free(&rig);
        rig_free(&reference);
    }
    inputs_free(&in);
}

// Nothing is in a kernel that nobody asked for; the interpolant is there without a grid.
TEST(watch_is_compiled_in_when_asked_for) {
    struct rig plain = rig_new(NULL, model, "method=tsit5 t1=1");
    struct rig stops = rig_new_watched(NULL, model, "method=tsit5 t1=1", watch_dose);
    struct rig limits = rig_new_watched(NULL, model, "method=tsit5 t1=1", watch_bounce);
    char *text[] = {rig_source(&plain), rig_source(&stops), rig_source(&limits)};
    CHECK(!strstr(text[0], "---- watchers") && !strstr(text[0], "#define WATCHED 1"));
    CHECK_HAS(text[0], "#define DENSE 0\n");
    CHECK_HAS(text[1], "---- watchers");
    CHECK_HAS(text[1], "#define DENSE 0\n");
    CHECK_HAS(text[2], "#define DENSE 1\n");
    CHECK_HAS(text[2], "#define SAVE_GRID 0\n");
    for (int i = 0; i < 3; i++)
        free(text[i]);
    rig_free(&plain);
    rig_free(&stops);
    rig_free(&limits);
}

// Where nothing is saved, rows end as they do otherwise: there are no arrays of no elements.
LONG_DEVICE_TEST(watch_no_outputs) {
    static const char *const options[] = {"method=tsit5", "method=bs32 save=n=5",
                                          "method=rk4 dt=0.013"};
    static const struct watcher *const who[] = {NULL, watch_all, watch_dose};
    struct inputs in = make_inputs(1);
    for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
        char words[128];
        struct order order;
        struct kernel_source source;
        snprintf(words, sizeof words, "%s t1=2 device=%s", options[n], device);
        struct rig rig = rig_new_watched(NULL, model, words, who[n]);
        struct outcome want = rig_run(&rig, &in, NULL, 0, NULL);
        rig_need(&rig, order_open(rig.model, &rig.options, NULL, &order, rig.log), "order");
        order.kernel[PLAN_FIRST].outputs = 0;
        rig_need(&rig,
                 codegen_kernel(&order.kernel[PLAN_FIRST], order.model->found->system, NULL, NULL,
                                &source, rig.log),
                 "codegen");
        rig_replace_kernel(&rig, source.text.data);
        struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
        for (uint64_t i = 0; i < ROWS; i++) {
            CHECK_INT(got.status[i], want.status[i]);
            CHECK_INT(got.steps[i], want.steps[i]);
            CHECK_INT(got.f_evals[i], want.f_evals[i]);
        }
        kernel_source_free(&source);
        order_close(&order);
        outcome_free(&want);
        outcome_free(&got);
        rig_free(&rig);
    }
    inputs_free(&in);
}
