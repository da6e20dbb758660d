// SPDX-License-Identifier: MIT
// A figure: panels with axes and layers of data, described without a word on how it is drawn.
//
// draw.c lays it out for a pen, which is an SVG or PDF file or a picture of pixels; term.c draws it
// with characters.
#ifndef SHOAL_PLOT_FIGURE_H
#define SHOAL_PLOT_FIGURE_H

#include "base/buf.h"
#include "plot/colour.h"
#include "plot/ticks.h"

#include <stddef.h>

// A raster of places in a table of colours; 0 is nothing, and what is below shows. Rows go down.
struct image {
    uint32_t width, height;
    const uint8_t *place;
    const colour *colours; // [256]
    uint8_t empty;         // a place of no value, whose colour is the paper's; 0: none
};

enum layer_kind {
    LAYER_LINE,   // through x, y; a gap where one is not finite
    LAYER_POINTS, // at x, y
    LAYER_BAND,   // between y and y2 over x
    LAYER_BARS,   // from the bottom to y, between x and x2
    LAYER_BOXES,  // from x to x2 in row y, each with a label
    LAYER_HATCH,  // from x to x2 over the whole height: runs that failed
    LAYER_IMAGE,  // over the whole panel
};

struct layer {
    enum layer_kind kind;
    colour ink;
    double opacity;   // 0: 1
    double width;     // of a line; 0: chosen
    const char *name; // in the legend; NULL: not there
    size_t count;
    const double *x, *y, *x2, *y2;
    const char *const *labels; // of boxes,
    const colour *inks;        // and their colours
    const struct image *image;
};

enum { LAYERS_MOST = 32, PANELS_MOST = 12 };

struct panel {
    struct axis x, y;
    const char *title; // or NULL
    double weight;     // its share of the height, where panels are below each other; 0: 1
    uint32_t layers;
    struct layer layer[LAYERS_MOST];
    bool hatched; // what no image covers was not computed
};

struct figure {
    char title[256], subtitle[512];
    const struct theme *theme;
    uint32_t panels, columns; // side by side
    struct panel *panel;
    struct axis bar;      // of colours; label NULL: there is none
    const char *bar_room; // its numbers have room for this text; NULL: for themselves
    colour bar_colours[256];
    bool bare;       // the picture alone, without axes and text
    const char *ids; // names inside of an SVG begin with it
};

struct layer *panel_add(struct panel *p, enum layer_kind kind); // NULL: there is no more room

struct box {
    double x, y, w, h;
};

// What draws. Places are in units of 1/96 inch from the top left.
struct pen {
    void (*line)(struct pen *p, const double *xy, size_t points, colour ink, double width,
                 double opacity);
    void (*area)(struct pen *p, const double *xy, size_t points, colour ink, double opacity);
    void (*dots)(struct pen *p, const double *xy, size_t points, colour ink, double radius,
                 double opacity);
    // anchor: -1 begins there, 0 is centred, 1 ends there; up: turned, read from below
    void (*text)(struct pen *p, double x, double y, const char *text, double size, int anchor,
                 bool up, colour ink, bool bold);
    void (*image)(struct pen *p, struct box at, const struct image *image);
    void (*hatch)(struct pen *p, struct box at, colour ink);
    void (*clip)(struct pen *p, const struct box *at); // NULL: no longer
};

void figure_draw(const struct figure *f, double width, double height, struct pen *pen);
// Pixels that an image of the first panel would have at that size.
struct box figure_inside(const struct figure *f, double width, double height);

void svg_put_text(struct buf *out, const char *text); // as XML and HTML have it
void svg_put_base64(struct buf *out, const unsigned char *bytes, size_t length);
void svg_draw(const struct figure *f, double width, double height, struct buf *out);
void pdf_draw(const struct figure *f, double width, double height, struct buf *out);
void png_draw(const struct figure *f, double width, double height, double scale, struct buf *out);

struct terminal {
    uint32_t columns, rows;
    bool unicode;
    int colours; // 0, 256, or 1 << 24
};
void term_draw(const struct figure *f, const struct terminal *t, struct buf *out);

#endif
