// SPDX-License-Identifier: MIT
// Values: the run of a row, and the value of (run, input), one by one or for many rows at once.
#include "ode/batch/batch_data.h"

#include <string.h>

// The part that holds a row.
static const struct part *part_of_row(const struct batch *b, uint64_t row) {
    uint32_t low = 0, high = b->parts.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (b->parts.items[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return &b->parts.items[low];
}

// Where a row is among those of all shards, if the batch has a stride.
static uint64_t place_of(const struct batch *b, uint64_t row) {
    return b->apart ? b->shard + row * b->apart : row;
}

void batch_fill_runs(const struct batch *b, uint64_t first_row, uint32_t rows, uint64_t *out) {
    for (uint32_t i = 0; i < rows && b->apart; i++)
        out[i] = batch_run_of_row(b, first_row + i);
    for (uint32_t i = 0; i < rows && !b->apart;) {
        const struct part *p = part_of_row(b, first_row + i);
        uint64_t run = p->first + (first_row + i - p->row), left = p->end - run;
        for (; i < rows && left; left--)
            out[i++] = run++;
    }
}

uint64_t batch_run_of_row(const struct batch *b, uint64_t row) {
    uint64_t place = place_of(b, row);
    const struct part *p = part_of_row(b, place);
    return p->first + (place - p->row);
}

// Values of consecutive points of the input's group.
static void fill_points(const struct input *in, uint64_t first, uint64_t n, double *out) {
    switch (in->kind) {
    case INPUT_TABLE:
        if (in->column)
            memcpy(out, in->column + first, (size_t)n * sizeof *out);
        for (uint64_t i = 0; !in->column && i < n; i++)
            out[i] = (double)in->column32[first + i];
        break;
    case INPUT_SWEEP:
        sweep_values(&in->sweep, first, n, out);
        break;
    case INPUT_SAMPLE:
        sample_values(&in->sample, first, n, out);
        break;
    case INPUT_KINDS: // there is no such input
        break;
    }
}

// Each point holds for `inner` runs; points are computed by the block.
static void fill_spread(const struct input *in, const struct group *g, uint64_t run, uint64_t n,
                        double *out) {
    enum { BLOCK = 256 };
    double block[BLOCK];
    uint64_t point = run / g->inner % g->count, used = run % g->inner;
    while (n) {
        uint64_t points = smaller(g->count - point, smaller(BLOCK, (n - 1) / g->inner + 2));
        fill_points(in, point, points, block);
        for (uint64_t k = 0; k < points && n; k++) {
            uint64_t length = smaller(n, g->inner - used);
            for (uint64_t i = 0; i < length; i++)
                out[i] = block[k];
            out += length;
            n -= length;
            used = 0;
        }
        point = (point + points) % g->count;
    }
}

static void fill_runs(const struct input *in, const struct group *g, uint64_t run, uint64_t n,
                      double *out) {
    uint64_t period = smaller(n, g->inner * g->count); // then all repeats
    if (g->inner > 1) {
        fill_spread(in, g, run, period, out);
    } else {
        uint64_t point = run % g->count, first = smaller(period, g->count - point);
        fill_points(in, point, first, out);
        fill_points(in, 0, period - first, out + first);
    }
    for (uint64_t done = period; done < n; done *= 2)
        memcpy(out + done, out, (size_t)smaller(done, n - done) * sizeof *out);
}

void batch_fill(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                double *out) {
    const struct input *in = batch_input(b, input);
    uint64_t row = first_row, end = first_row + rows;
    for (; b->apart && row < end; row++)
        *out++ = batch_value(b, input, batch_run_of_row(b, row));
    if (b->apart)
        return;
    for (const struct part *p = part_of_row(b, row); row < end; p++) {
        uint64_t run = p->first + (row - p->row), n = smaller(end - row, p->end - run);
        fill_runs(in, &b->groups.items[in->group], run, n, out);
        out += n;
        row += n;
    }
}

// Floats of a table that is all there is, as they are.
static void copy_f32(const struct batch *b, const struct input *in, uint64_t row, uint64_t end,
                     float *out) {
    for (const struct part *p = part_of_row(b, row); row < end; p++) {
        uint64_t run = p->first + (row - p->row), n = smaller(end - row, p->end - run);
        memcpy(out, in->column32 + run, (size_t)n * sizeof *out);
        out += n;
        row += n;
    }
}

void batch_fill_f32(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                    float *out) {
    enum { BLOCK = 1024 };
    double block[BLOCK];
    const struct input *in = batch_input(b, input);
    if (in->column32 && b->groups.count == 1 && !b->apart) { // then a run is a row of the table
        copy_f32(b, in, first_row, first_row + rows, out);
        return;
    }
    for (uint32_t done = 0; done < rows;) {
        uint32_t n = rows - done < BLOCK ? rows - done : BLOCK;
        batch_fill(b, input, first_row + done, n, block);
        for (uint32_t i = 0; i < n; i++)
            out[done + i] = (float)block[i];
        done += n;
    }
}

const void *batch_lies(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                       bool f32) {
    const struct input *in = batch_input(b, input);
    if (in->kind != INPUT_TABLE || b->groups.count != 1 || b->apart)
        return NULL; // else a run is a row of the table
    const struct part *p = part_of_row(b, first_row);
    uint64_t run = p->first + (first_row - p->row);
    if (p->end - run < rows)
        return NULL;
    if (f32)
        return in->column32 ? in->column32 + run : NULL;
    return in->column ? in->column + run : NULL;
}

static bool touches(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return a && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

bool batch_borrows(const struct batch *b, const void *memory, size_t bytes) {
    size_t rows = (size_t)b->table_rows;
    bool found = false;
    for (uint32_t i = 0; i < b->inputs.count && !found; i++) {
        const struct input *in = &b->inputs.items[i];
        found = touches(in->column, rows * sizeof *in->column, memory, bytes) ||
                touches(in->column32, rows * sizeof *in->column32, memory, bytes);
    }
    for (uint32_t i = 0; i < b->extras.count && !found; i++)
        found = touches(b->extras.items[i].number, rows * sizeof(double), memory, bytes);
    return found;
}

double batch_value(const struct batch *b, uint32_t input, uint64_t run) {
    const struct input *in = batch_input(b, input);
    const struct group *g = &b->groups.items[in->group];
    double value;
    fill_points(in, run / g->inner % g->count, 1, &value);
    return value;
}

uint64_t batch_table_row(const struct batch *b, uint64_t run) {
    return b->table ? run / b->groups.items[0].inner : 0;
}

uint64_t batch_table_rows(const struct batch *b) { return b->table ? b->table_rows : 0; }
