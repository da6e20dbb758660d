// SPDX-License-Identifier: MIT
// The command line program: usage, exit codes, what goes to stdout and what to stderr.
#include "check.h"

#include <unistd.h>

static const char lorenz[] = "par rho=28\nconst sigma=10, beta=8/3\ninit x=1, y=0, z=0\n"
                             "x'=sigma*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-beta*z\n"
                             "aux r=sqrt(x^2+y^2+z^2)\nset low {rho=10.5, t1=2}\n@ t1=1\n";

static const char *model(const char *text) {
    const char *path = check_path("m.ode");
    check_write(path, text);
    return path;
}

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static void expect(struct check_output o, int status, const char *err) {
    CHECK_INT(o.status, status);
    CHECK_HAS(o.err, err);
}

TEST(cli_help) {
    struct check_output o = RUN(check_shoal());
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "shoal run MODEL");
    CHECK_STR(o.err, "");
    o = SHOAL("help", "run");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "--sweep NAME=SPEC");
    CHECK_HAS(o.out, "-o, --output FILE");
    struct check_output again = SHOAL("run", "--help");
    CHECK_INT(again.status, 0);
    CHECK_STR(again.out, o.out);
    o = SHOAL("version");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, "shoal 0.1.0\n");
    CHECK_STR(SHOAL("--version").out, o.out);
    CHECK_STR(SHOAL("-V").out, o.out);
    o = SHOAL("options");
    CHECK_HAS(o.out, "--rtol");
    CHECK_HAS(o.out, "--trace");
    CHECK_HAS(SHOAL("methods").out, "tsit5");
    CHECK_HAS(SHOAL("devices").out, "cpu");
    CHECK_HAS(SHOAL("env").out, "SHOAL_CC");
}

TEST(cli_usage) {
    const char *m = model(lorenz);
    expect(SHOAL("rnu"), 2, "unknown command 'rnu'; did you mean run?");
    expect(SHOAL("help", "infos"), 2, "did you mean info?");
    expect(SHOAL("run"), 2, "no model");
    expect(SHOAL("run", m, "b.ode"), 2, "one word too many");
    expect(SHOAL("version", "x"), 2, "one word too many");
    expect(SHOAL("run", m, "--swep", "a=1"), 2, "unknown option 'swep'; did you mean --sweep?");
    expect(SHOAL("run", m, "-x"), 2, "unknown option 'x'");
    expect(SHOAL("run", m, "--t1"), 2, "--t1 needs a value");
    expect(SHOAL("info", m, "--sweep", "rho=1"), 2, "not an option of `shoal info`");
    expect(SHOAL("run", m, "--reuse", "x"), 2, "unknown option 'reuse'"); // --reuses is another
}

// What new users type, and what helps them.
TEST(cli_mistakes) {
    static const struct {
        const char *words[5];
        const char *says;
    } cases[] = {
        {{"m.ode"}, "to run a model: shoal run m.ode"},
        {{"solve", "m.ode"}, "did you mean run?"},
        {{"-v"}, "'-v' stands before the command"},
        {{"run", ""}, "an empty word"},
        {{"run", "m"}, "did you mean m.ode?"},
        {{"info", "./mm.ode"}, "did you mean ./m.ode?"},
        {{"info", "o.npz"}, "`shoal run --job o.npz` repeats a result"},
        {{"run", "m.ode", "rho=3"}, "a value is given by --set rho=3"},
        {{"run", "m.ode", "--rho", "3"}, "a value of the model is given by --set rho=3"},
        {{"run", "m.ode", "--tend", "3"}, "did you mean --t1?"},
        {{"run", "m.ode", "--set", "rho", "3"}, "in one word: --set 'rho=3'"},
        {{"run", "m.ode", "--set", "rho", "="}, "in one word: --set 'rho=...'"},
        {{"run", "m.ode", "--rtol", "--t1", "3"}, "--rtol needs a value: R"},
        {{"run", "m.ode", "--vars", "--t1=3"}, "--vars needs a value"},
        {{"run", "m.ode", "--method", "dopri"}, "did you mean dopri5?"},
        {{"run", "m.ode", "--only-runs", "0-5"}, "as in 4711,5000:6000"},
        {{"run", "m.ode", "-qx"}, "unknown option 'qx'"},
        {{"cache", "lst"}, "did you mean list?"},
        {{"cache", "show"}, "no key; usage: shoal cache show KEY"},
        {{"cache", "show", "a", "b"}, "see `shoal help cache show`"},
        {{"help", "cahce"}, "did you mean cache?"},
        {{"help", "cache", "lst"}, "did you mean list?"},
        {{"help", "--rtoll"}, "did you mean rtol?"},
    };
    char *shoal = realpath(check_shoal(), NULL);
    model(lorenz);
    REQUIRE(chdir(check_dir()) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *argv[8] = {shoal};
        for (size_t k = 0; k < 5; k++)
            argv[k + 1] = cases[i].words[k];
        struct check_output o = check_command(argv);
        CHECK_MSG(o.status && strstr(o.err, cases[i].says), "%s %s: %d, %s", argv[1],
                  argv[2] ? argv[2] : "", o.status, o.err);
        CHECK_STR(o.out, "");
    }
    CHECK_INT(RUN(shoal, "run", "m.ode", "-qv").status, 0); // flags may stand together
    free(shoal);
}

