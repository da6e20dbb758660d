// SPDX-License-Identifier: MIT
// Events at one moment, near their boundaries, and as far as rounding tells: each model was once
// wrong, and ended as `ok`.
#include "check.h"
#include "solve.h"

#include "base/buf.h"

#include <math.h>

static const char *const ways[] = {"method=tsit5", "method=rk4 dt=0.07", "method=rodas5p",
                                   "method=tsit5 precision=f32"};
enum { WAYS = sizeof ways / sizeof *ways };

// The last value of a variable is `want` in all rows.
static void all_have(const char *text, const char *sweep, const char *how, uint32_t var,
                     double want) {
    struct solved s = solve(text, sweep, "%s", how);
    for (uint64_t row = 0; row < s.rows; row++)
        CHECK_MSG(s.status[row] == SHOAL_STATUS_ok && solved_last(&s, var, row) == want,
                  "%s, row %d, %s: %.17g, not %g", text, (int)row, how, solved_last(&s, var, row),
                  want);
    solved_free(&s);
}

static void all_end_as_events(const char *text, const char *sweep, const char *how) {
    struct solved s = solve(text, sweep, "%s", how);
    for (uint64_t row = 0; row < s.rows; row++)
        CHECK_MSG(s.status[row] == SHOAL_STATUS_events, "%s, row %d, %s: %s", text, (int)row, how,
                  shoal_status_word(s.status[row]));
    solved_free(&s);
}

// Far from t = 0 the time of f32 is as good as near it, and so are events.
TEST(event_moment_far_from_zero) {
    static const char saw[] = "par r=1; init x=0, n=0; x'=r; n'=0; event e when x>1 : x=0, n=n+1";
    struct solved s =
        solve(saw, "r=1,20", "method=tsit5 dt-max=0.1 precision=f32 t0=1e7 t1=10000010.48");
    CHECK(solved_last(&s, 1, 0) == 10 && solved_last(&s, 1, 1) == 209);
    CHECK_NEAR(solved_last(&s, 0, 0), 0.48, 1e-4);
    solved_free(&s);
    static const char turns[] = "par w=1; init x=0, v=1, n=0; x'=w*v; v'=-w*x; n'=0;"
                                "event e when x>0 : n=n+1";
    s = solve(turns, "w=20,100", "method=tsit5 precision=f32 t0=1e5 t1=100010.5");
    CHECK(solved_last(&s, 2, 0) == 33 && solved_last(&s, 2, 1) == 167);
    solved_free(&s);
}

// A step is taken anew to where its interpolant has an event, and is there up to its tolerance: the
// other side of the same boundary is not met by that.
TEST(event_moment_of_the_other_side) {
    for (int i = 0; i < WAYS; i++) {
        all_have("par p=1, r=1; init v=0, n=0; v'=r*(2*p-v); n'=0; event spike when v>p : v=0;"
                 "event below when v<p : n=n+1; @ t1=4",
                 "p=lin:0.31:0.93:31 r=1,5", ways[i], 1, 0);
    }
    all_have("par p=1, r=1; init v=0, n=0; v'=r; n'=0; event spike when v>p : v=0;"
             "event below when v<p : n=n+1; @ t1=4",
             "p=lin:0.31:0.93:97 r=1,5", "method=rodas5p precision=f32", 1, 0);
}

// A ball that comes to rest ends as `events`, however its floor is written.
TEST(event_moment_at_rest) {
#define BALL "par e=0.5; init y=1, v=0; y'=v; v'=-10; @ t1=6; event hit when "
    for (int i = 0; i < 2; i++) {
        all_end_as_events(BALL "y<=0 : v=-e*v, y=0", "e=0.3,0.5,0.7", ways[i]);
        all_end_as_events(BALL "y<0 and v<0 : v=-e*v", "e=0.3,0.5,0.7", ways[i]);
    }
    static const char *const implicit[] = {"method=rodas5p", "method=kvaerno5"};
    for (int i = 0; i < 2; i++)
        all_end_as_events("par e=0.5; init y=1, v=0; alg h=1; alg k=1; y'=v; v'=-10; 0=h-2*k;"
                          "0=k-y; @ t1=2.5; event hit when h<0 : v=-e*v",
                          "e=0.5,0.6", implicit[i]);
}

