// SPDX-License-Identifier: MIT
// shoal-devices BACKEND [VENDOR]: loads the driver of a backend, asks it for its devices, and
// writes the answer (src/device/ask.h) to standard output. VENDOR is a file of OpenCL's vendors, to
// ask that driver alone.
//
// The library starts it, so that a driver can crash or block only this program. Drivers get the
// environment of whoever asks. What they print goes nowhere.
#include "device/ask.h"
#include "device/device.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Standard output for the answer alone: drivers get another one. -1 on failure.
static int take_output(void) {
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), nothing = open("/dev/null", O_WRONLY);
    if (out < 0 || nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        return -1;
    return out;
}

static void limit_all(void) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static bool put(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

int main(int argc, char **argv) {
    const struct shoal_backend *b = argc == 2 || argc == 3 ? device_backend(argv[1]) : NULL;
    struct buf answer = {0};
    if (!b) {
        static const char usage[] = "usage: shoal-devices BACKEND [VENDOR]\n"
                                    "Shoal starts this program to ask drivers for devices.\n";
        return write(STDERR_FILENO, usage, sizeof usage - 1) < 0 ? 1 : 2;
    }
    limit_all();
    int out = take_output();
    if (out < 0 || (argc == 3 && setenv("OCL_ICD_VENDORS", argv[2], 1) != 0))
        return 1;
    ask_here(b, &answer);
    // A driver might still crash over its end; all is said.
    _exit(!answer.failed && put(out, answer.data, answer.length) ? 0 : 1);
}