// Nothing that a file holds moves the cursor: control characters, also those of 8 bits, are shown
// as question marks, other letters as they are.
TEST(cli_messages_are_safe) {
    const char *m = model("x'=\x1b[2J\xc2\x9b"
                          "2J\x9b\xc3\xa9\xff\xe2\x82+y\n@ t1=1\n");
    struct check_output o = SHOAL("run", m);
    CHECK_INT(o.status, 1);
    CHECK(!strchr(o.err, 0x1b) && !strchr(o.err, (char)0x9b) && !strchr(o.err, (char)0xff));
    m = model("par \xc3\xa9=1\nx'=z\n@ t1=1\n");
    CHECK_HAS(SHOAL("run", m).err, "par \xc3\xa9=1");
}

// There is help on everything that has a name.
TEST(cli_help_on_names) {
    CHECK_HAS(SHOAL("help", "cache", "clear").out, "--older-than AGE");
    CHECK_STR(SHOAL("help", "clear").out, SHOAL("help", "cache", "clear").out);
    CHECK_HAS(SHOAL("help", "--rtol").out, "relative tolerance");
    CHECK_STR(SHOAL("help", "rtol").out, SHOAL("help", "--rtol").out);
    CHECK_HAS(SHOAL("help", "-o").out, "--output FILE");
    CHECK_HAS(SHOAL("help", "rodas5p").out, "order 5");
    CHECK_HAS(SHOAL("help", "ode45").out, "also called");
    CHECK_HAS(SHOAL("help", "nonfinite").out, "infinite or not a number");
    CHECK_HAS(SHOAL("help", "SHOAL_CC").out, "C compiler");
    static const char *const commands[] = {"run",     "info",    "source",  "warm",
                                           "cache",   "devices", "methods", "env",
                                           "version", "help",    "options"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        CHECK_INT(SHOAL("help", commands[i]).status, 0);
}

// ---- Bad input: exit code 1, a message that says where, and no result ---------------------------

// A run that must fail before it writes: an older file of that name stays as it was.
static void refuse(int status, const char *text, const char *const *more) {
    const char *argv[16] = {check_shoal(), "run", check_path("m.ode"), "-o", check_path("out.csv")};
    size_t n = 5;
    while (*more && n < 15)
        argv[n++] = *more++;
    check_write(check_path("out.csv"), "run,t,older\n");
    struct check_output o = check_command(argv);
    CHECK_INT(o.status, status);
    CHECK_HAS(o.err, text);
    CHECK_HAS(o.err, "error: ");
    CHECK_STR(o.out, "");
    CHECK_STR(check_read(check_path("out.csv")), "run,t,older\n");
    CHECK(!check_read(check_path("out.csv.part")));
}
#define REFUSE(status, text, ...) refuse(status, text, (const char *[]){__VA_ARGS__, NULL})

TEST(cli_bad_models) {
    expect(SHOAL("run", check_path("nothing.ode")), 4, "nothing.ode");
    expect(SHOAL("run", check_dir()), 4, "error: ");
    model("");
    REFUSE(1, "m.ode", "--t1", "1");
    model("# nothing but a comment\n");
    REFUSE(1, "m.ode", "--t1", "1");
    model("par a=1\n");
    REFUSE(1, "m.ode", "--t1", "1");
    model("x'=-k*x\nyy'=-xx\n@ t1=1\n");
    REFUSE(1, "m.ode:1:5: error: ", "-q"); // errors are shown even so
    REFUSE(1, "m.ode:2:6: error: ", "--t1", "1");
    model("x'=-x\n@ t1=1, meth=discrete\ndone\n");
    REFUSE(1, "maps", "-q");
    FILE *f = fopen(check_path("m.ode"), "w");
    REQUIRE(f);
    for (int i = 0; i < 4096; i++)
        fputc(i * 37 & 255, f);
    fclose(f);
    REFUSE(1, "m.ode", "--t1", "1");
}

TEST(cli_bad_names) {
    model(lorenz);
    REFUSE(1, "rho", "--set", "roh=1");
    REFUSE(1, "rho", "--sweep", "roh=1,2");
    REFUSE(1, "rho", "--sample", "roh=uniform:0:1", "--runs", "3");
    REFUSE(1, "hihg", "--use", "hihg");
    REFUSE(1, "w", "--vars", "x,w");
    REFUSE(1, "w", "--atol", "1e-9,w=1");
    check_write(check_path("b.csv"), "roh\n1\n2\n");
    REFUSE(1, "b.csv", "--batch", check_path("b.csv"));
    REFUSE(1, "did you mean `rho`?", "--batch", check_path("b.csv"));
    REFUSE(1, "rho", "--set", "rho=1", "--sweep", "rho=1,2");
    REFUSE(1, "rho", "--sample", "rho=uniform:0:1", "--runs", "2", "--sweep", "rho=1,2");
}

TEST(cli_bad_batches) {
    model(lorenz);
    const char *b = check_path("b.csv");
    check_write(b, "rho,x(0)\n1,2\n3\n");
    REFUSE(1, "b.csv:3", "--batch", b);
    check_write(b, "rho\n1\nnan\n");
    REFUSE(1, "b.csv:3", "--batch", b);
    check_write(b, "rho\n1\n2x\n");
    REFUSE(1, "b.csv:3", "--batch", b);
    check_write(b, "");
    REFUSE(1, "b.csv", "--batch", b);
    REFUSE(4, "nothing.csv", "--batch", check_path("nothing.csv"));
    REFUSE(1, "--sweep", "--sweep", "rho=");
    REFUSE(1, "--sweep", "--sweep", "rho=lin:0:1:0");
    REFUSE(1, "--sweep", "--sweep", "rho=lin:0:1");
    REFUSE(1, "--sweep", "--sweep", "rho=log:-1:1:3");
    REFUSE(1, "--sweep", "--sweep", "rho=1,nan");
    REFUSE(1, "--runs", "--sample", "rho=uniform:0:1");
    REFUSE(1, "--only-runs", "--only-runs", "7");
}

// Also where nobody looks at the values of a command's options: a flag is not off by mistake.
TEST(cli_flags_are_on_or_off) {
    static const char *const commands[] = {"devices", "methods", "options", "version", "env"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect(SHOAL(commands[i], "--help=maybe"), 1, "--help: 'maybe' is neither on nor off");
        CHECK_INT(SHOAL(commands[i], "--help=off").status, 0);
    }
    expect(SHOAL("cache", "clear", "--stale=maybe"), 1, "--stale: 'maybe' is neither on nor off");
}

TEST(cli_bad_options) {
    model(lorenz);
    REFUSE(1, "--rtol: must be more than 0, not -1e-6", "--rtol", "-1e-6");
    REFUSE(1, "--atol: must be more than 0, not 0", "--atol", "0");
    REFUSE(1, "unknown method 'tsit6'; did you mean tsit5?", "--method", "tsit6");
    REFUSE(1, "--dt: method auto adapts its step", "--dt", "0.1");
    REFUSE(1, "takes fixed steps: give --dt", "--method", "rk4");
    REFUSE(1, "--save: 'all' is not one of", "--save", "all");
    REFUSE(1, "--t1: 'x' is not a number", "--t1", "x");
    REFUSE(1, "the same as t0", "--t1", "0");
    REFUSE(1, "--timing: 'x' is not one of", "--timing", "x");
    REFUSE(1, "--runs: 'x' is not a whole number", "--runs", "x");
    REFUSE(1, "--rtol: must", "--rtol", "0", "--atol", "x"); // all that can be found at once
    REFUSE(1, "--atol: 'x'", "--rtol", "0", "--atol", "x");
    model("x'=-x\n");
    REFUSE(1, "no end time: give --t1", "-q");
}

// ---- Files --------------------------------------------------------------------------------------

TEST(cli_bad_outputs) {
    const char *m = model(lorenz);
    expect(SHOAL("run", m, "-o", check_path("no/such/out.csv")), 4, "no/such");
    expect(SHOAL("run", m, "-o", "/proc/out.csv"), 4, "/proc/out.csv");
    check_write(check_path("file"), "older");
    expect(SHOAL("run", m, "-o", check_path("file/out.csv")), 4, "file");
    CHECK_STR(check_read(check_path("file")), "older");
    expect(SHOAL("run", m, "-o", check_dir()), 1, "ending");
    expect(SHOAL("run", m, "-o", check_path("out.txt")), 1, ".npz");
    CHECK(!check_read(check_path("out.txt")));
    struct check_output o =
        RUN("sh", "-c", "exec \"$0\" run \"$1\" -q >/dev/full", check_shoal(), m);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "error: ");
    o = RUN("sh", "-c", "exec \"$0\" help >/dev/full", check_shoal());
    expect(o, 4, "cannot write to standard output");
}

