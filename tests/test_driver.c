// SPDX-License-Identifier: MIT
// Drivers and tables in runs: closed forms, sides of jumps, ends, choices, and the same bits in all
// ways to run them. What is refused is refused before a run.
#include "check.h"
#include "device_test.h"
#include "rig.h"

static const char decay[] = "driver u;par k=0.5;init x=1;x'=u-k*x;aux uu=u";
enum { X, U, MOST = 64 };
#define K 0.5

struct samples {
    uint64_t count;
    double t[MOST], v[MOST];
};

static shoal_driver driven(const struct samples *s, const char *how) {
    return (shoal_driver){.name = "u", .how = how, .count = s->count, .t = s->t, .values = s->v};
}

// At equal distances or not; both have times that f32 has.
static struct samples make_samples(uint64_t count, bool even) {
    struct samples s = {.count = count};
    for (uint64_t i = 0; i < count; i++) {
        s.t[i] = even ? (double)i / 8 : i ? s.t[i - 1] + (double)(1 + i * 7 % 5) / 16 : 0;
        s.v[i] = (double)(i * 13 % 17) / 8 - 1;
    }
    return s;
}

// ---- Closed forms -------------------------------------------------------------------------------

// x' = a + b s - K x over a time h.
static double go_on(double x, double a, double b, double h) {
    double rest = a / K - b / (K * K);
    return (x - rest) * exp(-K * h) + rest + b / K * h;
}

// The solution of `decay` at t, by samples that are held or linear, from x at t0.
static double exact(const struct samples *s, bool held, double x, double t0, double t) {
    double way = t > t0 ? 1 : -1, now = t0;
    while (now != t) {
        uint64_t i = 0;
        while (i + 2 < s->count && (way > 0 ? s->t[i + 1] <= now : s->t[i + 1] < now))
            i++;
        double from = s->t[i], to = s->t[i + 1];
        bool outside = way > 0 ? now >= s->t[s->count - 1] : now <= s->t[0];
        double end = way > 0 ? (outside      ? INFINITY
                                : now < from ? from
                                             : to)
                             : (outside                    ? -INFINITY
                                : now > s->t[s->count - 1] ? s->t[s->count - 1]
                                                           : from);
        double slope = held ? 0 : (s->v[i + 1] - s->v[i]) / (to - from);
        double value = s->v[i] + slope * (now - from);
        if (outside || now < s->t[0] || now > s->t[s->count - 1]) {
            value = s->v[(now > s->t[0] || (way > 0 && now == s->t[0])) ? s->count - 1 : 0];
            slope = 0;
        }
        end = way > 0 ? fmin(end, t) : fmax(end, t);
        x = go_on(x, value, slope, end - now);
        now = end;
    }
    return x;
}

struct trip {
    const char *options;
    double t0, t1, tolerance;
};

static void check_exact(const struct samples *s, const char *how, bool held, struct trip trip) {
    shoal_driver list[] = {driven(s, how), {0}};
    char options[256];
    snprintf(options, sizeof options, "%s t0=%g t1=%g vars=x,uu save=n=9", trip.options, trip.t0,
             trip.t1);
    struct rig rig = rig_new_driven(NULL, decay, options, list);
    struct inputs in = {.rows = 1};
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_INT(o.status[0], SHOAL_STATUS_ok);
    for (uint64_t i = 0; i < o.samples; i++) {
        double t = trip.t0 + (trip.t1 - trip.t0) * (double)i / 8;
        double want = exact(s, held, 1, trip.t0, t);
        CHECK_MSG(fabs(outcome_value(&o, X, 0, i) - want) <= trip.tolerance * (1 + fabs(want)),
                  "%s, %s: x(%g) is %.12g, not %.12g", how, options, t, outcome_value(&o, X, 0, i),
                  want);
    }
    outcome_free(&o);
    rig_free(&rig);
}

TEST(driver_follows_closed_forms) {
    static const struct trip trips[] = {
        {"method=tsit5 rtol=1e-9 atol=1e-11", -1, 9, 1e-6},
        {"method=rodas5p rtol=1e-9 atol=1e-11", -1, 9, 1e-6},
        {"method=radau5 rtol=1e-9 atol=1e-11", -1, 9, 1e-6},
        {"rtol=1e-10 atol=1e-12", 9, -1, 2e-6},
        {"method=dopri5 controller=fixed dt=0.01", -1, 9, 2e-4},
        {"method=tsit5 precision=f32 rtol=1e-5", -1, 9, 2e-3},
    };
    for (int even = 0; even < 2; even++) {
        struct samples s = make_samples(40, even);
        for (size_t i = 0; i < sizeof trips / sizeof *trips; i++) {
            if (check_does(i, (size_t)even, 4))
                check_exact(&s, "linear,ends=hold", false, trips[i]);
            if (check_does(i + 2, (size_t)even, 4))
                check_exact(&s, "held,ends=hold", true, trips[i]);
        }
    }
}

