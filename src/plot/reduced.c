// SPDX-License-Identifier: MIT
// Statistics over runs (--reduce), drawn as they are meant: of each variable the median or mean as
// a line, and a band between the outer quantiles, or what else tells how wide it is. A group of
// runs
// (--by) is a colour.
#include "base/number.h"
#include "io/formats.h"
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES_MOST = 3 };

// What is known of a variable, by columns; UINT32_MAX: nothing.
struct statistics {
    const char *name;
    uint32_t middle;           // median, or mean
    uint32_t low[2], high[2];  // of the outer band and of one inside it
    double below[2], above[2]; // of which share of the runs; NaN: least and largest
    uint32_t mean, deviation;
};

// ---- Which columns ------------------------------------------------------------------------------

// x of x.mean and x.q0.05, as long as that; what is behind is *what.
static size_t split_name(const char *name, const char **what) {
    const char *point = strstr(name, ".q");
    while (point && !(point[2] >= '0' && point[2] <= '9'))
        point = strstr(point + 1, ".q");
    point = point ? point : strrchr(name, '.');
    *what = point + 1;
    return (size_t)(point - name);
}

static void take_quantile(struct statistics *s, uint32_t column, double share) {
    bool is_low = share < 0.5;
    uint32_t *at = is_low ? s->low : s->high;
    double *of = is_low ? s->below : s->above;
    if (share == 0.5) {
        s->middle = column;
        return;
    }
    int place =
        at[0] == UINT32_MAX || isnan(of[0]) || (is_low ? share < of[0] : share > of[0]) ? 0 : 1;
    if (place == 0 && at[0] != UINT32_MAX && !isnan(of[0])) { // the one that was outside is inside
        at[1] = at[0];
        of[1] = of[0];
    }
    if (place == 0 || at[1] == UINT32_MAX || (is_low ? share < of[1] : share > of[1])) {
        at[place] = column;
        of[place] = share;
    }
}

static void take_column(struct statistics *s, uint32_t column, const char *what) {
    double share;
    if (*what == 'q' && number_finite(what + 1, &share))
        take_quantile(s, column, share);
    else if (!strcmp(what, "mean"))
        s->mean = column;
    else if (!strcmp(what, "std"))
        s->deviation = column;
    else if (!strcmp(what, "min") && s->low[0] == UINT32_MAX)
        s->low[0] = column;
    else if (!strcmp(what, "max") && s->high[0] == UINT32_MAX)
        s->high[0] = column;
}

static struct statistics *find_variable(struct plot *p, struct statistics *s, uint32_t *count,
                                        const char *name, size_t length) {
    for (uint32_t i = 0; i < *count; i++)
        if (strlen(s[i].name) == length && !memcmp(s[i].name, name, length))
            return &s[i];
    if (*count == VARIABLES_MOST)
        return NULL;
    s[*count] = (struct statistics){.name = arena_strndup(&p->arena, name, length),
                                    .middle = UINT32_MAX,
                                    .low = {UINT32_MAX, UINT32_MAX},
                                    .high = {UINT32_MAX, UINT32_MAX},
                                    .below = {NAN, NAN},
                                    .above = {NAN, NAN},
                                    .mean = UINT32_MAX,
                                    .deviation = UINT32_MAX};
    return &s[(*count)++];
}

// Those that were asked for, or all of the table.
static uint32_t find_statistics(struct plot *p, struct statistics *s) {
    uint32_t count = 0, all = p->o->y ? p->ys : p->d->columns.count;
    for (uint32_t i = 0; i < all; i++) {
        uint32_t column = p->o->y ? p->y[i] : i;
        const struct reader_column *c = &p->d->columns.items[column];
        const char *what;
        if (c->table != p->table || c->role != READER_VALUE || !reader_is_statistic(c->name))
            continue;
        size_t length = split_name(c->name, &what);
        struct statistics *to = find_variable(p, s, &count, c->name, length);
        if (to)
            take_column(to, column, what);
    }
    for (uint32_t i = 0; i < count; i++)
        s[i].middle = s[i].middle != UINT32_MAX ? s[i].middle : s[i].mean;
    return count;
}

// ---- Groups -------------------------------------------------------------------------------------

struct groups {
    uint32_t inputs, input[INPUTS_MOST]; // that differ, besides x
    uint32_t count;
    size_t first[LINES_MOST]; // a row of each
    uint64_t left_out;        // rows of others
};

static void find_inputs(const struct plot *p, struct groups *g) {
    for (uint32_t i = 0; i < p->inputs; i++)
        if (p->input[i].column != p->x && isnan(p->input[i].fixed))
            g->input[g->inputs++] = p->input[i].column;
}

// Which group a row is of, or LINES_MOST; its inputs are the columns from `first` on.
static uint32_t group_of(struct groups *g, const struct columns *c, uint32_t first, size_t row) {
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t same = 0;
        while (same < g->inputs &&
               c->column[first + same][row] == c->column[first + same][g->first[i]])
            same++;
        if (same == g->inputs)
            return i;
    }
    if (g->count == LINES_MOST) {
        g->left_out++;
        return LINES_MOST;
    }
    g->first[g->count] = row;
    return g->count++;
}

