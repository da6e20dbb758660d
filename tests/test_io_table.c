// SPDX-License-Identifier: MIT
// Batch tables: what is accepted, every complaint, and damaged files.
#include "check.h"
#include "io/io.h"

#include <fcntl.h>
#include <sys/resource.h>
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
    struct buf all = {0};
    for (uint32_t i = 0; i < t.report.messages.count; i++)
        buf_printf(&all, "%s\n", t.report.messages.items[i].text);
    t.said = all.data ? check_keep(all.data) : "";
    check_keep(t.arena.head);
    check_keep(t.report.messages.items);
    return t;
}

static void write_bytes(const char *path, const void *bytes, size_t length) {
    FILE *f = fopen(path, "wb");
    REQUIRE(f && fwrite(bytes, 1, length, f) == length && fclose(f) == 0);
}

static struct read read_csv(const char *text) {
    const char *path = check_path("b.csv");
    write_bytes(path, text, strlen(text));
    return read_file(path);
}

static const struct table_column *column(const struct read *t, const char *name) {
    for (uint32_t i = 0; i < t->table.columns.count; i++)
        if (strcmp(t->table.columns.items[i].name, name) == 0)
            return &t->table.columns.items[i];
    return NULL;
}

#define CHECK_NUMBERS(t, name, ...)                                                                \
    do {                                                                                           \
        const double want_[] = {__VA_ARGS__};                                                      \
        const struct table_column *c_ = column((t), (name));                                       \
        REQUIRE(c_ && c_->number);                                                                 \
        CHECK_INT((t)->table.rows, sizeof want_ / sizeof *want_);                                  \
        for (size_t i_ = 0; i_ < sizeof want_ / sizeof *want_ && i_ < (t)->table.rows; i_++)       \
            CHECK_MSG(c_->number[i_] == want_[i_], "%s[%zu] is %.17g", (name), i_,                 \
                      c_->number[i_]);                                                             \
    } while (0)

// ---- CSV ----------------------------------------------------------------------------------------

TEST(table_csv_plain) {
    struct read t = read_csv("rho,x(0)\n28,1\n0.1,-2.5e-3\n");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_INT(t.table.columns.count, 2);
    CHECK_NUMBERS(&t, "rho", 28, 0.1);
    CHECK_NUMBERS(&t, "x(0)", 1, -2.5e-3);
    CHECK_HAS(t.table.source, "b.csv");
}

TEST(table_csv_numbers_are_exact) {
    struct read t =
        read_csv("a\n0.30000000000000004\n1.7976931348623157e308\n5e-324\n"
                 "9007199254740993\n+.5\n5.\n1E2\n123456789012345678901234567890\n"
                 "0.1000000000000000055511151231257827021181583404541015625\n-0\n1e-400\n");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_NUMBERS(&t, "a", 0.30000000000000004, 1.7976931348623157e308, 5e-324, 9007199254740992.0,
                  0.5, 5, 100, 123456789012345678901234567890.0, 0.1, 0, 0);
    CHECK(signbit(column(&t, "a")->number[9]));
}

TEST(table_csv_forgives) {
    struct read t = read_csv("\xef\xbb\xbf# made by hand\r\n\r\n  \"rho\" , a \r\n 1 ,\"2\"\r\n\r\n"
                             "3,4 \r\n   \r\n5,6");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_NUMBERS(&t, "rho", 1, 3, 5);
    CHECK_NUMBERS(&t, "a", 2, 4, 6);
}

