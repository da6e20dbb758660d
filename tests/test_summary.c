// SPDX-License-Identifier: MIT
// Summaries against closed forms: of a harmonic oscillator, of signals without any change, at the
// edges of steps and windows, backwards, by every method.
#include "check.h"
#include "device_test.h"
#include "summed.h"

static const char oscillator[] = "par w=1; x'=v; v'=-w^2*x; init x=0, v=1; aux e=x^2+v^2";

#define ALL                                                                                        \
    "summary=max(x),min(x),tmax(x),tmin(x),amplitude(x),maxabs(v),mean(x),rms(x),std(x),"          \
    "i=integral(x),first(x),last(x),y=at(x,2.5),n=crossings(x,0.1),up=crossings(x,0.1,rising),"    \
    "down=crossings(x,0.1,falling),t1=tcross(x,0.5),t2=tcross(x,0.5,falling),tv=tcross(x,v),"      \
    "T=period(x),T0=period(x,0.2),f=frequency(x),f0=frequency(x,0.2),above=time_above(x,0.5),"     \
    "d=dmax(x),d_=dmin(x*x),dd=d2max(x),dd_=d2min(x),q=quantile(x,0.75),p=peaks(x,5),"             \
    "l=troughs(x,2),h=histogram(x,-0.5,0.5,2),E=max(e)-min(e),s=integral(x*x)+w"

// The time in [0, end] at which sin t is above s, 0 <= s < 1.
static double time_above(double s, double end) {
    double a = asin(s), sum = 0;
    for (double begin = a; begin < end; begin += 2 * M_PI)
        sum += fmin(end, begin + M_PI - 2 * a) - begin;
    return sum;
}

static double crossings(double level, double end, bool rising) {
    double n = 0, first = rising ? asin(level) : M_PI - asin(level);
    for (double t = first; t < end; t += 2 * M_PI)
        n++;
    return n;
}

// All of x = sin t from 0 to 20, within `near`.
static void check_all(const struct summed *s, uint64_t row, double near) {
    double T = 20, mean = (1 - cos(T)) / T, square = (T / 2 - sin(2 * T) / 4) / T;
    const struct {
        const char *name;
        double want;
    } cases[] = {{"max(x)", 1},
                 {"min(x)", -1},
                 {"amplitude(x)", 2},
                 {"maxabs(v)", 1},
                 {"mean(x)", mean},
                 {"rms(x)", sqrt(square)},
                 {"std(x)", sqrt(square - mean * mean)},
                 {"i", 1 - cos(T)},
                 {"first(x)", 0},
                 {"last(x)", sin(T)},
                 {"y", sin(2.5)},
                 {"n", crossings(0.1, T, true) + crossings(0.1, T, false)},
                 {"up", crossings(0.1, T, true)},
                 {"down", crossings(0.1, T, false)},
                 {"t1", asin(0.5)},
                 {"t2", M_PI - asin(0.5)},
                 {"tv", M_PI / 4},
                 {"T0", 2 * M_PI},
                 {"f0", 0.5 / M_PI},
                 {"above", time_above(0.5, T)},
                 {"d", 1},
                 {"d_", -1},
                 {"dd", 1},
                 {"dd_", -1},
                 {"E", 0},
                 {"s", square * T + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = summed_value(s, cases[i].name, row, 0), want = cases[i].want;
        CHECK_MSG(fabs(got - want) <= near * fmax(1, fabs(want)),
                  "%s is %.12g, not %.12g within %g", cases[i].name, got, want, near);
    }
    // Where a slope is 0 a time is as good as the root of what tells it.
    double loose = 20 * near;
    CHECK(fabs(remainder(summed_value(s, "tmax(x)", row, 0) - M_PI / 2, 2 * M_PI)) <= loose);
    CHECK(fabs(remainder(summed_value(s, "tmin(x)", row, 0) + M_PI / 2, 2 * M_PI)) <= loose);
    CHECK_NEAR(summed_value(s, "T", row, 0), 2 * M_PI, loose);
    CHECK_NEAR(summed_value(s, "f", row, 0), 0.5 / M_PI, loose);
    for (int i = 0; i < 5; i++) {
        double v = summed_value(s, "p", row, (uint64_t)i),
               t = summed_value(s, "p.t", row, (uint64_t)i);
        CHECK_MSG(i < 3 ? fabs(v - 1) <= near : isnan(v), "peak %d is %g", i, v);
        CHECK_MSG(i < 3 ? fabs(t - M_PI / 2 - 2 * M_PI * i) <= loose : isnan(t), "at %g", t);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(summed_value(s, "l", row, (uint64_t)i), -1, near);
        CHECK_NEAR(summed_value(s, "l.t", row, (uint64_t)i), M_PI * (1.5 + 2 * i), loose);
    }
    double high = time_above(0.5, T), zero = time_above(0, T);
    double low = T - zero, below = 3 * (2 * M_PI / 3); // three troughs are over at 6 pi
    CHECK_NEAR(summed_value(s, "h", row, 0), below, near);
    CHECK_NEAR(summed_value(s, "h", row, 1), low - below, near);
    CHECK_NEAR(summed_value(s, "h", row, 2), zero - high, near);
    CHECK_NEAR(summed_value(s, "h", row, 3), high, near);
}

// Where the time below a value is the part q of [0, end].
static double quantile(double q, double end) {
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(1 - time_above(middle, end) / end < q ? &low : &high) = middle;
    }
    return low;
}

TEST(summary_closed_forms) {
    static const char *const how[] = {"method=tsit5 rtol=1e-8 atol=1e-8",
                                      "method=dop853 rtol=1e-8 atol=1e-8",
                                      "method=vern9 rtol=1e-8 atol=1e-8", // centred rows
                                      "method=rk4 dt=0.02",
                                      "method=rodas5p rtol=1e-8 atol=1e-8",
                                      "method=radau5 rtol=1e-8 atol=1e-8",
                                      "method=auto rtol=1e-8 atol=1e-8"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (!check_does(i, 0, 7))
            continue;
        struct summed s = summed_run(oscillator, NULL, "%s t1=20 " ALL, how[i]);
        double off = fabs(summed_value(&s, "last(x)", 0, 0) - sin(20));
        CHECK_MSG(off < 2e-7, "%s: last(x) is off by %g", how[i], off);
        check_all(&s, 0, 10 * fmax(off, 1e-8));
        CHECK_NEAR(summed_value(&s, "q", 0, 0), quantile(0.75, 20), 0.02);
        summed_free(&s);
    }
}

LONG_TEST(summary_f32) {
    struct summed s = summed_run(oscillator, NULL, "precision=f32 rtol=1e-5 atol=1e-5 t1=20 " ALL);
    check_all(&s, 0, 5e-4);
    summed_free(&s);
}

