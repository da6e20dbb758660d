// SPDX-License-Identifier: MIT
// Kernel source: golden text, the same bytes whenever the input is the same, no name of the user in
// it, numbers that read back exactly, long functions in parts.
//
// Golden files (tests/golden/codegen_*.txt) hold the generated components, not the files of
// kernels/. After an intended change: SHOAL_GOLDEN=renew build/test codegen_golden, then read the
// difference.
#include "check.h"
#include "listing.h"
#include "rig.h"

static const struct shoal_target avx2 = {
    .name = "x86-64-v3", .prelude = "prelude_c.h", .lanes64 = 4, .sleef_suffix = "avx2"};

// The components that are written by the generator, one behind the other.
static char *generated(const struct kernel_source *s) {
    static const char *const names[] = {"sizes", "math",        "tableau",  "gains",       "dxdt",
                                        "start", "observables", "jacobian", "linear_solve"};
    struct buf out = {0};
    for (uint32_t i = 0; i < s->components; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (!strcmp(s->component[i].name, names[k]))
                buf_put(&out, s->text.data + s->component[i].offset, s->component[i].length);
    REQUIRE(!out.failed && out.data);
    return out.data;
}

// ---- Golden -------------------------------------------------------------------------------------

static void check_golden(const char *name, const char *model, const char *options,
                         const struct shoal_target *target) {
    char path[128];
    snprintf(path, sizeof path, "tests/golden/codegen_%s.txt", name);
    struct listing t = listing_new(model, options, target);
    char *got = generated(&t.kernel);
    const char *renew = getenv("SHOAL_GOLDEN");
    if (renew && !strcmp(renew, "renew"))
        check_write(path, got);
    char *want = check_read(path);
    REQUIRE(want);
    size_t same = 0;
    while (got[same] && got[same] == want[same])
        same++;
    CHECK_MSG(!strcmp(got, want), "%s differs from \"%.60s\" on: \"%.60s\"", path, want + same,
              got + same);
    free(want);
    free(got);
    listing_free(&t);
}

TEST(codegen_golden_lorenz) {
    check_golden("lorenz",
                 "par rho=28; const sigma=10, beta=8/3; init x=1, y=0, z=0; x'=sigma*(y-x);"
                 "y'=x*(rho-z)-y; z'=x*y-beta*z; aux r=sqrt(x^2+y^2+z^2)",
                 "method=tsit5 t1=1 vars=x,z,r", &avx2);
}

// It depends on time, so there is a derivative by it.
TEST(codegen_golden_rosenbrock) {
    check_golden("rosenbrock",
                 "par k=2; init x=1, y=0, z=0; x'=-k*x*x+y*z; y'=x*t-y*y; z'=x-exp(-z)+y",
                 "method=rodas4 t1=1", &avx2);
}

static const char small_stiff[] = "par k=2; init x=1, y=0; x'=-k*x*x+y; y'=x*t-exp(y)";

TEST(codegen_golden_dirk) { check_golden("dirk", small_stiff, "method=trbdf2 t1=1", &avx2); }

TEST(codegen_golden_collocation) {
    check_golden("collocation", small_stiff, "method=radau5 t1=1 save=n=3 precision=f32", &avx2);
}

// Two algebraic rows, each given to the state it can determine; the matrix, and what is off it.
TEST(codegen_golden_algebraic) {
    check_golden("algebraic", "par k=2; init x=1; x'=-k*a; alg a=1, b; 0=b-x^2; 0=x-a*b-sin(t)",
                 "method=rodas4 t1=1", &avx2);
}

// Whatever was asked of the model before.
TEST(codegen_derivatives_have_the_same_names) {
    static const char text[] = "par k=2; init x=1, y=0, z=0; x'=-k*x*x; y'=x-y*y; z'=1; aux r=z+x";
    struct rig used = rig_new(NULL, text, "method=tsit5 t1=1 vars=z,r");
    struct rig fresh = rig_new(NULL, text, "method=rodas4 t1=1");
    REQUIRE(shoal_options_set(&used.options, "method", "rodas4", used.log) == SHOAL_OK);
    used.options.vars = NULL;
    char *a = rig_source(&used), *b = rig_source(&fresh);
    CHECK_STR(a, b);
    free(a);
    free(b);
    rig_free(&used);
    rig_free(&fresh);
}

TEST(codegen_golden_branches) {
    check_golden("branches",
                 "par a=1, b=2; !w=sqrt(a*b); !w2=w*a; x(0)=w2+t; y(0)=3;"
                 "x'=if(x>w and not(y<a))then(exp(-x)+w2)else(x*(y>b)+x^2.5);"
                 "y'=-y+sin(w*t)+mod(x,2)+max(x,y)+atan2(y,x)-(-x); aux side=x>=0 or y!=1",
                 "method=rk4 dt=0.1 t1=1 vars=y,side precision=f32", &avx2);
}

TEST(codegen_golden_series) {
    static const struct shoal_target scalar = {
        .name = "scalar", .prelude = "prelude_c.h", .lanes64 = 1};
    check_golden("series", "par k=1; init x=1; x'=-k*x+tanh(x)", "method=bs32 t1=1 save=n=3",
                 &scalar);
}

TEST(codegen_components_cover_the_text) {
    static const char *const options[] = {"method=tsit5 t1=1", "method=rk4 dt=0.1 t1=1",
                                          "method=vern7 t1=1 save=n=3 precision=f32"};
    for (size_t k = 0; k < 3; k++) {
        struct listing t = listing_new("par k=1; x(0)=k; x'=-k*sin(x)", options[k], &avx2);
        const struct kernel_source *s = &t.kernel;
        size_t at = 0;
        for (uint32_t i = 0; i < s->components; i++) {
            CHECK_INT(s->component[i].offset, at);
            CHECK_MSG(s->component[i].length > 0, "%s is empty", s->component[i].name);
            at += s->component[i].length;
            for (uint32_t j = 0; j < i; j++)
                CHECK(strcmp(s->component[i].name, s->component[j].name) != 0);
        }
        CHECK_INT(at, s->text.length);
        CHECK_INT(strlen(s->text.data), s->text.length);
        listing_free(&t);
    }
}

// A name that no file of kernels/ has is told, not searched for beyond the table.
TEST(codegen_refuses_an_unknown_file) {
    struct shoal_target target = avx2;
    struct rig rig = rig_new(NULL, "init x=1; x'=-x", "method=tsit5 t1=1");
    struct arena arena = {0};
    struct kernel_plan plan[PLAN_ROLES];
    struct kernel_source source;
    target.prelude = "prelude_of_nobody.h";
    rig_need(&rig, solver_kernels(rig.model, &rig.options, &target, &arena, plan, rig.log), "plan");
    CHECK_INT(
        codegen_kernel(&plan[PLAN_FIRST], rig.model->found->system, NULL, NULL, &source, rig.log),
        SHOAL_DEVICE);
    char *messages = rig_messages(rig.log);
    CHECK_HAS(messages, "there is no kernel file `prelude_of_nobody.h`");
    free(messages);
    arena_free(&arena);
    rig_free(&rig);
}

// ---- The same input gives the same bytes --------------------------------------------------------

static const char fixed_model[] =
    "par rho=28.5\nconst beta=8/3\ninit x=1.25, y=0\n"
    "x'=10*(y-x)\ny'=x*(rho-beta)-y/3.7\naux r=exp(-x*x)+0.1\n@ t1=1\n";

TEST(codegen_same_in_every_process) {
    const char *model = check_path("model.ode");
    char *shoal = check_keep(realpath(check_shoal(), NULL)), *first = NULL;
    if (!shoal)
        check_skip("no %s", check_shoal());
    check_write(model, fixed_model);
    for (int i = 0; i < 20; i++) {
        char noise[32];
        snprintf(noise, sizeof noise, "NOISE=%0*d", i + 1, i);
        struct check_output o =
            RUN("env", "-C", i % 2 ? "/" : check_dir(), noise,
                i % 3 ? "LC_ALL=C" : "LC_ALL=de_DE.UTF-8", i % 5 ? "TZ=UTC" : "TZ=Asia/Tokyo",
                "SHOAL_CPU_TARGET=x86-64", shoal, "source", model);
        REQUIRE(o.status == 0);
        CHECK(o.out_length > 1000);
        if (first)
            CHECK_MSG(!strcmp(first, o.out), "process %d has another source", i);
        else
            first = o.out;
    }
}

TEST(codegen_obeys_no_locale) {
    struct listing plain = listing_new(fixed_model, "method=tsit5 save=n=5", &avx2);
    check_comma_locale();
    struct listing other = listing_new(fixed_model, "method=tsit5 save=n=5", &avx2);
    CHECK_STR(other.kernel.text.data, plain.kernel.text.data);
    listing_free(&other);
    listing_free(&plain);
}

// ---- Names and labels of the user stay outside --------------------------------------------------

// The same system under harmless and under hostile names gives the same text.
TEST(codegen_takes_no_names) {
    static const char pattern[] =
        "par %s=1, %s=2; const %s=3; init %s=1, %s=0; !%s=%s+1; %s(q)=q*q; %s=%s*2;"
        "%s'=%s*%s-%s; %s'=%s(%s)+%s+%s; aux %s=%s";
    static const char *const names[][9] = {
        {"aa", "bb", "cc", "xx", "yy", "dd", "ff", "tmp", "obs"},
        {"double", "main", "__asm__", "R", "select", "system", "W", "N", "return"},
        {"real", "r_fma", "SHOAL_ELEM", "y", "p", "d", "model_rhs", "NP", "s"},
        {"mask", "t_real", "NAN_VALUE", "elem", "k", "STAGES", "UNROLL", "rk_a", "include"},
        {"_Pragma", "asm", "volatile", "v1", "m1", "w", "any", "u32", "NaN_"},
    };
    char *first = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const *n = names[i];
        char model[512];
        snprintf(model, sizeof model, pattern, n[0], n[1], n[2], n[3], n[4], n[5], n[0], n[6], n[7],
                 n[3], n[3], n[1], n[3], n[2], n[4], n[6], n[3], n[5], n[7], n[8], n[4]);
        char options[64];
        snprintf(options, sizeof options, "method=tsit5 t1=1 vars=%s,%s", n[3], n[8]);
        struct listing t = listing_new(model, options, &avx2);
        if (!first)
            first = strdup(t.kernel.text.data);
        CHECK_MSG(!strcmp(first, t.kernel.text.data), "names of set %zu change the text", i);
        listing_free(&t);
    }
    free(first);
}