// What acted, and is moved by another action of the same moment, is where it was put.
TEST(event_moment_moved_by_others) {
    static const char two[] = "par r=1; init x=0, n=0; x'=r; n'=0; event a when x>1 : n=n+1;"
                              "event b when x>1 : x=0; @ t1=60.5";
    all_have(two, "r=3", "method=rk4 dt=2", 1, 181);
    all_have(two, NULL, "method=tsit5 dt0=1", 1, 60);
    for (size_t i = 0; i < WAYS - 1; i++) {
        if (!check_does(0, i, 2))
            continue;
        all_have("par d=0.01; init x=0, y=0, n=0; x'=1; y'=0; n'=0;"
                 "event a when x>1 : y=1, n=n+1; event b when y>0.5 : y=0, x=x-d; @ t1=1.995",
                 NULL, ways[i], 2, 100);
        all_have("par p=1, r=1; init x=0, y=0, n=0; x'=r; y'=0; n'=0; @ t1=2;"
                 "event a when x>p : r=-r, y=1, n=n+1; event b when y>0.5 : y=0, x=x+0.2",
                 "p=lin:0.31:0.93:31", ways[i], 2, 2);
    }
}

// An action that puts its function below the boundary, if only by the last bit, holds it there.
TEST(event_moment_held_below) {
    static const char *const conditions[] = {"x>p", "x>=p", "x-p"};
    for (int i = 0; i < 3; i++) {
        char *put = NULL;
        REQUIRE(asprintf(&put, "par p=1, d=0; init x=0; x'=1; event e when %s : x=p-d; @ t1=2",
                         conditions[i]) > 0);
        check_keep(put);
        all_end_as_events(put, "d=1.2e-16,5e-16,9e-16,2e-15,1e-14", "method=tsit5");
        struct solved s = solve(put, "d=-1e-15,-0.1", "method=tsit5");
        CHECK(s.status[0] == SHOAL_STATUS_ok && s.status[1] == SHOAL_STATUS_ok);
        solved_free(&s);
    }
    all_end_as_events("par p=1; init x=0; x'=1; event e when x>p : x=p; @ t1=2", NULL,
                      "method=tsit5");
}

// On the boundary at t0, and on its way back from there.
TEST(event_moment_at_the_start) {
    struct solved s = solve("init y=0, v=0.1, n=0; y'=v; v'=-10; n'=0;"
                            "event hit when y<0 : v=-v, n=n+1; @ t1=1.99",
                            NULL, "method=rk4 dt=0.05");
    CHECK(s.status[0] == SHOAL_STATUS_ok && solved_last(&s, 2, 0) == 99);
    solved_free(&s);
}

// ---- Times --------------------------------------------------------------------------------------

// 3 * 0.1 and 0.3 are one moment, of which the file has the order; so are t0, t1 and samples.
TEST(event_moment_times_that_are_one) {
    static const char text[] = "init x=1, y=1; x'=0; y'=0; event a at 0.7 : x=x*10;"
                               "event b every 0.1 : y=y+1; event c at 0.3 : y=y*10";
    static const char *const how[] = {"method=tsit5", "method=tsit5 precision=f32"};
    for (int i = 0; i < 2; i++) {
        struct solved s = solve(text, NULL, "%s t0=0.7 t1=1", how[i]);
        CHECK_MSG(solved_last(&s, 0, 0) == 10, "t0: %g", solved_last(&s, 0, 0));
        solved_free(&s);
        s = solve(text, NULL, "%s t1=0.7", how[i]);
        CHECK_MSG(solved_last(&s, 0, 0) == 1, "t1: %g", solved_last(&s, 0, 0));
        solved_free(&s);
        s = solve(text, NULL, "%s t1=1 save=at=0.7", how[i]);
        CHECK_MSG(solved_last(&s, 0, 0) == 1, "a sample: %g", solved_last(&s, 0, 0));
        solved_free(&s);
        s = solve(text, NULL, "%s t1=0.35", how[i]);
        CHECK_MSG(solved_last(&s, 1, 0) == 50, "both: %g", solved_last(&s, 1, 0));
        solved_free(&s);
        all_have("init y=0; y'=0; event b every 0.7 : y=y+1; @ t1=2.1", NULL, how[i], 0, 3);
        all_have(
            "init y=0; y'=0; event b every 0.1 : y=y+1; event c at 0 : y=y*10; @ t0=-0.3, t1=1",
            NULL, how[i], 0, 49);
    }
}

