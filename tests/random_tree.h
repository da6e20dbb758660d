// SPDX-License-Identifier: MIT
// Inside of random models: expression trees, and the lists a model is made of.
#ifndef SHOAL_TESTS_RANDOM_TREE_H
#define SHOAL_TESTS_RANDOM_TREE_H

#include "random_model.h"

// What a leaf (OP_SYMBOL) is; `index` says which one.
enum tree_leaf {
    TREE_STATE,
    TREE_PARAMETER,
    TREE_CONSTANT,
    TREE_DERIVED,
    TREE_TEMPORARY,
    TREE_ELEMENT,  // of the array, `index` - 1 beside the row's own
    TREE_POSITION, // the row's number in the array
    TREE_SHIFTED,  // inside a sum: the element with its number
    TREE_COUNTER,  // inside a sum: its number
};
// A sum over the array's elements from `index` to `last`, of its operand.
enum { TREE_SUM = OP_COUNT, TREE_OPS };

struct tree {
    uint8_t op, leaf;
    uint8_t form; // how it is written, where there are several ways
    uint32_t index, last;
    uint32_t operand[3]; // trees
    double value;
};

struct tree_item {
    char name[32];
    uint32_t tree;   // NO_TREE: none
    uint32_t start;  // of a state: formula of its initial value; NO_TREE: a number
    uint32_t args;   // of a function
    char arg[3][32]; // their names
    double value;    // parameter, initial value
    bool gone;       // dropped by shrinking
};
enum { NO_TREE = UINT32_MAX };

struct tree_list {
    struct tree_item *items;
    uint32_t count, room;
};

enum tree_list_kind {
    LIST_CONSTANT,
    LIST_PARAMETER,
    LIST_DERIVED,
    LIST_FUNCTION,
    LIST_TEMPORARY,
    LIST_STATE, // algebraic ones last
    LIST_OBSERVABLE,
    LISTS
};

struct random_model {
    struct random_shape shape;
    struct tree *trees;
    uint32_t tree_count, tree_room;
    struct tree_list list[LISTS];
    // States array_first + 1 ... + array_count are elements of an array with one expression; the
    // states before and behind them bear the names of elements too.
    uint32_t array_first, array_count;
    char array_name[16];
    uint64_t seed; // of what is drawn for the text alone
};

// Operands of a tree.
uint32_t tree_operands(const struct random_model *m, const struct tree *t);

#endif
