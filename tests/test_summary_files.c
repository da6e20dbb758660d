// SPDX-License-Identifier: MIT
// Summaries in files: their tables, columns, shapes and names, and what the page about them lists.
#include "check.h"
#include "ode/codegen/summary.h"

static const char model[] = "par a=1\nx'=a\ny'=-a\ninit x=0,y=1\n@ t1=4\n";

static struct check_output run(const char *out, const char *summary, const char *more,
                               const char *value) {
    const char *path = check_path("m.ode");
    check_write(path, model);
    return RUN(check_shoal(), "run", path, "--sweep", "a=1,2", "--method", "midpoint", "--dt",
               "0.5", "--summary", summary, more, value, "-o", out, "--timing", "none");
}

static void expect(const struct check_output *o) { CHECK_MSG(o->status == 0, "%s", o->err); }

TEST(summary_csv_columns) {
    const char *out = check_path("o.csv");
    struct check_output o = run(out, "max(x), b = min(y)*a", "--window", "4");
    expect(&o);
    CHECK_STR(check_read(out), "run,window,t_begin,t_end,max(x),b\n0,0,0,4,4,-3\n1,0,0,4,8,-14\n");
    CHECK_STR(check_read(check_path("o.runs.csv")),
              "run,a,status,steps,rejected,f_evals\n0,1,ok,8,0,24\n1,2,ok,8,0,24\n");
    o = run(check_path("p.csv"), "max(x),p=peaks(x,2),h=histogram(y,-1,0,1)", "--chunk", "1");
    expect(&o);
    CHECK_STR(check_read(check_path("p.csv")),
              "run,a,max(x),p.1,p.2,p.t1,p.t2,h.below,h.1,h.above,status\n"
              "0,1,4,nan,nan,nan,nan,2,1,1,ok\n1,2,8,nan,nan,nan,nan,3,0.5,0.5,ok\n");
    o = run(check_path("q.csv"), "max(x)", "--vars", "y");
    expect(&o);
    CHECK_STR(check_read(check_path("q.csv")),
              "run,a,t,y,max(x),status\n0,1,4,-3,4,ok\n1,2,4,-7,8,ok\n");
    o = run(check_path("r.csv"), "max(x)", "--save", "final");
    expect(&o);
    CHECK_HAS(check_read(check_path("r.csv")), "run,a,t,x,y,max(x),status\n");
}

TEST(summary_csv_with_a_series) {
    struct check_output o = run(check_path("o.csv"), "m=first(y)", "--save", "n=2");
    expect(&o);
    CHECK_STR(check_read(check_path("o.csv")), "run,t,x,y\n0,0,0,1\n0,4,4,-3\n1,0,0,1\n1,4,8,-7\n");
    CHECK_HAS(check_read(check_path("o.runs.csv")),
              "run,a,m,status,steps,rejected,f_evals\n0,1,1,ok,8,");
    const char *path = check_path("m.ode");
    o = RUN(check_shoal(), "run", path, "--method", "midpoint", "--dt", "0.5", "--summary",
            "last(x)", "--window", "2", "--vars", "y", "-o", check_path("w.csv"), "--timing",
            "none");
    expect(&o);
    CHECK_STR(check_read(check_path("w.csv")), "run,t,y,status\n0,4,-3,ok\n");
    CHECK_STR(check_read(check_path("w.windows.csv")),
              "run,window,t_begin,t_end,last(x)\n0,0,0,2,2\n0,1,2,4,4\n");
}

// The main table, and a note about the others.
TEST(summary_on_standard_output) {
    struct check_output o = run("-", "max(x)", "--window", "4");
    expect(&o);
    CHECK_STR(o.out, "run,window,t_begin,t_end,max(x)\n0,0,0,4,4\n1,0,0,4,8\n");
    CHECK_HAS(o.err, "left out: runs");
}

// A table beside the file is not written over what is no result.
TEST(summary_guards_other_files) {
    check_write(check_path("o.windows.csv"), "mine\n");
    const char *path = check_path("m.ode");
    check_write(path, model);
    struct check_output o = RUN(check_shoal(), "run", path, "--summary", "max(x)", "--window", "2",
                                "--vars", "x", "-o", check_path("o.csv"));
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "o.windows.csv: is there already");
    CHECK_STR(check_read(check_path("o.windows.csv")), "mine\n");
}

static bool has_shape(const char *path, const char *name, const char *shape) {
    size_t length = 0;
    FILE *f = fopen(path, "rb");
    static char bytes[1 << 20];
    length = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    const char *at = memmem(bytes, length, name, strlen(name));
    return at && memmem(at, 400, shape, strlen(shape));
}

