// SPDX-License-Identifier: MIT
// shoal grid: files in and out, parts of them, comparison, exit codes, and what is said.
#include "check.h"

static const char *file(const char *name, const char *text) {
    const char *path = check_path(name);
    check_write(path, text);
    return path;
}

TEST(grid_cli_json) {
    const char *one = file("one.json", "[[1,2,3],[4,5,6]]");
    const char *two = file("two.json", "[[[1,-2]], [[3],[4]], null]");
    struct check_output o = RUN(check_shoal(), "grid", "rot90", "--in", one);
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, "[[3, 6], [2, 5], [1, 4]]\n");
    o = RUN(check_shoal(), "grid", "transpose | _ * 1000000000", "--in", two);
    CHECK_STR(o.out, "[[[1000000000], [-2000000000]],\n [[-1294967296, -294967296]],\n null]\n");
    CHECK_HAS(o.err, "1 of 3 grids are marked `empty`");
    o = RUN(check_shoal(), "grid", "crop(0,0,9,9)", "--in", one);
    CHECK_INT(o.status, 5);
    CHECK_STR(o.out, "null\n");
}

TEST(grid_cli_tasks) {
    const char *task = file("task.json", "{\"train\":[{\"input\":[[1,2],[3,4]],\"output\":[[2,4],"
                                         "[1,3]]},{\"input\":[[1,2,3]],\"output\":[[3],[2],[0]]},"
                                         "{\"output\":[[1]],\"input\":[[1],[2]]}],\"test\":[]}");
    struct check_output o = RUN(check_shoal(), "grid", "rot90", "--in", task, "--select",
                                "train.input", "--compare", task);
    CHECK_INT(o.status, 0);
    CHECK_STR(o.out, "grid 0: equal\ngrid 1: 1 of 3 cells differ\n"
                     "grid 2: 1 by 2, expected 1 by 1\n1 of 3 grids are equal\n");
    o = RUN(check_shoal(), "grid", "rot90", "--in", task);
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "--select");
    o = RUN(check_shoal(), "grid", "rot90", "--in", task, "--select", "train.inputs");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "nothing that --select names");
}

TEST(grid_cli_text_and_arrays) {
    const char *text = file("a.txt", "# two\n1 2\n3,4\n\n-5 6\n");
    const char *npz = check_path("a.npz"), *npy = check_path("a.npy");
    CHECK_INT(RUN(check_shoal(), "grid", "flip_h", "--in", text, "-o", npz).status, 0);
    struct check_output o =
        RUN(check_shoal(), "grid", "flip_h", "--in", npz, "-o", check_path("b.txt"));
    CHECK_INT(o.status, 0);
    CHECK_STR(check_keep(check_read(check_path("b.txt"))), "1 2\n3 4\n\n-5 6\n");
    o = RUN(check_shoal(), "grid", "flip_h", "--in", text, "-o", npy);
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "different shapes");
    CHECK_INT(RUN(check_shoal(), "grid", "crop(0,0,1,2)", "--in", text, "-o", npy, "--type", "i16")
                  .status,
              0);
    o = RUN(check_shoal(), "grid", "in", "--in", npy);
    CHECK_STR(o.out, "[[[1, 2]],\n [[-5, 6]]]\n");
}

TEST(grid_cli_numpy) {
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python with numpy");
    static const char write[] =
        "import numpy as np, sys\n"
        "a = (np.arange(5*4*6).reshape(5,4,6) % 11).astype(sys.argv[2])\n"
        "np.save(sys.argv[1], np.asfortranarray(a) if sys.argv[2] == '>i4' else a)\n";
    static const char check[] = "import numpy as np, sys\n"
                                "a = np.load(sys.argv[1]).astype('i4')\n"
                                "b = np.load(sys.argv[2])\n"
                                "w = np.rot90(a, axes=(1,2)) + np.rot90(a, axes=(1,2)) % 3\n"
                                "assert b.shape == (5,6,4), b.shape\n"
                                "assert (w == b).all()\n"
                                "print(b.dtype)\n";
    static const char *const types[][2] = {
        {"u1", "uint8"}, {"i2", "int16"}, {"i8", "int32"}, {">i4", "int32"}, {"bool", "int32"}};
    const char *in = check_path("in.npy"), *out = check_path("out.npy");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        CHECK_INT(RUN(python, "-c", write, in, types[i][0]).status, 0);
        CHECK_INT(RUN(check_shoal(), "grid", "rot90 | _ + _ % 3", "--in", in, "-o", out).status, 0);
        struct check_output o = RUN(python, "-c", check, in, out);
        CHECK_MSG(o.status == 0, "%s", o.err);
        CHECK_HAS(o.out, types[i][1]);
    }
}

