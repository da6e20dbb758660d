// SPDX-License-Identifier: MIT
// Events as somebody who watches: their functions and lists, for kernels/ode/event.h.
//
// Functions: event_values (what is searched for, then the truth of conditions), event_slopes (of
// what is searched for, then whether their own actions change those of some), event_sizes (of what
// is searched for, as far as rounding goes), event_times, event_derive, and for each event
// event_move_E_K, one after the other. All that an event assigns at once is one move.
#include "kernel/files.h"
#include "ode/codegen/codegen.h"

#include <math.h>

// The numbers of an event's times among all, one after the other.
static uint32_t time_count(const struct system *s) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < s->events; e++)
        for (uint32_t i = 0; i < s->event[e].times; i++)
            count += s->event[e].time[i] != NODE_NONE;
    return count;
}

static uint32_t when_count(const struct system *s) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < s->events; e++)
        count += s->event[e].kind == EVENT_WHEN;
    return count;
}

static uint32_t start_count(const struct system *s) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < s->events; e++)
        count += s->event[e].at_start;
    return count;
}

static uint32_t truth_count(const struct system *s) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < s->events; e++)
        count += s->event[e].truth != NODE_NONE;
    return count;
}

static uint32_t touch_count(const struct system *s) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < s->events; e++)
        count += s->event[e].touch != NODE_NONE;
    return count;
}

// ---- Functions ----------------------------------------------------------------------------------

struct list {
    const struct kernel_plan *plan;
    const struct system *system;
    struct arena *arena;
    vec(struct emit) functions;
};

// They hand on nothing: a long one is one function all the same.
static void add(struct list *l, struct emit e) {
    e.dag = &l->system->dag;
    e.pars = l->system->pars;
    e.derived = l->system->derived;
    e.plan = l->plan;
    e.signals_at = codegen_signals_at(l->plan, l->system);
    e.inline_length = codegen_inline_length(l->plan);
    e.form = codegen_length(&e, l->arena) > e.inline_length ? EMIT_WHOLE : EMIT_PARTS;
    *vec_push(l->arena, &l->functions) = e;
}

static struct emit of_state(const char *name, node_id *roots, uint32_t count) {
    return (struct emit){.roots = roots,
                         .count = count,
                         .name = name,
                         .parameters =
                             "real t, const SPACE real *y, const SPACE real *p, real *out",
                         .arguments = "t, y, p, out",
                         .result = "out"};
}

static void add_whens(struct list *l) {
    const struct system *s = l->system;
    uint32_t whens = when_count(s), n = 0, truths = 0, touches = 0;
    node_id *values = arena_new(l->arena, node_id, 2 * whens + 1);
    node_id *slopes = arena_new(l->arena, node_id, 2 * whens + 1);
    node_id *sizes = arena_new(l->arena, node_id, whens + 1);
    for (uint32_t e = 0; e < s->events; e++) {
        const struct system_event *v = &s->event[e];
        if (v->kind != EVENT_WHEN)
            continue;
        slopes[n] = v->slope == NODE_NONE ? v->zero : v->slope; // of which no use is made then
        sizes[n] = v->size;
        values[n++] = v->zero;
        if (v->truth != NODE_NONE)
            values[whens + truths++] = v->truth;
        if (v->touch != NODE_NONE)
            slopes[whens + touches++] = v->touch;
    }
    if (!whens)
        return;
    add(l, of_state("event_values", values, whens + truths));
    add(l, of_state("event_slopes", slopes, whens + touches));
    add(l, of_state("event_sizes", sizes, whens));
}

static void add_times(struct list *l) {
    const struct system *s = l->system;
    node_id *roots = arena_new(l->arena, node_id, time_count(s) + 1);
    uint32_t n = 0;
    for (uint32_t e = 0; e < s->events; e++)
        for (uint32_t i = 0; i < s->event[e].times; i++)
            if (s->event[e].time[i] != NODE_NONE)
                roots[n++] = s->event[e].time[i];
    if (n)
        add(l, (struct emit){.roots = roots,
                             .count = n,
                             .name = "event_times",
                             .parameters = "const SPACE real *p, real *out",
                             .arguments = "p, out",
                             .result = "out"});
}

