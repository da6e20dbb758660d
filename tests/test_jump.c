// SPDX-License-Identifier: MIT
// Jumps on states, tables and time: searched for in every step, located, and kinks left alone.
// Against closed forms, the same bits everywhere.
#include "check.h"
#include "device_test.h"
#include "solve.h"

#include <math.h>

// ---- Which conditions are searched for ----------------------------------------------------------

static uint32_t jumps_of(const char *text) {
    shoal_model *m;
    bool exact;
    uint32_t count = 0;
    REQUIRE(shoal_model_parse("test", text, strlen(text), &m, NULL) == SHOAL_OK);
    for (uint32_t i = 0; shoal_model_switch(m, i, NULL, 0, &exact); i++)
        count += !exact;
    shoal_model_free(m);
    return count;
}

TEST(jump_is_found) {
    static const struct {
        const char *text;
        uint32_t count;
    } cases[] = {
        {"x'=1-x\n", 0},
        {"x'=heav(x-1)\n", 1},
        {"x'=if(x<1)then(2)else(3)\n", 1},
        {"x'=heav(x-t)\n", 1},
        {"x'=heav(t-1)+heav(sin(t))\n", 0}, // those are exact
        {"x'=heav(exp(-t)*sin(t))+floor(t^2)\n", 2},
        {"driver u,v\nx'=heav(u-1)+if(u<v)then(0)else(2)\n", 2},
        {"driver u\nx'=if(u>0)then(u)else(0)+max(u,1)\n", 0},
        {"table g % 9 0 8 t^2\nx'=heav(g(t)-1)\n", 1},
        {"x'=sign(x)\n", 1},
        {"x'=mod(x,3)+floor(x)+ceil(2*x)\n", 3},
        {"x'=if(x>1&y<0.01)then(5)else(0)\ny'=1\n", 2}, // where the other holds, it matters
        {"x'=if(x>1|y<0.01)then(5)else(0)\ny'=1\n", 2},
        {"par a=0\nx'=heav(y)*a\ny'=1\n", 1}, // nothing, with these values alone
        {"par a=1,b=1\nx'=if(y>2)then(a)else(b)\ny'=1\n", 1},
        {"par m=0,a=2\nx'=if(m==1)then(if(y>2)then(a)else(1))else(0)\ny'=1\n", 1},
        {"par m=0,a=2\nx'=if(m==1)then(if(y>a)then(y)else(a))else(m)\ny'=1\n", 0},
        {"x'=if(y>3&y<3.005)then(floor(t/20))else(0)\ny'=0.1\n", 2},
        {"x'=if(y>3&y<3.005)then(max(0,z-100))else(0)\ny'=0.1\nz'=10\n", 2},
        {"par k1=1,k2=3,s=2\nx'=if(x<s)then(k1*x)else(k1*s+k2*(x-s))\n", 0},
        {"x'=max(0,x)+abs(x-1)+min(x,y)\ny'=x\n", 0},
        {"x'=heav(x-1)*(x-1)\n", 0},
        {"x'=if(x>2)then(x)else(2)\n", 0},
        {"x'=if(x>2)then(x)else(2.1)\n", 1},
        // a gap in a formula that has none
        {"init v=-65\nv'=if(abs(v+40)<1e-5)then(1)else((v+40)/10/(1-exp(-(v+40)/10)))\n", 0},
        {"init v=-65\nv'=if(abs(v+40)<1e-5)then(3)else((v+40)/10/(1-exp(-(v+40)/10)))\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(jumps_of(cases[i].text) == cases[i].count, "%s: %u jumps, not %u", cases[i].text,
                  jumps_of(cases[i].text), cases[i].count);
}

// ---- Closed forms -------------------------------------------------------------------------------

#define SQUARE "init x=1,v=0,n=0\nx'=v\nv'=-x\nn'=if(x>0.5)then(1)else(0)\n"

TEST(jump_with_every_method) {
    const double want = 2 * 2 * acos(0.5); // of two turns
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        if (m.order < 3 || !check_does(i, 0, 4))
            continue;
        struct solved s = solve(SQUARE, NULL, "t1=12.566370614359172 method=%s %s rtol=1e-7",
                                m.name, m.embedded_order ? "" : "dt=0.02");
        CHECK_MSG(fabs(solved_last(&s, 2, 0) - want) < 1e-4, "%s: %.9g, not %.9g", m.name,
                  solved_last(&s, 2, 0), want);
        solved_free(&s);
    }
}

