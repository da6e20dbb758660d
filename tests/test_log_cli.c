// SPDX-License-Identifier: MIT
// The time log as people see it: what --timing prints, what the files hold, life signs of a long
// compilation, and its end on Ctrl-C.
#include "check.h"

#include "json_text.h"
#include "shoal/shoal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

static const char decay[] = "par a=1\ninit x=1\nx'=-a*x\n@ t1=1\n";

static const char *model(void) {
    const char *path = check_path("m.ode");
    check_write(path, decay);
    return path;
}

#define RUN_MODEL(...) RUN(check_shoal(), "run", model(), "-o", check_path("o.csv"), __VA_ARGS__)

// A compiler that makes itself known, takes its time, and then does its work; quick to answer
// questions.
static void use_slow_compiler(const char *seconds) {
    const char *path = check_path("slow-cc");
    char text[512];
    snprintf(
        text, sizeof text,
        "#!/bin/sh\ncase \"$*\" in *hot.o*kernel.so*) : > %s; sleep %s;; esac\nexec cc \"$@\"\n",
        check_path("begun"), seconds);
    check_write(path, text);
    REQUIRE(chmod(path, 0700) == 0);
    setenv("SHOAL_CC", path, 1);
}

// ---- The summary --------------------------------------------------------------------------------

// Microseconds of a number of milliseconds with three decimals: exact, so that sums can be.
static long long micro(const char *text) {
    char *end;
    long long ms = strtoll(text, &end, 10);
    REQUIRE(*end == '.');
    return ms * 1000 + strtoll(end + 1, NULL, 10);
}

static long long row_us(const char *err, const char *name) {
    char head[32];
    snprintf(head, sizeof head, "\n  %-10s ", name);
    const char *row = strstr(err, head);
    if (!row)
        check_fail(__FILE__, __LINE__, "no row %s in:\n%s", name, err);
    REQUIRE(row);
    return micro(row + strlen(head) + strspn(row + strlen(head), " "));
}

static const char *const categories[] = {"codegen", "build", "compile", "runtime"};

static void check_categories(const char *err) {
    long long sum = row_us(err, "other");
    for (size_t i = 0; i < 4; i++)
        sum += row_us(err, categories[i]);
    CHECK_INT(row_us(err, "total"), sum);
    CHECK(sum > 0);
}

// The own times of a category's events make the category.
static void check_events(const char *err) {
    long long sums[4] = {0};
    const char *table = strstr(err, "\nevent  ");
    REQUIRE(table);
    for (const char *line = strchr(table + 1, '\n') + 1; !strncmp(line, "  ", 2);
         line = strchr(line, '\n') + 1) {
        char label[64], category[16], own[32];
        unsigned count;
        REQUIRE(sscanf(line, " %63s %15s %u %31s", label, category, &count, own) == 4);
        for (size_t i = 0; i < 4; i++)
            sums[i] += strcmp(category, categories[i]) ? 0 : micro(own);
    }
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(sums[i], row_us(err, categories[i]));
}

TEST(log_cli_parts_make_the_total) {
    static const char *const words[] = {"default", "verbose", "debug"};
    for (size_t i = 0; i < 3; i++) {
        struct check_output o =
            RUN_MODEL("--timing", words[i], "--sweep", "a=lin:0:1:1000", "--chunk", "100");
        CHECK_INT(o.status, 0);
        check_categories(o.err);
        CHECK_HAS(o.err, " trajectories/s, ");
        CHECK_HAS(o.err, " steps/s, ");
        CHECK_HAS(o.err, " GB/s of results\n");
        CHECK_INT(strstr(o.err, "\nevent  ") != NULL, i >= 1);
        if (i >= 1)
            check_events(o.err);
        CHECK_INT(strstr(o.err, " > parse\n") != NULL, i == 2);
        CHECK_INT(strstr(o.err, " < parse ") != NULL, i == 2);
    }
}

TEST(log_cli_one_event_a_chunk) {
    struct check_output o =
        RUN_MODEL("--timing", "verbose", "--sweep", "a=lin:0:1:1000", "--chunk", "100");
    const char *row = strstr(o.err, "\n  kernel_launch ");
    char category[16];
    unsigned count = 0;
    REQUIRE(row && sscanf(row, " kernel_launch %15s %u", category, &count) == 2);
    CHECK_INT(count, 10);
}

