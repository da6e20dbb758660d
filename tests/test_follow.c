// SPDX-License-Identifier: MIT
// Followers, x' = v: whom each state follows; that explicit methods solve them as they solve the
// same system with its slopes in disguise, x' = one v, whatever watches; and the same bits
// everywhere.
#include "check.h"
#include "device_test.h"
#include "listing.h"

#include "ode/method/method.h"

#include <math.h>

static const struct shoal_target wide = {
    .name = "x86-64-v3", .prelude = "prelude_c.h", .lanes64 = 4, .sleef_suffix = "avx2"};

TEST(follow_who_leads) {
    static const struct {
        const char *model, *options, *leads; // NULL: nobody follows
    } of[] = {
        {"x'=v; y'=u; v'=-x; u'=-y", "method=tsit5 t1=1", "leads[4] = {2, 3, -1, -1}"},
        {"x'=v; v'=-x; y'=u; u'=-y", "method=tsit5 t1=1", "leads[4] = {1, -1, 3, -1}"},
        {"x'=y; y'=x; u'=v; v'=u", "method=tsit5 t1=1", "leads[4] = {1, -1, 3, -1}"},
        {"x'=v; v'=a; y'=a; a'=-x", "method=tsit5 t1=1", "leads[4] = {1, -1, 3, -1}"},
        {"v'=a; x'=v; y'=a; a'=-x", "method=tsit5 t1=1", "leads[4] = {3, -1, 3, -1}"},
        {"x'=v; y'=v; v'=-x-y", "method=rk4 dt=0.1 t1=1", "leads[3] = {2, 2, -1}"},
        {"w=v; x'=w; y'=v; v'=-x", "method=tsit5 t1=1", "leads[3] = {2, 2, -1}"},
        {"x[1..7]'=v[j]; v[1..7]'=-x[j]", "method=tsit5 t1=1", "leads[14] = {7, 8,"},
        {"v[1..7]'=-x[j]; x[1..7]'=v[j]", "method=tsit5 t1=1", "leads[14] = {-1, -1,"},
        {"x'=v; y'=v; v'=-x-y", "method=rk4 dt=1e-14 t1=1e-13 precision=f32", "leads[3] = {2, 2"},
        {"x'=v; y'=v; v'=-x-y", "method=rk4 dt=1e-16 t1=1e-15 precision=f32", NULL},
        {"x'=v; y'=v; v'=-x-y", "method=rk4 dt=1e16 t1=1e17 precision=f32", NULL},
        {"x'=v; y'=v; v'=-x-y", "method=rk4 dt=1e-150 t1=1e-149", NULL},
        {"x'=v; v'=-x", "method=tsit5 t1=1", NULL},
        {"x'=x; y'=y; v'=-v", "method=tsit5 t1=1", NULL},
        {"x'=-v; y'=2*v; v'=x+1", "method=tsit5 t1=1", NULL},
        {"x'=v; y'=v; v'=-x", "method=rodas5p t1=1", NULL},
        {"x'=v; y'=v; v'=-x", "method=kvaerno3 t1=1", NULL},
        {"x[1..21]'=v[j]; v[1..21]'=-x[j]", "method=tsit5 t1=1", NULL},
        {"x[1..7]'=v[j]; z'=-z; v[1..7]'=-x[j]; u'=v1", "method=tsit5 t1=1", NULL},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct listing t = listing_new(of[i].model, of[i].options, &wide);
        const char *at = strstr(t.kernel.text.data, "CONSTANT int leads[");
        CHECK_MSG(of[i].leads ? at && !strncmp(at + 13, of[i].leads, strlen(of[i].leads)) : !at,
                  "%s, %s: %.40s", of[i].model, of[i].options, at ? at : "");
        listing_free(&t);
    }
}

// Weights that a sum over a follower's slopes has add up to 0, so that the leader's start is not in
// it.
TEST(follow_errors_add_up_to_nothing) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        double e = 0, e2 = 0, size = 0;
        for (uint32_t q = 0; q < m->stages; q++) {
            e += m->e[q];
            e2 += m->e2[q];
            size += fabs(m->e[q]) + fabs(m->e2[q]);
        }
        if (m->scheme == EXPLICIT)
            CHECK_MSG(fabs(e) <= 1e-14 * size && fabs(e2) <= 1e-14 * size, "%s: %g, %g", m->name, e,
                      e2);
    }
}

