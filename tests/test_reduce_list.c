// SPDX-License-Identifier: MIT
// Reductions of arrays of every shape, made up: samples, summaries, several elements a run,
// windows.
#include "api/reduce.h"
#include "io/io.h"
#include "test_batch.h"

enum { RUNS = 6, SAMPLES = 2, WINDOWS = 2, WIDE = 3 };

// What element e of array a is in a run, different in all.
static double value_of(uint32_t a, uint32_t run, uint32_t e) {
    return 100.0 * a + 10.0 * e + (double)(run % 3) * (a + 1);
}

static const struct result_more mores[] = {
    {.name = "peak", .role = ROLE_SUMMARY, .field = FIELD_summary},
    {.name = "p", .role = ROLE_SUMMARY, .field = FIELD_summary, .axis = {WIDE, 0}},
    {.name = "w",
     .role = ROLE_SUMMARY,
     .field = FIELD_summary,
     .axis = {WINDOWS, 0},
     .words = {.table = RESULT_WINDOWS}},
    {.name = "h",
     .role = ROLE_SUMMARY,
     .field = FIELD_summary,
     .axis = {WINDOWS, WIDE},
     .words = {.table = RESULT_WINDOWS, .stem = "h.", .open = true}},
    {.name = "bang", .role = ROLE_RECORD, .field = FIELD_summary, .axis = {WIDE, 0}},
};

// The arrays of a chunk: values of these as [row][element], runs, and all is well.
static void fill(const struct result_list *l, struct result_view *view) {
    static double numbers[8][RUNS][WINDOWS * WIDE];
    static uint64_t run[RUNS];
    static uint8_t status[RUNS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct result_array *a = &l->array[i];
        uint32_t width = (uint32_t)result_width(l, a);
        if (a->role == ROLE_RUN)
            view[i].data = run;
        else if (a->role == ROLE_STATUS)
            view[i].data = status;
        if (!result_is_variable(a) && !result_is_more(a))
            continue;
        double *to = &numbers[n][0][0];
        for (uint32_t k = 0; k < RUNS; k++) {
            run[k] = k;
            for (uint32_t e = 0; e < width; e++)
                to[k * width + e] = value_of(n, k, e);
        }
        view[i] = (struct result_view){to, width, 1};
        n++;
    }
}

static void run_into(const char *path, const char *by, uint32_t count, enum result_samples kind,
                     struct report *r) {
    jmp_buf oom;
    struct arena arena = {0}, words = {.oom = &oom};
    struct batch_bed *bed = bed_new();
    struct result_list list;
    struct result_view view[16] = {0};
    static const double times[] = {0, 1}, edges[] = {0, 1, 2};
    static const char *const var[] = {"x"};
    struct result_spec spec = {.kind = kind,
                               .rows = RUNS,
                               .samples = kind == SAMPLES_GRID ? SAMPLES : 1,
                               .times = kind == SAMPLES_GRID ? times : NULL,
                               .vars = count > 4,
                               .var = var,
                               .mores = count,
                               .more = count > 4 ? mores : mores + 2,
                               .windows = WINDOWS,
                               .edges = edges,
                               .meta = "{}"};
    struct reduce_spec reduce;
    struct team *team = NULL;
    struct reduce_order order = {.spec = &reduce, .by = by, .threads = 2, .team = &team};
    struct sink *to = NULL;
    REQUIRE(!setjmp(oom));
    REQUIRE(reduce_read("mean,max", &words, &reduce, NULL) == SHOAL_OK);
    SWEEP(bed, "rho=7,8");
    SWEEP(bed, "b=0,1,2");
    READY(bed);
    REQUIRE(result_list_make(&list, &spec, &arena));
    REQUIRE(io_sink_new(path, 1, &to, r) == SHOAL_OK);
    struct sink *sink = reduce_sink_new(&order, bed->batch, to);
    REQUIRE(sink && sink->begin(sink, &list, r) == SHOAL_OK);
    fill(&list, view);
    struct result_chunk chunk = {.rows = RUNS, .view = view};
    CHECK_INT(sink->chunk(sink, &chunk, r), SHOAL_OK);
    CHECK_INT(sink->end(sink, true, r), SHOAL_OK);
    sink->free(sink);
    to->free(to);
    team_free(team);
    bed_free(bed);
    arena_free(&arena);
    arena_free(&words);
}

TEST(reduce_list_as_text) {
    struct report r = {0};
    run_into(check_path("o.csv"), "rho", 5, SAMPLES_GRID, &r);
    CHECK_STR(check_read(check_path("o.csv")), "rho,t,x.mean,x.max,x.n,failed\n"
                                               "7,0,1,2,3,0\n7,1,11,12,3,0\n"
                                               "8,0,1,2,3,0\n8,1,11,12,3,0\n");
    CHECK_STR(check_read(check_path("o.runs.csv")),
              "rho,peak.mean,peak.max,peak.n,p.1.mean,p.2.mean,p.3.mean,p.1.max,p.2.max,p.3.max,"
              "p.1.n,p.2.n,p.3.n,failed\n"
              "7,102,104,3,203,213,223,206,216,226,3,3,3,0\n"
              "8,102,104,3,203,213,223,206,216,226,3,3,3,0\n");
    CHECK_STR(check_read(check_path("o.windows.csv")),
              "rho,window,w.mean,w.max,w.n,h.below.mean,h.1.mean,h.above.mean,h.below.max,h.1.max,"
              "h.above.max,h.below.n,h.1.n,h.above.n,failed\n"
              "7,0,304,308,3,405,415,425,410,420,430,3,3,3,0\n"
              "7,1,314,318,3,435,445,455,440,450,460,3,3,3,0\n"
              "8,0,304,308,3,405,415,425,410,420,430,3,3,3,0\n"
              "8,1,314,318,3,435,445,455,440,450,460,3,3,3,0\n");
    REQUIRE(r.messages.count == 1); // and the record
    CHECK_HAS(r.messages.items[0].text, "left out");
    report_free(&r);
}

// Windows alone are the file itself, without groups too.
TEST(reduce_list_of_windows) {
    struct report r = {0};
    run_into(check_path("o.csv"), NULL, 1, SAMPLES_ONE, &r);
    CHECK_STR(check_read(check_path("o.csv")),
              "window,w.mean,w.max,w.n,failed\n0,1,2,6,0\n1,11,12,6,0\n");
    CHECK(!check_read(check_path("o.runs.csv")) && !r.messages.count);
    CHECK_INT(io_sink_check(check_path("o.csv"), (const char *const[]){NULL}, false, &r), SHOAL_OK);
    report_free(&r);
}

TEST(reduce_list_as_arrays) {
    const char *python = check_python(NULL), *npz = check_path("o.npz");
    if (!python)
        check_skip("no Python with numpy");
    run_into(npz, "b,rho", 5, SAMPLES_GRID, NULL);
    struct check_output o =
        RUN(python, "-c",
            "import sys, numpy as np\n"
            "f = np.load(sys.argv[1])\n"
            "for n in 'x.mean peak.max p.n w.mean h.mean window_t failed'.split():\n"
            "    print(n, f[n].shape, end=' ')\n"
            "print(f['h.mean'][1, 2, 1], 'bang' in f.files, f['b'][0])\n",
            npz);
    CHECK_STR(o.out, "x.mean (2, 3, 2) peak.max (2, 3) p.n (2, 3, 3) w.mean (2, 3, 2) "
                     "h.mean (2, 3, 2, 3) window_t (3,) failed (2, 3) [440. 450. 460.] False "
                     "[0. 1. 2.]\n");
}
