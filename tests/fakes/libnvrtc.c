// SPDX-License-Identifier: MIT
// A compiler that makes, of any source, as little of a cubin as passes, for the architecture that
// it was given, with the entry of the source's last kernel. Built by the tests that use it, with a
// build-id of their choice.
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

struct program {
    unsigned arch;
    char section[64];
};

static void name_section(struct program *p, const char *source) {
    static const char word[] = "KERNEL void ";
    const char *name = "shoal_kernel";
    for (const char *at = source; (at = strstr(at, word)); at++)
        name = at + sizeof word - 1;
    snprintf(p->section, sizeof p->section, ".text.%.*s", (int)strcspn(name, "("), name);
}

static size_t section_bytes(const struct program *p) { return strlen(p->section) + 1; }

API int nvrtcVersion(int *major, int *minor);
API int nvrtcVersion(int *major, int *minor) {
    const char *newer = getenv("FAKE_NVRTC_MAJOR");
    *major = newer ? atoi(newer) : 12;
    *minor = 4;
    return 0;
}
API int nvrtcCreateProgram(struct program **program, const char *source);
API int nvrtcCreateProgram(struct program **program, const char *source) {
    *program = calloc(1, sizeof **program);
    if (*program)
        name_section(*program, source);
    return !*program;
}
API int nvrtcDestroyProgram(struct program **program);
API int nvrtcDestroyProgram(struct program **program) {
    free(*program);
    return 0;
}
API int nvrtcCompileProgram(struct program *program, int count, const char *const *options);
API int nvrtcCompileProgram(struct program *program, int count, const char *const *options) {
    static const char name[] = "--gpu-architecture=sm_";
    for (int i = 0; i < count; i++)
        if (!strncmp(options[i], name, sizeof name - 1))
            program->arch = (unsigned)atoi(options[i] + sizeof name - 1);
    const char *us = getenv("FAKE_NVRTC_US");       // that it takes
    const char *begun = getenv("FAKE_NVRTC_BEGUN"); // a file that is there from now on
    if (begun)
        close(open(begun, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    usleep(us ? (unsigned)atoi(us) : 20000);
    return 0;
}
API int nvrtcGetProgramLogSize(struct program *program, size_t *bytes);
API int nvrtcGetProgramLogSize(struct program *program, size_t *bytes) {
    (void)program;
    *bytes = 1;
    return 0;
}
API int nvrtcGetProgramLog(struct program *program, char *text);
API int nvrtcGetProgramLog(struct program *program, char *text) {
    (void)program;
    *text = 0;
    return 0;
}
API int nvrtcGetCUBINSize(struct program *program, size_t *bytes);
API int nvrtcGetCUBINSize(struct program *program, size_t *bytes) {
    *bytes = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + section_bytes(program);
    return 0;
}
API int nvrtcGetCUBIN(struct program *program, char *bytes);
API int nvrtcGetCUBIN(struct program *program, char *bytes) {
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8},
                       .e_machine = 190,
                       .e_flags = program->arch << 8,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shoff = sizeof(Elf64_Ehdr),
                       .e_shnum = 1};
    Elf64_Shdr section = {.sh_type = SHT_STRTAB,
                          .sh_offset = sizeof head + sizeof section,
                          .sh_size = section_bytes(program)};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, &section, sizeof section);
    memcpy(bytes + sizeof head + sizeof section, program->section, section_bytes(program));
    return 0;
}