// Lines end with LF, CRLF or CR, also mixed.
TEST(table_csv_line_ends) {
    static const char *const texts[] = {
        "a,b\n1,2\n3,4\n5,6\n",
        "a,b\r\n1,2\r\n3,4\r\n5,6\r\n",
        "a,b\r1,2\r3,4\r5,6\r",
        "a,b\r1,2\r3,4\r5,6",
        "a,b\r1,2\n3,4\r\n5,6",
        ("\xef\xbb\xbf"
         "a,b\r\r1,2\r \r3,4\r\r\r5,6\r\r"),
        "# by hand\r#\ra,b\r1,2\r3,4\r5,6",
        "a;b\r1;2\r3;4\r5;6\r",
        "\"a\",b\r\"1\",2\r3,\"4\"\r5,6\r",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct read t = read_csv(texts[i]);
        CHECK_MSG(t.code == SHOAL_OK, "%zu: %s", i, t.said);
        CHECK_NUMBERS(&t, "a", 1, 3, 5);
        CHECK_NUMBERS(&t, "b", 2, 4, 6);
    }
    struct read t = read_csv("_t,a\r\"one\rtwo\",1\r\"\r\r\",2\r");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_NUMBERS(&t, "a", 1, 2);
    CHECK_STR(column(&t, "_t")->text[0], "one\rtwo");
    CHECK_STR(column(&t, "_t")->text[1], "\r\r");
}

// What could be read in two ways is refused, with the place.
TEST(table_csv_refuses_what_is_doubtful) {
    static const char *const cases[][2] = {
        {"a;b\n1,5;2\n", "'1,5' for a is not a number; write decimals with a point"},
        {"a\n1,5\n", "more fields than the 1 names"},
        {"a\tb\n1,5\t2\n", "write decimals with a point"},
        {"a,b\n1;2\n", "'1;2' for a is not a number"},
        {"a,b,\n1,2,\n", "column 3 has no name"},
        {"a,b\n1,2,\n", "more fields than the 2 names"},
        {"a,b\n1,\n", "no value for b"},
        {"a,b\n1\n", "1 fields for 2 names"},
        {"a\n0x10\n", "'0x10' for a is not a number"},
        {"a\n0x1p4\n", "is not a number"},
        {"a\n1e400\n", "1e400 for a is too large"},
        {"a\n-1e400\n", "-1e400 for a is too large"},
        {"a\nInf\n", "every value must be a finite number"},
        {"a\n-infinity\n", "every value must be a finite number"},
        {"a\n+NaN\n", "every value must be a finite number"},
        {"a\nnan(7)\n", "is not a number"},
        {"a\n1e\n", "is not a number"},
        {"a\n1d3\n", "is not a number"},
        {"a\n1_000\n", "is not a number"},
        {"a\n1 000\n", "is not a number"},
        {"a\n1.000.000\n", "is not a number"},
        {"a\n$1\n", "is not a number"},
        {"a\n1%\n", "is not a number"},
        {"a\n\xd9\xa1\n", "is not a number"},  // a digit, but not one of ours
        {"a\n1\xc2\xa0\n", "is not a number"}, // a blank, but not one of ours
        {"a\n\"1\n", "this quote is never closed"},
        {"a\n\"1\"2\n", "text after a closing quote"},
        {"a,a\n1,2\n", "column 'a' appears twice"},
        {"a,\"a\"\n1,2\n", "column 'a' appears twice"},
        {"1,2\n3,4\n", "the first line must name the columns"},
        {"a\n", "no rows"},
        {"\n\n", "the table is empty"},
        {"", "the table is empty"},
        {"\xff\xfe"
         "a",
         "UTF-16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read t = read_csv(cases[i][0]);
        CHECK_INT(t.code, SHOAL_INPUT);
        CHECK_HAS(t.said, cases[i][1]);
        CHECK_HAS(t.said, "b.csv:");
    }
}

TEST(table_csv_long_lines) {
    enum { COLUMNS = 3000, BYTES = 2 << 20 };
    struct buf text = {0};
    for (int i = 0; i < COLUMNS; i++)
        buf_printf(&text, "%sp%d", i ? "," : "", i);
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < COLUMNS; i++)
            buf_printf(&text, "%s%d.000000000000000000000000000000000000001", i ? "," : "\r", i);
    struct read t = read_csv(text.data);
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_INT(t.table.columns.count, COLUMNS);
    CHECK_NUMBERS(&t, "p2999", 2999, 2999);
    text.length = 0;
    buf_puts(&text, "a\n1");
    for (int i = 0; i < BYTES; i++) // a number of two million digits
        buf_putc(&text, '0');
    t = read_csv(text.data);
    CHECK_INT(t.code, SHOAL_INPUT);
    CHECK_HAS(t.said, "is too large");
    buf_free(&text);
}