TEST(codegen_takes_no_comments) {
    struct listing plain = listing_new("par a=1\ninit x=1\nx'=-a*x\naux b=x\n", "t1=1", &avx2);
    struct listing other = listing_new("# */ #error \"x\" \\\n"
                                       "par a=1 # ?\?/ \\\n"
                                       "init x=1 // */ int main(void){}\n"
                                       "x'=-a*x # \"); system(\"true\"); //\n"
                                       "aux b=x # \\u0022\n",
                                       "t1=1", &avx2);
    CHECK_STR(other.kernel.text.data, plain.kernel.text.data);
    listing_free(&plain);
    listing_free(&other);
}

// ---- Numbers ------------------------------------------------------------------------------------

static double reread(double value) {
    struct buf text = {0};
    char *end = NULL;
    codegen_number(&text, value);
    REQUIRE(text.data && !text.failed);
    double got = strtod(text.data, &end);
    CHECK_MSG(*end == 0, "%s is no number", text.data);
    buf_free(&text);
    return got;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TEST(codegen_numbers_read_back) {
    static const double special[] = {0.0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.1,
                                     1e15,
                                     -1e15,
                                     1e15 - 1,
                                     1e16,
                                     1e308,
                                     -1e308,
                                     5e-324,
                                     -5e-324,
                                     0x1p-1022,
                                     0x1.fffffffffffffp1023,
                                     0x1.fffffffffffffp-1023,
                                     0x1p53,
                                     0x1p63,
                                     0x1p64,
                                     1.0 / 3,
                                     4503599627370495.5};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        CHECK(bits_of(reread(special[i])) == bits_of(special[i]));
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double value;
        memcpy(&value, &x, sizeof value);
        if (isfinite(value))
            CHECK_MSG(bits_of(reread(value)) == x, "%.17g", value);
    }
    struct buf text = {0};
    codegen_number(&text, (double)INFINITY);
    buf_putc(&text, ' ');
    codegen_number(&text, -(double)INFINITY);
    buf_putc(&text, ' ');
    codegen_number(&text, fabs((double)NAN));
    CHECK_STR(text.data, "INFINITY_VALUE -INFINITY_VALUE NAN_VALUE");
    buf_free(&text);
}

