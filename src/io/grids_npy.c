// SPDX-License-Identifier: MIT
// Grids as NumPy's arrays: a stack as .npy or as one array of an .npz; grids of different shapes as
// the arrays values, shapes and offsets of an .npz.
#include "io/grids.h"
#include "io/npy.h"
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t cells_most = (uint64_t)1 << 34;

// ---- Reading ------------------------------------------------------------------------------------

// Any integer of an array, as it is.
static int64_t integer_at(const struct npy *a, uint64_t i) {
    const unsigned char *p = (const unsigned char *)a->data + i * a->size;
    uint64_t v = 0;
    for (uint32_t k = 0; k < a->size; k++)
        v |= (uint64_t)p[a->big ? a->size - 1 - k : k] << (8 * k);
    if (a->kind == 'i' && a->size < 8 && v >> (8 * a->size - 1))
        v |= ~(uint64_t)0 << (8 * a->size);
    return (int64_t)v;
}

static bool is_integer(const struct npy *a) {
    return (a->kind == 'i' || a->kind == 'u' || a->kind == 'b') && a->size <= 8;
}

static shoal_cell type_of(const struct npy *a) {
    return a->kind == 'u' && a->size == 1   ? SHOAL_U8
           : a->kind == 'i' && a->size == 2 ? SHOAL_I16
                                            : SHOAL_I32;
}

static void set_cell(struct shoal_grid_file *f, uint64_t i, int64_t v) {
    if (f->type == SHOAL_U8)
        ((uint8_t *)f->cells)[i] = (uint8_t)v;
    else if (f->type == SHOAL_I16)
        ((int16_t *)f->cells)[i] = (int16_t)v;
    else
        ((int32_t *)f->cells)[i] = (int32_t)v;
}

// Where cell i, in reading order, stands in an array whose first axis is the fastest.
static uint64_t by_columns(const struct npy *a, uint64_t i) {
    uint64_t at = 0, step = 1, index[NPY_DIMS];
    for (uint32_t k = a->dims; k-- > 0; i /= a->shape[k])
        index[k] = i % a->shape[k];
    for (uint32_t k = 0; k < a->dims; k++) {
        at += index[k] * step;
        step *= a->shape[k];
    }
    return at;
}

static shoal_code take_cells(const char *path, const struct npy *a, struct shoal_grid_file *f,
                             struct report *r) {
    if (!is_integer(a))
        return report_error(r, SHOAL_INPUT, "%s: cells of grids are integers", path);
    if (a->count > cells_most)
        return report_error(r, SHOAL_INPUT, "%s: these are too many cells", path);
    f->type = type_of(a);
    f->cell_count = a->count;
    f->cells = malloc(a->count * grids_cell_bytes(f->type) + 1);
    if (!f->cells)
        return SHOAL_MEMORY;
    for (uint64_t i = 0; i < a->count; i++) {
        int64_t v = integer_at(a, a->columns ? by_columns(a, i) : i);
        bool large = a->kind == 'u' && a->size == 8 && v < 0;
        if (large || v != (f->type == SHOAL_I32 ? (int32_t)v : v))
            return report_error(r, SHOAL_INPUT, "%s: a cell does not fit 32 bits", path);
        set_cell(f, i, v);
    }
    return SHOAL_OK;
}

static shoal_code take_stack(const char *path, const struct npy *a, struct shoal_grid_file *f,
                             struct report *r) {
    if (a->dims != 2 && a->dims != 3)
        return report_error(r, SHOAL_INPUT,
                            "%s: an array of two axes is a grid, one of three a "
                            "stack of them",
                            path);
    uint64_t count = a->dims == 3 ? a->shape[0] : 1, h = a->shape[a->dims - 2],
             w = a->shape[a->dims - 1];
    if (h > INT32_MAX || w > INT32_MAX)
        return report_error(r, SHOAL_INPUT, "%s: a side is too large", path);
    shoal_code code = take_cells(path, a, f, r);
    f->single = a->dims == 2;
    for (uint64_t i = 0; code == SHOAL_OK && i < count; i++) {
        if (!grids_push_grid(f, (int32_t)h, (int32_t)w))
            return SHOAL_MEMORY;
        f->offsets[i] = i * h * w;
    }
    return code;
}