// What comes at 0/0 would be left out in silence; at 1/0 it never comes. Whether it is so from the
// start, or by an action.
TEST(event_moment_that_is_no_number) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.1", "method=rodas5p",
                                      "method=tsit5 precision=f32"};
    static const char *const table[] = {
        "at u",           "at 0.5,u",        "every u",
        "every 1 from u", "every 1 until u", "every 1 from 2 until u",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
            char *text = NULL;
            REQUIRE(asprintf(&text,
                             "par v=1, w=0; !u=v/w; init y=0; y'=0; event e %s : y=y+1; "
                             "event f at 1.5 : w=1; @ t1=3",
                             table[i]) > 0);
            check_keep(text);
            struct solved s = solve(text, "v=0,1", "%s", how[k]);
            CHECK_MSG(s.status[0] == SHOAL_STATUS_events && s.status[1] == SHOAL_STATUS_ok,
                      "%s, %s: %s, %s", table[i], how[k], shoal_status_word(s.status[0]),
                      shoal_status_word(s.status[1]));
            solved_free(&s);
        }
    struct solved s = solve("par v=1, w=1; !u=v/w; init y=0; y'=0; event e at 2*u : y=y+1; "
                            "event f at 1.5 : v=0, w=0; @ t1=3",
                            "v=1,2", "method=tsit5");
    CHECK(s.status[0] == SHOAL_STATUS_events && s.status[1] == SHOAL_STATUS_events);
    solved_free(&s);
}

// A period of so few bits of the time that two of its rounds would be one ends as `events`: no
// round is left out. A bit is u, and the run has 640 of them.
TEST(event_moment_periods_of_few_bits) {
    static const char text[] = "par m=1, u=1; init n=0; n'=0; event e every m*u : n=n+1";
    static const char *const how[] = {"method=tsit5", "method=tsit5 precision=f32"};
    for (int i = 0; i < 2; i++) {
        double u = ldexp(1, i ? -36 : -42);
        char *sweep = NULL;
        REQUIRE(asprintf(&sweep, "m=lin:1:64:64 u=%.17g", u) > 0);
        check_keep(sweep);
        struct solved s = solve(text, sweep, "%s t0=1000 t1=%.17g", how[i], 1000 + 640 * u);
        for (uint64_t row = 0; row < 64; row++) { // what is within eight bits of t1 may be there
            double m = (double)row + 1, n = solved_last(&s, 0, row);
            bool right =
                s.status[row] == SHOAL_STATUS_ok && n >= ceil(632 / m) && n <= ceil(640 / m);
            CHECK_MSG(right || (m < 18 && s.status[row] == SHOAL_STATUS_events), "%g bits: %g, %s",
                      m, n, shoal_status_word(s.status[row]));
        }
        solved_free(&s);
    }
}

// f32 counts further than its numbers are whole, and knows the last round of many.
TEST(event_moment_rounds_of_f32) {
    static const char text[] =
        "par p=1, u=1; init n=0, k=0; n'=0; k'=0; event e every p from 0 until u : n=n+1;"
        "event f every 0.001 from 0 until 20000.0509 : k=k+1";
    struct solved s = solve(text, "p=0.001 u=19999,20000.05,30000",
                            "method=tsit5 precision=f32 t0=20000.0005 t1=20000.1005");
    CHECK(solved_last(&s, 0, 0) == 0 && solved_last(&s, 0, 2) == 100);
    for (uint64_t row = 0; row < 3; row++)
        CHECK_MSG(solved_last(&s, 1, row) == 50, "%g", solved_last(&s, 1, row));
    solved_free(&s);
    s = solve(text, "p=0.7 u=0.7,2.1,4.9,4.8", "method=tsit5 precision=f32 t1=10");
    CHECK(solved_last(&s, 0, 0) == 2 && solved_last(&s, 0, 1) == 4);
    CHECK(solved_last(&s, 0, 2) == 8 && solved_last(&s, 0, 3) == 7);
    solved_free(&s);
    all_end_as_events(text, "p=1e-6 u=1e9", "method=tsit5 precision=f32 t0=1000 t1=1000.1");
}

// A sample at the time of an event has what was before it, also where rounding puts the event a bit
// ahead: 3*0.3 is less than 0.9, 3*0.1 more than 0.3.
TEST(event_moment_samples_that_are_there) {
    static const char text[] = "init x=0, y=0; x'=0; y'=0;"
                               "event e every 0.3 : x=x+1; event f at 0.7+0.2, 1.2+0.6 : y=y+1";
    for (int i = 0; i < WAYS; i++) {
        struct solved s = solve(text, NULL, "%s t1=20 save=every=0.9", ways[i]);
        for (uint64_t k = 0; k < s.samples; k++) {
            double t = 0.9 * (double)k, x = solved_value(&s, 0, 0, k),
                   y = solved_value(&s, 1, 0, k);
            CHECK_MSG(x == (k ? 3 * (double)k : 1), "%s: %g at %g", ways[i], x, t);
            CHECK_MSG(y == (k < 2 ? 0 : k < 3 ? 1 : 2), "%s: %g at %g", ways[i], y, t);
        }
        solved_free(&s);
    }
}

