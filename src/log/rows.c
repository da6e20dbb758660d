// SPDX-License-Identifier: MIT
// The labels that are known and what each took: a row for each label of the calling thread, found
// by its name, and one for each label on each other track. Programs add labels of their own.
#include "log/log.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 4096, FIRST_ROWS = 64, LABEL_MOST = 63, MAIN_TID = 1 };

static uint32_t hash(const char *label) {
    uint32_t h = 2166136261u;
    for (; *label; label++)
        h = (h ^ (unsigned char)*label) * 16777619u;
    return (h ^ h >> 16) % LOG_BUCKETS;
}

// -1: no memory, or too many.
static int add(shoal_log *log, const shoal_span_sum *sum, uint32_t tid) {
    if (log->row_count == log->row_room) {
        uint32_t room = log->row_room ? 2 * log->row_room : FIRST_ROWS;
        struct log_row *bigger =
            room <= ROWS_MOST ? realloc(log->rows, room * sizeof *log->rows) : NULL;
        if (!bigger)
            return -1;
        log->rows = bigger;
        log->row_room = room;
    }
    uint32_t index = log->row_count++;
    log->rows[index] = (struct log_row){.sum = *sum, .tid = tid};
    if (sum->kind == SHOAL_SPAN) {
        uint16_t *first = &log->buckets[hash(sum->label)];
        log->rows[index].next = *first;
        *first = (uint16_t)(index + 1);
    }
    return (int)index;
}

static int add_span(shoal_log *log, const char *label, shoal_category category,
                    const char *description) {
    return add(log,
               &(shoal_span_sum){.label = label,
                                 .description = description,
                                 .category = category,
                                 .kind = SHOAL_SPAN,
                                 .track = "main"},
               MAIN_TID);
}

// The rows of the library's labels, in the order that people read them in.
bool log_rows_init(shoal_log *log) {
    uint32_t count = log_label_count();
    const struct log_label **sorted = arena_new(&log->arena, const struct log_label *, count + 1);
    uint16_t *row_of = arena_new(&log->arena, uint16_t, count + 1);
    if (!sorted || !row_of)
        return false;
    log_labels_sorted(sorted);
    for (uint32_t i = 0; i < count; i++) {
        const struct log_label *l = sorted[i];
        if (add_span(log, l->name, l->category, l->description) < 0)
            return false;
        row_of[log_label_index(l)] = (uint16_t)i;
    }
    log->row_of = row_of;
    return true;
}

static int find(const shoal_log *log, const char *label) {
    uint32_t i = log && label ? log->buckets[hash(label)] : 0;
    while (i && strcmp(log->rows[i - 1].sum.label, label))
        i = log->rows[i - 1].next;
    return (int)i - 1;
}

// The same, with a guess: a program starts and stops one span many times.
static int find_again(shoal_log *log, const char *label) {
    if (label && !strcmp(log->rows[log->last_row].sum.label, label) &&
        log->rows[log->last_row].sum.kind == SHOAL_SPAN)
        return (int)log->last_row;
    int row = find(log, label);
    log->last_row = row >= 0 ? (uint32_t)row : log->last_row;
    return row;
}

static char *keep(shoal_log *log, const char *text) {
    char *copy = arena_strdup(&log->arena, text);
    if (copy)
        log_clean(copy);
    return copy;
}

// Spans of one stream share a line of the trace; measurements made side by side have one each.
static uint32_t tid_of(const shoal_log *log, shoal_span_kind kind, const char *track) {
    for (uint32_t i = log_label_count(); kind == SHOAL_ON_TRACK && i < log->row_count; i++)
        if (log->rows[i].sum.kind == kind && !strcmp(log->rows[i].sum.track, track))
            return log->rows[i].tid;
    return MAIN_TID + 1 + log->row_count;
}

int log_row_of(shoal_log *log, shoal_span_kind kind, const char *track,
               const struct log_label *label) {
    for (uint32_t i = log_label_count(); i < log->row_count; i++) {
        const shoal_span_sum *s = &log->rows[i].sum;
        if (s->kind == kind && s->label == label->name && !strcmp(s->track, track))
            return (int)i;
    }
    shoal_span_sum sum = {.label = label->name,
                          .description = label->description,
                          .category = label->category,
                          .kind = kind,
                          .track = keep(log, track)};
    return sum.track ? add(log, &sum, tid_of(log, kind, sum.track)) : -1;
}

// ---- Public calls -------------------------------------------------------------------------------

static bool is_label(const char *label) {
    size_t n = 0;
    for (; n <= LABEL_MOST && label[n]; n++)
        if (label[n] < ' ' || label[n] > '~' || label[n] == '"' || label[n] == '\\')
            return false;
    return n > 0 && n <= LABEL_MOST;
}

shoal_code shoal_log_register(shoal_log *log, const char *label, shoal_category category,
                              const char *description) {
    if (!log)
        return SHOAL_USAGE;
    if (!label || !is_label(label) || (unsigned)category >= SHOAL_CATEGORY_COUNT)
        return report_error(&log->report, SHOAL_USAGE,
                            "shoal_log_register: a label is 1 to %d printable characters without "
                            "\" and \\, in one of the categories",
                            LABEL_MOST);
    int row = find(log, label);
    if (row >= 0 && log->rows[row].sum.category == category)
        return SHOAL_OK;
    if (row >= 0)
        return report_error(&log->report, SHOAL_USAGE, "shoal_log_register: '%s' is of category %s",
                            label, shoal_category_name(log->rows[row].sum.category));
    const char *own = keep(log, label), *text = keep(log, description ? description : "");
    if (!own || !text || add_span(log, own, category, text) < 0)
        return report_error(&log->report, SHOAL_MEMORY,
                            "shoal_log_register: out of memory, or too many labels");
    return SHOAL_OK;
}

bool shoal_log_start(shoal_log *log, const char *label) {
    int row = log && log->recording ? find_again(log, label) : -1;
    return row >= 0 && log_open_row(log, (uint32_t)row, true) >= 0;
}

// Only what the program started, and not outside of a call of the library that is under way.
bool shoal_log_stop(shoal_log *log, const char *label) {
    int row = log && log->open >= 0 && !log->calling ? find_again(log, label) : -1;
    int32_t span = row >= 0 ? log->open : -1;
    while (span >= 0 && log->spans[span].by_program && log->spans[span].row != row)
        span = log->spans[span].parent;
    if (span < 0 || !log->spans[span].by_program)
        return false;
    log_close(log, span);
    return true;
}

size_t shoal_log_sum_count(const shoal_log *log) { return log ? log->row_count : 0; }

shoal_span_sum shoal_log_sum(const shoal_log *log, size_t index) {
    if (index >= shoal_log_sum_count(log))
        return (shoal_span_sum){.label = "", .description = "", .track = ""};
    return log->rows[index].sum;
}
