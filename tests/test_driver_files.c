// SPDX-License-Identifier: MIT
// Drivers and tables from files, on the command line: formats, columns, signals of runs, and what
// is wrong with a file or with the words around it. Files may hold anything.
#include "check.h"
#include "solve.h"

#include "shoal/shoal.h"

static const char model[] = "driver u\ninit x=0\nx'=u\n@ t1=2\n";

static const char *put(const char *name, const char *text) {
    const char *path = check_path(name);
    check_write(path, text);
    return path;
}

static struct check_output run_with(const char *driver) {
    return RUN(check_shoal(), "run", put("m.ode", model), "--driver", driver, "-q", "-o", "-",
               "--rtol", "1e-9", "--device", "cpu");
}

static char *text_of(const char *format, const char *a, const char *b) {
    char *text = NULL;
    REQUIRE(asprintf(&text, format, a, b) > 0);
    return check_keep(text);
}

// The integral of u from 0 to 2 is 4.
static void runs(const char *driver) {
    struct check_output o = run_with(driver);
    CHECK_MSG(o.status == 0, "%s: %s", driver, o.err);
    const char *row = strstr(o.out, "0,2,");
    REQUIRE(row);
    CHECK_NEAR(strtod(row + 4, NULL), 4, 1e-6);
}

static void refuses(const char *driver, const char *part) {
    struct check_output o = run_with(driver);
    CHECK_MSG(o.status == 1 || o.status == 4, "%s: exit %d", driver, o.status);
    CHECK_HAS(o.err, part);
}

TEST(driver_columns_of_csv) {
    const char *two = put("two.csv", "time,current\n0,1\n1,2\n2,3\n");
    runs(text_of("u=%s%s", two, ""));
    runs(text_of("u=%s%s", two, ":current"));
    runs(text_of("u=%s%s", two, ",cubic,ends=hold"));
    runs(text_of("U=%s%s", two, ""));                                // with a note
    runs(text_of("u=%s%s", put("any.csv", "ms,I\n0,1\n2,3\n"), "")); // the first one is the time
    const char *many = put("many.csv", "a,T,u,v\n9,0,1,0\n9,1,2,0\n9,2,3,1\n");
    runs(text_of("u=%s%s", many, ""));
    runs(text_of("u=%s%s", put("case.csv", "T,TIME,t,u\n5,7,0,1\n6,9,2,3\n"), ""));
    refuses(text_of("u=%s%s", many, ":w"), "has no column `w`");
    refuses(text_of("u=%s%s", put("none.csv", "t,a,b\n0,1,2\n2,3,4\n"), ""),
            "has no column `u` beside its times");
    refuses(text_of("u=%s%s", put("only.csv", "t\n0\n1\n"), ""), "has no column `u`");
}

TEST(driver_words) {
    const char *two = put("two.csv", "time,u\n0,1\n1,2\n2,3\n");
    refuses("u", "expected NAME=FILE");
    refuses("=x.csv", "expected NAME=FILE");
    refuses("u=", "expected NAME=FILE");
    refuses(text_of("v=%s%s", two, ""), "the model has no driver `v`");
    refuses(text_of("u=%s%s", two, ",cubic,ends=up"), "none of ends=hold");
    refuses(text_of("u=%s%s", two, ",square"), "`square` is none of");
    refuses(text_of("u=%s%s", two, ",by=_ID"), "has no column `_ID`");
    refuses(text_of("u=%s%s", two, ",linear,cubic"),
            "`cubic`: what is between the samples is said");
    refuses(text_of("u=%s%s", two, ",ends=hold,ends=zero"), "what is beyond the samples is said");
    refuses(text_of("u=%s%s", two, ",by=_ID,by=_RUN"), "the column of the batch is said twice");
    refuses("u=nothing.csv", "nothing.csv");
    refuses("u=nothing.txt", "known by its ending");
    struct check_output o = RUN(check_shoal(), "run", put("m.ode", model), "-q", "-o", "-");
    CHECK_HAS(o.err, "the driver `u` has no samples; --driver u=FILE gives them");
}

