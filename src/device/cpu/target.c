// SPDX-License-Identifier: MIT
// What this machine's CPU can do, as one row of a table.
#include "device/cpu/cpu.h"

#include "base/buf.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct level {
    const char *name, *march;
    uint32_t lanes64;
    const char *sleef_suffix, *mvec_letter;
    bool (*present)(void);
    bool calls; // fma and floor are no instructions but calls to libm
};

static bool always(void) { return true; }

#if defined(__x86_64__)
static bool has_v4(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}
static bool has_v3(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}
static const struct level levels[] = {
    {"x86-64-v4", "x86-64-v4", 8, "avx512f", "e", has_v4, false},
    {"x86-64-v3", "x86-64-v3", 4, "avx2", "d", has_v3, false},
    // One lane, by name only: the reference that tests compare with.
    {"scalar", "x86-64-v3", 1, "purecfma", NULL, has_v3, false},
    {"x86-64", "x86-64", 2, NULL, NULL, always, true}, // slow, but the same bits
};
#elif defined(__aarch64__)
static const struct level levels[] = {
    {"armv8-a", "armv8-a", 2, "advsimd", NULL, always, false},
    {"scalar", "armv8-a", 1, "purecfma", NULL, always, false},
};
#else
static const struct level levels[] = {{"scalar", "", 1, "purecfma", NULL, always, true}};
#endif

enum { LEVELS = sizeof levels / sizeof *levels };

static bool library_has(const char *library, const char *symbol) {
    void *h = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    bool found = h && dlsym(h, symbol);
    if (h)
        dlclose(h);
    return found;
}

static void find_math(const struct level *l, struct shoal_target *t) {
    char symbol[64];
    const char *math = getenv("SHOAL_MATH"); // sleef, mvec or libm: a lesser choice, for comparison
    if (l->sleef_suffix && (!math || !strcmp(math, "sleef"))) {
        snprintf(symbol, sizeof symbol, "Sleef_finz_erfcd%u_u15%s", l->lanes64, l->sleef_suffix);
        if (library_has("libsleef.so.3", symbol))
            t->sleef_suffix = l->sleef_suffix;
    }
    if (!t->sleef_suffix && l->mvec_letter && (!math || !strcmp(math, "mvec"))) {
        snprintf(symbol, sizeof symbol, "_ZGV%sN%uv_erfc", l->mvec_letter, l->lanes64);
        if (library_has("libmvec.so.1", symbol))
            t->mvec_letter = l->mvec_letter;
    }
}

shoal_code cpu_target(struct shoal_device *d, struct report *r) {
    const char *wanted = getenv("SHOAL_CPU_TARGET"), *math = getenv("SHOAL_MATH");
    if (math && strcmp(math, "sleef") && strcmp(math, "mvec") && strcmp(math, "libm"))
        return report_error(r, SHOAL_DEVICE, "SHOAL_MATH: '%s' is not sleef, mvec or libm", math);
    if (wanted && !*wanted)
        wanted = NULL;
    for (int i = 0; i < LEVELS; i++) {
        const struct level *l = &levels[i];
        if (wanted ? strcmp(l->name, wanted) != 0 : !l->present())
            continue;
        if (!l->present())
            return report_error(r, SHOAL_DEVICE, "SHOAL_CPU_TARGET: this CPU is no %s", wanted);
        d->target = (struct shoal_target){
            .name = l->name, .prelude = "prelude_c.h", .lanes64 = l->lanes64};
        d->march = l->march;
        d->calls = l->calls;
        find_math(l, &d->target);
        return SHOAL_OK;
    }
    struct buf names = {0};
    for (int i = 0; i < LEVELS; i++)
        buf_printf(&names, " %s", levels[i].name);
    report_error(r, SHOAL_DEVICE, "SHOAL_CPU_TARGET: unknown target '%s'; there is:%s", wanted,
                 names.data ? names.data : "");
    buf_free(&names);
    return SHOAL_DEVICE;
}

// The model name of /proc/cpuinfo, or "CPU".
static void cpu_name(char *name, size_t room) {
    char line[256];
    snprintf(name, room, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10))
            continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(name, room, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        break;
    }
    if (f)
        fclose(f);
}

void cpu_describe(uint32_t index, char *text, size_t room) {
    (void)index;
    struct shoal_device d = {0};
    char name[96], compiler[1024];
    cpu_name(name, sizeof name);
    if (cpu_target(&d, NULL) != SHOAL_OK) {
        snprintf(text, room, "%s; SHOAL_CPU_TARGET cannot be used", name);
        return;
    }
    bool found = cpu_find_compiler(compiler, sizeof compiler);
    const char *math = d.target.sleef_suffix ? "SLEEF" : d.target.mvec_letter ? "libmvec" : "libm";
    snprintf(text, room, "%s, %s, %u f64 lanes, %s, %s%.80s", name, d.target.name, d.target.lanes64,
             math, found ? "" : "no C compiler found: install gcc or set SHOAL_CC",
             found ? compiler : "");
}
