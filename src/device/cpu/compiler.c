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

enum { OBJECT_MOST = 256 << 20, FILES_MOST = 4 };

const char *cpu_compiler_wanted(void) {
    const char *wanted = getenv("SHOAL_CC");
    return wanted && *wanted ? wanted : "cc";
}

bool cpu_find_compiler(char *path, size_t room) {
    return process_find(cpu_compiler_wanted(), path, room);
}

shoal_code cpu_dir_make(struct cpu_dir *dir, struct report *r) {
    const char *base = getenv("TMPDIR");
    snprintf(dir->path, sizeof dir->path, "%.2900s/shoal-cc.XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(dir->path))
        return SHOAL_OK;
    return report_error(r, SHOAL_IO, "cannot make a temporary directory %s: %s", dir->path,
                        strerror(errno));
}

void cpu_dir_remove(const struct cpu_dir *dir) {
    DIR *files = opendir(dir->path);
    for (const struct dirent *e; files && (e = readdir(files));)
        unlinkat(dirfd(files), e->d_name, 0); // "." and ".." cannot be removed so
    if (files)
        closedir(files);
    rmdir(dir->path);
}

static void put_file(const struct cpu_dir *dir, const char *name, char file[CPU_FILE]) {
    snprintf(file, CPU_FILE, "%s/%s", dir->path, name);
}

void cpu_dir_read(const struct cpu_dir *dir, const char *name, struct shoal_bytes *out) {
    char file[CPU_FILE];
    put_file(dir, name, file);
    file_read(file, OBJECT_MOST, (char **)&out->data, &out->length, NULL);
}

shoal_code cpu_child(const char *const *argv, const struct cpu_dir *dir, const char *input,
                     size_t length, struct process *out, struct report *r) {
    const char *own[CPU_ARGS + 1] = {NULL};
    char file[FILES_MOST][CPU_FILE];
    for (int i = 0, files = 0; argv[i] && i < CPU_ARGS; i++) {
        own[i] = argv[i];
        if (!strncmp(argv[i], "./", 2) && files < FILES_MOST) {
            put_file(dir, argv[i] + 2, file[files]);
            own[i] = file[files++];
        }
    }
    return process_start(own, dir->path, input, length, out, r);
}