// Jumps are hit: the error of a held signal is that of smooth problems between them.
TEST(driver_held_is_as_exact_as_smooth_problems) {
    struct samples s = make_samples(40, false);
    struct trip trip = {"method=tsit5 rtol=1e-10 atol=1e-12", 0, 8, 1e-9};
    check_exact(&s, "held,ends=hold", true, trip);
    trip = (struct trip){"method=dop853 rtol=1e-12 atol=1e-14", 8, 0, 1e-11};
    check_exact(&s, "held,ends=hold", true, trip);
}

// A signal that stays where it is ends no step; one that jumps ends one for each jump.
TEST(driver_held_stops_only_at_jumps) {
    struct samples s = {.count = 64};
    for (int i = 0; i < 64; i++)
        s.t[i] = i / 4.0, s.v[i] = i < 20 ? 1 : i < 40 ? 3 : 2;
    uint32_t steps[2];
    for (int jumps = 0; jumps < 2; jumps++) {
        shoal_driver list[] = {driven(&s, "held,ends=hold"), {0}};
        struct rig rig = rig_new_driven(NULL, decay, "method=tsit5 rtol=1e-3 t1=15", list);
        struct inputs in = {.rows = 1};
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        steps[jumps] = o.steps[0];
        outcome_free(&o);
        rig_free(&rig);
        for (int i = 0; i < 64; i++)
            s.v[i] = i % 2;
    }
    CHECK_MSG(steps[0] < 40, "%u steps for 2 jumps", steps[0]);
    CHECK_MSG(steps[1] >= 60, "%u steps for 60 jumps", steps[1]);
}

// A sample at a save time shows the value before the jump, but for the start.
TEST(driver_sample_at_a_save_time) {
    struct samples s = {3, {0, 1, 2}, {5, 7, 9}};
    shoal_driver list[] = {driven(&s, "held,ends=hold"), {0}};
    struct rig rig = rig_new_driven(NULL, decay, "t1=3 save=at=0,0.5,1,1.5,2,3 vars=x,uu", list);
    struct inputs in = {.rows = 1};
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    static const double want[] = {5, 5, 5, 7, 7, 9};
    for (uint64_t i = 0; i < 6; i++)
        CHECK_NEAR(outcome_value(&o, U, 0, i), want[i], 0);
    outcome_free(&o);
    rig_free(&rig);
}

// A row that ends where the signal jumps ends with the value before.
TEST(driver_jump_at_the_end) {
    struct samples s = {3, {0, 1, 2}, {5, 7, 9}};
    for (int back = 0; back < 2; back++) {
        shoal_driver list[] = {driven(&s, "held,ends=hold"), {0}};
        struct rig rig =
            rig_new_driven(NULL, decay, back ? "t0=2 t1=1 vars=x,uu" : "t0=0 t1=1 vars=x,uu", list);
        struct inputs in = {.rows = 1};
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        CHECK_NEAR(outcome_value(&o, U, 0, 0), back ? 7 : 5, 0);
        CHECK_NEAR(outcome_value(&o, X, 0, 0), back ? go_on(1, 7, 0, -1) : go_on(1, 5, 0, 1), 1e-5);
        outcome_free(&o);
        rig_free(&rig);
    }
}

// A short pulse that the stages of a step of 32 samples would not see.
TEST(driver_pulse_is_not_passed_over) {
    enum { COUNT = 4001 };
    static const char *const kinds[] = {"linear", "cubic", "monotone"};
    double t[COUNT], v[COUNT];
    for (int at = 500; at < 532; at += 5)
        for (int even = 0; even < 2; even++)
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                for (int i = 0; i < COUNT; i++) {
                    t[i] = i * 0.01 + (even ? 0 : 0.001 * (i % 3));
                    v[i] = i > at && i < at + 6;
                }
                shoal_driver list[] = {{"u", kinds[k], COUNT, t, v, NULL, NULL}, {0}};
                struct rig rig = rig_new_driven(NULL, "driver u;x'=u", "t1=40 rtol=1e-6", list);
                struct inputs in = {.rows = 1};
                struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
                CHECK_MSG(fabs(outcome_value(&o, X, 0, 0) - 0.05) < 2e-3,
                          "%s pulse at %d: the integral is %g", kinds[k], at,
                          outcome_value(&o, X, 0, 0));
                CHECK_MSG(o.steps[0] < 200, "%u steps", o.steps[0]);
                outcome_free(&o);
                rig_free(&rig);
            }
}

// ---- Conditions ---------------------------------------------------------------------------------

enum { PERIODS = 20, PERIOD = 60 };

