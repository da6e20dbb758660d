// SPDX-License-Identifier: MIT
// Files on Linux and other POSIX systems. See file.h for the contract.
//
// A .part file is locked with an open-file-description lock: it belongs to the descriptor, so a
// library that opens and closes the same file (HDF5 does) does not lose it, and it ends with the
// process however that ends. Where the file system knows no locks we go on without.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { WRITE_MOST = 1 << 30 }; // of one system call; some systems refuse 2 GiB

static shoal_code failed(struct report *r, const char *what, const char *path, int error) {
    return report_error(r, SHOAL_IO, "%s: cannot %s: %s", path, what, strerror(error));
}

static shoal_code no_memory(struct report *r, const char *path) {
    return report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
}

// ---- Reading ------------------------------------------------------------------------------------

static int open_for_reading(const char *path, int flags) {
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

// One byte more than `most` may be read, which is how too long a file is noticed.
static shoal_code read_all(int fd, const char *path, uint64_t most, size_t room, char **text,
                           size_t *length, struct report *r) {
    char *bytes = malloc(room + 1);
    size_t n = 0;
    while (bytes) {
        if (n == room) {
            char *bigger = room < SIZE_MAX / 4 ? realloc(bytes, room * 2 + 1) : NULL;
            if (!bigger)
                break;
            bytes = bigger;
            room *= 2;
        }
        ssize_t got = read(fd, bytes + n, room - n < WRITE_MOST ? room - n : WRITE_MOST);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            shoal_code code = failed(r, "read", path, errno);
            free(bytes);
            return code;
        }
        n += (size_t)got;
        if (n > most) {
            free(bytes);
            return report_error(r, SHOAL_IO, "%s: longer than the %llu bytes that are read here",
                                path, (unsigned long long)most);
        }
        if (got == 0) {
            bytes[n] = 0;
            *text = bytes;
            *length = n;
            return SHOAL_OK;
        }
    }
    free(bytes);
    return no_memory(r, path);
}

static shoal_code read_open(int fd, const char *path, uint64_t most, char **text, size_t *length,
                            struct report *r) {
    struct stat s;
    if (fstat(fd, &s) < 0)
        return failed(r, "read", path, errno);
    if (S_ISDIR(s.st_mode))
        return report_error(r, SHOAL_IO, "%s: is a directory", path);
    uint64_t expected = S_ISREG(s.st_mode) && s.st_size > 0 ? (uint64_t)s.st_size : 4096;
    uint64_t room = expected < most ? expected + 1 : most + 1;
    return read_all(fd, path, most, (size_t)room, text, length, r);
}

shoal_code file_read(const char *path, uint64_t most, char **text, size_t *length,
                     struct report *r) {
    int fd = open_for_reading(path, 0);
    if (fd < 0)
        return failed(r, "open", path, errno);
    shoal_code code = read_open(fd, path, most, text, length, r);
    close(fd);
    return code;
}

bool file_is_input(const char *path) { return strcmp(path, "-") == 0; }

const char *file_input_name(const char *path) { return file_is_input(path) ? "<stdin>" : path; }

shoal_code file_read_input(const char *path, uint64_t most, char **text, size_t *length,
                           struct report *r) {
    return file_is_input(path)
               ? read_open(STDIN_FILENO, file_input_name(path), most, text, length, r)
               : file_read(path, most, text, length, r);
}

shoal_code file_open(const char *path, int *fd, uint64_t *size, struct report *r) {
    *fd = open_for_reading(path, O_NONBLOCK); // a pipe without a writer is no plain file either
    if (*fd < 0)
        return failed(r, "open", path, errno);
    struct stat s;
    shoal_code code = SHOAL_OK;
    if (fstat(*fd, &s) < 0)
        code = failed(r, "read", path, errno);
    else if (!S_ISREG(s.st_mode))
        code = report_error(r, SHOAL_IO, "%s: is %s", path,
                            S_ISDIR(s.st_mode) ? "a directory" : "not a plain file");
    if (code != SHOAL_OK) {
        close(*fd);
        *fd = -1;
        return code;
    }
    *size = (uint64_t)s.st_size;
    return SHOAL_OK;
}

