// SPDX-License-Identifier: MIT
// Options: the table, values of every type, cross-checks, XPP's names, job files.
#include "api/model.h"
#include "api/options.h"
#include "base/json.h"
#include "check.h"
#include "log/log.h"
#include "ode/run/choice.h"
#include "ode/run/plan.h"
#include "shoal/shoal.h"

static shoal_options fresh(void) {
    shoal_options o;
    CHECK_INT(shoal_options_init(&o, NULL, NULL), SHOAL_OK);
    return o;
}

// The messages of the log, or "" when there are none; a fresh log for the next use.
static const char *said(shoal_log *log) {
    static char text[4096];
    text[0] = 0;
    for (size_t i = 0; i < shoal_log_message_count(log); i++) {
        strncat(text, shoal_log_message(log, i).text, sizeof text - strlen(text) - 2);
        strcat(text, "\n");
    }
    shoal_log_free(log);
    return text;
}

static const char *refused(const char *name, const char *value) {
    shoal_options o = fresh();
    shoal_log *log = shoal_log_new();
    CHECK_MSG(shoal_options_set(&o, name, value, log) == SHOAL_INPUT, "%s=%s was taken", name,
              value);
    return said(log);
}

TEST(options_table_is_sound) {
    const char *group = "";
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        CHECK(o.name && o.group && o.commands && o.default_text && o.help);
        CHECK_MSG(option_find(o.name) == &option_table[i], "%s is there twice", o.name);
        bool flag = option_table[i].type == OPTION_FLAG;
        CHECK_MSG(flag == !o.metavar, "%s: a flag has no metavar, anything else has", o.name);
        CHECK_MSG(!o.in_model || o.field, "%s", o.name);
        if (strcmp(group, o.group)) // rows of a group stand together
            for (uint32_t k = 0; k < i; k++)
                CHECK_MSG(strcmp(shoal_option_at(k).group, o.group), "group of %s", o.name);
        group = o.group;
    }
    CHECK(option_find("dt_min") == option_find("dt-min"));
    CHECK(!option_find("dt-mi") && !option_find("dt-minn") && !option_find(""));
}

TEST(options_numbers) {
    shoal_options o = fresh();
    CHECK_INT(shoal_options_set(&o, "t1", "40", NULL), SHOAL_OK);
    CHECK_NEAR(o.t1, 40, 0);
    CHECK_INT(shoal_options_set(&o, "t0", "-1.5e-3", NULL), SHOAL_OK);
    CHECK_NEAR(o.t0, -1.5e-3, 0);
    CHECK_INT(shoal_options_set(&o, "dt-min", "0", NULL), SHOAL_OK);
    CHECK_HAS(refused("rtol", "-1e-6"), "--rtol: must be more than 0, not -1e-6");
    CHECK_HAS(refused("rtol", "0"), "more than 0");
    CHECK_HAS(refused("rtol", "nan"), "'nan' is not a number");
    CHECK_HAS(refused("t1", "inf"), "not a number");
    CHECK_HAS(refused("t1", "1e999"), "not a number");
    CHECK_HAS(refused("t1", "0x10"), "not a number");
    CHECK_HAS(refused("t1", "5s"), "not a number");
    CHECK_HAS(refused("t1", " 5"), "not a number");
    CHECK_HAS(refused("t1", "1,5"), "not a number");
    CHECK_HAS(refused("t1", ""), "needs a value");
    CHECK_HAS(refused("t1", NULL), "needs a value");
    CHECK_HAS(refused("dt", "0"), "more than 0");
    CHECK_HAS(refused("settle", "-1"), "must not be negative");
}

