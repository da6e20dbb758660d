// SPDX-License-Identifier: MIT
// Shards of a job, and what they are merged to: the bytes of one run, or a refusal by name.
#include "check.h"

#include "shoal/shoal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static void place(void) {
    check_enter();
    check_write("m.ode", "par a=1, b=2, far=9\nx'=-a*x+b\ny'=x-y\ninit x=1\n@ t1=3, method=tsit5\n"
                         "event e when x+y>b+far : stop\n");
    check_write("b.csv", "b,_id\n1,one\n2,\"two, or\n\"\"more\"\"\"\n3,\n4,four\n");
}

struct job {
    const char *words[12];
};
static const struct job jobs[] = {
    {{"--sweep", "a=lin:1:2:101"}},
    {{"--sweep", "a=lin:1:2:50", "--save", "n=4", "--precision", "f32"}},
    {{"--batch", "b.csv", "--sweep", "a=lin:1:2:6", "--save", "steps"}},
    {{"--batch", "b.csv", "--sweep", "a=lin:1:2:6", "--save", "steps", "--settle", "0.5", "--set",
      "far=0"}},
    {{"--sweep", "a=lin:1:2:40", "--summary", "max(x),p=peaks(x,2)", "--window", "1"}},
    {{"--batch", "b.csv", "--sample", "a=uniform:1:2", "--runs", "9", "--only-runs", "2:20,30:"}},
    {{"--sweep", "a=lin:1:2:9001", "--save", "n=3", "--reduce", "mean,std,min,max"}},
    {{"--batch", "b.csv", "--sweep", "a=lin:1:2:3500", "--by", "_id", "--reduce",
      "std,quantile(0.1,0.5)"}},
    {{"--sweep", "a=lin:1:2:5000", "--summary", "max(x)", "--window", "1", "--reduce",
      "mean,quantile(0.1)", "--only-runs", "0:10,100:4800"}},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static struct check_output run_job(const struct job *job, const char *out, const char *shard) {
    const char *argv[24] = {check_shoal(), "run", "m.ode", "-q", "--device", "cpu", "-o", out};
    size_t n = 8;
    for (size_t i = 0; i < 12 && job->words[i]; i++)
        argv[n++] = job->words[i];
    if (shard) {
        argv[n++] = "--shard";
        argv[n++] = shard;
    }
    argv[n] = NULL;
    return check_command(argv);
}

static void run_shards(const struct job *job, int shards, const char *how, const char *ending) {
    for (int i = 0; i < shards; i++) {
        char shard[32], out[32];
        snprintf(shard, sizeof shard, "%d/%d%s", i, shards, how);
        snprintf(out, sizeof out, "s%d.%s", i, ending);
        struct check_output o = run_job(job, out, shard);
        REQUIRE(o.status == 0);
    }
}

// What a job asks for as statistics, or NULL.
static const char *words_of_reduce(const struct job *job) {
    for (size_t i = 0; i + 1 < 12 && job->words[i]; i++)
        if (!strcmp(job->words[i], "--reduce"))
            return job->words[i + 1];
    return NULL;
}

static bool same(const char *a, const char *b) { return RUN("cmp", a, b).status == 0; }

static bool has_hdf5(void) {
    return !strstr(run_job(&jobs[0], "probe.h5", NULL).err, "library not found");
}

// In any order; with every format, and rows in stretches or strides.
TEST(shard_merge_gives_one_run) {
    static const char *const endings[] = {"npz", "csv", "h5"};
    place();
    bool hdf5 = has_hdf5();
    for (int k = 0; k < JOBS; k++)
        for (int e = 0; e < 2 + hdf5; e++) {
            const char *reduce = words_of_reduce(&jobs[k]), *ending = endings[e];
            bool strided = (k + e) % 2 && !(reduce && strstr(reduce, "quantile"));
            const char *how = strided ? ":strided" : "";
            if (reduce && !check_does((size_t)k, (size_t)e, 2 + hdf5))
                continue;
            char out[3][32];
            RUN("sh", "-c", "rm -f s* ref* o.*");
            for (int i = 0; i < 3; i++)
                snprintf(out[i], sizeof out[i], "s%d.%s", i, ending);
            char ref[16], merged[16];
            snprintf(ref, sizeof ref, "ref.%s", ending);
            snprintf(merged, sizeof merged, "o.%s", ending);
            REQUIRE(run_job(&jobs[k], ref, NULL).status == 0);
            run_shards(&jobs[k], 3, how, ending);
            struct check_output o = SHOAL("merge", merged, out[2], out[0], out[1]);
            CHECK_MSG(o.status == 0, "job %d %s%s: %s", k, ending, how, o.err);
            CHECK_MSG(same(ref, merged), "job %d %s%s", k, ending, how);
            if (access("ref.runs.csv", F_OK) == 0)
                CHECK(same("ref.runs.csv", "o.runs.csv"));
            CHECK_STR(RUN("sh", "-c", "ls | grep -E 'part|places'").out, "");
        }
}

static void refuse(const char *says, const char *const *argv) {
    struct check_output o = check_command(argv);
    CHECK_MSG(o.status == 1, "exit %d: %s", o.status, o.err);
    CHECK_HAS(o.err, says);
    CHECK(access("o.npz", F_OK) != 0);
}
#define REFUSE(says, ...)                                                                          \
    refuse(says, (const char *const[]){check_shoal(), "merge", "o.npz", __VA_ARGS__, NULL})

TEST(shard_merge_refuses) {
    place();
    run_shards(&jobs[0], 3, "", "npz");
    REFUSE("of 3 shards 1 are missing: 1;", "s0.npz", "s2.npz");
    REFUSE("s0.npz and s0.npz are the same shard, 0/3", "s0.npz", "s1.npz", "s2.npz", "s0.npz");
    CHECK_INT(run_job(&jobs[0], "w.npz", NULL).status, 0);
    REFUSE("w.npz: has no journal beside it", "s0.npz", "s1.npz", "w.npz");
    CHECK_INT(run_job(&jobs[0], "x.npz", "1/4").status, 0);
    REFUSE("x.npz: is shard 1/4, which does not go with", "s0.npz", "x.npz", "s2.npz");
    CHECK_INT(run_job(&jobs[0], "x.npz", "1/3:strided").status, 0);
    REFUSE("x.npz: is shard 1/3:strided", "s0.npz", "x.npz", "s2.npz");
    struct check_output o = SHOAL("run", "m.ode", "-q", "--sweep", "a=lin:1:2:101", "--rtol",
                                  "1e-7", "--shard", "1/3", "-o", "x.npz");
    CHECK_INT(o.status, 0);
    REFUSE("it is another job: `rtol` was 1e-7 and is 1e-6", "s0.npz", "x.npz", "s2.npz");
    int fd = open("s1.npz", O_RDWR); // a number that is not what was written
    CHECK(pwrite(fd, "!", 1, 300) == 1);
    close(fd);
    REFUSE("s1.npz: is not what its journal says", "s0.npz", "s1.npz", "s2.npz");
    CHECK_INT(SHOAL("merge", "o.npz").status, 2);
}

// Rows that are not there are pending and not numbers; a shard that was not finished has some.
TEST(shard_merge_without_some) {
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python with numpy");
    place();
    run_shards(&jobs[0], 3, "", "npz");
    struct check_output o = SHOAL("merge", "o.npz", "s0.npz", "s2.npz", "--allow-missing");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.err, "without the runs of shards that are missing");
    REQUIRE(run_job(&jobs[0], "ref.npz", NULL).status == 0);
    o = RUN(python, "-c",
            "import numpy as np, json\n"
            "r, o = np.load('ref.npz'), np.load('o.npz')\n"
            "gone = (np.arange(101) >= 33) & (np.arange(101) < 67)\n"
            "assert set(o) == set(r) and not json.loads(str(o['meta']))['complete']\n"
            "assert (o['run'] == r['run']).all() and (o['a'] == r['a']).all()\n"
            "assert (o['status'][gone] == 255).all() and (o['status'][~gone] == 0).all()\n"
            "for k in 'txy':\n"
            "    assert np.isnan(o[k][gone]).all() and (o[k][~gone] == r[k][~gone]).all()\n");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// A shard goes on as the shard that it is.
TEST(shard_resumes) {
    static const struct job many = {{"--sweep", "a=lin:1:2:20001"}};
    place();
    struct check_output o = RUN("bash", "-c",
                                "trap '' XFSZ; ulimit -f 300; exec \"$0\" run m.ode -q --sweep "
                                "a=lin:1:2:20001 --device cpu --chunk 100 --shard 1/3 -o k.csv",
                                check_shoal());
    CHECK_INT(o.status, 4); // the disk was full
    CHECK_HAS(SHOAL("status", "k.csv").out, "of 6667 runs");
    o = SHOAL("resume", "k.csv", "-q");
    CHECK_MSG(o.status == 0, "%s", o.err);
    REQUIRE(run_job(&many, "s1.csv", "1/3").status == 0);
    CHECK(same("k.csv", "s1.csv"));
}

TEST(shard_words) {
    static const struct {
        const char *shard, *says;
    } bad[] = {{"3/3", "of 3 shards the last is 2, not 3"},
               {"1/0", "is not I/N"},
               {"1", "is not I/N"},
               {"-1/3", "is not I/N"},
               {"1/3:x", "is not I/N"},
               {"1/200", "fewer than the 200 shards"},
               {"auto", "SLURM_ARRAY_TASK_ID"},
               {"1/99999999999999999999", "is not I/N"}};
    place();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct check_output o = run_job(&jobs[0], "o.csv", bad[i].shard);
        CHECK_INT(o.status, 1);
        CHECK_HAS(o.err, bad[i].says);
    }
    setenv("SLURM_ARRAY_TASK_ID", "9", 1);
    setenv("SLURM_ARRAY_TASK_MIN", "5", 1);
    setenv("SLURM_ARRAY_TASK_MAX", "11", 1);
    setenv("SLURM_ARRAY_TASK_STEP", "2", 1);
    CHECK_INT(run_job(&jobs[0], "o.csv", "auto").status, 0); // 2/4
    CHECK_INT(run_job(&jobs[0], "p.csv", "2/4").status, 0);
    CHECK(same("o.csv", "p.csv"));
    setenv("SLURM_ARRAY_TASK_ID", "10", 1); // between two tasks
    CHECK_INT(run_job(&jobs[0], "o.csv", "auto").status, 1);
    struct check_output o = SHOAL("run", "m.ode", "--sweep", "a=1,2,3", "--reduce", "quantile(0.5)",
                                  "--shard", "0/2:strided", "-o", "o.csv");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "quantiles (--reduce) are of stretches of runs");
}

