// SPDX-License-Identifier: MIT
// What is read of ELF files, whole and damaged.
#include "base/elf.h"
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

static unsigned char *build(const char *build_id, size_t *length) {
    char flag[64];
    const char *object = check_path("o.so");
    check_write(check_path("o.c"),
                "__attribute__((visibility(\"default\"))) int shown(void) { return 1; }\n"
                "int variable = 1;\nint missing(void);\nint calls(void) { return missing(); }\n");
    snprintf(flag, sizeof flag, "-Wl,--build-id=%s", build_id);
    struct check_output o = RUN("cc", "-shared", "-nostdlib", "-fPIC", "-Wl,-soname,named.1", flag,
                                check_path("o.c"), "-o", object);
    REQUIRE(o.status == 0);
    int fd = open(object, O_RDONLY);
    *length = (size_t)lseek(fd, 0, SEEK_END);
    unsigned char *bytes = check_keep(malloc(*length));
    REQUIRE(bytes && pread(fd, bytes, *length, 0) == (ssize_t)*length);
    close(fd);
    return bytes;
}

TEST(elf_reads) {
    size_t length;
    unsigned char *bytes = build("0x0123456789abcdef", &length), id[ELF_ID];
    char name[ELF_NAME];
    struct elf e;
    REQUIRE(elf_of_bytes(&e, bytes, length));
    CHECK_INT(elf_build_id(&e, id), 8);
    CHECK_INT(id[0], 0x01);
    CHECK_INT(id[7], 0xef);
    CHECK(elf_soname(&e, name));
    CHECK_STR(name, "named.1");
    CHECK(elf_exports(&e, "shown"));
    CHECK(!elf_exports(&e, "show") && !elf_exports(&e, "missing") && !elf_exports(&e, "variable"));
    CHECK(!elf_interpreter(&e, name));
    int fd = open(check_path("o.so"), O_RDONLY);
    REQUIRE(elf_of_fd(&e, fd));
    CHECK_INT(elf_build_id(&e, id), 8);
    close(fd);
    fd = open("/bin/sh", O_RDONLY);
    if (elf_of_fd(&e, fd) && elf_interpreter(&e, name))
        CHECK_INT(name[0], '/');
    close(fd);
    free(build("none", &length));
    fd = open(check_path("o.so"), O_RDONLY);
    CHECK(elf_of_fd(&e, fd) && elf_build_id(&e, id) == 0);
    close(fd);
    CHECK(!elf_of_fd(&e, -1));
    fd = open("/", O_RDONLY);
    CHECK(!elf_of_fd(&e, fd));
}

static void read_all(const unsigned char *bytes, size_t length) {
    unsigned char id[ELF_ID];
    char name[ELF_NAME];
    struct elf e;
    if (!elf_of_bytes(&e, bytes, length))
        return;
    elf_build_id(&e, id);
    elf_interpreter(&e, name);
    elf_soname(&e, name);
    elf_exports(&e, "shown");
}

// Cut anywhere and with any byte changed: never a read beyond the end (the sanitizers watch).
TEST(elf_damaged) {
    size_t length;
    unsigned char *bytes = build("0x0123456789abcdef", &length);
    for (size_t n = 0; n < length; n += n < 1024 ? 1 : 37) {
        unsigned char *cut = malloc(n ? n : 1);
        memcpy(cut, bytes, n);
        read_all(cut, n);
        free(cut);
    }
    for (size_t i = 0; i < length; i += i < 2048 || i > length - 2048 ? 1 : 17)
        for (int k = 0; k < 3; k++) {
            unsigned char old = bytes[i];
            bytes[i] = k == 0 ? 0xff : k == 1 ? 0 : (unsigned char)(old ^ 0x80);
            read_all(bytes, length);
            bytes[i] = old;
        }
    free(bytes);
}
