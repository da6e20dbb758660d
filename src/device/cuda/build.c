// SPDX-License-Identifier: MIT
// Kernel source to a cubin, by NVRTC in this process.
//
// NVRTC cannot be interrupted. It works in a thread of its own, on a copy of all it needs, so that
// after a stop the caller goes on at once and the thread ends by itself.
#include "device/cuda/cuda.h"

#include "device/detached.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EM_NVIDIA_CUDA = 190, LOG_MOST = 64 << 10 };

int cuda_options(const struct shoal_device *d, bool hurried, char arch[48],
                 const char *options[CUDA_OPTIONS]) {
    // Contraction is never the compiler's; division and square root are those of IEEE. Each of
    // these would win over --use_fast_math, which is their opposite.
    static const char *const exact[] = {"--fmad=false", "--prec-div=true", "--prec-sqrt=true",
                                        "--ftz=false"};
    int n = 0;
    snprintf(arch, 48, "--gpu-architecture=%s", d->arch);
    options[n++] = arch;
    options[n++] = "--std=c++17";
    options[n++] = "--no-source-include";
    for (size_t i = 0; i < sizeof exact / sizeof *exact && !d->target.fast_math; i++)
        options[n++] = exact[i];
    if (d->target.fast_math)
        options[n++] = "--use_fast_math";
    if (hurried) // `max` gains a fifth of that and puts all into memory; `min` may take a minute
        options[n++] = "--Ofast-compile=mid";
    return n;
}

// ---- NVRTC at work ------------------------------------------------------------------------------

struct job {
    struct detached thread;
    struct nvrtc nvrtc;
    char arch[48];
    const char *options[CUDA_OPTIONS];
    int option_count;
    char *source;
    int result; // of NVRTC; 0: fine
    char *log;
    struct shoal_bytes cubin;
};

static void take_log(struct job *j, nvrtc_program program) {
    size_t bytes = 0;
    if (j->nvrtc.log_size(program, &bytes) || bytes < 2 || !(j->log = malloc(bytes + 1)))
        return;
    if (j->nvrtc.log(program, j->log))
        bytes = 0;
    j->log[bytes < LOG_MOST ? bytes : LOG_MOST] = 0;
}

static void take_cubin(struct job *j, nvrtc_program program) {
    size_t bytes = 0;
    j->result = j->nvrtc.cubin_size(program, &bytes);
    if (j->result || !bytes)
        return;
    j->cubin.data = malloc(bytes);
    if (j->cubin.data)
        j->result = j->nvrtc.cubin(program, (char *)j->cubin.data);
    if (j->cubin.data && !j->result)
        j->cubin.length = bytes;
}

static void compile(struct detached *thread) {
    struct job *j = (struct job *)thread;
    nvrtc_program program = NULL;
    j->result = j->nvrtc.create(&program, j->source, "shoal_kernel.cu", 0, NULL, NULL);
    if (j->result)
        return;
    j->result = j->nvrtc.compile(program, j->option_count, j->options);
    take_log(j, program);
    if (!j->result)
        take_cubin(j, program);
    j->nvrtc.destroy(&program);
}

static void drop(struct detached *thread) {
    struct job *j = (struct job *)thread;
    free(j->source);
    free(j->log);
    free(j->cubin.data);
    free(j);
}

static shoal_code outcome(const struct shoal_device *d, struct job *j, struct shoal_bytes *out,
                          struct report *r) {
    if (j->result || !j->cubin.length)
        return report_error(r, SHOAL_DEVICE, "NVRTC %d.%d failed for %s (error %d)%s%s",
                            j->nvrtc.major, j->nvrtc.minor, d->arch, j->result,
                            j->log ? ":\n" : " and said nothing", j->log ? j->log : "");
    *out = j->cubin;
    j->cubin = (struct shoal_bytes){0};
    return SHOAL_OK;
}

// The one that the key was made for.
static shoal_code need_nvrtc(struct shoal_device *d, struct report *r) {
    shoal_code code = SHOAL_OK;
    pthread_mutex_lock(&d->lock);
    if (!d->nvrtc.path[0])
        code = cuda_nvrtc_load(&d->nvrtc, d->nvrtc_path[0] ? d->nvrtc_path : NULL,
                               d->cu ? d->cu->version : 0, r);
    pthread_mutex_unlock(&d->lock);
    return code;
}

shoal_code cuda_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                      const volatile int *stop, struct shoal_bytes *out, struct report *r) {
    shoal_code code = stop && *stop ? SHOAL_STOPPED : need_nvrtc(d, r);
    if (code != SHOAL_OK)
        return code;
    struct job *j = calloc(1, sizeof *j);
    char *source = j ? strndup(k->text, k->length) : NULL;
    if (!source) {
        free(j);
        return report_error(r, SHOAL_MEMORY, "out of memory");
    }
    j->thread = (struct detached){.work = compile, .drop = drop};
    j->nvrtc = d->nvrtc;
    j->source = source;
    j->option_count = cuda_options(d, k->hurried, j->arch, j->options);
    if (!detached_run(&j->thread, stop))
        return SHOAL_STOPPED;
    code = outcome(d, j, out, r);
    drop(&j->thread);
    return code;
}

// ---- What it made -------------------------------------------------------------------------------

static bool inside(uint64_t offset, uint64_t size, size_t length) {
    return offset <= length && size <= length - offset;
}

// The driver is given no length: every part of the file must lie in the bytes.
static bool complete(const struct shoal_bytes *b, const Elf64_Ehdr *head) {
    if (head->e_shentsize != sizeof(Elf64_Shdr) ||
        (head->e_phnum && head->e_phentsize != sizeof(Elf64_Phdr)) ||
        !inside(head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr), b->length) ||
        !inside(head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr), b->length))
        return false;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, b->data + head->e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_NOBITS && !inside(s.sh_offset, s.sh_size, b->length))
            return false;
    }
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, b->data + head->e_phoff + i * sizeof p, sizeof p);
        if (!inside(p.p_offset, p.p_filesz, b->length))
            return false;
    }
    return true;
}

shoal_code cuda_check(const struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                      struct report *r) {
    char section[96];
    Elf64_Ehdr head;
    if (b->length < sizeof head)
        return report_error(r, SHOAL_DEVICE, "cuda: the compiled kernel is too short");
    memcpy(&head, b->data, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != EM_NVIDIA_CUDA ||
        !complete(b, &head))
        return report_error(r, SHOAL_DEVICE, "cuda: the compiled kernel is no complete cubin");
    unsigned arch =
        head.e_ident[EI_ABIVERSION] >= 8 ? head.e_flags >> 8 & 0xff : head.e_flags & 0xff;
    if (arch != (unsigned)atoi(d->arch + 3))
        return report_error(r, SHOAL_DEVICE, "cuda: the compiled kernel is for sm_%u, not for %s",
                            arch, d->arch);
    int length = snprintf(section, sizeof section, ".text.%s", entry);
    if (!memmem(b->data, b->length, section, (size_t)length + 1))
        return report_error(r, SHOAL_DEVICE, "cuda: the compiled kernel lacks its entry point");
    return SHOAL_OK;
}
