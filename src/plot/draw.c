// SPDX-License-Identifier: MIT
// Lays a figure out for a pen: title, panels with axes and data, legend, bar of colours.
#include "plot/figure.h"
#include "plot/font.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double text_size = 12, title_size = 16, small_size = 11.5;
static const double tick_length = 4, gap = 6, margin = 14;

struct layer *panel_add(struct panel *p, enum layer_kind kind) {
    if (p->layers == LAYERS_MOST)
        return NULL;
    struct layer *l = &p->layer[p->layers++];
    *l = (struct layer){.kind = kind, .opacity = 1};
    return l;
}

// ---- Layout -------------------------------------------------------------------------------------

struct layout {
    struct box all;           // where panels are, with what stands around each
    double left, bottom, top; // around a panel
    double bar;               // room for the bar of colours
};

static double widest(const struct axis *a) {
    double width = 0;
    for (uint32_t i = 0; i < a->count; i++)
        width = fmax(width, font_width(a->tick[i].text, small_size));
    return width;
}

static double bar_text(const struct figure *f) {
    return f->bar_room ? font_width(f->bar_room, small_size) : widest(&f->bar);
}

static bool has_legend(const struct figure *f) {
    for (uint32_t i = 0; i < f->panels; i++)
        for (uint32_t k = 0; k < f->panel[i].layers; k++)
            if (f->panel[i].layer[k].name)
                return true;
    return false;
}

static struct layout lay_out(const struct figure *f, double width, double height) {
    struct layout l = {.all = {0, 0, width, height}};
    if (f->bare)
        return l;
    double top = margin;
    top += f->title[0] ? title_size + gap : 0;
    top += f->subtitle[0] ? small_size + gap : 0;
    top += has_legend(f) ? small_size + gap + 4 : 0;
    for (uint32_t i = 0; i < f->panels; i++) {
        l.left = fmax(l.left, widest(&f->panel[i].y));
        l.top = f->panel[i].title ? fmax(l.top, text_size + gap) : l.top;
    }
    l.left += tick_length + gap + text_size + gap;
    l.bottom = tick_length + gap + small_size + gap + text_size + 2;
    if (f->bar.label)
        l.bar = 3 * gap + 14 + tick_length + bar_text(f) + gap + text_size + gap;
    l.all = (struct box){margin, top, width - 2 * margin - l.bar, height - top - margin + 4};
    return l;
}

// Panels below each other share the axis at the bottom.
static bool shows_x(const struct figure *f, uint32_t i) {
    return i + (f->columns ? f->columns : 1) >= f->panels;
}

static double weight_of(const struct panel *p) { return p->weight > 0 ? p->weight : 1; }

// The axes of panel i.
static struct box panel_box(const struct figure *f, const struct layout *l, uint32_t i) {
    uint32_t columns = f->columns ? f->columns : 1, rows = (f->panels + columns - 1) / columns;
    double air = f->bare ? 0 : gap, above = l->top + air + (rows > 1 ? air : 0);
    double w = l->all.w / columns, h = (l->all.h - l->bottom) / (rows ? rows : 1);
    double top = h * (uint32_t)(i / columns);
    if (columns == 1) { // what is left beside titles goes by weight
        double before = 0, sum = 0, free = fmax(l->all.h - l->bottom - above * rows, 1);
        for (uint32_t k = 0; k < f->panels; k++) {
            before += k < i ? weight_of(&f->panel[k]) : 0;
            sum += weight_of(&f->panel[k]);
        }
        top = above * i + free * before / sum;
        h = above + free * weight_of(&f->panel[i]) / sum;
    }
    struct box b = {l->all.x + w * (i % columns) + l->left, l->all.y + top + above,
                    w - l->left - 2 * air, h - above};
    b.x = round(b.x); // where pixels begin, so that lines are sharp
    b.y = round(b.y);
    b.w = fmax(round(b.w), 8);
    b.h = fmax(round(b.h), 8);
    return b;
}

