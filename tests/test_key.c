// SPDX-License-Identifier: MIT
// What makes another key and what does not: options, models, components, compilers, surroundings.
#include "check.h"
#include "kernels.h"

#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

static const char base[] = "par a=1,b=2;const c=3;init x=1,y=0;x'=-a*x+c;y'=b*x-y;aux r=x+y;@ t1=1";

// ---- Options ------------------------------------------------------------------------------------

struct flip {
    const char *option; // of the table
    const char *words;  // as make_solver takes them
};

// One row, or more, for each option that is a field. Every one that is compiled in must give a key
// of its own, and no other.
static const struct flip flips[] = {
    {"method", "method=dopri5"},
    {"method", "method=bs3"},
    {"method", "method=rk4 dt=0.1"},
    {"method", "method=rodas4"},
    {"method", "method=kvaerno3"},
    {"method", "method=radau5"},
    {"controller", "controller=i"},
    {"controller", "controller=pid"},
    {"controller", "controller=fixed dt=0.1"},
    {"precision", "precision=f32"},
    {"fast-math", "fast-math=on"},
    {"compensate", "compensate=on"},
    {"save", "save=n=11"},
    {"vars", "vars=x"},
    {"vars", "vars=y"},
    {"vars", "vars=y,x"},
    {"vars", "vars=x,y,r"},
    {"t0", "t0=0.5"},
    {"t1", "t1=7"},
    {"settle", "settle=0.5"},
    {"dt", "dt=0.1 method=rk4"}, // the same as above
    {"dt0", "dt0=0.01"},
    {"dt-min", "dt-min=1e-9"},
    {"dt-max", "dt-max=0.5"},
    {"max-steps", "max-steps=17"},
    {"rtol", "rtol=1e-3"},
    {"atol", "atol=1e-3,x=1e-5"},
    {"summary", "summary=max(x)"},
    {"summary", "summary=mean(x)"},
    {"summary", "summary=n=crossings(x,0.5)"},
    {"reduce", "reduce=mean,quantile(0.5)"},
    {"by", "by=a reduce=mean"},
    {"keep-failed", "keep-failed=on"},
    {"threads", "threads=1"},
    {"chunk", "chunk=7"},
    {"memory", "memory=1G"},
    {"refill", "refill=off"},
    {"counters", "counters=on"},
    {"threshold", "threshold=7"},
    {"reuses", "reuses=7"},
    {"no-fallback", "no-fallback=on"},
    {"time-unit", "time-unit=ms"},
    {"resume", "resume=on"},
    {"mixed-bits", "mixed-bits=on"},
    {"tune", "tune=on"},
    {"device", "device=cpu"}, // the one there is: the same
};
enum { FLIPS = sizeof flips / sizeof *flips };

static bool same_kernel(const char *option) {
    for (uint32_t i = 0; i < shoal_option_count(); i++)
        if (!strcmp(shoal_option_at(i).name, option))
            return !shoal_option_at(i).in_kernel || !strcmp(option, "device");
    return false;
}

TEST(key_by_options) {
    char plain[65], fixed[65], key[FLIPS][65];
    key_of(base, "", plain);
    key_of(base, "method=rk4 dt=0.2", fixed);
    for (int i = 0; i < FLIPS; i++) {
        key_of(base, flips[i].words, key[i]);
        if (same_kernel(flips[i].option)) {
            const char *want = strcmp(flips[i].option, "dt") ? plain : fixed;
            CHECK_MSG(!strcmp(key[i], want), "%s changes the key", flips[i].words);
            continue;
        }
        CHECK_MSG(strcmp(key[i], plain) != 0, "%s does not change the key", flips[i].words);
        for (int k = 0; k < i; k++)
            CHECK_MSG(same_kernel(flips[k].option) || strcmp(key[i], key[k]),
                      "%s and %s have the same key", flips[i].words, flips[k].words);
    }
}

// A new option cannot be forgotten here.
TEST(key_of_every_option) {
    // places, and what needs something else, tested below
    static const char *const elsewhere[] = {"cache", "keep-source", "window", "record", "doses"};
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        bool found = !o.field;
        for (int k = 0; k < FLIPS; k++)
            found = found || !strcmp(flips[k].option, o.name);
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
            found = found || !strcmp(elsewhere[k], o.name);
        CHECK_MSG(found, "no row for --%s", o.name);
    }
}

static void same_keys(const char *text, const char *a, const char *b) {
    char one[65], other[65];
    key_of(text, a, one);
    key_of(text, b, other);
    CHECK_MSG(!strcmp(one, other), "%s and %s have different keys", a, b);
}

