// SPDX-License-Identifier: MIT
// The watchers of the tests, as text that is compiled into kernels: see watchers.h.
#include "watchers.h"

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
            "}\n",                                                                                 \
            NULL                                                                                   \
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
            "}\n",                                                                                 \
            NULL                                                                                   \
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
            "}\n",                                                                                 \
            NULL                                                                                   \
    }

// Stops at the times of doses, and changes nothing.
#define PAUSE                                                                                      \
    {                                                                                              \
        "pause", WATCH_STOPS, "struct pause_state { u32 taken[W]; };\n",                           \
            "INLINE void pause_begin(const struct shoal_args *a, struct group *g) {\n"             \
            "    for (int i = 0; i < W; i++) g->pause.taken[i] = 0;\n"                             \
            "}\n"                                                                                  \
            "INLINE void pause_copy(struct pause_state *to, int i,\n"                              \
            "                       const struct pause_state *from, int j) {\n"                    \
            "    to->taken[i] = from->taken[j];\n"                                                 \
            "}\n"                                                                                  \
            "INLINE treal pause_next_stop(const struct shoal_args *a, const struct group *g) {\n"  \
            "    treal at = g->t1;\n"                                                              \
            "    for (int i = 0; i < W; i++)\n"                                                    \
            "        T_SET(at, i, g->pause.taken[i] == 0   ? LANE(g->p[1], i)\n"                   \
            "                     : g->pause.taken[i] == 1 ? LANE(g->p[2], i)\n"                   \
            "                                              : (elem)NAN_VALUE, 0);\n"               \
            "    return at;\n"                                                                     \
            "}\n"                                                                                  \
            "INLINE u32 pause_take(const struct shoal_args *a, struct group *g,\n"                 \
            "                      struct trial *s, u32 moved) {\n"                                \
            "    for (int i = 0; i < W; i++) g->pause.taken[i] += moved >> i & 1;\n"               \
            "    return 0;\n"                                                                      \
            "}\n",                                                                                 \
            NULL                                                                                   \
    }

// Adds up the integral of x in w by Simpson's rule, with the middle of each step.
#define INTEGRAL                                                                                   \
    {                                                                                              \
        "integral", WATCH_STEPS | WATCH_INSIDE, "struct integral_state { real sum; };\n",          \
            "INLINE void integral_begin(const struct shoal_args *a, struct group *g) {\n"          \
            "    g->integral.sum = R(0);\n"                                                        \
            "}\n"                                                                                  \
            "INLINE void integral_copy(struct integral_state *to, int i,\n"                        \
            "                          const struct integral_state *from, int j) {\n"              \
            "    LANE(to->sum, i) = LANE(from->sum, j);\n"                                         \
            "}\n"                                                                                  \
            "#if COLD_PART\n"                                                                      \
            "INLINE u32 integral_take(const struct shoal_args *a, struct group *g,\n"              \
            "                         struct trial *s, u32 moved) {\n"                             \
            "    real y[N], sum;\n"                                                                \
            "    dense_prepare(g, s, moved);\n"                                                    \
            "    dense_at(g, s, R(0.5), y);\n"                                                     \
            "    sum = g->x.y[0] + s->y1[0] + y[0] * R(4);\n"                                      \
            "    sum = r_fma(sum, s->h * R(1.0 / 6), g->integral.sum);\n"                          \
            "    g->integral.sum = select(m_of_lanes(moved), sum, g->integral.sum);\n"             \
            "    s->y1[3] = select(m_of_lanes(moved), g->integral.sum, s->y1[3]);\n"               \
            "    return 0;\n"                                                                      \
            "}\n"                                                                                  \
            "#endif\n",                                                                            \
            NULL                                                                                   \
    }

const struct watcher watch_dose[] = {DOSE, {0}};
const struct watcher watch_bounce[] = {BOUNCE, {0}};
const struct watcher watch_pause[] = {PAUSE, {0}};
const struct watcher watch_integral[] = {INTEGRAL, {0}};
const struct watcher watch_dose_and_tally[] = {DOSE, TALLY, {0}};
const struct watcher watch_all[] = {DOSE, BOUNCE, TALLY, {0}};
