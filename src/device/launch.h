// SPDX-License-Identifier: MIT
// What a launch is allowed to be, the same for all backends.
#ifndef SHOAL_DEVICE_LAUNCH_H
#define SHOAL_DEVICE_LAUNCH_H

#include "../kernels/dialect/head.h"
#include "base/report.h"
#include "shoal/backend.h"

// Refuses arguments without a head, teams that lack rows, pieces that leave a gap or have no label,
// and arrays and fills that lie outside of what is used of their blocks; that is what exists on a
// device. `resident` is how many bytes the resident block has; `reaches` says whether the backend
// knows bytes that lie elsewhere.
shoal_code launch_check(const struct shoal_launch *l, size_t resident, bool reaches,
                        const char *backend, struct report *r);
// The same of a block by itself.
shoal_code launch_check_block(const struct shoal_block *b, const char *backend, struct report *r);
// Bytes of a block that are in use: to the end of the last piece.
size_t launch_used(const struct shoal_block *b);

static inline const struct shoal_head *launch_head(const struct shoal_launch *l) { return l->args; }

#endif