// ---- The same in disguise -----------------------------------------------------------------------

enum { ROWS = 7 };

static struct inputs pendulums(void) {
    const char *names[RIG_NAMES] = {"a", "x(0)"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = 0.2 * (double)i;
        in.value[1][i] = 0.1 + 0.4 * (double)i;
    }
    return in;
}

// Two that pull at each other; w follows nobody, and reads v.
#define PENDULUMS(one, more)                                                                       \
    "par a=0.1, one=1; init x=1, v=0.3, y=-0.5, u=0, w=0; x'=" one "v; y'=" one                    \
    "u; v'=-sin(x)-a*v+(y-x)/3; u'=-sin(y)-a*u+(x-y)/3; w'=v*x;" more

static struct outcome run_one(const char *model, const char *options, const struct inputs *in) {
    struct rig rig = rig_new(NULL, model, options);
    struct outcome o = rig_run(&rig, in, NULL, 0, NULL);
    rig_free(&rig);
    return o;
}

static void check_alike(const char *plain, const char *hidden, const char *options, double far) {
    struct inputs in = pendulums();
    struct outcome a = run_one(plain, options, &in), b = run_one(hidden, options, &in);
    REQUIRE(a.rows == b.rows && a.vars == b.vars && a.samples == b.samples);
    double worst = 0;
    for (uint64_t i = 0; i < a.rows; i++) {
        CHECK_INT(a.status[i], b.status[i]);
        CHECK_MSG(a.steps[i] <= 1.1 * b.steps[i] + 2 && b.steps[i] <= 1.1 * a.steps[i] + 2,
                  "%s: %u steps for %u", options, a.steps[i], b.steps[i]);
        for (uint32_t v = 0; v < a.vars; v++)
            for (uint64_t k = 0; k < a.samples; k++)
                worst = fmax(worst, fabs(outcome_value(&a, v, i, k) - outcome_value(&b, v, i, k)));
    }
    CHECK_MSG(worst <= far, "%s: %g", options, worst);
    outcome_free(&a);
    outcome_free(&b);
    inputs_free(&in);
}

// Every explicit method with its own steps and with fixed ones, where only rounding differs.
static void check_methods(const char *options, double far, bool adaptive) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        char words[256];
        if (m->scheme != EXPLICIT || (adaptive && !m->embedded))
            continue;
        snprintf(words, sizeof words, "method=%s %s %s", m->name,
                 adaptive ? "rtol=1e-9 atol=1e-9" : "controller=fixed dt=0.03125", options);
        check_alike(PENDULUMS("", ""), PENDULUMS("one*", ""), words, far);
    }
}

// More than twelve, which are loops over a range: the first ones, or the last.
#define RING(one)                                                                                  \
    "x'=" one "v; y[1..6]'=" one "w[j];", "v'=-sin(x)-a*v+y1/3; w[1..5]'=-y[j]+y[j+1]/5;"          \
                                          "w6'=x/4-y6-a*w6;"

static void check_ranges(const char *options, double far) {
    static const char head[] = "par a=0.1, one=1; init x=1, v=0.3, y[1..6]=0.4, w[1..6]=0.2;";
    static const char *const plain[] = {RING("")}, *const hidden[] = {RING("one*")};
    for (int last = 0; last < 2; last++) {
        char a[512], b[512];
        snprintf(a, sizeof a, "%s%s%s", head, plain[last], plain[!last]);
        snprintf(b, sizeof b, "%s%s%s", head, hidden[last], hidden[!last]);
        check_alike(a, b, options, far);
    }
}

TEST(follow_ranges) {
    static const char *const fixed[] = {"rk4", "dop853", "bs32"}, *const adaptive[] = {"tsit5"};
    char options[128];
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        snprintf(options, sizeof options, "method=%s controller=fixed dt=0.03125 t1=3", fixed[i]);
        check_ranges(options, 2e-14);
    }
    for (size_t i = 0; i < sizeof adaptive / sizeof *adaptive; i++) {
        snprintf(options, sizeof options, "method=%s rtol=1e-9 atol=1e-9 t1=3", adaptive[i]);
        check_ranges(options, 1e-7);
    }
}

