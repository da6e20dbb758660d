// SPDX-License-Identifier: MIT
// See font.h. A glyph is a text of its own: `l` and points of a line, or `a` and an arc as centre,
// radii, first and last angle in degrees, clockwise from the right. Capitals are 10 high and stand
// on y = 10.
#include "plot/font.h"

#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

enum { FIRST = ' ', LAST = '~', ARC_STEP = 15, POINTS_MOST = 64 };
static const double unit = 0.072; // of the size

static const struct glyph {
    double width;
    const char *path;
} glyphs[LAST - FIRST + 1] = {
    {3.6, ""},
    {3, "l 0.6 0 0.6 6.8 l 0.6 9.6 0.6 9.8"},
    {4.4, "l 0.6 0 0.6 3 l 2.8 0 2.8 3"},
    {8, "l 2.4 0.5 1.4 9.5 l 5.4 0.5 4.4 9.5 l 0.4 3.3 6.8 3.3 l 0 6.7 6.4 6.7"},
    {7.4, "a 2.9 2.9 2.5 2.1 -30 -270 a 2.9 7.1 2.7 2.1 270 510 l 2.9 -0.8 2.9 10.8"},
    {10.6, "a 1.9 2.3 1.9 2.3 0 360 a 7.3 7.7 1.9 2.3 0 360 l 7 0 2.2 10"},
    {9, "l 7.4 10 1.6 2.9 a 2.9 2 1.6 2 150 395 l 4.2 3.1 1.2 5.2 a 2.7 7.4 2.7 2.6 230 70 l 3.6 "
        "9.8 6.6 6"},
    {2.4, "l 0.6 0 0.6 3"},
    {4, "a 4.7 6 4.2 7.5 235 125"},
    {4, "a -2 6 4.2 7.5 -55 55"},
    {5.4, "l 2 0 2 4.4 l 0 1.1 4 3.3 l 4 1.1 0 3.3"},
    {7.6, "l 0.4 6 5.6 6 l 3 3.4 3 8.6"},
    {3.4, "l 1.2 9.5 0.4 11.6"},
    {5, "l 0.4 6.2 3.4 6.2"},
    {3.2, "l 0.8 9.6 0.8 9.8"},
    {5, "l 3.6 -0.6 0 11.4"},
    {8, "a 3 5 3 5 0 360"},
    {8, "l 0.8 2 3.2 0 3.2 10"},
    {8, "a 3 3 2.8 3 180 390 l 5.43 4.5 0.1 10 6 10"},
    {8, "a 2.8 2.5 2.5 2.5 195 450 a 2.8 7.5 2.9 2.5 270 525"},
    {8, "l 4.6 10 4.6 0 0 7 6.3 7"},
    {8, "l 5.4 0 1.1 0 0.6 4.3 a 2.8 6.6 3.1 3.4 225 500"},
    {8, "a 3 6.8 2.9 3.2 0 360 a 5 6.8 4.9 6.8 180 262"},
    {8, "l 0 0 6 0 2.2 10"},
    {8, "a 3 2.5 2.5 2.5 0 360 a 3 7.5 2.9 2.5 0 360"},
    {8, "a 3 3.2 2.9 3.2 0 360 a 1 3.2 4.9 6.8 0 82"},
    {3.2, "l 0.8 4.2 0.8 4.4 l 0.8 9.6 0.8 9.8"},
    {3.4, "l 1 4.2 1 4.4 l 1.2 9.5 0.4 11.6"},
    {7.6, "l 5.6 3 0.4 6 5.6 9"},
    {7.6, "l 0.4 4.6 5.6 4.6 l 0.4 7.4 5.6 7.4"},
    {7.6, "l 0.4 3 5.6 6 0.4 9"},
    {7, "a 2.7 2.6 2.6 2.6 190 405 l 4.5 4.4 2.9 5.8 2.9 7 l 2.9 9.6 2.9 9.8"},
    {12, "a 5 5.6 5 5.6 40 -290 a 4.8 5.6 2.2 2.6 0 360 l 7 3 7 7.4 a 8.5 7.2 1.5 1.4 170 0"},
    {9, "l 0 10 3.6 0 7.2 10 l 1.3 6.6 5.9 6.6"},
    {8.4, "l 3.5 4.8 0 4.8 l 3.5 0 0 0 0 10 3.9 10 a 3.5 2.4 2.4 2.4 270 450 a 3.9 7.4 2.6 2.6 270 "
          "450"},
    {9, "a 4 5 4 5 50 310"},
    {9, "l 3 0 0 0 0 10 3 10 a 3 5 4 5 270 450"},
    {7.8, "l 5.6 0 0 0 0 10 5.8 10 l 0 4.8 5 4.8"},
    {7.4, "l 5.6 0 0 0 0 10 l 0 4.9 4.8 4.9"},
    {9.8, "a 4 5 4 5 0 310 l 8 5.2 4.8 5.2"},
    {9, "l 0 0 0 10 l 7 0 7 10 l 0 4.8 7 4.8"},
    {2.8, "l 0.4 0 0.4 10"},
    {6.4, "l 4.4 0 4.4 7.2 a 2.2 7.2 2.2 2.8 0 170"},
    {8.2, "l 0 0 0 10 l 6 0 0 6.2 l 2.3 4 6.4 10"},
    {7, "l 0 0 0 10 5.4 10"},
    {10, "l 0 10 0 0 4 7 8 0 8 10"},
    {9, "l 0 10 0 0 7 10 7 0"},
    {10.2, "a 4.2 5 4.2 5 0 360"},
    {8.2, "l 0 10 0 0 3.6 0 a 3.6 2.8 2.8 2.8 270 450 l 3.6 5.6 0 5.6"},
    {10.2, "a 4.2 5 4.2 5 0 360 l 5 7.4 8 10.6"},
    {8.6, "l 0 10 0 0 3.6 0 a 3.6 2.8 2.8 2.8 270 450 l 3.6 5.6 0 5.6 l 3.4 5.6 6.6 10"},
    {8, "a 3.2 2.5 2.8 2.5 -30 -270 a 3.2 7.5 3 2.5 270 510"},
    {8.4, "l 0 0 7 0 l 3.5 0 3.5 10"},
    {9, "l 0 0 0 6.6 a 3.5 6.6 3.5 3.4 180 0 l 7 6.6 7 0"},
    {9, "l 0 0 3.6 10 7.2 0"},
    {11.8, "l 0 0 2.4 10 5 1 7.6 10 10 0"},
    {8.4, "l 0 0 6.6 10 l 6.6 0 0 10"},
    {8.4, "l 0 0 3.4 5.2 6.8 0 l 3.4 5.2 3.4 10"},
    {8.2, "l 0.2 0 6.4 0 0 10 6.6 10"},
    {4, "l 2.6 -1 0.4 -1 0.4 12.6 2.6 12.6"},
    {5, "l 0 -0.6 3.6 11.4"},
    {4, "l 0 -1 2.2 -1 2.2 12.6 0 12.6"},
    {6.6, "l 0.2 4 2.6 0 5 4"},
    {7, "l 0 11.6 6 11.6"},
    {4, "l 0.4 0 2 2"},
    {7.8, "a 2.9 6.5 2.9 3.5 0 360 l 5.8 3 5.8 10"},
    {7.8, "l 0 0 0 10 a 2.9 6.5 2.9 3.5 0 360"},
    {6.8, "a 2.9 6.5 2.9 3.5 45 315"},
    {7.8, "l 5.8 0 5.8 10 a 2.9 6.5 2.9 3.5 0 360"},
    {7.6, "l 0.1 6.4 5.8 6.4 a 2.9 6.5 2.9 3.5 0 -315"},
    {4.4, "a 3.2 2.2 2 2.2 290 180 l 1.2 2.2 1.2 10 l 0 3.3 3 3.3"},
    {7.8, "a 2.9 6.5 2.9 3.5 0 360 l 5.8 3 5.8 10.3 a 2.9 10.3 2.9 2.7 0 150"},
    {7.2, "l 0 0 0 10 a 2.6 5.8 2.6 2.8 180 360 l 5.2 5.8 5.2 10"},
    {2.6, "l 0.4 3 0.4 10 l 0.4 0.4 0.4 0.6"},
    {3.6, "l 1.6 3 1.6 11 a 0 11 1.6 2 0 100 l 1.6 0.4 1.6 0.6"},
    {6.8, "l 0 0 0 10 l 4.6 3.2 0 7.4 l 1.8 5.8 5 10"},
    {2.6, "l 0.4 0 0.4 10"},
    {10.4, "l 0 3 0 10 a 2.1 5.2 2.1 2.2 180 360 l 4.2 5.2 4.2 10 a 6.3 5.2 2.1 2.2 180 360 l 8.4 "
           "5.2 8.4 10"},
    {7.2, "l 0 3 0 10 a 2.6 5.8 2.6 2.8 180 360 l 5.2 5.8 5.2 10"},
    {7.8, "a 2.9 6.5 2.9 3.5 0 360"},
    {7.8, "l 0 3 0 13 a 2.9 6.5 2.9 3.5 0 360"},
    {7.8, "l 5.8 3 5.8 13 a 2.9 6.5 2.9 3.5 0 360"},
    {4.6, "l 0 3 0 10 a 2.8 5.8 2.8 2.8 180 290"},
    {6.6, "a 2.4 4.7 2.2 1.7 -30 -270 a 2.4 8.2 2.4 1.8 270 510"},
    {4.4, "l 1.2 0.8 1.2 8.2 a 3 8.2 1.8 1.8 180 80 l 0 3.2 3 3.2"},
    {7.2, "l 0 3 0 7.2 a 2.6 7.2 2.6 2.8 180 0 l 5.2 3 5.2 10"},
    {7, "l 0 3 2.7 10 5.4 3"},
    {9.8, "l 0 3 1.9 10 4 4 6.1 10 8 3"},
    {6.8, "l 0.2 3 5 10 l 5 3 0.2 10"},
    {7, "l 0 3 2.8 9.9 l 5.6 3 2.2 11.6 1.2 12.8 0.2 13"},
    {6.8, "l 0.2 3 4.8 3 0.2 10 5 10"},
    {4.6, "l 3 -1 2.2 -1 1.6 -0.4 1.6 4.6 0.4 5.8 1.6 7 1.6 12 2.2 12.6 3 12.6"},
    {2.6, "l 0.4 -1 0.4 12.6"},
    {4.6, "l 0 -1 0.8 -1 1.4 -0.4 1.4 4.6 2.6 5.8 1.4 7 1.4 12 0.8 12.6 0 12.6"},
    {7.6, "a 1.8 6.2 1.4 1.2 180 330 a 4.4 5.6 1.5 1.2 150 0"},
};
static const struct glyph unknown = {7.4, "l 0 0 5.4 0 5.4 10 0 10 0 0"};

