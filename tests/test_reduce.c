// SPDX-License-Identifier: MIT
// Statistics over runs: groups and positions against counting, values against plain loops over all
// runs, and the same bytes whatever chunks, threads and shards there are.
#include "api/reduce.h"
#include "ode/batch/batch_axes.h"
#include "result/reduce.h"
#include "saved_bytes.h"
#include "shoal/shoal.h"
#include "test_batch.h"

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static struct arena *new_arena(jmp_buf *oom) {
    struct arena *a = calloc(1, sizeof *a);
    REQUIRE(a != NULL);
    a->oom = oom;
    return a;
}

// ---- Words --------------------------------------------------------------------------------------

TEST(reduce_words) {
    jmp_buf oom;
    struct arena *arena = new_arena(&oom);
    struct reduce_spec s;
    REQUIRE(!setjmp(oom));
    CHECK_INT(reduce_read(" mean,std, min ,max,quantile( 0.05,.5, 1)", arena, &s, NULL), SHOAL_OK);
    static const char *const names[] = {"mean", "std", "min", "max", "q0.05", "q.5", "q1"};
    REQUIRE(s.items.count == 7);
    for (uint32_t i = 0; i < 7; i++)
        CHECK_STR(s.items.items[i].name, names[i]);
    CHECK(s.items.items[5].fraction == 0.5);
    static const char *const wrong[] = {"",
                                        ",",
                                        "mean,",
                                        "mean std",
                                        "meanstd",
                                        "Mean",
                                        "quantile",
                                        "quantile()",
                                        "quantile(0.5",
                                        "quantile(0.5,)",
                                        "quantile(-0.1)",
                                        "quantile(1.1)",
                                        "quantile(nan)",
                                        "mean,mean",
                                        "quantile(0.5,0.5)",
                                        "quantile(0.5,.50)",
                                        "mean(x)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct report r = {0};
        CHECK_MSG(reduce_read(wrong[i], arena, &s, &r) == SHOAL_INPUT, "'%s'", wrong[i]);
        CHECK_INT(r.errors, 1);
        report_free(&r);
    }
    arena_free(arena);
    free(arena);
}

// ---- Groups -------------------------------------------------------------------------------------

// Each of the names in --by is, for a run, the value of a column of the result of rows.
static bool same_columns(const struct batch *b, const struct table *t, uint64_t group,
                         uint64_t run) {
    for (uint32_t k = 0; k < t->columns.count; k++) {
        const struct table_column *c = &t->columns.items[k];
        bool found = false;
        for (uint32_t i = 0; i < batch_inputs(b); i++)
            if (!strcmp(batch_input_name(b, i), c->name)) {
                found = true;
                if (batch_value(b, i, run) != c->number[group])
                    return false;
            }
        for (uint32_t i = 0; i < batch_extras(b); i++)
            if (!strcmp(batch_extra(b, i)->name, c->name)) {
                const struct table_column *x = batch_extra(b, i);
                uint64_t row = batch_table_row(b, run);
                found = true;
                if (x->text ? strcmp(x->text[row], c->text[group]) != 0
                            : x->number[row] != c->number[group])
                    return false;
            }
        REQUIRE(found);
    }
    return true;
}

// Groups and positions of all rows, cut in slices.
static void check_groups(struct batch_bed *bed, const char *by, uint64_t groups, uint32_t axes) {
    jmp_buf oom;
    struct arena *arena = new_arena(&oom);
    struct batch_by found;
    struct table columns;
    REQUIRE(!setjmp(oom));
    READY(bed);
    GOOD(bed, batch_group(bed->batch, by, arena, &found, &bed->report));
    CHECK_INT(found.axes.groups, groups);
    CHECK_INT(found.shape.count, axes);
    REQUIRE(batch_group_columns(bed->batch, &found, arena, &columns));
    uint64_t runs = batch_runs(bed->batch), *seen = calloc(groups, sizeof *seen);
    uint64_t *run = calloc(runs, sizeof *run), most = 0;
    struct reduce_part *part = calloc(runs, sizeof *part);
    for (uint64_t first = 0; first < runs;) {
        uint32_t n = (uint32_t)(1 + random_bits() % 7);
        n = n < runs - first ? n : (uint32_t)(runs - first);
        batch_fill_runs(bed->batch, first, n, run);
        uint32_t parts = reduce_cut(&found.axes, run, n, part), rows = 0;
        for (uint32_t i = 0; i < parts; i++)
            for (uint32_t k = 0; k < part[i].rows; k++, rows++) {
                REQUIRE(part[i].group < groups && part[i].first + k == rows);
                CHECK(same_columns(bed->batch, &columns, part[i].group, run[rows]));
                CHECK_INT(part[i].position + k, seen[part[i].group]);
                seen[part[i].group]++;
            }
        CHECK_INT(rows, n);
        first += n;
    }
    for (uint64_t g = 0; g < groups; g++)
        most = seen[g] > most ? seen[g] : most;
    if (found.shape.count == 1 || !by) // else an upper bound
        CHECK_INT(reduce_positions(&found.axes), most);
    free(seen);
    free(run);
    free(part);
    arena_free(arena);
    free(arena);
}

