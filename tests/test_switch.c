// SPDX-License-Identifier: MIT
// Conditions on time alone: steps end where they turn, exactly, and no pulse is too short to be
// seen. Against closed forms, with all methods, in both directions, the same bits everywhere.
#include "check.h"
#include "device_test.h"
#include "ode/model/model.h"
#include "ode/symbolic/symbolic.h"
#include "solve.h"

#include <math.h>
#include <stdarg.h>

// ---- Which conditions are found -----------------------------------------------------------------

static uint32_t switches_of(const char *rhs) {
    char text[512];
    snprintf(text, sizeof text, "par p=2, q=3\n!d=p+q\ny'=-y\nx'=%s\naux o=heav(t-7)\n", rhs);
    struct model *m = model_parse("test", text, strlen(text), NULL);
    REQUIRE(m);
    struct system *s = system_new(m, NULL);
    REQUIRE(s);
    uint32_t count = s->switches;
    system_free(s);
    model_free(m);
    return count;
}

TEST(switch_is_found) {
    static const struct {
        const char *rhs;
        uint32_t count;
    } cases[] = {
        {"1", 0},
        {"t", 0},
        {"heav(t-1)", 1},
        {"heav(t-1)+heav(t-1)", 1},
        {"heav(t-p)*heav(p+q-t)", 2},
        {"if(t<d)then(1)else(y)", 1},
        {"if(t<1&t>0|t==5)then(1)else(2)", 4},
        {"if(t!=p)then(1)else(2)", 2},
        {"sign(p*t-q)", 2},
        {"abs(t-1)", 2},
        {"min(t,p)+max(2*t,q)", 2},
        {"floor(t/p)", 1},
        {"ceil(t)", 1},
        {"mod(t,p)", 1},
        {"if(mod(t,24)<0.5)then(1)else(0)", 2},
        {"heav(mod(t-p,q)-d)", 2},
        {"heav(sin(p*t))", 2},
        {"if(q*cos(p*t+q)+1>d)then(1)else(0)", 2},
        {"sign(sin(t)-0.5)", 2},
        {"heav(y-1)", 0}, // searched, not known
        {"heav(y-t)", 0}, // it is not time alone
        {"max(0,y)", 0},  // a kink of a state
        {"heav(t*t-4)", 2},
        {"heav(exp(-(t-p)^2/q)-0.5)", 2},
        {"heav(1/(1+exp(p-t))-0.9)", 2},
        {"heav(t*(t-4))", 0},  // no line, nor a function of one
        {"heav(exp(t)-t)", 0}, //
        {"heav(sin(t)*t)", 0}, // no level
        {"heav(sin(t)+cos(t))", 0},
        {"heav(floor(t*t)-3)", 0},
        {"y*heav(y)*heav(t-3)", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(switches_of(cases[i].rhs) == cases[i].count, "%s: %u switches, not %u",
                  cases[i].rhs, switches_of(cases[i].rhs), cases[i].count);
}

TEST(switch_is_listed) {
    static const char text[] = "par p=2\nx'=heav(mod(t,p)-0.5)*x+max(t,3)+sign(t-1)\n";
    static const char *const want[] = {"mod(t, p)", "heav(mod(t, p)-0.5)", "max(t, 3)",
                                       "sign(t-1)"};
    shoal_model *m;
    char line[64];
    bool exact = false;
    REQUIRE(shoal_model_parse("test", text, sizeof text - 1, &m, NULL) == SHOAL_OK);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_INT(shoal_model_switch(m, i, line, sizeof line, &exact), strlen(want[i]));
        CHECK_STR(line, want[i]);
        CHECK(exact);
    }
    CHECK_INT(shoal_model_switch(m, 4, line, sizeof line, &exact), 0);
    CHECK_INT(shoal_model_switch(NULL, 0, line, sizeof line, &exact), 0);
    shoal_model_free(m);
}

// ---- A train of pulses --------------------------------------------------------------------------

// A' = rate in the first `width` of each period, else 0, less k A; from 0, at a time that is not in
// a pulse.
struct train {
    double rate, width, period, k;
};

static double train_at(const struct train *p, double t) {
    double a = 0;
    for (double on = 0; on < t; on += p->period)
        a += p->rate / p->k * (exp(-p->k * (t - on - p->width)) - exp(-p->k * (t - on)));
    return a;
}

#define TRAIN "par width=0.5,period=24,k=0.01\nA'=if(mod(t,period)<width)then(200)else(0)-k*A\n"

TEST(switch_pulse_that_was_passed_over) {
    struct solved s = solve(TRAIN, NULL, "t1=240");
    struct train p = {200, 0.5, 24, 0.01};
    CHECK_NEAR(solved_last(&s, 0, 0), train_at(&p, 240), 240 * 1e-6);
    CHECK_NEAR(solved_last(&s, 0, 0), 336.0597, 1e-3);
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    solved_free(&s);
}

LONG_TEST(switch_with_every_method) {
    struct train p = {200, 0.5, 24, 0.01};
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        if (!check_does(i, 1, 2)) // the others are jump_with_every_method's
            continue;
        struct solved s = solve(TRAIN, NULL, "t1=60 method=%s %s rtol=1e-6", m.name,
                                m.embedded_order ? ""
                                : m.order < 2    ? "dt=0.003"
                                                 : "dt=0.1");
        CHECK_MSG(fabs(solved_last(&s, 0, 0) - train_at(&p, 60)) < (m.order < 2 ? 0.05 : 3e-3),
                  "%s: %.9g, not %.9g", m.name, solved_last(&s, 0, 0), train_at(&p, 60));
        solved_free(&s);
    }
}

