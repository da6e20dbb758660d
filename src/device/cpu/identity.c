// SPDX-License-Identifier: MIT
// What the compiler is, for the key: every program, plugin and library that takes part in a build,
// by build-id or content.
//
// The compiler is asked what it would run (-###) and where its linker is; the loader of each
// program is asked which libraries it would map. That takes some 20 ms, so the answer is kept and
// used as long as every file in it has the same size, dates and inode. When the compiler is gone
// the last answer stands: kernels that are there already still run.
#include "device/cpu/cpu.h"

#include "base/elf.h"
#include "base/file.h"
#include "cache/cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, ID_ROOM = 160, STAMP_ROOM = 160, FILES_MOST = 200 };
static const char schema[] = "cc 1";

// ---- Files --------------------------------------------------------------------------------------

static void put_hex(char *text, const char *kind, const unsigned char *bytes, size_t n) {
    int at = sprintf(text, "%s:", kind);
    for (size_t i = 0; i < n; i++)
        at += sprintf(text + at, "%02x", bytes[i]);
}

static bool content_id(int fd, char id[ID_ROOM]) {
    unsigned char piece[16384], digest[32];
    struct sha256 hash;
    ssize_t n;
    off_t at = 0;
    sha256_init(&hash);
    for (; (n = pread(fd, piece, sizeof piece, at)) > 0; at += n)
        sha256_add(&hash, piece, (size_t)n);
    sha256_end(&hash, digest);
    put_hex(id, "sha256", digest, sizeof digest);
    return n == 0;
}

// build-id:..., else sha256:...; the interpreter of a program that has one, else "".
static bool file_id(const char *path, char id[ID_ROOM], char interpreter[ELF_NAME]) {
    unsigned char bytes[ELF_ID];
    struct elf e;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_elf = elf_of_fd(&e, fd);
    size_t n = is_elf ? elf_build_id(&e, bytes) : 0;
    bool ok = fd >= 0;
    if (!is_elf || !elf_interpreter(&e, interpreter))
        interpreter[0] = 0;
    if (n)
        put_hex(id, "build-id", bytes, n);
    else
        ok = ok && content_id(fd, id);
    if (fd >= 0)
        close(fd);
    return ok;
}

// What changes when a file or a directory does; "" when it is neither.
static void stamp(const char *path, char text[STAMP_ROOM]) {
    struct stat s;
    bool there = stat(path, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode));
    text[0] = 0;
    if (there)
        snprintf(text, STAMP_ROOM, "%lld %lld.%09ld %lld.%09ld %llu", (long long)s.st_size,
                 (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (long long)s.st_ctim.tv_sec,
                 s.st_ctim.tv_nsec, (unsigned long long)s.st_ino);
}

static bool is_directory(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// ---- Asking the compiler ------------------------------------------------------------------------

// An answer is a list of fields: schema, compiler, gcc, version lines, for each file its path,
// stamp and id, for each program that is looked for on PATH its name and where it was, for each
// directory that programs come from its stamp; `unknown` for what could not be found out.
struct probing {
    struct key_record answer;
    const volatile int *stop;
    bool stopped;
    uint32_t files;
};

static void unknown(struct probing *p, const char *what) {
    key_add_text(&p->answer, "unknown", what);
}

static bool ask(struct probing *p, const char *const *argv, struct process *out) {
    shoal_code code = p->stopped ? SHOAL_STOPPED : cpu_child(argv, "", 0, p->stop, out, NULL, NULL);
    if (code != SHOAL_OK)
        *out = (struct process){0};
    p->stopped = p->stopped || out->stopped;
    return code == SHOAL_OK && !out->stopped && !out->signal && !out->exit_code;
}

static bool is_listed(const struct probing *p, const char *path) {
    struct key_field f;
    const unsigned char *record = (const unsigned char *)p->answer.bytes.data;
    for (size_t at = 0; key_next(record, p->answer.bytes.length, &at, &f);)
        if (!strcmp(f.label, "file") && f.length == strlen(path) &&
            !memcmp(f.bytes, path, f.length))
            return true;
    return false;
}

// A file that takes part; true when it is new, then with its interpreter.
static bool add_file(struct probing *p, const char *path, char interpreter[ELF_NAME]) {
    char text[STAMP_ROOM], id[ID_ROOM];
    stamp(path, text);
    if (!text[0] || is_directory(path) || is_listed(p, path))
        return false;
    if (++p->files > FILES_MOST || !file_id(path, id, interpreter)) {
        unknown(p, base_name(path));
        return false;
    }
    key_add_text(&p->answer, "file", path);
    key_add_text(&p->answer, "stamp", text);
    key_add_text(&p->answer, "id", id);
    return true;
}

// Lines "\tlibz.so.1 => /lib/libz.so.1 (0x...)" and "\t/lib/ld.so (0x...)".
static void add_libraries(struct probing *p, char *list) {
    char *rest = NULL, none[ELF_NAME];
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *path = strchr(line, '/'), *end = strstr(line, " (0x");
        if (path && end && path < end) {
            *end = 0;
            add_file(p, path, none);
        }
    }
}

