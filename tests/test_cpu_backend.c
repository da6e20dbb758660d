// SPDX-License-Identifier: MIT
// The CPU backend when things go wrong: compilers that are missing, fail, die, lie or hang, hostile
// environments, signals, stops. Whatever happens: a clear error, no child left, nothing in TMPDIR.
#include "check.h"
#include "rig.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

static const char decay[] = "par a=1\ninit x=1\nx'=-a*x\n@ t1=1\n";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pause_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

// ---- Compilers ----------------------------------------------------------------------------------

// A shell script as the compiler.
static void use_compiler(const char *script) {
    const char *path = check_path("compiler");
    char text[1024];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    check_write(path, text);
    REQUIRE(chmod(path, 0700) == 0);
    setenv("SHOAL_CC", path, 1);
}

static const char *use_tmpdir(void) {
    const char *path = check_path("tmp");
    mkdir(path, 0700);
    setenv("TMPDIR", path, 1);
    return path;
}

static int count_entries(const char *path) {
    DIR *dir = opendir(path);
    int n = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void check_nothing_left(const char *tmpdir) {
    CHECK_INT(count_entries(tmpdir), 0);
    CHECK_MSG(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

// Makes a solver for `decay`; its messages are kept.
static char messages[70000];
static shoal_code try_solver(const volatile int *stop, shoal_solver **out) {
    shoal_log *log = shoal_log_new();
    static shoal_model *model; // outlives the solver
    shoal_options o;
    *out = NULL;
    if (!model)
        REQUIRE(shoal_model_parse("decay.ode", decay, strlen(decay), &model, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&o, model, log) == SHOAL_OK);
    o.stop = stop;
    shoal_code code = shoal_solver_new(model, &o, out, log);
    char *all = rig_messages(log);
    snprintf(messages, sizeof messages, "%s", all);
    free(all);
    shoal_log_free(log);
    return code;
}

static double run_decay(shoal_solver *solver) {
    shoal_batch *batch = NULL;
    double x = 0;
    shoal_array arrays = {.data = &x};
    REQUIRE(shoal_batch_new(solver->model, &batch, NULL) == SHOAL_OK);
    CHECK_INT(shoal_solver_run_arrays(solver, batch, &arrays, 1, NULL, NULL), SHOAL_OK);
    shoal_batch_free(batch);
    return x;
}

static void check_fails(shoal_code code, const char *message) {
    const char *tmpdir = use_tmpdir();
    shoal_solver *solver;
    CHECK_INT(try_solver(NULL, &solver), code);
    CHECK(solver == NULL);
    CHECK_HAS(messages, message);
    check_nothing_left(tmpdir);
}

static void check_works(void) {
    const char *tmpdir = use_tmpdir();
    shoal_solver *solver;
    CHECK_INT(try_solver(NULL, &solver), SHOAL_OK);
    CHECK_STR(messages, "");
    REQUIRE(solver);
    CHECK_NEAR(run_decay(solver), exp(-1), 1e-5);
    shoal_solver_free(solver);
    check_nothing_left(tmpdir);
}

TEST(cpu_compiler_is_missing) {
    setenv("SHOAL_CC", "/nowhere/cc", 1);
    check_fails(SHOAL_DEVICE, "C compiler '/nowhere/cc' (SHOAL_CC) was not found");
    setenv("SHOAL_CC", "no-such-compiler", 1);
    check_fails(SHOAL_DEVICE, "'no-such-compiler' (SHOAL_CC)");
    check_write(check_path("plain"), "text");
    setenv("SHOAL_CC", check_path("plain"), 1); // not executable
    check_fails(SHOAL_DEVICE, "(SHOAL_CC)");
    setenv("SHOAL_CC", check_dir(), 1);
    check_fails(SHOAL_DEVICE, check_dir());
    unsetenv("SHOAL_CC");
    setenv("PATH", "", 1);
    check_fails(SHOAL_DEVICE, "no C compiler");
    setenv("SHOAL_CC", "/usr/bin/cc", 1); // finds its linker all the same
    if (access("/usr/bin/cc", X_OK) == 0)
        check_works();
}

TEST(cpu_compiler_fails) {
    setenv("SHOAL_CC", "/bin/false", 1);
    check_fails(SHOAL_DEVICE, "failed with exit code 1 and said nothing");
    use_compiler("echo 'kernel.c:1: sorry, no vectors' >&2; exit 3");
    check_fails(SHOAL_DEVICE, "failed with exit code 3:\nkernel.c:1: sorry, no vectors");
    use_compiler("head -c 1000000 /dev/zero | tr '\\0' x; exit 1");
    check_fails(SHOAL_DEVICE, "failed with exit code 1:\nxxxxxx");
    CHECK(strlen(messages) < 69000);
    check_write(check_path("compiler"), "no program");
    check_fails(SHOAL_DEVICE, "cannot run");
}

TEST(cpu_compiler_is_killed) {
    use_compiler("echo half done; kill -9 $$");
    check_fails(SHOAL_DEVICE, "was killed by signal 9 (Killed):\nhalf done");
    use_compiler("kill -SEGV $$");
    check_fails(SHOAL_DEVICE, "was killed by signal 11");
}

// Does `first` in place of the unit of the loop, `second` in place of the other, `link` in place of
// the linker; "" is what the real compiler does.
static void use_units(const char *first, const char *second, const char *link) {
    char script[900];
    snprintf(script, sizeof script,
             "case \"$*\" in *SHOAL_PART=1*) %s;; *SHOAL_PART=2*) %s;; *-shared*) %s;; esac\n"
             "exec cc \"$@\"",
             first[0] ? first : ":", second[0] ? second : ":", link[0] ? link : ":");
    use_compiler(script);
}

static int count_of(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

TEST(cpu_unit_fails) {
    use_units("echo no loop; exit 3", "echo no rest; exit 4", "");
    check_fails(SHOAL_DEVICE, "failed with exit code 3:\nno loop");
    CHECK_HAS(messages, "failed with exit code 4:\nno rest");
    use_units("echo nothing goes; exit 3", "echo nothing goes; exit 3", "");
    check_fails(SHOAL_DEVICE, "failed with exit code 3:\nnothing goes");
    CHECK_INT(count_of(messages, "nothing goes"), 1);
    use_units("echo no loop; exit 3", "", "");
    check_fails(SHOAL_DEVICE, "failed with exit code 3:\nno loop");
    use_units("", "echo no rest; exit 4", "");
    check_fails(SHOAL_DEVICE, "failed with exit code 4:\nno rest");
    use_units("", "", "echo no linker; exit 5");
    check_fails(SHOAL_DEVICE, "failed with exit code 5:\nno linker");
    use_units("exit 0", "", "");
    check_fails(SHOAL_DEVICE, "hot.o");
    use_units("", "", "");
    check_works();
}

TEST(cpu_unit_is_killed) {
    use_units("echo half the loop; kill -9 $$", "", "");
    check_fails(SHOAL_DEVICE, "was killed by signal 9 (Killed):\nhalf the loop");
    use_units("", "echo half the rest; kill -SEGV $$", "");
    check_fails(SHOAL_DEVICE, "half the rest");
    CHECK_HAS(messages, "was killed by signal 11");
    use_units("kill -9 $$", "kill -SEGV $$", "");
    check_fails(SHOAL_DEVICE, "was killed by signal 9");
    CHECK_HAS(messages, "was killed by signal 11");
    use_units("", "", "kill -9 $$");
    check_fails(SHOAL_DEVICE, "was killed by signal 9");
}

// The file to make, as $o; a question has none.
#define LAST_ARGUMENT "for o; do :; done; case \"$o\" in /*) ;; *) exit 1;; esac; "

TEST(cpu_compiler_lies) {
    use_compiler("exit 0");
    check_fails(SHOAL_DEVICE, "left no object file");
    use_compiler(LAST_ARGUMENT ": > \"$o\"");
    check_fails(SHOAL_DEVICE, "cannot load the compiled kernel");
    use_compiler(LAST_ARGUMENT "head -c 5000 /dev/urandom > \"$o\"");
    check_fails(SHOAL_DEVICE, "cannot load the compiled kernel");
}

TEST(cpu_object_without_kernel) {
    use_compiler(LAST_ARGUMENT
                 "echo 'int shoal_kernel_workspace;' | cc -shared -nostdlib -x c - -o \"$o\"");
    check_fails(SHOAL_DEVICE, "lacks its entry points");
}

static volatile int stop_flag;
static double stop_delay, stopped_at;
enum { SOON_S = 3 }; // where the work would take minutes; a busy machine is slow

// `after`: a file to wait for, or NULL.
static void *set_stop(void *after) {
    while (after && access(after, F_OK))
        pause_for(0.01);
    pause_for(stop_delay);
    stopped_at = now();
    stop_flag = 1;
    return NULL;
}

// True when the process is gone, or dead and left to others.
static bool is_gone(long pid) {
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    char *text = check_read(path);
    if (text)
        sscanf(text, "%*d %*s %c", &state);
    free(text);
    return state == 'Z' || state == 'X';
}

// Also what it started, and what it left in its directory.
TEST(cpu_compiler_hangs) {
    const char *tmpdir = use_tmpdir(), *pids = check_path("pids");
    char script[512];
    snprintf(script, sizeof script,
             "trap '' TERM INT; echo x > \"$TMPDIR/cc1.s\"; sleep 1000 & "
             "echo $$ $! > %s.$$; mv %s.$$ %s; echo x > \"${o:-$TMPDIR}/kernel.so\"; wait; "
             "sleep 1000",
             pids, pids, pids);
    use_compiler(script);
    pthread_t thread;
    shoal_solver *solver;
    stop_delay = 0.1;
    REQUIRE(pthread_create(&thread, NULL, set_stop, (void *)(uintptr_t)pids) == 0);
    CHECK_INT(try_solver(&stop_flag, &solver), SHOAL_STOPPED);
    double late = now() - stopped_at;
    CHECK_MSG(late < SOON_S, "%g s after the stop", late);
    pthread_join(thread, NULL);
    check_nothing_left(tmpdir);
    long pid[2] = {0, 0};
    char *text = check_read(pids);
    REQUIRE(text && sscanf(text, "%ld %ld", &pid[0], &pid[1]) == 2);
    for (int i = 0; i < 100 && !(is_gone(pid[0]) && is_gone(pid[1])); i++)
        pause_for(0.01);
    CHECK(is_gone(pid[0]) && is_gone(pid[1]));
}

static void *set_stop_when_both_run(void *pids) {
    for (int i = 0; i < 1000; i++) {
        char *text = check_read(pids);
        bool both = text && count_of(text, "\n") == 2;
        free(text);
        if (both)
            break;
        pause_for(0.01);
    }
    stopped_at = now();
    stop_flag = 1;
    return NULL;
}

// Both units, and what they started.
TEST(cpu_units_hang) {
    const char *tmpdir = use_tmpdir(), *pids = check_path("pids");
    char hang[256];
    snprintf(hang, sizeof hang, "trap '' TERM INT; sleep 1000 & echo $$ $! >> %s; wait", pids);
    use_units(hang, hang, "");
    pthread_t thread;
    shoal_solver *solver;
    REQUIRE(pthread_create(&thread, NULL, set_stop_when_both_run, (void *)(uintptr_t)pids) == 0);
    CHECK_INT(try_solver(&stop_flag, &solver), SHOAL_STOPPED);
    double late = now() - stopped_at;
    CHECK_MSG(late < 0.3, "%g s after the stop", late);
    pthread_join(thread, NULL);
    check_nothing_left(tmpdir);
    long pid[4];
    char *text = check_read(pids);
    REQUIRE(text && sscanf(text, "%ld %ld %ld %ld", &pid[0], &pid[1], &pid[2], &pid[3]) == 4);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 100 && !is_gone(pid[i]); k++)
            pause_for(0.01);
        CHECK(is_gone(pid[i]));
    }
    free(text);
}

// The real one, in the middle of its work: its temporary files go too.
TEST(cpu_real_compiler_is_stopped) {
    const char *tmpdir = use_tmpdir();
    pthread_t thread;
    shoal_solver *solver;
    stop_delay = 0.04;
    REQUIRE(pthread_create(&thread, NULL, set_stop, NULL) == 0);
    shoal_code code = try_solver(&stop_flag, &solver);
    pthread_join(thread, NULL);
    CHECK(code == SHOAL_STOPPED || code == SHOAL_OK); // it may have been quick
    shoal_solver_free(solver);
    check_nothing_left(tmpdir);
}

// ---- Environment --------------------------------------------------------------------------------

TEST(cpu_clean_environment) {
    const char *seen = check_path("seen");
    char script[512];
    setenv("CPATH", "/poison", 1);
    setenv("C_INCLUDE_PATH", "/poison", 1);
    setenv("GCC_EXEC_PREFIX", "/poison/", 1);
    setenv("COMPILER_PATH", "/poison", 1);
    setenv("LIBRARY_PATH", "/poison", 1);
    setenv("LD_PRELOAD", "/poison.so", 1);
    setenv("LD_LIBRARY_PATH", "/poison", 1);
    setenv("DEPENDENCIES_OUTPUT", check_path("dependencies"), 1);
    setenv("LANG", "tlh_KX", 1);
    check_works();
    CHECK(check_read(check_path("dependencies")) == NULL);
    snprintf(script, sizeof script, "tr '\\0' '\\n' < /proc/self/environ > %s; exit 1", seen);
    use_compiler(script);
    check_fails(SHOAL_DEVICE, "exit code 1");
    char *text = check_read(seen);
    CHECK_HAS(text, "LC_ALL=C\n");
    CHECK_HAS(text, "PATH=/");
    CHECK(!strstr(text, "poison"));
    CHECK(!strstr(text, "tlh_KX"));
}

TEST(cpu_tmpdir_is_missing) {
    shoal_solver *solver;
    setenv("TMPDIR", check_path("nowhere"), 1);
    CHECK_INT(try_solver(NULL, &solver), SHOAL_IO);
    CHECK_HAS(messages, "cannot make a temporary directory");
    CHECK_HAS(messages, check_path("nowhere"));
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

TEST(cpu_tmpdir_with_odd_names) {
    const char *odd = check_path("with blank 'and' \"quotes\" $HOME");
    REQUIRE(mkdir(odd, 0700) == 0);
    setenv("TMPDIR", odd, 1);
    shoal_solver *solver;
    CHECK_INT(try_solver(NULL, &solver), SHOAL_OK);
    CHECK_STR(messages, "");
    CHECK_INT(count_entries(odd), 0);
    shoal_solver_free(solver);
}

TEST(cpu_target_is_unknown) {
    setenv("SHOAL_CPU_TARGET", "z80", 1);
    check_fails(SHOAL_DEVICE, "SHOAL_CPU_TARGET: unknown target 'z80'; there is:");
}

// Standard streams may be closed; files then get their numbers.
TEST(cpu_closed_streams) {
    int kept[3];
    use_compiler("echo here >&2; exit 1");
    for (int i = 0; i < 3; i++)
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++)
        close(i);
    shoal_solver *none, *solver;
    shoal_code failed = try_solver(NULL, &none);
    char *said = strdup(messages);
    unsetenv("SHOAL_CC");
    shoal_code code = try_solver(NULL, &solver);
    for (int i = 0; i < 3; i++)
        if (kept[i] >= 0)
            dup2(kept[i], i);
    CHECK_INT(failed, SHOAL_DEVICE);
    CHECK_HAS(said, "exit code 1:\nhere");
    CHECK_INT(code, SHOAL_OK);
    REQUIRE(solver);
    CHECK_NEAR(run_decay(solver), exp(-1), 1e-5);
    shoal_solver_free(solver);
    free(said);
}

// A program that ignores its children has no exit codes to read.
TEST(cpu_ignored_children) {
    signal(SIGCHLD, SIG_IGN);
    check_works();
    use_compiler("echo no >&2; exit 1");
    shoal_solver *solver;
    CHECK_INT(try_solver(NULL, &solver), SHOAL_DEVICE);
    CHECK_HAS(messages, "no");
}

static void on_alarm(int signal) { (void)signal; }

TEST(cpu_interrupted_calls) {
    struct sigaction action = {.sa_handler = on_alarm}; // without SA_RESTART
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    check_works();
    setitimer(ITIMER_REAL, &never, NULL);
}

// ---- Loading ------------------------------------------------------------------------------------

// The loader must not take the second kernel for the first.
TEST(cpu_kernels_side_by_side) {
    struct rig up = rig_new(NULL, "par a=1; init x=1; x'=a*x", "t1=1");
    struct rig down = rig_new(NULL, "par a=1; init x=1; x'=-a*x", "t1=1");
    struct rig still = rig_new(NULL, "par a=1; init x=1; x'=a-1", "t1=1");
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(1, names);
    in.value[0][0] = 1;
    struct rig *rigs[] = {&up, &down, &still};
    double want[] = {exp(1), exp(-1), 1};
    for (int i = 0; i < 3; i++) {
        struct outcome o = rig_run(rigs[i], &in, NULL, 0, NULL);
        CHECK_NEAR(outcome_value(&o, 0, 0, 0), want[i], 1e-5);
        outcome_free(&o);
    }
    rig_free(&down); // its number comes back
    struct rig again = rig_new(NULL, "par a=1; init x=1; x'=-2*a*x", "t1=1");
    struct outcome o = rig_run(&again, &in, NULL, 0, NULL);
    CHECK_NEAR(outcome_value(&o, 0, 0, 0), exp(-2), 1e-5);
    outcome_free(&o);
    o = rig_run(&up, &in, NULL, 0, NULL);
    CHECK_NEAR(outcome_value(&o, 0, 0, 0), want[0], 1e-5);
    outcome_free(&o);
    rig_free(&up);
    rig_free(&still);
    rig_free(&again);
    inputs_free(&in);
}

// One unit or two: the same bits.
static void check_one_unit(const char *options) {
    const char *names[RIG_NAMES] = {"a"};
    struct rig two = rig_new(NULL, decay, options), one = rig_new(NULL, decay, options);
    char *source = rig_source(&one);
    struct shoal_kernel_text k = {.text = source, .length = strlen(source), .one_unit = true};
    rig_replace_text(&one, &k);
    struct inputs in = inputs_new(100, names);
    for (int i = 0; i < 100; i++)
        in.value[0][i] = 0.1 * i;
    struct outcome a = rig_run(&one, &in, NULL, 0, NULL), b = rig_run(&two, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < 100; i++)
        outcome_same(&a, i, &b, i, options);
    outcome_free(&a);
    outcome_free(&b);
    inputs_free(&in);
    free(source);
    rig_free(&one);
    rig_free(&two);
}

TEST(cpu_one_unit_or_two) {
    check_one_unit("t1=3");
    check_one_unit("t1=3 save=n=7");
    check_one_unit("t1=3 save=at=0.5,2 precision=f32");
    check_one_unit("t1=3 method=rk4 dt=0.01 save=n=7");
}

TEST(cpu_load_leaks_no_descriptor) {
    struct rig rig = rig_new(NULL, decay, "t1=1");
    shoal_solver *s = rig.solver;
    char *source = rig_source(&rig);
    struct shoal_kernel_text k = {.text = source, .length = strlen(source)};
    struct shoal_bytes bytes = {0};
    rig_need(&rig, s->backend->build(s->device, &k, NULL, &bytes, log_report(rig.log)), "build");
    int before = count_entries("/proc/self/fd");
    for (int i = 0; i < 100; i++) {
        struct shoal_module *m = NULL;
        rig_need(&rig,
                 s->backend->load(s->device, &bytes, "shoal_kernel", &m, NULL, log_report(rig.log)),
                 "load");
        s->backend->unload(m);
        bytes.data[0] ^= 1; // no ELF
        CHECK_INT(s->backend->load(s->device, &bytes, "shoal_kernel", &m, NULL, NULL),
                  SHOAL_DEVICE);
        bytes.data[0] ^= 1;
    }
    CHECK_INT(count_entries("/proc/self/fd"), before);
    free(source);
    free(bytes.data);
    rig_free(&rig);
}

// ---- What a kernel leaves behind ----------------------------------------------------------------

static struct inputs many_inputs(uint64_t rows) {
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(rows, names);
    for (uint64_t i = 0; i < rows; i++)
        in.value[0][i] = 0.5 + (double)i / (double)rows;
    return in;
}

#if defined(__x86_64__)
// Whether the upper halves of vector registers are in use, as the processor tracks it.
static bool uppers_in_use(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & 4;
}

// Code of the caller that knows only their lower halves would be slow until something cleans them.
TEST(cpu_kernel_leaves_vectors_clean) {
    unsigned a = 0, b, c, d;
    struct rig rig = rig_new(NULL, decay, "t1=1 threads=1");
    struct inputs in = many_inputs(16);
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || !(a & 4) || uppers_in_use())
        check_skip("this processor does not tell what is in use");
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL); // in this thread
    bool used = uppers_in_use();
    CHECK_INT(o.code, SHOAL_OK);
    CHECK(!used);
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
}