static void add_table(struct batch_bed *bed) {
    static const double sigma[] = {1, 2, 1, 3, 2, 1}, number[] = {7, 7, 8, 8, 7, 7};
    static const char *const arm[] = {"a", "b", "a", "c", "b", "b"};
    struct table_column items[] = {{.name = "sigma", .number = sigma},
                                   {.name = "_arm", .text = arm},
                                   {.name = "_n", .number = number}};
    struct table t = {.source = "t.csv", .rows = 6};
    t.columns.items = items;
    t.columns.count = 3;
    GOOD(bed, batch_use_table(bed->batch, &t, &bed->report));
}

TEST(reduce_groups_of_sweeps) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=lin:0:1:3");
    SWEEP(bed, "b=1,2,1,1");
    SWEEP(bed, "Gain=5,6,7,8,9");
    check_groups(bed, NULL, 1, 0);
    check_groups(bed, "rho", 3, 1);
    check_groups(bed, "b", 2, 1);
    check_groups(bed, "Gain", 5, 1);
    check_groups(bed, "Gain,rho", 15, 2);
    check_groups(bed, "b, rho", 6, 2);
    check_groups(bed, "rho,b,Gain", 30, 3);
    bed_free(bed);
    bed = bed_new(); // points that rounding makes one
    SWEEP(bed, "rho=lin:1:1.0000000000000009:20");
    SWEEP(bed, "b=log:1:1.0000000000000009:20");
    check_groups(bed, "rho", 5, 1);
    check_groups(bed, "b", 5, 1);
    bed_free(bed);
}

TEST(reduce_groups_of_zips_samples_and_tables) {
    struct batch_bed *bed = bed_new();
    add_table(bed);
    SWEEP(bed, "rho=1,2,3,3");
    SWEEP(bed, "b=4,4,5,5");
    GOOD(bed, batch_zip(bed->batch, "rho,b", &bed->report));
    SAMPLE(bed, "x(0)=uniform:0:1");
    SAMPLER(bed, SAMPLER_RANDOM, 5, 0);
    check_groups(bed, NULL, 1, 0);
    check_groups(bed, "rho", 3, 1);
    check_groups(bed, "b", 2, 1);
    check_groups(bed, "b,rho", 3, 1);
    check_groups(bed, "_arm", 3, 1);
    check_groups(bed, "_n", 2, 1);
    check_groups(bed, "_n,_arm,sigma", 5, 1);
    check_groups(bed, "_arm,b", 6, 2);
    bed_free(bed);
}

TEST(reduce_refuses_names) {
    jmp_buf oom;
    struct arena *arena = new_arena(&oom);
    struct batch_by by;
    struct batch_bed *bed = bed_new();
    REQUIRE(!setjmp(oom));
    add_table(bed);
    SWEEP(bed, "rho=1,2");
    SAMPLE(bed, "x(0)=uniform:0:1");
    SAMPLER(bed, SAMPLER_LHS, 5, 0);
    READY(bed);
#define REFUSES(names, part)                                                                       \
    BAD(bed, batch_group(bed->batch, names, arena, &by, &bed->report), part)
    REFUSES("x", "is sampled");
    REFUSES("Gain", "the same value in all runs");
    REFUSES("rho,rho", "twice");
    REFUSES("_arm,_arm", "twice");
    REFUSES("_other", "no column `_other`");
    REFUSES("rho,", "a name is missing");
    REFUSES("nothing", "nothing");
    REFUSES("twice", "computed");
    arena_free(arena);
    free(arena);
    bed_free(bed);
}

