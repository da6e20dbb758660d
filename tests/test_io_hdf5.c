// SPDX-License-Identifier: MIT
// Damaged HDF5 files, and the program that reads them: whatever it does, this process goes on.
#include "check.h"
#include "io/hdf5.h"
#include "io/hdf5_program.h"
#include "io/io.h"
#include "result/result_names.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct read {
    struct arena arena;
    struct table table;
    struct report report;
    shoal_code code;
    const char *said;
};

static struct read read_file(const char *path) {
    struct read t = {0};
    t.code = io_table_read(path, &t.arena, &t.table, &t.report);
    t.said = t.report.messages.count ? t.report.messages.items[0].text : "";
    check_keep(t.arena.head);
    check_keep(t.report.messages.items);
    return t;
}

static void read_free(struct read *t) {
    report_free(&t->report);
    arena_free(&t->arena);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// a.h5: numbers in one piece, in chunks, packed; integers; text of both kinds. b.h5: less of it,
// in the newest layout.
static void make_files(void) {
    const char *python = check_python("h5py");
    if (!python)
        check_skip("no Python with h5py");
    struct check_output o =
        RUN(python, "-c",
            "import sys, numpy as np, h5py\n"
            "f = h5py.File(sys.argv[1] + '/a.h5', 'w')\n"
            "f['a'] = np.arange(40.)\n"
            "f.create_dataset('b', data=np.arange(40), chunks=(16,), compression='gzip')\n"
            "f.create_dataset('x(0)', data=np.ones(40, 'f4'), chunks=(7,), maxshape=(None,))\n"
            "f['_long'] = np.arange(40) + 2**60\n"
            "f['_v'] = ['text %d' % i for i in range(40)]\n"
            "f['_f'] = np.array([b'%d' % i for i in range(40)])\n"
            "f['meta'] = '{\"job\": \"x\"}'\n"
            "f.attrs['n'] = 'attribute'\n"
            "f.close()\n"
            "f = h5py.File(sys.argv[1] + '/b.h5', 'w', libver='latest')\n"
            "f['a'] = np.arange(20.)\n"
            "f.create_dataset('_v', data=['%d' % i for i in range(20)], chunks=(8,))\n"
            "f.attrs['meta'] = '{}'\n"
            "f.close()\n",
            check_dir());
    REQUIRE(o.status == 0);
    struct read t = read_file(check_path("a.h5"));
    if (strstr(t.said, "library not found"))
        check_skip("no HDF5 library");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_INT(t.table.columns.count, 6);
    read_free(&t);
}

static char *read_bytes(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    REQUIRE(f != NULL);
    char *bytes = malloc(1 << 20);
    REQUIRE(bytes != NULL);
    *length = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

static void write_bytes(const char *path, const void *bytes, size_t length) {
    FILE *f = fopen(path, "wb");
    REQUIRE(f && fwrite(bytes, 1, length, f) == length && fclose(f) == 0);
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// Changes one to eight places; most files of the library begin with what matters.
static void damage(char *bytes, size_t length, uint64_t *state) {
    static const unsigned char nasty[] = {0, 1, 0x7f, 0x80, 0xff};
    for (uint64_t n = 1 + next_random(state) % 8; n; n--) {
        size_t within = next_random(state) % 2 ? length : length < 2048 ? length : 2048;
        size_t at = next_random(state) % within;
        if (next_random(state) % 2)
            bytes[at] = (char)(bytes[at] ^ 1 << next_random(state) % 8);
        else
            bytes[at] = (char)nasty[next_random(state) % sizeof nasty];
    }
}

struct counts {
    int read, refused, crashed, endless;
};

// A damaged file is read or refused. What was read has numbers where they are finite.
static void try_file(const char *path, struct counts *n) {
    struct read t = read_file(path);
    bool crashed = strstr(t.said, "crashed"),
         endless = strstr(t.said, "no end") || strstr(t.said, "no progress");
    n->read += t.code == SHOAL_OK;
    n->refused += t.code != SHOAL_OK;
    n->crashed += crashed;
    n->endless += endless;
    CHECK_MSG(t.code == SHOAL_OK || *t.said, "refused without a word");
#ifndef __SANITIZE_ADDRESS__ // which turns a crash into an exit
    CHECK_MSG(!strstr(t.said, "ended with"), "%s", t.said);
#endif
    CHECK_MSG(!strstr(t.said, "nonsense"), "%s", t.said);
    for (uint32_t i = 0; t.code == SHOAL_OK && i < t.table.columns.count; i++) {
        const struct table_column *c = &t.table.columns.items[i];
        for (uint64_t k = 0; k < t.table.rows; k++)
            CHECK(c->text ? c->text[k] != NULL : c->name[0] == '_' || isfinite(c->number[k]));
    }
    read_free(&t);
    struct arena arena = {0};
    const char *meta = NULL;
    CHECK(io_meta_read(path, &arena, &meta, NULL) != SHOAL_OK || meta);
    arena_free(&arena);
}

static void fuzz(const char *name, int rounds, uint64_t seed, struct counts *n) {
    size_t length;
    char *good = read_bytes(check_path(name), &length), *bad = malloc(length);
    const char *path = check_path("bad.h5");
    uint64_t state = seed;
    REQUIRE(bad != NULL);
    for (int i = 0; i < rounds; i++) {
        memcpy(bad, good, length);
        damage(bad, length, &state);
        write_bytes(path, bad, i % 16 ? length : next_random(&state) % length); // some are cut
        try_file(path, n);
    }
    free(good);
    free(bad);
}

TEST(hdf5_damaged) {
    struct counts n = {0};
    make_files();
    fuzz("a.h5", 60, 1, &n);
    fuzz("b.h5", 30, 2, &n);
    CHECK(n.read > 0 && n.refused > 0);
}

LONG_TEST(hdf5_damaged_thousands) {
    struct counts n = {0};
    make_files();
    double start = seconds();
    for (uint64_t seed = 3; seconds() - start < 200; seed++) {
        fuzz("a.h5", 20, seed, &n);
        fuzz("b.h5", 10, seed, &n);
    }
    fprintf(stderr, "    %d read, %d refused, of these %d crashed and %d did not end\n", n.read,
            n.refused, n.crashed, n.endless);
    CHECK(n.read + n.refused > 500);
}

// ---- A reader that misbehaves -------------------------------------------------------------------

// A script in its place, and a file for it to read.
static struct read read_by(const char *script) {
    char text[1024];
    const char *program = check_path("reader"), *path = check_path("f.h5");
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    check_write(program, text);
    chmod(program, 0755);
    check_write(path, "0123456789");
    setenv("SHOAL_HDF5_READER", program, 1);
    return read_file(path);
}

#define COLUMN_A                                                                                   \
    "printf '\\0\\0\\0\\0\\021\\0\\0\\0\\002\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0a';"
#define NUMBER "printf '\\001\\0\\0\\0\\010\\0\\0\\0\\0\\0\\0\\0\\0\\0\\360\\077';"
#define TEXT "printf '\\002\\0\\0\\0\\001\\0\\0\\0a';"
#define DONE "printf '\\005\\0\\0\\0\\0\\0\\0\\0'"

TEST(hdf5_reader_is_not_believed) {
    static const struct {
        const char *script, *said;
    } cases[] = {
        {"kill -SEGV $$", "f.h5 is damaged (the HDF5 reader crashed)"},
        {COLUMN_A NUMBER "kill -ABRT $$", "f.h5 is damaged (the HDF5 reader crashed)"},
        {"kill -XCPU $$", "f.h5 is damaged (the HDF5 reader found no end)"},
        {"exit 3", "f.h5: the HDF5 reader ended with status 3"},
        {COLUMN_A NUMBER NUMBER "exit 0", "f.h5: the HDF5 reader ended with status 0"},
        {"printf '\\001\\0\\0'", "ended with status 0"},
        {"echo what is this", "nonsense"},
        {"exec cat /dev/zero", "nonsense"},
        {NUMBER DONE, "nonsense"},
        {TEXT DONE, "nonsense"},
        {COLUMN_A DONE, "nonsense"},
        {COLUMN_A NUMBER DONE, "nonsense"},
        {COLUMN_A NUMBER COLUMN_A DONE, "nonsense"},
        {COLUMN_A NUMBER NUMBER NUMBER DONE, "nonsense"},
        {COLUMN_A TEXT DONE, "nonsense"},
        // more rows than a file of 10 bytes can have; a zero in a name; an empty one; other rows
        {"printf '\\0\\0\\0\\0\\021\\0\\0\\0\\002\\0\\0\\0\\0\\0\\0\\001\\0\\0\\0\\0\\0\\0\\0\\0a'",
         "nonsense"},
        {"printf '\\0\\0\\0\\0\\021\\0\\0\\0\\002\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0'",
         "nonsense"},
        {"printf '\\0\\0\\0\\0\\020\\0\\0\\0\\002\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0'",
         "nonsense"},
        {COLUMN_A NUMBER NUMBER
         "printf '\\0\\0\\0\\0\\021\\0\\0\\0\\003\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0b'",
         "nonsense"},
        {"printf '\\003\\0\\0\\0\\001\\0\\0\\0a'", "nonsense"},             // metadata of a table
        {"printf '\\115\\0\\0\\0\\0\\0\\0\\0'", "nonsense"},                // no such kind
        {"printf '\\001\\0\\0\\0\\377\\377\\377\\377'", "nonsense"},        // too long
        {"printf '\\004\\0\\0\\0\\005\\0\\0\\0\\0\\0\\0\\0a'", "nonsense"}, // an error that is none
    };
    signal(SIGCHLD, SIG_DFL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read t = read_by(cases[i].script);
        CHECK_INT(t.code, SHOAL_IO);
        CHECK_MSG(strstr(t.said, cases[i].said), "%s: %s", cases[i].script, t.said);
        read_free(&t);
    }
    struct read t = read_by(COLUMN_A NUMBER NUMBER DONE);
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_INT(t.table.rows, 2);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); // no child is left
}

TEST(hdf5_reader_that_cannot_be_started) {
    setenv("SHOAL_HDF5_READER", check_path("nothing"), 1);
    check_write(check_path("f.h5"), "0123456789");
    struct read t = read_file(check_path("f.h5"));
    CHECK_INT(t.code, SHOAL_IO);
    CHECK_HAS(t.said, "cannot run ");
    CHECK_HAS(t.said, "nothing: No such file");
}

// A signal ends the program at once while a reader is at work, and the reader ends with it.
TEST(hdf5_reader_and_a_signal) {
    const char *program = check_path("reader"), *path = check_path("f.h5");
    char text[256];
    check_write(check_path("m.ode"), "par a=1\nx'=a\n@ t1=1\n");
    check_write(path, "0123456789");
    snprintf(text, sizeof text, "#!/bin/sh\necho $$ > %s\nexec sleep 60\n", check_path("pid"));
    check_write(program, text);
    chmod(program, 0755);
    setenv("SHOAL_HDF5_READER", program, 1);
    double start = seconds();
    struct check_output o =
        RUN("bash", "-mc",
            "\"$0\" run \"$1/m.ode\" --batch \"$1/f.h5\" & pid=$!; "
            "until [ -s \"$1/pid\" ]; do sleep 0.02; done; kill -TERM $pid; wait $pid",
            check_shoal(), check_dir());
    CHECK_INT(o.status, 128 + SIGTERM);
    CHECK(seconds() - start < 20);
}

LONG_TEST(hdf5_reader_that_says_nothing) {
    double start = seconds();
    struct read t = read_by(COLUMN_A "exec sleep 300");
    CHECK_INT(t.code, SHOAL_IO);
    CHECK_HAS(t.said, "f.h5 is damaged (the HDF5 reader made no progress for 30 s)");
    CHECK(seconds() - start >= 30 && seconds() - start < 60);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

// A program without the reader beside it reads what is simple itself.
TEST(hdf5_without_the_reader) {
    make_files();
    const char *alone = check_path("shoal"), *m = check_path("m.ode");
    check_write(m, "par a=1, b=2\nx'=a+b\n@ t1=1\n");
    REQUIRE(RUN("cp", check_shoal(), alone).status == 0);
    struct check_output o = RUN(alone, "run", m, "--batch", check_path("a.h5"), "-q");
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "_v has text of variable length, which only the program shoal-hdf5 reads");
    const char *out = check_path("o.h5");
    o = RUN(alone, "run", m, "--sweep", "a=1,2", "-q", "-o", out);
    CHECK_INT(o.status, 0);
    o = RUN(alone, "run", "--job", out, "-q", "-o", "-"); // what we write ourselves is simple
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.out, "\n1,2,1,");
}

// Where an installation has it.
TEST(hdf5_reader_is_found_in_a_prefix) {
    make_files();
    const char *reader = getenv("SHOAL_BUILD");
    char from[256];
    snprintf(from, sizeof from, "%s/shoal-hdf5", reader ? reader : "build");
    const char *m = check_path("m.ode");
    check_write(m, "par a=1, b=2\nx'=a+b\n@ t1=1\n");
    mkdir(check_path("bin"), 0755);
    mkdir(check_path("libexec"), 0755);
    mkdir(check_path("libexec/shoal"), 0755);
    REQUIRE(RUN("cp", check_shoal(), check_path("bin")).status == 0);
    REQUIRE(RUN("cp", from, check_path("libexec/shoal")).status == 0);
    struct check_output o =
        RUN(check_path("bin/shoal"), "run", m, "--batch", check_path("a.h5"), "-q", "-o", "-");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.out, "text 39");
}

