// SPDX-License-Identifier: MIT
// Reads --summary: items, their labels, and in each the calls of summaries.
//
// Items stand between commas. A call in an item is found by its name; what is in it is read as a
// formula of the model, and the rest of the item as another one in which calls are arguments. All
// messages show the text of the option, with a caret.
#include "ode/run/summaries.h"

#include "base/ascii.h"
#include "result/result_names.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct reader {
    struct model *m;
    struct source source;
    struct arena *arena;
    struct report *r;
    vec(struct summary_call) calls;
    vec(struct summary_item) items;
    vec(double) numbers;
};

struct range {
    uint32_t from, to;
};

enum { ARGUMENTS = SUMMARY_NUMBERS + 2 };

// A call as it stands in the text.
struct written {
    struct range name, whole;
    struct range argument[ARGUMENTS];
    uint32_t arguments; // there are, which may be more than can be
};

static bool fail(struct reader *x, uint32_t at, const char *format, const char *a, const char *b) {
    report_at(x->r, SHOAL_ERROR, &x->source, at, format, a, b);
    return false;
}

// ---- Text ---------------------------------------------------------------------------------------

static char at(const struct reader *x, uint32_t i) {
    return i < x->source.length ? x->source.text[i] : 0;
}

static bool is_letter(char c) { return ascii_letter(c) || c == '_'; }
static bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

static struct range trimmed(const struct reader *x, struct range a) {
    while (a.from < a.to && ascii_space(at(x, a.from)))
        a.from++;
    while (a.to > a.from && ascii_space(at(x, a.to - 1)))
        a.to--;
    return a;
}

static uint32_t word_end(const struct reader *x, uint32_t i, uint32_t end) {
    while (i < end && is_word(at(x, i)))
        i++;
    return i;
}

static uint32_t skip_blanks(const struct reader *x, uint32_t i, uint32_t end) {
    while (i < end && ascii_space(at(x, i)))
        i++;
    return i;
}

static const char *text_of(const struct reader *x, struct range a) {
    return arena_strndup(x->arena, x->source.text + a.from, a.to - a.from);
}

// Without blanks.
static const char *dense_text(const struct reader *x, struct range a) {
    char *text = arena_alloc(x->arena, (size_t)(a.to - a.from) + 1);
    size_t n = 0;
    for (uint32_t i = a.from; i < a.to; i++)
        if (!ascii_space(at(x, i)))
            text[n++] = at(x, i);
    return text;
}

// The next comma, or closing parenthesis of those around, from `i` on; `end` where there is none.
static uint32_t list_end(const struct reader *x, uint32_t i, uint32_t end) {
    uint32_t depth = 0;
    for (; i < end; i++) {
        char c = at(x, i);
        if (!depth && (c == ',' || c == ')' || c == ']'))
            return i;
        depth += c == '(' || c == '[';
        depth -= c == ')' || c == ']';
    }
    return end;
}

// ---- Calls --------------------------------------------------------------------------------------

static bool is_named(const struct reader *x, struct range name, const char *kind) {
    size_t length = name.to - name.from;
    return strlen(kind) == length && ascii_same_prefix(x->source.text + name.from, kind, length);
}

// The call that begins with a name; false when it is not closed.
static bool split_call(const struct reader *x, struct range name, uint32_t end,
                       struct written *out) {
    uint32_t i = skip_blanks(x, name.to, end);
    *out = (struct written){.name = name};
    if (i == end || at(x, i) != '(')
        return false;
    do {
        uint32_t from = i + 1;
        i = list_end(x, from, end);
        if (out->arguments < ARGUMENTS)
            out->argument[out->arguments] = trimmed(x, (struct range){from, i});
        out->arguments++;
    } while (i < end && at(x, i) == ',');
    out->whole = (struct range){name.from, i + 1};
    return i < end && at(x, i) == ')';
}

static enum summary_way way_of(const struct reader *x, struct range a) {
    return is_named(x, a, "rising")    ? WAY_RISING
           : is_named(x, a, "falling") ? WAY_FALLING
                                       : WAY_BOTH;
}

// Arguments without a direction.
static uint32_t plain_arguments(const struct reader *x, const struct written *w) {
    uint32_t n = w->arguments;
    return n > 1 && n <= ARGUMENTS && way_of(x, w->argument[n - 1]) != WAY_BOTH ? n - 1 : n;
}

