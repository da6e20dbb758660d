// SPDX-License-Identifier: MIT
// What a batch is, as a digest: of all that decides the value of (run, name), and of nothing else.
#include "ode/batch/batch_data.h"

#include <string.h>

static void add_u64(struct sha256 *h, uint64_t n) { sha256_add(h, &n, sizeof n); }

static void add_text(struct sha256 *h, const char *text) {
    add_u64(h, text ? strlen(text) + 1 : 0);
    sha256_add(h, text ? text : "", text ? strlen(text) : 0);
}

// A column of a table, of whichever type.
static void add_column(struct sha256 *h, const double *number, const float *number32,
                       const char *const *text, uint64_t rows) {
    add_u64(h, number ? 1 : number32 ? 2 : text ? 3 : 0);
    if (number)
        sha256_add(h, number, (size_t)rows * sizeof *number);
    else if (number32)
        sha256_add(h, number32, (size_t)rows * sizeof *number32);
    for (uint64_t i = 0; !number && !number32 && text && i < rows; i++)
        add_text(h, text[i]);
}

static void add_sweep(struct sha256 *h, const struct sweep *s) {
    add_u64(h, s->scale);
    add_u64(h, s->count);
    sha256_add(h, &s->first, sizeof s->first);
    sha256_add(h, &s->last, sizeof s->last);
    if (s->scale == SWEEP_LIST)
        sha256_add(h, s->values, (size_t)s->count * sizeof *s->values);
}

static void add_input(struct sha256 *h, const struct batch *b, const struct input *in) {
    add_text(h, in->name.text);
    add_u64(h, in->kind);
    add_u64(h, in->group);
    if (in->kind == INPUT_TABLE)
        add_column(h, in->column, in->column32, NULL, b->table_rows);
    else if (in->kind == INPUT_SWEEP)
        add_sweep(h, &in->sweep);
    else {
        add_u64(h, in->sample.law);
        sha256_add(h, &in->sample.a, sizeof in->sample.a);
        sha256_add(h, &in->sample.b, sizeof in->sample.b);
    }
}

void batch_digest(const struct batch *b, struct sha256 *h) {
    add_u64(h, b->order.count);
    for (uint32_t i = 0; i < b->order.count; i++)
        add_input(h, b, batch_input(b, i));
    add_u64(h, b->extras.count);
    for (uint32_t i = 0; i < b->extras.count; i++) {
        const struct table_column *c = &b->extras.items[i];
        add_text(h, c->name);
        add_column(h, c->number, c->number32, c->text, b->table_rows);
    }
    const uint64_t numbers[] = {b->table_rows, b->sampler, b->samples, b->seed,
                                b->per_row,    b->runs,    b->start,   b->only.count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_u64(h, numbers[i]);
    for (uint32_t i = 0; i < b->only.count; i++) {
        add_u64(h, b->only.items[i].first);
        add_u64(h, b->only.items[i].end);
    }
    add_u64(h, b->lost != NULL);
    for (uint64_t i = 0; b->lost && i < b->table_rows; i++)
        add_u64(h, b->lost[i]);
}