TEST(options_counts_and_bytes) {
    shoal_options o = fresh();
    CHECK_INT(shoal_options_set(&o, "max-steps", "1e6", NULL), SHOAL_OK);
    CHECK_INT(o.max_steps, 1000000);
    CHECK_INT(shoal_options_set(&o, "threads", "3", NULL), SHOAL_OK);
    CHECK_INT(o.threads, 3);
    CHECK_INT(shoal_options_set(&o, "memory", "2G", NULL), SHOAL_OK);
    CHECK_INT(o.memory, 2ll << 30);
    CHECK_INT(shoal_options_set(&o, "memory", "1.5MB", NULL), SHOAL_OK);
    CHECK_INT(o.memory, 3ll << 19);
    CHECK_INT(shoal_options_set(&o, "memory", "1000", NULL), SHOAL_OK);
    CHECK_INT(o.memory, 1000);
    CHECK_INT(shoal_options_set(&o, "max-steps", "1.5k", NULL), SHOAL_OK);
    CHECK_INT(o.max_steps, 1500);
    CHECK_INT(shoal_options_set(&o, "save", "n=1k", NULL), SHOAL_OK);
    CHECK_INT(o.save_n, 1000);
    shoal_option_value v;
    CHECK_INT(shoal_option_read("runs", "1M", &v, NULL), SHOAL_OK);
    CHECK_INT(v.count, 1000000);
    CHECK_INT(shoal_option_read("seed", "18446744073709551615", &v, NULL), SHOAL_OK);
    CHECK(v.count == UINT64_MAX);
    CHECK_INT(shoal_option_read("seed", "18446744073709551616", &v, NULL), SHOAL_INPUT);
    CHECK_INT(shoal_option_read("runs", "0", &v, NULL), SHOAL_INPUT);
    CHECK_HAS(refused("max-steps", "1.5"), "whole number");
    CHECK_HAS(refused("max-steps", "-1"), "must not be negative, not -1");
    CHECK_HAS(refused("max-steps", "99999999999999999999"), "below 2^64");
    CHECK_HAS(refused("max-steps", "0"), "at least 1");
    CHECK_HAS(refused("threads", "1e5"), "at most 65536");
    CHECK_HAS(refused("memory", "2X"), "bytes");
    CHECK_HAS(refused("memory", "G"), "bytes");
    CHECK_HAS(refused("memory", "1e30G"), "bytes");
}

TEST(options_words) {
    shoal_options o = fresh();
    CHECK_INT(shoal_options_set(&o, "precision", "f32", NULL), SHOAL_OK);
    CHECK_INT(o.precision, SHOAL_F32);
    CHECK_INT(shoal_options_set(&o, "refill", "off", NULL), SHOAL_OK);
    CHECK_INT(o.refill, SHOAL_REFILL_OFF);
    CHECK_INT(shoal_options_set(&o, "refill", "on", NULL), SHOAL_OK);
    CHECK_INT(o.refill, SHOAL_REFILL_ON);
    CHECK_INT(shoal_options_set(&o, "method", "RK4", NULL), SHOAL_OK);
    CHECK_STR(o.method, "rk4");
    CHECK_INT(shoal_options_set(&o, "keep-failed", "", NULL), SHOAL_OK);
    CHECK(o.keep_failed);
    CHECK_INT(shoal_options_set(&o, "keep_failed", "off", NULL), SHOAL_OK);
    CHECK(!o.keep_failed);
    CHECK_INT(shoal_options_set(&o, "device", "cuda:1", NULL), SHOAL_OK);
    CHECK_HAS(refused("precision", "f16"), "'f16' is not one of f64 or f32");
    CHECK_HAS(refused("method", "tsit6"), "did you mean tsit5?");
    CHECK_HAS(refused("method", "magic"), "`shoal methods`");
    CHECK_HAS(refused("controller", "p"), "fixed, i, pi, pid or gustafsson");
    CHECK_HAS(refused("device", "gpu"), "auto, cpu, cuda or opencl");
    CHECK_HAS(refused("device", "cpu:1"), "not a device");
    CHECK_HAS(refused("device", "cuda:x"), "not a device");
    CHECK_HAS(refused("keep-failed", "maybe"), "neither on nor off");
    CHECK_HAS(refused("rtoll", "1"), "unknown option 'rtoll'; did you mean rtol?");
    CHECK_HAS(refused("sweep", "a=1"), "command line");
}

TEST(options_atol_lists) {
    shoal_options o = fresh();
    CHECK_INT(shoal_options_set(&o, "atol", "1e-9,x=1e-15", NULL), SHOAL_OK);
    CHECK_NEAR(o.atol, 1e-9, 0);
    CHECK_STR(o.atol_list, "x=1e-15");
    CHECK_INT(shoal_options_set(&o, "atol", "x=1e-15, y = 2", NULL), SHOAL_OK);
    CHECK_NEAR(o.atol, 1e-9, 0); // on top of what was given
    CHECK_STR(o.atol_list, "x=1e-15, y = 2");
    CHECK_INT(shoal_options_set(&o, "atol", "1e-7", NULL), SHOAL_OK);
    CHECK(o.atol_list == NULL);
    CHECK_HAS(refused("atol", "-1"), "more than 0");
    CHECK_HAS(refused("atol", "x=0"), "more than 0");
    CHECK_HAS(refused("atol", "1e-9,1e-8"), "STATE=NUMBER");
    CHECK_HAS(refused("atol", "=1"), "STATE=NUMBER");
    CHECK_HAS(refused("atol", "1e-9,,x=1"), "STATE=NUMBER");
}