// Lanes without a row compute with numbers of usual size: those below 2^-1022 take a processor a
// hundred times as long.
TEST(cpu_idle_lanes_are_quick) {
    static const char *const options[] = {
        "method=rodas4 t1=1 threads=1", "method=tsit5 t1=1 threads=1",
        "method=kvaerno5 t1=1 threads=1", "method=rk4 dt=0.1 t1=1 threads=1"};
    enum { DENORMAL = 2 };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct rig rig = rig_new(
            NULL, "par a=1; x(0)=1; y(0)=1e-3; x'=1e-9*a-1e-6*x; y'=1e-12-1e-5*y*x", options[i]);
        struct inputs in = many_inputs(1);
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~(unsigned)DENORMAL);
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL); // in this thread
        unsigned seen = __builtin_ia32_stmxcsr() & DENORMAL;
        CHECK_INT(o.code, SHOAL_OK);
        CHECK_MSG(!seen, "%s", options[i]);
        outcome_free(&o);
        inputs_free(&in);
        rig_free(&rig);
    }
}

// Nor would functions of libm that a kernel calls be faster.
TEST(cpu_kernel_calls_with_clean_vectors) {
    static const unsigned char vzeroupper[] = {0xc5, 0xf8, 0x77};
    const char *target = "x86-64-v3";
    if (!rig_has_target(target))
        check_skip("no AVX2");
    struct rig rig = rig_new(target, "par a=1; x(0)=1; x'=-lgamma(a+x*x)", "method=tsit5 t1=1");
    const shoal_solver *s = rig.solver;
    char *source = rig_source(&rig);
    struct shoal_kernel_text text = {.text = source, .length = strlen(source), .needs_libm = true};
    struct shoal_bytes bytes = {0};
    rig_need(&rig, s->backend->build(s->device, &text, NULL, &bytes, log_report(rig.log)), "build");
    CHECK(memmem(bytes.data, bytes.length, vzeroupper, sizeof vzeroupper));
    free(bytes.data);
    free(source);
    rig_free(&rig);
}
#endif

