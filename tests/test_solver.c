// SPDX-License-Identifier: MIT
// A solver is a snapshot that can be changed: after every change it is what a new one would be, bit
// for bit, after every error what it was, and it hears of nothing else.
#include "check.h"

#include "kernels.h"
#include "shoal/shoal.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

// Every kind of name: an initial value that is a number, and one that is a formula.
static const char text[] = "par a=1, b=0.5\nconst c=2\n!d=a*b\nq=x*c\n"
                           "x'=b-d*x\ny'=q-a*y\ninit x=1\ny(0)=2*a\naux e=x+c*y\n@ t1=1\n";

struct live {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
};

static char *said(const struct live *l) {
    struct buf all = {0};
    buf_puts(&all, "");
    for (size_t i = 0; i < shoal_log_message_count(l->log); i++)
        buf_printf(&all, "%s\n", shoal_log_message(l->log, i).text);
    return all.data;
}

static void need(const struct live *l, shoal_code code, const char *what) {
    if (code != SHOAL_OK) {
        check_fail(__FILE__, __LINE__, "%s: %s\n%s", what, shoal_code_text(code), said(l));
        check_end();
    }
}

// options: blank-separated words name=value. The solver is not made yet.
static struct live prepare(const char *model, const char *options) {
    struct live l = {.log = shoal_log_new()};
    need(&l, shoal_model_parse("m.ode", model, strlen(model), &l.model, l.log), model);
    need(&l, shoal_options_init(&l.options, l.model, l.log), "options");
    char *words = check_keep(strdup(options)), *rest = NULL; // the options point into it
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        REQUIRE(value);
        *value++ = 0;
        need(&l, shoal_options_set(&l.options, word, value, l.log), word);
    }
    return l;
}

static void add_batch(struct live *l, const char *sweep) {
    need(l, shoal_batch_new(l->model, &l->batch, l->log), "batch");
    if (sweep)
        need(l, shoal_batch_sweep(l->batch, sweep, l->log), sweep);
}

static void add_solver(struct live *l) {
    need(l, shoal_solver_new(l->model, &l->options, &l->solver, l->log), "solver");
}

static struct live make(const char *options, const char *sweep) {
    struct live l = prepare(text, options);
    add_batch(&l, sweep);
    add_solver(&l);
    return l;
}

static void drop(struct live *l) {
    shoal_solver_free(l->solver);
    shoal_batch_free(l->batch);
    shoal_model_free(l->model);
    shoal_log_free(l->log);
}

