// SPDX-License-Identifier: MIT
// Reading an HDF5 file: columns and metadata, as a stream of messages.
//
// Damaged files can make the HDF5 library crash or loop for ever, so the program shoal-hdf5
// (libexec/) reads them and writes these messages into a pipe; hdf5_program.h starts it. Where it
// is not installed the same code runs in this process, and what is most dangerous is left out.
#ifndef SHOAL_IO_HDF5_READ_H
#define SHOAL_IO_HDF5_READ_H

#include "base/report.h"

enum hdf5_message {
    HDF5_COLUMN,  // struct hdf5_column, then its name, without a zero
    HDF5_NUMBERS, // doubles: the next rows of the column
    HDF5_TEXT,    // the text of the next row
    HDF5_META,    // a part of the metadata
    HDF5_ERROR,   // a shoal_code of 4 bytes, and the text of the message
    HDF5_DONE,    // the file was read; without this something went wrong
    HDF5_SHAPE,   // struct hdf5_shape, then its name, without a zero
};

enum { HDF5_MESSAGE_MOST = 8 << 20, HDF5_TEXT_MOST = 4095 }; // bytes of one, of a text

// In front of each in the pipe.
struct hdf5_head {
    uint32_t kind, length;
};

struct hdf5_column {
    uint64_t rows;
    uint64_t is_text;
};

enum { HDF5_AXES = 4 };
struct hdf5_shape {
    uint64_t dims, shape[HDF5_AXES];
    uint64_t is_text;
};

// `kind` is a number of the enum, but it may come from outside.
typedef shoal_code hdf5_take(void *user, uint32_t kind, const void *bytes, size_t length);

struct hdf5_outlet {
    hdf5_take *take;
    void *user;
    bool variable;     // read text of variable length
    const char *array; // HDF5_READ_array: its name
};

// What is read: all columns of the root group, or all and `t`; how runs of a result ended
// (io_ends_read), and the same where they have samples at times that they share; the arrays of
// numbers and of texts by shape, at most HDF5_AXES axes; what one of them holds; or the metadata.
#define HDF5_WAYS(X) X(table) X(signal) X(ends) X(samples) X(list) X(array) X(meta)
enum hdf5_way {
#define X(word) HDF5_READ_##word,
    HDF5_WAYS(X)
#undef X
        HDF5_READS
};
extern const char *const hdf5_way_words[HDF5_READS];

// Errors go to the report, not to the outlet.
shoal_code hdf5_read(enum hdf5_way way, const char *path, const struct hdf5_outlet *out,
                     struct report *r);

#endif
