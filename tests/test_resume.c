// SPDX-License-Identifier: MIT
// Runs that are killed, stopped or refused, and go on: the file is then that of one run.
#include "check.h"
#include "ranks.h"

#include "base/arena.h"
#include "base/buf.h"
#include "io/journal.h"
#include "io/zip.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static const char lorenz[] = "par rho=28\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n"
                             "init x=1, y=1, z=1\n@ t1=40, method=tsit5\n";

// ---- Jobs ---------------------------------------------------------------------------------------

// What a result may hold, in words of the command line.
struct job {
    const char *name, *words[8];
    uint64_t rows; // 0: chunks run twice, to count first
};
static const struct job jobs[] = {
    {"final", {"--sweep", "rho=lin:0:28:20000"}, 20000},
    {"series", {"--sweep", "rho=lin:0:28:4000", "--save", "n=11"}, 4000},
    {"steps", {"--sweep", "rho=lin:0:28:800", "--save", "steps", "--t1", "5"}, 0},
    {"summary",
     {"--sweep", "rho=lin:0:28:6000", "--summary", "max(x),p=peaks(x,3)", "--window", "10"},
     6000},
    {"text", {"--batch", "b.csv", "--sweep", "x(0)=lin:1:2:80"}, 16000},
    {"reduced",
     {"--sweep", "rho=lin:0:28:9000", "--save", "n=3", "--reduce", "mean,std,max,quantile(0.1)"},
     9000},
    {"groups",
     {"--batch", "b.csv", "--sweep", "x(0)=lin:1:2:80", "--by", "_id", "--reduce", "mean"},
     16000},
};
enum { JOBS = sizeof jobs / sizeof *jobs, WORDS_MOST = 24 };
static const char *const endings[] = {"npz", "csv", "h5"};
enum { ENDINGS = sizeof endings / sizeof *endings };

// In the test's directory, with the program by its whole path.
static const char *place(void) {
    const char *path = check_enter();
    check_write("m.ode", lorenz);
    struct buf rows = {0};
    buf_puts(&rows, "rho,_id\n");
    for (int i = 0; i < 200; i++)
        buf_printf(&rows, "%d,\"name %d\"\n", i % 28, i * i);
    check_write("b.csv", rows.data);
    buf_free(&rows);
    setenv("SHOAL_SNAPSHOT_SECONDS", "0.003", 1);
    return path;
}

// Who runs it: words before those of the job, and its devices.
struct way {
    const char *start[4], *device;
};

static void words_by(const struct way *way, const struct job *job, const char *out,
                     const char *const *more, const char *argv[WORDS_MOST]) {
    size_t n = 0;
    const char *const first[] = {"run", "m.ode", "-q", "--device", way->device, "-o", out};
    for (size_t i = 0; i < 4 && way->start[i]; i++)
        argv[n++] = way->start[i];
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        argv[n++] = first[i];
    for (size_t i = 0; i < 8 && job->words[i]; i++)
        argv[n++] = job->words[i];
    while (*more && n + 1 < WORDS_MOST)
        argv[n++] = *more++;
    argv[n] = NULL;
}

static void words_of(const struct job *job, const char *out, const char *const *more,
                     const char *argv[WORDS_MOST]) {
    words_by(&(struct way){{check_shoal()}, "cpu"}, job, out, more, argv);
}

static struct check_output run_job(const struct job *job, const char *out,
                                   const char *const *more) {
    const char *argv[WORDS_MOST];
    words_of(job, out, more, argv);
    return check_command(argv);
}
#define RUN_JOB(...) RUN_JOB_(__VA_ARGS__, NULL)
#define RUN_JOB_(job, out, ...) run_job(job, out, (const char *const[]){__VA_ARGS__})