// A sine, even or not.
static void make_sine(bool even, double *t, double *v) {
    for (int i = 0; i <= PERIODS * PERIOD; i++) {
        t[i] = 2 * acos(-1.0) / PERIOD * (i + (even || i % PERIOD == 0 ? 0 : 0.3 * sin(i)));
        v[i] = i % PERIOD ? sin(t[i]) : 0;
    }
}

// A right-hand side that is constant between turns of a condition has steps of any length.
TEST(driver_condition_is_not_passed_over) {
    static const char *const kinds[] = {"cubic", "linear", "monotone,ends=hold", "cubic,ends=zero"};
    static const char *const ways[] = {"method=tsit5", "method=rodas5p rtol=1e-9",
                                       "method=tsit5 precision=f32", "method=rk4 dt=0.5"};
    static const double levels[] = {0.9, 0.99, 0.994};
    double t[PERIODS * PERIOD + 1], v[PERIODS * PERIOD + 1], end = 2 * acos(-1.0) * PERIODS;
    for (int even = 0; even < 2; even++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                bool back = (k + w) % 2;
                double level = levels[(k + w) % 3];
                if (!check_does(k, w + (size_t)even, 3) || (w == 3 && !even))
                    continue;
                make_sine(even, t, v);
                shoal_driver list[] = {{"u", kinds[k], PERIODS * PERIOD + 1, t, v, NULL, NULL},
                                       {0}};
                char text[80], options[80];
                snprintf(text, sizeof text, "driver u;z'=heav(u-%g)", level);
                snprintf(options, sizeof options, "%s t0=%.17g t1=%.17g", ways[w],
                         back ? end - 0.01 : 0, back ? 0 : end - 0.01);
                struct rig rig = rig_new_driven(NULL, text, options, list);
                struct inputs in = {.rows = 1};
                struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
                double is = fabs(outcome_value(&o, X, 0, 0));
                double want = PERIODS * 2 * acos(level);
                CHECK_MSG(fabs(is - want) < (k % 2 || k == 2 ? 0.15 : 0.01) * want,
                          "%s above %g, even %d, %s: for %g, not %g", kinds[k], level, even,
                          options, is, want);
                outcome_free(&o);
                rig_free(&rig);
            }
}

// Between samples a cubic goes higher than any of them.
TEST(driver_event_on_a_driver) {
    double t[PERIODS * PERIOD + 1], v[PERIODS * PERIOD + 1];
    for (int even = 0; even < 2; even++) {
        make_sine(even, t, v);
        shoal_driver list[] = {{"u", "cubic", PERIODS * PERIOD + 1, t, v, NULL, NULL}, {0}};
        struct rig rig = rig_new_driven(
            NULL, "driver u;init n=0;n'=0;event hit when u>0.99999 : n=n+1", "t1=125.66", list);
        struct inputs in = {.rows = 1};
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        CHECK_NEAR(outcome_value(&o, X, 0, 0), PERIODS, even ? 0 : 1);
        outcome_free(&o);
        rig_free(&rig);
    }
}

// What nobody looks at is not cut, and what is looked at only where it turns.
TEST(driver_condition_costs_little) {
    enum { COUNT = 32001 };
    double *t = malloc(COUNT * sizeof *t), *v = malloc(COUNT * sizeof *v);
    for (int i = 0; i < COUNT; i++)
        t[i] = acos(-1.0) / 800 * i, v[i] = sin(t[i]);
    shoal_driver list[] = {{"u", "cubic", COUNT, t, v, NULL, NULL}, {0}};
    struct rig rig =
        rig_new_driven(NULL, "driver u;z'=heav(u-0.9999)", "t1=125.66 rtol=1e-6", list);
    struct inputs in = {.rows = 1};
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_NEAR(outcome_value(&o, X, 0, 0), 2 * PERIODS * acos(0.9999), 1e-6);
    CHECK_MSG(o.steps[0] < 1500, "%u steps", o.steps[0]);
    outcome_free(&o);
    rig_free(&rig);
    free(t);
    free(v);
}

// A cubic signal of noise is another polynomial in each interval, of which error estimates do not
// see all: it is followed from sample to sample. Simpson's rule, which rk4 is here, is exact then.
TEST(driver_cubic_of_noise) {
    enum { COUNT = 1001 };
    static const char *const kinds[] = {"cubic", "monotone"};
    double t[COUNT], v[COUNT];
    uint64_t random = 7;
    for (int i = 0; i < COUNT; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        t[i] = i / 50.0;
        v[i] = (double)(random >> 11) * 0x1p-53 - 0.5;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double x[2];
        for (int i = 0; i < 2; i++) {
            shoal_driver list[] = {{"u", kinds[k], COUNT, t, v, NULL, NULL}, {0}};
            struct rig rig = rig_new_driven(
                NULL, "driver u;x'=u",
                i ? "method=rk4 dt=0.02 t1=20" : "method=tsit5 t1=20 rtol=1e-6 atol=1e-6", list);
            struct inputs in = {.rows = 1};
            struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
            x[i] = outcome_value(&o, X, 0, 0);
            outcome_free(&o);
            rig_free(&rig);
        }
        CHECK_MSG(fabs(x[0] - x[1]) < 1e-5, "%s: off by %g", kinds[k], x[0] - x[1]);
    }
}

