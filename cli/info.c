// SPDX-License-Identifier: MIT
// The commands that only tell: info, source, devices, methods, env, version.
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

shoal_code subject_load(struct subject *s, const struct args *a, const char *model) {
    shoal_code code = args_check(a, s->log);
    if (!code && refuse_result(model))
        code = SHOAL_INPUT;
    if (!code && (code = shoal_model_load(model, &s->model, s->log)) == SHOAL_IO) {
        talk_messages(&s->talk, s->log);
        suggest_model(model);
    }
    if (!code)
        code = args_events(a, s->model, s->log);
    if (!code)
        code = shoal_options_init(&s->options, s->model, s->log);
    const char *use = args_value(a, "use");
    if (!code && use)
        code = shoal_model_use(s->model, use, &s->options, s->log);
    if (!code)
        code = args_apply(a, s->model, &s->options, s->log);
    return code;
}

shoal_code subject_options(struct subject *s, const struct args *a) {
    shoal_code code = args_check(a, s->log);
    if (!code)
        code = shoal_options_init(&s->options, NULL, s->log);
    for (size_t i = 0; i < a->count && !code; i++)
        if (a->items[i].option.field)
            code =
                shoal_options_set(&s->options, a->items[i].option.name, a->items[i].value, s->log);
    return code;
}

shoal_code subject_batch(struct subject *s, const struct args *a, shoal_batch **out) {
    shoal_code code = shoal_batch_new(s->model, out, s->log);
    for (size_t i = 0; i < a->count && code == SHOAL_OK; i++)
        if (a->items[i].option.in_batch)
            code = shoal_batch_option(*out, a->items[i].option.name, a->items[i].value, s->log);
    return code ? code : shoal_batch_check(*out, s->log);
}

int subject_close(struct subject *s, shoal_code code) {
    talk_messages(&s->talk, s->log);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
    return shoal_code_exit(code);
}

// ---- info ---------------------------------------------------------------------------------------

static const struct {
    shoal_kind kind;
    const char *title, *json;
} kinds[] = {
    {SHOAL_STATE, "states", "states"},
    {SHOAL_PARAMETER, "parameters", "parameters"},
    {SHOAL_CONSTANT, "constants", "constants"},
    {SHOAL_DERIVED, "derived parameters", "derived"},
    {SHOAL_OBSERVABLE, "observables", "observables"},
    {SHOAL_SET, "sets", "sets"},
    {SHOAL_EVENT, "events", "events"},
    {SHOAL_DRIVER, "drivers", "drivers"},
    {SHOAL_TABLE, "tables", "tables"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

// What the symbols are at the start of a run.
struct start {
    double *values[KINDS]; // NULL: a kind without values
    double *dydt;
    shoal_dose_info doses; // of --doses
};

static struct start start_new(const shoal_model *m, double t0) {
    struct start s = {0};
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind >= SHOAL_OBSERVABLE)
            continue;
        uint32_t n = shoal_model_count(m, kinds[k].kind);
        s.values[k] = cli_realloc(NULL, (n + 1) * sizeof(double));
        shoal_model_values(m, kinds[k].kind, t0, s.values[k]);
        if (kinds[k].kind != SHOAL_STATE)
            continue;
        s.dydt = cli_realloc(NULL, (n + 1) * sizeof(double));
        shoal_model_rhs(m, t0, s.values[k], s.dydt);
    }
    return s;
}

static void start_free(struct start *s) {
    for (size_t k = 0; k < KINDS; k++)
        free(s->values[k]);
    free(s->dydt);
}

static int widest(const shoal_model *m, shoal_kind kind) {
    size_t most = 8;
    for (uint32_t i = 0; i < shoal_model_count(m, kind); i++) {
        size_t n = strlen(shoal_model_symbol(m, kind, i));
        most = n > most ? n : most;
    }
    return most < 40 ? (int)most : 40;
}

static uint32_t algebraic_states(const shoal_model *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < shoal_model_count(m, SHOAL_STATE); i++)
        count += shoal_model_algebraic(m, i);
    return count;
}

