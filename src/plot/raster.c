// SPDX-License-Identifier: MIT
// The pen that makes pictures of pixels, for PNG files. Edges are smooth: a pixel takes as much of
// the ink as the shape covers of it. Strokes are covered first and inked once, so that a line that
// crosses itself is as dark there as elsewhere.
#include "plot/figure.h"
#include "plot/font.h"
#include "plot/png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUBROWS = 4 };

struct bounds {
    int x0, y0, x1, y1; // x1, y1: behind the last
};

struct raster {
    struct pen pen;
    int width, height;
    double scale;
    uint8_t *rgb;
    uint8_t *cover; // of the stroke at hand; zero elsewhere
    struct bounds clip, dirty;
};

static struct bounds no_bounds(void) { return (struct bounds){1 << 30, 1 << 30, -1, -1}; }

static int clamp(double value, int low, int high) {
    return value > low ? value < high ? (int)value : high : low;
}

static void blend(struct raster *r, int x, int y, colour ink, double share) {
    uint8_t *p = r->rgb + 3 * ((size_t)y * (size_t)r->width + (size_t)x);
    for (int k = 0; k < 3; k++) {
        double to = (double)(ink >> (16 - 8 * k) & 0xff);
        p[k] = (uint8_t)(p[k] + (to - p[k]) * share + 0.5);
    }
}

static void ink_cover(struct raster *r, colour ink, double opacity) {
    struct bounds d = r->dirty;
    for (int y = d.y0; y < d.y1; y++)
        for (int x = d.x0; x < d.x1; x++) {
            uint8_t *c = &r->cover[(size_t)y * (size_t)r->width + (size_t)x];
            if (*c)
                blend(r, x, y, ink, *c / 255.0 * opacity);
            *c = 0;
        }
    r->dirty = no_bounds();
}

static void cover_pixel(struct raster *r, int x, int y, double share) {
    uint8_t *c = &r->cover[(size_t)y * (size_t)r->width + (size_t)x];
    uint8_t value = (uint8_t)(share * 255 + 0.5);
    if (value > *c)
        *c = value;
}

static void grow(struct bounds *b, int x0, int y0, int x1, int y1) {
    b->x0 = x0 < b->x0 ? x0 : b->x0;
    b->y0 = y0 < b->y0 ? y0 : b->y0;
    b->x1 = x1 > b->x1 ? x1 : b->x1;
    b->y1 = y1 > b->y1 ? y1 : b->y1;
}

static double distance_to(const double *a, const double *b, double x, double y) {
    double dx = b[0] - a[0], dy = b[1] - a[1], length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length : 0;
    t = t > 0 ? t < 1 ? t : 1 : 0;
    return hypot(a[0] + t * dx - x, a[1] + t * dy - y);
}

// Pixels of one row near the segment: those whose x may be within `reach`.
static void row_span(const double *a, const double *b, double y, double reach, double *x0,
                     double *x1) {
    double low = fmin(a[0], b[0]), high = fmax(a[0], b[0]), dy = b[1] - a[1];
    if (fabs(dy) > 1e-9) {
        double t0 = (y - reach - a[1]) / dy, t1 = (y + reach - a[1]) / dy;
        double xa = a[0] + fmin(fmax(t0, 0), 1) * (b[0] - a[0]);
        double xb = a[0] + fmin(fmax(t1, 0), 1) * (b[0] - a[0]);
        low = fmin(xa, xb);
        high = fmax(xa, xb);
    }
    *x0 = low - reach;
    *x1 = high + reach + 1;
}

static void cover_segment(struct raster *r, const double *a, const double *b, double radius) {
    const struct bounds *clip = &r->clip;
    double reach = radius + 1;
    int y0 = clamp(floor(fmin(a[1], b[1]) - reach), clip->y0, clip->y1);
    int y1 = clamp(ceil(fmax(a[1], b[1]) + reach), clip->y0, clip->y1);
    for (int y = y0; y < y1; y++) {
        double from, to;
        row_span(a, b, y + 0.5, reach, &from, &to);
        int x0 = clamp(floor(from), clip->x0, clip->x1), x1 = clamp(ceil(to), clip->x0, clip->x1);
        for (int x = x0; x < x1; x++) {
            double share = radius + 0.5 - distance_to(a, b, x + 0.5, y + 0.5);
            if (share > 0)
                cover_pixel(r, x, y, share < 1 ? share : 1);
        }
        if (x0 < x1)
            grow(&r->dirty, x0, y, x1, y + 1);
    }
}

