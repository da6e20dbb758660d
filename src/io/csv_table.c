// SPDX-License-Identifier: MIT
// Batch tables from CSV: a line of names, then one row a trajectory.
//
// Fields are separated by commas, or by semicolons or tabs when the line of names has no comma;
// they may be quoted as in RFC 4180. Blanks around fields, a byte order mark, CRLF, blank lines, a
// missing last newline and lines that start with `#` before the names are fine. Columns `run`, `t`
// and `status` are passed over. Columns that start with `_` are numbers when every field is one
// that reads back the same (no quotes, no leading zeros), else text. Everything else must be a
// finite number. All errors are reported with their place, up to what a report holds.
#include "base/ascii.h"
#include "base/file.h"
#include "base/number.h"
#include "io/formats.h"
#include "result/result_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 4096, TEXT_MOST = 4095, ERRORS_MOST = REPORT_MOST - 1 };

enum column_use { USE_NOT, USE_NUMBER, USE_TEXT };

struct column {
    char *name;
    size_t at; // of the name
    enum column_use use;
    bool numeric; // USE_TEXT: all fields so far are numbers
    double *number;
    const char **text; // USE_TEXT
};

struct csv_reader {
    struct source source;
    bool result; // all columns are taken, and numbers need not be finite
    struct report *report;
    struct arena *arena;
    struct table *table;
    size_t at; // next byte
    size_t names_end;
    char separator;
    uint32_t errors, columns;
    struct column *column;
    uint64_t rows, rows_most;
    struct buf scratch;
};

struct field {
    size_t start, length; // without blanks and quotes
    bool quoted;
    bool escaped; // holds doubled quotes
};

static bool too_many(struct csv_reader *c) { return c->errors >= ERRORS_MOST; }

#define ERROR_AT(c, offset, ...)                                                                   \
    do {                                                                                           \
        if ((c)->errors++ < ERRORS_MOST)                                                           \
            report_at((c)->report, SHOAL_ERROR, &(c)->source, (offset), __VA_ARGS__);              \
    } while (0)

// ---- Fields -------------------------------------------------------------------------------------

static bool at_end(const struct csv_reader *c) { return c->at >= c->source.length; }

static char peek(const struct csv_reader *c) { return at_end(c) ? '\n' : c->source.text[c->at]; }

static bool ends_line(char b) { return b == '\n' || b == '\r'; }

static bool is_blank(const struct csv_reader *c, char b) {
    return b == ' ' || (b == '\t' && c->separator != '\t');
}

static void skip_blanks(struct csv_reader *c) {
    while (!at_end(c) && is_blank(c, peek(c)))
        c->at++;
}

static void next_line(struct csv_reader *c) {
    if (peek(c) == '\r')
        c->at++;
    if (peek(c) == '\n')
        c->at++;
}

static bool read_quoted(struct csv_reader *c, struct field *f) {
    size_t quote = c->at++;
    f->quoted = true;
    f->start = c->at;
    for (; !at_end(c); c->at++) {
        if (c->source.text[c->at] != '"')
            continue;
        if (c->at + 1 < c->source.length && c->source.text[c->at + 1] == '"') {
            f->escaped = true;
            c->at++;
            continue;
        }
        f->length = c->at++ - f->start;
        skip_blanks(c);
        if (peek(c) == c->separator || ends_line(peek(c)))
            return true;
        ERROR_AT(c, c->at, "text after a closing quote");
        while (peek(c) != c->separator && !ends_line(peek(c)))
            c->at++;
        return true;
    }
    ERROR_AT(c, quote, "this quote is never closed");
    return false;
}

// Leaves c->at on the separator or line end that follows. False: the file cannot be read on.
static bool read_field(struct csv_reader *c, struct field *f) {
    *f = (struct field){0};
    skip_blanks(c);
    if (!at_end(c) && peek(c) == '"')
        return read_quoted(c, f);
    f->start = c->at;
    while (peek(c) != c->separator && !ends_line(peek(c)))
        c->at++;
    size_t end = c->at;
    while (end > f->start && is_blank(c, c->source.text[end - 1]))
        end--;
    f->length = end - f->start;
    return true;
}

