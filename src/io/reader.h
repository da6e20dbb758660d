// SPDX-License-Identifier: MIT
// A result file to read again, in blocks of rows, whatever its format.
//
// Two tables: one has a row for each run, the other, where there are samples, a row for each sample
// of each run. All columns are numbers; the status is its number. In the table of samples the
// columns of the runs are there too, repeated. Memory does not grow with the number of rows. The
// file is not trusted: what is wrong with it is an error, at the latest when its place is reached.
#ifndef SHOAL_IO_READER_H
#define SHOAL_IO_READER_H

#include "base/arena.h"
#include "base/report.h"

enum reader_role {
    READER_RUN,
    READER_INPUT,
    READER_TIME,
    READER_VALUE,
    READER_STATUS,
    READER_COUNT, // steps, rejected, f_evals
};

struct reader_column {
    const char *name;
    enum reader_role role;
    bool of_sample; // in the table of samples alone
    uint32_t index; // for the format
};

enum { READER_ROWS = 1 << 14, READER_COLUMNS = 64 }; // of a block, of a pass, at most

// A column that a format without per_run and offsets has in its samples: the place of a row's run
// in the table of runs.
#define READER_PLACE UINT32_MAX

// Rows of some columns of one table, in order. A format makes it; `next` fills at most `most` rows
// of each and says how many, 0: the end.
struct reader_stream {
    shoal_code (*next)(struct reader_stream *s, double *const *to, size_t most, size_t *got,
                       struct report *r);
    void (*close)(struct reader_stream *s);
};

struct reader {
    const char *path;
    struct arena arena;
    vec(struct reader_column) columns;
    const char *meta; // JSON, or NULL
    bool has_samples;
    uint64_t runs; // UINT64_MAX: not known before they are read
    // Samples: as many for each run, at the same times; or each has its own number, and those of
    // run i (in the order of the file) begin at offsets[i]; else the stream of a format tells.
    uint64_t per_run;
    const double *times;   // [per_run]
    const double *offsets; // [runs + 1]
    const struct reader_format *format;
    void *data; // the format's
};

struct reader_format {
    // Columns of that table alone: not those of runs in the table of samples.
    shoal_code (*stream)(struct reader *d, bool samples, const uint32_t *columns, uint32_t count,
                         struct reader_stream **out, struct report *r);
    void (*close)(struct reader *d);
};

shoal_code reader_open(const char *path, struct reader **out, struct report *r);
void reader_close(struct reader *d);
// The column of that name, or UINT32_MAX.
uint32_t reader_find(const struct reader *d, const char *name);
uint32_t reader_role(const struct reader *d, enum reader_role role);

// A pass over some columns of a table.
struct reader_pass;
shoal_code reader_pass_open(struct reader *d, bool samples, const uint32_t *columns, uint32_t count,
                            struct reader_pass **out, struct report *r);
// The next rows of each column; 0 rows: the end. They stay until the next call.
shoal_code reader_pass_next(struct reader_pass *p, const double *const **column, size_t *rows,
                            struct report *r);
void reader_pass_close(struct reader_pass *p);

#endif