TEST(driver_given_twice) {
    const char *file = put("two.csv", "time,u\n0,1\n1,2\n2,3\n");
    const char *one = text_of("u=%s%s", file, ""), *two = text_of("u=%s%s", file, ",cubic"),
               *other = text_of("U=%s%s", file, "");
    const char *path = put("m.ode", model);
    struct check_output o =
        RUN(check_shoal(), "run", path, "--driver", one, "--driver", two, "-q", "-o", "-");
    CHECK(o.status != 0);
    CHECK_HAS(o.err, "--driver gives `u` twice");
    o = RUN(check_shoal(), "run", path, "--driver", one, "--driver", other, "-q", "-o", "-");
    CHECK(o.status != 0);
    CHECK_HAS(o.err, "--driver gives `u` twice");
}

// Samples that were given, and files that were read, stay where an event is added.
TEST(driver_and_an_added_event) {
    const char *file = put("two.csv", "time,u\n0,1\n1,2\n2,3\n");
    put("v.tab", "3\n0\n2\n5\n6\n9\n");
    struct check_output o =
        RUN(check_shoal(), "run", put("m.ode", model), "--driver", text_of("u=%s%s", file, ""),
            "--event", "late when t>1 : x=0", "-q", "-o", "-", "--device", "cpu");
    CHECK_INT(o.status, 0);
    const char *row = strstr(o.out, "0,2,");
    REQUIRE(row);
    CHECK_NEAR(strtod(row + 4, NULL), 2.5, 1e-6);
    o = RUN(check_shoal(), "run", put("v.ode", "table f v.tab\nx'=0\naux r=f(1.5)\n@ t1=1\n"),
            "--event", "late when t>0.5 : x=1", "--vars", "r", "-q", "-o", "-", "--device", "cpu");
    CHECK_HAS(o.out, "0,1,7.5,ok");
}

// Every byte of a file may be wrong.
TEST(driver_files_are_not_trusted) {
    refuses(text_of("u=%s%s", put("nan.csv", "t,u\n0,1\n1,nan\n"), ""), "nan");
    refuses(text_of("u=%s%s", put("word.csv", "t,u\n0,1\n1,zwei\n"), ""), "zwei");
    refuses(text_of("u=%s%s", put("back.csv", "t,u\n0,1\n2,2\n1,3\n"), ""), "sample 2");
    refuses(text_of("u=%s%s", put("same.csv", "t,u\n0,1\n0,2\n2,3\n"), ""), "sample 1");
    refuses(text_of("u=%s%s", put("empty.csv", ""), ""), "empty.csv");
    refuses(text_of("u=%s%s", put("head.csv", "t,u\n"), ""), "no rows");
    refuses(text_of("u=%s%s", put("a.npy", "\x93NUMPY\x01"), ""), "is not an .npy array");
    refuses(text_of("u=%s%s",
                    put("b.npy", "\x93NUMPY\x01\x01v\x01{'descr': '<f8', 'fortran_order': False, "
                                 "'shape': (1000000000, 2), }"),
                    ""),
            "b.npy");
    refuses(text_of("u=%s%s", put("c.npz", "PK\x03\x04 nonsense"), ""), "c.npz");
}

