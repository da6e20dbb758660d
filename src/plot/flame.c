// SPDX-License-Identifier: MIT
// A time log, read from a file (--timing-json) or in memory, as a flame chart: a panel for each
// track, time to the right, what was called below its caller.
#include "base/file.h"
#include "base/json.h"
#include "plot/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 256 << 20, SPANS_MOST = 1 << 17, DEPTH_MOST = 24 };
enum { AROUND = 110, BETWEEN = 30, ROW = 20 }; // of a figure whose height was not given

struct event {
    uint64_t id;
    uint32_t track, depth;
    double parent;   // NaN: none
    double from, to; // ms
    const char *label;
    int category;
};

struct flame {
    vec(struct event) events;
    uint32_t tracks;
    const char *track[PANELS_MOST];
    uint32_t rows[PANELS_MOST];
    uint64_t left_out;
    double end;
};

static uint32_t find_track(struct plot *p, struct flame *f, const char *name) {
    for (uint32_t i = 0; i < f->tracks; i++)
        if (!strcmp(f->track[i], name))
            return i;
    if (f->tracks == PANELS_MOST)
        return UINT32_MAX;
    f->track[f->tracks] = arena_strdup(&p->arena, name);
    return f->tracks++;
}

static int compare(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

// A line is written when its event ends, so a parent follows its children there; its id is less
// than theirs.
static void find_depths(struct flame *f) {
    qsort(f->events.items, f->events.count, sizeof *f->events.items, compare);
    for (uint32_t i = 0; i < f->events.count; i++) {
        struct event *e = &f->events.items[i], key = {.id = (uint64_t)e->parent};
        const struct event *parent = e->parent < (double)e->id // not NaN either
                                         ? bsearch(&key, f->events.items, i, sizeof key, compare)
                                         : NULL;
        e->depth = parent && parent->track == e->track ? parent->depth + 1 : 0;
        e->depth = e->depth < DEPTH_MOST ? e->depth : DEPTH_MOST - 1;
        if (e->depth + 1 > f->rows[e->track])
            f->rows[e->track] = e->depth + 1;
    }
}

static int category_of(const char *name) {
    for (int i = 0; i < SHOAL_CATEGORY_COUNT; i++)
        if (!strcmp(shoal_category_name((shoal_category)i), name))
            return i;
    return SHOAL_CATEGORY_COUNT;
}

// The members of a line that say something here.
struct line {
    const char *label, *category, *track;
    double id, parent, t0, dur;
};

static bool read_line(struct plot *p, const char *text, size_t length, struct line *l) {
    struct json j;
    *l = (struct line){.id = NAN, .parent = NAN, .t0 = NAN, .dur = NAN};
    json_open_text(&j, text, length);
    bool good = json_next(&j) == JSON_OBJECT;
    enum json_kind kind = JSON_NAME;
    while (good && (kind = json_next(&j)) == JSON_NAME) {
        const struct {
            const char *name;
            const char **text;
            double *number;
        } members[] = {{"label", &l->label, NULL},   {"category", &l->category, NULL},
                       {"track", &l->track, NULL},   {"id", NULL, &l->id},
                       {"parent", NULL, &l->parent}, {"t0_ns", NULL, &l->t0},
                       {"dur_ns", NULL, &l->dur}};
        size_t which = 0, count = sizeof members / sizeof *members;
        while (which < count && strcmp(members[which].name, j.text.data))
            which++;
        if (which == count) {
            good = json_skip(&j);
            continue;
        }
        kind = json_next(&j);
        if (kind == JSON_TEXT && members[which].text)
            *members[which].text = arena_strdup(&p->arena, j.text.data);
        else if (kind == JSON_NUMBER && members[which].number)
            *members[which].number = j.number;
        else
            good = kind == JSON_NULL;
    }
    json_close(&j);
    return good && kind == JSON_OBJECT_END;
}

static void add_event(struct plot *p, struct flame *f, const struct line *l) {
    uint32_t track = f->events.count < SPANS_MOST ? find_track(p, f, l->track) : UINT32_MAX;
    if (track == UINT32_MAX) {
        f->left_out++;
        return;
    }
    *vec_push(&p->arena, &f->events) = (struct event){.id = (uint64_t)l->id,
                                                      .track = track,
                                                      .parent = l->parent,
                                                      .from = l->t0 / 1e6,
                                                      .to = (l->t0 + l->dur) / 1e6,
                                                      .label = l->label,
                                                      .category = category_of(l->category)};
    f->end = fmax(f->end, (l->t0 + l->dur) / 1e6);
}

static shoal_code read_log(struct plot *p, const char *path, const char *text, struct flame *f) {
    uint64_t number = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        struct line l;
        bool good = read_line(p, at, length, &l);
        bool is_event = l.label && l.category && l.track && l.id >= 0 && l.id < 0x1p53 &&
                        l.t0 >= 0 && l.dur >= 0;
        if (!good || (number && !is_event))
            return report_error(p->r, SHOAL_INPUT, "%s:%llu: is no line of a time log", path,
                                (unsigned long long)number + 1);
        if (is_event)
            add_event(p, f, &l);
        number++;
        at += length + (at[length] == '\n');
    }
    return f->events.count
               ? SHOAL_OK
               : report_error(p->r, SHOAL_INPUT, "%s: has no event of a time log", path);
}

