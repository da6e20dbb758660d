// SPDX-License-Identifier: MIT
// How source files look, where no formatter looks: each opens with what it is, and no rule between
// sections is broken over two lines.
#include "check.h"

#include <ftw.h>

enum { FOLDERS_DEEP = 16 };

static bool is_source(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h"));
}

static size_t files;

static int check_file(const char *path, const struct stat *s, int flag, struct FTW *ftw) {
    static const char licence[] = "// SPDX-License-Identifier: MIT\n";
    (void)s, (void)ftw;
    char *text = flag == FTW_F && is_source(path) ? check_read(path) : NULL;
    if (!text)
        return 0;
    files++;
    CHECK_MSG(!strncmp(text, licence, strlen(licence)), "%s has no SPDX line", path);
    const char *second = strchr(text, '\n');
    CHECK_MSG(second && !strncmp(second + 1, "// ", 3), "%s does not say what it is", path);
    for (const char *rule = text; (rule = strstr(rule, "\n// ---- ")); rule++) {
        const char *next = strchr(rule + 1, '\n');
        CHECK_MSG(next && next[-1] == '-' && strncmp(next, "\n// --", 6),
                  "%s has a broken rule: %.60s", path, rule + 1);
    }
    free(text);
    return 0;
}

TEST(sources_say_what_they_are) {
    static const char *const folders[] = {"include", "src",   "kernels", "cli",     "mpi",
                                          "libexec", "tests", "bench",   "examples"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CHECK_INT(nftw(folders[i], check_file, FOLDERS_DEEP, FTW_PHYS), 0);
    CHECK_MSG(files > 200, "only %zu files", files);
}
