// SPDX-License-Identifier: MIT
// The HDF5 library, loaded when it is first needed.
//
// Nothing of it is needed to build: the few functions and constants used are declared here, as they
// are in all versions since 1.10 (64-bit identifiers). The library serves one thread at a time and
// prints its errors; between hdf5_enter and hdf5_leave it is ours alone and silent, and what the
// program around us had set comes back afterwards.
#ifndef SHOAL_IO_HDF5_H
#define SHOAL_IO_HDF5_H

#include "base/report.h"

#include <sys/types.h>

typedef int64_t h5id; // negative: failed
typedef uint64_t h5size;
typedef int h5err; // negative: failed

struct h5error_item {
    h5id class_id, major, minor;
    unsigned line;
    const char *function, *file, *text;
};

struct h5group_info {
    int storage;
    h5size links;
    int64_t order;
    bool mounted;
};

// result, name, arguments
#define HDF5_FUNCTIONS(X)                                                                          \
    X(h5err, H5open, (void))                                                                       \
    X(h5err, H5dont_atexit, (void))                                                                \
    X(h5err, H5get_libversion, (unsigned *, unsigned *, unsigned *))                               \
    X(h5err, H5free_memory, (void *))                                                              \
    X(h5err, H5Eget_auto2, (h5id, void **, void **))                                               \
    X(h5err, H5Eset_auto2, (h5id, void *, void *))                                                 \
    X(h5err, H5Ewalk2,                                                                             \
      (h5id, int, h5err (*)(unsigned, const struct h5error_item *, void *), void *))               \
    X(h5id, H5Fcreate, (const char *, unsigned, h5id, h5id))                                       \
    X(h5id, H5Fopen, (const char *, unsigned, h5id))                                               \
    X(h5err, H5Fflush, (h5id, int))                                                                \
    X(h5err, H5Fget_vfd_handle, (h5id, h5id, void **))                                             \
    X(h5err, H5Fclose, (h5id))                                                                     \
    X(h5id, H5Pcreate, (h5id))                                                                     \
    X(h5err, H5Pclose, (h5id))                                                                     \
    X(h5err, H5Pset_chunk, (h5id, int, const h5size *))                                            \
    X(h5err, H5Pset_fill_time, (h5id, int))                                                        \
    X(h5err, H5Pset_alloc_time, (h5id, int))                                                       \
    X(h5err, H5Pset_obj_track_times, (h5id, bool))                                                 \
    X(h5id, H5Screate, (int))                                                                      \
    X(h5id, H5Screate_simple, (int, const h5size *, const h5size *))                               \
    X(h5err, H5Sclose, (h5id))                                                                     \
    X(h5err, H5Sselect_hyperslab,                                                                  \
      (h5id, int, const h5size *, const h5size *, const h5size *, const h5size *))                 \
    X(int, H5Sget_simple_extent_ndims, (h5id))                                                     \
    X(int, H5Sget_simple_extent_dims, (h5id, h5size *, h5size *))                                  \
    X(h5id, H5Dcreate2, (h5id, const char *, h5id, h5id, h5id, h5id, h5id))                        \
    X(h5id, H5Dopen2, (h5id, const char *, h5id))                                                  \
    X(h5err, H5Dclose, (h5id))                                                                     \
    X(h5err, H5Dwrite, (h5id, h5id, h5id, h5id, h5id, const void *))                               \
    X(h5err, H5Dread, (h5id, h5id, h5id, h5id, h5id, void *))                                      \
    X(h5err, H5Dset_extent, (h5id, const h5size *))                                                \
    X(h5id, H5Dget_space, (h5id))                                                                  \
    X(h5id, H5Dget_type, (h5id))                                                                   \
    X(h5size, H5Dget_storage_size, (h5id))                                                         \
    X(h5size, H5Dget_offset, (h5id))                                                               \
    X(h5id, H5Acreate2, (h5id, const char *, h5id, h5id, h5id, h5id))                              \
    X(h5id, H5Aopen, (h5id, const char *, h5id))                                                   \
    X(h5err, H5Aread, (h5id, h5id, void *))                                                        \
    X(h5err, H5Awrite, (h5id, h5id, const void *))                                                 \
    X(h5err, H5Aclose, (h5id))                                                                     \
    X(h5err, H5Aexists, (h5id, const char *))                                                      \
    X(h5id, H5Aget_type, (h5id))                                                                   \
    X(h5id, H5Aget_space, (h5id))                                                                  \
    X(h5id, H5Tcopy, (h5id))                                                                       \
    X(h5err, H5Tclose, (h5id))                                                                     \
    X(h5err, H5Tset_size, (h5id, size_t))                                                          \
    X(h5err, H5Tset_cset, (h5id, int))                                                             \
    X(int, H5Tget_class, (h5id))                                                                   \
    X(size_t, H5Tget_size, (h5id))                                                                 \
    X(int, H5Tis_variable_str, (h5id))                                                             \
    X(h5id, H5Tcreate, (int, size_t))                                                              \
    X(h5err, H5Tinsert, (h5id, const char *, size_t, h5id))                                        \
    X(h5id, H5Tvlen_create, (h5id))                                                                \
    X(h5err, H5Rcreate, (void *, h5id, const char *, int, h5id))                                   \
    X(h5id, H5Oopen, (h5id, const char *, h5id))                                                   \
    X(h5err, H5Oclose, (h5id))                                                                     \
    X(int, H5Iget_type, (h5id))                                                                    \
    X(h5err, H5Gget_info, (h5id, struct h5group_info *))                                           \
    X(ssize_t, H5Lget_name_by_idx, (h5id, const char *, int, int, h5size, char *, size_t, h5id))

