// SPDX-License-Identifier: MIT
// Results in CSV files, read line by line; see reader.h. Samples, windows and records are in the
// file itself, their runs in the table beside it (csv_sink.c); where that is missing, nothing is
// known of the runs. What is no number, and no word of a status, is NaN; but a column whose first
// row is a word is one of words. Columns `m.1 ... m.n, m.t1 ... m.tn` are peaks: a table `m` of n
// rows for each run as well, as arrays have it.
#include "base/ascii.h"
#include "base/file.h"
#include "base/number.h"
#include "io/formats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 1 << 18, LINE_MOST = 64 << 20, FIELDS_MOST = 1 << 16 };

struct csv_file {
    char *side; // the table of runs; NULL: the file itself
    uint32_t fields, side_fields;
};

// A file that is read from its beginning.
struct lines {
    const char *path;
    int fd;
    uint64_t size, read; // of the file
    char *window;
    size_t at, end, room;
    uint64_t line;
};

static shoal_code lines_open(struct lines *l, const char *path, struct report *r) {
    *l = (struct lines){.path = path, .fd = -1, .room = WINDOW};
    shoal_code code = file_open(path, &l->fd, &l->size, r);
    l->window = code ? NULL : malloc(l->room);
    return code ? code : l->window ? SHOAL_OK : SHOAL_MEMORY;
}

static void lines_close(struct lines *l) {
    if (l->fd >= 0)
        close(l->fd);
    free(l->window);
}

// More bytes behind those that are there.
static shoal_code fill(struct lines *l, struct report *r) {
    memmove(l->window, l->window + l->at, l->end - l->at);
    l->end -= l->at;
    l->at = 0;
    if (l->end == l->room) {
        char *bigger = l->room < LINE_MOST ? realloc(l->window, 2 * l->room) : NULL;
        if (!bigger)
            return report_error(r, SHOAL_INPUT, "%s:%llu: the line is too long", l->path,
                                (unsigned long long)l->line + 1);
        l->window = bigger;
        l->room *= 2;
    }
    uint64_t left = l->size - l->read;
    size_t count = left < l->room - l->end ? (size_t)left : l->room - l->end;
    shoal_code code = file_read_at(l->fd, l->path, l->read, l->window + l->end, count, r);
    l->read += count;
    l->end += count;
    return code;
}

// The end of the line that begins at the window's place: a newline outside quotes, or SIZE_MAX.
static size_t find_end(const struct lines *l) {
    const char *start = l->window + l->at;
    const char *newline = memchr(start, '\n', l->end - l->at);
    size_t length = newline ? (size_t)(newline - start) : l->end - l->at;
    if (!memchr(start, '"', length))
        return newline ? l->at + length : SIZE_MAX;
    bool quoted = false;
    for (size_t i = l->at; i < l->end; i++) {
        quoted ^= l->window[i] == '"';
        if (l->window[i] == '\n' && !quoted)
            return i;
    }
    return SIZE_MAX;
}

// The next line without its end; NULL text at the end of the file.
static shoal_code next_line(struct lines *l, char **text, size_t *length, struct report *r) {
    size_t end;
    *text = NULL;
    *length = 0;
    while ((end = find_end(l)) == SIZE_MAX) {
        if (l->read == l->size) {
            end = l->end;
            break;
        }
        shoal_code code = fill(l, r);
        if (code)
            return code;
    }
    if (l->at == l->end)
        return SHOAL_OK;
    *text = l->window + l->at;
    *length = end - l->at;
    l->at = end < l->end ? end + 1 : end;
    l->line++;
    if (*length && (*text)[*length - 1] == '\r')
        --*length;
    return SHOAL_OK;
}

