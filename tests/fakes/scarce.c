// SPDX-License-Identifier: MIT
// Memory that runs out: preloaded, it lets the allocation fail whose number SHOAL_TEST_FAILS has,
// and with SHOAL_TEST_FAILS_ON all that follow it.
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static _Atomic long count, fails = -1, stays;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("SHOAL_TEST_FAILS");
    stays = getenv("SHOAL_TEST_FAILS_ON") != NULL;
    count = 0;
    fails = text ? atol(text) : -1;
}

static int is_denied(void) {
    long n = ++count;
    if (fails < 0 || (stays ? n < fails : n != fails))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return is_denied() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return is_denied() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return is_denied() ? NULL : __libc_realloc(old, size); }
