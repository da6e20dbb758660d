// SPDX-License-Identifier: MIT
// Results as CSV: rows in run order, numbers that read back exactly, quoting as in RFC 4180.
//
// One sample a run: `run,<columns>,t,<vars>,<summaries>,status`, or, where there are summaries and
// no variables, `run,<columns>,<summaries>,status`. Many samples: `run,t,<vars>`, and beside it a
// table of the runs, `run,<columns>,<summaries>,status,steps,rejected,f_evals`: out.csv has
// out.runs.csv. What has a line for each element of a run's is a table of its own: summaries of
// windows are in out.windows.csv, or in out.csv where there is nothing else but the table of runs.
// Tables beside the file are put in place first, so that whoever sees out.csv finds them. On
// standard output there is no place for them; they are left out. A CSV file has no metadata: that a
// run was stopped shows only in the number of its rows, and in its journal (journal.h), from which
// another run goes on: behind the last lines that are as they were written.
//
// Groups of runs have their columns in front instead of `run`, and `failed` at the end instead of
// `status`: `<columns>,<vars>,failed`, `<columns>,t,<vars>,failed`, `<columns>,window,...,failed`.
//
// Lines are written in order, but turned into text by several threads: ranges of them, each into a
// buffer of its own.
#include "base/file.h"
#include "base/team.h"
#include "io/formats.h"
#include "io/journal.h"
#include "result/result_names.h"

#include <fcntl.h>
#include <stdio.h>
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

// What there is a line for: a run, a sample of one, or an element of the arrays of a table.
enum lines_of { BY_RUN, BY_SAMPLE, BY_ELEMENT };

// A table as the list makes it.
struct table_plan {
    const char *word; // out.WORD.csv; NULL: the file itself
    enum lines_of by;
    unsigned heads;    // roles that all tables have, and
    unsigned roles;    // of its own arrays; of those with words of a table only
    const char *of;    // that one's; NULL: those without
    uint64_t elements; // BY_ELEMENT: of a run
};

// What a column shows.
enum column_kind { COLUMN_ARRAY, COLUMN_INDEX, COLUMN_BEGIN, COLUMN_END };
struct column {
    enum column_kind kind;
    uint32_t array; // COLUMN_ARRAY,
    uint64_t item;  // and where lines are not of its elements, which of them
};

// An array as lines need it: its element is at first + row*row + sample*sample + line*line.
struct cell {
    const void *data;
    enum result_type type;
    bool is_status; // a word
    size_t first, row, sample, line;
};

struct csv_table {
    struct table_plan plan;
    struct file_part part; // not used for standard output
    bool again;            // it was there, and is never removed
    uint64_t bytes;        // that are good, while an older one is looked at
    struct buf head;       // until it is written
    uint32_t columns;
    struct column *column;
    struct cell *cell;  // of the chunk
    uint64_t *elements; // BY_ELEMENT: their numbers
};

struct csv_sink {
    struct sink sink;
    char *path;
    bool to_stdout;
    uint64_t rows_done;
    const struct result_list *list;
    struct journal journal;
    uint32_t tables; // the first is the file itself; on standard output there is no other
    struct csv_table *table;
    uint32_t threads;
    struct team *team;
    struct buf range[RANGES_MOST];
};

// ---- Tables -------------------------------------------------------------------------------------

enum {
    OF_VALUES = 1u << ROLE_RUN | 1u << ROLE_TIME | 1u << ROLE_STATE | 1u << ROLE_OBSERVABLE,
    OF_RUNS = 1u << ROLE_RUN | 1u << ROLE_INPUT | 1u << ROLE_SUMMARY | 1u << ROLE_STATUS |
              1u << ROLE_COUNTER,
    OF_ELEMENTS = 1u << ROLE_SUMMARY | 1u << ROLE_RECORD,
    OF_GROUPS = 1u << ROLE_INPUT | 1u << ROLE_FAILED,
};

