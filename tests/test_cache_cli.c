// SPDX-License-Identifier: MIT
// shoal cache: what each part shows and how it ends, with and without --json.
#include "check.h"
#include "kernels.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)
#define CACHE(...) RUN(check_shoal(), "cache", __VA_ARGS__)

static const char *model(const char *name, const char *text) {
    const char *path = check_path(name);
    check_write(path, text);
    return path;
}

static const char *decay(void) {
    return model("decay.ode", "par a=1\ninit x=1\nx'=-a*x\n@ t1=1, method=tsit5\n");
}

static void expect(struct check_output o, int status, const char *part) {
    CHECK_INT(o.status, status);
    CHECK_HAS(o.status == 0 ? o.out : o.err[0] ? o.err : o.out, part);
}

// Every JSON output is one value that parses, where there is a Python to say so.
static void check_json(const char *text) {
    const char *python = check_python(NULL);
    if (!python)
        return;
    check_write(check_path("out.json"), text);
    struct check_output o =
        RUN(python, "-c", "import json,sys; json.load(open(sys.argv[1]))", check_path("out.json"));
    CHECK_MSG(o.status == 0, "not JSON: %s\n%s", text, o.err);
}

// The only entry of the test's cache.
static const char *entry_path(void) {
    struct check_output o =
        RUN("find", check_path("cache/v1"), "-name", "*.k", "-not", "-path", "*/probe/*");
    REQUIRE(o.out[0]);
    o.out[strcspn(o.out, "\n")] = 0;
    return o.out;
}

static void flip_byte(const char *path, long at) {
    int fd = open(path, O_RDWR);
    unsigned char byte;
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 1;
    REQUIRE(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

// First process compiles and stores, the second loads; both say so everywhere.
TEST(cache_cli_miss_then_hit) {
    const char *m = decay(), *times = check_path("times.json"), *out = check_path("o.csv");
    struct check_output o = SHOAL("run", m, "-o", out, "--timing", "debug", "--timing-json", times);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "\"result\":\"miss\",\"reason\":\"absent\"");
    CHECK_HAS(o.err, "compile_kernel");
    CHECK_HAS(check_read(times), "\"result\":\"miss\"");
    char *first = check_read(out);
    o = SHOAL("run", m, "-o", out, "--timing", "debug", "--timing-json", times);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "\"result\":\"hit\"");
    CHECK(!strstr(o.err, "< compile_kernel"));
    CHECK_HAS(check_read(times), "\"result\":\"hit\"");
    CHECK_STR(check_read(out), first);
    o = CACHE("stat");
    CHECK_HAS(o.out, "kernels        1 ");
    CHECK_HAS(o.out, "hits           1");
    CHECK_HAS(o.out, "misses         1\n  absent               1");
    CHECK_HAS(o.out, "s saved");
    o = CACHE("stat", "--json");
    CHECK_HAS(o.out, "\"hits\": 1");
    CHECK_HAS(o.out, "\"missed\": {\"absent\": 1}");
    CHECK(!strstr(o.out, "\"saved_s\": 0.000"));
    check_json(o.out);
}

// Functions are compiled alone only where that is asked for and the kernel was compiled too.
TEST(cache_cli_measures_functions) {
    static const char *const labels[] = {"compile_dxdt",       "compile_step",
                                         "compile_controller", "compile_save_state",
                                         "compile_loop",       "compile_observables"};
    const char *m = decay(), *out = check_path("o.csv");
    struct check_output o = SHOAL("run", m, "-o", out, "--timing", "verbose");
    CHECK_HAS(o.err, "measured apart, not part of the total");
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        CHECK_HAS(o.err, labels[i]);
    o = SHOAL("run", m, "-o", out, "--timing", "verbose");
    CHECK(!strstr(o.err, "compile_dxdt"));
    o = SHOAL("run", m, "-o", out, "--precision", "f32", "--timing-json", check_path("t.json"));
    CHECK(!strstr(check_read(check_path("t.json")), "compile_dxdt"));
}