// Where nobody looks, values that stand beside each other in a batch are no times: two periods
// whose sum is a round of one of them once kept its events from happening.
TEST(event_moment_nobody_looks) {
    static const char text[] = "par p=1; init n=0; n'=0; event e every p : n=n+1";
    static const double periods[] = {0.01, 0.02, 0.04, 0.1, 0.2, 0.3};
    for (int i = 0; i < 36; i++) {
        double p[2] = {periods[i / 6], periods[i % 6]};
        char *sweep = NULL;
        REQUIRE(asprintf(&sweep, "p=%g,%g", p[0], p[1]) > 0);
        check_keep(sweep);
        struct solved s = solve(text, sweep, "method=tsit5 t1=10.005");
        for (uint64_t row = 0; row < s.rows; row++)
            CHECK_MSG(solved_last(&s, 0, row) == floor(10.005 / p[row]) + 1, "%s: %g", sweep,
                      solved_last(&s, 0, row));
        solved_free(&s);
    }
}

// Nor are times of parameters better than those are: a sample and the end of a run that are a
// multiple of a period in f32 have what was before it.
TEST(event_moment_of_parameters) {
    static const char text[] = "par p=1, q=1; init n=0, m=0; n'=0; m'=0;"
                               "event every_p every p : n=n+1; event at_q at q, 2*q, 3*q : m=m+1";
    static const double each[][3] = {{1.4, 3.2, 5.6},   {0.9, 3.8, 0.9},   {0.02, 5, 0.02},
                                     {0.05, 0.35, 0.1}, {0.3, 1.8, 0.9},   {0.07, 0.21, 0.07},
                                     {1.1, 12.1, 12.1}, {0.57, 1.14, 1.14}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        for (int k = 0; k < WAYS; k++) {
            double p = each[i][0], q = each[i][1], dt = each[i][2];
            char *sweep = NULL;
            REQUIRE(asprintf(&sweep, "p=%g q=%g", p, q) > 0);
            check_keep(sweep);
            struct solved s =
                solve(text, sweep, "%s save=every=%.17g t1=%.17g", ways[k], dt, 20 * dt);
            for (uint64_t j = 0; j < s.samples; j++) {
                double t = dt * (double)j, n = j ? ceil(t / p - 1e-6) : 1;
                double m = j ? fmin(3, ceil(t / q - 1e-6) - 1) : 0;
                CHECK_MSG(solved_value(&s, 0, 0, j) == n && solved_value(&s, 1, 0, j) == m,
                          "%s, %s: %g and %g at %g, not %g and %g", sweep, ways[k],
                          solved_value(&s, 0, 0, j), solved_value(&s, 1, 0, j), t, n, m);
            }
            solved_free(&s);
        }
}

// ---- What leaps, and what follows at once -------------------------------------------------------

// A function that leaps over its boundary at a pole, or where it jumps, is on the other side then,
// and comes back the usual way, or by another leap.
TEST(event_moment_of_leaps) {
    static const char text[] =
        "par w=1; init x=0.1, n[1..5]=0; x'=w; n[1..5]'=0;"
        "event a when tan(x)<0 : n1=n1+1; event b when tan(x)>0 : n2=n2+1;"
        "event c when 1/sin(x) : n3=n3+1; event d when mod(x,1)-0.25 falling : n4=n4+1;"
        "event e when sign(cos(x))+cos(x)/10 : n5=n5+1";
    for (int k = 0; k < WAYS; k++) {
        struct solved s = solve(text, "w=lin:0.3:4.1:39", "%s dt-max=0.05 t1=10", ways[k]);
        for (uint64_t row = 0; row < s.rows; row++) {
            double x = 0.1 + 10 * (0.3 + 0.1 * (double)row), half = floor(x / M_PI + 0.5);
            double want[] = {half, floor(x / M_PI), floor(x / M_PI), floor(x), half};
            for (uint32_t v = 0; v < 5; v++)
                CHECK_MSG(solved_last(&s, v + 1, row) == want[v], "%s, row %d, n%u: %g, not %g",
                          ways[k], (int)row, v + 1, solved_last(&s, v + 1, row), want[v]);
        }
        solved_free(&s);
    }
}

// Who acts behind another at the same time sees algebraic states that are consistent with what that
// one left, and is turned by them.
TEST(event_moment_of_algebraic_states) {
    static const char *const implicit[] = {"method=rodas5p rtol=1e-9", "method=radau5 rtol=1e-9",
                                           "method=kvaerno5 controller=fixed dt=0.01"};
    for (int k = 0; k < 3; k++) {
        struct solved s = solve("init x=1, q=0, n=0; x'=-x; q'=0; n'=0; alg z=2; 0=z^2-4*x^2;"
                                "event a at 1 : q=z, x=x+1; event b at 1 : q=q+100*z;"
                                "event c when z>2.5 : n=n+1",
                                NULL, "%s t1=1.5", implicit[k]);
        double x = exp(-1);
        CHECK_STR(shoal_status_word(s.status[0]), "ok");
        CHECK_NEAR(solved_last(&s, 1, 0), 2 * x + 200 * (x + 1), 1e-5);
        CHECK(solved_last(&s, 2, 0) == 1);
        CHECK_NEAR(solved_last(&s, 3, 0), 2 * (x + 1) * exp(-0.5), 1e-6);
        solved_free(&s);
    }
}

// A run does not stop with what is no state.
TEST(event_moment_no_state_to_stop_with) {
    static const char text[] = "par k=1; init x=0, y=1; x'=1; y'=0;"
                               "event a when x>1 : y=sqrt(k); event b when x>1 : stop";
    struct solved s = solve(text, "k=1,-1", "method=tsit5 t1=2");
    CHECK_STR(shoal_status_word(s.status[0]), "stopped");
    CHECK_STR(shoal_status_word(s.status[1]), "nonfinite");
    solved_free(&s);
    s = solve("par k=1; init x=1; x'=-x; alg z=1; 0=z^2-k*x; event a at 1 : k=-1;"
              "event b at 1 : stop",
              NULL, "method=rodas5p t1=2");
    CHECK_STR(shoal_status_word(s.status[0]), "newton");
    solved_free(&s);
}

// ---- Who sees what others left ------------------------------------------------------------------

// A condition that is made of another one sees what that one is now, however often it turns at the
// same time, and so acts in the order of the file.
TEST(event_moment_of_conditions_that_others_turn) {
    static const char text[] = "par c=1; init x=0, y=0, z=0; h=if(x>1)then(1)else(0);"
                               "x'=0; y'=0; z'=h; event a at 1 : x=2;"
                               "event b when c>0.5 and h>0.5 : y=10;"
                               "event d when x>0.5 : x=0.6, y=y+1;"
                               "event e when h<0.5 : y=2*y; @ t1=2";
    for (int k = 0; k < WAYS; k++) {
        all_have(text, NULL, ways[k], 1, 22);
        struct solved s = solve(text, NULL, "%s", ways[k]);
        CHECK_NEAR(solved_last(&s, 2, 0), 0, 1e-6);
        solved_free(&s);
    }
}

// A part of a condition that does not move, and is exactly on its boundary, leaves the rest alone:
// with `or flag>0` the ball once fell through the floor.
TEST(event_moment_of_parts_that_rest) {
    static const char *const parts[] = {"y<0 or flag>0", "flag>0 or y<0", "y<0 or floor(s+0.5)>0",
                                        "y<0 and flag<=0", "y<0 and not(flag>0) or flag>0"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int k = 0; k < WAYS; k++) {
            char *ball = NULL;
            REQUIRE(asprintf(&ball,
                             "par flag=0; init y=1, v=0, s=0, n=0; y'=v; v'=-1; s'=0; n'=0;"
                             "event hit when %s : v=-0.9*v, n=n+1; @ t1=10",
                             parts[i]) > 0);
            check_keep(ball);
            all_have(ball, NULL, ways[k], 3, 4);
        }
}

// What rests a bit beyond its boundary since it acted, because of others, has not come there anew
// when they let it go back: an integrator that saturates.
TEST(event_moment_of_saturation) {
    static const char text[] = "par A=3, sat=0; init x=0, n=0, m=0; f=A*sin(t);"
                               "x'=if(abs(sat)>0.5)then(0)else(f); n'=0; m'=0;"
                               "event hi when x>1 : sat=1, n=n+1;"
                               "event lo when x<-1 : sat=-1, m=m+1;"
                               "event rh when f<0 and sat>0.5 : sat=0;"
                               "event rl when f>0 and sat<-0.5 : sat=0; @ t1=14";
    for (int k = 0; k < WAYS; k++) {
        all_have(text, "A=lin:2.5:5:26", ways[k], 1, 3);
        all_have(text, "A=lin:2.5:5:26", ways[k], 2, 2);
    }
}

// What went back over its boundary, which then moves past it, is met again, however soon.
TEST(event_moment_of_a_boundary_that_moves) {
    static const char text[] = "par on=1, c=1.2; init x=0, n=0; x'=2*on-x; n'=0; @ t1=1.5;"
                               "event warm when x>if(t<c)then(1)else(0.5) : on=0, n=n+1";
    for (int k = 0; k < WAYS; k++)
        all_have(text, "c=lin:0.7:0.8:26", ways[k], 1, 2);
}

// ---- Stops that are one -------------------------------------------------------------------------

// Where a switch turns or a time of another event is a bit ahead of a sample, that shows what was
// before all of them.
TEST(event_moment_beside_a_switch) {
    static const char text[] = "init x=0, n=0; x'=if(mod(t,0.3)<0.1)then(1)else(0); n'=0;"
                               "event e every 0.1 : n=n+1";
    for (int k = 0; k < WAYS; k++) {
        struct solved s = solve(text, NULL, "%s t1=9 save=every=0.1", ways[k]);
        for (uint64_t i = 0; i < s.samples; i++)
            CHECK_MSG(solved_value(&s, 1, 0, i) == (i ? (double)i : 1), "%s: %g at 0.1*%d", ways[k],
                      solved_value(&s, 1, 0, i), (int)i);
        solved_free(&s);
    }
}

// Times that parameters of f32 tell apart by rounding alone are one, too: what is put off by a
// period comes with the next round, and in the order of the file.
TEST(event_moment_put_off_by_a_period) {
    static const char text[] = "par p=0.1, tn=1e9; init n=0, m=0; n'=0; m'=0;"
                               "event a every p : n=n+1, tn=t+p; event b at tn : m=10*m+n";
    static const double periods[] = {0.3, 0.7, 0.9, 1.1, 1.3};
    for (int k = 0; k < WAYS; k++)
        for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
            char *how = NULL;
            REQUIRE(asprintf(&how, "%s t1=%g", ways[k], 6.02 * periods[i]) > 0);
            check_keep(how);
            char *sweep = NULL;
            REQUIRE(asprintf(&sweep, "p=%g", periods[i]) > 0);
            check_keep(sweep);
            all_have(text, sweep, how, 1, 234567);
        }
}

