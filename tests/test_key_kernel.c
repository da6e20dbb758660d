// SPDX-License-Identifier: MIT
// The kernel that runs is the one that was asked for: whatever is swapped, damaged or planted, what
// comes out of the cache is what a fresh build would give, or it is not used.
#include "check.h"
#include "kernels.h"

#include "../kernels/ode/abi.h"
#include "device/device.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

static const char base[] = "par a=1;init x=1,y=0;x'=-a*x;y'=x-y;aux r=x+y;@ t1=1,method=bs3";

static bool same_bits(const double *a, const double *b, uint32_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

static struct made must_make(const char *text, const char *options,
                             const struct component_swap *swap) {
    struct made m = make_solver(text, options, false, swap);
    for (size_t i = 0; m.code && i < shoal_log_message_count(m.log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(m.log, i).text);
    REQUIRE(m.code == SHOAL_OK);
    return m;
}

// Runs with that mode of the cache; how the lookup ended is checked.
static uint32_t run_in_mode(const char *mode, const char *text, const char *options,
                            const struct component_swap *swap, const char *result,
                            double values[8]) {
    setenv("SHOAL_CACHE", mode, 1);
    struct made m = must_make(text, options, swap);
    char *got = span_says(m.log, "cache_lookup", "result");
    CHECK_MSG(!strcmp(got, result), "SHOAL_CACHE=%s %s: a %s, not a %s", mode, options, got,
              result);
    uint32_t n = run_one(&m, values);
    made_free(&m);
    free(got);
    return n;
}

// Miss, hit and no cache at all give the same bits, and the entry is what the compiler makes.
static uint32_t check_kernel(const char *text, const char *options,
                             const struct component_swap *swap, double fresh[8]) {
    double values[3][8] = {{0}};
    run_in_mode("on", text, options, swap, "miss", values[0]);
    run_in_mode("on", text, options, swap, "hit", values[1]);
    uint32_t n = run_in_mode("verify", text, options, swap, "hit", values[2]); // compiles
    CHECK(same_bits(values[0], values[2], n) && same_bits(values[1], values[2], n));
    memcpy(fresh, values[2], sizeof values[2]);
    return n;
}

// ---- Components swapped, no setting changed -----------------------------------------------------

static char *replaced(const char *text, const char *what, const char *with) {
    const char *at = strstr(text, what);
    char *out = NULL;
    CHECK_MSG(at != NULL, "%s is not in the component", what);
    REQUIRE(at && asprintf(&out, "%.*s%s%s", (int)(at - text), text, with, at + strlen(what)) > 0);
    return out;
}

// Changes of a component that results must show; any other component gets a blank more.
static const struct {
    const char *component, *what, *with;
} moves[] = {
    {"gains", "#define CONTROL_SAFETY ((elem)", "#define CONTROL_SAFETY ((elem)2*"},
    {"dxdt", "d[0] = ", "d[0] = R(2)*"},
    {"observables", "out[0] = ", "out[0] = R(3)*"},
};

static void check_swap(const char *component, const char *old, const double plain[8], uint32_t n) {
    const char *what = "\n", *with = " \n";
    bool must_move = false;
    double values[8];
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (!strcmp(moves[i].component, component)) {
            what = moves[i].what;
            with = moves[i].with;
            must_move = true;
        }
    char *text = replaced(old, what, with);
    struct component_swap swap[] = {{component, text}, {NULL, NULL}};
    check_kernel(base, "", swap, values);
    CHECK_MSG(same_bits(plain, values, n) == !must_move, "%s: results %s", component,
              must_move ? "did not change" : "changed");
    free(text);
}

// The old kernel would run on if settings were all that is hashed.
LONG_TEST(key_kernel_of_every_component) {
    double plain[8], values[8];
    struct order order;
    struct kernel_source source;
    uint32_t n = check_kernel(base, "", NULL, plain);
    struct made m = make_solver(base, "", true, NULL);
    REQUIRE(order_open(m.model, &m.options, NULL, &order, m.log) == SHOAL_OK);
    REQUIRE(codegen_kernel(&order.kernel[PLAN_FIRST], order.model->found->system, NULL, NULL,
                           &source, NULL) == SHOAL_OK);
    CHECK(source.components >= 17);
    for (uint32_t i = 0; i < source.components; i++) {
        const struct kernel_component *c = &source.component[i];
        char *old = strndup(source.text.data + c->offset, c->length);
        check_swap(c->name, old, plain, n);
        free(old);
    }
    run_in_mode("on", base, "", NULL, "hit", values); // and the first is still there
    CHECK(same_bits(plain, values, n));
    kernel_source_free(&source);
    order_close(&order);
    made_free(&m);
}

// Every setting that is compiled in.
TEST(key_kernel_of_every_option) {
    static const char *const options[] = {
        "method=tsit5",  "method=rk4 dt=0.1", "controller=i", "controller=fixed dt=0.1",
        "precision=f32", "fast-math=on",      "save=at=1",    "vars=y",
        "vars=r,x",      "method=vern7",
    };
    for (size_t i = 1; i < sizeof options / sizeof *options; i++) {
        double values[8];
        check_kernel(base, options[i], NULL, values);
    }
}

// ---- Entries that are not what they say ---------------------------------------------------------

// Refused, compiled again, and the next one is a hit.
static void check_refused(const double want[8]) {
    double values[8];
    setenv("SHOAL_CACHE", "on", 1);
    struct made m = must_make(base, "", NULL);
    CHECK_INT(m.solver->runner.kernel[PLAN_FIRST].cached, 0);
    CHECK_INT(run_one(&m, values), 2);
    CHECK(same_bits(values, want, 2));
    CHECK_INT(shoal_log_message_count(m.log), 0); // not a word about it
    made_free(&m);
    run_in_mode("on", base, "", NULL, "hit", values);
    CHECK(same_bits(values, want, 2));
}

TEST(key_kernel_without_symbols) {
    double want[8];
    run_in_mode("off", base, "", NULL, "miss", want);
    setenv("SHOAL_CACHE", "on", 1);
    struct check_output o =
        RUN("cc", "-shared", "-nostdlib", "-o", check_path("k.so"), "-x", "c", "/dev/null");
    REQUIRE(o.status == 0);
    int fd = open(check_path("k.so"), O_RDONLY);
    static unsigned char bytes[1 << 16];
    ssize_t n = read(fd, bytes, sizeof bytes);
    REQUIRE(n > 0);
    struct made m = make_solver(base, "", true, NULL);
    plant_kernel(&m, bytes, (size_t)n);
    made_free(&m);
    check_refused(want);
    m = make_solver(base, "method=rk4 dt=0.1", true, NULL); // and bytes that are no object at all
    made_free(&m);
    setenv("SHOAL_CACHE_DIR", check_path("another"), 1);
    m = make_solver(base, "", true, NULL);
    plant_kernel(&m, "nonsense", 8);
    made_free(&m);
    check_refused(want);
}

// A whole and right kernel, but of a better CPU: it would load, and die later.
TEST(key_kernel_for_another_target) {
    const struct shoal_backend *backend = NULL;
    struct shoal_device *device = NULL;
    struct shoal_bytes bytes = {0};
    double want[8];
    char *source = NULL;
    setenv("SHOAL_CPU_TARGET", "scalar", 1);
    run_in_mode("off", base, "", NULL, "miss", want);
    setenv("SHOAL_CACHE", "on", 1);
    struct made m = make_solver(base, "", true, NULL);
    REQUIRE(shoal_model_source(m.model, &m.options, &source, m.log) == SHOAL_OK);
    if (device_open_target("x86-64-v4", false, &backend, &device, NULL) != SHOAL_OK)
        check_skip("no second target");
    struct shoal_kernel_text k = {.text = source, .length = strlen(source)};
    REQUIRE(backend->build(device, &k, NULL, &bytes, log_report(m.log)) == SHOAL_OK);
    plant_kernel(&m, bytes.data, bytes.length);
    made_free(&m);
    check_refused(want);
    free(bytes.data);
    free(source);
    backend->close(device);
}

// ---- Compilers that fail ------------------------------------------------------------------------

#define PROBED "case \"$*\" in *-###*|*-print-*|*-dM*|*/whole.o*) exec cc \"$@\";; esac; "

TEST(key_kernel_of_killed_compiler) {
    use_script(PROBED "kill -9 $$");
    struct made m = make_solver(base, "", false, NULL);
    CHECK_INT(m.code, SHOAL_DEVICE);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "killed by signal 9");
    made_free(&m);
    CHECK_INT(kernels_kept(), 0);
}

// A compiler that makes other bytes each time: verify says so.
TEST(key_kernel_of_random_compiler) {
    use_script(PROBED "exec cc \"$@\" -Wl,--build-id=0x11$(printf %08d $$)");
    struct made m = must_make(base, "", NULL);
    made_free(&m);
    CHECK_INT(kernels_kept(), 1);
    setenv("SHOAL_CACHE", "verify", 1);
    m = make_solver(base, "", false, NULL);
    CHECK_INT(m.code, SHOAL_DEVICE);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "the kernel cache is wrong");
    made_free(&m);
    setenv("SHOAL_CACHE", "on", 1);
    struct check_output o = RUN(check_shoal(), "cache", "verify", "--recompile");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.out, "other bytes");
}

