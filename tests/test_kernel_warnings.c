// SPDX-License-Identifier: MIT
// Kernels are compiled without a warning, by gcc and by clang: at run time they are compiled with
// warnings off, so that a user sees none. Each method once, in turn with each precision, loop, kind
// of output and width, and models that use what others do not. Nothing is run.
//
// Let pass are functions, parameters and rows of a tableau that a method or model has no use for:
// they are there for those that have; and vectors that are set lane by lane, which gcc takes for
// unset ones.
#include "check.h"
#include "listing.h"
#include "ode/method/method.h"
#include "ode/model/op.h"

static const struct width {
    struct shoal_target target;
    const char *march;
} widths[] = {
    {{.name = "scalar", .prelude = "prelude_c.h", .lanes64 = 1}, "-march=x86-64"},
    {{.name = "x86-64-v3", .prelude = "prelude_c.h", .lanes64 = 4, .sleef_suffix = "avx2"},
     "-march=x86-64-v3"},
    {{.name = "x86-64-v4", .prelude = "prelude_c.h", .lanes64 = 8, .sleef_suffix = "avx512f"},
     "-march=x86-64-v4"},
};
enum { WIDTHS = sizeof widths / sizeof *widths };

static const char lorenz[] = "par rho=28; const sigma=10, beta=8/3; init x=1, y=0, z=0;"
                             "x'=sigma*(y-x); y'=x*(rho-z)-y; z'=x*y-beta*z";
static const char algebraic[] = "par q=1; init x=1; x'=-a*t; alg a=1, b=1; 0=a+q*a^3-2*x; 0=b-a*b";
static const char begun[] = "par a=1; init x=1; y(0)=b*a; !b=sqrt(x)+t; !c=y/b; x'=-c*x; y'=-b*y;"
                            "aux s=x+y";

static const char eventful[] =
    "par a=1, b=2; init x=1, y=0; !d=2*a; x'=y*d; y'=-x; event up when x rising : x=a;"
    "event low when x<0 & y>0 : a=b, y=x, stop; event at1 at a, b : x=0; "
    "event round every d from a until 9 : y=1; event tick every b : b=b+1";
static const char timed[] = "init x=1; x'=-x; event e at 1 : x=2";

static const char *const flags[] = {
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wfloat-conversion",
    "-Wdouble-promotion",
    "-Wstrict-prototypes",
    "-Wno-maybe-uninitialized",
    "-Wno-unknown-warning-option", // of clang, which does not know the one above
    "-Wno-unused-function",
    "-Wno-unused-parameter",
    "-Wno-unused-const-variable",
    "-Werror",
    "-ffp-contract=off",
    "-fno-math-errno",
};
enum { FLAGS = sizeof flags / sizeof *flags };

// more: words for the compiler, up to a NULL.
static void compile(const char *compiler, const char *const *more, const char *source,
                    const char *what) {
    const char *argv[40] = {compiler};
    const char *path = check_path("kernel.c");
    int n = 1;
    check_write(path, source);
    for (size_t i = 0; i < FLAGS; i++)
        argv[n++] = flags[i];
    while (*more)
        argv[n++] = *more++;
    argv[n++] = path;
    struct check_output o = check_command(argv);
    CHECK_MSG(o.status == 0, "%s, %s:\n%.3000s", compiler, what, o.err);
}

// Both units of the kernel for a width. The optimiser sees more, and takes longer.
static void compile_cpu(const char *compiler, const char *model, const char *options,
                        const struct width *w, bool optimised) {
    static const char *const parts[] = {"-DSHOAL_PART=1", "-DSHOAL_PART=2"};
    struct listing s = listing_new(model, options, &w->target);
    const char *object = check_path("kernel.o");
    char what[256];
    for (int i = 0; i < 2; i++) {
        const char *const quick[] = {"-std=gnu11", w->march, parts[i], "-fsyntax-only", NULL};
        const char *const full[] = {"-std=gnu11", w->march, parts[i], "-O2",
                                    "-c",         "-o",     object,   NULL};
        snprintf(what, sizeof what, "%s, %s, %s", options, w->march, parts[i]);
        compile(compiler, optimised ? full : quick, s.kernel.text.data, what);
    }
    listing_free(&s);
}

