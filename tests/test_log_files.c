// SPDX-License-Identifier: MIT
// The time log as files: every line is JSON, spans nest, and a killed program leaves what can be
// read.
#include "check.h"

#include "json_text.h"
#include "log/log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL(name) log_label_find(#name)

// ---- Checks of whole files ----------------------------------------------------------------------

// Every line a JSON object with all fields, after the header; returns how many events.
static size_t check_json(const char *text) {
    size_t events = 0;
    REQUIRE(text);
    CHECK_MSG(!strncmp(text, "{\"shoal_timing\": 1, ", 20), "header is %.40s", text);
    static const char *const fields[] = {"id",    "parent", "label", "category",
                                         "t0_ns", "dur_ns", "track", "meta"};
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        char *one = strndup(line, strcspn(line, "\n"));
        REQUIRE(line[strlen(one)] == '\n'); // a whole line
        CHECK_MSG(json_is_valid(one), "not JSON: %s", one);
        for (size_t i = 0; line != text && i < sizeof fields / sizeof *fields; i++)
            CHECK_MSG(json_field(one, fields[i])[0], "no %s in %s", fields[i], one);
        events += line != text;
        free(one);
    }
    return events;
}

struct trace {
    size_t begins, ends, whole, names;
    char open[64][64]; // spans of the calling thread that have not ended
    size_t depth;
};

static void check_step(struct trace *t, const char *line) {
    const char *phase = json_field(line, "ph"), *name = json_field(line, "name");
    t->begins += *phase == 'B';
    t->ends += *phase == 'E';
    t->whole += *phase == 'X';
    t->names += *phase == 'M';
    if (*phase == 'B') {
        REQUIRE(t->depth < 64);
        snprintf(t->open[t->depth++], sizeof t->open[0], "%s", name);
    }
    if (*phase == 'E') {
        REQUIRE(t->depth > 0);
        CHECK_STR(name, t->open[--t->depth]);
    }
}