// The compiler is gone: what is there runs, with a note; what is not there is a clear error.
TEST(key_kernel_without_compiler) {
    double want[8], values[8];
    const char *cc = use_script("exec cc \"$@\"");
    run_in_mode("on", base, "", NULL, "miss", want);
    REQUIRE(unlink(cc) == 0);
    struct made m = must_make(base, "", NULL);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "no C compiler now");
    CHECK_HAS(shoal_log_message(m.log, 0).text, " version ");
    CHECK_INT(run_one(&m, values), 2);
    CHECK(same_bits(values, want, 2));
    made_free(&m);
    m = make_solver(base, "method=tsit5", false, NULL);
    CHECK_INT(m.code, SHOAL_DEVICE);
    CHECK_HAS(shoal_log_message(m.log, 1).text, "(SHOAL_CC) was not found");
    CHECK_HAS(shoal_log_message(m.log, 1).text, "not in the cache");
    made_free(&m);
}

// The same with the usual compiler and nothing on PATH.
TEST(key_kernel_without_path) {
    double want[8], values[8];
    run_in_mode("on", base, "", NULL, "miss", want);
    setenv("PATH", "", 1);
    run_in_mode("on", base, "", NULL, "hit", values);
    CHECK(same_bits(values, want, 2));
    struct made m = make_solver(base, "method=tsit5", false, NULL);
    CHECK_INT(m.code, SHOAL_DEVICE);
    CHECK_HAS(shoal_log_message(m.log, 1).text, "no C compiler");
    CHECK_HAS(shoal_log_message(m.log, 1).text, "shoal devices");
    made_free(&m);
}

