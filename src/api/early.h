// SPDX-License-Identifier: MIT
// A solver on another device that is made by a thread of its own, before it is known to be needed:
// driver, context, compiler and loader, beside what the calling thread does.
#ifndef SHOAL_API_EARLY_H
#define SHOAL_API_EARLY_H

#include "api/front.h"

struct early;

// Begins with the child of a row. Nothing happens where another one is still on its way, or where
// there is no memory: whoever needs it makes it.
void early_begin(shoal_solver *s, uint32_t row, shoal_options options);
uint32_t early_row(const struct early *e);
// Whether its thread has ended, and whether that went well: then taking it takes no time.
bool early_is_done(struct early *e);
bool early_is_ready(struct early *e);
// It is not wanted any more: it ends when it can, and nobody waits. NULL is fine.
void early_stop(struct early *e);
// Waits for it. *out is NULL where it failed, whose messages are in the log then, or, with
// SHOAL_OK, where it had been stopped.
shoal_code early_take(struct front *f, shoal_solver **out, shoal_log *log);
// Stops it, and waits until its thread has ended, unless the process leaves.
void early_end(struct front *f);
// The process is about to end: nobody waits any more. True when a thread is still at work.
bool early_leave(void);

#endif