static void make_panel(struct plot *p, struct panel *panel, const struct flame *f, uint32_t track) {
    uint32_t n = 0, rows = f->rows[track];
    struct layer *l = panel_add(panel, LAYER_BOXES);
    double *from = arena_new(&p->arena, double, f->events.count);
    double *to = arena_new(&p->arena, double, f->events.count);
    double *row = arena_new(&p->arena, double, f->events.count);
    const char **label = arena_new(&p->arena, const char *, f->events.count);
    colour *inks = arena_new(&p->arena, colour, f->events.count);
    for (uint32_t i = 0; i < f->events.count; i++) {
        const struct event *e = &f->events.items[i];
        if (e->track != track)
            continue;
        from[n] = e->from;
        to[n] = e->to;
        row[n] = (double)(rows - 1 - e->depth);
        inks[n] = p->f.theme->line[e->category % THEME_LINES];
        label[n++] = e->label;
    }
    axis_make(&panel->x, "ms", 0, f->end, false, 8);
    axis_make(&panel->y, "", 0, rows, false, 4);
    panel->y.count = 0; // rows have no numbers
    panel->title = f->track[track];
    panel->weight = rows;
    l->count = n;
    l->x = from;
    l->x2 = to;
    l->y = row;
    l->labels = label;
    l->inks = inks;
}

// A word for each colour, in the legend of the first panel.
static void add_legend(struct plot *p, const struct flame *f) {
    for (int category = 0; category < SHOAL_CATEGORY_COUNT; category++) {
        bool any = false;
        for (uint32_t i = 0; i < f->events.count && !any; i++)
            any = f->events.items[i].category == category;
        struct layer *l = any ? panel_add(&p->f.panel[0], LAYER_BARS) : NULL;
        if (!l)
            continue;
        l->ink = p->f.theme->line[category % THEME_LINES];
        l->opacity = 0.55;
        l->name = shoal_category_name((shoal_category)category);
    }
}

static void draw_flame(struct plot *p, struct flame *f) {
    report_note(p->r, "plot: flame of %u events on %u track%s", f->events.count, f->tracks,
                f->tracks == 1 ? "" : "s");
    if (f->left_out)
        report_warning(p->r, "%llu events are left out: there are too many, or too many tracks",
                       (unsigned long long)f->left_out);
    find_depths(f);
    struct panel *panel = plot_panels(p, f->tracks, 1);
    double height = AROUND;
    for (uint32_t i = 0; i < f->tracks; i++) {
        make_panel(p, &panel[i], f, i);
        height += BETWEEN + ROW * f->rows[i];
    }
    if (!p->o->height)
        p->height = fmin(fmax(height, 200), 2000);
    add_legend(p, f);
    snprintf(p->f.title, sizeof p->f.title, "%s",
             p->o->title ? p->o->title : "where the time went");
}

shoal_code make_flame(struct plot *p, const char *path) {
    struct flame f = {0};
    char *text = NULL;
    size_t length = 0;
    shoal_code code = file_read(path, LOG_BYTES, &text, &length, p->r);
    if (code)
        return code;
    const char *kept = arena_strndup(&p->arena, text, length);
    free(text);
    code = read_log(p, path, kept, &f);
    if (!code)
        draw_flame(p, &f);
    return code;
}

shoal_code make_flame_of(struct plot *p, const shoal_log *log) {
    struct flame f = {0};
    for (size_t i = 0; i < shoal_log_span_count(log); i++) {
        shoal_span s = shoal_log_span(log, i);
        char *label = s.open || s.kind == SHOAL_APART ? NULL : arena_strdup(&p->arena, s.label);
        if (!label)
            continue;
        add_event(p, &f,
                  &(struct line){.label = label,
                                 .category = shoal_category_name(s.category),
                                 .track = arena_strdup(&p->arena, s.track ? s.track : "main"),
                                 .id = (double)i,
                                 .parent = s.parent,
                                 .t0 = (double)s.t0_ns,
                                 .dur = (double)s.dur_ns});
    }
    if (!f.events.count)
        return SHOAL_INPUT;
    draw_flame(p, &f);
    return SHOAL_OK;
}