// A signal that bends at each sample: error estimates of high order are blind to some of that, and
// x' = u was off by up to a tenth of its size.
TEST(driver_bends_are_step_ends) {
    for (uint64_t shift = 0; shift < 12; shift++) {
        struct samples s = make_samples(42, shift % 2);
        double sum = 0;
        for (uint64_t i = 0; i < s.count; i++)
            s.v[i] = (double)((i + shift) * (i + 5 * shift) * 7 % 31) / 15 - 1;
        for (uint64_t i = 1; i < s.count; i++)
            sum += (s.t[i] - s.t[i - 1]) * (s.v[i] + s.v[i - 1]) / 2;
        shoal_driver list[] = {driven(&s, "linear"), {0}};
        char options[64];
        snprintf(options, sizeof options, "t1=%.17g method=dop853 rtol=1e-6", s.t[s.count - 1]);
        struct rig rig = rig_new_driven(NULL, "driver u;x'=u", options, list);
        struct inputs in = {.rows = 1};
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        CHECK_NEAR(outcome_value(&o, X, 0, 0), sum, 1e-5 * (1 + fabs(sum)));
        CHECK_MSG(o.steps[0] < 60, "%u steps", o.steps[0]);
        outcome_free(&o);
        rig_free(&rig);
    }
}

// Bends of less than a thousandth of the range matter as soon as the tolerance is below them: x' =
// u
// - k x was off by up to 3,600 tolerances. The reference goes from sample to sample.
TEST(driver_small_bends_are_step_ends) {
    enum { COUNT = 2001 };
    double t[COUNT], v[COUNT];
    uint64_t random = 7;
    for (int noise = 3; noise < 8; noise++)
        for (int even = 0; even < 2; even++) {
            for (int i = 0; i < COUNT; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                t[i] = i / 20.0 + (even || !i ? 0 : 0.01 * (double)(random >> 11) * 0x1p-53);
                v[i] = sin(t[i] / 5) + pow(10, -noise) * ((double)(random >> 11) * 0x1p-52 - 1);
            }
            double want = 0;
            for (int i = 1; i < COUNT; i++) {
                double h = t[i] - t[i - 1], b = (v[i] - v[i - 1]) / h / 0.1;
                double a = (v[i - 1] - b) / 0.1;
                want = a + b * h + (want - a) * exp(-0.1 * h);
            }
            for (int digits = 6; digits < 10; digits += 3)
                for (int k = 0; k < 2; k++) {
                    shoal_driver list[] = {{"u", "linear", COUNT, t, v, NULL, NULL}, {0}};
                    char options[128];
                    snprintf(options, sizeof options, "t1=%.17g method=%s rtol=1e-%d atol=1e-%d",
                             t[COUNT - 1], k ? "vern7" : "tsit5", digits, digits);
                    struct rig rig =
                        rig_new_driven(NULL, "driver u;x'=u-x/10;init x=0", options, list);
                    struct inputs in = {.rows = 1};
                    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
                    CHECK_NEAR(outcome_value(&o, X, 0, 0), want, 3 * pow(10, -digits));
                    outcome_free(&o);
                    rig_free(&rig);
                }
        }
}

// A dense signal whose bends are below the tolerance costs no more than a smooth one.
TEST(driver_tiny_bends_cost_nothing) {
    enum { COUNT = 10001 };
    static double t[COUNT], v[COUNT];
    for (int i = 0; i < COUNT; i++) {
        t[i] = i / 100.0;
        v[i] = sin(t[i] / 5) + 1e-7 * (i * 7 % 5);
    }
    shoal_driver list[] = {{"u", "linear", COUNT, t, v, NULL, NULL}, {0}};
    struct rig rig = rig_new_driven(NULL, "driver u;x'=u-x;init x=0",
                                    "t1=100 method=tsit5 rtol=1e-6 atol=1e-6", list);
    struct inputs in = {.rows = 1};
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_MSG(o.steps[0] < 400, "%u steps", o.steps[0]);
    outcome_free(&o);
    rig_free(&rig);
}

