// SPDX-License-Identifier: MIT
// The machine that a batch can run on: the CPU, and devices that are worth a choice.
//
// An OpenCL device that is this CPU by another name is none. What the devices were measured to do
// is in the tune file (dispatch/tune.h), in points `DEVICE WHAT` and, for what depends on the kind
// of kernel, `DEVICE WHAT CLASS`; a class is a word of the engine, such as ode-f64-n10-erk.
#ifndef SHOAL_DISPATCH_MACHINE_H
#define SHOAL_DISPATCH_MACHINE_H

#include "device/known.h"
#include "dispatch/cost.h"
#include "dispatch/tune.h"

enum { MACHINE_CLASS = 32 };

struct machine {
    uint32_t count;                                 // the CPU is the first
    const struct device_known *known[COST_DEVICES]; // NULL: the CPU
    uint32_t cpus;                                  // that may be used
    char digest[KEY_HEX];                           // of all that measurements depend on
};

// What measurements on one device alone depend on, which is the name of their file: of an open one
// by its card, and of one that no driver is asked about.
void machine_device(const struct shoal_backend *b, const struct shoal_card *card,
                    char digest[KEY_HEX]);
void machine_known(const struct device_known *d, char digest[KEY_HEX]);

// The report (may be NULL) gets notes on drivers.
void machine_find(struct machine *m, struct report *r);
// Whether there is more than the CPU.
bool machine_has_choice(struct report *r);
// Tests choose devices that are CPUs, too.
extern bool machine_takes_cpu_types;
// And have as many CPUs as they like; 0: as many as there are.
extern uint32_t machine_assumes_cpus;

// What a kernel of a class runs with on the CPU.
struct machine_cpu {
    uint32_t threads, lanes;
};
// What the table says of each device, where it says nothing what is assumed. Kernels are nowhere.
void machine_costs(const struct machine *m, const struct machine_cpu *cpu, const struct tune *t,
                   const char *class, struct cost_table *out);
// What a compilation takes where nothing like it was compiled yet.
double machine_compile(const struct device_known *d);

// The points, by number in the list.
#define MACHINE_POINTS(X)                                                                          \
    X(START, "start", "driver and context, seconds")                                               \
    X(LOAD, "load", "a kernel from the cache, seconds")                                            \
    X(LAUNCH, "launch", "a chunk of no work, seconds")                                             \
    X(IN, "in", "copies to the device, bytes a second")                                            \
    X(OUT, "out", "copies from the device, bytes a second")                                        \
    X(EFFICIENCY, "efficiency", "of a thread among so many, the class, to one alone")              \
    X(LANE, "lane", "a row alone, in times its work")                                              \
    X(FULL, "full", "a row of a device that is full, in times its work")
enum machine_point {
#define X(name, word, text) MACHINE_##name,
    MACHINE_POINTS(X)
#undef X
        MACHINE_POINT_COUNT
};
// The class of a point that depends on the number of threads.
const char *machine_threads(uint32_t threads, char class[MACHINE_CLASS]);
// class NULL: it does not depend on it.
void machine_point(const char *device, enum machine_point p, const char *class,
                   char name[TUNE_NAME]);

#endif