static const char *name_of(const char *stem, const char *ending) {
    char *name = check_keep(malloc(64));
    REQUIRE(name != NULL);
    snprintf(name, 64, "%s.%s", stem, ending);
    return name;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static size_t size_of(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 ? (size_t)s.st_size : 0;
}

static bool same_files(const char *a, const char *b) {
    char *one = check_read(a), *two = check_read(b);
    size_t n = size_of(a);
    bool same = one && two && n == size_of(b) && !memcmp(one, two, n);
    free(one);
    free(two);
    return same;
}

// The result and the tables beside it, and nothing else that a run leaves while it is made.
static void check_same(const struct job *job, const char *ending) {
    static const char *const tables[] = {"", "runs.", "windows."};
    for (size_t i = 0; i < (strcmp(ending, "csv") ? 1 : 3); i++) {
        char want[64], got[64];
        snprintf(want, sizeof want, "ref.%s%s", tables[i], ending);
        snprintf(got, sizeof got, "k.%s%s", tables[i], ending);
        CHECK_MSG(exists(want) == exists(got), "%s %s: %s is missing", job->name, ending, got);
        CHECK_MSG(!exists(want) || same_files(want, got), "%s: %s and %s differ", job->name, want,
                  got);
    }
    struct check_output o = RUN("sh", "-c", "ls | grep -E 'part|journal'");
    CHECK_MSG(!*o.out, "%s %s left %s", job->name, ending, o.out);
}

static bool has_hdf5(void) {
    static int has = -1;
    if (has < 0)
        has = !strstr(RUN_JOB(&jobs[4], "probe.h5", "--only-runs", "0").err, "library not found");
    return has;
}

static void clean(void) { RUN("sh", "-c", "rm -f ref.* k.*"); }

// ---- Bytes --------------------------------------------------------------------------------------

// What leaves the numbers alone leaves the file alone.
TEST(resume_bytes_do_not_depend_on_chunks) {
    static const char *const ways[][5] = {{"--threads", "1", "--chunk", "7"},
                                          {"--threads", "3", "--chunk", "100000"},
                                          {"--refill", "off", "--memory", "1M"}};
    place();
    for (int k = 0; k < JOBS; k++)
        for (int e = 0; e < ENDINGS; e++) {
            if (e == 2 && !has_hdf5())
                continue;
            clean();
            CHECK_INT(RUN_JOB(&jobs[k], name_of("ref", endings[e]), "--only-runs", "10:200").status,
                      0);
            for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                struct check_output o =
                    RUN_JOB(&jobs[k], name_of("k", endings[e]), "--only-runs", "10:200", ways[i][0],
                            ways[i][1], ways[i][2], ways[i][3]);
                CHECK_MSG(o.status == 0, "%s", o.err);
                check_same(&jobs[k], endings[e]);
            }
        }
}

// Nor does the device matter where its bits do not.
TEST(resume_bytes_of_devices) {
    static const struct job few = {// most peaks are NaN
                                   "few",
                                   {"--sweep", "rho=1,2,3", "--summary", "p=peaks(x,3)"},
                                   3};
    place();
    CHECK_INT(RUN_JOB(&few, "ref.npz").status, 0);
    struct check_output o = RUN_JOB(&few, "k.npz", "--device", "opencl");
    if (o.status)
        check_skip("no OpenCL device: %s", o.err);
    check_same(&few, "npz");
    setenv("SHOAL_CPU_TARGET", "x86-64", 1);
    o = RUN_JOB(&few, "k.npz");
    CHECK_MSG(o.status == 0, "%s", o.err);
    check_same(&few, "npz");
}

// ---- Kills --------------------------------------------------------------------------------------

