// SPDX-License-Identifier: MIT
// Expressions that change faster than the states they are made of: steps, which are as long as the
// states allow, are taken in pieces that are short enough.
#include "check.h"
#include "device_test.h"
#include "summed.h"

static const char line[] = "x'=1; init x=0";

TEST(summary_faster_than_steps) {
    struct summed s = summed_run(
        line, NULL,
        "t1=10 method=tsit5 device=cpu summary=a=mean(sin(20*x)),b=max(sin(20*x)),"
        "c=crossings(sin(20*x),0.5,rising),d=period(sin(20*x)),e=rms(sin(50*t)),"
        "f=time_above(sin(20*x),0),g=integral(sqrt(abs(x-4))),h=integral(x>3),i=min(abs(x-7)),"
        "j=tmin(abs(x-7))");
    CHECK_INT((int)shoal_result_tally(s.result).steps < 20, 1); // they are long
    CHECK_NEAR(summed_value(&s, "a", 0, 0), (1 - cos(200)) / 200, 1e-6);
    CHECK_NEAR(summed_value(&s, "b", 0, 0), 1, 1e-6);
    CHECK_NEAR(summed_value(&s, "c", 0, 0), 32, 0);
    CHECK_NEAR(summed_value(&s, "d", 0, 0), M_PI / 10, 1e-6);
    CHECK_NEAR(summed_value(&s, "e", 0, 0), sqrt(0.5 - sin(1000) / 2000), 1e-5);
    CHECK_NEAR(summed_value(&s, "f", 0, 0), 32 * M_PI / 20, 1e-4);
    CHECK_NEAR(summed_value(&s, "g", 0, 0), (8 + pow(6, 1.5)) * 2 / 3, 1e-4);
    CHECK_NEAR(summed_value(&s, "h", 0, 0), 7, 1e-7);
    CHECK_NEAR(summed_value(&s, "i", 0, 0), 0, 1e-6);
    CHECK_NEAR(summed_value(&s, "j", 0, 0), 7, 1e-6);
    summed_free(&s);
}

// Jumps are found to a part of the tolerance, however small they are and wherever they lie in a
// step; so is what depends on them.
TEST(summary_of_jumps) {
    struct summed s = summed_run("par k=3; x'=1; init x=0", "k=3,3.1,pi,7.99",
                                 "t1=10 method=tsit5 device=cpu summary=a=integral(x>k),"
                                 "b=integral(1+1e-4*heav(x-k)),c=tcross(floor(x/k),0.5),"
                                 "d=max(if(x>k)then(-x)else(-20)),e=mean(mod(x,k)),"
                                 "f=integral(if(t<k)then(x)else(-1)),g=crossings(sign(x-k),0)");
    CHECK_INT((int)shoal_result_tally(s.result).steps < 40, 1); // they are long
    static const double at[] = {3, 3.1, M_PI, 7.99};
    for (uint64_t i = 0; i < 4; i++) {
        double k = at[i], whole = floor(10 / k), rest = 10 - whole * k;
        CHECK_NEAR(summed_value(&s, "a", i, 0), 10 - k, 1e-7);
        CHECK_NEAR(summed_value(&s, "b", i, 0), 10 + 1e-4 * (10 - k), 1e-7);
        CHECK_NEAR(summed_value(&s, "c", i, 0), k, 1e-7);
        CHECK_NEAR(summed_value(&s, "d", i, 0), -k, 1e-7);
        CHECK_NEAR(summed_value(&s, "e", i, 0), (whole * k * k + rest * rest) / 20, 1e-7);
        CHECK_NEAR(summed_value(&s, "f", i, 0), k * k / 2 - (10 - k), 1e-7);
        CHECK_NEAR(summed_value(&s, "g", i, 0), 1, 0);
    }
    summed_free(&s);
}

// How much of the times from a to b sin(k*t) is above c.
static double share_above(double k, double c, double a, double b) {
    double sum = 0;
    for (int n = -9; n < 9; n++) {
        double up = (asin(c) + 2 * M_PI * n) / k, down = (M_PI - asin(c) + 2 * M_PI * n) / k;
        sum += fmax(0, fmin(b, down) - fmax(a, up));
    }
    return sum / (b - a);
}

