// SPDX-License-Identifier: MIT
// Every #include goes downwards: what runs kernels knows nothing of what they compute, and engines
// do not know each other. The table below is the tree.
#include "check.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

// A folder may include itself, and what starts with one of these words. Folders below one that is
// not listed itself follow its row.
#define RUNTIME "src/base src/log src/cache src/device src/kernel src/result src/dispatch"
static const struct {
    const char *folder, *may;
} tree[] = {
    {"include/shoal", ""},
    {"src/base", "include/shoal/shoal.h"},
    {"src/log", "include/shoal/shoal.h src/base"},
    {"src/cache", "include/shoal src/base src/log"},
    {"src/device", "include/shoal kernels/dialect src/base src/log src/cache"},
    {"src/kernel", "include/shoal kernels/dialect src/base src/log src/cache src/device"},
    {"src/result", "include/shoal src/base src/log"},
    {"src/dispatch", "include/shoal kernels/dialect " RUNTIME},
    {"src/ode/model", "include/shoal kernels " RUNTIME},
    {"src/ode/symbolic", "include/shoal kernels src/ode/model " RUNTIME},
    {"src/ode/method", "include/shoal kernels src/ode/model src/ode/symbolic " RUNTIME},
    {"src/ode/codegen",
     "include/shoal kernels src/ode/model src/ode/symbolic src/ode/method " RUNTIME},
    {"src/ode/batch", "include/shoal kernels src/ode/model src/ode/symbolic src/ode/method "
                      "src/ode/codegen " RUNTIME},
    {"src/ode/run", "include/shoal kernels src/ode " RUNTIME},
    {"src/grid", "include/shoal kernels " RUNTIME},
    {"src/io", "include/shoal " RUNTIME},
    {"src/plot", "include/shoal/shoal.h src/base src/log src/result src/io"},
    {"src/api", "include/shoal src/ode src/grid src/io " RUNTIME},
    {"kernels/dialect", ""},
    {"kernels/ode", "kernels/dialect"},
    {"kernels/summary", "kernels/dialect kernels/ode"},
    {"kernels/grid", "kernels/dialect"},
    {"libexec",
     "src/base src/io src/device"}, // a part of the library that runs as a process of its own
    {"cli", "include/shoal/shoal.h"},
    {"mpi", "include/shoal/shoal.h cli"},
    {"python", "include/shoal/shoal.h"},
    {"examples", "include/shoal/shoal.h"},
    {"bench", "include/shoal/shoal.h"},
};
enum { FOLDERS = sizeof tree / sizeof *tree };

// The path is the folder, or below it.
static bool is_in(const char *path, const char *folder, size_t length) {
    return !strncmp(path, folder, length) && (!path[length] || path[length] == '/');
}

// The row of the tree that a file belongs to; FOLDERS when there is none.
static size_t row_of(const char *file) {
    size_t row = 0;
    while (row < FOLDERS && !is_in(file, tree[row].folder, strlen(tree[row].folder)))
        row++;
    return row;
}

static bool allowed(size_t row, const char *included) {
    if (is_in(included, tree[row].folder, strlen(tree[row].folder)))
        return true;
    for (const char *word = tree[row].may; *word; word += strcspn(word, " ")) {
        word += strspn(word, " ");
        if (is_in(included, word, strcspn(word, " ")))
            return true;
    }
    return false;
}

// What a name means, from the root: next to the file (in quotes), or in the folders of -I.
static bool resolve(const char *file, const char *name, bool quoted, char out[PATH_MAX]) {
    const char *slash = strrchr(file, '/');
    char beside[PATH_MAX], root[PATH_MAX], place[PATH_MAX];
    snprintf(beside, sizeof beside, "%.*s", slash ? (int)(slash - file) : 0, file);
    const char *const places[] = {beside, "src", "include"};
    REQUIRE(realpath(".", root));
    for (size_t i = quoted ? 0 : 1; i < sizeof places / sizeof *places; i++) {
        char *path = NULL;
        REQUIRE(asprintf(&path, "%s/%s", places[i], name) > 0);
        bool found = realpath(path, place) && is_in(place, root, strlen(root));
        free(path);
        if (found) {
            snprintf(out, PATH_MAX, "%s", place + strlen(root) + 1);
            return true;
        }
    }
    return false;
}

