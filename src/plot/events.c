// SPDX-License-Identifier: MIT
// What happened when: times of events (--record) as strokes, a row for each run or event; and
// return maps, a value over the one before it.
#include "plot/data.h"

#include <math.h>
#include <string.h>

enum { STROKES_MOST = 60, PAIRS_MOST = 100000, RUNS_MOST = 4, EVENTS_MOST = 24 };

// ---- Which records ------------------------------------------------------------------------------

static bool has_time(const struct plot *p, uint32_t table) {
    uint32_t time = reader_role_in(p->d, table, READER_TIME);
    return time != UINT32_MAX && !p->d->columns.items[time].grid;
}

// Tables that were named, or all records that are like the first.
static uint32_t find_records(const struct plot *p, uint32_t out[EVENTS_MOST]) {
    uint32_t count = 0;
    for (uint32_t t = 1; t < p->d->tables.count && count < EVENTS_MOST; t++) {
        bool named =
            !p->o->y && p->d->tables.items[t].per_run == p->d->tables.items[p->table].per_run;
        for (uint32_t i = 0; i < p->ys && p->o->y; i++)
            named = named || p->d->columns.items[p->y[i]].table == t;
        if (named && has_time(p, t))
            out[count++] = t;
    }
    return count;
}

// ---- Strokes ------------------------------------------------------------------------------------

// Times of the rows that have one as strokes around a height, or as points where there are many
// rows.
struct strokes {
    double *x, *y;
    size_t count;
};

static struct strokes new_strokes(struct plot *p, size_t rows) {
    return (struct strokes){.x = arena_new(&p->arena, double, 3 * rows + 1),
                            .y = arena_new(&p->arena, double, 3 * rows + 1)};
}

static void add_stroke(struct strokes *s, double t, double at, double half) {
    if (!isfinite(t) || !isfinite(at))
        return;
    const double x[] = {t, t, NAN}, y[] = {at - half, at + half, NAN};
    size_t points = half > 0 ? 3 : 1;
    memcpy(s->x + s->count, x, points * sizeof *x);
    memcpy(s->y + s->count, y, points * sizeof *y);
    s->count += points;
}

static void add_layer(struct plot *p, struct panel *panel, const struct strokes *s, bool points) {
    struct layer *l = panel_add(panel, points ? LAYER_POINTS : LAYER_LINE);
    l->ink = p->f.theme->line[0];
    l->x = s->x;
    l->y = s->y;
    l->count = s->count;
}

static shoal_code make_time_axis(struct plot *p, struct axis *a, const struct range *t) {
    struct range x = *t;
    shoal_code code = range_asked(p->o->x_range, &x, p->r);
    (p->o->x_range ? axis_make : axis_make_round)(
        a, p->time_unit ? arena_printf(&p->arena, "t (%s)", p->time_unit) : "t", x.low, x.high,
        p->log_x, 8);
    return code;
}

// ---- One event of all runs ----------------------------------------------------------------------

// The input that tells runs apart, where there is one and it is a number; else the run.
static uint32_t row_column(const struct plot *p) {
    uint32_t found = UINT32_MAX, several = 0;
    for (uint32_t i = 0; i < p->inputs; i++)
        if ((p->input[i].count > 1 || !p->input[i].value) && isnan(p->input[i].fixed)) {
            several++;
            found = p->input[i].column;
        }
    if (several == 1 && !p->d->columns.items[found].words)
        return found;
    return reader_role(p->d, READER_RUN);
}