// From the model's text through the compiler to the result, bit for bit.
TEST(codegen_numbers_through_the_compiler) {
    enum { COUNT = 100 };
    static const double special[] = {5e-324, -5e-324, 0x1p-1022, 0x1.fffffffffffffp1023,
                                     1e15,   1e22};
    struct buf model = {0};
    double want[COUNT];
    uint64_t x = 1181783497276652981u;
    buf_puts(&model, "par a=1; init x=1; x'=-a*x;");
    for (int i = 0; i < COUNT; i++) {
        do {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            memcpy(&want[i], &x, sizeof x);
        } while (!isfinite(want[i]));
        if (i < 6)
            want[i] = special[i];
        buf_printf(&model, "aux n%d=%.17g;", i, want[i]);
    }
    struct buf options = {0};
    buf_puts(&options, "method=euler dt=1 t1=1 vars=");
    for (int i = 0; i < COUNT; i++)
        buf_printf(&options, "%sn%d", i ? "," : "", i);
    struct rig rig = rig_new(NULL, model.data, options.data);
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(3, names);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_MSG(bits_of(outcome_value(&o, i, 1, 0)) == bits_of(want[i]), "%.17g is %.17g",
                  want[i], outcome_value(&o, i, 1, 0));
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
    buf_free(&model);
    buf_free(&options);
}

