// SPDX-License-Identifier: MIT
// What every backend must give: the bits of the scalar CPU reference, whatever the model, the
// precision, what is saved, refill and chunks.
#include "device_test.h"

#include "device/device.h"

#include <unistd.h>

enum { ROWS = 203 }; // a multiple of no group size

static const char lorenz[] = "par rho=28; const sigma=10, beta=8/3; init x=1, y=0, z=0;"
                             "x'=sigma*(y-x); y'=x*(rho-z)-y; z'=x*y-beta*z";
static const char vanderpol[] = "par mu=1; init x=2, y=0; x'=y; y'=mu*(1-x*x)*y-x";
static const char lorenz96[] = "par F=8; init u1=9; init u[2..32]=8;"
                               "u1'=(u2-u31)*u32-u1+F; u2'=(u3-u32)*u1-u2+F;"
                               "u[3..31]'=(u[j+1]-u[j-2])*u[j-1]-u[j]+F; u32'=(u1-u30)*u31-u32+F";
// Seven bodies in a plane: the equations of Pleiades.
static const char pleiades[] =
    "par g=1; init x1=3,x2=3,x3=-1,x4=-3,x5=2,x6=-2,x7=2, y1=3,y2=-3,y3=2,y4=0,y5=0,y6=-4,y7=4;"
    "init vx1=0,vx2=0,vx3=0,vx4=0,vx5=0,vx6=1.75,vx7=-1.5,"
    "vy1=0,vy2=0,vy3=0,vy4=-1.25,vy5=1,vy6=0,vy7=0;"
    "pull(m,d,dx,dy)=m*d/((dx*dx+dy*dy)*sqrt(dx*dx+dy*dy)+1e-9);"
    "x[1..7]'=vx[j]; y[1..7]'=vy[j];"
    "vx[1..7]'=g*(pull(1,x1-x[j],x1-x[j],y1-y[j])+pull(2,x2-x[j],x2-x[j],y2-y[j])"
    "+pull(3,x3-x[j],x3-x[j],y3-y[j])+pull(4,x4-x[j],x4-x[j],y4-y[j])"
    "+pull(5,x5-x[j],x5-x[j],y5-y[j])+pull(6,x6-x[j],x6-x[j],y6-y[j])"
    "+pull(7,x7-x[j],x7-x[j],y7-y[j]));"
    "vy[1..7]'=g*(pull(1,y1-y[j],x1-x[j],y1-y[j])+pull(2,y2-y[j],x2-x[j],y2-y[j])"
    "+pull(3,y3-y[j],x3-x[j],y3-y[j])+pull(4,y4-y[j],x4-x[j],y4-y[j])"
    "+pull(5,y5-y[j],x5-x[j],y5-y[j])+pull(6,y6-y[j],x6-x[j],y6-y[j])"
    "+pull(7,y7-y[j],x7-x[j],y7-y[j]))";

// The cache reads back no other words, and knows none of them.
TEST(backend_kinds_are_words) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        size_t length = strlen((*b)->kind);
        CHECK_MSG(length > 0 && length < 16 && strspn((*b)->kind, letters) == length, "%s: '%s'",
                  (*b)->name, (*b)->kind);
        CHECK(strspn((*b)->source_ending, letters) == strlen((*b)->source_ending));
        for (const struct shoal_backend *const *other = device_backends; other < b; other++)
            CHECK_MSG(strcmp((*b)->kind, (*other)->kind), "%s and %s make %s", (*other)->name,
                      (*b)->name, (*b)->kind);
    }
}

// One name, from a to b, not in order.
static struct inputs sweep(const char *name, double a, double b) {
    const char *names[RIG_NAMES] = {name};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++)
        in.value[0][i] = a + (b - a) * (double)(i * 7919 % ROWS) / (ROWS - 1);
    return in;
}

// ---- Models and precisions ----------------------------------------------------------------------

DEVICE_TEST(lorenz_adaptive) {
    device_compare(device, lorenz, "method=tsit5 t1=2", sweep("rho", 5, 40));
    device_compare(device, lorenz, "method=tsit5 t1=2 precision=f32", sweep("rho", 5, 40));
}

LONG_DEVICE_TEST(lorenz_fixed) {
    device_compare(device, lorenz, "method=rk4 t1=2 dt=0.003", sweep("rho", 5, 40));
    device_compare(device, lorenz, "method=rk4 t1=2 dt=0.003 precision=f32", sweep("rho", 5, 40));
}