// The same samples in all formats, by NumPy.
TEST(driver_formats) {
    const char *python = check_python("h5py");
    const char *script =
        put("make.py", "import sys, numpy as np, h5py\n"
                       "d = sys.argv[1] + '/'\n"
                       "t = np.array([0, 0.5, 2.0]); u = t + 1\n"
                       "np.save(d + 'c.npy', np.stack([t, u], 1))\n"
                       "np.save(d + 'f.npy', np.asfortranarray(np.stack([t, u], 1)))\n"
                       "np.save(d + 'i.npy', np.array([[0, 1], [2, 3]], dtype='>i4'))\n"
                       "np.save(d + 'one.npy', u)\n"
                       "np.savez(d + 'a.npz', t=t, u=u, _note=np.array(['a', 'b', 'c']))\n"
                       "np.savez_compressed(d + 'b.npz', time=t, w=u.astype('f4'))\n"
                       "with h5py.File(d + 'a.h5', 'w') as f:\n"
                       "    f['t'] = t; f['u'] = u\n");
    if (!python)
        check_skip("no Python with numpy and h5py");
    struct check_output o = RUN(python, script, check_dir());
    REQUIRE(o.status == 0);
    static const char *const files[] = {"c.npy", "f.npy", "i.npy", "a.npz", "b.npz", "a.h5"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        runs(text_of("u=%s%s", check_path(files[i]), ",linear"));
    runs(text_of("u=%s%s", check_path("b.npz"), ":w"));
    refuses(text_of("u=%s%s", check_path("one.npy"), ""), "two columns");
}

// Runs of a batch take their signals by a column, of words too.
TEST(driver_signals_by_words) {
    const char *samples = put("s.csv", "t,u,_WHO\n0,1,ann\n0,10,bob\n2,3,ann\n2,10,bob\n");
    const char *rows = put("rows.csv", "_WHO,x\nbob,0\nann,0\nbob,1\n");
    struct check_output o = RUN(check_shoal(), "run", put("m.ode", model), "--driver",
                                text_of("u=%s%s", samples, ",by=_WHO"), "--batch", rows, "-q", "-o",
                                "-", "--device", "cpu");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.out, "0,0,bob,2,20");
    CHECK_HAS(o.out, "1,0,ann,2,4");
    CHECK_HAS(o.out, "2,1,bob,2,2"); // 21
    o = RUN(check_shoal(), "run", put("m.ode", model), "--driver",
            text_of("u=%s%s", samples, ",by=_WHO"), "-q", "-o", "-");
    CHECK_HAS(o.err, "by the column _WHO, which the batch does not have");
    o = RUN(check_shoal(), "run", put("m.ode", model), "--driver",
            text_of("u=%s%s", samples, ",by=_WHO"), "--batch", put("other.csv", "_WHO,x\neve,0\n"),
            "-q", "-o", "-");
    CHECK_HAS(o.err, "has no samples with _WHO = eve");
}

// Rows that the stiff method takes over keep their signals.
TEST(driver_signals_of_stiff_rows) {
    const char *samples = put("s.csv", "t,u,_ID\n0,0,1\n0,16,2\n8,8,1\n8,0,2\n");
    const char *stiff = put("stiff.ode", "driver u\npar k=1e4\nx'=-k*(x-u)\n@ t1=8\n");
    const char *rows = put("rows.csv", "_ID,k\n2,1e4\n1,1\n1,1e4\n2,1e4\n");
    struct check_output o =
        RUN(check_shoal(), "run", stiff, "--driver", text_of("u=%s%s", samples, ",by=_ID"),
            "--batch", rows, "-o", "-", "--device", "cpu");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.err, "rodas5p");
    double want[] = {2e-4, 7 + exp(-8), 8 - 1e-4, 2e-4};
    const char *row = o.out;
    for (int i = 0; i < 4; i++) {
        int run;
        double k, id, t, x;
        row = strchr(row, '\n');
        REQUIRE(row && sscanf(++row, "%d,%lf,%lf,%lf,%lf", &run, &k, &id, &t, &x) == 5);
        CHECK_NEAR(x, want[i], 1e-5);
    }
}

