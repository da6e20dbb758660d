// SPDX-License-Identifier: MIT
// See gather.h.
#include "api/gather.h"

#include "api/keep.h"
#include "base/clock.h"
#include "base/file.h"
#include "io/io.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

LOG_LABEL(range_run, RUNTIME, 35,
          "rows that one of several devices or processes ran, until it asked for more");

enum {
    KEPT_PART = 4,         // of the machine's memory may be rows ahead of their turn
    SPANS_MOST = 1 << 16,  // that are noted for the time log
    TRACKS_MOST = 1 << 20, // numbers of takers
};

struct range {
    uint64_t first, rows;
};

// For the time log: a taker, what it has since when, and what it had.
struct track {
    char name[32];
    struct range has;
    uint64_t begin_ns;
};
struct span {
    uint32_t track;
    struct range range;
    uint64_t begin_ns, end_ns;
};

struct shoal_gather {
    shoal_solver *solver;
    struct batch *batch;
    unsigned char job[PACKED_JOB];
    struct sink *to, *sink; // the caller's, and the one in front of it, where runs are reduced
    bool begun, ended;
    struct result_list list;
    struct arena arena;
    struct team *team;
    struct result_view *view;   // [arrays]
    struct result_there *there; // [arrays]
    void **known;               // [arrays] what is known of rows,
    size_t *room;               // [arrays] and the bytes of it
    uint64_t rows;
    uint64_t next;              // row that was not handed out yet
    uint64_t written;           // rows that the sink has
    struct ahead_rows *waiting; // [waits] ascending
    size_t waits, waits_room;
    uint64_t waiting_rows, waiting_bytes, bytes_most;
    struct range *back; // [backs] that were given back
    size_t backs, backs_room;
    struct track *track; // [tracks] by the number of a taker
    uint32_t tracks;
    struct span *span; // [spans]
    size_t spans, spans_room;
    shoal_code code; // of the sink, once it failed
    shoal_tally tally;
    uint64_t start_ns;
    pthread_mutex_t lock;
    // Of a file:
    struct keep keep;
    struct buf meta;
};

static shoal_code no_memory(struct report *r) {
    return report_error(r, SHOAL_MEMORY, "out of memory");
}

// ---- Begin --------------------------------------------------------------------------------------

static uint64_t memory_for_waiting(const shoal_solver *s) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (s->plan->memory)
        return s->plan->memory;
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / KEPT_PART : UINT64_MAX;
}