// ---- Beyond ASCII -------------------------------------------------------------------------------

static const struct {
    uint32_t point;
    struct glyph glyph;
} more[] = {
    {0xb0, {4.4, "a 1.5 1.6 1.5 1.6 0 360"}},
    {0xb1, {7.6, "l 0.4 4.6 5.6 4.6 l 3 2 3 7.2 l 0.4 9.6 5.6 9.6"}},
    {0xb5, {7.4, "l 0.2 3 0.2 13 a 2.8 7.2 2.6 2.8 180 0 l 5.4 3 5.4 10"}},
    {0xb7, {3.2, "l 0.8 5.8 0.8 6"}},
    {0xd7, {7.6, "l 0.8 3.8 5.2 8.2 l 5.2 3.8 0.8 8.2"}},
    {0xdf, {7.6, "l 0.2 10 0.2 2.4 a 2.4 2.4 2.2 2.4 180 450 a 2.6 7.4 2.8 2.6 270 450"}},
    {0x393, {7, "l 0 10 0 0 5.4 0"}},
    {0x394, {9.2, "l 3.7 0 0 10 7.4 10 3.7 0"}},
    {0x398, {9.8, "a 4 5 4 5 0 360 l 2 5 6 5"}},
    {0x39b, {9, "l 0 10 3.6 0 7.2 10"}},
    {0x39e, {8.4, "l 0.4 0 6.4 0 l 1.2 4.9 5.6 4.9 l 0 10 6.8 10"}},
    {0x3a0, {8.8, "l 0 10 0 0 7 0 7 10"}},
    {0x3a3, {8, "l 6.2 0 0.2 0 3.6 4.8 0.2 10 6.4 10"}},
    {0x3a6, {9.8, "a 4 5 4 3.4 0 360 l 4 0 4 10"}},
    {0x3a8, {9.4, "l 0 0 0 3.4 a 3.8 3.4 3.8 3.8 180 0 l 7.6 3.4 7.6 0 l 3.8 0 3.8 10"}},
    {0x3a9, {9.8, "l 0 10 2.3 10 2.3 8 a 4 4.2 4 4.2 115 425 l 5.7 8 5.7 10 8 10"}},
    {0x3b1, {8, "a 2.7 6.5 2.7 3.5 40 320 l 4.77 4.25 6.3 10 l 4.77 8.75 6.3 3"}},
    {0x3b2,
     {7.4, "l 0.2 13 0.2 2.4 a 2.4 2.4 2.2 2.4 180 450 a 2.6 7.4 2.8 2.6 270 450 l 2.6 10 "
           "0.2 9"}},
    {0x3b3, {7, "l 0 3.4 0.9 3 2.8 9 l 5.4 3 2.8 9 2.5 12.8"}},
    {0x3b4, {7.4, "a 2.7 6.9 2.7 3.1 0 360 l 4.4 4.5 1.2 2 1.8 0.4 4.6 0.2"}},
    {0x3b5, {6.4, "a 2.6 4.7 2.2 1.7 -30 -270 a 2.6 8.2 2.4 1.8 -90 -330"}},
    {0x3b6, {6.4, "l 0.6 0.2 4.8 0.2 a 4.8 6 4.6 5 240 110 l 3.4 10.8 4.6 11.6 3.8 13"}},
    {0x3b7, {7.2, "l 0 3 0 10 a 2.6 5.8 2.6 2.8 180 360 l 5.2 5.8 5.2 13"}},
    {0x3b8, {7.4, "a 2.7 5 2.7 5 0 360 l 0.2 5 5.2 5"}},
    {0x3b9, {4, "l 0.8 3 0.8 8.8 1.6 9.9 2.4 9.9"}},
    {0x3ba, {6.8, "l 0.2 3 0.2 10 l 4.8 3 0.2 7 l 2 5.6 5 10"}},
    {0x3bb, {7, "l 0.5 0 1.5 0 5.4 10 l 2.9 4.2 0.2 10"}},
    {0x3bc, {7.4, "l 0.2 3 0.2 13 a 2.8 7.2 2.6 2.8 180 0 l 5.4 3 5.4 10"}},
    {0x3bd, {7, "l 0 3 2.7 10 5.4 3"}},
    {0x3be,
     {6.4, "l 1 0.2 4.6 0.2 a 3 2.5 2.2 2.2 270 90 a 3.2 7.4 2.8 2.7 270 90 l 3.2 10.1 4.6 "
           "11 4 12.8"}},
    {0x3c0, {7.8, "l 0 3.2 6.2 3.2 l 1.4 3.2 1.2 10 l 4.6 3.2 4.6 9.2 5.6 10"}},
    {0x3c1, {7.6, "a 2.9 6.5 2.7 3.5 0 360 l 0.2 6.5 0.2 13"}},
    {0x3c2, {6.6, "a 3 6.2 3 3.2 310 100 l 2.5 9.4 4.4 10.6 3.6 12.8"}},
    {0x3c3, {8, "a 2.8 6.6 2.8 3.4 0 360 l 2.8 3.2 6.4 3.2"}},
    {0x3c4, {7, "l 0 3.2 5.4 3.2 l 2.7 3.2 2.7 9 3.4 10 4.4 10"}},
    {0x3c5, {7.2, "l 0 3 0.2 7.2 a 2.7 7.2 2.5 2.8 180 0 l 5.2 7.2 5.4 3"}},
    {0x3c6, {8.2, "a 3.2 6.5 3.2 3.4 0 360 l 3.2 0.6 3.2 13"}},
    {0x3c7, {7, "l 0.2 3 5.2 13 l 5.2 3 0.2 13"}},
    {0x3c8, {7.8, "l 0 3 0 6.4 a 3 6.4 3 3.6 180 0 l 6 6.4 6 3 l 3 1 3 13"}},
    {0x3c9,
     {9, "l 1 3 0.2 6 a 1.9 7.4 1.8 2.6 200 0 l 3.7 7.4 3.7 5.4 a 5.5 7.4 1.8 2.6 180 -20 l "
         "7.2 6 6.4 3"}},
    {0x2212, {7.6, "l 0.4 6 5.6 6"}},
    {0x221e, {9.4, "a 2 6 2 2 0 360 a 6 6 2 2 0 360"}},
    {0x2264, {7.6, "l 5.6 2 0.4 4.6 5.6 7.2 l 0.4 9.6 5.6 9.6"}},
    {0x2265, {7.6, "l 0.4 2 5.6 4.6 0.4 7.2 l 0.4 9.6 5.6 9.6"}},
};

