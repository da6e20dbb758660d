// SPDX-License-Identifier: MIT
// Reading what a plot needs: passes over rows, columns in memory, intervals.
#include "base/list.h"
#include "base/number.h"
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Intervals and runs -------------------------------------------------------------------------

struct range range_none(void) {
    return (struct range){INFINITY, -INFINITY};
}

void range_add(struct range *g, const double *values, size_t count, bool log) {
    double low = g->low, high = g->high, floor = log ? 0 : -INFINITY;
    for (size_t i = 0; i < count; i++) { // comparisons with NaN are false
        double v = values[i];
        low = v < low && v > floor ? v : low;
        high = v > high && v < INFINITY ? v : high;
    }
    g->low = low;
    g->high = high;
}

void tell_no_log(struct plot *p, uint32_t column, const double *values, size_t count) {
    size_t lost = 0;
    for (size_t i = 0; i < count; i++)
        lost += values[i] <= 0;
    if (lost)
        report_note(p->r, "%zu values of %s are not above 0 and have no place on its axis", lost,
                    plot_name(p, column));
}

shoal_code range_asked(const char *text, struct range *g, struct report *r) {
    const char *colon = text ? strchr(text, ':') : NULL;
    char first[64];
    if (!text)
        return SHOAL_OK;
    if (colon && (size_t)(colon - text) < sizeof first) {
        memcpy(first, text, (size_t)(colon - text));
        first[colon - text] = 0;
        if (number_finite(first, &g->low) && number_finite(colon + 1, &g->high) &&
            g->low != g->high)
            return SHOAL_OK;
    }
    return report_error(r, SHOAL_INPUT, "'%s' is no interval; A:B is one", text);
}

static bool read_count(const char *text, size_t length, uint64_t *out) {
    double value;
    if (!number_all(text, length, NUMBER_PLAIN, &value) || value != floor(value) || value > 0x1p53)
        return false;
    *out = (uint64_t)value;
    return true;
}

shoal_code run_list_read(const char *text, struct run_list *out, struct report *r) {
    char item[64];
    const char *at = text;
    out->count = 0;
    while (*at) {
        if (out->count == 64 || !list_item(&at, item, sizeof item))
            return report_error(r, SHOAL_INPUT, "'%s': too many runs, or too long a number", text);
        const char *colon = strchr(item, ':');
        uint64_t *from = &out->from[out->count], *to = &out->to[out->count];
        bool good = read_count(item, colon ? (size_t)(colon - item) : strlen(item), from);
        *to = UINT64_MAX;
        if (good && !colon)
            *to = *from + 1;
        else if (good && colon[1])
            good = read_count(colon + 1, strlen(colon + 1), to);
        if (!good)
            return report_error(r, SHOAL_INPUT, "'%s' is no list of runs; 3,10:20 is one", text);
        out->count++;
    }
    return SHOAL_OK;
}

static bool is_listed(const struct run_list *l, double run) {
    for (uint32_t i = 0; i < l->count; i++)
        if (run >= (double)l->from[i] && run < (double)l->to[i])
            return true;
    return false;
}

// ---- Passes -------------------------------------------------------------------------------------

// Columns that decide whether a row is wanted, behind those that were asked for.
struct filter {
    const struct plot *p;
    const struct run_list *runs;
    uint32_t first;                     // of the columns behind
    uint32_t fixed, input[INPUTS_MOST]; // inputs
    double *kept[NAMES_MOST + INPUTS_MOST + 4];
};

static bool is_wanted(const struct filter *f, const double *const *column, size_t row) {
    for (uint32_t i = 0; i < f->fixed; i++)
        if (column[f->first + i][row] != f->p->input[f->input[i]].fixed)
            return false;
    return !f->runs || is_listed(f->runs, column[f->first + f->fixed][row]);
}

static size_t keep_wanted(struct filter *f, const double *const *column, size_t rows) {
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) {
        if (!is_wanted(f, column, i))
            continue;
        for (uint32_t k = 0; k < f->first; k++)
            f->kept[k][n] = column[k][i];
        n++;
    }
    return n;
}

