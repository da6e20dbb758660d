// SPDX-License-Identifier: MIT
// shoal warm: kernels before they are needed, also for CPUs that are not here.
#include "device/device.h"
#include "device_test.h"
#include "kernels.h"

#include <unistd.h>

OWN_CACHE

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static const char *model(const char *name, const char *rate) {
    const char *path = check_path(name);
    char text[128];
    snprintf(text, sizeof text, "par a=1\ninit x=1\nx'=-%s*a*x\n@ t1=1\n", rate);
    check_write(path, text);
    return path;
}

TEST(warm_then_run) {
    const char *one = model("one.ode", "1"), *two = model("two.ode", "2");
    struct check_output o = SHOAL("warm", one, two);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "one.ode, auto: compiled in ");
    CHECK_HAS(o.out, "two.ode, rodas5p: compiled in ");
    o = SHOAL("run", two, "-o", check_path("o.csv"), "--rtol", "1e-4", "--timing", "debug");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "\"result\":\"hit\"");
    o = SHOAL("warm", one, "--json");
    CHECK_HAS(o.out, "\"compiled\": false");
}

// Where the time went, for who asks.
TEST(warm_timing) {
    const char *one = model("one.ode", "1");
    struct check_output o = SHOAL("warm", one, "--timing", "verbose");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "\n  compile_kernel ");
    CHECK_HAS(o.err, "\n  device_open ");
    CHECK_HAS(o.err, "\n  total ");
    o = SHOAL("warm", one);
    CHECK_INT(o.status, 0);
    CHECK(!strstr(o.err, "total"));
    o = SHOAL("warm", one, "--timing", "default", "-q");
    CHECK_STR(o.err, "");
}

// The ending is the backend's.
DEVICE_TEST(warm_keeps_the_source) {
    const char *one = model("one.ode", "1");
    struct check_output o = SHOAL("warm", one, "--device", device, "--keep-source", check_path(""));
    CHECK_INT(o.status, 0);
    const char *kept = strstr(o.err, "kernel source kept in ");
    REQUIRE(kept);
    char path[512] = "";
    sscanf(kept + strlen("kernel source kept in "), "%511[^\n]", path);
    char name[16], ending[16];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(device, ":"), device);
    snprintf(ending, sizeof ending, ".%s", device_backend(name)->source_ending);
    CHECK_STR(strrchr(path, '.'), ending);
    CHECK_MSG(access(path, R_OK) == 0, "%s is not there", path);
}

// Both levels from one machine; each is found by the machine of its level.
TEST(warm_targets) {
    const char *one = model("one.ode", "1");
    struct check_output o = SHOAL("warm", one, "--target", "x86-64-v3,x86-64-v4");
    if (o.status == 1 && strstr(o.err, "no backend knows"))
        check_skip("not this kind of machine");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "x86-64-v3");
    CHECK_HAS(o.out, "x86-64-v4");
    CHECK_INT(kernels_kept(), 4); // of both methods
    setenv("SHOAL_CPU_TARGET", "x86-64-v3", 1);
    o = SHOAL("run", one, "--dry-run");
    if (o.status == 0)
        CHECK_HAS(o.out, ", cached");
}

TEST(warm_fails) {
    const char *one = model("one.ode", "1");
    struct check_output o = SHOAL("warm", one, "--target", "abacus");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "no backend knows the target 'abacus'");
    CHECK_INT(SHOAL("warm").status, 2);
    CHECK_INT(SHOAL("warm", check_path("nowhere.ode")).status, 4);
    setenv("SHOAL_CACHE", "off", 1);
    o = SHOAL("warm", one);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "cannot be kept");
    setenv("SHOAL_CACHE", "on", 1);
    use_script("case \"$*\" in *-###*|*-print-*|*-dM*|*/whole.o*) exec cc \"$@\";; esac; exit 3");
    o = SHOAL("warm", one);
    CHECK_INT(o.status, 3);
    CHECK_HAS(o.err, "failed with exit code 3");
    CHECK_INT(kernels_kept(), 0);
}

// A signal ends the compiler too, and nothing is left behind.
TEST(warm_is_stopped) {
    char script[256];
    const char *one = model("one.ode", "1"), *begun = check_path("begun");
    snprintf(script, sizeof script,
             "case \"$*\" in *-###*|*-print-*|*-dM*|*/whole.o*) exec cc \"$@\";; esac; : > %s; "
             "exec sleep 60",
             begun);
    use_script(script);
    struct check_output o = RUN("bash", "-mc",
                                "\"$0\" warm \"$1\" & pid=$!; until [ -e \"$2\" ]; do sleep 0.02; "
                                "done; kill -INT $pid; wait $pid",
                                check_shoal(), one, begun);
    CHECK_INT(o.status, 128 + 2);
    CHECK_INT(kernels_kept(), 0);
}
