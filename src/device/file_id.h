// SPDX-License-Identifier: MIT
// What a file of a compiler is: by what it holds, and cheaply by what changes when it is replaced.
#ifndef SHOAL_DEVICE_FILE_ID_H
#define SHOAL_DEVICE_FILE_ID_H

#include "base/elf.h"

enum { FILE_ID_ROOM = 160, FILE_STAMP_ROOM = 160 };

// build-id:..., else sha256:...; the interpreter of a program that has one, else "". False when it
// cannot be read.
bool file_id(const char *path, char id[FILE_ID_ROOM], char interpreter[ELF_NAME]);
void file_id_hex(char *text, const char *kind, const unsigned char *bytes, size_t n);
// Size, dates and inode; "" when it is no file and no directory.
void file_stamp(const char *path, char text[FILE_STAMP_ROOM]);

#endif
