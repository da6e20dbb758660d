// SPDX-License-Identifier: MIT
// Shards of one job put together: which there are, that they are of this job, and the result.
#include "io/merge.h"
#include "api/keep.h"
#include "api/model.h"
#include "io/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merging {
    shoal_solver *solver;
    const shoal_batch *batch; // of the whole
    struct keep keep;         // facts of the whole
    struct merge merge;
    char key[65]; // of the first shard
    struct result_list list;
    struct arena arena;
    shoal_log *log;
};

// ---- What a shard says of itself ----------------------------------------------------------------

struct said {
    char shard[64], key[65];
};

static shoal_code read_said(const char *path, struct said *out, struct report *r) {
    struct journal_reader d;
    struct arena arena = {0};
    struct journal_fact f;
    bool found;
    *out = (struct said){0};
    shoal_code code = journal_open(&d, path, &found, r);
    if (code == SHOAL_OK && !found)
        code = report_error(r, SHOAL_INPUT,
                            "%s: has no journal beside it, so it is not known to be a shard", path);
    while (code == SHOAL_OK && journal_next(&d))
        if (journal_read_fact(&d, "is", &arena, &f)) {
            if (!strcmp(f.name, JOURNAL_SHARD))
                snprintf(out->shard, sizeof out->shard, "%s", f.value);
            else if (!strcmp(f.name, JOURNAL_KEY))
                snprintf(out->key, sizeof out->key, "%s", f.value);
        } else if (!strncmp(d.line.data, "begin ", 6))
            break;
    journal_reader_close(&d);
    arena_free(&arena);
    if (code == SHOAL_OK && !out->shard[0])
        code = report_error(r, SHOAL_INPUT, "%s: is no shard: it was made without --shard", path);
    return code;
}

// I/N or I/N:strided, as batch_shard says it.
static bool read_number(const struct said *said, uint64_t *shard, uint64_t *shards, bool *strided) {
    char text[64];
    unsigned long long i, n;
    if (sscanf(said->shard, "%llu/%llu", &i, &n) != 2 || !n || i >= n)
        return false;
    *strided = strstr(said->shard, ":") != NULL;
    *shard = i;
    *shards = n;
    snprintf(text, sizeof text, "%llu/%llu%s", i, n, *strided ? ":strided" : "");
    return !strcmp(text, said->shard);
}

// ---- The same job -------------------------------------------------------------------------------

static uint64_t rows_of(const struct merging *g, uint64_t shard) {
    uint64_t rows = batch_all_rows(g->batch->batch), n = g->merge.shards;
    if (g->merge.strided)
        return (rows - shard + n - 1) / n;
    return (uint64_t)((unsigned __int128)rows * (shard + 1) / n) -
           (uint64_t)((unsigned __int128)rows * shard / n);
}

// The facts that a shard of that number must have: those of the whole, but for its rows; all have
// the key of the first.
static struct journal_order facts_of(struct merging *g, const char *shard, const char *rows,
                                     struct journal_fact *fact) {
    uint32_t n = 0;
    const struct journal_order *whole = &g->keep.order;
    for (uint32_t i = 0; i < whole->is_count; i++) {
        fact[n] = whole->is[i];
        if (!strcmp(fact[n].name, JOURNAL_ROWS))
            fact[n].value = rows;
        else if (!strcmp(fact[n].name, JOURNAL_KEY))
            fact[n].value = g->key;
        n++;
    }
    fact[n++] = (struct journal_fact){JOURNAL_SHARD, shard};
    return (struct journal_order){.is = fact, .is_count = n};
}

static shoal_code check_shard(struct merging *g, uint64_t shard, const struct said *said,
                              struct journal_reader *d) {
    struct report *r = log_report(g->log);
    const struct merge_shard *s = &g->merge.shard[shard];
    struct journal_fact fact[KEEP_FACTS + 1];
    char rows[24];
    bool whole;
    snprintf(rows, sizeof rows, "%" PRIu64, s->rows);
    struct journal_order order = facts_of(g, said->shard, rows, fact);
    shoal_code code = journal_check(d, &order, &whole, r);
    return code == SHOAL_OK && !whole ? journal_damaged(d, r) : code;
}

static bool is_reduced(const struct merging *g) { return g->solver->reduce.items.count > 0; }

static shoal_code damaged(const char *path, struct report *r) {
    return report_error(r, SHOAL_INPUT, "%s: its journal is damaged; run that shard again", path);
}

static bool pass(void *user, const struct journal_range *range) {
    (void)user;
    return range->rows > 0;
}

