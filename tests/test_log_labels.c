// SPDX-License-Identifier: MIT
// Labels of the time log are registered where they are emitted: each is listed in an order that
// does not come from the linker, documented, used by the source, and seen in some run. Labels that
// tests register begin with test_.
#include "check.h"

#include "device/device.h"
#include "dispatch/machine.h"
#include "fake_gpu.h"
#include "log/log.h"
#include "pretend.h"

#include <ctype.h>
#include <ftw.h>
#include <limits.h>

OWN_CACHE

static bool is_of_library(const char *label) { return strncmp(label, "test_", 5) != 0; }

// ---- The list -----------------------------------------------------------------------------------

TEST(log_labels_by_name) {
    CHECK_STR(log_label_find("parse")->name, "parse");
    CHECK_STR(log_label_find("finish_output")->name, "finish_output");
    CHECK_INT(log_label_find("module_load")->category, SHOAL_BUILD);
    CHECK(!log_label_find("nothing"));
    CHECK(!log_label_find(""));
}

// Each has a place of its own, whatever the order of the files.
TEST(log_labels_are_sorted) {
    shoal_log *log = shoal_log_new();
    CHECK(log_label_count() > 30);
    CHECK_INT(shoal_log_sum_count(log), log_label_count());
    for (size_t i = 0; i < log_label_count(); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        const struct log_label *l = log_label_find(s.label);
        REQUIRE(l);
        CHECK_STR(s.description, l->description);
        CHECK_INT(s.category, l->category);
        CHECK_INT(log->row_of[log_label_index(l)], i);
        if (i == 0)
            continue;
        const struct log_label *before = log_label_find(shoal_log_sum(log, i - 1).label);
        CHECK_MSG(before->category < l->category ||
                      (before->category == l->category && before->place < l->place),
                  "%s stands before %s", before->name, l->name);
    }
    shoal_log_free(log);
}

// The table of docs/timing.md has the same rows in the same order.
TEST(log_documented_labels) {
    shoal_log *log = shoal_log_new();
    char *page = check_read("docs/timing.md");
    REQUIRE(page);
    const char *at = page;
    size_t rows = 0, labels = 0;
    for (size_t i = 0; i < log_label_count(); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        char row[256];
        if (!is_of_library(s.label))
            continue;
        snprintf(row, sizeof row, "\n| `%s` | %s | %s |", s.label, shoal_category_name(s.category),
                 s.description);
        CHECK_HAS(at, row);
        at = strstr(at, row) ? strstr(at, row) : at;
        labels++;
    }
    for (at = page; (at = strstr(at, "\n| `")); at++) {
        const char *category = strstr(at, "` | ");
        for (int c = 0; category && c < SHOAL_CATEGORY_COUNT; c++) {
            const char *name = shoal_category_name((shoal_category)c);
            rows += !strncmp(category + 4, name, strlen(name)) &&
                    !strncmp(category + 4 + strlen(name), " |", 2);
        }
    }
    CHECK_INT(rows, labels);
    free(page);
    shoal_log_free(log);
}

// ---- Uses ---------------------------------------------------------------------------------------

static char *sources; // of src/, one behind the other

static int add_source(const char *path, const struct stat *s, int flag, struct FTW *ftw) {
    (void)s, (void)ftw;
    size_t length = strlen(path), have = sources ? strlen(sources) : 0;
    char *text = flag == FTW_F && !strcmp(path + length - 2, ".c") ? check_read(path) : NULL;
    if (text) {
        sources = realloc(sources, have + strlen(text) + 1);
        REQUIRE(sources);
        strcpy(sources + have, text);
    }
    free(text);
    return 0;
}

static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if (!isalnum((unsigned char)at[length]) && at[length] != '_')
            return true;
    return false;
}

// The compiler keeps a label whether or not somebody emits it. Its definition names it without
// LOG_.
TEST(log_labels_are_used) {
    REQUIRE(nftw("src", add_source, 16, FTW_PHYS) == 0 && sources);
    shoal_log *log = shoal_log_new();
    for (size_t i = 0; i < log_label_count(); i++) {
        char use[80];
        snprintf(use, sizeof use, "LOG_%s", shoal_log_sum(log, i).label);
        CHECK_MSG(!is_of_library(use + 4) || has_word(sources, use), "nothing emits %s", use + 4);
    }
    CHECK(!has_word(sources, "LOG_nothing"));
    free(sources);
    shoal_log_free(log);
}

// ---- Runs ---------------------------------------------------------------------------------------

static const char stiff[] =
    "driver u\npar a=1,b=2\nc=a*b\ninit y=1\nx(0)=b\nx'=-c*x+y*u\ny'=-a*y*x\n"
    "aux r=x+y\n@ t1=1\n";

