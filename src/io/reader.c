// SPDX-License-Identifier: MIT
// See reader.h: what formats share, and the rows of samples with what belongs to their runs.
#include "io/reader.h"

#include "io/formats.h"

#include <stdlib.h>
#include <string.h>

uint32_t reader_find(const struct reader *d, const char *name) {
    for (uint32_t i = 0; i < d->columns.count; i++)
        if (!strcmp(d->columns.items[i].name, name))
            return i;
    return UINT32_MAX;
}

uint32_t reader_role(const struct reader *d, enum reader_role role) {
    for (uint32_t i = 0; i < d->columns.count; i++)
        if (d->columns.items[i].role == role)
            return i;
    return UINT32_MAX;
}

shoal_code reader_open(const char *path, struct reader **out, struct report *r) {
    const struct io_format *f = io_format_readable(path, r);
    *out = NULL;
    if (!f)
        return SHOAL_INPUT;
    struct reader *d = calloc(1, sizeof *d);
    if (!d)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
    uint32_t errors = r ? r->errors : 0;
    d->path = arena_strdup(&d->arena, path);
    shoal_code code = d->path ? f->reader_open(d, r) : SHOAL_MEMORY;
    if (code == SHOAL_MEMORY && r && r->errors == errors)
        report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
    if (code == SHOAL_OK && d->columns.count == 0)
        code = report_error(r, SHOAL_INPUT, "%s: has no column of numbers", path);
    if (code) {
        reader_close(d);
        return code;
    }
    *out = d;
    return SHOAL_OK;
}

void reader_close(struct reader *d) {
    if (!d)
        return;
    if (d->format)
        d->format->close(d);
    arena_free(&d->arena);
    free(d);
}

// ---- Passes -------------------------------------------------------------------------------------

// Where a column of a pass comes from: the rows of the table, the run they are of, or the grid of
// times that all runs share.
enum comes_from { OWN, OF_RUN, GRID_TIME };

struct reader_pass {
    struct reader *d;
    bool samples;
    uint32_t count;
    enum comes_from source[READER_COLUMNS + 1];
    double *column[READER_COLUMNS + 1]; // the last is that of places
    struct reader_stream *own, *of_runs;
    double *own_to[READER_COLUMNS + 1], *run_to[READER_COLUMNS];
    uint64_t row;                 // the first of the block
    uint64_t run;                 // that the rows are of
    uint64_t runs_at, runs_count; // rows of the runs that are at hand
};

void reader_pass_close(struct reader_pass *p) {
    if (!p)
        return;
    if (p->own)
        p->own->close(p->own);
    if (p->of_runs)
        p->of_runs->close(p->of_runs);
    for (uint32_t i = 0; i <= READER_COLUMNS; i++)
        free(p->column[i]);
    for (uint32_t i = 0; i < READER_COLUMNS; i++)
        free(p->run_to[i]);
    free(p);
}

static enum comes_from source_of(const struct reader *d, bool samples, uint32_t column) {
    const struct reader_column *c = &d->columns.items[column];
    if (!samples)
        return OWN;
    if (!c->of_sample)
        return OF_RUN;
    return c->role == READER_TIME && d->per_run ? GRID_TIME : OWN;
}

static bool tells_place(const struct reader *d) { return !d->per_run && !d->offsets; }

static double *new_block(void) { return malloc(READER_ROWS * sizeof(double)); }

// Some column has to count the rows of samples, where none was asked for that does.
static uint32_t any_own(const struct reader *d) {
    for (uint32_t i = 0; i < d->columns.count; i++)
        if (source_of(d, true, i) == OWN)
            return i;
    return UINT32_MAX;
}