static bool has_samples(const struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].axes == AXES_PER_SAMPLE || list->array[i].axes == AXES_FLAT)
            return true;
    return false;
}

// What all tables hold.
static unsigned heads_of(const struct result_list *list) {
    return list->of.reduced ? OF_GROUPS : 1u << ROLE_RUN;
}

// Whether there are summaries with one line a run.
static bool has_summaries(const struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].role == ROLE_SUMMARY && !list->array[i].words.table)
            return true;
    return false;
}

static bool has_variables(const struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (result_is_variable(&list->array[i]))
            return true;
    return false;
}

// What a line of the file itself holds, where it is a run; summaries alone have no time.
static unsigned roles_of_run(const struct result_list *list) {
    bool timed = has_variables(list) || !has_summaries(list);
    return timed ? OF_VALUES | OF_RUNS : OF_RUNS;
}

// The first array with summaries of windows, or NULL.
static const struct result_array *first_windowed(const struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].role == ROLE_SUMMARY && list->array[i].words.table)
            return &list->array[i];
    return NULL;
}

static struct table_plan plan_elements(const struct result_list *list, const struct result_array *a,
                                       const char *word) {
    return (struct table_plan){
        .word = word,
        .by = BY_ELEMENT,
        .heads = heads_of(list),
        .roles = OF_ELEMENTS,
        .of = a->words.table,
        .elements = a->axis[0],
    };
}

static bool is_planned(const struct table_plan *plan, uint32_t count, const char *of) {
    for (uint32_t i = 0; i < count; i++)
        if (plan[i].of && !strcmp(plan[i].of, of))
            return true;
    return false;
}

// Room for as many as the list has arrays, and two, is enough.
static uint32_t plan_tables(const struct result_list *list, struct table_plan *out) {
    const struct result_array *windowed = first_windowed(list);
    bool series = has_samples(list),
         bare = !series && windowed && !has_variables(list) && !has_summaries(list);
    uint32_t n = 0;
    if (bare)
        out[n++] = plan_elements(list, windowed, NULL);
    else
        out[n++] = (struct table_plan){.by = series ? BY_SAMPLE : BY_RUN,
                                       .heads = heads_of(list),
                                       .roles = series ? OF_VALUES : roles_of_run(list)};
    if (list->of.reduced ? series && has_summaries(list) : series || bare)
        out[n++] = (struct table_plan){
            .word = "runs", .heads = heads_of(list), .roles = OF_RUNS | 1u << ROLE_COUNT};
    for (uint32_t i = 0; i < list->count; i++) {
        const char *of = list->array[i].words.table;
        if (of && !is_planned(out, n, of))
            out[n++] = plan_elements(list, &list->array[i], of);
    }
    return n;
}

uint32_t csv_tables(const struct result_list *list, const char **word) {
    struct table_plan *plan = calloc((size_t)list->count + 2, sizeof *plan);
    uint32_t tables = plan ? plan_tables(list, plan) : 0;
    for (uint32_t i = 0; i < tables; i++)
        word[i] = plan[i].word;
    free(plan);
    return tables;
}

static bool is_in(const struct result_array *a, const struct table_plan *t) {
    const char *of = a->words.table;
    if (t->heads >> a->role & 1)
        return true;
    return t->roles >> a->role & 1 && (of && t->of ? !strcmp(of, t->of) : of == t->of);
}

// Columns of an array in a table.
static uint64_t columns_of(const struct result_list *list, const struct result_array *a,
                           const struct table_plan *t) {
    if (!is_in(a, t))
        return 0;
    if (a->axes != AXES_WIDE)
        return 1;
    return t->by == BY_ELEMENT ? a->axis[1] ? a->axis[1] : 1 : result_width(list, a);
}

// Whether its lines are windows.
static bool is_windows(const struct result_list *list, const struct table_plan *t) {
    const struct result_array *a = first_windowed(list);
    return a && t->of && !strcmp(a->words.table, t->of);
}

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
        size_t at = c->first + p->row * c->row + p->sample * c->sample + p->line * c->line;
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
    uint64_t samples; // or elements of a run, where all have the same
    struct buf *range;
    uint64_t first, end, each; // lines of all ranges, and of one
};