// As when the disk is full: the result cannot be finished, and the older one stays.
TEST(cli_output_does_not_fit) {
    const char *m = model(lorenz), *out = check_path("out.csv");
    check_write(out, "run,t,older\n");
    struct check_output o = RUN("sh", "-c",
                                "trap '' XFSZ; ulimit -f 4096; exec \"$0\" run \"$1\" -q -o \"$2\" "
                                "--sweep rho=lin:0:1:1e5 --t1 0.1 --chunk 1000",
                                check_shoal(), m, out);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "out.csv");
    CHECK_STR(check_read(out), "run,t,older\n");
    o = SHOAL("run", m, "-q", "-o", out, "--sweep", "rho=lin:0:1:1e5", "--t1", "0.1", "--resume");
    CHECK_INT(o.status, 0); // there is room again
    char *resumed = check_read(out);
    CHECK(!check_read(check_path("out.csv.part")));
    CHECK_INT(SHOAL("run", m, "-q", "-o", out, "--sweep", "rho=lin:0:1:1e5", "--t1", "0.1").status,
              0);
    CHECK(resumed && !strcmp(resumed, check_read(out)));
}

// ---- A run --------------------------------------------------------------------------------------

TEST(cli_names_have_no_case) {
    const char *m = model(lorenz);
    struct check_output o = SHOAL("run", m, "-q", "--vars", "X,R", "--set", "RHO=2,X(0)=3");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, SHOAL("run", m, "-q", "--vars", "x,r", "--set", "rho=2,x(0)=3").out);
}

