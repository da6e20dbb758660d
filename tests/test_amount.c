// SPDX-License-Identifier: MIT
// Counts and sizes as people write them.
#include "check.h"

#include "base/amount.h"

struct sample {
    const char *text;
    uint64_t count, bytes; // NOT: refused
};
#define NOT UINT64_C(0xdeadbeef00000000)

static void check_one(const char *text, bool good, uint64_t value, uint64_t wanted) {
    if (wanted == NOT)
        CHECK_MSG(!good, "'%s' is taken as %llu", text, (unsigned long long)value);
    else
        CHECK_MSG(good && value == wanted, "'%s' is %s%llu, not %llu", text, good ? "" : "refused ",
                  (unsigned long long)value, (unsigned long long)wanted);
}

TEST(amount_reads) {
    static const struct sample samples[] = {
        {"0", 0, 0},
        {"4096", 4096, 4096},
        {"1k", 1000, 1024},
        {"1K", 1000, 1024},
        {"1M", 1000000, 1048576},
        {"2g", 2000000000, UINT64_C(2) << 30},
        {"1T", UINT64_C(1000000000000), UINT64_C(1) << 40},
        {"64Ki", 65536, 65536},
        {"1Mi", 1048576, 1048576},
        {"800MB", NOT, UINT64_C(800) << 20},
        {"2GiB", NOT, UINT64_C(2) << 30},
        {"512B", NOT, 512},
        {"1e6", 1000000, 1000000},
        {"1E+6", 1000000, 1000000},
        {"1e3k", 1000000, 1024000},
        {"25e-1k", 2500, 2560},
        {"1.5k", 1500, 1536},
        {".5k", 500, 512},
        {"1.50000000000000000000000000k", 1500, 1536},
        {"0.1k", 100, 102}, // a part of a byte is dropped
        {"1.0", 1, 1},
        {"100000000000000000000000e-20", 1000, 1000},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX},
        {"18446744073709551616", NOT, NOT},
        {"99999999T", NOT, NOT},
        {"1e400", NOT, NOT},
        {"1e99999999999999999999", NOT, NOT},
        {"0e99999999999999999999", 0, 0},
        {"1e-99999999999999999999", NOT, NOT},
        {"1.5", NOT, NOT},
        {"1.0001k", NOT, 1024},
        {"", NOT, NOT},
        {"k", NOT, NOT},
        {".", NOT, NOT},
        {"-1", NOT, NOT},
        {"+1", NOT, NOT},
        {" 1", NOT, NOT},
        {"1 ", NOT, NOT},
        {"1 k", NOT, NOT},
        {"1kk", NOT, NOT},
        {"1ki", 1024, 1024},
        {"1i", NOT, NOT},
        {"1e", NOT, NOT},
        {"1x", NOT, NOT},
        {"0x10", NOT, NOT},
        {"1.2.3", NOT, NOT},
        {"inf", NOT, NOT},
        {"nan", NOT, NOT},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        uint64_t count = 0, bytes = 0;
        bool counted = amount_count(samples[i].text, &count);
        bool sized = amount_bytes(samples[i].text, &bytes);
        check_one(samples[i].text, counted, count, samples[i].count);
        check_one(samples[i].text, sized, bytes, samples[i].bytes);
    }
}