// Each row of a batch has the bits that it has alone, and those of a thread.
TEST(summary_bits) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.1", "method=rosenbrock23",
                                      "method=auto precision=f32"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (!check_does(i, 2, 3)) // others than above
            continue;
        struct summed s = summed_run(oscillator, "w=lin:0.5:4:21",
                                     "%s t1=20 settle=0.37 window=4.3 " ALL, how[i]);
        struct summed one =
            summed_run(oscillator, "w=1.025,9", "%s t1=20 settle=0.37 window=4.3 " ALL, how[i]);
        for (uint64_t k = 0; k < 5; k++) { // row 3 of the batch
            double x = summed_value(&s, "mean(x)", 3, k), y = summed_value(&one, "mean(x)", 0, k);
            double p = summed_value(&s, "p.t", 3, 5 * k), q = summed_value(&one, "p.t", 0, 5 * k);
            double u = summed_value(&s, "q", 3, k), v = summed_value(&one, "q", 0, k);
            CHECK_MSG(x == y && u == v && (p == q || (isnan(p) && isnan(q))),
                      "%s, window %d: %.17g %.17g, %.17g %.17g, %.17g %.17g", how[i], (int)k, x, y,
                      p, q, u, v);
        }
        summed_free(&s);
        summed_free(&one);
    }
}

// A few of them; all are compared below.
LONG_DEVICE_TEST(summary_device_few) {
    static const char words[] =
        "device=%s method=tsit5 precision=f32 t1=20 settle=0.37 window=4.3 "
        "summary=max(x),mean(x),n=crossings(x,0.5),p=peaks(x*w,3),y=at(x,3*w),"
        "h=histogram(x,-w/4,w/4,2)";
    struct summed cpu = summed_run(oscillator, "w=lin:0.5:4:21", words, "cpu");
    struct summed there = summed_run(oscillator, "w=lin:0.5:4:21", words, device);
    CHECK(summed_same(&cpu, &there));
    summed_free(&cpu);
    summed_free(&there);
}

// A device's thread computes the same bits as a vector: each kind once, since compilers of devices
// take long for all of them.
LONG_DEVICE_TEST(summary_device_bits) {
    static const char *const how[] = {
        "method=tsit5 precision=f32 summary=max(x),min(x),tmax(x),tmin(x),mean(x),i=integral(v),"
        "n=crossings(x,0.1),T=period(x),p=peaks(x,5)",
        "method=rosenbrock23 summary=rms(x),std(x),E=max(e)-min(e),tv=tcross(x,v),d=dmax(x),"
        "above=time_above(x,0.5)",
        "method=rk4 dt=0.1 summary=q=quantile(x,0.75),l=troughs(x,2),h=histogram(x,-0.5,0.5,2),"
        "T0=period(x,0.2),y=at(x,2.5),first(x),last(x)"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed cpu = summed_run(oscillator, "w=lin:0.5:4:21",
                                       "device=cpu t1=20 settle=0.37 window=4.3 %s", how[i]);
        struct summed there =
            summed_run(oscillator, "w=lin:0.5:4:21", "device=%s t1=20 settle=0.37 window=4.3 %s",
                       device, how[i]);
        CHECK(summed_same(&cpu, &there));
        summed_free(&cpu);
        summed_free(&there);
    }
}

// Behind an expression there may be parameters; what makes no sense of a run is not a number.
TEST(summary_numbers_of_parameters) {
    struct summed s = summed_run("par k=1; x'=1; init x=0", "k=0.25,0.5,1,-1",
                                 "t1=4 method=tsit5 device=cpu summary=q=quantile(x,k),y=at(x,4*k),"
                                 "h=histogram(x,-k,2*k,3),n=crossings(x,k),o=quantile(x,1/4)");
    for (uint64_t i = 0; i < 3; i++) {
        double k = 0.25 * (double)(1 << i);
        CHECK_NEAR(summed_value(&s, "q", i, 0), 4 * k, 0.04);
        CHECK_NEAR(summed_value(&s, "y", i, 0), 4 * k, 1e-9);
        CHECK_NEAR(summed_value(&s, "h", i, 0), 0, 1e-9);
        CHECK_NEAR(summed_value(&s, "h", i, 1), 0, 1e-9);
        CHECK_NEAR(summed_value(&s, "h", i, 2), k, 1e-9);
        CHECK_NEAR(summed_value(&s, "h", i, 3), k, 1e-9);
        CHECK_NEAR(summed_value(&s, "h", i, 4), 4 - 2 * k, 1e-9);
        CHECK_NEAR(summed_value(&s, "o", i, 0), 1, 0.04);
    }
    CHECK(isnan(summed_value(&s, "q", 3, 0)) && isnan(summed_value(&s, "y", 3, 0)));
    for (uint64_t i = 0; i < 5; i++)
        CHECK(isnan(summed_value(&s, "h", 3, i)));
    CHECK_INT(shoal_result_status(s.result, 3), SHOAL_STATUS_ok);
    summed_free(&s);
    // Two ends that are one number in f32 have no bins.
    s = summed_run("x'=1; init x=0", NULL,
                   "t1=4 precision=f32 device=cpu summary=h=histogram(x,1,1.00000001,2)");
    for (uint64_t i = 0; i < 4; i++)
        CHECK(isnan(summed_value(&s, "h", 0, i)));
    summed_free(&s);
}

// An event and summaries in one step: they see what was before it, and what is behind.
TEST(summary_with_events) {
    struct summed s = summed_run("x'=1; init x=0; event r when x>1 : x=0", NULL,
                                 "t1=5.25 rtol=1e-9 summary=max(x),min(x),n=crossings(x,0.5),"
                                 "up=crossings(x,0.5,rising),c=tcross(x,0.5,falling),m=mean(x),"
                                 "T=period(x),p=peaks(x,6),a=time_above(x,0.75),last(x)");
    CHECK_NEAR(summed_value(&s, "max(x)", 0, 0), 1, 1e-9);
    CHECK_NEAR(summed_value(&s, "min(x)", 0, 0), 0, 1e-9);
    CHECK_NEAR(summed_value(&s, "n", 0, 0), 10, 0);
    CHECK_NEAR(summed_value(&s, "up", 0, 0), 5, 0);
    CHECK_NEAR(summed_value(&s, "c", 0, 0), 1, 1e-9);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), (2.5 + 0.03125) / 5.25, 1e-9);
    CHECK_NEAR(summed_value(&s, "T", 0, 0), 1, 1e-9);
    CHECK_NEAR(summed_value(&s, "p.t", 0, 4), 5, 1e-9);
    CHECK(isnan(summed_value(&s, "p", 0, 5)));
    CHECK_NEAR(summed_value(&s, "a", 0, 0), 1.25, 1e-9);
    CHECK_NEAR(summed_value(&s, "last(x)", 0, 0), 0.25, 1e-9);
    summed_free(&s);
    // The value at a time is that of a sample then: before an action, but for those at t0.
    s = summed_run("x'=1; init x=0; event r at 0, 2, 4 : x=x+10", NULL,
                   "t1=5 summary=a=at(x,0),b=at(x,2),c=at(x,4),d=at(x,4.5)");
    CHECK_NEAR(summed_value(&s, "a", 0, 0), 10, 1e-9);
    CHECK_NEAR(summed_value(&s, "b", 0, 0), 12, 1e-9);
    CHECK_NEAR(summed_value(&s, "c", 0, 0), 24, 1e-9);
    CHECK_NEAR(summed_value(&s, "d", 0, 0), 34.5, 1e-9);
    summed_free(&s);
    s = summed_run("x'=1; init x=0; event r when x>1.5 : stop", NULL,
                   "t1=5 window=1 summary=max(x),m=mean(x)");
    CHECK_INT(shoal_result_status(s.result, 0), SHOAL_STATUS_stopped);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), 0.5, 1e-9);
    CHECK_NEAR(summed_value(&s, "m", 0, 1), 1.25, 1e-9); // of what there was of it
    CHECK_NEAR(summed_value(&s, "max(x)", 0, 1), 1.5, 1e-9);
    CHECK(isnan(summed_value(&s, "m", 0, 2)));
    summed_free(&s);
}

