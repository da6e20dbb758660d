// SPDX-License-Identifier: MIT
// Results in memory into files: byte for byte those that a run into the file makes.
#include "check.h"
#include "shoal/shoal.h"

#include <dirent.h>
#include <sys/stat.h>

static const char text[] =
    "par a=1\nx'=v\nv'=-a*x\ninit x=1, v=0\naux e=x*x+v*v\nevent hit when x rising : v=v\n"
    "@ t1=7\n";
enum { ARRAYS = 64, ROWS = 300 };

struct ready {
    shoal_log *log;
    shoal_model *model;
    shoal_batch *batch;
    shoal_solver *solver;
};

static shoal_code set_all(shoal_options *o, const char *options, shoal_log *log) {
    char *words = strdup(options), *rest = NULL;
    shoal_code code = SHOAL_OK;
    for (char *w = strtok_r(words, " ", &rest); w && !code; w = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(w, '=');
        *value = 0;
        code = shoal_options_set(o, w, value + 1, log);
    }
    check_keep(words); // the options point into it
    return code;
}

// Of a batch file with a text, and a sweep.
static struct ready make(const char *options) {
    struct ready r = {.log = shoal_log_new()};
    shoal_options o;
    check_write(check_path("b.csv"), "a,_tag,_n\n1,u,0.5\n2,v,1.5\n3,w,2.5\n");
    REQUIRE(!shoal_model_parse("test", text, strlen(text), &r.model, r.log));
    REQUIRE(!shoal_options_init(&o, r.model, r.log));
    REQUIRE(!shoal_options_set(&o, "device", "cpu", r.log));
    REQUIRE(!set_all(&o, options, r.log));
    REQUIRE(!shoal_batch_new(r.model, &r.batch, r.log));
    REQUIRE(!shoal_batch_file(r.batch, check_path("b.csv"), r.log));
    REQUIRE(!shoal_batch_sweep(r.batch, "x(0)=lin:1:2:100", r.log));
    REQUIRE(!shoal_solver_new(r.model, &o, &r.solver, r.log));
    return r;
}

static void drop(struct ready *r) {
    shoal_solver_free(r->solver);
    shoal_batch_free(r->batch);
    shoal_model_free(r->model);
    shoal_log_free(r->log);
}

// Room for all arrays of the result but those that are known; variables lie as in Python,
// [row][var][sample], `gap` elements apart.
static size_t make_room(const struct ready *r, shoal_array *a, size_t gap) {
    static const size_t sizes[] = {1, 4, 8, 4, 8, sizeof(char *)};
    shoal_plan plan;
    REQUIRE(!shoal_solver_plan(r->solver, r->batch, NULL, &plan, r->log));
    size_t samples = shoal_solver_save_count(r->solver), count = 0, vars = 0;
    for (uint32_t i = 0; i < shoal_solver_array_count(r->solver); i++) {
        shoal_array_info info = shoal_solver_array_at(r->solver, i);
        bool series = info.per_sample, block = info.is_variable && plan.rows == ROWS;
        if (!strcmp(info.name, "run") || (series && !strcmp(info.name, "t")) || info.once ||
            (block && vars++))
            continue;
        size_t width = (series ? samples : 1) * (info.axis[0] ? info.axis[0] : 1) *
                       (info.axis[1] ? info.axis[1] : 1);
        size_t all = block ? shoal_solver_var_count(r->solver) : 1;
        a[count] = (shoal_array){.name = block ? NULL : info.name,
                                 .data = calloc(plan.rows * width * all * gap, sizes[info.type])};
        if (block) {
            a[count].row_stride = width * all * gap;
            a[count].sample_stride = gap;
            a[count].var_stride = width * gap;
        } else if (!info.axis[0] && !series)
            a[count].row_stride = 1, a[count].sample_stride = 1;
        check_keep(a[count++].data);
        REQUIRE(count < ARRAYS);
    }
    return count;
}

static void check_same(const char *got, const char *want) {
    struct stat s, t;
    REQUIRE(stat(got, &s) == 0 && stat(want, &t) == 0);
    char *a = check_read(got), *b = check_read(want);
    CHECK_MSG(s.st_size == t.st_size && !memcmp(a, b, (size_t)s.st_size), "%s is not %s", got,
              want);
    check_keep(a), check_keep(b);
}

// The files of one folder and those of another, side tables of CSV included.
static int check_folders(void) {
    DIR *d = opendir(check_path("want"));
    int files = 0;
    char got[600], want[600];
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(got, sizeof got, "%s/%s", check_path("got"), e->d_name);
            snprintf(want, sizeof want, "%s/%s", check_path("want"), e->d_name);
            check_same(got, want);
            files++;
        }
    closedir(d);
    return files;
}

static bool has_hdf5(const struct ready *r) {
    shoal_options o;
    return shoal_options_init(&o, r->model, NULL) == SHOAL_OK &&
           shoal_output_check(check_path("x.h5"), &o, false, NULL) == SHOAL_OK;
}

static const char *in(const char *folder, const char *file) {
    char path[600];
    mkdir(check_path(folder), 0700);
    snprintf(path, sizeof path, "%s/%s", check_path(folder), file);
    return check_keep(strdup(path));
}

static const char *const files[] = {"r.csv", "r.npz", "r.h5"};