TEST(options_atol_of_states) {
    struct report r = {0};
    const char *text = "par a=1\nx'=a\nyy'=1\nz[1..3]'=1\n";
    struct model *m = model_parse("m", text, strlen(text), &r);
    REQUIRE(m);
    shoal_options o = fresh();
    double atol[5];
    CHECK_INT(shoal_options_set(&o, "atol", "1e-8,yy=1e-3,z=0.5,z2=2", NULL), SHOAL_OK);
    CHECK_INT(tolerances_of_states(&o, m, atol, &r), SHOAL_OK);
    CHECK_NEAR(atol[0], 1e-8, 0);
    CHECK_NEAR(atol[1], 1e-3, 0);
    CHECK_NEAR(atol[2], 0.5, 0);
    CHECK_NEAR(atol[3], 2, 0);
    CHECK_NEAR(atol[4], 0.5, 0);
    uint32_t before = r.messages.count;
    CHECK_INT(shoal_options_set(&o, "atol", "yyy=1,a=2", NULL), SHOAL_OK);
    CHECK_INT(tolerances_of_states(&o, m, atol, &r), SHOAL_INPUT);
    REQUIRE(r.messages.count == before + 2);
    CHECK_HAS(r.messages.items[before].text, "'yyy' is not a state of the model; did you mean yy?");
    CHECK_HAS(r.messages.items[before + 1].text, "'a' is not a state");
    model_free(m);
    report_free(&r);
}

TEST(options_save) {
    shoal_options o = fresh();
    double times[3];
    CHECK_INT(shoal_options_set(&o, "save", "n=101", NULL), SHOAL_OK);
    CHECK(o.save == SHOAL_SAVE_N && o.save_n == 101);
    CHECK_INT(shoal_options_set(&o, "save", "every=0.5", NULL), SHOAL_OK);
    CHECK(o.save == SHOAL_SAVE_EVERY && o.save_every == 0.5);
    CHECK_INT(shoal_options_set(&o, "save", "at=1, 2,5.5", NULL), SHOAL_OK);
    CHECK(o.save == SHOAL_SAVE_AT);
    CHECK_INT(save_grid_times(o.save_at, times), 3);
    CHECK_NEAR(times[2], 5.5, 0);
    CHECK_INT(shoal_options_set(&o, "save", "steps", NULL), SHOAL_OK);
    CHECK_INT(shoal_options_set(&o, "save", "final", NULL), SHOAL_OK);
    CHECK(o.save == SHOAL_SAVE_FINAL && !o.save_at);
    CHECK_HAS(refused("save", "all"), "'all' is not one of final, n=N");
    CHECK_HAS(refused("save", "n=1"), "at least 2");
    CHECK_HAS(refused("save", "n="), "whole number");
    CHECK_HAS(refused("save", "every=0"), "more than 0");
    CHECK_HAS(refused("save", "at="), "list of times");
    CHECK_HAS(refused("save", "at=1,,2"), "list of times");
    CHECK_HAS(refused("save", "at=1,x"), "list of times");
    CHECK_INT(save_grid_times("", NULL), 0);
}

// What was set can be read back and set again: the job kept in result files lives of it.
TEST(options_get_what_was_set) {
    static const struct {
        const char *name, *value;
    } cases[] = {
        {"t0", "0.1"},     {"t1", "1e+300"},      {"rtol", "3e-07"},    {"atol", "1e-09,x=1e-15"},
        {"save", "n=101"}, {"save", "every=0.1"}, {"save", "at=1,2"},   {"save", "steps"},
        {"method", "rk4"}, {"controller", "pid"}, {"precision", "f32"}, {"refill", "on"},
        {"threads", "7"},  {"memory", "1048576"}, {"vars", "x,y"},      {"keep-failed", "on"},
        {"device", "cpu"}};
    char text[64], again[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_options o = fresh(), o2 = fresh();
        CHECK_INT(shoal_options_set(&o, cases[i].name, cases[i].value, NULL), SHOAL_OK);
        CHECK(shoal_options_get(&o, cases[i].name, text, sizeof text));
        CHECK_INT(shoal_options_set(&o2, cases[i].name, text, NULL), SHOAL_OK);
        CHECK(shoal_options_get(&o2, cases[i].name, again, sizeof again));
        CHECK_STR(again, text);
    }
    shoal_options o = fresh();
    CHECK(!shoal_options_get(&o, "t1", text, sizeof text));
    CHECK(!shoal_options_get(&o, "max-steps", text, sizeof text));
    CHECK(!shoal_options_get(&o, "save", text, sizeof text));
    CHECK(!shoal_options_get(&o, "nonsense", text, sizeof text));
    CHECK(!shoal_options_get(&o, "sweep", text, sizeof text));
}

