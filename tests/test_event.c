// SPDX-License-Identifier: MIT
// Events: when they happen, what they do, and in which order; against closed forms, with all kinds
// of ways, and the same bits in every lane, chunk and device.
#include "base/buf.h"
#include "check.h"
#include "device_test.h"
#include "solve.h"

static const char *const ways[] = {
    "method=tsit5 rtol=1e-9",
    "method=vern7 rtol=1e-9",
    "method=rodas5p rtol=1e-9",
    "method=kvaerno5 rtol=1e-9",
    "method=radau5 rtol=1e-9",
    "method=auto rtol=1e-9",
    "method=rk4 dt=0.0113",
    "method=bs32 rtol=1e-7",
    "method=kvaerno5 controller=fixed dt=0.0213",
};
enum { WAYS = sizeof ways / sizeof *ways };

// ---- The ball -----------------------------------------------------------------------------------

static const char ball[] =
    "par e=0.9, g=10; init y=1, v=0, n=0, t3=0, t9=0; y'=v; v'=-g; n'=0; t3'=0;"
    "t9'=0; event hit when y<0 : v=-e*v, n=n+1, t3=n==2?t:t3, t9=n==8?t:t9";
enum { Y, V, COUNT, THIRD, NINTH, BALLS = 10000 };

// The time of impact n, counted from 1: the fall, and flights that shrink by e.
static double impact(double e, double height, int n) {
    double fall = sqrt(2 * height / 10), t = fall, flight = 2 * fall;
    for (int i = 1; i < n; i++)
        t += flight *= e;
    return t;
}

static struct inputs balls(uint64_t rows) {
    const char *names[RIG_NAMES] = {"e", "y(0)"};
    struct inputs in = inputs_new(rows, names);
    for (uint64_t i = 0; i < rows; i++) {
        in.value[0][i] = 0.5 + 0.45 * (double)(i * 7919 % rows) / (double)rows;
        in.value[1][i] = 0.25 + (double)(i % 64) / 64;
    }
    return in;
}

TEST(event_ball_impacts) {
    struct inputs in = balls(BALLS);
    struct rig rig = rig_new(NULL, ball, "method=tsit5 rtol=1e-10 atol=1e-12 t1=1.5");
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    int thirds = 0, ninths = 0;
    for (uint64_t i = 0; i < BALLS; i++) {
        double e = in.value[0][i], h = in.value[1][i];
        int bounces = (int)lround(outcome_value(&o, COUNT, i, 0));
        bool ended = o.status[i] == SHOAL_STATUS_events; // it lay still before t1
        CHECK_STR(shoal_status_word(o.status[i]), ended ? "events" : "ok");
        if (ended) {
            CHECK_NEAR(o.t[i], sqrt(h / 5) * (1 + e) / (1 - e), 1e-6);
            continue;
        }
        CHECK(impact(e, h, bounces + 1) > 1.5 - 1e-9 && impact(e, h, bounces) < 1.5 + 1e-9);
        if (bounces >= 3 && ++thirds)
            CHECK_NEAR(outcome_value(&o, THIRD, i, 0), impact(e, h, 3), 1e-9);
        if (bounces >= 9 && ++ninths)
            CHECK_NEAR(outcome_value(&o, NINTH, i, 0), impact(e, h, 9), 1e-9);
    }
    CHECK(thirds > 1000 && ninths > 100);
    for (uint64_t row = 3; row < BALLS; row += 1999) { // alone as in the batch
        char only[16];
        snprintf(only, sizeof only, "%u", (unsigned)row);
        struct outcome one = rig_run(&rig, &in, NULL, 0, only);
        outcome_same(&o, row, &one, 0, "a ball alone");
        outcome_free(&one);
    }
    outcome_free(&o);
    rig_free(&rig);
    inputs_free(&in);
}

static void compare_balls(const char *device, const char *options) {
    char words[128];
    snprintf(words, sizeof words, "%s t1=1.25", options);
    device_compare_chunks(device, ball, words, balls(53));
}

LONG_DEVICE_TEST(event_ball_explicit) { compare_balls(device, "method=tsit5 rtol=1e-8"); }
LONG_DEVICE_TEST(event_ball_f32) { compare_balls(device, "method=tsit5 precision=f32"); }
LONG_DEVICE_TEST(event_ball_rosenbrock) { compare_balls(device, "method=rodas5p rtol=1e-8"); }
LONG_DEVICE_TEST(event_ball_dirk) { compare_balls(device, "method=kvaerno5 rtol=1e-6"); }
LONG_DEVICE_TEST(event_ball_fixed) { compare_balls(device, "method=rk4 dt=0.013"); }
LONG_DEVICE_TEST(event_ball_auto) { compare_balls(device, "method=auto rtol=1e-8"); }
LONG_DEVICE_TEST(event_ball_collocation) { compare_balls(device, "method=radau5 rtol=1e-8"); }
LONG_DEVICE_TEST(event_ball_series) { compare_balls(device, "method=tsit5 rtol=1e-8 save=n=7"); }

TEST(event_ball_methods) {
    for (int k = 0; k < WAYS; k++) {
        if (!check_does((size_t)k, 0, 2))
            continue;
        struct solved s = solve(ball, "e=0.6,0.9", "%s t1=1.4", ways[k]);
        for (uint64_t i = 0; i < 2; i++) {
            double e = i ? 0.9 : 0.6;
            CHECK_STR(shoal_status_word(s.status[i]), "ok");
            CHECK_NEAR(solved_value(&s, THIRD, i, 0), i ? 0 : impact(e, 1, 3), 1e-7);
        }
        solved_free(&s);
    }
}

// Another way of writing it, backwards in time: up is down.
TEST(event_backwards) {
    struct solved s = solve("init y=1, v=0; y'=v; v'=-10; event hit when y falling : v=-v", NULL,
                            "method=tsit5 rtol=1e-10 t1=-1");
    double fall = sqrt(0.2), t = 1 - fall; // up again since then, to 1 at 2 fall
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 10 * fall * t - 5 * t * t, 1e-8);
    solved_free(&s);
}