// The kind that a call is of; *named: the last one of its name, whatever its arguments.
static const struct summary_kind *find_kind(const struct reader *x, const struct written *w,
                                            const struct summary_kind **named) {
    const struct summary_kind *found = NULL;
    uint32_t arguments = plain_arguments(x, w);
    bool directed = arguments < w->arguments;
    *named = NULL;
    for (uint32_t i = 0; i < summary_kind_count; i++) {
        const struct summary_kind *k = &summary_kinds[i];
        if (!is_named(x, w->name, k->name))
            continue;
        *named = k;
        if (arguments == k->count + 1 && (!directed || k->has_way))
            found = k;
    }
    return found;
}

// A function of the model's language has the name of a summary, too.
static bool is_function(const struct reader *x, const struct written *w) {
    return w->arguments == 2 && (is_named(x, w->name, "max") || is_named(x, w->name, "min"));
}

// The kind of that name with so many numbers, which there is.
static const struct summary_kind *kind_named(const char *name, uint32_t count) {
    const struct summary_kind *k = summary_kinds;
    while (strcmp(k->name, name) || k->count != count)
        k++;
    return k;
}

static bool read_formula(struct reader *x, struct range a, struct formula *out) {
    return model_formula_in(x->m, &x->source, a.from, a.to, NULL, x->arena, out, x->r);
}

enum { ELEMENTS_MOST = 10000 }; // of an array for each window

static bool check_numbers(struct reader *x, const struct written *w, const struct summary_call *c,
                          const struct summary_kind *k) {
    const double *number = x->numbers.items + c->number;
    double last = k->count ? number[k->count - 1] : 0;
    uint32_t place = w->argument[k->count].from;
    if (k->part_of_time && !(last >= 0 && last <= 1))
        return fail(x, place, "`%s` takes a part of the time, between 0 and 1%s", k->name, "");
    if (k->arrays && !(last >= 1 && last <= ELEMENTS_MOST && last == floor(last)))
        return fail(x, place, "`%s` takes a whole number from 1 to 10000 here%s", k->name, "");
    if (k->count == 3 && !c->coded[0].count && !c->coded[1].count && !(number[0] < number[1]))
        return fail(x, w->argument[1].from, "`%s` takes a lower end that is below the upper%s",
                    k->name, "");
    return true;
}

// Where an argument that is no number goes; NULL: it has to be one.
static struct formula *code_of(const struct summary_kind *k, uint32_t i,
                               struct summary_call *call) {
    if (k->has_level)
        return i == 0 ? &call->level : NULL;
    return k->arrays && i == k->count - 1 ? NULL : &call->coded[i];
}

// The numbers of a call; what is none becomes a formula, and the number is 0.
static bool read_numbers(struct reader *x, const struct written *w, const struct summary_kind *k,
                         struct summary_call *call) {
    call->number = x->numbers.count;
    for (uint32_t i = 0; i < k->count; i++) {
        struct range a = w->argument[i + 1];
        double value = 0;
        if (!model_number(x->m, text_of(x, a), &value)) {
            struct formula *code = code_of(k, i, call);
            if (!code)
                return fail(x, a.from, "`%s` takes an expression%s, and this is no number", k->name,
                            k->numbers);
            value = 0;
            if (!read_formula(x, a, code))
                return false;
        }
        *vec_push(x->arena, &x->numbers) = value;
    }
    return check_numbers(x, w, call, k);
}

static bool same_numbers(const struct reader *x, const struct summary_call *a,
                         const struct summary_call *b) {
    for (uint32_t i = 0; i < a->kind->count; i++)
        if (x->numbers.items[a->number + i] != x->numbers.items[b->number + i])
            return false;
    return true;
}

// The place of a call among all: of an equal one, if there is one, and it has no arrays of its own.
static uint32_t add_call(struct reader *x, const struct summary_call *call) {
    for (uint32_t i = 0; i < x->calls.count && !call->kind->arrays; i++)
        if (summary_same_call(&x->calls.items[i], call) &&
            same_numbers(x, &x->calls.items[i], call))
            return i;
    *vec_push(x->arena, &x->calls) = *call;
    return x->calls.count - 1;
}

static enum op op_of(char c) {
    return c == '-' ? OP_SUB : c == '/' ? OP_DIV : c == 'n' ? OP_NEG : OP_MAX;
}

