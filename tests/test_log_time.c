// SPDX-License-Identifier: MIT
// No millisecond without a name: what no event covers is at most 2 % of any run, and every label
// stands where its data exist and nowhere else.
#include "check.h"

#include "device/device.h"
#include "fake_gpu.h"
#include "json_text.h"
#include "shoal/shoal.h"

#include "../kernels/ode/abi.h"

#include <time.h>

OWN_CACHE

static const char model_text[] = "par a=1, b=2\ninit x=1, y=2\nx'=-a*x\ny'=-b*y\naux r=x+y\n"
                                 "@ t1=1\n";

static bool has_opencl(void) {
    char why[192];
    return device_backend("opencl")->count(why, sizeof why) > 0;
}

// ---- Events of a file ---------------------------------------------------------------------------

struct event {
    char label[48], track[48], *line;
    long id, parent;
    double t0, dur;
};

struct events {
    struct event *item;
    size_t count;
    char *text;
};

static struct events read_events(const char *path) {
    struct events e = {.text = check_read(path)};
    REQUIRE(e.text);
    char *rest = NULL;
    e.item = calloc(strlen(e.text) / 40 + 1, sizeof *e.item);
    strtok_r(e.text, "\n", &rest); // the header
    for (char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL; e.count++) {
        struct event *x = &e.item[e.count];
        CHECK(json_is_valid(line));
        CHECK_MSG(strlen(json_field(line, "description")) > 5, "%s", line);
        const char *parent = json_field(line, "parent");
        *x = (struct event){.line = line,
                            .id = atol(json_field(line, "id")),
                            .parent = strcmp(parent, "null") ? atol(parent) : -1,
                            .t0 = atof(json_field(line, "t0_ns")),
                            .dur = atof(json_field(line, "dur_ns"))};
        snprintf(x->label, sizeof x->label, "%s", json_field(line, "label"));
        snprintf(x->track, sizeof x->track, "%s", json_field(line, "track"));
    }
    return e;
}

static void free_events(struct events *e) {
    free(e->item);
    free(e->text);
}

static size_t count(const struct events *e, const char *label, const char *track) {
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++)
        n += !strcmp(e->item[i].label, label) && (!track || !strcmp(e->item[i].track, track));
    return n;
}

static const struct event *find(const struct events *e, const char *label) {
    for (size_t i = 0; i < e->count; i++)
        if (!strcmp(e->item[i].label, label) && !strcmp(e->item[i].track, "main"))
            return &e->item[i];
    check_fail(__FILE__, __LINE__, "no event %s", label);
    check_end();
}

static bool is_inside(const struct events *e, const char *inner, const char *outer) {
    const struct event *x = find(e, inner);
    long want = find(e, outer)->id;
    while (x && x->parent >= 0 && x->parent != want) {
        long parent = x->parent;
        x = NULL;
        for (size_t i = 0; i < e->count && !x; i++)
            x = e->item[i].id == parent ? &e->item[i] : NULL;
    }
    return x && x->parent == want;
}

// Time of the calling thread that no event covers, and children that stick out of their parents.
static void check_cover(const struct events *e, double most) {
    double end = 0, covered = 0;
    for (size_t i = 0; i < e->count; i++) {
        const struct event *x = &e->item[i];
        if (strcmp(x->track, "main"))
            continue;
        end = x->t0 + x->dur > end ? x->t0 + x->dur : end;
        covered += x->parent < 0 ? x->dur : 0;
        for (size_t k = 0; k < e->count; k++) {
            const struct event *p = &e->item[k];
            if (p->id == x->parent)
                CHECK_MSG(x->t0 >= p->t0 && x->t0 + x->dur <= p->t0 + p->dur, "%s sticks out of %s",
                          x->label, p->label);
        }
    }
    CHECK_MSG(end - covered <= most * end, "%.3f ms of %.3f are nobody's", (end - covered) / 1e6,
              end / 1e6);
    CHECK(covered <= end);
}

// ---- Runs of the command line -------------------------------------------------------------------

