// SPDX-License-Identifier: MIT
// Everything in one call: a model, words as on the command line, and a file.
//
// The words are taken in the order that the command line takes them: a named set, then values and
// options, then the batch. The last of an option that is not repeatable wins.
#include "api/options.h"
#include "api/solver.h"

#include <string.h>

struct word {
    const struct option *option;
    const char *value;
};

struct solve {
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    struct arena arena;
    vec(struct word) words;
    struct buf job;
};

// ---- Words --------------------------------------------------------------------------------------

// "name=value", or the name of a flag.
static shoal_code read_word(struct solve *s, const char *word, struct report *r) {
    size_t length = strcspn(word, "=");
    if (strpbrk(word, "\r\n"))
        return report_error(r, SHOAL_INPUT, "a word of shoal_solve is one line: '%s'", word);
    char *name = arena_strndup(&s->arena, word, length);
    const struct option *o = option_find(name);
    if (!o)
        return option_unknown(name, NULL, r);
    if (!o->info.field && !o->info.kept && !o->info.in_batch)
        return option_wrong(o, NULL, r, "is not for shoal_solve");
    const char *value = word[length] ? word + length + 1 : NULL;
    shoal_option_value ignored;
    for (uint32_t i = s->words.count; o->info.field && o->info.repeatable && i-- > 0;)
        if (s->words.items[i].option == o && value) { // the last one has them all
            value = arena_printf(&s->arena, "%s,%s", s->words.items[i].value, value);
            break;
        }
    *vec_push(&s->arena, &s->words) = (struct word){o, value};
    return option_read(o, value, NULL, &ignored, r);
}

static shoal_code read_words(struct solve *s, const char *const *words, struct report *r) {
    shoal_code result = SHOAL_OK;
    for (; words && *words; words++) {
        shoal_code code = read_word(s, *words, r);
        result = result ? result : code;
    }
    return result;
}

static bool is_named(const struct word *w, const char *name) {
    return !strcmp(w->option->info.name, name);
}

// Whether a later word takes its place.
static bool is_replaced(const struct solve *s, uint32_t word) {
    const struct option *o = s->words.items[word].option;
    for (uint32_t i = word + 1; i < s->words.count && (o->info.field || !o->info.repeatable); i++)
        if (s->words.items[i].option == o)
            return true;
    return false;
}

// The words as a job, so that the result can be replayed.
static void put_quoted(struct buf *out, const char *text) {
    buf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_puts(out, "\"\n");
}

static void put_job(const struct solve *s, const char *model, struct buf *out) {
    buf_puts(out, "model = ");
    put_quoted(out, model);
    for (uint32_t i = 0; i < s->words.count; i++) {
        const struct word *w = &s->words.items[i];
        if (!w->option->info.kept || is_replaced(s, i))
            continue;
        buf_printf(out, "%s = ", w->option->info.name);
        put_quoted(out, w->value ? w->value : "on");
    }
}

// ---- Steps --------------------------------------------------------------------------------------

// Which signal a word gives samples of; UINT32_MAX: none.
static uint32_t driver_of(struct solve *s, const struct word *w) {
    return is_named(w, "driver")
               ? model_find_driver(s->model->model,
                                   arena_strndup(&s->arena, w->value, strcspn(w->value, "=")), "",
                                   NULL)
               : UINT32_MAX;
}

static shoal_code check_drivers(struct solve *s, struct report *r) {
    for (uint32_t i = 0; i < s->words.count; i++) {
        uint32_t index = driver_of(s, &s->words.items[i]);
        for (uint32_t k = i + 1; index != UINT32_MAX && k < s->words.count; k++)
            if (driver_of(s, &s->words.items[k]) == index)
                return report_error(r, SHOAL_INPUT,
                                    "driver: `%s` is given twice, as `%s` and as `%s`",
                                    s->model->model->signals.items[index].name,
                                    s->words.items[i].value, s->words.items[k].value);
    }
    return SHOAL_OK;
}