static double uniform(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pause_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static pid_t start(const char *const *argv) {
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    REQUIRE(pid > 0);
    return pid;
}

// Sends a signal to a process.
static void send_one(pid_t pid, int number) { kill(pid, number); }

// Starts a job that would take a while, and sends a signal at a random time, but not before it has
// begun to write. Its status.
static int interrupt_by(const struct way *way, const struct job *job, const char *out, int number,
                        double longest, void (*send)(pid_t pid, int number)) {
    const char *argv[WORDS_MOST];
    const char *const more[] = {"--threads", "1", "--chunk", "23", "--resume", NULL};
    int status = 0;
    words_by(way, job, out, more, argv);
    char journal[80];
    snprintf(journal, sizeof journal, "%s.part.journal", out);
    pid_t pid = start(argv);
    for (double end = now() + 5; !exists(journal) && now() < end && kill(pid, 0) == 0;)
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        else
            pause_for(0.001);
    pause_for(uniform() * longest);
    send(pid, number);
    return ranks_reap(pid);
}

static int interrupt(const struct job *job, const char *out, int number, double longest) {
    return interrupt_by(&(struct way){{check_shoal()}, "cpu"}, job, out, number, longest, send_one);
}

// Rows that a journal says are done, in order or ahead.
static uint64_t rows_done(const char *out) {
    shoal_journal_info info;
    return shoal_journal_read(out, &info, NULL) == SHOAL_OK ? info.done + info.ahead : 0;
}

// Rows that were computed, by the time log: those of launches, or of ranges that several had.
static uint64_t rows_run(const char *log) {
    char *text = check_read(log);
    uint64_t rows = 0;
    const char *span =
        text && strstr(text, "\"range_run\"") ? "\"range_run\"" : "\"kernel_launch\"";
    for (const char *at = text; at && (at = strstr(at, span)); at++) {
        const char *end = strchr(at, '\n'), *n = strstr(at, "\"numruns\":");
        if (n && (!end || n < end))
            rows += strtoull(n + strlen("\"numruns\":"), NULL, 10);
    }
    free(text);
    return rows;
}

// ---- Who is killed ------------------------------------------------------------------------------

// Any of the ranks of mpirun, or all of them.
static void send_ranks(pid_t mpirun, int number) {
    pid_t rank[RANKS_MOST];
    int ranks = ranks_find(mpirun, rank), one = (int)(uniform() * (ranks + 1));
    for (int i = 0; i < ranks; i++)
        if (one == ranks || i == one)
            kill(rank[i], number);
    if (one == ranks)
        kill(mpirun, number);
}

// Those that were started by one that was killed end a little later.
static void wait_for_end(const char *out) {
    shoal_journal_info info = {0};
    for (double end = now() + 20; now() < end; pause_for(0.01))
        if (shoal_journal_read(out, &info, NULL) != SHOAL_OK || !info.running)
            return;
    CHECK_MSG(false, "%s is still being written", out);
}

struct victim {
    struct way way[3]; // that runs, and others that may go on
    int ways;
    void (*send)(pid_t pid, int number);
};

static struct victim one_process(void) {
    return (struct victim){{{{check_shoal()}, "cpu"}}, 1, send_one};
}

static struct victim two_devices(const char *device) {
    return (struct victim){{{{check_shoal()}, device}, {{check_shoal()}, "cpu"}}, 2, send_one};
}

static struct victim four_ranks(void) {
    const char *program = ranks_program();
    return (struct victim){{{{"mpirun", "-n", "4", program}, "cpu"},
                            {{"mpirun", "-n", "3", program}, "cpu"},
                            {{check_shoal()}, "cpu"}},
                           3,
                           send_ranks};
}

// What a run takes whose kernel is there; its result is the reference.
static double time_reference(const struct job *job, const char *ending) {
    REQUIRE(RUN_JOB(job, name_of("ref", ending), "--only-runs", "0").status == 0);
    double begin = now();
    REQUIRE(RUN_JOB(job, name_of("ref", ending), "--threads", "2").status == 0);
    return now() - begin;
}

// One job, killed so often and gone on with; how often it was hit. With chunks of 23 runs it takes
// longer than the reference.
static int check_killed(const struct victim *v, const struct job *job, const char *ending,
                        int kills) {
    const char *out = name_of("k", ending), *argv[WORDS_MOST];
    const char *const again[] = {"--resume", "--timing-json", "t.json", NULL};
    int killed = 0;
    clean();
    double longest = 0.4 * time_reference(job, ending);
    for (int i = 0; i < kills; i++) {
        int status = interrupt_by(&v->way[0], job, out, SIGKILL, longest, v->send);
        killed += WIFSIGNALED(status) || WEXITSTATUS(status);
        wait_for_end(out);
    }
    uint64_t done = rows_done(out);
    words_by(&v->way[(int)(uniform() * v->ways)], job, out, again, argv);
    struct check_output o = check_command(argv);
    CHECK_MSG(o.status == 0, "%s %s: %s", job->name, ending, o.err);
    check_same(job, ending);
    uint64_t run = rows_run("t.json");
    CHECK_MSG(!job->rows || run + done == job->rows, "%s %s: %llu were done, %llu run", job->name,
              ending, (unsigned long long)done, (unsigned long long)run);
    return killed;
}

// Jobs and formats by turns, from `first` on.
static void check_kills(const struct victim *v, int first, int kills) {
    int killed = 0;
    for (int i = first, left = kills, times; left > 0; i++, left -= times) {
        times = left > 1 ? 1 + i % 2 : 1;
        if (i % ENDINGS == 2 && !has_hdf5())
            continue;
        killed += check_killed(v, &jobs[i % JOBS], endings[i % ENDINGS], times);
    }
    CHECK_MSG(2 * killed > kills, "only %d of %d were killed", killed, kills);
}

static void check_process(int kills) {
    struct victim v = one_process();
    check_kills(&v, 0, kills);
}
static void check_devices(const char *device, int kills) {
    struct victim v = two_devices(device);
    check_kills(&v, 12, kills);
}
static void check_ranks(int kills) {
    struct victim v = four_ranks();
    check_kills(&v, 11, kills);
}

TEST(resume_after_kills) { place(), check_process(10); }
TEST(resume_after_kills_of_devices) { place(), check_devices("cpu+cpu", 6); }
TEST(resume_after_kills_of_ranks) { place(), check_ranks(4); }
LONG_TEST(resume_after_many_kills) { place(), check_process(80); }
LONG_TEST(resume_after_many_kills_of_devices) {
    place();
    if (RUN_JOB(&jobs[0], "probe.csv", "--only-runs", "0", "--device", "opencl:0").status)
        check_skip("no OpenCL device");
    check_devices("cpu+opencl:0", 60);
}
LONG_TEST(resume_after_many_kills_of_ranks) { place(), check_ranks(60); }

// ---- Stops --------------------------------------------------------------------------------------

// The file is valid, says how far it is, and another run goes on.
TEST(resume_after_stops) {
    static const struct {
        int number, status;
    } signals[] = {{SIGTERM, 128 + SIGTERM}, {SIGUSR1, 75}, {SIGXCPU, 75}, {SIGINT, 128 + SIGINT}};
    place();
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < ENDINGS; e++) {
            const struct job *job = &jobs[(i + e) % JOBS];
            const char *out = name_of("k", endings[e]);
            if (e == 2 && !has_hdf5())
                continue;
            clean();
            REQUIRE(RUN_JOB(job, name_of("ref", endings[e])).status == 0);
            int status = interrupt(job, out, signals[i].number, 0.05);
            CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == signals[i].status ||
                                        WEXITSTATUS(status) == 0)); // it was done already
            CHECK(exists(out) && !exists(name_of("k.part", endings[e])));
            struct check_output o = SHOAL("status", out);
            if (WEXITSTATUS(status)) {
                CHECK_HAS(o.out, "stopped: ");
                o = SHOAL("resume", out, "-q", "--threads", "2");
                CHECK_MSG(o.status == 0, "%s %s: %s", job->name, endings[e], o.err);
            }
            check_same(job, endings[e]);
        }
}

