// SPDX-License-Identifier: MIT
// What suits a result: kind of plot, columns, inputs that are fixed. All that is not asked for is
// decided here, and told.
#include "base/ascii.h"
#include "base/list.h"
#include "base/number.h"
#include "plot/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MOST = 20000, SERIES_VARS = 3, FINAL_VARS = 4, PHASE_RUNS = 12, MULTIPLES_MOST = 9 };

// ---- Names --------------------------------------------------------------------------------------

static shoal_code unknown(const struct plot *p, const char *name) {
    struct nearest near = {.wanted = name};
    for (uint32_t i = 0; i < p->d->columns.count; i++)
        nearest_offer(&near, plot_name(p, i));
    const char *best = nearest_best(&near);
    return report_error(p->r, SHOAL_INPUT, "%s has no column `%s`%s%s%s", p->d->path, name,
                        best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
}

// As it is written, or else in any case.
static uint32_t find_name(const struct plot *p, const char *name) {
    uint32_t found = reader_find(p->d, name);
    for (uint32_t i = 0; i < p->d->columns.count && found == UINT32_MAX; i++)
        if (ascii_same(plot_name(p, i), name))
            found = i;
    return found;
}

static shoal_code read_names(struct plot *p, const char *text) {
    char name[1024];
    for (const char *at = text; *at;) {
        if (p->ys == NAMES_MOST || !list_item(&at, name, sizeof name))
            return report_error(p->r, SHOAL_INPUT, "--y: at most %d names", NAMES_MOST);
        uint32_t found = find_name(p, name);
        if (found == UINT32_MAX)
            return unknown(p, name);
        p->y[p->ys++] = found;
    }
    return SHOAL_OK;
}

static bool is_value(const struct plot *p, uint32_t table, uint32_t column) {
    const struct reader_column *c = &p->d->columns.items[column];
    return c->role == READER_VALUE && c->table == table && column != p->x && c->name[0] != '_' &&
           !c->grid && !c->words;
}

// The first values of the table, at most so many.
static void take_values(struct plot *p, uint32_t table, uint32_t most) {
    for (uint32_t i = 0; i < p->d->columns.count && p->ys < most; i++)
        if (is_value(p, table, i))
            p->y[p->ys++] = i;
}

static bool has_values(const struct plot *p, uint32_t table) {
    for (uint32_t i = 0; i < p->d->columns.count; i++)
        if (is_value(p, table, i))
            return true;
    return false;
}

static shoal_code read_log(struct plot *p) {
    char item[8];
    for (const char *at = p->o->log ? p->o->log : ""; *at;) {
        if (!list_item(&at, item, sizeof item) || strlen(item) != 1 || !strchr("xyz", *item))
            return report_error(p->r, SHOAL_INPUT, "--log: '%s'; it is x, y, z or several of them",
                                p->o->log);
        p->log_x = p->log_x || *item == 'x';
        p->log_y = p->log_y || *item == 'y';
        p->log_z = p->log_z || *item == 'z';
    }
    return SHOAL_OK;
}

shoal_code choose_map(struct plot *p) {
    static const char *const names[] = {
#define X(name) #name,
        COLOUR_MAPS(X)
#undef X
    };
    const char *wanted = p->o->map ? p->o->map : "viridis";
    for (int i = 0; i < COLOUR_MAP_COUNT; i++)
        if (ascii_same(names[i], wanted)) {
            p->map = (enum colour_map)i;
            return SHOAL_OK;
        }
    return report_error(p->r, SHOAL_INPUT, "--map: '%s' is none of viridis, magma, cividis, grey",
                        wanted);
}

// ---- Inputs that are fixed ----------------------------------------------------------------------

struct input *plot_input(struct plot *p, uint32_t column) {
    for (uint32_t i = 0; i < p->inputs; i++)
        if (p->input[i].column == column)
            return &p->input[i];
    return p->over.value && p->over.column == column ? &p->over : NULL;
}

static double nearest_value(const struct input *in, double wanted) {
    double best = in->value[0];
    for (uint32_t i = 1; i < in->count; i++)
        if (fabs(in->value[i] - wanted) < fabs(best - wanted))
            best = in->value[i];
    return best;
}

static void tell_fixed(struct plot *p, const struct input *in) {
    report_note(p->r, "only runs with %s are shown", plot_says(p, in->column, in->fixed));
}

// A number, or a word of a column of words.
static bool read_fixed(const struct plot *p, uint32_t column, const char *text, double *out) {
    const struct reader_words *words = p->d->columns.items[column].words;
    for (uint32_t i = 0; words && i < words->count; i++)
        if (!strcmp(words->word[i], text)) {
            *out = i;
            return true;
        }
    return !words && number_finite(text, out);
}

static shoal_code read_fix(struct plot *p) {
    char item[1100];
    for (const char *at = p->o->fix ? p->o->fix : ""; *at;) {
        char *value = list_item(&at, item, sizeof item) ? list_split(item) : NULL;
        double number = 0;
        uint32_t column = value ? find_name(p, item) : UINT32_MAX;
        if (!value || (column != UINT32_MAX && !read_fixed(p, column, value, &number)))
            return report_error(p->r, SHOAL_INPUT, "--fix: '%s' is not NAME=VALUE", p->o->fix);
        struct input *in = column == UINT32_MAX ? NULL : plot_input(p, column);
        if (column == UINT32_MAX)
            return unknown(p, item);
        if (!in || !in->value)
            return report_error(p->r, SHOAL_INPUT,
                                "--fix: `%s` is no input, or has too many values", item);
        in->fixed = nearest_value(in, number);
        tell_fixed(p, in);
    }
    return SHOAL_OK;
}

// Inputs that are neither x nor z get their first value, where they have several; but one with few
// values stays, and gets a panel or a line for each.
static void fix_others(struct plot *p, bool stays, uint32_t most) {
    for (uint32_t i = 0; i < p->inputs && p->grid; i++) {
        struct input *in = &p->input[i];
        if (in->column == p->x || in->column == p->z || !isnan(in->fixed) || in->count < 2)
            continue;
        if (stays && in->count <= most) {
            stays = false;
            continue;
        }
        in->fixed = in->value[0];
        tell_fixed(p, in);
    }
}

// ---- Kinds --------------------------------------------------------------------------------------

// Inputs that take several values, those with most first; how many there are.
static uint32_t free_inputs(const struct plot *p, uint32_t out[INPUTS_MOST]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->inputs; i++)
        if (isnan(p->input[i].fixed) && (p->input[i].count > 1 || !p->input[i].value))
            out[n++] = i;
    return n;
}