// With the cache off all but the compile spans is the same, and nothing is written.
TEST(cache_cli_off) {
    const char *m = decay(), *out = check_path("o.csv"), *other = check_path("p.csv");
    CHECK_INT(SHOAL("run", m, "-o", out).status, 0);
    setenv("SHOAL_CACHE", "off", 1);
    setenv("SHOAL_CACHE_DIR", check_path("never"), 1);
    struct check_output o = SHOAL("run", m, "-o", other, "--timing", "verbose");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "compile_kernel");
    CHECK_STR(check_read(other), check_read(out));
    struct stat s;
    CHECK(stat(check_path("never"), &s) != 0);
}

TEST(cache_cli_list_and_show) {
    struct check_output o = CACHE("list");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "0 kernels");
    CHECK_STR(CACHE("list", "--json").out, "[]\n");
    CHECK_INT(SHOAL("warm", decay()).status, 0);
    o = CACHE("list");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "decay.ode");
    CHECK_HAS(o.err, "1 kernel in ");
    char key[65];
    snprintf(key, sizeof key, "%.8s", strchr(o.out, '\n') + 1);
    CHECK_STR(CACHE("list", "--model", "other.ode", "--json").out, "[]\n");
    o = CACHE("list", "--model", "decay.ode", "--json");
    CHECK_HAS(o.out, "\"model\": \"decay.ode\"");
    check_json(o.out);
    o = CACHE("show", key);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "component:dxdt");
    CHECK_HAS(o.out, "tool:cc1");
    CHECK_HAS(o.out, "model_rhs"); // the source
    o = CACHE("show", key, "--json");
    CHECK_INT(o.status, 0);
    check_json(o.out);
    expect(CACHE("show", "zz"), 1, "0 kernels have a key that begins with 'zz'");
}

TEST(cache_cli_explain) {
    const char *m = decay();
    expect(CACHE("explain", m), 0, "the cache has no other kernel");
    CHECK_INT(SHOAL("warm", m).status, 0);
    expect(CACHE("explain", m), 0, "is cached");
    struct check_output o = CACHE("explain", m, "--precision", "f32");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "component:sizes");
    CHECK_HAS(o.out, "not cached");
    CHECK_HAS(o.out, "\n  precision                f32, there f64\n");
    o = CACHE("explain", m, "--method", "rodas5p", "--vars", "x,x");
    CHECK_HAS(o.out, "\n  method                   rodas5p, there tsit5\n");
    o = CACHE("explain", m, "--precision", "f32", "--json");
    CHECK_HAS(o.out,
              "\"words\": [{\"field\": \"precision\", \"here\": \"f32\", \"there\": \"f64\"}]");
    check_json(o.out);
    const char *changed =
        model("faster.ode", "par a=1\ninit x=1\nx'=-2*a*x\n@ t1=1, method=tsit5\n");
    o = CACHE("explain", m, changed);
    CHECK_HAS(o.out, "(decay.ode): ");
    CHECK_HAS(o.out, ", 1 differ\n");
    CHECK_HAS(o.out, "component:dxdt");
    o = CACHE("explain", changed, "--json");
    CHECK_HAS(o.out, "\"differences\": [{\"field\": \"component:dxdt\"");
    check_json(o.out);
    setenv("SHOAL_CACHE_SALT", "pepper", 1);
    o = CACHE("explain", m);
    CHECK_HAS(o.out, "salt                     pepper, there none");
    unsetenv("SHOAL_CACHE_SALT");
    use_script("exec cc \"$@\"");
    CHECK_HAS(CACHE("explain", m).out, "tool:compiler");
    CHECK_INT(CACHE("explain", check_path("nowhere.ode")).status, 1);
}

TEST(cache_cli_verify) {
    CHECK_INT(SHOAL("warm", decay()).status, 0);
    expect(CACHE("verify"), 0, "good, 0 bad");
    struct check_output o = CACHE("verify", "--recompile", "--json");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "\"recompiled\": 1, \"differ\": 0, \"stale\": 0");
    check_json(o.out);
    flip_byte(entry_path(), 5000);
    o = CACHE("verify");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.out, "corrupt");
    check_json(CACHE("verify", "--json").out);
    o = SHOAL("run", decay(), "-o", check_path("o.csv"), "--timing", "debug");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "\"reason\":\"corrupt");
    expect(CACHE("verify"), 0, "good, 0 bad"); // it was replaced
}