// A state's name is its initial value, wherever one is given; the column is x(0).
TEST(cli_bare_states) {
    const char *m = model(lorenz), *b = check_path("b.csv"), *job = check_path("a.job");
    struct check_output o = SHOAL("run", m, "-q", "--sweep", "x(0)=1,2");
    CHECK_HAS(o.out, "run,x(0),t,x,y,z,status\n0,1,1,");
    CHECK_STR(SHOAL("run", m, "-q", "--sweep", "x=1,2").out, o.out);
    check_write(b, "x\n1\n2\n");
    CHECK_STR(SHOAL("run", m, "-q", "--batch", b).out, o.out);
    check_write(b, "x,x(0)\n1,1\n2,2\n");
    REFUSE(1, "gives `x(0)` twice", "--batch", b);
    check_write(b, "run,t,x,status\n0,1,3,ok\n");
    expect(SHOAL("run", m, "--batch", b), 0, "column `x` is taken as the initial value `x(0)`");
    o = SHOAL("run", m, "-q", "--set", "x(0)=2");
    CHECK_STR(SHOAL("run", m, "-q", "--set", "x=2").out, o.out);
    CHECK_STR(SHOAL("run", m, "-q", "--set", "x=1", "--set", "x=2").out, o.out); // the last wins
    REFUSE(1, "same value by two names, `x` and `x(0)`", "--set", "x=2,x(0)=2");
    REFUSE(1, "same value by two names, `x` and `x(0)`", "--set", "x=2", "--set", "x(0)=2");
    check_write(job, "set = rho=1, X(0)=5\n"); // what the command line sweeps is not the job's
    o = SHOAL("run", m, "-q", "--job", job, "--sweep", "x=2,3", "--sweep", "RHO=4");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "\n1,3,4,1,");
}

TEST(cli_streams) {
    const char *m = model(lorenz);
    struct check_output o = SHOAL("run", m, "--sweep", "rho=10.5,28", "-q");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.err, "");
    CHECK_HAS(o.out, "run,rho,t,x,y,z,status\n0,10.5,1,2.8322");
    struct check_output talk =
        SHOAL("run", m, "--sweep", "rho=10.5,28", "--timing", "none", "-o", check_path("o.csv"));
    CHECK_INT(talk.status, 0);
    CHECK_STR(talk.out, "");
    CHECK_STR(check_read(check_path("o.csv")), o.out);
    CHECK_HAS(talk.err, "2 trajectories: 2 ok");
    CHECK_HAS(talk.err, "wrote ");
    CHECK_MSG(!strstr(talk.err, " s\n") && !strstr(talk.err, " ms"), "durations in:\n%s", talk.err);
}

// Parts and other make the total.
TEST(cli_timing) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    struct check_output o = SHOAL("run", model(lorenz), "--timing", "debug");
    static const char *const rows[] = {"codegen", "build", "compile", "runtime", "other", "total"};
    double sum = 0, value = 0;
    for (size_t i = 0; i < 6; i++) {
        char head[32];
        snprintf(head, sizeof head, "\n  %s ", rows[i]);
        const char *row = strstr(o.err, head);
        REQUIRE(row);
        value = strtod(row + strlen(head), NULL);
        sum += i < 5 ? value : 0;
    }
    CHECK_NEAR(value, sum, 1e-6);
    CHECK(value > 0);
    CHECK_HAS(o.err, "compile_kernel");
    CHECK_HAS(o.err, "trajectories/s");
}

TEST(cli_terminal) {
    char command[512];
    snprintf(command, sizeof command, "NO_COLOR=1 %s run %s --sweep rho=lin:0:1:1000",
             check_shoal(), model(lorenz));
    if (RUN("script", "-qec", "true", "/dev/null").status)
        check_skip("no `script` to make a terminal with");
    struct check_output o = RUN("script", "-qec", command, "/dev/null");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "run          rho  t");
    CHECK_HAS(o.out, "... 990 more; write them with -o out.csv");
    CHECK_HAS(o.out, "1000 trajectories: 1000 ok");
}

// The example of the help: all steps of one run, looked at on a terminal.
TEST(cli_steps_on_a_terminal) {
    char command[512];
    snprintf(command, sizeof command, "NO_COLOR=1 %s run %s --save steps --vars r,x -q",
             check_shoal(), model(lorenz));
    if (RUN("script", "-qec", "true", "/dev/null").status)
        check_skip("no `script` to make a terminal with");
    struct check_output o = RUN("script", "-qec", command, "/dev/null");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "  t ");
    CHECK_HAS(o.out, "more; write them with -o out.csv");
}

// More columns than fit are counted, all of them.
TEST(cli_wide_table) {
    char command[512];
    snprintf(command, sizeof command, "NO_COLOR=1 COLUMNS=80 %s run %s -q", check_shoal(),
             model("x[1..150]'=-x[j]\ninit x[1..150]=1\n@ t1=1\n"));
    if (RUN("script", "-qec", "true", "/dev/null").status)
        check_skip("no `script` to make a terminal with");
    struct check_output o = RUN("script", "-qec", command, "/dev/null");
    CHECK_INT(o.status, 0);
    const char *more = strstr(o.out, "... ");
    REQUIRE(more);
    CHECK_MSG(atoi(more + 4) > 130, "of 153 columns: %s", more);
}