// Nor those of libc, which a compiler calls for loops that copy or clear: kernels have none.
static void check_calls_nothing(const shoal_solver *s, const char *source, const char *what,
                                bool one_unit, shoal_log *log) {
    struct shoal_kernel_text text = {
        .text = source, .length = strlen(source), .one_unit = one_unit};
    struct shoal_bytes bytes = {0};
    const char *path = check_path("kernel.so");
    REQUIRE(s->backend->build(s->device, &text, NULL, &bytes, log_report(log)) == SHOAL_OK);
    FILE *f = fopen(path, "wb");
    REQUIRE(f && fwrite(bytes.data, 1, bytes.length, f) == bytes.length && !fclose(f));
    struct check_output r = RUN("nm", "-D", "--undefined-only", path);
    CHECK_INT(r.status, 0);
    CHECK_MSG(!r.out[0], "%s: %s", what, r.out);
    free(bytes.data);
}

TEST(cpu_kernel_calls_nothing) {
    static const char *const options[] = {"method=rk4 dt=0.1 t1=1",
                                          "method=rodas5p t1=1 save=n=11"};
    static const char *const pipelines[] = {"rot90 | mask(v>5) | flip_h", "nsum4"};
    static const shoal_cell cells[] = {SHOAL_U8, SHOAL_I32};
    struct rig rig = {0};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        rig = rig_new(NULL, "par k=1; x[1..20](0)=1; x[1..20]'=-k*x[j]*x1", options[i]);
        char *source = rig_source(&rig);
        check_calls_nothing(rig.solver, source, options[i], false, rig.log);
        free(source);
        rig_free(&rig);
    }
    rig = rig_new(NULL, decay, "t1=1");
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++)
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
            char *source = NULL;
            shoal_options o = {0};
            shoal_options_init(&o, NULL, rig.log);
            o.device = "cpu";
            REQUIRE(!shoal_grid_source(pipelines[i], &o, cells[k], cells[k], &source, rig.log));
            check_calls_nothing(rig.solver, source, pipelines[i], true, rig.log);
            free(source);
        }
    rig_free(&rig);
}