// An event that leaves its function alone is on its boundary when it has acted, and goes on in the
// direction of the run: x = cos(t) meets 1/4 there and back, as often and at the same times.
TEST(event_backwards_on_its_boundary) {
    const double first = acos(0.25), turn = 2 * acos(-1.0);
    for (int k = 0; k < WAYS; k++) {
        if (!check_does((size_t)k, 0, 3))
            continue;
        struct solved s =
            solve("init x=1, v=0, up=0, down=0, tu=0, td=0; x'=v; v'=-x; up'=0; down'=0;"
                  "tu'=0; td'=0; event a when x>0.25 : up=up+1, tu=t;"
                  "event b when x<0.25 : down=down+1, td=t",
                  NULL, "%s t1=-30", ways[k]);
        CHECK_STR(shoal_status_word(s.status[0]), "ok");
        CHECK_NEAR(solved_value(&s, 2, 0, 0), 4, 0);
        CHECK_NEAR(solved_value(&s, 3, 0, 0), 5, 0);
        CHECK_NEAR(solved_value(&s, 4, 0, 0), first - 4 * turn, 1e-5);
        CHECK_NEAR(solved_value(&s, 5, 0, 0), -first - 4 * turn, 1e-5);
        solved_free(&s);
    }
}

// ---- Integrate and fire -------------------------------------------------------------------------

TEST(event_integrate_and_fire) {
    for (int k = 0; k < WAYS; k++) {
        if (!check_does((size_t)k, 1, 2))
            continue;
        struct solved s =
            solve("par I=1.5, tau=0.2; init v=0, n=0, last=0; v'=(I-v)/tau; n'=0; last'=0;"
                  "event spike when v>=1 : v=0, n=n+1, last=t",
                  "I=1.05,1.5,3,0.9", "%s t1=3", ways[k]);
        for (uint64_t i = 0; i < 4; i++) {
            double I = (double[]){1.05, 1.5, 3, 0.9}[i], T = 0.2 * log(I / (I - 1));
            double n = I > 1 ? floor(3 / T) : 0;
            CHECK_NEAR(solved_value(&s, 1, i, 0), n, 0);
            CHECK_NEAR(solved_value(&s, 2, i, 0), n > 0 ? n * T : 0, 1e-5);
        }
        solved_free(&s);
    }
}

// The ring of examples/integrate_and_fire.ode from spike to spike: nothing is integrated.
static int ring_spikes(double *v, int n, double I, double tau, double w, double end) {
    int spikes = 0;
    for (double t = 0;;) {
        double next = end - t;
        for (int i = 0; i < n; i++)
            next = fmin(next, tau * log((I - v[i]) / (I - 1)));
        for (int i = 0; i < n; i++)
            v[i] = I - (I - v[i]) * exp(-next / tau);
        t += next;
        if (t >= end)
            return spikes;
        bool fired[10] = {false};
        for (bool more = true; more;) { // those that a kick takes beyond fire at the same time
            bool due[10];
            more = false;
            for (int i = 0; i < n; i++)
                due[i] = v[i] >= 1 - 1e-12 && !fired[i];
            for (int i = 0; i < n; i++) {
                if (!due[i])
                    continue;
                v[i] = 0;
                v[(i + n - 1) % n] += w;
                v[(i + 1) % n] += w;
                fired[i] = more = true;
                spikes++;
            }
        }
    }
}

LONG_TEST(event_network) {
    static const char *const how[] = {"method=tsit5 rtol=1e-9", "method=rodas5p rtol=1e-9",
                                      "method=rk4 dt=0.1"};
    char *text = check_read("examples/integrate_and_fire.ode");
    REQUIRE(text);
    for (int k = 0; k < 3; k++) {
        struct solved s = solve(text, "I=1.2,1.5,3", "%s vars=v,count t1=100", how[k]);
        for (uint64_t row = 0; row < 3; row++) {
            double v[10], I = (double[]){1.2, 1.5, 3}[row];
            for (int i = 0; i < 10; i++)
                v[i] = 0.09 * (i + 1);
            int spikes = ring_spikes(v, 10, I, 10, 0.05, 100);
            CHECK_NEAR(solved_value(&s, 10, row, 0), spikes, 0);
            for (uint32_t i = 0; i < 10; i++)
                CHECK_NEAR(solved_value(&s, i, row, 0), v[i], 1e-5);
        }
        solved_free(&s);
    }
    free(text);
}

// ---- When one happens ---------------------------------------------------------------------------

// x crosses 1 upwards at t = 1 and downwards at t = 3; each event counts in a state of its own.
static const struct {
    const char *event;
    int count[3]; // from x = 0, 1, 1.5 on
} conditions[] = {
    {"event e%d when x>1 : n%d=n%d+1", {1, 0, 0}}, // zero at t0, and true at t0, are none
    {"event e%d when x>=1 : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when x<1 : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when x>1 falling : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when x-1 : n%d=n%d+1", {2, 0, 0}},
    {"event e%d when x-1 rising : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when x-1 falling : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when x>1 & t>2 : n%d=n%d+1", {1, 1, 1}}, // at t = 2
    {"event e%d when x>1 & t>3.25 : n%d=n%d+1", {0, 1, 1}},
    {"event e%d when x>1.5 | t>3.5 : n%d=n%d+1", {2, 1, 0}},
    {"event e%d when not(x>1) : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when a<0 | x>1 : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when hidden : n%d=n%d+1", {1, 0, 0}},
    {"event e%d when x>5 : n%d=n%d+1", {0, 0, 0}},
    {"event e%d when 1 : n%d=n%d+1", {0, 0, 0}},
    {"event e%d when 1>0 : n%d=n%d+1", {0, 0, 0}},
    {"event e%d when t-1 : n%d=n%d+1", {1, 1, 1}},        // where fixed steps end
    {"event e%d when sqrt(-x)<1 : n%d=n%d+1", {0, 0, 0}}, // not a number
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

TEST(event_conditions) {
    static const char *const how[] = {"method=tsit5 rtol=1e-8", "method=rk4 dt=0.25",
                                      "method=rk4 dt=0.3", "method=rodas5p",
                                      "method=tsit5 precision=f32"};
    struct buf text = {0};
    buf_puts(&text, "par a=1; init x=0; hidden=x>1; x'=t<2?1:-1");
    for (int i = 0; i < CONDITIONS; i++) {
        char event[96];
        snprintf(event, sizeof event, conditions[i].event, i, i, i);
        buf_printf(&text, "; n%d'=0; init n%d=0; %s", i, i, event);
    }
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        struct solved s = solve(text.data, "x(0)=0,1,1.5", "%s t1=3.9", how[k]);
        for (uint32_t i = 0; i < CONDITIONS; i++)
            for (uint64_t row = 0; row < 3; row++) {
                double n = solved_value(&s, i + 1, row, 0);
                CHECK_MSG(n == conditions[i].count[row], "%s, row %d, %s: %g, not %d",
                          conditions[i].event, (int)row, how[k], n, conditions[i].count[row]);
            }
        solved_free(&s);
    }
    buf_free(&text);
}