// A reader that has enough ends the run without a word.
TEST(cli_closed_pipe) {
    const char *script = "\"$0\" run \"$1\" --sweep rho=lin:0:1:1e6 -q -o - | head -1; "
                         "echo ${PIPESTATUS[0]}";
    struct check_output o = RUN("bash", "-c", script, check_shoal(), model(lorenz));
    CHECK_STR(o.out, "run,rho,t,x,y,z,status\n141\n");
    CHECK_STR(o.err, "");
}

TEST(cli_failures_are_data) {
    const char *m = model("par a=1\ninit x=1\nx'=a*x^2\n@ t1=2\n"); // blows up at 1/a
    struct check_output o = SHOAL("run", m, "--sweep", "a=0.1,1,2");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "1 ok, 2 failed");
    CHECK_HAS(o.err, "again: --only-runs 1");
    CHECK_HAS(o.out, "nan");
    o = SHOAL("run", m, "--sweep", "a=1,2", "-q");
    CHECK_INT(o.status, 5);
    CHECK_STR(o.err, "");
}

TEST(cli_dry_run) {
    const char *m = model(lorenz), *out = check_path("o.npz");
    struct check_output o = SHOAL("run", m, "--sweep", "rho=lin:0:1:1000", "--dry-run", "-o", out);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "runs      1000\n");
    CHECK_HAS(o.out, "chunks ");
    CHECK_HAS(o.out, "kernel ");
    CHECK_HAS(o.out, " free there");
    CHECK(!check_read(out));
    o = SHOAL("run", m, "--sweep", "rho=lin:0:1:1e15", "--dry-run", "-o", out);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.out, "too much: ");
    CHECK_HAS(o.err, "o.npz: the disk is too small for the result");
    o = SHOAL("run", m, "--sweep", "rho=lin:0:1:1e15", "--dry-run", "-o", "-"); // no disk at all
    CHECK_INT(o.status, 0);
}

// model < @ < --use < --job < command line, and a set's values may be swept.
TEST(cli_precedence) {
    const char *m = model(lorenz), *job = check_path("a.job");
    CHECK_HAS(SHOAL("run", m, "-q", "--use", "low").out, "\n0,2,");
    CHECK_HAS(SHOAL("run", m, "-q", "--use", "low", "--sweep", "rho=1,2").out, "\n1,2,2,");
    check_write(job, "t1 = 3\nset = rho=4\nuse = low\n");
    CHECK_HAS(SHOAL("run", m, "-q", "--job", job).out, "\n0,3,");
    CHECK_HAS(SHOAL("run", m, "-q", "--job", job, "--t1", "4", "--t1", "5").out, "\n0,5,");
    struct check_output o = SHOAL("run", m, "-q", "--job", job, "--sweep", "rho=7,8"); // replaces
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "\n1,8,3,");
    check_write(job, "t1 = 3\n rtol = 0\n");
    expect(SHOAL("run", m, "--job", job), 1, "a.job:2:9: error: rtol: must be more than 0");
    expect(SHOAL("run", m, "--job", check_path("no.job")), 4, "no.job");
}

// A result file is a job that repeats itself, model included.
TEST(cli_replay) {
    const char *m = model(lorenz), *npz = check_path("o.npz");
    struct check_output first = SHOAL("run", m, "--sweep", "rho=10.5,28", "--set", "x(0)=2",
                                      "--vars", "x,r", "--rtol", "1e-8", "-q");
    CHECK_INT(first.status, 0);
    struct check_output o = SHOAL("run", m, "--sweep", "rho=10.5,28", "--set", "x(0)=2", "--vars",
                                  "x,r", "--rtol", "1e-8", "-q", "-o", npz);
    CHECK_INT(o.status, 0);
    CHECK_INT(remove(m), 0); // its text is in the result
    o = SHOAL("run", "--job", npz, "-q");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, first.out);
    o = SHOAL("run", "--job", npz, "-q", "--only-runs", "1");
    CHECK_HAS(o.out, "\n1,28,1,");
}

// What the command line sets back to what is usual stays so in a replay and in a merge, though the
// model says otherwise; and states that were asked for beside summaries.
TEST(cli_replay_of_what_is_set_back) {
    static const struct {
        const char *settings; // of the model
        const char *words[5];
    } table[] = {
        {"precision=f32", {"--precision", "f64"}},
        {"precision=f32, compensate=on", {"--compensate=off"}},
        {"save=\"n=3\"", {"--save", "final"}},
        {"save=steps", {"--save", "final"}},
        {"method=tsit5", {"--summary", "max(x)", "--save", "final"}},
        {"method=rk4, dt=0.01", {"--method", "auto"}},
        {"controller=i", {"--controller", "pi"}},
        {"t0=0.5, settle=0.1", {"--t0", "0", "--settle", "0"}},
    };
    check_enter();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *const *w = table[i].words;
        char *text = NULL;
        REQUIRE(asprintf(&text, "x'=-x\ninit x=1\n@ t1=1, %s\n", table[i].settings) > 0);
        check_write("m.ode", text);
        free(text);
#define RUN_IT(...)                                                                                \
    SHOAL("run", "m.ode", "-q", "--device", "cpu", "--sweep", "x=1,2,3", __VA_ARGS__, w[0], w[1],  \
          w[2], w[3], w[4])
        REQUIRE(RUN_IT("-o", "a.npz").status == 0);
        REQUIRE(RUN_IT("--shard", "0/2", "-o", "s0.npz").status == 0);
        REQUIRE(RUN_IT("--shard", "1/2", "-o", "s1.npz").status == 0);
        struct check_output o = SHOAL("run", "--job", "a.npz", "-q", "-o", "b.npz");
        CHECK_MSG(o.status == 0, "%s", o.err);
        CHECK_MSG(RUN("cmp", "a.npz", "b.npz").status == 0, "%s", table[i].settings);
        o = SHOAL("merge", "-q", "c.npz", "s0.npz", "s1.npz");
        CHECK_MSG(o.status == 0, "%s: %s", table[i].settings, o.err);
        CHECK_MSG(RUN("cmp", "a.npz", "c.npz").status == 0, "%s, merged", table[i].settings);
    }
}