TEST(options_obey_no_locale) {
    check_comma_locale();
    shoal_options o = fresh();
    char text[32];
    CHECK_INT(shoal_options_set(&o, "t1", "1.5", NULL), SHOAL_OK);
    CHECK_NEAR(o.t1, 1.5, 0);
    CHECK(shoal_options_get(&o, "t1", text, sizeof text));
    CHECK_STR(text, "1.5");
}

// ---- Cross-checks -------------------------------------------------------------------------------

// Sets name/value pairs on top of t1=10, then checks for the method.
static const char *checked(shoal_code want, const char *const *pairs) {
    shoal_log *log = shoal_log_new();
    shoal_options o = fresh();
    o.t1 = 10;
    for (; pairs[0]; pairs += 2)
        CHECK_INT(shoal_options_set(&o, pairs[0], pairs[1], log), SHOAL_OK);
    const struct method *m = choice_find(o.method).first;
    REQUIRE(m);
    shoal_code code = options_check(&o, m, log_report(log));
    CHECK_INT(code, want);
    return said(log);
}
#define GOOD(...) CHECK_STR(checked(SHOAL_OK, (const char *[]){__VA_ARGS__, NULL}), "")
#define BAD(text, ...) CHECK_HAS(checked(SHOAL_INPUT, (const char *[]){__VA_ARGS__, NULL}), text)

TEST(options_check_together) {
    GOOD("t0", "1");
    GOOD("method", "rk4", "dt", "0.1");
    GOOD("method", "tsit5", "controller", "fixed", "dt", "0.1");
    GOOD("save", "at=0,5,10");
    GOOD("settle", "5");
    BAD("--dt: method auto adapts its step", "dt", "0.1");
    BAD("method rk4 takes fixed steps: give --dt", "method", "rk4");
    BAD("under controller fixed: give --dt", "controller", "fixed");
    BAD("no error estimate", "method", "rk4", "controller", "pi", "dt", "0.1");
    GOOD("t0", "11"); // backwards in time
    BAD("the same as t0", "t0", "10");
    BAD("nothing would be saved", "settle", "10");
    BAD("--dt-min: 2 is more than --dt-max 1", "dt-min", "2", "dt-max", "1");
    BAD("outside", "save", "at=0,11");
    BAD("in the order they are reached", "save", "at=1,1");
    BAD("too many samples", "save", "every=1e-9");
    BAD("too small", "method", "rk4", "dt", "1e-300");
    CHECK_HAS(checked(SHOAL_OK, (const char *[]){"rtol", "1e-18", NULL}), "note: rtol=1e-18");
    shoal_options o = fresh();
    shoal_log *log = shoal_log_new();
    CHECK_INT(options_check(&o, method_find("tsit5"), log_report(log)), SHOAL_INPUT);
    CHECK_HAS(said(log), "no end time: give --t1");
    o.t1 = 1;
    o.rtol = -1; // a program may fill fields itself
    CHECK_INT(options_check(&o, method_find("tsit5"), NULL), SHOAL_INPUT);
    o.rtol = NAN;
    o.save = SHOAL_SAVE_AT;
    CHECK_INT(options_check(&o, method_find("tsit5"), NULL), SHOAL_INPUT);
}

// ---- XPP ----------------------------------------------------------------------------------------

// Options after `@ name=value, ...` given as pairs.
static shoal_code apply(shoal_options *o, struct report *r, const char *const *pairs) {
    static const char text[] = "@ something\n";
    struct model m = {.source = {"m.ode", text, sizeof text - 1}};
    struct setting settings[16];
    uint32_t n = 0;
    for (; pairs[0]; pairs += 2)
        settings[n++] =
            (struct setting){.name = pairs[0], .value = pairs[1], .at = 2, .value_at = 2};
    *o = fresh();
    return xpp_apply(o, &m, settings, n, false, r);
}
#define APPLY(o, r, ...) apply(o, r, (const char *[]){__VA_ARGS__, NULL})

