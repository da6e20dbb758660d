// SPDX-License-Identifier: MIT
// Work on a range by several threads: all of it is done, once, also after a fork.
#include "check.h"

#include "base/team.h"

#include <stdlib.h>
#include <sys/resource.h>
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

// ---- Calls whose caller goes on -----------------------------------------------------------------

struct started {
    struct range range;
    int ticks, slow;
};

static void visit_slowly(void *user, size_t first, size_t end) {
    struct started *s = user;
    if (s->slow && first == 0)
        usleep(30000);
    visit(&s->range, first, end);
}

static void count_tick(void *user) { ((struct started *)user)->ticks++; }

// Each part once, with more or fewer threads than before; who waits is told that time goes by.
TEST(team_started) {
    struct team *team = NULL;
    for (int round = 0; round < 500; round++) {
        uint32_t threads = 1 + (uint32_t)(round * 7) % 20;
        struct started s = {.range.seen = calloc(20, 1), .slow = round % 100 == 99};
        REQUIRE(team_start(&team, threads, visit_slowly, &s) == 0);
        team_wait(team, s.slow ? 5 : 1000, count_tick, &s);
        for (uint32_t i = 0; i < 20; i++)
            CHECK_INT(s.range.seen[i], i < threads);
        CHECK_INT(s.range.calls, (int)threads);
        CHECK(s.ticks > 0 || !s.slow);
        free(s.range.seen);
        if (round % 3 == 0)
            visit_all(&team, 8, 1000, 10); // and those that take part
    }
    team_free(team);
}

// Fewer threads than parts do all of them.
TEST(team_started_with_few_threads) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    check_skip("the sanitizer needs the address space");
#endif
    struct rlimit most;
    struct team *team = NULL;
    struct started s = {.range.seen = calloc(20, 1)};
    getrlimit(RLIMIT_AS, &most);
    REQUIRE(team_start(&team, 1, visit_slowly, &s) == 0);
    team_wait(team, 1000, count_tick, &s);
    most.rlim_cur = 1; // no stack for another one
    setrlimit(RLIMIT_AS, &most);
    int failed = team_start(&team, 8, visit_slowly, &s);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_AS, &most);
    REQUIRE(!failed);
    team_wait(team, 1000, count_tick, &s);
    CHECK_INT(s.range.calls, 9);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_INT(s.range.seen[i], 1 + (i == 0));
    free(s.range.seen);
    team_free(team);
}