// An infusion of a quarter of an hour, once a day, for patients whose clearances differ: what a
// switch costs is counted, too.
TEST(switch_infusions_of_many_patients) {
    struct solved s = solve("par k=0.1,w=0.25\nA'=if(mod(t,24)<w)then(200)else(0)-k*A\nauc'=A\n",
                            "k=log:0.01:2:500", "t1=240 rtol=1e-6");
    struct solved smooth =
        solve("par k=0.1\nA'=1-k*A\nauc'=A\n", "k=log:0.01:2:500", "t1=240 rtol=1e-6");
    for (uint32_t i = 0; i < 500; i++) {
        double k = 0.01 * pow(200, i / 499.0);
        struct train p = {200, 0.25, 24, k};
        double a = train_at(&p, 240), auc = (10 * 50 - a) / k;
        CHECK_NEAR(solved_last(&s, 0, i), a, 1e-4 * a + 1e-7);
        CHECK_NEAR(solved_last(&s, 1, i), auc, 1e-4 * auc);
        CHECK_MSG(s.f_evals[i] < 20 * 30 + 12 * smooth.f_evals[i],
                  "%u: %llu evaluations, smooth %llu", i, (unsigned long long)s.f_evals[i],
                  (unsigned long long)smooth.f_evals[i]);
    }
    solved_free(&s);
    solved_free(&smooth);
}

TEST(switch_costs_little) {
    struct solved s = solve("x'=heav(mod(t,1)-0.5)\n", NULL, "t1=100 rtol=1e-6");
    CHECK_NEAR(solved_last(&s, 0, 0), 50, 1e-10);
    CHECK_MSG(s.f_evals[0] <= 200 * 30, "%llu evaluations", (unsigned long long)s.f_evals[0]);
    solved_free(&s);
}

// ---- What a switch costs ------------------------------------------------------------------------

// A problem with switches, and the smooth problems between them: as many as `pieces`, one after the
// other, each in a time of 1, told which by the parameter `piece`.
struct pieces {
    const char *whole, *piece, *sweeps, *t1;
    int pieces;
    uint32_t rows;
};