// What watches is compiled in; its numbers are not.
TEST(key_of_those_who_watch) {
    static const char eventful[] = "init x=1;x'=-x;event hit when x<0.5 : x=2;@ t1=1";
    char words[2][256], plain[65], with[65];
    same_keys(base, "summary=n=crossings(x,0.5)", "summary=n=crossings(x,0.7)");
    same_keys(base, "summary=max(x)", "summary=max(x) window=0.5");
    same_keys(eventful, "record=hit,3", "record=hit,5");
    key_of(eventful, "", plain);
    key_of(eventful, "record=hit,3", with);
    CHECK(strcmp(plain, with) != 0);
    for (int i = 0; i < 2; i++) {
        const char *path = check_path(i ? "b.csv" : "a.csv");
        check_write(path, i ? "ID,TIME,AMT\n0,0.5,2\n" : "ID,TIME,AMT\n0,0.25,1\n");
        snprintf(words[i], sizeof words[i], "doses=%s", path);
    }
    same_keys(base, words[0], words[1]);
    key_of(base, "", plain);
    key_of(base, words[0], with);
    CHECK(strcmp(plain, with) != 0);
}

// ---- Models -------------------------------------------------------------------------------------

TEST(key_by_model) {
    static const char *const others[] = {
        "par a=1,b=2;const c=4;init x=1,y=0;x'=-a*x+c;y'=b*x-y;aux r=x+y;@ t1=1",
        "par a=1,b=2;const c=3;init x=1,y=0;x'=-a*x-c;y'=b*x-y;aux r=x+y;@ t1=1",
        "par a=1,b=2;const c=3;init x=1,y=0;x'=-a*y+c;y'=b*x-y;aux r=x+y;@ t1=1",
        "par b=2,a=1;const c=3;init x=1,y=0;x'=-a*x+c;y'=b*x-y;aux r=x+y;@ t1=1",
        "par a=1,b=2;const c=3;init y=0,x=1;y'=b*x-y;x'=-a*x+c;aux r=x+y;@ t1=1",
        "par a=1,b=2;const c=3;init x=a,y=0;x'=-a*x+c;y'=b*x-y;aux r=x+y;@ t1=1",
        "par a=1,b=2;const c=3;init x=1,y=0;x'=-a*x+c;y'=b*x-y+t;aux r=x+y;@ t1=1",
        "par a=1,b=2;const c=3;init x=1,y=0;x'=-a*x+c;y'=b*x-sin(y);aux r=x+y;@ t1=1",
    };
    enum { COUNT = sizeof others / sizeof *others };
    char key[COUNT + 1][65];
    key_of(base, "", key[COUNT]);
    for (int i = 0; i < COUNT; i++) {
        key_of(others[i], "", key[i]);
        for (int k = 0; k < i; k++)
            CHECK_MSG(strcmp(key[i], key[k]) != 0, "%s", others[i]);
        CHECK_MSG(strcmp(key[i], key[COUNT]) != 0, "%s", others[i]);
    }
}

// Values that are passed at run time, and how the text is written.
TEST(key_ignores_form) {
    static const char *const same[] = {
        "par a=7,b=8;const c=3;init x=2,y=1;x'=-a*x+c;y'=b*x-y;aux r=x+y;@ t1=1",
        ("# a comment;par a=1 , b = 2;const c=3;;;init x=1,y=0;x' = -a*x + c // here;y'=b*x-y;"
         "aux r=x+y;@ t1=1"),
        "@ t1=99, rtol=1e-4;aux r=x+y;par a=1,b=2;const c=3;init x=1,y=0;x'=-a*x+c;dy/dt=b*x-y",
        "par a=1,b=2;const c=6/2;init x=1,y=0;x'=-a*x+c;y'=b*x-y;aux r=x+y;@ t1=1",
    };
    char plain[65], key[65];
    key_of(base, "", plain);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        key_of(same[i], "", key);
        CHECK_MSG(!strcmp(key, plain), "%s", same[i]);
    }
}

// ---- Components ---------------------------------------------------------------------------------

struct digests {
    uint32_t count;
    struct kernel_component component[KERNEL_COMPONENTS];
    char *text;
    char key[65];
};