// What an action puts to its own time happens then: a delay may be 0, and `from` counts.
TEST(event_moment_put_to_now) {
    static const char text[] = "par lag=0, tn=1e9, f=1e9; init x=0, n=0, m=0, k=0;"
                               "x'=1; n'=0; m'=0; k'=0; event del at tn : m=10*m+n;"
                               "event trig when x>1 : tn=t+lag, x=0, n=n+1, f=t;"
                               "event ev every 0.3 from f until f+0.65 : k=k+1; @ t1=5.5";
    for (int k = 0; k < WAYS; k++) {
        all_have(text, "lag=0,1e-15,1e-7,0.1", ways[k], 2, 12345);
        all_have(text, "lag=0,0.1", ways[k], 3, 14);
        all_have("par tn=1; init n=0; n'=0; event a at tn : n=n+1, tn=t; @ t1=3", NULL, ways[k], 0,
                 1);
    }
}

// An event that others turned back and forth while it had its turn acts again right behind them.
TEST(event_moment_turned_back_and_forth) {
    static const char text[] = "init x=0, y=0, n=0; x'=0; y'=0; n'=0; event start at 1 : x=2;"
                               "event a when x>1 : n=n+1, y=1; event b when y>0.5 : x=0, y=0;"
                               "event c when x<0.5 and n<2 : x=3; @ t1=2";
    static const char still[] = "init x=0, y=0, n=0; x'=0; y'=0; n'=0; event start at 1 : x=2;"
                                "event a when x+y>1 : n=n+1; event b when x>1 : y=-2;"
                                "event c when y<-1 : y=0; @ t1=2";
    for (int k = 0; k < WAYS; k++) {
        all_have(text, NULL, ways[k], 0, 0);
        all_have(text, NULL, ways[k], 2, 2);
        all_have(still, NULL, ways[k], 2, 2);
    }
}

