// SPDX-License-Identifier: MIT
// Kernel source to a shared object in memory, through the system's C compiler.
//
// Nearly all the time to a first result is spent here, so a kernel is compiled in two units side by
// side: its loop, and what that calls now and then (kernels/dialect/dialect.h). It is so on every
// machine, even on one CPU, where it takes a sixth longer: a kernel does not depend on who compiled
// it. The source goes in on stdin: the object is then the same whatever directory it was made in.
#include "device/cpu/cpu.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static shoal_code no_compiler(struct report *r) {
    if (strcmp(cpu_compiler_wanted(), "cc"))
        return report_error(r, SHOAL_DEVICE,
                            "C compiler '%s' (SHOAL_CC) was not found or cannot be run, and the "
                            "kernel is not in the cache",
                            cpu_compiler_wanted());
    return report_error(
        r, SHOAL_DEVICE,
        "no C compiler: 'cc' was not found on PATH, and the kernel is not in the "
        "cache; install one (Debian, Ubuntu: apt install gcc libc6-dev; Python: pip "
        "install shoal[cc]), set SHOAL_CC, or use another device (`shoal devices`)");
}

void cpu_soname(const struct shoal_target *target, char name[64]) {
    snprintf(name, 64, "shoal-kernel.%.40s", target->name);
}

static void add(const char **argv, const char *word) {
    int n = 0;
    while (argv[n])
        n++;
    if (n < CPU_ARGS - 1)
        argv[n] = word;
}

static void add_all(const char **argv, const char *const *words) {
    for (; *words; words++)
        add(argv, *words);
}

// What a unit defines, and what becomes of it; the last is for a text that is one unit.
static const struct unit {
    const char *define, *object;
} units[] = {
    {"-DSHOAL_PART=1", "./hot.o"},
    {"-DSHOAL_PART=2", "./cold.o"},
    {NULL, "./whole.o"},
};

// Zig's own command line (zig cc) has other options, and keeps what it made in the user's home;
// that of the Clang inside has not. It is told for which system, else it takes the one it was made
// on, and to read no file of options.
static const char *const zig_clang[] = {
    "clang",
#if defined(__x86_64__)
    "--target=x86_64-linux-gnu",
#elif defined(__aarch64__)
    "--target=aarch64-linux-gnu",
#endif
    "--no-default-config",
    NULL,
};

static void compile_command(const struct shoal_device *d, const struct shoal_kernel_text *k,
                            const struct unit *unit, const struct cpu_commands *c,
                            const char **argv) {
    static const char *const fixed[] = {
        "-std=gnu11",
        "-O2",
        "-fno-tree-vectorize",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fPIC",
        "-fvisibility=hidden",
        "-w",
        "-c",
        "-x",
        "c",
        "-",
        NULL,
    };
    // Passes of GCC that cost a third of the compile time and gain nothing here.
    static const char *const gcc_only[] = {
        "-fno-tree-pta",
        "-fno-expensive-optimizations",
        "-fno-gcse",
        "-fno-tree-vrp",
        "-fno-code-hoisting",
        "-fno-tree-pre",
        "-fno-thread-jumps",
        "-fno-tree-dominator-opts",
        "-fno-rerun-cse-after-loop",
        "-fno-tree-slsr",
        "-fno-cse-follow-jumps",
        "-fno-schedule-insns2",
        "-fno-tree-loop-distribute-patterns", // loops become calls of libc, see below
        NULL,
    };
    add(argv, d->compiler);
    if (d->kind == CPU_zig)
        add_all(argv, zig_clang);
    if (d->kind == CPU_gcc)
        add_all(argv, gcc_only);
    // What cleans upper halves of vectors before a call is one of these passes, too: functions of
    // libm, or of libc, that know only the lower ones would take ten times as long.
    if (d->kind == CPU_gcc && k->needs_libm)
        add(argv, "-fexpensive-optimizations");
    if (d->march[0])
        add(argv, c->march);
    if (d->target.lanes64 == 8)
        add(argv, "-mprefer-vector-width=512"); // clang would halve them
    add(argv, c->seed);
    if (d->target.fast_math)
        add(argv, "-freciprocal-math");
    if (unit->define)
        add(argv, unit->define);
    add_all(argv, fixed);
    if (k->hurried) // loops stay loops: stiff steps take a fifth of the time to compile
        add(argv, "-Og");
    add(argv, "-o");
    add(argv, unit->object);
}

void cpu_libraries(const struct shoal_device *d, const struct shoal_kernel_text *k,
                   const char *names[CPU_LIBRARIES + 1]) {
    if (k->needs_sleef)
        *names++ = "libsleef.so.3";
    if (k->needs_mvec)
        *names++ = "libmvec.so.1";
    if (k->needs_libm || k->needs_mvec || d->calls)
        *names++ = "libm.so.6";
    *names = NULL;
}

// Where this process would load it from.
static void find_library(const char *name, char file[CPU_FILE]) {
    struct link_map *map = NULL;
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    bool found = handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
    snprintf(file, CPU_FILE, "%s", found ? map->l_name : name);
    if (handle)
        dlclose(handle);
}

// A compiler knows where libraries are; a linker alone is told.
static void add_libraries(const struct shoal_device *d, const struct shoal_kernel_text *k,
                          struct cpu_commands *c) {
    const char *names[CPU_LIBRARIES + 1];
    cpu_libraries(d, k, names);
    for (int i = 0; names[i]; i++) {
        if (d->kind == CPU_zig)
            find_library(names[i], c->library[i]);
        else
            snprintf(c->library[i], CPU_FILE, "-l:%s", names[i]);
        add(c->link, c->library[i]);
    }
}

