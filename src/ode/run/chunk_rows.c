// SPDX-License-Identifier: MIT
// Some rows of a chunk as a chunk of their own, and their results back in their places.
#include "ode/run/chunk.h"

#include <stdlib.h>
#include <string.h>

void chunk_gather(struct chunk *part, const struct chunk *whole, const uint32_t *row) {
    size_t e = part->elem;
    for (uint32_t i = 0; i < part->inputs; i++) {
        char *to = chunk_input(part, i);
        const char *from = whole->given[i] ? whole->given[i] : chunk_input(whole, i);
        for (uint32_t k = 0; k < part->args.head.rows; k++)
            memcpy(to + k * e, from + row[k] * e, e);
    }
    unsigned *doses = (unsigned *)(uintptr_t)part->args.dose_offset;
    for (uint32_t k = 0; doses && k < part->args.head.rows; k++)
        memcpy(doses + 2 * k, whole->args.dose_offset + 2 * row[k], 2 * sizeof *doses);
    unsigned *to = (unsigned *)(uintptr_t)part->args.driver_row;
    const unsigned *from = whole->args.driver_row;
    for (uint32_t i = 0; to && i < part->plan->model->signals.count; i++)
        for (uint32_t k = 0; k < part->args.head.rows; k++)
            to[(size_t)i * part->args.head.rows + k] =
                from[(size_t)i * whole->args.head.rows + row[k]];
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

// Elements of a row: where they are, how far apart, and how many.
struct elements {
    size_t at, stride, count;
};

static struct elements elements_of(const struct chunk *c, const struct result_array *a,
                                   uint32_t row) {
    const struct shoal_sizes *z = &c->args.z;
    if (a->axes == AXES_FLAT)
        return (struct elements){c->offsets[row], 1, c->offsets[row + 1] - c->offsets[row]};
    if (a->axes == AXES_PER_SAMPLE)
        return (struct elements){row * z->row_stride, chunk_sample_stride(c, a), z->samples};
    if (a->axes == AXES_WIDE)
        return (struct elements){row, chunk_sample_stride(c, a), result_width(c->list, a)};
    return (struct elements){row, 1, 1};
}

static void copy_array(const struct chunk *part, uint32_t k, struct chunk *whole, uint32_t row,
                       const struct result_array *a) {
    const char *from = chunk_array(part, a);
    char *to = chunk_array(whole, a);
    struct elements of = elements_of(part, a, k), in = elements_of(whole, a, row);
    size_t bytes = chunk_bytes(a, part->elem);
    for (size_t n = 0; from && to && n < of.count; n++)
        memcpy(to + (in.at + n * in.stride) * bytes, from + (of.at + n * of.stride) * bytes, bytes);
}

void chunk_scatter_row(const struct chunk *part, uint32_t k, struct chunk *whole, uint32_t row) {
    const struct result_list *list = part->list;
    whole->args.status[row] = part->args.status[k];
    for (uint32_t i = 0; i < list->count && part->args.status[k] != SHOAL_ROW_PENDING; i++)
        copy_array(part, k, whole, row, &list->array[i]);
}

void chunk_scatter(const struct chunk *part, struct chunk *whole, const uint32_t *row) {
    for (uint32_t k = 0; k < part->args.head.rows; k++)
        chunk_scatter_row(part, k, whole, row[k]);
    for (int i = 0; i < TOTAL_COUNT; i++)
        whole->args.totals[i] += part->args.totals[i];
}
