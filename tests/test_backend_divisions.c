// SPDX-License-Identifier: MIT
// Divisions and square roots on a device: the bits of the CPU's, whatever the numbers are. Where a
// device has quick ones for the usual numbers, these models have enough to get them.
#include "device_test.h"

// Results that are not finite would end a run: they become large numbers. A sum with -0 keeps the
// sign of a 0.
static const char divisions[] =
    "par a=1, b=1, zero=0; clip(x)=min(max(x,-3e38),3e38); x[1..10](0)=zero;"
    "x1'=clip(a/b); x2'=clip(b/a); x3'=clip(1/a); x4'=clip(3/b); x5'=clip(sqrt(a));"
    "x6'=clip(sqrt(b)); x7'=clip(-a/(b+1)); x8'=clip(1e-30/b); x9'=clip(1/(a*b));"
    "x10'=clip(sqrt(a*b))";

static const double special[] = {
    0,         0x1p-149,       0x1.8p-140, 0x1.fffffcp-127, 0x1p-126, 0x1.fp-126,
    0x1p-102,  0x1.8p-101,     0x1p-61,    0x1p-60,         0x1.2p-3, 1,
    0x1.8p0,   0x1.fffffep0,   3,          0x1p60,          0x1p61,   0x1p100,
    0x1.8p125, 0x1.000002p126, 0x1p127,    0x1.fffffep127,  -1,       -0x1.234566p-5,
    -0.0,      -0x1p-130,      -0x1p-50,   -0x1p90,         -7,       0x1.5p40,
};
enum { SPECIALS = sizeof special / sizeof *special, ORDINARY = 400 };

DEVICE_TEST(divisions) {
    const char *names[RIG_NAMES] = {"a", "b", "zero"};
    struct inputs in = inputs_new(SPECIALS * SPECIALS + ORDINARY, names);
    for (uint64_t i = 0; i < in.rows; i++) {
        uint64_t k = i - SPECIALS * SPECIALS;
        bool ordinary = i >= SPECIALS * SPECIALS; // whole warps of them
        in.value[0][i] = ordinary ? (float)sin((double)k) : special[i % SPECIALS];
        in.value[1][i] = ordinary ? (float)(1 + 2 * cos((double)k)) : special[i / SPECIALS];
        in.value[2][i] = -0.0;
    }
    device_compare(device, divisions, "method=euler dt=1 t1=1 precision=f32", in);
}

// Numbers from `first` on, 32 in a row, `ulp` apart.
static struct inputs mantissas(uint64_t rows, double first, double ulp) {
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(rows, names);
    uint64_t stride = ((uint64_t)1 << 18) / rows;
    for (uint64_t i = 0; i < rows; i++)
        in.value[0][i] = first + 32 * ulp * (double)(i * stride);
    return in;
}

// All mantissas, on a GPU. The hardware's approximations, from which quick reciprocals and roots
// come, must be good enough for each.
LONG_DEVICE_TEST(mantissas) {
    static const char options[] = "method=euler dt=1 t1=1 precision=f32";
    uint64_t rows = (uint64_t)1 << (strncmp(device, "cuda", 4) ? 8 : 18);
    const double ulp = 0x1p-23;
    device_compare(device, "par a=1; init x[0..31]=0; x[0..31]'=1/(a+[j]*2^(-23))", options,
                   mantissas(rows, 1, ulp));
    device_compare(device, "par a=1; init x[0..31]=0; x[0..31]'=sqrt(a+[j]*2^(-23))", options,
                   mantissas(rows, 1, ulp));
    device_compare(device, "par a=1; init x[0..31]=0; x[0..31]'=sqrt(a+[j]*2^(-22))", options,
                   mantissas(rows, 2, 2 * ulp));
}