struct box figure_inside(const struct figure *f, double width, double height) {
    struct layout l = lay_out(f, width, height);
    return panel_box(f, &l, 0);
}

// ---- Data ---------------------------------------------------------------------------------------

struct view {
    const struct panel *panel;
    struct box at;
    struct pen *pen;
};

static bool to_place(const struct view *v, double x, double y, double *xy) {
    double px = axis_place(&v->panel->x, x), py = axis_place(&v->panel->y, y);
    if (!isfinite(px) || !isfinite(py))
        return false;
    px = fmin(fmax(px, -8), 9); // far outside is as good as farther
    py = fmin(fmax(py, -8), 9);
    xy[0] = v->at.x + px * v->at.w;
    xy[1] = v->at.y + (1 - py) * v->at.h;
    return true;
}

// Of many points in one column of pixels the first, the outer two and the last say it all.
struct thinner {
    double *xy;
    size_t count;
    size_t column_at; // where those of the last column begin
    double column;
};

static void thin_add(struct thinner *t, const double *xy) {
    double column = floor(xy[0] * 2);
    size_t held = t->count - t->column_at;
    double *last = t->xy + 2 * t->count;
    if (t->count && column == t->column && held == 4) {
        double *c = t->xy + 2 * t->column_at; // first, one end, the other end, last
        double low = fmin(c[3], c[5]), high = fmax(c[3], c[5]);
        if (c[7] < low || c[7] > high) {
            bool is_low = (c[7] < low) == (c[3] <= c[5]);
            memcpy(c + (is_low ? 2 : 4), c + 6, 2 * sizeof *c);
        }
        memcpy(c + 6, xy, 2 * sizeof *xy);
        return;
    }
    if (!t->count || column != t->column) {
        t->column = column;
        t->column_at = t->count;
    }
    memcpy(last, xy, 2 * sizeof *xy);
    t->count++;
}

static bool goes_right(const struct layer *l) {
    for (size_t i = 1; i < l->count; i++)
        if (!(l->x[i] >= l->x[i - 1]))
            return false;
    return true;
}

static void draw_line(const struct view *v, const struct layer *l) {
    struct thinner t = {.xy = malloc((l->count + 1) * 2 * sizeof(double))};
    bool thin = l->count > 2000 && goes_right(l);
    double width = l->width > 0 ? l->width : l->count > 20000 && !thin ? 0.6 : 1.5;
    for (size_t i = 0; i <= l->count && t.xy; i++) {
        double xy[2];
        bool there = i < l->count && to_place(v, l->x[i], l->y[i], xy);
        if (there && thin)
            thin_add(&t, xy);
        else if (there && (!t.count || hypot(xy[0] - t.xy[2 * t.count - 2],
                                             xy[1] - t.xy[2 * t.count - 1]) > 0.2))
            memcpy(t.xy + 2 * t.count++, xy, sizeof xy);
        if (!there && t.count) {
            v->pen->line(v->pen, t.xy, t.count, l->ink, width, l->opacity);
            t.count = t.column_at = 0;
        }
    }
    free(t.xy);
}

static void draw_points(const struct view *v, const struct layer *l) {
    double *xy = malloc((l->count + 1) * 2 * sizeof *xy);
    size_t n = 0;
    for (size_t i = 0; i < l->count && xy; i++)
        n += to_place(v, l->x[i], l->y[i], xy + 2 * n);
    double radius = l->count > 3000 ? 0.9 : l->count > 300 ? 1.6 : 2.6;
    if (n)
        v->pen->dots(v->pen, xy, n, l->ink, radius, l->opacity);
    free(xy);
}

