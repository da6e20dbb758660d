// SPDX-License-Identifier: MIT
// The way to a directory is walked component by component with descriptors, so that what was
// checked is what is used. A link on the way is followed when it belongs to root or to us; where it
// leads is checked like everything else.
#include "cache/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MOST = 40 };

struct way {
    int fd;          // the directory reached so far
    char *rest;      // malloc; what is still to walk
    struct buf done; // its name so far, for messages
    int links;
    bool create, root_may_own;
    struct buf *why;
};

// A path for people: control characters cannot do harm.
static void put_path(struct buf *b, const char *path) {
    for (; *path; path++)
        buf_putc(b, (unsigned char)*path < 0x20 || *path == 0x7f ? '?' : *path);
}

// The name of the directory reached so far, as far as memory allowed to keep it.
static void put_done(struct way *w) { put_path(w->why, w->done.data ? w->done.data : "/"); }

static bool refuse(struct way *w, const char *format, const char *detail) {
    put_done(w);
    buf_printf(w->why, format, detail);
    return false;
}

static bool is_trusted(uid_t uid) { return uid == 0 || uid == geteuid(); }

// `last`: the directory itself; else one above it.
static bool check_directory(struct way *w, bool last) {
    struct stat s;
    if (fstat(w->fd, &s) < 0)
        return refuse(w, ": %s", strerror(errno));
    bool ours = s.st_uid == geteuid() || (s.st_uid == 0 && (!last || w->root_may_own));
    if (!ours)
        return refuse(w, " belongs to another user%s", "");
    if (!(s.st_mode & 022) || (!last && (s.st_mode & S_ISVTX)))
        return true;
    refuse(w, " is writable by others%s (chmod go-w '", "");
    put_done(w);
    buf_puts(w->why, "')");
    return false;
}

// Puts the target of a link before the rest of the way.
static bool follow_link(struct way *w, const char *name, const char *rest) {
    char target[PATH_MAX];
    struct stat s;
    ssize_t n = readlinkat(w->fd, name, target, sizeof target - 1);
    if (n < 0 || fstatat(w->fd, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return refuse(w, " is not a directory%s", "");
    if (!*rest)
        return refuse(w, " is a symbolic link%s", "");
    if (!is_trusted(s.st_uid) || ++w->links > LINKS_MOST)
        return refuse(w, " is a symbolic link that cannot be trusted%s", "");
    target[n] = 0;
    struct buf whole = {0};
    buf_printf(&whole, "%s/%s", target, rest);
    if (whole.failed)
        return refuse(w, ": %s", strerror(ENOMEM));
    free(w->rest);
    w->rest = whole.data;
    if (*target != '/')
        return true;
    close(w->fd);
    w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return w->fd >= 0 || refuse(w, ": %s", strerror(errno));
}

// One component; `rest` is what follows it.
static bool step(struct way *w, const char *name, const char *rest) {
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    buf_printf(&w->done, "/%s", name);
    int next = openat(w->fd, name, flags);
    if (next < 0 && errno == ENOENT && w->create) {
        if (mkdirat(w->fd, name, 0700) < 0 && errno != EEXIST)
            return refuse(w, ": cannot be made: %s", strerror(errno));
        next = openat(w->fd, name, flags);
    }
    if (next < 0 && (errno == ENOTDIR || errno == ELOOP))
        return follow_link(w, name, rest);
    if (next < 0)
        return refuse(w, ": %s", strerror(errno));
    close(w->fd);
    w->fd = next;
    return check_directory(w, !*rest);
}

static bool walk_all(struct way *w) {
    w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w->fd < 0 || !check_directory(w, false))
        return false;
    while (w->rest) {
        char *name = w->rest + strspn(w->rest, "/");
        if (!*name)
            break;
        char *end = name + strcspn(name, "/");
        const char *rest = end + strspn(end, "/");
        char component[NAME_MAX + 1];
        if (end - name > NAME_MAX)
            return refuse(w, ": %s", strerror(ENAMETOOLONG));
        memcpy(component, name, (size_t)(end - name));
        component[end - name] = 0;
        char *following = strdup(rest), *old = w->rest;
        if (!following)
            return refuse(w, ": %s", strerror(ENOMEM));
        w->rest = following;
        free(old);
        if (strcmp(component, ".") != 0 && !step(w, component, following))
            return false;
    }
    return true;
}

int place_open(const char *path, bool create, bool root_may_own, struct buf *why) {
    struct way w = {.fd = -1, .create = create, .root_may_own = root_may_own, .why = why};
    if (*path != '/' || strlen(path) >= PATH_MAX) {
        put_path(why, *path == '/' ? "its name" : path);
        buf_puts(why, *path == '/' ? " is too long" : " is not an absolute path");
        return -1;
    }
    w.rest = strdup(path);
    int fd = -1;
    if (!w.rest)
        buf_puts(why, strerror(ENOMEM));
    else if (walk_all(&w) && check_directory(&w, true)) {
        fd = openat(w.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            refuse(&w, ": %s", strerror(errno));
    }
    if (w.fd >= 0)
        close(w.fd);
    free(w.rest);
    buf_free(&w.done);
    return fd;
}

bool place_is_remote(int fd) {
    static const uint32_t types[] = {
        0x6969,     // NFS
        0x517b,     // SMB
        0xfe534d42, // SMB2
        0xff534d42, // CIFS
        0x0bd00bd0, // Lustre
        0x47504653, // GPFS
        0x19830326, // BeeGFS
        0x65735546, // FUSE
        0x01021997, // 9p
    };
    struct statfs s;
    if (fstatfs(fd, &s) < 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((uint32_t)s.f_type == types[i])
            return true;
    return false;
}