static struct events run(const char *device, const char *more[6]) {
    const char *json = check_path("t.json"), *path = check_path("m.ode");
    const char *argv[24] = {check_shoal(),      "run", path,      "--device",      device,
                            "--timing-json",    json,  "--sweep", "a=lin:1:2:100", "-o",
                            check_path("o.npz")};
    size_t n = 11;
    check_write(path, model_text);
    for (int i = 0; i < 6 && more[i]; i++)
        argv[n++] = more[i];
    struct check_output o = check_command(argv);
    CHECK_MSG(o.status == 0, "%s", o.err);
    return read_events(json);
}

static const char *const devices[] = {"cpu", "opencl"};

#define EACH_DEVICE(device)                                                                        \
    for (size_t i_ = 0; i_ < (has_opencl() ? 2 : 1); i_++)                                         \
        for (const char *device = devices[i_]; device; device = NULL)

TEST(log_time_labels_of_all_data) {
    EACH_DEVICE(device) {
        struct events e =
            run(device, (const char *[6]){"--vars", "r,x", "--summary", "max(x)", "--chunk", "40"});
        static const char *const labels[] = {"h2d_transfer_initial_values",
                                             "h2d_transfer_parameters",
                                             "d2h_transfer_state",
                                             "d2h_transfer_observables",
                                             "d2h_transfer_summaries",
                                             "d2h_transfer_status_codes",
                                             "d2h_transfer_iteration_counters",
                                             "kernel_launch"};
        bool cpu = !strcmp(device, "cpu");
        for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
            CHECK_MSG(count(&e, labels[i], "main") == 3, "%s: %zu of %s", device,
                      count(&e, labels[i], "main"), labels[i]);
            CHECK_MSG(count(&e, labels[i], NULL) == (cpu ? 3 : 6), "%s: %zu of %s on all tracks",
                      device, count(&e, labels[i], NULL), labels[i]);
        }
        CHECK(!count(&e, "h2d_transfer_driver_coefficients", NULL));
        CHECK(!cpu || count(&e, "kernel_worker", "cpu worker 0") == 3);
        free_events(&e);
    }
}

// Bytes of the pieces of a small chunk are its own.
TEST(log_time_bytes_of_each_label) {
    EACH_DEVICE(device) {
        struct events e = run(device, (const char *[6]){"--vars", "r,x", "--summary", "max(x)"});
        const struct event *x = find(&e, "d2h_transfer_state");
        CHECK_STR(json_field(x->line, "nbytes"), "800");
        CHECK_STR(json_field(x->line, "chunk_slice"), "0:100");
        double rows = 100 * sizeof(double);
        CHECK(atof(json_field(find(&e, "d2h_transfer_observables")->line, "nbytes")) >= rows);
        CHECK(atof(json_field(find(&e, "d2h_transfer_summaries")->line, "nbytes")) >= rows);
        CHECK(atof(json_field(find(&e, "h2d_transfer_parameters")->line, "nbytes")) >= rows);
        CHECK(atof(json_field(find(&e, "h2d_transfer_initial_values")->line, "nbytes")) >= 16);
        CHECK(atof(json_field(find(&e, "h2d_transfer_initial_values")->line, "nbytes")) < rows);
        free_events(&e);
    }
}

TEST(log_time_no_state_kept) {
    EACH_DEVICE(device) {
        struct events e = run(device, (const char *[6]){"--vars", "r"});
        CHECK_INT(count(&e, "d2h_transfer_state", NULL), 0);
        CHECK_INT(count(&e, "d2h_transfer_observables", "main"), 1);
        CHECK_INT(count(&e, "d2h_transfer_summaries", NULL), 0);
        free_events(&e);
        e = run(device, (const char *[6]){"--vars", "y"});
        CHECK_INT(count(&e, "d2h_transfer_state", "main"), 1);
        CHECK_INT(count(&e, "d2h_transfer_observables", NULL), 0);
        free_events(&e);
    }
}