static void add_derive(struct list *l) {
    const struct system *s = l->system;
    node_id *roots = arena_new(l->arena, node_id, s->rederives + 1);
    uint32_t *slots = arena_new(l->arena, uint32_t, s->rederives + 1);
    for (uint32_t i = 0; i < s->rederives; i++) {
        roots[i] = s->derive[s->rederive[i]];
        slots[i] = s->pars + s->rederive[i];
    }
    if (s->rederives)
        add(l, (struct emit){.roots = roots,
                             .slots = slots,
                             .count = s->rederives,
                             .name = "event_derive",
                             .parameters = "SPACE real *p",
                             .arguments = "p",
                             .result = "p"});
}

// How many actions the move that begins with action i has.
static uint32_t move_length(const struct system_event *v) { return v->sequential ? 1 : v->actions; }

static void add_moves(struct list *l, uint32_t e) {
    const struct system_event *v = &l->system->event[e];
    for (uint32_t i = 0; i < v->actions; i += move_length(v))
        add(l, of_state(arena_printf(l->arena, "event_move_%u_%u", e, i), v->value + i,
                        move_length(v)));
}

uint32_t codegen_event_functions(const struct kernel_plan *p, const struct system *s,
                                 struct emit **out, struct arena *arena) {
    struct list l = {.plan = p, .system = s, .arena = arena};
    add_whens(&l);
    add_times(&l);
    add_derive(&l);
    for (uint32_t e = 0; e < s->events; e++)
        add_moves(&l, e);
    *out = l.functions.items;
    return l.functions.count;
}

// ---- Lists --------------------------------------------------------------------------------------

static void put_table(struct buf *out, const char *name, const int *items, uint32_t count) {
    buf_printf(out, "CONSTANT int %s[%u] = {", name, count ? count : 1);
    for (uint32_t i = 0; i < count || i == 0; i++)
        buf_printf(out, "%s%d", i ? ", " : "", i < count ? items[i] : 0);
    buf_puts(out, "};\n");
}

// The number of the record of each event, -1: none.
static void put_records(struct buf *out, const struct kernel_plan *p, const struct system *s,
                        struct arena *arena) {
    int *record = arena_new(arena, int, s->events);
    for (uint32_t e = 0; e < s->events; e++)
        record[e] = -1;
    for (uint32_t i = 0; i < p->record.count; i++)
        record[p->record.event[i]] = (int)i;
    put_table(out, "event_record", record, s->events);
}

static void put_tables(struct buf *out, const struct system *s, struct arena *arena) {
    uint32_t whens = when_count(s), n = 0, truths = 0, touches = 0;
    int *when = arena_new(arena, int, s->events), *truth = arena_new(arena, int, whens + 1),
        *edges = arena_new(arena, int, whens + 1), *slope = arena_new(arena, int, whens + 1),
        *jump = arena_new(arena, int, whens + 1), *whole = arena_new(arena, int, whens + 1),
        *touched = arena_new(arena, int, whens + 1), *start = arena_new(arena, int, whens + 1),
        *rederive = arena_new(arena, int, s->rederives + 1);
    for (uint32_t e = 0; e < s->events; e++) {
        const struct system_event *v = &s->event[e];
        when[e] = -1;
        if (v->kind != EVENT_WHEN)
            continue;
        edges[n] = (int)v->edges;
        slope[n] = v->slope != NODE_NONE;
        jump[n] = v->jump ? (int)v->target[0] - (int)s->states : -1;
        whole[n] = v->jump && s->jump[v->jump - 1].whole;
        touched[n] = v->touch == NODE_NONE ? v->touched : (int)(whens + ++touches);
        start[n] = v->at_start;
        truth[n] = (int)(v->truth == NODE_NONE ? n : whens + truths++);
        when[e] = (int)n++;
    }
    for (uint32_t i = 0; i < s->rederives; i++)
        rederive[i] = (int)(s->pars + s->rederive[i]);
    put_table(out, "event_when", when, s->events);
    put_table(out, "when_truth", truth, whens);
    put_table(out, "when_edges", edges, whens);
    put_table(out, "when_slope", slope, whens);
    put_table(out, "when_jump", jump, whens);
    put_table(out, "when_whole", whole, whens);
    put_table(out, "when_touched", touched, whens);
    put_table(out, "when_start", start, whens);
    put_table(out, "rederive", rederive, s->rederives);
}

