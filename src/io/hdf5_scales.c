// SPDX-License-Identifier: MIT
// See hdf5_scales.h. An axis refers to its scale (DIMENSION_LIST), and a scale to all axes that it
// is of (REFERENCE_LIST).
#include "io/hdf5_scales.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    AXES_MOST = 1 + RESULT_AXES,
    USERS_MOST = 4000, // an attribute has at most 64 KiB
};

struct user {
    uint64_t dataset; // an object reference
    int axis;
};

struct scale {
    const char *name;
    uint64_t self; // an object reference
    struct user *users;
    uint32_t count;
};

// hvl_t of the library
struct references {
    size_t count;
    const uint64_t *items;
};

enum { BY_RUN, BY_TIME, SCALES, BY_NONE = SCALES };

struct scales {
    const struct hdf5 *h;
    h5id file;
    struct scale scale[SCALES];
    h5id reference_list, dimension_list; // types
};

// The scales of an array's axes; returns how many axes there are, or 0 where none has one. A scale
// has none itself, and the axes of a wide array behind the runs are counted only: windows have
// edges, of which there is one more.
static int axes_of(const struct result_list *l, const struct result_array *a,
                   int scale[AXES_MOST]) {
    bool is_scale = a->role == ROLE_RUN || (a->role == ROLE_TIME && a->axes != AXES_PER_RUN);
    uint64_t shape[1 + RESULT_AXES];
    if (is_scale || a->axes == AXES_OFFSETS || a->role == ROLE_EDGES)
        return 0;
    for (int i = 0; i < AXES_MOST; i++)
        scale[i] = a->axes == AXES_WIDE ? BY_NONE : BY_TIME;
    if (a->axes != AXES_FLAT)
        scale[0] = BY_RUN;
    return result_shape(l, a, 1, shape);
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

static bool attach(struct scales *s, h5id dataset, const char *name, const int *scale, int axes) {
    struct references list[AXES_MOST];
    uint64_t self;
    if (!refer(s, name, &self))
        return false;
    for (int i = 0; i < axes; i++) {
        list[i] = (struct references){0, NULL};
        if (scale[i] == BY_NONE)
            continue;
        struct scale *of = &s->scale[scale[i]];
        list[i] = (struct references){1, &of->self};
        of->users[of->count].dataset = self; // one by one: what lies between is to stay zero
        of->users[of->count++].axis = i;
    }
    return hdf5_put_attribute(s->h, dataset, "DIMENSION_LIST", s->dimension_list, (h5size)axes,
                              list);
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

static bool put_all(struct scales *s, const struct pieces *p, const h5id *dataset) {
    const struct result_list *list = p->list;
    bool ok = make_types(s);
    for (int i = 0; i < SCALES && ok; i++) {
        s->scale[i].users = calloc(list->count, sizeof *s->scale[i].users);
        ok = s->scale[i].users && refer(s, s->scale[i].name, &s->scale[i].self);
    }
    for (uint32_t i = 0; i < list->count && ok; i++) {
        int scale[AXES_MOST], axes = axes_of(list, &list->array[i], scale);
        ok = !axes || attach(s, dataset[i], p->names.name[i], scale, axes);
    }
    for (int i = 0; i < SCALES && ok; i++)
        ok = mark(s, &s->scale[i]);
    return ok;
}

// What the list calls the array of a role.
static const char *name_of(const struct pieces *p, enum result_role role) {
    for (uint32_t i = 0; i < p->list->count; i++)
        if (p->list->array[i].role == role)
            return p->names.name[i];
    return NULL;
}

bool hdf5_put_scales(const struct hdf5 *h, h5id file, const struct pieces *pieces,
                     const h5id *dataset) {
    uint32_t datasets = 0;
    for (uint32_t i = 0; i < pieces->list->count; i++)
        datasets += dataset[i] >= 0;
    if (datasets > USERS_MOST)
        return true; // the list of a scale would not fit
    struct scales s = {.h = h,
                       .file = file,
                       .scale = {[BY_RUN] = {.name = name_of(pieces, ROLE_RUN)},
                                 [BY_TIME] = {.name = name_of(pieces, ROLE_TIME)}},
                       .reference_list = -1,
                       .dimension_list = -1};
    bool ok = put_all(&s, pieces, dataset);
    for (int i = 0; i < SCALES; i++)
        free(s.scale[i].users);
    if (s.reference_list >= 0)
        h->H5Tclose(s.reference_list);
    if (s.dimension_list >= 0)
        h->H5Tclose(s.dimension_list);
    return ok;
}