// A thread has a text of its own for steps as long as most; a row's last one is a third as long, or
// a little more than nothing.
DEVICE_TEST(steps_as_long_as_most) {
    device_compare(device, vanderpol, "method=rk4 t1=1 dt=0.03 precision=f32", sweep("mu", 0.1, 3));
    device_compare(device, vanderpol, "method=ralston-33 t0=1 t1=0 dt=0.03", sweep("mu", 0.1, 3));
    device_compare(device, vanderpol, "method=euler t1=1.0000001 dt=0.0625", sweep("mu", 0.1, 3));
    device_compare(device, vanderpol, "method=tsit5 controller=fixed t1=1 dt=0.03 precision=f32",
                   sweep("mu", 0.1, 3));
}

LONG_DEVICE_TEST(vanderpol) { // work that differs a hundredfold
    device_compare(device, vanderpol, "method=dormand-prince-54 t1=5", sweep("mu", 0.1, 300));
    device_compare(device, vanderpol, "method=bogacki-shampine-32 t1=5 precision=f32",
                   sweep("mu", 0.1, 300));
}

LONG_DEVICE_TEST(lorenz96) {
    device_compare(device, lorenz96, "method=rk4 t1=1 dt=0.01 precision=f32", sweep("F", 2, 9));
}

LONG_DEVICE_TEST(pleiades) {
    device_compare(device, pleiades, "method=rk4 t1=0.5 dt=0.01", sweep("x1(0)", 2.5, 3.5));
}

LONG_DEVICE_TEST(large_methods) {
    device_compare(device, lorenz96, "method=tsit5 t1=1", sweep("F", 2, 9));
    device_compare(device, lorenz96, "method=dop853 t1=1", sweep("F", 2, 9));
    device_compare(device, pleiades, "method=vern7 t1=0.5 precision=f32", sweep("x1(0)", 2.5, 3.5));
    device_compare(device, pleiades, "method=vern9 t1=0.5 rtol=1e-10", sweep("x1(0)", 2.5, 3.5));
}

// ---- What is saved ------------------------------------------------------------------------------

LONG_DEVICE_TEST(series) {
    device_compare(device, lorenz, "method=tsit5 t1=2 save=n=17", sweep("rho", 5, 40));
    device_compare(device, lorenz, "method=vern9 t1=2 save=n=17", sweep("rho", 5, 40));
    device_compare(device, lorenz, "method=rk4 t1=2 dt=0.01 save=every=0.25 settle=0.5",
                   sweep("rho", 5, 40));
}

// Of `shoal run --save steps`.
static char *steps_of(const char *device, const char *target) {
    const char *model = check_path("model.ode"), *file = check_path("steps.csv");
    if (target)
        setenv("SHOAL_CPU_TARGET", target, 1);
    else
        unsetenv("SHOAL_CPU_TARGET");
    check_write(model, "par rho=28\ninit x=1,y=0,z=0\nx'=10*(y-x)\ny'=x*(rho-z)-y\n"
                       "z'=x*y-8/3*z\n@ t1=1\n");
    struct check_output o = RUN(check_shoal(), "run", model, "--sweep", "rho=lin:1:30:19", "--save",
                                "steps", "--device", device, "--chunk", "7", "-q", "-o", file);
    CHECK_MSG(o.status == 0, "%s: %s", device, o.err);
    return check_read(file);
}

DEVICE_TEST(steps) {
    char *want = steps_of("cpu", "scalar"), *got = steps_of(device, NULL);
    REQUIRE(want && got);
    CHECK_MSG(!strcmp(want, got), "steps on %s differ", device);
    free(want);
    free(got);
}

static const char driven[] =
    "par a=1, b=2, c=0.3; !ab=a*b; !w=sqrt(a*a+b*b); x(0)=w*c+ab; y(0)=c/b;"
    "x'=-c*x+y*w*0.1+t*0.01; y'=-x+ab/(1+t*t); aux e=x*x+ab*y*y+t; aux h=sqrt(x*x+1)/(1+t)";

LONG_DEVICE_TEST(formulas_and_outputs) {
    device_compare(device, driven, "method=tsit5 t1=3 vars=e,x,h", sweep("a", 0.1, 2));
}

LONG_DEVICE_TEST(backwards) {
    device_compare(device, driven, "method=tsit5 t0=2 t1=-1 save=n=5", sweep("b", 0.5, 5));
    device_compare(device, driven, "method=rk4 t0=2 t1=-1 dt=0.01 precision=f32",
                   sweep("b", 0.5, 5));
}

// ---- Ways to run --------------------------------------------------------------------------------

