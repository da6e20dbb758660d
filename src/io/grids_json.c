// SPDX-License-Identifier: MIT
// Grids as JSON: [[1, 2], [3, 4]] is one, a list of such is several, null is one that was marked.
// Of an object, as ARC's tasks are, `select` names the way: train.input is the member `train`, and
// the member `input` of each element of it.
#include "base/json.h"
#include "io/grids.h"

#include <stdio.h>
#include <string.h>

struct reading {
    const char *path;
    struct json json;
    struct shoal_grid_file *file;
    struct report *report;
    bool found; // what select names
};

// What a value turned out to be.
enum shape { BROKEN, NOTHING, CELL, EMPTY, ROW, GRID, LIST };

static enum shape wrong(struct reading *g, const char *what) {
    report_error(g->report, SHOAL_INPUT, "%s: grid %llu, at byte %llu: %s", g->path,
                 (unsigned long long)g->file->count + 1, (unsigned long long)g->json.at, what);
    return BROKEN;
}

static enum shape read_cell(struct reading *g) {
    double v = g->json.number;
    if (!(v >= -2147483648.0 && v <= 2147483647.0) || v != (double)(int32_t)v)
        return wrong(g, "a cell is a whole number from -2147483648 to 2147483647");
    if (!grids_push_cell(g->file, (int32_t)v))
        return wrong(g, "not enough memory");
    return CELL;
}

static enum shape read_value(struct reading *g, enum json_kind kind, const char *select);

struct rows {
    uint64_t height, width, before;
    enum shape of; // its elements
};

// One more element of an array; whether it goes with those before.
static enum shape add_element(struct reading *g, struct rows *a, enum shape e, bool selecting) {
    uint64_t cells = g->file->cell_count - a->before;
    a->before = g->file->cell_count;
    if (e == BROKEN || e == NOTHING)
        return e;
    if (selecting)
        return LIST;
    if (e == CELL) {
        if (a->of != EMPTY && a->of != CELL)
            return wrong(g, "a number stands among rows");
        a->of = CELL;
        a->width++;
        return ROW;
    }
    if (e == ROW) {
        if (a->of != EMPTY && a->of != ROW)
            return wrong(g, "a row stands among something else");
        if (a->of == ROW && cells != a->width)
            return wrong(g, "rows of one grid have different lengths");
        a->of = ROW;
        a->width = cells;
        a->height++;
        return GRID;
    }
    if (a->of == CELL || a->of == ROW)
        return wrong(g, "grids stand among numbers or rows");
    a->of = GRID;
    if (e == EMPTY && !grids_push_grid(g->file, 0, 0))
        return wrong(g, "not enough memory");
    return LIST;
}

static enum shape read_array(struct reading *g, const char *select) {
    struct rows a = {.before = g->file->cell_count, .of = EMPTY};
    enum shape is = *select ? LIST : EMPTY;
    for (bool first = true;; first = false) {
        enum json_kind kind = json_next(&g->json);
        if (kind == JSON_ARRAY_END)
            break;
        enum shape e = add_element(g, &a, read_value(g, kind, select), *select);
        if (e == BROKEN)
            return BROKEN;
        is = e == NOTHING && first ? NOTHING : e == NOTHING ? is : e;
    }
    if (is != GRID)
        return is;
    if (a.height > INT32_MAX || a.width > INT32_MAX)
        return wrong(g, "it is too large");
    if (!grids_push_grid(g->file, (int32_t)a.height, (int32_t)a.width))
        return wrong(g, "not enough memory");
    return GRID;
}

// The member that is named first; the others are passed over.
static enum shape read_object(struct reading *g, const char *select) {
    size_t n = strcspn(select, ".");
    enum shape is = NOTHING;
    if (!*select)
        return wrong(g, "this is an object: --select says which part of it, such as train.input");
    for (;;) {
        enum json_kind kind = json_next(&g->json);
        if (kind == JSON_OBJECT_END)
            return is;
        if (kind != JSON_NAME)
            return wrong(g, g->json.error ? g->json.error : "no JSON");
        bool same = strlen(g->json.text.data) == n && !memcmp(g->json.text.data, select, n);
        if (!same && !json_skip(&g->json))
            return wrong(g, g->json.error ? g->json.error : "no JSON");
        if (!same)
            continue;
        is = read_value(g, json_next(&g->json), select + n + (select[n] == '.'));
        if (is == BROKEN)
            return BROKEN;
        if (is == ROW || is == CELL || is == EMPTY)
            return wrong(g, "what is selected is no grid");
    }
}

// An element of a list, or the whole.
static enum shape read_value(struct reading *g, enum json_kind kind, const char *select) {
    g->found |= !*select;
    switch (kind) {
    case JSON_OBJECT:
        return read_object(g, select);
    case JSON_ARRAY:
        return read_array(g, select);
    case JSON_NULL:
        return *select ? NOTHING : EMPTY;
    case JSON_NUMBER:
        if (!*select)
            return read_cell(g);
        return NOTHING;
    case JSON_ERROR:
        return wrong(g, g->json.error ? g->json.error : "no JSON");
    default:
        return *select ? NOTHING : wrong(g, "a grid has numbers only");
    }
}

shoal_code grids_from_json(const char *path, const char *text, size_t length, const char *select,
                           struct shoal_grid_file *f, struct report *r) {
    struct reading g = {.path = path, .file = f, .report = r};
    f->exact = true;
    json_open_text(&g.json, text, length);
    enum shape is = read_value(&g, json_next(&g.json), select ? select : "");
    if (is == CELL || is == ROW)
        is = wrong(&g, "this is no grid, which is a list of rows");
    if (is != BROKEN && json_next(&g.json) != JSON_END)
        is = wrong(&g, g.json.error ? g.json.error : "no JSON");
    if (is != BROKEN && select && (!g.found || is == NOTHING))
        is = wrong(&g, "there is nothing that --select names");
    f->single = is == GRID && !select;
    json_close(&g.json);
    return is == BROKEN ? SHOAL_INPUT : SHOAL_OK;
}

static void put_grid(const shoal_grids_out *out, uint64_t i, struct buf *text) {
    struct grids_item g = grids_item(out, i);
    if (g.marked) {
        buf_puts(text, "null");
        return;
    }
    for (int32_t y = 0; y < g.height; y++) {
        buf_puts(text, y ? ", [" : "[[");
        for (int32_t x = 0; x < g.width; x++)
            buf_printf(text, x ? ", %d" : "%d",
                       grids_cell(out->type, out->cells,
                                  g.first + (uint64_t)y * (uint64_t)g.width + (uint64_t)x));
        buf_putc(text, ']');
    }
    buf_putc(text, ']');
}

void grids_to_json(const shoal_grids_out *out, uint64_t count, bool single, struct buf *text) {
    if (single && count == 1) {
        put_grid(out, 0, text);
    } else {
        buf_putc(text, '[');
        for (uint64_t i = 0; i < count; i++) {
            buf_puts(text, i ? ",\n " : "");
            put_grid(out, i, text);
        }
        buf_putc(text, ']');
    }
    buf_putc(text, '\n');
}
