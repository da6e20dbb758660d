// SPDX-License-Identifier: MIT
// Options, the public side: defaults, setting and getting one by name, named sets.
//
// The model's `@` lines come right after the defaults, so that whatever is set later wins.
#include "api/options.h"

#include "api/model.h"
#include "io/io.h"
#include "log/log.h"
#include "ode/run/choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MOST = 1 << 16 }; // bytes that any version of them may have

// ---- The struct itself --------------------------------------------------------------------------

// The options of the first version, which every program has.
static const size_t least_size = sizeof(shoal_options);

static shoal_options defaults(void) {
    return (shoal_options){
        .size = sizeof(shoal_options),
        .t1 = NAN,
        .method = choice_auto,
        .rtol = NAN,
        .atol = NAN,
        .dt = NAN,
        .dt_model = NAN,
        .dt0 = NAN,
        .dt_min = NAN,
        .dt_max = NAN,
        .window = NAN,
        .device = "auto",
    };
}

static bool is_zero(const unsigned char *bytes, size_t from, size_t to) {
    while (from < to && !bytes[from])
        from++;
    return from == to;
}

shoal_code options_take(const shoal_options *given, const char *call, shoal_options *out,
                        shoal_log *log) {
    struct report *r = log_report(log);
    *out = defaults();
    if (!given)
        return report_error(r, SHOAL_USAGE, "%s: no options", call);
    if (given->size < least_size || given->size > OPTIONS_MOST)
        return report_error(r, SHOAL_USAGE, "%s: shoal_options_init has not made these options",
                            call);
    if (!is_zero((const unsigned char *)given, sizeof *out, given->size))
        return report_error(r, SHOAL_USAGE,
                            "%s: the options have a field that this library, %s, does not know",
                            call, SHOAL_VERSION);
    shoal_options standard = *out;
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    out->size = sizeof *out;
    out->method = out->method ? out->method : standard.method;
    out->device = out->device ? out->device : standard.device;
    return SHOAL_OK;
}

shoal_code options_give(const shoal_options *o, const char *call, shoal_options *out, size_t size,
                        shoal_log *log) {
    if (!out || size < least_size || size > OPTIONS_MOST)
        return report_error(log_report(log), SHOAL_USAGE, "%s: no options", call);
    memset(out, 0, size);
    memcpy(out, o, size < sizeof *o ? size : sizeof *o);
    out->size = size;
    return SHOAL_OK;
}

shoal_options options_own(const shoal_options *o, struct arena *arena) {
    shoal_options own = *o;
    const char **const texts[] = {&own.method,      &own.controller, &own.atol_list, &own.save_at,
                                  &own.vars,        &own.summary,    &own.reduce,    &own.by,
                                  &own.doses,       &own.record,     &own.device,    &own.cache,
                                  &own.keep_source, &own.job,        &own.time_unit};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i] && *texts[i] != xpp_fixed) // which is known by its address
            *texts[i] = arena_strdup(arena, *texts[i]);
    return own;
}

static shoal_code use_model(shoal_options *options, struct model *m, struct report *r) {
    shoal_code code = xpp_apply(options, m, m->options.items, m->options.count, false, r);
    if (isnan(options->t1) && m->done)
        options->t1 = options->t0 + XPP_T1;
    if (isnan(options->dt_model) && m->done)
        options->dt_model = XPP_DT;
    return code;
}

shoal_code shoal_options_init_sized(shoal_options *options, size_t size, const shoal_model *model,
                                    shoal_log *log) {
    struct report *r = log_report(log);
    shoal_options o = defaults();
    report_begin(r);
    shoal_code code = model ? use_model(&o, model->model, r) : SHOAL_OK;
    shoal_code given = options_give(&o, "shoal_options_init", options, size, log);
    return given ? given : code;
}

// ---- One by its name ----------------------------------------------------------------------------

// A field of shoal_options by its name; NULL with an error when it is none.
static const struct option *find_field(const char *name, struct report *r) {
    const struct option *o = name ? option_find(name) : NULL;
    if (!o)
        option_unknown(name ? name : "", NULL, r);
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
    shoal_options whole;
    shoal_code code = options_take(options, "shoal_options_set", &whole, log);
    const struct option *o = code ? NULL : find_field(name, r);
    if (code || !o)
        return code ? code : SHOAL_INPUT;
    if (o->offset + o->size > options->size)
        return report_error(r, SHOAL_USAGE, "shoal_options_set: these options have no --%s",
                            o->info.name);
    code = option_store(o, value, NULL, options, r);
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
    default: // beside summaries it makes a difference whether that was asked for
        snprintf(text, size, "%s", options->summary && !options->save_states ? "" : "final");
        return options->save_states;
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
    if (!o || !o->info.field || !text || !size)
        return false;
    text[0] = 0;
    return o->offset + o->size <= options->size && print_field(o, options, text, size);
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

// Values, then options, of a copy of both.
static shoal_code use_set(shoal_model *model, const char *set, shoal_options *options,
                          struct report *r) {
    const struct value_set *rest = NULL;
    shoal_code code = use_values(model->model, set, &rest, r);
    if (code || !rest)
        return code;
    return xpp_apply(options, model->model, rest->settings.items, rest->settings.count, true, r);
}

shoal_code shoal_model_use(shoal_model *model, const char *set, shoal_options *options,
                           shoal_log *log) {
    struct report *r = log_report(log);
    shoal_options o;
    if (!model || !set)
        return api_usage(log, "shoal_model_use", "model or set");
    shoal_code code = options_take(options, "shoal_model_use", &o, log);
    if (code)
        return code;
    shoal_model *copy = api_model_copy(model);
    if (!copy)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    report_begin(r);
    code = use_set(copy, set, &o, r);
    if (!code) {
        api_model_swap(model, copy);
        options_give(&o, "shoal_model_use", options, options->size, log);
    }
    shoal_model_free(copy);
    return code;
}

const char *shoal_nearest(const char *wanted, const char *const *known, size_t count) {
    struct nearest n = {.wanted = wanted};
    for (size_t i = 0; wanted && known && i < count; i++)
        nearest_offer(&n, known[i]);
    return wanted ? nearest_best(&n) : NULL;
}
