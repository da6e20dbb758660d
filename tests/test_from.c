// SPDX-License-Identifier: MIT
// Runs that go on from a result: as one long run, from every format, with failed ones among them.
#include "check.h"
#include "shoal/shoal.h"

#include <unistd.h>

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

// Of b = 1 some blow up before t = 2; cos(t) shows when it is.
static const char model_text[] = "par a=1, b=0\n"
                                 "x'=b*x^2-a*x+cos(t)\n"
                                 "y'=x\n"
                                 "init x=1, y=0\n"
                                 "aux s=x+y\n"
                                 "@ t1=4, rtol=1e-10, atol=1e-13\n";

static const char *model(void) {
    const char *path = check_path("m.ode");
    check_write(path, model_text);
    return path;
}

#define BATCH "--sweep", "a=0.5,1", "--sweep", "b=0,2", "--sweep", "x(0)=1,2"

static void expect_fine(struct check_output o) {
    CHECK_MSG(o.status == 0, "exit %d\n%s", o.status, o.err);
}

static void expect(struct check_output o, const char *said) {
    CHECK_MSG(o.status != 0, "it is fine");
    CHECK_HAS(o.err, said);
}

// A field of a line of CSV, both counted from 0.
static const char *field(const char *text, int line, int at) {
    static char out[64];
    for (; line && text; line--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    for (; at && text; at--) {
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    snprintf(out, sizeof out, "%.*s", text ? (int)strcspn(text, ",\n") : 0, text ? text : "");
    return out;
}

// x and y of 8 runs; `at` is the column of x.
static void check_ends(const char *got, int at, const char *want, int want_at, double tolerance) {
    for (int run = 0; run < 8; run++)
        for (int k = 0; k < 2; k++) {
            double x = atof(field(got, run + 1, at + k)),
                   y = atof(field(want, run + 1, want_at + k));
            bool failed = run / 2 % 2;
            CHECK_MSG(failed ? isnan(x) && isnan(y) : fabs(x - y) <= tolerance, "run %d: %g, %g",
                      run, x, y);
            CHECK_STR(field(got, run + 1, at + 2), failed ? "bad_init" : "ok");
        }
}

TEST(from_is_one_long_run) {
    static const char *const files[] = {"o.csv", "o.npz", "o.h5"};
    static const char *const saves[] = {"final", "n=5", "at=0.5,2"};
    const char *m = model();
    struct check_output whole = SHOAL("run", m, "-q", BATCH, "-o", "-"), first = {0};
    expect_fine(whole);
    for (int i = 0; i < 9; i++) {
        const char *file = check_path(files[i % 3]);
        struct check_output o =
            SHOAL("run", m, "-q", BATCH, "--t1", "2", "--save", saves[i / 3], "-o", file);
        if (strstr(o.err, "HDF5"))
            continue; // there is no such library
        expect_fine(o);
        o = SHOAL("run", m, "-q", "--from", file, "-o", "-");
        expect_fine(o);
        check_ends(o.out, 6, whole.out, 5, 2e-9);
        CHECK_STR(field(o.out, 0, 1), "a");
        CHECK_STR(field(o.out, 0, 3), "x(0)");
        CHECK_STR(field(o.out, 5, 1), "1"); // inputs come along
        if (!first.out)
            first = o;
        CHECK_STR(o.out, first.out); // the same bits from every file
    }
}

// Events, doses that went by or go on, a driver and switches: the second segment is as one run.
TEST(from_with_all_that_happens) {
    const char *m = check_path("h.ode"), *npz = check_path("o.npz"), *u = check_path("u.csv"),
               *d = check_path("d.csv");
    check_write(m, "driver u\npar k=0.5\ninit x=0, n=0, y=1, g=1\n"
                   "x'=u-k*x+if(mod(t,3)<0.25)then(4)else(0)\nn'=0\ny'=g*heav(x-1)-y\ng'=0\n"
                   "event hit when x>1.5 : n=n+1, x=x/2\nevent tick every 0.75 from 0 : y=y+0.1\n"
                   "event late at 2, 4.5 : g=g*2\n@ t1=9, rtol=1e-10, atol=1e-12\n");
    check_write(u, "t,u\n0,0.5\n2,1.5\n4,0\n5,2\n9,1\n");
    check_write(d, "ID,TIME,AMT,CMT,RATE,II,ADDL\n0,0,1,x,0,2,4\n1,1,6,x,1,0,0\n1,4,1,y,0,0,0\n"
                   "1,3,2,x,0.5,0,0\n1,2.5,0.5,x,0,0,0\n");
    char driver[600];
    snprintf(driver, sizeof driver, "u=%s:u,held", u);
#define ALL "run", m, "-q", "--driver", driver, "--doses", d, "--method", "tsit5"
    struct check_output whole = SHOAL(ALL, "--sweep", "k=0.5,0.7", "-o", "-");
    expect_fine(whole);
    static const char *const cuts[] = {"4", "4.3"}; // doses, a tick and a jump of u are at 4
    for (int i = 0; i < 2; i++) {
        expect_fine(SHOAL(ALL, "--sweep", "k=0.5,0.7", "--t1", cuts[i], "-o", npz));
        struct check_output o = SHOAL(ALL, "--from", npz, "-o", "-");
        expect_fine(o);
        for (int run = 1; run <= 2; run++)
            for (int k = 0; k < 4; k++)
                CHECK_NEAR(atof(field(o.out, run, 7 + k)), atof(field(whole.out, run, 3 + k)),
                           1e-8);
    }
    expect(SHOAL("run", m, "-q", "--driver", driver, "--doses", d, "--sweep", "k=1,2", "--t0", "4"),
           "d.csv: a dose at 0, before t0");
}

// What a result does not hold is said, not taken to be what it was at the start.
TEST(from_parameters_that_events_change) {
    const char *m = check_path("p.ode"), *csv = check_path("o.csv");
    check_write(m, "par a=1, b=2\ninit x=1\n!c=x\nx'=a*c-b\nevent e at 1 : a=a+1\n"
                   "event f every 1 : x=x+1\n@ t1=2\n");
    expect_fine(SHOAL("run", m, "-q", "-o", csv));
    expect(SHOAL("run", m, "--from", csv, "--t1", "3"),
           "event `e` changes `a`, and a result does not hold what a parameter was at the end: "
           "make it a state (a'=0), or give --set a");
    struct check_output o = SHOAL("run", m, "--from", csv, "--t1", "3", "--set", "a=2", "-o", "-");
    expect_fine(o);
    CHECK_HAS(o.err, "event `f` is counted from t0");
    CHECK_HAS(o.err, "made of initial values");
    expect_fine(SHOAL("run", m, "-q", "--sweep", "a=1,2", "-o", csv));
    expect(SHOAL("run", m, "--from", csv, "--t1", "3"), "make it a state (a'=0)\n");
}

// A result of steps is read as CSV, and refused else.
TEST(from_steps) {
    const char *m = model(), *csv = check_path("o.csv"), *npz = check_path("o.npz");
    struct check_output whole = SHOAL("run", m, "-q", BATCH, "-o", "-");
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "--save", "steps", "-o", csv));
    struct check_output o = SHOAL("run", m, "-q", "--from", csv, "-o", "-");
    check_ends(o.out, 6, whole.out, 5, 2e-9);
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "--save", "steps", "-o", npz));
    expect(SHOAL("run", m, "-q", "--from", npz), "holds the steps of its runs");
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "--save", "n=3", "-o", csv));
    unlink(check_path("o.runs.csv"));
    expect(SHOAL("run", m, "-q", "--from", csv), "o.runs.csv");
}

