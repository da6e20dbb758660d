// SPDX-License-Identifier: MIT
// Result files: golden CSV, NPZ and HDF5 as numpy and h5py see them, stops, errors, leftovers.
//
// The result written is made up: value(var, row, sample) = 1000 var + row + sample / 8, so that a
// misplaced number shows; column a is row / 10, column _tag is text; row 1 fails.
#include "check.h"
#include "io/hdf5.h"
#include "io/io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROWS_MOST = 4096, SAMPLES_MOST = 64, THREADS = 3 };

struct fake {
    struct result_spec of;
    uint64_t rows_of_chunk;
    bool sample_major; // values as [var][sample][row], as kernels leave them
    uint32_t threads;
};

static const char *const words[] = {"plain", "a,b",       "say \"hi\"", "\xc3\xa9t\xc3\xa9",
                                    "",      "two\nlines"};

static double value_of(uint32_t var, uint64_t row, uint64_t sample) {
    return 1000.0 * var + (double)row + (double)sample / 8;
}

static struct fake fake_result(enum result_samples kind, uint64_t rows, uint64_t samples) {
    static const struct result_column columns[] = {{.name = "a"}, {.name = "_tag", .text = true}};
    static const char *const vars[] = {"x", "y"};
    static double times[SAMPLES_MOST];
    for (int i = 0; i < SAMPLES_MOST; i++)
        times[i] = 0.5 * i;
    return (struct fake){.of = {.kind = kind,
                                .rows = rows,
                                .samples = kind == SAMPLES_OWN   ? 0
                                           : kind == SAMPLES_ONE ? 1
                                                                 : samples,
                                .times = kind == SAMPLES_GRID ? times : NULL,
                                .columns = 2,
                                .column = columns,
                                .vars = 2,
                                .var = vars,
                                .meta = "{\"model\": \"x' = \\\"\\u00e9\\\"\", \"n\": 3}"},
                         .rows_of_chunk = 2,
                         .threads = THREADS};
}

static struct result_list list_of(const struct fake *f) {
    static struct arena arena; // of the test
    struct result_list list;
    REQUIRE(result_list_make(&list, &f->of, &arena));
    return list;
}

static void put(void *values, bool f32, size_t at, double x) {
    if (f32)
        ((float *)values)[at] = (float)x;
    else
        ((double *)values)[at] = x;
}

// The arrays of a chunk that are one value a run.
struct of_runs {
    uint64_t run[ROWS_MOST], f_evals[ROWS_MOST], offsets[ROWS_MOST + 1];
    uint32_t steps[ROWS_MOST], rejected[ROWS_MOST];
    uint8_t status[ROWS_MOST];
    double a[ROWS_MOST];
    const char *tag[ROWS_MOST];
};

// Row i of a result with samples of its own has i % 3 + 1 of them.
static void fill_runs(struct of_runs *o, uint64_t first, uint32_t n) {
    o->offsets[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t row = first + i;
        o->run[i] = 10 + row;
        o->a[i] = (double)row / 10;
        o->tag[i] = words[row % 6];
        o->status[i] = row == 1 ? SHOAL_STATUS_nonfinite : SHOAL_STATUS_ok;
        o->steps[i] = (uint32_t)row + 5;
        o->rejected[i] = (uint32_t)row % 2;
        o->f_evals[i] = row * 7;
        o->offsets[i + 1] = o->offsets[i] + row % 3 + 1;
    }
}

static const void *data_of(const struct of_runs *o, const struct result_array *a) {
    const void *const ours[RESULT_FIELDS] = {
        [FIELD_run] = o->run,           [FIELD_status] = o->status,   [FIELD_steps] = o->steps,
        [FIELD_rejected] = o->rejected, [FIELD_f_evals] = o->f_evals, [FIELD_offsets] = o->offsets};
    if (a->role == ROLE_INPUT)
        return a->type == TYPE_TEXT ? (const void *)o->tag : (const void *)o->a;
    return ours[a->field];
}