// Names longer than a result may have are not passed over.
TEST(hdf5_long_names) {
    const char *python = check_python("h5py");
    if (!python)
        check_skip("no Python with h5py");
    struct check_output o = RUN(python, "-c",
                                "import sys, h5py\n"
                                "f = h5py.File(sys.argv[1] + '/a.h5', 'w')\n"
                                "f['a'] = [1.]; f['b' * 1001] = [2.]\n"
                                "f = h5py.File(sys.argv[1] + '/b.h5', 'w')\n"
                                "f['a'] = [1.]; f['b'] = h5py.SoftLink('/nowhere')\n",
                                check_dir());
    REQUIRE(o.status == 0);
    struct read t = read_file(check_path("a.h5"));
    CHECK_INT(t.code, SHOAL_INPUT);
    CHECK_HAS(t.said, "has 1001 bytes; a column's has at most 1000");
    t = read_file(check_path("b.h5"));
    CHECK_INT(t.code, SHOAL_IO);
    CHECK_HAS(t.said, "cannot open 'b'");
}

// ---- Dimension scales ---------------------------------------------------------------------------

// The library that knows of them, which is an oracle here.
struct scales_library {
    int (*attached)(h5id dataset, h5id scale, unsigned axis);
    int (*count)(h5id dataset, unsigned axis);
};