TEST(from_keeps_what_failed_out) {
    const char *m = model(), *npz = check_path("o.npz"), *next = check_path("p.npz");
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "--keep-failed", "-o", npz));
    struct check_output o = SHOAL("run", m, "-q", "--from", npz, "--keep-failed", "-o", "-");
    CHECK_STR(field(o.out, 3, 8), "bad_init"); // it had kept its last values
    CHECK_STR(field(o.out, 3, 6), "nan");
    expect_fine(SHOAL("run", m, "-q", "--from", npz, "-o", next));
    o = SHOAL("run", m, "-q", "--from", next, "--t1", "5", "-o", "-"); // and on
    CHECK_STR(field(o.out, 3, 8), "bad_init");
    CHECK_STR(field(o.out, 1, 8), "ok");
}

// Explicit, implicit and both; the second segment of an f32 run begins with its own bits.
TEST(from_goes_on_with_any_method) {
    static const char *const methods[] = {"auto", "rodas4", "rk4", "dop853"};
    const char *m = check_path("s.ode"), *npz = check_path("o.npz");
    check_write(m, "par k=1\nx'=-k*(x-y)\ny'=-0.5*y\ninit x=0, y=1\n"
                   "@ t1=2, rtol=1e-9, atol=1e-12, dt=0.0009765625\n");
    for (int i = 0; i < 4; i++) {
        struct check_output whole = SHOAL("run", m, "-q", "--method", methods[i], "--sweep",
                                          "k=1,100,3000", "-o", "-", "--max-steps", "1000000");
        if (i == 2)
            whole = SHOAL("run", m, "-q", "--method", "rk4", "--sweep", "k=1,100,1000", "-o", "-");
        const char *sweep = i == 2 ? "k=1,100,1000" : "k=1,100,3000";
        expect_fine(SHOAL("run", m, "-q", "--method", methods[i], "--sweep", sweep, "--t1", "1",
                          "-o", npz, "--max-steps", "1000000"));
        struct check_output o = SHOAL("run", m, "-q", "--method", methods[i], "--from", npz, "-o",
                                      "-", "--max-steps", "1000000");
        expect_fine(o);
        for (int run = 1; run <= 3; run++)
            CHECK_NEAR(atof(field(o.out, run, 5)), atof(field(whole.out, run, 3)), 1e-7);
    }
    struct check_output one =
        SHOAL("run", m, "-q", "--precision", "f32", "--sweep", "k=1,2", "--t1", "1", "-o", "-");
    expect_fine(
        SHOAL("run", m, "-q", "--precision", "f32", "--sweep", "k=1,2", "--t1", "1", "-o", npz));
    struct check_output o =
        SHOAL("run", m, "-q", "--precision", "f32", "--from", npz, "--save", "n=2", "-o", "-");
    CHECK_STR(field(o.out, 1, 2), field(one.out, 1, 3)); // at its t0
}