// Whether there is a driver of which nothing is known without a run.
static bool lacks_samples(const shoal_model *m) {
    shoal_driver_info d;
    for (uint32_t i = 0; i < shoal_model_count(m, SHOAL_DRIVER); i++)
        if (!shoal_model_driver_at(m, i, &d) || d.by)
            return true;
    return false;
}

static void info_states(const shoal_model *m, int width, const double *values, const double *dydt) {
    uint32_t algebraic = algebraic_states(m);
    if (algebraic)
        printf("  %u of them algebraic: their values are guesses\n", algebraic);
    printf("  %-*s  %-24s  %s\n", width, "", "value at t0", "derivative at t0");
    for (uint32_t i = 0; i < shoal_model_count(m, SHOAL_STATE); i++) {
        printf("  %-*s  %-24.17g  ", width, shoal_model_symbol(m, SHOAL_STATE, i), values[i]);
        if (shoal_model_algebraic(m, i))
            puts("algebraic");
        else if (isnan(dydt[i]) && lacks_samples(m))
            puts("unknown: samples of a driver are missing, or each run has its own");
        else
            printf("%.17g\n", dydt[i]);
    }
}

static void info_driver(const shoal_model *m, int width, uint32_t i) {
    const char *name = shoal_model_symbol(m, SHOAL_DRIVER, i);
    shoal_driver_info d;
    if (!shoal_model_driver_at(m, i, &d)) {
        printf("  %-*s  no samples; --driver %s=FILE gives them\n", width, name, name);
        return;
    }
    printf("  %-*s  %" PRIu64 " samples from t = %.9g to %.9g, %.9g to %.9g, %s, ends=%s", width,
           name, d.samples, d.t_first, d.t_last, d.least, d.most, d.between, d.ends);
    if (d.by)
        printf(", %u signals by %s", d.signals, d.by);
    putchar('\n');
}

static void info_kind(const shoal_model *m, size_t k, const struct start *start) {
    shoal_kind kind = kinds[k].kind;
    uint32_t count = shoal_model_count(m, kind);
    int width = widest(m, kind);
    if (!count)
        return;
    printf("%s: %u\n", kinds[k].title, count);
    if (kind == SHOAL_STATE) {
        info_states(m, width, start->values[k], start->dydt);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *name = shoal_model_symbol(m, kind, i);
        if (kind == SHOAL_EVENT)
            printf("  %-*s  %s\n", width, name, shoal_model_event(m, i));
        else if (kind == SHOAL_DRIVER)
            info_driver(m, width, i);
        else if (!start->values[k])
            printf("  %s\n", name);
        else
            printf("  %-*s  %.17g\n", width, name, start->values[k][i]);
    }
}

// Where right-hand sides jump.
static void info_switches(const shoal_model *m) {
    char text[256];
    bool exact;
    for (uint32_t i = 0; shoal_model_switch(m, i, text, sizeof text, &exact); i++) {
        if (!i)
            puts("switches");
        printf("  %s  %s\n", exact ? "exact   " : "searched", text);
    }
}

static void json_switches(const shoal_model *m) {
    char text[256];
    bool exact;
    fputs(", \"switches\": [", stdout);
    for (uint32_t i = 0; shoal_model_switch(m, i, text, sizeof text, &exact); i++) {
        fputs(i ? ", {\"condition\": " : "{\"condition\": ", stdout);
        show_json_string(stdout, text);
        printf(", \"exact\": %s}", exact ? "true" : "false");
    }
    putchar(']');
}

static void info_step(const char *method, const shoal_cost *c) {
    printf("one step of %s", method);
    if (c->iterations)
        printf(" with %" PRIu64 " iterations", c->iterations);
    printf(": %" PRIu64 " additions, %" PRIu64 " multiplications, %" PRIu64 " divisions, %" PRIu64
           " functions\n",
           c->adds, c->muls, c->divs, c->functions);
}

static void info_cost(const struct subject *s) {
    shoal_cost c;
    const char *part[2];
    uint32_t parts = shoal_method_parts(s->options.method, part);
    for (uint32_t i = 0; i < parts; i++) {
        if (shoal_model_cost(s->model, part[i], &c, NULL) || !c.matrix) {
            if (!i)
                puts("; too large for implicit methods");
            return;
        }
        if (!i)
            printf("; I - h J has %" PRIu64 ", with fill-in %" PRIu64 "\n", c.matrix, c.factors);
        info_step(part[i], &c);
    }
}

