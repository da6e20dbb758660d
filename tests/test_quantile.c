// SPDX-License-Identifier: MIT
// Quantiles of a stream: ranks against sorted arrays, and the same bits however it is cut.
#include "check.h"
#include "result/quantile.h"

static struct quantile_scratch scratch;
static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static double uniform(void) { return (double)(random_bits() >> 11) * 0x1p-53; }

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef double make_value(size_t i, size_t n);
static double make_uniform(size_t i, size_t n) { return (void)i, (void)n, uniform(); }
static double make_normal(size_t i, size_t n) {
    return (void)i, (void)n, sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}
static double make_rising(size_t i, size_t n) { return (double)i / (double)n; }
static double make_falling(size_t i, size_t n) { return -(double)i / (double)n; }
static double make_constant(size_t i, size_t n) { return (void)i, (void)n, 7; }
static double make_two(size_t i, size_t n) { return (void)n, (i % 3 ? 1e6 : -1e6) + uniform(); }
static double make_saw(size_t i, size_t n) { return (void)n, (double)(i * 7919 % 10007); }
static double make_wide(size_t i, size_t n) {
    return (void)i, (void)n, ldexp(uniform() - 0.5, (int)(random_bits() % 2000) - 1000);
}
// The first half dense, then almost nothing: nodes of very different weight.
static double make_sparse(size_t i, size_t n) {
    return i < n / 4 || i % 1000 == 0 ? uniform() + (i < n / 4 ? 0 : 0.5) : (double)NAN;
}

// Ranks that a value may have in a sorted array, as fractions.
static double rank_error(const double *sorted, size_t n, double value, double fraction) {
    size_t low = 0, high = 0;
    while (low < n && sorted[low] < value)
        low++;
    for (high = low; high < n && sorted[high] <= value; high++)
        ;
    double place = fraction * (double)(n - 1);
    double below = (double)low - 1 - place, above = place - (double)high; // between two: either
    double off = below > above ? below : above;
    return off < 0 ? 0 : off / (double)n;
}

