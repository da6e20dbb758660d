// SPDX-License-Identifier: MIT
// A batch that is run in ranges, in any order, and gathered: the file is that of one run, and what
// is damaged on the way is refused.
#include "check.h"

#include "shoal/shoal.h"

#include <unistd.h>

static const char text[] = "par a=1, b=2\nx'=-a*x+b\ny'=x-y\ninit x=1\n@ t1=3, method=tsit5\n";

struct job {
    const char *options[6], *batch[10]; // name, value, ...
};
static const struct job jobs[] = {
    {{"method", "tsit5"}, {"sweep", "a=lin:1:2:301"}},
    {{"save", "n=4", "precision", "f32"}, {"sweep", "a=lin:1:2:50", "shard", "1/3:strided"}},
    {{"save", "steps"}, {"batch", "b.csv", "sweep", "a=lin:1:2:16"}},
    {{"summary", "max(x),p=peaks(x,2)", "window", "1"}, {"sweep", "a=lin:1:2:90"}},
    {{"reduce", "mean,quantile(0.5)"}, {"sweep", "a=lin:1:2:90"}},
    {{"method", "tsit5"}, // the same kernel as the first one
     {"batch", "b.csv", "sample", "a=uniform:1:2", "runs", "9", "only-runs", "2:20,30:"}},
};
enum { JOBS = sizeof jobs / sizeof *jobs, PIECES = 512 };

// ---- A job --------------------------------------------------------------------------------------

struct rig {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
};

static void set(struct rig *r, const char *option, const char *value) {
    REQUIRE(shoal_options_set(&r->options, option, value, r->log) == SHOAL_OK);
}

static struct rig make(const struct job *job, bool resume) {
    struct rig r = {.log = shoal_log_new()};
    check_write("b.csv", "b,_id\n1,one\n2,\"two, or\n\"\"more\"\"\"\n3,\n4,four\n");
    REQUIRE(shoal_model_parse("m.ode", text, strlen(text), &r.model, r.log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&r.options, r.model, r.log) == SHOAL_OK);
    set(&r, "device", "cpu");
    set(&r, "chunk", "11");
    set(&r, "threads", "1");
    if (resume)
        set(&r, "resume", "on");
    for (size_t i = 0; i < 6 && job->options[i]; i += 2)
        set(&r, job->options[i], job->options[i + 1]);
    REQUIRE(shoal_batch_new(r.model, &r.batch, r.log) == SHOAL_OK);
    for (size_t i = 0; i < 10 && job->batch[i]; i += 2)
        REQUIRE(shoal_batch_option(r.batch, job->batch[i], job->batch[i + 1], r.log) == SHOAL_OK);
    shoal_code code = shoal_solver_new(r.model, &r.options, &r.solver, r.log);
    REQUIRE(code == SHOAL_OK);
    return r;
}

static void end(struct rig *r) {
    shoal_solver_free(r->solver);
    shoal_batch_free(r->batch);
    shoal_model_free(r->model);
    shoal_log_free(r->log);
}

static const char *last_message(const shoal_log *log) {
    size_t n = shoal_log_message_count(log);
    return n ? shoal_log_message(log, n - 1).text : "";
}

// ---- Pieces -------------------------------------------------------------------------------------

// Ranges of many lengths, in an order that is none; and what they gave.
struct pieces {
    uint64_t first[PIECES], rows[PIECES];
    size_t ranges, next;
    void *bytes[PIECES];
    size_t length[PIECES], count;
    uint64_t seed;
};

static uint64_t draw(struct pieces *p, uint64_t below) {
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (p->seed >> 33) % below;
}

static void cut(struct pieces *p, uint64_t from, uint64_t rows) {
    for (uint64_t row = from; row < rows; p->ranges++) {
        uint64_t n = 1 + draw(p, 40);
        p->first[p->ranges] = row;
        p->rows[p->ranges] = n < rows - row ? n : rows - row;
        row += p->rows[p->ranges];
        REQUIRE(p->ranges < PIECES - 1);
    }
    for (size_t i = p->ranges; i-- > 1;) {
        size_t k = draw(p, i + 1);
        uint64_t first = p->first[i], n = p->rows[i];
        p->first[i] = p->first[k], p->rows[i] = p->rows[k];
        p->first[k] = first, p->rows[k] = n;
    }
}

