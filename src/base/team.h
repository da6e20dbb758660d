// SPDX-License-Identifier: MIT
// Work on a range by several threads, for what memory bandwidth limits: filling and copying.
//
// A team is made by the first call that needs one and kept, because starting threads would cost as
// much as the copy of a chunk. Its threads sleep between calls and block all signals. Parts are
// taken by whoever is there: those of a thread that wakes up late are done by the others, so nobody
// waits for one that has nothing to do.
#ifndef SHOAL_BASE_TEAM_H
#define SHOAL_BASE_TEAM_H

#include <stddef.h>
#include <stdint.h>

struct team;

// Calls work(user, first, end) for parts of [0, items), side by side when there are at least two
// parts of `grain` items. Returns when all are done. *team is NULL at first.
void team_run(struct team **team, uint32_t threads, size_t items, size_t grain,
              void (*work)(void *user, size_t first, size_t end), void *user);
void team_free(struct team *team);

#endif