// Runs a model into the table NAME.csv, whose other half is NAME.runs.csv.
static void solve_into(const char *model, const char *name, const char *options, ...) {
    char words[512], path[64];
    const char *list[24];
    int n = 0;
    va_list args;
    va_start(args, options);
    vsnprintf(words, sizeof words, options, args);
    va_end(args);
    for (char *rest, *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        list[n++] = w;
    list[n] = NULL;
    snprintf(path, sizeof path, "%s.csv", name);
    shoal_log *log = shoal_log_new();
    shoal_code code = shoal_solve(check_path(model), list, check_path(path), NULL, log);
    CHECK_MSG(code == SHOAL_OK, "%s: %s", options, shoal_log_message(log, 0).text);
    shoal_log_free(log);
}

// The last number of each line; of a series every second line, which has the end.
static void read_ends(const char *name, uint32_t rows, bool series, double *out) {
    char path[64];
    snprintf(path, sizeof path, series ? "%s.csv" : "%s.runs.csv", name);
    char *text = check_read(check_path(path)), *rest;
    REQUIRE(text && strtok_r(text, "\n", &rest));
    for (uint32_t i = 0; i < rows * (series ? 2 : 1); i++) {
        char *line = strtok_r(NULL, "\n", &rest);
        REQUIRE(line && strrchr(line, ','));
        out[series ? i / 2 : i] = atof(strrchr(line, ',') + 1);
    }
    free(text);
}

// The smooth problem is the pieces, each with the one of three first steps that costs least (more
// of them pick the luckiest pattern of rejections), but for the first one, which begins as any run
// does. Its ends go into `end`, from pieces to 1e-12.
static void solve_pieces(const struct pieces *p, const char *tolerance, double *evaluations,
                         double *end) {
    static const char *const first[] = {"1", "0.1", "0.01"};
    double *some = calloc(p->rows, sizeof *some), *least = calloc(p->rows, sizeof *least);
    char from[600], last[32] = "", next[16];
    snprintf(from, sizeof from, "%s", p->sweeps);
    for (int k = 0; k < p->pieces; k++) {
        for (uint32_t i = 0; i < p->rows; i++)
            least[i] = INFINITY;
        for (size_t n = 0; n < (k ? sizeof first / sizeof *first : 1); n++) {
            solve_into("piece.ode", "piece", "%s set=piece=%d t1=%d save=n=2 method=tsit5 %s %s%s",
                       from, k, k + 1, tolerance, k ? "dt0=" : "", k ? first[n] : "");
            read_ends("piece", p->rows, false, some);
            for (uint32_t i = 0; i < p->rows; i++)
                least[i] = fmin(least[i], some[i]);
        }
        for (uint32_t i = 0; i < p->rows; i++)
            evaluations[i] += least[i];
        snprintf(next, sizeof next, "end%d", k % 2);
        solve_into("piece.ode", next,
                   "%s set=piece=%d t1=%d save=n=2 method=dop853 rtol=1e-12 atol=1e-14", from, k,
                   k + 1);
        snprintf(last, sizeof last, "%s.csv", next);
        snprintf(from, sizeof from, "from=%s", check_path(last));
    }
    read_ends(next, p->rows, true, end);
    free(some);
    free(least);
}

// Every run is within 100 rtol of its pieces, and takes at most 30 evaluations per switch more.
static void check_cost(const struct pieces *p) {
    double *got = calloc(p->rows, sizeof *got), *want = calloc(p->rows, sizeof *want);
    double *cost = calloc(p->rows, sizeof *cost), *smooth = calloc(p->rows, sizeof *smooth);
    check_write(check_path("whole.ode"), p->whole);
    check_write(check_path("piece.ode"), p->piece);
    solve_into("whole.ode", "whole", "%s t1=%s save=n=2 method=tsit5 rtol=1e-6", p->sweeps, p->t1);
    read_ends("whole", p->rows, false, cost);
    read_ends("whole", p->rows, true, got);
    solve_pieces(p, "rtol=1e-6", smooth, want);
    for (uint32_t i = 0; i < p->rows; i++) {
        CHECK_MSG(fabs(got[i] - want[i]) <= 1e-4 * fabs(want[i]) + 1e-7, "%u: %.9g, not %.9g", i,
                  got[i], want[i]);
        double more = (cost[i] - smooth[i]) / (p->pieces - 1);
        CHECK_MSG(more <= 30, "%u: %.3g more evaluations at each switch", i, more);
    }
    free(got);
    free(want);
    free(cost);
    free(smooth);
}

#define FITZHUGH                                                                                   \
    "par ton=5,dur=1\ni=0.8*heav(t-ton)*heav(ton+dur-t)\nw'=0.08*(v+0.7-0.8*w)\n"                  \
    "v'=v-v^3/3-w+i\ninit v=-1.1994,w=-0.6243\n"
#define FITZHUGH_PIECES                                                                            \
    "par ton=5,dur=1,piece=0\n!T=if(piece<0.5)then(ton)else(if(piece<1.5)then(dur)else(100-ton-"   \
    "dur))\n!i=if(piece>0.5&piece<1.5)then(0.8)else(0)\nw'=T*0.08*(v+0.7-0.8*w)\n"                 \
    "v'=T*(v-v^3/3-w+i)\ninit v=-1.1994,w=-0.6243\n"
#define FITZHUGH_SWEEPS "sweep=ton=lin:1:90:37 sweep=dur=lin:0.25:8:13"

TEST(switch_costs_at_most_30_fitzhugh) {
    check_cost(&(struct pieces){FITZHUGH, FITZHUGH_PIECES, FITZHUGH_SWEEPS, "100", 3, 481});
}

#define INFUSIONS                                                                                  \
    "par k=0.01,w=0.5\nA'=if(mod(t,24)<w)then(200)else(0)-k*A\nauc'=A\ninit A=0,auc=0\n"
#define INFUSION_PIECES                                                                            \
    "par k=0.01,w=0.5,piece=0\n!on=if(mod(piece,2)<0.5)then(1)else(0)\n"                           \
    "!T=if(on>0.5)then(w)else(24-w)\nA'=T*(200*on-k*A)\nauc'=T*A\ninit A=0,auc=0\n"

LONG_TEST(switch_costs_at_most_30_trains) {
    check_cost(&(struct pieces){INFUSIONS, INFUSION_PIECES, "sweep=k=0.01", "240", 20, 1});
    check_cost(&(struct pieces){INFUSIONS, INFUSION_PIECES, "sweep=k=log:0.01:2:500 sweep=w=0.25",
                                "240", 20, 500});
}

// Ends of runs by every method, against pieces to 1e-12. A value that goes through 0 is as good as
// its state is large: there the pieces themselves, without any switch, are no better.
static void check_methods(const struct pieces *p, double size) {
    double *got = calloc(p->rows, sizeof *got), *want = calloc(p->rows, sizeof *want);
    double *cost = calloc(p->rows, sizeof *cost);
    check_write(check_path("whole.ode"), p->whole);
    check_write(check_path("piece.ode"), p->piece);
    solve_pieces(p, "rtol=1e-6", cost, want);
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        const char *how = m.embedded_order || !m.order ? "rtol=1e-6"
                          : m.order > 1                ? "dt=0.005"
                                                       : "dt=0.001";
        double near = m.order == 1 ? 1e-2 : 1e-4; // of fixed steps the first order is not more
        solve_into("whole.ode", "whole", "%s t1=%s save=n=2 method=%s %s", p->sweeps, p->t1, m.name,
                   how);
        read_ends("whole", p->rows, true, got);
        for (uint32_t r = 0; r < p->rows; r++)
            CHECK_MSG(fabs(got[r] - want[r]) <= near * fmax(fabs(want[r]), size),
                      "%s, run %u: %.9g, not %.9g", m.name, r, got[r], want[r]);
    }
    free(got);
    free(want);
    free(cost);
}

