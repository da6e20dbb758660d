// SPDX-License-Identifier: MIT
// The pen that writes PDF: one page of the figure's size. Text stays text, in the fonts that every
// reader has (Helvetica, and Symbol for Greek letters); a character that they do not have is a
// question mark. Rasters are images with their table of colours.
#include "base/utf8.h"
#include "io/deflate.h"
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_MOST = 64, PERCENT = 100, OBJECTS_FIRST = 8 };

static const double points = 0.75; // of 1/72 inch in a unit

struct pdf_image {
    struct buf packed; // places, compressed
    uint32_t width, height;
    colour colours[256];
};

struct pdf {
    struct pen pen;
    struct buf *out;
    struct buf page; // what is drawn
    double height;
    bool faint[PERCENT + 1]; // opacities that occur
    uint32_t images;
    struct pdf_image image[IMAGES_MOST];
    bool clipped;
};

// ---- Numbers ------------------------------------------------------------------------------------

// Hundredths, without what a locale would put for the point.
static void put_number(struct buf *out, double value) {
    long hundredths = lround(fmin(fmax(value, -1e6), 1e6) * 100);
    if (hundredths < 0)
        buf_putc(out, '-');
    hundredths = labs(hundredths);
    buf_printf(out, "%ld", hundredths / 100);
    if (hundredths % 100)
        buf_printf(out, ".%02ld", hundredths % 100);
    buf_putc(out, ' ');
}

static void put_colour(struct buf *out, colour ink, const char *operator) {
    for (int shift = 16; shift >= 0; shift -= 8)
        put_number(out, (double)(ink >> shift & 0xff) / 255);
    buf_printf(out, "%s\n", operator);
}

static void put_opacity(struct pdf *p, double opacity) {
    int percent = (int)(fmin(fmax(opacity, 0), 1) * PERCENT + 0.5);
    p->faint[percent] = true;
    buf_printf(&p->page, "/G%d gs\n", percent);
}

static void put_path(struct pdf *p, const double *xy, size_t count) {
    for (size_t i = 0; i < count; i++) {
        put_number(&p->page, xy[2 * i]);
        put_number(&p->page, xy[2 * i + 1]);
        buf_puts(&p->page, i ? "l\n" : "m\n");
    }
}

static void put_box(struct buf *out, struct box at) {
    put_number(out, at.x);
    put_number(out, at.y);
    put_number(out, at.w);
    put_number(out, at.h);
    buf_puts(out, "re ");
}

// ---- Shapes -------------------------------------------------------------------------------------

static void pdf_line(struct pen *pen, const double *xy, size_t count, colour ink, double width,
                     double opacity) {
    struct pdf *p = (struct pdf *)pen;
    put_opacity(p, opacity);
    put_colour(&p->page, ink, "RG");
    put_number(&p->page, width);
    buf_puts(&p->page, "w\n");
    put_path(p, xy, count);
    buf_puts(&p->page, "S\n");
}

static void pdf_area(struct pen *pen, const double *xy, size_t count, colour ink, double opacity) {
    struct pdf *p = (struct pdf *)pen;
    put_opacity(p, opacity);
    put_colour(&p->page, ink, "rg");
    put_path(p, xy, count);
    buf_puts(&p->page, "h f*\n");
}

// A dot is a line of no length with round ends.
static void pdf_dots(struct pen *pen, const double *xy, size_t count, colour ink, double radius,
                     double opacity) {
    struct pdf *p = (struct pdf *)pen;
    put_opacity(p, opacity);
    put_colour(&p->page, ink, "RG");
    put_number(&p->page, 2 * radius);
    buf_puts(&p->page, "w\n");
    for (size_t i = 0; i < count; i++) {
        put_path(p, xy + 2 * i, 1);
        put_number(&p->page, xy[2 * i]);
        put_number(&p->page, xy[2 * i + 1]);
        buf_puts(&p->page, "l\n");
    }
    buf_puts(&p->page, "S\n");
}

static void pdf_hatch(struct pen *pen, struct box at, colour ink) {
    struct pdf *p = (struct pdf *)pen;
    buf_puts(&p->page, "q\n");
    put_box(&p->page, at);
    buf_puts(&p->page, "W n\n");
    for (double x = floor((at.x - at.h) / 8) * 8; x < at.x + at.w; x += 8)
        pdf_line(pen, (double[]){x, at.y + at.h, x + at.h, at.y}, 2, ink, 1, 0.6);
    buf_puts(&p->page, "Q\n");
}

static void pdf_clip(struct pen *pen, const struct box *at) {
    struct pdf *p = (struct pdf *)pen;
    if (p->clipped)
        buf_puts(&p->page, "Q\n");
    p->clipped = at != NULL;
    if (!at)
        return;
    buf_puts(&p->page, "q\n");
    put_box(&p->page, *at);
    buf_puts(&p->page, "W n\n");
}