// Windows that do not divide the run, and end between steps.
TEST(summary_windows) {
    const char *words = "rtol=1e-9 atol=1e-9 t1=10 settle=0.5 window=2.7 "
                        "summary=max(x),m=mean(x),i=integral(x),s=std(x),first(x),last(x),"
                        "n=crossings(x,0),a=time_above(x,0),t=tmin(x)";
    // t is a name that every result has
    CHECK_HAS(summed_error(oscillator, words), "`t` is a name that every result has");
    struct summed s = summed_run(oscillator, NULL,
                                 "rtol=1e-9 atol=1e-9 t1=10 settle=0.5 window=2.7 "
                                 "summary=max(x),m=mean(x),i=integral(x),s=std(x),first(x),last(x),"
                                 "n=crossings(x,0),a=time_above(x,0)");
    const double edge[] = {0.5, 3.2, 5.9, 8.6, 10};
    const double most[] = {1, sin(3.2), 1, sin(8.6)}, crossed[] = {1, 0, 1, 1};
    const double above[] = {M_PI - 0.5, 0, 8.6 - 2 * M_PI, 3 * M_PI - 8.6};
    for (uint64_t i = 0; i < 4; i++) {
        double a = edge[i], b = edge[i + 1], integral = cos(a) - cos(b), mean = integral / (b - a);
        double square = ((b - a) / 2 - (sin(2 * b) - sin(2 * a)) / 4) / (b - a);
        CHECK_NEAR(summed_value(&s, "max(x)", 0, i), most[i], 1e-8);
        CHECK_NEAR(summed_value(&s, "i", 0, i), integral, 1e-8);
        CHECK_NEAR(summed_value(&s, "m", 0, i), mean, 1e-8);
        CHECK_NEAR(summed_value(&s, "s", 0, i), sqrt(square - mean * mean), 1e-8);
        CHECK_NEAR(summed_value(&s, "first(x)", 0, i), sin(a), 1e-8);
        CHECK_NEAR(summed_value(&s, "last(x)", 0, i), sin(b), 1e-8);
        CHECK_NEAR(summed_value(&s, "n", 0, i), crossed[i], 0);
        CHECK_NEAR(summed_value(&s, "a", 0, i), above[i], 1e-8);
    }
    summed_free(&s);
}

// A level that is crossed where a window ends is crossed in the next one, by a jump or not.
TEST(summary_crosses_between_windows) {
    struct summed s = summed_run(
        "x'=0; y'=1; z'=0; init x=1, y=0, z=0; event e every 2 from 2 : x=x+1, z=1-z", NULL,
        "t1=8 window=2 rtol=1e-9 device=cpu summary=n=crossings(x,1.5),t1=tcross(x,1.5),"
        "m=crossings(y,4),t2=tcross(y,4),c=count(e),up=crossings(z,0.5,rising),"
        "T=period(z,0.5),w=crossings(y-0*x,4)");
    static const double n[] = {0, 1, 0, 0}, m[] = {0, 0, 1, 0}, c[] = {0, 1, 1, 1};
    static const double up[] = {0, 1, 0, 1};
    for (uint64_t i = 0; i < 4; i++) {
        CHECK_NEAR(summed_value(&s, "n", 0, i), n[i], 0);
        CHECK_NEAR(summed_value(&s, "m", 0, i), m[i], 0);
        CHECK_NEAR(summed_value(&s, "w", 0, i), m[i], 0);
        CHECK_NEAR(summed_value(&s, "c", 0, i), c[i], 0);
        CHECK_NEAR(summed_value(&s, "up", 0, i), up[i], 0);
        CHECK(isnan(summed_value(&s, "T", 0, i)));
    }
    CHECK_NEAR(summed_value(&s, "t1", 0, 1), 2, 0);
    CHECK_NEAR(summed_value(&s, "t2", 0, 2), 4, 1e-9);
    summed_free(&s);
    // A row that takes the lane of another knows nothing of that one.
    s = summed_run("par a=1; x'=0; init x=a", "a=1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2",
                   "t1=1 device=cpu threads=1 window=0.5 summary=n=crossings(x,1.5)");
    for (uint64_t row = 0; row < 20; row++)
        CHECK(summed_value(&s, "n", row, 0) == 0 && summed_value(&s, "n", row, 1) == 0);
    summed_free(&s);
}

// No summary changes the steps, and many windows may lie in one of them.
TEST(summary_leaves_steps) {
    struct summed s = summed_run("x'=1; init x=0", NULL,
                                 "method=tsit5 t1=10 window=0.01 summary=m=mean(x),tmax(x)");
    struct summed plain = summed_run("x'=1; init x=0", NULL, "method=tsit5 t1=10");
    CHECK_INT(shoal_result_tally(s.result).steps, shoal_result_tally(plain.result).steps);
    CHECK(shoal_result_tally(s.result).steps < 20);
    for (uint64_t i = 0; i < 1000; i += 37) {
        CHECK_NEAR(summed_value(&s, "m", 0, i), 0.01 * (double)i + 0.005, 1e-9);
        CHECK_NEAR(summed_value(&s, "tmax(x)", 0, i), 0.01 * (double)i + 0.01, 1e-9);
    }
    summed_free(&s);
    summed_free(&plain);
}

TEST(summary_backwards) {
    struct summed s = summed_run(oscillator, NULL,
                                 "rtol=1e-9 atol=1e-9 t0=0 t1=-20 window=10 settle=1 "
                                 "summary=i=integral(x),m=mean(x),up=crossings(x,0,rising),"
                                 "c=tcross(x,0.5,rising),T=period(x),max(x),a=time_above(x,0)");
    const double edge[] = {-1, -11, -20};
    for (uint64_t i = 0; i < 2; i++) {
        double a = edge[i], b = edge[i + 1];
        CHECK_NEAR(summed_value(&s, "i", 0, i), cos(a) - cos(b), 1e-7);
        CHECK_NEAR(summed_value(&s, "m", 0, i), (cos(a) - cos(b)) / (b - a), 1e-8);
        CHECK_NEAR(summed_value(&s, "max(x)", 0, i), 1, 1e-8);
    }
    // Along the integration sin(-u) = -sin(u) rises at u = pi, 3 pi, 5 pi.
    CHECK_NEAR(summed_value(&s, "up", 0, 0), 2, 0);
    CHECK_NEAR(summed_value(&s, "up", 0, 1), 1, 0);
    CHECK_NEAR(summed_value(&s, "c", 0, 0), -M_PI - asin(0.5), 1e-7);
    CHECK_NEAR(summed_value(&s, "a", 0, 0), M_PI + (11 - 3 * M_PI), 1e-7);
    CHECK(isnan(summed_value(&s, "T", 0, 1))); // one maximum only
    summed_free(&s);
}

