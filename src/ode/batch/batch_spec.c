// SPDX-License-Identifier: MIT
// Parsing of sweeps, samples, lists of names and of runs; batch_spec.h says what is promised.
//
// The text is copied once and cut in place: a separator inside parentheses does not count, so that
// expressions such as max(1,2) can stand wherever a number can.
#include "ode/batch/batch_spec.h"

#include "base/amount.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Pieces of text -----------------------------------------------------------------------------

// An error at a place of the copy; its value is SHOAL_INPUT.
#define FAIL(s, at, ...)                                                                           \
    (report_at((s)->report, SHOAL_ERROR, &(s)->source, (size_t)((at) - (s)->copy), __VA_ARGS__),   \
     SHOAL_INPUT)

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static char *trim(char *text) {
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length && is_blank(text[length - 1]))
        length--;
    text[length] = 0;
    return text;
}

// The first `c` outside parentheses and brackets, or NULL.
static char *find_outside(char *text, char c) {
    int64_t depth = 0;
    for (char *p = text; *p; p++) {
        if (*p == c && depth == 0)
            return p;
        depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
    }
    return NULL;
}

// The next piece up to the separator, or NULL when there are no more.
static char *cut(char **rest, char separator) {
    char *piece = *rest;
    if (!piece)
        return NULL;
    char *end = find_outside(piece, separator);
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    return trim(piece);
}

static shoal_code read_number(struct spec *s, const char *text, double *out) {
    if (*text == 0)
        return FAIL(s, text, "a number is missing here");
    if (!model_number(s->model, text, out) || !isfinite(*out))
        return FAIL(s, text, "neither a finite number nor an expression of the model's constants");
    return SHOAL_OK;
}

void spec_open(struct spec *s, struct model *m, struct arena *a, const char *option,
               const char *text, struct report *r) {
    *s = (struct spec){.model = m, .arena = a, .report = r};
    s->source = (struct source){option, text, strlen(text)};
    s->rest = s->copy = arena_strdup(a, text);
}

// ---- Names --------------------------------------------------------------------------------------

// Cuts "(0)" off; false when the parentheses hold something else.
static bool cut_zero(char *name, bool *initial) {
    size_t length = strlen(name);
    char *open = length && name[length - 1] == ')' ? strrchr(name, '(') : NULL;
    *initial = open != NULL;
    if (!open)
        return true;
    name[length - 1] = *open = 0;
    return !strcmp(trim(open + 1), "0");
}

// Whether that symbol can be an input. A state always stands for its initial value.
static shoal_code check_kind(const struct symbol *symbol, bool initial, const char *where,
                             struct report *r) {
    const char *name = symbol->name;
    bool par = symbol->kind == SYMBOL_PAR;
    if (symbol->kind == SYMBOL_STATE || (par && !initial))
        return SHOAL_OK;
    if (par)
        return report_error(r, SHOAL_INPUT,
                            "%s: `%s` is a parameter, only states have initial values; write `%s`",
                            where, name, name);
    if (symbol->kind == SYMBOL_CONST)
        return report_error(r, SHOAL_INPUT,
                            "%s: `%s` is a constant, which is folded into the kernel; use --set to "
                            "change it for all runs, or declare it with `par` in the model",
                            where, name);
    return report_error(r, SHOAL_INPUT,
                        "%s: `%s` is computed from other names, it cannot be given; use the "
                        "parameters it depends on",
                        where, name);
}

shoal_code spec_resolve(struct model *m, struct arena *a, const char *name, const char *where,
                        struct spec_name *out, struct report *r) {
    char *base = trim(arena_strdup(a, name));
    bool zero = cut_zero(base, &out->initial);
    base = trim(base);
    if (*base == 0)
        return report_error(r, SHOAL_INPUT, "%s: a name is missing", where);
    out->symbol = model_find(m, base, where, r);
    if (out->symbol == UINT32_MAX)
        return SHOAL_INPUT;
    const struct symbol *symbol = &m->symbols.items[out->symbol];
    if (!zero)
        return report_error(r, SHOAL_INPUT, "%s: an initial value is written `%s(0)`", where,
                            symbol->name);
    bool initial = out->initial;
    out->initial = initial || symbol->kind == SYMBOL_STATE;
    out->text = out->initial ? arena_printf(a, "%s(0)", symbol->name) : symbol->name;
    return check_kind(symbol, initial, where, r);
}

// What stands before `=`.
static shoal_code read_name(struct spec *s, const char *usage, struct spec_name *out) {
    char *name = cut(&s->rest, '=');
    if (!s->rest)
        return FAIL(s, name, "write %s", usage);
    if (*name == 0)
        return FAIL(s, name, "the name before `=` is missing; write %s", usage);
    return spec_resolve(s->model, s->arena, name, s->source.name, out, s->report);
}

