// SPDX-License-Identifier: MIT
// Values over time, or over each other: of some runs as lines, of all as a fan.
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAN_NUMBERS = 1 << 22, FAN_TIMES = 1500 };

// ---- Which runs ---------------------------------------------------------------------------------

struct picker {
    uint64_t row, all;
    uint32_t count;
    double run[LINES_MOST];
};

// Evenly from all of them, the first and the last among them.
static void pick_rows(void *user, const double *const *column, size_t rows) {
    struct picker *k = user;
    uint32_t most = k->all < LINES_MOST ? (uint32_t)k->all : LINES_MOST;
    for (size_t i = 0; i < rows; i++, k->row++)
        if (k->count < most && k->row == (most > 1 ? k->count * (k->all - 1) / (most - 1) : 0))
            k->run[k->count++] = column[0][i];
}

static shoal_code pick_runs(struct plot *p, struct run_list *runs) {
    uint32_t run = reader_role(p->d, READER_RUN);
    struct picker k = {.all = p->runs};
    runs->count = 0;
    if (p->o->runs)
        return run_list_read(p->o->runs, runs, p->r);
    if (run == UINT32_MAX || p->d->columns.items[run].table) {
        runs->count = 1;
        runs->from[0] = 0;
        runs->to[0] = LINES_MOST;
        return SHOAL_OK;
    }
    shoal_code code = pass_over(p, READER_RUNS, &run, 1, NULL, pick_rows, &k);
    for (uint32_t i = 0; i < k.count; i++) {
        runs->from[i] = (uint64_t)fmax(k.run[i], 0);
        runs->to[i] = runs->from[i] + 1;
    }
    runs->count = k.count;
    if (!code && p->runs > k.count)
        report_note(p->r, "%u of %llu runs are shown; --only-runs names others, `fan` shows all",
                    k.count, (unsigned long long)p->runs);
    return code;
}

// The one input that has several values, or UINT32_MAX.
static uint32_t telling_input(const struct plot *p) {
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < p->inputs; i++)
        if (p->input[i].count > 1 || !p->input[i].value) {
            if (found != UINT32_MAX)
                return UINT32_MAX;
            found = p->input[i].column;
        }
    return found;
}

// ---- Lines --------------------------------------------------------------------------------------

struct lines {
    struct columns c; // x, the variables, run, and the input that tells runs apart
    uint32_t input;
};

static const char *name_of(struct plot *p, const struct lines *l, size_t row) {
    if (l->input == UINT32_MAX)
        return arena_printf(&p->arena, "run %.0f", l->c.column[1 + p->ys][row]);
    return plot_says(p, l->input, l->c.column[2 + p->ys][row]);
}

static void add_lines(struct plot *p, struct panel *panel, const struct lines *l, uint32_t which) {
    const double *run = l->c.column[1 + p->ys];
    uint32_t n = 0;
    for (size_t i = 0, end; i < l->c.rows; i = end, n++) {
        for (end = i; end < l->c.rows && run[end] == run[i];)
            end++;
        struct layer *y = panel_add(panel, LAYER_LINE);
        if (!y) {
            report_warning(p->r, "only the first %d runs are shown", LAYERS_MOST);
            return;
        }
        y->ink = p->f.theme->line[n % THEME_LINES];
        y->count = end - i;
        y->x = l->c.column[0] + i;
        y->y = l->c.column[1 + which] + i;
        y->name = which == 0 && p->runs != 1 ? name_of(p, l, i) : NULL;
    }
}

static shoal_code make_axes(struct plot *p, struct panel *panel, const struct lines *l,
                            uint32_t which) {
    struct range x = range_none(), y = range_none();
    range_add(&x, l->c.column[0], l->c.rows, p->log_x);
    range_add(&y, l->c.column[1 + which], l->c.rows, p->log_y);
    if (p->log_y)
        tell_no_log(p, p->y[which], l->c.column[1 + which], l->c.rows);
    shoal_code code = range_asked(p->o->x_range, &x, p->r);
    if (!code)
        code = range_asked(p->o->y_range, &y, p->r);
    bool air = p->kind == SHOAL_PLOT_phase && !p->o->x_range;
    (air ? axis_make_round : axis_make)(&panel->x, plot_label(p, p->x), x.low, x.high, p->log_x, 8);
    (p->o->y_range ? axis_make : axis_make_round)(&panel->y, plot_name(p, p->y[which]), y.low,
                                                  y.high, p->log_y, p->ys > 2 ? 3 : 6);
    return code;
}

shoal_code make_series(struct plot *p) {
    uint32_t columns[NAMES_MOST + 4] = {p->x}, count = 1, run = reader_role(p->d, READER_RUN);
    struct lines l = {.input = telling_input(p)};
    struct run_list runs;
    if (run == UINT32_MAX)
        return report_error(p->r, SHOAL_INPUT, "%s: has no column `run`", p->d->path);
    for (uint32_t i = 0; i < p->ys; i++)
        columns[count++] = p->y[i];
    columns[count++] = run;
    if (l.input != UINT32_MAX)
        columns[count++] = l.input;
    shoal_code code = pick_runs(p, &runs);
    if (!code)
        code = load(p, p->table, columns, count, &runs, &l.c);
    if (code)
        return code;
    struct panel *panel = plot_panels(p, p->ys, 1);
    for (uint32_t i = 0; i < p->ys && !code; i++) {
        code = make_axes(p, &panel[i], &l, i);
        add_lines(p, &panel[i], &l, i);
    }
    plot_titles(p, p->kind == SHOAL_PLOT_phase ? "phase plane"
                   : p->ys == 1                ? plot_name(p, p->y[0])
                                               : "series");
    return code;
}

