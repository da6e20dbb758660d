// SPDX-License-Identifier: MIT
// The step contract: somebody who watches stops steps at times known in advance, ends them where
// something happens inside, changes states of single lanes there, and takes what counts.
//
// Three watchers of these tests are compiled into kernels. `dose` adds to x at two times of its
// lane; `bounce` finds where y falls below 0, and turns v there; `tally` adds up the lengths of all
// steps that count. All three have closed forms. Every way to run them gives the same bits: one
// lane and many, refill and none, a row alone, a device.
#include "check.h"
#include "device_test.h"
#include "rig.h"

static const char model[] = "par k=1, d1=0.3, d2=0.7, amount=0.5; init x=1, y=1, v=0, w=0;"
                            "x'=-k*x; y'=v; v'=-10; w'=0";
enum { X, Y, V, SUM, ROWS = 37 };
#define RESTITUTION 0.75

// ---- Watchers -----------------------------------------------------------------------------------

#define DOSE                                                                                       \
    {                                                                                              \
        "dose", WATCH_STOPS, "struct dose_state { u32 taken[W]; };\n",                             \
            "INLINE void dose_begin(const struct shoal_args *a, struct group *g) {\n"              \
            "    for (int i = 0; i < W; i++) g->dose.taken[i] = 0;\n"                              \
            "}\n"                                                                                  \
            "INLINE void dose_copy(struct dose_state *to, int i, const struct dose_state *from,\n" \
            "                      int j) { to->taken[i] = from->taken[j]; }\n"                    \
            "INLINE treal dose_next_stop(const struct shoal_args *a, const struct group *g) {\n"   \
            "    treal at = g->t1;\n"                                                              \
            "    for (int i = 0; i < W; i++)\n"                                                    \
            "        if (g->dose.taken[i] < 2)\n"                                                  \
            "            T_SET(at, i, g->dose.taken[i] ? LANE(g->p[2], i) : LANE(g->p[1], i), 0);" \
            "\n    return at;\n"                                                                   \
            "}\n"                                                                                  \
            "INLINE u32 dose_take(const struct shoal_args *a, struct group *g, struct trial *s,\n" \
            "                     u32 moved) {\n"                                                  \
            "    treal at = dose_next_stop(a, g);\n"                                               \
            "    u32 due = moved & m_lanes(r_eq(t_diff(at, s->t_new), R(0)));\n"                   \
            "    u32 before_end = m_lanes(r_ne(t_diff(g->t1, s->t_new), R(0)));\n"                 \
            "    due &= before_end;\n"                                                             \
            "    for (int i = 0; i < W; i++) g->dose.taken[i] += due >> i & 1;\n"                  \
            "    s->y1[0] = select(m_of_lanes(due), s->y1[0] + g->p[3], s->y1[0]);\n"              \
            "    return due;\n"                                                                    \
            "}\n"                                                                                  \
    }

// Halves the step on its interpolant until nothing is left of it.
#define BOUNCE                                                                                     \
    {                                                                                              \
        "bounce", WATCH_LIMITS, "struct bounce_state { treal at; };\n",                            \
            "INLINE void bounce_begin(const struct shoal_args *a, struct group *g) {\n"            \
            "    g->bounce.at = t_pair((elem)NAN_VALUE, 0);\n"                                     \
            "}\n"                                                                                  \
            "INLINE void bounce_copy(struct bounce_state *to, int i,\n"                            \
            "                        const struct bounce_state *from, int j) {\n"                  \
            "    T_COPY(to->at, i, from->at, j);\n"                                                \
            "}\n"                                                                                  \
            "#if COLD_PART\n"                                                                      \
            "INLINE treal bounce_limit(const struct shoal_args *a, struct group *g,\n"             \
            "                          struct trial *s, u32 good) {\n"                             \
            "    real low = R(0), high = R(1), y[N];\n"                                            \
            "    mask hits = m_and(m_of_lanes(good), r_le(s->y1[1], R(0)));\n"                     \
            "    for (int i = 0; i < 60; i++) {\n"                                                 \
            "        real middle = (low + high) * R(0.5);\n"                                       \
            "        dense_at(g, s, middle, y);\n"                                                 \
            "        mask below = r_lt(y[1], R(0));\n"                                             \
            "        low = select(below, low, middle);\n"                                          \
            "        high = select(below, middle, high);\n"                                        \
            "    }\n"                                                                              \
            "    treal at = t_add(g->x.t, r_max(high, R(1e-12)) * s->h); // ahead\n"               \
            "    g->bounce.at = t_select(hits, at, g->bounce.at);\n"                               \
            "    return t_select(hits, at, s->t_new);\n"                                           \
            "}\n"                                                                                  \
            "#endif\n"                                                                             \
            "INLINE u32 bounce_take(const struct shoal_args *a, struct group *g,\n"                \
            "                       struct trial *s, u32 moved) {\n"                               \
            "    mask hits = m_and(m_of_lanes(moved), r_eq(t_diff(g->bounce.at, s->t_new), "       \
            "R(0)));\n"                                                                            \
            "    s->y1[1] = select(hits, R(0), s->y1[1]);\n"                                       \
            "    s->y1[2] = select(hits, s->y1[2] * R(-0.75), s->y1[2]);\n"                        \
            "    return m_lanes(hits);\n"                                                          \
            "}\n"                                                                                  \
    }

