// SPDX-License-Identifier: MIT
// Runs a function in a traced child and does something to one of its system calls.
#ifndef SHOAL_TESTS_CACHE_STEP_H
#define SHOAL_TESTS_CACHE_STEP_H

#include <stdbool.h>
#include <sys/types.h>

enum step_action {
    STEP_COUNT, // nothing is done
    STEP_KILL,  // SIGKILL before the call
    STEP_FAIL,  // the call is not made and fails with `error`
    STEP_LIE,   // the call is made, but fails with `error`
    STEP_SHORT, // its third argument is halved: a short write
    STEP_CALL,  // `call` is called before it
};

struct step {
    int (*run)(void *user);
    void *user;
    enum step_action action;
    int at;    // which system call, from 0
    long only; // its number must be this (-1: any call on files)
    int error;
    void (*call)(void *user, pid_t pid); // with `user`
    bool done;                           // out: it was done
    int status;                          // out: exit status, or 128 + signal
    int count;                           // out: system calls of that kind
};

// Skips the test where processes cannot be traced so.
void step_run(struct step *s);
// Reads a string at the address that is argument `argument` of the stopped call.
void step_string(pid_t pid, int argument, char *text, int room);
unsigned long step_argument(pid_t pid, int argument);

#endif
