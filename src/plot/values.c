// SPDX-License-Identifier: MIT
// Final values over an input, as lines or points, and histograms.
#include "plot/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS_LEAST = 8, BINS_MOST = 60 };

// ---- Order --------------------------------------------------------------------------------------

static int compare_rows(const void *a, const void *b, void *user) {
    const double *key = user;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    if (key[i] != key[k])
        return key[i] < key[k] ? -1 : 1;
    return i < k ? -1 : i > k;
}

static bool goes_up(const double *x, size_t rows) {
    for (size_t i = 1; i < rows; i++)
        if (!(x[i] >= x[i - 1]))
            return false;
    return true;
}

void sort_rows(struct plot *p, struct columns *c) {
    if (goes_up(c->column[0], c->rows))
        return;
    size_t *order = arena_new(&p->arena, size_t, c->rows + 1);
    double *sorted = arena_new(&p->arena, double, c->rows + 1);
    for (size_t i = 0; i < c->rows; i++)
        order[i] = i;
    qsort_r(order, c->rows, sizeof *order, compare_rows, c->column[0]);
    for (uint32_t k = c->count; k-- > 0;) {
        for (size_t i = 0; i < c->rows; i++)
            sorted[i] = c->column[k][order[i]];
        memcpy(c->column[k], sorted, c->rows * sizeof *sorted);
    }
}

// ---- Runs that failed ---------------------------------------------------------------------------

bool failed_status(double status) {
    return status != SHOAL_STATUS_ok && status != SHOAL_STATUS_stopped;
}

// Neighbours that failed make one interval, from half way to the ones that did not.
static void hatch_failed(struct plot *p, struct panel *panel, const struct columns *c,
                         const double *status) {
    const double *x = c->column[0];
    double *from = arena_new(&p->arena, double, c->rows + 1);
    double *to = arena_new(&p->arena, double, c->rows + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        size_t end = i;
        while (end < c->rows && failed_status(status[end]))
            end++;
        if (end == i)
            continue;
        from[n] = i ? (x[i - 1] + x[i]) / 2 : x[i];
        to[n++] = end < c->rows ? (x[end - 1] + x[end]) / 2 : x[end - 1];
        i = end;
    }
    struct layer *l = n ? panel_add(panel, LAYER_HATCH) : NULL;
    if (l)
        *l = (struct layer){.kind = LAYER_HATCH,
                            .ink = p->f.theme->soft,
                            .opacity = 1,
                            .name = "failed",
                            .count = n,
                            .x = from,
                            .x2 = to};
}

// ---- Lines and points ---------------------------------------------------------------------------

// Lines of one variable for each value of another input, where there are few.
static const struct input *find_group(const struct plot *p) {
    const struct input *group = NULL;
    for (uint32_t i = 0; i < p->inputs && p->grid && p->kind == SHOAL_PLOT_line; i++) {
        const struct input *in = &p->input[i];
        if (in->column == p->x || in->count < 2 || !isnan(in->fixed))
            continue;
        if (group)
            return NULL; // two of them
        group = in;
    }
    return group && group->count <= LINES_MOST && p->ys == 1 ? group : NULL;
}

static void add_line(struct plot *p, struct panel *panel, const double *x, const double *y,
                     size_t rows, uint32_t which, const char *name) {
    struct layer *l = panel_add(panel, p->kind == SHOAL_PLOT_line ? LAYER_LINE : LAYER_POINTS);
    if (!l)
        return;
    l->ink = p->f.theme->line[which % THEME_LINES];
    l->name = name;
    l->count = rows;
    l->x = x;
    l->y = y;
    l->opacity = l->kind == LAYER_POINTS && rows > 3000 ? 0.5 : 1;
    if (rows == 1)
        l->kind = LAYER_POINTS;
}

static void add_groups(struct plot *p, struct panel *panel, const struct columns *c,
                       const struct input *group) {
    const double *key = c->column[c->count - 1];
    for (uint32_t g = 0; g < group->count; g++) {
        double *x = arena_new(&p->arena, double, c->rows + 1);
        double *y = arena_new(&p->arena, double, c->rows + 1);
        size_t n = 0;
        for (size_t i = 0; i < c->rows; i++)
            if (key[i] == group->value[g]) {
                x[n] = c->column[0][i];
                y[n++] = c->column[1][i];
            }
        add_line(p, panel, x, y, n, g, plot_says(p, group->column, group->value[g]));
    }
}

static const char *label_of(struct plot *p) { return p->ys == 1 ? plot_name(p, p->y[0]) : "value"; }