TEST(resume_time_limit) {
    place();
    struct check_output o;
    for (int tries = 0; tries < 20 && !exists("k.npz.journal"); tries++) { // until it has begun
        o = RUN_JOB(&jobs[0], "k.npz", "--chunk", "10", "--threads", "1", "--t1", "4000",
                    "--max-steps", "1G", "--time-limit", "0.3s");
        CHECK_INT(o.status, 75);
    }
    CHECK(exists("k.npz") && exists("k.npz.journal"));
    setenv("SHOAL_TIME_LIMIT", "0m0.1s", 1);
    CHECK_INT(SHOAL("resume", "k.npz", "-q").status, 75);
    setenv("SHOAL_TIME_LIMIT", "soon", 1);
    o = SHOAL("resume", "k.npz", "-q");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "'soon' is no length of time such as 30d or 3h50m");
    unsetenv("SHOAL_TIME_LIMIT");
    CHECK_INT(RUN_JOB(&jobs[0], "l.npz", "--time-limit", "50m3h").status, 1);
    CHECK_INT(RUN_JOB(&jobs[0], "l.npz", "--time-limit", "1h2m3s", "--only-runs", "0").status, 0);
}

// ---- The same job -------------------------------------------------------------------------------

// Leaves a job with some ranges done.
static void leave(const struct job *job, const char *out) {
    for (int tries = 0; tries < 20; tries++) {
        clean();
        interrupt(job, out, SIGKILL, 0.03);
        if (rows_done(out) > 200) // several ranges
            return;
    }
    check_skip("no row was finished before it was killed");
}