// Where the program is found again: by its name on PATH, or in a directory of the compiler's, where
// another could appear.
static void add_way(struct probing *p, const char *name, const char *file) {
    char directory[PATH_ROOM], text[STAMP_ROOM];
    if (!strchr(name, '/')) {
        key_add_text(&p->answer, "name", name);
        key_add_text(&p->answer, "at", file);
        return;
    }
    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(name, '/') - name), name);
    stamp(directory, text);
    key_add_text(&p->answer, "directory", directory);
    key_add_text(&p->answer, "stamp", text);
}

static void add_program(struct probing *p, const char *path) {
    char interpreter[ELF_NAME], file[PATH_ROOM];
    struct process list;
    if (!process_find(path, file, sizeof file)) {
        unknown(p, base_name(path));
        return;
    }
    if (p->files) // the first is the compiler, which was found already
        add_way(p, path, file);
    if (!add_file(p, file, interpreter) || !interpreter[0])
        return;
    const char *argv[] = {interpreter, "--list", file, NULL};
    if (ask(p, argv, &list) && list.talk.length)
        add_libraries(p, list.talk.data);
    else
        unknown(p, "libraries");
    buf_free(&list.talk);
}

// A word of a command as the compiler prints it, quoted or not; *at moves behind it.
static bool next_word(char **at, char **word) {
    char *p = *at + strspn(*at, " ");
    bool quoted = *p == '"';
    p += quoted;
    *word = p;
    size_t n = strcspn(p, quoted ? "\"" : " ");
    *at = p + n + (p[n] != 0);
    bool any = *p != 0;
    p[n] = 0;
    return any;
}

// The program of the command and every file it is given by an absolute path.
static void add_command(struct probing *p, char *line) {
    char *word, none[ELF_NAME];
    if (next_word(&line, &word))
        add_program(p, word);
    while (next_word(&line, &word))
        if (word[0] == '/')
            add_file(p, word, none);
}

static bool is_version(const char *line) {
    return strstr(line, " version ") || !strncmp(line, "Target:", 7) ||
           !strncmp(line, "Configured with:", 16);
}

static void read_commands(struct probing *p, char *talk) {
    static const char specs[] = "Reading specs from ";
    char *rest = NULL, none[ELF_NAME];
    bool any = false;
    for (char *line = strtok_r(talk, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == ' ') {
            add_command(p, line);
            any = true;
        } else if (is_version(line))
            key_add_text(&p->answer, "version", line);
        else if (!strncmp(line, specs, strlen(specs)))
            add_file(p, line + strlen(specs), none);
    }
    if (!any)
        unknown(p, "commands of the compiler");
}

static void probe(const struct shoal_device *d, struct probing *p) {
    const char *commands[] = {d->compiler, "-###",      "-x", "c",         "-",
                              "-shared",   "-nostdlib", "-o", "/dev/null", NULL};
    const char *linker[] = {d->compiler, "-print-prog-name=ld", NULL};
    struct process out;
    key_add_text(&p->answer, "schema", schema);
    key_add_text(&p->answer, "compiler", d->compiler);
    key_add_text(&p->answer, "gcc", d->is_gcc ? "1" : "0");
    add_program(p, d->compiler);
    if (ask(p, commands, &out) && out.talk.length)
        read_commands(p, out.talk.data);
    else
        unknown(p, "commands of the compiler");
    buf_free(&out.talk);
    if (ask(p, linker, &out) && out.talk.length)
        add_program(p, out.talk.data);
    else
        unknown(p, "linker");
    buf_free(&out.talk);
}

// ---- Kept answers -------------------------------------------------------------------------------

static bool field_is(const struct key_field *f, const char *text) {
    return f->length == strlen(text) && !memcmp(f->bytes, text, f->length);
}

