// SPDX-License-Identifier: MIT
// quantile(e,q) stays within 1 % of the range where a histogram is hard to keep: signals that grow
// to both sides in turn, linger, jump, have a spike, or do not move.
#include "check.h"
#include "summed.h"

enum { SAMPLES = 400001 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Signals of t, as the model below has them.
static double signal(int which, double t) {
    switch (which) {
    case 0:
        return exp(0.25 * t) * sin(3 * t); // grows to both sides
    case 1:
        return pow(sin(t), 9); // lingers at 0
    case 2:
        return exp(-pow((t - 7) / 0.02, 2)) + 0.01 * sin(t); // a spike
    case 3:
        return 5; // stays
    case 4:
        return fmod(t, 2) < 0.6 ? 1 : -3; // two levels
    case 5:
        return 1e5 + atan(t - 10); // a small range far away
    default:
        return t < 10 ? 0.001 * t : -exp(0.5 * (t - 10)); // one side, then far to the other
    }
}

LONG_TEST(quantile_hard_signals) {
    static const double part[] = {0, 0.02, 0.25, 0.5, 0.75, 0.98, 1};
    struct summed s =
        summed_run("par k=0; y'=0; init y=0;"
                   "aux s=if(k<0.5)then(exp(0.25*t)*sin(3*t))else("
                   "if(k<1.5)then(sin(t)^9)else("
                   "if(k<2.5)then(exp(-((t-7)/0.02)^2)+0.01*sin(t))else("
                   "if(k<3.5)then(5)else(if(k<4.5)then(if(mod(t,2)<0.6)then(1)else(-3))"
                   "else(if(k<5.5)then(1e5+atan(t-10))else("
                   "if(t<10)then(0.001*t)else(-exp(0.5*(t-10)))))))))",
                   "k=0,1,2,3,4,5,6",
                   "method=tsit5 t1=20 dt-max=0.01 device=cpu summary=a=quantile(s,0),"
                   "b=quantile(s,0.02),c=quantile(s,0.25),d=quantile(s,0.5),"
                   "e=quantile(s,0.75),f=quantile(s,0.98),g=quantile(s,1)");
    double *v = calloc(SAMPLES, sizeof *v);
    REQUIRE(v);
    for (int which = 0; which < 7; which++) {
        for (int i = 0; i < SAMPLES; i++)
            v[i] = signal(which, 20 * (i + 0.5) / SAMPLES);
        qsort(v, SAMPLES, sizeof *v, by_value);
        double range = v[SAMPLES - 1] - v[0];
        for (int q = 0; q < 7; q++) {
            const char name[] = {(char)('a' + q), 0};
            double got = summed_value(&s, name, (uint64_t)which, 0);
            double want = v[(int)(part[q] * (SAMPLES - 1))];
            CHECK_MSG(fabs(got - want) <= 0.01 * range,
                      "signal %d, %g: %g, not %g (%g of the range)", which, part[q], got, want,
                      (got - want) / range);
        }
    }
    free(v);
    summed_free(&s);
}

// A step may be as long as what a method solves without an error: powers of the time.
TEST(quantile_powers_in_a_step) {
    static const char *const methods[] = {"tsit5", "rodas5p", "dop853", "vern9"};
    static const int powers[] = {4, 4, 7, 9};
    for (int i = 0; i < 4; i++) {
        char text[40], words[200];
        snprintf(text, sizeof text, "x'=%d*t^%d", powers[i], powers[i] - 1);
        snprintf(words, sizeof words,
                 "t1=1 dt0=1 device=cpu method=%s summary=a=quantile(x,0.9),b=quantile(x,0.94),"
                 "c=quantile(x,0.97),d=quantile(x,0.98)",
                 methods[i]);
        struct summed s = summed_run(text, NULL, words);
        CHECK_NEAR(summed_value(&s, "a", 0, 0), pow(0.9, powers[i]), 0.01);
        CHECK_NEAR(summed_value(&s, "b", 0, 0), pow(0.94, powers[i]), 0.01);
        CHECK_NEAR(summed_value(&s, "c", 0, 0), pow(0.97, powers[i]), 0.01);
        CHECK_NEAR(summed_value(&s, "d", 0, 0), pow(0.98, powers[i]), 0.01);
        summed_free(&s);
    }
}
