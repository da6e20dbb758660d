// SPDX-License-Identifier: MIT
// See packed.h.
#include "api/packed.h"

#include "api/keep.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x31776f726c616f68) // also tells the order of bytes
#define MAGIC_THERE UINT64_C(0x32776f726c616f68)

bool packed_has(const struct result_array *a) {
    return a->from == FROM_KERNEL || a->from == FROM_OFFSETS;
}

shoal_code packed_job(const shoal_solver *s, const shoal_batch *b, unsigned char job[PACKED_JOB],
                      struct report *r) {
    struct keep keep;
    shoal_code code = keep_make(&keep, s, b, NULL, r);
    if (code == SHOAL_OK)
        journal_digest(&keep.order, job);
    keep_free(&keep);
    return code;
}

// Bytes of an array, up to the next multiple of eight; false: more than there can be.
static bool bytes_of(const struct result_list *list, const struct result_array *a, uint64_t rows,
                     uint64_t samples, uint64_t *out) {
    uint64_t bytes = result_length(a, rows, samples);
    if (__builtin_mul_overflow(bytes, result_width(list, a), &bytes) ||
        __builtin_mul_overflow(bytes, result_type_bytes(a->type), &bytes) ||
        __builtin_add_overflow(bytes, 7, &bytes))
        return false;
    *out = bytes & ~UINT64_C(7);
    return true;
}

// Where each array begins, and the end of the last.
static bool lay_out(const struct result_list *list, uint64_t rows, uint64_t samples, uint64_t *at,
                    uint64_t *end) {
    uint64_t bytes;
    *end = sizeof(struct packed_head);
    for (uint32_t i = 0; i < list->count; i++) {
        at[i] = *end;
        if (packed_has(&list->array[i]) &&
            (!bytes_of(list, &list->array[i], rows, samples, &bytes) ||
             __builtin_add_overflow(*end, bytes, end)))
            return false;
    }
    return *end <= SIZE_MAX / 2;
}

// ---- Packing ------------------------------------------------------------------------------------

struct packed_sink {
    struct sink base;
    struct packed_order order;
    const struct result_list *list;
    struct array_target *to; // [arrays]
    uint64_t *at;            // [arrays]
    char *bytes;
    size_t room;
    shoal_tally told; // what chunks so far took
};

static shoal_code no_memory(struct report *r) {
    return report_error(r, SHOAL_MEMORY, "out of memory");
}

static shoal_code packed_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct packed_sink *s = (struct packed_sink *)sink;
    for (uint32_t i = 0; i < list->count; i++)
        list->array[i].wanted = packed_has(&list->array[i]);
    s->list = list;
    s->to = calloc((size_t)list->count + 1, sizeof *s->to);
    s->at = calloc((size_t)list->count + 1, sizeof *s->at);
    return s->to && s->at ? SHOAL_OK : no_memory(r);
}

static bool make_room(struct packed_sink *s, uint64_t bytes) {
    if (bytes <= s->room)
        return true;
    free(s->bytes);
    s->bytes = malloc((size_t)bytes);
    s->room = s->bytes ? (size_t)bytes : 0;
    return s->bytes;
}

static struct packed_head head_of(struct packed_sink *s, const struct result_chunk *c,
                                  uint64_t samples) {
    const shoal_tally *now = s->order.tally;
    struct packed_head h = {.magic = MAGIC,
                            .first = s->order.first + c->first_row,
                            .rows = c->rows,
                            .samples = samples};
    memcpy(h.job, s->order.job, sizeof h.job);
#define X(name) h.name = now->name - s->told.name;
    PACKED_COUNTS(X)
#undef X
    s->told = *now;
    return h;
}

// Arrays with rows are copied by strides, the others as they are.
static void copy_arrays(struct packed_sink *s, const struct result_chunk *c, uint64_t samples) {
    const struct result_list *list = s->list;
    struct result_chunk rows = *c;
    rows.first_row = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct result_array *a = &list->array[i];
        bool whole = a->axes == AXES_FLAT || a->axes == AXES_OFFSETS;
        s->to[i] = (struct array_target){0};
        if (packed_has(a) && whole)
            memcpy(s->bytes + s->at[i], c->view[i].data,
                   (size_t)result_length(a, c->rows, samples) * result_type_bytes(a->type));
        else if (packed_has(a))
            s->to[i] = (struct array_target){s->bytes + s->at[i], (size_t)result_width(list, a), 1};
    }
    array_copy(list, &rows, s->to, s->order.threads, s->order.team);
}

static shoal_code packed_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct packed_sink *s = (struct packed_sink *)sink;
    uint64_t samples = c->offsets ? c->offsets[c->rows] : 0, bytes;
    if (!lay_out(s->list, c->rows, samples, s->at, &bytes) || !make_room(s, bytes))
        return no_memory(r);
    struct packed_head h = head_of(s, c, samples);
    memcpy(s->bytes, &h, sizeof h);
    copy_arrays(s, c, samples);
    return s->order.to->done(s->order.to->user, h.first, h.rows, s->bytes, (size_t)bytes);
}

