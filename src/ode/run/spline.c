// SPDX-License-Identifier: MIT
// A cubic between two samples is given by values and slopes at both. The slopes of a spline make
// its second derivative continuous, which is one tridiagonal equation for each sample but the ends;
// natural ends have no curvature, clamped ones no slope, not-a-knot ones the third derivative of
// their neighbours, periodic ones are the same sample. Those of the monotone cubic are harmonic
// means (Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5, 1984), so that it stays between its
// samples.
#include "ode/run/spline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(name, degree) #name,
const char *const spline_names[SPLINE_KIND_COUNT] = {SPLINE_KINDS(X)};
#undef X
#define X(name, degree) degree,
const uint8_t spline_degrees[SPLINE_KIND_COUNT] = {SPLINE_KINDS(X)};
#undef X

// Row i: below * d[i-1] + on * d[i] + above * d[i+1] = right.
struct row {
    double below, on, above, right;
};

struct samples {
    uint64_t count;
    const double *t, *v;
};

static double width(const struct samples *s, uint64_t i) { return s->t[i + 1] - s->t[i]; }

static double rise(const struct samples *s, uint64_t i) {
    return (s->v[i + 1] - s->v[i]) / width(s, i);
}

// Between the intervals of widths h0 and h1, in which the signal rises by r0 and r1.
static struct row row_between(double h0, double h1, double r0, double r1) {
    return (struct row){h1, 2 * (h0 + h1), h0, 3 * (h1 * r0 + h0 * r1)};
}

// At an end, where the third derivative does not change at the next sample.
static struct row row_not_a_knot(double h0, double h1, double r0, double r1) {
    double both = h0 + h1;
    return (struct row){0, h1, both, ((h0 + 2 * both) * h1 * r0 + h0 * h0 * r1) / both};
}

static struct row mirrored(struct row r) { return (struct row){r.above, r.on, r.below, r.right}; }

static void set_ends(const struct samples *s, enum spline_kind kind, struct row *row) {
    uint64_t last = s->count - 1;
    if (kind == SPLINE_natural) {
        row[0] = (struct row){0, 2, 1, 3 * rise(s, 0)};
        row[last] = (struct row){1, 2, 0, 3 * rise(s, last - 1)};
    } else if (kind == SPLINE_clamped) {
        row[0] = row[last] = (struct row){0, 1, 0, 0};
    } else {
        row[0] = row_not_a_knot(width(s, 0), width(s, 1), rise(s, 0), rise(s, 1));
        row[last] = mirrored(row_not_a_knot(width(s, last - 1), width(s, last - 2),
                                            rise(s, last - 1), rise(s, last - 2)));
    }
}

// Elimination without exchange: every matrix here keeps its diagonal positive.
static void solve(struct row *row, uint64_t count, double *x) {
    for (uint64_t i = 1; i < count; i++) {
        double factor = row[i].below / row[i - 1].on;
        row[i].on -= factor * row[i - 1].above;
        row[i].right -= factor * row[i - 1].right;
    }
    x[count - 1] = row[count - 1].right / row[count - 1].on;
    for (uint64_t i = count - 1; i-- > 0;)
        x[i] = (row[i].right - row[i].above * x[i + 1]) / row[i].on;
}

// Three samples and not-a-knot ends leave one parabola.
static void parabola(const struct samples *s, double *slope) {
    double h0 = width(s, 0), h1 = width(s, 1), r0 = rise(s, 0), r1 = rise(s, 1);
    double bend = (r1 - r0) / (h0 + h1);
    slope[0] = r0 - bend * h0;
    slope[1] = r0 + bend * h0;
    slope[2] = r1 + bend * h1;
}

static bool spline_slopes(const struct samples *s, enum spline_kind kind, double *slope) {
    if (kind == SPLINE_notaknot && s->count == 2) {
        slope[0] = slope[1] = rise(s, 0);
        return true;
    }
    if (kind == SPLINE_notaknot && s->count == 3) {
        parabola(s, slope);
        return true;
    }
    struct row *row = malloc(s->count * sizeof *row);
    if (!row)
        return false;
    for (uint64_t i = 1; i + 1 < s->count; i++)
        row[i] = row_between(width(s, i - 1), width(s, i), rise(s, i - 1), rise(s, i));
    set_ends(s, kind, row);
    solve(row, s->count, slope);
    free(row);
    return true;
}

