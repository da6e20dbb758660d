// SPDX-License-Identifier: MIT
// shoal-mpi whose ranks sleep instead of computing: what many of them ask of rank 0, on a machine
// that has not as many cores.
//
// The linker puts these functions in the place of the library's (--wrap). Rows are run once, in a
// message of as many as MPI_CHUNK says, and sent again and again under other numbers, each after
// the time that MPI_RATE rows a second take; so the file has the right length and the wrong rows.
#include "shoal/shoal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_AT = 40 }; // the number of the first row, in a message
static const double range_s = 0.5;

struct message {
    uint64_t rows, given;
    char *bytes;
    size_t length;
};

shoal_code __real_shoal_solver_run_ranges(shoal_solver *solver, const shoal_batch *batch,
                                          const shoal_ranges *ranges, shoal_log *log);
shoal_code __wrap_shoal_solver_run_ranges(shoal_solver *solver, const shoal_batch *batch,
                                          const shoal_ranges *ranges, shoal_log *log);

static double number(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

static bool next(void *user, uint64_t least, uint64_t wanted, uint64_t *first, uint64_t *rows) {
    struct message *m = user;
    (void)least, (void)wanted;
    *first = 0;
    *rows = m->rows;
    return !m->given++;
}

static shoal_code done(void *user, uint64_t first, uint64_t rows, const void *bytes,
                       size_t length) {
    struct message *m = user;
    (void)first;
    m->rows = rows;
    m->bytes = malloc(length);
    m->length = length;
    memcpy(m->bytes, bytes, length);
    return SHOAL_OK;
}

static void sleep_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

// Some rows, after the time that they take.
static shoal_code send(shoal_solver *solver, const shoal_batch *batch, const shoal_ranges *ranges,
                       const struct message *full, uint64_t first, uint64_t rows, shoal_log *log) {
    struct message m = {.rows = rows};
    shoal_ranges own = {sizeof own, &m, next, done};
    shoal_code code = SHOAL_OK;
    if (rows == full->rows)
        m = *full;
    else
        code = __real_shoal_solver_run_ranges(solver, batch, &own, log);
    if (code != SHOAL_OK)
        return code;
    sleep_for((double)rows / number("MPI_RATE", 1600));
    memcpy(m.bytes + FIRST_AT, &first, sizeof first);
    code = ranges->done(ranges->user, first, rows, m.bytes, m.length);
    if (rows != full->rows)
        free(m.bytes);
    return code;
}

shoal_code __wrap_shoal_solver_run_ranges(shoal_solver *solver, const shoal_batch *batch,
                                          const shoal_ranges *ranges, shoal_log *log) {
    struct message full = {.rows = (uint64_t)number("MPI_CHUNK", 100)};
    shoal_ranges own = {sizeof own, &full, next, done};
    uint64_t first, rows, wanted = (uint64_t)(range_s * number("MPI_RATE", 1600));
    shoal_code code = __real_shoal_solver_run_ranges(solver, batch, &own, log);
    while (code == SHOAL_OK && ranges->next(ranges->user, full.rows, wanted, &first, &rows))
        for (uint64_t n; rows && code == SHOAL_OK; first += n, rows -= n) {
            n = rows < full.rows ? rows : full.rows;
            code = send(solver, batch, ranges, &full, first, n, log);
        }
    free(full.bytes);
    return code;
}
