// SPDX-License-Identifier: MIT
// The table of backends, and the devices behind the names that people give.
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Their headers cannot be read side by side: each has a shoal_device of its own.
#define DECLARE(name, number) extern const struct shoal_backend name##_backend;
DEVICE_BACKENDS(DECLARE)
#define ROW(name, number) &name##_backend,
const struct shoal_backend *const device_backends[] = {DEVICE_BACKENDS(ROW) NULL};

#define CALLED(name, number) ", " #name number
enum { WHY = 192 };
#define UNUSABLE UINT32_MAX

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

// Only the backend that is asked for is looked at: others may take long to start.
static shoal_code choose(const char *wanted, const struct shoal_backend **backend, uint32_t *index,
                         struct report *r) {
    size_t length = strcspn(wanted, ":");
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        if (strlen((*b)->name) != length || strncmp((*b)->name, wanted, length))
            continue;
        char why[WHY] = "";
        unsigned long i;
        if (!read_index(wanted + length, &i))
            break;
        uint32_t count = (*b)->count(why, sizeof why);
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

static const struct shoal_backend *backend_of(uint32_t index, uint32_t *device) {
    char why[WHY];
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        uint32_t count = (*b)->count(why, sizeof why);
        uint32_t rows = count ? count : 1; // an unusable backend has a row that says why
        if (index < rows) {
            *device = count ? index : UNUSABLE;
            return *b;
        }
        index -= rows;
    }
    return NULL;
}

uint32_t shoal_device_count(void) {
    uint32_t n = 0, device;
    while (backend_of(n, &device))
        n++;
    return n;
}

shoal_device_info shoal_device_at(uint32_t index) {
    shoal_device_info info = {0};
    uint32_t device = 0;
    const struct shoal_backend *b = backend_of(index, &device);
    if (!b)
        return info;
    info.usable = device != UNUSABLE;
    if (info.usable && b != &cpu_backend)
        snprintf(info.name, sizeof info.name, "%s:%u", b->name, device);
    else
        snprintf(info.name, sizeof info.name, "%s", b->name);
    if (info.usable)
        b->describe(device, info.description, sizeof info.description);
    else
        b->count(info.description, sizeof info.description);
    return info;
}
