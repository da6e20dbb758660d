// SPDX-License-Identifier: MIT
// What a trajectory gives depends on its own inputs and on nothing else: not on its neighbours, its
// lane, the width of the registers, refill, chunks, threads, the order of the batch, the part of it
// that is run, or on what else is saved. Bit for bit, counts included.
//
// The reference is the same source with one lane. Rows that blow up or are not a number from the
// start sit among the others.
#include "check.h"
#include "rig.h"

enum { ROWS = 203 }; // a multiple of no number of lanes

// ---- Models and their batches -------------------------------------------------------------------

// k > 1 blows up, q < 0 is not a number from the start.
static const char lorenz[] =
    "par rho=28, k=0, q=1; const sigma=10, beta=8/3; init x=1, y=0, z=0, w=1;"
    "x'=sigma*(y-x); y'=x*(rho-z)-y; z'=x*y-beta*z; w'=k*w*w-w+sqrt(q)-1;"
    "aux r=sqrt(x^2+y^2+z^2)";
static const char vanderpol[] = "par mu=1; init x=2, y=0; x'=y; y'=mu*(1-x*x)*y-x";
static const char math[] =
    "par a=1, b=1, c=1; init u=0.3, v=0.1, w=0;"
    "u'=-a*u+tanh(v)+0.1*erf(w); v'=cos(b*t)-abs(v)^1.7*exp(-u*u)-ln(1+v*v);"
    "w'=atan2(u+1,v+c)-abs(w)^c+0.2*sin(w)/(1+cosh(v)); aux e=log10(1+u^2)+asinh(v)*cbrt(w)";
static const char branches[] =
    "par a=1, b=0.5; init x=1, y=0; s=if(x>b)then(-a)else(a);"
    "x'=y+(y>0 and x<b)*0.1; y'=s*x-0.1*y+heav(x)*0.05+mod(t,b)*0.1+max(x,y)*0.01;"
    "aux up=x>=0 or not(y<0); aux side=sign(x)*floor(10*y)+min(x,ceil(y))";
static const char driven[] =
    "par a=1, b=2, c=0.3; !ab=a*b; !w=sqrt(a*a+b*b); !phase=w*c+ab; x(0)=cos(phase)+w; y(0)=c/b;"
    "x'=-c*x+y*w*0.1+t*0.01; y'=-x+phase/(1+t*t); aux e=x*x+ab*y*y+t";
static const char begun[] =
    "par a=1, b=2, c=0.3; init x=1; y(0)=cos(w)+c; !w=sqrt(a*a+x*x); !q=w*c+y*b+t; z(0)=q/w;"
    "x'=-c*x+y*w*0.1+t*0.01; y'=-x+q/(1+t*t); z'=-w*z; aux e=x*x+q*y*y+t";
static const char chain[] =
    "par D=1, F=1; init u1=1; init u[2..40]=0.1; u1'=D*(u2-u1)+F-u1^3;"
    "u[2..39]'=D*(u[j-1]-2*u[j]+u[j+1])-u[j]^3/(1+u[j]^2); u40'=D*(u39-u40)-u40; aux s=u1+u20";

static double spread(uint64_t i, double a, double b) { // not in order
    return a + (b - a) * (double)(i * 7919 % ROWS) / (ROWS - 1);
}