// The last sample is the first: the matrix has two corners, which are taken out as one product of
// vectors (Sherman and Morrison).
static bool periodic_slopes(const struct samples *s, double *slope) {
    uint64_t n = s->count - 1;
    struct row *row = malloc(2 * n * sizeof *row), *other = row ? row + n : NULL;
    double *part = malloc(n * sizeof *part);
    for (uint64_t i = 0; row && part && i < n; i++) {
        uint64_t before = i ? i - 1 : n - 1;
        row[i] = row_between(width(s, before), width(s, i), rise(s, before), rise(s, i));
    }
    if (row && part && n == 1) {
        slope[0] = 0;
    } else if (row && part && n == 2) {
        double off0 = row[0].below + row[0].above, off1 = row[1].below + row[1].above;
        double det = row[0].on * row[1].on - off0 * off1;
        slope[0] = (row[0].right * row[1].on - off0 * row[1].right) / det;
        slope[1] = (row[0].on * row[1].right - row[0].right * off1) / det;
    } else if (row && part) {
        double top = row[0].below, bottom = row[n - 1].above, gamma = -row[0].on;
        row[0].on -= gamma;
        row[n - 1].on -= top * bottom / gamma;
        row[0].below = row[n - 1].above = 0;
        memcpy(other, row, n * sizeof *row);
        for (uint64_t i = 0; i < n; i++)
            other[i].right = i == 0 ? gamma : i == n - 1 ? bottom : 0;
        solve(row, n, slope);
        solve(other, n, part);
        double factor =
            (slope[0] + top * slope[n - 1] / gamma) / (1 + part[0] + top * part[n - 1] / gamma);
        for (uint64_t i = 0; i < n; i++)
            slope[i] -= factor * part[i];
    }
    bool good = row && part;
    if (good)
        slope[n] = slope[0];
    free(row);
    free(part);
    return good;
}

// At an end: that of a parabola through three samples, unless it would turn.
static double monotone_end(double h0, double h1, double r0, double r1) {
    double d = ((2 * h0 + h1) * r0 - h0 * r1) / (h0 + h1);
    if (d * r0 <= 0)
        return 0;
    return r0 * r1 <= 0 && fabs(d) > 3 * fabs(r0) ? 3 * r0 : d;
}

static void monotone_slopes(const struct samples *s, double *slope) {
    uint64_t last = s->count - 1;
    if (s->count == 2) {
        slope[0] = slope[1] = rise(s, 0);
        return;
    }
    for (uint64_t i = 1; i < last; i++) {
        double h0 = width(s, i - 1), h1 = width(s, i), r0 = rise(s, i - 1), r1 = rise(s, i);
        double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
        bool same = (r0 > 0 && r1 > 0) || (r0 < 0 && r1 < 0);
        slope[i] = same ? (w0 + w1) / (w0 / r0 + w1 / r1) : 0;
    }
    slope[0] = monotone_end(width(s, 0), width(s, 1), rise(s, 0), rise(s, 1));
    slope[last] =
        monotone_end(width(s, last - 1), width(s, last - 2), rise(s, last - 1), rise(s, last - 2));
}

static void put_cubics(const struct samples *s, const double *slope, double *c) {
    for (uint64_t i = 0; i + 1 < s->count; i++, c += 4) {
        double h = width(s, i), r = rise(s, i), a = slope[i], b = slope[i + 1];
        c[0] = s->v[i];
        c[1] = a;
        c[2] = (3 * r - 2 * a - b) / h;
        c[3] = (a + b - 2 * r) / (h * h);
    }
}

bool spline_make(enum spline_kind kind, uint64_t count, const double *t, const double *v,
                 double *coefficients) {
    struct samples s = {count, t, v};
    if (spline_degrees[kind] < 3) {
        for (uint64_t i = 0; i + 1 < count; i++) {
            *coefficients++ = v[i];
            if (kind == SPLINE_linear)
                *coefficients++ = rise(&s, i);
        }
        return true;
    }
    double *slope = malloc(count * sizeof *slope);
    bool good = slope != NULL;
    if (good && kind == SPLINE_periodic)
        good = periodic_slopes(&s, slope);
    else if (good && kind == SPLINE_monotone)
        monotone_slopes(&s, slope);
    else if (good)
        good = spline_slopes(&s, kind, slope);
    if (good)
        put_cubics(&s, slope, coefficients);
    free(slope);
    return good;
}