// ---- Statistics ---------------------------------------------------------------------------------

static const struct job sums = {{"--sweep", "a=lin:1:2:3000", "--sweep", "b=1,2", "--by", "b",
                                 "--reduce", "mean,std,min,max,quantile(0.25)"}};

// Statistics of all shards, and of those that are there, by whole fractions and NumPy.
TEST(shard_merge_statistics) {
    static const struct job rows = {{"--sweep", "a=lin:1:2:3000", "--sweep", "b=1,2"}};
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python with numpy");
    place();
    run_shards(&sums, 3, "", "npz");
    REQUIRE(run_job(&rows, "rows.npz", NULL).status == 0);
    CHECK_INT(SHOAL("merge", "o.npz", "s1.npz", "s0.npz", "s2.npz").status, 0);
    struct check_output o = SHOAL("merge", "p.npz", "s2.npz", "s0.npz", "--allow-missing");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.err, "without the runs of shards that are missing");
    o = RUN(python, "-c",
            "import numpy as np, json, math\n"
            "from fractions import Fraction as F\n"
            "rows = np.load('rows.npz')\n"
            "there = {'o': rows['run'] >= 0, 'p': (rows['run'] < 2000) | (rows['run'] >= 4000)}\n"
            "for name, some in there.items():\n"
            "    got = np.load(name + '.npz')\n"
            "    assert json.loads(str(got['meta']))['complete'] == (name == 'o')\n"
            "    for g in range(2):\n"
            "        for v in 'xy':\n"
            "            x = rows[v][some & (rows['b'] == g + 1)]\n"
            "            n, s = len(x), sum(map(F, x)); q = sum(F(y) ** 2 for y in x)\n"
            "            std = math.sqrt((q - s * s / n) / (n - 1))\n"
            "            assert got[v + '.n'][g] == n == (3000 if name == 'o' else 2000)\n"
            "            assert got[v + '.mean'][g] == float(s / n)\n"
            "            assert abs(got[v + '.std'][g] - std) <= 4e-16 * std\n"
            "            assert got[v + '.min'][g] == x.min() and got[v + '.max'][g] == x.max()\n"
            "            want = np.quantile(x, 0.25)\n"
            "            assert abs(got[v + '.q0.25'][g] - want) <= 4e-16 * abs(want)\n");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

