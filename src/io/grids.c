// SPDX-License-Identifier: MIT
// Files of grids: which format, reading whole, writing in one go.
#include "io/grids.h"

#include "base/ascii.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t file_most = (uint64_t)1 << 33; // bytes

static bool ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n > m && ascii_same(path + n - m, ending);
}

// ---- Grids of a file ----------------------------------------------------------------------------

static bool grow(void **items, uint64_t *room, uint64_t need, size_t size) {
    if (need <= *room)
        return true;
    uint64_t more = *room ? *room * 2 : 1024;
    void *moved = realloc(*items, more * size);
    if (!moved)
        return false;
    *items = moved;
    *room = more;
    return true;
}

bool grids_push_cell(struct shoal_grid_file *f, int32_t value) {
    if (!grow(&f->cells, &f->cell_room, f->cell_count + 1, sizeof value))
        return false;
    ((int32_t *)f->cells)[f->cell_count++] = value;
    return true;
}

bool grids_push_grid(struct shoal_grid_file *f, int32_t height, int32_t width) {
    uint64_t room = f->room;
    if (!grow((void **)&f->shapes, &room, f->count + 1, 2 * sizeof *f->shapes) ||
        !grow((void **)&f->offsets, &f->room, f->count + 1, sizeof *f->offsets))
        return false;
    f->shapes[2 * f->count] = height;
    f->shapes[2 * f->count + 1] = width;
    f->offsets[f->count++] = f->cell_count - (uint64_t)height * (uint64_t)width;
    return true;
}

void grids_free(struct shoal_grid_file *f) {
    if (!f)
        return;
    free(f->shapes);
    free(f->offsets);
    free(f->cells);
    free(f);
}

// All of one shape, which is what a stack is.
static void find_stack(struct shoal_grid_file *f) {
    f->stack = f->count > 0;
    for (uint64_t i = 0; i < f->count; i++)
        f->stack &= f->shapes[2 * i] == f->shapes[0] && f->shapes[2 * i + 1] == f->shapes[1];
}

// Of standard input nobody knows the ending: the first bytes tell.
static shoal_code read_bytes(const char *path, const char *text, size_t length, const char *select,
                             struct shoal_grid_file *f, struct report *r) {
    const char *name = file_input_name(path);
    size_t at = 0;
    while (at < length && ascii_space(text[at]))
        at++;
    bool json = at < length && (text[at] == '[' || text[at] == '{');
    bool input = file_is_input(path);
    if (ends_with(path, ".npy") || (input && length > 6 && !memcmp(text, "\x93NUMPY", 6)))
        return grids_from_npy(name, text, length, f, r);
    if (ends_with(path, ".json") || (input && json))
        return grids_from_json(name, text, length, select, f, r);
    return grids_from_text(name, text, length, f, r);
}

static shoal_code read_into(const char *path, const char *select, struct shoal_grid_file *f,
                            struct report *r) {
    char *text = NULL;
    size_t length = 0;
    bool known = file_is_input(path) || ends_with(path, ".json") || ends_with(path, ".npy") ||
                 ends_with(path, ".npz") || ends_with(path, ".txt");
    if (!known)
        return report_error(r, SHOAL_INPUT, "%s: grids are read from .json, .npy, .npz and .txt",
                            path);
    if (select && !ends_with(path, ".json") && !file_is_input(path))
        return report_error(r, SHOAL_INPUT, "%s: only of a .json file can a part be selected",
                            path);
    if (ends_with(path, ".npz"))
        return grids_from_npz(path, f, r);
    shoal_code code = file_read_input(path, file_most, &text, &length, r);
    if (code == SHOAL_OK)
        code = read_bytes(path, text, length, select, f, r);
    free(text);
    return code;
}

shoal_code grids_read(const char *path, const char *select, struct shoal_grid_file **out,
                      struct report *r) {
    struct shoal_grid_file *f = calloc(1, sizeof *f);
    if (!f)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    f->type = SHOAL_I32;
    shoal_code code = read_into(path, select, f, r);
    if (code == SHOAL_MEMORY)
        report_error(r, code, "%s: not enough memory", path);
    find_stack(f);
    if (code == SHOAL_OK)
        *out = f;
    else
        grids_free(f);
    return code;
}

// ---- Results ------------------------------------------------------------------------------------

struct grids_item grids_item(const shoal_grids_out *out, uint64_t i) {
    bool stack = out->height > 0;
    return (struct grids_item){.first = stack ? i * (uint64_t)out->height * (uint64_t)out->width
                                              : out->offsets[i],
                               .height = stack ? out->height : out->shapes[2 * i],
                               .width = stack ? out->width : out->shapes[2 * i + 1],
                               .marked = out->status[i] != 0};
}

int32_t grids_cell(shoal_cell type, const void *cells, uint64_t i) {
    return type == SHOAL_U8    ? ((const uint8_t *)cells)[i]
           : type == SHOAL_I16 ? ((const int16_t *)cells)[i]
                               : ((const int32_t *)cells)[i];
}

size_t grids_cell_bytes(shoal_cell type) {
    return type == SHOAL_U8 ? 1 : type == SHOAL_I16 ? 2 : 4;
}

static shoal_code put_file(const char *path, const struct buf *b, struct report *r) {
    struct file_part f = {.fd = -1};
    if (file_is_input(path))
        return file_write(1, "standard output", b->data, b->length, r);
    shoal_code code = file_part_open(&f, path, r);
    if (code == SHOAL_OK)
        code = file_write(f.fd, path, b->data, b->length, r);
    if (code == SHOAL_OK)
        code = file_part_commit(&f, r);
    file_part_discard(&f);
    return code;
}

shoal_code grids_write(const char *path, const shoal_grids *in, const shoal_grids_out *out,
                       bool single, const char *(*word)(int status), struct report *r) {
    struct buf b = {0};
    shoal_code code = SHOAL_OK;
    if (file_is_input(path) || ends_with(path, ".json"))
        grids_to_json(out, in->count, single, &b);
    else if (ends_with(path, ".txt"))
        grids_to_text(out, in->count, word, &b);
    else if (ends_with(path, ".npy"))
        code = grids_to_npy(path, out, in->count, &b, r);
    else if (ends_with(path, ".npz"))
        grids_to_npz(out, in->count, &b);
    else
        code = report_error(r, SHOAL_INPUT, "%s: grids are written to .json, .npy, .npz and .txt",
                            path);
    if (code == SHOAL_OK && b.failed)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
    if (code == SHOAL_OK)
        code = put_file(path, &b, r);
    buf_free(&b);
    return code;
}