static bool next(void *user, uint64_t least, uint64_t wanted, uint64_t *first, uint64_t *rows) {
    struct pieces *p = user;
    (void)least, (void)wanted;
    if (p->next == p->ranges)
        return false;
    *first = p->first[p->next];
    *rows = p->rows[p->next++];
    return true;
}

static shoal_code done(void *user, uint64_t first, uint64_t rows, const void *bytes,
                       size_t length) {
    struct pieces *p = user;
    (void)first, (void)rows;
    REQUIRE(p->count < PIECES);
    p->bytes[p->count] = malloc(length);
    memcpy(p->bytes[p->count], bytes, length);
    p->length[p->count++] = length;
    return SHOAL_OK;
}

static struct pieces *run_pieces(struct rig *r, uint64_t from) {
    struct pieces *p = check_keep(calloc(1, sizeof *p));
    shoal_ranges ranges = {sizeof ranges, p, next, done};
    p->seed = 42;
    cut(p, from, shoal_batch_rows(r->batch));
    shoal_code code = shoal_solver_run_ranges(r->solver, r->batch, &ranges, r->log);
    CHECK_MSG(code == SHOAL_OK, "%s", last_message(r->log));
    return p;
}

static void free_pieces(struct pieces *p) {
    for (size_t i = 0; i < p->count; i++)
        free(p->bytes[i]);
    p->count = 0;
}

static bool same(const char *a, const char *b) { return RUN("cmp", a, b).status == 0; }

// ---- Tests --------------------------------------------------------------------------------------

static void put_all(struct rig *r, struct pieces *p, const char *path) {
    shoal_gather *g = NULL;
    shoal_tally tally;
    REQUIRE(shoal_gather_new(r->solver, r->batch, path, &g, r->log) == SHOAL_OK);
    for (size_t i = 0; i < p->count; i++)
        CHECK_MSG(shoal_gather_put(g, p->bytes[i], p->length[i], r->log) == SHOAL_OK, "%s",
                  last_message(r->log));
    CHECK_INT(shoal_gather_done(g), shoal_batch_rows(r->batch));
    CHECK_INT(shoal_gather_end(g, &tally, r->log), SHOAL_OK);
    CHECK(tally.complete && tally.done == shoal_batch_rows(r->batch) && tally.steps > 0);
    CHECK_INT(tally.by_status[SHOAL_STATUS_ok], tally.done);
    shoal_gather_free(g);
}

// Every format and every kind of rows; in an order that is none.
TEST(gather_gives_one_run) {
    static const char *const endings[] = {"csv", "npz", "h5"};
    REQUIRE(chdir(check_dir()) == 0);
    for (int k = 0; k < JOBS; k++) {
        struct rig r = make(&jobs[k], false);
        struct pieces *p = run_pieces(&r, 0);
        for (int e = 0; e < 3; e++) {
            char ref[16], out[16];
            shoal_tally tally;
            snprintf(ref, sizeof ref, "r%d.%s", k, endings[e]);
            snprintf(out, sizeof out, "o%d.%s", k, endings[e]);
            shoal_code code = shoal_solver_run_file(r.solver, r.batch, ref, &tally, r.log);
            if (e == 2 && code != SHOAL_OK)
                continue; // there is no HDF5 here
            CHECK_INT(code, SHOAL_OK);
            put_all(&r, p, out);
            CHECK_MSG(same(ref, out), "job %d, %s", k, endings[e]);
        }
        free_pieces(p);
        end(&r);
    }
    CHECK(same("r1.runs.csv", "o1.runs.csv") && same("r2.runs.csv", "o2.runs.csv"));
    CHECK_STR(RUN("sh", "-c", "ls | grep part").out, "");
}

static uint64_t first_of(const struct pieces *p, size_t i) {
    uint64_t first;
    memcpy(&first, (char *)p->bytes[i] + 40, sizeof first);
    return first;
}

static shoal_direct *open_direct(struct rig *r, shoal_gather *g, const char *path) {
    shoal_direct *d = NULL;
    uint64_t mark = shoal_gather_mark(g);
    REQUIRE(mark && shoal_direct_new(r->solver, r->batch, path, &d, r->log) == SHOAL_OK);
    CHECK(!shoal_direct_open(d, mark + 1)); // it is another file
    REQUIRE(shoal_direct_open(d, mark));
    return d;
}

