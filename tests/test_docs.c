// SPDX-License-Identifier: MIT
// The documentation is true: every option and file that it names is there.
#include "check.h"

#include "result/result_names.h"
#include "shoal/shoal.h"

#include <ctype.h>
#include <sys/stat.h>

static const char *const pages[] = {
    "README.md",           "docs/design.md",       "docs/testing.md",  "docs/dependencies.md",
    "docs/performance.md", "docs/measurements.md", "docs/language.md", "docs/results.md",
    "docs/summaries.md",   "docs/timing.md",       "docs/drivers.md",  "docs/examples.md",
    "docs/plots.md",       "docs/gallery.md",      "docs/cluster.md"};

// Lines of a batch system's own.
static bool is_of_slurm(const char *text, const char *at) {
    while (at > text && at[-1] != '\n')
        at--;
    return !strncmp(at, "#SBATCH", 7) || !strncmp(at, "sbatch", 6);
}

static bool is_option(const char *name, size_t length) {
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (strlen(o.name) == length && !strncmp(o.name, name, length))
            return true;
    }
    return false;
}

// `--word` in a page is an option of ours, or stands in a line about another program.
TEST(docs_name_options_that_exist) {
    for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
        char *text = check_read(pages[p]);
        REQUIRE(text != NULL);
        int found = 0;
        for (char *at = text; (at = strstr(at, "--")) != NULL;) {
            char before = at > text ? at[-1] : ' ';
            at += 2;
            size_t length = 0;
            while (islower((unsigned char)at[length]) || (length && at[length] == '-') ||
                   isdigit((unsigned char)at[length]))
                length++;
            bool word = length > 1 && (before == ' ' || before == '`' || before == '(');
            if (word && strncmp(at, "check", 5) && strncmp(at, "long", 4) &&
                !is_of_slurm(text, at)) {
                CHECK_MSG(is_option(at, length), "%s: --%.*s is no option", pages[p], (int)length,
                          at);
                found++;
            }
            at += length;
        }
        if (!strcmp(pages[p], "README.md"))
            CHECK(found > 5);
        free(text);
    }
}

static bool looks_like_path(const char *name) {
    static const char *const roots[] = {"include/", "src/",   "kernels/", "cli/", "examples/",
                                        "bench/",   "tests/", "tools/",   "docs/"};
    if (strpbrk(name, " *{<$"))
        return false;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (!strncmp(name, roots[i], strlen(roots[i])))
            return true;
    return false;
}

// A path in backticks, or the target of a link.
TEST(docs_name_files_that_exist) {
    for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
        char *text = check_read(pages[p]);
        REQUIRE(text != NULL);
        for (char *at = text; (at = strpbrk(at, "`(")) != NULL;) {
            char name[256];
            size_t length = strcspn(++at, "`)\n");
            struct stat s;
            snprintf(name, sizeof name, "%.*s", length < 255 ? (int)length : 255, at);
            if (looks_like_path(name))
                CHECK_MSG(stat(name, &s) == 0, "%s: %s is not there", pages[p], name);
        }
        free(text);
    }
}

// The target of a link, from the page's own directory.
TEST(docs_links_lead_somewhere) {
    int found = 0;
    for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
        char *text = check_read(pages[p]);
        REQUIRE(text != NULL);
        const char *slash = strrchr(pages[p], '/');
        int directory = slash ? (int)(slash + 1 - pages[p]) : 0;
        for (char *at = text; (at = strstr(at, "](")) != NULL;) {
            char path[512];
            struct stat s;
            at += 2;
            size_t length = strcspn(at, ")#\n");
            if (!length || !strncmp(at, "http", 4))
                continue;
            snprintf(path, sizeof path, "%.*s%.*s", directory, pages[p], (int)length, at);
            CHECK_MSG(stat(path, &s) == 0, "%s: %s is not there", pages[p], path);
            found++;
        }
        free(text);
    }
    CHECK_MSG(found > 5, "only %d links found", found);
}

