// SPDX-License-Identifier: MIT
// A figure in a terminal. Lines and points are dots of braille, eight to a character; rasters are
// half blocks in colour, or shades without; where there is no Unicode, plain characters. Panels
// stand one below the other.
#include "base/utf8.h"
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT_MOST = 12, NAME_MOST = 24 };

struct cell {
    uint8_t dots; // of braille
    colour ink;
    bool inked;
    bool hatched;
    uint8_t upper, lower; // places of an image
};

struct screen {
    const struct figure *f;
    const struct terminal *t;
    struct buf *out;
    uint32_t columns, rows; // inside the axes
    struct cell *cell;
};

static struct cell *cell_at(struct screen *s, uint32_t column, uint32_t row) {
    return &s->cell[(size_t)row * s->columns + column];
}

// ---- Marks --------------------------------------------------------------------------------------

// A dot; places are from 0 to 1, y upwards.
static void set_dot(struct screen *s, long x, long y, colour ink) {
    static const uint8_t bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= 2l * s->columns || y >= 4l * s->rows)
        return;
    struct cell *c = cell_at(s, (uint32_t)x / 2, (uint32_t)y / 4);
    c->dots |= bit[y % 4][x % 2];
    c->ink = ink;
    c->inked = true;
}

static bool to_dot(const struct screen *s, const struct panel *p, double x, double y, double *dx,
                   double *dy) {
    double px = axis_place(&p->x, x), py = axis_place(&p->y, y);
    if (!isfinite(px) || !isfinite(py))
        return false;
    *dx = fmin(fmax(px, -2), 3) * (2.0 * s->columns - 1);
    *dy = (1 - fmin(fmax(py, -2), 3)) * (4.0 * s->rows - 1);
    return true;
}

static void mark_line(struct screen *s, const struct panel *p, const struct layer *l,
                      const double *y) {
    double ax = 0, ay = 0;
    bool before = false;
    for (size_t i = 0; i < l->count; i++) {
        double bx, by;
        bool there = to_dot(s, p, l->x[i], y[i], &bx, &by);
        if (there && before) {
            int steps = (int)fmax(fabs(bx - ax), fabs(by - ay)) + 1;
            for (int k = 0; k <= steps; k++)
                set_dot(s, lround(ax + (bx - ax) * k / steps), lround(ay + (by - ay) * k / steps),
                        l->ink);
        } else if (there)
            set_dot(s, lround(bx), lround(by), l->ink);
        before = there;
        if (there)
            ax = bx, ay = by;
    }
}

static void mark_points(struct screen *s, const struct panel *p, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double x, y;
        if (to_dot(s, p, l->x[i], l->y[i], &x, &y))
            set_dot(s, lround(x), lround(y), l->ink);
    }
}

static void mark_bars(struct screen *s, const struct panel *p, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double x0, x1, y;
        if (!(l->y[i] > 0) || !to_dot(s, p, l->x[i], l->y[i], &x0, &y) ||
            !to_dot(s, p, l->x2[i], l->y[i], &x1, &y))
            continue;
        for (long x = lround(x0); x <= lround(x1); x++)
            for (long k = lround(y); k < 4l * s->rows; k++)
                set_dot(s, x, k, l->ink);
    }
}

static void mark_boxes(struct screen *s, const struct panel *p, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double x0, x1, y0, y1;
        if (!to_dot(s, p, l->x[i], l->y[i] + 0.1, &x0, &y0) ||
            !to_dot(s, p, l->x2[i], l->y[i] + 0.9, &x1, &y1))
            continue;
        for (long x = lround(x0); x <= lround(x1); x++)
            for (long y = lround(y1); y <= lround(y0); y++)
                set_dot(s, x, y, l->inks[i]);
    }
}