bool spec_next_word(struct spec *s, const char **out, shoal_code *code) {
    *code = SHOAL_OK;
    *out = cut(&s->rest, ',');
    if (*out && **out == 0)
        *code = FAIL(s, *out, "a name is missing here");
    return *out && *code == SHOAL_OK;
}

bool spec_next_name(struct spec *s, struct spec_name *out, shoal_code *code) {
    const char *name;
    if (spec_next_word(s, &name, code))
        *code = spec_resolve(s->model, s->arena, name, s->source.name, out, s->report);
    return name && *code == SHOAL_OK;
}

// ---- word:A:B or word(A,B) ----------------------------------------------------------------------

enum { FORM_MOST = 3 };

struct form {
    char *word;
    char *args[FORM_MOST];
    uint32_t count; // also those that were too many to keep
};

static void read_args(struct form *f, char *rest, char separator) {
    for (char *arg; (arg = cut(&rest, separator)) != NULL; f->count++)
        if (f->count < FORM_MOST)
            f->args[f->count] = arg;
}

// Whether the text has one of the two forms; if not, it is left as it is. A call needs two
// arguments at least: log(10) is a number.
static bool read_form(char *text, struct form *f) {
    *f = (struct form){.word = text};
    char *colon = find_outside(text, ':');
    if (colon) {
        *colon = 0;
        f->word = trim(text);
        read_args(f, colon + 1, ':');
        return true;
    }
    char *open = strchr(text, '('), *close = open ? find_outside(open + 1, ')') : NULL;
    if (!close || close[1] || !find_outside(open + 1, ','))
        return false;
    *open = *close = 0;
    f->word = trim(text);
    read_args(f, open + 1, ',');
    return true;
}

// The position of the form's word among `words`, or `count` with an error.
static uint32_t find_word(struct spec *s, const struct form *f, const char *const *words,
                          uint32_t count, const char *usage) {
    struct nearest near = {.wanted = f->word};
    for (uint32_t k = 0; k < count; k++) {
        if (!strcmp(f->word, words[k]))
            return k;
        nearest_offer(&near, words[k]);
    }
    const char *best = nearest_best(&near);
    if (best)
        (void)FAIL(s, f->word, "unknown word; did you mean `%s`? Write %s", best, usage);
    else
        (void)FAIL(s, f->word, "unknown word; write %s", usage);
    return count;
}

// ---- Sweeps -------------------------------------------------------------------------------------

static const char sweep_usage[] = "NAME=lin:A:B:N, NAME=log:A:B:N or NAME=V,V,...";

static shoal_code read_list(struct spec *s, char *text, struct sweep *out) {
    vec(double) values = {0};
    char *rest = text;
    for (char *piece; (piece = cut(&rest, ',')) != NULL;) {
        double value;
        shoal_code code = read_number(s, piece, &value);
        if (code != SHOAL_OK)
            return code;
        *vec_push(s->arena, &values) = value;
    }
    *out = (struct sweep){SWEEP_LIST, .count = values.count, .values = values.items};
    return SHOAL_OK;
}

static shoal_code read_points(struct spec *s, const char *text, uint64_t *out) {
    double n;
    if (amount_count(text, out) && *out >= 1 && *out <= UINT64_C(1) << SWEEP_BITS)
        return SHOAL_OK;
    shoal_code code = read_number(s, text, &n);
    if (code != SHOAL_OK)
        return code;
    if (n != floor(n))
        return FAIL(s, text, "the number of points must be a whole number");
    if (n < 1)
        return FAIL(s, text, "a sweep needs at least one point");
    if (n > (double)(UINT64_C(1) << SWEEP_BITS))
        return FAIL(s, text, "too many points; a sweep has at most 2^%d", SWEEP_BITS);
    *out = (uint64_t)n;
    return SHOAL_OK;
}

static shoal_code read_scale(struct spec *s, const struct form *f, struct sweep *out) {
    static const char *const words[] = {"lin", "log"};
    uint32_t word = find_word(s, f, words, 2, sweep_usage);
    if (word == 2)
        return SHOAL_INPUT;
    if (f->count != 3)
        return FAIL(s, f->word, "%s takes the first value, the last value and how many: %s:A:B:N",
                    words[word], words[word]);
    out->scale = word == 0 ? SWEEP_LIN : SWEEP_LOG;
    shoal_code code;
    if ((code = read_number(s, f->args[0], &out->first)) != SHOAL_OK ||
        (code = read_number(s, f->args[1], &out->last)) != SHOAL_OK ||
        (code = read_points(s, f->args[2], &out->count)) != SHOAL_OK)
        return code;
    if (out->scale == SWEEP_LOG &&
        !((out->first > 0 && out->last > 0) || (out->first < 0 && out->last < 0)))
        return FAIL(s, f->args[0],
                    "a logarithmic sweep needs two ends of the same sign, none zero");
    return SHOAL_OK;
}