// Marks over a letter whose middle is at 0 and whose top is at 0.
static const struct {
    char name;
    const char *path;
} marks[] = {
    {'`', "l -1.4 -3 0.4 -1.2"},
    {'\'', "l 1.4 -3 -0.4 -1.2"},
    {'^', "l -1.8 -1.2 0 -3 1.8 -1.2"},
    {'~', "l -2 -1.4 -1 -2.4 1 -1.6 2 -2.6"},
    {':', "l -1.4 -2.2 -1.4 -2 l 1.4 -2.2 1.4 -2"},
    {'o', "a 0 -2.2 1.2 1.2 0 360"},
};

// A letter of Latin-1 is one of ASCII and a mark; 0: it is none.
static const char latin_letters[] =
    "AAAAAA\0CEEEEIIII\0NOOOOO\0\0UUUUY\0\0aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0y";
static const char latin_marks[] =
    "`'^~:o ,`'^:`'^: ~`'^~:  `'^:'  `'^~:o ,`'^:`'^: ~`'^~:  `'^:' :";

// Capitals that look like Latin ones, from U+0391 on; o of omicron.
static const char greek_letters[] = "AB\0\0EZH\0IK\0MN\0O\0P\0\0TY\0X";

// What is drawn for a code point: a glyph, smaller and higher or lower, with a mark.
struct letter {
    const struct glyph *glyph;
    const char *mark; // NULL: none
    double mark_top;  // of the letter
    double scale, drop;
};