// The same kernel with refill and chunks turned this way and that.
static void turn(struct rig *rig, const struct inputs *in, const struct outcome *want) {
    static const uint64_t chunks[] = {1, 7, 100, 0};
    static const shoal_refill refills[] = {SHOAL_REFILL_OFF, SHOAL_REFILL_ON};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
        for (int refill = 0; refill < 2; refill++) {
            char what[80];
            rig_turn(rig->solver, (struct rig_way){.chunk = chunks[i], .refill = refills[refill]});
            struct outcome got = rig_run(rig, in, NULL, 0, NULL);
            snprintf(what, sizeof what, "chunks of %d, refill %d", (int)chunks[i], refill);
            device_same(want, &got, what);
            outcome_free(&got);
        }
}

DEVICE_TEST(refill_and_chunks) {
    static const char options[] = "method=tsit5 t1=3 save=n=4";
    struct inputs in = sweep("mu", 0.1, 50);
    struct rig reference = device_rig_reference(vanderpol, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    struct rig rig = device_rig(device, vanderpol, options);
    turn(&rig, &in, &want);
    rig_turn(rig.solver, (struct rig_way){.memory = 4000, .refill = SHOAL_REFILL_ON}); // a few rows
    struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
    device_same(&want, &got, "little memory");
    outcome_free(&got);
    outcome_free(&want);
    rig_free(&rig);
    rig_free(&reference);
    inputs_free(&in);
}

// ---- Failures are data --------------------------------------------------------------------------

// k > 0 blows up, q < 0 is not a number from the start.
static const char doomed[] = "par k=0, q=1; init x=1; x'=k*x*x-x+sqrt(q)-1";

static struct inputs doomed_inputs(void) {
    const char *names[RIG_NAMES] = {"k", "q"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = i % 3 == 1 ? 1.5 + (double)(i % 20) : 0;
        in.value[1][i] = i % 7 == 5 ? -1 : 1;
    }
    return in;
}

DEVICE_TEST(failures) {
    device_compare(device, doomed, "method=tsit5 t1=3 save=n=7", doomed_inputs());
    device_compare(device, doomed, "method=tsit5 t1=3 keep-failed=on", doomed_inputs());
    device_compare(device, doomed, "method=tsit5 t1=3 max-steps=20", doomed_inputs());
    device_compare(device, doomed, "method=tsit5 t1=3 rtol=1e-11 dt-min=0.01", doomed_inputs());
    device_compare(device, doomed, "method=rk4 t1=3 dt=0.01", doomed_inputs());
}

// ---- Mathematics --------------------------------------------------------------------------------

static const char math[] =
    "par a=1, b=1, c=1; init u=0.3, v=0.1, w=0.2, s=0.1;"
    "u'=-a*u+tanh(v)+0.1*erf(w)+0.1*exp(-v*v)*cos(t); v'=cos(b*t)-abs(v)^1.7*exp(-u*u)-ln(1+v*v);"
    "w'=atan2(u+1,v+c)-abs(w)^c+0.2*sin(w)/(1+cosh(v))-0.1*sinh(w)+0.1*atan(u);"
    "s'=0.1*asin(0.5*sin(t))+0.1*acos(0.5*cos(u))-0.1*tan(0.3*sin(v))+0.01*erfc(u)-s"
    "+0.1*heav(sin(3*t))+0.1*mod(t,0.7)+0.1*min(u,v)-0.1*max(u,w)+0.01*floor(3*u)+0.02*sign(v);"
    "aux e=log10(1+u^2)+asinh(v)+atanh(0.3*sin(u))+acosh(2+v*v)";

static void near(const char *device, const char *options, double tolerance) {
    struct inputs in = sweep("b", 0.2, 4);
    struct rig reference = device_rig_reference(math, options);
    struct rig rig = device_rig(device, math, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < want.rows; i++)
        for (uint32_t v = 0; v < want.vars; v++) {
            double x = outcome_value(&want, v, i, 0), y = outcome_value(&got, v, i, 0);
            CHECK_MSG(fabs(x - y) <= tolerance * (1 + fabs(x)), "%s: row %d, %u: %.17g, not %.17g",
                      options, (int)i, v, y, x);
        }
    CHECK(got.tally.by_status[SHOAL_STATUS_ok] == ROWS);
    outcome_free(&want);
    outcome_free(&got);
    rig_free(&rig);
    rig_free(&reference);
    inputs_free(&in);
}

LONG_DEVICE_TEST(functions) {
    near(device, "method=euler t1=2 dt=0.01 vars=u,v,w,s,e", 1e-12);
    near(device, "method=euler t1=2 dt=0.01 vars=u,v,w,s,e precision=f32", 2e-4);
}

LONG_DEVICE_TEST(fast_math) { // other bits, but the same answer
    near(device, "method=euler t1=2 dt=0.01 vars=u,v,w,s,e fast-math=on", 1e-9);
    near(device, "method=euler t1=2 dt=0.01 vars=u,v,w,s,e fast-math=on precision=f32", 1e-3);
}