// The transient has the largest value of a signal that is negative from then on.
TEST(summary_settle_negative) {
    struct summed s = summed_run("x'=-1; init x=1", NULL,
                                 "t1=5 settle=2.5 summary=max(x),maxabs(x),m=mean(x),tmax(x)");
    CHECK_NEAR(summed_value(&s, "max(x)", 0, 0), -1.5, 1e-12);
    CHECK_NEAR(summed_value(&s, "maxabs(x)", 0, 0), 4, 1e-12);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), -2.75, 1e-12);
    CHECK_NEAR(summed_value(&s, "tmax(x)", 0, 0), 2.5, 1e-12);
    summed_free(&s);
}

// A large offset, where squares cancel, and a signal without any change.
TEST(summary_variance) {
    struct summed s =
        summed_run("par c=1e8; x'=0; y'=cos(t); aux big=c+y; init x=1e8,y=0", "c=1e8,-1e12",
                   "t1=20 rtol=1e-8 summary=std(x),b=std(big),e=std(x*0)");
    double mean = (1 - cos(20)) / 20, square = 0.5 - sin(40) / 80;
    for (uint64_t row = 0; row < 2; row++) {
        CHECK_NEAR(summed_value(&s, "std(x)", row, 0), 0, 0);
        CHECK_NEAR(summed_value(&s, "e", row, 0), 0, 0);
    }
    CHECK_NEAR(summed_value(&s, "b", 0, 0), sqrt(square - mean * mean), 1e-6);
    CHECK_NEAR(summed_value(&s, "b", 1, 0), sqrt(square - mean * mean), 1e-3);
    summed_free(&s);
}

// Squares of what is large or small are beyond numbers, the root of their mean is not: of a wave,
// and of what grows or falls by many sizes on the way.
TEST(summary_of_any_size) {
    static const char text[] = "par A=1, r=1; init u=0, v=A, x=A; u'=v; v'=-u; x'=r*x";
    static const char *const sweep[] = {"A=1,1e160,1e-170,-1e290 r=-50,-2,0.5,3",
                                        "A=1,1e25,1e-30,-1e33 r=-5,-1,0.5,1"};
    double T = 2 * M_PI;
    for (int i = 0; i < 2; i++) {
        struct summed s =
            summed_run(text, sweep[i],
                       "method=tsit5 rtol=1e-6 atol=%s t1=%.17g device=cpu precision=%s "
                       "summary=A=first(v),R=r+0*first(v),rms(u),std(u),rms(x),std(x)%s",
                       i ? "1e-36" : "1e-300", T, i ? "f32" : "f64", i ? "" : ",d=std(u*heav(t))");
        for (uint64_t row = 0; row < 16; row++) {
            double A = fabs(summed_value(&s, "A", row, 0)), r = summed_value(&s, "R", row, 0);
            double mean = expm1(r * T) / r / T, rms = sqrt(expm1(2 * r * T) / (2 * r) / T);
            double near = 1e-4;
            CHECK_NEAR(summed_value(&s, "rms(u)", row, 0) / A, sqrt(0.5), near);
            CHECK_NEAR(summed_value(&s, "std(u)", row, 0) / A, sqrt(0.5), near);
            CHECK(i || fabs(summed_value(&s, "d", row, 0) / A - sqrt(0.5)) < near);
            CHECK_NEAR(summed_value(&s, "rms(x)", row, 0) / A / rms, 1, near);
            CHECK_NEAR(summed_value(&s, "std(x)", row, 0) / A / sqrt(rms * rms - mean * mean), 1,
                       near);
        }
        summed_free(&s);
    }
}

TEST(summary_of_zero) {
    struct summed s =
        summed_run("x'=0; init x=0", NULL,
                   "t1=5 summary=p=peaks(x,2),r=peaks(x,2),T=period(x),f=frequency(x),"
                   "n=crossings(x,0),c=tcross(x,0),q=quantile(x,0.5),a=time_above(x,0),"
                   "h=histogram(x,-1,1,2),max(x),amplitude(x)");
    CHECK(isnan(summed_value(&s, "p", 0, 0)) && isnan(summed_value(&s, "p.t", 0, 1)));
    CHECK(isnan(summed_value(&s, "r", 0, 0)) && isnan(summed_value(&s, "r.t", 0, 1)));
    CHECK(isnan(summed_value(&s, "T", 0, 0)) && isnan(summed_value(&s, "f", 0, 0)));
    CHECK(isnan(summed_value(&s, "c", 0, 0)));
    CHECK_NEAR(summed_value(&s, "n", 0, 0), 0, 0);
    CHECK_NEAR(summed_value(&s, "q", 0, 0), 0, 0);
    CHECK_NEAR(summed_value(&s, "a", 0, 0), 0, 0);
    CHECK_NEAR(summed_value(&s, "h", 0, 2), 5, 1e-12); // a bin has its lower end
    CHECK_NEAR(summed_value(&s, "max(x)", 0, 0), 0, 0);
    CHECK_NEAR(summed_value(&s, "amplitude(x)", 0, 0), 0, 0);
    summed_free(&s);
}

// A top that lies in one step crosses a level near it twice, whatever the method and the step.
TEST(summary_crosses_twice_in_a_step) {
    static const char *const how[] = {"tsit5",
                                      "vern7",
                                      "dormand-prince-853",
                                      "rodas5p",
                                      "gauss-legendre-8",
                                      "bogacki-shampine-32"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed s = summed_run(
            "par a=0; x'=v; v'=-x; x(0)=sin(a); v(0)=cos(a)", "a=lin:0:1:101",
            "method=%s t1=10 device=cpu summary=n=crossings(x,0.99),up=crossings(x,0.99,rising),"
            "first=tcross(x,0.99),T=period(x,0.99),above=time_above(x,0.99),"
            "m=crossings(x,-0.99)",
            how[i]);
        double width = M_PI - 2 * asin(0.99);
        for (uint64_t row = 0; row < 101; row++) {
            CHECK_NEAR(summed_value(&s, "n", row, 0), 4, 0);
            CHECK_NEAR(summed_value(&s, "up", row, 0), 2, 0);
            CHECK_NEAR(summed_value(&s, "first", row, 0), asin(0.99) - (double)row / 100, 1e-4);
            CHECK_NEAR(summed_value(&s, "T", row, 0), 2 * M_PI, 1e-4);
            CHECK_NEAR(summed_value(&s, "above", row, 0), 2 * width, 1e-3);
            double end = 10 + (double)row / 100, low = 1.5 * M_PI;
            CHECK_NEAR(summed_value(&s, "m", row, 0), 2 + (end > low + 2 * M_PI - width / 2), 0);
        }
        summed_free(&s);
    }
}