static void refuse(const struct job *job, const char *says, const char *const *more) {
    size_t n = size_of("k.npz.part");
    struct check_output o = run_job(job, "k.npz", more);
    CHECK_MSG(o.status == 1, "exit %d: %s", o.status, o.err);
    CHECK_HAS(o.err, says);
    CHECK(size_of("k.npz.part") == n && exists("k.npz.part.journal"));
}
#define REFUSE(job, says, ...)                                                                     \
    refuse(job, says, (const char *const[]){"--resume", __VA_ARGS__, NULL})

// Whatever makes another job of it is told, and what was done stays.
TEST(resume_refuses_another_job) {
    place();
    leave(&jobs[4], "k.npz");
    REFUSE(&jobs[4], "`rtol` was 1e-6 and is 1e-7", "--rtol", "1e-7");
    REFUSE(&jobs[4], "`t1` was 40 and is 41", "--t1", "41");
    REFUSE(&jobs[4], "`vars` was not given and is x", "--vars", "x");
    REFUSE(&jobs[4], "`values` differs", "--set", "y=2");
    REFUSE(&jobs[4], "`batch` differs", "--sweep", "y(0)=1,2");
    REFUSE(&jobs[4], "`batch` differs", "--only-runs", ":8000");
    REFUSE(&jobs[4], "`model` differs", "--event", "e when x>1e9 : stop");
    check_write("m.ode", "# Lorenz\npar rho=28\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n"
                         "init x=1, y=1, z=1\n@ t1=40, method=tsit5\n");
    REFUSE(&jobs[4], "`model` differs", "--threads", "1");
    check_write("m.ode", lorenz);
    char *rows = check_read("b.csv");
    check_write("other.csv", rows);
    rows[strlen("rho,_id\n")] = '1'; // one number is another
    check_write("b.csv", rows);
    REFUSE(&jobs[4], "`batch` differs", "--threads", "1");
    struct check_output o = SHOAL("resume", "k.npz");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "its content has changed");
    rename("other.csv", "b.csv");
    o = SHOAL("resume", "k.npz.part", "-q");
    CHECK_MSG(o.status == 0, "%s", o.err);
    REQUIRE(RUN_JOB(&jobs[4], "ref.npz").status == 0);
    check_same(&jobs[4], "npz");
}

// With states that were asked for beside summaries it has other columns.
TEST(resume_refuses_other_columns) {
    static const struct job plain = {
        "plain", {"--sweep", "rho=lin:0:28:6000", "--summary", "max(x)"}, 6000};
    place();
    leave(&plain, "k.npz");
    REFUSE(&plain, "`save` was not given and is final", "--save", "final", "--mixed-bits");
}

