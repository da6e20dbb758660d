// SPDX-License-Identifier: MIT
// Compile times of single functions: they name the one that is slow, on every backend, and add up.
#include "check.h"
#include "device_test.h"
#include "kernels.h"

#include "base/buf.h"
#include "device/device.h"

#include <sys/resource.h>

OWN_CACHE

static double seconds_used(void) {
    double s = 0;
    const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; i++) {
        struct rusage u;
        getrusage(whose[i], &u);
        s += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
             (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
    }
    return s;
}

// Few states, and a right-hand side that is longer than all the rest of a kernel.
static char *long_model(int terms) {
    struct buf m = {0};
    buf_puts(&m, "par a=1;init x=0.1;init y=0.2;x'=-x;y'=-y");
    for (int i = 0; i < terms; i++)
        buf_printf(&m, "+sin(x*%d.5+a)*y/(%d+x*x+y*y)", i + 1, i + 2);
    buf_puts(&m, ";@ t1=1");
    REQUIRE(!m.failed);
    return m.data;
}

static struct made measured(const char *device, const char *model, const char *options) {
    char words[128];
    shoal_solver *solver = NULL;
    snprintf(words, sizeof words, "device=%s %s", device, options);
    struct made m = make_solver(model, words, true, NULL); // the compiler is known from here on
    REQUIRE(m.code == SHOAL_OK);
    shoal_solver_free(m.solver);
    m.solver = NULL;
    shoal_log_set_timing(m.log, SHOAL_TIMING_VERBOSE);
    REQUIRE(shoal_solver_new(m.model, &m.options, &solver, m.log) == SHOAL_OK);
    m.solver = solver;
    return m;
}

static double apart(const shoal_log *log, const char *label) {
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (s.kind == SHOAL_APART && !strcmp(s.label, label))
            return (double)s.ns * 1e-9;
    }
    return 0;
}

static const char *const labels[] = {"compile_loop", "compile_save_state", "compile_step",
                                     "compile_observables", "compile_dxdt"};
enum { LABELS = sizeof labels / sizeof *labels };

// The largest is the right-hand side; returns their sum.
static double check_largest(const shoal_log *log, const char *device) {
    double dxdt = apart(log, "compile_dxdt"), sum = 0;
    for (int i = 0; i < LABELS; i++) {
        double s = apart(log, labels[i]);
        CHECK_MSG(s > 0, "%s: no %s", device, labels[i]);
        CHECK_MSG(s <= dxdt, "%s: %s takes %g s, compile_dxdt %g s", device, labels[i], s, dxdt);
        sum += s;
    }
    return sum;
}

LONG_DEVICE_TEST(measure_names_the_slow_one) {
    setenv("SHOAL_CACHE", "off", 1);
    // NVRTC takes minutes for ten times as many.
    char *model = long_model(strcmp(device, "cuda") ? 2000 : 200);
    struct made m = measured(device, model, "method=euler dt=0.1");
    double sum = check_largest(m.log, device);
    made_free(&m);
    // Another kernel of the same size, so that nothing has been seen before.
    memcpy(strstr(model, "x*1.5"), "x*1.6", 5);
    char words[64];
    snprintf(words, sizeof words, "device=%s method=euler dt=0.1", device);
    double begin = seconds_used();
    m = make_solver(model, words, false, NULL);
    double whole = seconds_used() - begin;
    REQUIRE(m.code == SHOAL_OK);
    CHECK_MSG(sum > whole / 3 && sum < whole * 3, "%s: %g s in parts, %g s as a whole", device, sum,
              whole);
    made_free(&m);
    free(model);
}

// ---- Units --------------------------------------------------------------------------------------

// One of each kind of step and loop; workspaces and long functions by size.
static const char *const kinds[] = {"tsit5 save=n=5", "rk4 dt=0.1", "rodas5p",
                                    "kvaerno5",       "radau5",     "auto"};
static const char small[] =
    "par a=2;!b=a*a;x(0)=b/4;init y=0;x'=-a*x/(y+2);y'=x-sin(y);aux r=x/y;@ t1=1";