static void check_examples(const char *const *names) {
    for (int i = 0; names[i]; i++)
        CHECK_INT(SHOAL("warm", names[i]).status, 0);
    struct check_output o = CACHE("verify", "--recompile");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, " 0 differ, 0 of a compiler");
}

// The compiler makes the same bytes twice.
TEST(cache_cli_recompile) {
    check_examples((const char *const[]){"examples/lorenz.ode", "examples/arenstorf.ode", NULL});
}
LONG_TEST(cache_cli_recompile_all) {
    check_examples((const char *const[]){"examples/arenstorf.ode", "examples/hodgkin_huxley.ode",
                                         "examples/lorenz.ode", "examples/lorenz96.ode",
                                         "examples/lotka_volterra.ode", "examples/pleiades.ode",
                                         "examples/vanderpol.ode", NULL});
}

TEST(cache_cli_clear) {
    const char *m = decay();
    CHECK_INT(SHOAL("warm", m).status, 0);
    CHECK_HAS(CACHE("clear", "--model", "other.ode").err, "0 kernels removed");
    CHECK_HAS(CACHE("clear", "--older-than", "1d").err, "0 kernels removed");
    CHECK_HAS(CACHE("clear", "--stale").err, "0 kernels removed");
    CHECK_INT(kernels_kept(), 1);
    CHECK_INT(CACHE("clear", "--older-than", "soon").status, 2);
    CHECK_INT(CACHE("clear", "--older-than", "30").status, 2);
    CHECK_INT(CACHE("clear", "--older-than", "infd").status, 2);
    CHECK_INT(CACHE("clear", "--older-than", "1e400d").status, 2);
    CHECK_INT(CACHE("clear", "--older-than", "0x1fd").status, 2);
    CHECK_STR(CACHE("clear", "--model", "decay.ode", "--json").out, "{\"removed\": 1}\n");
    CHECK_INT(kernels_kept(), 0);
    CHECK_INT(SHOAL("warm", m).status, 0);
    use_script("exec cc \"$@\""); // another compiler: what cc made is stale now
    CHECK_INT(SHOAL("warm", m).status, 0);
    CHECK_INT(kernels_kept(), 2);
    CHECK_HAS(CACHE("clear", "--stale").err, "1 kernel removed");
    CHECK_HAS(CACHE("explain", m).out, "is cached"); // the one of this compiler
    CHECK_HAS(CACHE("clear").err, "1 kernel removed");
    CHECK_INT(kernels_kept(), 0);
}

TEST(cache_cli_doctor) {
    struct check_output o = CACHE("doctor");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "cpu tool:cc1");
    CHECK_HAS(o.out, "build-id:");
    check_json(CACHE("doctor", "--json").out);
    use_script("exit 1");
    o = CACHE("doctor");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.out, "! cpu unknown");
}

// There and back, into another cache, where it is a hit.
TEST(cache_cli_export_import) {
    const char *m = decay(), *tar = check_path("kernels.tar");
    CHECK_INT(SHOAL("warm", m).status, 0);
    struct check_output o = CACHE("export", tar);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "1 kernel in ");
    setenv("SHOAL_CACHE_DIR", check_path("another"), 1);
    o = CACHE("import", tar, "--json");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "\"imported\": 1, \"refused\": 0");
    o = SHOAL("run", m, "-o", check_path("o.csv"), "--timing", "debug");
    CHECK_HAS(o.err, "\"result\":\"hit\"");
    check_write(check_path("bad.tar"), "this is no archive");
    CHECK_INT(CACHE("import", check_path("bad.tar")).status, 1);
    CHECK_INT(CACHE("import", check_path("nowhere.tar")).status, 1);
}

TEST(cache_cli_usage) {
    CHECK_INT(RUN(check_shoal(), "cache").status, 2);
    struct check_output o = CACHE("lost");
    CHECK_INT(o.status, 2);
    CHECK_HAS(o.err, "did you mean list?");
    CHECK_INT(CACHE("show").status, 2);
    CHECK_INT(CACHE("explain").status, 2);
    CHECK_INT(CACHE("list", "--rtol", "1").status, 2);
    CHECK_INT(CACHE("list", "word").status, 2);
    CHECK_INT(CACHE("stat", "--recompile").status, 2);
    o = CACHE("--help");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "shoal cache explain MODEL...");
    o = CACHE("clear", "--help");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "--older-than AGE");
    CHECK_HAS(SHOAL("help", "cache").out, "shoal cache verify");
}

