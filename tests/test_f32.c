// SPDX-License-Identifier: MIT
// How good f32 is: stages are summed before they are added to the state, which rounds it once a
// step. Added one by one, as they were, errors of rk4 are 2.6 times as large.
//
// The metric is the field's: rms over 1024 trajectories and all states of |y - ref| / (1 + |ref|).
#include "base/buf.h"
#include "check.h"
#include "solve.h"

static double rms_error(const char *model, const char *sweep, const char *options) {
    struct solved ref = solve(model, sweep, "method=dop853 rtol=1e-12 atol=1e-12 t1=1");
    struct solved got = solve(model, sweep, "precision=f32 t1=1 %s", options);
    double sum = 0;
    for (uint32_t v = 0; v < got.vars; v++)
        for (uint64_t i = 0; i < got.rows; i++) {
            double want = solved_last(&ref, v, i);
            sum += pow((solved_last(&got, v, i) - want) / (1 + fabs(want)), 2);
        }
    sum = sqrt(sum / (double)(got.vars * got.rows));
    solved_free(&ref);
    solved_free(&got);
    return sum;
}

TEST(f32_lorenz) {
    static const char lorenz[] = "par rho=28; const sigma=10, beta=8/3; init x=1; x'=sigma*(y-x);"
                                 "y'=x*(rho-z)-y; z'=x*y-beta*z";
    double error = rms_error(lorenz, "rho=lin:0:21:1024", "method=rk4 dt=9.765625e-4");
    CHECK_MSG(error < 1.5e-6, "rk4: %g", error);
    error = rms_error(lorenz, "rho=lin:0:21:1024", "method=tsit5 rtol=1e-5 atol=1e-5");
    CHECK_MSG(error < 2.5e-5, "tsit5: %g", error);
}

TEST(f32_lorenz96) {
    struct buf m = {0};
    buf_puts(&m, "par F=8;");
    for (int i = 0; i < 32; i++)
        buf_printf(&m, "init x%d=%d; x%d'=(x%d-x%d)*x%d-x%d+F;", i, i ? 8 : 9, i, (i + 1) % 32,
                   (i + 30) % 32, (i + 31) % 32, i);
    double error = rms_error(m.data, "F=lin:0:16:1024", "method=rk4 dt=9.765625e-4");
    CHECK_MSG(error < 3.2e-4, "rk4: %g", error);
    buf_free(&m);
}

// Numbers are combined within the range of f32, in f64 models too: 1e-39 has no reciprocal there.
TEST(f32_range_of_combined_numbers) {
    struct solved s = solve("init x=1e-38; x'=-x/2; y'=x/1e-39; z'=(x*1e-30)/1e-38", NULL,
                            "t1=1 precision=f32 atol=1e-45,y=1e-6,z=1e-33");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_NEAR(solved_last(&s, 1, 0) / (20 * (1 - exp(-.5))), 1, 1e-3);
    CHECK_NEAR(solved_last(&s, 2, 0) / (2e-30 * (1 - exp(-.5))), 1, 1e-3);
    solved_free(&s);
}
