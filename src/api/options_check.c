// SPDX-License-Identifier: MIT
// Checks of the options as a whole, once nothing changes any more.
#include "api/options.h"

#include "ode/run/plan.h"
#include "result/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Length of the run; it may go backwards in time.
static double span_of(const shoal_options *o) { return fabs(o->t1 - o->t0); }

static shoal_code check_time(const shoal_options *o, struct report *r) {
    if (isnan(o->t1))
        return report_error(r, SHOAL_INPUT,
                            "no end time: give --t1 T, or write @ t1=T into the model");
    if (!isfinite(o->t0) || !isfinite(o->t1))
        return report_error(r, SHOAL_INPUT, "t0 and t1 must be finite, not %g and %g", o->t0,
                            o->t1);
    if (o->t1 == o->t0)
        return report_error(r, SHOAL_INPUT, "t1=%g is the same as t0: there is nothing to do",
                            o->t1);
    if (!isfinite(o->t1 - o->t0))
        return report_error(r, SHOAL_INPUT, "t1 - t0 is too large a number");
    if (!(o->settle >= 0 && o->settle < span_of(o)))
        return report_error(r, SHOAL_INPUT,
                            "--settle: %g is not in [0, %g), the length of the run; nothing would "
                            "be saved",
                            o->settle, span_of(o));
    return SHOAL_OK;
}

// Fields that a program may have filled without shoal_options_set.
static shoal_code check_signs(const shoal_options *o, struct report *r) {
    const struct {
        const char *name;
        double value;
    } positive[] = {{"rtol", o->rtol},    {"atol", o->atol}, {"dt", o->dt},
                    {"dt", o->dt_model},  {"dt0", o->dt0},   {"dt-max", o->dt_max},
                    {"dt-min", o->dt_min}};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        bool zero_is_fine = !strcmp(positive[i].name, "dt-min");
        double v = positive[i].value;
        if (!isnan(v) && !(isfinite(v) && (zero_is_fine ? v >= 0 : v > 0)))
            return report_error(r, SHOAL_INPUT, "--%s: must be more than 0, not %g",
                                positive[i].name, v);
    }
    return SHOAL_OK;
}

static uint32_t words_of(const struct option *o) {
    uint32_t n = 1;
    for (const char *c = o->words; *c; c++)
        n += *c == ' ';
    return n;
}

// The same for words and counts; a count of 0 is not given.
static shoal_code check_ranges(const shoal_options *options, struct report *r) {
    for (uint32_t i = 0; i < option_table_count; i++) {
        const struct option *o = &option_table[i];
        uint64_t value = 0, most = o->most ? o->most : INT64_MAX;
        if (!o->info.field || o->type == OPTION_FLAG || o->size > sizeof value)
            continue;
        memcpy(&value, (const char *)options + o->offset, o->size);
        if (o->type == OPTION_CHOICE && value >= words_of(o))
            return report_error(r, SHOAL_INPUT, "--%s: %llu is none of its values", o->info.name,
                                (unsigned long long)value);
        if ((o->type == OPTION_COUNT || o->type == OPTION_BYTES) && value > most)
            return report_error(r, SHOAL_INPUT, "--%s: must be at most %llu, not %llu",
                                o->info.name, (unsigned long long)most, (unsigned long long)value);
    }
    return SHOAL_OK;
}

static shoal_code check_fixed(const shoal_options *o, const struct method *m, struct report *r) {
    double dt = plan_dt(o);
    if (isnan(dt))
        return report_error(r, SHOAL_INPUT, "method %s takes fixed steps%s: give --dt H", o->method,
                            m->embedded ? " under controller fixed" : "");
    double steps = span_of(o) / dt;
    if (!(steps < 0x1p53))
        return report_error(r, SHOAL_INPUT, "--dt: %g is too small for a run of %g", dt,
                            span_of(o));
    return SHOAL_OK;
}

static shoal_code check_adaptive(const shoal_options *o, struct report *r) {
    if (!isnan(o->dt))
        return report_error(r, SHOAL_INPUT,
                            "--dt: method %s adapts its step; use --dt0 for the first step, "
                            "--dt-max for the largest, or --controller fixed",
                            o->method);
    if (o->dt_min > o->dt_max)
        return report_error(r, SHOAL_INPUT, "--dt-min: %g is more than --dt-max %g", o->dt_min,
                            o->dt_max);
    double finest = o->precision == SHOAL_F32 ? 0x1p-20 : 0x1p-46;
    if (tolerances_rtol(o) < finest)
        report_note(r, "rtol=%g is finer than %s can follow; below about %.0e only time is lost",
                    tolerances_rtol(o), o->precision == SHOAL_F32 ? "f32" : "f64", finest);
    return SHOAL_OK;
}