// What f32 leaves of a time that is a number, which is where the run's own times are.
static double low_of_time(const struct node *n) {
    double low = n->op == OP_NUMBER ? n->value - (double)(float)n->value : 0;
    return isfinite(low) ? low : 0;
}

static bool is_time_made(const struct node *n) { return n->op != OP_NUMBER; }
static double made_of_time(const struct node *n) { return is_time_made(n); }

static bool times_made(const struct system *s) {
    for (uint32_t e = 0; e < s->events; e++)
        for (uint32_t i = 0; i < s->event[e].times; i++) {
            node_id id = s->event[e].time[i];
            if (id != NODE_NONE && is_time_made(&s->dag.nodes.items[id]))
                return true;
        }
    return false;
}

static void put_times(struct buf *out, const struct system *s, const char *name,
                      double (*of)(const struct node *)) {
    buf_printf(out, "CONSTANT elem %s[%u] = {", name, time_count(s) + 1);
    for (uint32_t e = 0; e < s->events; e++)
        for (uint32_t i = 0; i < s->event[e].times; i++) {
            node_id id = s->event[e].time[i];
            if (id == NODE_NONE)
                continue;
            codegen_number(out, of(&s->dag.nodes.items[id]));
            buf_puts(out, ", ");
        }
    buf_puts(out, "0};\n");
}

// EVENTS_AT calls its argument with event, first time and how many; EVENTS_EVERY with event, and
// the places of period, from and until, -1 where there is none.
static void put_timed(struct buf *out, const struct system *s) {
    uint32_t n = 0;
    buf_puts(out, "#if F32\n");
    put_times(out, s, "time_low", low_of_time);
    buf_puts(out, "#endif\n");
    put_times(out, s, "time_made", made_of_time);
    buf_puts(out, "#define EVENTS_AT(X)");
    for (uint32_t e = 0; e < s->events; e++)
        if (s->event[e].kind == EVENT_AT) {
            buf_printf(out, " X(%u, %u, %u)", e, n, s->event[e].times);
            n += s->event[e].times;
        } else
            for (uint32_t i = 0; i < s->event[e].times; i++)
                n += s->event[e].time[i] != NODE_NONE;
    buf_puts(out, "\n#define EVENTS_EVERY(X)");
    n = 0;
    for (uint32_t e = 0; e < s->events; e++) {
        const struct system_event *v = &s->event[e];
        bool every = v->kind == EVENT_EVERY;
        if (every)
            buf_printf(out, " X(%u", e);
        for (uint32_t i = 0; i < v->times; i++) {
            int place = v->time[i] == NODE_NONE ? -1 : (int)n++;
            if (every)
                buf_printf(out, ", %d", place);
        }
        buf_puts(out, every ? ")" : "");
    }
    buf_puts(out, "\n");
}

static bool assigns_parameter(const struct system *s, const struct system_event *v) {
    for (uint32_t i = 0; i < v->actions; i++)
        if (!v->jump && v->target[i] != ACTION_STOP && v->target[i] >= s->states)
            return true;
    return false;
}

static bool assigns(const struct system_event *v) {
    for (uint32_t i = 0; i < v->actions; i++)
        if (v->target[i] != ACTION_STOP)
            return true;
    return false;
}

static void put_store(struct buf *out, const struct system *s, uint32_t target, uint32_t i) {
    uint32_t par = target - s->states;
    if (target == ACTION_STOP)
        buf_printf(out, "        g->ended |= lanes & m_lanes(r_gt(v[%u], R(0)));\n", i);
    else if (target < s->states)
        buf_printf(out, "        y[%u] = select(m, v[%u], y[%u]);\n", target, i, target);
    else
        buf_printf(out, "        g->p[%u] = select(m, v[%u], g->p[%u]);\n", par, i, par);
}

static void put_case(struct buf *out, const struct system *s, uint32_t e) {
    const struct system_event *v = &s->event[e];
    buf_printf(out, "    case %u: {\n        real v[%u];\n", e, v->actions ? v->actions : 1);
    for (uint32_t i = 0; i < v->actions; i += move_length(v)) {
        buf_printf(out, "        event_move_%u_%u(t, y, g->p, v);\n", e, i);
        for (uint32_t k = 0; k < move_length(v); k++)
            put_store(out, s, v->target[i + k], k);
    }
    buf_printf(out, "        return %s;\n    }\n",
               assigns_parameter(s, v) ? "EVENT_ASSIGNS_STATE | EVENT_ASSIGNS_PARAMETER"
               : assigns(v)            ? "EVENT_ASSIGNS_STATE"
                                       : "0");
}

