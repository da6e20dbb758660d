// SPDX-License-Identifier: MIT
// What a program that links the library sees of it: public names and nothing else, in the archive
// and in the shared object; and a program that has names of its own which the library has inside.
#include "check.h"

#include "shoal/shoal.h"

#include <ctype.h>
#include <unistd.h>

static const char *built(const char *name) {
    const char *folder = getenv("SHOAL_BUILD");
    char *path = NULL;
    REQUIRE(asprintf(&path, "%s/%s", folder ? folder : "build", name) > 0);
    return check_keep(path);
}

// Defined global names of a file, as nm lists them.
static void check_names(const char *path, const char *flag) {
    if (access(path, R_OK))
        check_skip("%s is not built", path);
    struct check_output o = RUN("nm", flag, "--defined-only", "-P", path);
    if (o.status == 127)
        check_skip("there is no nm");
    REQUIRE(o.status == 0);
    uint32_t names = 0;
    char *rest = NULL;
    for (char *line = strtok_r(o.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t length = strcspn(line, " ");
        if (!line[length] || line[length - 1] == ':') // libshoal.a[libshoal.o]:
            continue;
        line[length] = 0;
        bool sanitizer = !strncmp(line, "__asan", 6) || !strncmp(line, "__odr_asan", 10);
        CHECK_MSG(!strncmp(line, "shoal_", 6) || sanitizer, "%s defines %s", path, line);
        names++;
    }
    CHECK_MSG(names > 100, "%u names in %s", names, path);
}

TEST(embed_archive_has_public_names_only) { check_names(built("libshoal.a"), "-g"); }

TEST(embed_shared_object_has_public_names_only) { check_names(built("libshoal.so"), "-gD"); }

// Its own crc32c, file_open, arena_alloc, ...: were one of them taken for the library's, the run
// would end or give another sum.
static const char program[] =
    "#include <shoal/shoal.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#define MINE(name) int name(void) { puts(#name \" was called\"); abort(); }\n"
    "MINE(crc32c) MINE(file_open) MINE(file_read) MINE(arena_alloc) MINE(sha256_add)\n"
    "MINE(batch_new) MINE(model_parse) MINE(run_batch) MINE(log_open) MINE(key_add_text)\n"
    "MINE(report_error) MINE(buf_put) MINE(cache_open) MINE(process_wait) MINE(methods)\n"
    "int option_table;\n"
    "int main(int argc, char **argv) {\n"
    "    const char *words[] = {\"t1=1\", \"method=tsit5\", \"sweep=a=1,2,3\", NULL};\n"
    "    shoal_log *log = shoal_log_new();\n"
    "    shoal_tally s = {0};\n"
    "    shoal_code code = argc > 2 ? shoal_solve(argv[1], words, argv[2], &s, log) : "
    "SHOAL_USAGE;\n"
    "    for (size_t i = 0; i < shoal_log_message_count(log); i++)\n"
    "        puts(shoal_log_message(log, i).text);\n"
    "    printf(\"%d runs\\n\", (int)s.by_status[SHOAL_STATUS_ok]);\n"
    "    shoal_log_free(log);\n"
    "    return code == SHOAL_OK ? 0 : 1;\n"
    "}\n";

static bool wants(const char *archive, const char *name) {
    struct check_output o = RUN("nm", "-u", archive);
    return o.status == 0 && strstr(o.out, name);
}

// As the library was compiled.
static const char *sanitizer_of(const char *archive) {
    return wants(archive, "__asan_")    ? "-fsanitize=address"
           : wants(archive, "__ubsan_") ? "-fsanitize=undefined"
                                        : "-O1";
}

static void check_program(const char *compiler, const char *language) {
    const char *archive = built("libshoal.a"), *binary = check_path("program");
    const char *sanitize = sanitizer_of(archive);
    check_write(check_path("program.c"), program);
    check_write(check_path("m.ode"), "par a=1\ninit x=1\nx'=-a*x\n");
    struct check_output o = RUN(compiler, "-Wall", "-Werror", "-Iinclude", sanitize, "-x", language,
                                check_path("program.c"), "-x", "none", archive, "-o", binary,
                                "-ldl", "-lm", "-pthread");
    if (o.status == 127)
        check_skip("there is no %s", compiler);
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(binary, check_path("m.ode"), check_path("o.csv"));
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, "3 runs\n");
    CHECK_HAS(check_read(check_path("o.csv")), "run,a,t,x,status\n0,1,1,0.3678");
}

TEST(embed_program_with_names_of_its_own) { check_program("cc", "c"); }
TEST(embed_program_by_clang) { check_program("clang", "c"); }

// The header reads as C++, too.
TEST(embed_program_in_cpp) { check_program("c++", "c++"); }

// ---- Labels of the time log ---------------------------------------------------------------------

static const char lister[] = "#include <shoal/shoal.h>\n"
                             "#include <stdio.h>\n"
                             "int main(void) {\n"
                             "    shoal_log *log = shoal_log_new();\n"
                             "    for (size_t i = 0; i < shoal_log_sum_count(log); i++)\n"
                             "        puts(shoal_log_sum(log, i).label);\n"
                             "    shoal_log_free(log);\n"
                             "    return 0;\n"
                             "}\n";

// All labels of the library, in the order of this program, whose own begin with test_.
static char *labels_here(void) {
    shoal_log *log = shoal_log_new();
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < shoal_log_sum_count(log); i++)
        if (strncmp(shoal_log_sum(log, i).label, "test_", 5))
            fprintf(out, "%s\n", shoal_log_sum(log, i).label);
    fclose(out);
    shoal_log_free(log);
    return text;
}

// A program that lists the labels has all of them, however it was linked.
static void check_labels(const char *library, const char *linker) {
    const char *file = built(library), *binary = check_path("lister"),
               *archive = built("libshoal.a");
    char *want = labels_here();
    check_write(check_path("lister.c"), lister);
    struct check_output o = RUN("cc", "-Iinclude", sanitizer_of(archive), check_path("lister.c"),
                                file, linker, "-o", binary, "-ldl", "-lm", "-pthread");
    if (o.status == 127)
        check_skip("there is no cc");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(binary);
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, want);
    free(want);
}

TEST(embed_archive_has_all_labels) { check_labels("libshoal.a", "-O1"); }
TEST(embed_archive_has_all_labels_after_collection) {
    check_labels("libshoal.a", "-Wl,--gc-sections");
}
TEST(embed_shared_object_has_all_labels) {
    const char *soname = check_path("libshoal.so.0");
    REQUIRE(symlink(check_keep(realpath(built("libshoal.so"), NULL)), soname) == 0);
    setenv("LD_LIBRARY_PATH", check_dir(), 1);
    check_labels("libshoal.so", "-O1");
}
