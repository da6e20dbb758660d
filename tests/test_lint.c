// SPDX-License-Identifier: MIT
// What looks at the sources and does not run them: format, clang-tidy, the other compiler. The
// commands are targets of the Makefile; each is also given something that it must complain about.
#include "check.h"

#include <unistd.h>

// `make TARGET`, with a variable set; a fresh make, whatever started the tests.
static struct check_output make(const char *target, const char *variable) {
    const char *build = getenv("SHOAL_BUILD");
    char folder[256];
    snprintf(folder, sizeof folder, "BUILD=%s", build ? build : "build");
    unsetenv("MAKEFLAGS");
    unsetenv("MAKELEVEL");
    return variable ? RUN("make", "-s", "-k", folder, target, variable)
                    : RUN("make", "-s", "-k", folder, target);
}

static void need(const char *tool) {
    if (RUN("make", "--version").status || access("Makefile", R_OK))
        check_skip("no make, or no Makefile here");
    if (RUN(tool, "--version").status)
        check_skip("no %s here (tools/setup.sh dev installs it)", tool);
}

static void complains(const char *target, const char *variable, const char *about) {
    struct check_output o = make(target, variable);
    CHECK_MSG(o.status, "make %s finds nothing wrong with %s", target, variable);
    CHECK_MSG(strstr(o.out, about) || strstr(o.err, about), "no \"%s\" in:\n%s%s", about, o.out,
              o.err);
}

static void is_clean(const char *target) {
    struct check_output o = make(target, NULL);
    CHECK_MSG(o.status == 0, "make %s:\n%s%s", target, o.out, o.err);
}

TEST(lint_format) {
    char variable[128];
    need("clang-format");
    if (RUN("git", "ls-files", "--error-unmatch", "Makefile").status)
        check_skip("this is no repository");
    snprintf(variable, sizeof variable, "FORMATTED=%s", check_path("bad.c"));
    check_write(check_path("bad.c"), "int  x ;\n");
    complains("formatted", variable, "clang-format-violations");
    is_clean("formatted");
}

TEST(lint_tidy) {
    need("clang-tidy");
    complains("tidy", "TIDY=tests/fakes/untidy.c", "misc-redundant-expression");
    complains("tidy", "TIDY=tests/fakes/untidy.c", "clang-diagnostic-self-assign");
    is_clean("tidy");
}

// Tests, examples and benchmarks as well.
LONG_TEST(lint_clang) {
    need("clang");
    is_clean("by-clang");
}