LONG_TEST(switch_pulses_with_every_method) {
    check_methods(&(struct pieces){FITZHUGH, FITZHUGH_PIECES, FITZHUGH_SWEEPS, "100", 3, 481}, 2);
    check_methods(&(struct pieces){INFUSIONS, INFUSION_PIECES, "sweep=k=0.01", "240", 20, 1}, 0);
    check_methods(&(struct pieces){INFUSIONS, INFUSION_PIECES, "sweep=k=log:0.01:2:25 sweep=w=0.25",
                                   "240", 20, 25},
                  0);
}

// The classic pulse of XPP models; its times differ by run.
TEST(switch_pulses_by_run) {
    struct solved s = solve("par ton=1,dur=0.01\nx'=100*heav(t-ton)*heav(ton+dur-t)-x\n",
                            "ton=lin:0:9:37 dur=0.001,0.01,0.3", "t1=10 rtol=1e-8 atol=1e-12");
    for (uint32_t i = 0; i < 37 * 3; i++) {
        static const double durations[] = {0.001, 0.01, 0.3};
        double on = i / 3 * 9 / 36.0, off = on + durations[i % 3];
        double want = 100 * (exp(off - 10) - exp(on - 10));
        CHECK_NEAR(solved_last(&s, 0, i), want, 1e-6 * want + 1e-11);
    }
    solved_free(&s);
}

// ---- Moments ------------------------------------------------------------------------------------