static bool is_input(const struct plot *p, uint32_t column) {
    return p->d->columns.items[column].role == READER_INPUT;
}

// Time, or else the number, of a table's rows; UINT32_MAX: it has neither.
static uint32_t rows_axis(const struct plot *p, uint32_t table) {
    uint32_t time = reader_role_in(p->d, table, READER_TIME);
    return time != UINT32_MAX ? time : reader_role_in(p->d, table, READER_INDEX);
}

// Times of its own for each row of a run: a record, or peaks.
static bool has_own_times(const struct plot *p, uint32_t table) {
    uint32_t time = reader_role_in(p->d, table, READER_TIME);
    return table && time != UINT32_MAX && !p->d->columns.items[time].grid &&
           reader_role_in(p->d, table, READER_INDEX) != UINT32_MAX &&
           strcmp(plot_name(p, time), "t_begin");
}

// Peaks are called like their table.
static bool is_peaks(const struct plot *p, uint32_t table) {
    uint32_t column = reader_find(p->d, p->d->tables.items[table].name);
    return column != UINT32_MAX && p->d->columns.items[column].table == table &&
           p->d->columns.items[column].role == READER_VALUE;
}

static shoal_plot_kind kind_of_rows(const struct plot *p) {
    uint32_t some[INPUTS_MOST], inputs = free_inputs(p, some);
    const struct reader_column *x = p->x == UINT32_MAX ? NULL : &p->d->columns.items[p->x];
    bool over_rows = !x || p->x == rows_axis(p, p->table);
    bool is_samples = !strcmp(p->d->tables.items[p->table].name, "t");
    if (x && x->role == READER_INPUT)
        return SHOAL_PLOT_density;
    if (has_own_times(p, p->table) && over_rows)
        return is_peaks(p, p->table) ? SHOAL_PLOT_next : SHOAL_PLOT_raster;
    if (!over_rows)
        return p->runs <= PHASE_RUNS || p->o->runs ? SHOAL_PLOT_phase : SHOAL_PLOT_density;
    if (p->o->runs || p->runs <= LINES_MOST)
        return SHOAL_PLOT_series;
    if (!is_samples && p->grid && inputs == 1)
        return SHOAL_PLOT_heat;
    return p->d->tables.items[p->table].per_run ? SHOAL_PLOT_fan : SHOAL_PLOT_series;
}

// Times and no runs: somebody else's table.
static bool is_timed(const struct plot *p) {
    return reader_role(p->d, READER_RUN) == UINT32_MAX &&
           reader_role_in(p->d, READER_RUNS, READER_TIME) != UINT32_MAX;
}