static shoal_code set_options(struct solve *s, shoal_log *log) {
    shoal_code code = shoal_options_init(&s->options, s->model, log);
    code = code ? code : check_drivers(s, log_report(log));
    for (uint32_t i = 0; i < s->words.count && !code; i++)
        if (is_named(&s->words.items[i], "use") && !is_replaced(s, i))
            code = shoal_model_use(s->model, s->words.items[i].value, &s->options, log);
    for (uint32_t i = 0; i < s->words.count && !code; i++) {
        const struct word *w = &s->words.items[i];
        if (w->option->info.field)
            code = shoal_options_set(&s->options, w->option->info.name, w->value, log);
        else if (is_named(w, "set"))
            code = shoal_model_set(s->model, w->value, log);
        else if (is_named(w, "driver"))
            code = shoal_model_driver_file(s->model, w->value, log);
    }
    return code;
}

// Words with a value, or flags.
static shoal_code add_words(struct solve *s, bool flags, shoal_log *log) {
    shoal_code result = SHOAL_OK;
    for (uint32_t i = 0; i < s->words.count && s->batch; i++) {
        const struct word *w = &s->words.items[i];
        if (!w->option->info.in_batch || is_replaced(s, i) || !w->option->info.metavar != flags)
            continue;
        const char *value = w->value ? w->value : "on";
        shoal_code code = shoal_batch_option(s->batch, w->option->info.name, value, log);
        result = result ? result : code;
    }
    return result;
}

static shoal_code make_batch(struct solve *s, shoal_log *log) {
    shoal_code result = shoal_batch_new(s->model, &s->batch, log);
    shoal_code flags = add_words(s, true, log), rest = add_words(s, false, log);
    result = result ? result : flags ? flags : rest;
    bool given = false;
    for (uint32_t i = 0; i < s->words.count; i++)
        given = given || is_named(&s->words.items[i], "t0");
    if (!result && !given)
        result = shoal_batch_t0(s->batch, &s->options.t0, log);
    return result ? result : shoal_batch_check(s->batch, log);
}

static shoal_code solve(struct solve *s, const char *model, const char *const *words,
                        const char *path, shoal_tally *tally, shoal_log *log) {
    shoal_code code = read_words(s, words, log_report(log));
    if (code == SHOAL_OK)
        code = shoal_output_check(path, &s->options, true, log); // before anything is compiled
    if (code == SHOAL_OK)
        code = shoal_model_load(model, &s->model, log);
    for (uint32_t i = 0; i < s->words.count && code == SHOAL_OK; i++)
        if (is_named(&s->words.items[i], "event"))
            code = shoal_model_add_event(s->model, s->words.items[i].value, log);
    if (code == SHOAL_OK)
        code = set_options(s, log);
    if (code == SHOAL_OK)
        code = make_batch(s, log);
    put_job(s, model, &s->job);
    s->options.job = s->job.failed ? NULL : s->job.data;
    if (code == SHOAL_OK)
        code = shoal_solver_new(s->model, &s->options, &s->solver, log);
    return code ? code : solver_write(s->solver, s->batch, path, tally, log);
}

shoal_code shoal_solve(const char *model, const char *const *words, const char *path,
                       shoal_tally *tally, shoal_log *log) {
    struct solve s = {0};
    jmp_buf oom;
    if (!model || !path)
        return api_usage(log, "shoal_solve", "model or path");
    int32_t span = solver_begin_event(log);
    s.arena.oom = &oom;
    shoal_code code = setjmp(oom) ? report_error(log_report(log), SHOAL_MEMORY, "out of memory")
                                  : solve(&s, model, words, path, tally, log);
    shoal_solver_free(s.solver);
    shoal_batch_free(s.batch);
    shoal_model_free(s.model);
    arena_free(&s.arena);
    buf_free(&s.job);
    log_end(log, span);
    return code;
}