TEST(switch_steps_end_there) {
    struct solved s = solve_steps("par p=3\nx'=floor(t/p)\n", "t1=7 save=steps");
    uint32_t seen = 0;
    for (uint64_t i = 0; i < s.samples; i++) {
        seen += s.t[i] == 3 || s.t[i] == 6;
        CHECK_NEAR(s.values[i], fmax(0, s.t[i] - 3) + fmax(0, s.t[i] - 6), 1e-12);
    }
    CHECK_INT(seen, 4); // what is computed of states and time may jump there: both sides
    solved_free(&s);
}

// At both ends of a run and at samples.
TEST(switch_at_a_boundary) {
    struct solved s =
        solve("x'=heav(t-1)+10*heav(t-2)+100*heav(t-3)\n", NULL, "t0=1 t1=3 save=n=5 rtol=1e-9");
    static const double want[] = {0, 0.5, 1, 6.5, 12};
    for (int i = 0; i < 5; i++)
        CHECK_NEAR(solved_value(&s, 0, 0, (uint64_t)i), want[i], 1e-12);
    solved_free(&s);
    struct solved b = solve("init x=12\nx'=heav(t-1)+10*heav(t-2)+100*heav(t-3)\n", NULL,
                            "t0=3 t1=1 save=n=5 rtol=1e-9");
    for (int i = 0; i < 5; i++)
        CHECK_NEAR(solved_value(&b, 0, 0, (uint64_t)i), want[4 - i], 1e-12);
    solved_free(&b);
}

// A line that does not move is what it is, and 0 is 0.
TEST(switch_that_never_turns) {
    struct solved s = solve("par b=0,a=0\nx'=heav(b*t+a)+10*sign(b*t+a)+100*abs(b*t+a)"
                            "+1000*if(b*t<a)then(1)else(0)+10000*if(b*t<=a)then(1)else(0)\n",
                            "a=-2,0,2", "t1=1");
    static const double want[] = {-10 + 200, 1 + 10000, 11 + 200 + 1000 + 10000};
    for (uint32_t i = 0; i < 3; i++)
        CHECK_NEAR(solved_last(&s, 0, i), want[i], 1e-9);
    solved_free(&s);
}

TEST(switch_of_a_sine) {
    struct solved s = solve("par L=0.5,A=2\nx'=if(A*sin(t)>L)then(1)else(0)\n",
                            "L=-3,-1,0,1,3 A=2,-2,0", "t1=100 rtol=1e-9");
    for (uint32_t i = 0; i < 15; i++) {
        static const double levels[] = {-3, -1, 0, 1, 3}, sizes[] = {2, -2, 0};
        double level = levels[i / 3], size = sizes[i % 3], sum = 0;
        for (int n = 0; n < 1000000; n++)
            sum += size * sin((n + 0.5) * 1e-4) > level ? 1e-4 : 0;
        CHECK_MSG(fabs(solved_last(&s, 0, i) - sum) < 4e-3, "L=%g A=%g: %.9g, not %.9g", level,
                  size, solved_last(&s, 0, i), sum);
    }
    solved_free(&s);
}

// Far from 0 moments are as exact as times are.
// Functions of a line are turned round: however short it holds it is not passed over, and what does
// not move at all is what it reads as. For how long it holds from 0 to 100, by a.
TEST(switch_of_a_function) {
    static const struct {
        const char *condition, *sweep;
        double want[3];
    } cases[] = {
        {"(t-50)^2<a", "a=1e-10,0,400", {2e-5, 0, 40}},
        {"exp(-(t-30)^2/a)>0.5", "a=1e-10,1e-4,1", {1.6651092e-5, 0.016651092, 1.66510922}},
        {"a/(1+((t-30)/0.001)^2)>=0", "a=-1,0,1", {0, 100, 100}},
        {"1/(t-50)>a", "a=-2,0,2", {99.5, 50, 0.5}},
        {"exp(a*(t-50)^2)>1", "a=-1,0,1", {0, 0, 100}},
        {"a*sin(t)>=0", "a=0,0,0", {100, 100, 100}},
        {"sin(a*t)>0", "a=0,0,0", {0, 0, 0}},
    };
    static const char *const ways[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.37"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "par a=1\nx'=if(%s)then(1)else(0)\n@ t1=100\n",
                 cases[i].condition);
        struct solved s = solve(text, cases[i].sweep, "%s", ways[i % 3]);
        for (uint64_t row = 0; row < s.rows; row++)
            CHECK_MSG(fabs(solved_last(&s, 0, row) - cases[i].want[row]) <
                          1e-8 + 1e-7 * cases[i].want[row],
                      "%s, row %d: %.9g, not %.9g", cases[i].condition, (int)row,
                      solved_last(&s, 0, row), cases[i].want[row]);
        solved_free(&s);
    }
}

