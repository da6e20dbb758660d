// SPDX-License-Identifier: MIT
// What the compiler is: every program, plugin and library that takes part in a build, by build-id
// or content.
//
// The compiler is asked what it would run (-###) and where its linker is; the loader of each
// program is asked which libraries it would map. That takes some 10 ms, so the answer is kept and
// used as long as every file in it has the same size, dates and inode. When the compiler is gone
// the last answer stands: kernels that are there already still run.
//
// That holds for a compiler that is a program and says that it is itself which runs. A script, or a
// program that runs another, can do anything: it is tried out each time (trial.c), and so is one
// whose assembler or linker is a script.
#include "device/cpu/cpu.h"

#include "base/elf.h"
#include "base/file.h"
#include "cache/cache.h"
#include "device/file_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, FILES_MOST = 200, QUESTIONS = 16 };
static const char schema[] = "cc 3";
static const char *const command_words[] = {"-###",      "-x", "c",         "-", "-shared",
                                            "-nostdlib", "-o", "/dev/null", NULL};
static const char *const zig_words[] = {"clang",
                                        "--no-default-config",
                                        "-fno-integrated-cc1",
                                        "-###",
                                        "-x",
                                        "c",
                                        "-",
                                        "-c",
                                        "-o",
                                        "/dev/null",
                                        NULL};

static bool is_directory(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// ---- Questions ----------------------------------------------------------------------------------

// A program that is run for what it says. Several are run at a time.
struct question {
    const char *argv[12];
    char interpreter[ELF_NAME], file[PATH_ROOM]; // what argv may point to
    struct process out;
    bool answered;
};

static void ask_all(struct question *q, uint32_t count, const struct cpu_dir *dir,
                    const volatile int *stop) {
    for (uint32_t i = 0; i < count; i++)
        q[i].answered = cpu_child(q[i].argv, dir, "", 0, &q[i].out, NULL) == SHOAL_OK;
    for (uint32_t i = 0; i < count; i++) {
        const struct process *p = &q[i].out;
        if (q[i].answered)
            process_wait(&q[i].out, stop);
        q[i].answered =
            q[i].answered && !p->stopped && !p->signal && !p->exit_code && p->talk.length;
    }
}

// ---- The answer ---------------------------------------------------------------------------------

// A list of fields: schema, compiler, kind, version lines, for each file its path, stamp and id,
// for each program that is looked for on PATH its name and where it was, for each place that
// decides what is found its stamp; `unknown` for what could not be found out.
struct probing {
    struct key_record answer;
    uint32_t files;
    struct question *lists; // of the libraries of each program
    uint32_t list_count;
    const char *compiler;
    bool itself;  // it says that no other program stands behind it
    bool scripts; // something that takes part is no program
};

static void unknown(struct probing *p, const char *what) {
    key_add_text(&p->answer, "unknown", what);
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
    char text[FILE_STAMP_ROOM], id[FILE_ID_ROOM];
    file_stamp(path, text);
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

// A file or directory on which it depends what else is found.
static void add_place(struct probing *p, const char *path) {
    char text[FILE_STAMP_ROOM];
    file_stamp(path, text);
    key_add_text(&p->answer, "place", path);
    key_add_text(&p->answer, "stamp", text);
}

static bool is_same_file(const char *a, const char *b) {
    struct stat s, t;
    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static bool is_program(const char *path) {
    struct elf e;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = elf_of_fd(&e, fd);
    if (fd >= 0)
        close(fd);
    return is;
}

// GCC's driver has this word in itself; a program that only runs it has not.
static bool is_gcc_driver(const char *path) {
    enum { DRIVER_MOST = 64 << 20 };
    static const char word[] = "COLLECT_GCC";
    char *bytes = NULL;
    size_t length = 0;
    bool is = file_read(path, DRIVER_MOST, &bytes, &length, NULL) == SHOAL_OK &&
              memmem(bytes, length, word, sizeof word - 1);
    free(bytes);
    return is;
}

// Where the program is found again: by its name on PATH, or in a directory of the compiler's, where
// another could appear.
static void add_way(struct probing *p, const char *name, const char *file) {
    char directory[PATH_ROOM];
    if (strchr(name, '/')) {
        snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(name, '/') - name), name);
        add_place(p, directory);
        return;
    }
    key_add_text(&p->answer, "name", name);
    key_add_text(&p->answer, "at", file);
}

// A file of options.
static void add_specs(struct probing *p, const char *path) {
    char none[ELF_NAME];
    add_file(p, path, none);
}

// A program, and the question which libraries its loader would map.
static void add_program(struct probing *p, const char *path) {
    struct question *q = &p->lists[p->list_count];
    if (p->list_count == QUESTIONS || !process_find(path, q->file, sizeof q->file)) {
        unknown(p, base_name(path));
        return;
    }
    if (p->files) // the first is the compiler, which was found already
        add_way(p, path, q->file);
    p->scripts = p->scripts || !is_program(q->file);
    if (!add_file(p, q->file, q->interpreter) || !q->interpreter[0])
        return;
    q->argv[0] = q->interpreter;
    q->argv[1] = "--list";
    q->argv[2] = q->file;
    p->list_count++;
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
    char *program = NULL, *word, none[ELF_NAME];
    if (next_word(&line, &program))
        add_program(p, program);
    for (bool first = true; next_word(&line, &word); first = false) {
        if (word[0] == '/')
            add_file(p, word, none);
        if (first && !strcmp(word, "-cc1")) // Clang names itself
            p->itself = is_same_file(program, p->compiler);
    }
}

bool cpu_tells_version(const char *line) {
    return strstr(line, " version ") || !strncmp(line, "Target:", 7) ||
           !strncmp(line, "Configured with:", 16);
}

// The driver of GCC, as it was started: by us, or by what stands before it.
static void add_driver(struct probing *p, const char *path) {
    if (is_same_file(path, p->compiler))
        p->itself = is_gcc_driver(p->compiler);
    else
        add_program(p, path);
}

// What a line says besides commands.
static void read_line(struct probing *p, const char *line) {
    static const struct {
        const char *start;
        void (*add)(struct probing *p, const char *path);
    } places[] = {{"COLLECT_GCC=", add_driver},
                  {"Reading specs from ", add_specs},
                  {"Configuration file: ", add_specs},
                  {"System configuration file directory: ", add_place},
                  {"User configuration file directory: ", add_place},
                  {"install: ", add_place}};
    if (cpu_tells_version(line))
        key_add_text(&p->answer, "version", line);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strncmp(line, places[i].start, strlen(places[i].start)))
            places[i].add(p, line + strlen(places[i].start));
}

