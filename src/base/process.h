// SPDX-License-Identifier: MIT
// Child processes: argv and a clean environment, no shell, killed with all their children on a
// stop. And which process this is.
#ifndef SHOAL_BASE_PROCESS_H
#define SHOAL_BASE_PROCESS_H

#include "base/buf.h"
#include "base/report.h"

struct process {
    int exit_code;   // when it ended by itself
    int signal;      // that killed it, or 0
    bool stopped;    // by us, because *stop became non-zero
    struct buf talk; // what it wrote to stdout and stderr, at most 64 KiB
    int pid, fd;     // while it runs: itself, and what it writes to
};

// Starts argv[0] (an absolute path) with `input` on stdin. `tmp` is its TMPDIR and where it runs;
// what a killed child leaves there is the caller's to remove. Fails only when it cannot be started
// (SHOAL_DEVICE) or files cannot be made (SHOAL_IO). What was started must be waited for.
shoal_code process_start(const char *const *argv, const char *tmp, const char *input, size_t length,
                         struct process *out, struct report *r);
// Waits for its end, or brings it about when *stop (may be NULL) becomes non-zero. The caller frees
// talk.
void process_wait(struct process *p, const volatile int *stop);

// Starts argv[0] with that environment, nothing on stdin and stderr thrown away; what it writes to
// stdout comes out of the pipe out->fd. What was started must be ended.
shoal_code process_stream(const char *const *argv, const char *const *env, struct process *out,
                          struct report *r);
// The same with a copy of this process, which calls `run` with its end of the pipe and ends. For
// what cannot be another program: in a process of several threads it may block, and is then brought
// to its end as any other.
shoal_code process_copy(void (*run)(int fd, void *user), void *user, struct process *out);
// Waits so long for its end, then brings it about. Closes the pipe.
void process_end(struct process *p, int wait_ms);

// A program of ours: where the variable says, else beside the library or program that this code is
// in, and in libexec/shoal of its prefix.
bool process_find_own(const char *name, const char *variable, char *path, size_t room);

// What getpid returns, without asking the system: short calls look for forks several times.
int process_id(void);

// The absolute path of a program found on PATH (or of a name with a slash), or false.
bool process_find(const char *name, char *path, size_t room);

#endif
