// SPDX-License-Identifier: MIT
// Public calls used as a program uses them, where no other test does: what a model is, the kernel
// cache without the command line, words for codes and outcomes.
#include "check.h"

#include "shoal/shoal.h"

OWN_CACHE

// ---- Words --------------------------------------------------------------------------------------

TEST(public_words_for_codes_and_outcomes) {
    static const char *const known[] = {"rtol", "atol", "method"};
    CHECK_INT(shoal_code_exit(SHOAL_OK), 0);
    CHECK_INT(shoal_code_exit(SHOAL_INPUT), 1);
    CHECK_INT(shoal_code_exit(SHOAL_DEVICE), 3);
    CHECK_INT(shoal_code_exit(SHOAL_IO), 4);
    CHECK_STR(shoal_status_text(SHOAL_STATUS_max_steps), "used up its steps");
    CHECK_HAS(shoal_status_hint(SHOAL_STATUS_max_steps), "--max-steps");
    CHECK_STR(shoal_status_hint(SHOAL_STATUS_ok), "");
    CHECK_STR(shoal_nearest("rtoll", known, 3), "rtol");
    CHECK_STR(shoal_nearest("metod", known, 3), "method");
    CHECK(!shoal_nearest("qqqqqqqq", known, 3));
    CHECK(!shoal_nearest("rtol", known, 0));
}

TEST(public_methods_behind_a_name) {
    const char *parts[2] = {NULL, NULL};
    CHECK_INT(shoal_method_parts("auto", parts), 2);
    CHECK_STR(parts[0], "tsit5");
    CHECK_STR(parts[1], "rodas5p");
    CHECK_INT(shoal_method_parts("rk4", parts), 1);
    CHECK_STR(parts[0], "rk4");
    CHECK_INT(shoal_method_parts("rk5000", parts), 0);
}

// ---- A model and its solver ---------------------------------------------------------------------

static const char text[] = "par a=1,b=2\nconst c=3\ninit x=1\nalg z=2\nx'=-a*x+c*z\n0=z-b*x\n";

static shoal_model *parse(shoal_log *log) {
    shoal_model *m = NULL;
    REQUIRE(!shoal_model_parse("pair.ode", text, sizeof text - 1, &m, log));
    return m;
}

static bool is(const shoal_model *m, const char *name, shoal_kind kind, const char *symbol) {
    shoal_kind found;
    uint32_t index;
    return shoal_model_find(m, name, &found, &index) && found == kind &&
           !strcmp(shoal_model_symbol(m, kind, index), symbol);
}

TEST(public_names_of_a_model) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(log);
    uint32_t rows[8], columns[8], index;
    shoal_kind kind;
    CHECK_STR(shoal_model_name(m), "pair.ode");
    CHECK(is(m, "b", SHOAL_PARAMETER, "b"));
    CHECK(is(m, "c", SHOAL_CONSTANT, "c"));
    CHECK(is(m, "x", SHOAL_STATE, "x"));
    CHECK(is(m, "z(0)", SHOAL_STATE, "z"));
    CHECK(!shoal_model_find(m, "nothing", &kind, &index));
    REQUIRE(shoal_model_find(m, "z", &kind, &index));
    CHECK(shoal_model_algebraic(m, index));
    REQUIRE(shoal_model_find(m, "x", &kind, &index));
    CHECK(!shoal_model_algebraic(m, index));
    CHECK(!shoal_model_algebraic(m, 2));
    REQUIRE(shoal_model_sparsity(m, NULL, NULL) == 4);
    CHECK_INT(shoal_model_sparsity(m, rows, columns), 4);
    for (int i = 0; i < 4; i++)
        CHECK_MSG(rows[i] < 2 && columns[i] < 2, "%u, %u", rows[i], columns[i]);
    shoal_model_free(m);
    shoal_log_free(log);
}

TEST(public_solver_names_its_device) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(log);
    shoal_solver *s = NULL;
    shoal_options o;
    REQUIRE(!shoal_options_init(&o, m, log));
    o.t1 = 1;
    o.device = "cpu";
    REQUIRE(!shoal_solver_new_plan(m, &o, &s, log));
    CHECK_HAS(shoal_solver_device(s), "lanes");
    CHECK_STR(shoal_solver_device(s), shoal_device_at(0).description);
    shoal_solver_free(s);
    shoal_model_free(m);
    shoal_log_free(log);
}

// The rows of the file that a job names are those of the batch.
TEST(public_batch_of_a_job) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(log);
    shoal_batch *b = NULL;
    shoal_job *job = NULL;
    char lines[512];
    check_write(check_path("rows.csv"), "a\n1\n2\n3\n");
    snprintf(lines, sizeof lines, "batch = %s\n", check_path("rows.csv"));
    check_write(check_path("a.job"), lines);
    REQUIRE(!shoal_batch_new(m, &b, log));
    REQUIRE(!shoal_job_load(check_path("a.job"), &job, log));
    CHECK_INT(shoal_batch_job(b, job, log), SHOAL_OK);
    CHECK_INT(shoal_batch_runs(b), 3);
    shoal_job_free(job);
    shoal_batch_free(b);
    shoal_model_free(m);
    shoal_log_free(log);
}

// ---- The kernel cache ---------------------------------------------------------------------------

