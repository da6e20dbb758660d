// SPDX-License-Identifier: MIT
// Running a solver into the caller's arrays: named as in result files, with strides of the caller.
#include "api/solver.h"
#include "base/copy.h"
#include "base/team.h"

#include <stdlib.h>
#include <string.h>

enum {
    COPY_GRAIN = 1 << 19,   // bytes a thread copies at least
    COPY_AROUND = 32 << 20, // results that are larger do not stay in caches anyway
};

// ---- Copies -------------------------------------------------------------------------------------

typedef uint8_t __attribute__((may_alias)) word1;
typedef uint32_t __attribute__((may_alias)) word4;
typedef uint64_t __attribute__((may_alias)) word8;

// Rows of an array, in elements: strides where it comes from and where it goes.
struct box {
    const void *from;
    void *to;
    size_t rows, samples, from_row, from_sample, to_row, to_sample;
};

#define DEFINE_COPY(word)                                                                          \
    static void copy_##word(const struct box *b) {                                                 \
        for (size_t i = 0; i < b->rows; i++)                                                       \
            for (size_t k = 0; k < b->samples; k++)                                                \
                ((word *)b->to)[i * b->to_row + k * b->to_sample] =                                \
                    ((const word *)b->from)[i * b->from_row + k * b->from_sample];                 \
    }
DEFINE_COPY(word1)
DEFINE_COPY(word4)
DEFINE_COPY(word8)

static void copy_box(const struct box *b, size_t bytes, bool around) {
    bool dense = (b->samples == 1 || (b->from_sample == 1 && b->to_sample == 1)) &&
                 b->from_row == b->samples && b->to_row == b->samples;
    if (dense && around)
        copy_around(b->to, b->from, b->rows * b->samples * bytes);
    else if (dense)
        memcpy(b->to, b->from, b->rows * b->samples * bytes);
    else if (bytes == sizeof(word8))
        copy_word8(b);
    else if (bytes == sizeof(word4))
        copy_word4(b);
    else
        copy_word1(b);
}

struct copy {
    const struct result_list *list;
    const struct result_chunk *chunk;
    const struct array_target *to;
    bool around; // caches
};

static bool has_rows(const struct result_array *a) {
    return a->axes == AXES_PER_RUN || a->axes == AXES_PER_SAMPLE || a->axes == AXES_WIDE;
}

static char *target_of(const struct copy *c, uint32_t array) {
    const struct array_target *t = &c->to[array];
    size_t bytes = result_type_bytes(c->list->array[array].type);
    return (char *)t->data + (size_t)c->chunk->first_row * t->row_stride * bytes;
}

// A device may have written it there.
static bool must_copy(const struct copy *c, uint32_t array) {
    return c->to[array].data && has_rows(&c->list->array[array]) &&
           c->chunk->view[array].data != target_of(c, array);
}

// Rows `first` to `end` of the chunk, of every array.
static void copy_rows(void *user, size_t first, size_t end) {
    const struct copy *c = user;
    for (uint32_t i = 0; i < c->list->count; i++) {
        const struct result_array *a = &c->list->array[i];
        const struct result_view *v = &c->chunk->view[i];
        const struct array_target *t = &c->to[i];
        if (!must_copy(c, i))
            continue;
        size_t bytes = result_type_bytes(a->type), samples = (size_t)result_width(c->list, a);
        size_t row_stride = a->axes == AXES_PER_RUN ? 1 : v->row_stride;
        copy_box(&(struct box){.from = (const char *)v->data + first * row_stride * bytes,
                               .to = target_of(c, i) + first * t->row_stride * bytes,
                               .rows = end - first,
                               .samples = samples,
                               .from_row = row_stride,
                               .from_sample = v->sample_stride,
                               .to_row = t->row_stride,
                               .to_sample = t->sample_stride},
                 bytes, c->around);
    }
}

void array_copy(const struct result_list *list, const struct result_chunk *c,
                const struct array_target *to, uint32_t threads, struct team **team) {
    struct copy copy = {.list = list, .chunk = c, .to = to};
    size_t of_row = 1;
    for (uint32_t i = 0; i < list->count; i++)
        if (must_copy(&copy, i))
            of_row += (size_t)result_width(list, &list->array[i]) *
                      result_type_bytes(list->array[i].type);
    copy.around = of_row * list->of.rows >= COPY_AROUND;
    team_run(team, threads, c->rows, COPY_GRAIN / of_row + 1, copy_rows, &copy);
}

// ---- The caller's arrays ------------------------------------------------------------------------

struct array_sink {
    struct sink base;
    const shoal_array *given;
    size_t count;
    const struct result_list *list;
    struct array_target *to;    // one for each array of the list
    struct array_target status; // without data: it is not wanted
    uint64_t rows, done;        // of it, and handed on so far
    const char *call;           // whose arrays they are
    uint32_t threads;
    struct team **team;
};

static bool is_folded(size_t stride, uint64_t count) { return stride == 0 && count > 1; }

// Samples of a row, where the caller has them.
static uint64_t samples_of(const struct result_list *list, const struct result_array *a) {
    return a->axes == AXES_GRID ? a->axis[0] : result_width(list, a);
}