// What a result holds besides inputs and ends is none of these, whatever it is called.
TEST(from_takes_ends_and_inputs_alone) {
    static const char *const files[] = {"n.csv", "n.npz", "n.h5"};
    static const struct {
        const char *model, *first[8], *want; // NULL: there is no end of a state
        int at;
    } of[] = {
        {"par a=1, F=1, b=0\ninit x=1\nx'=a*F\naux a=100+x\naux F=7\n@ t1=2",
         {"--sweep", "b=1,2", "--vars", "x,a,F"},
         "5",
         4},
        {"par F=1, b=0\ninit x=1\nx'=F\n@ t1=2",
         {"--sweep", "b=1,2", "--summary", "F=max(x)", "--save", "final"},
         "5",
         4},
        {"par F=1, b=0\ninit x=1\nx'=F\n@ t1=2",
         {"--sweep", "b=1,2", "--summary", "f=max(x),B=min(x)", "--save", "final"},
         "5",
         4},
        {"par F=1\ninit x=1\nx'=F\n@ t1=2",
         {"--sweep", "F=1,1", "--summary", "F=max(x)", "--save", "n=3"},
         "5",
         4},
        {"par k=2\ninit v=1, w=1\nv'=0\nw'=1\n@ t1=2",
         {"--sweep", "k=1,2", "--summary", "k=mean(v)", "--save", "n=3"},
         "5",
         6},
        {"par k=2\ninit v=1, w=0\nv'=0\nw'=1\n@ t1=2",
         {"--sweep", "k=1,2", "--vars", "v", "--summary", "w=max(v)"},
         NULL,
         0},
        {"par k=2\ninit v=1, w=0\nv'=0\nw'=1\n@ t1=2",
         {"--sweep", "k=1,2", "--vars", "v", "--save", "n=3", "--summary", "w=max(v)"},
         NULL,
         0},
        {"par k=2\ninit v=1\nv'=k\n@ t1=2", {"--sweep", "k=1,2", "--summary", "v=max(v)"}, NULL, 0},
        {"par steps=1\ninit run=1\nrun'=steps\n@ t1=2", {"--sweep", "steps=1,1"}, "5", 4},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int k = 0; k < 3; k++) {
            const char *m = check_path("n.ode"), *file = check_path(files[k]), *a[8];
            check_write(m, of[i].model);
            for (int n = 0; n < 8; n++)
                a[n] = of[i].first[n] ? of[i].first[n] : "-q";
            struct check_output o = SHOAL("run", m, "-q", "--force", "-o", file, a[0], a[1], a[2],
                                          a[3], a[4], a[5], a[6], a[7]);
            if (strstr(o.err, "HDF5"))
                continue; // there is no such library
            expect_fine(o);
            o = SHOAL("run", m, "-q", "--from", file, "--t1", "4", "-o", "-");
            if (of[i].want) {
                expect_fine(o);
                double got = atof(field(o.out, 1, of[i].at));
                CHECK_MSG(fabs(got - atof(of[i].want)) < 1e-9, "%s, %s:\n%s", of[i].model, files[k],
                          o.out);
            } else {
                bool alone = !strcmp(a[2], "--summary");
                expect(o, !k && alone ? "does not say `t`" : "has no end of");
            }
        }
}

