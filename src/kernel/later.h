// SPDX-License-Identifier: MIT
// Kernels that are compiled while others, which were compiled in a hurry, run.
//
// A thread of its own makes each; it ends among those that are loaded, where whoever runs the
// hurried one finds it by its key, and in the cache. A process that ends waits for them a while, so
// that the next one has them.
#ifndef SHOAL_KERNEL_LATER_H
#define SHOAL_KERNEL_LATER_H

#include "kernel/kernel.h"

// Nothing that the request points to is needed afterwards but its device. Where a few are made
// already, or this one is, nothing happens.
void later_begin(const struct kernel_making *k);

#endif