// The caller's array becomes that of the list.
static shoal_code set_target(struct array_sink *s, struct result_list *list, uint32_t array,
                             struct array_target to, struct report *r) {
    struct result_array *a = &list->array[array];
    if (s->to[array].data)
        return report_error(r, SHOAL_INPUT, "%s: `%s` is given twice", s->call, a->name);
    if ((a->axes != AXES_GRID && is_folded(to.row_stride, list->of.rows)) ||
        is_folded(to.sample_stride, samples_of(list, a)))
        return report_error(r, SHOAL_USAGE,
                            "%s: a stride of 0 puts values of `%s` on top of each other; give all "
                            "strides, or none",
                            s->call, a->name);
    s->to[array] = to;
    a->wanted = true;
    return SHOAL_OK;
}

// All variables in one block.
static shoal_code set_block(struct array_sink *s, struct result_list *list,
                            const shoal_array *given, struct report *r) {
    const struct result_spec *of = &list->of;
    if (of->reduced)
        return report_error(r, SHOAL_INPUT, "%s: statistics go into arrays that are named",
                            s->call);
    size_t bytes = of->f32 ? sizeof(float) : sizeof(double), stride = given->var_stride;
    struct array_target to = {given->data, given->row_stride, given->sample_stride};
    if (!stride && !to.row_stride && !to.sample_stride) {
        to = (struct array_target){given->data, (size_t)of->samples, 1};
        stride = (size_t)(of->rows * of->samples);
    }
    if (is_folded(stride, of->vars))
        return report_error(r, SHOAL_USAGE,
                            "%s: a stride of 0 puts variables on top of each other; give all "
                            "strides, or none",
                            s->call);
    shoal_code code = SHOAL_OK;
    for (uint32_t v = 0; v < of->vars && code == SHOAL_OK; v++) {
        code = set_target(s, list, list->first_var + v, to, r);
        to.data = (char *)to.data + stride * bytes;
    }
    return code;
}

static shoal_code unknown_name(const struct array_sink *s, const struct result_names *names,
                               const char *name, struct report *r) {
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < names->count; i++)
        nearest_offer(&n, names->name[i]);
    const char *best = nearest_best(&n);
    return report_error(r, SHOAL_INPUT, "%s: the result has no array `%s`%s%s%s", s->call, name,
                        best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
}

// The names of a list, made when one is asked for that is not ours, and the array after the last
// that was found: callers often go through the list.
struct lookup {
    struct result_names names;
    uint32_t next;
};

static bool is_called(const struct result_list *list, const struct lookup *l, uint32_t array,
                      const char *name) {
    const char *called = l->names.name                         ? l->names.name[array]
                         : result_is_ours(&list->array[array]) ? list->array[array].name
                                                               : NULL;
    return called && !strcmp(called, name);
}

static bool find(const struct result_list *list, struct lookup *l, const char *name) {
    for (uint32_t n = 0; n < list->count; n++) {
        uint32_t i = (l->next + n) % list->count;
        if (is_called(list, l, i, name)) {
            l->next = i + 1;
            return true;
        }
    }
    return false;
}

static shoal_code set_named(struct array_sink *s, struct result_list *list, struct lookup *l,
                            const shoal_array *given, struct report *r) {
    shoal_code code = SHOAL_OK;
    bool found = find(list, l, given->name);
    if (!found && !l->names.name) {
        code = result_names_make(&l->names, list, NULL, NULL, r);
        found = code == SHOAL_OK && find(list, l, given->name);
    }
    if (!found)
        return code == SHOAL_OK ? unknown_name(s, &l->names, given->name, r) : code;
    uint32_t array = l->next - 1;
    struct array_target to = {given->data, given->row_stride, given->sample_stride};
    if (!to.row_stride && !to.sample_stride)
        to = (struct array_target){given->data, samples_of(list, &list->array[array]), 1};
    return given->data ? set_target(s, list, array, to, r) : SHOAL_OK;
}

static shoal_code set_targets(struct array_sink *s, struct result_list *list, struct report *r) {
    struct lookup lookup = {0};
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < list->count; i++)
        list->array[i].wanted = false;
    for (size_t i = 0; i < s->count && code == SHOAL_OK; i++) {
        const shoal_array *given = &s->given[i];
        if (given->name)
            code = set_named(s, list, &lookup, given, r);
        else if (given->data)
            code = set_block(s, list, given, r);
    }
    result_names_free(&lookup.names);
    return code;
}

// Times are those of each row, edges of windows are there once.
static void fill_times(const struct array_target *t, const struct result_array *a, uint64_t rows) {
    double *times = t->data;
    for (uint64_t row = 0; row < (a->role == ROLE_TIME ? rows : 1); row++)
        for (uint64_t k = 0; k < a->axis[0]; k++)
            times[row * t->row_stride + k * t->sample_stride] = a->known[k];
}