static const struct glyph *ascii_glyph(uint32_t point) {
    return point >= FIRST && point <= LAST ? &glyphs[point - FIRST] : NULL;
}

static struct letter marked(char base, char mark) {
    struct letter l = {.glyph = ascii_glyph((unsigned char)base), .scale = 1};
    l.mark_top = base >= 'a' ? 2.8 : 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (marks[i].name == mark)
            l.mark = marks[i].path;
    if (mark == ',')
        l.mark = "l 0 1 -0.6 2.4", l.mark_top = 9.4;
    return l;
}

static struct letter small_digit(uint32_t digit, double drop) {
    return (struct letter){.glyph = ascii_glyph('0' + digit), .scale = 0.62, .drop = drop};
}

static struct letter find_letter(uint32_t point) {
    const struct glyph *g = ascii_glyph(point);
    if (!g && point >= 0xc0 && point <= 0xff && latin_letters[point - 0xc0])
        return marked(latin_letters[point - 0xc0], latin_marks[point - 0xc0]);
    if (point == 0xb9 || point == 0xb2 || point == 0xb3)
        return small_digit(point == 0xb9 ? 1 : point - 0xb0, -4.5);
    if (point == 0x2070 || (point >= 0x2074 && point <= 0x2079))
        return small_digit(point - 0x2070, -4.5);
    if (point >= 0x2080 && point <= 0x2089)
        return small_digit(point - 0x2080, 2);
    if (!g && point >= 0x391 && point < 0x391 + sizeof greek_letters - 1)
        g = ascii_glyph((unsigned char)greek_letters[point - 0x391]);
    if (point == 0x3bf)
        g = ascii_glyph('o');
    for (size_t i = 0; i < sizeof more / sizeof *more && !g; i++)
        g = more[i].point == point ? &more[i].glyph : NULL;
    return (struct letter){.glyph = g ? g : &unknown, .scale = 1};
}

