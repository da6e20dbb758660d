// SPDX-License-Identifier: MIT
// States of reductions as bytes, which may be anybody's.
#include "check.h"
#include "saved_bytes.h"

#include "result/reduce.h"

static const char all_words[] = "mean,std,min,max,quantile(0.5)";
static struct reduce_scratch scratch;
static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

enum { CELLS = 2, GROUPS = 2, POINTS = 5000 };
static const struct reduce_axis axis[] = {{GROUPS, POINTS, GROUPS, NULL, NULL, NULL},
                                          {POINTS, 1, 1, NULL, NULL, NULL}};
static const struct reduce_axes axes = {2, axis, GROUPS};

static struct reduce_spec *read_spec(const char *words) {
    static struct arena arena;
    static jmp_buf oom;
    struct reduce_spec *spec = check_keep(calloc(1, sizeof *spec));
    if (setjmp(oom))
        REQUIRE(false && "memory");
    arena.oom = &oom;
    REQUIRE(reduce_read(words, &arena, spec, NULL) == SHOAL_OK);
    return spec;
}

// Rows from the first on; the second group has few, and one infinite value.
static void put_rows(struct reduce *x, uint64_t first, uint32_t rows) {
    static double value[GROUPS * POINTS];
    static uint64_t run[GROUPS * POINTS];
    static struct reduce_part part[GROUPS * POINTS];
    for (uint32_t i = 0; i < rows; i++) {
        run[i] = first + i;
        value[i] = sin((double)run[i]) * ldexp(1, (int)(run[i] % 60) - 30);
    }
    if (first + rows > POINTS + 7)
        value[POINTS + 7 - first] = (double)INFINITY;
    uint32_t parts = reduce_cut(&axes, run, rows, part);
    for (uint64_t c = 0; c < CELLS; c++)
        REQUIRE(reduce_put(x, c, part, parts, value, &scratch));
}

static struct saved_bytes save(const struct reduce *x) {
    struct saved_bytes bytes = {0};
    struct saved_to to = {.put = saved_bytes_put, .user = &bytes};
    reduce_save(x, &to);
    REQUIRE(saved_end(&to));
    return bytes;
}

static shoal_code load(struct reduce *x, struct saved_bytes *bytes, uint64_t rows) {
    struct saved_from from = {.get = saved_bytes_get, .user = bytes};
    bytes->at = 0;
    return reduce_load(x, &axes, rows, &from, &scratch);
}

// What is loaded and joined can be closed, and gives numbers that can be.
static void close_all(struct reduce *x) {
    const struct reduce_item *item = x->spec->items.items;
    for (uint64_t g = 0; g < x->groups; g++)
        for (uint64_t c = 0; c < x->cells; c++) {
            REQUIRE(reduce_close(x, g, c, &scratch));
            double v[5];
            for (uint32_t i = 0; i < 5; i++)
                v[i] = reduce_value(x, g, c, &item[i]);
            CHECK(!reduce_count(x, g, c) || isinf(v[3]) || isinf(v[2]) ||
                  (v[0] >= v[2] && v[0] <= v[3] && !(v[1] < 0) && v[4] >= v[2] && v[4] <= v[3]));
        }
}

TEST(saved_states_are_looked_at) {
    const struct reduce_spec *spec = read_spec(all_words);
    enum { FIRST = 4200, ROWS = 1500, ROUNDS = 1500 };
    struct reduce x;
    REQUIRE(reduce_make(&x, spec, GROUPS, CELLS));
    put_rows(&x, FIRST, ROWS);
    struct saved_bytes good = save(&x);
    reduce_free(&x);
    int taken = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct saved_bytes bad = {0};
        size_t length = i % 4 ? good.data.length : random_bits() % good.data.length;
        buf_put(&bad.data, good.data.data, length);
        size_t reach = i % 2 && length > 200 ? 200 : length; // heads have more to say than keys
        for (int k = 0; length && k <= i % 3; k++)
            bad.data.data[random_bits() % reach] ^= (char)(1 << random_bits() % 8);
        REQUIRE(reduce_make(&x, spec, GROUPS, CELLS));
        put_rows(&x, 0, i % 2 ? FIRST : FIRST - 100);
        shoal_code code = load(&x, &bad, ROWS);
        CHECK(code == SHOAL_OK || code == SHOAL_INPUT);
        if (code == SHOAL_OK)
            close_all(&x);
        taken += code == SHOAL_OK;
        reduce_free(&x);
        buf_free(&bad.data);
    }
    CHECK(taken < ROUNDS); // a key that is another number still is one
    buf_free(&good.data);
}