shoal_code file_read_at(int fd, const char *name, uint64_t offset, void *bytes, size_t length,
                        struct report *r) {
    for (char *at = bytes; length;) {
        if (offset > INT64_MAX)
            return failed(r, "read", name, EOVERFLOW);
        ssize_t got = pread(fd, at, length < WRITE_MOST ? length : WRITE_MOST, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(r, "read", name, errno);
        if (got == 0)
            return report_error(r, SHOAL_IO, "%s: ends too early, at byte %llu", name,
                                (unsigned long long)offset);
        at += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return SHOAL_OK;
}

// ---- Writing ------------------------------------------------------------------------------------

// With offset < 0 where the descriptor stands.
static shoal_code write_all(int fd, const char *name, int64_t offset, const char *bytes,
                            size_t length, struct report *r) {
    while (length) {
        size_t part = length < WRITE_MOST ? length : WRITE_MOST;
        ssize_t put = offset < 0 ? write(fd, bytes, part) : pwrite(fd, bytes, part, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return failed(r, "write", name, put < 0 ? errno : ENOSPC);
        bytes += put;
        length -= (size_t)put;
        if (offset >= 0)
            offset += put;
    }
    return SHOAL_OK;
}

shoal_code file_write(int fd, const char *name, const void *bytes, size_t length,
                      struct report *r) {
    return write_all(fd, name, -1, bytes, length, r);
}

shoal_code file_write_at(int fd, const char *name, uint64_t offset, const void *bytes,
                         size_t length, struct report *r) {
    if (offset > (uint64_t)INT64_MAX - length)
        return failed(r, "write", name, EFBIG);
    return write_all(fd, name, (int64_t)offset, bytes, length, r);
}

// ---- Files that are being made ------------------------------------------------------------------

// "dir" of "dir/name", "." of "name", "/" of "/name".
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static shoal_code check_directory(const char *path, struct report *r) {
    char *directory = directory_of(path);
    if (!directory)
        return no_memory(r, path);
    struct stat s;
    shoal_code code = SHOAL_OK;
    if (stat(directory, &s) < 0 && errno == ENOENT)
        code = report_error(r, SHOAL_IO, "%s: there is no directory %s", path, directory);
    else if (stat(directory, &s) < 0)
        code = failed(r, "write", path, errno);
    else if (!S_ISDIR(s.st_mode))
        code = report_error(r, SHOAL_IO, "%s: %s is not a directory", path, directory);
    else if (access(directory, W_OK | X_OK) < 0)
        code = report_error(r, SHOAL_IO, "%s: cannot write in directory %s: %s", path, directory,
                            strerror(errno));
    free(directory);
    return code;
}

// What stands at the path now must be nothing, or a plain file that we may replace.
static shoal_code check_target(const char *path, struct report *r) {
    struct stat s;
    size_t length = strlen(path);
    if (length == 0)
        return report_error(r, SHOAL_IO, "the name of the file to write is empty");
    if (stat(path, &s) == 0) {
        if (S_ISDIR(s.st_mode))
            return report_error(r, SHOAL_IO, "%s: is a directory", path);
        if (!S_ISREG(s.st_mode))
            return report_error(r, SHOAL_IO, "%s: is not a plain file and is not replaced", path);
        if (access(path, W_OK) < 0)
            return failed(r, "replace", path, errno);
    } else if (path[length - 1] == '/')
        return report_error(r, SHOAL_IO, "%s: is the name of a directory, not of a file", path);
    return check_directory(path, r);
}

// Where the file will be: what a symbolic link points to, so that the link stays one.
static shoal_code resolve(const char *path, char **out, struct report *r) {
    struct stat s;
    if (lstat(path, &s) == 0 && S_ISLNK(s.st_mode)) {
        *out = realpath(path, NULL);
        if (!*out)
            return failed(r, "follow the link", path, errno);
        return SHOAL_OK;
    }
    *out = strdup(path);
    return *out ? SHOAL_OK : no_memory(r, path);
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

enum claim { CLAIMED, CLAIM_BUSY, CLAIM_FOREIGN, CLAIM_MOVED, CLAIM_FAILED };

// Opens and locks a file; `errno` tells why it FAILED. A left-over is taken over only when it is a
// plain file of our own with no second name.
static enum claim claim(struct file_part *f, const char *name, int flags) {
    do
        f->fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666);
    while (f->fd < 0 && errno == EINTR);
    if (f->fd < 0)
        return errno == ELOOP ? CLAIM_FOREIGN : CLAIM_FAILED;
    struct stat mine, named;
    if (fstat(f->fd, &mine) < 0)
        return CLAIM_FAILED;
    if (!S_ISREG(mine.st_mode) || mine.st_nlink > 1 || mine.st_uid != geteuid())
        return CLAIM_FOREIGN;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(f->fd, F_OFD_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES))
        return CLAIM_BUSY;
    if (lstat(name, &named) < 0 || !same_file(&mine, &named))
        return CLAIM_MOVED; // its writer finished between our open and our lock
    return CLAIMED;
}

static void release(struct file_part *f) {
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f->part);
    *f = (struct file_part){.fd = -1};
}

// The names of a file that is to be made, where it can be.
static shoal_code name_part(struct file_part *f, const char *path, struct report *r) {
    *f = (struct file_part){.fd = -1};
    shoal_code code = resolve(path, &f->path, r);
    if (code == SHOAL_OK)
        code = check_target(f->path, r);
    if (code == SHOAL_OK && asprintf(&f->part, "%s.part", f->path) < 0) {
        f->part = NULL;
        code = no_memory(r, path);
    }
    return code;
}

// Claims a file by one of its names, with some tries where it moves; nothing stays open otherwise.
static shoal_code take(struct file_part *f, const char *name, int flags, struct report *r) {
    for (int tries = 0; tries < 10; tries++) {
        enum claim got = claim(f, name, flags);
        int error = errno;
        if (got == CLAIMED)
            return SHOAL_OK;
        if (f->fd >= 0)
            close(f->fd);
        f->fd = -1;
        if (got == CLAIM_FAILED)
            return failed(r, flags & O_CREAT ? "create" : "open", name, error);
        if (got == CLAIM_FOREIGN)
            return report_error(r, SHOAL_IO, "%s: is in the way and not ours; remove it", name);
        if (got == CLAIM_BUSY)
            break;
    }
    return report_error(r, SHOAL_IO, "%s: another run is writing it", name);
}

shoal_code file_part_open(struct file_part *f, const char *path, struct report *r) {
    shoal_code code = name_part(f, path, r);
    if (code == SHOAL_OK)
        code = take(f, f->part, O_CREAT, r);
    if (code == SHOAL_OK && ftruncate(f->fd, 0) < 0)
        code = failed(r, "create", f->part, errno);
    if (code != SHOAL_OK)
        release(f);
    return code;
}

static bool is_there(const char *path) {
    struct stat s;
    return lstat(path, &s) == 0;
}

shoal_code file_part_check(const char *path, struct report *r) {
    struct file_part f;
    shoal_code code = name_part(&f, path, r);
    if (code == SHOAL_OK && is_there(f.part))
        code = take(&f, f.part, 0, r);
    release(&f);
    return code;
}

shoal_code file_part_find(struct file_part *f, const char *path, bool *found, struct report *r) {
    shoal_code code = name_part(f, path, r);
    f->whole = code == SHOAL_OK && !is_there(f->part);
    *found = code == SHOAL_OK && (!f->whole || is_there(f->path));
    if (*found)
        code = take(f, f->whole ? f->path : f->part, 0, r);
    if (code != SHOAL_OK || !*found)
        release(f);
    return code;
}

// Somebody else may have begun a .part meanwhile, which is not replaced.
shoal_code file_part_adopt(struct file_part *f, struct report *r) {
    if (!f->whole)
        return SHOAL_OK;
    int done = renameat2(AT_FDCWD, f->path, AT_FDCWD, f->part, RENAME_NOREPLACE);
    if (done < 0 && (errno == EINVAL || errno == ENOSYS)) // a file system that cannot say so
        done = is_there(f->part) ? (errno = EEXIST, -1) : rename(f->path, f->part);
    if (done < 0 && errno == EEXIST)
        return report_error(r, SHOAL_IO, "%s: another run is writing it", f->part);
    if (done < 0)
        return failed(r, "rename", f->path, errno);
    f->whole = false;
    return SHOAL_OK;
}

shoal_code file_part_sync(struct file_part *f, struct report *r) {
    int done;
    do
        done = fsync(f->fd);
    while (done < 0 && errno == EINTR);
    if (done < 0 && errno != EINVAL && errno != ENOSYS) // some file systems cannot
        return failed(r, "write", f->part, errno);
    return SHOAL_OK;
}

shoal_code file_part_commit(struct file_part *f, struct report *r) {
    shoal_code code = file_part_sync(f, r);
    if (code != SHOAL_OK)
        return code;
    if (rename(f->part, f->path) < 0)
        return report_error(r, SHOAL_IO, "%s: cannot rename to %s: %s", f->part, f->path,
                            strerror(errno));
    release(f);
    return SHOAL_OK;
}

void file_part_discard(struct file_part *f) {
    if (f->fd >= 0 && !f->whole)
        unlink(f->part);
    release(f);
}

void file_part_leave(struct file_part *f) { release(f); }

bool file_is_locked(const char *part) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open_for_reading(part, O_NONBLOCK | O_NOFOLLOW);
    bool is = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return is;
}