static void info_jacobian(const struct subject *s) {
    uint32_t n = shoal_model_count(s->model, SHOAL_STATE);
    size_t nonzeros = shoal_model_sparsity(s->model, NULL, NULL);
    printf("Jacobian: %u x %u", n, n);
    if (nonzeros == SIZE_MAX) {
        puts("; too large for implicit methods");
        return;
    }
    printf(", %zu nonzeros (%.0f %%)", nonzeros, 100 * (double)nonzeros / ((double)n * n));
    info_cost(s);
}

static void info_doses(const shoal_dose_info *d, const char *path) {
    if (!path)
        return;
    printf("doses: %u\n  %u at once, %u infusions", d->at_once + d->infusions, d->at_once,
           d->infusions);
    if (d->at_once + d->infusions)
        printf(", from t = %.9g to %.9g", d->t_first, d->t_last);
    if (d->ids)
        printf(", of %u IDs\n", d->ids);
    else
        puts(", the same for all runs");
}

static void info_text(const struct subject *s, const struct start *start) {
    char value[1024];
    printf("model %s\n", shoal_model_name(s->model));
    for (size_t k = 0; k < KINDS; k++)
        info_kind(s->model, k, start);
    info_doses(&start->doses, s->options.doses);
    info_switches(s->model);
    info_jacobian(s);
    puts("options");
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (!o.in_model)
            continue;
        bool given = shoal_options_get(&s->options, o.name, value, sizeof value);
        if (given)
            printf("  %-12s %s\n", o.name, value);
        else if (!strcmp(o.name, "dt") && !isnan(s->options.dt_model))
            printf("  %-12s %.17g (for methods of fixed steps)\n", o.name, s->options.dt_model);
        else
            printf("  %-12s (%s)\n", o.name, o.default_text[0] ? o.default_text : "none");
    }
}

static void json_number(double value) {
    if (isfinite(value))
        printf("%.17g", value);
    else
        fputs("null", stdout);
}

// Without samples there is nothing to say.
static void json_driver(const shoal_model *m, uint32_t i) {
    shoal_driver_info d;
    if (!shoal_model_driver_at(m, i, &d))
        return;
    printf(", \"samples\": %" PRIu64 ", \"signals\": %u, \"t\": [%.17g, %.17g], \"range\": [%.17g, "
           "%.17g], \"between\": \"%s\", \"ends\": \"%s\"",
           d.samples, d.signals, d.t_first, d.t_last, d.least, d.most, d.between, d.ends);
    if (d.by) {
        fputs(", \"by\": ", stdout);
        show_json_string(stdout, d.by);
    }
}

static void json_kind(const shoal_model *m, size_t k, const struct start *start) {
    shoal_kind kind = kinds[k].kind;
    printf(", \"%s\": [", kinds[k].json);
    for (uint32_t i = 0; i < shoal_model_count(m, kind); i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        show_json_string(stdout, shoal_model_symbol(m, kind, i));
        if (kind == SHOAL_EVENT) {
            fputs(", \"line\": ", stdout);
            show_json_string(stdout, shoal_model_event(m, i));
        }
        if (kind == SHOAL_DRIVER)
            json_driver(m, i);
        if (start->values[k]) {
            fputs(", \"value\": ", stdout);
            json_number(start->values[k][i]);
        }
        if (kind == SHOAL_STATE && shoal_model_algebraic(m, i))
            fputs(", \"algebraic\": true", stdout);
        else if (kind == SHOAL_STATE) {
            fputs(", \"derivative\": ", stdout);
            json_number(start->dydt[i]);
        }
        putchar('}');
    }
    putchar(']');
}

