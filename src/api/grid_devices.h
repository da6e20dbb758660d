// SPDX-License-Identifier: MIT
// The handle of a pipeline, and the devices behind it: one that was asked for, or all that a batch
// may be given to.
//
// Who leaves the choice open gets the CPU at once and any other device when a batch first goes
// there. As long as all batches together would be done by the CPU before another device has
// started, nobody is even asked which devices there are.
#ifndef SHOAL_API_GRID_DEVICES_H
#define SHOAL_API_GRID_DEVICES_H

#include "dispatch/choose.h"
#include "grid/run.h"

#include <sys/types.h>

// A pipeline on a device.
struct grid_worker {
    struct grid_runner runner;
    struct shoal_card card;
    uint32_t index;  // of the device
    bool for_target; // the device is this handle's alone
    bool ran;        // it had a batch
    bool starts;     // nobody in this process had opened it before,
    double opened_s; // which took so long; else 0
    pid_t pid;       // of the process that opened it
};

struct shoal_grid {
    struct grid_plan *plan;
    shoal_options given;                      // of which text is the cache and keep_source only
    struct grid_worker *worker[COST_DEVICES]; // the first is the CPU; NULL: not opened yet
    bool is_free;                             // each batch is given to one of them
    uint32_t shown;                           // who had the last batch, or is to have all
    struct chooser *chooser;                  // NULL: nobody has asked for devices
    enum grid_type in_type, out_type;         // of the kernel that it is about
    double at_once;                           // grids that all threads of the CPU compute at a time
    struct choose_request last;               // of the last batch,
    uint32_t repeats;                         // which came so many times since it was thought about
    char reason[COST_REASON];
    void (*progress)(const shoal_progress *now, void *user);
    void *progress_user;
};

// Of a handle that has its plan and options: the device that these ask for. target: a name to build
// for, or NULL.
shoal_code grid_devices_open(shoal_grid *g, const char *device, const char *target, shoal_log *log);
void grid_devices_close(shoal_grid *g);

// Gives a batch to a device and runs it there; what that leaves undone the CPU does. Without cells
// in `out` only shapes are found. `plans`: nothing runs. Where cells are to be kept and the CPU
// makes them, `keep` is NULL afterwards and `cells` is memory of the caller's.
shoal_code grid_devices_run(shoal_grid *g, const struct grid_batch *b, struct grid_result *out,
                            const struct dispatch_control *control, bool plans, shoal_log *log);

// Makes the kernel of the device that had the last batch, or is to have it. A CPU that cannot have
// one does without.
shoal_code grid_devices_ready(shoal_grid *g, enum grid_type in, enum grid_type out, shoal_log *log);

// Asks for all devices, for batches of these types, whatever the handle was to run on.
shoal_code grid_devices_find(shoal_grid *g, enum grid_type in, enum grid_type out, shoal_log *log);
// Runs a batch by the kernel of a row of the chooser's machine, whoever would get it, and learns
// from the time, which is told. `out` has memory for its cells.
shoal_code grid_devices_time(shoal_grid *g, uint32_t row, const struct grid_batch *b,
                             struct grid_result *out, double *seconds, shoal_log *log);

#endif