// ---- States -------------------------------------------------------------------------------------

static const char all_words[] = "mean,std,min,max,quantile(0,0.05,0.5,0.95,1)";

static double make_value(uint64_t run) {
    uint64_t h = run * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 32;
    if (h % 101 == 0)
        return (double)NAN;
    return ldexp((double)(int64_t)h, (int)(h % 40) - 80);
}

enum { RUNS = 60000, MANY = 4 };

// Takes over the states of other runs as bytes, as they are kept in files.
static void join_bytes(struct reduce *x, const struct reduce_axes *axes, uint64_t rows,
                       struct reduce *other, struct reduce_scratch *scratch) {
    struct saved_bytes bytes = {0};
    struct saved_to to = {.put = saved_bytes_put, .user = &bytes};
    struct saved_from from = {.get = saved_bytes_get, .user = &bytes};
    reduce_save(other, &to);
    REQUIRE(saved_end(&to));
    CHECK_INT(reduce_load(x, axes, rows, &from, scratch), SHOAL_OK);
    CHECK(bytes.at == bytes.data.length);
    buf_free(&bytes.data);
    reduce_free(other);
}

// Statistics of all groups, out of runs that come in slices to several parts.
static void reduce_in_parts(const struct reduce_spec *spec, const struct reduce_axes *axes,
                            uint32_t slice, uint32_t parts, bool as_bytes, double *out) {
    struct reduce x[8];
    uint64_t rows[8] = {0};
    static struct reduce_scratch scratch;
    uint64_t *run = calloc(slice, sizeof *run);
    double *value = calloc(slice, sizeof *value);
    struct reduce_part *cut = calloc(slice, sizeof *cut);
    for (uint32_t i = 0; i < parts; i++)
        REQUIRE(reduce_make(&x[i], spec, axes->groups, 1));
    for (uint64_t first = 0; first < RUNS; first += slice) {
        uint32_t n = RUNS - first < slice ? (uint32_t)(RUNS - first) : slice;
        for (uint32_t i = 0; i < n; i++) {
            run[i] = first + i;
            value[i] = make_value(first + i);
        }
        uint32_t pieces = reduce_cut(axes, run, n, cut);
        uint32_t part = (uint32_t)(random_bits() % parts);
        rows[part] += n;
        REQUIRE(reduce_put(&x[part], 0, cut, pieces, value, &scratch));
    }
    for (uint32_t i = 1; i < parts; i++)
        if (as_bytes)
            join_bytes(&x[0], axes, rows[i], &x[i], &scratch);
        else
            REQUIRE(reduce_join(&x[0], &x[i], &scratch));
    for (uint64_t g = 0; g < axes->groups; g++) {
        REQUIRE(reduce_close(&x[0], g, 0, &scratch));
        for (uint32_t i = 0; i < spec->items.count; i++)
            *out++ = reduce_value(&x[0], g, 0, &spec->items.items[i]);
        *out++ = (double)reduce_count(&x[0], g, 0);
    }
    reduce_free(&x[0]);
    free(run);
    free(value);
    free(cut);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of one group, by sorting and in long doubles.
static void check_group(const double *got, const struct reduce_axes *axes, uint64_t group) {
    double *x = calloc(RUNS, sizeof *x);
    uint64_t n = 0;
    long double sum = 0, squares = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct reduce_part p;
        reduce_cut(axes, &run, 1, &p);
        if (p.group == group && !isnan(make_value(run)))
            x[n++] = make_value(run);
    }
    qsort(x, n, sizeof *x, by_value);
    for (uint64_t i = 0; i < n; i++)
        sum += x[i];
    for (uint64_t i = 0; i < n; i++)
        squares += (x[i] - sum / (long double)n) * (x[i] - sum / (long double)n);
    CHECK_NEAR(got[0], (double)(sum / (long double)n), 1e-12 * (x[n - 1] - x[0]));
    CHECK_NEAR(got[1], (double)sqrtl(squares / (long double)(n - 1)), 1e-14 * (x[n - 1] - x[0]));
    CHECK(got[2] == x[0] && got[3] == x[n - 1] && got[4] == x[0] && got[8] == x[n - 1]);
    static const double fraction[] = {0.05, 0.5, 0.95};
    for (int i = 0; i < 3; i++) {
        double low = fraction[i] - 0.005, high = fraction[i] + 0.005;
        CHECK(got[5 + i] >= x[(size_t)(low * (double)(n - 1))] &&
              got[5 + i] <= x[(size_t)ceil(high * (double)(n - 1))]);
    }
    CHECK_INT(got[9], n);
    free(x);
}