// What stands for a call in its item: its place, or code on the places of its parts.
static bool stand_in(struct reader *x, const struct summary_kind *k, struct summary_call *call,
                     struct formula_hole *hole) {
    const char *code = k->form == SUMMARY_MADE ? k->code : "0";
    struct item *item = arena_new(x->arena, struct item, strlen(code));
    uint32_t place[SUMMARY_PARTS] = {0};
    for (int i = 0; i < SUMMARY_PARTS && (i == 0 || k->part[i].name); i++) {
        call->kind = k->form == SUMMARY_MADE ? kind_named(k->part[i].name, k->count) : k;
        call->order = k->part[i].order;
        place[i] = add_call(x, call);
    }
    for (uint32_t i = 0; code[i]; i++)
        item[i] = code[i] == '0' || code[i] == '1'
                      ? (struct item){.op = OP_ARG, .index = place[code[i] - '0']}
                  : code[i] == 'I' ? (struct item){.op = OP_NUMBER, .value = 1}
                                   : (struct item){.op = (uint8_t)op_of(code[i])};
    hole->item = item;
    hole->count = (uint32_t)strlen(code);
    return true;
}

// An event by its name; one of an array also as spike[3].
static bool find_event(struct reader *x, struct range a, uint32_t *event) {
    const struct model *m = x->m;
    char *name = arena_strndup(x->arena, x->source.text + a.from, a.to - a.from);
    size_t n = 0;
    for (size_t i = 0; name[i]; i++)
        if (name[i] != '[' && name[i] != ']' && !ascii_space(name[i]))
            name[n++] = name[i];
    name[n] = 0;
    struct nearest near = {.wanted = name};
    for (*event = 0; *event < m->events.count; ++*event) {
        if (!strcmp(m->events.items[*event].name, name))
            return true;
        nearest_offer(&near, m->events.items[*event].name);
    }
    const char *best = nearest_best(&near);
    return fail(x, a.from, "the model has no event `%s`%s", name,
                best ? arena_printf(x->arena, "; did you mean `%s`?", best) : "");
}

static bool read_call(struct reader *x, const struct written *w, const struct summary_kind *k,
                      struct formula_hole *hole) {
    struct summary_call call = {.kind = k, .way = way_of(x, w->argument[w->arguments - 1])};
    hole->from = w->whole.from;
    hole->to = w->whole.to;
    if (!k->has_way)
        call.way = WAY_BOTH;
    bool found = k->form == SUMMARY_EVENTS ? find_event(x, w->argument[0], &call.event)
                                           : read_formula(x, w->argument[0], &call.of);
    return found && read_numbers(x, w, k, &call) && stand_in(x, k, &call, hole);
}

// ---- Items --------------------------------------------------------------------------------------

typedef vec(struct formula_hole) hole_list;

static const char *takes(struct reader *x, const struct summary_kind *k) {
    return arena_printf(x->arena, "%s%s",
                        k->form == SUMMARY_EVENTS ? "the name of an event" : "an expression",
                        k->numbers ? k->numbers : " and nothing else");
}

// Reads the calls of an item; *first is the first of them.
static bool read_calls(struct reader *x, struct range item, hole_list *holes,
                       struct written *first) {
    for (uint32_t i = item.from; i < item.to;) {
        struct range name = {i, word_end(x, i, item.to)};
        struct written w;
        const struct summary_kind *named, *k;
        if (!is_letter(at(x, i))) {
            i = name.to > i ? name.to : i + 1;
            continue;
        }
        i = name.to;
        if (at(x, skip_blanks(x, i, item.to)) != '(' || !split_call(x, name, item.to, &w) ||
            is_function(x, &w))
            continue;
        k = find_kind(x, &w, &named);
        if (!named)
            continue;
        if (!k)
            return fail(x, name.from, "`%s` takes %s", named->name, takes(x, named));
        if (!holes->count)
            *first = w;
        if (!read_call(x, &w, k, vec_push(x->arena, holes)))
            return false;
        i = w.whole.to;
    }
    return true;
}

static bool is_plain_name(const struct reader *x, struct range a) {
    uint32_t end = word_end(x, a.from, a.to);
    if (!is_letter(at(x, a.from)))
        return false;
    if (end < a.to && at(x, end) == '[' && at(x, a.to - 1) == ']')
        return word_end(x, end + 1, a.to) == a.to - 1;
    return end == a.to;
}

static bool is_taken(const char *label) {
    static const char *const ours[] = {"window", "t_begin", "t_end", "index"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strcmp(label, ours[i]))
            return true;
    return result_name_is_ours(label);
}

static bool check_label(struct reader *x, const char *label, uint32_t place) {
    for (uint32_t i = 0; i < x->items.count; i++)
        if (!strcmp(x->items.items[i].label, label))
            return fail(x, place, "`%s` is there twice%s", label, "");
    return !is_taken(label) ||
           fail(x, place, "`%s` is a name that every result has; give another label%s", label, "");
}

