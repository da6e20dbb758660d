// SPDX-License-Identifier: MIT
// Grids as plain text: a row a line, numbers apart by blanks or commas, an empty line between two
// grids, # before a comment. A marked grid is written as its status word in a comment.
#include "base/ascii.h"
#include "io/grids.h"

#include <string.h>

struct lines {
    struct source source;
    struct shoal_grid_file *file;
    struct report *report;
    int64_t height, width; // of the grid so far
};

static bool wrong(struct lines *l, size_t at, const char *what) {
    report_at(l->report, SHOAL_ERROR, &l->source, at, "%s", what);
    return false;
}

// A number at *at, which moves behind it.
static bool read_number(struct lines *l, size_t *at) {
    const struct source *s = &l->source;
    size_t i = *at;
    bool minus = s->text[i] == '-';
    int64_t v = 0;
    i += minus;
    size_t digits = i;
    for (; i < s->length && ascii_digit(s->text[i]) && v <= INT32_MAX; i++)
        v = v * 10 + (s->text[i] - '0');
    v = minus ? -v : v;
    if (i == digits || v > INT32_MAX || v < INT32_MIN || (i < s->length && ascii_word(s->text[i])))
        return wrong(l, *at, "a cell is a whole number from -2147483648 to 2147483647");
    *at = i;
    return grids_push_cell(l->file, (int32_t)v) || wrong(l, i, "not enough memory");
}

static bool end_grid(struct lines *l) {
    bool ok = !l->height || grids_push_grid(l->file, (int32_t)l->height, (int32_t)l->width);
    l->height = l->width = 0;
    return ok;
}

static bool read_line(struct lines *l, size_t at, size_t end) {
    int64_t width = 0;
    size_t start = at;
    while (at < end && l->source.text[at] != '#') {
        if (l->source.text[at] == ',' || ascii_space(l->source.text[at])) {
            at++;
            continue;
        }
        if (!read_number(l, &at))
            return false;
        width++;
    }
    if (!width)
        return at < end || end_grid(l); // a comment is no empty line
    if (l->height && width != l->width)
        return wrong(l, start, "rows of one grid have different lengths");
    l->width = width;
    l->height++;
    return true;
}

shoal_code grids_from_text(const char *path, const char *text, size_t length,
                           struct shoal_grid_file *f, struct report *r) {
    struct lines l = {.source = {path, text, length}, .file = f, .report = r};
    f->exact = true;
    for (size_t at = 0; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline ? (size_t)(newline - text) : length;
        if (!read_line(&l, at, end))
            return SHOAL_INPUT;
        at = end + 1;
    }
    return end_grid(&l) ? SHOAL_OK : SHOAL_MEMORY;
}

void grids_to_text(const shoal_grids_out *out, uint64_t count, const char *(*word)(int status),
                   struct buf *text) {
    for (uint64_t i = 0; i < count; i++) {
        struct grids_item g = grids_item(out, i);
        buf_puts(text, i ? "\n" : "");
        if (g.marked)
            buf_printf(text, "# %s\n", word(out->status[i]));
        for (int32_t k = 0; !g.marked && k < g.height * g.width; k++)
            buf_printf(text, "%d%c", grids_cell(out->type, out->cells, g.first + (uint64_t)k),
                       (k + 1) % g.width ? ' ' : '\n');
    }
}