// Rows that another job left ahead of their turn are not those of a reduction that takes its place.
TEST(resume_rows_ahead_of_another_job) {
    place();
    check_write("k.npz.part.ahead", "rows");
    CHECK_INT(RUN_JOB(&jobs[5], "k.npz").status, 0);
    CHECK(!exists("k.npz.part.ahead"));
}

// Without --resume what was left is replaced, and that is told.
TEST(resume_or_begin_anew) {
    place();
    leave(&jobs[0], "k.npz");
    struct check_output o =
        SHOAL("run", "m.ode", "--device", "cpu", "--sweep", "rho=lin:0:28:20000", "-o", "k.npz");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "a run that was not finished is replaced; --resume goes on with one");
    o = SHOAL("run", "m.ode", "--device", "cpu", "--sweep", "rho=1,2", "--resume", "-o", "k.npz");
    CHECK_INT(o.status, 0); // nothing is left to go on with
    CHECK(!strstr(o.err, "replaced") && !strstr(o.err, "were there"));
    o = SHOAL("resume", "k.npz");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "there is nothing to go on with");
}

// A kernel whose bits may be others is refused by name; where they cannot be, it goes on.
TEST(resume_and_kernels) {
    static const struct job sines = {"sines", {"--sweep", "a=lin:1:2:20000"}, 20000};
    place();
    for (int sine = 0; sine < 2; sine++) {
        check_write("m.ode", sine ? "par a=1\nx'=sin(a*x)\ninit x=1\n@ t1=60\n"
                                  : "par a=1\nx'=-a*x*x\ninit x=1\n@ t1=60\n");
        leave(&sines, "k.npz");
        setenv("SHOAL_CACHE_SALT", "another compiler", 1);
        struct check_output o = RUN_JOB(&sines, "k.npz", "--resume");
        CHECK_INT(o.status, sine);
        if (sine) {
            CHECK_HAS(o.err, "the kernel is another one now");
            o = RUN_JOB(&sines, "k.npz", "--resume", "--mixed-bits");
            CHECK_MSG(o.status == 0, "%s", o.err);
        }
        unsetenv("SHOAL_CACHE_SALT");
    }
}

// A driver's file is part of the job.
TEST(resume_and_drivers) {
    static const struct job driven = {
        "driven", {"--sweep", "a=lin:1:2:20000", "--driver", "u=u.csv"}, 20000};
    place();
    check_write("m.ode", "driver u\npar a=1\nx'=u-a*x\ninit x=1\n@ t1=10\n");
    check_write("u.csv", "t,u\n0,1\n5,2\n10,0\n");
    REQUIRE(RUN_JOB(&driven, "ref.npz").status == 0);
    leave(&driven, "k.npz");
    REQUIRE(RUN_JOB(&driven, "ref.npz").status == 0);
    check_write("u.csv", "t,u\n0,1\n5,3\n10,0\n");
    REFUSE(&driven, "`drivers` differs", "--threads", "1");
    check_write("u.csv", "t,u\n0,1\n5,2\n10,0\n");
    struct check_output o = SHOAL("resume", "k.npz", "-q");
    CHECK_MSG(o.status == 0, "%s", o.err);
    check_same(&driven, "npz");
}

// Two never write one file.
TEST(resume_is_locked) {
    place();
    const char *argv[WORDS_MOST];
    const char *const more[] = {"--t1", "4000", "--max-steps", "1G", NULL};
    words_of(&jobs[0], "k.csv", more, argv);
    pid_t pid = start(argv);
    for (double end = now() + 5; !exists("k.csv.part.journal") && now() < end;)
        pause_for(0.01);
    struct check_output o = RUN_JOB(&jobs[0], "k.csv", "--resume", "--t1", "4000");
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "k.csv.part: another run is writing it");
    CHECK_HAS(SHOAL("status", "k.csv").out, "running: ");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK_HAS(SHOAL("status", "k.csv").out, "interrupted: ");
}

// ---- Damage -------------------------------------------------------------------------------------

