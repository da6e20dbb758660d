// SPDX-License-Identifier: MIT
// What a process costs that runs a few trajectories on a CUDA device with its kernel cached, beside
// the least that any program pays: cuInit and a context.
//
//   start BUILD_DIRECTORY
//   start --bare          (what the first one starts: driver, context, end)
//
// Both are whole processes, from their start to their exit, one after the other in turns, so that
// clocks and caches are the same for both. The cache is one of its own, in /tmp, and is removed.
// Rounds before the first that counts warm file caches and the driver. Prints Markdown, and what
// the events of the last run were; ends with 1 when the bar is missed.
#include "program.h"

#include <dlfcn.h>
#include <ftw.h>

enum { ROUNDS = 21, WARM_UP = 3 };
static const double bar_ms = 20;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int bare(void) {
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), device = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    if (!library)
        return 1;
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&get = dlsym(library, "cuDeviceGet");
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    int failed = init(0) || get(&device, 0) || retain(&context, device);
    _exit(failed ? 1 : 0);
}

static double median_ms(double *seconds) {
    qsort(seconds, ROUNDS, sizeof *seconds, compare);
    return seconds[ROUNDS / 2] * 1e3;
}

static void row(const char *what, double *seconds) {
    double median = median_ms(seconds);
    printf("| %s | %.1f ms | %.1f ms | %.1f ms |\n", what, seconds[0] * 1e3, median,
           seconds[ROUNDS - 1] * 1e3);
}

static void show_file(const char *path) {
    char line[4096];
    FILE *f = fopen(path, "re");
    puts("\n```");
    while (f && fgets(line, sizeof line, f))
        fputs(line, stdout);
    puts("```");
    if (f)
        fclose(f);
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw) {
    (void)s, (void)flag, (void)ftw;
    return remove(path);
}

static int measure(const char *self, const char *build, const char *folder) {
    char shoal[512], events[512], output[512];
    double ours[ROUNDS], least[ROUNDS];
    snprintf(shoal, sizeof shoal, "%s/shoal", build);
    snprintf(events, sizeof events, "%s/events.json", folder);
    snprintf(output, sizeof output, "%s/out.csv", folder);
    const char *run[] = {shoal,
                         "run",
                         "examples/lorenz.ode",
                         "--device",
                         "cuda",
                         "--sweep",
                         "rho=lin:0:21:20",
                         "-o",
                         output,
                         "--method",
                         "tsit5",
                         NULL,
                         events,
                         NULL};
    const size_t more_words = 11; // where they end, unless events are asked for
    const char *const other[] = {self, "--bare", NULL};
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        double a, b;
        if (!run_program(other, &a) || !run_program(run, &b))
            return -1;
        if (i >= 0)
            least[i] = a, ours[i] = b;
    }
    run[more_words] = "--timing-json";
    run_program(run, NULL);
    puts("| 20 Lorenz on a CUDA device, kernel cached, each process warmed up | best | median | "
         "worst |\n|---|---|---|---|");
    row("cuInit and context alone", least);
    row("shoal run", ours);
    double more = ours[ROUNDS / 2] * 1e3 - least[ROUNDS / 2] * 1e3;
    printf("\nshoal takes %.1f ms more; bar <= %.0f ms %s\n", more, bar_ms,
           more > bar_ms ? "MISSED" : "reached");
    show_file(events);
    return more > bar_ms;
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/shoal-bench.XXXXXX";
    if (argc > 1 && !strcmp(argv[1], "--bare"))
        return bare();
    if (!mkdtemp(folder))
        return 1;
    setenv("SHOAL_CACHE_DIR", folder, 1);
    setenv("SHOAL_CACHE", "on", 1);
    int missed = measure("/proc/self/exe", argc > 1 ? argv[1] : "build", folder);
    if (missed < 0)
        fputs("bench: no CUDA device here\n", stderr);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return missed != 0;
}