// x' = u of a cubic that is a polynomial: the integral has a closed form.
TEST(driver_cubic_repeats_polynomials) {
    for (int even = 0; even < 2; even++) {
        struct samples s = make_samples(50, even);
        for (uint64_t i = 0; i < s.count; i++)
            s.v[i] = s.t[i] * s.t[i] * s.t[i] - 2 * s.t[i];
        double t1 = s.t[s.count - 1];
        char options[128];
        snprintf(options, sizeof options, "rtol=1e-10 method=dop853 t1=%.17g vars=x,uu", t1);
        shoal_driver list[] = {driven(&s, "cubic"), {0}};
        struct rig rig = rig_new_driven(NULL, "driver u;x'=u;aux uu=u", options, list);
        struct inputs in = {.rows = 1};
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        double want = t1 * t1 * t1 * t1 / 4 - t1 * t1;
        CHECK_NEAR(outcome_value(&o, X, 0, 0), want, 1e-9 * fabs(want));
        CHECK_NEAR(outcome_value(&o, U, 0, 0), s.v[s.count - 1], 1e-12 * fabs(s.v[s.count - 1]));
        outcome_free(&o);
        rig_free(&rig);
    }
}

// ---- Ends ---------------------------------------------------------------------------------------

static double end_value(const struct samples *s, const char *how, const char *options) {
    shoal_driver list[] = {driven(s, how), {0}};
    struct rig rig = rig_new_driven(NULL, "driver u;x'=u;init x=0", options, list);
    struct inputs in = {.rows = 1};
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_INT(o.status[0], SHOAL_STATUS_ok);
    double value = outcome_value(&o, 0, 0, 0);
    outcome_free(&o);
    rig_free(&rig);
    return value;
}

// The integral from -3 to 9 of a tent from 0 to 4 and back, whose own is 8.
LONG_TEST(driver_ends) {
    static const struct {
        const char *ends;
        double linear, held;
    } cases[] = {
        {"hold", 3 * 1 + 12 + 5 * 1, 3 * 1 + 12 + 5 * 1}, {"zero", 12, 12}, {"periodic", 36, 36}};
    struct samples even = {5, {0, 1, 2, 3, 4}, {1, 3, 5, 3, 1}},
                   uneven = {5, {0, 0.5, 2, 3, 4}, {1, 2, 5, 3, 1}};
    for (size_t i = 0; i < 3; i++) {
        char how[64];
        snprintf(how, sizeof how, "linear,ends=%s", cases[i].ends);
        static const char *const ways[] = {"t0=-3 t1=9 rtol=1e-9", "t0=9 t1=-3 rtol=1e-9",
                                           "t0=-3 t1=9 method=rodas5p rtol=1e-8",
                                           "t0=-3 t1=9 precision=f32 rtol=1e-6"};
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            double sign = k == 1 ? -1 : 1, room = k == 3 ? 2e-3 : 1e-5;
            if (check_does(k, i, 4))
                CHECK_NEAR(end_value(&even, how, ways[k]), sign * cases[i].linear, room);
            if (check_does(k + 1, i, 4))
                CHECK_NEAR(end_value(&uneven, how, ways[k]), sign * cases[i].linear, room);
        }
        snprintf(how, sizeof how, "held,ends=%s", cases[i].ends);
        CHECK_NEAR(end_value(&even, how, "t0=-3 t1=9"), cases[i].held, 1e-9);
        CHECK_NEAR(end_value(&even, how, "t0=9 t1=-3"), -cases[i].held, 1e-9);
    }
    CHECK_NEAR(end_value(&even, "linear", "t0=0 t1=4 rtol=1e-9"), 12, 1e-5); // exactly to them
}

// Far from its samples a periodic signal still jumps where it should.
TEST(driver_periodic_far_away) {
    struct samples s = {3, {0, 1, 2.5}, {1, -2, 1}};
    // of each period of 2.5 the integral is 1 - 3 = -2
    CHECK_NEAR(end_value(&s, "held,ends=periodic", "t0=1000 t1=1100 rtol=1e-9"), -80, 1e-7);
    CHECK_NEAR(end_value(&s, "held,ends=periodic", "t0=-1000 t1=-1100 rtol=1e-9"), 80, 1e-7);
    CHECK_NEAR(end_value(&s, "held,ends=periodic", "t0=1000 t1=1100 precision=f32"), -80, 1e-2);
}

TEST(driver_of_one_and_two_samples) {
    struct samples one = {1, {0.5}, {3}}, two = {2, {0, 2}, {1, 3}};
    static const char *const kinds[] = {"held", "linear", "cubic", "natural", "monotone"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char how[64];
        snprintf(how, sizeof how, "%s,ends=hold", kinds[i]);
        CHECK_NEAR(end_value(&one, how, "t1=2"), 6, 1e-9);
        CHECK_NEAR(end_value(&two, how, "t1=2"), i ? 4 : 2, 1e-9);
    }
}

// ---- The same bits ------------------------------------------------------------------------------

enum { ROWS = 37 };

static struct inputs make_inputs(void) {
    const char *names[RIG_NAMES] = {"k", "x(0)"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = 0.25 + (double)(i * 11 % ROWS) / 64;
        in.value[1][i] = (double)i / 16;
    }
    return in;
}