// ---- Stops and signals --------------------------------------------------------------------------

static void *stop_solver(void *solver) {
    pause_for(stop_delay);
    stopped_at = now();
    shoal_solver_stop(solver);
    return NULL;
}

// A run that would take minutes; what was finished is right, in order and counted.
static void check_stop(const char *model, const char *options, uint64_t rows, uint64_t least) {
    struct rig rig = rig_new(NULL, model, options), whole = rig_new(NULL, model, options);
    struct inputs in = many_inputs(rows);
    pthread_t thread;
    stop_delay = 0.2;
    REQUIRE(pthread_create(&thread, NULL, stop_solver, rig.solver) == 0);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    double late = now() - stopped_at;
    pthread_join(thread, NULL);
    CHECK_INT(o.code, SHOAL_STOPPED);
    CHECK_MSG(late < SOON_S, "%g s after the stop", late);
    CHECK(!o.tally.complete && o.tally.runs == rows);
    CHECK_MSG(o.tally.done >= least && o.tally.done < rows, "%llu of %llu rows",
              (unsigned long long)o.tally.done, (unsigned long long)rows);
    for (uint64_t i = o.tally.done; i-- > 0 && i + 3 >= o.tally.done;) {
        char only[32];
        snprintf(only, sizeof only, "%llu", (unsigned long long)i);
        struct outcome one = rig_run(&whole, &in, NULL, 0, only);
        outcome_same(&one, 0, &o, i, options);
        outcome_free(&one);
    }
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&whole);
    rig_free(&rig);
}