// Rows that a shard of a reduction has; what they came to is loaded later.
static shoal_code count_rows(struct merge_shard *s, struct journal_reader *d, struct report *r) {
    struct journal_found found = {0};
    shoal_code code = journal_find(d, 0, pass, NULL, &found, r);
    s->done = found.there.rows;
    if (code == SHOAL_OK && (found.ranges != found.told || s->done > s->rows))
        code = damaged(s->path, r);
    journal_found_free(&found);
    return code;
}

// The journal of a shard, up to the end of its head, and which one it is; to be closed in any case.
static shoal_code open_shard(struct merging *g, const char *path, uint64_t *shard,
                             struct journal_reader *d) {
    struct report *r = log_report(g->log);
    struct said said;
    uint64_t shards;
    bool strided, found;
    *d = (struct journal_reader){.fd = -1};
    shoal_code code = read_said(path, &said, r);
    if (code != SHOAL_OK)
        return code;
    if (!read_number(&said, shard, &shards, &strided) || shards != g->merge.shards ||
        strided != g->merge.strided)
        return report_error(r, SHOAL_INPUT, "%s: is shard %s, which does not go with %s", path,
                            said.shard, g->merge.strided ? "strided ones" : "the first");
    code = journal_open(d, path, &found, r);
    return code == SHOAL_OK ? check_shard(g, *shard, &said, d) : code;
}

static shoal_code add_shard(struct merging *g, const char *path) {
    struct report *r = log_report(g->log);
    struct journal_reader d;
    uint64_t shard;
    shoal_code code = open_shard(g, path, &shard, &d);
    struct merge_shard *s = code == SHOAL_OK ? &g->merge.shard[shard] : NULL;
    if (s && s->path)
        code = report_error(r, SHOAL_INPUT, "%s and %s are the same shard, %llu/%llu%s", s->path,
                            path, (unsigned long long)shard, (unsigned long long)g->merge.shards,
                            g->merge.strided ? ":strided" : "");
    else if (s) {
        s->path = path;
        code = is_reduced(g) ? count_rows(s, &d, r) : merge_open(&g->merge, shard, &d, r);
    }
    journal_reader_close(&d);
    return code;
}

// What is missing is told, or becomes rows that are pending.
static shoal_code check_all(const struct merging *g, bool allow_missing) {
    struct buf list = {0};
    uint64_t missing = 0;
    for (uint64_t i = 0; i < g->merge.shards; i++) {
        const struct merge_shard *s = &g->merge.shard[i];
        if (s->path && s->done == s->rows)
            continue;
        if (missing++ < 10)
            buf_printf(&list, "%s%llu%s", missing > 1 ? ", " : "", (unsigned long long)i,
                       s->path ? " (not complete)" : "");
    }
    shoal_code code = SHOAL_OK;
    if (missing && !allow_missing)
        code =
            report_error(log_report(g->log), SHOAL_INPUT,
                         "of %llu shards %llu are missing: %s%s; --allow-missing goes on without",
                         (unsigned long long)g->merge.shards, (unsigned long long)missing,
                         list.data ? list.data : "", missing > 10 ? ", ..." : "");
    buf_free(&list);
    return code;
}

// ---- What is known of a row ---------------------------------------------------------------------

static void fill(void *user, uint32_t array, uint64_t row, uint64_t rows, void *out) {
    const struct merging *g = user;
    run_fill_known(g->batch->batch, &g->list.array[array], row, (uint32_t)rows, out);
}

// ---- All of it ----------------------------------------------------------------------------------

static shoal_code begin(struct merging *g, const char *first) {
    struct report *r = log_report(g->log);
    struct said said;
    uint64_t shard;
    shoal_code code = read_said(first, &said, r);
    if (code != SHOAL_OK)
        return code;
    uint64_t rows = batch_all_rows(g->batch->batch);
    if (!read_number(&said, &shard, &g->merge.shards, &g->merge.strided) || g->merge.shards > rows)
        return report_error(r, SHOAL_INPUT, "%s: its journal is damaged", first);
    memcpy(g->key, said.key, sizeof g->key);
    g->merge.shard = calloc((size_t)g->merge.shards, sizeof *g->merge.shard);
    if (!g->merge.shard)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint64_t i = 0; i < g->merge.shards; i++)
        g->merge.shard[i] = (struct merge_shard){.fd = -1, .rows = rows_of(g, i)};
    return SHOAL_OK;
}

// ---- Statistics ---------------------------------------------------------------------------------