// The state touches the boundary and turns back: nothing, or for one that is beyond it, one event.
TEST(event_grazing) {
    static const char text[] = "par c=0; init x=1, n=0; x'=2*(t-1); n'=0; event e when x<c : n=n+1";
    for (int k = 0; k < WAYS; k++) {
        if (!check_does((size_t)k, 0, 2))
            continue;
        struct solved s = solve(text, "c=-1e-5,1e-5,1", "%s t1=3", ways[k]);
        CHECK_NEAR(solved_value(&s, 1, 0, 0), 0, 0);
        CHECK_NEAR(solved_value(&s, 1, 2, 0), 0, 0); // zero at t0
        CHECK(solved_value(&s, 1, 1, 0) <= 1);       // may lie between two looks
        solved_free(&s);
    }
}

// One that an event does not change is over, however it lands: a slow one, and many in a step.
TEST(event_once_each) {
    for (int k = 0; k < WAYS; k++) {
        if (!check_does((size_t)k, 1, 2))
            continue;
        struct solved s = solve("par w=1; init x=0, n=0, m=0; x'=w*cos(w*t); n'=0; m'=0;"
                                "event up when x-0.3 rising : n=n+1; event any when x-0.3 : m=m+1",
                                "w=0.01,1,7,20", "%s t1=10 dt-max=0.02", ways[k]);
        for (uint64_t i = 0; i < 4; i++) {
            double w = (double[]){0.01, 1, 7, 20}[i], first = asin(0.3), end = 10 * w, n = 0, m = 0;
            for (double t = first; t < end; t += 2 * M_PI)
                n++, m++;
            for (double t = M_PI - first; t < end; t += 2 * M_PI)
                m++;
            CHECK_NEAR(solved_value(&s, 1, i, 0), n, 0);
            CHECK_NEAR(solved_value(&s, 2, i, 0), m, 0);
        }
        solved_free(&s);
    }
}

// ---- Several ------------------------------------------------------------------------------------

// At one time: in the order of the file, each on what the last one left; one event's assignments
// all see what was before it, XPP's each the one before.
TEST(event_order) {
    static const struct {
        const char *events;
        double x, y;
    } cases[] = {
        {"event a at 1 : x=x+1\nevent b at 1 : x=x*10", 20, 2},
        {"event b at 1 : x=x*10\nevent a at 1 : x=x+1", 11, 2},
        {"event a at 1 : x=y, y=x", 2, 1},
        {"event a when u>1 : x=x+1\nevent b when w>1 : x=x*10", 20, 2},
        {"event b when w>1 : x=x*10\nevent a when u>1 : x=x+1", 11, 2},
        {"event b when w>1 : x=x*10\nevent a at 1 : x=x+1", 11, 2},
        {"event a at 1 : x=x+1\nevent b when w>=1 : x=x*10", 20, 2},
        {"global 1 u-1 {x=y;y=x+5}", 2, 7},
        {"event a when u>1 : y=y+1\nevent b when y>2.5 : x=x*10, y=0", 10,
         0}, // turned by an action
        {"event b when y>2.5 : x=x*10, y=0\nevent a when u>1 : y=y+1", 10, 0},
        {"event late when w>1.5 : x=x*10\nevent soon when u>1.25 : x=x+1", 20, 2}, // in one step
    };
    static const char *const how[] = {"method=tsit5 rtol=1e-9", "method=rk4 dt=2",
                                      "method=rk4 dt=0.25", "method=rodas5p rtol=1e-9"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
            char text[512];
            if (!check_does(i, k, sizeof how / sizeof *how))
                continue;
            snprintf(text, sizeof text, "init x=1, y=2, u=0, w=0\nx'=0\ny'=0\nu'=1\nw'=1\n%s\n",
                     cases[i].events);
            struct solved s = solve(text, NULL, "%s t1=2", how[k]);
            CHECK_MSG(solved_value(&s, 0, 0, 0) == cases[i].x &&
                          solved_value(&s, 1, 0, 0) == cases[i].y,
                      "%s, %s: %.17g %.17g", cases[i].events, how[k], solved_value(&s, 0, 0, 0),
                      solved_value(&s, 1, 0, 0));
            solved_free(&s);
        }
}

// What has no end in finite time is named, with every kind of loop.
DEVICE_TEST(event_cascades) {
    static const char *const events[] = {"event e when x>1 : x=1", "event e when x-1 rising : x=1",
                                         "event e when x>1 : x=0.5\nevent f when x<0.75 : x=2",
                                         "event e every q : x=x+1"};
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.3",
                                      "method=tsit5 precision=f32", "method=rodas5p",
                                      "method=auto"};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
            char text[256];
            if (!check_does(k, i, sizeof how / sizeof *how + (i > 1)))
                continue;
            snprintf(text, sizeof text, "par q=0\ninit x=0\nx'=1\n%s\n", events[i]);
            struct solved s = solve(text, NULL, "%s t1=3 device=%s", how[k], device);
            CHECK_MSG(s.status[0] == SHOAL_STATUS_events, "%s, %s: %s", events[i], how[k],
                      shoal_status_word(s.status[0]));
            CHECK(isnan(solved_value(&s, 0, 0, 0)));
            CHECK_NEAR(s.t[0], i == 3 ? 0 : i == 2 ? 1 : 1, 1e-3);
            solved_free(&s);
        }
}