static struct digests digests_of(const char *options, const struct component_swap *swap) {
    struct made m = make_solver(base, options, true, swap);
    struct order order;
    struct kernel_source source;
    struct digests d = {0};
    REQUIRE(m.code == SHOAL_OK);
    REQUIRE(order_open(m.model, &m.options, NULL, &order, m.log) == SHOAL_OK);
    REQUIRE(codegen_kernel(&order.kernel[PLAN_FIRST], order.model->found->system, swap, NULL,
                           &source, NULL) == SHOAL_OK);
    d.count = source.components;
    memcpy(d.component, source.component, sizeof d.component);
    d.text = strdup(source.text.data);
    snprintf(d.key, sizeof d.key, "%s", shoal_solver_key(m.solver));
    kernel_source_free(&source);
    order_close(&order);
    made_free(&m);
    return d;
}

static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

// Whether a is built on b, at any distance.
static bool built_on(const char *a, const char *b) {
    const char *children = codegen_children(a);
    char name[64];
    CHECK_MSG(children != NULL, "codegen.c does not say what %s is built on", a);
    REQUIRE(children);
    if (has_word(children, b))
        return true;
    for (const char *p = children; *p;) {
        size_t n = strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (built_on(name, b))
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

// One blank more in any component: another key, and it is that component and what is built on it.
static void check_components(const char *options, uint32_t least) {
    struct digests plain = digests_of(options, NULL);
    CHECK(plain.count >= least);
    for (uint32_t i = 0; i < plain.count; i++) {
        const struct kernel_component *c = &plain.component[i];
        char *text = NULL;
        REQUIRE(asprintf(&text, "%.*s \n", (int)c->length - 1, plain.text + c->offset) > 0);
        struct component_swap swap[] = {{c->name, text}, {NULL, NULL}};
        struct digests other = digests_of(options, swap);
        CHECK_MSG(strcmp(other.key, plain.key) != 0, "%s: the same key", c->name);
        for (uint32_t k = 0; k < plain.count; k++) {
            const char *name = plain.component[k].name;
            bool own = memcmp(plain.component[k].own, other.component[k].own, 32) != 0;
            bool tree = memcmp(plain.component[k].digest, other.component[k].digest, 32) != 0;
            CHECK_MSG(own == (k == i), "%s: text of %s", c->name, name);
            CHECK_MSG(tree == (k == i || built_on(name, c->name)), "%s: digest of %s", c->name,
                      name);
        }
        free(text);
        free(other.text);
    }
    free(plain.text);
}

TEST(key_by_component) {
    check_components("", 17);
    check_components("method=rodas4", 19);
    check_components("method=kvaerno3", 19);
    check_components("method=radau5", 19);
}

// ---- Fields -------------------------------------------------------------------------------------

static void key_of_words(const char *const *words, unsigned char key[KEY_BYTES]) {
    struct key_record r = {0};
    for (; *words; words++)
        key_add_text(&r, "argument", *words);
    key_digest(&r, key);
    key_free(&r);
}

TEST(key_without_aliases) {
    static const char *const lists[][4] = {{"-a", "-b"}, {"-ab"}, {"-a -b"},  {"-b", "-a"},
                                           {"x", "y"},   {"xy"},  {"", "xy"}, {"xy", ""}};
    enum { COUNT = sizeof lists / sizeof *lists };
    unsigned char key[COUNT][KEY_BYTES];
    for (int i = 0; i < COUNT; i++) {
        key_of_words(lists[i], key[i]);
        for (int k = 0; k < i; k++)
            CHECK_MSG(memcmp(key[i], key[k], KEY_BYTES) != 0, "%d and %d", i, k);
    }
}

// The words of every program that a build runs: both units and the link.
static int words_of_build(bool one_unit, bool hurried, const char *word) {
    struct made m = make_solver(base, "device=cpu", true, NULL);
    struct shoal_kernel_text k = {
        .text = "", .digest = "0", .one_unit = one_unit, .hurried = hurried};
    struct key_record r = {0};
    struct key_field f;
    int count = 0;
    REQUIRE(m.solver &&
            m.solver->backend->identity(m.solver->device, &k, NULL, NULL, &r, NULL) == SHOAL_OK);
    const unsigned char *bytes = (const unsigned char *)r.bytes.data;
    for (size_t at = 0; key_next(bytes, r.bytes.length, &at, &f);)
        count += !strcmp(f.label, "argument") && f.length == strlen(word) &&
                 !memcmp(f.bytes, word, f.length);
    key_free(&r);
    made_free(&m);
    return count;
}

TEST(key_by_units) {
    CHECK_INT(words_of_build(false, false, "-DSHOAL_PART=1"), 1);
    CHECK_INT(words_of_build(false, false, "-DSHOAL_PART=2"), 1);
    CHECK_INT(words_of_build(false, false, "-O2"), 2);
    CHECK_INT(words_of_build(false, false, "-shared"), 1);
    CHECK_INT(words_of_build(true, false, "-DSHOAL_PART=1"), 0);
    CHECK_INT(words_of_build(true, false, "-O2"), 1);
    CHECK_INT(words_of_build(false, false, "-Og"), 0);
    CHECK_INT(words_of_build(false, true, "-Og"), 2);
}

TEST(key_by_salt) {
    char plain[65], salted[65];
    key_of(base, "", plain);
    setenv("SHOAL_CACHE_SALT", "pepper", 1);
    key_of(base, "", salted);
    CHECK(strcmp(plain, salted) != 0);
}

TEST(key_by_target) {
    static const char *const targets[] = {"x86-64-v4", "x86-64-v3", "scalar", "x86-64"};
    char key[4][65] = {{0}};
    int count = 0;
    for (int i = 0; i < 4; i++) {
        setenv("SHOAL_CPU_TARGET", targets[i], 1);
        struct made m = make_solver(base, "", true, NULL);
        if (m.code == SHOAL_OK)
            snprintf(key[count++], 65, "%s", shoal_solver_key(m.solver));
        made_free(&m);
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            CHECK(strcmp(key[i], key[k]) != 0);
    CHECK(count > 0);
}

// ---- Compilers ----------------------------------------------------------------------------------

static void set_dates(const char *path) {
    const struct timespec t[2] = {{1000000000, 0}, {1000000000, 0}};
    REQUIRE(utimensat(AT_FDCWD, path, t, 0) == 0);
}

// Another program of the same size and date under the same name.
TEST(key_by_compiler) {
    char one[65], other[65], again[65];
    set_dates(use_script("exec cc \"$@\" # one"));
    key_of(base, "", one);
    set_dates(use_script("exec cc \"$@\" # two"));
    key_of(base, "", other);
    set_dates(use_script("exec cc \"$@\" # one"));
    key_of(base, "", again);
    CHECK(strcmp(one, other) != 0);
    CHECK_STR(again, one);
}

// The compiler's path is not what it is.
TEST(key_ignores_path_of_compiler) {
    char one[65], other[65];
    use_script("exec cc \"$@\"");
    key_of(base, "", one);
    REQUIRE(rename(check_path("compiler"), check_path("elsewhere")) == 0);
    REQUIRE(symlink("elsewhere", check_path("compiler")) == 0);
    setenv("SHOAL_CACHE_DIR", check_path("another"), 1); // no answer is kept there
    key_of(base, "", other);
    CHECK_STR(other, one);
}

// A link that is made to lead to another compiler, as update-alternatives does it.
TEST(key_by_alternatives) {
    char one[65], other[65], again[65];
    const char *link = check_path("cc");
    if (access("/usr/bin/clang", X_OK) < 0 || access("/usr/bin/gcc", X_OK) < 0)
        check_skip("there are no two compilers");
    setenv("SHOAL_CC", link, 1);
    CHECK_INT(symlink("/usr/bin/gcc", link), 0);
    key_of(base, "", one);
    CHECK_INT(unlink(link) | symlink("/usr/bin/clang", link), 0);
    key_of(base, "", other);
    CHECK_INT(unlink(link) | symlink("/usr/bin/gcc", link), 0);
    key_of(base, "", again);
    CHECK(strcmp(one, other) != 0);
    CHECK_STR(again, one);
}

// An assembler of another build, found first on PATH.
TEST(key_by_assembler) {
    char one[65], other[65], path[4096];
    key_of(base, "", one);
    check_write(check_path("as"), "#!/bin/sh\nexec /usr/bin/as \"$@\"\n");
    REQUIRE(chmod(check_path("as"), 0700) == 0);
    snprintf(path, sizeof path, "%s:%s", check_dir(), getenv("PATH"));
    setenv("PATH", path, 1);
    key_of(base, "", other);
    CHECK(strcmp(one, other) != 0);
}

// Programs of the directory we happen to be in take no part.
TEST(key_ignores_relative_path) {
    char one[65], other[65], path[4096];
    key_of(base, "", one);
    check_write(check_path("as"), "#!/bin/sh\nexit 1\n");
    REQUIRE(chmod(check_path("as"), 0700) == 0 && chdir(check_dir()) == 0);
    snprintf(path, sizeof path, ".:%s:", getenv("PATH"));
    setenv("PATH", path, 1);
    key_of(base, "", other);
    CHECK_STR(other, one);
    struct made m = make_solver(base, "", false, NULL);
    CHECK_INT(m.code, SHOAL_OK);
    made_free(&m);
}

// A compiler that does not say what it runs: nothing it makes is kept.
TEST(key_of_unknown_compiler) {
    use_script("case \"$*\" in *-###*) exit 0;; esac; exec cc \"$@\"");
    for (int i = 0; i < 2; i++) {
        struct made m = make_solver(base, "", false, NULL);
        CHECK_INT(m.code, SHOAL_OK);
        CHECK_STR(span_says(m.log, "cache_lookup", "reason"), "bypass:unknown-compiler");
        CHECK_STR(span_says(m.log, "cache_store", "reason"), "bypass:unknown-compiler");
        made_free(&m);
    }
    CHECK_INT(kernels_kept(), 0);
}

// ---- Surroundings -------------------------------------------------------------------------------

TEST(key_ignores_environment) {
    static const char *const poison[] = {
        "CPATH",        "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH",
        "LIBRARY_PATH", "CFLAGS",         "CCACHE_DIR",      "SOURCE_DATE_EPOCH",
    };
    char plain[65], key[65];
    key_of(base, "", plain);
    for (size_t i = 0; i < sizeof poison / sizeof *poison; i++)
        setenv(poison[i], check_dir(), 1);
    setenv("SHOAL_CACHE_DIR", check_path("another"), 1); // asked again under the poison
    key_of(base, "", key);
    CHECK_STR(key, plain);
}

TEST(key_ignores_locale) {
    char plain[65], key[65];
    key_of(base, "rtol=0.5", plain);
    check_comma_locale();
    key_of(base, "rtol=0.5", key);
    CHECK_STR(key, plain);
}

// The key that a run of the program says, with that in front of it.
static void key_of_program(const char *prefix, char key[65]) {
    char script[512];
    key[0] = 0;
    snprintf(script, sizeof script, "p=$(realpath \"$0\"); %s -v -o %s/out.csv 2>&1 >/dev/null",
             prefix, check_dir());
    struct check_output o = RUN("sh", "-c", script, check_shoal(), check_path("m.ode"));
    const char *line = strstr(o.err[0] ? o.err : o.out, "kernel   ");
    CHECK_MSG(line != NULL, "%s: %s%s", prefix, o.out, o.err);
    if (line)
        snprintf(key, 65, "%.64s", line + 9);
    CHECK_INT(o.status, 0);
}

TEST(key_ignores_place) {
    static const char *const prefixes[] = {
        "cd /; \"$p\" run \"$1\"",
        "HOME=/nowhere \"$p\" run \"$1\"",
        "unset HOME; \"$p\" run \"$1\"",
        "TZ=Asia/Tokyo \"$p\" run \"$1\"",
        "LC_ALL=de_DE.UTF-8 \"$p\" run \"$1\"",
        "umask 077; \"$p\" run \"$1\"",
        "ln -s \"$p\" \"$1.exe\"; \"$1.exe\" run \"$1\"",
        "cp \"$1\" \"$1.copy\"; \"$p\" run \"$1.copy\"",
        "touch -d 2001-01-01 \"$1\"; \"$p\" run \"$1\" --timing none",
        "\"$p\" run \"$1\" --t1 2 --rtol 1e-3 --sweep a=1,2,3 --chunk 1 --device cpu",
    };
    char plain[65], key[65];
    check_write(check_path("m.ode"), "par a=1\ninit x=1\nx'=-a*x\n@ t1=1\n");
    setenv("SHOAL_CPU_TARGET", "", 1);
    key_of_program("\"$p\" run \"$1\"", plain);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        key_of_program(prefixes[i], key);
        CHECK_MSG(!strcmp(key, plain), "%s: another key", prefixes[i]);
    }
    CHECK_INT(kernels_kept(), 1); // all of them but the first were hits
}

// The source is the same in every process: nothing depends on addresses or hash order.
TEST(key_of_many_processes) {
    char *first = NULL;
    setenv("SHOAL_CACHE", "off", 1);
    for (int i = 0; i < 100; i++) {
        struct check_output o = RUN(check_shoal(), "source", "examples/hodgkin_huxley.ode");
        REQUIRE(o.status == 0);
        if (first)
            CHECK(!strcmp(first, o.out));
        else
            first = strdup(o.out);
        free(o.out);
        free(o.err);
    }
    free(first);
}
