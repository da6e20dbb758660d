// SPDX-License-Identifier: MIT
// What a kernel depends on besides its source, as fields of its key: machine, target, compiler,
// arguments, libraries that are linked.
#include "device/cpu/cpu.h"

#include "base/elf.h"
#include "cache/cache.h"
#include "device/file_id.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What the compiler is, from what it answered. Its first file is itself, whatever it is called.
static void add_answer(struct shoal_device *d, const struct buf *answer, struct key_record *key,
                       struct report *r) {
    const unsigned char *record = (const unsigned char *)answer->data;
    char label[ELF_NAME + 8] = "";
    struct key_field f, version = {.length = 0};
    bool first = true;
    for (size_t at = 0; key_next(record, answer->length, &at, &f);) {
        if (!strcmp(f.label, "file")) {
            const char *path = (const char *)f.bytes, *slash = memrchr(path, '/', f.length);
            size_t skip = slash ? (size_t)(slash + 1 - path) : 0;
            snprintf(label, sizeof label, "tool:%.*s", (int)(f.length - skip), path + skip);
            if (first)
                snprintf(label, sizeof label, "tool:compiler");
            first = false;
        } else if (!strcmp(f.label, "id"))
            key_add(key, label, f.bytes, f.length);
        else if (!strcmp(f.label, "version") || !strcmp(f.label, "unknown") ||
                 !strcmp(f.label, "trial"))
            key_add(key, f.label, f.bytes, f.length);
        else if (!strcmp(f.label, "kind") && !d->compiler[0])
            d->kind = cpu_kind_named((const char *)f.bytes, f.length);
        if (!strcmp(f.label, "version") && memmem(f.bytes, f.length, " version ", 9))
            version = f; // of several lines about it, the one with the number
    }
    if (!d->compiler[0])
        report_note(r, "there is no C compiler now; kernels made by '%.*s' are still used",
                    (int)version.length, version.length ? (const char *)version.bytes : "");
}

struct loaded {
    ElfW(Addr) address;
    unsigned char id[ELF_ID];
    size_t length;
};

static int find_loaded(struct dl_phdr_info *info, size_t size, void *user) {
    struct loaded *l = user;
    (void)size;
    for (int i = 0; info->dlpi_addr == l->address && !l->length && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            l->length = elf_notes_build_id((const unsigned char *)(info->dlpi_addr + p->p_vaddr),
                                           p->p_memsz, l->id);
    }
    return l->length != 0;
}

// A library that kernels call, as this process loads it.
static void add_library(struct key_record *key, const char *name) {
    char label[64], id[FILE_ID_ROOM], none[ELF_NAME];
    struct link_map *map = NULL;
    struct loaded l = {0};
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    bool found = handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
    snprintf(label, sizeof label, "library:%s", name);
    if (found) {
        l.address = map->l_addr;
        dl_iterate_phdr(find_loaded, &l);
    }
    if (l.length)
        file_id_hex(id, "build-id", l.id, l.length);
    if (l.length || (found && file_id(map->l_name, id, none)))
        key_add_text(key, label, id);
    else
        key_add_text(key, "unknown", label);
    if (handle)
        dlclose(handle);
}

static void add_machine(const struct shoal_device *d, struct key_record *key) {
    const union {
        uint16_t number;
        unsigned char first;
    } order = {.number = 1};
    char libc[64] = "", bits[8];
    confstr(_CS_GNU_LIBC_VERSION, libc, sizeof libc);
    snprintf(bits, sizeof bits, "%zu", 8 * sizeof(void *));
    key_add_text(key, "target", d->target.name);
    key_add_text(key, "os", "linux");
    key_add_text(key, "pointer-bits", bits);
    key_add_text(key, "byte-order", order.first ? "little" : "big");
    key_add_text(key, "libc", libc[0] ? libc : "other");
}

// Without the compiler's path.
static void add_command(const char *const *argv, struct key_record *key) {
    char count[16];
    int n = 0;
    while (argv[n])
        n++;
    snprintf(count, sizeof count, "%d", n);
    key_add_text(key, "arguments", count);
    for (int i = 1; i < n; i++)
        key_add_text(key, "argument", argv[i]);
}

static void add_commands(const struct shoal_device *d, const struct shoal_kernel_text *k,
                         struct key_record *key) {
    struct cpu_commands c;
    cpu_commands(d, k, &c);
    for (uint32_t i = 0; i < c.units; i++)
        add_command(c.compile[i], key);
    add_command(c.link, key);
}

shoal_code cpu_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                        struct cache *probes, const volatile int *stop, struct key_record *key,
                        struct report *r) {
    struct buf answer = {0};
    const char *libraries[CPU_LIBRARIES + 1];
    bool known = cpu_probe(d, probes, stop, &answer);
    add_machine(d, key);
    if (known)
        add_answer(d, &answer, key, r);
    else
        key_add_text(key, "unknown", "compiler");
    buf_free(&answer);
    add_commands(d, k, key);
    cpu_libraries(d, k, libraries);
    for (int i = 0; libraries[i]; i++)
        add_library(key, libraries[i]);
    return stop && *stop ? SHOAL_STOPPED : SHOAL_OK;
}
