// SPDX-License-Identifier: MIT
// The journal of a result that is being made: what job it is of, and which ranges of its rows are
// there, each with the checksums of its data.
//
// A result out.npz grows as out.npz.part beside out.npz.part.journal; after a stop they are called
// out.npz and out.npz.journal. A journal is text, a line each:
//
//     shoal-journal 1
//     is NAME "VALUE"      what must be the same for a run that goes on
//     how NAME "VALUE"     what need not: device, threads
//     meta {...}           of the result (docs/results.md), which makes it a job file
//     begin TIME           somebody begins, or goes on; milliseconds since 1970
//     range FIRST ROWS SAMPLES TIME STEPS REJECTED F_EVALS COUNT[@RUN],... BYTES:CRC:WIDTH,...
//     end TIME             it is complete; or stop
//
// A range counts its rows by status (with the first run of each), and has the bytes of each stream
// (an array, a table of text), their checksum, and how wide texts are so far. Each line ends with a
// checksum that goes on from that of the line before, so that what was torn, changed or put
// together of two files ends the journal there. A line is written when its data are; every few
// seconds a thread has both put onto the disk, data first.
//
// A journal may come from anywhere. Nothing is believed of it but what the data bear out.
#ifndef SHOAL_IO_JOURNAL_H
#define SHOAL_IO_JOURNAL_H

#include "base/buf.h"
#include "base/file.h"
#include "io/ahead.h"
#include "result/sink.h"

#include <pthread.h>

struct journal_fact {
    const char *name, *value;
};

// What a run is, for a sink that keeps a journal of it; all borrowed until `end`.
struct journal_order {
    const struct journal_fact *is; // [is_count] what must be the same,
    uint32_t is_count;
    const struct journal_fact *how; // [how_count] and what need not
    uint32_t how_count;
    bool resume;      // goes on from what there is, if there is anything
    bool mixed_bits;  // `key` need not be the same
    bool stays;       // when the result is complete, too
    bool ahead;       // rows that came ahead of their turn are there to go on from
    const char *path; // of the result
};
// The digest of what must be the same, but for the kernel where its bits may be mixed.
enum { JOURNAL_DIGEST = AHEAD_JOB };
void journal_digest(const struct journal_order *order, unsigned char out[JOURNAL_DIGEST]);
// Names of facts: the digest of a computation, the rows of a result and of all shards, and which
// shard it is.
#define JOURNAL_KEY "key"
#define JOURNAL_ROWS "rows"
#define JOURNAL_ALL_ROWS "all-rows"
#define JOURNAL_SHARD "shard"

struct journal_stream {
    uint64_t bytes;
    uint32_t crc;
    uint32_t width; // of texts, so far
};

// Some rows, and what became of them.
struct journal_range {
    uint64_t first, rows, samples;
    uint64_t by_status[SHOAL_STATUS_COUNT], first_run[SHOAL_STATUS_COUNT];
    uint64_t steps, rejected, f_evals;
    uint64_t time;
    uint32_t streams;
    struct journal_stream *stream; // [streams]
};

// ---- Writing ------------------------------------------------------------------------------------

enum { JOURNAL_FILES = 64 }; // that are put onto the disk by the thread, at most

struct journal {
    const struct journal_order *order; // NULL: none is kept
    char *path;
    int fd; // -1: not open
    uint64_t end;
    uint32_t crc;
    uint64_t ranges; // that it has
    struct buf line;
    struct journal_stream *stream; // [streams] of the range that is being written
    uint32_t streams;
    const struct result_list *list;
    struct ahead ahead; // rows ahead of their turn
    pthread_t thread;
    bool runs;                // the thread does
    int file[JOURNAL_FILES];  // data,
    uint32_t files;           // that it puts onto the disk
    bool stop;                // it is to end
    int error;                // of the disk
    pthread_mutex_t lock;     // of these two
    pthread_cond_t condition; // one of them changed
};

// A new one, which takes the place of an older one. `order` NULL: nothing is kept, and all calls do
// nothing.
shoal_code journal_begin(struct journal *j, const struct journal_order *order,
                         const struct result_list *list, uint32_t streams, const char *part,
                         struct report *r);
// Goes on behind what was found in one.
struct journal_found;
shoal_code journal_continue(struct journal *j, const struct journal_order *order,
                            const struct result_list *list, uint32_t streams, const char *part,
                            const struct journal_found *found, struct report *r);
