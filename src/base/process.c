// SPDX-License-Identifier: MIT
// Starts children, reads what they say, and ends them together with their own.
#include "base/process.h"

#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 20, TALK_MOST = 64 * 1024 };

// A page that the system empties in a child, however that was made; NULL: it does not.
static struct {
    pthread_once_t once;
    int *page;
} self = {.once = PTHREAD_ONCE_INIT};

static void make_page(void) {
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
        self.page = page;
    else
        munmap(page, bytes);
}

int process_id(void) {
    pthread_once(&self.once, make_page);
    int id = self.page ? __atomic_load_n(self.page, __ATOMIC_RELAXED) : 0;
    if (id)
        return id;
    id = getpid();
    if (self.page)
        __atomic_store_n(self.page, id, __ATOMIC_RELAXED);
    return id;
}

static const char usual_path[] = "/usr/bin:/bin";

bool process_find(const char *name, char *path, size_t room) {
    if (strchr(name, '/')) { // a link stays one: programs look at what they are called
        char *here = *name == '/' ? NULL : getcwd(NULL, 0);
        int length = snprintf(path, room, "%s%s%s", here ? here : "", here ? "/" : "", name);
        free(here);
        return path[0] == '/' && length > 0 && (size_t)length < room && access(path, X_OK) == 0;
    }
    const char *dirs = secure_getenv("PATH");
    for (const char *p = dirs ? dirs : usual_path; *p;) {
        size_t n = strcspn(p, ":");
        int length = snprintf(path, room, "%.*s/%s", (int)n, p, name);
        if (n && p[0] == '/' && length > 0 && (size_t)length < room && access(path, X_OK) == 0)
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

// ---- Programs of our own ------------------------------------------------------------------------

// The file that this code is in; the name of the main program may be anything, so it is asked of
// the system.
static bool own_path(char *path, size_t room) {
    static const char here = 0;
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    if (map->l_name && *map->l_name) {
        char *real = realpath(map->l_name, NULL);
        bool fits = real && strlen(real) < room;
        if (fits)
            strcpy(path, real);
        free(real);
        return fits;
    }
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

bool process_find_own(const char *name, const char *variable, char *path, size_t room) {
    static const char *const places[] = {"", "../libexec/shoal/", "../../libexec/shoal/"};
    char own[4096];
    const char *named = secure_getenv(variable);
    if (named)
        return (size_t)snprintf(path, room, "%s", named) < room;
    char *slash = own_path(own, sizeof own) ? strrchr(own, '/') : NULL;
    if (!slash)
        return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(path, room, "%s/%s%s", own, places[i], name);
        if (length > 0 && (size_t)length < room && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

// ---- Children -----------------------------------------------------------------------------------

// The same file, but none of the standard streams, even where those are closed.
static int above_standard(int fd) {
    if (fd < 0 || fd > 2)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return high;
}

static int create(const char *name) { return above_standard(memfd_create(name, MFD_CLOEXEC)); }

// An anonymous file with that content, at its start; -1 on failure.
static int anonymous(const char *name, const char *text, size_t length) {
    int fd = create(name);
    if (fd >= 0 && file_write(fd, name, text, length, NULL) != SHOAL_OK) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

// PATH without what depends on the directory we are in; a compiler looks for its linker there.
static void put_path(char *text, size_t room) {
    const char *p = secure_getenv("PATH");
    size_t at = (size_t)snprintf(text, room, "PATH="), start = at;
    for (size_t n; p && *p; p += n + (p[n] == ':')) {
        n = strcspn(p, ":");
        if (p[0] == '/' && at + n + 2 < room)
            at += (size_t)sprintf(text + at, "%s%.*s", at > start ? ":" : "", (int)n, p);
    }
    if (at == start)
        snprintf(text, room, "PATH=%s", usual_path);
}

// In the directory `dir`; NULL: in ours.
static shoal_code spawn(const char *const *argv, const char *const *env, const char *dir, int in,
                        int out, int err, pid_t *pid, struct report *r) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, err, 2);
    if (dir)
        posix_spawn_file_actions_addchdir_np(&files, dir);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setpgroup(&attr, 0); // its own group: one kill reaches all its children
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawn(pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv,
                             (char *const *)(uintptr_t)env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (failed)
        return report_error(r, SHOAL_DEVICE, "cannot run %s: %s", argv[0], strerror(failed));
    return SHOAL_OK;
}

static void wait_for(struct process *p, const volatile int *stop) {
    pid_t pid = p->pid;
    int status = 0;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            break;
        if (stop && *stop && !p->stopped) {
            p->stopped = true;
            kill(-pid, SIGKILL);
        }
        struct pollfd end = {.fd = fd, .events = POLLIN};
        poll(&end, fd >= 0 ? 1 : 0, fd >= 0 ? POLL_MS : 1);
    }
    if (fd >= 0)
        close(fd);
    p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void read_talk(int fd, struct buf *talk) {
    char piece[4096];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; talk->length < TALK_MOST && (n = read(fd, piece, sizeof piece)) > 0;)
        buf_put(talk, piece, (size_t)n);
    while (talk->length && (talk->data[talk->length - 1] == '\n'))
        talk->data[--talk->length] = 0;
}

shoal_code process_start(const char *const *argv, const char *tmp, const char *input, size_t length,
                         struct process *out, struct report *r) {
    *out = (struct process){0};
    shoal_code code;
    char path[16384], tmpdir[4096 + 8];
    const char *const env[] = {"LC_ALL=C", tmpdir, path, NULL};
    snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", tmp);
    put_path(path, sizeof path);
    int talk = anonymous("shoal-talk", "", 0), in = anonymous("shoal-input", input, length);
    if (in < 0 || talk < 0)
        code = report_error(r, SHOAL_IO, "cannot make a file in memory: %s", strerror(errno));
    else
        code = spawn(argv, env, tmp, in, talk, talk, // nothing depends on where we are
                     &out->pid, r);
    out->fd = talk;
    if (in >= 0)
        close(in);
    if (talk >= 0 && code != SHOAL_OK)
        close(talk);
    return code;
}

void process_wait(struct process *p, const volatile int *stop) {
    wait_for(p, stop);
    read_talk(p->fd, &p->talk);
    close(p->fd);
}

shoal_code process_stream(const char *const *argv, const char *const *env, struct process *out,
                          struct report *r) {
    int ends[2] = {-1, -1};
    *out = (struct process){.fd = -1};
    int nothing = above_standard(open("/dev/null", O_RDWR | O_CLOEXEC));
    bool piped = nothing >= 0 && pipe2(ends, O_CLOEXEC) == 0;
    for (int i = 0; i < 2 && piped; i++)
        ends[i] = above_standard(ends[i]);
    shoal_code code = !piped || ends[0] < 0 || ends[1] < 0
                          ? report_error(r, SHOAL_IO, "cannot make a pipe: %s", strerror(errno))
                          : spawn(argv, env, NULL, nothing, ends[1], nothing, &out->pid, r);
    if (code == SHOAL_OK)
        out->fd = ends[0];
    else if (ends[0] >= 0)
        close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    if (nothing >= 0)
        close(nothing);
    return code;
}

_Noreturn static void be_copy(void (*run)(int fd, void *user), void *user, int fd) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 3 && nothing >= 0; i++)
        dup2(nothing, i);
    run(fd, user);
    _exit(0);
}

shoal_code process_copy(void (*run)(int fd, void *user), void *user, struct process *out) {
    int ends[2];
    *out = (struct process){.fd = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return SHOAL_IO;
    for (int i = 0; i < 2; i++)
        ends[i] = above_standard(ends[i]);
    out->pid = ends[0] < 0 || ends[1] < 0 ? -1 : fork();
    if (out->pid == 0)
        be_copy(run, user, ends[1]);
    if (ends[1] >= 0)
        close(ends[1]);
    out->fd = ends[0];
    if (out->pid > 0) {
        setpgid(out->pid, out->pid); // whoever is first
        return SHOAL_OK;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    return SHOAL_DEVICE;
}

void process_end(struct process *p, int wait_ms) {
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int stop = fd < 0 || poll(&end, 1, wait_ms) <= 0;
    if (fd >= 0)
        close(fd);
    close(p->fd); // before it ends: it may be waiting for us to read
    wait_for(p, &stop);
}