// ---- Modes --------------------------------------------------------------------------------------

TEST(key_kernel_modes) {
    double want[8], values[8];
    run_in_mode("off", base, "", NULL, "miss", want);
    struct stat s;
    CHECK(stat(check_path("cache"), &s) != 0); // nothing was made
    run_in_mode("ro", base, "", NULL, "miss", values);
    CHECK_INT(kernels_kept(), 0);
    run_in_mode("on", base, "", NULL, "miss", values);
    CHECK_INT(kernels_kept(), 1);
    run_in_mode("ro", base, "", NULL, "hit", values);
    CHECK(same_bits(values, want, 2));
    run_in_mode("refresh", base, "", NULL, "miss", values);
    CHECK(same_bits(values, want, 2));
    CHECK_INT(kernels_kept(), 1);
}

// A disk that nothing can be run from: kernels are loaded from memory.
TEST(key_kernel_on_noexec_disk) {
    double values[8];
    mkdir(check_path("cache"), 0700);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("shoal-test", check_path("cache"), "tmpfs", MS_NOEXEC, "size=200m,mode=700"))
        check_skip("cannot mount file systems here");
    run_in_mode("on", base, "", NULL, "miss", values);
    run_in_mode("on", base, "", NULL, "hit", values);
    umount(check_path("cache"));
}

