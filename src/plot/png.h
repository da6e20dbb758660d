// SPDX-License-Identifier: MIT
// PNG files.
#ifndef SHOAL_PLOT_PNG_H
#define SHOAL_PLOT_PNG_H

#include "base/buf.h"
#include "plot/figure.h"

// Red, green, blue, so many bytes a row; per inch: pixels.
void png_put_rgb(struct buf *out, const uint8_t *rgb, uint32_t width, uint32_t height,
                 double per_inch);
// With its table of colours, the first of which is transparent.
void png_put_image(struct buf *out, const struct image *image);

#endif