double font_width(const char *text, double size) {
    size_t length = strlen(text);
    double width = 0;
    for (size_t at = 0; at < length;) {
        struct letter l = find_letter(utf8_decode(text, length, &at));
        width += l.glyph->width * l.scale;
    }
    return width * unit * size;
}

double font_weight(double size) { return size * 0.085; }

struct stroker {
    double x, y, scale;
    font_stroke *stroke;
    void *user;
    double point[2 * POINTS_MOST];
    size_t points;
};

static void add_point(struct stroker *s, double x, double y) {
    if (s->points < POINTS_MOST) {
        s->point[2 * s->points] = s->x + x * s->scale;
        s->point[2 * s->points + 1] = s->y + (y - 10) * s->scale;
        s->points++;
    }
}

static void add_arc(struct stroker *s, const double *a) {
    int steps = (int)(fabs(a[5] - a[4]) / ARC_STEP) + 1;
    for (int i = 0; i <= steps; i++) {
        double angle = (a[4] + (a[5] - a[4]) * i / steps) * (M_PI / 180);
        add_point(s, a[0] + a[2] * cos(angle), a[1] + a[3] * sin(angle));
    }
}

static void end_stroke(struct stroker *s) {
    if (s->points)
        s->stroke(s->user, s->point, s->points);
    s->points = 0;
}

