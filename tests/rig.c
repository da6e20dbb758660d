// SPDX-License-Identifier: MIT
// Solvers turned this way and that, for tests of independence and of the CPU backend.
#include "rig.h"

#include "check.h"
#include "device/cpu/cpu.h"

char *rig_messages(const shoal_log *log) {
    struct buf text = {0};
    buf_puts(&text, "");
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        buf_printf(&text, "%s\n", shoal_log_message(log, i).text);
    return text.data;
}

void rig_need(struct rig *rig, shoal_code code, const char *what) {
    if (code == SHOAL_OK)
        return;
    char *messages = rig_messages(rig->log);
    check_fail(__FILE__, __LINE__, "%s: %s\n%s", what, shoal_code_text(code), messages);
    free(messages);
    check_end();
}

static void use_target(const char *target) {
    if (target)
        setenv("SHOAL_CPU_TARGET", target, 1);
    else
        unsetenv("SHOAL_CPU_TARGET");
}

bool rig_has_target(const char *target) {
    struct shoal_device d = {0};
    use_target(target);
    return cpu_target(&d, NULL) == SHOAL_OK;
}

static void set_options(struct rig *rig, const char *options) {
    char *rest = NULL;
    rig->words = strdup(options);
    for (char *word = strtok_r(rig->words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        REQUIRE(value);
        *value++ = 0;
        rig_need(rig, shoal_options_set(&rig->options, word, value, rig->log), word);
    }
}

struct rig rig_new(const char *target, const char *text, const char *options) {
    return rig_new_watched(target, text, options, NULL);
}

// A model and its options; a solver is to follow.
static struct rig rig_begin(const char *target, const char *text, const char *options) {
    struct rig rig = {.log = shoal_log_new()};
    use_target(target);
    char *lines = strdup(text);
    for (char *c = lines; *c && !strchr(text, '\n'); c++)
        *c = *c == ';' ? '\n' : *c;
    rig_need(&rig, shoal_model_parse("test.ode", lines, strlen(lines), &rig.model, rig.log), text);
    rig_need(&rig, shoal_options_init(&rig.options, rig.model, rig.log), "options");
    set_options(&rig, options);
    free(lines);
    return rig;
}

static void rig_solver(struct rig *rig, const char *options) {
    rig_need(rig, shoal_solver_new(rig->model, &rig->options, &rig->solver, rig->log), options);
}

struct rig rig_new_watched(const char *target, const char *text, const char *options,
                           const struct watcher *watcher) {
    struct rig rig = rig_begin(target, text, options);
    rig.model->watcher = watcher;
    rig_solver(&rig, options);
    return rig;
}

struct rig rig_new_driven(const char *target, const char *text, const char *options,
                          const shoal_driver *driver) {
    struct rig rig = rig_begin(target, text, options);
    for (; driver->name; driver++)
        rig_need(&rig, shoal_model_driver(rig.model, driver, rig.log), driver->name);
    rig_solver(&rig, options);
    return rig;
}

void rig_turn(shoal_solver *solver, struct rig_way way) {
    shoal_options o;
    shoal_effect effect;
    REQUIRE(shoal_solver_options(solver, &o, NULL) == SHOAL_OK);
    o.chunk = way.chunk;
    o.memory = way.memory;
    o.threads = way.threads ? way.threads : o.threads;
    o.refill = way.refill;
    REQUIRE(shoal_solver_set_options(solver, &o, &effect, NULL) == SHOAL_OK);
    CHECK_INT(effect, SHOAL_KEPT);
}

char *rig_source(struct rig *rig) {
    char *source = NULL;
    rig_need(rig, shoal_model_source(rig->model, &rig->options, &source, rig->log), "source");
    return source;
}

void rig_replace_text(struct rig *rig, const struct shoal_kernel_text *k) {
    shoal_solver *s = rig->solver;
    struct shoal_bytes bytes = {0};
    struct shoal_module *module = NULL;
    struct shoal_facts facts;
    struct loaded *first = &s->runner.kernel[PLAN_FIRST];
    kernel_drop(first->kernel);
    first->kernel = NULL;
    rig_need(rig, s->backend->build(s->device, k, NULL, &bytes, log_report(rig->log)), "build");
    rig_need(
        rig,
        s->backend->load(s->device, &bytes, "shoal_kernel", &module, &facts, log_report(rig->log)),
        "load");
    char key[KEY_HEX] = "of another text";
    first->kernel = kernel_add(s->device, key, module, facts);
    free(bytes.data);
}

void rig_replace_kernel(struct rig *rig, const char *source) {
    struct shoal_kernel_text k = {.text = source,
                                  .length = strlen(source),
                                  .needs_sleef = strstr(source, "Sleef_") != NULL,
                                  .needs_libm = true};
    rig_replace_text(rig, &k);
}

void rig_free(struct rig *rig) {
    shoal_solver_free(rig->solver);
    shoal_model_free(rig->model);
    shoal_log_free(rig->log);
    free(rig->words);
}

struct inputs inputs_new(uint64_t rows, const char *const *names) {
    struct inputs in = {.rows = rows};
    for (int i = 0; i < RIG_NAMES && names[i]; i++) {
        in.name[i] = names[i];
        in.value[i] = calloc(rows, sizeof(double));
        REQUIRE(in.value[i]);
    }
    return in;
}

void inputs_free(struct inputs *in) {
    for (int i = 0; i < RIG_NAMES; i++)
        free(in->value[i]);
}

static shoal_batch *make_batch(struct rig *rig, const struct inputs *in, const uint64_t *order,
                               uint64_t count, const char *only) {
    shoal_batch *batch = NULL;
    rig_need(rig, shoal_batch_new(rig->model, &batch, rig->log), "batch");
    double *column = calloc(count, sizeof *column);
    REQUIRE(column);
    for (int k = 0; k < RIG_NAMES && in->name[k]; k++) {
        for (uint64_t i = 0; i < count; i++)
            column[i] = in->value[k][order ? order[i] : i];
        rig_need(rig, shoal_batch_values(batch, in->name[k], column, count, rig->log), in->name[k]);
    }
    free(column);
    if (only)
        rig_need(rig, shoal_batch_only(batch, only, rig->log), only);
    rig_need(rig, shoal_batch_check(batch, rig->log), "batch");
    return batch;
}

static void *room(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    REQUIRE(p);
    return p;
}

struct outcome rig_run(struct rig *rig, const struct inputs *in, const uint64_t *order,
                       uint64_t count, const char *only) {
    shoal_batch *batch = make_batch(rig, in, order, order ? count : in->rows, only);
    struct outcome o = {.vars = shoal_solver_var_count(rig->solver),
                        .rows = shoal_batch_rows(batch),
                        .samples = shoal_solver_save_count(rig->solver),
                        .f32 = rig->options.precision == SHOAL_F32};
    o.values = room(o.vars * o.rows * o.samples, sizeof(double));
    o.t = room(o.rows * o.samples, sizeof *o.t);
    o.status = room(o.rows, sizeof *o.status);
    o.steps = room(o.rows, sizeof *o.steps);
    o.rejected = room(o.rows, sizeof *o.rejected);
    o.f_evals = room(o.rows, sizeof *o.f_evals);
    shoal_array arrays[] = {{.data = o.values},
                            {.name = "t", .data = o.t},
                            {.name = "status", .data = o.status},
                            {.name = "steps", .data = o.steps},
                            {.name = "rejected", .data = o.rejected},
                            {.name = "f_evals", .data = o.f_evals}};
    o.code = shoal_solver_run_arrays(rig->solver, batch, arrays, 6, &o.tally, rig->log);
    rig_need(rig, o.code == SHOAL_STOPPED ? SHOAL_OK : o.code, "run");
    shoal_batch_free(batch);
    return o;
}

void outcome_free(struct outcome *o) {
    free(o->values);
    free(o->t);
    free(o->status);
    free(o->steps);
    free(o->rejected);
    free(o->f_evals);
}

double outcome_value(const struct outcome *o, uint32_t var, uint64_t row, uint64_t sample) {
    size_t at = (var * o->rows + row) * o->samples + sample;
    return o->f32 ? (double)((const float *)o->values)[at] : ((const double *)o->values)[at];
}

static bool same_number(double a, double b) {
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

static bool same_counts(const struct outcome *a, uint64_t i, const struct outcome *b, uint64_t j,
                        const char *what) {
    if (a->status[i] == b->status[j] && a->steps[i] == b->steps[j] &&
        a->rejected[i] == b->rejected[j])
        return true;
    check_fail(__FILE__, __LINE__, "%s: row %llu is %s, %u steps, %u rejected; not %s, %u, %u",
               what, (unsigned long long)i, shoal_status_word(b->status[j]), b->steps[j],
               b->rejected[j], shoal_status_word(a->status[i]), a->steps[i], a->rejected[i]);
    return false;
}

static bool same_sample(const struct outcome *a, uint64_t i, uint64_t k, const struct outcome *b,
                        uint64_t j, uint64_t l, const char *what) {
    double ta = a->t[i * a->samples + k], tb = b->t[j * b->samples + l];
    bool failed = a->status[i] != 0 && a->samples != b->samples; // t: the grid's, or of the failure
    if (!failed && !same_number(ta, tb)) {
        check_fail(__FILE__, __LINE__, "%s: row %llu: t is %.17g, not %.17g", what,
                   (unsigned long long)i, tb, ta);
        return false;
    }
    for (uint32_t v = 0; v < a->vars; v++) {
        double x = outcome_value(a, v, i, k), y = outcome_value(b, v, j, l);
        if (same_number(x, y))
            continue;
        check_fail(__FILE__, __LINE__, "%s: row %llu, variable %u, sample %llu is %.17g, not %.17g",
                   what, (unsigned long long)i, v, (unsigned long long)k, y, x);
        return false;
    }
    return true;
}

bool outcome_same(const struct outcome *a, uint64_t i, const struct outcome *b, uint64_t j,
                  const char *what) {
    bool same = a->vars == b->vars && a->samples == b->samples && same_counts(a, i, b, j, what);
    for (uint64_t k = 0; same && k < a->samples; k++)
        same = same_sample(a, i, k, b, j, k, what);
    if (same && a->f_evals[i] != b->f_evals[j]) {
        check_fail(__FILE__, __LINE__, "%s: row %llu has %llu evaluations, not %llu", what,
                   (unsigned long long)i, (unsigned long long)b->f_evals[j],
                   (unsigned long long)a->f_evals[i]);
        return false;
    }
    return same;
}

bool outcome_same_end(const struct outcome *a, uint64_t i, const struct outcome *b, uint64_t j,
                      const char *what) {
    return a->vars == b->vars && same_counts(a, i, b, j, what) &&
           same_sample(a, i, a->samples - 1, b, j, b->samples - 1, what);
}
