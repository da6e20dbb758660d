// SPDX-License-Identifier: MIT
// Damaged HDF5 files, and the program that reads them: whatever it does, this process goes on.
#include "check.h"
#include "io/hdf5.h"
#include "io/hdf5_program.h"
#include "io/io.h"
#include "run/result_names.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct read {
    struct arena arena;
    struct batch_table table;
    struct report report;
    shoal_code code;
    const char *said;
};

static struct read read_file(const char *path) {
    struct read t = {0};
    t.code = io_table_read(path, &t.arena, &t.table, &t.report);
    t.said = t.report.messages.count ? t.report.messages.items[0].text : "";
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
    CHECK_MSG(!strstr(t.said, "nonsense") && !strstr(t.said, "status"), "%s", t.said);
    for (uint32_t i = 0; t.code == SHOAL_OK && i < t.table.columns.count; i++) {
        const struct batch_column *c = &t.table.columns.items[i];
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
    fuzz("a.h5", 100, 1, &n);
    fuzz("b.h5", 50, 2, &n);
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
    CHECK(n.read + n.refused > 1000);
}
