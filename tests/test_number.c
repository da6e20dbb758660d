// SPDX-License-Identifier: MIT
// Numbers out of text: where they end, what they are to the last bit, in any locale.
#include "check.h"

#include "base/number.h"

#include <locale.h>

static const struct {
    const char *text;
    int plain, with_sign, before_dots, json; // bytes of the number
} ends[] = {
    {"", 0, 0, 0, 0},      {"1", 1, 1, 1, 1},    {"12.5", 4, 4, 4, 4},  {"1.", 2, 2, 2, 1},
    {".5", 2, 2, 2, 0},    {".", 0, 0, 0, 0},    {"..5", 0, 0, 0, 0},   {"1..3", 2, 2, 1, 1},
    {"1.5.3", 3, 3, 3, 3}, {"-1", 0, 2, 0, 2},   {"+1", 0, 2, 0, 0},    {"--1", 0, 0, 0, 0},
    {"-", 0, 0, 0, 0},     {"-.5", 0, 3, 0, 0},  {"01", 2, 2, 2, 1},    {"-01.5", 0, 5, 0, 2},
    {"00", 2, 2, 2, 1},    {"0.0", 3, 3, 3, 3},  {"1e5", 3, 3, 3, 3},   {"1E+05", 5, 5, 5, 5},
    {"1e-", 1, 1, 1, 1},   {"1e", 1, 1, 1, 1},   {"1e5.2", 3, 3, 3, 3}, {"1.e3", 4, 4, 4, 1},
    {"e5", 0, 0, 0, 0},    {"0x10", 1, 1, 1, 1}, {"inf", 0, 0, 0, 0},   {"nan", 0, 0, 0, 0},
    {" 1", 0, 0, 0, 0},    {"1 ", 1, 1, 1, 1},   {"1,5", 1, 1, 1, 1},
};

TEST(number_ends) {
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *text = ends[i].text;
        size_t length = strlen(text);
        double x;
        CHECK_INT(number_read(text, length, NUMBER_PLAIN, &x), ends[i].plain);
        CHECK_INT(number_read(text, length, NUMBER_SIGNED, &x), ends[i].with_sign);
        CHECK_INT(number_read(text, length, NUMBER_BEFORE_DOTS, &x), ends[i].before_dots);
        CHECK_INT(number_read(text, length, NUMBER_JSON, &x), ends[i].json);
        bool all = length && (size_t)ends[i].with_sign == length;
        CHECK_MSG(number_all(text, length, NUMBER_SIGNED, &x) == all, "%s", text);
    }
    double x;
    CHECK_INT(number_read("1234", 2, NUMBER_PLAIN, &x), 2); // nothing behind the end counts
    CHECK(x == 12);
    CHECK_INT(number_read("1e5", 2, NUMBER_PLAIN, &x), 1);
    CHECK_INT(number_read("1..", 2, NUMBER_BEFORE_DOTS, &x), 2);
}

static void check_value(const char *text) {
    double got = NAN, want = strtod(text, NULL);
    CHECK_MSG(number_all(text, strlen(text), NUMBER_SIGNED, &got), "%.60s is refused", text);
    CHECK_MSG(memcmp(&got, &want, sizeof got) == 0, "%.60s is %a, not %a", text, got, want);
}

// Halfway between two doubles, just above and below, at the ends of the range, and long.
static const char *const hard[] = {
    "0",
    "-0",
    "0e999999999999",
    "-0.0e-400",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0000000000000000000000000000000001",
    "9007199254740995",
    "0.1",
    "0.30000000000000004",
    "1e22",
    "1e23",
    "-1e23",
    "8.5e22",
    "123456789012345678",
    "18446744073709551615",
    "18446744073709551616",
    "184467440737095516150",
    "1.8446744073709551615e-20",
    "100000000000000000000000000000000000000000",
    "0.000000000000000000000000000000000000000001",
    "2.2250738585072011e-308",
    "2.2250738585072012e-308",
    "2.4703282292062327208e-324",
    "2.4703282292062328e-324",
    "4.9406564584124654e-324",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "1e309",
    "-1e400",
    "1e-400",
    "1e99999999999999999999",
    "1e-99999999999999999999",
    "7.2057594037927933e16",
    "6929495644600919.5",
    "3.518437208883201171875e13",
    "62.5364939768271845828",
    "8.10109172351e-10",
    "1.50000000000000011102230246251565",
    "1.500000000000000000000000000000000",
};

TEST(number_values) {
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        check_value(hard[i]);
}