// Chunk of rows [first, first + n).
static shoal_code put_chunk(struct sink *s, const struct fake *f, uint64_t first, uint32_t n,
                            struct report *r) {
    static struct of_runs runs;
    struct result_list list = list_of(f);
    const struct result_spec *of = &f->of;
    bool own = of->kind == SAMPLES_OWN;
    uint64_t per_row = own ? 3 : of->samples;
    size_t total = (size_t)(n * per_row), bytes = of->f32 ? 4 : 8;
    size_t row_stride = f->sample_major ? 1 : (size_t)per_row;
    size_t sample_stride = f->sample_major ? n : 1;
    char *values = calloc(total * of->vars + 1, bytes);
    double *t = calloc(total + 1, sizeof *t);
    struct result_view *view = calloc(list.count, sizeof *view);
    REQUIRE(values && t && view);
    fill_runs(&runs, first, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t v = 0; v < of->vars; v++)
            for (uint64_t k = 0; k < (own ? runs.offsets[i + 1] - runs.offsets[i] : per_row); k++) {
                size_t at = own ? (size_t)(runs.offsets[i] + k)
                                : i * row_stride + (size_t)k * sample_stride;
                put(values, of->f32, v * total + at, value_of(v, first + i, k));
                t[of->kind == SAMPLES_ONE ? i : at] = of->kind == SAMPLES_ONE ? 40 : (double)k / 4;
            }
    for (uint32_t i = 0; i < list.count; i++) {
        const struct result_array *a = &list.array[i];
        view[i] = (struct result_view){result_is_variable(a)
                                           ? (const void *)(values + a->index * total * bytes)
                                       : a->role == ROLE_TIME ? (const void *)t
                                                              : data_of(&runs, a),
                                       row_stride, sample_stride};
    }
    struct result_chunk c = {
        .first_row = first, .rows = n, .offsets = own ? runs.offsets : NULL, .view = view};
    shoal_code code = s->chunk(s, &c, r);
    free(values);
    free(t);
    free(view);
    return code;
}

static const char *messages(const struct report *r) {
    struct buf all = {0};
    for (uint32_t i = 0; i < r->messages.count; i++)
        buf_printf(&all, "%s\n", r->messages.items[i].text);
    check_keep(r->messages.items);
    return all.data ? check_keep(all.data) : "";
}

// Writes rows [0, rows) of the result; returns what `end`, or the first call that failed, did.
static shoal_code write_result(const char *path, const struct fake *f, uint64_t rows,
                               struct report *r) {
    struct sink *s;
    shoal_code code = io_sink_new(path, f->threads, &s, r);
    if (code != SHOAL_OK)
        return code;
    struct result_list list = list_of(f);
    code = s->begin(s, &list, r);
    for (uint64_t row = 0; row < rows && code == SHOAL_OK; row += f->rows_of_chunk) {
        uint64_t n = rows - row < f->rows_of_chunk ? rows - row : f->rows_of_chunk;
        code = put_chunk(s, f, row, (uint32_t)n, r);
    }
    if (code == SHOAL_OK)
        code = s->end(s, rows == f->of.rows, r);
    s->free(s);
    return code;
}

