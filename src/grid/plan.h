// SPDX-License-Identifier: MIT
// A pipeline as a graph: what is computed of a grid, with shapes as numbers of the same graph.
//
// parse.c    text to plan, by the table of words in words.c
// plan.c     nodes: folded and shared as they are made
// stages.c   runs a plan node by node, without a compiler
// codegen.c  writes a kernel that runs it in as few passes as there can be
// rows.c     the pass of a result by vectors
// kernel.c   from a plan to a loaded kernel
// run.c      batches: shapes first, then by a kernel or by stages
// batch.c    where grids of a batch and their results lie, and shapes
// chunks.c   a batch by a kernel: chunks, blocks, results
// staged.c   a batch by stages
//
// A node is a number (one for each grid) or a grid, whose height and width are numbers themselves;
// so shapes that are the same are the same node, and what is known of them is known when the plan
// is made. What must hold of a grid is a check: a number that must not be 0, with the status word
// of a grid for which it is. Checks are made before the nodes that they stand before, in order.
//
// A division by 0 makes a number or cell that is none. Whatever looks at it is none either, and a
// grid whose result has such a cell, or a check, is marked. `fails` says where this can happen at
// all.
#ifndef SHOAL_GRID_PLAN_H
#define SHOAL_GRID_PLAN_H

#include "../kernels/grid/abi.h"
#include "base/arena.h"
#include "base/report.h"

enum { GRID_TEXT_MOST = 1 << 16, GRID_NODES_MOST = 1 << 16, GRID_ARGS = 5 };

// X(name): operations of nodes. Words of the language that are none are made of these.
#define GRID_OPS(X)                                                                                \
    X(NUMBER)    /* value */                                                                       \
    X(IN_HEIGHT) /* of the input */                                                                \
    X(IN_WIDTH)                                                                                    \
    X(IN)                                                                                          \
    X(VOID) /* zeros: height, width */                                                             \
    X(ROW)  /* of each cell: height, width */                                                      \
    X(COL)                                                                                         \
    X(NEG) /* cell by cell, of numbers and grids: NEG to SELECT */                                 \
    X(NOT)                                                                                         \
    X(ADD)                                                                                         \
    X(SUB)                                                                                         \
    X(MUL)                                                                                         \
    X(DIV) /* value 1: the divisor is not 0 */                                                     \
    X(MOD)                                                                                         \
    X(LEAST)                                                                                       \
    X(MOST)                                                                                        \
    X(EQ)                                                                                          \
    X(NE)                                                                                          \
    X(LT)                                                                                          \
    X(LE)                                                                                          \
    X(AND)                                                                                         \
    X(OR)                                                                                          \
    X(SELECT)    /* condition, if, else */                                                         \
    X(TURN)      /* grid; value: GRID_TRANSPOSE, GRID_FLIP_ROWS, GRID_FLIP_COLS */                 \
    X(SHIFT)     /* grid, dy, dx; border */                                                        \
    X(AT)        /* the same the other way */                                                      \
    X(CROP)      /* grid, row, column, height, width */                                            \
    X(PAD)       /* grid, n, number */                                                             \
    X(TILE)      /* grid, m, n */                                                                  \
    X(UPSCALE)   /* grid, k */                                                                     \
    X(DOWNSCALE) /* grid, k */                                                                     \
    X(HCONCAT)   /* two grids */                                                                   \
    X(VCONCAT)                                                                                     \
    X(SUM) /* grid to number: SUM to BOX_WIDTH */                                                  \
    X(MIN)                                                                                         \
    X(MAX)                                                                                         \
    X(MOST_COMMON)                                                                                 \
    X(LEAST_COMMON)                                                                                \
    X(BOX_ROW) /* of the cells that are not 0; 0 of none */                                        \
    X(BOX_COL)                                                                                     \
    X(BOX_HEIGHT)                                                                                  \
    X(BOX_WIDTH)                                                                                   \
    X(LABEL4) /* grid to grid, as a whole: LABEL4 to HISTOGRAM */                                  \
    X(LABEL8)                                                                                      \
    X(SIZE4)                                                                                       \
    X(SIZE8)                                                                                       \
    X(FLOOD)     /* grid, row, column: 1 where the fill comes to */                                \
    X(STEP)      /* grid, n; value: rule; border */                                                \
    X(HISTOGRAM) /* grid, n */

#define GRID_OP(name) GRID_##name,
enum grid_op { GRID_OPS(GRID_OP) GRID_OP_COUNT };
#undef GRID_OP

static inline bool grid_is_cellwise(enum grid_op op) { return op >= GRID_NEG && op <= GRID_SELECT; }
static inline bool grid_is_map(enum grid_op op) { return op >= GRID_TURN && op <= GRID_VCONCAT; }
static inline bool grid_is_reduction(enum grid_op op) {
    return op >= GRID_SUM && op <= GRID_BOX_WIDTH;
}
static inline bool grid_is_whole(enum grid_op op) {
    return op >= GRID_LABEL4 && op <= GRID_HISTOGRAM;
}

struct grid_node {
    uint8_t op; // enum grid_op
    bool cells; // a grid; else a number
    bool fails; // it may be none
    bool data;  // it depends on cells of the input, not on its shape alone
    uint8_t args;
    uint8_t border;
    uint32_t arg[GRID_ARGS];
    int32_t value;
    uint32_t height, width; // numbers; of a grid
    uint32_t next;          // of the same hash, plus one
};

struct grid_check {
    uint32_t before; // node
    uint32_t number; // that must not be 0
    uint8_t status;
};

struct grid_plan {
    struct source source; // in the arena
    struct arena arena;
    vec(struct grid_node) nodes; // each behind what it is made of
    vec(struct grid_check) checks;
    uint32_t *bucket; // [GRID_BUCKETS]: a node plus one
    uint32_t result;  // a grid
    bool one_shape;   // its shape is decided by the input's shape alone, and so is every check
};

// The plan of a text; NULL with what is wrong in the report.
struct grid_plan *grid_parse(const char *name, const char *text, size_t length, struct report *r);
void grid_plan_free(struct grid_plan *p);

// ---- Making nodes -------------------------------------------------------------------------------

// The node, or one that is the same. `n` has op, args, value and border set; the rest follows.
uint32_t grid_node_put(struct grid_plan *p, struct grid_node n);
uint32_t grid_number(struct grid_plan *p, int32_t value);
// A number or grid, cell by cell; `c` is there for SELECT only. Shapes of grids are checked.
// The number of a status in *broken: the shapes can never be the same.
uint32_t grid_cellwise(struct grid_plan *p, enum grid_op op, uint32_t a, uint32_t b, uint32_t c,
                       uint8_t *broken);
uint32_t grid_turn(struct grid_plan *p, uint32_t grid, int32_t code);
int32_t grid_turn_twice(int32_t outer, int32_t inner); // `outer` of what `inner` made
// False: it can never hold.
bool grid_must(struct grid_plan *p, uint32_t number, uint8_t status);

static inline const struct grid_node *grid_at(const struct grid_plan *p, uint32_t node) {
    return &p->nodes.items[node];
}

#endif
