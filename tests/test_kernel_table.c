// SPDX-License-Identifier: MIT
// Kernels that are loaded in this process already: found without the disk and without a compiler,
// with the cache off too, by solvers at the same time and after one another.
#include "check.h"
#include "device_test.h"
#include "kernels.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

OWN_CACHE

static const char base[] = "par a=1;init x=1;x'=-a*x;@ t1=1,method=bs3";

static int spans(const shoal_log *log, const char *label) {
    int n = 0;
    for (size_t i = 0; i < shoal_log_span_count(log); i++)
        n += !strcmp(shoal_log_span(log, i).label, label);
    return n;
}

static void check_words(const shoal_log *log, const char *result, const char *reason) {
    char *words[] = {span_says(log, "cache_lookup", "result"),
                     span_says(log, "cache_lookup", "reason")};
    CHECK_STR(words[0], result);
    CHECK_STR(words[1], reason);
    free(words[0]);
    free(words[1]);
}

static void check_loaded(const struct made *m) {
    REQUIRE(m->code == SHOAL_OK);
    CHECK(shoal_solver_cached(m->solver));
    check_words(m->log, "hit", "loaded");
    CHECK_INT(spans(m->log, "compile_kernel"), 0);
    CHECK_INT(spans(m->log, "module_load"), 0);
}

static void check_compiled(const struct made *m, const char *reason) {
    REQUIRE(m->code == SHOAL_OK);
    CHECK(!shoal_solver_cached(m->solver));
    check_words(m->log, "miss", reason);
    CHECK_INT(spans(m->log, "compile_kernel"), 1);
}

// Clearing the cache clears this too.
static void clear_cache(void) {
    shoal_cache *cache = NULL;
    uint64_t removed = 0;
    REQUIRE(shoal_cache_open(NULL, &cache, NULL) == SHOAL_OK);
    REQUIRE(shoal_cache_clear(cache, &(shoal_cache_filter){0}, &removed, NULL) == SHOAL_OK);
    shoal_cache_close(cache);
}

static void check_result(struct made *m) {
    double values[8];
    CHECK_INT(run_one(m, values), 1);
    CHECK_NEAR(values[0], exp(-1), 1e-4);
}

// Without any cache, after the first one was freed.
TEST(kernel_table_without_cache) {
    setenv("SHOAL_CACHE", "off", 1);
    for (int i = 0; i < 3; i++) {
        struct made m = make_solver(base, "", false, NULL);
        if (i)
            check_loaded(&m);
        else
            check_compiled(&m, "off");
        check_result(&m);
        made_free_all_but_kernels(&m);
    }
    shoal_cache_forget();
    struct made m = make_solver(base, "", false, NULL);
    check_compiled(&m, "off");
    made_free(&m);
}

// Nothing of the cache is read.
TEST(kernel_table_without_disk) {
    struct made m = make_solver(base, "", false, NULL);
    check_compiled(&m, "absent");
    made_free_all_but_kernels(&m);
    REQUIRE(rename(check_path("cache/v1"), check_path("cache/away")) == 0);
    m = make_solver(base, "", false, NULL);
    check_loaded(&m);
    check_result(&m);
    CHECK_INT(kernels_kept(), 0);
    made_free_all_but_kernels(&m);
    clear_cache();
    m = make_solver(base, "", false, NULL);
    check_compiled(&m, "absent");
    made_free(&m);
}

// Two that live at the same time have one kernel, and it stays when the first of them goes.
DEVICE_TEST(kernel_table_two_solvers) {
    char options[64];
    setenv("SHOAL_CACHE", "off", 1);
    snprintf(options, sizeof options, "device=%s", device);
    struct made first = make_solver(base, options, false, NULL);
    check_compiled(&first, "off");
    struct made second = make_solver(base, options, false, NULL);
    check_loaded(&second);
    CHECK(first.solver->runner.kernel[PLAN_FIRST].kernel ==
          second.solver->runner.kernel[PLAN_FIRST].kernel);
    CHECK(first.solver->device == second.solver->device);
    check_result(&first);
    check_result(&second);
    made_free(&first);
    check_result(&second);
    made_free(&second);
}