static void draw_glyph(struct stroker *s, const char *path) {
    size_t left = strlen(path);
    while (left) {
        char kind = *path;
        double number[2 * POINTS_MOST];
        size_t n = 0, used;
        path++, left--;
        while (left && *path == ' ' && n < 2 * POINTS_MOST &&
               (used = number_read(path + 1, left - 1, NUMBER_SIGNED, &number[n]))) {
            path += used + 1, left -= used + 1;
            n++;
        }
        if (kind == 'a')
            add_arc(s, number);
        for (size_t i = 0; kind == 'l' && i + 1 < n; i += 2)
            add_point(s, number[i], number[i + 1]);
        if (kind != ' ')
            end_stroke(s);
    }
}

static void draw_letter(struct stroker *s, const struct letter *l) {
    double x = s->x, scale = s->scale;
    s->scale = scale * l->scale;
    s->y = l->drop * scale;
    draw_glyph(s, l->glyph->path);
    s->scale = scale;
    if (l->mark) {
        s->x = x + (l->glyph->width - 1.6) / 2 * scale; // a glyph has its air on the right
        s->y = l->mark_top * scale;
        draw_glyph(s, l->mark);
    }
    s->x = x + l->glyph->width * l->scale * scale;
}

void font_draw(const char *text, double size, font_stroke *stroke, void *user) {
    size_t length = strlen(text);
    struct stroker s = {.scale = unit * size, .stroke = stroke, .user = user};
    for (size_t at = 0; at < length;) {
        struct letter l = find_letter(utf8_decode(text, length, &at));
        draw_letter(&s, &l);
    }
}
