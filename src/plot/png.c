// SPDX-License-Identifier: MIT
// See png.h. Rows are predicted from the one above or the pixel before, whichever leaves less.
#include "plot/png.h"

#include "io/deflate.h"
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>

static void put_be(struct buf *out, uint32_t value) {
    for (int i = 3; i >= 0; i--)
        buf_putc(out, (char)(value >> 8 * i & 0xff));
}

static void put_chunk(struct buf *out, const char *kind, const void *bytes, size_t length) {
    put_be(out, (uint32_t)length);
    buf_put(out, kind, 4);
    buf_put(out, bytes, length);
    put_be(out, zip_crc(zip_crc(0, kind, 4), bytes, length));
}

static void put_head(struct buf *out, uint32_t width, uint32_t height, char colour_type) {
    struct buf head = {0};
    buf_put(out, "\x89PNG\r\n\x1a\n", 8);
    put_be(&head, width);
    put_be(&head, height);
    buf_putc(&head, 8);
    buf_putc(&head, colour_type);
    buf_put(&head, "\0\0\0", 3);
    put_chunk(out, "IHDR", head.data, head.length);
    out->failed = out->failed || head.failed;
    buf_free(&head);
}

static void put_data(struct buf *out, const uint8_t *rows, size_t length) {
    struct buf packed = {0};
    deflate_zlib(&packed, rows, length);
    out->failed = out->failed || packed.failed;
    if (!packed.failed)
        put_chunk(out, "IDAT", packed.data, packed.length);
    put_chunk(out, "IEND", "", 0);
    buf_free(&packed);
}

enum { NONE, SUB, UP, FILTERS };

static uint8_t before(const uint8_t *row, const uint8_t *above, size_t at, int filter) {
    if (filter == SUB)
        return at >= 3 ? row[at - 3] : 0;
    return filter == UP && above ? above[at] : 0;
}

static int best_filter(const uint8_t *row, const uint8_t *above, size_t bytes) {
    uint64_t least = UINT64_MAX;
    int best = NONE;
    for (int filter = NONE; filter < FILTERS; filter++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < bytes; i++)
            sum += (uint64_t)abs((int8_t)(row[i] - before(row, above, i, filter)));
        if (sum < least) {
            least = sum;
            best = filter;
        }
    }
    return best;
}

void png_put_rgb(struct buf *out, const uint8_t *rgb, uint32_t width, uint32_t height,
                 double per_inch) {
    size_t bytes = (size_t)width * 3, line = bytes + 1;
    uint8_t *rows = malloc(line * height);
    if (!rows) {
        out->failed = true;
        return;
    }
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *row = rgb + y * bytes, *above = y ? row - bytes : NULL;
        int filter = best_filter(row, above, bytes);
        rows[y * line] = (uint8_t)filter;
        for (size_t i = 0; i < bytes; i++)
            rows[y * line + 1 + i] = (uint8_t)(row[i] - before(row, above, i, filter));
    }
    struct buf size = {0};
    uint32_t per_metre = (uint32_t)(per_inch / 0.0254 + 0.5);
    put_head(out, width, height, 2);
    put_be(&size, per_metre);
    put_be(&size, per_metre);
    buf_putc(&size, 1);
    if (!size.failed)
        put_chunk(out, "pHYs", size.data, size.length);
    buf_free(&size);
    put_data(out, rows, line * height);
    free(rows);
}

void png_put_image(struct buf *out, const struct image *image) {
    uint8_t table[3 * 256], *rows = malloc(((size_t)image->width + 1) * image->height);
    if (!rows) {
        out->failed = true;
        return;
    }
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 3; k++)
            table[3 * i + k] = (uint8_t)(image->colours[i] >> (16 - 8 * k) & 0xff);
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = rows + y * ((size_t)image->width + 1);
        row[0] = NONE;
        memcpy(row + 1, image->place + (size_t)y * image->width, image->width);
    }
    put_head(out, image->width, image->height, 3);
    put_chunk(out, "PLTE", table, sizeof table);
    put_chunk(out, "tRNS", "\0", 1);
    put_data(out, rows, ((size_t)image->width + 1) * image->height);
    free(rows);
}
