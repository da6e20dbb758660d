// SPDX-License-Identifier: MIT
// Doses as tables: what they mean is what events written by hand mean, bit for bit; whose they are;
// and what is refused.
#include "check.h"
#include "device_test.h"
#include "npz_file.h"

#define MODEL                                                                                      \
    "par k=0.5, ka=1, r=0\ninit gut=0, c=0\ngut'=-ka*gut\nc'=ka*gut-k*c%s\n%s@ t1=10, rtol=1e-8\n"
#define HEAD "ID,TIME,AMT,CMT,RATE,II,ADDL\n"

static const char *model(const char *name, const char *rate, const char *events) {
    char text[1024];
    snprintf(text, sizeof text, MODEL, rate, events);
    const char *path = check_path(name);
    check_write(path, text);
    return path;
}

static const char *doses(const char *text) {
    const char *path = check_path("doses.csv");
    check_write(path, text);
    return path;
}

static struct check_output run(const char *path, const char *file, const char *a, const char *b) {
    const char *words[32] = {check_shoal(), "run", path, "-q", "-o", "-"};
    int n = 6;
    if (file)
        words[n++] = "--doses", words[n++] = file;
    for (char *rest, *w = strtok_r(check_keep(strdup(a)), " ", &rest); w;
         w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    if (b)
        words[n++] = b;
    return check_command(words);
}

// Boluses and infusions that overlap, at t0 and at t1, two at once, one after another by ADDL.
static void same_as_events(const char *options) {
    static const char events[] = "event a every 2 from 0 until 4 : gut=gut+10\n"
                                 "event b at 0 : c=c+5\nevent b2 at 0 : c=c+2.5\n"
                                 "event d at 1 : r=2\nevent e at 2 : r=2+3\nevent f at 3 : r=3\n"
                                 "event g at 4 : r=0\nevent h at 10 : c=c+99\n";
    const char *file = doses(HEAD "0,0,10,1,0,2,2\n0,0,5,2,.,.,.\n0,0,2.5,c,0,0,0\n"
                                  "0,1,4,c,2,0,0\n0,2,6,2,3,0,0\n0,10,99,c,0,0,0\n");
    struct check_output want = run(model("by_hand.ode", "+r", events), NULL, options, NULL);
    struct check_output got = run(model("table.ode", "", ""), file, options, NULL);
    CHECK_INT(want.status, 0);
    CHECK_INT(got.status, 0);
    CHECK_STR(got.out, want.out);
    CHECK_HAS(got.out, "\n0,");
}

TEST(dose_explicit) { same_as_events("--method tsit5 --save n=11"); }
TEST(dose_implicit) { same_as_events("--method rodas5p"); }
TEST(dose_collocation) { same_as_events("--method radau5"); }
TEST(dose_fixed) { same_as_events("--method rk4 --dt 0.03 --save n=11"); }
TEST(dose_f32) { same_as_events("--method tsit5 --precision f32"); }
TEST(dose_steps) { same_as_events("--method tsit5 --save steps"); }
// An infusion goes into the slopes of events, and gives its amount however short it is.
TEST(dose_infusion_and_events) {
    static const char *const how[] = {"--method rk4 --dt 0.07", "--method vern7"};
    const char *text = "init x=0, n=0\nx'=-1\nn'=0\nevent e when x>0.5 : n=n+1\n@ t1=3\n";
    const char *file = doses("TIME,AMT,CMT,RATE\n0,6,x,2\n");
    const char *crossing = check_path("crossing.ode"), *still = check_path("still.ode");
    check_write(crossing, text);
    for (int i = 0; i < 2; i++)
        CHECK_HAS(run(crossing, file, how[i], NULL).out, ",1,ok\n");
    check_write(still, "init x=0\nx'=0\n@ t1=20\n");
    file = doses("TIME,AMT,CMT,RATE\n10,100,x,1e15\n10,50,x,1e17\n11,25,x,1e30\n");
    const char *line = strstr(run(still, file, "--method tsit5", NULL).out, "\n0,20,");
    CHECK_NEAR(line ? strtod(line + 6, NULL) : 0, 175, 1e-12);
}

// A dose is what an event behind all others would be: it turns conditions, at its own time, t0 too;
// what ends a trajectory there comes first.
#define TURNED                                                                                     \
    "event any when c>0 : c=c+0.5\nevent high when gut>5 : c=c+gut, gut=gut/2\n"                   \
    "event low when gut<1 : c=c+1\nevent over at 7 : stop\n"

TEST(dose_turns_events) {
    const char *by_hand =
                   model("by_hand.ode", "",
                         TURNED "event first at 0 : c=c+3\nevent give at 2,3,7 : gut=gut+10\n"
                                "event drop at 5 : gut=gut-8\n"),
               *table = model("table.ode", "", TURNED), *csv = check_path("o.csv"),
               *file = doses("TIME,AMT,CMT\n0,3,c\n2,10,1\n3,10,1\n7,10,1\n5,-8,gut\n"),
               *options = "--method tsit5 --save at=0,3,6,7 --record high,3 -o";
    struct check_output want = run(by_hand, NULL, options, "-"),
                        got = run(table, file, options, "-");
    CHECK_INT(want.status, 0);
    CHECK_STR(got.out, want.out);
    CHECK_HAS(got.out, "\n0,0,0,3.5\n");
    CHECK_INT(run(table, file, options, csv).status, 0);
    CHECK_HAS(check_read(check_path("o.high.csv")), "\n0,0,2,10,");
}

TEST(device_dose_opencl) {
    struct check_output o = RUN(check_shoal(), "devices");
    if (!strstr(o.out, "opencl"))
        check_skip("no OpenCL device here");
    same_as_events("--method tsit5 --device opencl");
}

TEST(dose_by_id) {
    const char *file = doses(HEAD "anna,0,1,2,0,0,0\nbert,0,2,2,0,0,0\n7,0,4,2,0,0,0\n");
    const char *batch = check_path("batch.csv");
    check_write(batch, "_ID,k\nbert,0\n7.0,0\nnone,0\nanna,0\nbert,0\n");
    struct check_output o = run(model("m.ode", "", ""), file, "--vars c --batch", batch);
    CHECK_INT(o.status, 0);
    static const double want[] = {2, 4, 0, 1, 2};
    for (int i = 0; i < 5; i++) {
        char run_[16];
        snprintf(run_, sizeof run_, "\n%d,", i);
        CHECK_MSG(strstr(o.out, run_), "%s", o.out);
        char line[64] = "";
        sscanf(strstr(o.out, run_) + 1, "%63[^\n]", line);
        char ending[32];
        snprintf(ending, sizeof ending, ",%g,ok", want[i]);
        CHECK_MSG(strstr(line, ending), "%s: not %s", line, ending);
    }
    // A batch may hold nothing but who the rows are, if the doses ask for that.
    const char *who = check_path("who.csv");
    check_write(who, "_ID\nbert\n7\nanna\n");
    o = run(model("m.ode", "", ""), file, "--set k=0,ka=0 --vars c --batch", who);
    CHECK_HAS(o.out, "\n0,bert,10,2,ok\n1,7,10,4,ok\n2,anna,10,1,ok\n");
    o = run(model("m.ode", "", ""), doses("TIME,AMT,CMT\n0,3,c\n"), "--batch", who);
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "who.csv has no column named after a parameter");
    // By the number of the run, in shards and chunks too; without IDs for all.
    file = doses(HEAD "1,0,1,2,0,0,0\n2,0,2,2,0,0,0\n");
    const char *m = model("m.ode", "", "");
    o = run(m, file, "--vars c --set ka=0 --sweep k=0,0,0,0 --chunk 1 --only-runs", "1:3");
    CHECK_HAS(o.out, "\n1,0,10,1,ok\n2,0,10,2,ok\n");
    file = doses("TIME,AMT,CMT\n0,3,c\n");
    o = run(m, file, "--vars c --sweep", "k=0,0");
    CHECK_HAS(o.out, "\n0,0,10,3,ok\n1,0,10,3,ok\n");
}