// As Perfetto reads it: an array, the bracket at its end may be missing.
static struct trace check_trace(const char *text) {
    struct trace t = {0};
    double last = 0;
    REQUIRE(text);
    size_t length = strlen(text);
    bool closed = length > 2 && !strcmp(text + length - 2, "]\n");
    char *whole = malloc(length + 2);
    snprintf(whole, length + 2, "%s%s", text, closed ? "" : "]");
    CHECK_MSG(json_is_valid(whole), "not JSON: ...%s", whole + (length > 200 ? length - 200 : 0));
    free(whole);
    for (const char *line = strchr(text, '\n') + 1; *line == '{';) {
        check_step(&t, line);
        double ts = strtod(json_field(line, "ts"), NULL);
        CHECK(ts >= last || *json_field(line, "ph") == 'M' || *json_field(line, "ph") == 'X');
        last = ts > last ? ts : last;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return t;
}

// ---- What is written ----------------------------------------------------------------------------

static void some_events(shoal_log *log) {
    int32_t outer = log_begin(log, LABEL(solve_ivp_execution));
    for (uint64_t i = 0; i < 3; i++) {
        int32_t span = log_begin(log, LABEL(kernel_launch));
        int32_t device =
            log_device(log, "cuda:0 \"stream\" 1", LABEL(kernel_launch), span, 10 * i, 5);
        log_f64(log, device, "gpu_time_ms", 0.5);
        log_end(log, device);
        log_text(log, span, "chunk_slice", "a\"\\\n\xff");
        log_end(log, span);
    }
    log_end(log, log_measure(log, LABEL(compile_dxdt), -1, 3, 4));
    log_end(log, log_measure(log, LABEL(compile_step), -1, 4, 4));
    log_end(log, outer);
}

TEST(log_json_file) {
    shoal_log *log = shoal_log_new();
    const char *path = check_path("t.json");
    REQUIRE(shoal_log_json(log, path) == SHOAL_OK);
    some_events(log);
    CHECK_INT(shoal_log_close(log), SHOAL_OK);
    char *text = check_read(path);
    CHECK_INT(check_json(text), 9);
    CHECK_HAS(text, "{\"id\":2,\"parent\":1,\"label\":\"kernel_launch\",\"category\":\"runtime\","
                    "\"t0_ns\":0,\"dur_ns\":5,\"track\":\"cuda:0 \\\"stream\\\" 1\","
                    "\"meta\":{\"gpu_time_ms\":0.500000},"
                    "\"description\":\"the kernel, on one chunk\"}\n");
    CHECK_HAS(text, "\"parent\":0,");
    CHECK_HAS(text, "{\"id\":0,\"parent\":null,\"label\":\"solve_ivp_execution\"");
    CHECK_HAS(text, "\"track\":\"separate\",\"meta\":{},\"description\":\"step of the method, "
                    "compiled alone\"}\n");
    shoal_log_free(log);
}

TEST(log_trace_file) {
    shoal_log *log = shoal_log_new();
    const char *path = check_path("t.trace");
    REQUIRE(shoal_log_trace(log, path) == SHOAL_OK);
    some_events(log);
    CHECK_INT(shoal_log_close(log), SHOAL_OK);
    char *text = check_read(path);
    struct trace t = check_trace(text);
    CHECK_INT(t.begins, 4);
    CHECK_INT(t.ends, 4);
    CHECK_INT(t.whole, 5);
    CHECK_INT(t.names, 5); // process, main, one stream, two measurements
    CHECK_INT(t.depth, 0);
    CHECK_HAS(text, "\"args\":{\"name\":\"main\"}");
    CHECK_HAS(text, "\"args\":{\"name\":\"separate: compile_dxdt\"}");
    CHECK(json_is_valid(text)); // closed
    shoal_log_free(log);
}

// A file that is opened late has what was recorded before.
TEST(log_files_opened_late) {
    shoal_log *log = shoal_log_new();
    some_events(log);
    int32_t open = log_begin(log, LABEL(parse));
    REQUIRE(shoal_log_json(log, check_path("t.json")) == SHOAL_OK);
    REQUIRE(shoal_log_trace(log, check_path("t.trace")) == SHOAL_OK);
    CHECK_INT(shoal_log_json(log, check_path("u.json")), SHOAL_USAGE);
    log_end(log, open);
    shoal_log_free(log); // closes them
    CHECK_INT(check_json(check_read(check_path("t.json"))), 10);
    struct trace t = check_trace(check_read(check_path("t.trace")));
    CHECK_INT(t.whole, 9);
    CHECK_INT(t.begins, 1);
    CHECK_INT(t.ends, 1);
}

// Ids are unique and parents known, whatever the log itself still keeps.
TEST(log_files_have_all_of_many_events) {
    enum { MORE = 100 };
    shoal_log *log = shoal_log_new();
    int32_t outer = log_begin(log, LABEL(kernel_run_execution));
    for (int i = 0; i < LOG_KEEP; i++)
        log_end(log, log_begin(log, LABEL(kernel_launch)));
    REQUIRE(shoal_log_json(log, check_path("t.json")) == SHOAL_OK);
    for (int i = 0; i < MORE; i++)
        log_end(log, log_begin(log, LABEL(kernel_launch)));
    log_end(log, outer);
    shoal_log_free(log);
    char *text = check_read(check_path("t.json")), line[64];
    size_t lines = 0;
    for (char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    CHECK_INT(lines, 1 + LOG_KEEP - 1 + MORE + 1); // header; the one more than kept is forgotten
    snprintf(line, sizeof line, "\n{\"id\":%d,\"parent\":0,", LOG_KEEP + MORE);
    CHECK_HAS(text, line);
    free(text);
}

// ---- What goes wrong ----------------------------------------------------------------------------

TEST(log_files_that_cannot_be_written) {
    shoal_log *log = shoal_log_new();
    CHECK_INT(shoal_log_json(log, check_path("no/such/dir")), SHOAL_IO);
    CHECK_HAS(shoal_log_message(log, 0).text, "no/such/dir");
    CHECK_INT(shoal_log_trace(log, check_dir()), SHOAL_IO);
    if (access("/dev/full", W_OK))
        check_skip("no /dev/full");
    CHECK_INT(shoal_log_trace(log, "/dev/full"), SHOAL_IO);
    some_events(log); // no more messages
    size_t messages = shoal_log_message_count(log);
    CHECK_INT(messages, 3);
    CHECK_INT(shoal_log_close(log), SHOAL_IO);
    CHECK_INT(shoal_log_close(log), SHOAL_OK);
    CHECK_INT(shoal_log_message_count(log), 3);
    const char *path = check_path("both");
    CHECK_INT(shoal_log_json(log, path), SHOAL_OK);
    CHECK_INT(shoal_log_trace(log, path), SHOAL_USAGE);
    shoal_log_free(log);
}

// ---- Killed -------------------------------------------------------------------------------------

static void killed_with_open_spans(void) {
    shoal_log *log = shoal_log_new();
    shoal_log_json(log, check_path("k.json"));
    shoal_log_trace(log, check_path("k.trace"));
    some_events(log);
    log_begin(log, LABEL(solve_ivp_execution));
    log_begin(log, LABEL(kernel_launch));
    raise(SIGKILL);
}

static void killed_any_time(void) {
    shoal_log *log = shoal_log_new();
    shoal_log_json(log, check_path("k.json"));
    shoal_log_trace(log, check_path("k.trace"));
    some_events(log);
    some_events(log);
    check_write(check_path("ready"), "");
    for (;;)
        some_events(log);
}

static void run_and_kill(void (*run)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        run();
        _exit(1);
    }
    int status = 0;
    while (access(check_path("ready"), F_OK) && waitpid(pid, &status, WNOHANG) == 0)
        usleep(1000);
    usleep(5000);
    if (kill(pid, SIGKILL) == 0)
        waitpid(pid, &status, 0);
    unlink(check_path("ready"));
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// A write that crosses a page may be cut by the kill: the last line, or entry of a trace, which
// begins with a comma and a line end, may not be whole.
static char *whole_lines(const char *name) {
    char *text = check_read(check_path(name));
    REQUIRE(text);
    char *end = strrchr(text, '\n');
    if (end && end > text && end[-1] == ',')
        end[-1] = 0;
    else if (end)
        end[1] = 0;
    return text;
}

TEST(log_files_of_a_killed_program) {
    run_and_kill(killed_with_open_spans);
    struct trace t = check_trace(check_read(check_path("k.trace")));
    CHECK_INT(t.depth, 2); // what was under way
    CHECK_STR(t.open[0], "solve_ivp_execution");
    CHECK_STR(t.open[1], "kernel_launch");
    CHECK_INT(check_json(check_read(check_path("k.json"))), 9);
    for (int i = 0; i < 5; i++) {
        run_and_kill(killed_any_time);
        t = check_trace(whole_lines("k.trace"));
        CHECK(t.begins > 10);
        CHECK(check_json(whole_lines("k.json")) > 10);
    }
}

// The checker itself.
TEST(log_json_checker) {
    static const char *const good[] = {"{}", "[1,-2.5,\"a\\u00e4\\n\"]", " {\"a\":{\"b\":[]}} ",
                                       "null", "[true,false]"};
    static const char *const bad[] = {
        "",   "{",       "{\"a\"}", "[1,]", "[1 2]",    "\"\n\"",   "\"a",   "{\"a\":1,}", "01",
        "1.", "\"\\x\"", "[1]]",    "\xff", "\"\xff\"", "\"\xc3\"", "{1:2}", "nul"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK_MSG(json_is_valid(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_MSG(!json_is_valid(bad[i]), "%s", bad[i]);
}