static void mark_hatch(struct screen *s, const struct panel *p, const struct layer *l) {
    for (size_t i = 0; i < l->count; i++) {
        double a = axis_place(&p->x, l->x[i]), b = axis_place(&p->x, l->x2[i]);
        if (!isfinite(a) || !isfinite(b))
            continue;
        double last = s->columns - 1;
        uint32_t from = (uint32_t)(fmin(fmax(a, 0), 1) * last + 0.5),
                 to = (uint32_t)(fmin(fmax(b, 0), 1) * last + 0.5);
        for (uint32_t column = from; column <= to && column < s->columns; column++)
            for (uint32_t row = 0; row < s->rows; row++)
                cell_at(s, column, row)->hatched = true;
    }
}

// The highest place in the part of the image that a half of a cell shows; 0: there is none, and
// *empty says whether some of it has no value.
static uint8_t highest(const struct image *m, double x0, double x1, double y0, double y1,
                       bool *empty) {
    uint8_t place = 0;
    size_t right = (size_t)ceil(x1 * m->width), bottom = (size_t)ceil(y1 * m->height);
    for (size_t y = (size_t)(y0 * m->height); y < bottom && y < m->height; y++)
        for (size_t x = (size_t)(x0 * m->width); x < right && x < m->width; x++) {
            uint8_t here = m->place[y * m->width + x];
            bool none = m->empty && here == m->empty;
            *empty = *empty || none;
            place = here > place && !none ? here : place;
        }
    return place;
}

static void mark_image(struct screen *s, const struct panel *p, const struct image *m) {
    for (uint32_t row = 0; row < s->rows; row++)
        for (uint32_t column = 0; column < s->columns; column++) {
            struct cell *c = cell_at(s, column, row);
            double x0 = (double)column / s->columns, x1 = (column + 1.0) / s->columns;
            double y0 = (double)row / s->rows, y1 = (row + 0.5) / s->rows,
                   y2 = (row + 1.0) / s->rows;
            bool empty = false;
            c->upper = highest(m, x0, x1, y0, y1, &empty);
            c->lower = highest(m, x0, x1, y1, y2, &empty);
            c->hatched = p->hatched && !empty;
        }
}

static void mark_layer(struct screen *s, const struct panel *p, const struct layer *l) {
    switch (l->kind) {
    case LAYER_LINE:
        mark_line(s, p, l, l->y);
        break;
    case LAYER_BAND: // its edges
        mark_line(s, p, l, l->y);
        mark_line(s, p, l, l->y2);
        break;
    case LAYER_POINTS:
        mark_points(s, p, l);
        break;
    case LAYER_BARS:
        mark_bars(s, p, l);
        break;
    case LAYER_BOXES:
        mark_boxes(s, p, l);
        break;
    case LAYER_HATCH:
        mark_hatch(s, p, l);
        break;
    case LAYER_IMAGE:
        mark_image(s, p, l->image);
        break;
    }
}

// ---- Characters ---------------------------------------------------------------------------------

static int cube(colour c, int shift) { return (int)((c >> shift & 0xff) * 5 + 127) / 255; }

static void put_colour(const struct screen *s, colour c, bool behind) {
    if (s->t->colours > 256)
        buf_printf(s->out, "\033[%d;2;%u;%u;%um", behind ? 48 : 38, c >> 16 & 0xff, c >> 8 & 0xff,
                   c & 0xff);
    else
        buf_printf(s->out, "\033[%d;5;%dm", behind ? 48 : 38,
                   16 + 36 * cube(c, 16) + 6 * cube(c, 8) + cube(c, 0));
}

static void put_end(const struct screen *s) {
    if (s->t->colours)
        buf_puts(s->out, "\033[0m");
}

static void put_half_blocks(const struct screen *s, const struct cell *c, const colour *colours) {
    put_colour(s, c->upper ? colours[c->upper] : s->f->theme->paper, false);
    put_colour(s, c->lower ? colours[c->lower] : s->f->theme->paper, true);
    buf_puts(s->out, "▀");
    put_end(s);
}