static void pdf_image(struct pen *pen, struct box at, const struct image *image) {
    struct pdf *p = (struct pdf *)pen;
    if (p->images == IMAGES_MOST || !image->width || !image->height)
        return;
    struct pdf_image *to = &p->image[p->images];
    to->width = image->width;
    to->height = image->height;
    memcpy(to->colours, image->colours, sizeof to->colours);
    deflate_zlib(&to->packed, image->place, (size_t)image->width * image->height);
    buf_puts(&p->page, "q\n");
    put_opacity(p, 1);
    put_number(&p->page, at.w);
    buf_puts(&p->page, "0 0 ");
    put_number(&p->page, -at.h);
    put_number(&p->page, at.x);
    put_number(&p->page, at.y + at.h);
    buf_printf(&p->page, "cm\n/I%u Do\nQ\n", p->images++);
}

// ---- Text ---------------------------------------------------------------------------------------

// Of Helvetica, in thousandths of the size.
static const uint16_t widths[95] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

// The byte of a character in one of the fonts, and which it is: 1 is Symbol.
static unsigned char find_byte(uint32_t point, int *font) {
    static const char greek[] = "ABGDEZHQIKLMNXOPR\0STUFCYW\0\0\0\0\0\0\0abgdezhqiklmnxoprVstufcyw";
    *font = 0;
    if ((point >= 32 && point < 127) || (point >= 160 && point < 256))
        return (unsigned char)point; // WinAnsi is Latin-1 there
    if (point >= 0x391 && point <= 0x3c9 && greek[point - 0x391]) {
        *font = 1;
        return (unsigned char)greek[point - 0x391];
    }
    return point == 0x2212 ? '-' : '?';
}

static double width_of(const char *text, double size) {
    size_t length = strlen(text);
    double width = 0;
    for (size_t at = 0; at < length;) {
        int font;
        unsigned char byte = find_byte(utf8_decode(text, length, &at), &font);
        width += byte >= 32 && byte < 127 && !font ? widths[byte - 32] : 556;
    }
    return width * size / 1000;
}

// Pieces of the same font as hexadecimal strings.
static void put_text(struct pdf *p, const char *text, double size, bool bold) {
    size_t length = strlen(text);
    int last = -1;
    for (size_t at = 0; at < length;) {
        int font;
        unsigned char byte = find_byte(utf8_decode(text, length, &at), &font);
        if (font != last) {
            buf_puts(&p->page, last < 0 ? "" : "> Tj\n");
            buf_printf(&p->page, "/%s ", font ? "FS" : bold ? "FB" : "FN");
            put_number(&p->page, size);
            buf_puts(&p->page, "Tf <");
            last = font;
        }
        buf_printf(&p->page, "%02x", byte);
    }
    buf_puts(&p->page, last < 0 ? "" : "> Tj\n");
}

static void pdf_text(struct pen *pen, double x, double y, const char *text, double size, int anchor,
                     bool up, colour ink, bool bold) {
    struct pdf *p = (struct pdf *)pen;
    double before = width_of(text, size) * (anchor + 1) / 2;
    put_opacity(p, 1);
    put_colour(&p->page, ink, "rg");
    buf_puts(&p->page, up ? "BT 0 -1 -1 0 " : "BT 1 0 0 -1 ");
    put_number(&p->page, up ? x : x - before);
    put_number(&p->page, up ? y + before : y);
    buf_puts(&p->page, "Tm\n");
    put_text(p, text, size, bold);
    buf_puts(&p->page, "ET\n");
}

// ---- The file -----------------------------------------------------------------------------------

// Objects by number, and where each begins.
struct objects {
    struct buf *out;
    uint32_t count;
    size_t at[OBJECTS_FIRST + IMAGES_MOST + 1];
};

static void begin_object(struct objects *o, const char *text) {
    o->at[++o->count] = o->out->length;
    buf_printf(o->out, "%u 0 obj\n%s", o->count, text);
}

static void put_stream(struct objects *o, const char *dictionary, const struct buf *packed) {
    buf_printf(o->out, "<<%s /Filter /FlateDecode /Length %zu>>\nstream\n", dictionary,
               packed->length);
    buf_put(o->out, packed->data, packed->length);
    buf_puts(o->out, "\nendstream\nendobj\n");
    o->out->failed = o->out->failed || packed->failed;
}

// The title as UTF-16, as readers show it.
static void put_title(struct objects *o, const char *title) {
    size_t length = strlen(title);
    begin_object(o, "<</Title <feff");
    for (size_t at = 0; at < length;) {
        uint32_t point = utf8_decode(title, length, &at);
        if (point >= 0x10000)
            buf_printf(o->out, "%04x%04x", 0xd800 + ((point - 0x10000) >> 10),
                       0xdc00 + ((point - 0x10000) & 0x3ff));
        else
            buf_printf(o->out, "%04x", point);
    }
    buf_puts(o->out, "> /Producer (Shoal)>>\nendobj\n");
}

