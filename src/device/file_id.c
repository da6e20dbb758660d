// SPDX-License-Identifier: MIT
// Tells files apart by their build-id or their content, and by what stat says of them.
#include "device/file_id.h"

#include "base/sha256.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void file_id_hex(char *text, const char *kind, const unsigned char *bytes, size_t n) {
    int at = sprintf(text, "%s:", kind);
    for (size_t i = 0; i < n; i++)
        at += sprintf(text + at, "%02x", bytes[i]);
}

static bool content_id(int fd, char id[FILE_ID_ROOM]) {
    unsigned char piece[16384], digest[32];
    struct sha256 hash;
    ssize_t n;
    off_t at = 0;
    sha256_init(&hash);
    for (; (n = pread(fd, piece, sizeof piece, at)) > 0; at += n)
        sha256_add(&hash, piece, (size_t)n);
    sha256_end(&hash, digest);
    file_id_hex(id, "sha256", digest, sizeof digest);
    return n == 0;
}

bool file_id(const char *path, char id[FILE_ID_ROOM], char interpreter[ELF_NAME]) {
    unsigned char bytes[ELF_ID];
    struct elf e;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_elf = elf_of_fd(&e, fd);
    size_t n = is_elf ? elf_build_id(&e, bytes) : 0;
    bool ok = fd >= 0;
    if (!is_elf || !elf_interpreter(&e, interpreter))
        interpreter[0] = 0;
    if (n)
        file_id_hex(id, "build-id", bytes, n);
    else
        ok = ok && content_id(fd, id);
    if (fd >= 0)
        close(fd);
    return ok;
}

void file_stamp(const char *path, char text[FILE_STAMP_ROOM]) {
    struct stat s;
    bool there = stat(path, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode));
    text[0] = 0;
    if (there)
        snprintf(text, FILE_STAMP_ROOM, "%lld %lld.%09ld %lld.%09ld %llu", (long long)s.st_size,
                 (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (long long)s.st_ctim.tv_sec,
                 s.st_ctim.tv_nsec, (unsigned long long)s.st_ino);
}