// What leads to a jump is nearly nothing there, and rounded: pieces are not spent on that.
TEST(summary_of_jumps_in_tight_tolerances) {
    static const char *const how[] = {"dop853", "tsit5", "vern9"};
    for (int i = 0; i < 12; i++) {
        int way = i % 2 ? -1 : 1;
        struct summed s = summed_run("par k=1, c=0; x'=0.36*y; y'=-0.36*x; init x=0, y=1",
                                     "k=lin:0.4:3:24 c=lin:-0.8:0.8:13",
                                     "t1=%g window=1.3 rtol=%s atol=1e-12 method=%s device=cpu "
                                     "summary=m=mean(heav(sin(k*t)-c))",
                                     way * 5.2, i / 2 % 2 ? "1e-9" : "1e-8", how[i / 4]);
        for (int row = 0; row < 24 * 13; row++)
            for (int window = 0; window < 4; window++) {
                double k = 0.4 + 2.6 / 23 * (row / 13), c = -0.8 + 1.6 / 12 * (row % 13);
                double low = way * 1.3 * window, high = low + way * 1.3;
                double want = share_above(k, c, fmin(low, high), fmax(low, high));
                CHECK_NEAR(summed_value(&s, "m", (uint64_t)row, (uint64_t)window), want, 1e-10);
            }
        summed_free(&s);
    }
}

// A state that is large is off by much, and a wave of it still is one.
TEST(summary_waves_of_a_large_state) {
    struct summed s = summed_run("par w=1; x'=w; init x=0", "w=1,5,20,50",
                                 "t1=100 method=tsit5 device=cpu summary=n=crossings(sin(x),0),"
                                 "above=time_above(sin(x),0),m=mean(sin(x))");
    static const double speed[] = {1, 5, 20, 50};
    for (uint64_t i = 0; i < 4; i++) {
        double end = 100 * speed[i], whole = floor(end / (2 * M_PI)) * 2 * M_PI;
        double above = (whole / 2 + fmin(M_PI, end - whole)) / speed[i];
        CHECK_NEAR(summed_value(&s, "n", i, 0), floor(end / M_PI), 0);
        CHECK_NEAR(summed_value(&s, "above", i, 0), above, 1e-6);
        CHECK_NEAR(summed_value(&s, "m", i, 0), (1 - cos(end)) / end, 1e-6);
    }
    summed_free(&s);
}

// What is odd about the middle of a step is seen as well.
TEST(summary_odd_about_the_middle) {
    struct summed s = summed_run(line, NULL,
                                 "t1=10 window=2 method=tsit5 device=cpu "
                                 "summary=n=crossings(sin(50*(x-5)),0),d=std(sin(50*(x-5))),"
                                 "j=std(sign(t-5)),above=time_above(sin(50*(x-5)),0)");
    CHECK_NEAR(summed_value(&s, "n", 0, 2), 31, 0);
    CHECK_NEAR(summed_value(&s, "d", 0, 2), sqrt(0.5 - sin(100) / 200), 1e-5);
    CHECK_NEAR(summed_value(&s, "j", 0, 2), 1, 1e-7);
    CHECK_NEAR(summed_value(&s, "above", 0, 2), 1, 1e-6);
    summed_free(&s);
}

// A step in a part of which there is no value ends where that does.
TEST(summary_without_a_value) {
    struct summed s = summed_run("x'=v; v'=-x; init x=1, v=0", NULL,
                                 "t1=6 method=tsit5 device=cpu summary=a=time_above(log(x),-3),"
                                 "b=time_above(sqrt(x-0.5),0.1),n=crossings(log(x),-3)");
    double a = acos(exp(-3)), b = acos(0.51);
    CHECK_NEAR(summed_value(&s, "a", 0, 0), 2 * a + 6 - 2 * M_PI, 1e-5);
    CHECK_NEAR(summed_value(&s, "b", 0, 0), 2 * b + 6 - 2 * M_PI, 1e-5);
    CHECK_NEAR(summed_value(&s, "n", 0, 0), 2, 0);
    summed_free(&s);
}

