// SPDX-License-Identifier: MIT
// See hdf5_read.h. Every dataset of numbers with one axis in the root group is a column; the rules
// are those of NPZ tables (npz_table.c). The library converts whatever numbers there are to
// doubles. Blocks of a megabyte of rows keep memory small and show that there is progress.
#include "io/hdf5_read.h"

#include "io/hdf5.h"
#include "result/result_names.h"
#include "result/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    NUMBER_ROWS = HDF5_MESSAGE_MOST / sizeof(double),
    TEXT_ROWS = 64 * 1024,
    ROWS_OF_NOTHING = 4096, // that a dataset may have without a byte in the file
    ROWS_OF_A_BYTE = 1024,  // what compression may do
    META_MOST = 1 << 30,
};

struct reader {
    const struct hdf5 *h;
    const char *path;
    const struct hdf5_outlet *out;
    struct report *report;
    uint64_t file_size;
    uint64_t rows;                    // of the columns so far,
    char first[RESULT_NAME_MOST + 1]; // the first of which is this; empty: none yet
    void *block;
    h5size column; // of a dataset with two axes: which is read
    bool series;   // runs share the times of their samples
    bool times;    // the column `t` is read, too
    bool list;     // of all arrays the shapes alone
};

static shoal_code send(const struct reader *d, enum hdf5_message kind, const void *bytes,
                       size_t length) {
    return d->out->take(d->out->user, kind, bytes, length);
}

static shoal_code failed(const struct reader *d, const char *what) {
    return hdf5_failed(d->h, d->path, what, d->report);
}

static shoal_code send_column(const struct reader *d, const char *name, bool is_text) {
    struct {
        struct hdf5_column column;
        char name[RESULT_NAME_MOST];
    } message = {.column = {d->rows, is_text}};
    size_t length = strlen(name);
    memcpy(message.name, name, length);
    return send(d, HDF5_COLUMN, &message, sizeof message.column + length);
}

// ---- Blocks of rows -----------------------------------------------------------------------------

// `numbers` elements of the data into the block: those from `start` on that `size` spans, which
// have an item for each axis.
static bool read_slab(const struct reader *d, h5id data, h5id type, const h5size *start,
                      const h5size *size, h5size numbers) {
    const struct hdf5 *h = d->h;
    h5id in_file = h->H5Dget_space(data), in_memory = h->H5Screate_simple(1, &numbers, NULL);
    bool ok = in_file >= 0 && in_memory >= 0 &&
              h->H5Sselect_hyperslab(in_file, H5_SELECT_SET, start, NULL, size, NULL) >= 0 &&
              h->H5Dread(data, type, in_memory, in_file, H5_DEFAULT, d->block) >= 0;
    // Before anything is closed: that makes the library forget why.
    if (!ok)
        failed(d, "read");
    if (in_memory >= 0)
        h->H5Sclose(in_memory);
    if (in_file >= 0)
        h->H5Sclose(in_file);
    return ok;
}

// Rows [first, first + count) into the block.
static bool read_block(const struct reader *d, h5id data, h5id type, h5size first, h5size count) {
    h5size start[] = {first, d->column}, size[] = {count, 1}; // of two axes at most
    return read_slab(d, data, type, start, size, count);
}

typedef shoal_code use_block(struct reader *d, size_t count, void *user);

static shoal_code for_blocks(struct reader *d, h5id data, h5id type, size_t size, size_t most,
                             use_block *use, void *user) {
    d->block = malloc(size * (d->rows < most ? (size_t)d->rows : most) + 1);
    shoal_code code = d->block ? SHOAL_OK : SHOAL_MEMORY;
    for (uint64_t row = 0; row < d->rows && code == SHOAL_OK; row += most) {
        uint64_t count = d->rows - row < most ? d->rows - row : most;
        code = read_block(d, data, type, row, count) ? use(d, (size_t)count, user) : SHOAL_IO;
    }
    free(d->block);
    d->block = NULL;
    return code;
}