static void link_command(const struct shoal_device *d, const struct shoal_kernel_text *k,
                         const struct unit *first, struct cpu_commands *c) {
    add(c->link, d->compiler);
    if (d->kind == CPU_zig)
        add(c->link, "ld.lld");
    add(c->link, "-shared");
    add(c->link, "-nostdlib");
    for (uint32_t i = 0; i < c->units; i++)
        add(c->link, first[i].object);
    add(c->link, c->soname);
    add_libraries(d, k, c);
    add(c->link, "-o");
    add(c->link, "./" CPU_KERNEL_FILE);
}

void cpu_commands(const struct shoal_device *d, const struct shoal_kernel_text *k,
                  struct cpu_commands *out) {
    const struct unit *first = k->one_unit ? &units[CPU_UNITS] : units;
    char name[64];
    *out = (struct cpu_commands){.units = k->one_unit ? 1 : CPU_UNITS};
    snprintf(out->march, sizeof out->march, "-march=%s", d->march);
    snprintf(out->seed, sizeof out->seed, "-frandom-seed=%s", k->digest ? k->digest : "0");
    cpu_soname(&d->target, name);
    snprintf(out->soname, sizeof out->soname, "%s%.40s",
             d->kind == CPU_zig ? "-soname=" : "-Wl,-soname,", name);
    for (uint32_t i = 0; i < out->units; i++)
        compile_command(d, k, &first[i], out, out->compile[i]);
    link_command(d, k, first, out);
}

static bool is_fine(const struct process *p) { return !p->stopped && !p->signal && !p->exit_code; }

static shoal_code explain(const struct shoal_device *d, const struct process *p, struct report *r) {
    const char *talk = p->talk.data ? p->talk.data : "";
    if (p->stopped)
        return SHOAL_STOPPED;
    if (p->signal)
        return report_error(r, SHOAL_DEVICE, "the C compiler %s was killed by signal %d (%s)%s%s",
                            d->compiler, p->signal, strsignal(p->signal), *talk ? ":\n" : "", talk);
    if (p->exit_code)
        return report_error(r, SHOAL_DEVICE, "the C compiler %s failed with exit code %d%s%s",
                            d->compiler, p->exit_code, *talk ? ":\n" : " and said nothing", talk);
    return report_error(r, SHOAL_DEVICE, "the C compiler %s left no object file%s%s", d->compiler,
                        *talk ? ":\n" : "", talk);
}

static bool same_end(const struct process *a, const struct process *b) {
    return a->signal == b->signal && a->exit_code == b->exit_code &&
           a->talk.length == b->talk.length &&
           (!a->talk.length || !memcmp(a->talk.data, b->talk.data, a->talk.length));
}

// What is wrong with the units; with several the same is said once.
static shoal_code judge(const struct shoal_device *d, const struct process *p, uint32_t count,
                        struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < count && code != SHOAL_STOPPED; i++)
        if (!is_fine(&p[i]) && !(i && same_end(&p[i - 1], &p[i])))
            code = explain(d, &p[i], r);
    return code;
}

// All units at the same time. When one cannot be started the others are of no use.
static shoal_code compile_units(const struct shoal_device *d, const struct shoal_kernel_text *k,
                                const struct cpu_commands *c, const struct cpu_dir *dir,
                                const volatile int *stop, struct report *r) {
    static const int now = 1;
    struct process p[CPU_UNITS];
    shoal_code code = SHOAL_OK;
    uint32_t started = 0;
    while (started < c->units && code == SHOAL_OK) {
        code = cpu_child(c->compile[started], dir, k->text, k->length, &p[started], r);
        started += code == SHOAL_OK;
    }
    for (uint32_t i = 0; i < started; i++)
        process_wait(&p[i], code == SHOAL_OK ? stop : &now);
    if (code == SHOAL_OK)
        code = judge(d, p, started, r);
    for (uint32_t i = 0; i < started; i++)
        buf_free(&p[i].talk);
    return code;
}

static shoal_code link_units(const struct shoal_device *d, const struct cpu_commands *c,
                             const struct cpu_dir *dir, const volatile int *stop,
                             struct shoal_bytes *out, struct report *r) {
    struct process p;
    shoal_code code = cpu_child(c->link, dir, "", 0, &p, r);
    if (code != SHOAL_OK)
        return code;
    process_wait(&p, stop);
    if (is_fine(&p))
        cpu_dir_read(dir, CPU_KERNEL_FILE, out);
    if (!out->data)
        code = explain(d, &p, r);
    buf_free(&p.talk);
    return code;
}

shoal_code cpu_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                     const volatile int *stop, struct shoal_bytes *out, struct report *r) {
    struct cpu_commands c;
    struct cpu_dir dir;
    if (!d->compiler[0])
        return no_compiler(r);
    shoal_code code = cpu_dir_make(&dir, r);
    if (code != SHOAL_OK)
        return code;
    cpu_dir_sweep(&dir);
    cpu_commands(d, k, &c);
    code = compile_units(d, k, &c, &dir, stop, r);
    if (code == SHOAL_OK)
        code = link_units(d, &c, &dir, stop, out, r);
    cpu_dir_remove(&dir);
    return code;
}