// Any word before a colon, but before a parenthesis only lin and log: max(1,2) is a number.
static bool is_scale(char *text) {
    size_t word = strcspn(text, "( \t");
    return find_outside(text, ':') ||
           (word == 3 && (!strncmp(text, "lin", 3) || !strncmp(text, "log", 3)));
}

shoal_code spec_sweep(struct spec *s, struct spec_name *name, struct sweep *out) {
    shoal_code code = read_name(s, sweep_usage, name);
    if (code != SHOAL_OK)
        return code;
    char *text = trim(s->rest);
    if (*text == 0)
        return FAIL(s, text, "the values are missing; write %s", sweep_usage);
    struct form f;
    *out = (struct sweep){0};
    if (find_outside(text, ',') || !is_scale(text) || !read_form(text, &f))
        return read_list(s, text, out);
    return read_scale(s, &f, out);
}

// ---- Distributions ------------------------------------------------------------------------------

static const char law_usage[] = "NAME=uniform:A:B, NAME=loguniform:A:B, NAME=normal:MEAN:SD or "
                                "NAME=lognormal:MEDIAN:GSD";

static shoal_code read_law(struct spec *s, char *text, struct sample *out) {
    static const char *const words[] = {
        [LAW_UNIFORM] = "uniform",
        [LAW_LOGUNIFORM] = "loguniform",
        [LAW_NORMAL] = "normal",
        [LAW_LOGNORMAL] = "lognormal",
    };
    enum { LAWS = sizeof words / sizeof *words };
    struct form f;
    if (!read_form(text, &f))
        return FAIL(s, text, "a distribution is missing; write %s", law_usage);
    uint32_t word = find_word(s, &f, words, LAWS, law_usage);
    if (word == LAWS)
        return SHOAL_INPUT;
    if (f.count != 2)
        return FAIL(s, f.word, "%s takes two numbers; write %s", words[word], law_usage);
    *out = (struct sample){.law = (enum law)word};
    shoal_code code;
    if ((code = read_number(s, f.args[0], &out->a)) != SHOAL_OK ||
        (code = read_number(s, f.args[1], &out->b)) != SHOAL_OK)
        return code;
    const char *complaint = sample_complaint(out);
    return complaint ? FAIL(s, f.args[0], "%s: %s", words[word], complaint) : SHOAL_OK;
}

shoal_code spec_sample(struct spec *s, struct spec_name *name, struct sample *out) {
    shoal_code code = read_name(s, law_usage, name);
    return code == SHOAL_OK ? read_law(s, trim(s->rest), out) : code;
}

// ---- Runs ---------------------------------------------------------------------------------------

static shoal_code read_index(struct spec *s, const char *text, uint64_t *out) {
    if (amount_count(text, out) && *out <= INT64_MAX)
        return SHOAL_OK;
    if (*text && strspn(text, "0123456789") == strlen(text))
        return FAIL(s, text, "no run has so large a number");
    return FAIL(s, text + strspn(text, "0123456789"),
                "a number of a run is expected here; write runs and ranges as in 4711,5000:6000 "
                "(the end of a range is not part of it; 5000: goes on to the last run)");
}

// I, A:B, and with an end left out A: and :B.
static shoal_code read_range(struct spec *s, char *piece, struct spec_range *out) {
    char *rest = piece, *first = cut(&rest, ':'), *end = rest ? trim(rest) : NULL;
    shoal_code code = SHOAL_OK;
    out->first = 0;
    if (*first || !end)
        code = read_index(s, first, &out->first);
    out->end = end ? SPEC_OPEN : out->first + 1;
    if (code == SHOAL_OK && end && *end)
        code = read_index(s, end, &out->end);
    if (code == SHOAL_OK && out->end <= out->first)
        return FAIL(s, first,
                    "an empty range; the end of START:END is not part of it, so it must "
                    "be larger than START");
    return code;
}

static int by_first(const void *a, const void *b) {
    const struct spec_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

shoal_code spec_runs(struct spec *s, struct spec_ranges *out) {
    vec(struct spec_range) ranges = {0};
    for (char *piece; (piece = cut(&s->rest, ',')) != NULL;) {
        struct spec_range range;
        shoal_code code = read_range(s, piece, &range);
        if (code != SHOAL_OK)
            return code;
        *vec_push(s->arena, &ranges) = range;
    }
    qsort(ranges.items, ranges.count, sizeof *ranges.items, by_first);
    uint32_t kept = 0;
    for (uint32_t k = 1; k < ranges.count; k++) {
        struct spec_range *last = &ranges.items[kept], next = ranges.items[k];
        if (next.first > last->end)
            ranges.items[++kept] = next;
        else if (next.end > last->end)
            last->end = next.end;
    }
    *out = (struct spec_ranges){ranges.items, kept + 1};
    return SHOAL_OK;
}
