// SPDX-License-Identifier: MIT
// What journal, checksums and places in the file cost a run whose result is a file.
//
// 10^7 Lorenz systems to t = 10 into NPZ, by turns with the same runs whose bytes go to a plain
// file one behind the other as they come: no journal, no checksum (not even those of a ZIP file),
// no place, no header. It gets as many bytes, and is synced to the disk as a result is. Files are
// in the folder of the argument. Prints Markdown: the median of each, and the median of the ratios
// of each turn.
#include "job.h"

#include <errno.h>

enum { TURNS = 7, ROW_BYTES = 65 }; // of a row: run, rho, t, 3 states, status, 3 counters

struct plain {
    int file;
    uint64_t bytes, rows, all;
};

static bool take_all(void *user, uint64_t least, uint64_t wanted, uint64_t *first, uint64_t *rows) {
    (void)least, (void)wanted;
    struct plain *p = user;
    *first = p->rows;
    *rows = p->all - p->rows;
    p->rows = p->all;
    return *rows;
}

static shoal_code append(void *user, uint64_t first, uint64_t rows, const void *bytes,
                         size_t length) {
    (void)first;
    struct plain *p = user;
    // What the file has beside these bytes (run, rho, t) is stood for by some of them once more.
    for (size_t left = rows * ROW_BYTES; left;) {
        ssize_t n = write(p->file, bytes, left < length ? left : length);
        if (n < 0 && errno != EINTR)
            return SHOAL_IO;
        left -= n > 0 ? (size_t)n : 0;
        p->bytes += n > 0 ? (size_t)n : 0;
    }
    return SHOAL_OK;
}

static double plainly(const struct job *j, const char *path, uint64_t *bytes) {
    unlink(path);
    double start = lorenz_seconds();
    struct plain p = {.file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), .all = j->n};
    shoal_ranges ranges = {.size = sizeof ranges, .user = &p, .next = take_all, .done = append};
    if (p.file < 0 || shoal_solver_run_ranges(j->solver, j->batch, &ranges, j->log) ||
        fsync(p.file) || close(p.file))
        die("plain file", j->log);
    double took = lorenz_seconds() - start;
    *bytes = p.bytes;
    unlink(path);
    return took;
}

static double to_result(const struct job *j, const char *path) {
    unlink(path);
    double start = lorenz_seconds();
    if (shoal_solver_run_file(j->solver, j->batch, path, NULL, j->log))
        die("result file", j->log);
    double took = lorenz_seconds() - start;
    unlink(path);
    return took;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v) {
    qsort(v, TURNS, sizeof *v, by_size);
    return v[TURNS / 2];
}

int main(int argc, char **argv) {
    static const char text[] = "par rho=28\ninit x=1,y=0,z=0\nx'=10*(y-x)\ny'=x*(rho-z)-y\n"
                               "z'=x*y-8/3*z\n@ t1=10\n";
    static const char *const settings[][2] = {{"device", "cpu"}, {"method", "tsit5"}, {NULL, NULL}};
    char npz[4096], raw[4096];
    const char *folder = argc > 1 ? argv[1] : ".";
    snprintf(npz, sizeof npz, "%s/journal.npz", folder);
    snprintf(raw, sizeof raw, "%s/journal.raw", folder);
    struct job j = job_load(text, NULL, settings);
    j.n = 10000000;
    if (shoal_batch_new(j.model, &j.batch, j.log) ||
        shoal_batch_sweep(j.batch, "rho=lin:0:21:10000000", j.log) ||
        shoal_solver_new(j.model, &j.options, &j.solver, j.log))
        die("solver", j.log);
    job_warm(&j);
    double result[TURNS], plain[TURNS], ratio[TURNS];
    uint64_t bytes = 0;
    for (int i = 0; i < TURNS; i++) {
        bool first = i % 2; // who comes first changes
        if (first)
            result[i] = to_result(&j, npz);
        plain[i] = plainly(&j, raw, &bytes);
        if (!first)
            result[i] = to_result(&j, npz);
        ratio[i] = result[i] / plain[i];
        fprintf(stderr, "turn %d: %.3f s, plain %.3f s\n", i + 1, result[i], plain[i]);
    }
    printf("| 10^7 Lorenz | seconds |\n|---|---|\n| NPZ with its journal | %.2f |\n"
           "| a plain file of %.0f MB | %.2f |\n| ratio | %.3f |\n",
           median(result), (double)bytes * 1e-6, median(plain), median(ratio));
    job_free(&j);
    return 0;
}
