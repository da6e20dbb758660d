// SPDX-License-Identifier: MIT
// Any rank but the first: asks for rows, runs them, sends what they gave.
#include "ranks.h"

#include <string.h>

// So many ranks, or fewer, with ranges of the usual length leave the first one time to compute;
// with more ranks ranges are longer.
enum { RANKS_USUAL = 256 };

struct other {
    const struct ranks_job *job;
    uint64_t longer;      // ranges are, so many times
    shoal_direct *direct; // in the file, where rows go; NULL: nobody knows
    bool looked, open;    // for it; it is there
    struct left left;     // what is told at the end
};
static bool has_left; // it was told

static bool is_stopped(void) {
    MPI_Status status;
    return *stop_flag() || look(0, TAG_STOP, &status);
}

static void leave(const struct left *left) {
    send_bytes(left, sizeof *left, 0, TAG_LEFT);
    has_left = true;
}

static bool next(void *user, uint64_t least, uint64_t wanted, uint64_t *first, uint64_t *rows) {
    struct other *o = user;
    struct ask ask = {least, wanted * o->longer};
    struct rows answer;
    MPI_Status status;
    send_bytes(&ask, sizeof ask, 0, TAG_ASK);
    for (long us = 0; !look(0, TAG_ROWS, &status); nap(&us))
        if (is_stopped())
            return false;
    receive(&status, &answer, sizeof answer);
    o->open = o->looked ? o->open : shoal_direct_open(o->direct, answer.mark);
    o->looked = true;
    *first = o->left.first = answer.first;
    *rows = answer.rows;
    o->left.done = 0;
    return answer.rows > 0;
}

static shoal_code done(void *user, uint64_t first, uint64_t rows, const void *bytes,
                       size_t length) {
    struct other *o = user;
    const void *less;
    size_t less_length;
    (void)first;
    if (o->open &&
        shoal_direct_put(o->direct, bytes, length, &less, &less_length, NULL) == SHOAL_OK)
        send_bytes(less, less_length, 0, TAG_DATA);
    else
        send_bytes(bytes, length, 0, TAG_DATA);
    o->left.done += rows;
    return SHOAL_OK;
}

static void on_progress(const shoal_progress *now, void *user) {
    const struct other *o = user;
    if (is_stopped())
        shoal_solver_stop(o->job->solver);
    o->job->progress(now, o->job->user);
}

static shoal_code run(const struct ranks_job *job) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct other o = {
        .job = job, .longer = 1 + (uint64_t)ranks / RANKS_USUAL, .left.first = UINT64_MAX};
    shoal_ranges ranges = {sizeof ranges, &o, next, done};
    shoal_direct_new(job->solver, job->batch, job->path, &o.direct, NULL);
    shoal_solver_on_progress(job->solver, on_progress, &o);
    shoal_code code = shoal_solver_run_ranges(job->solver, job->batch, &ranges, job->log);
    shoal_direct_free(o.direct);
    o.left.code = code;
    leave(&o.left);
    return code;
}

int other_end(int status) {
    MPI_Status message;
    struct end end;
    if (!has_left)
        leave(&(struct left){.code = status ? SHOAL_INPUT : SHOAL_OK, .first = UINT64_MAX});
    for (long us = 0; !look(0, TAG_END, &message);)
        nap(&us);
    receive(&message, &end, sizeof end);
    bool says = status && !end.told && !*stop_flag();
    return says ? -(int)end.status - 1 : (int)end.status;
}

const struct ranks other_ranks = {.settle = place_settle, .run = run};