TEST(cache_cli_dry_run) {
    const char *m = decay();
    struct check_output o = SHOAL("run", m, "--dry-run");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "not cached");
    CHECK_INT(kernels_kept(), 0); // nothing was compiled
    CHECK_INT(SHOAL("run", m, "-o", check_path("o.csv")).status, 0);
    CHECK_HAS(SHOAL("run", m, "--dry-run").out, ", cached");
}

// A cache that cannot be used costs a note, not the run.
TEST(cache_cli_unusable_place) {
    check_write(check_path("file"), "");
    setenv("SHOAL_CACHE_DIR", check_path("file"), 1);
    struct check_output o = SHOAL("run", decay(), "-o", check_path("o.csv"));
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "kernels are not kept: ");
    o = CACHE("list");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "the cache is off: ");
    CHECK_INT(CACHE("doctor").status, 1);
}

// What is wrong with the settings is said by whoever opens the cache, all of it, and once.
TEST(cache_cli_warnings) {
    const char *m = decay();
    setenv("SHOAL_CACHE_RO", "/nowhere_a:/nowhere_b", 1);
    struct check_output all[] = {SHOAL("run", m, "-o", check_path("o.csv")), SHOAL("warm", m),
                                 CACHE("stat")};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_INT(all[i].status, 0);
        CHECK_HAS(all[i].err, "warning: kernel cache: not read: /nowhere_a");
        const char *second = strstr(all[i].err, "warning: kernel cache: not read: /nowhere_b");
        CHECK_MSG(second && !strstr(second + 1, "warning"), "%s", all[i].err);
    }
    unsetenv("SHOAL_CACHE_RO");
    setenv("SHOAL_CACHE", "maybe", 1);
    struct check_output o = SHOAL("run", m, "-o", check_path("o.csv"));
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "note: kernels are not kept: SHOAL_CACHE is not one of on, off, ro");
    CHECK_INT(CACHE("doctor").status, 1);
}

// Handles come and go; the process has heard it.
TEST(cache_cli_warns_once_a_process) {
    static const char text[] = "init x=1; x'=-x; @ t1=1";
    setenv("SHOAL_CACHE_RO", "/nowhere_a", 1);
    for (int i = 0; i < 3; i++) {
        struct made m = make_solver(text, "", false, NULL);
        CHECK_INT(m.code, SHOAL_OK);
        CHECK_INT(shoal_log_message_count(m.log), i ? 0 : 1);
        made_free(&m);
    }
}

TEST(cache_cli_lists_read_only_caches) {
    const char *m = decay();
    CHECK_INT(SHOAL("warm", m, "-q").status, 0);
    setenv("SHOAL_CACHE_RO", check_path("cache"), 1);
    setenv("SHOAL_CACHE_DIR", check_path("other"), 1);
    struct check_output o = CACHE("list");
    CHECK_HAS(o.out, "(read-only)");
    CHECK_HAS(o.err, "0 kernels in ");
    CHECK_HAS(o.err, ", 1 in read-only caches");
}

// Whoever waits for another process says so, and does not compile.
TEST(cache_cli_says_that_it_waits) {
    const char *m = decay(), *begun = check_path("begun");
    char script[512];
    snprintf(script, sizeof script,
             "case \"$*\" in *hot.o*kernel.so*) : > %s; sleep 2.5;; esac\nexec cc \"$@\"", begun);
    use_script(script);
    struct check_output o =
        RUN("bash", "-c",
            "\"$0\" warm \"$1\" & first=$!; until [ -e \"$2\" ]; do sleep 0.02; done; "
            "\"$0\" run \"$1\" -o \"$3\"; status=$?; echo holder $first; wait $first; exit $status",
            check_shoal(), m, begun, check_path("o.csv"));
    char words[96];
    const char *holder = strstr(o.out, "holder ");
    CHECK_INT(o.status, 0);
    REQUIRE(holder);
    snprintf(words, sizeof words, "waiting for process %ld, which compiles the same kernel\n",
             strtol(holder + 7, NULL, 10));
    CHECK_HAS(o.err, words);
    CHECK_HAS(o.err, "\n  hit\n");
    CHECK_INT(kernels_kept(), 1);
}