// A list of times longer than any buffer is replayed whole.
TEST(cli_replay_of_a_long_list) {
    enum { TIMES = 6000 };
    const char *job = check_path("a.job"), *npz = check_path("o.npz");
    char *text = malloc(TIMES * 24 + 64);
    REQUIRE(text);
    size_t n = (size_t)sprintf(text, "vars = x\nsave = at=0");
    for (int i = 1; i <= TIMES; i++)
        n += (size_t)sprintf(text + n, ",%.15f", i / (TIMES + 1.0));
    check_write(job, text);
    free(text);
    struct check_output o = SHOAL("run", model(lorenz), "--job", job, "-q", "-o", npz);
    CHECK_INT(o.status, 0);
    o = SHOAL("run", "--job", npz, "-q");
    CHECK_INT(o.status, 0);
    size_t lines = 0;
    for (const char *p = o.out; *p; p++)
        lines += *p == '\n';
    CHECK_INT(lines, TIMES + 2);
}

// What is no job says so, soon, however long it is.
TEST(cli_job_of_another_kind) {
    const char *m = model(lorenz), *csv = check_path("o.csv"), *job = check_path("a.job");
    CHECK_INT(SHOAL("run", m, "-q", "-o", csv).status, 0);
    expect(SHOAL("run", "--job", csv), 1, "a CSV file does not hold the options");
    expect(SHOAL("run", "o.npz"), 1, "`shoal run --job o.npz` repeats a result");
    enum { LINES = 20000 };
    char *text = malloc(LINES * 32 + 1);
    REQUIRE(text);
    for (size_t i = 0; i < LINES; i++)
        memcpy(text + 32 * i, "0,0.7306327311053068,14.9601734\n", 32);
    text[LINES * 32] = 0;
    check_write(job, text);
    free(text);
    expect(SHOAL("run", m, "--job", job), 1, "19901 more messages like these");
}

TEST(cli_info_at_t0) {
    const char *m = model("par a=2\n!b=3*a\nx(0)=10*t+b\nx'=t*x\n@ t0=5,t1=9\n");
    struct check_output o = SHOAL("info", m, "--json");
    CHECK_HAS(o.out, "{\"name\": \"x\", \"value\": 56, \"derivative\": 280}");
    o = SHOAL("info", m, "--json", "--t0", "7", "--set", "a=1");
    CHECK_HAS(o.out, "{\"name\": \"x\", \"value\": 73, \"derivative\": 511}");
    CHECK_HAS(o.out, "{\"name\": \"b\", \"value\": 3}");
    CHECK_HAS(SHOAL("info", m, "--t0", "-1").out, "x         -4                        4\n");
}

TEST(cli_info) {
    const char *m = model("par a=2\nconst c=3\n!d=a*c\nx(0)=a\nx'=-a*x+y\ny'=c\n"
                          "aux say \"hi\"=x+y\nset s {a=1}\n@ t1=5\n");
    struct check_output o = SHOAL("info", m);
    CHECK_INT(o.status, 0);
    static const char *const parts[] = {"states: 2",
                                        "parameters: 1",
                                        "constants: 1",
                                        "derived parameters: 1",
                                        "observables: 1",
                                        "sets: 1",
                                        "Jacobian: 2 x 2, 2 nonzeros",
                                        "t1           5"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CHECK_HAS(o.out, parts[i]);
    o = SHOAL("info", m, "--method", "rodas4"); // I - h J is triangular
    CHECK_HAS(o.out, "2 nonzeros (50 %); I - h J has 3, with fill-in 3\n");
    CHECK_HAS(o.out, "one step of rodas4: ");
    CHECK_HAS(o.out, " 2 divisions, 0 functions\n");
    o = SHOAL("info", m, "--method", "radau5");
    CHECK_HAS(o.out, "one step of radau-iia-5 with 2 iterations: ");
    CHECK_HAS(o.out, " 4 divisions, 0 functions\n");
    o = SHOAL("methods");
    CHECK_HAS(o.out, "L-stable, accurate       gustafsson own            stiff, the classical");
    CHECK_HAS(o.out, "L-stable, accurate, FSAL gustafsson own            stiff, tight tolerances");
    o = SHOAL("info", m, "--json", "--set", "a=4");
    CHECK_HAS(o.out, "\"matrix\": 3, \"factors\": 3, \"step\": {\"additions\": ");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "{\"name\": \"x\", \"value\": 4, \"derivative\": -16}");
    CHECK_HAS(o.out, "say \\\"hi\\\"");
    CHECK_HAS(o.out, "\"t1\": \"5\"");
    CHECK_HAS(SHOAL("source", m).out, "real");
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python to read the JSON with");
    check_write(check_path("i.json"), o.out);
    CHECK_INT(RUN(python, "-m", "json.tool", check_path("i.json")).status, 0);
}