// A slope without bounds, where a step ends.
TEST(summary_of_a_root) {
    struct summed s = summed_run("y'=v; v'=-2; init y=1, v=0; event hit when y<0: stop", NULL,
                                 "t1=5 method=tsit5 device=cpu "
                                 "summary=m=mean(sqrt(abs(y))),d=std(sqrt(abs(y)))");
    CHECK_NEAR(summed_value(&s, "m", 0, 0), M_PI / 4, 1e-6);
    CHECK_NEAR(summed_value(&s, "d", 0, 0), sqrt(2.0 / 3 - M_PI * M_PI / 16), 1e-6);
    summed_free(&s);
}

// What is added to an expression changes neither its crossings nor how far it swings.
TEST(summary_of_a_wave_on_a_constant) {
    double wave = sqrt(0.5 - sin(1000) / 2000 - pow((1 - cos(500)) / 500, 2));
    for (int way = 0; way < 2; way++) {
        struct summed s =
            summed_run("par k=0; x'=0; init x=1", "k=0,10,1000,1e6",
                       "t0=%d t1=%d method=tsit5 device=cpu summary=n=crossings(1e6+sin(50*t),1e6),"
                       "d=std(k+sin(50*t)),i=mean(k+sin(50*t))-k,T=period(k+sin(50*t)),"
                       "above=time_above(k+sin(50*t),k)",
                       way ? 10 : 0, way ? 0 : 10);
        for (uint64_t i = 0; i < 4; i++) {
            CHECK_NEAR(summed_value(&s, "n", i, 0), 159, 0);
            CHECK_NEAR(summed_value(&s, "d", i, 0), wave, 2e-5);
            CHECK_NEAR(summed_value(&s, "i", i, 0), (1 - cos(500)) / 500, 1e-6);
            CHECK_NEAR(summed_value(&s, "T", i, 0), 2 * M_PI / 50, 1e-6);
            CHECK_NEAR(summed_value(&s, "above", i, 0), 80 * M_PI / 50, 1e-5);
        }
        summed_free(&s);
    }
}

// How often the sine goes across 0.3 before t.
static double jumps_before(double t) {
    return floor((t - asin(0.3)) / (2 * M_PI)) + floor((t - M_PI + asin(0.3)) / (2 * M_PI));
}

// A jump counts once, however short the pieces are, in which states go to and fro by rounding.
TEST(summary_jumps_count_once) {
    static const char *const how[] = {
        "precision=f32 method=tsit5", "precision=f32 method=vern7", "precision=f32 method=rodas5p",
        "method=tsit5 rtol=1e-12 atol=1e-14", "method=dormand-prince-853 rtol=1e-13 atol=1e-15"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed s =
            summed_run("par a=0; x'=v; v'=-x; x(0)=sin(a); v(0)=cos(a)", "a=lin:0.001:6.001:301",
                       "%s t1=20 device=cpu summary=n=crossings(if(x>0.3)then(1)else(0),0.5),"
                       "up=crossings(heav(x-0.3),0.5,rising)",
                       how[i]);
        int wrong = 0;
        for (uint64_t row = 0; row < 301; row++) {
            double a = 0.001 + 0.02 * (double)row;
            double n = jumps_before(a + 20) - jumps_before(a);
            wrong += summed_value(&s, "n", row, 0) != n;
            wrong += fabs(summed_value(&s, "up", row, 0) - n / 2) > 0.5;
        }
        CHECK_MSG(wrong == 0, "%s: %d are wrong", how[i], wrong);
        summed_free(&s);
    }
}

// What jumps up and down again in a quarter of a step is seen, wherever that is.
TEST(summary_jumps_twice_in_a_step) {
    struct summed s = summed_run("par k=3; x'=1; init x=0", "k=lin:3:7:81",
                                 "t1=10 settle=2 method=tsit5 device=cpu "
                                 "summary=n=crossings(if(x>k)then(x<k+2)else(0),0.5),"
                                 "i=integral(if(x>k)then(x<k+2)else(0))");
    for (uint64_t i = 0; i < 81; i++) {
        CHECK_NEAR(summed_value(&s, "n", i, 0), 2, 0);
        CHECK_NEAR(summed_value(&s, "i", i, 0), 2, 1e-6);
    }
    summed_free(&s);
}

