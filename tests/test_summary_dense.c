// SPDX-License-Identifier: MIT
// Summaries against a slow reference that shares nothing with them: a signal that is known with its
// derivatives at any time (the sine, and Lorenz by Taylor series in long double), sampled densely,
// with bisection where it turns or crosses. Windows end between steps.
//
// A run's own error is what its samples say, of the signal and of its derivatives along the
// solution. A summary is to be within ten times that, or within ten tolerances of its size; a time
// at which something has a value is as sure as that over its slope.
#include "check.h"
#include "summed.h"

// ---- Signals ------------------------------------------------------------------------------------

enum { ORDER = 24, PIECES = 128 };
#define LORENZ_END 2.0

struct signal {
    const char *model;
    double scale, end, settle, window, at, level, low, high;
    double (*value)(double t, int order); // its derivative of that order
};

static double sine(double t, int order) { return sin(t + order * M_PI / 2); }

// Coefficients of x in each piece, made once.
static long double lorenz_x[PIECES][ORDER + 1];

static void lorenz_make(void) {
    const long double sigma = 10, rho = 28, beta = 8.0L / 3, h = LORENZ_END / PIECES;
    long double y[3] = {1, 0, 0};
    for (int p = 0; p < PIECES; p++) {
        long double *a = lorenz_x[p], b[ORDER + 1], c[ORDER + 1];
        a[0] = y[0], b[0] = y[1], c[0] = y[2];
        for (int k = 0; k < ORDER; k++) {
            long double ac = 0, ab = 0;
            for (int j = 0; j <= k; j++) {
                ac += a[j] * c[k - j];
                ab += a[j] * b[k - j];
            }
            a[k + 1] = sigma * (b[k] - a[k]) / (k + 1);
            b[k + 1] = (rho * a[k] - ac - b[k]) / (k + 1);
            c[k + 1] = (ab - beta * c[k]) / (k + 1);
        }
        y[0] = y[1] = y[2] = 0;
        for (int k = ORDER; k >= 0; k--) {
            y[0] = y[0] * h + a[k];
            y[1] = y[1] * h + b[k];
            y[2] = y[2] * h + c[k];
        }
    }
}

static double lorenz(double t, int order) {
    const double h = LORENZ_END / PIECES;
    int piece = t <= 0 ? 0 : t >= LORENZ_END ? PIECES - 1 : (int)(t / h);
    long double s = t - piece * h, sum = 0;
    for (int k = ORDER; k >= order; k--) {
        long double c = lorenz_x[piece][k];
        for (int i = 0; i < order; i++)
            c *= k - i;
        sum = sum * s + c;
    }
    return (double)sum;
}

static const struct signal signals[] = {
    {"x'=v; v'=-x; init x=0, v=1; aux d=v; aux dd=-x", 1, 20, 0.41, 7.3, 5.5, 0.3, -0.5, 0.6, sine},
    {"x'=10*(y-x); y'=x*(28-z)-y; z'=x*y-8/3*z; init x=1, y=0, z=0; aux d=10*(y-x); "
     "aux dd=10*(x*(28-z)-y-10*(y-x))",
     20, LORENZ_END, 0.13, 0.7, 0.4, 3, -8, 12, lorenz},
};

// ---- The reference ------------------------------------------------------------------------------

enum { SAMPLES = 3000 };

// Where a derivative has the level, between two times at which it is on two sides.
static double root(const struct signal *s, int order, double level, double low, double high) {
    bool up = s->value(low, order) < level;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *((s->value(middle, order) < level) == up ? &low : &high) = middle;
    }
    return low;
}

struct found {
    double t[64];
    bool up[64];
    int count;
};

static struct found roots(const struct signal *s, int order, double level, double from, double to) {
    struct found f = {.count = 0};
    double last = from;
    for (int i = 1; i <= SAMPLES; i++) {
        double t = from + (to - from) * i / SAMPLES;
        bool before = s->value(last, order) > level, now = s->value(t, order) > level;
        if (before != now && f.count < 64) {
            f.up[f.count] = now;
            f.t[f.count++] = root(s, order, level, last, t);
        }
        last = t;
    }
    return f;
}

