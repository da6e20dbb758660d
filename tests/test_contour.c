// SPDX-License-Identifier: MIT
// Lines of equal value on a grid, against closed forms.
#include "check.h"
#include "plot/contour.h"

enum { SIDE = 41 };

static double values[SIDE * SIDE], places[SIDE];

static struct contour_grid grid_of(double (*f)(double x, double y)) {
    for (int i = 0; i < SIDE; i++)
        places[i] = -2 + 0.1 * i;
    for (int k = 0; k < SIDE; k++)
        for (int i = 0; i < SIDE; i++)
            values[k * SIDE + i] = f(places[i], places[k]);
    return (struct contour_grid){SIDE, SIDE, values, places, places};
}

static uint32_t lines_in(const struct contour *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->x.count; i++)
        n += isnan(c->x.items[i]) != 0;
    return n;
}

static double plane(double x, double y) { return x + 2 * y; }
static double bowl(double x, double y) { return x * x + y * y; }
static double saddle(double x, double y) { return x * y; }
static double holes(double x, double y) { return y > 0.45 ? (double)NAN : x; }

TEST(contour_of_a_plane_is_straight) {
    struct contour_grid g = grid_of(plane);
    struct arena arena = {0};
    struct contour c = {0};
    CHECK(contour_trace(&arena, &g, 0.33, &c) > SIDE);
    CHECK_INT(lines_in(&c), 1);
    for (uint32_t i = 0; i + 1 < c.x.count; i++)
        CHECK_NEAR(plane(c.x.items[i], c.y.items[i]), 0.33, 1e-12);
    CHECK_INT(contour_trace(&arena, &g, 7, &c), 0);
    arena_free(&arena);
}

// A ring that closes; the chord of a cell of 0.1 is off by at most its square over 8 of the radius.
TEST(contour_of_a_bowl_is_round) {
    struct contour_grid g = grid_of(bowl);
    struct arena arena = {0};
    struct contour c = {0};
    contour_trace(&arena, &g, 1.7, &c);
    CHECK_INT(lines_in(&c), 1);
    uint32_t last = c.x.count - 2;
    CHECK(c.x.items[0] == c.x.items[last] && c.y.items[0] == c.y.items[last]);
    for (uint32_t i = 0; i <= last; i++)
        CHECK_NEAR(bowl(c.x.items[i], c.y.items[i]), 1.7, 0.01);
    arena_free(&arena);
}

TEST(contour_of_saddles_and_holes) {
    struct contour_grid g = grid_of(saddle);
    struct arena arena = {0};
    struct contour c = {0}, d = {0};
    contour_trace(&arena, &g, 0.5, &c);
    CHECK_INT(lines_in(&c), 2); // both branches
    for (uint32_t i = 0; i < c.x.count; i++)
        CHECK(isnan(c.x.items[i]) || fabs(saddle(c.x.items[i], c.y.items[i]) - 0.5) < 0.01);
    g = grid_of(holes);
    contour_trace(&arena, &g, 0.05, &d);
    CHECK_INT(lines_in(&d), 1);
    for (uint32_t i = 0; i + 1 < d.x.count; i++)
        CHECK(fabs(d.x.items[i] - 0.05) < 1e-12 && d.y.items[i] < 0.45);
    double corner[] = {1, 0, 0, 1}; // one cell that is crossed four times
    g = (struct contour_grid){2, 2, corner, places, places};
    struct contour e = {0};
    CHECK_INT(contour_trace(&arena, &g, 0.4, &e), 1);
    CHECK_INT(lines_in(&e), 2);
    arena_free(&arena);
}
