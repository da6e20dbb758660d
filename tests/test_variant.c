// SPDX-License-Identifier: MIT
// Variants of kernels: which one is taken, by times that are made up; that they are kernels of
// their own with the same bits; and that a file which says anything else does no harm.
#include "check.h"
#include "kernels.h"

#include "base/clock.h"
#include "device/device.h"
#include "dispatch/search.h"
#include "dispatch/tune.h"
#include "random_model.h"
#include "result/digest.h"

OWN_CACHE

// ---- Words and numbers --------------------------------------------------------------------------

TEST(variant_words) {
    char text[VARIANT_TEXT];
    const struct kernel_variant v = {{[VARIANT_WAYS] = 3,
                                      [VARIANT_STATES] = VARIANT_LOOPS,
                                      [VARIANT_STAGES] = 1,
                                      [VARIANT_REGISTERS] = 4}};
    struct kernel_variant read;
    variant_text(&v, text);
    CHECK_STR(text, "ways=3 states=loops stages=written-out registers=64");
    CHECK(variant_unpack(variant_pack(&v), &read) && !memcmp(&v, &read, sizeof v));
    variant_text(&(struct kernel_variant){{0}}, text);
    CHECK_STR(text, "");
    CHECK(variant_unpack(0, &read) && variant_is_default(&read));
    uint32_t good = 0;
    for (uint32_t i = 0; i < 1u << 16; i++)
        if (variant_unpack(i, &read)) {
            CHECK_INT(variant_pack(&read), i);
            variant_text(&read, text);
            good++;
        } else
            CHECK(variant_is_default(&read));
    CHECK(good > 1 && good < 1u << 12);
    CHECK(!variant_unpack(UINT32_MAX, &read) && !variant_unpack(1u << 31, &read));
}

// ---- Decisions ----------------------------------------------------------------------------------

struct pretence {
    double seconds[SEARCH_MOST]; // of a run
    double noise[SEARCH_MOST];   // every third is so much longer
    double compile;
    bool differs[SEARCH_MOST];
    double clock;
    uint32_t runs, made;
    shoal_code fails;
};

static shoal_code pretend_make(void *user, uint32_t i, bool *same) {
    struct pretence *p = user;
    p->clock += p->compile;
    p->made++;
    *same = !p->differs[i];
    return p->fails;
}

static shoal_code pretend_run(void *user, uint32_t i, double *seconds) {
    struct pretence *p = user;
    *seconds = p->seconds[i] + (p->runs++ % 3 ? 0 : p->noise[i]);
    p->clock += *seconds;
    return SHOAL_OK;
}

static double pretend_spent(void *user) { return ((struct pretence *)user)->clock; }

static struct search_result decide(struct pretence *p, uint32_t count, double budget) {
    const struct search_engine e = {pretend_make, pretend_run, pretend_spent};
    struct search_result r;
    CHECK(search_kernels(&(struct search){count, budget}, &e, p, &r) == p->fails);
    return r;
}

TEST(variant_search_decides) {
    const double ever = 1e9;
    struct search_result r = decide(&(struct pretence){.seconds = {1, 0.9, 0.8, 1.1}}, 4, ever);
    CHECK_INT(r.best, 2);
    CHECK_NEAR(r.gain, 1.25, 1e-12);
    CHECK(r.whole && r.tried == 3);
    // What is hardly faster is not taken, nor what is as fast or slower.
    CHECK_INT(decide(&(struct pretence){.seconds = {1, 0.98, 1, 1.5}}, 4, ever).best, 0);
    // Nor the fastest of all, when its bits differ.
    r = decide(&(struct pretence){.seconds = {1, 0.1, 0.9}, .differs = {[1] = true}}, 3, ever);
    CHECK(r.best == 2 && r.differed == 1);
    r = decide(&(struct pretence){.seconds = {1, 0.1}, .differs = {[1] = true}}, 2, ever);
    CHECK(r.best == 0 && r.gain == 1);
    // Others have the machine now and then.
    r = decide(&(struct pretence){.seconds = {1, 0.8}, .noise = {2, 2}}, 2, ever);
    CHECK_INT(r.best, 1);
    // An error is handed on, and nothing is taken.
    r = decide(&(struct pretence){.seconds = {1, 0.5}, .fails = SHOAL_STOPPED}, 2, ever);
    CHECK_INT(r.best, 0);
}

TEST(variant_search_ends_in_time) {
    struct pretence p = {.seconds = {1, 0.9, 0.8, 0.7}, .compile = 10};
    struct search_result r = decide(&p, 4, 5);
    CHECK(!r.whole && p.made == 1 && r.best == 1);
    p = (struct pretence){.seconds = {1, 0.9}};
    r = decide(&p, 2, -1);
    CHECK(!r.whole && !p.made && !p.runs && !r.best);
    CHECK(search_is_worth(100, 5) && !search_is_worth(99, 5) && !search_is_worth(1, 0));
    CHECK(!search_is_worth((double)NAN, 1) && search_is_worth((double)INFINITY, 1));
}