static shoal_code add_filter(struct plot *p, struct filter *f, uint32_t *columns, uint32_t *count,
                             const struct run_list *runs) {
    for (uint32_t i = 0; i < p->inputs; i++)
        if (!isnan(p->input[i].fixed)) {
            f->input[f->fixed++] = i;
            columns[(*count)++] = p->input[i].column;
        }
    if (runs) {
        uint32_t run = reader_role(p->d, READER_RUN);
        if (run == UINT32_MAX)
            return report_error(p->r, SHOAL_INPUT, "%s: has no column `run`", p->d->path);
        columns[(*count)++] = run;
    }
    for (uint32_t i = 0; i < f->first && (f->fixed || runs); i++)
        f->kept[i] = arena_new(&p->arena, double, READER_ROWS);
    return SHOAL_OK;
}

shoal_code pass_over(struct plot *p, uint32_t table, const uint32_t *wanted, uint32_t count,
                     const struct run_list *runs, use_rows *use, void *user) {
    uint32_t columns[READER_COLUMNS];
    struct filter f = {.p = p, .runs = runs, .first = count};
    struct reader_pass *pass = NULL;
    memcpy(columns, wanted, count * sizeof *columns);
    shoal_code code = add_filter(p, &f, columns, &count, runs);
    if (!code)
        code = reader_pass_open(p->d, table, columns, count, &pass, p->r);
    for (size_t rows = 1; !code && rows;) {
        const double *const *column;
        code = reader_pass_next(pass, &column, &rows, p->r);
        if (!code && rows && count > f.first) {
            size_t kept = keep_wanted(&f, column, rows);
            if (kept)
                use(user, (const double *const *)f.kept, kept);
        } else if (!code && rows)
            use(user, column, rows);
    }
    reader_pass_close(pass);
    return code;
}

// ---- Memory -------------------------------------------------------------------------------------

struct loader {
    struct columns *out;
    size_t room;
    bool failed;
};

static bool make_room(struct loader *l, size_t rows) {
    if (l->out->rows + rows <= l->room)
        return true;
    size_t room = l->room ? 2 * l->room : 4 * READER_ROWS;
    for (uint32_t i = 0; i < l->out->count; i++) {
        double *more = realloc(l->out->column[i], room * sizeof *more);
        if (!more)
            return false;
        l->out->column[i] = more;
    }
    l->room = room;
    return true;
}

static void take_rows(void *user, const double *const *column, size_t rows) {
    struct loader *l = user;
    size_t take = l->out->rows + rows <= ROWS_MOST ? rows : ROWS_MOST - l->out->rows;
    l->out->left_out += rows - take;
    l->failed = l->failed || !make_room(l, take);
    if (l->failed)
        return;
    for (uint32_t i = 0; i < l->out->count; i++)
        memcpy(l->out->column[i] + l->out->rows, column[i], take * sizeof(double));
    l->out->rows += take;
}

// Into the arena, which frees them. It must not jump meanwhile.
static bool keep_in_arena(struct plot *p, struct columns *c) {
    jmp_buf *oom = p->arena.oom;
    bool kept = true;
    p->arena.oom = NULL;
    for (uint32_t i = 0; i < c->count; i++) {
        double *from = c->column[i];
        c->column[i] = arena_new(&p->arena, double, c->rows + 1);
        kept = kept && c->column[i];
        if (c->rows && kept)
            memcpy(c->column[i], from, c->rows * sizeof *from);
        free(from);
    }
    p->arena.oom = oom;
    return kept;
}

shoal_code load(struct plot *p, uint32_t table, const uint32_t *columns, uint32_t count,
                const struct run_list *runs, struct columns *out) {
    *out = (struct columns){.count = count};
    struct loader l = {.out = out};
    shoal_code code = pass_over(p, table, columns, count, runs, take_rows, &l);
    if (!code && l.failed)
        code = report_error(p->r, SHOAL_MEMORY, "%s: not enough memory", p->d->path);
    if (code) {
        for (uint32_t i = 0; i < count; i++)
            free(out->column[i]);
        return code;
    }
    if (!keep_in_arena(p, out))
        return report_error(p->r, SHOAL_MEMORY, "%s: not enough memory", p->d->path);
    if (out->left_out)
        report_warning(p->r, "%llu rows are too many for this plot: the first %zu are shown",
                       (unsigned long long)(out->rows + out->left_out), out->rows);
    return SHOAL_OK;
}
