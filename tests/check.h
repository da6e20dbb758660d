// SPDX-License-Identifier: MIT
// The test harness: TEST(name) { CHECK(...); } in any tests/*.c is found and run by itself.
//
// Each test runs in its own child process with a time limit and a private temporary directory
// (check_dir), so a crash or hang is one failed test, and nothing touches the user's own cache.
#ifndef SHOAL_TESTS_CHECK_H
#define SHOAL_TESTS_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_test {
    const char *name, *file;
    void (*run)(void);
    bool is_long;
    struct check_test *next;
};
void check_register(struct check_test *t);

#define CHECK_TEST_(fn, long_)                                                                     \
    static void fn(void);                                                                          \
    __attribute__((constructor)) static void register_##fn(void) {                                 \
        static struct check_test t = {#fn, __FILE__, fn, long_, NULL};                             \
        check_register(&t);                                                                        \
    }                                                                                              \
    static void fn(void)
#define TEST(fn) CHECK_TEST_(fn, false)
#define LONG_TEST(fn) CHECK_TEST_(fn, true) // only in `make test-long`

// In a file whose tests are about caches, compilers and what is remembered: each has a cache of its
// own. All others keep their kernels in one, so that no two of a run compile the same.
struct check_own {
    const char *file;
    struct check_own *next;
};
void check_own_cache(struct check_own *own);
#define OWN_CACHE                                                                                  \
    __attribute__((constructor)) static void register_own_cache(void) {                            \
        static struct check_own own = {__FILE__, NULL};                                            \
        check_own_cache(&own);                                                                     \
    }

// Whether a test that goes through cases in several ways has to do this one: in `make test-long`
// each case in each way, else each in one, in turn. Most of its time is that of compilers.
bool check_does(size_t case_, size_t way, size_t ways);

// A failed check prints and counts; the test goes on. REQUIRE ends the test.
void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Ends the test as skipped, with the reason.
_Noreturn void check_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void check_end(void);
// Goes to a locale with a decimal comma, made in the test's directory, or skips the test.
void check_comma_locale(void);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__FILE__, __LINE__, "%s", #condition);                                      \
    } while (0)
#define CHECK_MSG(condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__FILE__, __LINE__, __VA_ARGS__);                                           \
    } while (0)
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_fail(__FILE__, __LINE__, "required: %s", #condition);                            \
            check_end();                                                                           \
        }                                                                                          \
    } while (0)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long g_ = (long long)(got), w_ = (long long)(want);                                   \
        if (g_ != w_)                                                                              \
            check_fail(__FILE__, __LINE__, "%s is %lld, not %lld", #got, g_, w_);                  \
    } while (0)
#define CHECK_NEAR(got, want, tolerance)                                                           \
    do {                                                                                           \
        double g_ = (got), w_ = (want), t_ = (tolerance);                                          \
        if (!(fabs(g_ - w_) <= t_))                                                                \
            check_fail(__FILE__, __LINE__, "%s is %.17g, not %.17g within %g", #got, g_, w_, t_);  \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *g_ = (got), *w_ = (want);                                                      \
        if (!g_ || strcmp(g_, w_))                                                                 \
            check_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #got, g_ ? g_ : "(null)",   \
                       w_);                                                                        \
    } while (0)
#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        const char *t_ = (text), *p_ = (part);                                                     \
        if (!t_ || !strstr(t_, p_))                                                                \
            check_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", p_, t_ ? t_ : "(null)");       \
    } while (0)

// Private directory of the running test, removed afterwards.
const char *check_dir(void);
const char *check_path(const char *name); // check_dir()/name; a fresh string each call
// What a test is given and need not free: it stays in reach, so it is no leak. Returns it.
void *check_keep(void *given);
// Runs a program without a shell; its output and exit status (128 + signal when killed).
struct check_output {
    int status;
    char *out, *err; // NUL-terminated
    size_t out_length;
};
struct check_output check_command(const char *const *argv);
#define RUN(...) check_command((const char *const[]){__VA_ARGS__, NULL})
const char *check_shoal(void);      // path of the command line program
const char *check_enter(void);      // into check_dir(); the same program, by its whole path
char *check_read(const char *path); // whole file, NUL-terminated; NULL when it is not there
void check_write(const char *path, const char *text);
// True when a Python with numpy (and, if asked, another module) is there; path in check_python().
const char *check_python(const char *module);

#endif
