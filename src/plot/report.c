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

// The page stays below 2 MB: what is large is cut, or drawn as pixels.
enum {
    FIRST_FAILED = 5,
    SVG_MOST = 168 << 10, // of a drawing,
    PNG_MOST = 108 << 10, // before it is text
    FIGURES_MOST = 1500 << 10,
    MODEL_MOST = 200 << 10,
    VALUE_MOST = 2 << 10,
    COLUMNS_MOST = 1000,
    SUMS_MOST = 200,
};

struct page {
    struct buf *out;
    struct report *r;
    struct reader *d;
    const shoal_report_facts *facts;
    const char *result;
    uint32_t figure; // how many there are,
    size_t figures;  // and their bytes
    struct arena arena;
};

static void put(struct page *g, const char *text) { buf_puts(g->out, text); }

static void put_cell(struct page *g, const char *text, bool number) {
    put(g, number ? "<td class=\"n\">" : "<td>");
    svg_put_text(g->out, text);
    put(g, "</td>");
}

// A text that may be long.
static void put_short(struct page *g, const char *text, size_t most) {
    size_t length = strlen(text);
    while (length > most && most && (text[most] & 0xc0) == 0x80) // not inside of a character
        most--;
    svg_put_text(g->out, length > most ? arena_strndup(&g->arena, text, most) : text);
    if (length > most)
        buf_printf(g->out, " ... (%zu more bytes)", length - most);
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
    if (strlen(text) > MODEL_MOST) {
        put_short(g, text, MODEL_MOST);
        text = "";
    }
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

// Whether the value is what the table of options gives as the default.
static bool is_default(const char *name, const char *value) {
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (!strcmp(o.name, name))
            return !strcmp(o.default_text, value);
    }
    return false;
}

static void put_option(struct page *g, const char *name, const char *value) {
    put(g, "<tr>");
    put_cell(g, name, false);
    put(g, "<td>");
    put_short(g, value, VALUE_MOST);
    put(g, "</td></tr>\n");
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
            const char *from = line + name + 1, *option = arena_strndup(&g->arena, line, end);
            from += *from == ' ';
            const char *value = arena_strndup(&g->arena, from, (size_t)(line + n - from));
            if (!is_default(option, value))
                put_option(g, option, value);
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
        put_short(g, g->facts->command, MODEL_MOST);
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
    put(g, o->firsts[s] < o->by[s] && failed ? ", ...</td><td>" : "</td><td>");
    svg_put_text(g->out, known ? shoal_status_hint(s) : "");
    if (failed && o->firsts[s]) // one of them again
        buf_printf(g->out, "%s<code>--only-runs %.0f</code>",
                   known && shoal_status_hint(s)[0] ? "; " : "", o->first[s][0]);
    put(g, "</td></tr>\n");
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
    uint32_t shown = 0;
    for (uint32_t i = 0; i < g->d->columns.count; i++) {
        enum reader_role role = g->d->columns.items[i].role;
        if (role == READER_RUN || role == READER_STATUS || !(n[i].count || n[i].missing))
            continue;
        if (shown++ < COLUMNS_MOST)
            put_numbers(g, &g->d->columns.items[i], &n[i]);
    }
    put(g, "</tbody></table></div>\n");
    if (shown > COLUMNS_MOST)
        buf_printf(g->out, "<p class=\"soft\">and %u more</p>\n", shown - COLUMNS_MOST);
    return SHOAL_OK;
}

// ---- Figures ------------------------------------------------------------------------------------

static uint32_t read_be(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

// A PNG as an SVG that holds nothing else, so that it can be zoomed into as others can.
static void put_pixels(const struct buf *png, double scale, struct buf *out) {
    double width = read_be(png->data + 16) * scale, height = read_be(png->data + 20) * scale;
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\"><title>a figure of the result</title><image "
               "width=\"%.0f\" height=\"%.0f\" href=\"data:image/png;base64,",
               width, height, width, height, width, height);
    svg_put_base64(out, (const unsigned char *)png->data, png->length);
    buf_puts(out, "\"/></svg>\n");
}

// One drawing: of lines and letters, or, where that is long, of pixels, as many as there is room
// for.
static bool put_drawing(const struct plot_source *from, shoal_plot_options *o, const char *ids,
                        struct buf *out) {
    static const double dpis[] = {96, 72, 54, 40};
    struct buf png = {0};
    if (plot_draw(from, o, PLOT_SVG, ids, out, NULL) != SHOAL_OK)
        return false;
    if (out->length <= SVG_MOST)
        return true;
    bool good = true;
    for (size_t i = 0; good && i < sizeof dpis / sizeof *dpis; i++) {
        o->dpi = dpis[i];
        png.length = 0;
        good = plot_draw(from, o, PLOT_PNG, ids, &png, NULL) == SHOAL_OK && !png.failed;
        if (good && png.length <= PNG_MOST)
            break;
    }
    out->length = 0;
    if (good)
        put_pixels(&png, 96 / o->dpi, out);
    buf_free(&png);
    return good;
}