TEST(from_brings_names_and_times) {
    const char *m = model(), *csv = check_path("b.csv"), *npz = check_path("o.npz");
    check_write(csv, "a,_id\n1,p\n2,q\n");
    expect_fine(SHOAL("run", m, "-q", "--batch", csv, "--t0", "1", "--t1", "2", "-o", npz));
    struct check_output o = SHOAL("run", m, "-q", "--from", npz, "--save", "n=2", "-o", "-");
    CHECK_STR(field(o.out, 1, 1), "2"); // t0
    o = SHOAL("run", m, "-q", "--from", npz, "-o", "-");
    CHECK_STR(field(o.out, 0, 4), "_id");
    CHECK_STR(field(o.out, 2, 4), "q");
    o = SHOAL("run", m, "-q", "--from", npz, "--t0", "0", "--save", "n=2", "-o", "-");
    CHECK_STR(field(o.out, 1, 1), "0");
    o = SHOAL("run", m, "-q", "--from", npz, "--sweep", "b=0,0.1", "-o", "-"); // crossed
    CHECK_STR(field(o.out, 4, 1), "2");
    CHECK_STR(field(o.out, 4, 4), "0.1");
    o = SHOAL("run", m, "-q", "--from", npz, "--reduce", "mean", "--by", "a,_id", "--vars", "x");
    CHECK_STR(field(o.out, 0, 2), "x.mean");
    CHECK_STR(field(o.out, 2, 1), "q");
}

// A result that was continued is replayed, with the file it came from or not at all.
TEST(from_in_a_job) {
    const char *m = model(), *npz = check_path("o.npz"), *next = check_path("p.npz");
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "-o", npz));
    expect_fine(SHOAL("run", m, "-q", "--from", npz, "-o", next));
    struct check_output o = SHOAL("run", m, "-q", "--from", npz, "-o", "-");
    CHECK_STR(SHOAL("run", "-q", "--job", next, "-o", "-").out, o.out);
    shoal_job *job = NULL;
    shoal_batch *batch = NULL;
    shoal_model *of = NULL;
    REQUIRE(!shoal_job_load(next, &job, NULL) && !shoal_model_load(m, &of, NULL));
    REQUIRE(!shoal_batch_new(of, &batch, NULL));
    CHECK_INT(shoal_batch_job_from(batch, job, NULL), SHOAL_OK);
    CHECK_INT(shoal_batch_runs(batch), 8);
    shoal_batch_free(batch);
    shoal_model_free(of);
    shoal_job_free(job);
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "1", "-o", npz));
    expect(SHOAL("run", "-q", "--job", next, "-o", "-"), "its content has changed");
    unlink(npz);
    expect(SHOAL("run", "-q", "--job", next, "-o", "-"), "neither here nor beside it");
}

