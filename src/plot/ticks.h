// SPDX-License-Identifier: MIT
// Axes: from numbers to places, and the round numbers that stand beside them.
#ifndef SHOAL_PLOT_TICKS_H
#define SHOAL_PLOT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

enum { TICKS_MOST = 24, TICK_ROOM = 28 };

struct tick {
    double at;
    char text[TICK_ROOM]; // empty: a small one
};

struct axis {
    const char *label;
    double low, high; // low < high, finite; both above 0 where it is logarithmic
    bool log;
    uint32_t count;
    struct tick tick[TICKS_MOST];
};

// An axis from low to high, made wider where that is no interval. `most` numbers, about.
void axis_make(struct axis *a, const char *label, double low, double high, bool log, uint32_t most);
// The same between the round numbers outside of the interval.
void axis_make_round(struct axis *a, const char *label, double low, double high, bool log,
                     uint32_t most);
// An axis of names at 0, 1, ...; of many the last have none beside them.
void axis_make_names(struct axis *a, const char *label, const char *const *names, uint32_t count);
// 0 at the low end, 1 at the high one; NaN for what has no place.
double axis_place(const struct axis *a, double value);
double axis_value(const struct axis *a, double place);

// A number for people: short, of so many digits.
void number_short(double value, int digits, char text[TICK_ROOM]);

#endif