static char *large_model(void) {
    struct buf m = {0};
    buf_puts(&m, "par a=1;x1'=-x1+a;x[2..140]'=a*(x[j-1]-x[j])/(1+x[j]^2);@ t1=1");
    REQUIRE(!m.failed);
    return m.data;
}

// All functions are stubs in the first unit, and the last is the kernel.
static void check_units(const char *target, const char *device, const char *model,
                        const char *method) {
    char words[128];
    struct order order;
    struct kernel_source source;
    struct kernel_unit units[CODEGEN_UNITS];
    struct shoal_bytes bytes = {0};
    snprintf(words, sizeof words, "device=%s method=%s", device, method);
    struct made m = make_solver(model, words, true, NULL);
    REQUIRE(m.code == SHOAL_OK);
    REQUIRE(order_open(m.model, &m.options, target, &order, m.log) == SHOAL_OK);
    REQUIRE(codegen_kernel(&order.kernel[PLAN_FIRST], order.model->found->system, NULL, NULL,
                           &source, NULL) == SHOAL_OK);
    uint32_t count = codegen_units(&source, units);
    struct shoal_kernel_text text = {.text = units[0].text.data,
                                     .length = units[0].text.length,
                                     .needs_libm = true,
                                     .one_unit = true};
    shoal_code code = order.backend->build(order.device, &text, NULL, &bytes, log_report(m.log));
    CHECK_MSG(code == SHOAL_OK, "%s, %s: %s", device, method, rig_messages(m.log));
    CHECK(count >= 6 && !units[0].label && units[1].label);
    CHECK_HAS(units[0].text.data, "STUB void model_rhs(");
    CHECK(!strstr(units[count - 1].text.data, "STUB void"));
    size_t tail = source.component[source.components - 1].offset;
    size_t rest = source.text.length - tail;
    CHECK_STR(units[count - 1].text.data + units[count - 1].text.length - rest,
              source.text.data + tail);
    for (uint32_t i = 0; i < count; i++)
        buf_free(&units[i].text);
    free(bytes.data);
    kernel_source_free(&source);
    order_close(&order);
    made_free(&m);
}

static void check_all_units(const char *target, const char *device) {
    char *large = large_model();
    setenv("SHOAL_CACHE", "off", 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_units(target, device, small, kinds[i]);
    check_units(target, device, large, "rodas5p");
    free(large);
}

LONG_DEVICE_TEST(measure_units) { check_all_units(NULL, device); }

// Nothing is loaded, so no GPU is needed.
static void check_measure_cuda(void) {
    struct order order;
    struct build b;
    char *model = long_model(100);
    struct made m = make_solver(model, "method=euler dt=0.1", true, NULL);
    REQUIRE(order_open(m.model, &m.options, "sm_90", &order, m.log) == SHOAL_OK);
    struct build_how how = solver_how(m.model, &m.options, order.backend, order.device);
    struct cache *cache = cache_open(how.cache);
    REQUIRE(build_begin(&order.kernel[PLAN_FIRST], order.model->found->system, &how, cache, &b,
                        m.log) == SHOAL_OK);
    build_measure(&b);
    check_largest(m.log, "cuda");
    build_free(&b);
    cache_close(cache);
    order_close(&order);
    made_free(&m);
    free(model);
}

TEST(measure_cuda) {
    struct report r = {0};
    const struct shoal_backend *backend = NULL;
    struct shoal_device *d = NULL;
    struct shoal_bytes bytes = {0};
    const char source[] = "extern \"C\" __global__ void shoal_kernel() {}";
    const struct shoal_kernel_text text = {.text = source, .length = strlen(source)};
    REQUIRE(device_open_target("sm_90", false, &backend, &d, &r) == SHOAL_OK);
    if (backend->build(d, &text, NULL, &bytes, &r) != SHOAL_OK)
        check_skip("no NVRTC");
    free(bytes.data);
    backend->close(d);
    check_all_units("sm_90", "cpu");
    check_measure_cuda();
}
