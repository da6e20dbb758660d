// SPDX-License-Identifier: MIT
// Batch tables and metadata from HDF5 files.
//
// Every dataset of numbers with one axis in the root group is a column; the rules are those of NPZ
// tables (npz_table.c). The library converts whatever numbers there are to doubles.
#include "base/file.h"
#include "io/formats.h"
#include "io/hdf5.h"
#include "run/result_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = 256, TEXT_MOST = 4095 };

struct reader {
    const struct hdf5 *h;
    const char *path;
    struct arena *arena;
    struct batch_table *table;
    struct report *report;
    uint64_t file_size;
};

// Text as the library gives it: of variable length, UTF-8.
static h5id text_type(const struct hdf5 *h) {
    h5id type = h->H5Tcopy(h->H5T_C_S1_g);
    if (type >= 0 && (h->H5Tset_size(type, H5_VARIABLE) < 0 || h->H5Tset_cset(type, H5_UTF8) < 0)) {
        h->H5Tclose(type);
        return -1;
    }
    return type;
}

static shoal_code read_numbers(struct reader *d, h5id data, const char *name) {
    double *to = io_table_numbers(d->arena, d->table, name);
    if (!to)
        return SHOAL_MEMORY;
    if (d->h->H5Dread(data, d->h->H5T_NATIVE_DOUBLE_g, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, to) < 0)
        return hdf5_failed(d->h, d->path, "read", d->report);
    for (uint64_t i = 0; i < d->table->rows; i++)
        if (!isfinite(to[i]) && name[0] != '_')
            return report_error(d->report, SHOAL_INPUT,
                                "%s: %s[%llu] is %s; every value must be a finite number", d->path,
                                name, (unsigned long long)i, isnan(to[i]) ? "nan" : "infinite");
    return SHOAL_OK;
}

// Integers of 64 bits in a `_` column: as text where a double would lose digits (npz_table.c). A
// long double holds them all.
static shoal_code read_integers(struct reader *d, h5id data, const char *name) {
    uint64_t rows = d->table->rows;
    long double *all = malloc(sizeof *all * (size_t)rows + 1);
    if (!all)
        return SHOAL_MEMORY;
    bool exact = true;
    shoal_code code = SHOAL_OK;
    if (d->h->H5Dread(data, d->h->H5T_NATIVE_LDOUBLE_g, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, all) <
        0)
        code = hdf5_failed(d->h, d->path, "read", d->report);
    for (uint64_t i = 0; i < rows && code == SHOAL_OK; i++)
        exact = exact && fabsl(all[i]) <= 0x1p53L;
    if (code == SHOAL_OK && exact)
        code = read_numbers(d, data, name);
    else if (code == SHOAL_OK) {
        const char **to = io_table_texts(d->arena, d->table, name);
        for (uint64_t i = 0; to && i < rows; i++) {
            to[i] = arena_printf(d->arena, "%.0Lf", all[i]);
            to = to[i] ? to : NULL;
        }
        code = to ? SHOAL_OK : SHOAL_MEMORY;
    }
    free(all);
    return code;
}

// Text of fixed length: the bytes of all rows, each ended or padded with zeros.
static shoal_code read_fixed(struct reader *d, h5id data, h5id type, const char **to) {
    size_t size = d->h->H5Tget_size(type);
    uint64_t rows = d->table->rows;
    if (size == 0 || size > TEXT_MOST)
        return report_error(d->report, SHOAL_INPUT, "%s: text longer than %d bytes", d->path,
                            TEXT_MOST);
    char *all = malloc(size * (size_t)rows + 1);
    if (!all)
        return SHOAL_MEMORY;
    shoal_code code = SHOAL_OK;
    if (d->h->H5Dread(data, type, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, all) < 0)
        code = hdf5_failed(d->h, d->path, "read", d->report);
    for (uint64_t i = 0; i < rows && code == SHOAL_OK; i++) {
        to[i] = arena_strndup(d->arena, all + i * size, strnlen(all + i * size, size));
        if (!to[i])
            code = SHOAL_MEMORY;
    }
    free(all);
    return code;
}

