// SPDX-License-Identifier: MIT
// Reads notes, segments and symbol tables of ELF files, from a descriptor or from memory.
#include "base/elf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTES_MOST = 64 << 10, TABLE_MOST = 1 << 20 };

// `size` bytes at `offset`, or false.
static bool fetch(const struct elf *e, uint64_t offset, void *into, size_t size) {
    if (offset > e->length || size > e->length - offset)
        return false;
    if (e->fd < 0) {
        memcpy(into, e->bytes + offset, size);
        return true;
    }
    for (size_t n = 0; n < size;) {
        ssize_t got = pread(e->fd, (char *)into + n, size - n, (off_t)(offset + n));
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return true;
}

static bool open_head(struct elf *e) {
    const union {
        uint16_t number;
        unsigned char first;
    } order = {.number = 1};
    const unsigned char *ident = e->head.e_ident;
    return fetch(e, 0, &e->head, sizeof e->head) && !memcmp(ident, ELFMAG, SELFMAG) &&
           ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           ident[EI_DATA] == (order.first ? ELFDATA2LSB : ELFDATA2MSB);
}

bool elf_of_fd(struct elf *e, int fd) {
    struct stat s;
    *e = (struct elf){.fd = fd};
    if (fd < 0 || fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_size < 0)
        return false;
    e->length = (uint64_t)s.st_size;
    return open_head(e);
}

bool elf_of_bytes(struct elf *e, const void *bytes, size_t length) {
    *e = (struct elf){.fd = -1, .bytes = bytes, .length = length};
    return open_head(e);
}

static bool segment(const struct elf *e, unsigned i, ElfW(Phdr) * out) {
    return i < e->head.e_phnum && e->head.e_phentsize == sizeof *out &&
           fetch(e, e->head.e_phoff + (uint64_t)i * sizeof *out, out, sizeof *out);
}

static bool section(const struct elf *e, uint32_t i, ElfW(Shdr) * out) {
    return i < e->head.e_shnum && e->head.e_shentsize == sizeof *out &&
           fetch(e, e->head.e_shoff + (uint64_t)i * sizeof *out, out, sizeof *out);
}

static size_t up(size_t n) { return (n + 3) & ~(size_t)3; }

size_t elf_notes_build_id(const unsigned char *notes, size_t length, unsigned char id[ELF_ID]) {
    ElfW(Nhdr) n;
    for (size_t at = 0; length - at >= sizeof n;) {
        memcpy(&n, notes + at, sizeof n);
        at += sizeof n;
        size_t left = length - at, name = n.n_namesz, desc = n.n_descsz;
        if (name > left || up(name) > left || desc > left - up(name))
            return 0;
        if (n.n_type == NT_GNU_BUILD_ID && name == 4 && !memcmp(notes + at, "GNU", 4) && desc &&
            desc <= ELF_ID) {
            memcpy(id, notes + at + up(name), desc);
            return desc;
        }
        size_t whole = up(name) + up(desc);
        at += whole < left ? whole : left;
    }
    return 0;
}

size_t elf_build_id(const struct elf *e, unsigned char id[ELF_ID]) {
    ElfW(Phdr) p;
    for (unsigned i = 0; segment(e, i, &p); i++) {
        if (p.p_type != PT_NOTE || !p.p_filesz || p.p_filesz > NOTES_MOST)
            continue;
        unsigned char *notes = malloc(p.p_filesz);
        size_t n = notes && fetch(e, p.p_offset, notes, p.p_filesz)
                       ? elf_notes_build_id(notes, p.p_filesz, id)
                       : 0;
        free(notes);
        if (n)
            return n;
    }
    return 0;
}

bool elf_interpreter(const struct elf *e, char path[ELF_NAME]) {
    ElfW(Phdr) p;
    for (unsigned i = 0; segment(e, i, &p); i++)
        if (p.p_type == PT_INTERP)
            return p.p_filesz && p.p_filesz <= ELF_NAME && fetch(e, p.p_offset, path, p.p_filesz) &&
                   !path[p.p_filesz - 1];
    return false;
}

// A section of that type and the string table that goes with it. Free both.
struct table {
    unsigned char *rows;
    char *names;
    size_t size, names_size;
};

static void *read_section(const struct elf *e, const ElfW(Shdr) * s) {
    void *bytes = s->sh_size && s->sh_size <= TABLE_MOST ? malloc(s->sh_size) : NULL;
    if (bytes && !fetch(e, s->sh_offset, bytes, s->sh_size)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static bool find_table(const struct elf *e, uint32_t type, struct table *t) {
    ElfW(Shdr) s, names;
    uint32_t i = 0;
    *t = (struct table){0};
    while (section(e, i, &s) && s.sh_type != type)
        i++;
    if (!section(e, i, &s) || !section(e, s.sh_link, &names) || names.sh_type != SHT_STRTAB)
        return false;
    t->rows = read_section(e, &s);
    t->names = read_section(e, &names);
    t->size = s.sh_size;
    t->names_size = names.sh_size;
    return t->rows && t->names;
}

static void free_table(struct table *t) {
    free(t->rows);
    free(t->names);
}

// The name at that offset, when it ends inside the table.
static const char *name_at(const struct table *t, uint64_t offset) {
    bool ends = offset < t->names_size && memchr(t->names + offset, 0, t->names_size - offset);
    return ends ? t->names + offset : NULL;
}

bool elf_soname(const struct elf *e, char name[ELF_NAME]) {
    struct table t;
    ElfW(Dyn) d;
    bool found = false;
    if (find_table(e, SHT_DYNAMIC, &t))
        for (size_t at = 0; t.size - at >= sizeof d && !found; at += sizeof d) {
            memcpy(&d, t.rows + at, sizeof d);
            const char *text = d.d_tag == DT_SONAME ? name_at(&t, d.d_un.d_val) : NULL;
            found = text && strlen(text) < ELF_NAME;
            if (found)
                strcpy(name, text);
        }
    free_table(&t);
    return found;
}

bool elf_exports(const struct elf *e, const char *function) {
    struct table t;
    ElfW(Sym) s;
    bool found = false;
    if (find_table(e, SHT_DYNSYM, &t))
        for (size_t at = 0; t.size - at >= sizeof s && !found; at += sizeof s) {
            memcpy(&s, t.rows + at, sizeof s);
            const char *text = s.st_shndx != SHN_UNDEF ? name_at(&t, s.st_name) : NULL;
            found = text && ELF64_ST_BIND(s.st_info) == STB_GLOBAL &&
                    ELF64_ST_TYPE(s.st_info) == STT_FUNC && !strcmp(text, function);
        }
    free_table(&t);
    return found;
}
