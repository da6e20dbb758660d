// SPDX-License-Identifier: MIT
// The log behind shoal_log: messages, and spans of time that nest.
//
//     int32_t span = log_begin(log, LOG_module_load);
//     ...
//     log_u64(log, span, "bytes", bytes.length);
//     log_end(log, span);
//
// Every function accepts a NULL log and then does nothing; so does one whose span is -1, which is
// what log_begin returns when nobody wants times. Spans are recorded by one thread, the one that
// uses the handle. Each instant of it belongs to the innermost open span, and is added to that
// span's sum when the next one begins or ends; so sums and `other` make the total, exactly.
// What other threads and devices did is recorded after the fact, and never summed with it.
//
// Of very many spans the first LOG_KEEP can be read afterwards; the rest is summed, told and
// written to the files like any other, and then forgotten.
#ifndef SHOAL_LOG_LOG_H
#define SHOAL_LOG_LOG_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/report.h"
#include "log/label.h"

enum { LOG_KEEP = 1 << 16, LOG_BUCKETS = 256 };

// What one label took on one track. The first are those of the library's labels.
struct log_row {
    shoal_span_sum sum; // its texts are literals, or live in the arena
    uint32_t tid;       // of its track in a trace
    uint16_t next;      // row with the same hash, plus one
    bool named;         // its track, in the trace
};

enum log_value { LOG_U64, LOG_F64, LOG_TEXT };

struct log_meta {
    const char *key; // a literal
    enum log_value type;
    int32_t next;
    union {
        uint64_t u64;
        double f64;
        size_t text; // offset in texts
    } value;
};

struct log_span {
    uint32_t id; // in files
    uint16_t row;
    bool open, by_program;
    bool past; // it was over when it was told
    int32_t parent;
    int32_t meta, meta_last; // -1: none
    uint32_t metas_before;   // when it began
    size_t texts_before;     // when it began
    uint64_t t0_ns, dur_ns;
    char *meta_text; // once it was asked for
};

struct log_file {
    int fd; // -1: not open
    char *path;
    bool failed;
};

struct shoal_log {
    struct report report;
    shoal_timing timing;
    bool recording; // somebody wants times
    bool watched;   // each start and stop is told: a file is open, or a program listens
    int32_t open;   // innermost open span, -1: none
    uint32_t next_id;
    uint64_t start_ns, last_ns, other_ns; // last_ns: up to where the sums are, from start_ns
    uint64_t cleared_ns;                  // from where they are
    struct log_span *spans;
    uint32_t span_count, span_room;
    struct log_meta *metas;
    uint32_t meta_count, meta_room;
    struct buf texts;
    struct log_row *rows;
    uint32_t row_count, row_room;
    uint32_t last_row;             // that a program used
    uint16_t buckets[LOG_BUCKETS]; // first row of a hash, plus one
    struct arena arena;            // names
    const uint16_t *row_of;        // of each label of the library, in the order of the linker
    void (*call)(const shoal_log *log, size_t span, bool ended, void *user);
    void *user;
    bool calling;
    struct log_file json, trace;
    struct buf line;
};

struct report *log_report(shoal_log *log); // NULL for NULL

// Errors and warnings of a log that another thread had, to a report.
void log_pass_on(const shoal_log *from, struct report *r);

// Nanoseconds since the log was made.
static inline uint64_t log_now_ns(const shoal_log *log) {
    return log ? clock_ns() - log->start_ns : 0;
}

// ---- Spans of the calling thread ----------------------------------------------------------------

int32_t log_open(shoal_log *log, const struct log_label *label);
void log_close(shoal_log *log, int32_t span);

static inline int32_t log_begin(shoal_log *log, const struct log_label *label) {
    return log && log->recording ? log_open(log, label) : -1;
}

// Also ends what is still open inside of it.
static inline void log_end(shoal_log *log, int32_t span) {
    if (span >= 0)
        log_close(log, span);
}

// One that is told when it is over, for time that turns out to be several labels': from t0_ns on,
// which is not before the last that began or ended. Add metadata, then log_end.
int32_t log_past(shoal_log *log, const struct log_label *label, uint64_t t0_ns, uint64_t dur_ns);
// The innermost open one of that label; -1: there is none.
int32_t log_find_open(const shoal_log *log, const struct log_label *label);

// ---- What happened elsewhere --------------------------------------------------------------------

// Recorded after the fact; add metadata, then log_end. Times are those of log_now_ns. `track` names
// the stream, engine or thread ("cuda:0 stream 1"); spans of a track nest or follow each other.
// `parent` is a span of the calling thread, or -1.
int32_t log_device(shoal_log *log, const char *track, const struct log_label *label, int32_t parent,
                   uint64_t t0_ns, uint64_t dur_ns);
// A measurement made for its own sake, such as one function compiled alone.
int32_t log_measure(shoal_log *log, const struct log_label *label, int32_t parent, uint64_t t0_ns,
                    uint64_t dur_ns);

// ---- Metadata, until log_end; the key must be a literal -----------------------------------------

void log_u64(shoal_log *log, int32_t span, const char *key, uint64_t value);
void log_f64(shoal_log *log, int32_t span, const char *key, double value); // to six decimals
void log_text(shoal_log *log, int32_t span, const char *key, const char *text);
// As `nbytes`, which is also summed.
void log_nbytes(shoal_log *log, int32_t span, uint64_t bytes);

// ---- Between the files of this folder -----------------------------------------------------------

// A new span, not ended yet; -1: out of memory.
int32_t log_push(shoal_log *log, uint32_t row, int32_t parent, uint64_t t0_ns);
void log_update(shoal_log *log); // recording and watched, after a change of who listens
int32_t log_open_row(shoal_log *log, uint32_t row, bool by_program);
bool log_rows_init(shoal_log *log);
// The row of a label on a track other than the calling thread's; -1: out of memory.
int log_row_of(shoal_log *log, shoal_span_kind kind, const char *track,
               const struct log_label *label);
const char *log_meta_text(const shoal_log *log, size_t span); // NULL: none, or not ended yet
void log_meta_json(const shoal_log *log, const struct log_span *e, struct buf *out);
// Control characters and what is not UTF-8 become `?`.
void log_clean(char *text);
void log_files_step(shoal_log *log, const struct log_span *e, bool ended);

#endif