TEST(table_csv_other_separators) {
    struct read t = read_csv("a;b\n1;2\n");
    CHECK_NUMBERS(&t, "b", 2);
    t = read_csv("a\tb\n1\t2\n");
    CHECK_NUMBERS(&t, "b", 2);
    t = read_csv("\"a;b\",c\n1,2\n");
    CHECK_NUMBERS(&t, "a;b", 1);
}

TEST(table_csv_ignores_our_columns) {
    struct read t = read_csv("run,a,t,status\n0,7,40,ok\n1,8,nan,nonfinite\n");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_INT(t.table.columns.count, 1);
    CHECK_NUMBERS(&t, "a", 7, 8);
    t = read_csv("run,status\n0,ok\n");
    CHECK_INT(t.code, SHOAL_INPUT);
    CHECK_HAS(t.said, "no column that could be an input");
}

TEST(table_csv_copied_columns) {
    struct read t =
        read_csv("_id,a,_n,_zero,_q,_big\n\"x, \"\"y\"\"\",1,2.5,007,\"1\",1234567890123456789\n"
                 ",2,-3,1,2,1\n");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    REQUIRE(column(&t, "_id") && column(&t, "_id")->text && column(&t, "_zero")->text);
    CHECK_STR(column(&t, "_id")->text[0], "x, \"y\"");
    CHECK_STR(column(&t, "_id")->text[1], "");
    CHECK_NUMBERS(&t, "_n", 2.5, -3);
    CHECK_STR(column(&t, "_zero")->text[0], "007"); // would not survive as a number
    CHECK(column(&t, "_q")->text != NULL);
    CHECK_STR(column(&t, "_big")->text[0], "1234567890123456789");
}

TEST(table_csv_quoted_newline_counts_lines) {
    struct read t = read_csv("_c,a\n\"one\ntwo\",1\nx,bad\n");
    CHECK_INT(t.code, SHOAL_INPUT);
    CHECK_HAS(t.said, "b.csv:4:3: error: 'bad' for a is not a number\n  x,bad\n    ^");
}

static void expect(const char *text, const char *part) {
    struct read t = read_csv(text);
    CHECK_MSG(t.code == SHOAL_INPUT, "%s gives %d", text, (int)t.code);
    CHECK_HAS(t.said, part);
    report_free(&t.report);
    arena_free(&t.arena);
}

TEST(table_csv_complaints) {
    expect("", "the table is empty");
    expect("\n\n# only a comment\n", "the table is empty");
    expect("a,b\n", "names, but no rows");
    expect("a,b", "names, but no rows");
    expect("a,b\n1\n", "b.csv:2:1: error: 1 fields for 2 names");
    expect("a,b\n1,2,3\n", "b.csv:2:5: error: more fields than the 2 names");
    expect("a,b\n1,abc\n", "b.csv:2:3: error: 'abc' for b is not a number");
    expect("a,b\n1,\n", "b.csv:2:3: error: no value for b");
    expect("a,b\n1,nan\n", "b.csv:2:3: error: b is nan here");
    expect("a,b\n1,-Inf\n", "b is -Inf here");
    expect("a,b\n1,1e999\n", "too large");
    expect("a,b\n1,0x10\n", "not a number");
    expect("a,b\n1,1e\n", "not a number");
    expect("a,b\n1,1.2.3\n", "not a number");
    expect("a,b\n1,.\n", "not a number");
    expect("a,b,a\n1,2,3\n", "b.csv:1:5: error: column 'a' appears twice");
    expect("a,,b\n1,2,3\n", "column 2 has no name");
    expect("1,2\n3,4\n", "must name the columns, but '1' is a number");
    expect("a b\n1 2\n", "separated by ',', ';' or tabs");
    expect("a;b\n1,5;2\n", "write decimals with a point");
    expect("a,b\n1,\"2\n", "b.csv:2:3: error: this quote is never closed");
    expect("a,b\n1,\"2\"x\n", "text after a closing quote");
    expect("\xff\xfe"
           "a\n",
           "UTF-16");
}

