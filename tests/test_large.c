// SPDX-License-Identifier: MIT
// Large systems: values against plain loops, arrays in the workspace instead of on the stack, and
// how long the compiler takes.
#include "check.h"
#include "rig.h"

#include <pthread.h>
#include <sys/resource.h>

// ---- A ring of n sites (Lorenz 96) --------------------------------------------------------------

static char *ring_model(int n) {
    struct buf m = {0};
    buf_printf(&m,
               "par F=8; init x1=9; init x[2..%d]=8; x1'=(x2-x%d)*x%d-x1+F;"
               "x2'=(x3-x%d)*x1-x2+F; x[3..%d]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+F;"
               "x%d'=(x1-x%d)*x%d-x%d+F",
               n, n - 1, n, n, n - 1, n, n - 2, n - 1, n);
    return m.data;
}

static void ring_rhs(int n, double force, const double *x, double *d) {
    for (int i = 0; i < n; i++)
        d[i] = (x[(i + 1) % n] - x[(i + n - 2) % n]) * x[(i + n - 1) % n] - x[i] + force;
}

// n states after `steps` classical Runge-Kutta steps; the caller frees.
static double *ring_reference(int n, double force, double h, int steps) {
    double *y = calloc(6 * (size_t)n, sizeof *y), *k[4], *w = y + 5 * n;
    REQUIRE(y);
    for (int q = 0; q < 4; q++)
        k[q] = y + (q + 1) * n;
    for (int i = 0; i < n; i++)
        y[i] = i ? 8 : 9;
    for (int s = 0; s < steps; s++) {
        static const double c[] = {0, 0.5, 0.5, 1};
        for (int q = 0; q < 4; q++) {
            for (int i = 0; i < n; i++)
                w[i] = q ? y[i] + h * c[q] * k[q - 1][i] : y[i];
            ring_rhs(n, force, w, k[q]);
        }
        for (int i = 0; i < n; i++)
            y[i] += h * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]) / 6;
    }
    return y;
}

static double compiler_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}

static struct inputs three_forces(void) {
    const char *names[RIG_NAMES] = {"F"};
    struct inputs in = inputs_new(3, names);
    for (uint64_t i = 0; i < 3; i++)
        in.value[0][i] = 7.5 + (double)i;
    return in;
}

// Fixed steps of all states, then an adaptive method with samples of one.
static void check_ring(int n, double most_seconds) {
    char *model = ring_model(n);
    struct inputs in = three_forces();
    double before = compiler_seconds();
    struct rig rig = rig_new(NULL, model, "method=rk4 dt=0.01 t1=0.5");
    double seconds = compiler_seconds() - before;
    CHECK_MSG(seconds < most_seconds, "%d states took the compiler %.1f s", n, seconds);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    rig_free(&rig);
    struct rig fine = rig_new(NULL, model, "method=dop853 rtol=1e-9 t1=0.5 save=n=3 vars=x1");
    struct outcome p = rig_run(&fine, &in, NULL, 0, NULL);
    rig_free(&fine);
    for (uint64_t row = 0; row < 3; row++) {
        double *want = ring_reference(n, in.value[0][row], 0.01, 50);
        double *half = ring_reference(n, in.value[0][row], 0.0025, 100);
        for (int i = 0; i < n; i++)
            CHECK_NEAR(outcome_value(&o, (uint32_t)i, row, 0), want[i], 1e-11);
        CHECK_INT(o.steps[row], 50);
        CHECK_NEAR(outcome_value(&p, 0, row, 1), half[0], 2e-6);
        CHECK_NEAR(outcome_value(&p, 0, row, 2), want[0], 1e-4);
        free(want);
        free(half);
    }
    outcome_free(&o);
    outcome_free(&p);
    inputs_free(&in);
    free(model);
}

static void use_small_stacks(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 192 * 1024);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

TEST(large_ring_100) { check_ring(100, 3); }
TEST(large_ring_1000_on_a_small_stack) {
    use_small_stacks();
    check_ring(1000, 8);
}
LONG_TEST(large_ring_10000_on_a_small_stack) {
    use_small_stacks();
    check_ring(10000, 60);
}

