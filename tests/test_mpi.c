// SPDX-License-Identifier: MIT
// Many processes that run one batch: the file is that of one, whatever becomes of a rank.
#include "check.h"
#include "ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static const char *program;

static void place(void) {
    char *shoal = check_keep(realpath(check_shoal(), NULL));
    REQUIRE(shoal != NULL);
    program = ranks_program();
    setenv("SHOAL_BIN", shoal, 1);
    REQUIRE(chdir(check_dir()) == 0);
    check_write("m.ode", "par a=1, b=2\nx'=-a*x+b\ny'=x-y\ninit x=1\n@ t1=3, method=tsit5\n");
    check_write("b.csv", "b,_id\n1,one\n2,\"two, or\n\"\"more\"\"\"\n3,\n4,four\n");
}

#define RANKS(n, ...) RUN("mpirun", "-n", n, program, __VA_ARGS__)

static bool same(const char *a, const char *b) { return RUN("cmp", a, b).status == 0; }

TEST(mpi_gives_one_run) {
    place();
    static const struct {
        const char *out, *ref, *words[6];
    } jobs[] = {
        {"o.npz", "r.npz", {"--sweep", "a=lin:1:2:5000", "--chunk", "100"}},
        {"o.csv", "r.csv", {"--batch", "b.csv", "--sweep", "a=lin:1:2:60", "--save", "steps"}},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char *const *w = jobs[i].words;
        struct check_output o = RANKS("3", "run", "m.ode", "--device", "cpu", "-o", jobs[i].out,
                                      w[0], w[1], w[2], w[3], w[4], w[5]);
        CHECK_MSG(o.status == 0, "%s", o.err);
        CHECK_HAS(o.err, i ? "240 trajectories: 240 ok" : "5000 trajectories: 5000 ok");
        CHECK_STR(o.out, "");
        o = SHOAL("run", "m.ode", "-q", "--device", "cpu", "-o", jobs[i].ref, w[0], w[1], w[2],
                  w[3], w[4], w[5]);
        CHECK_INT(o.status, 0);
        CHECK_MSG(same(jobs[i].out, jobs[i].ref), "%s", jobs[i].out);
    }
    CHECK(same("o.runs.csv", "r.runs.csv"));
    struct check_output o =
        RANKS("2", "run", "m.ode", "-q", "--device", "cpu", "--sweep", "a=lin:1:2:5000", "--chunk",
              "100", "-o", "o.npz", "--timing-json", "t.json");
    CHECK_MSG(o.status == 0, "%s", o.err);
    char *times = check_keep(check_read("t.json"));
    CHECK_HAS(times, "\"track\":\"rank 0\"");
    CHECK_HAS(times, "\"track\":\"rank 1\"");
    CHECK_STR(RUN("sh", "-c", "ls | grep part").out, "");
}

// One rank tells, and all end with one code.
TEST(mpi_tells_once) {
    place();
    struct check_output o = RANKS("3", "run", "m.ode", "--sweep", "aa=1,2", "-o", "o.csv");
    CHECK_INT(o.status, 1);
    const char *said = strstr(o.err, "the model has no name `aa`");
    CHECK_MSG(said && !strstr(said + 1, "the model has no name `aa`"), "%s", o.err);
    o = RANKS("2", "run", "m.ode", "--batch", "-", "-o", "o.csv");
    CHECK_INT(o.status, 2);
    CHECK_HAS(o.err, "standard input cannot be read by several ranks");
    o = RANKS("2", "run", "m.ode", "-q", "--sweep", "a=1,2");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "run,a,t,x,y,status\n0,1,3,");
    CHECK_INT(strncmp(o.out, "run", 3), 0);
}