// ---- Long functions -----------------------------------------------------------------------------

// Many states that share temporaries, truth values as numbers and as conditions, and constants.
static char *long_model(int states) {
    struct buf m = {0};
    buf_puts(&m, "par a=0.7, b=1.3; mean=(sum(0,9)of(shift(x1,i')))/10; high=mean>0.5;"
                 "both=high and x2<a;");
    for (int i = 1; i <= states; i++)
        buf_printf(&m,
                   "init x%d=%g; x%d'=-a*x%d+if(high)then(mean*b)else(-mean)+both*0.%d"
                   "+if(not(both) or x%d>b)then(x%d*mean)else(a*b)+x%d/(1+x%d*x%d);",
                   i, 0.1 * (i % 13), i, i, i % 7 + 1, i, i % states + 1, i, i, i);
    buf_puts(&m, "aux total=mean+both");
    return m.data;
}

TEST(codegen_long_functions_come_in_parts) {
    char *model = long_model(150);
    struct listing t = listing_new(model, "method=rk4 dt=0.1 t1=1", &avx2);
    const char *text = t.kernel.text.data;
    CHECK_HAS(text, "NOINLINE void model_rhs_0(");
    CHECK_HAS(text, "    model_rhs_1(t, y, p, d, s);\n");
    CHECK(!strstr(text, "#define SHARED 0\n"));
    const char *part = strstr(text, "model_rhs_0("), *next = strstr(text, "model_rhs_1(");
    int lines = 0;
    for (const char *c = part; c < next; c++)
        lines += *c == '\n';
    CHECK_MSG(lines > 100 && lines < 600, "%d lines in a part", lines);
    listing_free(&t);
    free(model);
}

TEST(codegen_parts_compute_the_same) {
    enum { STATES = 150 };
    char *model = long_model(STATES);
    for (int f32 = 0; f32 < 2; f32++) {
        struct rig rig = rig_new(NULL, model,
                                 f32 ? "method=euler dt=0.0001 t1=0.0001 precision=f32"
                                     : "method=euler dt=0.0001 t1=0.0001");
        double y[STATES], f[STATES];
        const char *names[RIG_NAMES] = {"x2(0)"};
        struct inputs in = inputs_new(5, names);
        for (uint64_t i = 0; i < 5; i++)
            in.value[0][i] = 0.3 * (double)i; // `both` is true in some
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        for (uint64_t row = 0; row < 5; row++) {
            for (uint32_t i = 0; i < STATES; i++)
                y[i] = shoal_model_value(rig.model, SHOAL_STATE, i);
            y[1] = in.value[0][row];
            shoal_model_rhs(rig.model, 0, y, f);
            for (uint32_t i = 0; i < STATES; i++)
                CHECK_NEAR(outcome_value(&o, i, row, 0), y[i] + 1e-4 * f[i], f32 ? 1e-6 : 1e-14);
        }
        outcome_free(&o);
        inputs_free(&in);
        rig_free(&rig);
    }
    free(model);
}

// ---- Contraction --------------------------------------------------------------------------------