static void flip(const char *path, size_t at) {
    int fd = open(path, O_RDWR);
    char c;
    REQUIRE(fd >= 0 && pread(fd, &c, 1, (off_t)at) == 1);
    c ^= 0x10;
    REQUIRE(pwrite(fd, &c, 1, (off_t)at) == 1);
    close(fd);
}

// Data that are not what was written are computed again, those before them are not.
TEST(resume_notices_damaged_data) {
    place();
    for (int e = 0; e < 2; e++) {
        const char *part = name_of("k", e ? "csv.part" : "npz.part"),
                   *out = name_of("k", endings[e]);
        leave(&jobs[0], out);
        REQUIRE(RUN_JOB(&jobs[0], name_of("ref", endings[e])).status == 0);
        uint64_t done = rows_done(out);
        size_t row = (size_t)done / 2; // of the first array, or about that line
        flip(part, e ? size_of(part) / 2 : 100 + 128 + 8 * row);
        struct check_output o =
            RUN(check_shoal(), "run", "m.ode", "--device", "cpu", "--sweep", "rho=lin:0:28:20000",
                "--resume", "-o", out, "--timing-json", "t.json");
        CHECK_MSG(o.status == 0, "%s", o.err);
        CHECK_HAS(o.err, "are as they were written; runs from row ");
        CHECK(rows_run("t.json") > 20000 - done && rows_run("t.json") < 20000);
        check_same(&jobs[0], endings[e]);
    }
}

// A file that somebody put in the place of a stopped one is not touched.
TEST(resume_leaves_other_files_alone) {
    place();
    REQUIRE(RUN_JOB(&jobs[0], "ref.npz").status == 0);
    for (int tries = 0; tries < 20 && !exists("k.npz.journal"); tries++)
        interrupt(&jobs[0], "k.npz", SIGTERM, 0.03);
    REQUIRE(exists("k.npz.journal"));
    REQUIRE(RUN_JOB(&jobs[1], "k.npz.new.npz").status == 0);
    rename("k.npz.new.npz", "k.npz");
    char *before = check_read("k.npz");
    size_t n = size_of("k.npz");
    struct check_output o = RUN_JOB(&jobs[0], "k.npz", "--resume");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "is not what k.npz.journal is about");
    char *after = check_read("k.npz");
    CHECK(size_of("k.npz") == n && !memcmp(before, after, n));
}

// Whatever a journal says, the result is right or nothing comes of it.
TEST(resume_damaged_journals) {
    place();
    REQUIRE(RUN_JOB(&jobs[0], "ref.npz").status == 0);
    leave(&jobs[0], "k.npz");
    REQUIRE(RUN_JOB(&jobs[0], "ref.npz").status == 0);
    RUN("sh", "-c", "mkdir keep && cp --sparse=always k.npz.part* keep");
    size_t size = size_of("k.npz.part.journal");
    for (int i = 0; i < 16; i++) {
        RUN("sh", "-c", "rm -f k.*; cp --sparse=always keep/* .");
        size_t at = (size_t)(uniform() * (double)(size - 1));
        if (i % 2)
            flip("k.npz.part.journal", at);
        else
            REQUIRE(truncate("k.npz.part.journal", (off_t)at) == 0);
        struct check_output o = RUN_JOB(&jobs[0], "k.npz", "--resume");
        CHECK_MSG(o.status == 0, "%s", o.err); // a damaged head: begun anew
        check_same(&jobs[0], "npz");
    }
}

// ---- The reader ---------------------------------------------------------------------------------

// A journal with good checksums around any lines.
static void write_lines(const char *path, const char *const *line, size_t count) {
    struct buf all = {0};
    uint32_t crc = 0;
    for (size_t i = 0; i < count; i++) {
        size_t from = all.length;
        buf_printf(&all, "%s ", line[i]);
        crc = zip_crc(crc, all.data + from, all.length - from);
        buf_printf(&all, "#%08x\n", crc);
    }
    check_write(path, all.data);
    buf_free(&all);
}

