// SPDX-License-Identifier: MIT
// What a file from somewhere else may do: a result given to --job, a model, a batch file of another
// content. Every option of the table is tried.
#include "api/options.h"
#include "base/buf.h"
#include "check.h"
#include "kernels.h"
#include "shoal/shoal.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

OWN_CACHE

#define MODEL "par a=1\nx'=-a*x\nx(0)=1\nset s {a=2}\n@ t1=1\n"
#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static shoal_model *parse(const char *text) {
    shoal_model *m = NULL;
    REQUIRE(shoal_model_parse("m.ode", text, strlen(text), &m, NULL) == SHOAL_OK);
    return m;
}

// A result file whose job text is somebody's.
static void forge(const char *path, const char *job) {
    shoal_model *m = parse(MODEL);
    shoal_options o;
    shoal_solver *s = NULL;
    shoal_batch *b = NULL;
    REQUIRE(shoal_options_init(&o, m, NULL) == SHOAL_OK);
    o.job = job;
    o.device = "cpu";
    REQUIRE(shoal_batch_new(m, &b, NULL) == SHOAL_OK);
    REQUIRE(shoal_solver_new(m, &o, &s, NULL) == SHOAL_OK);
    REQUIRE(shoal_solver_run_file(s, b, path, NULL, NULL) == SHOAL_OK);
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
}

// A value that the option takes; places are in the directory `planted` of the test.
static const char *value_of(const struct option *o) {
    static const struct {
        const char *name, *value;
    } own[] = {{"set", "a=3"},
               {"use", "s"},
               {"sweep", "a=1,2"},
               {"zip", "a"},
               {"sample", "a=uniform:0:1"},
               {"only-runs", "0"},
               {"vars", "x"},
               {"older-than", "30d"},
               {"target", "x86-64-v3"}};
    static const char *const by_type[] = {
        [OPTION_FLAG] = "on",   [OPTION_NUMBER] = "0.5", [OPTION_COUNT] = "2",
        [OPTION_BYTES] = "1M",  [OPTION_METHOD] = "rk4", [OPTION_DEVICE] = "cpu",
        [OPTION_ATOL] = "1e-9", [OPTION_SAVE] = "n=3",
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].name, o->info.name))
            return own[i].value;
    if (o->type == OPTION_CHOICE || o->type == OPTION_WORD) { // the last word is no default
        const char *last = strrchr(o->words, ' ');
        return last ? last + 1 : o->words;
    }
    if (o->type != OPTION_TEXT)
        return by_type[o->type];
    char *path = NULL;
    if (asprintf(&path, "%s/planted/%s.csv", check_dir(), o->info.name) < 0)
        abort();
    return check_keep(path);
}

static bool is_planted(void) {
    DIR *dir = opendir(check_path("planted"));
    bool any = false;
    for (const struct dirent *e; dir && (e = readdir(dir));)
        any = any || e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return any;
}

// In a job `model` is what the model is called; the option of that name is the cache's.
static bool is_kept(const struct option *o) {
    return !strcmp(o->info.name, "model") || o->info.kept;
}

// ---- Results given to --job ---------------------------------------------------------------------

// Of a result every option is taken that the table marks, and every other is refused by its name.
static void check_every_option(const char *file) {
    const char *path = check_path(file);
    for (uint32_t i = 0; i < option_table_count; i++) {
        const struct option *o = &option_table[i];
        char line[512], want[128];
        shoal_job *job = NULL;
        shoal_log *log = shoal_log_new();
        snprintf(line, sizeof line, "%s = %s\n", o->info.name, value_of(o));
        forge(path, line);
        shoal_code code = shoal_job_load(path, &job, log);
        CHECK_MSG((code == SHOAL_OK) == is_kept(o), "%s: %d", line, code);
        CHECK_MSG((job != NULL) == (code == SHOAL_OK), "%s", line);
        snprintf(want, sizeof want, "error: %s: ", o->info.name);
        if (code != SHOAL_OK)
            CHECK_HAS(shoal_log_message(log, 0).text, want);
        shoal_job_free(job);
        shoal_log_free(log);
    }
}