static struct inputs make_inputs(const char *model) {
    static const struct {
        const char *model, *names[RIG_NAMES];
        double range[RIG_NAMES][2];
    } table[] = {
        {lorenz, {"rho", "x(0)"}, {{5, 40}, {-3, 3}}},
        {vanderpol, {"mu"}, {{-1, 3.3}}}, // decades
        {math, {"a", "b", "c", "v(0)"}, {{0.1, 2}, {0, 5}, {0.5, 1.5}, {0, 2}}},
        {branches, {"a", "b", "x(0)"}, {{0.5, 3}, {0.1, 0.9}, {-1, 1}}},
        {driven, {"a", "b", "c", "x(0)"}, {{0.1, 2}, {0.5, 5}, {0.1, 0.5}, {-1, 1}}},
        {begun, {"a", "b", "c", "x(0)"}, {{0.1, 2}, {0.5, 5}, {0.1, 0.5}, {-1, 1}}},
        {chain, {"D", "F", "u20(0)"}, {{0.1, 4}, {0, 9}, {-1, 1}}},
    };
    size_t m = 0;
    while (table[m].model != model)
        m++;
    const char *names[RIG_NAMES] = {0};
    memcpy(names, table[m].names, sizeof names);
    if (model == lorenz)
        names[2] = "k", names[3] = "q";
    if (model == driven)
        names[3] = NULL; // x(0) is a formula here
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        for (int k = 0; k < RIG_NAMES && names[k]; k++)
            in.value[k][i] =
                spread(i * (uint64_t)(k + 1), table[m].range[k][0], table[m].range[k][1]);
        if (model == lorenz) {
            in.value[2][i] = i % 7 == 3 ? 1.5 + (double)(i % 20) : 0;
            in.value[3][i] = i % 31 == 5 ? -1 : 1;
        }
        if (model == vanderpol)
            in.value[0][i] = pow(10, in.value[0][i]);
    }
    return in;
}

// ---- Ways to run the same -----------------------------------------------------------------------

static void compare_all(const struct outcome *want, const struct outcome *got, const char *what) {
    REQUIRE(want->rows == got->rows);
    for (uint64_t i = 0; i < want->rows; i++)
        if (!outcome_same(want, i, got, i, what))
            return; // one line is enough
}

static void run_and_compare(struct rig *rig, const struct inputs *in, const struct outcome *want,
                            const char *target, const char *what) {
    char text[96];
    snprintf(text, sizeof text, "%s: %s", target, what);
    struct outcome got = rig_run(rig, in, NULL, 0, NULL);
    compare_all(want, &got, text);
    outcome_free(&got);
}

static void check_order(struct rig *rig, const struct inputs *in, const struct outcome *want,
                        const char *target) {
    uint64_t order[2 * ROWS];
    for (uint64_t i = 0; i < ROWS; i++) {
        order[i] = ROWS - 1 - i;
        order[ROWS + i] = i * 59 % ROWS; // and once more, with other neighbours
    }
    struct outcome got = rig_run(rig, in, order, 2 * ROWS, NULL);
    for (uint64_t i = 0; i < 2 * ROWS; i++)
        if (!outcome_same(want, order[i], &got, i, target))
            break;
    outcome_free(&got);
}

static void check_only(struct rig *rig, const struct inputs *in, const struct outcome *want,
                       const char *target) {
    struct outcome some = rig_run(rig, in, NULL, 0, "3,10:21,36,202");
    static const uint64_t rows[] = {3, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 36, 202};
    REQUIRE(some.rows == sizeof rows / sizeof *rows);
    for (uint64_t i = 0; i < some.rows; i++)
        if (!outcome_same(want, rows[i], &some, i, target))
            break;
    outcome_free(&some);
    for (uint64_t row = 0; row < 8; row++) { // alone
        char only[8];
        snprintf(only, sizeof only, "%u", (unsigned)(row * 5 + 3));
        struct outcome one = rig_run(rig, in, NULL, 0, only);
        outcome_same(want, row * 5 + 3, &one, 0, target);
        outcome_free(&one);
    }
}

static void check_ways(struct rig *rig, const struct inputs *in, const struct outcome *want,
                       const char *target) {
    shoal_solver *s = rig->solver;
    rig_turn(s, (struct rig_way){.threads = 1});
    run_and_compare(rig, in, want, target, "as it is");
    rig_turn(s, (struct rig_way){.refill = SHOAL_REFILL_OFF});
    run_and_compare(rig, in, want, target, "refill off");
    rig_turn(s, (struct rig_way){.chunk = 7, .refill = SHOAL_REFILL_OFF});
    run_and_compare(rig, in, want, target, "refill off, chunks of 7");
    rig_turn(s, (struct rig_way){.chunk = 50, .refill = SHOAL_REFILL_ON, .threads = 3});
    run_and_compare(rig, in, want, target, "3 threads, chunks of 50");
    rig_turn(s, (struct rig_way){.refill = SHOAL_REFILL_ON});
    run_and_compare(rig, in, want, target, "3 threads");
    check_order(rig, in, want, target);
    check_only(rig, in, want, target);
}

