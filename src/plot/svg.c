// SPDX-License-Identifier: MIT
// The pen that writes SVG. Text stays text, rasters are PNG images inside, and places have one
// decimal, a tenth of a pixel.
#include "base/utf8.h"
#include "plot/figure.h"
#include "plot/png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct svg {
    struct pen pen;
    struct buf *out;
    const char *prefix;
    uint32_t ids;
    bool clipped;
};

// XML has no words for most control characters, nor for half a code point.
void svg_put_text(struct buf *out, const char *text) {
    size_t length = strlen(text);
    for (size_t at = 0; at < length;) {
        char bytes[4];
        uint32_t point = utf8_decode(text, length, &at);
        if (point == '<' || point == '>' || point == '&' || point == '"' || point == '\'')
            buf_printf(out, "&#%u;", point);
        else if ((point < 32 && point != '\n' && point != '\t') || (point >= 127 && point < 160) ||
                 point == 0xfffe || point == 0xffff)
            buf_puts(out, "\xef\xbf\xbd");
        else
            buf_put(out, bytes, utf8_encode(point, bytes));
    }
}

// One decimal, and no more characters than needed.
static void put_place(struct buf *out, double value) {
    double tenths = round(fmin(fmax(value, -1e6), 1e6) * 10);
    long whole = (long)tenths;
    if (whole < 0)
        buf_putc(out, '-');
    whole = labs(whole);
    if (whole % 10)
        buf_printf(out, "%ld.%ld", whole / 10, whole % 10);
    else
        buf_printf(out, "%ld", whole / 10);
}

static void put_number(struct buf *out, const char *name, double value) {
    buf_printf(out, " %s=\"", name);
    put_place(out, value);
    buf_putc(out, '"');
}

static void put_opacity(struct buf *out, const char *name, double opacity) {
    if (opacity < 1)
        buf_printf(out, " %s=\"%d.%02d\"", name, 0, (int)(opacity * 100 + 0.5));
}

static void put_points(struct buf *out, const double *xy, size_t points) {
    for (size_t i = 0; i < points; i++) {
        if (i)
            buf_putc(out, ' ');
        put_place(out, xy[2 * i]);
        buf_putc(out, ',');
        put_place(out, xy[2 * i + 1]);
    }
}

static void svg_line(struct pen *p, const double *xy, size_t points, colour ink, double width,
                     double opacity) {
    struct buf *out = ((struct svg *)p)->out;
    buf_puts(out, "<polyline points=\"");
    put_points(out, xy, points);
    buf_printf(out, "\" stroke=\"#%06x\"", ink);
    put_number(out, "stroke-width", width);
    put_opacity(out, "stroke-opacity", opacity);
    buf_puts(out, "/>\n");
}

static void svg_area(struct pen *p, const double *xy, size_t points, colour ink, double opacity) {
    struct buf *out = ((struct svg *)p)->out;
    buf_puts(out, "<polygon points=\"");
    put_points(out, xy, points);
    buf_printf(out, "\" fill=\"#%06x\"", ink);
    put_opacity(out, "fill-opacity", opacity);
    buf_puts(out, "/>\n");
}

// Dots are strokes of no length with round ends: one element for all of them.
static void svg_dots(struct pen *p, const double *xy, size_t points, colour ink, double radius,
                     double opacity) {
    struct buf *out = ((struct svg *)p)->out;
    buf_puts(out, "<path d=\"");
    for (size_t i = 0; i < points; i++) {
        buf_putc(out, 'M');
        put_place(out, xy[2 * i]);
        buf_putc(out, ' ');
        put_place(out, xy[2 * i + 1]);
        buf_puts(out, "h0");
    }
    buf_printf(out, "\" stroke=\"#%06x\"", ink);
    put_number(out, "stroke-width", 2 * radius);
    put_opacity(out, "stroke-opacity", opacity);
    buf_puts(out, "/>\n");
}