// `works`: the device computes what it should.
static char *run_on(const char *device, const char *method, const char *timing, const char *runs,
                    bool works) {
    const char *model = check_path("stiff.ode"), *json = check_path(device);
    char sweep[64], driver[PATH_MAX];
    check_write(model, stiff);
    check_write(check_path("u.csv"), "t,u\n0,1\n1,2\n");
    snprintf(sweep, sizeof sweep, "a=lin:0.5:1:%s", runs);
    snprintf(driver, sizeof driver, "u=%s", check_path("u.csv"));
    struct check_output o =
        RUN(check_shoal(), "run", model, "--device", device, "--method", method, "--vars", "x,y,r",
            "--summary", "max(x)", "--driver", driver, "--sweep", sweep, "--sweep", "y(0)=1,2",
            "--timing", timing, "--timing-json", json, "-o", check_path("o.npz"));
    CHECK_MSG(o.status == 0 || !works, "%s", o.err);
    char *text = check_read(json);
    REQUIRE(text);
    return text;
}

// A program that makes a solver ready.
static char *warm(void) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_options o;
    shoal_batch *b = NULL;
    shoal_solver *s = NULL;
    static const char text[] = "x'=-x\ninit x=1\n@ t1=1, method=tsit5\n";
    const char *json = check_path("warm.json");
    REQUIRE(!shoal_log_json(log, json) && !shoal_model_parse("m", text, strlen(text), &m, log));
    REQUIRE(!shoal_options_init(&o, m, log) && !shoal_batch_new(m, &b, log));
    o.device = "cpu";
    o.save = SHOAL_SAVE_STEPS;
    o.tune = true; // which then has nothing to compare
    REQUIRE(!shoal_solver_new(m, &o, &s, log) && !shoal_solver_warm(s, b, log));
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
    shoal_log_free(log);
    return check_read(json);
}

// Where there is a choice: OpenCL's CPU counts as a device here.
static char *run_where_it_is_chosen(void) {
    static const char text[] = "par a=1\ninit x=1\nx'=-a*x\n@ t1=1, method=tsit5\n";
    const char *json = check_path("auto");
    shoal_log *log = shoal_log_new();
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    shoal_result *result = NULL;
    machine_takes_cpu_types = true;
    unsetenv("SHOAL_DEVICE");
    REQUIRE(shoal_log_json(log, json) == SHOAL_OK);
    REQUIRE(shoal_model_parse("t.ode", text, strlen(text), &model, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&options, model, log) == SHOAL_OK);
    REQUIRE(shoal_batch_new(model, &batch, log) == SHOAL_OK);
    REQUIRE(shoal_batch_sweep(batch, "a=lin:1:2:5000", log) == SHOAL_OK);
    for (uint32_t equal = 2; equal-- > 0;) { // where both are as fast, as far as known, is a trial
        if (equal)
            pretend_equal();
        options.threads = equal;
        options.reuses = equal ? 1000000 : 0;
        REQUIRE(shoal_solver_new(model, &options, &solver, log) == SHOAL_OK);
        CHECK(shoal_solver_run(solver, batch, &result, log) == SHOAL_OK);
        CHECK(shoal_solver_warm(solver, batch, log) == SHOAL_OK); // the other device, too
        shoal_result_free(result);
        shoal_solver_free(solver);
    }
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
    char *lines = check_read(json);
    REQUIRE(lines);
    CHECK_HAS(lines, "\"reason\":\"");
    return lines;
}

static char *run_grids(void) {
    const char *json = check_path("grids");
    check_write(check_path("g.json"), "[[1,2],[3,4]]");
    struct check_output o = RUN(check_shoal(), "grid", "rot90", "--in", check_path("g.json"),
                                "--device", "opencl", "--timing-json", json);
    CHECK_MSG(o.status == 0, "%s", o.err);
    char *text = check_read(json);
    REQUIRE(text);
    return text;
}

// A label that no run emits stands for something that does not exist. A device copies the pieces of
// its blocks one by one where there are many rows.
TEST(log_labels_are_emitted) {
    char why[192];
    if (!device_backend("opencl")->count(why, sizeof why))
        check_skip("opencl: %s", why);
    use_fake_cuda(); // whose context takes its time
    use_fake_nvrtc("aa01");
    char *cpu = run_on("cpu", "rodas5p", "verbose", "4", true);
    char *opencl = run_on("opencl", "tsit5", "default", "20000", true);
    char *cuda = run_on("cuda", "tsit5", "default", "4", false), *warmed = warm();
    char *chosen = run_where_it_is_chosen();
    char *grids = run_grids(), *both = run_on("cpu+opencl:0", "tsit5", "default", "200", true);
    shoal_log *log = shoal_log_new();
    for (size_t i = 0; i < log_label_count(); i++) {
        char field[96];
        const char *label = shoal_log_sum(log, i).label;
        snprintf(field, sizeof field, "\"label\":\"%s\"", label);
        CHECK_MSG(!is_of_library(label) || strstr(cpu, field) || strstr(opencl, field) ||
                      strstr(cuda, field) || strstr(warmed, field) || strstr(chosen, field) ||
                      strstr(grids, field) || strstr(both, field),
                  "no run emits %s", label);
    }
    free(cpu);
    free(opencl);
    free(cuda);
    free(warmed);
    free(chosen);
    free(grids);
    free(both);
    shoal_log_free(log);
}