// Every file is what it was, and the compiler would be found in the same places.
static bool still_true(const struct shoal_device *d, const struct buf *answer) {
    const unsigned char *record = (const unsigned char *)answer->data;
    char path[PATH_ROOM] = "", now[PATH_ROOM];
    struct key_field f;
    size_t at = 0;
    while (key_next(record, answer->length, &at, &f)) {
        bool same = true;
        if (!strcmp(f.label, "schema"))
            same = field_is(&f, schema);
        else if (!strcmp(f.label, "compiler"))
            same = field_is(&f, d->compiler);
        else if (!strcmp(f.label, "unknown"))
            same = false;
        else if (!strcmp(f.label, "file") || !strcmp(f.label, "directory") ||
                 !strcmp(f.label, "name"))
            snprintf(path, sizeof path, "%.*s", (int)f.length, (const char *)f.bytes);
        else if (!strcmp(f.label, "at"))
            same = process_find(path, now, sizeof now) && field_is(&f, now);
        else if (!strcmp(f.label, "stamp")) {
            stamp(path, now);
            same = field_is(&f, now);
        }
        if (!same)
            return false;
    }
    return at == answer->length && at > 0;
}

// What an answer is kept under: the compiler as it was asked for, since it may be gone.
static void answer_name(char name[80]) {
    unsigned char digest[32];
    struct sha256 hash;
    const char *wanted = cpu_compiler_wanted();
    sha256_init(&hash);
    sha256_add(&hash, wanted, strlen(wanted));
    sha256_end(&hash, digest);
    memcpy(name, "cc-", 3);
    sha256_hex(digest, name + 3);
}

// The answer that holds now; false when there is none: no compiler, and none was ever seen.
static bool find_answer(struct shoal_device *d, struct cache *probes, const volatile int *stop,
                        struct buf *answer) {
    char name[80];
    answer_name(name);
    bool kept = probes && cache_probe_get(probes, name, answer);
    if (!d->compiler[0])
        return kept;
    if (kept && still_true(d, answer))
        return true;
    buf_free(answer);
    struct probing p = {.stop = stop};
    probe(d, &p);
    *answer = p.answer.bytes;
    if (probes && !p.stopped && !answer->failed)
        cache_probe_put(probes, name, answer->data, answer->length);
    return !p.stopped;
}

// ---- The key ------------------------------------------------------------------------------------

static void add_answer(struct shoal_device *d, const struct buf *answer, struct key_record *key,
                       struct report *r) {
    const unsigned char *record = (const unsigned char *)answer->data;
    char label[ELF_NAME + 8] = "";
    struct key_field f;
    bool said = d->compiler[0] != 0, first = true;
    for (size_t at = 0; key_next(record, answer->length, &at, &f);) {
        if (!strcmp(f.label, "file")) {
            const char *path = (const char *)f.bytes, *slash = memrchr(path, '/', f.length);
            size_t skip = slash ? (size_t)(slash + 1 - path) : 0;
            snprintf(label, sizeof label, "tool:%.*s", (int)(f.length - skip), path + skip);
            if (first) // it may be called anything
                snprintf(label, sizeof label, "tool:compiler");
            first = false;
        } else if (!strcmp(f.label, "id"))
            key_add(key, label, f.bytes, f.length);
        else if (!strcmp(f.label, "version") || !strcmp(f.label, "unknown"))
            key_add(key, f.label, f.bytes, f.length);
        else if (!strcmp(f.label, "gcc") && !d->compiler[0])
            d->is_gcc = field_is(&f, "1");
        if (!said && !strcmp(f.label, "version")) {
            report_note(r, "there is no C compiler now; kernels made by '%.*s' are still used",
                        (int)f.length, (const char *)f.bytes);
            said = true;
        }
    }
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
    char label[64], id[ID_ROOM], none[ELF_NAME];
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
        put_hex(id, "build-id", l.id, l.length);
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

// Without the compiler's path and the output file.
static void add_arguments(const struct shoal_device *d, const struct shoal_kernel_text *k,
                          struct key_record *key) {
    struct cpu_command c;
    char count[16];
    int n = 0;
    cpu_command(d, k, &c);
    while (c.argv[n])
        n++;
    snprintf(count, sizeof count, "%d", n);
    key_add_text(key, "arguments", count);
    for (int i = 1; i < n; i++)
        if (c.argv[i] != CPU_OUTPUT)
            key_add_text(key, "argument", c.argv[i]);
}

shoal_code cpu_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                        struct cache *probes, const volatile int *stop, struct key_record *key,
                        struct report *r) {
    struct buf answer = {0};
    bool known = find_answer(d, probes, stop, &answer);
    add_machine(d, key);
    if (known)
        add_answer(d, &answer, key, r);
    else
        key_add_text(key, "unknown", "compiler");
    buf_free(&answer);
    add_arguments(d, k, key);
    if (k->needs_sleef)
        add_library(key, "libsleef.so.3");
    if (k->needs_mvec)
        add_library(key, "libmvec.so.1");
    if (k->needs_libm || k->needs_mvec || d->calls)
        add_library(key, "libm.so.6");
    return stop && *stop ? SHOAL_STOPPED : SHOAL_OK;
}