TEST(options_xpp_names) {
    shoal_options o;
    CHECK_INT(APPLY(&o, NULL, "TOTAL", "40", "t0", "2", "Trans", "5", "toler", "1e-5", "ATOLER",
                    "1e-8", "dtmin", "1e-12", "dtmax", "1", "DT", "0.05"),
              SHOAL_OK);
    CHECK_NEAR(o.t1, 42, 0); // whatever the order
    CHECK_NEAR(o.settle, 5, 0);
    CHECK_NEAR(o.rtol, 1e-5, 0);
    CHECK_NEAR(o.atol, 1e-8, 0);
    CHECK_NEAR(o.dt_min, 1e-12, 0);
    CHECK_NEAR(o.dt_max, 1, 0);
    CHECK(o.dt_model == 0.05 && isnan(o.dt));
    CHECK_INT(APPLY(&o, NULL, "xlo", "0", "XHIGH", "9", "yplot", "v", "maxstor", "1000", "maxstore",
                    "1", "bell", "off", "xp2", "w", "nplot", "2", "output", "f.dat", "seed", "1"),
              SHOAL_OK);
    CHECK_INT(APPLY(&o, NULL, "tot", "7", "max_steps", "9"), SHOAL_OK); // a unique beginning
    CHECK_NEAR(o.t1, 7, 0);
    CHECK_INT(o.max_steps, 9);
    CHECK_INT(APPLY(&o, NULL, "total", "7", "t1", "9"), SHOAL_OK); // the last wins
    CHECK_NEAR(o.t1, 9, 0);
}

TEST(options_xpp_unknown_names) {
    struct report r = {0};
    shoal_options o;
    CHECK_INT(APPLY(&o, &r, "rtoll", "1", "qqqq", "2", "keep-source", "/tmp", "t", "1"),
              SHOAL_INPUT);
    REQUIRE(r.messages.count == 4);
    CHECK_HAS(r.messages.items[0].text,
              "m.ode:1:3: note: unknown option 'rtoll' is ignored; did you mean");
    CHECK_HAS(r.messages.items[1].text, "note: unknown option 'qqqq' is ignored");
    CHECK_HAS(r.messages.items[2].text, "command line");       // a model must not write files
    CHECK_HAS(r.messages.items[3].text, "unknown option 't'"); // the beginning of many
    CHECK_INT(APPLY(&o, &r, "tol", "-1"), SHOAL_INPUT);
    CHECK_HAS(r.messages.items[4].text, "m.ode:1:3: error: rtol: must be more than 0, not -1");
    report_free(&r);
}

TEST(options_xpp_methods) {
    static const struct {
        const char *value, *want;
    } cases[] = {{"euler", "euler"}, {"rungekutta", "rk4"},
                 {"rk", "rk4"},      {"Mod. Euler", "heun-21"},
                 {"Runge", "rk4"},   {"qualrk", "cash-karp-54"},
                 {"5", "dopri5"},    {"5dp", "dopri5"},
                 {"8", "dop853"},    {"modeuler", "heun-21"},
                 {"tsit5", "tsit5"}, {"rk4", "rk4"},
                 {"2", "ode23s"},    {"backeul", "backward-euler"}};
    shoal_options o;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(APPLY(&o, NULL, "meth", cases[i].value), SHOAL_OK);
        CHECK_STR(o.method, method_find(cases[i].want)->name);
    }
    static const char *const stand_ins[] = {"adams", "ymplectic", "gear", "stiff", "CVode"};
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        struct report r = {0};
        CHECK_INT(APPLY(&o, &r, "METHOD", stand_ins[i]), SHOAL_OK);
        CHECK_STR(o.method, "auto");
        REQUIRE(r.messages.count == 1);
        CHECK_HAS(r.messages.items[0].text, "note: XPP's method");
        report_free(&r);
    }
    struct report r = {0};
    CHECK_INT(APPLY(&o, &r, "meth", "discrete"), SHOAL_INPUT);
    CHECK_HAS(r.messages.items[0].text, "maps");
    CHECK_INT(APPLY(&o, &r, "meth", "volt"), SHOAL_INPUT);
    CHECK_HAS(r.messages.items[1].text, "Volterra");
    CHECK_INT(APPLY(&o, &r, "meth", "tsit6"), SHOAL_INPUT);
    CHECK_HAS(r.messages.items[2].text, "did you mean tsit5?");
    CHECK_INT(APPLY(&o, &r, "bound", "1000"), SHOAL_OK);
    CHECK_HAS(r.messages.items[3].text, "note: bound");
    report_free(&r);
}