// A plan says so too, and whoever watches lookups is told.
TEST(kernel_table_in_words) {
    setenv("SHOAL_CACHE", "off", 1);
    setenv("SHOAL_CACHE_LOG", "1", 1);
    struct made m = make_solver(base, "", true, NULL);
    CHECK(!shoal_solver_cached(m.solver));
    made_free_all_but_kernels(&m);
    m = make_solver(base, "", false, NULL);
    made_free_all_but_kernels(&m);
    m = make_solver(base, "", true, NULL);
    CHECK(shoal_solver_cached(m.solver));
    made_free_all_but_kernels(&m);
    m = make_solver(base, "", false, NULL);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "cache hit (loaded), key ");
    made_free(&m);
}

static shoal_effect set(struct made *m, const char *option, const char *value) {
    shoal_effect effect = SHOAL_KEPT;
    REQUIRE(shoal_solver_set(m->solver, option, value, &effect, m->log) == SHOAL_OK);
    return effect;
}

// There and back again: the second time both are there.
TEST(kernel_table_effects) {
    setenv("SHOAL_CACHE", "off", 1);
    struct made m = make_solver(base, "", false, NULL);
    CHECK_INT(set(&m, "method", "tsit5"), SHOAL_COMPILED);
    check_result(&m);
    CHECK_INT(set(&m, "method", "bs3"), SHOAL_LOADED);
    check_words(m.log, "hit", "loaded");
    check_result(&m);
    CHECK_INT(set(&m, "rtol", "1e-5"), SHOAL_KEPT);
    made_free(&m);
}

// These two want to see the compiler.
TEST(kernel_table_bypassed) {
    struct made m = make_solver(base, "", false, NULL);
    made_free_all_but_kernels(&m);
    setenv("SHOAL_CACHE", "refresh", 1);
    m = make_solver(base, "", false, NULL);
    check_compiled(&m, "refresh");
    made_free_all_but_kernels(&m);
    setenv("SHOAL_CACHE", "verify", 1);
    m = make_solver(base, "", false, NULL);
    REQUIRE(m.code == SHOAL_OK);
    check_words(m.log, "hit", "");
    CHECK_INT(spans(m.log, "compile_kernel"), 1);
    made_free(&m);
}

// Another compiler is found by the next solver, though a device is open.
TEST(kernel_table_other_compiler) {
    struct made first = make_solver(base, "", false, NULL);
    REQUIRE(first.code == SHOAL_OK);
    use_script("exec cc -fno-ident \"$@\"");
    struct made m = make_solver(base, "", false, NULL);
    check_compiled(&m, "absent");
    CHECK(strcmp(shoal_solver_key(m.solver), shoal_solver_key(first.solver)) != 0);
    made_free_all_but_kernels(&m);
    unsetenv("SHOAL_CC");
    m = make_solver(base, "", false, NULL);
    CHECK_STR(shoal_solver_key(m.solver), shoal_solver_key(first.solver));
    CHECK_INT(spans(m.log, "compile_kernel"), 0);
    made_free(&m);
    made_free(&first);
}

static void make_numbered(int i, const char *options, struct made *m) {
    char text[96];
    snprintf(text, sizeof text, "init x=1;x'=-%d.5*x;@ t1=1,method=euler,dt=0.5", i);
    *m = make_solver(text, options, false, NULL);
    REQUIRE(m->code == SHOAL_OK);
}

// Of those that nobody uses a few stay, the ones that were used last.
TEST(kernel_table_idle) {
    struct made m;
    setenv("SHOAL_CACHE", "off", 1);
    for (int i = 0; i <= KERNELS_IDLE; i++) {
        make_numbered(i, "", &m);
        made_free_all_but_kernels(&m);
        make_numbered(0, "", &m); // is used again and again
        check_loaded(&m);
        made_free_all_but_kernels(&m);
    }
    make_numbered(KERNELS_IDLE, "", &m);
    check_loaded(&m);
    made_free_all_but_kernels(&m);
    make_numbered(1, "", &m); // the oldest of one too many
    check_compiled(&m, "off");
    made_free(&m);
}