static bool same_bits(double a, double b) {
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

static bool same_results(const shoal_result *a, const shoal_result *b, uint32_t vars) {
    bool same = shoal_result_rows(a) == shoal_result_rows(b) && shoal_result_rows(a);
    for (uint64_t i = 0; same && i < shoal_result_rows(a); i++) {
        uint64_t samples = shoal_result_samples(a, i);
        same = samples == shoal_result_samples(b, i) &&
               shoal_result_status(a, i) == shoal_result_status(b, i);
        for (uint64_t k = 0; same && k < samples; k++) {
            same = same_bits(shoal_result_t(a, i, k), shoal_result_t(b, i, k));
            for (uint32_t v = 0; v < vars; v++)
                same = same &&
                       same_bits(shoal_result_value(a, v, i, k), shoal_result_value(b, v, i, k));
        }
    }
    shoal_tally x = shoal_result_tally(a), y = shoal_result_tally(b);
    return same && x.steps == y.steps && x.f_evals == y.f_evals;
}

static shoal_result *results(const struct live *l) {
    shoal_result *r = NULL;
    need(l, shoal_solver_run(l->solver, l->batch, &r, l->log), "run");
    return r;
}

// The two solvers are the same: key, variables, times, and results of the first one's batch.
static void check_same(const struct live *a, const struct live *b, const char *what) {
    uint32_t vars = shoal_solver_var_count(a->solver);
    CHECK_MSG(!strcmp(shoal_solver_key(a->solver), shoal_solver_key(b->solver)), "%s: key", what);
    CHECK_MSG(vars == shoal_solver_var_count(b->solver), "%s: variables", what);
    for (uint32_t i = 0; i < vars; i++)
        CHECK_STR(shoal_solver_var_name(a->solver, i), shoal_solver_var_name(b->solver, i));
    CHECK_INT(shoal_solver_save_count(a->solver), shoal_solver_save_count(b->solver));
    shoal_result *x = results(a), *y = results(b);
    CHECK_MSG(same_results(x, y, vars), "%s: other results than a new solver's", what);
    shoal_result_free(x);
    shoal_result_free(y);
}

static void check_meta(const struct live *a, const struct live *b, const char *what) {
    const char *x = check_path("a.csv"), *y = check_path("b.csv");
    need(a, shoal_solver_run_file(a->solver, a->batch, x, NULL, a->log), x);
    need(b, shoal_solver_run_file(b->solver, b->batch, y, NULL, b->log), y);
    CHECK_MSG(!strcmp(check_read(x), check_read(y)), "%s: another file", what);
}

// ---- Every option -------------------------------------------------------------------------------

// What a solver is before and after the change of one option.
static const struct change {
    const char *option, *before, *value;
} changes[] = {
    {"t0", "", "0.25"},
    {"t1", "", "2"},
    {"settle", "save=n=5", "0.5"},
    {"dt", "method=rk4 dt=0.25", "0.125"},
    {"dt0", "", "1e-3"},
    {"dt-min", "", "0.4"},
    {"dt-max", "", "0.01"},
    {"max-steps", "", "3"},
    {"method", "", "dopri5"},
    {"method", "method=rk4 dt=0.25", "euler"},
    {"method", "method=rodas4", "auto"},
    {"controller", "method=dopri5", "i"},
    {"rtol", "", "1e-3"},
    {"atol", "", "1e-3,x=1e-4"},
    {"precision", "", "f32"},
    {"fast-math", "", "on"},
    {"compensate", "", "on"},
    {"save", "", "n=4"},
    {"save", "save=n=4", "every=0.25"},
    {"save", "save=n=4", "at=0.1,0.5"},
    {"save", "", "steps"},
    {"vars", "", "e,x"},
    {"summary", "", "max(x)"},
    {"summary", "summary=max(x)", "n=crossings(x,0.5)"},
    {"window", "summary=max(x)", "0.25"},
    {"doses", "", "doses.csv"}, // a file of the test
    {"reduce", "", "mean,quantile(0.5)"},
    {"by", "reduce=mean", "a"},
    {"keep-failed", "max-steps=3", "on"},
    {"counters", "", "on"},
    {"time-unit", "", "ms"},
    {"device", "", "cpu"},
    {"threshold", "", "3"},
    {"reuses", "", "5"},
    {"no-fallback", "", "on"},
    {"resume", "", "on"},
    {"mixed-bits", "", "on"},
    {"tune", "", "on"},
    {"threads", "", "1"},
    {"chunk", "", "2"},
    {"memory", "", "1K"},
    {"refill", "", "off"},
    {"cache", "", NULL},       // a directory of the test
    {"keep-source", "", NULL}, // the same
};
enum { CHANGES = sizeof changes / sizeof *changes };

static void check_change(const struct change *c, const char *chunk) {
    char before[128], after[256], key[65];
    const char *value = c->value ? c->value : check_dir();
    if (!strcmp(c->option, "doses")) {
        value = check_path(c->value);
        check_write(value, "ID,TIME,AMT\n0,0.25,1\n3,0.5,2\n");
    }
    shoal_effect effect = (shoal_effect)9;
    bool in_kernel = false;
    for (uint32_t i = 0; i < shoal_option_count(); i++)
        if (!strcmp(shoal_option_at(i).name, c->option))
            in_kernel = shoal_option_at(i).in_kernel;
    snprintf(before, sizeof before, "%s%s", chunk, c->before);
    snprintf(after, sizeof after, "%s %s=%s", before, c->option, value);
    struct live live = make(before, "a=lin:0.5:2:7");
    snprintf(key, sizeof key, "%s", shoal_solver_key(live.solver));
    need(&live, shoal_solver_set(live.solver, c->option, value, &effect, live.log), after);
    bool kept = !strcmp(key, shoal_solver_key(live.solver));
    CHECK_MSG((effect == SHOAL_KEPT) == kept, "%s: effect %d", after, (int)effect);
    CHECK_MSG(kept || in_kernel, "%s: another kernel", after);
    struct live fresh = make(after, "a=lin:0.5:2:7");
    if (!strstr(after, "reduce=")) // statistics are no rows in memory
        check_same(&live, &fresh, after);
    check_meta(&live, &fresh, after);
    drop(&live);
    drop(&fresh);
}

TEST(solver_set_every_option) {
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        bool there = !o.field || !strcmp(o.name, "record"); // that needs an event
        for (int k = 0; k < CHANGES; k++)
            there = there || !strcmp(changes[k].option, o.name);
        CHECK_MSG(there, "no change of --%s is tested", o.name);
    }
    for (int k = 0; k < CHANGES; k++)
        if (check_does((size_t)k, 0, 2))
            check_change(&changes[k], "");
}

