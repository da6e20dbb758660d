// SPDX-License-Identifier: MIT
// The CPU backend: the system's C compiler, a kernel loaded from memory, one worker a thread.
//
// target.c    what the machine can do: lanes, instruction set, math libraries
// compiler.c  the compiler as a child process in a directory of its own
// probe.c     what the compiler is made of
// trial.c     what it does, where it is not one program that can be known
// identity.c  all that a kernel depends on, for the key
// build.c     source to a shared object in memory
// load.c      the object from memory into the process
// run.c       threads that run the kernel on a chunk
#ifndef SHOAL_DEVICE_CPU_CPU_H
#define SHOAL_DEVICE_CPU_CPU_H

#include "base/process.h"
#include "base/report.h"
#include "shoal/backend.h"

extern const struct shoal_backend cpu_backend;

// Compilers that differ in their command lines, by the names of their files. Zig's is Clang and a
// linker in one program: pip installs it where there is no other.
#define CPU_KINDS(X) X(other) X(gcc) X(zig)
enum cpu_kind {
#define X(name) CPU_##name,
    CPU_KINDS(X)
#undef X
};

struct shoal_device {
    struct shoal_target target;
    const char *march;   // argument of the compiler
    bool calls;          // every kernel needs libm
    char compiler[1024]; // absolute path; empty: none found
    enum cpu_kind kind;  // of compiler
    void *math;          // SLEEF or libmvec, kept loaded; NULL: neither
};

struct shoal_module {
    void *handle;
    int fd; // of the object in memory
    void (*kernel)(const void *args, const char *read, char *written, const char *resident,
                   unsigned *next, const volatile int *stop, char *workspace);
    size_t workspace; // bytes a worker needs
};

// Fills target and march for this machine, or for the one SHOAL_CPU_TARGET names (a lesser one).
shoal_code cpu_target(struct shoal_device *d, struct report *r);
// For the named one, present or not; false when there is none of that name.
bool cpu_target_named(struct shoal_device *d, const char *name);
void cpu_target_free(struct shoal_device *d);
void cpu_describe(uint32_t index, struct shoal_card *out);

// The compiler: SHOAL_CC, else cc. The second finds it; false when there is none.
const char *cpu_compiler_wanted(void);
bool cpu_find_compiler(char *path, size_t room);
// Of the compiler at `path`, and its name; of a name that is none: other.
enum cpu_kind cpu_kind_of(const char *path);
const char *cpu_kind_name(enum cpu_kind kind);
enum cpu_kind cpu_kind_named(const char *name, size_t length);
// A private temporary directory for what programs leave behind; it goes with all of that. Nobody
// else can get at it: TMPDIR must be ours or root's, and sticky where others may write.
enum { CPU_ARGS = 48, CPU_FILE = 3100 };
#define CPU_KERNEL_FILE "kernel.so" // what a build leaves there
struct cpu_dir {
    char path[3000];
    int fd; // locked as long as it is used
};
shoal_code cpu_dir_make(struct cpu_dir *dir, struct report *r);
void cpu_dir_remove(const struct cpu_dir *dir);
// Removes those beside it that killed runs of ours left behind.
void cpu_dir_sweep(const struct cpu_dir *dir);
// The file of that name; no data when there is none.
void cpu_dir_read(const struct cpu_dir *dir, const char *name, struct shoal_bytes *out);
// Starts a program with that TMPDIR, to be waited for. Arguments that begin with "./" are files in
// the directory.
shoal_code cpu_child(const char *const *argv, const struct cpu_dir *dir, const char *input,
                     size_t length, struct process *out, struct report *r);

// What the compiler is, as fields (version, file, id, unknown, ...), asked or kept in `probes` (may
// be NULL). False: there is none and none was ever seen, or *stop was set. The caller frees.
bool cpu_probe(const struct shoal_device *d, struct cache *probes, const volatile int *stop,
               struct buf *answer);

// True for a line in which a compiler tells its version.
bool cpu_tells_version(const char *line);

// The digest of all that the compiler does with our command lines, tried out in the directory.
// False when it does not say, or *stop was set.
bool cpu_trial(const struct shoal_device *d, const struct cpu_dir *dir, const volatile int *stop,
               char digest[65]);

// The command lines of a build: units that are compiled at the same time, then linked.
enum { CPU_UNITS = 2, CPU_LIBRARIES = 3 };
struct cpu_commands {
    uint32_t units;
    const char *compile[CPU_UNITS][CPU_ARGS], *link[CPU_ARGS]; // each ends with NULL
    char march[64], seed[96], soname[64];                      // what they point to
    char library[CPU_LIBRARIES][CPU_FILE];
};
void cpu_commands(const struct shoal_device *d, const struct shoal_kernel_text *k,
                  struct cpu_commands *out);
// The libraries that a kernel calls, by name; ends with NULL.
void cpu_libraries(const struct shoal_device *d, const struct shoal_kernel_text *k,
                   const char *names[CPU_LIBRARIES + 1]);
// The name that a kernel for this target bears in its object, so that it says itself what it is.
void cpu_soname(const struct shoal_target *target, char name[64]);

shoal_code cpu_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                        struct cache *probes, const volatile int *stop, struct key_record *key,
                        struct report *r);
shoal_code cpu_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                     const volatile int *stop, struct shoal_bytes *out, struct report *r);
shoal_code cpu_load(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                    struct shoal_module **out, struct shoal_facts *facts, struct report *r);
void cpu_unload(struct shoal_module *m);
enum { CPU_ALIGN = 64 }; // of blocks and workspaces
shoal_code cpu_resident_open(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                             struct shoal_resident **out, struct report *r);
void cpu_resident_close(struct shoal_resident *b);
struct shoal_slot *cpu_slot_open(struct shoal_device *d, uint32_t number);
void cpu_slot_close(struct shoal_slot *s);
shoal_code cpu_start(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                     struct report *r);
shoal_code cpu_finish(struct shoal_slot *s, struct report *r);

#endif
