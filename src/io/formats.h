// SPDX-License-Identifier: MIT
// The file formats behind io.h: one row of operations for each, chosen by the ending of a name.
#ifndef SHOAL_IO_FORMATS_H
#define SHOAL_IO_FORMATS_H

#include "io/io.h"

struct io_format {
    const char *const *endings; // NULL-terminated, with the dot, lower case
    struct sink *(*sink_new)(const char *path); // NULL: out of memory
    uint64_t (*bytes)(const struct sink_shape_info *info);
    shoal_code (*table_read)(const char *path, struct arena *arena, struct batch_table *out,
                             struct report *r);
    shoal_code (*meta_read)(const char *path, struct arena *arena, const char **meta,
                            struct report *r);
};

extern const struct io_format io_csv, io_npz, io_hdf5;

// True for columns of a batch file that are not inputs: run, t, status.
bool io_table_ignores(const char *name);

// Adds a column of the table's length, zeroed, to be filled; NULL when memory ran out. The arena must
// have no handler for that.
double *io_table_numbers(struct arena *arena, struct batch_table *t, const char *name);
const char **io_table_texts(struct arena *arena, struct batch_table *t, const char *name);

// Metadata with one member more, "complete", in front.
void io_meta_complete(struct buf *out, const char *meta, bool complete);

#endif