static void cover_line(struct raster *r, const double *xy, size_t points, double radius) {
    for (size_t i = 0; i < points; i++) {
        double a[2] = {xy[2 * i] * r->scale, xy[2 * i + 1] * r->scale}, b[2] = {a[0], a[1]};
        if (i + 1 < points) {
            b[0] = xy[2 * i + 2] * r->scale;
            b[1] = xy[2 * i + 3] * r->scale;
        } else if (points > 1)
            break;
        cover_segment(r, a, b, radius);
    }
}

static void raster_line(struct pen *p, const double *xy, size_t points, colour ink, double width,
                        double opacity) {
    struct raster *r = (struct raster *)p;
    double radius = width * r->scale / 2;
    double thin = radius < 0.5 ? radius / 0.5 : 1; // thinner than a pixel is fainter
    cover_line(r, xy, points, radius < 0.5 ? 0.5 : radius);
    ink_cover(r, ink, opacity * thin);
}

static void raster_dots(struct pen *p, const double *xy, size_t points, colour ink, double radius,
                        double opacity) {
    struct raster *r = (struct raster *)p;
    for (size_t i = 0; i < points; i++)
        cover_line(r, xy + 2 * i, 1, radius * r->scale);
    ink_cover(r, ink, opacity);
}

// ---- Areas --------------------------------------------------------------------------------------

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Adds what the interval covers of each pixel of a row.
static void add_interval(float *row, const struct bounds *clip, double from, double to) {
    from = fmax(from, clip->x0);
    to = fmin(to, clip->x1);
    for (int x = clamp(floor(from), clip->x0, clip->x1); x < to && x < clip->x1; x++) {
        double share = fmin(to, x + 1) - fmax(from, x);
        if (share > 0)
            row[x] += (float)(share / SUBROWS);
    }
}

static size_t find_crossings(const double *xy, size_t points, double y, double scale, double *out) {
    size_t n = 0;
    for (size_t i = 0; i < points; i++) {
        const double *a = xy + 2 * i, *b = xy + 2 * ((i + 1) % points);
        double ya = a[1] * scale, yb = b[1] * scale;
        if ((ya <= y) != (yb <= y))
            out[n++] = scale * (a[0] + (b[0] - a[0]) * (y - ya) / (yb - ya));
    }
    qsort(out, n, sizeof *out, compare);
    return n;
}

static void raster_area(struct pen *p, const double *xy, size_t points, colour ink,
                        double opacity) {
    struct raster *r = (struct raster *)p;
    double low = INFINITY, high = -INFINITY, *cross = malloc((points + 1) * sizeof *cross);
    float *row = calloc((size_t)r->width + 1, sizeof *row);
    for (size_t i = 0; i < points; i++) {
        low = fmin(low, xy[2 * i + 1] * r->scale);
        high = fmax(high, xy[2 * i + 1] * r->scale);
    }
    int y0 = clamp(floor(low), r->clip.y0, r->clip.y1), y1 = clamp(ceil(high), y0, r->clip.y1);
    for (int y = y0; y < y1 && cross && row; y++) {
        for (int s = 0; s < SUBROWS; s++) {
            size_t n = find_crossings(xy, points, y + (s + 0.5) / SUBROWS, r->scale, cross);
            for (size_t i = 0; i + 1 < n; i += 2)
                add_interval(row, &r->clip, cross[i], cross[i + 1]);
        }
        for (int x = r->clip.x0; x < r->clip.x1; x++) {
            if (row[x] > 0)
                blend(r, x, y, ink, fmin((double)row[x], 1) * opacity);
            row[x] = 0;
        }
    }
    free(row);
    free(cross);
}

// ---- The rest -----------------------------------------------------------------------------------

struct writer {
    struct raster *r;
    double x, y, radius;
    bool up;
};

