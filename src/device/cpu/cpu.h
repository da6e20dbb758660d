// SPDX-License-Identifier: MIT
// The CPU backend: the system's C compiler, a kernel loaded from memory, one worker a thread.
//
// target.c   what the machine can do: lanes, instruction set, math libraries
// build.c    source to a shared object in memory, by the compiler as a child process
// load.c     the object from memory into the process
// run.c      threads that run the kernel on a chunk
#ifndef SHOAL_DEVICE_CPU_CPU_H
#define SHOAL_DEVICE_CPU_CPU_H

#include "base/report.h"
#include "shoal/backend.h"

extern const struct shoal_backend cpu_backend;

struct shoal_device {
    struct shoal_target target;
    const char *march;   // argument of the compiler
    bool calls;          // every kernel needs libm
    char compiler[1024]; // absolute path; empty: none found
    bool is_gcc;         // its file is called so: it takes options of GCC's own
};

struct shoal_module {
    void *handle;
    int fd; // of the object in memory
    void (*kernel)(const struct shoal_args *args);
    size_t workspace; // bytes a worker needs
    bool stopped;     // the chunk that was started last did not come to its end
};

// Fills target and march for this machine, or for the one SHOAL_CPU_TARGET names (a lesser one).
shoal_code cpu_target(struct shoal_device *d, struct report *r);
void cpu_describe(uint32_t index, char *text, size_t room);
// Finds the compiler: SHOAL_CC, else cc. False when there is none.
bool cpu_find_compiler(char *path, size_t room);

shoal_code cpu_identity(struct shoal_device *d, const struct shoal_kernel_text *k, char *text,
                        size_t room, struct report *r);
shoal_code cpu_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                     const volatile int *stop, struct shoal_bytes *out, struct report *r);
shoal_code cpu_load(struct shoal_device *d, const struct shoal_bytes *b, struct shoal_module **out,
                    struct report *r);
void cpu_unload(struct shoal_module *m);
shoal_code cpu_start(struct shoal_module *m, uint32_t slot, const struct shoal_launch *l,
                     struct report *r);
shoal_code cpu_finish(struct shoal_module *m, uint32_t slot, struct report *r);

#endif