TEST(trust_result_npz_options) { check_every_option("forged.npz"); }
TEST(trust_result_hdf5_options) {
    shoal_log *log = shoal_log_new();
    shoal_options o = {0};
    if (shoal_output_check(check_path("forged.h5"), &o, false, log) != SHOAL_OK)
        check_skip("%s", shoal_log_message(log, 0).text);
    shoal_log_free(log);
    check_every_option("forged.h5");
}

// What leaves the numbers alone or names a place is marked in none of the ways a file can use.
TEST(trust_table_marks) {
    static const char *const never[] = {
        "output",  "cache",  "keep-source", "timing-json", "trace",  "job",     "reuses",
        "dry-run", "quiet",  "verbose",     "progress",    "timing", "threads", "chunk",
        "memory",  "refill", "target",      "json",        "help",   "force"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        const struct option *o = option_find(never[i]);
        REQUIRE(o != NULL);
        CHECK_MSG(!o->info.kept && !o->info.in_model, "%s", never[i]);
    }
    for (uint32_t i = 0; i < option_table_count; i++)
        CHECK_MSG(!option_table[i].info.in_model || option_table[i].info.kept, "%s",
                  option_table[i].info.name);
}

// All of them at once, by the program: each is named, nothing is written, nothing is run.
TEST(trust_result_writes_nothing) {
    struct buf job = {0};
    CHECK_INT(mkdir(check_path("planted"), 0700), 0);
    for (uint32_t i = 0; i < option_table_count; i++)
        if (!is_kept(&option_table[i]))
            buf_printf(&job, "%s = %s\n", option_table[i].info.name, value_of(&option_table[i]));
    forge(check_path("r.npz"), job.data);
    struct check_output o = SHOAL("run", "--job", check_path("r.npz"));
    CHECK_INT(o.status, 1);
    for (uint32_t i = 0; i < option_table_count; i++) {
        char want[64];
        snprintf(want, sizeof want, " %s: ", option_table[i].info.name);
        if (!is_kept(&option_table[i]))
            CHECK_HAS(o.err, want);
    }
    CHECK(!is_planted());
    buf_free(&job);
}

TEST(trust_job_text_is_the_users) {
    const char *job = check_path("own.job"), *csv = check_path("own.csv");
    char line[256];
    check_write(check_path("m.ode"), MODEL);
    snprintf(line, sizeof line, "output = %s\nthreads = 1\nquiet = on\n", csv);
    check_write(job, line);
    CHECK_INT(SHOAL("run", check_path("m.ode"), "--job", job).status, 0);
    CHECK_HAS(check_read(csv), "run,t,x,status\n");
}

// A result that lacks its model does not make us read another file instead.
TEST(trust_result_brings_its_model) {
    check_write(check_path("m.ode"), MODEL);
    CHECK_INT(SHOAL("run", check_path("m.ode"), "-q", "-o", check_path("r.npz"), "--threads", "1",
                    "--chunk", "10", "--memory", "1G", "--refill", "on")
                  .status,
              0);
    CHECK_INT(SHOAL("run", "--job", check_path("r.npz"), "-q").status, 0); // none of those is in it
    forge(check_path("f.npz"), "model = /dev/zero\n");
    CHECK_HAS(SHOAL("run", "--job", check_path("f.npz"), "-q").out, "run,t,x,status\n0,1,0.36787");
}

// ---- The batch file of a result -----------------------------------------------------------------

