// SPDX-License-Identifier: MIT
// shoal_report: one page of HTML about a run, with nothing outside of it.
//
// What was asked, what came out (figures, statuses, numbers), where the time went. It is made of
// the result file alone and of what the caller knows besides. The page is well-formed XML.
#include "base/ascii.h"
#include "base/json.h"
#include "base/number.h"
#include "log/log.h"
#include "plot/data.h"
#include "plot/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_FAILED = 5, FLAME_WIDTH = 900, FLAME_ROW = 18, FLAME_DEPTH = 12 };

struct page {
    struct buf *out;
    struct report *r;
    struct reader *d;
    const shoal_report_facts *facts;
    const char *result;
    struct arena arena;
};

static void put(struct page *g, const char *text) { buf_puts(g->out, text); }

static void put_cell(struct page *g, const char *text, bool number) {
    put(g, number ? "<td class=\"n\">" : "<td>");
    svg_put_text(g->out, text);
    put(g, "</td>");
}

static void put_count(struct page *g, uint64_t count) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    put_cell(g, text, true);
}

static const char *member(struct page *g, const char *name) {
    return g->d->meta ? json_member(&g->arena, g->d->meta, name) : NULL;
}

// ---- What was asked -----------------------------------------------------------------------------

static bool is_word(char c) { return ascii_word(c) || (unsigned char)c > 127; }

static bool is_keyword(const char *word, size_t length) {
    static const char *const words[] = {
        "par",  "param", "const", "number", "init",   "aux",    "observe", "alg",  "if",
        "then", "else",  "sum",   "of",     "shift",  "table",  "set",     "done", "and",
        "or",   "not",   "d",     "dt",     "wiener", "global", "event",   "when", "driver"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && ascii_same_prefix(words[i], word, length))
            return true;
    return false;
}

// How many bytes are one piece, and of which kind: s comment, m number, k keyword, 0 nothing.
static size_t next_piece(const char *p, char *kind) {
    struct decimal number;
    *kind = 0;
    if (*p == '#' || (p[0] == '/' && p[1] == '/')) {
        *kind = 's';
        return strcspn(p, "\n");
    }
    size_t n = number_scan(p, strlen(p), NUMBER_PLAIN, &number);
    if (n) {
        *kind = 'm';
        return n;
    }
    while (is_word(p[n]))
        n++;
    if (is_keyword(p, n) || *p == '@')
        *kind = 'k';
    return n ? n : 1;
}

static void put_model(struct page *g, const char *text) {
    put(g, "<pre>");
    for (const char *p = text; *p;) {
        char kind;
        size_t n = next_piece(p, &kind);
        char *piece = arena_strndup(&g->arena, p, n);
        if (kind)
            buf_printf(g->out, "<span class=\"%c\">", kind);
        svg_put_text(g->out, piece);
        if (kind)
            put(g, "</span>");
        p += n;
    }
    put(g, "</pre>\n");
}

// Lines `name = value` as rows.
static void put_job(struct page *g, const char *job) {
    put(g, "<div "
           "class=\"wide\"><table><thead><tr><th>option</th><th>value</th></tr></thead><tbody>\n");
    for (const char *line = job; *line;) {
        size_t n = strcspn(line, "\n"), name = strcspn(line, "=");
        if (name < n) {
            size_t end = name;
            while (end && line[end - 1] == ' ')
                end--;
            const char *value = line + name + 1;
            value += *value == ' ';
            put(g, "<tr>");
            put_cell(g, arena_strndup(&g->arena, line, end), false);
            put_cell(g, arena_strndup(&g->arena, value, (size_t)(line + n - value)), false);
            put(g, "</tr>\n");
        }
        line += n + (line[n] == '\n');
    }
    put(g, "</tbody></table></div>\n");
}

static void put_asked(struct page *g) {
    const char *model = member(g, "model_text"), *job = member(g, "job");
    model = model ? model : g->facts->model_text;
    put(g, "<h2>What was asked</h2>\n");
    if (g->facts->command) {
        put(g, "<pre class=\"run\">");
        svg_put_text(g->out, g->facts->command);
        put(g, "</pre>\n");
    }
    if (job)
        put_job(g, job);
    if (model) {
        put(g, "<details open=\"open\"><summary>the model</summary>\n");
        put_model(g, model);
        put(g, "</details>\n");
    }
}

// ---- Statuses and numbers -----------------------------------------------------------------------

struct outcome {
    uint64_t runs, by[SHOAL_STATUS_COUNT + 1]; // the last: no status that is known
    uint32_t firsts[SHOAL_STATUS_COUNT + 1];
    double first[SHOAL_STATUS_COUNT + 1][FIRST_FAILED];
};