// A sum of a million steps in f32, each of which is less than the sum can hold.
TEST(summary_sums_of_many_steps) {
    struct summed s = summed_run("x'=0; y'=cos(t)/64; init x=1, y=1", NULL,
                                 "method=rk4 dt=1e-3 t1=1000 precision=f32 device=cpu "
                                 "summary=m=mean(x),i=integral(x),r=rms(x),d=std(y),n=mean(x*x),"
                                 "k=std(sin(t)),above=time_above(x,0.5),h=histogram(x,0,2,2),"
                                 "q=quantile(sin(t),0.5)");
    double T = 1000, mean = (1 - cos(T)) / T, wave = sqrt(0.5 - sin(2 * T) / 4 / T - mean * mean);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), 1, 1e-6);
    CHECK_NEAR(summed_value(&s, "i", 0, 0), T, 1e-3);
    CHECK_NEAR(summed_value(&s, "r", 0, 0), 1, 1e-6);
    CHECK_NEAR(summed_value(&s, "n", 0, 0), 1, 1e-6);
    CHECK_NEAR(summed_value(&s, "d", 0, 0), wave / 64, 1e-5);
    CHECK_NEAR(summed_value(&s, "k", 0, 0), wave, 1e-5);
    CHECK_NEAR(summed_value(&s, "q", 0, 0), 0, 5e-3);
    CHECK_NEAR(summed_value(&s, "above", 0, 0), T, 1e-3);
    CHECK_NEAR(summed_value(&s, "h", 0, 2), T, 1e-3);
    summed_free(&s);
}

// What is left of an oscillation, or of a rest, is no oscillation; a small one is.
LONG_TEST(summary_of_rest) {
    static const char *const how[] = {"tsit5", "rodas5p"};
    for (int i = 0; i < 2; i++) {
        struct summed s = summed_run(
            "par k=0.5; v'=w; w'=-v-k*w; x'=1-x; u'=z; z'=-u; init v=1, x=3, u=1e-5", "k=0.5,0",
            "method=%s t1=300 settle=100 device=cpu "
            "summary=a=period(v),b=frequency(v-w),c=period(x),"
            "d=period(x-1),e=period(u),p=peaks(v,2),l=troughs(x,2)",
            how[i]);
        static const char *const none[] = {"a", "b", "c", "d", "p", "l"};
        for (size_t k = 0; k < sizeof none / sizeof *none; k++)
            CHECK_MSG(isnan(summed_value(&s, none[k], 0, 0)), "%s: %s is %g", how[i], none[k],
                      summed_value(&s, none[k], 0, 0));
        CHECK_NEAR(summed_value(&s, "e", 0, 0), 2 * M_PI, 1e-3);
        CHECK_NEAR(summed_value(&s, "a", 1, 0), 2 * M_PI, 1e-3);
        CHECK_NEAR(summed_value(&s, "b", 1, 0), 0.5 / M_PI, 1e-3);
        summed_free(&s);
    }
}

// At rest an explicit method's steps are as long as its stability allows, and it ripples by more
// than its tolerance: by some forty times that with this method. That is no oscillation, neither by
// itself (x) nor on top of one (f, on a limit cycle of a few hundred tolerances).
TEST(summary_of_ripples) {
    struct summed s = summed_run(
        "par k=1, r=8e-4; init x=1.3, y=0.8, z=1.1, c=1.0005, s=1, f=1; u=x-1; v=y-1; w=z-1;"
        "x'=k*(-9*u+4*v-2*w)+u*v; y'=k*(-7*u-3*v+3*w)-w*w; z'=k*(2*u-v-6*w)+u*w;"
        "a=c-1; b=s-1; q=0.3*(1-(a*a+b*b)/(r*r)); c'=q*a-b; s'=q*b+a; f'=-20*(f-c)",
        "k=lin:2:8:49",
        "method=dop853 rtol=1e-6 atol=1e-6 t1=150 settle=100 device=cpu "
        "summary=X=period(x),T=period(f),amplitude(x)");
    double ripple = 0;
    for (uint64_t row = 0; row < 49; row++) {
        ripple = fmax(ripple, summed_value(&s, "amplitude(x)", row, 0));
        CHECK_MSG(isnan(summed_value(&s, "X", row, 0)), "row %d: %g", (int)row,
                  summed_value(&s, "X", row, 0));
        CHECK_NEAR(summed_value(&s, "T", row, 0), 2 * M_PI, 0.1);
    }
    CHECK(ripple > 30 * 2e-6);
    summed_free(&s);
}

// Nor is the part of a ripple that the first steps of a window show: what was before is known.
TEST(summary_of_ripples_in_windows) {
    struct summed s = summed_run("par k=1; init x=1.3, y=0.8, z=1.1; u=x-1; v=y-1; w=z-1;"
                                 "x'=k*(-21.5*u-13.2*v+7.1*w); y'=k*(3.8*u-14.1*v+5.1*w);"
                                 "z'=k*(1.2*u-2.6*v-3.7*w)",
                                 "k=0.8,0.9,1,1.1,1.2,1.3",
                                 "method=dop853 rtol=1e-6 atol=1e-6 t1=150 settle=50 window=2 "
                                 "device=cpu summary=p=peaks(x,1)");
    for (uint64_t row = 0; row < 6; row++)
        for (uint64_t window = 0; window < 50; window++)
            CHECK_MSG(isnan(summed_value(&s, "p", row, window)), "row %d, window %d: %g", (int)row,
                      (int)window, summed_value(&s, "p", row, window));
    summed_free(&s);
}

// Fixed steps of x = t - 1 end at 1 exactly; touching is no crossing.
TEST(summary_crossing_at_a_step) {
    struct summed s =
        summed_run("x'=1; y'=2*(t-1); init x=-1,y=1", NULL,
                   "method=rk4 dt=0.25 t1=2 summary=n=crossings(x,0),c=tcross(x,0),"
                   "touch=crossings(y,0),up=crossings(x,0,falling),z=crossings(x,-1)");
    CHECK_NEAR(summed_value(&s, "n", 0, 0), 1, 0);
    CHECK_NEAR(summed_value(&s, "c", 0, 0), 1, 1e-12);
    CHECK_NEAR(summed_value(&s, "touch", 0, 0), 0, 0);
    CHECK_NEAR(summed_value(&s, "up", 0, 0), 0, 0);
    CHECK_NEAR(summed_value(&s, "z", 0, 0), 0, 0); // it begins there
    summed_free(&s);
}

TEST(summary_one_step) {
    struct summed s =
        summed_run("x'=3*t^2-2*t; init x=1", NULL,
                   "method=rk4 dt=1 t1=1 summary=max(x),min(x),tmin(x),m=mean(x),at(x,1),"
                   "first(x),last(x)");
    CHECK_INT(shoal_result_tally(s.result).steps, 1);
    CHECK_NEAR(summed_value(&s, "max(x)", 0, 0), 1, 1e-12);
    CHECK_NEAR(summed_value(&s, "min(x)", 0, 0), 1 - 4.0 / 27, 1e-12);
    CHECK_NEAR(summed_value(&s, "tmin(x)", 0, 0), 2.0 / 3, 1e-9);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), 1 + 0.25 - 1.0 / 3, 1e-12);
    CHECK_NEAR(summed_value(&s, "at(x,1)", 0, 0), 1, 1e-12);
    summed_free(&s);
}