TEST(reduce_states_do_not_depend_on_shards) {
    static const uint32_t key[] = {0, 1, 0, 2, 1}, rank[] = {0, 0, 1, 0, 1}, same[] = {2, 2, 1};
    static const struct reduce_axis one[] = {{RUNS, 1, 1, NULL, NULL, NULL}};
    static const struct reduce_axis inner[] = {{RUNS / MANY, MANY, 1, NULL, NULL, NULL},
                                               {MANY, 1, MANY, NULL, NULL, NULL}};
    static const struct reduce_axis keyed[] = {{5, RUNS / 5, 3, key, rank, same},
                                               {RUNS / 5, 1, 1, NULL, NULL, NULL}};
    static const struct reduce_axes cases[] = {{1, one, 1}, {2, inner, MANY}, {2, keyed, 3}};
    static const uint32_t slices[] = {RUNS, 4096, 8192, 1000, 17};
    jmp_buf oom;
    struct arena *arena = new_arena(&oom);
    struct reduce_spec spec;
    REQUIRE(!setjmp(oom));
    REQUIRE(reduce_read(all_words, arena, &spec, NULL) == SHOAL_OK);
    for (size_t c = 0; c < 3; c++) {
        double want[MANY * 10], got[MANY * 10];
        size_t bytes = (size_t)cases[c].groups * 10 * sizeof *want;
        reduce_in_parts(&spec, &cases[c], RUNS, 1, false, want);
        for (uint64_t g = 0; g < cases[c].groups; g++)
            check_group(want + g * 10, &cases[c], g);
        for (size_t s = 0; s < sizeof slices / sizeof *slices; s++)
            for (uint32_t parts = 1; parts <= 8; parts += 7) {
                reduce_in_parts(&spec, &cases[c], slices[s], parts, s % 2, got);
                CHECK_MSG(!memcmp(got, want, bytes), "case %zu, slices of %u, %u parts", c,
                          slices[s], parts);
            }
    }
    arena_free(arena);
    free(arena);
}

static double reduced(const double *x, uint32_t n, const char *word) {
    static struct reduce_scratch scratch;
    jmp_buf oom;
    struct arena *arena = new_arena(&oom);
    struct reduce_spec spec;
    struct reduce r;
    struct reduce_part part = {.rows = n};
    REQUIRE(!setjmp(oom));
    REQUIRE(reduce_read(word, arena, &spec, NULL) == SHOAL_OK && reduce_make(&r, &spec, 1, 1));
    REQUIRE(reduce_put(&r, 0, &part, 1, x, &scratch) && reduce_close(&r, 0, 0, &scratch));
    double value = reduce_value(&r, 0, 0, spec.items.items);
    reduce_free(&r);
    arena_free(arena);
    free(arena);
    return value;
}

// What is not finite, zeros of both signs, one value, none.
TEST(reduce_edges) {
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double up[] = {1, inf, nan}, both[] = {-inf, 1, inf}, none[] = {nan, nan}, one[] = {3};
    const double zeros[] = {0.0, -0.0}, turned[] = {-0.0, 0.0};
    CHECK(reduced(up, 3, "mean") == inf && reduced(up, 3, "max") == inf);
    CHECK(reduced(up, 3, "min") == 1 && isnan(reduced(up, 3, "std")));
    CHECK(isnan(reduced(both, 3, "mean")) && reduced(both, 3, "min") == -inf);
    CHECK(reduced(both, 3, "quantile(0.5)") == 1);
    CHECK(reduced(both, 2, "mean") == -inf);
    static const char *const words[] = {"mean", "std", "min", "max", "quantile(0.5)"};
    for (int i = 0; i < 5; i++) {
        CHECK(isnan(reduced(none, 2, words[i])) && isnan(reduced(none, 0, words[i])));
        CHECK(i == 1 ? isnan(reduced(one, 1, words[i])) : reduced(one, 1, words[i]) == 3);
    }
    CHECK(signbit(reduced(zeros, 2, "min")) && signbit(reduced(turned, 2, "min")));
    CHECK(!signbit(reduced(zeros, 2, "max")) && !signbit(reduced(turned, 2, "max")));
}
