// SPDX-License-Identifier: MIT
// Kernels that are compiled while others, which were compiled in a hurry, run.
//
// Two threads make them; each ends among those that are loaded, where whoever runs the hurried one
// finds it by its key, and in the cache. A process that ends waits for them a while, so that the
// next one has them.
#ifndef SHOAL_KERNEL_LATER_H
#define SHOAL_KERNEL_LATER_H

#include "kernel/kernel.h"

// Nothing that the request points to is needed afterwards but its device. Where many wait
// already, or this one does, nothing happens.
void later_begin(const struct kernel_making *k);
// Whether that one is made, or waits for its turn.
bool later_is_made(const char key[KEY_HEX]);

#endif
