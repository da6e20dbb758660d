// SPDX-License-Identifier: MIT
// Files: result sinks and batch tables, by the ending of the name.
#ifndef SHOAL_IO_IO_H
#define SHOAL_IO_IO_H

#include "base/buf.h"
#include "result/sink.h"
#include "result/table.h"

// A sink for `path`: .csv, .npz, .h5/.hdf5, or "-" for CSV on standard output. Nothing is created
// before begin. It may turn numbers into text with so many threads. Another ending is an error that
// lists these.
shoal_code io_sink_new(const char *path, uint32_t threads, struct sink **out, struct report *r);

// Whether a result could be written there: the ending, the directory, the rights; and what is there
// already must be a result of the same kind, unless `replace`. `side`: words of the tables that it
// has besides (result_list.h, and "runs"), up to a NULL.
shoal_code io_sink_check(const char *path, const char *const *side, bool replace, struct report *r);

// How many bytes a result of that shape takes on disk, about (exact for npz and h5 up to metadata).
uint64_t io_sink_bytes(const char *path, const struct result_list *list);

// Reads a whole batch file (.csv, .npz, .h5; "-": CSV or NPZ on standard input) into a table owned
// by the arena. out->times says whether a column `t` is one of it.
shoal_code io_table_read(const char *path, struct arena *arena, struct table *out,
                         struct report *r);

// How each run of a result file ended, a row each: inputs, `_` columns, `t`, `status` as words, and
// variables at the last time; whatever else has one number a run is there too. Numbers need not be
// finite. Not for results whose steps are saved in binary files.
shoal_code io_ends_read(const char *path, struct arena *arena, struct table *out, struct report *r);

// The same; all columns are text in CSV.
shoal_code io_table_read_texts(const char *path, struct arena *arena, struct table *out,
                               struct report *r);

// Whether the ending is that of a file of numbers, or of a journal of one (journal.h).
bool io_is_data(const char *path);
bool io_is_journal(const char *path);

// The `meta` text of a result file written by a sink (job replay), owned by the arena.
shoal_code io_meta_read(const char *path, struct arena *arena, const char **meta, struct report *r);

// The shortest decimal that reads back as the same number; returns its length (at most 25 bytes,
// not NUL-terminated). nan, inf, -inf as these words.
uint32_t io_format_double(double value, char *out);
uint32_t io_format_float(float value, char *out);
uint32_t io_format_uint(uint64_t value, char *out); // at most 20 bytes

#endif
