// SPDX-License-Identifier: MIT
// The devices that are open and the kernels that are loaded in this process, for all who need one.
//
// This is the one table of the process that changes: locked, counted, dropped after fork. A few
// kernels that nobody uses stay, so that a program that makes one solver after another compiles and
// loads once, with or without a cache on disk.
#ifndef SHOAL_KERNEL_TABLE_H
#define SHOAL_KERNEL_TABLE_H

#include "base/report.h"
#include "cache/key.h"
#include "shoal/backend.h"

enum { KERNELS_IDLE = 8 }; // that stay

// A loaded kernel. Its users have it for reading.
struct kernel {
    struct shoal_module *module;
    struct shoal_facts facts;
    char key[KEY_HEX];
    int ran; // it was run in this process; atomic
    // The table's own.
    struct open_device *on;
    uint32_t users;
    bool lost; // it was the parent's: nobody else gets it
    struct kernel *next;
};

// A device, which may be in use elsewhere in this process. Each open or keep is one close.
shoal_code kernel_device_open(const struct shoal_backend *backend, uint32_t index, bool fast_math,
                              struct shoal_device **out, struct report *r);
// How often this process has opened it, with those that were closed since.
uint32_t kernel_device_opens(const struct shoal_backend *backend, uint32_t index);
void kernel_device_keep(struct shoal_device *d);
// The process is about to end; true when a device was open that is not given back, or a compiler
// that is a library is still at work.
bool kernel_devices_leave(void);
void kernel_device_close(struct shoal_device *d); // NULL is fine

// The kernel of that key on that device, or NULL.
struct kernel *kernel_find(const struct shoal_device *d, const char key[KEY_HEX]);
// Takes the module, which is of that device, whatever happens; NULL: out of memory.
struct kernel *kernel_add(struct shoal_device *d, const char key[KEY_HEX],
                          struct shoal_module *module, struct shoal_facts facts);
// Each find, add or keep is one drop.
struct kernel *kernel_keep(struct kernel *k); // NULL is fine, in both
void kernel_drop(struct kernel *k);
// Whether it is run for the first time; from now on it is not.
bool kernel_runs_first(struct kernel *k);
// Unloads those that nobody uses.
void kernel_forget_idle(void);

#endif