static void check_ranks(make_value *make, size_t n, const char *name) {
    double *x = malloc(n * sizeof *x), *sorted = malloc(n * sizeof *sorted);
    struct quantile q = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = make(i, n);
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            sorted[count++] = x[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    REQUIRE(quantile_put(&q, 0, x, n, &scratch));
    REQUIRE(quantile_close(&q, &scratch));
    for (double f = 0; f <= 1; f += 0.01) {
        double value = quantile_at(&q, f, sorted[0], sorted[count - 1]);
        double off = rank_error(sorted, count, value, f);
        CHECK_MSG(off <= 0.005, "%s: quantile %g of %zu is off by %g", name, f, count, off);
    }
    quantile_free(&q);
    free(x);
    free(sorted);
}

TEST(quantile_ranks_are_right) {
    static const struct {
        const char *name;
        make_value *make;
    } kinds[] = {{"uniform", make_uniform}, {"normal", make_normal},     {"rising", make_rising},
                 {"falling", make_falling}, {"constant", make_constant}, {"two", make_two},
                 {"saw", make_saw},         {"wide", make_wide},         {"sparse", make_sparse}};
    static const size_t sizes[] = {1, 2, 5, 4095, 4096, 4097, 8192, 100000, 1000000};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_ranks(kinds[k].make, sizes[s], kinds[k].name);
}

// Errors are not all on one side.
TEST(quantile_ranks_are_not_moved) {
    enum { N = 1 << 20 };
    double *x = malloc(N * sizeof *x), sum = 0;
    struct quantile q = {0};
    for (size_t i = 0; i < N; i++)
        x[i] = (double)((i * 2654435761u) % N) / (N - 1); // every rank once
    REQUIRE(quantile_put(&q, 0, x, N, &scratch) && quantile_close(&q, &scratch));
    for (int i = 1; i < 100; i++)
        sum += quantile_at(&q, i * 0.01, 0, 1) - i * 0.01;
    CHECK_NEAR(sum / 99, 0, 1e-4);
    quantile_free(&q);
    free(x);
}

// Up to a block they are those of the numbers themselves, on the straight line between two.
TEST(quantile_of_few_is_exact) {
    double x[] = {5, 1, 4, 2, 3}, four[] = {1, 2, 3, 4};
    struct quantile q = {0}, p = {0};
    REQUIRE(quantile_put(&q, 0, x, 5, &scratch) && quantile_close(&q, &scratch));
    REQUIRE(quantile_put(&p, 0, four, 4, &scratch) && quantile_close(&p, &scratch));
    CHECK_NEAR(quantile_at(&q, 0, 1, 5), 1, 0);
    CHECK_NEAR(quantile_at(&q, 0.5, 1, 5), 3, 0);
    CHECK_NEAR(quantile_at(&q, 0.6, 1, 5), 3.4, 1e-15);
    CHECK_NEAR(quantile_at(&q, 1, 1, 5), 5, 0);
    CHECK_NEAR(quantile_at(&p, 0.5, 1, 4), 2.5, 0);
    quantile_free(&q);
    quantile_free(&p);
}

TEST(quantile_of_what_is_not_finite) {
    double x[] = {(double)INFINITY, 0, (double)NAN, -(double)INFINITY, -0.0};
    struct quantile q = {0}, none = {0}, empty = {0};
    REQUIRE(quantile_put(&q, 0, x, 5, &scratch) && quantile_close(&q, &scratch));
    CHECK(quantile_at(&q, 0, -(double)INFINITY, (double)INFINITY) == -(double)INFINITY);
    double third = quantile_at(&q, 1.0 / 3, -(double)INFINITY, (double)INFINITY);
    CHECK(third == 0 && signbit(third));
    CHECK(quantile_at(&q, 1, -(double)INFINITY, (double)INFINITY) == (double)INFINITY);
    REQUIRE(quantile_put(&none, 0, x + 2, 1, &scratch) && quantile_close(&none, &scratch));
    CHECK(isnan(quantile_at(&none, 0.5, 0, 0)));
    REQUIRE(quantile_close(&empty, &scratch));
    CHECK(isnan(quantile_at(&empty, 0.5, 0, 0)));
    quantile_free(&q);
    quantile_free(&none);
}

// The keys that are left, of all nodes.
static uint64_t digest(const struct quantile *q) {
    uint64_t hash = q->nodes;
    for (uint32_t i = 0; i < q->nodes; i++) {
        const struct quantile_node *n = &q->node[i];
        hash = (hash ^ n->count) * 0x9e3779b97f4a7c15u;
        for (uint32_t k = 0; k < (n->count < QUANTILE_BLOCK ? n->count : QUANTILE_BLOCK); k++)
            hash = (hash ^ n->key[k] ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    }
    return hash;
}

// Pieces of the stream, each with its position, in any order, in any number of parts.
static uint64_t digest_of_pieces(const double *x, size_t n, size_t piece, uint32_t parts) {
    struct quantile part[8] = {0};
    size_t pieces = (n + piece - 1) / piece, *order = malloc(pieces * sizeof *order);
    for (size_t i = 0; i < pieces; i++) {
        size_t k = random_bits() % (i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (size_t i = 0; i < pieces; i++) {
        size_t at = order[i] * piece, count = n - at < piece ? n - at : piece;
        REQUIRE(quantile_put(&part[random_bits() % parts], at, x + at, count, &scratch));
    }
    for (uint32_t i = 1; i < parts; i++)
        REQUIRE(quantile_join(&part[0], &part[i], &scratch));
    REQUIRE(quantile_close(&part[0], &scratch));
    uint64_t hash = digest(&part[0]);
    quantile_free(&part[0]);
    free(order);
    return hash;
}

TEST(quantile_does_not_depend_on_the_order) {
    enum { N = 300007 };
    double *x = malloc(N * sizeof *x);
    for (size_t i = 0; i < N; i++)
        x[i] = i % 97 == 5 ? (double)NAN : make_wide(i, N);
    uint64_t want = digest_of_pieces(x, N, N, 1);
    static const size_t pieces[] = {4096, 8192, 1000, 4097, 100000, 37};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (uint32_t parts = 1; parts <= 8; parts += 3)
            CHECK_MSG(digest_of_pieces(x, N, pieces[i], parts) == want, "pieces of %zu, %u parts",
                      pieces[i], parts);
    free(x);
}

TEST(quantile_refuses_a_position_twice) {
    double x[QUANTILE_BLOCK] = {0};
    struct quantile a = {0}, b = {0};
    REQUIRE(quantile_put(&a, 0, x, 3000, &scratch) && quantile_put(&b, 0, x, 3000, &scratch));
    CHECK(!quantile_join(&a, &b, &scratch));
    CHECK(!quantile_put(&a, 0, x, 3000, &scratch));
    quantile_free(&a);
    quantile_free(&b);
}

// A node as it is after so many values that they cannot be tried.
static struct quantile_node large_node(uint64_t index, uint32_t level, double first) {
    struct quantile_node n = {.index = index, .level = level, .room = QUANTILE_BLOCK};
    n.count = (uint64_t)QUANTILE_BLOCK << level;
    n.key = malloc(QUANTILE_BLOCK * sizeof *n.key);
    for (size_t i = 0; i < QUANTILE_BLOCK; i++)
        n.key[i] = quantile_key(first + (double)(2 * i));
    return n;
}

// Ranks are right up to the largest streams there can be.
TEST(quantile_of_more_than_can_be_counted_to) {
    for (uint32_t level = 36; level <= 50; level++) {
        struct quantile q = {.nodes = 2, .room = 2, .node = malloc(2 * sizeof *q.node)};
        q.node[0] = large_node(0, level, 0);
        q.node[1] = large_node(1, level, 1);
        REQUIRE(quantile_close(&q, &scratch) && q.nodes == 1);
        for (double f = 0.01; f < 1; f += 0.01)
            CHECK_NEAR(quantile_at(&q, f, 0, 2 * QUANTILE_BLOCK), f * 2 * QUANTILE_BLOCK, 2);
        quantile_free(&q);
    }
}

// What is predicted is not exceeded.
TEST(quantile_takes_the_memory_it_says) {
    enum { N = 1000000 };
    struct quantile q = {0};
    double x[1000];
    for (size_t i = 0; i < N; i += 1000) {
        for (size_t k = 0; k < 1000; k++)
            x[k] = uniform();
        REQUIRE(quantile_put(&q, i, x, 1000, &scratch));
        uint64_t bytes = q.room * sizeof *q.node;
        for (uint32_t k = 0; k < q.nodes; k++)
            bytes += q.node[k].room * sizeof *q.node[k].key;
        CHECK_MSG(bytes <= quantile_bytes(N, 0), "%llu after %zu", (unsigned long long)bytes, i);
    }
    quantile_free(&q);
}