// ---- Signals ------------------------------------------------------------------------------------

// Starts a long run, waits until event $5 is over and then for the file $2 (which a check of the
// output may have made before), sends signal $3 twice as timeout(1) does (to the program and to its
// group: still one wish to stop), and ends with the program's status.
static struct check_output stopped(const char *signal, const char *event, const char *until,
                                   const char *out) {
    const char *script = "\"$0\" run \"$1\" --t1 1e4 --max-steps 1e9 --sweep rho=lin:20:28:1e6 "
                         "--chunk 64 --timing-json \"$4.json\" -o \"$4\" & pid=$!; "
                         "until grep -qs $5 \"$4.json\"; do sleep 0.02; done; "
                         "until [ -e \"$2\" ]; do sleep 0.02; done; "
                         "kill -$3 $pid $pid; wait $pid";
    return RUN("bash", "-mc", script, check_shoal(), model(lorenz), until, signal, out, event);
}

TEST(cli_signals) {
    const char *out = check_path("o.csv"), *part = check_path("o.csv.part");
    struct check_output o = stopped("INT", "module_load", part, out);
    CHECK_INT(o.status, 128 + 2);
    CHECK_HAS(o.err, "stopped");
    CHECK_HAS(o.err, " of 1,000,000 trajectories");
    CHECK(!check_read(part));
    CHECK(!strstr(o.err, "marked incomplete"));   // a CSV file cannot be
    if (strstr(o.err, "what was finished is in")) // otherwise no chunk was finished yet
        CHECK_HAS(check_read(out), "run,rho,t,x,y,z,status");
}

// Stops a run whose fourth row takes for ever, when the third is written; the line to go on with.
static const char *line_of_a_stop(const char *m, const char *only, const char *out) {
    const char *script =
        "\"$0\" run --timing-json \"$4\" --chunk 1 --max-steps 1G --sweep 'w=1, 2,3,1e9,4,5' "
        "--only-runs=\"$2\" ${3:+-o\"$3\"} -- \"$1\" >/dev/null & pid=$!; "
        "until grep -qs 'd2h_transfer_state.*\"2:3\"' \"$4\"; do sleep 0.02; done; "
        "kill -TERM $pid; wait $pid";
    const char *json = check_path("t.json");
    remove(json);
    struct check_output o = RUN("bash", "-c", script, check_shoal(), m, only, out, json);
    CHECK_INT(o.status, 128 + 15);
    char *line = strstr(o.err, "to go on: ");
    REQUIRE(line);
    line[strcspn(line, "\n")] = 0;
    return line + strlen("to go on: ");
}

// The line runs what is left and nothing else, whatever the names of files.
TEST(cli_goes_on_after_a_stop) {
    static const struct {
        const char *only, *rest, *runs;
    } cases[] = {{":", " --only-runs 3:", "runs      3\n"},
                 {":5", " --only-runs 3:5", "runs      2\n"},
                 {":4", " --only-runs 3", "runs      1\n"},
                 {":4,5", " --only-runs 3,5:", "runs      2\n"}};
    const char *m = check_path("it's $(one).ode"), *out = check_path("o ut.csv");
    check_write(m, "par w=1\ninit x=1\nx'=w*y\ny'=-w*x\n@ t1=10\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = line_of_a_stop(m, cases[i].only, "");
        char script[2048];
        CHECK_HAS(line, cases[i].rest);
        CHECK_HAS(line, " --sweep 'w=1, 2,3,1e9,4,5' ");
        CHECK(!strstr(line, "--only-runs=") && !strstr(line, " -o"));
        const char *run = strstr(line, " run ");
        REQUIRE(run);
        snprintf(script, sizeof script, "%.*s run --dry-run%s", (int)(run - line), line, run + 4);
        struct check_output o = RUN("bash", "-c", script); // as it would be pasted
        CHECK_INT(o.status, 0);
        CHECK_HAS(o.out, cases[i].runs);
    }
    const char *line = line_of_a_stop(m, ":4", out); // with a file it goes on in that
    CHECK_HAS(line, " --resume -- ");
    CHECK_HAS(line, "o ut.csv'");
    CHECK_HAS(check_read(check_path("o ut.csv.journal")), "range 2 1 ");
    CHECK_HAS(check_read(out), "\n2,3,");
}

// A terminal that is closed stops a run like Ctrl-C does.
TEST(cli_hangup) {
    struct check_output o =
        stopped("HUP", "module_load", check_path("o.npz.part"), check_path("o.npz"));
    CHECK_INT(o.status, 128 + 1);
    CHECK_HAS(o.err, "marked incomplete");
    CHECK(check_read(check_path("o.npz")));
}

