// SPDX-License-Identifier: MIT
// What a batch costs on each device, and which one is to have it: a pure function of a table.
//
// There is no clock, no device and no file here. Row 0 of a table is the CPU. Times are in seconds.
//
//     T = [not open] start + [miss] compile / reuses, or [hit] load
//       + chunks * launch + copies + work * lane * max(spread, rows / at_once)
//
// `work` is what a row takes a core of the CPU whose lanes are full, the one number that nobody
// knows before rows have run. A row by itself takes `lane` times as long, in a lane of the CPU as
// in a thread of a GPU; the slowest of them takes `spread` times the mean. Up to `at_once` rows run
// side by side in that time; since lanes that are done take the next row, more rows come without
// steps. From the second chunk on copies overlap with kernels.
//
// What batches of about as many rows took is better than that, where it was seen: it is scaled by
// what the model says of the two.
#ifndef SHOAL_DISPATCH_COST_H
#define SHOAL_DISPATCH_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COST_DEVICES = 17, COST_NAME = 32, COST_REASON = 256, COST_NONE = -1 };

// What is known of a device, measured or assumed.
struct cost_device {
    char name[COST_NAME];     // cpu, cuda:0
    double start;             // driver and context
    double load;              // of a kernel that is in the cache
    double launch;            // of a chunk
    double in_rate, out_rate; // bytes a second
    double lane;              // a row alone takes so many times its work
    double at_once;           // rows that run side by side in that time
};

// What is known of the kernel there.
struct cost_kernel {
    bool open;           // the device is
    bool loaded;         // it is ready to run
    bool cached;         // it need not be compiled
    double compile;      // else that takes so long
    uint64_t chunk_rows; // rows of a chunk; 0: all
    double missed;       // what batches so far took longer because it was not there
};

// What batches of 2^i rows and more, less than twice as many, took of late, everything loaded.
enum { COST_SIZES = 32 };
struct cost_seen {
    double rows, seconds; // 0: there was none
    double bytes;         // of a row
    uint32_t count;       // of batches, up to as many as are believed against the model
};

struct cost_row {
    struct cost_device device;
    struct cost_kernel kernel;
    struct cost_seen seen[COST_SIZES];
};

struct cost_table {
    uint32_t count;
    struct cost_row row[COST_DEVICES]; // row 0 is the CPU
};

struct cost_job {
    uint64_t rows;
    double in_bytes, out_bytes; // of a row
    double work;                // of a row
    double spread;              // work of the slowest row to that of the mean
    double reuses;              // batches that a compilation is for
    const char *noun;           // of several rows: runs
};

// What it takes now, and what it takes once everything is loaded. The price of getting there, start
// of the device and kernel, is less what was missed so far: who keeps coming with batches that
// would be faster there has waited in all no longer than twice that price.
double cost_now(const struct cost_row *d, const struct cost_job *j);
double cost_warm(const struct cost_row *d, const struct cost_job *j);
double cost_price(const struct cost_row *d, const struct cost_job *j); // all of it
// A batch took so long on a row. One that is far from those before is of other work: these are
// forgotten, of all devices.
void cost_see(struct cost_table *t, uint32_t row, const struct cost_job *j, double seconds);
bool cost_is_seen(const struct cost_row *d, const struct cost_job *j);
void cost_forget(struct cost_table *t); // what was seen
// A batch ran on the CPU: devices where it would have been faster were missed.
void cost_miss(struct cost_table *t, const struct cost_job *j);
// The other way: the work of a row, by the time that the rows of a job took, everything loaded.
double cost_work(const struct cost_device *d, const struct cost_job *j, double seconds);
// The fewest rows for which the device is faster than the CPU; 0: there is no such number.
uint64_t cost_break_even(const struct cost_row *cpu, const struct cost_row *d,
                         const struct cost_job *j, bool warm);

// The most rows that each of two devices does, from now on, in a share of what the faster one takes
// for the job; 0: none, or so few that they tell nothing.
uint64_t cost_trial(const struct cost_row *a, const struct cost_row *b, const struct cost_job *j,
                    double share);

// The row that gets the job. `last` had the one before, of the same kind, and keeps it unless
// another is faster by a tenth; COST_NONE: none had.
uint32_t cost_choose(const struct cost_table *t, const struct cost_job *j, int last);

// Whatever the work of a row is, no other device is faster than the CPU: nothing must be measured,
// and no driver asked.
bool cost_is_plain(const struct cost_table *t, const struct cost_job *j);
// The work of a row for which CPU and device take the same time; infinite: the CPU is always
// faster.
double cost_even_work(const struct cost_row *cpu, const struct cost_row *d,
                      const struct cost_job *j);

// cpu: 200 runs ~ 3 ms; cuda ~ 1.1 s cold, 6 ms warm (break-even 4,100 runs cold, 420 warm)
void cost_reason(const struct cost_table *t, const struct cost_job *j, uint32_t chosen,
                 char out[COST_REASON]);
// Parts of such lines: cuda for cuda:0; a number with commas.
void cost_name(const char *device, char out[COST_NAME]);
void cost_count(uint64_t n, char out[COST_NAME]);

#endif
