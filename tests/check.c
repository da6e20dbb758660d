// SPDX-License-Identifier: MIT
// The harness's main: runs tests in child processes, a few at a time, and counts.
//
// usage: test [--long] [-j N] [part of a name ...]
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FAILED = 10, EXIT_SKIPPED = 11, LIMIT_SECONDS = 300, LONG_LIMIT_SECONDS = 1800 };

#ifdef __SANITIZE_ADDRESS__
// Tests may leak what they get from the harness; the programs they run may not.
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

static struct check_test *tests;
static int failures;
static char directory[64];
extern char **environ;

void check_register(struct check_test *t) {
    struct check_test **at = &tests; // by file and name, so that the order is always the same
    while (*at && (strcmp((*at)->file, t->file) < 0 ||
                   (!strcmp((*at)->file, t->file) && strcmp((*at)->name, t->name) < 0)))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void check_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "    %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    if (++failures >= 20)
        check_end();
}

_Noreturn void check_end(void) { exit(failures ? EXIT_FAILED : 0); }

_Noreturn void check_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "    skipped: ");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(failures ? EXIT_FAILED : EXIT_SKIPPED);
}

const char *check_dir(void) { return directory; }

const char *check_path(const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        abort();
    return path;
}

static char *read_fd(int fd, size_t *length) {
    size_t room = 4096, n = 0;
    char *text = malloc(room + 1);
    for (ssize_t got; text && (got = read(fd, text + n, room - n)) != 0;) {
        if (got < 0)
            break;
        n += (size_t)got;
        if (n == room)
            text = realloc(text, (room *= 2) + 1);
    }
    text[n] = 0;
    *length = n;
    return text;
}

char *check_read(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t n;
    char *text = read_fd(fd, &n);
    close(fd);
    return text;
}

void check_write(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs(text, f);
    REQUIRE(fclose(f) == 0);
}

struct check_output check_command(const char *const *argv) {
    char out_path[96], err_path[96];
    static int number;
    number++;
    snprintf(out_path, sizeof out_path, "%s/.out%d", directory, number);
    snprintf(err_path, sizeof err_path, "%s/.err%d", directory, number);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int in = open("/dev/null", O_RDONLY), out = open(out_path, O_WRONLY | O_CREAT, 0600),
            err = open(err_path, O_WRONLY | O_CREAT, 0600);
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    struct check_output o = {0};
    o.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    size_t ignored;
    int fd = open(out_path, O_RDONLY);
    o.out = read_fd(fd, &o.out_length);
    close(fd);
    fd = open(err_path, O_RDONLY);
    o.err = read_fd(fd, &ignored);
    close(fd);
    unlink(out_path);
    unlink(err_path);
    return o;
}

