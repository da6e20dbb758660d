// SPDX-License-Identifier: MIT
// shoal warm: builds the kernels that runs will need, also for machines that are not here.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void show_result(bool json, const char *model, const shoal_warm_result *w) {
    if (!json) {
        printf("%.16s  %-12s %s, %s: ", w->key, w->target, model, w->method);
        if (w->compiled)
            printf("compiled in %.2f s\n", w->seconds);
        else
            puts("was there");
        return;
    }
    fputs("{\"model\": ", stdout);
    show_json_string(stdout, model);
    printf(", \"method\": \"%s\", \"key\": \"%s\", \"target\": \"%s\", \"compiled\": %s, "
           "\"seconds\": %.3f}\n",
           w->method, w->key, w->target, w->compiled ? "true" : "false", w->seconds);
}

static void on_compile(const shoal_compile *now, void *user) {
    stop_catch(); // it begins: from here on somebody looks
    progress_compile(user, now);
}

// A pipeline of grids, where that is what is warmed.
static shoal_code warm_any(struct subject *s, struct args *a, const char *what, const char *target,
                           shoal_warm_result *result, uint32_t *count) {
    if (!args_value(a, "grid"))
        return shoal_model_warm(s->model, &s->options, target, result, count, s->log);
    shoal_cell type = (shoal_cell)args_choice(a, "type", SHOAL_I32);
    shoal_code code = shoal_grid_warm(what, &s->options, type, type, target, result, s->log);
    *count = !code;
    return code;
}

static shoal_code warm_one(struct subject *s, struct args *a, const char *model,
                           const char *target) {
    shoal_warm_result result[SHOAL_WARM_MOST];
    uint32_t count = 0;
    struct progress progress = progress_new(0, s->talk.quiet, true);
    s->options.on_compile = on_compile;
    s->options.on_compile_user = &progress;
    shoal_code code = warm_any(s, a, model, target, result, &count);
    stop_release();
    progress_erase(&progress);
    for (uint32_t i = 0; i < count; i++)
        show_result(args_flag(a, "json"), model, &result[i]);
    fflush(stdout);
    return code;
}

// Every target of the list a,b,...; what fails does not keep the others.
static shoal_code warm_targets(struct subject *s, struct args *a, const char *model) {
    const char *targets = args_value(a, "target");
    shoal_code result = SHOAL_OK;
    if (!targets)
        return warm_one(s, a, model, NULL);
    char *list = strdup(targets), *rest = NULL;
    if (!list)
        return SHOAL_MEMORY;
    for (char *t = strtok_r(list, ", ", &rest); t; t = strtok_r(NULL, ", ", &rest)) {
        shoal_code code = warm_one(s, a, model, t);
        result = result ? result : code;
    }
    free(list);
    return result;
}

// ---- Variants -----------------------------------------------------------------------------------

// Many runs of the model's own values: a parameter, or else an initial value, that does not change.
static shoal_code same_runs(struct subject *s, shoal_batch *batch) {
    bool has = shoal_model_count(s->model, SHOAL_PARAMETER) > 0;
    shoal_kind kind = has ? SHOAL_PARAMETER : SHOAL_STATE;
    double value = shoal_model_value(s->model, kind, 0);
    const char *name = shoal_model_symbol(s->model, kind, 0);
    char *sweep = NULL;
    if (asprintf(&sweep, "%s%s=lin:%.17g:%.17g:1048576", name, has ? "" : "(0)", value, value) < 0)
        return SHOAL_MEMORY;
    shoal_code code = shoal_batch_sweep(batch, sweep, s->log);
    free(sweep);
    return code;
}

static bool has_batch(const struct args *a) {
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].option.in_batch)
            return true;
    return false;
}

static void show_variant(bool json, const char *model, const shoal_solver *solver) {
    double gain = 1;
    const char *variant = shoal_solver_variant(solver, &gain), *key = shoal_solver_key(solver);
    if (!json) {
        printf("%.16s  %s: ", key, model);
        if (*variant)
            printf("%s, %.3g times as fast as the default\n", variant, gain);
        else
            puts("the default is the fastest");
        return;
    }
    fputs("{\"model\": ", stdout);
    show_json_string(stdout, model);
    printf(", \"key\": \"%s\", \"variant\": \"%s\", \"gain\": %.4g}\n", key, variant, gain);
}

static shoal_code tune(struct subject *s, struct args *a, const char *model) {
    shoal_batch *batch = NULL;
    shoal_solver *solver = NULL;
    struct progress progress = progress_new(0, s->talk.quiet, true);
    shoal_code code = subject_batch(s, a, &batch);
    s->options.on_compile_user = &progress;
    if (!code && !has_batch(a))
        code = same_runs(s, batch);
    if (!code)
        code = shoal_solver_new(s->model, &s->options, &solver, s->log);
    if (!code)
        code = shoal_solver_warm(solver, batch, s->log);
    stop_release();
    progress_erase(&progress);
    if (!code)
        show_variant(args_flag(a, "json"), model, solver);
    fflush(stdout);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    return code;
}

// What is not here cannot be measured, and a pipeline has no variants.
static shoal_code check_tune(const struct args *a) {
    const char *other = args_value(a, "target") ? "target" : args_value(a, "grid") ? "grid" : NULL;
    if (!args_flag(a, "tune") || !other)
        return SHOAL_OK;
    fprintf(stderr, "error: --tune measures kernels of a model on this machine: not with --%s\n",
            other);
    return SHOAL_USAGE;
}

// Where the time went, for who asks.
static void begin_timing(const struct args *a, shoal_log *log) {
    bool asked = args_value(a, "timing") != NULL;
    shoal_log_set_timing(log, asked ? (shoal_timing)args_choice(a, "timing", SHOAL_TIMING_DEFAULT)
                                    : SHOAL_TIMING_NONE);
}

// Every line of a file is a pipeline.
static int warm_grids(struct args *a) {
    char *text = read_text(args_value(a, "grid")), *rest = NULL;
    int status = text ? 0 : EXIT_IO;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
        if (!line[strspn(line, " \t\r")] || line[strspn(line, " \t")] == '#' || *stop_flag()) {
            shoal_log_free(s.log);
            continue;
        }
        shoal_code code = subject_options(&s, a);
        s.options.stop = stop_flag();
        if (!code)
            code = warm_targets(&s, a, line);
        int exit_code = subject_close(&s, code);
        status = status ? status : exit_code;
    }
    free(text);
    return *stop_flag() ? EXIT_SIGNAL + *stop_flag() : status;
}

int command_warm(struct args *a) {
    int status = 0;
    const volatile int *stop = stop_flag();
    if (check_tune(a))
        return shoal_code_exit(SHOAL_USAGE);
    if (args_value(a, "grid"))
        return warm_grids(a);
    for (size_t i = 0; i < a->word_count && !*stop; i++) {
        struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
        begin_timing(a, s.log);
        shoal_code code = subject_load(&s, a, a->words[i]);
        s.options.stop = stop;
        if (!code)
            code = warm_targets(&s, a, a->words[i]);
        if (!code && args_flag(a, "tune"))
            code = tune(&s, a, a->words[i]);
        talk_messages(&s.talk, s.log);
        if (!code && !s.talk.quiet)
            timing_show(s.log, &(shoal_tally){0});
        int exit_code = subject_close(&s, code);
        status = status ? status : exit_code;
    }
    return *stop ? EXIT_SIGNAL + *stop : status;
}