static shoal_plot_kind kind_of_values(const struct plot *p) {
    uint32_t some[INPUTS_MOST], count = free_inputs(p, some);
    if (p->grid && count >= 2 && (p->x == UINT32_MAX || (p->ys && is_input(p, p->y[0]))))
        return SHOAL_PLOT_heat;
    if (p->runs > LINE_MOST)
        return SHOAL_PLOT_density;
    if (is_timed(p))
        return SHOAL_PLOT_line;
    if (p->x == UINT32_MAX && count == 0 && p->runs > 1)
        return SHOAL_PLOT_histogram;
    bool is_sweep = count == 1 || (p->grid && count);
    const struct reader_column *x = p->x == UINT32_MAX ? NULL : &p->d->columns.items[p->x];
    return is_sweep && (!x || x->role == READER_INPUT) ? SHOAL_PLOT_line : SHOAL_PLOT_points;
}

// The table that was asked for by a name, or the first that has values: samples, else runs, else
// what comes next.
static uint32_t choose_table(const struct plot *p) {
    for (uint32_t i = 0; i <= p->ys; i++) {
        uint32_t column = i < p->ys ? p->y[i] : p->x;
        if (column != UINT32_MAX && p->d->columns.items[column].table)
            return p->d->columns.items[column].table;
    }
    if (p->ys)
        return READER_RUNS;
    for (uint32_t i = 1; i < p->d->tables.count; i++) {
        bool over_time = !strcmp(p->d->tables.items[i].name, "t");
        bool records = p->o->kind == SHOAL_PLOT_raster || p->o->kind == SHOAL_PLOT_next;
        if (records ? has_own_times(p, i) : over_time)
            return i;
    }
    uint32_t table = READER_RUNS;
    while (table + 1 < p->d->tables.count && !has_values(p, table))
        table++;
    return has_values(p, table) ? table : READER_RUNS;
}

static void choose_kind(struct plot *p) {
    p->kind = p->o->kind;
    p->table = choose_table(p);
    if (p->kind == SHOAL_PLOT_AUTO && p->d->reduced)
        p->kind = SHOAL_PLOT_fan;
    else if (p->kind == SHOAL_PLOT_AUTO)
        p->kind = p->table ? kind_of_rows(p) : kind_of_values(p);
}

// ---- Columns ------------------------------------------------------------------------------------

// The input with most values, of several the fastest, but not that one; UINT32_MAX: there is none.
static uint32_t largest_input(const struct plot *p, uint32_t but) {
    uint32_t some[INPUTS_MOST], count = free_inputs(p, some), found = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct input *in = &p->input[some[i]];
        uint32_t values = in->value ? in->count : UINT32_MAX;
        if (in->column == but || values < most)
            continue;
        most = values;
        found = in->column;
    }
    return found;
}

static void choose_x(struct plot *p) {
    uint32_t some[INPUTS_MOST], count = free_inputs(p, some), rows = rows_axis(p, p->table);
    bool over_rows = p->kind == SHOAL_PLOT_series || p->kind == SHOAL_PLOT_fan ||
                     p->kind == SHOAL_PLOT_raster || p->kind == SHOAL_PLOT_next;
    if (p->x != UINT32_MAX)
        return;
    if (p->table && (over_rows || p->kind == SHOAL_PLOT_heat || !count))
        p->x = rows;
    else if (p->d->reduced && rows != UINT32_MAX)
        p->x = rows;
    else if (count)
        p->x = p->kind == SHOAL_PLOT_heat ? largest_input(p, UINT32_MAX) : p->input[some[0]].column;
    else
        p->x = is_timed(p) ? rows : reader_role(p->d, READER_RUN);
}

static uint32_t variables_of(shoal_plot_kind kind) {
    switch (kind) {
    case SHOAL_PLOT_line:
    case SHOAL_PLOT_points:
        return FINAL_VARS;
    case SHOAL_PLOT_series:
    case SHOAL_PLOT_fan:
        return SERIES_VARS;
    case SHOAL_PLOT_raster:
        return NAMES_MOST;
    default:
        return 1;
    }
}

// Samples of all runs make a grid, too, where each has all of them.
static shoal_code choose_over(struct plot *p) {
    shoal_code code = look_at_column(p, p->table, p->x, &p->over);
    uint64_t runs = p->runs;
    for (uint32_t i = 0; i < p->inputs && p->grid; i++)
        runs /= isnan(p->input[i].fixed) ? 1 : p->input[i].count;
    if (!code && p->over.value && p->over.rows == p->over.count * runs)
        return SHOAL_OK;
    return code ? code
                : report_error(p->r, SHOAL_INPUT, "%s: not all runs have the same values of `%s`",
                               p->d->path, plot_name(p, p->x));
}