// ---- Times known in advance ---------------------------------------------------------------------

// x is the sum of what was given, each decayed since: doses by hand.
static double decayed(const double *times, const double *amounts, int count, double k, double t) {
    double x = 0;
    for (int i = 0; i < count; i++)
        if (times[i] < t || (times[i] == 0 && t == 0))
            x += amounts[i] * exp(-k * (t - times[i]));
    return x;
}

TEST(event_times) {
    static const struct {
        const char *event;
        int count;
        double times[16];
    } cases[] = {
        {"event e at 0, 1, 1, 2.5 : x=x+1", 3, {0, 1, 2.5}},
        {"event e at a, 2*a, 4 : x=x+1", 2, {0.7, 1.4}}, // not at t1
        {"event e every a : x=x+1", 6, {0, 0.7, 1.4, 2.1, 2.8, 3.5}},
        {"event e every a from 0.7 until 2.1 : x=x+1", 3, {0.7, 1.4, 2.1}},
        {"event e every 0.1 from 0 until 0.3 : x=x+1", 4, {0, 0.1, 0.2, 0.3}},
        {"event e every 1 from -1.5 : x=x+1", 4, {0.5, 1.5, 2.5, 3.5}},
        {"event e every 9 from 3 : x=x+1", 1, {3}},
        {"event e at -1, 5, 4 : x=x+1", 0, {0}},
        {"event e every d from d until 2*d : x=x+1", 2, {1.4, 2.8}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < WAYS; k++) {
            char text[256];
            double amounts[16];
            if (!check_does(i, (size_t)k, WAYS))
                continue;
            for (int n = 0; n < 16; n++)
                amounts[n] = 1;
            snprintf(text, sizeof text, "par a=0.7; !d=2*a; init x=0; x'=-0.5*x; %s",
                     cases[i].event);
            struct solved s = solve(text, NULL, "%s t1=4", ways[k]);
            double x = decayed(cases[i].times, amounts, cases[i].count, 0.5, 4);
            CHECK_STR(shoal_status_word(s.status[0]), "ok");
            CHECK_MSG(fabs(solved_value(&s, 0, 0, 0) - x) < 1e-5, "%s, %s: %.12g not %.12g",
                      cases[i].event, ways[k], solved_value(&s, 0, 0, 0), x);
            solved_free(&s);
        }
}

// Times are those of the parameters as they are by then, and derived ones follow.
TEST(event_changes_parameters) {
    for (int k = 0; k < WAYS; k++) {
        if (!check_does((size_t)k, 1, 2))
            continue;
        struct solved s = solve("par a=1, r=1; !rate=2*r; init x=0, n=0; x'=rate; n'=0;"
                                "event once at 0.5 : a=0.25, r=3; event tick every a : n=n+1",
                                NULL, "%s t1=1.1", ways[k]);
        CHECK_NEAR(solved_value(&s, 0, 0, 0), 1 + 6 * 0.6, 1e-8);
        CHECK_NEAR(solved_value(&s, 1, 0, 0), 1 + 2, 0); // 0; then 0.75 and 1
        solved_free(&s);
    }
}

// A parameter that a switch in time is made of.
TEST(event_moves_a_switch) {
    struct solved s = solve("par on=9; init x=0; x'=heav(t-on); event e at 0.5 : on=1", NULL,
                            "method=tsit5 t1=2");
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 1, 1e-9);
    solved_free(&s);
}

TEST(event_timed_refused_backwards) {
    static const char *const events[] = {"event e at 1 : x=0", "event e every 1 : x=0"};
    for (int i = 0; i < 2; i++) {
        const char *path = check_path("m.ode");
        char text[96];
        snprintf(text, sizeof text, "x'=1\ninit x=0\n%s\n", events[i]);
        check_write(path, text);
        struct check_output o = RUN(check_shoal(), "run", path, "--t1", "-1");
        CHECK_INT(o.status, 1);
        CHECK_HAS(o.err, "event `e` is at times that are known in advance");
    }
}

// ---- What is saved ------------------------------------------------------------------------------

TEST(event_samples) {
    static const char text[] = "init x=0; x'=1; event e every 1 : x=x+10";
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.3"};
    for (int k = 0; k < 2; k++) {
        struct solved s = solve(text, NULL, "%s t1=3 save=n=7", how[k]);
        for (int n = 0; n < 7; n++) // before the action, except at t0
            CHECK_NEAR(solved_value(&s, 0, 0, (uint64_t)n), n * 0.5 + 10 * (n ? ceil(n * 0.5) : 1),
                       1e-9);
        solved_free(&s);
        s = solve_steps(text, "%s t1=2.5 save=steps", how[k]);
        int jumps = 0;
        for (uint64_t n = 1; n < s.samples; n++)
            if (s.t[n] == s.t[n - 1]) {
                jumps++;
                CHECK_NEAR(s.values[n], s.values[n - 1] + 10, 1e-12);
                CHECK(s.t[n] == 1 || s.t[n] == 2);
            }
        CHECK_INT(jumps, 2);
        CHECK_NEAR(s.values[0], 10, 0);
        solved_free(&s);
    }
}

// A row that is stopped is no failure: final values are those there, samples behind it are none.
static const char stopping[] = "par a=1; init x=0; x'=1; event e when x>a : x=x+5, stop";

static void check_stop(const char *device, const char *how) {
    struct solved s = solve(stopping, "a=0.25,1,7", "%s t1=3 device=%s", how, device);
    for (uint64_t i = 0; i < 3; i++) {
        double a = (double[]){0.25, 1, 7}[i];
        CHECK_STR(shoal_status_word(s.status[i]), a > 3 ? "ok" : "stopped");
        CHECK_NEAR(s.t[i], a > 3 ? 3 : a, 1e-9);
        CHECK_NEAR(solved_value(&s, 0, i, 0), a > 3 ? 3 : a + 5, 1e-9);
    }
    CHECK_INT(s.tally.by_status[SHOAL_STATUS_stopped], 2);
    solved_free(&s);
}