// The field at *at, without its quotes, in place; *at moves behind its comma. False: no more.
static bool next_field(char *line, size_t length, size_t *at, char **field, size_t *field_length) {
    if (*at > length)
        return false;
    char *start = line + *at, *end = line + length;
    if (start < end && *start == '"') {
        char *to = start;
        const char *from = start + 1;
        for (; from < end && !(*from == '"' && (from + 1 == end || from[1] != '"')); from++) {
            from += *from == '"';
            *to++ = *from;
        }
        *field_length = (size_t)(to - start);
        const char *comma = from < end ? memchr(from, ',', (size_t)(end - from)) : NULL;
        *at = (size_t)((comma ? comma : end) - line) + 1;
    } else {
        const char *comma = memchr(start, ',', (size_t)(end - start));
        *field_length = (size_t)((comma ? comma : end) - start);
        *at += *field_length + 1;
    }
    *field = start;
    return true;
}

static double read_value(const char *text, size_t length) {
    double value;
    if (number_all(text, length, NUMBER_SIGNED, &value))
        return value;
    if (length == 3 && !memcmp(text, "inf", 3))
        return INFINITY;
    if (length == 4 && !memcmp(text, "-inf", 4))
        return -INFINITY;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        if (strlen(shoal_status_word(i)) == length && !memcmp(shoal_status_word(i), text, length))
            return i;
    return NAN;
}

// ---- Streams ------------------------------------------------------------------------------------

struct csv_stream {
    struct reader_stream stream;
    struct lines lines;
    struct reader *d;
    uint32_t fields, count;
    uint32_t *want;                    // of each field: which column it is, plus one,
    uint32_t *item;                    // and which row of its line's
    uint32_t per_line, taken;          // rows of a line, and those that are out already
    double *spread;                    // the line's, where they are several: [count][per_line]
    struct reader_words **words;       // of each column, or NULL
    uint32_t same[READER_COLUMNS + 2]; // of each column: the one that reads its field
    uint32_t place;                    // which column is that of runs, plus one
};

static shoal_code read_row(struct csv_stream *s, char *line, size_t length, double *const *to,
                           size_t row, struct report *r) {
    size_t at = 0, field_length;
    char *field;
    uint32_t n = 0;
    for (; n < s->fields && next_field(line, length, &at, &field, &field_length); n++) {
        bool is_run = s->place && n == 0;
        if (!s->want[n] && !is_run)
            continue;
        struct reader_words *words = s->want[n] ? s->words[s->want[n] - 1] : NULL;
        double value =
            words ? reader_word(s->d, words, field, field_length) : read_value(field, field_length);
        if (s->want[n])
            to[s->want[n] - 1][row + s->item[n]] = value;
        if (is_run)
            to[s->place - 1][row] = value;
    }
    if (n < s->fields || at <= length)
        return report_error(r, SHOAL_INPUT, "%s:%llu: the line has %s fields than the first",
                            s->lines.path, (unsigned long long)s->lines.line,
                            n < s->fields ? "fewer" : "more");
    return SHOAL_OK;
}

// The next line that is not empty; *there is false at the end.
static shoal_code read_line(struct csv_stream *s, double *const *to, size_t row, bool *there,
                            struct report *r) {
    char *line;
    size_t length = 0;
    shoal_code code;
    do
        code = next_line(&s->lines, &line, &length, r);
    while (!code && line && !length);
    *there = !code && line;
    return *there ? read_row(s, line, length, to, row, r) : code;
}

// Rows of lines that have several each.
static shoal_code next_spread(struct csv_stream *s, double *const *to, size_t most, size_t *got,
                              struct report *r) {
    double *line[READER_COLUMNS + 1];
    bool there = true;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < s->count; i++)
        line[i] = s->spread + (size_t)i * s->per_line;
    while (*got < most && !code) {
        if (s->taken == s->per_line) {
            code = read_line(s, line, 0, &there, r);
            if (code || !there)
                break;
            s->taken = 0;
        }
        size_t left = s->per_line - s->taken, count = left < most - *got ? left : most - *got;
        for (uint32_t i = 0; i < s->count; i++)
            memcpy(to[i] + *got, line[i] + s->taken, count * sizeof **to);
        s->taken += (uint32_t)count;
        *got += count;
    }
    return code;
}