static void same_on(const char *device, const char *how, bool even, const char *options) {
    struct samples s = make_samples(60, even);
    shoal_driver list[] = {driven(&s, how), {0}};
    char own[256], reference[256];
    s.v[s.count - 1] = s.v[0];
    snprintf(own, sizeof own, "%s vars=x,uu device=%s", options, device);
    snprintf(reference, sizeof reference, "%s vars=x,uu device=cpu", options);
    struct rig want_rig = rig_new_driven("scalar", decay, reference, list);
    struct rig rig = rig_new_driven(NULL, decay, own, list);
    struct inputs in = make_inputs();
    struct outcome want = rig_run(&want_rig, &in, NULL, 0, NULL),
                   got = rig_run(&rig, &in, NULL, 0, NULL);
    device_same(&want, &got, own);
    outcome_free(&got);
    rig_turn(rig.solver, (struct rig_way){.chunk = 5, .refill = SHOAL_REFILL_OFF});
    got = rig_run(&rig, &in, NULL, 0, NULL);
    device_same(&want, &got, own);
    outcome_free(&got);
    struct outcome alone = rig_run(&rig, &in, NULL, 0, "17");
    outcome_same(&want, 17, &alone, 0, own);
    outcome_free(&alone);
    outcome_free(&want);
    inputs_free(&in);
    rig_free(&rig);
    rig_free(&want_rig);
}

DEVICE_TEST(driver_bits) {
    static const char *const hows[] = {"linear,ends=hold", "cubic,ends=periodic", "held,ends=zero",
                                       "monotone,ends=zero"};
    for (size_t i = 0; i < 4; i++) {
        if (check_does(i, 0, 4))
            same_on(device, hows[i], i / 2, "t0=-0.5 t1=11 save=n=7");
        if (check_does(i, 2, 4))
            same_on(device, hows[i], !(i / 2), "t0=11 t1=-0.5 precision=f32");
    }
    if (check_does(0, 1, 2)) {
        same_on(device, "cubic,ends=hold", true, "t1=9 method=rodas5p precision=f32");
        same_on(device, "held,ends=hold", true, "t1=9 method=trbdf2");
        same_on(device, "linear,ends=hold", false, "t1=9 method=rk4 dt=0.125 save=n=5");
    }
}

// ---- One signal for each run --------------------------------------------------------------------

// Signals of three ids in one list, in any order; runs take them by the column.
static void check_choice(const char *device, const char *options) {
    enum { IDS = 3, EACH = 9 };
    double t[IDS * EACH], v[IDS * EACH], id[IDS * EACH];
    struct samples own[IDS];
    for (int i = 0; i < IDS * EACH; i++) {
        int k = i % IDS, n = i / IDS;
        t[i] = n * (k == 1 ? 1 : 1.25);
        v[i] = k * 10 + n % 4;
        id[i] = 100 - k;
        own[k].count = EACH;
        own[k].t[n] = t[i];
        own[k].v[n] = v[i];
    }
    check_write(check_path("rows.csv"), "_ID,x(0)\n98,1\n100,2\n99,3\n98,4\n100,5\n");
    shoal_log *log = shoal_log_new();
    shoal_model *model;
    shoal_options o;
    shoal_batch *batch;
    shoal_solver *solver;
    shoal_result *result;
    const char text[] = "driver u\npar k=0.5\ninit x=1\nx'=u-k*x\n";
    shoal_driver d = {"u", "held,by=_ID", IDS * EACH, t, v, id, NULL};
    REQUIRE(shoal_model_parse("m", text, strlen(text), &model, log) == SHOAL_OK);
    REQUIRE(shoal_model_driver(model, &d, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&o, model, log) == SHOAL_OK);
    REQUIRE(shoal_options_set(&o, "device", device, log) == SHOAL_OK);
    REQUIRE(shoal_options_set(&o, "method", options, log) == SHOAL_OK);
    o.t1 = 8;
    o.rtol = 1e-9;
    o.chunk = 2;
    REQUIRE(shoal_batch_new(model, &batch, log) == SHOAL_OK);
    REQUIRE(shoal_batch_file(batch, check_path("rows.csv"), log) == SHOAL_OK);
    shoal_code code = shoal_solver_new(model, &o, &solver, log);
    REQUIRE(code == SHOAL_OK);
    code = shoal_solver_run(solver, batch, &result, log);
    char *messages = rig_messages(log);
    CHECK_MSG(code == SHOAL_OK, "%s", messages);
    REQUIRE(code == SHOAL_OK);
    static const int whose[] = {2, 0, 1, 2, 0};
    for (uint64_t i = 0; i < 5; i++)
        CHECK_NEAR(shoal_result_value(result, 0, i, 0),
                   exact(&own[whose[i]], true, (double)i + 1, 0, 8), 1e-6);
    free(messages);
    shoal_result_free(result);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
}