LONG_TEST(solver_set_every_option_chunked) {
    for (int k = 0; k < CHANGES; k++)
        if (strcmp(changes[k].option, "cache"))
            check_change(&changes[k], "chunk=3 ");
}

// The cache is asked first; what the key says is the same kernel is kept.
TEST(solver_set_asks_the_cache) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    struct live l = make("", "a=1,2");
    shoal_effect effect;
    need(&l, shoal_solver_set(l.solver, "vars", "x", &effect, l.log), "vars");
    CHECK_INT(effect, SHOAL_COMPILED);
    need(&l, shoal_solver_set(l.solver, "vars", "x,y", &effect, l.log), "vars");
    CHECK_INT(effect, SHOAL_LOADED);
    CHECK(shoal_solver_cached(l.solver));
    need(&l, shoal_solver_set(l.solver, "vars", "y,x", NULL, l.log), "vars");
    need(&l, shoal_solver_set_values(l.solver, "c=2", &effect, l.log), "c");
    CHECK_INT(effect, SHOAL_KEPT);
    uint64_t kernels = kernels_kept();
    need(&l, shoal_solver_set_values(l.solver, "c=3", &effect, l.log), "c");
    CHECK_INT(effect, SHOAL_COMPILED);
    CHECK_INT(kernels_kept(), kernels + 1);
    drop(&l);
}

// Options that need each other are changed together.
TEST(solver_set_options_together) {
    struct live l = make("", "a=lin:0.5:2:7"), fresh = make("method=rk4 dt=0.125", "a=lin:0.5:2:7");
    shoal_options o;
    CHECK_INT(shoal_solver_set(l.solver, "method", "rk4", NULL, l.log), SHOAL_INPUT);
    CHECK_INT(shoal_solver_set(l.solver, "dt", "0.125", NULL, l.log), SHOAL_INPUT);
    need(&l, shoal_solver_options(l.solver, &o, l.log), "options");
    o.method = "rk4";
    o.dt = 0.125;
    need(&l, shoal_solver_set_options(l.solver, &o, NULL, l.log), "both");
    check_same(&l, &fresh, "rk4");
    drop(&fresh);
    fresh = make("", "a=lin:0.5:2:7");
    need(&l, shoal_solver_options(l.solver, &o, l.log), "options");
    o.method = "auto";
    o.dt = NAN;
    need(&l, shoal_solver_set_options(l.solver, &o, NULL, l.log), "both");
    check_same(&l, &fresh, "auto");
    drop(&fresh);
    drop(&l);
}

// ---- Every kind of name -------------------------------------------------------------------------

static void check_values(const char *options, const char *values, bool kept) {
    struct live live = make(options, "b=lin:0.5:2:7"), fresh = prepare(text, options);
    shoal_effect effect = (shoal_effect)9;
    need(&live, shoal_solver_set_values(live.solver, values, &effect, live.log), values);
    CHECK_MSG((effect == SHOAL_KEPT) == kept, "%s: effect %d", values, (int)effect);
    need(&fresh, shoal_model_set(fresh.model, values, fresh.log), values);
    add_batch(&fresh, "b=lin:0.5:2:7");
    add_solver(&fresh);
    check_same(&live, &fresh, values);
    drop(&live);
    drop(&fresh);
}