static shoal_code make_axes(struct plot *p, struct panel *panel, const struct columns *c) {
    struct range x = range_none(), y = range_none();
    range_add(&x, c->column[0], c->rows, p->log_x);
    for (uint32_t i = 0; i < p->ys; i++)
        range_add(&y, c->column[1 + i], c->rows, p->log_y);
    bool given = p->o->x_range;
    if (p->log_x)
        tell_no_log(p, p->x, c->column[0], c->rows);
    for (uint32_t i = 0; i < p->ys && p->log_y; i++)
        tell_no_log(p, p->y[i], c->column[1 + i], c->rows);
    shoal_code code = range_asked(p->o->x_range, &x, p->r);
    if (!code)
        code = range_asked(p->o->y_range, &y, p->r);
    axis_make(&panel->x, plot_label(p, p->x), x.low, x.high, p->log_x, 8);
    if (!given && p->kind == SHOAL_PLOT_points)
        axis_make_round(&panel->x, plot_label(p, p->x), x.low, x.high, p->log_x, 8);
    (p->o->y_range ? axis_make : axis_make_round)(&panel->y, label_of(p), y.low, y.high, p->log_y,
                                                  6);
    return code;
}

shoal_code make_values(struct plot *p) {
    uint32_t columns[NAMES_MOST + 4] = {p->x}, count = 1;
    const struct input *group = find_group(p);
    struct columns c;
    for (uint32_t i = 0; i < p->ys; i++)
        columns[count++] = p->y[i];
    uint32_t status = count;
    if (p->status != UINT32_MAX)
        columns[count++] = p->status;
    if (group)
        columns[count++] = group->column;
    shoal_code code = load(p, p->table, columns, count, NULL, &c);
    if (code)
        return code;
    if (p->kind == SHOAL_PLOT_line)
        sort_rows(p, &c);
    struct panel *panel = plot_panels(p, 1, 1);
    code = make_axes(p, panel, &c);
    if (p->status != UINT32_MAX && p->kind == SHOAL_PLOT_line && !group)
        hatch_failed(p, panel, &c, c.column[status]);
    if (group)
        add_groups(p, panel, &c, group);
    for (uint32_t i = 0; i < p->ys && !group; i++)
        add_line(p, panel, c.column[0], c.column[1 + i], c.rows, i,
                 p->ys > 1 ? plot_name(p, p->y[i]) : NULL);
    plot_titles(p, p->ys == 1 ? plot_name(p, p->y[0]) : "final values");
    return code;
}

// ---- Histograms ---------------------------------------------------------------------------------

struct counter {
    const struct plot *p;
    struct range g;
    struct axis axis;
    uint64_t rows;
    uint32_t bins;
    double *count;
};

static void find_range(void *user, const double *const *column, size_t rows) {
    struct counter *c = user;
    range_add(&c->g, column[0], rows, c->p->log_x);
    c->rows += rows;
}

static void count_rows(void *user, const double *const *column, size_t rows) {
    struct counter *c = user;
    for (size_t i = 0; i < rows; i++) {
        double place = axis_place(&c->axis, column[0][i]);
        if (place >= 0 && place <= 1)
            c->count[place < 1 ? (uint32_t)(place * c->bins) : c->bins - 1]++;
    }
}

// As many bins as the number of values can fill.
static shoal_code size_bins(struct plot *p, struct counter *c) {
    shoal_code code = pass_over(p, p->table, p->y, 1, NULL, find_range, c);
    c->bins = (uint32_t)fmin(fmax(2 * cbrt((double)c->rows), BINS_LEAST), BINS_MOST);
    if (!code)
        code = range_asked(p->o->x_range, &c->g, p->r);
    axis_make(&c->axis, plot_name(p, p->y[0]), c->g.low, c->g.high, p->log_x, 8);
    return code;
}

shoal_code make_histogram(struct plot *p) {
    struct counter c = {.p = p, .g = range_none()};
    double *low = arena_new(&p->arena, double, BINS_MOST);
    double *high = arena_new(&p->arena, double, BINS_MOST);
    c.count = arena_new(&p->arena, double, BINS_MOST);
    shoal_code code = size_bins(p, &c);
    if (!code)
        code = pass_over(p, p->table, p->y, 1, NULL, count_rows, &c);
    if (code)
        return code;
    struct panel *panel = plot_panels(p, 1, 1);
    double most = 0;
    for (uint32_t i = 0; i < c.bins; i++) {
        low[i] = axis_value(&c.axis, (double)i / c.bins);
        high[i] = axis_value(&c.axis, (i + 1.0) / c.bins);
        most = fmax(most, c.count[i]);
    }
    panel->x = c.axis;
    axis_make(&panel->y, p->table ? "samples" : "runs", p->log_y ? 0.5 : 0, fmax(most * 1.05, 1),
              p->log_y, 6);
    struct layer *l = panel_add(panel, LAYER_BARS);
    *l = (struct layer){.kind = LAYER_BARS,
                        .ink = p->f.theme->line[0],
                        .opacity = 0.9,
                        .count = c.bins,
                        .x = low,
                        .y = c.count,
                        .x2 = high};
    plot_titles(p, plot_name(p, p->y[0]));
    return SHOAL_OK;
}