// The first step to what happens right behind t0 = 0 is not too short for any matrix.
TEST(event_moment_right_behind_zero) {
    static const char *const methods[] = {"tsit5",  "rodas5p", "kvaerno5", "radau5",
                                          "radau9", "gauss4",  "gauss8"};
    static const char text[] = "init x=0, n=0; x'=1-x+0.5*heav(x-0.3*sin(4*t)); n'=0;"
                               "event e when x>0 : n=n+1; event f when x>1e-30 : n=n+10; @ t1=1";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (int single = 0; single < 2; single++) {
            char *how = NULL;
            REQUIRE(asprintf(&how, "method=%s%s", methods[i], single ? " precision=f32" : "") > 0);
            check_keep(how);
            struct solved s = solve(text, NULL, "%s", how);
            CHECK_MSG(s.status[0] == SHOAL_STATUS_ok && solved_last(&s, 1, 0) == 10, "%s: %s, %g",
                      how, shoal_status_word(s.status[0]), solved_last(&s, 1, 0));
            solved_free(&s);
        }
}

// An action that flips a flag beside a condition on time, or a parameter that others are derived
// from, leaves its own event as it goes.
TEST(event_moment_of_flags_that_actions_turn) {
    static const char flag[] = "par m=1; init x=0, n=0; x'=1; n'=0;"
                               "event e when (m>0.5 or t<3.3) and x>1 : m=0, n=n+1; @ t1=6";
    static const char derived[] = "par k=0; !d=1+k; init x=0, n=0; x'=1; n'=0;"
                                  "event e when x>1 & k<5 : k=k+1, n=n+1; @ t1=5";
    static const char used[] = "par k=0; !d=1+k; init x=0, n=0; x'=1; n'=0;"
                               "event e when x>d : k=k+1, n=n+1; @ t1=2.05";
    for (int i = 0; i < WAYS; i++) {
        all_have(flag, "x(0)=lin:0:0.9:97", ways[i], 1, 1);
        all_have(derived, "x(0)=lin:0:0.9:97", ways[i], 1, 1);
        all_have(used, "x(0)=lin:0.06:0.9:97", ways[i], 1, 2);
    }
}

