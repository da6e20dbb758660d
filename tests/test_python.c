// SPDX-License-Identifier: MIT
// The Python package: its own tests, python/tests, each file by a Python that is here.
#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *package(void) {
    const char *build = getenv("SHOAL_BUILD");
    static char path[256];
    snprintf(path, sizeof path, "%s/python", build ? build : "build");
    return path;
}

static void run_file(const char *name) {
    char file[128], module[300];
    struct stat s;
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python with NumPy here (tools/setup.sh test installs it)");
    snprintf(module, sizeof module, "%s/shoal/_core.abi3.so", package());
    if (stat(module, &s))
        check_skip("the package was not built: `make python` needs the headers of Python");
    snprintf(file, sizeof file, "python/tests/%s.py", name);
    setenv("PYTHONPATH", package(), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    struct check_output o = RUN(python, "-W", "error::DeprecationWarning:shoal", file, "-v");
    CHECK_MSG(o.status == 0, "%s ends with %d:\n%s%s", file, o.status, o.out, o.err);
    CHECK_HAS(o.err, "\nOK");
}

TEST(python_compiler) { run_file("test_compiler"); }
TEST(python_solve) { run_file("test_solve"); }
TEST(python_solver) { run_file("test_solver"); }
TEST(python_trace) { run_file("test_trace"); }
TEST(python_grids) { run_file("test_grids"); }
TEST(python_examples) { run_file("test_examples"); }
TEST(python_sets) { run_file("test_sets"); }
TEST(python_documented) { run_file("test_documented"); }

TEST(python_types) {
    // mypy may stand beside a Python of its own, without NumPy, and would then know no type of
    // arrays.
    check_write(check_path("sees.py"), "import numpy\n");
    if (RUN("mypy", "--cache-dir", check_path("mypy"), check_path("sees.py")).status)
        check_skip("no mypy that sees NumPy here (tools/setup.sh test installs both)");
    struct check_output o = RUN("mypy", "--cache-dir", check_path("mypy"));
    CHECK_MSG(o.status == 0, "mypy:\n%s%s", o.out, o.err);
    check_write(check_path("wrong.py"), "import shoal\nshoal.devices() + 1\n");
    setenv("MYPYPATH", "python", 1);
    o = RUN("mypy", "--cache-dir", check_path("mypy"), check_path("wrong.py"));
    CHECK_MSG(o.status == 1 && strstr(o.out, "wrong.py:2: error"), "mypy:\n%s%s", o.out, o.err);
}