// A row that fails has NaN, but for windows that were over; or what there was so far.
TEST(summary_of_failed_rows) {
    const char *model = "par a=1; x'=a*x^2; init x=1"; // 1/(1-a t)
    struct summed s =
        summed_run(model, "a=1,0.01", "t1=2 window=0.4 summary=m=last(x),p=peaks(x,2)");
    CHECK_INT(shoal_result_status(s.result, 1), SHOAL_STATUS_ok);
    CHECK(shoal_result_status(s.result, 0) != SHOAL_STATUS_ok);
    CHECK_NEAR(summed_value(&s, "m", 0, 0), 1 / 0.6, 1e-4);
    CHECK_NEAR(summed_value(&s, "m", 0, 1), 1 / 0.2, 1e-3);
    for (uint64_t i = 2; i < 5; i++)
        CHECK(isnan(summed_value(&s, "m", 0, i)));
    CHECK_NEAR(summed_value(&s, "m", 1, 4), 1 / 0.98, 1e-5);
    summed_free(&s);
    s = summed_run(model, "a=1,0.01", "t1=2 keep-failed=on summary=m=max(x)");
    CHECK(summed_value(&s, "m", 0, 0) > 1e3);
    summed_free(&s);
}

static void all_windows(const char *model, const char *how, const char *label, const double *want,
                        uint64_t windows) {
    struct summed s = summed_run(model, NULL, "%s", how);
    for (uint64_t i = 0; i < windows; i++)
        CHECK_MSG(fabs(summed_value(&s, label, 0, i) - want[i]) < 2e-3, "%s, %s, %s %d: %g, not %g",
                  model, how, label, (int)i, summed_value(&s, label, 0, i), want[i]);
    summed_free(&s);
}

// What jumps in time where something else happens has the values of both sides, and none of one
// side's states with the other's time; where a window ends it has not jumped.
TEST(summary_of_jumps_at_edges) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.07", "method=rodas5p",
                                      "method=tsit5 precision=f32"};
    static const char dose[] = "par k=0.2; c'=-k*c; init c=0; event d every 24 : c=c+100; @ t1=71";
    static const char stairs[] = "x'=0; init x=0; event a every 2 : x=x+2; @ t1=5.5";
#define SHOWN "if(mod(t,24)<12)then(c)else(1000)"
#define LEVEL "x-2*floor(t/2)"
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        char *options = NULL;
        REQUIRE(asprintf(&options,
                         "%s summary=a=min(" SHOWN "),b=tmin(" SHOWN "),c=crossings(" SHOWN ",5)",
                         how[i]) > 0);
        check_keep(options);
        all_windows(dose, options, "a", (double[]){100 * exp(-2.4)}, 1);
        all_windows(dose, options, "b", (double[]){12}, 1);
        all_windows(dose, options, "c", (double[]){0}, 1);
        REQUIRE(asprintf(&options,
                         "%s window=2 summary=a=min(" LEVEL "),b=amplitude(" LEVEL
                         "),c=crossings(" LEVEL ",1),d=last(" LEVEL ")",
                         how[i]) > 0);
        check_keep(options);
        all_windows(stairs, options, "a", (double[]){2, 2, 2}, 3);
        all_windows(stairs, options, "b", (double[]){0, 0, 0}, 3);
        all_windows(stairs, options, "c", (double[]){0, 0, 0}, 3);
        all_windows(stairs, options, "d", (double[]){2, 2, 2}, 3);
        REQUIRE(asprintf(&options,
                         "%s window=3 summary=a=crossings(t>=6,0.5),b=crossings(t>6,0.5),"
                         "c=crossings(floor(t/6),0.5),d=tcross(mod(t,2),1,falling),"
                         "e=at(floor(t/3),4.5),f=first(floor(t/3)),g=last(floor(t/3))",
                         how[i]) > 0);
        check_keep(options);
        static const char clock[] = "x'=1; init x=0; @ t1=11";
        for (const char *label = "abc"; *label; label++)
            all_windows(clock, options, (char[]){*label, 0}, (double[]){0, 0, 1, 0}, 4);
        all_windows(clock, options, "d", (double[]){2, 4, 6, 10}, 4);
        all_windows(clock, options, "f", (double[]){0, 1, 2, 3}, 4);
        all_windows(clock, options, "g", (double[]){0, 1, 2, 3}, 4);
    }
}

// Many steps beside a constant that leaves values a bit of 1/8.
TEST(summary_variance_beside_a_constant) {
    static const char *const how[] = {"method=tsit5", "method=rodas5p"};
    for (int i = 0; i < 2; i++) {
        struct summed s = summed_run("par a=1; x'=-1; init x=3; @ t1=5", "a=0,1e13,1e14,3e14,1e15",
                                     "%s dt-max=0.01 summary=d=std(a+x)", how[i]);
        for (uint64_t row = 0; row < 5; row++)
            CHECK_NEAR(summed_value(&s, "d", row, 0), 5 / sqrt(12), 2e-3);
        summed_free(&s);
    }
}

// Where an expression has no value any more its extremes have none, nor their times.
TEST(summary_of_what_has_no_value) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.1", "method=rodas5p",
                                      "method=tsit5 precision=f32"};
    static const char *const none[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed s = summed_run("x'=-1; init x=3; @ t1=5", NULL,
                                     "%s summary=a=min(sqrt(x)),b=max(sqrt(x)),c=tmin(sqrt(x)),"
                                     "d=tmax(sqrt(x)),e=tmax(x)",
                                     how[i]);
        for (size_t k = 0; k < sizeof none / sizeof *none; k++)
            CHECK_MSG(isnan(summed_value(&s, none[k], 0, 0)), "%s: %s is %g", how[i], none[k],
                      summed_value(&s, none[k], 0, 0));
        CHECK(summed_value(&s, "e", 0, 0) == 0);
        summed_free(&s);
    }
}

// Rows that another method takes over are computed again from their start, and overwritten.
TEST(summary_taken_over) {
    const char *model = "par k=1; x'=v; v'=k*(1-x^2)*v-x; init x=2,v=0";
    const char *words =
        "method=%s t1=50 window=20 rtol=1e-6 summary=i=integral(x),n=crossings(x,0),"
        "h=histogram(x,-1,1,3),p=peaks(x,4),q=quantile(x,0.5),T=period(x)";
    char stiff[300], both[300];
    snprintf(both, sizeof both, words, "auto");
    struct summed a = summed_run(model, "k=1000,2000,3000", "%s", both);
    shoal_tally tally = shoal_result_tally(a.result);
    CHECK_INT(tally.found_stiff, 3);
    snprintf(stiff, sizeof stiff, words, tally.stiff_method);
    struct summed b = summed_run(model, "k=1000,2000,3000", "%s", stiff);
    CHECK(summed_same(&a, &b));
    summed_free(&a);
    summed_free(&b);
}