// Where there is a cache, the summary says what it gave.
TEST(log_cli_cache_result) {
    for (int i = 0; i < 2; i++) {
        struct check_output o = RUN_MODEL("--timing-json", check_path("t.json"));
        CHECK_INT(o.status, 0);
        const char *lookup = strstr(check_read(check_path("t.json")), "\"label\":\"cache_lookup\"");
        if (!lookup)
            check_skip("no cache");
        char line[64];
        snprintf(line, sizeof line, "\ncache\n  %s", json_field(lookup, "result"));
        CHECK_HAS(o.err, line);
        CHECK_STR(json_field(lookup, "result"), i ? "hit" : "miss");
    }
}

TEST(log_cli_none_and_quiet) {
    struct check_output o = RUN_MODEL("--timing", "none");
    CHECK_INT(o.status, 0);
    CHECK_MSG(!strstr(o.err, " ms") && !strstr(o.err, "trajectories/s") && !strstr(o.err, " s\n"),
              "%s", o.err);
    o = RUN_MODEL("--timing", "debug", "-q");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.err, "");
}

// ---- Files --------------------------------------------------------------------------------------

TEST(log_cli_files) {
    const char *json = check_path("t.json"), *trace = check_path("t.trace");
    struct check_output o = RUN_MODEL("--timing", "none", "-q", "--timing-json", json, "--trace",
                                      trace, "--sweep", "a=lin:0:1:1000", "--chunk", "100");
    CHECK_INT(o.status, 0);
    CHECK_STR(o.err, "");
    char *text = check_read(json);
    REQUIRE(text);
    size_t launches = 0;
    for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
        char *one = strndup(line, strcspn(line, "\n"));
        CHECK_MSG(json_is_valid(one), "%s", one);
        launches += !strcmp(json_field(one, "label"), "kernel_launch") &&
                    !strcmp(json_field(one, "track"), "main");
        free(one);
    }
    CHECK_INT(launches, 10);
    static const char *const labels[] = {"parse",
                                         "simplify",
                                         "emit_dxdt",
                                         "assemble_source",
                                         "module_load",
                                         "solve_ivp_execution",
                                         "solver_solve_execution",
                                         "kernel_run_execution",
                                         "h2d_transfer_parameters",
                                         "d2h_transfer_state",
                                         "finish_output"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        char part[64];
        snprintf(part, sizeof part, "\"label\":\"%s\"", labels[i]);
        CHECK_HAS(text, part);
    }
    CHECK_HAS(text, "\"chunk_index\":9,\"chunk_slice\":\"900:1000\",\"is_chunked\":1");
    CHECK_HAS(text, "\"total_runs\":1000,\"num_chunks\":10");
    text = check_read(trace);
    REQUIRE(text);
    CHECK(json_is_valid(text));
    CHECK_HAS(text, "\"name\":\"kernel_launch\"");
}

// Each worker has a track of its own, in the log and in the trace.
TEST(log_cli_tracks_of_workers) {
    const char *json = check_path("t.json"), *trace = check_path("t.trace");
    struct check_output o = RUN_MODEL("--timing-json", json, "--trace", trace, "--sweep",
                                      "a=lin:0:1:1000", "--threads", "3", "--timing", "verbose");
    CHECK_INT(o.status, 0);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "\"cpu worker %d\"", i);
        CHECK_HAS(check_read(json), name);
        CHECK_HAS(check_read(trace), name);
    }
    CHECK(!strstr(check_read(json), "\"cpu worker 3\""));
    CHECK_HAS(o.err, "on devices and other threads, not part of the total");
}

// The row of a label in docs/timing.md; NULL: none. Free it.
static char *documented(const char *label) {
    char start[80];
    const char *docs = check_read("docs/timing.md");
    snprintf(start, sizeof start, "\n| `%s` |", label);
    const char *row = docs ? strstr(docs, start) : NULL;
    return row ? strndup(row + 1, strcspn(row + 1, "\n")) : NULL;
}