TEST(from_refuses) {
    const char *m = model(), *csv = check_path("o.csv");
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "--vars", "x", "-o", csv));
    expect(SHOAL("run", m, "--from", csv), "no end of `y`");
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "-o", csv));
    expect(SHOAL("run", m, "--from", csv, "--t1", "2"), "there is nothing to do");
    expect(SHOAL("run", m, "--from", csv, "--sweep", "a=1,2"), "given by both");
    expect(SHOAL("run", m, "--from", csv, "--set", "a=1"), "given by both");
    expect(SHOAL("run", m, "--from", m), "known by its ending");
    expect(SHOAL("run", m, "--from", check_path("no.csv")), "no.csv");
    static const struct {
        const char *text, *said;
    } bad[] = {
        {"a,x\n1,2\n", "is no result of runs"},
        {"run,t,x,y,status\n0,1,2,3,max_steps\n", "none of the runs"},
        {"run,t,x,y,status\n0,1,nan,3,ok\n", "none of the runs"},
        {"run,t,x,y,status\n0,nan,2,3,ok\n", "at a time that is none"},
        {"run,t,x,y,status\n0,1,2,3,ok\n1,1.5,2,3,stopped\n", "give --t0"},
        {"run,a,t,x,y,status\n0,inf,1,2,3,ok\n", "not a finite number"},
        {"run,t,x,x,status\n0,1,2,3,ok\n", "appears twice"},
        {"run,t,x,y,status\n", "no rows"},
        {"run,t,x,y,status\n0,1,zwei,3,ok\n", "not a number"},
        {"run,t,x,y\n0,1,2,3\n", "o.runs.csv"},
        {"x.mean,x.n,failed\n1,2,0\n", "is no result of runs"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_write(csv, bad[i].text);
        expect(SHOAL("run", m, "--from", csv), bad[i].said);
    }
    check_write(csv, "run,t,x,y,status\n0,1,2,3,ok\n1,1.5,2,3,stopped\n");
    expect_fine(SHOAL("run", m, "-q", "--from", csv, "--t0", "1"));
    // A row whose state is no number is lost, the others go on.
    check_write(csv, "run,t,x,y,status\n0,1,2,3,ok\n1,1,-inf,3,ok\n2,1,1,1,\n");
    struct check_output o = SHOAL("run", m, "-q", "--from", csv, "-o", "-");
    CHECK_STR(field(o.out, 1, 6), "ok");
    CHECK_STR(field(o.out, 2, 6), "bad_init");
    CHECK_STR(field(o.out, 3, 6), "bad_init");
}

