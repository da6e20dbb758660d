// SPDX-License-Identifier: MIT
// What results as arrays (NPZ, HDF5) mean as tables of runs and samples; see reader.h.
//
// `run` has the runs. With `offsets`, `t` and the values are flat; else those with a second axis as
// long as `t` are samples. What an input is, the metadata's grid tells. Arrays of other shapes are
// passed over.
#include "base/json.h"
#include "io/formats.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum reader_role role;
} ours[] = {
    {"run", READER_RUN},       {"t", READER_TIME},         {"status", READER_STATUS},
    {"steps", READER_COUNT},   {"rejected", READER_COUNT}, {"f_evals", READER_COUNT},
    {"offsets", READER_COUNT},
};

bool reader_add(struct reader *d, const char *name, uint32_t index, bool of_sample) {
    struct reader_column c = {.role = READER_VALUE, .of_sample = of_sample, .index = index};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strcmp(ours[i].name, name))
            c.role = ours[i].role;
    c.name = arena_strdup(&d->arena, name);
    if (!c.name || !vec_reserve(&d->arena, &d->columns, (uint64_t)d->columns.count + 1))
        return false;
    d->columns.items[d->columns.count++] = c;
    return true;
}

// "grid": [{"names": ["rho"], "count": 11}, ...]: what is named there is an input.
static void mark_names(struct reader *d, struct json *j) {
    enum json_kind kind = json_next(j);
    uint32_t depth = j->depth;
    if (kind != JSON_ARRAY)
        return;
    while ((kind = json_next(j)) != JSON_ERROR && kind != JSON_END && j->depth >= depth)
        if (kind == JSON_TEXT) {
            uint32_t column = reader_find(d, j->text.data);
            if (column != UINT32_MAX && !d->columns.items[column].of_sample)
                d->columns.items[column].role = READER_INPUT;
        }
}

static void mark_inputs(struct reader *d) {
    struct json j;
    json_open_text(&j, d->meta, strlen(d->meta));
    if (json_next(&j) == JSON_OBJECT)
        while (json_next(&j) == JSON_NAME) {
            if (!strcmp(j.text.data, "grid")) {
                mark_names(d, &j);
                break;
            }
            if (!json_skip(&j))
                break;
        }
    json_close(&j);
}

static const struct reader_shape *find(const struct reader_shape *a, uint32_t count,
                                       const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(a[i].name, name))
            return &a[i];
    return NULL;
}

// All numbers of a column of runs, or of the grid of times, whose length is known.
static shoal_code read_whole(struct reader *d, const struct reader_shape *a, const double **out,
                             struct report *r) {
    double *all = a->shape[0] < SIZE_MAX / 16 ? arena_new(&d->arena, double, a->shape[0]) : NULL;
    struct reader_stream *s = NULL;
    uint32_t column = d->columns.count;
    if (!all || !reader_add(d, a->name, a->index, false))
        return SHOAL_MEMORY;
    shoal_code code = d->format->stream(d, false, &column, 1, &s, r);
    for (uint64_t at = 0; !code && at < a->shape[0];) {
        double *to = all + at;
        size_t most = a->shape[0] - at < READER_ROWS ? (size_t)(a->shape[0] - at) : READER_ROWS,
               got;
        code = s->next(s, &to, most, &got, r);
        at += got;
        if (!code && !got)
            code = report_error(r, SHOAL_INPUT, "%s: %s ends too early", d->path, a->name);
    }
    if (s)
        s->close(s);
    d->columns.count--;
    *out = all;
    return code;
}

// Offsets that go up, as they should.
static shoal_code check_offsets(const struct reader *d, struct report *r) {
    for (uint64_t i = 0; i < d->runs; i++)
        if (!(d->offsets[i] >= 0 && d->offsets[i + 1] >= d->offsets[i] &&
              d->offsets[i + 1] < 0x1p53))
            return report_error(r, SHOAL_INPUT, "%s: its offsets do not go up", d->path);
    return SHOAL_OK;
}

static bool is_of_sample(const struct reader *d, const struct reader_shape *a, uint64_t samples) {
    if (d->offsets)
        return a->dims == 1 && a->shape[0] == samples &&
               (a->shape[0] != d->runs || !strcmp(a->name, "t"));
    return a->dims == 2 && a->shape[0] == d->runs && a->shape[1] == samples && samples;
}

static shoal_code read_times(struct reader *d, const struct reader_shape *t,
                             const struct reader_shape *offsets, struct report *r) {
    shoal_code code = SHOAL_OK;
    if (offsets && offsets->dims == 1 && offsets->shape[0] == d->runs + 1) {
        code = read_whole(d, offsets, &d->offsets, r);
        return code ? code : check_offsets(d, r);
    }
    d->per_run = t->shape[0];
    return read_whole(d, t, &d->times, r);
}

shoal_code reader_add_arrays(struct reader *d, const struct reader_shape *a, uint32_t count,
                             struct report *r) {
    const struct reader_shape *t = find(a, count, "t"), *run = find(a, count, "run"),
                              *offsets = find(a, count, "offsets");
    shoal_code code = SHOAL_OK;
    uint64_t samples = t && t->dims == 1 ? t->shape[0] : 0;
    d->runs = run ? run->shape[0] : count ? a[0].shape[0] : 0;
    for (uint32_t i = 0; i < count; i++)
        d->has_samples = d->has_samples || (offsets && t) || is_of_sample(d, &a[i], samples);
    if (d->has_samples)
        code = read_times(d, t, offsets, r);
    for (uint32_t i = 0; i < count && !code; i++) {
        bool of_sample = d->has_samples && (&a[i] == t || is_of_sample(d, &a[i], samples));
        if (of_sample || (a[i].dims == 1 && a[i].shape[0] == d->runs))
            code = reader_add(d, a[i].name, a[i].index, of_sample) ? SHOAL_OK : SHOAL_MEMORY;
    }
    if (!code && d->meta)
        mark_inputs(d);
    return code;
}
