// SPDX-License-Identifier: MIT
// A value over a grid of two inputs, or of an input and time, as colours, with lines at the numbers
// beside the colours where the value is smooth. Runs that failed are hatched; a run that is fine
// and has no value, such as the period of what is at rest, stays empty.
#include "base/list.h"
#include "base/number.h"
#include "plot/contour.h"
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY = 255, LINES_ACROSS = 200, LEVELS_MOST = 16 }; // EMPTY: the place of no value

struct heat {
    const struct input *x, *z;
    uint32_t x_last, z_last; // places of the row before
    double *value;           // [z][x], NaN: nothing
    bool *failed;            // [z][x]
    bool status, any_failed; // status: it is known
};

// Where a value is among those that go up; a sweep mostly takes the next, or the same.
static uint32_t place_of(const struct input *in, double value, uint32_t last) {
    if (in->value[last] == value)
        return last;
    if (last + 1 < in->count && in->value[last + 1] == value)
        return last + 1;
    uint32_t low = 0, high = in->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (in->value[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void put_rows(void *user, const double *const *column, size_t rows) {
    struct heat *h = user;
    bool has_status = h->status;
    for (size_t i = 0; i < rows; i++) {
        h->x_last = place_of(h->x, column[0][i], h->x_last);
        h->z_last = place_of(h->z, column[1][i], h->z_last);
        size_t at = (size_t)h->z_last * h->x->count + h->x_last;
        h->value[at] = column[2][i];
        h->failed[at] = has_status && failed_status(column[3][i]);
        h->any_failed = h->any_failed || h->failed[at];
    }
}

// ---- Cells --------------------------------------------------------------------------------------

// Edges of the cells in places of the axis, [count + 1]: half way between values. Where `end` is a
// number, cells begin at their values, and the last ends there.
static double *make_edges(struct plot *p, const struct input *in, struct axis *a, const char *label,
                          bool log, uint32_t most, double end) {
    uint32_t n = in->count;
    double *place = arena_new(&p->arena, double, n + 1),
           *edge = arena_new(&p->arena, double, n + 1);
    for (uint32_t i = 0; i < n; i++)
        place[i] = log ? log10(in->value[i]) : in->value[i];
    for (uint32_t i = 1; i < n; i++)
        edge[i] = place[i - 1] / 2 + place[i] / 2;
    double half = n > 1 ? (place[1] - place[0]) / 2 : 0.5;
    edge[0] = place[0] - half;
    edge[n] = place[n - 1] + (n > 1 ? (place[n - 1] - place[n - 2]) / 2 : 0.5);
    if (end > place[n - 1] && !log) {
        memcpy(edge, place, n * sizeof *edge);
        edge[n] = end;
    }
    axis_make(a, label, log ? pow(10, edge[0]) : edge[0], log ? pow(10, edge[n]) : edge[n], log,
              most);
    double low = edge[0], width = edge[n] - edge[0];
    for (uint32_t i = 0; i <= n; i++)
        edge[i] = width > 0 ? (edge[i] - low) / width : i;
    return edge;
}

static bool is_even(const double *edge, uint32_t n) {
    for (uint32_t i = 0; i <= n; i++)
        if (fabs(edge[i] - (double)i / n) > 0.01 / n)
            return false;
    return true;
}

// The cells [first, last] that a pixel of `count` shows; of a grid with more cells than pixels
// several.
static void cells_of(const double *edge, uint32_t n, uint32_t pixel, uint32_t count,
                     uint32_t *first, uint32_t *last) {
    double from = (double)pixel / count, to = (pixel + 1.0) / count, middle = (from + to) / 2;
    uint32_t low = 0, high = n;
    while (high - low > 1) {
        uint32_t half = low + (high - low) / 2;
        if (edge[half] <= middle)
            low = half;
        else
            high = half;
    }
    *first = *last = low;
    while (*first > 0 && edge[*first] > from + 1e-9 && edge[*first] - edge[*first - 1] < to - from)
        --*first;
    while (*last + 1 < n && edge[*last + 1] < to - 1e-9 &&
           edge[*last + 2] - edge[*last + 1] < to - from)
        ++*last;
}

// ---- The picture --------------------------------------------------------------------------------

struct painter {
    const struct heat *h;
    const double *x_edge, *z_edge;
    const struct axis *bar;
    uint32_t width, height;
};

// The mean of some cells; NaN where more than half of them have no value. *failed: so many failed.
static double mean_of(const struct heat *h, const uint32_t x[2], const uint32_t z[2],
                      bool *failed) {
    double sum = 0;
    uint32_t count = 0, all = 0, bad = 0;
    for (uint32_t k = z[0]; k <= z[1]; k++)
        for (uint32_t i = x[0]; i <= x[1]; i++, all++) {
            size_t at = (size_t)k * h->x->count + i;
            bad += h->failed[at];
            if (h->failed[at] || !isfinite(h->value[at]))
                continue;
            sum += h->value[at];
            count++;
        }
    *failed = 2 * bad > all;
    return 2 * count >= all && count ? sum / count : (double)NAN;
}

static uint8_t shade(const struct axis *bar, double value) {
    double place = axis_place(bar, value);
    if (!isfinite(place))
        return EMPTY;
    place = place > 0 ? place < 1 ? place : 1 : 0;
    return (uint8_t)(1 + (int)(place * (EMPTY - 2) + 0.5));
}

static struct image *paint(struct plot *p, const struct painter *a, const colour *colours) {
    struct image *image = arena_new(&p->arena, struct image, 1);
    uint8_t *place = arena_new(&p->arena, uint8_t, (size_t)a->width * a->height);
    uint32_t *span = arena_new(&p->arena, uint32_t, 2 * (size_t)a->width);
    for (uint32_t i = 0; i < a->width; i++)
        cells_of(a->x_edge, a->h->x->count, i, a->width, &span[2 * i], &span[2 * i + 1]);
    for (uint32_t row = 0; row < a->height; row++) {
        uint32_t z[2];
        cells_of(a->z_edge, a->h->z->count, a->height - 1 - row, a->height, &z[0], &z[1]);
        for (uint32_t i = 0; i < a->width; i++) {
            bool failed;
            double value = mean_of(a->h, &span[2 * i], z, &failed);
            place[(size_t)row * a->width + i] = failed ? 0 : shade(a->bar, value);
        }
    }
    *image = (struct image){a->width, a->height, place, colours, EMPTY};
    return image;
}

static uint32_t pixels_for(const double *edge, uint32_t n, double most) {
    return is_even(edge, n) && n <= most ? n : (uint32_t)fmax(most, 1);
}

// One grid of values, of the runs that are not left out.
static shoal_code fill_grid(struct plot *p, struct heat *h) {
    size_t cells = (size_t)h->x->count * h->z->count;
    uint32_t columns[] = {p->x, p->z, p->y[0], p->status};
    for (size_t i = 0; i < cells; i++)
        h->value[i] = NAN;
    h->x_last = h->z_last = 0;
    return pass_over(p, p->table, columns, h->status ? 4 : 3, NULL, put_rows, h);
}

// A third input that was not fixed has few values: a panel for each of them.
static struct input *find_third(struct plot *p) {
    for (uint32_t i = 0; i < p->inputs; i++)
        if (isnan(p->input[i].fixed) && p->input[i].count > 1 && p->input[i].column != p->x &&
            p->input[i].column != p->z)
            return &p->input[i];
    return NULL;
}

static shoal_code fill_panels(struct plot *p, struct heat *h, struct input *third, uint32_t panels,
                              struct range *g) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < panels && !code; i++) {
        if (third) {
            third->fixed = third->value[i];
            p->f.panel[i].title = plot_says(p, third->column, third->fixed);
        }
        code = fill_grid(p, &h[i]);
        range_add(g, h[i].value, (size_t)h[i].x->count * h[i].z->count, p->log_z);
    }
    if (third)
        third->fixed = NAN;
    return code;
}

// Axes of all panels, and the edges of their cells.
static void set_axes(struct plot *p, const struct heat *h, uint32_t panels, double end,
                     struct painter *a) {
    for (uint32_t i = 0; i < panels; i++) {
        struct panel *panel = &p->f.panel[i];
        a->x_edge = make_edges(p, h->x, &panel->x, plot_label(p, p->x),
                               p->log_x && h->x->value[0] > 0, panels > 1 ? 4 : 8, end);
        a->z_edge = make_edges(p, h->z, &panel->y, plot_name(p, p->z),
                               p->log_y && h->z->value[0] > 0, panels > 1 ? 4 : 6, NAN);
    }
}

// Where the last window ends, if these are windows.
static shoal_code find_end(struct plot *p, double *end) {
    uint32_t column =
        strcmp(plot_name(p, p->x), "t_begin") ? UINT32_MAX : reader_find(p->d, "t_end");
    struct input ends = {0};
    shoal_code code = SHOAL_OK;
    *end = NAN;
    if (column != UINT32_MAX && p->table)
        code = look_at_column(p, p->table, column, &ends);
    if (!code && ends.value)
        *end = ends.value[ends.count - 1];
    return code;
}

// ---- Lines of equal value -----------------------------------------------------------------------

// Coordinates of a grid of at most LINES_ACROSS cells, each the middle of `step` cells. Those that
// begin at their values (see make_edges) end where the next begins.
static double *middles(struct plot *p, const struct input *in, bool log, uint32_t step,
                       uint32_t count, double end) {
    double *out = arena_new(&p->arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = (i + 1) * step < in->count ? (i + 1) * step : in->count;
        double a = in->value[i * step], b = in->value[next - 1];
        if (end > in->value[in->count - 1])
            b = next < in->count ? in->value[next] : end;
        out[i] = log ? log10(a) / 2 + log10(b) / 2 : a / 2 + b / 2;
    }
    return out;
}

static uint32_t step_of(uint32_t count) { return (count + LINES_ACROSS - 1) / LINES_ACROSS; }

static struct contour_grid make_grid(struct plot *p, const struct heat *h, bool log_x, bool log_z,
                                     double end) {
    uint32_t sx = step_of(h->x->count), sz = step_of(h->z->count);
    uint32_t w = (h->x->count + sx - 1) / sx, n = (h->z->count + sz - 1) / sz;
    double *value = arena_new(&p->arena, double, (size_t)w *n);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < w; i++) {
            uint32_t x[] = {i * sx,
                            (i + 1) * sx < h->x->count ? (i + 1) * sx - 1 : h->x->count - 1};
            uint32_t z[] = {k * sz,
                            (k + 1) * sz < h->z->count ? (k + 1) * sz - 1 : h->z->count - 1};
            bool failed;
            double mean = mean_of(h, x, z, &failed);
            value[(size_t)k * w + i] = failed ? (double)NAN : mean;
        }
    return (struct contour_grid){w, n, value, middles(p, h->x, log_x, sx, w, end),
                                 middles(p, h->z, log_z, sz, n, NAN)};
}