// Two runs: one compiles, one does not.
TEST(log_time_everything_has_a_name) {
    EACH_DEVICE(device) {
        for (int i = 0; i < 2; i++) {
            struct events e = run(device, (const char *[6]){NULL});
            check_cover(&e, 0.02);
            CHECK(is_inside(&e, "device_open", "solve_ivp_execution"));
            CHECK(is_inside(&e, "compiler_identity", "solve_ivp_execution"));
            CHECK(is_inside(&e, "solver_solve_execution", "solve_ivp_execution"));
            CHECK(is_inside(&e, "kernel_run_execution", "solver_solve_execution"));
            CHECK_INT(count(&e, "solve_ivp_execution", NULL), 1);
            CHECK(strlen(json_field(find(&e, "device_open")->line, "device")) > 3);
            CHECK(strlen(json_field(find(&e, "device_open")->line, "driver")) > 0);
            free_events(&e);
        }
    }
}

TEST(log_time_outer_events_tell_the_amount) {
    static const char *const outer[] = {"solve_ivp_execution", "solver_solve_execution",
                                        "kernel_run_execution"};
    EACH_DEVICE(device) {
        struct events e = run(device, (const char *[6]){"--chunk", "40"});
        for (size_t i = 0; i < 3; i++) {
            CHECK_STR(json_field(find(&e, outer[i])->line, "total_runs"), "100");
            CHECK_STR(json_field(find(&e, outer[i])->line, "num_chunks"), "3");
        }
        size_t rows = 0;
        for (size_t i = 0; i < e.count; i++)
            if (!strcmp(e.item[i].label, "kernel_launch") && !strcmp(e.item[i].track, "main"))
                rows += (size_t)atol(json_field(e.item[i].line, "numruns"));
        CHECK_INT(rows, 100);
        free_events(&e);
    }
}

// ---- Programs -----------------------------------------------------------------------------------

struct program {
    shoal_model *model;
    shoal_batch *batch;
    shoal_solver *solver;
    shoal_options options;
};

static struct program program_of(const char *text, const char *device, const char *sweep, double t1,
                                 shoal_log *log) {
    struct program p = {0};
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &p.model, log));
    REQUIRE(!shoal_options_init(&p.options, p.model, log));
    p.options.device = device;
    p.options.t1 = t1;
    REQUIRE(!shoal_batch_new(p.model, &p.batch, log));
    REQUIRE(!shoal_batch_option(p.batch, "sweep", sweep, log));
    REQUIRE(!shoal_solver_new(p.model, &p.options, &p.solver, log));
    return p;
}

static struct program program_new(const char *device, const char *sweep, double t1,
                                  shoal_log *log) {
    return program_of(model_text, device, sweep, t1, log);
}

static void program_free(struct program *p) {
    shoal_solver_free(p->solver);
    shoal_batch_free(p->batch);
    shoal_model_free(p->model);
}