static shoal_code csv_next(struct reader_stream *stream, double *const *to, size_t most,
                           size_t *got, struct report *r) {
    struct csv_stream *s = (struct csv_stream *)stream;
    bool there = true;
    shoal_code code = SHOAL_OK;
    *got = 0;
    if (s->spread)
        code = next_spread(s, to, most, got, r);
    while (!s->spread && *got < most && !code && there) {
        code = read_line(s, to, *got, &there, r);
        *got += there && !code;
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (s->same[i] != i)
            memcpy(to[i], to[s->same[i]], *got * sizeof **to);
    return code;
}

static void csv_stream_close(struct reader_stream *stream) {
    struct csv_stream *s = (struct csv_stream *)stream;
    lines_close(&s->lines);
    free(s->want);
    free(s->item);
    free(s->spread);
    free(s->words);
    free(s);
}

// Which fields a column is in.
static void want_fields(struct csv_stream *s, const struct reader_column *c, uint32_t i) {
    uint32_t *want = &s->want[c->index];
    bool first = !*want;
    for (uint32_t k = 0; k < s->per_line && first; k++) {
        want[k] = i + 1;
        s->item[c->index + k] = k;
    }
    s->same[i] = *want - 1;
    s->words[i] = c->words;
}

static shoal_code csv_stream(struct reader *d, uint32_t table, const uint32_t *columns,
                             uint32_t count, struct reader_stream **out, struct report *r) {
    const struct csv_file *f = d->data;
    bool side = f->side && table == READER_RUNS;
    uint64_t per_run = d->tables.items[table].per_run;
    struct csv_stream *s = calloc(1, sizeof *s);
    *out = (struct reader_stream *)s;
    if (!s)
        return SHOAL_MEMORY;
    s->stream = (struct reader_stream){csv_next, csv_stream_close};
    s->fields = side ? f->side_fields : f->fields;
    s->d = d;
    s->count = count;
    s->per_line = s->taken = per_run ? (uint32_t)per_run : 1;
    s->want = calloc((size_t)s->fields + 1, sizeof *s->want);
    s->item = calloc((size_t)s->fields + 1, sizeof *s->item);
    s->words = calloc((size_t)count + 1, sizeof(struct reader_words *));
    s->spread = table != READER_RUNS && per_run
                    ? calloc((size_t)count + 1, s->per_line * sizeof(double))
                    : NULL;
    if (!s->want || !s->item || !s->words || (table != READER_RUNS && per_run && !s->spread))
        return SHOAL_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        if (columns[i] == READER_PLACE) {
            s->place = i + 1;
            s->same[i] = i;
        } else
            want_fields(s, &d->columns.items[columns[i]], i);
    shoal_code code = lines_open(&s->lines, side ? f->side : d->path, r);
    char *line;
    size_t length;
    return code ? code : next_line(&s->lines, &line, &length, r);
}

static void csv_close(struct reader *d) {
    struct csv_file *f = d->data;
    free(f->side);
    free(f);
}

static const struct reader_format csv_reader = {.stream = csv_stream, .close = csv_close};

// ---- Heads --------------------------------------------------------------------------------------

// The names of a file's first line.
static shoal_code read_head(struct reader *d, const char *path, char ***names, uint32_t *count,
                            struct report *r) {
    struct lines l;
    char *line = NULL, *field;
    size_t length = 0, at = 0, n;
    shoal_code code = lines_open(&l, path, r);
    if (!code)
        code = next_line(&l, &line, &length, r);
    *names = arena_new(&d->arena, char *, FIELDS_MOST);
    *count = 0;
    if (!code && !*names)
        code = SHOAL_MEMORY;
    if (!code && length >= 3 && !memcmp(line, "\xef\xbb\xbf", 3))
        at = 3;
    while (!code && line && *count < FIELDS_MOST && next_field(line, length, &at, &field, &n)) {
        (*names)[*count] = arena_strndup(&d->arena, field, n);
        if (!(*names)[(*count)++])
            code = SHOAL_MEMORY;
    }
    if (!code && !line)
        code = report_error(r, SHOAL_INPUT, "%s is empty", path);
    lines_close(&l);
    return code;
}

static bool has(char *const *names, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

// The columns whose field in the first row is a word are columns of words.
static shoal_code find_words(struct reader *d, const char *path, uint32_t table, struct report *r) {
    struct lines l;
    char *line = NULL, *field;
    size_t length = 0, at = 0, n;
    shoal_code code = lines_open(&l, path, r);
    for (int i = 0; i < 2 && !code; i++)
        code = next_line(&l, &line, &length, r);
    uint32_t i = 0; // columns of a table are in the order of its fields
    for (uint32_t k = 0; !code && line && next_field(line, length, &at, &field, &n); k++) {
        const struct reader_column *columns = d->columns.items;
        while (i < d->columns.count && (columns[i].table != table || columns[i].index < k))
            i++;
        bool text = n && isnan(read_value(field, n)) && !(n == 3 && !memcmp(field, "nan", 3));
        if (i == d->columns.count || columns[i].index != k || !text ||
            columns[i].role == READER_STATUS)
            continue;
        d->columns.items[i].words = arena_new(&d->arena, struct reader_words, 1);
        code = d->columns.items[i].words ? SHOAL_OK : SHOAL_MEMORY;
    }
    lines_close(&l);
    return code;
}

// What stands between `run` and `t`, or `status`, was given.
static shoal_code add_columns(struct reader *d, char *const *names, uint32_t count, uint32_t table,
                              bool skip_run) {
    bool input =
        table == READER_RUNS && count && !strcmp(names[0], "run") && has(names, count, "status");
    for (uint32_t i = 0; i < count; i++) {
        input = input && strcmp(names[i], "t") && strcmp(names[i], "status");
        if (i == 0 && skip_run && !strcmp(names[0], "run"))
            continue;
        if (reader_find(d, names[i]) != UINT32_MAX)
            continue; // twice in a file that is not ours: the first
        struct reader_column *c = reader_add(d, names[i], i, table);
        if (!c)
            return SHOAL_MEMORY;
        if (input && c->role == READER_VALUE && names[i][0] != '_')
            c->role = READER_INPUT;
        else if (table != READER_RUNS && i == 1 && c->role == READER_VALUE)
            c->role = READER_INDEX;
        else if (table != READER_RUNS && i <= 3 &&
                 (!strcmp(names[i], "t_begin") || !strcmp(names[i], "t_end")))
            c->role = READER_TIME;
    }
    return SHOAL_OK;
}

// How many peaks begin at a name: m.1 ... m.n, m.t1 ... m.tn. 0: none.
static uint32_t count_peaks(char *const *names, uint32_t count, size_t *stem) {
    const char *point = strrchr(names[0], '.');
    char name[1024];
    uint32_t n = 0, times = 0;
    *stem = point ? (size_t)(point - names[0]) : 0;
    if (!*stem || *stem > sizeof name - 16)
        return 0;
    for (; n < count; n++) {
        snprintf(name, sizeof name, "%.*s.%u", (int)*stem, names[0], n + 1);
        if (strcmp(names[n], name) != 0)
            break;
    }
    for (; times < n && n + times < count; times++) {
        snprintf(name, sizeof name, "%.*s.t%u", (int)*stem, names[0], times + 1);
        if (strcmp(names[n + times], name) != 0)
            break;
    }
    return times == n ? n : 0;
}

static shoal_code add_peaks(struct reader *d, char *const *names, uint32_t first, uint32_t n,
                            size_t stem) {
    const char *name = arena_strndup(&d->arena, names[first], stem);
    const char *time = name ? arena_printf(&d->arena, "%s.t", name) : NULL;
    uint32_t table = d->tables.count;
    if (!time)
        return SHOAL_MEMORY;
    if (reader_find(d, name) != UINT32_MAX || reader_find(d, time) != UINT32_MAX)
        return SHOAL_OK;
    for (uint32_t i = first; i < first + 2 * n; i++) {
        uint32_t column = reader_find(d, names[i]);
        d->columns.items[column].role = READER_COUNT;
    }
    shoal_code code = reader_add_counted(d, name, n, n, false);
    struct reader_column *c = code ? NULL : reader_add(d, name, first, table);
    struct reader_column *t = c ? reader_add(d, time, first + n, table) : NULL;
    if (t)
        t->role = READER_TIME;
    return t ? SHOAL_OK : SHOAL_MEMORY;
}

static shoal_code add_all_peaks(struct reader *d, char *const *names, uint32_t count) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < count && !code;) {
        size_t stem;
        uint32_t n = count_peaks(names + i, count - i, &stem);
        if (n)
            code = add_peaks(d, names, i, n, stem);
        i += n ? 2 * n : 1;
    }
    return code;
}