TEST(summary_algebraic) {
    const char *model = "init x=1; x'=-a; alg a=1; 0=a-2*x";
    struct summed s = summed_run(model, NULL,
                                 "method=rodas5p t1=1 rtol=1e-9 atol=1e-9 "
                                 "summary=max(a),i=integral(a),d=dmin(x*0)");
    CHECK_NEAR(summed_value(&s, "max(a)", 0, 0), 2, 1e-7);
    CHECK_NEAR(summed_value(&s, "i", 0, 0), 1 - exp(-2), 1e-7);
    summed_free(&s);
}

TEST(summary_errors) {
    static const struct {
        const char *summary, *want;
    } cases[] = {
        {"max(y)", "--summary:1:5: error: `y` is not defined"},
        {"x", "--summary:1:1: error: expected a summary here"},
        {"meen(x)", "did you mean `mean`?; there are max, min, tmax"},
        {"max(x),", "--summary:1:8: error: expected a summary here"},
        {"max(x*2)", "--summary:1:1: error: this needs a label"},
        {"max(x)-min(x)", "this needs a label"},
        {"a=max(x),a=min(x)", "--summary:1:10: error: `a` is there twice"},
        {"max(x),max(x)", "`max(x)` is there twice"},
        {"run=max(x)", "`run` is a name that every result has"},
        {"crossings(x)", "`crossings` takes an expression and a level"},
        {"mean(x,2)", "`mean` takes an expression and nothing else"},
        {"max(x,rising)", "error"},
        {"q=quantile(x,1.5)", "between 0 and 1"},
        {"p=peaks(x,2.5)", "whole number"},
        {"p=1+peaks(x,2)", "--summary:1:5: error: `peaks` is several numbers, and stands alone"},
        {"h=histogram(x,2,1,3)", "a lower end that is below the upper"},
        {"h=at(x,v)", "behind the expression of quantile, histogram and at"},
        {"q=quantile(x,w*t)", "parameters and constants only"},
        {"h=histogram(x,-w,w,w)", "this is no number"},
        {"a=max(x", "error"},
        {"a=max(x))", "`)` closes nothing"},
        {"a=max(x)*x", "beside calls of summaries"},
        {"a=max(mean(x))", "`mean` is not defined"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[200];
        snprintf(words, sizeof words, "t1=1 summary=%s", cases[i].summary);
        const char *said = summed_error(oscillator, words);
        CHECK_MSG(strstr(said, cases[i].want), "%s: %s", cases[i].summary, said);
    }
    CHECK_HAS(
        summed_error("x'=-a; alg a=1; 0=a-x; init x=1", "method=rodas5p t1=1 summary=d=dmax(a)"),
        "algebraic");
}

// Numbers are no part of the kernel, expressions are.
TEST(summary_kernels) {
    setenv("SHOAL_CACHE_DIR", check_path("mine"), 1);
    struct summed s = summed_run(oscillator, NULL, "t1=20 summary=n=crossings(x,0.1),y=at(x,3)");
    shoal_effect effect;
    CHECK_INT(shoal_solver_set(s.solver, "summary", "n=crossings(x,0.2),y=at(x,4)", &effect, s.log),
              SHOAL_OK);
    CHECK_INT(effect, SHOAL_KEPT);
    shoal_result_free(s.result);
    REQUIRE(shoal_solver_run(s.solver, s.batch, &s.result, s.log) == SHOAL_OK);
    CHECK_NEAR(summed_value(&s, "y", 0, 0), sin(4), 1e-5);
    CHECK_INT(shoal_solver_set(s.solver, "window", "3", &effect, s.log), SHOAL_OK);
    CHECK_INT(effect, SHOAL_KEPT);
    CHECK_INT(shoal_solver_set(s.solver, "summary", "n=crossings(v,0.2),y=at(x,4)", &effect, s.log),
              SHOAL_OK);
    CHECK_INT(effect, SHOAL_COMPILED);
    summed_free(&s);
}

// A step may begin exactly on a level, or a rounding beside the edge of a bin: none of it is spent
// on the other side.
TEST(summary_of_steps_from_a_level) {
    static const char *const how[] = {"method=vern9", "method=heun-21"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed s = summed_run(
            "init x=-1, y=0, z=-1; x'=1; y'=1; z'=-1; event e at 0.5 : x=0; @ t1=2.5", "z=0,1",
            "%s summary=b=time_above(x,0),c=time_above(y,0),"
            "h=histogram(z,-1,1,4)",
            how[i]);
        double b = summed_value(&s, "b", 0, 0), c = summed_value(&s, "c", 0, 0);
        CHECK_MSG(fabs(b - 2) < 1e-6 && fabs(c - 2.5) < 1e-6, "%s: %.9g, %.9g", how[i], b, c);
        for (uint64_t row = 0; row < 2; row++) { // from z on down
            double want[6] = {1.5 - (double)row, 0.5, 0.5, row ? 0.5 : 0, row ? 0.5 : 0, 0};
            for (uint64_t k = 0; k < 6; k++)
                CHECK_MSG(fabs(summed_value(&s, "h", row, k) - want[k]) < 1e-6,
                          "%s: %d of %d: %.9g", how[i], (int)k, (int)row,
                          summed_value(&s, "h", row, k));
        }
        summed_free(&s);
    }
}

// What is flat between its jumps, or bends, is as fast as what it hangs on.
TEST(summary_of_what_jumps_out_of_flat) {
    static const struct {
        const char *of;
        double want;
    } cases[] = {{"mod(t,1)<0.1", 0.1},
                 {"mod(t,0.5)<0.1", 0.2},
                 {"max(sin(10*t),0.2)", 0.42589},
                 {"max(sin(20*t),0.2)", 0.42589},
                 {"if(floor(3*t+0.5)-3*t<-0.4)then(2)else(0)+0*y", 0.2},
                 {"abs(sin(20*t))>0.99", 0.0907}};
    static const char *const ways[] = {"method=tsit5", "method=rodas5p",
                                       "method=dop853 precision=f32"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            struct summed s = summed_run("init y=1; y'=-0.05*y; @ t1=10", NULL,
                                         "%s summary=m=mean(%s)", ways[k], cases[i].of);
            double m = summed_value(&s, "m", 0, 0);
            CHECK_MSG(fabs(m - cases[i].want) < 2e-3, "%s, %s: %.9g, not %.9g", ways[k],
                      cases[i].of, m, cases[i].want);
            summed_free(&s);
        }
    struct summed s = summed_run("init y=1; y'=-0.05*y; @ t1=10", NULL,
                                 "summary=n=crossings((sin(20*t)>0.2)+0*y,0.5)");
    CHECK_NEAR(summed_value(&s, "n", 0, 0), 64, 0);
    summed_free(&s);
}

// A bin ends where a step, a wave or a window does.
TEST(summary_histogram_ends_on_edges) {
    static const struct {
        const char *text, *options;
        double want[6];
    } cases[] = {
        {"init x=0; x'=1; @ t1=1",
         "method=rk4 dt=0.25 summary=h=histogram(x,0,1,4)",
         {0, 0.25, 0.25, 0.25, 0.25, 0}},
        {"init x=0; x'=1; @ t1=1",
         "method=vern9 summary=h=histogram(x,0,1,4)",
         {0, 0.25, 0.25, 0.25, 0.25, 0}},
        {"init x=1; x'=-1; @ t1=1",
         "method=rk4 dt=0.25 summary=h=histogram(x,0,1,4)",
         {0, 0.25, 0.25, 0.25, 0.25, 0}},
        {"init c=0; c'=1; @ t1=20",
         "method=tsit5 summary=h=histogram(sin(c),-1,1,4)",
         {0, 6.2831853, 3.1415927, 3.6651914, 6.9100306, 0}},
        {"init x=0; x'=1; event r every 1 from 1 : x=0; @ t1=5",
         "method=tsit5 summary=h=histogram(x,0,1,4)",
         {0, 1.25, 1.25, 1.25, 1.25, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summed s = summed_run(cases[i].text, NULL, "%s", cases[i].options);
        for (uint64_t k = 0; k < 6; k++)
            CHECK_MSG(fabs(summed_value(&s, "h", 0, k) - cases[i].want[k]) < 1e-5,
                      "%s, %s, bin %d: %.9g, not %.9g", cases[i].text, cases[i].options, (int)k,
                      summed_value(&s, "h", 0, k), cases[i].want[k]);
        summed_free(&s);
    }
}

// Where a window begins on a level nothing is crossed, whichever side rounding is on.
TEST(summary_windows_begin_on_levels) {
    static const char *const how[] = {"method=vern9", "method=tsit5", "method=dop853"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed s =
            summed_run("init x=1; par k=1; x'=k; @ t1=5", "k=lin:0.01:3:100",
                       "%s window=0.1 summary=n=crossings(x,1),tc=tcross(x,1)", how[i]);
        for (uint64_t row = 0; row < 100; row++)
            CHECK_MSG(summed_value(&s, "n", row, 0) == 0 && isnan(summed_value(&s, "tc", row, 0)),
                      "%s, row %d: %g", how[i], (int)row, summed_value(&s, "n", row, 0));
        summed_free(&s);
    }
}

// What the action of an event does that ends the run is seen, as any other is.
TEST(summary_of_the_last_action) {
    static const char *const how[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.03",
                                      "method=vern9", "method=tsit5 precision=f32"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        for (int expression = 0; expression < 2; expression++) {
            const char *of = expression ? "x+0.5*sin(x)" : "x";
            double last = expression ? 100 + 0.5 * sin(100.0) : 100;
            struct summed s =
                summed_run("init x=0; x'=1; event b when x>2 : x=100, stop; @ t1=5", NULL,
                           "%s summary=l=last(%s),m=max(%s),c=crossings(%s,50),"
                           "w=tmax(%s),i=mean(%s),h=crossings(%s,1)",
                           how[i], of, of, of, of, of, of);
            CHECK_NEAR(summed_value(&s, "l", 0, 0), last, 1e-4);
            CHECK_NEAR(summed_value(&s, "m", 0, 0), last, 1e-4);
            CHECK_NEAR(summed_value(&s, "c", 0, 0), 1, 0);
            CHECK_NEAR(summed_value(&s, "h", 0, 0), 1, 0);
            CHECK_NEAR(summed_value(&s, "w", 0, 0), 2, 1e-5);
            CHECK_NEAR(summed_value(&s, "i", 0, 0), expression ? 1 + (1 - cos(2.0)) / 4 : 1, 1e-5);
            summed_free(&s);
        }
    struct summed s = summed_run("init x=0; x'=1; event b when x>2 : x=-100, stop; @ t1=5", NULL,
                                 "window=1.5 summary=l=last(x),m=min(x)");
    CHECK_NEAR(summed_value(&s, "l", 0, 0), 1.5, 1e-9);
    CHECK_NEAR(summed_value(&s, "l", 0, 1), -100, 1e-9);
    CHECK_NEAR(summed_value(&s, "m", 0, 1), -100, 1e-9);
    summed_free(&s);
}

// Rows that end where they begin, while other lanes have had no row yet.
TEST(summary_of_rows_that_end_at_once) {
    struct summed s = summed_run("par T=0; init x=0; x'=1; event e at T : x=5, stop; @ t1=3",
                                 "T=lin:0:2.5:200", "method=tsit5 summary=max(x),count(e)");
    for (uint64_t i = 0; i < 200; i++) {
        double most = summed_value(&s, "max(x)", i, 0), times = summed_value(&s, "count(e)", i, 0);
        CHECK_INT(shoal_result_status(s.result, i), SHOAL_STATUS_stopped);
        CHECK_MSG(i ? most == 5 && times == 1 : isnan(most) && isnan(times), "row %d: %g, %g times",
                  (int)i, most, times);
    }
    summed_free(&s);
}

// An event whose time is a parameter of f32 is at the edge of a window that it is meant to be at.
TEST(summary_edges_and_parameters_of_f32) {
    static const char *const events[] = {"at T", "every 9 from T", "at 2*(T/2)"};
    for (int i = 0; i < 9; i++) {
        char text[128];
        double at = 0.3 * (1 + i % 3);
        snprintf(text, sizeof text, "par T=%.1f; init x=5; x'=0; event e %s : x=x-1; @ t1=1.2", at,
                 events[i / 3]);
        struct summed s = summed_run(
            text, NULL, "method=tsit5 precision=f32 window=0.3 summary=max(x),first(x),count(e)");
        for (uint64_t w = 0, at_w = 1 + (uint64_t)i % 3; w < 4; w++) {
            double want = w < at_w ? 5 : 4;
            CHECK_NEAR(summed_value(&s, "max(x)", 0, w), want, 0);
            CHECK_NEAR(summed_value(&s, "first(x)", 0, w), want, 0);
            CHECK_NEAR(summed_value(&s, "count(e)", 0, w), w == at_w, 0);
        }
        summed_free(&s);
    }
}

// In f32 a step may end behind the edge of a window by less than a part of it.
TEST(summary_of_steps_beside_edges) {
    static const char *const how[] = {
        "method=rk4 dt=0.01 window=0.3", "method=rk4 dt=0.01 settle=0.3",
        "method=rk4 dt=0.01 window=0.1", "method=tsit5 window=0.3", "method=rodas5p window=0.3"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct summed s = summed_run("par T=0.3, k=0.5; init x=1, y=0; x'=-k*x; y'=heav(t-T)", NULL,
                                     "%s precision=f32 t1=1.2 summary=rms(x),c=integral(x^2),"
                                     "s=mean(sin(x)),d=std(y)",
                                     how[i]);
        double begin = i == 1 ? 0.3 : 0, length = i == 1 ? 0.9 : i == 2 ? 0.1 : 0.3;
        for (uint64_t w = 0; begin + length < 1.21; w++, begin += length) {
            double want = exp(-begin) - exp(-begin - length);
            CHECK_NEAR(summed_value(&s, "c", 0, w), want, 1e-5);
            CHECK_NEAR(summed_value(&s, "rms(x)", 0, w), sqrt(want / length), 1e-5);
            CHECK(isfinite(summed_value(&s, "s", 0, w)) && isfinite(summed_value(&s, "d", 0, w)));
        }
        summed_free(&s);
    }
}
