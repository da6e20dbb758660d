// SPDX-License-Identifier: MIT
// Builds what denies memory (tests/fakes/scarce.c) once a test, and preloads it.
#include "scarce.h"

#include "check.h"

#include <unistd.h>

static const char *library(void) {
    const char *path = check_path("scarce.so");
#ifdef __SANITIZE_ADDRESS__
    check_skip("the sanitizer has an allocator of its own");
#endif
    if (access(path, R_OK))
        REQUIRE(RUN("cc", "-shared", "-fPIC", "-O1", "-o", path, "tests/fakes/scarce.c").status ==
                0);
    return path;
}

void scarce_check(const char *const *words, int most, const char *expected) {
    char number[48], preload[256];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library());
    for (int n = 1; n < 2 * most; n++) {
        const char *argv[16] = {"env", number, n % 2 ? "SHOAL_TEST_FAILS_ON=1" : "NOTHING=1",
                                preload, check_shoal()};
        int count = 5;
        snprintf(number, sizeof number, "SHOAL_TEST_FAILS=%d", n / 2);
        for (const char *const *w = words; *w; w++)
            argv[count++] = *w;
        struct check_output o = check_command(argv);
        CHECK_MSG(o.status < 128, "%s %s, allocation %d%s: signal %d", words[0], words[1], n / 2,
                  n % 2 ? " and on" : "", o.status - 128);
        CHECK_MSG(o.status || !expected || !strcmp(o.out, expected), "%s %s, allocation %d: %s",
                  words[0], words[1], n / 2, o.out);
        free(o.out);
        free(o.err);
    }
}
