// SPDX-License-Identifier: MIT
// Bessel functions and lgamma: in kernels of every target they have the values of the C library,
// and implicit methods have their derivatives.
#include "check.h"
#include "solve.h"

TEST(special_functions_in_a_kernel) {
    static const char model[] = "x'=1; init x=0.5; aux a=besselj(2,x); aux b=bessely(1,x);"
                                "aux c=besseli(1,x); aux d=lgamma(x); @ t1=2";
    struct solved s = solve(model, NULL, "method=rk4 dt=0.25 vars=a,b,c,d");
    CHECK_NEAR(solved_value(&s, 0, 0, 0), jn(2, 2.5), 1e-12);
    CHECK_NEAR(solved_value(&s, 1, 0, 0), yn(1, 2.5), 1e-12);
    CHECK_NEAR(solved_value(&s, 2, 0, 0), 2.5167162452886984, 1e-12);
    CHECK_NEAR(solved_value(&s, 3, 0, 0), lgamma(2.5), 1e-12);
    solved_free(&s);
}

// Without the right derivative a Rosenbrock method loses its order.
LONG_TEST(special_derivatives_in_a_kernel) {
    static const char *const rights[] = {"besselj(0,x)", "bessely(0,x)", "besseli(0,x)",
                                         "lgamma(x)"};
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
        char model[128];
        snprintf(model, sizeof model, "x'=-10*(%s-0.1)*x; init x=1.5; @ t1=1", rights[i]);
        struct solved a = solve(model, NULL, "method=dop853 rtol=1e-10 atol=1e-12");
        struct solved b = solve(model, NULL, "method=rodas5p rtol=1e-10 atol=1e-12");
        CHECK_NEAR(solved_value(&b, 0, 0, 0), solved_value(&a, 0, 0, 0), 1e-8);
        solved_free(&a);
        solved_free(&b);
    }
}

static shoal_code on_opencl(const char *expression, const char *part) {
    char text[128];
    snprintf(text, sizeof text, "x'=%s\ninit x=1\n@ t1=1\n", expression);
    const char *path = check_path("m.ode");
    check_write(path, text);
    struct check_output o = RUN(check_shoal(), "run", path, "--device", "opencl:0", "-o", "-");
    if (strstr(o.err, "not usable") || strstr(o.err, "no OpenCL") || strstr(o.err, "no device"))
        check_skip("no OpenCL device");
    CHECK_HAS(o.err, part);
    return o.status;
}

// What the target has no function for is refused by name.
TEST(special_functions_on_opencl) {
    CHECK_INT(on_opencl("besselj(0,x)", "`besselj` is not there on OpenCL devices"), 1);
    CHECK_INT(on_opencl("bessely(0,x)", "`bessely` is not there on OpenCL devices"), 1);
    CHECK_INT(on_opencl("besseli(0,x)+lgamma(x)", ""), 0);
}
