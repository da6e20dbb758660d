// SPDX-License-Identifier: MIT
// Zig as the compiler, which pip installs where there is no other: its command lines, by a stand-in
// of another Clang, and by itself where it is installed.
#include "check.h"
#include "device/cpu/cpu.h"
#include "kernels.h"

#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

// sin needs a library, the rest shows a difference in any bit.
static const char pendulum[] = "par k=1.3; init x=1, v=0; x'=v; v'=-k*sin(x)+exp(-t)/3; @ t1=5";

static const char *joined(const char *const *argv) {
    struct buf text = {0};
    for (; *argv; argv++)
        buf_printf(&text, "%s ", *argv);
    return check_keep(text.data);
}

TEST(zig_kind) {
    static const char *const names[] = {"zig", "ziggy", "x86_64-linux-gnu-gcc-12", "clang"};
    static const enum cpu_kind kinds[] = {CPU_zig, CPU_other, CPU_gcc, CPU_other};
    for (int i = 0; i < 4; i++) {
        check_write(check_path(names[i]), "");
        CHECK_INT(cpu_kind_of(check_path(names[i])), kinds[i]);
        const char *name = cpu_kind_name(kinds[i]);
        CHECK_INT(cpu_kind_named(name, strlen(name)), kinds[i]);
    }
    CHECK_INT(symlink("zig", check_path("cc")), 0);
    CHECK_INT(cpu_kind_of(check_path("cc")), CPU_zig);
    CHECK_INT(cpu_kind_of("/nowhere/zig"), CPU_other);
    CHECK_INT(cpu_kind_named("zi", 2), CPU_other);
}

// Options of Clang and of its linker, not of `zig cc`; libraries by where they are.
TEST(zig_command_lines) {
    const struct shoal_kernel_text k = {.text = "", .needs_libm = true, .digest = "d1"};
    struct shoal_device d = {.compiler = "/pip/zig", .kind = CPU_zig};
    struct cpu_commands c;
    setenv("SHOAL_MATH", "libm", 1);
    REQUIRE(cpu_target_named(&d, "scalar"));
    cpu_commands(&d, &k, &c);
    CHECK_INT(c.units, 2);
    const char *compile = joined(c.compile[0]), *link = joined(c.link);
    CHECK(!strncmp(compile, "/pip/zig clang --target=", 24));
    CHECK_HAS(compile, "-linux-gnu --no-default-config -march=");
    CHECK_HAS(compile, " -ffp-contract=off ");
    CHECK(!strstr(compile, "-fno-tree-pta"));
    CHECK(!strncmp(link, "/pip/zig ld.lld -shared -nostdlib ./hot.o ./cold.o -soname=", 59));
    CHECK_HAS(link, "/libm.so.6 -o ./kernel.so");
    CHECK(!strstr(link, "-l:") && !strstr(link, "-Wl"));
    d.kind = CPU_gcc;
    cpu_commands(&d, &k, &c);
    CHECK_HAS(joined(c.link), "-Wl,-soname,shoal-kernel.scalar -l:libm.so.6 -o");
    cpu_target_free(&d);
}

static uint32_t run_by(const char *compiler, double values[8]) {
    setenv("SHOAL_CC", compiler, 1);
    struct made m = make_solver(pendulum, "", false, NULL);
    CHECK_INT(m.code, SHOAL_OK);
    REQUIRE(m.solver);
    uint32_t count = run_one(&m, values);
    made_free(&m);
    return count;
}

static void check_as_cc(const char *zig) {
    double want[8], got[8];
    uint32_t count = run_by("cc", want);
    CHECK_INT(run_by(zig, got), count);
    CHECK(!memcmp(got, want, count * sizeof *got));
}

// The same words are those of any Clang and linker. A script can become another: it is tried out.
TEST(zig_of_another_clang) {
    const char *zig = check_path("zig");
    if (access("/usr/bin/clang", X_OK) < 0 || access("/usr/bin/ld", X_OK) < 0)
        check_skip("no /usr/bin/clang and ld");
    check_write(zig,
                "#!/bin/sh\ntool=$1\nshift\ncase $tool in\n"
                "clang) for word; do shift; [ \"$word\" = --no-default-config ] || "
                "set -- \"$@\" \"$word\"; done; exec /usr/bin/clang \"$@\";;\n" // which may be old
                "ld.lld) exec /usr/bin/ld \"$@\";;\nesac\nexit 1\n");
    REQUIRE(chmod(zig, 0700) == 0);
    check_as_cc(zig);
}

TEST(zig_of_pip) {
    char key[65], other[65];
    const char *python = check_python("ziglang");
    if (!python)
        check_skip("no ziglang here (pip install ziglang)");
    struct check_output o = RUN(
        python, "-c", "import os, ziglang; print(os.path.dirname(ziglang.__file__), end='/zig')");
    REQUIRE(o.status == 0);
    const char *zig = check_keep(strdup(o.out));
    check_as_cc(zig);
    CHECK_INT(kernels_kept(), 2);
    key_of(pendulum, "", key);
    struct check_output doctor = RUN(check_shoal(), "cache", "doctor");
    CHECK_HAS(doctor.out, "clang version");
    CHECK(!strstr(doctor.out, "are not kept"));
    setenv("SHOAL_CC", "cc", 1);
    key_of(pendulum, "", other);
    CHECK(strcmp(key, other) != 0);
}
