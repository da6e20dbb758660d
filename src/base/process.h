// SPDX-License-Identifier: MIT
// Child processes: argv and a clean environment, no shell, killed with all their children on a
// stop.
#ifndef SHOAL_BASE_PROCESS_H
#define SHOAL_BASE_PROCESS_H

#include "base/buf.h"
#include "base/report.h"

struct process {
    int exit_code;   // when it ended by itself
    int signal;      // that killed it, or 0
    bool stopped;    // by us, because *stop became non-zero
    struct buf talk; // what it wrote to stdout and stderr, at most 64 KiB
};

// Runs argv[0] (an absolute path) with `input` on stdin and waits for it. `tmp` is its TMPDIR; what
// a killed child leaves there is the caller's to remove. Fails only when it cannot be started
// (SHOAL_DEVICE) or files cannot be made (SHOAL_IO). The caller frees talk.
shoal_code process_run(const char *const *argv, const char *tmp, const char *input, size_t length,
                       const volatile int *stop, struct process *out, struct report *r);

// The absolute path of a program found on PATH (or of a name with a slash), or false.
bool process_find(const char *name, char *path, size_t room);

#endif