// Rows that are there twice, or that there are not.
TEST(saved_states_of_other_rows) {
    const struct reduce_spec *spec = read_spec(all_words), *sums = read_spec("mean");
    struct reduce x, y;
    REQUIRE(reduce_make(&x, spec, GROUPS, CELLS) && reduce_make(&y, spec, GROUPS, CELLS));
    put_rows(&x, 0, 4500);
    struct saved_bytes bytes = save(&x);
    CHECK_INT(load(&y, &bytes, 4499), SHOAL_INPUT);
    reduce_free(&y);
    REQUIRE(reduce_make(&y, spec, GROUPS, CELLS));
    CHECK_INT(load(&y, &bytes, 4500), SHOAL_OK);
    CHECK_INT(load(&y, &bytes, 4500), SHOAL_INPUT); // a block twice
    reduce_free(&y);
    reduce_free(&x);
    buf_free(&bytes.data);
    REQUIRE(reduce_make(&x, sums, GROUPS, CELLS) && reduce_make(&y, sums, GROUPS, CELLS));
    put_rows(&x, 0, 3000);
    bytes = save(&x);
    CHECK_INT(load(&y, &bytes, 2999), SHOAL_INPUT);
    reduce_free(&y);
    REQUIRE(reduce_make(&y, sums, GROUPS, CELLS));
    CHECK_INT(load(&y, &bytes, 3000), SHOAL_OK);
    CHECK_INT(load(&y, &bytes, 3000), SHOAL_INPUT); // more than there are
    reduce_free(&y);
    reduce_free(&x);
    buf_free(&bytes.data);
}

// At both ends of 2^50 positions, and where 32 bits end.
TEST(saved_states_far_away) {
    enum { ROWS = 6000 };
    static const uint64_t all = (uint64_t)1 << 50;
    static const struct reduce_axis far[] = {{(uint64_t)1 << 50, 1, 1, NULL, NULL, NULL}};
    static const struct reduce_axes one = {1, far, 1};
    const uint64_t firsts[] = {0, ((uint64_t)1 << 32) - 5000, all - ROWS};
    static double value[ROWS];
    struct reduce x, whole;
    const struct reduce_spec *spec = read_spec(all_words);
    REQUIRE(reduce_make(&x, spec, 1, 1) && reduce_make(&whole, spec, 1, 1));
    for (int i = 0; i < 3; i++) {
        struct reduce part;
        struct reduce_part p = {.position = firsts[i], .rows = ROWS};
        REQUIRE(reduce_make(&part, spec, 1, 1));
        for (int k = 0; k < ROWS; k++)
            value[k] = (double)(i * ROWS + k);
        REQUIRE(reduce_put(&part, 0, &p, 1, value, &scratch));
        REQUIRE(reduce_put(&whole, 0, &p, 1, value, &scratch));
        struct saved_bytes bytes = save(&part);
        struct saved_from from = {.get = saved_bytes_get, .user = &bytes};
        CHECK_INT(reduce_load(&x, &one, ROWS, &from, &scratch), SHOAL_OK);
        reduce_free(&part);
        buf_free(&bytes.data);
    }
    REQUIRE(reduce_close(&x, 0, 0, &scratch) && reduce_close(&whole, 0, 0, &scratch));
    for (uint32_t i = 0; i < 5; i++)
        CHECK(reduce_value(&x, 0, 0, &spec->items.items[i]) ==
              reduce_value(&whole, 0, 0, &spec->items.items[i]));
    CHECK(reduce_value(&x, 0, 0, &spec->items.items[0]) == (3 * ROWS - 1) / 2.0);
    reduce_free(&x);
    reduce_free(&whole);
}
