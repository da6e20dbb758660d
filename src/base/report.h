// SPDX-License-Identifier: MIT
// Messages: errors, warnings and notes, with the place in a text they are about.
//
// A report collects; nobody prints. Every function accepts a NULL report (the message is dropped,
// the code still returned). Of very many messages only the first REPORT_MOST are kept, and a last
// one says how many more there were.
#ifndef SHOAL_BASE_REPORT_H
#define SHOAL_BASE_REPORT_H

#include "base/arena.h"
#include "shoal/shoal.h"

enum { REPORT_MOST = 100 };

// A text that messages point into.
struct source {
    const char *name; // of the file, or what stands for it
    const char *text;
    size_t length;
};

// Where an offset is: its line, counted from 1, and where that begins and ends.
struct place {
    uint32_t line;
    size_t start, end, offset;
};
struct place source_place(const struct source *s, size_t offset);

struct report {
    struct arena arena;
    vec(shoal_message) messages;
    uint32_t errors, dropped;   // errors counted, kept or not
    char *count_text;           // of the last message, once some were dropped
    const struct source *place; // what messages without a place of their own are about, or NULL
    size_t place_at;
};

shoal_code report_error(struct report *r, shoal_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_warning(struct report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_note(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
// At a byte offset of a source: "name:line:column: error: ...", the line, a caret. Overlong
// lines are cut; control characters, and bytes that are no UTF-8, are never in a message. Errors
// here have the code SHOAL_INPUT.
void report_at(struct report *r, shoal_severity severity, const struct source *source,
               size_t offset, const char *format, ...) __attribute__((format(printf, 5, 6)));
void report_free(struct report *r);

// Keeps the best of many candidates for "did you mean": start with {.wanted = name}, offer each
// known name, then ask; NULL when nothing is near.
struct nearest {
    const char *wanted, *best;
    uint32_t distance;
};
void nearest_offer(struct nearest *n, const char *candidate);
const char *nearest_best(const struct nearest *n);

#endif
