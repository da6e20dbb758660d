// SPDX-License-Identifier: MIT
// How many points there are at each place: two passes over the file, one for the intervals and one
// that counts, and memory for the pixels alone.
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double brightest = 0.995; // of the pixels that have points are darker than the last

struct density {
    struct plot *p;
    struct range x, y;
    struct axis x_axis, y_axis;
    uint32_t width, height;
    uint32_t *count; // [height][width], rows go down
    uint64_t points, inside;
};

static void find_ranges(void *user, const double *const *column, size_t rows) {
    struct density *d = user;
    range_add(&d->x, column[0], rows, d->p->log_x);
    range_add(&d->y, column[1], rows, d->p->log_y);
}

static void count_one(struct density *d, double x, double y) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1))
        return;
    uint32_t column = (uint32_t)(x * d->width), row = (uint32_t)((1 - y) * d->height);
    column = column < d->width ? column : d->width - 1;
    row = row < d->height ? row : d->height - 1;
    uint32_t *count = &d->count[(size_t)row * d->width + column];
    *count += *count < UINT32_MAX;
    d->inside++;
}

static void count_rows(void *user, const double *const *column, size_t rows) {
    struct density *d = user;
    const double *x = column[0], *y = column[1];
    d->points += rows;
    double xs = 1 / (d->x_axis.high - d->x_axis.low), ys = 1 / (d->y_axis.high - d->y_axis.low);
    if (d->x_axis.log || d->y_axis.log || xs == 0 || ys == 0) {
        for (size_t i = 0; i < rows; i++)
            count_one(d, axis_place(&d->x_axis, x[i]), axis_place(&d->y_axis, y[i]));
        return;
    }
    double x0 = d->x_axis.low, y0 = d->y_axis.low;
    for (size_t i = 0; i < rows; i++)
        count_one(d, (x[i] - x0) * xs, (y[i] - y0) * ys);
}

// ---- Colours ------------------------------------------------------------------------------------

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// The counts that are not 0, going up; how many there are.
static size_t sort_counts(struct density *d, uint32_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < (size_t)d->width * d->height; i++)
        if (d->count[i])
            out[n++] = d->count[i];
    qsort(out, n, sizeof *out, compare);
    return n;
}

// The share of pixels with points that have fewer.
static double rank_of(const uint32_t *sorted, size_t n, uint32_t count) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < count)
            low = middle + 1;
        else
            high = middle;
    }
    return n ? (double)low / (double)n : 0;
}

static struct image *paint(struct density *d) {
    struct plot *p = d->p;
    size_t pixels = (size_t)d->width * d->height;
    uint32_t *sorted = arena_new(&p->arena, uint32_t, pixels);
    uint8_t *place = arena_new(&p->arena, uint8_t, pixels);
    struct image *image = arena_new(&p->arena, struct image, 1);
    size_t n = sort_counts(d, sorted);
    double top = n ? sorted[(size_t)((double)(n - 1) * brightest)] : 1;
    bool by_rank = p->o->shade == SHOAL_SHADE_EQUAL;
    axis_make(&p->f.bar, by_rank ? NULL : "points at a pixel", p->o->shade == SHOAL_SHADE_LOG, top,
              p->o->shade == SHOAL_SHADE_LOG, 6);
    for (size_t i = 0; i < pixels; i++) {
        if (!d->count[i])
            continue;
        double share =
            by_rank ? rank_of(sorted, n, d->count[i]) : axis_place(&p->f.bar, d->count[i]);
        share = share > 0 ? share < 1 ? share : 1 : 0;
        place[i] = (uint8_t)(1 + (int)(share * 254 + 0.5));
    }
    *image = (struct image){d->width, d->height, place, p->f.bar_colours, 0};
    return image;
}

static shoal_code find_axes(struct density *d, struct panel *panel) {
    struct plot *p = d->p;
    uint32_t columns[] = {p->x, p->y[0]};
    shoal_code code = SHOAL_OK;
    if (!p->o->x_range || !p->o->y_range)
        code = pass_over(p, p->table, columns, 2, NULL, find_ranges, d);
    if (!code)
        code = range_asked(p->o->x_range, &d->x, p->r);
    if (!code)
        code = range_asked(p->o->y_range, &d->y, p->r);
    axis_make(&panel->x, plot_label(p, p->x), d->x.low, d->x.high, p->log_x, 8);
    axis_make(&panel->y, plot_name(p, p->y[0]), d->y.low, d->y.high, p->log_y, 6);
    d->x_axis = panel->x;
    d->y_axis = panel->y;
    return code;
}

shoal_code make_density(struct plot *p) {
    struct density d = {.p = p, .x = range_none(), .y = range_none()};
    uint32_t columns[] = {p->x, p->y[0]};
    struct panel *panel = plot_panels(p, 1, 1);
    shoal_code code = find_axes(&d, panel);
    if (code)
        return code;
    plot_palette(p, true, p->f.bar_colours);
    plot_titles(p, plot_name(p, p->y[0]));
    if (p->o->shade != SHOAL_SHADE_EQUAL) { // its numbers are not known yet, but take room
        p->f.bar.label = "points at a pixel";
        p->f.bar_room = "10000";
    }
    struct box inside = plot_pixels(p);
    d.width = (uint32_t)fmax(inside.w, 1);
    d.height = (uint32_t)fmax(inside.h, 1);
    d.count = arena_new(&p->arena, uint32_t, (size_t)d.width * d.height);
    code = pass_over(p, p->table, columns, 2, NULL, count_rows, &d);
    if (code)
        return code;
    struct layer *l = panel_add(panel, LAYER_IMAGE);
    l->image = paint(&d);
    if (d.inside < d.points)
        report_note(p->r, "%llu of %llu points are shown: the others are not finite, or outside",
                    (unsigned long long)d.inside, (unsigned long long)d.points);
    return SHOAL_OK;
}