TEST(follow_fixed_steps) { check_methods("t1=3", 2e-14, false); }
LONG_TEST(follow_fixed_steps_f32) { check_methods("t1=3 precision=f32", 2e-5, false); }
LONG_TEST(follow_fixed_steps_compensated) {
    check_methods("t1=3 precision=f32 compensate=on", 2e-6, false);
}
LONG_TEST(follow_fixed_steps_backwards) { check_methods("t0=1 t1=-2", 1e-12, false); }
// A step may be another one where its error is at the tolerance.
// Steps whose squares f32 does not hold.
TEST(follow_short_and_long_steps) {
    static const struct {
        double per; // a radian
        const char *options;
    } of[] = {{1e-22, "method=rk4 precision=f32 dt=1e-24 t1=1e-22"},
              {1e21, "method=rk4 precision=f32 dt=1e19 t1=1e21"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char model[256];
        snprintf(model, sizeof model,
                 "par a=0, w=%g; init x=%g, y=%g, v=0, u=0; x'=v; y'=u; v'=-w*(w*x); u'=-w*(w*y)",
                 1 / of[i].per, 1e7 * of[i].per, 2e7 * of[i].per);
        struct inputs in = inputs_new(1, (const char *[RIG_NAMES]){"a"});
        struct outcome o = run_one(model, of[i].options, &in);
        CHECK_INT(o.status[0], SHOAL_STATUS_ok);
        CHECK_NEAR(outcome_value(&o, 0, 0, 0) / (1e7 * of[i].per), cos(1), 1e-6);
        CHECK_NEAR(outcome_value(&o, 3, 0, 0) / -2e7, sin(1), 1e-6);
        outcome_free(&o);
        inputs_free(&in);
    }
}

TEST(follow_own_steps) { check_methods("t1=3", 1e-7, true); }
LONG_TEST(follow_samples) { check_methods("t1=3 save=n=31", 1e-7, true); }

TEST(follow_what_watches) {
    static const char *const more[] = {
        "event kick when v<0 : v=v+1",
        "event turn at 1, 2 : x=x+0.5, v=-v",
        "event low when x<0.2 falling : stop",
    };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char plain[256], hidden[256];
        snprintf(plain, sizeof plain, "%s%s", PENDULUMS("", ""), more[i]);
        snprintf(hidden, sizeof hidden, "%s%s", PENDULUMS("one*", ""), more[i]);
        check_alike(plain, hidden, "method=tsit5 t1=3 rtol=1e-10 atol=1e-10", 1e-7);
    }
}

// `auto` finds the same rows stiff.
TEST(follow_stiff_rows) {
    static const char plain[] = "par a=1, one=1; init x=2, v=0, y=1, u=0; x'=v; y'=u;"
                                "v'=a*400*(1-x*x)*v-x; u'=-y",
                      hidden[] = "par a=1, one=1; init x=2, v=0, y=1, u=0; x'=one*v; y'=one*u;"
                                 "v'=a*400*(1-x*x)*v-x; u'=-y";
    struct inputs in = pendulums();
    struct outcome a = run_one(plain, "method=auto t1=100", &in),
                   b = run_one(hidden, "method=auto t1=100", &in);
    CHECK_INT(a.tally.found_stiff, b.tally.found_stiff);
    CHECK(a.tally.found_stiff > 0 && a.tally.found_stiff < ROWS);
    outcome_free(&a);
    outcome_free(&b);
    inputs_free(&in);
}

// ---- Devices ------------------------------------------------------------------------------------

DEVICE_TEST(follow_bits) {
    static const char oscillator[] = "par k=1, w=1; init x=1, y=0.5, u=0, v=1;"
                                     "x'=u; y'=v; u'=-k*x-y; v'=-w*y*y+x";
    device_compare(device, oscillator, "method=tsit5 t1=3", device_sweeps());
    device_compare(device, oscillator, "method=rk4 dt=0.03 t1=1 precision=f32", device_sweeps());
}

LONG_DEVICE_TEST(follow_bits_of_more) {
    static const char chain[] = "par k=1, w=1; init x[1..12]=[j]/12, v[1..12]=0;"
                                "x[1..12]'=v[j]; v1'=k*(x2-x1); v[2..11]'=k*(x[j-1]-2*x[j]+x[j+1]);"
                                "v12'=w*(x11-x12)";
    device_compare(device, chain, "method=dop853 t1=3", device_sweeps());
    device_compare(device, chain, "method=tsit5 t1=3 save=n=5 precision=f32", device_sweeps());
    device_compare(device, chain, "method=rk4 dt=0.03 t1=1 precision=f32 compensate=on",
                   device_sweeps());
}