static shoal_code packed_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void packed_free(struct sink *sink) {
    struct packed_sink *s = (struct packed_sink *)sink;
    free(s->to);
    free(s->at);
    free(s->bytes);
    free(s);
}

struct sink *packed_sink_new(const struct packed_order *o) {
    struct packed_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->base = (struct sink){
        .begin = packed_begin, .chunk = packed_chunk, .end = packed_end, .free = packed_free};
    s->order = *o;
    return &s->base;
}

// ---- Looking ------------------------------------------------------------------------------------

static shoal_code wrong(const char *how, struct report *r) {
    return report_error(r, SHOAL_INPUT, "rows that came from elsewhere are damaged: %s", how);
}

static bool offsets_rise(const uint64_t *offsets, uint64_t rows, uint64_t samples) {
    bool good = offsets[0] == 0 && offsets[rows] == samples;
    for (uint64_t i = 0; i < rows; i++)
        good = good && offsets[i] <= offsets[i + 1];
    return good;
}

static bool statuses_are(const unsigned char *status, uint64_t rows) {
    unsigned char most = 0;
    for (uint64_t i = 0; i < rows; i++)
        most = status[i] > most ? status[i] : most;
    return most < SHOAL_STATUS_COUNT;
}

static shoal_code check_head(const struct packed_head *h, size_t length,
                             const struct result_list *list, const unsigned char job[PACKED_JOB],
                             struct report *r) {
    if (length < sizeof *h || (h->magic != MAGIC && h->magic != MAGIC_THERE))
        return wrong("they do not begin as they should", r);
    if (memcmp(h->job, job, PACKED_JOB))
        return report_error(r, SHOAL_INPUT,
                            "rows came from another job, or from a device whose bits may differ "
                            "(--mixed-bits allows that)");
    if (!h->rows || h->rows > UINT32_MAX || h->first > list->of.rows ||
        h->rows > list->of.rows - h->first)
        return wrong("there are no such rows", r);
    return SHOAL_OK;
}

shoal_code packed_open(const void *bytes, size_t length, const struct result_list *list,
                       const unsigned char job[PACKED_JOB], struct packed_head *head,
                       struct result_view *view, struct result_there *there, struct report *r) {
    *head = (struct packed_head){0};
    if (length >= sizeof *head)
        memcpy(head, bytes, sizeof *head);
    shoal_code code = check_head(head, length, list, job, r);
    if (code != SHOAL_OK)
        return code;
    if (packed_is_there(head) && !there)
        return wrong("their numbers are elsewhere", r);
    uint64_t at = sizeof *head, size;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct result_array *a = &list->array[i];
        view[i] = (struct result_view){0};
        bool is = packed_is_there(head) && packed_may_be_there(a);
        if (there)
            there[i] = (struct result_there){.is = is};
        if (!packed_has(a))
            continue;
        if (!bytes_of(list, a, head->rows, head->samples, &size))
            return wrong("they are cut off", r);
        size = is ? sizeof(uint64_t) : size;
        if (size > length - at)
            return wrong("they are cut off", r);
        view[i] = (struct result_view){(const char *)bytes + at, (size_t)result_width(list, a), 1};
        if (is) {
            memcpy(&there[i].crc, view[i].data, sizeof there[i].crc);
            view[i].data = NULL;
        }
        at += size;
        if (a->role == ROLE_STATUS && !statuses_are(view[i].data, head->rows))
            return wrong("a status is none", r);
        if (a->axes == AXES_OFFSETS && !offsets_rise(view[i].data, head->rows, head->samples))
            return wrong("offsets go back", r);
    }
    return at == length ? SHOAL_OK : wrong("there are too many bytes", r);
}

// ---- In their place -----------------------------------------------------------------------------

bool packed_may_be_there(const struct result_array *a) {
    bool rows = a->axes == AXES_PER_RUN || a->axes == AXES_PER_SAMPLE || a->axes == AXES_WIDE;
    return a->from == FROM_KERNEL && rows && (result_is_variable(a) || a->role == ROLE_SUMMARY);
}

bool packed_is_there(const struct packed_head *h) { return h->magic == MAGIC_THERE; }

bool packed_without(const struct packed_head *head, const struct result_list *list,
                    const struct result_view *view, const struct result_there *there,
                    struct buf *out) {
    struct packed_head h = *head;
    h.magic = MAGIC_THERE;
    out->length = 0;
    buf_put(out, &h, sizeof h);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct result_array *a = &list->array[i];
        uint64_t crc = there[i].crc, size = 0;
        if (packed_may_be_there(a))
            buf_put(out, &crc, sizeof crc);
        else if (packed_has(a) && bytes_of(list, a, h.rows, h.samples, &size))
            buf_put(out, view[i].data, (size_t)size);
    }
    return !out->failed;
}