// ---- Fans ---------------------------------------------------------------------------------------

static const double shares[] = {0.05, 0.25, 0.5, 0.75, 0.95};
enum { SHARES = 5 };

struct fan {
    uint64_t row, per_run, run_step, time_step;
    size_t runs, times; // that are kept
    double *value;      // [times][runs]
    double *line[SHARES], *time;
};

static void take_rows(void *user, const double *const *column, size_t rows) {
    struct fan *f = user;
    for (size_t i = 0; i < rows; i++, f->row++) {
        uint64_t run = f->row / f->per_run, sample = f->row % f->per_run;
        if (run % f->run_step || sample % f->time_step || run / f->run_step >= f->runs)
            continue;
        f->value[sample / f->time_step * f->runs + run / f->run_step] = column[0][i];
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of values that go up, as NumPy has it.
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t low = (size_t)place;
    if (low + 1 >= count)
        return sorted[count - 1];
    return sorted[low] + (sorted[low + 1] - sorted[low]) * (place - (double)low);
}

static void find_quantiles(const struct fan *f) {
    for (size_t t = 0; t < f->times; t++) {
        double *v = f->value + t * f->runs;
        size_t n = 0;
        for (size_t i = 0; i < f->runs; i++)
            if (isfinite(v[i]))
                v[n++] = v[i];
        qsort(v, n, sizeof *v, compare);
        for (int s = 0; s < SHARES; s++)
            f->line[s][t] = n ? quantile(v, n, shares[s]) : (double)NAN;
    }
}

static void size_fan(struct plot *p, struct fan *f) {
    uint64_t runs = p->runs ? p->runs : 1, most;
    f->per_run = p->d->tables.items[p->table].per_run;
    f->time_step = (f->per_run + FAN_TIMES - 1) / FAN_TIMES;
    f->times = (size_t)((f->per_run + f->time_step - 1) / f->time_step);
    most = FAN_NUMBERS / f->times;
    f->run_step = (runs + most - 1) / most;
    f->runs = (size_t)((runs + f->run_step - 1) / f->run_step);
    if (f->run_step > 1)
        report_note(p->r, "the fan is made of every %lluth run", (unsigned long long)f->run_step);
    f->value = arena_new(&p->arena, double, f->times * f->runs);
    f->time = arena_new(&p->arena, double, f->times);
    for (size_t i = 0; i < f->times; i++)
        f->time[i] = p->d->columns.items[p->x].grid[i * f->time_step];
}

static void add_band(struct plot *p, struct panel *panel, const struct fan *f, int low, int high,
                     double opacity, const char *name) {
    struct layer *l = panel_add(panel, LAYER_BAND);
    *l = (struct layer){.kind = LAYER_BAND,
                        .ink = p->f.theme->line[0],
                        .opacity = opacity,
                        .name = name,
                        .count = f->times,
                        .x = f->time,
                        .y = f->line[low],
                        .y2 = f->line[high]};
}

static shoal_code make_panel(struct plot *p, struct panel *panel, struct fan *f, uint32_t which) {
    struct range y = range_none(), x = range_none();
    for (size_t i = 0; i < f->times * f->runs; i++)
        f->value[i] = NAN;
    f->row = 0;
    shoal_code code = pass_over(p, p->table, &p->y[which], 1, NULL, take_rows, f);
    if (code)
        return code;
    for (int s = 0; s < SHARES; s++)
        f->line[s] = arena_new(&p->arena, double, f->times);
    find_quantiles(f);
    range_add(&x, f->time, f->times, p->log_x);
    range_add(&y, f->line[0], f->times, p->log_y);
    range_add(&y, f->line[SHARES - 1], f->times, p->log_y);
    code = range_asked(p->o->x_range, &x, p->r);
    if (!code)
        code = range_asked(p->o->y_range, &y, p->r);
    axis_make(&panel->x, plot_label(p, p->x), x.low, x.high, p->log_x, 8);
    (p->o->y_range ? axis_make : axis_make_round)(&panel->y, plot_name(p, p->y[which]), y.low,
                                                  y.high, p->log_y, p->ys > 2 ? 3 : 6);
    add_band(p, panel, f, 0, 4, 0.22, which ? NULL : "90 % of runs");
    add_band(p, panel, f, 1, 3, 0.38, which ? NULL : "50 %");
    struct layer *l = panel_add(panel, LAYER_LINE);
    *l = (struct layer){.kind = LAYER_LINE,
                        .ink = p->f.theme->line[1],
                        .opacity = 1,
                        .name = which ? NULL : "median",
                        .count = f->times,
                        .x = f->time,
                        .y = f->line[2]};
    return code;
}

shoal_code make_fan(struct plot *p) {
    struct fan f = {0};
    shoal_code code = SHOAL_OK;
    size_fan(p, &f);
    struct panel *panel = plot_panels(p, p->ys, 1);
    for (uint32_t i = 0; i < p->ys && !code; i++)
        code = make_panel(p, &panel[i], &f, i);
    plot_titles(p, p->ys == 1 ? plot_name(p, p->y[0]) : "all runs over time");
    return code;
}
