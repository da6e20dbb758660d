// SPDX-License-Identifier: MIT
// docs/cache.md has a line for each of the 64 faults, and the tests that it names are there.
#include "check.h"

#include <glob.h>

OWN_CACHE

static char *all_tests(void) {
    glob_t found;
    REQUIRE(glob("tests/test_*.c", 0, NULL, &found) == 0);
    size_t length = 0;
    char *all = calloc(1, 1);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = check_read(found.gl_pathv[i]);
        size_t n = strlen(text);
        all = realloc(all, length + n + 1);
        memcpy(all + length, text, n + 1);
        length += n;
        free(text);
    }
    globfree(&found);
    return all;
}

// Every word in backticks of the last column that looks like the name of a test.
static int check_names(char *cell, const char *tests) {
    int count = 0;
    char *save = NULL;
    bool inside = false;
    for (char *part = strtok_r(cell, "`", &save); part; part = strtok_r(NULL, "`", &save)) {
        if (inside && strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(part)) {
            char needle[128];
            snprintf(needle, sizeof needle, "TEST(%s)", part);
            CHECK_MSG(strstr(tests, needle) != NULL, "docs/cache.md: there is no test %s", part);
            count++;
        }
        inside = !inside;
    }
    return count;
}

TEST(cache_docs_name_tests_that_exist) {
    char *page = check_read("docs/cache.md"), *tests = all_tests(), *save = NULL;
    REQUIRE(page != NULL);
    int expected = 1, named = 0;
    for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        int number;
        if (sscanf(line, "| %d |", &number) != 1)
            continue;
        CHECK_INT(number, expected++);
        line[strlen(line) - 1] = 0; // the bar at the end
        char *cell = strrchr(line, '|');
        REQUIRE(cell != NULL);
        CHECK_MSG(strchr(cell, '`'), "line %d names no test", number);
        named += check_names(cell + 1, tests);
    }
    CHECK_INT(expected, 65);
    CHECK(named > 40);
    free(tests);
    free(page);
}
