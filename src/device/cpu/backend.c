// SPDX-License-Identifier: MIT
// The table of the CPU backend, and its device.
#include "device/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_WANTED = 1 << 16 }; // some chunks are written while others run

static uint32_t count(char *why, size_t room) {
    (void)why, (void)room;
    return 1;
}

static void find_compiler(struct shoal_device *d) {
    if (!cpu_find_compiler(d->compiler, sizeof d->compiler))
        d->compiler[0] = 0; // said when it is needed
    d->kind = cpu_kind_of(d->compiler);
}

static void close_device(struct shoal_device *d) {
    cpu_target_free(d);
    free(d);
}

// What this machine is, or the named target; in the second case *known says whether there is one.
static shoal_code find_target(struct shoal_device *d, const char *name, bool *known,
                              struct report *r) {
    *known = !name || cpu_target_named(d, name);
    return name ? SHOAL_OK : cpu_target(d, r);
}

static shoal_code open_device(uint32_t index, const char *target, bool fast_math,
                              struct shoal_device **out, struct report *r) {
    (void)index;
    struct shoal_device *d = calloc(1, sizeof *d);
    bool known = false;
    *out = NULL;
    if (!d)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    shoal_code code = find_target(d, target, &known, r);
    if (code != SHOAL_OK || !known) {
        close_device(d);
        return code;
    }
    find_compiler(d);
    d->target.fast_math = fast_math;
    d->target.hurries = d->kind == CPU_gcc && !fast_math;
    *out = d;
    return SHOAL_OK;
}

static bool is_current(struct shoal_device *d) {
    struct shoal_device *now = NULL;
    if (open_device(0, NULL, d->target.fast_math, &now, NULL) != SHOAL_OK)
        return false;
    bool same = !strcmp(d->target.name, now->target.name) &&
                d->target.sleef_suffix == now->target.sleef_suffix &&
                d->target.mvec_letter == now->target.mvec_letter &&
                !strcmp(d->compiler, now->compiler) && (!d->compiler[0] || d->kind == now->kind);
    close_device(now);
    return same;
}

static const struct shoal_target *target(const struct shoal_device *d) { return &d->target; }

static struct shoal_limits limits(struct shoal_device *d) {
    (void)d;
    return (struct shoal_limits){.slots = 2, .at_once = 1, .rows_wanted = ROWS_WANTED};
}

static void *alloc(struct shoal_device *d, size_t bytes) {
    (void)d;
    return aligned_alloc(CPU_ALIGN, (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN);
}

static void release(struct shoal_device *d, void *block) {
    (void)d;
    free(block);
}

const struct shoal_backend cpu_backend = {
    .name = "cpu",
    .kind = "so",
    .source_ending = "c",
    .count = count,
    .describe = cpu_describe,
    .open = open_device,
    .close = close_device,
    .target = target,
    .identity = cpu_identity,
    .build = cpu_build,
    .load = cpu_load,
    .unload = cpu_unload,
    .limits = limits,
    .alloc = alloc,
    .release = release,
    .resident_open = cpu_resident_open,
    .resident_close = cpu_resident_close,
    .slot_open = cpu_slot_open,
    .slot_close = cpu_slot_close,
    .start = cpu_start,
    .finish = cpu_finish,
    .is_current = is_current,
};
