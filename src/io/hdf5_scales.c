// SPDX-License-Identifier: MIT
// See hdf5_scales.h. An axis refers to its scale (DIMENSION_LIST), and a scale to all axes that it
// is of (REFERENCE_LIST).
#include "io/hdf5_scales.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS_MOST = 4000 }; // an attribute has at most 64 KiB

struct user {
    uint64_t dataset; // an object reference
    int axis;
};

struct scale {
    char name[HDF5_SCALE_NAME]; // "": there is none
    uint64_t self;              // an object reference
    struct user *users;
    uint32_t count;
};

// hvl_t of the library
struct references {
    size_t count;
    const uint64_t *items;
};

enum { BY_TIME, BY_FIRST, SCALES = BY_FIRST + RESULT_SHAPE_MOST, BY_NONE };

struct scales {
    const struct hdf5 *h;
    h5id file;
    struct scale scale[SCALES];
    h5id reference_list, dimension_list; // types
};

int hdf5_scale_axis(const struct result_list *l, uint32_t array) {
    if (!l->of.reduced || l->of.axes < 2 || array - l->first_column >= l->of.columns)
        return -1;
    const struct result_column *c = &l->of.column[array - l->first_column];
    bool first = array == l->first_column || c[-1].axis != c->axis;
    return first ? (int)c->axis : -1;
}

static bool is_taken(const struct pieces *p, const char *name) {
    for (uint32_t i = 0; i < p->list->count; i++)
        if (!strcmp(p->names.name[i], name))
            return true;
    return false;
}

void hdf5_scale_name(const struct pieces *p, uint32_t array, char name[HDF5_SCALE_NAME]) {
    snprintf(name, HDF5_SCALE_NAME, "%s.axis", p->names.name[array]);
    while (is_taken(p, name) && strlen(name) + 1 < HDF5_SCALE_NAME)
        strcat(name, "_");
}

// The array whose values lie along the first axis, or NULL: the runs, or what groups of them are by
// where that is one axis.
static const struct result_array *first_scale(const struct result_list *l) {
    if (l->of.reduced)
        return l->of.axes == 1 && l->of.columns ? &l->array[l->first_column] : NULL;
    return result_list_ours(l, FIELD_run);
}

// The times of samples, or NULL: each run has one of its own.
static const struct result_array *time_scale(const struct result_list *l) {
    for (uint32_t i = 0; i < l->count; i++)
        if (l->array[i].role == ROLE_TIME && l->array[i].axes != AXES_PER_RUN)
            return &l->array[i];
    return NULL;
}

// The scales of an array's axes; returns how many axes there are, or 0 where none has one. A scale
// has none itself, and the axes of a wide array behind the runs are counted only: windows have
// edges, of which there is one more.
static int axes_of(const struct result_list *l, const struct result_array *a,
                   int scale[RESULT_SHAPE_MOST]) {
    uint64_t shape[RESULT_SHAPE_MOST];
    if (a == first_scale(l) || a == time_scale(l) || a->axes == AXES_OFFSETS ||
        a->role == ROLE_EDGES)
        return 0;
    uint32_t before = a->axes == AXES_FLAT ? 0 : l->of.reduced ? l->of.axes : 1;
    for (uint32_t i = 0; i < RESULT_SHAPE_MOST; i++)
        scale[i] = i < before ? BY_FIRST + (int)i : a->axes == AXES_WIDE ? BY_NONE : BY_TIME;
    return result_file_shape(l, a, 1, shape);
}

static bool make_types(struct scales *s) {
    const struct hdf5 *h = s->h;
    s->dimension_list = h->H5Tvlen_create(h->H5T_STD_REF_OBJ_g);
    s->reference_list = h->H5Tcreate(H5_CLASS_COMPOUND, sizeof(struct user));
    return s->dimension_list >= 0 && s->reference_list >= 0 &&
           h->H5Tinsert(s->reference_list, "dataset", offsetof(struct user, dataset),
                        h->H5T_STD_REF_OBJ_g) >= 0 &&
           h->H5Tinsert(s->reference_list, "dimension", offsetof(struct user, axis),
                        h->H5T_NATIVE_INT_g) >= 0;
}

