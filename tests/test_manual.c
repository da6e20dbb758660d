// SPDX-License-Identifier: MIT
// The manual page, completions and what is installed: made from the tables, so they name all that
// the tables do, and other programs can read them.
#include "check.h"

#include "shoal/shoal.h"

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static bool has_program(const char *name) {
    return RUN("sh", "-c", "command -v \"$0\" >/dev/null", name).status == 0;
}

TEST(manual_names_everything) {
    struct check_output o = SHOAL("man");
    char *plain = strdup(o.out);
    CHECK_INT(o.status, 0);
    size_t n = 0;
    for (const char *p = o.out; *p; p++) // without its escapes
        if (p[0] != '\\' || p[1] != '-')
            plain[n++] = *p;
    plain[n] = 0;
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info option = shoal_option_at(i);
        char name[64];
        snprintf(name, sizeof name, "\\fB--%s\\fR", option.name);
        CHECK_MSG(strstr(plain, name) != NULL, "%s", name);
    }
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        CHECK_HAS(plain, shoal_status_word(i));
    CHECK_HAS(plain, "SHOAL_CACHE_DIR");
    CHECK_HAS(plain, "cache explain");
    free(plain);
}

TEST(manual_is_read_without_warnings) {
    if (!has_program("groff"))
        check_skip("no groff to read the page with");
    const char *page = check_path("shoal.1");
    check_write(page, SHOAL("man").out);
    struct check_output o = RUN("groff", "-man", "-ww", "-z", page);
    CHECK_INT(o.status, 0);
    CHECK_STR(o.err, "");
    o = RUN("groff", "-man", "-Tascii", page);
    CHECK_HAS(o.out, "--only-runs"); // dashes, not hyphens
}

// What bash offers for a line; the last word is the one that is completed.
static const char *offers(const char *line) {
    static const char *completions;
    completions = completions ? completions : SHOAL("completions", "bash").out;
    const char *script =
        "eval \"$0\"; eval \"COMP_WORDS=($1)\"; COMP_CWORD=$((${#COMP_WORDS[@]}-1)); "
        "_shoal; printf '%s ' \"${COMPREPLY[@]}\"";
    struct check_output o = RUN("bash", "-c", script, completions, line);
    CHECK_INT(o.status, 0);
    CHECK_STR(o.err, "");
    return o.out;
}

TEST(completions_in_bash) {
    if (!has_program("bash"))
        check_skip("no bash");
    CHECK_HAS(offers("shoal ''"), "run info source warm calibrate cache ");
    CHECK(!strstr(offers("shoal ''"), "completions")); // hidden
    CHECK_STR(offers("shoal cache ex"), "explain export ");
    CHECK_STR(offers("shoal run --only"), "--only-runs ");
    CHECK_STR(offers("shoal info --only"), " ");
    CHECK_STR(offers("shoal cache clear --ol"), "--older-than ");
    CHECK_STR(offers("shoal run m.ode --method rodas5"), "rodas5p ");
    CHECK_STR(offers("shoal run m.ode --method = rodas5"), "rodas5p ");
    CHECK_STR(offers("shoal run --save e"), "every= ");
    CHECK_STR(offers("shoal plot README.m"), "README.md ");
    CHECK_STR(offers("shoal plot r.npz --shade ''"), "log equal linear ");
    CHECK_STR(offers("shoal run --device ''"), "auto cpu cuda opencl ");
    CHECK_STR(offers("shoal run README.m"), "README.md ");
    CHECK_STR(offers("shoal run -o README.m"), "README.md ");
    CHECK_STR(offers("shoal run --cache README.m"), " "); // a directory
    CHECK_STR(offers("shoal run --rtol README.m"), " ");  // a number
    CHECK_STR(offers("shoal help ca"), "calibrate cache cash-karp-54 ");
    CHECK_STR(offers("shoal help rt"), "rtol ");
    CHECK_STR(offers("shoal help rodas5"), "rodas5p ");
    CHECK_STR(offers("shoal help nonf"), "nonfinite ");
    CHECK_STR(offers("shoal help SHOAL_NV"), "SHOAL_NVRTC ");
    CHECK_STR(offers("shoal completions ''"), "bash zsh fish ");
}

TEST(completions_in_fish_and_zsh) {
    struct check_output o = SHOAL("completions", "tcsh");
    CHECK_INT(o.status, 2);
    check_write(check_path("shoal.fish"), SHOAL("completions", "fish").out);
    check_write(check_path("_shoal"), SHOAL("completions", "zsh").out);
    bool fish = has_program("fish"), zsh = has_program("zsh");
    if (zsh) {
        o = RUN("zsh", "-n", check_path("_shoal"));
        CHECK_INT(o.status, 0);
        CHECK_STR(o.err, "");
    }
    if (fish) {
        setenv("HOME", check_dir(), 1);
        o = RUN("fish", "-c", "source $argv[1]; complete -C 'shoal run --only'",
                check_path("shoal.fish"));
        CHECK_HAS(o.out, "--only-runs\tpart of the batch");
        o = RUN("fish", "-c", "source $argv[1]; complete -C 'shoal run --precision f'",
                check_path("shoal.fish"));
        CHECK_HAS(o.out, "f64");
        o = RUN("fish", "-c", "source $argv[1]; complete -C 'shoal help rt'",
                check_path("shoal.fish"));
        CHECK_STR(o.out, "rtol\n");
        o = RUN("fish", "-c", "source $argv[1]; complete -C 'shoal completions z'",
                check_path("shoal.fish"));
        CHECK_STR(o.out, "zsh\n");
    }
    if (!fish || !zsh)
        check_skip("no fish or no zsh");
}

// Everything is put under the prefix, and taken away again.
TEST(install_and_uninstall) {
    static const char *const files[] = {"bin/shoal",
                                        "lib/libshoal.so.0",
                                        "lib/pkgconfig/shoal.pc",
                                        "include/shoal/shoal.h",
                                        "share/man/man1/shoal.1",
                                        "share/bash-completion/completions/shoal",
                                        "share/zsh/site-functions/_shoal",
                                        "share/fish/vendor_completions.d/shoal.fish",
                                        "share/doc/shoal/README.md",
                                        "share/doc/shoal/docs/language.md",
                                        "share/doc/shoal/examples/lorenz.ode"};
    const char *build = getenv("SHOAL_BUILD");
    const char *script = "unset MAKEFLAGS MFLAGS MAKELEVEL; "
                         "exec make -s $0 BUILD=\"$1\" DESTDIR=\"$2\" PREFIX=/usr";
    struct check_output o =
        RUN("sh", "-c", script, "install", build ? build : "build", check_path("root dir"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "root dir/usr/%s", files[i]);
        CHECK_MSG(RUN("test", "-s", check_path(path)).status == 0, "%s", path);
    }
    o = RUN("sh", "-c", script, "uninstall", build ? build : "build", check_path("root dir"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_STR(RUN("find", check_path("root dir"), "!", "-type", "d").out, "");
}