// Columns go by their exact names first, those that are not needed may hold anything, and an ID is
// what is written, where a number would be that of others, too.
TEST(dose_names_as_they_are) {
    const char *m = model("m.ode", "", ""), *batch = check_path("long.csv");
    const char *how = "--vars c --set k=0,ka=0 --batch";
    struct check_output o =
        run(m, doses("TIME,time,AMT,amt,DV,CMT\n0,99,3,7,.,c\n1,99,.,7,12:30,c\n"),
            "--vars c --sweep", "k=0");
    CHECK_HAS(o.out, "\n0,0,10,3,ok\n");
    check_write(batch, "_ID,_id\n20231105000000001,1\n20231105000000002,1\n");
    o = run(m, doses("ID,id,TIME,AMT,CMT\n20231105000000001,9,0,1,c\n20231105000000002,9,0,20,c\n"),
            how, batch);
    CHECK_HAS(o.out, ",1,10,1,ok\n");
    CHECK_HAS(o.out, ",1,10,20,ok\n");
    check_write(batch, "_ID\n001\n1\nx\n");
    o = run(m, doses("ID,TIME,AMT,CMT\n1,0,1,c\n"), how, batch);
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "column `_ID`: the IDs `001` and `1` are one number");
}

TEST(dose_of_runs_without_an_id) {
    const char *batch = check_path("gaps.npz");
    const double id[] = {1, NAN, 3}, zero[3] = {0};
    const struct npz_array arrays[] = {{"_ID", id, 1, {3}}, {"k", zero, 1, {3}}};
    npz_file_write(batch, arrays, 2, NULL);
    struct check_output o =
        run(model("m.ode", "", ""), doses("ID,TIME,AMT,CMT\n1,0,1,c\n3,0,4,c\n"),
            "--vars c --set ka=0 --batch", batch);
    CHECK_HAS(o.out, "\n0,0,1,10,1,ok\n1,0,nan,10,0,ok\n2,0,3,10,4,ok\n");
}