// What -### printed; NULL: nothing.
static void read_commands(struct probing *p, char *talk) {
    char *rest = NULL;
    bool any = false;
    for (char *line = talk ? strtok_r(talk, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == ' ') {
            add_command(p, line);
            any = true;
        } else
            read_line(p, line);
    }
    if (!any)
        unknown(p, "commands of the compiler");
}

static void ask_libraries(struct probing *p, const struct cpu_dir *dir, const volatile int *stop) {
    ask_all(p->lists, p->list_count, dir, stop);
    for (uint32_t i = 0; i < p->list_count; i++) {
        if (p->lists[i].answered)
            add_libraries(p, p->lists[i].out.talk.data);
        else
            unknown(p, "libraries");
        buf_free(&p->lists[i].out.talk);
    }
}

// The line that names a program; scripts and distcc say something before or after it.
static void add_linker(struct probing *p, char *talk) {
    char *rest = NULL, *program = "linker", file[PATH_ROOM];
    for (char *line = strtok_r(talk, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (process_find(line, file, sizeof file))
            program = line;
    add_program(p, program);
}

// The directory of the compiler's own files, where a file of options could appear.
static void read_places(struct probing *p, char *talk) {
    char *rest = NULL;
    for (char *line = strtok_r(talk, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(p, line);
}

// Where no list of files tells what the compiler is, what it does tells.
static void add_trial(struct probing *p, const struct shoal_device *d, const struct cpu_dir *dir,
                      const volatile int *stop) {
    char digest[65];
    if ((p->itself && !p->scripts) || (stop && *stop))
        return;
    if (cpu_trial(d, dir, stop, digest))
        key_add_text(&p->answer, "trial", digest);
    else
        unknown(p, "what the compiler does");
}

// What a compiler is asked: Zig is its own linker and has no other files.
enum { COMMANDS, LINKER, PLACES, FIRST };
static uint32_t prepare(const struct shoal_device *d, struct question *q) {
    for (int i = 0; i < FIRST; i++)
        q[i].argv[0] = d->compiler;
    if (d->kind == CPU_zig) {
        memcpy(q[COMMANDS].argv + 1, zig_words, sizeof zig_words);
        return COMMANDS + 1;
    }
    memcpy(q[COMMANDS].argv + 1, command_words, sizeof command_words);
    q[LINKER].argv[1] = "-print-prog-name=ld";
    q[PLACES].argv[1] = "-print-search-dirs";
    return FIRST;
}

static void read_answers(struct probing *p, struct question *q, uint32_t asked) {
    read_commands(p, q[COMMANDS].answered ? q[COMMANDS].out.talk.data : NULL);
    if (q[LINKER].answered)
        add_linker(p, q[LINKER].out.talk.data);
    else if (asked > LINKER)
        unknown(p, "linker");
    if (q[PLACES].answered)
        read_places(p, q[PLACES].out.talk.data);
    for (uint32_t i = 0; i < asked; i++)
        buf_free(&q[i].out.talk);
}

// Asks everything. False: stopped, no memory, or no temporary directory.
static bool ask_compiler(const struct shoal_device *d, const volatile int *stop,
                         struct key_record *out) {
    struct question *q = calloc(FIRST + QUESTIONS, sizeof *q);
    struct probing p = {.lists = q + FIRST, .compiler = d->compiler};
    struct cpu_dir dir;
    if (!q || cpu_dir_make(&dir, NULL) != SHOAL_OK) {
        free(q);
        return false;
    }
    uint32_t asked = prepare(d, q);
    key_add_text(&p.answer, "schema", schema);
    key_add_text(&p.answer, "compiler", d->compiler);
    key_add_text(&p.answer, "kind", cpu_kind_name(d->kind));
    add_place(&p, "/etc/ld.so.cache");
    add_place(&p, "/etc/ld.so.preload");
    add_program(&p, d->compiler);
    ask_all(q, asked, &dir, stop);
    read_answers(&p, q, asked);
    ask_libraries(&p, &dir, stop);
    add_trial(&p, d, &dir, stop);
    cpu_dir_remove(&dir);
    free(q);
    *out = p.answer;
    return !(stop && *stop);
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
        else if (!strcmp(f.label, "file") || !strcmp(f.label, "place") || !strcmp(f.label, "name"))
            snprintf(path, sizeof path, "%.*s", (int)f.length, (const char *)f.bytes);
        else if (!strcmp(f.label, "at"))
            same = process_find(path, now, sizeof now) && field_is(&f, now);
        else if (!strcmp(f.label, "stamp")) {
            file_stamp(path, now);
            same = field_is(&f, now);
        }
        if (!same)
            return false;
    }
    return at == answer->length && at > 0;
}

// A compiler that was tried out does what it did then.
static bool acts_the_same(const struct shoal_device *d, const struct buf *answer,
                          const volatile int *stop) {
    char digest[65];
    struct cpu_dir dir;
    struct key_field f = {0};
    size_t at = 0;
    bool tried = false;
    while (!tried && key_next((const unsigned char *)answer->data, answer->length, &at, &f))
        tried = !strcmp(f.label, "trial");
    if (!tried)
        return true;
    if (cpu_dir_make(&dir, NULL) != SHOAL_OK)
        return false;
    bool same = cpu_trial(d, &dir, stop, digest) && field_is(&f, digest);
    cpu_dir_remove(&dir);
    return same;
}

// What an answer is kept under: the compiler as it was asked for, since it may be gone, and what it
// is to compile for, since a trial depends on it.
static void answer_name(const struct shoal_device *d, char name[80]) {
    unsigned char digest[32];
    struct sha256 hash;
    const char *const words[] = {cpu_compiler_wanted(), d->target.name,
                                 d->target.fast_math ? "fast" : ""};
    sha256_init(&hash);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        sha256_add(&hash, words[i], strlen(words[i]) + 1);
    sha256_end(&hash, digest);
    memcpy(name, "cc-", 3);
    sha256_hex(digest, name + 3);
}

bool cpu_probe(const struct shoal_device *d, struct cache *probes, const volatile int *stop,
               struct buf *answer) {
    char name[80];
    struct key_record asked = {0};
    answer_name(d, name);
    bool kept = probes && cache_probe_get(probes, name, answer);
    if (!d->compiler[0] || (kept && still_true(d, answer) && acts_the_same(d, answer, stop)))
        return kept;
    buf_free(answer);
    bool done = ask_compiler(d, stop, &asked);
    *answer = asked.bytes;
    if (probes && done && !answer->failed)
        cache_probe_put(probes, name, answer->data, answer->length);
    return done;
}