TEST(summary_npz_shapes) {
    const char *out = check_path("o.npz");
    struct check_output o = run(out, "max(x),p=peaks(x,5),h=histogram(x,0,1,2)", "--window", "1.5");
    expect(&o);
    CHECK(has_shape(out, "max(x).npy", "'shape': (2, 3)"));
    CHECK(has_shape(out, "p.npy", "'shape': (2, 3, 5)"));
    CHECK(has_shape(out, "p.t.npy", "'shape': (2, 3, 5)"));
    CHECK(has_shape(out, "h.npy", "'shape': (2, 3, 4)"));
    CHECK(has_shape(out, "window_t.npy", "'shape': (4,)"));
    o = run(out, "max(x),p=peaks(x,5)", "--chunk", "1");
    expect(&o);
    CHECK(has_shape(out, "max(x).npy", "'shape': (2,)"));
    CHECK(has_shape(out, "p.npy", "'shape': (2, 5)"));
    CHECK(!has_shape(out, "window_t.npy", "shape"));
}

// A result says how it was made, summaries included.
TEST(summary_is_replayed) {
    const char *out = check_path("o.npz"), *again = check_path("a.csv");
    struct check_output o = run(out, "max(x),m=last(y)", "--window", "2");
    expect(&o);
    o = RUN(check_shoal(), "run", "--job", out, "-o", again, "--timing", "none");
    expect(&o);
    CHECK_STR(check_read(again), "run,window,t_begin,t_end,max(x),m\n0,0,0,2,2,-1\n0,1,2,4,4,-3\n"
                                 "1,0,0,2,4,-3\n1,1,2,4,8,-7\n");
}

TEST(summary_in_the_model) {
    const char *path = check_path("m.ode");
    check_write(path, "x'=1\n@ t1=4, method=midpoint, dt=0.5, summary=max(x), window=2\n");
    struct check_output o = RUN(check_shoal(), "run", path, "-o", "-", "-q");
    expect(&o);
    CHECK_STR(o.out, "run,window,t_begin,t_end,max(x)\n0,0,0,2,2\n0,1,2,4,4\n");
}

TEST(summary_page_lists_all) {
    char *text = check_read("docs/summaries.md"), name[40];
    for (uint32_t i = 0; i < summary_kind_count; i++) {
        snprintf(name, sizeof name, "`%s(%s", summary_kinds[i].name,
                 summary_kinds[i].form == SUMMARY_EVENTS ? "NAME" : "e");
        CHECK_HAS(text, name);
    }
    free(text);
}

// A kernel with summaries says what they cost to compile, and its results are called by them.
TEST(summary_in_the_time_log) {
    const char *path = check_path("n.ode");
    check_write(path, "x'=-0.8171*x\ninit x=1\n@ t1=1\n"); // no other test's kernel
    struct check_output o = RUN(check_shoal(), "run", path, "--summary", "max(x),mean(x)",
                                "--timing", "verbose", "-o", check_path("o.csv"));
    expect(&o);
    CHECK_HAS(o.err, "compile_update_summaries");
    CHECK_HAS(o.err, "compile_save_summaries");
    CHECK_HAS(o.err, "d2h_transfer_summaries");
    CHECK(!strstr(o.err, "d2h_transfer_state"));
}

// Times are single numbers in f32: where these tell little, a note says so.
TEST(summary_notes_coarse_times) {
    const char *path = check_path("m.ode");
    check_write(path, "x'=1\nevent half when x>0.5 : x=x\n");
    static const char *const words[][2] = {{"--summary", "d=tmin(x)-tmax(x)"},
                                           {"--record", "half,1"}};
    for (int i = 0; i < 2; i++)
        for (int f32 = 0; f32 < 2; f32++) {
            struct check_output o = RUN(check_shoal(), "run", path, "--t0", "1.7e9", "--t1",
                                        "1700000001", "--precision", f32 ? "f32" : "f64",
                                        words[i][0], words[i][1], "-o", check_path("o.csv"));
            expect(&o);
            const char *note = "note: in f32 times in summaries and records are known to 2e+02";
            CHECK_INT(strstr(o.err, note) != NULL, f32);
        }
    struct check_output o = RUN(check_shoal(), "run", path, "--t1", "1", "--precision", "f32",
                                "--summary", "tmax(x)", "-o", check_path("o.csv"));
    expect(&o);
    CHECK(!strstr(o.err, "in f32"));
    check_write(path, "x'=cos(t)\n");
    for (int f32 = 0; f32 < 2; f32++) {
        o = RUN(check_shoal(), "run", path, "--t0", "1e5", "--t1", "100010", "--precision",
                f32 ? "f32" : "f64", "-o", check_path("o.csv"));
        expect(&o);
        const char *note = "note: in f32 t in right-hand sides is known to 0.012 only where t is";
        CHECK_INT(strstr(o.err, note) != NULL, f32);
    }
}
