// SPDX-License-Identifier: MIT
// Looks up the files of kernels/. Engines do not see each other's, whatever they are called.
#include "kernel/files.h"

#include <string.h>

static const struct kernel_file *find(const char *folder, const char *name) {
    const struct kernel_file *k = kernel_files;
    size_t n = strlen(folder);
    while (k->name &&
           (strncmp(k->name, folder, n) || k->name[n] != '/' || strcmp(k->name + n + 1, name)))
        k++;
    return k;
}

const struct kernel_file *kernel_file_find(const char *engine, const char *name) {
    const struct kernel_file *own = find(engine, name);
    return own->name ? own : find("dialect", name);
}
