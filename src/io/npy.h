// SPDX-License-Identifier: MIT
// The NPY header in front of an array, and text as NumPy keeps it.
//
// Written headers are always NPY_HEADER bytes long, so that data can be written before the shape is
// known. Reading knows versions 1 to 3, little and big endian, and any type it can name.
#ifndef SHOAL_IO_NPY_H
#define SHOAL_IO_NPY_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>

enum { NPY_HEADER = 128, NPY_DIMS = 8 };

// descr as in "<f8", "<U12"
void npy_put_header(struct buf *out, const char *descr, const uint64_t *shape, uint32_t dims);
// UTF-8 as exactly `width` code points of 4 bytes, padded with zeros; what is no UTF-8 becomes
// U+FFFD.
void npy_put_text(struct buf *out, const char *text, size_t length, uint64_t width);
uint64_t npy_text_width(const char *text, size_t length); // code points

struct npy {
    char kind;     // f i u b (bool) S U, or another letter
    bool big;      // endian
    uint32_t size; // bytes of an element
    uint32_t dims; // 0 for a single value
    bool columns;  // the first axis is the fastest
    uint64_t shape[NPY_DIMS];
    uint64_t count; // elements
    const char *data;
};

// Looks at the bytes of an .npy file; NULL, or what is wrong with them. The data are all there
// then.
const char *npy_parse(struct npy *a, const char *bytes, size_t length);
// The same where only the first `length` of `all` bytes are at hand: the header must be in them.
const char *npy_parse_head(struct npy *a, const char *bytes, size_t length, uint64_t all);
bool npy_is_number(const struct npy *a); // of a type and size that npy_number reads
double npy_number(const struct npy *a, uint64_t index);
char *npy_text(const struct npy *a, uint64_t index,
               struct arena *arena); // S or U, as UTF-8; 64-bit integers, as digits

#endif