// ---- Kernels ------------------------------------------------------------------------------------

static const char model[] = "par a=1,b=2;init x=1,y=0,z=1,w=0.5;x'=-a*x+y*z;y'=b*x-y;z'=x*y-z;"
                            "w'=x-w*z;@ t1=3";

// What the file of the device says of the solver's kernel from now on.
static void plant(const struct made *m, uint32_t variant) {
    struct cache *cache = cache_open(NULL);
    struct tune *t = check_keep(calloc(1, sizeof *t));
    struct tune_kernel *k =
        tune_note(t, m->solver->runner.kernel[PLAN_FIRST].base, clock_unix_ns());
    k->variant = variant;
    k->gain = 1.5;
    tune_save(t, cache, m->solver->runner.how.variants, clock_unix_ns());
    cache_close(cache);
}

static uint32_t packed(uint8_t ways, uint8_t states, uint8_t stages) {
    return variant_pack(&(struct kernel_variant){
        {[VARIANT_WAYS] = ways, [VARIANT_STATES] = states, [VARIANT_STAGES] = stages}});
}

static struct made solver_of_text(const char *text, const char *options, bool plan) {
    struct made m = make_solver(text, options, plan, NULL);
    REQUIRE(m.code == SHOAL_OK);
    return m;
}

static struct made solver_of(const char *options, bool plan) {
    return solver_of_text(model, options, plan);
}

static const char *variant_of(const struct made *m) {
    return shoal_solver_variant(m->solver, NULL);
}

// The whole way of a key, without a compiler: a variant has its own, and says so; what is the
// default by another name is the default.
TEST(variant_keys) {
    static const char words[] = "method=tsit5";
    struct made base = solver_of(words, true), m;
    char key[65], computation[65];
    double gain = 0;
    const struct loaded *k = &base.solver->runner.kernel[PLAN_FIRST];
    CHECK_STR(k->key, k->base);
    CHECK_STR(shoal_solver_variant(base.solver, &gain), "");
    CHECK(gain == 1);
    snprintf(key, sizeof key, "%s", k->key);
    snprintf(computation, sizeof computation, "%s", k->computation);
    const struct {
        uint32_t variant;
        const char *says;
    } rows[] = {{packed(3, 0, 0), "ways=3"},
                {packed(2, 0, 0), ""},
                {packed(1, VARIANT_LOOPS, VARIANT_LOOPS), "ways=1 states=loops stages=loops"},
                {packed(0, VARIANT_WRITTEN_OUT, 0), ""},
                {9, ""},
                {UINT32_MAX, ""},
                {0, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plant(&base, rows[i].variant);
        m = solver_of(words, true);
        const struct loaded *now = &m.solver->runner.kernel[PLAN_FIRST];
        CHECK_STR(now->base, key);
        CHECK_STR(now->computation, computation); // the result file says the same
        CHECK_MSG(!strcmp(now->key, key) == !rows[i].says[0], "%08x", rows[i].variant);
        if (rows[i].says[0])
            CHECK_STR(shoal_solver_variant(m.solver, &gain), rows[i].says);
        made_free(&m);
    }
    plant(&base, packed(3, 0, 0)); // of another device or another kernel it says nothing
    m = solver_of("method=dopri5", true);
    CHECK_STR(variant_of(&m), "");
    made_free(&m);
    made_free(&base);
}

// The first parameter is swept.
static shoal_result *rows_of(struct made *m) {
    shoal_batch *batch = NULL;
    char sweep[64];
    snprintf(sweep, sizeof sweep, "%s=lin:0.1:3:99",
             shoal_model_symbol(m->model, SHOAL_PARAMETER, 0));
    shoal_result *result = NULL;
    REQUIRE(!shoal_batch_new(m->model, &batch, m->log));
    REQUIRE(!shoal_batch_sweep(batch, sweep, m->log));
    REQUIRE(!shoal_solver_run(m->solver, batch, &result, m->log));
    shoal_batch_free(batch);
    return result;
}

static void same_rows(const struct made *m, const shoal_result *a, const shoal_result *b,
                      const char *what) {
    bool same = true;
    for (uint64_t row = 0; row < shoal_result_rows(a); row++)
        for (uint64_t k = 0; k < shoal_result_samples(a, row); k++)
            for (uint32_t v = 0; v < shoal_solver_var_count(m->solver); v++) {
                double x = shoal_result_value(a, v, row, k), y = shoal_result_value(b, v, row, k);
                same = same && (!memcmp(&x, &y, sizeof x) || (isnan(x) && isnan(y)));
            }
    CHECK_MSG(same, "%s: other bits", what);
    CHECK_INT(shoal_result_tally(a).steps, shoal_result_tally(b).steps);
}

static uint64_t searches(const shoal_log *log) {
    for (size_t i = 0; i < shoal_log_sum_count(log); i++)
        if (!strcmp(shoal_log_sum(log, i).label, "search_variants"))
            return shoal_log_sum(log, i).count;
    return 0;
}

// The next process has the variant at once, and gives the bits of the default.
static void check_bits(const char *text, const char *options, uint32_t variant) {
    struct made base = solver_of_text(text, options, false);
    shoal_result *want = rows_of(&base);
    CHECK_INT(searches(base.log), 0); // a run of moments looks for nothing
    plant(&base, variant);
    struct made m = solver_of_text(text, options, false);
    CHECK_MSG(*variant_of(&m), "%s: no variant", options);
    shoal_result *got = rows_of(&m);
    same_rows(&m, want, got, options);
    shoal_result_free(want);
    shoal_result_free(got);
    made_free(&m);
    made_free(&base);
}

TEST(variant_bits) {
    check_bits(model, "method=tsit5 save=n=4 chunk=20", packed(3, VARIANT_LOOPS, VARIANT_LOOPS));
}
LONG_TEST(variant_bits_of_methods) {
    static const char *const options[] = {"method=rk4 dt=0.01", "method=rodas5p", "method=kvaerno3",
                                          "method=radau5 precision=f32", "method=dop853 save=n=5"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        check_bits(model, options[i], packed(4, 0, VARIANT_LOOPS));
        check_bits(model, options[i], packed(0, VARIANT_LOOPS, 0));
    }
}

LONG_TEST(variant_bits_of_random_models) {
    static const char *const options[] = {"method=tsit5 t1=2", "method=rk4 dt=0.05 t1=2",
                                          "method=rodas4 t1=2 precision=f32"};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct random_shape shape = {.states = 4 + (uint32_t)seed * 3,
                                     .size = 12,
                                     .temporaries = 2,
                                     .kind = RANDOM_ALL,
                                     .gentle = true};
        struct random_model *m = random_model_new(seed, shape);
        char *text = random_model_text(m);
        if (random_model_parameters(m)) {
            bool out = shape.states > 12; // by default loops
            check_bits(text, options[seed % 3],
                       packed(4, out ? VARIANT_WRITTEN_OUT : VARIANT_LOOPS, VARIANT_LOOPS));
            check_bits(text, options[seed % 3], packed(1, 0, VARIANT_LOOPS));
        }
        free(text);
        random_model_free(m);
    }
}