// What does not move has the value that it has at some time, 0/0 being none.
TEST(switch_of_what_is_still) {
    static const struct {
        const char *of;
        double want; // from 1 to 3
    } cases[] = {{"if(k/t<1)then(1)else(0)", 2},       {"heav(k/t-1)", 0},
                 {"if(exp(k/t)<2)then(1)else(0)", 2},  {"if(exp(-k/t)>0.5)then(1)else(0)", 2},
                 {"sign(k/sin(t)-0.5)", -2},           {"heav(k/(t-2))", 2},
                 {"if(k*sqrt(t)<=0)then(1)else(0)", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "par k=0\nx'=%s\n", cases[i].of);
        struct solved s = solve(text, NULL, "t0=1 t1=3 %s", i % 2 ? "" : "method=rk4 dt=0.1");
        CHECK_MSG(fabs(solved_last(&s, 0, 0) - cases[i].want) < 1e-9, "%s: %.9g, not %.9g",
                  cases[i].of, solved_last(&s, 0, 0), cases[i].want);
        solved_free(&s);
    }
}

// At the moments themselves rounding takes no argument out of where a function has values.
TEST(switch_keeps_arguments_on_their_side) {
    static const struct {
        const char *of, *sweep;
        double t0, t1, want; // of the first row
    } cases[] = {
        {"sqrt(abs(sin(t)))", NULL, 0, 7, 5.189750},
        {"sqrt(max(0,sin(t)))", NULL, 0, 20, 7.972882},
        {"sqrt(-min(0,sin(t)))", NULL, 20, 0, -7.188840},
        {"max(0,sin(2*pi*t/24))^1.5", NULL, 0, 48, 13.354029},
        {"sqrt(mod(t,0.1))", "p=0.1,0.3,0.7", 0, 3, 0.632455532},
        {"sqrt(mod(t,p))", "p=0.1,0.3,0.7,0.011,1.3", 0, 3, 0.632455532},
        {"sqrt(abs(3*t-1))", NULL, 0, 1, 0.8508046},
        {"if(3*t>a)then(sqrt(3*t-a))else(0)", "a=lin:0.1:2.9:41", 0, 1, 1.0975},
        {"if(3*t<a)then(sqrt(a-3*t))else(0)", "a=lin:0.1:2.9:41", 0, 1, 0.00702728},
    };
    static const char *const ways[] = {"method=tsit5", "method=rodas5p", "method=rk4 dt=0.001",
                                       "method=tsit5 precision=f32 rtol=1e-6",
                                       "method=radau-iia-5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            char text[128];
            if (!check_does(i, k, 3))
                continue;
            snprintf(text, sizeof text, "par a=1,p=0.1\nx'=%s\n", cases[i].of);
            struct solved s =
                solve(text, cases[i].sweep, "t0=%g t1=%g %s", cases[i].t0, cases[i].t1, ways[k]);
            for (uint64_t row = 0; row < s.rows; row++)
                CHECK_MSG(s.status[row] == SHOAL_STATUS_ok, "%s, %s, row %d: %s at %.17g",
                          cases[i].of, ways[k], (int)row, shoal_status_word(s.status[row]),
                          s.t[row]);
            CHECK_MSG(fabs(solved_last(&s, 0, 0) - cases[i].want) < 2e-3 * fabs(cases[i].want),
                      "%s, %s: %.9g, not %.9g", cases[i].of, ways[k], solved_last(&s, 0, 0),
                      cases[i].want);
            solved_free(&s);
        }
}

