// SPDX-License-Identifier: MIT
// Results as CSV: rows in run order, numbers that read back exactly, quoting as in RFC 4180.
//
// One sample a run: `run,<columns>,t,<vars>,status`. Many samples: `run,t,<vars>`, and beside it a
// table of the runs, `run,<columns>,status,steps,rejected,f_evals`: out.csv has out.runs.csv. The
// table is put in place first, so that whoever sees out.csv finds it. On standard output there is
// no place for the second table; it is left out. A CSV file has no metadata: that a run was stopped
// shows only in the number of its rows.
//
// Lines are written in order, but turned into text by several threads: ranges of them, each into a
// buffer of its own.
#include "base/file.h"
#include "dispatch/team.h"
#include "io/formats.h"
#include "result/result_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NUMBER_BYTES = 26,       // longest number and its comma
    RANGE_NUMBERS = 1 << 15, // of a thread at a time, about
    RANGE_LEAST = 1 << 12,   // less is not worth a thread
    RANGES_MOST = 12,        // side by side
    TEXT_LEAST = 1 << 16,    // bytes of a buffer
};

// An array as lines need it: its element is at row*row + sample*sample + line*line.
struct cell {
    const void *data;
    enum result_type type;
    bool is_status; // a word
    size_t row, sample, line;
};

struct csv_table {
    struct file_part part; // not used for standard output
    struct buf head;       // until it is written
    bool by_sample;        // a line for each sample, else for each run
    uint32_t columns;
    uint32_t *column;  // arrays
    struct cell *cell; // of the chunk
};

struct csv_sink {
    struct sink sink;
    char *path;
    bool to_stdout, has_runs;
    uint64_t rows_done;
    const struct result_list *list;
    struct csv_table main, runs;
    uint32_t threads;
    struct team *team;
    struct buf range[RANGES_MOST];
};

// ---- Columns ------------------------------------------------------------------------------------

enum {
    OF_VALUES = 1u << ROLE_RUN | 1u << ROLE_TIME | 1u << ROLE_STATE | 1u << ROLE_OBSERVABLE,
    OF_RUNS = 1u << ROLE_RUN | 1u << ROLE_INPUT | 1u << ROLE_STATUS,
};

static bool has_samples(const struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].axes == AXES_PER_SAMPLE || list->array[i].axes == AXES_FLAT)
            return true;
    return false;
}

// What the tables hold, by role.
static unsigned main_roles(const struct result_list *list) {
    return has_samples(list) ? OF_VALUES : OF_VALUES | OF_RUNS;
}

static unsigned runs_roles(void) { return OF_RUNS | 1u << ROLE_COUNT; }

static bool is_in(const struct result_array *a, unsigned roles) { return roles >> a->role & 1; }

// ---- Text ---------------------------------------------------------------------------------------

// Makes room for a line of `numbers` numbers, so that put_* need not ask.
static bool room_for(struct buf *b, size_t numbers) {
    size_t want = b->length + numbers * NUMBER_BYTES + 64;
    if (want <= b->capacity)
        return true;
    size_t capacity = want < TEXT_LEAST ? TEXT_LEAST : want * 2;
    char *bigger = realloc(b->data, capacity);
    if (!bigger) {
        b->failed = true;
        return false;
    }
    b->data = bigger;
    b->capacity = capacity;
    return true;
}

static void put_text(struct buf *b, const char *text) {
    if (!text)
        return;
    size_t length = strlen(text);
    bool quoted = strpbrk(text, ",\"\r\n") || (length && (text[0] == ' ' || text[0] == '#')) ||
                  (length && text[length - 1] == ' ');
    if (!quoted) {
        buf_put(b, text, length);
        return;
    }
    buf_putc(b, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            buf_putc(b, '"');
        buf_putc(b, *c);
    }
    buf_putc(b, '"');
}

static inline void put_char(struct buf *b, char c) { b->data[b->length++] = c; }

// A number or a word, where there is room.
static inline uint32_t put_short(const struct cell *c, size_t at, char *out) {
    switch (c->type) {
    case TYPE_U8: {
        uint8_t n = ((const uint8_t *)c->data)[at];
        if (!c->is_status)
            return io_format_uint(n, out);
        const char *word = shoal_status_word(n);
        return (uint32_t)(stpcpy(out, word) - out);
    }
    case TYPE_U32:
        return io_format_uint(((const uint32_t *)c->data)[at], out);
    case TYPE_U64:
        return io_format_uint(((const uint64_t *)c->data)[at], out);
    case TYPE_F32:
        return io_format_float(((const float *)c->data)[at], out);
    case TYPE_F64:
    case TYPE_TIME:
        return io_format_double(((const double *)c->data)[at], out);
    case TYPE_TEXT:
    case RESULT_TYPES:
        break;
    }
    return 0;
}

