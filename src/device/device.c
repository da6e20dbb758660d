// SPDX-License-Identifier: MIT
// The table of backends, and the devices behind the names that people give.
#include "device/device.h"

#include "device/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Their headers cannot be read side by side: each has a shoal_device of its own.
#define DECLARE(name, number) extern const struct shoal_backend name##_backend;
DEVICE_BACKENDS(DECLARE)
#define ROW(name, number) &name##_backend,
const struct shoal_backend *const device_backends[] = {DEVICE_BACKENDS(ROW) NULL};

#define CALLED(name, number) ", " #name number

static shoal_code unknown_device(const char *wanted, struct report *r) {
    struct nearest near = {.wanted = wanted};
    nearest_offer(&near, "auto");
    for (const struct shoal_backend *const *b = device_backends; *b; b++)
        nearest_offer(&near, (*b)->name);
    const char *best = nearest_best(&near);
    return report_error(r, SHOAL_INPUT,
                        "there is no device '%s'%s%s%s; there is: auto" DEVICE_BACKENDS(
                            CALLED) "; `shoal devices` tells more",
                        wanted, best ? " (did you mean '" : "", best ? best : "",
                        best ? "'?)" : "");
}

// The number behind "cuda:", 0 when there is none.
static bool read_index(const char *text, unsigned long *index) {
    char *end;
    *index = 0;
    if (!*text)
        return true;
    if (text[1] < '0' || text[1] > '9')
        return false;
    *index = strtoul(text + 1, &end, 10);
    return !*end;
}

// How many devices; a driver that nobody can ask for us is asked by ourselves.
static uint32_t count_of(const struct shoal_backend *b, char why[KNOWN_WHY]) {
    struct known known;
    if (!b->depends)
        return b->count(why, KNOWN_WHY);
    known_of(b, true, &known);
    memcpy(why, known.why, KNOWN_WHY);
    return known.unasked ? b->count(why, KNOWN_WHY) : known.count;
}

// One that was remembered with fewer devices is asked again.
static uint32_t count_above(const struct shoal_backend *b, unsigned long index,
                            char why[KNOWN_WHY]) {
    uint32_t count = count_of(b, why);
    if (count && index >= count && b->depends) {
        known_doubt(b);
        count = count_of(b, why);
    }
    return count;
}

// Only the backend that is asked for is looked at: others may take long to start.
static shoal_code choose(const char *wanted, const struct shoal_backend **backend, uint32_t *index,
                         struct report *r) {
    size_t length = strcspn(wanted, ":");
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        if (strlen((*b)->name) != length || strncmp((*b)->name, wanted, length))
            continue;
        char why[KNOWN_WHY] = "";
        unsigned long i;
        if (!read_index(wanted + length, &i))
            break;
        uint32_t count = count_above(*b, i, why);
        if (!count && known_is_stopped())
            return SHOAL_STOPPED;
        if (!count)
            return report_error(r, SHOAL_DEVICE, "%s: %s", (*b)->name, why);
        if (i >= count)
            return report_error(r, SHOAL_DEVICE, "%s: there is no device %lu, only %u", (*b)->name,
                                i, count);
        *backend = *b;
        *index = (uint32_t)i;
        return SHOAL_OK;
    }
    return unknown_device(wanted, r);
}

static bool is_auto(const char *name) { return !name || !*name || !strcmp(name, "auto"); }

bool device_is_free(const char *name) {
    return (!name || !strcmp(name, "auto")) && is_auto(secure_getenv("SHOAL_DEVICE"));
}

shoal_code device_choose(const char *name, const struct shoal_backend **backend, uint32_t *index,
                         struct report *r) {
    const char *wanted = secure_getenv("SHOAL_DEVICE");
    struct report why = {0};
    if (name && strcmp(name, "auto"))
        return choose(name, backend, index, r);
    if (is_auto(wanted))
        return choose("cpu", backend, index, r);
    shoal_code code = choose(wanted, backend, index, &why);
    const char *text = why.messages.count ? why.messages.items[0].text : wanted;
    text += strncmp(text, "error: ", 7) ? 0 : 7;
    if (code == SHOAL_DEVICE) {
        report_note(r, "SHOAL_DEVICE cannot be used, so the CPU is: %s", text);
        code = choose("cpu", backend, index, r);
    } else if (code != SHOAL_OK)
        report_error(r, code, "SHOAL_DEVICE: %s", text);
    report_free(&why);
    return code;
}

const struct shoal_backend *device_backend(const char *name) {
    for (const struct shoal_backend *const *b = device_backends; *b; b++)
        if (!strcmp((*b)->name, name))
            return *b;
    return NULL;
}

shoal_code device_open_target(const char *target, bool fast_math,
                              const struct shoal_backend **backend, struct shoal_device **out,
                              struct report *r) {
    *out = NULL;
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        shoal_code code = (*b)->open(0, target, fast_math, out, r);
        *backend = *b;
        if (code != SHOAL_OK || *out)
            return code;
    }
    return report_error(r, SHOAL_INPUT, "no backend knows the target '%s'", target);
}

// ---- The list for people ------------------------------------------------------------------------

static void info_of(const struct shoal_backend *b, const struct known *k, uint32_t device,
                    shoal_device_info *out) {
    struct shoal_card card = {0};
    *out = (shoal_device_info){.usable = device < k->count};
    if (!b->depends)
        b->describe(device, &card);
    else
        snprintf(card.text, sizeof card.text, "%s", out->usable ? k->device[device].text : k->why);
    snprintf(out->description, sizeof out->description, "%s", card.text);
    if (b->depends && out->usable)
        snprintf(out->name, sizeof out->name, "%s", k->device[device].name);
    else
        snprintf(out->name, sizeof out->name, "%s", b->name);
}

// The row `index` of the list, if there is one: a backend that cannot be used, or of which a driver
// cannot, has one that says why.
static bool find_row(uint32_t index, shoal_device_info *out) {
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        struct known known = {.count = 1};
        if (index && !(*b)->depends) {
            index--;
            continue;
        }
        if ((*b)->depends)
            known_of(*b, true, &known);
        uint32_t rows = known.count + (!known.count || known.why[0]);
        if (index < rows) {
            info_of(*b, &known, index, out);
            return true;
        }
        index -= rows;
    }
    return false;
}

uint32_t shoal_device_count(void) {
    uint32_t n = 0;
    shoal_device_info info;
    while (find_row(n, &info))
        n++;
    return n;
}

shoal_device_info shoal_device_at(uint32_t index) {
    shoal_device_info info = {0};
    find_row(index, &info);
    return info;
}
