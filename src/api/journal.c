// SPDX-License-Identifier: MIT
// How far a run into a file is, read from outside.
#include "io/journal.h"
#include "api/model.h"
#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What was read so far.
struct progress {
    shoal_journal_info *info;
    uint64_t begun, last, since; // milliseconds; and rows since it was begun
    struct arena arena;
};

static void read_fact(struct progress *p, const struct journal_reader *d) {
    struct journal_fact f;
    char *end;
    if (journal_read_fact(d, "is", &p->arena, &f) && !strcmp(f.name, JOURNAL_ROWS))
        p->info->rows = strtoull(f.value, &end, 10);
    else if (journal_read_fact(d, "is", &p->arena, &f) && !strcmp(f.name, JOURNAL_SHARD))
        snprintf(p->info->shard, sizeof p->info->shard, "%s", f.value);
    else if (journal_read_fact(d, "how", &p->arena, &f) && !strcmp(f.name, "device"))
        snprintf(p->info->device, sizeof p->info->device, "%s", f.value);
}

static void read_line(struct progress *p, const struct journal_reader *d) {
    shoal_journal_info *info = p->info;
    struct journal_range g = {0};
    uint64_t time;
    if (journal_read_range(d, 0, &g)) {
        info->done += g.rows;
        p->since += g.rows;
        p->last = g.time;
        for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
            info->by_status[i] += g.by_status[i];
    } else if (journal_read_time(d, "begin", &time)) {
        p->begun = p->last = time;
        p->since = 0;
        info->stopped = info->complete = false;
    } else if (journal_read_time(d, "stop", &time))
        info->stopped = true;
    else if (journal_read_time(d, "end", &time))
        info->complete = true;
    else
        read_fact(p, d);
}

static bool is_running(const char *journal) {
    size_t length = strlen(journal) - strlen(".journal");
    char *part = strndup(journal, length);
    bool is = part && file_is_locked(part);
    free(part);
    return is;
}

shoal_code shoal_journal_read(const char *path, shoal_journal_info *out, shoal_log *log) {
    struct journal_reader d;
    struct progress p = {.info = out};
    bool found;
    if (!path || !out)
        return api_usage(log, "shoal_journal_read", "path or place for what is read");
    *out = (shoal_journal_info){.rate = (double)NAN};
    shoal_code code = journal_open(&d, path, &found, log_report(log));
    if (code == SHOAL_OK && !found)
        code = report_error(log_report(log), SHOAL_INPUT,
                            "%s: has no journal: nothing is under way or left to go on with", path);
    while (code == SHOAL_OK && journal_next(&d))
        read_line(&p, &d);
    if (code == SHOAL_OK && !p.begun)
        code = journal_damaged(&d, log_report(log));
    if (code == SHOAL_OK) {
        out->running = is_running(d.path);
        out->ahead = ahead_count(d.path, out->done);
    }
    out->begun_s = (double)p.begun * 1e-3;
    out->last_s = (double)p.last * 1e-3;
    if (p.last > p.begun && p.since)
        out->rate = (double)p.since / (out->last_s - out->begun_s);
    journal_reader_close(&d);
    arena_free(&p.arena);
    return code;
}