// A period that time cannot tell has no end.
TEST(switch_that_turns_too_fast) {
    static const char *const texts[] = {"par P=1e-17\nx'=floor(t/P)*P\n", "x'=mod(t,1e-300)\n",
                                        "x'=if(mod(t,1e-18)<1e-19)then(1)else(0)\n"};
    static const char *const ways[] = {"", "method=rk4 dt=0.1", "method=rodas5p"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct solved s = solve(texts[i], NULL, "t0=1 t1=2 %s", ways[i]);
        CHECK_MSG(s.status[0] == SHOAL_STATUS_events, "%s: %s", texts[i],
                  shoal_status_word(s.status[0]));
        solved_free(&s);
    }
}

TEST(switch_far_from_zero) {
    struct solved s = solve("x'=heav(mod(t,0.1)-0.05)\n", NULL, "t0=1000000 t1=1000010");
    CHECK_NEAR(solved_last(&s, 0, 0), 5, 1e-6);
    CHECK(s.steps[0] < 2000);
    solved_free(&s);
    s = solve("x'=heav(mod(t,0.5)-0.25)\n", NULL, "t0=100000 t1=100010 precision=f32");
    CHECK_NEAR(solved_last(&s, 0, 0), 5, 1e-4);
    solved_free(&s);
}

// A line's numbers have twice the digits of the run's: 1e8 periods from 0 a pulse is where it is.
TEST(switch_far_in_f32) {
    struct solved s = solve("par P=0.001\nx'=if(mod(t,P)<0.5*P)then(1)else(0)\n", "P=0.001,0.0013",
                            "t0=99999 t1=100000 precision=f32");
    CHECK_NEAR(solved_last(&s, 0, 0), 0.5, 6e-4);
    CHECK_NEAR(solved_last(&s, 0, 1), 0.5, 8e-4);
    CHECK(s.steps[0] >= 2000 && s.steps[0] < 2010);
    solved_free(&s);
    s = solve("x'=if(mod(t,0.001)<0.0003)then(1000)else(0)\n", NULL,
              "t0=16000 t1=16000.0005 precision=f32");
    CHECK_NEAR(solved_last(&s, 0, 0), 0.3, 1e-4);
    solved_free(&s);
    s = solve("x'=if(t*t>900&t*t<900.001)then(1e5)else(0)\n", NULL, "t1=60 precision=f32");
    CHECK_NEAR(solved_last(&s, 0, 0), 1.666666203803402, 1e-6);
    solved_free(&s);
}

TEST(switch_in_observables_stops_nobody) {
    struct solved a = solve("x'=1\naux o=heav(t-1)\n", NULL, "t1=3 vars=x,o save=at=0.5,1.5");
    struct solved b = solve("x'=1\naux o=t\n", NULL, "t1=3 vars=x,o save=at=0.5,1.5");
    CHECK_INT(a.steps[0], b.steps[0]);
    CHECK_NEAR(solved_value(&a, 1, 0, 0), 0, 0);
    CHECK_NEAR(solved_value(&a, 1, 0, 1), 1, 0);
    solved_free(&a);
    solved_free(&b);
}

// ---- The same everywhere ------------------------------------------------------------------------

static const char pulses[] = "par k=1,w=0.25;init x=1,y=0;"
                             "x'=if(mod(t,1)<w)then(20)else(0)-k*x*y;y'=x-heav(sin(9*k*t))*y";

LONG_DEVICE_TEST(switch_explicit) {
    device_compare_chunks(device, pulses, "method=tsit5 t1=5", device_sweeps());
    device_compare(device, pulses, "method=rk4 dt=0.01 t1=5 save=n=11", device_sweeps());
    device_compare(device, pulses, "method=dopri5 t1=5 save=n=11 precision=f32", device_sweeps());
}

LONG_DEVICE_TEST(switch_implicit) {
    device_compare_chunks(device, pulses, "method=rodas5p t1=5 save=n=11", device_sweeps());
    device_compare(device, pulses, "method=kvaerno5 t0=2 t1=1", device_sweeps());
    device_compare(device, pulses, "method=radau5 t1=3 precision=f32 rtol=1e-4", device_sweeps());
}

LONG_DEVICE_TEST(switch_large) {
    device_compare(device,
                   "par k=1,w=0.25;init x[1..150]=1;x1'=heav(mod(t,1)-w)-k*x1;"
                   "x[2..150]'=k*(x[j-1]-x[j])*heav(t-w)",
                   "method=tsit5 t1=3", device_sweeps());
}
