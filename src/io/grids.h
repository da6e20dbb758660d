// SPDX-License-Identifier: MIT
// Files of grids. grids.c finds the format, grids_json.c, grids_text.c and grids_npy.c are those.
#ifndef SHOAL_IO_GRIDS_H
#define SHOAL_IO_GRIDS_H

#include "base/buf.h"
#include "base/report.h"

// Grids of a file, each with its shape; a stack where all have one. All malloc.
struct shoal_grid_file {
    shoal_cell type;
    bool stack, single, exact;
    uint64_t count, room;
    int32_t *shapes;
    uint64_t *offsets;
    void *cells;
    uint64_t cell_count, cell_room;
};

shoal_code grids_read(const char *path, const char *select, struct shoal_grid_file **out,
                      struct report *r);
void grids_free(struct shoal_grid_file *f);
// `word` tells the word of a status.
shoal_code grids_write(const char *path, const shoal_grids *in, const shoal_grids_out *out,
                       bool single, const char *(*word)(int status), struct report *r);

// ---- For the formats ----------------------------------------------------------------------------

// One more cell of a grid of ints, and the grid that they make. False: out of memory.
bool grids_push_cell(struct shoal_grid_file *f, int32_t value);
bool grids_push_grid(struct shoal_grid_file *f, int32_t height, int32_t width);

shoal_code grids_from_json(const char *path, const char *text, size_t length, const char *select,
                           struct shoal_grid_file *f, struct report *r);
shoal_code grids_from_text(const char *path, const char *text, size_t length,
                           struct shoal_grid_file *f, struct report *r);
shoal_code grids_from_npy(const char *path, const char *bytes, size_t length,
                          struct shoal_grid_file *f, struct report *r);
shoal_code grids_from_npz(const char *path, struct shoal_grid_file *f, struct report *r);

// A result: where its cells are, and whether it is marked.
struct grids_item {
    uint64_t first;
    int32_t height, width;
    bool marked;
};
struct grids_item grids_item(const shoal_grids_out *out, uint64_t i);
int32_t grids_cell(shoal_cell type, const void *cells, uint64_t i);
size_t grids_cell_bytes(shoal_cell type);

void grids_to_json(const shoal_grids_out *out, uint64_t count, bool single, struct buf *text);
void grids_to_text(const shoal_grids_out *out, uint64_t count, const char *(*word)(int status),
                   struct buf *text);
shoal_code grids_to_npy(const char *path, const shoal_grids_out *out, uint64_t count,
                        struct buf *bytes, struct report *r);
void grids_to_npz(const shoal_grids_out *out, uint64_t count, struct buf *bytes);

#endif