// For light and dark readers, and for wide and narrow windows; false: it cannot be drawn.
static bool put_figure(struct page *g, const struct plot_source *from, shoal_plot_kind kind,
                       const char *title) {
    static const char *const classes[] = {"light wide-only", "dark wide-only", "light narrow-only",
                                          "dark narrow-only"};
    struct buf all = {0};
    bool good = true;
    for (int i = 0; i < 4 && good; i++) {
        struct buf one = {0};
        char ids[16];
        shoal_plot_options o;
        shoal_plot_options_init(&o);
        o.kind = kind;
        o.title = title;
        o.dark = i & 1;
        o.width = i & 2 ? 400 : 900;
        o.height = from->log ? 0 : i & 2 ? 340 : 560;
        snprintf(ids, sizeof ids, "f%u%c", g->figure, "abcd"[i]);
        good = put_drawing(from, &o, ids, &one);
        buf_printf(&all, "<div class=\"%s\">", classes[i]);
        buf_put(&all, one.data, good ? one.length : 0);
        buf_puts(&all, "</div>");
        buf_free(&one);
    }
    good = good && !all.failed && g->figures + all.length <= FIGURES_MOST;
    if (good) {
        put(g, "<figure>");
        buf_put(g->out, all.data, all.length);
        put(g, "</figure>\n");
        g->figures += all.length;
        g->figure++;
    }
    buf_free(&all);
    return good;
}

// The table of samples, or 0.
static uint32_t find_samples(const struct page *g) {
    for (uint32_t i = 1; i < g->d->tables.count; i++)
        if (!strcmp(g->d->tables.items[i].name, "t"))
            return i;
    return 0;
}

// What is shown besides the figure that is chosen: samples of some runs, where that is no series
// already; how often final values occur; events.
static bool put_more_figures(struct page *g, const struct outcome *o,
                             const struct plot_source *from) {
    uint32_t samples = find_samples(g);
    bool is_series = samples && (o->runs <= LINES_MOST || !g->d->tables.items[samples].per_run);
    bool has_values = samples, any = false;
    for (uint32_t i = 0; i < g->d->columns.count; i++)
        has_values = has_values || (g->d->columns.items[i].table == READER_RUNS &&
                                    g->d->columns.items[i].role == READER_VALUE);
    if (samples && !is_series)
        any = put_figure(g, from, SHOAL_PLOT_series, NULL);
    else if (g->d->tables.count == 1)
        any = put_figure(g, from, SHOAL_PLOT_histogram, NULL);
    if (has_values && g->d->tables.count > 1) // else they are what was chosen
        any = put_figure(g, from, SHOAL_PLOT_raster, NULL) || any;
    return any;
}

static void put_figures(struct page *g, const struct outcome *o) {
    struct plot_source from = {.path = g->result};
    put(g, "<h2>What came out</h2>\n");
    bool any = put_figure(g, &from, SHOAL_PLOT_AUTO, NULL);
    if (!g->d->reduced)
        any = put_more_figures(g, o, &from) || any;
    put(g, any ? "<p class=\"soft screen\">Ctrl and the wheel zoom, dragging moves, a double click "
                 "resets.</p>\n"
               : "<p>Nothing in the file can be drawn.</p>\n");
}

// ---- Times --------------------------------------------------------------------------------------

static void put_ms(struct page *g, uint64_t ns) {
    buf_printf(g->out, "<td class=\"n\">%llu.%03llu</td>", (unsigned long long)(ns / 1000000),
               (unsigned long long)(ns / 1000 % 1000));
}

// What each label took.
static void put_sums(struct page *g, const shoal_log *log) {
    put(g,
        "<details><summary>what each part took</summary>\n<div class=\"wide\"><table><thead><tr>"
        "<th data-sort=\"\">part</th><th data-sort=\"\">category</th><th data-sort=\"\">track</th>"
        "<th class=\"n\" data-sort=\"\">times</th><th class=\"n\" data-sort=\"\">ms</th>"
        "</tr></thead><tbody>\n");
    for (size_t i = 0; i < shoal_log_sum_count(log) && i < SUMS_MOST; i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (!s.count)
            continue;
        put(g, "<tr>");
        put_cell(g, s.label, false);
        put_cell(g, shoal_category_name(s.category), false);
        put_cell(g, s.track ? s.track : "main", false);
        put_count(g, s.count);
        put_ms(g, s.ns);
        put(g, "</tr>\n");
    }
    put(g, "</tbody></table></div></details>\n");
}

static void put_times(struct page *g) {
    const shoal_log *log = g->facts->times;
    uint64_t ns[SHOAL_CATEGORY_COUNT + 1];
    if (!log || shoal_log_timing(log) == SHOAL_TIMING_NONE)
        return;
    shoal_log_totals(log, ns, &ns[SHOAL_CATEGORY_COUNT]);
    put(g, "<h2>Where the time went</h2>\n<div class=\"wide\"><table><thead><tr>"
           "<th data-sort=\"\">category</th><th class=\"n\" data-sort=\"\">ms</th></tr></thead>"
           "<tbody>\n");
    for (int i = 0; i <= SHOAL_CATEGORY_COUNT; i++) {
        put(g, "<tr>");
        put_cell(g, i < SHOAL_CATEGORY_COUNT ? shoal_category_name((shoal_category)i) : "other",
                 false);
        put_ms(g, ns[i]);
        put(g, "</tr>\n");
    }
    put(g, "</tbody></table></div>\n");
    put_figure(g, &(struct plot_source){.path = g->result, .log = log}, SHOAL_PLOT_flame,
               "what was called when");
    put_sums(g, log);
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
    put_fact(g, "machine", g->facts->machine);
    put_fact(g, "Shoal", member(g, "shoal") ? member(g, "shoal") : shoal_version());
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
    if (g->d->reduced)
        put(g, "<p class=\"soft\">statistics over runs</p>\n");
    else
        buf_printf(g->out, "<p class=\"soft\">%llu runs, %llu ok</p>\n",
                   (unsigned long long)o->runs,
                   (unsigned long long)(o->by[SHOAL_STATUS_ok] + o->by[SHOAL_STATUS_stopped]));
    put_figures(g, o);
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