static void draw_band(const struct view *v, const struct layer *l) {
    double *xy = malloc((l->count + 1) * 4 * sizeof *xy);
    size_t from = 0;
    for (size_t i = 0; i <= l->count && xy; i++) {
        double low[2], high[2];
        if (i < l->count && to_place(v, l->x[i], l->y[i], low) &&
            to_place(v, l->x[i], l->y2[i], high))
            continue;
        size_t n = 0;
        for (size_t k = from; k < i; k++)
            n += to_place(v, l->x[k], l->y[k], xy + 2 * n);
        for (size_t k = i; k-- > from;)
            n += to_place(v, l->x[k], l->y2[k], xy + 2 * n);
        if (n > 2)
            v->pen->area(v->pen, xy, n, l->ink, l->opacity);
        from = i + 1;
    }
    free(xy);
}

static void draw_bars(const struct view *v, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double a[2], b[2];
        if (!(l->y[i] > 0) || !to_place(v, l->x[i], l->y[i], a) ||
            !to_place(v, l->x2[i], l->y[i], b))
            continue;
        double bottom = v->at.y + v->at.h;
        double air = b[0] - a[0] > 4 ? 0.5 : 0;
        double xy[8] = {a[0] + air, bottom, a[0] + air, a[1], b[0] - air, b[1], b[0] - air, bottom};
        v->pen->area(v->pen, xy, 4, l->ink, l->opacity);
    }
}

static void draw_boxes(const struct figure *f, const struct view *v, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double a[2], b[2];
        if (!to_place(v, l->x[i], l->y[i], a) || !to_place(v, l->x2[i], l->y[i] + 1, b))
            continue;
        if (b[0] - a[0] < 0.5)
            b[0] = a[0] + 0.5;
        double xy[8] = {a[0], a[1], b[0], a[1], b[0], b[1] + 1, a[0], b[1] + 1};
        v->pen->area(v->pen, xy, 4, l->inks[i], 0.55);
        if (font_width(l->labels[i], small_size) < b[0] - a[0] - 6 && a[1] - b[1] > small_size)
            v->pen->text(v->pen, a[0] + 3, (a[1] + b[1]) / 2 + small_size * 0.4, l->labels[i],
                         small_size, -1, false, f->theme->ink, false);
    }
}

static void draw_hatch(const struct view *v, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double a = axis_place(&v->panel->x, l->x[i]), b = axis_place(&v->panel->x, l->x2[i]);
        if (!isfinite(a) || !isfinite(b))
            continue;
        a = fmin(fmax(a, 0), 1) * v->at.w;
        b = fmin(fmax(b, 0), 1) * v->at.w;
        double wide = fmax(b - a, 3);
        v->pen->hatch(v->pen, (struct box){v->at.x + (a + b - wide) / 2, v->at.y, wide, v->at.h},
                      l->ink);
    }
}

static void draw_layer(const struct figure *f, const struct view *v, const struct layer *l) {
    static void (*const draw[])(const struct view *v, const struct layer *l) = {
        [LAYER_LINE] = draw_line, [LAYER_POINTS] = draw_points, [LAYER_BAND] = draw_band,
        [LAYER_BARS] = draw_bars, [LAYER_HATCH] = draw_hatch,
    };
    if (l->kind == LAYER_IMAGE)
        v->pen->image(v->pen, v->at, l->image);
    else if (l->kind == LAYER_BOXES)
        draw_boxes(f, v, l);
    else
        draw[l->kind](v, l);
}

// ---- Axes ---------------------------------------------------------------------------------------

static void draw_grid(const struct figure *f, const struct view *v) {
    const struct box *b = &v->at;
    for (uint32_t i = 0; i < v->panel->x.count; i++) {
        double x = round(b->x + axis_place(&v->panel->x, v->panel->x.tick[i].at) * b->w) + 0.5;
        v->pen->line(v->pen, (double[]){x, b->y, x, b->y + b->h}, 2, f->theme->grid, 1, 1);
    }
    for (uint32_t i = 0; i < v->panel->y.count; i++) {
        double y =
            round(b->y + (1 - axis_place(&v->panel->y, v->panel->y.tick[i].at)) * b->h) + 0.5;
        v->pen->line(v->pen, (double[]){b->x, y, b->x + b->w, y}, 2, f->theme->grid, 1, 1);
    }
}