static void check_totals(const shoal_log *log) {
    uint64_t ns[SHOAL_CATEGORY_COUNT], other, sum = 0, all = 0;
    shoal_log_totals(log, ns, &other);
    for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
        sum += ns[c];
    for (size_t i = 0; i < shoal_log_sum_count(log); i++)
        all += shoal_log_sum(log, i).own_ns;
    CHECK_INT(all, sum); // exactly
    CHECK_MSG((double)other <= 0.02 * (double)(sum + other), "%llu of %llu ns are nobody's",
              (unsigned long long)other, (unsigned long long)(sum + other));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Runs of about a millisecond, on a handle that is used again and again. Another process may take
// the processor between two calls.
static void check_short_runs(const char *device) {
    enum { RUNS = 51 };
    shoal_log *log = shoal_log_new();
    struct program p = program_new(device, "a=lin:1:2:5000", 1, log);
    double share[RUNS];
    for (int i = 0; i < RUNS; i++) {
        shoal_result *result = NULL;
        uint64_t ns[SHOAL_CATEGORY_COUNT], other, sum = 0;
        REQUIRE(!shoal_log_clear(log));
        CHECK_INT(shoal_solver_run(p.solver, p.batch, &result, log), SHOAL_OK);
        shoal_log_totals(log, ns, &other);
        for (int c = 0; c < SHOAL_CATEGORY_COUNT; c++)
            sum += ns[c];
        share[i] = (double)other / (double)(sum + other);
        shoal_result_free(result);
    }
    qsort(share, RUNS, sizeof *share, by_value);
    CHECK_MSG(share[RUNS / 2] <= 0.02, "%s: %g of a run is nobody's", device, share[RUNS / 2]);
    program_free(&p);
    shoal_log_free(log);
}

TEST(log_time_of_short_runs) {
    EACH_DEVICE(device)
    check_short_runs(device);
}

TEST(log_time_of_a_long_run) {
    shoal_log *log = shoal_log_new();
    struct program p = program_new("cpu", "a=lin:1:2:20000", 300, log);
    shoal_result *result = NULL;
    REQUIRE(!shoal_log_clear(log));
    CHECK_INT(shoal_solver_run(p.solver, p.batch, &result, log), SHOAL_OK);
    check_totals(log);
    shoal_result_free(result);
    program_free(&p);
    shoal_log_free(log);
}

// What a program reads from files has a name, too.
TEST(log_time_of_tables) {
    shoal_log *log = shoal_log_new();
    const char *file = check_path("b.csv");
    FILE *f = fopen(file, "w");
    REQUIRE(f);
    fputs("a\n", f);
    for (int i = 0; i < 200000; i++)
        fprintf(f, "%d.125\n", i);
    fclose(f);
    shoal_model *model = NULL;
    shoal_batch *batch = NULL;
    REQUIRE(!shoal_model_parse("m", model_text, strlen(model_text), &model, log));
    REQUIRE(!shoal_batch_new(model, &batch, log));
    REQUIRE(!shoal_log_clear(log));
    CHECK_INT(shoal_batch_file(batch, file, log), SHOAL_OK);
    check_totals(log);
    CHECK_INT(shoal_log_span_count(log), 1);
    CHECK_STR(shoal_log_span(log, 0).label, "read_table");
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
}

// ---- CUDA ---------------------------------------------------------------------------------------

// Every row ends well, whatever it computes.
static bool end_rows(const void *args, const char *read, char *written, const char *resident,
                     const volatile int *stop) {
    const struct shoal_call *call = args;
    (void)read, (void)resident, (void)stop;
    memset(written + call->status, 0, call->head.rows);
    return true;
}

TEST(log_time_of_short_runs_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = end_rows;
    fake->args_bytes = sizeof(struct shoal_call);
    check_short_runs("cuda");
}

TEST(log_time_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = end_rows;
    fake->args_bytes = sizeof(struct shoal_call);
    fake->start_ms = 20;
    shoal_log *log = shoal_log_new();
    const char *json = check_path("t.json");
    CHECK(shoal_log_start(log, "solve_ivp_execution"));
    REQUIRE(!shoal_log_json(log, json));
    struct program p = program_new("cuda", "a=lin:1:2:100", 1, log);
    shoal_result *result = NULL;
    CHECK_INT(shoal_solver_run(p.solver, p.batch, &result, log), SHOAL_OK);
    CHECK(shoal_log_stop(log, "solve_ivp_execution"));
    check_totals(log);
    shoal_result_free(result);
    program_free(&p);
    REQUIRE(!shoal_log_close(log));
    struct events e = read_events(json);
    check_cover(&e, 0.02);
    CHECK(atof(json_field(find(&e, "device_open")->line, "driver")) > 0);
    CHECK(atof(json_field(find(&e, "device_context")->line, "context")) >= 20);
    CHECK(count(&e, "device_memory", "main") >= 3); // blocks and the slot
    CHECK_INT(count(&e, "kernel_launch", "main"), 1);
    CHECK_INT(count(&e, "kernel_launch", "cuda:0 stream 0"), 1);
    CHECK_INT(count(&e, "h2d_transfer_initial_values", "cuda:0 stream 0"), 1);
    CHECK_INT(count(&e, "d2h_transfer_status_codes", "cuda:0 stream 0"), 1);
    CHECK_INT(count(&e, "d2h_transfer_state", "cuda:0 stream 0"), 1);
    CHECK_STR(json_field(find(&e, "solve_ivp_execution")->line, "total_runs"), "100");
    free_events(&e);
    shoal_log_free(log);
}

// The front end works while the context is made.
TEST(log_time_context_meanwhile) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->start_ms = 300;
    shoal_log *log = shoal_log_new();
    struct program p = program_new("cuda", "a=lin:1:2:100", 1, log);
    uint64_t waited = 0;
    for (size_t i = 0; i < shoal_log_sum_count(log); i++)
        if (!strcmp(shoal_log_sum(log, i).label, "device_context"))
            waited = shoal_log_sum(log, i).ns;
    CHECK_MSG(waited < 299000000, "waited %llu ns", (unsigned long long)waited);
    CHECK(waited > 0);
    program_free(&p);
    shoal_cache_forget();
    CHECK_INT(fake->contexts, 0);
    shoal_log_free(log);
}