// A model that uses every function.
static char *functions(void) {
    struct buf m = {0};
    buf_puts(&m, "par a=0.5, b=2; !d=a*b+1; x(0)=d/4+t; init y=0.2;"
                 "y'=if(x>a and not(y==b))then(-y^a)else(x/(y+b)-t)+(x<=a or y!=0)*d; x'=-x");
    for (unsigned op = OP_SIN; op < OP_COUNT; op++)
        buf_printf(&m, op_operands[op] == 2 ? "+%s(x,y+1)" : "+%s(x)", op_names[op]);
    REQUIRE(!m.failed);
    return check_keep(m.data);
}

static void need(const char *compiler) {
    if (RUN(compiler, "--version").status)
        check_skip("no %s here", compiler);
#ifndef __x86_64__
    check_skip("the kernels are for another processor");
#endif
}

static void every_method(const char *compiler) {
    char options[160];
    need(compiler);
    for (uint32_t i = 0; i < method_count; i++) {
        bool fixed = !methods[i].embedded || i % 5 == 4;
        snprintf(options, sizeof options, "method=%s t1=1 precision=%s save=%s%s", methods[i].name,
                 i % 2 ? "f32" : "f64", i / 2 % 2 ? "n=5" : "final",
                 fixed ? " controller=fixed dt=0.1" : "");
        compile_cpu(compiler, i % 3 ? lorenz : begun, options, &widths[i % WIDTHS], false);
    }
}
TEST(kernel_warnings_of_gcc_for_every_method) { every_method("gcc"); }
TEST(kernel_warnings_of_clang_for_every_method) { every_method("clang"); }

// Each of two compilers takes half of them; all in the long tests.
static void every_kind(const char *compiler, unsigned half) {
    static const char *const options[] = {
        "method=tsit5 t1=1 save=n=5 counters=on",
        "method=rk4 dt=0.1 t1=1 precision=f32 counters=on",
        "method=auto t1=1",
        "method=rodas4 t1=1 save=n=5 precision=f32",
        "method=kvaerno3 t1=1 counters=on",
        "method=radau5 t1=1 save=n=3",
        "method=auto t1=1 precision=f32 summary=max(x),min(x),mean(x),h=histogram(x,0,1,3)",
        "method=rodas4 t1=1 summary=a=std(x*x),p=peaks(x,3),q=quantile(x,0.5),n=crossings(x,0.5)",
    };
    need(compiler);
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        if (check_does(i, half, 2))
            compile_cpu(compiler, begun, options[i], &widths[i % WIDTHS], true);
        if (check_does(i, !half, 2))
            compile_cpu(compiler, i % 3 ? eventful : timed, options[i], &widths[i % WIDTHS], true);
        if (check_does(i, half, 4))
            compile_cpu(compiler, functions(), options[i], &widths[(i + 1) % WIDTHS], false);
        if (i > 2 && check_does(i, half, 2))
            compile_cpu(compiler, algebraic, options[i], &widths[(i + 2) % WIDTHS], true);
    }
}
LONG_TEST(kernel_warnings_of_gcc_when_it_optimises) { every_kind("gcc", 0); }
LONG_TEST(kernel_warnings_of_clang_when_it_optimises) { every_kind("clang", 1); }

// Kernels of OpenCL are C too.
TEST(kernel_warnings_of_opencl) {
    static const struct shoal_target opencl = {
        .name = "opencl", .prelude = "prelude_opencl.h", .device = true, .lanes64 = 1};
    static const char *const options[] = {
        "method=tsit5 t1=1 save=n=5",
        "method=rk4 dt=0.1 t1=1 precision=f32",
        "method=auto t1=1",
        "method=rodas4 t1=1 save=n=5 precision=f32",
        "method=kvaerno3 t1=1 counters=on",
        "method=radau5 t1=1 save=n=3",
        "method=auto t1=1 precision=f32 summary=max(x),min(x),mean(x),h=histogram(x,0,1,3)",
        "method=rodas4 t1=1 summary=a=std(x*y),p=peaks(y,3),q=quantile(x,0.5),n=crossings(x,y)",
    };
    static const char *const more[] = {"-x",
                                       "cl",
                                       "-cl-std=CL1.2",
                                       "-fsyntax-only",
                                       "-Xclang",
                                       "-finclude-default-header",
                                       "-Wno-constant-logical-operand",
                                       NULL};
    need("clang");
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        struct listing s = listing_new(i % 2 ? lorenz : begun, options[i], &opencl);
        compile("clang", more, s.kernel.text.data, options[i]);
        listing_free(&s);
        s = listing_new(i % 3 ? eventful : timed, options[i], &opencl);
        compile("clang", more, s.kernel.text.data, options[i]);
        listing_free(&s);
    }
}
