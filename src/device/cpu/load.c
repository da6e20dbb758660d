// SPDX-License-Identifier: MIT
// A shared object from memory into the process: a sealed file in memory, opened by its descriptor.
//
// The loader knows libraries by their path and would give a second kernel the first one's code if
// the number in /proc/self/fd came back. So the descriptor stays open as long as the module.
#include "device/cpu/cpu.h"

#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int sealed_file(const struct shoal_bytes *b) {
    int fd = memfd_create("shoal-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && file_write(fd, "shoal-kernel", b->data, b->length, NULL) != SHOAL_OK) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return fd;
}

static shoal_code find_symbols(struct shoal_module *m, struct report *r) {
    uint64_t (*workspace)(void);
    *(void **)&m->kernel = dlsym(m->handle, "shoal_kernel");
    *(void **)&workspace = dlsym(m->handle, "shoal_workspace");
    if (!m->kernel || !workspace)
        return report_error(r, SHOAL_DEVICE, "the compiled kernel lacks its entry points");
    m->workspace = (size_t)workspace();
    return SHOAL_OK;
}

shoal_code cpu_load(struct shoal_device *d, const struct shoal_bytes *b, struct shoal_module **out,
                    struct report *r) {
    (void)d;
    struct shoal_module *m = calloc(1, sizeof *m);
    if (!m)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    m->fd = sealed_file(b);
    if (m->fd < 0) {
        free(m);
        return report_error(r, SHOAL_IO, "cannot keep the kernel in memory: %s", strerror(errno));
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", m->fd);
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    shoal_code code =
        m->handle ? find_symbols(m, r)
                  : report_error(r, SHOAL_DEVICE, "cannot load the compiled kernel: %s", dlerror());
    if (code != SHOAL_OK) {
        cpu_unload(m);
        return code;
    }
    *out = m;
    return SHOAL_OK;
}

void cpu_unload(struct shoal_module *m) {
    if (!m)
        return;
    if (m->handle)
        dlclose(m->handle);
    close(m->fd);
    free(m);
}