static void put_resources(struct objects *o, const struct pdf *p) {
    buf_puts(o->out, "/Resources <</Font <</FN 5 0 R /FB 6 0 R /FS 7 0 R>> /ExtGState <<");
    for (int i = 0; i <= PERCENT; i++)
        if (p->faint[i])
            buf_printf(o->out, "/G%d <</CA %d.%02d /ca %d.%02d>> ", i, i / PERCENT, i % PERCENT,
                       i / PERCENT, i % PERCENT);
    buf_puts(o->out, ">> /XObject <<");
    for (uint32_t i = 0; i < p->images; i++)
        buf_printf(o->out, "/I%u %u 0 R ", i, OBJECTS_FIRST + i + 1);
    buf_puts(o->out, ">>>>");
}

// The first colour is transparent.
static void put_image(struct objects *o, const struct pdf_image *image) {
    struct buf head = {0};
    buf_printf(&head,
               "/Type /XObject /Subtype /Image /Width %u /Height %u /BitsPerComponent 8 /Mask [0 "
               "0] /ColorSpace [/Indexed /DeviceRGB 255 <",
               image->width, image->height);
    for (int i = 0; i < 256; i++)
        buf_printf(&head, "%06x", image->colours[i]);
    buf_puts(&head, ">]");
    begin_object(o, "");
    if (head.failed)
        o->out->failed = true;
    else
        put_stream(o, head.data, &image->packed);
    buf_free(&head);
}

static void put_fonts(struct objects *o) {
    static const char *const fonts[] = {"Helvetica /Encoding /WinAnsiEncoding",
                                        "Helvetica-Bold /Encoding /WinAnsiEncoding", "Symbol"};
    for (int i = 0; i < 3; i++) {
        begin_object(o, "<</Type /Font /Subtype /Type1 /BaseFont /");
        buf_printf(o->out, "%s>>\nendobj\n", fonts[i]);
    }
}

static void put_end(struct objects *o) {
    size_t table = o->out->length;
    buf_printf(o->out, "xref\n0 %u\n0000000000 65535 f \n", o->count + 1);
    for (uint32_t i = 1; i <= o->count; i++)
        buf_printf(o->out, "%010zu 00000 n \n", o->at[i]);
    buf_printf(o->out, "trailer\n<</Size %u /Root 1 0 R /Info %d 0 R>>\nstartxref\n%zu\n%%%%EOF\n",
               o->count + 1, OBJECTS_FIRST, table);
}

static void put_file(const struct pdf *p, const struct figure *f, double width) {
    struct objects o = {.out = p->out};
    struct buf packed = {0};
    deflate_zlib(&packed, p->page.data, p->page.length);
    buf_puts(o.out, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
    begin_object(&o, "<</Type /Catalog /Pages 2 0 R>>\nendobj\n");
    begin_object(&o, "<</Type /Pages /Kids [3 0 R] /Count 1>>\nendobj\n");
    begin_object(&o, "<</Type /Page /Parent 2 0 R /Contents 4 0 R /MediaBox [0 0 ");
    put_number(o.out, width * points);
    put_number(o.out, p->height * points);
    buf_puts(o.out, "] ");
    put_resources(&o, p);
    buf_puts(o.out, ">>\nendobj\n");
    begin_object(&o, "");
    put_stream(&o, "", &packed);
    put_fonts(&o);
    put_title(&o, f->title);
    for (uint32_t i = 0; i < p->images; i++)
        put_image(&o, &p->image[i]);
    put_end(&o);
    buf_free(&packed);
}

void pdf_draw(const struct figure *f, double width, double height, struct buf *out) {
    struct pdf *p = calloc(1, sizeof *p);
    if (!p) {
        out->failed = true;
        return;
    }
    p->pen = (struct pen){.line = pdf_line,
                          .area = pdf_area,
                          .dots = pdf_dots,
                          .text = pdf_text,
                          .image = pdf_image,
                          .hatch = pdf_hatch,
                          .clip = pdf_clip};
    p->out = out;
    p->height = height;
    put_number(&p->page, points); // y goes down, as everywhere in figures
    buf_puts(&p->page, "0 0 ");
    put_number(&p->page, -points);
    buf_puts(&p->page, "0 ");
    put_number(&p->page, height * points);
    buf_puts(&p->page, "cm 1 J 1 j\n");
    pdf_area(&p->pen, (double[]){0, 0, width, 0, width, height, 0, height}, 4, f->theme->paper, 1);
    figure_draw(f, width, height, &p->pen);
    out->failed = out->failed || p->page.failed;
    if (!out->failed)
        put_file(p, f, width);
    for (uint32_t i = 0; i < p->images; i++)
        buf_free(&p->image[i].packed);
    buf_free(&p->page);
    free(p);
}