static void *make_side(void *user) {
    *(struct made *)user = make_solver(base, "", false, NULL);
    return NULL;
}

static int compilations(const shoal_log *log) {
    int n = 0;
    for (size_t i = 0; i < shoal_log_span_count(log); i++)
        n += !strcmp(shoal_log_span(log, i).label, "compile_kernel");
    return n;
}

// Four threads at once: all end with that code, and so often is the kernel compiled.
static void check_sides(shoal_code code, int least, int most) {
    enum { SIDES = 4 };
    struct made side[SIDES];
    pthread_t thread[SIDES];
    int compiled = 0;
    for (int i = 0; i < SIDES; i++)
        REQUIRE(pthread_create(&thread[i], NULL, make_side, &side[i]) == 0);
    for (int i = 0; i < SIDES; i++) {
        pthread_join(thread[i], NULL);
        CHECK_INT(side[i].code, code);
        compiled += compilations(side[i].log);
        made_free(&side[i]);
    }
    CHECK_MSG(compiled >= least && compiled <= most, "compiled %d times", compiled);
}

TEST(key_kernel_of_many_threads) {
    struct made m = make_solver(base, "", true, NULL); // the compiler is known from here on
    made_free(&m);
    check_sides(SHOAL_OK, 1, 1);
    CHECK_INT(kernels_kept(), 1);
    check_sides(SHOAL_OK, 0, 0);
}

TEST(key_kernel_fails_for_all_threads) {
    use_script(PROBED "sleep 0.3; exit 3");
    struct made m = make_solver(base, "", true, NULL);
    made_free(&m);
    check_sides(SHOAL_DEVICE, 1, 2); // a thread may come when the first has failed already
    CHECK_INT(kernels_kept(), 0);
}

// A directory of the caller's comes before the environment.
TEST(key_kernel_in_given_directory) {
    char options[256];
    snprintf(options, sizeof options, "cache=%s", check_path("mine"));
    double values[8];
    run_in_mode("on", base, options, NULL, "miss", values);
    run_in_mode("on", base, options, NULL, "hit", values);
    CHECK_INT(kernels_kept(), 0); // none in the usual place
}

// Constants that change all the time ought to be parameters.
TEST(key_kernel_of_changing_numbers) {
    bool warned = false;
    for (int i = 0; i < 10; i++) {
        char text[128];
        snprintf(text, sizeof text, "const c=%d.5;init x=1;x'=-c*x;@ t1=1,method=euler,dt=0.5",
                 i + 2);
        struct made m = must_make(text, "", NULL);
        bool said = shoal_log_message_count(m.log) > 0;
        CHECK_MSG(said == (i == 8), "compilation %d", i + 1);
        if (said)
            CHECK_HAS(shoal_log_message(m.log, 0).text, "make them parameters");
        warned = warned || said;
        made_free(&m);
    }
    CHECK(warned);
}

static void on_compile(const shoal_compile *now, void *user) { *(double *)user = now->predicted_s; }

// How long a compilation will take is known from the ones before.
TEST(key_kernel_predicts) {
    double predicted[2] = {-1, -1};
    use_script(PROBED "sleep 0.3; exec cc \"$@\"");
    for (int i = 0; i < 2; i++) {
        struct made m = make_solver(base, i ? "vars=x" : "", true, NULL);
        shoal_solver *solver = NULL;
        m.options.on_compile = on_compile;
        m.options.on_compile_user = &predicted[i];
        CHECK_INT(shoal_solver_new(m.model, &m.options, &solver, m.log), SHOAL_OK);
        shoal_solver_free(solver);
        made_free(&m);
    }
    CHECK(isnan(predicted[0]));
    CHECK_MSG(predicted[1] > 0.2 && predicted[1] < 100, "%g s", predicted[1]);
}

TEST(key_kernel_lookups_in_words) {
    setenv("SHOAL_CACHE_LOG", "1", 1);
    struct made m = must_make(base, "", NULL);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "cache miss: absent, key ");
    made_free(&m);
    m = must_make(base, "", NULL);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "cache hit, key ");
    made_free(&m);
}