// The same in a program; what is given twice is what was given last, and a solver keeps what it
// had.
TEST(driver_from_a_program) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_options o;
    shoal_batch *b = NULL;
    shoal_solver *s = NULL;
    shoal_result *r = NULL;
    const char *one = text_of("u=%s%s", put("one.csv", "t,u\n0,1\n2,1\n"), ",held"),
               *two = text_of("u=%s%s", put("two.csv", "t,u\n0,2\n2,2\n"), ",held");
    REQUIRE(shoal_model_parse("m", model, strlen(model), &m, log) == SHOAL_OK);
    CHECK_INT(shoal_model_driver_file(m, "u=gone.csv", log), SHOAL_IO);
    CHECK_INT(shoal_model_driver_file(m, one, log), SHOAL_OK);
    CHECK_INT(shoal_model_driver_file(m, "u=gone.csv", log), SHOAL_IO); // changes nothing
    CHECK_INT(shoal_model_driver(m, &(shoal_driver){.name = "w"}, log), SHOAL_INPUT);
    REQUIRE(shoal_options_init(&o, m, log) == SHOAL_OK);
    REQUIRE(shoal_batch_new(m, &b, log) == SHOAL_OK);
    o.device = "cpu";
    REQUIRE(shoal_solver_new(m, &o, &s, log) == SHOAL_OK);
    CHECK_INT(shoal_model_driver_file(m, two, log), SHOAL_OK);
    for (int turn = 0; turn < 3; turn++) {
        REQUIRE(shoal_solver_run(s, b, &r, log) == SHOAL_OK);
        CHECK_NEAR(shoal_result_value(r, 0, 0, 0), turn < 2 ? 2 : 4, 1e-9);
        shoal_result_free(r);
        if (turn == 0)
            REQUIRE(shoal_solver_set(s, "rtol", "1e-7", NULL, log) == SHOAL_OK);
        if (turn == 1) {
            shoal_solver_free(s);
            REQUIRE(shoal_solver_new(m, &o, &s, log) == SHOAL_OK);
        }
    }
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
    shoal_log_free(log);
}

// A result says which samples it was made with, but whoever replays it names the file.
TEST(driver_in_a_result) {
    const char *two = put("two.csv", "time,u\n0,1\n2,3\n"), *out = check_path("o.npz");
    const char *driver = text_of("u=%s%s", two, "");
    struct check_output o = RUN(check_shoal(), "run", put("m.ode", model), "--driver", driver, "-q",
                                "-o", out, "--device", "cpu");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(check_shoal(), "run", "--job", out, "-q", "-o", "-");
    CHECK_HAS(o.err, "the driver `u` has no samples");
    o = RUN(check_shoal(), "run", "--job", out, "--driver", driver, "-q", "-o", "-");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(check_shoal(), "run", "--job",
            put("j.txt", text_of("model = %s\ndriver = %s\n", check_path("m.ode"), driver)), "-q",
            "-o", "-");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// ---- Tables -------------------------------------------------------------------------------------

static struct check_output run_model(const char *text, const char *vars) {
    return RUN(check_shoal(), "run", put("t.ode", text), "--vars", vars, "-q", "-o", "-",
               "--device", "cpu");
}

static void table_gives(const char *text, const char *want) {
    struct check_output o = run_model(text, "r");
    CHECK_MSG(o.status == 0, "%s: %s", text, o.err);
    CHECK_HAS(o.out, want);
}

static void table_refuses(const char *text, const char *part) {
    struct check_output o = run_model(text, "r");
    CHECK_MSG(o.status == 1 || o.status == 4, "%s is accepted", text);
    CHECK_HAS(o.err, part);
}

// Linear between samples, and beyond them as between the last two.
TEST(table_values) {
    table_gives("table f % 3 0 2 t^2\nx'=0\naux r=f(1.5)\n@ t1=1\n", "0,1,2.5,ok");
    table_gives("table f % 3 0 2 t^2\nx'=0\naux r=f(3)\n@ t1=1\n", "0,1,7,ok");
    table_gives("table f % 3 0 2 t^2\nx'=0\naux r=f(-1)\n@ t1=1\n", "0,1,-1,ok");
    table_gives("table f % 3 0 2 t^2\nx'=0\naux r=f(f(1))+t\n@ t1=1\n", "0,1,2,ok");
    table_gives("par a=2\nnum b=1\ng(s)=a*s\ntable f % 3 0 2 g(t)+b\nx'=0\naux r=F(0.5)\n@ t1=1\n",
                "0,1,2,ok");
    put("v.tab", "3\n0\n2\n5\n6\n9\n");
    table_gives("table f v.tab\nx'=0\naux r=f(1.5)\n@ t1=1\n", "0,1,7.5,ok");
}

// Pulses of one sample each, looked up by the time, or by what is made of it.
TEST(table_of_time_is_not_passed_over) {
    static const struct {
        const char *rhs;
        double t0, t1, want, within;
    } cases[] = {
        {"g(t)", 0, 100, 1.5, 1e-9},
        {"g(t)", 100, 0, -1.5, 1e-9},
        {"g(2*t-3)", 0, 60, 0.75, 1e-9},
        {"g(100-t)", 0, 100, 1.5, 1e-9},
        {"heav(g(t)-0.99)", 0, 100, 0.03, 1e-9},
        {"g(t)+g(t-3)", 0, 100, 3, 1e-9},
        {"g(t)-3*g(90-t/3)+g(0.7*t+1)", 0, 100, -11.0 / 7, 1e-9},
        {"g(a*t)", 0, 100, 1.5, 1e-9},
        {"g(mod(t,100))", 0, 200, 3, 1e-9},
        {"g(x-x+t)+0*g(x)", 0, 100, 1.5, 1e-3},
        {"g(t/200)", 0, 10, 0, 1e-9}, // nothing is there
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "par a=1;table g %% 201 0 100 (t==20)+(t==45)+(t==75);x'=%s;@ t1=100",
                 cases[i].rhs);
        for (size_t way = 0; way < 3; way++) {
            if (!check_does(i, way, 3))
                continue;
            static const char *const ways[] = {"method=tsit5", "method=rodas5p rtol=1e-8",
                                               "method=tsit5 rtol=1e-5"};
            struct solved s =
                solve(text, NULL, "t0=%g t1=%g %s", cases[i].t0, cases[i].t1, ways[way]);
            CHECK_MSG(fabs(solved_last(&s, 0, 0) - cases[i].want) < cases[i].within,
                      "%s, %s: %.9g, not %.9g", cases[i].rhs, ways[way], solved_last(&s, 0, 0),
                      cases[i].want);
            solved_free(&s);
        }
    }
}