static struct scales_library open_scales(void) {
    static const char *const names[] = {"libhdf5_hl.so", "libhdf5_serial_hl.so",
                                        "libhdf5_serial_hl.so.100", "libhdf5_hl.so.100"};
    struct scales_library l = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names && !l.count; i++) {
        void *handle = dlopen(names[i], RTLD_NOW);
        void *attached = handle ? dlsym(handle, "H5DSis_attached") : NULL;
        void *count = handle ? dlsym(handle, "H5DSget_num_scales") : NULL;
        memcpy(&l.attached, &attached, sizeof attached);
        memcpy(&l.count, &count, sizeof count);
    }
    if (!l.attached || !l.count)
        check_skip("no library for dimension scales");
    return l;
}

// Of a dataset: the scales of its axes, which are `scale` or, where that is "", none.
static void check_axes(const struct hdf5 *h, const struct scales_library *l, h5id file,
                       const char *name, const char *const *scale, unsigned axes) {
    h5id dataset = h->H5Dopen2(file, name, H5_DEFAULT);
    CHECK_MSG(dataset >= 0, "%s is not there", name);
    for (unsigned i = 0; i < axes; i++) {
        CHECK_MSG(l->count(dataset, i) == (*scale[i] != 0), "%s: %d scales of axis %u", name,
                  l->count(dataset, i), i);
        h5id other = *scale[i] ? h->H5Dopen2(file, scale[i], H5_DEFAULT) : -1;
        CHECK_MSG(other < 0 || l->attached(dataset, other, i) == 1, "%s: axis %u", name, i);
        if (other >= 0)
            h->H5Dclose(other);
    }
    h->H5Dclose(dataset);
}