static const char *group_name(struct plot *p, const struct groups *g, const struct columns *c,
                              uint32_t first, uint32_t which) {
    const char *name = NULL;
    for (uint32_t i = 0; i < g->inputs; i++) {
        const char *one = plot_says(p, g->input[i], c->column[first + i][g->first[which]]);
        name = name ? arena_printf(&p->arena, "%s, %s", name, one) : one;
    }
    return name;
}

// ---- Layers -------------------------------------------------------------------------------------

// The rows of one group, of one column.
static double *pick(struct plot *p, const struct columns *c, const uint32_t *group, uint32_t which,
                    uint32_t column, size_t *count) {
    double *out = arena_new(&p->arena, double, c->rows + 1);
    *count = 0;
    for (size_t i = 0; i < c->rows; i++)
        if (group[i] == which)
            out[(*count)++] = c->column[column][i];
    return out;
}

static const char *band_name(struct plot *p, const struct statistics *s, int which) {
    char low[TICK_ROOM], high[TICK_ROOM];
    if (isnan(s->below[which]) || isnan(s->above[which]))
        return which ? NULL : s->low[0] == UINT32_MAX ? "mean and deviation" : "least and largest";
    number_short(100 * s->below[which], 3, low);
    number_short(100 * s->above[which], 3, high);
    return arena_printf(&p->arena, "%s to %s %%", low, high);
}

struct drawing {
    struct plot *p;
    const struct statistics *s;
    struct columns c; // x, inputs, then what `place` says
    struct groups g;
    const uint32_t *group; // of each row
    uint32_t middle, low[2], high[2];
};

// Over words there is nothing between two of them: a stroke from low to high at each.
static void add_whiskers(struct drawing *d, struct panel *panel, uint32_t which, int band) {
    struct plot *p = d->p;
    struct layer *l = panel_add(panel, LAYER_LINE);
    double *x = arena_new(&p->arena, double, 3 * d->c.rows + 1);
    double *y = arena_new(&p->arena, double, 3 * d->c.rows + 1);
    size_t n = 0;
    for (size_t i = 0; i < d->c.rows; i++) {
        if (d->group[i] != which)
            continue;
        double beside = d->c.column[0][i] + 0.08 * (which - (d->g.count - 1) / 2.0);
        x[n] = x[n + 1] = beside;
        y[n] = d->c.column[d->low[band]][i];
        y[n + 1] = d->c.column[d->high[band]][i];
        x[n + 2] = y[n + 2] = NAN;
        n += 3;
    }
    if (!l)
        return;
    l->x = x;
    l->y = y;
    l->count = n;
    l->width = band ? 9 : 4;
    l->opacity = band ? 0.6 : 0.4;
    l->ink = p->f.theme->line[which];
    l->name = d->g.count == 1 ? band_name(p, d->s, band) : NULL;
}

static void add_band(struct drawing *d, struct panel *panel, uint32_t which, int band) {
    struct plot *p = d->p;
    size_t n;
    if (d->low[band] == UINT32_MAX || d->high[band] == UINT32_MAX)
        return;
    if (p->d->columns.items[p->x].words) {
        add_whiskers(d, panel, which, band);
        return;
    }
    struct layer *l = panel_add(panel, LAYER_BAND);
    if (!l)
        return;
    l->x = pick(p, &d->c, d->group, which, 0, &n);
    l->y = pick(p, &d->c, d->group, which, d->low[band], &n);
    l->y2 = pick(p, &d->c, d->group, which, d->high[band], &n);
    l->count = n;
    l->ink = p->f.theme->line[which];
    l->opacity = band ? 0.38 : 0.22;
    l->name = d->g.count == 1 ? band_name(p, d->s, band) : NULL;
}

static void add_middle(struct drawing *d, struct panel *panel, uint32_t which) {
    struct plot *p = d->p;
    size_t n;
    struct layer *l = d->middle == UINT32_MAX ? NULL : panel_add(panel, LAYER_LINE);
    if (!l)
        return;
    l->x = pick(p, &d->c, d->group, which, 0, &n);
    l->y = pick(p, &d->c, d->group, which, d->middle, &n);
    l->count = n;
    l->kind = n == 1 || p->d->columns.items[p->x].words ? LAYER_POINTS : LAYER_LINE;
    l->ink = p->f.theme->line[d->g.count == 1 ? 1 : which];
    l->name = d->g.count > 1               ? group_name(p, &d->g, &d->c, 1, which)
              : d->s->middle == d->s->mean ? "mean"
                                           : "median";
}

// ---- A variable ---------------------------------------------------------------------------------

static uint32_t want(uint32_t *columns, uint32_t *count, uint32_t column) {
    if (column == UINT32_MAX)
        return UINT32_MAX;
    columns[*count] = column;
    return (*count)++;
}