static shoal_code read_levels(struct plot *p, double *level, uint32_t *count, bool *asked) {
    const char *text = p->o->levels;
    char item[64];
    *count = 0;
    *asked = text && strcmp(text, "auto") && strcmp(text, "none");
    for (const char *at = *asked ? text : ""; *at;) {
        if (*count == LEVELS_MOST || !list_item(&at, item, sizeof item) ||
            !number_finite(item, &level[*count]))
            return report_error(p->r, SHOAL_INPUT,
                                "--levels: '%s'; it is auto, none, or at most %d numbers", text,
                                LEVELS_MOST);
        ++*count;
    }
    if (*asked || (text && !strcmp(text, "none")))
        return SHOAL_OK;
    for (uint32_t i = 0; i < p->f.bar.count && *count < LEVELS_MOST; i++)
        if (p->f.bar.tick[i].text[0])
            level[(*count)++] = p->f.bar.tick[i].at;
    return SHOAL_OK;
}

static void add_contour(struct plot *p, struct panel *panel, struct contour *c, double level,
                        bool log_x, bool log_z) {
    struct layer *l = c->x.count ? panel_add(panel, LAYER_LINE) : NULL;
    for (uint32_t i = 0; i < c->x.count; i++) {
        c->x.items[i] = log_x ? pow(10, c->x.items[i]) : c->x.items[i];
        c->y.items[i] = log_z ? pow(10, c->y.items[i]) : c->y.items[i];
    }
    if (!l)
        return;
    l->ink = axis_place(&p->f.bar, level) < 0.6 ? 0xffffff : 0x000000; // what it lies on is dark
    l->opacity = 0.6;
    l->width = 0.8;
    l->x = c->x.items;
    l->y = c->y.items;
    l->count = c->x.count;
}