TEST(trust_batch_content) {
    CHECK_INT(mkdir(check_path("data"), 0700), 0);
    CHECK_INT(mkdir(check_path("elsewhere"), 0700), 0);
    check_write(check_path("m.ode"), MODEL);
    check_write(check_path("data/b.csv"), "a\n1\n2\n");
    const char *npz = check_path("r.npz"), *batch = check_path("data/b.csv");
    struct check_output first = SHOAL("run", check_path("m.ode"), "-q", "--batch", batch);
    CHECK_INT(first.status, 0);
    CHECK_INT(SHOAL("run", check_path("m.ode"), "-q", "--batch", batch, "-o", npz).status, 0);
    CHECK_STR(SHOAL("run", "--job", npz, "-q").out, first.out);
    check_write(batch, "a\n1\n3\n");
    struct check_output o = SHOAL("run", "--job", npz, "-q");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "is not the one that");
    CHECK_STR(o.out, "");
    // The user's own word still counts.
    CHECK_INT(SHOAL("run", "--job", npz, "-q", "--batch", batch).status, 0);
    // Moved, it is found beside the result; one of another content in its old place is no matter.
    check_write(check_path("b.csv"), "a\n1\n2\n");
    CHECK_STR(SHOAL("run", "--job", npz, "-q").out, first.out);
    CHECK_INT(unlink(check_path("b.csv")), 0);
    CHECK_INT(unlink(batch), 0);
    o = SHOAL("run", "--job", npz, "-q");
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "is neither here nor beside it");
}

// A path that was relative is one from the result's directory, where it is none from here.
TEST(trust_batch_relative) {
    char *shoal = realpath(check_shoal(), NULL);
    REQUIRE(shoal && chdir(check_dir()) == 0);
    CHECK_INT(mkdir("data", 0700), 0);
    check_write("m.ode", MODEL);
    check_write("data/b.csv", "a\n1\n2\n");
    struct check_output first =
        RUN(shoal, "run", "m.ode", "-q", "--batch", "data/b.csv", "-o", "r.npz");
    CHECK_INT(first.status, 0);
    first = RUN(shoal, "run", "--job", "r.npz", "-q");
    CHECK_INT(first.status, 0);
    CHECK_INT(chdir("/"), 0);
    CHECK_STR(RUN(shoal, "run", "--job", check_path("r.npz"), "-q").out, first.out);
    free(shoal);
}

// A result cannot make us show what is in a file: without the digest nothing is read.
TEST(trust_batch_without_digest) {
    check_write(check_path("secret.csv"), "the content of a file\n");
    char job[256];
    snprintf(job, sizeof job, "batch = %s\n", check_path("secret.csv"));
    forge(check_path("r.npz"), job);
    struct check_output o = SHOAL("run", "--job", check_path("r.npz"));
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "does not say what its batch file");
    CHECK(!strstr(o.err, "the content"));
}

// ---- Models -------------------------------------------------------------------------------------

// Options that are no model's are what they were.
static void check_unchanged(const shoal_options *got, const char *what) {
    shoal_options fresh;
    char before[256], after[256];
    CHECK_INT(shoal_options_init(&fresh, NULL, NULL), SHOAL_OK);
    for (uint32_t i = 0; i < option_table_count; i++) {
        const shoal_option_info *o = &option_table[i].info;
        if (!o->field || o->in_model)
            continue;
        bool was = shoal_options_get(&fresh, o->name, before, sizeof before),
             is = shoal_options_get(got, o->name, after, sizeof after);
        CHECK_MSG(was == is && !strcmp(before, after), "%s: %s is '%s'", what, o->name, after);
    }
    CHECK(!got->cache && !got->keep_source && !got->job);
}

// Every option, and every beginning of its name, as an @ line and in a set.
TEST(trust_model_options) {
    for (uint32_t i = 0; i < option_table_count; i++)
        for (size_t n = strlen(option_table[i].info.name); n; n--) {
            const struct option *o = &option_table[i];
            char text[512];
            shoal_options options;
            bool whole = !o->info.name[n];
            snprintf(text, sizeof text, MODEL "@ %.*s=%s\n", (int)n, o->info.name, value_of(o));
            shoal_model *m = NULL;
            if (shoal_model_parse("m.ode", text, strlen(text), &m, NULL) == SHOAL_OK) {
                shoal_code code = shoal_options_init(&options, m, NULL);
                CHECK_MSG(!whole || !o->info.in_model || code == SHOAL_OK, "%s", text);
                check_unchanged(&options, text);
            }
            shoal_model_free(m);
            snprintf(text, sizeof text, MODEL "set evil {%.*s=%s}\n", (int)n, o->info.name,
                     value_of(o));
            m = NULL;
            if (shoal_model_parse("m.ode", text, strlen(text), &m, NULL) == SHOAL_OK) {
                CHECK_INT(shoal_options_init(&options, m, NULL), SHOAL_OK);
                (void)shoal_model_use(m, "evil", &options, NULL);
                check_unchanged(&options, text);
            }
            shoal_model_free(m);
        }
}