static shoal_code read_variable(struct reader *d, h5id data, const char **to) {
    uint64_t rows = d->table->rows;
    char **all = calloc((size_t)rows + 1, sizeof *all);
    h5id type = text_type(d->h);
    shoal_code code = all ? SHOAL_OK : SHOAL_MEMORY;
    if (all && (type < 0 || d->h->H5Dread(data, type, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, all) < 0))
        code = hdf5_failed(d->h, d->path, "read", d->report);
    for (uint64_t i = 0; all && i < rows; i++) {
        if (code == SHOAL_OK) {
            to[i] = arena_strndup(d->arena, all[i] ? all[i] : "",
                                  all[i] ? strnlen(all[i], TEXT_MOST) : 0);
            if (!to[i])
                code = SHOAL_MEMORY;
        }
        d->h->H5free_memory(all[i]);
    }
    if (type >= 0)
        d->h->H5Tclose(type);
    free(all);
    return code;
}

static shoal_code read_texts(struct reader *d, h5id data, h5id type, const char *name) {
    const char **to = io_table_texts(d->arena, d->table, name);
    if (!to)
        return SHOAL_MEMORY;
    return d->h->H5Tis_variable_str(type) > 0 ? read_variable(d, data, to)
                                              : read_fixed(d, data, type, to);
}

// The rows of a dataset of one axis, checked against the other columns. What was never written
// takes no room in the file, so more rows than the file has bytes are not believed.
static shoal_code check_rows(struct reader *d, h5id data, const char *name) {
    h5id space = d->h->H5Dget_space(data);
    h5size rows = 0;
    int dims = space < 0 ? -1 : d->h->H5Sget_simple_extent_ndims(space);
    if (dims == 1)
        d->h->H5Sget_simple_extent_dims(space, &rows, NULL);
    if (space >= 0)
        d->h->H5Sclose(space);
    struct batch_table *t = d->table;
    if (dims != 1)
        return report_error(d->report, SHOAL_INPUT, "%s: %s has %d axes; a column has one", d->path,
                            name, dims);
    if (rows > d->file_size * 1024)
        return report_error(d->report, SHOAL_INPUT, "%s: %s is longer than the file", d->path,
                            name);
    if (t->columns.count == 0)
        t->rows = rows;
    else if (t->rows != rows)
        return report_error(d->report, SHOAL_INPUT, "%s: %s has %llu rows, but %s has %llu",
                            d->path, name, (unsigned long long)rows, t->columns.items[0].name,
                            (unsigned long long)t->rows);
    return SHOAL_OK;
}

static shoal_code read_dataset(struct reader *d, h5id data, const char *name) {
    h5id type = d->h->H5Dget_type(data);
    int class = type < 0 ? -1 : d->h->H5Tget_class(type);
    bool number = class == H5_CLASS_INTEGER || class == H5_CLASS_FLOAT;
    bool text = class == H5_CLASS_STRING && name[0] == '_';
    shoal_code code = SHOAL_OK;
    if (number || text)
        code = check_rows(d, data, name);
    if (code == SHOAL_OK && class == H5_CLASS_INTEGER && name[0] == '_' &&
        d->h->H5Tget_size(type) == 8)
        code = read_integers(d, data, name);
    else if (code == SHOAL_OK && number)
        code = read_numbers(d, data, name);
    else if (code == SHOAL_OK && text)
        code = read_texts(d, data, type, name);
    if (type >= 0)
        d->h->H5Tclose(type);
    return code;
}