static void stroke_letter(void *user, const double *xy, size_t points) {
    struct writer *w = user;
    double place[2 * 64];
    for (size_t i = 0; i < points && i < 64; i++) {
        place[2 * i] = w->x + (w->up ? xy[2 * i + 1] : xy[2 * i]);
        place[2 * i + 1] = w->y + (w->up ? -xy[2 * i] : xy[2 * i + 1]);
    }
    cover_line(w->r, place, points, w->radius);
}

static void raster_text(struct pen *p, double x, double y, const char *text, double size,
                        int anchor, bool up, colour ink, bool bold) {
    struct raster *r = (struct raster *)p;
    double before = font_width(text, size) * (anchor + 1) / 2;
    double radius = font_weight(size) * (bold ? 1.45 : 1) * r->scale / 2;
    double thin = radius < 0.5 ? radius / 0.5 : 1;
    struct writer w = {.r = r,
                       .x = up ? x : x - before,
                       .y = up ? y + before : y,
                       .radius = radius < 0.5 ? 0.5 : radius,
                       .up = up};
    font_draw(text, size, stroke_letter, &w);
    ink_cover(r, ink, thin);
}

static void raster_image(struct pen *p, struct box at, const struct image *image) {
    struct raster *r = (struct raster *)p;
    double w = at.w * r->scale, h = at.h * r->scale;
    int left = (int)lround(at.x * r->scale), top = (int)lround(at.y * r->scale);
    int right = (int)lround(at.x * r->scale + w), bottom = (int)lround(at.y * r->scale + h);
    if (!image->width || !image->height || right <= left || bottom <= top)
        return;
    for (int y = top < 0 ? 0 : top; y < bottom && y < r->height; y++) {
        size_t row = (size_t)(y - top) * image->height / (size_t)(bottom - top);
        for (int x = left < 0 ? 0 : left; x < right && x < r->width; x++) {
            size_t column = (size_t)(x - left) * image->width / (size_t)(right - left);
            uint8_t place = image->place[row * image->width + column];
            if (place)
                blend(r, x, y, image->colours[place], 1);
        }
    }
}

static void raster_clip(struct pen *p, const struct box *at) {
    struct raster *r = (struct raster *)p;
    r->clip = (struct bounds){0, 0, r->width, r->height};
    if (at)
        r->clip = (struct bounds){clamp(floor(at->x * r->scale), 0, r->width),
                                  clamp(floor(at->y * r->scale), 0, r->height),
                                  clamp(ceil((at->x + at->w) * r->scale), 0, r->width),
                                  clamp(ceil((at->y + at->h) * r->scale), 0, r->height)};
}

static void raster_hatch(struct pen *p, struct box at, colour ink) {
    struct raster *r = (struct raster *)p;
    struct bounds before = r->clip;
    raster_clip(p, &at);
    for (double x = floor((at.x - at.h) / 8) * 8; x < at.x + at.w; x += 8) {
        double xy[4] = {x, at.y + at.h, x + at.h, at.y};
        cover_line(r, xy, 2, 0.5 * r->scale);
    }
    ink_cover(r, ink, 0.6);
    r->clip = before;
}

void png_draw(const struct figure *f, double width, double height, double scale, struct buf *out) {
    struct raster r = {.pen = {.line = raster_line,
                               .area = raster_area,
                               .dots = raster_dots,
                               .text = raster_text,
                               .image = raster_image,
                               .hatch = raster_hatch,
                               .clip = raster_clip},
                       .width = (int)lround(width * scale),
                       .height = (int)lround(height * scale),
                       .scale = scale,
                       .dirty = no_bounds()};
    size_t pixels = (size_t)r.width * (size_t)r.height;
    r.rgb = malloc(3 * pixels);
    r.cover = calloc(1, pixels);
    if (r.rgb && r.cover) {
        for (size_t i = 0; i < 3 * pixels; i++)
            r.rgb[i] = (uint8_t)(f->theme->paper >> (16 - 8 * (i % 3)) & 0xff);
        raster_clip(&r.pen, NULL);
        figure_draw(f, width, height, &r.pen);
        png_put_rgb(out, r.rgb, (uint32_t)r.width, (uint32_t)r.height, 96 * scale);
    } else
        out->failed = true;
    free(r.rgb);
    free(r.cover);
}