TEST(jump_to_tolerance) {
    struct solved s = solve("init x=0\nx'=if(x<1)then(2)else(0.5)\n", NULL, "t1=3 rtol=1e-10");
    CHECK_NEAR(solved_last(&s, 0, 0), 2.25, 1e-9);
    solved_free(&s);
    s = solve("init th=0,n=0\nth'=1\nn'=heav(mod(th,2*pi)-pi)\n", NULL, "t1=20 rtol=1e-9");
    CHECK_NEAR(solved_last(&s, 1, 0), 3 * acos(-1), 1e-7);
    solved_free(&s);
    s = solve("init x=1,v=0,n=0\nx'=v\nv'=-x\nn'=floor(3*x)\n", NULL,
              "t1=6.283185307179586 rtol=1e-9");
    CHECK_NEAR(solved_last(&s, 2, 0), -acos(-1), 1e-6); // x and -x have floors that add up to -1
    solved_free(&s);
}

// A function of time that the error control sees nothing of between its turns.
TEST(jump_in_time_is_not_passed_over) {
    static const struct {
        const char *text;
        double t0, t1, want;
    } cases[] = {
        {"z'=if(t*(100-t)>2499)then(1)else(0)\n", 0, 100, 2},
        {"z'=if(t*(100-t)>2499)then(1)else(0)\n", 100, 0, -2},
        {"z'=heav(exp(-t/20)*sin(t)-0.3)\n", 0, 100, 7.709764184818},
        {"z'=heav(0.01-abs(exp(t/100)-2))\n", 0, 100, 1.000008333542},
        {"z'=heav(t*sin(100*t)-0.5*t)\n", 0, 50, 16.671385},
        {"z'=heav(sin(t)*exp(-t/1e3))\n", 0, 1e4, 5001.4155},
        {"z'=floor(3*exp(-(t-50)^2))\n", 0, 100, 3.36981699},
    };
    static const char *const ways[] = {"method=tsit5", "method=tsit5 rtol=1e-9", "method=rodas5p",
                                       "method=tsit5 precision=f32"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            if (!check_does(i, k, 4))
                continue;
            struct solved s =
                solve(cases[i].text, NULL, "t0=%g t1=%g %s", cases[i].t0, cases[i].t1, ways[k]);
            CHECK_MSG(fabs(solved_last(&s, 0, 0) - cases[i].want) <
                          1e-4 * (1 + fabs(cases[i].want)),
                      "%s, %s: %.9g, not %.9g", cases[i].text, ways[k], solved_last(&s, 0, 0),
                      cases[i].want);
            solved_free(&s);
        }
}

// A condition on a slow state goes as fast as what is of time in it.
TEST(jump_of_a_state_and_time) {
    static const struct {
        const char *text;
        double want; // of n at t = 10
    } cases[] = {
        {"init n=0,v=0.5\nn'=0\nv'=-0.01*v\nevent e when v+sin(1000*t)>1 : n=n+1\n", 1592},
        {"par w=300\ninit n=0,x=0.2\nn'=0\nx'=0.01\nevent e when sin(w*t+x)>0.5 : n=n+1\n", 478},
        {"init n=0,x=0\nn'=0\nx'=0.1\nevent e when x*sin(300*t)>0.2 : n=n+1\n", 382},
        {"init n=0,x=0.2\nn'=if(x>cos(500*t))then(1)else(0)\nx'=0.001\n", 5.658690},
    };
    static const char *const ways[] = {"method=tsit5", "method=rodas5p",
                                       "method=tsit5 precision=f32"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            if (!check_does(i, k, 3))
                continue;
            struct solved s = solve(cases[i].text, NULL, "t1=10 %s", ways[k]);
            CHECK_MSG(fabs(solved_last(&s, 0, 0) - cases[i].want) < 1e-4, "%s, %s: %.9g, not %.9g",
                      cases[i].text, ways[k], solved_last(&s, 0, 0), cases[i].want);
            solved_free(&s);
        }
}

