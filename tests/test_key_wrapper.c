// SPDX-License-Identifier: MIT
// Compilers behind scripts and programs that run them: when what they run changes, so does the key.
#include "check.h"
#include "kernels.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

static const char base[] = "x'=-x*0.3+y/7; y'=x*y; x(0)=1; @ t1=1";

static void write_script(const char *name, const char *text) {
    char script[1024];
    snprintf(script, sizeof script, "#!/bin/sh\n%s\n", text);
    check_write(check_path(name), script);
    REQUIRE(chmod(check_path(name), 0700) == 0);
}

// A script that runs another; both stay what they are, but for what the inner one says.
static void use_nested(const char *inner) {
    char outer[256];
    snprintf(outer, sizeof outer, "exec %s \"$@\"", check_path("inner"));
    write_script("inner", inner);
    use_script(outer);
}

static bool has_clang(void) { return RUN("clang", "--version").status == 0; }

// Each of these must be a kernel of its own; and the first is found again.
static void check_all_differ(void (*use)(const char *inner), const char *const *inner, int count) {
    char keys[8][65], again[65];
    for (int i = 0; i < count; i++) {
        use(inner[i]);
        key_of(base, "", keys[i]);
        for (int k = 0; k < i; k++)
            CHECK_MSG(strcmp(keys[i], keys[k]) != 0, "'%s' and '%s'", inner[i], inner[k]);
    }
    use(inner[0]);
    key_of(base, "", again);
    CHECK_STR(again, keys[0]);
}

TEST(key_wrapper_inner_script) {
    const char *const inner[] = {"exec gcc \"$@\"", "exec gcc -ffast-math \"$@\"",
                                 "exec gcc -fno-signed-zeros \"$@\"", "exec gcc \"$@\" -DSOMETHING",
                                 "exec clang \"$@\""};
    check_all_differ(use_nested, inner, has_clang() ? 5 : 4);
}

// One that tells nobody: it adds options only where it really compiles, assembles or links.
TEST(key_wrapper_that_hides) {
#define ASKED "case \"$*\" in *-###*|*-print-*|*-dM*) exec gcc \"$@\";; esac; "
    static const char *const inner[] = {
        ASKED "exec gcc \"$@\"", ASKED "exec gcc \"$@\" -ffast-math", ASKED "exec gcc \"$@\" -O1",
        ASKED "exec gcc \"$@\" -Wl,--defsym,more=1"};
    check_all_differ(use_nested, inner, 4);
}

static void use_setting(const char *setting) {
    char script[512];
    check_write(check_path("setting"), setting);
    snprintf(script, sizeof script, "exec gcc $(cat %s) \"$@\"", check_path("setting"));
    use_script(script);
}

TEST(key_wrapper_with_settings) {
    static const char *const settings[] = {"-Wall", "-ffast-math", "-fno-inline"};
    check_all_differ(use_setting, settings, 3);
}

// A program that runs what a file says, and calls itself the compiler or not.
static const char runner_text[] =
    "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
    "int main(int argc, char **argv) {\n"
    "    char line[256] = \"\"; char *to[256] = {0}; int n = 0;\n"
    "    FILE *f = fopen(SETTING, \"r\");\n"
    "    if (!f || !fgets(line, sizeof line, f) || argc > 200) return 3;\n"
    "    line[strcspn(line, \"\\n\")] = 0;\n"
    "    char *options = strchr(line, ' ');\n"
    "    if (options) *options++ = 0;\n"
    "    to[n++] = KEEP ? argv[0] : line;\n"
    "    if (options) to[n++] = options;\n"
    "    for (int i = 1; i < argc; i++) to[n++] = argv[i];\n"
    "    execv(line, to);\n"
    "    return 4;\n"
    "}\n";

static void make_runner(const char *name, bool keeps_name) {
    char setting[128];
    snprintf(setting, sizeof setting, "-DSETTING=\"%s\"", check_path("setting"));
    check_write(check_path("runner.c"), runner_text);
    REQUIRE(RUN("cc", setting, keeps_name ? "-DKEEP=1" : "-DKEEP=0", "-o", check_path(name),
                check_path("runner.c"))
                .status == 0);
}

static void use_runner(const char *setting) {
    check_write(check_path("setting"), setting);
    setenv("SHOAL_CC", check_path("runner"), 1);
}

TEST(key_wrapper_program) {
    static const char *const settings[] = {"/usr/bin/gcc", "/usr/bin/gcc -ffast-math",
                                           "/usr/bin/clang"};
    if (access("/usr/bin/gcc", X_OK) < 0)
        check_skip("no /usr/bin/gcc");
    make_runner("runner", false);
    check_all_differ(use_runner, settings, access("/usr/bin/clang", X_OK) == 0 ? 3 : 2);
}

// GCC does not find its parts under another name, and then nothing is kept; Clang does.
TEST(key_wrapper_program_of_the_same_name) {
    static const char *const settings[] = {"/usr/bin/clang", "/usr/bin/clang -ffast-math"};
    make_runner("runner", true);
    use_runner("/usr/bin/gcc");
    CHECK_HAS(RUN(check_shoal(), "cache", "doctor").out, "its kernels are not kept");
    if (access("/usr/bin/clang", X_OK) < 0)
        check_skip("no /usr/bin/clang");
    check_all_differ(use_runner, settings, 2);
}

