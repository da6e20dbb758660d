// SPDX-License-Identifier: MIT
// The file formats behind io.h: the same operations for each, chosen by the ending of a name in
// io.c. A new format is a file that defines `NAME_format`, and a row of IO_FORMATS.
#ifndef SHOAL_IO_FORMATS_H
#define SHOAL_IO_FORMATS_H

#include "io/io.h"
#include "io/reader.h"

struct journal_stream;
struct journal_reader;
struct merge;

// What a format does not do is NULL. Readers return SHOAL_MEMORY with or without a message; the
// arena has no handler.
struct io_format {
    const char *name;       // as people call it
    const char *endings[3]; // NULL after the last; the first is the one that messages name
    struct sink *(*sink_new)(const char *path, uint32_t threads);
    uint64_t (*bytes)(const struct result_list *list);
    // Where the data of each array begin in a whole file of that list, whose streams (journal.h)
    // have come to `total`; UINT64_MAX: nowhere, or nobody knows (text). `beside` is a path beside
    // which files may be made.
    shoal_code (*places)(const char *beside, const struct result_list *list,
                         const struct journal_stream *total, uint64_t *start, struct report *r);
    // Of a format of text (merge.h): looks at a shard, and puts the lines of all together.
    shoal_code (*look)(struct merge *m, uint64_t shard, struct journal_reader *d, struct report *r);
    shoal_code (*merge)(const struct merge *m, struct report *r);
    shoal_code (*table_read)(const char *path, struct arena *arena, struct table *out,
                             struct report *r);
    // A result of ours; see io_ends_read.
    shoal_code (*ends_read)(const char *path, struct arena *arena, struct table *out,
                            struct report *r);
    // From standard input, where it is known by its first bytes (NULL: by any); `name` is for
    // messages.
    const char *magic;
    shoal_code (*table_parse)(const char *name, const char *bytes, size_t length,
                              struct arena *arena, struct table *out, struct report *r);
    shoal_code (*meta_read)(const char *path, struct arena *arena, const char **meta,
                            struct report *r);
    // Fills in columns, numbers and the format's own part; reader_close is called in any case.
    shoal_code (*reader_open)(struct reader *d, struct report *r);
    // Of a format without metadata: whether the file is a result.
    bool (*is_result)(const char *path);
    // Where a table of a result is that has a file of its own; malloc'ed, NULL: no memory.
    char *(*side_path)(const char *path, const char *word);
};

// The first is the format of standard output; on standard input they are tried from the last.
#define IO_FORMATS(X)                                                                              \
    X(csv)                                                                                         \
    X(npz)                                                                                         \
    X(hdf5)                                                                                        \
    X(npy)                                                                                         \
    X(journal)

#define IO_DECLARE(name) extern const struct io_format name##_format;
IO_FORMATS(IO_DECLARE)

// A new sink, which may work with so many threads; NULL: out of memory.
struct sink *csv_sink_new(const char *path, uint32_t threads);
struct sink *npz_sink_new(const char *path, uint32_t threads);
struct sink *hdf5_sink_new(const char *path, uint32_t threads);

shoal_code npz_places(const char *beside, const struct result_list *list,
                      const struct journal_stream *total, uint64_t *start, struct report *r);
shoal_code hdf5_places(const char *beside, const struct result_list *list,
                       const struct journal_stream *total, uint64_t *start, struct report *r);
shoal_code csv_look(struct merge *m, uint64_t shard, struct journal_reader *d, struct report *r);
shoal_code csv_merge(const struct merge *m, struct report *r);
// The words of the tables beside a CSV file; returns how many there are, at most two more than
// arrays, with the file itself, whose word is NULL.
uint32_t csv_tables(const struct result_list *list, const char **word);

uint64_t csv_bytes(const struct result_list *list);
uint64_t npz_bytes(const struct result_list *list);
uint64_t hdf5_bytes(const struct result_list *list);

// True when the file has the head of a CSV result, or of a table beside one.
bool csv_is_result(const char *path);
// Where a table beside a CSV file is: out.csv -> out.runs.csv; malloc'ed, NULL: no memory.
char *csv_side_path(const char *path, const char *word);

// A table of a result with all its columns, whose numbers need not be finite.
shoal_code csv_result_read(const char *path, struct arena *arena, struct table *out,
                           struct report *r);
shoal_code csv_ends_read(const char *path, struct arena *arena, struct table *out,
                         struct report *r);
// Gives the column `status` of numbers the words for them; those that mean nothing have none.
shoal_code ends_name_status(struct arena *arena, struct table *t);
// Says by metadata what the columns are.
void ends_mark(const char *meta, struct table *t);

shoal_code csv_reader_open(struct reader *d, struct report *r);
shoal_code npz_reader_open(struct reader *d, struct report *r);
shoal_code hdf5_reader_open(struct reader *d, struct report *r);
// Adds a table, or a column that is ours or the result's; NULL: out of memory. What an input is,
// metadata tell.
struct reader_table *reader_add_table(struct reader *d, const char *name, uint64_t per_run);
struct reader_column *reader_add(struct reader *d, const char *name, uint32_t index,
                                 uint32_t table);
// A table whose rows are counted to `last`, over and over: in each window where there are some.
shoal_code reader_add_counted(struct reader *d, const char *name, uint64_t rows, uint64_t last,
                              bool windows);
// Whether a name is that of a statistic: x.mean, x.q0.05.
bool reader_is_statistic(const char *name);
// What columns of statistics are, once they are there.
void reader_mark_reduced(struct reader *d);
// An array by its axes: a column of a table, or none.
enum { READER_AXES = 8 };
struct reader_shape {
    const char *name;
    uint32_t dims, index;
    bool text;
    uint64_t shape[READER_AXES];
};
shoal_code reader_add_arrays(struct reader *d, const struct reader_shape *a, uint32_t count,
                             struct report *r);
// The format that can be read back as a result; NULL with an error.
const struct io_format *io_format_readable(const char *path, struct report *r);

// Metadata with one member more, "complete", in front.
void io_meta_complete(struct buf *out, const char *meta, bool complete);

// Whether the options of a result say that its runs have samples at times that they share.
bool io_meta_is_series(const char *meta);
// What applied for an option, in the arena; NULL: nothing is said of it.
const char *io_meta_option(const char *meta, struct arena *arena, const char *name);

// Calls for every member of the object that is text (then `text` is it) or a number, true or false
// (then `text` is NULL). Others are passed over; it ends where the text is not JSON.
typedef void io_meta_call(void *user, const char *name, const char *text, double number);
void io_meta_members(const char *meta, io_meta_call *call, void *user);

#endif