// What f32 cannot see moving does not rest on its boundary.
TEST(event_moment_before_a_stop_in_f32) {
    static const char strict[] = "par T=1.1; init x=0, n=0, k=0; x'=1; n'=0; k'=0;"
                                 "event a when t>T : n=n+1; event b at T : k=k+1; @ t1=2";
    static const char delay[] = "par te=-1, ts=-1, ke=1.4; init c=0.8, n=0;"
                                "c'=-ke*c+0.2*(t>=ts & t<te); n'=0;"
                                "event low when c<0.73 : ts=t, te=t+0.4, n=n+1; @ t1=1.5";
    for (int i = 0; i < 2; i++) {
        const char *how = i ? "method=rodas5p precision=f32" : "method=tsit5 precision=f32";
        all_have(strict, "T=1.1,1.2,1.3,1.5,1.7", how, 1, 1);
        all_have(delay, "ke=lin:1:1.8:97", how, 1, 1);
    }
}

// Of two events on one boundary each happens, in the order of the file, though one is not beyond it
// yet; and so does one that is on its boundary where something is timed.
TEST(event_moment_on_the_boundary) {
    static const char *const how[] = {"method=tsit5", "method=rk4 dt=0.25",
                                      "method=tsit5 precision=f32", "method=radau5 precision=f32"};
    static const char *const of[] = {"v-1 rising", "v>1"};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2; k++) {
            char saw[256];
            snprintf(saw, sizeof saw,
                     "init v=0, n=0, k=0; v'=1; n'=0; k'=0; event log when %s : n=n+1;"
                     "event spike when v>=1 : v=0, k=k+1; @ t1=10.05",
                     of[k]);
            struct solved s = solve(saw, "v(0)=lin:0:0.9:61", "%s", how[i]);
            for (uint64_t row = 0; row < s.rows; row++)
                CHECK_MSG(solved_last(&s, 1, row) == 10 && solved_last(&s, 2, row) == 10,
                          "%s, row %d, %s: %g and %g", of[k], (int)row, how[i],
                          solved_last(&s, 1, row), solved_last(&s, 2, row));
            solved_free(&s);
        }
        all_have("par T=2.625; init x=0, n=0, before=-1; x'=1; n'=0; before'=0;"
                 "event a when t>T : n=n+1; event b at T : before=n; @ t1=5",
                 "T=lin:1:3:97", how[i], 2, 1);
    }
}

