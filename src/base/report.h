// SPDX-License-Identifier: MIT
// Messages: errors, warnings and notes, with the place in a text they are about.
//
// A report collects; nobody prints. Every function accepts a NULL report (the message is dropped,
// the code still returned). The newest REPORT_MOST messages are kept. But of very many about one
// text, in one call, the first are what helps: then a last one says how many more there were.
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
    vec(shoal_message) messages; // each with texts of its own
    uint32_t errors;             // counted, kept or not
    uint64_t gone;               // older messages that made room
    const char *about;           // the text that the last messages with a place are about,
    uint32_t of_about;           // how many there were of these,
    const char *last;            // the text of the last of them that was kept,
    char *count_text;            // and the one that says how many more, once there were too many
    const struct source *place;  // what messages without a place of their own are about, or NULL
    size_t place_at;
};

// A call begins: messages about a text it is given are not those of an earlier call.
void report_begin(struct report *r);

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
// Where a report is now, and taking back the errors that it got since then, because there was a way
// around what went wrong. The first of them is put into `text`.
uint64_t report_mark(const struct report *r);
void report_withdraw(struct report *r, uint64_t mark, char *text, size_t room);
void report_free(struct report *r); // of all it holds; it can be used again

// Keeps the best of many candidates for "did you mean": start with {.wanted = name}, offer each
// known name, then ask; NULL when nothing is near.
struct nearest {
    const char *wanted, *best;
    uint32_t distance;
};
void nearest_offer(struct nearest *n, const char *candidate);
const char *nearest_best(const struct nearest *n);

#endif