// HDF5 comes last in the lists below, and is left out where there is no library.
static int formats(int all) {
    const struct hdf5 *h = hdf5_enter("", NULL);
    if (h)
        hdf5_leave(h);
    return h ? all : all - 1;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void must_write(const char *path, const struct fake *f, uint64_t rows) {
    struct report r = {0};
    shoal_code code = write_result(path, f, rows, &r);
    CHECK_MSG(code == SHOAL_OK, "%s", messages(&r));
    CHECK_INT(r.messages.count, 0);
    char part[256];
    snprintf(part, sizeof part, "%s.part", path);
    CHECK(exists(path));
    CHECK(!exists(part));
    report_free(&r);
}

// ---- CSV ----------------------------------------------------------------------------------------

TEST(io_csv_final) {
    struct fake f = fake_result(SAMPLES_ONE, 6, 1);
    const char *path = check_path("out.csv");
    must_write(path, &f, 6);
    CHECK_STR(check_read(path), "run,a,_tag,t,x,y,status\n"
                                "10,0,plain,40,0,1000,ok\n"
                                "11,0.1,\"a,b\",40,1,1001,nonfinite\n"
                                "12,0.2,\"say \"\"hi\"\"\",40,2,1002,ok\n"
                                "13,0.3,\xc3\xa9t\xc3\xa9,40,3,1003,ok\n"
                                "14,0.4,,40,4,1004,ok\n"
                                "15,0.5,\"two\nlines\",40,5,1005,ok\n");
    CHECK(!exists(check_path("out.runs.csv")));
}

TEST(io_csv_series_has_a_table_of_runs) {
    struct fake f = fake_result(SAMPLES_GRID, 2, 3);
    const char *path = check_path("out.csv");
    must_write(path, &f, 2);
    CHECK_STR(check_read(path), "run,t,x,y\n"
                                "10,0,0,1000\n10,0.5,0.125,1000.125\n10,1,0.25,1000.25\n"
                                "11,0,1,1001\n11,0.5,1.125,1001.125\n11,1,1.25,1001.25\n");
    CHECK_STR(check_read(check_path("out.runs.csv")),
              "run,a,_tag,status,steps,rejected,f_evals\n"
              "10,0,plain,ok,5,0,0\n11,0.1,\"a,b\",nonfinite,6,1,7\n");
    CHECK(!exists(check_path("out.runs.csv.part")));
}

TEST(io_csv_steps_have_their_own_times) {
    struct fake f = fake_result(SAMPLES_OWN, 3, 0);
    const char *path = check_path("out.csv");
    must_write(path, &f, 3);
    CHECK_STR(check_read(path), "run,t,x,y\n"
                                "10,0,0,1000\n"
                                "11,0,1,1001\n11,0.25,1.125,1001.125\n"
                                "12,0,2,1002\n12,0.25,2.125,1002.125\n12,0.5,2.25,1002.25\n");
}

TEST(io_csv_layouts_and_chunks_do_not_show) {
    struct fake f = fake_result(SAMPLES_GRID, 30, 17);
    must_write(check_path("a.csv"), &f, 30);
    f.sample_major = true;
    f.rows_of_chunk = 7;
    must_write(check_path("b.csv"), &f, 30);
    CHECK_STR(check_read(check_path("b.csv")), check_read(check_path("a.csv")));
    CHECK_STR(check_read(check_path("b.runs.csv")), check_read(check_path("a.runs.csv")));
}

// Enough lines for several rounds of all threads, and for rows that are longer than one range.
TEST(io_csv_threads_do_not_show) {
    static const struct {
        enum result_samples kind;
        uint64_t rows, samples, of_chunk;
    } cases[] = {{SAMPLES_ONE, 40000, 1, 4000},
                 {SAMPLES_GRID, 3000, 64, 1000},
                 {SAMPLES_OWN, 40000, 0, 4000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake f = fake_result(cases[i].kind, cases[i].rows, cases[i].samples);
        f.rows_of_chunk = cases[i].of_chunk;
        f.threads = 1;
        must_write(check_path("one.csv"), &f, cases[i].rows);
        f.threads = 40;
        must_write(check_path("many.csv"), &f, cases[i].rows);
        CHECK(!strcmp(check_read(check_path("many.csv")), check_read(check_path("one.csv"))));
        if (cases[i].kind != SAMPLES_ONE)
            CHECK(!strcmp(check_read(check_path("many.runs.csv")),
                          check_read(check_path("one.runs.csv"))));
    }
}

TEST(io_csv_floats_are_short) {
    struct fake f = fake_result(SAMPLES_ONE, 1, 1);
    f.of.f32 = true;
    f.of.columns = 0;
    f.of.vars = 1;
    must_write(check_path("out.csv"), &f, 1);
    CHECK_STR(check_read(check_path("out.csv")), "run,t,x,status\n10,40,0,ok\n");
}

TEST(io_csv_stopped_is_told) {
    struct fake f = fake_result(SAMPLES_ONE, 6, 1);
    struct report r = {0};
    CHECK_INT(write_result(check_path("out.csv"), &f, 2, &r), SHOAL_OK);
    CHECK_HAS(messages(&r), "out.csv: incomplete, with 2 of 6 runs");
    CHECK(exists(check_path("out.csv")));
}

static void count_open_files(int *count) {
    *count = 0;
    for (int fd = 0; fd < 256; fd++)
        *count += fcntl(fd, F_GETFD) >= 0;
}

TEST(io_csv_to_standard_output) {
    const char *path = check_path("stdout");
    fflush(stdout);
    int keep = dup(1), fd = open(path, O_WRONLY | O_CREAT, 0600);
    dup2(fd, 1);
    struct fake f = fake_result(SAMPLES_GRID, 1, 2);
    struct report r = {0};
    CHECK_INT(write_result("-", &f, 1, &r), SHOAL_OK);
    dup2(keep, 1);
    CHECK_STR(check_read(path), "run,t,x,y\n10,0,0,1000\n10,0.5,0.125,1000.125\n");
}

TEST(io_csv_closed_pipe_is_an_error) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    int keep = dup(1);
    dup2(ends[1], 1);
    struct fake f = fake_result(SAMPLES_ONE, 4, 1);
    struct report r = {0};
    shoal_code code = write_result("-", &f, 4, &r);
    dup2(keep, 1);
    CHECK_INT(code, SHOAL_IO);
    CHECK_HAS(messages(&r), "standard output: cannot write: Broken pipe");
}

// ---- NPZ and HDF5 as others see them ------------------------------------------------------------

// The same checks for both: `z` behaves like a mapping of arrays.
static const char python_open[] =
    "import sys, json, numpy as np\n"
    "path, shape, rows, samples, complete = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])\n"
    "total = int(sys.argv[7])\n"
    "dtype = np.dtype(sys.argv[6])\n"
    "if path.endswith('.npz'):\n"
    "    import zipfile\n"
    "    assert zipfile.ZipFile(path).testzip() is None\n"
    "    z = np.load(path, allow_pickle=False)\n"
    "    meta, words = z['meta'].item(), [str(w) for w in z['status_words']]\n"
    "    text = lambda a: [str(s) for s in a]\n"
    "else:\n"
    "    import h5py\n"
    "    f = h5py.File(path, 'r')\n"
    "    z = {k: f[k][()] for k in f}\n"
    "    if not complete:\n" // all rows are there, and those that did not come are pending
    "        assert len(z['status']) == len(z['_tag']) == total and all(z['status'][rows:] == "
    "255)\n"
    "        if shape == 'steps':\n"
    "            assert len(z['offsets']) == total + 1 and len(set(z['offsets'][rows:])) == 1\n"
    "            z['offsets'] = z['offsets'][:rows + 1]\n"
    "        z.update({k: v[:rows] for k, v in z.items() if v.ndim and len(v) == total})\n"
    "    meta, words = z['meta'].decode(), [w.decode() for w in z['status_words']]\n"
    "    axes = {k: [[s.name for s in d.values()] for d in f[k].dims] for k in f}\n"
    "    flat = ['/t'] if shape == 'steps' else ['/run']\n"
    "    for k in z:\n"
    "        want = ([[]] * f[k].ndim if k in ('run', 'meta', 'status_words', 'offsets') or\n"
    "                k == 't' and shape != 'final' else [['/run'], ['/t']] if f[k].ndim == 2 else\n"
    "                [flat] if k in 'xyt' else [['/run']])\n"
    "        assert axes[k] == want, (k, axes[k], want)\n"
    "        for i, d in enumerate(want):\n"
    "            for n in d: assert h5py.h5ds.is_attached(f[k].id, f[n].id, i), (k, n)\n"
    "    assert h5py.h5ds.is_scale(f['run'].id) and h5py.h5ds.get_scale_name(f['run'].id) == "
    "b'run'\n"
    "    assert 'meta' not in f.attrs\n"
    "    text = lambda a: [s.decode() for s in a]\n"
    "    assert f.attrs['shoal_version'] and f.attrs['n'] == 3 and f.attrs['complete'] == "
    "complete\n"
    "    assert f.attrs['model'] == 'x\\' = \"\\u00e9\"', f.attrs['model']\n"
    "m = json.loads(meta)\n"
    "assert m['complete'] is bool(complete), m\n"
    "assert m['model'] == 'x\\' = \"\\u00e9\"' and m['n'] == 3, m\n"
    "assert words == 'ok stopped max_steps dt_min nonfinite newton singular bad_init "
    "events'.split()\n"
    "i = np.arange(rows)\n"
    "same = lambda name, want, kind: (np.testing.assert_array_equal(z[name], want),\n"
    "    z[name].dtype == np.dtype(kind) or sys.exit(name + ' is ' + str(z[name].dtype)))\n"
    "same('run', 10 + i, 'u8'); same('a', i / 10, 'f8')\n"
    "same('status', np.where(i == 1, words.index('nonfinite'), 0), 'u1')\n"
    "same('steps', i + 5, 'u4'); same('rejected', i % 2, 'u4'); same('f_evals', i * 7, 'u8')\n"
    "tags = ['plain', 'a,b', 'say \"hi\"', '\\u00e9t\\u00e9', '', 'two\\nlines']\n"
    "assert text(z['_tag']) == [tags[k % 6] for k in i], z['_tag']\n"
    "if shape == 'final':\n"
    "    same('t', np.full(rows, 40), 'f8')\n"
    "    for v, name in enumerate('xy'): same(name, 1000 * v + i, dtype)\n"
    "elif shape == 'series':\n"
    "    same('t', np.arange(samples) / 2, 'f8')\n"
    "    for v, name in enumerate('xy'):\n"
    "        same(name, 1000 * v + i[:, None] + np.arange(samples) / 8, dtype)\n"
    "else:\n"
    "    n = i % 3 + 1\n"
    "    same('offsets', np.concatenate([[0], np.cumsum(n)]), 'u8')\n"
    "    k = np.concatenate([np.arange(c) for c in n]) if rows else np.zeros(0)\n"
    "    same('t', k / 4, 'f8')\n"
    "    for v, name in enumerate('xy'): same(name, 1000 * v + np.repeat(i, n) + k / 8, dtype)\n"
    "keys = {'run', 'a', '_tag', 't', 'x', 'y', 'status', 'steps', 'rejected', 'f_evals'}\n"
    "keys |= {'meta', 'status_words'}\n"
    "if shape == 'steps': keys |= {'offsets'}\n"
    "assert set(z) == keys, set(z)\n";

static void check_with_python(const char *ending, enum result_samples kind, uint64_t rows,
                              uint64_t came, uint64_t samples, uint32_t value_bytes,
                              bool sample_major) {
    static const char *const names[] = {"final", "series", "steps"};
    static const char *python;
    if (!python)
        python = check_python(strcmp(ending, "h5") == 0 ? "h5py" : NULL);
    if (!python || (strcmp(ending, "h5") == 0 && formats(1) == 0))
        check_skip("no Python or library for %s", ending);
    char path[128], number[4][24];
    snprintf(path, sizeof path, "%s/%s-%d.%s", check_dir(), names[kind], (int)came, ending);
    struct fake f = fake_result(kind, rows, samples);
    f.of.f32 = value_bytes == 4;
    f.sample_major = sample_major;
    f.rows_of_chunk = rows > 100 ? 1000 : 4;
    must_write(path, &f, came);
    snprintf(number[0], sizeof number[0], "%d", (int)came);
    snprintf(number[1], sizeof number[1], "%d", (int)samples);
    snprintf(number[2], sizeof number[2], "%d", came == rows);
    snprintf(number[3], sizeof number[3], "%d", (int)rows);
    struct check_output o = RUN(python, "-c", python_open, path, names[kind], number[0], number[1],
                                number[2], value_bytes == 8 ? "f8" : "f4", number[3]);
    CHECK_MSG(o.status == 0, "%s: %s%s", path, o.out, o.err);
}

TEST(io_npz_final_with_numpy) {
    check_with_python("npz", SAMPLES_ONE, 10, 10, 1, 8, false);
    check_with_python("npz", SAMPLES_ONE, 1, 1, 1, 4, false);
}
TEST(io_npz_series_with_numpy) {
    check_with_python("npz", SAMPLES_GRID, 10, 10, 5, 8, false);
    check_with_python("npz", SAMPLES_GRID, 2500, 2500, 50, 8, true);
}
TEST(io_npz_series_of_floats_with_numpy) {
    check_with_python("npz", SAMPLES_GRID, 11, 11, 3, 4, true);
}
TEST(io_npz_steps_with_numpy) { check_with_python("npz", SAMPLES_OWN, 10, 10, 0, 8, false); }
TEST(io_npz_stopped_with_numpy) {
    check_with_python("npz", SAMPLES_GRID, 1000, 7, 5, 8, true);
    check_with_python("npz", SAMPLES_ONE, 100, 0, 1, 8, false);
    check_with_python("npz", SAMPLES_OWN, 100, 0, 0, 8, false);
}
TEST(io_hdf5_final_with_h5py) {
    check_with_python("h5", SAMPLES_ONE, 10, 10, 1, 8, false);
    check_with_python("h5", SAMPLES_ONE, 2, 2, 1, 4, false);
}
TEST(io_hdf5_series_with_h5py) {
    check_with_python("h5", SAMPLES_GRID, 10, 10, 5, 8, false);
    check_with_python("h5", SAMPLES_GRID, 2500, 2500, 50, 4, true);
}
TEST(io_hdf5_steps_with_h5py) { check_with_python("h5", SAMPLES_OWN, 10, 10, 0, 8, false); }
// A scale lists all that is along it; where the list does not fit there are no scales.
static void check_many(const char *python, uint32_t vars, const char *scales) {
    struct fake f = fake_result(SAMPLES_ONE, 3, 1);
    const char **names = check_keep(calloc(vars, sizeof *names));
    const char *path = check_path("many.h5");
    REQUIRE(names != NULL);
    for (uint32_t i = 0; i < vars; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%u", i);
        names[i] = strdup(name);
    }
    f.of.var = names;
    f.of.vars = vars;
    must_write(path, &f, 3);
    struct check_output o =
        RUN(python, "-c",
            "import sys, h5py\n"
            "f = h5py.File(sys.argv[1])\n"
            "assert len(f['v0'].dims[0]) == len(f[sys.argv[2]].dims[0]) == int(sys.argv[3])\n"
            "assert list(f[sys.argv[2]]) == [1000 * (len(f) - 11) + 0. + i for i in range(3)]\n",
            path, names[vars - 1], scales);
    CHECK_MSG(o.status == 0, "%s", o.err);
}

TEST(io_hdf5_many_variables) {
    const char *python = check_python("h5py");
    if (!python || formats(1) == 0)
        check_skip("no Python or library for h5");
    check_many(python, 3992, "1");
    check_many(python, 3993, "0");
}

TEST(io_hdf5_stopped_with_h5py) {
    check_with_python("h5", SAMPLES_GRID, 1000, 7, 5, 8, true);
    check_with_python("h5", SAMPLES_OWN, 100, 0, 0, 8, false);
}

static off_t size_of(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 ? s.st_size : -1;
}

TEST(io_bytes_are_what_files_take) {
    struct fake f = fake_result(SAMPLES_GRID, 2000, 40);
    f.rows_of_chunk = 1000;
    struct result_list list = list_of(&f);
    static const char *const names[] = {"a.npz", "a.h5"};
    for (int i = 0; i < formats(2); i++) {
        must_write(check_path(names[i]), &f, 2000);
        double told = (double)io_sink_bytes(names[i], &list);
        double took = (double)size_of(check_path(names[i]));
        CHECK_MSG(took < 1.15 * told && took > 0.9 * told, "%s: told %g, took %g", names[i], told,
                  took); // text is not counted before
    }
    CHECK(io_sink_bytes("a.csv", &list) > 2000 * 40 * 3 * 8);
}

// Rows that did not come have their place, so that another run can go on; only their status is
// written.
TEST(io_npz_stop_leaves_gaps_that_take_no_room) {
    struct fake f = fake_result(SAMPLES_GRID, 100000, 60);
    struct stat s;
    must_write(check_path("a.npz"), &f, 4);
    CHECK(stat(check_path("a.npz"), &s) == 0 && s.st_blocks * 512 < 300000);
}

// ---- Metadata -----------------------------------------------------------------------------------

TEST(io_meta_reads_back) {
    struct fake f = fake_result(SAMPLES_ONE, 3, 1);
    static const char *const names[] = {"a.npz", "a.h5"};
    for (int i = 0; i < formats(2); i++) {
        struct arena arena = {0};
        struct report r = {0};
        const char *meta;
        must_write(check_path(names[i]), &f, i ? 2 : 3);
        CHECK_INT(io_meta_read(check_path(names[i]), &arena, &meta, &r), SHOAL_OK);
        CHECK_STR(meta, i ? "{\"complete\": false, \"model\": \"x' = \\\"\\u00e9\\\"\", \"n\": 3}"
                          : "{\"complete\": true, \"model\": \"x' = \\\"\\u00e9\\\"\", \"n\": 3}");
        arena_free(&arena);
    }
}

TEST(io_meta_empty_and_long) {
    struct fake f = fake_result(SAMPLES_ONE, 1, 1);
    struct buf big = {0};
    buf_puts(&big, "{\"model\": \"");
    for (int i = 0; i < 200000; i++) // more than an HDF5 attribute holds in the plain way
        buf_putc(&big, 'm');
    buf_puts(&big, "\"}");
    static const char *const names[] = {"a.npz", "a.h5"};
    for (int i = 0; i < formats(2); i++) {
        struct arena arena = {0};
        const char *meta;
        f.of.meta = "{}";
        must_write(check_path(names[i]), &f, 1);
        CHECK_INT(io_meta_read(check_path(names[i]), &arena, &meta, NULL), SHOAL_OK);
        CHECK_STR(meta, "{\"complete\": true}");
        f.of.meta = big.data;
        must_write(check_path(names[i]), &f, 1);
        CHECK_INT(io_meta_read(check_path(names[i]), &arena, &meta, NULL), SHOAL_OK);
        CHECK(meta && strlen(meta) == big.length + strlen("\"complete\": true, "));
        arena_free(&arena);
    }
    buf_free(&big);
}

TEST(io_meta_of_other_files) {
    struct arena arena = {0};
    struct report r = {0};
    const char *meta;
    CHECK_INT(io_meta_read("a.csv", &arena, &meta, &r), SHOAL_INPUT);
    CHECK_HAS(messages(&r), "a CSV file does not hold the options it was made with");
    CHECK_HAS(messages(&r), "results in .npz, .h5, .hdf5 do");
    CHECK_INT(io_meta_read(check_path("missing.npz"), &arena, &meta, &r), SHOAL_IO);
    CHECK_HAS(messages(&r), "No such file");
    check_write(check_path("junk.h5"), "this is not it");
    CHECK_INT(io_meta_read(check_path("junk.h5"), &arena, &meta, &r), SHOAL_IO);
    CHECK_HAS(messages(&r), formats(2) == 2 ? "junk.h5: hdf5 cannot open the file: "
                                            : "junk.h5: hdf5: library not found");
    check_write(check_path("junk.npz"), "this is not it");
    CHECK_INT(io_meta_read(check_path("junk.npz"), &arena, &meta, &r), SHOAL_INPUT);
    CHECK_HAS(messages(&r), "is no zip archive");
}

// ---- Errors -------------------------------------------------------------------------------------

static void expect_begin_error(const char *path, const struct fake *f, const char *part) {
    struct report r = {0};
    struct sink *s;
    REQUIRE(io_sink_new(path, THREADS, &s, &r) == SHOAL_OK);
    struct result_list list = list_of(f);
    CHECK_INT(s->begin(s, &list, &r), SHOAL_IO);
    CHECK_HAS(messages(&r), part);
    s->free(s);
    report_free(&r);
}

TEST(io_sink_refuses_other_endings) {
    struct report r = {0};
    struct sink *s;
    CHECK_INT(io_sink_new("result.txt", THREADS, &s, &r), SHOAL_INPUT);
    CHECK_HAS(messages(&r), ".csv, .npz, .h5, .hdf5");
    CHECK(s == NULL);
    CHECK_INT(io_sink_new(".csv", THREADS, &s, &r), SHOAL_INPUT);
}

TEST(io_sink_checks_the_place_first) {
    struct fake f = fake_result(SAMPLES_ONE, 1, 1);
    static const char *const endings[] = {"csv", "npz", "h5"};
    for (int i = 0; i < formats(3); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/none/out.%s", check_dir(), endings[i]);
        expect_begin_error(path, &f, "there is no directory");
        snprintf(path, sizeof path, "%s/dir.%s", check_dir(), endings[i]);
        mkdir(path, 0700);
        expect_begin_error(path, &f, "is a directory");
        f.of.rows = 1ull << 50;
        snprintf(path, sizeof path, "%s/big.%s", check_dir(), endings[i]);
        expect_begin_error(path, &f, "are free there");
        CHECK(!exists(path));
        strcat(path, ".part");
        CHECK(!exists(path));
        f.of.rows = 1;
    }
    if (geteuid() != 0) {
        mkdir(check_path("ro"), 0500);
        expect_begin_error(check_path("ro/out.csv"), &f, "cannot write in directory");
    }
}

TEST(io_sink_writes_no_file_before_its_end) {
    struct fake f = fake_result(SAMPLES_ONE, 4, 1);
    static const char *const names[] = {"a.csv", "a.npz", "a.h5"};
    for (int i = 0; i < formats(3); i++) {
        int before, after;
        const char *path = check_path(names[i]);
        struct sink *s;
        check_write(path, "old");
        REQUIRE(io_sink_new(path, THREADS, &s, NULL) == SHOAL_OK);
        count_open_files(&before);
        struct result_list list = list_of(&f);
        CHECK_INT(s->begin(s, &list, NULL), SHOAL_OK);
        CHECK_INT(put_chunk(s, &f, 0, 2, NULL), SHOAL_OK);
        CHECK_STR(check_read(path), "old");
        s->free(s); // as after an error
        count_open_files(&after);
        CHECK_INT(after, before);
        CHECK_STR(check_read(path), "old");
        char part[128];
        snprintf(part, sizeof part, "%s.part", path);
        CHECK(!exists(part));
        must_write(path, &f, 4);
    }
}

TEST(io_sink_free_without_begin) {
    static const char *const names[] = {"a.csv", "a.npz", "a.h5", "-"};
    for (int i = 0; i < 4; i++) {
        struct sink *s;
        REQUIRE(io_sink_new(names[i], THREADS, &s, NULL) == SHOAL_OK);
        s->free(s);
    }
}

// A limit on the size of files stands for a full disk.
static void check_full_disk(const char *name, enum result_samples kind, uint64_t rows_of_chunk) {
    uint64_t rows = kind == SAMPLES_OWN ? 20000 : 2000;
    struct fake f = fake_result(kind, rows, 50);
    struct report r = {0};
    struct sink *s;
    REQUIRE(io_sink_new(check_path(name), THREADS, &s, &r) == SHOAL_OK);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, RLIM_INFINITY});
    struct result_list list = list_of(&f);
    shoal_code code = s->begin(s, &list, &r);
    for (uint64_t row = 0; row < rows && code == SHOAL_OK; row += rows_of_chunk)
        code = put_chunk(s, &f, row, (uint32_t)rows_of_chunk, &r);
    if (code == SHOAL_OK)
        code = s->end(s, true, &r);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    CHECK_INT(code, SHOAL_IO);
    CHECK_HAS(messages(&r), name);
    CHECK_HAS(messages(&r), "File too large");
    CHECK_MSG(!strstr(messages(&r), "errno"), "%s", messages(&r)); // the library says much more
    s->free(s);
    char part[128];
    snprintf(part, sizeof part, "%s/%s.part", check_dir(), name);
    CHECK(!exists(part));
    CHECK(!exists(check_path(name)));
}

TEST(io_sink_full_disk) {
    static const char *const names[] = {"a.csv", "a.npz", "a.h5"};
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < formats(3); i++) {
        check_full_disk(names[i], SAMPLES_GRID, 1000);
        check_full_disk(names[i], SAMPLES_GRID, 100);
        check_full_disk(names[i], SAMPLES_OWN, 1000);
        struct fake f = fake_result(SAMPLES_ONE, 4, 1); // and the next one works
        must_write(check_path(names[i]), &f, 4);
        unlink(check_path(names[i]));
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Writes 250 chunks of 4000 rows; prints how long it took, for people.
LONG_TEST(io_sink_speed) {
    static const char *const names[] = {"a.csv", "a.npz", "a.h5"};
    for (int i = 0; i < formats(3); i++) {
        struct fake f = fake_result(SAMPLES_ONE, 1000000, 1);
        f.rows_of_chunk = 4000;
        f.of.columns = 1;
        double start = seconds();
        must_write(check_path(names[i]), &f, 1000000);
        fprintf(stderr, "    %s: %.3f s\n", names[i], seconds() - start);
    }
}
