// SPDX-License-Identifier: MIT
// Points of a sweep; sweep.h says what is promised.
#include "ode/batch/sweep.h"

#include <math.h>
#include <string.h>

// (a (n-i) + b i) / n, rounded once: products, sum and quotient carry what they lost.
static inline double point(double a, double b, double i, double n) {
    double p = a * (n - i), q = b * i, s = p + q;
    double p_lost = fma(a, n - i, -p), q_lost = fma(b, i, -q);
    double part = s - p, s_lost = (p - (s - part)) + (q - part);
    double v = s / n;
    return v + (fma(-v, n, s) + (s_lost + (p_lost + q_lost))) / n;
}

// A straight line from first to last, whose ends may have been scaled.
struct line {
    double a, b, steps, scale;
};

enum { BLOCK = 8 }; // points that compilers make vectors of

// Points that 32 bits can count, from one that a double holds exactly.
static inline __attribute__((always_inline)) void fill_few(const struct line *line, uint64_t first,
                                                           int32_t n, double *out) {
    const struct line l = *line;
    double from = (double)first;
    int32_t k = 0;
    for (; k + BLOCK <= n; k += BLOCK)
        for (int32_t j = 0; j < BLOCK; j++)
            out[k + j] = point(l.a, l.b, from + (double)(k + j), l.steps) / l.scale;
    for (; k < n; k++)
        out[k] = point(l.a, l.b, from + (double)k, l.steps) / l.scale;
}

typedef void fill_points(const struct line *line, uint64_t first, int32_t n, double *out);

static void fill_plain(const struct line *line, uint64_t first, int32_t n, double *out) {
    fill_few(line, first, n, out);
}

#ifdef __x86_64__
// The same bits by the processor's own fma, eight times as fast.
__attribute__((target("avx2,fma"))) static void fill_quick(const struct line *line, uint64_t first,
                                                           int32_t n, double *out) {
    fill_few(line, first, n, out);
}
#endif

static fill_points *filler(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return fill_quick;
#endif
    return fill_plain;
}

static void fill_lin(const struct sweep *s, uint64_t first, uint64_t n, double *out) {
    // Keeps the products of huge ends finite; powers of two change no digit.
    double scale = fmax(fabs(s->first), fabs(s->last)) > 0x1p900 ? 0x1p-64 : 1;
    struct line line = {s->first * scale, s->last * scale, (double)(s->count - 1), scale};
    fill_points *fill = filler();
    for (uint64_t done = 0; done < n;) {
        int32_t some = n - done < 1 << 30 ? (int32_t)(n - done) : 1 << 30;
        fill(&line, first + done, some, out + done);
        done += (uint64_t)some;
    }
}

// By powers of ten, so that decades come out exactly; both ends have the same sign.
static void fill_log(const struct sweep *s, uint64_t first, uint64_t n, double *out) {
    double a = fabs(s->first), b = fabs(s->last), least = fmin(a, b), most = fmax(a, b);
    double log_a = log10(a), log_b = log10(b), steps = (double)(s->count - 1);
    for (uint64_t k = 0; k < n; k++) {
        double v = pow(10, point(log_a, log_b, (double)(first + k), steps));
        out[k] = copysign(fmin(fmax(v, least), most), s->first);
    }
}

void sweep_values(const struct sweep *s, uint64_t first, uint64_t n, double *out) {
    if (n == 0)
        return;
    if (s->scale == SWEEP_LIST) {
        memcpy(out, s->values + first, (size_t)n * sizeof *out);
        return;
    }
    if (s->count > 1)
        (s->scale == SWEEP_LIN ? fill_lin : fill_log)(s, first, n, out);
    if (first == 0)
        out[0] = s->first;
    if (s->count > 1 && first + n == s->count)
        out[n - 1] = s->last;
}