static void check_stop_series(const char *device, const char *how) {
    struct solved s =
        solve(stopping, "a=0.25,1.25,7", "%s t1=3 save=n=4 keep-failed=on device=%s", how, device);
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t n = 0; n < 4; n++) {
            double x = solved_value(&s, 0, i, n), a = (double[]){0.25, 1.25, 7}[i];
            CHECK_MSG((double)n > a ? isnan(x) : fabs(x - (double)n) < 1e-9, "%s: %g", how, x);
        }
    solved_free(&s);
}

LONG_DEVICE_TEST(event_stop) {
    static const char *const how[] = {"method=tsit5 rtol=1e-10", "method=rk4 dt=0.3",
                                      "method=rodas5p", "method=auto",
                                      "method=kvaerno5 controller=fixed dt=0.3"};
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        if (check_does(k, 0, 4))
            check_stop(device, how[k]);
        if (check_does(k, 3, 4))
            check_stop_series(device, how[k]);
    }
}

TEST(event_stop_at_once) {
    struct solved s = solve("par b=1; init x=1; x'=1; event e at 0 : x=2*x; event f at b : stop",
                            "b=0,1", "method=tsit5 t1=3 save=n=4");
    CHECK_STR(shoal_status_word(s.status[0]), "stopped");
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 2, 0);
    CHECK(isnan(solved_value(&s, 0, 0, 1)));
    CHECK_NEAR(solved_value(&s, 0, 1, 1), 3, 1e-9);
    CHECK(isnan(solved_value(&s, 0, 1, 2)));
    solved_free(&s);
}

TEST(event_arret) {
    struct solved s = solve("init x=0, n=0\nx'=1\nn'=0\nglobal 1 x-1 {x=0;n=n+1;arret=n-2.5}\n",
                            NULL, "method=tsit5 t1=9");
    CHECK_STR(shoal_status_word(s.status[0]), "stopped");
    CHECK_NEAR(solved_value(&s, 1, 0, 0), 3, 0);
    CHECK_NEAR(s.t[0], 3, 1e-9);
    solved_free(&s);
}

// XPP's sign 0: where it is zero at t0 it happens there, which is how files set things up.
TEST(event_global_zero) {
    struct solved s = solve("par p=1, a=0.5\ninit x=0, n=0\nx'=1\nn'=0\ny[1..2]'=p\n"
                            "global 0 t {p=3;n=n+1;y[1..2]=10*[j]+p}\n"
                            "global 0 x-a {n=n+10}\nglobal 1 t {n=n+100}\n",
                            "a=0,0.5,1", "method=tsit5 t1=1 save=n=3");
    static const double n[][3] = {{11, 11, 11}, {1, 1, 11}, {1, 1, 1}}; // samples are before
    for (uint32_t row = 0; row < 3; row++)
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_NEAR(solved_value(&s, 1, row, i), n[row][i], 0);
            CHECK_NEAR(solved_value(&s, 2, row, i), 13 + 1.5 * i, 1e-12);
            CHECK_NEAR(solved_value(&s, 3, row, i), 23 + 1.5 * i, 1e-12);
        }
    solved_free(&s);
}

TEST(event_stop_exit_code) {
    const char *path = check_path("m.ode");
    check_write(path, "x'=1\ninit x=0\nevent e when x>1 : stop\n@ t1=2\n");
    struct check_output o = RUN(check_shoal(), "run", path, "-o", "-");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, ",stopped\n");
}

// ---- Algebraic states ---------------------------------------------------------------------------

// z is c x at any time. What an event assigns to it is a guess; what it takes of it is what it was,
// at t0, too, where the guess is 1.
TEST(event_algebraic) {
    static const char *const how[] = {"method=rodas5p rtol=1e-9",
                                      "method=kvaerno5 controller=fixed dt=0.01"};
    for (int k = 0; k < 2; k++) {
        struct solved s = solve("par c=2; init x=1, n=0; x'=-z/2; n'=0; alg z=1; 0=z-c*x;"
                                "event first at 0 : n=n+z; event half when z<1 : x=x+z, z=7, n=n+z;"
                                "event pulse at 1 : c=4",
                                NULL, "%s t1=1.25", how[k]);
        double x = 1.5 * exp(-(1 - log(2))) * exp(-2 * 0.25); // x was 0.5 at ln 2
        CHECK_STR(shoal_status_word(s.status[0]), "ok");
        CHECK_NEAR(solved_value(&s, 0, 0, 0), x, 1e-6);
        CHECK_NEAR(solved_value(&s, 1, 0, 0), 2 + 1, 1e-6);
        CHECK_NEAR(solved_value(&s, 2, 0, 0), 4 * x, 1e-6);
        solved_free(&s);
    }
}

// ---- Records ------------------------------------------------------------------------------------

TEST(event_record) {
    const char *path = check_path("m.ode"), *out = check_path("r.csv");
    check_write(path, "par e=0.5\ninit y=1, v=0\ny'=v\nv'=-10\nevent hit when y<0 : v=-e*v\n"
                      "event start at 0, 0.25 : v=v-1\n@ t1=1.2, rtol=1e-10\n");
    struct check_output o = RUN(check_shoal(), "run", path, "-q", "--sweep", "e=0.5,0.7,0", "-o",
                                out, "--record", "hit,3,start,2", "--vars", "v");
    CHECK_INT(o.status, 0);
    char *text = check_read(check_path("r.start.csv"));
    CHECK_HAS(text, "run,index,t,v\n0,0,0,-1\n0,1,0.25,-3.5"); // at t0 after, else before
    free(text);
    text = check_read(check_path("r.hit.csv"));
    REQUIRE(text);
    double t[3], v[3], fall = (-4.5 + sqrt(4.5 * 4.5 + 20 * (1 - 0.25 - 0.3125))) / 10;
    const char *line = strstr(text, "\n1,0,");
    REQUIRE(line);
    for (int i = 0; i < 3; i++, line = strchr(line + 1, '\n'))
        CHECK_INT(sscanf(line, "\n1,%*d,%lf,%lf", &t[i], &v[i]), 2);
    CHECK_NEAR(t[0], 0.25 + fall, 1e-9);
    CHECK_NEAR(v[0], -4.5 - 10 * fall, 1e-8);
    CHECK_NEAR(t[1], t[0] - 2 * 0.7 * v[0] / 10, 1e-9);
    CHECK(isnan(t[2]) || t[2] > t[1]);
    free(text);
}