// Which line of a chunk.
struct spot {
    uint64_t line, row, sample;
};

static bool put_line(struct buf *b, const struct csv_table *t, const struct spot *p) {
    if (!room_for(b, t->columns))
        return false;
    for (uint32_t i = 0; i < t->columns; i++) {
        const struct cell *c = &t->cell[i];
        size_t at = p->row * c->row + p->sample * c->sample + p->line * c->line;
        if (i)
            put_char(b, ',');
        if (c->type != TYPE_TEXT) {
            b->length += put_short(c, at, b->data + b->length);
            continue;
        }
        put_text(b, ((const char *const *)c->data)[at]);
        if (b->failed || !room_for(b, t->columns))
            return false;
    }
    put_char(b, '\n');
    return true;
}

// ---- Lines of a chunk ---------------------------------------------------------------------------

struct lines {
    const struct csv_table *table;
    const struct result_chunk *chunk;
    uint64_t samples; // of a run, where all have the same
    struct buf *range;
    uint64_t first, end, each; // lines of all ranges, and of one
};

static uint64_t count_lines(const struct csv_sink *s, const struct csv_table *t,
                            const struct result_chunk *c) {
    if (!t->by_sample)
        return c->rows;
    return c->offsets ? c->offsets[c->rows] : c->rows * s->list->of.samples;
}

// The row that holds a sample of the chunk.
static uint64_t row_of(const struct result_chunk *c, uint64_t sample) {
    uint64_t low = 0, high = c->rows;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (c->offsets[middle] <= sample)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct spot spot_of(const struct lines *l, uint64_t line) {
    const struct result_chunk *c = l->chunk;
    if (!l->table->by_sample)
        return (struct spot){line, line, 0};
    if (!c->offsets)
        return (struct spot){line, line / l->samples, line % l->samples};
    uint64_t row = row_of(c, line);
    return (struct spot){line, row, line - c->offsets[row]};
}

// To the next line; runs without a sample have none.
static void step(const struct lines *l, struct spot *p) {
    const uint64_t *offsets = l->chunk->offsets;
    p->line++;
    if (!l->table->by_sample) {
        p->row++;
    } else if (!offsets) {
        if (++p->sample == l->samples)
            p->row++, p->sample = 0;
    } else {
        p->sample++;
        while (p->row < l->chunk->rows && p->line >= offsets[p->row + 1])
            p->row++, p->sample = 0;
    }
}

// Ranges `first` to `end`, each into its buffer.
static void put_ranges(void *user, size_t first, size_t end) {
    const struct lines *l = user;
    for (size_t k = first; k < end; k++) {
        uint64_t from = l->first + k * l->each, left = l->end - from;
        struct buf *b = &l->range[k];
        struct spot p = spot_of(l, from);
        b->length = 0;
        for (uint64_t i = 0; i < left && i < l->each && put_line(b, l->table, &p); i++)
            step(l, &p);
    }
}

static struct cell cell_of(const struct csv_sink *s, const struct result_chunk *c, uint32_t array) {
    const struct result_array *a = &s->list->array[array];
    const struct result_view *v = &c->view[array];
    struct cell out = {.data = v->data, .type = a->type, .is_status = a->role == ROLE_STATUS};
    if (a->axes == AXES_GRID) {
        out.data = s->list->of.times;
        out.sample = 1;
    } else if (a->axes == AXES_PER_SAMPLE) {
        out.row = v->row_stride;
        out.sample = v->sample_stride;
    } else if (a->axes == AXES_FLAT) {
        out.line = 1;
    } else {
        out.row = 1;
    }
    return out;
}

// ---- Writing ------------------------------------------------------------------------------------

static shoal_code no_memory(const struct csv_sink *s, struct report *r) {
    return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
}

static shoal_code put_out(struct csv_sink *s, struct csv_table *t, struct buf *b,
                          struct report *r) {
    if (b->failed)
        return no_memory(s, r);
    int fd = s->to_stdout ? STDOUT_FILENO : t->part.fd;
    const char *name = s->to_stdout ? "standard output" : t->part.part;
    shoal_code code = b->length ? file_write(fd, name, b->data, b->length, r) : SHOAL_OK;
    b->length = 0;
    return code;
}

// The next lines, as many ranges as there are threads; l->first moves on.
static shoal_code put_round(struct csv_sink *s, struct csv_table *t, struct lines *l,
                            struct report *r) {
    uint64_t left = l->end - l->first, most = RANGE_NUMBERS / t->columns + 1;
    l->each = left / s->threads + 1;
    l->each = l->each > most ? most : l->each;
    l->each = l->each * t->columns < RANGE_LEAST ? RANGE_LEAST / t->columns + 1 : l->each;
    uint64_t ranges = (left + l->each - 1) / l->each;
    ranges = ranges > s->threads ? s->threads : ranges;
    team_run(&s->team, s->threads, ranges, 1, put_ranges, l);
    shoal_code code = SHOAL_OK;
    for (uint64_t k = 0; k < ranges && code == SHOAL_OK; k++)
        code = put_out(s, t, &s->range[k], r);
    l->first += ranges * l->each;
    return code;
}

static shoal_code put_chunk(struct csv_sink *s, struct csv_table *t, const struct result_chunk *c,
                            struct report *r) {
    for (uint32_t i = 0; i < t->columns; i++)
        t->cell[i] = cell_of(s, c, t->column[i]);
    struct lines l = {.table = t,
                      .chunk = c,
                      .samples = s->list->of.samples,
                      .range = s->range,
                      .end = count_lines(s, t, c)};
    shoal_code code = put_out(s, t, &t->head, r);
    while (code == SHOAL_OK && l.first < l.end)
        code = put_round(s, t, &l, r);
    return code;
}

static shoal_code csv_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    s->rows_done += c->rows;
    shoal_code code = put_chunk(s, &s->main, c, r);
    return code == SHOAL_OK && s->has_runs ? put_chunk(s, &s->runs, c, r) : code;
}

