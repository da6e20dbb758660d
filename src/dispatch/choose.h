// SPDX-License-Identifier: MIT
// Which device gets a batch, for any engine; and what is learned from its run.
//
// The cost model (dispatch/cost.h) needs the work of a row. Where the choice does not depend on it
// nothing is measured and no driver is asked; else it is what earlier batches of the same solver
// took, or what the tune file says of the kernel, or a pilot tells: a few rows on the CPU. Kernels
// are looked for in the cache before anything is chosen.
#ifndef SHOAL_DISPATCH_CHOOSE_H
#define SHOAL_DISPATCH_CHOOSE_H

#include "dispatch/machine.h"

enum {
    CHOOSE_CPU_MOST = 16, // so many rows are always the CPU's
    CHOOSE_PILOT_MOST = 64,
    CHOOSE_PILOT_PART = 16, // at most every so manieth row
    CHOOSE_RELIEF = 128, // chunks of what the CPU begins: another device may wait for one of them
};

// What a pilot of some rows took.
struct choose_pilot {
    uint32_t rows;
    double seconds, spread;
    double took; // all of it, with the compiler
};

// What rows took on the CPU and, as many of the same work, on another device, everything loaded; 0:
// they did not end.
struct choose_trial {
    double cpu, other;
    int64_t now; // Unix time, ns
};

// What an engine does; `row` is that of a machine.
struct choose_engine {
    // Whether the kernel is there, and what it takes to compile it. The key (hex) is that of the
    // tune file.
    shoal_code (*look)(void *user, uint32_t row, struct cost_kernel *out, char key[KEY_HEX]);
    // Runs rows of the batch on the CPU. OPTIONAL: nothing may run.
    shoal_code (*pilot)(void *user, uint32_t rows, struct choose_pilot *out);
    // OPTIONAL. Both compilers have to run: begins to make a device ready, with its compiler,
    // beside what follows, up to `settle`, which is told whether it is still wanted.
    void (*begin_compile)(void *user, uint32_t row);
    void (*settle)(void *user, bool wanted);
    // Whether it is ready by now, so that nobody would have to wait for it.
    bool (*is_ready)(void *user);
    // OPTIONAL. Whether a row has the same bits on the CPU, whose kernel is there, and on a device.
    bool (*is_target_free)(void *user, uint32_t row);
    // OPTIONAL. Runs rows of the batch on the CPU and on a row. What the faster one computed is
    // kept, and that of the other where both have the same bits.
    shoal_code (*trial)(void *user, uint32_t row, uint64_t rows, struct choose_trial *out);
};

// What a batch asks for.
struct choose_request {
    uint64_t rows;
    double in_bytes, out_bytes; // of a row
    double units;               // of work that a row is, where the engine knows; 0: one
    uint64_t threshold;         // 0: by measurement
    double reuses;
    const char *noun; // runs
    const struct choose_engine *engine;
    void *user;
};

// Kept from one batch to the next of the same kernel.
struct chooser {
    struct machine machine;
    struct tune tune;
    char place[4096]; // of the cache that its file is in, for those who save it; "": the usual one
    int64_t saved_ns; // when it was
    char class[MACHINE_CLASS];
    struct machine_cpu cpu;
    struct cost_table table;
    char key[COST_DEVICES][KEY_HEX]; // of kernels that were looked for; "": not yet
    bool failed[COST_DEVICES];       // it is not chosen again
    int last;                        // row of the last batch; COST_NONE: none
    double work, spread;             // of a unit of a row; work 0: not known
    bool piloted;
    bool meanwhile; // the CPU begins with the batch while the device is made ready that gets it
    char reason[COST_REASON];
};

// The chooser's machine, tune, class and CPU are set. A kernel of another kind begins anew.
void choose_begin(struct chooser *c);
// The kernel of a row is loaded now, under that key.
void choose_loaded(struct chooser *c, uint32_t row, const char *key);
// Its device cannot be used: the others are left.
void choose_failed(struct chooser *c, uint32_t row);
// A batch that is the CPU's whichever devices there are: the reason says why.
bool choose_few(const struct choose_request *q, char reason[COST_REASON]);
// DEVICE: 20 runs, WHY
void choose_reason(const struct choose_request *q, const char *device, const char *why,
                   char reason[COST_REASON]);
// The row that gets a batch; the reason says why. An error is the engine's.
shoal_code choose_device(struct chooser *c, const struct choose_request *q, uint32_t *row);
// The fewest rows like these for which some device is faster than the CPU, all of it loaded; 0:
// there is no such number, or nobody knows the work of a row.
uint64_t choose_break_even(const struct chooser *c, const struct choose_request *q);
// What it is predicted to take on a row, in seconds; NaN: the work of a row is not known.
double choose_predict(struct chooser *c, const struct choose_request *q, uint32_t row);

// Whether a row does it, everything loaded, in less than these seconds, which the CPU would take by
// what it has done so far.
bool choose_is_faster(const struct chooser *c, const struct choose_request *q, uint32_t row,
                      double seconds);

// A batch that ran: what all took, everything loaded. `first`: it was the first there, which
// measures more than is of use for others.
void choose_learn(struct chooser *c, const struct choose_request *q, uint32_t row, double seconds,
                  bool first, int64_t now);

#endif
