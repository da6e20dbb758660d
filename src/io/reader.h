// SPDX-License-Identifier: MIT
// A result file to read again, in blocks of rows, whatever its format.
//
// The first table has a row for each run, or, of statistics (--reduce), for each group of runs. The
// others have several for each: samples, windows of summaries, times of a record, peaks. All
// columns are numbers: the status is its number, and a text is that of a word. In the other tables
// the columns of the runs are there too, repeated. Memory does not grow with the number of rows.
// The file is not trusted: what is wrong with it is an error, at the latest when its place is
// reached.
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
    READER_COUNT, // what is drawn only when it is named: steps, rejected, f_evals, how many runs
                  // statistics are of, the columns of peaks that are a table, too
    READER_INDEX, // which of a run's rows it is
};

// The texts of a column: each is the number of its word, NaN where there are too many.
enum { READER_WORDS = 256 };
struct reader_words {
    uint32_t count;
    const char *word[READER_WORDS];
};

struct reader_column {
    const char *name;
    enum reader_role role;
    uint32_t table;
    uint32_t index;             // for the format
    const double *grid;         // [per_run] of the table: the same for all runs; or NULL
    struct reader_words *words; // or NULL
};

enum { READER_ROWS = 1 << 14, READER_COLUMNS = 64 }; // of a block, of a pass, at most
enum { READER_RUNS };                                // the first table

// Rows of each run: as many for all, per_run; or those of run i (in the order of the file) begin at
// offsets[i]; else (0 and NULL) the stream of a format tells. Of the first table 1.
struct reader_table {
    const char *name; // "t", "window", or that of a record or summary
    uint64_t per_run;
    const double *offsets; // [runs + 1]
};

// A column that a format has in a table without per_run and offsets: the number of a row's run,
// which the first table has, too, in the same order.
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
    uint64_t runs;    // UINT64_MAX: not known before they are read
    bool reduced;     // statistics over runs
    vec(struct reader_table) tables;
    const struct reader_format *format;
    void *data; // the format's
};

struct reader_format {
    // Columns of that table alone: not those of runs in another.
    shoal_code (*stream)(struct reader *d, uint32_t table, const uint32_t *columns, uint32_t count,
                         struct reader_stream **out, struct report *r);
    void (*close)(struct reader *d);
};

shoal_code reader_open(const char *path, struct reader **out, struct report *r);
void reader_close(struct reader *d);
// The column of that name, or UINT32_MAX.
uint32_t reader_find(const struct reader *d, const char *name);
// The first column that is that, of all or of one table; or UINT32_MAX.
uint32_t reader_role(const struct reader *d, enum reader_role role);
uint32_t reader_role_in(const struct reader *d, uint32_t table, enum reader_role role);
double reader_word(struct reader *d, struct reader_words *w, const char *text, size_t length);

// A pass over some columns of a table, and of the first.
struct reader_pass;
shoal_code reader_pass_open(struct reader *d, uint32_t table, const uint32_t *columns,
                            uint32_t count, struct reader_pass **out, struct report *r);
// The next rows of each column; 0 rows: the end. They stay until the next call.
shoal_code reader_pass_next(struct reader_pass *p, const double *const **column, size_t *rows,
                            struct report *r);
void reader_pass_close(struct reader_pass *p);

#endif