TEST(jump_backwards) {
    struct solved s =
        solve("init x=2.25\nx'=if(x<1)then(2)else(0.5)\n", NULL, "t0=3 t1=0 rtol=1e-10");
    CHECK_NEAR(solved_last(&s, 0, 0), 0, 1e-8);
    solved_free(&s);
}

// What is 0 at the start is on the side that the condition says, and leaves it.
TEST(jump_begins_at_its_boundary) {
    struct solved s = solve("par d=1\ninit x=0,y=0,z=0,w=0\nx'=d\ny'=heav(x)\n"
                            "z'=if(x<=0)then(1)else(0)\nw'=sign(x)\n",
                            "d=-1,1,0", "t1=3 atol=1e-12");
    static const double want[3][3] = {{0, 3, -3}, {3, 0, 3}, {3, 3, 0}};
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t v = 0; v < 3; v++)
            CHECK_NEAR(solved_last(&s, v + 1, i), want[i][v], 1e-9);
    solved_free(&s);
}

// A condition that a switch in time turns.
TEST(jump_and_switch) {
    struct solved s = solve("init x=1,y=0\nx'=0\ny'=heav(x-2*heav(1-t))\n", NULL, "t1=3");
    CHECK_NEAR(solved_last(&s, 1, 0), 2, 1e-9);
    solved_free(&s);
}

// ---- On the boundary ----------------------------------------------------------------------------

static const char *const usual_ways[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.13",
                                         "method=tsit5 precision=f32"};
enum { USUAL_WAYS = sizeof usual_ways / sizeof *usual_ways };

// y at the end of a run to 10 is `want`, whichever way.
static void check_y(const char *text, double want) {
    for (size_t k = 0; k < USUAL_WAYS; k++) {
        struct solved s = solve(text, NULL, "t1=10 vars=y %s", usual_ways[k]);
        CHECK_MSG(s.status[0] == SHOAL_STATUS_ok &&
                      fabs(solved_last(&s, 0, 0) - want) < 1e-5 * (1 + fabs(want)),
                  "%s, %s: %.9g (%s), not %.9g", text, usual_ways[k], solved_last(&s, 0, 0),
                  shoal_status_word(s.status[0]), want);
        solved_free(&s);
    }
}

// What is made of other conditions is exactly on its boundary, and stays there.
TEST(jump_of_conditions) {
    static const struct {
        const char *of;
        double want;
    } cases[] = {
        {"(x>1)+(x>2)>=2", 8},     {"(x>1)*(x<4)>=1", 3}, {"heav(x-1)>=1", 9},
        {"sign(x-1)>=1", 9},       {"floor(x)>=1", 9},    {"floor(x)<2", 2},
        {"mod(floor(x),2)", 5},    {"floor(5-x)<=2", 8},  {"mod(floor(x),2)>=1", 5},
        {"floor(floor(x)/2)", 20}, {"ceil(x)>2", 8},      {"(x>1)-(x>4)==1", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "init x=0,y=0\nx'=1\ny'=%s\n", cases[i].of);
        check_y(text, cases[i].want);
    }
}

// Where an event or a switch puts a state exactly onto a boundary, it is true or false as it reads.
TEST(jump_that_is_put_onto_its_boundary) {
    check_y("init x=0,y=0;x'=0;y'=if(x>=1)then(1)else(0);event e at 3 : x=1", 7);
    check_y("init x=0,y=0;x'=0;y'=if(x>1)then(1)else(0);event e at 3 : x=1", 0);
    check_y("par p=0;init x=0,y=0;x'=0;y'=if(p>=1+x)then(1)else(0);event e at 3 : p=1", 7);
    check_y("init x=0,y=0;x'=0;y'=if(x>0)then(1)else(0);event e at 3 : x=1;event f at 6 : x=0", 3);
    check_y("init x=0,y=0;x'=0;y'=sign(x);event e at 3 : x=1;event f at 6 : x=0", 3);
    check_y("init x=1,y=0;x'=0;y'=if(x*heav(t-3)>=1)then(1)else(0)", 7);
    check_y("init x=1,y=0;x'=0;y'=floor(x*heav(t-3))", 7);
    check_y("init x=1,y=0;x'=0;y'=floor(x*heav(7-t))-1", -3);
}

