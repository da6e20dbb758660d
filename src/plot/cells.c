// SPDX-License-Identifier: MIT
// Grids of integers (shoal grid), a panel for each; cells of the first are square, rows go down.
// Few values have a colour each, which need not be in any order; many are shades.
#include "io/grids.h"
#include "plot/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLOURS = 10, SIDE_MOST = 8192 };

struct cells {
    struct shoal_grid_file *file;
    uint32_t panels;
    int32_t low, high;
    bool few; // 0 to 9
    colour colours[256];
};

static int32_t cell_of(const struct cells *c, uint64_t at) {
    return grids_cell(c->file->type, c->file->cells, at);
}

static const int32_t *shape_of(const struct cells *c, uint32_t i) {
    return c->file->shapes + 2 * (size_t)i;
}

static uint64_t area_of(const struct cells *c, uint32_t i) {
    const int32_t *shape = shape_of(c, i);
    return (uint64_t)shape[0] * (uint64_t)shape[1];
}

static void find_values(struct cells *c) {
    c->low = INT32_MAX;
    c->high = INT32_MIN;
    for (uint32_t i = 0; i < c->panels; i++)
        for (uint64_t k = 0; k < area_of(c, i); k++) {
            int32_t value = cell_of(c, c->file->offsets[i] + k);
            c->low = value < c->low ? value : c->low;
            c->high = value > c->high ? value : c->high;
        }
    c->few = c->low >= 0 && c->high < COLOURS;
}

// 0 is close to the paper.
static colour few_colour(const struct theme *t, int value, bool life) {
    static const colour more[] = {0x8c6a3f, 0x9aa4af};
    if (value == 0)
        return colour_mix(t->paper, t->soft, 0.15);
    if (value == 1 && life)
        return t->ink;
    return value <= THEME_LINES ? t->line[value - 1] : more[value - 1 - THEME_LINES];
}

// Places are spread, so that shades differ where there are no colours.
static uint8_t place_of(const struct cells *c, int32_t value) {
    double low = c->few ? 0 : c->low, span = (double)c->high - low;
    return (uint8_t)(1 + (int)(span > 0 ? ((double)value - low) / span * 254 + 0.5 : 0));
}

static void choose_colours(const struct plot *p, struct cells *c) {
    for (int i = 1; i < 256 && !c->few; i++)
        c->colours[i] = colour_at(p->map, (i - 1) / 254.0);
    for (int i = 0; i <= c->high && c->few; i++)
        c->colours[place_of(c, i)] = few_colour(p->f.theme, i, c->high <= 2);
}

static struct image *paint(struct plot *p, const struct cells *c, uint32_t i,
                           const int32_t *shape) {
    struct image *image = arena_new(&p->arena, struct image, 1);
    uint64_t area = area_of(c, i), first = c->file->offsets[i];
    uint8_t *place = arena_new(&p->arena, uint8_t, area + 1);
    colour *colours = arena_new(&p->arena, colour, 256);
    for (uint64_t k = 0; k < area; k++)
        place[k] = place_of(c, cell_of(c, first + k));
    memcpy(colours, c->colours, sizeof c->colours);
    *image = (struct image){(uint32_t)shape[1], (uint32_t)shape[0], place, colours, 0};
    return image;
}

// Whole numbers only; rows are counted from the top.
static void make_axis(struct axis *a, const char *label, int32_t length, uint32_t most, bool down) {
    uint32_t kept = 0;
    axis_make(a, label, 0, length, false, most);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->tick[i].at != round(a->tick[i].at))
            continue;
        a->tick[kept] = a->tick[i];
        a->tick[kept++].at = down ? a->high - a->tick[i].at : a->tick[i].at;
    }
    a->count = kept;
}

static shoal_code make_panel(struct plot *p, const struct cells *c, uint32_t i) {
    struct panel *panel = &p->f.panel[i];
    const int32_t *shape = shape_of(c, i);
    if (shape[0] > SIDE_MOST || shape[1] > SIDE_MOST)
        return report_error(p->r, SHOAL_INPUT, "a grid of %d x %d cannot be drawn", shape[0],
                            shape[1]);
    make_axis(&panel->x, "column", shape[1], c->panels > 1 ? 4 : 8, false);
    make_axis(&panel->y, "row", shape[0], c->panels > 1 ? 4 : 6, true);
    panel->title = c->panels > 1 ? arena_printf(&p->arena, "%u", i) : NULL;
    if (area_of(c, i))
        panel_add(panel, LAYER_IMAGE)->image = paint(p, c, i, shape);
    return SHOAL_OK;
}

// As high as cells of the first grid are wide.
static void make_square(struct plot *p, const struct cells *c) {
    struct box inside = figure_inside(&p->f, p->width, p->height);
    uint32_t rows = (p->f.panels + p->f.columns - 1) / p->f.columns;
    const int32_t *shape = c->file->shapes;
    double more = inside.w * shape[0] / fmax(shape[1], 1) - inside.h;
    if (!p->o->height && !p->text)
        p->height = fmin(fmax(p->height + more * rows, 100), 4000);
}

static shoal_code draw_cells(struct plot *p, struct cells *c, const char *path) {
    const char *slash = strrchr(path, '/');
    uint64_t count = c->file->count;
    shoal_code code = SHOAL_OK;
    c->panels = count < PANELS_MOST ? (uint32_t)count : PANELS_MOST;
    if (!c->panels)
        return report_error(p->r, SHOAL_INPUT, "%s has no grid", path);
    report_note(p->r, "plot: grid, %u of %llu", c->panels, (unsigned long long)count);
    find_values(c);
    choose_colours(p, c);
    plot_panels(p, c->panels, (uint32_t)ceil(sqrt(c->panels)));
    for (uint32_t i = 0; i < c->panels && !code; i++)
        code = make_panel(p, c, i);
    if (code)
        return code;
    if (!c->few) {
        axis_make(&p->f.bar, "value", c->low, c->high, false, 6);
        memcpy(p->f.bar_colours, c->colours, sizeof c->colours);
    }
    snprintf(p->f.title, sizeof p->f.title, "%s",
             p->o->title ? p->o->title
             : slash     ? slash + 1
                         : path);
    make_square(p, c);
    return SHOAL_OK;
}

shoal_code make_cells(struct plot *p, const char *path) {
    struct cells c = {0};
    shoal_code code = choose_map(p);
    if (!code)
        code = grids_read(path, NULL, &c.file, p->r);
    if (code)
        return code;
    jmp_buf oom, *before = p->arena.oom; // the file is not in the arena
    p->arena.oom = &oom;
    if (setjmp(oom))
        code = report_error(p->r, SHOAL_MEMORY, "%s: not enough memory", path);
    else
        code = draw_cells(p, &c, path);
    p->arena.oom = before;
    grids_free(c.file);
    return code;
}