shoal_code grids_from_npy(const char *path, const char *bytes, size_t length,
                          struct shoal_grid_file *f, struct report *r) {
    struct npy a;
    const char *wrong = npy_parse(&a, bytes, length);
    if (wrong)
        return report_error(r, SHOAL_INPUT, "%s: %s", path, wrong);
    return take_stack(path, &a, f, r);
}

// An array of an archive.
struct member {
    char *bytes;
    struct npy npy;
};

static shoal_code read_member(const struct zip *z, const char *name, struct member *m,
                              struct report *r) {
    for (uint32_t i = 0; i < z->count; i++) {
        const struct zip_entry *e = &z->entries[i];
        if (name && strcmp(e->name, name))
            continue;
        shoal_code code = zip_read(z, e, &m->bytes, r);
        const char *wrong = code == SHOAL_OK ? npy_parse(&m->npy, m->bytes, e->size) : NULL;
        return wrong ? report_error(r, SHOAL_INPUT, "%s: %s: %s", z->path, e->name, wrong) : code;
    }
    return SHOAL_OK;
}

// Shapes and offsets that lie inside of the values and in order.
static shoal_code take_shapes(const char *path, const struct npy *shapes, const struct npy *offsets,
                              struct shoal_grid_file *f, struct report *r) {
    uint64_t n = shapes->dims == 2 ? shapes->shape[0] : 0, last = 0;
    bool good = shapes->dims == 2 && shapes->shape[1] == 2 && is_integer(shapes) &&
                is_integer(offsets) && offsets->dims == 1 && offsets->shape[0] >= n &&
                !shapes->columns;
    for (uint64_t i = 0; good && i < n; i++) {
        int64_t h = integer_at(shapes, 2 * i), w = integer_at(shapes, 2 * i + 1);
        int64_t at = integer_at(offsets, i);
        good = h >= 0 && w >= 0 && h <= 1 << 20 && w <= 1 << 20 && at >= 0 &&
               (uint64_t)at >= last && (uint64_t)at <= f->cell_count &&
               (uint64_t)(h * w) <= f->cell_count - (uint64_t)at;
        if (!good)
            break;
        if (!grids_push_grid(f, (int32_t)h, (int32_t)w))
            return SHOAL_MEMORY;
        f->offsets[i] = (uint64_t)at;
        last = (uint64_t)(at + h * w);
    }
    return good
               ? SHOAL_OK
               : report_error(r, SHOAL_INPUT, "%s: shapes and offsets do not fit the values", path);
}

static shoal_code from_archive(const struct zip *z, struct shoal_grid_file *f, struct report *r) {
    struct member values = {0}, shapes = {0}, offsets = {0}, grids = {0};
    shoal_code code = read_member(z, "values.npy", &values, r);
    if (code == SHOAL_OK && values.bytes)
        code = read_member(z, "shapes.npy", &shapes, r);
    if (code == SHOAL_OK && values.bytes)
        code = read_member(z, "offsets.npy", &offsets, r);
    if (code == SHOAL_OK && !values.bytes)
        code = read_member(z, "grids.npy", &grids, r);
    if (code == SHOAL_OK && !values.bytes && !grids.bytes)
        code = read_member(z, NULL, &grids, r);
    if (code == SHOAL_OK && grids.bytes)
        code = take_stack(z->path, &grids.npy, f, r);
    else if (code == SHOAL_OK && shapes.bytes && offsets.bytes) {
        code = take_cells(z->path, &values.npy, f, r);
        if (code == SHOAL_OK)
            code = take_shapes(z->path, &shapes.npy, &offsets.npy, f, r);
    } else if (code == SHOAL_OK)
        code =
            report_error(r, SHOAL_INPUT,
                         "%s: no grids: neither an array nor values, shapes and offsets", z->path);
    free(values.bytes);
    free(shapes.bytes);
    free(offsets.bytes);
    free(grids.bytes);
    return code;
}