// Goes through all that a reader asks of a line.
static uint32_t read_all(const char *path) {
    struct journal_reader d;
    struct arena arena = {0};
    struct journal_stream stream[2];
    struct journal_range range = {.streams = 2, .stream = stream};
    struct journal_fact fact;
    uint32_t lines = 0;
    uint64_t time;
    bool found;
    CHECK_INT(journal_open(&d, path, &found, NULL), SHOAL_OK);
    while (found && journal_next(&d)) {
        lines++;
        journal_read_range(&d, 2, &range);
        journal_read_range(&d, 0, &range);
        journal_read_fact(&d, "is", &arena, &fact);
        journal_read_time(&d, "begin", &time);
        journal_read_meta(&d);
    }
    journal_reader_close(&d);
    arena_free(&arena);
    return lines;
}

static bool range_is_good(const char *line) {
    struct journal_reader d;
    struct journal_stream stream[2];
    struct journal_range range = {.streams = 2, .stream = stream};
    const char *path = check_path("one.journal");
    bool found;
    write_lines(path, &line, 1);
    bool good = journal_open(&d, path, &found, NULL) == SHOAL_OK && journal_next(&d) &&
                journal_read_range(&d, 2, &range);
    journal_reader_close(&d);
    return good;
}

TEST(journal_ranges_are_checked) {
    CHECK(range_is_good("range 0 2 0 1 5 0 9 1@0,0,1@7,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3"));
    static const char *const bad[] = {
        "range 0 2 0 1 5 0 9 1@0,0,0,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3", // of 2 rows 1
        "range 0 0 0 1 5 0 9 0,0,0,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3",   // no row
        "range 0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3",   // a status less
        "range 0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 16:0000000a:0",              // a stream less
        "range 0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 1:0000000a:0,8:ffffffff:3,1:00000000:0",
        "range 0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 16:0000000A:0,8:ffffffff:3", // not our digits
        "range 0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 16:0000000a:0,8:fffffff:3",  // one less
        "range 0 99999999999999999999 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 1:0000000a:0,8:ffffffff:3",
        "range -1 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3",
        "range 0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 16:0000000a:4294967296,8:ffffffff:3",
        "range  0 2 0 1 5 0 9 2@0,0,0,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3",
        "range",
        "range ",
        "",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_MSG(!range_is_good(bad[i]), "%s", bad[i]);
}

// Random bytes, random bytes in good lines, lines without an end: nothing is read past its end.
TEST(journal_reader_takes_anything) {
    const char *path = check_path("any.journal");
    static const char *const seeds[] = {
        "shoal-journal 1",
        "is rtol \"1e-6\"",
        "meta {\"shoal\":\"1\"}",
        "begin 12",
        "stop 13",
        "range 0 2 0 1 5 0 9 1@0,0,1@7,0,0,0,0,0,0 16:0000000a:0,8:ffffffff:3"};
    char line[128];
    for (int i = 0; i < 3000; i++) {
        snprintf(line, sizeof line, "%s", seeds[i % 6]);
        size_t n = strlen(line);
        for (int k = 0; k < 1 + i % 3; k++)
            line[(size_t)(uniform() * (double)n)] = (char)(1 + (int)(uniform() * 254));
        for (char *c = line; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        const char *const lines[] = {line, seeds[5]};
        write_lines(path, lines, 2);
        CHECK_INT(read_all(path), 2);
        CHECK(truncate(path, (off_t)(uniform() * (double)(n + 20))) == 0);
        CHECK(read_all(path) <= 2);
    }
    for (int i = 0; i < 300; i++) {
        char bytes[256];
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (char)(uniform() * 256);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes);
        close(fd);
        CHECK_INT(read_all(path), 0);
    }
    CHECK_INT(mkdir(check_path("d.journal"), 0700), 0);
    struct journal_reader d;
    bool found;
    CHECK(journal_open(&d, check_path("d.journal"), &found, NULL) != SHOAL_OK);
    journal_reader_close(&d);
}