// By the program: whatever it says of a model's option, no place that it names is written to.
TEST(trust_model_writes_nothing) {
    CHECK_INT(mkdir(check_path("planted"), 0700), 0);
    for (uint32_t i = 0; i < option_table_count; i++) {
        const struct option *o = &option_table[i];
        char text[512];
        if (o->type != OPTION_TEXT || o->info.in_model)
            continue;
        snprintf(text, sizeof text, MODEL "@ %s=%s\nset evil {%s=%s}\n", o->info.name, value_of(o),
                 o->info.name, value_of(o));
        check_write(check_path("m.ode"), text);
        SHOAL("run", check_path("m.ode"), "-q", "--use", "evil");
        CHECK_MSG(!is_planted(), "%s", o->info.name);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

// An object that tells when it is loaded, and would be a kernel of this machine.
static unsigned char *make_spy(const struct made *m, size_t *length) {
    char text[1024], soname[96];
    snprintf(text, sizeof text,
             "int creat(const char *, unsigned);\n"
             "__attribute__((constructor)) static void spy(void) { creat(\"%s\", 0600); }\n"
             "void shoal_kernel(const void *a) { (void)a; }\n"
             "unsigned long long shoal_kernel_workspace(void) { return 0; }\n",
             check_path("executed"));
    check_write(check_path("spy.c"), text);
    snprintf(soname, sizeof soname, "-Wl,-soname,shoal-kernel.%s",
             m->solver->backend->target(m->solver->device)->name);
    REQUIRE(RUN("cc", "-shared", "-fPIC", soname, "-o", check_path("spy.so"), check_path("spy.c"))
                .status == 0);
    int fd = open(check_path("spy.so"), O_RDONLY);
    unsigned char *bytes = malloc(1 << 20);
    ssize_t n = read(fd, bytes, 1 << 20);
    REQUIRE(n > 0 && n < 1 << 20);
    close(fd);
    *length = (size_t)n;
    return bytes;
}

static bool was_executed(void) { return unlink(check_path("executed")) == 0; }

// With the right key, name, mode and every sum right: code of ours would run, code that somebody
// else put there does not, and the results are the kernel's.
TEST(trust_planted_kernel_is_not_run) {
    static const char text[] = "x'=-x; x(0)=1; @ t1=1";
    double values[8];
    size_t length;
    struct made m = make_solver(text, "device=cpu method=tsit5", true, NULL);
    unsigned char *spy = make_spy(&m, &length);
    plant_kernel(&m, spy, length);
    struct made again = make_solver(text, "device=cpu method=tsit5", false, NULL);
    CHECK(was_executed()); // it is one that can be run
    made_free(&again);
    setenv("XDG_CONFIG_HOME", check_path("theirs"), 1);
    plant_kernel(&m, spy, length);
    setenv("XDG_CONFIG_HOME", check_path("config"), 1);
    again = make_solver(text, "device=cpu method=tsit5", false, NULL);
    CHECK(!was_executed());
    CHECK_STR(span_says(again.log, "cache_lookup", "reason"), "foreign");
    REQUIRE(run_one(&again, values) == 1);
    CHECK_NEAR(values[0], 0.36787944, 1e-5);
    made_free(&again);
    again = make_solver(text, "device=cpu method=tsit5", false, NULL); // which was stored
    CHECK_STR(span_says(again.log, "cache_lookup", "result"), "hit");
    CHECK(!was_executed());
    made_free(&again);
    made_free(&m);
    free(spy);
}

// A folder that came with a result: nothing in it is run, even where the user names it.
TEST(trust_planted_cache_is_not_run) {
    static const char text[] = "x'=-x\nx(0)=1\n@ t1=1\n";
    size_t length;
    setenv("XDG_CONFIG_HOME", check_path("theirs"), 1);
    struct made m = make_solver(text, "device=cpu method=tsit5", true, NULL);
    unsigned char *spy = make_spy(&m, &length);
    plant_kernel(&m, spy, length);
    made_free(&m);
    setenv("XDG_CONFIG_HOME", check_path("config"), 1);
    setenv("SHOAL_CACHE_DIR", check_path("mine"), 1);
    check_write(check_path("m.ode"), text);
    const char *cache = check_path("cache");
    struct check_output o = SHOAL("run", check_path("m.ode"), "--device", "cpu", "--method",
                                  "tsit5", "--cache", cache, "-q");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "0,1,0.36787");
    CHECK(!was_executed());
    setenv("XDG_CONFIG_HOME", check_path("theirs"), 1);
    m = make_solver(text, "device=cpu method=tsit5", true, NULL);
    setenv("SHOAL_CACHE_DIR", cache, 1);
    plant_kernel(&m, spy, length);
    setenv("XDG_CONFIG_HOME", check_path("config"), 1);
    static const char *const looks[][2] = {
        {"list", NULL}, {"verify", NULL}, {"verify", "--recompile"},
        {"stat", NULL}, {"doctor", NULL}, {"clear", "--stale"}};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        o = SHOAL("cache", looks[i][0], "--cache", cache, looks[i][1]);
        if (i < 3)
            CHECK_HAS(o.out, "foreign");
        CHECK(!was_executed());
    }
    made_free(&m);
    free(spy);
}