TEST(table_csv_reports_all_errors) {
    struct read t = read_csv("a,b\nx,1\n2,y\nnan,4\n");
    CHECK_INT(t.report.errors, 3);
    struct buf many = {0};
    buf_puts(&many, "a\n");
    for (int i = 0; i < 5000; i++)
        buf_puts(&many, "bad\n");
    t = read_csv(check_keep(many.data));
    CHECK_INT(t.code, SHOAL_INPUT);
    CHECK_INT(t.report.messages.count, REPORT_MOST);
    CHECK_HAS(t.said, "further errors are not looked for");
}

TEST(table_csv_zero_bytes_and_long_text) {
    const char *path = check_path("z.csv");
    write_bytes(path, "a,b\n1,2\0003\n", 11);
    CHECK_INT(read_file(path).code, SHOAL_INPUT);
    write_bytes(path, "a\0x,b\n1,2\n", 10);
    CHECK_INT(read_file(path).code, SHOAL_INPUT);
    write_bytes(path, "_a,b\nx\0y,2\n", 11);
    CHECK_HAS(read_file(path).said, "text must not hold a zero byte");
    struct buf long_text = {0};
    buf_puts(&long_text, "_c,a\n");
    for (int i = 0; i < 5000; i++)
        buf_putc(&long_text, 'x');
    buf_puts(&long_text, ",1\n");
    expect(check_keep(long_text.data), "text longer than");
    struct buf wide = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&wide, "c%d,", i);
    buf_puts(&wide, "z\n");
    expect(check_keep(wide.data), "more than 4096 columns");
}

TEST(table_missing_files_and_other_endings) {
    struct read t = read_file(check_path("none.csv"));
    CHECK_INT(t.code, SHOAL_IO);
    CHECK_HAS(t.said, "none.csv: cannot open: No such file or directory");
    t = read_file(check_dir());
    CHECK_INT(t.code, SHOAL_INPUT);
    t = read_file("table.xlsx");
    CHECK_HAS(t.said, ".csv, .npz, .h5, .hdf5");
    CHECK_INT(read_file(check_path("none.npz")).code, SHOAL_IO);
    CHECK_INT(read_file(check_path("none.h5")).code, SHOAL_IO);
}

// Every cut and every changed byte of a table is read or refused, and nothing else happens.
TEST(table_csv_damaged) {
    static const char good[] = "# c\n_id,a,\"b\"\n\"x\"\"y\",1.5e3,2\nz,-4,\"5\"\n";
    for (size_t n = 0; n < sizeof good - 1; n++) {
        char text[sizeof good];
        memcpy(text, good, n);
        text[n] = 0;
        struct read t = read_csv(text);
        report_free(&t.report);
        arena_free(&t.arena);
        static const char bytes[] = "\",\n\r#;\t\xff";
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            memcpy(text, good, sizeof good);
            text[n] = bytes[k];
            t = read_csv(text);
            report_free(&t.report);
            arena_free(&t.arena);
        }
    }
}

// ---- NPZ and HDF5 -------------------------------------------------------------------------------

static const char *python;

static void run_python(const char *module, const char *code) {
    python = check_python(module);
    if (!python)
        check_skip("no Python with numpy%s%s", module ? " and " : "", module ? module : "");
    struct check_output o = RUN(python, "-c", code, check_dir());
    CHECK_MSG(o.status == 0, "%s", o.err);
}