// Where there is nothing else, the band is the deviation around the mean.
static void make_deviation(struct plot *p, struct drawing *d, uint32_t mean, uint32_t deviation) {
    double *low = arena_new(&p->arena, double, d->c.rows + 1);
    double *high = arena_new(&p->arena, double, d->c.rows + 1);
    for (size_t i = 0; i < d->c.rows; i++) {
        low[i] = d->c.column[mean][i] - d->c.column[deviation][i];
        high[i] = d->c.column[mean][i] + d->c.column[deviation][i];
    }
    d->low[0] = d->c.count;
    d->c.column[d->c.count++] = low;
    d->high[0] = d->c.count;
    d->c.column[d->c.count++] = high;
}

static shoal_code load_variable(struct plot *p, struct drawing *d) {
    uint32_t columns[INPUTS_MOST + 10] = {p->x}, count = 1;
    const struct statistics *s = d->s;
    for (uint32_t i = 0; i < d->g.inputs; i++)
        columns[count++] = d->g.input[i];
    d->middle = want(columns, &count, s->middle);
    for (int i = 0; i < 2; i++) {
        bool both = s->low[i] != UINT32_MAX && s->high[i] != UINT32_MAX;
        d->low[i] = want(columns, &count, both ? s->low[i] : UINT32_MAX);
        d->high[i] = want(columns, &count, both ? s->high[i] : UINT32_MAX);
    }
    uint32_t mean = want(columns, &count, s->mean), deviation = want(columns, &count, s->deviation);
    shoal_code code = load(p, p->table, columns, count, NULL, &d->c);
    if (code)
        return code;
    sort_rows(p, &d->c);
    if (d->low[0] == UINT32_MAX && mean != UINT32_MAX && deviation != UINT32_MAX)
        make_deviation(p, d, mean, deviation);
    uint32_t *group = arena_new(&p->arena, uint32_t, d->c.rows + 1);
    double last[LINES_MOST + 1];
    for (int i = 0; i <= LINES_MOST; i++)
        last[i] = NAN;
    for (size_t i = 0; i < d->c.rows; i++) {
        group[i] = group_of(&d->g, &d->c, 1, i);
        if (group[i] < LINES_MOST && d->c.column[0][i] == last[group[i]])
            return report_error(p->r, SHOAL_INPUT, "%s does not say which of its groups is which",
                                p->d->path);
        last[group[i]] = d->c.column[0][i];
    }
    d->group = group;
    return SHOAL_OK;
}

static shoal_code make_axes(struct plot *p, struct panel *panel, const struct drawing *d,
                            uint32_t variables) {
    struct range x = range_none(), y = range_none();
    const uint32_t shown[] = {d->middle, d->low[0], d->high[0]};
    const struct reader_words *words = p->d->columns.items[p->x].words;
    for (size_t row = 0; row < d->c.rows; row++) {
        if (d->group[row] == LINES_MOST)
            continue;
        range_add(&x, &d->c.column[0][row], 1, p->log_x);
        for (int i = 0; i < 3; i++)
            if (shown[i] != UINT32_MAX)
                range_add(&y, &d->c.column[shown[i]][row], 1, p->log_y);
    }
    shoal_code code = range_asked(p->o->x_range, &x, p->r);
    if (!code)
        code = range_asked(p->o->y_range, &y, p->r);
    if (words)
        axis_make_names(&panel->x, plot_name(p, p->x), words->word, words->count);
    else
        axis_make(&panel->x, plot_label(p, p->x), x.low, x.high, p->log_x, 8);
    (p->o->y_range ? axis_make : axis_make_round)(&panel->y, d->s->name, y.low, y.high, p->log_y,
                                                  variables > 2 ? 3 : 6);
    return code;
}

static shoal_code make_panel(struct plot *p, struct panel *panel, const struct statistics *s,
                             uint32_t variables) {
    struct drawing d = {.p = p, .s = s};
    find_inputs(p, &d.g);
    shoal_code code = load_variable(p, &d);
    if (!code)
        code = make_axes(p, panel, &d, variables);
    for (uint32_t i = 0; i < d.g.count && !code; i++) {
        add_band(&d, panel, i, 0);
        add_band(&d, panel, i, 1);
    }
    for (uint32_t i = 0; i < d.g.count && !code; i++)
        add_middle(&d, panel, i);
    if (!code && d.g.left_out && panel == p->f.panel)
        report_note(p->r, "the first %d groups are shown; --fix NAME=VALUE chooses others",
                    LINES_MOST);
    return code;
}

shoal_code make_reduced(struct plot *p) {
    struct statistics s[VARIABLES_MOST];
    uint32_t count = find_statistics(p, s);
    shoal_code code = SHOAL_OK;
    if (!count)
        return report_error(p->r, SHOAL_INPUT, "%s: no statistics are there to draw", p->d->path);
    struct panel *panel = plot_panels(p, count, 1);
    for (uint32_t i = 0; i < count && !code; i++)
        code = make_panel(p, &panel[i], &s[i], count);
    plot_titles(p, count == 1 ? s[0].name : "statistics over runs");
    return code;
}
