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
    if (args_value(a, "grid"))
        return warm_grids(a);
    for (size_t i = 0; i < a->word_count && !*stop; i++) {
        struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
        begin_timing(a, s.log);
        shoal_code code = subject_load(&s, a, a->words[i]);
        s.options.stop = stop;
        if (!code)
            code = warm_targets(&s, a, a->words[i]);
        talk_messages(&s.talk, s.log);
        if (!code && !s.talk.quiet)
            timing_show(s.log, &(shoal_tally){0});
        int exit_code = subject_close(&s, code);
        status = status ? status : exit_code;
    }
    return *stop ? EXIT_SIGNAL + *stop : status;
}