TEST(dose_files_given_twice) {
    struct check_output o =
        run(model("m.ode", "", ""), doses("TIME,AMT\n0,1\n"), "--doses", check_path("other.csv"));
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "error: --doses is given twice");
}

// Runs of a part have other numbers than those that they go on with.
TEST(dose_of_a_part_that_goes_on) {
    const char *m = model("m.ode", "", ""), *file = check_path("part.csv");
    const char *d = doses("ID,TIME,AMT,CMT\n0,1,1,c\n1,1,10,c\n0,7,1,c\n1,7,10,c\n");
    struct check_output o =
        run(m, d, "--t1 5 --force --sweep k=0,0,0,0 --set ka=0 --only-runs 1,3 -o", file);
    CHECK_INT(o.status, 0);
    o = run(m, d, "--set ka=0 --from", file);
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "ID is the number of a run, but the runs that --from goes on with had other");
    o = run(m, d, "--t1 5 --force --sweep k=0,0 --set ka=0 -o", file);
    CHECK_INT(o.status, 0);
    o = run(m, d, "--set ka=0 --vars c --from", file);
    CHECK_HAS(o.out, ",2,ok\n");
    CHECK_HAS(o.out, ",20,ok\n");
    o = run(m, d, "--sweep ka=0,0 --vars c --from", file);
    CHECK_INT(o.status, 1);
}

// Rows that another method takes over keep their doses.
TEST(dose_takeover) {
    const char *path = check_path("stiff.ode");
    check_write(path, "par k=1\ninit x=0, y=0\nx'=-1e6*(x-y)\ny'=-k*y\n@ t1=20, method=auto\n");
    const char *file = doses(HEAD "0,0,1,y,0,0,0\n1,0,2,y,0,0,0\n2,0,4,y,0,0,0\n");
    struct check_output o = run(path, file, "--sweep k=0,0,0 --vars", "y");
    CHECK_HAS(o.out, "\n0,0,20,1,ok\n1,0,20,2,ok\n2,0,20,4,ok\n");
}