static shoal_gather *new_gather(shoal_solver *s, struct batch *b) {
    shoal_gather *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    const struct method *first = s->plan->kernel[PLAN_FIRST].method,
                        *stiff = s->plan->kernel[PLAN_STIFF].method;
    g->solver = s;
    g->batch = b;
    g->rows = batch_rows(b);
    g->bytes_most = memory_for_waiting(s);
    g->start_ns = clock_ns();
    g->tally = (shoal_tally){
        .runs = g->rows, .method = first->name, .stiff_method = stiff ? stiff->name : NULL};
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

// A reduction has threads of its own: those of the solver compute meanwhile.
static shoal_code set_sink(shoal_gather *g, struct sink *to, struct report *r) {
    const shoal_solver *s = g->solver;
    struct reduce_order order = {.spec = &s->reduce,
                                 .by = s->given.by,
                                 .memory = s->plan->memory,
                                 .threads = s->plan->threads,
                                 .team = &g->team};
    g->to = to;
    g->sink = s->reduce.items.count ? reduce_sink_new(&order, g->batch, to) : to;
    return g->sink ? SHOAL_OK : no_memory(r);
}

static shoal_code take_ahead(shoal_gather *g, struct report *r);

static shoal_code begin(shoal_gather *g, struct sink *to, const char *meta, struct report *r) {
    shoal_code code = run_list(g->solver->plan, g->batch, meta, &g->arena, &g->list, r);
    if (code != SHOAL_OK)
        return code;
    size_t arrays = (size_t)g->list.count + 1;
    g->view = calloc(arrays, sizeof *g->view);
    g->there = calloc(arrays, sizeof *g->there);
    g->known = calloc(arrays, sizeof *g->known);
    g->room = calloc(arrays, sizeof *g->room);
    if (!g->view || !g->there || !g->known || !g->room)
        return no_memory(r);
    code = set_sink(g, to, r);
    if (code == SHOAL_OK)
        code = g->sink->begin(g->sink, &g->list, r);
    g->begun = code == SHOAL_OK;
    if (!g->begun)
        return code;
    g->written = g->next = g->sink->there.rows;
    run_count_there(&g->tally, &g->sink->there);
    return take_ahead(g, r);
}

shoal_code gather_open(shoal_solver *s, struct batch *b, const unsigned char job[PACKED_JOB],
                       struct sink *sink, const char *meta, shoal_gather **out, shoal_log *log) {
    shoal_gather *g = *out = new_gather(s, b);
    if (!g)
        return no_memory(log_report(log));
    memcpy(g->job, job, sizeof g->job);
    return begin(g, sink, meta, log_report(log));
}

// ---- Time log -----------------------------------------------------------------------------------

// Times are for people: what there is no memory for is not told.
static struct track *track_of(shoal_gather *g, const shoal_taker *t) {
    if (!t->name || t->number >= TRACKS_MOST)
        return NULL;
    if (t->number >= g->tracks) {
        uint32_t count = 2 * t->number + 8;
        struct track *bigger = realloc(g->track, count * sizeof *bigger);
        if (!bigger)
            return NULL;
        memset(bigger + g->tracks, 0, (count - g->tracks) * sizeof *bigger);
        g->track = bigger;
        g->tracks = count;
    }
    struct track *k = &g->track[t->number];
    if (!k->name[0])
        snprintf(k->name, sizeof k->name, "%s", t->name);
    return k;
}

static void end_range(shoal_gather *g, struct track *k) {
    if (!k || !k->has.rows || g->spans == SPANS_MOST)
        return;
    if (g->spans == g->spans_room) {
        size_t room = g->spans_room ? 2 * g->spans_room : 64;
        struct span *bigger = realloc(g->span, room * sizeof *bigger);
        if (!bigger)
            return;
        g->span = bigger;
        g->spans_room = room;
    }
    g->span[g->spans++] = (struct span){(uint32_t)(k - g->track), k->has, k->begin_ns, clock_ns()};
    k->has.rows = 0;
}

static void begin_range(struct track *k, uint64_t first, uint64_t rows) {
    if (k) {
        k->has = (struct range){first, rows};
        k->begin_ns = clock_ns();
    }
}

static void tell_ranges(shoal_gather *g, shoal_log *log) {
    int32_t parent = log_find_open(log, LOG_solve_ivp_execution);
    for (uint32_t i = 0; i < g->tracks; i++)
        end_range(g, &g->track[i]);
    for (size_t i = 0; log && i < g->spans; i++) {
        const struct span *s = &g->span[i];
        if (s->begin_ns < log->start_ns)
            continue;
        int32_t span = log_device(log, g->track[s->track].name, LOG_range_run, parent,
                                  s->begin_ns - log->start_ns, s->end_ns - s->begin_ns);
        log_u64(log, span, "first_row", s->range.first);
        log_u64(log, span, "numruns", s->range.rows);
        log_end(log, span);
    }
}

// ---- Handing out --------------------------------------------------------------------------------

// Where rows are, or would be, among those that wait.
static size_t place_of(const shoal_gather *g, uint64_t first) {
    size_t low = 0, high = g->waits;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->waiting[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t at_most(uint64_t a, uint64_t b) { return a < b ? a : b; }

// What was given back comes first: others may wait for it.
static void take_back(shoal_gather *g, uint64_t wanted, uint64_t *first, uint64_t *rows) {
    struct range *b = &g->back[g->backs - 1];
    *first = b->first;
    *rows = at_most(b->rows, wanted);
    b->first += *rows;
    b->rows -= *rows;
    g->backs -= !b->rows;
}

// Rows that were there from the beginning, ahead of their turn, are passed over; those in between
// have an end.
static uint64_t pass_over(shoal_gather *g) {
    g->next = g->next < g->written ? g->written : g->next;
    size_t at = place_of(g, g->next);
    for (; at < g->waits && g->waiting[at].first == g->next; at++)
        g->next += g->waiting[at].rows;
    return at < g->waits ? g->waiting[at].first : g->rows;
}

// Ranges become smaller towards the end, so that all takers end at about the same time.
static void take_next(shoal_gather *g, const shoal_taker *t, uint64_t end, uint64_t *first,
                      uint64_t *rows) {
    uint64_t left = g->rows - g->next, share = left / 2 / (t->takers ? t->takers : 1);
    uint64_t n = at_most(t->wanted, share);
    n = n < t->least ? t->least : n;
    *first = g->next;
    *rows = at_most(n ? n : 1, end - g->next);
    g->next += *rows;
}

shoal_take shoal_gather_take(shoal_gather *g, const shoal_taker *taker, uint64_t *first,
                             uint64_t *rows) {
    shoal_take take = SHOAL_TAKE_ROWS;
    if (!g || !taker || !first || !rows)
        return SHOAL_TAKE_NONE;
    pthread_mutex_lock(&g->lock);
    struct track *track = track_of(g, taker);
    uint64_t end = pass_over(g);
    end_range(g, track);
    if (g->code != SHOAL_OK)
        take = SHOAL_TAKE_NONE;
    else if (g->backs)
        take_back(g, taker->wanted > taker->least ? taker->wanted : taker->least + 1, first, rows);
    else if (g->next == g->rows)
        take = SHOAL_TAKE_NONE;
    else if (g->waiting_bytes > g->bytes_most && g->next > g->written)
        take = SHOAL_TAKE_LATER;
    else
        take_next(g, taker, end, first, rows);
    if (take == SHOAL_TAKE_ROWS)
        begin_range(track, *first, *rows);
    pthread_mutex_unlock(&g->lock);
    return take;
}

shoal_code shoal_gather_give_back(shoal_gather *g, uint64_t first, uint64_t rows, shoal_log *log) {
    if (!g)
        return api_usage(log, "shoal_gather_give_back", "gather");
    if (!rows)
        return SHOAL_OK;
    pthread_mutex_lock(&g->lock);
    bool there = g->backs < g->backs_room;
    if (!there) {
        size_t room = g->backs_room ? 2 * g->backs_room : 8;
        struct range *bigger = realloc(g->back, room * sizeof *bigger);
        there = bigger;
        g->back = bigger ? bigger : g->back;
        g->backs_room = bigger ? room : g->backs_room;
    }
    bool known = first <= g->next && rows <= g->next - first;
    if (there && known)
        g->back[g->backs++] = (struct range){first, rows};
    pthread_mutex_unlock(&g->lock);
    if (!known)
        return report_error(log_report(log), SHOAL_USAGE,
                            "shoal_gather_give_back: nobody has these rows");
    return there ? SHOAL_OK : no_memory(log_report(log));
}

bool gather_failed(shoal_gather *g) {
    pthread_mutex_lock(&g->lock);
    bool failed = g->code != SHOAL_OK;
    pthread_mutex_unlock(&g->lock);
    return failed;
}

uint64_t shoal_gather_done(shoal_gather *g) {
    if (!g)
        return 0;
    pthread_mutex_lock(&g->lock);
    uint64_t done = g->written + g->waiting_rows;
    pthread_mutex_unlock(&g->lock);
    return done;
}

// ---- Taking in ----------------------------------------------------------------------------------

// Runs and inputs of the rows, as far as somebody wants them.
static shoal_code fill_known(shoal_gather *g, const struct packed_head *h, struct report *r) {
    for (uint32_t i = 0; i < g->list.count; i++) {
        const struct result_array *a = &g->list.array[i];
        size_t bytes = (size_t)h->rows * sizeof(uint64_t); // and of a pointer, at most
        if (a->from != FROM_RUN && (a->from != FROM_COLUMN || !a->wanted))
            continue;
        if (bytes > g->room[i]) {
            free(g->known[i]);
            g->known[i] = malloc(bytes);
            g->room[i] = g->known[i] ? bytes : 0;
        }
        if (!g->known[i])
            return no_memory(r);
        run_fill_known(g->batch, a, h->first, (uint32_t)h->rows, g->known[i]);
        g->view[i] = (struct result_view){g->known[i], 1, 1};
    }
    return SHOAL_OK;
}

static const void *data_of(const shoal_gather *g, enum result_field field) {
    const struct result_array *a = result_list_ours(&g->list, field);
    return a ? g->view[a - g->list.array].data : NULL;
}

static void count(shoal_gather *g, const struct packed_head *h) {
    const unsigned char *status = data_of(g, FIELD_status);
    const uint64_t *run = data_of(g, FIELD_run);
    for (uint64_t i = 0; i < h->rows; i++)
        run_count_row(&g->tally, status[i], run[i]);
    g->tally.done += h->rows;
#define X(name) g->tally.name += h->name;
    PACKED_COUNTS(X)
#undef X
}

// Rows whose turn it is; the bytes were looked at, and `view` points into them.
static shoal_code write_rows(shoal_gather *g, const struct packed_head *h, struct report *r) {
    shoal_code code = fill_known(g, h, r);
    if (code != SHOAL_OK)
        return code;
    count(g, h);
    struct result_chunk c = {.first_row = h->first,
                             .rows = (uint32_t)h->rows,
                             .offsets = data_of(g, FIELD_offsets),
                             .view = g->view,
                             .there = packed_is_there(h) ? g->there : NULL};
    g->written += h->rows;
    return g->sink->chunk(g->sink, &c, r);
}

static shoal_code keep_waiting(shoal_gather *g, const struct packed_head *h, size_t at,
                               const void *bytes, size_t length, struct report *r) {
    if (g->waits == g->waits_room) {
        size_t room = g->waits_room ? 2 * g->waits_room : 64;
        struct ahead_rows *bigger = realloc(g->waiting, room * sizeof *bigger);
        if (!bigger)
            return no_memory(r);
        g->waiting = bigger;
        g->waits_room = room;
    }
    void *copy = malloc(length);
    if (!copy)
        return no_memory(r);
    memcpy(copy, bytes, length);
    memmove(&g->waiting[at + 1], &g->waiting[at], (g->waits - at) * sizeof *g->waiting);
    g->waiting[at] = (struct ahead_rows){h->first, h->rows, copy, length};
    g->waits++;
    g->waiting_rows += h->rows;
    g->waiting_bytes += length;
    return SHOAL_OK;
}

// Those that are next by now.
static shoal_code write_waiting(shoal_gather *g, struct report *r) {
    shoal_code code = SHOAL_OK;
    size_t n = 0;
    for (; n < g->waits && g->waiting[n].first == g->written && code == SHOAL_OK; n++) {
        struct ahead_rows *w = &g->waiting[n];
        struct packed_head h;
        code = packed_open(w->bytes, w->length, &g->list, g->job, &h, g->view, g->there, r);
        if (code == SHOAL_OK)
            code = write_rows(g, &h, r);
        g->waiting_rows -= w->rows;
        g->waiting_bytes -= w->length;
        free(w->bytes);
    }
    if (n)
        memmove(g->waiting, g->waiting + n, (g->waits - n) * sizeof *g->waiting);
    g->waits -= n;
    return code;
}

static bool is_twice(const shoal_gather *g, const struct packed_head *h, size_t at) {
    const struct ahead_rows *before = at ? &g->waiting[at - 1] : NULL,
                            *behind = at < g->waits ? &g->waiting[at] : NULL;
    return h->first < g->written || (before && before->first + before->rows > h->first) ||
           (behind && behind->first < h->first + h->rows);
}

// Where a copy of what waits is kept; NULL: nowhere.
static struct ahead *ahead_of(const shoal_gather *g) {
    return g->sink == g->to && g->to->journal ? &g->to->journal->ahead : NULL;
}

// Where rows say what of them is in the file; NULL: they may not.
static struct result_there *there_of(shoal_gather *g) { return g->sink->place ? g->there : NULL; }

// Whether the file has what rows do not.
static bool is_in_place(const shoal_gather *g, const struct packed_head *h) {
    bool good = true;
    for (uint32_t i = 0; i < g->list.count && good; i++) {
        const struct result_array *a = &g->list.array[i];
        uint64_t row = result_width(&g->list, a) * result_type_bytes(a->type);
        struct journal_stream rows = {.bytes = h->rows * row, .crc = g->there[i].crc};
        if (!packed_is_there(h) || !g->there[i].is)
            continue;
        int fd;
        uint64_t start = g->sink->place(g->sink, i, &fd);
        good = journal_same(fd, start + h->first * row, &rows);
    }
    return good;
}

// What is not as it should be, or came in between, is run again.
static bool take_rows(void *user, const struct ahead_rows *w) {
    shoal_gather *g = user;
    struct packed_head h;
    if (w->length < sizeof h || g->waiting_bytes > g->bytes_most)
        return false;
    memcpy((char *)w->bytes + offsetof(struct packed_head, job), g->job, sizeof g->job);
    if (packed_open(w->bytes, w->length, &g->list, g->job, &h, g->view, there_of(g), NULL) !=
        SHOAL_OK)
        return false;
    size_t at = place_of(g, h.first);
    return is_twice(g, &h, at) || !is_in_place(g, &h) ||
           keep_waiting(g, &h, at, w->bytes, w->length, NULL) == SHOAL_OK;
}

// What an earlier run left.
static shoal_code take_ahead(shoal_gather *g, struct report *r) {
    struct ahead *ahead = ahead_of(g);
    if (!ahead)
        return SHOAL_OK;
    ahead_read(ahead, take_rows, g);
    return write_waiting(g, r);
}

static shoal_code put(shoal_gather *g, const void *bytes, size_t length, struct report *r) {
    struct packed_head h;
    shoal_code code = packed_open(bytes, length, &g->list, g->job, &h, g->view, there_of(g), r);
    if (code != SHOAL_OK)
        return code;
    size_t at = place_of(g, h.first);
    if (is_twice(g, &h, at))
        return report_error(r, SHOAL_INPUT, "rows %llu to %llu came twice",
                            (unsigned long long)h.first, (unsigned long long)(h.first + h.rows));
    bool turn = h.first == g->written && (uintptr_t)bytes % sizeof(uint64_t) == 0;
    code = turn ? write_rows(g, &h, r) : keep_waiting(g, &h, at, bytes, length, r);
    struct ahead *ahead = ahead_of(g);
    if (ahead && code == SHOAL_OK && !turn && h.first > g->written)
        ahead_put(ahead, &g->waiting[at], r);
    if (code == SHOAL_OK)
        code = write_waiting(g, r);
    if (ahead && code == SHOAL_OK)
        ahead_keep(ahead, g->waiting, g->waits, g->waiting_bytes, r);
    g->code = code; // a sink that failed, or memory: nobody goes on
    return code;
}

shoal_code shoal_gather_put(shoal_gather *g, const void *bytes, size_t length, shoal_log *log) {
    if (!g || !bytes)
        return api_usage(log, "shoal_gather_put", "gather or bytes");
    pthread_mutex_lock(&g->lock);
    shoal_code code = g->code != SHOAL_OK ? g->code : put(g, bytes, length, log_report(log));
    pthread_mutex_unlock(&g->lock);
    return code;
}

// ---- End ----------------------------------------------------------------------------------------

shoal_code shoal_gather_end(shoal_gather *g, shoal_tally *tally, shoal_log *log) {
    if (!g || !g->begun || g->ended)
        return api_usage(log, "shoal_gather_end", "gather that has begun");
    g->ended = true;
    bool complete = g->written == g->rows;
    shoal_code code = g->code;
    tell_ranges(g, log);
    if (code == SHOAL_OK)
        code = g->sink->end(g->sink, complete, log_report(log));
    g->tally.complete = code == SHOAL_OK && complete;
    g->tally.seconds = (double)(clock_ns() - g->start_ns) * 1e-9;
    if (tally)
        *tally = g->tally;
    return code != SHOAL_OK ? code : complete ? SHOAL_OK : SHOAL_STOPPED;
}

void shoal_gather_free(shoal_gather *g) {
    if (!g)
        return;
    if (g->sink && g->sink != g->to)
        g->sink->free(g->sink);
    if (g->meta.data && g->to) // the file is this one's
        g->to->free(g->to);
    for (size_t i = 0; i < g->waits; i++)
        free(g->waiting[i].bytes);
    for (uint32_t i = 0; g->known && i < g->list.count; i++)
        free(g->known[i]);
    free(g->known);
    free(g->room);
    free(g->view);
    free(g->there);
    free(g->waiting);
    free(g->back);
    free(g->track);
    free(g->span);
    team_free(g->team);
    keep_free(&g->keep);
    buf_free(&g->meta);
    arena_free(&g->arena);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

// ---- Others that write to it --------------------------------------------------------------------

static bool has_places(const shoal_gather *g) {
    bool has = false;
    for (uint32_t i = 0; i < g->list.count; i++)
        has = has || packed_may_be_there(&g->list.array[i]);
    return has && g->sink->place;
}

uint64_t shoal_gather_mark(shoal_gather *g) {
    uint64_t mark = 0;
    int fd = -1;
    if (!g || !g->begun || g->ended || !has_places(g) || getrandom(&mark, sizeof mark, 0) < 0)
        return 0;
    g->sink->place(g->sink, 0, &fd);
    return file_write_at(fd, "", 0, &mark, sizeof mark, NULL) == SHOAL_OK ? mark : 0;
}

// ---- Into a file --------------------------------------------------------------------------------

static shoal_code open_file(shoal_gather *g, const shoal_batch *batch, const char *path,
                            struct report *r) {
    shoal_solver *s = g->solver;
    struct sink *file = NULL;
    shoal_code code = packed_job(s, batch, g->job, r);
    const char *own = code == SHOAL_OK ? arena_strdup(&g->arena, path) : NULL;
    if (code == SHOAL_OK && !own)
        code = no_memory(r);
    if (code == SHOAL_OK)
        code = keep_make(&g->keep, s, batch, own, r);
    if (code == SHOAL_OK)
        solver_meta(s, batch, &g->meta);
    if (code == SHOAL_OK && (g->meta.failed || !g->meta.data))
        code = no_memory(r);
    if (code == SHOAL_OK)
        code = io_sink_new(own, s->plan->threads, &file, r);
    if (code != SHOAL_OK)
        return code;
    g->to = file;
    file->order = keep_order(&g->keep);
    return begin(g, file, g->meta.data, r);
}

shoal_code shoal_gather_new(shoal_solver *solver, const shoal_batch *batch, const char *path,
                            shoal_gather **out, shoal_log *log) {
    shoal_solver *worker;
    if (!path || !out)
        return api_usage(log, "shoal_gather_new", "path or place for the gather");
    *out = NULL;
    shoal_code code = ranges_check(solver, batch, "shoal_gather_new", &worker, log);
    if (code != SHOAL_OK)
        return code;
    shoal_gather *g = new_gather(worker, batch->batch);
    code = g ? open_file(g, batch, path, log_report(log)) : no_memory(log_report(log));
    if (code == SHOAL_OK)
        *out = g;
    else
        shoal_gather_free(g);
    return code;
}
