// SPDX-License-Identifier: MIT
// Kernel source to a shared object in memory, through the system's C compiler.
//
// The compiler is a child process, called by argv with a clean environment; the source goes in on
// stdin, the object comes out of a private temporary directory, which is removed with whatever the
// compiler left there, and is read into memory.
#include "device/cpu/cpu.h"

#include "base/file.h"
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGS = 48, OBJECT_MOST = 256 << 20 };

bool cpu_find_compiler(char *path, size_t room) {
    const char *wanted = getenv("SHOAL_CC");
    return process_find(wanted && *wanted ? wanted : "cc", path, room);
}

static shoal_code no_compiler(struct report *r) {
    const char *wanted = getenv("SHOAL_CC");
    if (wanted && *wanted)
        return report_error(r, SHOAL_DEVICE,
                            "C compiler '%s' (SHOAL_CC) was not found or cannot be run", wanted);
    return report_error(r, SHOAL_DEVICE,
                        "no C compiler: 'cc' was not found on PATH; install one "
                        "(Debian, Ubuntu: apt install gcc libc6-dev) or set "
                        "SHOAL_CC");
}

// Fills argv but for the output file, which is the last argument.
static void arguments(const struct shoal_device *d, const struct shoal_kernel_text *k,
                      char march[64], const char **argv) {
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
    argv[n++] = d->compiler;
    for (size_t i = 0; d->is_gcc && i < sizeof gcc_only / sizeof *gcc_only; i++)
        argv[n++] = gcc_only[i];
    snprintf(march, 64, "-march=%s", d->march);
    if (d->march[0])
        argv[n++] = march;
    if (d->target.lanes64 == 8)
        argv[n++] = "-mprefer-vector-width=512"; // clang would halve them
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        argv[n++] = fixed[i];
    if (d->target.fast_math)
        argv[n++] = "-freciprocal-math";
    if (k->needs_sleef)
        argv[n++] = "-l:libsleef.so.3";
    if (k->needs_mvec)
        argv[n++] = "-l:libmvec.so.1";
    if (k->needs_libm || k->needs_mvec || d->calls)
        argv[n++] = "-l:libm.so.6";
    argv[n++] = "-o";
    argv[n] = NULL;
}

shoal_code cpu_identity(struct shoal_device *d, const struct shoal_kernel_text *k, char *text,
                        size_t room, struct report *r) {
    const char *argv[ARGS];
    char march[64];
    struct stat s = {0};
    (void)r;
    arguments(d, k, march, argv);
    if (d->compiler[0])
        stat(d->compiler, &s);
    int n = snprintf(text, room, "%s\n%lld %lld\n", d->target.name, (long long)s.st_size,
                     (long long)s.st_mtime);
    for (int i = 0; argv[i] && n > 0 && (size_t)n < room; i++)
        n += snprintf(text + n, room - (size_t)n, "%s\n", argv[i]);
    return SHOAL_OK;
}

static shoal_code explain(const struct shoal_device *d, const struct process *p, struct report *r) {
    const char *talk = p->talk.data ? p->talk.data : "";
    if (p->stopped)
        return SHOAL_STOPPED;
    if (p->signal)
        return report_error(r, SHOAL_DEVICE, "the C compiler %s was killed by signal %d (%s)%s%s",
                            d->compiler, p->signal, strsignal(p->signal), *talk ? ":\n" : "", talk);
    return report_error(r, SHOAL_DEVICE, "the C compiler %s failed with exit code %d%s%s",
                        d->compiler, p->exit_code, *talk ? ":\n" : " and said nothing", talk);
}

static shoal_code compile(struct shoal_device *d, const struct shoal_kernel_text *k,
                          const char *dir, const volatile int *stop, struct shoal_bytes *out,
                          struct report *r) {
    char object[3100];
    const char *argv[ARGS];
    char march[64];
    struct process p;
    int n = 0;
    arguments(d, k, march, argv);
    while (argv[n])
        n++;
    snprintf(object, sizeof object, "%s/kernel.so", dir);
    argv[n] = object;
    argv[n + 1] = NULL;
    shoal_code code = process_run(argv, dir, k->text, k->length, stop, &p, r);
    if (code == SHOAL_OK && (p.stopped || p.signal || p.exit_code))
        code = explain(d, &p, r);
    if (code == SHOAL_OK &&
        file_read(object, OBJECT_MOST, (char **)&out->data, &out->length, NULL) != SHOAL_OK)
        code =
            report_error(r, SHOAL_DEVICE, "the C compiler %s left no object file%s%s", d->compiler,
                         p.talk.length ? ":\n" : "", p.talk.length ? p.talk.data : "");
    buf_free(&p.talk);
    return code;
}

static void remove_directory(const char *path) {
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        unlinkat(dirfd(dir), e->d_name, 0); // "." and ".." cannot be removed so
    if (dir)
        closedir(dir);
    rmdir(path);
}

shoal_code cpu_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                     const volatile int *stop, struct shoal_bytes *out, struct report *r) {
    if (!d->compiler[0])
        return no_compiler(r);
    const char *base = getenv("TMPDIR");
    char dir[3000];
    snprintf(dir, sizeof dir, "%.2900s/shoal-cc.XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(dir))
        return report_error(r, SHOAL_IO, "cannot make a temporary directory %s: %s", dir,
                            strerror(errno));
    shoal_code code = compile(d, k, dir, stop, out, r);
    remove_directory(dir);
    return code;
}
