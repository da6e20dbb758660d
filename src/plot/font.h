// SPDX-License-Identifier: MIT
// Letters as strokes, for pictures made of pixels, and how wide text is: ASCII, Latin-1, Greek, and
// some signs.
#ifndef SHOAL_PLOT_FONT_H
#define SHOAL_PLOT_FONT_H

#include <stddef.h>

// Widths and places are for text of that size, in the same unit.
double font_width(const char *text, double size);

// Calls for every stroke of the text whose baseline begins at 0,0; y goes down. A character that
// there are no strokes for is a box.
typedef void font_stroke(void *user, const double *xy, size_t points);
void font_draw(const char *text, double size, font_stroke *stroke, void *user);
double font_weight(double size); // of a stroke

#endif
