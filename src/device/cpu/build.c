// SPDX-License-Identifier: MIT
// Kernel source to a shared object in memory, through the system's C compiler.
//
// The source goes in on stdin: the object is then the same whatever directory it was made in.
#include "device/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static shoal_code no_compiler(struct report *r) {
    if (strcmp(cpu_compiler_wanted(), "cc"))
        return report_error(r, SHOAL_DEVICE,
                            "C compiler '%s' (SHOAL_CC) was not found or cannot be run, and the "
                            "kernel is not in the cache",
                            cpu_compiler_wanted());
    return report_error(r, SHOAL_DEVICE,
                        "no C compiler: 'cc' was not found on PATH, and the kernel is not in the "
                        "cache; install one (Debian, Ubuntu: apt install gcc libc6-dev), set "
                        "SHOAL_CC, or use another device (`shoal devices`)");
}

void cpu_soname(const struct shoal_target *target, char name[64]) {
    snprintf(name, 64, "shoal-kernel.%.40s", target->name);
}

void cpu_command(const struct shoal_device *d, const struct shoal_kernel_text *k,
                 struct cpu_command *out) {
    static const char *const fixed[] = {
        "-std=gnu11",
        "-O2",
        "-fno-tree-vectorize",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fPIC",
        "-fvisibility=hidden",
        "-shared",
        "-nostdlib",
        "-w",
        "-x",
        "c",
        "-",
        "-x",
        "none",
    };
    // Passes of GCC that cost a third of the compile time and gain nothing here.
    static const char *const gcc_only[] = {
        "-fno-tree-pta",     "-fno-expensive-optimizations", "-fno-gcse",
        "-fno-tree-vrp",     "-fno-code-hoisting",           "-fno-tree-pre",
        "-fno-thread-jumps", "-fno-tree-dominator-opts",     "-fno-rerun-cse-after-loop",
        "-fno-tree-slsr",    "-fno-cse-follow-jumps",        "-fno-schedule-insns2",
    };
    int n = 0;
    char name[64];
    const char **argv = out->argv;
    argv[n++] = d->compiler;
    for (size_t i = 0; d->is_gcc && i < sizeof gcc_only / sizeof *gcc_only; i++)
        argv[n++] = gcc_only[i];
    snprintf(out->march, sizeof out->march, "-march=%s", d->march);
    if (d->march[0])
        argv[n++] = out->march;
    if (d->target.lanes64 == 8)
        argv[n++] = "-mprefer-vector-width=512"; // clang would halve them
    snprintf(out->seed, sizeof out->seed, "-frandom-seed=%s", k->digest ? k->digest : "0");
    argv[n++] = out->seed;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        argv[n++] = fixed[i];
    if (d->target.fast_math)
        argv[n++] = "-freciprocal-math";
    cpu_soname(&d->target, name);
    snprintf(out->soname, sizeof out->soname, "-Wl,-soname,%.40s", name);
    argv[n++] = out->soname;
    if (k->needs_sleef)
        argv[n++] = "-l:libsleef.so.3";
    if (k->needs_mvec)
        argv[n++] = "-l:libmvec.so.1";
    if (k->needs_libm || k->needs_mvec || d->calls)
        argv[n++] = "-l:libm.so.6";
    argv[n++] = "-o";
    argv[n++] = CPU_OUTPUT;
    argv[n] = NULL;
}

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

shoal_code cpu_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                     const volatile int *stop, struct shoal_bytes *out, struct report *r) {
    struct cpu_command command;
    struct process p;
    if (!d->compiler[0])
        return no_compiler(r);
    cpu_command(d, k, &command);
    shoal_code code = cpu_child(command.argv, k->text, k->length, stop, &p, out, r);
    if (code == SHOAL_OK && !out->data)
        code = explain(d, &p, r);
    buf_free(&p.talk);
    return code;
}