TEST(shard_merge_statistics_refuses) {
    place();
    run_shards(&sums, 3, "", "npz");
    REFUSE("of 3 shards 1 are missing: 1;", "s0.npz", "s2.npz");
    REFUSE("s0.npz and s0.npz are the same shard, 0/3", "s0.npz", "s1.npz", "s2.npz", "s0.npz");
    REQUIRE(run_job(&jobs[0], "x.npz", "1/3").status == 0);
    REFUSE("it is another job", "s0.npz", "x.npz", "s2.npz");
    RUN("sh", "-c", "cp s0.npz.journal x.npz.journal"); // one that says to be the other
    REFUSE("x.npz and s0.npz are the same shard, 0/3", "x.npz", "s0.npz", "s1.npz");
    struct stat s;
    REQUIRE(stat("s1.npz.journal", &s) == 0 && truncate("s1.npz.journal", s.st_size - 5) == 0);
    REFUSE("s1.npz: its journal is damaged; run that shard again", "s0.npz", "s1.npz", "s2.npz");
}

// Shards of 10^10 runs, at both ends and where 32 bits end, in little memory.
TEST(shard_merge_statistics_at_the_borders) {
    static const char words[] =
        "ulimit -v 3000000; exec \"$0\" run m.ode -q --device cpu --threads 2 --t1 0.1 --sweep "
        "a=lin:1:2:1e10 --reduce 'mean,std,min,max,quantile(0.1,0.5)' \"$@\"";
    static const char *const shard[] = {"0", "429496", "999999"};
    place();
    for (int i = 0; i < 3; i++) {
        char part[32], out[16];
        snprintf(part, sizeof part, "%s/1000000", shard[i]);
        snprintf(out, sizeof out, "s%d.csv", i);
        struct check_output o = RUN("sh", "-c", words, check_shoal(), "--shard", part, "-o", out);
        CHECK_MSG(o.status == 0, "%s", o.err);
    }
    struct check_output o = RUN("sh", "-c", words, check_shoal(), "-o", "ref.csv", "--only-runs",
                                "0:10000,4294960000:4294970000,9999990000:");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN("sh", "-c",
            "ulimit -v 3000000; exec \"$0\" merge o.csv s2.csv s0.csv s1.csv "
            "--allow-missing",
            check_shoal());
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK(same("ref.csv", "o.csv"));
    CHECK_HAS(check_read("o.csv"), ",30000,");
}