static shoal_code make_one(struct plot *p) {
    uint32_t row = row_column(p), columns[] = {reader_role_in(p->d, p->table, READER_TIME), row};
    const struct input *in = plot_input(p, row);
    struct range t = range_none(), y = range_none();
    struct run_list runs;
    struct columns c;
    shoal_code code = p->o->runs ? run_list_read(p->o->runs, &runs, p->r) : SHOAL_OK;
    if (!code)
        code = load(p, p->table, columns, 2, p->o->runs ? &runs : NULL, &c);
    if (code)
        return code;
    struct panel *panel = plot_panels(p, 1, 1);
    range_add(&t, c.column[0], c.rows, p->log_x);
    range_add(&y, c.column[1], c.rows, p->log_y);
    double rows = in && in->value ? in->count : (double)p->runs;
    double half = rows > 1 ? 0.4 * (y.high - y.low) / (rows - 1) : 0.4;
    half = rows <= STROKES_MOST && !p->log_y ? half : 0;
    struct strokes s = new_strokes(p, c.rows);
    for (size_t i = 0; i < c.rows; i++)
        add_stroke(&s, c.column[0][i], c.column[1][i], half);
    code = make_time_axis(p, &panel->x, &t);
    y.low -= half > 0 ? 1.5 * half : 0;
    y.high += half > 0 ? 1.5 * half : 0;
    if (!code)
        code = range_asked(p->o->y_range, &y, p->r);
    axis_make(&panel->y, plot_name(p, row), y.low, y.high, p->log_y, 6);
    add_layer(p, panel, &s, half == 0);
    const char *name = p->d->tables.items[p->table].name;
    plot_titles(p, strcmp(name, "index") ? name : "events"); // a CSV has no other name for them
    return code;
}

// ---- Several events of some runs ----------------------------------------------------------------

struct first_runs {
    uint32_t count;
    double run[RUNS_MOST], input[RUNS_MOST];
};

static void take_first(void *user, const double *const *column, size_t rows) {
    struct first_runs *f = user;
    for (size_t i = 0; i < rows && f->count < RUNS_MOST; i++) {
        f->input[f->count] = column[1][i];
        f->run[f->count++] = column[0][i];
    }
}

// The times of one event in one run as strokes.
static shoal_code add_event(struct plot *p, uint32_t table, double run, double at, struct range *t,
                            struct strokes *s) {
    uint32_t time = reader_role_in(p->d, table, READER_TIME);
    struct run_list one = {.count = 1, .from = {(uint64_t)run}, .to = {(uint64_t)run + 1}};
    struct columns c;
    shoal_code code = load(p, table, &time, 1, &one, &c);
    if (code)
        return code;
    *s = new_strokes(p, c.rows);
    range_add(t, c.column[0], c.rows, p->log_x);
    for (size_t i = 0; i < c.rows; i++)
        add_stroke(s, c.column[0][i], at, 0.4);
    return SHOAL_OK;
}

static shoal_code make_several(struct plot *p, const uint32_t *tables, uint32_t count) {
    uint32_t run = reader_role(p->d, READER_RUN), row = row_column(p);
    struct first_runs f = {0};
    struct range t = range_none();
    struct run_list runs;
    shoal_code code = p->o->runs ? run_list_read(p->o->runs, &runs, p->r) : SHOAL_OK;
    if (!code)
        code = pass_over(p, READER_RUNS, (const uint32_t[]){run, row}, 2, p->o->runs ? &runs : NULL,
                         take_first, &f);
    if (code || !f.count)
        return code ? code : report_error(p->r, SHOAL_INPUT, "%s has no such run", p->d->path);
    struct panel *panel = plot_panels(p, f.count, 1);
    const char *names[EVENTS_MOST];
    for (uint32_t k = 0; k < count; k++)
        names[k] = p->d->tables.items[tables[k]].name;
    for (uint32_t i = 0; i < f.count && !code; i++) {
        panel[i].title = row == run ? arena_printf(&p->arena, "run %.0f", f.run[i])
                                    : plot_says(p, row, f.input[i]);
        axis_make_names(&panel[i].y, "", names, count);
        for (uint32_t k = 0; k < count && !code; k++) {
            struct strokes s;
            code = add_event(p, tables[k], f.run[i], k, &t, &s);
            if (!code)
                add_layer(p, &panel[i], &s, false);
        }
    }
    for (uint32_t i = 0; i < f.count && !code; i++)
        code = make_time_axis(p, &panel[i].x, &t);
    if (p->runs > f.count && !p->o->runs)
        report_note(p->r, "%u of %llu runs are shown; --only-runs names others", f.count,
                    (unsigned long long)p->runs);
    plot_titles(p, "events");
    return code;
}