LONG_TEST(solver_set_every_kind_of_name) {
    static const char *const options[] = {"", "chunk=3", "method=rodas4", "precision=f32 save=n=3"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        check_values(options[i], "a=3", true); // and what is derived from it
        check_values(options[i], "x(0)=0.25,a=2", true);
        check_values(options[i], "c=3", false);
        check_values(options[i], "y(0)=5", false); // its formula was in the kernel
    }
}

// What cannot be changed: the solver is what it was.
static void check_refused(shoal_code got, const struct live *l, const struct live *as_before,
                          const char *what) {
    CHECK_MSG(got != SHOAL_OK, "%s is taken", what);
    check_same(l, as_before, what);
    check_meta(l, as_before, what);
}

TEST(solver_error_leaves_it_as_it_was) {
    char script[512];
    snprintf(script, sizeof script, "[ -e %s/broken ] && exit 1; exec cc \"$@\"", check_dir());
    use_script(script);
    struct live l = make("vars=x,e", "b=lin:0.5:2:5"), same = make("vars=x,e", "b=lin:0.5:2:5");
    static const char *const options[][2] = {
        {"method", "rk4"}, {"dt", "0.1"},         {"vars", "x,nope"},     {"t1", "0"},
        {"t1", "x"},       {"save", "at=2"},      {"rtol", "-1"},         {"atol", "nope=1"},
        {"settle", "1"},   {"device", "gpu"},     {"sweep", "a=1"},       {"nope", "1"},
        {"chunk", "0"},    {"device", "cuda:99"}, {"controller", "fixed"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        check_refused(shoal_solver_set(l.solver, options[i][0], options[i][1], NULL, l.log), &l,
                      &same, options[i][0]);
    static const char *const values[] = {"d=1", "e=1", "q=1",     "nope=1",
                                         "a=",  "",    "a=1,c=x", "a(0)=1"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_refused(shoal_solver_set_values(l.solver, values[i], NULL, l.log), &l, &same,
                      values[i]);
    check_write(check_path("broken"), "");
    check_refused(shoal_solver_set(l.solver, "vars", "y,e", NULL, l.log), &l, &same, "compiler");
    check_refused(shoal_solver_set_values(l.solver, "c=7", NULL, l.log), &l, &same, "compiler");
    drop(&l);
    drop(&same);
}

// Fields that a program filled by itself.
TEST(solver_refuses_fields_that_are_wrong) {
    struct live l = prepare(text, "");
    shoal_options o = l.options;
#define WRONG(field_, value_)                                                                      \
    do {                                                                                           \
        o = l.options;                                                                             \
        o.field_ = value_;                                                                         \
        CHECK_MSG(shoal_solver_new_plan(l.model, &o, &l.solver, l.log) == SHOAL_INPUT,             \
                  #field_ " = " #value_ " is taken");                                              \
        CHECK(l.solver == NULL);                                                                   \
    } while (0)
    WRONG(precision, (shoal_precision)7);
    WRONG(refill, (shoal_refill)7);
    WRONG(save, (shoal_save)9);
    WRONG(threads, 1u << 20);
    WRONG(chunk, UINT64_MAX);
    WRONG(memory, UINT64_MAX);
    WRONG(max_steps, UINT64_MAX);
    WRONG(t0, NAN);
    WRONG(t1, INFINITY);
    WRONG(settle, NAN);
    WRONG(rtol, -1);
    WRONG(atol, INFINITY);
    WRONG(dt0, 0);
    WRONG(dt_model, -1);
    WRONG(method, "nope");
    WRONG(controller, "nope");
    WRONG(vars, "");
    WRONG(atol_list, "x");
    WRONG(device, "nope");
    o = l.options;
    o.method = o.device = NULL; // the defaults
    need(&l, shoal_solver_new_plan(l.model, &o, &l.solver, l.log), "defaults");
    drop(&l);
}

// ---- Nothing else reaches it --------------------------------------------------------------------

TEST(solver_is_a_snapshot) {
    struct live same = make("vars=x,e atol=1e-9,x=1e-7 save=at=0.5,1", "b=1,2");
    struct live l = prepare(text, "");
    char vars[] = "x,e", list[] = "x=1e-7", at[] = "0.5,1";
    l.options.vars = vars;
    l.options.atol = 1e-9;
    l.options.atol_list = list;
    l.options.save = SHOAL_SAVE_AT;
    l.options.save_at = at;
    add_batch(&l, "b=1,2");
    add_solver(&l);
    memset(vars, '?', 3); // and what was borrowed is gone
    memset(list, '?', 6);
    memset(at, '?', 5);
    memset(&l.options, 0xff, sizeof l.options);
    CHECK_STR(shoal_model_text(l.model), text);
    need(&l, shoal_model_set(l.model, "a=9,c=9,x(0)=9,y(0)=9", l.log), "set");
    check_same(&l, &same, "model and options changed");
    shoal_model_free(l.model);
    l.model = NULL;
    check_same(&l, &same, "model freed");
    need(&l, shoal_solver_set(l.solver, "rtol", "1e-4", NULL, l.log), "rtol");
    need(&l, shoal_solver_set_values(l.solver, "c=3", NULL, l.log), "c");
    need(&same, shoal_solver_set_values(same.solver, "c=3", NULL, same.log), "c");
    need(&same, shoal_solver_set(same.solver, "rtol", "1e-4", NULL, same.log), "rtol");
    check_same(&l, &same, "changed without its model");
    for (int i = 0; i < 3; i++) { // what a change leaves behind is not what the next one builds on
        need(&l, shoal_solver_set_values(l.solver, i % 2 ? "c=3,a=1+1" : "c=4,a=c", NULL, l.log),
             "c");
        need(&l, shoal_solver_set(l.solver, "vars", i % 2 ? "x" : "y", NULL, l.log), "vars");
    }
    need(&same, shoal_solver_set_values(same.solver, "c=4,a=c", NULL, same.log), "c");
    need(&same, shoal_solver_set(same.solver, "vars", "y", NULL, same.log), "vars");
    check_same(&l, &same, "changed again and again");
    drop(&l);
    drop(&same);
}

// The kernel that takes over is that of the snapshot as well, before and after it was made.
TEST(solver_auto_is_changed_too) {
    static const char vdp[] = "const c=1\npar mu=1\ninit x=2\nx'=c*y\ny'=c*(mu*(1-x^2)*y-x)\n";
    struct live l = prepare(vdp, "t1=50"), fresh;
    static const struct {
        const char *option, *value;
    } steps[] = {{"rtol", "1e-5"},
                 {"vars", "x"},
                 {"controller", "i"},
                 {"method", "rodas4"},
                 {"method", "auto"}};
    char options[256] = "t1=50";
    add_batch(&l, "mu=1,1000,2");
    add_solver(&l);
    shoal_model_free(l.model);
    l.model = NULL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        need(&l, shoal_solver_set(l.solver, steps[i].option, steps[i].value, NULL, l.log), "set");
        size_t n = strlen(options);
        snprintf(options + n, sizeof options - n, " %s=%s", steps[i].option, steps[i].value);
        fresh = prepare(vdp, options);
        add_batch(&fresh, "mu=1,1000,2");
        add_solver(&fresh);
        check_same(&l, &fresh, options);
        drop(&fresh);
    }
    drop(&l);
}

// ---- Batches ------------------------------------------------------------------------------------

TEST(solver_takes_a_batch_that_fits) {
    struct live l = make("", NULL);
    static const struct {
        const char *text, *part; // NULL: it fits
    } models[] = {
        {text, NULL},
        {"par a=7, b=8\nconst c=9\n!d=a+b\nx'=1\ny'=1\naux e=1\n", NULL},
        {"par b=0.5, a=1\nconst c=2\n!d=a*b\nx'=b\ny'=c\naux e=x\n", "the parameter `b`"},
        {"par a=1, b=0.5\nconst c=2\n!d=a*b\ny'=b\nx'=c\naux e=x\n", "the state `y`"},
        {"par a=1, b=0.5\nconst c=2\n!d=a*b\nx'=b\ny'=c\nz'=1\naux e=x\n", "the state `z`"},
        {"par a=1, b=0.5, c=2\n!d=a*b\nx'=b\ny'=c\naux e=x\n", "the parameter `c`"},
        {"par a=1, b=0.5\nconst c=2\n!d=a*b\nx'=b\ny'=c\n", "the observable `none`"},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct live other = prepare(models[i].text, "");
        shoal_result *result = NULL;
        shoal_plan plan;
        uint8_t status[3];
        shoal_array arrays = {.name = "status", .data = status};
        add_batch(&other, "b=1,2,3");
        shoal_code want = models[i].part ? SHOAL_INPUT : SHOAL_OK;
        CHECK_INT(shoal_solver_run(l.solver, other.batch, &result, l.log), want);
        CHECK_INT(shoal_solver_plan(l.solver, other.batch, NULL, &plan, l.log), want);
        CHECK_INT(shoal_solver_run_arrays(l.solver, other.batch, &arrays, 1, NULL, l.log), want);
        CHECK_INT(shoal_solver_run_file(l.solver, other.batch, check_path("o.csv"), NULL, l.log),
                  want);
        if (models[i].part) {
            size_t last = shoal_log_message_count(l.log) - 1;
            CHECK_HAS(shoal_log_message(l.log, last).text, "made for another model");
            CHECK_HAS(shoal_log_message(l.log, last).text, models[i].part);
        }
        shoal_result_free(result);
        drop(&other);
    }
    drop(&l);
}

// A name has its value from one place: also when the solver got it later than the batch.
TEST(solver_value_in_two_places) {
    struct live l = make("", "a=1,2");
    shoal_result *result = NULL;
    need(&l, shoal_solver_set_values(l.solver, "a=3", NULL, l.log), "a");
    CHECK_INT(shoal_solver_run(l.solver, l.batch, &result, l.log), SHOAL_INPUT);
    CHECK_HAS(shoal_log_message(l.log, shoal_log_message_count(l.log) - 1).text,
              "`a` is given by both --set and --sweep");
    drop(&l);
}

// A batch outlives its model, and knows it as it was.
TEST(solver_batch_outlives_the_model) {
    struct live l = prepare(text, "");
    add_batch(&l, NULL);
    need(&l, shoal_model_set(l.model, "c=5", l.log), "c");
    add_solver(&l);
    shoal_model_free(l.model);
    l.model = NULL;
    need(&l, shoal_batch_sweep(l.batch, "a=lin:0:c:2", l.log), "sweep");
    CHECK(shoal_batch_value(l.batch, 0, 1) == 2);
    shoal_result_free(results(&l));
    drop(&l);
}

// ---- Stops --------------------------------------------------------------------------------------

struct stopper {
    shoal_solver *solver;
    const char *label; // the event that it stops at; NULL: none
    int times;
    shoal_code nested; // of a call in the middle of another
};

static void on_event(const shoal_log *log, size_t event, bool ended, void *user) {
    struct stopper *s = user;
    if (ended || !s->label || strcmp(shoal_log_span(log, event).label, s->label))
        return;
    for (int i = 0; i < s->times; i++)
        shoal_solver_stop(s->solver);
    s->nested = shoal_solver_set(s->solver, "rtol", "1e-3", NULL, NULL);
}

static shoal_code run_status(struct live *l, uint8_t status[100], shoal_tally *tally) {
    shoal_array arrays = {.name = "status", .data = status};
    return shoal_solver_run_arrays(l->solver, l->batch, &arrays, 1, tally, l->log);
}

// A stop ends the run under way, however often it is asked for, and no other.
TEST(solver_stop_ends_what_is_under_way) {
    struct live l = make("chunk=10", "a=lin:1:2:100");
    struct stopper s = {.solver = l.solver, .times = 2};
    shoal_tally tally;
    uint8_t status[100];
    shoal_log_on_span(l.log, on_event, &s);
    shoal_solver_stop(l.solver); // nothing is under way
    CHECK_INT(run_status(&l, status, &tally), SHOAL_OK);
    CHECK_INT(tally.done, 100);
    for (int i = 0; i < 3; i++) {
        s.label = "kernel_launch";
        CHECK_INT(run_status(&l, status, &tally), SHOAL_STOPPED);
        CHECK(!tally.complete && tally.done < 100);
        CHECK_INT(status[99], SHOAL_STATUS_PENDING);
        CHECK_INT(s.nested, SHOAL_USAGE); // one call at a time
        s.label = "finish_output";        // too late for this run
        CHECK_INT(run_status(&l, status, &tally), SHOAL_OK);
        s.label = NULL;
        shoal_solver_stop(l.solver);
        shoal_solver_stop(l.solver);
        CHECK_INT(run_status(&l, status, &tally), SHOAL_OK);
        CHECK_INT(tally.done, 100);
        CHECK_INT(status[99], SHOAL_STATUS_ok);
    }
    drop(&l);
}

static shoal_solver *signalled;
static void on_signal(int number) {
    (void)number;
    shoal_solver_stop(signalled);
}

static void *raise_soon(void *wait) {
    usleep(*(useconds_t *)wait);
    kill(getpid(), SIGUSR1);
    return NULL;
}

// From a signal handler, in the middle of a run and of a compilation; the solver is as it was.
TEST(solver_stop_from_a_signal) {
    char script[512];
    snprintf(script, sizeof script,
             "case \"$*\" in *-###*|*-print-*|*-dM*|*/whole.o*) exec cc \"$@\";; esac; "
             "[ -e %s/slow ] && exec sleep 60; exec cc \"$@\"",
             check_dir());
    use_script(script);
    struct live l = make("method=tsit5 t1=1e9 max-steps=1000000000", "a=lin:1:2:100");
    uint8_t status[100];
    shoal_tally tally;
    pthread_t thread;
    useconds_t wait = 300000;
    signalled = l.solver;
    signal(SIGUSR1, on_signal);
    REQUIRE(pthread_create(&thread, NULL, raise_soon, &wait) == 0);
    CHECK_INT(run_status(&l, status, &tally), SHOAL_STOPPED);
    pthread_join(thread, NULL);
    check_write(check_path("slow"), "");
    char key[65];
    snprintf(key, sizeof key, "%s", shoal_solver_key(l.solver));
    wait = 1000000;
    REQUIRE(pthread_create(&thread, NULL, raise_soon, &wait) == 0);
    CHECK_INT(shoal_solver_set_values(l.solver, "c=4", NULL, l.log), SHOAL_STOPPED);
    pthread_join(thread, NULL);
    CHECK_STR(shoal_solver_key(l.solver), key);
    need(&l, shoal_solver_set(l.solver, "t1", "1", NULL, l.log), "t1");
    CHECK_INT(run_status(&l, status, &tally), SHOAL_OK);
    drop(&l);
}

// ---- To plan ------------------------------------------------------------------------------------

TEST(solver_that_plans) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    struct live l = prepare(text, "");
    shoal_plan plan;
    shoal_effect effect;
    shoal_result *result = NULL;
    add_batch(&l, "a=lin:1:2:100");
    need(&l, shoal_solver_new_plan(l.model, &l.options, &l.solver, l.log), "plan");
    CHECK(!shoal_solver_cached(l.solver));
    need(&l, shoal_solver_plan(l.solver, l.batch, NULL, &plan, l.log), "plan");
    CHECK_INT(plan.runs, 100);
    CHECK_INT(shoal_solver_run(l.solver, l.batch, &result, l.log), SHOAL_USAGE);
    need(&l, shoal_solver_set(l.solver, "rtol", "1e-3", &effect, l.log), "rtol");
    CHECK_INT(effect, SHOAL_KEPT);
    need(&l, shoal_solver_set(l.solver, "vars", "x", &effect, l.log), "vars");
    CHECK_INT(effect, SHOAL_COMPILED);
    CHECK_INT(kernels_kept(), 0);
    drop(&l);
}