static shoal_code read_root(struct reader *d, h5id file) {
    shoal_code code = SHOAL_OK;
    for (h5size i = 0; code != SHOAL_MEMORY; i++) {
        char name[NAME_MOST];
        ssize_t length = d->h->H5Lget_name_by_idx(file, ".", H5_BY_NAME, H5_INCREASING, i, name,
                                                  sizeof name, H5_DEFAULT);
        if (length < 0)
            break;
        if (length >= NAME_MOST || result_name_is_no_input(name))
            continue;
        h5id data = d->h->H5Dopen2(file, name, H5_DEFAULT);
        if (data < 0)
            continue; // a group
        shoal_code one = read_dataset(d, data, name);
        if (one != SHOAL_OK)
            code = one;
        d->h->H5Dclose(data);
    }
    return code;
}

// The file must be there and plain before the library is asked: its own words are hard to read.
static shoal_code check_file(const char *path, uint64_t *size, struct report *r) {
    int fd;
    shoal_code code = file_open(path, &fd, size, r);
    if (code == SHOAL_OK)
        close(fd);
    return code;
}

shoal_code hdf5_table_read(const char *path, struct arena *arena, struct batch_table *out,
                           struct report *r) {
    struct reader d = {NULL, path, arena, out, r, 0};
    shoal_code code = check_file(path, &d.file_size, r);
    if (code != SHOAL_OK)
        return code;
    d.h = hdf5_enter(path, r);
    if (!d.h)
        return SHOAL_IO;
    h5id file = d.h->H5Fopen(path, H5_READ_ONLY, H5_DEFAULT);
    code = file < 0 ? hdf5_failed(d.h, path, "open the file", r) : read_root(&d, file);
    if (file >= 0)
        d.h->H5Fclose(file);
    hdf5_leave(d.h);
    return code;
}

// A text attribute, of variable or fixed length.
static shoal_code read_attribute(const struct hdf5 *h, h5id attribute, struct arena *arena,
                                 const char **out) {
    h5id type = h->H5Aget_type(attribute), variable = text_type(h),
         space = h->H5Aget_space(attribute);
    char *text = NULL;
    shoal_code code = SHOAL_IO;
    bool single = space >= 0 && h->H5Sget_simple_extent_ndims(space) == 0;
    if (single && type >= 0 && variable >= 0 && h->H5Tget_class(type) == H5_CLASS_STRING) {
        if (h->H5Tis_variable_str(type) > 0) {
            if (h->H5Aread(attribute, variable, &text) >= 0 && text) {
                *out = arena_strdup(arena, text);
                code = *out ? SHOAL_OK : SHOAL_MEMORY;
                h->H5free_memory(text);
            }
        } else {
            size_t size = h->H5Tget_size(type);
            text = arena_alloc(arena, size + 1);
            if (text && h->H5Aread(attribute, type, text) >= 0) {
                *out = text;
                code = SHOAL_OK;
            }
        }
    }
    if (space >= 0)
        h->H5Sclose(space);
    if (variable >= 0)
        h->H5Tclose(variable);
    if (type >= 0)
        h->H5Tclose(type);
    return code;
}

shoal_code hdf5_meta_read(const char *path, struct arena *arena, const char **meta,
                          struct report *r) {
    uint64_t size;
    shoal_code code = check_file(path, &size, r);
    if (code != SHOAL_OK)
        return code;
    const struct hdf5 *h = hdf5_enter(path, r);
    if (!h)
        return SHOAL_IO;
    h5id file = h->H5Fopen(path, H5_READ_ONLY, H5_DEFAULT);
    h5id attribute = file < 0 ? -1 : h->H5Aopen(file, "meta", H5_DEFAULT);
    if (file < 0)
        code = hdf5_failed(h, path, "open the file", r);
    else if (attribute < 0)
        code = report_error(r, SHOAL_INPUT, "%s: is not a result file: it has no attribute 'meta'",
                            path);
    else {
        code = read_attribute(h, attribute, arena, meta);
        if (code == SHOAL_IO)
            code = hdf5_failed(h, path, "read 'meta'", r);
    }
    if (attribute >= 0)
        h->H5Aclose(attribute);
    if (file >= 0)
        h->H5Fclose(file);
    hdf5_leave(h);
    return code;
}