static void count_rows(struct outcome *o, const double *run, const double *status, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        bool known = status[i] >= 0 && status[i] < SHOAL_STATUS_COUNT;
        int s = known ? (int)status[i] : SHOAL_STATUS_COUNT;
        o->by[s]++;
        if (o->firsts[s] < FIRST_FAILED)
            o->first[s][o->firsts[s]++] = run[i];
    }
    o->runs += rows;
}

static shoal_code count_statuses(struct page *g, struct outcome *o) {
    uint32_t columns[] = {reader_role(g->d, READER_RUN), reader_role(g->d, READER_STATUS)};
    struct reader_pass *pass = NULL;
    size_t rows = 1;
    if (columns[0] == UINT32_MAX || columns[1] == UINT32_MAX)
        return SHOAL_OK;
    shoal_code code = reader_pass_open(g->d, READER_RUNS, columns, 2, &pass, g->r);
    while (!code && rows) {
        const double *const *column;
        code = reader_pass_next(pass, &column, &rows, g->r);
        if (!code)
            count_rows(o, column[0], column[1], rows);
    }
    reader_pass_close(pass);
    return code;
}

static void put_status(struct page *g, const struct outcome *o, int s) {
    bool known = s < SHOAL_STATUS_COUNT;
    put(g, "<tr>");
    put_cell(g, known ? shoal_status_word(s) : "unknown", false);
    put_count(g, o->by[s]);
    put_cell(g, known ? shoal_status_text(s) : "", false);
    put(g, "<td>");
    bool failed = s != SHOAL_STATUS_ok && s != SHOAL_STATUS_stopped;
    for (uint32_t i = 0; i < o->firsts[s] && failed; i++)
        buf_printf(g->out, "%s%.0f", i ? ", " : "", o->first[s][i]);
    put(g, o->firsts[s] < o->by[s] && failed ? ", ...</td>" : "</td>");
    put_cell(g, known ? shoal_status_hint(s) : "", false);
    put(g, "</tr>\n");
}

static void put_statuses(struct page *g, const struct outcome *o) {
    if (!o->runs)
        return;
    put(g, "<h2>How the runs ended</h2>\n<div class=\"wide\"><table><thead><tr>"
           "<th data-sort=\"\">status</th><th class=\"n\" data-sort=\"\">runs</th><th>meaning</th>"
           "<th>first runs</th><th>what to try</th></tr></thead><tbody>\n");
    for (int s = 0; s <= SHOAL_STATUS_COUNT; s++)
        if (o->by[s])
            put_status(g, o, s);
    put(g, "</tbody></table></div>\n");
}

struct numbers {
    uint64_t count, missing;
    double low, high, mean, squares;
};

static void add_numbers(struct numbers *n, const double *values, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        if (!isfinite(values[i])) {
            n->missing++;
            continue;
        }
        double before = values[i] - n->mean;
        n->count++;
        n->mean += before / (double)n->count;
        n->squares += before * (values[i] - n->mean);
        n->low = n->count == 1 || values[i] < n->low ? values[i] : n->low;
        n->high = n->count == 1 || values[i] > n->high ? values[i] : n->high;
    }
}

static void put_number(struct page *g, double value) {
    char text[TICK_ROOM];
    number_short(value, 6, text);
    put_cell(g, isfinite(value) ? text : "-", true);
}

static void put_numbers(struct page *g, const struct reader_column *c, const struct numbers *n) {
    static const char *const roles[] = {"run", "input", "time", "value", "status", "count"};
    bool any = n->count;
    put(g, "<tr>");
    put_cell(g, c->name, false);
    put_cell(g, roles[c->role], false);
    put_count(g, n->count);
    put_count(g, n->missing);
    put_number(g, any ? n->low : (double)NAN);
    put_number(g, any ? n->mean : (double)NAN);
    put_number(g, n->count > 1 ? sqrt(n->squares / (double)(n->count - 1)) : (double)NAN);
    put_number(g, any ? n->high : (double)NAN);
    put(g, "</tr>\n");
}

// Columns of one table from *next on, as many as a pass takes; *next is behind the last.
static shoal_code sum_columns(struct page *g, uint32_t table, uint32_t *next, struct numbers *n) {
    uint32_t columns[READER_COLUMNS], count = 0;
    struct reader_pass *pass = NULL;
    size_t rows = 1;
    for (; *next < g->d->columns.count && count < READER_COLUMNS; ++*next) {
        const struct reader_column *c = &g->d->columns.items[*next];
        if (c->table == table && !c->words && !c->grid)
            columns[count++] = *next;
    }
    if (!count)
        return SHOAL_OK;
    shoal_code code = reader_pass_open(g->d, table, columns, count, &pass, g->r);
    while (!code && rows) {
        const double *const *column;
        code = reader_pass_next(pass, &column, &rows, g->r);
        for (uint32_t i = 0; i < count && !code; i++)
            add_numbers(&n[columns[i]], column[i], rows);
    }
    reader_pass_close(pass);
    return code;
}