static void draw_ticks_x(const struct figure *f, const struct view *v, bool text) {
    const struct axis *a = &v->panel->x;
    double bottom = v->at.y + v->at.h + 0.5, end = -1e9;
    for (uint32_t i = 0; i < a->count; i++) {
        double x = round(v->at.x + axis_place(a, a->tick[i].at) * v->at.w) + 0.5;
        double half = font_width(a->tick[i].text, small_size) / 2;
        v->pen->line(v->pen, (double[]){x, bottom, x, bottom + tick_length}, 2, f->theme->soft, 1,
                     1);
        if (!text || x - half < end + 4)
            continue; // it would touch the one before
        v->pen->text(v->pen, x, bottom + tick_length + small_size, a->tick[i].text, small_size, 0,
                     false, f->theme->soft, false);
        end = x + half;
    }
    if (text)
        v->pen->text(v->pen, v->at.x + v->at.w / 2,
                     bottom + tick_length + small_size + gap + text_size, a->label, text_size, 0,
                     false, f->theme->ink, false);
}

static void draw_ticks_y(const struct figure *f, const struct view *v) {
    const struct axis *a = &v->panel->y;
    double left = v->at.x - 0.5;
    for (uint32_t i = 0; i < a->count; i++) {
        double y = round(v->at.y + (1 - axis_place(a, a->tick[i].at)) * v->at.h) + 0.5;
        v->pen->line(v->pen, (double[]){left - tick_length, y, left, y}, 2, f->theme->soft, 1, 1);
        v->pen->text(v->pen, left - tick_length - gap / 2, y + small_size * 0.36, a->tick[i].text,
                     small_size, 1, false, f->theme->soft, false);
    }
    v->pen->text(v->pen, left - tick_length - gap - widest(a) - gap / 2, v->at.y + v->at.h / 2,
                 a->label, text_size, 0, true, f->theme->ink, false);
}

static void draw_frame(const struct figure *f, const struct view *v) {
    const struct box *b = &v->at;
    double l = b->x - 0.5, r = b->x + b->w + 0.5, t = b->y - 0.5, o = b->y + b->h + 0.5;
    v->pen->line(v->pen, (double[]){l, t, r, t, r, o, l, o, l, t}, 5, f->theme->soft, 1, 1);
}

static void draw_panel(const struct figure *f, const struct view *v, bool last) {
    bool picture = v->panel->layers && v->panel->layer[0].kind == LAYER_IMAGE;
    if (!f->bare && !picture)
        draw_grid(f, v);
    v->pen->clip(v->pen, &v->at);
    if (v->panel->hatched)
        v->pen->hatch(v->pen, v->at, f->theme->soft);
    for (uint32_t i = 0; i < v->panel->layers; i++)
        draw_layer(f, v, &v->panel->layer[i]);
    v->pen->clip(v->pen, NULL);
    if (f->bare)
        return;
    draw_frame(f, v);
    draw_ticks_x(f, v, last);
    draw_ticks_y(f, v);
    if (v->panel->title)
        v->pen->text(v->pen, v->at.x, v->at.y - gap, v->panel->title, text_size, -1, false,
                     f->theme->ink, true);
}

