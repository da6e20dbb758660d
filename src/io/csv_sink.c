// SPDX-License-Identifier: MIT
// Results as CSV: rows in run order, numbers that read back exactly, quoting as in RFC 4180.
//
// One sample a run: `run,<columns>,t,<vars>,status`. Many samples: `run,t,<vars>`, and beside it a
// table of the runs, `run,<columns>,status,steps,rejected,f_evals`: out.csv has out.runs.csv. The
// table is put in place first, so that whoever sees out.csv finds it. On standard output there is
// no place for the second table; it is left out. A CSV file has no metadata: that a run was stopped
// shows only in the number of its rows.
#include "base/file.h"
#include "io/formats.h"
#include "result/result_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FLUSH_BYTES = 1 << 20,
    NUMBER_BYTES = 26, // longest number and its comma
};

struct csv_file {
    struct file_part part; // not used for standard output
    struct buf text;
};

struct csv_sink {
    struct sink sink;
    char *path;
    bool to_stdout, has_runs;
    uint64_t rows_done;
    struct csv_file main, runs;
    struct sink_shape_info info; // its own: shape, counts, value_bytes, times, column
    bool *column_is_text;
    double *times;
};

// ---- Text ---------------------------------------------------------------------------------------

// Makes room for a row of `numbers` numbers, so that put_* need not ask.
static bool room_for(struct buf *b, size_t numbers) {
    size_t more = numbers * NUMBER_BYTES + 64, want = b->length + more;
    if (want <= b->capacity)
        return true;
    size_t capacity = want > FLUSH_BYTES + more ? want * 2 : FLUSH_BYTES + 2 * more;
    char *bigger = realloc(b->data, capacity);
    if (!bigger) {
        b->failed = true;
        return false;
    }
    b->data = bigger;
    b->capacity = capacity;
    return true;
}

static inline void put_char(struct buf *b, char c) { b->data[b->length++] = c; }

static inline void put_uint(struct buf *b, uint64_t n) {
    b->length += io_format_uint(n, b->data + b->length);
}

static inline void put_double(struct buf *b, double x) {
    b->length += io_format_double(x, b->data + b->length);
}

static inline void put_float(struct buf *b, float x) {
    b->length += io_format_float(x, b->data + b->length);
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

static void put_value(struct buf *b, const struct csv_sink *s, const struct sink_chunk *c,
                      size_t at) {
    put_char(b, ',');
    if (s->info.value_bytes == 4)
        put_float(b, ((const float *)c->values)[at]);
    else
        put_double(b, ((const double *)c->values)[at]);
}

// ---- Writing ------------------------------------------------------------------------------------

static shoal_code flush(struct csv_sink *s, struct csv_file *f, size_t keep, struct report *r) {
    if (f->text.failed)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    if (f->text.length < keep)
        return SHOAL_OK;
    int fd = s->to_stdout ? STDOUT_FILENO : f->part.fd;
    const char *name = s->to_stdout ? "standard output" : f->part.part;
    shoal_code code = file_write(fd, name, f->text.data, f->text.length, r);
    f->text.length = 0;
    return code;
}

static void put_names(struct buf *b, const struct result_names *names, uint32_t first,
                      uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        buf_putc(b, ',');
        put_text(b, names->name[i]);
    }
}

static shoal_code put_headers(struct csv_sink *s, const struct sink_shape_info *info,
                              struct report *r) {
    struct buf *b = &s->main.text;
    struct result_names names;
    shoal_code code =
        result_names_make(&names, info, NULL, s->to_stdout ? "standard output" : s->path, r);
    if (code == SHOAL_OK) {
        buf_puts(b, "run");
        put_names(b, &names, 0, info->shape == SINK_FINAL ? names.columns : 0);
        buf_puts(b, ",t");
        put_names(b, &names, names.columns, names.count);
        buf_puts(b, info->shape == SINK_FINAL ? ",status\n" : "\n");
    }
    if (code == SHOAL_OK && s->has_runs) {
        buf_puts(&s->runs.text, "run");
        put_names(&s->runs.text, &names, 0, names.columns);
        buf_puts(&s->runs.text, ",status,steps,rejected,f_evals\n");
    }
    result_names_free(&names);
    return code;
}

