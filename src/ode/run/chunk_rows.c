// SPDX-License-Identifier: MIT
// Some rows of a chunk as a chunk of their own, and their results back in their places.
#include "ode/run/chunk.h"

#include <stdlib.h>
#include <string.h>

void chunk_gather(struct chunk *part, const struct chunk *whole, const uint32_t *row) {
    size_t e = part->elem;
    for (uint32_t i = 0; i < part->inputs; i++) {
        char *to = chunk_input(part, i);
        const char *from = chunk_input(whole, i);
        for (uint32_t k = 0; k < part->args.head.rows; k++)
            memcpy(to + k * e, from + row[k] * e, e);
    }
}

void chunk_scatter_counts(const struct chunk *part, struct chunk *whole, const uint32_t *row) {
    for (uint32_t k = 0; k < part->args.head.rows; k++)
        whole->args.saved[row[k]] =
            part->args.status[k] == SHOAL_ROW_PENDING ? 0 : part->args.saved[k];
}

shoal_code chunk_gather_room(struct chunk *part, const struct chunk *whole, const uint32_t *row,
                             struct report *r) {
    for (uint32_t k = 0; k < part->args.head.rows; k++) {
        part->args.status[k] = SHOAL_STATUS_ok;
        part->args.saved[k] = (unsigned)(whole->offsets[row[k] + 1] - whole->offsets[row[k]]);
    }
    return chunk_make_room(part, r);
}

// Samples of a row: where they are, how far apart, and how many.
struct samples {
    size_t at, stride, count;
};

static struct samples samples_of(const struct chunk *c, uint32_t row) {
    const struct shoal_sizes *z = &c->args.z;
    if (c->offsets)
        return (struct samples){c->offsets[row], 1, c->offsets[row + 1] - c->offsets[row]};
    return (struct samples){row * z->row_stride, z->sample_stride, z->samples ? z->samples : 1};
}

static void copy_samples(const struct chunk *part, uint32_t k, struct chunk *whole, uint32_t row) {
    struct samples from = samples_of(part, k), to = samples_of(whole, row);
    size_t e = part->elem, times = part->offsets ? from.count : 1;
    for (uint32_t v = 0; v < part->setup->outputs; v++) {
        const char *values = (const char *)part->args.values + v * part->args.z.var_stride * e;
        char *place = (char *)whole->args.values + v * whole->args.z.var_stride * e;
        for (size_t n = 0; n < from.count; n++)
            memcpy(place + (to.at + n * to.stride) * e, values + (from.at + n * from.stride) * e,
                   e);
    }
    if (part->args.t)
        memcpy((char *)whole->args.t + 2 * e * (whole->offsets ? to.at : row),
               (const char *)part->args.t + 2 * e * (part->offsets ? from.at : k), 2 * e * times);
}

void chunk_scatter_row(const struct chunk *part, uint32_t k, struct chunk *whole, uint32_t row) {
    const struct shoal_args *from = &part->args;
    struct shoal_args *to = &whole->args;
    to->status[row] = from->status[k];
    if (from->status[k] == SHOAL_ROW_PENDING)
        return;
    copy_samples(part, k, whole, row);
    if (!to->steps)
        return;
    to->steps[row] = from->steps[k];
    to->rejected[row] = from->rejected[k];
    to->f_evals[row] = from->f_evals[k];
}

void chunk_scatter(const struct chunk *part, struct chunk *whole, const uint32_t *row) {
    for (uint32_t k = 0; k < part->args.head.rows; k++)
        chunk_scatter_row(part, k, whole, row[k]);
    for (int i = 0; i < TOTAL_COUNT; i++)
        whole->args.totals[i] += part->args.totals[i];
}