// Every key of the metadata stands in the row of its event.
static void check_metadata(const char *line) {
    char *row = documented(json_field(line, "label")), key[64];
    const char *at = strstr(line, "\"meta\":{");
    CHECK_MSG(row && at, "%s", line);
    for (at = at ? at + 8 : ""; sscanf(at, "%*[{,]\"%63[a-z_0-9]\":", key) == 1;) {
        CHECK_MSG(row && strstr(row, key), "%s is not in the row: %s", key, row ? row : "");
        at += strlen(key) + 4; // {"key":
        at += *at == '"' ? strcspn(at + 1, "\"") + 2 : strcspn(at, ",}");
    }
    free(row);
}

TEST(log_cli_metadata_is_documented) {
    const char *json = check_path("t.json");
    RUN_MODEL("--timing", "verbose", "--timing-json", json, "--sweep", "a=lin:0:1:1000");
    char *text = check_read(json), *rest = NULL;
    REQUIRE(text);
    strtok_r(text, "\n", &rest); // the header
    for (char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL;)
        check_metadata(line);
}

TEST(log_cli_files_that_cannot_be_written) {
    struct check_output o = RUN_MODEL("--timing-json", check_path("no/dir"));
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "no/dir");
    CHECK(!check_read(check_path("o.csv"))); // nothing was run
    if (access("/dev/full", W_OK))
        check_skip("no /dev/full");
    CHECK_INT(RUN_MODEL("--trace", "/dev/full").status, 4);
    CHECK_INT(RUN_MODEL("--trace", check_path("x"), "--timing-json", check_path("x")).status, 2);
}

// ---- Long compilations --------------------------------------------------------------------------

TEST(log_cli_compiling_shows_life) {
    char command[512];
    if (RUN("script", "-qec", "true", "/dev/null").status)
        check_skip("no `script` to make a terminal with");
    use_slow_compiler("0.6");
    snprintf(command, sizeof command, "NO_COLOR=1 TERM=xterm %s run %s", check_shoal(), model());
    struct check_output o = RUN("script", "-qec", command, "/dev/null");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "\r\033[Kcompiling kernel ... ");
    CHECK(!strstr(o.out, "... 0.1 s"));                 // not so soon
    CHECK(!strstr(o.out, "about"));                     // nothing is known of it
    setenv("SHOAL_CACHE_DIR", check_path("cache2"), 1); // compile again
    snprintf(command, sizeof command, "TERM=xterm %s run %s --timing none", check_shoal(), model());
    o = RUN("script", "-qec", command, "/dev/null");
    CHECK_HAS(o.out, "\r\033[Kcompiling kernel ...\r");
    setenv("SHOAL_CACHE_DIR", check_path("cache3"), 1);
    snprintf(command, sizeof command, "TERM=xterm %s warm %s", check_shoal(), model());
    o = RUN("script", "-qec", command, "/dev/null");
    CHECK_HAS(o.out, "\r\033[Kcompiling kernel ... ");
    setenv("SHOAL_CACHE_DIR", check_path("cache4"), 1);
    o = RUN(check_shoal(), "run", model()); // no terminal, no line
    CHECK(!strstr(o.err, "compiling"));
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Starts a run, sends it a signal once the compiler is at work; how long it took to end after that.
static double signal_in_compiler(int number, const char *trace, int *status) {
    const char *begun = check_path("begun"), *path = model();
    unlink(begun);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl(check_shoal(), check_shoal(), "run", path, "-q", "-o", check_path("o.csv"), "--trace",
              trace, (char *)NULL);
        _exit(127);
    }
    while (access(begun, F_OK) && waitpid(pid, status, WNOHANG) == 0)
        usleep(1000);
    double start = seconds();
    kill(pid, number);
    waitpid(pid, status, 0);
    return seconds() - start;
}

TEST(log_cli_interrupt_in_compiler) {
    double best = INFINITY;
    use_slow_compiler("20");
    for (int i = 0; i < 5 && best > 0.2; i++) { // other work may get in the way
        int status = 0;
        double took = signal_in_compiler(SIGINT, check_path("t.trace"), &status);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT);
        best = took < best ? took : best;
    }
    CHECK_MSG(best <= 0.2, "%.3f s", best);
    CHECK(json_is_valid(check_read(check_path("t.trace"))));
}