static const char *const targets[] = {"x86-64-v4", "x86-64-v3", "x86-64"};

// The batch is as mixed as it should be.
static void check_mixture(const char *text, const struct outcome *o) {
    const uint64_t *n = o->tally.by_status;
    CHECK(o->tally.done == ROWS);
    CHECK(n[SHOAL_STATUS_ok] > ROWS / 2);
    if (text == lorenz)
        CHECK(n[SHOAL_STATUS_nonfinite] >= 5 && ROWS - n[SHOAL_STATUS_ok] >= 30);
    if (text == vanderpol)
        CHECK(n[SHOAL_STATUS_max_steps] >= 10);
}

// All ways on all targets against one lane. `baseline`: on a machine without fma too, which gives
// the same when the model calls no math library.
static void check_model(const char *text, const char *options, bool baseline) {
    if (!rig_has_target("scalar"))
        check_skip("no target `scalar` here");
    struct inputs in = make_inputs(text);
    struct rig reference = rig_new("scalar", text, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    check_mixture(text, &want);
    for (size_t i = 0; i < sizeof targets / sizeof *targets - !baseline; i++) {
        if (!rig_has_target(targets[i]))
            continue;
        struct rig rig = rig_new(targets[i], text, options);
        check_ways(&rig, &in, &want, targets[i]);
        rig_free(&rig);
    }
    outcome_free(&want);
    rig_free(&reference);
    inputs_free(&in);
}

// Lanes of one target only, for methods that differ in their table but not in their code.
static void check_lanes(const char *options) {
    if (!rig_has_target("scalar"))
        check_skip("no target `scalar` here");
    struct inputs in = make_inputs(lorenz);
    struct rig reference = rig_new("scalar", lorenz, options), rig = rig_new(NULL, lorenz, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    check_ways(&rig, &in, &want, options);
    outcome_free(&want);
    rig_free(&reference);
    rig_free(&rig);
    inputs_free(&in);
}

TEST(lanes_tsit5) { check_model(lorenz, "method=tsit5 t1=3 vars=x,y,z,w,r", true); }
TEST(lanes_tsit5_f32) { check_model(lorenz, "method=tsit5 t1=3 precision=f32", false); }
TEST(lanes_rk4) { check_model(lorenz, "method=rk4 dt=0.01 t1=3.005", true); }
TEST(lanes_rk4_f32) { check_model(lorenz, "method=rk4 dt=0.01 t1=3.005 precision=f32", true); }
LONG_TEST(lanes_dopri5) { check_lanes("method=dopri5 t1=3"); }
TEST(lanes_vern7) { check_lanes("method=vern7 t1=3 rtol=1e-9"); }
TEST(lanes_dop853) { check_lanes("method=dop853 t1=3 rtol=1e-9"); }
LONG_TEST(lanes_vern9) { check_lanes("method=vern9 t1=3 rtol=1e-11"); }
TEST(lanes_bs32) { check_lanes("method=bs32 t1=2"); }
LONG_TEST(lanes_fehlberg) { check_lanes("method=fehlberg-45 t1=3"); }
LONG_TEST(lanes_cash_karp) { check_lanes("method=cash-karp-54 t1=3"); }
TEST(lanes_heun) { check_lanes("method=heun-21 t1=1 rtol=1e-4"); }
TEST(lanes_euler) { check_lanes("method=euler dt=0.002 t1=1"); }
TEST(lanes_tsit5_fixed) { check_lanes("method=tsit5 controller=fixed dt=0.02 t1=3"); }
TEST(lanes_backwards) { check_lanes("method=tsit5 t0=0 t1=-0.5 max-steps=300"); }
TEST(lanes_vanderpol) { check_model(vanderpol, "method=tsit5 t1=3 max-steps=2000", false); }
LONG_TEST(lanes_vanderpol_f32) {
    check_model(vanderpol, "method=tsit5 t1=3 max-steps=2000 precision=f32", false);
}
TEST(lanes_math) { check_model(math, "method=tsit5 t1=5 vars=u,v,w,e", false); }
TEST(lanes_math_f32) { check_model(math, "method=tsit5 t1=5 precision=f32", false); }
LONG_TEST(lanes_branches) {
    check_model(branches, "method=rk4 dt=0.01 t1=4 vars=x,y,up,side", true);
}
LONG_TEST(lanes_branches_f32) { check_model(branches, "method=bs32 t1=2 precision=f32", false); }
TEST(lanes_driven) { check_model(driven, "method=dopri5 t0=-1 t1=4 vars=x,y,e", false); }
LONG_TEST(lanes_driven_f32_fixed) {
    check_model(driven, "method=rk4 dt=0.01 t1=4 precision=f32", false);
}
TEST(lanes_begun) { check_model(begun, "method=dopri5 t0=-1 t1=4 vars=x,y,z,e", false); }
LONG_TEST(lanes_begun_f32_fixed) {
    check_model(begun, "method=rk4 dt=0.01 t1=4 precision=f32", false);
}
TEST(lanes_chain) { check_model(chain, "method=tsit5 t1=2", false); }

TEST(lanes_hodgkin_huxley) {
    char *text = check_read("examples/hodgkin_huxley.ode");
    if (!text || !rig_has_target("scalar"))
        check_skip("no example here, or no target `scalar`");
    const char *names[RIG_NAMES] = {"I", "gNa", "vrest"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = spread(i, 0, 20);
        in.value[1][i] = spread(3 * i, 80, 160);
        in.value[2][i] = spread(5 * i, -75, -40); // 0/0 of its rates among them
    }
    static const char options[] = "method=tsit5 t1=20 vars=v,m,h,n,sodium,potassium";
    struct rig reference = rig_new("scalar", text, options), rig = rig_new(NULL, text, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    CHECK_INT(want.tally.by_status[SHOAL_STATUS_ok], ROWS);
    check_ways(&rig, &in, &want, "Hodgkin-Huxley");
    outcome_free(&want);
    rig_free(&reference);
    rig_free(&rig);
    inputs_free(&in);
    free(text);
}

// ---- Saving -------------------------------------------------------------------------------------

// A series ends with what the final value would be, and its samples are as independent as the rest.
static void check_series(const char *options, const char *save) {
    char with[160];
    struct inputs in = make_inputs(lorenz);
    snprintf(with, sizeof with, "%s save=%s", options, save);
    struct rig final = rig_new(NULL, lorenz, options), series = rig_new(NULL, lorenz, with);
    struct outcome want = rig_run(&final, &in, NULL, 0, NULL);
    struct outcome got = rig_run(&series, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < ROWS; i++)
        if (!outcome_same_end(&want, i, &got, i, with))
            break;
    if (rig_has_target("scalar")) {
        struct rig reference = rig_new("scalar", lorenz, with);
        struct outcome one = rig_run(&reference, &in, NULL, 0, NULL);
        check_ways(&series, &in, &one, with);
        outcome_free(&one);
        rig_free(&reference);
    }
    outcome_free(&want);
    outcome_free(&got);
    rig_free(&final);
    rig_free(&series);
    inputs_free(&in);
}

TEST(lanes_series_tsit5) { check_series("method=tsit5 t1=3", "n=37"); }
TEST(lanes_series_vern7) { check_series("method=vern7 t1=3", "every=0.25"); } // extra stages
LONG_TEST(lanes_series_vern9) { check_series("method=vern9 t1=3", "n=37"); }  // centred rows
TEST(lanes_series_hermite) { check_series("method=rk4 dt=0.013 t1=3", "n=20"); }
TEST(lanes_series_f32) { check_series("method=rk4 dt=0.01 t1=3 precision=f32", "n=7"); }

// Saved steps: with one lane and with many the file is the same.
TEST(lanes_steps) {
    const char *path[] = {check_path("one.csv"), check_path("many.csv"), check_path("off.csv")};
    const char *target[] = {"scalar", NULL, NULL};
    if (!rig_has_target("scalar"))
        check_skip("no target `scalar` here");
    for (int i = 0; i < 3; i++) {
        struct rig rig = rig_new(target[i], lorenz, "method=tsit5 t1=2 save=steps");
        shoal_batch *batch = NULL;
        rig_turn(rig.solver,
                 (struct rig_way){.refill = i != 2 ? SHOAL_REFILL_ON : SHOAL_REFILL_OFF});
        rig_need(&rig, shoal_batch_new(rig.model, &batch, rig.log), "batch");
        rig_need(&rig, shoal_batch_sweep(batch, "rho=lin:5:40:19", rig.log), "sweep");
        rig_need(&rig, shoal_batch_sweep(batch, "k=0,3,0", rig.log), "sweep");
        rig_need(&rig, shoal_solver_run_file(rig.solver, batch, path[i], NULL, rig.log), "run");
        shoal_batch_free(batch);
        rig_free(&rig);
    }
    char *one = check_read(path[0]), *many = check_read(path[1]), *off = check_read(path[2]);
    REQUIRE(one && many && off);
    CHECK(strlen(one) > 10000);
    CHECK(!strcmp(one, many));
    CHECK(!strcmp(one, off));
}

// In f32 a time of 1e6 is coarser than many steps; samples must be found by the pair.
TEST(lanes_samples_far_from_zero) {
    struct inputs in = make_inputs(vanderpol);
    struct rig rig = rig_new(
        NULL, vanderpol,
        "method=rk4 dt=0.001 t0=1000000 t1=1000001 save=n=5 precision=f32 controller=fixed");
    struct rig wide = rig_new(
        NULL, vanderpol, "method=rk4 dt=0.001 t0=1000000 t1=1000001 save=n=5 controller=fixed");
    for (uint64_t i = 0; i < ROWS; i++)
        in.value[0][i] = 0.1 + 0.01 * (double)i;
    struct outcome a = rig_run(&rig, &in, NULL, 0, NULL), b = rig_run(&wide, &in, NULL, 0, NULL);
    for (uint64_t k = 0; k < 5; k++)
        CHECK_NEAR(outcome_value(&a, 0, 9, k), outcome_value(&b, 0, 9, k), 2e-5);
    outcome_free(&a);
    outcome_free(&b);
    rig_free(&rig);
    rig_free(&wide);
    inputs_free(&in);
}

// ---- How many vectors are in flight -------------------------------------------------------------

static char *with_ways(const char *source, int ways) {
    const char *at = strstr(source, "#define WAYS ");
    REQUIRE(at);
    char *text = strdup(source);
    text[at - source + (long)strlen("#define WAYS ")] = (char)('0' + ways);
    return text;
}

static void check_ways_in_flight(const char *options) {
    struct inputs in = make_inputs(lorenz);
    struct rig rig = rig_new(NULL, lorenz, options);
    struct outcome want = rig_run(&rig, &in, NULL, 0, NULL);
    char *source = rig_source(&rig);
    for (int ways = 1; ways <= 4; ways += 3) {
        char *text = with_ways(source, ways);
        rig_replace_kernel(&rig, text);
        check_ways(&rig, &in, &want, ways == 1 ? "one vector" : "four vectors");
        free(text);
    }
    free(source);
    outcome_free(&want);
    rig_free(&rig);
    inputs_free(&in);
}

TEST(lanes_vectors_in_flight) { check_ways_in_flight("method=tsit5 t1=3"); }
TEST(lanes_vectors_in_flight_fixed) { check_ways_in_flight("method=rk4 dt=0.01 t1=3"); }

// ---- Compilers and functions --------------------------------------------------------------------

TEST(lanes_clang_gives_the_same) {
    if (RUN("clang", "--version").status != 0)
        check_skip("no clang");
    struct inputs in = make_inputs(math);
    struct rig gcc = rig_new(NULL, math, "method=tsit5 t1=3 vars=u,v,w,e");
    struct outcome want = rig_run(&gcc, &in, NULL, 0, NULL);
    setenv("SHOAL_CC", "clang", 1);
    struct rig clang = rig_new(NULL, math, "method=tsit5 t1=3 vars=u,v,w,e");
    run_and_compare(&clang, &in, &want, "clang", "math");
    outcome_free(&want);
    rig_free(&gcc);
    rig_free(&clang);
    inputs_free(&in);
}

// Every function of the language over its range, a value a row.
static const char functions[] =
    "par a=1, b=1; init x=0; x'=0; aux f1=sin(a); aux f2=cos(a); aux f3=tan(a); aux f4=asin(a);"
    "aux f5=acos(a); aux f6=atan(a); aux f7=atan2(a,b); aux g1=sinh(a); aux g2=cosh(a);"
    "aux g3=tanh(a); aux g4=asinh(a); aux g5=acosh(a); aux g6=atanh(a); aux g7=exp(a);"
    "aux h1=ln(a); aux h2=log10(a); aux h3=log2(a); aux h4=sqrt(a); aux h5=cbrt(a); aux h6=erf(a);"
    "aux h7=erfc(a); aux i1=a^b; aux i2=mod(a,b); aux i3=floor(a); aux i4=ceil(a); aux i5=sign(a);"
    "aux i6=heav(a); aux i7=abs(a); aux j1=min(a,b); aux j2=max(a,b); aux j3=log1p(a);"
    "aux j4=expm1(a); aux k1=lgamma(a); aux k2=besselj(b,a); aux k3=bessely(b,a);"
    "aux k4=besseli(b,a)";

static void check_functions(const char *precision) {
    static const double special[] = {0,    -0.0, 1,     -1,    0.5,    -0.5, 1e-310, -1e-310,
                                     1e-5, 1e5,  -1e22, 1e300, -1e300, 709,  -745,   0x1p-1074};
    char options[200];
    snprintf(options, sizeof options,
             "method=euler dt=1 t1=1 precision=%s vars=f1,f2,f3,f4,f5,f6,f7,g1,g2,g3,g4,g5,g6,g7,"
             "h1,h2,h3,h4,h5,h6,h7,i1,i2,i3,i4,i5,i6,i7,j1,j2,j3,j4,k1,k2,k3,k4",
             precision);
    const char *names[RIG_NAMES] = {"a", "b"};
    struct inputs in = inputs_new(1500, names);
    for (uint64_t i = 0; i < in.rows; i++) {
        double size = pow(10, -12 + 16 * (double)(i * 311 % 500) / 500);
        in.value[0][i] = i < 16 * 16 ? special[i % 16] : i % 2 ? size : -size;
        in.value[1][i] = i < 16 * 16 ? special[i / 16] : -3 + 6 * (double)(i * 177 % 500) / 500;
    }
    struct rig reference = rig_new("scalar", functions, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    for (size_t i = 0; i < 2; i++) {
        if (!rig_has_target(targets[i]))
            continue;
        struct rig rig = rig_new(targets[i], functions, options);
        struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
        for (uint32_t v = 0; v < want.vars; v++) {
            int wrong = 0;
            for (uint64_t row = 0; row < want.rows; row++) {
                double x = outcome_value(&want, v, row, 0), y = outcome_value(&got, v, row, 0);
                if ((x == y && signbit(x) == signbit(y)) || (isnan(x) && isnan(y)))
                    continue;
                if (!wrong++)
                    check_fail(__FILE__, __LINE__, "%s %s: %s(%.17g, %.17g) is %.17g, not %.17g",
                               precision, targets[i], shoal_solver_var_name(rig.solver, v),
                               in.value[0][row], in.value[1][row], y, x);
            }
        }
        outcome_free(&got);
        rig_free(&rig);
    }
    outcome_free(&want);
    rig_free(&reference);
    inputs_free(&in);
}

TEST(lanes_functions) { check_functions("f64"); }
TEST(lanes_functions_f32) { check_functions("f32"); }
