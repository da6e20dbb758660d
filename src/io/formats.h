// SPDX-License-Identifier: MIT
// The file formats behind io.h: the same operations for each, chosen by the ending of a name in
// io.c.
#ifndef SHOAL_IO_FORMATS_H
#define SHOAL_IO_FORMATS_H

#include "io/io.h"

// A new sink; NULL: out of memory.
struct sink *csv_sink_new(const char *path);
struct sink *npz_sink_new(const char *path);
struct sink *hdf5_sink_new(const char *path);

uint64_t csv_bytes(const struct sink_shape_info *info);
uint64_t npz_bytes(const struct sink_shape_info *info);
uint64_t hdf5_bytes(const struct sink_shape_info *info);

// They return SHOAL_MEMORY with or without a message; the arena has no handler.
shoal_code csv_table_read(const char *path, struct arena *arena, struct table *out,
                          struct report *r);
shoal_code npz_table_read(const char *path, struct arena *arena, struct table *out,
                          struct report *r);
shoal_code hdf5_table_read(const char *path, struct arena *arena, struct table *out,
                           struct report *r);

// From memory; `name` is for messages.
shoal_code csv_table_parse(const char *name, const char *text, size_t length, struct arena *arena,
                           struct table *out, struct report *r);
shoal_code npz_table_parse(const char *name, const char *bytes, size_t length, struct arena *arena,
                           struct table *out, struct report *r);

// True when the file has the head of a CSV result, or of its table of runs.
bool csv_is_result(const char *path);
// Where the table of runs of a CSV file is: out.csv -> out.runs.csv; malloc'ed, NULL: no memory.
char *csv_runs_path(const char *path);

shoal_code npz_meta_read(const char *path, struct arena *arena, const char **meta,
                         struct report *r);
shoal_code hdf5_meta_read(const char *path, struct arena *arena, const char **meta,
                          struct report *r);

// Metadata with one member more, "complete", in front.
void io_meta_complete(struct buf *out, const char *meta, bool complete);

// Calls for every member of the object that is text (then `text` is it) or a number, true or false
// (then `text` is NULL). Others are passed over; it ends where the text is not JSON.
typedef void io_meta_call(void *user, const char *name, const char *text, double number);
void io_meta_members(const char *meta, io_meta_call *call, void *user);

#endif
