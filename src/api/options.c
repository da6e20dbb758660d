// SPDX-License-Identifier: MIT
// Options, the public side: defaults, setting and getting one by name, named sets.
//
// The model's `@` lines come right after the defaults, so that whatever is set later wins.
#include "api/options.h"

#include "api/choice.h"
#include "api/model.h"
#include "io/io.h"
#include "log/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

shoal_code shoal_options_init(shoal_options *options, const shoal_model *model, shoal_log *log) {
    if (!options)
        return report_error(log_report(log), SHOAL_USAGE, "shoal_options_init: no options");
    *options = (shoal_options){
        .t1 = NAN,
        .method = choice_auto,
        .rtol = NAN,
        .atol = NAN,
        .dt = NAN,
        .dt0 = NAN,
        .dt_min = NAN,
        .dt_max = NAN,
        .device = "auto",
    };
    if (!model)
        return SHOAL_OK;
    struct model *m = model->model;
    shoal_code code =
        xpp_apply(options, m, m->options.items, m->options.count, false, log_report(log));
    if (isnan(options->t1) && m->done) {
        options->t1 = options->t0 + 20;
        options->t1_assumed = true;
    }
    if (isnan(options->dt) && m->done) {
        options->dt = 0.05;
        options->dt_from_model = options->dt_assumed = true;
    }
    return code;
}

// A field of shoal_options by its name; NULL with an error when it is none.
static const struct option *find_field(const char *name, struct report *r) {
    const struct option *o = name ? option_find(name) : NULL;
    if (!o)
        option_unknown(name ? name : "", NULL, r);
    else if (o->info.later)
        report_error(r, SHOAL_INPUT, "--%s is not supported yet", o->info.name);
    else if (!o->info.field)
        report_error(r, SHOAL_INPUT, "--%s is an option of the command line, not of a solver",
                     o->info.name);
    else
        return o;
    return NULL;
}

shoal_code shoal_options_set(shoal_options *options, const char *name, const char *value,
                             shoal_log *log) {
    struct report *r = log_report(log);
    if (!options)
        return report_error(r, SHOAL_USAGE, "shoal_options_set: no options");
    const struct option *o = find_field(name, r);
    if (!o)
        return SHOAL_INPUT;
    shoal_code code = option_store(o, value, NULL, options, r);
    if (code == SHOAL_OK && o->offset == offsetof(shoal_options, dt))
        options->dt_from_model = options->dt_assumed = false;
    if (code == SHOAL_OK && o->offset == offsetof(shoal_options, t1))
        options->t1_assumed = false;
    if (code == SHOAL_OK && o->offset == offsetof(shoal_options, method) &&
        options->controller == xpp_fixed)
        options->controller = NULL;
    return code;
}

shoal_code shoal_option_read(const char *name, const char *value, shoal_option_value *out,
                             shoal_log *log) {
    struct report *r = log_report(log);
    const struct option *o = name ? option_find(name) : NULL;
    shoal_option_value ignored;
    return o ? option_read(o, value, NULL, out ? out : &ignored, r)
             : option_unknown(name ? name : "", NULL, r);
}

// The index-th of blank-separated words.
static void print_word(const char *words, uint32_t index, char *text, size_t size) {
    for (; index; index--)
        words += strcspn(words, " ") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(words, " "), words);
}

static bool print_number(double value, char *text, size_t size) {
    char digits[32];
    digits[io_format_double(value, digits)] = 0;
    snprintf(text, size, "%s", digits);
    return !isnan(value);
}

static bool print_atol(const shoal_options *options, char *text, size_t size) {
    bool given = print_number(options->atol, text, size);
    size_t used = given ? strlen(text) : 0;
    if (options->atol_list && used < size)
        snprintf(text + used, size - used, "%s%s", given ? "," : "", options->atol_list);
    return given || options->atol_list;
}

static bool print_save(const shoal_options *options, char *text, size_t size) {
    char number[32];
    switch (options->save) {
    case SHOAL_SAVE_N:
        snprintf(text, size, "n=%" PRIu64, options->save_n);
        return true;
    case SHOAL_SAVE_EVERY:
        print_number(options->save_every, number, sizeof number);
        snprintf(text, size, "every=%s", number);
        return true;
    case SHOAL_SAVE_AT:
        snprintf(text, size, "at=%s", options->save_at);
        return true;
    case SHOAL_SAVE_STEPS:
        snprintf(text, size, "steps");
        return true;
    default:
        snprintf(text, size, "final");
        return false;
    }
}

static uint64_t integer_field(const void *field, size_t size) {
    return size == sizeof(uint32_t) ? *(const uint32_t *)field : *(const uint64_t *)field;
}

static bool print_field(const struct option *o, const shoal_options *options, char *text,
                        size_t size) {
    const void *field = (const char *)options + o->offset;
    const char *string;
    uint64_t count = 0;
    switch (o->type) {
    case OPTION_FLAG:
        snprintf(text, size, *(const bool *)field ? "on" : "off");
        return *(const bool *)field;
    case OPTION_NUMBER:
        return print_number(*(const double *)field, text, size);
    case OPTION_COUNT:
    case OPTION_BYTES:
        count = integer_field(field, o->size);
        snprintf(text, size, "%" PRIu64, count);
        return count != 0;
    case OPTION_CHOICE:
        count = integer_field(field, o->size);
        print_word(o->words, (uint32_t)count, text, size);
        return count != 0;
    case OPTION_ATOL:
        return print_atol(options, text, size);
    case OPTION_SAVE:
        return print_save(options, text, size);
    default:
        string = *(const char *const *)field;
        snprintf(text, size, "%s", string ? string : "");
        return string != NULL;
    }
}

bool shoal_options_get(const shoal_options *options, const char *name, char *text, size_t size) {
    const struct option *o = options && name ? option_find(name) : NULL;
    if (!o || !o->info.field || !size)
        return false;
    text[0] = 0;
    bool given = print_field(o, options, text, size);
    if (o->offset == offsetof(shoal_options, dt))
        given = given && !options->dt_from_model;
    return given;
}

// What a set gives is the model's own text, not somebody's --set: it may still be swept.
static shoal_code use_values(struct model *m, const char *set, const struct value_set **rest,
                             struct report *r) {
    uint32_t count = m->symbols.count;
    bool *was_set = calloc(count + 1, sizeof *was_set);
    if (!was_set)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        was_set[i] = m->symbols.items[i].set;
    shoal_code code = model_use(m, set, rest, r);
    for (uint32_t i = 0; i < count; i++)
        m->symbols.items[i].set = was_set[i];
    free(was_set);
    return code;
}

shoal_code shoal_model_use(shoal_model *model, const char *set, shoal_options *options,
                           shoal_log *log) {
    struct report *r = log_report(log);
    if (!model || !set || !options)
        return report_error(r, SHOAL_USAGE, "shoal_model_use: no model, set or options");
    const struct value_set *rest = NULL;
    shoal_code code = use_values(model->model, set, &rest, r);
    api_model_changed(model);
    if (code || !rest)
        return code;
    return xpp_apply(options, model->model, rest->settings.items, rest->settings.count, true, r);
}

const char *shoal_nearest(const char *wanted, const char *const *known, size_t count) {
    struct nearest n = {.wanted = wanted};
    for (size_t i = 0; i < count; i++)
        nearest_offer(&n, known[i]);
    return nearest_best(&n);
}