static void put_shade(const struct screen *s, const struct cell *c) {
    static const char plain[] = ".:-=+*#%@";
    static const char *const shades[] = {"░", "▒", "▓", "█"};
    int place = c->upper > c->lower ? c->upper : c->lower;
    if (!place)
        buf_puts(s->out, c->hatched ? "/" : " ");
    else if (s->t->unicode)
        buf_puts(s->out, shades[(place - 1) * 4 / 255]);
    else
        buf_putc(s->out, plain[(place - 1) * 9 / 255]);
}

static void put_braille(const struct screen *s, const struct cell *c) {
    char bytes[4];
    static const char *const plain = " .:'";
    if (s->t->colours)
        put_colour(s, c->ink, false);
    if (s->t->unicode)
        buf_put(s->out, bytes, utf8_encode(0x2800u + c->dots, bytes));
    else {
        bool up = c->dots & 0x1b, down = c->dots & 0xe4;
        buf_putc(s->out, up && down ? plain[2] : up ? plain[3] : plain[1]);
    }
    put_end(s);
}

static void put_cell(const struct screen *s, const struct cell *c, const colour *colours) {
    if (c->inked)
        put_braille(s, c);
    else if (colours && s->t->colours && s->t->unicode && (c->upper || c->lower))
        put_half_blocks(s, c, colours);
    else
        put_shade(s, c);
}

// ---- Panels -------------------------------------------------------------------------------------

static size_t columns_of(const char *text) {
    size_t length = strlen(text), n = 0;
    for (size_t at = 0; at < length; n++)
        utf8_decode(text, length, &at);
    return n;
}

// A name may hold what moves the cursor; that is shown as a question mark.
static void put_safe(struct buf *out, const char *text, size_t most, bool unicode) {
    size_t length = strlen(text), n = 0;
    for (size_t at = 0; at < length && n < most; n++) {
        char bytes[4];
        uint32_t point = utf8_decode(text, length, &at);
        bool control = point < 32 || (point >= 127 && point < 160) ||
                       (point >= 0x200b && point <= 0x200f) ||
                       (point >= 0x2028 && point <= 0x202e) ||
                       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
        if (control || (!unicode && point > 126))
            point = '?';
        buf_put(out, bytes, utf8_encode(point, bytes));
    }
}

static void put_blanks(struct buf *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        buf_putc(out, ' ');
}

// The number that stands beside a row, or NULL.
static const char *tick_of_row(const struct screen *s, const struct axis *y, uint32_t row) {
    for (uint32_t i = 0; i < y->count; i++) {
        double place = axis_place(y, y->tick[i].at);
        if (lround((1 - place) * (s->rows - 1)) == (long)row)
            return y->tick[i].text;
    }
    return NULL;
}

static void put_x_axis(const struct screen *s, const struct axis *x, size_t left) {
    char *line = malloc(s->columns + TICK_ROOM + 1);
    if (!line) {
        s->out->failed = true;
        return;
    }
    memset(line, ' ', s->columns + TICK_ROOM);
    long end = -1;
    for (uint32_t i = 0; i < x->count; i++) {
        long length = (long)strlen(x->tick[i].text);
        long at = lround(axis_place(x, x->tick[i].at) * (s->columns - 1)) - length / 2;
        at = at < 0 ? 0 : at;
        if (at <= end || at + length > (long)s->columns + 4)
            continue;
        memcpy(line + at, x->tick[i].text, (size_t)length);
        end = at + length;
    }
    size_t used = s->columns + TICK_ROOM;
    while (used && line[used - 1] == ' ')
        used--;
    put_blanks(s->out, left + 1);
    buf_put(s->out, line, used);
    buf_putc(s->out, '\n');
    free(line);
    size_t width = columns_of(x->label);
    put_blanks(s->out, left + 1 + (width < s->columns ? (s->columns - width) / 2 : 0));
    put_safe(s->out, x->label, s->columns, s->t->unicode);
    buf_putc(s->out, '\n');
}