static shoal_code put_statistics(struct page *g) {
    struct numbers *n = arena_new(&g->arena, struct numbers, g->d->columns.count);
    shoal_code code = SHOAL_OK;
    for (uint32_t table = 0; table < g->d->tables.count && !code; table++)
        for (uint32_t next = 0; next < g->d->columns.count && !code;)
            code = sum_columns(g, table, &next, n);
    if (code)
        return code;
    put(g, "<h2>Numbers</h2>\n<div class=\"wide\"><table><thead><tr><th data-sort=\"\">name</th>"
           "<th data-sort=\"\">is</th>");
    static const char *const heads[] = {"finite", "not finite", "least",
                                        "mean",   "deviation",  "largest"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        buf_printf(g->out, "<th class=\"n\" data-sort=\"\">%s</th>", heads[i]);
    put(g, "</tr></thead><tbody>\n");
    for (uint32_t i = 0; i < g->d->columns.count; i++) {
        enum reader_role role = g->d->columns.items[i].role;
        if (role != READER_RUN && role != READER_STATUS && (n[i].count || n[i].missing))
            put_numbers(g, &g->d->columns.items[i], &n[i]);
    }
    put(g, "</tbody></table></div>\n");
    return SHOAL_OK;
}

// ---- Figures ------------------------------------------------------------------------------------

// For light and for dark readers; false: it cannot be drawn of this result.
static bool put_figure(struct page *g, shoal_plot_kind kind, int number) {
    struct buf svg[2] = {{0}, {0}};
    char ids[16];
    shoal_plot_options o;
    bool good = true;
    shoal_plot_options_init(&o);
    o.kind = kind;
    for (int dark = 0; dark < 2 && good; dark++) {
        o.dark = dark;
        snprintf(ids, sizeof ids, "f%d%c", number, dark ? 'd' : 'l');
        good = plot_draw(g->result, &o, PLOT_SVG, ids, &svg[dark], NULL) == SHOAL_OK;
    }
    if (good) {
        put(g, "<figure><div class=\"light\">");
        buf_put(g->out, svg[0].data, svg[0].length);
        put(g, "</div><div class=\"dark\">");
        buf_put(g->out, svg[1].data, svg[1].length);
        put(g, "</div></figure>\n");
    }
    buf_free(&svg[0]);
    buf_free(&svg[1]);
    return good;
}

static void put_figures(struct page *g) {
    put(g, "<h2>What came out</h2>\n");
    bool any = put_figure(g, SHOAL_PLOT_AUTO, 0);
    if (g->d->tables.count > 1)
        any = put_figure(g, SHOAL_PLOT_series, 1) || any;
    else
        any = put_figure(g, SHOAL_PLOT_histogram, 1) || any;
    put(g, any ? "<p class=\"soft\">Ctrl and the wheel zoom, dragging moves, a double click "
                 "resets.</p>\n"
               : "<p>Nothing in the file can be drawn.</p>\n");
}

// ---- Times --------------------------------------------------------------------------------------

static int depth_of(const shoal_log *log, const shoal_span *s) {
    int depth = 0;
    for (int32_t p = s->parent; p >= 0 && depth < FLAME_DEPTH; depth++)
        p = shoal_log_span(log, (size_t)p).parent;
    return depth;
}

static void put_span(struct page *g, const shoal_span *s, int row, double total) {
    double x = (double)s->t0_ns / total * FLAME_WIDTH, w = (double)s->dur_ns / total * FLAME_WIDTH;
    if (w < 0.3)
        return;
    put(g, "<g><title>");
    svg_put_text(g->out, s->label);
    buf_printf(g->out,
               ": %llu.%03llu ms</title><rect class=\"%s\" x=\"%.0f\" y=\"%d\" width=\"%.0f\" "
               "height=\"%d\"/>",
               (unsigned long long)(s->dur_ns / 1000000),
               (unsigned long long)(s->dur_ns / 1000 % 1000), shoal_category_name(s->category),
               floor(x), row * FLAME_ROW, ceil(w), FLAME_ROW);
    if (w > 7.0 * (double)strlen(s->label)) {
        buf_printf(g->out, "<text x=\"%.0f\" y=\"%d\">", floor(x) + 4, row * FLAME_ROW + 13);
        svg_put_text(g->out, s->label);
        put(g, "</text>");
    }
    put(g, "</g>\n");
}

static void put_flame(struct page *g, const shoal_log *log, double total) {
    int rows = 1;
    for (size_t i = 0; i < shoal_log_span_count(log); i++) {
        shoal_span s = shoal_log_span(log, i);
        if (s.kind == SHOAL_SPAN && depth_of(log, &s) + 1 > rows)
            rows = depth_of(log, &s) + 1;
    }
    buf_printf(g->out,
               "<figure><svg class=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
               "height=\"%d\" viewBox=\"0 0 %d %d\">\n",
               FLAME_WIDTH, rows * FLAME_ROW, FLAME_WIDTH, rows * FLAME_ROW);
    for (size_t i = 0; i < shoal_log_span_count(log); i++) {
        shoal_span s = shoal_log_span(log, i);
        if (s.kind == SHOAL_SPAN && !s.open)
            put_span(g, &s, depth_of(log, &s), total);
    }
    put(g, "</svg><figcaption>from left to right in time, what was called below its "
           "caller</figcaption>"
           "</figure>\n");
}

static void put_times(struct page *g) {
    const shoal_log *log = g->facts->times;
    uint64_t ns[SHOAL_CATEGORY_COUNT], other, all = 0;
    if (!log || shoal_log_timing(log) == SHOAL_TIMING_NONE)
        return;
    shoal_log_totals(log, ns, &other);
    for (int i = 0; i < SHOAL_CATEGORY_COUNT; i++)
        all += ns[i];
    all += other;
    put(g, "<h2>Where the time went</h2>\n<div class=\"wide\"><table><tbody>\n");
    for (int i = 0; i <= SHOAL_CATEGORY_COUNT; i++) {
        uint64_t part = i < SHOAL_CATEGORY_COUNT ? ns[i] : other;
        buf_printf(g->out, "<tr><td>%s</td><td class=\"n\">%llu.%03llu ms</td></tr>\n",
                   i < SHOAL_CATEGORY_COUNT ? shoal_category_name((shoal_category)i) : "other",
                   (unsigned long long)(part / 1000000), (unsigned long long)(part / 1000 % 1000));
    }
    put(g, "</tbody></table></div>\n");
    if (all)
        put_flame(g, log, (double)all);
}

// ---- The page -----------------------------------------------------------------------------------

static void put_fact(struct page *g, const char *name, const char *value) {
    if (!value)
        return;
    put(g, "<tr>");
    put_cell(g, name, false);
    put_cell(g, value, false);
    put(g, "</tr>\n");
}

static void put_facts(struct page *g) {
    put(g, "<h2>Made by</h2>\n<div class=\"wide\"><table><tbody>\n");
    put_fact(g, "result", g->result);
    put_fact(g, "device", g->facts->device);
    put_fact(g, "Shoal", member(g, "shoal"));
    put_fact(g, "kernel key", member(g, "key"));
    put(g, "</tbody></table></div>\n");
}

static void put_head(struct page *g) {
    const char *model = member(g, "model"), *name = model ? model : g->result;
    const char *slash = strrchr(name, '/'), *title = slash ? slash + 1 : name;
    put(g, "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head>"
           "<meta charset=\"utf-8\"/><meta name=\"viewport\" "
           "content=\"width=device-width,initial-scale=1\"/><title>");
    svg_put_text(g->out, title);
    put(g, "</title>\n<style>\n");
    put(g, page_style);
    put(g, "</style></head><body>\n<h1>");
    svg_put_text(g->out, title);
    put(g, "</h1>\n");
}

static shoal_code put_page(struct page *g, const struct outcome *o) {
    put_head(g);
    buf_printf(g->out, "<p class=\"soft\">%llu runs, %llu ok</p>\n", (unsigned long long)o->runs,
               (unsigned long long)(o->by[SHOAL_STATUS_ok] + o->by[SHOAL_STATUS_stopped]));
    put_figures(g);
    put_statuses(g, o);
    shoal_code code = put_statistics(g);
    put_asked(g);
    put_times(g);
    put_facts(g);
    put(g, "<script>\n");
    put(g, page_program);
    put(g, "</script></body></html>\n");
    return code;
}

shoal_code shoal_report(const char *result, const shoal_report_facts *facts, const char *output,
                        shoal_log *log) {
    struct report *r = log_report(log);
    if (!result || !facts || !output || facts->size != sizeof *facts)
        return report_error(r, SHOAL_USAGE, "shoal_report: no result, no facts or no file for it");
    report_begin(r);
    struct buf out = {0};
    struct outcome o = {0};
    struct page g = {.out = &out, .r = r, .facts = facts, .result = result};
    struct reader *volatile opened = NULL;
    jmp_buf oom;
    shoal_code volatile code = reader_open(result, &g.d, r);
    opened = g.d;
    if (!code && setjmp(oom))
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", output);
    else if (!code) {
        g.arena.oom = &oom;
        code = count_statuses(&g, &o);
        if (!code)
            code = put_page(&g, &o);
        if (!code && out.failed)
            code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", output);
        if (!code)
            code = plot_write(output, &out, r);
    }
    reader_close(opened);
    arena_free(&g.arena);
    buf_free(&out);
    return code;
}
