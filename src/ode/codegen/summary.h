// SPDX-License-Identifier: MIT
// Summaries as they are compiled: which kinds there are, and which calls of them a kernel has.
//
// A kind is a row of summary_kinds and, unless it is made of others, a file of kernels/summary.
#ifndef SHOAL_CODEGEN_SUMMARY_H
#define SHOAL_CODEGEN_SUMMARY_H

#include "ode/model/model.h"
#include "ode/symbolic/symbolic.h"

enum summary_form {
    SUMMARY_SEGMENTS, // looks at values, where the expression is monotone
    SUMMARY_POINTS,   // is an integral, by Gauss points
    SUMMARY_EVENTS,   // of an event, which its argument names
    SUMMARY_MADE,     // of other kinds
};
// Whether a call needs the segments of a stretch in which the expression turns.
enum summary_turns {
    TURNS_ALWAYS,
    TURNS_ASKED, // NAME_turns says so, by bounds of the values
    TURNS_NEVER,
};
enum summary_way { WAY_BOTH, WAY_RISING, WAY_FALLING };
enum { SUMMARY_NUMBERS = 3, SUMMARY_PARTS = 2 };

struct summary_kind {
    const char *name;    // as people write it; with each number of numbers it is another kind
    const char *numbers; // behind the expression, in words; NULL: none
    uint32_t count;      // of them
    bool has_level;      // the first of them may be any expression, which is taken from the other;
                         // of other kinds all but a number of elements may be made of parameters
    bool has_way;        // `rising` or `falling` may follow
    bool part_of_time;   // the number lies between 0 and 1
    enum summary_form form;
    enum summary_turns turns; // SUMMARY_SEGMENTS
    bool quick;               // SUMMARY_SEGMENTS: a few operations, and no root
    bool timed;               // SUMMARY_SEGMENTS: the times of turns are part of the result
    bool is_when;             // SUMMARY_SEGMENTS: it, or an array of its own, is a time of the run
    bool ridged;              // SUMMARY_SEGMENTS: maxima that stand out
    bool linear;              // SUMMARY_POINTS: the mean value stands for all points
    const char *file;         // of kernels/summary, without its ending
    uint32_t room;            // numbers of a lane
    uint32_t arrays; // of its own, with as many elements as the last number says; 0: it is a number
    struct {
        const char *name; // SUMMARY_MADE: of these,
        uint32_t order;   // of the expression's derivative
    } part[SUMMARY_PARTS];
    const char *code; // by postfix code: 0 and 1 are the parts, - / n (negation) M (max) I (one)
};
extern const struct summary_kind summary_kinds[];
extern const uint32_t summary_kind_count;

// A call of a kind that has a file.
struct summary_call {
    const struct summary_kind *kind;
    struct formula of;
    uint32_t event; // of the model (SUMMARY_EVENTS)
    uint32_t order; // of its derivative
    enum summary_way way;
    uint32_t number;      // its first one among all
    struct formula level; // a level that is no number: 0 is the number then; count 0: none
    struct formula coded[SUMMARY_NUMBERS]; // others that are none; count 0: it is a number
    uint32_t array; // the first of its own, behind those of items that are numbers
};

// What a label stands for: a number for each window, or the arrays of a call.
struct summary_item {
    const char *label;
    struct formula value; // arguments are the calls
    uint32_t arrays;      // 0: it is a number
    uint32_t call;        // else of this one
};

// What is compiled in, and the numbers that are not.
struct summary_plan {
    uint32_t calls, items, numbers;
    uint32_t scalars, arrays; // items that are numbers; with arrays of calls behind
    const struct summary_call *call;
    const struct summary_item *item;
    const double *value; // [numbers]
};
// Whether they are compiled to the same; calls but for their numbers.
bool summary_same(const struct summary_plan *a, const struct summary_plan *b);
bool summary_same_call(const struct summary_call *a, const struct summary_call *b);

#endif