static shoal_code load_shard(struct merging *g, struct sink *sink, uint64_t shard) {
    struct report *r = log_report(g->log);
    const struct merge_shard *s = &g->merge.shard[shard];
    struct journal_reader d;
    struct sink_there there = {0};
    uint64_t now;
    shoal_code code = open_shard(g, s->path, &now, &d);
    if (code == SHOAL_OK && now == shard) {
        code = reduce_sink_load(sink, &d, &there, r);
        if (code == SHOAL_INPUT)
            damaged(s->path, r);
    }
    if (code == SHOAL_OK && (now != shard || there.rows != s->done))
        code = report_error(r, SHOAL_IO, "%s: was replaced meanwhile", s->path);
    journal_reader_close(&d);
    return code;
}

// States of one shard after the other join those before.
static shoal_code write_reduced(struct merging *g, const char *path, bool *whole) {
    const shoal_solver *s = g->solver;
    struct report *r = log_report(g->log);
    struct team *team = NULL;
    struct sink *file = NULL, *sink = NULL;
    struct reduce_order order = {.spec = &s->reduce,
                                 .by = s->given.by,
                                 .memory = s->plan->memory,
                                 .threads = s->plan->threads,
                                 .team = &team};
    *whole = true;
    shoal_code code = io_sink_new(path, s->plan->threads, &file, r);
    if (code == SHOAL_OK && !(sink = reduce_sink_new(&order, g->batch->batch, file)))
        code = report_error(r, SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        code = sink->begin(sink, &g->list, r);
    for (uint64_t i = 0; i < g->merge.shards && code == SHOAL_OK; i++) {
        const struct merge_shard *shard = &g->merge.shard[i];
        *whole = *whole && shard->path && shard->done == shard->rows;
        code = shard->path ? load_shard(g, sink, i) : SHOAL_OK;
    }
    if (code == SHOAL_OK)
        code = sink->end(sink, *whole, r);
    if (sink)
        sink->free(sink);
    if (file)
        file->free(file);
    team_free(team);
    return code;
}

// The key of the result is that of the shards, wherever they are merged.
static shoal_code write_all(struct merging *g, const char *path, bool *whole) {
    struct report *r = log_report(g->log);
    struct buf meta = {0};
    struct loaded *first = &g->solver->runner.kernel[PLAN_FIRST];
    char own[65];
    memcpy(own, first->computation, sizeof own);
    memcpy(first->computation, g->key, sizeof own);
    solver_meta(g->solver, g->batch, &meta);
    memcpy(first->computation, own, sizeof own);
    g->list.of.meta = meta.data;
    g->merge.path = path;
    shoal_code code = meta.failed     ? report_error(r, SHOAL_MEMORY, "out of memory")
                      : is_reduced(g) ? write_reduced(g, path, whole)
                                      : merge_write(&g->merge, whole, r);
    buf_free(&meta);
    return code;
}

static shoal_code merge_shards(struct merging *g, const char *path, const char *const *shards,
                               size_t count, bool allow_missing, bool *whole) {
    struct report *r = log_report(g->log);
    shoal_code code = keep_make(&g->keep, g->solver, g->batch, path, r);
    if (code == SHOAL_OK)
        code = run_list(g->solver->plan, g->batch->batch, "{}", &g->arena, &g->list, r);
    if (code == SHOAL_OK)
        code = begin(g, shards[0]);
    g->merge.path = path;
    for (size_t i = 0; i < count && code == SHOAL_OK; i++)
        code = add_shard(g, shards[i]);
    if (code == SHOAL_OK)
        code = check_all(g, allow_missing);
    return code == SHOAL_OK ? write_all(g, path, whole) : code;
}

shoal_code shoal_solver_merge(shoal_solver *solver, const shoal_batch *batch, const char *path,
                              const char *const *shards, size_t count, bool allow_missing,
                              bool *whole, shoal_log *log) {
    bool ignored;
    if (!solver || !batch || !path || !shards || !count)
        return api_usage(log, "shoal_solver_merge", "solver, batch, path or shards");
    shoal_code code = batch_check(batch->batch, log_report(log));
    if (code != SHOAL_OK)
        return code;
    struct merging *g = calloc(1, sizeof *g);
    if (!g)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    g->solver = solver;
    g->batch = batch;
    g->log = log;
    g->merge.list = &g->list;
    g->merge.fill = fill;
    g->merge.user = g;
    code = merge_shards(g, path, shards, count, allow_missing, whole ? whole : &ignored);
    merge_close(&g->merge);
    keep_free(&g->keep);
    arena_free(&g->arena);
    free(g);
    return code;
}