// At the end of a program nothing is given back.
TEST(log_time_leaving_devices) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = end_rows;
    fake->args_bytes = sizeof(struct shoal_call);
    CHECK(!shoal_devices_leave());
    struct program p = program_new("cuda", "a=lin:1:2:100", 1, NULL);
    shoal_result *result = NULL;
    CHECK_INT(shoal_solver_run(p.solver, p.batch, &result, NULL), SHOAL_OK);
    shoal_result_free(result);
    int buffers = fake->buffers;
    CHECK(fake->contexts == 1 && buffers > 0);
    CHECK(shoal_devices_leave());
    program_free(&p);
    CHECK_INT(fake->contexts, 1);
    CHECK_INT(fake->buffers, buffers);
}

// ---- Ten seconds --------------------------------------------------------------------------------

static bool end_rows_slowly(const void *args, const char *read, char *written, const char *resident,
                            const volatile int *stop) {
    nanosleep(&(struct timespec){0, 500000000}, NULL);
    return end_rows(args, read, written, resident, stop);
}

static double seconds_of(const struct program *p, shoal_log *log) {
    shoal_result *result = NULL;
    REQUIRE(!shoal_log_clear(log));
    CHECK_INT(shoal_solver_run(p->solver, p->batch, &result, log), SHOAL_OK);
    double seconds = shoal_result_tally(result).seconds;
    shoal_result_free(result);
    return seconds;
}

// Chunks of 20,000 rows, whose runs are made longer until all take ten seconds.
static void check_ten_seconds(const char *device) {
    static const char text[] = "par a=1\ninit x=1, y=0\nx'=a*y\ny'=-a*x\n@ method=tsit5\n";
    shoal_log *log = shoal_log_new();
    double t1 = 10;
    for (double seconds = 0; seconds < 8 && t1 < 1e6;) {
        struct program p = program_of(text, device, "a=lin:1:2:400000", t1, log);
        REQUIRE(!shoal_solver_set(p.solver, "chunk", "20000", NULL, log));
        seconds = seconds_of(&p, log);
        check_totals(log);
        t1 *= seconds < 1 ? 10 : 11 / seconds;
        program_free(&p);
    }
    CHECK(t1 < 1e6);
    shoal_log_free(log);
}

LONG_TEST(log_time_of_ten_seconds) {
    EACH_DEVICE(device)
    check_ten_seconds(device);
}

LONG_TEST(log_time_of_ten_seconds_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = end_rows_slowly;
    fake->args_bytes = sizeof(struct shoal_call);
    shoal_log *log = shoal_log_new();
    struct program p = program_new("cuda", "a=lin:1:2:400000", 1, log);
    REQUIRE(!shoal_solver_set(p.solver, "chunk", "20000", NULL, log));
    CHECK(seconds_of(&p, log) > 8);
    check_totals(log);
    program_free(&p);
    shoal_log_free(log);
}