shoal_code file_beside(const struct file_part *f, const char *name, bool keep, int *fd,
                       struct report *r) {
    char *path = NULL;
    *fd = -1;
    if (asprintf(&path, "%s.%s", f->part, name) < 0)
        return no_memory(r, f->part);
    struct stat s;
    *fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (keep ? 0 : O_CREAT), 0666);
    shoal_code code = SHOAL_OK;
    if (*fd < 0 || fstat(*fd, &s) < 0)
        code = failed(r, "open", path, errno);
    else if (!S_ISREG(s.st_mode) || s.st_nlink > 1 || s.st_uid != geteuid())
        code = report_error(r, SHOAL_IO, "%s: is in the way and not ours; remove it", path);
    else if (!keep && ftruncate(*fd, 0) < 0)
        code = failed(r, "create", path, errno);
    if (code != SHOAL_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    free(path);
    return code;
}

void file_beside_remove(const char *part, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s.%s", part, name) >= 0) {
        unlink(path);
        free(path);
    }
}

shoal_code file_fill(int fd, const char *name, uint64_t offset, uint64_t length, const void *item,
                     size_t size, struct report *r) {
    enum { FILL_BYTES = 1 << 16 };
    char bytes[FILL_BYTES];
    for (size_t i = 0; i + size <= sizeof bytes; i += size)
        memcpy(bytes + i, item, size);
    shoal_code code = SHOAL_OK;
    for (uint64_t at = 0; at < length && code == SHOAL_OK; at += FILL_BYTES) {
        size_t n = length - at < FILL_BYTES ? (size_t)(length - at) : FILL_BYTES;
        code = file_write_at(fd, name, offset + at, bytes, n, r);
    }
    return code;
}