// Files with the data of the result, from now on put onto the disk; the thread starts. Where there
// can be none, a warning says what that means.
void journal_watch(struct journal *j, const int *files, uint32_t count, struct report *r);
// More bytes of a stream of the range.
void journal_put(struct journal *j, uint32_t stream, const void *bytes, size_t length);
// The same, of bytes that somebody else wrote.
void journal_there(struct journal *j, uint32_t stream, uint32_t crc, uint64_t length);
void journal_width(struct journal *j, uint32_t stream, uint64_t width);
// The data of a chunk are written: its range is, too.
shoal_code journal_range(struct journal *j, const struct result_chunk *c, uint64_t first,
                         struct report *r);
// The data are on the disk, and the result gets its name, `path`, next; complete: all of it is
// there.
shoal_code journal_seal(struct journal *j, const char *path, bool complete, struct report *r);
// It has its name.
void journal_end(struct journal *j, bool complete);
// Closes what is left open; whether there is a range for somebody to go on from. Without one the
// journal is removed.
bool journal_close(struct journal *j);

// Lines of one that is written as a whole (snapshot.h), with milliseconds since 1970: into a file
// at `path`, which is emptied, first what waits as text.
shoal_code journal_open_file(struct journal *j, bool keep, struct report *r);
void journal_put_head(struct journal *j);
void journal_put_time(struct journal *j, const char *word, uint64_t ms);
void journal_put_rows(struct journal *j, uint64_t first, uint64_t samples, uint64_t ms,
                      const struct sink_there *rows);
void journal_close_line(struct journal *j, size_t from);
shoal_code journal_put_lines(struct journal *j, struct report *r);
void journal_sync_directory(const struct journal *j); // that it is in
uint64_t journal_now_ms(void);
// What became of the rows of a chunk is added.
void journal_count(const struct result_list *list, const struct result_chunk *c,
                   struct sink_there *to);

// ---- Reading (journal_read.c) -------------------------------------------------------------------

struct journal_reader {
    char *path; // of the journal
    int fd;
    uint64_t size, at; // of the file; where the next line begins
    uint32_t crc;      // of the lines before
    char *block;
    uint64_t block_at;
    size_t block_length;
    struct buf line; // without its end
};

// Opens the journal of a result by the name of the result (with or without .part), or its own.
// *found false without an error: there is none.
shoal_code journal_open(struct journal_reader *d, const char *path, bool *found, struct report *r);
// The next line; false: there is no more that is good.
bool journal_next(struct journal_reader *d);
void journal_reader_close(struct journal_reader *d);
// The line as a fact (its texts are in the arena), or as a range with room for `streams`; false: it
// is none.
bool journal_read_fact(const struct journal_reader *d, const char *word, struct arena *arena,
                       struct journal_fact *out);
bool journal_read_range(const struct journal_reader *d, uint32_t streams,
                        struct journal_range *out);
bool journal_read_time(const struct journal_reader *d, const char *word, uint64_t *out);
const char *journal_read_meta(const struct journal_reader *d);

// Whether it is of the same job; an error names the first difference. The reader is then behind the
// head. *whole false without an error: its head is damaged, or was never written to the end.
shoal_code journal_check(struct journal_reader *d, const struct journal_order *order, bool *whole,
                         struct report *r);
shoal_code journal_damaged(const struct journal_reader *d, struct report *r); // the error

// ---- Going on (journal_resume.c) ----------------------------------------------------------------

// What was found: the rows that are there, without a gap, and what became of them.
struct journal_found {
    struct sink_there there;
    uint64_t samples;
    uint64_t end; // of the lines about them
    uint32_t crc;
    uint64_t ranges, told;         // kept, and what the journal has
    struct journal_stream *stream; // [streams] of all of them together
};
void journal_found_free(struct journal_found *f);

// Finds what an earlier run of the same job has left, where that is wanted; the file is locked.
// *found false: there is nothing, and nothing is open. Another job is an error that says how it
// differs.
shoal_code journal_take(struct journal_reader *d, const struct journal_order *order,
                        const char *path, struct file_part *part, bool *found, struct report *r);

// Whether the data of a range are what its checksums say; a sink's.
typedef bool journal_look(void *user, const struct journal_range *range);
bool journal_same(int fd, uint64_t at, const struct journal_stream *s);

// Looks at every range, up to the first that is not as it should be.
shoal_code journal_find(struct journal_reader *d, uint32_t streams, journal_look *look, void *user,
                        struct journal_found *out, struct report *r);

// The same, and then goes on from there: the files get the names of those that are being made.
shoal_code journal_resume(struct journal *j, struct journal_reader *d,
                          const struct journal_order *order, const struct result_list *list,
                          uint32_t streams, struct file_part *const *part, uint32_t parts,
                          journal_look *look, void *user, struct journal_found *out,
                          struct report *r);

#endif