// A piece, whose numbers go to their place where `d` is not NULL.
static shoal_code put_direct(struct rig *r, shoal_gather *g, shoal_direct *d,
                             const struct pieces *p, size_t i) {
    const void *bytes = p->bytes[i];
    size_t length = p->length[i];
    if (d)
        CHECK_INT(shoal_direct_put(d, p->bytes[i], p->length[i], &bytes, &length, r->log),
                  SHOAL_OK);
    return shoal_gather_put(g, bytes, length, r->log);
}

// Rows by turns in their place and as they are; a file that has no places takes none.
TEST(gather_takes_rows_in_their_place) {
    REQUIRE(chdir(check_dir()) == 0);
    for (int k = 0; k < JOBS; k++) {
        struct rig r = make(&jobs[k], false);
        struct pieces *p = run_pieces(&r, 0);
        shoal_gather *g = NULL, *csv = NULL;
        REQUIRE(shoal_solver_run_file(r.solver, r.batch, "r.npz", NULL, r.log) == SHOAL_OK);
        REQUIRE(shoal_gather_new(r.solver, r.batch, "o.npz", &g, r.log) == SHOAL_OK);
        REQUIRE(shoal_gather_new(r.solver, r.batch, "o.csv", &csv, r.log) == SHOAL_OK);
        CHECK_INT(shoal_gather_mark(csv), 0);
        if (shoal_gather_mark(g)) { // steps have no places
            shoal_direct *d = open_direct(&r, g, "o.npz");
            CHECK_INT(put_direct(&r, csv, d, p, 0), SHOAL_INPUT);
            CHECK_HAS(last_message(r.log), "their numbers are elsewhere");
            for (size_t i = 0; i < p->count; i++)
                CHECK_INT(put_direct(&r, g, i % 3 ? d : NULL, p, i), SHOAL_OK);
            shoal_direct_free(d);
            CHECK_INT(shoal_gather_end(g, NULL, r.log), SHOAL_OK);
            CHECK_MSG(same("r.npz", "o.npz"), "job %d", k);
        }
        shoal_gather_free(g);
        shoal_gather_free(csv);
        free_pieces(p);
        end(&r);
    }
}

// A job that stopped with all rows but one piece behind row 100; the first row of it.
static uint64_t stop_with_a_gap(const char *path, bool direct) {
    struct rig r = make(&jobs[0], false);
    struct pieces *p = run_pieces(&r, 0);
    shoal_gather *g = NULL;
    shoal_tally tally;
    uint64_t missing = UINT64_MAX;
    for (size_t i = 0; i < p->count; i++)
        if (first_of(p, i) >= 100 && first_of(p, i) < missing)
            missing = first_of(p, i);
    REQUIRE(shoal_gather_new(r.solver, r.batch, path, &g, r.log) == SHOAL_OK);
    shoal_direct *d = direct ? open_direct(&r, g, path) : NULL;
    for (size_t i = 0; i < p->count; i++)
        if (first_of(p, i) != missing)
            CHECK_INT(put_direct(&r, g, d, p, i), SHOAL_OK);
    shoal_direct_free(d);
    CHECK_INT(shoal_gather_end(g, &tally, r.log), SHOAL_STOPPED);
    CHECK(!tally.complete && tally.done == missing);
    shoal_gather_free(g);
    free_pieces(p);
    end(&r);
    return missing;
}

// What is there before the first row that is missing is a result; another gather goes on from it,
// and has what came ahead, too.
TEST(gather_goes_on_from_what_there_is) {
    REQUIRE(chdir(check_dir()) == 0);
    shoal_taker taker = {.takers = 2, .least = 1000, .wanted = 1000};
    uint64_t missing = stop_with_a_gap("o.npz", true), first = 0, rows = 0;
    struct rig r = make(&jobs[0], true);
    shoal_gather *g = NULL;
    REQUIRE(shoal_gather_new(r.solver, r.batch, "o.npz", &g, r.log) == SHOAL_OK);
    CHECK_INT(shoal_gather_take(g, &taker, &first, &rows), SHOAL_TAKE_ROWS);
    CHECK_INT(first, missing);
    CHECK_INT(shoal_gather_done(g), 301 - rows);
    CHECK_INT(shoal_gather_take(g, &taker, &first, &rows), SHOAL_TAKE_NONE);
    shoal_gather_free(g);
    end(&r);
}

