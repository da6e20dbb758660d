// SPDX-License-Identifier: MIT
// Work on a range by several threads, for what memory bandwidth limits: filling and copying.
#ifndef SHOAL_RUN_PARALLEL_H
#define SHOAL_RUN_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

// Calls work(user, first, end) for parts of [0, items), side by side when there are at least two
// parts of `grain` items. Returns when all are done.
void run_parallel(uint32_t threads, size_t items, size_t grain,
                  void (*work)(void *user, size_t first, size_t end), void *user);

#endif