static shoal_code send_numbers(struct reader *d, size_t count, void *user) {
    (void)user;
    return send(d, HDF5_NUMBERS, d->block, count * sizeof(double));
}

static shoal_code read_numbers(struct reader *d, h5id data, const char *name) {
    shoal_code code = send_column(d, name, false);
    return code ? code
                : for_blocks(d, data, d->h->H5T_NATIVE_DOUBLE_g, sizeof(double), NUMBER_ROWS,
                             send_numbers, NULL);
}

// ---- Integers of 64 bits ------------------------------------------------------------------------

// In a `_` column, as text where a double would lose digits (npz_table.c). A long double holds them
// all.
static shoal_code look_for_long(struct reader *d, size_t count, void *user) {
    const long double *x = d->block;
    bool *exact = user;
    for (size_t i = 0; i < count; i++)
        *exact = *exact && fabsl(x[i]) <= 0x1p53L;
    return SHOAL_OK;
}

static shoal_code send_digits(struct reader *d, size_t count, void *user) {
    const long double *x = d->block;
    shoal_code code = SHOAL_OK;
    (void)user;
    for (size_t i = 0; i < count && code == SHOAL_OK; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "%.0Lf", x[i]);
        code = send(d, HDF5_TEXT, text, length < (int)sizeof text ? (size_t)length : 0);
    }
    return code;
}

static shoal_code read_integers(struct reader *d, h5id data, const char *name) {
    bool exact = true;
    h5id type = d->h->H5T_NATIVE_LDOUBLE_g;
    size_t size = sizeof(long double);
    shoal_code code = for_blocks(d, data, type, size, NUMBER_ROWS / 2, look_for_long, &exact);
    if (code || exact)
        return code ? code : read_numbers(d, data, name);
    code = send_column(d, name, true);
    return code ? code : for_blocks(d, data, type, size, NUMBER_ROWS / 2, send_digits, NULL);
}

// ---- Text ---------------------------------------------------------------------------------------

// Of fixed length: the bytes of all rows, each ended or padded with zeros.
static shoal_code send_fixed(struct reader *d, size_t count, void *user) {
    const char *at = d->block;
    size_t size = *(const size_t *)user;
    shoal_code code = SHOAL_OK;
    for (size_t i = 0; i < count && code == SHOAL_OK; i++, at += size)
        code = send(d, HDF5_TEXT, at, strnlen(at, size));
    return code;
}

static shoal_code read_fixed(struct reader *d, h5id data, h5id type) {
    size_t size = d->h->H5Tget_size(type);
    if (size == 0 || size > HDF5_TEXT_MOST)
        return report_error(d->report, SHOAL_INPUT, "%s: text longer than %d bytes", d->path,
                            HDF5_TEXT_MOST);
    return for_blocks(d, data, type, size, HDF5_MESSAGE_MOST / size, send_fixed, &size);
}

static shoal_code send_variable(struct reader *d, size_t count, void *user) {
    char **text = d->block;
    shoal_code code = SHOAL_OK;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        size_t length = text[i] ? strlen(text[i]) : 0;
        if (code == SHOAL_OK && length > HDF5_TEXT_MOST)
            code = report_error(d->report, SHOAL_INPUT, "%s: text longer than %d bytes", d->path,
                                HDF5_TEXT_MOST);
        if (code == SHOAL_OK)
            code = send(d, HDF5_TEXT, text[i], length);
        d->h->H5free_memory(text[i]);
    }
    return code;
}

static shoal_code read_variable(struct reader *d, h5id data) {
    h5id type = hdf5_text_type(d->h, H5_VARIABLE);
    if (type < 0)
        return failed(d, "read");
    shoal_code code = for_blocks(d, data, type, sizeof(char *), TEXT_ROWS, send_variable, NULL);
    d->h->H5Tclose(type);
    return code;
}

static shoal_code no_variable(const struct reader *d, const char *name) {
    return report_error(d->report, SHOAL_IO,
                        "%s: %s has text of variable length, which only the program shoal-hdf5 "
                        "reads; install it, or name it in SHOAL_HDF5_READER",
                        d->path, name);
}