// XPP's modified Euler takes fixed steps, as its euler and rk4 do; the user's own method its own.
TEST(options_xpp_fixed_steps) {
    shoal_options o;
    CHECK_INT(APPLY(&o, NULL, "meth", "modeuler", "dt", "0.1"), SHOAL_OK);
    CHECK_STR(o.controller, "fixed");
    CHECK(plan_is_fixed(&o, method_find("heun-21")));
    CHECK_INT(shoal_options_set(&o, "method", "tsit5", NULL), SHOAL_OK);
    CHECK(o.controller == NULL);
    CHECK_INT(APPLY(&o, NULL, "meth", "modeuler", "meth", "qualrk"), SHOAL_OK);
    CHECK(o.controller == NULL);
    CHECK_INT(APPLY(&o, NULL, "meth", "heun-21"), SHOAL_OK); // our own name
    CHECK(o.controller == NULL);
    CHECK_INT(APPLY(&o, NULL, "controller", "pi", "meth", "modeuler"), SHOAL_OK);
    CHECK_STR(o.controller, "pi");
}

static bool heard(const shoal_log *log, const char *part) {
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        if (strstr(shoal_log_message(log, i).text, part))
            return true;
    return false;
}

// A name in a set that nobody knows may be meant as a parameter.
TEST(options_xpp_unknown_in_a_set) {
    static const char text[] = "x'=aa\npar aa=1\nset s {ab=2}\n@ foo=3, totall=4\n";
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_options o;
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &m, log));
    CHECK_INT(shoal_options_init(&o, m, log), SHOAL_OK);
    CHECK_NEAR(o.t1, 4, 0); // XPP looks at the letters it knows
    CHECK(heard(log, "m:4:3: note: unknown option 'foo' is ignored"));
    CHECK_INT(shoal_model_use(m, "s", &o, log), SHOAL_INPUT);
    CHECK(heard(log, "unknown option 'ab'"));
    shoal_model_free(m);
    shoal_log_free(log);
}

// A file that names an explicit method runs though it has algebraic rows; a user's own is an error.
TEST(options_xpp_method_of_algebraic_rows) {
    static const char *const names[] = {"rungekutta", "euler", "tsit5", "8", "modeuler"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[128], *source = NULL;
        snprintf(text, sizeof text, "x'=z\n0=z-x\nsolv z=1\n@ meth=%s,total=2,dt=.1\ndone\n",
                 names[i]);
        shoal_log *log = shoal_log_new();
        shoal_model *m = NULL;
        shoal_options o;
        REQUIRE(!shoal_model_parse("m", text, strlen(text), &m, log));
        CHECK_INT(shoal_options_init(&o, m, log), SHOAL_OK);
        CHECK_STR(o.method, "auto");
        CHECK(o.controller == NULL);
        CHECK(heard(log, "cannot run algebraic rows"));
        CHECK_INT(shoal_model_source(m, &o, &source, log), SHOAL_OK);
        free(source);
        CHECK_INT(shoal_options_set(&o, "method", "rk4", log), SHOAL_OK);
        CHECK_INT(shoal_model_source(m, &o, &source, log), SHOAL_INPUT);
        shoal_model_free(m);
        shoal_log_free(log);
    }
}

// dt of the model serves a fixed method and is no error with an adaptive one; --dt is.
TEST(options_xpp_dt) {
    shoal_options o;
    struct report r = {0};
    char text[32];
    CHECK_INT(APPLY(&o, NULL, "dt", "0.05", "total", "10"), SHOAL_OK);
    CHECK_INT(options_check(&o, method_find("rk4"), &r), SHOAL_OK);
    CHECK_NEAR(plan_dt(&o), 0.05, 0);
    CHECK_INT(options_check(&o, method_find("tsit5"), &r), SHOAL_OK);
    CHECK_INT(r.messages.count, 0);
    CHECK(!shoal_options_get(&o, "dt", text, sizeof text)); // a replay takes it from the model
    CHECK_INT(shoal_options_set(&o, "dt", "0.05", NULL), SHOAL_OK);
    CHECK_INT(options_check(&o, method_find("tsit5"), NULL), SHOAL_INPUT);
    report_free(&r);
}

