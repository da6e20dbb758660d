// SPDX-License-Identifier: MIT
// See ticks.h.
#include "plot/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double axis_place(const struct axis *a, double value) {
    if (a->log)
        return value > 0 ? log(value / a->low) / log(a->high / a->low) : (double)NAN;
    double width = a->high - a->low;
    if (isfinite(width))
        return (value - a->low) / width;
    return (value / 2 - a->low / 2) / (a->high / 2 - a->low / 2);
}

double axis_value(const struct axis *a, double place) {
    if (a->log)
        return a->low * pow(a->high / a->low, place);
    return a->low * (1 - place) + a->high * place;
}

// "1e+06" is 1e6; a minus without a number behind it is none.
static void shorten(char *text) {
    char *e = strchr(text, 'e');
    if (!e)
        return;
    char *digits = e + 1, sign = *digits;
    while (*digits == '+' || *digits == '-' || (*digits == '0' && digits[1]))
        digits++;
    char *to = e + 1;
    if (sign == '-')
        *to++ = '-';
    memmove(to, digits, strlen(digits) + 1);
}

// A program may have set a locale: whatever stands for the point is one.
static void make_point(char *text) {
    char *to = text;
    bool was = false;
    for (const char *from = text; *from; from++) {
        bool known = strchr("0123456789+-einfa", *from) != NULL;
        if (known || !was)
            *to++ = known ? *from : '.';
        was = !known;
    }
    *to = 0;
}

void number_short(double value, int digits, char text[TICK_ROOM]) {
    double size = fabs(value);
    if (value == 0)
        value = 0;                                                  // without a sign
    int whole = size >= 1 && size < 1e6 ? (int)log10(size) + 1 : 1; // digits before the point
    digits = digits > whole ? digits : whole;
    if (size != 0 && isfinite(value) && (size >= 1e6 || size < 1e-4))
        snprintf(text, TICK_ROOM, "%.*e", digits > 1 ? digits - 1 : 0, value);
    else
        snprintf(text, TICK_ROOM, "%.*g", digits, value);
    make_point(text);
    char *e = strchr(text, 'e'), *point = strchr(text, '.');
    if (e && point && point < e) { // 1.50e+06: zeros at the end say nothing
        char *last = e;
        while (last[-1] == '0')
            last--;
        if (last[-1] == '.')
            last--;
        memmove(last, e, strlen(e) + 1);
    }
    shorten(text);
}

// 1, 2 or 5 times a power of ten, at least `least`.
static double round_step(double least) {
    double power = pow(10, floor(log10(least)));
    static const double factors[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (factors[i] * power >= least * (1 - 1e-9))
            return factors[i] * power;
    return 10 * power;
}

// So many digits that numbers a step apart differ.
static int digits_for(double largest, double step) {
    int digits = (int)floor(log10(largest)) - (int)floor(log10(step) + 1e-9) + 1;
    return digits < 1 ? 1 : digits > 15 ? 15 : digits;
}

static void add_tick(struct axis *a, double at, int digits) {
    if (a->count == TICKS_MOST)
        return;
    struct tick *t = &a->tick[a->count++];
    t->at = at;
    t->text[0] = 0;
    if (digits)
        number_short(at, digits, t->text);
}

static void add_linear(struct axis *a, uint32_t most) {
    double step = round_step((a->high / most - a->low / most));
    double first = ceil(a->low / step - 1e-6), last = floor(a->high / step + 1e-6);
    double largest = fmax(fabs(a->low), fabs(a->high));
    int digits = digits_for(largest, step);
    for (double k = first; k <= last && a->count < TICKS_MOST; k++)
        add_tick(a, k * step, digits);
}

// Powers of ten; of few, multiples between them too.
static void add_log(struct axis *a, uint32_t most) {
    static const int some[] = {1, 2, 5}, one[] = {1};
    int low = (int)floor(log10(a->low) + 1e-9), high = (int)ceil(log10(a->high) - 1e-9);
    double decades = log10(a->high / a->low);
    const int *factor = decades < 3 ? some : one;
    int factors = decades < 3 ? 3 : 1, step = 1 + (int)(decades / (most > 1 ? most : 2));
    for (int power = low; power <= high; power += step)
        for (int i = 0; i < factors; i++) {
            double at = factor[i] * pow(10, power);
            if (at >= a->low * (1 - 1e-9) && at <= a->high * (1 + 1e-9))
                add_tick(a, at, 2);
        }
    if (a->count < 2) { // far less than a decade
        a->count = 0;
        add_linear(a, most);
    }
}

void axis_make(struct axis *a, const char *label, double low, double high, bool log,
               uint32_t most) {
    if (low > high) {
        double other = low;
        low = high;
        high = other;
    }
    if (!isfinite(low) || !isfinite(high)) {
        low = log ? 1 : 0;
        high = log ? 10 : 1;
    }
    if (log && !(low > 1e-290)) {
        low = 1;
        high = high > 1 ? high : 10;
    }
    double least = fmax(1e-13 * fmax(fabs(low), fabs(high)), 1e-290);
    if (log ? !(high / low > 1 + 1e-12) : !(high - low > least)) {
        double more = log ? 2 : fabs(low) > 1e-280 ? fabs(low) / 2 : 1; // one value only
        low = log ? low / more : low - more;
        high = log ? high * more : high + more;
    }
    *a = (struct axis){.label = label, .low = low, .high = high, .log = log};
    (log ? add_log : add_linear)(a, most < 2 ? 2 : most);
}

void axis_make_round(struct axis *a, const char *label, double low, double high, bool log,
                     uint32_t most) {
    axis_make(a, label, low, high, log, most);
    if (log) {
        double room = pow(a->high / a->low, 0.03);
        axis_make(a, label, a->low / room, a->high * room, log, most);
        return;
    }
    double step = a->count > 1 ? a->tick[1].at - a->tick[0].at : 0, width = a->high - a->low;
    double down = step > 0 ? floor(a->low / step + 1e-9) * step : a->low;
    double up = step > 0 ? ceil(a->high / step - 1e-9) * step : a->high;
    // A round end where it costs little, else some air.
    down = a->low - down < 0.12 * width ? down : a->low - 0.04 * width;
    up = up - a->high < 0.12 * width ? up : a->high + 0.04 * width;
    axis_make(a, label, isfinite(down) ? down : a->low, isfinite(up) ? up : a->high, log, most);
}

void axis_make_names(struct axis *a, const char *label, const char *const *names, uint32_t count) {
    axis_make(a, label, -0.5, count - 0.5, false, 4);
    a->count = 0;
    for (uint32_t i = 0; i < count && a->count < TICKS_MOST; i++) {
        struct tick *t = &a->tick[a->count++];
        t->at = i;
        snprintf(t->text, sizeof t->text, "%s", names[i]);
    }
}
