// SPDX-License-Identifier: MIT
// See kept.h.
#include "ode/run/kept.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t most_bytes = 16 << 20;

static bool has_rows(const struct result_array *a) {
    return a->axes == AXES_PER_RUN || a->axes == AXES_PER_SAMPLE || a->axes == AXES_WIDE;
}

static size_t row_bytes(const struct result_list *list, const struct result_array *a) {
    return (size_t)result_width(list, a) * result_type_bytes(a->type);
}

// False: out of memory.
static bool make_room(struct kept *k, const struct result_list *list, uint32_t times) {
    k->room = (uint32_t)list->of.rows * times;
    k->at = arena_new(&k->arena, uint64_t, k->room);
    k->run = arena_new(&k->arena, uint64_t, k->room);
    k->data = arena_new(&k->arena, void *, list->count);
    for (uint32_t i = 0; k->data && i < list->count; i++) {
        const struct result_array *a = &list->array[i];
        if (has_rows(a) && !(k->data[i] = arena_alloc(&k->arena, k->room * row_bytes(list, a))))
            return false;
    }
    return k->at && k->run && k->data;
}

struct kept *kept_new(const struct result_list *list, uint32_t times) {
    if (list->of.kind == SAMPLES_OWN || result_list_bytes(list) > most_bytes / times)
        return NULL;
    struct kept *k = calloc(1, sizeof *k);
    if (!k || make_room(k, list, times))
        return k;
    kept_free(k);
    return NULL;
}

void kept_free(struct kept *k) {
    if (!k)
        return;
    arena_free(&k->arena);
    free(k->rest);
    free(k);
}

// ---- Rows come ----------------------------------------------------------------------------------

// Samples of a row follow each other in what is kept.
static void add_row(char *to, const struct result_list *list, const struct result_array *a,
                    const struct result_view *v, uint32_t row) {
    size_t bytes = result_type_bytes(a->type), n = (size_t)result_width(list, a);
    size_t at = row * (a->axes == AXES_PER_RUN ? 1 : v->row_stride);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * bytes, (const char *)v->data + (at + i * v->sample_stride) * bytes, bytes);
}

// What these rows took alone: the totals of a run that was stopped have more in them.
static void sum_up(struct kept *k, const struct result_list *list, const struct result_chunk *c) {
    const uint32_t *steps = c->view[result_list_ours(list, FIELD_steps) - list->array].data,
                   *rejected = c->view[result_list_ours(list, FIELD_rejected) - list->array].data;
    const uint64_t *f_evals = c->view[result_list_ours(list, FIELD_f_evals) - list->array].data;
    for (uint32_t i = 0; i < c->rows; i++) {
        k->tally.steps += steps[i];
        k->tally.rejected += rejected[i];
        k->tally.f_evals += f_evals[i];
    }
}

void kept_add(struct kept *k, const struct result_list *list, const struct result_chunk *c) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct result_array *a = &list->array[i];
        for (uint32_t row = 0; k->data[i] && row < c->rows; row++)
            add_row((char *)k->data[i] + (k->rows + row) * row_bytes(list, a), list, a, &c->view[i],
                    row);
    }
    sum_up(k, list, c);
    k->rows += c->rows;
}

static void note_tally(struct kept *k, const shoal_tally *tally) {
    k->tally.found_stiff += tally->found_stiff;
    k->tally.failed_first += tally->failed_first;
    k->tally.taken_back += tally->taken_back;
}

static void note_row(struct kept *k, uint32_t i, const struct batch *b, uint64_t row) {
    k->at[i] = row;
    k->run[i] = batch_run_of_row(b, row);
}

static struct kept *with_rest(struct kept *k, struct batch *rest) {
    k->rest = rest;
    if (rest)
        return k;
    kept_free(k);
    return NULL;
}

struct kept *kept_close(struct kept *k, const struct batch *b, uint32_t count,
                        const shoal_tally *tally) {
    note_tally(k, tally);
    for (uint32_t i = 0; i < k->rows; i++)
        note_row(k, i, b, batch_picked_row(b, count, i));
    return with_rest(k, k->rows ? batch_without(b, count, k->rows) : NULL);
}

struct kept *kept_close_first(struct kept *k, const struct batch *b, const shoal_tally *tally) {
    note_tally(k, tally);
    free(k->rest); // rows came behind those that had been all
    for (uint32_t i = 0; i < k->rows; i++)
        note_row(k, i, b, i);
    return with_rest(k, batch_stretch(b, k->rows, batch_rows(b) - k->rows));
}

// ---- Rows go ------------------------------------------------------------------------------------

uint32_t kept_stretch(const struct kept *k, uint32_t i) {
    uint32_t n = 1;
    while (i + n < k->rows && k->at[i + n] == k->at[i] + n)
        n++;
    return n;
}

struct result_chunk kept_view(const struct kept *k, uint32_t i, uint32_t rows,
                              const struct result_list *list, struct result_view *view) {
    for (uint32_t n = 0; n < list->count; n++) {
        const struct result_array *a = &list->array[n];
        view[n] = (struct result_view){0};
        if (k->data[n] && a->wanted)
            view[n] =
                (struct result_view){.data = (const char *)k->data[n] + i * row_bytes(list, a),
                                     .row_stride = (size_t)result_width(list, a),
                                     .sample_stride = 1};
    }
    return (struct result_chunk){.first_row = k->at[i], .rows = rows, .view = view};
}

unsigned char kept_status(const struct kept *k, uint32_t i, const struct result_list *list) {
    const unsigned char *status = k->data[result_list_ours(list, FIELD_status) - list->array];
    return status[i];
}