TEST(dose_refused) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"TIME,AMT,SS\n0,1,1\n", "dose 1: SS (steady state) is not supported"},
        {"TIME,AMT,RATE\n0,1,-2\n", "dose 1: RATE below 0"},
        {"TIME,AMT,EVID\n0,1,1\n0,1,2\n", "dose 2: EVID 2, 3 and 4 are not supported"},
        {"TIME,AMT,EVID\n0,1,3\n", "EVID 2, 3 and 4 are not supported"},
        {"TIME,AMT\n-1,1\n", "a dose at -1, before t0"},
        {"TIME,AMT,CMT\n0,1,3\n", "CMT is the name of a state or a number from 1 to 2"},
        {"TIME,AMT,CMT\n0,1,1.5\n", "CMT is the name of a state or a number"},
        {"TIME,AMT,CMT\n0,1,gat\n", "CMT: the model has no state `gat`; did you mean `gut`?"},
        {"TIME,AMT,ADDL\n0,1,2\n", "ADDL needs an II above 0"},
        {"TIME,AMT,ADDL,II\n0,1,1.5,1\n", "ADDL is a number of doses"},
        {"TIME,AMT,RATE\n0,0,1\n", "an infusion needs an AMT above 0"},
        {"TIME,AMT\n0,one\n", "AMT: 'one' is not a number"},
        {"TIME,AMT\n0,\"1,5\"\n", "AMT: '1,5' is not a number; write decimals with a point"},
        {"TIME,AMT\n.,100\n", "dose 1: TIME is missing"},
        {"TIME,AMT\n0.5,1\n,4\n", "dose 2: TIME is missing"},
        {"TIME,AMT,EVID\n0,100,\n", "dose 1: EVID is missing"},
        {"TIME,AMT,EVID\n0,.,1\n", "dose 1: AMT is missing"},
        {"ID,TIME,AMT\n0,0,1\n,0,1\n", "dose 2: ID is missing"},
        {"Time,time,AMT\n0,2,1\n", "columns `Time` and `time` could both be TIME"},
        {"ID,TIME,AMT\n0,0,1\n00,0,1\n", "the IDs `0` and `00` are one number"},
        {"ID,TIME,AMT\n5,0,1\n", "ID 5 is the number of no run"},
        {"ID,TIME,AMT\nx,0,1\n", "ID x is the number of no run"},
        {"TIME\n0\n", "there is no column AMT"},
    };
    const char *path = model("m.ode", "", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check_output o = run(path, doses(cases[i].text), "--method", "tsit5");
        CHECK_INT(o.status, 1);
        CHECK_HAS(o.err, cases[i].says);
    }
    struct check_output o = run(path, doses("TIME,AMT\n0,1\n"), "--t1", "-1");
    CHECK_HAS(o.err, "there are no doses in a run backwards in time");
    o = run(path, check_path("none.csv"), "--method", "tsit5");
    CHECK(o.status != 0);
}

// A replay takes the same doses or none.
TEST(dose_replay) {
    const char *path = model("m.ode", "", ""), *file = doses("TIME,AMT,CMT\n0,3,c\n");
    const char *result = check_path("r.npz");
    CHECK_INT(RUN(check_shoal(), "run", path, "-q", "--doses", file, "-o", result).status, 0);
    CHECK_INT(RUN(check_shoal(), "run", "-q", "--job", result, "-o", "-").status, 0);
    check_write(file, "TIME,AMT,CMT\n0,4,c\n");
    struct check_output o = RUN(check_shoal(), "run", "-q", "--job", result, "-o", "-");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "not the ones that");
}

// `shoal info` says what a file holds, or what is wrong with it.
TEST(dose_info) {
    const char *model = check_path("m.ode"), *doses = check_path("d.csv");
    check_write(model, "dep'=-dep\ncen'=dep-0.1*cen\n@ t1=48\n");
    check_write(doses, "ID,TIME,AMT,CMT,RATE,II,ADDL\na,0.5,100,1,0,12,3\nb,6,50,cen,25,0,0\n");
    struct check_output o = RUN(check_shoal(), "info", model, "--doses", doses);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "doses: 5\n  4 at once, 1 infusions, from t = 0.5 to 36.5, of 2 IDs\n");
    o = RUN(check_shoal(), "info", model, "--doses", doses, "--json");
    CHECK_HAS(o.out, "\"doses\": {\"at_once\": 4, \"infusions\": 1, \"ids\": 2, \"t_first\": 0.5, "
                     "\"t_last\": 36.5}");
    shoal_model *m = NULL;
    shoal_dose_info d;
    REQUIRE(shoal_model_load(model, &m, NULL) == SHOAL_OK);
    CHECK_INT(shoal_model_doses(m, doses, 0, &d, NULL), SHOAL_OK);
    CHECK(d.ids == 2 && d.at_once == 4 && d.infusions == 1 && d.t_first == 0.5 && d.t_last == 36.5);
    CHECK_INT(shoal_model_doses(m, check_path("none.csv"), 0, &d, NULL), SHOAL_IO);
    shoal_model_free(m);
    check_write(doses, "TIME,AMT\n2,1\n");
    o = RUN(check_shoal(), "info", model, "--doses", doses);
    CHECK_HAS(o.out, "1 at once, 0 infusions, from t = 2 to 2, the same for all runs\n");
    check_write(doses, "TIME,AMT\n");
    o = RUN(check_shoal(), "info", model, "--doses", doses);
    CHECK(o.status == 1);
    check_write(doses, "TIME,AMT,CMT\n2,1,liver\n");
    o = RUN(check_shoal(), "info", model, "--doses", doses);
    CHECK(o.status == 1);
    CHECK_HAS(o.err, "the model has no state `liver`");
}