// A step may have as many waves in it, or jumps, as it takes.
TEST(summary_of_thousands_in_a_step) {
    struct summed s = summed_run(line, NULL,
                                 "t1=3000 method=tsit5 device=cpu "
                                 "summary=n=crossings(sin(50*t),0),above=time_above(sin(50*t),0)");
    CHECK_INT((int)shoal_result_tally(s.result).steps < 30, 1);
    CHECK_NEAR(summed_value(&s, "n", 0, 0), floor(150000 / M_PI), 0);
    CHECK_NEAR(summed_value(&s, "above", 0, 0), 23873 * M_PI / 50 + 3000 - 47746 * M_PI / 50, 1e-4);
    summed_free(&s);
    s = summed_run(line, NULL, "t1=1000 method=tsit5 device=cpu summary=m=mean(mod(x,1))");
    CHECK_NEAR(summed_value(&s, "m", 0, 0), 0.5, 1e-7);
    summed_free(&s);
}

// Windows that are short parts of a step, which f32 can hardly halve.
TEST(summary_jumps_in_short_windows) {
    struct summed s =
        summed_run(line, NULL,
                   "t1=10 window=0.004 method=tsit5 precision=f32 device=cpu "
                   "summary=n=crossings(sign(x-7.7781),0),i=integral(1+0*sign(x-7.7781))");
    double n = 0, time = 0;
    for (uint64_t i = 0; i < 2500; i++) {
        n += summed_value(&s, "n", 0, i);
        time += summed_value(&s, "i", 0, i);
    }
    CHECK_NEAR(n, 1, 0);
    CHECK_NEAR(time, 10, 1e-4);
    summed_free(&s);
}

// Zero has one sign, and a window that is nearly nothing has a mean between its ends.
TEST(summary_of_nearly_nothing) {
    struct summed s = summed_run("x'=1; y'=0; init x=0, y=0", NULL,
                                 "t1=0.5 settle=0.49999999999 method=tsit5 device=cpu "
                                 "summary=mean(x),maxabs(y),m=mean(x*x)");
    CHECK_NEAR(summed_value(&s, "mean(x)", 0, 0), 0.5, 1e-10);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), 0.25, 1e-10);
    CHECK(!signbit(summed_value(&s, "maxabs(y)", 0, 0)));
    summed_free(&s);
}

// Any cubic is known by the values that a piece is measured by, and its square is not known by
// three Gauss points: a ball that is thrown, and a cubic that is 0 at all of them.
TEST(summary_of_squares_of_cubics) {
    static const char *const ways[] = {"tsit5", "bs32", "rodas5p", "dop853", "rk4 dt=1.2"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char words[200];
        snprintf(words, sizeof words, "t1=1.2 method=%s device=cpu summary=r=rms(y*v),s=std(y*v)",
                 ways[i]);
        struct summed s = summed_run("y'=v; v'=-9.81; init y=1, v=5", NULL, words);
        CHECK_NEAR(summed_value(&s, "r", 0, 0), 4.294024213536296, 1e-9);
        CHECK_NEAR(summed_value(&s, "s", 0, 0), 4.273922899916451, 1e-9);
        summed_free(&s);
    }
    struct summed s = summed_run(line, NULL,
                                 "t1=1 dt0=1 method=tsit5 device=cpu "
                                 "summary=r=rms(20*x^3-30*x^2+12*x-1)");
    CHECK_NEAR(summed_value(&s, "r", 0, 0), sqrt(1.0 / 7), 1e-12);
    summed_free(&s);
}

DEVICE_TEST(summary_pieces_bits) {
    struct summed s[2];
    const char *const where[] = {"cpu", device};
    for (int i = 0; i < 2; i++)
        s[i] = summed_run("par k=1; x'=1; init x=0", "k=1,4,9",
                          "t1=10 method=tsit5 precision=f32 device=%s window=3.3 "
                          "summary=a=mean(abs(x-k)),b=max(k*x-x*x)",
                          where[i]);
    CHECK(summed_same(&s[0], &s[1]));
    summed_free(&s[0]);
    summed_free(&s[1]);
}