static void check_arrays(const char *options, size_t gap, int files_wanted) {
    struct ready r = make(options);
    shoal_array a[ARRAYS];
    size_t count = make_room(&r, a, gap);
    CHECK_INT(shoal_solver_run_arrays(r.solver, r.batch, a, count, NULL, r.log), SHOAL_OK);
    for (int i = 0; i < 2 + has_hdf5(&r); i++) {
        CHECK_INT(shoal_solver_run_file(r.solver, r.batch, in("want", files[i]), NULL, r.log), 0);
        shoal_code code =
            shoal_solver_write_arrays(r.solver, r.batch, a, count, in("got", files[i]), r.log);
        size_t said = shoal_log_message_count(r.log);
        CHECK_MSG(code == SHOAL_OK, "%s: %s", options,
                  said ? shoal_log_message(r.log, said - 1).text : "?");
    }
    CHECK_INT(check_folders(), files_wanted + has_hdf5(&r));
    drop(&r);
}

TEST(write_final) { check_arrays("vars=x,v,e", 1, 2); }
TEST(write_series) { check_arrays("vars=x,v,e save=n=5 precision=f32 counters=on", 3, 3); }
TEST(write_summaries) {
    check_arrays("save=n=3 vars=x summary=peak=max(x),histogram(x,0,2,4) record=hit,2", 2, 4);
}
TEST(write_windows) { check_arrays("summary=max(x),mean(v) window=1", 1, 3); }
TEST(write_reduced) { check_arrays("vars=x reduce=mean,quantile(0.5) by=a save=n=3", 1, 2); }

TEST(write_steps) {
    struct ready r = make("save=steps vars=x,e summary=max(x)");
    shoal_result *result = NULL;
    CHECK_INT(shoal_solver_run(r.solver, r.batch, &result, r.log), SHOAL_OK);
    for (int i = 0; i < 2 + has_hdf5(&r); i++) {
        CHECK_INT(shoal_solver_run_file(r.solver, r.batch, in("want", files[i]), NULL, r.log), 0);
        CHECK_INT(shoal_result_write(result, r.solver, r.batch, in("got", files[i]), r.log), 0);
    }
    CHECK_INT(check_folders(), 3 + has_hdf5(&r));
    struct ready other = make("save=n=3 vars=x,e summary=max(x)");
    CHECK_INT(shoal_result_write(result, other.solver, other.batch, in("got", "o.csv"), other.log),
              SHOAL_USAGE);
    drop(&other);
    shoal_result_free(result);
    drop(&r);
}

// Rows that a stop has left are the last, and not in the file, which says that it is not all.
TEST(write_what_is_there) {
    struct ready r = make("vars=x");
    shoal_array a[ARRAYS];
    size_t count = make_room(&r, a, 1);
    CHECK_INT(shoal_solver_run_arrays(r.solver, r.batch, a, count, NULL, r.log), SHOAL_OK);
    CHECK_INT(shoal_solver_run_file(r.solver, r.batch, in("want", "r.csv"), NULL, r.log), 0);
    for (size_t i = 0; i < count; i++)
        if (a[i].name && !strcmp(a[i].name, "status"))
            memset((uint8_t *)a[i].data + 200, SHOAL_STATUS_PENDING, ROWS - 200);
    CHECK_INT(shoal_solver_write_arrays(r.solver, r.batch, a, count, in("got", "r.csv"), r.log), 0);
    CHECK_INT(shoal_solver_write_arrays(r.solver, r.batch, a, count, in("got", "r.npz"), r.log), 0);
    char *got = check_read(in("got", "r.csv")), *want = check_read(in("want", "r.csv"));
    CHECK(!strncmp(got, want, strlen(got)) && strstr(got, "\n199,") && !strstr(got, "\n200,"));
    CHECK_HAS(shoal_log_message(r.log, shoal_log_message_count(r.log) - 1).text,
              "incomplete, with 200 of 300 runs");
    shoal_job *job = NULL;
    CHECK(shoal_job_load(in("got", "r.npz"), &job, r.log) != SHOAL_IO);
    shoal_job_free(job);
    check_keep(got), check_keep(want);
    drop(&r);
}

TEST(write_needs_all) {
    struct ready r = make("vars=x");
    shoal_array a[ARRAYS];
    const char *path = in("got", "r.csv");
    size_t count = make_room(&r, a, 1);
    CHECK_INT(shoal_solver_run_arrays(r.solver, r.batch, a, count, NULL, r.log), SHOAL_OK);
    CHECK_INT(shoal_solver_write_arrays(r.solver, r.batch, a, count - 1, path, r.log), SHOAL_INPUT);
    CHECK_HAS(shoal_log_message(r.log, shoal_log_message_count(r.log) - 1).text,
              "shoal_solver_write_arrays: the file needs the array `f_evals`");
    CHECK_INT(shoal_solver_write_arrays(r.solver, r.batch, NULL, 0, path, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_solver_write_arrays(NULL, r.batch, a, count, path, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_solver_write_arrays(r.solver, NULL, a, count, path, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_solver_write_arrays(r.solver, r.batch, a, count, "x.txt", r.log), SHOAL_INPUT);
    CHECK_INT(shoal_result_write(NULL, r.solver, r.batch, path, r.log), SHOAL_USAGE);
    CHECK(check_read(path) == NULL);
    drop(&r);
}