// A phase plane and a heat map take their second name from --y: --x x --y v, --x a --y b,x.
static shoal_code choose_columns(struct plot *p) {
    choose_x(p);
    if (p->kind == SHOAL_PLOT_heat && p->o->x && p->ys && plot_input(p, p->y[0])) {
        p->z = p->y[0];
        memmove(p->y, p->y + 1, --p->ys * sizeof *p->y);
    }
    if (p->kind == SHOAL_PLOT_heat && p->z == UINT32_MAX)
        p->z = largest_input(p, p->x);
    if (p->ys == 0)
        take_values(p, p->table, p->d->reduced ? NAMES_MOST : variables_of(p->kind));
    if (p->ys == 0) // no values were kept: what it took is something, too
        for (uint32_t i = 0; i < p->d->columns.count && !p->ys; i++)
            if (p->d->columns.items[i].role == READER_COUNT)
                p->y[p->ys++] = i;
    if (p->ys == 0 || (p->x == UINT32_MAX && p->kind != SHOAL_PLOT_histogram))
        return report_error(p->r, SHOAL_INPUT, "%s holds nothing that could be drawn", p->d->path);
    if (variables_of(p->kind) == 1)
        p->ys = 1;
    return p->kind == SHOAL_PLOT_heat && p->table ? choose_over(p) : SHOAL_OK;
}

// Values that a sweep took are often equal steps of the logarithm.
static bool is_log(const struct input *in) {
    double steps = in->count - 1.0, first = in->value[0], last = in->value[in->count - 1];
    if (in->count < 3 || !(first > 0) || last / first < 8)
        return false;
    for (uint32_t i = 1; i + 1 < in->count; i++) {
        double want = log(first) + log(last / first) * i / steps;
        if (!(fabs(log(in->value[i]) - want) < 1e-6 * log(last / first)))
            return false;
    }
    return true;
}

// Axes of such inputs are logarithmic, where nobody said how they should be.
static void choose_log(struct plot *p) {
    const struct input *x = plot_input(p, p->x), *z = plot_input(p, p->z);
    x = x == &p->over ? NULL : x;
    if (p->o->log || p->o->x_range || p->o->y_range)
        return;
    p->log_x = x && x->value && is_log(x);
    p->log_y = z && z->value && is_log(z);
}

static shoal_code check_kind(const struct plot *p) {
    bool over_time = p->kind == SHOAL_PLOT_series || p->kind == SHOAL_PLOT_phase ||
                     p->kind == SHOAL_PLOT_next || (p->kind == SHOAL_PLOT_fan && !p->d->reduced);
    if (over_time && p->table == READER_RUNS)
        return report_error(p->r, SHOAL_INPUT,
                            "%s has one value a run; %s needs several (--save n=N)", p->d->path,
                            shoal_plot_name((int)p->kind));
    if (p->kind == SHOAL_PLOT_fan && !p->d->reduced && !p->d->columns.items[p->x].grid)
        return report_error(p->r, SHOAL_INPUT,
                            "%s: a fan needs samples at times that all runs share, in an NPZ or "
                            "HDF5 file",
                            p->d->path);
    if (p->kind == SHOAL_PLOT_raster && !has_own_times(p, p->table))
        return report_error(p->r, SHOAL_INPUT, "%s has no times of events (--record)", p->d->path);
    if (p->kind == SHOAL_PLOT_heat && (!p->grid || p->z == UINT32_MAX))
        return report_error(p->r, SHOAL_INPUT,
                            "%s: a heat map needs final values over two inputs that make a grid, "
                            "or values over time and an input",
                            p->d->path);
    return SHOAL_OK;
}

static void tell(const struct plot *p) {
    char names[256] = "";
    for (uint32_t i = 0; i < p->ys; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", plot_name(p, p->y[i]));
    }
    const char *and = p->kind == SHOAL_PLOT_heat ? " and " : "";
    bool over = p->kind != SHOAL_PLOT_histogram && p->kind != SHOAL_PLOT_next;
    report_note(p->r, "plot: %s of %s%s%s%s%s", shoal_plot_name((int)p->kind), names,
                over ? " over " : "", over ? plot_name(p, p->x) : "", and,
                *and? plot_name(p, p->z) : "");
}

shoal_code choose(struct plot *p) {
    p->x = p->z = UINT32_MAX;
    shoal_code code = read_log(p);
    if (!code)
        code = choose_map(p);
    if (!code && p->o->x && (p->x = find_name(p, p->o->x)) == UINT32_MAX)
        code = unknown(p, p->o->x);
    if (!code && p->o->y)
        code = read_names(p, p->o->y);
    if (!code)
        code = read_fix(p);
    if (code)
        return code;
    choose_kind(p);
    code = choose_columns(p);
    if (!code)
        code = check_kind(p);
    if (code)
        return code;
    tell(p);
    choose_log(p);
    if (p->kind == SHOAL_PLOT_heat)
        fix_others(p, !p->text, MULTIPLES_MOST);
    if (p->kind == SHOAL_PLOT_line && p->table == READER_RUNS && is_input(p, p->x))
        fix_others(p, p->ys == 1, LINES_MOST);
    return SHOAL_OK;
}