static shoal_code check_controller(const shoal_options *o, const struct method *m,
                                   struct report *r) {
    if (!o->controller)
        return SHOAL_OK;
    bool known = false, fixed = !strcmp(o->controller, controller_names[CONTROLLER_FIXED]);
    for (uint32_t i = 0; i < CONTROLLER_COUNT; i++)
        known = known || !strcmp(o->controller, controller_names[i]);
    if (!known)
        return report_error(r, SHOAL_INPUT, "--controller: unknown controller '%s'", o->controller);
    if (!fixed && m->embedded == 0)
        return report_error(r, SHOAL_INPUT,
                            "--controller: method %s has no error estimate for '%s' to follow",
                            m->name, o->controller);
    return SHOAL_OK;
}

static shoal_code check_save_at(const shoal_options *o, struct report *r) {
    size_t count = o->save_at ? save_grid_times(o->save_at, NULL) : 0;
    double *times = count ? malloc(count * sizeof *times) : NULL;
    if (!count)
        return report_error(r, SHOAL_INPUT, "--save: at=%s is not a list of times",
                            o->save_at ? o->save_at : "");
    if (!times)
        return report_error(r, SHOAL_MEMORY, "not enough memory");
    save_grid_times(o->save_at, times);
    shoal_code code = SHOAL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        double dir = o->t1 < o->t0 ? -1 : 1;
        if (!((times[i] - o->t0) * dir >= 0 && (o->t1 - times[i]) * dir >= 0))
            code = report_error(r, SHOAL_INPUT, "--save: time %g is outside of %g to %g", times[i],
                                o->t0, o->t1);
        else if (i && (times[i] - times[i - 1]) * dir <= 0)
            code = report_error(r, SHOAL_INPUT,
                                "--save: times must be in the order they are reached; %g comes "
                                "after %g",
                                times[i], times[i - 1]);
    }
    free(times);
    return code;
}

static shoal_code check_save(const shoal_options *o, struct report *r) {
    switch (o->save) {
    case SHOAL_SAVE_FINAL:
    case SHOAL_SAVE_STEPS:
        return SHOAL_OK;
    case SHOAL_SAVE_N:
        if (o->save_n < 2 || o->save_n > UINT32_MAX)
            return report_error(r, SHOAL_INPUT,
                                "--save: n counts both ends, so it is at least 2 and fits 32 bits");
        return SHOAL_OK;
    case SHOAL_SAVE_EVERY:
        if (!(o->save_every > 0))
            return report_error(r, SHOAL_INPUT, "--save: every must be more than 0");
        if (!(span_of(o) / o->save_every < UINT32_MAX))
            return report_error(r, SHOAL_INPUT, "--save: every=%g makes too many samples of %g",
                                o->save_every, span_of(o));
        return SHOAL_OK;
    case SHOAL_SAVE_AT:
        return check_save_at(o, r);
    }
    return report_error(r, SHOAL_INPUT, "--save: unknown kind");
}

static shoal_code check_reduce(const shoal_options *o, struct report *r) {
    struct arena arena = {0};
    struct reduce_spec spec;
    jmp_buf oom;
    if (!o->reduce)
        return o->by ? report_error(r, SHOAL_INPUT,
                                    "--by groups runs for statistics over them: give --reduce too")
                     : SHOAL_OK;
    if (o->save == SHOAL_SAVE_STEPS)
        return report_error(r, SHOAL_INPUT,
                            "--reduce needs times that all runs share; with --save steps each has "
                            "its own: use n, every or at");
    arena.oom = &oom;
    shoal_code code = setjmp(oom) ? report_error(r, SHOAL_MEMORY, "out of memory")
                                  : reduce_read(o->reduce, &arena, &spec, r);
    arena_free(&arena);
    return code;
}

shoal_code options_check(const shoal_options *options, const struct method *method,
                         struct report *r) {
    shoal_code code = check_signs(options, r);
    if (!code)
        code = check_ranges(options, r);
    if (!code)
        code = check_time(options, r);
    if (!code)
        code = check_controller(options, method, r);
    if (!code)
        code = plan_is_fixed(options, method) ? check_fixed(options, method, r)
                                              : check_adaptive(options, r);
    if (!code)
        code = check_save(options, r);
    if (!code && !isnan(options->window) && !options->summary)
        report_note(r, "--window is the length of stretches for --summary, which asks for nothing");
    return code ? code : check_reduce(options, r);
}
