// SPDX-License-Identifier: MIT
// bench/plot: how long figures of large results take, and how much memory: a density of 10^8 points
// against 10 s and 300 MB, a heat map of 2000 x 2000 against 1 s, and plots as text, of which one
// has hardly anything to read, against 50 ms.
//
//     plot [POINTS]
//
// The results are written first, into the directory of TMPDIR, and removed afterwards.
#include "shoal/shoal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double memory_mb(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static double processor_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void fail(shoal_log *log) {
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(log, i).text);
    exit(1);
}

static void write_result(const char *model, const char *const *words, const char *path) {
    shoal_log *log = shoal_log_new();
    if (shoal_solve(model, (const char **)words, path, NULL, log))
        fail(log);
    shoal_log_free(log);
}

static void draw(const char *what, const char *result, shoal_plot_options *o, const char *output) {
    char *text = NULL;
    shoal_log *log = shoal_log_new();
    double start = now(), before = processor_s();
    if (shoal_plot(result, o, output, &text, log))
        fail(log);
    printf("%-44s %7.3f s, %7.3f s of processors, at most %4.0f MB\n", what, now() - start,
           processor_s() - before, memory_mb());
    free(text);
    shoal_log_free(log);
}

// In a process of its own, so that its memory is measured alone.
static void draw_alone(char **argv, const char *what, const char *result) {
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", argv[0], "draw", what, result, (char *)NULL);
        _exit(1);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0)
        ;
}

static int draw_one(const char *what, const char *result, const char *dir) {
    char png[4096];
    shoal_plot_options o;
    shoal_plot_options_init(&o);
    snprintf(png, sizeof png, "%s/shoal-bench-plot.png", dir);
    if (!strcmp(what, "density")) {
        o.kind = SHOAL_PLOT_density;
        o.x = "x";
        o.y = "v";
        draw("density of x and v, .png", result, &o, png);
    } else if (!strcmp(what, "heat"))
        draw("heat map of 2000 x 2000, .png", result, &o, png);
    else
        draw(!strcmp(what, "text") ? "heat map of 2000 x 2000, as text"
                                   : "heat map of 100 x 100, as text",
             result, &o, NULL);
    unlink(png);
    return 0;
}

int main(int argc, char **argv) {
    const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (argc == 4)
        return draw_one(argv[2], argv[3], dir);
    double points = argc > 1 ? atof(argv[1]) : 1e8;
    char model[4096], series[4096], grid[4096], sweep[64], save[32];
    snprintf(model, sizeof model, "%s/shoal-bench-plot.ode", dir);
    snprintf(series, sizeof series, "%s/shoal-bench-series.npz", dir);
    snprintf(grid, sizeof grid, "%s/shoal-bench-grid.npz", dir);
    snprintf(sweep, sizeof sweep, "sweep=w=lin:1:5:%.0f", points / SAMPLES);
    snprintf(save, sizeof save, "save=n=%d", SAMPLES);
    FILE *f = fopen(model, "w");
    if (!f ||
        fputs("par w=1, g=0.05\ninit x=1, v=0\nx' = v\nv' = -w*w*x - g*v\n@ t1=20\n", f) < 0 ||
        fclose(f))
        return 1;
    double start = now();
    write_result(model, (const char *const[]){sweep, save, NULL}, series);
    printf("%.3g points written in %.1f s\n", points, now() - start);
    fflush(stdout);
    draw_alone(argv, "density", series);
    unlink(series);
    write_result(model,
                 (const char *const[]){"sweep=w=lin:1:5:2000", "sweep=g=lin:0:1:2000", "vars=x",
                                       "t1=5", NULL},
                 grid);
    draw_alone(argv, "heat", grid);
    draw_alone(argv, "text", grid);
    write_result(
        model,
        (const char *const[]){"sweep=w=lin:1:5:100", "sweep=g=lin:0:1:100", "vars=x", "t1=5", NULL},
        grid);
    draw_alone(argv, "small", grid); // hardly anything to read: what drawing itself takes
    unlink(grid);
    unlink(model);
    return 0;
}
