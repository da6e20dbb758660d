// SPDX-License-Identifier: MIT
// Results read back in blocks: the same columns out of every format, in the right rows; files that
// are damaged. And compression, which the reader of zip archives undoes.
#include "check.h"
#include "io/deflate.h"
#include "io/reader.h"
#include "io/zip.h"
#include "npz_file.h"

// ---- Compression --------------------------------------------------------------------------------

static void check_deflate(const unsigned char *bytes, size_t size, const char *what) {
    struct buf packed = {0};
    unsigned char *back = malloc(size + 1);
    deflate_bytes(&packed, bytes, size);
    REQUIRE(back && !packed.failed);
    CHECK_MSG(inflate_bytes(packed.data, packed.length, back, size) && !memcmp(back, bytes, size),
              "%s of %zu bytes does not come back", what, size);
    CHECK_MSG(packed.length < size + size / 8 + 512, "%s: %zu from %zu", what, packed.length, size);
    buf_free(&packed);
    free(back);
}

TEST(deflate_comes_back) {
    enum { MOST = 300000 };
    unsigned char *bytes = calloc(1, MOST);
    uint32_t seed = 1;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 257, 258, 259, 1000, 32767, 32768, 70000, MOST};
    REQUIRE(bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_deflate(bytes, sizes[i], "zeros");
    for (int kinds = 2; kinds <= 256; kinds *= 4) {
        for (size_t i = 0; i < MOST; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (unsigned char)((seed >> 24) % (uint32_t)kinds);
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_deflate(bytes, sizes[i], "noise");
    }
    // Weights of Fibonacci numbers make the longest codes.
    size_t n = 0;
    for (uint32_t a = 1, b = 1, symbol = 0; n + a < MOST; symbol++) {
        memset(bytes + n, (int)(symbol & 0xff), a);
        n += a;
        uint32_t next = a + b;
        a = b;
        b = next;
    }
    for (size_t i = n; i-- > 1;) { // without an order, so that there is little to repeat
        seed = seed * 1664525 + 1013904223;
        size_t k = (size_t)(seed >> 8) % (i + 1);
        unsigned char c = bytes[i];
        bytes[i] = bytes[k];
        bytes[k] = c;
    }
    check_deflate(bytes, n, "Fibonacci");
    free(bytes);
}

// ---- Reading back -------------------------------------------------------------------------------

// All rows of some columns, as text.
static char *rows_of(const char *path, uint32_t table, const char *const *names, uint32_t count) {
    struct reader *d = NULL;
    struct reader_pass *pass = NULL;
    struct report r = {0};
    struct buf out = {0};
    uint32_t columns[8];
    size_t rows = 1;
    CHECK_MSG(reader_open(path, &d, &r) == SHOAL_OK, "%s: %s", path,
              r.messages.count ? r.messages.items[0].text : "");
    REQUIRE(d);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = reader_find(d, names[i]);
        CHECK_MSG(columns[i] != UINT32_MAX, "%s has no %s", path, names[i]);
    }
    CHECK_INT(reader_pass_open(d, table, columns, count, &pass, &r), SHOAL_OK);
    while (rows) {
        const double *const *column;
        CHECK_INT(reader_pass_next(pass, &column, &rows, &r), SHOAL_OK);
        for (size_t i = 0; i < rows; i++)
            for (uint32_t k = 0; k < count; k++)
                buf_printf(&out, "%.17g%c", isnan(column[k][i]) ? fabs(column[k][i]) : column[k][i],
                           k + 1 < count ? ' ' : '\n');
    }
    reader_pass_close(pass);
    reader_close(d);
    report_free(&r);
    return check_keep(out.data ? out.data : strdup(""));
}

static const char model[] = "par a=1\ninit x=1, v=0\nx'=v\nv'=-a*x\n@ t1=1, method=rk4, dt=0.05\n";

