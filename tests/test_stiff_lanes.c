// SPDX-License-Identifier: MIT
// Implicit steps give the same bits everywhere: in one lane of a CPU, in all its lanes, on
// devices, with refill and chunks turned this way and that; as statements, as loops over tables,
// and in the workspace.
#include "device_test.h"
#include "listing.h"

enum { ROWS = 67 };

static const char robertson[] =
    "par k=0.04; init a=1; a'=-k*a+1e4*b*c; b'=k*a-1e4*b*c-3e7*b^2; c'=3e7*b^2; aux s=a+b+c";
// Depends on time; q < 0 is not a number from the start.
static const char driven[] =
    "par w=1, q=1; init x=1; x'=-1e4*w*(x-1/(1+t))-1/(1+t)^2; y'=x-y*y*t+sqrt(q)-1;"
    "z'=1e3*(y-z)+t*t";

static char *ring(int n) { // a neighbour two places away: some fill-in
    struct buf m = {0};
    buf_puts(&m, "par D=1;");
    for (int i = 0; i < n; i++)
        buf_printf(&m, "init u%d=%d; u%d'=D*100*(u%d-2*u%d+u%d)-u%d*u%d^2+1;", i, i % 3, i,
                   (i + 1) % n, i, (i + n - 1) % n, i, (i + 2) % n);
    REQUIRE(!m.failed);
    return m.data;
}

static char *full(int n) { // every state in every equation
    struct buf m = {0};
    buf_puts(&m, "par D=1; s=x0");
    for (int i = 1; i < n; i++)
        buf_printf(&m, "+x%d", i);
    for (int i = 0; i < n; i++)
        buf_printf(&m, ";init x%d=%d; x%d'=-D*%d*x%d*s+0.01*s^2", i, 1 + i % 3, i, 1 + i, i);
    REQUIRE(!m.failed);
    return m.data;
}

static struct inputs sweep(const char *name, double a, double b) {
    const char *names[RIG_NAMES] = {name};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) // decades, not in order
        in.value[0][i] = a * pow(b / a, (double)(i * 29 % ROWS) / (ROWS - 1));
    return in;
}

LONG_DEVICE_TEST(stiff_rodas5p) {
    device_compare(device, robertson, "method=rodas5p t1=1e3", sweep("k", 1e-3, 10));
    device_compare(device, robertson, "method=rodas5p t1=1e3 precision=f32", sweep("k", 1e-3, 10));
}

LONG_DEVICE_TEST(stiff_other_methods) {
    device_compare(device, robertson, "method=rosenbrock23 t1=40 rtol=1e-4", sweep("k", 1e-3, 10));
    device_compare(device, robertson, "method=ros3p t1=40 save=n=7", sweep("k", 1e-3, 10));
    device_compare(device, robertson, "method=rodas3p t1=40", sweep("k", 1e-3, 10));
    device_compare(device, robertson, "method=rodas4 t1=40 vars=s,b", sweep("k", 1e-3, 10));
}

// With rows of `driven` that fail.
static struct inputs sweep_and_fail(void) {
    struct inputs in = sweep("w", 0.01, 100);
    in.name[1] = "q";
    in.value[1] = calloc(ROWS, sizeof(double));
    REQUIRE(in.value[1]);
    for (uint64_t i = 0; i < ROWS; i++)
        in.value[1][i] = i % 9 == 4 ? -1 : 1;
    return in;
}

LONG_DEVICE_TEST(stiff_time_and_failures) {
    device_compare(device, driven, "method=rodas4 t1=3 save=n=9", sweep_and_fail());
    device_compare(device, driven, "method=rodas5p t0=2 t1=1.999", sweep("w", 0.01, 100));
    device_compare(device, driven, "method=rodas4 controller=fixed dt=0.01 t1=1",
                   sweep("w", 0.01, 100));
}

DEVICE_TEST(stiff_sizes) {
    char *between = full(14);
    device_compare(device, between, "method=rodas5p t1=0.1", sweep("D", 0.1, 10)); // see below
    free(between);
}