// y at the end of a run to 10 with a driver u.
static void check_driven(const char *how, const char *of, double want) {
    static const double t[] = {0, 3, 7, 10}, u[] = {0, 1, 0, 0};
    char text[256], options[128];
    snprintf(text, sizeof text, "driver u\ninit y=0\n%s\n", of);
    for (size_t k = 0; k < USUAL_WAYS; k++) {
        shoal_driver list[] = {{"u", how, 4, t, u, NULL, NULL}, {0}};
        snprintf(options, sizeof options, "t1=10 %s", usual_ways[k]);
        struct rig rig = rig_new_driven(NULL, text, options, list);
        struct inputs in = {.rows = 1};
        struct outcome out = rig_run(&rig, &in, NULL, 0, NULL);
        double y = outcome_value(&out, 0, 0, 0);
        CHECK_MSG(fabs(y - want) < 1e-5 * (1 + want), "%s of %s, %s: %.9g, not %.9g", of, how,
                  usual_ways[k], y, want);
        outcome_free(&out);
        rig_free(&rig);
    }
}

// A signal that is exactly on a level for some time.
TEST(jump_of_a_signal_at_a_level) {
    static const struct {
        const char *of;
        double held, linear;
    } cases[] = {{"y'=u>=1", 4, 0},     {"y'=heav(u-1)", 4, 0}, {"y'=u>0", 4, 7},
                 {"y'=floor(u)", 4, 0}, {"y'=sign(u)", 4, 7},   {"y'=ceil(u)", 4, 7},
                 {"y'=u<1", 6, 10},     {"y'=u<=0", 6, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_driven("held", cases[i].of, cases[i].held);
        check_driven("linear", cases[i].of, cases[i].linear);
    }
    check_driven("held", "y'=0\nevent e when u>=1 : y=y+1\nevent g when u<1 : y=y+100", 101);
    check_driven("held", "y'=0\nevent e when u>0 : y=y+1\nevent g when u<=0 : y=y+100", 101);
}

// Whether something jumps does not hang on the model's own values, or on where it starts.
TEST(jump_of_swept_parameters) {
    struct solved s = solve("par a=0;init x=0,y=0;x'=1;y'=if(x>1 & x<1.05)then(a)else(0)",
                            "a=0,1,1000", "t1=30 vars=y");
    CHECK_NEAR(solved_last(&s, 0, 0), 0, 0);
    CHECK_NEAR(solved_last(&s, 0, 1), 0.05, 1e-6);
    CHECK_NEAR(solved_last(&s, 0, 2), 50, 1e-3);
    solved_free(&s);
    s = solve("init x=0,y=0,z=0,w=0;x'=0.1;y'=if(x>3&x<3.005)then(floor(t/20))else(0);z'=10;"
              "w'=if(x>3&x<3.005)then(max(0,z-100))else(0)",
              NULL, "t1=50");
    CHECK_NEAR(solved_last(&s, 1, 0), 0.05, 1e-6);
    CHECK_NEAR(solved_last(&s, 3, 0), 10.0125, 1e-4);
    solved_free(&s);
}

// Behind a jump a state is on its other side, so that functions which end there have values.
TEST(jump_is_over_behind_it) {
    static const struct {
        const char *of;
        double want; // of the first row
    } cases[] = {{"if(x>a)then(1+sqrt(x-a))else(0)", 6.19235},
                 {"if(x<a)then(0)else(1+log(1+1e-9+x-a))", 5.30782},
                 {"sqrt(mod(x,a))", 0.63246},
                 {"sqrt(x/a-floor(x/a))", 2}};
    static const char *const ways[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.013",
                                       "method=tsit5 precision=f32 rtol=1e-6",
                                       "method=radau-iia-5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            char text[128];
            if (!check_does(i, k, 3))
                continue;
            snprintf(text, sizeof text, "par a=1\ninit x=0,y=0\nx'=1\ny'=%s\n", cases[i].of);
            struct solved s = solve(text, "a=lin:0.1:1.3:61", "t1=3 vars=y %s", ways[k]);
            for (uint64_t row = 0; row < s.rows; row++)
                CHECK_MSG(s.status[row] == SHOAL_STATUS_ok, "%s, %s, row %d: %s", cases[i].of,
                          ways[k], (int)row, shoal_status_word(s.status[row]));
            CHECK_MSG(fabs(solved_last(&s, 0, 0) - cases[i].want) < 2e-3 * cases[i].want,
                      "%s, %s: %.9g, not %.9g", cases[i].of, ways[k], solved_last(&s, 0, 0),
                      cases[i].want);
            solved_free(&s);
        }
}

// Sliding is named, not solved, and does not hang.
TEST(jump_that_slides) {
    static const char *const ways[] = {"", "method=rodas5p", "method=rk4 dt=0.1",
                                       "method=backward-euler dt=0.1"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct solved s = solve("init x=0\nx'=if(x<1)then(1)else(-1)\n", NULL, "t1=3 %s", ways[i]);
        CHECK_MSG(s.status[0] == SHOAL_STATUS_events, "%s: %s", ways[i],
                  shoal_status_word(s.status[0]));
        CHECK_NEAR(s.t[0], 1, 1e-3);
        solved_free(&s);
    }
    struct solved rest = solve("init v=0\nv'=-0.3*sign(v)\n", NULL, "t1=3");
    CHECK_INT(rest.status[0], SHOAL_STATUS_ok);
    CHECK_NEAR(solved_last(&rest, 0, 0), 0, 0);
    solved_free(&rest);
}

// ---- The same everywhere ------------------------------------------------------------------------

static const char jumping[] = "par k=1,w=0.25;init x=1,v=0,n=0;x'=v;v'=-k*x;"
                              "n'=if(x>w)then(1)else(0)+floor(2*x)-heav(t-w)*n";

static const char timed[] = "par k=1,w=0.25;table g % 21 0 10 sin(2*t);init x=1;"
                            "x'=heav(w-(t-3)^2)+heav(g(t)-w)+g(k*t)-x";

DEVICE_TEST(jump_explicit) {
    device_compare_chunks(device, jumping, "method=tsit5 t1=9", device_sweeps());
    device_compare(device, timed, "method=tsit5 t1=9", device_sweeps());
    device_compare(device, timed, "method=tsit5 t1=9 precision=f32", device_sweeps());
}

LONG_DEVICE_TEST(jump_of_other_methods) {
    device_compare(device, jumping, "method=rk4 dt=0.01 t1=5 save=n=11 precision=f32",
                   device_sweeps());
    device_compare_chunks(device, jumping, "method=rodas5p t1=9 save=n=11", device_sweeps());
    device_compare(device, jumping, "method=kvaerno5 t0=2 t1=-3", device_sweeps());
}

// Events take what is rounded down over many whole numbers at once; and so does a long step, whose
// ends and inner places may lie anywhere.
TEST(jump_over_many_whole_numbers) {
    static const char *const tried[] = {"tsit5", "radau5"};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct solved s =
            solve("init x=0, y=0, z=0.5, w=0; x'=1; y'=if(mod(x,1)<0.5)then(1)else(0);"
                  "z'=0; w'=floor(z); event up at 1 : z=6.5; event down at 2 : z=-1.5",
                  NULL, "method=%s t1=10.25 rtol=1e-8", tried[i]);
        CHECK_STR(shoal_status_word(s.status[0]), "ok");
        CHECK_NEAR(solved_last(&s, 1, 0), 5.25, 1e-7);
        CHECK_NEAR(solved_last(&s, 3, 0), 6 - 2 * 8.25, 1e-7);
        solved_free(&s);
    }
}
