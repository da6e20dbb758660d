// SPDX-License-Identifier: MIT
// Snapshots of reductions that are damaged, of another job, or written by somebody else. That runs
// go on from them is tested in test_resume.c, with all other runs.
#include "check.h"

#include "io/journal.h"
#include "io/snapshot.h"
#include "shoal/shoal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char words[] = "--reduce=mean,std,min,max,quantile(0.5)";

static struct check_output run(const char *out, const char *more, const char *value) {
    return RUN(check_shoal(), "run", "m.ode", "--device", "cpu", "--shard", "0/1", "--resume", "-o",
               out, "--sweep", "a=lin:1:2:5000", words, more, value);
}

static size_t size_of(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 ? (size_t)s.st_size : 0;
}

// A shard keeps its snapshot, which is then in the place of one that a killed run has left.
static void place(void) {
    check_enter();
    check_write("m.ode", "par a=1\nx'=-a*x\ninit x=1\n@ t1=3, method=tsit5\n");
    struct check_output o = run("ref.npz", NULL, NULL);
    REQUIRE(o.status == 0);
}

static bool same(const char *a, const char *b) { return RUN("cmp", a, b).status == 0; }

static uint64_t random_below(uint64_t n) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

// Whatever is damaged, the result is right: either the runs are begun anew, with a warning, or what
// was damaged says nothing.
TEST(snapshot_damaged) {
    place();
    size_t size = size_of("ref.npz.journal");
    for (int i = 0; i < 24; i++) {
        RUN("sh", "-c", "rm -f k.*; cp ref.npz.journal k.npz.part.journal");
        size_t at = i < 12 ? size - 1 - random_below(size / 2) : random_below(size);
        int fd = open("k.npz.part.journal", O_RDWR);
        char c;
        REQUIRE(fd >= 0 && pread(fd, &c, 1, (off_t)at) == 1);
        c ^= (char)(1 << random_below(8));
        REQUIRE(i % 3 ? pwrite(fd, &c, 1, (off_t)at) == 1 : ftruncate(fd, (off_t)at) == 0);
        close(fd);
        struct check_output o = run("k.npz", "-q", NULL);
        CHECK_MSG(o.status == 0, "%s", o.err);
        CHECK_MSG(same("ref.npz", "k.npz"), "byte %zu", at);
    }
    RUN("sh", "-c", "rm -f k.*; cp ref.npz.journal k.npz.part.journal");
    CHECK_HAS(run("k.npz", NULL, NULL).err, "5000 were there");
    RUN("sh", "-c", "rm -f k.*; head -c -9 ref.npz.journal > k.npz.part.journal");
    CHECK_HAS(run("k.npz", NULL, NULL).err, "k.npz.part.journal: is damaged, and the runs are");
    RUN("sh", "-c", "rm -f k.*; head -c -9 ref.npz.journal > k.npz.journal");
    struct check_output o = run("k.npz", NULL, NULL);
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "k.npz.journal: is no journal of Shoal's, or damaged");
}

// Lines of one snapshot and states of another, both whole.
TEST(snapshot_of_two) {
    place();
    REQUIRE(run("other.npz", "--chunk", "100").status == 0); // the same states
    RUN("sh", "-c",
        "for f in ref other; do n=$(grep -abn -m1 '^$' $f.npz.journal | cut -d: -f2); "
        "head -c $n $f.npz.journal > $f.lines; tail -c +$((n + 1)) $f.npz.journal > $f.states; "
        "done; "
        "cat ref.lines other.states > k.npz.part.journal");
    CHECK(same("ref.npz", "other.npz") && size_of("ref.lines") > 100 &&
          !same("ref.lines", "other.lines"));
    struct check_output o = run("k.npz", NULL, NULL);
    CHECK_HAS(o.err, "k.npz.part.journal: is damaged, and the runs are begun anew");
    RUN("sh", "-c", "rm -f k.*; cat ref.lines ref.states > k.npz.part.journal");
    CHECK_HAS(run("k.npz", NULL, NULL).err, "5000 were there");
}

TEST(snapshot_of_another_job) {
    static const char *const other[][3] = {
        {"--rtol", "1e-7", "`rtol` was 1e-6 and is 1e-7"},
        {"--by", "a", "`by` was "},
        {"--reduce", "mean", "`reduce` was mean,std,min,max,quantile(0.5) and is mean"},
        {"--only-runs", "5:", "it is another job"},
        {"--save", "n=3", "it is another job"}};
    place();
    RUN("sh", "-c", "cp ref.npz.journal k.npz.part.journal; echo something > k.npz.part");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct check_output o = run("k.npz", other[i][0], other[i][1]);
        CHECK_INT(o.status, 1);
        CHECK_HAS(o.err, other[i][2]);
        CHECK(same("ref.npz.journal", "k.npz.part.journal") && size_of("k.npz.part") == 10);
    }
    struct check_output o = RUN(check_shoal(), "run", "m.ode", "--device", "cpu", "-o", "k.npz",
                                "--resume", "--shard", "0/1", "--sweep", "a=lin:1:2:5000");
    CHECK_INT(o.status, 1); // rows of it
    CHECK_HAS(o.err, "`reduce` was mean,std,min,max,quantile(0.5) and is not given");
    CHECK_INT(run("k.npz", NULL, NULL).status, 0);
    CHECK(same("ref.npz", "k.npz"));
}

// The last one that was written stays, and another run goes on from it.
TEST(snapshot_on_a_full_disk) {
    place();
    struct check_output o = RUN(
        "bash", "-c",
        "trap '' XFSZ; ulimit -f 40; export SHOAL_SNAPSHOT_SECONDS=0; exec \"$0\" run m.ode "
        "--device cpu --threads 1 --chunk 100 --shard 0/1 -o k.npz --sweep a=lin:1:2:5000 \"$1\"",
        check_shoal(), words);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "k.npz.part.journal.new: cannot write");
    CHECK(access("k.npz", F_OK) != 0);
    o = RUN(check_shoal(), "status", "k.npz");
    CHECK_HAS(o.out, "interrupted: ");
    o = run("k.npz", NULL, NULL);
    CHECK_MSG(o.status == 0 && strstr(o.err, "00 were there"), "%s", o.err);
    CHECK(same("ref.npz", "k.npz"));
    CHECK_STR(RUN("sh", "-c", "ls | grep part").out, "");
    o = RUN("bash", "-c", // anew, and not even the first one can be written: what there was stays
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" run m.ode --device cpu --shard 0/1 -o k.npz "
            "--sweep a=lin:1:2:5000 \"$1\"",
            check_shoal(), words);
    CHECK_INT(o.status, 4);
    CHECK(same("ref.npz", "k.npz"));
    CHECK_HAS(RUN(check_shoal(), "status", "k.npz").out, "complete: 5000 of 5000 runs");
}

// A range of more rows than a chunk can have, as those of a snapshot are.
TEST(snapshot_of_many_rows) {
    place();
    struct journal_reader d;
    struct journal_range g = {0};
    bool found;
    REQUIRE(journal_open(&d, "ref.npz", &found, NULL) == SHOAL_OK && found && journal_next(&d));
    buf_free(&d.line);
    buf_puts(&d.line, "range 0 20000000000 0 1 2 3 4 20000000000@0");
    for (int i = 1; i < SHOAL_STATUS_COUNT; i++)
        buf_puts(&d.line, ",0");
    buf_puts(&d.line, " ");
    CHECK(journal_read_range(&d, 0, &g));
    CHECK(g.rows == 20000000000u && g.by_status[0] == g.rows);
    journal_reader_close(&d);
}