TEST(from_damaged_binary) {
    const char *python = check_python(NULL), *m = model(), *npz = check_path("d.npz");
    if (!python)
        check_skip("no Python with numpy");
    static const struct {
        const char *arrays, *said;
    } bad[] = {
        {"x=[1.,2.], y=[1.,2.]", "is no result of runs"},
        {"status=np.zeros(2,'u1'), x=[1.,2.], y=[1.,2.]", "does not say `t`"},
        {"status=np.zeros((2,1),'u1'), t=[1.,1.], x=[1.,2.], y=[1.,2.]", "is no result of runs"},
        {"status=np.zeros(2,'u1'), t=[1.,1.], x=[1.,2.]", "no end of `y`"},
        {"status=np.zeros(2,'u1'), t=[1.,1.], x=[1.,2.], y=[1.,2.,3.]", "no end of `y`"},
        {"status=np.array([9,77],'u1'), t=[1.,1.], x=[1.,2.], y=[1.,2.]", "none of the runs"},
        {"status=np.zeros(2,'u1'), t=[1.,1.], x=np.zeros((2,0)), y=[1.,2.]", "no end of `x`"},
        {"status=np.zeros(2,'u1'), t=[1.,1.], x=['a','b'], y=[1.,2.]", "no end of `x`"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char script[512];
        snprintf(script, sizeof script, "import sys, numpy as np\nnp.savez(sys.argv[1], %s)\n",
                 bad[i].arrays);
        expect_fine(RUN(python, "-c", script, npz));
        expect(SHOAL("run", m, "--from", npz), bad[i].said);
    }
}

// Times of three runs, or three times of each: the metadata say which.
TEST(from_as_many_samples_as_runs) {
    const char *python = check_python(NULL), *m = model(), *npz = check_path("d.npz");
    if (!python)
        check_skip("no Python with numpy");
    static const char script[] =
        "import sys, numpy as np\n"
        "np.savez(sys.argv[1], status=np.zeros(3, 'u1'), t=[1., 1.5, 2.], x=np.eye(3), y=np.eye(3),"
        " meta=np.array('{\"options\":{\"rtol\":\"1\",\"save\":\"' + sys.argv[2] + '\"}}'))\n";
    expect_fine(RUN(python, "-c", script, npz, "final"));
    expect(SHOAL("run", m, "--from", npz), "give --t0");
    expect_fine(RUN(python, "-c", script, npz, "n=3"));
    struct check_output o = SHOAL("run", m, "-q", "--from", npz, "--save", "n=2", "-o", "-");
    expect_fine(o);
    CHECK_STR(field(o.out, 1, 1), "2");
    CHECK_STR(field(o.out, 5, 2), "1"); // the last sample of the last run
}

// In C: the batch says when it begins.
TEST(from_in_c) {
    const char *m = model(), *npz = check_path("o.npz");
    shoal_log *log = shoal_log_new();
    shoal_model *model_of = NULL;
    shoal_batch *batch = NULL;
    double t0 = -1;
    expect_fine(SHOAL("run", m, "-q", BATCH, "--t1", "2", "-o", npz));
    REQUIRE(shoal_model_load(m, &model_of, log) == SHOAL_OK);
    REQUIRE(shoal_batch_new(model_of, &batch, log) == SHOAL_OK);
    CHECK_INT(shoal_batch_t0(batch, &t0, log), SHOAL_OK);
    CHECK_NEAR(t0, -1, 0);
    CHECK_INT(shoal_batch_from(batch, npz, log), SHOAL_OK);
    CHECK_INT(shoal_batch_t0(batch, &t0, log), SHOAL_OK);
    CHECK_NEAR(t0, 2, 0);
    CHECK_INT(shoal_batch_runs(batch), 8);
    shoal_batch_free(batch);
    static const char *words[] = {"from=", "t1=3", NULL};
    char from[512];
    snprintf(from, sizeof from, "from=%s", npz);
    words[0] = from;
    shoal_tally tally;
    CHECK_INT(shoal_solve(m, words, check_path("c.csv"), &tally, log), SHOAL_OK);
    CHECK_INT(tally.by_status[SHOAL_STATUS_bad_init], 4);
    CHECK_INT(tally.by_status[SHOAL_STATUS_ok], 4);
    CHECK_STR(field(check_read(check_path("c.csv")), 1, 5), "3");
    shoal_model_free(model_of);
    shoal_log_free(log);
}

// All doses are given once in two segments that meet at one of these times, in either precision.
static void given_once(const char *model, const char *given, const char *const ends[3],
                       const char *want) {
    const char *path = check_path("d.ode"), *doses = check_path("d.csv");
    const char *file = check_path("d.npz");
    static const char *const precision[] = {"f32", "f64"};
    check_write(path, model);
    check_write(doses, given);
    for (int i = 0; i < 6; i++) {
        expect_fine(SHOAL("run", path, "-q", "--precision", precision[i / 3], "--doses", doses,
                          "--t1", ends[i % 3], "--force", "-o", file));
        struct check_output o = SHOAL("run", path, "-q", "--precision", precision[i / 3], "--doses",
                                      doses, "--from", file, "-o", "-");
        expect_fine(o);
        CHECK_STR(field(o.out, 1, 3), want);
    }
}

// A dose where two segments meet is given in the second, whatever f32 makes of that time, and one
// that f64 tells apart from it in the first.
TEST(from_a_dose_where_segments_meet) {
    given_once("x'=0\ninit x=0\n@ t1=3\n",
               "TIME,AMT\n2.1,1\n0.7,10\n1.7,100\n0.699999999999979,1000\n"
               "0.6999999999999999,10000\n",
               (const char *[]){"0.7", "1.7", "2.1"}, "11111");
}

// Times that rounding puts before a border at or near 0 are there.
TEST(from_a_dose_near_zero) {
    given_once("x'=0\ninit x=0\n@ t0=-9.9, t1=2\n", "TIME,AMT,II,ADDL\n-9.9,1,0.3,39\n",
               (const char *[]){"-0.9", "0", "0.6"}, "40");
}

// What is beside a border by just more than what rounding makes one with it happens once.
TEST(from_the_last_that_is_told_apart) {
    const char *path = check_path("d.ode"), *doses = check_path("d.csv");
    const char *file = check_path("d.npz");
    static const char *const times[] = {"2.7999999999999963", "2.7999999999999967",
                                        "2.799999999999997", "2.7999999999999976", "2.8"};
    check_write(path, "x'=0\ne'=0\ninit x=0,e=0\nevent ev at 2.8 : e=e+1\n@ t1=4.2\n");
    for (int i = 0; i < 5; i++) {
        char text[64];
        snprintf(text, sizeof text, "TIME,AMT\n%s,1\n", times[i]);
        check_write(doses, text);
        expect_fine(
            SHOAL("run", path, "-q", "--doses", doses, "--t1", "2.8", "--force", "-o", file));
        struct check_output o =
            SHOAL("run", path, "-q", "--doses", doses, "--from", file, "-o", "-");
        expect_fine(o);
        CHECK_STR(field(o.out, 1, 4), "1");
        CHECK_STR(field(o.out, 1, 5), "1");
    }
}