TEST(table_npz_types) {
    run_python(
        NULL,
        "import sys, numpy as np\n"
        "d = sys.argv[1]\n"
        "x = np.array([1, 2, 100])\n"
        "kinds = 'f8 f4 i8 i4 i2 i1 u8 u4 u2 u1 >f8 >i4'.split()\n"
        "a = {'c' + k.replace('>', 'b'): x.astype(k) for k in kinds}\n"
        "a.update({'x(0)': -x, 'flag': np.array([True, False, True]), 'meta': np.array('{}'),\n"
        "  'run': x, 't': np.full(3, np.nan), 'status': x, '_u': np.array(['\\u00e9', 'b', '']),\n"
        "  '_s': np.array([b'p', b'qq', b'r']), 'status_words': np.array(['a', 'b'])})\n"
        "np.savez(d + '/a.npz', **a)\n"
        "np.savez_compressed(d + '/b.npz', **a)\n");
    static const char *const names[] = {"a.npz", "b.npz"};
    for (int i = 0; i < 2; i++) {
        struct read t = read_file(check_path(names[i]));
        CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
        CHECK_INT(t.table.columns.count, 16);
        static const char *const kinds[] = {"cf8", "cf4", "ci8", "ci4", "ci2",  "ci1",
                                            "cu8", "cu4", "cu2", "cu1", "cbf8", "cbi4"};
        for (int k = 0; k < 12; k++)
            CHECK_NUMBERS(&t, kinds[k], 1, 2, 100);
        CHECK_NUMBERS(&t, "x(0)", -1, -2, -100);
        CHECK_NUMBERS(&t, "flag", 1, 0, 1);
        REQUIRE(column(&t, "_u") && column(&t, "_u")->text && column(&t, "_s")->text);
        CHECK_STR(column(&t, "_u")->text[0], "\xc3\xa9");
        CHECK_STR(column(&t, "_u")->text[2], "");
        CHECK_STR(column(&t, "_s")->text[1], "qq");
    }
}

TEST(table_npz_big_and_compressed) {
    run_python(NULL, "import sys, numpy as np\n"
                     "r = np.random.default_rng(1)\n"
                     "np.savez_compressed(sys.argv[1] + '/a.npz', a=np.arange(200000.),\n"
                     "  b=r.random(200000), c=np.zeros(200000), d=r.integers(0, 9, 200000))\n");
    struct read t = read_file(check_path("a.npz"));
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    REQUIRE(t.table.rows == 200000 && t.table.columns.count == 4);
    double sum = 0;
    for (int i = 0; i < 200000; i++)
        sum += fabs(column(&t, "a")->number[i] - i) + column(&t, "c")->number[i];
    CHECK_NEAR(sum, 0, 0);
}

// What is only copied keeps every digit, and may be missing.
TEST(table_copied_integers_and_gaps) {
    run_python("h5py", "import sys, numpy as np, h5py\n"
                       "a = {'a': np.ones(2), '_i': np.array([2**53 + 1, -2**63]),\n"
                       "     '_j': np.array([2**53 + 1, 2**53]),\n"
                       "     '_u': np.array([2**64 - 1, 7], '>u8'), '_s': np.array([5, -6]),\n"
                       "     '_w': np.array([1, np.nan])}\n"
                       "np.savez(sys.argv[1] + '/a.npz', **a)\n"
                       "f = h5py.File(sys.argv[1] + '/a.h5', 'w')\n"
                       "for k in a: f[k] = a[k]\n");
    static const char *const names[] = {"a.npz", "a.h5"};
    for (size_t i = 0; i < 2; i++) {
        struct read t = read_file(check_path(names[i]));
        if (strstr(t.said, "library not found"))
            check_skip("no HDF5 library");
        CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
        REQUIRE(column(&t, "_i") && column(&t, "_i")->text && column(&t, "_u")->text);
        CHECK_STR(column(&t, "_i")->text[0], "9007199254740993");
        CHECK_STR(column(&t, "_i")->text[1], "-9223372036854775808");
        REQUIRE(column(&t, "_j")->text);
        CHECK_STR(column(&t, "_j")->text[0], "9007199254740993");
        CHECK_STR(column(&t, "_j")->text[1], "9007199254740992");
        CHECK_STR(column(&t, "_u")->text[0], "18446744073709551615");
        CHECK_NUMBERS(&t, "_s", 5, -6);
        CHECK(isnan(column(&t, "_w")->number[1]));
    }
}

