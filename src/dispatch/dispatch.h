// SPDX-License-Identifier: MIT
// The loop over chunks, for any engine: which rows are next, what is started, waited for and handed
// on, when to stop, what to do when the device has no memory.
//
// dispatch.c  the loop
// share.c     how the threads of a device share out the rows of a chunk
// part.c      some rows of a chunk, run again as chunks of their own
// size.c      how many rows a chunk has
// pool.c      blocks and threads, kept from one run to the next
//
// An engine says what a row costs, fills a chunk and takes what comes back. What a row gives must
// not depend on its chunk. Chunks are handed on in row order. Where the device allows it the next
// chunk computes while the engine hands on the last one.
#ifndef SHOAL_DISPATCH_DISPATCH_H
#define SHOAL_DISPATCH_DISPATCH_H

#include "dispatch/pool.h"
#include "dispatch/share.h"
#include "log/log.h"

// A device that has no memory for so few rows is given up.
enum { DISPATCH_ROWS_LEAST = 32 };

// A chunk on its way; the first member of an engine's own.
struct dispatch_chunk {
    struct shoal_module *module; // that runs it
    struct shoal_launch launch;  // args and blocks are the engine's to set
    struct shoal_head *head;     // that the args begin with: it is set when the chunk is started,
    bool refill;                 // by whether lanes that are done should take the next row,
    uint32_t resident;           // and by the threads that a device runs at a time (its facts)
    uint32_t place;              // its slot and its blocks in the pool
    struct shoal_slot *slot;     // set by the loop
    uint64_t first_row;
    uint32_t rows;
    uint64_t before;       // rows of the batch that count as done while it runs
    bool first;            // its kernel has not run in this process
    bool reruns;           // some of its rows may be run again: `undone` says how many so far
    struct dispatch *loop; // set by the loop
    uint64_t start_ns;     // when it was started
    int32_t span;          // of the kernel; -1: not open
};

// What an engine does. `user` is the job's.
struct dispatch_engine {
    // The chunk of a place, made when it is first needed, with room for that many rows.
    shoal_code (*make)(void *user, uint32_t place, uint32_t rows, struct dispatch_chunk **out);
    // Lays out and fills rows first_row, ... of it.
    shoal_code (*fill)(void *user, struct dispatch_chunk *c);
    // OPTIONAL. What must run before it can: dispatch_run. SHOAL_MEMORY without a message: the
    // device has no room now.
    shoal_code (*measure)(void *user, struct dispatch_chunk *c);
    // OPTIONAL. It came back (SHOAL_OK, or SHOAL_STOPPED with rows missing): runs rows again that
    // need it, before the device gets the next chunk.
    shoal_code (*mend)(void *user, struct dispatch_chunk *c, shoal_code code);
    // Rows that are finished without a gap from its start, after a stop.
    uint32_t (*finished)(void *user, const struct dispatch_chunk *c);
    // OPTIONAL. Rows that the kernel has ended and that will run again, while it runs.
    uint32_t (*undone)(void *user, const struct dispatch_chunk *c);
    // Takes the results of the first `rows` rows.
    shoal_code (*deliver)(void *user, struct dispatch_chunk *c, uint32_t rows);
};

// Who may end a run, and who is told how far it is.
struct dispatch_control {
    const volatile int *stop[2]; // any of them non-zero: stop; may be NULL
    void (*progress)(const shoal_progress *now, void *user);
    void *user;
};

// Flags are set by other threads and by signal handlers; NULL: never.
static inline bool dispatch_is_set(const volatile int *flag) {
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

struct dispatch_job {
    const struct dispatch_engine *engine;
    void *user;
    struct dispatch_pool *pool;
    struct shoal_limits limits;
    // OPTIONAL. Asked before a chunk that is not the first: whether the rows from `next` on are
    // another's; then dispatch_all ends well before them.
    bool (*is_relieved)(void *user, uint64_t next);
    uint64_t first;      // row to begin with; the ones before are done
    uint64_t rows;       // of the batch
    uint64_t beside;     // rows that are done, too, and are none of these
    uint32_t chunk_rows; // of a chunk, at most
    bool tapers;         // the first and the last are smaller
    bool one_at_a_time;  // its chunks are run twice: no other is under way meanwhile
    const struct dispatch_control *control;
    shoal_log *log;
};

// A run of a job.
struct dispatch {
    const struct dispatch_job *job;
    struct dispatch_chunk *chunk[DISPATCH_PLACES]; // NULL: not made yet
    uint32_t rows;                                 // of a chunk now
    uint64_t next;                                 // row that the next chunk begins with
    uint32_t started, waited, delivered;           // chunks
    uint64_t start_ns;
    uint64_t first_ns, later_ns; // that the first chunk took, and all later ones together
    uint64_t shown;              // rows that progress was last called with,
    uint64_t told_ns;            // and when
    int stop;                    // what the device looks at when there is more than one flag
};

// Around single chunks (dispatch_run) of an engine that has no loop over them: dispatch_all does
// the same by itself.
void dispatch_begin(struct dispatch *d, const struct dispatch_job *job);
void dispatch_end(struct dispatch *d);
// SHOAL_STOPPED: it ended early; every chunk up to a row was handed on.
shoal_code dispatch_all(struct dispatch *d, const struct dispatch_job *job);
// Tells whoever watches that so many rows are done.
void dispatch_show(struct dispatch *d, uint64_t done);

// For engines, within `measure` and `mend`: one chunk, from start to end.
shoal_code dispatch_run(struct dispatch *d, struct dispatch_chunk *c);

// Rows that run again: `begin` makes, lays out and fills a chunk of items first, ..., `end` takes
// what came back, when it did, and frees it.
struct dispatch_parts {
    void *user;
    shoal_code (*begin)(void *user, uint32_t first, uint32_t rows, struct dispatch_chunk **out);
    void (*end)(void *user, struct dispatch_chunk *c, bool came_back);
    const char *what; // they are, in words: "runs that are stiff"
};
// All of `count` items, as many at a time as the device has room for. *done is how many were run.
// They run in the slot of the chunk they are of, which came back.
shoal_code dispatch_parts(struct dispatch *d, const struct dispatch_chunk *of,
                          const struct dispatch_parts *p, uint32_t count, uint32_t *done);

// A span of the engine's about some rows of a chunk, in the time log; -1: there is none.
void dispatch_end_transfer(const struct dispatch *d, const struct dispatch_chunk *c, int32_t span,
                           uint32_t rows, uint64_t bytes);

// ---- Sizes (size.c) -----------------------------------------------------------------------------

// What decides how many rows a chunk has.
struct dispatch_size {
    uint64_t rows;                // of the batch
    uint64_t row_bytes, row_host; // of a row, on the device and on the host
    uint64_t most;                // that the engine can number in a chunk
    uint64_t chunk, memory;       // given by the user; 0: not given
    uint32_t extra;    // places of the host beyond the device's slots: what they hold runs in those
    uint32_t resident; // threads that the device runs of the kernel at a time; 0: who knows
    const struct shoal_limits *limits;
};
uint32_t dispatch_rows(const struct dispatch_size *s);
// Whether there is room enough for the first and the last chunks to be smaller: what is copied
// before the first kernel and behind the last one overlaps with none.
bool dispatch_tapers(const struct dispatch_size *s);
// Rows of the next chunk: `left` are, of chunks of `rows` at most, of which some were started.
uint32_t dispatch_next_rows(uint64_t left, uint32_t rows, uint64_t started, bool tapers);
// What it takes, but for what is on disk.
shoal_plan dispatch_plan(const struct dispatch_size *s, uint32_t threads);

#endif