// Whether a file has rows of runs beside it: its second column counts or dates them.
static bool has_several(char *const *names, uint32_t count) {
    static const char *const second[] = {"t", "window", "index"};
    bool is = false;
    for (int i = 0; i < 3 && count > 1; i++)
        is = is || !strcmp(names[1], second[i]);
    return is && !strcmp(names[0], "run") && !has(names, count, "status");
}

// The table of runs beside out.csv is out.runs.csv. out.hit.csv and out.windows.csv stand beside
// out.csv, which may be that table itself.
static char *find_runs(const char *path) {
    char *side = csv_side_path(path, "runs");
    size_t length = strlen(path), end = length > 4 ? length - 4 : 0; // .csv
    while (end && path[end - 1] != '.' && path[end - 1] != '/')
        end--;
    if (!side || access(side, R_OK) == 0 || end < 2 || path[end - 1] != '.')
        return side;
    char *whole = malloc(length + 1);
    if (!whole)
        return side;
    snprintf(whole, length + 1, "%.*s%s", (int)end, path, path + length - 3);
    char *whole_side = csv_side_path(whole, "runs");
    bool beside = whole_side && access(whole_side, R_OK) == 0;
    free(side);
    free(beside ? whole : whole_side);
    return beside ? whole_side : whole;
}