TEST(grid_cli_says_what_is_wrong) {
    static const char *const files[][2] = {
        {"[[1,2],[3]]", "different lengths"},
        {"[[1,2.5]]", "whole number"},
        {"[1,2]", "no grid"},
        {"[[1,2]", "unexpected end"},
        {"[[[1]],[2]]", "stand"},
        {"[[4294967296]]", "whole number"},
        {"{\"a\":1}", "--select"},
        {"\"x\"", "numbers only"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = file("w.json", files[i][0]);
        struct check_output o = RUN(check_shoal(), "grid", "in", "--in", path);
        CHECK_MSG(o.status == 1, "%s: %d", files[i][0], o.status);
        if (i != 3)
            CHECK_HAS(o.err, files[i][1]);
    }
    struct check_output o = RUN(check_shoal(), "grid", "in |\nrot9", "--in", "x.json");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "pipeline:2:1: error: there is no `rot9`; did you mean `rot90`?");
    CHECK_INT(RUN(check_shoal(), "grid", "in").status, 2);
    CHECK_INT(RUN(check_shoal(), "grid", "in", "--in", "/nowhere.json").status, 4);
    CHECK_INT(RUN(check_shoal(), "grid", "in", "--in", "a.png").status, 1);
}

TEST(grid_cli_files_of_pipelines) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    char word[512];
    const char *g = file("g.json", "[[1,2],[3,4]]");
    const char *p = file("p.grid", "# a comment\nr = rot90(in);\nr * (in > 1)\n");
    snprintf(word, sizeof word, "@%s", p);
    struct check_output o = RUN(check_shoal(), "grid", word, "--in", g);
    CHECK_STR(o.out, "[[0, 4], [1, 3]]\n");
    const char *lines = file("lines", "rot90\n\n# none\nflip_h\n");
    o = RUN(check_shoal(), "warm", "--grid", lines, "--type", "u8");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "rot90, grid: compiled");
    CHECK_HAS(o.out, "flip_h, grid: compiled");
    o = RUN(check_shoal(), "source", "--grid", "rot90 | flip_h");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "grid_body");
    o = RUN(check_shoal(), "cache", "list");
    CHECK_HAS(o.out, "grid");
}

// Eight sizes, and the same cells on both; the choice that was made, before and after a run.
TEST(device_grid_cli_bench) {
    const char *g = file("g.json", "[[[1,2,3],[4,5,6]],[[7,8,9],[0,1,2]]]");
    if (!strstr(RUN(check_shoal(), "devices").out, "PoCL"))
        check_skip("no PoCL");
    struct check_output o =
        RUN(check_shoal(), "grid", "rot90 | mask(v>5)", "--in", g, "--bench", "--device", "opencl");
    CHECK_MSG(o.status == 0, "%s", o.err);
    static const char *const sizes[] = {"10", "20", "30", "50", "100", "200", "1000", "10000"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char row[24];
        snprintf(row, sizeof row, "\n%8s  ", sizes[i]);
        CHECK_HAS(o.out, row);
    }
    CHECK(!strstr(o.out, "DIFFERENT") && !strstr(o.out, "cpu ("));
    o = RUN(check_shoal(), "grid", "rot90", "--in", g, "--bench", "--device", "cpu");
    CHECK_HAS(o.out, "cpu (there is no other)");
    o = RUN(check_shoal(), "grid", "rot90", "--in", g, "--dry-run", "--threshold", "3");
    CHECK_HAS(o.out, "grids     2\n");
    CHECK_HAS(o.out, "chosen    cpu: 2 grids, fewer than the threshold, 3\n");
    o = RUN(check_shoal(), "grid", "rot90", "--in", g, "-v");
    CHECK_HAS(o.err, "chosen   cpu: 2 grids, which are too few for any other device\n");
    CHECK_HAS(o.out, "[[[3, 6], [2, 5], [1, 4]],");
}

// Every millisecond has a name, those of files too.
TEST(grid_cli_no_time_is_nobodys) {
    const char *g = check_path("g.json");
    double best = 100;
    check_write(g, "[[[1,2,3],[4,5,6]],[[7,8,9],[0,1,2]]]");
    for (int i = 0; i < 20 && best > 5; i++) {
        struct check_output o = RUN(check_shoal(), "grid", "rot90", "--in", g, "-o",
                                    check_path("o.json"), "--timing", "default");
        const char *row = strstr(o.err, "\n  other "), *percent = row ? strstr(row, " ms") : NULL;
        REQUIRE(percent);
        double share = strtod(percent + 3, NULL);
        best = share < best ? share : best;
    }
    CHECK_MSG(best <= 5, "%g %% of the time is nobody's", best);
}