// The same in memory and binary files, and by another method that takes over.
TEST(event_record_everywhere) {
    const char *python = check_python("numpy");
    if (!python)
        check_skip("no Python with numpy here");
    const char *path = check_path("m.ode"), *npz = check_path("r.npz"),
               *again = check_path("s.npz");
    check_write(path, "par k=1e5\ninit x=0, z=0, y=1\nx'=1\nz'=-k*(z-y)\ny'=0\n"
                      "event tick when x>1 : x=0, y=y+1\n@ t1=4.5, rtol=1e-8\n");
    CHECK_INT(RUN(check_shoal(), "run", path, "-q", "--sweep", "k=1,1e5", "--method", "auto", "-o",
                  npz, "--record", "tick,6")
                  .status,
              0);
    CHECK_INT(RUN(check_shoal(), "run", path, "-q", "--sweep", "k=1,1e5", "--method", "tsit5", "-o",
                  again, "--record", "tick,6", "--device", "cpu", "--chunk", "1")
                  .status,
              0);
    static const char script[] =
        "import sys, numpy as np\n"
        "a, b = np.load(sys.argv[1]), np.load(sys.argv[2])\n"
        "assert a['tick.t'].shape == (2, 6)\n"
        "assert np.allclose(a['tick.t'][:, :4], [1, 2, 3, 4], atol=1e-6)\n"
        "assert np.isnan(a['tick.t'][:, 4:]).all()\n"
        "assert np.allclose(a['tick.y'][:, :4], [1, 2, 3, 4])\n"
        "assert np.allclose(a['tick.x'][:, :4], 1, atol=1e-6)\n"
        "assert np.array_equal(a['tick.t'][0], b['tick.t'][0], equal_nan=True)\n";
    struct check_output o = RUN(python, "-c", script, npz, again);
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// Several --record add up, the name of an array stands for all its elements, and what a run comes
// to does not leave out what is recorded.
TEST(event_record_several) {
    const char *path = check_path("m.ode"), *csv = check_path("o.csv"), *npz = check_path("o.npz");
    check_write(path, "init x[1..2]=0\nx[1..2]'=[j]\nevent up[1..2] when x[j]>1 : x[j]=0\n"
                      "event mid at 0.25 : x1=x1\n@ t1=1.75\n");
    struct check_output o = RUN(check_shoal(), "run", path, "-q", "--record", "up,2", "--record",
                                "mid,1", "--summary", "max(x1)", "-o", csv);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(check_read(check_path("o.mid.csv")), "run,index,t,x1,x2\n0,0,0.25,0.2");
    CHECK_HAS(check_read(check_path("o.up1.csv")), "run,index,t,x1,x2\n0,0,");
    CHECK_HAS(check_read(check_path("o.up1.csv")), "\n0,1,nan,nan,nan\n");
    CHECK_HAS(check_read(check_path("o.up2.csv")), "\n0,1,");
    CHECK_HAS(check_read(csv), "run,max(x1),status\n"); // no states
    static const char *words[] = {"record=up1,2", "record=mid,1", "t1=1.75", NULL};
    shoal_log *log = shoal_log_new();
    CHECK_INT(shoal_solve(path, words, npz, NULL, log), SHOAL_OK);
    o = RUN(check_shoal(), "run", "-q", "--job", npz, "-o", csv);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(check_read(check_path("o.mid.csv")), "run,index,t,x1,x2\n0,0,0.25,0.2");
    o = RUN(check_shoal(), "run", path, "--record", "up,2", "--record", "up1,1");
    CHECK_HAS(o.err, "--record: `up1` is there twice");
    shoal_log_free(log);
}

TEST(event_record_refused) {
    const char *path = check_path("m.ode");
    check_write(path, "x'=1\ninit x=0\nevent tick when x>1 : x=0\n@ t1=2\n");
    static const struct {
        const char *text, *says;
    } cases[] = {{"tock,2", "the model has no event `tock`; did you mean `tick`?"},
                 {"tick", "expected a number from 1 to"},
                 {"tick,0", "expected a number from 1 to"},
                 {"tick,2,tick,3", "`tick` is there twice"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check_output o = RUN(check_shoal(), "run", path, "--record", cases[i].text);
        CHECK_INT(o.status, 1);
        CHECK_HAS(o.err, cases[i].says);
    }
}

// ---- Added to a model ---------------------------------------------------------------------------

TEST(event_added) {
    static const char text[] = "x'=1\ninit x=0\npar a=1\ndone\nnot a line";
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    REQUIRE(shoal_model_parse("m", text, strlen(text), &m, log) == SHOAL_OK);
    CHECK_INT(shoal_model_add_event(m, "e when x>a : x=0", log), SHOAL_OK);
    CHECK_INT(shoal_model_add_event(m, "global 1 x-2 {x=1}", log), SHOAL_OK);
    CHECK_INT(shoal_model_add_event(m, "e at 1 : x=0", log), SHOAL_INPUT);
    CHECK_HAS(shoal_log_message(log, shoal_log_message_count(log) - 1).text,
              "--event:3:7: error: there is already an event `e`");
    CHECK_INT(shoal_model_add_event(m, "f at 1 :\n x=0", log), SHOAL_INPUT);
    CHECK_INT(shoal_model_count(m, SHOAL_EVENT), 2); // one that is refused leaves it as it was
    CHECK_STR(shoal_model_symbol(m, SHOAL_EVENT, 1), "global1");
    CHECK_STR(shoal_model_event(m, 0), "event e when x>a : x=0");
    CHECK_STR(shoal_model_text(m), text);
    CHECK_INT(shoal_model_set(m, "a=2", log), SHOAL_OK);
    CHECK_INT(shoal_model_add_event(m, "f at 1 : x=0", log), SHOAL_USAGE);
    shoal_model_free(m);
    shoal_job *job = NULL;
    const char *path = check_path("a.job");
    check_write(path, "doses = none.csv\n");
    REQUIRE(shoal_job_load(path, &job, log) == SHOAL_OK);
    CHECK_INT(shoal_job_doses(job, log), SHOAL_OK); // it is no result
    shoal_job_free(job);
    shoal_log_free(log);
}

// ---- Turned by something else -------------------------------------------------------------------

static void fires(const char *text, double times) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.07", "method=rodas5p"};
    static size_t calls;
    size_t n = calls++;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (!check_does(n, i, sizeof how / sizeof *how))
            continue;
        struct solved s = solve(text, NULL, "%s", how[i]);
        CHECK_MSG(s.status[0] == SHOAL_STATUS_ok && solved_last(&s, 0, 0) == times,
                  "%s, %s: %g times, not %g", text, how[i], solved_last(&s, 0, 0), times);
        solved_free(&s);
    }
}