static const char *run_into(const char *name, const char *save) {
    const char *path = check_path(name), *ode = check_path("m.ode");
    check_write(ode, model);
    struct check_output o = RUN(check_shoal(), "run", ode, "--sweep", "a=1,4,9", "--sweep",
                                "x=lin:0:1:2", "--save", save, "-q", "-o", path);
    CHECK_MSG(o.status == 0, "%s", o.err);
    return path;
}

TEST(reader_same_out_of_every_format) {
    static const char *const saves[] = {"final", "n=4", "steps"};
    static const char *const names[] = {"run", "a", "x(0)", "t", "x", "v", "status"};
    for (size_t i = 0; i < sizeof saves / sizeof *saves; i++) {
        char *npz = rows_of(run_into("o.npz", saves[i]), i > 0, names, 7);
        char *csv = rows_of(run_into("o.csv", saves[i]), i > 0, names, 7);
        CHECK_STR(csv, npz);
        size_t lines = 0;
        for (const char *p = npz; (p = strchr(p, '\n')); p++)
            lines++;
        CHECK_INT(lines, i == 0 ? 6 : i == 1 ? 24 : 6 * 21);
        if (check_python("h5py"))
            CHECK_STR(rows_of(run_into("o.h5", saves[i]), i > 0, names, 7), npz);
    }
}

// ---- Other tables -------------------------------------------------------------------------------

// x crosses 0 at t = pi/2 and so on, in some runs only; it starts at 0 in the others and stays
// there.
static const char *run_tables(const char *name, const char *const *more) {
    const char *path = check_path(name), *ode = check_path("e.ode"), *argv[24];
    check_write(ode, "par a=1\ninit x=1, v=0\nx'=v\nv'=-x\nevent hit when x falling: x=x\n"
                     "@ t1=10, method=tsit5\n");
    const char *first[] = {check_shoal(), "run", ode, "-q", "-o", path, "--sweep", "x=0,1,0,2"};
    size_t n = sizeof first / sizeof *first;
    memcpy(argv, first, sizeof first);
    while (*more)
        argv[n++] = *more++;
    argv[n] = NULL;
    struct check_output o = check_command(argv);
    CHECK_MSG(o.status == 0, "%s", o.err);
    return path;
}

static char *table_of(const char *path, const char *const *names, uint32_t count) {
    struct reader *d = NULL;
    REQUIRE(!reader_open(path, &d, NULL));
    uint32_t table = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t column = reader_find(d, names[i]);
        CHECK_MSG(column != UINT32_MAX, "%s has no %s", path, names[i]);
        table = column != UINT32_MAX && d->columns.items[column].table
                    ? d->columns.items[column].table
                    : table;
    }
    reader_close(d);
    return rows_of(path, table, names, count);
}

TEST(reader_windows_and_records) {
    static const char *const more[] = {"--window", "4",     "--summary", "top=max(x)",
                                       "--record", "hit,2", NULL};
    static const char *const windows[] = {"run", "x(0)", "window", "t_begin", "t_end", "top"};
    static const char *const npz_hits[] = {"run", "x(0)", "hit.index", "hit.t"},
                             *const csv_hits[] = {"run", "x(0)", "index", "t"};
    char *npz = table_of(run_tables("w.npz", more), windows, 6);
    CHECK_STR(table_of(run_tables("w.csv", more), windows, 6), npz);
    CHECK_HAS(npz, "1 1 2 8 10 ");
    char *hits = table_of(check_path("w.npz"), npz_hits, 4);
    CHECK_STR(table_of(check_path("w.hit.csv"), csv_hits, 4), hits);
    CHECK_HAS(hits, "0 0 0 nan\n");
    CHECK_HAS(hits, "\n3 2 0 1.57");
    // Rows of some runs alone find their own inputs.
    check_write(check_path("w.hit.csv"), "run,index,t,x\n1,0,5,0\n3,0,6,0\n");
    CHECK_STR(table_of(check_path("w.hit.csv"), csv_hits, 4), "1 1 0 5\n3 2 0 6\n");
}