// A run that goes far beyond the samples of a table takes no more steps for them.
TEST(table_of_time_ends) {
    struct solved s =
        solve("table g % 1001 0 1 sin(40*t);x'=g(min(t,1))-x;y'=g(t)-y", NULL, "t1=1e4 vars=x");
    CHECK_MSG(s.steps[0] < 20000, "%u steps", s.steps[0]);
    solved_free(&s);
}

// A table in the right-hand side, with its slope in the Jacobian.
TEST(table_in_a_stiff_equation) {
    static const char text[] = "table f % 11 0 1 1000*t\ninit x=0.9\nx'=50-f(x)\naux r=x\n@ t1=1\n";
    struct check_output o = RUN(check_shoal(), "run", put("t.ode", text), "--method", "rodas5p",
                                "--vars", "r", "-q", "-o", "-", "--device", "cpu");
    const char *row = strstr(o.out, "\n0,1,");
    REQUIRE(row);
    CHECK_NEAR(strtod(row + 5, NULL), 0.05, 1e-6);
}

TEST(table_errors) {
    table_refuses("table f % 1 0 2 t\nx'=f(x)\naux r=x\n@ t1=1\n", "2 to 1048576 samples");
    table_refuses("table f % 1e9 0 2 t\nx'=f(x)\naux r=x\n@ t1=1\n", "2 to 1048576 samples");
    table_refuses("table f % 3 2 2 t\nx'=f(x)\naux r=x\n@ t1=1\n", "to a larger one");
    table_refuses("table f % 3 0 two t\nx'=f(x)\naux r=x\n@ t1=1\n", "expected a number");
    table_refuses("table f % 3 0 2\nx'=f(x)\naux r=x\n@ t1=1\n", "expected a value");
    table_refuses("table f\nx'=f(x)\naux r=x\n@ t1=1\n", "or the name of a file");
    table_refuses("table f % 3 0 2 1/t\nx'=f(x)\naux r=x\n@ t1=1\n", "table `f` at 0: division");
    table_refuses("table f % 3 0 2 x\nx'=f(x)\naux r=x\n@ t1=1\n", "`x` is a state");
    table_refuses("driver u\ntable f % 3 0 2 u\nx'=f(x)\naux r=x\n@ t1=1\n",
                  "cannot use the driver `u`");
    table_refuses("table f % 3 0 2 t\nx'=f\naux r=x\n@ t1=1\n", "expected `(`");
    table_refuses("table f % 3 0 2 t\nx'=f(x,1)\naux r=x\n@ t1=1\n", "f");
    table_refuses("table f % 3 0 2 t\nf(x)=x\nx'=f(x)\naux r=x\n@ t1=1\n", "already a table");
    table_refuses("driver u\nx'=u(t)\naux r=x\n@ t1=1\n", "`u` is a driver, not a function");
    table_refuses("driver u,u\nx'=u\naux r=x\n@ t1=1\n", "`u` is already a driver");
    table_refuses("driver sin\nx'=1\naux r=x\n@ t1=1\n", "`sin` is a reserved name");
    table_refuses("driver u=3\nx'=u\naux r=x\n@ t1=1\n", "a driver has no value here");
}