// A crossing both how that another event, a time or a switch has turned is seen the next time.
TEST(event_that_others_turn) {
    fires("init m=0,v=0\nm'=0\nv'=2-v\nevent r when v>1 : v=0\nevent b when v-0.5 : m=m+1\n@ "
          "t1=4.2\n",
          12);
    fires("init m=0,v=0.2\nm'=0\nv'=1\nevent j every 1 from 1 : v=-0.5\nevent b when v : m=m+1\n@ "
          "t1=4.2\n",
          7);
    fires("par p=0.5\ninit m=0,v=0\nm'=0\nv'=1\nevent j every 1 from 1 : p=p+1\n"
          "event b when v-p : m=m+1\n@ t1=4.2\n",
          8);
    fires("init m=0,v=0\nm'=0\nv'=1+(mod(t,1)<0.3)\nevent b when mod(t,1)-0.3 : m=m+1\n@ t1=2.9\n",
          5);
}

// A condition that jumps happens once, however short it holds.
TEST(event_whose_condition_jumps) {
    fires("init n=0\nn'=0\nevent e when heav(t-1)>0.5 : n=n+1\n@ t1=9\n", 1);
    fires("init n=0\nn'=0\nevent e when heav(t-1)-0.5 : n=n+1\n@ t1=9\n", 1);
    fires("init n=0\nn'=0\nevent e when mod(t,1)<0.25 : n=n+1\n@ t1=3.5\n", 3);
    fires("init n=0\nn'=0\nevent e when mod(t,10)<0.001 : n=n+1\n@ t1=55\n", 5);
    fires("init n=0,x=0\nn'=0\nx'=1\nevent e when floor(x)-1.5 : n=n+1\n@ t1=3.5\n", 1);
    fires("init n=0,x=0\nn'=0\nx'=cos(t)\nevent e when heav(x-0.5)-0.5 : n=n+1\n@ t1=3.5\n", 2);
}

// What it waited for is over, whatever an action does to the other part of the condition.
TEST(event_that_waited_for_a_part_of_its_condition) {
    fires("init n=0,x=1\nn'=0\nx'=0.1\nevent e when x>0.5 and t>2.3 : n=n+1, x=0.9*x\n@ t1=5\n", 1);
    fires("init n=0,x=1,y=0\nn'=0\nx'=0.1\ny'=0.5\n"
          "event e when x>0.5 & y>1 : n=n+1, x=0.9*x\n@ t1=5\n",
          1);
    fires("par p=2\ninit n=0\nn'=0\nevent e when p>1 and t>1.7 : n=n+1, p=p+1\n@ t1=5\n", 1);
}

// What an action gives to one and takes from the other leaves the condition where it was.
TEST(event_that_stays_at_its_boundary) {
    fires("init n=0,x=0.1,y=0.2\nn'=0\nx'=1\ny'=0.3*y\n"
          "event e when x+y>1 : n=n+1, x=x-0.5, y=y+0.5\n@ t1=3\n",
          1);
}

// With boundaries at which rounding goes this way and that.
static void fires_for_all(const char *text, double times) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.07", "method=rodas5p"};
    static size_t calls;
    calls++;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (!check_does(calls, i, sizeof how / sizeof *how))
            continue;
        struct solved s = solve(text, "p=lin:0.31:0.93:97", "%s", how[i]);
        for (uint64_t row = 0; row < s.rows; row++)
            CHECK_MSG(s.status[row] == SHOAL_STATUS_ok && solved_last(&s, 0, row) == times,
                      "%s, row %d, %s: %g times, not %g", text, (int)row, how[i],
                      solved_last(&s, 0, row), times);
        solved_free(&s);
    }
}

// What its own action leaves as it was has happened.
TEST(event_whose_action_changes_nothing) {
    fires_for_all("par p=1,ready=0\ninit n=0,x=0\nn'=0\nx'=1\n"
                  "event e when x>p : n=n+1, x=if(ready>0)then(0)else(x)\n@ t1=2\n",
                  1);
    fires_for_all("par p=1\ninit n=0,x=0,y=0\nn'=0\nx'=1\ny'=1\n"
                  "event e when x>p : n=n+1, x=y\n@ t1=2\n",
                  1);
    fires_for_all("par p=1,q=1\ninit n=0,x=0\nn'=0\nx'=1\nevent s at 0 : q=p\n"
                  "event e when x>p : n=n+1, p=q\n@ t1=2\n",
                  1);
}

// Two at one time, of which the first makes the condition of the second false: it may turn again.
TEST(event_that_the_one_before_it_turns_back) {
    fires_for_all("par p=1\ninit n=0,x=0,z=0\nn'=0\nx'=1\nz'=0\nevent a when x>p : z=5\n"
                  "event b when x>p and z<1 : n=n+1\nevent c at 1.5 : z=0\n@ t1=2\n",
                  2);
}

// What is reset at a boundary was not beyond it.
TEST(event_of_the_other_side_of_a_boundary) {
    fires_for_all("par p=1\ninit n=0,v=0\nn'=0\nv'=1\nevent spike when v>p : v=0\n"
                  "event below when v<p : n=n+1\n@ t1=4\n",
                  0);
    fires_for_all("par p=1,w=1\ninit n=0,v=0\nn'=0\nv'=w\nevent back when v>p : w=-w\n"
                  "event below when v<=p : n=n+1\n@ t1=4\n",
                  0);
    fires_for_all("par p=1\ninit n=0,x=2,z=1\nn'=0\nx'=1\nz'=-1\nevent low when z<p : x=z\n"
                  "event b when x-p falling : n=n+1\n@ t1=2\n",
                  0);
}

