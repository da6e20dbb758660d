// SPDX-License-Identifier: MIT
// Arguments of a kernel of the grid engine, and words that it and the host share.
//
// A row of the batch is a grid, or `group` of them; on a device a grid is `team` rows, each a
// thread that makes every team-th cell. A team is a block of its own where cells are looked at as a
// whole (block.h). Grids lie one behind the other, each at its
// offset, or all are of one shape. A kernel makes checks, and cells where there is a place for
// them: the first pass over grids whose results have shapes that their cells decide makes shapes
// only.
#ifndef SHOAL_GRID_ABI_H
#define SHOAL_GRID_ABI_H

#ifndef SHOAL_HEAD // a kernel has it before this
#include "../dialect/head.h"
#endif

enum { GRID_ABI = 3, GRID_SIDE_MOST = 1024, GRID_CONSTANTS = 32 };

// Ints that a team which is a block shares: those of block.h, and one for every thread.
enum { GRID_TEAM_MOST = 1024, GRID_FOLDS = 8, GRID_NOTE = 8, GRID_OF_THREADS = 16 };
enum { GRID_WORDS = GRID_OF_THREADS + GRID_TEAM_MOST };

// What may be wrong with a grid. Those up to GRID_EMPTY but `range` are found before or with its
// cells; of several the first that the kernel meets, and `division` before `range`.
#define GRID_STATUS(X)                                                                             \
    X(OK, "ok", "done")                                                                            \
    X(SHAPE, "shape", "shapes that do not go together")                                            \
    X(BOUNDS, "bounds", "something outside of the grid")                                           \
    X(DIVISION, "division", "a division by 0")                                                     \
    X(RANGE, "range", "a value that the cells of the result cannot hold")                          \
    X(SIZE, "size", "a side above 1024")                                                           \
    X(EMPTY, "empty", "a grid without cells")
#define GRID_STATUS_NAME(name, word, text) GRID_STATUS_##name,
enum grid_status { GRID_STATUS(GRID_STATUS_NAME) GRID_STATUS_COUNT };
#undef GRID_STATUS_NAME

// Types of cells, with their names in C and the least and the largest value.
#define GRID_TYPES(X)                                                                              \
    X(U8, "u8", unsigned char, 0, 255)                                                             \
    X(I16, "i16", short, -32768, 32767)                                                            \
    X(I32, "i32", int, -2147483647 - 1, 2147483647)
#define GRID_TYPE_NAME(name, word, type, least, most) GRID_##name,
enum grid_type { GRID_TYPES(GRID_TYPE_NAME) GRID_TYPE_COUNT };
#undef GRID_TYPE_NAME

enum grid_border { GRID_ZERO, GRID_WRAP, GRID_EDGE };

// A cell of a turned grid comes from (row, column), exchanged first, then counted from the end.
enum { GRID_TRANSPOSE = 1, GRID_FLIP_ROWS = 2, GRID_FLIP_COLS = 4 };

// Ints that generations need for bits of a grid, and for sums of them.
#define GRID_STEP_CELLS(h, w) (6 * (((h) + 2) * (((w) + 65) / 64) + 16))

struct grid_args {
    struct shoal_head head;
    unsigned team;             // rows of a grid, a power of two
    unsigned group;            // grids of a row, on a CPU
    unsigned grids;            // of this chunk
    unsigned shapes_only;      // 1: no cells
    unsigned resident;         // 1: cells that are read lie in the resident block of a device
    unsigned anywhere;         // 1: a CPU that takes bytes from anywhere in two registers
    int height, width;         // of every grid, where there are no shapes
    int out_height, out_width; // of every result, where there are no places
    SHOAL_U64 cells;           // of the block that is read, or the resident one
    SHOAL_U64 shapes;          // of it: two ints a grid, or nowhere
    SHOAL_U64 offsets;         // of it: cells before each grid, where there are shapes
    SHOAL_U64 places;          // of it: cells before each result, or nowhere
    SHOAL_U64 out;             // of the block that is written
    SHOAL_U64 out_shapes;      // of it: two ints a grid
    SHOAL_U64 status;          // of it: three bytes a grid: done and checks, division, range
    SHOAL_U64 workspace;       // bytes of a device's thread
    SHOAL_U64 most;            // cells that a grid in a workspace has, at most
    SHOAL_U64 shared;          // cells that a grid in memory of a block has, at most
    int given[GRID_CONSTANTS]; // numbers of the text
};

#endif