// Of method auto the second step is that of the runs which are stiff.
static void json_cost(const struct subject *s) {
    static const char *const names[] = {"step", "stiff_step"};
    shoal_cost c;
    const char *part[2];
    uint32_t parts = shoal_method_parts(s->options.method, part);
    for (uint32_t i = 0; i < parts; i++) {
        if (shoal_model_cost(s->model, part[i], &c, NULL) || !c.matrix)
            return;
        if (!i)
            printf(", \"matrix\": %" PRIu64 ", \"factors\": %" PRIu64, c.matrix, c.factors);
        printf(", \"%s\": {\"additions\": %" PRIu64 ", \"multiplications\": %" PRIu64
               ", \"divisions\": %" PRIu64 ", \"functions\": %" PRIu64 ", \"iterations\": %" PRIu64
               "}",
               names[i], c.adds, c.muls, c.divs, c.functions, c.iterations);
    }
}

// False when it is too large.
static bool json_jacobian(const shoal_model *m) {
    size_t n = shoal_model_sparsity(m, NULL, NULL);
    if (n == SIZE_MAX)
        return false;
    uint32_t *rows = cli_realloc(NULL, n * sizeof *rows),
             *columns = cli_realloc(NULL, n * sizeof *columns);
    shoal_model_sparsity(m, rows, columns);
    printf(", \"jacobian\": {\"size\": %u, \"nonzeros\": [", shoal_model_count(m, SHOAL_STATE));
    for (size_t i = 0; i < n; i++)
        printf("%s[%u, %u]", i ? ", " : "", rows[i], columns[i]);
    fputs("]}", stdout);
    free(rows);
    free(columns);
    return true;
}

static void json_doses(const shoal_dose_info *d, const char *path) {
    if (!path)
        return;
    printf(", \"doses\": {\"at_once\": %u, \"infusions\": %u, \"ids\": %u, \"t_first\": ",
           d->at_once, d->infusions, d->ids);
    json_number(d->t_first);
    fputs(", \"t_last\": ", stdout);
    json_number(d->t_last);
    putchar('}');
}

static void info_json(const struct subject *s, const struct start *start) {
    char value[1024];
    fputs("{\"model\": ", stdout);
    show_json_string(stdout, shoal_model_name(s->model));
    fputs(", \"t0\": ", stdout);
    json_number(s->options.t0);
    for (size_t k = 0; k < KINDS; k++)
        json_kind(s->model, k, start);
    json_doses(&start->doses, s->options.doses);
    json_switches(s->model);
    if (json_jacobian(s->model))
        json_cost(s);
    fputs(", \"options\": {", stdout);
    bool first = true;
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (!o.in_model || !shoal_options_get(&s->options, o.name, value, sizeof value))
            continue;
        printf("%s\"%s\": ", first ? "" : ", ", o.name);
        show_json_string(stdout, value);
        first = false;
    }
    fputs("}}\n", stdout);
}

int command_info(struct args *a) {
    struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
    shoal_dose_info doses = {0};
    shoal_code code = subject_load(&s, a, a->model);
    if (!code && s.options.doses)
        code = shoal_model_doses(s.model, s.options.doses, s.options.t0, &doses, s.log);
    if (!code) {
        struct start start = start_new(s.model, s.options.t0);
        start.doses = doses;
        if (args_flag(a, "json"))
            info_json(&s, &start);
        else
            info_text(&s, &start);
        start_free(&start);
    }
    return subject_close(&s, code);
}

// The kernel of a pipeline; cells of the input and of the result have one type.
static shoal_code grid_source(struct subject *s, const struct args *a, char **source) {
    shoal_cell type = (shoal_cell)args_choice(a, "type", SHOAL_I32);
    char *text = grid_text(args_value(a, "grid"));
    shoal_code code = text ? subject_options(s, a) : SHOAL_IO;
    if (!code)
        code = shoal_grid_source(text, &s->options, type, type, source, s->log);
    free(text);
    return code;
}

int command_source(struct args *a) {
    struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
    char *source = NULL;
    bool grid = args_value(a, "grid");
    shoal_code code = grid ? grid_source(&s, a, &source) : subject_load(&s, a, a->model);
    if (!code && !grid)
        code = shoal_model_source(s.model, &s.options, &source, s.log);
    if (!code)
        fputs(source, stdout);
    free(source);
    return subject_close(&s, code);
}

// ---- devices, methods, env, version ----------------------------------------------------

