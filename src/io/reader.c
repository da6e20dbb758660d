// SPDX-License-Identifier: MIT
// See reader.h: what formats share, and the rows of samples with what belongs to their runs.
#include "io/reader.h"

#include "io/formats.h"

#include <math.h>
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

uint32_t reader_role_in(const struct reader *d, uint32_t table, enum reader_role role) {
    for (uint32_t i = 0; i < d->columns.count; i++)
        if (d->columns.items[i].table == table && d->columns.items[i].role == role)
            return i;
    return UINT32_MAX;
}

double reader_word(struct reader *d, struct reader_words *w, const char *text, size_t length) {
    for (uint32_t i = 0; i < w->count; i++)
        if (strlen(w->word[i]) == length && !memcmp(w->word[i], text, length))
            return i;
    const char *word = w->count < READER_WORDS ? arena_strndup(&d->arena, text, length) : NULL;
    if (!word)
        return NAN;
    w->word[w->count++] = word;
    return w->count - 1;
}

struct reader_table *reader_add_table(struct reader *d, const char *name, uint64_t per_run) {
    if (!vec_reserve(&d->arena, &d->tables, (uint64_t)d->tables.count + 1))
        return NULL;
    struct reader_table *t = &d->tables.items[d->tables.count++];
    *t = (struct reader_table){.name = arena_strdup(&d->arena, name), .per_run = per_run};
    return t->name ? t : NULL;
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
    shoal_code code =
        d->path && reader_add_table(d, "run", 1) ? f->reader_open(d, r) : SHOAL_MEMORY;
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

// Where a column of a pass comes from: the rows of the table, the run they are of, or what all runs
// share.
enum comes_from { OWN, OF_RUN, OF_GRID };

struct reader_pass {
    struct reader *d;
    uint32_t table, count;
    const double *grid[READER_COLUMNS];
    enum comes_from source[READER_COLUMNS + 1];
    double *column[READER_COLUMNS + 1]; // the last is that of runs
    struct reader_stream *own, *of_runs;
    double *own_to[READER_COLUMNS + 1], *run_to[READER_COLUMNS + 1];
    const double *run_number;     // of the rows of runs at hand; NULL: rows tell their place
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
    for (uint32_t i = 0; i <= READER_COLUMNS; i++)
        free(p->run_to[i]);
    free(p);
}

static enum comes_from source_of(const struct reader *d, uint32_t table, uint32_t column) {
    const struct reader_column *c = &d->columns.items[column];
    if (c->grid)
        return OF_GRID;
    return c->table == table ? OWN : OF_RUN;
}

static bool tells_place(const struct reader *d, uint32_t table) {
    return table && !d->tables.items[table].per_run && !d->tables.items[table].offsets;
}

static double *new_block(void) { return malloc(READER_ROWS * sizeof(double)); }

// Some column has to count the rows of a table, where none was asked for that does.
static uint32_t any_own(const struct reader *d, uint32_t table) {
    for (uint32_t i = 0; i < d->columns.count; i++)
        if (source_of(d, table, i) == OWN)
            return i;
    return UINT32_MAX;
}

static shoal_code open_streams(struct reader_pass *p, const uint32_t *columns, struct report *r) {
    uint32_t own[READER_COLUMNS + 1], of_run[READER_COLUMNS + 1], owns = 0, of_runs = 0;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i <= p->count; i++)
        if (!(p->column[i] = new_block()))
            return SHOAL_MEMORY;
    for (uint32_t i = 0; i < p->count; i++) {
        p->source[i] = source_of(p->d, p->table, columns[i]);
        p->grid[i] = p->d->columns.items[columns[i]].grid;
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
    if (tells_place(p->d, p->table)) {
        own[owns++] = READER_PLACE;
        uint32_t run = of_runs ? reader_role_in(p->d, READER_RUNS, READER_RUN) : UINT32_MAX;
        if (run != UINT32_MAX && !(p->run_number = p->run_to[of_runs] = new_block()))
            return SHOAL_MEMORY;
        if (run != UINT32_MAX)
            of_run[of_runs++] = run;
    } else if (!owns && (own[0] = any_own(p->d, p->table)) != UINT32_MAX)
        owns = 1;
    if (owns)
        code = p->d->format->stream(p->d, p->table, own, owns, &p->own, r);
    if (!code && of_runs)
        code = p->d->format->stream(p->d, READER_RUNS, of_run, of_runs, &p->of_runs, r);
    return code;
}

// A column of a third table has no place in the rows.
static shoal_code check_tables(const struct reader *d, uint32_t table, const uint32_t *columns,
                               uint32_t count, struct report *r) {
    for (uint32_t i = 0; i < count; i++) {
        const struct reader_column *c = &d->columns.items[columns[i]];
        if (c->table != READER_RUNS && c->table != table)
            return report_error(r, SHOAL_INPUT, "%s: `%s` has other rows than %s", d->path, c->name,
                                d->tables.items[table].name);
    }
    return SHOAL_OK;
}

shoal_code reader_pass_open(struct reader *d, uint32_t table, const uint32_t *columns,
                            uint32_t count, struct reader_pass **out, struct report *r) {
    *out = NULL;
    if (check_tables(d, table, columns, count, r))
        return SHOAL_INPUT;
    struct reader_pass *p = count <= READER_COLUMNS ? calloc(1, sizeof *p) : NULL;
    shoal_code code = p ? SHOAL_OK : SHOAL_MEMORY;
    if (p) {
        *p = (struct reader_pass){.d = d, .table = table, .count = count};
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
    const struct reader_table *t = &p->d->tables.items[p->table];
    const double *place = p->column[p->count];
    uint64_t row = p->row + at, end = row + (rows - at), runs = p->d->runs;
    if (t->per_run) {
        p->run = row / t->per_run;
        end = (p->run + 1) * t->per_run;
    } else if (t->offsets) {
        while (p->run < runs && (double)row >= t->offsets[p->run + 1])
            p->run++;
        if (p->run < runs)
            end = (uint64_t)t->offsets[p->run + 1];
    } else {
        size_t i = at;
        while (i < rows && place[i] == place[at])
            i++;
        return i;
    }
    return end < p->row + rows ? (size_t)(end - p->row) : rows;
}

static shoal_code bring_block(struct reader_pass *p, struct report *r) {
    size_t got;
    p->runs_at += p->runs_count;
    shoal_code code = p->of_runs->next(p->of_runs, p->run_to, READER_ROWS, &got, r);
    p->runs_count = got;
    if (code || got)
        return code;
    return report_error(r, SHOAL_INPUT, "%s: has samples of more runs than it has", p->d->path);
}

// Brings the row of the run at hand; a run without rows here is passed over.
static shoal_code bring_run(struct reader_pass *p, double number, struct report *r) {
    for (;;) {
        while (p->run >= p->runs_at + p->runs_count) {
            shoal_code code = bring_block(p, r);
            if (code)
                return code;
        }
        if (!p->run_number || p->run_number[p->run - p->runs_at] == number)
            return SHOAL_OK;
        p->run++;
    }
}

// Rows [at, end) are of one run.
static void fill_rows(struct reader_pass *p, size_t at, size_t end) {
    uint64_t per_run = p->d->tables.items[p->table].per_run;
    uint32_t of_run = 0;
    for (uint32_t c = 0; c < p->count; c++) {
        if (p->source[c] == OF_RUN) {
            double value = p->run_to[of_run++][p->run - p->runs_at];
            for (size_t i = at; i < end; i++)
                p->column[c][i] = value;
        } else if (p->source[c] == OF_GRID)
            memcpy(p->column[c] + at, p->grid[c] + (p->row + at - p->run * per_run),
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
    if (code || p->table == READER_RUNS)
        return code;
    for (size_t at = 0; at < *rows && !code;) {
        size_t end = end_of_run(p, at, *rows);
        code = p->of_runs ? bring_run(p, p->column[p->count][at], r) : SHOAL_OK;
        if (!code)
            fill_rows(p, at, end);
        at = end;
    }
    p->row += *rows;
    return code;
}
