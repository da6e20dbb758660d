// SPDX-License-Identifier: MIT
// A value over a grid of two inputs, as colours. What failed stays open, and hatching shows.
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct heat {
    const struct input *x, *z;
    uint32_t x_last, z_last; // places of the row before
    double *value;           // [z][x], NaN: nothing
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
    for (size_t i = 0; i < rows; i++) {
        h->x_last = place_of(h->x, column[0][i], h->x_last);
        h->z_last = place_of(h->z, column[1][i], h->z_last);
        h->value[(size_t)h->z_last * h->x->count + h->x_last] = column[2][i];
    }
}

// ---- Cells --------------------------------------------------------------------------------------

// Edges of the cells in places of the axis, [count + 1]: half way between values.
static double *make_edges(struct plot *p, const struct input *in, struct axis *a, const char *label,
                          bool log, uint32_t most) {
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

static double mean_of(const struct heat *h, const uint32_t x[2], const uint32_t z[2]) {
    double sum = 0;
    uint32_t count = 0, all = 0;
    for (uint32_t k = z[0]; k <= z[1]; k++)
        for (uint32_t i = x[0]; i <= x[1]; i++, all++) {
            double value = h->value[(size_t)k * h->x->count + i];
            if (!isfinite(value))
                continue;
            sum += value;
            count++;
        }
    return 2 * count >= all && count ? sum / count : (double)NAN;
}

static uint8_t shade(const struct axis *bar, double value) {
    double place = axis_place(bar, value);
    if (!isfinite(place))
        return 0;
    place = place > 0 ? place < 1 ? place : 1 : 0;
    return (uint8_t)(1 + (int)(place * 254 + 0.5));
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
        for (uint32_t i = 0; i < a->width; i++)
            place[(size_t)row * a->width + i] = shade(a->bar, mean_of(a->h, &span[2 * i], z));
    }
    *image = (struct image){a->width, a->height, place, colours};
    return image;
}

static uint32_t pixels_for(const double *edge, uint32_t n, double most) {
    return is_even(edge, n) && n <= most ? n : (uint32_t)fmax(most, 1);
}

static bool has_holes(const struct heat *h) {
    for (size_t i = 0; i < (size_t)h->x->count * h->z->count; i++)
        if (!isfinite(h->value[i]))
            return true;
    return false;
}

// One grid of values, of the runs that are not left out.
static shoal_code fill_grid(struct plot *p, struct heat *h) {
    size_t cells = (size_t)h->x->count * h->z->count;
    uint32_t columns[] = {p->x, p->z, p->y[0]};
    for (size_t i = 0; i < cells; i++)
        h->value[i] = NAN;
    h->x_last = h->z_last = 0;
    return pass_over(p, p->table, columns, 3, NULL, put_rows, h);
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
static void set_axes(struct plot *p, const struct heat *h, uint32_t panels, struct painter *a) {
    for (uint32_t i = 0; i < panels; i++) {
        struct panel *panel = &p->f.panel[i];
        a->x_edge = make_edges(p, h->x, &panel->x, plot_name(p, p->x),
                               p->log_x && h->x->value[0] > 0, panels > 1 ? 4 : 8);
        a->z_edge = make_edges(p, h->z, &panel->y, plot_name(p, p->z),
                               p->log_y && h->z->value[0] > 0, panels > 1 ? 4 : 6);
    }
}

shoal_code make_heat(struct plot *p) {
    struct input *third = find_third(p);
    uint32_t panels = third ? third->count : 1;
    const struct input *x = plot_input(p, p->x), *z = plot_input(p, p->z);
    if (!x || !z || (uint64_t)x->count * z->count * panels > CELLS_MOST)
        return report_error(p->r, SHOAL_INPUT,
                            "%s: a heat map is over two inputs with at most %d values in all; "
                            "`density` takes any number",
                            p->d->path, CELLS_MOST);
    struct heat *h = arena_new(&p->arena, struct heat, panels);
    struct range g = range_none();
    struct painter a = {.bar = &p->f.bar};
    for (uint32_t i = 0; i < panels; i++) {
        double *value = arena_new(&p->arena, double, (size_t)x->count * z->count);
        h[i] = (struct heat){.x = x, .z = z, .value = value};
    }
    plot_panels(p, panels, (uint32_t)ceil(sqrt(panels)));
    shoal_code code = fill_panels(p, h, third, panels, &g);
    if (code)
        return code;
    set_axes(p, h, panels, &a);
    axis_make(&p->f.bar, plot_name(p, p->y[0]), g.low, g.high, p->log_z, 6);
    plot_palette(p, READER_RUNS, p->f.bar_colours);
    plot_titles(p, plot_name(p, p->y[0]));
    struct box inside = plot_pixels(p);
    a.width = pixels_for(a.x_edge, x->count, inside.w);
    a.height = pixels_for(a.z_edge, z->count, inside.h);
    for (uint32_t i = 0; i < panels; i++) {
        a.h = &h[i];
        p->f.panel[i].hatched = has_holes(&h[i]);
        panel_add(&p->f.panel[i], LAYER_IMAGE)->image = paint(p, &a, p->f.bar_colours);
    }
    return SHOAL_OK;
}