// A program has the same words.
TEST(shard_in_c) {
    const char *words[] = {"sweep=a=lin:1:2:101", "shard=1/3", "resume", "device=cpu", NULL};
    shoal_log *log = shoal_log_new();
    shoal_tally tally;
    place();
    REQUIRE(run_job(&jobs[0], "ref.csv", "1/3").status == 0);
    CHECK_INT(shoal_solve("m.ode", words, "k.csv", &tally, log), SHOAL_OK);
    CHECK(same("ref.csv", "k.csv"));
    CHECK(tally.done == 34 && tally.resumed == 0);
    CHECK_INT(shoal_solve("m.ode", words, "k.csv", &tally, log), SHOAL_OK); // all is there
    CHECK(same("ref.csv", "k.csv"));
    CHECK(tally.done == 34 && tally.resumed == 34 && tally.complete);
    shoal_log_free(log);
}

// A program merges with a solver that plans only.
TEST(shard_merge_in_c) {
    static const char *const shards[] = {"s1.npz", "s0.npz"};
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_batch *b = NULL;
    shoal_solver *s = NULL;
    shoal_options o;
    bool whole = false;
    place();
    REQUIRE(run_job(&jobs[0], "ref.npz", NULL).status == 0);
    run_shards(&jobs[0], 2, "", "npz");
    REQUIRE(!shoal_model_load("m.ode", &m, log) && !shoal_options_init(&o, m, log) &&
            !shoal_options_set(&o, "device", "cpu", log) && !shoal_batch_new(m, &b, log) &&
            !shoal_batch_sweep(b, "a=lin:1:2:101", log) && !shoal_solver_new_plan(m, &o, &s, log));
    CHECK_INT(shoal_solver_merge(s, b, "all.npz", shards, 1, false, NULL, log), SHOAL_INPUT);
    CHECK_INT(shoal_solver_merge(s, b, "all.npz", shards, 2, false, &whole, log), SHOAL_OK);
    CHECK(whole);
    struct check_output same_rows = SHOAL("merge", "cli.npz", "s0.npz", "s1.npz");
    CHECK(same_rows.status == 0 && same("cli.npz", "ref.npz"));
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
    shoal_log_free(log);
}