TEST(table_files_are_not_trusted) {
    static const struct {
        const char *text, *part;
    } files[] = {{"", "begins with its count"},
                 {"3\n0\n", "begins with its count"},
                 {"3\n0\n2\n1\n2\n", "expected a finite number"},
                 {"3\n0\n2\n1\n2\nnan\n", "expected a finite number"},
                 {"3\n0\n2\n1\n1e999\n3\n", "expected a finite number"},
                 {"1e12\n0\n2\n1\n", "2 to 1048576 samples"},
                 {"-3\n0\n2\n1\n2\n3\n", "2 to 1048576 samples"},
                 {"3\n2\n0\n1\n2\n3\n", "to a larger one"},
                 {"3\n0\n2\n1\n2\n3\n4\n", "v.tab:7: there are more numbers"},
                 {"3 0 2 1 2 3 four", "there are more numbers"},
                 {"3\n0\n2\n\x01\x02\n3\n", "expected a finite number"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        put("v.tab", files[i].text);
        table_refuses("table f v.tab\nx'=f(x)\naux r=x\n@ t1=1\n", files[i].part);
    }
    table_refuses("table f /etc/passwd\nx'=f(x)\naux r=x\n@ t1=1\n",
                  "in the directory of the model");
    table_refuses("table f ../v.tab\nx'=f(x)\naux r=x\n@ t1=1\n", "in the directory of the model");
    table_refuses("table f a/../../v.tab\nx'=f(x)\naux r=x\n@ t1=1\n", "in the directory of");
    table_refuses("table f gone.tab\nx'=f(x)\naux r=x\n@ t1=1\n", "gone.tab");
}

// A text that is no file reads none.
TEST(table_file_of_a_parsed_text) {
    static const char text[] = "table f v.tab\nx'=f(x)\n@ t1=1\n";
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_options o;
    shoal_solver *s = NULL;
    REQUIRE(shoal_model_parse("t.ode", text, strlen(text), &m, log) == SHOAL_OK);
    CHECK_INT(shoal_model_count(m, SHOAL_TABLE), 1);
    CHECK_STR(shoal_model_symbol(m, SHOAL_TABLE, 0), "f");
    REQUIRE(shoal_options_init(&o, m, log) == SHOAL_OK);
    CHECK_INT(shoal_solver_new_plan(m, &o, &s, log), SHOAL_INPUT);
    shoal_model_free(m);
    shoal_log_free(log);
}

// A parameter of a table may be set, and not differ between runs.
TEST(table_of_a_parameter) {
    static const char text[] = "par a=1,b=1\ng(s)=a*s\ntable f % 3 0 2 g(t)\nx'=b*0\naux r=f(1)\n"
                               "@ t1=1\n";
    struct check_output o = RUN(check_shoal(), "run", put("t.ode", text), "--vars", "r", "--set",
                                "a=3", "-q", "-o", "-");
    CHECK_HAS(o.out, "0,1,3,ok");
    o = RUN(check_shoal(), "run", check_path("t.ode"), "--sweep", "a=1,2", "-q", "-o", "-");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "the table `f` is made with `a`");
    o = RUN(check_shoal(), "run", check_path("t.ode"), "--sweep", "b=1,2", "-q", "-o", "-");
    CHECK_INT(o.status, 0);
    put("t.ode", "par a=1,b=1\ng(s)=a*s\ntable f % 3 0 2 g(t)\nx'=b*f(1)\nevent e at 1 : a=2\n"
                 "@ t1=2\n");
    o = RUN(check_shoal(), "run", check_path("t.ode"), "-q", "-o", "-");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "the table `f` is made with `a`, so an event cannot change it");
}