static void svg_text(struct pen *p, double x, double y, const char *text, double size, int anchor,
                     bool up, colour ink, bool bold) {
    static const char *const anchors[] = {"start", "middle", "end"};
    struct buf *out = ((struct svg *)p)->out;
    buf_puts(out, "<text");
    put_number(out, "x", x);
    put_number(out, "y", y);
    put_number(out, "font-size", size);
    buf_printf(out, " fill=\"#%06x\"", ink);
    if (anchor >= 0)
        buf_printf(out, " text-anchor=\"%s\"", anchors[anchor + 1]);
    if (bold)
        buf_puts(out, " font-weight=\"600\"");
    if (up) {
        buf_puts(out, " transform=\"rotate(-90 ");
        put_place(out, x);
        buf_putc(out, ' ');
        put_place(out, y);
        buf_puts(out, ")\"");
    }
    buf_putc(out, '>');
    svg_put_text(out, text);
    buf_puts(out, "</text>\n");
}

void svg_put_base64(struct buf *out, const unsigned char *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        uint32_t n = (uint32_t)bytes[i] << 16;
        n |= i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0;
        n |= i + 2 < length ? bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            buf_putc(out, i + k <= length ? digits[n >> (18 - 6 * k) & 63] : '=');
    }
}

static void put_box(struct buf *out, struct box at) {
    put_number(out, "x", at.x);
    put_number(out, "y", at.y);
    put_number(out, "width", at.w);
    put_number(out, "height", at.h);
}

static void svg_image(struct pen *p, struct box at, const struct image *image) {
    struct buf *out = ((struct svg *)p)->out, png = {0};
    png_put_image(&png, image);
    buf_puts(out, "<image");
    put_box(out, at);
    buf_puts(out, " preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" "
                  "style=\"image-rendering:pixelated\" "
                  "href=\"data:image/png;base64,");
    if (!png.failed)
        svg_put_base64(out, (const unsigned char *)png.data, png.length);
    out->failed = out->failed || png.failed;
    buf_puts(out, "\"/>\n");
    buf_free(&png);
}

static void svg_hatch(struct pen *p, struct box at, colour ink) {
    struct svg *s = (struct svg *)p;
    buf_printf(s->out,
               "<pattern id=\"%sh%u\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
               "<path d=\"M-1 9 9 -1M-1 1 1 -1M7 9 9 7\" stroke=\"#%06x\" stroke-opacity=\"0.6\"/>"
               "</pattern>\n<rect",
               s->prefix, s->ids, ink);
    put_box(s->out, at);
    buf_printf(s->out, " fill=\"url(#%sh%u)\"/>\n", s->prefix, s->ids++);
}

static void svg_clip(struct pen *p, const struct box *at) {
    struct svg *s = (struct svg *)p;
    if (s->clipped)
        buf_puts(s->out, "</g>\n");
    s->clipped = at != NULL;
    if (!at)
        return;
    buf_printf(s->out, "<clipPath id=\"%sc%u\"><rect", s->prefix, s->ids);
    put_box(s->out, *at);
    buf_printf(s->out, "/></clipPath>\n<g clip-path=\"url(#%sc%u)\">\n", s->prefix, s->ids++);
}

void svg_draw(const struct figure *f, double width, double height, struct buf *out) {
    struct svg s = {.pen = {.line = svg_line,
                            .area = svg_area,
                            .dots = svg_dots,
                            .text = svg_text,
                            .image = svg_image,
                            .hatch = svg_hatch,
                            .clip = svg_clip},
                    .out = out,
                    .prefix = f->ids ? f->ids : ""};
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica,Arial,sans-serif\" "
               "fill=\"none\" stroke-linecap=\"round\" stroke-linejoin=\"round\">\n<title>",
               width, height, width, height);
    svg_put_text(out, f->title);
    buf_printf(out, "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n",
               f->theme->paper);
    figure_draw(f, width, height, &s.pen);
    buf_puts(out, "</svg>\n");
}
