// SPDX-License-Identifier: MIT
// From model text to numbers through the public header, for tests.
#include "solve.h"

#include "check.h"

#include <stdarg.h>

struct setup {
    shoal_log *log;
    shoal_model *model;
    shoal_batch *batch;
    shoal_solver *solver;
    shoal_options options;
    char *words; // the options point into it
};

// Ends the test when the call failed.
static void need(shoal_code code, const struct setup *s, const char *what) {
    if (code == SHOAL_OK)
        return;
    check_fail(__FILE__, __LINE__, "%s: %s", what, shoal_code_text(code));
    for (size_t i = 0; i < shoal_log_message_count(s->log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(s->log, i).text);
    check_end();
}

static shoal_model *parse(const struct setup *s, const char *text) {
    size_t length = strlen(text);
    char *lines = strdup(text);
    shoal_model *model = NULL;
    for (char *c = lines; *c && !strchr(text, '\n'); c++)
        if (*c == ';')
            *c = '\n';
    need(shoal_model_parse("test.ode", lines, length, &model, s->log), s, text);
    free(lines);
    return model;
}

static void set_options(struct setup *s) {
    char *rest = NULL;
    for (char *word = strtok_r(s->words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        REQUIRE(value);
        *value++ = 0;
        need(shoal_options_set(&s->options, word, value, s->log), s, word);
    }
}

static void sweep_all(struct setup *s, const char *sweep) {
    char *copy = strdup(sweep), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        need(shoal_batch_sweep(s->batch, word, s->log), s, word);
    free(copy);
}

static struct setup begin(const char *text, const char *sweep, const char *options, va_list args) {
    struct setup s = {.log = shoal_log_new()};
    s.model = parse(&s, text);
    REQUIRE(vasprintf(&s.words, options, args) >= 0);
    char *given = strdup(s.words); // for messages
    need(shoal_options_init(&s.options, s.model, s.log), &s, "options");
    set_options(&s);
    need(shoal_batch_new(s.model, &s.batch, s.log), &s, "batch");
    if (sweep)
        sweep_all(&s, sweep);
    need(shoal_batch_check(s.batch, s.log), &s, "batch");
    need(shoal_solver_new(s.model, &s.options, &s.solver, s.log), &s, given);
    free(given);
    return s;
}

static void end(struct setup *s) {
    shoal_solver_free(s->solver);
    shoal_batch_free(s->batch);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
    free(s->words);
}

static void *need_room(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    REQUIRE(p);
    return p;
}

// In place, from the end.
static void widen(struct solved *s) {
    for (size_t i = s->vars * s->rows * s->samples; i-- > 0;) {
        float narrow;
        memcpy(&narrow, (const char *)s->values + i * sizeof narrow, sizeof narrow);
        s->values[i] = (double)narrow;
    }
}

struct solved solve(const char *text, const char *sweep, const char *options, ...) {
    va_list args;
    va_start(args, options);
    struct setup u = begin(text, sweep, options, args);
    va_end(args);
    struct solved s = {.rows = shoal_batch_rows(u.batch),
                       .samples = shoal_solver_save_count(u.solver),
                       .vars = shoal_solver_var_count(u.solver)};
    s.values = need_room(s.vars * s.rows * s.samples, sizeof *s.values);
    s.t = need_room(s.rows * s.samples, sizeof *s.t);
    s.status = need_room(s.rows, sizeof *s.status);
    s.steps = need_room(s.rows, sizeof *s.steps);
    s.rejected = need_room(s.rows, sizeof *s.rejected);
    s.f_evals = need_room(s.rows, sizeof *s.f_evals);
    shoal_array a[] = {{.data = s.values},
                       {.name = "t", .data = s.t},
                       {.name = "status", .data = s.status},
                       {.name = "steps", .data = s.steps},
                       {.name = "rejected", .data = s.rejected},
                       {.name = "f_evals", .data = s.f_evals}};
    need(shoal_solver_run_arrays(u.solver, u.batch, a, 6, &s.tally, u.log), &u, "run");
    if (u.options.precision == SHOAL_F32)
        widen(&s);
    end(&u);
    return s;
}

// Rows `run,t,values...` behind one line of names.
static void read_series(struct solved *s, const char *csv) {
    for (const char *c = csv; *c; c++)
        s->samples += *c == '\n';
    s->samples--;
    s->t = need_room(s->samples, sizeof *s->t);
    s->values = need_room(s->vars * s->samples, sizeof *s->values);
    const char *line = strchr(csv, '\n') + 1;
    for (uint64_t i = 0; i < s->samples; i++, line = strchr(line, '\n') + 1) {
        char *at = strchr(line, ',');
        s->t[i] = strtod(at + 1, &at);
        for (uint32_t v = 0; v < s->vars; v++)
            s->values[v * s->samples + i] = strtod(at + 1, &at);
    }
}

struct solved solve_steps(const char *text, const char *options, ...) {
    char *path = (char *)check_path("steps.csv"); // ours
    struct solved s = {.rows = 1};
    va_list args;
    va_start(args, options);
    struct setup u = begin(text, NULL, options, args);
    va_end(args);
    s.vars = shoal_solver_var_count(u.solver);
    need(shoal_solver_run_file(u.solver, u.batch, path, &s.tally, u.log), &u, "run");
    char *csv = check_read(path);
    REQUIRE(csv);
    read_series(&s, csv);
    free(csv);
    free(path);
    end(&u);
    return s;
}

double solved_value(const struct solved *s, uint32_t var, uint64_t row, uint64_t sample) {
    REQUIRE(var < s->vars && row < s->rows && sample < s->samples);
    return s->values[(var * s->rows + row) * s->samples + sample];
}

double solved_last(const struct solved *s, uint32_t var, uint64_t row) {
    return solved_value(s, var, row, s->samples - 1);
}

void solved_free(struct solved *s) {
    free(s->values);
    free(s->t);
    free(s->status);
    free(s->steps);
    free(s->rejected);
    free(s->f_evals);
    *s = (struct solved){0};
}