DEVICE_TEST(driver_choice) {
    check_choice(device, "tsit5");
    check_choice(device, "rodas5p");
}

// ---- What is compiled in ------------------------------------------------------------------------

TEST(driver_samples_are_no_part_of_the_key) {
    struct samples a = make_samples(20, true), b = make_samples(33, true);
    shoal_driver first[] = {driven(&a, "cubic"), {0}}, second[] = {driven(&b, "natural"), {0}},
                 third[] = {driven(&a, "linear"), {0}};
    b.v[3] = 7;
    struct rig x = rig_new_driven(NULL, decay, "t1=1", first),
               y = rig_new_driven(NULL, decay, "t1=2", second),
               z = rig_new_driven(NULL, decay, "t1=1", third);
    CHECK_STR(shoal_solver_key(x.solver), shoal_solver_key(y.solver));
    CHECK(strcmp(shoal_solver_key(x.solver), shoal_solver_key(z.solver)));
    rig_free(&x);
    rig_free(&y);
    rig_free(&z);
}

// ---- What is refused ----------------------------------------------------------------------------

static void refuses_with(const char *text, const shoal_driver *d, const char *options,
                         const char *part) {
    shoal_log *log = shoal_log_new();
    shoal_model *model = NULL;
    shoal_options o;
    shoal_solver *solver = NULL;
    REQUIRE(shoal_model_parse("m", text, strlen(text), &model, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&o, model, log) == SHOAL_OK);
    char *words = strdup(options), *rest = NULL;
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        *strchr(w, '=') = 0;
        REQUIRE(shoal_options_set(&o, w, w + strlen(w) + 1, log) == SHOAL_OK);
    }
    shoal_code code = d ? shoal_model_driver(model, d, log) : SHOAL_OK;
    if (code == SHOAL_OK)
        code = shoal_solver_new_plan(model, &o, &solver, log);
    char *messages = rig_messages(log);
    CHECK_MSG(code == SHOAL_INPUT, "%s is not refused", part);
    CHECK_HAS(messages, part);
    free(messages);
    free(words);
    shoal_solver_free(solver);
    shoal_model_free(model);
    shoal_log_free(log);
}

static void refuses(struct samples s, const char *how, const char *options, const char *part) {
    shoal_driver d = driven(&s, how);
    refuses_with("driver u\nx'=u\n", &d, options, part);
}

TEST(driver_refuses) {
    struct samples good = {3, {0, 1, 2}, {1, 2, 4}};
    refuses_with("driver u\nx'=u\n", NULL, "t1=1",
                 "the driver `u` has no samples; --driver u=FILE");
    refuses((struct samples){3, {0, 1, 1}, {1, 2, 3}}, NULL, "t1=1",
            "sample 2 (counted from 0): its time is that of the sample before it");
    refuses((struct samples){3, {0, 2, 1}, {1, 2, 3}}, NULL, "t1=1", "is before that of");
    refuses((struct samples){3, {0, 1, 2}, {1, 2, 1}}, "linear,ends=periodic",
            "t0=2e7 t1=20000001 precision=f32", "f32 counts 8388608: let t begin near them, or");
    refuses((struct samples){3, {0, 1, 2}, {1, 2, 1}}, "linear,ends=periodic", "t0=-1e16 t1=0",
            "f64 counts 4503599627370496: let t begin near them");
    refuses((struct samples){2, {0, NAN}, {1, 2}}, NULL, "t1=1", "the time is not a finite number");
    refuses((struct samples){2, {0, 1}, {1, NAN}}, NULL, "t1=1", "the value is not a finite");
    refuses((struct samples){2, {0, 1}, {1, INFINITY}}, NULL, "t1=1", "the value is not a finite");
    refuses((struct samples){0}, NULL, "t1=1", "has no samples");
    refuses(good, NULL, "t1=2.5", "go from 0 to 2, and a run from 0 to 2.5");
    refuses((struct samples){1, {1}, {3}}, NULL, "t1=2", "go from 1 to 1, and a run from 0 to 2");
    refuses(good, NULL, "t0=-1 t1=1", "and a run from -1 to 1");
    refuses(good, NULL, "t0=2 t1=-1", "and a run from 2 to -1");
    refuses(good, "linear,ends=periodic", "t1=1", "its last sample must be the first again");
    refuses(good, "periodic", "t1=1", "its last sample must be the first again");
    refuses((struct samples){1, {0}, {1}}, "held,ends=periodic", "t1=1", "two samples at least");
    refuses((struct samples){1, {0}, {1}}, "held,ends=zero", "t1=1", "two samples at least");
    refuses(good, "quadratic", "t1=1", "`quadratic` is none of held, linear");
    refuses(good, "ends=never", "t1=1", "none of ends=hold");
    refuses(good, "by=ID", "t1=1", "begins with _");
    refuses(good, "by=_ID", "t1=1", "by= goes together with `id` or `words`");
    refuses((struct samples){3, {0, 1e-300, 2}, {0, 1e30, 0}}, "cubic", "t1=1", "too steep");
}

