// SPDX-License-Identifier: MIT
// A shared object from memory into the process: a sealed file in memory, opened by its descriptor.
//
// The loader knows libraries by their path and would give a second kernel the first one's code if
// the number in /proc/self/fd came back. So the descriptor stays open as long as the module.
#include "device/cpu/cpu.h"

#include "base/elf.h"
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE }; // not compared
#endif

enum { NAME = 96 };

static void workspace_name(const char *entry, char name[NAME]) {
    snprintf(name, NAME, "%s_workspace", entry);
}

// An object for a better CPU would load here and die later, so it says what it is for.
static shoal_code check(const struct shoal_device *d, const struct shoal_bytes *b,
                        const char *entry, struct report *r) {
    struct elf e;
    char name[ELF_NAME] = "", wanted[64], workspace[NAME];
    if (!elf_of_bytes(&e, b->data, b->length) || e.head.e_type != ET_DYN ||
        (MACHINE != EM_NONE && e.head.e_machine != MACHINE))
        return report_error(r, SHOAL_DEVICE,
                            "cannot load the compiled kernel: it is no object of this machine");
    workspace_name(entry, workspace);
    if (!elf_exports(&e, entry) || !elf_exports(&e, workspace))
        return report_error(r, SHOAL_DEVICE, "the compiled kernel lacks its entry points");
    cpu_soname(&d->target, wanted);
    if (!elf_soname(&e, name) || strcmp(name, wanted))
        return report_error(r, SHOAL_DEVICE, "the compiled kernel is '%.64s', not '%s'", name,
                            wanted);
    return SHOAL_OK;
}

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

static shoal_code find_symbols(struct shoal_module *m, const char *entry, struct report *r) {
    uint64_t (*workspace)(void);
    char name[NAME];
    workspace_name(entry, name);
    *(void **)&m->kernel = dlsym(m->handle, entry);
    *(void **)&workspace = dlsym(m->handle, name);
    if (!m->kernel || !workspace)
        return report_error(r, SHOAL_DEVICE, "the compiled kernel lacks its entry points");
    m->workspace = (size_t)workspace();
    return SHOAL_OK;
}

shoal_code cpu_load(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                    struct shoal_module **out, struct shoal_facts *facts, struct report *r) {
    shoal_code code = check(d, b, entry, r);
    if (facts)
        *facts = (struct shoal_facts){0};
    if (code != SHOAL_OK || !out)
        return code;
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
    code = m->handle
               ? find_symbols(m, entry, r)
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