TEST(driver_info) {
    struct check_output o = RUN(check_shoal(), "info",
                                put("t.ode", "driver u,v\ntable f % 3 0 2 t\nx'=u+f(v)\n@ t1=1\n"));
    CHECK_HAS(o.out, "drivers: 2\n  u         no samples; --driver u=FILE gives them\n  v  ");
    CHECK_HAS(o.out, "\ntables: 1\n  f\n");
    o = RUN(check_shoal(), "info", check_path("t.ode"), "--json");
    CHECK_HAS(
        o.out,
        "\"drivers\": [{\"name\": \"u\"}, {\"name\": \"v\"}], \"tables\": [{\"name\": \"f\"}]");
}

// What info says: of a driver with samples, without, and with one signal per run.
TEST(driver_in_info) {
    const char *m = check_path("i.ode"), *u = check_path("u.csv"), *shoal = check_shoal();
    char driver[600];
    check_write(m,
                "driver u\ntable f % 3 0 2 t^2\ninit x=1\nx'=u-x+f(1.5)\ny'=2\n@ t1=3, t0=0.5\n");
    check_write(u, "t,u,_ID\n0,0,1\n1,4,1\n2,-2,1\n3,5,1\n");
    struct check_output o = RUN(shoal, "info", m, "-q");
    CHECK_HAS(o.out, "no samples; --driver u=FILE gives them");
    CHECK_HAS(o.out, "unknown: samples of a driver are missing");
    static const struct {
        const char *how;
        double slope; // at 0.5, with f(1.5) = 2.5
    } cases[] = {{"linear", 2 - 1 + 2.5}, {"held", 0 - 1 + 2.5}, {"natural", 3.325 - 1 + 2.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[64];
        snprintf(driver, sizeof driver, "u=%s:u,%s,ends=hold", u, cases[i].how);
        o = RUN(shoal, "info", m, "-q", "--driver", driver, "--json");
        CHECK_HAS(o.out, "\"samples\": 4, \"signals\": 1, \"t\": [0, 3], \"range\": [-2, 5], ");
        snprintf(want, sizeof want, "\"derivative\": %.4g", cases[i].slope);
        CHECK_HAS(o.out, want);
        o = RUN(shoal, "info", m, "-q", "--driver", driver);
        snprintf(want, sizeof want, "4 samples from t = 0 to 3, -2 to 5, %s, ends=hold\n",
                 cases[i].how);
        CHECK_HAS(o.out, want);
    }
    snprintf(driver, sizeof driver, "u=%s:u,by=_ID", u);
    o = RUN(shoal, "info", m, "-q", "--driver", driver);
    CHECK_HAS(o.out, "linear, ends=error, 1 signals by _ID\n");
    CHECK_HAS(o.out, "unknown: samples of a driver are missing, or each run has its own");
    shoal_model *of = NULL;
    shoal_driver_info info;
    REQUIRE(!shoal_model_load(m, &of, NULL));
    CHECK(!shoal_model_driver_at(of, 0, &info) && !shoal_model_driver_at(of, 1, &info));
    CHECK_INT(shoal_model_driver_file(of, driver, NULL), SHOAL_OK);
    CHECK(shoal_model_driver_at(of, 0, &info) && info.samples == 4 && info.most == 5);
    CHECK_STR(info.by, "_ID");
    shoal_model_free(of);
}