static double extreme(const struct signal *s, int order, int sign, double from, double to,
                      double *at) {
    struct found f = roots(s, order + 1, 0, from, to);
    f.t[f.count++] = from;
    f.t[f.count++] = to;
    double best = -INFINITY;
    for (int i = 0; i < f.count; i++) {
        double v = sign * s->value(f.t[i], order);
        if (v > best) {
            best = v;
            *at = f.t[i];
        }
    }
    return sign * best;
}

// The integral of a power of the signal, less `off`.
static double integral(const struct signal *s, int power, double off, double from, double to) {
    static const double at[] = {-0.7745966692414834, 0, 0.7745966692414834}, w[] = {5, 8, 5};
    double h = (to - from) / SAMPLES, sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < 3; k++)
            sum += w[k] / 18 * pow(s->value(from + h * (i + (1 + at[k]) / 2), 0) - off, power);
    return sum * h;
}

static double above(const struct signal *s, double level, double from, double to) {
    struct found f = roots(s, 0, level, from, to);
    double sum = 0, begin = s->value(from, 0) > level ? from : NAN;
    for (int i = 0; i < f.count; i++) {
        if (f.up[i])
            begin = f.t[i];
        else
            sum += f.t[i] - begin;
    }
    return s->value(to, 0) > level ? sum + to - (f.count || begin == from ? begin : from) : sum;
}

static double quantile(const struct signal *s, double q, double from, double to) {
    double t, low = extreme(s, 0, -1, from, to, &t), high = extreme(s, 0, 1, from, to, &t);
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;
        *(1 - above(s, middle, from, to) / (to - from) < q ? &low : &high) = middle;
    }
    return low;
}

// ---- Checks -------------------------------------------------------------------------------------

struct check {
    const struct signal *signal;
    const struct summed *run;
    const char *how;
    uint64_t window;
    double from, to;
    double near[3]; // of the signal and its derivatives
};

static void check(const struct check *c, const char *name, uint64_t item, double want,
                  double near) {
    double got = summed_value(c->run, name, 0, item);
    CHECK_MSG(fabs(got - want) <= near, "%s, window %d: %s is %.12g, not %.12g within %g (%g)",
              c->how, (int)c->window, name, got, want, near, got - want);
}

// A time at which the derivative `order` has a value is as sure as that over the next one.
static double sure(const struct check *c, double t, int order) {
    const struct signal *s = c->signal;
    return c->near[order] / fabs(s->value(t, order + 1)) + 1e-12;
}

static void check_time(const struct check *c, const char *name, uint64_t item, double want,
                       int order) {
    check(c, name, item, want, sure(c, want, order));
}

// When an extreme is reached: of several that are equal, or nearly, any will do.
static void check_turn(const struct check *c, const char *name, double value) {
    const struct signal *s = c->signal;
    struct found f = roots(s, 1, 0, c->from, c->to);
    double got = summed_value(c->run, name, 0, c->window), want = NAN;
    for (int i = 0; i < f.count; i++)
        if (fabs(s->value(f.t[i], 0) - value) <= c->near[0] &&
            !(fabs(want - got) < fabs(f.t[i] - got)))
            want = f.t[i];
    if (!isnan(want))
        check_time(c, name, c->window, want, 1);
    else // at an end
        CHECK_MSG(fabs(s->value(got, 0) - value) <= c->near[0], "%s: %s is %g", c->how, name, got);
}

