// SPDX-License-Identifier: MIT
// See ask.h.
#include "device/ask.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/process.h"
#include "device/depends.h"
#include "device/known.h"
#include "device/vendors.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_S = 30, END_MS = 1000, TICK_MS = 50, ANSWER_MOST = 256 << 10, PROGRAM_ROOM = 4096 };

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
    bool started, silent, stopped;
    struct buf answer;
    char fault[64]; // "": nobody is to blame
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

static int wait_of(uint64_t now, uint64_t until_ns) {
    uint64_t ms = now < until_ns ? (until_ns - now) / 1000000 + 1 : 0;
    return ms < TICK_MS ? (int)ms : TICK_MS;
}

// What it writes until it ends, or until then, or until nobody wants to know any more.
static void read_all(struct child *c, uint64_t until_ns) {
    char piece[4096];
    for (;;) {
        uint64_t now = clock_ns();
        struct pollfd ready = {.fd = c->process.fd, .events = POLLIN};
        int n = poll(&ready, 1, wait_of(now, until_ns));
        c->stopped = n <= 0 && known_is_stopped();
        c->silent = n == 0 && now >= until_ns;
        if (c->stopped || c->silent)
            return;
        ssize_t got = n > 0 ? read(c->process.fd, piece, sizeof piece) : -1;
        if (got < 0 && (n <= 0 || errno == EINTR))
            continue;
        if (got <= 0 || c->answer.length > ANSWER_MOST)
            return;
        buf_put(&c->answer, piece, (size_t)got);
    }
}

// The answer; else it is empty, and the fault says in words what became of the program, for which
// the driver is to blame.
static void collect(struct child *c, uint64_t until_ns) {
    if (!c->started)
        return;
    read_all(c, until_ns);
    bool ends = !c->silent && !c->stopped && c->answer.length <= ANSWER_MOST;
    process_end(&c->process, ends ? END_MS : 0);
    if (!c->answer.failed && has_end(&c->answer))
        return;
    if (c->silent)
        snprintf(c->fault, sizeof c->fault, "did not answer in %.3g s", (double)wait_ms() / 1e3);
    else if (!ends && !c->stopped)
        snprintf(c->fault, sizeof c->fault, "gave an answer without an end");
    else if (!c->stopped && c->process.signal)
        snprintf(c->fault, sizeof c->fault, "crashed: %s", strsignal(c->process.signal));
    else if (!c->stopped)
        snprintf(c->fault, sizeof c->fault, "ended the program that asked it (status %d)",
                 c->process.exit_code);
    buf_free(&c->answer);
}

static void collect_all(struct child *child, uint32_t count) {
    uint64_t until = clock_ns() + wait_ms() * 1000000;
    for (uint32_t i = 0; i < count; i++)
        collect(&child[i], until);
}

// ---- Who it was ---------------------------------------------------------------------------------

// Each driver by itself: which of them answer. False: that cannot be found out, or somebody stopped
// it.
static bool ask_each(const char *program, const struct vendors *v, bool good[VENDORS_MOST]) {
    struct child child[VENDORS_MOST] = {0};
    char folder[VENDORS_MOST][VENDORS_PATH];
    bool known = true;
    for (uint32_t i = 0; i < v->count; i++) {
        bool alone[VENDORS_MOST] = {false};
        alone[i] = true;
        if (vendors_link(v, alone, folder[i]))
            start(&child[i], program, "opencl", folder[i]);
        else
            folder[i][0] = 0;
    }
    collect_all(child, v->count);
    for (uint32_t i = 0; i < v->count; i++) {
        good[i] = !child[i].fault[0];
        known = known && child[i].started && !child[i].stopped;
        buf_free(&child[i].answer);
        if (folder[i][0])
            vendors_unlink(folder[i]);
    }
    return known;
}

// The answer of those that are good. False: there is none.
static bool ask_good(const char *program, const struct vendors *v, const bool good[VENDORS_MOST],
                     struct buf *answer) {
    struct child child = {0};
    char folder[VENDORS_PATH];
    if (!vendors_link(v, good, folder))
        return false;
    start(&child, program, "opencl", folder);
    collect_all(&child, 1);
    vendors_unlink(folder);
    *answer = child.answer;
    return answer->length > 0;
}

static uint32_t name_bad(const struct vendors *v, const bool good[VENDORS_MOST],
                         const char *between, char *names, size_t room) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        size_t at = strlen(names);
        if (!good[i])
            snprintf(names + at, room - at, "%s%s", count++ ? between : "", v->file[i]);
    }
    return count;
}

// OpenCL without those of its drivers that are at fault; they are named.
static void ask_opencl(struct ask *a, const char *program, const char *fault) {
    struct vendors v;
    bool good[VENDORS_MOST];
    char names[96] = "", without[VENDORS_NAMES] = "";
    vendors_find(&v);
    bool known = ask_each(program, &v, good);
    uint32_t bad = known ? name_bad(&v, good, ", ", names, sizeof names) : 0;
    if (bad)
        snprintf(a->why, sizeof a->why, "the driver of %s %s", names, fault);
    if (!bad || bad == v.count || !ask_good(program, &v, good, &a->answer))
        return;
    struct key_record record = {.bytes = a->answer};
    name_bad(&v, good, ":", without, sizeof without);
    key_add_text(&record, "why", a->why);
    key_add_text(&record, "without", without);
    a->answer = record.bytes;
}

static void blame(struct ask *a, const char *program, const char *fault) {
    snprintf(a->why, sizeof a->why, "the driver (%s) %s", a->backend->depends[0], fault);
    if (program && !strcmp(a->backend->name, "opencl"))
        ask_opencl(a, program, fault);
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
    collect_all(child, count);
    for (uint32_t i = 0; i < count; i++) {
        ask[i].answer = child[i].answer;
        ask[i].unasked = !child[i].started;
        if (!child[i].started)
            snprintf(ask[i].why, sizeof ask[i].why, "a process that asks its driver cannot start");
        if (child[i].fault[0])
            blame(&ask[i], found ? program : NULL, child[i].fault);
    }
}
