// SPDX-License-Identifier: MIT
// See hdf5_program.h.
#include "io/hdf5_program.h"

#include "base/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SILENCE_S = 30, END_MS = 1000, VARIABLE_ROOM = 8192 };

// ---- Where it is --------------------------------------------------------------------------------

// The file that this code is in; the name of the main program may be anything, so it is asked of
// the system.
static bool own_path(char *path, size_t room) {
    static const char here = 0;
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    if (map->l_name && *map->l_name) {
        char *real = realpath(map->l_name, NULL);
        bool fits = real && strlen(real) < room;
        if (fits)
            strcpy(path, real);
        free(real);
        return fits;
    }
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

bool hdf5_program_find(char path[HDF5_PROGRAM_ROOM]) {
    static const char *const places[] = {"", "../libexec/shoal/", "../../libexec/shoal/"};
    char own[HDF5_PROGRAM_ROOM];
    const char *named = secure_getenv("SHOAL_HDF5_READER");
    if (named)
        return snprintf(path, HDF5_PROGRAM_ROOM, "%s", named) < HDF5_PROGRAM_ROOM;
    char *slash = own_path(own, sizeof own) ? strrchr(own, '/') : NULL;
    if (!slash)
        return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(path, HDF5_PROGRAM_ROOM, "%s/%sshoal-hdf5", own, places[i]);
        if (length < HDF5_PROGRAM_ROOM && access(path, X_OK) == 0)
            return true;
    }
    return false;
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

struct stream {
    const char *path;
    int fd;
    char *message; // of HDF5_MESSAGE_MOST bytes and a zero
    enum outcome outcome;
    bool done, strange;
    shoal_code error; // the last that it told
};

static void take_error(struct stream *s, size_t length, struct report *r) {
    uint32_t code = 0;
    if (length > sizeof code)
        memcpy(&code, s->message, sizeof code);
    s->strange = code != SHOAL_INPUT && code != SHOAL_IO && code != SHOAL_MEMORY;
    if (!s->strange)
        s->error = report_error(r, (shoal_code)code, "%s", s->message + sizeof code);
}

// Reads up to the end, or to the first thing that is wrong.
static shoal_code read_messages(struct stream *s, hdf5_take *take, void *user, struct report *r) {
    shoal_code code = SHOAL_OK;
    while (code == SHOAL_OK && !s->done && !s->strange) {
        struct hdf5_head head;
        s->outcome = read_bytes(s->fd, &head, sizeof head);
        s->strange = s->outcome == CAME && head.length > HDF5_MESSAGE_MOST;
        if (s->outcome == CAME && !s->strange)
            s->outcome = read_bytes(s->fd, s->message, head.length);
        if (s->outcome != CAME || s->strange)
            break;
        s->message[head.length] = 0;
        if (head.kind == HDF5_DONE)
            s->done = true;
        else if (head.kind == HDF5_ERROR)
            take_error(s, head.length, r);
        else
            code = take(user, head.kind, s->message, head.length);
    }
    return code;
}

static shoal_code damaged(const struct stream *s, const struct process *p, struct report *r) {
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

shoal_code hdf5_program_run(const char *program, const char *what, const char *path,
                            hdf5_take *take, void *user, struct report *r) {
    char variables[3][VARIABLE_ROOM];
    const char *env[5] = {NULL}, *const argv[] = {program, what, path, NULL};
    env[put_variables(variables, env)] = "LC_ALL=C";
    struct stream s = {.path = path, .message = malloc(HDF5_MESSAGE_MOST + 1)};
    struct process p;
    if (!s.message)
        return SHOAL_MEMORY;
    shoal_code code = process_stream(argv, env, &p, r);
    if (code != SHOAL_OK) {
        free(s.message);
        return SHOAL_IO;
    }
    s.fd = p.fd;
    code = read_messages(&s, take, user, r);
    process_end(&p, s.outcome == ENDED ? END_MS : 0);
    if (code == SHOAL_OK)
        code = s.done ? s.error : damaged(&s, &p, r);
    free(s.message);
    return code;
}