static void check_values(const struct check *c) {
    const struct signal *s = c->signal;
    double a = c->from, b = c->to, t, near = c->near[0], length = b - a;
    double mean = integral(s, 1, 0, a, b) / length;
    uint64_t w = c->window;
    double high = extreme(s, 0, 1, a, b, &t), low = extreme(s, 0, -1, a, b, &t);
    check(c, "max(x)", w, high, near);
    check(c, "min(x)", w, low, near);
    check_turn(c, "tmax(x)", high);
    check_turn(c, "tmin(x)", low);
    check(c, "amplitude(x)", w, high - low, near);
    check(c, "maxabs(x)", w, fmax(high, -low), near);
    check(c, "mean(x)", w, mean, near);
    check(c, "i", w, mean * length, near * length);
    check(c, "rms(x)", w, sqrt(integral(s, 2, 0, a, b) / length), near);
    check(c, "std(x)", w, sqrt(integral(s, 2, mean, a, b) / length), near);
    check(c, "first(x)", w, s->value(a, 0), near);
    check(c, "last(x)", w, s->value(b, 0), near);
    if (s->at >= a && s->at <= b)
        check(c, "here", w, s->value(s->at, 0), near);
    check(c, "q", w, quantile(s, 0.3, a, b), 0.01 * (high - low) + near);
}

static void check_derivatives(const struct check *c) {
    static const char *const names[2][2] = {{"down1", "up1"}, {"down2", "up2"}};
    double t;
    for (int order = 1; order < 3; order++)
        for (int most = 0; most < 2; most++)
            check(c, names[order - 1][most], c->window,
                  extreme(c->signal, order, most ? 1 : -1, c->from, c->to, &t), c->near[order]);
}

// How much time near a level is unsure.
static double unsure(const struct check *c, double level) {
    struct found f = roots(c->signal, 0, level, c->from, c->to);
    double sum = 1e-12;
    for (int i = 0; i < f.count; i++)
        sum += c->near[0] / fabs(c->signal->value(f.t[i], 1));
    return sum;
}

static void check_levels(const struct check *c) {
    const struct signal *s = c->signal;
    double a = c->from, b = c->to;
    uint64_t w = c->window;
    struct found f = roots(s, 0, s->level, a, b);
    int up = 0;
    double first = NAN, last = NAN;
    for (int i = 0; i < f.count; i++)
        if (f.up[i]) {
            last = f.t[i];
            first = up++ ? first : last;
        }
    if (up > 1) {
        double period = (last - first) / (up - 1);
        double off = (sure(c, first, 0) + sure(c, last, 0)) / (up - 1);
        check(c, "T0", w, period, off);
        check(c, "f0", w, 1 / period, off / (period * period) * 1.01);
    }
    check(c, "n", w, f.count, 0);
    check(c, "up", w, up, 0);
    if (f.count)
        check_time(c, "tc", w, f.t[0], 0);
    check(c, "above", w, above(s, s->level, a, b), unsure(c, s->level));
    double low = above(s, s->low, a, b), high = above(s, s->high, a, b);
    double off = unsure(c, s->low) + unsure(c, s->high);
    double middle = above(s, (s->low + s->high) / 2, a, b);
    off += unsure(c, (s->low + s->high) / 2);
    check(c, "h", 4 * w, b - a - low, off);
    check(c, "h", 4 * w + 1, low - middle, off);
    check(c, "h", 4 * w + 2, middle - high, off);
    check(c, "h", 4 * w + 3, high, off);
}

static void check_peaks(const struct check *c) {
    const struct signal *s = c->signal;
    struct found f = roots(s, 1, 0, c->from, c->to);
    uint64_t n[2] = {0};
    double first = NAN, last = NAN;
    for (int i = 0; i < f.count; i++) {
        const char *name = f.up[i] ? "l" : "p", *when = f.up[i] ? "l.t" : "p.t";
        uint64_t k = n[f.up[i]]++;
        double behind = fabs(s->value(f.t[i], 0) - s->value(c->to, 0));
        if (k >= 2 || (i == f.count - 1 && behind < 0.01 * s->scale))
            continue; // it may not stand out yet
        check(c, name, 2 * c->window + k, s->value(f.t[i], 0), c->near[0]);
        check_time(c, when, 2 * c->window + k, f.t[i], 1);
        if (!f.up[i])
            last = f.t[i], first = k ? first : last;
    }
    if (n[0] == 2 && last > first) {
        double period = last - first, off = sure(c, first, 1) + sure(c, last, 1);
        check(c, "T", c->window, period, off);
        check(c, "f", c->window, 1 / period, off / (period * period) * 1.01);
    }
}