// Which products are fused is the generator's choice, never the compiler's: one that is used twice
// is rounded, one that is used once, by a sum, is not.
TEST(codegen_contraction_is_its_own) {
    enum { ROWS = 500 };
    static const char model[] =
        "par a=1, b=1, c=1; init x=0; x'=0;"
        "aux product=a*b; aux rounded=a*b+c; aux fused=a*c-b; aux less=b-c*c";
    struct rig rig = rig_new(NULL, model, "method=euler dt=1 t1=1 vars=rounded,fused,less,product");
    const char *names[RIG_NAMES] = {"a", "b", "c"};
    struct inputs in = inputs_new(ROWS, names);
    int different = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = sin((double)i);
        in.value[1][i] = cos((double)i * 3);
        in.value[2][i] = sin((double)i * 7 + 1);
    }
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < ROWS; i++) {
        double a = in.value[0][i], b = in.value[1][i], c = in.value[2][i], product = a * b;
        CHECK_NEAR(outcome_value(&o, 3, i, 0), product, 0);
        CHECK_NEAR(outcome_value(&o, 0, i, 0), product + c, 0);
        CHECK_NEAR(outcome_value(&o, 1, i, 0), fma(a, c, -b), 0);
        CHECK_NEAR(outcome_value(&o, 2, i, 0), fma(-c, c, b), 0);
        different += fma(a, b, c) != product + c;
    }
    CHECK(different > ROWS / 10);
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
}

// ---- Quick divisions ----------------------------------------------------------------------------

static const struct shoal_target quick = {.name = "quick",
                                          .prelude = "prelude_cuda.h",
                                          .device = true,
                                          .lanes64 = 1,
                                          .quick_division = true};

// A device that has them gets a right-hand side of many divisions and roots twice, in f32.
TEST(codegen_right_hand_sides_twice) {
    static const char many[] = "par a=1; x'=1/(x+a)+3/(x+a*a)+x/(a-x)+1e-30/x+sqrt(x*x+a)";
    static const char few[] = "par a=1; x'=1/(x+a)+3/(x+a*a)+x/(a-x)+sqrt(x*x+a)";
    static const struct shoal_target plain = {
        .name = "plain", .prelude = "prelude_opencl.h", .device = true, .lanes64 = 1};
    static const struct {
        const char *model, *options;
        const struct shoal_target *target;
    } once[] = {
        {many, "method=tsit5 t1=1", &quick},
        {few, "method=tsit5 t1=1 precision=f32", &quick},
        {many, "method=tsit5 t1=1 precision=f32", &plain},
        {many, "method=tsit5 t1=1 precision=f32", &avx2},
    };
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        struct listing t = listing_new(once[i].model, once[i].options, once[i].target);
        CHECK(!strstr(t.kernel.text.data, "_quick"));
        CHECK_HAS(t.kernel.text.data, "INLINE void model_rhs(real t");
        listing_free(&t);
    }
    struct listing t = listing_new(many, "method=tsit5 t1=1 precision=f32", &quick);
    static const char *const parts[] = {
        "NOINLINE void model_rhs_exact(real t", " = r_sqrt(v",
        "INLINE mask model_rhs_quick(real t",   " = r_rcp_quick(&range, v",
        " = r_over_quick(&range, R(3.0), v",    " = r_div_quick(&range, y[0], v",
        " = r_div_quick(&range, R(0x1.",        " = r_sqrt_quick(&range, v",
        "    return range_holds(&range);\n}",
    };
    const char *at = strstr(t.kernel.text.data, "// ---- dxdt");
    REQUIRE(at);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CHECK_HAS(at, parts[i]);
    listing_free(&t);
}

// Of five sequences that do not depend on each other none waits for the text of another.
TEST(codegen_quick_divisions_by_level) {
    struct listing t = listing_new("par a=1; init x[1..5]=1; x[1..5]'=1/(1+sqrt(a+x[j]))",
                                   "method=tsit5 t1=1 precision=f32", &quick);
    const char *at = strstr(t.kernel.text.data, "INLINE mask model_rhs_quick(");
    REQUIRE(at);
    const char *end = strstr(at, "range_holds"), *root = at, *next;
    while ((next = strstr(root + 1, "r_sqrt_quick")) && next < end)
        root = next;
    const char *quotient = strstr(at, "r_rcp_quick"), *store = strstr(at, "    d[");
    REQUIRE(quotient && store);
    CHECK(root < quotient && quotient < store && store < end);
    while ((next = strstr(quotient + 1, "r_rcp_quick")) && next < end)
        quotient = next;
    CHECK(quotient < store);
    listing_free(&t);
}