// One that another turns right after it acted acts again, and is then where that leaves it.
TEST(event_that_is_turned_behind_its_back) {
    fires_for_all("par p=1\ninit n=0,y=0\nn'=0\ny'=p\nevent e when y-p : n=n+1, y=y+p\n"
                  "event f when y>1.9*p : y=-y\n@ t1=4\n",
                  4);
}

// One crossing is one, though the action turns it back for as long as others take to turn it again,
// and from where it goes in the end it comes again or not.
TEST(event_that_is_turned_back_and_on) {
    fires_for_all("par p=1,s=1\ninit n=0,x=0\nn'=0\nx'=s*(3-x)\nevent a when x>p : n=n+1, s=-1\n"
                  "event b when x>p : s=1\n@ t1=2\n",
                  1);
    fires_for_all("par p=1,s=1\ninit n=0,x=0,v=0\nn'=0\nx'=s*(3-x)\nv'=0\n"
                  "event a when x>p : n=n+1, s=-1, v=1\nevent b when v>0.5 : v=0, s=1\n@ t1=2\n",
                  1);
    fires_for_all("par p=1,s=1\ninit n=0,x=0\nn'=0\nx'=s*(3-x)\nevent a when x-p : n=n+1, s=0\n"
                  "event b when x-p rising : s=1\n@ t1=2\n",
                  1);
    fires_for_all("par p=1,s=1\ninit n=0,x=0\nn'=0\nx'=s*p\nevent a when x-p : n=n+1\n"
                  "event b when x>p : s=-1\nevent c when x<p/2 : s=1\n@ t1=3.75\n",
                  3);
    fires_for_all(
        "par p=1,s=1,q=0\ninit n=0,x=0\nn'=0\nx'=s*(3-x)\nevent a when x>p : n=n+1, s=-1\n"
        "event b when x>p : q=1\nevent c when x>p : s=q\nevent d at 1 : s=-1\n"
        "event e at 2.2 : s=1\n@ t1=3.2\n",
        2);
}

// A condition that another event puts onto its boundary is false there.
TEST(event_put_onto_its_boundary) {
    fires_for_all("par p=1\ninit n=0,x=0\nn'=0\nx'=2*p\nevent e when x>p : n=n+1\n"
                  "event put every 1 from 1 : x=p\n@ t1=2.5\n",
                  3);
}

// Conditions of conditions, which are at their boundary most of the time.
TEST(event_when_conditions_turn) {
    static const char text[] =
        "par a=0.4;init x=0,n[1..9]=0;x'=1;n[1..9]'=0;"
        "event e1 when (t>0.3)*1>0 : n1=n1+1;event e2 when floor(t+0.6)>0 : n2=n2+1;"
        "event e3 when heav(t-0.3)>0.5 : n3=n3+1;event e4 when heav(x-a)>0 : n4=n4+1;"
        "event e5 when (x>a)*(x<2)>0 : n5=n5+1;event e6 when if(x>a)then(1)else(0)>=1 : n6=n6+1;"
        "event e7 when floor(x+0.6)>0 : n7=n7+1;event e8 when (t>a)*(x>0.1)>=1 : n8=n8+1;"
        "event e9 when if(t>a)then(1)else(0)<=0 : n9=n9+1";
    static const char *const tried[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.013",
                                        "method=tsit5 precision=f32"};
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
        struct solved s = solve(text, "a=lin:0.15:0.9:16", "t1=1 %s", tried[k]);
        for (uint64_t row = 0; row < s.rows; row++)
            for (uint32_t v = 1; v <= 9; v++)
                CHECK_MSG(solved_last(&s, v, row) == (v < 9), "%s, row %d: %g of e%u", tried[k],
                          (int)row, solved_last(&s, v, row), v);
        solved_free(&s);
    }
}

// A function that is flat, or steep beyond all bounds, on one side of where it turns.
TEST(event_of_slopes_that_say_nothing) {
    static const char text[] =
        "par a=0.37;init x=0,n[1..6]=0;x'=1;n[1..6]'=0;"
        "event e1 when max(0,x-a)>0 : n1=n1+1;event e2 when (x-a)^3 : n2=n2+1;"
        "event e3 when (x-a)^3>0 : n3=n3+1;event e4 when abs(x-a)*(x-a) : n4=n4+1;"
        "event e5 when max(x,a)>a : n5=n5+1;event e6 when 1/(x-a) : n6=n6+1";
    static const char *const tried[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.05",
                                        "method=tsit5 precision=f32", "method=radau-iia-5"};
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
        struct solved s = solve(text, "a=lin:0.05:0.95:901", "t1=1 %s", tried[k]);
        for (uint64_t row = 0; row < s.rows; row++)
            for (uint32_t v = 1; v <= 6; v++)
                CHECK_MSG(solved_last(&s, v, row) == 1, "%s, row %d: %g of e%u", tried[k], (int)row,
                          solved_last(&s, v, row), v);
        solved_free(&s);
    }
}

// The shortest step is that of steps, not of what ends them.
TEST(event_times_whatever_steps_are) {
    static const char *const tried[] = {"0", "1e-4", "0.001", "0.1"};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct solved s =
            solve("init x=0,y=0,n=0;x'=1;y'=1;n'=0;event a when x>1 : y=10*y;"
                  "event b when x>1.02 : x=0;event c every 0.02 from 2 until 2.5 : n=n+1",
                  NULL, "t1=3 method=tsit5 dt-min=%s", tried[i]);
        CHECK_NEAR(solved_last(&s, 0, 0), 0.96, 1e-9);
        CHECK_NEAR(solved_last(&s, 1, 0), 111.18, 1e-9);
        CHECK_NEAR(solved_last(&s, 2, 0), 26, 0);
        solved_free(&s);
    }
}
