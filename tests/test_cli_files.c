// SPDX-License-Identifier: MIT
// Files around a run: standard input, what an output may replace, disks that fill up.
#include "check.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char model_text[] = "par a=1, b=2\nx'=-a*x+b\ninit x=1\n@ t1=1\n";

static const char *model(void) {
    const char *path = check_path("m.ode");
    check_write(path, model_text);
    return path;
}

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static void expect(struct check_output o, int status, const char *said) {
    CHECK_MSG(o.status == status, "exit %d, not %d\n%s", o.status, status, o.err);
    CHECK_HAS(o.err, said);
}

// `shoal ARGS < $1`
static struct check_output with_input(const char *input, const char *args) {
    char script[512];
    snprintf(script, sizeof script, "exec \"$0\" %s < \"$1\"", args);
    chdir(check_dir());
    return RUN("sh", "-c", script, check_shoal(), input);
}

static const char *absolute_shoal(void) {
    char *path = check_keep(realpath(check_shoal(), NULL));
    REQUIRE(path != NULL);
    setenv("SHOAL_BIN", path, 1);
    return path;
}

// ---- Standard input -----------------------------------------------------------------------------

TEST(cli_model_from_standard_input) {
    absolute_shoal();
    const char *m = model();
    struct check_output file = SHOAL("run", m, "-q", "--sweep", "a=1,2", "-o", "-");
    struct check_output o = with_input(m, "run - -q --sweep a=1,2 -o -");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, file.out);
    CHECK_HAS(with_input(m, "info -").out, "states: 1");
    check_write(check_path("bad.ode"), "x'=-a*x\n@ t1=1\n");
    expect(with_input(check_path("bad.ode"), "run -"), 1, "<stdin>:1:5: error: ");
    o = with_input(m, "run - -q --sweep a=1,2 -o o.npz"); // the result has the model's text
    CHECK_INT(o.status, 0);
    o = with_input("/dev/null", "run --job o.npz -q -o -");
    CHECK_STR(o.out, file.out);
    expect(with_input("/dev/null", "run - -q"), 1, "<stdin>");
}

TEST(cli_batch_from_standard_input) {
    absolute_shoal();
    const char *m = model(), *csv = check_path("b.csv");
    check_write(csv, "a,b,_id\n1,2,p\n3,4,q\n");
    struct check_output file = SHOAL("run", m, "-q", "--batch", csv, "-o", "-");
    struct check_output o = with_input(csv, "run m.ode -q --batch - -o -");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, file.out);
    check_write(csv, "a,c\n1,2\n");
    expect(with_input(csv, "run m.ode --batch -"), 1, "<stdin>:1:3: error: ");
    check_write(csv, "a\nx\n");
    expect(with_input(csv, "run m.ode --batch -"), 1, "<stdin>:2:1: error: 'x' for a is not");
    expect(with_input("/dev/null", "run m.ode --batch -"), 1, "<stdin>");
    expect(with_input(m, "run - --batch -"), 2,
           "standard input cannot be both the model and the batch");
    check_write(csv, "\x89HDF\r\n");
    expect(with_input(csv, "run m.ode --batch -"), 1, "<stdin>: HDF5 is not read from there");
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python with numpy");
    o = RUN(python, "-c",
            "import sys, numpy as np\n"
            "np.savez(sys.argv[1], a=[1., 3.], b=[2., 4.], _id=['p', 'q'])\n",
            check_path("b.npz"));
    CHECK_INT(o.status, 0);
    o = with_input("b.npz", "run m.ode -q --batch - -o -");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_STR(o.out, file.out);
    check_write(csv, "PK\003\004 but no archive");
    expect(with_input(csv, "run m.ode --batch -"), 1, "<stdin>: is no zip archive");
}

// ---- What is there already ----------------------------------------------------------------------

TEST(cli_other_files_are_not_replaced) {
    static const char *const outs[] = {"o.csv", "o.npz", "o.h5"};
    const char *m = model();
    const char *data = "time,value\n1,2\n";
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        const char *out = check_path(outs[i]);
        check_write(out, data);
        struct check_output o = SHOAL("run", m, "-o", out);
        expect(o, 4, "is there already and no result of Shoal's; --force replaces it");
        CHECK(!strstr(o.err, "trajector")); // nothing was run
        expect(SHOAL("run", m, "--dry-run", "-o", out), 4, "--force");
        CHECK_STR(check_read(out), data);
        o = SHOAL("run", m, "-q", "--force", "-o", out);
        if (strstr(o.err, "library not found"))
            continue; // no HDF5 here
        CHECK_MSG(o.status == 0, "%s", o.err);
        CHECK(strcmp(check_read(out), data));
        expect(SHOAL("run", m, "-o", out), 0, "wrote"); // a result makes way for another,
        expect(SHOAL("run", m, "--save", "n=3", "-o", out), 0, "wrote"); // of any shape
        expect(SHOAL("run", m, "--save", "steps", "-o", out), 0, "wrote");
        expect(SHOAL("run", m, "--sweep", "a=1,2", "-o", out), 0, "wrote");
        check_write(out, ""); // there is nothing to lose
        expect(SHOAL("run", m, "-o", out), 0, "wrote");
    }
}