TEST(table_npz_complaints) {
    run_python(NULL, "import sys, numpy as np\n"
                     "d = sys.argv[1]\n"
                     "np.savez(d + '/nan.npz', a=np.array([1, np.nan, -np.inf]))\n"
                     "np.savez(d + '/two.npz', a=np.zeros((2, 3)))\n"
                     "np.savez(d + '/uneven.npz', a=np.zeros(2), b=np.zeros(3))\n"
                     "np.savez(d + '/empty.npz', a=np.zeros(0))\n"
                     "np.savez(d + '/none.npz')\n"
                     "np.savez(d + '/complex.npz', a=np.zeros(2, complex))\n"
                     "np.savez(d + '/zero.npz', a=np.float64(3))\n"
                     "np.savez(d + '/label.npz', a=np.zeros(2), label=np.array(['x', 'y']))\n"
                     "np.savez(d + '/pickle.npz', a=np.array([{}], dtype=object))\n");
    static const char *const cases[][2] = {
        {"nan.npz", "a[1] is nan"},      {"nan.npz", "a[2] is -inf"},
        {"two.npz", "a has 2 axes"},     {"uneven.npz", "b has 3 rows, but a has 2"},
        {"empty.npz", "no rows"},        {"none.npz", "no column"},
        {"complex.npz", "a has a type"}, {"zero.npz", "a has 0 axes"},
        {"pickle.npz", "a has a type"},  {"label.npz", "label has a type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read t = read_file(check_path(cases[i][0]));
        CHECK_INT(t.code, SHOAL_INPUT);
        CHECK_HAS(t.said, cases[i][1]);
    }
}

TEST(table_hdf5_with_h5py) {
    run_python("h5py",
               "import sys, numpy as np, h5py\n"
               "f = h5py.File(sys.argv[1] + '/a.h5', 'w')\n"
               "f['a'] = np.array([1., 2.]); f['b'] = np.array([3, 4], 'i2')\n"
               "f['x(0)'] = np.array([5, 6], '>f4'); f['t'] = np.zeros(9)\n"
               "f['_v'] = ['one', '\\u00e9']; f['_f'] = np.array([b'p', b'qq'])\n"
               "f['meta'] = 'x'; f.create_group('g')['z'] = np.zeros(5)\n"
               "f['flag'] = np.array([True, False])\n"
               "f.close()\n"
               "f = h5py.File(sys.argv[1] + '/b.h5', 'w')\n"
               "f['a'] = np.array([1, np.nan]); f['b'] = np.zeros((2, 2)); f['c'] = np.zeros(3)\n"
               "f['label'] = ['x', 'y']; f['z'] = np.zeros(2, complex)\n");
    struct read t = read_file(check_path("a.h5"));
    if (strstr(t.said, "library not found"))
        check_skip("no HDF5 library");
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    CHECK_INT(t.table.columns.count, 6);
    CHECK_NUMBERS(&t, "a", 1, 2);
    CHECK_NUMBERS(&t, "flag", 1, 0);
    CHECK_NUMBERS(&t, "b", 3, 4);
    CHECK_NUMBERS(&t, "x(0)", 5, 6);
    REQUIRE(column(&t, "_v") && column(&t, "_v")->text && column(&t, "_f")->text);
    CHECK_STR(column(&t, "_v")->text[1], "\xc3\xa9");
    CHECK_STR(column(&t, "_f")->text[1], "qq");
    t = read_file(check_path("b.h5"));
    CHECK_INT(t.code, SHOAL_INPUT);
    CHECK_HAS(t.said, "a[1] is nan");
    CHECK_HAS(t.said, "b has 2 axes");
    CHECK_HAS(t.said, "c has 3 rows, but a has 2");
    CHECK_HAS(t.said, "label has a type");
    CHECK_HAS(t.said, "z has a type");
}

static char *read_bytes(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    REQUIRE(f != NULL);
    char *bytes = malloc(1 << 20);
    *length = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

// Damaged archives are read or refused with little memory, never more.
static void damage(const char *path, uint32_t step) {
    size_t length;
    char *good = read_bytes(path, &length), *bad = malloc(length + 1);
    const char *other = check_path("bad.npz");
    uint32_t seed = 7;
    for (size_t n = 0; n < length; n += step) {
        write_bytes(other, good, n); // cut
        struct read t = read_file(other);
        CHECK(t.code != SHOAL_OK);
        report_free(&t.report);
        arena_free(&t.arena);
    }
    for (size_t n = 0; n < length; n += step) {
        memcpy(bad, good, length);
        seed = seed * 1664525 + 1013904223;
        bad[n] = (char)(bad[n] ^ 1 << (seed >> 24 & 7));
        if (seed >> 28 < 8)
            bad[n] = (char)0xff;
        write_bytes(other, bad, length);
        struct read t = read_file(other);
        report_free(&t.report);
        arena_free(&t.arena);
    }
    free(good);
    free(bad);
}

TEST(table_npz_damaged) {
    run_python(NULL, "import sys, numpy as np\n"
                     "a = dict(a=np.arange(20.), _b=np.array(['x', 'yy'] * 10))\n"
                     "np.savez(sys.argv[1] + '/a.npz', **a)\n"
                     "np.savez_compressed(sys.argv[1] + '/b.npz', **a)\n");
    damage(check_path("a.npz"), 3);
    damage(check_path("b.npz"), 1);
}

// The checksum guards the members above; here it is made right, so that headers are what is tested.
TEST(table_npz_strange_headers) {
    run_python(
        NULL,
        "import sys, zipfile, struct\n"
        "heads = [b\"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), "
        "}\",\n"
        "  b\"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 8), }\",\n"
        "  b\"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }\",\n"
        "  b\"{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,), }\",\n"
        "  b\"{'descr': '<U0', 'fortran_order': False, 'shape': (1152921504606846976,), }\",\n"
        "  b\"{'descr': '<f8', 'shape': (2,), }\", b'{', b'', b\"{'descr': '\", b\"{'shape': (\",\n"
        "  b\"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\",\n"
        "  b\"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1), }\",\n"
        "  b\"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\", b'\\x00' * 50]\n"
        "for i, h in enumerate(heads):\n"
        "    for name in ('a', '_a'):\n"
        "        with zipfile.ZipFile(f'{sys.argv[1]}/{name}{i}.npz', 'w') as z:\n"
        "            z.writestr(name + '.npy',\n"
        "                b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(h)) + h + bytes(16))\n");
    for (int i = 0; i < 14; i++)
        for (int k = 0; k < 2; k++) {
            char name[24];
            snprintf(name, sizeof name, "%sa%d.npz", k ? "_" : "", i);
            struct read t = read_file(check_path(name));
            CHECK_MSG(t.code == SHOAL_INPUT, "%s gives %d: %s", name, (int)t.code, t.said);
        }
}

// ---- Round trip ---------------------------------------------------------------------------------

TEST(table_numbers_survive_a_csv_file) {
    enum { N = 20000 };
    struct buf text = {0};
    double *x = malloc(N * sizeof *x);
    uint64_t state = 5;
    buf_puts(&text, "a\n");
    for (int i = 0; i < N; i++) {
        do {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t bits = state ^ state >> 29;
            memcpy(&x[i], &bits, sizeof bits);
        } while (!isfinite(x[i]));
        char out[32];
        buf_put(&text, out, io_format_double(x[i], out));
        buf_putc(&text, '\n');
    }
    struct read t = read_csv(check_keep(text.data));
    CHECK_MSG(t.code == SHOAL_OK, "%s", t.said);
    REQUIRE(t.table.rows == N);
    CHECK(memcmp(column(&t, "a")->number, x, N * sizeof *x) == 0);
    free(x);
}