// ---- Files --------------------------------------------------------------------------------------

char *csv_runs_path(const char *path) {
    size_t stem = strlen(path) - strlen(".csv");
    char *runs = malloc(stem + sizeof ".runs.csv");
    if (runs) {
        memcpy(runs, path, stem);
        memcpy(runs + stem, ".runs.csv", sizeof ".runs.csv");
    }
    return runs;
}

// Names of the arrays that every result has, each behind a comma.
static void put_ours(struct buf *b, const struct result_list *list, unsigned roles) {
    for (uint32_t i = 0; i < list->count; i++)
        if (is_in(&list->array[i], roles))
            buf_printf(b, ",%s", list->array[i].name);
}

// The line is made of such names: these first, whatever then, and those at the end.
static bool is_made_of(const char *line, size_t length, const struct result_list *list,
                       unsigned first, unsigned last) {
    struct buf begin = {0}, end = {0};
    put_ours(&begin, list, first);
    buf_putc(&begin, ',');
    put_ours(&end, list, last);
    buf_putc(&end, '\n');
    bool is = !begin.failed && !end.failed && length >= begin.length + end.length - 2 &&
              !memcmp(line, begin.data + 1, begin.length - 1) &&
              !memcmp(line + length - end.length, end.data, end.length);
    buf_free(&begin);
    buf_free(&end);
    return is;
}

// Of a table of values, of a result of one sample a run, or of a table of runs.
static bool is_any_head(const char *line, size_t length) {
    struct arena arena = {0};
    struct result_list list;
    unsigned run = 1u << ROLE_RUN, status = 1u << ROLE_STATUS;
    bool is = result_list_make(&list, &(struct result_spec){0}, &arena) &&
              (is_made_of(line, length, &list, run | 1u << ROLE_TIME, 0) ||
               is_made_of(line, length, &list, run, status) ||
               is_made_of(line, length, &list, run, status | 1u << ROLE_COUNT));
    arena_free(&arena);
    return is;
}

bool csv_is_result(const char *path) {
    enum { HEAD_MOST = 4 << 20 }; // no result has a longer one
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = fd >= 0 ? malloc(HEAD_MOST + 1) : NULL;
    ssize_t got = text ? read(fd, text, HEAD_MOST) : -1;
    const char *newline = got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
    size_t length = newline ? (size_t)(newline - text) + 1 : 0;
    if (text)
        text[length] = 0;
    bool is = length && is_any_head(text, length);
    free(text);
    if (fd >= 0)
        close(fd);
    return is;
}

static shoal_code open_runs(struct csv_sink *s, struct report *r) {
    char *path = csv_runs_path(s->path);
    if (!path)
        return no_memory(s, r);
    shoal_code code = file_part_open(&s->runs.part, path, r);
    free(path);
    return code;
}