static void draw_bar(const struct figure *f, const struct layout *l, struct pen *pen) {
    struct box top = panel_box(f, l, 0), end = panel_box(f, l, f->panels - 1);
    struct box at = {l->all.x + l->all.w + gap, top.y, 14, end.y + end.h - top.y};
    uint8_t place[255];
    for (int i = 0; i < 255; i++)
        place[i] = (uint8_t)(255 - i);
    pen->image(pen, at, &(struct image){1, 255, place, f->bar_colours, 0});
    pen->line(pen,
              (double[]){at.x - 0.5, at.y - 0.5, at.x + at.w + 0.5, at.y - 0.5, at.x + at.w + 0.5,
                         at.y + at.h + 0.5, at.x - 0.5, at.y + at.h + 0.5, at.x - 0.5, at.y - 0.5},
              5, f->theme->soft, 1, 1);
    for (uint32_t i = 0; i < f->bar.count; i++) {
        double y = round(at.y + (1 - axis_place(&f->bar, f->bar.tick[i].at)) * at.h) + 0.5;
        double x = at.x + at.w + 0.5;
        pen->line(pen, (double[]){x, y, x + tick_length, y}, 2, f->theme->soft, 1, 1);
        pen->text(pen, x + tick_length + gap / 2, y + small_size * 0.36, f->bar.tick[i].text,
                  small_size, -1, false, f->theme->soft, false);
    }
    pen->text(pen, at.x + at.w + tick_length + gap + widest(&f->bar) + gap + text_size * 0.8,
              at.y + at.h / 2, f->bar.label, text_size, 0, true, f->theme->ink, false);
}

static void draw_legend(const struct figure *f, double x, double y, double most, struct pen *pen) {
    const char *last = NULL;
    for (uint32_t i = 0; i < f->panels; i++)
        for (uint32_t k = 0; k < f->panel[i].layers; k++) {
            const struct layer *l = &f->panel[i].layer[k];
            if (!l->name || (last && i)) // panels share one
                continue;
            double wide = 18 + gap + font_width(l->name, small_size) + 3 * gap;
            if (x + wide > most) {
                pen->text(pen, x, y, "...", small_size, -1, false, f->theme->ink, false);
                return;
            }
            struct box swatch = {x, y - small_size * 0.75, 18, small_size * 0.8};
            double middle = swatch.y + swatch.h / 2;
            if (l->kind == LAYER_HATCH)
                pen->hatch(pen, swatch, l->ink);
            else if (l->kind == LAYER_LINE)
                pen->line(pen, (double[]){x + 1, middle, x + 17, middle}, 2, l->ink, 2, l->opacity);
            else if (l->kind == LAYER_POINTS)
                pen->dots(pen, (double[]){x + 9, middle}, 1, l->ink, 3, 1);
            else
                pen->area(pen,
                          (double[]){x, swatch.y, x + 18, swatch.y, x + 18, swatch.y + swatch.h, x,
                                     swatch.y + swatch.h},
                          4, l->ink, l->opacity);
            pen->text(pen, x + 18 + gap, y, l->name, small_size, -1, false, f->theme->ink, false);
            x += wide;
            if (k + 1 == f->panel[i].layers)
                last = l->name;
        }
}

static void draw_titles(const struct figure *f, double width, struct pen *pen) {
    double y = margin;
    if (f->title[0]) {
        y += title_size * 0.8;
        pen->text(pen, margin, y, f->title, title_size, -1, false, f->theme->ink, true);
        y += gap + title_size * 0.2;
    }
    if (f->subtitle[0]) {
        y += small_size * 0.8;
        pen->text(pen, margin, y, f->subtitle, small_size, -1, false, f->theme->soft, false);
        y += gap + small_size * 0.2;
    }
    if (has_legend(f))
        draw_legend(f, margin, y + small_size, width - margin - 2 * gap, pen);
}

void figure_draw(const struct figure *f, double width, double height, struct pen *pen) {
    struct layout l = lay_out(f, width, height);
    if (!f->bare)
        draw_titles(f, width, pen);
    for (uint32_t i = 0; i < f->panels; i++)
        draw_panel(f, &(struct view){&f->panel[i], panel_box(f, &l, i), pen}, shows_x(f, i));
    if (f->bar.label && !f->bare && f->panels)
        draw_bar(f, &l, pen);
}
