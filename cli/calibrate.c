// SPDX-License-Identifier: MIT
// shoal calibrate: measures this machine for `--device auto`, and shows what batches of several
// sizes take.
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct table {
    bool json;
    char workload[128]; // the last one
    struct progress progress;
};

static void put_time(double s) {
    if (isnan(s))
        printf("  %10s", "-");
    else if (s < 1)
        printf("  %7.3g ms", s * 1e3);
    else
        printf("  %8.3g s", s);
}

static void put_number(const char *name, double x) {
    if (isnan(x))
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %.6g", name, x);
}

static void show_json(const shoal_calibration *c) {
    fputs("{\"workload\": ", stdout);
    show_json_string(stdout, c->workload);
    printf(", \"runs\": %" PRIu64, c->runs);
    put_number("cpu_s", c->cpu_s);
    put_number("cold_s", c->cold_s);
    put_number("warm_s", c->warm_s);
    printf(", \"choice\": \"%s\"}\n", c->choice);
}

static void show_row(const shoal_calibration *c, void *user) {
    struct table *t = user;
    progress_erase(&t->progress);
    if (t->json) {
        show_json(c);
        fflush(stdout);
        return;
    }
    if (strcmp(t->workload, c->workload)) {
        snprintf(t->workload, sizeof t->workload, "%s", c->workload);
        const char *device = c->device ? c->device : "gpu";
        printf("\n%s\n%10s  %10s  %6s cold  %6s warm  %8s  choice\n", c->workload, "runs", "cpu",
               device, device, "speed-up");
    }
    printf("%10" PRIu64, c->runs);
    put_time(c->cpu_s);
    put_time(c->cold_s);
    put_time(c->warm_s);
    double gain = c->cpu_s / c->warm_s;
    if (isnan(gain))
        printf("  %8s", "-");
    else
        printf("  %7.3gx", gain);
    printf("  %s\n", c->choice);
    fflush(stdout);
}

static void on_compile(const shoal_compile *now, void *user) {
    struct table *t = user;
    stop_catch(); // it begins: from here on somebody looks
    progress_compile(&t->progress, now);
}

int command_calibrate(struct args *a) {
    struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
    struct table t = {.json = args_flag(a, "json")};
    shoal_code code = SHOAL_OK;
    if (a->model)
        code = subject_load(&s, a, a->model);
    else if (!(code = args_check(a, s.log)) &&
             !(code = shoal_options_init(&s.options, NULL, s.log)))
        code = args_apply(a, NULL, &s.options, s.log);
    t.progress = progress_new(0, s.talk.quiet, true);
    s.options.stop = stop_flag();
    s.options.on_compile = on_compile;
    s.options.on_compile_user = &t;
    if (!code)
        code = shoal_calibrate(s.model, &s.options, 0, show_row, &t, s.log);
    stop_release();
    progress_erase(&t.progress);
    int status = subject_close(&s, code);
    return *stop_flag() ? EXIT_SIGNAL + *stop_flag() : status;
}