// ---- The environment ----------------------------------------------------------------------------

static void check_no_getenv(const char *pattern) {
    glob_t found;
    REQUIRE(glob(pattern, 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = check_read(found.gl_pathv[i]);
        for (const char *at = text; (at = strstr(at, "getenv(")); at++)
            CHECK_MSG(at - text >= 7 && !strncmp(at - 7, "secure_", 7),
                      "%s: getenv, which a program with raised rights must not use",
                      found.gl_pathv[i]);
        free(text);
    }
    globfree(&found);
}

TEST(trust_environment_of_raised_rights) {
    check_no_getenv("src/*/*.c");
    check_no_getenv("src/*/*/*.c");
}

// A program that runs with the rights of another user takes no compiler, place or path from the one
// who starts it.
TEST(trust_setuid_program) {
    if (geteuid() != 0)
        check_skip("only root can make a program of another user");
#ifdef __SANITIZE_ADDRESS__
    check_skip("the sanitizer does not work in such a program");
#endif
    const char *shoal = check_path("raised");
    char script[256];
    REQUIRE(RUN("cp", check_shoal(), shoal).status == 0);
    REQUIRE(chmod(check_dir(), 0755) == 0);
    REQUIRE(chown(shoal, 65534, 65534) == 0 && chmod(shoal, 04755) == 0);
    if (!strstr(RUN(shoal, "cache", "doctor").out, "rights of another user"))
        check_skip("programs here cannot run with the rights of another user");
    REQUIRE(mkdir(check_path("planted"), 0777) == 0 && chmod(check_path("planted"), 0777) == 0);
    snprintf(script, sizeof script, "touch %s/planted/$(basename $0); exec /usr/bin/cc \"$@\"",
             check_dir());
    use_script(script); // SHOAL_CC
    REQUIRE(chmod(check_path("compiler"), 0755) == 0);
    REQUIRE(mkdir(check_path("bin"), 0755) == 0 &&
            RUN("cp", check_path("compiler"), check_path("bin/cc")).status == 0);
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", check_path("bin"), getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("TMPDIR", check_path("planted"), 1);
    setenv("XDG_CONFIG_HOME", check_path("planted"), 1);
    check_write(check_path("m.ode"), MODEL);
    struct check_output o = RUN(shoal, "run", check_path("m.ode"), "--device", "cpu");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "0,1,0.36787");
    CHECK(!is_planted());
    unlink(shoal);
}
