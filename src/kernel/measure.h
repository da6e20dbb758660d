// SPDX-License-Identifier: MIT
// How long each function of a kernel takes to compile, measured by compiling it alone.
#ifndef SHOAL_KERNEL_MEASURE_H
#define SHOAL_KERNEL_MEASURE_H

#include "kernel/kernel.h"

// Records compile_dxdt and so on in the kernel's log, as measurements of their own: the time of a
// unit with that function and what it calls, less that of a unit without any. Where one does not
// compile alone it is left out.
void measure_functions(const struct kernel_making *k);

#endif