// A sample, `at` and the edge of a window that are meant to be at a dose come before it: 3*0.3 is
// less than 0.9.
TEST(dose_looks_that_are_there) {
    const char *path = check_path("still.ode"), *file = doses(HEAD "0,0,1,1,0,0.3,20\n");
    check_write(path, "init x=0\nx'=0\n@ t1=3\n");
    struct check_output o = run(path, file, "--save at=0.9,1.8,2.7", NULL);
    CHECK_STR(o.out, "run,t,x\n0,0.9,3\n0,1.8,6\n0,2.7,9\n");
    o = run(path, file, "--summary a=at(x,0.9),b=at(x,1.8),c=at(x,0.91)", NULL);
    CHECK_STR(o.out, "run,a,b,c,status\n0,3,6,4,ok\n");
    o = run(path, file, "--window 0.9 --summary", "a=last(x)");
    CHECK_STR(o.out, "run,window,t_begin,t_end,a\n0,0,0,0.9,3\n0,1,0.9,1.8,6\n"
                     "0,2,1.8,2.7,9\n0,3,2.7,3,10\n");
    check_write(path, "init x=0\nx'=0\nevent e every 0.3 : x=x+1\n@ t1=3\n");
    o = run(path, NULL, "--window 0.9 --summary", "n=count(e)");
    CHECK_STR(o.out, "run,window,t_begin,t_end,n\n0,0,0,0.9,3\n0,1,0.9,1.8,3\n"
                     "0,2,1.8,2.7,3\n0,3,2.7,3,1\n");
}

// A dose that rounding puts behind t1 is at t1, and the run ends there.
TEST(dose_right_behind_the_end) {
    static const char *const how[] = {"--method tsit5", "--method rodas5p",
                                      "--method tsit5 --save n=4", "--method rk4 --dt 0.05"};
    const char *path = check_path("decay.ode");
    check_write(path, "init x=1\nx'=0*x\n@ t1=0.3\n");
    const char *given = doses("TIME,AMT,II,ADDL\n0,1,0.1,3\n");
    for (int i = 0; i < 4; i++) {
        CHECK_HAS(run(path, given, how[i], NULL).out, "0.3,4");
        CHECK_INT(run(path, given, how[i], "--t1=0.6").status, 0);
        CHECK_INT(run(path, given, how[i], "--t1=0.7").status, 0);
    }
    const char *infused = doses("TIME,AMT,RATE\n0.1,0.2,1\n"); // until 0.1 + 0.2
    for (int i = 0; i < 4; i++) {
        const char *line = strstr(run(path, infused, how[i], NULL).out, "0.3,1.");
        CHECK_NEAR(line ? strtod(line + 4, NULL) : 0, 1.2, 1e-12);
    }
}

// An infusion that is shorter than what times tell apart is given at once.
TEST(dose_in_no_time) {
    static const char *const lines[] = {"100,1,3e13", "100,1,5e12", "100,1,1e300", "0,1,1e300",
                                        "0,1,1e20"};
    const char *path = check_path("still.ode");
    check_write(path, "init x=0\nx'=0\n@ t1=200\n");
    for (int i = 0; i < 10; i++) {
        char text[64];
        snprintf(text, sizeof text, "TIME,AMT,RATE\n%s\n", lines[i / 2]);
        struct check_output o =
            run(path, doses(text), i % 2 ? "--precision f32" : "--method tsit5", NULL);
        const char *line = strstr(o.out, "\n0,200,");
        CHECK_NEAR(line ? strtod(line + 7, NULL) : 0, 1, i % 2 ? 1e-6 : 1e-12);
    }
}

// What f32 knows of an event's time does not move doses or switches; and is at a look at t0.
TEST(dose_beside_times_of_f32) {
    const char *path = check_path("far.ode"), *early = check_path("early.ode");
    check_write(path, "par T=100009.9375\ninit x=0,n=0,m=0\nx'=0\nn'=0\n"
                      "m'=if(mod(t-100000,1)<0.25)then(1)else(0)\nevent e at T : n=n+1\n");
    const char *file = doses("TIME,AMT\n100001,1\n100009.95,1\n100009.97,1\n");
    CHECK_HAS(run(path, file, "--precision f32 --t0 1e5 --t1 100010 --vars x,n,m", NULL).out,
              ",3,1,2.5,ok");
    check_write(early, "par A=0.1\nx'=0\ninit x=0\nevent e at A : x=x+1\n");
    CHECK_HAS(run(early, NULL, "--precision f32 --t0 0.1 --t1 0.5 --save n=2", NULL).out,
              "0.1,1\n");
}
