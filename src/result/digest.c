// SPDX-License-Identifier: MIT
// See digest.h. Every number is mixed with its place, and the mixtures are added up: a sum knows no
// order, so that chunks may be cut anywhere. All NaN are one.
#include "result/digest.h"

#include <math.h>

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t bits_of(enum result_type type, const void *data, size_t at) {
    union {
        double f64;
        uint64_t u64;
    } x = {.u64 = 0};
    switch (type) {
    case TYPE_U8:
        return ((const unsigned char *)data)[at];
    case TYPE_U32:
        return ((const uint32_t *)data)[at];
    case TYPE_U64:
        return ((const uint64_t *)data)[at];
    case TYPE_F32:
        x.f64 = (double)((const float *)data)[at];
        break;
    case TYPE_F64:
    case TYPE_TIME:
        x.f64 = ((const double *)data)[at];
        break;
    case TYPE_TEXT:
    case RESULT_TYPES:
        break;
    }
    return isnan(x.f64) ? 1 : x.u64;
}

static shoal_code digest_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct digest_sink *s = (struct digest_sink *)sink;
    (void)r;
    s->list = list;
    for (uint32_t i = 0; i < list->count && !s->looks; i++)
        list->array[i].wanted = list->array[i].role == ROLE_STATUS;
    return SHOAL_OK;
}

static shoal_code digest_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct digest_sink *s = (struct digest_sink *)sink;
    (void)r;
    for (uint32_t i = 0; s->looks && i < s->list->count; i++) {
        const struct result_array *a = &s->list->array[i];
        const struct result_view *v = &c->view[i];
        bool has_rows =
            a->axes == AXES_PER_RUN || a->axes == AXES_PER_SAMPLE || a->axes == AXES_WIDE;
        uint64_t width = has_rows ? result_width(s->list, a) : 0;
        size_t stride = a->axes == AXES_PER_RUN ? 1 : v->row_stride;
        for (uint32_t row = 0; v->data && row < c->rows; row++)
            for (uint64_t k = 0; k < width; k++) {
                uint64_t place = mix(mix(i + 1, c->first_row + row), k),
                         bits = bits_of(a->type, v->data, row * stride + k * v->sample_stride);
                s->digest += mix(mix(place, bits), place);
            }
    }
    return SHOAL_OK;
}

static shoal_code digest_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void digest_free(struct sink *s) { (void)s; }

void digest_sink_init(struct digest_sink *s, bool looks) {
    *s = (struct digest_sink){.base = {.begin = digest_begin,
                                       .chunk = digest_chunk,
                                       .end = digest_end,
                                       .free = digest_free},
                              .looks = looks};
}