// ---- Ranks that die -----------------------------------------------------------------------------

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static pid_t start(const char *const *argv) {
    pid_t child = fork();
    if (child)
        return child;
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static bool has_ranges(const char *journal) {
    char *text = check_read(journal);
    bool has = text && strstr(text, "\nrange ");
    free(text);
    return has;
}

#define LONG_JOB(rows) "--sweep", "a=lin:1:2:" rows, "--device", "cpu", "--chunk", "2000"
#define SHORT "2000000"
#define LONG "10000000"

// A signal to a rank, or (-1) to mpirun itself.
static void stop_and_go_on(const char *const *argv, int number, int which, const char *again) {
    pid_t mpirun = start(argv), rank = 0;
    for (int i = 0; i < 3000 && !has_ranges("o.npz.part.journal"); i++)
        nap();
    REQUIRE(has_ranges("o.npz.part.journal"));
    if (which >= 0)
        REQUIRE((rank = ranks_find_one(mpirun, which)) > 0);
    kill(which >= 0 ? rank : mpirun, number);
    int status = ranks_reap(mpirun);
    CHECK(WEXITSTATUS(status) != 0 || WIFSIGNALED(status));
    struct check_output o = SHOAL("status", "o.npz");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.out, "000000 runs");
    o = RANKS(again, "resume", "o.npz", "-q");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK(access("o.npz.journal", F_OK) != 0 && access("o.npz.part", F_OK) != 0);
}

LONG_TEST(mpi_goes_on_after_a_kill) {
    place();
    const char *const argv[] = {"mpirun", "-n", "3",     program,         "run", "m.ode",
                                "-q",     "-o", "o.npz", LONG_JOB(SHORT), NULL};
    stop_and_go_on(argv, SIGKILL, 1, "2");
    REQUIRE(SHOAL("run", "m.ode", "-q", "-o", "r.npz", LONG_JOB(SHORT)).status == 0);
    CHECK(same("o.npz", "r.npz"));
}

LONG_TEST(mpi_goes_on_after_a_stop) {
    place();
    const char *const argv[] = {"mpirun", "-n", "3",     program,        "run", "m.ode",
                                "-q",     "-o", "o.npz", LONG_JOB(LONG), NULL};
    REQUIRE(SHOAL("run", "m.ode", "-q", "-o", "r.npz", LONG_JOB(LONG)).status == 0);
    stop_and_go_on(argv, SIGUSR1, 0, "1");
    CHECK(same("o.npz", "r.npz"));
    stop_and_go_on(argv, SIGTERM, -1, "4");
    CHECK(same("o.npz", "r.npz"));
}

// ---- Ranks that wait ----------------------------------------------------------------------------

// Seconds of a processor that a process took so far.
static double cpu_of(pid_t pid) {
    char path[64];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    char *text = check_read(path), *behind = text ? strrchr(text, ')') : NULL;
    if (behind)
        sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    free(text);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

// A batch of one run keeps one rank busy; the others take next to no time.
TEST(mpi_ranks_sleep) {
    place();
    check_write("s.ode", "par a=1\nx'=-a*x\n@ t1=1e7, dt=1e-2, method=rk4\n");
    REQUIRE(SHOAL("warm", "s.ode", "--device", "cpu").status == 0);
    const char *const argv[] = {"mpirun", "-n",       "4",   program, "run",   "s.ode",
                                "-q",     "--device", "cpu", "-o",    "o.csv", NULL};
    pid_t mpirun = start(argv);
    for (int i = 0; i < 3000 && access("o.csv.part", F_OK); i++)
        nap();
    pid_t rank[RANKS_MOST];
    int ranks = ranks_find(mpirun, rank), busy = 0;
    double before[RANKS_MOST];
    CHECK_INT(ranks, 4);
    for (int i = 0; i < 20; i++)
        nap();
    for (int i = 0; i < ranks; i++)
        before[i] = cpu_of(rank[i]);
    for (int i = 0; i < 50; i++)
        nap();
    for (int i = 0; i < ranks; i++)
        busy += cpu_of(rank[i]) - before[i] > 0.1;
    CHECK_MSG(busy <= 1, "%d ranks are busy", busy);
    kill(mpirun, SIGTERM);
    ranks_reap(mpirun);
}
