// SPDX-License-Identifier: MIT
// What is read of ELF files: build-id, interpreter, soname, exported names. Nothing is run.
//
// Files of this machine's class and byte order only. Every offset and length is checked before it
// is used, so a damaged or hostile file reads as one that has no such thing.
#ifndef SHOAL_BASE_ELF_H
#define SHOAL_BASE_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_ID = 64, ELF_NAME = 256 };

struct elf {
    int fd; // -1: `bytes` are the file
    const unsigned char *bytes;
    uint64_t length;
    ElfW(Ehdr) head;
};

// False when it is no ELF file of this class and byte order. Both borrow what they are given.
bool elf_of_fd(struct elf *e, int fd);
bool elf_of_bytes(struct elf *e, const void *bytes, size_t length);

// The GNU build-id; its length, 0: none. Also from notes that are in memory already.
size_t elf_build_id(const struct elf *e, unsigned char id[ELF_ID]);
size_t elf_notes_build_id(const unsigned char *notes, size_t length, unsigned char id[ELF_ID]);
bool elf_interpreter(const struct elf *e, char path[ELF_NAME]);
bool elf_soname(const struct elf *e, char name[ELF_NAME]);
bool elf_exports(const struct elf *e, const char *function); // one that it defines

#endif