// What an event assigns to the lanes, and whether states or parameters.
static void put_assign(struct buf *out, const struct system *s) {
    buf_puts(out, "enum { EVENT_ASSIGNS_STATE = 1, EVENT_ASSIGNS_PARAMETER = 2 };\n"
                  "INLINE int event_assign(struct group *g, int e, real t, SPACE real *y,\n"
                  "                        u32 lanes) {\n"
                  "    mask m = m_of_lanes(lanes);\n"
                  "    (void)m, (void)t;\n"
                  "    switch (e) {\n");
    for (uint32_t e = 0; e < s->events; e++)
        put_case(out, s, e);
    buf_puts(out, "    }\n    return 0;\n}\n");
}

// ---- The watcher --------------------------------------------------------------------------------

static const char *put_state(const struct kernel_plan *p, const struct system *s,
                             struct arena *arena) {
    uint32_t whens = when_count(s);
    return arena_printf(
        arena,
        "#define EVENTS %u\n#define WHENS %u\n#define TRUTHS %u\n#define TIMES %u\n"
        "#define TOUCHES %u\n#define EVENT_ZEROS %u\n#define DOSED %d\n"
        "#define REDERIVES %u\n#define EVENT_SWITCHES %d\n"
        "#define RECORDS %u\n#define TIMES_MADE %d\n"
        "struct event_state {\n"
        "    treal at;        // where the step that was shown last is to end\n"
        "#if TIMES\n"
        "    treal over;      // what is timed has happened up to here\n"
        "#endif\n"
        "#if WHENS\n"
        "    real crawl;       // how long a step to a jump is that ended short of it\n"
        "    real side[WHENS]; // last sign; a lane that begins: not a number\n"
        "    real was[WHENS];  // and the one before the end of the step that was shown last\n"
        "    real from[WHENS]; // of those that are due, the side they come from\n"
        "    u32 due[WHENS];   // lanes in which it happens at `at`\n"
        "    u32 leap[WHENS];  // of those, where its function does not pass 0, but leaps over it\n"
        "    u32 met[WHENS];   // lanes in which the last step met it\n"
        "    real noise[WHENS]; // nearer to its boundary a sign says nothing\n"
        "    u32 stuck[WHENS];  // lanes that turned back, and are still beyond\n"
        "    treal last[WHENS];     // time at which it happened,\n"
        "    u32 streak[WHENS][W]; // and how often right after the one before\n"
        "#endif\n"
        "#if RECORDS\n"
        "    u32 noted[RECORDS][W]; // how often it was recorded\n"
        "#endif\n"
        "};\n",
        s->events, whens, truth_count(s), time_count(s), touch_count(s), start_count(s),
        p->dose != NULL, s->rederives, s->switches != 0, p->record.count, times_made(s));
}

static unsigned calls_of(const struct kernel_plan *p, const struct system *s) {
    bool starts = time_count(s) || start_count(s) || (p->dose && when_count(s));
    return (when_count(s) ? WATCH_LIMITS : 0u) | (time_count(s) ? WATCH_STOPS : 0u) |
           (starts ? WATCH_STARTS : 0u);
}

struct watcher codegen_events(const struct kernel_plan *p, const struct system *s,
                              struct arena *arena) {
    static const char *const files[] = {"event_times.h", "event_sign.h", "event_search.h",
                                        "event_act.h", "event.h"};
    struct buf text = {0};
    struct emit *functions;
    uint32_t count = codegen_event_functions(p, s, &functions, arena);
    put_tables(&text, s, arena);
    put_records(&text, p, s, arena);
    put_timed(&text, s);
    buf_puts(&text, "#if COLD_PART\n");
    for (uint32_t i = 0; i < count; i++)
        codegen_function(&text, &functions[i], arena);
    put_assign(&text, s);
    buf_puts(&text, "#endif\n");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        buf_puts(&text, kernel_file_find("ode", files[i])->text);
    struct watcher w = {.name = "event",
                        .calls = calls_of(p, s),
                        .state = put_state(p, s, arena),
                        .text = text.failed ? NULL : arena_strdup(arena, text.data)};
    buf_free(&text);
    return w;
}
