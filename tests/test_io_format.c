// SPDX-License-Identifier: MIT
// Numbers as text: golden cases, and the two properties that define them on random bit patterns:
// they read back exactly, and no shorter decimal does.
#include "check.h"
#include "io/io.h"

static const char *of_double(double x) {
    static char text[4][32];
    static int turn;
    char *out = text[turn++ % 4];
    out[io_format_double(x, out)] = 0;
    return out;
}

static const char *of_float(float x) {
    static char out[32];
    out[io_format_float(x, out)] = 0;
    return out;
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

TEST(format_golden_doubles) {
    static const struct {
        double x;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-3, "-3"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {100, "100"},
        {123456.789, "123456.789"},
        {0.0001, "0.0001"},
        {0.00012345678901234567, "0.00012345678901234567"},
        {0.00001, "1e-5"},
        {9.9e-5, "9.9e-5"},
        {1e15, "1000000000000000"},
        {9007199254740993.0, "9007199254740992"},
        {1e16, "1e16"},
        {1.2345e16, "1.2345e16"},
        {9999999999999998.0, "9999999999999998"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {9.5e-323, "9.4e-323"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201e-308"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {-1.7976931348623157e308, "-1.7976931348623157e308"},
        {6.02214076e23, "6.02214076e23"},
        {1.6e-19, "1.6e-19"},
        {9007199254740992.0, "9007199254740992"},
        {2251799813685248.5, "2251799813685248.5"},
        {2e-44, "2e-44"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(of_double(cases[i].x), cases[i].text);
    CHECK_STR(of_double(NAN), "nan");
    CHECK_STR(of_double(-NAN), "nan");
}

TEST(format_golden_floats) {
    CHECK_STR(of_float(0.1f), "0.1");
    CHECK_STR(of_float(16777216.0f), "16777216");
    CHECK_STR(of_float(1e10f), "10000000000");
    CHECK_STR(of_float(3.4028235e38f), "3.4028235e38");
    CHECK_STR(of_float(1e-45f), "1e-45");
    CHECK_STR(of_float(1.17549435e-38f), "1.1754944e-38");
    CHECK_STR(of_float(-0.0f), "-0");
    CHECK_STR(of_float(-INFINITY), "-inf");
    CHECK_STR(of_float(NAN), "nan");
    CHECK_STR(of_float(33554432.0f * 4), "134217730"); // 134217728, of which fewer digits suffice
}

TEST(format_uint) {
    char out[24];
    for (uint64_t n = 1, i = 0; i < 20; i++, n *= 10)
        for (uint64_t m = n - 1; m <= n + 1; m++) {
            char want[24];
            int length = snprintf(want, sizeof want, "%llu", (unsigned long long)m);
            CHECK_INT(io_format_uint(m, out), length);
            CHECK(memcmp(out, want, (size_t)length) == 0);
        }
    CHECK_INT(io_format_uint(UINT64_MAX, out), 20);
    CHECK(memcmp(out, "18446744073709551615", 20) == 0);
}

static void check_double(double x) {
    const char *text = of_double(x);
    double back = strtod(text, NULL);
    CHECK_MSG(memcmp(&back, &x, sizeof x) == 0, "%a is written %s, which is %a", x, text, back);
    CHECK_MSG(strlen(text) <= 25, "%s is too long", text);
}

// Significant digits of a text, without the zeros before and after.
static int significant(const char *text) {
    int n = 0, last = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n || *text != '0')) {
            n++;
            if (*text != '0')
                last = n;
        }
    return last;
}

TEST(format_random_doubles_read_back) {
    uint64_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        double x = double_of(next_random(&state));
        if (isfinite(x))
            check_double(x);
    }
    for (int i = 0; i < 300000; i++) { // of everyday size
        uint64_t bits = next_random(&state);
        check_double((double)(int64_t)bits * 0x1p-63 * pow(10, (int)(bits % 9) - 4));
        check_double((double)(bits % 1000000) / 1000);
    }
}

TEST(format_boundaries_read_back) {
    for (int e = 0; e < 2047; e++) { // powers of two and their neighbours: the lopsided intervals
        check_double(double_of((uint64_t)e << 52));
        check_double(double_of(((uint64_t)e << 52) + 1));
        check_double(double_of(((uint64_t)e << 52) + 2));
        check_double(double_of(((uint64_t)(e + 1) << 52) - 1));
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        double x = strtod(text, NULL);
        check_double(x);
        check_double(nextafter(x, 0));
        check_double(nextafter(x, INFINITY));
    }
}

TEST(format_doubles_are_shortest_and_nearest) {
    uint64_t state = 2;
    for (int i = 0; i < 30000; i++) {
        double x = double_of(next_random(&state) & ~(1ull << 63));
        if (i % 2) // with a short decimal
            x = (double)(next_random(&state) % 100000) *
                pow(10, (int)(next_random(&state) % 40) - 20);
        if (!isfinite(x) || x == 0)
            continue;
        char want[40];
        int digits = 1;
        for (; digits <= 17;
             digits++) { // %e rounds to nearest, so it is the nearest of that length
            snprintf(want, sizeof want, "%.*e", digits - 1, x);
            if (strtod(want, NULL) == x)
                break;
        }
        const char *got = of_double(x);
        CHECK_MSG(significant(got) <= digits, "%s has more than %d digits", got, digits);
        if (significant(got) == significant(want)) {
            long double slack = (long double)(nextafter(x, INFINITY) - x) / 512,
                        near = fabsl(strtold(got, NULL) - (long double)x),
                        best = fabsl(strtold(want, NULL) - (long double)x);
            CHECK_MSG(near <= best + slack, "%s is not as near as %s", got, want);
        }
    }
}

static void check_float(uint32_t bits) {
    float x = float_of(bits);
    if (!isfinite(x))
        return;
    const char *text = of_float(x);
    float back = strtof(text, NULL);
    CHECK_MSG(memcmp(&back, &x, sizeof x) == 0, "%a is written %s", (double)x, text);
    float narrowed = (float)strtod(text, NULL); // what NumPy users do
    CHECK_MSG(memcmp(&narrowed, &x, sizeof x) == 0, "%s does not survive a double", text);
}

TEST(format_random_floats_read_back) {
    uint64_t state = 3;
    for (int i = 0; i < 500000; i++)
        check_float((uint32_t)next_random(&state));
    for (uint32_t e = 0; e < 255; e++) {
        check_float(e << 23);
        check_float((e << 23) + 1);
        check_float(((e + 1) << 23) - 1);
    }
}

LONG_TEST(format_all_floats_read_back) {
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 7)
        check_float(bits);
}

TEST(format_floats_are_shortest) {
    uint64_t state = 4;
    for (int i = 0; i < 20000; i++) {
        float x = float_of((uint32_t)next_random(&state) & 0x7fffffffu);
        if (!isfinite(x) || x == 0)
            continue;
        char want[40];
        int digits = 1;
        for (; digits <= 9; digits++) {
            snprintf(want, sizeof want, "%.*e", digits - 1, (double)x);
            if (strtof(want, NULL) == x)
                break;
        }
        CHECK_MSG(significant(of_float(x)) <= digits, "%s has more than %d digits", of_float(x),
                  digits);
    }
}
