// SPDX-License-Identifier: MIT
// Devices that can be used here, besides the CPU.
#ifndef SHOAL_DEVICE_KNOWN_H
#define SHOAL_DEVICE_KNOWN_H

#include "base/report.h"
#include "shoal/backend.h"

enum { KNOWN_MOST = 16 };

struct device_known {
    char name[32]; // cuda:0
    const struct shoal_backend *backend;
    uint32_t index;
    char text[192];   // for people
    char digest[65];  // of what identifies card and driver
    uint32_t units;   // multiprocessors
    bool is_cpu_type; // a CPU by another name
};

// All that can be used, never the CPU itself. The list stays to the end of the process.
uint32_t device_known(const struct device_known **list, struct report *r);

#endif