// `LABEL=` in front; false when there is none.
static bool take_label(const struct reader *x, struct range *item, struct range *label) {
    uint32_t end = is_letter(at(x, item->from)) ? word_end(x, item->from, item->to) : item->from;
    uint32_t sign = skip_blanks(x, end, item->to);
    if (end == item->from || sign == item->to || at(x, sign) != '=' || at(x, sign + 1) == '=')
        return false;
    *label = (struct range){item->from, end};
    *item = trimmed(x, (struct range){sign + 1, item->to});
    return true;
}

// A call with arrays of its own is all of its item.
static bool take_arrays(struct reader *x, const struct formula_hole *hole, bool alone,
                        struct summary_item *out) {
    const struct summary_kind *k = hole->count == 1 ? x->calls.items[hole->item->index].kind : NULL;
    if (!k || !k->arrays)
        return true;
    out->arrays = k->arrays;
    out->call = hole->item->index;
    return alone || fail(x, hole->from, "`%s` is several numbers, and stands alone%s", k->name, "");
}

// The names of all kinds, for a message.
static const char *all_kinds(struct reader *x) {
    const char *text = "; there are";
    for (uint32_t i = 0; i < summary_kind_count; i++)
        if (!i || strcmp(summary_kinds[i].name, summary_kinds[i - 1].name))
            text = arena_printf(x->arena, "%s%s %s", text, i ? "," : "", summary_kinds[i].name);
    return text;
}

// What the name in front may have been meant to be.
static const char *near_kind(struct reader *x, struct range item) {
    struct range name = {item.from, word_end(x, item.from, item.to)};
    struct nearest near = {.wanted = text_of(x, name)};
    for (uint32_t i = 0; i < summary_kind_count; i++)
        nearest_offer(&near, summary_kinds[i].name);
    const char *best = name.to > name.from ? nearest_best(&near) : NULL;
    return best ? arena_printf(x->arena, "; did you mean `%s`?", best) : "";
}

static bool read_item(struct reader *x, struct range item) {
    struct range label = item;
    struct written first;
    struct summary_item out = {0};
    hole_list holes = {0};
    bool labelled = take_label(x, &item, &label);
    if (!read_calls(x, item, &holes, &first))
        return false;
    if (!holes.count)
        return fail(x, item.from, "expected a summary here, as in `peak=max(x)`%s%s",
                    near_kind(x, item), all_kinds(x));
    bool alone = first.whole.from == item.from && first.whole.to == item.to;
    if (!labelled && !(alone && is_plain_name(x, first.argument[0])))
        return fail(x, item.from, "this needs a label, as in %s%s", "`swing=max(x)-min(x)`", "");
    for (uint32_t i = 0; i < holes.count; i++)
        if (!take_arrays(x, &holes.items[i], alone, &out))
            return false;
    out.label = labelled ? text_of(x, label) : dense_text(x, item);
    const struct formula_holes all = {holes.items, holes.count};
    if (!check_label(x, out.label, label.from) ||
        !model_formula_in(x->m, &x->source, item.from, item.to, &all, x->arena, &out.value, x->r))
        return false;
    *vec_push(x->arena, &x->items) = out;
    return true;
}

static bool read_items(struct reader *x) {
    bool good = true;
    uint32_t end = (uint32_t)x->source.length, i = 0;
    do {
        uint32_t next = i;
        do { // a parenthesis that closes nothing is the formula's to refuse
            next = list_end(x, next, end);
        } while (next < end && at(x, next) != ',' && next++ < end);
        good = read_item(x, trimmed(x, (struct range){i, next})) && good;
        i = next + 1;
    } while (i <= end);
    return good;
}

// Arrays of calls stand behind those of numbers.
static void number_arrays(struct summary_plan *p, struct summary_call *call) {
    for (uint32_t i = 0; i < p->items; i++)
        p->scalars += !p->item[i].arrays;
    p->arrays = p->scalars;
    for (uint32_t i = 0; i < p->items; i++)
        if (p->item[i].arrays) {
            call[p->item[i].call].array = p->arrays;
            p->arrays += p->item[i].arrays;
        }
}

shoal_code summaries_read(const char *text, struct model *m, struct arena *arena,
                          const struct summary_plan **out, struct report *r) {
    *out = NULL;
    if (!text)
        return SHOAL_OK;
    struct reader x = {.m = m, .source = {"--summary", text, strlen(text)}, .arena = arena, .r = r};
    jmp_buf oom, *before = arena->oom;
    if (x.source.length > 1 << 20)
        return report_error(r, SHOAL_INPUT, "--summary: is longer than 1 MB");
    arena->oom = &oom;
    struct reader *volatile reader = &x;
    if (setjmp(oom)) {
        arena->oom = before;
        return report_error(r, SHOAL_MEMORY, "out of memory");
    }
    bool good = read_items(reader);
    struct summary_plan *p = arena_new(arena, struct summary_plan, 1);
    arena->oom = before;
    *p = (struct summary_plan){.calls = x.calls.count,
                               .items = x.items.count,
                               .numbers = x.numbers.count,
                               .call = x.calls.items,
                               .item = x.items.items,
                               .value = x.numbers.items};
    number_arrays(p, x.calls.items);
    *out = p;
    return good ? SHOAL_OK : SHOAL_INPUT;
}