// ---- Searches -----------------------------------------------------------------------------------

static const char chunks[] = "method=tsit5 chunk=20 threads=1";

// A run that is long enough does, once, in its midst; later ones and other processes do not.
LONG_TEST(variant_search_in_long_runs) {
    struct made base = solver_of(chunks, false);
    shoal_result *want = rows_of(&base);
    made_free(&base);
    search_share = 1e12; // everything is long
    struct made m = solver_of(chunks, false);
    shoal_result *got = rows_of(&m);
    same_rows(&m, want, got, "tuned in the midst");
    shoal_result_free(got);
    CHECK_INT(searches(m.log), 1);
    got = rows_of(&m);
    same_rows(&m, want, got, "tuned before");
    shoal_result_free(got);
    CHECK_INT(searches(m.log), 1);
    char key[65];
    snprintf(key, sizeof key, "%s", shoal_solver_key(m.solver));
    made_free(&m);
    m = solver_of(chunks, false);
    got = rows_of(&m);
    same_rows(&m, want, got, "tuned by another process");
    CHECK_INT(searches(m.log), 0);
    CHECK_STR(shoal_solver_key(m.solver), key);
    CHECK(m.solver->runner.kernel[PLAN_FIRST].gain >= 1);
    shoal_result_free(got);
    shoal_result_free(want);
    made_free(&m);
}

// With shoal_solver_warm, of two methods.
LONG_TEST(variant_warm_tunes) {
    struct made m = solver_of("method=auto tune=on threads=1", false);
    shoal_batch *batch = NULL;
    shoal_result *want = rows_of(&m);
    REQUIRE(!shoal_batch_new(m.model, &batch, m.log));
    REQUIRE(!shoal_batch_sweep(batch, "a=lin:0.1:3:500", m.log));
    REQUIRE(!shoal_solver_warm(m.solver, batch, m.log));
    CHECK_INT(searches(m.log), 1);
    for (int i = 0; i < PLAN_LAST; i++)
        CHECK(m.solver->runner.kernel[i].gain >= 1);
    shoal_result *got = rows_of(&m);
    same_rows(&m, want, got, "method auto");
    shoal_result_free(got);
    shoal_result_free(want);
    shoal_batch_free(batch);
    made_free(&m);
}

