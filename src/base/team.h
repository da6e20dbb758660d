// SPDX-License-Identifier: MIT
// Work by several threads: on a range, for what memory bandwidth limits (filling and copying), or
// that of a kernel, which each of them takes rows of.
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
// Calls work(user, i, i + 1) for all i below `threads`, each by a thread of its own, as far as they
// can be had, and comes back at once: team_wait before anything else. 0, or why not one thread
// could be started.
int team_start(struct team **team, uint32_t threads,
               void (*work)(void *user, size_t first, size_t end), void *user);
// Waits for all of them; calls tick(user) again and again meanwhile.
void team_wait(struct team *team, uint32_t tick_ms, void (*tick)(void *user), void *user);
void team_free(struct team *team);

#endif