// Statistics: `failed` is the last column, and there is no `run`.
static bool is_reduced(char *const *names, uint32_t count) {
    return count > 1 && !has(names, count, "run") && !strcmp(names[count - 1], "failed");
}

static shoal_code open_plain(struct reader *d, char *const *names, uint32_t count,
                             struct report *r) {
    shoal_code code = add_columns(d, names, count, READER_RUNS, false);
    if (!code)
        code = find_words(d, d->path, READER_RUNS, r);
    if (code || !(d->reduced = is_reduced(names, count)))
        return code ? code : add_all_peaks(d, names, count);
    for (uint32_t i = 0; i < d->columns.count; i++)
        if (!strcmp(d->columns.items[i].name, "window"))
            d->columns.items[i].role = READER_INDEX;
    reader_mark_reduced(d);
    return SHOAL_OK;
}

shoal_code csv_reader_open(struct reader *d, struct report *r) {
    struct csv_file *f = calloc(1, sizeof *f);
    char **names, **side_names;
    if (!f)
        return SHOAL_MEMORY;
    d->data = f;
    d->format = &csv_reader;
    d->runs = UINT64_MAX;
    shoal_code code = read_head(d, d->path, &names, &f->fields, r);
    if (code)
        return code;
    if (!has_several(names, f->fields))
        return open_plain(d, names, f->fields, r);
    f->side = find_runs(d->path);
    if (!f->side || !reader_add_table(d, names[1], 0))
        return SHOAL_MEMORY;
    bool there = access(f->side, R_OK) == 0;
    if (there)
        code = read_head(d, f->side, &side_names, &f->side_fields, r);
    there = there && !code && has(side_names, f->side_fields, "status");
    if (!code)
        code = add_columns(d, names, f->fields, 1, there);
    if (!code)
        code = find_words(d, d->path, 1, r);
    if (there && !code) // final values may be there that are called like those of the rows
        code = add_columns(d, side_names, f->side_fields, READER_RUNS, false);
    return !there || code ? code : find_words(d, f->side, READER_RUNS, r);
}