// The runs of all shards are those of the job, each once, of any number of runs and shards.
TEST(shard_rows_are_a_partition) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    static const char text[] = "par a=1\nx'=-a*x\n@ t1=1\n";
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &m, log));
    for (uint64_t rows = 1; rows < 40; rows += 3)
        for (uint64_t n = 1; n <= rows; n++)
            for (int strided = 0; strided < 2; strided++) {
                unsigned char seen[64] = {0};
                uint64_t least = rows, most = 0;
                for (uint64_t i = 0; i < n; i++) {
                    shoal_batch *b = NULL;
                    char word[64], shard[64];
                    snprintf(word, sizeof word, "a=lin:1:2:%d", (int)rows + 3);
                    snprintf(shard, sizeof shard, "%d/%d%s", (int)i, (int)n,
                             strided ? ":strided" : "");
                    REQUIRE(!shoal_batch_new(m, &b, log) && !shoal_batch_sweep(b, word, log) &&
                            !shoal_batch_only(b, rows > 5 ? "0:2,3:6,8:" : "3:", log) &&
                            !shoal_batch_shard(b, shard, log) && !shoal_batch_check(b, log));
                    uint64_t count = shoal_batch_rows(b);
                    least = count < least ? count : least;
                    most = count > most ? count : most;
                    for (uint64_t k = 0; k < count; k++) {
                        CHECK(k == 0 || shoal_batch_run(b, k) > shoal_batch_run(b, k - 1));
                        seen[shoal_batch_run(b, k)]++;
                    }
                    shoal_batch_free(b);
                }
                CHECK(most - least <= 1);
                for (uint64_t k = 0; k < rows + 3; k++) {
                    bool in = rows > 5 ? k != 2 && k != 6 && k != 7 : k >= 3;
                    CHECK_INT(seen[k], in);
                }
            }
    shoal_model_free(m);
    shoal_log_free(log);
}