// ---- Everything depends on everything -----------------------------------------------------------

// Differences are shared by two right-hand sides each, in parts far apart.
TEST(large_all_to_all) {
    enum { N = 40 };
    struct buf m = {0};
    buf_puts(&m, "par F=1;");
    for (int i = 0; i < N; i++) {
        buf_printf(&m, "init x%d=%d/10; x%d'=F", i + 1, i, i + 1);
        for (int j = 0; j < N; j++)
            if (j < i)
                buf_printf(&m, "-((x%d-x%d)/(1+(x%d-x%d)^2))", i + 1, j + 1, i + 1, j + 1);
            else if (j > i)
                buf_printf(&m, "+((x%d-x%d)/(1+(x%d-x%d)^2))", j + 1, i + 1, j + 1, i + 1);
        buf_putc(&m, ';');
    }
    struct rig rig = rig_new(NULL, m.data, "method=euler dt=0.01 t1=0.02");
    CHECK_HAS(rig_source(&rig), "model_rhs_3(");
    struct inputs in = three_forces();
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint64_t row = 0; row < 3; row++) {
        double x[N], d[N];
        for (int i = 0; i < N; i++)
            x[i] = i / 10.0;
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < N; i++) {
                d[i] = in.value[0][row];
                for (int j = 0; j < N; j++)
                    d[i] += (x[j] - x[i]) / (1 + (x[j] - x[i]) * (x[j] - x[i]));
            }
            for (int i = 0; i < N; i++)
                x[i] += 0.01 * d[i];
        }
        for (uint32_t i = 0; i < N; i++)
            CHECK_NEAR(outcome_value(&o, i, row, 0), x[i], 1e-13);
    }
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
    buf_free(&m);
}

// ---- Many formulas at the start, many observables -----------------------------------------------

TEST(large_start_and_observables) {
    enum { N = 300 };
    struct buf m = {0};
    buf_printf(&m,
               "par F=0.5; x[1..%d](0)=F*[j]+sin(F*[j]); !q[1..%d]=F^2/[j];"
               "x[1..%d]'=-q[j]*x[j];",
               N, N, N);
    for (int i = 1; i <= N; i++)
        buf_printf(&m, "aux o%d=x%d*x%d+%d;", i, i, i % N + 1, i);
    struct rig rig = rig_new(NULL, m.data, "method=euler dt=0.25 t1=0.5 vars=o");
    struct inputs in = three_forces();
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    REQUIRE(o.vars == N);
    for (uint64_t row = 0; row < 3; row++) {
        double x[N + 1], force = in.value[0][row];
        for (int i = 0; i <= N; i++) {
            int j = i % N + 1;
            x[i] = force * j + sin(force * j);
            for (int s = 0; s < 2; s++)
                x[i] -= 0.25 * (force * force / j) * x[i];
        }
        for (int i = 0; i < N; i++) {
            double want = x[i] * x[i + 1] + i + 1;
            CHECK_NEAR(outcome_value(&o, (uint32_t)i, row, 0), want, 1e-13 * fabs(want));
        }
    }
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
    buf_free(&m);
}

// ---- Stops --------------------------------------------------------------------------------------

static void *stop_soon(void *solver) {
    struct timespec t = {0, 200000000};
    nanosleep(&t, NULL);
    shoal_solver_stop(solver);
    return NULL;
}

// A step of a large system is long; the flag is looked at more often.
TEST(large_stop) {
    char *model = ring_model(1000);
    struct rig rig = rig_new(NULL, model, "method=tsit5 t1=1e9 max-steps=1000000000 vars=x1");
    struct inputs in = three_forces();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, stop_soon, rig.solver) == 0);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    pthread_join(thread, NULL);
    CHECK_INT(o.code, SHOAL_STOPPED);
    CHECK_MSG(o.tally.seconds < 5, "%g s", o.tally.seconds);
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
    free(model);
}
