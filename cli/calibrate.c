// SPDX-License-Identifier: MIT
// shoal calibrate: measures this machine for `--device auto`, and shows what batches of several
// sizes take; or (--methods) compares methods at an equal error.
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

// ---- Methods ------------------------------------------------------------------------------------

static void show_ranks_json(const shoal_comparison *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        const shoal_rank *r = &c->rank[i];
        printf("{\"method\": \"%s\"", r->method);
        put_number("rtol", r->rtol);
        put_number("atol", r->atol);
        put_number("error", r->error);
        put_number("seconds", r->seconds);
        printf(", \"why\": \"%s\"}\n", r->why);
    }
}

static void show_ranks(const shoal_comparison *c) {
    const shoal_rank *best = &c->rank[0];
    printf("%" PRIu64 " run%s, each method at an error of at most %g; %s and %s agree on the "
           "reference to %.1g\n\n%-22s %10s %10s %10s %12s %8s\n",
           c->runs, c->runs == 1 ? "" : "s", c->error, c->reference[0], c->reference[1],
           c->agreement, "method", "rtol", "atol", "error", "time", "");
    for (uint32_t i = 0; i < c->count; i++) {
        const shoal_rank *r = &c->rank[i];
        if (*r->why) {
            printf("%-22s %s\n", r->method, r->why);
            continue;
        }
        printf("%-22s %10.2g %10.2g %10.2g", r->method, r->rtol, r->atol, r->error);
        put_time(r->seconds);
        printf(" %7.3gx\n", r->seconds / best->seconds);
    }
    if (c->count && !*best->why)
        printf("\ntake --method %s --rtol %.2g --atol %.2g\n", best->method, best->rtol,
               best->atol);
}

static shoal_code compare(const struct args *a, struct subject *s, struct table *t) {
    static shoal_comparison ranks;
    shoal_batch *batch = NULL;
    shoal_code code = subject_batch(s, a, &batch);
    if (code == SHOAL_OK)
        code = shoal_compare_methods(s->model, &s->options, batch, &ranks, s->log);
    progress_erase(&t->progress);
    if (code == SHOAL_OK && t->json)
        show_ranks_json(&ranks);
    else if (code == SHOAL_OK)
        show_ranks(&ranks);
    shoal_batch_free(batch);
    return code;
}

// ---- The command --------------------------------------------------------------------------------

static void on_compile(const shoal_compile *now, void *user) {
    struct table *t = user;
    stop_catch(); // it begins: from here on somebody looks
    progress_compile(&t->progress, now);
}

int command_calibrate(struct args *a) {
    struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
    struct table t = {.json = args_flag(a, "json")};
    shoal_code code = SHOAL_OK;
    if (!a->model && args_flag(a, "methods")) {
        fputs("error: --methods compares methods on a model: shoal calibrate MODEL --methods\n",
              stderr);
        code = SHOAL_USAGE;
    } else if (a->model)
        code = subject_load(&s, a, a->model);
    else if (!(code = args_check(a, s.log)) &&
             !(code = shoal_options_init(&s.options, NULL, s.log)))
        code = args_apply(a, NULL, &s.options, s.log);
    t.progress = progress_new(0, s.talk.quiet, true);
    s.options.stop = stop_flag();
    s.options.on_compile = on_compile;
    s.options.on_compile_user = &t;
    if (!code && args_flag(a, "methods"))
        code = compare(a, &s, &t);
    else if (!code)
        code = shoal_calibrate(s.model, &s.options, 0, show_row, &t, s.log);
    stop_release();
    progress_erase(&t.progress);
    int status = subject_close(&s, code);
    return *stop_flag() ? EXIT_SIGNAL + *stop_flag() : status;
}