// All that a run can have has its runs along `run`: samples, windows, peaks and records too.
TEST(hdf5_dimension_scales) {
    struct scales_library l = open_scales();
    check_write(check_path("m.ode"), "x'=v\nv'=-x\ninit x=1\npar k=1\nevent up when v : k=k+1\n");
    struct check_output o =
        RUN(check_shoal(), "run", check_path("m.ode"), "--t1", "20", "--sweep", "k=1,2,3", "--save",
            "n=4", "--window", "8", "--summary", "max(x),p=peaks(x,2)", "--record", "up,2", "-q",
            "-o", check_path("o.h5"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    struct report r = {0};
    const struct hdf5 *h = hdf5_enter("o.h5", &r);
    REQUIRE(h);
    h5id file = h->H5Fopen(check_path("o.h5"), 0, H5_DEFAULT);
    check_axes(h, &l, file, "k", (const char *[]){"run"}, 1);
    check_axes(h, &l, file, "x", (const char *[]){"run", "t"}, 2);
    check_axes(h, &l, file, "max(x)", (const char *[]){"run", ""}, 2);
    check_axes(h, &l, file, "p.t", (const char *[]){"run", "", ""}, 3);
    check_axes(h, &l, file, "up.t", (const char *[]){"run", ""}, 2);
    h->H5Fclose(file);
    hdf5_leave(h);
    report_free(&r);
}

// Groups of runs lie along the values or words that they are by; of several axes each has those of
// its first column.
TEST(hdf5_dimension_scales_of_groups) {
    struct scales_library l = open_scales();
    check_write(check_path("m.ode"), "x'=-k*x\ninit x=1\npar k=1, c=1\n");
    check_write(check_path("b.csv"), "_arm,k\nlow,1\nhigh,2\nlow,3\n");
    static const struct {
        const char *by, *first;
    } cases[] = {{"_arm", "_arm"}, {"c", "c"}, {"k,_arm,c", ""}};
    for (int i = 0; i < 3; i++) {
        struct check_output o =
            RUN(check_shoal(), "run", check_path("m.ode"), "--batch", check_path("b.csv"),
                "--sweep", "c=1,2", "--t1", "1", "--save", "n=4", "--reduce", "mean", "--by",
                cases[i].by, "-q", "-o", check_path("o.h5"));
        CHECK_MSG(o.status == 0, "%s", o.err);
        struct report r = {0};
        const struct hdf5 *h = hdf5_enter("o.h5", &r);
        REQUIRE(h);
        h5id file = h->H5Fopen(check_path("o.h5"), 0, H5_DEFAULT);
        const char *const several[] = {"k.axis", "c.axis", "t"}, *const one[] = {cases[i].first,
                                                                                 "t"};
        check_axes(h, &l, file, "x.mean", i == 2 ? several : one, i == 2 ? 3 : 2);
        check_axes(h, &l, file, "failed", i == 2 ? several : one, i == 2 ? 2 : 1);
        if (i == 2)
            check_axes(h, &l, file, "_arm", several, 2);
        h->H5Fclose(file);
        hdf5_leave(h);
        report_free(&r);
    }
}
