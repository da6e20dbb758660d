// SPDX-License-Identifier: MIT
// A driver that misbehaves as soon as it is loaded: it writes a byte to the file that FAKE_LOADS
// names, then does what FAKE_DRIVER says: abort, hang, exit; or nothing.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
    const char *path = getenv("FAKE_LOADS"), *what = getenv("FAKE_DRIVER");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (fd >= 0 && write(fd, "x", 1) == 1)
        close(fd);
    if (what && !strcmp(what, "abort"))
        abort();
    if (what && !strcmp(what, "exit"))
        _exit(7);
    while (what && !strcmp(what, "hang"))
        pause();
}
