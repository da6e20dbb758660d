// SPDX-License-Identifier: MIT
// shoal_plot: opens a result, looks, chooses, makes the figure, and draws it into a file or a text.
#include "base/ascii.h"
#include "base/file.h"
#include "base/number.h"
#include "log/log.h"
#include "plot/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 560, SIZE_MOST = 20000, PIXELS_MOST = 400 << 20 };

static const char *const names[] = {
#define X(name, text) #name,
    SHOAL_PLOTS(X)
#undef X
};
static const char *const abouts[] = {
#define X(name, text) text,
    SHOAL_PLOTS(X)
#undef X
};

const char *shoal_plot_name(int kind) {
    return kind >= 0 && kind < SHOAL_PLOT_AUTO ? names[kind] : NULL;
}

const char *shoal_plot_about(int kind) {
    return kind >= 0 && kind < SHOAL_PLOT_AUTO ? abouts[kind] : NULL;
}

shoal_code shoal_plot_options_init(shoal_plot_options *o) {
    if (!o)
        return SHOAL_USAGE;
    *o =
        (shoal_plot_options){.size = sizeof *o, .kind = SHOAL_PLOT_AUTO, .columns = 80, .rows = 24};
    return SHOAL_OK;
}

// ---- For all kinds ------------------------------------------------------------------------------

struct panel *plot_panels(struct plot *p, uint32_t count, uint32_t columns) {
    p->f.panel = arena_new(&p->arena, struct panel, count);
    p->f.panels = count;
    p->f.columns = columns;
    return p->f.panel;
}

struct box plot_pixels(const struct plot *p) {
    if (p->text)
        return (struct box){0, 0, fmax(p->o->columns, 20) - 10, 2 * fmax(p->o->rows, 10)};
    struct box b = figure_inside(&p->f, p->width, p->height);
    b.w = round(b.w * p->scale);
    b.h = round(b.h * p->scale);
    return b;
}