// What NVRTC makes of it, without a GPU.
static void compile_cuda(struct kernel_plan *plan, const struct model *of) {
    const struct shoal_backend *b = NULL;
    struct shoal_device *d = NULL;
    struct system *s = build_system(of, NULL);
    struct kernel_source text;
    struct shoal_bytes bytes = {0};
    if (device_open_target("sm_90", false, &b, &d, NULL) != SHOAL_OK || !d)
        check_skip("no NVRTC");
    plan->target = b->target(d);
    REQUIRE(s && !codegen_kernel(plan, s, NULL, NULL, &text, NULL));
    const struct shoal_kernel_text k = {
        .text = text.text.data, .length = text.text.length, .digest = "0"};
    CHECK(b->build(d, &k, NULL, &bytes, NULL) == SHOAL_OK && bytes.length);
    free(bytes.data);
    kernel_source_free(&text);
    system_free(s);
    b->close(d);
}

LONG_TEST(variant_registers_by_nvrtc) {
    struct made m = solver_of("method=tsit5", true);
    struct kernel_plan plan = m.solver->plan->kernel[PLAN_FIRST];
    plan.variant.value[VARIANT_REGISTERS] = VARIANT_VALUES;
    compile_cuda(&plan, m.model->model);
    plan.variant = (struct kernel_variant){
        {[VARIANT_STATES] = VARIANT_LOOPS, [VARIANT_STAGES] = VARIANT_LOOPS}};
    compile_cuda(&plan, m.model->model);
    made_free(&m);
}

TEST(variant_registers_of_cuda) {
    struct made m = solver_of("method=tsit5", true);
    struct kernel_plan plan = m.solver->plan->kernel[PLAN_FIRST];
    struct shoal_target target = {.name = "sm_90", .prelude = "prelude_cuda.h", .device = true};
    struct kernel_source text;
    struct kernel_variant list[VARIANT_VALUES];
    plan.target = &target;
    CHECK_INT(codegen_variants(&plan, 4, VARIANT_WAYS, list), 0);
    CHECK_INT(codegen_variants(&plan, 4, VARIANT_REGISTERS, list), VARIANT_VALUES);
    for (int i = 0; i < 2; i++) {
        struct system *s = build_system(m.model->model, NULL);
        REQUIRE(s);
        plan.variant = i ? list[1] : (struct kernel_variant){{0}};
        REQUIRE(!codegen_kernel(&plan, s, NULL, NULL, &text, NULL));
        CHECK_INT(strstr(text.text.data, "__launch_bounds__(128, 4)") != NULL, i);
        CHECK_INT(kernel_component(&text, "variant") != NULL, i);
        kernel_source_free(&text);
        system_free(s);
    }
    made_free(&m);
}

// ---- What rows gave -----------------------------------------------------------------------------

// The digest of `rows` rows in chunks of `most`, of a status and of two samples of a state.
static uint64_t digest_of(const unsigned char *status, const double *x, uint32_t rows,
                          uint32_t most) {
    struct result_array array[] = {
        {.role = ROLE_STATUS, .type = TYPE_U8, .axes = AXES_PER_RUN},
        {.type = TYPE_F64, .axes = AXES_WIDE, .axis = {2}},
    };
    struct result_list list = {.array = array, .count = 2};
    struct digest_sink sink;
    digest_sink_init(&sink, true);
    CHECK(sink.base.begin(&sink.base, &list, NULL) == SHOAL_OK);
    for (uint32_t at = 0; at < rows; at += most) {
        struct result_view view[] = {{.data = status + at}, {x + 2 * at, 2, 1}};
        struct result_chunk c = {at, rows - at < most ? rows - at : most, NULL, view, NULL};
        CHECK(sink.base.chunk(&sink.base, &c, NULL) == SHOAL_OK);
    }
    return sink.digest;
}

// Chunks are as long as devices were fast: what they are cut into must not look like other bits.
TEST(variant_digest_knows_no_chunks) {
    unsigned char status[] = {0, 1, 0, 3, 0};
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, NAN};
    uint64_t whole = digest_of(status, x, 5, 5);
    for (uint32_t most = 1; most < 5; most++)
        CHECK(digest_of(status, x, 5, most) == whole);
    x[9] = -x[9];
    CHECK(digest_of(status, x, 5, 5) == whole); // all NaN are one
    for (int i = 0; i < 9; i++) {
        double was = x[i];
        x[i] = nextafter(was, 100);
        CHECK(digest_of(status, x, 5, 2) != whole);
        x[i] = x[i + 1], x[i + 1] = was; // in each other's place
        CHECK(digest_of(status, x, 5, 2) != whole);
        x[i + 1] = x[i], x[i] = was;
    }
    status[1] = 2;
    CHECK(digest_of(status, x, 5, 5) != whole);
}