static const char oscillator[] = "par a=1; init x=1, y=0; x'=y; y'=-a*x";

TEST(cpu_stop_many_rows) { check_stop(oscillator, "t1=3000 max-steps=100000000", 200000, 1); }
TEST(cpu_stop_many_rows_fixed) { check_stop(oscillator, "method=rk4 dt=0.1 t1=10000", 200000, 1); }
TEST(cpu_stop_one_row) { check_stop(oscillator, "t1=1e12 max-steps=1000000000000", 1, 0); }
TEST(cpu_stop_one_row_fixed) { check_stop(oscillator, "method=euler dt=1e-9 t1=4", 1, 0); }
TEST(cpu_stop_series) { check_stop(oscillator, "t1=3000 max-steps=100000000 save=n=3", 200000, 1); }

// The flag of the options works for runs too, and a stop before the run is one.
TEST(cpu_stop_by_flag) {
    struct rig rig = rig_new(NULL, oscillator, "t1=3000 max-steps=100000000");
    struct inputs in = many_inputs(200000);
    pthread_t thread;
    rig.options.stop = &stop_flag;
    rig_need(&rig, shoal_solver_set_options(rig.solver, &rig.options, NULL, rig.log), "stop");
    stop_delay = 0.1;
    REQUIRE(pthread_create(&thread, NULL, set_stop, NULL) == 0);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_MSG(now() - stopped_at < SOON_S, "%g s after the stop", now() - stopped_at);
    pthread_join(thread, NULL);
    CHECK_INT(o.code, SHOAL_STOPPED);
    outcome_free(&o);
    double start = now();
    o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_INT(o.code, SHOAL_STOPPED);
    CHECK_INT(o.tally.done, 0);
    CHECK(now() - start < 0.3);
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
}