// The text of a field, in the scratch buffer.
static const char *field_text(struct csv_reader *c, const struct field *f) {
    c->scratch.length = 0;
    buf_put(&c->scratch, "", 0);
    for (size_t i = 0; i < f->length; i++) {
        char b = c->source.text[f->start + i];
        if (f->escaped && b == '"')
            i++; // the second of two
        buf_putc(&c->scratch, b);
    }
    return c->scratch.failed ? NULL : c->scratch.data;
}

// For messages: at most 40 bytes of it.
static int shown(const struct field *f) { return f->length < 40 ? (int)f->length : 40; }

// ---- The line of names --------------------------------------------------------------------------

static bool skip_to_names(struct csv_reader *c) {
    const char *text = c->source.text;
    if (c->source.length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        c->at = 3;
    else if (c->source.length >= 2 &&
             (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        ERROR_AT(c, 0, "this is UTF-16; save the table as UTF-8");
        return false;
    }
    while (!at_end(c)) {
        size_t start = c->at;
        while (peek(c) == ' ' || peek(c) == '\t')
            c->at++;
        if (!ends_line(peek(c)) && peek(c) != '#') {
            c->at = start;
            return true;
        }
        while (!ends_line(peek(c)))
            c->at++;
        next_line(c);
    }
    ERROR_AT(c, c->at, "the table is empty: a line of names and one row a trajectory are needed");
    return false;
}

static void find_separator(struct csv_reader *c) {
    bool quoted = false, semicolon = false, tab = false;
    for (size_t i = c->at; i < c->source.length; i++) {
        char b = c->source.text[i];
        if (b == '"')
            quoted = !quoted;
        else if (!quoted && ends_line(b))
            break;
        else if (!quoted && b == ',') {
            c->separator = ',';
            return;
        }
        semicolon |= !quoted && b == ';';
        tab |= !quoted && b == '\t';
    }
    c->separator = semicolon ? ';' : tab ? '\t' : ',';
}

static void check_name(struct csv_reader *c, const struct field *f, const char *name) {
    double ignored;
    if (*name == 0)
        ERROR_AT(c, f->start, "column %u has no name", c->columns + 1);
    else if (strlen(name) != f->length && !f->escaped)
        ERROR_AT(c, f->start, "a name must not hold a zero byte");
    else if (number_all(name, strlen(name), NUMBER_SIGNED, &ignored))
        ERROR_AT(c, f->start, "the first line must name the columns, but '%.40s' is a number",
                 name);
    else if (name[0] != '_' && !f->quoted && strchr(name, ' '))
        ERROR_AT(c, f->start, "'%.40s' is no name; columns are separated by ',', ';' or tabs",
                 name);
    for (uint32_t i = 0; *name && i < c->columns; i++)
        if (strcmp(c->column[i].name, name) == 0) {
            ERROR_AT(c, f->start, "column '%.40s' appears twice", name);
            break;
        }
}

static enum column_use use_of(const struct csv_reader *c, const char *name) {
    if (c->result)
        return *name == '_' || !strcmp(name, RESULT_STATUS) ? USE_TEXT : USE_NUMBER;
    return !result_name_is_read(name, c->table->times) ? USE_NOT
           : *name == '_' || c->table->texts           ? USE_TEXT
                                                       : USE_NUMBER;
}

// False when the names cannot be read on; errors in single names are counted only.
static bool read_names(struct csv_reader *c) {
    for (uint32_t room = 0;; c->at++) {
        struct field f;
        if (!read_field(c, &f))
            return false;
        if (c->columns == COLUMNS_MOST) {
            ERROR_AT(c, f.start, "more than %d columns", COLUMNS_MOST);
            return false;
        }
        if (c->columns == room) {
            room = room ? room * 2 : 16;
            struct column *bigger = realloc(c->column, room * sizeof *bigger);
            if (!bigger)
                return false;
            c->column = bigger;
        }
        const char *name = field_text(c, &f);
        char *copy = name ? strdup(name) : NULL;
        if (!copy)
            return false;
        check_name(c, &f, copy);
        c->column[c->columns++] =
            (struct column){.name = copy, .at = f.start, .use = use_of(c, copy), .numeric = true};
        if (ends_line(peek(c)))
            break;
    }
    c->names_end = c->at;
    next_line(c);
    return true;
}

// ---- Rows ---------------------------------------------------------------------------------------

// Room for as many rows as the rest of the file can hold.
static bool make_room(struct csv_reader *c) {
    uint64_t lines = 1;
    for (size_t i = c->at; i < c->source.length; i++) // CRLF counts twice, which does no harm
        lines += ends_line(c->source.text[i]);
    uint64_t by_length = (c->source.length - c->at) / c->columns + 1; // a row has that many bytes
    c->rows_most = lines < by_length ? lines : by_length;
    c->table->rows = c->rows_most;
    for (uint32_t i = 0; i < c->columns; i++) {
        struct column *k = &c->column[i];
        if (k->use == USE_NOT)
            continue;
        k->number = arena_new(c->arena, double, c->rows_most);
        if (k->use == USE_TEXT)
            k->text = arena_new(c->arena, const char *, c->rows_most);
        if (!k->number || (k->use == USE_TEXT && !k->text))
            return false;
    }
    return true;
}

static bool is_word(const char *text, size_t length, const char *const *words) {
    if (length && (*text == '-' || *text == '+'))
        text++, length--;
    for (; *words; words++)
        if (strlen(*words) == length && ascii_same_prefix(text, *words, length))
            return true;
    return false;
}

static const char *const not_finite[] = {"nan", "inf", "infinity", NULL};

static void explain_no_number(struct csv_reader *c, const struct field *f, const char *name) {
    const char *text = c->source.text + f->start;
    if (f->length == 0)
        ERROR_AT(c, f->start, "no value for %.40s", name);
    else if (is_word(text, f->length, not_finite))
        ERROR_AT(c, f->start, "%.40s is %.*s here; every value must be a finite number", name,
                 shown(f), text);
    else if (memchr(text, ',', f->length))
        ERROR_AT(c, f->start, "'%.*s' for %.40s is not a number; write decimals with a point",
                 shown(f), text, name);
    else
        ERROR_AT(c, f->start, "'%.*s' for %.40s is not a number", shown(f), text, name);
}

static void read_number(struct csv_reader *c, const struct field *f, struct column *k) {
    const char *text = c->source.text + f->start;
    double x;
    if (c->result && is_word(text, f->length, not_finite))
        k->number[c->rows] = memchr("nN", text[strspn(text, "+-")], 2) ? (double)NAN
                             : *text == '-'                            ? -(double)INFINITY
                                                                       : (double)INFINITY;
    else if (!number_all(text, f->length, NUMBER_SIGNED, &x))
        explain_no_number(c, f, k->name);
    else if (isinf(x))
        ERROR_AT(c, f->start, "%.*s for %.40s is too large", shown(f), c->source.text + f->start,
                 k->name);
    else
        k->number[c->rows] = x;
}

// Would the field come out of a number as it went in?
static bool keeps_as_number(const char *text, size_t length, double *x) {
    if (!number_all(text, length, NUMBER_SIGNED, x) || isinf(*x))
        return false;
    size_t sign = *text == '-' || *text == '+';
    bool whole = strspn(text + sign, "0123456789") >= length - sign;
    bool leading_zero = length - sign > 1 && text[sign] == '0' && text[sign + 1] != '.';
    return *text != '+' && !leading_zero && !(whole && length - sign > 15);
}

static bool read_text(struct csv_reader *c, const struct field *f, struct column *k) {
    if (f->length > TEXT_MOST) {
        ERROR_AT(c, f->start, "text longer than %d bytes", TEXT_MOST);
        return true;
    }
    if (memchr(c->source.text + f->start, 0, f->length)) {
        ERROR_AT(c, f->start, "text must not hold a zero byte");
        return true;
    }
    const char *text = field_text(c, f);
    char *copy = text ? arena_strndup(c->arena, text, c->scratch.length) : NULL;
    if (!copy)
        return false;
    k->text[c->rows] = copy;
    if (k->numeric)
        k->numeric = !f->quoted && keeps_as_number(copy, strlen(copy), &k->number[c->rows]);
    return true;
}

// False: out of memory, or the rest cannot be read.
static bool read_row(struct csv_reader *c) {
    size_t start = c->at;
    for (uint32_t i = 0;; i++, c->at++) {
        struct field f;
        if (!read_field(c, &f))
            return false;
        struct column *k = i < c->columns ? &c->column[i] : NULL;
        if (i == c->columns)
            ERROR_AT(c, f.start, "more fields than the %u names", c->columns);
        else if (k && k->use == USE_NUMBER)
            read_number(c, &f, k);
        else if (k && k->use == USE_TEXT && !read_text(c, &f, k))
            return false;
        if (ends_line(peek(c))) {
            if (i + 1 < c->columns)
                ERROR_AT(c, start, "%u fields for %u names", i + 1, c->columns);
            break;
        }
    }
    c->rows++;
    next_line(c);
    return true;
}

static bool read_rows(struct csv_reader *c) {
    while (!at_end(c) && !too_many(c)) {
        size_t start = c->at;
        skip_blanks(c);
        if (ends_line(peek(c))) { // a blank line
            next_line(c);
            continue;
        }
        c->at = start;
        if (c->rows == c->rows_most) { // cannot be: a row needs its bytes
            ERROR_AT(c, c->at, "more rows than lines");
            return false;
        }
        if (!read_row(c))
            return false;
    }
    if (too_many(c))
        report_note(c->report, "%s: further errors are not looked for", c->source.name);
    return true;
}

// ---- Table --------------------------------------------------------------------------------------

static bool hand_over(struct csv_reader *c) {
    struct table *t = c->table;
    t->rows = c->rows;
    t->head = (struct source){.name = t->source,
                              .text = arena_strndup(c->arena, c->source.text, c->names_end),
                              .length = c->names_end};
    if (!t->head.text || !vec_reserve(c->arena, &t->columns, (uint64_t)c->columns))
        return false;
    for (uint32_t i = 0; i < c->columns; i++) {
        const struct column *k = &c->column[i];
        if (k->use == USE_NOT)
            continue;
        char *name = arena_strdup(c->arena, k->name);
        if (!name)
            return false;
        bool text = k->use == USE_TEXT && !k->numeric;
        t->columns.items[t->columns.count++] =
            (struct table_column){.name = name,
                                  .number = text ? NULL : k->number,
                                  .text = text ? k->text : NULL,
                                  .at = k->at};
    }
    return true;
}

static shoal_code read_table(struct csv_reader *c) {
    bool ok = skip_to_names(c);
    if (ok) {
        find_separator(c);
        ok = read_names(c) && make_room(c) && read_rows(c);
    }
    if (c->errors)
        return SHOAL_INPUT;
    if (!ok)
        return SHOAL_MEMORY;
    if (c->rows == 0) {
        ERROR_AT(c, c->source.length, "there are names, but no rows");
        return SHOAL_INPUT;
    }
    return hand_over(c) ? SHOAL_OK : SHOAL_MEMORY;
}

static shoal_code parse(const char *name, const char *text, size_t length, bool result,
                        struct arena *arena, struct table *out, struct report *r) {
    struct csv_reader c = {.source = {name, text, length},
                           .result = result,
                           .report = r,
                           .arena = arena,
                           .table = out,
                           .separator = ','};
    shoal_code code = read_table(&c);
    for (uint32_t i = 0; i < c.columns; i++)
        free(c.column[i].name);
    free(c.column);
    buf_free(&c.scratch);
    return code;
}

static shoal_code csv_table_parse(const char *name, const char *text, size_t length,
                                  struct arena *arena, struct table *out, struct report *r) {
    return parse(name, text, length, false, arena, out, r);
}

static shoal_code read_file(const char *path, bool result, struct arena *arena, struct table *out,
                            struct report *r) {
    char *text = NULL;
    size_t length = 0;
    shoal_code code = file_read(path, SIZE_MAX / 8, &text, &length, r);
    if (code == SHOAL_OK)
        code = parse(path, text, length, result, arena, out, r);
    free(text);
    return code;
}

static shoal_code csv_table_read(const char *path, struct arena *arena, struct table *out,
                                 struct report *r) {
    return read_file(path, false, arena, out, r);
}

shoal_code csv_result_read(const char *path, struct arena *arena, struct table *out,
                           struct report *r) {
    return read_file(path, true, arena, out, r);
}

const struct io_format csv_format = {.name = "CSV",
                                     .endings = {".csv"},
                                     .sink_new = csv_sink_new,
                                     .bytes = csv_bytes,
                                     .look = csv_look,
                                     .merge = csv_merge,
                                     .table_read = csv_table_read,
                                     .reader_open = csv_reader_open,
                                     .table_parse = csv_table_parse,
                                     .ends_read = csv_ends_read,
                                     .is_result = csv_is_result,
                                     .side_path = csv_side_path};
