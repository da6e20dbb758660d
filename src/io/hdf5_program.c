// SPDX-License-Identifier: MIT
// See hdf5_program.h.
#include "io/hdf5_program.h"

#include "base/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SILENCE_S = 30, END_MS = 1000, VARIABLE_ROOM = 8192 };

bool hdf5_program_find(char path[HDF5_PROGRAM_ROOM]) {
    return process_find_own("shoal-hdf5", "SHOAL_HDF5_READER", path, HDF5_PROGRAM_ROOM);
}

// ---- What it says -------------------------------------------------------------------------------

enum outcome { CAME, ENDED, SILENT };

static enum outcome read_bytes(int fd, void *bytes, size_t length) {
    for (char *at = bytes; length;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int n = poll(&ready, 1, SILENCE_S * 1000);
        if (n == 0)
            return SILENT;
        ssize_t got = n < 0 ? -1 : read(fd, at, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ENDED;
        at += got;
        length -= (size_t)got;
    }
    return CAME;
}

struct hdf5_stream {
    const char *path;
    struct process process;
    char *message; // of HDF5_MESSAGE_MOST bytes and a zero
    enum outcome outcome;
    bool done, strange;
    shoal_code error; // the last that it told
};

static void take_error(struct hdf5_stream *s, size_t length, struct report *r) {
    uint32_t code = 0;
    if (length > sizeof code)
        memcpy(&code, s->message, sizeof code);
    s->strange = code != SHOAL_INPUT && code != SHOAL_IO && code != SHOAL_MEMORY;
    if (!s->strange)
        s->error = report_error(r, (shoal_code)code, "%s", s->message + sizeof code);
}

// The next message; false at the end, or at the first thing that is wrong.
static bool read_message(struct hdf5_stream *s, struct hdf5_head *head) {
    s->outcome = read_bytes(s->process.fd, head, sizeof *head);
    s->strange = s->outcome == CAME && head->length > HDF5_MESSAGE_MOST;
    if (s->outcome == CAME && !s->strange)
        s->outcome = read_bytes(s->process.fd, s->message, head->length);
    if (s->outcome != CAME || s->strange)
        return false;
    s->message[head->length] = 0;
    return true;
}

bool hdf5_stream_next(struct hdf5_stream *s, uint32_t *kind, const char **bytes, size_t *length,
                      struct report *r) {
    struct hdf5_head head;
    while (!s->done && !s->strange && read_message(s, &head)) {
        s->done = head.kind == HDF5_DONE;
        if (head.kind == HDF5_ERROR)
            take_error(s, head.length, r);
        else if (!s->done) {
            *kind = head.kind;
            *bytes = s->message;
            *length = head.length;
            return true;
        }
    }
    return false;
}

static shoal_code damaged(const struct hdf5_stream *s, struct report *r) {
    const struct process *p = &s->process;
    if (s->outcome == SILENT)
        return report_error(r, SHOAL_IO,
                            "%s is damaged (the HDF5 reader made no progress for %d s)", s->path,
                            SILENCE_S);
    if (s->strange)
        return report_error(r, SHOAL_IO, "%s is damaged (the HDF5 reader sent nonsense)", s->path);
    if (p->signal == SIGXCPU)
        return report_error(r, SHOAL_IO, "%s is damaged (the HDF5 reader found no end)", s->path);
    if (p->signal)
        return report_error(r, SHOAL_IO, "%s is damaged (the HDF5 reader crashed)", s->path);
    return report_error(r, SHOAL_IO, "%s: the HDF5 reader ended with status %d", s->path,
                        p->exit_code);
}

// Variables of the user that decide where the HDF5 library is and what it may do.
static size_t put_variables(char text[][VARIABLE_ROOM], const char **env) {
    static const char *const names[] = {"LD_LIBRARY_PATH", "HDF5_PLUGIN_PATH",
                                        "HDF5_USE_FILE_LOCKING"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = secure_getenv(names[i]);
        if (value && snprintf(text[count], VARIABLE_ROOM, "%s=%s", names[i], value) < VARIABLE_ROOM)
            env[count] = text[count], count++;
    }
    return count;
}

struct hdf5_stream *hdf5_stream_open(const char *program, const char *what, const char *path,
                                     const char *name, struct report *r) {
    char variables[3][VARIABLE_ROOM];
    const char *env[5] = {NULL}, *const argv[] = {program, what, path, name, NULL};
    env[put_variables(variables, env)] = "LC_ALL=C";
    struct hdf5_stream *s = calloc(1, sizeof *s);
    if (s)
        s->message = malloc(HDF5_MESSAGE_MOST + 1);
    if (!s || !s->message)
        report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
    else if (process_stream(argv, env, &s->process, r) == SHOAL_OK) {
        s->path = path;
        return s;
    }
    if (s)
        free(s->message);
    free(s);
    return NULL;
}

shoal_code hdf5_stream_close(struct hdf5_stream *s, bool all, struct report *r) {
    shoal_code code = SHOAL_OK;
    process_end(&s->process, s->outcome == ENDED ? END_MS : 0);
    if (all)
        code = s->done ? s->error : damaged(s, r);
    free(s->message);
    free(s);
    return code;
}

shoal_code hdf5_program_run(const char *program, const char *what, const char *path,
                            hdf5_take *take, void *user, struct report *r) {
    struct hdf5_stream *s = hdf5_stream_open(program, what, path, NULL, r);
    if (!s)
        return SHOAL_IO;
    shoal_code code = SHOAL_OK;
    const char *bytes;
    size_t length;
    uint32_t kind;
    while (code == SHOAL_OK && hdf5_stream_next(s, &kind, &bytes, &length, r))
        code = take(user, kind, bytes, length);
    shoal_code closed = hdf5_stream_close(s, code == SHOAL_OK, r);
    return code ? code : closed;
}