// A kernel, compiled and kept.
struct shelf {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_cache *cache;
    shoal_warm_result made[SHOAL_WARM_MOST];
};

static struct shelf shelf_new(void) {
    struct shelf s = {.log = shoal_log_new()};
    uint32_t count = 0;
    s.model = parse(s.log);
    REQUIRE(!shoal_options_init(&s.options, s.model, s.log));
    s.options.t1 = 1;
    s.options.method = "rodas5p";
    REQUIRE(!shoal_model_warm(s.model, &s.options, NULL, s.made, &count, s.log));
    CHECK_INT(count, 1);
    CHECK(s.made[0].compiled && s.made[0].seconds > 0);
    CHECK_STR(s.made[0].method, "rodas5p");
    REQUIRE(!shoal_model_warm(s.model, &s.options, NULL, s.made, &count, s.log));
    CHECK(!s.made[0].compiled); // it was there
    REQUIRE(!shoal_cache_open(NULL, &s.cache, s.log));
    return s;
}

static void shelf_free(struct shelf *s) {
    shoal_cache_close(s->cache);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
}

static bool take_entry(const shoal_cache_entry *e, void *user) {
    CHECK_STR(e->kind, "so");
    CHECK_STR(e->backend, "cpu");
    CHECK_STR(e->model, "pair.ode");
    CHECK_STR(e->key, (const char *)user);
    return true;
}

static uint32_t fields; // of the key, and those that describe

static void take_field(const shoal_cache_field *f, void *user) {
    (void)user;
    fields += f->in_key ? 1 : 100;
    CHECK_MSG(strcmp(f->label, "kind") || !strcmp(f->text, "so"), "kind is %s", f->text);
}

TEST(public_cache_shows_a_kernel) {
    struct shelf s = shelf_new();
    shoal_cache_counts counts;
    char digits[9];
    CHECK(!shoal_cache_off(s.cache));
    CHECK_HAS(shoal_cache_place(s.cache), check_dir());
    shoal_cache_stat(s.cache, &counts);
    CHECK_INT(counts.entries, 1);
    CHECK_INT(counts.stored, 1);
    snprintf(digits, sizeof digits, "%.8s", s.made[0].key);
    CHECK_INT(shoal_cache_show(s.cache, digits, take_entry, take_field, s.made[0].key, s.log),
              SHOAL_OK);
    CHECK_MSG(fields % 100 > 5 && fields / 100 > 5, "%u", fields);
    CHECK(shoal_cache_show(s.cache, "ffffffff", take_entry, take_field, NULL, s.log) != SHOAL_OK);
    shelf_free(&s);
}

TEST(public_cache_explains_what_differs) {
    struct shelf s = shelf_new();
    shoal_cache_explanation e;
    CHECK_INT(shoal_cache_explain(s.cache, s.model, &s.options, &e, s.log), SHOAL_OK);
    CHECK(e.cached);
    CHECK_STR(e.key, s.made[0].key);
    s.options.precision = SHOAL_F32;
    CHECK_INT(shoal_cache_explain(s.cache, s.model, &s.options, &e, s.log), SHOAL_OK);
    CHECK(!e.cached && e.differences > 0);
    CHECK_STR(e.nearest, s.made[0].key);
    CHECK_STR(e.nearest_model, "pair.ode");
    shelf_free(&s);
}

TEST(public_cache_travels_and_is_checked) {
    struct shelf s = shelf_new();
    shoal_cache_check check;
    uint64_t count = 0, refused = 0;
    CHECK_INT(shoal_cache_verify(s.cache, true, NULL, NULL, &check, s.log), SHOAL_OK);
    CHECK_INT(check.good, 1);
    CHECK_INT(check.recompiled, 1);
    CHECK_INT(check.bad + check.differ + check.stale, 0);
    CHECK_INT(shoal_cache_export(s.cache, check_path("all.tar"), &count, s.log), SHOAL_OK);
    CHECK_INT(count, 1);
    shoal_cache_filter others = {.model = "other.ode"}, all = {0};
    CHECK_INT(shoal_cache_clear(s.cache, &others, &count, s.log), SHOAL_OK);
    CHECK_INT(count, 0);
    CHECK_INT(shoal_cache_clear(s.cache, &all, &count, s.log), SHOAL_OK);
    CHECK_INT(count, 1);
    CHECK_INT(shoal_cache_import(s.cache, check_path("all.tar"), &count, &refused, s.log),
              SHOAL_OK);
    CHECK_INT(count, 1);
    CHECK_INT(refused, 0);
    shoal_cache_list(s.cache, NULL, take_entry, s.made[0].key);
    shelf_free(&s);
}

static void take_fact(const char *name, const char *told, bool good, void *user) {
    bool *found = user;
    found[0] = found[0] || (!strcmp(name, "place") && strstr(told, check_dir()));
    found[1] = found[1] || !strncmp(name, "cpu ", 4);
    CHECK_MSG(good, "%s: %s", name, told);
}

TEST(public_cache_doctor_finds_it_well) {
    struct shelf s = shelf_new();
    bool found[2] = {0};
    CHECK_INT(shoal_cache_doctor(s.cache, take_fact, found, s.log), SHOAL_OK);
    CHECK(found[0]);
    CHECK(found[1]);
    shelf_free(&s);
}