static bool refer(const struct scales *s, const char *name, uint64_t *out) {
    return s->h->H5Rcreate(out, s->file, name, H5_OBJECT, -1) >= 0;
}

static bool attach(struct scales *s, const char *name, const int *scale, int axes) {
    struct references list[RESULT_SHAPE_MOST];
    uint64_t self;
    if (!refer(s, name, &self))
        return false;
    for (int i = 0; i < axes; i++) {
        list[i] = (struct references){0, NULL};
        struct scale *of = scale[i] == BY_NONE ? NULL : &s->scale[scale[i]];
        if (!of || !*of->name)
            continue;
        list[i] = (struct references){1, &of->self};
        of->users[of->count].dataset = self; // one by one: what lies between is to stay zero
        of->users[of->count++].axis = i;
    }
    h5id dataset = s->h->H5Dopen2(s->file, name, H5_DEFAULT);
    bool ok = dataset >= 0 && hdf5_put_attribute(s->h, dataset, "DIMENSION_LIST", s->dimension_list,
                                                 (h5size)axes, list);
    if (dataset >= 0)
        s->h->H5Dclose(dataset);
    return ok;
}

static bool put_word(const struct hdf5 *h, h5id object, const char *name, const char *word) {
    h5id type = hdf5_text_type(h, strlen(word) + 1);
    bool ok = type >= 0 && hdf5_put_attribute(h, object, name, type, 0, word);
    if (type >= 0)
        h->H5Tclose(type);
    return ok;
}

static bool mark(struct scales *s, const struct scale *scale) {
    const struct hdf5 *h = s->h;
    if (!scale->count)
        return true;
    h5id object = h->H5Dopen2(s->file, scale->name, H5_DEFAULT);
    bool ok = object >= 0 && put_word(h, object, "CLASS", "DIMENSION_SCALE") &&
              put_word(h, object, "NAME", scale->name) &&
              hdf5_put_attribute(h, object, "REFERENCE_LIST", s->reference_list, scale->count,
                                 scale->users);
    if (object >= 0)
        h->H5Dclose(object);
    return ok;
}

static bool put_all(struct scales *s, const struct pieces *p) {
    const struct result_list *list = p->list;
    bool ok = make_types(s);
    for (int i = 0; i < SCALES && ok; i++) {
        s->scale[i].users = calloc(list->count, sizeof *s->scale[i].users);
        ok = s->scale[i].users &&
             (!*s->scale[i].name || refer(s, s->scale[i].name, &s->scale[i].self));
    }
    for (uint32_t i = 0; i < list->count && ok; i++) {
        int scale[RESULT_SHAPE_MOST], axes = axes_of(list, &list->array[i], scale);
        ok = !axes || attach(s, p->names.name[i], scale, axes);
    }
    for (int i = 0; i < SCALES && ok; i++)
        ok = mark(s, &s->scale[i]);
    return ok;
}

static void name_scale(struct scale *s, const struct pieces *p, const struct result_array *a) {
    if (a)
        snprintf(s->name, sizeof s->name, "%s", p->names.name[a - p->list->array]);
}

static void name_scales(struct scale scale[SCALES], const struct pieces *p) {
    name_scale(&scale[BY_TIME], p, time_scale(p->list));
    name_scale(&scale[BY_FIRST], p, first_scale(p->list));
    for (uint32_t i = 0; i < p->list->count; i++) {
        int axis = hdf5_scale_axis(p->list, i);
        if (axis >= 0)
            hdf5_scale_name(p, i, scale[BY_FIRST + axis].name);
    }
}

bool hdf5_put_scales(const struct hdf5 *h, h5id file, const struct pieces *pieces) {
    const struct result_list *list = pieces->list;
    if (list->count > USERS_MOST)
        return true; // the list of a scale would not fit
    struct scales s = {.h = h, .file = file, .reference_list = -1, .dimension_list = -1};
    name_scales(s.scale, pieces);
    bool ok = put_all(&s, pieces);
    for (int i = 0; i < SCALES; i++)
        free(s.scale[i].users);
    if (s.reference_list >= 0)
        h->H5Tclose(s.reference_list);
    if (s.dimension_list >= 0)
        h->H5Tclose(s.dimension_list);
    return ok;
}