// What it adds up is in the state w, whose slope is 0, and so no restart is needed.
#define TALLY                                                                                      \
    {                                                                                              \
        "tally", WATCH_STEPS, "struct tally_state { u32 steps[W]; };\n",                           \
            "INLINE void tally_begin(const struct shoal_args *a, struct group *g) {\n"             \
            "    for (int i = 0; i < W; i++) g->tally.steps[i] = 0;\n"                             \
            "}\n"                                                                                  \
            "INLINE void tally_copy(struct tally_state *to, int i,\n"                              \
            "                       const struct tally_state *from, int j) {\n"                    \
            "    to->steps[i] = from->steps[j];\n"                                                 \
            "}\n"                                                                                  \
            "INLINE u32 tally_take(const struct shoal_args *a, struct group *g,\n"                 \
            "                      struct trial *s, u32 moved) {\n"                                \
            "    for (int i = 0; i < W; i++)\n"                                                    \
            "        if (moved >> i & 1) {\n"                                                      \
            "            g->tally.steps[i]++;\n"                                                   \
            "            LANE(s->y1[3], i) = (elem)g->tally.steps[i];\n"                           \
            "        }\n"                                                                          \
            "    return 0;\n"                                                                      \
            "}\n"                                                                                  \
    }

static const struct watcher none[] = {{0}};
static const struct watcher dose[] = {DOSE, {0}};
static const struct watcher bounce[] = {BOUNCE, {0}};
static const struct watcher all[] = {DOSE, BOUNCE, TALLY, {0}};

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
    struct run_setup *s = &rig->solver->setup;
    same_all(want, rig, in, what);
    s->refill = !s->refill;
    same_all(want, rig, in, what);
    s->chunk = 5;
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
    struct trip p = {device, options, all, direction, tolerance};
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
DEVICE_TEST(watch_extra_stages) { check_all(device, "method=vern7 rtol=1e-8", 1, 1e-6); }
DEVICE_TEST(watch_f32) { check_all(device, "method=tsit5 precision=f32", 1, 1e-4); }
DEVICE_TEST(watch_backwards) { check_all(device, "method=dopri5 rtol=1e-8", -1, 1e-6); }
DEVICE_TEST(watch_rosenbrock) { check_all(device, "method=rodas5p rtol=1e-8", 1, 1e-6); }
DEVICE_TEST(watch_dirk) { check_all(device, "method=kvaerno5 rtol=1e-8", 1, 1e-6); }
DEVICE_TEST(watch_collocation) { check_all(device, "method=radau5 rtol=1e-8", -1, 1e-6); }
DEVICE_TEST(watch_collocation_f32) { check_all(device, "method=radau5 precision=f32", 1, 1e-4); }
DEVICE_TEST(watch_fixed) { check_all(device, "method=rk4 dt=0.013", 1, 1e-6); }
DEVICE_TEST(watch_fixed_f32) { check_all(device, "method=rk4 dt=0.013 precision=f32", -1, 1e-4); }
DEVICE_TEST(watch_fixed_dirk) {
    check_all(device, "method=kvaerno5 controller=fixed dt=0.05", 1, 1e-6);
}