void check_comma_locale(void) {
    setenv("LOCPATH", check_dir(), 1);
    RUN("localedef", "-i", "de_DE", "-f", "UTF-8", check_path("comma.UTF-8"));
    if (!setlocale(LC_ALL, "comma.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0)
        check_skip("cannot make a locale with a decimal comma");
}

const char *check_shoal(void) {
    const char *path = getenv("SHOAL_BIN");
    return path ? path : "build/shoal";
}

const char *check_python(const char *module) {
    static const char *const names[] = {"build/venv/bin/python3", "python3", "/usr/bin/python3"};
    char code[128];
    snprintf(code, sizeof code, "import numpy%s%s", module ? "," : "", module ? module : "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct check_output o = RUN(names[i], "-c", code);
        if (o.status == 0)
            return names[i];
    }
    return NULL;
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw) {
    (void)s, (void)flag, (void)ftw;
    return remove(path);
}

struct job {
    struct check_test *test;
    pid_t pid;
    int fd; // its stderr, into a file
    char dir[64];
    double begin, deadline;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Kernels, secret and locks of a test are its own, whatever the user has set.
static void use_own_cache(void) {
    static const char *const settings[] = {"SHOAL_CACHE",      "SHOAL_CACHE_RO",
                                           "SHOAL_CACHE_MAX",  "SHOAL_CACHE_ENTRIES",
                                           "SHOAL_CACHE_SALT", "SHOAL_CACHE_LOG"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        unsetenv(settings[i]);
    setenv("XDG_RUNTIME_DIR", check_path("run"), 1);
    setenv("XDG_CONFIG_HOME", check_path("config"), 1);
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
}

// Signals as a program finds them that is started by hand, though the tests were started by nohup
// or in the background of a script.
static void use_own_signals(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    sigset_t none;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool start(struct job *j, struct check_test *t) {
    const char *base = getenv("TMPDIR");
    snprintf(j->dir, sizeof j->dir, "%.40s/shoal-test.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(j->dir))
        return false;
    j->test = t;
    j->fd = open(base ? base : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    j->begin = now();
    j->deadline = j->begin + (t->is_long ? LONG_LIMIT_SECONDS : LIMIT_SECONDS);
    fflush(NULL);
    j->pid = fork();
    if (j->pid == 0) {
        setpgid(0, 0);
        dup2(j->fd, 1);
        dup2(j->fd, 2);
        snprintf(directory, sizeof directory, "%s", j->dir);
        use_own_cache();
        use_own_signals();
        t->run();
        check_end();
    }
    setpgid(j->pid, j->pid);
    return j->pid > 0;
}

struct counts {
    int passed, failed, skipped;
    int on_device; // of the passed, those on a device other than the CPU alone
};

static bool is_device_test(const struct check_test *t) { return !strncmp(t->name, "device_", 7); }

static void finish(struct job *j, int status, bool late, struct counts *n) {
    const char *word = "ok";
    bool show = true;
    if (late)
        word = "FAILED (too slow)", n->failed++;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        word = "ok", n->passed++, show = false, n->on_device += is_device_test(j->test);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
        word = "skipped", n->skipped++;
    else if (WIFSIGNALED(status))
        word = "FAILED (crashed)", n->failed++;
    else
        word = "FAILED", n->failed++;
    printf("%-18s %6.1f s  %s  %s\n", word, now() - j->begin, j->test->file, j->test->name);
    if (show && j->fd >= 0) {
        size_t length;
        lseek(j->fd, 0, SEEK_SET);
        char *text = read_fd(j->fd, &length);
        fwrite(text, 1, length, stdout);
        free(text);
    }
    fflush(stdout);
    if (j->fd >= 0)
        close(j->fd);
    nftw(j->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    j->pid = 0;
}

// PoCL keeps what it compiles: for the time of this run, not in the user's own place. It is not to
// compile each kernel a second time for the size of its groups.
static void use_pocl(char path[64]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 64, "%.40s/shoal-pocl.XXXXXX", base ? base : "/tmp");
    setenv("POCL_CACHE_DIR", mkdtemp(path) ? path : "/nowhere", 1);
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 1);
}

static bool wanted(const struct check_test *t, char **names, int count, bool with_long) {
    if (t->is_long && !with_long)
        return false;
    for (int i = 0; i < count; i++)
        if (strstr(t->name, names[i]) || strstr(t->file, names[i]))
            return true;
    return count == 0;
}

int main(int argc, char **argv) {
    enum { MOST_JOBS = 16 };
    struct job jobs[MOST_JOBS] = {0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int limit = cpus < 1 ? 1 : cpus > MOST_JOBS ? MOST_JOBS : (int)cpus, i = 1;
    bool with_long = false;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--long"))
            with_long = true;
        else if (!strcmp(argv[i], "-j") && i + 1 < argc)
            limit = atoi(argv[++i]);
    }
    limit = limit < 1 ? 1 : limit > MOST_JOBS ? MOST_JOBS : limit;
    struct counts n = {0};
    char pocl[64];
    use_pocl(pocl);
    int running = 0;
    struct check_test *t = tests;
    while (t || running) {
        for (int k = 0; k < limit && t; k++) {
            if (jobs[k].pid)
                continue;
            while (t && !wanted(t, argv + i, argc - i, with_long))
                t = t->next;
            if (t && start(&jobs[k], t)) {
                running++;
                t = t->next;
            }
        }
        bool ended = false;
        for (int k = 0; k < limit; k++) {
            int status;
            if (!jobs[k].pid)
                continue;
            bool late = now() > jobs[k].deadline;
            if (late)
                kill(-jobs[k].pid, SIGKILL);
            if (waitpid(jobs[k].pid, &status, late ? 0 : WNOHANG) == jobs[k].pid) {
                finish(&jobs[k], status, late, &n);
                running--;
                ended = true;
            }
        }
        if (running && !ended)
            usleep(1000);
    }
    nftw(pocl, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    bool no_device = i == argc && !n.on_device && !getenv("SHOAL_TEST_NO_DEVICE");
    if (no_device)
        printf(
            "FAILED: no test ran on a device; install an OpenCL driver (pocl-opencl-icd), or set "
            "SHOAL_TEST_NO_DEVICE=1\n");
    printf("%d passed, %d failed, %d skipped\n", n.passed, n.failed + no_device, n.skipped);
    return n.failed || !n.passed || no_device ? 1 : 0;
}