LONG_DEVICE_TEST(stiff_more_sizes) {
    char *large = ring(140), *twenty = ring(20), *dense = full(34);
    char *matrix = full(46); // too large for a thread, which its states are not
    device_compare(device, large, "method=ros3p t1=0.1 rtol=1e-3", sweep("D", 0.1, 10));
    device_compare(device, twenty, "method=rodas5p t1=1", sweep("D", 0.1, 10));
    device_compare(device, dense, "method=rodas4 t1=0.1 save=n=3", sweep("D", 0.1, 10));
    device_compare(device, matrix, "method=ros3p t1=0.01 rtol=1e-3", sweep("D", 0.1, 10));
    free(matrix);
    free(large);
    free(twenty);
    free(dense);
}

// ---- Newton iterations --------------------------------------------------------------------------

// Lanes of a vector take different numbers of them.
LONG_DEVICE_TEST(stiff_dirk) {
    device_compare(device, robertson, "method=kvaerno3 t1=1e3", sweep("k", 1e-3, 10));
    device_compare(device, robertson, "method=trbdf2 t1=40 rtol=1e-4", sweep("k", 1e-3, 10));
    device_compare(device, driven, "method=sdirk4 t1=3 save=n=9", sweep_and_fail());
}

LONG_DEVICE_TEST(stiff_collocation) {
    device_compare(device, robertson, "method=radau5 t1=1e3", sweep("k", 1e-3, 10));
    device_compare(device, robertson, "method=radau5 t1=1e3 precision=f32", sweep("k", 1e-3, 10));
    device_compare(device, driven, "method=gauss-legendre-4 t1=1 rtol=1e-4 save=n=9",
                   sweep_and_fail());
}

// The fast component of some rows is out of reach for iterations from the start of a step.
LONG_DEVICE_TEST(stiff_newton_fixed_steps) {
    static const char kink[] = "par k=1; init x=1, y=1; x'=-1+k*max(0.5-x,0)+t; y'=-y*y*y";
    device_compare(device, kink, "method=backward-euler controller=fixed dt=0.01 t1=1",
                   sweep("k", 1, 1e6));
    device_compare(device, driven, "method=crank-nicolson controller=fixed dt=0.01 t1=1",
                   sweep_and_fail());
    device_compare(device, kink, "method=radau5 controller=fixed dt=0.01 t0=1 t1=0 save=n=4",
                   sweep("k", 1, 1e6));
}

// Complex numbers as statements on a CPU, as loops on devices (see below).
LONG_DEVICE_TEST(stiff_newton_loops) {
    char *between = full(14);
    device_compare(device, between, "method=radau5 t1=0.1", sweep("D", 0.1, 10));
    free(between);
}

static void newton_size(const char *device, char *model) {
    device_compare(device, model, "method=kvaerno3 t1=0.1 rtol=1e-3", sweep("D", 0.1, 10));
    device_compare(device, model, "method=radau5 t1=0.1 rtol=1e-3 save=n=3", sweep("D", 0.1, 10));
    free(model);
}
LONG_DEVICE_TEST(stiff_newton_workspace) { newton_size(device, ring(140)); }
LONG_DEVICE_TEST(stiff_newton_ring) { newton_size(device, ring(20)); }
LONG_DEVICE_TEST(stiff_newton_between) { newton_size(device, full(14)); }
LONG_DEVICE_TEST(stiff_newton_dense) { newton_size(device, full(34)); }

// ---- Ways to run --------------------------------------------------------------------------------

// A dense system whose factorisation is written out on a CPU and is loops on devices: above, their
// bits are compared.
TEST(stiff_statements_and_loops) {
    static const char *const names[] = {"rodas5p", "kvaerno3", "radau5"};
    static const struct shoal_target targets[] = {
        {.name = "x86-64-v3", .prelude = "prelude_c.h", .lanes64 = 4},
        {.name = "opencl", .prelude = "prelude_opencl.h", .device = true, .lanes64 = 1}};
    char *model = full(14);
    for (size_t i = 0; i < 6; i++) {
        char options[64];
        snprintf(options, sizeof options, "method=%s t1=1", names[i / 2]);
        struct listing s = listing_new(model, options, &targets[i % 2]);
        CHECK_HAS(s.kernel.text.data, i % 2 ? "#define LU_LOOPS 1" : "#define LU_LOOPS 0");
        listing_free(&s);
    }
    free(model);
}

LONG_DEVICE_TEST(stiff_refill_and_chunks) {
    static const char *const options[] = {"method=rodas4 t1=100 save=n=4",
                                          "method=radau5 t1=100 save=n=4"};
    for (int i = 0; i < 2; i++)
        device_compare_chunks(device, robertson, options[i], sweep("k", 1e-3, 10));
}