#define PLAIN                                                                                      \
    "summary=max(x),min(x),tmax(x),tmin(x),mean(x),rms(x),std(x),i=integral(x),first(x),last(x),"  \
    "here=at(x,%g),n=crossings(x,%g),up=crossings(x,%g,rising),tc=tcross(x,%g),above=time_above("  \
    "x,%"                                                                                          \
    "g)"                                                                                           \
    ",T=period(x),p=peaks(x,2),l=troughs(x,2),h=histogram(x,%g,%g,2),q=quantile(x,0.3),"           \
    "amplitude(x),maxabs(x),f=frequency(x),T0=period(x,%g),f0=frequency(x,%g)"
#define DERIVATIVES ",up1=dmax(x),down1=dmin(x),up2=d2max(x),down2=d2min(x)"

// The largest error of samples of a derivative, which come from the same run, or the tolerance of
// the largest value.
static double worst_sample(const struct summed *run, const struct signal *s, double rtol,
                           int order) {
    uint64_t samples = shoal_result_samples(run->result, 0);
    double worst = 0;
    for (uint64_t i = 0; i < samples; i++) {
        double t = shoal_result_t(run->result, 0, i), want = s->value(t, order);
        double got = shoal_result_value(run->result, (uint32_t)order, 0, i);
        CHECK(isfinite(got));
        worst = fmax(worst, fmax(fabs(got - want), rtol * fabs(want)));
    }
    return worst;
}

// With the derivatives, or without: then all are states, which are looked at in another way.
static void check_run(const struct signal *s, const char *method, double rtol, bool derivatives) {
    char how[80];
    snprintf(how, sizeof how, "%s at %g", method, rtol);
    struct summed run = summed_run(
        s->model, NULL,
        "method=%s rtol=%g atol=%g t1=%g settle=%g window=%g save=n=801 vars=x,d,dd "
        "device=cpu " PLAIN "%s",
        method, rtol, rtol, s->end, s->settle, s->window, s->at, s->level, s->level, s->level,
        s->level, s->low, s->high, s->level, s->level, derivatives ? DERIVATIVES : "");
    struct check c = {s, &run, how, 0, 0, 0, {0}};
    for (int i = 0; i < 3; i++)
        c.near[i] = 10 * worst_sample(&run, s, rtol, i);
    for (; s->settle + (double)c.window * s->window < s->end; c.window++) {
        c.from = s->settle + (double)c.window * s->window;
        c.to = fmin(c.from + s->window, s->end);
        check_values(&c);
        if (derivatives)
            check_derivatives(&c);
        check_levels(&c);
        check_peaks(&c);
    }
    summed_free(&run);
}

TEST(summary_dense_explicit) {
    lorenz_make();
    static const double rtol[] = {1e-4, 1e-6, 1e-9};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++)
            if (check_does(i, k, 2))
                check_run(&signals[k], "tsit5", rtol[i], k);
}

LONG_TEST(summary_dense_methods) {
    lorenz_make();
    static const char *const method[] = {"bs32",     "tsit5",   "dopri5", "fehlberg-45",  "dop853",
                                         "vern9",    "rodas5p", "rodas4", "rosenbrock23", "sdirk4",
                                         "kvaerno5", "radau5",  "auto"};
    static const double rtol[] = {1e-4, 1e-6, 1e-8};
    for (size_t m = 0; m < sizeof method / sizeof *method; m++)
        for (int i = 0; i < (strstr("bs32 rosenbrock23", method[m]) ? 2 : 3); i++)
            for (int k = 0; k < 4; k++)
                check_run(&signals[k % 2], method[m], rtol[i], k / 2);
}