// Lines of a run, where all have the same number.
static uint64_t lines_of_run(const struct result_list *list, const struct table_plan *t) {
    return t->by == BY_RUN ? 1 : t->by == BY_SAMPLE ? list->of.samples : t->elements;
}

static uint64_t count_lines(const struct csv_sink *s, const struct csv_table *t,
                            const struct result_chunk *c) {
    return t->plan.by == BY_SAMPLE && c->offsets ? c->offsets[c->rows]
                                                 : c->rows * lines_of_run(s->list, &t->plan);
}

// Whether runs have lines of their own number.
static bool is_uneven(const struct lines *l) {
    return l->table->plan.by == BY_SAMPLE && l->chunk->offsets;
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
    if (!is_uneven(l))
        return (struct spot){line, line / l->samples, line % l->samples};
    uint64_t row = row_of(c, line);
    return (struct spot){line, row, line - c->offsets[row]};
}

// To the next line; runs without a sample have none.
static void step(const struct lines *l, struct spot *p) {
    const uint64_t *offsets = l->chunk->offsets;
    p->line++;
    p->sample++;
    if (!is_uneven(l)) {
        if (p->sample == l->samples)
            p->row++, p->sample = 0;
    } else {
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

static struct cell cell_of_wide(const struct csv_table *t, const struct result_array *a,
                                const struct result_view *v, uint64_t item) {
    size_t inner = a->axis[1] ? (size_t)a->axis[1] : 1;
    return (struct cell){.data = v->data,
                         .type = a->type,
                         .first = (size_t)item * v->sample_stride,
                         .row = v->row_stride,
                         .sample = t->plan.by == BY_ELEMENT ? inner * v->sample_stride : 0};
}

static struct cell cell_of_array(const struct csv_sink *s, const struct csv_table *t,
                                 const struct result_chunk *c, const struct column *column) {
    const struct result_array *a = &s->list->array[column->array];
    const struct result_view *v = &c->view[column->array];
    struct cell out = {.data = v->data, .type = a->type, .is_status = a->role == ROLE_STATUS};
    if (a->axes == AXES_WIDE)
        return cell_of_wide(t, a, v, column->item);
    if (a->axes == AXES_GRID) {
        out.data = a->known;
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

static struct cell cell_of(const struct csv_sink *s, const struct csv_table *t,
                           const struct result_chunk *c, const struct column *column) {
    struct cell edges = {.data = s->list->of.edges, .type = TYPE_F64, .sample = 1};
    switch (column->kind) {
    case COLUMN_INDEX:
        return (struct cell){.data = t->elements, .type = TYPE_U64, .sample = 1};
    case COLUMN_END:
        edges.first = 1;
        return edges;
    case COLUMN_BEGIN:
        return edges;
    case COLUMN_ARRAY:
        break;
    }
    return cell_of_array(s, t, c, column);
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
    if (!s->to_stdout)
        journal_put(&s->journal, (uint32_t)(t - s->table), b->data, b->length);
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
        t->cell[i] = cell_of(s, t, c, &t->column[i]);
    struct lines l = {.table = t,
                      .chunk = c,
                      .samples = lines_of_run(s->list, &t->plan),
                      .range = s->range,
                      .end = count_lines(s, t, c)};
    shoal_code code = put_out(s, t, &t->head, r);
    while (code == SHOAL_OK && l.first < l.end)
        code = put_round(s, t, &l, r);
    return code;
}

static shoal_code csv_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    uint64_t first = s->rows_done;
    s->rows_done += c->rows;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < s->tables && code == SHOAL_OK; i++)
        code = put_chunk(s, &s->table[i], c, r);
    return code == SHOAL_OK && !s->to_stdout ? journal_range(&s->journal, c, first, r) : code;
}

// ---- Files --------------------------------------------------------------------------------------

char *csv_side_path(const char *path, const char *word) {
    int stem = (int)(strlen(path) - strlen(".csv"));
    char *side = NULL;
    return asprintf(&side, "%.*s.%s.csv", stem, path, word) < 0 ? NULL : side;
}

// Names of the arrays that every result has, each behind a comma.
static void put_ours(struct buf *b, const struct result_list *list, unsigned roles) {
    for (uint32_t i = 0; i < list->count; i++)
        if (roles >> list->array[i].role & 1)
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

#define WINDOW_COLUMN ",window"
#define WINDOW_COLUMNS WINDOW_COLUMN ",t_begin,t_end"
#define INDEX_COLUMN ",index"

// Of a table with a line for each element of a run's.
static bool is_elements_head(const char *line, const struct result_list *list) {
    const char *run = list->array[0].name;
    size_t n = strlen(run);
    return !strncmp(line, run, n) &&
           (!strncmp(line + n, WINDOW_COLUMNS ",", strlen(WINDOW_COLUMNS ",")) ||
            !strncmp(line + n, INDEX_COLUMN ",", strlen(INDEX_COLUMN ",")));
}

static bool ends_with(const char *line, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && !memcmp(line + length - n, end, n);
}

// Of a table of values, of a result of one sample a run, of a table of runs, of their elements, or
// of groups.
static bool is_any_head(const char *line, size_t length) {
    struct arena arena = {0};
    struct result_list list;
    unsigned run = 1u << ROLE_RUN, status = 1u << ROLE_STATUS, counter = 1u << ROLE_COUNTER;
    if (ends_with(line, length, ".n," RESULT_FAILED "\n"))
        return true;
    bool is = result_list_make(&list, &(struct result_spec){.counters = true}, &arena) &&
              (is_made_of(line, length, &list, run | 1u << ROLE_TIME, 0) ||
               is_made_of(line, length, &list, run, status) ||
               is_made_of(line, length, &list, run, status | 1u << ROLE_COUNT) ||
               is_made_of(line, length, &list, run, status | counter) ||
               is_made_of(line, length, &list, run, status | counter | 1u << ROLE_COUNT) ||
               is_elements_head(line, &list));
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

// The place of a table; malloc'ed, NULL: no memory.
static char *path_of(const struct csv_sink *s, const struct csv_table *t) {
    return t->plan.word ? csv_side_path(s->path, t->plan.word) : strdup(s->path);
}

// A new one; or, with `again`, the one that is there, if it is.
static shoal_code open_table(struct csv_sink *s, struct csv_table *t, bool again,
                             struct report *r) {
    char *path = path_of(s, t);
    if (!path)
        return no_memory(s, r);
    shoal_code code = again ? file_part_find(&t->part, path, &t->again, r) : SHOAL_OK;
    if (code == SHOAL_OK && !t->again)
        code = file_part_open(&t->part, path, r);
    free(path);
    return code;
}

// Numbers in a table.
static unsigned __int128 numbers_of(const struct result_list *list, const struct table_plan *t) {
    uint64_t columns = 0;
    for (uint32_t i = 0; i < list->count; i++)
        columns += columns_of(list, &list->array[i], t);
    return (unsigned __int128)list->of.rows * lines_of_run(list, t) * columns;
}

// Bytes of all files when a number takes `number` bytes with its comma.
static uint64_t bytes_of(const struct result_list *list, uint64_t number) {
    struct table_plan *plan = calloc((size_t)list->count + 2, sizeof *plan);
    uint32_t tables = plan ? plan_tables(list, plan) : 0;
    unsigned __int128 bytes = 0;
    for (uint32_t i = 0; i < tables; i++)
        bytes += numbers_of(list, &plan[i]) * number;
    free(plan);
    return bytes > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)bytes;
}

uint64_t csv_bytes(const struct result_list *list) {
    return bytes_of(list, list->of.f32 ? 11 : 18); // of numbers with all their digits
}

// ---- Columns ------------------------------------------------------------------------------------

static void put_name(struct csv_table *t, const struct result_list *list,
                     const struct result_names *names, const struct column *c) {
    const struct result_array *a = &list->array[c->array];
    const char *name = names->name[c->array], *stem = a->words.stem;
    uint64_t columns = columns_of(list, a, &t->plan);
    if (a->axes != AXES_WIDE || (t->plan.by == BY_ELEMENT && !a->axis[1])) {
        put_text(&t->head, a->axes == AXES_WIDE && stem && !a->words.tail ? stem : name);
        return;
    }
    struct buf text = {0};
    buf_printf(&text, "%s%s", stem ? stem : name, stem ? "" : ".");
    if (a->words.open && (c->item == 0 || c->item == columns - 1))
        buf_puts(&text, c->item ? "above" : "below");
    else
        buf_printf(&text, "%llu", (unsigned long long)c->item + !a->words.open);
    if (a->words.tail)
        buf_puts(&text, a->words.tail);
    put_text(&t->head, text.failed ? NULL : text.data);
    t->head.failed |= text.failed;
    buf_free(&text);
}

// Groups do not name the ends of their windows.
static const char *index_columns(const struct result_list *list, const struct table_plan *t) {
    return !is_windows(list, t) ? INDEX_COLUMN : list->of.reduced ? WINDOW_COLUMN : WINDOW_COLUMNS;
}

static void put_head(const struct csv_sink *s, struct csv_table *t,
                     const struct result_names *names) {
    for (uint32_t i = 0; i < t->columns; i++) {
        if (t->column[i].kind == COLUMN_INDEX)
            buf_puts(&t->head, index_columns(s->list, &t->plan) + !i);
        if (t->column[i].kind != COLUMN_ARRAY)
            continue; // is there now
        if (i)
            buf_putc(&t->head, ',');
        put_name(t, s->list, names, &t->column[i]);
    }
    buf_putc(&t->head, '\n');
}

static void add_column(struct csv_table *t, enum column_kind kind, uint32_t array, uint64_t item) {
    t->column[t->columns++] = (struct column){kind, array, item};
}

static void add_index(const struct csv_sink *s, struct csv_table *t) {
    add_column(t, COLUMN_INDEX, 0, 0);
    if (is_windows(s->list, &t->plan) && !s->list->of.reduced) {
        add_column(t, COLUMN_BEGIN, 0, 0);
        add_column(t, COLUMN_END, 0, 0);
    }
}

// Which element it is stands before the first of those who have such.
static void add_columns(const struct csv_sink *s, struct csv_table *t) {
    bool indexed = t->plan.by != BY_ELEMENT;
    for (uint32_t i = 0; i < s->list->count; i++) {
        const struct result_array *a = &s->list->array[i];
        uint64_t columns = columns_of(s->list, a, &t->plan);
        if (columns && !indexed && !(t->plan.heads >> a->role & 1)) {
            add_index(s, t);
            indexed = true;
        }
        for (uint64_t k = 0; k < columns; k++)
            add_column(t, COLUMN_ARRAY, i, k);
    }
}

// The columns of a table, and its first line.
static shoal_code begin_table(struct csv_sink *s, struct csv_table *t,
                              const struct result_names *names, struct report *r) {
    uint64_t columns = 3; // besides arrays
    for (uint32_t i = 0; i < s->list->count; i++)
        columns += columns_of(s->list, &s->list->array[i], &t->plan);
    t->column = calloc(columns, sizeof *t->column);
    t->cell = calloc(columns, sizeof *t->cell);
    t->elements = calloc(t->plan.elements + 1, sizeof *t->elements);
    if (columns > UINT32_MAX || !t->column || !t->cell || !t->elements)
        return no_memory(s, r);
    for (uint64_t i = 0; i < t->plan.elements; i++)
        t->elements[i] = i;
    add_columns(s, t);
    put_head(s, t, names);
    return SHOAL_OK;
}

static shoal_code begin_tables(struct csv_sink *s, struct report *r) {
    struct result_names names;
    shoal_code code =
        result_names_make(&names, s->list, NULL, s->to_stdout ? "standard output" : s->path, r);
    for (uint32_t i = 0; i < s->tables && code == SHOAL_OK; i++)
        code = begin_table(s, &s->table[i], &names, r);
    result_names_free(&names);
    return code;
}

// Standard output has one table only; a series by itself is what people expect there.
static void note_left_out(const struct csv_sink *s, const struct table_plan *plan, uint32_t count,
                          struct report *r) {
    bool more = false;
    struct buf words = {0};
    for (uint32_t i = 0; i < s->list->count; i++)
        more |= result_is_more(&s->list->array[i]);
    for (uint32_t i = 1; i < count && more; i++)
        buf_printf(&words, "%s%s", i > 1 ? ", " : "", plan[i].word);
    if (words.length && !words.failed)
        report_note(r, "standard output has one table; left out: %s; -o FILE writes all",
                    words.data);
    buf_free(&words);
}

static shoal_code plan_all(struct csv_sink *s, struct report *r) {
    struct table_plan *plan = calloc((size_t)s->list->count + 2, sizeof *plan);
    uint32_t tables = plan ? plan_tables(s->list, plan) : 0;
    s->table = calloc((size_t)tables + 1, sizeof *s->table);
    s->tables = s->to_stdout ? 1 : tables;
    for (uint32_t i = 0; plan && s->table && i < s->tables; i++)
        s->table[i] = (struct csv_table){.plan = plan[i], .part.fd = -1};
    if (plan && s->to_stdout)
        note_left_out(s, plan, tables, r);
    shoal_code code = plan && s->table ? SHOAL_OK : no_memory(s, r);
    if (code != SHOAL_OK)
        s->tables = 0;
    free(plan);
    return code;
}

// ---- Begin --------------------------------------------------------------------------------------

static shoal_code begin_new(struct csv_sink *s, struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < s->tables && code == SHOAL_OK; i++)
        code = open_table(s, &s->table[i], false, r);
    if (code == SHOAL_OK) // at least a digit and a comma each, or it does not fit
        code = file_check_space(s->path, bytes_of(s->list, 2), r);
    return code == SHOAL_OK ? journal_begin(&s->journal, s->sink.order, s->list, s->tables,
                                            s->table[0].part.part, r)
                            : code;
}

static bool look(void *user, const struct journal_range *g) {
    struct csv_sink *s = user;
    if (g->rows > s->list->of.rows - g->first)
        return false;
    for (uint32_t i = 0; i < s->tables; i++)
        if (!journal_same(s->table[i].part.fd, s->table[i].bytes, &g->stream[i]))
            return false;
    for (uint32_t i = 0; i < s->tables; i++)
        s->table[i].bytes += g->stream[i].bytes;
    return true;
}

// Cuts off what is behind the lines that are good.
static shoal_code cut(struct csv_table *t, struct report *r) {
    if (ftruncate(t->part.fd, (off_t)t->bytes) < 0 ||
        lseek(t->part.fd, (off_t)t->bytes, SEEK_SET) < 0)
        return report_error(r, SHOAL_IO, "%s: cannot be cut", t->part.part);
    if (t->bytes)
        t->head.length = 0; // which is there
    return SHOAL_OK;
}

static shoal_code begin_again(struct csv_sink *s, struct journal_reader *d, struct report *r) {
    struct journal_found found = {0};
    struct file_part **part = calloc(s->tables, sizeof *part);
    shoal_code code = part ? SHOAL_OK : no_memory(s, r);
    s->table[0].again = true;
    for (uint32_t i = 1; i < s->tables && code == SHOAL_OK; i++)
        code = open_table(s, &s->table[i], true, r);
    for (uint32_t i = 0; part && i < s->tables; i++)
        part[i] = &s->table[i].part;
    if (code == SHOAL_OK)
        code = journal_resume(&s->journal, d, s->sink.order, s->list, s->tables, part, s->tables,
                              look, s, &found, r);
    for (uint32_t i = 0; i < s->tables && code == SHOAL_OK; i++)
        code = cut(&s->table[i], r);
    s->rows_done = found.there.rows;
    s->sink.there = found.there;
    journal_found_free(&found);
    free(part);
    return code;
}

static shoal_code begin_files(struct csv_sink *s, struct report *r) {
    struct journal_reader d;
    bool found = false;
    int file[JOURNAL_FILES];
    shoal_code code = journal_take(&d, s->sink.order, s->path, &s->table[0].part, &found, r);
    if (code == SHOAL_OK)
        code = found ? begin_again(s, &d, r) : begin_new(s, r);
    journal_reader_close(&d);
    uint32_t files = s->tables < JOURNAL_FILES ? s->tables : JOURNAL_FILES;
    for (uint32_t i = 0; i < files; i++)
        file[i] = s->table[i].part.fd;
    if (code == SHOAL_OK)
        journal_watch(&s->journal, file, files, r);
    return code;
}

static shoal_code csv_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    s->list = list;
    shoal_code code = plan_all(s, r);
    if (code == SHOAL_OK)
        code = begin_tables(s, r);
    return code == SHOAL_OK && !s->to_stdout ? begin_files(s, r) : code;
}

// ---- End ----------------------------------------------------------------------------------------

// All are made safe first, or some would be in place alone; the file itself is put in place last.
static shoal_code commit_tables(struct csv_sink *s, bool complete, struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < s->tables && code == SHOAL_OK; i++)
        code = file_part_sync(&s->table[i].part, r);
    if (code == SHOAL_OK)
        code = journal_seal(&s->journal, s->table[0].part.path, complete, r);
    for (uint32_t i = s->tables; i-- > 0 && code == SHOAL_OK;)
        code = file_part_commit(&s->table[i].part, r);
    if (code == SHOAL_OK)
        journal_end(&s->journal, complete);
    return code;
}

