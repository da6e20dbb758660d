// SPDX-License-Identifier: MIT
// The harness's main: runs tests in child processes, a few at a time, and counts.
//
// usage: test [--long] [-j N] [-x WORD] [--again PROGRAM WORDS] [part of a name ...]
//
// -x leaves out tests with that part of a name. --again runs the tests a second time by another
// build of this program (one with sanitizers), those without any of the WORDS (with commas) in
// their names; it is then called as `PROGRAM --in DIRECTORY NAME`.
#include "check.h"

#include "kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FAILED = 10, EXIT_SKIPPED = 11, LIMIT_SECONDS = 300, LONG_LIMIT_SECONDS = 1800 };

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

void *check_keep(void *given) {
    static struct kept {
        struct kept *next;
        void *given;
    } * all;
    struct kept *k = malloc(sizeof *k);
    if (!k)
        abort();
    *k = (struct kept){all, given};
    all = k;
    return given;
}

const char *check_path(const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        abort();
    return check_keep(path);
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
    return check_keep(text);
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

const char *check_enter(void) {
    char *path = check_keep(realpath(check_shoal(), NULL));
    REQUIRE(path != NULL);
    setenv("SHOAL_BIN", path, 1);
    REQUIRE(chdir(check_dir()) == 0);
    return path;
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
    const struct check_test *test;
    bool again;
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

// In the environment of tests: a folder that all of a run have.
#define SHARED "SHOAL_TEST_SHARED"

static struct check_own *own_caches;

void check_own_cache(struct check_own *own) {
    own->next = own_caches;
    own_caches = own;
}

static bool has_own_cache(const struct check_test *t) {
    for (const struct check_own *o = own_caches; o; o = o->next)
        if (!strcmp(o->file, t->file))
            return true;
    return !getenv(SHARED);
}

static bool is_device_test(const struct check_test *t) { return !strncmp(t->name, "device_", 7); }

// Kernels, secret and locks are those of tests, whatever the user has set.
static void use_cache(const struct check_test *t) {
    static const char *const settings[] = {"SHOAL_CACHE",      "SHOAL_CACHE_RO",
                                           "SHOAL_CACHE_MAX",  "SHOAL_CACHE_ENTRIES",
                                           "SHOAL_CACHE_SALT", "SHOAL_CACHE_LOG"};
    static const char *const parts[][2] = {
        {"XDG_RUNTIME_DIR", "run"}, {"XDG_CONFIG_HOME", "config"}, {"SHOAL_CACHE_DIR", "cache"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        unsetenv(settings[i]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char path[200];
        snprintf(path, sizeof path, "%.160s/%s", has_own_cache(t) ? check_dir() : getenv(SHARED),
                 parts[i][1]);
        setenv(parts[i][0], path, 1);
    }
    // PoCL ends a process that finds what another is compiling half done. Where kernels are shared,
    // Shoal's locks keep it from that.
    if (has_own_cache(t))
        setenv("POCL_CACHE_DIR", check_dir(), 1);
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

// In the environment of tests, for check_does.
#define ALL_WAYS "SHOAL_TEST_ALL_WAYS"

bool check_does(size_t case_, size_t way, size_t ways) {
    return getenv(ALL_WAYS) || way == case_ % ways;
}

// Most of the time of tests is that of compilers.
static bool may_hurry(const struct check_test *t) {
    return !getenv(ALL_WAYS) && !has_own_cache(t) && !is_device_test(t);
}

_Noreturn static void run_in(const char *dir, const struct check_test *t) {
    snprintf(directory, sizeof directory, "%s", dir);
    use_cache(t);
    use_own_signals();
    kernel_all_hurried = may_hurry(t);
    t->run();
    check_end();
}

// What was built next to that program is what its tests use.
_Noreturn static void run_by(const char *program, const char *dir, const char *name) {
    char folder[256], shoal[300];
    snprintf(folder, sizeof folder, "%s", program);
    snprintf(shoal, sizeof shoal, "%s/shoal", dirname(folder));
    setenv("SHOAL_BIN", shoal, 1);
    setenv("SHOAL_BUILD", folder, 1);
    execl(program, program, "--in", dir, name, NULL);
    fprintf(stderr, "cannot run %s: %s\n", program, strerror(errno));
    _exit(127);
}

// program: NULL for this one.
static bool start(struct job *j, const struct check_test *t, const char *program) {
    const char *base = getenv("TMPDIR");
    snprintf(j->dir, sizeof j->dir, "%.40s/shoal-test.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(j->dir))
        return false;
    j->test = t;
    j->again = program;
    j->fd = open(base ? base : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    j->begin = now();
    j->deadline = j->begin + (t->is_long ? LONG_LIMIT_SECONDS : LIMIT_SECONDS);
    fflush(NULL);
    j->pid = fork();
    if (j->pid == 0) {
        setpgid(0, 0);
        dup2(j->fd, 1);
        dup2(j->fd, 2);
        if (program)
            run_by(program, j->dir, t->name);
        run_in(j->dir, t);
    }
    setpgid(j->pid, j->pid);
    return j->pid > 0;
}

struct counts {
    int passed, failed, skipped;
    int on_device; // of the passed, those on a device other than the CPU alone
};

static double seconds_of(const struct rusage *u) {
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

static void finish(struct job *j, int status, const struct rusage *used, bool late,
                   struct counts *n) {
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
    printf("%-18s %6.1f s %6.1f s CPU  %s  %s%s\n", word, now() - j->begin, seconds_of(used),
           j->test->file, j->test->name, j->again ? " (again)" : "");
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

// What tests share is there for the time of this run: kernels, and what PoCL compiles, which is not
// to compile each a second time for the size of its groups.
static void use_shared(char path[64]) {
    const char *base = getenv("TMPDIR");
    char pocl[72];
    snprintf(path, 64, "%.40s/shoal-shared.XXXXXX", base ? base : "/tmp");
    setenv(SHARED, mkdtemp(path) ? path : "/nowhere", 1);
    snprintf(pocl, sizeof pocl, "%s/pocl", path);
    mkdir(pocl, 0700);
    setenv("POCL_CACHE_DIR", pocl, 1);
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 1);
}

enum { MOST_JOBS = 16, MOST_WORDS = 128 };

// What is asked for, and the next test.
struct queue {
    bool with_long;
    int limit;         // tests at a time
    const char *again; // the other program, or NULL
    char *left_out[MOST_WORDS], *not_again[MOST_WORDS], **names;
    int left_outs, not_agains, count;
    const struct check_test *next;
    bool second; // the second time
};

static bool has_word(const struct check_test *t, char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (strstr(t->name, words[i]) || strstr(t->file, words[i]))
            return true;
    return false;
}

static bool wanted(const struct queue *q, const struct check_test *t) {
    if ((t->is_long && !q->with_long) || has_word(t, q->left_out, q->left_outs))
        return false;
    if (q->second && has_word(t, q->not_again, q->not_agains))
        return false;
    return !q->count || has_word(t, q->names, q->count);
}

static const struct check_test *take(struct queue *q) {
    for (;;) {
        const struct check_test *t = q->next;
        if (t) {
            q->next = t->next;
            if (wanted(q, t))
                return t;
        } else if (q->again && !q->second) {
            q->second = true;
            q->next = tests;
        } else {
            return NULL;
        }
    }
}

static struct queue read_arguments(int argc, char **argv) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct queue q = {.limit = cpus < MOST_JOBS ? (int)cpus : MOST_JOBS, .next = tests};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--long")) {
            setenv(ALL_WAYS, "1", 1);
            q.with_long = true;
        } else if (!strcmp(argv[i], "-j") && i + 1 < argc) {
            q.limit = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "-x") && i + 1 < argc && q.left_outs < MOST_WORDS) {
            q.left_out[q.left_outs++] = argv[++i];
        } else if (!strcmp(argv[i], "--again") && i + 2 < argc) {
            q.again = argv[++i];
            char *rest = NULL;
            for (char *w = strtok_r(argv[++i], ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
                if (q.not_agains == MOST_WORDS) {
                    fprintf(stderr, "more than %d words behind --again\n", MOST_WORDS);
                    exit(2);
                }
                q.not_again[q.not_agains++] = w;
            }
        } else {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            exit(2);
        }
    }
    q.limit = q.limit < 1 ? 1 : q.limit > MOST_JOBS ? MOST_JOBS : q.limit;
    q.names = argv + i;
    q.count = argc - i;
    return q;
}

// True when the job has ended.
static bool look_after(struct job *j, struct counts *n) {
    int status;
    struct rusage used;
    bool late = now() > j->deadline;
    if (late)
        kill(-j->pid, SIGKILL);
    if (wait4(j->pid, &status, late ? 0 : WNOHANG, &used) != j->pid)
        return false;
    finish(j, status, &used, late, n);
    return true;
}

static void run_all(struct queue *q, struct counts *n) {
    struct job jobs[MOST_JOBS] = {0};
    const struct check_test *t = take(q);
    int running = 0;
    while (t || running) {
        bool ended = false;
        for (int k = 0; k < q->limit; k++) {
            if (!jobs[k].pid && t && start(&jobs[k], t, q->second ? q->again : NULL)) {
                running++;
                t = take(q);
            } else if (jobs[k].pid && look_after(&jobs[k], n)) {
                running--;
                ended = true;
            }
        }
        if (running && !ended)
            usleep(1000);
    }
}

// The test of that name alone, in a directory that is there.
static int run_one(const char *dir, const char *name) {
    for (const struct check_test *t = tests; t; t = t->next)
        if (!strcmp(t->name, name))
            run_in(dir, t);
    fprintf(stderr, "there is no test %s\n", name);
    return EXIT_FAILED;
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "--in"))
        return run_one(argv[2], argv[3]);
    struct queue q = read_arguments(argc, argv);
    struct counts n = {0};
    if (q.again && access(q.again, X_OK)) {
        printf("skipped: no test a second time, since there is no %s\n", q.again);
        n.skipped++;
        q.again = NULL;
    }
    char shared[64];
    use_shared(shared);
    run_all(&q, &n);
    nftw(shared, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    bool no_device = !q.count && !n.on_device && !getenv("SHOAL_TEST_NO_DEVICE");
    if (no_device)
        printf(
            "FAILED: no test ran on a device; install an OpenCL driver (pocl-opencl-icd), or set "
            "SHOAL_TEST_NO_DEVICE=1\n");
    printf("%d passed, %d failed, %d skipped\n", n.passed, n.failed + no_device, n.skipped);
    return n.failed || !n.passed || no_device ? 1 : 0;
}