// ---- Windows and arrays -------------------------------------------------------------------------

// The last window is as long as what is left, which is more than rounding of its ends.
static shoal_code lay_windows(double begin, double t1, double window, struct arena *arena,
                              struct run_summary *out, struct report *r) {
    double span = fabs(t1 - begin), count = 1;
    double rounding = (fabs(begin) + fabs(t1)) * 4 * DBL_EPSILON;
    out->windowed = !isnan(window);
    if (out->windowed)
        count = fmax(1, ceil((span - fmin(rounding, window / 2)) / window * (1 - 1e-12)));
    if (!(count < 1e8))
        return report_error(r, SHOAL_INPUT, "--window: %g makes too many windows of %g", window,
                            span);
    out->windows = (uint32_t)count;
    double *edges = arena_new(arena, double, (size_t)out->windows + 1);
    if (!edges)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < out->windows; i++)
        edges[i] = begin + (t1 < begin ? -1 : 1) * (i * window);
    edges[0] = begin;
    edges[out->windows] = t1;
    out->edges = edges;
    return SHOAL_OK;
}

// Elements of an item's arrays.
static uint32_t width_of(const struct summary_plan *p, const struct summary_item *item) {
    if (!item->arrays)
        return 1;
    const struct summary_call *call = &p->call[item->call];
    return (uint32_t)p->value[call->number + call->kind->count - 1] + (item->arrays == 1 ? 2 : 0);
}

struct layer {
    const struct summary_plan *plan;
    struct run_summary *out;
    struct arena *arena;
    struct result_more *array;
    struct summary_slot *slot;
    uint64_t index; // elements so far
};

// `slot` is its place in the kernel's own order.
static void add_array(struct layer *l, const char *name, const char *stem, uint32_t slot,
                      const struct summary_item *item) {
    uint32_t width = width_of(l->plan, item), axis = 0;
    struct result_more *more = &l->array[l->out->arrays++];
    *more = (struct result_more){.name = name,
                                 .role = ROLE_SUMMARY,
                                 .field = FIELD_summary,
                                 .index = (uint32_t)l->index,
                                 .words = {.table = l->out->windowed ? RESULT_WINDOWS : NULL,
                                           .stem = stem,
                                           .open = item->arrays == 1}};
    if (l->out->windowed)
        more->axis[axis++] = l->out->windows;
    if (item->arrays)
        more->axis[axis] = width;
    l->slot[slot] = (struct summary_slot){l->index, width};
    l->index += (uint64_t)l->out->windows * width;
}

static void add_item(struct layer *l, const struct summary_item *item, uint32_t *scalars) {
    uint32_t slot = item->arrays ? l->plan->call[item->call].array : (*scalars)++;
    add_array(l, item->label, NULL, slot, item);
    if (item->arrays == 2) {
        char *name = arena_printf(l->arena, "%s.t", item->label);
        add_array(l, name, name, slot + 1, item);
    }
}

shoal_code summaries_lay(const struct summary_plan *p, double begin, double t1, double window,
                         struct arena *arena, struct run_summary *out, struct report *r) {
    *out = (struct run_summary){0};
    if (!p)
        return SHOAL_OK;
    shoal_code code = lay_windows(begin, t1, window, arena, out, r);
    struct layer l = {.plan = p,
                      .out = out,
                      .arena = arena,
                      .array = arena_new(arena, struct result_more, p->arrays + 1),
                      .slot = arena_new(arena, struct summary_slot, p->arrays + 1)};
    uint32_t scalars = 0;
    if (code == SHOAL_OK && (!l.array || !l.slot))
        code = report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < p->items && code == SHOAL_OK; i++)
        add_item(&l, &p->item[i], &scalars);
    if (l.index > UINT32_MAX)
        code = report_error(r, SHOAL_INPUT, "--window: a run would have too many summaries");
    out->levels = p->numbers;
    out->level = p->value;
    out->array = l.array;
    out->slot = l.slot;
    return code;
}

bool summaries_alone(const shoal_options *o) {
    return o->summary && !o->vars && !o->save_states && o->save == SHOAL_SAVE_FINAL;
}
