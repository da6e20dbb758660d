// SPDX-License-Identifier: MIT
// How runs of a result ended: what the formats share, and CSV, where a result of many samples has
// its values in one file and inputs and status in another.
#include "base/json.h"
#include "io/formats.h"
#include "result/result_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

shoal_code ends_name_status(struct arena *arena, struct table *t) {
    for (uint32_t i = 0; i < t->columns.count; i++) {
        struct table_column *c = &t->columns.items[i];
        if (strcmp(c->name, RESULT_STATUS) || !c->number)
            continue;
        const char **text = arena_new(arena, const char *, t->rows);
        if (!text)
            return SHOAL_MEMORY;
        for (uint64_t k = 0; k < t->rows; k++)
            text[k] = c->number[k] >= 0 && c->number[k] < SHOAL_STATUS_COUNT
                          ? shoal_status_word((int)c->number[k])
                          : "";
        c->number = NULL;
        c->text = text;
    }
    return SHOAL_OK;
}

// Whether it is the column of that name, which has `_` behind it where it is one of ours.
static bool has_name(const struct table_column *c, const char *name) {
    size_t length = strlen(name);
    if (strncmp(c->name, name, length))
        return false;
    const char *rest = c->name + length;
    return !*rest || (result_name_is_ours(name) && !rest[strspn(rest, "_")]);
}

// The texts of the value that follows name columns of that kind.
static bool mark_named(struct json *j, struct table *t, enum table_kind kind) {
    enum json_kind found = json_next(j);
    uint32_t depth = j->depth;
    if (found != JSON_ARRAY)
        return found != JSON_ERROR;
    while ((found = json_next(j)) != JSON_ERROR && found != JSON_END && j->depth >= depth)
        for (uint32_t i = 0; found == JSON_TEXT && i < t->columns.count; i++)
            if (has_name(&t->columns.items[i], j->text.data))
                t->columns.items[i].kind = kind;
    return found != JSON_ERROR;
}

// Metadata say what was given and which variables there are: nothing else is one. Those of old
// results say only the first.
void ends_mark(const char *meta, struct table *t) {
    struct json j;
    bool grid = false, vars = false;
    json_open_text(&j, meta, strlen(meta));
    bool more = json_next(&j) == JSON_OBJECT;
    while (more && json_next(&j) == JSON_NAME) {
        bool is_grid = !strcmp(j.text.data, "grid"), is_vars = !strcmp(j.text.data, "vars");
        grid = grid || is_grid;
        vars = vars || is_vars;
        more = is_grid || is_vars ? mark_named(&j, t, is_grid ? TABLE_INPUT : TABLE_VARIABLE)
                                  : json_skip(&j);
    }
    json_close(&j);
    for (uint32_t i = 0; grid && i < t->columns.count; i++)
        if (t->columns.items[i].kind == TABLE_ANY)
            t->columns.items[i].kind = vars ? TABLE_COMPUTED : TABLE_VARIABLE;
}

// The last line of each run in a table of samples, whose runs come one after the other; UINT64_MAX:
// it has none.
static uint64_t *last_lines(const struct table *samples, const struct table *runs,
                            struct arena *arena) {
    const double *line = table_find(samples, RESULT_RUN)->number,
                 *run = table_find(runs, RESULT_RUN)->number;
    uint64_t *last = arena_new(arena, uint64_t, runs->rows + 1), at = 0;
    for (uint64_t i = 0; last && i < runs->rows; i++) {
        last[i] = UINT64_MAX;
        for (; at < samples->rows && line[at] == run[i]; at++)
            last[i] = at;
    }
    return last;
}

static shoal_code add_last(const struct table *samples, const uint64_t *last, struct arena *arena,
                           struct table *runs) {
    for (uint32_t i = 0; i < samples->columns.count; i++) {
        const struct table_column *c = &samples->columns.items[i];
        if (!c->number || table_find(runs, c->name))
            continue;
        double *to = table_numbers(arena, runs, c->name);
        if (!to)
            return SHOAL_MEMORY;
        runs->columns.items[runs->columns.count - 1].kind = TABLE_VARIABLE;
        for (uint64_t k = 0; k < runs->rows; k++)
            to[k] = last[k] == UINT64_MAX ? (double)NAN : c->number[last[k]];
    }
    return SHOAL_OK;
}

// What stands in front of `t`, or of `status`, was given, or (beside samples) is a summary; the
// rest came out of the run. A file whose first column is not `run` is none of ours.
static void mark_columns(struct table *t) {
    const struct table_column *first = t->columns.items, *time = table_find(t, RESULT_T);
    bool given = !strcmp(first->name, RESULT_RUN) && table_find(t, RESULT_STATUS);
    for (uint32_t i = 0; given && i < t->columns.count; i++)
        t->columns.items[i].kind = time && first + i > time ? TABLE_VARIABLE : TABLE_INPUT;
}

// Inputs and status are beside the file.
static shoal_code join_runs(const char *path, const struct table *samples, struct arena *arena,
                            struct table *out, struct report *r) {
    char *side = csv_side_path(path, "runs");
    struct table runs = {.source = out->source};
    shoal_code code = side ? csv_result_read(side, arena, &runs, r) : SHOAL_MEMORY;
    if (code == SHOAL_OK && !table_find(&runs, RESULT_RUN))
        code = report_error(r, SHOAL_INPUT, "%s: is no table of runs", side);
    free(side);
    if (code == SHOAL_OK)
        mark_columns(&runs);
    const uint64_t *last = code == SHOAL_OK ? last_lines(samples, &runs, arena) : NULL;
    if (code == SHOAL_OK)
        code = last ? add_last(samples, last, arena, &runs) : SHOAL_MEMORY;
    if (code == SHOAL_OK)
        *out = runs;
    return code;
}

shoal_code csv_ends_read(const char *path, struct arena *arena, struct table *out,
                         struct report *r) {
    shoal_code code = csv_result_read(path, arena, out, r);
    if (code == SHOAL_OK)
        mark_columns(out);
    if (code != SHOAL_OK || table_find(out, RESULT_STATUS) || !table_find(out, RESULT_RUN) ||
        !table_find(out, RESULT_T))
        return code;
    struct table samples = *out;
    return join_runs(path, &samples, arena, out, r);
}