// A thread's fixed step is there twice where it is short.
TEST(codegen_even_steps) {
    static const struct shoal_target device = {
        .name = "device", .prelude = "prelude_opencl.h", .device = true, .lanes64 = 1};
    static const struct {
        const char *model, *options;
        const struct shoal_target *target;
        bool even;
    } of[] = {
        {"par a=1; x'=-a*x", "method=rk4 dt=0.1 t1=1", &device, true},
        {"par a=1; x'=-a*x", "method=rk4 dt=0.1 t1=1", &avx2, false},
        {"par a=1; x'=-a*x", "method=tsit5 t1=1", &device, false},
        {"par a=1; x'=-a*x", "method=tsit5 controller=fixed dt=0.1 t1=1", &device, true},
        {"par a=1; x'=-a*x", "method=crank-nicolson controller=fixed dt=0.1 t1=1", &device, false},
        {"par a=1; x'=-a*x; event e when x<0.5 : x=1", "method=rk4 dt=0.1 t1=1", &device, false},
        {"init x[1..40]=1; x[1..40]'=x1/(x[j]+1)+x2/(x[j]+2)+x3/(x[j]+3)"
         "+x4/(x[j]+4)+x5/(x[j]+5)",
         "method=rk4 dt=0.1 t1=1", &device, false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct listing t = listing_new(of[i].model, of[i].options, of[i].target);
        CHECK_MSG((strstr(t.kernel.text.data, "#define EVEN_STEPS 1") != NULL) == of[i].even,
                  "%s, %s", of[i].model, of[i].options);
        listing_free(&t);
    }
}

// Long ones are split, short ones exist twice and are not: copies of the parameters have no room
// behind them for what parts hand to each other. The lengths pass both limits.
TEST(codegen_right_hand_sides_twice_are_whole) {
    int twice = 0, split = 0;
    for (int terms = 125; terms < 210; terms++) {
        struct buf m = {0};
        buf_puts(&m, "par a=1; x'=x");
        for (int i = 0; i < terms; i++)
            buf_printf(&m, "+a/(x+%d)", i + 1);
        struct listing t = listing_new(m.data, "method=rk4 dt=0.1 t1=1 precision=f32", &quick);
        bool parts = strstr(t.kernel.text.data, "s[0] = ") != NULL;
        bool both = strstr(t.kernel.text.data, "model_rhs_exact(") != NULL;
        CHECK_MSG(!parts || !both, "%d terms: twice, and in parts", terms);
        CHECK_MSG(parts == (strstr(t.kernel.text.data, " model_rhs_1(") != NULL), "%d terms",
                  terms);
        twice += both;
        split += parts;
        listing_free(&t);
        buf_free(&m);
    }
    CHECK(twice > 10 && split > 2 && twice + split == 85);
}

// Fences keep a GPU's compiler from moving work where a step has more numbers than registers; the
// others have none.
TEST(codegen_fences_long_steps) {
    static const struct shoal_target cuda = {
        .name = "cuda", .prelude = "prelude_cuda.h", .device = true, .lanes64 = 1};
    static const struct {
        const char *options, *fences;
        int states;
        const struct shoal_target *target;
    } rows[] = {
        {"method=rodas4 t1=1", "#define FENCES (FENCE_FACTORED | FENCE_SOLVED)\n", 16, &cuda},
        {"method=ros3p t1=1", "#define FENCES (FENCE_PIVOTS | FENCE_ARGUMENT)\n", 16, &cuda},
        {"method=gauss-legendre-8 t1=1", "#define FENCES (FENCE_FACTORED)\n", 12, &cuda},
        {"method=kvaerno3 t1=1", "#define FENCES (FENCE_FACTORED | FENCE_GUESS)\n", 16, &cuda},
        {"method=radau-iia-5 t1=1", "#define FENCES (FENCE_FACTORED)\n", 16, &cuda},
        {"method=rodas4 t1=1", NULL, 3, &cuda},
        {"method=rodas4 t1=1", NULL, 16, &avx2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf model = {0};
        for (int k = 1; k <= rows[i].states; k++)
            buf_printf(&model, "x%d'=x%d*x%d-x%d;", k, k, k % rows[i].states + 1, k);
        struct listing t = listing_new(model.data, rows[i].options, rows[i].target);
        const char *text = t.kernel.text.data, *defined = strstr(text, "#define FENCES ");
        CHECK(rows[i].fences ? defined && !strncmp(defined, rows[i].fences, strlen(rows[i].fences))
                             : !defined);
        bool pivots = rows[i].fences && strstr(rows[i].fences, "PIVOTS");
        CHECK(pivots == (strstr(text, "    FENCE(FENCE_PIVOTS)\n") != NULL));
        listing_free(&t);
        free(model.data);
    }
}