char *csv_runs_path(const char *path) {
    size_t stem = strlen(path) - strlen(".csv");
    char *runs = malloc(stem + sizeof ".runs.csv");
    if (runs) {
        memcpy(runs, path, stem);
        memcpy(runs + stem, ".runs.csv", sizeof ".runs.csv");
    }
    return runs;
}

// A line that ends that way, and begins as all of ours do.
static bool is_head(const char *line, size_t length, const char *end) {
    size_t n = strlen(end);
    return length > n && !strncmp(line, "run,", 4) && !memcmp(line + length - n, end, n);
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
    bool is = length && (is_head(text, length, ",status\n") ||
                         is_head(text, length, ",status,steps,rejected,f_evals\n") ||
                         !strncmp(text, "run,t,", 6));
    free(text);
    if (fd >= 0)
        close(fd);
    return is;
}

static shoal_code open_runs(struct csv_sink *s, struct report *r) {
    char *path = csv_runs_path(s->path);
    if (!path)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    shoal_code code = file_part_open(&s->runs.part, path, r);
    free(path);
    return code;
}

// Bytes of the two files when a number takes `number` bytes with its comma.
static uint64_t bytes_of(const struct sink_shape_info *info, uint64_t number) {
    unsigned __int128 numbers = (unsigned __int128)info->rows * (2 + info->columns);
    numbers += (unsigned __int128)info->rows * info->samples * (info->vars + 1);
    if (info->shape != SINK_FINAL)
        numbers += (unsigned __int128)info->rows * (info->samples + 4);
    numbers *= number;
    return numbers > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)numbers;
}

uint64_t csv_bytes(const struct sink_shape_info *info) {
    return bytes_of(info, info->value_bytes == 4 ? 11 : 18); // of numbers with all their digits
}

static shoal_code csv_begin(struct sink *sink, const struct sink_shape_info *info,
                            struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    s->info = *info;
    s->info.times = NULL;
    s->info.column = NULL;
    s->info.var = NULL;
    s->info.meta = NULL;
    s->has_runs = info->shape != SINK_FINAL && !s->to_stdout;
    s->column_is_text = malloc(info->columns + 1);
    s->times = malloc((size_t)info->samples * sizeof(double) + 1);
    if (!s->column_is_text || !s->times)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    for (uint32_t i = 0; i < info->columns; i++)
        s->column_is_text[i] = info->column[i].text;
    if (info->shape == SINK_SERIES)
        memcpy(s->times, info->times, (size_t)info->samples * sizeof(double));
    shoal_code code = SHOAL_OK;
    if (!s->to_stdout) {
        code = file_part_open(&s->main.part, s->path, r);
        if (code == SHOAL_OK && s->has_runs)
            code = open_runs(s, r);
        if (code == SHOAL_OK) // at least a digit and a comma each, or it surely does not fit
            code = file_check_space(s->path, bytes_of(info, 2), r);
    }
    return code == SHOAL_OK ? put_headers(s, info, r) : code;
}

// Leaves room for the rest of the row, or returns false.
static bool put_columns(struct csv_sink *s, struct buf *b, const struct sink_chunk *c,
                        uint32_t row) {
    for (uint32_t i = 0; i < s->info.columns; i++) {
        put_char(b, ',');
        if (s->column_is_text[i]) {
            put_text(b, c->text && c->text[i] ? c->text[i][row] : NULL);
            if (!room_for(b, (size_t)s->info.columns + s->info.vars + 8))
                return false;
        } else
            put_double(b, c->number[i][row]);
    }
    return true;
}

static shoal_code put_final(struct csv_sink *s, const struct sink_chunk *c, struct report *r) {
    struct buf *b = &s->main.text;
    for (uint32_t row = 0; row < c->rows; row++) {
        if (!room_for(b, (size_t)s->info.columns + s->info.vars + 8))
            break;
        put_uint(b, c->run[row]);
        if (!put_columns(s, b, c, row))
            break;
        put_char(b, ',');
        put_double(b, c->t[row]);
        for (uint32_t v = 0; v < s->info.vars; v++)
            put_value(b, s, c, v * c->var_stride + row * c->row_stride);
        put_char(b, ',');
        buf_puts(b, shoal_status_word(c->status[row]));
        buf_putc(b, '\n');
        shoal_code code = flush(s, &s->main, FLUSH_BYTES, r);
        if (code != SHOAL_OK)
            return code;
    }
    return flush(s, &s->main, 0, r);
}