static pthread_t caller;
static volatile int handled, handled_elsewhere, run_over;

static void on_signal(int signal) {
    (void)signal;
    handled++;
    handled_elsewhere += !pthread_equal(pthread_self(), caller);
}

static void *run_and_listen(void *unused) {
    struct rig rig = rig_new(NULL, oscillator, "t1=300 threads=4");
    struct inputs in = many_inputs(20000);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    caller = pthread_self();
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK_INT(o.code, SHOAL_OK);
    CHECK_INT(o.tally.by_status[SHOAL_STATUS_ok], 20000);
    sigset_t after;
    pthread_sigmask(SIG_BLOCK, &usr1, &after);
    CHECK(!sigismember(&after, SIGUSR1)); // as it was
    run_over = 1;
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
    return unused;
}

// Handlers run in the thread that called, never in a worker. The main thread, which the system
// prefers, takes no signals here.
TEST(cpu_workers_take_no_signals) {
    sigset_t usr1;
    pthread_t thread;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    signal(SIGUSR1, on_signal);
    REQUIRE(pthread_create(&thread, NULL, run_and_listen, NULL) == 0);
    for (; !run_over; pause_for(0.001))
        kill(getpid(), SIGUSR1);
    pthread_join(thread, NULL);
    CHECK_MSG(handled > 5, "%d signals", handled);
    CHECK_INT(handled_elsewhere, 0);
}