static shoal_code open_streams(struct reader_pass *p, const uint32_t *columns, struct report *r) {
    uint32_t own[READER_COLUMNS + 1], of_run[READER_COLUMNS], owns = 0, of_runs = 0;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i <= p->count; i++)
        if (!(p->column[i] = new_block()))
            return SHOAL_MEMORY;
    for (uint32_t i = 0; i < p->count; i++) {
        p->source[i] = source_of(p->d, p->samples, columns[i]);
        if (p->source[i] == OWN) {
            p->own_to[owns] = p->column[i];
            own[owns++] = columns[i];
        } else if (p->source[i] == OF_RUN) {
            if (!(p->run_to[of_runs] = new_block()))
                return SHOAL_MEMORY;
            of_run[of_runs++] = columns[i];
        }
    }
    p->own_to[owns] = p->column[p->count];
    if (p->samples && tells_place(p->d))
        own[owns++] = READER_PLACE;
    else if (!owns && (own[0] = any_own(p->d)) != UINT32_MAX)
        owns = 1;
    if (owns)
        code = p->d->format->stream(p->d, p->samples, own, owns, &p->own, r);
    if (!code && of_runs)
        code = p->d->format->stream(p->d, false, of_run, of_runs, &p->of_runs, r);
    return code;
}

shoal_code reader_pass_open(struct reader *d, bool samples, const uint32_t *columns, uint32_t count,
                            struct reader_pass **out, struct report *r) {
    struct reader_pass *p = count <= READER_COLUMNS ? calloc(1, sizeof *p) : NULL;
    shoal_code code = p ? SHOAL_OK : SHOAL_MEMORY;
    *out = NULL;
    if (p) {
        *p = (struct reader_pass){.d = d, .samples = samples && d->has_samples, .count = count};
        code = open_streams(p, columns, r);
    }
    if (code) {
        reader_pass_close(p);
        return code == SHOAL_MEMORY ? report_error(r, code, "%s: not enough memory", d->path)
                                    : code;
    }
    *out = p;
    return SHOAL_OK;
}

// The run of row `at` of the block, and where in the block its rows end.
static size_t end_of_run(struct reader_pass *p, size_t at, size_t rows) {
    const struct reader *d = p->d;
    const double *place = p->column[p->count];
    uint64_t row = p->row + at, end = row + (rows - at);
    if (d->per_run) {
        p->run = row / d->per_run;
        end = (p->run + 1) * d->per_run;
    } else if (d->offsets) {
        while (p->run < d->runs && (double)row >= d->offsets[p->run + 1])
            p->run++;
        if (p->run < d->runs)
            end = (uint64_t)d->offsets[p->run + 1];
    } else {
        size_t i = at;
        p->run = (uint64_t)place[at];
        while (i < rows && place[i] == place[at])
            i++;
        return i;
    }
    return end < p->row + rows ? (size_t)(end - p->row) : rows;
}

// Brings the row of the run at hand.
static shoal_code bring_run(struct reader_pass *p, struct report *r) {
    while (p->run >= p->runs_at + p->runs_count) {
        size_t got;
        p->runs_at += p->runs_count;
        shoal_code code = p->of_runs->next(p->of_runs, p->run_to, READER_ROWS, &got, r);
        p->runs_count = got;
        if (code || !got)
            return code ? code
                        : report_error(r, SHOAL_INPUT, "%s: has samples of more runs than it has",
                                       p->d->path);
    }
    return SHOAL_OK;
}

// Rows [at, end) are of one run.
static void fill_rows(struct reader_pass *p, size_t at, size_t end) {
    const struct reader *d = p->d;
    uint32_t of_run = 0;
    for (uint32_t c = 0; c < p->count; c++) {
        if (p->source[c] == OF_RUN) {
            double value = p->run_to[of_run++][p->run - p->runs_at];
            for (size_t i = at; i < end; i++)
                p->column[c][i] = value;
        } else if (p->source[c] == GRID_TIME)
            memcpy(p->column[c] + at, d->times + (p->row + at - p->run * d->per_run),
                   (end - at) * sizeof(double));
    }
}

shoal_code reader_pass_next(struct reader_pass *p, const double *const **column, size_t *rows,
                            struct report *r) {
    shoal_code code = SHOAL_OK;
    *rows = 0;
    *column = (const double *const *)p->column;
    if (p->own)
        code = p->own->next(p->own, p->own_to, READER_ROWS, rows, r);
    if (code || !p->samples)
        return code;
    for (size_t at = 0; at < *rows && !code;) {
        size_t end = end_of_run(p, at, *rows);
        code = p->of_runs ? bring_run(p, r) : SHOAL_OK;
        if (!code)
            fill_rows(p, at, end);
        at = end;
    }
    p->row += *rows;
    return code;
}