// Numbers in a table.
static unsigned __int128 numbers_of(const struct result_list *list, unsigned roles,
                                    bool by_sample) {
    uint32_t columns = 0;
    for (uint32_t i = 0; i < list->count; i++)
        columns += is_in(&list->array[i], roles);
    return (unsigned __int128)list->of.rows * (by_sample ? list->of.samples : 1) * columns;
}

// Bytes of the two files when a number takes `number` bytes with its comma.
static uint64_t bytes_of(const struct result_list *list, uint64_t number) {
    bool samples = has_samples(list);
    unsigned __int128 bytes = numbers_of(list, main_roles(list), samples);
    if (samples)
        bytes += numbers_of(list, runs_roles(), false);
    bytes *= number;
    return bytes > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)bytes;
}

uint64_t csv_bytes(const struct result_list *list) {
    return bytes_of(list, list->of.f32 ? 11 : 18); // of numbers with all their digits
}

static void put_head(struct csv_table *t, const struct result_names *names) {
    for (uint32_t i = 0; i < t->columns; i++) {
        if (i)
            buf_putc(&t->head, ',');
        put_text(&t->head, names->name[t->column[i]]);
    }
    buf_putc(&t->head, '\n');
}

// The arrays of a table, and its first line.
static shoal_code begin_table(struct csv_sink *s, struct csv_table *t, unsigned roles,
                              const struct result_names *names, struct report *r) {
    t->column = calloc(s->list->count, sizeof *t->column);
    t->cell = calloc(s->list->count, sizeof *t->cell);
    if (!t->column || !t->cell)
        return no_memory(s, r);
    for (uint32_t i = 0; i < s->list->count; i++)
        if (is_in(&s->list->array[i], roles))
            t->column[t->columns++] = i;
    put_head(t, names);
    return SHOAL_OK;
}

static shoal_code begin_tables(struct csv_sink *s, struct report *r) {
    struct result_names names;
    shoal_code code =
        result_names_make(&names, s->list, NULL, s->to_stdout ? "standard output" : s->path, r);
    if (code == SHOAL_OK)
        code = begin_table(s, &s->main, main_roles(s->list), &names, r);
    if (code == SHOAL_OK && s->has_runs)
        code = begin_table(s, &s->runs, runs_roles(), &names, r);
    result_names_free(&names);
    return code;
}

static shoal_code csv_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    s->list = list;
    s->main.by_sample = has_samples(list);
    s->has_runs = s->main.by_sample && !s->to_stdout;
    shoal_code code = SHOAL_OK;
    if (!s->to_stdout) {
        code = file_part_open(&s->main.part, s->path, r);
        if (code == SHOAL_OK && s->has_runs)
            code = open_runs(s, r);
        if (code == SHOAL_OK) // at least a digit and a comma each, or it surely does not fit
            code = file_check_space(s->path, bytes_of(list, 2), r);
    }
    return code == SHOAL_OK ? begin_tables(s, r) : code;
}

static shoal_code csv_end(struct sink *sink, bool complete, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    shoal_code code = put_out(s, &s->main, &s->main.head, r);
    if (code == SHOAL_OK && s->has_runs)
        code = put_out(s, &s->runs, &s->runs.head, r);
    if (code == SHOAL_OK && s->has_runs)
        code = file_part_sync(&s->main.part, r); // or the table would be in place alone
    if (code == SHOAL_OK && s->has_runs)
        code = file_part_commit(&s->runs.part, r);
    if (code == SHOAL_OK && !s->to_stdout)
        code = file_part_commit(&s->main.part, r);
    if (code == SHOAL_OK && !complete)
        report_warning(r, "%s: incomplete, with %llu of %llu runs; a CSV file cannot say so itself",
                       s->to_stdout ? "standard output" : s->path, (unsigned long long)s->rows_done,
                       (unsigned long long)s->list->of.rows);
    return code;
}

static void free_table(struct csv_table *t) {
    file_part_discard(&t->part);
    buf_free(&t->head);
    free(t->column);
    free(t->cell);
}

static void csv_free(struct sink *sink) {
    struct csv_sink *s = (struct csv_sink *)sink;
    free_table(&s->main);
    free_table(&s->runs);
    for (int i = 0; i < RANGES_MOST; i++)
        buf_free(&s->range[i]);
    team_free(s->team);
    free(s->path);
    free(s);
}

struct sink *csv_sink_new(const char *path, uint32_t threads) {
    struct csv_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct sink){csv_begin, csv_chunk, csv_end, csv_free};
    s->main.part.fd = s->runs.part.fd = -1;
    s->to_stdout = strcmp(path, "-") == 0;
    s->threads = threads < 1 ? 1 : threads > RANGES_MOST ? RANGES_MOST : threads;
    s->path = strdup(path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}
