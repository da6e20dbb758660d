// SPDX-License-Identifier: MIT
// From model text to summaries, for tests: see summed.h.
#include "summed.h"

#include "check.h"

#include <stdarg.h>

static void parse(struct summed *s, const char *text) {
    char *lines = strdup(text);
    for (char *c = lines; *c; c++)
        if (*c == ';')
            *c = '\n';
    s->log = shoal_log_new();
    if (shoal_model_parse("test.ode", lines, strlen(lines), &s->model, s->log) != SHOAL_OK) {
        fprintf(stderr, "%s\n", shoal_log_message(s->log, 0).text);
        REQUIRE(s->model);
    }
    free(lines);
    REQUIRE(shoal_options_init(&s->options, s->model, s->log) == SHOAL_OK);
}

static shoal_code set_words(struct summed *s) {
    char *rest = NULL;
    shoal_code code = SHOAL_OK;
    for (char *word = strtok_r(s->words, " ", &rest); word && code == SHOAL_OK;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        REQUIRE(value);
        *value++ = 0;
        code = shoal_options_set(&s->options, word, value, s->log);
    }
    return code;
}

static void need(const struct summed *s, shoal_code code) {
    for (size_t i = 0; code != SHOAL_OK && i < shoal_log_message_count(s->log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(s->log, i).text);
    REQUIRE(code == SHOAL_OK);
}

static void sweep_all(struct summed *s, const char *sweep) {
    char *copy = strdup(sweep ? sweep : ""), *rest = NULL;
    need(s, shoal_batch_new(s->model, &s->batch, s->log));
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        need(s, shoal_batch_sweep(s->batch, word, s->log));
    free(copy);
}

struct summed summed_run(const char *text, const char *sweep, const char *options, ...) {
    struct summed s = {0};
    va_list args;
    parse(&s, text);
    va_start(args, options);
    REQUIRE(vasprintf(&s.words, options, args) >= 0);
    va_end(args);
    need(&s, set_words(&s));
    sweep_all(&s, sweep);
    need(&s, shoal_solver_new(s.model, &s.options, &s.solver, s.log));
    need(&s, shoal_solver_run(s.solver, s.batch, &s.result, s.log));
    return s;
}

double summed_value(const struct summed *s, const char *name, uint64_t row, uint64_t item) {
    uint32_t summary = 0;
    for (uint32_t i = 0; i < shoal_solver_array_count(s->solver); i++) {
        shoal_array_info info = shoal_solver_array_at(s->solver, i);
        if (info.is_summary && !strcmp(info.name, name))
            return shoal_result_summary(s->result, summary, row, item);
        summary += info.is_summary;
    }
    check_fail(__FILE__, __LINE__, "there is no summary %s", name);
    check_end();
}

static uint64_t elements(const shoal_array_info *info) {
    return (info->axis[0] ? info->axis[0] : 1) * (info->axis[1] ? info->axis[1] : 1);
}

bool summed_same(const struct summed *a, const struct summed *b) {
    uint32_t summary = 0;
    uint64_t rows = shoal_result_rows(a->result);
    bool same = rows == shoal_result_rows(b->result);
    for (uint32_t i = 0; i < shoal_solver_array_count(a->solver); i++) {
        shoal_array_info info = shoal_solver_array_at(a->solver, i);
        for (uint64_t row = 0; info.is_summary && row < rows; row++)
            for (uint64_t k = 0; k < elements(&info); k++) {
                double x = shoal_result_summary(a->result, summary, row, k);
                double y = shoal_result_summary(b->result, summary, row, k);
                if (same && memcmp(&x, &y, sizeof x) && !(isnan(x) && isnan(y))) {
                    fprintf(stderr, "%s of row %llu, %llu: %.17g and %.17g\n", info.name,
                            (unsigned long long)row, (unsigned long long)k, x, y);
                    same = false;
                }
            }
        summary += info.is_summary;
    }
    return same;
}

void summed_free(struct summed *s) {
    shoal_result_free(s->result);
    shoal_solver_free(s->solver);
    shoal_batch_free(s->batch);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
    free(s->words);
}

const char *summed_error(const char *text, const char *options) {
    static char said[2000];
    struct summed s = {0};
    parse(&s, text);
    s.words = strdup(options);
    shoal_code code = set_words(&s);
    if (code == SHOAL_OK)
        code = shoal_solver_new_plan(s.model, &s.options, &s.solver, s.log);
    *said = 0;
    for (size_t i = 0; code != SHOAL_OK && i < shoal_log_message_count(s.log) && !*said; i++)
        if (shoal_log_message(s.log, i).severity == SHOAL_ERROR)
            snprintf(said, sizeof said, "%s", shoal_log_message(s.log, i).text);
    summed_free(&s);
    return said;
}
