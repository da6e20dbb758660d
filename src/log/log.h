// SPDX-License-Identifier: MIT
// The log behind shoal_log: messages, and spans of time that nest.
//
// Every function accepts a NULL log and then does nothing. Spans are recorded by one thread, the
// one that uses the handle; each instant belongs to the innermost open span.
#ifndef SHOAL_LOG_LOG_H
#define SHOAL_LOG_LOG_H

#include "base/report.h"

struct shoal_log {
    struct report report;
    struct arena arena;
    vec(shoal_event) events;
    int32_t open; // innermost open event, -1: none
    uint64_t start_ns;
};

struct report *log_report(shoal_log *log); // NULL for NULL
// Opens a span; label must outlive the log (a literal). Returns what log_end takes.
int32_t log_begin(shoal_log *log, const char *label, shoal_category category);
void log_end(shoal_log *log, int32_t event);
// The same, with metadata: a JSON object as text.
void log_end_meta(shoal_log *log, int32_t event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