// Steps that a driver asks for are counted before a run.
TEST(driver_predicts_steps) {
    enum { COUNT = 200001 };
    double *t = malloc(COUNT * sizeof *t), *v = malloc(COUNT * sizeof *v);
    for (int i = 0; i < COUNT; i++)
        t[i] = i / 1000.0, v[i] = i % 2;
    shoal_driver d = {"u", "held", COUNT, t, v, NULL, NULL};
    refuses_with("driver u\nx'=u\n", &d, "t1=200", "100000 are not enough: steps end at 199999");
    d.how = "linear";
    refuses_with("driver u\nx'=u\n", &d, "t1=200 max-steps=40000",
                 "40000 are not enough: steps end at 199999");
    d.how = "cubic";
    refuses_with("driver u\nx'=u\n", &d, "t1=200 max-steps=40000",
                 "40000 are not enough: steps end at 199999");
    d.how = "linear";
    for (int i = 0; i < COUNT; i++)
        v[i] = sin(t[i]);
    refuses_with("driver u\nx'=u\n", &d, "t1=200 max-steps=6000",
                 "a step is at most 32 samples of a driver, which makes 6250 steps");
    refuses_with("driver u\nx'=u\n", &d, "t1=200 method=rk4 dt=0.04", "longer than 32 samples");
    free(t);
    free(v);
}

// A million samples: read, uploaded, looked up, with no more steps than it takes.
TEST(driver_of_a_million_samples) {
    enum { COUNT = 1000001 };
    double *t = malloc(COUNT * sizeof *t), *v = malloc(COUNT * sizeof *v);
    for (int i = 0; i < COUNT; i++)
        t[i] = i * 1e-3, v[i] = sin(t[i]);
    shoal_driver list[] = {{"u", "cubic", COUNT, t, v, NULL, NULL}, {0}};
    struct rig rig = rig_new_driven(NULL, "driver u;x'=u", "t1=1000 rtol=1e-9 method=dop853", list);
    struct inputs in = {.rows = 1};
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_NEAR(outcome_value(&o, 0, 0, 0), 1 - cos(1000.0), 1e-6);
    CHECK_MSG(o.steps[0] < 40000, "%u steps", o.steps[0]);
    outcome_free(&o);
    rig_free(&rig);
    free(t);
    free(v);
}

// Runs choose a signal by a column of words that the caller gives.
TEST(driver_words_of_runs) {
    static const char text[] = "driver u\nx'=u\ninit x=0\n@ t1=1\n";
    static const double t[] = {0, 1, 0, 1}, values[] = {1, 1, 2, 2};
    static const char *const words[] = {"a", "a", "b", "b"}, *const arms[] = {"b", "a", "b"};
    const shoal_driver driver = {
        .name = "u", .how = "by=_arm", .count = 4, .t = t, .values = values, .words = words};
    const float single[3] = {0};
    double x[3] = {0};
    shoal_array array = {.name = "x", .data = x};
    shoal_model *m = NULL;
    shoal_options o;
    shoal_batch *b = NULL;
    shoal_solver *s = NULL;
    REQUIRE(!shoal_model_parse("m", text, sizeof text - 1, &m, NULL));
    REQUIRE(!shoal_model_driver(m, &driver, NULL));
    REQUIRE(!shoal_options_init(&o, m, NULL));
    REQUIRE(!shoal_batch_new(m, &b, NULL));
    CHECK_INT(shoal_batch_texts(b, "x", arms, 3, NULL), SHOAL_INPUT); // words are no values
    CHECK_INT(shoal_batch_lend(b, "_arm", single, SHOAL_F32, 3, NULL), SHOAL_INPUT);
    CHECK_INT(shoal_batch_texts(b, "_arm", arms, 3, NULL), SHOAL_OK);
    CHECK_INT(shoal_batch_texts(b, "_arm", arms, 3, NULL), SHOAL_INPUT); // twice
    CHECK_INT(shoal_batch_texts(b, "_two", arms, 2, NULL), SHOAL_INPUT); // of other runs
    REQUIRE(!shoal_solver_new(m, &o, &s, NULL));
    CHECK_INT(shoal_solver_run_arrays(s, b, &array, 1, NULL, NULL), SHOAL_OK);
    CHECK_NEAR(x[0], 2, 1e-9);
    CHECK_NEAR(x[1], 1, 1e-9);
    CHECK_NEAR(x[2], 2, 1e-9);
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
}