shoal_code make_raster(struct plot *p) {
    uint32_t tables[EVENTS_MOST], count = find_records(p, tables);
    return count > 1 ? make_several(p, tables, count) : make_one(p);
}

// ---- Return maps --------------------------------------------------------------------------------

struct pairs {
    double *x, *y;
    size_t count;
    uint64_t left_out;
    double run, before;
};

static void add_pairs(void *user, const double *const *column, size_t rows) {
    struct pairs *m = user;
    for (size_t i = 0; i < rows; i++) {
        bool follows = column[0][i] == m->run && isfinite(m->before) && isfinite(column[1][i]);
        if (follows && m->count < PAIRS_MOST) {
            m->x[m->count] = m->before;
            m->y[m->count++] = column[1][i];
        } else if (follows)
            m->left_out++;
        m->run = column[0][i];
        m->before = column[1][i];
    }
}

static shoal_code make_next_axes(struct plot *p, struct panel *panel, const struct pairs *m) {
    struct range x = range_none(), y = range_none();
    const char *name = plot_name(p, p->y[0]), *next = arena_printf(&p->arena, "next %s", name);
    range_add(&x, m->x, m->count, p->log_x);
    range_add(&y, m->y, m->count, p->log_y);
    shoal_code code = range_asked(p->o->x_range, &x, p->r);
    if (!code)
        code = range_asked(p->o->y_range, &y, p->r);
    (p->o->x_range ? axis_make : axis_make_round)(&panel->x, name, x.low, x.high, p->log_x, 8);
    (p->o->y_range ? axis_make : axis_make_round)(&panel->y, next, y.low, y.high, p->log_y, 6);
    return code;
}

// Where a value follows itself.
static void add_diagonal(struct plot *p, struct panel *panel) {
    struct layer *l = panel_add(panel, LAYER_LINE);
    double *same = arena_new(&p->arena, double, 2);
    same[0] = fmax(panel->x.low, panel->y.low);
    same[1] = fmin(panel->x.high, panel->y.high);
    l->x = l->y = same;
    l->count = same[0] < same[1] ? 2 : 0;
    l->ink = p->f.theme->soft;
    l->opacity = 0.5;
}

shoal_code make_next(struct plot *p) {
    uint32_t columns[] = {reader_role(p->d, READER_RUN), p->y[0]};
    struct pairs m = {.x = arena_new(&p->arena, double, PAIRS_MOST),
                      .y = arena_new(&p->arena, double, PAIRS_MOST),
                      .run = NAN};
    struct run_list runs;
    if (columns[0] == UINT32_MAX)
        return report_error(p->r, SHOAL_INPUT, "%s: has no column `run`", p->d->path);
    shoal_code code = p->o->runs ? run_list_read(p->o->runs, &runs, p->r) : SHOAL_OK;
    if (!code)
        code = pass_over(p, p->table, columns, 2, p->o->runs ? &runs : NULL, add_pairs, &m);
    struct panel *panel = plot_panels(p, 1, 1);
    if (!code)
        code = make_next_axes(p, panel, &m);
    if (code)
        return code;
    if (m.left_out)
        report_note(p->r, "the first %d pairs are shown, of %llu", PAIRS_MOST,
                    (unsigned long long)(m.left_out + PAIRS_MOST));
    add_diagonal(p, panel);
    struct layer *l = panel_add(panel, LAYER_POINTS);
    l->x = m.x;
    l->y = m.y;
    l->count = m.count;
    l->ink = p->f.theme->line[0];
    const char *name = plot_name(p, p->y[0]);
    plot_titles(p, arena_printf(&p->arena, "%s after %s", name, name));
    return SHOAL_OK;
}