// 1 + 2^-53 is halfway to the next double: what follows, however far away, decides.
TEST(number_long_texts) {
    static const char half[] = "1.00000000000000011102230246251565404236316680908203125";
    static const size_t lengths[] = {10, 700, 745, 746, 747, 748, 749, 800, 5000, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = strlen(half), total = n + lengths[i];
        char *text = malloc(total + 32);
        REQUIRE(text);
        memcpy(text, half, n);
        memset(text + n, '0', lengths[i]);
        text[total] = 0;
        check_value(text);
        text[total - 1] = '1';
        check_value(text);
        double x;
        CHECK(number_all(text, total, NUMBER_PLAIN, &x) && x == nextafter(1, 2));
        strcpy(text + total, "e-300");
        check_value(text);
        memset(text, '0', total); // zeros, then something
        text[1] = '.';
        snprintf(text + total, 32, "37e%zu", total);
        check_value(text);
        memset(text, '9', total); // too large, unless the exponent says otherwise
        text[total] = 0;
        check_value(text);
        snprintf(text + total, 32, "e-%zu", total);
        check_value(text);
        free(text);
    }
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void random_number(uint64_t *state, char *text) {
    uint64_t bits = next_random(state);
    size_t digits = 1 + bits % 40, point = bits >> 8 & 63, n = 0;
    if (bits >> 16 & 1)
        text[n++] = bits >> 17 & 1 ? '-' : '+';
    for (size_t i = 0; i < digits; i++) {
        if (i == point)
            text[n++] = '.';
        uint64_t r = next_random(state);
        text[n++] = (char)('0' + (r & 3 ? r >> 8 : 0) % 10); // many zeros
    }
    text[n] = 0;
    if (bits >> 18 & 1)
        sprintf(text + n, "%c%+d", bits >> 19 & 1 ? 'e' : 'E', (int)(bits >> 20 & 1023) - 600);
}

TEST(number_random_values) {
    uint64_t state = 7;
    char text[128];
    for (int i = 0; i < 300000; i++) {
        random_number(&state, text);
        check_value(text);
    }
    for (int i = 0; i < 200000; i++) { // all the digits of doubles
        uint64_t bits = next_random(&state);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        snprintf(text, sizeof text, "%.*e", (int)(bits % 20) + 10, x);
        check_value(text);
    }
}

// Up to 20 digits and a small exponent, and their neighbours halfway between two doubles.
TEST(number_everyday_values) {
    uint64_t state = 11;
    char text[128];
    for (int i = 0; i < 500000; i++) {
        uint64_t bits = next_random(&state);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)(bits >> (bits & 15)),
                 (int)(next_random(&state) % 48) - 24);
        check_value(text);
    }
    for (int i = 0; i < 200000; i++) {
        double x = ldexp((double)(next_random(&state) >> 11), -(int)(i % 60));
        snprintf(text, sizeof text, "%.*g", 16 + i % 4, (x + nextafter(x, INFINITY)) / 2);
        check_value(text);
        uint64_t whole = next_random(&state) >> 10 | 1; // 54 bits: odd ones are halfway
        snprintf(text, sizeof text, "%llu", (unsigned long long)whole);
        check_value(text);
        snprintf(text, sizeof text, "%llu.%s", (unsigned long long)whole, i & 1 ? "0" : "00001");
        check_value(text);
        snprintf(text, sizeof text, "%llu.5", (unsigned long long)(whole >> 2)); // and halves
        check_value(text);
    }
}

TEST(number_obeys_no_locale) {
    double x = 0;
    check_comma_locale();
    REQUIRE(*localeconv()->decimal_point == ',');
    CHECK(number_all("0.12345678901234567890123", 25, NUMBER_PLAIN, &x));
    CHECK(x == 12345678901234567890123e-23);
    CHECK(number_all("2.4703282292062328e-324", 23, NUMBER_PLAIN, &x) && x > 0);
    CHECK(!number_all("0,5", 3, NUMBER_PLAIN, &x));
}

TEST(number_decimals) {
    struct decimal d;
    CHECK_INT(number_scan("-12.500e3x", 10, NUMBER_SIGNED, &d), 9);
    CHECK(d.exact && d.minus && d.digits == 12500 && d.exponent == 0);
    CHECK_INT(number_scan("1.500000000000000000000000000000000", 35, NUMBER_PLAIN, &d), 35);
    CHECK(d.exact && d.digits == UINT64_C(1500000000000000000) && d.exponent == -18);
    CHECK_INT(number_scan("18446744073709551616", 20, NUMBER_PLAIN, &d), 20);
    CHECK(!d.exact && d.exponent == 0);
    CHECK_INT(number_scan("0.000", 5, NUMBER_PLAIN, &d), 5);
    CHECK(d.exact && d.digits == 0);
}