shoal_code grids_from_npz(const char *path, struct shoal_grid_file *f, struct report *r) {
    struct zip z;
    shoal_code code = zip_open(&z, path, r);
    if (code == SHOAL_OK)
        code = from_archive(&z, f, r);
    zip_close(&z);
    return code;
}

// ---- Writing ------------------------------------------------------------------------------------

static const char *descr_of(shoal_cell type) {
    return type == SHOAL_U8 ? "|u1" : type == SHOAL_I16 ? "<i2" : "<i4";
}

static void put_stack(const shoal_grids_out *out, uint64_t count, struct buf *b) {
    uint64_t shape[3] = {count, (uint64_t)out->height, (uint64_t)out->width};
    npy_put_header(b, descr_of(out->type), shape, 3);
    buf_put(b, out->cells, count * shape[1] * shape[2] * grids_cell_bytes(out->type));
}

shoal_code grids_to_npy(const char *path, const shoal_grids_out *out, uint64_t count,
                        struct buf *bytes, struct report *r) {
    shoal_grids_out stack = *out;
    int32_t h = 0, w = 0;
    for (uint64_t i = 0; i < count && !out->height; i++) {
        struct grids_item g = grids_item(out, i);
        if (g.marked || (h && (g.height != h || g.width != w)))
            return report_error(r, SHOAL_INPUT,
                                "%s: results have different shapes: .npz and .json can hold them",
                                path);
        h = g.height;
        w = g.width;
    }
    stack.height = out->height ? out->height : h;
    stack.width = out->height ? out->width : w;
    put_stack(&stack, count, bytes);
    return SHOAL_OK;
}

// A member of the archive, whose bytes are there.
static void put_member(struct buf *b, const char *name, const struct buf *data,
                       struct zip_member *m) {
    *m = (struct zip_member){.name = name,
                             .offset = b->length,
                             .size = data->length,
                             .crc = zip_crc(0, data->data, data->length)};
    zip_put_local(b, m);
    buf_put(b, data->data, data->length);
    b->failed |= data->failed;
}

static void put_ragged(const shoal_grids_out *out, uint64_t count, struct buf part[3]) {
    uint64_t cells = 0, dims[2] = {count, 2};
    size_t bytes = grids_cell_bytes(out->type);
    for (uint64_t i = 0; i < count; i++) {
        struct grids_item g = grids_item(out, i);
        cells += g.marked ? 0 : (uint64_t)g.height * (uint64_t)g.width;
    }
    npy_put_header(&part[0], descr_of(out->type), &cells, 1);
    npy_put_header(&part[1], "<i4", dims, 2);
    npy_put_header(&part[2], "<u8", dims, 1);
    cells = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct grids_item g = grids_item(out, i);
        int32_t shape[2] = {g.marked ? 0 : g.height, g.marked ? 0 : g.width};
        uint64_t n = (uint64_t)shape[0] * (uint64_t)shape[1];
        buf_put(&part[0], (const char *)out->cells + g.first * bytes, n * bytes);
        buf_put(&part[1], shape, sizeof shape);
        buf_put(&part[2], &cells, sizeof cells);
        cells += n;
    }
}

void grids_to_npz(const shoal_grids_out *out, uint64_t count, struct buf *bytes) {
    static const char *const names[] = {"values.npy", "shapes.npy", "offsets.npy"};
    struct buf part[3] = {0}, status = {0};
    struct zip_member member[4];
    uint32_t members = 0;
    bool stack = out->height > 0;
    if (stack)
        put_stack(out, count, &part[0]);
    else
        put_ragged(out, count, part);
    for (uint32_t i = 0; i < (stack ? 1 : 3); i++)
        put_member(bytes, stack ? "grids.npy" : names[i], &part[i], &member[members++]);
    npy_put_header(&status, "|u1", &count, 1);
    buf_put(&status, out->status, count);
    put_member(bytes, "status.npy", &status, &member[members++]);
    zip_put_directory(bytes, member, members, bytes->length);
    for (uint32_t i = 0; i < 3; i++)
        buf_free(&part[i]);
    buf_free(&status);
}