static shoal_code read_texts(struct reader *d, h5id data, h5id type, const char *name) {
    bool variable = d->h->H5Tis_variable_str(type) > 0;
    if (variable && !d->out->variable)
        return no_variable(d, name);
    shoal_code code = send_column(d, name, true);
    return code ? code : variable ? read_variable(d, data) : read_fixed(d, data, type);
}

// ---- Datasets -----------------------------------------------------------------------------------

// The rows of a dataset of one axis, checked against the other columns. What was never written
// takes no room in the file, so very many rows of little data are not believed.
static shoal_code check_rows(struct reader *d, h5id data, const char *name) {
    h5id space = d->h->H5Dget_space(data);
    h5size rows = 0, stored = d->h->H5Dget_storage_size(data);
    int dims = space < 0 ? -1 : d->h->H5Sget_simple_extent_ndims(space);
    if (dims == 1)
        d->h->H5Sget_simple_extent_dims(space, &rows, NULL);
    if (space >= 0)
        d->h->H5Sclose(space);
    stored = stored < d->file_size ? stored : d->file_size;
    if (dims != 1)
        return report_error(d->report, SHOAL_INPUT, "%s: %s has %d axes; a column has one", d->path,
                            name, dims);
    if (rows > ROWS_OF_NOTHING + stored * ROWS_OF_A_BYTE)
        return report_error(d->report, SHOAL_INPUT, "%s: %s is longer than its data", d->path,
                            name);
    if (!*d->first) {
        d->rows = rows;
        strcpy(d->first, name);
    } else if (d->rows != rows)
        return report_error(d->report, SHOAL_INPUT, "%s: %s has %llu rows, but %s has %llu",
                            d->path, name, (unsigned long long)rows, d->first,
                            (unsigned long long)d->rows);
    return SHOAL_OK;
}

