// SPDX-License-Identifier: MIT
// What a device copies from and to the caller's memory by itself, past the blocks of the chunk:
// inputs that were lent, and arrays that rows end up in anyway.
//
// That memory must be such that the device reaches (shoal_alloc), and lie as the kernel has it:
// values of the kernel's type, rows one behind the other. Status and totals always take the way
// through the block: a row counts only once its status was looked at and handed on, so what else
// the device has written by then, also of rows that a stop or a failure leaves undone, counts for
// nothing. Memory that inputs are read from is never written ahead of that: rows that another
// device runs again must find them as they were.
#include "ode/run/chunk.h"

enum { DIRECT_LEAST = 64 << 10 }; // bytes of a copy of its own; fewer go with the block

static bool is_enough(uint64_t rows, size_t bytes) { return rows * bytes >= DIRECT_LEAST; }

static bool reaches(const struct chunk *c, const void *memory, size_t bytes) {
    const struct dispatch_pool *pool = &c->runner->pool;
    return pool->backend->reaches(pool->device, memory, bytes);
}

// ---- Inputs -------------------------------------------------------------------------------------

bool direct_input(struct chunk *c, uint32_t i) {
    struct shoal_block *b = &c->base.launch.read;
    uint32_t array = c->list->first_column + c->order[i], rows = c->args.head.rows;
    size_t bytes = rows * c->elem;
    bool f32 = c->elem == sizeof(float);
    c->given[i] = NULL;
    if (!c->parts->read_stretch || !is_enough(rows, c->elem) || (f32 && c->host[array]))
        return false;
    const void *from = batch_lies(c->batch, c->order[i], c->base.first_row, rows, f32);
    if (!from || !reaches(c, from, bytes))
        return false;
    size_t offset = (size_t)((char *)chunk_input(c, i) - (char *)b->data);
    c->parts->read_stretch[b->stretches++] =
        (struct shoal_stretch){offset, bytes, (void *)(uintptr_t)from};
    c->given[i] = from;
    if (!f32)
        c->host[array] = (void *)(uintptr_t)from;
    return true;
}

// ---- Results ------------------------------------------------------------------------------------

// Whether the kernel leaves an array in the block as the sink has it, row by row.
static bool may_be_there(const struct chunk *c, const struct result_array *a) {
    bool rows = a->axes == AXES_PER_RUN || a->axes == AXES_WIDE ||
                (a->axes == AXES_PER_SAMPLE && c->plan->limits.rows_fastest);
    return rows && a->wanted && a->role != ROLE_STATUS && a->type != TYPE_TIME &&
           chunk_writes(a, c->use);
}

// The sink's memory for an array, if the device reaches all of it and nobody reads it meanwhile.
static struct array_target find_memory(const struct chunk *c, uint32_t i, uint32_t rows) {
    const struct result_array *a = &c->list->array[i];
    const struct array_target none = {0}, to = c->sink->memory(c->sink, i);
    size_t all = (size_t)c->list->of.rows, bytes = result_type_bytes(a->type),
           width = (size_t)result_width(c->list, a);
    if (!to.data || !may_be_there(c, a) || !is_enough(rows, bytes) || to.row_stride != 1 ||
        !width || (width > 1 && to.sample_stride < all))
        return none;
    size_t extent = ((width - 1) * to.sample_stride + all) * bytes;
    return batch_borrows(c->batch, to.data, extent) || !reaches(c, to.data, extent) ? none : to;
}

void direct_init(struct chunk *c, uint32_t rows) {
    size_t copies = 0;
    c->given = arena_new(&c->arena, const void *, c->inputs + 1);
    c->memory = arena_new(&c->arena, struct array_target, c->list->count + 1);
    if (!c->runner->pool.backend->reaches || c->use != CHUNK_WHOLE)
        return;
    c->parts->read_stretch = arena_new(&c->arena, struct shoal_stretch, c->inputs + 1);
    for (uint32_t i = 0; i < c->list->count && c->sink && c->sink->memory; i++) {
        c->memory[i] = find_memory(c, i, rows);
        if (c->memory[i].data)
            copies += (size_t)result_width(c->list, &c->list->array[i]);
    }
    c->parts->written_stretch = arena_new(&c->arena, struct shoal_stretch, copies + 1);
}

void *direct_array(const struct chunk *c, const struct result_array *a) {
    size_t i = (size_t)(a - c->list->array), bytes = result_type_bytes(a->type);
    if (i >= c->list->count || !c->memory[i].data || !is_enough(c->args.head.rows, bytes))
        return NULL;
    return (char *)c->memory[i].data + c->base.first_row * bytes;
}

// One copy for each sample, or element of its axes.
static void list_array(struct chunk *c, const struct result_array *a, char *to) {
    struct shoal_block *b = &c->base.launch.written;
    size_t bytes = result_type_bytes(a->type), width = (size_t)result_width(c->list, a),
           rows = c->args.head.rows * bytes, stride = chunk_sample_stride(c, a) * bytes;
    size_t offset = (size_t)((char *)chunk_in_block(c, a) - (char *)b->data);
    for (size_t k = 0; k < width; k++)
        c->parts->written_stretch[b->stretches++] =
            (struct shoal_stretch){offset + k * rows, rows, to + k * stride};
}

void direct_results(struct chunk *c) {
    c->base.launch.written.stretches = 0;
    for (uint32_t n = 0; n < c->writes; n++) {
        const struct result_array *a = &c->list->array[c->written[n]];
        char *to = direct_array(c, a);
        if (to)
            list_array(c, a, to);
    }
}