// What stands in for what the model lacks is told, and not for what it or the user gives.
TEST(options_xpp_defaults) {
    static const struct {
        const char *text, *method, *note, *t1, *dt; // given by the user: NULL, nothing
    } cases[] = {
        {"x'=1\ndone\n", "tsit5", "the model gives no end time; t1=20", NULL, NULL},
        {"x'=1\n@ total=20\ndone\n", "tsit5", NULL, NULL, NULL},
        {"x'=1\ndone\n", "tsit5", NULL, "5", NULL},
        {"x'=1\n@ total=3\ndone\n", "rk4", "the model gives no step; dt=0.05", NULL, NULL},
        {"x'=1\n@ total=3\ndone\n", "rk4", NULL, NULL, "0.05"},
        {"x'=1\n@ total=3, dt=.1\ndone\n", "rk4", NULL, NULL, NULL},
        {"x'=1\n@ total=3, dt=.1\n", "tsit5", "dt of the model is ignored", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_log *log = shoal_log_new();
        shoal_model *m = NULL;
        shoal_options o;
        REQUIRE(!shoal_model_parse("m", cases[i].text, strlen(cases[i].text), &m, NULL));
        REQUIRE(!shoal_options_init(&o, m, log));
        if (cases[i].t1)
            REQUIRE(!shoal_options_set(&o, "t1", cases[i].t1, log));
        if (cases[i].dt)
            REQUIRE(!shoal_options_set(&o, "dt", cases[i].dt, log));
        xpp_tell(&o, method_find(cases[i].method), m->model, log_report(log));
        CHECK_INT(shoal_log_message_count(log), cases[i].note != NULL);
        if (cases[i].note)
            CHECK_HAS(shoal_log_message(log, 0).text, cases[i].note);
        shoal_model_free(m);
        shoal_log_free(log);
    }
}

// A set is taken as a whole or not at all: values of the model and options.
TEST(options_of_a_set_all_or_nothing) {
    static const char text[] = "par a=1\nx'=a\nset good {a=2,t1=5}\nset bad {a=3,t1=6,rtol=-1}\n";
    shoal_model *m = NULL;
    shoal_options o, before;
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &m, NULL));
    REQUIRE(!shoal_options_init(&o, m, NULL));
    before = o;
    CHECK_INT(shoal_model_use(m, "bad", &o, NULL), SHOAL_INPUT);
    CHECK(!memcmp(&o, &before, sizeof o) && shoal_model_value(m, SHOAL_PARAMETER, 0) == 1);
    CHECK_INT(shoal_model_use(m, "nope", &o, NULL), SHOAL_INPUT);
    CHECK(!memcmp(&o, &before, sizeof o));
    CHECK_INT(shoal_model_use(m, "good", &o, NULL), SHOAL_OK);
    CHECK(o.t1 == 5 && shoal_model_value(m, SHOAL_PARAMETER, 0) == 2);
    shoal_model_free(m);
}