static void put_rows(const struct screen *s, const struct panel *p, size_t left) {
    const colour *colours = NULL;
    for (uint32_t i = 0; i < p->layers; i++)
        if (p->layer[i].kind == LAYER_IMAGE)
            colours = p->layer[i].image->colours;
    for (uint32_t row = 0; row < s->rows; row++) {
        const char *tick = tick_of_row(s, &p->y, row);
        put_blanks(s->out, left - (tick ? strlen(tick) : 0));
        buf_puts(s->out, tick ? tick : "");
        buf_puts(s->out, s->t->unicode ? tick ? "┤" : "│" : tick ? "+" : "|");
        for (uint32_t column = 0; column < s->columns; column++)
            put_cell(s, &s->cell[(size_t)row * s->columns + column], colours);
        buf_putc(s->out, '\n');
    }
    put_blanks(s->out, left);
    buf_puts(s->out, s->t->unicode ? "└" : "+");
    for (uint32_t column = 0; column < s->columns; column++)
        buf_puts(s->out, s->t->unicode ? "─" : "-");
    buf_putc(s->out, '\n');
}

static void put_legend(const struct screen *s, const struct panel *p, size_t left) {
    bool any = false;
    for (uint32_t i = 0; i < p->layers; i++) {
        const struct layer *l = &p->layer[i];
        if (!l->name)
            continue;
        put_blanks(s->out, any ? 2 : left + 1);
        if (l->kind == LAYER_HATCH)
            buf_putc(s->out, '/');
        else {
            if (s->t->colours)
                put_colour(s, l->ink, false);
            buf_puts(s->out, s->t->unicode ? "⣿" : ":");
            put_end(s);
        }
        buf_putc(s->out, ' ');
        put_safe(s->out, l->name, NAME_MOST, s->t->unicode);
        any = true;
    }
    if (any)
        buf_putc(s->out, '\n');
}

static void draw_panel(struct screen *s, const struct panel *p, bool last) {
    size_t left = 1;
    for (uint32_t i = 0; i < p->y.count; i++)
        left = strlen(p->y.tick[i].text) > left ? strlen(p->y.tick[i].text) : left;
    s->columns = s->t->columns > left + 12 ? s->t->columns - (uint32_t)left - 2 : 10;
    s->cell = calloc((size_t)s->rows * s->columns, sizeof *s->cell);
    if (!s->cell) {
        s->out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < p->layers; i++)
        mark_layer(s, p, &p->layer[i]);
    put_safe(s->out, p->title ? p->title : p->y.label, s->t->columns, s->t->unicode);
    buf_putc(s->out, '\n');
    put_rows(s, p, left);
    put_x_axis(s, &p->x, left);
    if (last)
        put_legend(s, p, left);
    free(s->cell);
}

static void put_bar(const struct screen *s) {
    const struct axis *b = &s->f->bar;
    char low[TICK_ROOM], high[TICK_ROOM];
    number_short(b->low, 4, low);
    number_short(b->high, 4, high);
    put_safe(s->out, b->label, NAME_MOST, s->t->unicode);
    buf_printf(s->out, "  %s ", low);
    for (int i = 0; i < 16; i++) {
        uint8_t place = (uint8_t)(1 + i * 254 / 15);
        struct cell c = {.upper = place, .lower = place};
        put_cell(s, &c, s->f->bar_colours);
    }
    buf_printf(s->out, " %s%s\n", high, b->log ? " (log)" : "");
}

void term_draw(const struct figure *f, const struct terminal *t, struct buf *out) {
    struct screen s = {.f = f, .t = t, .out = out};
    uint32_t around = 3u + (f->subtitle[0] != 0) + (f->title[0] != 0);
    uint32_t each = f->panels ? t->rows / f->panels : t->rows;
    s.rows = each > around + 6 ? each - around : 6;
    if (f->title[0]) {
        put_safe(out, f->title, t->columns, t->unicode);
        buf_putc(out, '\n');
    }
    if (f->subtitle[0]) {
        put_safe(out, f->subtitle, t->columns, t->unicode);
        buf_putc(out, '\n');
    }
    for (uint32_t i = 0; i < f->panels; i++)
        draw_panel(&s, &f->panel[i], i + 1 == f->panels);
    if (f->bar.label)
        put_bar(&s);
}
