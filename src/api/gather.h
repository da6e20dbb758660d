// SPDX-License-Identifier: MIT
// Where the rows of a batch come together that several solvers run: it hands out ranges of rows,
// takes what they gave in any order, and hands it to a sink in order.
//
// What comes ahead of its turn is kept in memory; so that this stays bounded, no range is handed
// out while there is too much of it. All calls but the first and the last may come from several
// threads.
#ifndef SHOAL_API_GATHER_H
#define SHOAL_API_GATHER_H

#include "api/packed.h"

// Rows, for a sink that stays the caller's; `order` and `meta` are borrowed until it is freed.
// *out may be freed whatever is returned.
shoal_code gather_open(shoal_solver *s, struct batch *b, const unsigned char job[PACKED_JOB],
                       struct sink *sink, const char *meta, shoal_gather **out, shoal_log *log);

// Whether its sink failed: then nobody gets rows any more.
bool gather_failed(shoal_gather *g);

// Before a call of several that run a batch: all is there, the batch fits, and the solver has one
// device, which is the worker's.
shoal_code ranges_check(shoal_solver *s, const shoal_batch *batch, const char *call,
                        shoal_solver **worker, shoal_log *log);
// Runs the ranges that it is given, of a batch that was checked (ranges.c).
shoal_code ranges_run(shoal_solver *s, const struct batch *b, const unsigned char job[PACKED_JOB],
                      const shoal_ranges *ranges, const struct dispatch_control *control,
                      shoal_log *log);

#endif
