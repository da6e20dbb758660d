// SPDX-License-Identifier: MIT
// Where steps must end so that they see what is in a signal.
//
// The stages of a step look at a few times in it. What lies between them is seen by nobody: a pulse
// of ten samples in a step of thirty would be passed over, and the step would count as good. So
// steps are short, 32 samples at most, and where five samples of such a stretch do not tell what
// the others are, shorter: its samples are cut into pieces of which that is true. A signal that is
// linear between samples bends sharply at them, which no error estimate is made for: there the
// middles between samples must be told, too, and as closely as the run is to be right.
#include "ode/run/driver.h"

#include <math.h>
#include <stdlib.h>

enum { SEEN = 5, LONGEST = SIGNAL_BLOCK, STRIDE = 4 };

static const double MISSED_MOST = 0.01, MISSED_AT_BENDS = 0.001; // of the range of a signal

double driver_room(bool bends, double rtol) {
    return bends ? fmin(MISSED_AT_BENDS, rtol) : MISSED_MOST;
}

struct stretch {
    const double *t, *v; // t NULL: at equal distances
    double room;
    bool bends; // it is linear between samples
};

static double time_of(const struct stretch *s, uint64_t i) { return s->t ? s->t[i] : (double)i; }

// The polynomial through the samples that are seen, at x (Lagrange's formula).
static double through(uint64_t seen, const double *t, const double *v, double x) {
    double sum = 0;
    for (uint64_t i = 0; i < seen; i++) {
        double product = v[i];
        for (uint64_t k = 0; k < seen; k++)
            product *= k == i ? 1 : (x - t[k]) / (t[i] - t[k]);
        sum += product;
    }
    return sum;
}

// How far a stretch of `length` intervals is from what five of its samples tell, as far as it was
// looked at: no further than `room`. Fewer intervals are told one by one where samples are all that
// is looked at.
static double missed(const struct stretch *s, uint64_t first, uint64_t length) {
    double t[SEEN], v[SEEN], begin = time_of(s, first), most = 0;
    uint64_t seen = length < SEEN ? length + 1 : SEEN;
    if (length < SEEN && !s->bends)
        return length == 1 ? 0 : INFINITY;
    for (uint64_t i = 0; i < seen; i++) {
        uint64_t at = first + length * i / (seen - 1);
        t[i] = time_of(s, at) - begin;
        v[i] = s->v[at];
    }
    for (uint64_t i = first; i < first + length && most <= s->room; i++) {
        double from = time_of(s, i) - begin, middle = from + (time_of(s, i + 1) - begin - from) / 2;
        double between = s->v[i] + (s->v[i + 1] - s->v[i]) / 2;
        most = fmax(most, fabs(through(seen, t, v, from) - s->v[i]));
        if (s->bends)
            most = fmax(most, fabs(through(seen, t, v, middle) - between));
    }
    return most;
}

static double range_of(uint64_t count, const double *v) {
    double low = v[0], high = v[0];
    for (uint64_t i = 1; i < count; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    return high - low;
}

// The values with what comes before and behind them, as many as a step can see.
static double *with_ends(uint64_t count, const double *v, enum driver_ends ends) {
    double *all = malloc((count + 2 * LONGEST) * sizeof *all);
    for (uint64_t i = 0; all && i < count + 2 * LONGEST; i++) {
        uint64_t inner = count - 1, turns = inner ? (i + inner * LONGEST - LONGEST) % inner : 0;
        uint64_t near = i < LONGEST ? 0 : i - LONGEST < inner ? i - LONGEST : inner;
        all[i] = v[ends == ENDS_periodic ? turns : near];
    }
    return all;
}

double driver_missed(uint64_t count, const double *v, bool bends, enum driver_ends ends) {
    bool inside = ends == ENDS_error || ends == ENDS_zero; // those have stops of their own
    double range = range_of(count, v), most = 0;
    if (!(range > 0)) // as that of one sample
        return 0;
    double *all = inside ? NULL : with_ends(count, v, ends);
    if (!inside && !all)
        return INFINITY;
    struct stretch s = {
        .v = inside ? v : all, .room = driver_room(bends, INFINITY) * range, .bends = bends};
    uint64_t intervals = (inside ? count : count + 2 * LONGEST) - 1;
    uint64_t length = intervals < LONGEST ? intervals : LONGEST;
    for (uint64_t first = 0; most <= s.room && first + length <= intervals; first += STRIDE)
        most = fmax(most, missed(&s, first, length));
    most = fmax(most, missed(&s, intervals - length, length));
    free(all);
    return most / range;
}

uint64_t driver_cut(uint64_t count, const double *t, const double *v, bool bends, double room,
                    uint32_t *lengths) {
    static const uint8_t tried[] = {LONGEST, 24, 16, 12, 8, 6, 4, 3, 2, 1};
    struct stretch s = {.t = t, .v = v, .room = room * range_of(count, v), .bends = bends};
    uint64_t pieces = 0, length = 0;
    for (uint64_t first = 0; first + 1 < count; first += length) {
        uint64_t left = count - 1 - first;
        for (size_t k = 0; k < sizeof tried; k++) {
            length = left < tried[k] ? left : tried[k];
            if (missed(&s, first, length) <= s.room)
                break;
        }
        lengths[pieces++] = (uint32_t)length;
    }
    return pieces;
}