// As many windows as samples: the options tell them apart.
TEST(reader_windows_beside_samples) {
    double run[] = {0, 1}, t[] = {0, 5, 10}, edges[] = {0, 4, 8, 10},
           x[2][3] = {{1, 2, 3}, {4, 5, 6}}, top[2][3] = {{7, 8, 9}, {1, 1, 1}};
    const struct npz_array arrays[] = {{"run", run, 1, {2}},
                                       {"x", *x, 2, {2, 3}},
                                       {"top", *top, 2, {2, 3}},
                                       {"t", t, 1, {3}},
                                       {"window_t", edges, 1, {4}}};
    npz_file_write(check_path("w.npz"), arrays, 5,
                   "{\"options\": {\"save\": \"n=3\", \"summary\": \"low=min(x), top = max(x)\"}}");
    static const char *const samples[] = {"t", "x"}, *const windows[] = {"t_begin", "top"};
    CHECK_STR(table_of(check_path("w.npz"), samples, 2), "0 1\n5 2\n10 3\n0 4\n5 5\n10 6\n");
    CHECK_STR(table_of(check_path("w.npz"), windows, 2), "0 7\n4 8\n8 9\n0 1\n4 1\n8 1\n");
}

TEST(reader_statistics) {
    static const char *const more[] = {"--sample", "v=normal:0:1", "--runs", "5",    "--save",
                                       "n=3",      "--vars",       "x",      "--by", "x",
                                       "--reduce", "mean,max",     NULL};
    static const char *const names[] = {"x(0)", "t", "x.mean", "x.max", "x.n", "failed"};
    char *npz = table_of(run_tables("r.npz", more), names, 6);
    CHECK_STR(table_of(run_tables("r.csv", more), names, 6), npz);
    CHECK_HAS(npz, "2 0 2 2 5 0\n");
    struct reader *d = NULL;
    REQUIRE(!reader_open(check_path("r.npz"), &d, NULL));
    CHECK(d->reduced && d->runs == 3); // equal values are one group
    CHECK_INT(d->columns.items[reader_find(d, "x(0)")].role, READER_INPUT);
    CHECK_INT(d->columns.items[reader_find(d, "x.n")].role, READER_COUNT);
    reader_close(d);
}

// Arrays whose axes do not fit each other are passed over or an error, and never more.
TEST(reader_odd_arrays) {
    static double numbers[64];
    static const struct npz_array odd[] = {
        {"run", numbers, 1, {3}},          {"run", numbers, 2, {1, 3}},
        {"failed", numbers, 2, {3, 1}},    {"failed", numbers, 1, {3}},
        {"t", numbers, 2, {3, 4}},         {"t", numbers, 1, {4}},
        {"window_t", numbers, 1, {1}},     {"window_t", numbers, 1, {5}},
        {"x", numbers, 2, {3, 4}},         {"x.t", numbers, 2, {3, 4}},
        {"x.t", numbers, 2, {4, 3}},       {"y", numbers, 3, {3, 4, 2}},
        {"offsets", numbers, 1, {4}},      {"window", numbers, 1, {3}},
        {"x.mean", numbers, 3, {3, 1, 4}}, {"z", numbers, 1, {0}},
        {"run", numbers, 1, {0}},          {"x", numbers, 2, {0, 4}},
    };
    enum { ODD = sizeof odd / sizeof *odd, TRIALS = 150 };
    uint32_t seed = 7;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct npz_array some[5];
        for (int i = 0; i < 5; i++) {
            seed = seed * 1664525 + 1013904223;
            some[i] = odd[(seed >> 16) % ODD];
            for (int k = 0; k < i; k++) // no name twice
                if (!strcmp(some[k].name, some[i].name))
                    some[i].name = i % 2 ? "a" : "b";
        }
        npz_file_write(check_path("odd.npz"), some, 5, trial % 2 ? NULL : "{\"options\": 5}");
        struct reader *d = NULL;
        if (reader_open(check_path("odd.npz"), &d, NULL))
            continue;
        for (uint32_t i = 0; i < d->columns.count; i++) {
            struct reader_pass *pass = NULL;
            size_t rows = 1, all = 0;
            shoal_code code = reader_pass_open(d, d->columns.items[i].table, &i, 1, &pass, NULL);
            while (!code && rows) {
                const double *const *column;
                code = reader_pass_next(pass, &column, &rows, NULL);
                all += rows;
            }
            CHECK(all <= 64);
            reader_pass_close(pass);
        }
        reader_close(d);
    }
}