struct found {
    uint32_t files, includes, wrong;
    bool quiet;
};

static void judge(struct found *f, const char *file, const char *included) {
    size_t row = row_of(file);
    f->includes++;
    if (row < FOLDERS && allowed(row, included))
        return;
    f->wrong++;
    if (!f->quiet)
        check_fail(__FILE__, __LINE__, "%s must not include %s", file, included);
}

static void read_includes(struct found *f, const char *file) {
    char *text = check_read(file);
    REQUIRE(text);
    f->files++;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        char name[128], place[PATH_MAX], mark;
        line += strspn(line, "\n");
        if (sscanf(line, " # include %c%127[^\">]", &mark, name) != 2)
            continue;
        if (resolve(file, name, mark == '"', place))
            judge(f, file, place);
        else if (mark == '"')
            check_fail(__FILE__, __LINE__, "%s includes %s, which is nowhere", file, name);
    }
    free(text);
}

static void read_folder(struct found *f, const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        char *path = NULL;
        struct stat s;
        REQUIRE(asprintf(&path, "%s/%s", folder, e->d_name) > 0);
        const char *end = strrchr(e->d_name, '.');
        if (e->d_name[0] != '.' && stat(path, &s) == 0 && S_ISDIR(s.st_mode)) {
            read_folder(f, path);
        } else if (end && end != e->d_name && strspn(end, ".ch") == 2 && !end[2]) {
            CHECK_MSG(row_of(path) < FOLDERS, "%s is in a folder that the tree does not have",
                      path);
            read_includes(f, path);
        }
        free(path);
    }
    closedir(dir);
}

TEST(tree_includes_go_downwards) {
    static const char *const roots[] = {"include",  "src",   "kernels", "libexec", "cli",
                                        "examples", "bench", "python",  "mpi"};
    struct found f = {0};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        read_folder(&f, roots[i]);
    CHECK_MSG(f.files > 200 && f.includes > 300, "%u includes in %u files", f.includes, f.files);
}

// What the test above would find.
TEST(tree_sees_what_goes_upwards) {
    static const char *const wrong[][2] = {
        {"src/base/buf.c", "src/log/log.h"},
        {"src/device/cuda/run.c", "kernels/ode/control.h"},
        {"src/device/cuda/run.c", "src/kernel/kernel.h"},
        {"src/result/table.c", "src/cache/key.h"},
        {"src/ode/model/copy.c", "src/ode/modeling.h"},
        {"src/ode/model/copy.c", "src/ode/symbolic/dag.h"},
        {"src/ode/run/run.c", "src/io/io.h"},
        {"src/ode/run/run.c", "src/grid/plan.h"},
        {"src/io/csv_sink.c", "src/ode/model/model.h"},
        {"src/plot/plot.c", "src/dispatch/pool.h"},
        {"src/plot/plot.c", "src/api/options.h"},
        {"kernels/dialect/quick.h", "kernels/ode/abi.h"},
        {"cli/run.c", "src/base/buf.h"},
        {"cli/run.c", "include/shoal/backend.h"},
        {"src/elsewhere/a.c", "src/base/buf.h"},
    };
    enum { WRONG = sizeof wrong / sizeof *wrong };
    struct found f = {.quiet = true};
    for (size_t i = 0; i < WRONG; i++)
        judge(&f, wrong[i][0], wrong[i][1]);
    CHECK_INT(f.wrong, WRONG);
    judge(&f, "src/ode/run/run.c", "src/ode/batch/batch.h");
    judge(&f, "src/device/cpu/run.c", "kernels/dialect/head.h");
    CHECK_INT(f.wrong, WRONG);
}