// A child has what its parent gave it, and finds nothing.
static int child_of(struct made *m) {
    check_result(m);
    struct made other = make_solver(base, "", false, NULL);
    check_compiled(&other, "off");
    check_result(&other);
    check_result(m);
    made_free_all_but_kernels(m);
    made_free_all_but_kernels(&other);
    other = make_solver(base, "", false, NULL);
    check_loaded(&other);
    made_free(&other);
    return 0;
}

TEST(kernel_table_after_fork) {
    int status = -1;
    struct made idle;
    setenv("SHOAL_CACHE", "off", 1);
    make_numbered(1, "", &idle);
    made_free_all_but_kernels(&idle);
    struct made m = make_solver(base, "", false, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        child_of(&m);
        check_end();
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    check_result(&m);
    made_free_all_but_kernels(&m);
    m = make_solver(base, "", false, NULL);
    check_loaded(&m);
    made_free(&m);
}

struct side {
    const char *device;
    int compiled;
};

static void *make_and_run(void *user) {
    struct side *side = user;
    char options[64];
    snprintf(options, sizeof options, "device=%s", side->device);
    for (int i = 0; i < 12; i++) {
        double values[8];
        struct made m;
        make_numbered(i % 3, options, &m);
        side->compiled += spans(m.log, "compile_kernel");
        CHECK_INT(run_one(&m, values), 1);
        CHECK_NEAR(values[0], pow(1 - 0.5 * (i % 3 + 0.5), 2), 1e-12);
        made_free_all_but_kernels(&m);
    }
    return NULL;
}

// Threads that make solvers of the same models share kernels that run at the same time.
DEVICE_TEST(kernel_table_threads) {
    enum { SIDES = 4 };
    pthread_t thread[SIDES];
    struct side side[SIDES];
    int compiled = 0;
    setenv("SHOAL_CACHE", "off", 1);
    for (int i = 0; i < SIDES; i++) {
        side[i] = (struct side){.device = device};
        REQUIRE(pthread_create(&thread[i], NULL, make_and_run, &side[i]) == 0);
    }
    for (int i = 0; i < SIDES; i++) {
        pthread_join(thread[i], NULL);
        compiled += side[i].compiled;
    }
    CHECK_INT(compiled, 3);
    shoal_cache_forget();
}

// ---- Between a look and a turn ------------------------------------------------------------------

static void make_another(const shoal_log *log, size_t span, bool ended, void *user) {
    struct made *other = user;
    if (ended && !other->solver && !strcmp(shoal_log_span(log, span).label, "cache_lookup"))
        make_numbered(1, "", other);
}

// Another thread has compiled the kernel after this one looked for it, and is done with it when
// this one's turn comes.
TEST(kernel_table_between_look_and_turn) {
    struct made other = {0};
    shoal_model *model = NULL;
    shoal_options options;
    shoal_solver *solver = NULL;
    shoal_log *log = shoal_log_new();
    static const char text[] = "init x=1\nx'=-1.5*x\n@ t1=1,method=euler,dt=0.5\n";
    setenv("SHOAL_CACHE", "off", 1);
    REQUIRE(shoal_model_parse("test.ode", text, strlen(text), &model, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&options, model, log) == SHOAL_OK);
    shoal_log_on_span(log, make_another, &other);
    REQUIRE(shoal_solver_new(model, &options, &solver, log) == SHOAL_OK);
    REQUIRE(other.solver);
    CHECK_STR(shoal_solver_key(solver), shoal_solver_key(other.solver));
    CHECK_INT(spans(other.log, "compile_kernel"), 1);
    CHECK_INT(spans(log, "compile_kernel"), 0);
    CHECK(solver->runner.kernel[PLAN_FIRST].kernel ==
          other.solver->runner.kernel[PLAN_FIRST].kernel);
    CHECK(shoal_solver_cached(solver));
    shoal_solver_free(solver);
    shoal_model_free(model);
    shoal_log_free(log);
    made_free(&other);
}
