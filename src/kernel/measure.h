// SPDX-License-Identifier: MIT
// How long each function of a kernel takes to compile, measured by compiling without it.
#ifndef SHOAL_KERNEL_MEASURE_H
#define SHOAL_KERNEL_MEASURE_H

#include "kernel/kernel.h"
#include "log/log.h"

// A text that the compiler takes. Of a list the first has no function; each of the others has what
// the one before it has, and a function more, whose label this is.
struct kernel_unit {
    const struct log_label *label;
    struct buf text;
};

// Records the labels in the kernel's log, as measurements of their own: each the processor time of
// its unit, less that of the unit before. So they add up to the time of the last, less that of the
// first. What does not compile is left out.
void measure_functions(const struct kernel_making *k, const struct kernel_unit *unit,
                       uint32_t count);

#endif
