// SPDX-License-Identifier: MIT
// How long the steps of an explicit method may be: the end of its stability region on the real
// axis.
#include "ode/method/method.h"

// What a step of length h makes of 1 in y' = -y.
static double growth(const struct method *m, double h) {
    double slope[METHOD_STAGES], y1 = 1;
    for (uint32_t i = 0; i < m->stages; i++) {
        double y = 1;
        for (uint32_t j = 0; j < i; j++)
            y += h * m->a[i][j] * slope[j];
        slope[i] = -y;
        y1 += h * m->b[i] * slope[i];
    }
    return y1 < 0 ? -y1 : y1;
}

double method_stability(const struct method *m) {
    enum { STEPS = 64, LONGEST = 64, HALVINGS = 20 };
    double inside = 0, outside = 0;
    while (outside < LONGEST && growth(m, outside) <= 1)
        inside = outside, outside += 1.0 / STEPS;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (inside + outside) / 2;
        if (growth(m, middle) <= 1)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}
