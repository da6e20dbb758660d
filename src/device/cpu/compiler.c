// SPDX-License-Identifier: MIT
// The compiler as a child process: by argv, with a clean environment, in a private temporary
// directory that is removed with whatever it left there.
#include "device/cpu/cpu.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OBJECT_MOST = 256 << 20 };

const char CPU_OUTPUT[] = "kernel.so";

const char *cpu_compiler_wanted(void) {
    const char *wanted = getenv("SHOAL_CC");
    return wanted && *wanted ? wanted : "cc";
}

bool cpu_find_compiler(char *path, size_t room) {
    return process_find(cpu_compiler_wanted(), path, room);
}

static void remove_directory(const char *path) {
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        unlinkat(dirfd(dir), e->d_name, 0); // "." and ".." cannot be removed so
    if (dir)
        closedir(dir);
    rmdir(path);
}

shoal_code cpu_child(const char *const *argv, const char *input, size_t length,
                     const volatile int *stop, struct process *out, struct shoal_bytes *object,
                     struct report *r) {
    const char *base = getenv("TMPDIR"), *own[CPU_ARGS + 1] = {NULL};
    char dir[3000], file[3100];
    *out = (struct process){0};
    snprintf(dir, sizeof dir, "%.2900s/shoal-cc.XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(dir))
        return report_error(r, SHOAL_IO, "cannot make a temporary directory %s: %s", dir,
                            strerror(errno));
    snprintf(file, sizeof file, "%s/%s", dir, CPU_OUTPUT);
    for (int i = 0; argv[i] && i < CPU_ARGS; i++)
        own[i] = argv[i] == CPU_OUTPUT ? file : argv[i];
    shoal_code code = process_run(own, dir, input, length, stop, out, r);
    if (code == SHOAL_OK && object && !out->stopped && !out->signal && !out->exit_code)
        file_read(file, OBJECT_MOST, (char **)&object->data, &object->length, NULL);
    remove_directory(dir);
    return code;
}