// 1234567 as 1,234,567.
static void put_count(char *text, size_t room, uint64_t count) {
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t at = 0;
    for (int i = 0; i < n && at + 2 < room; i++) {
        if (i && (n - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
}

void plot_titles(struct plot *p, const char *what) {
    char runs[48], failed[48];
    struct figure *f = &p->f;
    if (p->o->title)
        snprintf(f->title, sizeof f->title, "%s", p->o->title);
    else
        snprintf(f->title, sizeof f->title, "%s: %s", p->model, what);
    put_count(runs, sizeof runs, p->title_runs);
    put_count(failed, sizeof failed, p->failed);
    int n = 0;
    if (p->title_runs)
        n = snprintf(f->subtitle, sizeof f->subtitle, "%s run%s", runs,
                     p->title_runs == 1 ? "" : "s");
    if (p->failed && n < (int)sizeof f->subtitle)
        n += snprintf(f->subtitle + n, sizeof f->subtitle - (size_t)n, ", %s failed", failed);
    for (uint32_t i = 0; i < p->inputs && n < (int)sizeof f->subtitle; i++)
        if (!isnan(p->input[i].fixed))
            n += snprintf(f->subtitle + n, sizeof f->subtitle - (size_t)n, "%s%s", n ? ", " : "",
                          plot_says(p, p->input[i].column, p->input[i].fixed));
    if (p->method && n < (int)sizeof f->subtitle)
        n += snprintf(f->subtitle + n, sizeof f->subtitle - (size_t)n, ", %s", p->method);
    if (p->rtol && n < (int)sizeof f->subtitle)
        n += snprintf(f->subtitle + n, sizeof f->subtitle - (size_t)n, ", rtol %s", p->rtol);
    double t1;
    if (p->t1 && p->table == READER_RUNS && n < (int)sizeof f->subtitle &&
        number_finite(p->t1, &t1)) {
        char value[TICK_ROOM];
        number_short(t1, 6, value);
        snprintf(f->subtitle + n, sizeof f->subtitle - (size_t)n, ", t = %s%s%s", value,
                 p->time_unit ? " " : "", p->time_unit ? p->time_unit : "");
    }
}

// On a light paper much is dark, on a dark one bright; a first colour close to the paper is left
// out where single points must show.
void plot_palette(const struct plot *p, bool faint_first, colour out[256]) {
    bool dark = p->f.theme->dark;
    double least = faint_first ? dark ? 0.22 : 0.12 : 0;
    out[0] = p->f.theme->paper;
    for (int i = 1; i < 256; i++) {
        double at = least + (1 - least) * (i - 1) / 254.0;
        out[i] = colour_at(p->map, faint_first && !dark ? 1 - at : at);
    }
}

// ---- The call -----------------------------------------------------------------------------------

static shoal_code make(struct plot *p) {
    static shoal_code (*const makers[])(struct plot * p) = {
        [SHOAL_PLOT_line] = make_values,     [SHOAL_PLOT_points] = make_values,
        [SHOAL_PLOT_heat] = make_heat,       [SHOAL_PLOT_series] = make_series,
        [SHOAL_PLOT_fan] = make_fan,         [SHOAL_PLOT_phase] = make_series,
        [SHOAL_PLOT_density] = make_density, [SHOAL_PLOT_histogram] = make_histogram,
        [SHOAL_PLOT_raster] = make_raster,   [SHOAL_PLOT_next] = make_next,
    };
    shoal_code code = look_at(p);
    if (!code)
        code = choose(p);
    if (code)
        return code;
    return p->d->reduced && p->kind == SHOAL_PLOT_fan ? make_reduced(p) : makers[p->kind](p);
}

static bool has_ending(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n > m && ascii_same(path + n - m, ending);
}

shoal_code plot_write(const char *path, const struct buf *bytes, struct report *r) {
    struct file_part part = {.fd = -1};
    shoal_code code = file_part_open(&part, path, r);
    if (!code)
        code = file_write(part.fd, path, bytes->data, bytes->length, r);
    if (!code)
        code = file_part_commit(&part, r);
    file_part_discard(&part);
    return code;
}

static void draw(struct plot *p, enum plot_form form, struct buf *out) {
    struct terminal t = {p->o->columns, p->o->rows, p->o->unicode, (int)p->o->colours};
    if (form == PLOT_TEXT)
        term_draw(&p->f, &t, out);
    else if (form == PLOT_SVG)
        svg_draw(&p->f, p->width, p->height, out);
    else if (form == PLOT_PDF)
        pdf_draw(&p->f, p->width, p->height, out);
    else
        png_draw(&p->f, p->width, p->height, p->scale, out);
}

// Files that hold grids and nothing else; an .npz may hold either.
static bool is_grids(const char *path) {
    return has_ending(path, ".npy") || has_ending(path, ".json") || has_ending(path, ".txt");
}

// By the ending of the file, PLOT_FORMS: none of ours; text where there is no file.
static enum plot_form form_of(const char *output) {
    static const char *const endings[] = {
        [PLOT_SVG] = ".svg", [PLOT_PDF] = ".pdf", [PLOT_PNG] = ".png"};
    int form = output ? PLOT_SVG : PLOT_TEXT;
    while (output && form < PLOT_FORMS && !has_ending(output, endings[form]))
        form++;
    return (enum plot_form)form;
}

static shoal_code check(const shoal_plot_options *o, const char *output, struct report *r) {
    if (o->size != sizeof *o)
        return report_error(r, SHOAL_USAGE,
                            "shoal_plot: the options were not made by "
                            "shoal_plot_options_init");
    if (form_of(output) == PLOT_FORMS)
        return report_error(r, SHOAL_INPUT, "%s: a figure is known by its ending: .svg, .pdf, .png",
                            output);
    double pixels = (double)(o->width ? o->width : WIDTH) * (o->height ? o->height : HEIGHT) *
                    (o->dpi > 0 ? o->dpi / 96 : 1) * (o->dpi > 0 ? o->dpi / 96 : 1);
    if (o->width > SIZE_MOST || o->height > SIZE_MOST || !(o->dpi >= 0) || pixels > PIXELS_MOST)
        return report_error(r, SHOAL_INPUT, "a figure of that size is too large");
    if ((o->width && o->width < 80) || (o->height && o->height < 60))
        return report_error(r, SHOAL_INPUT, "a figure has at least 80x60");
    return SHOAL_OK;
}

static void set_up(struct plot *p, const shoal_plot_options *o, enum plot_form form,
                   const char *ids, struct report *r) {
    p->o = o;
    p->r = r;
    p->text = form == PLOT_TEXT;
    p->f.theme = theme_get(o->dark);
    p->f.bare = o->bare;
    p->f.ids = ids;
    p->width = o->width ? o->width : WIDTH;
    p->height = o->height ? o->height : HEIGHT;
    p->scale = o->dpi > 0 && form == PLOT_PNG ? o->dpi / 96 : 1;
}

shoal_code plot_draw(const struct plot_source *from, const shoal_plot_options *o,
                     enum plot_form form, const char *ids, struct buf *out, struct report *r) {
    const char *result = from->path;
    shoal_code volatile code = SHOAL_OK;
    jmp_buf oom;
    struct plot *volatile p = calloc(1, sizeof *p);
    if (!p || setjmp(oom))
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", result);
    else {
        struct reader *d = NULL;
        p->arena.oom = &oom;
        set_up(p, o, form, ids, r);
        if (from->log)
            code = make_flame_of(p, from->log);
        else if (o->kind == SHOAL_PLOT_flame || has_ending(result, ".ndjson"))
            code = make_flame(p, result);
        else if (o->kind == SHOAL_PLOT_grid || is_grids(result))
            code = make_cells(p, result);
        else {
            code = reader_open(result, &d, r);
            p->d = d;
            if (!code)
                code = make(p);
        }
        if (!code)
            draw(p, form, out);
        if (!code && out->failed)
            code = report_error(r, SHOAL_MEMORY, "%s: not enough memory for the figure", result);
    }
    if (p) {
        reader_close(p->d);
        arena_free(&p->arena);
    }
    free(p);
    return code;
}

shoal_code shoal_plot(const char *result, const shoal_plot_options *options, const char *output,
                      char **text, shoal_log *log) {
    struct report *r = log_report(log);
    struct buf out = {0};
    if (!result || !options || (!output && !text))
        return report_error(r, SHOAL_USAGE, "shoal_plot: no result, no options or no place for it");
    report_begin(r);
    if (text)
        *text = NULL;
    shoal_code code = check(options, output, r);
    if (!code)
        code =
            plot_draw(&(struct plot_source){.path = result}, options, form_of(output), "", &out, r);
    if (!code && output)
        code = plot_write(output, &out, r);
    if (!code && !output)
        *text = out.data;
    else
        buf_free(&out);
    return code;
}