// The grid's times are known before.
static void fill_known(const struct array_sink *s) {
    for (uint32_t i = 0; i < s->list->count; i++) {
        const struct result_array *a = &s->list->array[i];
        if (s->to[i].data && a->axes == AXES_GRID)
            fill_times(&s->to[i], a, s->list->of.rows);
    }
}

static void note_status(struct array_sink *s) {
    s->rows = s->list->of.rows;
    for (uint32_t i = 0; i < s->list->count; i++)
        if (s->list->array[i].role == ROLE_STATUS)
            s->status = s->to[i];
}

// Rows that nobody handed on are not done. The list may be gone by now.
static void fill_pending(const struct array_sink *s) {
    uint8_t *status = s->status.data;
    for (uint64_t row = s->done; status && row < s->rows; row++)
        status[row * s->status.row_stride] = SHOAL_STATUS_PENDING;
}

static shoal_code array_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct array_sink *s = (struct array_sink *)sink;
    if (list->of.kind == SAMPLES_OWN)
        return report_error(r, SHOAL_INPUT,
                            "--save steps cannot go into arrays of a fixed size; "
                            "write a file, or save n, every or at");
    s->list = list;
    s->to = calloc(list->count, sizeof *s->to);
    if (!s->to)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    shoal_code code = set_targets(s, list, r);
    if (code == SHOAL_OK) {
        fill_known(s);
        note_status(s);
    }
    return code;
}

static shoal_code array_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct array_sink *s = (struct array_sink *)sink;
    (void)r;
    array_copy(s->list, c, s->to, s->threads, s->team);
    s->done = c->first_row + c->rows;
    return SHOAL_OK;
}

static struct array_target array_memory(const struct sink *sink, uint32_t array) {
    return ((const struct array_sink *)sink)->to[array];
}

static shoal_code array_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void array_free(struct sink *s) { free(((struct array_sink *)s)->to); }

shoal_code solver_run_arrays(shoal_solver *s, const shoal_batch *batch, const shoal_array *arrays,
                             size_t count, shoal_tally *tally, shoal_log *log) {
    struct array_sink sink = {.base = {.begin = array_begin,
                                       .chunk = array_chunk,
                                       .end = array_end,
                                       .free = array_free,
                                       .memory = array_memory},
                              .given = arrays,
                              .count = count,
                              .call = "shoal_solver_run_arrays",
                              .threads = s->plan->threads,
                              .team = &s->runner.pool.team};
    shoal_code code = solver_run_into(s, batch->batch, &sink.base, NULL, tally, log);
    fill_pending(&sink);
    array_free(&sink.base);
    return code;
}

shoal_code shoal_solver_run_arrays(shoal_solver *solver, const shoal_batch *batch,
                                   const shoal_array *arrays, size_t count, shoal_tally *tally,
                                   shoal_log *log) {
    shoal_tally own;
    if (tally)
        *tally = (shoal_tally){0};
    if (!arrays && count)
        return api_usage(log, "shoal_solver_run_arrays", "arrays");
    int32_t span = solver_begin_event(log);
    shoal_solver *worker;
    shoal_code code = solver_open(solver, batch, "shoal_solver_run_arrays", &worker, log);
    if (code == SHOAL_OK) {
        code = solver_run_arrays(worker, batch, arrays, count, tally ? tally : &own, log);
        solver_leave(solver);
    }
    log_end(log, span);
    return code;
}

// ---- Their way into a file ----------------------------------------------------------------------

// Rows that are done: they come in order, so those that a stop has left are the last.
static uint64_t rows_done(const struct array_target *status, uint64_t rows) {
    const uint8_t *s = status->data;
    uint64_t done = 0;
    while (done < rows && s[done * status->row_stride] != SHOAL_STATUS_PENDING)
        done++;
    return done;
}

static shoal_code find_arrays(void *user, struct result_list *list, struct written *out,
                              struct report *r) {
    struct array_sink *s = user;
    if (list->of.kind == SAMPLES_OWN)
        return report_error(r, SHOAL_INPUT,
                            "%s: runs with --save steps have no arrays of a fixed size", s->call);
    s->to = out->to;
    shoal_code code = set_targets(s, list, r);
    out->rows = list->of.rows;
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++) {
        const struct result_array *a = &list->array[i];
        bool of_run = a->from == FROM_KERNEL || a->from == FROM_STATISTICS;
        if (of_run && a->axes != AXES_GRID && !out->to[i].data)
            code =
                report_error(r, SHOAL_INPUT, "%s: the file needs the array `%s`", s->call, a->name);
        else if (a->role == ROLE_STATUS)
            out->rows = rows_done(&out->to[i], list->of.rows);
    }
    out->complete = out->rows == list->of.rows;
    return code;
}

shoal_code shoal_solver_write_arrays(shoal_solver *solver, const shoal_batch *batch,
                                     const shoal_array *arrays, size_t count, const char *path,
                                     shoal_log *log) {
    struct array_sink s = {.given = arrays, .count = count, .call = "shoal_solver_write_arrays"};
    if (!arrays || !path)
        return api_usage(log, s.call, "arrays or path");
    return solver_write_found(solver, batch, path, s.call, find_arrays, &s, log);
}