// Which columns are what.
TEST(reader_knows_inputs) {
    static const char *const files[] = {"o.npz", "o.csv"};
    for (int i = 0; i < 4; i++) {
        struct reader *d = NULL;
        REQUIRE(!reader_open(run_into(files[i % 2], i < 2 ? "final" : "n=3"), &d, NULL));
        CHECK_INT(d->columns.items[reader_find(d, "a")].role, READER_INPUT);
        CHECK_INT(d->columns.items[reader_find(d, "x(0)")].role, READER_INPUT);
        CHECK_INT(d->columns.items[reader_find(d, "x")].role, READER_VALUE);
        CHECK(d->columns.items[reader_find(d, "x")].table == (i >= 2));
        CHECK(d->columns.items[reader_find(d, "a")].table == READER_RUNS);
        reader_close(d);
    }
}

static const char *said_of(const char *path) {
    struct reader *d = NULL;
    struct reader_pass *pass = NULL;
    static struct report r;
    size_t rows = 1;
    report_free(&r);
    shoal_code code = reader_open(path, &d, &r);
    uint32_t column = 0;
    if (!code)
        code = reader_pass_open(d, d->tables.count - 1, &column, 1, &pass, &r);
    while (!code && rows) {
        const double *const *values;
        code = reader_pass_next(pass, &values, &rows, &r);
    }
    reader_pass_close(pass);
    reader_close(d);
    return code && r.messages.count ? r.messages.items[0].text : code ? "?" : "";
}

TEST(reader_damaged_files) {
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "is empty"},
        {"run,x,status\n0,1,ok\n1,2\n", ":3: the line has fewer fields"},
        {"run,x,status\n0,1,ok,5\n", ":2: the line has more fields"},
        {"run,x,status\n0,1,\"ok\n", ""}, // a quote that stays open ends with the file
        {"run,x,status\n", ""},
        {"\"a\"\"b\",c\n1,2", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = check_path("d.csv");
        check_write(path, cases[i].text);
        const char *said = said_of(path);
        CHECK_MSG(cases[i].said[0] ? strstr(said, cases[i].said) != NULL : !said[0], "%s: '%s'",
                  cases[i].text, said);
    }
    CHECK_HAS(said_of(check_path("nowhere.npz")), "cannot open");
    CHECK_HAS(said_of("README.md"), "known by its ending");
    check_write(check_path("bad.npz"), "PK no archive");
    CHECK_HAS(said_of(check_path("bad.npz")), "no zip archive");
}

// Offsets that would lead out of the samples.
TEST(reader_offsets_go_up) {
    double run[] = {0, 1}, t[] = {0, 1, 2, 3}, wrong[] = {0, 5, 4}, nan[] = {0, NAN, 4};
    for (int i = 0; i < 2; i++) {
        const struct npz_array arrays[] = {{"run", run, 1, {2}},
                                           {"offsets", i ? nan : wrong, 1, {3}},
                                           {"t", t, 1, {4}},
                                           {"x", t, 1, {4}}};
        npz_file_write(check_path("w.npz"), arrays, 4, NULL);
        CHECK_HAS(said_of(check_path("w.npz")), "offsets do not go up");
    }
}