// Programs of other versions: a struct that ends earlier or later, and one that nobody made.
TEST(options_have_a_size) {
    struct {
        shoal_options o;
        unsigned char newer[32];
    } later;
    shoal_model *m = NULL;
    shoal_solver *s = NULL;
    char text[16];
    REQUIRE(!shoal_model_parse("m", "x'=-x\n@ t1=1\n", 13, &m, NULL));
    memset(&later, 0xff, sizeof later);
    CHECK_INT(shoal_options_init_sized(&later.o, sizeof later, m, NULL), SHOAL_OK);
    CHECK_INT(later.o.size, sizeof later);
    CHECK(later.newer[0] == 0 && later.newer[31] == 0);
    CHECK_INT(shoal_options_set(&later.o, "t1", "2", NULL), SHOAL_OK);
    CHECK(shoal_options_get(&later.o, "t1", text, sizeof text) && !strcmp(text, "2"));
    CHECK_INT(shoal_solver_new_plan(m, &later.o, &s, NULL), SHOAL_OK);
    memset(&later, 0xff, sizeof later);
    CHECK_INT(shoal_solver_options_sized(s, &later.o, sizeof later, NULL), SHOAL_OK);
    CHECK(later.o.t1 == 2 && later.o.size == sizeof later && later.newer[31] == 0);
    CHECK_INT(shoal_solver_options_sized(s, &later.o, 8, NULL), SHOAL_USAGE);
    shoal_solver_free(s);
    later.newer[31] = 1; // a field of a newer version, which this library would ignore
    CHECK_INT(shoal_solver_new_plan(m, &later.o, &s, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_options_set(&later.o, "t1", "3", NULL), SHOAL_USAGE);
    CHECK(later.o.t1 == 2);
    shoal_options o = {0};
    CHECK_INT(shoal_solver_new_plan(m, &o, &s, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_options_set(&o, "t1", "3", NULL), SHOAL_USAGE);
    CHECK_INT(shoal_options_init_sized(&o, 8, m, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_options_init(&o, NULL, NULL), SHOAL_OK);
    CHECK_INT(o.size, sizeof o);
    shoal_model_free(m);
}

// ---- Job files ----------------------------------------------------------------------------------

static shoal_job *job_of(const char *name, const char *text, shoal_code want, shoal_log *log) {
    const char *path = check_path(name);
    check_write(path, text);
    shoal_job *job = NULL;
    CHECK_INT(shoal_job_load(path, &job, log), want);
    return job;
}

TEST(options_job_lines) {
    shoal_job *job = job_of("a.job",
                            "# a job\n\n  t1 = 40   # until\nsweep=rho=lin:0:1:3\r\n"
                            "output = \"a #1\\\".csv\"  # quoted\nkeep-failed\nmodel = x.ode\n"
                            "vars = x#1,y",
                            SHOAL_OK, NULL);
    REQUIRE(job);
    CHECK_INT(shoal_job_count(job), 6);
    CHECK_STR(shoal_job_name(job, 0), "t1");
    CHECK_STR(shoal_job_value(job, 0), "40");
    CHECK_STR(shoal_job_value(job, 1), "rho=lin:0:1:3");
    CHECK_STR(shoal_job_value(job, 2), "a #1\".csv");
    CHECK_STR(shoal_job_name(job, 3), "keep-failed");
    CHECK_STR(shoal_job_value(job, 4), "x.ode");
    CHECK_STR(shoal_job_value(job, 5), "x#1,y");
    CHECK(shoal_job_name(job, 6) == NULL && shoal_job_model_text(job) == NULL);
    shoal_job_free(job);
    job = job_of("empty.job", "", SHOAL_OK, NULL);
    CHECK_INT(shoal_job_count(job), 0);
    shoal_job_free(job);
    shoal_job_free(NULL);
}

TEST(options_job_errors) {
    shoal_log *log = shoal_log_new();
    CHECK(!job_of("b.job",
                  "t1 = 40\nrtoll = 1\n  rtol = -1\nt0 5\nmethod =\njob = c\nreuse = x\n"
                  "vars = \"x\nhelp = on\nmodel =\n",
                  SHOAL_INPUT, log));
    CHECK_INT(shoal_log_message_count(log), 9);
    CHECK_INT(shoal_log_message(log, 1).line, 3);
    CHECK_INT(shoal_log_message(log, 1).column, 10);
    const char *text = said(log);
    CHECK_HAS(text, "b.job:2:1: error: unknown option 'rtoll'; did you mean rtol?");
    CHECK_HAS(text, "b.job:3:10: error: rtol: must be more than 0, not -1");
    CHECK_HAS(text, "b.job:4:4: error: expected = after 't0'");
    CHECK_HAS(text, "b.job:5:1: error: method: needs a value");
    CHECK_HAS(text, "b.job:6:1: error: job: cannot be given in a job file");
    CHECK_HAS(text, "b.job:7:1: error: unknown option 'reuse'; did you mean reuses?");
    CHECK_HAS(text, "b.job:8:8: error: the quoted value does not end");
    log = shoal_log_new();
    shoal_job *job;
    CHECK_INT(shoal_job_load(check_path("nothing.job"), &job, log), SHOAL_IO);
    CHECK(job == NULL);
    CHECK_HAS(said(log), "nothing.job");
}

TEST(options_json_members) {
    struct arena a = {0};
    const char *json =
        " {\"n\": [1, {\"job\": \"inner\"}, \"]\"], \"x\": {\"job\": 3}, \"e\": -1.5e3,"
        "\"job\" : \"t1 = 4\\n\\\"q\\\" \\u00e9\\ud83d\\ude00\\\\\", \"last\":\"\"}";
    CHECK_STR(json_member(&a, json, "job"), "t1 = 4\n\"q\" \u00e9\U0001f600\\");
    CHECK_STR(json_member(&a, json, "last"), "");
    CHECK(!json_member(&a, json, "n"));
    CHECK(!json_member(&a, json, "inner"));
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{\"job\"",
                                      "{\"job\":",
                                      "{\"job\":\"",
                                      "{\"job\":\"\\",
                                      "{\"a\":[[[[",
                                      "{\"a\":\"\\",
                                      "{\"job\":\"\\u12\"}",
                                      "{\"job\":\"\\u0000\"}",
                                      "{\"a\" 1, \"job\":\"x\"}",
                                      "{\"a\":\"x",
                                      "{,\"job\":\"x\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_MSG(!json_member(&a, bad[i], "job"), "%s", bad[i]);
    CHECK_STR(json_member(&a, "{\"job\":\"\\ud800x\"}", "job"), "\xef\xbf\xbdx"); // half a pair
    for (size_t n = 0; n < strlen(json); n++) // cut anywhere: no reading past the end
        json_member(&a, arena_strndup(&a, json, n), "last");
    arena_free(&a);
}