int command_devices(struct args *a) {
    (void)a;
    for (uint32_t i = 0; i < shoal_device_count(); i++) {
        shoal_device_info d = shoal_device_at(i);
        printf("%-10s %s%s\n", d.name, d.usable ? "" : "not usable: ", d.description);
    }
    return 0;
}

static const char *properties(const shoal_method_info *m, char *text, size_t room) {
    snprintf(text, room, "%s%s%s%s", m->stability, m->stability[0] ? "-stable" : "",
             m->stiffly_accurate ? ", accurate" : "",
             !m->fsal          ? ""
             : m->stability[0] ? ", FSAL"
                               : "FSAL");
    return text[0] ? text : "-";
}

int command_methods(struct args *a) {
    (void)a;
    printf("%-20s %5s %8s %6s  %-24s %-10s %-14s %s\n", "name", "order", "embedded", "stages",
           "properties", "controller", "interpolant", "good for");
    const char *part[2];
    shoal_method_parts("auto", part);
    printf("%-20s %5s %8s %6s  %-24s %-10s %-14s %s; %s for the runs that are stiff\n", "auto", "-",
           "-", "-", "-", "-", "-", part[0], part[1]);
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        char embedded[16] = "-", text[48];
        if (m.embedded_order)
            snprintf(embedded, sizeof embedded, "%u", m.embedded_order);
        printf("%-20s %5u %8s %6u  %-24s %-10s %-14s %s", m.name, m.order, embedded, m.stages,
               properties(&m, text, sizeof text), m.controller, m.interpolant, m.good_for);
        printf(m.aliases[0] ? " (also: %s)\n" : "\n", m.aliases);
    }
    return 0;
}

const struct variable variables[] = {
    {"SHOAL_CC", "C compiler of CPU kernels (cc)"},
    {"SHOAL_NVRTC", "file of NVRTC, the compiler of CUDA kernels"},
    {"SHOAL_DEVICE", "device when --device is auto"},
    {"SHOAL_TIME_LIMIT", "--time-limit where none is given: 3h50m"},
    {"SHOAL_SNAPSHOT_SECONDS", "time between snapshots of --reduce (5)"},
    {"SHOAL_CPU_TARGET", "lesser CPU to make kernels for"},
    {"SHOAL_MATH", "math library of CPU kernels: sleef, mvec, libm"},
    {"SHOAL_CACHE", "kernel cache: on, off, ro, refresh, verify"},
    {"SHOAL_CACHE_DIR", "its place (~/.cache/shoal)"},
    {"SHOAL_CACHE_RO", "read-only caches that are searched after it, a:b"},
    {"SHOAL_CACHE_MAX", "its size (1G; 0: no limit)"},
    {"SHOAL_CACHE_ENTRIES", "its number of kernels (4096; 0: no limit)"},
    {"SHOAL_CACHE_SALT", "part of every key: another value, other kernels"},
    {"SHOAL_CACHE_LOG", "1: a line for each lookup"},
    {"XDG_CONFIG_HOME", "where shoal/secret is, which kernels are signed with (~/.config)"},
    {"SHOAL_HDF5_READER", "program that reads HDF5 files (shoal-hdf5)"},
    {"SHOAL_DEVICES_PROGRAM", "program that asks drivers for devices (shoal-devices)"},
    {"SHOAL_DRIVER_SECONDS", "how long a driver may take to answer it (30)"},
    {"TMPDIR", "temporary files"},
    {"NO_COLOR", "no colour in messages"},
};
const size_t variable_count = sizeof variables / sizeof *variables;

int command_env(struct args *a) {
    (void)a;
    for (size_t i = 0; i < variable_count; i++) {
        const char *value = getenv(variables[i].name);
        printf("%-20s %-24s %s\n", variables[i].name, value ? value : "(not set)",
               variables[i].what);
    }
    shoal_device_info cpu = shoal_device_at(0); // with its compiler and math library
    printf("%-20s %s\n", cpu.name, cpu.description);
    return 0;
}

int command_version(struct args *a) {
    (void)a;
    printf("shoal %s\n", shoal_version());
    return 0;
}
