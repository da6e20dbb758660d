// SPDX-License-Identifier: MIT
// The compiler as a child process: by argv, with a clean environment, in a private temporary
// directory that is removed with whatever it left there.
#include "device/cpu/cpu.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OBJECT_MOST = 256 << 20, FILES_MOST = 4 };

const char *cpu_compiler_wanted(void) {
    const char *wanted = secure_getenv("SHOAL_CC");
    return wanted && *wanted ? wanted : "cc";
}

bool cpu_find_compiler(char *path, size_t room) {
    return process_find(cpu_compiler_wanted(), path, room);
}

static const char *const kinds[] = {
#define X(name) #name,
    CPU_KINDS(X)
#undef X
};

enum cpu_kind cpu_kind_of(const char *path) {
    char *file = realpath(path, NULL);
    const char *name = file ? strrchr(file, '/') + 1 : "";
    enum cpu_kind kind = strstr(name, "gcc") ? CPU_gcc : !strcmp(name, "zig") ? CPU_zig : CPU_other;
    free(file);
    return kind;
}

const char *cpu_kind_name(enum cpu_kind kind) { return kinds[kind]; }

enum cpu_kind cpu_kind_named(const char *name, size_t length) {
    size_t i = sizeof kinds / sizeof *kinds;
    while (--i && (strlen(kinds[i]) != length || memcmp(kinds[i], name, length)))
        ;
    return (enum cpu_kind)i;
}

// ---- The directory ------------------------------------------------------------------------------

#define DIR_START "shoal-cc."

// Whether nobody but us and root can rename what is in a directory. Who owns "/" is root, also
// where a container calls it otherwise.
static bool is_safe(const char *path) {
    struct stat s, top;
    return stat(path, &s) == 0 && stat("/", &top) == 0 &&
           (s.st_uid == geteuid() || s.st_uid == 0 || s.st_uid == top.st_uid) &&
           (!(s.st_mode & 022) || (s.st_mode & S_ISVTX));
}

// The first directory on the way to `path`, itself included, that others can change; NULL: none.
// Cuts the path there.
static const char *find_unsafe(char *path) {
    for (char *end = path + strlen(path);;) {
        if (!is_safe(*path ? path : "/"))
            return *path ? path : "/";
        if (end == path)
            return NULL;
        while (end > path && *--end != '/')
            ;
        *end = 0;
    }
}

shoal_code cpu_dir_make(struct cpu_dir *dir, struct report *r) {
    const char *named = secure_getenv("TMPDIR");
    char *base = realpath(named && *named ? named : "/tmp", NULL);
    int length = snprintf(dir->path, sizeof dir->path, "%s/" DIR_START "%ld.XXXXXX",
                          base ? base : "", (long)getpid());
    bool fits = base && length > 0 && (size_t)length < sizeof dir->path;
    const char *unsafe = fits ? find_unsafe(base) : NULL;
    shoal_code code = SHOAL_OK;
    if (!fits)
        code =
            report_error(r, SHOAL_IO, "cannot make a temporary directory in %s: %s",
                         named && *named ? named : "/tmp", strerror(base ? ENAMETOOLONG : errno));
    else if (unsafe)
        code = report_error(r, SHOAL_IO,
                            "cannot compile in a temporary directory that others can change: %s; "
                            "set TMPDIR to another",
                            unsafe);
    else if (!mkdtemp(dir->path))
        code = report_error(r, SHOAL_IO, "cannot make a temporary directory %s: %s", dir->path,
                            strerror(errno));
    free(base);
    if (code != SHOAL_OK)
        return code;
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir->fd >= 0) {
        (void)flock(dir->fd, LOCK_EX | LOCK_NB); // where there are no locks nothing is swept
        return SHOAL_OK;
    }
    code = report_error(r, SHOAL_IO, "cannot use the temporary directory %s: %s", dir->path,
                        strerror(errno));
    cpu_dir_remove(dir);
    return code;
}

// All files of an open directory, which stays open.
static void remove_files(int fd) {
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = own < 0 ? NULL : fdopendir(own);
    for (const struct dirent *e; files && (e = readdir(files));)
        unlinkat(own, e->d_name, 0); // "." and ".." cannot be removed so
    if (files)
        closedir(files);
    else if (own >= 0)
        close(own);
}

void cpu_dir_remove(const struct cpu_dir *dir) {
    if (dir->fd >= 0) {
        remove_files(dir->fd);
        close(dir->fd);
    }
    rmdir(dir->path);
}

// True for a directory of ours whose run is over: by its owner and mode, no process of the number
// in its name, and a lock that nobody holds. One that was made this moment may not be locked yet.
static bool is_left_behind(int fd, const char *name) {
    enum { YOUNG_S = 5, NAMELESS_S = 3600 };
    struct stat s;
    char *end;
    long pid = strtol(name + strlen(DIR_START), &end, 10);
    bool named = pid > 0 && pid <= INT32_MAX && *end == '.'; // older ones have no number
    if (fstat(fd, &s) < 0 || s.st_uid != geteuid() || (s.st_mode & 07777) != 0700)
        return false;
    if (time(NULL) - s.st_mtime < (named ? YOUNG_S : NAMELESS_S))
        return false;
    return !(named && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)) &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void cpu_dir_sweep(const struct cpu_dir *dir) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int base = openat(dir->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = base < 0 ? NULL : fdopendir(base);
    for (const struct dirent *e; all && (e = readdir(all));) {
        if (strncmp(e->d_name, DIR_START, strlen(DIR_START)) != 0)
            continue;
        int fd = openat(base, e->d_name, flags);
        if (fd >= 0 && is_left_behind(fd, e->d_name)) {
            remove_files(fd);
            unlinkat(base, e->d_name, AT_REMOVEDIR);
        }
        if (fd >= 0)
            close(fd);
    }
    if (all)
        closedir(all);
    else if (base >= 0)
        close(base);
}

static void put_file(const struct cpu_dir *dir, const char *name, char file[CPU_FILE]) {
    snprintf(file, CPU_FILE, "%s/%s", dir->path, name);
}

void cpu_dir_read(const struct cpu_dir *dir, const char *name, struct shoal_bytes *out) {
    char file[CPU_FILE];
    put_file(dir, name, file);
    file_read(file, OBJECT_MOST, (char **)&out->data, &out->length, NULL);
}

shoal_code cpu_child(const char *const *argv, const struct cpu_dir *dir, const char *input,
                     size_t length, struct process *out, struct report *r) {
    const char *own[CPU_ARGS + 1] = {NULL};
    char file[FILES_MOST][CPU_FILE];
    for (int i = 0, files = 0; argv[i] && i < CPU_ARGS; i++) {
        own[i] = argv[i];
        if (!strncmp(argv[i], "./", 2) && files < FILES_MOST) {
            put_file(dir, argv[i] + 2, file[files]);
            own[i] = file[files++];
        }
    }
    return process_start(own, dir->path, input, length, out, r);
}
