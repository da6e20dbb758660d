// SPDX-License-Identifier: MIT
// count(NAME): how often an event happens, in a run and in windows of it.
#include "check.h"
#include "device_test.h"
#include "summed.h"

// hit1 and hit2 come every 1/2 and 1/4 from 0, twice every 0.75 from 0 on; gone ends at 3.1.
static const char model[] = "par end=9; x[1..2]'=[j]; init x[1..2]=0;"
                            "event hit[1..2] when x[j]>=0.5 : x[j]=0;"
                            "event twice every 0.75 : x1=x1;"
                            "event gone when t>end : stop";

TEST(count_in_windows) {
    struct summed s = summed_run(model, "end=9,3.1",
                                 "t1=4.1 settle=0.3 window=1.12 device=cpu "
                                 "summary=count(hit1),count(hit[2]),m=count(twice)+1");
    static const double hit1[] = {2, 3, 2, 1}, hit2[] = {4, 5, 4, 2}, twice[] = {1, 2, 1, 1};
    for (uint64_t w = 0; w < 4; w++) { // that begin at 0.3, 1.42, 2.54, 3.66
        CHECK_NEAR(summed_value(&s, "count(hit1)", 0, w), hit1[w], 0);
        CHECK_NEAR(summed_value(&s, "count(hit[2])", 0, w), hit2[w], 0);
        CHECK_NEAR(summed_value(&s, "m", 0, w), twice[w] + 1, 0);
    }
    CHECK_NEAR(summed_value(&s, "count(hit1)", 1, 2), 1, 0); // 3.0, and over at 3.1
    CHECK(isnan(summed_value(&s, "count(hit1)", 1, 3)));
    summed_free(&s);
}

// A time that rounding alone tells apart from the edge of a window is that edge: 3 * 0.1 is behind
// 0.3, and 0.7 before 7 * 0.1. A window begins behind what happens there, and ends before it; what
// lies between both is in neither, however many moments there are.
static const char edges[] = "x'=0; y'=if(mod(t,%s)<%s)then(1)else(0); event e every %s : x=x+1";

static void check_edges(const char *period, const char *part, const char *window, int each) {
    for (int f32 = 0; f32 < 2; f32++) {
        char text[200], words[400];
        snprintf(text, sizeof text, edges, period, part, period);
        snprintf(words, sizeof words,
                 "t1=4.2 window=%s precision=%s method=%s summary=first(x),last(x),min(x),max(x),"
                 "tmax(x),c=count(e),low=dmin(y),high=dmax(y)",
                 window, f32 ? "f32" : "f64", f32 ? "tsit5" : "rk4 dt=0.1");
        struct summed s = summed_run(text, NULL, words);
        int windows = (int)lround(4.2 / atof(window));
        for (uint64_t w = 0; w < (uint64_t)windows; w++) {
            double before = (double)w * each;
            CHECK_NEAR(summed_value(&s, "first(x)", 0, w), before + 1, 0);
            CHECK_NEAR(summed_value(&s, "min(x)", 0, w), before + 1, 0);
            CHECK_NEAR(summed_value(&s, "last(x)", 0, w), before + each, 0);
            CHECK_NEAR(summed_value(&s, "max(x)", 0, w), before + each, 0);
            CHECK_NEAR(summed_value(&s, "c", 0, w), each, 0);
            CHECK_NEAR(summed_value(&s, "low", 0, w), 0, 0);
            CHECK_NEAR(summed_value(&s, "high", 0, w), 1, 0);
        }
        summed_free(&s);
    }
}

TEST(count_at_edges_that_are_rounded) {
    check_edges("0.1", "0.05", "0.3", 3);
    check_edges("0.1", "0.05", "0.1", 1);
    check_edges("0.7", "0.35", "0.7", 1);
    check_edges("0.6", "0.3", "0.6", 1);
    check_edges("0.3", "0.1", "2.1", 7);
}

// In windows that are as long as the pulse, and with what a run settles in, it is there or not.
TEST(summary_switches_at_edges_that_are_rounded) {
    struct summed s = summed_run("x'=if(mod(t,0.6)<0.3)then(1)else(0)", NULL,
                                 "t1=3.3 settle=0.6 window=0.3 summary=low=dmin(x),high=dmax(x)");
    for (uint64_t w = 0; w < 9; w++) {
        CHECK_NEAR(summed_value(&s, "low", 0, w), w % 2 == 0, 0);
        CHECK_NEAR(summed_value(&s, "high", 0, w), w % 2 == 0, 0);
    }
    summed_free(&s);
}

// Rounding of large times makes no window, and a run that is stopped with one has none behind it.
TEST(summary_windows_at_large_times) {
    struct summed s = summed_run("x'=1", NULL,
                                 "t0=1700000000.1 t1=1700000000.7 window=0.1 "
                                 "summary=i=integral(1+0*x)");
    double all = 0;
    for (uint64_t w = 0; w < 6; w++)
        all += summed_value(&s, "i", 0, w);
    CHECK_NEAR(all, 0.6, 1e-6);
    summed_free(&s);
    s = summed_run("x'=1; event over at 0.3 : stop", NULL,
                   "t1=1 window=0.1 summary=max(x),m=mean(x),h=histogram(x,0,1,2)");
    CHECK_NEAR(summed_value(&s, "max(x)", 0, 2), 0.3, 1e-12);
    CHECK(isnan(summed_value(&s, "max(x)", 0, 3)) && isnan(summed_value(&s, "m", 0, 3)) &&
          isnan(summed_value(&s, "h", 0, 12)));
    summed_free(&s);
}

// What happens at t0 counts, and so does the event that ends a row, once.
TEST(count_at_the_ends) {
    struct summed s = summed_run(model, "end=0.6,2", "t1=3 summary=count(twice),count(gone)");
    CHECK_NEAR(summed_value(&s, "count(twice)", 0, 0), 1, 0);
    CHECK_NEAR(summed_value(&s, "count(twice)", 1, 0), 3, 0);
    CHECK_NEAR(summed_value(&s, "count(gone)", 0, 0), 1, 0);
    summed_free(&s);
}

DEVICE_TEST(count_bits) {
    struct summed s[2];
    const char *const where[] = {"cpu", device};
    for (int i = 0; i < 2; i++)
        s[i] = summed_run(model, "end=lin:0.1:5:9",
                          "t1=4.1 window=1.1 device=%s precision=f32 summary=count(hit1),max(x2)",
                          where[i]);
    CHECK(summed_same(&s[0], &s[1]));
    summed_free(&s[0]);
    summed_free(&s[1]);
}

TEST(count_errors) {
    CHECK_HAS(summed_error(model, "t1=1 summary=count(hit3)"),
              "no event `hit3`; did you mean `hit");
    CHECK_HAS(summed_error(model, "t1=1 summary=count(Twice)"), "did you mean `twice`?");
    CHECK_HAS(summed_error(model, "t1=1 summary=count(x1)"), "--summary:1:7: error: the model has "
                                                             "no event `x1`");
    CHECK_HAS(summed_error(model, "t1=1 summary=count(twice,2)"), "takes the name of an event");
}