// What the README tells a new user to type.
TEST(docs_targets_exist) {
    char *make = check_read("Makefile");
    REQUIRE(make != NULL);
    static const char *const targets[] = {"demo",  "gallery", "test",   "test-long",
                                          "bench", "install", "format", "tidy",
                                          "asan",  "ubsan",   "fuzz"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n%s:", targets[i]);
        CHECK_HAS(make, line);
    }
    free(make);
}

TEST(examples_run) {
    static const char *const models[] = {
        "lorenz",          "vanderpol", "lotka_volterra", "hodgkin_huxley", "lorenz96",
        "pleiades",        "arenstorf", "akzo",           "bouncing_ball",  "integrate_and_fire",
        "two_compartment", "duffing",   "kuramoto",       "patients"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[64];
        snprintf(path, sizeof path, "examples/%s.ode", models[i]);
        struct check_output o = RUN(check_shoal(), "run", path, "-q", "-o", "-");
        CHECK_MSG(o.status == 0, "%s: exit %d\n%s", path, o.status, o.err);
        CHECK_HAS(o.out, ",ok\n");
    }
}

TEST(examples_in_c_run) {
    const char *build = getenv("SHOAL_BUILD");
    char arrays[256], sweep[256];
    snprintf(arrays, sizeof arrays, "%s/examples/arrays", build ? build : "build");
    snprintf(sweep, sizeof sweep, "%s/examples/sweep", build ? build : "build");
    struct check_output o = RUN(arrays);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "1000 curves of 11 samples");
    o = RUN(sweep, "examples/lorenz.ode", check_path("out.csv"));
    CHECK_INT(o.status, 0);
    char *csv = check_read(check_path("out.csv"));
    CHECK_HAS(csv, "run,rho,t,x,y,z,status\n0,0,1,");
    free(csv);
}

// The model that a page shows is one.
static void check_model_of(const char *page, const char *first_line) {
    char *text = check_read(page);
    REQUIRE(text != NULL);
    char *start = strstr(text, first_line);
    REQUIRE(start != NULL);
    char *end = strstr(start, "```");
    REQUIRE(end != NULL);
    *end = 0;
    check_write(check_path("page.ode"), start);
    struct check_output o = RUN(check_shoal(), "run", check_path("page.ode"), "-q", "-o", "-");
    CHECK_MSG(o.status == 0, "%s: exit %d\n%s", page, o.status, o.err);
    CHECK_HAS(o.out, ",ok\n");
    free(text);
}

TEST(docs_models_run) {
    check_model_of("README.md", "# lorenz.ode");
    check_model_of("docs/language.md", "# Van der Pol");
    check_model_of("docs/language.md", "# A diode");
}

// The page has every status, in the order of their numbers, and no other.
TEST(docs_list_every_status) {
    char *text = check_read("docs/results.md");
    REQUIRE(text != NULL);
    char *row = strstr(text, "\n| word | meaning |\n|---|---|\n");
    REQUIRE(row != NULL);
    int count = 0;
    for (row = strstr(row, "|---|---|\n") + 10; *row == '|'; row = strchr(row, '\n') + 1, count++) {
        char want[64];
        snprintf(want, sizeof want, "| `%s` | ", shoal_status_word(count));
        CHECK_MSG(!strncmp(row, want, strlen(want)), "row %d of the page is not about %s", count,
                  shoal_status_word(count));
    }
    CHECK_INT(count, SHOAL_STATUS_COUNT);
    free(text);
}

// So is the list of names that are ours.
TEST(docs_list_every_name_of_ours) {
    static const char *const names[] = {"run",          "t",       "status",  "steps",
                                        "rejected",     "f_evals", "offsets", "window_t",
                                        "status_words", "meta"};
    char *text = check_read("docs/results.md");
    REQUIRE(text != NULL);
    char *start = strstr(text, "The names `run`"), *end = start ? strstr(start, " are ours") : NULL;
    REQUIRE(end != NULL);
    *end = 0;
    size_t found = 0;
    for (char *at = start; (at = strchr(at, '`')) != NULL; found++) {
        char *close = strchr(++at, '`');
        REQUIRE(close != NULL);
        *close = 0;
        CHECK_MSG(result_name_is_ours(at), "%s is not ours", at);
        at = close + 1;
    }
    CHECK_INT(found, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(result_name_is_ours(names[i]));
    free(text);
}
