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