static shoal_code put_samples(struct csv_sink *s, const struct sink_chunk *c, uint32_t row,
                              struct report *r) {
    struct buf *b = &s->main.text;
    bool steps = s->info.shape == SINK_STEPS;
    size_t first = steps ? (size_t)c->offsets[row] : row * c->row_stride;
    size_t stride = steps ? 1 : c->sample_stride;
    uint64_t samples = steps ? c->offsets[row + 1] - c->offsets[row] : s->info.samples;
    const double *t = steps ? c->t + first : s->times;
    for (uint64_t i = 0; i < samples; i++) {
        if (!room_for(b, (size_t)s->info.vars + 4))
            break;
        put_uint(b, c->run[row]);
        put_char(b, ',');
        put_double(b, t[i]);
        for (uint32_t v = 0; v < s->info.vars; v++)
            put_value(b, s, c, v * c->var_stride + first + (size_t)i * stride);
        put_char(b, '\n');
        shoal_code code = flush(s, &s->main, FLUSH_BYTES, r);
        if (code != SHOAL_OK)
            return code;
    }
    return b->failed ? flush(s, &s->main, 0, r) : SHOAL_OK;
}

static shoal_code put_run(struct csv_sink *s, const struct sink_chunk *c, uint32_t row,
                          struct report *r) {
    struct buf *b = &s->runs.text;
    if (!s->has_runs)
        return SHOAL_OK;
    if (room_for(b, (size_t)s->info.columns + 8)) {
        put_uint(b, c->run[row]);
        if (put_columns(s, b, c, row)) {
            put_char(b, ',');
            buf_puts(b, shoal_status_word(c->status[row]));
            buf_printf(b, ",%u,%u,%llu\n", c->steps[row], c->rejected[row],
                       (unsigned long long)c->f_evals[row]);
        }
    }
    return flush(s, &s->runs, FLUSH_BYTES, r);
}

static shoal_code csv_chunk(struct sink *sink, const struct sink_chunk *c, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    s->rows_done += c->rows;
    if (s->info.shape == SINK_FINAL)
        return put_final(s, c, r);
    shoal_code code = SHOAL_OK;
    for (uint32_t row = 0; row < c->rows && code == SHOAL_OK; row++) {
        code = put_samples(s, c, row, r);
        if (code == SHOAL_OK)
            code = put_run(s, c, row, r);
    }
    return code == SHOAL_OK ? flush(s, &s->main, 0, r) : code;
}

static shoal_code csv_end(struct sink *sink, bool complete, struct report *r) {
    struct csv_sink *s = (struct csv_sink *)sink;
    shoal_code code = flush(s, &s->main, 0, r);
    if (code == SHOAL_OK && s->has_runs)
        code = flush(s, &s->runs, 0, r);
    if (code == SHOAL_OK && s->has_runs)
        code = file_part_sync(&s->main.part, r); // or the table would be in place alone
    if (code == SHOAL_OK && s->has_runs)
        code = file_part_commit(&s->runs.part, r);
    if (code == SHOAL_OK && !s->to_stdout)
        code = file_part_commit(&s->main.part, r);
    if (code == SHOAL_OK && !complete)
        report_warning(r, "%s: incomplete, with %llu of %llu runs; a CSV file cannot say so itself",
                       s->to_stdout ? "standard output" : s->path, (unsigned long long)s->rows_done,
                       (unsigned long long)s->info.rows);
    return code;
}

static void csv_free(struct sink *sink) {
    struct csv_sink *s = (struct csv_sink *)sink;
    file_part_discard(&s->main.part);
    file_part_discard(&s->runs.part);
    buf_free(&s->main.text);
    buf_free(&s->runs.text);
    free(s->column_is_text);
    free(s->times);
    free(s->path);
    free(s);
}

struct sink *csv_sink_new(const char *path) {
    struct csv_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct sink){SINK_WANTS_ALL, csv_begin, csv_chunk, csv_end, csv_free};
    s->main.part.fd = s->runs.part.fd = -1;
    s->to_stdout = strcmp(path, "-") == 0;
    s->path = strdup(path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}
