// SPDX-License-Identifier: MIT
// What a compiler does with our own command lines, found out by asking it and by a trial.
//
// A compiler that is a script, or stands behind ccache, distcc or the like, becomes another without
// a change in any file that we know of: what it runs is in its own settings. So it is tried out
// each time, with the arguments that kernels are compiled with: which programs it would run with
// which options, what it defines by itself, and what it makes of a text in which every liberty
// shows that a compiler can take with numbers. The text comes on stdin, as kernels do: what ccache
// keeps, or what distcc would send to another machine, takes no part.
#include "device/cpu/cpu.h"

#include "base/sha256.h"

#include <stdlib.h>
#include <string.h>

// Contraction, order of sums, reciprocals, NaN and signs of zero, square roots, widths, loops.
static const char text[] =
    "double contract(double a, double b, double c) { return a * b + c; }\n"
    "double order(double a, double b) { return (a + b) - a; }\n"
    "double reciprocal(double a, double b, double c) { return a / b / c; }\n"
    "double constant(double a) { return a / 3; }\n"
    "double zero(double a) { return a - a + 0 * a; }\n"
    "int nan(double a, double b) { return a != a || !(a < b || a >= b); }\n"
    "double root(double a) { return __builtin_sqrt(a) * __builtin_sqrt(a); }\n"
    "float narrow(float a, float b) { return (float)((double)a * b); }\n"
    "double sum(const double *p) { double s = 0; for (int i = 0; i < 64; i++) s += p[i]; return s; "
    "}\n"
    "void add(double *p, const double *q) { for (int i = 0; i < 64; i++) p[i] += q[i]; }\n";

enum { COMPILE_COMMANDS, LINK_COMMANDS, MACROS, OBJECT, CHILDREN };

struct child {
    const char *argv[CPU_ARGS + 4];
    const char *input;
    struct process out;
    bool good;
};

static void add(const char **argv, const char *word) {
    while (*argv)
        argv++;
    *argv = word;
}

// The words of a command; without its output and -c, where only the preprocessor is to run.
static void copy_command(const char **argv, const char *const *from, bool preprocess) {
    for (; *from; from++)
        if (preprocess && !strcmp(*from, "-o") && from[1])
            from++;
        else if (!preprocess || strcmp(*from, "-c") != 0)
            add(argv, *from);
}

static void start(struct child *c, const struct cpu_dir *dir) {
    const char *input = c->input ? c->input : "";
    c->good = cpu_child(c->argv, dir, input, strlen(input), &c->out, NULL) == SHOAL_OK;
}

static void finish(struct child *c, const volatile int *stop) {
    if (!c->good)
        return;
    process_wait(&c->out, stop);
    c->good = !c->out.stopped && !c->out.signal && !c->out.exit_code;
}

// A line in which the names of temporary files are left out.
static void hash_line(struct sha256 *hash, const char *line, const char *temporary) {
    size_t n = strlen(temporary);
    for (; *line; line++) {
        if (!strncmp(line, temporary, n)) {
            line += n;
            line += strcspn(line, " \"',:");
            sha256_add(hash, "TMP", 3);
        }
        if (!*line)
            break;
        sha256_add(hash, line, 1);
    }
    sha256_add(hash, "\n", 1);
}

// The lines that are commands, versions or definitions; whatever else a script says may change.
// False when there is none.
static bool hash_talk(struct sha256 *hash, char *talk, const char *temporary) {
    char *rest = NULL;
    bool any = false;
    for (char *line = talk ? strtok_r(talk, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        if (line[0] == ' ' || !strncmp(line, "#define ", 8)) {
            hash_line(hash, line, temporary);
            any = true;
        } else if (cpu_tells_version(line))
            hash_line(hash, line, temporary);
    return any;
}

// Links what was compiled; false when nothing came of it.
static bool hash_object(struct sha256 *hash, const struct cpu_commands *c,
                        const struct cpu_dir *dir, const volatile int *stop) {
    struct child link = {0};
    struct shoal_bytes bytes = {0};
    copy_command(link.argv, c->link, false);
    start(&link, dir);
    finish(&link, stop);
    if (link.good)
        cpu_dir_read(dir, CPU_KERNEL_FILE, &bytes);
    sha256_add(hash, bytes.data, bytes.length);
    buf_free(&link.out.talk);
    free(bytes.data);
    return bytes.length > 0;
}

static void prepare(struct child *children, const struct cpu_commands *c) {
    copy_command(children[COMPILE_COMMANDS].argv, c->compile[0], false);
    add(children[COMPILE_COMMANDS].argv, "-###");
    copy_command(children[LINK_COMMANDS].argv, c->link, false);
    add(children[LINK_COMMANDS].argv, "-###");
    copy_command(children[MACROS].argv, c->compile[0], true);
    add(children[MACROS].argv, "-E");
    add(children[MACROS].argv, "-dM");
    copy_command(children[OBJECT].argv, c->compile[0], false);
    children[OBJECT].input = text;
}

bool cpu_trial(const struct shoal_device *d, const struct cpu_dir *dir, const volatile int *stop,
               char digest[65]) {
    const struct shoal_kernel_text kernel = {.text = text, .one_unit = true};
    struct child *children = calloc(CHILDREN, sizeof *children);
    struct cpu_commands c;
    struct sha256 hash;
    unsigned char sum[32];
    bool good = children != NULL;
    if (!good)
        return false;
    cpu_commands(d, &kernel, &c);
    prepare(children, &c);
    sha256_init(&hash);
    for (int i = 0; i < CHILDREN; i++)
        if (i != LINK_COMMANDS)
            start(&children[i], dir);
    finish(&children[OBJECT], stop);
    start(&children[LINK_COMMANDS], dir); // clang leaves out an object that is not there
    for (int i = 0; i < CHILDREN; i++) {
        if (i != OBJECT)
            finish(&children[i], stop);
        good = good && children[i].good &&
               (i == OBJECT || hash_talk(&hash, children[i].out.talk.data, dir->path));
        buf_free(&children[i].out.talk);
    }
    good = good && hash_object(&hash, &c, dir, stop);
    sha256_end(&hash, sum);
    sha256_hex(sum, digest);
    free(children);
    return good;
}