TEST(cli_table_of_runs_is_not_replaced_either) {
    const char *m = model(), *out = check_path("o.csv"), *runs = check_path("o.runs.csv");
    check_write(runs, "run,speed\n1,2\n");
    expect(SHOAL("run", m, "--save", "n=3", "-o", out), 4, "o.runs.csv: is there already");
    CHECK(!check_read(out));
    expect(SHOAL("run", m, "-o", out), 0, "wrote"); // has no such table
    CHECK_STR(check_read(runs), "run,speed\n1,2\n");
    expect(SHOAL("run", m, "--save", "n=3", "--force", "-o", out), 0, "wrote");
    expect(SHOAL("run", m, "--save", "n=3", "-o", out), 0, "wrote");
}

// A batch is no result, although it names its runs.
TEST(cli_batch_is_not_replaced) {
    const char *m = model(), *csv = check_path("b.csv");
    check_write(csv, "run,a\n0,1\n1,2\n");
    expect(SHOAL("run", m, "--batch", csv, "-o", csv), 4, "--force");
    CHECK_STR(check_read(csv), "run,a\n0,1\n1,2\n");
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python with numpy");
    const char *npz = check_path("b.npz");
    CHECK_INT(RUN(python, "-c",
                  "import sys, numpy as np\n"
                  "np.savez(sys.argv[1], a=[1., 3.], meta='{\"other\": \"program\"}')\n",
                  npz)
                  .status,
              0);
    expect(SHOAL("run", m, "--batch", npz, "-o", npz), 4, "--force");
}

// ---- A disk that fills up -----------------------------------------------------------------------

// On a small disk of its own: what does not fit is told, with exit code 4, and nothing is left that
// could be taken for a result; what was there before still is.
static void check_small_disk(const char *disk, const char *name, const char *save,
                             const char *older) {
    char out[256], part[300];
    snprintf(out, sizeof out, "%s/%s", disk, name);
    snprintf(part, sizeof part, "%s.part", out);
    if (older) {
        struct check_output o = SHOAL("run", model(), "-q", "-o", out);
        REQUIRE(o.status == 0);
        older = check_read(out);
    }
    // The shapes whose size is known are refused at once; steps and CSV are not.
    struct check_output o = SHOAL("run", model(), "--sweep", "a=lin:1:2:2e4", "--save", save,
                                  "--chunk", "500", "-o", out);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, name);
    CHECK_MSG(strstr(o.err, "No space left on device") || strstr(o.err, "are free there"),
              "%s %s: %s", name, save, o.err);
    CHECK(!strstr(o.err, "wrote "));
    if (access(part, F_OK) == 0) { // some runs were finished: another run can go on
        char journal[320];
        snprintf(journal, sizeof journal, "%s.journal", part);
        CHECK_HAS(check_read(journal), "\nrange ");
    }
    if (older)
        CHECK(check_read(out) && !strcmp(check_read(out), older));
    else
        CHECK(access(out, F_OK) != 0);
    RUN("sh", "-c", "rm -f \"$0\"/*", disk);
}

TEST(cli_full_disk) {
    const char *disk = check_path("disk");
    REQUIRE(mkdir(disk, 0755) == 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=512k") < 0)
        check_skip("no right to make a small disk");
    static const char *const names[] = {"o.csv", "o.npz", "o.h5"};
    static const char *const saves[] = {"final", "n=20", "steps"};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            check_small_disk(disk, names[i], saves[k], NULL);
            check_small_disk(disk, names[i], saves[k], "older");
        }
    umount(disk);
}

// A log does not replace a file of the user's, and equal computations give equal bytes.
TEST(cli_files_logs_replace_logs_only) {
    const char *m = check_path("m.ode"), *log = check_path("t.json"), *out = check_path("o.csv");
    check_write(m, "x'=-x\n@ t1=1\n");
    struct check_output o = RUN(check_shoal(), "run", m, "--timing-json", m, "-o", out);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "no time log");
    CHECK_STR(check_read(m), "x'=-x\n@ t1=1\n");
    for (int i = 0; i < 2; i++) // a log of ours
        CHECK_INT(RUN(check_shoal(), "run", m, "--timing-json", log, "-o", out).status, 0);
    CHECK_INT(RUN(check_shoal(), "run", m, "--trace", out, "-q").status, 4);
    const char *trace = check_path("trace.json"), *list = check_path("list.json");
    for (int i = 0; i < 2; i++)
        CHECK_INT(RUN(check_shoal(), "run", m, "--trace", trace, "-o", out).status, 0);
    check_write(list, "[1, 2, 3]\n"); // JSON, but nobody's trace
    CHECK_INT(RUN(check_shoal(), "run", m, "--trace", list, "-q").status, 4);
    CHECK_STR(check_read(list), "[1, 2, 3]\n");
}

TEST(cli_files_do_not_name_the_device) {
    const char *m = check_path("m.ode"), *a = check_path("a.npz"), *b = check_path("b.npz");
    check_write(m, "x'=-x\n@ t1=1\n");
    CHECK_INT(RUN(check_shoal(), "run", m, "-o", a, "--device", "cpu").status, 0);
    CHECK_INT(RUN(check_shoal(), "run", m, "-o", b, "--threads", "1", "--chunk", "1").status, 0);
    CHECK_INT(RUN("cmp", a, b).status, 0);
}