// ---- Temporary directories ----------------------------------------------------------------------

static void make_old(const char *path) {
    const struct timespec t[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    REQUIRE(utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW) == 0);
}

// A directory as a killed compilation leaves it; a fresh string each call.
static const char *make_leftover(const char *tmpdir, long pid, const char *end, mode_t mode) {
    char *path = NULL, *file = NULL;
    REQUIRE(asprintf(&path, "%s/shoal-cc.%ld.%s", tmpdir, pid, end) > 0);
    REQUIRE(asprintf(&file, "%s/hot.o", path) > 0);
    REQUIRE(mkdir(path, 0700) == 0);
    check_write(file, "x");
    REQUIRE(chmod(path, mode) == 0);
    make_old(path);
    free(file);
    return check_keep(path);
}

static long dead_pid(void) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

// What killed runs left goes; what is somebody's, or may still be used, stays.
TEST(cpu_leftovers_are_swept) {
    const char *tmpdir = use_tmpdir();
    long dead = dead_pid();
    const char *left = make_leftover(tmpdir, dead, "aaaaaa", 0700),
               *alive = make_leftover(tmpdir, getpid(), "bbbbbb", 0700),
               *locked = make_leftover(tmpdir, dead, "cccccc", 0700),
               *open_to_all = make_leftover(tmpdir, dead, "dddddd", 0755),
               *young = make_leftover(tmpdir, dead, "eeeeee", 0700), *victim = check_path("victim");
    char link[512], file[512], old[512];
    const struct timespec now_twice[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
    REQUIRE(utimensat(AT_FDCWD, young, now_twice, 0) == 0);
    REQUIRE(mkdir(victim, 0700) == 0);
    check_write(check_path("victim/file"), "precious");
    make_old(victim);
    snprintf(link, sizeof link, "%s/shoal-cc.%ld.ffffff", tmpdir, dead);
    REQUIRE(symlink(victim, link) == 0);
    snprintf(file, sizeof file, "%s/shoal-cc.%ld.gggggg", tmpdir, dead);
    check_write(file, "x");
    snprintf(old, sizeof old, "%s/shoal-cc.AbCdEf", tmpdir); // as they were called before
    REQUIRE(mkdir(old, 0700) == 0);
    make_old(old);
    int fd = open(locked, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);
    shoal_solver *solver;
    CHECK_INT(try_solver(NULL, &solver), SHOAL_OK);
    shoal_solver_free(solver);
    CHECK(!is_there(left) && !is_there(old));
    CHECK(is_there(alive) && is_there(locked) && is_there(open_to_all) && is_there(young));
    CHECK(is_there(link) && is_there(file) && is_there(check_path("victim/file")));
    close(fd);
}

// A run that is killed while it compiles leaves a directory, which a later one removes.
TEST(cpu_killed_run_is_swept) {
    const char *tmpdir = use_tmpdir(), *here = check_path("here");
    char script[256];
    snprintf(script, sizeof script, "touch %s; exec sleep 100", here);
    use_units(script, script, "");
    check_write(check_path("m.ode"), "x'=-x\nx(0)=1\n@ t1=1\n");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        freopen("/dev/null", "w", stderr);
        execl(check_shoal(), "shoal", "run", check_path("m.ode"), "--device", "cpu", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 2000 && !is_there(here); i++)
        pause_for(0.01);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK_INT(count_entries(tmpdir), 1);
    DIR *dir = opendir(tmpdir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", tmpdir, e->d_name);
            make_old(path);
        }
    closedir(dir);
    unsetenv("SHOAL_CC");
    CHECK_INT(RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cpu").status, 0);
    CHECK_INT(count_entries(tmpdir), 0);
}

// Where others could put their object in the place of ours nothing is compiled.
TEST(cpu_unsafe_tmpdir) {
    shoal_solver *solver;
    setenv("SHOAL_CACHE", "off", 1);
    mkdir(check_path("open"), 0700);
    mkdir(check_path("open/mine"), 0700);
    static const mode_t modes[] = {0777, 0770, 0722};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        REQUIRE(chmod(check_path("open"), modes[i]) == 0);
        setenv("TMPDIR", check_path("open"), 1);
        CHECK_INT(try_solver(NULL, &solver), SHOAL_IO);
        setenv("TMPDIR", check_path("open/mine"), 1);
        CHECK_INT(try_solver(NULL, &solver), SHOAL_IO);
        CHECK_HAS(messages, "that others can change: ");
    }
    REQUIRE(chmod(check_path("open"), 01777) == 0);
    CHECK_INT(try_solver(NULL, &solver), SHOAL_OK);
    shoal_solver_free(solver);
    if (geteuid() == 0) {
        REQUIRE(chown(check_path("open"), 65534, 65534) == 0);
        CHECK_INT(try_solver(NULL, &solver), SHOAL_IO);
    }
}