// A line that is about as long as the grid is wide says something; one that is everywhere does not.
static shoal_code add_contours(struct plot *p, struct panel *panel, const struct heat *h,
                               double end) {
    bool log_x = panel->x.log, log_z = panel->y.log, asked;
    double level[LEVELS_MOST];
    struct contour c[LEVELS_MOST] = {0};
    uint32_t count;
    uint64_t crossings = 0;
    shoal_code code = read_levels(p, level, &count, &asked);
    if (code || p->text || !count || h->x->count < 4 || h->z->count < 4)
        return code;
    struct contour_grid g = make_grid(p, h, log_x, log_z, end);
    for (uint32_t i = 0; i < count; i++)
        crossings += contour_trace(&p->arena, &g, level[i], &c[i]);
    if (!asked && crossings > 2 * (uint64_t)(g.width + g.height) * count)
        return SHOAL_OK;
    for (uint32_t i = 0; i < count; i++)
        add_contour(p, panel, &c[i], level[i], log_x, log_z);
    return SHOAL_OK;
}

static struct heat *new_heats(struct plot *p, const struct input *x, const struct input *z,
                              uint32_t panels) {
    struct heat *h = arena_new(&p->arena, struct heat, panels);
    size_t cells = (size_t)x->count * z->count;
    for (uint32_t i = 0; i < panels; i++)
        h[i] = (struct heat){.x = x,
                             .z = z,
                             .value = arena_new(&p->arena, double, cells),
                             .failed = arena_new(&p->arena, bool, cells),
                             .status = p->status != UINT32_MAX};
    return h;
}