// A compiler that takes for ever is stopped too.
TEST(cli_signal_in_compiler) {
    const char *cc = check_path("slow-cc"), *begun = check_path("begun");
    char text[256];
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase \"$*\" in *version*|-v*) exec cc \"$@\";; esac\n"
             ": > %s; exec sleep 60\n",
             begun);
    check_write(cc, text);
    CHECK_INT(RUN("chmod", "+x", cc).status, 0);
    setenv("SHOAL_CC", cc, 1);
    struct check_output o = stopped("TERM", "parse", begun, check_path("o.csv"));
    CHECK_INT(o.status, 128 + 15);
    CHECK_HAS(o.err, "stopped; nothing was written");
    CHECK(!check_read(check_path("o.csv")));
}

// Where nobody looks at the flag, the first signal ends the program: here it waits for a model from
// a pipe that stays empty.
TEST(cli_signal_at_once) {
    static const char *const signals[] = {"TERM", "HUP"};
    static const int numbers[] = {15, 1};
    const char *script = "mkfifo \"$1\"; \"$0\" run \"$1\" & pid=$!; exec 9>\"$1\"; sleep 0.1; "
                         "kill -$2 $pid; wait $pid; status=$?; rm \"$1\"; exit $status";
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct check_output o =
            RUN("bash", "-mc", script, check_shoal(), check_path("pipe.ode"), signals[i]);
        CHECK_INT(o.status, 128 + numbers[i]);
    }
}

// The second signal ends a run at once, even while nobody reads what it writes.
TEST(cli_second_signal) {
    const char *script = // reads a byte, so that it has begun to write
        "mkfifo \"$2\"; exec 9<>\"$2\"; "
        "\"$0\" run \"$1\" -q --sweep rho=lin:0:1:1M --chunk 10k >\"$2\" & pid=$!; "
        "head -c 1 <&9 >/dev/null; sleep 0.3; kill -TERM $pid; sleep 0.5; "
        "kill -0 $pid && echo alive; kill -TERM $pid; wait $pid";
    struct check_output o =
        RUN("bash", "-c", script, check_shoal(), model(lorenz), check_path("pipe"));
    CHECK_INT(o.status, 128 + 15);
    CHECK_HAS(o.out, "alive");
}

// A run that is told to go on after its terminal is closed does so; it can still be stopped.
TEST(cli_nohup) {
    const char *out = check_path("o.npz");
    const char *script =
        "trap '' HUP; \"$0\" run \"$1\" --t1 1e4 --max-steps 1G -o \"$2\" "
        "--sweep rho=lin:20:28:1M --chunk 64 & pid=$!; "
        "until [ -e \"$2.part\" ]; do sleep 0.02; done; kill -HUP $pid; sleep 0.5; "
        "kill -0 $pid && echo alive; kill -TERM $pid; wait $pid";
    struct check_output o = RUN("bash", "-mc", script, check_shoal(), model(lorenz), out);
    CHECK_INT(o.status, 128 + 15);
    CHECK_HAS(o.out, "alive\n");
    CHECK_HAS(o.err, "marked incomplete");
}

// ---- Streams that are closed --------------------------------------------------------------------

// Whichever of them is: no file that is opened takes their place, and data that gets nowhere is an
// error.
TEST(cli_closed_streams) {
    static const char *const closed[] = {"<&-",      ">&-",     "2>&-",        "<&- 2>&-",
                                         ">&- 2>&-", "<&- >&-", "<&- >&- 2>&-"};
    const char *m = model(lorenz), *json = check_path("t.json"), *out = check_path("o.csv");
    CHECK_INT(SHOAL("run", m, "-q", "-o", out).status, 0);
    char *wanted = check_read(out);
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "\"$0\" run \"$1\" -v --timing verbose --timing-json \"$2\" -o \"$3\" %s",
                 closed[i]);
        remove(out);
        struct check_output o = RUN("sh", "-c", script, check_shoal(), m, json, out);
        CHECK_INT(o.status, 0);
        CHECK_STR(check_read(out), wanted);
        char *events = check_read(json);
        REQUIRE(events);
        for (char *line = events, *next; *line; line = next) {
            next = line + strcspn(line, "\n");
            CHECK_MSG(line[0] == '{' && next[-1] == '}', "%s: %.*s", closed[i], (int)(next - line),
                      line);
            next += *next == '\n';
        }
        bool data = closed[i][0] != '>' && !strstr(closed[i], " >");
        snprintf(script, sizeof script, "\"$0\" run \"$1\" -q -o - %s", closed[i]);
        CHECK_INT(RUN("sh", "-c", script, check_shoal(), m).status, data ? 0 : 4);
        snprintf(script, sizeof script, "\"$0\" methods %s", closed[i]);
        CHECK_INT(RUN("sh", "-c", script, check_shoal()).status, data ? 0 : 4);
    }
}

// A reader that has enough ends any command without a word.
TEST(cli_reader_leaves) {
    static const char *const commands[] = {"methods",      "options",    "help run",
                                           "source m.ode", "info m.ode", "run m.ode -q"};
    model(lorenz);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char script[256];
        snprintf(script, sizeof script, "cd %s && { sleep 0.2; \"$0\" %s; echo $? >&2; } | true",
                 check_dir(), commands[i]);
        char *shoal = realpath(check_shoal(), NULL);
        CHECK_STR(RUN("bash", "-c", script, shoal).err, "141\n");
        free(shoal);
    }
}
