// SPDX-License-Identifier: MIT
// Devices that can be used here, known without a driver in this process.
//
// Drivers are the code of others: some end the process that loads them, some never come back, all
// take long. So another program (libexec/shoal-devices.c) loads and asks each, with a time limit,
// and what it said is remembered in the cache, under all that it may depend on: the driver's files,
// device nodes, variables (shoal_backend.depends). What is remembered is a hint: where a device
// cannot be opened it is doubted, and asked for again.
//
// known.c    what this process knows
// ask.c      the program, its time limit, and what its end means
// depends.c  what an answer depends on
// vendors.c  the drivers of OpenCL, one by one
#ifndef SHOAL_DEVICE_KNOWN_H
#define SHOAL_DEVICE_KNOWN_H

#include "base/report.h"
#include "device/vendors.h"
#include "shoal/backend.h"

enum { KNOWN_MOST = 16, KNOWN_WHY = 192 }; // devices of a backend

struct device_known {
    char name[32]; // cuda:0
    const struct shoal_backend *backend;
    uint32_t index;
    char text[192];   // for people
    char digest[65];  // of what identifies card and driver
    uint32_t units;   // multiprocessors
    bool is_cpu_type; // a CPU by another name
};

// That digest, of a card's identity.
void known_digest(const void *identity, size_t length, char hex[65]);

// All that can be used, never the CPU itself. The list stays to the end of the process. The report
// (may be NULL) gets a note on drivers that were asked just now and that crashed or hung.
uint32_t device_known(const struct device_known **list, struct report *r);

// Whether that takes no driver, since all of them were asked before.
bool known_asks_nobody(void);

// What a device (NULL: the CPU) builds for, a word of its description such as sm_90; NULL: only the
// open device knows.
enum { KNOWN_TARGET = 16 };
const char *known_target(const struct device_known *d, char word[KNOWN_TARGET]);

// Of one backend.
struct known {
    uint32_t count;
    struct device_known device[KNOWN_MOST];
    char why[KNOWN_WHY]; // count 0: why there is none; else which driver was left out, or ""
    char without[VENDORS_NAMES]; // the files of those, separated by colons
    bool broken;                 // a driver crashed or hung
    bool fresh;                  // this process had it asked
    bool unasked;                // there is no program that asks; the caller may ask himself
};
// While this thread asks, a flag (any may be NULL) that becomes non-zero ends that, and what was
// asked for counts as not there. Until the next call.
void known_watch(const volatile int *stop, const volatile int *other);
bool known_is_stopped(void);
// What is known by now of drivers that are left out, without asking: their files; "": none.
void known_without(const struct shoal_backend *b, char names[VENDORS_NAMES]);
// `again`: a no that was only remembered is not believed.
void known_of(const struct shoal_backend *b, bool again, struct known *out);
// One of its devices could not be opened.
void known_doubt(const struct shoal_backend *b);

#endif