// Rows that a stopped HDF5 file does not have are NaN, too.
TEST(gather_stopped_rows_are_nan) {
    const char *python = check_python("h5py");
    REQUIRE(chdir(check_dir()) == 0);
    struct rig r = make(&jobs[0], false);
    shoal_code code = shoal_solver_run_file(r.solver, r.batch, "r.h5", NULL, r.log);
    end(&r);
    if (code != SHOAL_OK || !python)
        check_skip("no HDF5, or no Python with h5py");
    stop_with_a_gap("o.h5", false);
    struct check_output o =
        RUN(python, "-c",
            "import h5py, numpy as np\n"
            "f, w = h5py.File('o.h5'), h5py.File('r.h5')\n"
            "there = f['status'][:] != 255\n"
            "n = there.sum()\n"
            "assert there[:n].all() and 100 <= n < 301\n"
            "real = [k for k in f if f[k].shape == (301,) and f[k].dtype.kind == 'f']\n"
            "assert len(real) > 1\n"
            "for k in real:\n"
            "    assert (f[k][:n] == w[k][:n]).all() and np.isnan(f[k][n:]).all(), k\n");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

static void flip(const char *path, size_t at) {
    FILE *f = fopen(path, "r+");
    REQUIRE(f && !fseek(f, (long)at, SEEK_SET));
    int c = fgetc(f);
    fseek(f, (long)at, SEEK_SET);
    fputc(c ^ 0x20, f);
    fclose(f);
}

// Whatever became of what came ahead, the result is right; a solver alone goes on, too.
TEST(gather_notices_damaged_rows_ahead) {
    static const size_t at[] = {0, 10, 40, 48, 56, 64, 100, 150, 900, 5000};
    REQUIRE(chdir(check_dir()) == 0);
    struct rig r = make(&jobs[0], true);
    for (int e = 0; e < 3; e++) { // the last: in their place
        const char *ref = e == 1 ? "r.csv" : "r.npz", *out = e == 1 ? "o.csv" : "o.npz";
        REQUIRE(shoal_solver_run_file(r.solver, r.batch, ref, NULL, r.log) == SHOAL_OK);
        for (size_t i = 0; i < 2 * sizeof at / sizeof *at; i++) {
            const char *ahead = e == 1 ? "o.csv.part.ahead" : "o.npz.part.ahead";
            stop_with_a_gap(out, e == 2);
            if (e == 2)
                flip(out, 300 + 800 * i);
            if (i % 2)
                flip(ahead, at[i / 2]);
            else
                REQUIRE(truncate(ahead, (off_t)at[i / 2]) == 0);
            CHECK_INT(shoal_solver_run_file(r.solver, r.batch, out, NULL, r.log), SHOAL_OK);
            CHECK_MSG(same(ref, out), "%s: damage %d", out, (int)i);
        }
    }
    CHECK_STR(RUN("sh", "-c", "ls | grep part").out, "");
    end(&r);
}

// Ranges: each row once, smaller towards the end; what is given back comes next.
TEST(gather_hands_out_rows) {
    REQUIRE(chdir(check_dir()) == 0);
    struct rig r = make(&jobs[0], false);
    shoal_gather *g = NULL;
    shoal_taker taker = {.takers = 2, .least = 10, .wanted = 1000};
    uint64_t first, rows, at = 0, last = UINT64_MAX;
    REQUIRE(shoal_gather_new(r.solver, r.batch, "o.csv", &g, r.log) == SHOAL_OK);
    while (shoal_gather_take(g, &taker, &first, &rows) == SHOAL_TAKE_ROWS) {
        CHECK(first == at && rows && rows <= last);
        last = rows;
        at += rows;
        if (at == 75) {
            CHECK_INT(rows, 75);
            CHECK_INT(shoal_gather_give_back(g, 70, 5, r.log), SHOAL_OK);
            REQUIRE(shoal_gather_take(g, &taker, &first, &rows) == SHOAL_TAKE_ROWS);
            CHECK(first == 70 && rows == 5);
        }
    }
    CHECK_INT(at, 301);
    CHECK_INT(last, 1);
    CHECK_INT(shoal_gather_give_back(g, 300, 2, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_gather_end(g, NULL, r.log), SHOAL_STOPPED);
    shoal_gather_free(g);
    end(&r);
}

static void refuse(struct rig *r, shoal_gather *g, const void *bytes, size_t length,
                   const char *says) {
    CHECK_INT(shoal_gather_put(g, bytes, length, r->log), SHOAL_INPUT);
    CHECK_HAS(last_message(r->log), says);
    CHECK_INT(shoal_gather_done(g), 0);
}

static void poke(void *bytes, size_t at, uint64_t value) {
    memcpy((char *)bytes + at, &value, sizeof value);
}

// Of a job with samples of its own, which has all there is in its bytes.
TEST(gather_refuses_damage) {
    REQUIRE(chdir(check_dir()) == 0);
    struct rig r = make(&jobs[2], false);
    struct pieces *p = run_pieces(&r, 0);
    shoal_gather *g = NULL;
    REQUIRE(shoal_gather_new(r.solver, r.batch, "o.npz", &g, r.log) == SHOAL_OK);
    size_t length = p->length[0];
    char *good = p->bytes[0], *bad = malloc(length + 8);
    refuse(&r, g, good, 20, "do not begin as they should");
    for (size_t n = 0; n < length; n += n < 200 ? 1 : 97)
        CHECK_INT(shoal_gather_put(g, good, n, r.log), SHOAL_INPUT);
    memcpy(bad, good, length);
    refuse(&r, g, bad, length + 8, "too many bytes");
    static const struct {
        size_t at;
        uint64_t value;
        const char *says;
    } pokes[] = {
        {0, 1, "do not begin as they should"},
        {8, 1, "another job"},
        {40, UINT64_MAX, "no such rows"},
        {48, UINT64_MAX / 4, "no such rows"},
        {48, 0, "no such rows"},
        {56, UINT64_MAX / 8, "cut off"},
        {56, UINT64_MAX, "cut off"},
    };
    for (size_t i = 0; i < sizeof pokes / sizeof *pokes; i++) {
        memcpy(bad, good, length);
        poke(bad, pokes[i].at, pokes[i].value);
        refuse(&r, g, bad, length, pokes[i].says);
    }
    memcpy(bad, good, length);
    poke(bad, length - 16, UINT64_MAX); // an offset
    refuse(&r, g, bad, length, "offsets go back");
    CHECK_INT(shoal_gather_put(g, good, length, r.log), SHOAL_OK);
    CHECK_INT(shoal_gather_put(g, good, length, r.log), SHOAL_INPUT);
    CHECK_HAS(last_message(r.log), "came twice");
    shoal_gather_free(g);
    free_pieces(p);
    free(bad);
    end(&r);
}

// Bytes that are changed anywhere are taken, where they are numbers, or refused; nothing else.
TEST(gather_takes_any_bytes) {
    REQUIRE(chdir(check_dir()) == 0);
    struct rig r = make(&jobs[2], false);
    struct pieces *p = run_pieces(&r, 0);
    shoal_gather *g = NULL;
    REQUIRE(shoal_gather_new(r.solver, r.batch, "o.csv", &g, r.log) == SHOAL_OK);
    for (int round = 0; round < 3000; round++) {
        size_t which = draw(p, p->count), length = p->length[which];
        char *bad = malloc(length);
        memcpy(bad, p->bytes[which], length);
        for (int i = 0; i < 3; i++)
            bad[draw(p, draw(p, 2) ? 112 : length)] ^= (char)(1 << draw(p, 8));
        shoal_code code = shoal_gather_put(g, bad, length, r.log);
        CHECK(code == SHOAL_OK || code == SHOAL_INPUT);
        free(bad);
    }
    shoal_gather_free(g);
    free_pieces(p);
    end(&r);
}

TEST(gather_refuses_what_it_cannot) {
    REQUIRE(chdir(check_dir()) == 0);
    struct rig r = make(&jobs[0], false);
    shoal_gather *g = NULL;
    shoal_ranges none = {.size = sizeof none};
    CHECK_INT(shoal_gather_new(r.solver, r.batch, NULL, &g, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_gather_new(NULL, r.batch, "o.csv", &g, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_gather_new(r.solver, r.batch, "o.none", &g, r.log), SHOAL_INPUT);
    CHECK(!g);
    CHECK_INT(shoal_solver_run_ranges(r.solver, r.batch, &none, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_gather_end(NULL, NULL, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_gather_put(NULL, "", 0, r.log), SHOAL_USAGE);
    CHECK_INT(shoal_gather_take(NULL, NULL, NULL, NULL), SHOAL_TAKE_NONE);
    end(&r);
}
