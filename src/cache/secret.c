// SPDX-License-Identifier: MIT
// The secret is written under a name of its own and then linked: of several processes that make
// one at the same time the first wins, and all of them read that one.
#include "cache/secret.h"

#include "base/file.h"
#include "cache/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MOST = 1 << 20 };
static const char file_name[] = "secret";

static bool refuse(struct buf *why, const char *path, const char *what) {
    buf_printf(why, "the secret of the kernel cache: %s/%s %s", path, file_name, what);
    return false;
}

// Why the open file is not the user's secret; NULL: it is, and was read.
static const char *read_secret(int fd, unsigned char secret[SECRET_BYTES]) {
    struct stat s;
    if (fstat(fd, &s) < 0 || !S_ISREG(s.st_mode))
        return "is not a file";
    if (s.st_uid != geteuid())
        return "belongs to another user";
    if (s.st_mode & 077)
        return "can be read by others: remove it, and a new one is made";
    if (s.st_size != SECRET_BYTES ||
        file_read_at(fd, file_name, 0, secret, SECRET_BYTES, NULL) != SHOAL_OK)
        return "is damaged: remove it, and a new one is made";
    return NULL;
}

// 0, or an errno; EEXIST when another process was quicker.
static int make_secret(int dir) {
    unsigned char secret[SECRET_BYTES];
    char temp[64];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        return EIO;
    snprintf(temp, sizeof temp, "%s.%ld.%02x%02x%02x%02x", file_name, (long)getpid(), secret[0],
             secret[1], secret[2], secret[3]);
    if (getrandom(secret, sizeof secret, 0) != sizeof secret) // none of it in a name
        return EIO;
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = 0;
    errno = 0;
    if (fchmod(fd, 0600) < 0 ||
        file_write(fd, file_name, secret, sizeof secret, NULL) != SHOAL_OK || fsync(fd) < 0)
        error = errno ? errno : EIO;
    close(fd);
    if (!error && linkat(dir, temp, dir, file_name, 0) < 0)
        error = errno;
    unlinkat(dir, temp, 0);
    return error;
}

static bool read_in(int dir, const char *path, bool create, unsigned char secret[SECRET_BYTES],
                    struct buf *why) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = openat(dir, file_name, flags);
    if (fd < 0 && errno == ENOENT && create) {
        int error = make_secret(dir);
        if (error && error != EEXIST) {
            buf_printf(why, "no secret can be kept in %s: %s", path, strerror(error));
            return false;
        }
        fd = openat(dir, file_name, flags);
    }
    if (fd < 0)
        return refuse(why, path, errno == ELOOP ? "is a symbolic link" : strerror(errno));
    const char *wrong = read_secret(fd, secret);
    close(fd);
    return !wrong || refuse(why, path, wrong);
}

bool secret_read(unsigned char secret[SECRET_BYTES], bool create, struct buf *why) {
    struct buf path = {0}, reason = {0};
    const char *xdg = secure_getenv("XDG_CONFIG_HOME");
    bool good = false;
    if (xdg && *xdg == '/')
        buf_printf(&path, "%s/shoal", xdg);
    else
        place_home(&path, ".config/shoal");
    if (path.failed)
        buf_puts(why, "out of memory");
    else if (!path.data)
        buf_puts(why, "no home directory for a secret; XDG_CONFIG_HOME can name a place");
    else {
        int dir = place_open(path.data, create, false, &reason);
        if (dir < 0)
            buf_printf(why, "no place for a secret: %s", reason.data ? reason.data : "");
        else {
            good = read_in(dir, path.data, create, secret, why);
            close(dir);
        }
    }
    buf_free(&path);
    buf_free(&reason);
    return good;
}

// ---- What root answers for ----------------------------------------------------------------------

static bool is_directory(const char *path, const struct stat *wanted) {
    struct stat s;
    return *path == '/' && stat(path, &s) == 0 && s.st_dev == wanted->st_dev &&
           s.st_ino == wanted->st_ino;
}

static bool search(char *text, int directory) {
    struct stat wanted;
    char *save = NULL;
    if (fstat(directory, &wanted) < 0)
        return false;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t n = strlen(line);
        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t' || line[n - 1] == '\r'))
            line[--n] = 0;
        if (is_directory(line, &wanted))
            return true;
    }
    return false;
}

bool secret_listed(const char *list, int directory) {
    struct stat s;
    int fd = open(list, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    bool roots = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == 0 && !(s.st_mode & 022) &&
                 s.st_size > 0 && s.st_size <= LIST_MOST;
    char *text = roots ? calloc(1, (size_t)s.st_size + 1) : NULL;
    bool listed = text && file_read_at(fd, list, 0, text, (size_t)s.st_size, NULL) == SHOAL_OK &&
                  search(text, directory);
    free(text);
    close(fd);
    return listed;
}
