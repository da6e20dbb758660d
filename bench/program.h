// SPDX-License-Identifier: MIT
// What the bench programs share: the end of hope, and other programs' figures.
#ifndef SHOAL_BENCH_PROGRAM_H
#define SHOAL_BENCH_PROGRAM_H

#include "shoal/shoal.h"

#include "lorenz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void die(const char *what, shoal_log *log) {
    fprintf(stderr, "bench: %s\n", what);
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(log, i).text);
    exit(1);
}

// Runs a program; what it printed, or NULL when it is not there. *seconds: start to exit.
static inline char *run_program(const char *const *argv, double *seconds) {
    static char text[65536];
    int ends[2];
    if (pipe(ends))
        return NULL;
    double start = lorenz_seconds();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        close(ends[0]);
        close(ends[1]);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got;
         n + 1 < sizeof text && (got = read(ends[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    if (seconds)
        *seconds = lorenz_seconds() - start;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : NULL;
}

static inline double value_of(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ' ')
            return strtod(line + length, NULL);
    }
    return NAN;
}

#endif