shoal_code file_scratch(const char *path, int *fd, struct report *r) {
    char *directory = directory_of(path);
    if (!directory)
        return no_memory(r, path);
    *fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0) { // a file system without such files
        size_t room = strlen(directory) + sizeof "/.shoal-XXXXXX";
        char *name = malloc(room);
        if (name) {
            memcpy(name, directory, strlen(directory) + 1);
            strcat(name, "/.shoal-XXXXXX");
            *fd = mkostemp(name, O_CLOEXEC);
            if (*fd >= 0)
                unlink(name);
            free(name);
        }
    }
    shoal_code code = SHOAL_OK;
    if (*fd < 0)
        code = report_error(r, SHOAL_IO, "%s: cannot create a temporary file there: %s", directory,
                            strerror(errno));
    free(directory);
    return code;
}

shoal_code file_in_memory(const char *name, const void *bytes, size_t length, int *fd,
                          struct report *r) {
    *fd = memfd_create("shoal", MFD_CLOEXEC);
    if (*fd < 0)
        return failed(r, "make a copy of", name, errno);
    shoal_code code = file_write(*fd, name, bytes, length, r);
    if (code != SHOAL_OK) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

// ---- Disk space ---------------------------------------------------------------------------------

uint64_t file_free_bytes(const char *path) {
    char *directory = directory_of(path);
    struct statvfs s;
    uint64_t bytes = UINT64_MAX;
    if (directory && statvfs(directory, &s) == 0 && s.f_blocks > 0 &&
        __builtin_mul_overflow((uint64_t)s.f_bavail, (uint64_t)s.f_frsize, &bytes))
        bytes = UINT64_MAX;
    free(directory);
    return bytes;
}

shoal_code file_check_space(const char *path, uint64_t bytes, struct report *r) {
    uint64_t room = file_free_bytes(path);
    if (bytes <= room)
        return SHOAL_OK;
    const uint64_t mb = 1000000;
    return report_error(r, SHOAL_IO,
                        "%s: the result takes %llu bytes (%llu MB), but only %llu bytes (%llu MB) "
                        "are free there",
                        path, (unsigned long long)bytes, (unsigned long long)(bytes / mb),
                        (unsigned long long)room, (unsigned long long)(room / mb));
}