static shoal_code csv_end(struct sink *sink, bool complete, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < s->tables && code == SHOAL_OK; i++)
        code = put_out(s, &s->table[i], &s->table[i].head, r);
    if (code == SHOAL_OK && !s->to_stdout)
        code = commit_tables(s, complete, r);
    if (code == SHOAL_OK && !complete && s->list->of.reduced)
        report_warning(r,
                       "%s: incomplete, without some of the runs; a CSV file cannot say so itself",
                       s->to_stdout ? "standard output" : s->path);
    else if (code == SHOAL_OK && !complete)
        report_warning(r, "%s: incomplete, with %llu of %llu runs; a CSV file cannot say so itself",
                       s->to_stdout ? "standard output" : s->path, (unsigned long long)s->rows_done,
                       (unsigned long long)s->list->of.rows);
    return code;
}

static void free_table(struct csv_table *t, bool kept) {
    (kept || t->again ? file_part_leave : file_part_discard)(&t->part);
    buf_free(&t->head);
    free(t->column);
    free(t->cell);
    free(t->elements);
}

static void csv_free(struct sink *sink) {
    struct csv_sink *s = (struct csv_sink *)sink;
    bool kept = journal_close(&s->journal);
    for (uint32_t i = 0; i < s->tables; i++)
        free_table(&s->table[i], kept);
    free(s->table);
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
    s->sink = (struct sink){.begin = csv_begin,
                            .chunk = csv_chunk,
                            .end = csv_end,
                            .free = csv_free,
                            .journal = &s->journal};
    s->journal.fd = -1;
    s->to_stdout = strcmp(path, "-") == 0;
    s->threads = threads < 1 ? 1 : threads > RANGES_MOST ? RANGES_MOST : threads;
    s->path = strdup(path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}
