// SPDX-License-Identifier: MIT
// Lines of equal value on a grid: marching squares, and the pieces of each line joined. A cell has
// a piece where two of its edges are crossed; a crossing of an edge is known by the edge, which two
// cells share, so joining needs no search.
#include "plot/contour.h"

#include <math.h>
#include <string.h>

struct tracer {
    struct arena *arena;
    const struct contour_grid *g;
    double level;
    uint32_t *link; // [2 * edges][2]: the edges that a crossing is joined with, plus one
    struct contour *out;
    uint64_t crossings;
};

static double value_at(const struct contour_grid *g, uint32_t i, uint32_t k) {
    return g->value[(size_t)k * g->width + i];
}

// Edges to the right of (i, k), and behind all those the edges upwards.
static uint32_t edge_right(const struct contour_grid *g, uint32_t i, uint32_t k) {
    return k * g->width + i;
}

static uint32_t edge_up(const struct contour_grid *g, uint32_t i, uint32_t k) {
    return g->width * g->height + k * g->width + i;
}

static void join(struct tracer *t, uint32_t a, uint32_t b) {
    t->link[2 * a + (t->link[2 * a] != 0)] = b + 1;
    t->link[2 * b + (t->link[2 * b] != 0)] = a + 1;
}

// One cell; its corners are (i, k) to (i + 1, k + 1).
static void cross_cell(struct tracer *t, uint32_t i, uint32_t k) {
    const struct contour_grid *g = t->g;
    double corner[4] = {value_at(g, i, k), value_at(g, i + 1, k), value_at(g, i + 1, k + 1),
                        value_at(g, i, k + 1)};
    uint32_t edge[4] = {edge_right(g, i, k), edge_up(g, i + 1, k), edge_right(g, i, k + 1),
                        edge_up(g, i, k)};
    uint32_t crossed[4], count = 0;
    for (int c = 0; c < 4; c++) {
        double a = corner[c], b = corner[(c + 1) % 4];
        if (!isfinite(a) || !isfinite(b))
            return;
        if ((a >= t->level) != (b >= t->level))
            crossed[count++] = edge[c];
    }
    if (!count)
        return;
    t->crossings++;
    bool middle = (corner[0] + corner[1] + corner[2] + corner[3]) / 4 >= t->level;
    if (count == 2)
        join(t, crossed[0], crossed[1]);
    else if (middle == (corner[0] >= t->level)) { // a saddle: corners 1 and 3 are cut off
        join(t, crossed[0], crossed[1]);
        join(t, crossed[2], crossed[3]);
    } else {
        join(t, crossed[3], crossed[0]);
        join(t, crossed[1], crossed[2]);
    }
}

static void put_point(struct tracer *t, double x, double y) {
    struct contour *c = t->out;
    *vec_push(t->arena, &c->x) = x;
    *vec_push(t->arena, &c->y) = y;
}

// Where the edge is crossed, on the straight line between its ends.
static void put_crossing(struct tracer *t, uint32_t edge) {
    const struct contour_grid *g = t->g;
    bool up = edge >= g->width * g->height;
    uint32_t at = up ? edge - g->width * g->height : edge, i = at % g->width, k = at / g->width;
    double a = value_at(g, i, k), b = value_at(g, i + !up, k + up),
           share = (t->level - a) / (b - a);
    put_point(t, up ? g->x[i] : g->x[i] + (g->x[i + 1] - g->x[i]) * share,
              up ? g->y[k] + (g->y[k + 1] - g->y[k]) * share : g->y[k]);
}

// From a crossing on, until the line ends or comes back; links are taken away on the way.
static void follow(struct tracer *t, uint32_t edge) {
    put_crossing(t, edge);
    for (;;) {
        uint32_t *own = &t->link[2 * edge], which = own[0] ? 0 : 1, next = own[which];
        if (!next--)
            break;
        own[which] = 0;
        uint32_t *other = &t->link[2 * next];
        other[other[0] == edge + 1 ? 0 : 1] = 0;
        put_crossing(t, next);
        edge = next;
    }
    put_point(t, NAN, NAN);
}

uint64_t contour_trace(struct arena *arena, const struct contour_grid *g, double level,
                       struct contour *out) {
    uint32_t edges = 2 * g->width * g->height;
    struct tracer t = {.arena = arena, .g = g, .level = level, .out = out};
    t.link = arena_new(arena, uint32_t, 2 * (size_t)edges);
    for (uint32_t k = 0; k + 1 < g->height; k++)
        for (uint32_t i = 0; i + 1 < g->width; i++)
            cross_cell(&t, i, k);
    for (int loops = 0; loops < 2; loops++) // lines that end first, then those that come back
        for (uint32_t e = 0; e < edges; e++)
            if (loops ? t.link[2 * e] || t.link[2 * e + 1] : !t.link[2 * e] != !t.link[2 * e + 1])
                follow(&t, e);
    return t.crossings;
}
