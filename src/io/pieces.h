// SPDX-License-Identifier: MIT
// Chunks of a result as pieces of the arrays of a binary file.
//
// NPZ and HDF5 hold the same arrays, those of the list that are wanted, under names that both can
// have. A chunk is handed on piece by piece, each piece a box of one array in C order, dense in
// memory, so that a format only writes. What lies dense in the chunk already is not copied; the
// rest goes through a small buffer. Arrays of AXES_GRID do not come in chunks.
#ifndef SHOAL_IO_PIECES_H
#define SHOAL_IO_PIECES_H

#include "result/result_names.h"
#include "result/sink.h"

struct pieces {
    const struct result_list *list;
    struct result_names names; // as in the file
    uint64_t rows_done, flat_done;
    void *buffer;
};

// A box of an array: rows [row, row + rows) by samples [sample, sample + samples). Arrays of one
// axis have one sample.
struct piece {
    const void *data; // numbers, or const char *const * for TYPE_TEXT
    uint64_t row, rows, sample, samples;
};

typedef shoal_code piece_put(void *user, uint32_t array, const struct piece *p, struct report *r);

// `file` is for messages. To be freed after an error too.
shoal_code pieces_begin(struct pieces *p, const struct result_list *list, const char *file,
                        struct report *r);
shoal_code pieces_chunk(struct pieces *p, const struct result_chunk *c, piece_put *put, void *user,
                        struct report *r);
void pieces_free(struct pieces *p);

#endif
