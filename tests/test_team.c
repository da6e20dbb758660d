// SPDX-License-Identifier: MIT
// Work on a range by several threads: all of it is done, once, also after a fork.
#include "check.h"

#include "base/team.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct range {
    unsigned char *seen;
    int calls;
};

static void visit(void *user, size_t first, size_t end) {
    struct range *r = user;
    __atomic_add_fetch(&r->calls, 1, __ATOMIC_RELAXED);
    for (size_t i = first; i < end; i++)
        __atomic_add_fetch(&r->seen[i], 1, __ATOMIC_RELAXED);
}

// Every item exactly once, however many threads there are and however often it is called.
static void visit_all(struct team **team, uint32_t threads, size_t items, size_t grain) {
    struct range r = {.seen = calloc(items + 1, 1)};
    team_run(team, threads, items, grain, visit, &r);
    size_t wrong = 0;
    for (size_t i = 0; i < items; i++)
        wrong += r.seen[i] != 1;
    CHECK_INT(wrong, 0);
    CHECK(r.calls >= 1 && (uint32_t)r.calls <= (threads ? threads : 1));
    free(r.seen);
}

TEST(team_every_item_once) {
    static const size_t items[] = {0, 1, 7, 1000, 100003};
    for (uint32_t threads = 0; threads < 20; threads += 3) {
        struct team *team = NULL;
        for (int round = 0; round < 20; round++)
            visit_all(&team, threads, items[round % 5], 10);
        team_free(team);
    }
    team_free(NULL);
}

// Threads that a call has no part for leave it alone.
TEST(team_fewer_parts_than_threads) {
    struct team *team = NULL;
    visit_all(&team, 8, 8, 1);
    for (int round = 0; round < 2000; round++)
        visit_all(&team, 8, (size_t)(2 + round % 7), 1);
    team_free(team);
}

TEST(team_after_a_fork) {
    struct team *team = NULL;
    visit_all(&team, 4, 1000, 10);
    pid_t pid = fork();
    if (pid == 0) {
        visit_all(&team, 4, 1000, 10); // with threads of its own
        team_free(team);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    visit_all(&team, 4, 1000, 10);
    team_free(team);
}
