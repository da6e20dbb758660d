// SPDX-License-Identifier: MIT
// Which process this is, in children of every kind.
#include "check.h"

#include "base/process.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int knows_itself(void) { return process_id() == getpid() && process_id() == getpid(); }

static void check_child(pid_t child, int depth) {
    int status = 1;
    if (child == 0) { // and its own children
        if (depth > 0 && knows_itself())
            check_child(fork(), depth - 1);
        _exit(!knows_itself());
    }
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(process_knows_itself) {
    CHECK(knows_itself());
    for (int i = 0; i < 20; i++)
        check_child(fork(), 2);
    check_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL), 0); // no handlers run
    CHECK(knows_itself());
}
