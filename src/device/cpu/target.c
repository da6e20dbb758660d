// SPDX-License-Identifier: MIT
// What this machine's CPU can do, as one row of a table.
#include "device/cpu/cpu.h"

#include "base/buf.h"

#include <dlfcn.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
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

// The library, loaded, when it has the function.
static void *library_with(const char *library, const char *symbol) {
    void *h = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (h && !dlsym(h, symbol)) {
        dlclose(h);
        h = NULL;
    }
    return h;
}

static void find_math(const struct level *l, struct shoal_device *d) {
    char symbol[64];
    struct shoal_target *t = &d->target;
    const char *math =
        secure_getenv("SHOAL_MATH"); // sleef, mvec or libm: a lesser choice, for comparison
    if (l->sleef_suffix && (!math || !strcmp(math, "sleef"))) {
        snprintf(symbol, sizeof symbol, "Sleef_finz_erfcd%u_u15%s", l->lanes64, l->sleef_suffix);
        d->math = library_with("libsleef.so.3", symbol);
        t->sleef_suffix = d->math ? l->sleef_suffix : NULL;
    }
    if (!d->math && l->mvec_letter && (!math || !strcmp(math, "mvec"))) {
        snprintf(symbol, sizeof symbol, "_ZGV%sN%uv_erfc", l->mvec_letter, l->lanes64);
        d->math = library_with("libmvec.so.1", symbol);
        t->mvec_letter = d->math ? l->mvec_letter : NULL;
    }
}

static void use_level(struct shoal_device *d, const struct level *l) {
    d->target =
        (struct shoal_target){.name = l->name, .prelude = "prelude_c.h", .lanes64 = l->lanes64};
    d->march = l->march;
    d->calls = l->calls;
    find_math(l, d);
}

static const struct level *level_named(const char *name) {
    for (int i = 0; i < LEVELS; i++)
        if (!strcmp(levels[i].name, name))
            return &levels[i];
    return NULL;
}

bool cpu_target_named(struct shoal_device *d, const char *name) {
    const struct level *l = level_named(name);
    if (l)
        use_level(d, l);
    return l != NULL;
}

void cpu_target_free(struct shoal_device *d) {
    if (d->math)
        dlclose(d->math);
    d->math = NULL;
}

static shoal_code unknown_target(const char *wanted, struct report *r) {
    struct buf names = {0};
    for (int i = 0; i < LEVELS; i++)
        buf_printf(&names, " %s", levels[i].name);
    report_error(r, SHOAL_DEVICE, "SHOAL_CPU_TARGET: unknown target '%s'; there is:%s", wanted,
                 names.data ? names.data : "");
    buf_free(&names);
    return SHOAL_DEVICE;
}

shoal_code cpu_target(struct shoal_device *d, struct report *r) {
    const char *wanted = secure_getenv("SHOAL_CPU_TARGET"), *math = secure_getenv("SHOAL_MATH");
    if (math && strcmp(math, "sleef") && strcmp(math, "mvec") && strcmp(math, "libm"))
        return report_error(r, SHOAL_DEVICE, "SHOAL_MATH: '%s' is not sleef, mvec or libm", math);
    const struct level *l = wanted && *wanted ? level_named(wanted) : levels;
    if (!l)
        return unknown_target(wanted, r);
    while ((!wanted || !*wanted) && !l->present())
        l++; // the last one always is
    if (!l->present())
        return report_error(r, SHOAL_DEVICE, "SHOAL_CPU_TARGET: this CPU is no %s", wanted);
    use_level(d, l);
    return SHOAL_OK;
}

// What the CPU calls itself, or "CPU".
#if defined(__x86_64__)
static void cpu_name(char *name, size_t room) {
    unsigned text[13] = {0};
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &text[4 * i], &text[4 * i + 1], &text[4 * i + 2],
                         &text[4 * i + 3]))
            text[0] = 0;
    const char *first = (const char *)text + strspn((const char *)text, " ");
    snprintf(name, room, "%s", *first ? first : "CPU");
}
#else
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
#endif

void cpu_describe(uint32_t index, struct shoal_card *out) {
    (void)index;
    *out = (struct shoal_card){.is_cpu_type = true};
    struct shoal_device d = {0};
    char name[96], compiler[1024];
    cpu_name(name, sizeof name);
    if (cpu_target(&d, NULL) != SHOAL_OK) {
        snprintf(out->text, sizeof out->text, "%s; SHOAL_CPU_TARGET cannot be used", name);
        return;
    }
    if (!cpu_find_compiler(compiler, sizeof compiler))
        snprintf(compiler, sizeof compiler, "no C compiler found: install gcc or set SHOAL_CC");
    const char *math = d.target.sleef_suffix ? "SLEEF" : d.target.mvec_letter ? "libmvec" : "libm";
    snprintf(out->text, sizeof out->text, "%.80s, %s, %u f64 lanes, %s, %.80s", name, d.target.name,
             d.target.lanes64, math, compiler);
    cpu_target_free(&d);
}