// A time that is infinite is never, and takes no other with it.
TEST(event_moment_never) {
    static const char *const never[] = {"at 1/f", "at -1/f", "every 0.5 from 1/f",
                                        "every 1/f from 1", "every 0.5 until -1/f"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        for (int k = 0; k < WAYS; k += WAYS - 1) {
            char text[256];
            bool once = i == 3;
            if (!check_does(i, (size_t)k / (WAYS - 1), 2))
                continue;
            snprintf(text, sizeof text,
                     "par f=0; init x=0, n=0, k=0; x'=1; n'=0; k'=0; event c at 1, 2 : n=n+1;"
                     "event r every 0.4 : n=n+10; event d %s : k=k+1; @ t1=3",
                     never[i]);
            all_have(text, NULL, ways[k], 1, 82);
            all_have(text, NULL, ways[k], 2, once);
        }
}

// What is due where another event waits for the look that it is one with acts once.
TEST(event_moment_where_others_wait) {
    static const char text[] =
        "par p=100.1; init y=-50, a=0, b=0, z=0; y'=1; a'=0; b'=0; z'=0; event r at 100 : y=0;"
        "event A at p : a=a+1; event B at 100.0999990 : b=b+1; event z when y>0.0999993 : z=z+1";
    for (int i = 0; i < 2; i++) {
        const char *precision = i ? "f32" : "f64";
        struct solved s =
            solve(text, NULL, "method=tsit5 t1=101 save=at=100.1,101 precision=%s", precision);
        for (uint32_t v = 1; v <= 3; v++)
            CHECK_NEAR(solved_last(&s, v, 0), v == 3 ? 2 : 1, 0);
        solved_free(&s);
    }
}

// What rests on its boundary, touches it, or has a corner there is not taken over it by what else
// happens at that time.
TEST(event_moment_not_over_the_boundary) {
    static const char *const of[] = {"x<p and x>=p", "not (x>=p or x<p)", "min(p-x,x-p) rising",
                                     "y<p and t>=p", "t<p and x>p"};
    static const char touch[] = "init x=0, y=9, n=0; x'=1; y'=2*(x-1); n'=0;"
                                "event a when x-1 rising : x=x; event b when y<8 : n=n+1; @ t1=2";
    for (int i = 0; i < WAYS; i++) {
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            char text[256];
            snprintf(text, sizeof text,
                     "par p=1; init x=0, y=0, n=0, m=0; x'=1; y'=1; n'=0; m'=0;"
                     "event a at p : m=m+1; event c when %s : n=n+1; @ t1=2",
                     of[k]);
            bool exact = i < 3 || k < 3; // f32 tells a state from t
            if (exact && check_does((size_t)i, k, WAYS))
                all_have(text, "p=lin:0.3:1.3:31", ways[i], 2, 0);
        }
    }
    all_have(touch, NULL, "method=rk4 dt=0.125", 2, 0);
    all_have("par a=0.1, b=0.7; !p=a/b; init x=0, n=0, m=0; x'=a-b*x; n'=0; m'=0;"
             "event c at 40 : m=m+1; event b when x>p : n=n+1; @ t1=50",
             "a=lin:0.1:2:20 b=lin:0.3:1.9:20", "method=tsit5 dt-max=0.5", 1, 0);
}

// A fixed step that ends a rounding before a switch in time ends with it.
TEST(event_moment_of_fixed_steps) {
    static const char *const how[] = {
        "rk4 dt=0.03", "rk4 dt=0.05", "rk4 dt=0.09", "euler dt=0.03", "rk4 dt=0.03 precision=f32",
        "tsit5"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct solved s = solve("init x=1, z=0; x'=0; z'=if(t>3.6)then(1)else(0);"
                                "event d when heav(t-3.6)>0.5 : x=x-0.25; event c at 3.6 : x=x*3",
                                NULL, "method=%s t1=4 save=at=3.6,4", how[i]);
        CHECK_NEAR(solved_value(&s, 0, 0, 0), 1, 0);
        CHECK_NEAR(solved_value(&s, 0, 0, 1), 2.25, 0);
        CHECK_NEAR(solved_value(&s, 1, 0, 1), 0.4, 1e-6);
        solved_free(&s);
    }
}

// Thousands of parameters, each derived from the one before it, are told in order.
TEST(event_moment_of_a_long_chain) {
    struct buf text = {0};
    buf_puts(&text, "par k=0\ninit x=0\n!d0=1+k\n");
    for (int i = 1; i < 20000; i++)
        buf_printf(&text, "!d%d=d%d+1e-9\n", i, i - 1);
    buf_puts(&text, "x'=1\nevent e when x>d19999 : k=k+5\n@ t1=2\n");
    const char *path = check_path("chain.ode");
    check_write(path, text.data);
    CHECK_INT(RUN(check_shoal(), "info", path).status, 0);
    buf_free(&text);
}