// Those of the bar, and one for no value.
static const colour *make_colours(struct plot *p) {
    colour *colours = arena_new(&p->arena, colour, 256);
    for (int i = 1; i < EMPTY; i++)
        colours[i] = colour_at(p->map, (i - 1) / (EMPTY - 2.0));
    colours[EMPTY] = p->f.theme->paper;
    return colours;
}

static shoal_code fill_panel(struct plot *p, struct panel *panel, const struct painter *a,
                             const colour *colours, double end) {
    panel->hatched = a->h->any_failed;
    panel_add(panel, LAYER_IMAGE)->image = paint(p, a, colours);
    shoal_code code = add_contours(p, panel, a->h, end);
    struct layer *word = a->h->any_failed ? panel_add(panel, LAYER_HATCH) : NULL;
    if (word) { // what hatching means
        word->name = "failed";
        word->ink = p->f.theme->soft;
    }
    return code;
}

shoal_code make_heat(struct plot *p) {
    struct input *third = find_third(p);
    uint32_t panels = third ? third->count : 1;
    const struct input *x = plot_input(p, p->x), *z = plot_input(p, p->z);
    struct range g = range_none();
    struct painter a = {.bar = &p->f.bar};
    double end;
    if (!x || !z || (uint64_t)x->count * z->count * panels > CELLS_MOST)
        return report_error(p->r, SHOAL_INPUT,
                            "%s: a heat map is over two inputs with at most %d values in all; "
                            "`density` takes any number",
                            p->d->path, CELLS_MOST);
    struct heat *h = new_heats(p, x, z, panels);
    plot_panels(p, panels, (uint32_t)ceil(sqrt(panels)));
    shoal_code code = fill_panels(p, h, third, panels, &g);
    if (!code)
        code = find_end(p, &end);
    if (code)
        return code;
    set_axes(p, h, panels, end, &a);
    axis_make(&p->f.bar, plot_name(p, p->y[0]), g.low, g.high, p->log_z, 6);
    plot_palette(p, false, p->f.bar_colours);
    plot_titles(p, plot_name(p, p->y[0]));
    struct box inside = plot_pixels(p);
    a.width = pixels_for(a.x_edge, x->count, inside.w);
    a.height = pixels_for(a.z_edge, z->count, inside.h);
    const colour *colours = make_colours(p);
    for (uint32_t i = 0; i < panels && !code; i++) {
        a.h = &h[i];
        code = fill_panel(p, &p->f.panel[i], &a, colours, end);
    }
    return code;
}
