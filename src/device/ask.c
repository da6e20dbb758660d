// SPDX-License-Identifier: MIT
// See ask.h.
#include "device/ask.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/process.h"
#include "device/depends.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_S = 30, END_MS = 1000, ANSWER_MOST = 256 << 10, PROGRAM_ROOM = 4096, VENDORS = 32 };

// ---- In the program -----------------------------------------------------------------------------

static void put_device(const struct shoal_backend *b, uint32_t index, struct key_record *out) {
    struct shoal_card card;
    char units[16];
    b->describe(index, &card);
    snprintf(units, sizeof units, "%u", card.units);
    key_add_text(out, "device", card.text);
    key_add_text(out, "identity", card.identity);
    key_add_text(out, "units", units);
    key_add_text(out, "cpu", card.is_cpu_type ? "1" : "0");
}

void ask_here(const struct shoal_backend *b, struct buf *out) {
    struct key_record answer = {0};
    char why[192] = "";
    uint32_t count = b->count(why, sizeof why);
    for (uint32_t i = 0; i < count; i++)
        put_device(b, i, &answer);
    if (!count)
        key_add_text(&answer, "why", why);
    depends_add_libraries(&answer);
    key_add_text(&answer, "end", "");
    *out = answer.bytes;
}

// ---- Children -----------------------------------------------------------------------------------

struct child {
    struct process process;
    bool started, silent;
};

static bool find_program(char path[PROGRAM_ROOM]) {
    return process_find_own("shoal-devices", "SHOAL_DEVICES_PROGRAM", path, PROGRAM_ROOM);
}

static uint64_t wait_ms(void) {
    const char *text = secure_getenv("SHOAL_DRIVER_SECONDS");
    double s = 0;
    if (text && !number_finite(text, &s))
        s = 0;
    return s > 0 && s < 3600 ? (uint64_t)(s * 1e3) : (uint64_t)WAIT_S * 1000;
}

static void start(struct child *c, const char *program, const char *backend, const char *vendor) {
    const char *const argv[] = {program, backend, vendor, NULL};
    c->started = process_stream(argv, (const char *const *)(uintptr_t)environ, &c->process, NULL) ==
                 SHOAL_OK;
}

static void answer_here(int fd, void *user) {
    struct buf answer = {0};
    ask_here(user, &answer);
    if (!answer.failed)
        (void)file_write(fd, "pipe", answer.data, answer.length, NULL);
}

// A program that has the library in it, but not ours beside it.
static void start_copy(struct child *c, const struct shoal_backend *b) {
    c->started = process_copy(answer_here, (void *)(uintptr_t)b, &c->process) == SHOAL_OK;
}

static bool has_end(const struct buf *b) {
    struct key_field f = {.label = ""};
    size_t at = 0;
    while (key_next((const unsigned char *)b->data, b->length, &at, &f))
        if (!strcmp(f.label, "end"))
            return at == b->length;
    return false;
}

// What it writes until it ends, or until then.
static void read_all(struct child *c, uint64_t until_ns, struct buf *out) {
    char piece[4096];
    for (;;) {
        uint64_t now = clock_ns();
        struct pollfd ready = {.fd = c->process.fd, .events = POLLIN};
        int n = now < until_ns ? poll(&ready, 1, (int)((until_ns - now) / 1000000) + 1) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        c->silent = n == 0;
        ssize_t got = n > 0 ? read(c->process.fd, piece, sizeof piece) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || out->length > ANSWER_MOST)
            return;
        buf_put(out, piece, (size_t)got);
    }
}

// The answer; else it is empty, and *fault says in words what became of the program, for which the
// driver is to blame ("" : nobody is).
static void collect(struct child *c, uint64_t until_ns, struct buf *answer, char fault[64]) {
    fault[0] = 0;
    read_all(c, until_ns, answer);
    bool ends = !c->silent && answer->length <= ANSWER_MOST;
    process_end(&c->process, ends ? END_MS : 0);
    if (!answer->failed && has_end(answer))
        return;
    if (c->silent)
        snprintf(fault, 64, "did not answer in %.3g s", (double)wait_ms() / 1e3);
    else if (!ends)
        snprintf(fault, 64, "gave an answer without an end");
    else if (c->process.signal)
        snprintf(fault, 64, "crashed: %s", strsignal(c->process.signal));
    else
        snprintf(fault, 64, "ended the program that asked it (status %d)", c->process.exit_code);
    buf_free(answer);
}

// ---- Who it was ---------------------------------------------------------------------------------

// OpenCL has one library in front of several drivers: each is asked alone, to name those at fault.
static void name_vendors(const char *program, const char *backend, char *names, size_t room) {
    struct child child[VENDORS] = {0};
    glob_t found;
    size_t count = glob("/etc/OpenCL/vendors/*.icd", 0, NULL, &found) ? 0 : found.gl_pathc;
    count = count < VENDORS ? count : VENDORS;
    for (size_t i = 0; i < count; i++)
        start(&child[i], program, backend, found.gl_pathv[i]);
    uint64_t until = clock_ns() + wait_ms() * 1000000;
    for (size_t i = 0; i < count; i++) {
        struct buf answer = {0};
        char fault[64] = "";
        if (child[i].started)
            collect(&child[i], until, &answer, fault);
        size_t at = strlen(names);
        if (fault[0])
            snprintf(names + at, room - at, "%s%s", at ? ", " : "", found.gl_pathv[i]);
        buf_free(&answer);
    }
    globfree(&found);
}

static void blame(struct ask *a, const char *program, const char *fault) {
    bool loader = !strcmp(a->backend->name, "opencl");
    char names[96] = "";
    if (loader && program && !secure_getenv("OCL_ICD_VENDORS"))
        name_vendors(program, a->backend->name, names, sizeof names);
    if (names[0])
        snprintf(a->why, sizeof a->why, "the driver of %s %s", names, fault);
    else
        snprintf(a->why, sizeof a->why, "the driver (%s) %s", a->backend->depends[0], fault);
}

void ask_all(struct ask *ask, uint32_t count) {
    char program[PROGRAM_ROOM];
    struct child child[16] = {0};
    bool found = find_program(program);
    for (uint32_t i = 0; i < count; i++)
        if (found)
            start(&child[i], program, ask[i].backend->name, NULL);
        else
            start_copy(&child[i], ask[i].backend);
    uint64_t until = clock_ns() + wait_ms() * 1000000;
    for (uint32_t i = 0; i < count; i++) {
        char fault[64] = "";
        ask[i].unasked = !child[i].started;
        if (child[i].started)
            collect(&child[i], until, &ask[i].answer, fault);
        else
            snprintf(ask[i].why, sizeof ask[i].why, "a process that asks its driver cannot start");
        if (fault[0])
            blame(&ask[i], found ? program : NULL, fault);
    }
}