// What a killed run was doing can be seen.
TEST(log_cli_trace_of_a_killed_run) {
    int status = 0;
    use_slow_compiler("0.5");         // it outlives the run for a moment,
    setenv("TMPDIR", check_dir(), 1); // and leaves something behind
    signal_in_compiler(SIGKILL, check_path("t.trace"), &status);
    REQUIRE(WIFSIGNALED(status));
    char *text = check_read(check_path("t.trace")), *whole = NULL;
    REQUIRE(text && asprintf(&whole, "%s]", text) > 0);
    CHECK(json_is_valid(whole));
    free(whole);
    const char *last = strrchr(text, '{');
    CHECK_HAS(last, "\"ph\":\"B\",\"name\":\"compile_kernel\"");
}

// ---- The same for programs ----------------------------------------------------------------------

struct life {
    pthread_t thread;
    int calls;
    double elapsed;
};

static void on_compile(const shoal_compile *now, void *user) {
    struct life *life = user;
    CHECK(pthread_equal(life->thread, pthread_self()));
    CHECK_STR(now->what, "kernel");
    CHECK(life->calls ? now->elapsed_s > life->elapsed : now->elapsed_s == 0); // it begins
    CHECK(isnan(now->predicted_s) || now->predicted_s > 0);
    life->elapsed = now->elapsed_s;
    life->calls++;
}

static shoal_code make_solver(struct life *life, shoal_log *log) {
    shoal_model *m = NULL;
    shoal_options o;
    shoal_solver *s = NULL;
    *life = (struct life){.thread = pthread_self()};
    REQUIRE(shoal_model_parse("m.ode", decay, strlen(decay), &m, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&o, m, log) == SHOAL_OK);
    o.on_compile = on_compile;
    o.on_compile_user = life;
    shoal_code code = shoal_solver_new(m, &o, &s, log);
    shoal_solver_free(s);
    shoal_model_free(m);
    return code;
}

TEST(log_on_compile) {
    struct life life;
    shoal_log *log = shoal_log_new();
    use_slow_compiler("0.4");
    CHECK_INT(make_solver(&life, log), SHOAL_OK);
    CHECK_MSG(life.calls >= 4, "%d calls", life.calls);
    CHECK(life.elapsed >= 0.35);
    setenv("SHOAL_CC", "/bin/false", 1);
    CHECK_INT(make_solver(&life, log), SHOAL_DEVICE);
    CHECK_HAS(shoal_log_message(log, shoal_log_message_count(log) - 1).text, "exit code 1");
    shoal_log_free(log);
}

// A program reads the events of its own solve.
TEST(log_events_of_a_solve) {
    struct life life;
    shoal_log *log = shoal_log_new();
    REQUIRE(shoal_log_register(log, "all", SHOAL_BUILD, "everything") == SHOAL_OK);
    CHECK(shoal_log_start(log, "all"));
    CHECK_INT(make_solver(&life, log), SHOAL_OK);
    CHECK(shoal_log_stop(log, "all"));
    uint64_t ns[SHOAL_CATEGORY_COUNT], other, inside = 0;
    shoal_log_totals(log, ns, &other);
    CHECK(ns[SHOAL_COMPILE] > ns[SHOAL_CODEGEN] && ns[SHOAL_CODEGEN] > 0 && ns[SHOAL_RUNTIME] == 0);
    shoal_span all = shoal_log_span(log, 0);
    for (size_t i = 1; i < shoal_log_span_count(log); i++) {
        shoal_span e = shoal_log_span(log, i);
        REQUIRE(e.parent >= 0);
        shoal_span parent = shoal_log_span(log, (size_t)e.parent);
        CHECK(e.t0_ns >= parent.t0_ns && e.t0_ns + e.dur_ns <= parent.t0_ns + parent.dur_ns);
        inside += e.parent == 0 ? e.dur_ns : 0;
    }
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        all.dur_ns -= ns[c];
    CHECK_INT(all.dur_ns, 0); // it is the root of all
    CHECK(inside > 0);
    shoal_log_free(log);
}