#define HDF5_VARIABLES(X)                                                                          \
    X(H5T_C_S1_g)                                                                                  \
    X(H5T_NATIVE_INT_g)                                                                            \
    X(H5T_STD_REF_OBJ_g)                                                                           \
    X(H5T_NATIVE_DOUBLE_g)                                                                         \
    X(H5T_NATIVE_LDOUBLE_g)                                                                        \
    X(H5T_NATIVE_FLOAT_g)                                                                          \
    X(H5T_NATIVE_UINT8_g)                                                                          \
    X(H5T_NATIVE_UINT32_g)                                                                         \
    X(H5T_NATIVE_UINT64_g)                                                                         \
    X(H5P_CLS_DATASET_CREATE_ID_g)

enum {
    H5_DEFAULT = 0, // H5P_DEFAULT, H5S_ALL, H5E_DEFAULT
    H5_READ_ONLY = 0,
    H5_READ_WRITE = 1,
    H5_TRUNCATE = 2,
    H5_GLOBAL = 1,
    H5_SELECT_SET = 0,
    H5_SCALAR = 0,
    H5_FILL_NEVER = 1,
    H5_ALLOCATE_EARLY = 1,
    H5_CLASS_INTEGER = 0,
    H5_CLASS_FLOAT = 1,
    H5_CLASS_STRING = 3,
    H5_CLASS_COMPOUND = 6,
    H5_CLASS_ENUM = 8,
    H5_UTF8 = 1,
    H5_BY_NAME = 0,
    H5_INCREASING = 0,
    H5_DEEPEST_FIRST = 0,
    H5_OBJECT = 0,
    H5_IS_DATASET = 5,
};
#define H5_VARIABLE ((size_t)-1)
#define H5_UNLIMITED ((h5size)-1)

struct hdf5 {
#define X(result, name, arguments) result(*name) arguments;
    HDF5_FUNCTIONS(X)
#undef X
#define X(name) h5id name;
    HDF5_VARIABLES(X)
#undef X
};

// NULL, with an error, when there is no usable library; hdf5_leave is to be called otherwise.
const struct hdf5 *hdf5_enter(const char *path, struct report *r);
void hdf5_leave(const struct hdf5 *h);
// An error with what the library says about its cause: "path: cannot <what>: ...".
shoal_code hdf5_failed(const struct hdf5 *h, const char *path, const char *what, struct report *r);

// Text of `size` bytes, the zero that ends it included; with H5_VARIABLE of any length. UTF-8; to
// be closed; negative: failed.
h5id hdf5_text_type(const struct hdf5 *h, size_t size);
// An attribute, unless there is one. `count` 0: a single value.
bool hdf5_put_attribute(const struct hdf5 *h, h5id object, const char *name, h5id type,
                        h5size count, const void *data);

#endif