// As ccache and distcc are used: a link called like the compiler, by its path or first on PATH.
static void use_link(const char *setting) { check_write(check_path("setting"), setting); }

TEST(key_wrapper_by_link) {
    static const char *const settings[] = {"/usr/bin/gcc", "/usr/bin/gcc -ffast-math"};
    char path[4096];
    if (access("/usr/bin/gcc", X_OK) < 0)
        check_skip("no /usr/bin/gcc");
    make_runner("ccache", false);
    mkdir(check_path("bin"), 0700);
    CHECK_INT(symlink("../ccache", check_path("bin/gcc")), 0);
    setenv("SHOAL_CC", check_path("bin/gcc"), 1);
    check_all_differ(use_link, settings, 2);
    snprintf(path, sizeof path, "%s:%s", check_path("bin"), getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("SHOAL_CC", "gcc", 1);
    check_all_differ(use_link, settings, 2);
}

// The real ones, where they are installed.
static void check_installed(const char *name) {
    char path[64], plain[65], key[65];
    snprintf(path, sizeof path, "/usr/bin/%s", name);
    if (access(path, X_OK) < 0)
        check_skip("no %s", name);
    mkdir(check_path("bin"), 0700);
    CHECK_INT(symlink(path, check_path("bin/gcc")), 0);
    setenv("SHOAL_CC", check_path("bin/gcc"), 1);
    key_of(base, "", key);
    struct made m = make_solver(base, "", false, NULL);
    CHECK_INT(m.code, SHOAL_OK);
    made_free(&m);
    m = make_solver(base, "", false, NULL);
    CHECK_STR(span_says(m.log, "cache_lookup", "result"), "hit");
    made_free(&m);
    setenv("SHOAL_CC", "gcc", 1);
    key_of(base, "", plain);
    CHECK(strcmp(key, plain) != 0);
}
TEST(key_wrapper_ccache) { check_installed("ccache"); }
TEST(key_wrapper_distcc) { check_installed("distcc"); }

// The compiler is a program, its assembler is a script that runs another.
static void use_assembler(const char *inner) {
    char outer[256];
    static char path[8192];
    write_script("inner", inner);
    mkdir(check_path("bin"), 0700);
    snprintf(outer, sizeof outer, "exec %s \"$@\"", check_path("inner"));
    write_script("bin/as", outer);
    if (!path[0])
        snprintf(path, sizeof path, "%s:%s", check_path("bin"), getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("SHOAL_CC", "gcc", 1);
}

TEST(key_wrapper_of_the_assembler) {
    static const char *const inner[] = {"exec /usr/bin/as \"$@\"",
                                        "exec /usr/bin/as --defsym more=1 \"$@\""};
    if (access("/usr/bin/as", X_OK) < 0)
        check_skip("no /usr/bin/as");
    check_all_differ(use_assembler, inner, 2);
}

// The same wrapper gives the same key wherever one is, and its kernels are found.
TEST(key_wrapper_is_kept) {
    const char *const scripts[] = {"exec gcc \"$@\"", "echo $$ >&2; exec gcc \"$@\"",
                                   "exec clang \"$@\""};
    for (int i = 0; i < (has_clang() ? 3 : 2); i++) {
        use_nested(scripts[i]);
        struct made m = make_solver(base, "", false, NULL);
        CHECK_INT(m.code, SHOAL_OK);
        if (i == 1) // it talks, but makes the same
            CHECK_STR(span_says(m.log, "cache_lookup", "result"), "hit");
        else
            CHECK_STR(span_says(m.log, "cache_store", "result"), "stored");
        made_free(&m);
        REQUIRE(chdir(i % 2 ? "/" : check_dir()) == 0);
        mkdir(check_path("tmp"), 0700);
        setenv("TMPDIR", check_path("tmp"), 1);
        m = make_solver(base, "", false, NULL);
        CHECK_STR(span_says(m.log, "cache_lookup", "result"), "hit");
        made_free(&m);
        unsetenv("TMPDIR");
    }
}

// What changes while it compiles is not kept under the key of what was.
TEST(key_wrapper_changes_meanwhile) {
    char inner[1024];
    snprintf(inner, sizeof inner,
             "gcc $(cat %s) \"$@\" || exit 1; "
             "case \"$*\" in *-###*) ;; *SHOAL_PART=1*) echo -ffast-math > %s;; esac",
             check_path("setting"), check_path("setting"));
    check_write(check_path("setting"), "-Wall");
    use_nested(inner);
    struct made m = make_solver(base, "", false, NULL);
    CHECK_INT(m.code, SHOAL_OK);
    CHECK_STR(span_says(m.log, "cache_store", "reason"), "bypass:compiler-changed");
    made_free(&m);
    CHECK_INT(kernels_kept(), 0);
}

// A compiler that is a program of its own is asked once, and not tried out.
TEST(key_wrapper_none) {
    static const char *const compilers[] = {"gcc", "clang", "cc"};
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (RUN(compilers[i], "--version").status != 0)
            continue;
        setenv("SHOAL_CC", compilers[i], 1);
        struct check_output o = RUN(check_shoal(), "cache", "doctor");
        CHECK_HAS(o.out, "cpu version");
        CHECK_MSG(!strstr(o.out, "cpu trial"), "%s is tried out: %s", compilers[i], o.out);
    }
    use_nested("exec gcc \"$@\"");
    CHECK_HAS(RUN(check_shoal(), "cache", "doctor").out, "cpu trial");
}