static shoal_code read_dataset(struct reader *d, h5id data, const char *name) {
    h5id type = d->h->H5Dget_type(data);
    int class = type < 0 ? -1 : d->h->H5Tget_class(type);
    bool number =
        class == H5_CLASS_INTEGER || class == H5_CLASS_FLOAT || class == H5_CLASS_ENUM; // bool
    bool text = class == H5_CLASS_STRING && name[0] == '_';
    shoal_code code = SHOAL_OK;
    if (number || text)
        code = check_rows(d, data, name);
    else if (!result_name_is_ours(name)) // meta and status_words are texts
        code = report_error(d->report, SHOAL_INPUT,
                            "%s: %s has a type that cannot be a column; 64-bit floats would do",
                            d->path, name);
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

// ---- Shapes -------------------------------------------------------------------------------------

// False for what is no array of numbers or texts, or has too many axes.
static bool shape_of(const struct reader *d, h5id data, struct hdf5_shape *out) {
    h5id type = d->h->H5Dget_type(data), space = d->h->H5Dget_space(data);
    int class = type < 0 ? -1 : d->h->H5Tget_class(type);
    int dims = space < 0 ? -1 : d->h->H5Sget_simple_extent_ndims(space);
    out->is_text = class == H5_CLASS_STRING;
    bool good = (class == H5_CLASS_INTEGER || class == H5_CLASS_FLOAT || out->is_text) &&
                dims >= (out->is_text ? 1 : 0) && dims <= HDF5_AXES &&
                d->h->H5Sget_simple_extent_dims(space, (h5size *)out->shape, NULL) >= 0;
    out->dims = good ? (uint64_t)dims : 0;
    if (space >= 0)
        d->h->H5Sclose(space);
    if (type >= 0)
        d->h->H5Tclose(type);
    return good;
}

static shoal_code list_dataset(struct reader *d, h5id data, const char *name) {
    struct {
        struct hdf5_shape shape;
        char name[RESULT_NAME_MOST];
    } message = {0};
    size_t length = strlen(name);
    if (!shape_of(d, data, &message.shape))
        return SHOAL_OK;
    memcpy(message.name, name, length);
    return send(d, HDF5_SHAPE, &message, sizeof message.shape + length);
}

// ---- The root group -----------------------------------------------------------------------------

static bool count_links(const struct hdf5 *h, h5id file, h5size *out) {
    struct h5group_info info = {0};
    bool ok = h->H5Gget_info(file, &info) >= 0;
    *out = info.links;
    return ok;
}

// A dataset is a column, or an error; other objects are none of ours.
static shoal_code read_object(struct reader *d, h5id file, const char *name) {
    h5id object = d->h->H5Oopen(file, name, H5_DEFAULT);
    if (object < 0) {
        char what[64];
        snprintf(what, sizeof what, "open '%.40s'", name);
        return failed(d, what);
    }
    shoal_code code = SHOAL_OK;
    if (d->h->H5Iget_type(object) == H5_IS_DATASET)
        code = (d->list ? list_dataset : read_dataset)(d, object, name);
    d->h->H5Oclose(object);
    return code;
}

static shoal_code read_root(struct reader *d, h5id file) {
    shoal_code code = SHOAL_OK;
    h5size links = 0;
    if (!count_links(d->h, file, &links))
        return failed(d, "list the file");
    for (h5size i = 0; i < links && (code == SHOAL_OK || code == SHOAL_INPUT); i++) {
        char name[RESULT_NAME_MOST + 1];
        ssize_t length = d->h->H5Lget_name_by_idx(file, ".", H5_BY_NAME, H5_INCREASING, i, name,
                                                  sizeof name, H5_DEFAULT);
        if (length < 0)
            return failed(d, "list the file");
        if ((size_t)length >= sizeof name)
            return report_error(d->report, SHOAL_INPUT,
                                "%s: the name '%.40s...' has %zd bytes; a column's has at most %d",
                                d->path, name, length, RESULT_NAME_MOST);
        if (length == 0 || (!d->list && !result_name_is_read(name, d->times)))
            continue;
        shoal_code one = read_object(d, file, name);
        if (one != SHOAL_OK)
            code = one;
    }
    return code;
}

// ---- Ends of runs -------------------------------------------------------------------------------

// A dataset of the root group that is numbers or text of one or two axes; -1 else.
static h5id open_dataset(const struct reader *d, h5id file, const char *name, int *class,
                         h5size shape[2], int *dims) {
    const struct hdf5 *h = d->h;
    h5id data = h->H5Dopen2(file, name, H5_DEFAULT);
    h5id type = data < 0 ? -1 : h->H5Dget_type(data), space = data < 0 ? -1 : h->H5Dget_space(data);
    *class = type < 0 ? -1 : h->H5Tget_class(type);
    *dims = space < 0 ? -1 : h->H5Sget_simple_extent_ndims(space);
    bool good = *dims == 1 || *dims == 2;
    if (good)
        h->H5Sget_simple_extent_dims(space, shape, NULL);
    if (type >= 0)
        h->H5Tclose(type);
    if (space >= 0)
        h->H5Sclose(space);
    if (good || data < 0)
        return data;
    h->H5Dclose(data);
    return -1;
}

static bool is_there(const struct reader *d, h5id file, const char *name) {
    h5id data = d->h->H5Dopen2(file, name, H5_DEFAULT);
    if (data >= 0)
        d->h->H5Dclose(data);
    return data >= 0;
}

static bool name_at(const struct reader *d, h5id file, h5size i, char name[RESULT_NAME_MOST + 1]) {
    ssize_t length = d->h->H5Lget_name_by_idx(file, ".", H5_BY_NAME, H5_INCREASING, i, name,
                                              RESULT_NAME_MOST + 1, H5_DEFAULT);
    return length > 0 && length <= RESULT_NAME_MOST;
}

static bool is_number(int class) {
    return class == H5_CLASS_INTEGER || class == H5_CLASS_FLOAT || class == H5_CLASS_ENUM;
}

// How many runs there are.
static shoal_code count_runs(struct reader *d, h5id file) {
    int class, dims;
    h5size shape[2];
    h5id data = open_dataset(d, file, RESULT_STATUS, &class, shape, &dims);
    shoal_code code = SHOAL_OK;
    if (data < 0 || dims != 1 || !is_number(class))
        code = report_error(d->report, SHOAL_INPUT, "%s: is no result of runs: it has no `%s`",
                            d->path, RESULT_STATUS);
    else
        code = check_rows(d, data, RESULT_STATUS);
    if (data >= 0)
        d->h->H5Dclose(data);
    return code;
}

// The last time of a grid, once for each run.
static shoal_code send_time(struct reader *d, h5id data, h5size times) {
    uint64_t rows = d->rows;
    double t = NAN;
    d->block = &t;
    bool ok = read_block(d, data, d->h->H5T_NATIVE_DOUBLE_g, times - 1, 1);
    d->block = NULL;
    shoal_code code = ok ? send_column(d, RESULT_T, false) : SHOAL_IO;
    for (uint64_t i = 0; i < rows && code == SHOAL_OK; i++)
        code = send(d, HDF5_NUMBERS, &t, sizeof t);
    return code;
}

static shoal_code read_end(struct reader *d, h5id file, const char *name) {
    int class, dims;
    h5size shape[2] = {0, 0};
    h5id data = open_dataset(d, file, name, &class, shape, &dims);
    shoal_code code = SHOAL_OK;
    if (data < 0)
        return code;
    bool rows = shape[0] == d->rows, time = !strcmp(name, RESULT_T) && dims == 1 && d->series;
    d->column = dims == 2 && shape[1] ? shape[1] - 1 : 0;
    if (time && is_number(class) && shape[0])
        code = send_time(d, data, shape[0]);
    else if (rows && dims == 1 && name[0] == '_')
        code = read_dataset(d, data, name);
    else if (!time && rows && is_number(class) && !(dims == 2 && !shape[1]))
        code = read_numbers(d, data, name);
    d->column = 0;
    d->h->H5Dclose(data);
    return code;
}

static shoal_code read_ends(struct reader *d, h5id file) {
    h5size links = 0;
    if (!count_links(d->h, file, &links))
        return failed(d, "list the file");
    if (is_there(d, file, RESULT_OFFSETS))
        return table_of_steps(d->path, d->report);
    shoal_code code = count_runs(d, file);
    for (h5size i = 0; i < links && code == SHOAL_OK; i++) {
        char name[RESULT_NAME_MOST + 1];
        if (name_at(d, file, i, name))
            code = read_end(d, file, name);
    }
    return code;
}

static shoal_code read_samples(struct reader *d, h5id file) {
    d->series = true;
    return read_ends(d, file);
}

// ---- Arrays of any shape ------------------------------------------------------------------------

enum { LINE_MOST = 128 << 20 }; // bytes of one element of the first axis

static shoal_code no_array(const struct reader *d, const char *name) {
    return report_error(d->report, SHOAL_INPUT, "%s: %s is no array that can be read here", d->path,
                        name);
}

// What the elements of an array are in memory, and how they are sent from the block.
struct element {
    h5id type;
    size_t size;
    use_block *use;
};

static shoal_code send_many_numbers(struct reader *d, size_t count, void *user) {
    shoal_code code = SHOAL_OK;
    const double *at = d->block;
    (void)user;
    while (count && code == SHOAL_OK) {
        size_t part = count < NUMBER_ROWS ? count : NUMBER_ROWS;
        code = send(d, HDF5_NUMBERS, at, part * sizeof(double));
        at += part;
        count -= part;
    }
    return code;
}

// A number without axes.
static bool read_single(const struct reader *d, h5id data, h5id type) {
    bool ok = d->h->H5Dread(data, type, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, d->block) >= 0;
    if (!ok)
        failed(d, "read");
    return ok;
}

// `count` elements of the first axis, and all that is behind them, into the block.
static bool read_lines(const struct reader *d, h5id data, h5id type, const struct hdf5_shape *s,
                       h5size first, h5size count) {
    if (!s->dims)
        return read_single(d, data, type);
    h5size start[HDF5_AXES] = {first}, size[HDF5_AXES] = {count}, items = count;
    for (uint64_t i = 1; i < s->dims; i++)
        items *= size[i] = s->shape[i];
    return read_slab(d, data, type, start, size, items);
}

static shoal_code read_array(struct reader *d, h5id data, const char *name,
                             const struct hdf5_shape *s, struct element *e) {
    uint64_t line = 1, lines = s->dims ? s->shape[0] : 1;
    bool good = true;
    for (uint64_t i = 1; i < s->dims && good; i++)
        good = !__builtin_mul_overflow(line, s->shape[i], &line) && line <= LINE_MOST / e->size;
    if (!good)
        return no_array(d, name);
    uint64_t most = HDF5_MESSAGE_MOST / e->size / (line ? line : 1);
    most = most ? most : 1;
    d->block = malloc((size_t)(most * line) * e->size + 1);
    shoal_code code = d->block ? SHOAL_OK : SHOAL_MEMORY;
    for (uint64_t at = 0; at < lines && line && code == SHOAL_OK; at += most) {
        uint64_t count = lines - at < most ? lines - at : most;
        code = read_lines(d, data, e->type, s, at, count) ? e->use(d, count * line, &e->size)
                                                          : SHOAL_IO;
    }
    free(d->block);
    d->block = NULL;
    return code;
}

static shoal_code read_text_array(struct reader *d, h5id data, const char *name,
                                  const struct hdf5_shape *s) {
    h5id own = d->h->H5Dget_type(data);
    bool variable = own >= 0 && d->h->H5Tis_variable_str(own) > 0;
    if (own >= 0 && variable) {
        d->h->H5Tclose(own);
        own = hdf5_text_type(d->h, H5_VARIABLE);
    }
    if (own < 0)
        return failed(d, "read");
    struct element e = {own, variable ? sizeof(char *) : d->h->H5Tget_size(own),
                        variable ? send_variable : send_fixed};
    shoal_code code = variable && !d->out->variable        ? no_variable(d, name)
                      : e.size && e.size <= HDF5_TEXT_MOST ? read_array(d, data, name, s, &e)
                                                           : no_array(d, name);
    d->h->H5Tclose(own);
    return code;
}

static shoal_code read_named(struct reader *d, h5id file) {
    h5id data = d->h->H5Dopen2(file, d->out->array, H5_DEFAULT);
    if (data < 0)
        return failed(d, "open the array");
    struct hdf5_shape s = {0};
    struct element number = {d->h->H5T_NATIVE_DOUBLE_g, sizeof(double), send_many_numbers};
    shoal_code code = !shape_of(d, data, &s) ? no_array(d, d->out->array)
                      : s.is_text            ? read_text_array(d, data, d->out->array, &s)
                                             : read_array(d, data, d->out->array, &s, &number);
    d->h->H5Dclose(data);
    return code;
}

// ---- Metadata -----------------------------------------------------------------------------------

static shoal_code send_meta(const struct reader *d, const char *text, size_t length) {
    shoal_code code = SHOAL_OK;
    for (size_t at = 0; at < length && code == SHOAL_OK; at += HDF5_MESSAGE_MOST) {
        size_t left = length - at;
        code = send(d, HDF5_META, text + at, left < HDF5_MESSAGE_MOST ? left : HDF5_MESSAGE_MOST);
    }
    return code;
}

typedef bool read_value(const struct hdf5 *h, h5id object, h5id type, void *out);

static bool of_dataset(const struct hdf5 *h, h5id object, h5id type, void *out) {
    return h->H5Dread(object, type, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, out) >= 0;
}

static bool of_attribute(const struct hdf5 *h, h5id object, h5id type, void *out) {
    return h->H5Aread(object, type, out) >= 0;
}

static shoal_code read_fixed_meta(const struct reader *d, h5id object, h5id type,
                                  read_value *read) {
    size_t size = d->h->H5Tget_size(type);
    char *text = size <= META_MOST ? malloc(size + 1) : NULL;
    shoal_code code = text ? SHOAL_OK : SHOAL_MEMORY;
    if (text && !read(d->h, object, type, text))
        code = failed(d, "read 'meta'");
    if (code == SHOAL_OK)
        code = send_meta(d, text, strnlen(text, size));
    free(text);
    return code;
}

static shoal_code read_variable_meta(const struct reader *d, h5id object, read_value *read) {
    char *text = NULL;
    h5id type = hdf5_text_type(d->h, H5_VARIABLE);
    bool ok = type >= 0 && read(d->h, object, type, &text) && text;
    shoal_code code = ok ? send_meta(d, text, strlen(text)) : failed(d, "read 'meta'");
    d->h->H5free_memory(text);
    if (type >= 0)
        d->h->H5Tclose(type);
    return code;
}

static shoal_code read_text(const struct reader *d, h5id object, h5id type, h5id space,
                            read_value *read) {
    bool text = type >= 0 && d->h->H5Tget_class(type) == H5_CLASS_STRING;
    bool single = space >= 0 && d->h->H5Sget_simple_extent_ndims(space) == 0;
    shoal_code code;
    if (!text || !single)
        code = report_error(d->report, SHOAL_INPUT,
                            "%s: is not a result file: its 'meta' is no text", d->path);
    else if (d->h->H5Tis_variable_str(type) <= 0)
        code = read_fixed_meta(d, object, type, read);
    else
        code = d->out->variable ? read_variable_meta(d, object, read) : no_variable(d, RESULT_META);
    if (space >= 0)
        d->h->H5Sclose(space);
    if (type >= 0)
        d->h->H5Tclose(type);
    return code;
}

// A dataset; in older files an attribute.
static shoal_code read_meta(struct reader *d, h5id file) {
    const struct hdf5 *h = d->h;
    shoal_code code;
    h5id data = h->H5Dopen2(file, RESULT_META, H5_DEFAULT);
    h5id attribute = data < 0 ? h->H5Aopen(file, RESULT_META, H5_DEFAULT) : -1;
    if (data >= 0) {
        code = read_text(d, data, h->H5Dget_type(data), h->H5Dget_space(data), of_dataset);
        h->H5Dclose(data);
    } else if (attribute >= 0) {
        code = read_text(d, attribute, h->H5Aget_type(attribute), h->H5Aget_space(attribute),
                         of_attribute);
        h->H5Aclose(attribute);
    } else
        code = report_error(d->report, SHOAL_INPUT, "%s: is not a result file: it has no 'meta'",
                            d->path);
    return code;
}

// ---- Files --------------------------------------------------------------------------------------

const char *const hdf5_way_words[HDF5_READS] = {
#define X(word) #word,
    HDF5_WAYS(X)
#undef X
};

shoal_code hdf5_read(enum hdf5_way way, const char *path, const struct hdf5_outlet *out,
                     struct report *r) {
    static shoal_code (*const read[HDF5_READS])(struct reader * d, h5id file) = {
        [HDF5_READ_table] = read_root, [HDF5_READ_signal] = read_root,
        [HDF5_READ_ends] = read_ends,  [HDF5_READ_samples] = read_samples,
        [HDF5_READ_list] = read_root,  [HDF5_READ_array] = read_named,
        [HDF5_READ_meta] = read_meta};
    struct stat s;
    struct reader d = {.path = path,
                       .out = out,
                       .report = r,
                       .times = way == HDF5_READ_signal,
                       .list = way == HDF5_READ_list};
    if (stat(path, &s) == 0)
        d.file_size = (uint64_t)s.st_size;
    d.h = hdf5_enter(path, r);
    if (!d.h)
        return SHOAL_IO;
    h5id file = d.h->H5Fopen(path, H5_READ_ONLY, H5_DEFAULT);
    shoal_code code = file < 0 ? failed(&d, "open the file") : read[way](&d, file);
    if (file >= 0)
        d.h->H5Fclose(file);
    hdf5_leave(d.h);
    return code;
}
